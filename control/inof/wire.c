// SPDX-License-Identifier: Apache-2.0
#include "control/inof/wire.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

const char *const inof_reason_name[N_INOF_REASONS] = {
	[INOF_NO_FAULT] = "none",
	[INOF_LINK_DOWN] = "link-down",
	[INOF_PFC_STORM] = "pfc-storm",
	[INOF_PACKET_ERROR] = "packet-error",
	[INOF_ZONE_CHANGE] = "zone-change",
	[INOF_ADDRESS_CHANGE] = "address-change",
	[INOF_AGED_OUT] = "aged-out",
	[INOF_BFD_DOWN] = "bfd-down",
};

const char *const inof_role_name[INOF_BOTH + 1] = {
	[INOF_TARGET] = "target", [INOF_INITIATOR] = "initiator", [INOF_BOTH] = "both"};

const char *const inof_protocol_name[INOF_ISCSI + 1] = {
	[INOF_ROCE] = "roce", [INOF_TCP] = "tcp", [INOF_ISCSI] = "iscsi"};

static const uint8_t group[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0d};

bool inof_ip_is_v6(struct ip_key ip)
{
	return ip.hi != 0 || ip.lo >> 32 != 0xffff;
}

static bool get_v4(struct ip_key *to, const uint8_t *at, unsigned len)
{
	if (len != 4)
		return false;
	*to = ip_key_v4(be32_get(at));
	return true;
}

// An IPv4 address in the form of IPv6 is none: it would stand for the IPv4 address here.
static bool get_v6(struct ip_key *to, const uint8_t *at, unsigned len)
{
	if (len != 16)
		return false;
	*to = ip_key_v6(at);
	return inof_ip_is_v6(*to);
}

static void put_ip(uint8_t *p, struct ip_key ip)
{
	if (!inof_ip_is_v6(ip)) {
		be32_put(p, (uint32_t)ip.lo);
		return;
	}
	be64_put(p, ip.hi);
	be64_put(p + 8, ip.lo);
}

void inof_ip_print(struct ip_key ip, char out[INOF_IP_TEXT])
{
	uint8_t bytes[16];

	put_ip(bytes, ip);
	(void)!inet_ntop(inof_ip_is_v6(ip) ? AF_INET6 : AF_INET, bytes, out, INOF_IP_TEXT);
}

// An address that one station may have.
static bool ip_holds(struct ip_key ip)
{
	return inof_ip_is_v6(ip) ? ipv6_routable(ip) : ipv4_routable((uint32_t)ip.lo);
}

static bool get_nqn(struct inof_nqn *to, const uint8_t *at, unsigned len)
{
	*to = (struct inof_nqn){.len = (uint8_t)len};
	if (len > INOF_NQN_MAX)
		return false;
	for (unsigned i = 0; i < len; i++)
		if (at[i] <= ' ' || at[i] >= 0x7f)
			return false;
	memcpy(to->text, at, len);
	return true;
}

static bool service_holds(const struct inof_service *s)
{
	return s->role >= INOF_TARGET && s->role <= INOF_BOTH && s->protocol >= INOF_ROCE &&
	       s->protocol <= INOF_ISCSI;
}

// ---- registrations

enum {
	REG_VERSION = 1,
	REG_V4 = 1,
	REG_V6 = 2,
	REG_FAMILY = 0xf,
	REG_SUBSCRIBES = 0x80,
	NVMEOF_VERSION = 0x0101,
	N_IDENTITY_TLVS = 3,
};

struct registration_tlv {
	struct be32 organization; // and subtype
	uint8_t version;
	uint8_t family_service;
	struct be16 reserved;
	uint8_t ip[16]; // IPv4: the first four
	uint8_t role, protocol;
	struct be16 protocol_version, port;
	uint8_t nqn_len;
	uint8_t nqn[];
};
static_assert(sizeof(struct registration_tlv) == 31, "length without the name");

