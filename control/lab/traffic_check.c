// SPDX-License-Identifier: Apache-2.0
// What flows must ask of the switches' policies: how long packets may be, and whether the frames
// of a class are taken for that class.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "control/lab/traffic_int.h"
#include "dataplane/policy.h"
#include "drivers/nic/payload.h"
#include "drivers/nic/roce_build.h"
#include "drivers/nic/tcp_build.h"

// IP packet of a payload, with the longest extension header.
enum { IP_EXTRA = ROCE_MIN_LEN - 14 + 16, NO_SWITCH_MTU = 9216 };

static const uint16_t path_mtus[] = {4096, 2048, 1024, 512, 256};

// The smallest IP MTU of all ports.
struct narrowest {
	uint32_t mtu, sw, port;
};

static struct narrowest find_narrowest(const struct fabric *f)
{
	struct narrowest n = {.mtu = NO_SWITCH_MTU};

	for (uint32_t s = 0; s < f->sc->n_switches; s++) {
		const struct config *c = f->switches[s].config;

		for (uint32_t p = 0; p < config_n_ports(c); p++) {
			uint32_t mtu = config_port(c, p).mtu;

			if (mtu < n.mtu)
				n = (struct narrowest){mtu, s, p};
		}
	}
	return n;
}

// IP and transport headers of a packet, and the payload of one that fits.
static uint32_t extra_of(const struct lab_flow *f)
{
	return flow_is_tcp(f) ? TCP_HEADERS - 14 : IP_EXTRA;
}

static uint16_t payload_that_fits(const struct lab_flow *f, uint32_t mtu)
{
	if (flow_is_tcp(f))
		return (uint16_t)(mtu > extra_of(f) + PAYLOAD_MAX ? PAYLOAD_MAX
								  : mtu - extra_of(f));
	for (unsigned i = 0; i < sizeof(path_mtus) / sizeof(path_mtus[0]); i++)
		if (path_mtus[i] + extra_of(f) <= mtu)
			return path_mtus[i];
	return 0;
}

static void check_packets(const struct fabric *fabric, struct lab_flow *f,
			  const struct narrowest *n, struct diag_sink *s)
{
	const struct scenario *sc = fabric->sc;
	const struct config *c = sc->n_switches != 0 ? fabric->switches[n->sw].config : NULL;
	const char *port = c != NULL ? config_port(c, n->port).name : "";
	const char *sw = c != NULL ? sc->switches[n->sw].name : "";

	if (f->payload == 0)
		f->payload = payload_that_fits(f, n->mtu);
	if (f->payload == 0)
		diag_add(s, DIAG_ERROR, f->map.at, f->map.path,
			 "the MTU of %u B of %s.%s is too small for any packet of 256 B: raise it, "
			 "or give the flow an mtu", n->mtu, sw, port);
	else if (f->payload + extra_of(f) > n->mtu)
		diag_add(s, DIAG_ERROR, f->mtu.at, arena_printf(sc->arena, "%s.mtu", f->map.path),
			 "packets of %u B need an IP MTU of %u, and %s.%s has %u: at most %d B fit",
			 f->payload, f->payload + extra_of(f), sw, port, n->mtu,
			 (int)(n->mtu - extra_of(f)));
}

// A policy may map a flow's DSCP to another class, which is seldom meant.
static void check_class(const struct fabric *fabric, const struct lab_flow *f, struct diag_sink *s)
{
	uint8_t dscp = flow_dscp(f);

	for (uint32_t i = 0; i < fabric->sc->n_switches; i++) {
		const struct policy *p = fabric->switches[i].policy;

		for (uint32_t k = 0; k < p->n_ports; k++) {
			const struct classify_params *map = &p->ports[k].classify;
			uint8_t cls = map->trust == TRUST_DSCP ? map->dscp_to_class[dscp]
							       : map->default_class;

			if (cls == f->cls.n)
				continue;
			diag_add(s, DIAG_WARNING, f->cls.given ? f->cls.at : f->map.at,
				 arena_printf(fabric->sc->arena, "%s.class", f->map.path),
				 "its frames carry DSCP %u, which %s takes for class %u: give the "
				 "flow a `dscp` of class %u", dscp,
				 fabric->sc->switches[i].name, cls, (unsigned)f->cls.n);
			return;
		}
	}
}

int traffic_check(struct traffic *t, const struct fabric *f, struct diag_sink *s)
{
	struct narrowest n = find_narrowest(f);
	unsigned before = s->n_errors;

	for (uint32_t i = 0; i < t->sc->n_flows; i++) {
		check_packets(f, &t->sc->flows[i], &n, s);
		check_class(f, &t->sc->flows[i], s);
	}
	return s->n_errors == before ? 0 : -EINVAL;
}
