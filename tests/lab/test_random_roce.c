// SPDX-License-Identifier: Apache-2.0
// Random schedules with RoCEv2: connections of some queue pairs between hosts come and go, with
// and without connection management, data by SEND, WRITE and READ, ACKs that are coalesced or lost,
// NAKs, go-back-N, CNPs of hosts, datagrams; queue pairs are used anew, with other peers too; hosts
// change addresses, tags, ports; one of them lies. Meanwhile the policy changes (IPCC, CNPs, age,
// sources of pairs), links go, hosts pause and storm, TX is switched off, operators tell pairs.
// Flow tables are tiny or ample, ports bridged or routed, with one to three workers.
//
// However it goes, besides what test_random.c asks: no flow ever has a pair that is not its
// connection's; each CNP that a host receives is, byte by byte, the one that the switch should have
// sent to it then, and each that was sent arrives; a flow is told once a min_gap, a port sends no
// more than its cap, a queue that was paused is silent for an interval; no flow has more packets
// than were sent; the table is never overfull.
//
// Not drawn is what docs/ipcc.md and roce/pairing.h say that nobody in the middle can tell: queue
// pairs used anew while frames of their former life are on their way, or with PSNs near the old
// ones; liars at the port of the sender or receiver, be it a port that they had a moment ago; hosts
// whose frames enter by two ports at once; addresses that mean different hosts in different VLANs.
#include <stdlib.h>
#include <string.h>

#include "dataplane/packet/wire.h"
#include "tests/lab/roce_schedule.h"
#include "tests/lab/schedule_program.h"

enum { SEEDS = 40, EVENTS = 120, PACE_NS = 30000, US = 1000, MS = 1000000, DRAIN_STEPS = 2000 };

#define PICK(s, table) ((table)[pick((s), sizeof(table) / sizeof((table)[0]))])

static struct schedule_totals seen;
static struct roce_totals roce_seen;

// ---- policies

static void draw_ipcc(struct roce_schedule *x, unsigned q)
{
	static const unsigned intervals[] = {1, 2, 5, 5, 20, 100};
	static const uint16_t few[] = {0, 1, 2, 2, 8}, many[] = {1, 4, 64, 512};
	static const unsigned gaps[] = {0, 1, 4, 10, 50, 200}, spares[] = {0, 0, 5, 100};
	struct schedule *s = &x->s;
	struct ipcc_params *p = &x->ipcc[q];

	*p = (struct ipcc_params){
		.enabled = pick(s, q == 3 || q == 5 ? 6 : 2) != 0,
		.cut_learnt = pick(s, 4) == 0,
		.cut_q16 = (uint16_t)(655 + pick(s, 64880)),
		.few = PICK(s, few),
		.many = PICK(s, many),
		.deep_q16 = pick(s, 5) << 14,
		.interval_ns = PICK(s, intervals) * US,
		.drain_ns = (1 + pick(s, pick(s, 2) ? 100 : 1000)) * (uint64_t)US,
		.min_gap_ns = PICK(s, gaps) * US,
		.spare_ns = PICK(s, spares) * US,
		.kmin_bytes = 500 + pick(s, pick(s, 4) ? 5000 : 30000),
	};
	p->kmax_bytes = p->kmin_bytes + 1 + pick(s, 60000);
	p->many = p->many < p->few ? p->few : p->many;
}

static void draw_roce(struct roce_schedule *x)
{
	static const uint64_t ages[] = {MS, 2 * MS, 5 * MS, 50 * MS, 3000 * (uint64_t)MS};
	static const uint8_t matches[] = {0, 3, 2, 1, 6}, classes[] = {6, 6, 7, 1, 4, 0};
	static const uint32_t rates[] = {5, 200, 1000, 1000, 100000}, bursts[] = {1, 8, 64, 64};
	struct schedule *s = &x->s;

	x->elephants = !x->elephants;
	for (unsigned q = 0; q < N_QUEUES; q++)
		draw_ipcc(x, q);
	x->age_ns = PICK(s, ages);
	x->pairing.matches = PICK(s, matches);
	x->pairing.sources = pick(s, 4) ? 0 : (uint8_t)pick(s, 64);
	x->cnp = (struct cnp_params){.dscp = (uint8_t)pick(s, 64), .cls = PICK(s, classes),
				     .max_per_ms = PICK(s, rates), .burst = PICK(s, bursts)};
	for (unsigned i = 0; i < x->n_conns; i++)
		x->pairs_told[i] = x->conn[i].fixed && pick(s, 2);
	x->watchdog = (struct watchdog_params){
		.action = (uint8_t)pick(s, 3), .mode = (uint8_t)pick(s, 2),
		.detect_ns = (20 + pick(s, 500)) * (uint64_t)US,
		.restore_ns = (20 + pick(s, 500)) * (uint64_t)US,
	};
	x->watchdog.classes = s->conf.promise || pick(s, 2) ? 0 : 0xff;
}

