// SPDX-License-Identifier: Apache-2.0
// A hostile peer of the emulated NIC: any frames, and well-formed ones with wrong numbers in
// them, in any order, while the NIC runs flows of its own over a port that refuses now and then.
// iCRCs are made right behind the damage, or nothing would get past them. Whatever comes: no read
// outside the frame, no mbuf lost, no loop without end, every frame sent well-formed, and the
// windows of both state machines hold.
//
//   input: 4 bytes of configuration; then operations: a number and its bytes
#include "tests/eal.h"
#include "tests/fuzz/fuzz.h"
#include "tests/nd_option.h"

#include <rte_mbuf.h>

#include "dataplane/packet/icrc.h"
#include "dataplane/packet/neighbour.h"
#include "dataplane/packet/wire.h"
#include "drivers/nic/frames.h"
#include "drivers/nic/nic_int.h"

enum {
	POOL = 1023,
	MAX_OPS = 200,
	QPS = 4,
	PEERS = 3,
	IN_RING = 256, // frames under way to the NIC
	LONGEST = 4096 + 128,
	STEPS_AT_ONCE = 2000, // without time going on
	LINE_NS = 100, // for a frame
	OWN_IP = 0x0a000001,
	PEER_IP = 0x0a000002,
	VID = 7,
};

static const uint8_t own_mac[6] = {2, 0, 0, 0, 0, 1}, peer_mac[6] = {2, 0, 0, 0, 0, 2};
static struct rte_mempool *pool;

// The port and the peer behind it.
struct world {
	struct nic *nic;
	uint64_t now_ns, wake_ns;
	struct rte_mbuf *in[IN_RING];
	uint32_t head, n;
	uint32_t refuse; // frames the port does not take
	uint32_t store; // bytes stored of a frame that arrives; 0: all
	bool no_room;
	bool line; // it takes one frame, and calls when the line is free
	uint64_t free_ns;
	uint64_t n_sent;
};

// ---- the port

static uint16_t port_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct world *w = drv;
	uint16_t got = 0;

	for (; got < n && w->n != 0; w->n--, w->head = (w->head + 1) % IN_RING)
		pkts[got++] = w->in[w->head];
	return got;
}

// Whatever the NIC was told, what it says is well-formed.
static void check_sent(const uint8_t *frame, uint32_t len)
{
	struct pkt_info p;

	FUZZ_CHECK(len <= LONGEST && parse(frame, len, &p) && !p.bad_l3);
	FUZZ_CHECK(memcmp(frame + 6, own_mac, 6) == 0);
	FUZZ_CHECK(p.roce || p.kind == PKT_MAC_CONTROL || p.ether_type == ETYPE_ARP ||
		   p.ip_proto == IP_PROTO_ICMPV6);
	FUZZ_CHECK(!p.roce || icrc_check(frame, len, &p));
}

static uint16_t port_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct world *w = drv;
	uint16_t taken = 0;

	while (taken < n) {
		if (w->refuse != 0) {
			w->refuse--;
			break;
		}
		if (w->line && (taken != 0 || w->now_ns < w->free_ns))
			break;
		w->free_ns = w->now_ns + LINE_NS;
		check_sent(rte_pktmbuf_mtod(pkts[taken], const uint8_t *), pkts[taken]->pkt_len);
		rte_pktmbuf_free(pkts[taken++]);
		w->n_sent++;
	}
	return taken;
}

static int32_t port_room(void *drv)
{
	const struct world *w = drv;

	return w->no_room || (w->line && w->now_ns < w->free_ns) ? 0 : PORT_ROOM_ANY;
}

static const struct port_ops ops = {.rx = port_rx, .tx = port_tx, .tx_room = port_room};

// ---- frames towards the NIC

static void block_done(void *addr, void *block)
{
	(void)addr;
	free(block);
}

