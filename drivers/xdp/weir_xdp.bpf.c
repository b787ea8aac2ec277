// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
// The XDP program of a Weir port. It gives the host's stack the frames that the port's rules keep
// for it, and every other frame to the AF_XDP socket of queue 0. Of ARP and neighbour discovery to
// a group the switch takes a copy on the other side (attach.h). Where no socket is bound any more
// (the switch is going down) frames are dropped: leaking a switch port's traffic into the host
// would be worse.
//
// The times of a PFC frame go into the pause words here, in softirq, so that a PAUSE does not wait
// behind the frames in the receive ring and acts even where that ring is full. The frame itself
// goes to the ring like any other.
//
// A RoCE frame costs the EtherType and, where something above Ethernet is kept, its destination.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "drivers/xdp/weir_xdp.h"

#define MAX_TAGS 2
#define TAG_LEN 4
#define TYPE_OFF (2 * ETH_ALEN)
#define ETH_P_QINQ_OLD 0x9100
#define NOT_KEPT (-1)

#define PFC_OPCODE 0x0101
#define PFC_OPCODE_OFF 14
#define PFC_ENABLE_OFF 17 // the low byte of the class-enable vector
#define PFC_TIMES_OFF 18
#define PFC_MIN_LEN 34
#define STORE_TRIES 16

#define LACP_SUBTYPE 1
#define LACP_MARKER_SUBTYPE 2
#define IPV4_MIN_HLEN 20
#define IPV4_FRAG_OFF_MASK 0x1fff
#define IPV6_HLEN 40
#define ND_FIRST 133 // router solicitation, the first type of neighbour discovery
#define ND_LAST 137

#define BIT(n) (1u << (n))
#define KEEP_IP (BIT(WEIR_KEEP_ICMP) | BIT(WEIR_KEEP_TCP) | BIT(WEIR_KEEP_UDP))

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} weir_xsks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WEIR_XDP_N_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} weir_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weir_xdp_rules);
} weir_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weir_xdp_pause);
} weir_pause SEC(".maps");

static __always_inline void count_in_slot(__u32 slot)
{
	__u64 *n = bpf_map_lookup_elem(&weir_counts, &slot);

	if (n)
		*n += 1;
}

static __always_inline __u16 be16(const __u8 *at)
{
	return (__u16)(at[0] << 8 | at[1]);
}

// ---- PFC

// A queue has one NAPI context, which is the only writer. The generic hook runs on the CPU of the
// sender, where two frames may be here at once. If all tries fail, that many newer ones have been
// stored; this one is then only counted.
static __always_inline void store_pause(__u64 *word, __u16 quanta)
{
	__u64 old = *word; // a guess that the exchange checks

	for (int i = 0; i < STORE_TRIES; i++) {
		__u64 new = (__u64)quanta << 32 | (__u32)(old + 1);
		__u64 seen = __sync_val_compare_and_swap(word, old, new);

		if (seen == old)
			return;
		old = seen;
	}
	__sync_fetch_and_add(word, 1);
}

// 01:80:c2:00:00:01, which no bridge forwards: such a frame comes from the neighbour itself.
static __always_inline int to_mac_control(const __u8 *data)
{
	return data[0] == 0x01 && data[1] == 0x80 && data[2] == 0xc2 && data[3] == 0x00 &&
	       data[4] == 0x00 && data[5] == 0x01;
}

// Takes an untagged PFC frame, as mac_ctrl_parse() does with the frame from the ring. The reserved
// high byte of the vector is not checked.
static __always_inline void record_pfc_frame(const __u8 *data, const __u8 *end)
{
	__u32 zero = 0;
	struct weir_xdp_pause *p;

	if (data + PFC_MIN_LEN > end || !to_mac_control(data) ||
	    be16(data + TYPE_OFF) != ETH_P_PAUSE ||
	    be16(data + PFC_OPCODE_OFF) != PFC_OPCODE)
		return;
	p = bpf_map_lookup_elem(&weir_pause, &zero);
	if (!p)
		return;
	count_in_slot(WEIR_XDP_PFC);
	for (int c = 0; c < WEIR_N_CLASSES; c++)
		if (data[PFC_ENABLE_OFF] & BIT(c))
			store_pause(&p->word[c], be16(data + PFC_TIMES_OFF + 2 * c));
}

// ---- what is kept for the host's stack

static __always_inline int is_tag(__u16 type)
{
	return type == ETH_P_8021Q || type == ETH_P_8021AD || type == ETH_P_QINQ_OLD;
}

static __always_inline int kept_port(const __u64 *set, __u16 port)
{
	return set[(port >> 6) & 1023] >> (port & 63) & 1;
}

static __always_inline int transport(const struct weir_xdp_rules *r, __u8 proto, const __u8 *l4,
				     const __u8 *end)
{
	const __u64 *set = proto == IPPROTO_TCP ? r->tcp : r->udp;
	int slot = proto == IPPROTO_TCP ? WEIR_KEEP_TCP : WEIR_KEEP_UDP;

	// Else the compiler computes the pointer anew behind the check, and the verifier has
	// checked another one.
	asm volatile("" : "+r"(l4));
	if (!(r->keep & BIT(slot)) || l4 + 4 > end)
		return NOT_KEPT;
	return kept_port(set, be16(l4)) || kept_port(set, be16(l4 + 2)) ? slot : NOT_KEPT;
}

