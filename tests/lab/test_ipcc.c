// SPDX-License-Identifier: Apache-2.0
// Notifications by a whole switch: what they look like, how many there are, and who gets one.
#include "dataplane/policy.h"
#include "tests/lab/ipcc_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/packet/wire.h"

enum { US = 1000 };

static struct ipcc_seen seen; // of the test at hand

static struct bench *open_policy(const struct ipcc_policy *p)
{
	memset(&seen, 0, sizeof(seen));
	return ipcc_open(p);
}

static struct bench *open_with(const char *ipcc)
{
	return open_policy(&(struct ipcc_policy){.ipcc = ipcc});
}

// ---- what it looks like

static const struct ipcc_data shapes[] = {
	{.to = IPCC_TO, .qp = IPCC_QP},
	{.to = IPCC_TO, .qp = IPCC_QP, .v6 = true},
	{.to = IPCC_TO,
	 .qp = IPCC_QP,
	 .tags = {{ETYPE_VLAN, 3 << 13 | 77}},
	 .sport = 4791,
	 .pkey = 0x8002},
	{.to = IPCC_TO, .qp = IPCC_QP, .v6 = true, .tags = {{ETYPE_VLAN, 0x1000 | 4094}}},
	{.to = IPCC_TO, .qp = IPCC_QP, .tags = {{ETYPE_QINQ, 0x3000 | 100}}},
	{.to = IPCC_TO, .qp = IPCC_QP, .v6 = true, .tags = {{ETYPE_QINQ_OLD, 100}}},
	// of a provider
	{.to = IPCC_TO,
	 .qp = IPCC_QP,
	 .tags = {{ETYPE_QINQ, 0x3000 | 100}, {ETYPE_VLAN, 3 << 13 | 77}}},
	{.to = IPCC_TO,
	 .qp = IPCC_QP,
	 .v6 = true,
	 .tags = {{ETYPE_QINQ, 100}, {ETYPE_VLAN, 0x7000 | 4094}}},
	{.to = IPCC_TO, .qp = IPCC_QP, .tags = {{ETYPE_VLAN, 5}, {ETYPE_VLAN, 0}}},
	{.to = IPCC_TO, .qp = IPCC_QP, .tags = {{ETYPE_QINQ_OLD, 5}, {ETYPE_QINQ, 6}}, .v6 = true},
	{.to = IPCC_TO, .qp = IPCC_QP, .routed = true},
	{.to = IPCC_TO, .qp = IPCC_QP, .routed = true, .v6 = true},
	// a priority tag
	{.to = IPCC_TO, .qp = IPCC_QP, .routed = true, .tags = {{ETYPE_VLAN, 3 << 13}}},
};

// Those of the data frame, all with the PCP of the class of CNPs.
static void check_tags(const struct ipcc_data *d, const struct ipcc_cnp *c, unsigned n, uint8_t pcp)
{
	const uint8_t *at = c->rx->data + 12;

	assert_int_equal(c->info.n_tags, n);
	for (unsigned i = 0; i < n; i++, at += 4) {
		assert_int_equal(be16_get(at), d->tags[i].tpid);
		assert_int_equal(be16_get(at + 2), (d->tags[i].tci & 0x1fff) | pcp << 13);
	}
}

static void check_shape(const struct ipcc_data *d, const struct ipcc_cnp *c)
{
	uint8_t data[IPCC_MAX_LEN];
	const uint8_t *cnp = c->rx->data, *bth;
	struct pkt_info info;

	assert_true(parse(data, ipcc_build(data, d), &info));
	bth = cnp + c->info.l4_off + 8;
	assert_int_equal(c->rx->len, (d->v6 ? 94 : 74) + 4 * info.n_tags);
	assert_memory_equal(cnp, data + 6, 6);
	assert_memory_equal(cnp + 6, data, 6);
	check_tags(d, c, info.n_tags, 6);
	assert_int_equal(c->info.kind, d->v6 ? PKT_IPV6 : PKT_IPV4);
	assert_int_equal(c->info.dscp, 48);
	assert_int_equal(c->info.ecn, ECN_ECT0);
	assert_int_equal(c->info.udp_sport, info.udp_sport);
	assert_int_equal(c->info.bth_dest_qp, d->qp + IPCC_SENDER_QP);
	assert_int_equal(c->info.bth_psn, 0);
	assert_int_equal(be16_get(bth + 2), d->pkey != 0 ? d->pkey : 0xffff);
	assert_int_equal(bth[4], BTH_BECN);
	if (d->v6)
		assert_int_equal(be32_get(cnp + c->info.l3_off) & 0xfffff, 0); // flow label
	else
		assert_int_equal(be16_get(cnp + c->info.l3_off + 4), 0); // id
}

