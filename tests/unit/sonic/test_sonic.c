// SPDX-License-Identifier: Apache-2.0
// SONiC configurations to policies and back. Each good/*.json returns with every table, key and
// value; each bad/*.json gives exactly the lines of its .expect. With a folder of foreign samples
// (an argument, or WEIR_SONIC_SAMPLES) the round trip also runs over these.
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/config/config.h"
#include "control/sonic/export.h"
#include "control/sonic/import.h"
#include "control/sonic/pg_lookup.h"
#include "control/sonic/tables.h"
#include "dataplane/policy.h"

enum { PATH_LEN = 512, MOST_TEXT = 1 << 20, LEAST_BAD = 5, LEAST_GOOD = 5 };

static const char *root, *samples; // folders

// ---- files and texts

static char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, MOST_TEXT);

	if (f == NULL)
		fail_msg("%s is missing", path);
	*len = fread(text, 1, MOST_TEXT - 1, f);
	fclose(f);
	return text;
}

static const char *fixture(const char *name, char path[PATH_LEN])
{
	snprintf(path, PATH_LEN, "%s/tests/unit/sonic/%s", root, name);
	return path;
}

static void add_file(struct sonic_config *c, const char *path)
{
	struct sonic_report r = {0};
	size_t len;
	char *text = slurp(path, &len);

	if (sonic_read_json(c, path, text, len, &r) != 0)
		sonic_report_print(&r, stderr);
	assert_int_equal(r.n_errors, 0);
	sonic_report_fini(&r);
	free(text);
}

static void add_fixture(struct sonic_config *c, const char *name)
{
	char path[PATH_LEN];

	add_file(c, fixture(name, path));
}

static void add_text(struct sonic_config *c, const char *text)
{
	struct sonic_report r = {0};

	assert_int_equal(sonic_read_json(c, "text", text, strlen(text), &r), 0);
	sonic_report_fini(&r);
}

// The policy, for the caller to free; NULL: refused.
static char *imported(struct sonic_config *c, const struct sonic_import_options *o,
		      struct sonic_report *r)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int err = sonic_import(c, o, r, out);

	fclose(out);
	assert_int_equal(err, r->n_errors > 0 ? -EINVAL : 0);
	if (err == 0)
		return text;
	assert_int_equal(len, 0); // nothing half-made
	free(text);
	return NULL;
}

static char *policy_of(struct sonic_config *c)
{
	const struct sonic_import_options o = {0};
	struct sonic_report r = {0};
	char *text = imported(c, &o, &r);

	if (text == NULL)
		sonic_report_print(&r, stderr);
	assert_non_null(text);
	sonic_report_fini(&r);
	return text;
}

static void exported(const char *policy, struct sonic_config *out)
{
	struct sonic_report r = {0};

	if (sonic_export("p", policy, strlen(policy), out, &r) != 0)
		sonic_report_print(&r, stderr);
	assert_int_equal(r.n_errors, 0);
	sonic_report_fini(&r);
	sonic_sort(out);
}

static struct policy *compiled(const char *text)
{
	struct diags d = {0};
	struct config *c = NULL;
	struct policy *p = NULL;

	if (config_parse("p", text, strlen(text), &c, &d) != 0 ||
	    config_compile(c, NULL, &p, &d) != 0)
		diags_print(&d);
	assert_non_null(p);
	config_destroy(c);
	diags_fini(&d);
	return p;
}

// Lines of a policy may have ports that are alike in another order.
static const struct policy_port *port(const struct policy *p, const char *name)
{
	for (unsigned i = 0; i < p->n_ports; i++)
		if (strcmp(p->ports[i].name, name) == 0)
			return &p->ports[i];
	fail_msg("no port %s", name);
	return NULL;
}

static void assert_has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" is not in\n%s", part, text);
}

static char *replaced(const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);
	char *out = NULL;

	if (at == NULL)
		fail_msg("\"%s\" is not in\n%s", old, text);
	assert_true(asprintf(&out, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old)) > 0);
	return out;
}

static const char *report_text(const struct sonic_report *r)
{
	static char text[MOST_TEXT];
	FILE *out = fmemopen(text, sizeof(text), "w");

	sonic_report_print(r, out);
	fclose(out);
	return text;
}

// ---- the round trip

// Rows that come back: those of a table that is known, and not for the import alone.
static bool comes_back(const struct sonic_row *row)
{
	const struct sonic_field_info *f = sonic_field(row->table, row->field);

	return sonic_knows_table(row->table) && (f == NULL || f->rule != SONIC_READ);
}

static unsigned count_missing(const struct sonic_config *a, const struct sonic_config *b,
			      const char *what)
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->n; i++) {
		const struct sonic_row *row = &a->rows[i];
		const char *other = sonic_get(b, row->table, row->key, row->field);

		if (!comes_back(row) || (other != NULL && strcmp(other, row->value) == 0))
			continue;
		fprintf(stderr, "%s %s|%s %s: %s, not %s\n", what, row->table, row->key, row->field,
			row->value, other != NULL ? other : "there");
		n++;
	}
	return n;
}

