// SPDX-License-Identifier: Apache-2.0
// Whether ECN marks before PFC pauses: the marks that are expected before a group enters XOFF
// (DCQCN, section 4, with the average and the chance of WRED). `check` warns by the verdict, and
// `plan` prints the sum. Control thread only.
//
// The sum is taken over this traffic:
//
//   One port sends frames of full size at line rate, from an empty switch. The frames go to the
//   outputs in turn, and to one class of each lossless group of the port in turn. The sender obeys
//   neither CNP nor PAUSE. Other traffic takes a part of each output:
//
//   outputs                                     each sends, at most
//   all other ports with ECN in the class       half of the bytes that arrive for the output
//   all of them that share one WRED setting     the same
//   the slowest port of one WRED setting        speed / sum of the speeds of all other ports
//
//   The outputs with the smallest sum count. So `yes` also holds for an incast of all other ports.
//   Not covered: outputs that are paused, where marks at dequeue come late, and frames much
//   shorter than a cell, with which a queue has few bytes at XOFF.
//
//   marks = sum of p(average) over the frames that the queues decide about before XOFF
//
// The accounts are kept by pg.h, average and chance by wred.h, frame by frame. A pool of more than
// 2^20 frames is filled in steps of several frames, so that XOFF is exact to a step. The other
// lossless groups of the port are taken to be as full as the group.
#include <string.h>

#include "control/config/plan.h"
#include "dataplane/base/bits.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"

static const uint64_t MARK_Q32 = 1ull << 32, MARGINAL_Q32 = (1ull << 32) / 10;
static const uint64_t ARRIVAL_Q20 = 1 << 20;
// An output sends at most one of so many frames that arrive for it.
enum { OVERLOAD = 2, MOST_STEPS = 1 << 20 };

// The queue of the class at one output.
struct output {
	const struct wred_params *wred;
	struct wred_state average;
	uint64_t n_frames, due_q20, period_q20; // of departures, in arrivals
};

struct traffic {
	const struct pg_params *params;
	struct pg_state group;
	uint64_t pool_cells;
	uint32_t step; // frames that are taken as one
	uint64_t frame_bytes; // of a step
	uint32_t frame_cells;
	unsigned n_groups, n_outputs;
	uint64_t next_due_q20; // the first departure of all
	uint64_t marks_q32, enough_q32;
	struct output out[POLICY_MAX_PORTS];
};

static const struct wred_params *wred_of(const struct policy *p, unsigned port, unsigned cls)
{
	const struct policy_port *pp = &p->ports[port];

	return &pp->queue[pp->classify.class_to_queue[cls]].wred;
}

static bool same_wred(const struct policy *p, unsigned a, unsigned b, unsigned cls)
{
	return memcmp(wred_of(p, a, cls), wred_of(p, b, cls), sizeof(struct wred_params)) == 0;
}

uint64_t plan_ecn_period_q20(const struct policy *p, unsigned in, unsigned out, unsigned n)
{
	__uint128_t bps = 0;

	// One output alone is overloaded by all other ports.
	for (unsigned i = 0; i < p->n_ports; i++)
		bps += i == in || (n == 1 && i != out) ? p->ports[i].speed_bps : 0;
	return max_u64((uint64_t)(bps * ARRIVAL_Q20 / p->ports[out].speed_bps),
		       OVERLOAD * n * ARRIVAL_Q20);
}

static uint64_t queue_bytes(const struct traffic *t, const struct output *o)
{
	return o->n_frames * t->frame_bytes;
}

static void decide(struct traffic *t, struct output *o)
{
	const struct wred_curve *c = &o->wred->curve[GREEN];
	uint64_t len = 0;

	for (uint32_t i = 0; i < (o->wred->weight == 0 ? 1 : t->step); i++)
		len = wred_average(o->wred, &o->average, queue_bytes(t, o));
	if (len > c->kmin_bytes)
		t->marks_q32 += t->step * wred_chance_q32(c, len, o->wred->above_kmax_all);
}

// Departures until an arrival at now_q20.
static void depart(struct traffic *t, uint64_t now_q20)
{
	if (t->next_due_q20 >= now_q20)
		return;
	t->next_due_q20 = UINT64_MAX;
	for (unsigned i = 0; i < t->n_outputs; i++) {
		struct output *o = &t->out[i];

		for (; o->n_frames != 0 && o->due_q20 < now_q20; o->due_q20 += o->period_q20) {
			o->n_frames--;
			pg_release(&t->group, t->frame_cells);
			if (o->wred->mark_at_dequeue)
				decide(t, o);
		}
		if (o->n_frames != 0 && o->due_q20 < t->next_due_q20)
			t->next_due_q20 = o->due_q20;
	}
}

// False: the frame enters XOFF.
static bool admit_next_frame(struct traffic *t, uint64_t n)
{
	struct output *o = &t->out[n % t->n_outputs];
	uint64_t used = t->n_groups * gauge_get(&t->group.shared), now_q20 = n * ARRIVAL_Q20;
	struct pg_pools pools = {
		.ingress_free = used < t->pool_cells ? t->pool_cells - used : 0,
	};
	struct pg_decision d = pg_decide(t->params, &t->group, &pools, 0, t->frame_cells);

	if (d.enter_xoff)
		return false;
	pg_charge(&t->group, d, t->frame_cells);
	if (!o->wred->mark_at_dequeue)
		decide(t, o);
	if (o->n_frames++ == 0) {
		o->due_q20 = max_u64(now_q20, o->due_q20);
		if (o->due_q20 < t->next_due_q20)
			t->next_due_q20 = o->due_q20;
	}
	return true;
}