static void a_sender_gets_a_cnp_in_the_name_of_the_receiver(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct bench *b = open_policy(
			&(struct ipcc_policy){.ipcc = "on", .routed = shapes[i].routed});
		struct ipcc_data one = shapes[i], other = shapes[i];
		struct ipcc_cnp c;

		other.from = 1;
		ipcc_send(b, &one, 40);
		ipcc_send(b, &other, 40);
		ipcc_settle(b);
		ipcc_explain(b, &seen);
		assert_true(seen.n >= 2);
		assert_true(ipcc_cnp(b, 0, 0, &c));
		check_shape(&one, &c);
		assert_true(ipcc_cnp(b, 1, 0, &c));
		check_shape(&other, &c);
		assert_int_equal(ipcc_cnps(b, IPCC_TO), 0);
		assert_int_equal(ipcc_cnps(b, 3), 0);
		bench_close(b);
	}
}

static void a_cnp_says_what_the_latest_frames_said(void **state)
{
	static const struct ipcc_data lives[] = {
		{.to = IPCC_TO, .qp = IPCC_QP},
		{.to = IPCC_TO, .qp = IPCC_QP, .sport = 50000},
		{.to = IPCC_TO, .qp = IPCC_QP, .sport = 50000, .adapter = 9},
		{.to = IPCC_TO, .qp = IPCC_QP, .adapter = 9, .pkey = 0x8002},
		{.to = IPCC_TO, .qp = IPCC_QP, .adapter = 9, .pkey = 0x8003},
		{.to = IPCC_TO, .qp = IPCC_QP, .adapter = 9, .tags = {{ETYPE_VLAN, 3 << 13}}},
		{.to = IPCC_TO, .qp = IPCC_QP, .adapter = 9, .tags = {{ETYPE_VLAN, 3 << 13 | 7}}},
		{.to = IPCC_TO, .qp = IPCC_QP},
		{.to = IPCC_TO, .qp = IPCC_QP, .tags = {{ETYPE_VLAN, 7}, {ETYPE_VLAN, 8}}},
		{.to = IPCC_TO, .qp = IPCC_QP, .tags = {{ETYPE_QINQ, 7}, {ETYPE_VLAN, 8}}},
		{.to = IPCC_TO, .qp = IPCC_QP, .tags = {{ETYPE_QINQ, 7}, {ETYPE_VLAN, 9}}},
		{.to = IPCC_TO, .qp = IPCC_QP, .tags = {{ETYPE_QINQ, 7}, {ETYPE_QINQ, 9}}},
		{.to = IPCC_TO, .qp = IPCC_QP, .tags = {{ETYPE_QINQ, 7}}},
		{.to = IPCC_TO, .qp = IPCC_QP, .tags = {{ETYPE_VLAN, 7}}},
		{.to = IPCC_TO, .qp = IPCC_QP, .tags = {{ETYPE_VLAN, 7}, {ETYPE_QINQ, 9}}},
		{.to = IPCC_TO, .qp = IPCC_QP},
	};
	struct bench *b = open_with("on");
	struct ipcc_cnp c;

	(void)state;
	for (unsigned i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		struct ipcc_data d = lives[i], other = {.from = 1, .to = IPCC_TO, .qp = IPCC_QP};
		unsigned before = ipcc_cnps(b, 0);

		d.psn = other.psn = i * 40;
		ipcc_send(b, &d, 40);
		ipcc_send(b, &other, 40);
		ipcc_settle(b);
		assert_true(ipcc_cnps(b, 0) > before);
		assert_true(ipcc_cnp(b, 0, ipcc_cnps(b, 0) - 1, &c));
		check_shape(&d, &c);
	}
	ipcc_explain(b, &seen);
	bench_close(b);
}

