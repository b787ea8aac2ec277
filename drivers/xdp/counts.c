// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <linux/if_xdp.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_common.h>

#include "drivers/xdp/port.h"

// ---- what a port counts beside the switch: from the maps of its program, from the socket, and
// from the interface

// All numbers of the kernel, read once.
struct numbers {
	struct xdp_statistics xsk;
	struct netdev_state dev; // since the port was opened
	uint64_t prog[WEIR_XDP_N_COUNTS];
	uint64_t copies_lost, finished;
};

static void read_numbers(struct xdp_port *p, struct numbers *n)
{
	socklen_t len = sizeof(n->xsk);

	*n = (struct numbers){0};
	(void)getsockopt(p->fd, SOL_XDP, XDP_STATISTICS, &n->xsk, &len);
	if (netdev_read(&p->dev, &n->dev) == 0)
		p->latest = n->dev;
	n->dev = p->latest; // also once the interface is gone
	n->dev.rx_missed -= p->at_open.rx_missed;
	n->dev.tx_lost -= p->at_open.tx_lost;
	for (uint32_t i = 0; i < WEIR_XDP_N_COUNTS; i++)
		n->prog[i] = xdp_attach_count(&p->attach, i) - p->counts_at_open[i];
	n->copies_lost = copies_lost(&p->copies);
	n->finished = ctr_get(&p->finished);
}

// ---- by reason

static const struct reason {
	const char *name, *help;
	bool lost;
	size_t off;
} reasons[] = {
#define PROG(slot) offsetof(struct numbers, prog[slot])
	{PORT_REASON_LLDP, "LLDP frames given to the host's stack", false, PROG(WEIR_KEEP_LLDP)},
	{"kept_lacp", "LACP frames given to the host's stack", false, PROG(WEIR_KEEP_LACP)},
	{"kept_arp", "ARP frames given to the host's stack", false, PROG(WEIR_KEEP_ARP)},
	{"kept_icmp", "ICMP and neighbour discovery given to the host's stack", false,
	 PROG(WEIR_KEEP_ICMP)},
	{"kept_tcp", "TCP frames given to the host's stack", false, PROG(WEIR_KEEP_TCP)},
	{"kept_udp", "UDP frames given to the host's stack", false, PROG(WEIR_KEEP_UDP)},
	{"pfc_early", "PFC frames whose times were known before they were received", false,
	 PROG(WEIR_XDP_PFC)},
	{"sums_finished",
	 "TCP and UDP checksums that a virtual sender left unfinished, and that were finished",
	 false, offsetof(struct numbers, finished)},
	{"other_queue", "frames lost on a receive queue that is not polled; one queue is", true,
	 PROG(WEIR_XDP_OTHER_QUEUE)},
	{PORT_REASON_MERGED,
	 "frames longer than the port receives: a sender on this machine merges TCP segments; "
	 "`ethtool -K DEVICE tso off gso off` at the sender",
	 true, PROG(WEIR_XDP_MERGED)},
	{"no_socket", "frames lost because the socket was not bound", true,
	 PROG(WEIR_XDP_NO_SOCKET)},
#undef PROG
	{"copy_lost",
	 "ARP and neighbour discovery that the host's stack got and the switch, being "
	 "late, did not",
	 true, offsetof(struct numbers, copies_lost)},
	{"no_buffer",
	 "frames lost in the kernel: too long, or no free buffer because the worker "
	 "is late",
	 true, offsetof(struct numbers, xsk.rx_dropped)},
	{"ring_full", "frames lost because the receive ring was full", true,
	 offsetof(struct numbers, xsk.rx_ring_full)},
	{"nic_missed", "frames that the network card lost for want of buffers", true,
	 offsetof(struct numbers, dev.rx_missed)},
};

static_assert(RTE_DIM(reasons) <= PORT_REASONS_MAX, "callers have room for all");

static uint64_t value(const struct numbers *n, const struct reason *r)
{
	uint64_t v;

	memcpy(&v, (const char *)n + r->off, sizeof(v)); // the kernel's u64 is another type
	return v;
}

unsigned xdp_reasons(void *drv, struct port_reason *out, unsigned n)
{
	struct numbers now;
	unsigned i;

	read_numbers(drv, &now);
	for (i = 0; i < n && i < RTE_DIM(reasons); i++)
		out[i] = (struct port_reason){.name = reasons[i].name,
					      .help = reasons[i].help,
					      .lost = reasons[i].lost,
					      .frames = value(&now, &reasons[i])};
	return i;
}

// ---- the sums

// A frame the kernel drops for want of a fill-ring buffer counts in rx_dropped already, so
// rx_fill_ring_empty_descs is not added. A frame that a full queue of a veth's peer or a dead link
// swallows completes like any other; only the interface's own counters show it.
void xdp_stats(void *drv, struct port_drv_stats *out)
{
	struct xdp_port *p = drv;
	struct numbers now;

	read_numbers(p, &now);
	*out = (struct port_drv_stats){
		.tx_errors = ctr_get(&p->tx_errors) + now.xsk.tx_invalid_descs + now.dev.tx_lost,
	};
	for (size_t i = 0; i < RTE_DIM(reasons); i++)
		if (reasons[i].lost)
			out->rx_missed += value(&now, &reasons[i]);
	for (unsigned kind = 0; kind < WEIR_N_KEEPS; kind++)
		out->rx_to_kernel += now.prog[kind];
}
