// SPDX-License-Identifier: Apache-2.0
// Hosts that begin operations by themselves: Poisson arrivals, request and response, storage. Seeds
// are fixed, so what is drawn is always the same; bounds say how far a fair draw may be off.
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/lab/workload.h"
#include "drivers/nic/requester.h"
#include "tests/temporary.h"
#include "tests/unit/lab/cdf_at.h"
#include "world.h"

static const char *root;

static void make(struct world *w, unsigned n_hosts, const char *flow)
{
	char yaml[4096];

	snprintf(yaml, sizeof(yaml),
		 "topology: {star: {hosts: %u, speed: 10G}}\nflows:\n  - {%s}\n", n_hosts, flow);
	world_create(w, root, yaml);
}

static uint32_t n_connected(const struct world *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < traffic_n_conns(w->t); i++)
		n += traffic_conn(w->t, i)->id != TRAFFIC_NOT_OPEN;
	return n;
}

static uint64_t bytes_in_rows(const struct world *w)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < traffic_n_conns(w->t); i++)
		n += traffic_conn_counts(w->t, i).acked_bytes;
	return n;
}

// ---- Poisson

// 4 hosts at 40 % of 10G for 25 ms are 11,374 messages each (1098 B on the wire): the deviation
// of all of them is 0.47 %, and the bound 1.5 %. For three receivers each, chi-square has 8
// degrees of freedom: 20.1 is its 1 % bound.
static void poisson_offers_its_load_to_all_alike(void **state)
{
	uint32_t to[4][4] = {{0}};
	double want = 4 * 25e-3 * 10e9 * 0.4 / (1098 * 8), chi = 0;
	struct world w;
	uint64_t n;

	(void)state;
	make(&w, 4, "pattern: poisson, from: \"h*\", size: 1000, load: 40%, stop: 25ms");
	world_run(&w, 30000000);
	n = traffic_n_done(w.t);
	assert_int_equal(traffic_n_open(w.t), 0);
	assert_true(fabs((double)n / want - 1) < 0.015);
	for (uint64_t i = 0; i < n; i++)
		to[traffic_done(w.t, i)->src][traffic_done(w.t, i)->dst]++;
	for (int s = 0; s < 4; s++) {
		double each = (to[s][0] + to[s][1] + to[s][2] + to[s][3]) / 3.0;

		assert_int_equal(to[s][s], 0);
		for (int d = 0; d < 4; d++)
			chi += d == s ? 0 : (to[s][d] - each) * (to[s][d] - each) / each;
	}
	assert_true(chi < 20.1);
	assert_int_equal(bytes_in_rows(&w), n * 1000);
	world_destroy(&w);
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

// Sizes of what was sent follow the distribution (Kolmogorov at 1 %), and their bytes on the wire
// the load: 4 hosts at 30 % for 100 ms offer 150 MB in 3,500 messages whose size deviates by 3.9
// times its mean: 6.6 %, so twice that.
static void poisson_draws_sizes_from_the_distribution(void **state)
{
	struct arena a = {0};
	struct diag_sink s = {.file = "test"};
	struct cdf c;
	struct world w;
	uint32_t *sizes;
	uint64_t n, wire = 0;
	double worst = 0;
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/conf/lab/sizes/storage.cdf", root);
	assert_int_equal(cdf_load(path, &a, &c, &s), 0);
	make(&w, 4, "pattern: poisson, from: \"h*\", size: storage, load: 30%, stop: 100ms");
	world_run(&w, 200000000);
	n = traffic_n_done(w.t);
	assert_int_equal(traffic_n_open(w.t), 0);
	sizes = calloc(n, sizeof(*sizes));
	for (uint64_t i = 0; i < n; i++) {
		sizes[i] = traffic_done(w.t, i)->n_bytes;
		wire += workload_wire_bytes(REQ_WRITE, 1024, sizes[i], 0);
	}
	qsort(sizes, n, sizeof(*sizes), by_size);
	for (uint64_t i = 0; i < n; i++) {
		double off = fabs((double)(i + 1) / (double)n -
				  (double)cdf_at(&c, sizes[i]) / 4294967296.0);

		worst = i + 1 < n && sizes[i + 1] == sizes[i] ? worst : fmax(worst, off);
	}
	assert_true(worst < 1.63 / sqrt((double)n));
	assert_true(fabs((double)wire * 8 / (0.1 * 4 * 10e9 * 0.3) - 1) < 0.132);
	free(sizes);
	arena_fini(&a);
	world_destroy(&w);
}

static void the_same_seed_gives_the_same_messages_and_another_others(void **state)
{
	static const char *const seeds[] = {"seed: 5\n", "seed: 5\n", "seed: 6\n"};
	char yaml[512], *got[3];
	struct world w;

	(void)state;
	for (int i = 0; i < 3; i++) {
		snprintf(yaml, sizeof(yaml),
			 "%stopology: {star: {hosts: 6, speed: 10G}}\nflows:\n"
			 "  - {pattern: poisson, from: \"h*\", size: websearch, load: 60%%}\n",
			 seeds[i]);
		world_create(&w, root, yaml);
		world_run(&w, 20000000);
		got[i] = world_log(&w);
		assert_true(traffic_n_done(w.t) > 30);
		world_destroy(&w);
	}
	assert_string_equal(got[0], got[1]);
	assert_string_not_equal(got[0], got[2]);
	for (int i = 0; i < 3; i++)
		free(got[i]);
}

static void a_flow_added_later_does_not_change_those_before(void **state)
{
	static const char flow[] =
		"  - {pattern: poisson, from: [h1, h2], to: h3, size: 100, load: 1%}\n";
	char yaml[512], *got[2];
	struct world w;

	(void)state;
	for (int i = 0; i < 2; i++) {
		snprintf(yaml, sizeof(yaml),
			 "topology: {star: {hosts: 6, speed: 10G}}\nflows:\n%s%s", flow,
			 i == 0 ? ""
				: "  - {pattern: poisson, from: h5, to: h6, size: 1, load: 1%}\n");
		world_create(&w, root, yaml);
		world_run(&w, 1000000);
		got[i] = calloc(1, 1 << 20);
		for (uint64_t k = 0, at = 0; k < traffic_n_done(w.t); k++)
			if (traffic_done(w.t, k)->flow == 0)
				at += (uint64_t)sprintf(got[i] + at, "%u %" PRIu64 "\n",
							traffic_done(w.t, k)->src,
							traffic_done(w.t, k)->posted_ns);
		world_destroy(&w);
	}
	assert_true(strlen(got[0]) > 100);
	assert_string_equal(got[0], got[1]);
	free(got[0]);
	free(got[1]);
}

static void idle_connections_are_used_again_and_the_oldest_closed(void **state)
{
	static const struct {
		const char *idle;
		uint32_t most;
	} rows[] = {{"64", 64}, {"2", 8}, {"0", 0}};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct world w;
		char flow[256];
		uint64_t n;

		snprintf(flow, sizeof(flow),
			 "pattern: poisson, from: \"h*\", size: 2000, load: 60%%, stop: 5ms, idle: "
			 "%s",
			 rows[i].idle);
		make(&w, 4, flow);
		world_run(&w, 8000000);
		n = traffic_n_done(w.t);
		assert_true(n > 5000);
		assert_int_equal(traffic_n_open(w.t), 0);
		// Rows are of pairs, and used again: far fewer than messages.
		assert_in_range(traffic_n_conns(w.t), 12, n / 20);
		assert_in_range(n_connected(&w), rows[i].most < 12 ? rows[i].most : 12,
				rows[i].most == 64 ? traffic_n_conns(w.t) : rows[i].most);
		assert_int_equal(bytes_in_rows(&w), n * 2000);
		world_destroy(&w);
	}
}

