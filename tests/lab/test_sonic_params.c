// SPDX-License-Identifier: Apache-2.0
// The numbers of `weirctl plan --sonic`, by the steps of SONiC's QoS tests with a margin of 0: a
// switch acts at exactly these packets. Each step reads its numbers from the printed file.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/config.h"
#include "control/sonic/qos_params.h"
#include "dataplane/base/rng.h"
#include "dataplane/policy.h"
#include "tests/lab/bench.h"

enum { FROM, TO, TO_2, TO_3, N_PORTS, YAML_LEN = 4096, CLASSES_LEN = 1024, PATH_LEN = 64 };
enum { RANDOM_POLICIES = 12 };

static const struct setup {
	unsigned cell, buffer_kb;
	const char *classes; // of profile x
	const char *buffer; // more keys of the buffer; NULL: none
} setups[] = {
	{256, 500,
	 "      3: {lossless: true, ingress: {min: 10KB, alpha: 1, xon_offset: 2KB, "
	 "headroom: 20KB}}\n"
	 "      0: {ingress: {min: 4KB}, egress: {min: 3KB, alpha: 1/2}, "
	 "schedule: {dwrr: 30}}\n      1: {schedule: {dwrr: 7}}\n      6: {schedule: strict}\n",
	 "oversubscription: 2"},
	{96, 300,
	 "      3: {lossless: true, ingress: {min: 0, alpha: 1/8, xon: 3KB, xon_offset: 5KB, "
	 "headroom: 9KB}}\n"
	 "      4: {lossless: true, ingress: {min: 3KB, static: 50KB, xon: 20KB, "
	 "xon_offset: 48KB, headroom: 1KB}, wred: {ecn: on, kmin: 4KB, kmax: 9KB, pmax: 50%, "
	 "mark_at: enqueue}}\n"
	 "      0: {egress: {min: 0, alpha: 8}}\n"},
	{32, 200, // a packet has two cells
	 "      5: {lossless: true, ingress: {min: 1KB, alpha: 4, xon_offset: 0, "
	 "headroom: 5KB}}\n"
	 "      1: {egress: {min: 1KB, static: 30KB}}\n"},
	{1024, 900,
	 "      3: {lossless: true, ingress: {min: 18KB, alpha: 1/2, xon_offset: 18KB, "
	 "headroom: 8KB}, wred: {ecn: on, kmin: 20KB, kmax: 60KB, pmax: 100%, "
	 "mark_at: dequeue}}\n"
	 "      7: {lossless: true, ingress: {min: 2KB, alpha: 128, xon_offset: 3KB, "
	 "headroom: 8KB}}\n", "headroom_pool: 40KB"},
};
enum { N_SETUPS = sizeof(setups) / sizeof(setups[0]) };

struct run {
	const char *yaml;
	char *params; // what is printed
	bool random; // a policy that may lack sections
	struct bench *b; // NULL: between two tests
};

static const char *yaml_of(const struct setup *s)
{
	static char text[YAML_LEN];
	int n = snprintf(text, sizeof(text),
			 "switch: {name: b, buffer: {size: %uKB, cell: %uB, %s}}\n"
			 "ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G, "
			 "cable: 40m, mtu: 1500, profile: x}\nfdb:\n",
			 s->buffer_kb, s->cell, s->buffer != NULL ? s->buffer : "");

	for (unsigned i = 1; i <= N_PORTS; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "  - {mac: \"02:00:00:00:00:%02x\", port: p%u}\n", i, i);
	snprintf(text + n, sizeof(text) - (size_t)n, "profiles:\n  x:\n    classes:\n%s",
		 s->classes);
	return text;
}

static char *params_of(const char *yaml)
{
	struct diags d = {0};
	struct config *c = NULL;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (config_parse("params.yaml", yaml, strlen(yaml), &c, &d) != 0) {
		diags_print(&d);
		fail_msg("%s", yaml);
	}
	diags_fini(&d);
	assert_int_equal(qos_params_print(c, f), 0);
	config_destroy(c);
	fclose(f);
	return text;
}

