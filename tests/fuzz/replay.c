// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over the files of folders, without libFuzzer: the corpus as a test of any
// compiler, and a way to repeat a finding under a debugger.
//
//   replay_TARGET FOLDER|FILE...
//
// Exit 1 when an input cannot be read, or when no input ran.
#include <dirent.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

enum { MAX_BYTES = 1 << 21 };

static unsigned n_run;

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *text = malloc(MAX_BYTES), *exact;
	size_t len;

	if (f == NULL || text == NULL) {
		fprintf(stderr, "%s: cannot be read\n", path);
		free(text);
		return 1;
	}
	len = fread(text, 1, MAX_BYTES, f);
	fclose(f);
	exact = fuzz_exact(text, len);
	free(text);
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
	n_run++;
	return 0;
}

static int is_input(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int run_folder(const char *path)
{
	struct dirent **list;
	int n = scandir(path, &list, is_input, alphasort), rc = n < 0;

	for (int i = 0; i < n; i++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s/%s", path, list[i]->d_name);
		free(list[i]);
		// Whose turn it was when the process stopped.
		fprintf(stderr, "%s\n", file);
		rc |= run_file(file);
	}
	if (n >= 0)
		free(list);
	return rc;
}

int main(int argc, char **argv)
{
	int rc = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: %s FOLDER|FILE...\n", argv[0]);
		return 2;
	}
	LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		unsigned before = n_run;
		struct stat st;

		if (stat(argv[i], &st) != 0) {
			fprintf(stderr, "%s: no such file\n", argv[i]);
			rc = 1;
		} else {
			rc |= S_ISDIR(st.st_mode) ? run_folder(argv[i]) : run_file(argv[i]);
		}
		printf("%u inputs of %s\n", n_run - before, argv[i]);
	}
	printf("%u inputs ran\n", n_run);
	return rc != 0 || n_run == 0;
}