// The first one is on the line while the frame that took the queue over kmin is hardly in.
static void the_first_cnp_leaves_when_the_queue_crosses_kmin(void **state)
{
	struct bench *b = open_with("on");
	struct ipcc_cnp c;
	const struct cnp_record *r = &seen.records[0];

	(void)state;
	ipcc_incast(b, 2, 40);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_int_equal(r->len_bytes, IPCC_KMIN + IPCC_FRAME);
	assert_int_equal(r->quadrant, IPCC_FEW_GROWING);
	assert_int_equal(r->trend_bytes, r->len_bytes);
	assert_int_equal(r->port, IPCC_TO);
	assert_int_equal(r->queue, IPCC_QUEUE);
	assert_int_equal(r->source, PAIR_STATIC);
	assert_true(ipcc_cnp(b, r->left_by, 0, &c));
	assert_int_equal(c.rx->t_ns, r->t_ns + bench_wire_ns(b, r->left_by, 74));
	bench_close(b);
}

static void the_class_and_dscp_of_cnps_are_those_of_the_port_they_leave_by(void **state)
{
	struct bench *b = open_policy(&(struct ipcc_policy){
		.ipcc = "on",
		.keys = "    cnp: {dscp: 41, class: 5}\n    remark: {pcp: {5: 2}}\n",
		.classes = "      5: {schedule: strict}\n"});
	struct ipcc_data d = {.to = IPCC_TO,
			      .qp = IPCC_QP,
			      .tags = {{ETYPE_QINQ, 3 << 13 | 5}, {ETYPE_VLAN, 4 << 13 | 6}}};
	struct ipcc_cnp c;

	(void)state;
	ipcc_send(b, &d, 40);
	d.from = 1;
	ipcc_send(b, &d, 40);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_true(ipcc_cnp(b, 0, 0, &c));
	assert_int_equal(c.info.dscp, 41);
	check_tags(&d, &c, 2, 2);
	assert_int_equal(ctr_get(&switch_queue_counters(b->sw, 0, 5)->tx_packets), ipcc_cnps(b, 0));
	bench_close(b);
}

static void two_workers(struct policy *p, void *arg)
{
	(void)arg;
	p->n_workers = 2;
}

struct reasons {
	unsigned n[N_CNP_SILENCES];
};

static bool count_reason(void *arg, const struct flow_row *row)
{
	((struct reasons *)arg)->n[row->silence]++;
	return true;
}

// ---- how many

// Looks are an interval apart or more, and tell as many as the counters say.
static void check_looks(const struct bench *b, uint64_t interval_ns)
{
	const struct ipcc_counters *c = ipcc_counters(b);
	uint64_t looks = 0;

	for (unsigned i = 1; i < seen.n; i++) {
		const struct cnp_record *r = &seen.records[i];

		if (r->t_ns != r[-1].t_ns)
			assert_true(r->t_ns >= r[-1].t_ns + interval_ns);
		else
			assert_int_equal(r->notified, r[-1].notified);
	}
	for (unsigned q = 0; q < N_QUADRANTS; q++)
		looks += ctr_get(&c->looks[q]);
	assert_true(looks > 0);
	assert_int_equal(ctr_get(&c->notified), seen.n);
}

