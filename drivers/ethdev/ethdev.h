// SPDX-License-Identifier: Apache-2.0
// Any DPDK port as a switch port: a NIC on the PCI bus or a virtual device (net_tap, net_af_packet,
// net_pcap, net_ring, net_null, ...). One receive and one transmit queue, kept short where the
// driver lets them be, promiscuous, with MAC control frames forwarded to software where the MAC
// can do so.
//
// What a driver cannot do is a fact of the port and a plain sentence, never a failure: without
// readable receive depth the receive-ring guard is off; without readable transmit descriptors the
// ring is bounded by its length alone.
//
// The control thread opens and closes; the operations follow the thread rules of port_ops.h.
#pragma once

#include <stdint.h>

#include "drivers/device.h"

enum { ETHDEV_TX_BYTES_DEFAULT = 8192 };

// Descriptors that a configured value (0: default) comes to.
uint16_t ethdev_tx_ring(uint32_t tx_ring_bytes);
uint16_t ethdev_rx_ring(uint32_t conf);

// devargs: "0000:3b:00.0[,args]" or "net_tap0,iface=tap0". 0 or -errno with text->err; *out is
// untouched then. out->close takes the device out of EAL again.
__attribute__((warn_unused_result)) int ethdev_open(const char *devargs,
						    const struct live_conf *conf,
						    struct live_port *out, struct live_text *text);
