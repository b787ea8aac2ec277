// SPDX-License-Identifier: Apache-2.0
// Prints the words of the policy file, from the rows of the schema, as a dictionary of libFuzzer:
// one "word" a line. Run by scripts/fuzz for the target yaml.
#include <stdio.h>

#include "control/config/model.h"

static void print_words(const char *const *words)
{
	for (; words != NULL && *words != NULL; words++)
		printf("\"%s\"\n", *words);
}

static void print_schema(const struct cfg_schema *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct cfg_row *row = &s->rows[i];

		printf("\"%s: \"\n", row->key);
		print_words(row->words);
		if (row->word != NULL)
			printf("\"%s\"\n", row->word);
		if (row->scalar != NULL)
			print_words(row->scalar->words);
		if (row->sub != NULL)
			print_schema(row->sub);
	}
}

int main(void)
{
	static const char *const more[] = {
		"{", "}", "[", "]", "- ", ": ", ", ", "\\x0a", "\\x0a  ", "#", "&a ", "*a",
		"<<: *a", "!!int ", "? ", "|\\x0a", ">-\\x0a", "---\\x0a", "...\\x0a",
		"%YAML 1.1\\x0a", "\\x00",
		"\\xff\\xfe", "\\xef\\xbb\\xbf", "\\xc0\\x80", "\\xed\\xa0\\x80", "\\xe2\\x80\\xa8",
		"p[1-3]", "xdp:sw[1-3]", "[0-128]", "[1-2,4]", "02:00:00:00:00:01", "10G", "400G",
		"100%", "0%", "99999999999999999999", "-1", "1e9", "0x10", "1/256", "128", "256B",
		"12MB", "1GB", "4KiB", "100km", "1us", "default: ", "0-63: ", "\\\"40,46\\\": ",
		"true", "off", "xdp:", "pci:", "vdev:", "wire:",
	};

	print_schema(&cfg_root_schema);
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		printf("\"%s\"\n", more[i]);
	return 0;
}