static void few_are_told_while_the_queue_is_shallow_and_many_when_it_is_deep(void **state)
{
	struct bench *b = open_with("{few: 1, many: 3, min_gap: 0us}");
	unsigned n[N_QUADRANTS] = {0};

	(void)state;
	ipcc_incast(b, 3, 100);
	// What is sent alone is just drained.
	ipcc_send(b, &(struct ipcc_data){.to = IPCC_TO, .qp = IPCC_QP, .psn = 100}, 200);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	check_looks(b, 5 * US);
	for (unsigned i = 0; i < seen.n; i++) {
		const struct cnp_record *r = &seen.records[i];

		n[r->quadrant]++;
		// 20 Gb/s too much: two halves of 10 Gb/s do not cover it, and three are all.
		if (r->quadrant == IPCC_MANY && r->queue_bps > 25000000000)
			assert_int_equal(r->notified, 3);
		if (r->quadrant != IPCC_MANY)
			assert_int_equal(r->notified, 1);
	}
	assert_int_equal(seen.records[0].quadrant, IPCC_FEW_GROWING);
	assert_true(n[IPCC_MANY] > 30 && n[IPCC_FEW_SHRINKING] > 10);
	// In the end it is shallow and shrinks.
	assert_true(ctr_get(&ipcc_counters(b)->looks[IPCC_NONE]) > 0);
	bench_close(b);
}

// ---- the memory of a queue

enum { DEEP_LEN = IPCC_KMAX / 2, FRAME_CELLS = 4, HALF_Q16 = 1 << 15 };

#define LIMITED(what, bytes) "{interval: 2us, min_gap: 0us}, " what ": {min: 0B, static: " bytes "}"

// Records of looks that the length alone would have called shallow, and that were deep.
static unsigned deep_and_short(uint32_t limit_cells)
{
	unsigned n = 0;

	for (unsigned i = 0; i < seen.n; i++) {
		const struct cnp_record *r = &seen.records[i];
		uint32_t used = (r->share_q16 * limit_cells + 0xffff) >> 16;

		assert_int_equal(used < limit_cells ? used % FRAME_CELLS : 0, 0); // whole frames
		assert_true(r->share_q16 <= 2 * HALF_Q16);
		if (r->len_bytes >= DEEP_LEN)
			continue;
		assert_int_equal(r->quadrant == IPCC_FEW_GROWING, r->share_q16 < HALF_Q16);
		n += r->quadrant == IPCC_MANY;
	}
	return n;
}

// Two groups of 23 cells fill the queue: at 3 frames of 4 cells each it is deep, with 6 KB.
static void a_queue_is_deep_when_its_groups_are_near_xoff(void **state)
{
	struct bench *b = open_with(LIMITED("ingress", "6KB"));

	(void)state;
	ipcc_incast(b, 2, 100);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_true(deep_and_short(23) > 0);
	bench_close(b);
}

static void a_lossy_queue_is_deep_when_its_own_share_is_near_the_limit(void **state)
{
	struct bench *b = open_policy(&(struct ipcc_policy){
		.ipcc = LIMITED("egress", "14KB"), .lossy = true});

	(void)state;
	ipcc_incast(b, 2, 100);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_true(deep_and_short(54) > 0);
	bench_close(b);
}

// The group of host 0 is near XOFF for the sake of a port that sends nothing. The short queue of
// another port, with a few frames of the group, is not the cause.
static void a_group_that_waits_elsewhere_makes_no_queue_deep(void **state)
{
	struct bench *b = open_with(LIMITED("ingress", "100KB"));
	const struct pg_state *pg;

	(void)state;
	bench_tx(b, 3, -1, false);
	ipcc_send(b, &(struct ipcc_data){.to = 3, .qp = IPCC_QP}, 60);
	ipcc_settle(b);
	pg = switch_pg_state(b->sw, 0, 3);
	assert_int_equal(gauge_get(&pg->shared), 60 * FRAME_CELLS);
	ipcc_incast(b, 2, 9);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_true(seen.n > 0);
	for (unsigned i = 0; i < seen.n; i++) {
		assert_true(seen.records[i].len_bytes < DEEP_LEN);
		assert_int_equal(seen.records[i].quadrant, IPCC_FEW_GROWING);
	}
	bench_close(b);
}

// n frames of the host at port 0, one of each flow after the other.
static void send_by_turns(struct bench *b, unsigned n_flows, unsigned n)
{
	struct ipcc_data d = {.to = IPCC_TO};

	for (unsigned i = 0; i < n; i++) {
		d.qp = IPCC_QP + i % n_flows;
		d.psn = i / n_flows;
		ipcc_send(b, &d, 1);
	}
}

