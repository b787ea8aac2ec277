// SPDX-License-Identifier: Apache-2.0
// The flow table: RoCEv2 flows that enter the switch by one worker's ports. The first data frame
// makes an entry for its source, destination and destination queue pair. The entry counts what a
// switch sees of a flow: packets, PSN gaps (loss upstream), rewinds (go-back-N), CE marks, NAKs and
// CNPs that came back. It also has the flow's way through the switch. Pure; memory is the caller's.
// One writer: the worker that owns the flow's port of arrival. Control reads the _Atomic members at
// any time, one word at a time. The generation shows it that an entry was replaced meanwhile.
//
//   packet      made or found           PSN              counted
//   next        psn == expected         expected + 1     -
//   gap         psn after it            psn + 1          gaps, gap_packets: beyond `highest`
//   rewind      psn before it           psn + 1          rewinds; `highest` stays
//
// An entry that was idle for `age` is gone: control does not show it, and a packet of the same key
// begins it anew. Ageing looks at each entry once in `age`, and then frees its place.
//
// Each port of arrival has a share of the table. A port may use more while there is room. In a
// full table a new flow of a port below its share takes the place of a flow of a port above its
// share. A new flow of any other port is refused. So a flood of made-up queue pairs takes no place
// from ports within their share, and none from older flows of its own port.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/counter.h"
#include "dataplane/base/port_no.h"
#include "dataplane/packet/psn.h"
#include "dataplane/qos/elephant.h"
#include "dataplane/roce/flow_map.h"
#include "dataplane/roce/params.h"

enum {
	FLOW_NO_PORT = PORT_NONE,
	FLOW_PORTS = POLICY_MAX_PORTS, // a power of two
	FLOW_KEY_BITS = 36, // of a key's last word; the others are a seal's (flow_seal.h)
	// Of `last`: PSN, three bits, and the time.
	FLOW_TIME_SHIFT = 12, // ns in a unit
	FLOW_SKIPS = 1 << 24, // PSNs up to `highest` + 1 may be skipped: READ used them, or not
	FLOW_OPEN = 1 << 25, // `highest` is a guess until the next request
	FLOW_APART = 1 << 26, // `highest` is not the one before the PSN expected
	FLOW_TIME_BIT = 27,
	FLOW_DEPARTURE_BIT = 48, // of `packets`; below it the count
	// Of `bytes`. Below them the count, which wraps after 2 PB. The bits say which frames are
	// mice, whose actions the frames get, and whether the flow is an elephant
	// (dataplane/elephants.h).
	FLOW_MICE_BIT = 51, // ten bits: frames of this flowlet that will be mice
	FLOW_ACTING_BIT = 61, // two bits: enum flow_size of the class in which frames leave
	FLOW_ELEPHANT_BIT = 63,
};

enum flow_kind {
	FLOW_DATA,
	FLOW_READ_REQUESTS,
	FLOW_READ_RESPONSES,
	FLOW_DATAGRAM,
	FLOW_UNRELIABLE, // UC
	// No RoCEv2. In the table only where the policy looks for elephants.
	FLOW_TCP,
	FLOW_UDP,
};

// Whether the flow is pairing's. Its key names a queue pair.
static inline bool flow_is_roce(uint8_t kind)
{
	return kind < FLOW_TCP;
}

// READ requests are too small to congest a queue. UC and datagrams have no ACKs.
static inline bool flow_needs_pair(uint8_t kind)
{
	return kind == FLOW_DATA || kind == FLOW_READ_RESPONSES;
}

