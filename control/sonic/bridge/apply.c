// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/bridge/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/config/config.h"
#include "control/ctl/client.h"
#include "control/daemon/json_in.h"

enum { NEXT_LEN = 8 };

static void add_line(char why[APPLY_WHY], const char *line)
{
	size_t at = strlen(why);

	snprintf(why + at, APPLY_WHY - at, "%s%s", at > 0 ? "\n" : "", line);
}

static bool is_policy(const char *path, const char *text, char why[APPLY_WHY])
{
	struct config *cfg = NULL;
	struct diags said = {0};
	bool ok = config_parse(path, text, strlen(text), &cfg, &said) == 0;

	for (unsigned i = 0; !ok && i < said.n; i++)
		add_line(why, said.lines[i]);
	diags_fini(&said);
	config_destroy(cfg);
	return ok;
}

static bool write_file(const char *path, const char *text, char why[APPLY_WHY])
{
	FILE *f = fopen(path, "we");
	bool ok = f != NULL && fputs(text, f) >= 0 && fflush(f) == 0 && fsync(fileno(f)) == 0;
	int code = errno;

	if (f != NULL && fclose(f) != 0 && ok) {
		code = errno;
		ok = false;
	}
	if (!ok)
		snprintf(why, APPLY_WHY, "%.2000s cannot be written: %s", path, strerror(code));
	return ok;
}

static struct json_object *reload_request_of(const char *path, bool check)
{
	struct json_object *req = request_of("reload", "file", path);

	json_object_object_add(req, "check", json_object_new_boolean(check));
	return req;
}

static void add_mistakes(char why[APPLY_WHY], struct json_object *data)
{
	struct json_object *lines;

	if (!json_object_object_get_ex(data, "mistakes", &lines))
		return;
	for (size_t i = 0; i < json_object_array_length(lines); i++)
		add_line(why, json_object_get_string(json_object_array_get_idx(lines, i)));
}

// APPLY_DONE: the switch takes the file, or would.
static enum apply_end ask_switch(struct client *c, const char *path, bool check,
				 char why[APPLY_WHY], size_t *changes)
{
	struct json_object *data, *list;
	enum apply_end end = APPLY_REFUSED;

	data = client_exchange_why(c, reload_request_of(path, check), why, APPLY_WHY);
	if (data == NULL && why[0] == '\0') {
		end = APPLY_NO_SWITCH;
		snprintf(why, APPLY_WHY, "the switch does not answer: no answer in time");
	} else if (data != NULL && true_in(data, check ? "possible" : "reloaded")) {
		end = APPLY_DONE;
	} else if (data != NULL) {
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

// The two files change places, so that the earlier one can come back. The first time there is one.
static bool move(const char *from, const char *to, char why[APPLY_WHY])
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0 || rename(from, to) == 0)
		return true;
	snprintf(why, APPLY_WHY, "%.1900s cannot take the place of %.1900s: %s", from, to,
		 strerror(errno));
	return false;
}

static enum apply_end to_switch(struct client *c, const char *next, const char *full,
				char why[APPLY_WHY], size_t *changes)
{
	enum apply_end end = ask_switch(c, next, true, why, changes);
	char ignored[APPLY_WHY];

	if (end != APPLY_DONE)
		return end;
	if (!move(next, full, why))
		return APPLY_FAILED;
	end = ask_switch(c, full, false, why, changes);
	// A switch that did not answer may have taken the file.
	if (end == APPLY_REFUSED)
		(void)!move(next, full, ignored);
	else
		unlink(next);
	return end;
}

enum apply_end apply_policy(const char *name, const char *path, const char *text,
			    char why[APPLY_WHY], size_t *changes)
{
	char full[PATH_MAX], next[PATH_MAX + NEXT_LEN];
	enum apply_end end;
	struct client c;
	int err;

	why[0] = '\0';
	*changes = 0;
	if (!full_path(path, full)) {
		snprintf(why, APPLY_WHY, "the path %s is too long", path);
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
	if (!move(next, full, why))
		return APPLY_FAILED;
	unlink(next);
	snprintf(why, APPLY_WHY, "the switch %s does not answer: %s", name != NULL ? name : "",
		 strerror(-err));
	return APPLY_NO_SWITCH;
}
