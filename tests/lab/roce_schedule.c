// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/roce_schedule.h"

#include <stdlib.h>
#include <string.h>

#include "dataplane/packet/wire.h"

enum {
	NOT_A_HOST = -1,
	ABOUT_NS = 2, // a wire rounds where it adds up fractions
	NOTICED_NS = 10, // by then all workers know that a link is down
};

// ---- whose flow is it

// The number of the host with the address, as ipcc_bench.h gives them.
static int host_of(bool v6, const uint8_t ip[16])
{
	unsigned n = v6 ? ip[3] : ip[2];
	bool ours = v6 ? ip[0] == 0xfd && ip[2] == 0 && ip[15] == 2
		       : ip[0] == 10 && ip[1] == 0 && ip[3] == 2;

	return ours && n >= 1 && n <= ROCE_HOSTS ? (int)n - 1 : NOT_A_HOST;
}

struct ends {
	bool v6;
	unsigned from, to, qp;
};

// False: hosts have no such queue pair; somebody made it up.
static bool ends_of(const struct flow_key *key, struct ends *out)
{
	uint8_t src[16] = {0}, dst[16] = {0};
	uint32_t qp = flow_key_qp(key);
	int from, to;

	out->v6 = flow_key_addresses(key, src, dst) == 6;
	from = host_of(out->v6, src);
	to = host_of(out->v6, dst);
	for (out->qp = 0; out->qp < ROCE_QPS && roce_qp(out->qp) != qp; out->qp++)
		continue;
	if (from == NOT_A_HOST || to == NOT_A_HOST || out->qp == ROCE_QPS)
		return false;
	out->from = (unsigned)from;
	out->to = (unsigned)to;
	return true;
}

static uint32_t bit(uint32_t qp)
{
	for (unsigned nth = 0; nth < ROCE_QPS; nth++)
		if (roce_qp(nth) == qp)
			return 1u << nth;
	return 0;
}

static bool is_true(const struct roce_truth *t, uint32_t qp, uint64_t t_ns)
{
	return qp == t->newest || ((t->may & bit(qp)) && t->since_ns >= t_ns - ABOUT_NS);
}

static void key_begins(const struct roce_schedule *x, struct roce_truth *t, uint32_t qp)
{
	if (t->since_ns < x->s.b->clock.now_ns - ABOUT_NS)
		t->may = bit(t->newest);
	t->may |= bit(qp);
	t->newest = qp;
	t->since_ns = UINT64_MAX;
}

void roce_life_begins(struct roce_schedule *x, const struct roce_conn *c)
{
	key_begins(x, roce_truth_of(x, c->v6, c->a, c->b, c->qp), roce_qp(c->peer));
	key_begins(x, roce_truth_of(x, c->v6, c->b, c->a, c->peer), roce_qp(c->qp));
}

// port: by which the flow enters. Who lies in another's name is the sender of what enters by his
// own port, and deceives himself alone.
static void judge_pair(const struct roce_schedule *x, const struct flow_key *key,
		       struct flow_pair pair, unsigned port)
{
	const struct roce_truth *t;
	struct ends e;

	if (!ends_of(key, &e))
		fail_msg("a flow that nobody has is paired with queue pair %#x by source %u",
			 pair.qp, pair.source);
	t = &x->truth[e.v6][e.from][e.to][e.qp];
	if (t->sent[port] == 0)
		fail_msg("flow %u > %u, queue pair %#x enters by port %u, by which nobody sent it",
			 e.from + 1, e.to + 1, roce_qp(e.qp), port + 1);
	if ((t->ports >> port & 1) && !is_true(t, pair.qp, x->s.b->clock.now_ns))
		fail_msg("flow %u > %u, queue pair %#x: has %#x by source %u, but truly %#x since "
			 "%lu", e.from + 1, e.to + 1, roce_qp(e.qp), pair.qp, pair.source,
			 t->newest, t->since_ns);
}

// ---- flows

