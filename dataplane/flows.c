// SPDX-License-Identifier: Apache-2.0
#include "dataplane/flows.h"

#include <string.h>

#include "dataplane/elephants.h"
#include "dataplane/ingress.h"
#include "dataplane/packet/parse_template.h"
#include "dataplane/packet/tags.h"
#include "dataplane/roce/flow_bucket.h"
#include "dataplane/roce/flow_seal.h"
#include "dataplane/roce/pairing.h"

enum {
	MOVED_NS = 10000000, // a flow that was silent for so long may come by another port
	READ_PSN_BYTES = 256, // the smallest path MTU: more PSNs no answer needs
	READ_PSNS_MAX = 1 << 22, // serial arithmetic ends at 2^23
	AGE_PER_LOOP = 64, // entries
	ORDERS_PER_LOOP = 16,
};

enum { KIND_UNKNOWN = 0xff }; // no flow's

// A frame of a flow, between the stages of a burst.
struct __attribute__((aligned(64))) member {
	struct flow_key key; // sealed
	uint32_t hash;
	uint32_t guess; // what the entry's index may be
	uint32_t psn;
	uint8_t frame; // of the burst
	uint8_t role; // enum roce_role
	uint8_t kind; // enum flow_kind, by the role or by the ports
	bool again; // the same flow as the member before
};

struct members {
	unsigned n;
	struct member m[BURST];
};

// ---- what pairing is given

static void gone(void *arg, uint32_t id)
{
	struct worker_flows *wf = arg;
	const struct flow *fl = &wf->table.flows[id];

	elephants_gone(wf, fl);
	if (!flow_key_has_ports(&fl->key))
		pairing_flow_gone(wf->pairing, id);
}

// It lives, and is followed no longer: as one that was refused.
static void evicted(void *arg, const struct flow_key *k, uint64_t now_ns)
{
	struct worker_flows *wf = arg;

	if (!flow_key_has_ports(k))
		pairing_flow_refused(wf->pairing, k, now_ns);
}

static struct flow_hooks hooks_of(struct worker_flows *wf)
{
	return (struct flow_hooks){.gone = gone, .evicted = evicted, .arg = wf};
}

// Whether a router decides the way of some frames of the port.
static bool may_come_elsewhere(const struct worker *w, unsigned port)
{
	return w->pol->ports[port].routed || w->pol->ports[port].in_svi;
}

static struct pair_answer answer_of(const struct worker *w, const struct frame *f,
				    const struct pkt_info *pkt, const struct roce_msg *msg)
{
	return (struct pair_answer){
		.msg = msg,
		.l3 = rte_pktmbuf_mtod(f->m, const uint8_t *) + pkt->l3_off,
		.kind = pkt->kind,
		.in_port = f->in_port,
		.udp_sport = pkt->udp_sport,
		.one_way = !may_come_elsewhere(w, f->in_port),
	};
}

static void management_arrives(struct worker *w, struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(f->m, const uint8_t *);
	struct pair_answer a;
	struct roce_msg msg;

	if (!roce_msg_read(bytes, f->m->data_len, pkt, &msg))
		return;
	a = answer_of(w, f, pkt, &msg);
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
		management_arrives(w, f, pkt);
	f->answer = flows_is_answer(pkt);
	return kind_of_role[role] != KIND_UNKNOWN;
}

static inline void set_key(struct member *m, const uint8_t *l3, const struct pkt_info *pkt)
{
	uint64_t ips = be64_get(l3 + 12);

	if (likely(pkt->kind == PKT_IPV4))
		m->key = flow_key_v4((uint32_t)(ips >> 32), (uint32_t)ips, pkt->bth_dest_qp,
				     KEY_FLOW);
	else
		m->key = key_v6(l3, pkt->bth_dest_qp);
}

static inline uint64_t load_u64(const uint8_t *p)
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

// A plain frame says nothing but its PSN. The first response to a READ request shows the peer of
// its flow.
static inline bool is_plain_frame(const struct member *m, const struct frame *f,
				  const struct pkt_info *pkt)
{
	if (unlikely(f->ecn == ECN_CE))
		return false;
	return likely(m->role == ROCE_ROLE_DATA) || m->role == ROCE_ROLE_UNRELIABLE ||
	       (m->role == ROCE_ROLE_READ_RESPONSE && !is_first_response(pkt));
}

