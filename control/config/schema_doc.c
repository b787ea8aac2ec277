// SPDX-License-Identifier: Apache-2.0
#include "control/config/schema_doc.h"

#include <inttypes.h>

static void print_limits(const struct cfg_row *row, const char *name, FILE *out)
{
	char min[32], max[32];

	unit_print(row->unit, row->min, min, sizeof(min));
	unit_print(row->unit, row->max, max, sizeof(max));
	fprintf(out, "%s %s..%s", name, min, max);
	if (row->percent_of != NULL)
		fprintf(out, ", or %% of %s", row->percent_of);
	if (row->word != NULL)
		fprintf(out, ", or `%s`", row->word);
}

static void print_words(const char *const *words, FILE *out)
{
	for (unsigned i = 0; words[i] != NULL; i++)
		fprintf(out, "%s`%s`", i == 0 ? "" : ", ", words[i]);
}

static void print_value(const struct cfg_row *row, FILE *out)
{
	static const char *const unit_names[] = {
		[UNIT_BYTES] = "size",	  [UNIT_RATE] = "rate",	    [UNIT_TIME] = "time",
		[UNIT_LENGTH] = "length", [UNIT_PERCENT] = "share", [UNIT_COUNT] = "number",
		[UNIT_QP] = "number",	  [UNIT_RATIO] = "ratio",
	};
	static const char *const type_names[N_CFG_TYPES] = {
		[CFG_SWITCH] = "on, off",
		[CFG_ALPHA] = "power of two 1/256..128",
		[CFG_NAME] = "name",
		[CFG_TEXT] = "text",
		[CFG_MAP] = "map",
		[CFG_CLASSES] = "map of 0..7",
		[CFG_LIST] = "list of maps",
		[CFG_TABLE] = "map of names",
		[CFG_WORDS] = "list of words",
		[CFG_LINE] = "text",
		[CFG_LINES] = "list of lines",
		[CFG_NODE] = "map",
	};

	if (row->scalar != NULL) {
		print_value(row->scalar, out);
		fputs(", or ", out);
	}
	if (row->type == CFG_NUMBER)
		print_limits(row, unit_names[row->unit], out);
	else if (row->type == CFG_WORD)
		print_words(row->words, out);
	else if (row->type == CFG_WORDS && row->words != NULL)
		fputs("list of ", out), print_words(row->words, out);
	else if (row->type == CFG_SET)
		fprintf(out, "list of %" PRId64 "..%" PRId64, row->min, row->max);
	else if (row->type == CFG_LOOKUP && row->words == NULL)
		fprintf(out, "map of 0..%u to 0..%" PRId64, row->n_keys - 1, row->max);
	else if (row->type == CFG_LOOKUP)
		fprintf(out, "map of 0..%u to words", row->n_keys - 1);
	else
		fputs(type_names[row->type], out);
}

void schema_print(const struct cfg_schema *s, const char *path, bool reload, FILE *out)
{
	static const char *const below[N_CFG_TYPES] = {
		[CFG_MAP] = ".", [CFG_CLASSES] = ".N.", [CFG_LIST] = "[].", [CFG_TABLE] = ".P."};

	for (unsigned i = 0; i < s->n; i++) {
		const struct cfg_row *row = &s->rows[i];
		char sub[256];

		fprintf(out, "| `%s%s` | ", path, row->key);
		print_value(row, out);
		fprintf(out, " | %s |",
			row->required		 ? "required"
			: row->dflt_text != NULL ? row->dflt_text
						 : "");
		if (reload)
			fprintf(out, " %s |", row->reload == CFG_RESTART ? "restart" : "live");
		fprintf(out, " %s |\n", row->help);
		if (row->sub == NULL)
			continue;
		snprintf(sub, sizeof(sub), "%s%s%s", path, row->key, below[row->type]);
		schema_print(row->sub, sub, reload, out);
	}
}
