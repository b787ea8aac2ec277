// SPDX-License-Identifier: Apache-2.0
#include "dataplane/flood.h"

#include <rte_hash_crc.h>

#include "dataplane/bridging.h"
#include "dataplane/fate.h"
#include "dataplane/forward/bridge.h"
#include "dataplane/units.h"

// ---- copies

static bool may_flood_to(const struct worker *w, unsigned port, unsigned in_port, unsigned vid)
{
	return port != in_port && !w->pol->ports[port].routed &&
	       !atomic_load_explicit(&w->sw->want.down[port], memory_order_relaxed) &&
	       bridge_member(w->pol, port, vid);
}

static unsigned ports_of(const struct worker *w, const struct frame *f, unsigned vid,
			 uint8_t ports[POLICY_MAX_PORTS])
{
	unsigned n = 0;

	for (unsigned port = 0; port < w->sw->n_ports; port++)
		if (may_flood_to(w, port, f->in_port, vid))
			ports[n++] = (uint8_t)port;
	return n;
}

static void leave(struct worker *w, struct frame *f)
{
	fate_forwarded_alone(w, f);
	ingress_hand_over_one(w, f);
}

// Of a frame whose payload is not stored (the lab's) there is less to copy than its length says.
static struct rte_mbuf *copy_of(const struct worker *w, const struct rte_mbuf *m)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(m, w->sw->pool, 0, m->data_len);

	if (copy != NULL) {
		copy->pkt_len = m->pkt_len;
		copy->hash.rss = FLOW_NONE;
	}
	return copy;
}

// One copy of a frame that was charged. The frame is edited for its port here.
static void deliver(struct worker *w, struct port *p, struct frame *f, unsigned vid, bool tagged,
		    const struct pkt_info *pkt)
{
	if (f->m == NULL)
		fate_dropped(w, p, f, DROP_NO_MBUF);
	else if (bridging_make_ready(w, p, f, vid, tagged, pkt))
		return leave(w, f);
	replica_gone(w, f);
}

// Every port gets a frame of its own: drivers that share the pool cannot send clones. The copies
// are made before the original is edited; the original leaves by the first port.
static void replicate(struct worker *w, struct port *p, struct frame *f, const uint8_t *ports,
		      unsigned n, unsigned vid, bool tagged, const struct pkt_info *pkt)
{
	replica_add(w, n); // a record, and copies beyond the first
	if (!admission_replicated(w, p, f, n)) {
		replica_remove(w, n);
		return;
	}
	if (!replica_make(w, f, n)) {
		replica_remove(w, n);
		admission_release(w, f->in_port, f->pg, f->cells);
		fate_dropped(w, p, f, DROP_NO_MBUF);
		return;
	}
	for (unsigned i = 1; i < n; i++) {
		struct frame copy = *f;

		ctr_inc(&p->c.replicated);
		copy.m = copy_of(w, f->m);
		copy.out_port = ports[i];
		deliver(w, p, &copy, vid, tagged, pkt);
	}
	deliver(w, p, f, vid, tagged, pkt);
}

// ---- frames that are not flooded

static struct reported *reported_set(const struct weir_switch *sw, uint64_t key)
{
	return &sw->reported[rte_hash_crc_8byte(key, 0) % REPORTED_SETS * sw->n_ports];
}

void flood_note_report(struct worker *w, uint64_t key, unsigned port)
{
	struct reported *h = &reported_set(w->sw, key)[port];

	atomic_store_explicit(&h->key, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&h->t_ns, w->now_ns, memory_order_relaxed);
	atomic_store_explicit(&h->key, key, memory_order_release);
}

// When the port reported the address. 0: it did not, or the slot changes meanwhile.
static uint64_t reported_ns(const struct reported *h, uint64_t key)
{
	uint64_t t_ns;

	if (atomic_load_explicit(&h->key, memory_order_acquire) != key)
		return 0;
	t_ns = atomic_load_explicit(&h->t_ns, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&h->key, memory_order_relaxed) == key ? t_ns : 0;
}

