// SPDX-License-Identifier: Apache-2.0
// A kernel network interface as an AF_XDP port needs it: looks it up, takes it into promiscuous
// use, and reads link, speed and losses. Plain ioctl and one rtnetlink request; no DPDK. The
// control thread calls everything. Nothing outlives the process but the interface's UP flag.
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/device.h"

enum { NETDEV_DRIVER_LEN = 32 };

struct netdev {
	char name[IF_NAMESIZE];
	char driver[NETDEV_DRIVER_LEN]; // "" where the kernel does not report it
	int ifindex;
	int nl_fd; // for rtnetlink
	int promisc_fd; // its membership keeps the interface promiscuous while we live
	uint8_t mac[6];
	uint32_t mtu;
	uint32_t rx_queues;
	bool combined_queues; // `ethtool -L` calls them combined, not rx
	bool is_card; // sits on a bus
	bool rx_vlan_offload; // the NIC takes VLAN tags off before XDP sees them
	bool flow_control_known; // and whether it is on, in either direction
	bool flow_control;
	uint64_t speed_bps; // 0: none or unknown
};

// What changes while the port is open.
struct netdev_state {
	bool up; // administratively up and the link has carrier
	uint64_t rx_missed; // frames the NIC lost for want of buffers
	uint64_t tx_lost; // frames the kernel took for sending and discarded
};

// Looks the interface up, brings it up and makes it promiscuous. 0 or -errno with
// text->err.
__attribute__((warn_unused_result)) int netdev_open(struct netdev *d, const char *ifname,
						    struct live_text *text);
void netdev_close(struct netdev *d);
// IFF_UP and the like, -ENODEV where no interface has the name, or another -errno.
int netdev_flags(const char *ifname);
__attribute__((warn_unused_result)) int netdev_read(const struct netdev *d,
						    struct netdev_state *out);

// Whether the host itself uses an interface: a port that takes all frames would cut the host off.
// True when the interface carries an address that is not link-local, or a default route; text names
// these, such as "192.0.2.1 and the default route". An index, as an interface may have more names.
bool netdev_host_uses(unsigned ifindex, char *text, size_t len);
