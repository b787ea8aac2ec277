// SPDX-License-Identifier: Apache-2.0
// weir-probe against switches on the virtual clock. It sees frames and times alone; what it finds
// must be what `weirctl plan --json` says, to the cell, and times must lie within their bounds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "control/config/plan.h"
#include "control/probe/measure.h"
#include "control/probe/wire_run.h"
#include "dataplane/base/units.h"
#include "tests/eal.h"

enum { POOL_FRAMES = 40000, MOST = 30000, PORTS = 3 };

static struct rte_mempool *pool;

static int start(void **state)
{
	static char *argv[] = {"test", "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry",
			       "--log-level=critical", "-m", "256", "-l", "0", NULL};

	(void)state;
	if (eal_init_unbound(10, argv) < 0)
		return -1;
	pool = rte_pktmbuf_pool_create("probe", POOL_FRAMES, 0, 0, 2048 + 128, SOCKET_ID_ANY);
	return pool == NULL ? -1 : 0;
}

// ---- a policy, its plan, and a probe of it

struct bench {
	struct config *config;
	struct json_object *plan;
	struct wire_run *run;
	struct probe probe;
	struct probe_result results[PROBE_N_MEASURES];
};

// A policy of three ports.
struct row {
	const char *cell, *buffer, *speed, *cable;
	const char *pool; // keys of the buffer
	const char *ingress; // of class 3
	const char *wred; // of class 3
	const char *more; // keys of the profile
	const char *lossy; // egress of class 0
};

static const char *yaml(const struct row *r)
{
	static char text[4096];
	static unsigned n;

	snprintf(text, sizeof(text),
		 "switch: {name: probe%u, buffer: {size: %s, cell: %s%s}}\n"
		 "ports:\n  - {name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: %s, cable: %s, "
		 "mtu: 1500, profile: x}\n"
		 "profiles:\n  x:\n%s    classes:\n"
		 "      0: {schedule: {dwrr: 25}, egress: %s}\n"
		 "      3: {lossless: true, schedule: {dwrr: 75}, ingress: %s, wred: %s}\n",
		 n++, r->buffer, r->cell, r->pool, r->speed, r->cable, r->more, r->lossy,
		 r->ingress, r->wred);
	return text;
}

static struct json_object *plan_of(const struct config *c)
{
	struct json_object *plan;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(plan_print(c, true, NULL, f), 0);
	fclose(f);
	plan = json_tokener_parse(text);
	assert_non_null(plan);
	free(text);
	return plan;
}

static void open_bench(struct bench *b, const char *text, struct probe_conf conf, uint64_t delay_ns)
{
	const struct wire_run_opts o = {
		.port = {0, 1, 2}, .third = true, .delay_ns = delay_ns, .seed = 1};
	struct diags d = {0};
	struct probe_io io;

	*b = (struct bench){0};
	if (config_parse("probe.yaml", text, strlen(text), &b->config, &d) != 0 ||
	    wire_run_open(b->config, &o, pool, &b->run, &d) != 0)
		fail_msg("%s", d.n != 0 ? d.lines[0] : "no switch");
	diags_fini(&d);
	b->plan = plan_of(b->config);
	wire_run_conf(b->run, &conf);
	for (int c = 0; c < PROBE_CLASSES; c++)
		conf.dscp[c] = 8 * c;
	conf.vlan = PROBE_NO_TAG;
	conf.most = MOST;
	conf.quanta = 65535;
	conf.storm_ns = SECOND_NS;
	io = wire_run_io(b->run);
	assert_int_equal(probe_init(&b->probe, &conf, &io), 0);
	wire_run_bind(b->run, &b->probe);
}

static void close_bench(struct bench *b)
{
	probe_fini(&b->probe);
	wire_run_close(b->run);
	config_destroy(b->config);
	json_object_put(b->plan);
}

// The names are those of the command line.
static void measure(struct bench *b, const char *names)
{
	unsigned which = 0;
	char copy[128], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", names);
	for (char *n = strtok_r(copy, " ", &save); n != NULL; n = strtok_r(NULL, " ", &save)) {
		assert_true(probe_measure_find(n) >= 0);
		which |= 1u << probe_measure_find(n);
	}
	if (probe_measure_all(&b->probe, which, b->results) != 0)
		for (unsigned i = 0; i < PROBE_N_MEASURES; i++)
			if (b->results[i].why[0] != '\0')
				fail_msg("%s: %s", probe_measures[i].name, b->results[i].why);
}

// A number of the plan: the first row of the list with the class or queue.
static int64_t planned(const struct bench *b, const char *list, const char *key, int is,
		       const char *number)
{
	struct json_object *rows = json_object_object_get(b->plan, list);

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (json_object_get_int(json_object_object_get(row, key)) == is)
			return json_object_get_int64(json_object_object_get(row, number));
	}
	fail_msg("the plan has no %s of %s %d", number, key, is);
	return -1;
}

static int64_t of_group(const struct bench *b, const char *number)
{
	return planned(b, "pgs", "class", 3, number);
}