static struct known_pair pair_of(bool v6, unsigned from, unsigned to, uint32_t qp, uint32_t sender)
{
	uint8_t src[16] = {10, 0, (uint8_t)(from + 1), 2}, dst[16] = {10, 0, (uint8_t)(to + 1), 2};

	if (v6) {
		memcpy(src, (uint8_t[16]){0xfd, 0, 0, (uint8_t)(from + 1), [15] = 2}, 16);
		memcpy(dst, (uint8_t[16]){0xfd, 0, 0, (uint8_t)(to + 1), [15] = 2}, 16);
	}
	return (struct known_pair){.key = flow_key_of(v6, src, dst, qp, KEY_KNOWN), .qp = sender,
				   .source = PAIR_STATIC};
}

static struct known_pair pair_of_conn(const struct roce_conn *c)
{
	return pair_of(c->v6, c->a, c->b, roce_qp(c->qp), roce_qp(c->peer));
}

// Pairs of connections that stay as they are, and of some that never come.
static void put_pairs(const struct roce_schedule *x, struct policy *p)
{
	p->pairs = calloc(x->n_conns + 4, sizeof(*p->pairs));
	assert_non_null(p->pairs);
	for (unsigned i = 0; i < x->n_conns; i++)
		if (x->pairs_told[i])
			p->pairs[p->n_pairs++] = pair_of_conn(&x->conn[i]);
	for (unsigned i = 0; i < 4; i++)
		p->pairs[p->n_pairs++] = pair_of(i % 2, i, i + 1, ROCE_QP_STRANGE + 99, 7 + i);
}

static void adjust(struct policy *p, void *arg)
{
	const struct roce_schedule *x = arg;

	p->copy_frames = SCHEDULE_COPY_FRAMES;
	p->flows = (struct flow_params){.max = x->flows_max, .age_ns = x->age_ns};
	if (x->elephants)
		p->elephants = (struct elephant_params){
			.enabled = true, .bytes = 10000, .look_shift = elephant_look_shift(10000),
			.rate_bps = 10000000, .end_rate_bps = 5000000, .age_ns = MS,
			.end_age_ns = MS, .mice_packets = 3};
	p->pairing = x->pairing;
	put_pairs(x, p);
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		struct policy_port *pp = &p->ports[port];

		for (unsigned q = 0; q < N_QUEUES; q++)
			pp->queue[q].ipcc = x->ipcc[q];
		pp->cnp = x->cnp;
		pp->watchdog = x->watchdog;
		pp->watchdog.classes &= pp->pfc.lossless & pp->pfc.rx;
	}
}

// ---- events

static void pace(struct schedule *s)
{
	roce_conns_come_and_go(roce_of(s));
	time_passes(s);
}

static void notifications_change(struct schedule *s)
{
	draw_roce(roce_of(s));
	schedule_publish(s, s->yaml);
	roce_new_policy(roce_of(s));
}

static void all_of_the_policy_changes(struct schedule *s)
{
	draw_roce(roce_of(s));
	policy_is_replaced(s);
	roce_new_policy(roce_of(s));
}

static void set_link(struct schedule *s, unsigned port, bool up)
{
	if (wire_ops.link_up(s->b->host[port].end) == up)
		return;
	if (!up)
		roce_link_goes(roce_of(s), port);
	schedule_set_link(s, port, up);
}

static void a_link_changes(struct schedule *s)
{
	set_link(s, pick(s, SCHEDULE_PORTS), pick(s, 3) != 0);
}

static void wake_all(struct schedule *s)
{
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		actor_poke(&s->b->host[p].actor);
}

static void nothing_stands(struct schedule *s)
{
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		set_link(s, p, true);
		bench_tx(s->b, p, -1, true);
		for (int q = 0; q < N_QUEUES; q++)
			bench_tx(s->b, p, q, true);
		bench_pause(s->b, p, 0xff, 0);
	}
}

