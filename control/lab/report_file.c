// SPDX-License-Identifier: Apache-2.0
#include "control/lab/report_file.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

enum { PATH_LEN = 4096 };

int report_folder(const char *dir)
{
	return mkdir(dir, 0777) != 0 && errno != EEXIST ? -errno : 0;
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

int report_finish(FILE *out)
{
	bool bad = ferror(out) != 0;

	errno = 0;
	if (fclose(out) != 0 || bad)
		return errno != 0 ? -errno : -EIO;
	return 0;
}