static void the_largest_flow_is_told_first(void **state)
{
	struct bench *b = open_with("{few: 1, deep: 100%}");

	(void)state;
	// Two flows share the line of port 0, one has that of port 3.
	send_by_turns(b, 2, 100);
	ipcc_send(b, &(struct ipcc_data){.from = 3, .to = IPCC_TO, .qp = IPCC_QP + 2}, 100);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_true(seen.n > 0);
	assert_int_equal(seen.records[0].left_by, 3);
	assert_int_equal(seen.records[0].rank, 1);
	// Within a frame of each.
	assert_in_range(seen.records[0].flow_bps * 10 / seen.records[0].queue_bps, 4, 6);
	// While its cut is under way the next one is told.
	assert_int_equal(seen.records[1].left_by, 0);
	assert_int_equal(seen.records[1].rank, 2);
	bench_close(b);
}

static void a_flow_is_told_once_a_gap(void **state)
{
	struct bench *b = open_with("{min_gap: 23us, many: 8}");
	uint64_t last[IPCC_PORTS] = {0};
	unsigned again = 0;

	(void)state;
	ipcc_incast(b, 3, 200);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	for (unsigned i = 0; i < seen.n; i++) {
		const struct cnp_record *r = &seen.records[i];

		if (last[r->left_by] != 0) {
			assert_true(r->t_ns >= last[r->left_by] + 23 * US);
			again++;
		}
		last[r->left_by] = r->t_ns;
	}
	assert_true(again > 3);
	assert_true(ctr_get(&ipcc_counters(b)->silences[CNP_SILENT_GAP]) > again);
	bench_close(b);
}

static void no_more_cnps_leave_by_a_port_than_its_cap(void **state)
{
	struct bench *b = open_policy(&(struct ipcc_policy){
		.ipcc = "{min_gap: 0us}", .keys = "    cnp: {max_rate: 20, burst: 2}\n"});
	unsigned capped = 0, said = 0;

	(void)state;
	ipcc_incast(b, 3, 250);
	ipcc_settle(b);
	bench_control(b);
	ipcc_explain(b, &seen);
	for (unsigned port = 0; port < IPCC_PORTS; port++) {
		uint64_t sent = ipcc_cnps(b, port), first = 0, last = 0;

		for (unsigned i = 0; i < seen.n; i++) {
			if (seen.records[i].left_by != port)
				continue;
			first = first == 0 ? seen.records[i].t_ns : first;
			last = seen.records[i].t_ns;
		}
		assert_true(sent <= 2 + (last - first) * 20 / 1000000);
		assert_true(port == IPCC_TO || sent > 2);
		capped += (unsigned)ctr_get(&switch_port_flows(b->sw, port)->cnps_capped);
	}
	assert_true(capped > 20);
	for (unsigned i = 0; i < b->n_events; i++)
		said += b->events[i].type == EVENT_CNP_CAP;
	assert_in_range(said, 1, bench_workers());
	bench_close(b);
}

// Of ports 1 and 3, which another worker owns than the queue's: both workers' flows are told at the
// same moment, and know why when they are not.
static void small_table(struct policy *p, void *arg)
{
	(void)arg;
	p->flows.max = 64 * p->n_workers;
}

struct told {
	uint64_t cnps[2]; // of the senders at ports 0 and 1
};

// Ports 2 and 3 open n_flood new queue pairs each, then the senders meet. With two workers each
// flood shares a table with one of the senders.
static struct told told_after_a_flood(unsigned n_flood)
{
	const struct bench_opts o = {.seed = 1, .adjust = small_table};
	struct bench *b = bench_open_with(ipcc_yaml(&(struct ipcc_policy){.ipcc = "on"}), &o);
	struct told told;

