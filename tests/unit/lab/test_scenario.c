// SPDX-License-Identifier: Apache-2.0
// Scenario files: every bad/NAME.yaml must produce exactly the lines of bad/NAME.expect; --set
// edits a tree before it is read; names, ranges and patterns; seeds.
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/lab/fabric.h"
#include "control/lab/scenario.h"

enum { LEAST_FIXTURES = 20, TEXT_LEN = 1 << 16 };

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, TEXT_LEN);

	if (f == NULL)
		fail_msg("%s is missing", path);
	(void)!fread(text, 1, TEXT_LEN - 1, f);
	fclose(f);
	return text;
}

// What loading a file says, all lines as one text. sets end with a NULL path.
static char *reported(const char *path, const struct sc_set *sets)
{
	struct diags d = {0};
	struct scenario *sc = NULL;
	char *text = calloc(1, TEXT_LEN), *end = text;
	unsigned n_sets = 0;
	int err;

	while (sets != NULL && sets[n_sets].path != NULL)
		n_sets++;
	err = scenario_load(path, sets, n_sets, &sc, &d);
	if (err == 0)
		err = fabric_check(sc, &d);
	for (unsigned i = 0; i < d.n; i++)
		end += sprintf(end, "%s\n", d.lines[i]);
	assert_int_equal(err, d.n_errors == 0 ? 0 : -EINVAL);
	scenario_destroy(sc);
	diags_fini(&d);
	return text;
}

static void every_mistake_has_its_exact_text_and_place(void **state)
{
	DIR *dir = opendir(".");
	struct dirent *e;
	unsigned n = 0;

	(void)state;
	assert_non_null(dir);
	while ((e = readdir(dir)) != NULL) {
		size_t len = strlen(e->d_name);
		char *want, *got, expect[300];

		if (len <= 5 || strcmp(e->d_name + len - 5, ".yaml") != 0)
			continue;
		snprintf(expect, sizeof(expect), "%.*s.expect", (int)len - 5, e->d_name);
		want = slurp(expect);
		got = reported(e->d_name, NULL);
		assert_string_equal(got, want);
		assert_true(*want != '\0');
		free(got);
		free(want);
		n++;
	}
	closedir(dir);
	assert_in_range(n, LEAST_FIXTURES, 1000);
}

