// SPDX-License-Identifier: Apache-2.0
// A network namespace in which the control thread can make devices and sockets. A thread of its own
// is in the namespace: the threads of the switch stay in theirs, and weir needs the privilege to
// enter a namespace only once, at its start. Devices, sockets and the files below /proc/sys/net
// that this thread opens are those of the namespace. Called by the control thread only.
#pragma once

#include <stddef.h>

#include "dataplane/base/compiler.h"

struct netns;

// name: of `ip netns`, or a path; NULL: that of the process. 0, or -errno with a sentence in err.
must_check int netns_open(const char *name, struct netns **out, char *err, size_t err_len);
void netns_close(struct netns *n); // NULL is fine
// What a user types in place of `ip` to act in the namespace.
const char *netns_ip_command(const struct netns *n);
// Calls fn in the namespace and waits for its result.
int netns_call(struct netns *n, int (*fn)(void *arg), void *arg);
