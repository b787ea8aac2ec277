// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/reload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <json-c/json.h>

#include "control/base/diag.h"
#include "control/config/port_open.h"
#include "control/daemon/daemon.h"
#include "control/observe/fact.h"
#include "dataplane/base/bits.h"
#include "dataplane/base/units.h"
#include "dataplane/packet/classify.h"
#include "dataplane/policy.h"
#include "dataplane/switch_change.h"
#include "dataplane/switch_routes.h"

// The control thread does not rest for so long while classes are paused for a reload.
static const uint64_t HASTE_NS = 100 * MS_NS;
// Between two attempts to put the confirmed policy back.
static const uint64_t RETRY_NS = 5ull * SECOND_NS;
// Longer than any stall of a worker that still lives, shorter than what weirctl waits.
static const uint64_t TIMEOUT_NS = 5ull * SECOND_NS;
enum { RELOAD_PAUSE_LEN = 128 };

enum reload_verdict {
	RELOAD_BUSY, // an earlier one is not taken over yet: nothing was looked at
	RELOAD_REFUSED, // diags holds the mistakes; nothing has changed
	RELOAD_BEGUN, // reload_pending() until all workers run on it
	RELOAD_POSSIBLE, // of reload_check(): reload_try() would begin
};

// Zeroed before, reload_report_fini after.
struct reload_report {
	struct diags diags; // mistakes, or the warnings about a policy that was taken
	struct config_changes changes;
};

// What a file became on its way to be published.
struct candidate {
	struct config *config; // NULL: the running one stays
	struct policy *policy;
	char *text, *path;
};

struct reload {
	struct daemon *d;
	char *path;
	unsigned n_changes;
	char *next_text, *next_path; // of a file that is to be published
	uint64_t haste_end_ns;
	bool to_log; // no client waits: the log gets the report
	bool for_ports; // a port has another device
	// The last confirmed policy, while an unconfirmed policy runs.
	struct {
		char *text, *path;
	} confirmed;
	uint64_t confirm_ns; // 0: the policy that runs, or comes, is confirmed
	uint64_t confirm_end_ns; // 0 until all workers run on the unconfirmed policy
};

static void candidate_fini(struct candidate *c)
{
	config_destroy(c->config);
	if (c->policy != NULL)
		switch_unprepare(c->policy);
	policy_destroy(c->policy);
	free(c->text);
	free(c->path);
}

static void reload_report_fini(struct reload_report *out)
{
	diags_fini(&out->diags);
	config_changes_fini(&out->changes);
}

int reload_create(struct daemon *d, struct reload **out)
{
	struct reload *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return -ENOMEM;
	r->d = d;
	r->path = strdup(d->opt->policy_path);
	*out = r;
	return r->path == NULL ? -ENOMEM : 0;
}

void reload_destroy(struct reload *r)
{
	if (r == NULL)
		return;
	if (r->confirmed.text != NULL)
		log_line("%s warning reload: %s is not confirmed; the next start of weir reads %s",
			 r->d->in.policy->name, r->path, r->d->opt->policy_path);
	free(r->next_text);
	free(r->next_path);
	free(r->path);
	free(r->confirmed.text);
	free(r->confirmed.path);
	free(r);
}

const char *reload_path(const struct reload *r)
{
	return r->path;
}

void reload_describe(const struct reload *r)
{
	const struct observe_about about = {.version = WEIR_VERSION,
					    .policy_file = reload_path(r),
					    .start_ns = CLOCK_START_NS,
					    .confirm_end_ns = r->confirm_end_ns};

	observe_set_about(r->d->observe, &about);
}

bool reload_pending(const struct reload *r)
{
	return instance_reloads(&r->d->in);
}

// ---- a candidate

static void add_error(struct diags *diags, const char *file, const char *what)
{
	const struct cfg_pos nowhere = {0, 0};
	struct diag_sink s = {.file = file};

	diag_add(&s, DIAG_ERROR, nowhere, NULL, "%s", what);
	diag_finish(&s, diags);
}

static int prepare_new_policy(const struct daemon *d, const char *path, struct policy *policy,
			      struct diags *diags)
{
	int err = instance_prepare(&d->in, policy);

	if (err != 0)
		add_error(diags, path, instance_prepare_text(err));
	return err;
}

// One call reports all mistakes. A policy for other ports is not compiled. text NULL: the text of
// the file.
static int candidate_make(struct reload *r, const char *path, const char *text,
			  struct candidate *c, struct diags *diags)
{
	struct daemon *d = r->d;
	struct stat st;
	int err, compiled = -EINVAL;