static void same_tables(const struct sonic_config *in, const char *policy)
{
	struct sonic_config out = {0}, a = {0}, b = {0};
	struct sonic_report r = {0};

	exported(policy, &out);
	sonic_expand(in, &a, &r);
	sonic_expand(&out, &b, &r);
	assert_int_equal(r.n, 0);
	assert_int_equal(count_missing(&a, &b, "lost:") + count_missing(&b, &a, "new:"), 0);
	sonic_report_fini(&r);
	sonic_config_fini(&out);
	sonic_config_fini(&a);
	sonic_config_fini(&b);
}

static void every_good_configuration_returns(void **state)
{
	char path[PATH_LEN];
	DIR *dir = opendir(fixture("good", path));
	unsigned n = 0;

	(void)state;
	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir)) != NULL;) {
		struct sonic_config c = {0};
		char file[PATH_LEN], *policy;

		if (strstr(e->d_name, ".json") == NULL)
			continue;
		snprintf(file, sizeof(file), "good/%s", e->d_name);
		add_fixture(&c, file);
		policy = policy_of(&c);
		print_message("%s\n", file);
		same_tables(&c, policy);
		free(policy);
		sonic_config_fini(&c);
		n++;
	}
	closedir(dir);
	assert_true(n >= LEAST_GOOD);
}

static void every_mistake_has_its_exact_text(void **state)
{
	char path[PATH_LEN];
	DIR *dir = opendir(fixture("bad", path));
	unsigned n = 0;

	(void)state;
	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir)) != NULL;) {
		const struct sonic_import_options o = {.ports = NULL};
		struct sonic_config c = {0};
		struct sonic_report r = {0};
		char file[PATH_LEN], *text, *want;
		size_t len;

		if (strstr(e->d_name, ".json") == NULL)
			continue;
		snprintf(file, sizeof(file), "bad/%s", e->d_name);
		text = slurp(fixture(file, path), &len);
		(void)!sonic_read_json(&c, file, text, len, &r);
		free(text);
		text = imported(&c, &o, &r);
		assert_null(text);
		strcpy(strstr(path, ".json"), ".expect");
		want = slurp(path, &len);
		assert_string_equal(report_text(&r), want);
		free(want);
		sonic_report_fini(&r);
		sonic_config_fini(&c);
		n++;
	}
	closedir(dir);
	assert_true(n >= LEAST_BAD);
}

// ---- values of the policy

static void the_shared_pool_has_the_size_of_sonics_pool(void **state)
{
	struct sonic_config c = {0};
	struct policy *p;
	char *text;

	(void)state;
	add_fixture(&c, "good/static.json");
	text = policy_of(&c);
	p = compiled(text);
	assert_int_equal(p->buffer.ingress_pool_cells, 9000001 / 256);
	assert_int_equal(p->buffer.headroom_pool_cells, 1000001 / 256);
	assert_int_equal(p->buffer.egress_lossy_cells, 8000001 / 256);
	policy_destroy(p);
	free(text);
	sonic_config_fini(&c);
}

static void a_group_has_the_values_of_its_profile(void **state)
{
	struct sonic_config c = {0};
	const struct pg_params *pg;
	struct policy *p;
	char *text;

	(void)state;
	add_fixture(&c, "good/static.json");
	text = policy_of(&c);
	p = compiled(text);
	pg = &port(p, "Ethernet4")->pg[3]; // 40 m
	assert_true(pg->lossless && pg->shared.dynamic);
	assert_int_equal(pg->shared.alpha_log2, -3);
	assert_int_equal(pg->min_cells, (1248 + 255) / 256);
	assert_int_equal(pg->xoff_cells, (70001 + 255) / 256);
	assert_int_equal(pg->xon_cells, (2288 - 1248) / 256); // beyond min
	assert_int_equal(pg->xon_offset_cells, (2288 + 255) / 256);
	assert_int_equal(port(p, "Ethernet0")->pg[3].xoff_cells, (60000 + 255) / 256);
	assert_false(port(p, "Ethernet0")->pg[0].shared.dynamic);
	assert_int_equal(port(p, "Ethernet0")->pg[0].shared.static_cells, 9000000 / 256);
	policy_destroy(p);
	free(text);
	sonic_config_fini(&c);
}

// Without a shared headroom pool `size` of a profile includes xoff; XON comes at xon alone.
static void a_size_without_headroom_pool_includes_xoff(void **state)
{
	struct sonic_config c = {0};
	struct policy *p;
	char *text;

	(void)state;
	add_fixture(&c, "good/no-headroom-pool.json");
	text = policy_of(&c);
	p = compiled(text);
	assert_int_equal(port(p, "Ethernet0")->pg[3].min_cells, (49152 - 29696) / 256);
	assert_int_equal(port(p, "Ethernet0")->pg[3].xoff_cells, 29696 / 256);
	assert_int_equal(pg_xon_at(&port(p, "Ethernet0")->pg[3], 1000000), 0);
	assert_int_equal(port(p, "Ethernet4")->pg[3].min_cells, (1000 + 255) / 256);
	assert_int_equal(p->buffer.ingress_pool_cells, 4000000 / 256);
	assert_int_equal(port(p, "Ethernet0")->pfc.tx, 1 << 3);
	assert_int_equal(port(p, "Ethernet4")->pfc.tx, 0); // no pfc_enable
	policy_destroy(p);
	free(text);
	sonic_config_fini(&c);
}