// Of a plain frame; of others one that fits no flow.
static inline uint32_t seal_for(const struct flow_map *map, const struct member *m,
				const struct frame *f, const uint8_t *eth,
				const struct pkt_info *pkt)
{
	struct seal_facts facts = {
		.eth = {load_u64(eth), load_u64(eth + 6)},
		.tci = pkt->tci, .inner_tag = pkt->inner_tag,
		.udp_sport = pkt->udp_sport,
		.pkey = pkey_of(eth, pkt),
		.kind = kind_of_role[m->role],
		.in_port = f->in_port,
	};

	return is_plain_frame(m, f, pkt) ? seal_of(map->seed, &facts) : SEAL_NEVER;
}

static force_inline void set_hash(const struct flow_map *map, struct member *m,
				  const struct member *before)
{
	m->hash = flow_hash_of(map, &m->key);
	m->again = before != NULL && m->hash == before->hash &&
		   flow_key_alike(&m->key, &before->key, map->spare);
	flow_map_prefetch(map, m->hash);
}

// Fills the member m for a RoCEv2 frame of the burst, and prefetches its bucket. before: the member
// before it, or NULL. False: the frame belongs to no flow.
static force_inline bool sort(struct worker *w, const struct flow_map *map, struct burst *b,
			      unsigned i, const uint8_t *eth, const struct pkt_info *pkt,
			      struct member *m, const struct member *before)
{
	enum roce_role role = roce_role(pkt->bth_opcode, pkt->bth_dest_qp);
	struct frame *f = &b->frames[i];

	if (unlikely(role != ROCE_ROLE_DATA) && !sort_rare(w, f, burst_pkt(b, i), role))
		return false;
	m->role = (uint8_t)role;
	m->kind = kind_of_role[role];
	m->frame = (uint8_t)i;
	m->psn = pkt->bth_psn;
	set_key(m, eth + pkt->l3_off, pkt);
	set_hash(map, m, before);
	m->key = seal_key(m->key, seal_for(map, m, f, eth, pkt));
	return true;
}

// The same for a frame of TCP or of another use of UDP.
static force_inline bool sort_ports(const struct flow_map *map, const struct frame *f, unsigned i,
				    struct member *m, const struct member *before)
{
	const uint8_t *l3 = rte_pktmbuf_mtod(f->m, const uint8_t *) + f->l3_off;
	bool v6 = f->kind == PKT_IPV6, tcp;
	const uint8_t *l4;
	uint8_t proto;

	if (f->kind == PKT_OTHER)
		return false;
	l4 = template_ports(l3, f->kind, &proto);
	if (l4 == NULL)
		return false;
	tcp = proto == IP_PROTO_TCP;
	m->kind = tcp ? FLOW_TCP : FLOW_UDP;
	m->frame = (uint8_t)i;
	m->psn = 0;
	m->key = flow_key_ports(v6, l3 + (v6 ? 8 : 12), l3 + (v6 ? 24 : 16), l4,
				tcp ? KEY_TCP : KEY_UDP);
	set_hash(map, m, before);
	m->key = seal_key(m->key, seal_of_port(f->in_port));
	return true;
}

// The fields that a template reads stay in registers. Only parse() finds RoCEv2 behind extension
// headers. ports: frames of TCP and of other uses of UDP have flows too.
static force_inline void sort_all(struct worker *w, struct burst *b, struct members *all,
				  bool ports)
{
	const struct flow_map map = w->flows->table.map; // what is written below is not in it
	struct member *m = all->m, *before = NULL;
	unsigned n = b->n_in;
	uint64_t roce_bytes = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct frame *f = &b->frames[i];
		struct rte_mbuf *mbuf = f->m;
		const uint8_t *eth = rte_pktmbuf_mtod(mbuf, const uint8_t *);
		struct pkt_info pkt = {.kind = f->kind, .l3_off = f->l3_off};
		const struct udp_hdr *udp = NULL;
		bool quiet = b->unparsed >> i & 1, found = false, roce = true;

		if (likely(quiet))
			udp = template_roce(eth, f->kind);
		if (likely(udp != NULL)) {
			pkt.l4_off = (uint16_t)((const uint8_t *)udp - eth);
			pkt.udp_sport = be16_get(&udp->sport);
			parse_bth((const void *)(udp + 1), &pkt);
			found = sort(w, &map, b, i, eth, &pkt, m, before);
		} else if (!quiet || f->kind == PKT_IPV6) {
			const struct pkt_info *parsed = burst_pkt(b, i);

			roce = parsed->roce;
			found = roce && sort(w, &map, b, i, eth, parsed, m, before);
		} else {
			roce = false;
		}
		roce_bytes += roce ? f->len : 0;
		if (ports && !roce)
			found = sort_ports(&map, f, i, m, before);
		if (likely(found))
			before = m++;
		else
			mbuf->hash.rss = FLOW_NONE;
	}
	all->n = (unsigned)(m - all->m);
	if (roce_bytes != 0)
		ctr_add(&worker_port(w, b->frames[0].in_port)->flows.roce_bytes, roce_bytes);
}

