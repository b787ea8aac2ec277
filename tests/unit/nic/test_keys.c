// SPDX-License-Identifier: Apache-2.0
// The keys of a host's `nic:` map, and what they make of a NIC.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/lab/nic_keys.h"
#include "source_root.h"

enum { TEXT = 4096 };
static const uint64_t link_bps = 40000000000;

// The NIC of a text; what is wrong with it, a line each, in *said.
static struct nic_config read_nic(const char *text, char said[TEXT])
{
	struct diag_sink sink = {.file = "t"};
	struct nic_config c = {.speed_bps = link_bps, .window = 8192, .rto_ns = 1000000};
	struct nic_keys *k = calloc(1, sizeof(*k));
	struct arena arena = {0};
	struct cfg_reader r = {&arena, &sink};
	struct diags d = {0};
	struct node *root;

	assert_non_null(k);
	root = node_parse(&arena, text, strlen(text), &sink);
	assert_non_null(root);
	schema_defaults(&nic_keys_schema, k);
	schema_fill(&r, &nic_keys_schema, root, k, "nic");
	nic_keys_apply(k, &c, &sink);
	diag_finish(&sink, &d);
	said[0] = '\0';
	for (unsigned i = 0; i < d.n; i++) {
		strncat(said, d.lines[i], TEXT - strlen(said) - 2);
		strcat(said, "\n");
	}
	diags_fini(&d);
	arena_fini(&arena);
	free(k);
	return c;
}

static struct nic_config good(const char *text)
{
	char said[TEXT];
	struct nic_config c = read_nic(text, said);

	assert_string_equal(said, "");
	return c;
}

static void same_cc(const char *text, const char *preset)
{
	const struct cc_config got = good(text).cc, *want = &cc_preset_find(preset)->config;

	assert_int_equal(got.flavour, want->flavour);
	assert_int_equal(got.np, want->np);
	assert_int_equal(got.g_num, want->g_num);
	assert_int_equal(got.g_den, want->g_den);
	for (unsigned i = 0; i < N_CC_KEYS; i++)
		assert_int_equal(cc_get(&got, &cc_keys[i]), cc_get(want, &cc_keys[i]));
}

static void a_name_stands_for_all_parameters(void **state)
{
	(void)state;
	same_cc("{window: 5}", "none");
	same_cc("{cc: none}", "none");
	same_cc("{cc: dcqcn}", "paper");
	same_cc("{cc: {}}", "paper");
	same_cc("{preset: gen1}", "gen1");
	same_cc("{preset: gen1, cc: gen2}", "gen2");
	same_cc("{preset: gen1, cc: {preset: cx4}}", "cx4");
	same_cc("{cc: {flavour: connectx}}", "connectx");
	for (unsigned i = 0; i < N_CC_PRESETS; i++) {
		char text[64];

		snprintf(text, sizeof(text), "{cc: %s}", cc_presets[i].name);
		same_cc(text, cc_presets[i].name);
	}
}

static void keys_are_laid_over_a_preset(void **state)
{
	struct cc_config c;

	(void)state;
	c = good("{cc: {preset: paper, flavour: connectx, np: gap, g: 5/1024, k: 1us, n: 4us,\n"
		 " f: 1, ai: 5M, hai: 50M, rmin: 1M, rpg_time_reset: 300us, clamp_tgt_rate: on,\n"
		 " rate_reduce_monitor_period: 8us, b: 1MB, min_dec_fac: 60, burst: 64KB,\n"
		 " leak: on, cnp_every: 2us, cnp_dscp: 40, np_classes: [3, 5],\n"
		 " rp_classes: 3-4}}").cc;
	assert_int_equal(c.flavour, CC_CONNECTX);
	assert_int_equal(c.np, NP_GAP);
	assert_int_equal(c.g_num * 65536 + c.g_den, 5 * 65536 + 1024);
	assert_int_equal(c.alpha_ns, 1000);
	assert_int_equal(c.np_gap_ns, 4000);
	assert_int_equal(c.fast, 1);
	assert_int_equal(c.ai_bps, 5000000);
	assert_int_equal(c.hai_bps, 50000000);
	assert_int_equal(c.rmin_bps, 1000000);
	assert_int_equal(c.increase_ns, 300000);
	assert_int_equal(c.decrease_ns, 8000);
	assert_int_equal(c.byte_budget, 1000000);
	assert_int_equal(c.min_dec_percent, 60);
	assert_int_equal(c.burst_bytes, 64000);
	assert_int_equal(c.cnp_every_ns, 2000);
	assert_int_equal(c.cnp_dscp, 40);
	assert_true(c.leak && c.clamp);
	assert_int_equal(c.np_classes, 1u << 3 | 1u << 5);
	assert_int_equal(c.rp_classes, 1u << 3 | 1u << 4);
	assert_int_equal(good("{cc: {np_classes: []}}").cc.np_classes, 0);
}

