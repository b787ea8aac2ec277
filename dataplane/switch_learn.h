// SPDX-License-Identifier: Apache-2.0
// Learning of addresses: what workers report of sources that the table does not know, and what
// control keeps of it. Part of switch_impl.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/counter.h"
#include "dataplane/policy.h"

struct event;
struct weir_switch;
struct worker;

struct learn_record {
	uint64_t key;
	uint64_t port;
};

enum mac_notice_kind {
	MAC_NOTICE_LEARNED,
	MAC_NOTICE_MOVED,
	MAC_NOTICE_EVICTED,
	MAC_NOTICE_FLAPPING,
	MAC_NOTICE_STICKY,
	N_MAC_NOTICES,
};

// What control has to say about addresses of one port.
struct mac_notice {
	uint64_t key; // the first one
	uint64_t said_ns; // when the last record was given out; 0: never
	uint32_t n; // addresses since then; 0: nothing to say
	uint8_t other; // the other port, or FDB_NO_PORT
};

// Control's side of the address table (switch_learn.c). Workers read `taken`.
struct learning {
	ctr_t taken[POLICY_MAX_PORTS]; // reports of the port's addresses
	struct mac_notice notice[N_MAC_NOTICES][POLICY_MAX_PORTS], aged;
	unsigned next; // of [port][kind], as one index: who says something first
	bool noted; // there is something to say
	bool full; // and it was said
};

// ---- switch_learn.c: parts of switch_control_step. Return how many records they gave out.
// Learns what workers report.
unsigned learn_control(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n);
// Forgets a few addresses that are too old.
unsigned learn_age(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n);
// Limits and shares of the ports.
void learn_new_policy(struct weir_switch *sw);
