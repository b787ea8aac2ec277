// SPDX-License-Identifier: Apache-2.0
// weirctl reload: the switch reads the file itself, so that it can do so again at a SIGHUP.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/ctl/client.h"
#include "control/ctl/ctl.h"

enum { KEYS_SHOWN = 20 };

static struct json_object *list_in(struct json_object *data, const char *key)
{
	struct json_object *list = NULL;

	return json_object_object_get_ex(data, key, &list) &&
			       json_object_is_type(list, json_type_array)
		       ? list
		       : NULL;
}

static size_t length(struct json_object *list)
{
	return list != NULL ? json_object_array_length(list) : 0;
}

static void print_lines(FILE *out, const char *lead, struct json_object *list, size_t n)
{
	for (size_t i = 0; i < n && i < length(list); i++)
		fprintf(out, "%s%s\n", lead,
			json_object_get_string(json_object_array_get_idx(list, i)));
}

static void print_changes(const char *file, struct json_object *changed)
{
	size_t n = length(changed);

	if (n == 0)
		printf("reloaded %s: nothing changed\n", file);
	else
		printf("reloaded %s: %zu %s changed\n", file, n, n == 1 ? "key" : "keys");
	print_lines(stdout, "  ", changed, KEYS_SHOWN);
	if (n > KEYS_SHOWN)
		printf("  and %zu more\n", n - KEYS_SHOWN);
}

static void print_pause(struct json_object *data)
{
	struct json_object *paused = NULL, *text = NULL;

	if (json_object_object_get_ex(data, "paused", &paused) &&
	    json_object_object_get_ex(paused, "text", &text))
		puts(json_object_get_string(text));
}

static int print_answer(const struct ctl *c, struct json_object *data)
{
	struct json_object *reloaded = NULL, *file = NULL;
	bool ok = json_object_object_get_ex(data, "reloaded", &reloaded) &&
		  json_object_get_boolean(reloaded);

	if (c->json) {
		print_json(data);
	} else if (ok) {
		json_object_object_get_ex(data, "file", &file);
		print_lines(stderr, "", list_in(data, "warnings"), SIZE_MAX);
		print_changes(json_object_get_string(file), list_in(data, "changed"));
		print_pause(data);
	} else {
		print_lines(stderr, "", list_in(data, "mistakes"), SIZE_MAX);
		fputs("nothing was changed\n", stderr);
	}
	return ok ? CTL_DONE : CTL_MISUSED;
}

// The switch may run in another folder. A path that is not there is told by the switch, like any
// other file that cannot be read.
static char *absolute(const char *path)
{
	char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
	char *full = NULL;

	if (path[0] == '/')
		return strdup(path);
	if (cwd == NULL || asprintf(&full, "%s/%s", cwd, path) < 0)
		full = NULL;
	free(cwd);
	return full;
}

int cmd_reload(const struct ctl *c, int argc, char **argv)
{
	char *path = NULL;
	struct json_object *data;
	int status;

	if (argc > 1)
		return misused("reload takes one FILE, or none");
	if (argc == 1 && (path = absolute(argv[0])) == NULL) {
		fprintf(stderr, "weirctl: cannot tell which folder this is: %s\n", strerror(errno));
		return CTL_FAILED;
	}
	data = client_request(c->name, request_of("reload", path != NULL ? "file" : NULL, path));
	free(path);
	if (data == NULL)
		return CTL_FAILED;
	status = print_answer(c, data);
	json_object_put(data);
	return status;
}
