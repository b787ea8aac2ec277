// SPDX-License-Identifier: Apache-2.0
// One switch: its ports, queues, tables and workers. No process-wide state: any number of
// switches live in one process (the lab runs whole fabrics). EAL must be up; memzone names carry
// the switch's name and must be unique in the process.
//
// Who calls what: the control thread creates, publishes and reads; each worker thread calls only
// worker_step (worker.h) on its own worker. Numbers below are read at any time, one word at a time;
// sums over several words are exact only when the switch is at rest.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/base/counter.h"
#include "dataplane/drop.h"
#include "dataplane/event.h"
#include "dataplane/qos/policer.h"
#include "dataplane/port_ops.h"
#include "dataplane/qos/cause.h"
#include "dataplane/switch_punt.h"

struct fdb_port;
struct policy;
struct rte_mempool;
struct tap;
struct weir_switch;
struct worker;

struct switch_port {
	const struct port_ops *ops;
	void *drv;
	struct port_facts facts;
};

// Residence time of a frame in the switch: bucket b holds times t with
// residence_bucket(t) = b. Four buckets per power of two of nanoseconds.
enum { RESIDENCE_SUB = 4, RESIDENCE_BUCKETS = 40 * RESIDENCE_SUB };

static inline unsigned residence_bucket(uint64_t ns)
{
	unsigned log2, b;

	if (ns < RESIDENCE_SUB)
		return (unsigned)ns;
	log2 = 63 - (unsigned)__builtin_clzll(ns);
	b = (log2 - 1) * RESIDENCE_SUB + (unsigned)(ns >> (log2 - 2) & 3);
	return b < RESIDENCE_BUCKETS ? b : RESIDENCE_BUCKETS - 1;
}

// Largest time of bucket b, in ns.
uint64_t residence_bucket_max(unsigned b);

// Written by the port's owner. What each frame counts comes first, by arrival and departure
// (port.h).
struct port_counters {
	ctr_t received; // every frame the driver delivered
	ctr_t rx_packets, rx_bytes; // of those, all but MAC control
	gauge_t rx_depth; // frames waiting in the driver when last seen
	gauge_t rx_guard; // 1 while the receive-ring guard holds
	ctr_t generated; // PFC frames made here
	ctr_t replicated; // flood copies beyond the first, made from this port's arrivals
	ctr_t consumed; // control frames taken in here
	ctr_t transmitted; // every frame the driver took
	ctr_t tx_packets, tx_bytes; // of those, all but PFC
	gauge_t tx_pending_bytes; // in the driver
	gauge_t queued; // frames held for this port: queues and what the driver refused
	gauge_t trims; // of those, trimmed frames (trim.h)
	// Frames that came by this port and are not yet in a queue: an impairment holds them, or
	// their next hop is not known.
	gauge_t waiting_in;
	ctr_t pfc_malformed, pfc_misaddressed, pause_8023x, lldp, other_control;
	gauge_t roce_lossy_latest; // of the latest such frame: class, DSCP << 8
	ctr_t roce_in_lossy_class, roce_v1_in_lossy_class, roce_not_ect, lossless_unknown, bad_l3;
	ctr_t routed_too_long; // for the MTU of the interface that they would leave by
	ctr_t unknown_probes; // lossless frames flooded in a lossy class (unknown_unicast.h)
	struct punt_counters punt[N_PUNT_REASONS];
	ctr_t limited[N_LIMIT_KINDS]; // frames dropped beyond a rate of the policy
	ctr_t loop_forged; // loop probes that this switch did not send; written by control
	ctr_t early_pauses; // PFC frames that acted before they were received, one per class
};

struct queue_counters {
	gauge_t length_bytes, length_packets;
	gauge_t max_bytes; // a reader wants switch_watermark
	ctr_t tx_packets, tx_bytes;
	gauge_t residence_ns; // of the frame that left last
	gauge_t residence_max_ns;
	ctr_t ecn_marked;
	ctr_t dropped_packets, dropped_bytes;
	ctr_t residence[RESIDENCE_BUCKETS];
	// Frames of this queue that were trimmed, and how they ended in the queue they went to.
	ctr_t trimmed, trim_cut_bytes, trim_sent, trim_dropped;
};

