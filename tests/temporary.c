// SPDX-License-Identifier: Apache-2.0
#include "tests/temporary.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPEN = 8 }; // descriptors while the folder is removed

static char folder[PATH_MAX];

__attribute__((noreturn)) static void refused(const char *path)
{
	fprintf(stderr, "temporary file: %s: %s\n", path, strerror(errno));
	exit(EXIT_FAILURE);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static void remove_folder(void)
{
	if (nftw(folder, remove_entry, MAX_OPEN, FTW_DEPTH | FTW_PHYS) != 0)
		fprintf(stderr, "temporary file: %s stays: %s\n", folder, strerror(errno));
}

// "FOLDER/NAME" into path.
static void join(char path[PATH_MAX], const char *in, const char *name)
{
	int n = snprintf(path, PATH_MAX, "%s/%s", in, name);

	if (n < 0 || n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		refused(in);
	}
}

const char *temporary_folder(void)
{
	const char *given = getenv("TMPDIR");
	char top[PATH_MAX], path[PATH_MAX];

	if (folder[0] != '\0')
		return folder;
	if (given == NULL || *given == '\0')
		given = "/tmp";
	if (realpath(given, top) == NULL)
		refused(given);
	join(path, top, "weir-test-XXXXXX");
	if (mkdtemp(path) == NULL)
		refused(path);
	strcpy(folder, path);
	atexit(remove_folder);
	return folder;
}

void temporary_file(char path[PATH_MAX], const char *name, const char *text)
{
	FILE *f;

	join(path, temporary_folder(), name);
	f = fopen(path, "we");
	if (f == NULL)
		refused(path);
	fputs(text, f);
	if (fclose(f) != 0)
		refused(path);
}