// Which entries they will be. Those are on their way to the cache then.
static force_inline void guess_all(const struct flow_table *t, struct members *all)
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
	relaxed_set(&fl->udp_sport, pkt->udp_sport);
	fl->tci = pkt->tci;
	fl->pkey = pkey_of(eth, pkt);
	fl->tags = tag_kinds(eth, pkt->n_tags);
	fl->inner_tci = (uint16_t)pkt->inner_tag;
	seal_open(fl);
}

// What a CNP must say. It changes so seldom that it is compared first: the line stays clean.
static void keep_headers(struct flow *fl, const uint8_t *eth, const struct pkt_info *pkt)
{
	uint64_t macs = (load_u64(fl->dst_mac) ^ load_u64(eth)) |
			(load_u64(fl->dst_mac + 4) ^ load_u64(eth + 4));
	unsigned rest = (unsigned)(relaxed_get(&fl->udp_sport) ^ pkt->udp_sport) |
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

// A flow gets the highest kind of its frames: its PSNs are those of requests as soon as it has any.
static inline bool outranks(uint8_t kind, uint8_t than)
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
	if (outranks(kind, known))
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
static void begin_roce_flow(struct worker *w, uint32_t id, const struct member *m,
			    const struct frame *f, const struct pkt_info *pkt)
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
	struct flow_hooks hooks = hooks_of(wf);

	if (w->now_ns - flow_seen_ns(&wf->table.flows[id], w->now_ns) < MOVED_NS) {
		pairing_flow_elsewhere(wf->pairing, &m->key, w->now_ns);
		return FLOW_NONE;
	}
	flow_begin_anew(&wf->table, id, (struct flow_arrival){w->now_ns, f->in_port}, &hooks);
	begin_roce_flow(w, id, m, f, pkt);
	return id;
}

