// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet/lldp.h"

#include <string.h>

#include "dataplane/packet/wire.h"

enum {
	TLV_HDR = 2,
	LEN_BITS = 9,
	ORGANIZATION = 4, // OUI and subtype
	ETS_LEN = 25,
	PFC_LEN = 6,
	APP_LEN = 5,
	APP_ROW = 3,
	WILLING = 0x80,
	BIT_6 = 0x40, // CBS of ETS, MBC of PFC
	TC_MASK = 7,
	PFC_MAX_MASK = 0xf,
	SELECTOR_MASK = 7,
	PRIORITY_SHIFT = 5,
	CAPABILITIES_LEN = 4,
	// Length of the address with its family, interface numbering and number, no object.
	MANAGEMENT_LEAST = 9,
	ADDRESS_MAX = 32,
	N_MANDATORY = 3,
};

static const uint8_t nearest_bridge[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e};

// ---- reading

bool lldp_next(const uint8_t **at, const uint8_t *end, struct lldp_tlv *out)
{
	const uint8_t *p = *at;
	uint16_t head;

	if (end - p < TLV_HDR)
		return false;
	head = be16_get(p);
	*out = (struct lldp_tlv){.type = (uint8_t)(head >> LEN_BITS),
				 .len = head & LLDP_TLV_MAX, .value = p + TLV_HDR};
	if (out->type == LLDP_END || out->len > end - out->value)
		return false;
	if (out->type == LLDP_ORGANIZATION && out->len >= ORGANIZATION)
		out->organization = be32_get(out->value);
	*at = out->value + out->len;
	return true;
}

static bool get_text(struct lldp_text *to, const struct lldp_tlv *t)
{
	if (to->at != NULL || t->len > LLDP_TEXT_MAX)
		return false;
	*to = (struct lldp_text){t->value, t->len};
	return true;
}

static bool get_id(struct lldp_id *to, const struct lldp_tlv *t)
{
	if (to->id.at != NULL || t->len < 2 || t->len > LLDP_TEXT_MAX + 1)
		return false;
	*to = (struct lldp_id){t->value[0], {t->value + 1, (uint16_t)(t->len - 1)}};
	return true;
}

static bool get_capabilities(struct lldp_pdu *p, const struct lldp_tlv *t)
{
	if (p->has_capabilities || t->len != CAPABILITIES_LEN)
		return false;
	p->has_capabilities = true;
	p->capabilities = be16_get(t->value);
	p->enabled = be16_get(t->value + 2);
	return true;
}

// A PDU may have several. The first one is read.
static bool get_management(struct lldp_pdu *p, const struct lldp_tlv *t)
{
	uint8_t len = t->len == 0 ? 0 : t->value[0];

	if (len < 2 || len > ADDRESS_MAX || t->len < MANAGEMENT_LEAST + len - 2)
		return false;
	if (p->management.at == NULL)
		p->management = (struct lldp_text){t->value + 1, len};
	return true;
}

static bool get_ets(struct dcbx_ets *e, const struct lldp_tlv *t)
{
	const uint8_t *v = t->value + ORGANIZATION;

	if (e->given || t->len != ETS_LEN)
		return false;
	e->given = true;
	e->willing = (v[0] & WILLING) != 0;
	e->cbs = (v[0] & BIT_6) != 0;
	e->max_tcs = v[0] & TC_MASK;
	for (unsigned c = 0; c < N_CLASSES; c++)
		e->tc[c] = v[1 + c / 2] >> (c % 2 == 0 ? 4 : 0) & 0xf;
	memcpy(e->percent, v + 5, sizeof(e->percent));
	memcpy(e->tsa, v + 13, sizeof(e->tsa));
	return true;
}

static bool get_pfc(struct dcbx_pfc *f, const struct lldp_tlv *t)
{
	const uint8_t *v = t->value + ORGANIZATION;

	if (f->given || t->len != PFC_LEN)
		return false;
	*f = (struct dcbx_pfc){.given = true, .willing = (v[0] & WILLING) != 0,
			       .bypass = (v[0] & BIT_6) != 0, .max = v[0] & PFC_MAX_MASK,
			       .enable = v[1]};
	return true;
}

static bool get_apps(struct dcbx_pdu *d, const struct lldp_tlv *t)
{
	const uint8_t *v = t->value + APP_LEN, *end = t->value + t->len;

	if (d->app_given || t->len < APP_LEN || (t->len - APP_LEN) % APP_ROW != 0)
		return false;
	d->app_given = true;
	for (; v < end && d->n_apps < DCBX_MAX_APPS; v += APP_ROW)
		d->app[d->n_apps++] = (struct dcbx_app){.priority = v[0] >> PRIORITY_SHIFT,
							.selector = v[0] & SELECTOR_MASK,
							.protocol = be16_get(v + 1)};
	return true;
}

bool lldp_is_known(const struct lldp_tlv *t)
{
	switch (t->organization) {
	case 0: return t->type <= LLDP_MANAGEMENT;
	case LLDP_QAZ_ETS:
	case LLDP_QAZ_ETS_RECOMMENDED:
	case LLDP_QAZ_PFC:
	case LLDP_QAZ_APP: return true;
	default: return false;
	}
}