static const char *section_of(const struct run *r, const char *name)
{
	char head[PATH_LEN];
	const char *at;

	snprintf(head, sizeof(head), "\n%16s%s:\n", "", name);
	assert_non_null(strstr(r->params, "\n            10000_40m:\n"));
	at = strstr(r->params, head);
	return at == NULL ? NULL : at + strlen(head);
}

static unsigned number(const struct run *r, const char *section, const char *key)
{
	const char *at = section_of(r, section);
	char wanted[PATH_LEN];
	size_t len = (size_t)snprintf(wanted, sizeof(wanted), "%20s%s: ", "", key);

	assert_non_null(at);
	for (; strncmp(at, "                    ", 20) == 0; at = strchr(at, '\n') + 1)
		if (strncmp(at, wanted, len) == 0)
			return (unsigned)strtoul(at + len, NULL, 10);
	fail_msg("%s has no %s", section, key);
	return 0;
}

// ---- the steps

static unsigned n_begun;

static void begin(struct run *r)
{
	n_begun++;
	r->b = bench_open(r->yaml, 0);
	for (unsigned i = 0; i < N_PORTS; i++) {
		r->b->host[i].obey_after_ns = UINT64_MAX;
		bench_tx(r->b, i, -1, false);
	}
}

static void end(struct run *r)
{
	for (unsigned i = 0; i < N_PORTS; i++)
		bench_tx(r->b, i, -1, true);
	bench_close(r->b);
	r->b = NULL;
}

static void send_to(struct run *r, const char *section, unsigned to, unsigned n)
{
	const struct bench_frame f = {
		.to = to,
		.dscp = (uint8_t)number(r, section, "dscp"),
		.ecn = (uint8_t)number(r, section, "ecn"),
		.len = (uint16_t)number(r, section, "packet_size"),
	};

	bench_inject(r->b, FROM, &f, n);
}

// Cells to packets, as the tests have it.
static unsigned packets(struct run *r, const char *section, const char *key)
{
	unsigned cell = number(r, section, "cell_size");
	unsigned occupancy = (number(r, section, "packet_size") + cell - 1) / cell;

	assert_int_equal(number(r, section, key) % occupancy, 0);
	return number(r, section, key) / occupancy;
}

static uint64_t drops(const struct run *r)
{
	uint64_t n = 0;

	for (enum drop_reason i = 0; i < N_DROP_REASONS; i++)
		n += bench_drops(r->b, i);
	return n;
}

static unsigned n_pfc(const struct run *r)
{
	return r->b->host[FROM].n_pfc;
}

typedef void steps_fn(struct run *r, unsigned no);

static void with_setup(const struct setup *setup, bool random, steps_fn *steps)
{
	struct run r = {.yaml = yaml_of(setup), .random = random};

	r.params = params_of(r.yaml);
	for (unsigned no = 1; no <= 2; no++) {
		char name[PATH_LEN];

		snprintf(name, sizeof(name), "xoff_%u", no);
		if (section_of(&r, name) != NULL)
			steps(&r, no);
	}
	free(r.params);
}

static void with_each_setup(steps_fn *steps)
{
	for (unsigned i = 0; i < N_SETUPS; i++)
		with_setup(&setups[i], false, steps);
}

static void xoff_steps(struct run *r, unsigned no)
{
	const char *s = no == 1 ? "xoff_1" : "xoff_2";
	unsigned pfc = packets(r, s, "pkts_num_trig_pfc");
	unsigned drop = packets(r, s, "pkts_num_trig_ingr_drp");

	begin(r);
	send_to(r, s, TO, pfc - 1);
	assert_int_equal(n_pfc(r), 0);
	send_to(r, s, TO, 1);
	assert_int_equal(n_pfc(r), 1);
	assert_int_equal(bench_pfc_times(&r->b->host[FROM].pfc[0]).enable,
			 1 << number(r, s, "pg"));
	send_to(r, s, TO, drop - pfc - 1);
	assert_int_equal(drops(r), 0);
	send_to(r, s, TO, 1);
	assert_int_equal(drops(r), 1);
	assert_int_equal(bench_drops(r->b, DROP_HEADROOM), 1);
	end(r);
}

