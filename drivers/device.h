// SPDX-License-Identifier: Apache-2.0
// What drivers/live.h and the drivers behind it have in common: what a port is opened with, what it
// is then, what a device reports, and what the user must know. Control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/port_ops.h"
#include "drivers/xdp/keep.h"

struct rte_mempool;
struct xdp_attach;

// Numbers of DPDK that sizes depend on, for code that is built without DPDK. live.c asserts them.
enum {
	LIVE_MBUF_BYTES = 128, // sizeof(struct rte_mbuf)
	LIVE_XDP_MTU_MAX = 9216, // of "xdp:" devices
	LIVE_XDP_PAGE_MTU = 3554, // up to this a frame and its room are in one memory page
	// With more "xdp:" ports each has memory of its own: the kernel needs less memory and the
	// start less time, at the price of two copies of each frame.
	LIVE_XDP_POOL_PORTS = 16,
	LIVE_DATA_ROOM_MIN = 2048 + 128, // RTE_MBUF_DEFAULT_BUF_SIZE
	LIVE_CACHE_FRAMES = 256, // per lcore; the mempool lets a cache grow to one and a half of it
	LIVE_CACHE_HELD = LIVE_CACHE_FRAMES + LIVE_CACHE_FRAMES / 2,
	LIVE_NORMAL_PAGES = 2, // an element crosses no page: up to twice the memory
	// What live_eal_init adds to the memory that the program needs.
	LIVE_EAL_MB = 24, // what EAL and its libraries take for themselves
	LIVE_WORKER_MB = 2, // what a worker's cache of frames may hold
};

enum { LIVE_TEXT_LEN = 1024 };

// err: one sentence, set when the call failed, else untouched. note: sentences that the user should
// see though the call succeeded, one per line, each ended by '\n'; "" when there are none. A call
// appends to note and never clears it: zero the struct first.
struct live_text {
	char err[LIVE_TEXT_LEN];
	char note[LIVE_TEXT_LEN];
};

// Sets err. Returns rc.
__attribute__((format(printf, 3, 4))) int live_refuse(struct live_text *text, int rc,
						      const char *fmt, ...);
// Appends to note.
__attribute__((format(printf, 2, 3))) void live_note(struct live_text *text, const char *fmt, ...);
// Appends what the user must know of a device whose NIC does not pass received (rx) or sent (tx)
// PFC frames.
void live_note_pfc(struct live_text *text, const char *name, const char *driver, bool rx, bool tx);

struct ifreq;
// One ioctl of a kernel interface. 0, -ENODEV where no interface can have the name, or -errno.
int live_ifreq(const char *ifname, unsigned long request, struct ifreq *ifr);

// ---- what a device reports beyond the facts that a switch needs: for people who set
// one up (`weir --selftest`)

enum { LIVE_DRIVER_LEN = 32 };

// Three values, as few drivers report all of it.
enum live_known { LIVE_UNKNOWN, LIVE_NO, LIVE_YES };

struct live_info {
	char driver[LIVE_DRIVER_LEN]; // "" where it is not reported
	int ifindex; // of the kernel's interface that the device is; 0: it is none
	uint32_t mtu; // as it is set now; 0: not reported
	uint32_t mtu_max; // largest IP MTU that a port on it can carry; 0: not reported
	uint32_t rx_queues; // 0: not reported
	bool combined_queues; // `ethtool -L` calls them combined, not rx
	bool has_rate; // a link with a speed, not a virtual one
	enum live_known pfc_rx, pfc_tx; // PFC frames pass between wire and software
	enum live_known takes_tags_off; // VLAN tags of received frames do not reach the switch
	enum live_known flow_control; // 802.3x PAUSE is on

	// ---- of an open port
	enum live_known native; // NO: the generic hook
	enum live_known zero_copy;
};

// ---- ports

struct live_conf {
	struct rte_mempool *pool;
	uint32_t max_frame; // longest legal frame without FCS: mtu + 14 + 8
	uint32_t mtu; // IP MTU the policy wants; 0: max_frame - 22
	uint32_t tx_ring_bytes; // data that may sit in the transmit ring; 0: 8 KiB
	uint32_t rx_ring; // frames it should hold, rounded up to a power of two; 0: default
	bool apart; // memory of its own for the rings, not the pool's. "xdp:" devices only
	uint32_t time_scale; // the facts' times are model time: divided by this; 0: 1
	const struct keep *keep; // what goes to the host's stack; NULL: LLDP. "xdp:" devices only
	bool take_over; // also where the host has addresses on it. "xdp:" devices only
	const struct xdp_attach *program; // of live_program_load(); NULL: live_open() loads one
	bool no_wait; // a device that is in use is refused at once; no wait for a link's speed
};

// Copy ops, drv and facts into a struct switch_port. facts.speed_bps is 0 where the link has no
// rate of its own (veth, tap, every vdev): the policy must give one.
struct live_port {
	const struct port_ops *ops;
	void *drv;
	struct port_facts facts;
	void (*close)(void *drv); // live_close calls it
	void (*info)(void *drv, struct live_info *out); // live_info calls it
	// Or NULL; live_set_keep calls it.
	int (*set_keep)(void *drv, const struct keep *keep, bool take_over, struct live_text *text);
};
