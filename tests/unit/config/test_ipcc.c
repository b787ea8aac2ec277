// SPDX-License-Identifier: Apache-2.0
// Flow table, pairing, pairs by hand, CNPs and IPCC: from the file to what the dataplane and the
// plan are told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "control/config/model.h"
#include "control/config/plan.h"
#include "dataplane/policy.h"
#include "dataplane/roce/flow.h"
#include "tests/temporary.h"

#define US 1000ull
#define MS 1000000ull
#define S 1000000000ull

#define PORT "ports: [{name: a, device: \"wire:a\", speed: 40G, profile: q}]\n"
#define WRED "wred: {kmin: 10KB, kmax: 90KB, pmax: 1%}"
#define STRICT6 "6: {schedule: strict}"

enum { TEXT_LEN = 2048, Q16 = 1 << 16, ALL_SOURCES = 0x3e };

static struct config *parsed(const char *text, struct diags *d)
{
	struct config *c = NULL;

	if (config_parse("t", text, strlen(text), &c, d) != 0)
		fail_msg("%s", d->lines[0]);
	return c;
}

// said: what the file's messages were, one a line.
static struct policy *compiled(const char *text, char said[TEXT_LEN])
{
	struct diags d = {0};
	struct config *c = parsed(text, &d);
	struct policy *p = NULL;
	size_t at = 0;

	if (config_compile(c, NULL, &p, &d) != 0)
		fail_msg("%s", d.lines[d.n - 1]);
	said[0] = '\0';
	for (unsigned i = 0; i < d.n; i++)
		at += (size_t)snprintf(said + at, TEXT_LEN - at, "%s\n", d.lines[i]);
	config_destroy(c);
	diags_fini(&d);
	return p;
}

static struct policy *policy_of(const char *text)
{
	char said[TEXT_LEN];
	struct policy *p = compiled(text, said);

	assert_string_equal(said, "");
	return p;
}