// 30 hosts at full load into one: more messages at once than a NIC has queue pairs. They wait in
// their hosts, with the time of their arrival, and all come through.
static void messages_wait_where_no_queue_pair_is_left(void **state)
{
	struct world w;
	uint64_t last = 0;

	(void)state;
	// Queues of milliseconds, so a timer longer than that.
	world_create(&w, root,
		     "topology: {star: {hosts: 31, speed: 10G}}\n"
		     "hosts: {\"h[1-31]\": {nic: {rto: 50ms}}}\n"
		     "flows:\n  - {pattern: poisson, from: \"h[2-31]\", to: h1, size: 2000, "
		     "load: 100%, stop: 300us}\n");
	world_run(&w, 300000);
	assert_true(traffic_n_open(w.t) > 1024);
	assert_in_range(n_connected(&w), 512, 1024);
	world_run(&w, 20000000);
	assert_int_equal(traffic_n_open(w.t), 0);
	for (uint64_t i = 0; i < traffic_n_done(w.t); i++) {
		assert_true(traffic_done(w.t, i)->posted_ns < 300000);
		assert_true(traffic_done(w.t, i)->done_ns >= last);
		last = traffic_done(w.t, i)->done_ns;
	}
	world_destroy(&w);
}

static void count_ends_a_host_and_not_its_neighbours(void **state)
{
	uint32_t by_host[4] = {0};
	struct world w;

	(void)state;
	make(&w, 4,
	     "pattern: poisson, from: \"h[1-3]\", to: \"h[3-4]\", size: 64, load: 50%, count: 20");
	world_run(&w, 5000000);
	assert_int_equal(traffic_n_done(w.t), 60);
	for (uint64_t i = 0; i < 60; i++)
		by_host[traffic_done(w.t, i)->src]++;
	for (int i = 0; i < 3; i++)
		assert_int_equal(by_host[i], 20);
	world_destroy(&w);
}