static void a_queue_has_its_scheduler_and_wred(void **state)
{
	struct sonic_config c = {0};
	struct policy *p;
	char *text;

	(void)state;
	add_fixture(&c, "good/static.json");
	text = policy_of(&c);
	assert_has(text, "schedule: {dwrr: 15}   # SCHEDULER scheduler.1");
	assert_has(text, "\"1,2\":"); // classes that are alike
	assert_has(text, "max_rate: 1G\n");
	assert_has(text, "min_rate: 10M\n");
	assert_has(text, "action: forward, detect: 400ms, restore: 800ms, limit: {count: 0}");
	p = compiled(text);
	assert_true(port(p, "Ethernet0")->queue[3].wred.ecn);
	assert_true(port(p, "Ethernet0")->queue[3].wred.not_ect_drop);
	assert_int_equal(port(p, "Ethernet0")->queue[3].wred.curve[GREEN].kmin_bytes, 100000);
	assert_int_equal(port(p, "Ethernet0")->queue[3].wred.curve[YELLOW].kmax_bytes, 400000);
	assert_int_equal(port(p, "Ethernet0")->queue[3].wred.curve[RED].kmax_bytes, 90000);
	assert_int_equal(port(p, "Ethernet0")->sched.has_min, 1 << 7);
	assert_int_equal(port(p, "Ethernet0")->sched.has_max, 1 << 6 | 1 << 7);
	assert_int_equal(port(p, "Ethernet0")->watchdog.classes, 1 << 3 | 1 << 4);
	assert_int_equal(port(p, "Ethernet0")->classify.dscp_to_class[26], 3);
	assert_int_equal(port(p, "Ethernet0")->classify.class_to_pg[5], 0);
	policy_destroy(p);
	free(text);
	sonic_config_fini(&c);
}

// Published rows of a switch with this ASIC: speed in Mb/s, cable, xoff. xon and the min are 18 KiB
// of pipeline and one MTU.
static void the_dynamic_model_computes_published_headroom(void **state)
{
	static const struct {
		const char *speed, *cable;
		uint64_t xoff;
	} rows[] = {{"10000", "5m", 29696},
		    {"40000", "300m", 59392},
		    {"100000", "5m", 30720},
		    {"100000", "40m", 38912},
		    {"100000", "300m", 104448}};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sonic_config c = {0};
		struct policy *p;
		char *text;

		add_fixture(&c, "good/dynamic.json");
		add_fixture(&c, "asic_table.json");
		sonic_set(&c, "PORT", "Ethernet0", "speed", rows[i].speed);
		sonic_set(&c, "CABLE_LENGTH", "AZURE", "Ethernet0", rows[i].cable);
		text = policy_of(&c);
		p = compiled(text);
		assert_int_equal(p->cell.bytes, 96);
		assert_int_equal(port(p, "Ethernet0")->pg[3].xoff_cells, (rows[i].xoff + 95) / 96);
		assert_int_equal(port(p, "Ethernet0")->pg[3].min_cells, (19456 + 95) / 96);
		assert_int_equal(pg_xon_at(&port(p, "Ethernet0")->pg[3], 1000000), 0);
		policy_destroy(p);
		free(text);
		sonic_config_fini(&c);
	}
}

static const char lookup_text[] = "# speed cable size xon xoff threshold xon_offset\n"
				  "10000 5m 1248 2288 35776 -3 2288\n"
				  "  40000\t40m 50000 19456 30000 0 # no offset\n";

static void the_lookup_table_gives_groups_without_a_profile(void **state)
{
	struct pg_lookup lookup = {0};
	const struct sonic_import_options o = {.lookup = &lookup};
	struct sonic_config c = {0};
	struct sonic_report r = {0};
	char *text;

	(void)state;
	assert_int_equal(pg_lookup_read(&lookup, "f", lookup_text, strlen(lookup_text), &r), 0);
	assert_int_equal(lookup.n, 2);
	add_text(&c, "{\"PORT\": {\"Ethernet0\": {\"speed\": \"10000\"}, \"Ethernet4\": "
		     "{\"speed\": \"40000\"}, \"Ethernet8\": {\"speed\": \"10000\"}}, "
		     "\"CABLE_LENGTH\": {\"AZURE\": {\"Ethernet0\": \"5m\", \"Ethernet4\": "
		     "\"40m\", \"Ethernet8\": \"40m\"}}, \"PORT_QOS_MAP\": "
		     "{\"Ethernet0,Ethernet4,Ethernet8\": {\"pfc_enable\": \"3\"}}}");
	text = imported(&c, &o, &r);
	assert_non_null(text);
	assert_has(text, "min: 1248B, alpha: 1/8, xon: 1040B, xon_offset: 2288B, "
			 "headroom: 35776B}");
	assert_has(text, "min: 20KB, alpha: 1, xon: 0, xon_offset: 64GiB, headroom: 30KB}");
	assert_has(text, "ingress: {headroom: auto}"); // no row for 10G and 40 m
	assert_has(report_text(&r), "PORT_QOS_MAP|Ethernet8 pfc_enable: pg_profile_lookup.ini has");
	same_tables(&c, text); // SONiC makes these groups itself: no row of BUFFER_PG
	free(text);
	pg_lookup_fini(&lookup);
	sonic_report_fini(&r);
	sonic_config_fini(&c);
}

