// SPDX-License-Identifier: Apache-2.0
// RoCEv2 flows where they arrive (roce/flow.h, roce/flow_seal.h): found or made in a burst that was
// received, and counted. Runs on the worker that owns the port of arrival. How they leave:
// worker_flows_out.c.
#include <string.h>

#include "dataplane/packet/tags.h"
#include "dataplane/roce/flow_seal.h"
#include "dataplane/roce/pairing.h"
#include "dataplane/switch_impl.h"

enum {
	MOVED_NS = 10000000, // a flow that was silent for so long may come by another port
	READ_PSN_BYTES = 256, // the smallest path MTU: more PSNs no answer needs
	READ_PSNS_MAX = 1 << 22, // serial arithmetic ends at 2^23
};


enum { KIND_UNKNOWN = 0xff }; // no flow's

// A frame of a flow, between the stages of a burst.
struct __attribute__((aligned(64))) member {
	struct flow_key key; // sealed
	uint32_t hash;
	uint32_t guess; // what the entry's index may be
	uint8_t frame; // of the burst
	uint8_t role; // enum roce_role
	bool again; // the same flow as the member before
};

struct members {
	unsigned n;
	struct member m[BURST];
};

static void hear_arrival(struct worker *w, struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(f->m, const uint8_t *);
	struct pair_answer a;
	struct roce_msg msg;

	if (!roce_msg_read(bytes, f->m->data_len, pkt, &msg))
		return;
	a = flows_answer(w, f, pkt, &msg);
	pairing_management(w->flows->pairing, &a, true, w->now_ns);
}

// ---- the stages of a burst

static const uint8_t kind_of_role[] = {
	[ROCE_ROLE_OTHER] = KIND_UNKNOWN,
	[ROCE_ROLE_DATA] = FLOW_DATA,
	[ROCE_ROLE_UNRELIABLE] = FLOW_UNRELIABLE,
	[ROCE_ROLE_READ_REQUEST] = FLOW_READ_REQUESTS,
	[ROCE_ROLE_READ_RESPONSE] = FLOW_READ_RESPONSES,
	[ROCE_ROLE_ACK] = KIND_UNKNOWN,
	[ROCE_ROLE_NAK] = KIND_UNKNOWN,
	[ROCE_ROLE_CNP] = KIND_UNKNOWN,
	[ROCE_ROLE_MANAGEMENT] = KIND_UNKNOWN,
	[ROCE_ROLE_DATAGRAM] = FLOW_DATAGRAM,
};

static __attribute__((noinline)) struct flow_key key_v6(const uint8_t *l3, uint32_t qp)
{
	return flow_key_of(true, l3 + 8, l3 + 24, qp, KEY_FLOW);
}

// Frames that are not just data. False: no flow's.
static bool sort_rare(struct worker *w, struct frame *f, const struct pkt_info *pkt,
		      enum roce_role role)
{
	if (role == ROCE_ROLE_MANAGEMENT)
		hear_arrival(w, f, pkt);
	f->answer = role == ROCE_ROLE_ACK || role == ROCE_ROLE_CNP ||
		    role == ROCE_ROLE_MANAGEMENT || role == ROCE_ROLE_READ_REQUEST;
	return kind_of_role[role] != KIND_UNKNOWN;
}

static inline void set_key(struct member *m, const struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *l3 = rte_pktmbuf_mtod(f->m, const uint8_t *) + pkt->l3_off;

	if (likely(pkt->kind == PKT_IPV4))
		m->key = flow_key_v4(be32_get(l3 + 12), be32_get(l3 + 16), pkt->bth_dest_qp,
				     KEY_FLOW);
	else
		m->key = key_v6(l3, pkt->bth_dest_qp);
}

static inline uint64_t word_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint16_t pkey_of(const uint8_t *eth, const struct pkt_info *pkt)
{
	const struct bth_hdr *bth = (const void *)(eth + pkt->l4_off + sizeof(struct udp_hdr));

	return be16_get(&bth->pkey);
}

static bool is_first_response(const struct pkt_info *pkt)
{
	uint8_t op = pkt->bth_opcode & ROCE_OPERATION_MASK;

	return op == RC_READ_RESPONSE_FIRST || op == RC_READ_RESPONSE_ONLY;
}

// All that it tells is its PSN. The first response to a READ request tells its flow's peer.
static inline bool is_plain(const struct member *m, const struct frame *f,
			    const struct pkt_info *pkt)
{
	if (unlikely(f->ecn == ECN_CE))
		return false;
	return likely(m->role == ROCE_ROLE_DATA) || m->role == ROCE_ROLE_UNRELIABLE ||
	       (m->role == ROCE_ROLE_READ_RESPONSE && !is_first_response(pkt));
}

