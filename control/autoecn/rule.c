// SPDX-License-Identifier: Apache-2.0
#include "control/autoecn/rule.h"

#include <math.h>

#include "dataplane/units.h"

enum {
	START_KMIN = 5000,
	START_KMAX = 200000,
	START_PPM = 10000,
	START_GBPS = 40,
	FAMILY_KMAX = 4, // times kmin
	FAMILY_PPM = 200000,
	MIDDLE_BYTES_40G = 16000, // kmin for unsteady traffic
	SEARCH_BYTES_40G = 32000, // the first kmin of a search
	START_WINDOWS = 3,
	FAR_WINDOWS = 2,
	PROOF_WINDOWS = 4,
	BUSY_PACKETS = 64, // fewer frames in a window say nothing
	SCALE_NS = 2000,
	SCALE_BYTES = 8000,
};
static const double COARSE = 2, FINE = 1, MARGIN = 0.1, RISE_MARGIN = 0.7;
static const double LOSS = 6, PAUSE = 1, LEAST_USE = 0.001;
static const double FULL = 0.97, HUNGRY = 0.9; // marked_use
static const double ROW_KEEPS = 0.95, PROOF = 0.5;
static const double BUSY = 0.1, PAUSED = 0.5, MOVED = 0.6;
static const double SPREAD_USE = 0.1, SPREAD_OCTAVES = 1;
static const double NOISE = 3, NOISE_MOST = 2, NOISE_WINDOWS = 16;
static const uint64_t HOLD_NS = 40 * (uint64_t)MS_NS, HOLD_MAX_NS = 60 * (uint64_t)SECOND_NS;
static const uint64_t QUIET_NS = 10 * (uint64_t)SECOND_NS;

const char *const ecn_mode_name[N_ECN_MODES] = {
	[ECN_START] = "start",	   [ECN_MODEL] = "model",   [ECN_SEARCH] = "search",
	[ECN_SETTLED] = "settled", [ECN_FROZEN] = "frozen",
};

const char *const ecn_why_text[N_ECN_WHYS] = {
	[ECN_WHY_NONE] = "nothing has changed",
	[ECN_WHY_BEGIN] = "the thresholds of the start",
	[ECN_WHY_NEAR] = "the traffic is that of a row of the model",
	[ECN_WHY_TRY] = "the search tries other thresholds",
	[ECN_WHY_BEST] = "the search found nothing better",
	[ECN_WHY_UNSTEADY] = "the traffic is too unsteady for a search",
	[ECN_WHY_COSTS] = "the row of the model cost throughput",
	[ECN_WHY_MOVED] = "the traffic has changed",
	[ECN_WHY_STORM] = "frozen: a PFC storm",
	[ECN_WHY_PAUSED] = "frozen: the peer pauses the queue most of the time",
	[ECN_WHY_POLICY] = "frozen: the policy changes",
	[ECN_WHY_THAW] = "the reason to freeze is over",
	[ECN_WHY_RAILS] = "a new policy has other limits",
};

static double bytes_at(const struct ecn_rails *r, double bytes_40g)
{
	return bytes_40g * (double)r->speed_bps / (START_GBPS * 1e9);
}

static struct ecn_thresholds within(const struct ecn_rails *r, double kmin, double kmax,
				    uint32_t ppm)
{
	kmin = fmin(fmax(kmin, (double)r->floor_bytes), (double)r->ceiling_bytes);
	return (struct ecn_thresholds){(uint64_t)kmin, (uint64_t)fmax(kmin, kmax), ppm};
}

struct ecn_thresholds ecn_start(const struct ecn_rails *r)
{
	return within(r, bytes_at(r, START_KMIN), bytes_at(r, START_KMAX), START_PPM);
}

struct ecn_thresholds ecn_family(const struct ecn_rails *r, double kmin)
{
	return within(r, kmin, FAMILY_KMAX * kmin, FAMILY_PPM);
}

double ecn_cost(const struct ecn_rails *r, const struct ecn_features *f)
{
	double scale = SCALE_NS + SCALE_BYTES * 8e9 / (double)r->speed_bps;

	return log1p(f->delay_p99_ns / scale) - LOSS * log(fmax(f->marked_use, LEAST_USE)) +
	       PAUSE * log1p((double)f->pauses);
}

