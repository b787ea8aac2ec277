// SPDX-License-Identifier: Apache-2.0
#include "control/autoecn/rule.h"

#include <math.h>

#include "dataplane/base/units.h"

enum {
	START_KMIN = 5000,
	START_KMAX = 200000,
	START_PPM = 10000,
	START_GBPS = 40,
	FAMILY_KMAX = 4, // times kmin
	FAMILY_PPM = 200000,
	MIXED_BYTES_40G = 16000, // kmin for mice beside elephants
	ALIKE_PART = 2, // of the ceiling: kmin for flows that are alike
	START_WINDOWS = 3,
	SECOND_WINDOWS = 6, // steady, before a search after unsteady ones
	FAR_WINDOWS = 2,
	PROOF_WINDOWS = 4,
	ROW_WINDOWS = 3,
	FLOWS_WINDOWS = 8, // of the running mean of the fairness
	RISE_TRIES = 4,
	BUSY_PACKETS = 64, // fewer frames in a window say nothing
	DELAY_LEAST_NS = 2000, // less is no reason
};
static const double FINE = 0.6; // octaves
static const double KEEPS = 0.96, FULL = 0.97; // of the throughput
static const double OPEN_USE = 0.9; // of the link, by open arrivals
static const double ALIKE = 0.66, MIXED = 0.56; // fairness of the flows
static const double FEW_MARKS = 0.001; // cost nothing
static const double ROW_KEEPS = 0.96, PROOF_USE = 0.9, PROOF_DELAY = 2;
static const double GAIN = 1.1; // of the use, more than noise
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
	[ECN_WHY_BEST] = "the lowest kmin that keeps the throughput",
	[ECN_WHY_START] = "no kmin was better than the thresholds of the start",
	[ECN_WHY_FULLEST] = "the search did not last: the kmin that filled the link most",
	[ECN_WHY_LOST] = "the search did not last: the thresholds of the start",
	[ECN_WHY_ALIKE] = "the flows are alike: each gains by fewer marks",
	[ECN_WHY_MIXED] = "mice beside elephants: the mice gain by a short queue",
	[ECN_WHY_UNSTEADY] = "the traffic is too unsteady for a search",
	[ECN_WHY_PAUSES] = "the higher kmin caused PAUSEs",
	[ECN_WHY_FEW_MARKS] = "hardly any frame is marked",
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
	double kmin = fmax(bytes_at(r, START_KMIN), (double)r->floor_bytes);

	// On a slow link two frames of full size may be more than kmax, and a line would be a step.
	return within(r, kmin, fmax(bytes_at(r, START_KMAX), FAMILY_KMAX * kmin), START_PPM);
}

struct ecn_thresholds ecn_family(const struct ecn_rails *r, double kmin)
{
	return within(r, kmin, FAMILY_KMAX * kmin, FAMILY_PPM);
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

static void enter_mode(struct ecn_rule *r, enum ecn_mode mode, uint64_t now_ns)
{
	r->mode = mode;
	r->since_ns = r->quiet_ns = now_ns;
	r->n_start = r->n_far = r->n_proofs = 0;
	r->compared = r->second_look = false;
	r->mix = ECN_NO_MIX;
}

// ---- the search

static void follow_flows(struct ecn_rule *r, const struct ecn_features *f)
{
	if (f->fairness < 0)
		return;
	if (r->n_fairness < FLOWS_WINDOWS)
		r->n_fairness++;
	r->fairness += (f->fairness - r->fairness) / r->n_fairness;
}

static double raised_kmin(const struct ecn_rule *r)
{
	return (double)r->rails.ceiling_bytes / ALIKE_PART;
}

// A raise to less than kmax of the start would mark more frames, not fewer.
static enum ecn_mix mix_of_flows(const struct ecn_rule *r)
{
	bool room = raised_kmin(r) >= (double)ecn_start(&r->rails).kmax_bytes;

	return r->n_fairness == 0		? ECN_UNDECIDED
	       : r->fairness < MIXED		? ECN_MIXED
	       : r->fairness >= ALIKE && room	? ECN_ALIKE
						: ECN_UNDECIDED;
}

// No window can judge a try, so the flows decide. Open arrivals bring as many bytes with any
// thresholds. Marks only make their senders slower, unless mice wait behind elephants. Where the
// flows are undecided, the queue has the thresholds of the start.
static struct ecn_verdict use_mix(struct ecn_rule *r, uint64_t now_ns)
{
	const double mixed = bytes_at(&r->rails, MIXED_BYTES_40G);
	const enum ecn_mix mix = mix_of_flows(r);

