// SPDX-License-Identifier: Apache-2.0
// Any bytes as a frame: the parser stays inside and hangs together, classification stays in range,
// every edit of PCP, DSCP, ECN, TTL and tags does what it says and nothing else (RFC 1624, 802.1Q
// 6.9, the iCRC of InfiniBand annex A17), and ARP and neighbour discovery are read as they are
// written.
//
//   input: 6 bytes of choices, N_MAPS bytes of class maps, the frame
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include <rte_mbuf.h>

#include "dataplane/forward/bridge.h"
#include "dataplane/forward/l3.h"
#include "dataplane/packet/classify.h"
#include "dataplane/packet/edit.h"
#include "dataplane/packet/icrc.h"
#include "dataplane/packet/neighbour.h"
#include "dataplane/packet/roce.h"
#include "dataplane/packet/trim.h"
#include "tests/pkt_same.h"

enum { MAX_FRAME = 9600, ROOM = 32, N_MAPS = 33, ROCE_HEADERS = 8 + 12 + 20 + 4 };

struct choices {
	uint8_t pcp, dscp, trust, push_pcp;
	bool mend; // gives an IPv4 header its right checksum first
	uint16_t vid;
};

static bool is_ip(const struct pkt_info *p)
{
	return p->kind == PKT_IPV4 || p->kind == PKT_IPV6;
}

static void check_sane(const struct pkt_info *p, uint32_t len)
{
	FUZZ_CHECK(p->kind <= PKT_INOF && p->n_tags <= PARSE_MAX_TAGS);
	FUZZ_CHECK(p->l3_off == 14 + 4 * p->n_tags && p->l3_off <= len);
	FUZZ_CHECK(p->dscp < 64 && p->ecn < 4);
	FUZZ_CHECK(is_ip(p) || (p->dscp == 0 && p->ecn == 0 && p->l4_off == 0 && !p->roce));
	FUZZ_CHECK(p->l4_off < len && (p->l4_off == 0 || p->l4_off >= p->l3_off + 20));
	FUZZ_CHECK(!p->roce || (p->l4_off + 20u <= len && p->udp_dport == ROCE_UDP_PORT));
	FUZZ_CHECK(p->l4_off != 0 || (p->udp_sport == 0 && p->udp_dport == 0));
	FUZZ_CHECK(!p->bad_l3 || p->kind == PKT_OTHER);
	FUZZ_CHECK(!p->fragment || (p->l4_off == 0 && is_ip(p)));
	FUZZ_CHECK(p->reserved_dst == DST_ORDINARY || p->group_dst);
	FUZZ_CHECK(p->n_tags != 0 || p->tci == 0);
}

