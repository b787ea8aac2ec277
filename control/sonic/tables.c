// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/tables.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/schema.h"
#include "control/base/units.h"

#define MOST (64ll << 30)
#define W(...) ((const char *const[]){__VA_ARGS__, NULL})
#define F(id, table, field, key, unit, rule, min, max, words, help)                                \
	[SONIC_##id] = {table, field, key, SONIC_##unit, SONIC_##rule, min, max, words, help},
const struct sonic_field_info sonic_fields[N_SONIC_FIELDS] = {
#include "control/sonic/tables.def"
};
#undef F

enum { PPM_PERCENT = 10000, MOST_NUMBER = 63, CM_PER_M = 100, CM_PER_KM = 100000 };
#define MBPS 1000000ll
#define MS_NS 1000000ll

const struct sonic_field_info *sonic_field(const char *table, const char *field)
{
	const struct sonic_field_info *any = NULL;

	for (unsigned i = 0; i < N_SONIC_FIELDS; i++) {
		const struct sonic_field_info *f = &sonic_fields[i];

		if (strcmp(f->table, table) != 0)
			continue;
		if (strcmp(f->field, field) == 0)
			return f;
		if (strcmp(f->field, "*") == 0)
			any = f;
	}
	return any;
}

static const char *field_at(const void *table, unsigned i)
{
	return strcmp(sonic_fields[i].table, table) == 0 ? sonic_fields[i].field : "";
}

const char *sonic_near_field(const char *table, const char *field)
{
	static const char no_slip[] = "dscp_to_fc_map"; // of SONiC, one letter from dscp_to_tc_map

	return strcmp(field, no_slip) == 0
		       ? NULL
		       : schema_closest(field, N_SONIC_FIELDS, field_at, table);
}

bool sonic_knows_table(const char *table)
{
	for (unsigned i = 0; i < N_SONIC_FIELDS; i++)
		if (strcmp(sonic_fields[i].table, table) == 0)
			return true;
	return false;
}

// ---- values

static bool parse_int(const char *text, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	return (isdigit((unsigned char)text[0]) || text[0] == '-') && *end == '\0' && errno == 0;
}

static bool parse_word(const struct sonic_field_info *f, const char *text, int64_t *out,
		       const char **why)
{
	for (unsigned i = 0; f->words[i] != NULL; i++)
		if (strcmp(f->words[i], text) == 0) {
			*out = i;
			return true;
		}
	*why = "is not known";
	return false;
}

static bool parse_list(const struct sonic_field_info *f, const char *text, int64_t *out,
		       const char **why)
{
	struct cfg_set set = {0};

	*out = 0;
	if (*text == '\0')
		return true;
	if (!schema_parse_ranges(text, f->min, f->max, &set, why))
		return false;
	*out = (int64_t)set.bits[0];
	return true;
}

// "0.8": a number of KiB with decimals.
static bool parse_kib(const char *text, int64_t *out, const char **why)
{
	char with_unit[SONIC_TEXT_LEN];

	snprintf(with_unit, sizeof(with_unit), "%sKiB", text);
	if (strlen(text) < 16 && isdigit((unsigned char)text[0]) &&
	    unit_parse(UNIT_BYTES, with_unit, out, why))
		return true;
	*why = "is no number";
	return false;
}

static int64_t factor(enum sonic_unit unit)
{
	switch (unit) {
	case SONIC_BYTE_RATE: return 8;
	case SONIC_MBPS: return MBPS;
	case SONIC_MS: return MS_NS;
	case SONIC_PERCENT: return PPM_PERCENT;
	default: return 1;
	}
}

bool sonic_parse(const struct sonic_field_info *f, const char *text, int64_t *out, const char **why)
{
	switch (f->unit) {
	case SONIC_TEXT:
	case SONIC_NONE:
	case SONIC_NAME: *out = 0; return true;
	case SONIC_WORD: return parse_word(f, text, out, why);
	case SONIC_LIST: return parse_list(f, text, out, why);
	case SONIC_KIB: return parse_kib(text, out, why);
	case SONIC_LENGTH: return unit_parse(UNIT_LENGTH, text, out, why);
	case SONIC_SWITCH:
		*out = strcmp(text, "true") == 0;
		*why = "is neither true nor false";
		return *out || strcmp(text, "false") == 0;
	case SONIC_OR_WORD:
		if (strcmp(text, f->words[0]) == 0) {
			*out = -1;
			return true;
		}
		break;
	default: break;
	}
	*why = "is no whole number";
	if (!parse_int(text, out))
		return false;
	*why = "is out of range";
	if (*out < f->min || *out > f->max)
		return false;
	*out *= factor(f->unit);
	return true;
}

static void print_list(int64_t set, char out[SONIC_TEXT_LEN])
{
	size_t len = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < 8; i++)
		if (set >> i & 1)
			len += (size_t)snprintf(out + len, SONIC_TEXT_LEN - len, "%s%u",
						len > 0 ? "," : "", i);
}