// The frame lies at the end of a heap block, as an external buffer of the mbuf.
static void arrive(struct world *w, const uint8_t *frame, size_t len)
{
	struct rte_mbuf_ext_shared_info *info;
	struct rte_mbuf *m;
	uint8_t *block;
	size_t stored = w->store != 0 && w->store < len ? w->store : len;
	size_t room = sizeof(*info) + stored;

	if (w->n == IN_RING || len == 0 || len > UINT16_MAX)
		return;
	m = rte_pktmbuf_alloc(pool);
	if (m == NULL)
		return;
	block = malloc(room);
	FUZZ_CHECK(block != NULL);
	info = (void *)block;
	info->free_cb = block_done;
	info->fcb_opaque = block;
	rte_mbuf_ext_refcnt_set(info, 1);
	memcpy(block + sizeof(*info), frame, stored);
	rte_pktmbuf_attach_extbuf(m, block + sizeof(*info), RTE_BAD_IOVA, (uint16_t)stored, info);
	m->data_len = (uint16_t)stored;
	m->pkt_len = (uint32_t)len;
	w->in[(w->head + w->n++) % IN_RING] = m;
}

// Changes bytes of a frame as the input says, then makes its iCRC right where it has one.
static void damage(struct fuzz_in *in, uint8_t *frame, uint32_t len)
{
	unsigned how = fuzz_u8(in);
	struct pkt_info p;
	uint32_t total, hlen;

	for (unsigned i = 0; i < (how & 3); i++) {
		uint32_t at = fuzz_u16(in) % len;

		frame[at] ^= fuzz_u8(in);
	}
	if (how & 4 || !parse(frame, len, &p) || !p.roce)
		return;
	hlen = p.kind == PKT_IPV6 ? 40 : (frame[p.l3_off] & 0xfu) * 4;
	total = p.kind == PKT_IPV6 ? 40u + be16_get(frame + p.l3_off + 4)
				   : be16_get(frame + p.l3_off + 2);
	if (p.l4_off == p.l3_off + hlen && total >= hlen + 8 + 12 + ROCE_ICRC_LEN)
		icrc_put(frame + p.l3_off + total - ROCE_ICRC_LEN,
			 icrc(frame + p.l3_off, total - ROCE_ICRC_LEN, (enum pkt_kind)p.kind));
}

static struct ip_key ip_of(bool v6, uint32_t ip)
{
	return v6 ? (struct ip_key){0xfdull << 56, ip} : ip_key_v4(ip);
}

static struct frame_addr address(struct fuzz_in *in)
{
	unsigned v = fuzz_u8(in);
	struct frame_addr a = {.src_ip = ip_of(v & 16, PEER_IP + (v & 3)),
			       .dst_ip = ip_of(v & 16, OWN_IP), .sport = 0xc000,
			       .tag = {v & 4, (uint8_t)(v >> 5), v & 8 ? VID : 0},
			       .tos = (uint8_t)(v & 0xe3)};

	memcpy(a.src_mac, peer_mac, 6);
	memcpy(a.dst_mac, own_mac, 6);
	return a;
}

static void send_roce(struct world *w, struct fuzz_in *in, const struct roce_pkt *pkt)
{
	struct frame_addr a = address(in);
	uint32_t len = roce_frame_len(pkt) + frame_addr_extra(&a);
	uint8_t *frame = malloc(len);

	FUZZ_CHECK(frame != NULL);
	roce_build(frame, len, &a, pkt);
	damage(in, frame, len);
	arrive(w, frame, len);
	free(frame);
}

static void op_raw(struct world *w, struct fuzz_in *in)
{
	size_t n = fuzz_u8(in) * 2;
	const uint8_t *at = fuzz_take(in, &n);
	uint8_t *frame = fuzz_exact(at, n);

	if (n >= 14) {
		memcpy(frame, own_mac, 6);
		damage(in, frame, (uint32_t)n);
	}
	arrive(w, frame, n);
	free(frame);
}

// A small distance, forwards or back.
static uint32_t near(struct fuzz_in *in)
{
	return (uint32_t)(int32_t)(int8_t)fuzz_u8(in);
}

