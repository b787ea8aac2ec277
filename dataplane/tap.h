// SPDX-License-Identifier: Apache-2.0
// What one running capture wants from the workers, and the rings in which they leave it: a bitmap
// of ports, and per worker one ring of fixed-size records with a single producer and a single
// consumer. A frame is copied, never held: a capture cannot use up the frame pool, and nothing in
// the switch waits for it. A full ring counts what it loses, per port.
//
// Control creates and destroys a tap and reads all rings; a worker calls tap_wants and tap_bytes
// with its own number. All but the rings is immutable. Of a ring, `head` and the records from tail
// to head are the worker's to write (release) and control's to read (acquire), `tail` is
// control's to write (release) and the worker's to read (acquire). A tap neither filters nor
// formats: control does that (control/daemon/capture.h). It must outlive every worker that was
// handed it: take it away with switch_set_tap(sw, NULL), wait until that is done, then destroy.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/counter.h"
#include "dataplane/base/port_no.h"

enum { TAP_MAX_SNAPLEN = 16384, TAP_MAX_RECORDS = 1 << 20 };

enum tap_direction { TAP_IN, TAP_OUT, TAP_DROP };

struct tap_meta {
	port_no_t port; // index in the policy
	uint8_t direction; // enum tap_direction
	uint8_t cls, queue; // CLASS_NONE: none; the queue only if has_queue
	bool has_queue, marked; // marked: this switch set CE
	bool trimmed; // here, because queue trim_queue was full
	uint8_t trim_queue;
	uint8_t reason; // TAP_DROP: enum drop_reason
	uint32_t queue_bytes; // has_queue: left in the queue behind this frame
	uint32_t not_stored; // bytes of the frame beyond those that are in memory (the lab's)
};

struct tap_record {
	uint64_t t_ns; // switch time: the beginning of the worker's loop
	uint32_t len, captured; // bytes of the frame, and of these in data
	struct tap_meta meta;
	uint8_t data[];
};

struct tap_ring {
	_Atomic uint32_t head __attribute__((aligned(64))); // worker
	uint32_t tail_seen; // worker: tail when last looked
	ctr_t lost[POLICY_MAX_PORTS]; // worker, relaxed
	_Atomic uint32_t tail __attribute__((aligned(64))); // control
	uint8_t *records;
};

struct tap {
	uint64_t ports[POLICY_MAX_PORTS / 64];
	uint32_t snaplen, stride; // bytes of a frame and of a record, at most
	uint32_t n_workers, n_records; // records per ring, a power of two
	struct tap_ring *rings; // n_workers
};

struct tap_params {
	uint64_t ports[POLICY_MAX_PORTS / 64]; // bitmap
	uint32_t n_workers;
	uint32_t n_records; // per worker, rounded up to a power of two
	uint32_t snaplen; // bytes kept of each frame, 1..TAP_MAX_SNAPLEN
};

// ---- a worker's side

// Does this capture want frames of the port? t is not NULL.
static inline bool tap_wants(const struct tap *t, unsigned port)
{
	return t->ports[port / 64] >> (port % 64) & 1;
}

// Copies up to snaplen bytes of a frame whose port is wanted. data: len contiguous bytes.
void tap_bytes(struct tap *t, unsigned worker, uint64_t now_ns, const void *data, uint32_t len,
	       const struct tap_meta *meta);

// ---- control's side

// All memory is touched here, so that no worker faults. 0, -EINVAL or -ENOMEM.
__attribute__((warn_unused_result)) int tap_create(const struct tap_params *params,
						   struct tap **out);
void tap_destroy(struct tap *t); // NULL is fine

// Up to n records of a worker, oldest first, without taking them: they stay valid until
// tap_release. Returns how many.
unsigned tap_read(struct tap *t, unsigned worker, const struct tap_record **out, unsigned n);

// Takes the n oldest records of a worker out of its ring.
void tap_release(struct tap *t, unsigned worker, unsigned n);

// Frames of a port that found a ring full, so far.
uint64_t tap_lost_of(const struct tap *t, unsigned port);