static bool get_organization(struct lldp_pdu *p, const struct lldp_tlv *t)
{
	switch (t->organization) {
	case LLDP_QAZ_ETS: return get_ets(&p->dcbx.ets, t);
	case LLDP_QAZ_ETS_RECOMMENDED:
		// Its first byte is reserved.
		if (!get_ets(&p->dcbx.ets_recommended, t))
			return false;
		p->dcbx.ets_recommended.willing = p->dcbx.ets_recommended.cbs = false;
		p->dcbx.ets_recommended.max_tcs = 0;
		return true;
	case LLDP_QAZ_PFC: return get_pfc(&p->dcbx.pfc, t);
	case LLDP_QAZ_APP: return get_apps(&p->dcbx, t);
	case LLDP_CEE: p->cee = true; return true;
	default: return true;
	}
}

// False: the TLV is ignored.
static bool get_optional(struct lldp_pdu *p, const struct lldp_tlv *t)
{
	switch (t->type) {
	case LLDP_PORT_DESCRIPTION: return get_text(&p->port_description, t);
	case LLDP_SYSTEM_NAME: return get_text(&p->system_name, t);
	case LLDP_SYSTEM_DESCRIPTION: return get_text(&p->system_description, t);
	case LLDP_CAPABILITIES: return get_capabilities(p, t);
	case LLDP_MANAGEMENT: return get_management(p, t);
	case LLDP_ORGANIZATION: return get_organization(p, t);
	default: return true;
	}
}

// 802.1AB 9.2.7.7.1: the first three TLVs, in this order, and nowhere else.
static bool get_mandatory(struct lldp_pdu *p, const struct lldp_tlv *t, unsigned i)
{
	if (t->type != i + LLDP_CHASSIS)
		return false;
	switch (t->type) {
	case LLDP_CHASSIS: return get_id(&p->chassis, t);
	case LLDP_PORT: return get_id(&p->port, t);
	default: break;
	}
	if (t->len < sizeof(struct be16))
		return false;
	p->ttl_s = be16_get(t->value);
	return true;
}

enum lldp_verdict lldp_parse(const uint8_t *frame, uint32_t len, struct lldp_pdu *out)
{
	const uint8_t *at = frame + sizeof(struct eth_hdr), *end = frame + len;
	struct lldp_pdu p = {0};
	struct lldp_tlv t;
	unsigned n = 0;

	if (len > LLDP_MAX_LEN)
		return LLDP_TOO_LONG;
	if (len < sizeof(struct eth_hdr))
		return LLDP_TRUNCATED;
	memcpy(p.mac, ((const struct eth_hdr *)frame)->src, sizeof(p.mac));
	for (t.type = LLDP_CHASSIS; lldp_next(&at, end, &t); n++) {
		if (n == LLDP_MAX_TLVS)
			return LLDP_TOO_MANY_TLVS;
		if (n < N_MANDATORY ? !get_mandatory(&p, &t, n) : t.type <= LLDP_TTL)
			return LLDP_NO_IDENTITY;
		if (n < N_MANDATORY)
			continue;
		if (!get_optional(&p, &t))
			p.n_bad++;
		if (!lldp_is_known(&t))
			p.n_unknown++;
	}
	// The end of the frame ends the PDU as well as the TLV that says so.
	if (at != end && t.type != LLDP_END)
		return LLDP_TRUNCATED;
	if (n < N_MANDATORY)
		return LLDP_NO_IDENTITY;
	*out = p;
	return LLDP_OK;
}

// ---- building

struct builder {
	uint8_t *at, *end;
	bool full;
};

// Room for the value of a TLV; NULL: there is none.
static uint8_t *tlv(struct builder *b, enum lldp_type type, unsigned len)
{
	uint8_t *v = b->at + TLV_HDR;

	b->full |= len > LLDP_TLV_MAX || b->end - b->at < (ptrdiff_t)(TLV_HDR + len);
	if (b->full)
		return NULL;
	be16_put(b->at, (uint16_t)((unsigned)type << LEN_BITS | len));
	b->at = v + len;
	return v;
}

static void put_text(struct builder *b, enum lldp_type type, struct lldp_text text)
{
	unsigned len = text.len < LLDP_TEXT_MAX ? text.len : LLDP_TEXT_MAX;
	uint8_t *v = text.at == NULL ? NULL : tlv(b, type, len);

	if (v != NULL)
		memcpy(v, text.at, len);
}

static void put_id(struct builder *b, enum lldp_type type, const struct lldp_id *id)
{
	unsigned len = id->id.len < LLDP_TEXT_MAX ? id->id.len : LLDP_TEXT_MAX;
	uint8_t *v = tlv(b, type, len + 1);

	if (v == NULL)
		return;
	v[0] = id->kind;
	if (len != 0)
		memcpy(v + 1, id->id.at, len);
}

