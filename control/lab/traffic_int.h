// SPDX-License-Identifier: Apache-2.0
// Inside traffic, shared by traffic.c, which keeps the records and the connections and takes
// the hooks of the NICs, and by traffic_patterns.c, which decides when which host posts.
//
//   lab_flow --> run --+-- lanes that stand                       each, incast, all-to-all
//                      +-- sources (a host of `from`)              poisson, request, storage
//                            +-- pairs (a host of `to`) -- lanes     trace: of a class
//
//   With `reuse`, standing lanes are closed and opened on the same numbers.
//
//   op: one message or operation under way; each of its messages carries op and step as its tag.
#pragma once

#include <sys/queue.h>

#include "control/lab/ideal.h"
#include "control/lab/traffic.h"
#include "control/lab/workload.h"

enum {
	RETRY_NS = 10000, // where a NIC has no queue pair or no room
	REFUSED_NS = 1000000, // where the receiver has none, and has said so
};

enum lane_state { LANE_CLOSED, LANE_IDLE, LANE_BUSY, LANE_DYING };

struct lane_post {
	uint64_t tag;
	uint32_t n_bytes;
};

// Messages that the NIC has no room for, oldest first.
struct lane_queue {
	struct lane_post *ring;
	uint32_t head, n, size; // size: a power of two
};

// A connection: a row of traffic_conn, and what is under way on it.
struct lane {
	struct traffic_conn pub;
	struct run *run;
	uint8_t op; // enum req_op
	uint8_t state; // enum lane_state
	bool retrying;
	uint32_t n_out; // messages the NIC has
	struct lane_queue queue;
	struct traffic_counts closed; // of what was connected before
	uint64_t n_begun; // standing: messages
	struct io *io; // of a flow with `inof`
	// Of a flow that is opened anew on the same numbers.
	struct {
		uint32_t qpn, peer_qpn; // 0: any
		uint64_t n_begun; // messages since it was opened
		bool waits; // for a partner to cross with
		uint64_t since_ns; // when that began
	} reuse;
	// Of a pair.
	struct pair *pair;
	TAILQ_ENTRY(lane) age; // among idle lanes of the source, oldest first; or in `dying`
	TAILQ_ENTRY(lane) age_at_src, age_at_dst; // among idle lanes of the host, oldest first
	uint64_t idle_ns; // since when
	TAILQ_ENTRY(lane) spare; // poisson, trace: idle or closed lanes of the pair
};
TAILQ_HEAD(lanes, lane);

struct op {
	uint32_t index, generation;
	uint32_t src, dst, n_bytes;
	uint32_t moved; // storage: bytes that were posted
	uint8_t waits; // for these steps, before it is done
	bool is_read;
	uint64_t posted_ns, first_tx_ns, last_tx_ns;
	struct run *run;
	struct pair *pair;
	STAILQ_ENTRY(op) next;
};
STAILQ_HEAD(ops, op);

enum lane_kind { LANE_REQUEST, LANE_ANSWER, LANE_WRITE, LANE_READ, N_LANE_KINDS };

// A client and one of its servers.
struct pair {
	struct source *source;
	uint32_t dst; // host
	struct lane **lanes; // service: [kind][qp], made when first used
	uint32_t turn; // service: of the queue pairs
	uint32_t credits_used;
	struct ops waiting; // storage: for a credit
	struct lanes idle, closed; // poisson, trace
};

// A host that begins operations.
struct source {
	struct run *run;
	uint32_t host, self; // self: its index in `to`, n_dst: not there
	uint8_t cls;
	struct rng rng;
	struct arrivals arrivals;
	uint64_t n_begun;
	struct pair **pairs; // by index in `to`; made when first used
	struct lanes idle;
	uint32_t n_idle;
	struct ops waiting; // for a queue pair
	bool retrying;
};

