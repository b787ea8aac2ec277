// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/feature_pairs.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "dataplane/forward/vtep.h"
#include "dataplane/policy.h"
#include "dataplane/qos/pfc.h"

static const char *const name[N_FEATURES] = {
#define X(id, text) [FEATURE_##id] = text,
	FEATURES(X)
#undef X
};

// ---- what a policy says

static uint32_t bit_if(bool on, enum feature f)
{
	return on ? feature_bit(f) : 0;
}

static bool has_remark(const struct classify_params *c)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (c->remark_pcp[cls] != REMARK_NONE || c->remark_dscp[cls] != REMARK_NONE)
			return true;
	return false;
}

static uint32_t features_of_queues(const struct policy_port *p)
{
	uint32_t all = 0;

	for (unsigned q = 0; q < N_QUEUES; q++)
		all |= bit_if(p->queue[q].ipcc.enabled, FEATURE_IPCC) |
		       bit_if(p->auto_ecn[q].on, FEATURE_AUTO_ECN);
	return all;
}

// A PAUSE that is repeated by the time of what may go before it, and not at half of its life.
static bool pauses_shortly(const struct pfc_params *p)
{
	return p->tx != 0 && p->refresh_ns < p->lifetime_ns / 2;
}

static uint32_t features_of_port(const struct policy_port *p)
{
	bool limited = false;

	for (unsigned kind = LIMIT_BROADCAST; kind < N_LIMIT_KINDS; kind++)
		limited |= p->limit[kind].interval_ns != 0;
	return features_of_queues(p) | bit_if(limited, FEATURE_STORM_CONTROL) |
	       bit_if(p->loop.on, FEATURE_LOOP_DETECT) | bit_if(p->sticky, FEATURE_STICKY) |
	       bit_if(p->guard.group != 0, FEATURE_GUARD) |
	       bit_if(p->watchdog.classes != 0, FEATURE_WATCHDOG) |
	       bit_if(p->trim.queues != 0, FEATURE_TRIM) |
	       bit_if(has_remark(&p->classify), FEATURE_REMARK) |
	       bit_if((p->classify.lossless & (uint8_t)~p->no_flood) != 0, FEATURE_FLOOD) |
	       bit_if(pauses_shortly(&p->pfc), FEATURE_SHORT_PAUSE);
}

uint32_t features_of_policy(const struct policy *p)
{
	uint32_t all = bit_if(p->n_svis != 0, FEATURE_SVI) |
		       bit_if(p->elephants.enabled, FEATURE_ELEPHANTS) |
		       bit_if(p->microbursts.window_ns != 0, FEATURE_MICROBURSTS);

	if (p->vtep != NULL && p->vtep->here)
		all |= feature_bit(FEATURE_VXLAN) |
		       bit_if(p->vtep->class_by_inner, FEATURE_INNER_TRUST);
	for (unsigned i = 0; i < p->n_ports; i++)
		all |= features_of_port(&p->ports[i]);
	return all;
}

// ---- pairs

void feature_pairs_count(struct feature_pairs *p, uint32_t in_force)
{
	for (unsigned a = 0; a < N_FEATURES; a++)
		for (unsigned b = a + 1; (in_force >> a & 1) && b < N_FEATURES; b++)
			p->seen[a][b] += in_force >> b & 1;
}

unsigned feature_pairs_report(const struct feature_pairs *p, bool all)
{
	unsigned n = 0, least_a = 0, least_b = 1;

	for (unsigned a = 0; a < N_FEATURES; a++)
		for (unsigned b = a + 1; b < N_FEATURES; b++) {
			n += p->seen[a][b] != 0;
			if (all && p->seen[a][b] == 0)
				print_message("never together: %s, %s\n", name[a], name[b]);
			if (p->seen[a][b] < p->seen[least_a][least_b]) {
				least_a = a;
				least_b = b;
			}
		}
	print_message("%u of %u pairs of features, the rarest %lu times: %s, %s\n", n,
		      N_FEATURE_PAIRS, p->seen[least_a][least_b], name[least_a], name[least_b]);
	return n;
}
