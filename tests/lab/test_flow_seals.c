// SPDX-License-Identifier: Apache-2.0
// What a switch knows of a flow does not depend on seals (dataplane/roce/flow_seal.h): bursts of
// random frames of a few flows, whose headers, class, kind and way change now and then, against a
// model that looks at each frame by itself. Also what only a CNP would say.
#include "dataplane/policy.h"
#include "tests/lab/rig.h"

#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "control/config/config.h"
#include "dataplane/base/rng.h"
#include "dataplane/packet/tags.h"
#include "dataplane/packet/wire.h"
#include "dataplane/switch_impl.h"

enum {
	FLOWS = 8, // the upper half over IPv6
	STEPS = 12000,
	LEN = 120,
	US = 1000,
	AGE_NS = 50000000,
	MOVED_NS = 10000000, // silent for so long it may come by another port
};

// What a frame may say, by what is drawn for it; the first is the usual one.
static const uint8_t opcodes[] = {RC_SEND_MIDDLE, RC_READ_RESPONSE_MIDDLE, UD_SEND_ONLY,
				  RC_READ_REQUEST, 0x20 | RC_SEND_MIDDLE}; // the last: UC
static const uint8_t kinds[] = {FLOW_DATA, FLOW_READ_RESPONSES, FLOW_DATAGRAM, FLOW_READ_REQUESTS,
				FLOW_UNRELIABLE};
static const uint8_t dscps[] = {24, 32, 8}; // classes 3 and 4, which may share a queue, and 1
static const uint16_t sports[] = {50000, 50001}, pkeys[] = {0xffff, 0x7fff};
static const struct {
	uint16_t tpid[2], tci[2];
} tags[] = {
	{{0, 0}, {0, 0}},
	{{ETYPE_VLAN, 0}, {3 << 13, 0}},
	{{ETYPE_VLAN, 0}, {5 << 13, 0}},
	{{ETYPE_QINQ, ETYPE_VLAN}, {3 << 13, 3 << 13 | 7}},
	{{ETYPE_QINQ, ETYPE_VLAN}, {3 << 13, 3 << 13 | 8}},
	{{ETYPE_QINQ, ETYPE_QINQ}, {3 << 13, 3 << 13 | 8}},
	{{ETYPE_QINQ_OLD, ETYPE_VLAN}, {3 << 13, 3 << 13 | 8}},
};

#define SOME(rng, list) ((uint8_t)(rng_next(rng) % (sizeof(list) / sizeof((list)[0]))))

// Indices of the lists above; ports.
struct facts {
	uint8_t in, to, adapter, kind, dscp, sport, pkey, tag;
	bool ce;
};

// A flow as it must be.
struct model {
	struct facts usual;
	uint32_t psn;
	bool lives;
	struct flow shadow; // counted by flow_count alone, without a seal
	struct flow_way way;
	struct facts said; // by its latest frame
};

struct world {
	struct rig *r;
	struct rng rng;
	struct model flows[FLOWS];
};

// ---- frames

static uint8_t *put_ip(uint8_t *at, unsigned flow, const struct facts *x)
{
	struct ipv4_hdr *v4 = (void *)at;
	struct ipv6_hdr *v6 = (void *)at;
	uint8_t tos = (uint8_t)(dscps[x->dscp] << 2 | (x->ce ? ECN_CE : ECN_ECT0));

	if (flow >= FLOWS / 2) {
		be32_put(&v6->vtc_flow, 6u << 28 | (uint32_t)tos << 20);
		be16_put(&v6->payload_len, LEN - 62);
		v6->next = IP_PROTO_UDP;
		v6->src[0] = v6->dst[0] = 0xfd;
		v6->dst[15] = 1;
		return at + sizeof(*v6);
	}
	v4->ver_ihl = 0x45;
	v4->tos = tos;
	be16_put(&v4->total_len, LEN - 22);
	v4->proto = IP_PROTO_UDP;
	be32_put(&v4->src, 0x0a000001);
	be32_put(&v4->dst, 0x0a000002);
	return at + sizeof(*v4);
}