	c->path = strdup(path);
	c->text = text != NULL ? strdup(text) : NULL;
	if (c->path == NULL || (text != NULL && c->text == NULL)) {
		add_error(diags, path, "out of memory");
		return -ENOMEM;
	}
	if (text != NULL) {
		err = config_parse(path, text, strlen(text), &c->config, diags);
	} else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		// A pipe or a device could keep the control thread waiting for ever.
		add_error(diags, path, "cannot open: it is no regular file");
		err = -EINVAL;
	} else {
		err = config_load_text(path, &c->config, &c->text, diags);
	}
	if (err != 0)
		return err;
	err = config_check_reload(d->in.config, c->config, diags);
	if (config_n_ports(c->config) == d->n_open)
		compiled = compile_for_ports(d, c->config, &c->policy, diags);
	if (compiled == -ENOMEM)
		add_error(diags, path, "out of memory");
	if (err != 0 || compiled != 0)
		return err != 0 ? err : compiled;
	return prepare_new_policy(d, path, c->policy, diags);
}

// ---- publish

// What a driver keeps for the host's stack is its own affair, so it is set port by port. All or
// nothing: where one fails the others get back what they had.
static int set_keeps(struct daemon *d, const struct config *next, const char *file,
		     struct diags *diags)
{
	struct live_text text = {0};
	unsigned i = 0;

	for (; i < d->n_open; i++) {
		const struct config_port_open p = config_port(next, i);
		char why[LIVE_TEXT_LEN + 64];

		if (live_set_keep(&d->ports[i], &p.keep, p.take_over, &text) == 0)
			continue;
		snprintf(why, sizeof(why), "port %.31s: %s", p.name, text.err);
		add_error(diags, file, why);
		break;
	}
	if (i == d->n_open)
		return 0;
	while (i-- > 0) {
		const struct config_port_open p = config_port(d->in.config, i);

		// It was in force a moment ago; a failure has no reader.
		(void)!live_set_keep(&d->ports[i], &p.keep, true, &text);
	}
	return -EIO;
}

static void forget_confirmed(struct reload *r)
{
	free(r->confirmed.text);
	free(r->confirmed.path);
	r->confirmed.text = r->confirmed.path = NULL;
}

// Keeps text and path of the policy that goes, where the policy that comes is not confirmed.
void reload_published(struct reload *r)
{
	struct daemon *d = r->d;

	if (d->in.retired_config == NULL)
		return; // the same file
	forget_confirmed(r);
	r->confirmed.text = d->policy_text;
	r->confirmed.path = r->path;
	if (r->confirm_ns == 0)
		forget_confirmed(r);
	d->policy_text = r->next_text;
	r->path = r->next_path;
	r->next_text = r->next_path = NULL;
	reload_describe(r);
}

static const char reload_late_text[] =
	"some port sent no PAUSE within 1 s: frames of lossless classes may have been lost";

// What was paused, and for how long. False: nothing was.
static bool reload_pause_text(const struct reload *r, char out[RELOAD_PAUSE_LEN])
{
	const struct policy_change *c = &r->d->in.change;
	char classes[3 * N_CLASSES + 1] = "";
	unsigned n = 0;

	for_each_bit (cls, c->classes)
		snprintf(classes + strlen(classes), sizeof(classes) - strlen(classes), "%s%u",
			 n++ == 0 ? "" : ", ", cls);
	if (n != 0)
		snprintf(out, RELOAD_PAUSE_LEN,
			 "paused %s %s on %u %s for %" PRIu64 " us before the change",
			 n == 1 ? "class" : "classes", classes, c->n_ports,
			 c->n_ports == 1 ? "port" : "ports", (c->lasted_ns + 500) / US_NS);
	return n != 0;
}

void reload_settled(struct reload *r, uint64_t now_ns)
{
	struct daemon *d = r->d;
	char text[RELOAD_PAUSE_LEN];

	if (r->to_log && reload_pause_text(r, text))
		log_line("%s info reload: %s", d->in.policy->name, text);
	if (r->to_log && d->in.change.late)
		log_line("%s warning reload: %s", d->in.policy->name, reload_late_text);
	if (r->for_ports)
		return;
	daemon_event(d, EVENT_RELOADED, PORT_NONE, r->n_changes, 0, now_ns);
	if (r->confirm_ns != 0)
		r->confirm_end_ns = now_ns + r->confirm_ns;
	reload_describe(r);
}

static void roll_back_in_time(struct reload *r, uint64_t now_ns);

void reload_poll(struct reload *r, uint64_t now_ns)
{
	instance_step(&r->d->in, now_ns);
	if (r->confirm_end_ns != 0 && now_ns >= r->confirm_end_ns && !reload_pending(r))
		roll_back_in_time(r, now_ns);
}

bool reload_in_haste(const struct reload *r, uint64_t now_ns)
{
	return r->d->in.change.classes != 0 && reload_pending(r) && now_ns < r->haste_end_ns;
}