static bool get_registration(struct inof_registration *r, const struct lldp_tlv *t)
{
	const struct registration_tlv *w = (const void *)t->value;
	bool holds;

	if (t->len < sizeof(*w) || t->len != sizeof(*w) + w->nqn_len || w->version != REG_VERSION)
		return false;
	switch (w->family_service & REG_FAMILY) {
	case REG_V4: holds = get_v4(&r->ip, w->ip, 4); break;
	case REG_V6: holds = get_v6(&r->ip, w->ip, 16); break;
	default: return false;
	}
	r->subscribes = (w->family_service & REG_SUBSCRIBES) != 0;
	r->service.role = w->role;
	r->service.protocol = w->protocol;
	r->service.port = be16_get(&w->port);
	return holds && ip_holds(r->ip) && service_holds(&r->service) &&
	       get_nqn(&r->service.nqn, w->nqn, w->nqn_len);
}

enum inof_found inof_find_registration(const uint8_t *frame, uint32_t len,
				       struct inof_registration *out, bool *alone)
{
	const uint8_t *at = lldp_first(frame), *end = frame + len;
	unsigned n = 0, n_found = 0;
	struct inof_registration r = {0};
	struct lldp_tlv t;
	bool good = true;

	for (; lldp_next(&at, end, &t); n++) {
		if (t.organization != INOF_LLDP)
			continue;
		n_found++;
		good = n_found == 1 && get_registration(&r, &t);
	}
	*alone = n == N_IDENTITY_TLVS + n_found;
	if (n_found == 0)
		return INOF_NONE;
	if (!good)
		return INOF_BAD;
	*out = r;
	return INOF_FOUND;
}

bool inof_read_registration(const uint8_t *tlv, uint16_t len, struct inof_registration *out)
{
	const uint8_t *at = tlv;
	struct lldp_tlv t;

	*out = (struct inof_registration){0};
	return lldp_next(&at, tlv + len, &t) && at == tlv + len && t.organization == INOF_LLDP &&
	       get_registration(out, &t);
}

uint16_t inof_build_registration(uint8_t out[INOF_TLV_MAX], const struct inof_registration *r)
{
	enum { TYPE_SHIFT = 9, TLV_HDR = 2 };
	struct registration_tlv *w = (void *)(out + TLV_HDR);
	uint16_t len = (uint16_t)(sizeof(*w) + r->service.nqn.len);

	memset(w, 0, sizeof(*w));
	be16_put(out, (uint16_t)(LLDP_ORGANIZATION << TYPE_SHIFT | len));
	be32_put(&w->organization, INOF_LLDP);
	w->version = REG_VERSION;
	w->family_service = (uint8_t)((inof_ip_is_v6(r->ip) ? REG_V6 : REG_V4) |
				      (r->subscribes ? REG_SUBSCRIBES : 0));
	put_ip(w->ip, r->ip);
	w->role = r->service.role;
	w->protocol = r->service.protocol;
	be16_put(&w->protocol_version, NVMEOF_VERSION);
	be16_put(&w->port, r->service.port);
	w->nqn_len = r->service.nqn.len;
	memcpy(w->nqn, r->service.nqn.text, r->service.nqn.len);
	return (uint16_t)(TLV_HDR + len);
}

// ---- frames

enum {
	FRAME_HDR = 8, // version, reserved, length of what follows, four reserved bytes
	OFF_VERSION = 14,
	OFF_TLV_LEN = 16,
	OFF_TLVS = 14 + FRAME_HDR,
	TLV_HDR = 3, // type, then length without the header
	SERVICE_LEN = 7,
	ETH_LEAST = 60,
};

enum part {
	PART_SRC_V4 = 1,
	PART_DST_V4,
	PART_SRC_V6,
	PART_DST_V6,
	PART_SEQ,
	PART_STATE,
	PART_REASON,
	PART_SERVICE,
	N_PARTS,
};

enum {
	V4_PAIR = 1 << PART_SRC_V4 | 1 << PART_DST_V4,
	V6_PAIR = 1 << PART_SRC_V6 | 1 << PART_DST_V6,
	NOTICE_REST = 1 << PART_SEQ | 1 << PART_STATE | 1 << PART_REASON | 1 << PART_SERVICE,
	ACK_REST = 1 << PART_SEQ,
};

