// SPDX-License-Identifier: Apache-2.0
// weirctl reload: the switch reads the file itself, so that it can do so again at a SIGHUP.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/config/terminal.h"
#include "control/config/units.h"
#include "control/ctl/client.h"
#include "control/ctl/ctl.h"
#include "control/observe/fact.h"
#include "dataplane/units.h"

enum { KEYS_SHOWN = 20 };

static struct json_object *array_in(struct json_object *data, const char *key)
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

static void print_lines(FILE *out, struct json_object *list)
{
	for (size_t i = 0; i < length(list); i++)
		terminal_printf(out, "%s\n",
				json_object_get_string(json_object_array_get_idx(list, i)));
}

static const char *text_of(struct json_object *row, const char *key)
{
	struct json_object *v = NULL;

	json_object_object_get_ex(row, key, &v);
	return v != NULL ? json_object_get_string(v) : "";
}

static void print_changes(struct json_object *changes)
{
	size_t n = length(changes);

	for (size_t i = 0; i < n && i < KEYS_SHOWN; i++) {
		struct json_object *row = json_object_array_get_idx(changes, i);

		terminal_printf(stdout, "  %s: %s -> %s\n", text_of(row, "key"),
				text_of(row, "old"), text_of(row, "new"));
	}
	if (n > KEYS_SHOWN)
		printf("  and %zu more\n", n - KEYS_SHOWN);
}

static void print_pause(struct json_object *data)
{
	struct json_object *paused = NULL, *text = NULL;

	if (json_object_object_get_ex(data, KEY(QUEUES, paused), &paused) &&
	    json_object_object_get_ex(paused, KEY(DROP_REASONS, text), &text))
		puts(json_object_get_string(text));
}

static bool yes(struct json_object *data, const char *key)
{
	struct json_object *v = NULL;

	return json_object_object_get_ex(data, key, &v) && json_object_get_boolean(v);
}

static void print_taken(const struct ctl *c, struct json_object *data)
{
	bool check = c->check;
	struct json_object *changes = array_in(data, "changes");
	size_t n = length(changes);

	print_lines(stderr, array_in(data, "warnings"));
	printf(check ? "the switch would take %s: " : "reloaded %s: ", text_of(data, "file"));
	if (n == 0)
		puts(check ? "nothing would change" : "nothing changed");
	else
		printf(check ? "%zu key%s would change\n" : "%zu key%s changed\n", n,
		       n == 1 ? "" : "s");
	print_changes(changes);
	print_pause(data);
	if (c->confirm != NULL && !c->check)
		printf("the policy before comes back in %s, unless: weirctl confirm\n", c->confirm);
}

static int print_answer(const struct ctl *c, struct json_object *data)
{
	bool ok = yes(data, c->check ? "possible" : "reloaded");

	if (c->json) {
		print_json(data);
	} else if (ok) {
		print_taken(c, data);
	} else {
		print_lines(stderr, array_in(data, "mistakes"));
		print_changes(array_in(data, "changes"));
		fputs("nothing was changed\n", stderr);
	}
	return ok ? CTL_DONE : CTL_MISUSED;
}

static int answered(const struct ctl *c, struct json_object *req)
{
	struct json_object *data = client_request(c->name, req);
	int status = data != NULL ? print_answer(c, data) : CTL_FAILED;

	json_object_put(data);
	return status;
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
	const char *why = "1s is the least";
	struct json_object *req;
	int64_t confirm_ns = 0;

	if (argc > 1)
		return misused_words("reload");
	if (c->confirm != NULL &&
	    (!unit_parse(UNIT_TIME, c->confirm, &confirm_ns, &why) || confirm_ns < SECOND_NS))
		return misused("--confirm-within \"%s\": %s", c->confirm, why);
	if (argc == 1 && (path = absolute(argv[0])) == NULL) {
		fprintf(stderr, "weirctl: cannot tell which folder this is: %s\n", strerror(errno));
		return CTL_FAILED;
	}
	req = request_of("reload", path != NULL ? "file" : NULL, path);
	if (c->check)
		json_object_object_add(req, "check", json_object_new_boolean(1));
	json_object_object_add(req, "confirm_within_ms",
			       json_object_new_int64(confirm_ns / MS_NS));
	free(path);
	return answered(c, req);
}

int cmd_rollback(const struct ctl *c, int argc, char **argv)
{
	if (argc > 0)
		return misused("rollback takes no \"%s\"", argv[0]);
	return answered(c, request_of("rollback", NULL, NULL));
}
