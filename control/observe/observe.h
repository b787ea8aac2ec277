// SPDX-License-Identifier: Apache-2.0
// The numbers of a running switch, each once, as JSON rows with stable names.
//
// The counters of the dataplane only grow; a baseline kept here is what `clear counters` means, and
// rates come from samples taken a few times a second. Units: queue bytes are frame bytes, bytes of
// priority groups and pools are cells times the cell size, durations are microseconds. The
// control thread calls everything, with the time of control as now_ns; nothing here changes the
// switch. Rates and times are those of the switch (instance.h, time_scale).
#pragma once

#include <stdint.h>

#include "control/observe/fact.h"
#include "dataplane/switch.h"
#include "dataplane/switch_flows.h"

struct instance;
struct json_object;
struct observe;
struct policy;

enum { OBSERVE_ALL_PORTS = -1 };

// The instance must outlive it; its services may open later. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int observe_create(const struct instance *in,
						       struct observe **out);
void observe_destroy(struct observe *o); // NULL is fine

// The instance has another policy.
void observe_new_policy(struct observe *o);

// The stand-in, which pauses the peers of workers that stand still. NULL, as at the start: none.
struct standin;
void observe_set_standin(struct observe *o, const struct standin *standin);
struct linux_numbers;
// As they are now.
typedef const struct linux_numbers *observe_linux_fn(void *arg);
void observe_set_linux(struct observe *o, observe_linux_fn *numbers, void *arg);

// The values of `show version` that come from the daemon. The caller keeps the texts.
struct observe_about {
	const char *version, *policy_file;
	uint64_t start_ns; // real time
	uint64_t confirm_end_ns; // until then a policy waits for `confirm`; 0: none does
};
void observe_set_about(struct observe *o, const struct observe_about *about);

// To be called every few milliseconds: keeps what rates need.
void observe_sample(struct observe *o, uint64_t now_ns);

// From now on counters and the longest times of `latency` count from here. Gauges, watermarks and
// the balance are untouched.
void observe_clear(struct observe *o, uint64_t now_ns);

// The rows of one kind: {"ports": [...]}, {"pgs": [...], "pools": [...]}, ... what: a kind of
// fact.h whose lists observe computes; of flows the sums only. The keys are in fact.h. NULL when
// there is no such kind. port: its index or OBSERVE_ALL_PORTS.
struct json_object *observe_show(struct observe *o, const char *what, int port, uint64_t now_ns);

// The value of a fact at an instant of model time, counted since the start. Of the lists ports,
// queues, pfc and pgs i is the queue, class or group; of watchdog the class, of guard the rule, of
// ipcc the queue, of pools the pool. Of flow_table and pairing port and i mean nothing. Facts that
// are rates have no value here.
struct value observe_value(struct weir_switch *sw, enum fact_id f, unsigned port, unsigned i,
			   uint64_t now_ns);

// Adds such values to a row; `facts` ends with F_NONE.
void observe_facts(struct weir_switch *sw, struct json_object *row, const enum fact_id *facts,
		   unsigned port, unsigned i, uint64_t now_ns);

enum observe_flags {
	OBSERVE_ALL_ROWS = 1, // drops: also the reasons that have not occurred
	OBSERVE_RAW = 2, // counters since the start, whatever was cleared
	// drops: also what must not happen, the losses in lossless classes, as rows of zeros
	OBSERVE_ALARM_ROWS = 4,
	OBSERVE_HISTORY = 8, // microbursts: also the bursts and the last windows
};

// The same, with a set of enum observe_flags.
struct json_object *observe_rows(struct observe *o, const char *what, int port, unsigned flags,
				 uint64_t now_ns);

struct weir_switch *observe_switch(const struct observe *o);

// {"received": ..., ..., "balanced": true}: exact only at rest.
struct json_object *observe_balance(const struct weir_switch *sw);

static inline uint64_t balance_begun(const struct balance *b)
{
	return b->received + b->generated + b->replicated;
}

static inline uint64_t balance_ended(const struct balance *b)
{
	return b->transmitted + b->consumed + b->dropped + b->queued;
}

// [{"port", "queue", "packets", "reason"}, ...]: what is still queued, and what it waits for.
struct json_object *observe_waiting(const struct weir_switch *sw);

// ---- RoCEv2 flows and the notifications of the switch (flows.c): one row of JSON each

// The other values of a flow's row.
struct flow_view {
	const struct policy *policy;
	uint64_t now_ns; // switch time
	uint64_t rate_bps; // over the time between two looks
};

// Source and destination as text: "10.0.0.1", "2001:db8::1".
enum { FLOW_ADDR_LEN = 46 };
void flow_addresses(const struct flow_key *k, char src[FLOW_ADDR_LEN], char dst[FLOW_ADDR_LEN]);

void flow_row_emit(struct json_object *row, const struct flow_row *f, const struct flow_view *v);

// The other values of the row of a CNP.
struct cnp_view {
	const struct policy *policy;
	uint64_t seq, wall_ns; // its number, and when the control thread took it
};
void cnp_row_emit(struct json_object *row, const struct cnp_record *c, const struct cnp_view *v);

extern const char *const pair_source_name[N_PAIR_SOURCES]; // "none", "static", ...
extern const char *const cnp_silence_name[N_CNP_SILENCES];