// ---- request and response

static void talks(const char *flow, uint64_t until_ns, const char *wire, const char *log)
{
	struct world w;
	char *got;

	make(&w, 4, flow);
	world_run(&w, until_ns);
	got = world_log(&w);
	assert_string_equal(w.wire, wire);
	assert_string_equal(got, log);
	assert_int_equal(traffic_n_open(w.t), 0);
	free(got);
	world_destroy(&w);
}

// A SEND of 64 B is 146 B on the wire: twice 116.8 ns, and 52 of cable. The server thinks, and the
// 5000 B of its answer are 4 packets of 1024 and one of 904 behind 16 B of RETH: 2 * 897.6 +
// 3 * 884.8 + 788.8 + 52. The second request goes behind the ACK of the answer, 68.8.
static void a_server_answers_when_it_has_thought(void **state)
{
	(void)state;
	talks("pattern: request, from: h1, to: h2, size: 5000, count: 2, think: 2us", 100000,
	      "286 h2: 64 B came from h1\n"
	      "476 h1: 64 B done\n"
	      "7577 h1: 5000 B came from h2\n"
	      "7767 h2: 5000 B done\n"
	      "7932 h2: 64 B came from h1\n"
	      "8122 h1: 64 B done\n"
	      "15223 h1: 5000 B came from h2\n"
	      "15413 h2: 5000 B done\n",
	      "h1 > h2 5000 B: posted 0, done 7577\n"
	      "h1 > h2 5000 B: posted 7577, done 15223\n");
}

static void an_operation_tells_when_it_was_asked_and_answered(void **state)
{
	const struct traffic_done *d;
	struct world w;

	(void)state;
	make(&w, 4,
	     "pattern: request, from: h1, to: h2, size: 5000, count: 1, think: 2us, op: send, "
	     "start: 1us");
	world_run(&w, 100000);
	assert_int_equal(traffic_n_done(w.t), 1);
	d = traffic_done(w.t, 0);
	assert_int_equal(d->posted_ns, 1000);
	assert_int_equal(d->first_tx_ns, 1000);
	assert_int_equal(d->last_tx_ns, 1286 + 2000);
	assert_int_equal(d->done_ns, 8577 - 26); // no RETH: 16 B less on either link
	world_destroy(&w);
}

static void clients_keep_depth_operations_under_way(void **state)
{
	struct world w;

	(void)state;
	make(&w, 4,
	     "pattern: request, from: \"h[1-3]\", to: h4, size: 3000, depth: 5, qps: 2, stop: 1ms");
	for (uint64_t t = 1000; t < 1000000; t += 7000) {
		world_run(&w, t);
		assert_int_equal(traffic_n_open(w.t), 15);
	}
	assert_int_equal(traffic_n_conns(w.t), 3 * 2 * 2);
	world_run(&w, 3000000);
	assert_int_equal(traffic_n_open(w.t), 0);
	assert_true(traffic_n_done(w.t) > 300);
	world_destroy(&w);
}

