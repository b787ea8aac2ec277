// SPDX-License-Identifier: Apache-2.0
// weir-host: what its files share. main.c brings the port up and down, run.c drives the NIC in real
// time, report.c prints the result. One thread, the only one that reads a clock or sleeps. Times
// are model time (control/base/model_time.h) wherever nothing else is said.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/host/args.h"
#include "control/host/storm_tally.h"
#include "drivers/live.h"
#include "drivers/nic/nic.h"

enum { HOST_TEXT = 512, HOST_MAX_PAIRS = 1024 };

// A queue pair of a sender.
struct host_flow {
	uint32_t id; // of the NIC
	struct ip_key to;
	uint32_t number; // of --qps
	uint8_t cls, dscp;
};

struct host_inof;

// The storm of --storm or --storm-at.
struct host_storm {
	bool on;
	bool xon_left; // the XON of --then-xon are to follow
	uint8_t turns_left; // of --turns, behind this one
	uint64_t frames; // PFC frames of the first class that are in the tally
	struct storm_params plan;
	struct storm_tally tally;
};

struct host {
	const struct host_args *args;
	struct live_port port;
	struct nic *nic;
	uint64_t speed_bps;
	uint64_t start_ns, end_ns; // of the run; the sender's start when all are connected
	uint32_t n_flows;
	struct host_flow flows[NIC_MAX_QPS];
	struct host_inof *inof; // NULL: off
	struct host_storm storm;
	uint64_t real_start_ns; // the system's clock when ours began
	char error[HOST_TEXT]; // what went wrong, "" when nothing did
	// Progress lines show what was added since the one before.
	uint64_t interval_at_ns;
	uint64_t last_bytes, last_pauses;
};

// Adds a queue pair with so many messages (0: until stopped) to h->flows. number: of --qps; class
// and DSCP follow from the turn. 0, or 1 with the reason in h->error.
__attribute__((warn_unused_result)) int host_flow_add(struct host *h, struct ip_key to,
						      uint32_t number, uint32_t turn,
						      uint64_t n_messages);

// Real time by the system's clock -> model time.
uint64_t host_now(const struct host *h);

// Runs to the end, or until the first request to stop (control/base/stop.h); the second one cuts
// that short. 0, or 1 with the reason in h->error.
int host_run(struct host *h);

// One line of what happened since the last.
void host_progress(struct host *h, uint64_t now_ns, FILE *out);

// The final report, as a table or JSON.
void host_report(const struct host *h, FILE *out);
