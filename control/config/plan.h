// SPDX-License-Identifier: Apache-2.0
// The output of `weirctl check` and `weirctl plan`. Needs no daemon and opens no device. Every
// number comes from the compiled policy, so the plan has the numbers of a switch. Control thread
// only.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/config/config.h"
#include "dataplane/base/port_no.h"
#include "dataplane/qos/pg.h"

// Mistakes and warnings to stderr (with json: all in one object on out), or "FILE: ok (3 ports,
// ...)". 0: the policy can be loaded; 2: it cannot, or with strict it has a warning.
int check_print(const char *path, bool json, bool strict, FILE *out);

// Prints every derived number and whether it holds. port: in the tables the rows of this one alone;
// NULL: of all, and equal rows are one. 0, or 2 with the reasons on stderr if the policy cannot be
// compiled or has no such port.
int plan_print(const struct config *c, bool json, const char *port, FILE *out);

// Prints the text of a plan with these rows, folded (plan_rows.c). In the text PLAN_ROW stands
// before each row of a port: a heading may begin with the name of a port, too.
#define PLAN_ROW "\1"
void plan_rows(const struct policy *p, const char *text, const char *port, FILE *out);

// Bytes of a queue at most, when its memory has reached `share_q16` of the threshold: of a lossless
// queue each of the priority groups that fill it, from an empty switch.
struct ipcc_depth {
	uint64_t one; // one port sends; of all ports the least
	uint64_t all; // all other ports send alike; 0: there is none
};
struct ipcc_depth plan_ipcc_depth(const struct policy *p, unsigned port, unsigned queue,
				  uint32_t share_q16);

// ---- one user alone in an empty switch, with frames of one cell (plan_queues.c)
// Cells of shared memory that the user gets below the threshold.
uint64_t plan_alone_cells(const struct threshold *t, uint64_t pool);
// Cells, min included, at or below which the group sends XON.
uint64_t plan_xon_alone_cells(const struct pg_params *pg, uint64_t pool);
// The list of all queues, for the plan.
struct json_object;
struct policy;
struct policy_port;
struct json_object *plan_queues_json(const struct policy *p);

// ---- whether ECN marks before PFC pauses (plan_ecn.c)
enum ecn_before_pfc {
	ECN_BEFORE_PFC_NO, // fewer than 0.1 marks, or no other port
	ECN_BEFORE_PFC_MARGINAL,
	ECN_BEFORE_PFC_YES, // more than 10 marks
};

struct plan_ecn {
	uint64_t kmin_bytes; // the lowest of the outputs
	unsigned n_outputs; // 0: no other port has ECN in the class
	bool output[POLICY_MAX_PORTS]; // the ports that the frames go to
	uint64_t n_frames; // of the class, before the one that enters XOFF
	uint64_t queue_bytes, average_bytes; // of the longest queue at XOFF; as WRED sees it
	uint64_t marks_q32;
	enum ecn_before_pfc verdict;
};

struct plan_ecn plan_ecn(const struct policy *p, unsigned port, unsigned cls);

// Whether the verdict is `no` and some output has ECN; *out is then the plan. Stops at 0.1 marks.
bool plan_ecn_is_no(const struct policy *p, unsigned port, unsigned cls, struct plan_ecn *out);

// Arrivals at `in` in the time in which `out`, one of n outputs, sends a frame; in Q20.
uint64_t plan_ecn_period_q20(const struct policy *p, unsigned in, unsigned out, unsigned n);

double plan_ecn_marks(const struct plan_ecn *e);
const char *plan_ecn_word(enum ecn_before_pfc verdict);

// ---- PAUSE that is shorter than the longest one (plan_pause.c): how long it lasts, after which
// time it is repeated, and how late that may be

// Nothing where no port has such a PAUSE.
void plan_pause_text(const struct policy *p, int name_width, FILE *out);
// Adds "pause" to a port that has.
void plan_pause_json(const struct policy_port *p, struct json_object *port);

// ---- watchdogs (plan_watchdogs.c): nothing where no port has one, or the port has none
void plan_watchdog_text(const struct policy *p, int name_width, FILE *out);
void plan_watchdog_json(const struct policy_port *p, struct json_object *port);
