// SPDX-License-Identifier: Apache-2.0
// The port interface: what a driver (xdp, ethdev, wire) offers to the dataplane.
//
// The fast operations belong to the one worker that owns the port and are called from its loop:
// they take no lock and allocate nothing. The slow ones belong to the control thread and may be
// called while the worker runs. A frame is always one mbuf segment; lengths exclude the FCS.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;

enum { PORT_ROOM_ANY = INT32_MAX, PORT_WAIT_FDS = 2 };

// PFC as a driver may see it before the frame reaches the ring (an XDP program). `seq` grows with
// each PFC frame that enables the class; `quanta` is its time, `speed`-relative as on the wire.
struct port_pause {
	uint32_t seq;
	uint16_t quanta;
};

// What the driver counts beside the dataplane. Monotone.
struct port_drv_stats {
	uint64_t rx_missed; // frames lost because the receive ring or its buffers ran out
	uint64_t tx_errors; // frames the driver took and then could not send
	uint64_t rx_to_kernel; // frames that were steered to the host's stack
};

// Why frames did not come through the receive ring, or what was done with them beside it.
enum { PORT_REASONS_MAX = 16 };
#define PORT_REASON_LLDP "kept_lldp" // LLDP that the host's stack has and the switch has not
#define PORT_REASON_MERGED "merged_segments" // lost: a virtual sender leaves segmentation to a NIC
struct port_reason {
	const char *name, *help;
	bool lost; // counts in rx_missed
	uint64_t frames; // monotone
};

struct port_ops {
	// ---- owner worker, hot path
	// Takes up to n received frames. Their order is the order on the wire.
	uint16_t (*rx)(void *drv, struct rte_mbuf **pkts, uint16_t n);
	// Frames waiting to be received, or -ENOTSUP where the driver cannot tell.
	int32_t (*rx_depth)(void *drv);
	// Bytes of data frames the driver would take now; 0: none. An empty driver takes at least
	// one frame of any legal size. Frames taken count their length against it.
	int32_t (*tx_room)(void *drv);
	// Hands frames over, and kicks the hardware. Returns how many were taken, in order; those
	// belong to the driver. May take MAC control frames even where tx_room is 0.
	uint16_t (*tx)(void *drv, struct rte_mbuf **pkts, uint16_t n);
	// Bytes handed over that are not known to have left yet (tx completion is polled here).
	uint32_t (*tx_pending)(void *drv);
	// Early PFC of a class, or NULL: then the received frame acts.
	bool (*pause)(void *drv, unsigned cls, struct port_pause *out);
	// Only where the port wakes, and steps its worker in the driver's own thread; else NULL.
	// The driver sets `bit` in *word when a frame has arrived, and when room has returned that
	// tx_room or tx did not have. A port that nothing happened to is then not looked at. A
	// word of NULL ends it; the driver must outlive the switch.
	void (*watch)(void *drv, uint64_t *word, uint64_t bit);

	// ---- control thread
	void (*stats)(void *drv, struct port_drv_stats *out);
	bool (*link_up)(void *drv);
	// The device does not exist, and never again for this driver. NULL: cannot happen.
	bool (*gone)(void *drv);
	// Fills up to n rows about frames that did not come through the ring, and returns how many.
	// Name and order of a driver's rows stay the same. NULL: the driver has none.
	unsigned (*reasons)(void *drv, struct port_reason *out, unsigned n);
	// Writes up to PORT_WAIT_FDS descriptors that poll(2) reports as readable while a received
	// frame waits, and returns how many; 0: none can come. NULL: only rx() can see a frame.
	// Also called by the owner worker.
	unsigned (*wait_fds)(void *drv, int *fds);
};

// What control learns when it opens a port.
struct port_facts {
	uint8_t mac[6];
	uint64_t speed_bps; // the link's, 0 where the link has none
	uint32_t max_frame; // longest frame the driver can carry, without FCS
	uint32_t rx_ring; // frames its receive ring may hold: the port's skid, 0 on the wire
	uint32_t tx_ring_bytes; // data bytes that still leave after a PAUSE arrived
	uint32_t shaper_burst_ns; // lateness of the poll loop that costs no rate, 0 on the wire
	uint32_t shaper_late_ns; // the same of a slow port, within the bytes that 2 Gb/s send in it
	uint16_t tx_burst; // frames that one tx call can take; 0: any number that has room
	// The driver steps the worker itself when a frame arrives or room returns (virtual wire);
	// else the worker must look again by itself.
	bool wakes;
	bool rx_depth_readable; // the receive-ring guard can work
	bool pfc_rx; // PFC frames of the peer reach the switch
	bool pfc_tx; // PFC frames of the switch reach the peer
};