struct pg_counters {
	ctr_t dropped_packets, dropped_bytes, rx_packets, rx_bytes;
};

struct drop_counters {
	ctr_t packets, bytes;
};

// Written by the worker itself.
struct worker_counters {
	ctr_t loops, busy_loops; // busy: a frame was received, handed over or sent
	ctr_t gaps_over_1ms; // loops that began more than a millisecond after the one before
	gauge_t gap_max_ns; // longest time between the beginnings of two loops
};

struct balance {
	uint64_t received, generated, replicated; // beginnings
	uint64_t transmitted, consumed, dropped, queued; // ends; queued: all that are still here
};

// The policy stays the caller's and must outlive the switch. ports: policy->n_ports of them.
// Workers own ports round robin (port i belongs to worker i mod n_workers). *out is untouched on
// failure. -errno.
__attribute__((warn_unused_result)) int switch_create(struct policy *policy,
						      const struct switch_port *ports,
						      struct rte_mempool *pool, uint64_t seed,
						      struct weir_switch **out);

// Touches all memory that frames will wait in, before the workers run: live, none of them may meet
// a page fault. Without it memory follows the frames that wait, as in the lab.
void switch_touch(struct weir_switch *sw);

// Workers must have stopped. Frames still queued are freed. NULL is fine.
void switch_destroy(struct weir_switch *sw);

struct worker *switch_worker(struct weir_switch *sw, unsigned i);
unsigned switch_n_workers(const struct weir_switch *sw);
unsigned switch_port_owner(const struct weir_switch *sw, unsigned port); // the port's worker
const struct policy *switch_policy(const struct weir_switch *sw); // control thread only
const struct switch_port *switch_port(const struct weir_switch *sw, unsigned port);

// Frames of the largest kind the switch itself can hold: what its mempool needs beside the
// drivers' rings and the caches.
uint32_t switch_max_frames(const struct policy *policy);

// Publishes a new snapshot; the workers take it over at their next loop. The caller frees the old
// one (*old) once switch_grace_over(sw, *token). Ports, workers, buffer size and cell must be the
// same.
void switch_publish(struct weir_switch *sw, struct policy *policy, struct policy **old,
		    uint64_t *token);
bool switch_grace_over(const struct weir_switch *sw, uint64_t token);

// ---- the control thread's side
// Once per few milliseconds: learns and ages addresses, polls links. events: up to n records out.
unsigned switch_control_step(struct weir_switch *sw, uint64_t now_ns, struct event *events,
			     unsigned n);
// A record of control's own about a port, for the next step to give out.
void switch_say(struct weir_switch *sw, enum event_type type, unsigned port, uint32_t a,
		uint64_t b);
// How often it looks at links and at what drivers lost; 100 ms unless said.
void switch_poll_drivers_every(struct weir_switch *sw, uint64_t every_ns);
// The next step asks the drivers for their links, however short ago the last time was. For a caller
// who knows that a link has changed.
void switch_links_changed(struct weir_switch *sw);

// Requests of control that the owner acknowledges after it has acted: *_done turns true.
uint64_t switch_set_tx(struct weir_switch *sw, unsigned port, int queue, bool on); // queue -1: port
uint64_t switch_hold_admission(struct weir_switch *sw, bool hold); // stop or start receiving
uint64_t switch_clear_watermarks(struct weir_switch *sw);
// Copies frames of the tap's ports into its rings (tap.h); NULL ends that. The old one may be
// destroyed once the request is done.
uint64_t switch_set_tap(struct weir_switch *sw, struct tap *tap);
bool switch_request_done(const struct weir_switch *sw, uint64_t request);
// Gives a port another device. Call switch_device_replaced() until it returns true, and not again.
// Until then the driver of `next` and the driver before must live, and the port may not get a third
// device. Neither driver may have port_ops.watch. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int switch_replace_device(struct weir_switch *sw, unsigned port,
							      const struct switch_port *next);
