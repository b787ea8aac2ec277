// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/reload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "control/config/diag.h"
#include "control/daemon/daemon_impl.h"
#include "dataplane/switch_routes.h"

struct reload {
	struct daemon *d;
	char *path; // NULL: the one the daemon was started with
	// A worker compares the policy of its last loop with the present one, and asks it what
	// has changed. At the end of a grace it may not have begun its next loop: so a retired
	// policy is kept for one reload more. Nor can the next one get its address then.
	struct policy *retired, *kept;
	uint64_t token; // of the grace of `retired`
	unsigned n_changes;
};

// What a file became on its way to be published.
struct candidate {
	struct config *config;
	struct policy *policy;
	char *text;
};

void reload_report_fini(struct reload_report *out)
{
	diags_fini(&out->said);
	config_changes_fini(&out->changes);
}

int reload_create(struct daemon *d, struct reload **out)
{
	struct reload *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return -ENOMEM;
	r->d = d;
	*out = r;
	return 0;
}

void reload_destroy(struct reload *r)
{
	if (r == NULL)
		return;
	policy_destroy(r->retired);
	policy_destroy(r->kept);
	free(r->path);
	free(r);
}

const char *reload_path(const struct reload *r)
{
	return r->path != NULL ? r->path : r->d->opt->policy_path;
}

const char *reload_text(const struct reload *r)
{
	return r->d->policy_text;
}

bool reload_pending(const struct reload *r)
{
	return r->retired != NULL;
}

// ---- a candidate

static void candidate_fini(struct candidate *c)
{
	config_destroy(c->config);
	if (c->policy != NULL)
		switch_unprepare(c->policy);
	policy_destroy(c->policy);
	free(c->text);
}

static void say(struct diags *said, const char *file, const char *what)
{
	const struct cfg_pos nowhere = {0, 0};
	struct diag_sink s = {.file = file};

	diag_add(&s, DIAG_ERROR, nowhere, NULL, "%s", what);
	diag_finish(&s, said);
}

// A pipe or a device could keep the control thread waiting for ever.
static bool is_file(const char *path, struct diags *said)
{
	struct stat st;

	if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) // why it cannot be read is told by reading
		return true;
	say(said, path, "cannot open: it is no regular file");
	return false;
}

// All that can be wrong is told in one go; only for other ports nothing can be compiled.
static int candidate_make(struct reload *r, const char *path, struct candidate *c,
			  struct diags *said)
{
	struct daemon *d = r->d;
	int err, compiled = -EINVAL;

	if (!is_file(path, said))
		return -EINVAL;
	err = config_load_text(path, &c->config, &c->text, said);
	if (err != 0)
		return err;
	err = config_check_reload(d->config, c->config, said);
	if (config_n_ports(c->config) == d->n_open)
		compiled = compile_for_ports(d, c->config, &c->policy, said);
	if (compiled == -ENOMEM)
		say(said, path, "out of memory");
	if (err != 0 || compiled != 0)
		return err != 0 ? err : compiled;
	if (c->policy->copy_frames > switch_copy_frames(d->sw)) {
		say(said, path, "classes: flood: on in a lossless class needs memory for more "
				"copies than there was at the start: restart weir");
		return -EINVAL;
	}
	err = switch_prepare(d->sw, c->policy);
	if (err != 0)
		say(said, path, "routes: there is no memory for their table; give fewer routes, or "
				"more memory at the start");
	return err;
}

// ---- events

static void tell(struct reload *r, enum event_type type, unsigned n, uint64_t now_ns)
{
	const struct event e = {.t_ns = model_time_ns(config_time_scale(r->d->config), now_ns),
				.type = (uint16_t)type, .port = 0xff, .cls = 0xff, .a = n};

	eventlog_add(r->d->log, &e, now_ns);
}

// ---- publish

// What a driver keeps for the host's stack is its own affair, so it is set port by port. All or
// nothing: where one fails the others get back what they had.
static int set_keeps(struct daemon *d, const struct config *next, const char *file,
		     struct diags *said)
{
	unsigned i = 0;

	for (; i < d->n_open; i++) {
		const struct config_port_open p = config_port(next, i);
		int err = live_set_keep(&d->ports[i], &p.keep);
		char why[128];

		if (err == 0)
			continue;
		snprintf(why, sizeof(why), "port %.31s: keep cannot be set: %.60s", p.name,
			 strerror(-err));
		say(said, file, why);
		break;
	}
	if (i == d->n_open)
		return 0;
	while (i-- > 0) {
		const struct config_port_open p = config_port(d->config, i);

		// It was in force a moment ago; there is nobody left to tell.
		(void)!live_set_keep(&d->ports[i], &p.keep);
	}
	return -EIO;
}

// Everybody who keeps a policy besides the workers is on this thread.
static void publish(struct reload *r, struct candidate *c, uint64_t now_ns)
{
	struct daemon *d = r->d;

	switch_publish(d->sw, c->policy, &r->retired, &r->token);
	d->policy = c->policy;
	resolver_new_policy(d->resolver, now_ns);
	eventlog_new_policy(d->log, d->policy);
	config_destroy(d->config);
	d->config = c->config;
	free(d->policy_text);
	d->policy_text = c->text;
}

enum reload_verdict reload_try(struct reload *r, const char *path, uint64_t now_ns,
			       struct reload_report *out)
{
	const char *file = path != NULL ? path : reload_path(r);
	struct candidate c = {0};
	char *new_path = path != NULL ? strdup(path) : NULL;

	if (reload_pending(r)) {
		free(new_path);
		return RELOAD_BUSY;
	}
	if (candidate_make(r, file, &c, &out->said) != 0 ||
	    set_keeps(r->d, c.config, file, &out->said) != 0) {
		candidate_fini(&c);
		free(new_path);
		tell(r, EVENT_RELOAD_FAILED, out->said.n_errors, now_ns);
		return RELOAD_REFUSED;
	}
	config_changes(r->d->config, c.config, &out->changes);
	r->n_changes = out->changes.n;
	publish(r, &c, now_ns);
	if (new_path != NULL) {
		free(r->path);
		r->path = new_path;
	}
	return RELOAD_PUBLISHED;
}

void reload_poll(struct reload *r, uint64_t now_ns)
{
	if (!reload_pending(r) || !switch_grace_over(r->d->sw, r->token))
		return;
	policy_destroy(r->kept);
	r->kept = r->retired;
	r->retired = NULL;
	tell(r, EVENT_RELOADED, r->n_changes, now_ns);
}

bool reload_on_signal(struct reload *r, uint64_t now_ns)
{
	struct reload_report report = {0};
	enum reload_verdict v = reload_try(r, NULL, now_ns, &report);

	for (unsigned i = 0; i < report.said.n; i++)
		log_line("%s %s reload: %s", r->d->policy->name,
			 v == RELOAD_REFUSED ? "error" : "warning", report.said.lines[i]);
	reload_report_fini(&report);
	return v != RELOAD_BUSY;
}