static const struct qp *some_qp(const struct world *w, struct fuzz_in *in)
{
	return &w->nic->qps[fuzz_u8(in) % QPS];
}

// n requests to a responder, each with the PSN that follows the one before; the first by what the
// responder expects.
static void op_request(struct world *w, struct fuzz_in *in, unsigned n)
{
	static const uint8_t opcodes[] = {
		RC_SEND_FIRST, RC_SEND_MIDDLE, RC_SEND_LAST, RC_SEND_ONLY, RC_SEND_ONLY_IMM,
		RC_WRITE_FIRST, RC_WRITE_MIDDLE, RC_WRITE_LAST, RC_WRITE_ONLY, RC_WRITE_ONLY_IMM,
		RC_READ_REQUEST, RC_SEND_LAST_IMM, RC_WRITE_LAST_IMM, ROCE_CNP, RC_COMPARE_SWAP,
		RC_RESYNC};
	static uint8_t zeros[LONGEST];
	const struct qp *qp = some_qp(w, in);
	unsigned v = fuzz_u8(in);
	struct roce_pkt p = {
		.opcode = opcodes[v % sizeof(opcodes)],
		.ack_req = v & 0x80,
		.dest_qp = qp->qpn,
		.psn = qp->resp.epsn,
		.va = qp->resp.p.va,
		.rkey = qp->resp.p.rkey,
		.payload = zeros,
		.payload_len = qp->resp.p.mtu,
	};
	uint32_t pkts = 1;

	p.psn = (p.psn + (v & 0x40 ? near(in) : 0)) & BTH_PSN_MASK;
	p.va += v & 0x20 ? fuzz_log(in) : 0;
	p.dma_len = (uint32_t)fuzz_log(in);
	if (!(v & 0x10))
		p.payload_len = fuzz_u16(in) % LONGEST;
	if (p.opcode == RC_READ_REQUEST || p.opcode == ROCE_CNP)
		p.payload_len = p.opcode == ROCE_CNP ? 16 : 0;
	if (p.opcode == RC_READ_REQUEST && p.dma_len != 0 && qp->resp.p.mtu != 0)
		pkts = (p.dma_len - 1) / qp->resp.p.mtu + 1;
	for (; n != 0; n--) {
		send_roce(w, in, &p);
		p.psn = (p.psn + pkts) & BTH_PSN_MASK;
	}
}

// An answer to a requester, by what that one has sent.
static void op_response(struct world *w, struct fuzz_in *in)
{
	static const uint8_t opcodes[] = {RC_ACK, RC_ACK, RC_ACK, RC_READ_RESPONSE_FIRST,
					  RC_READ_RESPONSE_MIDDLE, RC_READ_RESPONSE_LAST,
					  RC_READ_RESPONSE_ONLY, RC_ATOMIC_ACK};
	static const uint8_t syndromes[] = {AETH_NO_CREDITS, AETH_ACK, AETH_NAK, AETH_RNR_NAK};
	static uint8_t zeros[LONGEST];
	const struct qp *qp = some_qp(w, in);
	const struct requester *r = &qp->req;
	const struct req_msg none = {0}, *m = r->m.msgs == NULL ? &none : req_msg_at(r, r->head);
	unsigned v = fuzz_u8(in);
	uint32_t done = (uint32_t)(r->una - m->first_seq) * r->p.mtu;
	struct roce_pkt p = {
		.opcode = opcodes[v & 7],
		.dest_qp = qp->qpn,
		.psn = (uint32_t)(r->p.first_psn + (v & 0x80 ? r->nxt : r->una)),
		.syndrome = syndromes[v >> 3 & 3],
		.payload = zeros,
	};

	p.psn = (p.psn + (v & 0x40 ? near(in) : 0)) & BTH_PSN_MASK;
	p.syndrome |= v & 0x20 ? fuzz_u8(in) : 0;
	if (p.opcode != RC_ACK && p.opcode != RC_ATOMIC_ACK) {
		p.payload_len = m->n_bytes - done < r->p.mtu ? m->n_bytes - done : r->p.mtu;
		if (v & 0x20)
			p.payload_len = fuzz_u16(in) % LONGEST;
	}
	send_roce(w, in, &p);
}