	memset(&seen, 0, sizeof(seen));
	bench_run(b, 20 * US);
	for (unsigned i = 0; i < n_flood; i++)
		for (unsigned from = 2; from < 4; from++) {
			const struct ipcc_data d = {.from = from, .to = 5 - from, .qp = 50000 + i,
						    .len = 100};

			ipcc_send(b, &d, 1);
		}
	ipcc_settle(b);
	ipcc_incast(b, 2, 60);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	told = (struct told){.cnps = {ipcc_cnps(b, 0), ipcc_cnps(b, 1)}};
	if (n_flood != 0) {
		uint64_t evicted = 0;

		for (unsigned port = 2; port < 4; port++) {
			evicted += ctr_get(&switch_flow_port(b->sw, port)->evicted);
			assert_true(ctr_get(&switch_flow_port(b->sw, port)->refused) > 0);
		}
		assert_int_equal(evicted, 2);
	}
	bench_close(b);
	return told;
}

static void a_flood_of_new_queue_pairs_takes_no_cnp_from_other_ports(void **state)
{
	struct told before = told_after_a_flood(0), after = told_after_a_flood(300);

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_true(before.cnps[i] > 0);
		assert_int_equal(after.cnps[i], before.cnps[i]);
	}
}

static void flows_of_another_worker_are_told_by_a_note(void **state)
{
	const struct bench_opts o = {.seed = 1, .adjust = two_workers};
	struct bench *b = bench_open_with(ipcc_yaml(&(struct ipcc_policy){.ipcc = "on"}), &o);
	struct reasons reasons = {{0}};
	unsigned n[IPCC_PORTS] = {0};

	(void)state;
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(switch_n_workers(b->sw), 2);
	bench_run(b, 20 * US);
	ipcc_incast(b, 3, 100);
	bench_run(b, 70 * US);
	switch_flows_walk(b->sw, b->clock.now_ns, false, count_reason, &reasons);
	assert_int_equal(reasons.n[CNP_SILENT_NONE] + reasons.n[CNP_SILENT_GAP], 3);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	for (unsigned i = 0; i < seen.n; i++) {
		const struct cnp_record *r = &seen.records[i];

		n[r->left_by]++;
		// All that were chosen at a look were told.
		if (i + 1 == seen.n || r[1].t_ns != r->t_ns)
			assert_true(i + 1 >= r->notified && r[1 - r->notified].t_ns == r->t_ns);
	}
	assert_true(n[0] > 3 && n[1] > 3 && n[3] > 3);
	assert_int_equal(ctr_get(&ipcc_counters(b)->silences[CNP_SILENT_NO_ROOM]), 0);
	bench_close(b);
}

// Nobody reacts: that is learnt, and all are needed where half would have done.
static void a_cut_is_learnt_from_what_cnps_did(void **state)
{
	static const struct ipcc_data small = {.from = 1, .to = IPCC_TO, .qp = IPCC_QP, .len = 64};
	static const char *const cut[] = {"50%", "learnt"};
	unsigned told[2];

	(void)state;
	for (unsigned v = 0; v < 2; v++) {
		char ipcc[128];
		struct bench *b;

		snprintf(ipcc, sizeof(ipcc),
			 "{cut: %s, drain: 1s, min_gap: 20us, interval: 20us, deep: 0%%}", cut[v]);
		b = open_with(ipcc);
		send_by_turns(b, 4, 1600);
		ipcc_send(b, &small, 18000);
		bench_run(b, 1200 * US);
		ipcc_settle(b);
		ipcc_explain(b, &seen);
		for (unsigned i = 0; i < seen.n && seen.records[i].t_ns < 2000000; i++)
			told[v] = seen.records[i].notified;
		bench_close(b);
	}
	assert_in_range(told[0], 2, 4);
	assert_int_equal(told[1], 5);
}

