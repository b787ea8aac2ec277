// SPDX-License-Identifier: Apache-2.0
#include "control/lab/discovery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/fabric.h"
#include "control/lldp/agent.h"

struct speaker {
	struct fabric *f;
	uint32_t i;
	struct lldp_agent *agent; // NULL: it does not speak
};

struct discovery {
	struct fabric *f;
	struct speaker *hosts;
};

// ---- what they say, and how it leaves
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

static int make_speaker(struct fabric *f, uint32_t i, struct speaker *s)
{
	static const struct lldp_agent_ops ops = {host_says, host_sends, host_event};

	*s = (struct speaker){.f = f, .i = i};
	if (!f->sc->hosts[i].lldp.on)
		return 0;
	if (lldp_agent_create(1, &ops, s, &s->agent) != 0)
		return -ENOMEM;
	lldp_local_changed(s->agent, 0);
	set_pfc(s);
	return 0;
}

int discovery_create(struct fabric *f, struct discovery **out)
{
	const struct scenario *sc = f->sc;
	struct discovery *d;
	uint32_t first = 0;
	int err = 0;

	while (first < sc->n_hosts && !sc->hosts[first].lldp.on)
		first++;
	if (first == sc->n_hosts)
		return 0;
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return -ENOMEM;
	*out = d;
	d->f = f;
	d->hosts = calloc(sc->n_hosts, sizeof(d->hosts[0]));
	if (d->hosts == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < sc->n_hosts && err == 0; i++)
		err = make_speaker(f, i, &d->hosts[i]);
	return err;
}

void discovery_destroy(struct discovery *d)
{
	if (d == NULL)
		return;
	for (uint32_t i = 0; d->hosts != NULL && i < d->f->sc->n_hosts; i++)
		lldp_agent_destroy(d->hosts[i].agent);
	free(d->hosts);
	free(d);
}

// ---- running
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
}

void discovery_received(struct discovery *d, uint32_t host, const uint8_t *frame, uint32_t len,
			uint64_t now_ns)
{
	lldp_receive(d->hosts[host].agent, 0, frame, len, now_ns);
	set_pfc(&d->hosts[host]);
}
