// SPDX-License-Identifier: Apache-2.0
// The deadlock guard acts (qos/guard.h): a frame that turns back gets its new class and queue. Its
// bytes are changed by whoever forwards it. Runs on the worker that owns the port of arrival.
#include "dataplane/switch_impl.h"

const struct guard_rule *guard_turn(const struct worker *w, struct frame *f, uint8_t dscp)
{
	const struct policy_port *out = &w->pol->ports[f->out_port];
	const struct guard_rule *r = NULL;

	if (f->kind != PKT_OTHER)
		r = guard_match(&w->pol->ports[f->in_port].guard, &out->guard, dscp);
	if (r != NULL) {
		f->out_cls = r->to_class;
		f->queue = out->classify.class_to_queue[r->to_class];
	}
	return r;
}

uint8_t guard_turned(struct worker *w, const struct frame *f, const struct guard_rule *r)
{
	const struct guard_params *g = &w->pol->ports[f->in_port].guard;

	ctr_inc(&worker_port(w, f->in_port)->remapped[r - g->rules]);
	return r->to_dscp;
}
