// SPDX-License-Identifier: Apache-2.0
// Elephants and mice: which flows are large and fast, and which frames are the first ones of a
// flow. Pure; the worker that owns the flow's port of arrival calls it.
//
//   a frame is   if                                                       until
//   mouse        it is one of the first `mice_packets` of a flowlet       the next frame
//   elephant     its flow sent `bytes` at `rate` or faster                see below
//   neither      else
//
// A flowlet ends with a pause of `age`. A flow is looked at each time it has sent another
// 2^look_shift bytes. A stretch begins with the flow, and where an elephant ends. If the mean
// rate of the stretch, pauses included, is below `rate` at a look, the next stretch begins there.
// So a slow flow is never an elephant, however much it sends.
//
//               a look: stretch >= bytes, its mean rate >= rate
//   [plain] ---------------------------------------------------------> [elephant]
//      ^                                                                    |
//      +--------------------------------------------------------------------+
//            `end_age` with a mean rate below `end_rate`: a pause, or few bytes
//
// The time of an elephant is divided into stretches of `end_age`, each judged at its end. So bursts
// with pauses shorter than `end_age` end no elephant, and a slow one ends within two stretches. A
// pause of `age` begins no flowlet of an elephant that goes on.
//
// The module chooses no action: see dataplane/elephants.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ELEPHANT_MICE_MAX = 1023 };

struct elephant_params {
	bool enabled;
	uint8_t look_shift; // elephant_look_shift(bytes)
	uint16_t mice_packets; // at most ELEPHANT_MICE_MAX
	uint64_t bytes, rate_bps, end_rate_bps;
	uint64_t age_ns, end_age_ns;
};

// Where the present stretch began: the time of a frame, and the bytes up to that frame. So the mean
// rate of a stretch is that of the frames after its first one.
struct elephant_stretch {
	uint64_t ns, bytes;
};

// 2^n is the greatest power of two that is at most an eighth of `bytes`, and 1 KiB at least. So an
// elephant is found with a delay of at most an eighth of its limit, or of 1 KiB.
static inline uint8_t elephant_look_shift(uint64_t bytes)
{
	uint8_t shift = 10;

	while (shift < 40 && bytes >> (shift + 4) != 0)
		shift++;
	return shift;
}

// A look at a flow that is no elephant and has sent `bytes` in all. True: it is an elephant now.
bool elephant_begins(const struct elephant_params *p, struct elephant_stretch *s, uint64_t bytes,
		     uint64_t now_ns);

// The same of an elephant, at any time. True: it is none any more. The next stretch begins if
// `end_age` is over.
bool elephant_ends(const struct elephant_params *p, struct elephant_stretch *s, uint64_t bytes,
		   uint64_t now_ns);

// The switch can change the color, the class and the DSCP of frames of one class that are mice, or
// of an elephant. ELEPHANT_KEEP: that one stays.
enum { ELEPHANT_KEEP = 0xff };
struct elephant_action {
	uint8_t color; // enum color
	uint8_t cls; // in which they leave; their account stays
	uint8_t dscp; // with which they leave, unless `remark` or a guard gives another
};
enum flow_size { SIZE_PLAIN, SIZE_MOUSE, SIZE_ELEPHANT, N_SIZES };