// Their policies, too; what they expect is the lab suite's to see.
static void every_sample_scenario_can_run(void **state)
{
	const char *folder = "../../../../conf/lab";
	DIR *dir = opendir(folder);
	struct dirent *e;
	unsigned n = 0;

	(void)state;
	assert_non_null(dir);
	while ((e = readdir(dir)) != NULL) {
		size_t len = strlen(e->d_name);
		char path[300], *got;

		if (len <= 5 || strcmp(e->d_name + len - 5, ".yaml") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%.200s", folder, e->d_name);
		got = reported(path, NULL);
		for (char *line = strtok(got, "\n"); line != NULL; line = strtok(NULL, "\n"))
			if (strstr(line, ": warning: ") == NULL)
				fail_msg("%s", line);
		free(got);
		n++;
	}
	closedir(dir);
	assert_true(n > 0);
}

static void a_distribution_may_have_blanks_in_its_path(void **state)
{
	char *got = reported("../good/sizes.yaml", NULL);

	(void)state;
	assert_string_equal(got, "");
	free(got);
}

static void a_file_that_cannot_be_read_is_reported(void **state)
{
	char *got = reported("nowhere/at-all.yaml", NULL);

	(void)state;
	assert_string_equal(got, "nowhere/at-all.yaml: cannot open: No such file or directory\n");
	free(got);
}

// ---- --set
#define BASE "../good/base.yaml"

static struct scenario *load(const char *path, const struct sc_set *sets, unsigned n)
{
	struct diags d = {0};
	struct scenario *sc = NULL;
	int err = scenario_load(path, sets, n, &sc, &d);

	for (unsigned i = 0; i < d.n; i++)
		print_message("%s\n", d.lines[i]);
	assert_int_equal(err, 0);
	diags_fini(&d);
	return sc;
}

static void a_set_changes_adds_and_removes_what_the_file_says(void **state)
{
	const struct sc_set sets[] = {
		{"duration", "7ms"},
		{"links[0].speed", "100G"},
		{"hosts.h[1-2].nic.cc", "connectx"},
		{"hosts.h1.nic.window", "77"},
		{"hosts.\"h[2-2]\".nic.window", "78"},
		{"faults[0]", "{at: 3us, host: h2, deaf: {for: 5us}}"},
		{"faults[1]", "{at: 4us, link: s1.p1, link_down: {}}"},
		{"record.every", "20us"},
		{"expect[1]", "rate(h1) >= 1G"},
		{"policy.switch.buffer.size", "9MB"},
		{"seed", "42"},
	};
	struct scenario *sc = load(BASE, sets, sizeof(sets) / sizeof(sets[0]));

	(void)state;
	assert_int_equal(sc->duration_ns, 7000000);
	assert_int_equal(sc->links[0].speed_bps, 100000000000);
	assert_int_equal(sc->links[1].speed_bps, 100000000000);
	assert_int_equal(sc->hosts[0].nic.cc.flavour, CC_CONNECTX);
	assert_int_equal(sc->hosts[1].nic.cc.flavour, CC_CONNECTX);
	assert_int_equal(sc->hosts[0].nic.window, 77);
	assert_int_equal(sc->hosts[1].nic.window, 78);
	assert_int_equal(sc->n_faults, 2);
	assert_int_equal(sc->faults[0].kind, SC_IGNORE_PAUSE);
	assert_int_equal(sc->faults[0].at_ns, 3000);
	assert_int_equal(sc->faults[0].for_ns, 5000);
	assert_int_equal(sc->faults[1].kind, SC_LINK_DOWN);
	assert_int_equal(sc->faults[1].link, 0);
	assert_true(sc->faults[1].for_ns == UINT64_MAX);
	assert_int_equal(sc->record_every_ns, 20000);
	assert_int_equal(sc->n_expects, 2);
	assert_string_equal(sc->expects[1].text, "rate(h1) >= 1G");
	assert_int_equal(sc->seed, 42);
	scenario_destroy(sc);
}

static void a_fault_of_a_port_strikes_each_class_of_a_range(void **state)
{
	const struct sc_set sets[] = {
		{"faults[0]", "{at: 1us, port: s1.p1, tx_off: {class: \"3,5-6\", for: 5us}}"},
		{"faults[1]", "{at: 2us, port: s1.p1, recover: {class: [1-2]}}"},
		{"faults[2]", "{at: 3us, port: s1.p1, tx_off: {}}"},
		{"faults[3]", "{at: 4us, host: h1, pause_storm: {class: 0-7, for: 5us}}"},
	};
	static const struct {
		uint8_t kind;
		int cls;
	} want[] = {{SC_TX_OFF, 3},  {SC_TX_OFF, 5},  {SC_TX_OFF, 6},	   {SC_RECOVER, 1},
		    {SC_RECOVER, 2}, {SC_TX_OFF, -1}, {SC_PAUSE_STORM, -1}};
	struct scenario *sc = load(BASE, sets, 4);

	(void)state;
	assert_int_equal(sc->n_faults, sizeof(want) / sizeof(want[0]));
	for (uint32_t i = 0; i < sc->n_faults; i++) {
		assert_int_equal(sc->faults[i].kind, want[i].kind);
		assert_int_equal(sc->faults[i].cls, want[i].cls);
	}
	assert_int_equal(sc->faults[6].storm.classes, 0xff);
	scenario_destroy(sc);
}

static void the_last_of_two_sets_counts(void **state)
{
	const struct sc_set sets[] = {{"seed", "5"}, {"seed", "6"}};
	struct scenario *sc = load(BASE, sets, 2);

	(void)state;
	assert_int_equal(sc->seed, 6);
	scenario_destroy(sc);
}

static void a_wrong_set_says_which_one(void **state)
{
	static const struct {
		struct sc_set set;
		const char *want;
	} rows[] = {
		{{"duration", "5x"},
		 "--set 'duration=5x': duration: \"5x\": expected a time such as 10us (ns us ms "
		 "s)\n"},
		{{"durations", "5ms"},
		 "--set 'durations=5ms': durations: unknown key: did you mean duration?\n"},
		{{"links[3].speed", "1G"},
		 "--set 'links[3].speed=1G': the list has 1 entries: the next is [1]\n"},
		{{"links[x].speed", "1G"}, "--set 'links[x].speed=1G': an index is written [0]\n"},
		{{"links.speed", "1G"},
		 "--set 'links.speed=1G': links is a list and has no keys\n"},
		{{"duration[0]", "1"}, "--set 'duration[0]=1': there is no list to take [0] of\n"},
		{{"duration.x", "1"},
		 "--set 'duration.x=1': duration is a single value and has no keys\n"},
		{{"hosts.\"h1", "1"}, "--set 'hosts.\"h1=1': the quote in the key is not closed\n"},
		{{"hosts..nic", "1"},
		 "--set 'hosts..nic=1': a key is missing: write a.b[2].c=value\n"},
		{{"duration", "["},
		 "--set 'duration=[': the value is no YAML: quote it as in a file\n"},
		{{"policy.switch.bufer.size", "1MB"},
		 "--set 'policy.switch.bufer.size=1MB': switch.bufer: unknown key: did you mean "
		 "buffer?\n"
		 "../good/base.yaml:5:12: switches.s1: s1 cannot run on this policy with its 2 "
		 "ports\n"},
		{{"expect[0]", "jian(rate(h*)) >= 1"},
		 "--set 'expect[0]=jian(rate(h*)) >= 1': expect[0]: there is no function jian: did "
		 "you "
		 "mean jain?\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sc_set sets[] = {rows[i].set, {NULL, NULL}};
		char *got = reported(BASE, sets);

		assert_string_equal(got, rows[i].want);
		free(got);
	}
}

// ---- names
static void patterns_match_names_ranges_and_stars(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool match;
	} rows[] = {
		{"h1", "h1", true},	   {"h1", "h12", false},	   {"h*", "h12", true},
		{"*", "anything", true},   {"h[1-8]", "h8", true},	   {"h[1-8]", "h9", false},
		{"h[1-8]", "h18", false},  {"h[1-8]", "h", false},	   {"h[1-20]", "h18", true},
		{"h[1,3]", "h3", true},	   {"h[1,3]", "h2", false},	   {"h[1-8]", "h01", false},
		{"h[01-08]", "h01", true}, {"h[01-08]", "h1", false},	   {"*[1-2]", "tor2", true},
		{"*[1-2]", "tor3", false}, {"p[1-2]h[3-4]", "p1h4", true}, {"h[1", "h1", false},
		{"a*b*c", "aXbYc", true},  {"a*b*c", "aXbY", false},	   {"", "", true},
		{"h*", "h", true},	   {"*1", "h10", false},	   {"h*0*", "h10", true},
		{"**", "abc", true},	   {"h[9-12]x", "h11", false}, {"h[9-12]x", "h11x", true},
		{"h[1-3]", "hx", false},   {"[1-2].p[3]", "1.p3", true}, {"h*[1-3]", "h24", false},
		{"h*[21]", "h21", true},   {"*ab", "abab", true},	   {"*a*", "", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (scenario_matches(rows[i].pattern, rows[i].name) != rows[i].match)
			fail_msg("%s and %s", rows[i].pattern, rows[i].name);
}

// By trying out what each star may stand for this would take for ever.
static void a_pattern_of_many_stars_is_decided_at_once(void **state)
{
	char stars[200], name[64], pairs[200] = "";

	(void)state;
	memset(stars, '*', sizeof(stars));
	snprintf(stars + 60, sizeof(stars) - 60, "b");
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (unsigned i = 0; i < 40; i++)
		strcat(pairs, "*a");
	assert_true(scenario_matches(pairs, name));
	assert_false(scenario_matches(strcat(pairs, "*b"), name));
	assert_false(scenario_matches(stars, name));
}

static void later_entries_add_to_what_earlier_ones_say_of_a_host(void **state)
{
	struct scenario *sc = load("../good/patterns.yaml", NULL, 0);

	(void)state;
	assert_int_equal(sc->n_hosts, 4);
	assert_int_equal(sc->hosts[0].nic.cc.flavour, CC_PAPER);
	assert_int_equal(sc->hosts[3].nic.cc.flavour, CC_NONE);
	assert_int_equal(sc->hosts[0].nic.window, 100);
	assert_int_equal(sc->hosts[3].nic.window, 200);
	assert_int_equal(sc->switches[0].n_overrides, 2);
	assert_int_equal(sc->switches[0].n_ports, 6);
	assert_int_equal(sc->switches[0].ports[5].link, SC_NO_LINK);
	assert_int_equal(sc->switches[0].ecmp_seed, 77);
	scenario_destroy(sc);
}

static void of_a_word_and_a_preset_of_cc_the_later_holds(void **state)
{
	const struct sc_set sets[] = {
		{"hosts", "{\"h*\": {nic: {cc: paper}}, h1: {nic: {cc: {preset: connectx}}}, "
			  "h2: {nic: {cc: {ai: 1G}}}}"},
	};
	struct scenario *sc = load(BASE, sets, 1);

	(void)state;
	assert_int_equal(sc->hosts[0].nic.cc.flavour, CC_CONNECTX);
	assert_int_equal(sc->hosts[1].nic.cc.flavour, CC_PAPER);
	scenario_destroy(sc);
}

static void hosts_have_addresses_by_their_order(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	struct scenario *sc = load(BASE, NULL, 0);

	(void)state;
	assert_string_equal(sc->hosts[1].name, "h2");
	assert_int_equal(sc->hosts[1].ip, 0x0a000002);
	assert_memory_equal(sc->hosts[1].mac, mac, 6);
	assert_int_equal(scenario_host(sc, "h2"), 1);
	assert_int_equal(scenario_host(sc, "h3"), -1);
	scenario_destroy(sc);
}

// ---- size

enum { LARGE = 1 << 20, MOST_KIB = 256 << 10, MOST_SECONDS = 10 };

struct large {
	const char *head, *before, *after; // of a number: no two rows are equal
	const char *want; // in one of the messages
};

static char *large_text(const struct large *l)
{
	char *text = calloc(1, LARGE + 1);
	int n = snprintf(text, LARGE, "scenario: large\npolicy: x\nduration: 1ms\n%s\n", l->head);
	const int row = (int)(strlen(l->before) + 5 + strlen(l->after));

	for (unsigned i = 10000; n + row < LARGE; i++)
		n += snprintf(text + n, (size_t)(LARGE - n), "%s%u%s", l->before, i, l->after);
	return text;
}

// Ends the process with 0 when the text is refused as wanted.
static void refuse_in_child(const char *text, const char *want)
{
	const struct sc_input in = {.path = "large.yaml", .text = text, .len = strlen(text)};
	const struct rlimit cpu = {MOST_SECONDS, MOST_SECONDS};
	struct diags d = {0};
	struct scenario *sc = NULL;
	bool said = false;

	setrlimit(RLIMIT_CPU, &cpu);
	if (scenario_parse(&in, &sc, &d) != -EINVAL)
		_exit(1);
	for (unsigned i = 0; i < d.n; i++)
		said = said || strstr(d.lines[i], want) != NULL;
	_exit(said ? 0 : 2);
}

#define RANGES4 "[0-127][0-127][0-127][0-127]"
#define SPACES32 "                                "
#define SPACES128 SPACES32 SPACES32 SPACES32 SPACES32
#define RANGES20 RANGES4 RANGES4 RANGES4 RANGES4 RANGES4
#define LONG_RANGES RANGES20 "a-text-of-70-characters-------------------------------------------70"

static void a_megabyte_of_ranges_is_refused_in_little_memory(void **state)
{
	static const char length[] = "no name, address or device is longer than 127 characters";
	static const char hosts[] = "there are more than 4096 of them";
	static const char entries[] = "entries: at most 8192 are possible";
	static const struct large rows[] = {
		{"hosts:", "  \"" LONG_RANGES, "\":\n", length},
		{"switches:", "  \"" LONG_RANGES, "\":\n", length},
		{"links:", "- {between: [\"" LONG_RANGES, "\", \"s1.p[0-127]\"], speed: 1G}\n",
		 length},
		{"hosts:", "  \"h[0-127]a", "\":\n", entries},
		{"switches:", "  \"s[0-127]a", "\":\n", entries},
		{"hosts:", "  \"h[0-127]a", "\":" SPACES128 "\n", hosts},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = large_text(&rows[i]);
		struct rusage used;
		int status;
		pid_t child = fork();

		if (child == 0)
			refuse_in_child(text, rows[i].want);
		free(text);
		assert_int_equal(wait4(child, &status, 0, &used), child);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			fail_msg("row %zu ended with status %#x", i, (unsigned)status);
		if (used.ru_maxrss > MOST_KIB)
			fail_msg("row %zu took %ld KiB", i, used.ru_maxrss);
	}
}

static void a_cable_is_as_long_as_its_delay(void **state)
{
	const struct sc_set sets[] = {{"links[0]", "{between: [\"h[1-2]\", "
						   "\"s1.p[1-2]\"], speed: 40G, delay: 50us}"}};
	struct scenario *sc = load(BASE, sets, 1);

	(void)state;
	assert_int_equal(sc->links[0].delay_ns, 50000);
	assert_int_equal(sc->links[0].cable_cm, 990000); // 9.9 km at 1.98e8 m/s
	scenario_destroy(sc);
	sc = load(BASE, NULL, 0);
	assert_int_equal(sc->links[0].cable_cm, 500);
	assert_int_equal(sc->links[0].delay_ns, 26); // 5 m, rounded up
	scenario_destroy(sc);
}

static void a_warning_of_a_policy_names_its_switches_once(void **state)
{
	char *got = reported("../good/warned.yaml", NULL), *second = strchr(got, '\n') + 1;

	(void)state;
	// A leaf has four ports and a spine three.
	assert_non_null(strstr(got, " (on l1, l2, l3)\n"));
	assert_non_null(strstr(second, " (on s1, s2)\n"));
	assert_string_equal(strchr(second, '\n'), "\n");
	free(got);
	got = reported("../good/warned.yaml",
		       (const struct sc_set[]){{"topology.leaf-spine.leaves", "9"},
					       {"topology.leaf-spine.hosts_per_leaf", "7"},
					       {NULL, NULL}});
	assert_non_null(strstr(got, " (on l1, l2, l3, l4, ... 11 switches)\n"));
	free(got);
}

// ---- params
static void params_stand_in_keys_values_expectations_and_sums(void **state)
{
	const struct sc_set sets[] = {{"params.n", "6"}, {"hosts.h7.nic.window", "$n"}};
	struct scenario *sc = load("../good/params.yaml", NULL, 0);

	(void)state;
	assert_string_equal(sc->name, "incast-4");
	assert_string_equal(
		sc->title, "4 to one by 100KBs, for 5 $ at 6.25%, 300KB, -1.333333333 and 429ns");
	assert_int_equal(sc->duration_ns, 7500);
	assert_int_equal(sc->n_hosts, 5);
	assert_int_equal(sc->links[0].speed_bps, 40000000000);
	assert_int_equal(sc->hosts[3].nic.window, 77);
	assert_string_equal(sc->records[0].text, "rate(h5)");
	assert_string_equal(sc->expects[0].text, "messages(f) <= 2 * 4");
	assert_string_equal(sc->expects[0].at.origin->written, "messages(f) <= 2 * $n");
	assert_int_equal(sc->params.n, 7);
	assert_string_equal(sc->params.rows[3].name, "last");
	assert_string_equal(sc->params.rows[3].value, "h5");
	scenario_destroy(sc);
	sc = load("../good/params.yaml", sets, 2);
	assert_string_equal(sc->name, "incast-6");
	assert_int_equal(sc->n_hosts, 7);
	assert_int_equal(sc->hosts[5].nic.window, 77);
	assert_int_equal(sc->hosts[6].nic.window, 6);
	assert_string_equal(sc->records[0].text, "rate(h7)");
	scenario_destroy(sc);
}

static void a_wrong_set_of_a_param_says_so_and_what_there_is(void **state)
{
	static const struct {
		struct sc_set set;
		const char *want;
	} rows[] = {
		{{"params.siz", "1KB"},
		 "--set 'params.siz=1KB': there is no param siz: did you mean size? Known are n, "
		 "size, line, last, wait, share, who\n"},
		{{"params.size", "1X"},
		 "../good/params.yaml:3:8: title: size is 1X, and only numbers are computed with: "
		 "unknown unit: known are bps K M G, B KB MB GB KiB MiB GiB, ns us ms s, and %\n"},
		{{"params.last", "x9"},
		 "../good/params.yaml:9:31: flows[0] (f).to: there is no host x9: there are h1, "
		 "h2, h3 ... h5 (\"$last\": last is x9, --set 'params.last=x9')\n"},
		{{"params.n", "{}"},
		 "--set 'params.n={}': params.n: expected a single value, found a map\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sc_set sets[] = {rows[i].set, {NULL, NULL}};
		char *got = reported("../good/params.yaml", sets);

		assert_string_equal(got, rows[i].want);
		free(got);
	}
}

static void a_long_text_keeps_all_that_stands_around_its_params(void **state)
{
	static char text[6000];
	const struct sc_set sets[] = {{"description", text}};
	struct scenario *sc;

	(void)state;
	memset(text, 'x', sizeof(text));
	snprintf(text + sizeof(text) - 6, 6, "$n $n");
	sc = load("../good/params.yaml", sets, 1);
	assert_int_equal(strlen(sc->description), sizeof(text) - 3);
	assert_string_equal(sc->description + sizeof(text) - 8, "xx4 4");
	scenario_destroy(sc);
}

// Each of these doubles the one before.
static void params_do_not_make_a_small_file_large(void **state)
{
	char text[4096] = "scenario: large\nparams:\n  p0: 0123456789\n";
	struct diags d = {0};
	struct scenario *sc = NULL;
	struct sc_input in = {.path = "large.yaml", .text = text};
	unsigned n = 0;

	(void)state;
	for (unsigned i = 1; i < 64; i++)
		sprintf(text + strlen(text), "  p%u: $p%u$p%u\n", i, i - 1, i - 1);
	in.len = strlen(text);
	assert_int_equal(scenario_parse(&in, &sc, &d), -EINVAL);
	for (unsigned i = 0; i < d.n; i++)
		n += strstr(d.lines[i], "the params make more than 4 MiB of text") != NULL;
	assert_int_equal(n, 1);
	assert_int_equal(d.n_errors, 1);
	diags_fini(&d);
}

static void seeds_differ_by_consumer_index_and_scenario(void **state)
{
	const struct sc_set other[] = {{"seed", "2"}};
	struct scenario *a = load(BASE, NULL, 0), *b = load(BASE, other, 1);
	const uint64_t nic0 = scenario_seed(a, "nic", 0);

	(void)state;
	assert_true(nic0 == scenario_seed(a, "nic", 0));
	assert_true(nic0 != scenario_seed(a, "nic", 1));
	assert_true(nic0 != scenario_seed(a, "cin", 0));
	assert_true(nic0 != scenario_seed(b, "nic", 0));
	scenario_destroy(a);
	scenario_destroy(b);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mistake_has_its_exact_text_and_place),
		cmocka_unit_test(every_sample_scenario_can_run),
		cmocka_unit_test(a_distribution_may_have_blanks_in_its_path),
		cmocka_unit_test(a_file_that_cannot_be_read_is_reported),
		cmocka_unit_test(a_set_changes_adds_and_removes_what_the_file_says),
		cmocka_unit_test(a_fault_of_a_port_strikes_each_class_of_a_range),
		cmocka_unit_test(the_last_of_two_sets_counts),
		cmocka_unit_test(a_wrong_set_says_which_one),
		cmocka_unit_test(patterns_match_names_ranges_and_stars),
		cmocka_unit_test(a_pattern_of_many_stars_is_decided_at_once),
		cmocka_unit_test(later_entries_add_to_what_earlier_ones_say_of_a_host),
		cmocka_unit_test(a_megabyte_of_ranges_is_refused_in_little_memory),
		cmocka_unit_test(of_a_word_and_a_preset_of_cc_the_later_holds),
		cmocka_unit_test(hosts_have_addresses_by_their_order),
		cmocka_unit_test(a_cable_is_as_long_as_its_delay),
		cmocka_unit_test(a_warning_of_a_policy_names_its_switches_once),
		cmocka_unit_test(params_stand_in_keys_values_expectations_and_sums),
		cmocka_unit_test(a_wrong_set_of_a_param_says_so_and_what_there_is),
		cmocka_unit_test(a_long_text_keeps_all_that_stands_around_its_params),
		cmocka_unit_test(params_do_not_make_a_small_file_large),
		cmocka_unit_test(seeds_differ_by_consumer_index_and_scenario),
	};
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/tests/unit/lab/bad", argc > 1 ? argv[1] : ".");
	if (chdir(dir) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
