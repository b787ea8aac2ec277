// SPDX-License-Identifier: Apache-2.0
#include "control/lldp/dcbx.h"

#include <string.h>

bool dcbx_follows(const struct dcbx_link *l)
{
	const struct dcbx_pfc *own = &l->local->pfc, *peer;

	if (l->peer == NULL || !l->peer->pfc.given || !own->willing)
		return false;
	peer = &l->peer->pfc;
	return !peer->willing ||
	       memcmp(l->peer_mac, l->local_mac, sizeof(l->peer_mac)) < 0;
}

uint8_t dcbx_pfc_oper(const struct dcbx_link *l)
{
	return dcbx_follows(l) ? l->peer->pfc.enable & l->possible : l->local->pfc.enable;
}

const struct dcbx_ets *dcbx_ets_oper(const struct dcbx_link *l)
{
	bool recommended = l->local->ets.willing && l->peer != NULL &&
			   l->peer->ets_recommended.given;

	return recommended ? &l->peer->ets_recommended : &l->local->ets;
}

// Selector 4 says TCP, SCTP, UDP or DCCP, selector 3 UDP or DCCP. Hosts use both.
int dcbx_roce_class(const struct dcbx_pdu *d)
{
	for (unsigned i = 0; i < d->n_apps; i++)
		if (d->app[i].protocol == UDP_ROCE &&
		    (d->app[i].selector == DCBX_UDP || d->app[i].selector == DCBX_TCP_UDP))
			return d->app[i].priority;
	return -1;
}

static bool ets_differs(const struct dcbx_ets *a, const struct dcbx_ets *b)
{
	return a->given && b->given &&
	       (memcmp(a->tc, b->tc, sizeof(a->tc)) != 0 ||
		memcmp(a->percent, b->percent, sizeof(a->percent)) != 0 ||
		memcmp(a->tsa, b->tsa, sizeof(a->tsa)) != 0);
}

unsigned dcbx_differences(const struct dcbx_link *l)
{
	unsigned found = 0;
	int own, peers;

	if (l->peer == NULL)
		return 0;
	if (!l->peer->pfc.given)
		found |= l->local->pfc.enable != 0 ? DCBX_NO_PFC_TLV : 0;
	else if (dcbx_pfc_oper(l) != l->peer->pfc.enable)
		found |= DCBX_PFC_DIFFERS;
	own = dcbx_roce_class(l->local);
	peers = dcbx_roce_class(l->peer);
	if (own >= 0 && peers >= 0 && own != peers)
		found |= DCBX_APP_DIFFERS;
	if (ets_differs(dcbx_ets_oper(l), &l->peer->ets))
		found |= DCBX_ETS_DIFFERS;
	return found;
}
