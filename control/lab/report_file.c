// SPDX-License-Identifier: Apache-2.0
#include "control/lab/report_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_LEN = 4096 };

int report_folder(const char *dir)
{
	char path[PATH_LEN];

	if ((size_t)snprintf(path, sizeof(path), "%s/.", dir) >= sizeof(path))
		return -ENAMETOOLONG;
	// Each folder on the way, too; what cannot be made is told by what lies below it.
	for (char *slash = path; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
		*slash = '\0';
		mkdir(path, 0777);
	}
	if (mkdir(dir, 0777) != 0 && errno != EEXIST)
		return -errno;
	return access(path, W_OK | X_OK) != 0 ? -errno : 0;
}

FILE *report_create(const char *dir, const char *file)
{
	char path[PATH_LEN];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return fopen(path, "we");
}

void report_say(const char *dir, const char *file)
{
	char path[PATH_LEN], *whole;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	whole = realpath(path, NULL);
	fprintf(stderr, "report: %s\n", whole != NULL ? whole : path);
	free(whole);
}

int report_finish(FILE *out)
{
	bool bad = ferror(out) != 0;

	errno = 0;
	if (fclose(out) != 0 || bad)
		return errno != 0 ? -errno : -EIO;
	return 0;
}