// Of a plain frame; of others one that fits no flow.
static inline uint32_t seal_for(const struct flow_map *map, const struct member *m,
				const struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	struct seal_facts facts = {
		.eth = {word_at(eth), word_at(eth + 6)},
		.tci = pkt->tci, .inner_tag = pkt->inner_tag,
		.udp_sport = pkt->udp_sport,
		.pkey = pkey_of(eth, pkt),
		.kind = kind_of_role[m->role],
		.in_port = f->in_port,
	};

	return is_plain(m, f, pkt) ? seal_of(map->seed, &facts) : SEAL_NEVER;
}

// What the frames are to flows. Their buckets are on their way to the cache.
static void sort_all(struct worker *w, struct frame *frames, const struct pkt_info *pkts,
		     unsigned n, struct members *all)
{
	const struct flow_map map = w->flows->table.map; // what is written below is not in it
	struct member *m = all->m;

	for (unsigned i = 0; i < n; i++) {
		struct frame *f = &frames[i];
		const struct pkt_info *pkt = &pkts[i];
		enum roce_role role;

		f->m->hash.rss = FLOW_NONE;
		if (!pkt->roce)
			continue;
		role = roce_role(pkt->bth_opcode, pkt->bth_dest_qp);
		if (unlikely(role != ROCE_ROLE_DATA) && !sort_rare(w, f, pkt, role))
			continue;
		m->role = (uint8_t)role;
		m->frame = (uint8_t)i;
		set_key(m, f, pkt);
		m->hash = flow_hash_of(&map, &m->key);
		m->again = m != all->m && m->hash == m[-1].hash &&
			   flow_key_alike(&m->key, &m[-1].key, map.spare);
		m->key = seal_key(m->key, seal_for(&map, m, f, pkt));
		flow_map_prefetch(&map, m->hash);
		m++;
	}
	all->n = (unsigned)(m - all->m);
}

// Which entries they will be. Those are on their way to the cache then.
static void guess_all(const struct flow_table *t, struct members *all)
{
	for (unsigned i = 0; i < all->n; i++) {
		struct member *m = &all->m[i];

		if (m->again)
			continue;
		m->guess = flow_map_guess(&t->map, m->hash);
		if (m->guess != FLOW_NONE)
			__builtin_prefetch(&t->flows[m->guess], 1);
	}
}

static void take_headers(struct flow *fl, const uint8_t *eth, const struct pkt_info *pkt)
{
	memcpy(fl->dst_mac, eth, sizeof(fl->dst_mac));
	memcpy(fl->src_mac, eth + 6, sizeof(fl->src_mac));
	__atomic_store_n(&fl->udp_sport, pkt->udp_sport, __ATOMIC_RELAXED);
	fl->tci = pkt->tci;
	fl->pkey = pkey_of(eth, pkt);
	fl->tags = tag_kinds(eth, pkt->n_tags);
	fl->inner_tci = (uint16_t)pkt->inner_tag;
	seal_open(fl);
}

// What a CNP must say. It changes so seldom that it is compared first: the line stays clean.
static void keep_headers(struct flow *fl, const uint8_t *eth, const struct pkt_info *pkt)
{
	uint64_t macs = (word_at(fl->dst_mac) ^ word_at(eth)) |
			(word_at(fl->dst_mac + 4) ^ word_at(eth + 4));
	unsigned rest = (unsigned)(fl->udp_sport ^ pkt->udp_sport) |
			(unsigned)(fl->tci ^ pkt->tci) | (unsigned)(fl->pkey ^ pkey_of(eth, pkt)) |
			(unsigned)(fl->tags ^ tag_kinds(eth, pkt->n_tags));

	if (unlikely(pkt->n_tags > 1))
		rest |= (unsigned)(fl->inner_tci ^ (uint16_t)pkt->inner_tag);
	if (unlikely((macs | rest) != 0))
		take_headers(fl, eth, pkt);
}

// PSNs that a READ request uses up at most.
static uint32_t read_psns(const struct frame *f, const struct pkt_info *pkt)
{
	struct roce_msg msg;
	uint32_t n;

	if (!roce_msg_read(rte_pktmbuf_mtod(f->m, const uint8_t *), f->m->data_len, pkt, &msg))
		return 1;
	n = msg.read_bytes / READ_PSN_BYTES + (msg.read_bytes % READ_PSN_BYTES != 0);
	n = n < READ_PSNS_MAX ? n : READ_PSNS_MAX;
	return n != 0 ? n : 1;
}