	enter_mode(r, ECN_SETTLED, now_ns);
	r->mix = mix;
	if (mix == ECN_UNDECIDED)
		return use(r, ecn_start(&r->rails), ECN_WHY_UNSTEADY);
	return use(r, ecn_family(&r->rails, mix == ECN_ALIKE ? raised_kmin(r) : mixed),
		   mix == ECN_ALIKE ? ECN_WHY_ALIKE : ECN_WHY_MIXED);
}

// Between which kmin the lowest one lies that keeps the throughput. `high` is a try that does, or
// one that paused, or the ceiling.
static void bracket(struct ecn_rule *r)
{
	double most = r->mean.utilisation, most_marked = r->mean.marked_use;

	r->low = (double)r->rails.floor_bytes;
	r->high = (double)r->rails.ceiling_bytes;
	r->high_try = -1;
	for (unsigned i = 0; i < r->n_tries; i++) {
		most = fmax(most, r->tries[i].utilisation);
		most_marked = fmax(most_marked, r->tries[i].marked_use);
	}
	for (unsigned i = 0; i < r->n_tries; i++) {
		const struct ecn_try *t = &r->tries[i];
		bool enough = t->marked_use >= KEEPS * most_marked ||
			      t->utilisation >= KEEPS * most;

		if (t->kmin > r->high || !(t->pauses || enough))
			continue;
		r->high = t->kmin;
		r->high_try = (int)i;
	}
	for (unsigned i = 0; i < r->n_tries; i++)
		if (r->tries[i].kmin < r->high)
			r->low = fmax(r->low, r->tries[i].kmin);
}

// The windows of the start are like a try: they kept the throughput, with less delay.
static bool start_was_better(const struct ecn_rule *r)
{
	const struct ecn_try *t = &r->tries[r->high_try];
	double most = r->mean.utilisation;

	for (unsigned i = 0; i < r->n_tries; i++)
		most = fmax(most, r->tries[i].utilisation);
	return r->mean.utilisation >= KEEPS * most &&
	       r->mean.delay_p99_ns < t->delay_p99_ns;
}

// A kmin that causes PAUSEs is not kept. If even the ceiling fills the link less than the start,
// there is less traffic now.
static struct ecn_verdict settle_search(struct ecn_rule *r, uint64_t now_ns)
{
	bool pauses = r->high_try >= 0 && r->tries[r->high_try].pauses;

	if (r->high_try < 0)
		return use_mix(r, now_ns);
	enter_mode(r, ECN_SETTLED, now_ns);
	if (start_was_better(r))
		return use(r, ecn_start(&r->rails), ECN_WHY_START);
	r->n_proofs = pauses ? 0 : PROOF_WINDOWS;
	return use(r, ecn_family(&r->rails, pauses ? r->low : r->high), ECN_WHY_BEST);
}

static struct ecn_verdict try_kmin(struct ecn_rule *r, double kmin)
{
	r->kmin = kmin;
	return use(r, ecn_family(&r->rails, kmin), ECN_WHY_TRY);
}

static void enter_search(struct ecn_rule *r, uint64_t now_ns)
{
	enter_mode(r, ECN_SEARCH, now_ns);
	r->row = NULL;
	r->n_tries = 0;
	r->risen = false;
	bracket(r);
}

static struct ecn_verdict begin_search(struct ecn_rule *r, uint64_t now_ns)
{
	enter_search(r, now_ns);
	return try_kmin(r, sqrt(r->low * r->high));
}

// After the try that was added last: a higher kmin cannot fill the link more, or must not be tried.
// At the ceiling senders may take some windows to use what there is.
static bool ends_rise(const struct ecn_rule *r, const struct ecn_features *f)
{
	const struct ecn_try *t = &r->tries[r->n_tries - 1];

	if (t->pauses || t->marked_use >= FULL || f->mark_share < FEW_MARKS)
		return true;
	return t->kmin >= (double)r->rails.ceiling_bytes &&
	       (r->n_tries >= RISE_TRIES || r->n_tries == 1 ||
		KEEPS * t->marked_use <= t[-1].marked_use);
}

// The window was one with the thresholds of r->kmin.
static struct ecn_verdict search(struct ecn_rule *r, const struct ecn_features *f, uint64_t now_ns)
{
	r->tries[r->n_tries++] = (struct ecn_try){
		.kmin = r->kmin, .utilisation = f->utilisation, .marked_use = f->marked_use,
		.delay_p99_ns = f->delay_p99_ns, .pauses = f->pauses != 0 && r->mean.pauses == 0};
	r->risen |= ends_rise(r, f) || r->n_tries == ECN_TRIES_MAX;
	if (!r->risen)
		return try_kmin(r, r->n_tries == 1 ? sqrt(r->kmin * r->high) : r->high);
	bracket(r);
	if (r->n_tries < ECN_TRIES_MAX && log2(r->high / r->low) >= FINE)
		return try_kmin(r, sqrt(r->low * r->high));
	// The other bound is no try where it is the floor.
	if (r->n_tries < ECN_TRIES_MAX && r->low <= (double)r->rails.floor_bytes &&
	    r->kmin > r->low && r->high > r->low)
		return try_kmin(r, r->low);
	return settle_search(r, now_ns);
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
		*m = r->last = *f;
		r->noise = r->spread = 0;
		return;
	}
	// Of the last two: the first one may have seen the senders begin.
	r->noise = fmin(ecn_distance(f, &r->last), NOISE_MOST);
	r->last = *f;
	r->spread = fmax(r->spread, fabs(f->utilisation - m->utilisation) / SPREAD_USE);
	r->spread = fmax(r->spread, fabs(log2(fmax(f->delay_p99_ns, 1) /
					     fmax(m->delay_p99_ns, 1))) / SPREAD_OCTAVES);
	m->pauses += f->pauses;
	m->marked_use += (f->marked_use - m->marked_use) * part;
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
	enter_mode(r, ECN_MODEL, now_ns);
	r->n_proofs = r->advise ? 0 : ROW_WINDOWS;
	r->row = row;
	return use(r, near, ECN_WHY_NEAR);
}