static void build(uint8_t out[LEN], unsigned flow, const struct facts *x, uint32_t psn)
{
	uint8_t *at = out + 12;
	struct udp_hdr *udp;
	struct bth_hdr *bth;

	memset(out, 0, LEN);
	memcpy(out, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(x->to + 1)}, 6);
	memcpy(out + 6, (uint8_t[]){2, 0, x->adapter, 0, 9, 9}, 6);
	for (unsigned i = 0; i < 2 && tags[x->tag].tpid[i] != 0; i++, at += 4) {
		be16_put(at, tags[x->tag].tpid[i]);
		be16_put(at + 2, tags[x->tag].tci[i]);
	}
	be16_put(at, flow >= FLOWS / 2 ? ETYPE_IPV6 : ETYPE_IPV4);
	udp = (void *)put_ip(at + 2, flow, x);
	be16_put(&udp->sport, sports[x->sport]);
	be16_put(&udp->dport, ROCE_UDP_PORT);
	be16_put(&udp->len, sizeof(*udp) + sizeof(*bth) + sizeof(struct reth_hdr) + ROCE_ICRC_LEN);
	bth = (void *)(udp + 1);
	bth->opcode = opcodes[x->kind];
	be16_put(&bth->pkey, pkeys[x->pkey]);
	be24_put(&bth->dest_qp, 100 + flow);
	be24_put(&bth->psn, psn);
	be32_put(&((struct reth_hdr *)(bth + 1))->dma_len, 600); // three PSNs of 256 bytes
}

static void arrive(struct world *w, unsigned flow, const struct facts *x, uint32_t psn)
{
	struct rig_port *p = &w->r->port[x->in];
	struct rte_mbuf *m = rte_pktmbuf_alloc(rte_mempool_lookup("bench"));

	assert_non_null(m);
	build((uint8_t *)rte_pktmbuf_append(m, LEN), flow, x, psn);
	p->waiting[p->n_waiting++] = m;
}

// ---- the model

static bool is_request(uint8_t kind)
{
	return kind == FLOW_DATA || kind == FLOW_READ_REQUESTS;
}

static unsigned worth(uint8_t kind)
{
	static const uint8_t from_least[] = {FLOW_DATAGRAM, FLOW_UNRELIABLE, FLOW_READ_RESPONSES,
					     FLOW_READ_REQUESTS, FLOW_DATA};
	unsigned i = 0;

	while (from_least[i] != kind)
		i++;
	return i;
}

static void model_begins(struct model *f, const struct facts *x)
{
	f->lives = true;
	f->shadow = (struct flow){.acked = FLOW_NONE};
	gauge_set(&f->shadow.last, flow_pack_last(0, FLOW_APART, 0));
	f->way = (struct flow_way){
		.in_port = x->in, .out_port = FLOW_NO_PORT, .kind = kinds[x->kind]};
}

static void model_counts(struct model *f, const struct facts *x, uint32_t psn, uint64_t now_ns)
{
	uint8_t kind = kinds[x->kind], known = f->way.kind;
	struct flow_packet p = {.psn = psn, .n_psns = kind == FLOW_READ_REQUESTS ? 3 : 1,
				.len = LEN, .ce = x->ce};

	if (worth(kind) > worth(known)) {
		f->way.kind = kind;
		if (!is_request(known))
			flow_restart(&f->shadow, &p, now_ns);
	}
	if (kind == FLOW_DATAGRAM || (kind != known && !(is_request(kind) && is_request(known))))
		p.n_psns = 0;
	flow_count(&f->shadow, &p, now_ns);
}