void ecn_rule_init(struct ecn_rule *r, const struct ecn_rails *rails, const struct ecn_model *model,
		   uint64_t now_ns)
{
	*r = (struct ecn_rule){.rails = *rails, .model = model, .now = ecn_start(rails),
			       .hold_ns = HOLD_NS, .since_ns = now_ns};
}

// ---- verdicts
static struct ecn_verdict nothing(const struct ecn_rule *r)
{
	return (struct ecn_verdict){.before = r->now, .after = r->now};
}

static struct ecn_verdict use(struct ecn_rule *r, struct ecn_thresholds t, enum ecn_why why)
{
	struct ecn_verdict v = {.why = why, .before = r->now, .after = t};

	v.changed = t.kmin_bytes != r->now.kmin_bytes || t.kmax_bytes != r->now.kmax_bytes ||
		    t.pmax_ppm != r->now.pmax_ppm;
	r->n_changes += v.changed;
	r->now = t;
	return v;
}

static void enter(struct ecn_rule *r, enum ecn_mode mode, uint64_t now_ns)
{
	r->mode = mode;
	r->since_ns = r->quiet_ns = now_ns;
	r->n_start = r->n_far = r->n_proofs = 0;
	r->compared = r->second_look = false;
}

// ---- the search

static struct ecn_verdict settle(struct ecn_rule *r, uint64_t now_ns)
{
	enter(r, ECN_SETTLED, now_ns);
	r->n_proofs = PROOF_WINDOWS;
	return use(r, ecn_family(&r->rails, r->best_kmin), ECN_WHY_BEST);
}

// The kmin of the next try in this phase. 0: the phase has no further one.
static double next_kmin(const struct ecn_rule *r)
{
	const double from[] = {r->kmin, r->kmin, r->best_kmin, r->best_kmin};
	const double octaves[] = {COARSE, -COARSE, FINE, -FINE};
	double kmin = from[r->phase] * exp2(octaves[r->phase]);

	kmin = fmin(fmax(kmin, (double)r->rails.floor_bytes), (double)r->rails.ceiling_bytes);
	return fabs(log2(kmin / from[r->phase])) < FINE / 2 ? 0 : kmin;
}

static struct ecn_verdict try_next(struct ecn_rule *r, uint64_t now_ns)
{
	double next = 0;

	r->phase += r->phase >= ECN_FINE_UP; // one try each
	while (r->phase < N_ECN_PHASES && (next = next_kmin(r)) == 0)
		if (++r->phase == ECN_DOWN)
			r->kmin = r->first_hungry ? (double)r->rails.floor_bytes : r->first_kmin;
		else if (r->phase == ECN_FINE_UP && r->best_full)
			r->phase = ECN_FINE_DOWN;
	if (r->phase == N_ECN_PHASES)
		return settle(r, now_ns);
	r->kmin = next;
	return use(r, ecn_family(&r->rails, next), ECN_WHY_TRY);
}

static struct ecn_verdict begin_search(struct ecn_rule *r, uint64_t now_ns)
{
	struct ecn_thresholds t = ecn_family(&r->rails, bytes_at(&r->rails, SEARCH_BYTES_40G));

	enter(r, ECN_SEARCH, now_ns);
	r->row = NULL;
	r->kmin = r->first_kmin = r->best_kmin = (double)t.kmin_bytes;
	r->best_cost = INFINITY;
	r->best_full = r->first_hungry = false;
	r->phase = ECN_UP;
	return use(r, t, ECN_WHY_TRY);
}

// PAUSEs that the start did not cause make a try worse than any other.
//
// The window was one with the thresholds of kmin. A fine try is the last in its direction; one that
// was better is the end.
static struct ecn_verdict search(struct ecn_rule *r, const struct ecn_features *f, uint64_t now_ns)
{
	bool new_pauses = f->pauses != 0 && r->mean.pauses == 0;
	bool full = f->marked_use >= FULL, hungry = f->marked_use < HUNGRY;
	double cost = ecn_cost(&r->rails, f);
	// Windows of random traffic can look steady, and a high kmin is the greater risk.
	bool rises = r->kmin > r->first_kmin && r->best_kmin <= r->first_kmin;
	bool better = !new_pauses && cost < r->best_cost - (rises ? RISE_MARGIN : MARGIN);
	struct ecn_verdict v;

