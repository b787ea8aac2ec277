// SPDX-License-Identifier: Apache-2.0
// Values of CONFIG_DB and of policies as texts, and the way back.
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/sonic/export.h"
#include "control/sonic/import.h"
#include "control/sonic/tables.h"
#include "dataplane/base/rng.h"

// The import of each would be another policy.
static void a_value_that_sonic_has_no_number_for_is_refused(void **state)
{
	static const struct {
		const char *from, *to, *said;
	} rows[] = {
		{"pmax: 1%", "pmax: 0.5%", "classes.N.wred.pmax lies between 0 and the next"},
		{"8M", "8000001bps", "classes.N.max_rate lies between 1000000 and the next"},
		{"200ms", "200500us", "watchdog.detect: is no whole number of milliseconds"},
		{"10G", "10000000001bps", "ports[].speed lies between 10000 and the next"},
		{"200ms", "99ms", "watchdog.detect is shorter than SONiC's least, 100 ms"},
		{"300ms", "20ms", "watchdog.restore is shorter than SONiC's least, 100 ms"},
		{"pmax: 1%", "pmax: 2%", NULL},
		{"8M", "8000008bps", NULL},
	};
	static const char policy[] =
		"ports: [{name: Ethernet0, device: \"xdp:a\", speed: 10G, profile: a}]\n"
		"profiles:\n"
		"  a:\n"
		"    watchdog: {action: alert, detect: 200ms, restore: 300ms}\n"
		"    classes:\n"
		"      1: {max_rate: 8M, schedule: {dwrr: 5}, wred: {ecn: on, kmin: 10KB, kmax: "
		"20KB, "
		"pmax: 1%}}\n"
		"      3: {lossless: on}\n";

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *at = strstr(policy, rows[i].from);
		struct sonic_config out = {0};
		struct sonic_report r = {0};
		char text[1024];

		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - policy), policy, rows[i].to,
			 at + strlen(rows[i].from));
		assert_int_equal(sonic_export("f", text, strlen(text), &out, &r),
				 rows[i].said == NULL ? 0 : -EINVAL);
		assert_int_equal(r.n_errors, rows[i].said != NULL);
		for (unsigned k = 0; k < r.n; k++)
			if (r.messages[k].level == SONIC_ERROR)
				assert_non_null(strstr(r.messages[k].text, rows[i].said));
		sonic_report_fini(&r);
		sonic_config_fini(&out);
	}
}

static void must_return(enum sonic_field f, int64_t n)
{
	char out[SONIC_TEXT_LEN];
	const char *text = sonic_text(f, n, out), *why;
	int64_t back = -2;

	if (!sonic_parse(&sonic_fields[f], text, &back, &why) || back != n)
		fail_msg("%s %s: %" PRId64 " is written as %s, which is %" PRId64,
			 sonic_fields[f].table, sonic_fields[f].field, n, text, back);
}

static void a_written_field_is_read_as_the_same(void **state)
{
	enum { N_RANDOM = 500, MOST_CABLE_CM = 200000000 }; // 10 ms of a cable
	struct rng r;

	(void)state;
	rng_init(&r, 1);
	for (unsigned f = 0; f < N_SONIC_FIELDS; f++) {
		const struct sonic_field_info *info = &sonic_fields[f];
		int64_t scale = info->unit == SONIC_BYTE_RATE ? 8
				: info->unit == SONIC_MBPS    ? 1000000
				: info->unit == SONIC_MS      ? 1000000
				: info->unit == SONIC_PERCENT ? 10000
							      : 1;
		int64_t lo = info->min, hi = info->max;

		switch (info->unit) {
		case SONIC_TEXT:
		case SONIC_NONE:
		case SONIC_NAME:
		case SONIC_KIB: // only read
			continue;
		case SONIC_WORD:
			for (unsigned i = 0; info->words[i] != NULL; i++)
				must_return(f, i);
			continue;
		case SONIC_SWITCH:
			lo = 0, hi = 1;
			break;
		case SONIC_LIST:
			lo = 0, hi = 0xff;
			break;
		case SONIC_LENGTH:
			lo = 0, hi = MOST_CABLE_CM;
			break;
		case SONIC_OR_WORD:
			must_return(f, -1);
			break;
		default:
			break;
		}
		must_return(f, lo * scale);
		must_return(f, hi * scale);
		for (unsigned i = 0; i < N_RANDOM; i++)
			must_return(f, scale * (lo + (int64_t)(rng_next64(&r) %
							       (uint64_t)(hi - lo + 1))));
	}
}