static void exactly(const struct bench *b, enum probe_value_id id, int64_t want)
{
	const struct probe_value *v = &b->probe.value[id];

	if (!v->given || v->value != want || v->low != want || v->high != want)
		fail_msg("value %d is %ld (%ld..%ld), not %ld", id, v->value, v->low, v->high,
			 want);
}

// ---- thresholds

static const struct row policies[] = {
	// SONiC's usual profile: alpha and an offset; min of its own.
	{"256B", "1MB", "40G", "5m", "", "{min: 18KB, alpha: 1, xon_offset: 18KB}",
	 "{ecn: on, kmin: 51200B, kmax: 56320B, pmax: 100%, mark_at: enqueue}", "",
	 "{min: 0, alpha: 1}"},
	// A static threshold, no min.
	{"208B", "800KB", "100G", "40m", "",
	 "{min: 0, static: 60KB, xon: 20KB, headroom: 30KB}",
	 "{ecn: on, kmin: 20800B, kmax: 24960B, pmax: 50%, mark_at: dequeue}", "",
	 "{min: 2KB, static: 50KB}"},
	// A small alpha in cells of a Spectrum switch.
	{"144B", "2MB", "25G", "300m", "", "{min: 4KB, alpha: 1/8, xon_offset: 2304B}",
	 "{ecn: on, kmin: 14400B, kmax: 14400B, pmax: 100%, mark_at: enqueue}", "",
	 "{min: 1KB, alpha: 1/4}"},
	// A headroom pool that three groups share.
	{"384B", "1MB", "100G", "40m", ", headroom_pool: 70KB",
	 "{min: 1KB, alpha: 4, xon_offset: 10KB, headroom: 60KB}",
	 "{ecn: on, kmin: 38400B, kmax: 46080B, pmax: 20%, mark_at: enqueue}", "",
	 "{min: 0, alpha: 8}"},
};

static int64_t headroom_of(const struct bench *b)
{
	struct json_object *pools = json_object_object_get(b->plan, "pools");
	int64_t of = of_group(b, "headroom_bytes"), all = 0;
	int64_t cell = json_object_get_int64(json_object_object_get(b->plan, "cell_bytes"));

	for (size_t i = 0; i < json_object_array_length(pools); i++) {
		struct json_object *p = json_object_array_get_idx(pools, i);

		if (strcmp(json_object_get_string(json_object_object_get(p, "name")), "headroom") ==
		    0)
			all = json_object_get_int64(json_object_object_get(p, "size_bytes"));
	}
	of = (of + cell - 1) / cell * cell;
	return of < all ? of : all;
}

static void every_threshold_of_four_policies_is_found_to_the_cell(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		struct bench b;
		int64_t cell;

		open_bench(&b, yaml(&policies[i]), (struct probe_conf){.cls = 3, .passes = 1}, 0);
		b.probe.conf.min_bytes = (uint64_t)of_group(&b, "min_bytes");
		measure(&b, "cell xoff shared xon headroom");
		cell = json_object_get_int64(json_object_object_get(b.plan, "cell_bytes"));
		exactly(&b, PROBE_CELL, cell);
		exactly(&b, PROBE_XOFF_BYTES, of_group(&b, "xoff_alone_bytes"));
		exactly(&b, PROBE_XOFF_CELLS, of_group(&b, "xoff_alone_bytes") / cell);
		exactly(&b, PROBE_XON_BYTES, of_group(&b, "xon_alone_bytes"));
		exactly(&b, PROBE_HEADROOM_BYTES, headroom_of(&b));
		exactly(&b, PROBE_SHARED_BYTES,
			of_group(&b, "xoff_alone_bytes") - of_group(&b, "min_bytes"));
		close_bench(&b);
	}
}

static void marking_curves_are_found_to_the_cell(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		const struct probe_value *v;
		struct bench b;
		int64_t cell, kmin, kmax, pmax;

		open_bench(&b, yaml(&policies[i]), (struct probe_conf){.cls = 3, .passes = 600}, 0);
		cell = json_object_get_int64(json_object_object_get(b.plan, "cell_bytes"));
		b.probe.conf.cell_bytes = (uint64_t)cell;
		measure(&b, "ecn");
		v = b.probe.value;
		kmin = planned(&b, "queues", "queue", 3, "kmin_bytes");
		kmax = planned(&b, "queues", "queue", 3, "kmax_bytes");
		pmax = planned(&b, "queues", "queue", 3, "pmax_ppm");
		assert_int_equal(v[PROBE_KMIN].value, kmin);
		assert_int_equal(v[PROBE_KMAX].value, kmax);
		assert_in_range(kmin, v[PROBE_KMIN].low, v[PROBE_KMIN].high);
		assert_in_range(kmax, v[PROBE_KMAX].low, v[PROBE_KMAX].high);
		assert_in_range(pmax, v[PROBE_PMAX].low, v[PROBE_PMAX].high);
		assert_string_equal(b.probe.word[PROBE_KMIN], i == 1 ? "at dequeue" : "at enqueue");
		close_bench(&b);
	}
}

