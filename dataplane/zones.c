// SPDX-License-Identifier: Apache-2.0
#include "dataplane/zones.h"

#include "dataplane/base/units.h"
#include "dataplane/bridging.h"
#include "dataplane/fate.h"
#include "dataplane/forward/bridge.h"
#include "dataplane/forward/route.h"
#include "dataplane/ingress.h"

static bool is_forbidden(const struct zone_table *t, const struct frame *f)
{
	return zone_forbids(t, rte_pktmbuf_mtod(f->m, const uint8_t *), f->kind, f->l3_off);
}

// A bitmap of the frames of IPv4 that are forbidden. *others: of the frames that are no IPv4. Most
// frames are, so the loop is for these alone, and calls nothing.
static force_inline uint32_t forbidden_v4(const struct zone_table *t, const struct burst *b,
					  uint32_t *others)
{
	const struct frame *end = &b->frames[b->n_in];
	uint32_t forbidden = 0;

	for (const struct frame *f = b->frames; f != end; f++) {
		if (unlikely(f->kind != PKT_IPV4))
			*others |= 1u << (f - b->frames);
		else if (unlikely(zone_forbids(t, rte_pktmbuf_mtod(f->m, const uint8_t *),
					       PKT_IPV4, f->l3_off)))
			forbidden |= 1u << (f - b->frames);
	}
	return forbidden;
}

static bool is_exempt(const struct frame *f, const struct pkt_info *pkt)
{
	return zone_is_exempt(rte_pktmbuf_mtod(f->m, const uint8_t *), f->m->data_len, pkt);
}

// ---- the way of a frame that zones forbid

// Where the address is, or was until its link went down.
static port_no_t port_of_station(const struct worker *w, uint64_t key)
{
	port_no_t at = fdb_lookup(&w->sw->fdb, w->fdb_cache, key);

	return at == FDB_NO_PORT ? fdb_stale_port(&w->sw->fdb, key) : at;
}

// The port of the next hop. FDB_NO_PORT: there is none, or it is one of several.
static port_no_t routed_to(const struct worker *w, const struct frame *f)
{
	const uint8_t *l3 = rte_pktmbuf_mtod(f->m, const uint8_t *) + f->l3_off;
	const struct route_table *t = w->pol->table;
	uint64_t adj;

	if (f->kind == PKT_OTHER || t == NULL)
		return FDB_NO_PORT;
	adj = f->kind == PKT_IPV4
		      ? route_resolve(t, w->l3->neighbours, route_lookup_v4(t, be32_get(l3 + 16)),
				      ip_key_v4(be32_get(l3 + 16)))
		      : route_resolve(t, w->l3->neighbours, route_lookup_v6(t, l3 + 24),
				      ip_key_v6(l3 + 24));
	if (adj_state(adj) == ADJ_KNOWN)
		return adj_port(adj);
	if (adj_state(adj) != ADJ_VLAN)
		return FDB_NO_PORT;
	return port_of_station(w, (adj & ~0xffffull) | w->pol->svis[adj_port(adj) - IFACE_SVI].vid);
}

static port_no_t leads_to(const struct worker *w, const struct port *p, const struct frame *f,
			const struct pkt_info *pkt)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	port_no_t at = FDB_ROUTER;
	bool tagged;
	int vid;

	if (!p->pol->routed) {
		vid = bridge_ingress_vid(w->pol, p->no, eth, pkt, &tagged);
		at = vid < 0 ? FDB_NO_PORT
			     : port_of_station(w, fdb_key_in_frame(eth, (uint16_t)vid));
	}
	return at == FDB_ROUTER ? routed_to(w, f) : at;
}

// The frame goes on, because a host is not where it registered.
static void say_stray(struct worker *w, struct port *p, const struct frame *f,
		      struct zone_way way, const struct zone_stray *stray)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	port_no_t port = stray->is_source ? way.in : way.out;
	uint64_t key = fdb_key(stray->is_source ? eth + ETH_ALEN_ : eth, 0);

	if (stray->at == 0 || port >= POLICY_MAX_PORTS ||
	    (p->zone_said_ns != 0 && w->now_ns - p->zone_said_ns < SECOND_NS))
		return;
	p->zone_said_ns = w->now_ns;
	worker_event(w, EVENT_INOF_ELSEWHERE, port, CLASS_NONE,
		     event_mac_a(0, (port_no_t)(stray->at - 1)), event_mac_b(key >> 16, 0));
}

static bool is_forbidden_on(struct worker *w, struct port *p, const struct frame *f,
			    struct zone_way way)
{
	struct zone_stray stray;

	if (zone_forbids_on(w->zones, rte_pktmbuf_mtod(f->m, const uint8_t *), f->kind, f->l3_off,
			    way, &stray))
		return true;
	say_stray(w, p, f, way, &stray);
	return false;
}

// False: the frame goes on after all.
static bool ends(struct worker *w, struct port *p, struct frame *f, const struct pkt_info *pkt)
{
	enum drop_reason why = N_DROP_REASONS;

	if (is_exempt(f, pkt) ||
	    !is_forbidden_on(w, p, f, (struct zone_way){p->no, leads_to(w, p, f, pkt)}))
		return false;
	if (!p->pol->routed)
		why = bridging_learn(w, p, f, pkt);
	fate_dropped(w, p, f, why == N_DROP_REASONS ? DROP_ZONE : why);
	return true;
}

static void move_in_burst(struct burst *b, unsigned from, unsigned to)
{
	b->frames[to] = b->frames[from];
	b->unparsed &= ~(1u << to);
	if (b->unparsed >> from & 1)
		b->unparsed |= 1u << to;
	else
		b->pkts[to] = b->pkts[from];
}

static void take_out_forbidden(struct worker *w, struct burst *b, uint32_t forbidden)
{
	uint16_t n = 0;

	for (unsigned i = 0; i < b->n_in; i++) {
		struct frame *f = &b->frames[i];

		if ((forbidden >> i & 1) &&
		    ends(w, worker_port(w, f->in_port), f, burst_pkt(b, i)))
			continue;
		if (n != i)
			move_in_burst(b, i, n);
		n++;
	}
	b->n_in = n;
}

void zones_burst(struct worker *w, struct burst *b)
{
	uint32_t others = 0, forbidden = forbidden_v4(w->zones, b, &others);

	for (unsigned i = 0; others != 0 && i < b->n_in; i++)
		if ((others >> i & 1) && is_forbidden(w->zones, &b->frames[i]))
			forbidden |= 1u << i;
	if (unlikely(forbidden != 0))
		take_out_forbidden(w, b, forbidden);
}

bool zones_pass(struct worker *w, struct port *p, struct frame *f, const struct pkt_info *pkt,
		port_no_t peer)
{
	if (!is_forbidden(w->zones, f) || is_exempt(f, pkt) ||
	    !is_forbidden_on(w, p, f, (struct zone_way){peer, f->out_port}))
		return true;
	fate_dropped(w, p, f, DROP_ZONE);
	return false;
}
