// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/lldp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/daemon/daemon.h"
#include "control/lldp/local.h"
#include "dataplane/base/units.h"
#include "dataplane/switch_punt.h"

enum { ERR_LEN = 256, TAKEN_A_LOOP = 64 };
static const uint64_t RETRY_NS = 5 * (uint64_t)SECOND_NS; // after a policy that was refused

struct lldp {
	struct daemon *d;
	struct lldp_agent *agent;
	uint64_t retry_ns;
};

static bool local(void *arg, unsigned port, struct lldp_local *out)
{
	const struct lldp *l = arg;
	const struct weir_switch *sw = l->d->in.sw;

	return lldp_describe(switch_policy(sw), port, switch_port(sw, 0)->facts.mac,
			     switch_port(sw, port)->facts.mac, out);
}

static bool send_lldp_frame(void *arg, unsigned port, const uint8_t *bytes, uint16_t len)
{
	const struct lldp *l = arg;
	struct control_frame f = {.port = (port_no_t)port, .len = len};

	memcpy(f.bytes, bytes, len);
	return switch_send(l->d->in.sw, &f, SEND_OTHER);
}

static void log_event(void *arg, const struct event *e, const char *about)
{
	const struct lldp *l = arg;

	eventlog_add_about(l->d->log, e, about, e->t_ns);
}

int lldp_create(struct daemon *d, struct lldp **out)
{
	static const struct lldp_agent_ops ops = {local, send_lldp_frame, log_event};
	struct lldp *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return -ENOMEM;
	l->d = d;
	if (lldp_agent_create(d->in.policy->n_ports, &ops, l, &l->agent) != 0) {
		free(l);
		return -ENOMEM;
	}
	*out = l;
	return 0;
}

void lldp_destroy(struct lldp *l)
{
	if (l == NULL)
		return;
	lldp_agent_destroy(l->agent);
	free(l);
}

const struct lldp_agent *lldp_agent_of(const struct lldp *l)
{
	return l == NULL ? NULL : l->agent;
}

void lldp_new_policy(struct lldp *l, uint64_t now_ns)
{
	if (l != NULL)
		lldp_local_changed(l->agent, now_ns);
}

// PFC of a port changes as by a reload: classes that gain or lose PFC are paused before.
static void apply(struct lldp *l, uint64_t now_ns)
{
	char err[ERR_LEN];

	if (reload_pending(l->d->reload) || now_ns < l->retry_ns ||
	    !lldp_pfc_has_changed(switch_policy(l->d->in.sw), l->agent))
		return;
	if (reload_for_ports(l->d->reload, now_ns, err, sizeof(err)) == 0)
		return;
	l->retry_ns = now_ns + RETRY_NS;
	log_line("%s error dcbx: %s; the next attempt is in 5 s", l->d->in.policy->name, err);
}

void lldp_loop(struct lldp *l, uint64_t now_ns)
{
	struct control_frame f;

	for (unsigned i = 0; i < TAKEN_A_LOOP && !inof_agent_is_busy(l->d->inof) &&
			     switch_next_punt(l->d->in.sw, 1 << PUNT_LLDP, &f);
	     i++)
		if (inof_agent_lldp(l->d->inof, &f, now_ns))
			continue;
		else if (lldp_is_on(l->agent, f.port))
			lldp_receive(l->agent, f.port, f.bytes, f.len, now_ns);
		else
			plane_give(l->d->plane, &f);
	for (unsigned i = 0; i < l->d->in.policy->n_ports; i++)
		lldp_link(l->agent, i, switch_link_up(l->d->in.sw, i), now_ns);
	lldp_poll(l->agent, now_ns);
	apply(l, now_ns);
}

void lldp_end(struct lldp *l)
{
	lldp_shutdown(l->agent);
}