bool inof_open(const uint8_t *frame, uint32_t len, struct inof_reader *out)
{
	uint16_t tlv_len;

	if (len < OFF_TLVS || len > INOF_FRAME_MAX || memcmp(frame, group, sizeof(group)) != 0 ||
	    frame[OFF_VERSION] > INOF_VERSION)
		return false;
	tlv_len = be16_get(frame + OFF_TLV_LEN);
	if (tlv_len == 0 || tlv_len > len - OFF_TLVS)
		return false;
	*out = (struct inof_reader){.at = frame + OFF_TLVS, .end = frame + OFF_TLVS + tlv_len,
				    .version = frame[OFF_VERSION]};
	return true;
}

// A type and a value at *at, which moves on. False: they reach beyond the end.
static bool next_tlv(const uint8_t **at, const uint8_t *end, uint8_t *type, uint16_t *len)
{
	if (end - *at < TLV_HDR || be16_get(*at + 1) > end - *at - TLV_HDR)
		return false;
	*type = **at;
	*len = be16_get(*at + 1);
	*at += TLV_HDR + *len;
	return true;
}

// State and reason have one byte in version 0 and four in version 1.
static bool get_word(const uint8_t *value, unsigned len, uint8_t version, uint32_t most,
		     uint32_t *out)
{
	if (len != (version == 0 ? 1 : 4))
		return false;
	*out = len == 1 ? value[0] : be32_get(value);
	return *out <= most;
}

static bool get_service(struct inof_service *s, const uint8_t *value, unsigned len)
{
	if (len < SERVICE_LEN || len != SERVICE_LEN + (unsigned)value[6])
		return false;
	s->role = value[0];
	s->protocol = value[1];
	s->port = be16_get(value + 4);
	return service_holds(s) && get_nqn(&s->nqn, value + SERVICE_LEN, value[6]);
}

static bool get_part(struct inof_message *m, enum part part, const uint8_t *value, unsigned len,
		     uint8_t version)
{
	uint32_t word;

	switch (part) {
	case PART_SRC_V4: return get_v4(&m->src, value, len);
	case PART_DST_V4: return get_v4(&m->dst, value, len);
	case PART_SRC_V6: return get_v6(&m->src, value, len);
	case PART_DST_V6: return get_v6(&m->dst, value, len);
	case PART_SEQ: m->seq = len == 4 ? be32_get(value) : 0; return len == 4;
	case PART_STATE:
		if (!get_word(value, len, version, 1, &word))
			return false;
		m->online = word == 1;
		return true;
	case PART_REASON:
		if (!get_word(value, len, version, N_INOF_REASONS - 1, &word))
			return false;
		m->reason = (uint8_t)word;
		return true;
	case PART_SERVICE: return get_service(&m->service, value, len);
	case N_PARTS: break;
	}
	return true;
}

// Whether the parts of a message suffice for its kind. An acknowledgement and a query may have
// further parts.
static bool has_all_parts(enum inof_kind kind, unsigned have)
{
	bool v4 = (have & V4_PAIR) == V4_PAIR && (have & V6_PAIR) == 0;
	bool v6 = (have & V6_PAIR) == V6_PAIR && (have & V4_PAIR) == 0;

	switch (kind) {
	case INOF_NOTICE: return (v4 || v6) && (have & NOTICE_REST) == NOTICE_REST;
	case INOF_ACK: return (v4 || v6) && (have & ACK_REST) == ACK_REST;
	case INOF_QUERY: break;
	}
	return (have >> PART_DST_V4 & 1) != (have >> PART_DST_V6 & 1);
}

enum inof_read inof_next(struct inof_reader *r, struct inof_message *out)
{
	const uint8_t *at, *value, *end;
	struct inof_message m = {0};
	unsigned have = 0;
	uint8_t kind, part;
	uint16_t len;