static void the_limit_of_a_lossy_queue_is_found_to_the_cell(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		struct bench b;
		int64_t cell;

		open_bench(&b, yaml(&policies[i]),
			   (struct probe_conf){.cls = 0, .hold = PROBE_HOLD_ORDER}, 0);
		cell = json_object_get_int64(json_object_object_get(b.plan, "cell_bytes"));
		b.probe.conf.cell_bytes = (uint64_t)cell;
		measure(&b, "limit");
		exactly(&b, PROBE_LIMIT_BYTES,
			planned(&b, "queues", "queue", 0, "limit_alone_bytes"));
		close_bench(&b);
	}
}

static void congestion_bounds_the_limit_of_a_lossy_queue(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		const struct probe_value *v;
		struct bench b;
		int64_t cell, want;

		open_bench(&b, yaml(&policies[i]),
			   (struct probe_conf){.cls = 0, .hold = PROBE_HOLD_CONGESTION}, 0);
		cell = json_object_get_int64(json_object_object_get(b.plan, "cell_bytes"));
		b.probe.conf.cell_bytes = (uint64_t)cell;
		measure(&b, "limit");
		want = planned(&b, "queues", "queue", 0, "limit_alone_bytes");
		v = &b.probe.value[PROBE_LIMIT_BYTES];
		assert_in_range(want, v->low, v->high);
		assert_in_range(v->high - v->low, 0, 8 * 1536);
		close_bench(&b);
	}
}

static void the_threshold_beside_a_full_group_tells_alpha_and_pool(void **state)
{
	static const struct {
		const char *word;
		int alpha_log2; // 99: none
	} want[] = {{"follows the free pool", 0},
		    {"static", 99},
		    {"follows the free pool", -3},
		    {"follows the free pool", 2}};

	(void)state;
	for (unsigned i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		const struct probe_value *v;
		struct json_object *rows;
		struct bench b;
		int64_t size = 0;

		open_bench(&b, yaml(&policies[i]), (struct probe_conf){.cls = 3}, 0);
		b.probe.conf.min_bytes = (uint64_t)of_group(&b, "min_bytes");
		measure(&b, "cell xoff shared");
		v = b.probe.value;
		assert_string_equal(b.probe.word[PROBE_SHARED_BYTES], want[i].word);
		assert_int_equal(v[PROBE_ALPHA].given, want[i].alpha_log2 != 99);
		rows = json_object_object_get(b.plan, "pools");
		for (size_t k = 0; k < json_object_array_length(rows); k++) {
			struct json_object *p = json_object_array_get_idx(rows, k);

			if (strcmp(json_object_get_string(json_object_object_get(p, "name")),
				   "ingress") == 0)
				size = json_object_get_int64(
					json_object_object_get(p, "size_bytes"));
		}
		if (v[PROBE_ALPHA].given) {
			exactly(&b, PROBE_ALPHA, want[i].alpha_log2);
			assert_in_range(size, v[PROBE_POOL_BYTES].low, v[PROBE_POOL_BYTES].high);
		}
		close_bench(&b);
	}
}

static void xon_by_two_ports_is_found_by_time(void **state)
{
	struct bench b;
	int64_t want, cell = 256;

	(void)state;
	open_bench(&b, yaml(&policies[0]), (struct probe_conf){.cls = 3, .cell_bytes = 256}, 0);
	b.probe.conf.third = false;
	measure(&b, "xoff xon");
	want = of_group(&b, "xon_alone_bytes");
	assert_in_range(b.probe.value[PROBE_XON_BYTES].value, want - cell, want + cell);
	close_bench(&b);
}

// ---- shares and times

static void shares_are_those_of_the_policy(void **state)
{
	const struct probe_value *v;
	struct bench b;

	(void)state;
	open_bench(&b, yaml(&policies[0]),
		   (struct probe_conf){.cls = 3, .cell_bytes = 256, .hold = PROBE_HOLD_ORDER,
				       .n_classes = 2, .classes = {0, 3}}, 0);
	measure(&b, "xoff dwrr");
	v = b.probe.value;
	assert_in_range(250000, v[PROBE_SHARE_0].low, v[PROBE_SHARE_0].high);
	assert_in_range(750000, v[PROBE_SHARE_3].low, v[PROBE_SHARE_3].high);
	assert_in_range(v[PROBE_SHARE_3].high - v[PROBE_SHARE_3].low, 1, 80000);
	close_bench(&b);
}

// The switch obeys when the PAUSE has arrived. The frame that is on the wire then comes whole.
static void the_reaction_to_pause_lies_within_its_bounds(void **state)
{
	static const uint64_t delays[] = {0, 500, 20000};

	(void)state;
	for (unsigned i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		const struct probe_value *v;
		uint64_t obeys, frame;
		struct bench b;

		open_bench(&b, yaml(&policies[1]), (struct probe_conf){.cls = 3}, delays[i]);
		measure(&b, "reaction");
		v = &b.probe.value[PROBE_REACTION];
		frame = probe_wire_ns(&b.probe, PROBE_RX, PROBE_LEN_MAX);
		obeys = probe_wire_ns(&b.probe, PROBE_RX, 60) + delays[i];
		assert_in_range(obeys + delays[i], v->low, v->high);
		assert_in_range(v->high - v->low, 0, 2 * frame + 2);
		close_bench(&b);
	}
}

