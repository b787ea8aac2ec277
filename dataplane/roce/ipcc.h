// SPDX-License-Identifier: Apache-2.0
// How many notifications a congested queue calls for, and which flows get them (Proactive
// Congestion Control as H3C's IPCC and Huawei's NPCC describe it; the switch sends the CNP that
// DCQCN's notification point would send a round trip later). Pure: length, time, and the flows that
// fed the queue go in, a list goes out. The owner of the queue calls it (notify.h); the owner
// of each flow keeps its gap and sends the frame.
//
// A queue is looked at when its length crosses kmin upwards and every `interval` while above it,
// but never sooner than an interval after the last look: trend d = len - len_before, and
//
//   occupancy r = max(len / kmax, shared use / T)
//
// of its memory: of a lossless queue, of the fullest priority group that has most of its frames in
// the queue, so r = 1 in XOFF; of a lossy queue, its own. T is the threshold at that moment.
//
//                    shallow (r < deep)     deep
//   growing, d > 0   FEW                    MANY
//   else             NONE                   FEW
//
//   excess = max(0, d / dt + (len - kmin) / drain)            dt: since len_before
//   (bytes in - bytes out is how much the length changed)
//
// Flows are walked from the largest; each one told is expected to cut rate * cut, and the walk ends
// when that covers the excess, or the quadrant's limit is reached. Where the excess is 0 a FEW
// quadrant still tells one. A flow told less than min_gap ago has its cut under way: it counts as
// covered and is not told again. A flow without a pair can't be told and covers nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/roce/params.h"

// Why a flow that fed a queue above its threshold was sent no CNP, last time it was asked.
#define CNP_SILENCES(X)                                                                            \
	X(NONE, "none", "nothing stands in the way")                                               \
	X(UNPAIRED, "unpaired", "the sender's queue pair is not known for certain")                \
	X(GAP, "gap", "it was told less than min_gap ago")                                         \
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

// In bits per second, as rates are. dt_ns > 0.
uint64_t ipcc_excess_bps(const struct ipcc_params *p, uint64_t len, int64_t trend, uint64_t dt_ns);

// A flow that fed the queue, as the chooser needs it.
struct ipcc_flow {
	uint64_t bps; // as it fed the queue
	uint64_t told_ns; // 0: never
	uint16_t cut_q16; // learnt; 0: not yet
	bool paired;
	bool datagram;
	uint8_t verdict; // out: enum cnp_silence, CNP_SILENT_NONE: tell it
};

// flows: n of them, from the largest. Sets each one's verdict, returns how many are to be told.
unsigned ipcc_choose(const struct ipcc_params *p, enum ipcc_quadrant q, uint64_t excess_bps,
		     struct ipcc_flow *flows, unsigned n, uint64_t now_ns);

// What a CNP has cut, by the flow's rates before and after: moves the estimate (0: none yet) by a
// quarter of what it is wrong. Never 0.
uint16_t ipcc_learn_cut(uint16_t cut_q16, uint64_t before_bps, uint64_t after_bps);

// ---- when a queue is looked at

struct ipcc_state {
	bool muted; // frames stood in it while it was paused, and so they do still
	uint64_t next_ns; // no look before
};

enum ipcc_due {
	IPCC_NOT_DUE,
	IPCC_DUE, // look now
	IPCC_MUTED, // a look would be due, but the queue is paused: its flows are victims
	IPCC_FREED, // the pause is over; what was seen until now says nothing about the flows
};

// Whether the queue is to be looked at now, which is then taken as done. len: bytes now; paused:
// nothing may leave it at this moment by the peer's (or an operator's) will. It does not matter how
// often it is asked, as long as it is asked when the queue has grown, when a pause began or ended,
// and at ipcc_next.
enum ipcc_due ipcc_look_due(const struct ipcc_params *p, struct ipcc_state *s, uint64_t len,
			    bool paused, uint64_t now_ns);
// When it is to be asked again if the queue stays as it is; UINT64_MAX: not before it has changed.
uint64_t ipcc_next(const struct ipcc_params *p, const struct ipcc_state *s, uint64_t len);

// ---- CNPs per port: a bucket that fills with time
struct cnp_bucket {
	uint64_t at_ns; // 0: not used yet, full
	uint64_t credit; // CNPs << 20
};
// False: no more for now.
bool cnp_bucket_take(const struct cnp_params *p, struct cnp_bucket *b, uint64_t now_ns);

// ---- what is kept of each CNP, so that it can be explained
struct cnp_record {
	uint64_t t_ns;
	struct flow_key key; // of the flow
	uint32_t sender_qp;
	uint8_t source; // enum pair_source
	uint8_t left_by; // port
	uint8_t port, queue; // congested
	uint8_t quadrant;
	bool whole; // the rates are of an interval or longer; else the queue was idle before
	uint16_t rank, told; // it was the rank-th largest (from 1) of so many told at that look
	uint32_t share_q16; // shared use / T
	uint64_t len_bytes, kmin_bytes, kmax_bytes;
	int64_t trend_bytes;
	uint64_t dt_ns, excess_bps, flow_bps, queue_bps; // queue_bps: all that fed it
};