// The flow that the frame is counted to, or FLOW_NONE.
static uint32_t take_into_flow(struct worker *w, const struct member *m, const struct frame *f,
			       const struct pkt_info *pkt)
{
	struct worker_flows *wf = w->flows;
	struct flow_hooks hooks = hooks_of(wf);
	enum flow_news news;
	uint32_t id = flow_take(&wf->table, &m->key, m->hash,
				(struct flow_arrival){w->now_ns, f->in_port}, &hooks, &news);

	if (id == FLOW_NONE) {
		pairing_flow_refused(wf->pairing, &m->key, w->now_ns);
		return FLOW_NONE;
	}
	if (news == FLOW_BEGUN) {
		begin_roce_flow(w, id, m, f, pkt);
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

// The same for a frame of TCP or UDP.
static __attribute__((noinline)) uint32_t take_ports(struct worker *w, const struct member *m,
						     const struct frame *f)
{
	struct flow_table *t = &w->flows->table;
	struct flow_arrival at = {w->now_ns, f->in_port, m->kind};
	struct flow_hooks hooks = hooks_of(w->flows);
	enum flow_news news;
	uint32_t id = flow_take(t, &m->key, m->hash, at, &hooks, &news);
	struct flow *fl;

	if (id == FLOW_NONE)
		return FLOW_NONE;
	fl = &t->flows[id];
	if (flow_way_of(gauge_get(&fl->way)).in_port != f->in_port) {
		if (w->now_ns - flow_seen_ns(fl, w->now_ns) < MOVED_NS)
			return FLOW_NONE;
		flow_begin_anew(t, id, at, &hooks);
	}
	if (flow_packets(fl) == 0)
		set_way(fl, (struct flow_way){.in_port = f->in_port, .out_port = FLOW_NO_PORT,
					      .cls = f->cls, .kind = m->kind});
	ctr_inc(&fl->packets);
	ctr_add(&fl->bytes, f->len);
	gauge_set(&fl->last, flow_pack_last(0, 0, w->now_ns));
	seal_close(fl, key_seal(&m->key));
	return id;
}

// Anything but the next plain frame of a flow that is as its seal says.
static __attribute__((noinline)) uint32_t take_closely(struct worker *w, const struct member *m,
						       const struct frame *f, struct burst *b)
{
	uint32_t id = flow_is_roce(m->kind) ? take_into_flow(w, m, f, burst_pkt(b, m->frame))
					    : take_ports(w, m, f);
	uint32_t seal = key_seal(&m->key);
	struct flow *fl;

	if (id == FLOW_NONE || seal == SEAL_NEVER)
		return id;
	fl = &w->flows->table.flows[id];
	// A response of a queue pair that has requests of its own is none of their PSNs.
	if (flow_way_of(gauge_get(&fl->way)).kind == m->kind)
		seal_close(fl, seal);
	return id;
}

// All but the bytes. n_psns: that the frame uses up.
static force_inline bool count_next(struct flow *fl, const struct member *m, uint32_t n_psns,
				    const struct flow_clock *clock)
{
	if (!seal_unbroken(fl, &m->key) || unlikely(!flow_is_next(fl, m->psn, clock)))
		return false;
	flow_count_next(fl, m->psn, n_psns, clock);
	return true;
}

static void count_all(struct worker *w, struct burst *b, const struct members *all)
{
	const struct flow_table *t = &w->flows->table;
	const struct flow_clock clock = flow_clock(w->now_ns, gauge_get(&t->age_ns));
	struct flow *flows = t->flows;
	uint32_t id = FLOW_NONE;

	for (unsigned i = 0; i < all->n; i++) {
		const struct member *m = &all->m[i];
		struct frame *f = &b->frames[m->frame];

		if (!m->again)
			id = m->guess;
		if (likely(id != FLOW_NONE && count_next(&flows[id], m, 1, &clock)))
			ctr_add(&flows[id].bytes, f->len);
		else
			id = take_closely(w, m, f, b);
		f->m->hash.rss = id;
	}
}

// ---- the same where the policy looks for elephants

// How long the flow of the member was silent. 0 where its entry is not the guessed one: then its
// flowlet goes on.
static inline uint64_t idle_ns(const struct flow_table *t, uint32_t id, const struct member *m,
			       uint64_t now_ns)
{
	if (id == FLOW_NONE || !flow_key_alike(&t->flows[id].key, &m->key, t->map.spare))
		return 0;
	return now_ns - flow_seen_ns(&t->flows[id], now_ns);
}

// Anything but the next plain frame of a flow without a pause.
static __attribute__((noinline)) uint32_t take_sized(struct worker *w, uint32_t id,
						     const struct member *m, struct frame *f,
						     struct burst *b, enum flow_size *size)
{
	struct worker_elephants *e = &w->flows->elephants;
	struct flow_table *t = &w->flows->table;
	uint64_t age_ns = gauge_get(&t->age_ns), idle = idle_ns(t, id, m, w->now_ns);
	const struct flow_clock clock = flow_clock(w->now_ns, age_ns);
	struct flow *fl;

	*size = SIZE_PLAIN;
	if (idle >= e->params.age_ns && idle < age_ns)
		elephants_paused(w, &t->flows[id], idle);
	if (id != FLOW_NONE && count_next(&t->flows[id], m, flow_is_roce(m->kind), &clock)) {
		*size = elephants_count(w, &t->flows[id], e->look_mask, f->len);
		return id;
	}
	id = take_closely(w, m, f, b);
	if (id == FLOW_NONE)
		return FLOW_NONE;
	fl = &t->flows[id];
	if (flow_packets(fl) == 1)
		elephants_begun(w, fl);
	ctr_add(&fl->bytes, -(uint64_t)f->len); // elephants_count adds them
	*size = elephants_count(w, fl, e->look_mask, f->len);
	return id;
}

// A guard knows a frame by the DSCP with which it arrived.
static force_inline void act_by_size(const struct policy_port *pp, struct burst *b, unsigned i,
				     enum flow_size size, enum flow_size acting)
{
	struct frame *f = &b->frames[i];

	if (unlikely(pp->sized[acting][f->cls].dscp != ELEPHANT_KEEP))
		burst_keep_pkt(b, i);
	elephants_act(pp, f, size, acting);
}

// last: the entry's, before this frame.
static inline enum flow_size acting_size(struct worker *w, struct flow *fl, const struct frame *f,
					 enum flow_size size, uint64_t last)
{
	const uint64_t unit_ns = 1 << FLOW_TIME_SHIFT;

	if (likely(elephants_acting_size(fl) == size))
		return size;
	return elephants_turn(w, fl, f, size, flow_last_ns(last, w->now_ns) + unit_ns - 1);
}

// acts: the policy names actions by size for the port. Without actions, no branch depends on size.
static force_inline void count_all_sized(struct worker *w, struct burst *b,
					 const struct members *all, const struct policy_port *pp,
					 bool acts)
{
	const struct elephant_params *p = &w->flows->elephants.params;
	const struct flow_table *t = &w->flows->table;
	const struct flow_clock clock =
		flow_clock(w->now_ns, min_u64(p->age_ns, gauge_get(&t->age_ns)));
	const uint64_t look_mask = w->flows->elephants.look_mask;
	struct flow *flows = t->flows;
	struct sizes sizes = {0};
	uint32_t id = FLOW_NONE;

	for (unsigned i = 0; i < all->n; i++) {
		const struct member *m = &all->m[i];
		struct frame *f = &b->frames[m->frame];
		enum flow_size size, slow; // one of them is a register
		uint64_t last = clock.last;
		uint16_t len = f->len;
		uint32_t guess;

		if (!m->again)
			id = m->guess;
		guess = id;
		if (acts && likely(id != FLOW_NONE))
			last = gauge_get(&flows[id].last);
		if (likely(id != FLOW_NONE &&
			   count_next(&flows[id], m, flow_is_roce(m->kind), &clock))) {
			size = elephants_count(w, &flows[id], look_mask, len);
		} else {
			id = take_sized(w, id, m, f, b, &slow);
			size = slow;
		}
		f->m->hash.rss = id;
		sizes.sum[size] += SIZES_FRAME + len;
		if (acts && id != FLOW_NONE) {
			enum flow_size acting = acting_size(w, &flows[id], f, size,
							    id == guess ? last : clock.last);

			if ((size | acting) != SIZE_PLAIN)
				act_by_size(pp, b, m->frame, size, acting);
		}
	}
	elephants_add(w->flows, b->frames[0].in_port, &sizes);
}

static __attribute__((noinline)) void burst_sized(struct worker *w, struct burst *b)
{
	const struct policy_port *pp = &w->pol->ports[b->frames[0].in_port];
	struct members all;

	sort_all(w, b, &all, true);
	guess_all(&w->flows->table, &all);
	if (pp->acts_by_size)
		count_all_sized(w, b, &all, pp, true);
	else
		count_all_sized(w, b, &all, pp, false);
}

void flows_burst(struct worker *w, struct burst *b)
{
	struct members all;

	if (unlikely(elephants_are_on(w)))
		return burst_sized(w, b);
	sort_all(w, b, &all, false);
	guess_all(&w->flows->table, &all);
	count_all(w, b, &all);
}

// ---- the way out

static_assert((int)POLICY_MAX_PORTS <= (int)FLOW_PORTS, "each port of arrival has its share");
static_assert((int)POLICY_MAX_PORTS <= 1 << SEAL_PORT_BITS && N_CLASSES <= 8 && N_QUEUES <= 8,
	      "seals have room for them");

static inline uint64_t departure_of(const struct frame *f)
{
	return seal_departure(f->out_port, f->queue, f->cls);
}

// The flow's way was found, or may be another one.
static __attribute__((noinline)) void way_changed(struct worker *w, uint32_t id,
						   const struct frame *f)
{
	struct flow *fl = &w->flows->table.flows[id];
	struct flow_way before = flow_way_of(gauge_get(&fl->way));
	struct flow_way way = {.in_port = f->in_port, .out_port = f->out_port, .queue = f->queue,
			       .cls = f->cls, .kind = before.kind};

	gauge_set(&fl->way, flow_pack_way(way));
	seal_close_departure(fl, departure_of(f));
	if (before.out_port != FLOW_NO_PORT &&
	    (before.out_port != f->out_port || before.cls != f->cls))
		elephants_astray(w, f);
	if (before.out_port == f->out_port || !flow_is_roce(before.kind))
		return;
	if (before.out_port != FLOW_NO_PORT)
		pairing_flow_turned(w->flows->pairing, id, w->now_ns);
	pairing_flow_way(w->flows->pairing, id, w->now_ns);
}

void flows_forwarded(struct worker *w, const struct frame *frames, unsigned n)
{
	const struct flow *flows = w->flows->table.flows;

	for (unsigned i = 0; i < n; i++) {
		const struct frame *f = &frames[i];
		uint32_t id = frame_flow(f);

		if (unlikely(f->answer) && w->sw->owner[f->out_port] == w->id)
			flows_on_answer(w, f);
		if (id != FLOW_NONE && unlikely(!seal_departed(&flows[id], departure_of(f))))
			way_changed(w, id, f);
	}
}

static uint64_t stay_ns(const void *port, uint8_t queue)
{
	const struct port *p = port;

	return gauge_get(&p->queue[queue].c.residence_ns);
}

void flows_on_answer(struct worker *w, const struct frame *f)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(f->m, const uint8_t *);
	struct port_flow_counters *c = &worker_port(w, f->out_port)->flows;
	struct pair_answer a;
	struct pkt_info pkt;
	struct roce_msg msg;

	if (w->flows == NULL || !parse(bytes, f->m->pkt_len, &pkt) || !pkt.roce ||
	    !roce_msg_read(bytes, f->m->data_len, &pkt, &msg))
		return;
	a = answer_of(w, f, &pkt, &msg);
	a.left_by = f->out_port;
	a.stay_ns = stay_ns;
	a.port = w->sw->port[f->in_port];
	a.one_way = a.one_way && !may_come_elsewhere(w, f->out_port);
	if (msg.role == ROCE_ROLE_MANAGEMENT) {
		// A worker that owns both ports has read the message at its arrival.
		if (w->sw->owner[f->in_port] != w->id)
			pairing_management(w->flows->pairing, &a, false, w->now_ns);
		return;
	}
	if (msg.role == ROCE_ROLE_NAK)
		ctr_inc(&c->naks);
	else if (msg.role == ROCE_ROLE_CNP)
		ctr_inc(&c->cnps_seen);
	pairing_answer(w->flows->pairing, &a, w->now_ns);
}

// ---- once per loop

static void take_orders(struct worker *w)
{
	struct known_pair orders[ORDERS_PER_LOOP];
	unsigned n = rte_ring_sc_dequeue_burst_elem(w->flows->orders, orders, sizeof(orders[0]),
						    ORDERS_PER_LOOP, NULL);

	for (unsigned i = 0; i < n; i++)
		if (pairing_order(w->flows->pairing, &orders[i], w->now_ns) &&
		    orders[i].qp == FLOW_NONE)
			ctr_inc(&w->flows->orders_found);
	// Control reads orders_taken first.
	atomic_thread_fence(memory_order_release);
	if (n != 0)
		ctr_add(&w->flows->orders_taken, n);
}

// Pairs that were dropped by contradictions. DREQ, age and orders of control contradict nothing.
static uint64_t pairs_dropped(const struct worker_flows *wf)
{
	const struct pairing_counters *c = pairing_counters(wf->pairing);

	return ctr_get(&c->dropped_jump) + ctr_get(&c->dropped_ack) + ctr_get(&c->dropped_rival);
}

static uint64_t cnps_capped(const struct worker *w)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < w->n_owned; i++)
		n += ctr_get(&worker_port(w, w->owned[i])->flows.cnps_capped);
	return n;
}