bool switch_device_replaced(struct weir_switch *sw, unsigned port);
// All that control wants has been taken over, also what a control step asked for by itself. On a
// virtual clock the workers must be stepped for that.
bool switch_requests_done(const struct weir_switch *sw);
bool switch_admission_held(const struct weir_switch *sw); // control wants it stopped
bool switch_tx_enabled(const struct weir_switch *sw, unsigned port, int queue);
// The driver has a link, and nothing keeps the port down: no escalation of a watchdog, no loop.
bool switch_link_up(const struct weir_switch *sw, unsigned port);
// The port's device does not exist. Updated with the links, and when a device is replaced.
bool switch_device_gone(const struct weir_switch *sw, unsigned port);

// ---- numbers
struct balance switch_balance(const struct weir_switch *sw);
const struct worker_counters *switch_worker_counters(const struct weir_switch *sw, unsigned worker);
const struct port_counters *switch_port_counters(const struct weir_switch *sw, unsigned port);
const struct queue_counters *switch_queue_counters(const struct weir_switch *sw, unsigned port,
						   unsigned queue);
const struct pg_counters *switch_pg_counters(const struct weir_switch *sw, unsigned port,
					     unsigned pg);
const struct pg_state *switch_pg_state(const struct weir_switch *sw, unsigned port, unsigned pg);
// The most since `clear watermarks`: bytes that queue i of a port held, cells of shared memory and
// of headroom that group i used.
enum watermark { WATERMARK_QUEUE, WATERMARK_SHARED, WATERMARK_HEADROOM };
uint64_t switch_watermark(const struct weir_switch *sw, unsigned port, enum watermark which,
			  unsigned i);
// For tests: cells.
uint64_t switch_skid_used(const struct weir_switch *sw, unsigned port);
const struct drop_counters *switch_drops(const struct weir_switch *sw, unsigned port, unsigned cls,
					 enum drop_reason reason);
const struct pfc_rx_state *switch_pfc_rx(const struct weir_switch *sw, unsigned port);
const struct pfc_tx_state *switch_pfc_tx(const struct weir_switch *sw, unsigned port);
bool switch_queue_paused(const struct weir_switch *sw, unsigned port, unsigned queue);

// What a worker reads and writes for a frame of a lossless class that arrives at a port, or that
// leaves. For a caller whose switches are more than the caches hold: it asks the processor for this
// memory, while it does something else. Hints: they may be out of date.
struct port_memory {
	const void *port, *policy;
	unsigned cls;
};
struct port_memory switch_port_memory(const struct weir_switch *sw, unsigned port);
void port_memory_fetch_rx(const struct port_memory *m);
void port_memory_fetch_tx(const struct port_memory *m);

// The lossless egress pool is as large as the buffer: it shows what lossless queues hold, and
// refuses nothing. The pools before it have limits.
enum pool_id {
	POOL_INGRESS,
	POOL_HEADROOM,
	POOL_EGRESS_LOSSY,
	POOL_EGRESS_LOSSLESS,
	N_POOLS,
	N_LIMITED_POOLS = POOL_EGRESS_LOSSLESS,
};
extern const char *const pool_name[N_POOLS];
// Cells. max: the highest `used` since `clear watermarks`. Of several workers a bound that may be
// too high: each had its highest use at a time of its own. It is no more than the pool had.
struct pool_use {
	uint64_t size, used, max;
};
struct pool_use switch_pool(const struct weir_switch *sw, enum pool_id pool);

// ---- loop detection

enum loop_state {
	LOOP_OFF, // the port sends no probes
	LOOP_NONE,
	LOOP_FOUND,
	LOOP_PORT_DOWN, // the policy's action keeps the port down
};
enum loop_state switch_loop_state(const struct weir_switch *sw, unsigned port);
// Numbers that no neighbour can guess, to be given before the workers start. Without such a source
// the numbers follow from the seed.
void switch_set_random(struct weir_switch *sw, uint64_t (*random)(void));

// ---- storms (qos/watchdog.h) and their causes

// Counters and state of the class's watchdog at this port. Those of classes that are not watched
// are at rest.
const struct watchdog_class *switch_watchdog(const struct weir_switch *sw, unsigned port,
					     unsigned cls);