// Everybody is silent until nothing is on its way: queue pairs may then be used anew.
static bool drain(struct schedule *s)
{
	unsigned steps = 0;

	s->silent = true;
	nothing_stands(s);
	do
		bench_run(s->b, 50 * US);
	while (switch_balance(s->b->sw).queued != 0 && ++steps < DRAIN_STEPS);
	bench_run(s->b, 50 * US);
	if (steps < DRAIN_STEPS)
		roce_all_has_come(roce_of(s));
	return steps < DRAIN_STEPS;
}

static void all_falls_silent(struct schedule *s)
{
	drain(s);
	if (pick(s, 3) == 0)
		bench_run(s->b, pick(s, 30) * (uint64_t)MS);
	roce_conns_come_and_go(roce_of(s));
	s->silent = false;
	wake_all(s);
}

// Two hosts; who lies would sit where the other was.
static void hosts_swap_ports(struct schedule *s)
{
	struct roce_schedule *x = roce_of(s);
	unsigned a = pick(s, ROCE_HOSTS), b = pick(s, ROCE_HOSTS);
	uint8_t port = x->port_of[a];

	if (!s->conf.learned || s->conf.routed || x->forger < ROCE_HOSTS || a == b)
		return;
	s->silent = true;
	bench_run(s->b, 20 * US + pick(s, 2) * pick(s, 20000) * (uint64_t)US);
	x->port_of[a] = x->port_of[b];
	x->port_of[b] = port;
	x->who[x->port_of[a]] = (uint8_t)a;
	x->who[port] = (uint8_t)b;
	x->totals->swaps++;
	x->swapped = true;
	s->silent = false;
	wake_all(s);
}

static void an_operator_tells(struct schedule *s)
{
	struct roce_schedule *x = roce_of(s);
	const struct roce_conn *c = &x->conn[pick(s, x->n_conns)];
	struct known_pair k = pair_of_conn(c);

	if (pick(s, 3) == 0)
		k.qp = FLOW_NONE;
	else if (!c->fixed)
		k = pair_of(pick(s, 2), c->a, c->b, ROCE_QP_STRANGE + 200, 9);
	(void)switch_order_pair(s->b->sw, &k);
	schedule_settle(s);
}

static void headers_change(struct schedule *s)
{
	struct roce_schedule *x = roce_of(s);

	roce_headers_change(x, &x->conn[pick(s, x->n_conns)]);
}

static void a_host_hurries_or_not(struct schedule *s)
{
	roce_of(s)->host[pick(s, ROCE_HOSTS)].idle_of_64 = pick(s, 2) ? 0 : pick(s, 64);
	wake_all(s);
}

// What stops traffic happens in half of the schedules.
static const struct schedule_event events[] = {
	{30, pace},
	{4, notifications_change},
	{2, all_falls_silent},
	{2, an_operator_tells},
	{2, headers_change},
	{2, a_host_hurries_or_not},
	{1, all_of_the_policy_changes},
	{1, hosts_swap_ports},
	{1, schedule_control},
	{1, host_sends_nonsense},
	{2, host_resumes},
	{1, host_pauses},
	{1, host_is_heard_or_not},
	{1, tx_goes_off_or_on},
	{1, a_link_changes},
};
enum { N_EVENTS = sizeof(events) / sizeof(events[0]), N_ROUGH = 4 };

// ---- a schedule

static void draw_conf(struct roce_schedule *x, const struct schedule_program *p)
{
	static const uint32_t maxes[] = {3, 40, 400, 400, 400, 5000};
	struct schedule *s = &x->s;

	schedule_conf_draw(&s->conf, &s->rng);
	if (p->n_workers != 0)
		s->conf.n_workers = p->n_workers;
	s->conf.routed = pick(s, 4) == 0;
	s->conf.learned &= !s->conf.routed && !s->conf.promise;
	s->conf.flood |= s->conf.promise;
	x->rough = pick(s, 2);
	x->flows_max = PICK(s, maxes);
	x->forger = pick(s, 2) ? pick(s, ROCE_HOSTS) : ROCE_HOSTS;
	for (unsigned i = 0; i < ROCE_HOSTS; i++)
		x->port_of[i] = x->who[i] = (uint8_t)i;
}

static struct roce_schedule *open_schedule(const struct schedule_program *p, uint64_t seed)
{
	struct roce_schedule *x = calloc(1, sizeof(*x));
	const struct bench_opts o = {.seed = seed, .adjust = adjust, .adjust_arg = x};

