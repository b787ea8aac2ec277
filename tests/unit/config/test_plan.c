// SPDX-License-Identifier: Apache-2.0
// What `weirctl check` and `weirctl plan` print, and that every shipped policy passes both.
#include <dirent.h>
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

#include "control/config/plan.h"
#include "tests/temporary.h"

static struct config *load(const char *path)
{
	struct config *c = NULL;
	struct diags d = {0};

	assert_int_equal(config_load(path, &c, &d), 0);
	diags_fini(&d);
	return c;
}

// Runs the plan or, with path, the check; returns what it printed.
static char *printed(const struct config *c, const char *path, bool json, int *rc)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	*rc = c != NULL ? plan_print(c, json, NULL, f) : check_print(path, json, false, f);
	fclose(f);
	return text;
}

static void every_shipped_policy_passes_check_and_plan(void **state)
{
	DIR *dir = opendir("conf");
	struct dirent *e;
	unsigned n = 0;

	(void)state;
	assert_non_null(dir);
	while ((e = readdir(dir)) != NULL) {
		char path[300], *text;
		struct config *c;
		int rc;

		if (strstr(e->d_name, ".yaml") == NULL)
			continue;
		snprintf(path, sizeof(path), "conf/%s", e->d_name);
		text = printed(NULL, path, false, &rc);
		assert_int_equal(rc, 0);
		assert_non_null(strstr(text, ": ok ("));
		free(text);
		text = printed(NULL, path, true, &rc);
		assert_null(strstr(text, "severity")); // no warning either
		free(text);
		c = load(path);
		text = printed(c, NULL, false, &rc);
		assert_int_equal(rc, 0);
		assert_null(strstr(text, "headroom below"));
		free(text);
		config_destroy(c);
		n++;
	}
	closedir(dir);
	assert_in_range(n, 2, 1000);
}

static void check_says_ok_in_one_line(void **state)
{
	int rc;
	char *text = printed(NULL, "conf/roce.yaml", false, &rc);

	(void)state;
	text[strcspn(text, "\n")] = '\0'; // the rest depends on the machine
	assert_string_equal(
		text, "conf/roce.yaml: ok (3 ports, 3 lossless groups, 36864 B of headroom, "
		      "296 MB of hugepages)");
	free(text);
}

// Each machine has lo. An interface that is not there is no mistake of the file.
static void check_names_the_interfaces_that_this_machine_does_not_have(void **state)
{
	static const struct {
		const char *ports, *says; // in the second line, behind the name of the file
	} rows[] = {
		{"[{name: a, device: \"xdp:lo\", speed: 1G}]", ""},
		{"[{name: a, device: \"xdp:no_1\", speed: 1G, optional: on}]", ""},
		{"[{name: a, device: \"vdev:net_null0\", speed: 1G}]", ""},
		{"[{name: a, device: \"xdp:lo\", speed: 1G}, "
		 "{name: \"b[1-2]\", device: \"xdp:no_[1-2]\", speed: 1G}]",
		 ": note: weir cannot start here now, because there is no interface "
		 "no_1, no_2; `ip link` lists the interfaces\n"},
		{"[{name: \"b[1-6]\", device: \"xdp:no_[1-6]\", speed: 1G}]",
		 ": note: weir cannot start here now, because there is no interface "
		 "no_1, no_2, no_3, no_4 and 2 more; `ip link` lists the interfaces\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[PATH_MAX], policy[200], *text = NULL, *second;
		size_t len = 0;
		FILE *f = open_memstream(&text, &len);

		snprintf(policy, sizeof(policy), "ports: %s\n", rows[i].ports);
		temporary_file(path, "policy.yaml", policy);
		assert_int_equal(check_print(path, false, true, f), 0);
		fclose(f);
		second = strchr(text, '\n') + 1;
		assert_string_equal(*second == '\0' ? "" : second + strlen(path), rows[i].says);
		free(text);
	}
}

static uint64_t number(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o, key, &v))
		fail_msg("%s is missing", key);
	return json_object_get_uint64(v);
}

static const char *text_of(struct json_object *o, const char *key)
{
	return json_object_get_string(json_object_object_get(o, key));
}

static struct json_object *element(struct json_object *o, const char *list, size_t i)
{
	struct json_object *l = NULL;

	assert_true(json_object_object_get_ex(o, list, &l));
	return json_object_array_get_idx(l, i);
}