static void begin_reload(struct reload *r, const struct candidate *c, uint64_t now_ns)
{
	r->next_text = c->text;
	r->next_path = c->path;
	r->to_log = false;
	instance_reload(&r->d->in, c->config, c->policy, now_ns, CHANGE_LATE_NS);
	reload_poll(r, now_ns);
	r->haste_end_ns = now_ns + HASTE_NS;
}

// path and text NULL: those of the file that runs.
static enum reload_verdict begin_file(struct reload *r, const char *path, const char *text,
				      uint64_t confirm_ns, uint64_t now_ns,
				      struct reload_report *out)
{
	const char *file = path != NULL ? path : r->path;
	struct candidate c = {0};

	if (candidate_make(r, file, text, &c, &out->diags) != 0 ||
	    set_keeps(r->d, c.config, file, &out->diags) != 0) {
		candidate_fini(&c);
		daemon_event(r->d, EVENT_RELOAD_FAILED, PORT_NONE, out->diags.n_errors, 0, now_ns);
		return RELOAD_REFUSED;
	}
	config_changes(r->d->in.config, c.config, &out->changes);
	r->n_changes = out->changes.n;
	r->for_ports = false;
	r->confirm_ns = confirm_ns;
	r->confirm_end_ns = 0;
	if (text != NULL)
		daemon_event(r->d, EVENT_ROLLBACK, PORT_NONE, 0, 0, now_ns);
	begin_reload(r, &c, now_ns);
	return RELOAD_BEGUN;
}

static bool waits_for_confirm(const struct reload *r, const char *path, struct diags *diags)
{
	if (r->confirm_ns != 0)
		add_error(diags, path != NULL ? path : r->path,
		    "the policy that runs is not confirmed: weirctl confirm keeps it, weirctl "
		    "rollback puts the policy before back");
	return r->confirm_ns != 0;
}

// path NULL: the file that runs. confirm_ns not 0: reload_poll() puts the policy before back,
// unless reload_confirm() comes within confirm_ns. Until then every other reload is refused.
static enum reload_verdict reload_try(struct reload *r, const char *path, uint64_t confirm_ns,
				      uint64_t now_ns, struct reload_report *out)
{
	if (reload_pending(r))
		return RELOAD_BUSY;
	if (!waits_for_confirm(r, path, &out->diags))
		return begin_file(r, path, NULL, confirm_ns, now_ns, out);
	daemon_event(r->d, EVENT_RELOAD_FAILED, PORT_NONE, out->diags.n_errors, 0, now_ns);
	return RELOAD_REFUSED;
}

bool reload_confirm(struct reload *r)
{
	bool waited = r->confirm_ns != 0;

	r->confirm_ns = r->confirm_end_ns = 0;
	forget_confirmed(r);
	reload_describe(r);
	return waited;
}

void reload_forbid_rollback(struct reload *r)
{
	r->confirm_end_ns = 0;
}

static enum reload_verdict reload_rollback(struct reload *r, uint64_t now_ns,
					   struct reload_report *out)
{
	if (reload_pending(r))
		return RELOAD_BUSY;
	if (r->confirm_ns != 0)
		return begin_file(r, r->confirmed.path, r->confirmed.text, 0, now_ns, out);
	add_error(&out->diags, r->path, "no policy waits for a confirm, so no policy comes back");
	return RELOAD_REFUSED;
}

static void log_diags(const struct reload *r, bool refused, const struct diags *diags)
{
	for (unsigned i = 0; i < diags->n; i++)
		log_line("%s %s reload: %s", r->d->in.policy->name, refused ? "error" : "warning",
			 diags->lines[i]);
}

static void roll_back_in_time(struct reload *r, uint64_t now_ns)
{
	struct reload_report report = {0};
	bool refused = reload_rollback(r, now_ns, &report) == RELOAD_REFUSED;

	r->to_log = true;
	log_diags(r, refused, &report.diags);
	if (refused) {
		log_line("%s error reload: %s cannot be put back yet; the next attempt is in 5 s, "
			 "unless: weirctl confirm",
			 r->d->in.policy->name, r->confirmed.path);
		r->confirm_end_ns = now_ns + RETRY_NS;
		reload_describe(r);
	}
	reload_report_fini(&report);
}

static int publish_again(struct reload *r, bool only_routes, uint64_t now_ns, char *err,
			 size_t err_len)
{
	struct candidate c = {0};
	struct diags diags = {0};
	int rc = compile_for_ports(r->d, r->d->in.config, &c.policy, &diags);

	if (rc == -ENOMEM)
		add_error(&diags, reload_path(r), "out of memory");
	if (rc == 0)
		rc = prepare_new_policy(r->d, reload_path(r), c.policy, &diags);
	if (rc == 0) {
		c.policy->only_routes = only_routes;
		r->for_ports = true;
		begin_reload(r, &c, now_ns);
	} else {
		for (unsigned i = diags.n; i-- > 0;)
			if (diags.is_error[i])
				snprintf(err, err_len, "%s", diags.lines[i]);
		candidate_fini(&c);
	}
	diags_fini(&diags);
	return rc;
}