static void op_cm(struct world *w, struct fuzz_in *in)
{
	static const uint16_t attrs[] = {CM_REQ, CM_REJ, CM_REP, CM_RTU, CM_DREQ, CM_DREP, 0x11};
	const struct qp *qp = some_qp(w, in);
	unsigned v = fuzz_u8(in);
	struct cm_msg m = {
		.attr = attrs[(v & 7) % 7],
		.tid = qp->conn.tid,
		.local_id = qp->conn.remote_id,
		.remote_id = qp->conn.local_id,
		.qpn = 77,
		.psn = BTH_PSN_MASK - 2,
		.mtu = 1024,
		.tos = 0x62,
		.reason = CM_REJ_NO_QP,
		.rkey = 5,
		.region_bytes = 1 << 30,
	};
	uint8_t mad[CM_MAD_LEN];
	struct roce_pkt p = {.opcode = UD_SEND_ONLY, .dest_qp = CM_QP, .qkey = (uint32_t)CM_QKEY,
			     .src_qp = CM_QP, .payload = mad, .payload_len = CM_MAD_LEN};

	if (v & 8)
		m.local_id = fuzz_u8(in);
	if (v & 0x10)
		m.remote_id = fuzz_u32(in);
	if (v & 0x20) {
		m.qpn = fuzz_u32(in) & BTH_PSN_MASK;
		m.va = fuzz_log(in);
	}
	if (v & 0x40) {
		m.psn = fuzz_u32(in) & BTH_PSN_MASK;
		m.region_bytes = fuzz_log(in);
	}
	if (v & 0x80) {
		m.mtu = cm_mtu_of(fuzz_u8(in) & 7);
		m.tos = fuzz_u8(in);
	}
	cm_build(mad, &m);
	send_roce(w, in, &p);
}

// Of ARP or neighbour discovery.
static void op_neighbour(struct world *w, struct fuzz_in *in)
{
	unsigned v = fuzz_u8(in);
	struct neighbour_msg m = {.family = v & 32 ? 6 : 4, .request = v & 4};
	uint8_t frame[NEIGHBOUR_MSG_MAX + ND_OPTION_LEN + FRAME_TAG_LEN];
	uint32_t len;

	if (v & 32) {
		ip_key_put(m.sender, ip_of(true, PEER_IP + (v & 3)));
		ip_key_put(m.target, ip_of(true, OWN_IP));
	} else {
		be32_put(m.sender, PEER_IP + (v & 3));
		be32_put(m.target, OWN_IP);
	}
	memcpy(m.sender_mac, peer_mac, 6);
	memcpy(m.to_mac, own_mac, 6);
	len = neighbour_build(frame, &m);
	if (v & 32 && v & 128)
		len = nd_add_nonce(frame, len);
	if (v & 64) {
		memmove(frame + 16, frame + 12, len - 12);
		be32_put(frame + 12, (uint32_t)ETYPE_VLAN << 16 | VID);
		len += 4;
	}
	if (v & 8)
		damage(in, frame, len);
	arrive(w, frame, v & 16 ? fuzz_u8(in) % len + 1u : len);
}

static void op_pause(struct world *w, struct fuzz_in *in, bool whole_link)
{
	struct pfc_times t = {.enable = fuzz_u8(in)};
	uint16_t quanta = fuzz_u16(in);
	uint8_t frame[PFC_FRAME_LEN];

	for (unsigned c = 0; c < 8; c++)
		t.quanta[c] = quanta;
	(whole_link ? pause_frame_build : pfc_frame_build)(frame, peer_mac, &t);
	arrive(w, frame, sizeof(frame));
}

// ---- the NIC's own user

