// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/bridge/apply.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/config/config.h"
#include "control/ctl/client.h"
#include "control/sonic/bridge/swap.h"

enum { NEXT_LEN = 8, LINE_LEN = 4096 };

__attribute__((format(printf, 2, 3))) static void add_reason_line(struct lines *why,
								  const char *fmt, ...)
{
	char line[LINE_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	lines_add(why, line);
}

static bool is_policy(const char *path, const char *text, struct lines *why)
{
	struct config *cfg = NULL;
	struct diags said = {0};
	bool ok = config_parse(path, text, strlen(text), &cfg, &said) == 0;

	for (unsigned i = 0; !ok && i < said.n; i++)
		lines_add(why, said.lines[i]);
	diags_fini(&said);
	config_destroy(cfg);
	return ok;
}

static bool write_file(const char *path, const char *text, struct lines *why)
{
	FILE *f = fopen(path, "we");
	bool ok = f != NULL && fputs(text, f) >= 0 && fflush(f) == 0 && fsync(fileno(f)) == 0;
	int code = errno;

	if (f != NULL && fclose(f) != 0 && ok) {
		code = errno;
		ok = false;
	}
	if (!ok)
		add_reason_line(why, "%.2000s cannot be written: %s", path, strerror(code));
	return ok;
}

static struct json_object *reload_request_of(const char *path, bool check)
{
	struct json_object *req = request_of("reload", "file", path);

	json_object_object_add(req, "check", json_object_new_boolean(check));
	return req;
}

static void add_mistakes(struct lines *why, struct json_object *data)
{
	struct json_object *lines;

	if (!json_object_object_get_ex(data, "mistakes", &lines))
		return;
	for (size_t i = 0; i < json_object_array_length(lines); i++)
		lines_add(why, json_object_get_string(json_object_array_get_idx(lines, i)));
}

// APPLY_DONE: the switch takes the file, or would.
static enum apply_end ask_switch(struct client *c, const char *path, bool check,
				 struct lines *why, size_t *changes)
{
	struct json_object *data, *list;
	enum apply_end end = APPLY_REFUSED;
	char said[LINE_LEN] = "";

	data = client_exchange_why(c, reload_request_of(path, check), said, sizeof(said));
	if (data == NULL && said[0] == '\0') {
		end = APPLY_NO_SWITCH;
		add_reason_line(why, "the switch does not answer: no answer in time");
	} else if (data == NULL) {
		lines_add(why, said);
	} else if (true_in(data, check ? "possible" : "reloaded")) {
		end = APPLY_DONE;
	} else {
		add_mistakes(why, data);
	}
	*changes = end == APPLY_DONE && json_object_object_get_ex(data, "changes", &list)
			   ? json_object_array_length(list) : 0;
	json_object_put(data);
	return end;
}

// The switch may run in another folder.
static bool full_path(const char *path, char out[PATH_MAX])
{
	char cwd[PATH_MAX];

	if (path[0] == '/')
		return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX - NEXT_LEN;
	return getcwd(cwd, sizeof(cwd)) != NULL &&
	       snprintf(out, PATH_MAX, "%s/%s", cwd, path) < PATH_MAX - NEXT_LEN;
}

// FILE.next takes the place of FILE.
static bool swap_or_add_reason(const char *next, const char *full, struct lines *why)
{
	char said[LINE_LEN];

	if (swap_files(next, full, said, sizeof(said)) == 0)
		return true;
	lines_add(why, said);
	return false;
}

static enum apply_end to_switch(struct client *c, const char *next, const char *full,
				struct lines *why, size_t *changes)
{
	enum apply_end end = ask_switch(c, next, true, why, changes);

	if (end != APPLY_DONE)
		return end;
	if (!swap_or_add_reason(next, full, why))
		return APPLY_FAILED;
	end = ask_switch(c, full, false, why, changes);
	// A switch that did not answer may have taken the file.
	if (end != APPLY_REFUSED)
		unlink(next);
	else if (!swap_or_add_reason(next, full, why))
		add_reason_line(why, "%.1000s has the refused policy, and %.1000s the earlier one",
				full, next);
	return end;
}

enum apply_end apply_policy(const char *name, const char *path, const char *text,
			    struct lines *why, size_t *changes)
{
	char full[PATH_MAX], next[PATH_MAX + NEXT_LEN];
	enum apply_end end;
	struct client c;
	int err;

	*changes = 0;
	if (!full_path(path, full)) {
		add_reason_line(why, "the path %.1000s is too long", path);
		return APPLY_FAILED;
	}
	snprintf(next, sizeof(next), "%s.next", full);
	if (!write_file(next, text, why))
		return APPLY_FAILED;
	if (!is_policy(next, text, why))
		return APPLY_REFUSED;
	err = name != NULL ? client_connect(name, &c) : -ENOENT;
	if (err == 0) {
		end = to_switch(&c, next, full, why, changes);
		client_close(&c);
		return end;
	}
	if (!swap_or_add_reason(next, full, why))
		return APPLY_FAILED;
	unlink(next);
	add_reason_line(why, "the switch %s does not answer: %s", name != NULL ? name : "",
			strerror(-err));
	return APPLY_NO_SWITCH;
}