// The same two numbers as `weirctl check` of the policy, and `weirctl plan`.
static void headroom_below_the_need_of_the_link_is_warned_of(void **state)
{
	static const struct {
		unsigned xoff;
		bool warned;
	} rows[] = {{20000, true}, {28671, true}, {28672, false}};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sonic_import_options o = {.ports = NULL};
		struct sonic_config c = {0};
		struct sonic_report r = {0};
		struct diags d = {0};
		struct config *cfg = NULL;
		struct policy *p = NULL;
		char json[1024], want[64], *text;
		bool said = false;

		snprintf(json, sizeof(json),
			 "{\"PORT\": {\"Ethernet0\": {\"speed\": \"10000\", \"mtu\": \"1500\"}, "
			 "\"Ethernet4\": {\"speed\": \"10000\", \"mtu\": \"1500\"}}, "
			 "\"BUFFER_POOL\": {\"ingress_lossless_pool\": {\"size\": \"9000000\", "
			 "\"type\": \"ingress\", \"mode\": \"dynamic\", \"xoff\": \"100000\"}}, "
			 "\"BUFFER_PROFILE\": {\"p\": {\"pool\": \"ingress_lossless_pool\", "
			 "\"size\": \"0\", \"xoff\": \"%u\", \"dynamic_th\": \"0\"}}, "
			 "\"BUFFER_PG\": {\"Ethernet0,Ethernet4|3\": {\"profile\": \"p\"}}}",
			 rows[i].xoff);
		add_text(&c, json);
		text = imported(&c, &o, &r);
		assert_non_null(text);
		snprintf(want, sizeof(want), "BUFFER_PROFILE|p xoff: %u B are less", rows[i].xoff);
		assert_int_equal(strstr(report_text(&r), want) != NULL, rows[i].warned);
		assert_int_equal(strstr(report_text(&r), "28672 B") != NULL, rows[i].warned);
		assert_int_equal(config_parse("t", text, strlen(text), &cfg, &d), 0);
		assert_int_equal(memory_compile(cfg, &p, &d), 0);
		advice_add(cfg, NULL, p, 64, &d);
		snprintf(want, sizeof(want), "headroom: %u B are less", rows[i].xoff);
		for (unsigned n = 0; n < d.n; n++)
			said |= strstr(d.lines[n], want) != NULL &&
				strstr(d.lines[n], "Ethernet0, Ethernet4, 28672 B") != NULL;
		assert_int_equal(said, rows[i].warned);
		policy_destroy(p);
		config_destroy(cfg);
		diags_fini(&d);
		free(text);
		sonic_report_fini(&r);
		sonic_config_fini(&c);
	}
}

static void a_wrong_lookup_table_is_refused(void **state)
{
	static const char *const texts[] = {"10000 5m 1 2 3 0\n1000x 5m 1 2 3 0\n",
					    "10000 5 1 2 3 0\n",
					    "10000 5m 1 2 0 0\n",
					    "10000 5m 1 2 3 8\n",
					    "10000 5m 1 2 3\n",
					    "10000 5m 1 2 3 0 1 2\n",
					    "# nothing\n"};

	(void)state;
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct pg_lookup lookup = {0};
		struct sonic_report r = {0};

		assert_int_equal(pg_lookup_read(&lookup, "f", texts[i], strlen(texts[i]), &r),
				 -EINVAL);
		assert_int_equal(r.n_errors, 1);
		pg_lookup_fini(&lookup);
		sonic_report_fini(&r);
	}
}

// ---- the way back after a change

static void a_change_of_the_policy_is_exported(void **state)
{
	struct sonic_config c = {0}, out = {0};
	char *text, *changed, *less;

	(void)state;
	add_fixture(&c, "good/static.json");
	text = policy_of(&c);
	changed = replaced(text, "dwrr: 15", "dwrr: 30");
	less = replaced(changed, "        wred:", "        # wred:");
	exported(less, &out);
	assert_string_equal(sonic_get(&out, "SCHEDULER", "scheduler.1", "weight"), "30");
	assert_string_equal(sonic_get(&out, "QUEUE", "Ethernet0|3", "scheduler"), "scheduler.1");
	assert_null(sonic_get(&out, "QUEUE", "Ethernet0|3", "wred_profile"));
	assert_string_equal(sonic_get(&out, "SCHEDULER", "scheduler.0", "weight"), "14");
	free(text);
	free(changed);
	free(less);
	sonic_config_fini(&c);
	sonic_config_fini(&out);
}