// Control enters an address milliseconds after a station has spoken, and an answer to ARP is
// followed at once by the first lossless frame. Of several ports the latest counts.
static bool is_reported(const struct worker *w, struct frame *f, uint64_t key, unsigned vid)
{
	const struct reported *set = reported_set(w->sw, key);
	uint64_t latest_ns = 0;

	for (unsigned port = 0; port < w->sw->n_ports; port++) {
		uint64_t t_ns = reported_ns(&set[port], key);

		if (t_ns > latest_ns && w->now_ns < t_ns + REPORTED_NS &&
		    may_flood_to(w, port, f->in_port, vid)) {
			latest_ns = t_ns;
			f->out_port = (uint8_t)port;
		}
	}
	return latest_ns != 0;
}

bool flood_refused(struct worker *w, struct port *p, struct frame *f, unsigned vid, bool group)
{
	uint64_t key = fdb_key_in_frame(rte_pktmbuf_mtod(f->m, const uint8_t *), (uint16_t)vid);

	if (!group && is_reported(w, f, key, vid))
		return false;
	ctr_inc(&p->c.lossless_unknown);
	if (p->unknown_said_ns == 0 || w->now_ns - p->unknown_said_ns >= SECOND_NS) {
		p->unknown_said_ns = w->now_ns;
		worker_event(w, EVENT_LOSSLESS_UNKNOWN, f->in_port, f->cls, vid, key >> 16);
	}
	fate_dropped(w, p, f, DROP_LOSSLESS_UNKNOWN);
	return true;
}

// ---- storm control: how many frames per second of a port are replicated

// BPDUs have a bucket of their own at the rate of multicast: a flood of multicast must not take
// away the frames that would end a loop. A port without a rate for multicast has a fixed rate for
// BPDUs: BPDUs leave in the highest lossy class of all ports.
//
// A bridge sends at most ten BPDUs per second by a port (802.1Q, TxHoldCount).
static const struct policer_params bpdu_default = { // 1,000 per second, 250 at once
	.interval_ns = 1000000, .burst_ns = 250000000};

static enum limit_kind kind_of(const struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *dst = rte_pktmbuf_mtod(f->m, const uint8_t *);

	if (!pkt->group_dst)
		return LIMIT_UNKNOWN_UNICAST;
	return be32_get(dst) == UINT32_MAX && be16_get(dst + 4) == UINT16_MAX ? LIMIT_BROADCAST
									      : LIMIT_MULTICAST;
}

bool flood_is_limited(struct worker *w, struct port *p, const struct frame *f,
		      const struct pkt_info *pkt)
{
	enum limit_kind kind = kind_of(f, pkt);
	const struct policer_params *rate = &p->pol->limit[kind];
	bool bpdu = pkt->reserved_dst == DST_STP;

	if (bpdu && rate->interval_ns == 0)
		rate = &bpdu_default;
	if (policer_take(rate, bpdu ? &p->storm_bpdu : &p->storm[kind], w->now_ns))
		return false;
	ctr_inc(&p->c.limited[kind]);
	return true;
}

// ---- flooding

void flood(struct worker *w, struct port *p, struct frame *f, unsigned vid, bool tagged,
	   const struct pkt_info *pkt)
{
	uint8_t ports[POLICY_MAX_PORTS];
	unsigned n = ports_of(w, f, vid, ports);

	if (n == 0) {
		fate_dropped(w, p, f, DROP_NO_EGRESS);
		return;
	}
	// Of copies no flow is known, and they are no answers; but each may be the READ request
	// that a response is for, which must not seem to be for another.
	f->m->hash.rss = FLOW_NONE;
	f->answer = f->answer && flows_is_request(pkt);
	f->out_port = ports[0];
	f->queue = w->pol->ports[ports[0]].classify.class_to_queue[f->cls]; // for the cause
	if (n > 1)
		replicate(w, p, f, ports, n, vid, tagged, pkt);
	else if (bridging_make_ready(w, p, f, vid, tagged, pkt) && admission_of_one(w, p, f))
		leave(w, f);
}
