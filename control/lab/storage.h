// SPDX-License-Identifier: Apache-2.0
// How a storage service moves the payload of one request over RDMA, after what Azure has
// published of its own (Bai et al., "Empowering Azure Storage with RDMA", NSDI 2023): three modes
// of transfer by size, receiver credits, and chunks of which one is in flight. Pure decisions;
// traffic_service.c carries them out.
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
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