// The next packet of a known flow reads and writes the first line only. Seals there stand for its
// headers and its way, which are in the other lines (flow_seal.h).
struct __attribute__((aligned(64))) flow {
	// ---- each packet
	// While the entry lives; in its spare bits the seal of the arrival.
	union {
		struct flow_key key; // as the owner reads it
		_Atomic uint64_t key_words[5]; // as the owner writes it, and control reads it
	};
	ctr_t packets; // flow_packets(); above the count the seal of the departure
	ctr_t bytes; // of frames: flow_frame_bytes(); above them the state of mice and elephants
	// The PSN expected next, and when it was last seen: flow_pack_last().
	gauge_t last;
	// ---- its way, its pair, the contents of a CNP: read and written when they change
	gauge_t way; // flow_way()
	gauge_t pair; // flow_pair()
	gauge_t cnp_ns; // when it was last sent a CNP; 0: never
	gauge_t marked_ns; // when this switch last marked it; written by the egress owner
	ctr_t ce; // packets that arrived CE
	uint8_t dst_mac[6], src_mac[6]; // of the latest frame that changed them
	uint16_t tci, pkey;
	_Atomic uint16_t udp_sport;
	uint8_t tags; // kinds of its VLAN tags: packet/tags.h
	_Atomic uint8_t peer_hint; // pairing's own
	uint32_t highest; // where FLOW_APART: flow_highest()
	// ---- now and then
	ctr_t gaps, gap_packets, rewinds, naks, cnps_seen, cnps_sent;
	gauge_t first_ns;
	gauge_t silence; // enum cnp_silence of the last time, CNP_SILENT_NONE: it was sent one
	// ---- the owner's own: pairing (pairing.h) and IPCC (ipcc.h)
	ctr_t silences; // how often it fed a queue above kmin and was sent none
	_Atomic uint32_t generation; // of the entry: flow_generation()
	uint32_t acked; // pairing's: highest PSN acknowledged to its pair; FLOW_NONE: none yet
	uint32_t opened; // where FLOW_OPEN: PSN of the READ request
	uint32_t psn_before, psn_now; // `highest` at the last two turns of turn_ns
	_Atomic uint32_t addresses; // index in the pairing's table, FLOW_NONE
	union {
		uint32_t next; // of those that are free
		uint16_t inner_tci; // of those that live, where there are two tags
	};
	uint32_t oldest; // pairing's: PSNs before it were not sent in this life of the queue pair
	uint32_t reverse; // index of the reverse queue pair it is paired with, or FLOW_NONE
	_Atomic uint16_t slot; // its bit in the memory of eliminations
	_Atomic uint16_t cut_q16; // what a CNP cuts, as learnt; 0: not yet
	uint64_t turn_ns;
	uint64_t notified_bps; // its rate at the latest CNP
	// ---- elephants and mice. This line is needed for another reason too: an odd number of
	// lines spreads the first ones over all sets of a cache; with four of them all would meet
	// in a quarter of it.
	__attribute__((aligned(64))) struct elephant_stretch stretch;
	gauge_t elephant_ns; // when it became an elephant
	// The latest frame that kept the class of the flow's earlier frames: its number, its time.
	struct {
		uint64_t packets, ns;
	} kept;
	uint32_t elephant_place; // of an elephant: in the worker's list
	bool astray; // frames of it may be elsewhere than in the queue of the latest one
};
static_assert(sizeof(struct flow) <= 320, "a million of them are a third of a gigabyte");

// Of one port of arrival.
struct flow_port {
	gauge_t used; // entries
	ctr_t refused; // new flows that found no room
	ctr_t evicted; // flows that lost their place to one of a port below its share
	gauge_t elephants; // entries (dataplane/elephants.h)
	ctr_t elephant_packets, elephant_bytes;
};

struct flow_table {
	struct flow *flows; // n of them
	struct flow_map map;
	uint32_t n;
	_Atomic uint32_t n_used; // places that were ever used
	uint32_t free; // first of a list through `next`
	gauge_t age_ns;
	uint32_t age_cursor; // the entry that ageing looks at next
	uint64_t sweep_ns; // when the cursor was at 0; 0: ageing has not begun
	uint64_t look_ns; // when the cursor's entry is due
	ctr_t refused, made, aged, evicted;
	gauge_t used;
	uint32_t share; // of a port
	uint32_t evict_cursor; // the entry that an eviction looks at first
	struct flow_port ports[FLOW_PORTS];
};

size_t flow_table_bytes(uint32_t n);
void flow_table_init(struct flow_table *t, void *mem, uint32_t n, uint64_t age_ns, uint32_t seed);
// n_ports: ports that share the table; 1 before the first call.
void flow_table_set_ports(struct flow_table *t, uint32_t n_ports);

// flags: FLOW_SKIPS, FLOW_OPEN, FLOW_APART
static inline uint64_t flow_pack_last(uint32_t psn, uint32_t flags, uint64_t now_ns)
{
	return (now_ns >> FLOW_TIME_SHIFT) << FLOW_TIME_BIT | flags | psn;
}

static inline uint32_t flow_expected(uint64_t last)
{
	return (uint32_t)last & PSN_MASK;
}