// A line for the export fills only what the policy does not give.
static void a_policy_overrules_what_was_kept(void **state)
{
	static const char policy[] =
		"ports: [{name: Ethernet0, device: \"xdp:a\", speed: 10G, profile: a}]\n"
		"profiles: {a: {watchdog: on, classes: {3: {lossless: true}}}}\n"
		"#sonic keep PORT_QOS_MAP|@a pfcwd_sw_enable=4 \n"
		"#sonic keep PORT|Ethernet0 alias=etp%201\n";
	struct sonic_config out = {0};
	struct sonic_report r = {0};
	char *right;

	(void)state;
	assert_int_equal(sonic_export("f", policy, strlen(policy), &out, &r), -EINVAL);
	assert_has(report_text(&r), "line 3: expected #sonic keep TABLE|KEY FIELD=VALUE");
	sonic_config_fini(&out);
	sonic_report_fini(&r);
	right = replaced(policy, "=4 \n", "=4\n");
	exported(right, &out);
	free(right);
	assert_string_equal(sonic_get(&out, "PORT_QOS_MAP", "Ethernet0", "pfcwd_sw_enable"), "3");
	assert_string_equal(sonic_get(&out, "PORT", "Ethernet0", "alias"), "etp 1");
	sonic_config_fini(&out);
}

// Ports with the same names and other values get names of their own.
static void a_name_with_two_values_becomes_two(void **state)
{
	static const char policy[] =
		"ports:\n"
		"  - {name: Ethernet0, device: \"xdp:a\", speed: 10G, profile: a}\n"
		"  - {name: Ethernet4, device: \"xdp:b\", speed: 10G, profile: b}\n"
		"profiles:\n"
		"  a: {classes: {1: {schedule: {dwrr: 5}}}}\n"
		"  b: {classes: {1: {schedule: {dwrr: 7}}}}\n"
		"#sonic name QUEUE|@*|1 scheduler=s\n";
	struct sonic_config out = {0};

	(void)state;
	exported(policy, &out);
	assert_string_equal(sonic_get(&out, "QUEUE", "Ethernet0|1", "scheduler"), "s");
	assert_string_equal(sonic_get(&out, "QUEUE", "Ethernet4|1", "scheduler"), "s-2");
	assert_string_equal(sonic_get(&out, "SCHEDULER", "s", "weight"), "5");
	assert_string_equal(sonic_get(&out, "SCHEDULER", "s-2", "weight"), "7");
	sonic_config_fini(&out);
}

// A policy by hand, exported and imported, is the same to the switch.
static void a_policy_by_hand_returns_from_sonic(void **state)
{
	static const char policy[] =
		"switch: {buffer: {size: 12MB, headroom_pool: 600KB}}\n"
		"ports:\n"
		"  - {name: \"Ethernet[0,4]\", device: \"xdp:e[0,4]\", speed: 10G, mtu: 4000, "
		"profile: r, vlan: {untagged: 7, tagged: [20, 30]}}\n"
		"  - {name: Ethernet8, device: \"xdp:e8\", speed: 10G, mtu: 4000, profile: r, "
		"ip: [10.0.0.1/24, \"fd00::1/64\"]}\n"
		"vlans: [{id: 7}, {id: 20, ip: [10.20.0.1/24]}, {id: 30}]\n"
		"profiles:\n"
		"  r:\n"
		"    dscp_to_class: {default: 0, 24-31: 3, 48-55: 6}\n"
		"    pcp_to_class: {default: 0, 3: 3, 6: 6}\n"
		"    watchdog: {action: alert, detect: 200ms, restore: 300ms, limit: {count: 0}}\n"
		"    classes:\n"
		"      0: {schedule: {dwrr: 50}, egress: {min: 3000, alpha: 1/4}}\n"
		"      3:\n"
		"        lossless: true\n"
		"        schedule: {dwrr: 50}\n"
		"        ingress: {min: 18KB, alpha: 1/2, xon: 9KB, xon_offset: 18KB, headroom: "
		"50KB}\n"
		"        wred: {ecn: on, kmin: 150KB, kmax: 900KB, pmax: 10%, not_ect: drop}\n"
		"      6: {schedule: strict, max_rate: 8M}\n";
	struct sonic_config c = {0};
	struct policy *a, *b;
	char *again;

	(void)state;
	exported(policy, &c);
	again = policy_of(&c);
	a = compiled(policy);
	b = compiled(again);
	assert_int_equal(a->buffer.ingress_pool_cells, b->buffer.ingress_pool_cells);
	assert_int_equal(a->buffer.egress_lossy_cells, b->buffer.egress_lossy_cells);
	for (unsigned i = 0; i < 3; i++) {
		assert_memory_equal(a->ports[i].pg, b->ports[i].pg, sizeof(a->ports[i].pg));
		assert_memory_equal(a->ports[i].queue, b->ports[i].queue,
				    sizeof(a->ports[i].queue));
		assert_memory_equal(&a->ports[i].classify, &b->ports[i].classify,
				    sizeof(a->ports[i].classify));
		assert_memory_equal(&a->ports[i].sched, &b->ports[i].sched,
				    sizeof(a->ports[i].sched));
		assert_memory_equal(&a->ports[i].vlan, &b->ports[i].vlan, sizeof(a->ports[i].vlan));
		assert_int_equal(a->ports[i].watchdog.detect_ns, b->ports[i].watchdog.detect_ns);
		assert_int_equal(a->ports[i].watchdog.action, b->ports[i].watchdog.action);
	}
	assert_has(again, "ip: [\"10.0.0.1/24\", \"fd00::1/64\"]");
	policy_destroy(a);
	policy_destroy(b);
	free(again);
	sonic_config_fini(&c);
}