static void expect_message(struct json_object *o, size_t i, const char *text)
{
	assert_string_equal(json_object_to_json_string_ext(element(o, "messages", i),
							   JSON_C_TO_STRING_NOSLASHESCAPE),
			    text);
}

static void check_reports_as_json(void **state)
{
	int rc;
	char *text = printed(NULL, "tests/unit/config/bad/many_mistakes.yaml", true, &rc);
	struct json_object *o = json_tokener_parse(text);

	(void)state;
	assert_int_equal(rc, 2);
	assert_non_null(o);
	assert_int_equal(number(o, "ok"), 0);
	assert_int_equal(number(o, "errors"), 8);
	expect_message(o, 0,
		       "{\"file\":\"tests/unit/config/bad/many_mistakes.yaml\",\"line\":3,"
		       "\"column\":24,\"key\":\"switch.buffer.cel\",\"severity\":\"error\","
		       "\"text\":\"unknown key\",\"hint\":\"did you mean cell?\"}");
	json_object_put(o);
	free(text);
}

// Where the text has one line for several places.
static void json_lists_each_place(void **state)
{
	int rc;
	char *text = printed(NULL, "tests/unit/config/bad/repeated.yaml", true, &rc);
	struct json_object *o = json_tokener_parse(text);

	(void)state;
	assert_int_equal(rc, 2);
	assert_int_equal(number(o, "errors"), 18);
	assert_int_equal(json_object_array_length(json_object_object_get(o, "messages")), 18);
	assert_int_equal(number(element(o, "messages", 1), "line"), 3);
	json_object_put(o);
	free(text);
	text = printed(NULL, "no-such-file.yaml", true, &rc);
	o = json_tokener_parse(text);
	expect_message(o, 0,
		       "{\"file\":\"no-such-file.yaml\",\"line\":null,\"column\":null,"
		       "\"key\":null,\"severity\":\"error\","
		       "\"text\":\"cannot open: No such file or directory\",\"hint\":null}");
	json_object_put(o);
	free(text);
}

