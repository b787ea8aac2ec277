// SPDX-License-Identifier: Apache-2.0
// Headers as they lie on the wire: Ethernet II, 802.1Q, ARP (RFC 826), IPv4 (RFC 791), IPv6 (RFC
// 8200), UDP (RFC 768) and RoCEv2's BTH, RETH, AETH, DETH, AtomicETH (InfiniBand Architecture
// volume 1, chapter 9 and annex A17). Layouts and number spaces only: it decides nothing and any
// thread may use it.
//
// A multi-byte field is a struct of bytes in network order, so it can neither be mixed up with a
// host integer nor be misaligned: every header may be laid over any byte of a frame.
// be16_get(&h->field) and be16_put(&h->field, v) are the only way in and out.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct be16 {
	uint8_t b[2];
};
struct be24 {
	uint8_t b[3];
};
struct be32 {
	uint8_t b[4];
};
struct be64 {
	uint8_t b[8];
};

// ---- loads and stores; p may be any address in a frame, or a be field

static inline uint16_t be16_get(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16(v) : v;
}

static inline uint32_t be32_get(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(v) : v;
}

static inline uint64_t be64_get(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(v) : v;
}

static inline uint32_t be24_get(const void *p)
{
	const uint8_t *b = p;

	return (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2];
}

