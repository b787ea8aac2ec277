// SPDX-License-Identifier: Apache-2.0
// The command `diff`: the policy that runs against a policy file, key by key.
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "control/config/config.h"
#include "control/config/terminal.h"
#include "control/ctl/client.h"
#include "control/ctl/ctl.h"
#include "control/ctl/show.h"
#include "control/ctl/table.h"

static const struct table differences = {
	NO_FACTS, "the file says what runs: nothing differs",
	COLUMNS({.head = "KEY", .key = "key"}, {.head = "RUNNING", .key = "running"},
		{.head = "FILE", .key = "file"})};

static const char *text_of(struct json_object *config, const char *key)
{
	struct json_object *v = NULL;

	json_object_object_get_ex(config, key, &v);
	return v != NULL ? json_object_get_string(v) : "";
}

static struct json_object *rows_of_changes(const struct config_changes *c)
{
	struct json_object *rows = json_object_new_array();

	for (unsigned i = 0; i < c->n; i++) {
		struct json_object *row = json_object_new_object();

		put_text(row, "key", c->rows[i].key);
		put_text(row, "running", c->rows[i].old);
		put_text(row, "file", c->rows[i].new);
		json_object_array_add(rows, row);
	}
	return rows;
}

static void print(const struct ctl *c, const char *path, const char *running_path,
		  const struct config_changes *changes)
{
	const struct show_wish wish = {.width = c->wide ? 0 : terminal_width(stdout)};
	struct json_object *out = json_object_new_object(), *rows = rows_of_changes(changes);

	put_text(out, "running_file", running_path);
	put_text(out, "file", path);
	json_object_object_add(out, "changes", rows);
	if (c->json)
		print_json(out);
	else
		table_print(stdout, rows, &differences, &wish);
	json_object_put(out);
}

// The mistakes of the file go to standard error.
static int compare(const struct ctl *c, const char *path, struct json_object *running)
{
	const char *text = text_of(running, "text"), *running_path = text_of(running, "file");
	struct config *old = NULL, *new = NULL;
	struct config_changes changes = {0};
	struct diags said = {0};
	int status = CTL_MISUSED;

	if (config_load(path, &new, &said) == 0 &&
	    config_parse(running_path, text, strlen(text), &old, &said) == 0) {
		config_changes(old, new, &changes);
		print(c, path, running_path, &changes);
		status = CTL_DONE;
	}
	if (status != CTL_DONE)
		diags_print(&said);
	diags_fini(&said);
	config_changes_fini(&changes);
	config_destroy(old);
	config_destroy(new);
	return status;
}

int cmd_diff(const struct ctl *c, int argc, char **argv)
{
	struct json_object *data, *running = NULL;
	int status = CTL_FAILED;

	if (argc != 1)
		return misused_words("diff");
	data = client_request(c->name, request_of("show", "what", "config"));
	if (data == NULL)
		return CTL_FAILED;
	if (json_object_object_get_ex(data, "config", &running))
		status = compare(c, argv[0], running);
	json_object_put(data);
	return status;
}
