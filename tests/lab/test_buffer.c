// SPDX-License-Identifier: Apache-2.0
// Shared buffer and PFC thresholds of a whole switch, exact to the cell: conformance rows B1 to B8.
#include "dataplane/policy.h"
#include "tests/lab/bench.h"

#include <stdio.h>
#include <string.h>

static char yaml_text[4096];

struct setup {
	unsigned n_ports;
	unsigned cell;
	unsigned buffer_kb; // of 1000
	const char *min, *alpha, *xon_offset, *headroom; // as in YAML
	const char *headroom_pool;
	const char *more; // rows of the profile's classes
};

static const char *yaml(const struct setup *s)
{
	int n = snprintf(yaml_text, sizeof(yaml_text),
			 "switch: {name: b, buffer: {size: %uKB, cell: %uB, headroom_pool: %s}}\n"
			 "ports:\n  - {name: \"p[1-%u]\", device: \"wire:w[1-%u]\", speed: 10G, "
			 "mtu: 1500, profile: x}\nfdb:\n",
			 s->buffer_kb, s->cell, s->headroom_pool ? s->headroom_pool : "auto",
			 s->n_ports, s->n_ports);

	for (unsigned i = 1; i <= s->n_ports; i++)
		n += snprintf(yaml_text + n, sizeof(yaml_text) - (size_t)n,
			      "  - {mac: \"02:00:00:00:00:%02x\", port: p%u}\n", i, i);
	snprintf(yaml_text + n, sizeof(yaml_text) - (size_t)n,
		 "profiles:\n  x:\n    classes:\n      3: {lossless: true, ingress: {min: %s, "
		 "alpha: %s, xon_offset: %s, headroom: %s}}\n%s",
		 s->min, s->alpha, s->xon_offset, s->headroom, s->more ? s->more : "");
	return yaml_text;
}

static const struct setup usual = {
	.n_ports = 4,
	.cell = 256,
	.buffer_kb = 1000,
	.min = "0",
	.alpha = "1",
	.xon_offset = "0",
	.headroom = "20KB",
};

static struct bench_frame lossless_to(unsigned port, uint16_t len)
{
	return (struct bench_frame){.to = port, .dscp = 24, .len = len};
}

static uint64_t shared(const struct bench *b, unsigned port)
{
	return gauge_get(&switch_pg_state(b->sw, port, 3)->shared);
}

static uint64_t headroom(const struct bench *b, unsigned port)
{
	return gauge_get(&switch_pg_state(b->sw, port, 3)->headroom);
}

static uint32_t cells(const struct bench *b, unsigned len)
{
	return (len + b->policy->cell.bytes - 1) / b->policy->cell.bytes;
}

// Frames of c cells that fit into `shared` when T = num/den * (pool - shared - other).
static uint64_t predicted(uint64_t free_pool, uint64_t num, uint64_t den, uint32_t c)
{
	if (num * free_pool < (uint64_t)den * c)
		return 0;
	return (num * free_pool - (uint64_t)den * c) / ((num + den) * c) + 1;
}

// Fills (p1, class 3) towards TX-disabled p4 to the frame before XOFF. Returns the frames sent.
static uint64_t fill_to_xoff(struct bench *b, unsigned from, uint16_t len)
{
	struct bench_frame f = lossless_to(b->n_ports - 1, len);
	uint64_t n = 0;

	while (b->host[from].n_pfc == 0) {
		bench_inject(b, from, &f, 1);
		assert_true(++n < 20000);
	}
	return n - 1;
}

static void hosts_ignore_pause(struct bench *b)
{
	for (unsigned i = 0; i < b->n_ports; i++)
		b->host[i].obey_after_ns = UINT64_MAX;
}

