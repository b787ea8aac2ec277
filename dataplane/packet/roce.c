// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet/roce.h"

#include <stddef.h>
#include <string.h>

#include "dataplane/packet/wire.h"

enum { RC = 0x00, UC = 0x20, XRC = 0xa0, XRC_HDR_LEN = 4 };

// SEND and WRITE, which all connected transports have.
#define SEND_AND_WRITE(transport, role)                                                            \
	[(transport) | RC_SEND_FIRST] = (role),                                                    \
	[(transport) | RC_SEND_MIDDLE] = (role),                                                   \
	[(transport) | RC_SEND_LAST] = (role),                                                     \
	[(transport) | RC_SEND_LAST_IMM] = (role),                                                 \
	[(transport) | RC_SEND_ONLY] = (role),                                                     \
	[(transport) | RC_SEND_ONLY_IMM] = (role),                                                 \
	[(transport) | RC_WRITE_FIRST] = (role),                                                   \
	[(transport) | RC_WRITE_MIDDLE] = (role),                                                  \
	[(transport) | RC_WRITE_LAST] = (role),                                                    \
	[(transport) | RC_WRITE_LAST_IMM] = (role),                                                \
	[(transport) | RC_WRITE_ONLY] = (role),                                                    \
	[(transport) | RC_WRITE_ONLY_IMM] = (role)

// READ, atomics and answers, which the reliable ones have. FLUSH (0x1c) and ATOMIC WRITE (0x1d) are
// of later editions of the specification; they use up PSNs as the others do.
#define READ_AND_MORE(transport)                                                                   \
	[(transport) | RC_READ_REQUEST] = ROCE_ROLE_READ_REQUEST,                                  \
	[(transport) | RC_READ_RESPONSE_FIRST] = ROCE_ROLE_READ_RESPONSE,                          \
	[(transport) | RC_READ_RESPONSE_MIDDLE] = ROCE_ROLE_READ_RESPONSE,                         \
	[(transport) | RC_READ_RESPONSE_LAST] = ROCE_ROLE_READ_RESPONSE,                           \
	[(transport) | RC_READ_RESPONSE_ONLY] = ROCE_ROLE_READ_RESPONSE,                           \
	[(transport) | RC_ACK] = ROCE_ROLE_ACK,                                                    \
	[(transport) | RC_ATOMIC_ACK] = ROCE_ROLE_ACK,                                             \
	[(transport) | RC_COMPARE_SWAP] = ROCE_ROLE_DATA,                                          \
	[(transport) | RC_FETCH_ADD] = ROCE_ROLE_DATA,                                             \
	[(transport) | RC_SEND_LAST_INVALIDATE] = ROCE_ROLE_DATA,                                  \
	[(transport) | RC_SEND_ONLY_INVALIDATE] = ROCE_ROLE_DATA,                                  \
	[(transport) | 0x1c] = ROCE_ROLE_DATA,                                                     \
	[(transport) | 0x1d] = ROCE_ROLE_DATA

const uint8_t roce_role_of_opcode[256] = {
	SEND_AND_WRITE(RC, ROCE_ROLE_DATA),
	READ_AND_MORE(RC),
	SEND_AND_WRITE(UC, ROCE_ROLE_UNRELIABLE),
	SEND_AND_WRITE(XRC, ROCE_ROLE_DATA),
	READ_AND_MORE(XRC),
	[UD_SEND_ONLY] = ROCE_ROLE_DATAGRAM,
	[UD_SEND_ONLY_IMM] = ROCE_ROLE_DATAGRAM,
	[ROCE_CNP] = ROCE_ROLE_CNP,
};

static void read_aeth(const uint8_t *ext, struct roce_msg *out)
{
	const struct aeth_hdr *aeth = (const void *)ext;
	uint8_t kind = aeth->syndrome & AETH_KIND_MASK;

	out->has_aeth = true;
	out->syndrome = aeth->syndrome;
	if (out->role == ROCE_ROLE_ACK && (kind == AETH_NAK || kind == AETH_RNR_NAK))
		out->role = ROCE_ROLE_NAK;
}