	if (better) {
		r->best_cost = cost;
		r->best_kmin = r->kmin;
		r->best_full = full;
	}
	if (r->kmin == r->first_kmin)
		r->first_hungry = hungry;
	// A higher kmin would cause more PAUSEs, or cannot fill the link more. A lower one would
	// leave it idle for longer.
	if (r->phase == ECN_UP && (new_pauses || full))
		r->kmin = (double)r->rails.ceiling_bytes;
	else if (r->phase == ECN_DOWN && hungry)
		r->kmin = (double)r->rails.floor_bytes;
	if (better && r->phase >= ECN_FINE_UP)
		v = settle(r, now_ns);
	else
		v = try_next(r, now_ns);
	v.cost = cost;
	return v;
}

// ---- known workloads, and moves

static bool idle(const struct ecn_features *f)
{
	return f->packets < BUSY_PACKETS || f->utilisation < BUSY;
}

// Adds the window to the mean of the windows with the thresholds of the start.
static void add_window(struct ecn_rule *r, const struct ecn_features *f)
{
	struct ecn_features *m = &r->mean;
	double part = 1.0 / ++r->n_start;

	if (r->n_start == 1) {
		*m = *f;
		r->noise = r->spread = 0;
		return;
	}
	r->noise = fmax(r->noise, fmin(ecn_distance(f, m), NOISE_MOST));
	r->spread = fmax(r->spread, fabs(f->utilisation - m->utilisation) / SPREAD_USE);
	r->spread = fmax(r->spread, fabs(log2(fmax(f->delay_p99_ns, 1) /
					     fmax(m->delay_p99_ns, 1))) / SPREAD_OCTAVES);
	m->pauses += f->pauses;
	m->utilisation += (f->utilisation - m->utilisation) * part;
	m->mark_share += (f->mark_share - m->mark_share) * part;
	m->delay_p99_ns += (f->delay_p99_ns - m->delay_p99_ns) * part;
	m->flows += (f->flows - m->flows) * part;
	m->elephants += (f->elephants - m->elephants) * part;
}

static struct ecn_verdict use_row(struct ecn_rule *r, const struct ecn_archetype *row,
				  uint64_t now_ns)
{
	const struct ecn_thresholds t = ecn_model_thresholds(row, r->rails.speed_bps);
	struct ecn_thresholds near = within(&r->rails, (double)t.kmin_bytes, 0, t.pmax_ppm);

	// A kmin that a rail has moved keeps its ratio to kmax.
	near.kmax_bytes = (uint64_t)((double)near.kmin_bytes * row->kmax_us / row->kmin_us);
	enter(r, ECN_MODEL, now_ns);
	r->n_proofs = !r->advise;
	r->row = row;
	return use(r, near, ECN_WHY_NEAR);
}

// The features moved away from those of the mode, for FAR_WINDOWS windows. Windows of random
// traffic differ anyway: the mean distance of the windows is the noise.
static bool moved(struct ecn_rule *r, const struct ecn_features *f)
{
	double distance = ecn_distance(f, &r->settled);

	r->n_far = distance > fmax(MOVED, NOISE * r->noise) ? r->n_far + 1 : 0;
	r->noise += (fmin(distance, NOISE_MOST) - r->noise) / NOISE_WINDOWS;
	return r->n_far >= FAR_WINDOWS;
}

static void hold_longer(struct ecn_rule *r)
{
	r->hold_ns = 2 * r->hold_ns < HOLD_MAX_NS ? 2 * r->hold_ns : HOLD_MAX_NS;
}

// The features of the model are those of the thresholds of the start, so the queue gets them back.
static struct ecn_verdict begin_again(struct ecn_rule *r, uint64_t now_ns)
{
	hold_longer(r);
	enter(r, ECN_START, now_ns);
	r->row = NULL;
	return use(r, ecn_start(&r->rails), ECN_WHY_MOVED);
}

// The load differs so much from window to window that no row and no try can be judged by them.
static struct ecn_verdict use_middle(struct ecn_rule *r, uint64_t now_ns)
{
	const struct ecn_thresholds t =
		ecn_family(&r->rails, bytes_at(&r->rails, MIDDLE_BYTES_40G));

	enter(r, ECN_SETTLED, now_ns);
	return use(r, t, ECN_WHY_UNSTEADY);
}

// The first windows with new thresholds prove them. A row must not cost throughput: the link was as
// full with the thresholds of the start. The best of a search must not cost more than before: else
// the traffic was not as steady as it looked, and no try has shown anything.
static bool proved(struct ecn_rule *r, const struct ecn_features *f)
{
	if (r->n_proofs == 0)
		return true;
	r->n_proofs--;
	if (r->mode == ECN_MODEL)
		return f->utilisation >= ROW_KEEPS * r->mean.utilisation;
	return ecn_cost(&r->rails, f) - r->best_cost <= PROOF;
}

