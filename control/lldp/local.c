// SPDX-License-Identifier: Apache-2.0
#include "control/lldp/local.h"

#include <string.h>

#include "dataplane/policy.h"

static struct lldp_text lldp_text_of(const char *s)
{
	return (struct lldp_text){(const uint8_t *)s, (uint16_t)strlen(s)};
}

// Shares of the DWRR queues in whole per cent: those of the largest remainders are rounded up, so
// that the sum is 100.
static void share(const struct sched_params *s, uint8_t queues, uint8_t percent[8])
{
	uint64_t total = 0, rest[8] = {0};
	unsigned left = 100;

	for_each_bit (q, queues)
		total += s->quantum_bytes[q];
	for_each_bit (q, queues) {
		percent[q] = (uint8_t)(100ull * s->quantum_bytes[q] / total);
		rest[q] = 100ull * s->quantum_bytes[q] % total + 1;
		left -= percent[q];
	}
	for (; total != 0 && left > 0; left--) {
		unsigned most = 0;

		for (unsigned q = 1; q < 8; q++)
			if (rest[q] > rest[most])
				most = q;
		percent[most]++;
		rest[most] = 0;
	}
}

static struct dcbx_ets ets_of(const struct policy_port *pp)
{
	struct dcbx_ets e = {.given = true};
	uint8_t used = 0;

	memcpy(e.tc, pp->classify.class_to_queue, sizeof(e.tc));
	for (unsigned c = 0; c < N_CLASSES; c++)
		used |= (uint8_t)(1u << e.tc[c]);
	for_each_bit (q, used & ~pp->sched.strict)
		e.tsa[q] = DCBX_ETS;
	share(&pp->sched, used & (uint8_t)~pp->sched.strict, e.percent);
	return e;
}

static struct dcbx_pdu dcbx_of(const struct policy_port *pp)
{
	struct dcbx_pdu d = {.ets = ets_of(pp), .ets_recommended = ets_of(pp)};

	d.pfc = (struct dcbx_pfc){.given = true, .willing = pp->lldp.willing, .max = N_CLASSES,
				  .enable = pp->lldp.pfc};
	if (d.pfc.enable == 0)
		return d;
	d.app_given = true;
	d.n_apps = 1;
	d.app[0] = (struct dcbx_app){.priority = (uint8_t)__builtin_ctz(d.pfc.enable),
				     .selector = DCBX_TCP_UDP, .protocol = UDP_ROCE};
	return d;
}

// The first address of a routed port, with its family in front. room: keeps it.
static struct lldp_text management_of(const struct policy *p, uint8_t room[17])
{
	enum { IANA_IPV4 = 1, IANA_IPV6 = 2 };

	for (uint32_t i = 0; i < p->n_ports; i++) {
		const struct policy_addr *a = &p->ports[i].addrs[0];
		bool v6 = a->family == FAMILY_V6;

		if (p->ports[i].n_addrs == 0)
			continue;
		room[0] = v6 ? IANA_IPV6 : IANA_IPV4;
		memcpy(room + 1, a->ip, v6 ? 16 : 4);
		return (struct lldp_text){room, v6 ? 17 : 5};
	}
	return (struct lldp_text){0};
}

bool lldp_describe(const struct policy *p, unsigned port, const uint8_t chassis[6],
		   const uint8_t mac[6], struct lldp_local *out)
{
	const struct policy_port *pp = &p->ports[port];
	bool bridges = false;

	for (uint32_t i = 0; i < p->n_ports; i++)
		bridges |= !p->ports[i].routed;
	*out = (struct lldp_local){.pfc_auto = pp->lldp.pfc_auto, .pfc_possible = pp->lldp.pfc};
	out->pdu = (struct lldp_pdu){
		.chassis = {LLDP_CHASSIS_MAC, {chassis, 6}},
		.port = {LLDP_PORT_NAME, lldp_text_of(pp->name)},
		.port_description = lldp_text_of(pp->device),
		.system_name = lldp_text_of(p->name),
		.system_description = lldp_text_of("Weir, a lossless Ethernet switch"),
		.has_capabilities = true,
		.capabilities = LLDP_BRIDGE | LLDP_ROUTER,
		.enabled = (uint16_t)((bridges ? LLDP_BRIDGE : 0) |
				      (p->routes.any ? LLDP_ROUTER : 0)),
		.management = management_of(p, out->address),
		.dcbx = dcbx_of(pp),
	};
	memcpy(out->pdu.mac, mac, sizeof(out->pdu.mac));
	return pp->lldp.on;
}

static uint8_t allowed(const struct policy_port *pp, const struct lldp_agent *a, unsigned port)
{
	if (a == NULL)
		return pp->lldp.pfc_auto ? 0 : UINT8_MAX;
	return lldp_pfc_allowed(a, port, pp->lldp.pfc_auto);
}

void lldp_narrow_pfc(struct policy *p, const struct lldp_agent *a)
{
	for (uint32_t i = 0; i < p->n_ports; i++) {
		p->ports[i].pfc.tx &= allowed(&p->ports[i], a, i);
		p->ports[i].pfc.rx &= allowed(&p->ports[i], a, i);
	}
}

bool lldp_pfc_has_changed(const struct policy *p, const struct lldp_agent *a)
{
	for (uint32_t i = 0; i < p->n_ports; i++) {
		const struct policy_port *pp = &p->ports[i];

		if ((pp->pfc.tx & pp->lldp.pfc) != (pp->lldp.pfc & allowed(pp, a, i)))
			return true;
	}
	return false;
}
