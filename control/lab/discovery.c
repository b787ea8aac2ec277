// SPDX-License-Identifier: Apache-2.0
#include "control/lab/discovery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/fabric.h"
#include "control/lab/inof.h"
#include "control/lldp/local.h"
#include "dataplane/switch_punt.h"

// A switch or a host.
struct speaker {
	struct fabric *f;
	uint32_t i;
	struct lldp_agent *agent; // NULL: it does not speak
	uint64_t mismatches[POLICY_MAX_PORTS]; // of a switch, by port
};

struct discovery {
	struct fabric *f;
	struct speaker *switches, *hosts;
};

// ---- what they say, and how it leaves
static bool switch_says(void *arg, unsigned port, struct lldp_local *out)
{
	const struct speaker *s = arg;
	const struct weir_switch *sw = s->f->switches[s->i].in.sw;

	return lldp_describe(switch_policy(sw), port, switch_port(sw, 0)->facts.mac,
			     switch_port(sw, port)->facts.mac, out);
}

static bool switch_sends(void *arg, unsigned port, const uint8_t *bytes, uint16_t len)
{
	const struct speaker *s = arg;
	struct fabric_switch *sw = &s->f->switches[s->i];
	struct control_frame f = {.port = (port_no_t)port, .len = len};

	memcpy(f.bytes, bytes, len);
	actor_poke(&sw->actor);
	return switch_send(sw->in.sw, &f, SEND_OTHER);
}

static void switch_event(void *arg, const struct event *e, const char *about)
{
	struct speaker *s = arg;

	(void)about;
	if (e->type == EVENT_DCBX_MISMATCH)
		s->mismatches[e->port]++;
}

static bool host_says(void *arg, unsigned port, struct lldp_local *out)
{
	static const char name[] = "eth0";
	const struct speaker *s = arg;
	const struct sc_host *h = &s->f->sc->hosts[s->i];
	struct dcbx_pdu *d = &out->pdu.dcbx;

	(void)port;
	*out = (struct lldp_local){
		.pfc_possible = UINT8_MAX,
		.pdu = {.chassis = {LLDP_CHASSIS_MAC, {h->mac, sizeof(h->mac)}},
			.port = {LLDP_PORT_NAME, {(const uint8_t *)name, sizeof(name) - 1}},
			.system_name = {(const uint8_t *)h->name, (uint16_t)strlen(h->name)},
			.has_capabilities = true,
			.capabilities = LLDP_STATION,
			.enabled = LLDP_STATION},
	};
	memcpy(out->pdu.mac, h->mac, sizeof(h->mac));
	d->pfc = (struct dcbx_pfc){.given = h->lldp.has_pfc, .willing = h->lldp.willing,
				   .max = N_CLASSES, .enable = h->lldp.pfc};
	if (h->lldp.roce >= 0) {
		d->app_given = true;
		d->n_apps = 1;
		d->app[0] = (struct dcbx_app){(uint8_t)h->lldp.roce, DCBX_TCP_UDP, UDP_ROCE};
	}
	return true;
}

static bool host_sends(void *arg, unsigned port, const uint8_t *bytes, uint16_t len)
{
	const struct speaker *s = arg;

	(void)port;
	fabric_poke_host(s->f, s->i);
	return nic_send_frame(s->f->hosts[s->i].nic, bytes, len);
}

static void host_event(void *arg, const struct event *e, const char *about)
{
	(void)arg;
	(void)e;
	(void)about;
}

// ---- making
static bool switch_speaks(const struct policy *p)
{
	for (uint32_t i = 0; i < p->n_ports; i++)
		if (p->ports[i].lldp.on)
			return true;
	return false;
}

// The NIC has PFC in the classes that the host says, or that it has taken from its switch.
static void set_pfc(const struct speaker *host)
{
	const struct sc_lldp *k = &host->f->sc->hosts[host->i].lldp;
	struct dcbx_view v;

	if (!k->has_pfc)
		return;
	lldp_dcbx(host->agent, 0, &v);
	nic_set_pfc(host->f->hosts[host->i].nic, v.active);
}

static int make_speaker(struct discovery *d, struct speaker *s, uint32_t i, unsigned n_ports,
			bool is_host)
{
	static const struct lldp_agent_ops of_switch = {switch_says, switch_sends, switch_event};
	static const struct lldp_agent_ops of_host = {host_says, host_sends, host_event};
	int err;

	*s = (struct speaker){.f = d->f, .i = i};
	if (n_ports == 0)
		return 0;
	err = lldp_agent_create(n_ports, is_host ? &of_host : &of_switch, s, &s->agent);
	if (err == 0)
		lldp_local_changed(s->agent, 0);
	if (err == 0 && is_host)
		set_pfc(s);
	return err;
}