static struct ecn_verdict disproved(struct ecn_rule *r, uint64_t now_ns)
{
	struct ecn_verdict v;

	hold_longer(r);
	if (r->mode != ECN_MODEL)
		return use_middle(r, now_ns);
	v = begin_search(r, now_ns);
	v.why = ECN_WHY_COSTS;
	return v;
}

static struct ecn_verdict stand(struct ecn_rule *r, const struct ecn_features *f, uint64_t now_ns)
{
	uint64_t stood_ns = now_ns - r->since_ns;
	bool far;

	if (!proved(r, f))
		return disproved(r, now_ns);
	// The first window with these thresholds is what later ones are compared with.
	if (!r->compared) {
		r->settled = *f;
		r->compared = true;
		return nothing(r);
	}
	far = moved(r, f);
	if (r->n_far != 0)
		r->quiet_ns = now_ns;
	if (now_ns - r->quiet_ns > QUIET_NS && now_ns - r->quiet_ns > 2 * r->hold_ns) {
		r->hold_ns = r->hold_ns / 2 > HOLD_NS ? r->hold_ns / 2 : HOLD_NS;
		r->quiet_ns = now_ns;
	}
	if (!far || stood_ns < r->hold_ns)
		return nothing(r);
	return begin_again(r, now_ns);
}

// The mean of some windows is compared with the model: one window may be chance.
static struct ecn_verdict begin(struct ecn_rule *r, const struct ecn_features *f, uint64_t now_ns)
{
	const struct ecn_archetype *row;
	double distance;

	add_window(r, f);
	if (r->n_start < START_WINDOWS)
		return nothing(r);
	r->n_start = 0;
	if (r->spread > 1) {
		// Traffic that has just begun looks the same, so there is a second look.
		r->second_look = !r->second_look;
		return r->second_look ? nothing(r) : use_middle(r, now_ns);
	}
	row = r->model == NULL ? NULL : ecn_model_nearest(r->model, &r->mean, &distance);
	if (row != NULL)
		return use_row(r, row, now_ns);
	return r->advise ? nothing(r) : begin_search(r, now_ns);
}

// ---- freezing

static enum ecn_why freeze_reason(const struct ecn_features *f, enum ecn_freeze freeze)
{
	return freeze == ECN_FREEZE_STORM	? ECN_WHY_STORM
	       : freeze == ECN_FREEZE_POLICY	? ECN_WHY_POLICY
	       : f->paused_share > PAUSED	? ECN_WHY_PAUSED
						: ECN_WHY_NONE;
}

static struct ecn_verdict frozen(struct ecn_rule *r, enum ecn_why why, uint64_t now_ns)
{
	struct ecn_verdict v = nothing(r);

	if (why == ECN_WHY_NONE) {
		enter(r, r->before_freeze, now_ns);
		v.why = ECN_WHY_THAW;
	} else if (r->mode != ECN_FROZEN && r->mode != ECN_START) {
		r->before_freeze = r->mode;
		enter(r, ECN_FROZEN, now_ns);
		v.why = why;
	}
	return v;
}

struct ecn_verdict ecn_rule_window(struct ecn_rule *r, const struct ecn_features *f,
				   enum ecn_freeze freeze, uint64_t now_ns)
{
	enum ecn_why why = freeze_reason(f, freeze);

	if (why != ECN_WHY_NONE || r->mode == ECN_FROZEN)
		return frozen(r, why, now_ns);
	if (idle(f))
		return nothing(r);
	switch (r->mode) {
	case ECN_SEARCH:
		return search(r, f, now_ns);
	case ECN_START:
		return begin(r, f, now_ns);
	default:
		return stand(r, f, now_ns);
	}
}

struct ecn_verdict ecn_rule_rails(struct ecn_rule *r, const struct ecn_rails *rails,
				  uint64_t now_ns)
{
	const struct ecn_thresholds t = r->now;
	struct ecn_verdict v;

	r->rails = *rails;
	v = use(r, within(rails, (double)t.kmin_bytes, (double)t.kmax_bytes, t.pmax_ppm),
		ECN_WHY_RAILS);
	if (!v.changed)
		return nothing(r);
	if (r->mode != ECN_START)
		enter(r, ECN_SETTLED, now_ns);
	return v;
}
