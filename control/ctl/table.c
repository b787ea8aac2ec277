// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/table.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <json-c/json.h>

static void format_count(char out[CELL_LEN], uint64_t v)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, v);
	int at = 0;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
}

static void format_scaled(char out[CELL_LEN], double v, const char *const *suffix, size_t n)
{
	size_t i = 0;

	while (i + 1 < n && v >= 1000) {
		v /= 1000;
		i++;
	}
	if (i == 0)
		snprintf(out, CELL_LEN, "%.0f %s", v, suffix[i]);
	else
		snprintf(out, CELL_LEN, "%.*f %s", v < 10 ? 2 : 1, v, suffix[i]);
}

static void format_list(char out[CELL_LEN], struct json_object *v)
{
	size_t n = json_object_is_type(v, json_type_array) ? json_object_array_length(v) : 0;
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < n && at < CELL_LEN; i++)
		at += (size_t)snprintf(out + at, CELL_LEN - at, "%s%s", i > 0 ? " " : "",
				       json_object_get_string(json_object_array_get_idx(v, i)));
}

void cell_format(char out[CELL_LEN], enum unit unit, struct json_object *v)
{
	static const char *const bytes[] = {"B", "KB", "MB", "GB", "TB", "PB"};
	static const char *const bps[] = {"b/s", "Kb/s", "Mb/s", "Gb/s", "Tb/s"};
	static const char *const ns[] = {"ns", "us", "ms", "s"};

	if (v == NULL) {
		strcpy(out, "-");
		return;
	}
	switch (unit) {
	case UNIT_TEXT: snprintf(out, CELL_LEN, "%s", json_object_get_string(v)); break;
	case UNIT_COUNT: format_count(out, json_object_get_uint64(v)); break;
	case UNIT_BYTES: format_scaled(out, (double)json_object_get_uint64(v), bytes, 6); break;
	case UNIT_BPS: format_scaled(out, (double)json_object_get_uint64(v), bps, 5); break;
	case UNIT_MS: format_scaled(out, (double)json_object_get_uint64(v), ns + 2, 2); break;
	case UNIT_US: format_scaled(out, (double)json_object_get_uint64(v), ns + 1, 3); break;
	case UNIT_NS: format_scaled(out, (double)json_object_get_uint64(v), ns, 4); break;
	case UNIT_YES: strcpy(out, json_object_get_boolean(v) ? "yes" : "no"); break;
	case UNIT_UP: strcpy(out, json_object_get_boolean(v) ? "up" : "down"); break;
	case UNIT_ON: strcpy(out, json_object_get_boolean(v) ? "on" : "off"); break;
	case UNIT_PERCENT:
		snprintf(out, CELL_LEN, "%" PRIu64 " %%", json_object_get_uint64(v));
		break;
	case UNIT_HEX:
		snprintf(out, CELL_LEN, "0x%" PRIx64, json_object_get_uint64(v));
		break;
	case UNIT_LIST: format_list(out, v); break;
	}
}

static void format_of(char out[CELL_LEN], const struct column *c, struct json_object *row)
{
	struct json_object *v = NULL, *none = NULL;

	if (c->unit == UNIT_UP && json_object_object_get_ex(row, "no_device", &none) &&
	    json_object_get_boolean(none)) {
		strcpy(out, "no device");
		return;
	}
	json_object_object_get_ex(row, c->key, &v);
	cell_format(out, c->unit, v);
}

static void print_cell(FILE *out, const struct column *c, const char *text, int width, int last)
{
	bool left = c->unit == UNIT_TEXT || c->unit == UNIT_LIST;

	if (left && last)
		fprintf(out, "%s\n", text);
	else
		fprintf(out, "%*s%s", left ? -width : width, text, last ? "\n" : "  ");
}

static void print_rule(FILE *out, const int *width, size_t n_cols)
{
	for (size_t k = 0; k < n_cols; k++) {
		for (int i = 0; i < width[k]; i++)
			fputc('-', out);
		fputs(k + 1 < n_cols ? "  " : "\n", out);
	}
}

size_t table_print(FILE *out, struct json_object *list, const struct column *cols, size_t n_cols,
		   int (*keep)(struct json_object *row))
{
	size_t n = json_object_array_length(list), left_out = 0;
	int width[TABLE_MAX_COLUMNS];
	char text[CELL_LEN];

	for (size_t k = 0; k < n_cols; k++) {
		width[k] = (int)strlen(cols[k].head);
		for (size_t i = 0; i < n; i++) {
			format_of(text, &cols[k], json_object_array_get_idx(list, i));
			if ((int)strlen(text) > width[k])
				width[k] = (int)strlen(text);
		}
	}
	for (size_t k = 0; k < n_cols; k++)
		print_cell(out, &cols[k], cols[k].head, width[k], k + 1 == n_cols);
	print_rule(out, width, n_cols);
	for (size_t i = 0; i < n; i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		if (keep != NULL && !keep(row)) {
			left_out++;
			continue;
		}
		for (size_t k = 0; k < n_cols; k++) {
			format_of(text, &cols[k], row);
			print_cell(out, &cols[k], text, width[k], k + 1 == n_cols);
		}
	}
	return left_out;
}
