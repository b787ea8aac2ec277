// SPDX-License-Identifier: Apache-2.0
#include "dataplane/switch_vxlan.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "dataplane/policy.h"
#include "dataplane/vxlan.h"

// Control's side of the tunnels of a switch; made with the first policy that has any.
struct tunnels {
	uint64_t moved[2]; // bitmap of peers that got another address with the present policy
	struct vxlan_peer_counters base[VTEP_MAX_PEERS]; // when the peer got its address
	uint8_t peers[VTEP_MAX_PEERS][16]; // of that policy
	bool v6;
};

static void store_vtep_peers(struct tunnels *t, const struct vtep *v)
{
	memset(t->peers, 0, sizeof(t->peers));
	t->v6 = v != NULL && v->v6;
	if (v != NULL)
		memcpy(t->peers, v->peers, v->n_peers * sizeof(v->peers[0]));
}

int vxlan_prepare(struct weir_switch *sw, const struct policy *p)
{
	if (p->vtep == NULL || sw->tunnels != NULL)
		return 0;
	for (unsigned i = 0; i < sw->n_workers; i++) {
		struct worker_vxlan **w = &sw->workers[i]->vxlan;

		if (*w == NULL)
			*w = rte_zmalloc("vxlan", sizeof(**w), 64);
		if (*w == NULL)
			return -ENOMEM;
	}
	sw->tunnels = rte_zmalloc("tunnels", sizeof(*sw->tunnels), 64);
	if (sw->tunnels == NULL)
		return -ENOMEM;
	store_vtep_peers(sw->tunnels, p->vtep);
	return 0;
}

void vxlan_free(struct weir_switch *sw)
{
	for (unsigned i = 0; i < sw->n_workers && sw->workers[i] != NULL; i++)
		rte_free(sw->workers[i]->vxlan);
	rte_free(sw->tunnels);
}

// ---- counters

static void add_tunnel_counters(void *to, const void *from, size_t bytes, bool less)
{
	for (size_t i = 0; i < bytes / sizeof(ctr_t); i++) {
		uint64_t v = ctr_get((const ctr_t *)from + i);

		ctr_add((ctr_t *)to + i, less ? 0 - v : v);
	}
}

static void sum_peer(const struct weir_switch *sw, unsigned peer, struct vxlan_peer_counters *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < sw->n_workers; i++)
		if (sw->workers[i]->vxlan != NULL)
			add_tunnel_counters(out, &sw->workers[i]->vxlan->peer[peer], sizeof(*out),
					    false);
}

void switch_vxlan_peer(const struct weir_switch *sw, unsigned peer,
		       struct vxlan_peer_counters *out)
{
	sum_peer(sw, peer, out);
	if (sw->tunnels != NULL)
		add_tunnel_counters(out, &sw->tunnels->base[peer], sizeof(*out), true);
}

void switch_vxlan_totals(const struct weir_switch *sw, struct vxlan_counters *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < sw->n_workers; i++)
		if (sw->workers[i]->vxlan != NULL)
			add_tunnel_counters(out, &sw->workers[i]->vxlan->all, sizeof(*out), false);
}

// ---- another policy
//
// A place in the table of peers may get another address, or none. The addresses learnt there are
// forgotten at once, and again when no worker has the old policy any more: until then workers
// report what they learn under the old table.

void vxlan_before_publish(struct weir_switch *sw, const struct vtep *v)
{
	struct tunnels *t = sw->tunnels;
	struct tunnels before;

	if (t == NULL)
		return;
	before = *t;
	store_vtep_peers(t, v);
	for (unsigned i = 0; i < VTEP_MAX_PEERS; i++) {
		if (t->v6 == before.v6 &&
		    memcmp(t->peers[i], before.peers[i], sizeof(t->peers[i])) == 0)
			continue;
		fdb_flush_port(&sw->fdb, (port_no_t)(VTEP_FIRST + i));
		sum_peer(sw, i, &t->base[i]);
		t->moved[i / 64] |= 1ull << i % 64;
	}
}

void vxlan_control(struct weir_switch *sw)
{
	struct tunnels *t = sw->tunnels;

	if (t == NULL || (t->moved[0] | t->moved[1]) == 0 ||
	    !switch_grace_over(sw, sw->static_token))
		return;
	for (unsigned i = 0; i < VTEP_MAX_PEERS; i++)
		if (t->moved[i / 64] >> i % 64 & 1)
			fdb_flush_port(&sw->fdb, (port_no_t)(VTEP_FIRST + i));
	t->moved[0] = t->moved[1] = 0;
}
