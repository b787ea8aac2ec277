// SPDX-License-Identifier: Apache-2.0
// How many notifications a congested queue calls for, and which flows get them (Proactive
// Congestion Control as H3C's IPCC and Huawei's NPCC describe it; the switch sends the CNP that
// DCQCN's notification point would send a round trip later). Pure: length, time and the flows that
// fed the queue go in, a verdict for each flow comes out. The owner of the queue calls it
// (notify.h). The owner of each flow keeps its gap and sends the frame.
//
// A look at a queue is due when its length crosses kmin upwards, and every `interval` while it is
// above kmin, but never sooner than an interval after the last look. A look knows the trend
// d = len - len_before, and the occupancy
//
//   r = max(len / kmax, shared use / T)
//
// T is the threshold at that moment. Use and T of a lossy queue are its own. Those of a lossless
// queue are of the fullest priority group that has most of its frames in the queue, so r = 1 in
// XOFF.
//
//                    shallow (r < deep)     deep
//   growing, d > 0   FEW                    MANY
//   else             NONE                   FEW
//
//   excess = max(0, d / dt + (len - kmin) / drain)            dt: since len_before
//   (bytes in - bytes out is how much the length changed)
//
// Flows are notified from the largest on. Each one is expected to cut rate * cut, until that covers
// the excess, or the quadrant's limit is reached. If the excess is 0 a FEW quadrant still notifies
// one flow. A flow that was notified less than min_gap ago has its cut under way: the cut counts,
// and it is not notified again. A flow without a pair cannot be notified, and covers nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/port_no.h"
#include "dataplane/roce/params.h"

// Why a flow that fed a queue above kmin was sent no CNP at the latest look.
#define CNP_SILENCES(X)                                                                            \
	X(NONE, "none", "nothing stands in the way")                                               \
	X(UNPAIRED, "unpaired", "the sender's queue pair is not known for certain")                \
	X(GAP, "gap", "its last CNP was sent less than min_gap ago")                               \
	X(COVERED, "covered", "larger flows of the queue already cover the excess")                \
	X(QUOTA, "quota", "the quadrant's limit (few, many) was used up")                          \
	X(PORT_CAP, "port-cap", "too many CNPs leave by the flow's port")                          \
	X(DATAGRAM, "datagram", "no connected queue pair: it has no rate to cut")                  \
	X(NO_ROOM, "no-room", "no memory for the frame, or the note was lost")

enum cnp_silence {
#define X(id, name, help) CNP_SILENT_##id,
	CNP_SILENCES(X)
#undef X
	N_CNP_SILENCES,
};

enum ipcc_quadrant { IPCC_NONE, IPCC_FEW_GROWING, IPCC_FEW_SHRINKING, IPCC_MANY, N_QUADRANTS };
extern const char *const ipcc_quadrant_name[N_QUADRANTS]; // "none", "few, growing", ...

// share_q16: shared use / T.
enum ipcc_quadrant ipcc_quadrant(const struct ipcc_params *p, uint64_t len, uint32_t share_q16,
				 int64_t trend);

// The rate that the flows of the queue must give up together. dt_ns > 0.
uint64_t ipcc_excess_bps(const struct ipcc_params *p, uint64_t len, int64_t trend, uint64_t dt_ns);

// A flow that fed the queue, as the chooser needs it.
struct ipcc_flow {
	uint64_t bps; // as it fed the queue
	uint64_t notified_ns; // when its sender last got a CNP; 0: never
	uint16_t cut_q16; // learnt; 0: not yet
	bool paired;
	bool datagram;
	uint8_t verdict; // out: enum cnp_silence; CNP_SILENT_NONE: send it a CNP
};

// flows: n of them, the largest first. Sets the verdict of each, and returns how many are to get a
// CNP.
unsigned ipcc_choose(const struct ipcc_params *p, enum ipcc_quadrant q, uint64_t excess_bps,
		     struct ipcc_flow *flows, unsigned n, uint64_t now_ns);

// A new estimate of what a CNP cuts, from the flow's rates before and after one: the estimate
// (0: none yet) moves by a quarter of its error. Never returns 0.
uint16_t ipcc_learn_cut(uint16_t cut_q16, uint64_t before_bps, uint64_t after_bps);

// ---- when a queue is looked at

struct ipcc_state {
	bool muted; // it is paused, and frames wait in it
	uint64_t next_ns; // no look before
};

enum ipcc_due {
	IPCC_NOT_DUE,
	IPCC_DUE, // look now
	IPCC_MUTED, // a look would be due, but the queue is paused: its flows are victims
	IPCC_FREED, // the pause is over; what was seen until now says nothing about the flows
};

