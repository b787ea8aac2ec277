// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
// The XDP program of a Weir port. It gives LLDP, tagged or not, to the host's stack so that lldpd
// works on a switch port, and every other frame to the AF_XDP socket of queue 0. Where no socket
// is bound any more (the switch is going down) frames are dropped: leaking a switch port's traffic
// into the host would be worse. It parses nothing beyond the EtherType.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "drivers/xdp/weir_xdp.h"

#define MAX_TAGS 2
#define TAG_LEN 4

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

static __always_inline void count(__u32 slot)
{
	__u64 *n = bpf_map_lookup_elem(&weir_counts, &slot);

	if (n)
		*n += 1;
}

static __always_inline int is_tag(__be16 type)
{
	return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD);
}

static __always_inline int is_lldp(const char *data, const char *end)
{
	const char *type = data + 2 * ETH_ALEN;

	for (int i = 0; i <= MAX_TAGS; i++) {
		if (type + sizeof(__be16) > end)
			return 0;
		if (!is_tag(*(const __be16 *)type))
			return *(const __be16 *)type == bpf_htons(ETH_P_LLDP);
		type += TAG_LEN;
	}
	return 0;
}

SEC("xdp")
int weir_xdp(struct xdp_md *ctx)
{
	const char *data = (const char *)(long)ctx->data;
	const char *end = (const char *)(long)ctx->data_end;

	if (is_lldp(data, end)) {
		count(WEIR_XDP_TO_KERNEL);
		return XDP_PASS;
	}
	if (ctx->rx_queue_index != 0) {
		count(WEIR_XDP_OTHER_QUEUE);
		return XDP_DROP;
	}
	return bpf_redirect_map(&weir_xsks, 0, XDP_DROP);
}

char _license[] SEC("license") = "GPL";
