// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error that never make the caller wait. A reader may stop reading: a
// pager, a terminal under Ctrl-S, a log collector that hangs. The control thread goes on then.
//
// Descriptors 1 and 2 become pipes of this process, whose write ends do not block. A thread for
// each passes the bytes on to the descriptor as it was. A pipe holds OUTLET_BYTES; a line that
// finds no room is lost and counted, and the number is written as soon as there is room again. So
// the bytes of all writers go the same way: this program, DPDK, libraries.
//
// One per process, because descriptors are. Called by the control thread, the handler of SIGABRT
// aside.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { OUTLET_BYTES = 256 * 1024, OUTLET_LAST_MS = 300 };

// 0 or -errno; on failure both descriptors are as before.
__attribute__((warn_unused_result)) int outlet_open(void);

// Gives the bytes that wait OUTLET_LAST_MS to leave, then restores both descriptors. Bytes that a
// reader has not taken by then are lost.
void outlet_close(void);

// Gives the bytes in both pipes OUTLET_LAST_MS to leave. For handlers of signals that end the
// process.
void outlet_last(void);

// Writes a line to standard error, whole or not at all. len: with the newline, at most 4096.
void outlet_line(const char *line, size_t len);

// Lines that outlet_line has lost since the start.
uint64_t outlet_lost(void);