static void watchdog_times_lie_within_their_bounds(void **state)
{
	static const struct {
		const char *keys, *act, *restored;
		int64_t detect_ns, restore_ns;
		uint64_t delay_ns;
	} rows[] = {
		{"mode: progress, action: drop, detect: 100ms, restore: 130ms", "discards",
		 "progress", 100 * MS_NS, 130 * MS_NS, 0},
		{"mode: xoff, action: drop, detect: 120ms, restore: 100ms", "discards", "xoff",
		 120 * MS_NS, 100 * MS_NS, 1000},
		{"mode: progress, action: forward, detect: 105ms, restore: 100ms", "forwards", NULL,
		 105 * MS_NS, 0, 500},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct row r = policies[0];
		const struct probe_value *d, *s;
		struct bench b;
		char more[256];

		snprintf(more, sizeof(more), "    watchdog: {%s}\n", rows[i].keys);
		r.more = more;
		open_bench(&b, yaml(&r), (struct probe_conf){.cls = 3}, rows[i].delay_ns);
		measure(&b, "watchdog");
		d = &b.probe.value[PROBE_DETECT];
		s = &b.probe.value[PROBE_RESTORE];
		assert_in_range(rows[i].detect_ns, d->low, d->high);
		assert_in_range(d->high - d->low, 0, 100 * US_NS);
		assert_string_equal(b.probe.word[PROBE_DETECT], rows[i].act);
		assert_int_equal(s->given, rows[i].restored != NULL);
		if (s->given) {
			assert_in_range(rows[i].restore_ns, s->low, s->high);
			assert_in_range(s->high - s->low, 0, MS_NS);
			assert_non_null(strstr(b.probe.word[PROBE_RESTORE], rows[i].restored));
		}
		close_bench(&b);
	}
}

// ---- devices that answer less

static void refused(const struct bench *b, const char *name, enum probe_verdict verdict,
		    const char *why)
{
	const struct probe_result *r = &b->results[probe_measure_find(name)];

	assert_int_equal(r->verdict, verdict);
	if (strstr(r->why, why) == NULL)
		fail_msg("%s: \"%s\" lacks \"%s\"", name, r->why, why);
}

static void a_device_that_ignores_pause_does_not_answer_pfc(void **state)
{
	struct row r = policies[0];
	struct bench b;

	(void)state;
	r.more = "    pfc: {rx: off}\n";
	open_bench(&b, yaml(&r), (struct probe_conf){.cls = 3}, 0);
	assert_int_equal(probe_measure_all(&b.probe, ~0u, b.results), PROBE_N_MEASURES);
	for (unsigned i = 0; i < PROBE_N_MEASURES; i++)
		refused(&b, probe_measures[i].name, PROBE_NO_ANSWER,
			"class 3 must be lossless; a port above ");
	close_bench(&b);
}

static void a_device_that_sends_no_pause_is_told_from_a_lossless_one(void **state)
{
	struct row r = policies[0];
	struct bench b;

	(void)state;
	r.more = "    pfc: {tx: off}\n";
	open_bench(&b, yaml(&r), (struct probe_conf){.cls = 3, .cell_bytes = 256}, 0);
	assert_int_equal(probe_measure_all(&b.probe, 1u << probe_measure_find("xoff"), b.results),
			 1);
	refused(&b, "xoff", PROBE_CANNOT, "was lost and no PAUSE came");
	close_bench(&b);
}

static void a_watchdog_that_ends_the_hold_is_no_threshold(void **state)
{
	struct row r = policies[0];
	struct bench b;

	(void)state;
	r.more = "    watchdog: {detect: 100ms, restore: 100ms}\n";
	open_bench(&b, yaml(&r), (struct probe_conf){.cls = 3}, 0);
	b.probe.conf.interval_ns = 100 * US_NS;
	assert_int_equal(probe_measure_all(&b.probe, 1u << probe_measure_find("xoff"), b.results),
			 1);
	refused(&b, "xoff", PROBE_CANNOT, "watchdog");
	assert_false(b.probe.value[PROBE_XOFF_FRAMES].given);
	probe_run(&b.probe, SECOND_NS); // the class is restored
	assert_int_equal(probe_measure_all(&b.probe, 1u << probe_measure_find("limit"), b.results),
			 1);
	refused(&b, "limit", PROBE_CANNOT, "watchdog");
	close_bench(&b);
}

// ---- a veth link, a late probe, trials that disagree

// In place of the runner's own function.
static struct {
	struct probe_io io;
	struct probe *probe;
	uint64_t turn_ns; // of a late probe
	uint32_t trial; // that was falsified
} odd;

