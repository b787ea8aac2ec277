// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet/cm.h"

#include <string.h>

#include "dataplane/packet/wire.h"

enum {
	MAD_VERSION = 1,
	CM_CLASS = 7,
	CM_CLASS_VERSION = 2,
	MAD_METHOD_SEND = 3,
	// Offsets in the MAD.
	AT_TID = 8,
	AT_ATTR = 16,
	AT_LOCAL_ID = 24,
	AT_REMOTE_ID = 28,
	AT_REQ_SERVICE = 32,
	AT_REQ_QPN = 56,
	AT_REQ_INITIATOR_DEPTH = 63,
	AT_REQ_TIMEOUTS = 67,
	AT_REQ_PSN = 68,
	AT_REQ_RETRIES = 71,
	AT_REQ_PKEY = 72,
	AT_REQ_MTU = 74, // high half
	AT_REQ_CM_RETRIES = 75,
	AT_REQ_LIDS = 76,
	AT_REQ_LOCAL_GID = 80,
	AT_REQ_REMOTE_GID = 96,
	AT_REQ_TOS = 116,
	AT_REQ_HOPS = 117,
	AT_REQ_PRIVATE = 164,
	AT_REQ_WISH = 200, // in the private data, behind the 36 bytes of annex A11
	AT_REQ_FLAGS = AT_REQ_WISH + 8,
	AT_REP_QPN = 36,
	AT_REP_PSN = 44,
	AT_REP_RESOURCES = 48,
	AT_REP_DEPTH = 49,
	AT_REP_PRIVATE = 60,
	AT_REP_FLAGS = AT_REP_PRIVATE + 24,
	AT_REJ_REASON = 34,
	AT_DREQ_QPN = 32,
	READS = 16, // outstanding READs either side can serve
	HOPS = 64,
	LID_PERMISSIVE = 0xffff, // RoCE has no LIDs
	// Private data of REP: a mark, then what a WRITE or READ needs. Of REQ: a mark and a PSN.
	// Flags of both follow.
	PRIVATE_MARK = 0x57454952,
	FLAG_SELECTIVE = 1,
	IP_CM_PORT = 4791,
	IP_CM_V4 = 0x40, IP_CM_V6 = 0x60, // of the IP addressing annex A11, in the high half
};

// Service id of the TCP port space of the IP addressing annex, port 4791.
static const uint64_t service_id = 0x0000000001060000ull | 4791;

uint8_t cm_mtu_code(uint16_t mtu)
{
	for (uint8_t code = 1; code <= 5; code++)
		if (mtu == cm_mtu_of(code))
			return code;
	return 0;
}

uint16_t cm_mtu_of(uint8_t code)
{
	static const uint16_t mtu[] = {0, 256, 512, 1024, 2048, 4096};

	return code < sizeof(mtu) / sizeof(mtu[0]) ? mtu[code] : 0;
}

// An address of annex A11: of IPv4 the last four of the 16 bytes.
static void put_address(uint8_t *at, struct ip_key ip)
{
	if (ip_key_is_v4(ip))
		be32_put(at + 12, (uint32_t)ip.lo);
	else
		ip_key_put(at, ip);
}

static void build_req(uint8_t *mad, const struct cm_msg *m)
{
	uint8_t *ipcm = mad + AT_REQ_PRIVATE;

	be64_put(mad + AT_REQ_SERVICE, service_id);
	be24_put(mad + AT_REQ_QPN, m->qpn);
	mad[AT_REQ_QPN + 3] = READS;
	mad[AT_REQ_INITIATOR_DEPTH] = READS;
	mad[AT_REQ_TIMEOUTS] = 20 << 3; // about 4 s for the answer; service type 0: RC
	be24_put(mad + AT_REQ_PSN, m->psn);
	mad[AT_REQ_RETRIES] = 20 << 3 | 7;
	be16_put(mad + AT_REQ_PKEY, BTH_PKEY_DEFAULT);
	mad[AT_REQ_MTU] = (uint8_t)(cm_mtu_code(m->mtu) << 4 | 7);
	mad[AT_REQ_CM_RETRIES] = 15 << 4;
	be16_put(mad + AT_REQ_LIDS, LID_PERMISSIVE);
	be16_put(mad + AT_REQ_LIDS + 2, LID_PERMISSIVE);
	ip_key_put(mad + AT_REQ_LOCAL_GID, m->src_ip); // a GID is an IPv6 address
	ip_key_put(mad + AT_REQ_REMOTE_GID, m->dst_ip);
	mad[AT_REQ_TOS] = m->tos;
	mad[AT_REQ_HOPS] = HOPS;
	// Annex A11: version 0, IP version, source port, source and destination address.
	ipcm[1] = ip_key_is_v4(m->src_ip) ? IP_CM_V4 : IP_CM_V6;
	be16_put(ipcm + 2, IP_CM_PORT);
	put_address(ipcm + 4, m->src_ip);
	put_address(ipcm + 20, m->dst_ip);
	be32_put(mad + AT_REQ_WISH, PRIVATE_MARK);
	be32_put(mad + AT_REQ_WISH + 4, m->psn_wish);
	be32_put(mad + AT_REQ_FLAGS, m->selective ? FLAG_SELECTIVE : 0);
}

