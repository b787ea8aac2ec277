// SPDX-License-Identifier: Apache-2.0
// The inside of the self-test: selftest.c (the ladder and what devices tell), selftest_loop.c (what
// frames prove), selftest_report.c (findings).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/daemon/clock.h"
#include "control/daemon/selftest.h"
#include "drivers/live.h"

struct json_object;

enum { SELFTEST_PORTS_MAX = 2, FRAME_OVERHEAD_BYTES = 22, TAG_BYTES = 4 };

enum verdict { VERDICT_OK, VERDICT_FAILED, VERDICT_UNKNOWN };

struct report {
	bool json;
	struct json_object *checks;
	unsigned n_failed;
};

struct selftest_port {
	const char *device;
	const char *name; // the device without its kind and arguments, for hints
	struct live_info info;
	struct live_port live;
	bool probed, open;
	uint32_t mtu; // what it is tested with
	enum live_known sends_pfc, gets_pfc; // proved by frames
};

struct selftest {
	const struct options *opt;
	struct report report;
	struct selftest_port ports[SELFTEST_PORTS_MAX];
	unsigned n_ports;
	struct rte_mempool *pool;
	struct tsc_clock clock;
};

// selftest_report.c. One finding: a line of text at once, or a row of the JSON at the end.
__attribute__((format(printf, 5, 6))) void report_add(struct report *r, const char *device,
						      const char *check, enum verdict verdict,
						      const char *fmt, ...);
void report_end(struct report *r);

// selftest_loop.c. Sends frames from one open port to another (or itself) and judges what arrives.
void selftest_loop(struct selftest *t, struct selftest_port *from, struct selftest_port *to);
