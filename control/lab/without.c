// SPDX-License-Identifier: Apache-2.0
#include "control/lab/without.h"

#include <errno.h>

#include "dataplane/policy.h"

const char *const mechanism_words[N_MECHANISMS + 1] = {
#define X(id, word, ...) [MECHANISM_##id] = #word,
	LAB_MECHANISMS(X)
#undef X
};
const char *const mechanism_off[N_MECHANISMS] = {
#define X(id, word, off) [MECHANISM_##id] = off,
	LAB_MECHANISMS(X)
#undef X
};

void mechanisms_take(struct scenario *sc, const struct cfg_words *without)
{
	sc->without_at = without->map.at;
	for (unsigned i = 0; i < without->n; i++)
		sc->without |= (uint8_t)(1 << without->items[i].n);
	sc->present = arena_alloc(sc->arena, sizeof(*sc->present));
}

// Whether it is to be taken away. `there`: it acts now, somewhere.
static bool is_off(const struct scenario *sc, unsigned mechanism, bool there)
{
	if (there)
		*sc->present |= (uint8_t)(1 << mechanism);
	return sc->without >> mechanism & 1;
}

void mechanisms_off_in_hosts(struct scenario *sc)
{
	for (uint32_t i = 0; i < sc->n_hosts; i++) {
		struct nic_config *c = &sc->hosts[i].nic;

		if (is_off(sc, MECHANISM_CC, c->cc.flavour != CC_NONE))
			c->cc.flavour = CC_NONE;
		c->ignore_pause |= is_off(sc, MECHANISM_PFC, false);
	}
}

static void off_in_queue(const struct scenario *sc, struct policy_port *pp, unsigned q)
{
	struct wred_params *wred = &pp->queue[q].wred;
	struct ipcc_params *ipcc = &pp->queue[q].ipcc;
	struct auto_ecn_params *a = &pp->auto_ecn[q];

	if (is_off(sc, MECHANISM_AUTO, a->on && a->action == ECN_ON))
		a->action = ECN_ADVISE;
	if (is_off(sc, MECHANISM_ECN, wred->enabled && wred->ecn))
		wred->ecn = false;
	if (is_off(sc, MECHANISM_IPCC, ipcc->enabled))
		ipcc->enabled = false;
}

void mechanisms_off_in_policy(const struct scenario *sc, struct policy *p)
{
	for (uint32_t i = 0; i < p->n_ports; i++) {
		struct policy_port *pp = &p->ports[i];

		if (is_off(sc, MECHANISM_PFC, (pp->pfc.tx | pp->pfc.rx) != 0))
			pp->pfc.tx = pp->pfc.rx = 0;
		if (is_off(sc, MECHANISM_WATCHDOG, pp->watchdog.classes != 0))
			pp->watchdog.classes = 0;
		if (is_off(sc, MECHANISM_TRIM, pp->trim.queues != 0))
			pp->trim.queues = 0;
		for (unsigned q = 0; q < N_QUEUES; q++)
			off_in_queue(sc, pp, q);
	}
	if (is_off(sc, MECHANISM_ELEPHANTS, p->elephants.enabled))
		p->elephants.enabled = false;
}

int mechanisms_check(const struct scenario *sc, struct diags *d)
{
	struct diag_sink s = {.file = sc->file, .document = "scenario"};
	int err = 0;

	for (unsigned i = 0; i < N_MECHANISMS; i++)
		if (sc->without & ~*sc->present & 1 << i) {
			diag_add(&s, DIAG_ERROR, sc->without_at, "without",
				 "no host and no switch has %s", mechanism_words[i]);
			err = -EINVAL;
		}
	diag_finish(&s, d);
	return err;
}