// A flow is of the kind of its frames that tells most: its PSNs are those of requests as soon as it
// has any.
static inline bool tells_more(uint8_t kind, uint8_t than)
{
	static const uint8_t worth[] = {
		[FLOW_DATAGRAM] = 0,
		[FLOW_UNRELIABLE] = 1,
		[FLOW_READ_RESPONSES] = 2,
		[FLOW_READ_REQUESTS] = 3,
		[FLOW_DATA] = 4,
	};

	return worth[kind] > worth[than];
}

static inline bool is_request(uint8_t kind)
{
	return kind == FLOW_DATA || kind == FLOW_READ_REQUESTS;
}

static void set_way(struct flow *fl, struct flow_way way)
{
	gauge_set(&fl->way, flow_pack_way(way));
}

// The flow was thought to be of a kind whose PSNs are of another space: to pairing it begins now.
static void change_kind(struct worker *w, uint32_t id, uint8_t kind, const struct flow_packet *p)
{
	struct flow *fl = &w->flows->table.flows[id];
	struct flow_way way = flow_way_of(gauge_get(&fl->way));
	uint8_t before = way.kind;

	if (before == FLOW_READ_REQUESTS || before == FLOW_DATA) {
		way.kind = kind; // the same space
		set_way(fl, way);
		pairing_flow_kind(w->flows->pairing, id);
		return;
	}
	pairing_flow_gone(w->flows->pairing, id);
	way.kind = kind;
	set_way(fl, way);
	flow_restart(fl, p, w->now_ns);
	pairing_flow_begun(w->flows->pairing, id, w->now_ns);
}

// Counts of the flow that grew are the port's as well.
static enum flow_news count_odd(struct worker *w, unsigned port, struct flow *fl,
				const struct flow_packet *p)
{
	struct port_flow_counters *c = &worker_port(w, port)->flows;
	uint64_t gaps = ctr_get(&fl->gaps), packets = ctr_get(&fl->gap_packets);
	uint64_t rewinds = ctr_get(&fl->rewinds);
	enum flow_news news = flow_count(fl, p, w->now_ns);

	ctr_add(&c->gaps, ctr_get(&fl->gaps) - gaps);
	ctr_add(&c->gap_packets, ctr_get(&fl->gap_packets) - packets);
	ctr_add(&c->rewinds, ctr_get(&fl->rewinds) - rewinds);
	if (p->ce)
		ctr_inc(&c->ce);
	return news;
}

// Anything but the next frame of a known flow's own kind.
static void count_slowly(struct worker *w, uint32_t id, const struct member *m,
			 const struct frame *f, const struct pkt_info *pkt)
{
	struct flow *fl = &w->flows->table.flows[id];
	uint8_t kind = kind_of_role[m->role];
	uint8_t known = flow_way_of(gauge_get(&fl->way)).kind;
	bool same = kind == known || (is_request(kind) && is_request(known));
	struct flow_packet p = {.psn = pkt->bth_psn, .n_psns = 1, .len = f->len,
				.ce = f->ecn == ECN_CE};

	if (m->role == ROCE_ROLE_READ_REQUEST)
		p.n_psns = read_psns(f, pkt);
	p.may_skip = m->role == ROCE_ROLE_READ_RESPONSE && is_first_response(pkt);
	if (tells_more(kind, known))
		change_kind(w, id, kind, &p);
	if (!same || kind == FLOW_DATAGRAM)
		p.n_psns = 0;
	if (count_odd(w, f->in_port, fl, &p) >= FLOW_BROKEN && known != FLOW_DATAGRAM)
		pairing_flow_jumped(w->flows->pairing, id, w->now_ns);
}

static void read_response(struct worker *w, uint32_t id, const struct frame *f,
			  const struct pkt_info *pkt)
{
	struct roce_msg msg;

	if (is_first_response(pkt) &&
	    roce_msg_read(rte_pktmbuf_mtod(f->m, const uint8_t *), f->m->data_len, pkt, &msg))
		pairing_read_response(w->flows->pairing, id, &msg, w->now_ns);
}

