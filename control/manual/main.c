// SPDX-License-Identifier: Apache-2.0
// Writes the generated pages of the manual, and the parts between the marks `begin PART` and `end
// PART` of other pages, or says which pages are stale:
//   manual --write DOCS | --check DOCS
// Exit 0 done or fresh, 1 failed or stale, 2 misused.
#include <stdlib.h>
#include <string.h>

#include "control/config/model.h"
#include "control/config/schema.h"
#include "control/lab/expr.h"
#include "control/lab/scenario_int.h"
#include "control/manual/pages.h"

enum { PATH_LEN = 512, WORD_LEN = 32 };

static int page_functions(FILE *out, const char *docs)
{
	(void)docs;
	expr_func_docs(out);
	return 0;
}

static int part_policy_keys(FILE *out, const char *docs)
{
	(void)docs;
	fputs("| key | value | default | applies | meaning |\n"
	      "| --- | --- | --- | --- | --- |\n", out);
	schema_print(&cfg_root_schema, "", true, out);
	return 0;
}

static int part_scenario_keys(FILE *out, const char *docs)
{
	(void)docs;
	fputs("| key | value | default | meaning |\n| --- | --- | --- | --- |\n", out);
	schema_print(&sc_root_schema, "", false, out);
	schema_print(&sc_switch_schema, "switches.NAME.", false, out);
	schema_print(&sc_host_schema, "hosts.NAME.", false, out);
	return 0;
}

static const struct {
	const char *file;
	page_fn *fn; // NULL: its parts are generated
} pages[] = {
	{"configuration.md", NULL}, // weir-policy(5) reads it
	{"counters.md", page_counters},
	{"scenario-functions.md", page_functions},
	{"scenarios.md", NULL},
	{"man/weir.8", NULL},
	{"man/weirctl.1", NULL},
	{"man/weir-host.1", NULL},
	{"man/weir-lab.1", NULL},
	{"man/weir-policy.5", NULL},
};

static const struct {
	const char *part, *of;
	page_fn *fn;
} parts[] = {
	{"keys", "policy", part_policy_keys},	 {"keys", "scenario", part_scenario_keys},
	{"text", "policy", part_policy},	 {"telemetry", "weir", part_telemetry},
	{"commands", "weirctl", part_ctl_commands}, {"commands", "weir-lab", part_lab_commands},
};

static bool part(FILE *out, const char *name, const char *of, const char *docs)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(parts[i].part, name) == 0 && strcmp(parts[i].of, of) == 0)
			return parts[i].fn(out, docs) == 0;
	return part_of_program(out, name, of);
}

// Behind the sign of a comment in Markdown or roff; "" where the line is none.
static const char *comment(const char *line)
{
	if (strncmp(line, "<!-- ", 5) == 0)
		return line + 5;
	return strncmp(line, ".\\\" ", 4) == 0 ? line + 4 : line + strlen(line);
}

// Copies a page; its parts are made anew.
static bool with_parts(FILE *out, const char *path, const char *docs)
{
	char *line = NULL, name[WORD_LEN], of[WORD_LEN];
	FILE *in = fopen(path, "re");
	bool ok = in != NULL, skip = false;
	size_t room = 0;

	while (ok && getline(&line, &room, in) >= 0) {
		if (strncmp(comment(line), "end ", 4) == 0)
			skip = false;
		if (!skip)
			fputs(line, out);
		if (sscanf(comment(line), "begin %31s of %31s", name, of) == 2) {
			ok = part(out, name, of, docs);
			skip = true;
		}
	}
	free(line);
	if (in != NULL)
		fclose(in);
	return ok && !skip;
}

static bool same_as_file(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "re");
	char *have = malloc(len + 1);
	bool same = f != NULL && have != NULL && fread(have, 1, len + 1, f) == len &&
		    memcmp(have, text, len) == 0;

	free(have);
	if (f != NULL)
		fclose(f);
	return same;
}

static bool write_file(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "we");
	bool ok = f != NULL && fwrite(text, 1, len, f) == len;

	if (f != NULL && fclose(f) != 0)
		ok = false;
	return ok;
}

static bool page(unsigned i, const char *docs, bool check)
{
	char path[PATH_LEN], *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", docs, pages[i].file);
	ok = out != NULL && (pages[i].fn != NULL ? pages[i].fn(out, docs) == 0
						 : with_parts(out, path, docs));
	if (out != NULL)
		fclose(out);
	if (!ok)
		fprintf(stderr, "%s: cannot be made; are its marks whole?\n", path);
	else if (check && !(ok = same_as_file(path, text, len)))
		fprintf(stderr, "%s is stale: run scripts/docs\n", path);
	else if (!check && !(ok = write_file(path, text, len)))
		fprintf(stderr, "%s cannot be written\n", path);
	free(text);
	return ok;
}

int main(int argc, char **argv)
{
	bool check = argc == 3 && strcmp(argv[1], "--check") == 0;
	bool ok = true;

	if (argc != 3 || (!check && strcmp(argv[1], "--write") != 0)) {
		fputs("usage: manual --write DOCS | --check DOCS\n", stderr);
		return 2;
	}
	for (unsigned i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		ok &= page(i, argv[2], check);
	return ok ? 0 : 1;
}
