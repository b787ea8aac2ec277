// SPDX-License-Identifier: Apache-2.0
#include "dataplane/impair_rule.h"

#include <string.h>

#include "dataplane/packet/icrc.h"
#include "dataplane/packet/roce.h"
#include "dataplane/packet/wire.h"

enum { CM_QP = 1 };

const char *const impair_why_name[N_IMPAIR_WHYS] = {
#define X(id, name) [IMPAIR_BY_##id] = name,
	IMPAIR_WHYS(X)
#undef X
};

const char *const impair_action_name[N_IMPAIR_ACTIONS] = {
#define X(id, name, ...) [IMPAIR_ACT_##id] = name,
	IMPAIR_ACTIONS(X)
#undef X
};

const char *const impair_direction_name[N_IMPAIR_DIRECTIONS] = {
	[IMPAIR_IN] = "in", [IMPAIR_OUT] = "out"};

static bool is_ip(const struct pkt_info *pkt)
{
	return pkt->kind == PKT_IPV4 || pkt->kind == PKT_IPV6;
}

// ---- flows

static uint64_t mix(uint64_t h, uint64_t word)
{
	return rng_mix((h ^ word) + 0x9e3779b97f4a7c15u);
}

static uint64_t mix_bytes(uint64_t h, const uint8_t *p, unsigned n)
{
	for (; n >= 4; n -= 4, p += 4)
		h = mix(h, be32_get(p));
	return h;
}

uint64_t impair_flow(const struct impair_frame *f)
{
	const struct pkt_info *pkt = f->pkt;
	const uint8_t *l3 = f->eth + pkt->l3_off;
	uint64_t h;

	if (!is_ip(pkt))
		return mix_bytes(0, f->eth, 2 * ETH_ALEN_);
	h = pkt->kind == PKT_IPV4 ? mix_bytes(4, l3 + 12, 8) : mix_bytes(6, l3 + 8, 32);
	if (pkt->roce)
		return mix(h, pkt->bth_dest_qp | 1ull << 32);
	h = mix(h, pkt->ip_proto);
	if (pkt->l4_off != 0 && (pkt->ip_proto == IP_PROTO_TCP || pkt->ip_proto == IP_PROTO_UDP) &&
	    pkt->l4_off + 4u <= f->stored)
		h = mix(h, be32_get(f->eth + pkt->l4_off));
	return h;
}

// ---- fields

static bool is_answer(const struct impair_frame *f, enum roce_role role)
{
	struct roce_msg msg;

	return f->pkt->roce && roce_msg_read(f->eth, f->stored, f->pkt, &msg) && msg.role == role;
}

static bool comes_first(struct impair_memory *memory, const struct impair_frame *f)
{
	uint64_t key, *slot;

	if (!f->pkt->roce)
		return true;
	key = mix(impair_flow(f), f->pkt->bth_psn) | 1;
	slot = &memory->once[key >> 32 & (IMPAIR_ONCE_FRAMES - 1)];
	if (*slot == key)
		return false;
	*slot = key;
	return true;
}

static bool word_holds(enum impair_field word, struct impair_memory *memory,
		       const struct impair_frame *f)
{
	const struct pkt_info *pkt = f->pkt;

	switch (word) {
	case IMPAIR_IPV4: return pkt->kind == PKT_IPV4;
	case IMPAIR_IPV6: return pkt->kind == PKT_IPV6;
	case IMPAIR_TCP: return is_ip(pkt) && pkt->ip_proto == IP_PROTO_TCP;
	case IMPAIR_UDP: return is_ip(pkt) && pkt->ip_proto == IP_PROTO_UDP;
	case IMPAIR_ROCE: return pkt->roce;
	case IMPAIR_DATA: return pkt->roce && pkt->roce_data && pkt->bth_dest_qp != CM_QP;
	case IMPAIR_CM: return pkt->roce && pkt->bth_dest_qp == CM_QP;
	case IMPAIR_ACK: return is_answer(f, ROCE_ROLE_ACK);
	case IMPAIR_NAK: return is_answer(f, ROCE_ROLE_NAK);
	case IMPAIR_CNP: return pkt->roce && pkt->bth_opcode == ROCE_CNP;
	case IMPAIR_ACKREQ: return pkt->roce && pkt->bth_ack_req;
	case IMPAIR_ONCE: return comes_first(memory, f);
	default: return false;
	}
}