static void open_loop_clients_ask_at_the_load(void **state)
{
	struct world w;
	// Answers of 3 packets, 3262 B on the wire; 2 clients.
	double want = 2 * 20e-3 * 10e9 * 0.3 / (3262 * 8);

	(void)state;
	make(&w, 4,
	     "pattern: request, from: \"h[1-2]\", to: \"h[3-4]\", size: 3000, load: 30%, stop: "
	     "20ms, idle: 1");
	world_run(&w, 25000000);
	assert_int_equal(traffic_n_open(w.t), 0);
	// 4,600 of them: a deviation of 1.5 %.
	assert_true(fabs((double)traffic_n_done(w.t) / want - 1) < 0.045);
	assert_in_range(n_connected(&w), 1, 2);
	world_destroy(&w);
}

// ---- storage
//
// By pencil, on 10G with 26 ns of cable twice: a SEND of 256 B takes 2 * 270.4 + 52, of 128 B 2 *
// 168 + 52, an ACK 2 * 68.8 + 52 ns, the request of a READ 2 * 78.4 + 52. A full packet of 1024 B
// is 884.8 ns on a link, the first of a WRITE 897.6, the first of a READ's response 888. Each
// link rounds up.

static void a_small_write_is_two_sends(void **state)
{
	(void)state;
	// 3256 B are 3 packets and 184 B: 884.8 + 26 + 3 * 884.8 + 212.8 + 26.
	talks("pattern: storage, from: h1, to: h2, size: 3000, count: 1, think: 10us, storage: "
	      "{reads: 0%}",
	      100000,
	      "3805 h2: 3256 B came from h1\n"
	      "3995 h1: 3256 B done\n"
	      "14193 h1: 128 B came from h2\n"
	      "14383 h2: 128 B done\n",
	      "h1 > h2 3000 B: posted 0, done 14193\n");
}

static void a_small_read_is_two_sends(void **state)
{
	(void)state;
	talks("pattern: storage, from: h1, to: h2, size: 3000, count: 1, think: 10us, storage: "
	      "{reads: 100%}",
	      100000,
	      "594 h2: 256 B came from h1\n"
	      "784 h1: 256 B done\n"
	      "14296 h1: 3128 B came from h2\n"
	      "14486 h2: 3128 B done\n",
	      "h1 > h2 3000 B: posted 0, done 14296\n");
}

static void a_middle_write_is_read_by_the_server_before_it_thinks(void **state)
{
	(void)state;
	// The server's READ goes behind the ACK of the request: 68.8. 10 packets come back.
	talks("pattern: storage, from: h1, to: h2, size: 10000, count: 1, think: 10us, storage: "
	      "{reads: 0%}",
	      100000,
	      "594 h2: 256 B came from h1\n"
	      "784 h1: 256 B done\n"
	      "10476 h2: 10000 B done\n"
	      "20864 h1: 128 B came from h2\n"
	      "21054 h2: 128 B done\n",
	      "h1 > h2 10000 B: posted 0, done 20864\n");
}

static void a_middle_read_is_written_and_the_reply_goes_with_it(void **state)
{
	(void)state;
	// The reply leaves after the first packet: 2 * 897.6 + 168 + 52 after 10594.
	talks("pattern: storage, from: h1, to: h2, size: 10000, count: 1, think: 10us, storage: "
	      "{reads: 100%}",
	      100000,
	      "594 h2: 256 B came from h1\n"
	      "784 h1: 256 B done\n"
	      "12610 h1: 128 B came from h2\n"
	      "12800 h2: 128 B done\n"
	      "20381 h1: 10000 B came from h2\n"
	      "20571 h2: 10000 B done\n",
	      "h1 > h2 10000 B: posted 0, done 20381\n");
}

static void a_large_transfer_has_one_chunk_under_way(void **state)
{
	(void)state;
	// A READ of 64,000 B takes 208.8 + 2 * 888 + 61 * 884.8 + 478.4 + 52 = 56,488.
	talks("pattern: storage, from: h1, to: h2, size: 150KB, count: 1, storage: {reads: 0%}",
	      1000000,
	      "594 h2: 256 B came from h1\n"
	      "784 h1: 256 B done\n"
	      "57153 h2: 64000 B done\n"
	      "113643 h2: 64000 B done\n"
	      "133843 h2: 22000 B done\n"
	      "134231 h1: 128 B came from h2\n"
	      "134421 h2: 128 B done\n",
	      "h1 > h2 150000 B: posted 0, done 134231\n");
	// Each WRITE waits for the ACK of the one before; the reply goes with the second.
	talks("pattern: storage, from: h1, to: h2, size: 100KB, count: 1, storage: {reads: 100%}",
	      1000000,
	      "594 h2: 256 B came from h1\n"
	      "784 h1: 256 B done\n"
	      "56959 h1: 64000 B came from h2\n"
	      "57149 h2: 64000 B done\n"
	      "59165 h1: 128 B came from h2\n"
	      "59355 h2: 128 B done\n"
	      "89442 h1: 36000 B came from h2\n"
	      "89632 h2: 36000 B done\n",
	      "h1 > h2 100000 B: posted 0, done 89442\n");
}