// Control does not ask for a while.
static void records_without_room_are_counted(void **state)
{
	struct bench *b = open_policy(
		&(struct ipcc_policy){.ipcc = "{interval: 1us, few: 1, many: 1, min_gap: 0us}",
				      .keys = "    cnp: {max_rate: 1000000}\n"});
	uint64_t sent;

	(void)state;
	ipcc_incast(b, 2, 100);
	ipcc_send(b, &(struct ipcc_data){.to = IPCC_TO, .qp = IPCC_QP, .psn = 100}, 6000);
	ipcc_settle(b);
	ipcc_settle(b);
	sent = ctr_get(&switch_port_flows(b->sw, 0)->cnps_sent) +
	       ctr_get(&switch_port_flows(b->sw, 1)->cnps_sent);
	seen.n = switch_cnp_records(b->sw, seen.records, IPCC_MAX_RECORDS);
	// Of the other worker.
	seen.n += switch_cnp_records(b->sw, seen.records, IPCC_MAX_RECORDS);
	assert_true(sent > IPCC_MAX_RECORDS);
	assert_int_equal(seen.n + switch_cnp_records_lost(b->sw), sent);
	assert_int_equal(ipcc_cnps(b, 0) + ipcc_cnps(b, 1), sent);
	bench_close(b);
}

// ---- who is not

static bool keep_row(void *arg, const struct flow_row *row)
{
	*(struct flow_row *)arg = *row;
	return true;
}

static bool keep_tcp(void *arg, const struct flow_row *row)
{
	if (row->way.kind == FLOW_TCP)
		*(struct flow_row *)arg = *row;
	return true;
}

static void a_flow_without_a_pair_is_never_told(void **state)
{
	struct bench *b = open_policy(&(struct ipcc_policy){.ipcc = "on", .pairs = ""});
	struct flow_row row = {0};

	(void)state;
	ipcc_incast(b, 2, 60);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_int_equal(seen.n, 0);
	assert_true(ctr_get(&ipcc_counters(b)->silences[CNP_SILENT_UNPAIRED]) > 4);
	switch_flows_walk(b->sw, b->clock.now_ns, false, keep_row, &row);
	assert_int_equal(row.silence, CNP_SILENT_UNPAIRED);
	assert_true(row.silences >= 1);
	bench_close(b);
}

static void datagrams_and_what_is_not_roce_are_not_told(void **state)
{
	struct bench *b = open_with("on");
	const struct bench_frame plain = {.to = IPCC_TO, .dscp = 24, .len = 1000};

	(void)state;
	ipcc_send(b, &(struct ipcc_data){.to = IPCC_TO, .qp = IPCC_QP, .opcode = UD_SEND_ONLY}, 60);
	for (unsigned i = 0; i < 60; i++)
		bench_send(b, 1, &plain);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_int_equal(seen.n, 0);
	assert_true(ctr_get(&ipcc_counters(b)->looks[IPCC_MANY]) > 0);
	assert_true(ctr_get(&ipcc_counters(b)->silences[CNP_SILENT_DATAGRAM]) > 0);
	bench_close(b);
}

// A frame of TCP whose bytes behind the addresses are those of a RoCEv2 flow that has a pair.
static uint16_t build_tcp(uint8_t *out, const struct ipcc_data *d)
{
	uint16_t len = ipcc_build(out, d);
	struct ipv4_hdr *ip = (void *)(out + ETH_HLEN_);

	ip->proto = IP_PROTO_TCP;
	be16_put(&ip->csum, (uint16_t)(be16_get(&ip->csum) + IP_PROTO_UDP - IP_PROTO_TCP));
	return len;
}

