// SPDX-License-Identifier: Apache-2.0
// Switches that tell senders, and the fabric that knows whether they were right: pairs given by
// hand, right and wrong, are told apart, by the fabric as by the NICs; queues that rise and rates
// that are cut are seen at their instants; bytes of paired flows are counted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "dataplane/policy.h"
#include "tests/lab/fabric/rig.h"

#define US 1000ull
#define MS 1000000ull

enum { S1, FLOWS = 6, QPS = 2, PORT = 3, CLS = 3, PAIRS_LEN = 1024 };

struct numbers {
	uint32_t qpn[FLOWS], peer_qpn[FLOWS], src[FLOWS];
};

// A scenario's seed gives its queue pairs the same numbers in every run.
static struct numbers numbers_of(const char *file)
{
	struct numbers n = {0};
	struct rig r;

	rig_make(&r, file, NULL);
	assert_int_equal(traffic_n_conns(r.traffic), FLOWS);
	for (uint32_t i = 0; i < FLOWS; i++) {
		const struct traffic_conn *c = traffic_conn(r.traffic, i);
		struct nic_flow_status s = nic_flow_status(r.f->hosts[c->src].nic, c->id);

		n.qpn[i] = s.qpn;
		n.peer_qpn[i] = s.peer_qpn;
		n.src[i] = c->src;
	}
	rig_free(&r);
	return n;
}

// `pairs:` of a policy: flow i belongs to queue pair sender[i].
static void pairs_text(const struct numbers *n, const uint32_t sender[FLOWS], char text[PAIRS_LEN])
{
	size_t len = 0;

	for (uint32_t i = 0; i < FLOWS; i++)
		len += (size_t)snprintf(text + len, PAIRS_LEN - len,
					"%s{from: 10.0.0.%u, to: 10.0.0.4, qp: %u, sender_qp: %u}",
					i == 0 ? "[" : ", ", n->src[i] + 1, n->peer_qpn[i],
					sender[i]);
	snprintf(text + len, PAIRS_LEN - len, "]");
}

static void make(struct rig *r, const char *pairs)
{
	const struct sc_set sets[] = {{"policy.pairs", pairs},
				      {"policy.switch.pairing.sources", "[static]"},
				      {NULL, NULL}};

	rig_make(r, "notify.yaml", sets);
}

static struct nic_stats sum_of_hosts(const struct rig *r)
{
	struct nic_stats sum = {0};

	for (uint32_t i = 0; i < r->sc->n_hosts; i++) {
		const struct nic_stats *s = nic_stats_now(r->f->hosts[i].nic);

		sum.cnps_received += s->cnps_received;
		sum.cnps_wrong += s->cnps_wrong;
		sum.cnps_late += s->cnps_late;
		sum.rate_cuts += s->rate_cuts;
	}
	return sum;
}

static void pairs_that_are_right_are_all_there_is_to_tell(void **state)
{
	struct numbers n = numbers_of("notify.yaml");
	struct cnp_counts c, queue;
	char pairs[PAIRS_LEN];
	struct nic_stats s;
	struct rig r;

	(void)state;
	pairs_text(&n, n.qpn, pairs);
	make(&r, pairs);
	rig_run(&r, 2 * MS);
	c = r.f->cnps->all;
	assert_true(c.sent > 10);
	assert_int_equal(c.wrong + c.late, 0);
	assert_int_equal(c.by_source[PAIR_STATIC], c.sent);
	assert_int_equal(switch_cnp_records_lost(r.f->switches[S1].in.sw), 0);
	queue = cnp_judge_counts(r.f->cnps, S1, PORT, CLS);
	assert_int_equal(queue.sent, c.sent);
	assert_int_equal(cnp_judge_counts(r.f->cnps, S1, 0, -1).sent, 0);
	s = sum_of_hosts(&r);
	assert_int_equal(s.cnps_wrong + s.cnps_late, 0);
	assert_in_range(s.cnps_received, c.sent - 10, c.sent); // some are under way
	assert_true(s.rate_cuts != 0);
	rig_free(&r);
}

// The two queue pairs of each sender taken for one another.
static void pairs_that_are_wrong_are_found_and_hurt_nobody(void **state)
{
	struct numbers n = numbers_of("notify.yaml");
	uint32_t sender[FLOWS];
	const struct cnp_judge *j;
	char pairs[PAIRS_LEN];
	struct nic_stats s;
	struct rig r;

	(void)state;
	for (uint32_t i = 0; i < FLOWS; i++)
		sender[i] = n.qpn[i ^ 1];
	pairs_text(&n, sender, pairs);
	make(&r, pairs);
	rig_run(&r, 2 * MS);
	j = r.f->cnps;
	assert_true(j->all.sent > 10);
	assert_int_equal(j->all.wrong, j->all.sent);
	assert_int_equal(cnp_judge_counts(j, S1, PORT, CLS).wrong, j->all.sent);
	assert_true(j->seen);
	assert_int_equal(j->first.port, PORT);
	assert_int_equal(j->first.source, PAIR_STATIC);
	assert_true(j->first.t_ns > 0 && j->first.t_ns < MS);
	s = sum_of_hosts(&r);
	assert_in_range(s.cnps_wrong, j->all.sent - 10, j->all.sent);
	assert_int_equal(s.cnps_received + s.rate_cuts, 0);
	rig_free(&r);
}

