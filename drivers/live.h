// SPDX-License-Identifier: Apache-2.0
// One door to the live world for the programs `weir` and `weir-host`: brings up EAL, makes the one
// frame pool of the process, and opens a port from its device string, whichever driver serves it.
//
//   "xdp:IFACE"                  a kernel interface through AF_XDP (drivers/xdp)
//   "pci:0000:3b:00.0[,args]"    a DPDK port on the PCI bus (drivers/ethdev)
//   "vdev:net_tap0,iface=tap0"   a DPDK virtual device (drivers/ethdev)
//
// The control thread calls everything here, in this order:
//
//   for each port   frames += live_device_frames(device, tx_ring_bytes, rx_ring), or
//                   live_apart_frames() where it is opened with live_conf.apart
//                   frames += what the program itself holds (switch_max_frames())
//   live_eal_init   with mem_bytes = live_pool_bytes(frames, largest max_frame) + own tables
//   live_pool_create, then live_open for each port
//   ... workers run on lcores live_worker_lcore(0..n_workers-1) ...
//   live_close for each port (after its worker has stopped), rte_mempool_free, live_eal_fini
//
// Several processes may do this at once on one machine: nothing is shared between them but the
// machine's hugepages. It starts no thread beyond EAL's lcores and reads no configuration.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/device.h"

struct live_eal_conf {
	const int *worker_cpus; // one CPU per worker to pin it to, or NULL: workers float
	unsigned n_workers; // lcores beside the main one; 0: the program polls on the main one
	bool pci; // some device is a "pci:" one (live_eal_device)
	const char *physical; // a "pci:" device whose DMA has physical addresses, or NULL
	uint64_t mem_bytes; // DPDK memory that the program needs: the pool and its tables
	uint64_t apart_bytes; // ordinary pages that its ports take beside (live_apart_bytes)
	// EAL arguments of the user (after `--`), which win over ours. --no-huge alone means normal
	// pages, as many as mem_bytes needs.
	char *const *extra;
	int n_extra;
	// Name of EAL's runtime directory, where its telemetry listens; NULL: no telemetry.
	const char *file_prefix;
};

// Once per process. Hugepages are taken when enough are free, else normal pages with a note that
// gives the cost and the command for hugepages; programs that start at once take turns. The calling
// thread becomes lcore 0 and floats over the CPUs the process may use; worker i is lcore
// live_worker_lcore(i). Start workers with rte_eal_remote_launch(). 0 or -errno.
__attribute__((warn_unused_result)) int live_eal_init(const char *prog,
						      const struct live_eal_conf *conf,
						      struct live_text *text);
void live_eal_fini(void);
// Before live_eal_init: the program will open this device. The text must stay.
void live_eal_device(struct live_eal_conf *conf, const char *device);

static inline unsigned live_worker_lcore(unsigned worker)
{
	return worker + 1;
}

// ---- the frame pool, one per process
// Bytes an mbuf's buffer needs, its headroom included, so that every driver can receive a frame
// of max_frame bytes into it. Legal for any max_frame up to 65000.
uint32_t live_data_room(uint32_t max_frame);

// Memory of one frame, its mbuf included.
uint32_t live_frame_bytes(uint32_t max_frame);

// Memory that a pool of n_frames takes, rounded up generously.
uint64_t live_pool_bytes(uint32_t n_frames, uint32_t max_frame);

// Frames that the driver of this device holds in its rings at most (receive ring, transmit ring,
// and what sits in lcore caches because of them). Zeros mean the defaults, as in live_conf.
uint32_t live_device_frames(const char *device, uint32_t tx_ring_bytes, uint32_t rx_ring);

// The same of an "xdp:" device that is opened with live_conf.apart, and the memory that it then has
// for its rings. Ordinary pages.
uint32_t live_apart_frames(void);
uint64_t live_apart_bytes(uint32_t tx_ring_bytes, uint32_t rx_ring, uint32_t max_frame);

// Bytes that can stand in its transmit ring, where the device is not open yet: of an xdp: device as
// much as copy mode takes, which a virtual interface has.
uint32_t live_device_ring_bytes(const char *device, uint32_t tx_ring_bytes, uint32_t max_frame);

// n_frames mbufs that are all usable at once: the per-lcore caches come on top. One virtually
// contiguous area. One of a process: DPDK knows it as "frames". 0 or -errno.
__attribute__((warn_unused_result)) int live_pool_create(uint32_t n_frames, uint32_t max_frame,
							 struct rte_mempool **out,
							 struct live_text *text);

// ---- ports
// True for the shapes listed on top, whether the device exists or not.
bool live_device_valid(const char *device);

// The XDP program of an "xdp:" port; NULL for other devices. The kernel loads a program only for a
// process with all privileges, so a port keeps its program for later devices. 0 or -errno with
// text->err.
__attribute__((warn_unused_result)) int live_program_load(const char *device, uint32_t max_frame,
							  struct xdp_attach **out,
							  struct live_text *text);
void live_program_free(struct xdp_attach *program); // after live_close; NULL is fine

// Looks at the name alone. A "vdev:" is LIVE_READY always.
enum live_state {
	LIVE_MISSING, // the interface does not exist; the "pci:" device is not bound for DPDK
	LIVE_DOWN, // it is not up
	LIVE_READY,
};
enum live_state live_device_state(const char *device);
// Whether it is an interface of the kernel alone: a veth, a tap.
bool live_device_has_no_card(const char *device);

// A port without a device, which holds nothing. facts: of the device before, or live_facts().
void live_absent(const struct port_facts *facts, struct live_port *out);
// The facts to assume of a device that does not exist yet: no MAC address and no speed.
struct port_facts live_facts(const struct live_conf *conf);

// 0 or -errno with text->err; *out untouched on failure. text->note gains what the user should know
// about this port, e.g. that PFC cannot pass here.
__attribute__((warn_unused_result)) int live_open(const char *device, const struct live_conf *conf,
						  struct live_port *out, struct live_text *text);

// What a device reports without being opened as a port; unknown for devices that the kernel
// does not drive. An interface is brought up by it. 0 or -errno with text->err.
__attribute__((warn_unused_result)) int live_probe(const char *device, struct live_info *out,
						   struct live_text *text);
void live_info(const struct live_port *port, struct live_info *out);

// Changes what goes to the host's stack while frames pass, as a reload may; no frame is lost by it.
// Nothing happens where the device does not share its frames. 0 or -errno with text->err. take_over
// is as in live_conf: false refuses to cut off a host that uses the device.
__attribute__((warn_unused_result)) int live_set_keep(const struct live_port *port,
						      const struct keep *keep, bool take_over,
						      struct live_text *text);

// The port's worker must have stopped. Frames in the rings go back to the pool. Clears *port, so
// that it may be called again.
void live_close(struct live_port *port);
