// SPDX-License-Identifier: Apache-2.0
// The rule of auto ECN for one queue: what its thresholds are next, and why. Pure: features of
// windows come in, a verdict goes out. No DPDK. Control calls it (agent.h).
//
//   mode      what the rule does                          left for
//   start     keeps the thresholds of the start           model, search, settled: after
//                                                         START_WINDOWS
//   model     uses the row of a known workload            start: the features moved
//                                                         search: the row cost throughput
//   search    tries a kmin in each window                 settled
//   settled   keeps what the search found                 start: the features moved
//   frozen    keeps what there is; no window counts       the mode before
//
// In mode start nothing has to be frozen: the thresholds stand, and the windows of a storm do not
// count.
//
// After START_WINDOWS their mean is compared with the model. A row that is near gives the
// thresholds. If the utilisation of a window differs from the mean by more than SPREAD_USE, or the
// delay by a factor above 2^SPREAD_OCTAVES, and again in the next START_WINDOWS, comparisons are
// chance, and the flows decide. A search after unsteady windows waits for SECOND_WINDOWS steady
// ones: three of random traffic may be alike by chance. A queue with FEW_MARKS keeps the start: no
// thresholds change much.
//
// The flows decide by the running mean of their fairness: what each sent in a round of the table.
//
//   fairness          the flows are                    kmin
//   ALIKE or more     alike: marks only slow them      the ceiling / ALIKE_PART
//   below MIXED       mice beside elephants            MIXED_BYTES_40G, in proportion to the speed
//   between, unknown  undecided                        that of the start
//
// Flows that are alike are undecided where the raised kmin is below kmax of the start: it would
// mark more. They also decide in steady windows if they are alike and use less than OPEN_USE of the
// link. Such traffic brings as many bytes with any thresholds, so a search would learn nothing. The
// other mix in the running mean counts as a move. PAUSEs that the start did not cause end a raise.
//
// A search looks for the lowest kmin that keeps the throughput; kmax and pmax follow (ecn_family).
// Delay grows with kmin, so that one has the least delay. A window is enough if its marked_use or
// its utilisation is at least KEEPS of the highest so far. Each try is the geometric mean of the
// highest kmin that is not enough, or the floor, and the lowest one that is, or the ceiling. It
// ends when they are FINE octaves apart. But first it rises, until a try fills the link (FULL), has
// FEW_MARKS, causes PAUSEs, or is the ceiling and no better than the try before; in RISE_TRIES at
// most. Until then the highest so far says little: throughput may be the same from the floor to 100
// KB, and treble at 250 KB. From 3 KB to 300 KB a search has 4 to 7 tries. If the start kept the
// throughput, too, and with less delay than the answer, the queue gets the start back.
//
// Both must prove themselves. If a row takes more than 1 - ROW_KEEPS of the utilisation that the
// link had with the thresholds of the start, a search begins; the window is its first try. If one
// of PROOF_WINDOWS after a search has less than PROOF_USE of the marked_use of the try, or more
// than PROOF_DELAY times its delay, the search did not last. Then the queue settles at the try that
// filled the link most, if that was GAIN times the use of the start, else at the start. A search in
// which even the ceiling is not enough learns nothing, so the flows decide.
//
// Rails: floor <= kmin <= ceiling, whatever the features are. So a host that ignores ECN takes kmin
// to the floor at most, and marks begin before PFC pauses.
//
// A search or a row that follows a move of the features, or a proof that failed, doubles the hold,
// up to HOLD_MAX_NS. In the hold nothing begins. QUIET_NS, and two holds, without a move halve it.
// So a workload that alternates with the windows changes the thresholds ever less often.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/autoecn/feature.h"
#include "control/autoecn/model.h"

enum ecn_mode { ECN_START, ECN_MODEL, ECN_SEARCH, ECN_SETTLED, ECN_FROZEN, N_ECN_MODES };
extern const char *const ecn_mode_name[N_ECN_MODES];

