// SPDX-License-Identifier: Apache-2.0
// A switch between ports of a driver that gives a burst of frames at once, takes as
// many as it has room for, and sees PFC before the frame is received: what the wire of the
// bench, one frame at a time, cannot do.
#pragma once

#include "tests/lab/bench.h"
#include "tests/lab/lab_yaml.h"

enum { PORTS = 3, OUT = PORTS - 1, MOST = 32, KEPT = 8192, START_NS = 1000000, AMPLE = 1000000000 };

struct sent {
	uint16_t len;
	uint8_t from, cls;
	uint32_t ecn, seq; // no padding: tests compare bytes
};

struct rig_port {
	struct rte_mbuf *waiting[MOST];
	unsigned n_waiting;
	int32_t room; // bytes
	bool sees_pfc, down, gone, refuses; // refuses: whatever room it says there is
	bool closed; // no operation may be called any more
	struct port_drv_stats stats;
	uint8_t pfc_mac[6]; // source of the last PFC frame sent
	struct port_pause word[N_CLASSES];
	struct sent sent[KEPT];
	unsigned n_sent, n_pfc, most_at_once;
};

struct rig {
	struct weir_switch *sw;
	struct rig_port port[PORTS];
	struct port_facts facts[PORTS];
	uint64_t now_ns;
	uint32_t seq;
};

extern const struct port_ops rig_ops; // of a struct rig_port

struct policy *rig_compile(const struct rig *r, const char *yaml);
// One loop of each worker at r->now_ns.
void rig_step(struct rig *r);
// sees_pfc: the driver has early PFC words.
struct rig *rig_open(const char *yaml, const struct port_facts *facts, bool sees_pfc);
// Asserts the balance.
void rig_close(struct rig *r);
// A frame waits at port `from`, numbered.
void rig_arrive(struct rig *r, unsigned from, const struct bench_frame *f);
// TX of the port OUT.
void rig_tx(struct rig *r, bool on);
// n frames of a class stand in the queue towards OUT.
void rig_stand(struct rig *r, uint8_t cls, uint16_t len, unsigned n);
// The usual policy with a buffer of 1 MB.
const char *rig_small_buffer(const char *classes);