static void b1_pause_leaves_on_exactly_the_predicted_frame(void **state)
{
	static const struct {
		const char *alpha;
		unsigned num, den;
		uint16_t len;
		const char *min;
		unsigned cell;
	} t[] = {
		{"1", 1, 1, 256, "0", 256},	  {"1", 1, 1, 1000, "0", 256},
		{"1", 1, 1, 257, "10KB", 256},	  {"1/8", 1, 8, 256, "0", 256},
		{"1/256", 1, 256, 256, "0", 256}, {"2", 2, 1, 700, "18KB", 256},
		{"8", 8, 1, 1514, "0", 208},	  {"128", 128, 1, 1514, "1KB", 96},
		{"1/2", 1, 2, 1514, "0", 1024},	  {"1/4", 1, 4, 64, "3KiB", 80},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct setup s = usual;
		struct bench *b;
		uint64_t want, pool;

		s.alpha = t[i].alpha;
		s.min = t[i].min;
		s.cell = t[i].cell;
		s.buffer_kb = 500;
		b = bench_open(yaml(&s), 0);
		hosts_ignore_pause(b);
		bench_tx(b, 3, -1, false);
		pool = b->policy->buffer.ingress_pool_cells;
		want = b->policy->ports[0].pg[3].min_cells / cells(b, t[i].len) +
		       predicted(pool, t[i].num, t[i].den, cells(b, t[i].len));
		assert_int_equal(fill_to_xoff(b, 0, t[i].len), want);
		assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
		assert_int_equal(headroom(b, 0), cells(b, t[i].len));
		bench_close(b);
	}
}

static void b1_static_threshold_is_exact(void **state)
{
	struct setup s = usual;
	struct bench *b;

	(void)state;
	s.alpha = "1, static: 25600";
	// `alpha` and `static` exclude each other, so the row is written by hand.
	yaml(&s);
	{
		char *at = strstr(yaml_text, "alpha: 1, ");

		assert_non_null(at);
		memmove(at, at + strlen("alpha: 1, "), strlen(at + strlen("alpha: 1, ")) + 1);
	}
	b = bench_open(yaml_text, 0);
	hosts_ignore_pause(b);
	bench_tx(b, 3, -1, false);
	assert_int_equal(fill_to_xoff(b, 0, 256), 100);
	bench_close(b);
}

static void b1_percent_thresholds_are_of_the_pool(void **state)
{
	struct setup s = usual;
	struct bench *b;

	(void)state;
	s.alpha = "1, static: 10%";
	yaml(&s);
	{
		char *at = strstr(yaml_text, "alpha: 1, ");

		memmove(at, at + strlen("alpha: 1, "), strlen(at + strlen("alpha: 1, ")) + 1);
	}
	b = bench_open(yaml_text, 0);
	hosts_ignore_pause(b);
	bench_tx(b, 3, -1, false);
	assert_int_equal(fill_to_xoff(b, 0, 256), b->policy->buffer.ingress_pool_cells / 10);
	bench_close(b);
}

static void b2_no_drop_until_headroom_is_full_then_only_of_that_group(void **state)
{
	struct bench *b = bench_open(yaml(&usual), 0);
	struct bench_frame f = lossless_to(3, 256);
	struct bench_frame other = {.to = 3, .dscp = 0, .len = 256};
	uint32_t xoff = b->policy->ports[0].pg[3].xoff_cells;

	(void)state;
	hosts_ignore_pause(b);
	bench_tx(b, 3, -1, false);
	fill_to_xoff(b, 0, 256);
	bench_inject(b, 0, &f, xoff - 1);
	assert_int_equal(headroom(b, 0), xoff);
	assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
	bench_inject(b, 0, &f, 1);
	assert_int_equal(bench_drops(b, DROP_HEADROOM), 1);
	assert_int_equal(ctr_get(&switch_drops(b->sw, 0, 3, DROP_HEADROOM)->packets), 1);
	bench_inject(b, 0, &f, 9);
	assert_int_equal(ctr_get(&switch_drops(b->sw, 0, 3, DROP_HEADROOM)->packets), 10);
	assert_int_equal(ctr_get(&switch_pg_counters(b->sw, 0, 3)->dropped_packets), 10);
	bench_inject(b, 1, &f, 1);
	bench_inject(b, 0, &other, 1);
	for (unsigned r = 0; r < N_DROP_REASONS; r++)
		assert_int_equal(bench_drops(b, r), r == DROP_HEADROOM ? 10 : 0);
	bench_control(b);
	for (unsigned i = 0, alarms = 0; i <= b->n_events; i++) {
		if (i == b->n_events)
			assert_int_equal(alarms, 10);
		else
			alarms += b->events[i].type == EVENT_LOSSLESS_DROP;
	}
	bench_close(b);
}