static void a_cable_keeps_its_parts_of_a_metre(void **state)
{
	static const struct {
		const char *sonic, *policy;
	} rows[] = {
		{"2.5m", "cable: 2.5m"},       {"0.5m", "cable: 0.5m"}, {"12.34m", "cable: 12.34m"},
		{"40m", "cable: 40m"},	       {"2000m", "cable: 2km"}, {"0m", "cable: 0m"},
		{"300.05m", "cable: 300.05m"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sonic_config c = {0}, out = {0};
		struct sonic_report r = {0};
		const struct sonic_import_options o = {0};
		char text[512], *policy = NULL;
		size_t len = 0;
		FILE *file = open_memstream(&policy, &len);

		snprintf(text, sizeof(text),
			 "{\"PORT\": {\"Ethernet0\": {\"speed\": \"10000\", \"mtu\": \"1500\"}}, "
			 "\"CABLE_LENGTH\": {\"AZURE\": {\"Ethernet0\": \"%s\"}}}",
			 rows[i].sonic);
		assert_int_equal(sonic_read_json(&c, "f", text, strlen(text), &r), 0);
		assert_int_equal(sonic_import(&c, &o, &r, file), 0);
		fclose(file);
		assert_non_null(strstr(policy, rows[i].policy));
		assert_int_equal(sonic_export("f", policy, len, &out, &r), 0);
		sonic_sort(&out);
		assert_string_equal(sonic_get(&out, "CABLE_LENGTH", "AZURE", "Ethernet0"),
				    rows[i].sonic);
		free(policy);
		sonic_report_fini(&r);
		sonic_config_fini(&c);
		sonic_config_fini(&out);
	}
}

// SONiC has one time for a port: one that some class has, and where not all have it, a warning.
static void the_times_of_classes_become_those_of_the_port(void **state)
{
	static const struct {
		const char *port, *of_3, *of_4, *said, *detect;
	} rows[] = {
		{"50ms", "300ms", "300ms", NULL, "300"},
		{"200ms", "150ms", "150ms", NULL, "150"},
		{"200ms", "150ms", "200ms", "times of single classes are not exported", "200"},
		{"200ms", "20ms", "200ms", "times of single classes are not exported", "200"},
		{"50ms", "300ms", "400ms", "times of single classes are not exported", "300"},
		{"200ms", "20ms", "20ms", "shorter than SONiC's least", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sonic_config out = {0};
		struct sonic_report r = {0};
		char text[512];

		snprintf(text, sizeof(text),
			 "ports: [{name: Ethernet0, device: \"xdp:a\", speed: 10G, profile: a}]\n"
			 "profiles: {a: {watchdog: {detect: %s, limit: {count: 0}}, classes: {\n"
			 "  3: {lossless: on, watchdog: {detect: %s}},\n"
			 "  4: {lossless: on, watchdog: {detect: %s}}}}}\n",
			 rows[i].port, rows[i].of_3, rows[i].of_4);
		assert_int_equal(sonic_export("f", text, strlen(text), &out, &r),
				 rows[i].detect == NULL ? -EINVAL : 0);
		assert_int_equal(r.n, rows[i].said != NULL);
		if (rows[i].said != NULL)
			assert_non_null(strstr(r.messages[0].text, rows[i].said));
		if (rows[i].detect != NULL) {
			sonic_sort(&out);
			assert_string_equal(
				sonic_get(&out, "PFC_WD", "Ethernet0", "detection_time"),
				rows[i].detect);
		}
		sonic_report_fini(&r);
		sonic_config_fini(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_that_sonic_has_no_number_for_is_refused),
		cmocka_unit_test(the_times_of_classes_become_those_of_the_port),
		cmocka_unit_test(a_written_field_is_read_as_the_same),
		cmocka_unit_test(a_cable_keeps_its_parts_of_a_metre),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
