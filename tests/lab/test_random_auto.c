// SPDX-License-Identifier: Apache-2.0
// Random schedules in which queues choose their own ECN thresholds (docs/auto-ecn.md), and flows
// are elephants and mice (docs/elephants.md). Hosts send workloads of RoCEv2 and TCP: long flows,
// short messages, hosts that follow the marks and hosts that ignore them. A workload lasts for some
// windows of the rule. Meanwhile peers pause and storm, policies and rails change, somebody sets
// thresholds by hand, links and TX go off and on, and hosts forge flows until the table is full.
//
// However it goes, besides what test_random.c asks: each kmin is between floor and ceiling after
// each look of the rule, frames of a flow stay in order in each lossless class, elephants that have
// begun and not ended are those of the table, and a schedule that runs again gives the same frames
// and the same changes. All together must have entered each mode, for each reason.
//
// The links are slow: a window of the shortest `step` of a policy is some hundred frames.
#include <stdio.h>
#include <string.h>

#include "dataplane/packet/psn.h"
#include "dataplane/packet/wire.h"
#include "dataplane/policy.h"
#include "dataplane/qos/watchdog.h"
#include "dataplane/switch_flows.h"
#include "source_root.h"
#include "tests/lab/roce_frame.h"
#include "tests/lab/schedule_events.h"
#include "tests/lab/schedule_program.h"

enum {
	SEEDS = 40,
	EVENTS = 80,
	US = 1000,
	MS = 1000000,
	LOOK_NS = 1 * MS, // of control, as in a run of weir-lab
	SENT_AHEAD = 64, // frames that a host may owe
	MOUSE_FRAMES = 6,
	FLOWS = 4096, // that a receiver keeps in mind
	ECT = 2,
	CE = 3,
	TWICE = 3, // schedules that run again in the suite
};
static const uint32_t MAGIC = 0x57656972;

#define PICK(s, table) ((table)[pick((s), sizeof(table) / sizeof((table)[0]))])

// In the last bytes of each frame.
struct stamp {
	uint32_t magic, flow, seq;
	uint8_t dscp, cls;
	uint16_t lossless; // the class is, where the frame enters
	uint64_t policy; // version; 0: it was about to change
};

// A flow, and its next frame.
struct talk {
	unsigned to;
	uint32_t flow, seq;
	uint8_t dscp;
	bool v6, tcp;
	uint16_t len;
	uint8_t frame[FRAME_MAX];
};

struct sender {
	struct tuned_schedule *x;
	struct vtimer timer;
	struct talk large, mouse;
	uint8_t next[FRAME_MAX]; // may wait for the end of a PAUSE
	uint64_t gap_ns; // of frames
	bool jitter, follows; // the marks
	unsigned slow; // in sixteenths of the gap: how far it does
	unsigned mice_one_in, forged; // frames of a flow each
};

struct tuned_schedule {
	struct schedule s; // first: the hooks of the schedule are handed this
	struct sender sender[SCHEDULE_PORTS];
	struct watchdog_params watchdog[SCHEDULE_PORTS];
	uint8_t lower; // 2^n times lower ceilings
	uint32_t flows;
	uint64_t policy; // version that all workers have
	struct stamp last[SCHEDULE_PORTS][FLOWS]; // by the receiver
	uint64_t digest;
};

// What all schedules went through.
static struct schedule_totals seen;
static struct {
	uint64_t modes[N_ECN_MODES], whys[N_ECN_WHYS], changes;
	uint64_t elephants, mice, refused, rewritten, in_order;
	uint64_t rows[2]; // of elephants in the flow table, at all looks: RoCEv2, TCP
	uint64_t acted[3]; // elephants' frames while a class had a colour, a class, a DSCP for them
} tuned;

static struct tuned_schedule *of(struct schedule *s)
{
	return (struct tuned_schedule *)s;
}

static void digest(struct tuned_schedule *x, const void *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x->digest = (x->digest ^ ((const uint8_t *)data)[i]) * 0x100000001b3;
}

// ---- flows

