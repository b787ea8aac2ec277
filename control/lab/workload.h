// SPDX-License-Identifier: Apache-2.0
// Luck of the traffic: seeds split by flow and host, exponential gaps of a Poisson process,
// uniform choices. Integers throughout, no library of mathematics, so that a seed gives the same
// arrivals on every compiler and machine. Pure.
//
// The gap of a Poisson process is mean * -ln(U), U uniform in (0, 1]. -ln is had from the binary
// logarithm: its whole part is a count of leading zeros, its fraction comes bit by bit, by
// squaring.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/rng.h"

// Each host of a flow has a generator of its own, from the flow's seed.
static inline struct rng workload_rng(uint64_t seed, uint32_t member)
{
	struct rng r = {seed};

	r.state = rng_next64(&r) ^ member;
	r.state = rng_next64(&r);
	return r;
}

// Uniform over 0..n-1, n not 0.
static inline uint32_t workload_pick(struct rng *r, uint32_t n)
{
	return (uint32_t)((uint64_t)rng_next(r) * n >> 32);
}

// Uniform over 0..span-1; 0 for a span of 0.
static inline uint64_t workload_within(struct rng *r, uint64_t span)
{
	return (uint64_t)((unsigned __int128)rng_next64(r) * span >> 64);
}

// -ln(u / 2^64) in 2^-32; u 0 counts as 1. The error is below 2^-30.
uint64_t workload_neg_ln(uint64_t u);

// Arrivals of a Poisson process. Times are kept in 2^-16 ns, so that the rate is right for gaps
// of a few nanoseconds too.
struct arrivals {
	uint64_t mean_q16; // between two
	uint64_t next_q16;
};

// So many wire bytes a message (in 2^-16) at `load` millionths of speed_bps. The process begins at
// start_ns: its first arrival is a gap later.
struct arrivals arrivals_of(uint64_t bytes_q16, uint64_t load, uint64_t speed_bps,
			    uint64_t start_ns);

// Moves to the next arrival and returns its time in whole ns.
uint64_t arrivals_next(struct arrivals *a, struct rng *r);

// Opcodes of the packets that carry the data of an operation: only, first, middle, last.
const uint8_t *workload_opcodes(uint8_t op);

// Bytes that a message of n_bytes occupies on the wire in packets of `mtu` payload bytes, link
// overhead included. extra: of frame_extra (drivers/nic/addr.h).
uint64_t workload_wire_bytes(uint8_t op, uint32_t mtu, uint32_t n_bytes, uint32_t extra);

// ---- storage
// How a storage service moves the payload of one request over RDMA, after what Azure has
// published of its own (Bai et al., "Empowering Azure Storage with RDMA", NSDI 2023): three modes
// of transfer by size, receiver credits, and chunks of which one is in flight. Pure decisions;
// traffic_patterns.c carries them out.
//
//   mode      size        disk write: payload to the server   disk read: payload to the client
//   small     <= small    in the request's SEND               in the reply's SEND
//   direct    <= large    server READs all of it              server WRITEs all of it
//   chunked   above       server READs chunk after chunk      server WRITEs chunk after chunk
//
//   client: request (SEND) ->                         wants a credit
//   server:    write: payload, think, reply (SEND)    read: think, payload, reply (SEND)
//   client: <- reply                                  gives the credit back
//
// Of the chunks, the next is posted when the one before is complete. The reply to a disk read is
// posted together with its last payload, as it would follow it on the same queue pair.
//
// Modelled: which operations cross the wire, in which order, how much may be outstanding. Not
// modelled: the CPUs, registering of memory (the NIC's fence is a fault of nic.h), erasure coding
// and replication within the service, and payload and control on one queue pair: here each kind
// has its own. Where the modes change is not published; the defaults are ours.

struct storage_params {
	uint32_t small_bytes, large_bytes, chunk_bytes;
	uint32_t request_bytes, reply_bytes; // without payload
	uint32_t credits; // requests of one client that one server has buffers for
	uint32_t reads_ppm;
};

enum storage_mode { STORAGE_SMALL, STORAGE_DIRECT, STORAGE_CHUNKED };

enum storage_mode storage_mode_of(const struct storage_params *p, uint32_t n_bytes);

// Bytes of the client's and of the server's SEND.
uint32_t storage_request_bytes(const struct storage_params *p, bool is_read, uint32_t n_bytes);
uint32_t storage_reply_bytes(const struct storage_params *p, bool is_read, uint32_t n_bytes);

// How much to move next, `moved` bytes being there; 0: nothing is left, or all travels in a SEND.
uint32_t storage_next_bytes(const struct storage_params *p, uint32_t n_bytes, uint32_t moved);