static void more_ports_than_dpdk_has_places_for_are_a_mistake(void **state)
{
	static const struct {
		const char *ports;
		int rc;
	} rows[] = {
		{"{name: \"p[1-32]\", device: \"vdev:net_tap[1-32]\", speed: 1G}", 0},
		{"{name: \"p[1-33]\", device: \"vdev:net_tap[1-33]\", speed: 1G}", 2},
		{"{name: \"p[1-30]\", device: \"vdev:net_tap[1-30]\", speed: 1G}, "
		 "{name: \"q[1-3]\", device: \"pci:0000:01:00.[1-3]\", speed: 1G}", 2},
		{"{name: \"p[1-32]\", device: \"vdev:net_tap[1-32]\", speed: 1G}, "
		 "{name: \"q[1-90]\", device: \"xdp:q[1-90]\", speed: 1G}", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[PATH_MAX], policy[256], *said;
		int rc;

		snprintf(policy, sizeof(policy), "ports: [%s]\n", rows[i].ports);
		temporary_file(path, "policy.yaml", policy);
		said = printed(NULL, path, true, &rc);
		assert_int_equal(rc, rows[i].rc);
		assert_int_equal(strstr(said, "has places for 32 pci: and vdev: ports") != NULL,
				 rc != 0);
		free(said);
	}
}

static void an_error_says_that_more_may_come_later(void **state)
{
	static const struct {
		const char *text;
		bool later;
	} rows[] = {
		{"profiles: {q: {}}\nports: 7\n", true},
		{"ports: [{name: a, device: \"xdp:a\", speed: 1G}]\n", false},
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char path[PATH_MAX], *said = NULL;
		size_t len = 0;
		FILE *err = stderr;
		int rc;

		temporary_file(path, "policy.yaml", rows[i].text);
		stderr = open_memstream(&said, &len);
		free(printed(NULL, path, false, &rc));
		fclose(stderr);
		stderr = err;
		assert_int_equal(rc, rows[i].later ? 2 : 0);
		assert_int_equal(strstr(said, ": more errors and warnings may come") != NULL,
				 rows[i].later);
		free(said);
	}
}

static void strict_takes_warnings_as_mistakes(void **state)
{
	static const struct {
		bool strict;
		int rc;
		unsigned errors;
		const char *severity;
	} rows[] = {{false, 0, 0, "warning"}, {true, 2, 1, "error"}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char path[PATH_MAX], *text = NULL;
		size_t len = 0;
		FILE *f = open_memstream(&text, &len);
		struct json_object *o, *m;
		int rc;

		temporary_file(path, "policy.yaml",
			       "ports: [{name: a, device: \"xdp:a\", speed: 1G}]\n"
			       "profiles: {q: {}}\n");
		assert_int_equal(check_print(path, true, rows[i].strict, f), rows[i].rc);
		fclose(f);
		o = json_tokener_parse(text);
		m = element(o, "messages", 0);
		assert_int_equal(number(o, "ok"), rows[i].rc == 0);
		assert_int_equal(number(o, "errors"), rows[i].errors);
		assert_string_equal(json_object_get_string(json_object_object_get(m, "severity")),
				    rows[i].severity);
		assert_string_equal(json_object_get_string(json_object_object_get(m, "text")),
				    "no port uses this profile");
		json_object_put(o);
		free(text);
		text = printed(NULL, path, false, &rc);
		assert_non_null(strstr(text, "policy.yaml: ok, 1 warning (1 port, "));
		free(text);
	}
}

static void plan_of_the_sample_is_exact(void **state)
{
	struct config *c = load("conf/roce.yaml");
	int rc;
	char *text = printed(c, NULL, true, &rc);
	struct json_object *o = json_tokener_parse(text), *pg;

	(void)state;
	assert_int_equal(rc, 0);
	assert_non_null(o);
	assert_int_equal(number(element(o, "ports", 2), "speed_bps"), 1000000000);
	pg = element(o, "pgs", 1);
	assert_string_equal(json_object_get_string(json_object_object_get(pg, "port")), "p2");
	assert_int_equal(number(pg, "class"), 3);
	assert_int_equal(number(pg, "min_bytes"), 71 * 256);
	assert_int_equal(number(pg, "shared_bytes"), 46518 * 256);
	assert_int_equal(number(pg, "xoff_bytes"), 12288);
	assert_int_equal(number(pg, "headroom_bytes"), 12288);
	assert_int_equal(number(pg, "xoff_cells"), 48);
	assert_int_equal(number(pg, "t_flight_bytes"), 12288);
	assert_int_equal(number(pg, "xoff_at_bytes"), (71 + 46518) * 256);
	assert_int_equal(number(pg, "xoff_alone_bytes"), (71 + 46518 / 2) * 256);
	// min + T - xon_offset, as `weirctl show buffers` tells it.
	assert_int_equal(number(pg, "xon_at_bytes"), (71 + 46518 - 71) * 256);
	// s <= F - s - 71 cells, and min.
	assert_int_equal(number(pg, "xon_alone_bytes"), (71 + (46518 - 71) / 2) * 256);
	assert_int_equal(number(pg, "neighbour_must_reserve_bytes"), 8192 + 1522);
	// Of 46518 / 2 + 71 cells, a frame takes 6; half of the frames have left.
	assert_int_equal(number(pg, "ecn_frames_to_xoff"), 7776);
	assert_int_equal(number(pg, "ecn_queue_bytes"), 2958768);
	assert_string_equal(text_of(pg, "ecn_before_pfc"), "yes");
	assert_int_equal(number(element(o, "pools", 2), "size_bytes"), 144 * 256);
	assert_int_equal(number(element(o, "pools", 3), "size_bytes"), 46518 * 256);
	json_object_put(o);
	free(text);
	config_destroy(c);
}

// One input of 100G, two outputs of 10G. A queue holds 2.9 MB at XOFF, above kmin.
static void ecn_verdict_counts_the_average_and_the_chance(void **state)
{
	static const struct {
		const char *wred, *verdict;
		double least, most; // expected marks
	} rows[] = {
		{"kmin: 1.9MB, kmax: 2MB, pmax: 100%", "yes", 200, 400},
		{"kmin: 1.9MB, kmax: 2MB, pmax: 100%, weight: 8", "no", 0, 0},
		{"kmin: 1.9MB, kmax: 2MB, pmax: 100%, weight: 15", "no", 0, 0},
		{"kmin: 1.9MB, kmax: 6MB, pmax: 0.001%", "no", 0.00001, 0.001},
		{"kmin: 1.9MB, kmax: 6MB, pmax: 10%", "marginal", 1, 10},
		{"kmin: 6MB, kmax: 7MB, pmax: 100%", "no", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config *c = NULL;
		struct diags d = {0};
		char policy[512], *text;
		struct json_object *o, *pg;
		double marks;
		int rc;

		snprintf(policy, sizeof(policy),
			 "ports:\n"
			 "  - {name: a, device: \"wire:a\", speed: 100G, profile: q}\n"
			 "  - {name: \"b[1-2]\", device: \"wire:b[1-2]\", speed: 10G, profile: q}\n"
			 "profiles: {q: {classes: {3: {lossless: on, wred: {ecn: on, %s}}}}}\n",
			 rows[i].wred);
		assert_int_equal(config_parse("t", policy, strlen(policy), &c, &d), 0);
		text = printed(c, NULL, true, &rc);
		o = json_tokener_parse(text);
		pg = element(o, "pgs", 0);
		marks = json_object_get_double(json_object_object_get(pg, "ecn_marks_to_xoff"));
		assert_string_equal(text_of(pg, "ecn_before_pfc"), rows[i].verdict);
		assert_true(marks >= rows[i].least && marks <= rows[i].most);
		json_object_put(o);
		free(text);
		diags_fini(&d);
		config_destroy(c);
	}
}

static void check_passes_ports_whose_link_decides_the_speed(void **state)
{
	char path[PATH_MAX], *text;
	int rc;

	(void)state;
	temporary_file(path, "policy.yaml", "ports: [{name: a, device: \"pci:0000:3b:00.0\"}]\n");
	text = printed(NULL, path, true, &rc);
	assert_int_equal(rc, 0);
	assert_non_null(strstr(text, "is that of the link: the headroom of a is known when the "
				     "device opens"));
	free(text);
}

static void ports_without_a_speed_share_a_line(void **state)
{
	char path[PATH_MAX], *text, *found;
	int rc;

	(void)state;
	temporary_file(path, "policy.yaml",
		       "ports: [{name: \"a[0-9]\", device: \"pci:0000:3b:00.[0-9]\"}]\n");
	text = printed(NULL, path, true, &rc);
	assert_int_equal(rc, 0);
	found = strstr(text, "the headroom of a0, a1, a2, a3, a4, a5, a6, a7 and 2 more is known");
	assert_non_null(found);
	assert_null(strstr(found + 1, "is that of the link"));
	free(text);
}

// 10 Gb/s for 12.5 ms are 15.6 MB, 1 Gb/s a tenth of that.
static void plan_says_where_a_ring_is_too_small_for_a_stall(void **state)
{
	const char *policy =
		"ports:\n"
		"  - {name: a, device: \"xdp:a\", speed: 1G, profile: q}\n"
		"  - {name: b, device: \"xdp:b\", speed: 10G, profile: q}\n"
		"  - {name: c, device: \"xdp:c\", speed: 10G, profile: q, rx_ring: 16384}\n"
		"  - {name: d, device: \"vdev:net_tap0\", speed: 1G, profile: q}\n"
		"  - {name: e, device: \"xdp:e\", speed: 10G}\n"
		"  - {name: f, device: \"xdp:f\", speed: 100G, profile: q}\n"
		"  - {name: g, device: \"xdp:g\", speed: 400G, profile: q}\n"
		"profiles: {q: {classes: {3: {lossless: on}}}}\n";
	struct diags d = {0};
	struct config *c = NULL;
	char *text;
	int rc;

	(void)state;
	assert_int_equal(config_parse("t", policy, strlen(policy), &c, &d), 0);
	diags_fini(&d);
	text = printed(c, NULL, false, &rc);
	assert_int_equal(rc, 0);
	assert_non_null(strstr(text, "a               10ms     2048"));
	assert_non_null(strstr(text, "744  holds\n"));
	assert_non_null(strstr(text, "TOO SMALL, frames are lost: rx_ring: 16384, or "
				     "switch.stall.pause_after: 2ms\n"));
	assert_non_null(strstr(text, "c               10ms    16384"));
	assert_non_null(strstr(text, "no kernel interface\n"));
	assert_non_null(strstr(text, "rx_ring: 32768 and switch.stall.pause_after: 3ms\n"));
	assert_non_null(strstr(text, "and no ring is large enough\n"));
	assert_null(strstr(text, "\ne               10ms"));
	free(text);
	config_destroy(c);
}

static struct memory_plan memory_of(const char *text)
{
	struct memory_plan m;
	struct policy *p = NULL;
	struct config *c = NULL;
	struct diags d = {0};

	assert_int_equal(config_parse("t", text, strlen(text), &c, &d), 0);
	assert_int_equal(memory_compile(c, &p, &d), 0);
	m = memory_plan(c, p);
	policy_destroy(p);
	config_destroy(c);
	diags_fini(&d);
	return m;
}

#define ONE_PORT(sw)                                                                               \
	"switch: {name: m" sw "}\nports:\n"                                                        \
	"  - {name: p1, device: \"xdp:a\", mtu: 1500, speed: 1G}\n"

// A cell is an mbuf of 2,176 bytes of buffer, 128 of its own and 192 of the pool's.
// Each port knows how much of each queue is of each group of each other port.
static void memory_of_tables_grows_with_the_square_of_the_ports(void **state)
{
#define PORTS(n, keys)                                                                             \
	"switch: {name: w, buffer: {size: 8MB}}\n"                                                 \
	"ports: [{name: \"p[1-" #n "]\", device: \"xdp:e[1-" #n "]\", speed: 1G, rx_ring: 64, "    \
	"lldp: off" keys "}]\n"
	struct memory_plan m3 = memory_of(PORTS(3, "")), m512 = memory_of(PORTS(512, ""));
	struct memory_plan routed = memory_of(PORTS(512, ", ip: [\"fd00:[1-512]::1/64\"]"));

	(void)state;
	assert_int_equal(m3.table_bytes, 64 << 20);
	assert_int_equal(m512.table_bytes, (32 << 20) + 512 * 65536 + 512 * 512 * 320);
	assert_int_equal(routed.table_bytes - m512.table_bytes, 512 * 2 * 32768); // ARP and ND
	assert_true(m512.total_bytes - m512.pool_bytes >= m512.table_bytes);
}

// Each of 64 frames to receive and 256 to send has half a page, a long one a page.
static void many_xdp_ports_have_their_rings_apart_from_the_pool(void **state)
{
	struct memory_plan few = memory_of(PORTS(16, "")), many = memory_of(PORTS(17, ""));
	struct memory_plan jumbo = memory_of(PORTS(17, ", mtu: 9000"));

	(void)state;
	assert_int_equal(few.apart_bytes, 0);
	assert_int_equal(many.apart_bytes, 17 * (64 + 256) * 2048);
	assert_int_equal(jumbo.apart_bytes, 17 * (64 + 256) * 4096);
	// What one more port adds to the pool: the frames of its rings, or none of them.
	assert_int_equal(few.n_frames - memory_of(PORTS(15, "")).n_frames,
			 memory_of(PORTS(18, "")).n_frames - many.n_frames + 64 + 256);
}

static void memory_grows_with_cells_workers_and_flows(void **state)
{
	struct memory_plan small = memory_of(ONE_PORT(", buffer: {size: 1MB}"));
	struct memory_plan large = memory_of(ONE_PORT(", buffer: {size: 1GB}"));
	struct memory_plan coarse = memory_of(ONE_PORT(", buffer: {size: 1GB, cell: 4KB}"));
	struct memory_plan two = memory_of(ONE_PORT(", workers: 2, buffer: {size: 1MB}"));
	struct memory_plan flows = memory_of(ONE_PORT(", flows: off, buffer: {size: 1MB}"));

	(void)state;
	assert_int_equal(small.frame_bytes, 2176 + 128 + 192);
	assert_int_equal(large.n_frames - small.n_frames, 3906250 - 3906);
	assert_true(large.pool_bytes > 9600000000 && large.huge_bytes > large.pool_bytes);
	assert_true(coarse.huge_bytes < large.huge_bytes / 10);
	assert_int_equal(two.record_bytes, 4 * small.record_bytes);
	assert_int_equal(flows.flow_bytes, 0);
	assert_int_equal(small.total_bytes - flows.total_bytes, small.flow_bytes);
	assert_int_equal(small.normal_bytes, 2 * small.huge_bytes);
}

// The largest buffer in the smallest usual cells, with the largest alpha.
static const char deep[] =
	"switch: {name: deep, flows: off, buffer: {size: 64GiB, cell: 64B}}\n"
	"ports: [{name: \"p[1-3]\", device: \"xdp:v[1-3]\", speed: 400G, mtu: 9000, profile: r}]\n"
	"profiles:\n"
	"  r:\n"
	"    dscp_to_class: {default: 0, 24-31: 3}\n"
	"    classes:\n"
	"      3:\n"
	"        lossless: true\n"
	"        ingress: {min: 0B, alpha: 128, headroom: auto}\n"
	"        wred: {ecn: on, kmin: 10%, kmax: 50%, pmax: 10%}\n";

static void a_plan_of_64_gigabytes_is_exact_and_narrow(void **state)
{
	struct config *c = NULL;
	struct diags d = {0};
	char *text, *line;
	int rc;

	(void)state;
	assert_int_equal(config_parse("t", deep, strlen(deep), &c, &d), 0);
	text = printed(c, NULL, false, &rc);
	assert_int_equal(rc, 0);
	// F is 2^30 cells less the headroom. One group reaches (F+1)*128/129; T is at
	// most F.
	assert_non_null(strstr(text, "\nbuffer           68719476736 1073741824\n"));
	assert_non_null(strstr(text, "\ningress          68719025152 1073734768\n"));
	assert_non_null(strstr(text, "\negress_lossless  68719476736 1073741824\n"));
	assert_non_null(strstr(text, "\np1           3         0    150528    150528 68719025152"
				     " 68186319552 68719025152\n"));
	// 10 % of F.
	assert_non_null(strstr(text, "\np1           3 6871902515   2 "));
	for (line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 80);
	free(text);
	config_destroy(c);
	diags_fini(&d);
}

// The class stands below its head, behind a name of SONiC's length.
// A leaf of SONiC: the plan of its ports is two rows of each table, and fits a terminal.
static void equal_rows_of_ports_are_one_and_fit_80_columns(void **state)
{
	static const char yaml[] =
		"switch: {name: s, buffer: {size: 60MB, cell: 256B}}\n"
		"ports:\n"
		"  - {name: \"Ethernet[100-107]\", device: \"xdp:e[100-107]\", speed: 100G,"
		" mtu: 1500, profile: r}\n"
		"  - {name: Ethernet124, device: \"xdp:a\", speed: 100G, mtu: 1500,"
		" cable: 300m, profile: r}\n"
		"  - {name: Ethernet125, device: \"xdp:b\", speed: 100G, mtu: 1500, profile: r}\n"
		"profiles:\n"
		"  r:\n"
		"    dscp_to_class: {default: 0, 24-31: 3, 32-39: 4}\n"
		"    classes:\n"
		"      3: {lossless: true, wred: {ecn: on, kmin: 1MB, kmax: 2MB, pmax: 5%}}\n"
		"      4: {lossless: true}\n";
	struct config *c = NULL;
	struct diags d = {0};
	char *text = NULL, *line;
	size_t len;
	FILE *f;
	int rc;

	(void)state;
	assert_int_equal(config_parse("t", yaml, strlen(yaml), &c, &d), 0);
	text = printed(c, NULL, false, &rc);
	assert_int_equal(rc, 0);
	assert_null(strstr(text, "\nEthernet101 "));
	assert_non_null(strstr(text, " no ECN\n  also Ethernet101 to Ethernet125\n")); // not folded
	assert_non_null(strstr(text, "\n  also Ethernet101 to Ethernet107, Ethernet125\n"
				     "Ethernet100     4 "));
	assert_non_null(strstr(text, "\nEthernet124     3 "));
	for (line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 80);
	free(text);
	f = open_memstream(&text, &len);
	assert_int_equal(plan_print(c, false, "Ethernet124", f), 0);
	fclose(f);
	assert_non_null(strstr(text, "\nEthernet124     4 "));
	assert_null(strstr(text, "\nEthernet100"));
	assert_null(strstr(text, "also"));
	free(text);
	assert_int_equal(plan_print(c, false, "Ethernet1", stdout), 2);
	config_destroy(c);
	diags_fini(&d);
}

// Ports `yaml` of one profile with a lossless class 3.
static char *plan_of_ports(const char *ports, const char *port)
{
	char *yaml, *text = NULL;
	struct config *c = NULL;
	struct diags d = {0};
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_true(asprintf(&yaml,
			     "ports:\n%sprofiles:\n"
			     "  r: {dscp_to_class: {default: 0, 24-31: 3}, classes: {3: {lossless: "
			     "true}}}\n",
			     ports) > 0);
	assert_int_equal(config_parse("t", yaml, strlen(yaml), &c, &d), 0);
	assert_int_equal(plan_print(c, false, port, f), 0);
	fclose(f);
	config_destroy(c);
	diags_fini(&d);
	free(yaml);
	return text;
}

static void rows_of_names_of_unequal_length_are_one(void **state)
{
	char *text = plan_of_ports("  - {name: \"p[1-12]\", device: \"xdp:e[1-12]\", speed: 10G,"
				   " mtu: 1500, profile: r}\n", NULL);

	(void)state;
	assert_non_null(strstr(text, "\np1           3 "));
	assert_null(strstr(text, "\np10 "));
	assert_non_null(strstr(text, "\n  also p2 to p12\n"));
	free(text);
}

// The names are first words of a heading, of a legend and of the part about memory.
static void a_port_with_the_name_of_a_heading_takes_none_away(void **state)
{
	char *text = plan_of_ports("  - {name: pfc, device: \"xdp:a\", speed: 10G, profile: r}\n"
				   "  - {name: xoff, device: \"xdp:b\", speed: 10G, profile: r}\n"
				   "  - {name: memory, device: \"xdp:c\", speed: 10G, profile: r}\n"
				   "  - {name: x1, device: \"xdp:d\", speed: 10G, profile: r}\n",
				   "x1");

	(void)state;
	assert_non_null(strstr(text, "\npfc      class "));
	assert_non_null(strstr(text, "\nxoff       headroom: "));
	assert_non_null(strstr(text, "\nmemory of live ports: "));
	assert_non_null(strstr(text, "\nx1           3 "));
	assert_null(strstr(text, "\nmemory       3 "));
	free(text);
}

static void long_names_of_ports_do_not_break_the_columns(void **state)
{
	static const char yaml[] =
		"switch: {name: s, buffer: {size: 12MB, cell: 256B}}\n"
		"ports:\n"
		"  - {name: Ethernet124, device: \"xdp:a\", speed: 100G, mtu: 1500, profile: r}\n"
		"profiles:\n"
		"  r:\n"
		"    dscp_to_class: {default: 0, 24-31: 3}\n"
		"    classes: {3: {lossless: true}}\n";
	struct config *c = NULL;
	struct diags d = {0};
	char *text;
	int rc;

	(void)state;
	assert_int_equal(config_parse("t", yaml, strlen(yaml), &c, &d), 0);
	text = printed(c, NULL, false, &rc);
	assert_int_equal(rc, 0);
	assert_non_null(strstr(text, "\npfc         class       min "));
	assert_non_null(strstr(text, "\nEthernet124     3 "));
	free(text);
	config_destroy(c);
	diags_fini(&d);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shipped_policy_passes_check_and_plan),
		cmocka_unit_test(check_says_ok_in_one_line),
		cmocka_unit_test(check_names_the_interfaces_that_this_machine_does_not_have),
		cmocka_unit_test(check_reports_as_json),
		cmocka_unit_test(json_lists_each_place),
		cmocka_unit_test(strict_takes_warnings_as_mistakes),
		cmocka_unit_test(an_error_says_that_more_may_come_later),
		cmocka_unit_test(more_ports_than_dpdk_has_places_for_are_a_mistake),
		cmocka_unit_test(plan_of_the_sample_is_exact),
		cmocka_unit_test(plan_says_where_a_ring_is_too_small_for_a_stall),
		cmocka_unit_test(ecn_verdict_counts_the_average_and_the_chance),
		cmocka_unit_test(check_passes_ports_whose_link_decides_the_speed),
		cmocka_unit_test(ports_without_a_speed_share_a_line),
		cmocka_unit_test(memory_of_tables_grows_with_the_square_of_the_ports),
		cmocka_unit_test(many_xdp_ports_have_their_rings_apart_from_the_pool),
		cmocka_unit_test(memory_grows_with_cells_workers_and_flows),
		cmocka_unit_test(a_plan_of_64_gigabytes_is_exact_and_narrow),
		cmocka_unit_test(equal_rows_of_ports_are_one_and_fit_80_columns),
		cmocka_unit_test(rows_of_names_of_unequal_length_are_one),
		cmocka_unit_test(a_port_with_the_name_of_a_heading_takes_none_away),
		cmocka_unit_test(long_names_of_ports_do_not_break_the_columns),
	};

	if (argc != 2 || chdir(argv[1]) != 0) {
		fprintf(stderr, "usage: %s SOURCE_ROOT\n", argv[0]);
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