static void build(struct tuned_schedule *x, unsigned from, struct talk *t)
{
	uint8_t tos = (uint8_t)(t->dscp << 2 | (pick(&x->s, 8) ? ECT : 0));
	char src[16], dst[16];

	if (!t->tcp) {
		const struct roce r = {.from = from, .to = t->to, .v6 = t->v6, .dscp = t->dscp,
				       .ecn = tos & 3, .opcode = RC_WRITE_MIDDLE, .qp = t->flow,
				       .payload = (uint16_t)(t->len - (t->v6 ? 94 : 74))};

		t->len = roce_build(t->frame, &r);
		return;
	}
	snprintf(src, sizeof(src), t->v6 ? "fd00::%u" : "10.0.0.%u", from + 1);
	snprintf(dst, sizeof(dst), t->v6 ? "fd00::%u" : "10.0.0.%u", t->to + 1);
	t->len = router_build(t->frame, from, &(struct router_packet){
		.src = src, .dst = dst, .sport = (uint16_t)t->flow,
		.dport = (uint16_t)(t->flow >> 16), .len = t->len, .proto = IP_PROTO_TCP});
	memcpy(t->frame, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(t->to + 1)}, 6);
	if (t->v6) {
		be32_put(t->frame + 14, 6u << 28 | (uint32_t)tos << 20);
		return;
	}
	t->frame[15] = tos;
	memset(t->frame + 24, 0, 2);
	be16_put(t->frame + 24, router_csum(t->frame + 14, 20));
}

static void new_flow(struct sender *h, struct talk *t)
{
	struct tuned_schedule *x = h->x;

	t->flow = ++x->flows;
	t->seq = 0;
	t->tcp = pick(&x->s, 2);
	t->v6 = pick(&x->s, 4) == 0;
	t->len = (uint16_t)(200 + pick(&x->s, 1200));
	build(x, (unsigned)(h - x->sender), t);
}

static void stamp(const struct tuned_schedule *x, unsigned from, struct talk *t)
{
	const struct classify_params *c = &x->s.b->policy->ports[from].classify;
	struct stamp s = {.magic = MAGIC, .flow = t->flow, .seq = t->seq++, .dscp = t->dscp,
			  .policy = x->policy};

	s.cls = c->dscp_to_class[t->dscp];
	s.lossless = c->lossless >> s.cls & 1;
	memcpy(t->frame + t->len - sizeof(s), &s, sizeof(s));
	if (!t->tcp)
		be24_put(t->frame + 14 + (t->v6 ? 40 : 20) + 8 + 9, s.seq);
}

static bool next_frame(struct bench_host *host, struct bench_frame *out)
{
	struct sender *h = &of(host->source_arg)->sender[host - host->bench->host];
	struct talk *t = &h->large;

	if (!schedule_traffic(host, out))
		return false;
	if (h->forged != 0 || (h->mice_one_in != 0 && pick(&h->x->s, h->mice_one_in) == 0)) {
		t = &h->mouse;
		if (h->forged != 0 || t->seq >= MOUSE_FRAMES)
			new_flow(h, t);
		h->forged -= h->forged != 0;
	}
	stamp(h->x, (unsigned)(h - h->x->sender), t);
	memcpy(h->next, t->frame, t->len);
	*out = (struct bench_frame){.raw = h->next, .len = t->len, .dscp = t->dscp};
	return true;
}

static void may_send(void *arg, uint64_t now_ns)
{
	struct sender *h = arg;
	struct schedule *s = &h->x->s;
	unsigned port = (unsigned)(h - h->x->sender);
	uint64_t gap_ns = h->gap_ns * (16 + h->slow) / 16;

	if (h->jitter)
		gap_ns = 1 + pick(s, (unsigned)(2 * gap_ns));
	s->may_send[port] += s->may_send[port] < SENT_AHEAD;
	h->slow -= h->slow != 0;
	actor_poke(&s->b->host[port].actor);
	vtimer_set(&h->timer, now_ns + gap_ns);
}

// ---- receivers

// Frames of a lossless class that entered and left under the same policy are in order.
static void check_order(struct tuned_schedule *x, unsigned port, const struct stamp *s)
{
	struct stamp *last = &x->last[port][s->flow % FLOWS];

	if (s->policy == 0 || s->policy != x->policy)
		return;
	if (last->flow == s->flow && last->policy == s->policy && s->lossless) {
		if (s->seq <= last->seq)
			fail_msg("flow %u of lossless class %u: frame %u after frame %u", s->flow,
				 s->cls, s->seq, last->seq);
		tuned.in_order++;
	}
	*last = *s;
}