// What happened since the last event, as one event a second.
static void say_events(struct worker *w)
{
	struct worker_flows *wf = w->flows;
	const struct {
		enum event_type type;
		uint64_t now, *seen;
	} all[] = {
		{EVENT_PAIR_DROPPED, pairs_dropped(wf), &wf->dropped_seen},
		{EVENT_FLOWS_FULL, ctr_get(&wf->table.refused), &wf->refused_seen},
		{EVENT_CNP_CAP, cnps_capped(w), &wf->capped_seen},
	};

	if (wf->said_ns != 0 && w->now_ns - wf->said_ns < SECOND_NS)
		return;
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].now == *all[i].seen)
			continue;
		worker_event(w, all[i].type, PORT_NONE, CLASS_NONE, 0, all[i].now - *all[i].seen);
		*all[i].seen = all[i].now;
		wf->said_ns = w->now_ns;
	}
}

static void take_flow_policy(struct worker *w)
{
	struct worker_flows *wf = w->flows;

	wf->policy_version = w->policy_version;
	flow_table_set_age(&wf->table, w->pol->flows.age_ns, w->now_ns);
	pairing_set_params(wf->pairing, &w->pol->pairing);
	elephants_new_policy(w);
}

void flows_tick(struct worker *w)
{
	struct worker_flows *wf = w->flows;
	struct flow_hooks hooks = hooks_of(wf);

	if (unlikely(wf->policy_version != w->policy_version))
		take_flow_policy(w);
	take_orders(w);
	flow_age(&wf->table, w->now_ns, AGE_PER_LOOP, &hooks);
	say_events(w);
	if (unlikely(elephants_are_on(w)))
		elephants_tick(w);
}
