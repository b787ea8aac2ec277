// SPDX-License-Identifier: Apache-2.0
// The values of a change as texts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "control/base/arena.h"
#include "control/config/config.h"
#include "dataplane/base/rng.h"

enum { POLICY_LEN = 2048 };

static const char bridge[] =
	"switch:\n"
	"  mac_age: 300s\n"
	"  buffer: {size: 12MB, egress_lossy: 100%}\n"
	"ports:\n"
	"  - name: p1\n"
	"    device: \"xdp:e1\"\n"
	"    speed: 1G\n"
	"    profile: q\n"
	"    rx_guard: 50%\n"
	"    keep: [lldp]\n"
	"    vlan: {untagged: 1, tagged: [20]}\n"
	"    classes: {3: {ingress: {min: 1KB, alpha: 1/2}}}\n"
	"vlans: [{id: 10, flood: on}]\n"
	"profiles:\n"
	"  other: {trust: pcp, classes: {3: {lossless: on}}}\n"
	"  q:\n"
	"    trust: dscp\n"
	"    dscp_to_class: {default: 0, 26: 3}\n"
	"    dscp_to_color: {46: green}\n"
	"    classes:\n"
	"      2: {wred: {ecn: on, kmin: 10KB, kmax: 20KB, pmax: 10%}}\n"
	"      3: {lossless: on}\n";
static const char router[] =
	"ports:\n"
	"  - {name: g1, device: \"xdp:r1\", speed: 1G, ip: [10.0.1.1/24], profile: q}\n"
	"profiles:\n"
	"  q: {watchdog: on, classes: {3: {lossless: on}}}\n";

static struct config *parsed(const char *text)
{
	struct config *c = NULL;
	struct diags d = {0};
	int err = config_parse("t", text, strlen(text), &c, &d);

	for (unsigned i = 0; err != 0 && i < d.n; i++)
		print_message("%s\n", d.lines[i]);
	assert_int_equal(err, 0);
	diags_fini(&d);
	return c;
}

static void a_change_says_both_values_as_a_file_could_have_them(void **state)
{
	static const struct {
		const char *old, *new, *key, *was, *is;
	} rows[] = {
		{"kmin: 10KB", "kmin: 9KB", "profiles.q.classes.2.wred.kmin", "10KB", "9KB"},
		{"300s", "5000ms", "switch.mac_age", "300s", "5s"},
		{"speed: 1G", "speed: 2500M", "ports[0].speed", "1G", "2500M"},
		{"pmax: 10%", "pmax: 9%", "profiles.q.classes.2.wred.pmax", "10%", "9%"},
		{"egress_lossy: 100%", "egress_lossy: 1000000B", "switch.buffer.egress_lossy",
		 "100%", "1MB"},
		{"alpha: 1/2", "alpha: 8", "ports[0].classes.3.ingress.alpha", "1/2", "8"},
		{"trust: dscp", "trust: port", "profiles.q.trust", "dscp", "port"},
		{"profile: q", "profile: other", "ports[0].profile", "q", "other"},
		{"ecn: on", "ecn: off", "profiles.q.classes.2.wred.ecn", "on", "off"},
		{"rx_guard: 50%", "rx_guard: off", "ports[0].rx_guard", "50%", "off"},
		{"tagged: [20]", "tagged: [20, 30-39]", "ports[0].vlan.tagged", "[20]",
		 "[20, 30-39]"},
		{"26: 3}", "26: 3, 27: 3}", "profiles.q.dscp_to_class",
		 "{0-25: 0, 26: 3, 27-63: 0}", "{0-25: 0, 26-27: 3, 28-63: 0}"},
		{"46: green", "46: red", "profiles.q.dscp_to_color", "{46: green}",
		 "{46: red}"},
		{"keep: [lldp]", "keep: [lldp, arp]", "ports[0].keep", "[lldp]", "[lldp, arp]"},
		{"300s\n", "300s\n  mac_move_limit: 6\n", "switch.mac_move_limit", "default: 5",
		 "6"},
		{"flood: on}]", "flood: on}, {id: 12}]", "vlans", "1 in the list", "2 in the list"},
		{"other:", "another:", "profiles.another", "none", "given"},
		{"name: g1,", "name: g1, watchdog: off,", "ports[0].watchdog",
		 "default: the profile's", "off"},
		{"[10.0.1.1/24]", "[10.0.1.1/24, 10.0.3.1/24]", "ports[0].ip", "[10.0.1.1/24]",
		 "[10.0.1.1/24, 10.0.3.1/24]"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *from = strstr(bridge, rows[i].old) != NULL ? bridge : router;
		const char *at = strstr(from, rows[i].old);
		struct config_changes c = {0};
		struct config *running, *next;
		char text[POLICY_LEN];

		assert_non_null(at);
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - from), from, rows[i].new,
			 at + strlen(rows[i].old));
		running = parsed(from);
		next = parsed(text);
		config_changes(running, next, &c);
		assert_string_equal(c.rows[0].key, rows[i].key);
		assert_string_equal(c.rows[0].old, rows[i].was);
		assert_string_equal(c.rows[0].new, rows[i].is);
		config_changes_fini(&c);
		config_destroy(next);
		config_destroy(running);
	}
}