// One's complement sum of the header as it stands: 0xffff where the checksum is right.
static uint32_t ipv4_sum(const uint8_t *l3)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < (l3[0] & 0xfu) * 4; i += 2)
		sum += be16_get(l3 + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static bool csum_right(const uint8_t *frame, const struct pkt_info *p)
{
	return p->kind == PKT_IPV4 && ipv4_sum(frame + p->l3_off) == 0xffff;
}

static void mend_csum(uint8_t *l3)
{
	be16_put(l3 + offsetof(struct ipv4_hdr, csum), 0);
	be16_put(l3 + offsetof(struct ipv4_hdr, csum), (uint16_t)~ipv4_sum(l3));
}

static void check_class(struct fuzz_in *in, const struct pkt_info *p, uint8_t trust)
{
	struct classify_params c = {.trust = trust};
	bool is_bpdu = p->reserved_dst == DST_STP && (trust != TRUST_DSCP || !is_ip(p));
	struct classified got;

	c.default_class = fuzz_u8(in) & 7;
	c.control_class = c.default_class ^ 1;
	for (unsigned i = 0; i < 64; i++)
		c.dscp_to_class[i] = i % 4 == 0 ? fuzz_u8(in) & 7 : i & 7;
	for (unsigned i = 0; i < 64; i++)
		c.dscp_to_color[i] = (uint8_t)((i % 8 == 0 ? fuzz_u8(in) : i) % N_COLORS);
	for (unsigned i = 0; i < 8; i++)
		c.pcp_to_class[i] = fuzz_u8(in) & 7;
	got = classify(&c, p);
	FUZZ_CHECK(got.cls < N_CLASSES && got.color < N_COLORS);
	if (is_bpdu)
		FUZZ_CHECK(got.cls == c.control_class);
	else if (trust == TRUST_PORT || (!is_ip(p) && p->n_tags == 0))
		FUZZ_CHECK(got.cls == c.default_class);
	if (trust == TRUST_DSCP && is_ip(p))
		FUZZ_CHECK(got.cls == c.dscp_to_class[p->dscp]);
	if (trust == TRUST_PCP && p->n_tags != 0 && !is_bpdu)
		FUZZ_CHECK(got.cls == c.pcp_to_class[p->tci >> 13]);
	FUZZ_CHECK(got.color == (is_ip(p) ? c.dscp_to_color[p->dscp] : GREEN));
}

// Bytes of a copy that may differ: those of the header's ToS and checksum, or of the tag.
static void check_untouched(const uint8_t *before, const uint8_t *after, uint32_t len,
			    const uint32_t may[4])
{
	for (uint32_t i = 0; i < len; i++)
		if (i != may[0] && i != may[1] && i != may[2] && i != may[3])
			FUZZ_CHECK(before[i] == after[i]);
}

// DSCP, then CE, on a copy of the frame.
static void check_ip_edit(const uint8_t *frame, uint32_t len, const struct pkt_info *p,
			  uint8_t dscp)
{
	uint8_t *copy = fuzz_exact(frame, len), *l3 = copy + p->l3_off;
	bool right = csum_right(frame, p), crc = icrc_check(frame, len, p);
	uint32_t off = p->l3_off;
	uint32_t may[4] = {p->kind == PKT_IPV4 ? off + 1 : off, off + 1, off + 10, off + 11};
	struct pkt_info q;

	if (p->kind == PKT_IPV6)
		may[2] = may[3] = off;
	edit_dscp(l3, p->kind, dscp);
	FUZZ_CHECK(parse(copy, len, &q) && q.dscp == dscp && q.ecn == p->ecn);
	FUZZ_CHECK(!right || csum_right(copy, &q));
	edit_ecn_ce(l3, p->kind);
	FUZZ_CHECK(parse(copy, len, &q) && q.dscp == dscp && q.ecn == ECN_CE);
	FUZZ_CHECK(!right || csum_right(copy, &q));
	FUZZ_CHECK(icrc_check(copy, len, &q) == crc);
	check_untouched(frame, copy, len, may);
	q.dscp = p->dscp;
	q.ecn = p->ecn;
	FUZZ_CHECK(pkt_same(&q, p));
	free(copy);
}

// A frame that has no right iCRC gets one; it must then hold, also under CE.
static void check_icrc(const uint8_t *frame, uint32_t len, const struct pkt_info *p)
{
	uint8_t *copy = fuzz_exact(frame, len), *l3 = copy + p->l3_off;
	uint32_t hlen = p->kind == PKT_IPV6 ? 40 : (l3[0] & 0xfu) * 4;
	uint32_t total = p->kind == PKT_IPV6 ? 40u + be16_get(l3 + 4) : be16_get(l3 + 2);

	if (total >= hlen + 8 + 12 + ROCE_ICRC_LEN && p->l4_off == p->l3_off + hlen) {
		icrc_put(l3 + total - ROCE_ICRC_LEN, icrc(l3, total - ROCE_ICRC_LEN, p->kind));
		FUZZ_CHECK(icrc_check(copy, len, p));
		check_ip_edit(copy, len, p, p->dscp ^ 0x15);
		copy[p->l4_off + 8] ^= 1; // the opcode is covered
		FUZZ_CHECK(!icrc_check(copy, len, p));
	}
	free(copy);
}

static void check_pcp(const uint8_t *frame, uint32_t len, const struct pkt_info *p, uint8_t pcp)
{
	uint8_t *copy = fuzz_exact(frame, len);
	struct pkt_info q;

	edit_pcp(copy, pcp);
	FUZZ_CHECK(parse(copy, len, &q) && q.tci == ((p->tci & 0x1fff) | pcp << 13));
	check_untouched(frame, copy, len, (uint32_t[]){14, 14, 14, 14});
	q.tci = p->tci;
	FUZZ_CHECK(pkt_same(&q, p));
	free(copy);
}

// An mbuf with the frame in the middle of its own heap block.
static struct rte_mbuf mbuf_of(const uint8_t *frame, uint32_t len, uint8_t **block)
{
	uint8_t *p = malloc(len + 2 * ROOM);
	struct rte_mbuf m = {.buf_len = (uint16_t)(len + 2 * ROOM), .data_off = ROOM,
			     .data_len = (uint16_t)len, .pkt_len = len, .nb_segs = 1};

	FUZZ_CHECK(p != NULL);
	memset(p, 0xee, len + 2 * ROOM);
	memcpy(p + ROOM, frame, len);
	m.buf_addr = p;
	*block = p;
	return m;
}

// A tag put on is the tag that the parser reads; taken off again, the old frame is back.
static void check_tags(const uint8_t *frame, uint32_t len, const struct pkt_info *p,
		       const struct choices *c)
{
	uint8_t *block;
	struct rte_mbuf m = mbuf_of(frame, len, &block);
	struct pkt_info q;
	int by = bridge_apply_tag(&m, TAG_PUSH, c->vid, c->push_pcp);

	FUZZ_CHECK(by == 4 && m.pkt_len == len + 4 && m.data_len == len + 4);
	FUZZ_CHECK(parse(rte_pktmbuf_mtod(&m, uint8_t *), m.pkt_len, &q));
	FUZZ_CHECK(q.n_tags != 0 && q.tci == (unsigned)(c->push_pcp << 13 | c->vid));
	FUZZ_CHECK(q.n_tags != p->n_tags + 1 || (q.dscp == p->dscp && q.l3_off == p->l3_off + 4));
	FUZZ_CHECK(bridge_apply_tag(&m, TAG_SET_VID, c->vid ^ 1u, 0) == 0);
	FUZZ_CHECK(parse(rte_pktmbuf_mtod(&m, uint8_t *), m.pkt_len, &q));
	FUZZ_CHECK(q.tci == (unsigned)(c->push_pcp << 13 | (c->vid ^ 1)));
	by = bridge_apply_tag(&m, TAG_POP, 0, 0);
	FUZZ_CHECK((uint32_t)((int)len + 4 + by) == m.pkt_len && m.pkt_len >= len);
	FUZZ_CHECK(m.pkt_len == (len < 60 && len >= 56 ? 60 : len));
	FUZZ_CHECK(memcmp(rte_pktmbuf_mtod(&m, uint8_t *), frame, len) == 0);
	for (uint32_t i = len; i < m.pkt_len; i++)
		FUZZ_CHECK(rte_pktmbuf_mtod(&m, uint8_t *)[i] == 0);
	free(block);
}

// Trimmed, the frame reads as it did, but for the DSCP and the end. size: any.
static void check_trim(const uint8_t *frame, uint32_t len, const struct pkt_info *p, uint8_t dscp,
		       uint16_t size, bool exact)
{
	const struct trim_params t = {.size = (uint16_t)(TRIM_LEAST + size), .dscp = dscp,
				      .exact = exact};
	uint8_t *copy = fuzz_exact(frame, len);
	const struct trim_frame whole = {.bytes = copy, .len = len, .stored = len,
					 .l3_off = p->l3_off, .kind = p->kind};
	bool right = csum_right(frame, p);
	uint32_t cut = trim_len(&t, &whole);
	struct pkt_info q;

	FUZZ_CHECK(cut <= len && (cut == TRIM_REFUSED || cut == len || cut == t.size));
	FUZZ_CHECK(cut != TRIM_REFUSED || !is_ip(p) || p->group_dst ||
		   p->l3_off + (p->kind == PKT_IPV4 ? (frame[p->l3_off] & 15u) * 4 : 40u) > t.size);
	if (cut != TRIM_REFUSED) {
		uint8_t *rest;

		trim_edit(&t, &whole, cut);
		rest = fuzz_exact(copy, cut);
		FUZZ_CHECK(parse(rest, cut, &q) && q.l3_off == p->l3_off);
		FUZZ_CHECK(q.bad_l3 ? !exact : q.dscp == dscp && q.ecn == p->ecn);
		FUZZ_CHECK(!right || ipv4_sum(rest + p->l3_off) == 0xffff);
		free(rest);
	}
	free(copy);
}

// A hop less: the checksum follows, the iCRC and the flow do not notice.
static void check_hop(const uint8_t *frame, uint32_t len, const struct pkt_info *p, bool mended)
{
	uint8_t *copy = fuzz_exact(frame, len);
	uint32_t ttl = p->l3_off + (p->kind == PKT_IPV4 ? 8u : 7u);
	uint32_t csum = p->kind == PKT_IPV4 ? p->l3_off + 10u : ttl;
	struct pkt_info q;

	if (p->kind == PKT_IPV4)
		FUZZ_CHECK(ipv4_csum_holds(frame + p->l3_off) ==
			   (ipv4_sum(frame + p->l3_off) == 0xffff));
	if (copy[ttl] != 0) {
		edit_hop(copy + p->l3_off, p->kind);
		FUZZ_CHECK(copy[ttl] == frame[ttl] - 1);
		check_untouched(frame, copy, len,
				(uint32_t[]){ttl, ttl, csum, csum + (csum != ttl)});
		FUZZ_CHECK(parse(copy, len, &q) && pkt_same(&q, p));
		FUZZ_CHECK(p->kind != PKT_IPV4 || !mended ||
			   ipv4_csum_holds(copy + p->l3_off));
		for (unsigned qp = 0; qp < 2; qp++)
			FUZZ_CHECK(flow_hash(1, copy, len, &q, qp) ==
				   flow_hash(1, frame, len, p, qp));
	}
	free(copy);
}

// What is understood can be said again.
static void check_neighbour(const uint8_t *frame, uint32_t len)
{
	uint8_t out[NEIGHBOUR_MSG_MAX];
	struct neighbour_msg m, again;

	if (!neighbour_parse(frame, len, &m))
		return;
	FUZZ_CHECK((m.family == 4 || m.family == 6) && !(m.from_mac[0] & 1));
	if (!m.has_mac)
		return;
	FUZZ_CHECK(!(m.sender_mac[0] & 1));
	memcpy(m.to_mac, m.sender_mac, sizeof(m.to_mac));
	FUZZ_CHECK(neighbour_parse(out, neighbour_build(out, &m), &again) ||
		   (m.family == 6 && m.request && memcmp(m.sender, (uint8_t[16]){0}, 16) == 0));
	if (m.family == 4 || m.request)
		return;
	FUZZ_CHECK(memcmp(again.sender, m.sender, 16) == 0);
	FUZZ_CHECK(memcmp(again.target, m.target, 16) == 0);
}

// What is not stored is not read, wherever the frame was cut off.
static void check_roce(const uint8_t *frame, uint32_t len, const struct pkt_info *p)
{
	uint32_t most = p->l4_off + ROCE_HEADERS;

	for (uint32_t stored = p->l4_off; stored <= len && stored <= most; stored++) {
		uint8_t *copy = malloc(stored);
		struct roce_msg m;

		FUZZ_CHECK(copy != NULL);
		memcpy(copy, frame, stored);
		if (roce_msg_read(copy, stored, p, &m))
			FUZZ_CHECK(m.mad == NULL || (m.mad > copy && m.mad_len <= stored &&
						     m.mad + m.mad_len <= copy + stored));
		free(copy);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static void check_frame(uint8_t *frame, uint32_t len, struct fuzz_in *maps,
			const struct choices *c)
{
	struct pkt_info p;
	bool fits;

	FUZZ_CHECK(parse(frame, len, &p) == (len >= 14));
	if (len < 14)
		return;
	FUZZ_CHECK(template_agrees(frame, len, &p, &fits));
	check_sane(&p, len);
	check_class(maps, &p, c->trust);
	if (p.kind == PKT_IPV4 && c->mend)
		mend_csum(frame + p.l3_off);
	if (is_ip(&p))
		check_ip_edit(frame, len, &p, c->dscp);
	if (is_ip(&p))
		check_hop(frame, len, &p, c->mend);
	check_trim(frame, len, &p, c->dscp, c->vid, c->mend);
	if (p.roce) {
		check_icrc(frame, len, &p);
		check_roce(frame, len, &p);
	}
	(void)is_nd(frame, len, &p);
	check_neighbour(frame, len);
	if (p.n_tags != 0)
		check_pcp(frame, len, &p, c->pcp);
	check_tags(frame, len, &p, c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = {data, len};
	uint8_t first = fuzz_u8(&in);
	struct choices c = {.pcp = first & 7, .mend = first & 8};
	size_t n_maps = N_MAPS, n = MAX_FRAME;
	struct fuzz_in maps;
	const uint8_t *at;
	uint8_t *frame;

	c.dscp = fuzz_u8(&in) & 63;
	c.trust = fuzz_u8(&in) % 3;
	c.push_pcp = fuzz_u8(&in) & 7;
	c.vid = fuzz_u16(&in) & 0xfff;
	maps.at = fuzz_take(&in, &n_maps);
	maps.left = n_maps;
	at = fuzz_take(&in, &n);
	frame = fuzz_exact(at, n);
	check_frame(frame, (uint32_t)n, &maps, &c);
	free(frame);
	return 0;
}
