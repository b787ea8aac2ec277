// SPDX-License-Identifier: Apache-2.0
// AF_XDP port: a kernel interface as a switch port, on our own rings over the process's frame pool.
// The memory of the whole pool is registered with the kernel once per port, so a frame received on
// one port leaves through another without a copy of ours. With live_conf.apart each port registers
// memory of its own instead, and a frame is copied twice (area.h). One queue. Where a port carries
// more than a page, the kernel cuts frames into several buffers, and rx() puts them together.
//
// The control thread opens and closes; the operations follow the thread rules of port_ops.h.
// PFC is parsed in the XDP program, before the ring: port_ops.pause() reads its times, and the
// frame in the ring must not act again.
//
//            pool ---- fill ring ----> kernel ---- receive ring ----> rx()
//              ^                                                        |
//              +---- completion ring <---- kernel <---- transmit ring <--- tx()
//
// Receive side: at most rx_ring buffers are with the kernel or unread, so the receive ring cannot
// overflow; when the worker is late the fill ring runs dry and the kernel counts what it drops.
// Transmit side: tx_room() keeps what is handed over and not completed below tx_ring_bytes. Where
// the kernel copies and the device has no line of its own (veth), a call of tx() has sent what it
// was given when it returns: there an empty ring takes what the kernel sends per call, 32 frames,
// since shorter calls only wake the receiver more often and hold back nothing. Measured, TCP
// between two veths at MTU 1500: 0.78 of testpmd's rate without this, 0.97 with it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/device.h"

enum {
	XDP_RX_RING_DEFAULT = 2048,
	XDP_RX_RING_MIN = 64,
	XDP_RX_RING_MAX = 32768,
	XDP_TX_RING_BYTES_DEFAULT = 8192,
	XDP_FRAME_ROOM = 256, // the kernel leaves this much free before a received frame
	XDP_FRAME_SLACK = 8, // FCS and one more tag on NICs that write them behind the frame
	XDP_FRAME_STEP = 128, // NICs take receive buffers in these steps
	XDP_KERNEL_BATCH = 32, // frames that a call sends in copy mode
	XDP_TX_CONTROL_SPARE = 32, // descriptors that only MAC control frames may use
};

// Whether the kernel cuts frames up to max_frame into several buffers. Linux 6.6 and newer do so.
bool xdp_is_long(uint32_t max_frame);

// Bytes of mbuf buffer for frames up to max_frame.
uint32_t xdp_data_room(uint32_t max_frame);

// Bytes of a chunk where the port has memory of its own.
uint32_t xdp_area_chunk(uint32_t max_frame);

// Ring sizes that a configured value (0: default) comes to.
uint32_t xdp_rx_ring(uint32_t conf);
uint32_t xdp_tx_ring(uint32_t tx_ring_bytes); // descriptors
uint32_t xdp_tx_limit(uint32_t tx_ring_bytes, uint32_t max_frame); // bytes

// What the interface reports before it is opened; this brings it up. 0 or -errno with
// text->err.
__attribute__((warn_unused_result)) int xdp_probe(const char *ifname, struct live_info *out,
						  struct live_text *text);

// 0 or -errno with text->err; *out is untouched then. -EBUSY also where the host uses the
// interface, keep leaves no IP to it, and take_over is false. out->close gives the frames with the
// kernel back to the pool.
__attribute__((warn_unused_result)) int xdp_open(const char *ifname, const struct live_conf *conf,
						 struct live_port *out, struct live_text *text);