static void set_odd(struct bench *b, void (*run)(void *of, uint64_t until_ns))
{
	odd.io = b->probe.io;
	odd.probe = &b->probe;
	odd.turn_ns = 0;
	odd.trial = 0;
	b->probe.io.run = run;
}

static struct probe_pfc *pfc_of_device(void)
{
	return &odd.probe->pfc[PROBE_TX][3];
}

// A veth link says 10G, and a live probe waits 20 ms.
static void open_behind_veth(struct bench *b, const char *speed, const char *ingress)
{
	struct row r = policies[1];

	r.speed = speed;
	r.ingress = ingress;
	r.cell = "256B";
	open_bench(b, yaml(&r), (struct probe_conf){.cls = 3, .cell_bytes = 256}, 0);
	b->probe.conf.speed_known = false;
	for (unsigned i = 0; i < PROBE_PORTS; i++)
		b->probe.conf.speed_bps[i] = 10000000000;
	b->probe.conf.settle_ns = 20 * MS_NS;
	b->probe.conf.interval_ns = 10 * US_NS;
}

static const char STATIC[] = "{min: 0, static: 60KB, xon: 20KB, headroom: 30KB}";

static void a_device_of_another_speed_than_its_link_is_measured(void **state)
{
	static const struct {
		const char *text;
		uint64_t bps;
	} speeds[] = {{"10M", 10000000},	{"100M", 100000000},	{"1G", 1000000000},
		      {"10G", 10000000000},	{"25G", 25000000000},	{"100G", 100000000000}};

	(void)state;
	for (unsigned i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		struct bench b;

		open_behind_veth(&b, speeds[i].text, STATIC);
		measure(&b, "xoff xon");
		exactly(&b, PROBE_XOFF_BYTES, of_group(&b, "xoff_alone_bytes"));
		exactly(&b, PROBE_XON_BYTES, of_group(&b, "xon_alone_bytes"));
		assert_in_range(b.probe.conf.speed_bps[PROBE_RX], speeds[i].bps * 8 / 10,
				speeds[i].bps * 12 / 10);
		close_bench(&b);
	}
}

// The probe gets a turn every 5 ms. A PAUSE of 25G lasts 1.3 ms.
static void run_late(void *of, uint64_t until_ns)
{
	struct probe *p = odd.probe;

	do {
		uint8_t pausing = p->pausing[PROBE_RX];

		p->pausing[PROBE_RX] = 0;
		odd.io.run(of, min_u64(until_ns, odd.turn_ns));
		p->pausing[PROBE_RX] = pausing;
		if (probe_now(p) < odd.turn_ns)
			continue;
		(void)probe_tick(p, probe_now(p));
		odd.turn_ns = probe_now(p) + 5 * MS_NS;
	} while (probe_now(p) < until_ns);
}

static void a_late_probe_does_not_blame_the_device(void **state)
{
	struct bench b;

	(void)state;
	open_behind_veth(&b, "25G", STATIC);
	set_odd(&b, run_late);
	assert_int_equal(probe_measure_all(&b.probe, ~0u, b.results), PROBE_N_MEASURES);
	for (unsigned i = 0; i < PROBE_N_MEASURES; i++)
		refused(&b, probe_measures[i].name, PROBE_CANNOT, "cannot renew PAUSE in time");
	for (unsigned i = 0; i < PROBE_N_VALUES; i++)
		assert_false(b.probe.value[i].given);
	close_bench(&b);
}

// Each turn lasts so long that a train behind a PAUSE begins late.
static void run_later(void *of, uint64_t until_ns)
{
	run_late(of, until_ns + 400 * US_NS);
}

static void a_probe_that_is_too_late_for_each_trial_does_not_blame_the_device(void **state)
{
	struct bench b;

	(void)state;
	open_behind_veth(&b, "25G", STATIC);
	set_odd(&b, run_later);
	assert_int_equal(probe_measure_all(&b.probe, ~0u, b.results), PROBE_N_MEASURES);
	for (unsigned i = 0; i < PROBE_N_MEASURES; i++)
		refused(&b, probe_measures[i].name, PROBE_CANNOT, "cannot renew PAUSE in time");
	close_bench(&b);
}

// From the tenth trial on each frame that one sends on its own arrives 5 ms later, as on a machine
// that has become busy. The device holds what fills it all the same.
static void run_busy_machine(void *of, uint64_t until_ns)
{
	enum { QUIET_TRIALS = 9, DELAY_NS = 5 * MS_NS, TRAIN = 16 };
	struct probe *p = odd.probe;

	odd.io.run(of, until_ns);
	if (p->held || p->pausing[PROBE_RX] != 0 || p->trial <= QUIET_TRIALS ||
	    p->trial == odd.trial || p->n_sent != TRAIN || p->n_arrived != TRAIN)
		return;
	odd.trial = p->trial;
	for (uint32_t i = 0; i < p->n_sent; i++)
		p->seen[i].t_ns += DELAY_NS;
}