// False: the frame does not have the field.
static bool field_of(enum impair_field field, const struct impair_memory *memory,
		     const struct impair_frame *f, uint32_t *out)
{
	const struct pkt_info *pkt = f->pkt;
	bool udp = is_ip(pkt) && pkt->ip_proto == IP_PROTO_UDP && pkt->l4_off != 0;

	switch (field) {
	case IMPAIR_LEN: *out = f->len; return true;
	case IMPAIR_CLASS: *out = f->cls; return true;
	case IMPAIR_VLAN: *out = pkt->tci & TCI_VID_MASK; return pkt->n_tags != 0;
	case IMPAIR_DSCP: *out = pkt->dscp; return is_ip(pkt);
	case IMPAIR_ECN: *out = pkt->ecn; return is_ip(pkt);
	case IMPAIR_PROTO: *out = pkt->ip_proto; return is_ip(pkt);
	case IMPAIR_SPORT: *out = pkt->udp_sport; return udp;
	case IMPAIR_DPORT: *out = pkt->udp_dport; return udp;
	case IMPAIR_OPCODE: *out = pkt->bth_opcode; return pkt->roce;
	case IMPAIR_QP: *out = pkt->bth_dest_qp; return pkt->roce;
	case IMPAIR_PSN: *out = pkt->bth_psn; return pkt->roce;
	case IMPAIR_FLOW: *out = (uint32_t)(mix(impair_flow(f), memory->seed) >> 48); return true;
	default: return false;
	}
}

// ---- tests

static bool address_holds(const struct impair_test *t, const struct impair_frame *f)
{
	const struct pkt_info *pkt = f->pkt;
	const uint8_t *a = f->eth + pkt->l3_off;
	unsigned whole = t->prefix / 8, bits = t->prefix % 8;

	if (pkt->kind != (t->family == 4 ? PKT_IPV4 : PKT_IPV6))
		return false;
	a += t->family == 4 ? 12 : 8;
	if (t->field == IMPAIR_DST)
		a += t->family == 4 ? 4 : 16;
	return (memcmp(a, t->addr, whole) == 0 &&
		(bits == 0 || ((a[whole] ^ t->addr[whole]) & 0xff00 >> bits & 0xff) == 0)) !=
	       t->differs;
}

static uint32_t remainder_of(uint32_t x, const struct impair_test *t)
{
	return (uint32_t)((unsigned __int128)(t->inverse * x) * t->divisor >> 64);
}

static bool test_holds(const struct impair_test *t, uint32_t *seen, struct impair_memory *memory,
		       const struct impair_frame *f)
{
	uint32_t v;

	if (t->field == IMPAIR_SRC || t->field == IMPAIR_DST)
		return address_holds(t, f);
	if (t->field == IMPAIR_RANDOM)
		return rng_next(&memory->rng) < t->inverse;
	if (t->field == IMPAIR_EVERY) {
		if (++*seen < t->high)
			return false;
		*seen = 0;
		return true;
	}
	if (t->field > IMPAIR_BEFORE_WORDS)
		return word_holds(t->field, memory, f);
	if (!field_of(t->field, memory, f, &v))
		return false;
	if (t->divisor != 0)
		v = remainder_of(v, t);
	return (v >= t->low && v <= t->high) != t->differs;
}

void impair_memory_init(struct impair_memory *m, uint64_t seed)
{
	memset(m, 0, sizeof(*m));
	m->seed = seed;
	rng_init(&m->rng, seed);
}

bool impair_matches(const struct impair_match *m, struct impair_memory *memory,
		    const struct impair_frame *f)
{
	unsigned at = m->n == 0 ? IMPAIR_HIT : 0;

	while (at < m->n)
		at = test_holds(&m->test[at], &memory->seen[at], memory, f) ? m->test[at].hit
									     : m->test[at].miss;
	return at == IMPAIR_HIT;
}

bool impair_icrc(const struct impair_frame *f, uint32_t *icrc, uint32_t *payload)
{
	const struct pkt_info *pkt = f->pkt;
	const uint8_t *l3 = f->eth + pkt->l3_off;
	uint32_t end;

	if (!pkt->roce)
		return false;
	end = pkt->l3_off + (pkt->kind == PKT_IPV4 ? be16_get(l3 + 2) : 40u + be16_get(l3 + 4));
	*payload = pkt->l4_off + (uint32_t)(sizeof(struct udp_hdr) + sizeof(struct bth_hdr));
	*icrc = end - ROCE_ICRC_LEN;
	return end <= f->len && end >= *payload + ROCE_ICRC_LEN;
}