static void xon_steps(struct run *r, unsigned no)
{
	const char *s = no == 1 ? "xon_1" : "xon_2";
	unsigned pfc = packets(r, s, "pkts_num_trig_pfc");
	unsigned dismiss = packets(r, s, "pkts_num_dismiss_pfc"), n;

	begin(r);
	send_to(r, s, TO, pfc - dismiss);
	send_to(r, s, TO_2, dismiss - 1);
	assert_int_equal(n_pfc(r), 0);
	send_to(r, s, TO_3, 1);
	assert_int_equal(n_pfc(r), 1);
	bench_tx(r->b, TO_2, -1, true);
	bench_run(r->b, 1000000);
	assert_true(pg_in_xoff(switch_pg_state(r->b->sw, FROM, number(r, s, "pg"))));
	bench_tx(r->b, TO_3, -1, true);
	bench_run(r->b, 1000000);
	n = n_pfc(r);
	assert_int_equal(bench_pfc_times(&r->b->host[FROM].pfc[n - 1]).quanta[number(r, s, "pg")],
			 0);
	assert_false(pg_in_xoff(switch_pg_state(r->b->sw, FROM, number(r, s, "pg"))));
	assert_int_equal(drops(r), 0);
	end(r);
}

static void each_xoff_section_has_the_packets_of_pause_and_drop(void **state)
{
	(void)state;
	with_each_setup(xoff_steps);
}

static void each_xon_section_has_the_packet_that_ends_the_pause(void **state)
{
	(void)state;
	with_each_setup(xon_steps);
}

// Bytes of a queue, else cells. i: of a queue or a group.
enum mark { QUEUE, SHARED, HEADROOM, INGRESS_POOL, LOSSY_POOL, LOSSLESS_POOL };

static uint64_t mark(const struct run *r, enum mark which, unsigned i)
{
	const struct weir_switch *sw = r->b->sw;

	switch (which) {
	case QUEUE: return switch_watermark(sw, TO, WATERMARK_QUEUE, i);
	case SHARED: return switch_watermark(sw, FROM, WATERMARK_SHARED, i);
	case HEADROOM: return switch_watermark(sw, FROM, WATERMARK_HEADROOM, i);
	case INGRESS_POOL: return switch_pool(sw, POOL_INGRESS).max;
	case LOSSY_POOL: return switch_pool(sw, POOL_EGRESS_LOSSY).max;
	case LOSSLESS_POOL: return switch_pool(sw, POOL_EGRESS_LOSSLESS).max;
	}
	return 0;
}

// The mark is 0 after the packets of `fill`, then grows by a packet's cells up to packet `last`,
// and no further. On the side of arrival a lossy packet is charged before the queue drops it, so
// the marks there have that packet.
static void grows(struct run *r, const char *section, enum mark which, const char *fill_key,
		  unsigned last)
{
	unsigned unit = number(r, section, "cell_size"), size = number(r, section, "packet_size");
	unsigned cells = (size + unit - 1) / unit, fill = packets(r, section, fill_key);
	uint64_t each = which == QUEUE ? (uint64_t)cells * unit : cells;
	bool lossy = strstr(section, "lossy") != NULL && strstr(section, "pool_lossless") == NULL;
	unsigned i = which == SHARED || which == HEADROOM ? number(r, section, "pg")
		     : which == QUEUE			  ? number(r, section, "queue")
							  : 0;

	assert_true(last >= fill);
	begin(r);
	send_to(r, section, TO, fill);
	assert_int_equal(mark(r, which, i), 0);
	if (last > fill) {
		send_to(r, section, TO, 1);
		assert_int_equal(mark(r, which, i), each);
		send_to(r, section, TO, last - fill - 1);
	}
	assert_int_equal(mark(r, which, i), (last - fill) * each);
	send_to(r, section, TO, 3);
	if (lossy && (which == SHARED || which == INGRESS_POOL))
		last++;
	assert_int_equal(mark(r, which, i), (last - fill) * each);
	end(r);
}