enum ecn_why {
	ECN_WHY_NONE,
	ECN_WHY_BEGIN,
	ECN_WHY_NEAR,
	ECN_WHY_TRY,
	ECN_WHY_BEST,
	ECN_WHY_START,
	ECN_WHY_FULLEST,
	ECN_WHY_LOST,
	ECN_WHY_ALIKE,
	ECN_WHY_MIXED,
	ECN_WHY_UNSTEADY,
	ECN_WHY_PAUSES,
	ECN_WHY_FEW_MARKS,
	ECN_WHY_COSTS,
	ECN_WHY_MOVED,
	ECN_WHY_STORM,
	ECN_WHY_PAUSED,
	ECN_WHY_POLICY,
	ECN_WHY_THAW,
	ECN_WHY_RAILS,
	N_ECN_WHYS,
};
extern const char *const ecn_why_text[N_ECN_WHYS];

struct ecn_rails {
	uint64_t floor_bytes, ceiling_bytes; // of kmin
	uint64_t speed_bps;
};

// Reasons of control to freeze a queue.
enum ecn_freeze { ECN_GO, ECN_FREEZE_STORM, ECN_FREEZE_POLICY };

// How the flows of a queue share its bytes: the same each, or mice beside elephants. ECN_NO_MIX:
// the flows were not used for the thresholds. ECN_UNDECIDED: they were, and are neither.
enum ecn_mix { ECN_NO_MIX, ECN_UNDECIDED, ECN_ALIKE, ECN_MIXED };

// A window of a search.
struct ecn_try {
	double kmin, utilisation, marked_use, delay_p99_ns;
	bool pauses; // that the start did not cause
};
enum { ECN_TRIES_MAX = 10 };

struct ecn_rule {
	struct ecn_rails rails;
	const struct ecn_model *model; // NULL: search only
	bool advise; // the thresholds are advice that no queue gets, so no search can measure them
	enum ecn_mode mode, before_freeze;
	struct ecn_thresholds now;
	const struct ecn_archetype *row; // it gave the thresholds in force; NULL: none
	// The search.
	double kmin, low, high; // of the try; the answer lies between the others
	struct ecn_try tries[ECN_TRIES_MAX];
	unsigned n_tries;
	bool risen; // what the link can carry has been seen
	int high_try; // place of high; -1: none was so high
	// What the features are compared with.
	struct ecn_features settled; // once `compared`
	bool compared;
	double spread; // of the windows in mode start, 1: as much as allowed
	double noise; // mean distance of a window from the one before
	unsigned n_far;
	struct ecn_features mean, last; // of n_start windows in mode start; the last window
	unsigned n_start;
	double fairness; // of the flows: the mean of n_fairness windows, then a running one
	unsigned n_fairness;
	enum ecn_mix mix; // that the thresholds in force are for
	bool second_look; // the first START_WINDOWS were unsteady
	uint64_t hold_ns, since_ns;
	uint64_t quiet_ns; // since when nothing has moved, and the hold is what it is
	unsigned n_proofs; // windows that must still show what the search found
	unsigned n_changes; // of the thresholds
};

struct ecn_verdict {
	enum ecn_why why; // ECN_WHY_NONE: nothing to report
	bool changed; // the thresholds are others
	struct ecn_thresholds before, after;
};

// 5 KB, 200 KB and 1 % at 40 Gb/s, in proportion at another speed, within the rails; kmax is at
// least four times the floor.
struct ecn_thresholds ecn_start(const struct ecn_rails *r);
// The thresholds of a search: kmax = 4 * kmin, pmax = 20 %, within the rails.
struct ecn_thresholds ecn_family(const struct ecn_rails *r, double kmin_bytes);

void ecn_rule_init(struct ecn_rule *r, const struct ecn_rails *rails, const struct ecn_model *model,
		   uint64_t now_ns);
// A new policy with other rails. Thresholds beyond them move to them; a search begins anew.
struct ecn_verdict ecn_rule_rails(struct ecn_rule *r, const struct ecn_rails *rails,
				  uint64_t now_ns);
// A window has ended.
struct ecn_verdict ecn_rule_window(struct ecn_rule *r, const struct ecn_features *f,
				   enum ecn_freeze freeze, uint64_t now_ns);