static void what_sonic_cannot_say_is_named(void **state)
{
	static const char policy[] =
		"ports: [{name: E0, device: \"xdp:a\", speed: 10G, profile: a}]\nprofiles:\n"
		"  a: {classes: {1: {schedule: {dwrr: 500}, wred: {ecn: on, kmin: 10%, kmax: 20%, "
		"pmax: 1%, weight: 3}}}}\n"
		"multicast: [{mac: \"01:00:5e:00:00:01\", ports: [E0]}]\n";
	struct sonic_config out = {0};
	struct sonic_report r = {0};

	(void)state;
	assert_int_equal(sonic_export("f", policy, strlen(policy), &out, &r), -EINVAL);
	assert_has(report_text(&r), "classes.1.schedule.dwrr: f:3: a weight is 1 to 100");
	assert_has(report_text(&r), "profiles.a.classes.1.wred.kmin: f:3: a share has no row");
	assert_has(report_text(&r), "profiles.a.classes.1.wred.weight: no table of CONFIG_DB");
	assert_has(report_text(&r), "multicast: no table of CONFIG_DB");
	sonic_report_fini(&r);
	sonic_config_fini(&out);
}

// ---- options

static void ports_are_chosen_and_get_devices(void **state)
{
	const struct sonic_import_options o = {
		.ports = "Ethernet8=vdev:net_null0,size=64,Ethernet0=xdp:eth1"};
	const struct sonic_import_options wrong = {
		.ports = "Ethernet0=xdp:v0,Ethernet4=v1,Ethernet9=xdp:eth2,Ethernet8"};
	const struct sonic_import_options after = {
		.ports = "Ethernet0=vdev:net_null0,size=64,Ethernet4=v1"};
	struct sonic_config c = {0};
	struct sonic_report r = {0};
	char *text;

	(void)state;
	add_fixture(&c, "good/static.json");
	text = imported(&c, &o, &r);
	assert_non_null(text);
	assert_has(text, "{name: \"Ethernet0\", device: \"xdp:eth1\", ");
	assert_has(text, "{name: \"Ethernet8\", device: \"vdev:net_null0,size=64\", ");
	assert_null(strstr(text, "name: \"Ethernet4\""));
	same_tables(&c, text); // the rows of ports that were left out come back
	assert_has(report_text(&r), "note: port Ethernet4 is not in --ports, and has no effect\n");
	free(text);
	assert_null(imported(&c, &wrong, &r));
	assert_has(report_text(&r), "expected PORT=DEVICE, such as Ethernet4=xdp:v1\n");
	assert_has(report_text(&r), "--ports: Ethernet8: expected PORT=DEVICE, such as "
				    "Ethernet8=xdp:eth1\n");
	assert_has(report_text(&r), "--ports: the configuration has no port Ethernet9");
	sonic_report_fini(&r);
	r = (struct sonic_report){0};
	assert_null(imported(&c, &after, &r));
	assert_has(report_text(&r), "--ports: Ethernet4=v1: expected");
	sonic_report_fini(&r);
	sonic_config_fini(&c);
}

// A writer of CONFIG_DB chooses names and keys. A name or a key must not add a key to the policy.
static void names_and_addresses_stay_texts(void **state)
{
	static const char *const names[] = {
		"W\\n        flood: on\\n#",
		"W\\u0085        flood: on\\u0085#",
		"W\\u2028        flood: on\\u2028#",
		"\\\"W\\r\\tW\\u0001",
	};
	static const char *const addresses[] = {
		("10.0.0.1/24\\\"]}\\n  - {name: evil, device: \\\"vdev:net_pcap0,tx_pcap=/x\\\", "
		 "ip: [\\\"10.0.9.1/24"),
		"10.0.0.1",
		"fd00::g/64",
		"10.0.0.1/33",
		"",
		"10.0.0.1/24 ",
	};
	const struct sonic_import_options o = {0};
	char json[PATH_LEN * 2], *text;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct sonic_config c = {0};

		snprintf(json, sizeof(json),
			 "{\"PORT\": {\"Ethernet0\": {\"speed\": \"100000\"}}, \"WRED_PROFILE\": "
			 "{\"%s\": {\"ecn\": \"ecn_all\", \"green_min_threshold\": \"30000\", "
			 "\"green_max_threshold\": \"60000\", \"green_drop_probability\": \"10\", "
			 "\"wred_green_enable\": \"true\"}}, \"QUEUE\": {\"Ethernet0|3\": "
			 "{\"wred_profile\": \"%s\"}}}",
			 names[i], names[i]);
		add_text(&c, json);
		text = policy_of(&c);
		assert_has(text, "kmax: 60");
		for (const char *at = text; (at = strstr(at, "flood")) != NULL; at++) {
			const char *line = at;

			while (line > text && line[-1] >= ' ' && line[-1] < 0x7f)
				line--;
			assert_non_null(memchr(line, '#', (size_t)(at - line)));
		}
		same_tables(&c, text);
		free(text);
		sonic_config_fini(&c);
	}
	for (size_t i = 0; i < 2 * sizeof(addresses) / sizeof(addresses[0]); i++) {
		struct sonic_config c = {0};
		struct sonic_report r = {0};

		snprintf(json, sizeof(json),
			 "{\"PORT\": {\"Ethernet0\": {}}, "
			 "\"VLAN\": {\"Vlan5\": {\"vlanid\": \"5\"}}, \"%s|%s\": {}}}",
			 i % 2 ? "VLAN_INTERFACE\": {\"Vlan5" : "INTERFACE\": {\"Ethernet0",
			 addresses[i / 2]);
		add_text(&c, json);
		assert_null(imported(&c, &o, &r));
		assert_has(report_text(&r),
			   i % 2 ? "error: VLAN_INTERFACE|Vlan5" : "error: INTERFACE|Ethernet0");
		sonic_report_fini(&r);
		sonic_config_fini(&c);
	}
}