// Class 3 of the only port says this beside its wred.
static struct policy *with_class_3(const char *says)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s%s%s%s", PORT "profiles: {q: {classes: {3: {", says,
		 ", " WRED, "}, " STRICT6 "}}}\n");
	return policy_of(text);
}

static void expect_ipcc(const struct ipcc_params *got, const struct ipcc_params *want)
{
	assert_int_equal(got->enabled, want->enabled);
	assert_int_equal(got->cut_learnt, want->cut_learnt);
	assert_int_equal(got->cut_q16, want->cut_q16);
	assert_int_equal(got->few, want->few);
	assert_int_equal(got->many, want->many);
	assert_int_equal(got->deep_q16, want->deep_q16);
	assert_int_equal(got->interval_ns, want->interval_ns);
	assert_int_equal(got->drain_ns, want->drain_ns);
	assert_int_equal(got->min_gap_ns, want->min_gap_ns);
	assert_int_equal(got->spare_ns, want->spare_ns);
	assert_int_equal(got->kmin_bytes, want->kmin_bytes);
	assert_int_equal(got->kmax_bytes, want->kmax_bytes);
}

static const struct ipcc_params defaults = {.enabled = true,
					    .cut_q16 = Q16 / 2,
					    .few = 2,
					    .many = 64,
					    .deep_q16 = Q16 / 2,
					    .interval_ns = 5 * US,
					    .drain_ns = 50 * US,
					    .min_gap_ns = 10 * US,
					    .kmin_bytes = 10000,
					    .kmax_bytes = 90000};
static const struct ipcc_params silent;

// ---- what a file without these keys means
static void without_keys_flows_are_followed_and_nobody_is_told(void **state)
{
	struct policy *p = policy_of("ports: [{name: a, device: \"wire:a\", speed: 40G}]\n");
	const struct cnp_params *cnp = &p->ports[0].cnp;

	(void)state;
	assert_int_equal(p->flows.max, 65536);
	assert_int_equal(p->flows.age_ns, 3 * S);
	assert_int_equal(p->pairing.matches, 3);
	assert_int_equal(p->pairing.sources, ALL_SOURCES);
	assert_int_equal(p->n_pairs, 0);
	assert_int_equal(cnp->dscp, 48);
	assert_int_equal(cnp->cls, 6);
	assert_int_equal(cnp->max_per_ms, 1000);
	assert_int_equal(cnp->burst, 64);
	for (unsigned q = 0; q < N_QUEUES; q++)
		expect_ipcc(&p->ports[0].queue[q].ipcc, &silent);
	policy_destroy(p);
}

// ---- the table and pairing
static void the_flow_table_is_as_large_as_the_file_says(void **state)
{
	static const struct {
		const char *says;
		uint32_t max;
		uint64_t age_ns;
	} rows[] = {
		{"flows: on", 65536, 3 * S},
		{"flows: {}", 65536, 3 * S},
		{"flows: {max: 1048576, age: 1ms}", 1048576, MS},
		{"flows: {max: 1}", 1, 3 * S},
		{"flows: {age: 1000s}", 65536, 1000 * S},
		{"flows: {max: 0}", 0, 3 * S},
		{"flows: off", 0, 3 * S},
		{"flows: false", 0, 3 * S},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];
		struct policy *p;

		snprintf(text, sizeof(text),
			 "switch: {%s}\nports: [{name: a, device: \"wire:a\", speed: 40G}]\n",
			 rows[i].says);
		p = policy_of(text);
		assert_int_equal(p->flows.max, rows[i].max);
		assert_int_equal(p->flows.age_ns, rows[i].age_ns);
		policy_destroy(p);
	}
}

static void sources_are_a_set(void **state)
{
	static const struct {
		const char *says;
		uint8_t sources;
	} rows[] = {
		{"[static, cm, read, ack, cnp]", ALL_SOURCES},
		{"[cnp, static]", 1 << PAIR_CNP | 1 << PAIR_STATIC},
		{"[cm]", 1 << PAIR_CM},
		{"ack", 1 << PAIR_ACK},
		{"[read]", 1 << PAIR_READ},
		{"[]", 1 << PAIR_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];
		struct policy *p;

		snprintf(text, sizeof(text),
			 "switch: {pairing: {matches: %zu, sources: %s}}\n"
			 "ports: [{name: a, device: \"wire:a\", speed: 40G}]\n",
			 i + 1, rows[i].says);
		p = policy_of(text);
		assert_int_equal(p->pairing.sources, rows[i].sources);
		assert_int_equal(p->pairing.matches, i + 1);
		policy_destroy(p);
	}
}

static const char paired[] =
	"switch: {flows: %s}\n"
	"ports: [{name: a, device: \"wire:a\", speed: 40G}]\n"
	"pairs:\n"
	"  - {from: 10.0.0.1, to: 192.168.255.2, qp: 0x12, sender_qp: 0xFFFFFE}\n"
	"  - {from: \"2001:db8::1\", to: \"fe80::a:b\", qp: 7000000, sender_qp: 2}\n";

static void pairs_by_hand_are_keys_of_flows(void **state)
{
	char text[512];
	struct policy *p;
	const struct known_pair *v4, *v6;

	(void)state;
	snprintf(text, sizeof(text), paired, "on");
	p = policy_of(text);
	assert_int_equal(p->n_pairs, 2);
	v4 = &p->pairs[0];
	v6 = &p->pairs[1];
	assert_int_equal(v4->key.w[0], 0x0a000001c0a8ff02);
	assert_int_equal(v4->key.w[1] | v4->key.w[2] | v4->key.w[3], 0);
	assert_int_equal(v4->key.w[4], 0x12 | 4 << 24 | (uint64_t)KEY_KNOWN << 32);
	assert_int_equal(v4->qp, 0xfffffe);
	assert_int_equal(v4->source, PAIR_STATIC);
	assert_int_equal(v6->key.w[0], 0x20010db800000000);
	assert_int_equal(v6->key.w[1], 1);
	assert_int_equal(v6->key.w[2], 0xfe80000000000000);
	assert_int_equal(v6->key.w[3], 0xa000b);
	assert_int_equal(v6->key.w[4], 7000000 | 6 << 24 | (uint64_t)KEY_KNOWN << 32);
	assert_int_equal(v6->qp, 2);
	policy_destroy(p);
}

static void without_a_table_there_are_no_pairs(void **state)
{
	char text[512], said[TEXT_LEN];
	struct policy *p;

	(void)state;
	snprintf(text, sizeof(text), paired, "off");
	p = compiled(text, said);
	assert_int_equal(p->n_pairs, 0);
	assert_string_equal(said, "t:4:3: warning: pairs: has no effect: switch.flows is off\n");
	policy_destroy(p);
}

// ---- a queue that notifies
static void ipcc_that_is_on_has_the_usual_values(void **state)
{
	static const char *const on[] = {"ipcc: on", "ipcc: true", "ipcc: {}"};
	static const char *const off[] = {"ipcc: off", "ipcc: false"};

	(void)state;
	for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++) {
		struct policy *p = with_class_3(on[i]);

		for (unsigned q = 0; q < N_QUEUES; q++)
			expect_ipcc(&p->ports[0].queue[q].ipcc, q == 3 ? &defaults : &silent);
		policy_destroy(p);
	}
	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
		struct policy *p = with_class_3(off[i]);