// The frame's entry is a new one.
static void begin(struct worker *w, uint32_t id, const struct member *m, const struct frame *f,
		  const struct pkt_info *pkt)
{
	struct flow *fl = &w->flows->table.flows[id];

	set_way(fl, (struct flow_way){.in_port = f->in_port, .out_port = FLOW_NO_PORT,
				      .cls = f->cls, .kind = kind_of_role[m->role]});
	keep_headers(fl, rte_pktmbuf_mtod(f->m, const uint8_t *), pkt);
	count_slowly(w, id, m, f, pkt);
	pairing_flow_begun(w->flows->pairing, id, w->now_ns);
	if (m->role == ROCE_ROLE_READ_RESPONSE)
		read_response(w, id, f, pkt);
}

// A frame in the name of a flow that comes in by another port. Anybody can send it, so it says
// nothing of the flow and is none's; unless the sender has moved: then the flow begins anew.
static uint32_t take_moved(struct worker *w, uint32_t id, const struct member *m,
			   const struct frame *f, const struct pkt_info *pkt)
{
	struct worker_flows *wf = w->flows;
	struct flow_hooks hooks = flows_hooks(wf);

	if (w->now_ns - flow_seen_ns(&wf->table.flows[id], w->now_ns) < MOVED_NS) {
		pairing_flow_elsewhere(wf->pairing, &m->key, w->now_ns);
		return FLOW_NONE;
	}
	flow_begin_anew(&wf->table, id, (struct flow_arrival){w->now_ns, f->in_port}, &hooks);
	begin(w, id, m, f, pkt);
	return id;
}

// The flow that the frame is counted to, or FLOW_NONE.
static uint32_t take(struct worker *w, const struct member *m, const struct frame *f,
		     const struct pkt_info *pkt)
{
	struct worker_flows *wf = w->flows;
	struct flow_hooks hooks = flows_hooks(wf);
	enum flow_news news;
	uint32_t id = flow_take(&wf->table, &m->key, m->hash,
				(struct flow_arrival){w->now_ns, f->in_port}, &hooks, &news);

	if (id == FLOW_NONE) {
		pairing_flow_refused(wf->pairing, &m->key, w->now_ns);
		return FLOW_NONE;
	}
	if (news == FLOW_BEGUN) {
		begin(w, id, m, f, pkt);
		return id;
	}
	if (flow_way_of(gauge_get(&wf->table.flows[id].way)).in_port != f->in_port)
		return take_moved(w, id, m, f, pkt);
	keep_headers(&wf->table.flows[id], rte_pktmbuf_mtod(f->m, const uint8_t *), pkt);
	count_slowly(w, id, m, f, pkt);
	if (m->role == ROCE_ROLE_READ_RESPONSE)
		read_response(w, id, f, pkt);
	return id;
}

// Anything but the next plain frame of a flow that is as its seal says.
static __attribute__((noinline)) uint32_t take_closely(struct worker *w, const struct member *m,
						       const struct frame *f,
						       const struct pkt_info *pkt)
{
	uint32_t id = take(w, m, f, pkt), seal = key_seal(&m->key);
	struct flow *fl;

	if (id == FLOW_NONE || seal == SEAL_NEVER)
		return id;
	fl = &w->flows->table.flows[id];
	// A response of a queue pair that has requests of its own is none of their PSNs.
	if (flow_way_of(gauge_get(&fl->way)).kind == kind_of_role[m->role])
		seal_close(fl, seal);
	return id;
}

static inline bool count_next(const struct flow_table *t, uint32_t id, const struct member *m,
			      const struct frame *f, uint32_t psn, uint64_t now_ns)
{
	struct flow *fl = &t->flows[id];

	return seal_unbroken(fl, &m->key) && flow_lives(t, fl, now_ns) &&
	       flow_count_next(fl, psn, f->len, now_ns);
}

static void count_all(struct worker *w, struct frame *frames, const struct pkt_info *pkts,
		      const struct members *all)
{
	const struct flow_table *t = &w->flows->table;
	uint32_t id = FLOW_NONE;

	for (unsigned i = 0; i < all->n; i++) {
		const struct member *m = &all->m[i];
		struct frame *f = &frames[m->frame];
		const struct pkt_info *pkt = &pkts[m->frame];

		if (!m->again)
			id = m->guess;
		if (unlikely(id == FLOW_NONE ||
			     !count_next(t, id, m, f, pkt->bth_psn, w->now_ns)))
			id = take_closely(w, m, f, pkt);
		f->m->hash.rss = id;
	}
}

void flows_burst(struct worker *w, struct frame *frames, const struct pkt_info *pkts, unsigned n)
{
	struct members all;

	sort_all(w, frames, pkts, n, &all);
	guess_all(&w->flows->table, &all);
	count_all(w, frames, pkts, &all);
}
