// SPDX-License-Identifier: Apache-2.0
// Sentences about a policy that is right, for those who start it.
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "control/config/config.h"
#include "control/config/port_open.h"
#include "dataplane/base/bits.h"
#include "dataplane/policy.h"
#include "drivers/live.h"

const char *config_flood_note(const struct policy *p, char *out, size_t out_len)
{
	uint8_t classes = 0;
	int at;

	for (unsigned i = 0; i < p->n_ports; i++)
		if (!p->ports[i].routed)
			classes |= p->ports[i].no_flood;
	if (classes == 0)
		return NULL;
	at = snprintf(out, out_len, "not flooded, because lossless: class");
	for_each_bit (cls, classes)
		at += snprintf(out + at, out_len - (size_t)at, " %u", cls);
	snprintf(out + at, out_len - (size_t)at,
		 "; the switch drops their frames to unknown addresses (lossless-unknown)");
	return out;
}

enum { NAMED = 4 };

// The interface of a port that weir needs at its start and that is not there; NULL: there is none.
static const char *missing_interface(const struct config *c, unsigned port)
{
	const struct config_port_open p = config_port(c, port);

	if (strncmp(p.device, "xdp:", 4) != 0 || p.optional || if_nametoindex(p.device + 4) != 0)
		return NULL;
	return p.device + 4;
}

const char *config_missing_note(const struct config *c, char *out, size_t out_len)
{
	char names[NAMED * (IF_NAMESIZE + 2)] = "", more[32] = "";
	unsigned n = 0;

	for (unsigned i = 0; i < config_n_ports(c); i++) {
		const char *name = missing_interface(c, i);

		if (name != NULL && n++ < NAMED)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%.*s",
				 n == 1 ? "" : ", ", IF_NAMESIZE, name);
	}
	if (n == 0)
		return NULL;
	if (n > NAMED)
		snprintf(more, sizeof(more), " and %u more", n - NAMED);
	snprintf(out, out_len,
		 "weir cannot start here now, because there is no interface %s%s; `ip link` lists "
		 "the interfaces",
		 names, more);
	return out;
}

const char *config_speed_note(const struct config *c, const struct policy *p, char *out,
			      size_t out_len)
{
	static const uint64_t fast_bps = 10000000000, slow_bps = 100000000;
	uint64_t scale = config_time_scale(c), fastest = 0;
	unsigned n = 0;
	size_t at = 0;

	for (unsigned i = 0; i < p->n_ports; i++) {
		if (p->ports[i].speed_bps / scale < fast_bps ||
		    !live_device_has_no_card(p->ports[i].device))
			continue;
		if (n++ < NAMED)
			at += (size_t)snprintf(out + at, out_len - at, "%s%s", n == 1 ? "" : ", ",
					       p->ports[i].name);
		if (p->ports[i].speed_bps > fastest)
			fastest = p->ports[i].speed_bps;
	}
	if (n == 0)
		return NULL;
	if (n > NAMED)
		at += (size_t)snprintf(out + at, out_len - at, " and %u more", n - NAMED);
	snprintf(out + at, out_len - at,
		 " %s no card, and a processor carries a few gigabits: with switch.time_scale: "
		 "%" PRIu64 " queues, PFC and ECN are those of the speed, in slow motion "
		 "(docs/time-scale.md)",
		 n == 1 ? "has" : "have", fastest / slow_bps);
	return out;
}