static bool judge_row(void *arg, const struct flow_row *row)
{
	struct roce_schedule *x = arg;
	uint64_t sent = 0;
	struct ends e;

	x->totals->rows++;
	x->totals->paired_rows += row->pair.source != PAIR_NONE;
	if (flow_key_has_ports(&row->key) || !ends_of(&row->key, &e)) {
		assert_int_equal(row->pair.source, PAIR_NONE);
		return true;
	}
	// Where the sender has left nothing is sent, nobody is told, and nothing new is known.
	if (row->pair.source != PAIR_NONE && x->port_of[e.from] == row->way.in_port)
		judge_pair(x, &row->key, row->pair, row->way.in_port);
	sent = x->truth[e.v6][e.from][e.to][e.qp].sent[row->way.in_port];
	if (row->packets > sent)
		fail_msg("flow %u > %u, queue pair %#x has %lu packets of %lu", e.from + 1,
			 e.to + 1, roce_qp(e.qp), row->packets, sent);
	return true;
}

void roce_check_flows(struct roce_schedule *x)
{
	struct bench *b = x->s.b;
	uint64_t rows = x->totals->rows;
	struct flow_totals t;

	switch_flows_walk(b->sw, b->clock.now_ns, false, judge_row, x);
	switch_flow_totals(b->sw, &t);
	rows = x->totals->rows - rows;
	// Those that are old are not shown, but may still have their places.
	if (rows > t.used || t.used > t.max || t.max > x->flows_max)
		fail_msg("%lu rows, %lu places of %lu used, the policy says %u", rows, t.used,
			 t.max, x->flows_max);
	assert_int_equal(t.used, t.made - t.aged - t.evicted);
}

void roce_frame_sent(struct roce_schedule *x, const struct roce_conn *c, bool back, uint32_t psn,
		     const struct roce_headers *h)
{
	unsigned from = back ? c->b : c->a, to = back ? c->a : c->b;
	struct roce_truth *t = roce_truth_of(x, c->v6, from, to, back ? c->peer : c->qp);
	struct roce_headers *last = &t->said[(t->n_said + ROCE_VERSIONS - 1) % ROCE_VERSIONS];
	const size_t said = offsetof(struct roce_headers, port) + sizeof(h->port) -
			    offsetof(struct roce_headers, src_mac);

	t->psn = psn;
	t->sent[x->port_of[from]]++;
	t->ports |= (uint8_t)(1u << x->port_of[from]);
	if (t->since_ns == UINT64_MAX && switch_link_up(x->s.b->sw, h->port))
		t->since_ns = h->at_ns;
	if (t->n_said == 0 || memcmp(last->src_mac, h->src_mac, said) != 0)
		t->said[t->n_said++ % ROCE_VERSIONS] = *h;
}

// ---- CNPs

static unsigned expected_cnp(struct roce_schedule *x, const struct cnp_record *r,
			     const struct roce_headers *h, uint8_t out[CNP_MAX_LEN])
{
	const struct policy_port *pp = &x->s.b->policy->ports[r->left_by];
	uint8_t remark = pp->classify.remark_pcp[pp->cnp.cls];
	unsigned pcp = remark != REMARK_NONE ? remark : pp->cnp.cls;
	struct cnp c = {.dscp = pp->cnp.dscp, .udp_sport = h->sport, .pkey = h->pkey,
			.dest_qp = r->sender_qp};

	memcpy(c.src_mac, h->dst_mac, sizeof(c.src_mac));
	memcpy(c.dst_mac, h->src_mac, sizeof(c.dst_mac));
	for (; c.n_tags < 2 && h->tags[c.n_tags].tpid != 0; c.n_tags++)
		c.tags[c.n_tags] = (struct cnp_tag){
			h->tags[c.n_tags].tpid,
			(uint16_t)((h->tags[c.n_tags].tci & 0x1fff) | pcp << 13)};
	c.v6 = flow_key_addresses(&r->key, c.dst_ip, c.src_ip) == 6;
	return cnp_build(out, &c);
}