// Five requests at once and two credits: a request goes when a reply has come.
static void requests_wait_for_credits(void **state)
{
	(void)state;
	talks("pattern: storage, from: h1, to: h2, size: 100, count: 5, depth: 5, think: 5us, "
	      "storage: {reads: 0%, credits: 2}", 1000000,
	      "754 h2: 356 B came from h1\n"
	      "944 h1: 356 B done\n"
	      "1104 h2: 356 B came from h1\n"
	      "1294 h1: 356 B done\n"
	      "6142 h1: 128 B came from h2\n"
	      "6332 h2: 128 B done\n"
	      "6492 h1: 128 B came from h2\n"
	      "6965 h2: 356 B came from h1\n"
	      "7034 h2: 128 B done\n"
	      "7155 h1: 356 B done\n"
	      "7384 h2: 356 B came from h1\n"
	      "7574 h1: 356 B done\n"
	      "12353 h1: 128 B came from h2\n"
	      "12543 h2: 128 B done\n"
	      "12772 h1: 128 B came from h2\n"
	      "13176 h2: 356 B came from h1\n"
	      "13245 h2: 128 B done\n"
	      "13366 h1: 356 B done\n"
	      "18564 h1: 128 B came from h2\n"
	      "18754 h2: 128 B done\n",
	      "h1 > h2 100 B: posted 0, done 6142\n"
	      "h1 > h2 100 B: posted 0, done 6492\n"
	      "h1 > h2 100 B: posted 0, done 12353\n"
	      "h1 > h2 100 B: posted 0, done 12772\n"
	      "h1 > h2 100 B: posted 0, done 18564\n");
}

static void reads_and_writes_are_mixed_as_asked(void **state)
{
	uint32_t reads = 0;
	struct world w;

	(void)state;
	make(&w, 4, "pattern: storage, from: \"h[1-2]\", to: \"h[3-4]\", size: storage, depth: 4, "
		    "count: 1000, storage: {reads: 30%}");
	world_run(&w, 200000000);
	assert_int_equal(traffic_n_done(w.t), 2000);
	assert_int_equal(traffic_n_open(w.t), 0);
	for (uint64_t i = 0; i < 2000; i++)
		reads += traffic_done(w.t, i)->is_read;
	assert_in_range(reads, 540, 660); // a deviation of 20
	world_destroy(&w);
}

// ---- traces

static void make_trace(struct world *w, const char *text, const char *keys)
{
	char path[PATH_MAX], flow[PATH_MAX + 256];

	temporary_file(path, "trace", text);
	snprintf(flow, sizeof(flow), "trace: %s, %s", path, keys);
	make(w, 4, flow);
}