static void put_capabilities(struct builder *b, const struct lldp_pdu *p)
{
	uint8_t *v = p->has_capabilities ? tlv(b, LLDP_CAPABILITIES, CAPABILITIES_LEN) : NULL;

	if (v == NULL)
		return;
	be16_put(v, p->capabilities);
	be16_put(v + 2, p->enabled);
}

static void put_management(struct builder *b, struct lldp_text address)
{
	enum { NUMBERED_UNKNOWN = 1 };
	uint8_t *v = address.at == NULL || address.len > ADDRESS_MAX
			     ? NULL
			     : tlv(b, LLDP_MANAGEMENT, 1u + address.len + 6);

	if (v == NULL)
		return;
	v[0] = (uint8_t)address.len;
	memcpy(v + 1, address.at, address.len);
	memset(v + 1 + address.len, 0, 6);
	v[1 + address.len] = NUMBERED_UNKNOWN;
}

static uint8_t *put_organization(struct builder *b, enum lldp_organization what, unsigned len)
{
	uint8_t *v = tlv(b, LLDP_ORGANIZATION, len);

	if (v == NULL)
		return NULL;
	be32_put(v, what);
	memset(v + ORGANIZATION, 0, len - ORGANIZATION);
	return v + ORGANIZATION;
}

static void put_ets(struct builder *b, enum lldp_organization what, const struct dcbx_ets *e)
{
	uint8_t *v = e->given ? put_organization(b, what, ETS_LEN) : NULL;

	if (v == NULL)
		return;
	if (what == LLDP_QAZ_ETS)
		v[0] = (uint8_t)((e->willing ? WILLING : 0) | (e->cbs ? BIT_6 : 0) |
				 (e->max_tcs & TC_MASK));
	for (unsigned c = 0; c < N_CLASSES; c++)
		v[1 + c / 2] |= (uint8_t)((e->tc[c] & 0xf) << (c % 2 == 0 ? 4 : 0));
	memcpy(v + 5, e->percent, sizeof(e->percent));
	memcpy(v + 13, e->tsa, sizeof(e->tsa));
}

static void put_pfc(struct builder *b, const struct dcbx_pfc *f)
{
	uint8_t *v = f->given ? put_organization(b, LLDP_QAZ_PFC, PFC_LEN) : NULL;

	if (v == NULL)
		return;
	v[0] = (uint8_t)((f->willing ? WILLING : 0) | (f->bypass ? BIT_6 : 0) |
			 (f->max & PFC_MAX_MASK));
	v[1] = f->enable;
}

static void put_apps(struct builder *b, const struct dcbx_pdu *d)
{
	uint8_t *v = d->app_given
			     ? put_organization(b, LLDP_QAZ_APP,
						APP_LEN + (unsigned)APP_ROW * d->n_apps)
			     : NULL;

	for (unsigned i = 0; v != NULL && i < d->n_apps; i++) {
		uint8_t *row = v + 1 + APP_ROW * i;

		row[0] = (uint8_t)(d->app[i].priority << PRIORITY_SHIFT |
				   (d->app[i].selector & SELECTOR_MASK));
		be16_put(row + 1, d->app[i].protocol);
	}
}

uint16_t lldp_build(uint8_t out[LLDP_MAX_LEN], const struct lldp_pdu *p, struct lldp_text extra)
{
	enum { LEAST = 60 };
	struct eth_hdr *eth = (void *)out;
	struct builder b = {out + sizeof(*eth), out + LLDP_MAX_LEN, false};
	uint8_t *ttl;

	memcpy(eth->dst, nearest_bridge, sizeof(eth->dst));
	memcpy(eth->src, p->mac, sizeof(eth->src));
	be16_put(&eth->type, ETYPE_LLDP);
	put_id(&b, LLDP_CHASSIS, &p->chassis);
	put_id(&b, LLDP_PORT, &p->port);
	ttl = tlv(&b, LLDP_TTL, sizeof(struct be16));
	if (ttl != NULL)
		be16_put(ttl, p->ttl_s);
	put_text(&b, LLDP_PORT_DESCRIPTION, p->port_description);
	put_text(&b, LLDP_SYSTEM_NAME, p->system_name);
	put_text(&b, LLDP_SYSTEM_DESCRIPTION, p->system_description);
	put_capabilities(&b, p);
	put_management(&b, p->management);
	put_ets(&b, LLDP_QAZ_ETS, &p->dcbx.ets);
	put_ets(&b, LLDP_QAZ_ETS_RECOMMENDED, &p->dcbx.ets_recommended);
	put_pfc(&b, &p->dcbx.pfc);
	put_apps(&b, &p->dcbx);
	if (extra.len > 0 && b.end - b.at >= extra.len) {
		memcpy(b.at, extra.at, extra.len);
		b.at += extra.len;
	} else {
		b.full |= extra.len > 0;
	}
	(void)tlv(&b, LLDP_END, 0);
	if (b.full)
		return 0;
	if (b.at < out + LEAST)
		memset(b.at, 0, (size_t)(out + LEAST - b.at));
	return (uint16_t)(b.at < out + LEAST ? LEAST : b.at - out);
}