// And the export writes no mtu, as the tables have none.
static void a_port_without_mtu_has_that_of_sonic_on_any_device(void **state)
{
	const struct sonic_import_options o = {
		.ports = "Ethernet0=xdp:a,Ethernet4=pci:0000:01:00.0"};
	struct sonic_config c = {0};
	struct sonic_report r = {0};
	char *text;

	(void)state;
	add_text(&c, "{\"PORT\": {\"Ethernet0\": {}, \"Ethernet4\": {}}}");
	text = imported(&c, &o, &r);
	assert_non_null(text);
	assert_has(text, "\"xdp:a\", mtu: 9100");
	assert_has(text, "\"pci:0000:01:00.0\", mtu: 9100");
	same_tables(&c, text);
	free(text);
	sonic_report_fini(&r);
	sonic_config_fini(&c);
}

static void a_table_with_a_slip_in_its_name_is_found(void **state)
{
	const struct sonic_import_options o = {0};
	struct sonic_config c = {0};
	struct sonic_report r = {0};

	(void)state;
	add_text(&c, "{\"PORT\": {\"Ethernet0\": {}}, \"PORTS\": {\"Ethernet4\": {}}, "
		     "\"BUFFER_POOLS\": {\"p\": {}}, \"BGP_NEIGHBOR\": {\"n\": {}}, "
		     "\"DSCP_TO_FC_MAP\": {\"m\": {\"1\": \"1\"}}}");
	free(imported(&c, &o, &r));
	assert_has(report_text(&r), "ignored: PORTS: is not known: did you mean PORT?\n");
	assert_has(report_text(&r),
		   "ignored: BUFFER_POOLS: is not known: did you mean BUFFER_POOL?\n");
	assert_has(report_text(&r), "ignored: DSCP_TO_FC_MAP: does not concern");
	assert_has(report_text(&r), "ignored: BGP_NEIGHBOR: does not concern a switch like this\n");
	sonic_report_fini(&r);
	sonic_config_fini(&c);
}

static void a_partial_import_leaves_out_what_is_refused(void **state)
{
	const struct sonic_import_options o = {.partial = true};
	struct sonic_config c = {0};
	struct sonic_report r = {0};
	char *text;

	(void)state;
	add_text(&c, "{\"PORT\": {\"Ethernet0\": {\"mtu\": \"1500\"}}, \"PORTCHANNEL\": "
		     "{\"PortChannel1\": {\"mtu\": \"9100\"}}, \"QUEUE\": "
		     "{\"host|asic0|Ethernet0|3\": {\"scheduler\": \"s\"}}, \"SCHEDULER\": {\"s\": "
		     "{\"type\": \"STRICT\"}}}");
	text = imported(&c, &o, &r);
	assert_non_null(text);
	assert_has(report_text(&r), "warning: PORTCHANNEL|PortChannel1 mtu: is refused");
	assert_has(report_text(&r), "(left out)");
	same_tables(&c, text);
	free(text);
	sonic_report_fini(&r);
	sonic_config_fini(&c);
}

static void many_keys_share_a_line(void **state)
{
	struct sonic_report r = {0};

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		char key[16];

		snprintf(key, sizeof(key), "Ethernet%u", i % 4);
		sonic_say(&r, SONIC_WARNING, "PORT", key, "mtu", "is odd");
	}
	assert_string_equal(
		report_text(&r),
		"warning: PORT|Ethernet0, Ethernet1, Ethernet2 and 1 more mtu: is odd\n");
	sonic_report_fini(&r);
}

// ---- foreign samples

static bool exists(const char *path)
{
	FILE *f = fopen(path, "re");

	if (f != NULL)
		fclose(f);
	return f != NULL;
}

// Tables whose names begin as that of the file have the buffers that belong to it.
static void add_partner(struct sonic_config *c, const char *name)
{
	static const char *const kinds[] = {"buffer-", "buffers-"};
	char path[PATH_LEN];

	if (strncmp(name, "qos-", 4) != 0)
		return;
	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s%s", samples, kinds[i], name + 4);
		if (exists(path)) {
			add_file(c, path);
			return;
		}
	}
	snprintf(path, sizeof(path), "%s/buffer-no-config.json", samples);
	if (exists(path))
		add_file(c, path);
}