static void a_busy_machine_does_not_lengthen_a_pause_tenfold(void **state)
{
	static const char *const speeds[] = {"1G", "10G", "25G"};
	static const uint64_t true_ns[] = {33553920, 3355392, 1342157};

	(void)state;
	for (unsigned i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		struct bench b;

		open_behind_veth(&b, speeds[i], STATIC);
		set_odd(&b, run_busy_machine);
		measure(&b, "xoff");
		assert_in_range(b.probe.lifetime_ns[PROBE_RX], true_ns[i], 5 * true_ns[i]);
		close_bench(&b);
	}
}

// In the first fill no frame arrives for as long as the probe waits.
static void run_without_the_first_fill(void *of, uint64_t until_ns)
{
	enum { FIRST_FILL = 64 };
	struct probe *p = odd.probe;

	odd.io.run(of, until_ns);
	if (p->held && odd.trial == 0 && p->n_sent == FIRST_FILL)
		odd.trial = p->trial;
	if (p->trial != odd.trial)
		return;
	p->n_arrived = 0;
	for (uint32_t i = 0; i < p->n_sent; i++)
		p->seen[i].t_ns = 0;
}

static void a_device_that_stood_still_is_not_lossy(void **state)
{
	struct bench b;

	(void)state;
	open_behind_veth(&b, "1G", "{min: 0, static: 61440B, xon: 20KB, headroom: 30KB}");
	set_odd(&b, run_without_the_first_fill);
	measure(&b, "xoff");
	assert_int_not_equal(odd.trial, 0);
	exactly(&b, PROBE_XOFF_FRAMES, 240);
	close_bench(&b);
}

// In the first trial of XON the device stands still: before it enters XOFF, and in the second one
// before it sends XON.
static void run_without_first_xon_trials(void *of, uint64_t until_ns)
{
	struct probe *p = odd.probe;
	struct probe_pfc *pfc = pfc_of_device();

	odd.io.run(of, until_ns);
	if (p->held && odd.trial == 0 && p->pausing[PROBE_THIRD] != 0)
		odd.trial = p->trial;
	if (odd.trial != 0 && p->trial == odd.trial)
		*pfc = (struct probe_pfc){0};
	if (odd.trial != 0 && p->trial == odd.trial + 1 && !p->held && pfc->t_ns != 0)
		pfc->until_ns = p->pausing[PROBE_RX] != 0 ? UINT64_MAX : 0;
}

static void xon_of_a_device_that_stood_still_is_found(void **state)
{
	struct bench b;

	(void)state;
	open_behind_veth(&b, "1G", STATIC);
	set_odd(&b, run_without_first_xon_trials);
	measure(&b, "xoff xon");
	assert_true(b.probe.trial > odd.trial + 1 && odd.trial != 0);
	exactly(&b, PROBE_XON_BYTES, of_group(&b, "xon_alone_bytes"));
	close_bench(&b);
}

// PAUSE does not show in the first trial that brings one.
static void run_without_first_pause(void *of, uint64_t until_ns)
{
	struct probe *p = odd.probe;

	odd.io.run(of, until_ns);
	if (p->held && odd.trial == 0 && pfc_of_device()->n_pause != 0)
		odd.trial = p->trial;
	if (p->trial == odd.trial)
		*pfc_of_device() = (struct probe_pfc){0};
}

// In the third trial a PAUSE stands behind the first frames.
static void run_with_early_pause(void *of, uint64_t until_ns)
{
	enum { THIRD_FILL = 256 / 2 + 1 };
	struct probe *p = odd.probe;
	uint64_t now = probe_now(p);

	odd.io.run(of, until_ns);
	if (odd.turn_ns == 0 && p->n_sent == THIRD_FILL - 1)
		odd.turn_ns = p->trial; // the second fill
	if (p->held && p->trial == odd.turn_ns + 1 && p->n_sent > 0)
		*pfc_of_device() = (struct probe_pfc){
			.t_ns = now, .until_ns = now + SECOND_NS, .n_pause = 1};
	if (p->trial == odd.turn_ns + 1 && !p->held)
		*pfc_of_device() = (struct probe_pfc){0};
}

static void trials_that_disagree_are_never_exact(void **state)
{
	static const struct {
		void (*run)(void *of, uint64_t until_ns);
		int64_t low, high;
	} rows[] = {{run_without_first_pause, 240, 256}, {run_with_early_pause, 15, 240}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const struct probe_value *v;
		struct bench b;

		open_behind_veth(&b, "1G", "{min: 0, static: 61440B, xon: 20KB, headroom: 30KB}");
		set_odd(&b, rows[i].run);
		measure(&b, "xoff");
		v = &b.probe.value[PROBE_XOFF_FRAMES];
		assert_int_equal(v->value, 240);
		assert_int_equal(v->low, rows[i].low);
		assert_int_equal(v->high, rows[i].high);
		assert_string_equal(b.probe.word[PROBE_XOFF_FRAMES], "trials disagreed");
		close_bench(&b);
	}
}

