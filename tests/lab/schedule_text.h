// SPDX-License-Identifier: Apache-2.0
// A policy of a random schedule while it is written (schedule_policy.c), and the keys of the
// features that only schedules with `together` have (schedule_keys.c).
#pragma once

#include "tests/lab/feature_pairs.h"
#include "tests/lab/schedule_policy.h"

struct text {
	bool full_speed; // every port at the speed of its wire
	// For elephants, for trimming, and for what is together: what else is drawn does not depend
	// on them.
	struct rng luck, cuts, more;
	bool elephants, trims;
	uint32_t on; // bitmap of features that write keys
	size_t n;
	char at[32768];
};

__attribute__((format(printf, 2, 3))) void text_add(struct text *t, const char *format, ...);

// Draws the features of a policy; none without `together`.
void keys_draw(struct text *t, const struct schedule_conf *c, const struct rng *rng);
// The keys of those, by the place where they stand.
void keys_of_port(struct text *t, unsigned port);
void keys_of_profile(struct text *t, uint8_t lossless);
// True: the class has `wred` now.
bool keys_of_class(struct text *t, unsigned cls);
void keys_of_policy(struct text *t, const struct schedule_conf *c);
// Some ports route, the others are in VLANs, and keys_of_policy says where the stations are.
bool keys_have_vlans(const struct text *t);
