// SPDX-License-Identifier: Apache-2.0
// Writes the generated pages of the manual, or says which of them are stale:
//   manual --write DOCS | --check DOCS
// Exit 0 done or fresh, 1 failed or stale, 2 misused.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/manual/pages.h"

enum { PATH_LEN = 512 };

static const struct {
	const char *file;
	page_fn *fn;
} pages[] = {
	{"configuration.md", page_configuration}, // weir-policy(5) reads it
	{"counters.md", page_counters},       {"man/weir.8", page_weir},
	{"man/weirctl.1", page_weirctl},      {"man/weir-host.1", page_weir_host},
	{"man/weir-policy.5", page_weir_policy},
	{"scenario-functions.md", page_scenario_functions},
	{"scenarios.md", page_scenarios},     {"man/weir-lab.1", page_weir_lab},
};

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
	bool ok = out != NULL && pages[i].fn(out, docs) == 0;

	if (out != NULL)
		fclose(out);
	snprintf(path, sizeof(path), "%s/%s", docs, pages[i].file);
	if (!ok)
		fprintf(stderr, "%s: cannot be made; is %s/configuration.md there?\n", path, docs);
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