// What the latest frame said that has arrived; about this moment also the one before.
static void expect(struct roce_schedule *x, const struct cnp_record *r, const struct ends *e)
{
	const struct roce_truth *t = &x->truth[e->v6][e->from][e->to][e->qp];
	unsigned port = r->left_by, oldest = t->n_said < ROCE_VERSIONS ? t->n_said : ROCE_VERSIONS;
	struct roce_expected *to = &x->expected[port][x->n_expected[port] % ROCE_EXPECTED];

	if (r->t_ns <= x->cut_ns[port])
		return;
	assert_true(x->n_expected[port]++ - x->first_expected[port] < ROCE_EXPECTED);
	*to = (struct roce_expected){.t_ns = r->t_ns, .qp = r->sender_qp};
	// For what was sent in another's name.
	if (!(t->ports >> port & 1))
		return;
	for (unsigned i = 1; i <= oldest && to->n < 2; i++) {
		const struct roce_headers *h = &t->said[(t->n_said - i) % ROCE_VERSIONS];

		if (h->at_ns > r->t_ns + ABOUT_NS || h->port != port)
			continue;
		to->len[to->n] = (uint16_t)expected_cnp(x, r, h, to->bytes[to->n]);
		to->n++;
		if (h->at_ns + ABOUT_NS < r->t_ns)
			break;
	}
	if (to->n == 0)
		fail_msg("a CNP to host %u for frames that have not arrived", e->from + 1);
}

static void judge_rate(struct roce_schedule *x, const struct cnp_record *r)
{
	const struct cnp_params *p = &x->s.b->policy->ports[r->left_by].cnp;
	double *credit = &x->credit[r->left_by];
	uint64_t since_ns = r->t_ns - x->credit_ns[r->left_by];

	*credit += (double)since_ns * p->max_per_ms / 1e6;
	if (*credit > p->burst || x->credit_ns[r->left_by] == 0)
		*credit = p->burst;
	x->credit_ns[r->left_by] = r->t_ns;
	*credit -= 1;
	if (*credit < -0.01)
		fail_msg("port %u sends more CNPs than %u in a millisecond, %u at once",
			 r->left_by + 1, p->max_per_ms, p->burst);
}

static void judge_gap(struct roce_schedule *x, const struct cnp_record *r, const struct ends *e)
{
	const struct ipcc_params *p = &x->s.b->policy->ports[r->port].queue[r->queue].ipcc;
	uint64_t *told_ns = &x->told_ns[r->left_by][e->v6][e->from][e->to][e->qp];

	if (*told_ns != 0 && r->t_ns - *told_ns < p->min_gap_ns)
		fail_msg("a CNP to host %u %lu ns after the last one, min_gap is %lu", e->from + 1,
			 r->t_ns - *told_ns, p->min_gap_ns);
	*told_ns = r->t_ns;
}

static void judge_record(struct roce_schedule *x, const struct cnp_record *r)
{
	const struct policy *p = x->s.b->policy;
	const struct ipcc_params *ipcc = &p->ports[r->port].queue[r->queue].ipcc;
	uint64_t still_ns = x->still_ns[r->port][r->queue];
	struct ends e;

	assert_int_equal(r->t_ns, x->s.b->clock.now_ns);
	assert_true(ipcc->enabled);
	ipcc_check_record(x->s.b, r);
	if (still_ns != 0 && r->t_ns < still_ns + ipcc->interval_ns)
		fail_msg("a CNP for queue %u of port %u, which was paused %lu ns ago", r->queue,
			 r->port + 1, r->t_ns - still_ns);
	assert_true(p->pairing.sources == 0 || (p->pairing.sources >> r->source & 1));
	judge_pair(x, &r->key, (struct flow_pair){r->source, r->sender_qp}, r->left_by);
	assert_true(ends_of(&r->key, &e));
	judge_gap(x, r, &e);
	judge_rate(x, r);
	x->totals->cnps++;
	x->totals->by_source[r->source]++;
	expect(x, r, &e);
}