// Whether a look is due now. The caller then looks: the next look is an interval away. len: bytes
// now. paused: the peer, or an operator, has stopped the queue. More calls do not change the
// result, as long as there is one when the queue has grown, when a pause began or ended, and at
// ipcc_next.
enum ipcc_due ipcc_look_due(const struct ipcc_params *p, struct ipcc_state *s, uint64_t len,
			    bool paused, uint64_t now_ns);
// The time of the next call if the queue does not change; UINT64_MAX: none before it changes.
uint64_t ipcc_next(const struct ipcc_params *p, const struct ipcc_state *s, uint64_t len);

// ---- what fed a queue
//
// Which flows fed a queue in the current turn and in the one before, with how many bytes, and how
// the length of the queue changed. One for each IPCC queue, written by the owner of the queue. A
// small hash table: counting turns empties it, without a write. Flows that find no room count in
// the sums only. Pure.
//
// A turn ends with each look at the queue. While the queue is short there are no
// looks. Then a turn ends with the first frame that comes an interval or more after it began. If
// more than two intervals have passed, all is forgotten instead, because it says nothing any more.

enum { FEED_SLOTS = 512, FEED_PROBES = 8 };

struct feed_slot {
	uint64_t flow; // owner of the shard << 32 | id
	uint32_t turn; // of `now`; 0: never used
	uint32_t now, before; // bytes
};

struct feed {
	uint32_t turn; // from 2, so that no unused slot seems to be of the turn before
	uint64_t began_ns; // of this turn
	uint64_t length_ns; // of the turn before; 0: none
	uint64_t bytes_now, bytes_before; // of all frames that fed the queue
	uint64_t len_now, len_before; // of the queue, as each turn began
	// Slots that were fed, by turn: even and odd ones.
	uint16_t n_fed[2];
	uint16_t fed[2][FEED_SLOTS];
	struct feed_slot slot[FEED_SLOTS];
};

// len_bytes, here and below: of the queue at that moment.
void feed_init(struct feed *f, uint64_t len_bytes, uint64_t now_ns);
// No look is due. Ends the turn if it has lasted for an interval or longer.
void feed_tick(struct feed *f, uint64_t len_bytes, uint64_t interval_ns, uint64_t now_ns);
void feed_add(struct feed *f, uint64_t flow, uint32_t bytes);
// A frame of no flow.
void feed_add_other(struct feed *f, uint32_t bytes);
// This turn ends and the next begins.
void feed_turn(struct feed *f, uint64_t len_bytes, uint64_t now_ns);
// Forgets both turns.
void feed_forget(struct feed *f, uint64_t len_bytes, uint64_t now_ns);

// The time that a look is about: this turn, and the turn before if this one is younger than
// least_ns.
struct feed_window {
	bool both; // turns
	bool whole; // it is at least least_ns long
	uint64_t dt_ns; // its length, but no less than least_ns
	uint64_t len_before; // of the queue when it began
	uint64_t bps; // of all frames that fed the queue: frame bits per second
};
struct feed_window feed_window(const struct feed *f, uint64_t now_ns, uint64_t least_ns);

struct feed_flow {
	uint64_t flow;
	uint64_t bytes;
	uint64_t bps; // frame bits per second over the window
	uint64_t lot; // drawn anew in each turn, different for each flow
};
// Writes the largest flows of the window, at most n, in descending order, and returns their number.
// Lots order flows of the same size. If many flows share a queue, each feeds it one frame in a turn
// or none, and any fixed order would always favour the same flows.
unsigned feed_largest(const struct feed *f, const struct feed_window *w, struct feed_flow *out,
		      unsigned n);

// ---- CNPs per port: a bucket that fills with time
struct cnp_bucket {
	uint64_t at_ns; // 0: not used yet, full
	uint64_t credit; // CNPs << 20
};
// Takes one CNP out of the bucket of the port. False: it is empty.
bool cnp_bucket_take(const struct cnp_params *p, struct cnp_bucket *b, uint64_t now_ns);

// ---- what is stored of each CNP, so that it can be explained
struct cnp_record {
	uint64_t t_ns;
	struct flow_key key; // of the flow
	uint32_t sender_qp;
	uint8_t source; // enum pair_source
	uint8_t queue; // congested, of `port`
	port_no_t left_by, port;
	uint8_t quadrant;
	bool whole; // the rates are of an interval or longer; else the queue was idle before
	uint16_t rank, notified; // the rank-th largest flow (from 1); so many flows got a CNP
	uint32_t share_q16; // shared use / T
	uint64_t len_bytes, kmin_bytes, kmax_bytes;
	int64_t trend_bytes;
	uint64_t dt_ns, excess_bps, flow_bps, queue_bps; // queue_bps: all flows
};