// Grows by two each time the entry begins anew or is freed, and is odd meanwhile. Another thread
// reads it before and after the entry. If both are the same even number, it read one flow.
static inline uint32_t flow_generation(const struct flow *f)
{
	return atomic_load_explicit(&f->generation, memory_order_acquire);
}

// The last word of an entry's key without the seal.
static inline uint64_t flow_key_last(const struct flow_key *k)
{
	return k->w[4] & (((uint64_t)1 << FLOW_KEY_BITS) - 1);
}

static inline uint64_t flow_packets(const struct flow *f)
{
	return ctr_get(&f->packets) & (((uint64_t)1 << FLOW_DEPARTURE_BIT) - 1);
}

static inline uint64_t flow_frame_bytes(const struct flow *f)
{
	return ctr_get(&f->bytes) & (((uint64_t)1 << FLOW_MICE_BIT) - 1);
}

static inline bool flow_is_elephant(const struct flow *f)
{
	return ctr_get(&f->bytes) >> FLOW_ELEPHANT_BIT;
}

// The highest PSN that was sent, or may have been (READ requests). 0: none was sent.
static inline uint32_t flow_highest(const struct flow *f)
{
	uint64_t last = gauge_get(&f->last);

	return last & FLOW_APART ? f->highest : psn_add(flow_expected(last), PSN_MASK);
}

// A PSN that was sent for certain, and nothing but PSNs of READ requests behind it.
static inline uint32_t flow_surely_sent(const struct flow *f)
{
	return gauge_get(&f->last) & FLOW_OPEN ? f->opened : flow_highest(f);
}

struct flow_way {
	port_no_t in_port, out_port; // out_port FLOW_NO_PORT: flooded, or not yet known
	uint8_t queue, cls;
	uint8_t kind; // enum flow_kind
};

static inline uint64_t flow_pack_way(struct flow_way w)
{
	return (uint64_t)w.in_port | (uint64_t)w.out_port << 16 | (uint64_t)w.queue << 32 |
	       (uint64_t)w.cls << 40 | (uint64_t)w.kind << 48;
}

static inline struct flow_way flow_way_of(uint64_t v)
{
	return (struct flow_way){(port_no_t)v, (port_no_t)(v >> 16), (uint8_t)(v >> 32),
				 (uint8_t)(v >> 40), (uint8_t)(v >> 48)};
}

struct flow_pair {
	uint8_t source; // enum pair_source; PAIR_NONE: unpaired
	uint32_t qp; // the sender's
};

static inline uint64_t flow_pack_pair(struct flow_pair p)
{
	return (uint64_t)p.source << 32 | p.qp;
}

static inline struct flow_pair flow_pair_of(uint64_t v)
{
	return (struct flow_pair){(uint8_t)(v >> 32), (uint32_t)v & 0xffffff};
}

// A frame of a flow.
struct flow_packet {
	uint32_t psn;
	// PSNs that the frame uses up: 1, or the most that the answer to a READ request may need.
	// Any of these may then be the last one. 0: the PSN is of another space (a response among
	// requests), or there is none. Then only packet and bytes are counted.
	uint32_t n_psns;
	uint16_t len;
	bool ce;
	bool may_skip; // a first response: other requests may have used PSNs before it
};

// FLOW_JUMPED: the PSN is so far from the last one that it belongs to another life of the queue
// pair (FLOW_JUMP away, or behind what pairing knows as acknowledged).
// FLOW_BROKEN: another life of the queue pair could have made this gap or rewind as well: a gap
// without a pair or with nothing under way, more than 64 packets missing, a long way back. Pairing
// treats FLOW_BROKEN like FLOW_JUMPED.
enum flow_news { FLOW_AS_BEFORE, FLOW_BEGUN, FLOW_BROKEN, FLOW_JUMPED };
enum { FLOW_JUMP = 1 << 16, FLOW_AGAIN = 1 << 10 };

// The table calls `gone` for an entry before the entry is freed or begins anew, and `evicted` after
// it, if the flow still sends. Either may be NULL.
struct flow_hooks {
	void (*gone)(void *arg, uint32_t id);
	void (*evicted)(void *arg, const struct flow_key *k, uint64_t now_ns);
	void *arg;
};
struct flow_arrival {
	uint64_t now_ns;
	port_no_t port;
	uint8_t kind; // enum flow_kind: control never sees the ports of TCP as a queue pair
};
// Finds or makes the entry of the key. FLOW_NONE: refused, and counted. *news: FLOW_BEGUN if the
// entry is new or begins anew. It then has only its key, its generation, its port of arrival and
// its kind.
uint32_t flow_take(struct flow_table *t, const struct flow_key *k, uint32_t hash,
		   struct flow_arrival at, const struct flow_hooks *hooks, enum flow_news *news);