		expect_ipcc(&p->ports[0].queue[3].ipcc, &silent);
		policy_destroy(p);
	}
}

static void every_key_reaches_its_queue(void **state)
{
	static const struct ipcc_params want = {.enabled = true,
						.cut_q16 = Q16 / 4,
						.few = 3,
						.many = 512,
						.deep_q16 = Q16 / 8 * 5,
						.interval_ns = 7 * US,
						.drain_ns = 1 * S,
						.min_gap_ns = 4 * US,
						.spare_ns = 11 * US,
						.kmin_bytes = 10000,
						.kmax_bytes = 90000};
	struct policy *p = with_class_3("ipcc: {interval: 7us, deep: 62.5%, few: 3, many: 512,"
					" cut: 25%, drain: 1s, min_gap: 4us, spare: 11us}");

	(void)state;
	expect_ipcc(&p->ports[0].queue[3].ipcc, &want);
	policy_destroy(p);
}

// A whole rate does not fit 16 bits, and nothing may become 0 by it.
static void a_cut_is_a_share_or_learnt(void **state)
{
	static const struct {
		const char *says;
		uint16_t q16;
		bool learnt;
	} rows[] = {{"100%", Q16 - 1, false},
		    {"50%", Q16 / 2, false},
		    {"1%", 655, false},
		    {"learnt", Q16 / 2, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char says[64];
		struct policy *p;

		snprintf(says, sizeof(says), "ipcc: {cut: %s}", rows[i].says);
		p = with_class_3(says);
		assert_int_equal(p->ports[0].queue[3].ipcc.cut_q16, rows[i].q16);
		assert_int_equal(p->ports[0].queue[3].ipcc.cut_learnt, rows[i].learnt);
		policy_destroy(p);
	}
}

// 100 KB are 390 cells of 256 B: 99,840 B.
static void thresholds_are_those_of_the_green_curve_once_resolved(void **state)
{
	struct policy *p = policy_of("ports:\n"
				     "  - {name: a, device: \"wire:a\", speed: 40G, profile: q}\n"
				     "  - {name: b, device: \"wire:b\", speed: 40G, profile: r}\n"
				     "profiles:\n"
				     "  q:\n"
				     "    class_to_queue: {4: 2}\n"
				     "    classes:\n"
				     "      4:\n"
				     "        egress: {static: 100KB}\n"
				     "        wred: {kmin: 10%, kmax: 50%, pmax: 1%, yellow: "
				     "{kmin: 1, kmax: 2, pmax: 1%},\n"
				     "               red: {kmin: 3, kmax: 4, pmax: 1%}}\n"
				     "        ipcc: on\n"
				     "      " STRICT6 "\n"
				     "  r: {classes: {2: {" WRED "}, " STRICT6 "}}\n");
	const struct ipcc_params *i = &p->ports[0].queue[2].ipcc;

	(void)state;
	assert_true(i->enabled);
	assert_int_equal(i->kmin_bytes, 9984);
	assert_int_equal(i->kmax_bytes, 49920);
	assert_false(p->ports[0].queue[4].ipcc.enabled);
	assert_false(p->ports[1].queue[2].ipcc.enabled);
	policy_destroy(p);
}

static void cnps_look_as_the_profile_of_the_port_says(void **state)
{
	struct policy *p = policy_of("ports:\n"
				     "  - {name: a, device: \"wire:a\", speed: 40G, profile: q}\n"
				     "  - {name: b, device: \"wire:b\", speed: 40G, profile: r}\n"
				     "profiles:\n"
				     "  q: {cnp: {dscp: 40, class: 5, max_rate: 1, burst: 65536},\n"
				     "      classes: {5: {schedule: strict}}}\n"
				     "  r: {classes: {3: {ipcc: on, " WRED "}, " STRICT6 "}}\n");

	(void)state;
	assert_int_equal(p->ports[0].cnp.dscp, 40);
	assert_int_equal(p->ports[0].cnp.cls, 5);
	assert_int_equal(p->ports[0].cnp.max_per_ms, 1);
	assert_int_equal(p->ports[0].cnp.burst, 65536);
	assert_int_equal(p->ports[1].cnp.dscp, 48);
	policy_destroy(p);
}

// A frame of 1522 B takes 12,176 ns at 1 Gbit/s.
static void an_interval_as_long_as_a_frame_is_no_mistake(void **state)
{
	static const struct {
		const char *interval;
		bool told;
	} rows[] = {{"12176ns", false}, {"12175ns", true}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char text[512], said[TEXT_LEN];

		snprintf(text, sizeof(text),
			 "ports: [{name: a, device: \"wire:a\", speed: 1G, profile: q}]\n"
			 "profiles: {q: {classes: {3: {ipcc: {interval: %s}, %s}, %s}}}\n",
			 rows[i].interval, WRED, STRICT6);
		policy_destroy(compiled(text, said));
		assert_int_equal(*said != '\0', rows[i].told);
	}
}

// With deep 50 % of 90,000 B the queue is deep from 45,000 B.
static void a_queue_that_is_shallow_for_one_byte_is_no_mistake(void **state)
{
	static const struct {
		unsigned kmin;
		bool told;
	} rows[] = {{44999, false}, {45000, true}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char text[512], said[TEXT_LEN];

		snprintf(text, sizeof(text),
			 PORT "profiles: {q: {classes: {3: {ipcc: on, wred: {kmin: %u, kmax: 90KB,"
			      " pmax: 1%%}}, " STRICT6 "}}}\n",
			 rows[i].kmin);
		policy_destroy(compiled(text, said));
		assert_int_equal(*said != '\0', rows[i].told);
	}
}

// ---- many switches in one process
static void many_switches_have_small_tables_or_none(void **state)
{
	static const struct {
		const char *sw, *more;
		uint32_t max;
	} rows[] = {
		{"", "", 0},
		{"mac_age: 1s", "", 0},
		{"flows: off", "", 0},
		{"flows: {max: 0}", "", 0},
		{"flows: on", "", CONFIG_FEW_FLOWS},
		{"flows: {age: 5s}", "", CONFIG_FEW_FLOWS},
		{"flows: {max: 7}", "", 7},
		{"flows: {max: 100000}", "", 100000},
		{"", "pairs: [{from: 10.0.0.1, to: 10.0.0.2, qp: 2, sender_qp: 2}]",
		 CONFIG_FEW_FLOWS},
		{"", "profiles: {q: {classes: {3: {ipcc: on, " WRED "}, " STRICT6 "}}}",
		 CONFIG_FEW_FLOWS},
		{"flows: {max: 9}",
		 "profiles: {q: {classes: {3: {ipcc: on, " WRED "}, " STRICT6 "}}}", 9},
		{"", "profiles: {q: {classes: {3: {ipcc: off, " WRED "}, " STRICT6 "}}}", 0},
		{"", "profiles: {q: {}, r: {classes: {3: {ipcc: on, " WRED "}, " STRICT6 "}}}", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];
		struct diags d = {0};
		struct config *c;
		struct policy *p = NULL;

		snprintf(text, sizeof(text), "switch: {%s}\n%s%s\n", rows[i].sw,
			 strstr(rows[i].more, "q:") != NULL
				 ? PORT
				 : "ports: [{name: a, device: \"wire:a\", speed: 40G}]\n",
			 rows[i].more);
		c = parsed(text, &d);
		assert_int_equal(config_compile(c, NULL, &p, &d), 0);
		config_small_flows(c, p);
		if (p->flows.max != rows[i].max)
			fail_msg("row %zu: %u flows", i, p->flows.max);
		policy_destroy(p);
		config_destroy(c);
		diags_fini(&d);
	}
}

static void memory_is_asked_for_what_the_table_holds(void **state)
{
	struct policy *p = policy_of("ports: [{name: a, device: \"wire:a\", speed: 40G}]\n");
	uint64_t all = config_flow_bytes(p), half;

	(void)state;
	assert_true(all > 65536 * sizeof(struct flow));
	p->flows.max /= 2;
	half = config_flow_bytes(p);
	assert_true(half > 32768 * sizeof(struct flow));
	assert_in_range(all, half + half / 2, 2 * half);
	p->flows.max = 0;
	assert_int_equal(config_flow_bytes(p), 0);
	policy_destroy(p);
}

// ---- laid over a file
static struct policy *under(const char *file, const char *map)
{
	static const struct config_overlay_port ports[] = {{40000000000, 500}, {40000000000, 500}};
	const struct node *nodes[1];
	struct arena a = {0};
	struct diag_sink s = {.file = "lab.yaml"};
	struct config_overlay o = {.maps = nodes,
				   .n_maps = 1,
				   .file = "lab.yaml",
				   .switch_name = "s1",
				   .ports = ports,
				   .n_ports = 2};
	struct config *c = NULL;
	struct policy *p = NULL;
	struct diags d = {0};

	nodes[0] = node_parse(&a, map, strlen(map), &s);
	assert_non_null(nodes[0]);
	if (config_load_overlay(file, &o, &c, &d) != 0 || config_compile(c, NULL, &p, &d) != 0)
		fail_msg("%s", d.lines[0]);
	assert_int_equal(d.n, 0);
	diags_fini(&d);
	arena_fini(&a);
	config_destroy(c);
	return p;
}

static void a_scenario_turns_ipcc_on_and_off_and_changes_it_key_by_key(void **state)
{
	struct ipcc_params want = defaults;
	struct policy *p =
		under("conf/roce.yaml", "{profiles: {roce: {classes: {3: {ipcc: on}}}}}");

	(void)state;
	want.kmin_bytes = 150000;
	want.kmax_bytes = 1500000;
	expect_ipcc(&p->ports[1].queue[3].ipcc, &want);
	policy_destroy(p);
	p = under("conf/ipcc.yaml",
		  "{profiles: {roce: {classes: {3: {ipcc: {interval: 5us, cut: learnt}}}}}}");
	want.cut_learnt = true;
	want.drain_ns = 2 * MS;
	want.min_gap_ns = 400 * US;
	expect_ipcc(&p->ports[1].queue[3].ipcc, &want);
	policy_destroy(p);
	p = under("conf/ipcc.yaml", "{profiles: {roce: {classes: {3: {ipcc: off}}}}}");
	expect_ipcc(&p->ports[0].queue[3].ipcc, &silent);
	policy_destroy(p);
}

// They name hosts that are not those of the scenario.
static void pairs_of_a_file_are_not_those_of_a_scenario(void **state)
{
	char name[PATH_MAX], text[512];
	struct policy *p;

	(void)state;
	snprintf(text, sizeof(text), paired, "on");
	temporary_file(name, "policy.yaml", text);
	p = under(name, "{}");
	assert_int_equal(p->n_pairs, 0);
	policy_destroy(p);
	p = under(name, "{pairs: [{from: 10.0.0.9, to: 10.0.0.2, qp: 2, sender_qp: 3}]}");
	assert_int_equal(p->n_pairs, 1);
	assert_int_equal(p->pairs[0].key.w[0], 0x0a0000090a000002);
	policy_destroy(p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_keys_flows_are_followed_and_nobody_is_told),
		cmocka_unit_test(the_flow_table_is_as_large_as_the_file_says),
		cmocka_unit_test(sources_are_a_set),
		cmocka_unit_test(pairs_by_hand_are_keys_of_flows),
		cmocka_unit_test(without_a_table_there_are_no_pairs),
		cmocka_unit_test(ipcc_that_is_on_has_the_usual_values),
		cmocka_unit_test(every_key_reaches_its_queue),
		cmocka_unit_test(a_cut_is_a_share_or_learnt),
		cmocka_unit_test(thresholds_are_those_of_the_green_curve_once_resolved),
		cmocka_unit_test(cnps_look_as_the_profile_of_the_port_says),
		cmocka_unit_test(an_interval_as_long_as_a_frame_is_no_mistake),
		cmocka_unit_test(a_queue_that_is_shallow_for_one_byte_is_no_mistake),
		cmocka_unit_test(many_switches_have_small_tables_or_none),
		cmocka_unit_test(memory_is_asked_for_what_the_table_holds),
		cmocka_unit_test(a_scenario_turns_ipcc_on_and_off_and_changes_it_key_by_key),
		cmocka_unit_test(pairs_of_a_file_are_not_those_of_a_scenario),
	};

	if (argc != 2 || chdir(argv[1]) != 0) {
		fprintf(stderr, "usage: %s SOURCE_ROOT\n", argv[0]);
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
