// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/reload_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "dataplane/packet/classify.h"
#include "dataplane/switch_change.h"

// Longer than any stall of a worker that still lives, shorter than what weirctl waits.
static const uint64_t TIMEOUT_NS = 5000000000;

int reload_request_init(struct reload_request *q, const char *path, bool check,
			uint64_t confirm_ns, uint64_t now_ns)
{
	if (path != NULL && path[0] != '/')
		return -EINVAL;
	*q = (struct reload_request){.check = check, .confirm_ns = confirm_ns,
				     .deadline_ns = now_ns + TIMEOUT_NS};
	if (path != NULL && (q->path = strdup(path)) == NULL)
		return -ENOMEM;
	return 0;
}

void reload_request_fini(struct reload_request *q)
{
	free(q->path);
	json_object_put(q->answer);
	*q = (struct reload_request){0};
}

static struct json_object *list_of(char *const *texts, unsigned n)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < n; i++)
		json_object_array_add(list, json_object_new_string(texts[i]));
	return list;
}

static void add_text(struct json_object *to, const char *key, const char *text)
{
	json_object_object_add(to, key, json_object_new_string(text));
}

static void add_changes(struct json_object *out, const struct config_changes *c)
{
	struct json_object *keys = json_object_new_array(), *rows = json_object_new_array();

	for (unsigned i = 0; i < c->n; i++) {
		struct json_object *row = json_object_new_object();

		json_object_array_add(keys, json_object_new_string(c->rows[i].key));
		add_text(row, "key", c->rows[i].key);
		add_text(row, "old", c->rows[i].old);
		add_text(row, "new", c->rows[i].new);
		json_object_array_add(rows, row);
	}
	json_object_object_add(out, "changed", keys);
	json_object_object_add(out, "changes", rows);
}

static struct json_object *answer_of(const struct reload *r, const char *path,
				     enum reload_verdict v, const struct reload_report *report)
{
	struct json_object *out = json_object_new_object();
	bool begun = v == RELOAD_BEGUN, refused = v == RELOAD_REFUSED;

	json_object_object_add(out, "reloaded", json_object_new_boolean(begun));
	add_text(out, "file", path != NULL ? path : reload_path(r));
	json_object_object_add(out, refused ? "mistakes" : "warnings",
			       list_of(report->said.lines, report->said.n));
	if (!refused || report->changes.n > 0)
		add_changes(out, &report->changes);
	return out;
}

static enum reload_verdict verdict_on(const struct reload_request *q, struct reload *r,
				      uint64_t now_ns, struct reload_report *report)
{
	if (q->rollback)
		return reload_rollback(r, now_ns, report);
	if (q->check)
		return reload_check(r, q->path, report);
	return reload_try(r, q->path, q->confirm_ns, now_ns, report);
}

static void attempt(struct reload_request *q, struct reload *r, uint64_t now_ns)
{
	struct reload_report report = {0};
	enum reload_verdict v = verdict_on(q, r, now_ns, &report);

	q->published = v == RELOAD_BEGUN;
	if (v != RELOAD_BUSY)
		q->answer = answer_of(r, q->path, v, &report);
	if (q->check && v != RELOAD_BUSY)
		json_object_object_add(q->answer, "possible",
				       json_object_new_boolean(v == RELOAD_POSSIBLE));
	reload_report_fini(&report);
}

// How long the pause before the change was is known when the change is done.
static void add_pause(struct json_object *answer, const struct reload *r)
{
	const struct policy_change *c = reload_change(r);
	struct json_object *paused, *classes;
	char text[RELOAD_PAUSE_LEN];

	if (!reload_pause_text(r, text))
		return;
	paused = json_object_new_object();
	classes = json_object_new_array();
	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (c->classes >> cls & 1)
			json_object_array_add(classes, json_object_new_int((int)cls));
	json_object_object_add(paused, "classes", classes);
	json_object_object_add(paused, "ports", json_object_new_int((int)c->n_ports));
	json_object_object_add(paused, "for_us",
			       json_object_new_int64((int64_t)(c->lasted_ns + 500) / 1000));
	json_object_object_add(paused, "text", json_object_new_string(text));
	json_object_object_add(answer, "paused", paused);
	if (c->late)
		json_object_array_add(json_object_object_get(answer, "warnings"),
				      json_object_new_string(reload_late_text));
}

enum pending_verdict reload_request_step(struct reload_request *q, struct reload *r,
					 uint64_t now_ns, struct json_object **answer)
{
	if (q->answer == NULL)
		attempt(q, r, now_ns);
	if (q->answer == NULL || (q->published && reload_pending(r)))
		return now_ns < q->deadline_ns ? PENDING_WAIT : PENDING_TIMEOUT;
	if (q->published) {
		add_text(q->answer, "file", reload_path(r));
		add_pause(q->answer, r);
	}
	*answer = q->answer;
	q->answer = NULL;
	return PENDING_DONE;
}
