// SPDX-License-Identifier: Apache-2.0
// `weir-lab page`: the page with data that some program made, such as those of a sweep.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/terminal.h"
#include "control/lab/lab.h"
#include "control/page/page.h"

enum { MOST_BYTES = 256 << 20, READ_BYTES = 65536 };

// The whole file, for the caller to free; NULL: errno says why.
static char *read_all(FILE *in)
{
	char *text = NULL, *more;
	size_t len = 0, n;

	do {
		more = len > MOST_BYTES ? NULL : realloc(text, len + READ_BYTES + 1);
		if (more == NULL) {
			errno = len > MOST_BYTES ? EFBIG : ENOMEM;
			break;
		}
		text = more;
		n = fread(text + len, 1, READ_BYTES, in);
		len += n;
		text[len] = '\0';
	} while (n != 0);
	if (more != NULL && !ferror(in) && strlen(text) == len)
		return text;
	if (more != NULL && !ferror(in))
		errno = EILSEQ;
	free(text);
	return NULL;
}

// Why the text is no data of a page; NULL: it is.
static const char *mistake_of(const char *text)
{
	enum json_tokener_error err;
	struct json_object *o = json_tokener_parse_verbose(text, &err);
	const char *why = o == NULL ? json_tokener_error_desc(err)
			  : !json_object_is_type(o, json_type_object)
				  ? "the data of a page are one object"
				  : NULL;

	json_object_put(o);
	return why;
}

int lab_page(const struct lab_args *a)
{
	const char *file = a->n_files == 0 ? "standard input" : a->files[0];
	FILE *in = a->n_files == 0 ? stdin : fopen(file, "re");
	char *text = in == NULL ? NULL : read_all(in);
	const char *why = text == NULL ? strerror(errno) : mistake_of(text);

	if (a->n_files > 1)
		why = "one file at a time";
	if (why == NULL)
		page_write(text, stdout);
	else
		usage_printf("weir-lab page: %s: %s\n", file, why);
	if (in != NULL && in != stdin)
		fclose(in);
	free(text);
	return why == NULL ? LAB_DONE : LAB_MISUSED;
}
