// SPDX-License-Identifier: Apache-2.0
// Random policies: `weirctl plan` predicts whether ECN marks before PFC pauses. A switch runs the
// plan's own traffic. With the verdict `yes` the switch marks before the first XOFF, with `no` the
// switch does not. The verdict `marginal` promises nothing, so few policies may have it. `yes` must
// also hold where all other ports send to one port.
//
//   lab_plan_random [SEED | --seeds FROM-TO]
#include <math.h>
#include <stdio.h>

#include "control/config/config.h"
#include "control/config/plan.h"
#include "dataplane/base/rng.h"
#include "dataplane/policy.h"
#include "tests/lab/bench.h"
#include "tests/lab/schedule_program.h"

#define PICK(rng, table) ((table)[pick((rng), sizeof(table) / sizeof((table)[0]))])

enum { SEEDS = 50, PERCENT_MARGINAL = 20, PERCENT_EACH = 20, CLASS = 3, STEP_NS = 2000 };
enum { REPEATS = 20, MOST_MARKED = 6 }; // 7 of 20 at one in ten: a chance of 1 in 400

struct run {
	unsigned n_outputs, output[BENCH_MAX_PORTS];
	uint64_t marks, marks_before; // now; at the end of the last step
	uint64_t frames; // from port 0, the frame that entered XOFF included
	unsigned xoff_port;
	bool xoff;
};

static struct {
	uint64_t policies, redrawn, verdicts[3], marks[3], wrong[3];
	uint64_t repeated, frames_wrong, incasts, incasts_wrong;
} seen;

static unsigned pick(struct rng *rng, unsigned n)
{
	return rng_next(rng) % n;
}

// From `from` to `to`, every power of ten with the same chance.
static double spread(struct rng *rng, double from, double to)
{
	return from * pow(to / from, rng_next(rng) / 4294967296.0);
}

static size_t draw_ports(char *to, size_t size, struct rng *rng, unsigned n)
{
	static const unsigned gbps[] = {10, 10, 25, 25, 40, 50, 100, 200};
	static const unsigned mtus[] = {1024, 1500, 1500, 2048, 4000};
	unsigned usual = PICK(rng, gbps), mtu = PICK(rng, mtus);
	bool alike = pick(rng, 2);
	size_t at = (size_t)snprintf(to, size, "ports:\n");

	for (unsigned i = 1; i <= n; i++) {
		unsigned speed = alike ? usual : PICK(rng, gbps), cable_m = 1 + pick(rng, 100);
		bool x = alike || pick(rng, 2);

		at += (size_t)snprintf(to + at, size - at,
				       "  - {name: p%u, device: \"wire:w%u\", speed: %uG, mtu: %u, "
				       "cable: %um, profile: %s}\n",
				       i, i, speed, mtu, cable_m, x ? "x" : "y");
	}
	at += (size_t)snprintf(to + at, size - at, "fdb:\n");
	for (unsigned i = 1; i <= n; i++)
		at += (size_t)snprintf(to + at, size - at,
				       "  - {mac: \"02:00:00:00:00:%02x\", port: p%u}\n", i, i);
	return at;
}

static void draw_ingress(char *to, size_t size, struct rng *rng, unsigned buffer)
{
	static const char *const alphas[] = {"1/64", "1/16", "1/8", "1/4", "1/2", "1", "2", "8"};
	size_t at = (size_t)snprintf(to, size, "{min: %u", pick(rng, 3) ? pick(rng, 30000) : 0);

	if (pick(rng, 4) == 0)
		at += (size_t)snprintf(to + at, size - at, ", static: %u",
				       (unsigned)spread(rng, 20000, 2 * buffer));
	else
		at += (size_t)snprintf(to + at, size - at, ", alpha: %s", PICK(rng, alphas));
	if (pick(rng, 3) == 0)
		at += (size_t)snprintf(to + at, size - at, ", headroom: %u",
				       (unsigned)spread(rng, 10000, 100000));
	snprintf(to + at, size - at, "}");
}

// queue: what a queue may hold at XOFF, in bytes.
static void draw_wred(char *to, size_t size, struct rng *rng, double queue)
{
	double kmin = spread(rng, queue / 100, queue), kmax = kmin + spread(rng, 1, 3 * queue);
	double pmax = pick(rng, 4) ? spread(rng, 1, 100) : spread(rng, 0.0001, 1);
	unsigned weight = pick(rng, 2) ? 0 : pick(rng, 16);
	bool dequeue = pick(rng, 2), all = pick(rng, 2);

	snprintf(to, size,
		 "{ecn: on, kmin: %.0f, kmax: %.0f, pmax: %.4f%%, weight: %u, mark_at: %s, "
		 "above_kmax: %s}",
		 kmin, kmax, pmax, weight, dequeue ? "dequeue" : "enqueue", all ? "all" : "pmax");
}

