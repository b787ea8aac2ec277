// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/bridge/swap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SHOWN = 1000, PIECE = 4096, PREVIOUS_LEN = 16 };

// True: whole, and on the disk. errno else.
static bool copy_stream(FILE *from, FILE *to)
{
	char piece[PIECE];
	size_t n;

	while ((n = fread(piece, 1, sizeof(piece), from)) > 0)
		if (fwrite(piece, 1, n, to) != n)
			return false;
	return ferror(from) == 0 && fflush(to) == 0 && fsync(fileno(to)) == 0;
}

static bool copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "re"), *out = in != NULL ? fopen(to, "we") : NULL;
	bool ok = out != NULL && copy_stream(in, out);
	int code = errno;

	if (in != NULL)
		fclose(in);
	if (out != NULL && fclose(out) != 0 && ok) {
		code = errno;
		ok = false;
	}
	if (out != NULL && !ok)
		unlink(to);
	errno = code;
	return ok;
}

// Without an exchange: a copy of the earlier file, then one rename for each of the two.
static bool swap_by_copy(const char *next, const char *file)
{
	char previous[PATH_MAX + PREVIOUS_LEN];

	if (access(file, F_OK) != 0 && errno == ENOENT)
		return rename(next, file) == 0;
	snprintf(previous, sizeof(previous), "%s.previous", file);
	if (!copy_file(file, previous))
		return false;
	if (rename(next, file) != 0) {
		int code = errno;

		unlink(previous);
		errno = code;
		return false;
	}
	if (rename(previous, next) != 0) {
		int code = errno;

		(void)!rename(previous, file); // back to what worked
		errno = code;
		return false;
	}
	return true;
}

int swap_files(const char *next, const char *file, char *why, size_t why_len)
{
	if (renameat2(AT_FDCWD, next, AT_FDCWD, file, RENAME_EXCHANGE) == 0 ||
	    swap_by_copy(next, file))
		return 0;
	snprintf(why, why_len, "%.*s cannot take the place of %.*s: %s", PATH_SHOWN, next,
		 PATH_SHOWN, file, strerror(errno));
	return -1;
}