static void op_flow(struct world *w, struct fuzz_in *in)
{
	struct nic_flow f = {.first_psn = NIC_RANDOM_PSN};
	unsigned v = fuzz_u8(in);
	uint32_t id;

	f.dst_ip = ip_of(v & 16, PEER_IP + (v & 3));
	f.tag = (struct frame_tag){v & 4, (uint8_t)(v >> 5), v & 8 ? VID : 0};
	f.op = fuzz_u8(in) % 4; // one too many
	f.cls = fuzz_u8(in) % 9;
	f.mtu = cm_mtu_of(fuzz_u8(in) % 6);
	f.msg_bytes = (uint32_t)fuzz_log(in);
	f.depth = fuzz_u8(in) % 130;
	f.n_messages = fuzz_u8(in);
	f.interval_ns = fuzz_log(in) & 0xffffff;
	f.rate_bps = fuzz_log(in) & 0xffffffffff;
	if (f.interval_ns != 0 && f.interval_ns < 100)
		f.interval_ns = 100; // an operator's own livelock is no finding
	if (nic_flow_add(w->nic, &f, &id) == 0)
		FUZZ_CHECK(id < QPS);
}

static void op_control(struct world *w, struct fuzz_in *in)
{
	unsigned v = fuzz_u8(in), id = v >> 3 & 3;
	struct storm_params s = {.classes = fuzz_u8(in), .quanta = 100, .start_ns = w->now_ns,
				 .every_ns = 1000, .for_ns = 20000, .silent_end = v & 0x80};

	if (w->nic->qps[id].conn.initiator && w->nic->qps[id].conn.state != CONN_FREE) {
		if ((v & 7) == 0)
			nic_flow_stop(w->nic, id);
		else if ((v & 7) == 1)
			nic_flow_close(w->nic, id);
		else if ((v & 7) == 2)
			nic_flow_set_rate(w->nic, id, fuzz_log(in) & 0xffffffffff);
		(void)nic_flow_status(w->nic, id);
	}
	if ((v & 7) == 3)
		nic_storm_start(w->nic, &s);
	else if ((v & 7) == 4)
		nic_storm_stop(w->nic, w->now_ns);
	w->refuse = (v & 7) == 5 ? v >> 3 : w->refuse;
	w->no_room = (v & 7) == 6 ? v & 0x80 : w->no_room;
	w->store = (v & 7) == 7 ? (v >> 3) * 4u : w->store;
}

// ---- running

static void check_qp(const struct qp *qp)
{
	const struct requester *r = &qp->req;

	FUZZ_CHECK(qp->conn.state <= CONN_FAILED && qp->cls < NIC_CLASSES);
	FUZZ_CHECK(qp->resp.n_reads <= RESP_MAX_READS && qp->peer < PEERS);
	FUZZ_CHECK(qp->resp.epsn <= BTH_PSN_MASK);
	FUZZ_CHECK(r->una <= r->nxt && r->nxt <= r->max && r->answer_seq <= r->max);
	FUZZ_CHECK(req_outstanding(r) <= REQ_MAX_MSGS && r->cur - r->head <= r->tail - r->head);
	FUZZ_CHECK(qp->completed <= qp->posted);
	FUZZ_CHECK(qp->conn.initiator || qp->posted == 0);
}

static void check_nic(const struct world *w)
{
	const struct nic *nic = w->nic;
	unsigned ready = 0;

	FUZZ_CHECK(nic->n_peers <= PEERS && nic->n_ctl <= NIC_CTL && nic->n_held <= NIC_TX_BATCH);
	for (unsigned i = 0; i < QPS; i++)
		check_qp(&nic->qps[i]);
	for (unsigned c = 0; c < NIC_CLASSES; c++)
		ready += nic->ready[c].n;
	FUZZ_CHECK(ready <= QPS);
}