static size_t draw_profile(char *to, size_t size, struct rng *rng, const char *name,
			   unsigned n_lossless, const char *ingress, double queue)
{
	char wred[200];
	size_t at = (size_t)snprintf(to, size,
				     "  %s:\n    dscp_to_class: {default: 0, 24: 3, 32: 4, 40: 5}\n"
				     "    classes:\n", name);

	draw_wred(wred, sizeof(wred), rng, queue);
	for (unsigned i = 0; i < n_lossless; i++)
		at += (size_t)snprintf(to + at, size - at,
				       "      %u: {lossless: true, ingress: %s, wred: %s}\n",
				       CLASS + i, ingress, wred);
	return at;
}

static const char *draw(struct rng *rng)
{
	static const unsigned cells[] = {64, 128, 256, 256, 512, 1024, 2048, 4096};
	static char text[16384];
	char ingress[200];
	unsigned n = 2 + pick(rng, 7), buffer = (unsigned)spread(rng, 500e3, 12e6);
	unsigned n_lossless = pick(rng, 3) ? 1 : 2 + pick(rng, 2), cell = PICK(rng, cells);
	size_t at = (size_t)snprintf(
		text, sizeof(text),
		"switch: {name: lab, buffer: {size: %u, cell: %u, oversubscription: %u}}\n", buffer,
		cell, 1 + pick(rng, 4));

	at += draw_ports(text + at, sizeof(text) - at, rng, n);
	at += (size_t)snprintf(text + at, sizeof(text) - at, "profiles:\n");
	draw_ingress(ingress, sizeof(ingress), rng, buffer);
	at += draw_profile(text + at, sizeof(text) - at, rng, "x", n_lossless, ingress,
			   buffer / 3.0 / (n - 1));
	draw_profile(text + at, sizeof(text) - at, rng, "y", n_lossless, ingress,
		     buffer / 3.0 / (n - 1));
	return text;
}

// False: the policy reserves more than its buffer.
static bool compiles(const char *yaml)
{
	struct config *c = NULL;
	struct policy *p = NULL;
	struct diags d = {0};
	bool ok = config_parse("plan", yaml, strlen(yaml), &c, &d) == 0 &&
		  config_compile(c, NULL, &p, &d) == 0;

	policy_destroy(p);
	config_destroy(c);
	diags_fini(&d);
	return ok;
}

// ---- traffic

static bool next_frame(struct bench_host *h, struct bench_frame *f)
{
	const struct policy_port *pp = &h->bench->policy->ports[h - h->bench->host];
	struct run *r = h->source_arg;
	unsigned k = (unsigned)__builtin_popcount(pp->classify.lossless);

	*f = (struct bench_frame){
		.to = r->output[h->sent / k % r->n_outputs],
		.dscp = (uint8_t)(8 * (CLASS + h->sent % k)),
		.ecn = ECN_ECT0,
		.len = (uint16_t)pp->max_frame,
	};
	return !r->xoff;
}

static void look(struct bench *b)
{
	struct run *r = b->after_step_arg;

	if (r->xoff)
		return;
	for (unsigned i = 0; i < b->n_ports && !r->xoff; i++) {
		r->xoff = pg_in_xoff(switch_pg_state(b->sw, i, CLASS));
		r->xoff_port = i;
	}
	r->marks_before = r->marks;
	r->marks = 0;
	for (unsigned i = 0; i < b->n_ports; i++)
		r->marks += ctr_get(&switch_queue_counters(b->sw, i, CLASS)->ecn_marked);
	r->frames = ctr_get(&switch_port_counters(b->sw, 0)->rx_packets);
}

static void send_until_xoff(struct bench *b, struct run *r, unsigned from, unsigned to)
{
	b->after_step = look;
	b->after_step_arg = r;
	for (unsigned i = from; i < to; i++) {
		b->host[i].obey_after_ns = UINT64_MAX;
		b->host[i].source = next_frame;
		b->host[i].source_arg = r;
		actor_poke(&b->host[i].actor);
	}
	while (!r->xoff)
		bench_run(b, STEP_NS);
}

// The plan's traffic, from port 0.
static struct run run_plan(struct bench *b, const struct plan_ecn *e)
{
	__uint128_t speed_q20 = (__uint128_t)b->policy->ports[0].speed_bps << 20;
	struct run r = {0};

	for (unsigned i = 1; i < b->n_ports; i++) {
		uint64_t period_q20 = plan_ecn_period_q20(b->policy, 0, i, e->n_outputs);

		if (!e->output[i])
			continue;
		r.output[r.n_outputs++] = i;
		wire_set_speed(b->host[i].wire, (uint64_t)(speed_q20 / period_q20));
	}
	send_until_xoff(b, &r, 0, 1);
	return r;
}

// All other ports to port 0. False: they do not overload the port, or the plan of the port that is
// paused first is not `yes`.
static bool run_incast(struct bench *b, struct run *r)
{
	uint64_t bps = 0;

	for (unsigned i = 1; i < b->n_ports; i++)
		bps += b->policy->ports[i].speed_bps;
	if (bps <= b->policy->ports[0].speed_bps)
		return false;
	*r = (struct run){.n_outputs = 1};
	send_until_xoff(b, r, 1, b->n_ports);
	return plan_ecn(b->policy, r->xoff_port, CLASS).verdict == ECN_BEFORE_PFC_YES;
}