const char *sonic_text(enum sonic_field id, int64_t n, char out[SONIC_TEXT_LEN])
{
	const struct sonic_field_info *f = &sonic_fields[id];

	switch (f->unit) {
	case SONIC_WORD: return f->words[n];
	case SONIC_OR_WORD:
		if (n < 0)
			return f->words[0];
		snprintf(out, SONIC_TEXT_LEN, "%" PRId64, n);
		return out;
	case SONIC_SWITCH: return n ? "true" : "false";
	case SONIC_LIST: print_list(n, out); return out;
	case SONIC_LENGTH: // SONiC takes no km
		if (n % CM_PER_KM != 0)
			return unit_print(UNIT_LENGTH, n, out, SONIC_TEXT_LEN);
		snprintf(out, SONIC_TEXT_LEN, "%" PRId64 "m", n / CM_PER_M);
		return out;
	default: snprintf(out, SONIC_TEXT_LEN, "%" PRId64, n / factor(f->unit)); return out;
	}
}

// ---- keys

static bool is_one_of(const char *table, const char *const *tables)
{
	for (; *tables != NULL; tables++)
		if (strcmp(*tables, table) == 0)
			return true;
	return false;
}

bool sonic_key_has_number(const char *table)
{
	return is_one_of(table, W("BUFFER_PG", "BUFFER_QUEUE", "QUEUE"));
}

bool sonic_key_has_port(const char *table)
{
	return sonic_key_has_number(table) ||
	       is_one_of(table, W("PORT_QOS_MAP", "PFC_WD", "BUFFER_PORT_INGRESS_PROFILE_LIST",
				  "BUFFER_PORT_EGRESS_PROFILE_LIST", "PORT", "INTERFACE", "WEIR"));
}

// "[BUFFER_PROFILE|a],[BUFFER_PROFILE|b]" to "a,b".
static const char *without_brackets(struct arena *a, const char *text)
{
	char *copy, *to;

	if (text[0] != '[')
		return text;
	to = copy = arena_text(a, text, strlen(text));
	for (const char *at = text; *at != '\0'; at++) {
		const char *bar = *at == '[' ? strchr(at, '|') : NULL;

		if (bar != NULL)
			at = bar;
		else if (*at != ']' && *at != '[')
			*to++ = *at;
	}
	*to = '\0';
	return copy;
}

static void expand_numbers(const struct sonic_row *row, const char *port, const char *range,
			   struct sonic_config *out, struct sonic_report *r)
{
	struct cfg_set set = {0};
	const char *why;

	if (!schema_parse_ranges(range, 0, MOST_NUMBER, &set, &why)) {
		sonic_say(r, SONIC_ERROR, row->table, row->key, NULL, "\"%s\": %s", range, why);
		return;
	}
	for (unsigned n = 0; n <= MOST_NUMBER; n++)
		if (cfg_set_has(&set, n))
			sonic_set(out, row->table, arena_printf(&out->arena, "%s|%u", port, n),
				  row->field, row->value);
}

