// SPDX-License-Identifier: Apache-2.0
#include "control/host/storm.h"

#include <inttypes.h>
#include <time.h>

#include <json-c/json.h>

#include "control/base/model_time.h"
#include "control/base/stop.h"
#include "control/observe/fact.h"
#include "dataplane/base/units.h"
#include "dataplane/qos/shaper.h"

enum { XON_EVERY_NS = MS_NS }; // real time: of a storm of XON without --every and --storm-rate

static uint32_t scale(const struct host *h)
{
	return (uint32_t)h->args->time_scale;
}

// From frame to frame: as the options say, else half of what one PAUSE lasts.
static uint64_t every_ns(const struct host *h)
{
	const struct host_args *a = h->args;
	uint64_t half_life_ns = pfc_quanta_ns(h->speed_bps, (uint16_t)a->quanta) / 2;

	if (a->storm_rate != 0)
		return SECOND_NS / (uint64_t)a->storm_rate;
	if (a->every_ns != 0)
		return (uint64_t)a->every_ns;
	return half_life_ns != 0 ? half_life_ns : model_span_ns(scale(h), XON_EVERY_NS);
}

const char *host_storm_wrong(const struct host *h)
{
	static char text[HOST_TEXT];
	uint64_t line_ns = (PFC_FRAME_LEN + LINK_OVERHEAD_BYTES) * 8ull * SECOND_NS / h->speed_bps;

	if ((!h->args->storm && h->args->storm_at_ns == 0) || every_ns(h) >= line_ns)
		return NULL;
	snprintf(text, sizeof(text),
		 "--%s: a PFC frame takes %" PRIu64 " ns at %" PRIu64
		 " b/s; at most %" PRIu64 " a second fit the link",
		 h->args->storm_rate != 0 ? "storm-rate" : "every", line_ns, h->speed_bps,
		 (uint64_t)SECOND_NS / line_ns);
	return text;
}

static struct storm_params plan_of(const struct host *h, uint64_t start_ns)
{
	const struct host_args *a = h->args;
	struct storm_params p = {
		.quanta = (uint16_t)a->quanta,
		.start_ns = start_ns,
		.every_ns = every_ns(h),
		.for_ns = a->for_ns != 0 ? (uint64_t)a->for_ns : UINT64_MAX,
		.silent_end = a->no_xon,
	};

	if (a->n_turns != 0)
		p.for_ns = (uint64_t)a->turns[0].on_ns;
	if (a->on_ns != 0) {
		p.burst_ns = (uint64_t)a->on_ns;
		p.period_ns = (uint64_t)(a->on_ns + a->off_ns);
	}
	for (unsigned i = 0; i < a->n_classes; i++)
		p.classes |= (uint8_t)(1u << a->classes[i]);
	return p;
}

void host_storm_start(struct host *h, uint64_t start_ns)
{
	struct host_storm *s = &h->storm;

	s->plan = plan_of(h, start_ns);
	s->xon_left = h->args->then_xon_ns != 0;
	s->turns_left = h->args->n_turns != 0 ? h->args->n_turns - 1 : 0;
	s->on = true;
	storm_tally_init(&s->tally, pfc_quanta_ns(h->speed_bps, s->plan.quanta), start_ns,
			 s->plan.period_ns);
	nic_storm_start(h->nic, &s->plan);
}

// At its time by the list, however late the turn before has ended.
static void next_turn(struct host *h)
{
	const struct host_args *a = h->args;
	struct host_storm *s = &h->storm;
	unsigned i = a->n_turns - s->turns_left--;

	s->plan.start_ns += (uint64_t)(a->turns[i - 1].on_ns + a->turns[i - 1].off_ns);
	s->plan.for_ns = (uint64_t)a->turns[i].on_ns;
	nic_storm_start(h->nic, &s->plan);
}

// The storm of XON that follows one of PAUSE, at the same pace.
static void go_on_with_xon(struct host *h)
{
	struct storm_params p = h->storm.plan;

	h->storm.xon_left = false;
	p.quanta = 0;
	p.start_ns = host_now(h);
	p.for_ns = (uint64_t)h->args->then_xon_ns;
	p.burst_ns = p.period_ns = 0;
	nic_storm_start(h->nic, &p);
}