static void a_key_that_holds_others_is_listed_without_them_only(void **state)
{
	static const struct {
		const char *classes;
		unsigned n;
		const char *key, *was, *is; // of the first
	} rows[] = {
		{"3: {lossless: on, ingress: {alpha: 1/4}}", 1,
		 "profiles.q.classes.3.ingress.alpha",
		 "default: 1 (lossy: static, the buffer)", "1/4"},
		{"3: {lossless: on, wred: {ecn: on, kmin: 1KB, kmax: 2KB, pmax: 1%}}", 4,
		 "profiles.q.classes.3.wred.ecn", "default: off", "on"},
	};
	static const char policy[] = "ports:\n"
				     "  - {name: p1, device: \"xdp:e1\", speed: 1G, profile: q}\n"
				     "profiles:\n"
				     "  q: {classes: {%s}}\n";
	char text[POLICY_LEN];

	(void)state;
	snprintf(text, sizeof(text), policy, "3: {lossless: on}");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config *running = parsed(text), *next;
		struct config_changes c = {0};
		char changed[POLICY_LEN];

		snprintf(changed, sizeof(changed), policy, rows[i].classes);
		next = parsed(changed);
		config_changes(running, next, &c);
		for (unsigned k = 0; k < c.n; k++)
			print_message("%s: %s -> %s\n", c.rows[k].key, c.rows[k].old,
				      c.rows[k].new);
		assert_int_equal(c.n, rows[i].n);
		assert_string_equal(c.rows[0].key, rows[i].key);
		assert_string_equal(c.rows[0].old, rows[i].was);
		assert_string_equal(c.rows[0].new, rows[i].is);
		config_changes_fini(&c);
		config_destroy(next);
		config_destroy(running);
	}
}

// A list of VLANs and a map of DSCP, as a change says them, in place of the values in the file.
static void ranges_of_a_change_are_read_as_the_same(void **state)
{
	enum { N_RANDOM = 300, N_DSCP = 64 };
	static const char policy[] =
		"ports: [{name: p1, device: \"xdp:e1\", speed: 1G, profile: q, "
		"vlan: {untagged: 1, tagged: %s}}]\n"
		"profiles: {q: {dscp_to_class: %s}}\n";
	unsigned n_read = 0;
	struct rng r;

	(void)state;
	rng_init(&r, 1);
	for (unsigned i = 0; i < N_RANDOM; i++) {
		char vlans[512] = "[", dscp[2048] = "{default: 0", text[4096];
		struct config *first, *second, *third;
		struct config_changes c = {0};
		size_t n = 1, d = strlen(dscp);

		for (unsigned id = 2; n < 60; id += 1 + rng_next(&r) % (1 + i % 4))
			n += (size_t)snprintf(vlans + n, sizeof(vlans) - n, "%s%u",
					      n > 1 ? ", " : "", id);
		for (unsigned k = rng_next(&r) % N_DSCP; k < N_DSCP; k += 1 + i % 30)
			d += (size_t)snprintf(dscp + d, sizeof(dscp) - d, ", %u: %u", k, i % 8);
		strcat(vlans, "]");
		strcat(dscp, "}");
		snprintf(text, sizeof(text), policy, "[9]", "{default: 7}");
		first = parsed(text);
		snprintf(text, sizeof(text), policy, vlans, dscp);
		second = parsed(text);
		config_changes(first, second, &c);
		assert_int_equal(c.n, 2);
		snprintf(text, sizeof(text), policy, c.rows[1].new, c.rows[0].new);
		config_changes_fini(&c);
		if (strstr(text, "...") == NULL) { // else too long for a line
			n_read++;
			third = parsed(text);
			config_changes(second, third, &c);
			assert_int_equal(c.n, 0);
			config_destroy(third);
		}
		config_destroy(second);
		config_destroy(first);
	}
	assert_true(n_read > N_RANDOM / 2);
}

static void a_printed_text_is_whole_whatever_its_length(void **state)
{
	char long_text[5000];
	struct arena a = {0};

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	for (unsigned len = 1020; len < sizeof(long_text); len += len < 1028 ? 1 : 1000) {
		char *text;

		long_text[len] = '\0';
		text = arena_printf(&a, "%s!", long_text);
		assert_int_equal(strlen(text), len + 1);
		assert_int_equal(text[len], '!');
		long_text[len] = 'x';
	}
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_says_both_values_as_a_file_could_have_them),
		cmocka_unit_test(a_key_that_holds_others_is_listed_without_them_only),
		cmocka_unit_test(ranges_of_a_change_are_read_as_the_same),
		cmocka_unit_test(a_printed_text_is_whole_whatever_its_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
