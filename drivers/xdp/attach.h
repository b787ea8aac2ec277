// SPDX-License-Identifier: Apache-2.0
// Puts the XDP program of a port onto its interface and takes it off again. The attachment is a BPF
// link, so the kernel removes it when the process ends in whatever way, SIGKILL included. A program
// that is ours (by its name and its maps) and was attached without a link, so that it outlived its
// owner, is replaced; anybody else's stays and the port is refused. Control thread only.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/base/counter.h"
#include "drivers/device.h"

struct bpf_object;
struct weir_xdp_pause;

struct xdp_attach {
	struct bpf_object *obj;
	int link_fd;
	int xsks_fd; // owned by obj, as are the next two
	int counts_fd;
	int rules_fd;
	const struct weir_xdp_pause *pause; // mapped: the program writes, the owner worker reads
	bool long_frames; // the program takes frames of several buffers
	bool borrowed; // another xdp_attach owns all but the link
};

enum xdp_mode { XDP_MODE_NATIVE, XDP_MODE_GENERIC };

// Refuses an interface with a foreign or a living program, removes a stale one of ours.
__attribute__((warn_unused_result)) int xdp_attach_check(int ifindex, const char *ifname,
							 struct live_text *text);

// Loads the program, not yet attached. long_frames: with frames of several buffers. a is valid for
// xdp_attach_close() in any case.
__attribute__((warn_unused_result)) int xdp_attach_load(struct xdp_attach *a, bool long_frames,
							struct live_text *text);

// Uses a program that is loaded, on one interface at a time. `loaded` must outlive a.
void xdp_attach_borrow(struct xdp_attach *a, const struct xdp_attach *loaded);

// Says which frames go to the host's stack from now on, also while frames pass. mac: the port's own
// address. -errno.
__attribute__((warn_unused_result)) int
xdp_attach_rules(const struct xdp_attach *a, const struct keep *keep, const uint8_t mac[6],
		 uint32_t longest);

// Makes xsk_fd the socket that frames go to, and attaches. -errno without a text: the caller may
// try the other mode.
__attribute__((warn_unused_result)) int xdp_attach_link(struct xdp_attach *a, int xsk_fd,
							int ifindex, enum xdp_mode mode);

// Detaches, and unloads what is not borrowed. Only ever removes what xdp_attach_link() attached.
void xdp_attach_close(struct xdp_attach *a);

// Sum over CPUs of a WEIR_XDP_* counter.
uint64_t xdp_attach_count(const struct xdp_attach *a, uint32_t slot);

// ---- copies of what the stack gets: ARP requests and IPv6 neighbour discovery to a group concern
// the host's stack and the stations behind the switch alike. The XDP program can give a frame to
// one of them only, so it gives these to the stack, and the switch takes its copy from a packet
// socket whose ring both sides see: a look costs one load and no system call. Control opens and
// closes, the owner worker reads.

struct rte_mbuf;
struct rte_mempool;

struct xdp_copies {
	// ---- owner worker
	uint8_t *ring; // NULL: none
	uint32_t next;
	ctr_t lost; // too long for a slot, or no mbuf

	// ---- control
	int fd;
	uint64_t overflowed; // frames the ring had no room for, as of the last query
};

// 0 or -errno; c is valid for copies_close() in any case.
__attribute__((warn_unused_result)) int copies_open(struct xdp_copies *c, int ifindex);
void copies_close(struct xdp_copies *c);

// Takes up to n frames, tags put back in place.
uint16_t copies_rx(struct xdp_copies *c, struct rte_mempool *pool, struct rte_mbuf **pkts,
		   uint16_t n);

// Frames that the stack has got and the switch never will.
uint64_t copies_lost(struct xdp_copies *c);