static bool is_chassis(const struct sonic_report *r)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->messages[i].level == SONIC_ERROR &&
		    strstr(r->messages[i].text, "virtual output queue") == NULL)
			return false;
	return true;
}

static void sample_returns(const char *name)
{
	const struct sonic_import_options whole = {0}, partial = {.partial = true};
	struct sonic_config c = {0};
	struct sonic_report r = {0}, again = {0};
	char path[PATH_LEN], *text;

	snprintf(path, sizeof(path), "%s/%s", samples, name);
	add_file(&c, path);
	add_partner(&c, name);
	text = imported(&c, &whole, &r);
	if (text == NULL && !is_chassis(&r))
		sonic_report_print(&r, stderr);
	assert_true(text != NULL || is_chassis(&r));
	print_message("%s: %s\n", name, text != NULL ? "imported" : "refused: of a chassis");
	if (text == NULL)
		text = imported(&c, &partial, &again);
	assert_non_null(text);
	same_tables(&c, text);
	free(text);
	sonic_report_fini(&r);
	sonic_report_fini(&again);
	sonic_config_fini(&c);
}

static void every_foreign_sample_returns(void **state)
{
	DIR *dir = samples != NULL ? opendir(samples) : NULL;
	unsigned n = 0;

	(void)state;
	if (dir == NULL)
		skip();
	for (struct dirent *e; (e = readdir(dir)) != NULL;)
		if (strstr(e->d_name, ".json") != NULL) {
			sample_returns(e->d_name);
			n++;
		}
	closedir(dir);
	print_message("%u samples\n", n);
	assert_true(n > 0);
}

// Every row of a published pg_profile_lookup.ini, if it is that of the ASIC of asic_table.json.
static void every_row_of_a_foreign_table_is_computed(void **state)
{
	struct pg_lookup lookup = {0};
	struct sonic_report r = {0};
	char path[PATH_LEN], *text;
	size_t len;

	(void)state;
	snprintf(path, sizeof(path), "%s/pg_profile_lookup-msn2700.ini",
		 samples != NULL ? samples : "");
	if (samples == NULL || !exists(path))
		skip();
	text = slurp(path, &len);
	assert_int_equal(pg_lookup_read(&lookup, path, text, len, &r), 0);
	free(text);
	for (unsigned i = 0; i < lookup.n; i++) {
		const struct pg_lookup_row *row = &lookup.rows[i];
		struct sonic_config c = {0};
		struct policy *p;
		char value[32];

		add_fixture(&c, "good/dynamic.json");
		add_fixture(&c, "asic_table.json");
		snprintf(value, sizeof(value), "%lu", row->speed_bps / 1000000);
		sonic_set(&c, "PORT", "Ethernet0", "speed", value);
		snprintf(value, sizeof(value), "%lum", row->cable_cm / 100);
		sonic_set(&c, "CABLE_LENGTH", "AZURE", "Ethernet0", value);
		text = policy_of(&c);
		p = compiled(text);
		assert_int_equal(port(p, "Ethernet0")->pg[3].xoff_cells, (row->xoff + 95) / 96);
		assert_int_equal(port(p, "Ethernet0")->pg[3].min_cells, (row->xon + 95) / 96);
		assert_int_equal(row->size, row->xon + row->xoff);
		policy_destroy(p);
		free(text);
		sonic_config_fini(&c);
	}
	print_message("%u rows\n", lookup.n);
	pg_lookup_fini(&lookup);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_good_configuration_returns),
		cmocka_unit_test(every_mistake_has_its_exact_text),
		cmocka_unit_test(the_shared_pool_has_the_size_of_sonics_pool),
		cmocka_unit_test(a_group_has_the_values_of_its_profile),
		cmocka_unit_test(a_size_without_headroom_pool_includes_xoff),
		cmocka_unit_test(a_queue_has_its_scheduler_and_wred),
		cmocka_unit_test(the_dynamic_model_computes_published_headroom),
		cmocka_unit_test(the_lookup_table_gives_groups_without_a_profile),
		cmocka_unit_test(headroom_below_the_need_of_the_link_is_warned_of),
		cmocka_unit_test(a_wrong_lookup_table_is_refused),
		cmocka_unit_test(a_change_of_the_policy_is_exported),
		cmocka_unit_test(a_policy_overrules_what_was_kept),
		cmocka_unit_test(a_name_with_two_values_becomes_two),
		cmocka_unit_test(a_policy_by_hand_returns_from_sonic),
		cmocka_unit_test(what_sonic_cannot_say_is_named),
		cmocka_unit_test(ports_are_chosen_and_get_devices),
		cmocka_unit_test(names_and_addresses_stay_texts),
		cmocka_unit_test(a_port_without_mtu_has_that_of_sonic_on_any_device),
		cmocka_unit_test(a_table_with_a_slip_in_its_name_is_found),
		cmocka_unit_test(a_partial_import_leaves_out_what_is_refused),
		cmocka_unit_test(many_keys_share_a_line),
		cmocka_unit_test(every_foreign_sample_returns),
		cmocka_unit_test(every_row_of_a_foreign_table_is_computed),
	};

	root = argc > 1 ? argv[1] : ".";
	samples = argc > 2 ? argv[2] : getenv("WEIR_SONIC_SAMPLES");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