enum watchdog_status {
	WATCHDOG_OFF, // the class is not watched
	WATCHDOG_OPERATIONAL,
	WATCHDOG_IN_STORM,
	WATCHDOG_IS_PFC_OFF, // escalated: neither obeys nor sends PFC
	WATCHDOG_IS_PORT_DOWN, // escalated: the port is kept down
	WATCHDOG_DROPS_ALL, // by drop-all
};
enum watchdog_status switch_watchdog_status(const struct weir_switch *sw, unsigned port,
					    unsigned cls);
// Whether a class of the port is in a storm, also while the watchdog only reports the storm, and
// after its escalation: data of the class does not get through as it should.
bool switch_in_storm(const struct weir_switch *sw, unsigned port);
// Whether the switch sends no PFC for the class because of a storm. With the
// action alert it does send PFC.
bool switch_watchdog_recovers(const struct weir_switch *sw, unsigned port, unsigned cls);

// Requests: the class, in a storm or escalated, obeys and sends PFC again; a port that was taken
// down comes up. -EINVAL in *err where there is nothing to recover (the request is then 0).
uint64_t switch_watchdog_recover(struct weir_switch *sw, unsigned port, unsigned cls, int *err);
// All lossless classes of all ports are discarded, arriving and queued, and neither obey nor send
// PFC, until it is off.
uint64_t switch_watchdog_drop_all(struct weir_switch *sw, bool on);
bool switch_watchdog_drops_all(const struct weir_switch *sw);

// Frames that arrived in whole seconds for which the switch had paused their class: the peer does
// not obey PAUSE.
uint64_t switch_pause_ignored(const struct weir_switch *sw, unsigned port);

// Frames that rule i of the port's guard remapped.
uint64_t switch_guard_remapped(const struct weir_switch *sw, unsigned port, unsigned rule);

// Why the group's last PAUSE was sent. CAUSE_NONE: none was.
struct pause_cause switch_pause_cause(const struct weir_switch *sw, unsigned port, unsigned pg);
// The same question now, from the cells as they lie: the queue that holds most of the group's.
struct pause_cause switch_cause_now(const struct weir_switch *sw, unsigned port, unsigned pg);
// For tests: frames of the pool that copies of replicated frames take, beyond one a frame.
uint32_t switch_copies(const struct weir_switch *sw);
// As many may be taken by lossless frames when the buffer is full; fixed when it was created.
uint32_t switch_copy_frames(const struct weir_switch *sw);
// For tests: cells of (in_port, pg) that wait in queue q of a port.
uint32_t switch_held_cells(const struct weir_switch *sw, unsigned port, unsigned q,
			   unsigned in_port, unsigned pg);

struct fdb_row {
	uint8_t mac[6];
	uint16_t vid;
	port_no_t port;
	bool is_static;
	bool is_stale; // its port's link went down since it was heard (forward/fdb.h)
	uint64_t age_ns;
};
// Calls fn for every address, stale ones too, and for every port of a group that the policy names.
void switch_fdb_walk(struct weir_switch *sw, uint64_t now_ns,
		     void (*fn)(void *arg, const struct fdb_row *row), void *arg);
// Control: the station was at the port when the switch ran before. A routed port has no stations.
void switch_fdb_stale(struct weir_switch *sw, const uint8_t mac[6], uint16_t vid, unsigned port,
		     uint64_t now_ns);
// A number that differs after each change of the table.
uint64_t switch_fdb_changes(const struct weir_switch *sw);
// Addresses of a port: counts, share and limit (forward/fdb.h).
const struct fdb_port *switch_fdb_port(const struct weir_switch *sw, unsigned port);
uint64_t switch_events_lost(const struct weir_switch *sw);
// What the drivers of a port have counted: of the present device and of those before it.
void switch_drv_stats(const struct weir_switch *sw, unsigned port, struct port_drv_stats *out);
unsigned switch_drv_reasons(const struct weir_switch *sw, unsigned port, struct port_reason *out,
			    unsigned n);
