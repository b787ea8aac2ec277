// SPDX-License-Identifier: Apache-2.0
// Commands about a policy file: check and plan need no switch, diff compares the file with the
// policy that runs. At reload the switch reads the file itself, so that it can read the file again
// at a SIGHUP.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/base/terminal.h"
#include "control/base/units.h"
#include "control/config/config.h"
#include "control/config/plan.h"
#include "control/ctl/client.h"
#include "control/ctl/ctl.h"
#include "control/ctl/show.h"
#include "control/sonic/qos_params.h"
#include "dataplane/base/units.h"

enum { KEYS_SHOWN = 20 };

int cmd_check(const struct ctl *c, int argc, char **argv)
{
	(void)argc;
	return check_print(argv[0], c->json, c->strict, stdout);
}

int cmd_plan(const struct ctl *c, int argc, char **argv)
{
	struct diags d = {0};
	struct config *cfg = NULL;
	int status;

	if (c->sonic && c->json)
		return misused("plan --sonic prints YAML: leave out --json");
	if (argc > 1 && (c->sonic || c->json))
		return misused("a port is for the tables: leave out --%s",
			       c->sonic ? "sonic" : "json");
	status = config_load(argv[0], &cfg, &d) != 0 || config_check_live(cfg, &d) != 0
			 ? CTL_MISUSED
			 : CTL_DONE;
	diags_print(&d);
	diags_fini(&d);
	if (status == CTL_DONE)
		status = c->sonic ? qos_params_print(cfg, stdout)
				  : plan_print(cfg, c->json, argv[1], stdout);
	config_destroy(cfg);
	return status;
}

static const char *row_text_or_empty(struct json_object *row, const char *key)
{
	struct json_object *v = json_object_object_get(row, key);

	return v != NULL ? json_object_get_string(v) : "";
}

// ---- diff

static void print_differences(const struct ctl *c, const char *path, const char *running_path,
			      const struct config_changes *changes)
{
	const struct table differences = {
		NO_FACTS, "the file says what runs: nothing differs",
		COLUMNS({.head = "KEY", .key = "key"}, {.head = "RUNNING", .key = "running"},
			{.head = "FILE", .key = "file"})};
	const struct show_wish wish = {.width = c->wide ? 0 : terminal_width(stdout)};
	struct json_object *out = json_object_new_object(), *rows;

	row_text(out, "running_file", running_path);
	row_text(out, "file", path);
	rows = list_in(out, "changes");
	for (unsigned i = 0; i < changes->n; i++) {
		struct json_object *row = row_in(rows);

		row_text(row, "key", changes->rows[i].key);
		row_text(row, "running", changes->rows[i].old);
		row_text(row, "file", changes->rows[i].new);
	}
	if (c->json)
		print_json(out);
	else
		table_print(stdout, rows, &differences, &wish);
	json_object_put(out);
}

// The mistakes of the file go to standard error.
int cmd_diff(const struct ctl *c, int argc, char **argv)
{
	struct json_object *data, *running;
	struct config *old = NULL, *new = NULL;
	struct config_changes changes = {0};
	struct diags said = {0};
	const char *text, *path;
	int status = CTL_MISUSED;

	(void)argc;
	data = client_request(c->name, request_of("show", "what", "config"));
	running = json_object_object_get(data, "config");
	if (running == NULL) {
		json_object_put(data);
		return CTL_FAILED;
	}
	text = row_text_or_empty(running, "text");
	path = row_text_or_empty(running, "file");
	if (config_load(argv[0], &new, &said) == 0 &&
	    config_parse(path, text, strlen(text), &old, &said) == 0) {
		config_changes(old, new, &changes);
		print_differences(c, argv[0], path, &changes);
		status = CTL_DONE;
	} else {
		diags_print(&said);
	}
	diags_fini(&said);
	config_changes_fini(&changes);
	config_destroy(old);
	config_destroy(new);
	json_object_put(data);
	return status;
}