// Both flows are elephants, and feed the marked queue alike. Only the RoCEv2 one has a queue pair
// that the switch may look for.
static void an_elephant_of_tcp_in_a_marked_queue_is_not_told(void **state)
{
	static const char begin[] = "switch: {";
	const char *yaml = ipcc_yaml(&(struct ipcc_policy){.ipcc = "on", .wred = ", ecn: on"});
	const struct ipcc_data tcp = {.from = 1, .to = IPCC_TO, .qp = IPCC_QP};
	uint8_t frame[IPCC_MAX_LEN];
	struct flow_totals totals;
	struct flow_row row = {0};
	char text[65536];
	struct bench *b;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	assert_memory_equal(yaml, begin, strlen(begin));
	snprintf(text, sizeof(text), "%selephants: {rate: 1G, bytes: 10KB}, %s", begin,
		 yaml + strlen(begin));
	b = bench_open(text, 0);
	bench_run(b, 20 * US);
	for (uint32_t i = 0; i < 60; i++) {
		bench_send_raw(b, tcp.from, frame, build_tcp(frame, &tcp));
		ipcc_send(b, &(struct ipcc_data){.to = IPCC_TO, .qp = IPCC_QP, .psn = i}, 1);
	}
	bench_run(b, 100 * US);
	switch_flow_totals(b->sw, &totals);
	assert_int_equal(totals.elephants.began, 2);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_true(ctr_get(&switch_queue_counters(b->sw, IPCC_TO, IPCC_QUEUE)->ecn_marked) > 30);
	assert_true(ipcc_cnps(b, 0) > 0);
	assert_int_equal(ipcc_cnps(b, tcp.from), 0);
	assert_true(ctr_get(&ipcc_counters(b)->silences[CNP_SILENT_DATAGRAM]) > 4);
	assert_int_equal(ctr_get(&ipcc_counters(b)->silences[CNP_SILENT_UNPAIRED]), 0);
	switch_flows_walk(b->sw, b->clock.now_ns, false, keep_tcp, &row);
	assert_int_equal(row.packets, 60);
	assert_int_equal(row.silence, CNP_SILENT_DATAGRAM);
	assert_int_equal(row.pair.source, PAIR_NONE);
	bench_close(b);
}

// One flow of two is RoCE: its share is told as what it is.
static void the_share_of_a_flow_counts_what_else_fed_the_queue(void **state)
{
	struct bench *b = open_with("on");
	const struct bench_frame plain = {.to = IPCC_TO, .dscp = 24, .len = 1000};

	(void)state;
	ipcc_send(b, &(struct ipcc_data){.to = IPCC_TO, .qp = IPCC_QP}, 60);
	for (unsigned i = 0; i < 60; i++)
		bench_send(b, 1, &plain);
	ipcc_settle(b);
	ipcc_explain(b, &seen);
	assert_true(seen.n > 0);
	for (unsigned i = 0; i < seen.n; i++)
		assert_in_range(seen.records[i].queue_bps * 10 / seen.records[i].flow_bps, 15, 25);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sender_gets_a_cnp_in_the_name_of_the_receiver),
		cmocka_unit_test(a_cnp_says_what_the_latest_frames_said),
		cmocka_unit_test(the_first_cnp_leaves_when_the_queue_crosses_kmin),
		cmocka_unit_test(the_class_and_dscp_of_cnps_are_those_of_the_port_they_leave_by),
		cmocka_unit_test(few_are_told_while_the_queue_is_shallow_and_many_when_it_is_deep),
		cmocka_unit_test(a_queue_is_deep_when_its_groups_are_near_xoff),
		cmocka_unit_test(a_lossy_queue_is_deep_when_its_own_share_is_near_the_limit),
		cmocka_unit_test(a_group_that_waits_elsewhere_makes_no_queue_deep),
		cmocka_unit_test(the_largest_flow_is_told_first),
		cmocka_unit_test(a_flow_is_told_once_a_gap),
		cmocka_unit_test(an_elephant_of_tcp_in_a_marked_queue_is_not_told),
		cmocka_unit_test(no_more_cnps_leave_by_a_port_than_its_cap),
		cmocka_unit_test(a_flood_of_new_queue_pairs_takes_no_cnp_from_other_ports),
		cmocka_unit_test(flows_of_another_worker_are_told_by_a_note),
		cmocka_unit_test(a_cut_is_learnt_from_what_cnps_did),
		cmocka_unit_test(records_without_room_are_counted),
		cmocka_unit_test(a_flow_without_a_pair_is_never_told),
		cmocka_unit_test(datagrams_and_what_is_not_roce_are_not_told),
		cmocka_unit_test(the_share_of_a_flow_counts_what_else_fed_the_queue),
	};

	return cmocka_run_group_tests_name("ipcc", tests, bench_eal, NULL);
}