static void model_hears(struct world *w, struct model *f, const struct facts *x, uint32_t psn)
{
	const struct classify_params *c = &switch_policy(w->r->sw)->ports[x->in].classify;
	uint64_t now_ns = w->r->now_ns, idle_ns = now_ns - flow_seen_ns(&f->shadow, now_ns);

	if (!f->lives || idle_ns >= AGE_NS)
		model_begins(f, x);
	else if (x->in != f->way.in_port && idle_ns < MOVED_NS)
		return; // somebody else
	else if (x->in != f->way.in_port)
		model_begins(f, x);
	model_counts(f, x, psn, now_ns);
	f->said = *x;
	if (x->to == x->in || x->to == PORTS)
		return; // it goes nowhere, or everywhere
	f->way.out_port = x->to;
	f->way.cls = dscps[x->dscp] / 8;
	f->way.queue = c->class_to_queue[f->way.cls];
}

// ---- a burst, and what is known after it

static struct facts some_facts(struct rng *rng)
{
	return (struct facts){.to = (uint8_t)(rng_next(rng) % (PORTS + 1)),
			      .adapter = (uint8_t)(rng_next(rng) % 2), .dscp = SOME(rng, dscps),
			      .sport = SOME(rng, sports), .pkey = SOME(rng, pkeys),
			      .tag = SOME(rng, tags)};
}

static bool once_in(struct world *w, uint32_t n)
{
	return rng_next(&w->rng) % n == 0;
}

// Now and then a fact of the flow is another one, for this frame or from now on.
static struct facts vary(struct world *w, struct model *f)
{
	struct facts x = f->usual, other = some_facts(&w->rng);
	uint8_t *const of[] = {&x.to, &x.adapter, &x.dscp, &x.sport, &x.pkey, &x.tag};
	const uint8_t now[] = {other.to, other.adapter, other.dscp, other.sport, other.pkey,
			       other.tag};
	uint32_t i = rng_next(&w->rng) % sizeof(now);

	if (once_in(w, 8))
		*of[i] = now[i];
	if (once_in(w, 2))
		f->usual = x;
	if (once_in(w, 12))
		x.kind = SOME(&w->rng, kinds);
	x.ce = once_in(w, 16);
	if (once_in(w, 64))
		f->psn += rng_next(&w->rng) % 8 - 3;
	if (once_in(w, 256))
		f->psn += (rng_next(&w->rng) % 4) << 15;
	f->psn &= PSN_MASK;
	return x;
}

static void burst(struct world *w, uint8_t in)
{
	unsigned flow = rng_next(&w->rng) % FLOWS;

	for (unsigned n = 1 + rng_next(&w->rng) % MOST; n != 0; n--) {
		struct model *f = &w->flows[flow];
		struct facts x;

		x = vary(w, f);
		x.in = in;
		arrive(w, flow, &x, f->psn);
		model_hears(w, f, &x, f->psn);
		f->psn = psn_add(f->psn, 1);
		if (once_in(w, 4))
			flow = rng_next(&w->rng) % FLOWS;
	}
	rig_step(w->r);
	for (unsigned i = 0; i < PORTS; i++)
		w->r->port[i].n_sent = 0;
}

static bool check_row(void *arg, const struct flow_row *row)
{
	struct world *w = arg;
	const struct model *f = &w->flows[flow_key_qp(&row->key) - 100];
	const struct flow *s = &f->shadow;

	assert_true(f->lives);
	assert_int_equal(row->packets, ctr_get(&s->packets));
	assert_int_equal(row->bytes, ctr_get(&s->bytes));
	assert_int_equal(row->ce, ctr_get(&s->ce));
	assert_int_equal(row->gaps, ctr_get(&s->gaps));
	assert_int_equal(row->gap_packets, ctr_get(&s->gap_packets));
	assert_int_equal(row->rewinds, ctr_get(&s->rewinds));
	assert_int_equal(row->psn, flow_expected(gauge_get(&s->last)));
	assert_int_equal(row->udp_sport, sports[f->said.sport]);
	assert_int_equal(row->way.in_port, f->way.in_port);
	assert_int_equal(row->way.out_port, f->way.out_port);
	assert_int_equal(row->way.kind, f->way.kind);
	if (f->way.out_port == FLOW_NO_PORT)
		return true;
	assert_int_equal(row->way.cls, f->way.cls);
	assert_int_equal(row->way.queue, f->way.queue);
	return true;
}

