// SPDX-License-Identifier: Apache-2.0
// Any DPDK port as a switch port: a NIC on the PCI bus or a virtual device (net_tap, net_af_packet,
// net_pcap, net_ring, net_null, ...). One receive and one transmit queue, kept short where the
// driver lets them be, promiscuous, with MAC control frames forwarded to software where the MAC can
// be asked to.
//
// What a driver cannot do is a fact of the port and a plain sentence, never a failure: without
// readable receive depth the receive-ring guard is off; without readable transmit descriptors the
// ring is bounded by its length alone.
//
// The control thread opens and closes; the operations follow the thread rules of port_ops.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "dataplane/port_ops.h"
#include "drivers/live_info.h"

struct ethdev_port;
struct rte_mempool;

enum { ETHDEV_NOTE_LEN = 1024, ETHDEV_TX_BYTES_DEFAULT = 8192 };

struct ethdev_conf {
	const char *devargs; // "0000:3b:00.0[,args]" or "net_tap0,iface=tap0"
	struct rte_mempool *pool;
	uint32_t max_frame; // without FCS
	uint32_t mtu; // IP MTU
	uint32_t tx_ring_bytes; // 0: 8 KiB
	uint32_t rx_ring; // descriptors; 0: 1024
};

// Frames its rings may hold at most.
// Descriptors that a configured value (0: default) comes to.
uint16_t ethdev_tx_ring(uint32_t tx_ring_bytes);
uint16_t ethdev_rx_ring(uint32_t conf);
uint32_t ethdev_frames(uint32_t tx_ring_bytes, uint32_t rx_ring);

// notes: a buffer of ETHDEV_NOTE_LEN for sentences the user should see, each ended by '\n'. On
// failure err holds one sentence and *out is untouched. 0 or -errno.
__attribute__((warn_unused_result)) int ethdev_open(const struct ethdev_conf *conf,
						    struct ethdev_port **out,
						    struct port_facts *facts, char *notes,
						    char *err, size_t err_len);

// What the driver says about itself.
void ethdev_info(const struct ethdev_port *p, struct live_info *out);

// The port's worker must have stopped. Takes the device out of EAL again. NULL is fine.
void ethdev_close(struct ethdev_port *p);

extern const struct port_ops ethdev_ops;