// The entry, which is in use, begins anew for the same key.
void flow_begin_anew(struct flow_table *t, uint32_t id, struct flow_arrival at,
		     const struct flow_hooks *hooks);

// For tests: the entry of the key, if it is not too old, or FLOW_NONE.
uint32_t flow_find(const struct flow_table *t, const struct flow_key *k, uint64_t now_ns);

// The time in an entry's `last`, to the unit. It wraps after 6.5 days, and no flow stays in the
// table for half of that without a packet.
static inline uint64_t flow_last_ns(uint64_t last, uint64_t now_ns)
{
	uint64_t unit = now_ns >> FLOW_TIME_SHIFT, seen = last >> FLOW_TIME_BIT;
	uint64_t ago = ((unit - seen) << FLOW_TIME_BIT) >> FLOW_TIME_BIT;

	// A little ahead: another thread's clock.
	if (ago >> (63 - FLOW_TIME_BIT) != 0)
		return now_ns;
	return (unit - ago) << FLOW_TIME_SHIFT;
}

// When the flow sent its latest packet.
static inline uint64_t flow_seen_ns(const struct flow *f, uint64_t now_ns)
{
	return flow_last_ns(gauge_get(&f->last), now_ns);
}

static inline bool flow_lives(const struct flow_table *t, const struct flow *f, uint64_t now_ns)
{
	return now_ns - flow_seen_ns(f, now_ns) < gauge_get(&t->age_ns);
}

// For a PSN behind the expected PSN. True: the packet is a retransmission, also if it has been
// acknowledged. A new connection that begins with such a PSN looks the same, and the switch takes
// it for a retransmission.
bool flow_sends_again(const struct flow *f, uint32_t psn);
// The time of a burst, and how long a flow may have been silent for a quick count.
struct flow_clock {
	uint64_t last; // flow_pack_last(0, 0, now)
	uint64_t fresh; // units of time: less is surely less than the age
};
static inline struct flow_clock flow_clock(uint64_t now_ns, uint64_t age_ns)
{
	uint64_t units = age_ns >> FLOW_TIME_SHIFT;

	return (struct flow_clock){flow_pack_last(0, 0, now_ns), units != 0 ? units - 1 : 0};
}

// Whether the packet is the expected one of a flow that was not silent for the age. One comparison
// for PSN, flags and time: if PSN and flags are those of the entry, the low bits of the difference
// are 0, and its high bits are the time. Else the rotated difference exceeds any time. False in the
// last 8 us before the age, too: flow_seen_ns() is exact. The owner calls it.
static inline bool flow_is_next(const struct flow *f, uint32_t psn, const struct flow_clock *c)
{
	uint64_t ago = (c->last | psn) - gauge_get(&f->last);

	return (ago >> FLOW_TIME_BIT | ago << (64 - FLOW_TIME_BIT)) < c->fresh;
}

// Counts a packet, and says how its PSN fits. The owner calls it.
enum flow_news flow_count(struct flow *f, const struct flow_packet *p, uint64_t now_ns);
// The same for nearly all packets: flow_is_next() is true, and the packet uses up n_psns. Its bytes
// are the caller's.
static inline void flow_count_next(struct flow *f, uint32_t psn, uint32_t n_psns,
				   const struct flow_clock *c)
{
	ctr_inc(&f->packets);
	gauge_set(&f->last, c->last | psn_add(psn, n_psns));
}
// PSNs of the flow begin anew with this packet, which is counted already.
void flow_restart(struct flow *f, const struct flow_packet *p, uint64_t now_ns);

// Entry i of all is due i / all of `age` after each sweep began. It is freed if it was old by that
// time, so the result does not depend on how often this is called. At most n entries in one call;
// the others wait for the next call.
void flow_age(struct flow_table *t, uint64_t now_ns, unsigned n, const struct flow_hooks *hooks);

void flow_table_set_age(struct flow_table *t, uint64_t age_ns, uint64_t now_ns);
