// SPDX-License-Identifier: Apache-2.0
// The test bench: one switch on the virtual clock, a host on a wire at each port. Three verbs carry
// most conformance rows: switch TX off, inject exactly n frames, read counters. Closing the bench
// checks conservation and that every mbuf is back in its pool.
//
// Hosts have the addresses 02:00:00:00:00:01 (on port 0), :02 (port 1) and so on. The high byte of
// a number above 255 is the fourth byte of the address.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dataplane/packet/pfc_frame.h"
#include "dataplane/switch.h"
#include "dataplane/switch_change.h"
#include "drivers/wire/wire.h"

enum { BENCH_MAX_PORTS = POLICY_MAX_PORTS, BENCH_KEEP = 128 };

// What a host received, in order.
struct bench_rx {
	uint64_t t_ns; // arrival of the last bit
	uint16_t len;
	uint8_t data[BENCH_KEEP]; // the first bytes
};

struct bench_frame {
	unsigned to; // port of the destination host
	uint8_t dscp, ecn;
	uint16_t len; // without FCS, 64..
	bool tagged;
	uint8_t pcp;
	uint16_t vid;
	bool ipv6;
	bool broadcast;
	uint8_t as; // not 0: the last byte of its source address
	uint16_t ether_type; // not 0: not IP
	uint32_t seq; // in the payload
	const uint8_t *raw; // not NULL: len bytes that are the frame, whose class is that of dscp
};

struct bench_host {
	struct bench *bench;
	struct wire *wire;
	struct wire_end *end;
	struct actor actor;
	// frames waiting for the line
	struct rte_mbuf **queue;
	uint8_t *queue_class;
	uint32_t q_head, q_tail, q_capacity;
	// what arrived
	struct bench_rx *rx;
	uint32_t n_rx, rx_capacity; // data frames
	struct bench_rx *pfc;
	uint32_t n_pfc, pfc_capacity;
	uint64_t sent, lost_by_host;
	// PFC: the host obeys `obey_after_ns` after the frame arrived; UINT64_MAX: never
	uint64_t obey_after_ns;
	uint64_t pause_from_ns[8], pause_until_ns[8];
	uint64_t pfc_speed_bps; // at which it counts quanta; 0: the policy's speed of the port
	// an endless sender: fn makes the next frame; false ends it
	bool (*source)(struct bench_host *h, struct bench_frame *out);
	void *source_arg;
	// Told of all that arrives but MAC control; may be NULL.
	void (*on_rx)(struct bench_host *h, const uint8_t *frame, uint16_t len);
	struct bench_frame pending;
	bool has_pending;
	// a storm: the same PFC frame again and again
	struct vtimer storm;
	uint64_t storm_every_ns;
	uint8_t storm_enable;
	uint16_t storm_quanta;
};

struct bench {
	struct vclock clock;
	struct policy *policy;
	struct weir_switch *sw;
	struct actor actor;
	unsigned n_ports;
	uint64_t delay_ns;
	unsigned pool_frames; // free when the bench was opened
	void (*after_step)(struct bench *b); // each time the workers have stepped; may be NULL
	void *after_step_arg;
	void (*before_policy)(struct bench *b); // as a new policy is published; may be NULL
	void (*adjust)(struct policy *p, void *arg); // as in bench_opts
	void *adjust_arg;
	struct policy_change change; // the last one
	bool had_tunnels; // some policy until now had them
	struct bench_host host[BENCH_MAX_PORTS];
	struct event events[4096];
	unsigned n_events;
};

// Group setup and teardown for cmocka: EAL without huge pages, once per process.
int bench_eal(void **state);

// Workers of a switch whose policy asks for one: WEIR_WORKERS of the environment, else 1. So each
// conformance row runs with one worker and with several, and expects the same numbers.
unsigned bench_workers(void);

// Wires run at the policy's port speeds with no propagation delay unless delay_ns says so.
struct bench *bench_open(const char *yaml, uint64_t delay_ns);

struct bench_opts {
	uint64_t delay_ns; // of every wire
	uint64_t seed; // of the switch
	// Not 0: ports pretend to have a receive ring of so many frames, whose depth can be read.
	// They then have skid and a guard, as a port of a software driver has.
	uint32_t rx_ring;
	// What no policy file says is set here, in each policy before it runs; may be NULL.
	void (*adjust)(struct policy *p, void *arg);
	void *adjust_arg;
	bool polled; // the wires do not tell the worker which port something happened to
};
struct bench *bench_open_with(const char *yaml, const struct bench_opts *o);
// Asserts conservation, bench_check_held, and that the pool is full again. Frames still queued are
// flushed first.
void bench_close(struct bench *b);
// Asserts that each priority group is charged with what the queues hold of it, to the cell. With
// several workers it may be charged with more: what is on its way to a queue, or back. A replicated
// frame is held by several ports and charged once: no port holds more than is charged (a port that
// leads to several peers of a tunnel may), and all ports together hold at least as much.
void bench_check_held(const struct bench *b);

void bench_run(struct bench *b, uint64_t for_ns);
// One step of the control thread; the workers do next what it asks for.
void bench_control(struct bench *b);
// Replaces the policy by a new snapshot. Time passes where classes move (switch_change.h).
void bench_publish(struct bench *b, const char *yaml);
// The same in two steps. The policy becomes the bench's; the old one becomes the caller's.
struct policy *bench_compile(const struct bench *b, const char *yaml);
struct policy *bench_publish_compiled(struct bench *b, struct policy *policy);

// Writes a frame of the spec, from the host at port `from`. Returns its length.
uint16_t bench_build(uint8_t *out, unsigned from, const struct bench_frame *f);
// Queues a frame at a host; it leaves as soon as the line is free.
void bench_send(struct bench *b, unsigned from, const struct bench_frame *f);
void bench_send_raw(struct bench *b, unsigned from, const void *data, uint16_t len);
// Sends n frames one after the other, each received by the switch before the next is sent.
void bench_inject(struct bench *b, unsigned from, const struct bench_frame *f, unsigned n);
// A PFC frame from the host.
void bench_pause(struct bench *b, unsigned from, uint8_t enable, uint16_t quanta);

// The same now and every so often, until it is called with every_ns 0.
void bench_storm(struct bench *b, unsigned from, uint8_t enable, uint16_t quanta,
		 uint64_t every_ns);

void bench_tx(struct bench *b, unsigned port, int queue, bool on); // acknowledged on return

// Time a frame of len bytes occupies the wire of a port.
uint64_t bench_wire_ns(const struct bench *b, unsigned port, uint32_t len);
struct pfc_times bench_pfc_times(const struct bench_rx *rx);
uint64_t bench_drops(const struct bench *b, enum drop_reason reason); // all ports and classes
uint32_t bench_seq(const struct bench_rx *rx); // of an untagged IPv4 frame