// The XON of the second trial that has one does not show.
static void run_without_an_xon(void *of, uint64_t until_ns)
{
	struct probe_pfc before = *pfc_of_device();
	struct probe *p = odd.probe;

	odd.io.run(of, until_ns);
	if (p->pausing[PROBE_RX] == 0 || pfc_of_device()->n_xon == before.n_xon)
		return;
	if (odd.trial == 0)
		odd.trial = p->trial + 1;
	if (p->trial == odd.trial) {
		before.until_ns = probe_now(p) + SECOND_NS;
		*pfc_of_device() = before;
	}
}

static void xon_whose_trials_disagree_says_so(void **state)
{
	const struct probe_value *v;
	struct bench b;

	(void)state;
	open_behind_veth(&b, "1G", "{min: 0, static: 61440B, xon: 20KB, headroom: 30KB}");
	set_odd(&b, run_without_an_xon);
	measure(&b, "xon");
	v = &b.probe.value[PROBE_XON_CELLS];
	assert_int_equal(v->value, 228);
	assert_int_equal(v->low, 119);
	assert_int_equal(v->high, 228);
	assert_non_null(b.probe.word[PROBE_XON_CELLS]);
	assert_string_equal(b.probe.word[PROBE_XON_CELLS], "trials disagreed");
	close_bench(&b);
}

// A device that lets its PAUSE expire.
static void run_without_xon(void *of, uint64_t until_ns)
{
	struct probe_pfc before = *pfc_of_device();

	odd.io.run(of, until_ns);
	if (pfc_of_device()->n_xon != before.n_xon)
		*pfc_of_device() = before;
	odd.probe->sends_xon = false;
}

static void a_device_without_xon_is_measured(void **state)
{
	struct bench b;

	(void)state;
	open_behind_veth(&b, "100M", STATIC);
	set_odd(&b, run_without_xon);
	measure(&b, "xoff");
	assert_true(b.probe.lets_expire);
	exactly(&b, PROBE_XOFF_BYTES, of_group(&b, "xoff_alone_bytes"));
	close_bench(&b);
}

// A PFC storm: from the first PAUSE on it is renewed for ever, and there is no XON.
static void run_in_a_storm(void *of, uint64_t until_ns)
{
	run_without_xon(of, until_ns);
	if (pfc_of_device()->n_pause != 0) {
		pfc_of_device()->t_ns = probe_now(odd.probe);
		pfc_of_device()->until_ns = pfc_of_device()->t_ns + SECOND_NS;
	}
}

static void a_pause_without_end_ends_the_probe(void **state)
{
	struct bench b;

	(void)state;
	open_behind_veth(&b, "1G", STATIC);
	set_odd(&b, run_in_a_storm);
	assert_int_equal(probe_measure_all(&b.probe, 1u << probe_measure_find("xoff"), b.results),
			 1);
	refused(&b, "xoff", PROBE_CANNOT, "paused without end");
	close_bench(&b);
}

static void no_frame_after_pause_is_a_bound(void **state)
{
	const struct probe_value *v;
	struct bench b;

	(void)state;
	open_bench(&b, yaml(&policies[1]), (struct probe_conf){.cls = 3}, 0);
	b.probe.conf.interval_ns = MS_NS;
	measure(&b, "reaction");
	v = &b.probe.value[PROBE_REACTION];
	assert_true(v->low == 0 && v->value == v->high);
	assert_in_range(v->high, MS_NS, 2 * MS_NS);
	assert_non_null(strstr(b.probe.word[PROBE_REACTION], "at most"));
	assert_false(b.probe.value[PROBE_REACTION_BYTES].given);
	close_bench(&b);
}

// ---- curves

static void open_curve(struct bench *b, const char *wred, uint32_t passes)
{
	struct row r = policies[1];

	r.cell = "256B";
	r.wred = wred;
	open_bench(b, yaml(&r), (struct probe_conf){.cls = 3, .passes = passes}, 0);
	b->probe.conf.cell_bytes = 256;
}

static void a_wide_curve_is_found_within_its_interval(void **state)
{
	static const int64_t kmin = 5120, kmax = 51200, pmax = 200000;
	const struct probe_value *v;
	struct bench b;

	(void)state;
	open_curve(&b, "{ecn: on, kmin: 5120B, kmax: 51200B, pmax: 20%, mark_at: enqueue}", 100);
	measure(&b, "ecn");
	v = b.probe.value;
	assert_in_range(kmin, v[PROBE_KMIN].low, v[PROBE_KMIN].high);
	assert_in_range(kmax, v[PROBE_KMAX].low, v[PROBE_KMAX].high);
	assert_in_range(pmax, v[PROBE_PMAX].low, v[PROBE_PMAX].high);
	assert_in_range(v[PROBE_PMAX].high - v[PROBE_PMAX].low, 0, 30000);
	close_bench(&b);
}

static void a_curve_whose_end_does_not_show_is_not_measured(void **state)
{
	struct bench b;

	(void)state;
	open_curve(&b, "{ecn: on, kmin: 5120B, kmax: 102400B, pmax: 20%, mark_at: enqueue}", 20);
	assert_int_equal(probe_measure_all(&b.probe, 1u << probe_measure_find("ecn"), b.results),
			 1);
	refused(&b, "ecn", PROBE_CANNOT, "the end of the curve does not show");
	assert_true(b.probe.value[PROBE_KMIN].given);
	assert_false(b.probe.value[PROBE_KMAX].given);
	close_bench(&b);
}