// The later fragments of a packet have no ports and stay with the switch.
static __always_inline int ipv4(const struct weir_xdp_rules *r, const __u8 *ip, const __u8 *end)
{
	__u32 hlen;

	if (ip + IPV4_MIN_HLEN > end)
		return NOT_KEPT;
	hlen = (ip[0] & 0xf) * 4;
	if (ip[9] == IPPROTO_ICMP)
		return r->keep & BIT(WEIR_KEEP_ICMP) ? WEIR_KEEP_ICMP : NOT_KEPT;
	if ((ip[9] != IPPROTO_TCP && ip[9] != IPPROTO_UDP) || hlen < IPV4_MIN_HLEN ||
	    be16(ip + 6) & IPV4_FRAG_OFF_MASK)
		return NOT_KEPT;
	return transport(r, ip[9], ip + hlen, end);
}

static __always_inline int ipv6(const struct weir_xdp_rules *r, const __u8 *ip, const __u8 *end,
				int to_us)
{
	if (ip + IPV6_HLEN + 4 > end)
		return NOT_KEPT;
	if (ip[6] == IPPROTO_ICMPV6 && r->keep & BIT(WEIR_KEEP_ICMP) &&
	    (to_us || (ip[IPV6_HLEN] >= ND_FIRST && ip[IPV6_HLEN] <= ND_LAST)))
		return WEIR_KEEP_ICMP;
	if (!to_us || (ip[6] != IPPROTO_TCP && ip[6] != IPPROTO_UDP))
		return NOT_KEPT;
	return transport(r, ip[6], ip + IPV6_HLEN, end);
}

static __always_inline int is_own_mac(const struct weir_xdp_rules *r, const __u8 *data)
{
	return data[0] == r->mac[0] && data[1] == r->mac[1] && data[2] == r->mac[2] &&
	       data[3] == r->mac[3] && data[4] == r->mac[4] && data[5] == r->mac[5];
}

static __always_inline int above_ethernet(const struct weir_xdp_rules *r, __u16 type,
					  const __u8 *data, const __u8 *l3, const __u8 *end)
{
	int to_us;

	if (!(r->keep & KEEP_IP))
		return NOT_KEPT;
	to_us = is_own_mac(r, data);
	if (type == ETH_P_IP && to_us)
		return ipv4(r, l3, end);
	if (type == ETH_P_IPV6 && (to_us || data[0] & 1))
		return ipv6(r, l3, end, to_us);
	return NOT_KEPT;
}

// The rule that keeps a frame, or NOT_KEPT.
static __always_inline int kept(const struct weir_xdp_rules *r, const __u8 *data,
				const __u8 *type_at, const __u8 *end)
{
	__u16 type = be16(type_at);
	int slot;

	switch (type) {
	case ETH_P_LLDP:
		slot = WEIR_KEEP_LLDP;
		break;
	case ETH_P_ARP:
		if (!is_own_mac(r, data) && !(data[0] & 1))
			return NOT_KEPT;
		slot = WEIR_KEEP_ARP;
		break;
	case ETH_P_SLOW:
		if (type_at + 3 > end ||
		    (type_at[2] != LACP_SUBTYPE && type_at[2] != LACP_MARKER_SUBTYPE))
			return NOT_KEPT;
		slot = WEIR_KEEP_LACP;
		break;
	default:
		return above_ethernet(r, type, data, type_at + 2, end);
	}
	return r->keep & BIT(slot) ? slot : NOT_KEPT;
}

// ---- the program

static __always_inline const __u8 *ether_type(const __u8 *data, const __u8 *end)
{
	const __u8 *at = data + TYPE_OFF;

	for (int i = 0; i <= MAX_TAGS; i++) {
		if (at + 2 > end)
			return 0;
		if (!is_tag(be16(at)))
			return at;
		at += TAG_LEN;
	}
	return 0;
}

// long_frames: `data` to `end` is the first piece of a frame that may have several.
static __always_inline int steer_frame(struct xdp_md *ctx, int long_frames)
{
	const __u8 *data = (const __u8 *)(long)ctx->data;
	const __u8 *end = (const __u8 *)(long)ctx->data_end;
	const __u8 *type_at = ether_type(data, end);
	__u32 zero = 0;
	const struct weir_xdp_rules *r = bpf_map_lookup_elem(&weir_rules, &zero);
	int slot = r && type_at ? kept(r, data, type_at, end) : NOT_KEPT;
	int verdict;

	if (slot != NOT_KEPT) {
		count_in_slot((__u32)slot);
		return XDP_PASS;
	}
	if (ctx->rx_queue_index != 0) {
		count_in_slot(WEIR_XDP_OTHER_QUEUE);
		return XDP_DROP;
	}
	if (r && (long_frames ? bpf_xdp_get_buff_len(ctx) : (__u64)(end - data)) > r->longest) {
		count_in_slot(WEIR_XDP_MERGED);
		return XDP_DROP;
	}
	record_pfc_frame(data, end);
	verdict = bpf_redirect_map(&weir_xsks, 0, XDP_DROP);
	if (verdict != XDP_REDIRECT)
		count_in_slot(WEIR_XDP_NO_SOCKET);
	return verdict;
}

SEC("xdp")
int weir_xdp(struct xdp_md *ctx)
{
	return steer_frame(ctx, 0);
}

SEC("xdp.frags")
int weir_xdp_long(struct xdp_md *ctx)
{
	return steer_frame(ctx, 1);
}

char _license[] SEC("license") = "GPL";