static int by_time(const void *a, const void *b)
{
	const struct cnp_record *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static void judge_records(struct roce_schedule *x)
{
	struct cnp_record records[256];
	unsigned n;

	do {
		n = switch_cnp_records(x->s.b->sw, records, 256);
		qsort(records, n, sizeof(records[0]), by_time);
		for (unsigned i = 0; i < n; i++)
			judge_record(x, &records[i]);
	} while (n == 256);
	assert_int_equal(switch_cnp_records_lost(x->s.b->sw), 0);
}

// Frames that wait where nothing may leave are victims.
static void note_pauses(struct roce_schedule *x)
{
	const struct weir_switch *sw = x->s.b->sw;

	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		for (unsigned q = 0; q < N_QUEUES; q++) {
			uint64_t *still_ns = &x->still_ns[port][q];

			if (gauge_get(&switch_queue_counters(sw, port, q)->length_bytes) == 0)
				*still_ns = 0;
			else if (switch_queue_paused(sw, port, q) ||
				 !switch_tx_enabled(sw, port, -1) ||
				 !switch_tx_enabled(sw, port, (int)q))
				*still_ns = x->s.b->clock.now_ns;
		}
}

void roce_after_step(struct bench *b)
{
	struct roce_schedule *x = b->after_step_arg;

	schedule_after_step(b);
	judge_records(x);
	note_pauses(x);
}

static bool is_expected(const struct roce_expected *e, const uint8_t *frame, uint16_t len)
{
	struct pkt_info info;
	bool found = false;

	if (e->n == 0)
		return parse(frame, len, &info) && info.bth_dest_qp == e->qp;
	for (unsigned v = 0; v < e->n; v++)
		found |= e->len[v] == len && memcmp(e->bytes[v], frame, len) == 0;
	return found;
}

// Where it differs from the first that has not come.
static void fail_unexpected(const struct roce_schedule *x, unsigned port, const uint8_t *frame,
			    uint16_t len)
{
	const struct roce_expected *e =
		&x->expected[port][x->first_expected[port] % ROCE_EXPECTED];
	unsigned at = 0;

	if (x->first_expected[port] == x->n_expected[port])
		fail_msg("port %u received a CNP, and none was sent to it", port + 1);
	while (at < len && frame[at] == e->bytes[0][at])
		at++;
	fail_msg("port %u received a CNP of %u bytes that is not like any that was sent to it; the "
		 "first, of %lu ns, has %u bytes, and %02x for %02x at %u", port + 1, len, e->t_ns,
		 e->len[0], e->bytes[0][at], frame[at], at);
}

void roce_cnp_came(struct roce_schedule *x, unsigned port, const uint8_t *frame, uint16_t len)
{
	struct roce_expected *all = x->expected[port], *e = NULL;
	uint32_t *first = &x->first_expected[port], n = x->n_expected[port], i = *first;

	for (; i != n; i++) {
		e = &all[i % ROCE_EXPECTED];
		if (!e->came && is_expected(e, frame, len))
			break;
	}
	if (i == n)
		fail_unexpected(x, port, frame, len);
	e->came = true;
	for (; *first != n && all[*first % ROCE_EXPECTED].came; ++*first)
		continue;
}

// Pauses have new times. Ports may send a whole burst again: what they saved up was by both rates.
void roce_new_policy(struct roce_schedule *x)
{
	memset(x->still_ns, 0, sizeof(x->still_ns));
	memset(x->credit_ns, 0, sizeof(x->credit_ns));
}

// The first frames of its life may be lost that were on the wire.
static void may_not_have_come(struct roce_truth *t, uint64_t now_ns)
{
	if (t->since_ns >= now_ns - ABOUT_NS)
		t->since_ns = UINT64_MAX;
}

void roce_link_goes(struct roce_schedule *x, unsigned port)
{
	uint64_t now_ns = x->s.b->clock.now_ns;

	x->totals->vanished += x->n_expected[port] - x->first_expected[port];
	x->first_expected[port] = x->n_expected[port];
	x->cut_ns[port] = now_ns + NOTICED_NS;
	for (unsigned i = 0; i < x->n_conns; i++) {
		const struct roce_conn *c = &x->conn[i];

		if (x->port_of[c->a] == port)
			may_not_have_come(roce_truth_of(x, c->v6, c->a, c->b, c->qp), now_ns);
		if (x->port_of[c->b] == port)
			may_not_have_come(roce_truth_of(x, c->v6, c->b, c->a, c->peer), now_ns);
	}
}

void roce_check_all_came(struct roce_schedule *x)
{
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		for (; x->first_expected[port] != x->n_expected[port]; x->first_expected[port]++) {
			const struct roce_expected *e =
				&x->expected[port][x->first_expected[port] % ROCE_EXPECTED];

			if (!e->came)
				fail_msg("a CNP like that of %lu ns never came to port %u", e->t_ns,
					 port + 1);
		}
}