static inline void be16_put(void *p, uint16_t v)
{
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		v = __builtin_bswap16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void be32_put(void *p, uint32_t v)
{
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void be64_put(void *p, uint64_t v)
{
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof(v));
}

// The low 24 bits of v.
static inline void be24_put(void *p, uint32_t v)
{
	uint8_t *b = p;

	b[0] = (uint8_t)(v >> 16);
	b[1] = (uint8_t)(v >> 8);
	b[2] = (uint8_t)v;
}

// ---- layer 2

enum ether_type {
	ETYPE_IPV4 = 0x0800,
	ETYPE_ARP = 0x0806,
	ETYPE_VLAN = 0x8100, // 802.1Q customer tag
	ETYPE_IPV6 = 0x86dd,
	ETYPE_MAC_CONTROL = 0x8808,
	ETYPE_SLOW = 0x8809, // LACP and other slow protocols
	ETYPE_EAPOL = 0x888e, // 802.1X
	ETYPE_ROCE_V1 = 0x8915, // InfiniBand annex A16: RoCE without IP
	ETYPE_QINQ = 0x88a8, // 802.1ad service tag
	ETYPE_INOF = 0x88a7, // hosts of NVMe over Fabrics (control/inof)
	ETYPE_LLDP = 0x88cc,
	ETYPE_LOOPBACK = 0x9000, // Configuration Testing Protocol
	ETYPE_QINQ_OLD = 0x9100, // service tag of equipment older than 802.1ad
};

struct eth_hdr {
	uint8_t dst[6];
	uint8_t src[6];
	struct be16 type;
};

// Follows eth_hdr (whose type is then the TPID): TCI, then the type of what comes next.
struct vlan_hdr {
	struct be16 tci; // PCP 3, DEI 1, VID 12
	struct be16 type;
};

enum { TCI_VID_MASK = 0x0fff, TCI_DEI = 0x1000, TCI_PCP_SHIFT = 13 };

enum arp_op { ARP_REQUEST = 1, ARP_REPLY = 2 };

// ARP for IPv4 over Ethernet; the first four fields are fixed: 1, 0x0800, 6, 4.
struct arp_hdr {
	struct be16 hw_type;
	struct be16 proto_type;
	uint8_t hw_len;
	uint8_t proto_len;
	struct be16 op; // enum arp_op
	uint8_t sender_mac[6];
	struct be32 sender_ip;
	uint8_t target_mac[6];
	struct be32 target_ip;
};

// ---- layer 3 and 4

enum ip_proto {
	IP_PROTO_HOP_BY_HOP = 0,
	IP_PROTO_TCP = 6,
	IP_PROTO_UDP = 17,
	IP_PROTO_ROUTING = 43,
	IP_PROTO_FRAGMENT = 44,
	IP_PROTO_AH = 51,
	IP_PROTO_ICMPV6 = 58,
	IP_PROTO_DEST_OPTS = 60,
};

struct ipv4_hdr {
	uint8_t ver_ihl; // version 4 in the high half, header length in words in the low half
	uint8_t tos; // DSCP 6, ECN 2
	struct be16 total_len; // header and payload
	struct be16 id;
	struct be16 frag; // IPV4_DF, IPV4_MF, offset in units of 8 bytes
	uint8_t ttl;
	uint8_t proto;
	struct be16 csum;
	struct be32 src;
	struct be32 dst;
};

enum { IPV4_DF = 0x4000, IPV4_MF = 0x2000, IPV4_FRAG_OFF_MASK = 0x1fff };

struct ipv6_hdr {
	struct be32 vtc_flow; // version 4, DSCP 6, ECN 2, flow label 20
	struct be16 payload_len; // extension headers and payload
	uint8_t next;
	uint8_t hop_limit;
	uint8_t src[16];
	uint8_t dst[16];
};

struct udp_hdr {
	struct be16 sport;
	struct be16 dport;
	struct be16 len; // header and payload
	struct be16 csum;
};

struct tcp_hdr {
	struct be16 sport;
	struct be16 dport;
	struct be32 seq;
	struct be32 ack;
	uint8_t offset; // of the payload, in words, in the high half
	uint8_t flags;
	struct be16 window;
	struct be16 csum;
	struct be16 urgent;
};

// ---- RoCEv2: UDP payload is BTH, extension header by opcode, payload, pad, iCRC (4 bytes)

struct bth_hdr {
	uint8_t opcode; // enum roce_opcode
	uint8_t flags; // BTH_SE, BTH_MIG, pad count, header version
	struct be16 pkey;
	uint8_t cong; // BTH_FECN, BTH_BECN, 6 reserved bits; masked in the iCRC
	struct be24 dest_qp;
	uint8_t ack_req; // BTH_ACK_REQ, 7 reserved bits
	struct be24 psn;
};

enum {
	BTH_SE = 0x80, // solicited event
	BTH_MIG = 0x40,
	BTH_PAD_SHIFT = 4, // two bits
	BTH_PAD_MASK = 0x30,
	BTH_VERSION_MASK = 0x0f,
	BTH_FECN = 0x80,
	BTH_BECN = 0x40,
	BTH_ACK_REQ = 0x80,
	BTH_PSN_MASK = 0xffffff, // PSNs are serial numbers of 24 bits
	BTH_PKEY_DEFAULT = 0xffff,
	ROCE_ICRC_LEN = 4,
	CNP_PAYLOAD_LEN = 16, // zero bytes between BTH and iCRC
};

// RDMA extended transport header: WRITE first and only, READ request.
struct reth_hdr {
	struct be64 va;
	struct be32 rkey;
	struct be32 dma_len;
};

// ACK extended transport header: ACK, atomic ACK, READ response first, last and only.
struct aeth_hdr {
	uint8_t syndrome; // kind in bits 6:5, value in bits 4:0
	struct be24 msn;
};

enum {
	AETH_KIND_MASK = 0x60,
	AETH_VALUE_MASK = 0x1f,
	AETH_ACK = 0x00, // value: credits, AETH_NO_CREDITS where end-to-end flow control is off
	AETH_RNR_NAK = 0x20, // value: timer code
	AETH_NAK = 0x60, // value: enum nak_code
	AETH_NO_CREDITS = 0x1f,
};

enum nak_code {
	NAK_PSN_SEQUENCE = 0,
	NAK_INVALID_REQUEST = 1,
	NAK_REMOTE_ACCESS = 2,
	NAK_REMOTE_OPERATION = 3,
	NAK_INVALID_RD = 4,
};

// Datagram extended transport header: UD.
struct deth_hdr {
	struct be32 qkey;
	uint8_t reserved;
	struct be24 src_qp;
};

// Atomic request: compare-and-swap, fetch-and-add.
struct atomic_hdr {
	struct be64 va;
	struct be32 rkey;
	struct be64 swap_add;
	struct be64 compare;
};

// High three bits: the transport. Low five bits: the operation.
enum roce_opcode {
	RC_SEND_FIRST = 0x00,
	RC_SEND_MIDDLE = 0x01,
	RC_SEND_LAST = 0x02,
	RC_SEND_LAST_IMM = 0x03,
	RC_SEND_ONLY = 0x04,
	RC_SEND_ONLY_IMM = 0x05,
	RC_WRITE_FIRST = 0x06,
	RC_WRITE_MIDDLE = 0x07,
	RC_WRITE_LAST = 0x08,
	RC_WRITE_LAST_IMM = 0x09,
	RC_WRITE_ONLY = 0x0a,
	RC_WRITE_ONLY_IMM = 0x0b,
	RC_READ_REQUEST = 0x0c,
	RC_READ_RESPONSE_FIRST = 0x0d,
	RC_READ_RESPONSE_MIDDLE = 0x0e,
	RC_READ_RESPONSE_LAST = 0x0f,
	RC_READ_RESPONSE_ONLY = 0x10,
	RC_ACK = 0x11,
	RC_ATOMIC_ACK = 0x12,
	RC_COMPARE_SWAP = 0x13,
	RC_FETCH_ADD = 0x14,
	RC_RESYNC = 0x15,
	RC_SEND_LAST_INVALIDATE = 0x16,
	RC_SEND_ONLY_INVALIDATE = 0x17,
	UD_SEND_ONLY = 0x64,
	UD_SEND_ONLY_IMM = 0x65,
	ROCE_CNP = 0x81,

	ROCE_OPERATION_MASK = 0x1f,
	ROCE_TRANSPORT_MASK = 0xe0,
};

static_assert(sizeof(struct eth_hdr) == 14, "Ethernet II");
static_assert(sizeof(struct vlan_hdr) == 4, "802.1Q tag");
static_assert(sizeof(struct arp_hdr) == 28, "ARP for IPv4 over Ethernet");
static_assert(sizeof(struct ipv4_hdr) == 20, "IPv4 without options");
static_assert(sizeof(struct ipv6_hdr) == 40, "IPv6 fixed header");
static_assert(sizeof(struct udp_hdr) == 8, "UDP");
static_assert(sizeof(struct tcp_hdr) == 20, "TCP without options");
static_assert(sizeof(struct bth_hdr) == 12, "BTH");
static_assert(sizeof(struct reth_hdr) == 16, "RETH");
static_assert(sizeof(struct aeth_hdr) == 4, "AETH");
static_assert(sizeof(struct deth_hdr) == 8, "DETH");
static_assert(sizeof(struct atomic_hdr) == 28, "AtomicETH");