static void a_trace_posts_its_flows_at_their_times(void **state)
{
	static const char want[] = "h1 > h4 20000 B: posted 5000\n"
				   "h1 > h4 30000 B: posted 5000\n"
				   "h3 > h2 1000 B: posted 5500\n"
				   "h1 > h4 4000 B: posted 105000\n";
	static const char text[] = "4\n2 1 3 9 1000 2.0000005\n0 3 3 9 20000 2\n"
				   "0 3 0 9 30000 2\n0 3 3 9 4000 2.0001\n";
	char got[sizeof(want) + 64] = "";
	struct world w;

	(void)state;
	make_trace(&w, text, "start: 5us, ecn: not-ect");
	assert_false(flow_endless(&w.sc->flows[0]));
	world_run(&w, 20000);
	assert_int_equal(traffic_flow_done_ns(w.t, 0), UINT64_MAX);
	world_run(&w, 200000);
	assert_int_equal(traffic_n_done(w.t), 4);
	assert_true(traffic_all_done(w.t));
	for (uint64_t posted = 0; posted < 200000; posted += 500)
		for (uint32_t bytes = 1000; bytes <= 30000; bytes += 1000)
			for (uint64_t i = 0; i < 4; i++) {
				const struct traffic_done *d = traffic_done(w.t, i);
				size_t len = strlen(got);

				if (d->posted_ns == posted && d->n_bytes == bytes)
					snprintf(got + len, sizeof(got) - len,
						 "h%u > h%u %u B: posted %" PRIu64 "\n",
						 d->src + 1, d->dst + 1, d->n_bytes, d->posted_ns);
			}
	assert_string_equal(got, want);
	// The idle connection of class 3 served again; class 0 has its own.
	assert_int_equal(traffic_n_conns(w.t), 3);
	assert_int_equal(nic_stats_now(w.f->hosts[0].nic)->cls[3].tx_bytes > 24000, 1);
	assert_int_equal(nic_stats_now(w.f->hosts[0].nic)->cls[0].tx_bytes > 30000, 1);
	world_destroy(&w);
}

static void a_class_of_the_scenario_is_that_of_the_whole_trace(void **state)
{
	struct world w;

	(void)state;
	make_trace(&w, "2\n0 1 4 9 1000 2\n0 1 3 9 1000 2\n", "class: 0, dscp: 9");
	world_run(&w, 200000);
	assert_int_equal(traffic_n_done(w.t), 2);
	assert_int_equal(w.sc->flows[0].classes, 1);
	assert_true(nic_stats_now(w.f->hosts[0].nic)->cls[0].tx_bytes > 2000);
	world_destroy(&w);
}

static void a_trace_of_a_few_hosts_counts_these_only(void **state)
{
	struct world w;

	(void)state;
	make_trace(&w, "start,from,to,bytes\n0us,0,h4,1000\n7us,h4,0,1000\n",
		   "from: [h3, h4], stop: 6us");
	world_run(&w, 200000);
	assert_true(traffic_all_done(w.t));
	assert_int_equal(traffic_n_done(w.t), 1);
	assert_int_equal(traffic_done(w.t, 0)->src, 2);
	assert_int_equal(traffic_done(w.t, 0)->dst, 3);
	world_destroy(&w);
}

// Each sender keeps its idle connections, and all of them are more than the receiver has queue
// pairs: those that are idle for longest make room, and only at the host that has none.
enum { SENDERS = 18, FLOWS = 63 };
static void fill_a_host(struct world *w, const char *connect)
{
	enum { LEN = 32 };
	char path[PATH_MAX], yaml[PATH_MAX + 256], *text = malloc(SENDERS * FLOWS * LEN + LEN * 2);
	size_t len = (size_t)sprintf(text, "start_ms,from,to,bytes\n0,1,2,1000\n");

	for (unsigned i = 0; i < SENDERS * FLOWS; i++)
		len += (size_t)sprintf(text + len, "%u,%u,0,1000\n", i / FLOWS, i / FLOWS + 1);
	sprintf(text + len, "%u,1,0,1000\n", SENDERS);
	temporary_file(path, "trace", text);
	free(text);
	snprintf(yaml, sizeof(yaml),
		 "topology: {star: {hosts: %u, speed: 10G}}\nconnect: %s\n"
		 "flows:\n  - {trace: %s}\n",
		 SENDERS + 1, connect, path);
	world_create(w, root, yaml);
	world_run(w, 100000000);
	assert_true(traffic_all_done(w->t));
	assert_int_equal(traffic_n_done(w->t), SENDERS * FLOWS + 2);
}

static void idle_connections_make_room_at_a_full_host(void **state)
{
	struct world w;

	(void)state;
	fill_a_host(&w, "direct");
	// The first sender lost its connections to the receiver, opened one again at the end, and
	// kept the one to another host.
	assert_int_not_equal(traffic_conn(w.t, 0)->id, TRAFFIC_NOT_OPEN);
	assert_int_not_equal(traffic_conn(w.t, 1)->id, TRAFFIC_NOT_OPEN);
	assert_int_equal(traffic_conn(w.t, 2)->id, TRAFFIC_NOT_OPEN);
	assert_int_equal(n_connected(&w), 1024 + 1);
	world_destroy(&w);
}

