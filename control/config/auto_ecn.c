// SPDX-License-Identifier: Apache-2.0
// Auto ECN of a configuration: the rules of the key `ecn`, and the thresholds of the start with
// their limits. The ceiling follows from the sum that `plan` shows (plan_ecn.c).
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "control/autoecn/rule.h"
#include "control/config/compile.h"
#include "control/config/plan.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"

enum { ERR_LEN = 256, FLOOR_FRAMES = 2 };
static const uint64_t NO_MARKS = 1ull << 36; // as kmin

static bool is_word(const struct cfg_val *v, const char *word)
{
	return v->text != NULL && strcmp(v->text, word) == 0;
}

static enum ecn_model_use model_of(const struct cfg_ecn *e)
{
	if (e->model.text == NULL || is_word(&e->model, "builtin"))
		return ECN_MODEL_BUILTIN;
	return is_word(&e->model, "off") ? ECN_MODEL_OFF : ECN_MODEL_FILE;
}

// The path of a model file, which the policy gives as seen from itself.
static bool model_path(const struct config *c, const struct cfg_ecn *e, char *out, size_t len)
{
	const char *from = e->model.at.file != NULL ? e->model.at.file : c->file;
	const char *slash = strrchr(from, '/');
	int dir = e->model.text[0] == '/' || slash == NULL ? 0 : (int)(slash - from) + 1;

	return (size_t)snprintf(out, len, "%.*s%s", dir, from, e->model.text) < len;
}

// ---- rules

static void thresholds_are_static_or_auto(const struct subject *x)
{
	const struct cfg_class *c = x->cls;

	if (cfg_ecn_is_auto(c) && c->wred.map.given)
		REFUSE(x->s, &c->wred.map,
		       "the class has `ecn: auto`, which chooses the thresholds" CURE
		       "remove wred, or remove ecn");
}

static void floor_is_not_above_ceiling(const struct subject *x)
{
	const struct cfg_ecn *e = &x->cls->ecn;

	if (e->floor.given && e->ceiling.given && e->floor.n > e->ceiling.n && !e->floor.bad &&
	    !e->ceiling.bad)
		REFUSE(x->s, &e->floor, "%s is above ceiling %s",
		       UNIT_TEXT(UNIT_BYTES, e->floor.n), UNIT_TEXT(UNIT_BYTES, e->ceiling.n));
}

static void model_can_be_read(const struct subject *x)
{
	const struct cfg_ecn *e = &x->cls->ecn;
	char path[sizeof(((struct auto_ecn_params *)NULL)->model_file)], err[ERR_LEN];
	struct ecn_model *m;

	if (!cfg_ecn_is_auto(x->cls) || e->model.bad || model_of(e) != ECN_MODEL_FILE)
		return;
	if (!model_path(x->c, e, path, sizeof(path))) {
		REFUSE(x->s, &e->model, "the path is longer than %zu characters" CURE
					"move the file", sizeof(path) - 1);
		return;
	}
	m = calloc(1, sizeof(*m));
	if (m != NULL && !ecn_model_load(path, m, err, sizeof(err)))
		REFUSE(x->s, &e->model, "%s" CURE
		       "mend the file, or write builtin or off", err);
	free(m);
}

void auto_ecn_check(const struct config *c, struct diag_sink *s)
{
	static const struct rule rules[] = {
		{OF_CLASS, thresholds_are_static_or_auto},
		{OF_CLASS, floor_is_not_above_ceiling},
		{OF_CLASS, model_can_be_read},
	};

	CHECK_RULES(rules, .c = c, .s = s);
}

// ---- compile

void compile_auto_marking(const struct cfg_class *c, struct wred_params *out)
{
	*out = (struct wred_params){.enabled = true, .ecn = true, .above_kmax_all = true,
				    .mark_at_dequeue = true, .not_ect_drop = !c->lossless.n};
}

static void set_curve(struct policy_queue *q, const struct ecn_thresholds *t)
{
	for (unsigned color = 0; color < N_COLORS; color++)
		q->wred.curve[color] = wred_curve_of(t->kmin_bytes, t->kmax_bytes, t->pmax_ppm);
}

// The shortest queue with which any port's group of the class may enter XOFF.
static uint64_t queue_at_xoff(const struct compiler *k, unsigned cls)
{
	const struct policy *p = k->p;
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < p->n_ports; i++) {
		struct plan_ecn e;

		if (!(p->ports[i].classify.lossless >> cls & 1) || compile_port_repeats(k, i))
			continue;
		e = plan_ecn(p, i, cls);
		if (e.n_outputs != 0 && e.queue_bytes < least)
			least = e.queue_bytes;
	}
	return least;
}

// A file that is written again has another stamp.
static uint64_t stamp_of(const char *path)
{
	struct stat s;

	if (stat(path, &s) != 0)
		return 0;
	return ((uint64_t)s.st_mtim.tv_sec * SECOND_NS + (uint64_t)s.st_mtim.tv_nsec) ^
	       (uint64_t)s.st_ino << 32 ^ (uint64_t)s.st_size;
}

static uint64_t queue_speed_bps(const struct policy_port *pp, const struct cfg_class *c)
{
	return c->max_rate.n != 0 ? min_u64((uint64_t)c->max_rate.n, pp->speed_bps)
				  : pp->speed_bps;
}