static void receive(struct bench_host *host, const uint8_t *frame, uint16_t len)
{
	struct tuned_schedule *x = host->source_arg;
	unsigned port = (unsigned)(host - host->bench->host);
	bool v6 = frame[12] == 0x86;
	uint8_t tos = v6 ? (uint8_t)(frame[14] << 4 | frame[15] >> 4) : frame[15];
	struct stamp s;

	if (len < 14 + sizeof(s))
		return;
	memcpy(&s, frame + len - sizeof(s), sizeof(s));
	if (s.magic != MAGIC)
		return;
	digest(x, frame, len);
	digest(x, &x->s.b->clock.now_ns, sizeof(uint64_t));
	check_order(x, port, &s);
	// `remark` of these schedules is for the classes 1 and 6.
	tuned.rewritten += tos >> 2 != s.dscp && s.cls != 1 && s.cls != 6;
	if ((tos & 3) == CE && frame[11] >= 1 && frame[11] <= SCHEDULE_PORTS) {
		struct sender *h = &x->sender[frame[11] - 1];

		h->slow += h->follows && h->slow < 64 ? 4 : 0;
	}
}

// ---- what the rule says

static void on_thresholds(struct schedule *s, const struct autoecn_change *c)
{
	digest(of(s), &c->t_ns, sizeof(c->t_ns));
	digest(of(s), &c->after.kmin_bytes, sizeof(c->after.kmin_bytes));
	digest(of(s), &c->features.delay_p99_ns, sizeof(c->features.delay_p99_ns));
	tuned.modes[c->mode]++;
	tuned.whys[c->why]++;
	tuned.changes += c->after.kmin_bytes != c->before.kmin_bytes;
}

static bool elephant_of(void *arg, const struct flow_row *row)
{
	(void)arg;
	tuned.rows[flow_key_is_tcp(&row->key)] += row->size == SIZE_ELEPHANT;
	return true;
}

static bool acts(const struct policy *p, unsigned how)
{
	for (unsigned c = 0; c < N_CLASSES; c++) {
		const struct elephant_action *a = &p->ports[0].sized[SIZE_ELEPHANT][c];
		const uint8_t keys[] = {a->color, a->cls, a->dscp};

		if (keys[how] != ELEPHANT_KEEP)
			return true;
	}
	return false;
}

static void look_at_elephants(struct tuned_schedule *x, uint64_t *before)
{
	struct flow_totals t;

	switch_flow_totals(x->s.b->sw, &t);
	assert_int_equal(t.elephants.began - t.elephants.ended, t.elephants.now);
	assert_true(t.used <= t.max);
	for (unsigned how = 0; how < 3; how++)
		if (acts(x->s.b->policy, how))
			tuned.acted[how] += t.elephants.packets[SIZE_ELEPHANT] - *before;
	*before = t.elephants.packets[SIZE_ELEPHANT];
}

// ---- events

static void control_runs(struct schedule *s, uint64_t for_ns)
{
	struct flow_totals t;
	uint64_t before;

	switch_flow_totals(s->b->sw, &t);
	before = t.elephants.packets[SIZE_ELEPHANT];
	for (uint64_t done = 0; done < for_ns; done += LOOK_NS) {
		bench_run(s->b, LOOK_NS);
		schedule_look(s);
		look_at_elephants(of(s), &before);
	}
	switch_flows_walk(s->b->sw, s->b->clock.now_ns, false, elephant_of, NULL);
}

static void some_windows_pass(struct schedule *s)
{
	control_runs(s, (1 + pick(s, 8)) * (uint64_t)MS);
}

static void the_workload_lasts(struct schedule *s)
{
	control_runs(s, (20 + pick(s, 60)) * (uint64_t)MS);
}

// Up to four hosts send to one, together so much of its link.
static void a_workload_begins(struct schedule *s)
{
	static const uint8_t dscps[] = {24, 24, 24, 26, 40, 42, 4, 8, 16};
	static const unsigned percents[] = {28, 60, 60, 90, 97, 130, 200}, mice[] = {0, 0, 20, 4};
	unsigned to = pick(s, 4) ? SCHEDULE_PORTS - 1 : pick(s, SCHEDULE_PORTS);
	unsigned n = 1 + pick(s, 4), percent = PICK(s, percents), one_in = PICK(s, mice);
	uint8_t dscp = PICK(s, dscps);
	bool jitter = pick(s, 3) == 0, follows = pick(s, 3) != 0;

	for (unsigned i = 1; i < SCHEDULE_PORTS; i++) {
		struct sender *h = &of(s)->sender[(to + i) % SCHEDULE_PORTS];

		vtimer_cancel(&h->timer);
		s->may_send[(to + i) % SCHEDULE_PORTS] = 0;
		if (i > n)
			continue;
		h->large.to = h->mouse.to = to;
		h->large.dscp = h->mouse.dscp = dscp;
		h->jitter = jitter;
		h->follows = follows;
		h->slow = 0;
		h->mice_one_in = one_in;
		new_flow(h, &h->large);
		new_flow(h, &h->mouse);
		h->gap_ns = bench_wire_ns(s->b, to, h->large.len) * n * 100 / percent;
		vtimer_set(&h->timer, s->b->clock.now_ns + 1 + pick(s, (unsigned)h->gap_ns));
	}
}