// What its CNPs and its pairing go by.
static void check_entry(const struct world *w, const struct model *f)
{
	const struct flow_table *t = &switch_worker(w->r->sw, 0)->flows->table;
	uint8_t frame[LEN];
	struct pkt_info pkt;
	const struct flow *e;
	struct flow_key k;

	build(frame, (unsigned)(f - w->flows), &f->said, 0);
	assert_true(parse(frame, LEN, &pkt) && pkt.roce);
	k = pkt.kind == PKT_IPV6 ? flow_key_of(true, frame + pkt.l3_off + 8,
					       frame + pkt.l3_off + 24, pkt.bth_dest_qp, KEY_FLOW)
				 : flow_key_v4(0x0a000001, 0x0a000002, pkt.bth_dest_qp, KEY_FLOW);
	e = &t->flows[flow_find(t, &k, w->r->now_ns)];
	assert_memory_equal(e->dst_mac, frame, 6);
	assert_memory_equal(e->src_mac, frame + 6, 6);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(tag_tpid(e->tags, i), tags[f->said.tag].tpid[i]);
	assert_int_equal(e->tci, tags[f->said.tag].tci[0]);
	if (pkt.n_tags == 2)
		assert_int_equal(e->inner_tci, tags[f->said.tag].tci[1]);
	assert_int_equal(e->pkey, pkeys[f->said.pkey]);
	assert_int_equal(flow_highest(e), flow_highest(&f->shadow));
	assert_int_equal(flow_surely_sent(e), flow_surely_sent(&f->shadow));
}

static void check(struct world *w)
{
	uint64_t now_ns = w->r->now_ns;

	switch_flows_walk(w->r->sw, now_ns, false, check_row, w);
	for (unsigned i = 0; i < FLOWS; i++) {
		struct model *f = &w->flows[i];

		f->lives = f->lives && now_ns - flow_seen_ns(&f->shadow, now_ns) < AGE_NS;
		if (f->lives)
			check_entry(w, f);
	}
}

// Class 4 shares the queue of class 3, or has its own.
static const char *yaml(unsigned queue_of_4)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "switch: {name: lab, flows: {max: 64, age: 50ms}}\n"
		 "ports:\n  - {name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: 10G, profile: x}\n"
		 "fdb:\n  - {mac: \"02:00:00:00:00:01\", port: p1}\n"
		 "  - {mac: \"02:00:00:00:00:02\", port: p2}\n"
		 "  - {mac: \"02:00:00:00:00:03\", port: p3}\n"
		 "profiles: {x: {class_to_queue: {4: %u}}}\n",
		 queue_of_4);
	return text;
}

static void reload(struct world *w)
{
	struct policy *old;
	uint64_t token;

	switch_publish(w->r->sw, rig_compile(w->r, yaml(3 + rng_next(&w->rng) % 2)), &old, &token);
	rig_step(w->r);
	rig_step(w->r);
	assert_true(switch_grace_over(w->r->sw, token));
	policy_destroy(old);
}

static void what_is_known_of_a_flow_is_what_its_frames_said(void **state)
{
	const struct port_facts facts = {0};
	struct world w = {.r = rig_open(yaml(3), &facts, false)};

	(void)state;
	rng_init(&w.rng, 1);
	for (unsigned i = 0; i < FLOWS; i++)
		w.flows[i].usual.to = OUT;
	for (unsigned step = 0; step < STEPS; step++) {
		uint32_t luck = rng_next(&w.rng) % 512;

		if (luck == 9)
			reload(&w);
		w.r->now_ns += luck == 0 ? AGE_NS : luck < 8 ? MOVED_NS : 5 * US;
		burst(&w, (uint8_t)(rng_next(&w.rng) % 8 == 0));
		check(&w);
	}
	rig_close(w.r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_known_of_a_flow_is_what_its_frames_said),
	};

	return cmocka_run_group_tests_name("flow_seals", tests, bench_eal, NULL);
}
