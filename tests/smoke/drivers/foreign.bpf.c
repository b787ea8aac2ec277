// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
// Somebody else's XDP program: lets everything pass.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int foreign(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