static void the_rest_of_a_nic_is_read(void **state)
{
	struct nic_config c = good("{window: 16, rto: 3ms, deaf: on, go_back: 0, fence: on,\n"
				   " storm_guard: 5ms, speed: 40G,\n"
				   " receive: {rate: 20G, loopback: 5G, buffer: 1MiB,\n"
				   " xoff: 512KiB, qp_cache: 8}}");

	(void)state;
	assert_int_equal(c.speed_bps, link_bps);
	assert_int_equal(c.window, 16);
	assert_int_equal(c.rto_ns, 3000000);
	assert_int_equal(c.faults.storm_guard_ns, 5000000);
	assert_true(c.ignore_pause && c.faults.go_back_0 && c.faults.fence);
	assert_int_equal(c.faults.rx_rate_bps, 20000000000);
	assert_int_equal(c.faults.loopback_bps, 5000000000);
	assert_int_equal(c.faults.rx_buffer_bytes, 1 << 20);
	assert_int_equal(c.faults.rx_xoff_bytes, 1 << 19);
	assert_int_equal(c.faults.rx_xon_bytes, 0);
	assert_int_equal(c.faults.qp_cache, 8);
	assert_int_equal(c.faults.qp_miss_ns, 500);
	assert_int_equal(c.udp_sport, NIC_SPORT_LINUX);
	c = good("{udp_sport: random}");
	assert_int_equal(c.udp_sport, NIC_SPORT_RANDOM);
	c = good("{go_back: n}");
	assert_false(c.ignore_pause || c.faults.go_back_0 || c.faults.fence);
	assert_int_equal(c.window, 8192);
	assert_false(c.selective);
	c = good("{go_back: selective}");
	assert_true(c.selective && !c.faults.go_back_0);
}

static void mistakes_are_told_at_their_place(void **state)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{"{cc: dcqnc}",
		 "t:1:6: nic.cc: \"dcqnc\": did you mean dcqcn?\n"},
		{"{cc: {g: 2/1}}",
		 "t:1:10: nic.cc.g: \"2/1\" is no fraction of at most 1 such as 1/256, with a "
		 "denominator of at most 65536\n"},
		{"cc:\n  k: 1us\n  dce_tcp_rtt: 2us\n",
		 "t:3:16: nic.cc.dce_tcp_rtt: is the same as k on line 2: give one of them\n"},
		{"{cc: {rmin: 50G}}", "t:1:6: nic.cc: has an rmin above the line rate\n"},
		{"{cc: {np: window, n: 0us}}", "t:1:6: nic.cc: has no window: n is 0\n"},
		{"{speed: 25G}",
		 "t:1:9: nic.speed: 25G, but the host's link has 40G: give both the same, or leave "
		 "it out\n"},
		{"{receive: {rate: 1G, loopback: 1G}}",
		 "t:1:11: nic.receive: loopback leaves nothing of the rate\n"},
		{"{receive: {rate: 1G, xoff: 1MiB}}",
		 "t:1:11: nic.receive: xon must be at most xoff, and xoff below buffer; they are "
		 "512KiB, 1MiB and 256KiB\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char said[TEXT];

		read_nic(rows[i].text, said);
		assert_string_equal(said, rows[i].said);
	}
}

// Each key and preset stands in docs/dcqcn.md, between backticks.
static void the_manual_has_every_name(void **state)
{
	static char text[64 * 1024];
	FILE *f = fopen(SOURCE_ROOT "/docs/dcqcn.md", "r");
	char name[64];

	(void)state;
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	for (unsigned i = 0; i < N_CC_KEYS + N_CC_PRESETS; i++) {
		snprintf(name, sizeof(name), "`%s`",
			 i < N_CC_KEYS ? cc_keys[i].name : cc_presets[i - N_CC_KEYS].name);
		if (strstr(text, name) == NULL)
			fail_msg("%s is not in docs/dcqcn.md", name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_stands_for_all_parameters),
		cmocka_unit_test(keys_are_laid_over_a_preset),
		cmocka_unit_test(the_rest_of_a_nic_is_read),
		cmocka_unit_test(mistakes_are_told_at_their_place),
		cmocka_unit_test(the_manual_has_every_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