// On the wire the receiver refuses a connection until an idle one is closed.
static void idle_connections_make_room_on_the_wire(void **state)
{
	struct world w;

	(void)state;
	fill_a_host(&w, "cm");
	assert_in_range(n_connected(&w), 1000, 1024 + 1);
	assert_true(nic_stats_now(w.f->hosts[0].nic)->connections_rejected > 0);
	world_destroy(&w);
}

// For 8 ms h2 keeps all queue pairs of h1 busy. h3 wants one from 1 ms on, and asks once a
// millisecond.
static void a_refused_connection_is_asked_for_once_a_millisecond(void **state)
{
	enum { BUSY = 1024, LEN = 32 };
	char path[PATH_MAX], yaml[PATH_MAX + 256], *text = malloc(BUSY * LEN + LEN * 2);
	size_t len = (size_t)sprintf(text, "start_ms,from,to,bytes\n");
	uint64_t refused;
	struct world w;

	(void)state;
	for (unsigned i = 0; i < BUSY; i++)
		len += (size_t)sprintf(text + len, "0,1,0,10000\n");
	sprintf(text + len, "1,2,0,1000\n");
	temporary_file(path, "trace", text);
	free(text);
	snprintf(yaml, sizeof(yaml),
		 "topology: {star: {hosts: 3, speed: 10G}}\nconnect: cm\n"
		 "hosts: {\"h*\": {nic: {cc: none}}}\nflows:\n  - {trace: %s}\n", path);
	world_create(&w, root, yaml);
	world_run(&w, 100000000);
	assert_true(traffic_all_done(w.t));
	refused = nic_stats_now(w.f->hosts[0].nic)->connections_rejected;
	assert_in_range(refused, 5, 10);
	world_destroy(&w);
}

static void a_closed_connection_of_a_trace_is_opened_again(void **state)
{
	struct world w;

	(void)state;
	make_trace(&w, "start_us,from,to,bytes\n0,0,1,1000\n50,0,1,1000\n100,0,1,1000\n",
		   "idle: 0");
	world_run(&w, 200000);
	assert_int_equal(traffic_n_done(w.t), 3);
	assert_int_equal(traffic_n_conns(w.t), 1);
	assert_int_equal(bytes_in_rows(&w), 3000);
	world_destroy(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poisson_offers_its_load_to_all_alike),
		cmocka_unit_test(poisson_draws_sizes_from_the_distribution),
		cmocka_unit_test(the_same_seed_gives_the_same_messages_and_another_others),
		cmocka_unit_test(a_flow_added_later_does_not_change_those_before),
		cmocka_unit_test(idle_connections_are_used_again_and_the_oldest_closed),
		cmocka_unit_test(messages_wait_where_no_queue_pair_is_left),
		cmocka_unit_test(count_ends_a_host_and_not_its_neighbours),
		cmocka_unit_test(a_server_answers_when_it_has_thought),
		cmocka_unit_test(an_operation_tells_when_it_was_asked_and_answered),
		cmocka_unit_test(clients_keep_depth_operations_under_way),
		cmocka_unit_test(open_loop_clients_ask_at_the_load),
		cmocka_unit_test(a_small_write_is_two_sends),
		cmocka_unit_test(a_small_read_is_two_sends),
		cmocka_unit_test(a_middle_write_is_read_by_the_server_before_it_thinks),
		cmocka_unit_test(a_middle_read_is_written_and_the_reply_goes_with_it),
		cmocka_unit_test(a_large_transfer_has_one_chunk_under_way),
		cmocka_unit_test(requests_wait_for_credits),
		cmocka_unit_test(reads_and_writes_are_mixed_as_asked),
		cmocka_unit_test(a_trace_posts_its_flows_at_their_times),
		cmocka_unit_test(a_class_of_the_scenario_is_that_of_the_whole_trace),
		cmocka_unit_test(a_trace_of_a_few_hosts_counts_these_only),
		cmocka_unit_test(idle_connections_make_room_at_a_full_host),
		cmocka_unit_test(idle_connections_make_room_on_the_wire),
		cmocka_unit_test(a_refused_connection_is_asked_for_once_a_millisecond),
		cmocka_unit_test(a_closed_connection_of_a_trace_is_opened_again),
	};

	root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