// Of a key "A,B" or "A,B|rest".
static void expand_ports(const struct sonic_row *row, struct sonic_config *out,
			 struct sonic_report *r)
{
	const char *bar = strchr(row->key, '|');
	size_t len = bar != NULL ? (size_t)(bar - row->key) : strlen(row->key), at = 0;

	do {
		size_t n = strcspn(row->key + at, ",|");
		const char *port = arena_text(&out->arena, row->key + at, n);

		if (n == 0)
			sonic_say(r, SONIC_ERROR, row->table, row->key, NULL,
				  "the key has a port without a name");
		else if (bar != NULL && sonic_key_has_number(row->table))
			expand_numbers(row, port, bar + 1, out, r);
		else
			sonic_set(out, row->table,
				  arena_printf(&out->arena, "%s%s", port, bar != NULL ? bar : ""),
				  row->field, row->value);
		at += n + 1;
	} while (at <= len);
}

void sonic_expand(const struct sonic_config *in, struct sonic_config *out, struct sonic_report *r)
{
	for (unsigned i = 0; i < in->n; i++) {
		struct sonic_row row = in->rows[i];
		const char *bar = strchr(row.key, '|');
		bool chassis = sonic_key_has_number(row.table) && bar != NULL &&
			       strchr(bar + 1, '|') != NULL;

		row.value = without_brackets(&out->arena, row.value);
		if (sonic_key_has_port(row.table) && !chassis)
			expand_ports(&row, out, r);
		else
			sonic_set(out, row.table, row.key, row.field, row.value);
	}
	sonic_sort(out);
}

// ---- the manual

void sonic_print_fields(FILE *out)
{
	static const char *const units[] = {
		[SONIC_TEXT] = "text",	      [SONIC_NONE] = "",
		[SONIC_NAME] = "name",	      [SONIC_WORD] = "word",
		[SONIC_SWITCH] = "true, false",
		[SONIC_COUNT] = "number",
		[SONIC_OR_WORD] = "number, word",
		[SONIC_EXPONENT] = "exponent",  [SONIC_LIST] = "list",
		[SONIC_BYTES] = "bytes",	      [SONIC_KIB] = "KiB",
		[SONIC_BYTE_RATE] = "bytes/s",  [SONIC_MBPS] = "Mb/s",
		[SONIC_MS] = "ms",	      [SONIC_PERCENT] = "%",
		[SONIC_LENGTH] = "metres",
	};
	static const char *const rules[] = {[SONIC_SAID] = "",
					    [SONIC_READ] = "import only",
					    [SONIC_KEPT] = "kept, no effect",
					    [SONIC_ONLY] = "others refused",
					    [SONIC_REFUSED] = "refused"};
	const char *table = "";

	fputs("| table | field | unit | policy | meaning |\n"
	      "| --- | --- | --- | --- | --- |\n",
	      out);
	for (unsigned i = 0; i < N_SONIC_FIELDS; i++) {
		const struct sonic_field_info *f = &sonic_fields[i];
		bool again = strcmp(table, f->table) == 0;
		bool has_key = f->key[0] != '\0';

		table = f->table;
		fprintf(out, "| %s%s%s | %s | %s | ", again ? "" : "`", again ? "" : table,
			again ? "" : "`",
			strcmp(f->field, "*") == 0      ? (!again || has_key ? "all" : "others")
			: strcmp(f->field, "NULL") == 0 ? ""
							: f->field,
			units[f->unit]);
		if (has_key)
			fprintf(out, "`%s`%s%s", f->key, rules[f->rule][0] != '\0' ? "; " : "",
				rules[f->rule]);
		else if (f->rule == SONIC_ONLY && f->words != NULL)
			fprintf(out, "only `%s`", f->words[0]);
		else if (f->rule == SONIC_ONLY)
			fprintf(out, "only %" PRId64, f->max);
		else
			fputs(rules[f->rule], out);
		fprintf(out, " | %s |\n", f->help);
	}
}
