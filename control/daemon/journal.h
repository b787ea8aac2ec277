// SPDX-License-Identifier: Apache-2.0
// Entries of systemd's journal with fields of their own, so that `journalctl WEIR_EVENT=storm`
// finds them. The native protocol of systemd-journald. Used where standard error is the journal
// (JOURNAL_STREAM); elsewhere lines go to standard error (outlet.h).
//
// The journal may stand still. The switch does not wait for it: entries that find no room are lost
// and counted, and their number is an entry as soon as there is room. One per process, because
// standard error is. Control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct json_object;

enum { JOURNAL_ALARM = 3, JOURNAL_WARNING = 4, JOURNAL_NOTICE = 5, JOURNAL_INFO = 6 };
#define JOURNAL_SOCKET "/run/systemd/journal/socket"

// True if standard error is the journal and path, its socket, can be opened. Before outlet_open().
bool journal_open(const char *path);
void journal_close(void);
bool journal_is_open(void);

// fields: an object; each key is a field WEIR_KEY. NULL: none. Values may hold any byte.
void journal_entry(int priority, const char *message, struct json_object *fields);

// Entries that were lost since the start.
uint64_t journal_lost(void);