	assert_non_null(x);
	x->s = (struct schedule){.totals = &seen, .pace_ns = PACE_NS};
	x->totals = &roce_seen;
	x->elephants = seed % 2;
	memset(x->s.may_send, 0xff, sizeof(x->s.may_send));
	rng_init(&x->s.rng, seed);
	draw_conf(x, p);
	roce_draw_conns(x);
	draw_roce(x);
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		x->expected[port] = calloc(ROCE_EXPECTED, sizeof(*x->expected[port]));
		assert_non_null(x->expected[port]);
	}
	schedule_open(&x->s, &o);
	x->s.b->after_step = roce_after_step;
	roce_hosts_open(x);
	return x;
}

static void count(const struct roce_schedule *x)
{
	struct weir_switch *sw = x->s.b->sw;
	struct roce_totals *n = x->totals;
	struct flow_totals t;

	switch_flow_totals(sw, &t);
	n->refused += t.refused;
	n->aged += t.aged;
	n->elephants += t.elephants.began;
	assert_true(t.elephants.began - t.elephants.ended == t.elephants.now);
	n->evicted += t.evicted;
	n->dropped += t.pairing.dropped_jump + t.pairing.dropped_ack + t.pairing.dropped_rival;
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		seen.frames += ctr_get(&switch_port_counters(sw, p)->received);
		n->capped += ctr_get(&switch_port_flows(sw, p)->cnps_capped);
		for (unsigned q = 0; q < N_QUEUES; q++)
			if (switch_ipcc(sw, p, q) != NULL)
				n->muted += ctr_get(&switch_ipcc(sw, p, q)->muted);
	}
}

static void close_schedule(struct roce_schedule *x)
{
	roce_hosts_close(x);
	autoecn_destroy(x->s.ecn);
	bench_close(x->s.b);
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		free(x->expected[port]);
	free(x);
}

static void run_schedule(struct schedule_program *p, uint64_t seed)
{
	struct roce_schedule *x = open_schedule(p, seed);

	for (unsigned i = 0; i < p->n_events; i++) {
		schedule_happen(&x->s, events, x->rough ? N_EVENTS : N_EVENTS - N_ROUGH);
		roce_check_flows(x);
	}
	x->s.silent = true;
	nothing_stands(&x->s);
	schedule_everything_on(&x->s);
	roce_check_flows(x);
	roce_check_all_came(x);
	schedule_nothing_is_left(&x->s);
	// Stations are where they were in the beginning.
	if (!x->s.conf.routed && !x->swapped)
		schedule_frames_cross(&x->s);
	count(x);
	seen.events += p->n_events;
	close_schedule(x);
}

static void finish(struct schedule_program *p)
{
	const struct roce_totals *n = &roce_seen;

	print_message("%lu schedules, %lu events, %lu frames, %lu flows looked at, %lu had a pair; "
		      "%lu queue pairs with new peers, %lu lies, %lu swaps\n"
		      "%lu CNPs: static %lu, cm %lu, read %lu, ack %lu, cnp %lu; %lu capped, %lu "
		      "looks muted, %lu lost with a link\n"
		      "%lu flows aged, %lu evicted, %lu refused, %lu pairs dropped, %lu elephants; "
		      "lossless frames lost: %lu without a promise, %lu exempt\n",
		      p->to - p->from + 1, seen.events, seen.frames, n->rows, n->paired_rows,
		      n->reused, n->forged, n->swaps, n->cnps, n->by_source[PAIR_STATIC],
		      n->by_source[PAIR_CM], n->by_source[PAIR_READ], n->by_source[PAIR_ACK],
		      n->by_source[PAIR_CNP], n->capped, n->muted, n->vanished, n->aged, n->evicted,
		      n->refused, n->dropped, n->elephants, seen.lost_without_promise,
		      seen.lost_exempt);
	if (!p->as_in_the_suite)
		return;
	for (unsigned source = PAIR_STATIC; source < PAIR_CNP; source++)
		assert_true(n->by_source[source] > 20);
	assert_true(n->cnps > 1000 && n->capped > 100 && n->muted > 100);
	assert_true(n->refused > 100 && n->evicted > 10 && n->dropped > 20 &&
		    n->aged > 20 && n->elephants > 20);
	assert_true(n->reused > 20 && n->forged > 500 && n->swaps > 0);
}

int main(int argc, char **argv)
{
	struct schedule_program p = {
		.name = "lab_random_roce",
		.claim = "random_schedules_of_roce_tell_whom_they_should_and_nobody_else",
		.run = run_schedule,
		.finish = finish,
		.from = 1,
		.to = SEEDS,
		.n_events = EVENTS,
	};

	return schedule_main(&p, argc, argv);
}
