// SPDX-License-Identifier: Apache-2.0
// How many times the operator has requested the end of a program, by SIGINT or SIGTERM: the first
// request ends its work in order, a later one cuts that short. timeout(1), sudo and shells may send
// one and the same request to the process and to its group; what follows within 200 ms is an echo,
// not a request. The count is file-static, because a process has one set of signals.
#pragma once

// From now on requests are counted. sa_flags: of sigaction. next: called in the handler with the
// number of requests so far; NULL: nothing else is done.
void stop_catch(int sa_flags, void (*next)(int n));

// The signal is a request as well.
void stop_catch_also(int sig);

// Requests since the start.
int stop_requests(void);