static void b2_xoff_is_refreshed_before_the_quanta_run_out(void **state)
{
	struct bench *b = bench_open(yaml(&usual), 0);
	uint64_t lifetime = b->policy->ports[0].pfc.lifetime_ns;
	const struct bench_host *h = &b->host[0];

	(void)state;
	hosts_ignore_pause(b);
	bench_tx(b, 3, -1, false);
	fill_to_xoff(b, 0, 1514);
	bench_run(b, 10 * lifetime);
	assert_true(h->n_pfc >= 20);
	for (unsigned i = 0; i < h->n_pfc; i++) {
		struct pfc_times t = bench_pfc_times(&h->pfc[i]);

		assert_int_equal(t.enable, 1 << 3);
		assert_int_equal(t.quanta[3], 65535);
		if (i > 0)
			assert_int_equal(h->pfc[i].t_ns - h->pfc[i - 1].t_ns, lifetime / 2);
	}
	bench_close(b);
}

// One source, three egress ports that hold its frames; drained one frame at a time.
static void xon_leaves_as_predicted(const char *xon_offset, uint64_t offset, uint64_t xon)
{
	struct setup s = usual;
	struct bench *b;
	uint64_t pool, left;

	s.xon_offset = xon_offset;
	b = bench_open(yaml(&s), 0);
	pool = b->policy->buffer.ingress_pool_cells;
	assert_int_equal(b->policy->ports[0].pg[3].xon_offset_cells, offset);
	hosts_ignore_pause(b);
	for (unsigned p = 1; p < 4; p++)
		bench_tx(b, p, -1, false);
	for (unsigned n = 0; b->host[0].n_pfc == 0; n++) {
		struct bench_frame f = lossless_to(1 + n % 3, 256);

		bench_inject(b, 0, &f, 1);
	}
	left = shared(b, 0);
	assert_int_equal(headroom(b, 0), 1);
	assert_true(left > xon);
	// Headroom goes first; then XON at the first `left` with left <= max(xon, T - offset).
	for (unsigned departed = 1; b->host[0].n_pfc == 1; departed++) {
		unsigned port = 1 + departed % 3;
		uint64_t sent = b->host[port].n_rx;

		assert_true(departed < 4000);
		bench_tx(b, port, -1, true);
		bench_tx(b, port, -1, false);
		bench_run(b, 500);
		assert_int_equal(b->host[port].n_rx, sent + 1);
		if (departed > 1)
			left--;
		if (left <= xon || left <= pool - left - offset)
			assert_int_equal(b->host[0].n_pfc, 2);
		else
			assert_int_equal(b->host[0].n_pfc, 1);
		assert_int_equal(shared(b, 0), left);
	}
	assert_int_equal(bench_pfc_times(&b->host[0].pfc[1]).enable, 1 << 3);
	assert_int_equal(bench_pfc_times(&b->host[0].pfc[1]).quanta[3], 0);
	assert_true(xon == 0 || left == xon);
	bench_close(b);
}

static void b3_xon_leaves_at_exactly_the_predicted_departure(void **state)
{
	(void)state;
	xon_leaves_as_predicted("5KB", 20, 0);
	xon_leaves_as_predicted("128000, xon: 430080", 500, 1680);
}

static void b4_groups_filled_one_after_another_halve_what_is_left(void **state)
{
	struct setup s = usual;
	struct bench *b;
	uint64_t left;

	(void)state;
	s.n_ports = 6;
	s.headroom = "2KB";
	b = bench_open(yaml(&s), 0);
	hosts_ignore_pause(b);
	bench_tx(b, 5, -1, false);
	left = b->policy->buffer.ingress_pool_cells;
	for (unsigned p = 0; p < 5; p++) {
		uint64_t want = predicted(left, 1, 1, 1);

		assert_int_equal(want, (left + 1) / 2);
		assert_int_equal(fill_to_xoff(b, p, 256), want);
		left -= want;
	}
	bench_close(b);
}

static void b4_equal_groups_stop_at_their_equal_share(void **state)
{
	struct setup s = usual;
	struct bench *b;
	struct bench_frame f = lossless_to(5, 256);
	uint64_t pool, want;
	unsigned paused = 0;

	(void)state;
	s.n_ports = 6;
	s.headroom = "2KB";
	s.alpha = "1/2";
	s.min = "2560";
	b = bench_open(yaml(&s), 0);
	hosts_ignore_pause(b);
	bench_tx(b, 5, -1, false);
	pool = b->policy->buffer.ingress_pool_cells;
	while (paused < 5) {
		paused = 0;
		for (unsigned p = 0; p < 5; p++) {
			if (b->host[p].n_pfc == 0)
				bench_inject(b, p, &f, 1);
			paused += b->host[p].n_pfc != 0;
		}
	}
	// a * B' / (1 + N a), with a frame's width of slack for the order within the round.
	want = pool / 2 * 2 / (2 + 5);
	for (unsigned p = 0; p < 5; p++) {
		assert_in_range(shared(b, p), want - 1, want + 1);
		assert_int_equal(gauge_get(&switch_pg_state(b->sw, p, 3)->min_used), 10);
	}
	bench_close(b);
}