static void watermark_steps(struct run *r, unsigned no)
{
	static const struct {
		const char *section, *fill, *last;
		enum mark which;
		unsigned before; // the last packet is so many before `last`
	} rows[] = {
		{"wm_pg_headroom", "pkts_num_trig_pfc", "pkts_num_trig_ingr_drp", HEADROOM, 1},
		{"wm_pg_shared_lossless", "pkts_num_fill_min", "pkts_num_trig_pfc", SHARED, 0},
		{"wm_q_shared_lossless", "pkts_num_fill_min", "pkts_num_trig_ingr_drp", QUEUE, 1},
		{"wm_pg_shared_lossy", "pkts_num_fill_min", "pkts_num_trig_egr_drp", SHARED, 1},
		{"wm_q_shared_lossy", "pkts_num_fill_min", "pkts_num_trig_egr_drp", QUEUE, 1},
		{"wm_buf_pool_lossless", "pkts_num_fill_ingr_min", "pkts_num_trig_pfc",
		 INGRESS_POOL, 0},
		{"wm_buf_pool_lossless", "pkts_num_fill_egr_min", "pkts_num_trig_ingr_drp",
		 LOSSLESS_POOL, 1},
		{"wm_buf_pool_lossy", "pkts_num_fill_ingr_min", "pkts_num_trig_egr_drp",
		 INGRESS_POOL, 1},
		{"wm_buf_pool_lossy", "pkts_num_fill_egr_min", "pkts_num_trig_egr_drp", LOSSY_POOL,
		 1},
	};

	for (size_t i = 0; no == 1 && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!r->random || section_of(r, rows[i].section) != NULL)
			grows(r, rows[i].section, rows[i].which, rows[i].fill,
			      packets(r, rows[i].section, rows[i].last) - rows[i].before);
}

static void each_watermark_grows_from_its_first_packet_to_its_last(void **state)
{
	(void)state;
	with_each_setup(watermark_steps);
}

static void lossy_steps(struct run *r, unsigned no)
{
	const char *s = "lossy_queue_1";

	if (no != 1 || (r->random && section_of(r, s) == NULL))
		return;
	begin(r);
	send_to(r, s, TO, packets(r, s, "pkts_num_trig_egr_drp") - 1);
	assert_int_equal(drops(r), 0);
	send_to(r, s, TO, 1);
	assert_int_equal(drops(r), 1);
	assert_int_equal(bench_drops(r->b, DROP_EGRESS_TAIL), 1);
	assert_int_equal(n_pfc(r), 0);
	end(r);
}

static void each_lossy_queue_drops_at_its_packet(void **state)
{
	(void)state;
	with_each_setup(lossy_steps);
}

// The place of the i-th number of a list.
static unsigned item(const struct run *r, const char *section, const char *key, unsigned i)
{
	char wanted[PATH_LEN];
	const char *at = section_of(r, section);

	assert_non_null(at);
	snprintf(wanted, sizeof(wanted), "%20s%s: [", "", key);
	at = strstr(at, wanted);
	assert_non_null(at);
	for (at = strchr(at, '['); i > 0; i--) {
		at = strpbrk(at + 1, ",]");
		assert_int_equal(*at, ',');
	}
	return (unsigned)strtoul(at + 1, NULL, 10);
}

static unsigned n_pools;

