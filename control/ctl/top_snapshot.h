// SPDX-License-Identifier: Apache-2.0
// The numbers that `watch` shows, as plain structs: one snapshot is one answer of the switch to
// each top_kind. Pure: no socket, no clock. Counters count since `clear counters`.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/observe/fact.h"

struct json_object;

enum {
	TOP_CLASSES = 8,
	TOP_POOLS = 3, // those with a limit
	TOP_WORKERS = 64,
	TOP_NAME_LEN = 33,
	TOP_WORD_LEN = 24,
	TOP_EVENTS = 64,
	TOP_TAIL_LEN = 160,
};

// Counters of a port; a class has those up to TOP_LOSSLESS_DROPS.
enum top_count {
	TOP_TX_FRAMES,
	TOP_TX_BYTES,
	TOP_PAUSE_RX, // PFC frames that name the class
	TOP_PAUSE_TX,
	TOP_PAUSED_US, // by the peer; of a port: the class that was paused longest
	TOP_PAUSING_US, // the peer, by the switch; likewise
	TOP_MARKS,
	TOP_DROPS,
	TOP_LOSSLESS_DROPS, // frames that were wanted, of a lossless class
	TOP_RX_FRAMES,
	TOP_RX_BYTES,
	TOP_RX_MISSED,
	TOP_HINT, // the first of TOP_HINTS counters, in the order of top_hints
	TOP_HINTS = 9,
	N_TOP_COUNTS = TOP_HINT + TOP_HINTS,
};

struct top_hint {
	enum fact_id fact; // of `show hints`
	const char *sign, *cure;
};
extern const struct top_hint top_hints[TOP_HINTS];

struct top_class {
	uint64_t count[N_TOP_COUNTS];
	unsigned queue;
	bool lossless, xoff;
	bool paused, tx_off; // the queue: by the peer, by an operator
	uint64_t length_bytes, max_bytes; // of the queue
	uint64_t used_bytes, xoff_at_bytes; // of the priority group, headroom not counted
	uint64_t storm_us;
	char status[TOP_WORD_LEN], action[TOP_WORD_LEN]; // of the watchdog; empty: none
};

struct top_port {
	char name[TOP_NAME_LEN], device[TOP_NAME_LEN];
	uint64_t speed_bps;
	bool up, no_device, looped, tx_off;
	uint64_t count[N_TOP_COUNTS];
	uint64_t buffer_bytes; // of frames that came in by the port
	struct top_class cls[TOP_CLASSES];
};

struct top_drop {
	char port[TOP_NAME_LEN], reason[TOP_WORD_LEN];
	unsigned cls;
	uint64_t packets;
};

// Events of one kind, port and class are one entry: the newest of them, and how many there were.
struct top_event {
	char time[TOP_WORD_LEN]; // UTC, as in `show events`
	char name[TOP_WORD_LEN + 8], port[TOP_NAME_LEN], tail[TOP_TAIL_LEN];
	int cls; // -1: none
	bool alarm; // else a warning
	unsigned n;
	uint64_t dscp; // of roce-in-lossy-class
};

struct top_snapshot {
	uint32_t time_scale; // rates and times are the model's
	bool drop_all, held; // all lossless frames are discarded; admission is stopped
	unsigned n_ports, n_workers, n_pools, n_drops, n_events;
	struct top_port *ports;
	struct {
		unsigned busy_percent;
		uint64_t loops;
	} workers[TOP_WORKERS];
	struct {
		char name[TOP_WORD_LEN];
		uint64_t size_bytes, used_bytes;
	} pools[TOP_POOLS];
	struct top_drop *drops;
	struct top_event events[TOP_EVENTS]; // the newest last
	uint64_t event_seq; // of the newest
	char *causes; // of the opened port, as `show pfc --why` prints them; NULL: none asked for
};

// The kinds of `show` that a snapshot is made of, `ports` first; NULL behind the last.
const char *top_kind(unsigned i);

// Starts with the events that `before` (NULL: none) knows. NULL: out of memory.
struct top_snapshot *top_snapshot_create(const struct top_snapshot *before);
void top_snapshot_destroy(struct top_snapshot *s); // NULL is fine

// Takes the answer to `show kind`; also of `causes`.
void top_snapshot_take(struct top_snapshot *s, const char *kind, struct json_object *data);

const struct top_port *top_port_of(const struct top_snapshot *s, const char *name);