bool discovery_wanted(const struct fabric *f)
{
	for (uint32_t i = 0; i < f->sc->n_switches; i++)
		if (switch_speaks(f->switches[i].in.policy))
			return true;
	for (uint32_t i = 0; i < f->sc->n_hosts; i++)
		if (f->sc->hosts[i].lldp.on)
			return true;
	return false;
}

int discovery_create(struct fabric *f, struct discovery **out)
{
	const struct scenario *sc = f->sc;
	struct discovery *d;
	int err = 0;

	if (!discovery_wanted(f))
		return 0;
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return -ENOMEM;
	*out = d;
	d->f = f;
	d->switches = calloc(sc->n_switches + 1, sizeof(d->switches[0]));
	d->hosts = calloc(sc->n_hosts + 1, sizeof(d->hosts[0]));
	if (d->switches == NULL || d->hosts == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < sc->n_switches && err == 0; i++)
		err = make_speaker(d, &d->switches[i], i, f->switches[i].in.policy->n_ports, false);
	for (uint32_t i = 0; i < sc->n_hosts && err == 0; i++)
		err = make_speaker(d, &d->hosts[i], i, sc->hosts[i].lldp.on ? 1 : 0, true);
	return err;
}

void discovery_destroy(struct discovery *d)
{
	if (d == NULL)
		return;
	for (uint32_t i = 0; d->switches != NULL && i < d->f->sc->n_switches; i++)
		lldp_agent_destroy(d->switches[i].agent);
	for (uint32_t i = 0; d->hosts != NULL && i < d->f->sc->n_hosts; i++)
		lldp_agent_destroy(d->hosts[i].agent);
	free(d->switches);
	free(d->hosts);
	free(d);
}

// ---- running
static void look_at_switch(struct speaker *s, uint64_t now_ns)
{
	struct fabric_switch *sw = &s->f->switches[s->i];
	struct control_frame f;

	while (switch_next_punt(sw->in.sw, 1 << PUNT_LLDP, &f))
		if (!lab_inof_lldp(s->f->inof, s->i, &f, now_ns))
			lldp_receive(s->agent, f.port, f.bytes, f.len, now_ns);
	for (uint32_t p = 0; p < sw->in.policy->n_ports; p++)
		lldp_link(s->agent, p, switch_link_up(sw->in.sw, p), now_ns);
	lldp_poll(s->agent, now_ns);
	if (!instance_reloads(&sw->in) && lldp_pfc_has_changed(sw->in.policy, s->agent))
		fabric_new_policy(sw);
}

static void poll_host_agent(struct speaker *s, uint64_t now_ns)
{
	const struct fabric *f = s->f;

	if (s->agent == NULL)
		return;
	lldp_link(s->agent, 0, wire_ops.link_up(fabric_host_end(f, s->i)), now_ns);
	lldp_poll(s->agent, now_ns);
	set_pfc(s);
}

void discovery_look(struct discovery *d, uint64_t now_ns)
{
	if (d == NULL)
		return;
	for (uint32_t i = 0; i < d->f->sc->n_hosts; i++)
		poll_host_agent(&d->hosts[i], now_ns);
	for (uint32_t i = 0; i < d->f->sc->n_switches; i++)
		look_at_switch(&d->switches[i], now_ns);
}

void discovery_new_policy(struct discovery *d, uint32_t sw, uint64_t now_ns)
{
	if (d != NULL)
		lldp_local_changed(d->switches[sw].agent, now_ns);
}

void discovery_received(struct discovery *d, uint32_t host, const uint8_t *frame, uint32_t len,
			uint64_t now_ns)
{
	lldp_receive(d->hosts[host].agent, 0, frame, len, now_ns);
	set_pfc(&d->hosts[host]);
}

const struct lldp_agent *discovery_agent(const struct discovery *d, uint32_t sw)
{
	return d == NULL ? NULL : d->switches[sw].agent;
}

enum dcbx_state discovery_state(const struct discovery *d, uint32_t sw, unsigned port)
{
	struct dcbx_view v = {.state = DCBX_OFF};

	if (d != NULL)
		lldp_dcbx(d->switches[sw].agent, port, &v);
	return v.state;
}

uint64_t discovery_mismatches(const struct discovery *d, uint32_t sw, unsigned port)
{
	return d == NULL ? 0 : d->switches[sw].mismatches[port];
}