// All but the ceiling. The queue marks nothing yet, so the sum of `plan` finds the shortest queue
// at XOFF, and not the queue with the fewest marks.
static void compile_keys(struct compiler *k, struct policy_port *pp, const struct cfg_class *c,
			 unsigned q)
{
	struct auto_ecn_params *a = &pp->auto_ecn[q];
	const struct cfg_ecn *e = &c->ecn;

	*a = (struct auto_ecn_params){
		.on = true,
		.action = (uint8_t)e->action.n,
		.model = (uint8_t)model_of(e),
		.floor_bytes = e->floor.given ? (uint64_t)e->floor.n
					      : (uint64_t)FLOOR_FRAMES * pp->max_frame,
		.ceiling_bytes = e->ceiling.given ? (uint64_t)e->ceiling.n : UINT64_MAX,
		.step_ns = (uint64_t)e->step.n,
		.speed_bps = queue_speed_bps(pp, c),
	};
	// The check has refused a path that is too long.
	if (a->model == ECN_MODEL_FILE &&
	    model_path(k->c, e, a->model_file, sizeof(a->model_file)))
		a->model_stamp = stamp_of(a->model_file);
	set_curve(&pp->queue[q], &(struct ecn_thresholds){NO_MARKS, NO_MARKS, 0});
}

static void check_ceiling(struct compiler *k, const struct auto_ecn_params *a,
			  const struct cfg_val *ceiling, uint64_t limit_bytes, bool lossless)
{
	if (!ceiling->given)
		return;
	if (a->ceiling_bytes < a->floor_bytes)
		REFUSE(k->s, ceiling,
		       "%s is below the floor, two frames of full size: %" PRIu64 " B" CURE
		       "raise ceiling, or give a floor",
		       UNIT_TEXT(UNIT_BYTES, ceiling->n), a->floor_bytes);
	else if (a->ceiling_bytes > limit_bytes && lossless)
		WARN(k->s, ceiling,
		     "%s is above the queue at XOFF, %" PRIu64 " B: PFC can pause before ECN "
		     "marks" CURE
		     "lower ceiling, or leave it away: it is 3/4 of that queue then",
		     UNIT_TEXT(UNIT_BYTES, ceiling->n), limit_bytes);
}

// Three quarters of the queue at XOFF, or of the limit of a lossy queue.
static void compile_ceiling(struct compiler *k, struct policy_port *pp, const struct cfg_class *c,
			    unsigned q, uint64_t at_xoff[N_CLASSES])
{
	uint64_t limit_bytes = compile_queue_limit(k, &pp->queue[q].egress);
	struct auto_ecn_params *a = &pp->auto_ecn[q];
	struct ecn_thresholds start;
	bool lossless = false;

	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		if (pp->classify.class_to_queue[cls] != q || !(pp->classify.lossless >> cls & 1))
			continue;
		lossless = true;
		if (at_xoff[cls] == 0)
			at_xoff[cls] = queue_at_xoff(k, cls);
		limit_bytes = min_u64(limit_bytes, at_xoff[cls]);
	}
	check_ceiling(k, a, &c->ecn.ceiling, limit_bytes, lossless);
	if (a->ceiling_bytes == UINT64_MAX)
		a->ceiling_bytes = max_u64(a->floor_bytes, limit_bytes / 4 * 3);
	start = ecn_start(&(struct ecn_rails){a->floor_bytes, a->ceiling_bytes, a->speed_bps});
	set_curve(&pp->queue[q], &start);
}

void warn_auto_ecn_after_pfc(struct compiler *k, const struct cfg_class *c, uint64_t queue_bytes)
{
	const struct cfg_ecn *e = &c->ecn;
	const struct cfg_val *at = e->floor.given ? &e->floor : e->is_auto.given ? &e->is_auto
										  : &e->mode;

	WARN(k->s, at,
	     "PFC can pause before ECN marks with the thresholds of the start, at a queue of %"
	     PRIu64 " B" CURE
	     "%sraise ingress.min or ingress.alpha; weirctl plan shows each port",
	     queue_bytes, e->floor.given ? "lower floor, or " : "");
}

static const struct cfg_class *auto_class(const struct compiler *k, unsigned port, unsigned q)
{
	const struct cfg_profile *profile = k->c->ports[port].profile;
	int cls = check_class_of_queue(profile, q);

	return cls < 0 || !cfg_ecn_is_auto(&profile->classes[cls]) ? NULL : &profile->classes[cls];
}

void compile_auto_ecn(struct compiler *k)
{
	uint64_t at_xoff[N_CLASSES] = {0}; // 0: not known yet
	bool any = false;

	for (unsigned i = 0; i < k->p->n_ports; i++)
		for (unsigned q = 0; q < N_QUEUES; q++) {
			const struct cfg_class *c = auto_class(k, i, q);

			if (c == NULL)
				continue;
			any = true;
			compile_keys(k, &k->p->ports[i], c, q);
		}
	// Without pools there is no XOFF.
	if (!any || k->s->n_errors != 0)
		return;
	for (unsigned i = 0; i < k->p->n_ports; i++)
		for (unsigned q = 0; q < N_QUEUES; q++) {
			const struct cfg_class *c = auto_class(k, i, q);

			if (c != NULL)
				compile_ceiling(k, &k->p->ports[i], c, q, at_xoff);
		}
}