static uint32_t ext_len(const struct roce_msg *m)
{
	switch (m->role) {
	case ROCE_ROLE_ACK:
		return sizeof(struct aeth_hdr);
	case ROCE_ROLE_READ_RESPONSE:
		return (m->opcode & ROCE_OPERATION_MASK) == RC_READ_RESPONSE_MIDDLE
			       ? 0
			       : sizeof(struct aeth_hdr);
	case ROCE_ROLE_READ_REQUEST:
		return sizeof(struct reth_hdr) +
		       ((m->opcode & ROCE_TRANSPORT_MASK) == XRC ? XRC_HDR_LEN : 0);
	case ROCE_ROLE_MANAGEMENT:
	case ROCE_ROLE_DATAGRAM:
		return sizeof(struct deth_hdr);
	default:
		return 0;
	}
}

static void read_ext(const uint8_t *ext, uint32_t len, uint32_t payload, struct roce_msg *out)
{
	const struct deth_hdr *deth = (const void *)ext;
	const struct reth_hdr *reth = (const void *)(ext + len - sizeof(*reth));

	switch (out->role) {
	case ROCE_ROLE_ACK:
	case ROCE_ROLE_READ_RESPONSE:
		read_aeth(ext, out);
		break;
	case ROCE_ROLE_READ_REQUEST:
		out->read_bytes = be32_get(&reth->dma_len);
		break;
	case ROCE_ROLE_MANAGEMENT:
		out->mad = ext + len;
		out->mad_len = payload;
		out->src_qp = be24_get(&deth->src_qp);
		break;
	case ROCE_ROLE_DATAGRAM:
		out->src_qp = be24_get(&deth->src_qp);
		break;
	default:
		break;
	}
}

// Bytes between BTH and iCRC that are stored, and that UDP says are there.
static uint32_t behind_bth(const uint8_t *frame, uint32_t stored, const struct pkt_info *pkt)
{
	const uint32_t heads = sizeof(struct udp_hdr) + sizeof(struct bth_hdr);
	const struct udp_hdr *udp = (const void *)(frame + pkt->l4_off);
	uint32_t said, there;

	if (stored < pkt->l4_off + heads)
		return 0;
	said = be16_get(&udp->len);
	said = said > ROCE_ICRC_LEN ? said - ROCE_ICRC_LEN : 0;
	there = stored - pkt->l4_off;
	there = said < there ? said : there;
	return there > heads ? there - heads : 0;
}

bool roce_msg_read(const uint8_t *frame, uint32_t stored, const struct pkt_info *pkt,
		   struct roce_msg *out)
{
	uint32_t at = pkt->l4_off + (uint32_t)sizeof(struct udp_hdr);
	const struct bth_hdr *bth = (const void *)(frame + at);
	uint8_t op = pkt->bth_opcode & ROCE_OPERATION_MASK;
	uint32_t room, len;

	if (stored < at + sizeof(*bth))
		return false;
	*out = (struct roce_msg){
		.role = (uint8_t)roce_role(pkt->bth_opcode, pkt->bth_dest_qp),
		.opcode = pkt->bth_opcode,
		.pkey = be16_get(&bth->pkey),
		.dest_qp = pkt->bth_dest_qp,
		.psn = pkt->bth_psn,
	};
	out->first = out->role == ROCE_ROLE_READ_RESPONSE &&
		     (op == RC_READ_RESPONSE_FIRST || op == RC_READ_RESPONSE_ONLY);
	room = behind_bth(frame, stored, pkt);
	len = ext_len(out);
	if (room < len)
		return false;
	if (len != 0)
		read_ext((const uint8_t *)(bth + 1), len, room - len, out);
	return true;
}

void roce_addresses(const uint8_t *l3, uint8_t kind, uint8_t src[16], uint8_t dst[16])
{
	if (kind == PKT_IPV6) {
		memcpy(src, l3 + offsetof(struct ipv6_hdr, src), 16);
		memcpy(dst, l3 + offsetof(struct ipv6_hdr, dst), 16);
		return;
	}
	memset(src, 0, 16);
	memset(dst, 0, 16);
	memcpy(src, l3 + offsetof(struct ipv4_hdr, src), 4);
	memcpy(dst, l3 + offsetof(struct ipv4_hdr, dst), 4);
}
