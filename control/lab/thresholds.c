// SPDX-License-Identifier: Apache-2.0
#include "control/lab/thresholds.h"

#include "control/lab/fabric.h"

enum { ERR_LEN = 256 };

// The agent keeps the changes, for the report.
static void ignore_curve_change(void *arg, const struct autoecn_change *c)
{
	(void)arg;
	(void)c;
}

static bool uses_auto_ecn(const struct policy *p)
{
	for (uint32_t i = 0; i < p->n_ports; i++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			if (p->ports[i].auto_ecn[q].on)
				return true;
	return false;
}

// A policy that comes later may be the first to ask for it. The models were read when the policies
// were checked.
static int start(struct fabric_switch *s)
{
	char err[ERR_LEN];

	if (s->auto_ecn != NULL || !uses_auto_ecn(switch_policy(s->in.sw)))
		return 0;
	return autoecn_create(s->in.sw, ignore_curve_change, NULL, &s->auto_ecn, err, sizeof(err));
}

int thresholds_create(struct fabric *f)
{
	int err = 0;

	for (uint32_t i = 0; i < f->sc->n_switches && err == 0; i++)
		err = start(&f->switches[i]);
	return err;
}

void thresholds_destroy(struct fabric *f)
{
	for (uint32_t i = 0; f->switches != NULL && i < f->sc->n_switches; i++)
		autoecn_destroy(f->switches[i].auto_ecn);
}

void thresholds_look(struct fabric *f, uint64_t now_ns)
{
	for (uint32_t i = 0; i < f->sc->n_switches; i++) {
		struct fabric_switch *s = &f->switches[i];

		if (s->auto_ecn == NULL)
			continue;
		autoecn_look(s->auto_ecn, instance_reloads(&s->in), now_ns);
		if (!switch_requests_done(s->in.sw))
			actor_poke(&s->actor);
	}
}

bool thresholds_new_policy(struct fabric_switch *s, uint64_t now_ns)
{
	char err[ERR_LEN];

	return s->auto_ecn == NULL ? start(s) == 0
				   : autoecn_new_policy(s->auto_ecn, now_ns, err, sizeof(err));
}

static bool view_of(const struct fabric *f, uint32_t sw, unsigned port, unsigned cls,
		    struct autoecn_view *out)
{
	const struct fabric_switch *s = &f->switches[sw];
	const struct policy_port *pp = &switch_policy(s->in.sw)->ports[port];

	return autoecn_view(s->auto_ecn, port, pp->classify.class_to_queue[cls], out) &&
	       out->cls == cls;
}

double thresholds_changes(const struct fabric *f, uint32_t sw, unsigned port, unsigned cls)
{
	struct autoecn_view v;

	return view_of(f, sw, port, cls, &v) && v.on ? (double)v.n_changes : 0;
}

// Of the policy.
static const struct wred_curve *curve_of(const struct fabric *f, uint32_t sw, unsigned port,
					 unsigned cls)
{
	const struct policy_port *pp = &switch_policy(f->switches[sw].in.sw)->ports[port];

	return &pp->queue[pp->classify.class_to_queue[cls]].wred.curve[GREEN];
}

double thresholds_kmin(const struct fabric *f, uint32_t sw, unsigned port, unsigned cls)
{
	struct autoecn_view v;

	return view_of(f, sw, port, cls, &v) ? (double)v.now.kmin_bytes
					     : (double)curve_of(f, sw, port, cls)->kmin_bytes;
}

double thresholds_kmax(const struct fabric *f, uint32_t sw, unsigned port, unsigned cls)
{
	struct autoecn_view v;

	return view_of(f, sw, port, cls, &v) ? (double)v.now.kmax_bytes
					     : (double)curve_of(f, sw, port, cls)->kmax_bytes;
}