// The features moved away from those of the mode, for FAR_WINDOWS windows. Windows of random
// traffic differ anyway: the mean distance of a window from the one before is the noise. A distance
// from those of the mode would raise the limit with each window of another, steady workload.
static bool moved(struct ecn_rule *r, const struct ecn_features *f)
{
	double distance = ecn_distance(f, &r->settled);
	double step = fmin(ecn_distance(f, &r->last), NOISE_MOST);

	enum ecn_mix mix = mix_of_flows(r);
	bool other = r->mix != ECN_NO_MIX && mix != ECN_UNDECIDED && mix != r->mix;

	r->n_far = other || distance > fmax(MOVED, NOISE * r->noise) ? r->n_far + 1 : 0;
	r->noise += (step - r->noise) / NOISE_WINDOWS;
	r->last = *f;
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
	enter_mode(r, ECN_START, now_ns);
	r->row = NULL;
	r->fairness = r->n_fairness = 0;
	return use(r, ecn_start(&r->rails), ECN_WHY_MOVED);
}

// The first windows with new thresholds prove them. A row must not cost throughput: the link was as
// full with the thresholds of the start. The result of a search must stay as good as its try was:
// else the traffic was not as steady as it looked, and no try has shown anything.
static bool proved(struct ecn_rule *r, const struct ecn_features *f)
{
	const struct ecn_try *t;

	if (r->n_proofs == 0)
		return true;
	r->n_proofs--;
	if (r->mode == ECN_MODEL)
		return f->utilisation >= ROW_KEEPS * r->mean.utilisation ||
		       f->marked_use >= ROW_KEEPS * r->mean.marked_use;
	t = &r->tries[r->high_try];
	return f->marked_use >= PROOF_USE * t->marked_use &&
	       f->delay_p99_ns <= PROOF_DELAY * fmax(t->delay_p99_ns, DELAY_LEAST_NS);
}

// The try without PAUSEs that filled the link most. NULL: no try was clearly better than the start.
static const struct ecn_try *fullest(const struct ecn_rule *r)
{
	const struct ecn_try *best = NULL;
	double most = GAIN * r->mean.utilisation;

	for (unsigned i = 0; i < r->n_tries; i++)
		if (!r->tries[i].pauses && r->tries[i].utilisation >= most) {
			best = &r->tries[i];
			most = best->utilisation;
		}
	return best;
}

// A search did not last. Where hosts wait for each other, the searches of their ports disturb each
// other, and only one kmin at all of them fills the links.
static struct ecn_verdict give_up(struct ecn_rule *r, uint64_t now_ns)
{
	const struct ecn_try *t = fullest(r);

	enter_mode(r, ECN_SETTLED, now_ns);
	return t != NULL ? use(r, ecn_family(&r->rails, t->kmin), ECN_WHY_FULLEST)
			 : use(r, ecn_start(&r->rails), ECN_WHY_LOST);
}

// The windows of a row are a try of the search.
static struct ecn_verdict disproved(struct ecn_rule *r, const struct ecn_features *f,
				    uint64_t now_ns)
{
	struct ecn_verdict v;

	hold_longer(r);
	if (r->mode != ECN_MODEL)
		return give_up(r, now_ns);
	r->kmin = (double)r->now.kmin_bytes;
	enter_search(r, now_ns);
	v = search(r, f, now_ns);
	v.why = ECN_WHY_COSTS;
	return v;
}

static struct ecn_verdict stand(struct ecn_rule *r, const struct ecn_features *f, uint64_t now_ns)
{
	uint64_t stood_ns = now_ns - r->since_ns;
	bool proof = r->n_proofs != 0, far;