static void one_wrong_pair_among_many_is_counted_alone(void **state)
{
	struct numbers n = numbers_of("notify.yaml");
	uint32_t sender[FLOWS];
	char pairs[PAIRS_LEN];
	struct rig r;

	(void)state;
	memcpy(sender, n.qpn, sizeof(sender));
	sender[5] ^= 0x800000; // nobody's
	pairs_text(&n, sender, pairs);
	make(&r, pairs);
	rig_run(&r, 2 * MS);
	assert_true(r.f->cnps->all.wrong != 0);
	assert_true(r.f->cnps->all.wrong < r.f->cnps->all.sent);
	assert_int_equal(r.f->cnps->first.sender_qp, sender[5]);
	assert_int_equal(flow_key_qp(&r.f->cnps->first.key), n.peer_qpn[5]);
	rig_free(&r);
}

// ---- instants

static uint64_t length(const struct rig *r)
{
	return gauge_get(&switch_queue_counters(r->f->switches[S1].in.sw, PORT, CLS)->length_bytes);
}

static void a_queue_that_rises_is_seen_at_its_instant(void **state)
{
	struct watch queue = {.node = S1, .port = PORT, .queue = CLS};
	struct watch any = {.node = S1, .port = -1, .queue = -1};
	struct watch other = {.node = S1, .port = 0, .queue = -1};
	uint64_t kmin;
	struct rig r;

	(void)state;
	rig_make(&r, "notify.yaml", NULL);
	kmin = switch_policy(r.f->switches[S1].in.sw)
		       ->ports[PORT]
		       .queue[CLS]
		       .wred.curve[0]
		       .kmin_bytes;
	watch_crossing(r.f, &queue);
	watch_crossing(r.f, &any);
	watch_crossing(r.f, &other);
	rig_run(&r, 1 * US);
	assert_true(queue.t_ns == UINT64_MAX);
	rig_run(&r, 500 * US);
	assert_true(queue.t_ns < 500 * US);
	assert_true(any.t_ns == queue.t_ns);
	assert_true(other.t_ns == UINT64_MAX);
	watch_end(&queue);
	watch_end(&any);
	watch_end(&other);
	assert_true(TAILQ_EMPTY(&r.f->switches[S1].crossings));
	rig_free(&r);

	// Another run stops before and after it.
	rig_make(&r, "notify.yaml", NULL);
	rig_run(&r, queue.t_ns - 1);
	assert_in_range(length(&r), 1, kmin);
	rig_run(&r, queue.t_ns);
	assert_in_range(length(&r), kmin + 1, 2 * kmin);
	// What is well above has not crossed until it comes back.
	rig_run(&r, queue.t_ns + 50 * US);
	assert_true(length(&r) > 2 * kmin);
	watch_crossing(r.f, &queue);
	rig_run(&r, r.f->clock.now_ns + 20 * US);
	assert_true(queue.t_ns == UINT64_MAX);
	watch_end(&queue);
	rig_free(&r);
}

static void the_first_cut_of_a_rate_is_seen(void **state)
{
	struct numbers n = numbers_of("notify.yaml");
	struct watch crossing = {.node = S1, .port = PORT, .queue = CLS};
	struct watch any = {.node = UINT32_MAX}, h2 = {.node = 1}, h4 = {.node = 3};
	char pairs[PAIRS_LEN];
	struct rig r;

	(void)state;
	pairs_text(&n, n.qpn, pairs);
	make(&r, pairs);
	watch_crossing(r.f, &crossing);
	watch_cut(r.f, &any);
	watch_cut(r.f, &h2);
	watch_cut(r.f, &h4);
	rig_run(&r, 1 * MS);
	// The notification needs a microsecond of cable, and some more.
	assert_in_range(any.t_ns, crossing.t_ns + 1 * US, crossing.t_ns + 10 * US);
	assert_in_range(h2.t_ns, any.t_ns, 1 * MS);
	assert_true(h4.t_ns == UINT64_MAX); // it receives
	watch_end(&any);
	watch_end(&h2);
	watch_end(&h4);
	assert_true(TAILQ_EMPTY(&r.f->cuts));
	rig_free(&r);
}

// ---- bytes of paired flows

static uint64_t all_bytes(const struct flow_book *b)
{
	uint64_t n = 0;

	for (unsigned s = 0; s < N_PAIR_SOURCES; s++)
		n += b->bytes[s];
	return n;
}