void host_storm_look(struct host *h, uint64_t before_ns)
{
	struct host_storm *s = &h->storm;
	const struct pfc_tx_state *tx = nic_pfc_tx(h->nic);
	unsigned cls = h->args->classes[0];
	uint64_t frames = ctr_get(&tx->stats[cls].frames);

	if (frames != s->frames)
		storm_tally_sent(&s->tally, tx->paused >> cls & 1, before_ns, host_now(h));
	s->frames = frames;
	if (h->args->role == HOST_STORM && stop_requests() != 0) {
		s->xon_left = false;
		s->turns_left = 0;
		nic_storm_stop(h->nic, host_now(h));
	}
	if (s->xon_left && nic_storm_over(h->nic))
		go_on_with_xon(h);
	if (s->turns_left != 0 && nic_storm_over(h->nic))
		next_turn(h);
}

bool host_storm_over(const struct host *h)
{
	return !h->storm.xon_left && h->storm.turns_left == 0 && nic_storm_over(h->nic);
}

// Where the plan itself lets each PAUSE run out, holes are no surprise.
int host_storm_judge(struct host *h)
{
	const struct host_storm *s = &h->storm;
	uint64_t missed = nic_stats_now(h->nic)->storm_missed;
	uint64_t holes = s->plan.every_ns <= s->tally.lifetime_ns ? s->tally.holes : 0;

	if (!h->args->exact || !s->on || (missed == 0 && holes == 0))
		return 0;
	snprintf(h->error, sizeof(h->error),
		 "--exact: the storm was not as planned: %" PRIu64 " PAUSE were left out, and the "
		 "peer may have been unpaused %" PRIu64 " times",
		 missed, holes);
	return 1;
}

// ---- the report

// By the clock of the wall, as logs of other machines have it.
static uint64_t unix_ns(const struct host *h, uint64_t at_ns)
{
	struct timespec t;

	if (at_ns == 0)
		return 0;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec -
	       real_span_ns(scale(h), host_now(h) - at_ns);
}

static double us(uint64_t ns)
{
	return (double)ns / 1e3;
}

static double frame_rate(const struct storm_tally *t)
{
	return t->last_ns > t->first_ns
		       ? (double)(t->pauses - 1) * 1e9 / (double)(t->last_ns - t->first_ns)
		       : 0;
}

void host_storm_json(const struct host *h, struct json_object *report)
{
	const struct host_storm *s = &h->storm;
	const struct storm_tally *t = &s->tally;
	struct json_object *o = json_object_new_object();
	const struct {
		const char *name;
		double value;
	} reals[] = {
		{"every_us", us(s->plan.every_ns)},
		{"lifetime_us", us(t->lifetime_ns)},
		{"seconds", us(t->last_ns - t->first_ns) / 1e6},
		{"frames_per_second", frame_rate(t)},
		{"gap_max_us", us(t->gap_max_ns)},
		{"unpaused_us", us(t->hole_sum_ns)},
		{"unpaused_max_us", us(t->hole_max_ns)},
		{"error_us", us(t->stamp_max_ns)},
	};

	if (!s->on) {
		json_object_put(o);
		return;
	}
	json_object_object_add(report, "storm", o);
	row_u64(o, "quanta", s->plan.quanta);
	row_u64(o, "pause_frames", t->pauses);
	row_u64(o, "xon_frames", t->xons);
	row_u64(o, "missed", nic_stats_now(h->nic)->storm_missed);
	row_u64(o, "holes", t->holes);
	row_u64(o, "first_unix_ns", unix_ns(h, t->first_ns));
	row_u64(o, "last_unix_ns", unix_ns(h, t->last_ns));
	for (unsigned i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
		json_object_object_add(o, reals[i].name, json_object_new_double(reals[i].value));
}

void host_storm_table(const struct host *h, FILE *out)
{
	const struct host_storm *s = &h->storm;
	const struct storm_tally *t = &s->tally;

	if (!s->on)
		return;
	fprintf(out,
		"storm: %" PRIu64 " PAUSE in %.6f s, %.1f a second, each lasts %.1f us; %" PRIu64
		" XON\n",
		t->pauses, us(t->last_ns - t->first_ns) / 1e6, frame_rate(t), us(t->lifetime_ns),
		t->xons);
	if (t->holes == 0)
		fprintf(out, "longest gap %.1f us: no hole, no PAUSE ran out\n", us(t->gap_max_ns));
	else
		fprintf(out,
			"longest gap %.1f us: %" PRIu64 " holes; the peer may have been unpaused "
			"for %.1f us in all, at most %.1f us at once\n",
			us(t->gap_max_ns), t->holes, us(t->hole_sum_ns), us(t->hole_max_ns));
}