	if (!proved(r, f))
		return disproved(r, f, now_ns);
	if (!r->advise && r->mix == ECN_ALIKE && f->pauses != 0 && r->mean.pauses == 0) {
		hold_longer(r);
		enter_mode(r, ECN_SETTLED, now_ns);
		return use(r, ecn_start(&r->rails), ECN_WHY_PAUSES);
	}
	// Later windows are compared with the last one of the proof: senders take some windows to
	// follow the thresholds.
	if (!r->compared || proof) {
		r->settled = r->last = *f;
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
static struct ecn_verdict decide_at_start(struct ecn_rule *r, const struct ecn_features *f,
					  uint64_t now_ns)
{
	const struct ecn_archetype *row;
	double distance;

	add_window(r, f);
	if (r->n_start < START_WINDOWS)
		return nothing(r);
	if (r->spread > 1) {
		// Traffic that has just begun looks the same, so there is a second look.
		r->second_look = !r->second_look;
		r->n_start = 0;
		return r->second_look ? nothing(r) : use_mix(r, now_ns);
	}
	if (r->mean.mark_share < FEW_MARKS) {
		enter_mode(r, ECN_SETTLED, now_ns);
		return use(r, ecn_start(&r->rails), ECN_WHY_FEW_MARKS);
	}
	row = r->model == NULL ? NULL : ecn_model_nearest(r->model, &r->mean, &distance);
	if (row != NULL)
		return use_row(r, row, now_ns);
	if (mix_of_flows(r) == ECN_ALIKE && r->mean.utilisation < OPEN_USE)
		return use_mix(r, now_ns);
	// After unsteady windows, three steady ones of random traffic may be chance.
	if (r->second_look && r->n_start < SECOND_WINDOWS)
		return nothing(r);
	r->n_start = 0;
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
	unsigned n_proofs = r->n_proofs;
	enum ecn_mix mix = r->mix;

	if (why == ECN_WHY_NONE) {
		enter_mode(r, r->before_freeze, now_ns);
		v.why = ECN_WHY_THAW;
	} else if (r->mode != ECN_FROZEN && r->mode != ECN_START) {
		r->before_freeze = r->mode;
		enter_mode(r, ECN_FROZEN, now_ns);
		v.why = why;
	}
	r->n_proofs = n_proofs; // they are still to come
	r->mix = mix;
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
	follow_flows(r, f);
	switch (r->mode) {
	case ECN_SEARCH:
		return search(r, f, now_ns);
	case ECN_START:
		return decide_at_start(r, f, now_ns);
	default:
		return stand(r, f, now_ns);
	}
}

// A kmin that a rail moves keeps its ratio to kmax: else a floor above kmax makes a step of a line.
static struct ecn_thresholds moved_by(const struct ecn_rails *rails, struct ecn_thresholds t)
{
	struct ecn_thresholds to = within(rails, (double)t.kmin_bytes, (double)t.kmax_bytes,
					  t.pmax_ppm);

	if (to.kmin_bytes != t.kmin_bytes)
		to.kmax_bytes = (uint64_t)((double)to.kmin_bytes * (double)t.kmax_bytes /
					   (double)t.kmin_bytes);
	return to;
}

// The tries of a search are of the rails of before.
static struct ecn_verdict search_anew(struct ecn_rule *r, uint64_t now_ns)
{
	r->mix = ECN_NO_MIX;
	if (r->mode == ECN_FROZEN)
		r->before_freeze = ECN_START;
	else
		enter_mode(r, ECN_START, now_ns);
	return use(r, ecn_start(&r->rails), ECN_WHY_RAILS);
}

struct ecn_verdict ecn_rule_rails(struct ecn_rule *r, const struct ecn_rails *rails,
				  uint64_t now_ns)
{
	bool same = rails->floor_bytes == r->rails.floor_bytes &&
		    rails->ceiling_bytes == r->rails.ceiling_bytes &&
		    rails->speed_bps == r->rails.speed_bps;
	struct ecn_verdict v;

	r->rails = *rails;
	if (same)
		return nothing(r);
	// What was raised was raised for the old ceiling.
	if (r->mode == ECN_SEARCH || (r->mode == ECN_FROZEN && r->before_freeze == ECN_SEARCH) ||
	    r->mix == ECN_ALIKE)
		return search_anew(r, now_ns);
	r->row = NULL;
	v = use(r, r->mode == ECN_START ? ecn_start(rails) : moved_by(rails, r->now),
		ECN_WHY_RAILS);
	if (!v.changed)
		return nothing(r);
	if (r->mode != ECN_START)
		enter_mode(r, ECN_SETTLED, now_ns);
	return v;
}
