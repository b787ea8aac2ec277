// SPDX-License-Identifier: Apache-2.0
// The action of the deadlock guard (qos/guard.h): a frame that turns back at this switch gets its
// new class and queue. The forwarder that calls this changes the frame's bytes. Called by the
// worker that owns the port of arrival.
#pragma once

#include "dataplane/policy.h"
#include "dataplane/switch_impl.h"

// The port of departure is known, and in a group: a frame that turns back gets class and queue by
// the rule that is returned. NULL: it stays as it is.
static inline const struct guard_rule *turn_rule(const struct worker *w, const struct port *p,
						 struct frame *f, uint8_t dscp)
{
	const struct policy_port *out = &w->pol->ports[f->out_port];
	const struct guard_rule *r = NULL;

	if (f->kind != PKT_OTHER)
		r = guard_match(&p->pol->guard, &out->guard, dscp);
	if (r != NULL) {
		f->out_cls = r->to_class;
		f->queue = out->classify.class_to_queue[r->to_class];
	}
	return r;
}

// Counts the frame under its rule. Returns the DSCP that the frame gets.
static inline uint8_t turn_count(struct port *p, const struct guard_rule *r)
{
	ctr_inc(&p->remapped[r - p->pol->guard.rules]);
	return r->to_dscp;
}
