// SPDX-License-Identifier: Apache-2.0
// Writes docs/configuration.md from the rows of the schema: `config-docs > docs/configuration.md`.
// With `--check FILE` it compares instead and exits 1 when the file is stale.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/model.h"

static const char head[] =
	"# Policy file\n"
	"\n"
	"Generated from the schema by `config-docs`; do not edit. A policy is one YAML document:\n"
	"`weirctl check FILE` reports every mistake in one pass as `file:line:column: key: text`,\n"
	"`weirctl plan FILE` prints every number derived from it.\n"
	"\n"
	"* Sizes: `B KB MB GB` (1000) and `KiB MiB GiB` (1024), a bare number is bytes. Rates: "
	"`bps K M G`.\n"
	"  Times: `ns us ms s`. Lengths: `m km`. Where the table says *% of*, a percentage is a "
	"share of that.\n"
	"* Switches are `on` or `off` (`true`, `false`).\n"
	"* Ranges in port names and devices expand together: `p[1-3]` on `xdp:sw[1-3]` makes three "
	"ports.\n"
	"* Maps from numbers take numbers and ranges as keys: `{default: 0, 24-31: 3, \"40,46\": "
	"5}`.\n"
	"* Limits round down to cells; headroom, `min` and `xon_offset` round up.\n"
	"* `min` and `headroom` in % are shares of `switch.buffer.size`, because the ingress pool "
	"is what they\n"
	"  leave. `kmin` and `kmax` in % are shares of the queue's own limit: of a static limit, "
	"of what one\n"
	"  queue alone reaches with its alpha, and in a lossless queue, which has no limit, of the "
	"ingress pool.\n"
	"* A profile named `default` serves ports without `profile`; without one, every class is "
	"lossy with DWRR\n"
	"  weight 1. Classes that a profile does not name stay so.\n"
	"* Where several classes share a queue or a priority group, one of them gives its "
	"settings.\n"
	"* VLANs named by a port exist even if `vlans` does not list them; `check` warns of them.\n"
	"* Anchors, aliases and tags of YAML are refused. A file has at most 1 MiB.\n"
	"* *live*: a reload applies it. *restart*: a reload that changes it is refused.\n"
	"\n"
	"Refused across keys: kmin above kmax; lossless and lossy classes in one queue or group; "
	"a\n"
	"lossless class without headroom, with egress limits, or carrying CNPs (DSCP 48) while "
	"another lossless class\n"
	"marks ECN; PFC keys in a lossy class; alpha together with static; reserves beyond the "
	"buffer or the\n"
	"headroom pool. Warned: ECN that marks only after PFC has paused; WRED without effect.\n"
	"\n"
	"| key | value | default | applies | meaning |\n"
	"| --- | --- | --- | --- | --- |\n";

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
		[UNIT_RATIO] = "ratio",
	};
	static const char *const type_names[N_CFG_TYPES] = {
		[CFG_SWITCH] = "on, off",    [CFG_ALPHA] = "power of two 1/256..128",
		[CFG_NAME] = "name",	     [CFG_TEXT] = "text",
		[CFG_MAP] = "map",	     [CFG_CLASSES] = "map of 0..7",
		[CFG_LIST] = "list of maps", [CFG_TABLE] = "map of names",
		[CFG_WORDS] = "list of words",
	};

	if (row->scalar != NULL) {
		print_value(row->scalar, out);
		fputs(", or ", out);
	}
	if (row->type == CFG_NUMBER)
		print_limits(row, unit_names[row->unit], out);
	else if (row->type == CFG_WORD)
		print_words(row->words, out);
	else if (row->type == CFG_SET)
		fprintf(out, "list of %" PRId64 "..%" PRId64, row->min, row->max);
	else if (row->type == CFG_LOOKUP && row->words == NULL)
		fprintf(out, "map of 0..%u to 0..%" PRId64, row->n_keys - 1, row->max);
	else if (row->type == CFG_LOOKUP)
		fprintf(out, "map of 0..%u to words", row->n_keys - 1);
	else
		fputs(type_names[row->type], out);
}

static void print_schema(const struct cfg_schema *s, const char *path, FILE *out)
{
	static const char *const below[N_CFG_TYPES] = {
		[CFG_MAP] = ".", [CFG_CLASSES] = ".N.", [CFG_LIST] = "[].", [CFG_TABLE] = ".P."};

	for (unsigned i = 0; i < s->n; i++) {
		const struct cfg_row *row = &s->rows[i];
		char sub[256];

		fprintf(out, "| `%s%s` | ", path, row->key);
		print_value(row, out);
		fprintf(out, " | %s | %s | %s |\n",
			row->required		 ? "required"
			: row->dflt_text != NULL ? row->dflt_text
						 : "",
			row->reload == CFG_RESTART ? "restart" : "live", row->help);
		if (row->sub == NULL)
			continue;
		snprintf(sub, sizeof(sub), "%s%s%s", path, row->key, below[row->type]);
		print_schema(row->sub, sub, out);
	}
}

static bool same_as_file(const char *text, size_t len, const char *path)
{
	FILE *f = fopen(path, "r");
	char *have = malloc(len + 1);
	bool same = f != NULL && have != NULL && fread(have, 1, len + 1, f) == len &&
		    memcmp(have, text, len) == 0;

	free(have);
	if (f != NULL)
		fclose(f);
	return same;
}

int main(int argc, char **argv)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int rc = 0;

	if (out == NULL)
		return 1;
	fputs(head, out);
	print_schema(&cfg_root_schema, "", out);
	fclose(out);
	if (argc == 3 && strcmp(argv[1], "--check") == 0)
		rc = same_as_file(text, len, argv[2]) ? 0 : 1;
	else
		fwrite(text, 1, len, stdout);
	if (rc != 0)
		fprintf(stderr, "%s is stale: write it anew with config-docs\n", argv[2]);
	free(text);
	return rc;
}