int reload_for_ports(struct reload *r, uint64_t now_ns, char *err, size_t err_len)
{
	return publish_again(r, false, now_ns, err, err_len);
}

bool reload_for_routes(struct reload *r, uint64_t now_ns)
{
	char err[LIVE_TEXT_LEN] = "";

	if (publish_again(r, true, now_ns, err, sizeof(err)) == 0)
		return true;
	log_line("%s warning control_plane: %s", r->d->in.policy->name, err);
	return false;
}

// Whether reload_try would begin: RELOAD_POSSIBLE or RELOAD_REFUSED, with what would change. The
// drivers are not tried: they may still refuse another `keep`.
static enum reload_verdict reload_check(struct reload *r, const char *path,
					struct reload_report *out)
{
	struct candidate c = {0};
	int err;

	if (reload_pending(r))
		return RELOAD_BUSY;
	if (waits_for_confirm(r, path, &out->diags))
		return RELOAD_REFUSED;
	err = candidate_make(r, path != NULL ? path : reload_path(r), NULL, &c, &out->diags);
	if (c.config != NULL)
		config_changes(r->d->in.config, c.config, &out->changes);
	candidate_fini(&c);
	return err == 0 ? RELOAD_POSSIBLE : RELOAD_REFUSED;
}

bool reload_on_signal(struct reload *r, uint64_t now_ns)
{
	struct reload_report report = {0};
	enum reload_verdict v = reload_try(r, NULL, 0, now_ns, &report);

	if (v == RELOAD_BEGUN)
		r->to_log = true;
	log_diags(r, v == RELOAD_REFUSED, &report.diags);
	reload_report_fini(&report);
	return v != RELOAD_BUSY;
}

// ---- requests

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

static struct json_object *answer_of(const struct reload *r, const struct reload_request *q,
				     enum reload_verdict v, const struct reload_report *report)
{
	struct json_object *out = json_object_new_object(), *lines, *keys, *rows;
	const struct config_changes *changes = &report->changes;

	row_bool(out, "reloaded", v == RELOAD_BEGUN);
	row_text(out, "file", q->path != NULL ? q->path : reload_path(r));
	lines = list_in(out, v == RELOAD_REFUSED ? "mistakes" : "warnings");
	for (unsigned i = 0; i < report->diags.n; i++)
		json_object_array_add(lines, json_object_new_string(report->diags.lines[i]));
	if (v != RELOAD_REFUSED || changes->n > 0) {
		keys = list_in(out, "changed");
		rows = list_in(out, "changes");
		for (unsigned i = 0; i < changes->n; i++) {
			struct json_object *row = row_in(rows);

			json_object_array_add(keys, json_object_new_string(changes->rows[i].key));
			row_text(row, "key", changes->rows[i].key);
			row_text(row, "old", changes->rows[i].old);
			row_text(row, "new", changes->rows[i].new);
		}
	}
	if (q->check)
		row_bool(out, "possible", v == RELOAD_POSSIBLE);
	return out;
}

static void attempt(struct reload_request *q, struct reload *r, uint64_t now_ns)
{
	struct reload_report report = {0};
	enum reload_verdict v;

	if (q->rollback)
		v = reload_rollback(r, now_ns, &report);
	else if (q->check)
		v = reload_check(r, q->path, &report);
	else
		v = reload_try(r, q->path, q->confirm_ns, now_ns, &report);
	q->published = v == RELOAD_BEGUN;
	if (v != RELOAD_BUSY)
		q->answer = answer_of(r, q, v, &report);
	reload_report_fini(&report);
}

// How long the pause before the change was is known when the change is done.
static void add_pause(struct json_object *answer, const struct reload *r)
{
	const struct policy_change *c = &r->d->in.change;
	struct json_object *paused, *classes;
	char text[RELOAD_PAUSE_LEN];

	if (!reload_pause_text(r, text))
		return;
	paused = json_object_new_object();
	json_object_object_add(answer, KEY(QUEUES, paused), paused);
	classes = list_in(paused, "classes");
	for_each_bit (cls, c->classes)
		json_object_array_add(classes, json_object_new_int((int)cls));
	row_u64(paused, KEY(VERSION, ports), c->n_ports);
	row_u64(paused, "for_us", (c->lasted_ns + 500) / US_NS);
	row_text(paused, KEY(DROP_REASONS, text), text);
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
		row_text(q->answer, "file", reload_path(r));
		add_pause(q->answer, r);
	}
	*answer = q->answer;
	q->answer = NULL;
	return PENDING_DONE;
}
