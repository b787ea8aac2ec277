// SPDX-License-Identifier: Apache-2.0
// The features that random schedules put together, and how often two of them were in force at the
// same time (test_random.c, tests/threads/test_together.c). A pair that never was proves nothing.
// One thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct policy;

// X(name, text). Those before IMPAIR are in force as the policy says.
#define FEATURES(X)                                                                                \
	X(VXLAN, "vxlan")                                                                          \
	X(INNER_TRUST, "vxlan trust: inner")                                                       \
	X(SVI, "svi")                                                                              \
	X(STORM_CONTROL, "storm control")                                                          \
	X(LOOP_DETECT, "loop detection")                                                           \
	X(STICKY, "sticky")                                                                        \
	X(GUARD, "guard")                                                                          \
	X(WATCHDOG, "watchdog")                                                                    \
	X(IPCC, "ipcc")                                                                            \
	X(AUTO_ECN, "auto ecn")                                                                    \
	X(ELEPHANTS, "elephants")                                                                  \
	X(TRIM, "trim")                                                                            \
	X(MICROBURSTS, "microbursts")                                                              \
	X(REMARK, "remark")                                                                        \
	X(FLOOD, "flood")                                                                          \
	X(SHORT_PAUSE, "short pause")                                                              \
	X(IMPAIR, "impair")                                                                        \
	X(ZONES, "zones")                                                                          \
	X(RELOAD, "reload")                                                                        \
	X(LINK_DOWN, "link down")                                                                  \
	X(TX_OFF, "tx off")                                                                        \
	X(HOLD, "held admission")

enum feature {
#define X(id, text) FEATURE_##id,
	FEATURES(X)
#undef X
	N_FEATURES,
	N_FEATURE_PAIRS = N_FEATURES * (N_FEATURES - 1) / 2,
};

static inline uint32_t feature_bit(enum feature f)
{
	return 1u << f;
}

// A bitmap of the features that are in force as a policy says.
uint32_t features_of_policy(const struct policy *p);

struct feature_pairs {
	uint64_t seen[N_FEATURES][N_FEATURES]; // [a][b] with a < b
};

// These features, a bitmap, are in force together.
void feature_pairs_count(struct feature_pairs *p, uint32_t in_force);
// Prints the rarest pair; where all should have been, each that never was. Returns how many were.
unsigned feature_pairs_report(const struct feature_pairs *p, bool all);
