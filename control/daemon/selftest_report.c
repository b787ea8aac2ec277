// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>

#include <json-c/json.h>

#include "control/config/terminal.h"
#include "control/daemon/selftest_impl.h"

enum { TEXT_LEN = 1024, TEXT_COLUMN = 13 };

static const char *const verdicts[] = {
	[VERDICT_OK] = "ok", [VERDICT_FAILED] = "failed", [VERDICT_UNKNOWN] = "cannot tell"};

static void put(struct json_object *row, const char *key, const char *text)
{
	json_object_object_add(row, key, json_object_new_string(text));
}

static void add_row(struct report *r, const char *device, const char *check, enum verdict verdict,
		    const char *text)
{
	struct json_object *row = json_object_new_object();

	if (r->checks == NULL)
		r->checks = json_object_new_array();
	put(row, "device", device);
	put(row, "check", check);
	put(row, "verdict", verdicts[verdict]);
	put(row, "text", text);
	json_object_array_add(r->checks, row);
}

void report_add(struct report *r, const char *device, const char *check, enum verdict verdict,
		const char *fmt, ...)
{
	char text[TEXT_LEN], line[2 * TEXT_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->n_failed += verdict == VERDICT_FAILED;
	if (r->json) {
		add_row(r, device, check, verdict, text);
		return;
	}
	snprintf(line, sizeof(line), "%s: %s", device, text);
	printf("%-*s", TEXT_COLUMN, verdict == VERDICT_FAILED ? "FAILED" : verdicts[verdict]);
	print_indented(stdout, line, TEXT_COLUMN, terminal_width(stdout));
	putchar('\n');
	fflush(stdout);
}

void report_end(struct report *r)
{
	struct json_object *out;

	if (!r->json) {
		if (r->n_failed == 0)
			puts("nothing failed");
		else
			printf("%u check%s failed\n", r->n_failed, r->n_failed == 1 ? "" : "s");
		return;
	}
	out = json_object_new_object();
	json_object_object_add(out, "checks",
			       r->checks != NULL ? r->checks : json_object_new_array());
	json_object_object_add(out, "failed", json_object_new_int((int)r->n_failed));
	puts(json_object_to_json_string_ext(out, JSON_C_TO_STRING_PRETTY));
	json_object_put(out);
}