static void b5_headroom_pool_is_shared_and_never_exceeded(void **state)
{
	struct setup s = usual;
	struct bench *b;
	struct bench_frame f = lossless_to(3, 256);
	uint64_t pool, cap, first_drop_at = 0;

	(void)state;
	s.headroom_pool = "38400"; // 150 cells for 4 groups of 79
	b = bench_open(yaml(&s), 0);
	hosts_ignore_pause(b);
	bench_tx(b, 3, -1, false);
	pool = b->policy->buffer.headroom_pool_cells;
	cap = b->policy->ports[0].pg[3].xoff_cells;
	assert_int_equal(pool, 150);
	for (unsigned p = 0; p < 3; p++)
		fill_to_xoff(b, p, 256);
	for (unsigned n = 0; n < 3 * cap && first_drop_at == 0; n++) {
		bench_inject(b, n % 3, &f, 1);
		if (bench_drops(b, DROP_HEADROOM) != 0)
			first_drop_at = n;
		assert_true(switch_pool(b->sw, POOL_HEADROOM).used <= pool);
		assert_true(headroom(b, n % 3) <= cap);
	}
	assert_int_equal(first_drop_at, pool - 3); // three frames entered when XOFF was reached
	assert_int_equal(switch_pool(b->sw, POOL_HEADROOM).max, pool);
	bench_close(b);
}

static void b5_a_group_is_capped_at_its_own_headroom(void **state)
{
	struct bench *b = bench_open(yaml(&usual), 0);
	struct bench_frame f = lossless_to(3, 256);
	uint64_t cap = b->policy->ports[0].pg[3].xoff_cells;

	(void)state;
	assert_int_equal(cap, (20000 + 255) / 256);
	hosts_ignore_pause(b);
	bench_tx(b, 3, -1, false);
	fill_to_xoff(b, 0, 256);
	bench_inject(b, 0, &f, (unsigned)cap + 10);
	assert_int_equal(headroom(b, 0), cap);
	assert_int_equal(bench_drops(b, DROP_HEADROOM), 11);
	bench_close(b);
}

