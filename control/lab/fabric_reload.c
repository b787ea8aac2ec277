// SPDX-License-Identifier: Apache-2.0
// Reloads of a scenario: as a live switch does it (dataplane/switch_change.h), on the virtual
// clock.
#include <errno.h>

#include "control/lab/fabric_int.h"
#include "dataplane/switch_routes.h"

enum { LOOK_NS = 500 };

static void look_again(struct fabric_switch *s, vclock_fn *fn)
{
	struct fabric *f = s->fabric;

	actor_poke(&s->actor);
	if (vclock_at(&f->clock, f->clock.now_ns + LOOK_NS, fn, s) != 0)
		f->out_of_memory = true;
}

void fabric_retire(struct fabric_switch *s)
{
	if (s->retired == NULL || !switch_grace_over(s->sw, s->grace_token))
		return;
	change_end(s->sw, &s->change);
	actor_poke(&s->actor);
	policy_destroy(s->retired);
	config_destroy(s->retired_config);
	s->retired = NULL;
	s->retired_config = NULL;
	if (s->waiting != NULL)
		fabric_reload(s->fabric, s->waiting);
}

// The pause before the change lasts no longer than it must.
static void end(void *arg, uint64_t now_ns)
{
	struct fabric_switch *s = arg;

	(void)now_ns;
	fabric_retire(s);
	if (s->retired != NULL)
		look_again(s, end);
}

static void publish_when_ready(void *arg, uint64_t now_ns)
{
	struct fabric_switch *s = arg;
	struct fabric *f = s->fabric;

	if (!change_ready(s->sw, &s->change, now_ns)) {
		look_again(s, publish_when_ready);
		return;
	}
	s->retired_config = s->config;
	s->config = s->next_config;
	s->policy = s->next;
	s->next_config = NULL;
	s->next = NULL;
	switch_publish(s->sw, s->policy, &s->retired, &s->grace_token);
	fabric_track(f, (uint32_t)(s - f->switches));
	actor_poke(&s->actor);
	if (s->change.classes != 0)
		look_again(s, end);
}

void fabric_reload(struct fabric *f, const struct sc_fault *sc)
{
	struct fabric_switch *s = &f->switches[sc->target.node];
	struct diags d = {0};

	// Each reload is laid over what the switch started with, so the last one counts.
	s->waiting = sc;
	fabric_retire(s);
	if (s->next != NULL || s->retired != NULL || s->waiting == NULL)
		return;
	s->waiting = NULL;
	// It compiled before the run; only memory can be short now.
	if (fabric_policy(f, sc->target.node, sc, &s->next_config, &s->next, &d) != 0 ||
	    switch_prepare(s->sw, s->next) != 0) {
		f->out_of_memory = true;
		diags_fini(&d);
		return;
	}
	diags_fini(&d);
	change_begin(s->sw, s->next, f->clock.now_ns, CHANGE_LATE_NS, &s->change);
	publish_when_ready(s, f->clock.now_ns);
}

void fabric_reload_free(struct fabric_switch *s)
{
	if (s->next != NULL)
		switch_unprepare(s->next);
	policy_destroy(s->next);
	policy_destroy(s->retired);
	config_destroy(s->next_config);
	config_destroy(s->retired_config);
}
