// SPDX-License-Identifier: Apache-2.0
// Events of the workers and of control as people read them: one line each on standard error, or one
// entry in systemd's journal (journal.h), rate-limited per port and type. `weirctl show events` has
// EVENTLOG_ALARMS of each type of alarm. It has EVENTLOG_KEPT warnings, as many pauses and changes
// of addresses together, and as many others. So a flood of lesser events removes no alarm and no
// warning.
//
// Ports share each of these pools. If a pool is full, a new event takes the place of an old one: of
// the port with the most places, and there of the type with the most, the oldest. So a flood at one
// port removes events of that port alone. Events about no port count as a port.
//
// A port may write LOG_BURST lines of a type a second. Of pauses and changes of addresses, all
// ports together may write LOG_BURST lines of a type a second, and each port its first one. Lines
// beyond that are counted by type, and their number is written at the end of that second
// (suppressed=N). Written or not, events are kept. Called by the control thread only.
#pragma once

#include <stdint.h>

#include "dataplane/event.h"

struct json_object;
struct eventlog;
struct policy;

enum { EVENTLOG_KEPT = 1000, EVENTLOG_ALARMS = 200, LOG_BURST = 10 };

// TX_SET as control reports it: a is 1 for on, b the queue plus one, 0 for the whole port.
// RELOADED: a is the number of keys that differ; RELOAD_FAILED: a is the number of mistakes.
__attribute__((warn_unused_result)) int eventlog_create(const struct policy *policy,
							struct eventlog **out);
void eventlog_destroy(struct eventlog *l); // NULL is fine
// Names of ports and the cell size come from it from here on; the one before is used no more.
void eventlog_new_policy(struct eventlog *l, const struct policy *policy);
void eventlog_add(struct eventlog *l, const struct event *e, uint64_t now_ns);
// The same about the address of a next hop or of an NVMe-oF host, or about an LLDP neighbour.
void eventlog_add_about(struct eventlog *l, const struct event *e, const char *about,
			uint64_t now_ns);

// Writes how many lines were suppressed in seconds that have ended.
void eventlog_tick(struct eventlog *l, uint64_t now_ns);

// [{"seq", "time", "t_ns", "event", "severity", "port", "class", "text", ...}, ...], oldest first.
// port -1: all. since: only what came after the event of this number, 0: all. grade: the least, 0:
// all.
struct json_object *eventlog_rows(const struct eventlog *l, int port, uint64_t since, int grade);

// 0 for "info", 1 for "warning", 2 for "alarm", -1 for any other word.
int eventlog_grade(const char *severity);

// "info", "warning" or "alarm".
const char *eventlog_severity(enum event_type type);

// Events of this type since the start, written or not.
uint64_t eventlog_count(const struct eventlog *l, enum event_type type);

// A line of the daemon's own, with the time in front.
__attribute__((format(printf, 1, 2))) void log_line(const char *fmt, ...);