// A flow at work.
struct run {
	struct traffic *t;
	const struct lab_flow *f;
	uint32_t index;
	uint64_t seed;
	struct rng rng; // of rounds and standing connections
	struct lane **lanes; // standing
	uint32_t n_lanes;
	uint32_t *round_starts, n_groups; // rounds take one group of lanes after the other
	uint32_t *order; // incast with `fan`: room for drawing
	uint64_t n_rounds;
	uint32_t left; // of the round, where rounds follow one another
	uint64_t n_begun, n_open; // messages and operations; open: not done
	uint64_t n_due; // that `count` lets it begin; rounds have their own number
	bool is_done;
	uint64_t last_done_ns; // UINT64_MAX: none was done
	struct source *sources;
	uint32_t n_sources;
	uint32_t n_played; // trace: flows that were begun
	// Of a flow with `inof`.
	struct io *ios;
	uint32_t n_ios;
	struct traffic_paths paths;
};

enum step { STEP_REQUEST, STEP_ANSWER, STEP_DATA };
#define STEP_BIT(step) (1u << (step))

// The steps of a pattern. op is NULL when the operation is over already.
struct behaviour {
	int (*start)(struct run *r);
	void (*done)(struct lane *l, struct op *op, enum step step, const struct nic_done *d);
	void (*served)(struct op *op, enum step step);
};
extern const struct behaviour behaviours[N_PATTERNS]; // traffic_patterns.c

// Idle lanes from and to a host.
struct host_lanes {
	struct lanes out, in;
};

enum { OPS_PER_BLOCK = 256, DONE_PER_BLOCK = 4096, TRAFFIC_NO_HOST = UINT32_MAX };

struct traffic {
	const struct scenario *sc;
	struct fabric *f;
	struct run *runs;
	struct lane **lanes; // all, in the order of traffic_conn
	uint32_t n_lanes, lanes_room;
	struct lane ***by_id; // [host][id of the NIC]
	uint32_t *by_id_room;
	struct op **op_blocks;
	uint32_t n_op_blocks;
	struct ops free_ops;
	uint64_t n_open;
	struct traffic_done **done_blocks;
	uint64_t n_done;
	uint32_t done_room; // blocks
	uint32_t in_hook; // the host whose NIC is calling; TRAFFIC_NO_HOST
	struct lanes dying;
	struct host_lanes *idle; // by host
	uint32_t n_undone; // flows that end and are not done
	struct ideal *ideal;
};

static inline uint64_t traffic_now(const struct traffic *t)
{
	return t->f->clock.now_ns;
}

// ---- traffic.c
// Memory has run out: the run's numbers are not to be trusted, and it says so.
void traffic_give_up(struct traffic *t);
// Calls fn at t_ns or, if that is past, now.
void traffic_at(struct traffic *t, uint64_t t_ns, vclock_fn *fn, void *arg);
struct op *op_begin(struct run *r, uint32_t src, uint32_t dst, uint32_t n_bytes); // NULL: no memory
void op_finish(struct op *op); // it is done now; keeps its record
// A row that is not connected yet. NULL: no memory.
struct lane *lane_add(struct run *r, uint32_t src, uint32_t dst, enum req_op op);
// Connects it. f: NULL, or what to stream without end. 0, -ENOSPC, -ENOMEM, -EINVAL.
__attribute__((warn_unused_result)) int lane_open(struct lane *l, const struct nic_flow *stream);
// At each end of l that has no queue pair left, closes the connection that is idle for longest.
// True: one was closed. Must not be called while a NIC is calling.
bool lane_make_room(const struct lane *l);
// Posts on a connection, after what waits there.
void lane_post(struct lane *l, struct op *op, enum step step, uint32_t n_bytes);
// Closes it; what is under way on it is not. Must not be called while the NIC of the connection is
// calling.
void lane_close(struct traffic *t, struct lane *l);
void op_fail(struct op *op); // it is over, and has no record
bool lane_used_up(const struct lane *l); // it has had its messages, and is to be opened anew

// ---- traffic_paths.c
// After the lanes of the flow are made. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int paths_start(struct run *r);
void paths_changed(void *arg, const struct fabric_path *p); // the hook; arg: struct traffic
void paths_done(const struct lane *l); // a message is complete

// ---- traffic_patterns.c
// Goes on posting on a connection that was opened anew.
vclock_fn standing_continue; // of a struct lane