// ---- reload and rollback

static void print_string_list(FILE *out, struct json_object *list)
{
	for (size_t i = 0; i < n_rows(list); i++)
		terminal_printf(out, "%s\n", json_object_get_string(row_at(list, i)));
}

static void print_changes(struct json_object *changes)
{
	size_t n = n_rows(changes);

	for (size_t i = 0; i < n && i < KEYS_SHOWN; i++) {
		struct json_object *row = row_at(changes, i);

		terminal_printf(stdout, "  %s: %s -> %s\n", row_text_or_empty(row, "key"),
				row_text_or_empty(row, "old"), row_text_or_empty(row, "new"));
	}
	if (n > KEYS_SHOWN)
		printf("  and %zu more\n", n - KEYS_SHOWN);
}

static void print_taken(const struct ctl *c, struct json_object *data)
{
	struct json_object *changes = json_object_object_get(data, "changes");
	struct json_object *paused = json_object_object_get(data, KEY(QUEUES, paused));
	size_t n = n_rows(changes);

	print_string_list(stderr, json_object_object_get(data, "warnings"));
	printf(c->check ? "the switch would take %s: " : "reloaded %s: ",
	       row_text_or_empty(data, "file"));
	if (n == 0)
		puts(c->check ? "nothing would change" : "nothing changed");
	else
		printf(c->check ? "%zu key%s would change\n" : "%zu key%s changed\n", n,
		       n == 1 ? "" : "s");
	print_changes(changes);
	if (json_object_object_get(paused, KEY(DROP_REASONS, text)) != NULL)
		puts(row_text_or_empty(paused, KEY(DROP_REASONS, text)));
	if (c->confirm != NULL && !c->check)
		printf("the policy before comes back in %s, unless: weirctl confirm\n", c->confirm);
}

static int policy_request(const struct ctl *c, struct json_object *req)
{
	struct json_object *data = client_request(c->name, req);
	bool ok = true_in(data, c->check ? "possible" : "reloaded");

	if (data == NULL)
		return CTL_FAILED;
	if (c->json) {
		print_json(data);
	} else if (ok) {
		print_taken(c, data);
	} else {
		print_string_list(stderr, json_object_object_get(data, "mistakes"));
		print_changes(json_object_object_get(data, "changes"));
		fputs("nothing was changed\n", stderr);
	}
	json_object_put(data);
	return ok ? CTL_DONE : CTL_MISUSED;
}

int cmd_reload(const struct ctl *c, int argc, char **argv)
{
	char *cwd = NULL, *path = NULL;
	const char *why = "1s is the least";
	struct json_object *req;
	int64_t confirm_ns = 0;

	if (c->confirm != NULL &&
	    (!unit_parse(UNIT_TIME, c->confirm, &confirm_ns, &why) || confirm_ns < SECOND_NS))
		return misused("--confirm-within \"%s\": %s", c->confirm, why);
	// The switch may run in another folder. It reports a path that does not exist, as any other
	// file that cannot be read.
	if (argc == 1 && argv[0][0] == '/') {
		path = strdup(argv[0]);
	} else if (argc == 1) {
		cwd = getcwd(NULL, 0);
		if (cwd != NULL && asprintf(&path, "%s/%s", cwd, argv[0]) < 0)
			path = NULL;
		free(cwd);
	}
	if (argc == 1 && path == NULL) {
		fprintf(stderr, "weirctl: cannot read the path of the current folder: %s\n",
			strerror(errno));
		return CTL_FAILED;
	}
	req = request_of("reload", path != NULL ? "file" : NULL, path);
	if (c->check)
		row_bool(req, "check", true);
	json_object_object_add(req, "confirm_within_ms",
			       json_object_new_int64(confirm_ns / MS_NS));
	free(path);
	return policy_request(c, req);
}

int cmd_rollback(const struct ctl *c, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return policy_request(c, request_of("rollback", NULL, NULL));
}
