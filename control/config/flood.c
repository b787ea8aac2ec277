// SPDX-License-Identifier: Apache-2.0
#include "control/config/flood.h"

#include <stdio.h>

#include "control/config/check.h"
#include "control/config/config.h"

bool flood_is_on(const struct cfg_class *c)
{
	return c->flood.given ? c->flood.n != 0 : !c->lossless.n;
}

void flood_check(const struct cfg_profile *p, struct diag_sink *s)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		const struct cfg_class *c = &p->classes[cls];

		if (!flood_is_on(c) && !c->lossless.n)
			check_report(s, DIAG_ERROR, &c->map, "flood", c->flood.at,
				     "a lossy class is always flooded, it also carries ARP"
				     CURE "remove it, or use vlans[].flood for unknown unicast");
	}
}

// Frames of one port that can arrive while no cell is free for their copies: those that arrive
// after a PAUSE. No group leaves XOFF in that state.
static uint64_t frames_after_pause(const struct policy_port *p)
{
	uint8_t classes = p->classify.lossless & (uint8_t)~p->no_flood, groups = 0;
	uint64_t n = 0;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (classes >> cls & 1)
			groups |= (uint8_t)(1u << p->classify.class_to_pg[cls]);
	for (unsigned g = 0; g < N_PGS; g++)
		n += groups >> g & 1 ? p->pg[g].xoff_cells : 0;
	return groups == 0 ? 0 : n + p->skid_cells / p->skid_frame_cells;
}

// With a record a flooded frame takes as many frames of memory more as it leaves by ports.
void compile_flood(struct compiler *k)
{
	struct policy *pol = k->p;
	uint64_t frames = 0, ports = 0;

	for (unsigned i = 0; i < pol->n_ports; i++) {
		struct policy_port *p = &pol->ports[i];

		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			if (!flood_is_on(&k->c->ports[i].profile->classes[cls]))
				p->no_flood |= (uint8_t)(1u << cls);
		if (p->routed)
			continue;
		frames += frames_after_pause(p);
		ports++;
	}
	frames *= ports > 2 ? ports - 1 : 0;
	pol->copy_frames = frames < INT32_MAX ? (uint32_t)frames : INT32_MAX;
}

const char *config_flood_note(const struct policy *p, char *out, size_t out_len)
{
	uint8_t classes = 0;
	int at;

	for (unsigned i = 0; i < p->n_ports; i++)
		if (!p->ports[i].routed)
			classes |= p->ports[i].no_flood;
	if (classes == 0)
		return NULL;
	at = snprintf(out, out_len, "not flooded, being lossless: class");
	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (classes >> cls & 1)
			at += snprintf(out + at, out_len - (size_t)at, " %u", cls);
	snprintf(out + at, out_len - (size_t)at,
		 "; frames to unknown addresses are dropped there (lossless-unknown)");
	return out;
}