// XOFF of all groups, headroom of all groups, and the pool is full.
static void pool_steps(struct run *r, unsigned no)
{
	const char *s = "hdrm_pool_size";
	unsigned n, to, n_cls = section_of(r, "xoff_2") != NULL ? 2 : 1;
	uint64_t cell = number(r, "xoff_1", "cell_size");
	uint32_t c = (uint32_t)((number(r, "xoff_1", "packet_size") + cell - 1) / cell);

	if (no != 1 || section_of(r, s) == NULL)
		return;
	n_pools++;
	begin(r);
	n = number(r, s, "pgs_num");
	to = number(r, s, "dst_port_id");
	for (unsigned step = 0; step < 3; step++)
		for (unsigned i = step == 2 ? n - 1 : 0; i < n; i++) {
			unsigned from = item(r, s, "src_port_ids", i / n_cls);
			const struct bench_frame f = {
				.to = to,
				.dscp = (uint8_t)item(r, s, "dscps", i % n_cls),
				.ecn = 1,
				.len = 64,
			};
			unsigned hdrm = number(r, s, i + 1 < n ? "pkts_num_hdrm_full"
							       : "pkts_num_hdrm_partial");
			unsigned pfc = r->b->host[from].n_pfc;

			if (step == 0) {
				bench_inject(r->b, from, &f,
					     item(r, s, "pkts_num_trig_pfc_shp", i) / c - 1);
				assert_int_equal(r->b->host[from].n_pfc, pfc);
			}
			bench_inject(r->b, from, &f, step == 1 ? hdrm / c : 1);
			assert_true(step != 0 || r->b->host[from].n_pfc > pfc);
			assert_int_equal(drops(r), step == 2);
		}
	assert_int_equal(bench_drops(r->b, DROP_HEADROOM), 1);
	end(r);
}

static void the_headroom_pool_is_full_at_its_packet(void **state)
{
	(void)state;
	n_pools = 0;
	with_each_setup(pool_steps);
	assert_int_equal(n_pools, 2);
}

static unsigned n_marking;

static bool is_marked(const struct bench_rx *rx)
{
	return (rx->data[15] & 3) == 3; // TOS of an untagged IPv4 frame
}

static void ecn_steps(struct run *r, unsigned no)
{
	const char *s = "ecn_1";
	unsigned n, size;
	bool at_dequeue = false, certain = false;

	if (no != 1 || section_of(r, s) == NULL)
		return;
	n_marking++;
	n = number(r, s, "num_of_pkts");
	size = number(r, s, "packet_size");
	begin(r);
	for (unsigned q = 0; q < N_QUEUES; q++)
		at_dequeue |= r->b->policy->ports[TO].queue[q].wred.enabled &&
			      r->b->policy->ports[TO].queue[q].wred.mark_at_dequeue;
	send_to(r, s, TO, n);
	bench_tx(r->b, TO, -1, true);
	bench_run(r->b, 10000000);
	assert_int_equal(r->b->host[TO].n_rx, n);
	for (unsigned i = 0; i < n; i++) {
		uint64_t len = (uint64_t)size * (at_dequeue ? n - 1 - i : i);

		if (len <= number(r, s, "min_limit"))
			assert_false(is_marked(&r->b->host[TO].rx[i]));
		if (len <= number(r, s, "limit"))
			continue;
		assert_true(is_marked(&r->b->host[TO].rx[i]));
		certain = true;
	}
	assert_true(certain);
	assert_true((uint64_t)size * (n - 2) <= number(r, s, "limit"));
	end(r);
}

static void marks_begin_above_min_limit_and_are_certain_above_limit(void **state)
{
	(void)state;
	n_marking = 0;
	with_each_setup(ecn_steps);
	assert_int_equal(n_marking, 2);
}

// All queues end within `limit` packets.
static void wrr_steps(struct run *r, unsigned no)
{
	const char *s = "wrr";
	unsigned left[N_QUEUES] = {0}, total = 0, queues = 0;
	char key[PATH_LEN];

	if (no != 1 || (r->random && section_of(r, s) == NULL))
		return;
	assert_non_null(section_of(r, s));
	begin(r);
	for (unsigned q = 0; q < N_QUEUES; q++) {
		const struct bench_frame f = {
			.to = TO, .dscp = (uint8_t)(8 * q), .ecn = 1, .len = 1500};

		snprintf(key, sizeof(key), "q%u_num_of_pkts: ", q);
		if (strstr(section_of(r, s), key) == NULL)
			continue;
		snprintf(key, sizeof(key), "q%u_num_of_pkts", q);
		left[q] = number(r, s, key);
		total += left[q];
		queues++;
		bench_inject(r->b, FROM, &f, left[q]);
	}
	assert_true(queues > 1);
	assert_int_equal(drops(r), 0);
	assert_int_equal(n_pfc(r), 0);
	bench_tx(r->b, TO, -1, true);
	bench_run(r->b, 10000000);
	assert_int_equal(r->b->host[TO].n_rx, total);
	for (unsigned i = 0; i < total; i++) {
		unsigned q = r->b->host[TO].rx[i].data[15] >> 5;

		if (--left[q] == 0)
			assert_true(total - i - 1 < number(r, s, "limit"));
	}
	assert_true(r->random || number(r, s, "limit") <= total / 3);
	end(r);
}