static void a_host_forges_flows(struct schedule *s)
{
	of(s)->sender[pick(s, SCHEDULE_PORTS)].forged += 200;
}

static uint16_t quanta_of(const struct schedule *s, unsigned port, uint64_t ns)
{
	uint64_t quanta = ns * s->b->policy->ports[port].speed_bps / 512000000000;

	return (uint16_t)(quanta > 65535 ? 65535 : quanta);
}

// For longer than half a window, and mostly than the watchdog waits.
static void a_peer_pauses(struct schedule *s)
{
	static const uint8_t classes[] = {1 << 3, 1 << 5, 1 << 3 | 1 << 5, 0xff};
	unsigned port = pick(s, 4) ? SCHEDULE_PORTS - 1 : pick(s, SCHEDULE_PORTS);

	bench_storm(s->b, port, PICK(s, classes), quanta_of(s, port, 3 * MS), 2 * MS);
	control_runs(s, (4 + pick(s, 30)) * (uint64_t)MS);
	bench_storm(s->b, port, 0, 0, 0);
}

static void publish(struct schedule *s, const char *yaml)
{
	schedule_publish(s, yaml);
	of(s)->policy = s->b->policy->version;
}

static void draw_watchdogs(struct schedule *s)
{
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		of(s)->watchdog[port] = (struct watchdog_params){
			.classes = pick(s, 2) ? 0xff : 0,
			.action = (uint8_t)pick(s, 3),
			.detect_ns = (3 + pick(s, 10)) * (uint64_t)MS,
			.restore_ns = (5 + pick(s, 20)) * (uint64_t)MS,
		};
}

static void policy_changes(struct schedule *s)
{
	draw_watchdogs(s);
	publish(s, schedule_policy(&s->conf, &s->rng, false));
}

// The same keys of auto ECN, so queues keep their state.
static void rails_change(struct schedule *s)
{
	of(s)->lower = (uint8_t)pick(s, 4);
	publish(s, s->yaml);
}

static const struct schedule_event events[] = {
	{20, some_windows_pass},    {7, the_workload_lasts}, {4, a_workload_begins},
	{2, a_peer_pauses},	    {1, policy_changes},     {1, rails_change},
	{1, a_host_forges_flows},   {1, tx_goes_off_or_on},  {1, link_goes_down_or_up},
	{1, schedule_control},	    {1, host_resumes},	     {1, host_is_heard_or_not},
	{1, admission_is_held_or_resumed},
};

// ---- schedules

static void adjust(struct policy *p, void *arg)
{
	const struct tuned_schedule *x = arg;

	p->copy_frames = SCHEDULE_COPY_FRAMES;
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		struct policy_port *pp = &p->ports[port];

		pp->watchdog = x->watchdog[port];
		pp->watchdog.classes &= pp->pfc.lossless & pp->pfc.rx;
		for (unsigned q = 0; q < N_QUEUES; q++) {
			struct auto_ecn_params *a = &pp->auto_ecn[q];
			uint64_t ceiling = a->ceiling_bytes >> x->lower;

			a->ceiling_bytes = ceiling > a->floor_bytes ? ceiling : a->floor_bytes;
		}
	}
}

static void before_policy(struct schedule *s)
{
	of(s)->policy = 0;
}

static void draw(struct tuned_schedule *x, const struct schedule_program *p)
{
	static const unsigned speeds[] = {200, 200, 400};
	struct schedule *s = &x->s;
	unsigned speed = PICK(s, speeds);

	schedule_conf_draw(&s->conf, &s->rng);
	s->conf.promise |= pick(s, 2);
	s->conf.learned = false;
	s->conf.flows = s->conf.elephants = true;
	s->conf.ecn_model = SOURCE_ROOT "/tests/lab/slow_links.ecn";
	if (p->n_workers != 0)
		s->conf.n_workers = p->n_workers;
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		s->conf.speed_mbps[port] = speed;
	draw_watchdogs(s);
}

static void open_schedule(struct tuned_schedule *x, uint64_t seed)
{
	const struct bench_opts o = {.seed = seed, .adjust = adjust, .adjust_arg = x};
	struct schedule *s = &x->s;

	schedule_open(s, &o);
	x->policy = s->b->policy->version;
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		struct sender *h = &x->sender[port];

		h->x = x;
		vtimer_init(&h->timer, &s->b->clock, may_send, h);
		s->b->host[port].source = next_frame;
		s->b->host[port].on_rx = receive;
	}
	a_workload_begins(s);
}