static void b6_watermarks_equal_the_fill_and_stop_at_the_limit(void **state)
{
	struct bench *b = bench_open(yaml(&usual), 0);
	struct bench_frame f = lossless_to(3, 256);
	const struct pg_state *pg = switch_pg_state(b->sw, 0, 3);
	const gauge_t *longest = &switch_pfc_tx(b->sw, 0)->stats[3].longest_ns;
	const gauge_t *queued = &switch_queue_counters(b->sw, 3, 3)->max_bytes;
	uint64_t limit = predicted(b->policy->buffer.ingress_pool_cells, 1, 1, 1);
	uint64_t cap = b->policy->ports[0].pg[3].xoff_cells;
	uint64_t sent = 0;

	(void)state;
	hosts_ignore_pause(b);
	bench_tx(b, 3, -1, false);
	for (unsigned quarter = 1; quarter <= 4; quarter++) {
		bench_inject(b, 0, &f, (unsigned)(limit * quarter / 4 - sent));
		sent = limit * quarter / 4;
		assert_int_equal(gauge_get(&pg->max_shared), sent);
		assert_int_equal(gauge_get(&switch_queue_counters(b->sw, 3, 3)->max_bytes),
				 sent * 256);
		assert_int_equal(switch_pool(b->sw, POOL_INGRESS).max, sent);
		assert_int_equal(switch_pool(b->sw, POOL_EGRESS_LOSSLESS).used, sent);
	}
	bench_inject(b, 0, &f, (unsigned)cap + 50);
	assert_int_equal(gauge_get(&pg->max_shared), limit);
	assert_int_equal(gauge_get(&pg->max_headroom), cap);
	assert_int_equal(gauge_get(queued), (limit + cap) * 256);
	assert_int_equal(switch_pool(b->sw, POOL_INGRESS).max, limit);
	// The lossless egress pool has headroom in it, too, and room for all of the buffer.
	assert_int_equal(switch_pool(b->sw, POOL_EGRESS_LOSSLESS).max, limit + cap);
	assert_int_equal(switch_pool(b->sw, POOL_EGRESS_LOSSLESS).size,
			 b->policy->buffer.total_cells);
	assert_int_equal(switch_pool(b->sw, POOL_EGRESS_LOSSY).max, 0);
	bench_tx(b, 3, -1, true);
	bench_run(b, 10000000);
	assert_int_equal(gauge_get(&pg->max_shared), limit);
	assert_int_not_equal(gauge_get(longest), 0);
	switch_clear_watermarks(b->sw);
	actor_poke(&b->actor);
	bench_run(b, 1);
	assert_int_equal(gauge_get(&pg->max_shared), 0);
	assert_int_equal(gauge_get(&pg->max_headroom), 0);
	assert_int_equal(switch_pool(b->sw, POOL_INGRESS).max, 0);
	assert_int_equal(switch_pool(b->sw, POOL_EGRESS_LOSSLESS).max, 0);
	assert_int_equal(gauge_get(longest), 0);
	assert_int_equal(gauge_get(queued), 0);
	assert_int_equal(switch_pool(b->sw, POOL_HEADROOM).max, 0);
	// They rise again, and a clear of a full buffer starts them at what is in it.
	bench_tx(b, 3, -1, false);
	bench_inject(b, 0, &f, (unsigned)(limit + cap));
	assert_int_equal(gauge_get(&pg->max_shared), limit);
	assert_int_equal(gauge_get(&pg->max_headroom), cap);
	switch_clear_watermarks(b->sw);
	actor_poke(&b->actor);
	bench_run(b, 1);
	assert_int_equal(gauge_get(&pg->max_shared), limit);
	assert_int_equal(gauge_get(&pg->max_headroom), cap);
	assert_int_equal(gauge_get(queued), (limit + cap) * 256);
	assert_int_equal(switch_pool(b->sw, POOL_INGRESS).max, limit);
	assert_int_equal(switch_pool(b->sw, POOL_EGRESS_LOSSLESS).max, limit + cap);
	assert_int_equal(switch_pool(b->sw, POOL_HEADROOM).max, cap);
	bench_close(b);
}

static void
b7_lossy_class_drops_at_egress_on_the_predicted_frame(void **state)
{
	struct setup s = usual;
	struct bench *b;
	struct bench_frame lossy = {.to = 3, .dscp = 0, .len = 500};
	struct bench_frame f = lossless_to(3, 256);
	uint64_t fits;

	(void)state;
	s.more = "      0: {egress: {min: 1KB, alpha: 1/4}}\n";
	b = bench_open(yaml(&s), 0);
	bench_tx(b, 3, -1, false);
	fits = 2 + predicted(b->policy->buffer.egress_lossy_cells, 1, 4, 2); // min: 4 cells
	bench_inject(b, 0, &lossy, (unsigned)fits);
	assert_int_equal(bench_drops(b, DROP_EGRESS_TAIL), 0);
	bench_inject(b, 0, &lossy, 5);
	assert_int_equal(bench_drops(b, DROP_EGRESS_TAIL), 5);
	assert_int_equal(ctr_get(&switch_queue_counters(b->sw, 3, 0)->dropped_packets), 5);
	bench_inject(b, 1, &f, 100);
	for (unsigned p = 0; p < 4; p++)
		assert_int_equal(b->host[p].n_pfc, 0);
	assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
	// What egress dropped is no charge at ingress.
	assert_int_equal(pg_used(switch_pg_state(b->sw, 0, 0)), 2 * fits);
	bench_tx(b, 3, -1, true);
	bench_run(b, 20000000);
	assert_int_equal(b->host[3].n_rx, fits + 100);
	bench_close(b);
}

static void b7_lossy_group_beyond_its_ingress_limit_drops_there(void **state)
{
	struct setup s = usual;
	struct bench *b;
	struct bench_frame lossy = {.to = 3, .dscp = 8, .len = 256};

	(void)state;
	s.more = "      1: {ingress: {static: 25600}}\n";
	b = bench_open(yaml(&s), 0);
	bench_tx(b, 3, -1, false);
	bench_inject(b, 0, &lossy, 100);
	assert_int_equal(bench_drops(b, DROP_INGRESS_POOL), 0);
	bench_inject(b, 0, &lossy, 7);
	assert_int_equal(bench_drops(b, DROP_INGRESS_POOL), 7);
	assert_int_equal(b->host[0].n_pfc, 0);
	bench_close(b);
}