static void queues_with_these_packets_end_together(void **state)
{
	(void)state;
	with_each_setup(wrr_steps);
}

// ---- random policies

static unsigned up_to(struct rng *rng, unsigned n)
{
	return rng_next(rng) % (n + 1);
}

static void draw_limit(struct rng *rng, char *to, size_t size, unsigned buffer_kb)
{
	static const char *const alphas[] = {"1/64", "1/8", "1/2", "1", "2", "16"};

	if (up_to(rng, 2) == 0)
		snprintf(to, size, "static: %uKB", 1 + up_to(rng, buffer_kb));
	else
		snprintf(to, size, "alpha: %s", alphas[up_to(rng, 5)]);
}

static struct setup drawn(struct rng *rng, char classes[CLASSES_LEN])
{
	static const unsigned cells[] = {32, 48, 64, 80, 96, 128, 208, 256, 1024};
	static const char *const pools[] = {"oversubscription: 1", "oversubscription: 2",
					    "oversubscription: 4"};
	struct setup s = {
		.cell = cells[up_to(rng, 8)],
		.buffer_kb = 200 + up_to(rng, 400),
		.buffer = pools[up_to(rng, 2)],
		.classes = classes,
	};
	char in[PATH_LEN], in_2[PATH_LEN], out[PATH_LEN];

	draw_limit(rng, in, sizeof(in), s.buffer_kb);
	draw_limit(rng, in_2, sizeof(in_2), s.buffer_kb);
	draw_limit(rng, out, sizeof(out), s.buffer_kb);
	snprintf(classes, CLASSES_LEN,
		 "      3: {lossless: true, ingress: {min: %u, %s, xon: %uKB, xon_offset: %uKB, "
		 "headroom: %u}, schedule: {dwrr: %u}}\n"
		 "      5: {lossless: true, ingress: {min: %u, %s, headroom: %u}}\n"
		 "      0: {egress: {min: %u, %s}, schedule: {dwrr: %u}}\n",
		 up_to(rng, 12000), in, up_to(rng, 20), up_to(rng, 20), 2000 + up_to(rng, 9000),
		 1 + up_to(rng, 60), up_to(rng, 3000), in_2, 2000 + up_to(rng, 9000),
		 up_to(rng, 6000), out, 1 + up_to(rng, 60));
	return s;
}

static void random_policies_have_exact_numbers(void **state)
{
	static steps_fn *const all[] = {xoff_steps, xon_steps, watermark_steps, lossy_steps,
					pool_steps, wrr_steps};
	struct rng rng;

	(void)state;
	rng_init(&rng, 22);
	n_pools = n_begun = 0;
	for (unsigned i = 0; i < RANDOM_POLICIES; i++) {
		char classes[CLASSES_LEN];
		struct setup s = drawn(&rng, classes);

		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
			with_setup(&s, true, all[k]);
	}
	assert_true(n_pools > 1);
	assert_true(n_begun > 14 * RANDOM_POLICIES); // of some 15
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_xoff_section_has_the_packets_of_pause_and_drop),
		cmocka_unit_test(each_xon_section_has_the_packet_that_ends_the_pause),
		cmocka_unit_test(each_watermark_grows_from_its_first_packet_to_its_last),
		cmocka_unit_test(each_lossy_queue_drops_at_its_packet),
		cmocka_unit_test(the_headroom_pool_is_full_at_its_packet),
		cmocka_unit_test(marks_begin_above_min_limit_and_are_certain_above_limit),
		cmocka_unit_test(queues_with_these_packets_end_together),
		cmocka_unit_test(random_policies_have_exact_numbers),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