	if (r->at == r->end)
		return INOF_END;
	if (!next_tlv(&r->at, r->end, &kind, &len)) {
		r->at = r->end;
		return INOF_MALFORMED;
	}
	if (kind < INOF_NOTICE || kind > INOF_QUERY)
		return INOF_UNKNOWN;
	end = r->at;
	for (at = end - len; at != end;) {
		if (!next_tlv(&at, end, &part, &len))
			return INOF_MALFORMED;
		value = at - len;
		if (part == 0 || part >= N_PARTS)
			continue;
		if (have >> part & 1 || !get_part(&m, part, value, len, r->version))
			return INOF_MALFORMED;
		have |= 1u << part;
	}
	m.kind = kind;
	if (!has_all_parts(m.kind, have))
		return INOF_MALFORMED;
	*out = m;
	return INOF_MESSAGE;
}

// ---- building

void inof_begin(struct inof_frame *f, const uint8_t mac[6], uint8_t version)
{
	struct eth_hdr *eth = (void *)f->bytes;

	memset(f->bytes, 0, OFF_TLVS);
	memcpy(eth->dst, group, sizeof(eth->dst));
	memcpy(eth->src, mac, sizeof(eth->src));
	be16_put(&eth->type, ETYPE_INOF);
	f->bytes[OFF_VERSION] = version;
	f->len = OFF_TLVS;
}

static uint8_t *put_part(uint8_t *at, enum part part, unsigned len)
{
	*at = (uint8_t)part;
	be16_put(at + 1, (uint16_t)len);
	return at + TLV_HDR;
}

static uint8_t *put_address(uint8_t *at, enum part v4_part, struct ip_key ip)
{
	bool v6 = inof_ip_is_v6(ip);
	unsigned len = v6 ? 16 : 4;

	at = put_part(at, v6 ? v4_part + PART_SRC_V6 - PART_SRC_V4 : v4_part, len);
	put_ip(at, ip);
	return at + len;
}

static uint8_t *put_word(uint8_t *at, enum part part, uint32_t word, uint8_t version)
{
	unsigned len = version == 0 ? 1 : 4;

	at = put_part(at, part, len);
	if (version == 0)
		*at = (uint8_t)word;
	else
		be32_put(at, word);
	return at + len;
}

static uint8_t *put_service(uint8_t *at, const struct inof_service *s)
{
	at = put_part(at, PART_SERVICE, SERVICE_LEN + (unsigned)s->nqn.len);
	memset(at, 0, SERVICE_LEN);
	at[0] = s->role;
	at[1] = s->protocol;
	be16_put(at + 4, s->port);
	at[6] = s->nqn.len;
	memcpy(at + SERVICE_LEN, s->nqn.text, s->nqn.len);
	return at + SERVICE_LEN + s->nqn.len;
}

bool inof_append(struct inof_frame *f, const struct inof_message *m)
{
	// Header, two addresses, sequence, state and reason, service.
	enum { MOST = TLV_HDR + 2 * (TLV_HDR + 16) + 3 * (TLV_HDR + 4) + TLV_HDR + SERVICE_LEN };
	uint8_t room[MOST + INOF_NQN_MAX], *at = room + TLV_HDR, version = f->bytes[OFF_VERSION];
	unsigned len;

	if (m->kind != INOF_QUERY)
		at = put_address(at, PART_SRC_V4, m->src);
	at = put_address(at, PART_DST_V4, m->dst);
	if (m->kind != INOF_QUERY) {
		at = put_part(at, PART_SEQ, 4);
		be32_put(at, m->seq);
		at += 4;
	}
	if (m->kind == INOF_NOTICE) {
		at = put_word(at, PART_STATE, m->online, version);
		at = put_word(at, PART_REASON, m->reason, version);
		at = put_service(at, &m->service);
	}
	len = (unsigned)(at - room);
	room[0] = (uint8_t)m->kind;
	be16_put(room + 1, (uint16_t)(len - TLV_HDR));
	if (f->len + len > INOF_FRAME_MAX)
		return false;
	memcpy(f->bytes + f->len, room, len);
	f->len = (uint16_t)(f->len + len);
	be16_put(f->bytes + OFF_TLV_LEN, (uint16_t)(f->len - OFF_TLVS));
	return true;
}

void inof_end(struct inof_frame *f)
{
	if (f->len >= ETH_LEAST)
		return;
	memset(f->bytes + f->len, 0, ETH_LEAST - (size_t)f->len);
	f->len = ETH_LEAST;
}