// Steps until nothing is due at this instant.
static void settle(struct world *w)
{
	unsigned n = 0;

	do {
		uint64_t before = w->n_sent;

		w->wake_ns = nic_step(w->nic, w->now_ns);
		FUZZ_CHECK(w->n_sent - before <= NIC_TX_FRAMES + NIC_TX_BATCH + 1);
		FUZZ_CHECK(n++ < STEPS_AT_ONCE);
	} while (w->n != 0 || w->wake_ns <= w->now_ns);
	if (w->line && w->now_ns < w->free_ns && w->free_ns < w->wake_ns)
		w->wake_ns = w->free_ns;
	check_nic(w);
}

// Up to `steps` wake-ups, then on to the end of the time.
static void run(struct world *w, uint64_t for_ns, unsigned steps)
{
	uint64_t end = w->now_ns + for_ns;

	while (steps-- != 0 && w->wake_ns < end) {
		w->now_ns = w->wake_ns > w->now_ns ? w->wake_ns : w->now_ns;
		settle(w);
	}
	w->now_ns = end;
	settle(w);
}

static void op(struct world *w, struct fuzz_in *in)
{
	unsigned v = fuzz_u8(in);

	switch (v & 0xf) {
	case 0: op_raw(w, in); break;
	case 1:
	case 2:
	case 3: op_request(w, in, 1 + (v >> 4 & 7)); break;
	case 4:
	case 5:
	case 6: op_response(w, in); break;
	case 7:
	case 8: op_cm(w, in); break;
	case 9: op_neighbour(w, in); break;
	case 10: op_pause(w, in, v & 0x10); break;
	case 11: op_flow(w, in); break;
	case 12: op_control(w, in); break;
	default: run(w, fuzz_log(in) & 0x3ffffffff, 1 + (v >> 4)); // up to 17 s
	}
	if (v & 0x80)
		settle(w);
}

static void open_world(struct world *w, unsigned v, unsigned speed)
{
	static const uint64_t speeds[] = {1000000000, 10000000000, 100000000000, 400000000000};
	struct nic_config c;

	*w = (struct world){.now_ns = 1000000, .line = (v & 12) == 12};
	nic_config_default(&c);
	c.ops = &ops;
	c.drv = w;
	c.pool = pool;
	c.facts = (struct port_facts){.max_frame = LONGEST, .tx_burst = v & 4 ? 1 : 0,
				      .wakes = v & 8};
	memcpy(c.facts.mac, own_mac, 6);
	c.ip = ip_of(false, OWN_IP);
	c.ip6 = ip_of(true, OWN_IP);
	c.any_vlan = speed & 0x40;
	c.tag = (struct frame_tag){.on = speed & 0x80, .vid = VID};
	c.speed_bps = speeds[speed % 4];
	c.max_qps = QPS;
	c.max_peers = PEERS;
	c.window = 1u << (v >> 4);
	c.listen = !(v & 1);
	c.ignore_pause = v & 2;
	c.whole_link = speed & 0x20;
	c.selective = speed & 0x10;
	c.verify = true;
	c.cc = cc_presets[(speed >> 2) % N_CC_PRESETS].config;
	FUZZ_CHECK(nic_create(&c, &w->nic) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char *args[] = {"fuzz", "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry",
			       "--log-level=critical", "-m", "64", "-l", "0", NULL};

	(void)argc;
	(void)argv;
	FUZZ_CHECK(eal_init_unbound(10, args) >= 0);
	pool = rte_pktmbuf_pool_create("fuzz", POOL, 0, 0, LONGEST + 128, SOCKET_ID_ANY);
	FUZZ_CHECK(pool != NULL);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = {data, len};
	struct world w;
	unsigned v = fuzz_u8(&in);

	open_world(&w, v, fuzz_u8(&in));
	for (unsigned i = 0; i < MAX_OPS && in.left != 0; i++)
		op(&w, &in);
	settle(&w);
	nic_destroy(w.nic);
	for (; w.n != 0; w.n--, w.head = (w.head + 1) % IN_RING)
		rte_pktmbuf_free(w.in[w.head]);
	FUZZ_CHECK(rte_mempool_avail_count(pool) == POOL);
	return 0;
}