static void end_schedule(struct tuned_schedule *x)
{
	struct schedule *s = &x->s;

	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		vtimer_cancel(&x->sender[port].timer);
	schedule_everything_on(s);
	schedule_nothing_is_left(s);
	schedule_frames_cross(s);
}

static void count(const struct schedule *s)
{
	struct flow_totals t;

	switch_flow_totals(s->b->sw, &t);
	tuned.elephants += t.elephants.began;
	tuned.mice += t.elephants.packets[SIZE_MOUSE];
	tuned.refused += t.refused + t.evicted;
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		seen.frames += ctr_get(&switch_port_counters(s->b->sw, p)->received);
		for (unsigned c = 0; c < N_CLASSES; c++)
			seen.pauses += ctr_get(&switch_pfc_tx(s->b->sw, p)->stats[c].transitions);
	}
}

// Returns a digest of all frames that hosts received, and of all changes of thresholds.
static uint64_t digest_of(const struct schedule_program *p, uint64_t seed)
{
	static struct tuned_schedule x;

	memset(&x, 0, sizeof(x));
	x.s.totals = &seen;
	x.s.on_thresholds = on_thresholds;
	x.s.before_policy = before_policy;
	rng_init(&x.s.rng, seed);
	draw(&x, p);
	open_schedule(&x, seed);
	for (unsigned i = 0; i < p->n_events; i++)
		schedule_happen(&x.s, events, sizeof(events) / sizeof(events[0]));
	end_schedule(&x);
	count(&x.s);
	seen.events += p->n_events;
	autoecn_destroy(x.s.ecn);
	bench_close(x.s.b);
	return x.digest;
}

static void run_schedule(struct schedule_program *p, uint64_t seed)
{
	uint64_t first = digest_of(p, seed);

	if (p->as_in_the_suite && seed < p->from + TWICE)
		assert_int_equal(digest_of(p, seed), first);
}

static void finish(struct schedule_program *p)
{
	print_message("%lu schedules, %lu events, %lu frames, %lu pauses; %lu changes of kmin",
		      p->to - p->from + 1, seen.events, seen.frames, seen.pauses, tuned.changes);
	for (unsigned i = 0; i < N_ECN_MODES; i++)
		print_message(", %s %lu", ecn_mode_name[i], tuned.modes[i]);
	for (unsigned i = ECN_WHY_BEGIN + 1; i < N_ECN_WHYS; i++)
		print_message("; %s: %lu", ecn_why_text[i], tuned.whys[i]);
	print_message("; %lu elephants (%lu rows of RoCEv2, %lu of TCP), %lu frames of mice, "
		      "%lu flows without a place; elephants' frames with a colour %lu, class %lu, "
		      "DSCP %lu; %lu frames rewritten, %lu compared in order; lossless frames "
		      "lost: %lu without a promise, %lu exempt\n",
		      tuned.elephants, tuned.rows[0], tuned.rows[1], tuned.mice,
		      tuned.refused, tuned.acted[0], tuned.acted[1], tuned.acted[2],
		      tuned.rewritten, tuned.in_order, seen.lost_without_promise,
		      seen.lost_exempt);
	if (!p->as_in_the_suite)
		return;
	for (unsigned i = 0; i < N_ECN_MODES; i++)
		assert_true(tuned.modes[i] >= 5);
	// Rows that cost throughput, searches that do not last, and raises that pause are rare.
	for (unsigned i = ECN_WHY_BEGIN + 1; i < N_ECN_WHYS; i++)
		assert_true(tuned.whys[i] > 0 || i == ECN_WHY_COSTS || i == ECN_WHY_FULLEST ||
			    i == ECN_WHY_LOST || i == ECN_WHY_PAUSES);
	for (unsigned i = 0; i < 3; i++)
		assert_true(tuned.acted[i] > 1000);
	assert_true(tuned.rows[0] > 20 && tuned.rows[1] > 20);
	assert_true(tuned.elephants > 100 && tuned.mice > 1000 && tuned.refused > 100);
	assert_true(tuned.rewritten > 100 && tuned.in_order > 10000);
	assert_true(tuned.changes > 40 && seen.pauses > 100);
}

int main(int argc, char **argv)
{
	struct schedule_program p = {
		.name = "lab_random_auto",
		.claim = "thresholds_stay_within_their_rails_and_lossless_flows_in_order",
		.run = run_schedule,
		.finish = finish,
		.from = 1,
		.to = SEEDS,
		.n_events = EVENTS,
	};

	return schedule_main(&p, argc, argv);
}