static void build_rep(uint8_t *mad, const struct cm_msg *m)
{
	uint8_t *priv = mad + AT_REP_PRIVATE;

	be24_put(mad + AT_REP_QPN, m->qpn);
	be24_put(mad + AT_REP_PSN, m->psn);
	mad[AT_REP_RESOURCES] = READS;
	mad[AT_REP_DEPTH] = READS;
	be32_put(priv, PRIVATE_MARK);
	be32_put(priv + 4, m->rkey);
	be64_put(priv + 8, m->va);
	be64_put(priv + 16, m->region_bytes);
	be32_put(mad + AT_REP_FLAGS, m->selective ? FLAG_SELECTIVE : 0);
}

void cm_build(uint8_t mad[CM_MAD_LEN], const struct cm_msg *m)
{
	memset(mad, 0, CM_MAD_LEN);
	mad[0] = MAD_VERSION;
	mad[1] = CM_CLASS;
	mad[2] = CM_CLASS_VERSION;
	mad[3] = MAD_METHOD_SEND;
	be64_put(mad + AT_TID, m->tid);
	be16_put(mad + AT_ATTR, m->attr);
	be32_put(mad + AT_LOCAL_ID, m->local_id);
	if (m->attr == CM_REQ) {
		build_req(mad, m);
		return;
	}
	be32_put(mad + AT_REMOTE_ID, m->remote_id);
	if (m->attr == CM_REP)
		build_rep(mad, m);
	else if (m->attr == CM_DREQ)
		be24_put(mad + AT_DREQ_QPN, m->qpn);
	else if (m->attr == CM_REJ)
		be16_put(mad + AT_REJ_REASON, m->reason);
}

static bool parse_rep(const uint8_t *mad, struct cm_msg *m)
{
	const uint8_t *priv = mad + AT_REP_PRIVATE;

	m->rkey = be32_get(priv + 4);
	m->va = be64_get(priv + 8);
	m->region_bytes = be64_get(priv + 16);
	m->selective = be32_get(mad + AT_REP_FLAGS) & FLAG_SELECTIVE;
	return be32_get(priv) == PRIVATE_MARK;
}

bool cm_read(const uint8_t *mad, uint32_t len, struct cm_msg *m)
{
	if (len < CM_READ_LEN || mad[0] != MAD_VERSION || mad[1] != CM_CLASS ||
	    mad[2] != CM_CLASS_VERSION || mad[3] != MAD_METHOD_SEND)
		return false;
	*m = (struct cm_msg){
		.attr = be16_get(mad + AT_ATTR),
		.tid = be64_get(mad + AT_TID),
		.local_id = be32_get(mad + AT_LOCAL_ID),
		.remote_id = be32_get(mad + AT_REMOTE_ID),
	};
	switch (m->attr) {
	case CM_REQ:
		m->remote_id = 0;
		m->qpn = be24_get(mad + AT_REQ_QPN);
		m->psn = be24_get(mad + AT_REQ_PSN);
		return true;
	case CM_REP:
		m->qpn = be24_get(mad + AT_REP_QPN);
		m->psn = be24_get(mad + AT_REP_PSN);
		return true;
	case CM_DREQ:
		m->qpn = be24_get(mad + AT_DREQ_QPN);
		return true;
	case CM_REJ:
		m->reason = be16_get(mad + AT_REJ_REASON);
		return true;
	case CM_RTU:
	case CM_DREP:
		return true;
	default:
		return false;
	}
}

static uint32_t psn_wish(const uint8_t *mad)
{
	uint32_t psn = be32_get(mad + AT_REQ_WISH + 4);

	return be32_get(mad + AT_REQ_WISH) == PRIVATE_MARK && psn < CM_ANY_PSN ? psn : CM_ANY_PSN;
}

bool cm_parse(const uint8_t *mad, uint32_t len, struct cm_msg *m)
{
	if (len < CM_MAD_LEN || !cm_read(mad, len, m))
		return false;
	if (m->attr == CM_REP)
		return parse_rep(mad, m);
	if (m->attr != CM_REQ)
		return true;
	m->mtu = cm_mtu_of(mad[AT_REQ_MTU] >> 4);
	m->tos = mad[AT_REQ_TOS];
	m->psn_wish = psn_wish(mad);
	m->selective = be32_get(mad + AT_REQ_WISH) == PRIVATE_MARK &&
		       (be32_get(mad + AT_REQ_FLAGS) & FLAG_SELECTIVE);
	m->src_ip = ip_key_v6(mad + AT_REQ_LOCAL_GID);
	m->dst_ip = ip_key_v6(mad + AT_REQ_REMOTE_GID);
	return m->mtu != 0;
}