// From the port to the ports that `to` has.
static struct plan_ecn send_to(const struct policy *p, unsigned port, unsigned cls,
			       uint64_t enough_q32, const bool to[POLICY_MAX_PORTS])
{
	const struct policy_port *pp = &p->ports[port];
	struct plan_ecn e = {.n_outputs = 0};
	uint32_t cells = cells_of(&p->cell, pp->max_frame);
	// 1 for all but buffers of gigabytes. More frames would take minutes and change no digit.
	uint32_t step = 1 + (uint32_t)(p->buffer.ingress_pool_cells / cells / MOST_STEPS);
	unsigned groups = 0;
	struct traffic t = {
		.params = &pp->pg[pp->classify.class_to_pg[cls]],
		.pool_cells = p->buffer.ingress_pool_cells,
		.step = step,
		.frame_bytes = (uint64_t)step * pp->max_frame,
		.frame_cells = step * cells,
		.next_due_q20 = UINT64_MAX,
		.enough_q32 = enough_q32,
	};

	for_each_bit (c, pp->classify.lossless)
		groups |= 1u << pp->classify.class_to_pg[c];
	t.n_groups = (unsigned)__builtin_popcount(groups);
	memcpy(e.output, to, sizeof(e.output));
	for (unsigned i = 0; i < p->n_ports; i++)
		if (to[i])
			t.out[t.n_outputs++].wred = wred_of(p, i, cls);
	for (unsigned i = 0, n = 0; i < p->n_ports; i++)
		if (to[i])
			t.out[n++].period_q20 = plan_ecn_period_q20(p, port, i, t.n_outputs);
	while (t.n_outputs != 0 && t.marks_q32 < t.enough_q32 && admit_next_frame(&t, e.n_frames)) {
		e.n_frames++;
		depart(&t, e.n_frames * ARRIVAL_Q20);
	}
	e.n_frames *= step;
	e.marks_q32 = t.marks_q32;
	e.n_outputs = t.n_outputs;
	for (const struct output *o = t.out; o < t.out + t.n_outputs; o++) {
		uint64_t kmin = o->wred->curve[GREEN].kmin_bytes, bytes = queue_bytes(&t, o);

		e.kmin_bytes = o == t.out ? kmin : min_u64(kmin, e.kmin_bytes);
		if (bytes <= e.queue_bytes)
			continue;
		e.queue_bytes = bytes;
		e.average_bytes = o->wred->weight == 0 ? bytes : o->average.avg_q16 >> 16;
	}
	return e;
}

static struct plan_ecn fewer_marks(struct plan_ecn a, struct plan_ecn b)
{
	return b.marks_q32 < a.marks_q32 ? b : a;
}

// To the outputs with the WRED setting of port `as`, and to the slowest of them.
static struct plan_ecn send_to_setting(const struct policy *p, unsigned port, unsigned cls,
				       unsigned as, uint64_t enough_q32,
				       const struct plan_ecn *everywhere)
{
	bool all[POLICY_MAX_PORTS] = {false}, one[POLICY_MAX_PORTS] = {false};
	struct plan_ecn e = *everywhere;
	unsigned slowest = as;

	for (unsigned i = 0; i < p->n_ports; i++) {
		all[i] = everywhere->output[i] && same_wred(p, i, as, cls);
		if (all[i] && p->ports[i].speed_bps < p->ports[slowest].speed_bps)
			slowest = i;
	}
	one[slowest] = true;
	if (memcmp(all, everywhere->output, sizeof(all)) != 0)
		e = send_to(p, port, cls, enough_q32, all);
	return fewer_marks(e, send_to(p, port, cls, enough_q32, one));
}

// Whether no port before `i` has the WRED setting of `i`.
static bool first_of_setting(const struct policy *p, unsigned i, unsigned cls,
			     const struct plan_ecn *everywhere)
{
	for (unsigned j = 0; j < i; j++)
		if (everywhere->output[j] && same_wred(p, j, i, cls))
			return false;
	return everywhere->output[i];
}

static struct plan_ecn fewest_marks(const struct policy *p, unsigned port, unsigned cls,
				    uint64_t enough_q32)
{
	bool others[POLICY_MAX_PORTS] = {false};
	struct plan_ecn everywhere, e;

	for (unsigned i = 0; i < p->n_ports; i++)
		others[i] = i != port && wred_of(p, i, cls)->enabled && wred_of(p, i, cls)->ecn;
	everywhere = send_to(p, port, cls, enough_q32, others);
	e = everywhere;
	for (unsigned i = 0; i < p->n_ports; i++)
		if (first_of_setting(p, i, cls, &everywhere))
			e = fewer_marks(e,
					send_to_setting(p, port, cls, i, enough_q32, &everywhere));
	if (e.marks_q32 > 10 * MARK_Q32)
		e.verdict = ECN_BEFORE_PFC_YES;
	else if (e.marks_q32 >= MARGINAL_Q32)
		e.verdict = ECN_BEFORE_PFC_MARGINAL;
	return e;
}

struct plan_ecn plan_ecn(const struct policy *p, unsigned port, unsigned cls)
{
	return fewest_marks(p, port, cls, UINT64_MAX);
}

bool plan_ecn_is_no(const struct policy *p, unsigned port, unsigned cls, struct plan_ecn *out)
{
	*out = fewest_marks(p, port, cls, MARGINAL_Q32);
	return out->n_outputs != 0 && out->verdict == ECN_BEFORE_PFC_NO;
}

double plan_ecn_marks(const struct plan_ecn *e)
{
	return (double)e->marks_q32 / (double)MARK_Q32;
}

const char *plan_ecn_word(enum ecn_before_pfc verdict)
{
	static const char *const words[] = {"no", "marginal", "yes"};

	return words[verdict];
}