static void add_bytes(void *arg, uint32_t place, const struct flow_row *r)
{
	uint64_t *bytes = arg;

	(void)place;
	bytes[r->pair.source] += r->bytes;
}

static void bytes_count_by_the_pair_that_their_flow_has(void **state)
{
	struct numbers n = numbers_of("notify.yaml");
	struct flow_book book = {0};
	uint64_t sent = 0, before, truth[N_PAIR_SOURCES] = {0};
	struct flows_look rows = {.fn = add_bytes, .arg = truth};
	char pairs[PAIRS_LEN];
	struct rig r;

	(void)state;
	pairs_text(&n, n.qpn, pairs);
	strcpy(strrchr(pairs, '{') - 2, "]"); // all but the last
	make(&r, pairs);
	for (uint64_t t = 0; t <= 1 * MS; t += 100 * US) {
		rig_run(&r, t);
		flow_book_look(&book, r.f->switches[S1].in.sw, t);
	}
	for (uint32_t i = 0; i < FLOWS / QPS; i++)
		sent += gauge_get(&switch_pg_counters(r.f->switches[S1].in.sw, i, CLS)->rx_bytes);
	assert_int_equal(all_bytes(&book), sent);
	rows.now_ns = 1 * MS;
	rows.n = switch_flows_places(r.f->switches[S1].in.sw);
	switch_flows_look(r.f->switches[S1].in.sw, &rows);
	assert_true(truth[PAIR_STATIC] > sent / 20 && truth[PAIR_NONE] > sent / 20);
	assert_memory_equal(book.bytes, truth, sizeof(truth));
	before = all_bytes(&book);
	flow_book_look(&book, r.f->switches[S1].in.sw, 1 * MS); // the same instant
	assert_int_equal(all_bytes(&book), before);
	flow_book_fini(&book);
	rig_free(&r);
}

struct one_flow {
	uint32_t qp;
	uint64_t bytes;
};

static void take_bytes(void *arg, uint32_t place, const struct flow_row *r)
{
	struct one_flow *f = arg;

	(void)place;
	if (flow_key_qp(&r->key) == f->qp)
		f->bytes = r->bytes;
}

static uint64_t bytes_of(struct rig *r, uint32_t qp)
{
	struct one_flow f = {.qp = qp};
	struct flows_look rows = {.now_ns = r->f->clock.now_ns, .fn = take_bytes, .arg = &f};

	rows.n = switch_flows_places(r->f->switches[S1].in.sw);
	switch_flows_look(r->f->switches[S1].in.sw, &rows);
	return f.bytes;
}

// A pair that is learnt between two looks counts from the later one on.
static void bytes_before_a_pair_is_known_are_not_paired(void **state)
{
	struct numbers n = numbers_of("notify.yaml");
	struct known_pair pair = {.qp = n.qpn[0], .source = PAIR_STATIC};
	struct flow_book book = {0};
	struct weir_switch *sw;
	uint64_t known;
	struct rig r;

	(void)state;
	make(&r, "[]");
	sw = r.f->switches[S1].in.sw;
	rig_run(&r, 100 * US);
	flow_book_look(&book, sw, 100 * US);
	pair.key = flow_key_v4(0x0a000001 + n.src[0], 0x0a000004, n.peer_qpn[0], KEY_KNOWN);
	assert_int_equal(switch_order_pair(sw, &pair), 0);
	rig_run(&r, 200 * US);
	flow_book_look(&book, sw, 200 * US);
	assert_int_equal(book.bytes[PAIR_STATIC], 0);
	known = bytes_of(&r, n.peer_qpn[0]);
	rig_run(&r, 1 * MS);
	flow_book_look(&book, sw, 1 * MS);
	assert_true(bytes_of(&r, n.peer_qpn[0]) > known);
	assert_int_equal(book.bytes[PAIR_STATIC], bytes_of(&r, n.peer_qpn[0]) - known);
	flow_book_fini(&book);
	rig_free(&r);
}

int main(int argc, char **argv)
{
	char dir[4096];
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_that_are_right_are_all_there_is_to_tell),
		cmocka_unit_test(pairs_that_are_wrong_are_found_and_hurt_nobody),
		cmocka_unit_test(one_wrong_pair_among_many_is_counted_alone),
		cmocka_unit_test(a_queue_that_rises_is_seen_at_its_instant),
		cmocka_unit_test(the_first_cut_of_a_rate_is_seen),
		cmocka_unit_test(bytes_count_by_the_pair_that_their_flow_has),
		cmocka_unit_test(bytes_before_a_pair_is_known_are_not_paired),
	};

	snprintf(dir, sizeof(dir), "%s/tests/lab/fabric", argc > 1 ? argv[1] : ".");
	if (chdir(dir) != 0)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