static void b8_all_leaves_in_order_and_every_use_returns_to_zero(void **state)
{
	struct bench *b = bench_open(yaml(&usual), 0);
	uint64_t xoff = b->policy->ports[0].pg[3].xoff_cells;
	uint32_t n = 0;

	(void)state;
	hosts_ignore_pause(b);
	bench_tx(b, 3, -1, false);
	while (headroom(b, 0) < xoff) {
		struct bench_frame f = lossless_to(3, 256);

		f.seq = n++;
		bench_inject(b, 0, &f, 1);
	}
	bench_tx(b, 3, -1, true);
	bench_run(b, 20000000);
	assert_int_equal(b->host[3].n_rx, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(bench_seq(&b->host[3].rx[i]), i);
	assert_int_equal(pg_used(switch_pg_state(b->sw, 0, 3)), 0);
	for (unsigned pool = 0; pool < N_POOLS; pool++)
		assert_int_equal(switch_pool(b->sw, pool).used, 0);
	assert_int_equal(gauge_get(&switch_queue_counters(b->sw, 3, 3)->length_bytes), 0);
	assert_int_equal(switch_balance(b->sw).queued, 0);
	assert_int_equal(
		bench_pfc_times(&b->host[0].pfc[b->host[0].n_pfc - 1]).quanta[3], 0);
	n = b->host[0].n_pfc;
	bench_run(b, 100000000);
	assert_int_equal(b->host[0].n_pfc, n);
	bench_close(b);
}

static void overrides_of_a_port_and_class_hold_there_only(void **state)
{
	struct setup s = usual;
	struct bench *b;
	char *at;

	(void)state;
	yaml(&s);
	at = strstr(yaml_text, "fdb:\n");
	{
		char rest[2048];

		snprintf(rest, sizeof(rest), "%s", at);
		snprintf(at, sizeof(yaml_text) - (size_t)(at - yaml_text),
			 "  - {name: p9, device: \"wire:w9\", speed: 10G, profile: x, classes: {3: "
			 "{ingress: {min: 2560, alpha: 1/4, headroom: 10KB}}}}\n%s",
			 rest);
	}
	b = bench_open(yaml_text, 0);
	hosts_ignore_pause(b);
	assert_int_equal(b->policy->ports[4].pg[3].min_cells, 10);
	assert_int_equal(b->policy->ports[4].pg[3].xoff_cells, 40);
	assert_int_equal(b->policy->ports[0].pg[3].xoff_cells, 79);
	bench_tx(b, 3, -1, false);
	{
		struct bench_frame f = lossless_to(3, 256);
		uint64_t n = 0;

		while (b->host[4].n_pfc == 0) {
			bench_inject(b, 4, &f, 1);
			n++;
		}
		assert_int_equal(n - 1,
				 10 + predicted(b->policy->buffer.ingress_pool_cells, 1, 4, 1));
	}
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(b1_pause_leaves_on_exactly_the_predicted_frame),
		cmocka_unit_test(b1_static_threshold_is_exact),
		cmocka_unit_test(b1_percent_thresholds_are_of_the_pool),
		cmocka_unit_test(
			b2_no_drop_until_headroom_is_full_then_only_of_that_group),
		cmocka_unit_test(b2_xoff_is_refreshed_before_the_quanta_run_out),
		cmocka_unit_test(b3_xon_leaves_at_exactly_the_predicted_departure),
		cmocka_unit_test(b4_groups_filled_one_after_another_halve_what_is_left),
		cmocka_unit_test(b4_equal_groups_stop_at_their_equal_share),
		cmocka_unit_test(b5_headroom_pool_is_shared_and_never_exceeded),
		cmocka_unit_test(b5_a_group_is_capped_at_its_own_headroom),
		cmocka_unit_test(b6_watermarks_equal_the_fill_and_stop_at_the_limit),
		cmocka_unit_test(
			b7_lossy_class_drops_at_egress_on_the_predicted_frame),
		cmocka_unit_test(b7_lossy_group_beyond_its_ingress_limit_drops_there),
		cmocka_unit_test(b8_all_leaves_in_order_and_every_use_returns_to_zero),
		cmocka_unit_test(overrides_of_a_port_and_class_hold_there_only),
	};

	return cmocka_run_group_tests_name("buffer", tests, bench_eal, NULL);
}