// In every second trial no frame is marked.
static void run_half_marked(void *of, uint64_t until_ns)
{
	struct probe *p = odd.probe;

	odd.io.run(of, until_ns);
	for (uint32_t i = 0; p->trial % 2 == 0 && i < p->n_sent; i++)
		p->seen[i].ecn = PROBE_ECT0;
}

static void note_fills(void *of, const char *text)
{
	(void)of;
	odd.turn_ns |= strncmp(text, "fill ", 5) == 0;
}

// The device has not queued the frames of every second fill when the egress is released.
static void run_half_late(void *of, uint64_t until_ns)
{
	struct probe *p = odd.probe;

	odd.io.run(of, until_ns);
	if (odd.turn_ns == 0 || p->trial % 2 == 0)
		return;
	*pfc_of_device() = (struct probe_pfc){0};
	for (uint32_t i = 0; i < p->n_sent; i++)
		p->seen[i].ecn = PROBE_ECT0;
}

static void fills_of_a_late_device_are_left_out(void **state)
{
	struct bench b;

	(void)state;
	open_curve(&b, "{ecn: on, kmin: 5120B, kmax: 5120B, pmax: 100%}", 10);
	set_odd(&b, run_half_late);
	b.probe.conf.progress = note_fills;
	measure(&b, "ecn");
	exactly(&b, PROBE_SAMPLES, 10 * (60000 / 256 + 1));
	assert_int_equal(b.probe.value[PROBE_KMIN].value, 5120);
	close_bench(&b);
}

static void an_average_of_the_queue_is_no_curve(void **state)
{
	struct bench b;

	(void)state;
	open_curve(&b, "{ecn: on, kmin: 5120B, kmax: 51200B, pmax: 20%, weight: 3}", 20);
	assert_int_equal(probe_measure_all(&b.probe, 1u << probe_measure_find("ecn"), b.results),
			 1);
	refused(&b, "ecn", PROBE_CANNOT, "averages the length");
	close_bench(&b);
}

static void marks_that_are_no_curve_give_no_number(void **state)
{
	struct bench b;

	(void)state;
	open_curve(&b, "{ecn: on, kmin: 5120B, kmax: 51200B, pmax: 20%, mark_at: enqueue}", 20);
	set_odd(&b, run_half_marked);
	assert_int_equal(probe_measure_all(&b.probe, 1u << probe_measure_find("ecn"), b.results),
			 1);
	refused(&b, "ecn", PROBE_CANNOT, "not those of one curve");
	assert_false(b.probe.value[PROBE_KMIN].given);
	close_bench(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_threshold_of_four_policies_is_found_to_the_cell),
		cmocka_unit_test(marking_curves_are_found_to_the_cell),
		cmocka_unit_test(the_limit_of_a_lossy_queue_is_found_to_the_cell),
		cmocka_unit_test(congestion_bounds_the_limit_of_a_lossy_queue),
		cmocka_unit_test(the_threshold_beside_a_full_group_tells_alpha_and_pool),
		cmocka_unit_test(xon_by_two_ports_is_found_by_time),
		cmocka_unit_test(shares_are_those_of_the_policy),
		cmocka_unit_test(the_reaction_to_pause_lies_within_its_bounds),
		cmocka_unit_test(watchdog_times_lie_within_their_bounds),
		cmocka_unit_test(a_device_that_ignores_pause_does_not_answer_pfc),
		cmocka_unit_test(a_device_that_sends_no_pause_is_told_from_a_lossless_one),
		cmocka_unit_test(a_watchdog_that_ends_the_hold_is_no_threshold),
		cmocka_unit_test(a_device_of_another_speed_than_its_link_is_measured),
		cmocka_unit_test(a_late_probe_does_not_blame_the_device),
		cmocka_unit_test(a_busy_machine_does_not_lengthen_a_pause_tenfold),
		cmocka_unit_test(a_probe_that_is_too_late_for_each_trial_does_not_blame_the_device),
		cmocka_unit_test(a_device_that_stood_still_is_not_lossy),
		cmocka_unit_test(xon_of_a_device_that_stood_still_is_found),
		cmocka_unit_test(trials_that_disagree_are_never_exact),
		cmocka_unit_test(xon_whose_trials_disagree_says_so),
		cmocka_unit_test(a_device_without_xon_is_measured),
		cmocka_unit_test(a_pause_without_end_ends_the_probe),
		cmocka_unit_test(no_frame_after_pause_is_a_bound),
		cmocka_unit_test(a_wide_curve_is_found_within_its_interval),
		cmocka_unit_test(a_curve_whose_end_does_not_show_is_not_measured),
		cmocka_unit_test(fills_of_a_late_device_are_left_out),
		cmocka_unit_test(an_average_of_the_queue_is_no_curve),
		cmocka_unit_test(marks_that_are_no_curve_give_no_number),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