// The plan takes the other groups of the port as full as the group. With one group an output has a
// frame more or less at most, with more groups two frames for each other group.
static bool near(const struct bench *b, const struct plan_ecn *e, uint64_t frames)
{
	unsigned k = (unsigned)__builtin_popcount(b->policy->ports[0].classify.lossless);
	int64_t off = (int64_t)frames - (int64_t)(k * e->n_frames) - 1;
	int64_t most = (2 * k - 1) * (b->n_ports - 1) + (int64_t)frames / 100;

	return off >= -most && off <= most;
}

static struct run run_with_seed(const char *yaml, uint64_t seed, struct plan_ecn *e)
{
	struct bench *b = bench_open_with(yaml, &(struct bench_opts){.seed = seed});
	struct run r;

	*e = plan_ecn(b->policy, 0, CLASS);
	r = run_plan(b, e);
	seen.frames_wrong += !near(b, e, r.frames);
	bench_close(b);
	return r;
}

// Of the verdict `no` at most one run in ten marks: up to a tenth of a mark is expected.
static bool marks_too_often(const char *yaml)
{
	unsigned n = 0;

	for (unsigned seed = 1; seed <= REPEATS; seed++) {
		struct plan_ecn e;

		n += run_with_seed(yaml, seed, &e).marks_before != 0;
	}
	seen.repeated++;
	return n > MOST_MARKED;
}

static void check_incast(const char *yaml, uint64_t seed)
{
	struct bench *b = bench_open_with(yaml, &(struct bench_opts){.seed = seed});
	struct run r;

	if (run_incast(b, &r)) {
		seen.incasts++;
		if (r.marks_before == 0)
			print_error("seed %lu: no mark before XOFF in an incast\n%s", seed, yaml);
		seen.incasts_wrong += r.marks_before == 0;
	}
	bench_close(b);
}

static void run_policy(struct schedule_program *p, uint64_t seed)
{
	const char *yaml;
	struct plan_ecn e;
	struct rng rng;
	struct run r;
	bool wrong;

	(void)p;
	rng_init(&rng, seed);
	for (yaml = draw(&rng); !compiles(yaml); seen.redrawn++)
		yaml = draw(&rng);
	r = run_with_seed(yaml, seed, &e);
	wrong = e.verdict == ECN_BEFORE_PFC_YES && r.marks_before == 0;
	if (e.verdict == ECN_BEFORE_PFC_NO && r.marks_before != 0)
		wrong = marks_too_often(yaml);
	seen.policies++;
	seen.verdicts[e.verdict]++;
	seen.marks[e.verdict] += r.marks_before;
	seen.wrong[e.verdict] += wrong;
	if (wrong)
		print_error("seed %lu: the plan says %s, %.3g marks before XOFF at frame %lu of "
			    "the class; the run has %lu marks\n%s", seed, plan_ecn_word(e.verdict),
			    plan_ecn_marks(&e), e.n_frames, r.marks_before, yaml);
	check_incast(yaml, seed);
}

static void finish(struct schedule_program *p)
{
	const uint64_t *n = seen.verdicts, *marks = seen.marks;

	print_message("%lu policies (%lu others reserve more than the buffer)\n"
		      "verdict    policies  marks before XOFF  wrong\n"
		      "yes        %8lu %18lu %6lu\nmarginal   %8lu %18lu\n"
		      "no         %8lu %18lu %6lu  (%lu with a mark, repeated %u times)\n"
		      "XOFF at another frame than planned: %lu\n"
		      "incasts with verdict yes: %lu, %lu without a mark\n",
		      seen.policies, seen.redrawn, n[2], marks[2], seen.wrong[2], n[1], marks[1],
		      n[0], marks[0], seen.wrong[0], seen.repeated, REPEATS, seen.frames_wrong,
		      seen.incasts, seen.incasts_wrong);
	assert_int_equal(seen.wrong[ECN_BEFORE_PFC_YES], 0);
	assert_int_equal(seen.wrong[ECN_BEFORE_PFC_NO], 0);
	assert_int_equal(seen.frames_wrong, 0);
	assert_int_equal(seen.incasts_wrong, 0);
	if (!p->as_in_the_suite)
		return;
	assert_true(100 * n[ECN_BEFORE_PFC_YES] >= PERCENT_EACH * seen.policies);
	assert_true(100 * n[ECN_BEFORE_PFC_NO] >= PERCENT_EACH * seen.policies);
	assert_true(100 * n[ECN_BEFORE_PFC_MARGINAL] <= PERCENT_MARGINAL * seen.policies);
	assert_true(100 * seen.incasts >= PERCENT_EACH * seen.policies);
}

int main(int argc, char **argv)
{
	struct schedule_program p = {
		.name = "lab_plan_random",
		.claim = "the_plan_predicts_whether_ecn_marks_before_pfc_pauses",
		.run = run_policy,
		.finish = finish,
		.from = 1,
		.to = SEEDS,
		.n_events = 1,
	};

	return schedule_main(&p, argc, argv);
}
