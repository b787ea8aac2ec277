// SPDX-License-Identifier: Apache-2.0
// What the two files of pairing share. No other file includes it.
//   pairing.c            memory: tables, slots, what is forgotten by age; pairs: how one is made,
//                        dropped and replaced; flows begin and end
//   pairing_evidence.c   what passes the switch: ACKs, CNPs, READ requests, management messages
//
// Five tables beside the flows, each under its own map. They are apart so that a flood of one kind
// takes no room from another:
//   addresses       two addresses and the flows between them, each flow with a slot of its own
//   reverses        queue pairs that answers go to; each has a bit for every slot ruled out
//   knowns          pairs stated by connection management or an operator, applied to new flows
//   handshakes      connections that connection management is making
//   pending_reads   PSNs that READ requests asked for
//
// Slots. A bit of a reverse queue pair says "not the flow in this slot". When a slot is assigned to
// another flow, or to another life of the same flow, the bit no longer holds. `seq` of the
// addresses counts assignments, and the last few are listed. A reverse queue pair that is used
// again clears the bits of slots assigned since, or all bits if there were more than are listed.
//
// The first FEW_SLOTS slots are in the entry of the addresses. If there are more flows, all slots
// are in blocks of 64, which share one pool.
//
// The owner writes all of it. Control reads the _Atomic members.
#pragma once

#include <stddef.h>

#include "dataplane/roce/pairing.h"

enum {
	FEW_SLOTS = 8, // between two addresses without a block
	WORD_SLOTS = 64, // of a block, and of one word of bits
	SLOT_WORDS = PAIR_MAX_BETWEEN / WORD_SLOTS,
	NO_SLOT = 0xffff,
	DATAGRAM_SLOT = 0xfffe, // of a flow that is only counted
	ASSIGNED = 16, // assignments that are listed
	START_FRESH = 1 << 24, // of a PSN: no packet of the connection was seen
};

// Why a flow has no pair: the owner's latest finding.
#define PAIR_REASONS(X)                                                                            \
	X(NO_ANSWER, "no answer seen")                                                             \
	X(SEVERAL, "several candidates")                                                           \
	X(MATCHING, "answers are being matched")                                                   \
	X(NOT_LATELY, "answers do not follow its packets")                                         \
	X(INCOMPLETE, "not all flows between the two hosts are known")                             \
	X(CROWDED, "too many flows between the two hosts")                                         \
	X(OTHER_WAY, "answers may go another way, and the UDP source port does not tell")          \
	X(WRONG_PORT, "answers come from another port than it leaves by")                          \
	X(SOURCE_OFF, "what was seen is no source that may pair")                                  \
	X(CONTRADICTION, "its pair was dropped: a contradiction")                                  \
	X(LIFE, "its pair was dropped: the queue pair began anew")                                 \
	X(CLOSED, "its connection was closed")                                                     \
	X(FORGOTTEN, "an operator said to forget it")                                              \
	X(NO_ROOM, "no memory for its addresses or queue pairs")                                   \
	X(DATAGRAM, "datagrams have no pair")                                                      \
	X(REQUESTS, "READ requests are too small to congest a queue")                              \
	X(UNRELIABLE, "UC has no ACKs: only cm or static can name its pair")

enum pair_reason {
#define X(id, text) WHY_##id,
	PAIR_REASONS(X)
#undef X
	N_PAIR_REASONS,
};

// flow.peer_hint: a reason in the low bits, and
enum {
	HINT_REASON = 0x1f,
	HINT_UNANSWERED = 0x20, // an entry before had unanswered packets; they may come again
	HINT_READ_WAITS = 0x40, // a first READ response came before the flow's way was known
	HINT_UNPAIRED = 0x80, // it is counted in n_unpaired
};

// Of up to 64 slots.
struct slot_bits {
	uint64_t used;
	uint64_t open; // the flow in the slot may be paired
};

// UDP source ports of frames to queue pairs. A port that several queue pairs have had is derived
// from none of them.
struct sports {
	uint16_t latest, shared; // shared: by several queue pairs
	uint32_t qp; // of the latest
};

struct addresses {
	struct flow_key key; // KEY_ADDRESSES
	_Atomic uint32_t seq; // assignments so far
	_Atomic uint32_t first; // reverse queue pair, a list through `next`
	_Atomic uint16_t assigned[ASSIGNED]; // slots, latest at (seq - 1) % ASSIGNED
	// What follows is zeroed when the entry is taken.
	struct slot_bits bits; // of few slots
	uint32_t ids[FEW_SLOTS]; // flows of few slots
	uint32_t block; // of more slots: the first block
	uint16_t n_slots; // FEW_SLOTS, or a multiple of WORD_SLOTS
	uint16_t at; // where the search for a free slot goes on
	uint32_t n_flows, n_slotless, n_datagrams;
	uint16_t n_reverses;
	port_no_t out_port; // of the latest flow that was looked at
	struct sports answers, flows; // answers: where they may go another way
};

struct slot_block {
	struct slot_bits bits;
	uint32_t ids[WORD_SLOTS];
	uint32_t sent[WORD_SLOTS]; // flow_surely_sent() at the latest look
	uint16_t more[SLOT_WORDS - 1]; // of the first block: the further ones
};

// The bits of a reverse queue pair beyond the first word.
struct out_block {
	_Atomic uint64_t out[SLOT_WORDS - 1];
};

struct reverse {
	struct flow_key key; // KEY_REVERSE
	uint64_t seen_ns;
	_Atomic uint64_t out; // slots 0 to 63: flows that it is not of
	_Atomic uint32_t block; // further bits, or FLOW_NONE
	_Atomic uint32_t flow; // the flow it is paired with, or FLOW_NONE
	_Atomic uint32_t addresses, next;
	_Atomic uint32_t seq; // of the addresses when the bits were last cleared
	uint32_t prev;
	uint32_t last, back; // PSN: highest answered, latest of those behind it
	uint16_t cursor; // slot at which the next look begins
	uint8_t matches, cnps, behind;
	bool has_last;
};

struct known {
	struct flow_key key; // KEY_KNOWN
	uint64_t seen_ns;
	uint32_t qp;
	// The PSN with which the flow begins, with START_FRESH, or goes on. READ responses have the
	// PSNs of their requests.
	uint32_t requests, responses;
	port_no_t in_port, out_port; // FLOW_NO_PORT: not known
	uint8_t source;
};

// Side 0 asked for the connection, side 1 is the other.
struct handshake {
	struct flow_key key; // addresses from side 0 to 1, communication id of side 0
	uint64_t seen_ns;
	uint32_t qp[2], id[2];
	uint32_t psn[2]; // Starting PSN that each side states: of the other side's requests
	port_no_t port[2]; // by which the message of each side came in
	bool has[2];
};

// A PSN that READ requests asked for and that was not answered yet.
struct pending_read {
	struct flow_key key; // addresses as of the responses, PSN, port
	uint64_t seen_ns;
	uint32_t qp; // of the first request
	uint32_t n; // requests
	uint16_t udp_sport;
	port_no_t left_by; // the port that the requests left by
	bool several; // requests went to several queue pairs
	bool one_way;
};

// Elements of one size, by index.
struct pool {
	uint32_t n, n_used; // n_used: that were ever taken
	uint32_t n_free, *free; // a stack
};

// Entries begin with their key. In a free entry key.w[4] is 0. Of tables that age, seen_ns is next.
struct table {
	struct pool pool;
	struct flow_map map;
	uint8_t *entries;
	uint32_t cursor; // of ageing
};

// By hash: facts that hold for all flows, or addresses, of the hash. Times on the clock of now_ns.
struct stamp {
	uint64_t incomplete_until; // addresses: not all flows between them are in the table
	uint64_t reads_incomplete_until; // addresses: not all READ requests are in the table
	uint64_t n_untracked; // flows now for whose addresses there was no room
	uint64_t unanswered_until; // flow: it left the table with unanswered packets
};

struct pairing {
	struct flow_table *flows;
	struct pair_params params;
	struct pairing_counters count;
	struct table addresses, reverses, knowns, handshakes, pending_reads;
	struct pool blocks, outs;
	struct addresses *address;
	struct reverse *reverse;
	struct slot_block *block;
	struct out_block *out;
	struct stamp *stamps;
	uint32_t stamp_mask;
	uint64_t now_ns; // of the latest call
};

static inline struct flow *flow_with_id(const struct pairing *p, uint32_t id)
{
	return &p->flows->flows[id];
}

static inline void why(struct flow *f, enum pair_reason reason)
{
	uint8_t rest = relaxed_get(&f->peer_hint) & (0xff - HINT_REASON);

	relaxed_set(&f->peer_hint, (uint8_t)(rest | reason));
}

static inline bool has_hint(const struct flow *f, uint8_t hint)
{
	return relaxed_get(&f->peer_hint) & hint;
}

static inline void set_hint(struct flow *f, uint8_t hint, bool on)
{
	uint8_t rest = relaxed_get(&f->peer_hint) & (uint8_t)~hint;

	relaxed_set(&f->peer_hint, (uint8_t)(rest | (on ? hint : 0)));
}

static inline struct flow_way way_of_flow(const struct flow *f)
{
	return flow_way_of(gauge_get(&f->way));
}

static inline struct flow_pair pair_of(const struct flow *f)
{
	return flow_pair_of(gauge_get(&f->pair));
}

static inline struct addresses *addresses_of(const struct pairing *p, const struct reverse *r)
{
	return &p->address[relaxed_get(&r->addresses)];
}

static inline void note_sport(struct sports *s, uint16_t sport, uint32_t qp)
{
	if (s->latest == sport && s->qp != qp)
		s->shared = sport;
	s->latest = sport;
	s->qp = qp;
}

// Words of slots, each of up to 64.
static inline unsigned slot_words(const struct addresses *a)
{
	return (a->n_slots + WORD_SLOTS - 1u) / WORD_SLOTS;
}

// Slots 64 w to 64 w + 63.
struct word {
	struct slot_bits *bits;
	uint32_t *ids, *sent; // sent: NULL where there are few slots
};
static inline struct word slot_word_at(const struct pairing *p, struct addresses *a, unsigned w)
{
	struct slot_block *b = &p->block[a->block];

	if (a->n_slots == FEW_SLOTS)
		return (struct word){&a->bits, a->ids, NULL};
	if (w != 0)
		b = &p->block[b->more[w - 1]];
	return (struct word){&b->bits, b->ids, b->sent};
}

static inline uint32_t slot_flow(const struct pairing *p, struct addresses *a, unsigned slot)
{
	return slot_word_at(p, a, slot / WORD_SLOTS).ids[slot % WORD_SLOTS];
}

// A word of the slots that the reverse queue pair is ruled out of; NULL: none of them.
static inline _Atomic uint64_t *out_at(const struct pairing *p, struct reverse *r, unsigned w)
{
	uint32_t block = relaxed_get(&r->block);

	if (w == 0)
		return &r->out;
	return block == FLOW_NONE ? NULL : &p->out[block].out[w - 1];
}

// ---- pairing.c
// All of them: FLOW_NONE or NULL where there is no entry, or no room for a new one.
uint32_t table_find(const struct table *t, const struct flow_key *k);
void *table_entry(const struct table *t, const struct flow_key *k);
// Finds or makes the entry. A new one is zeroed but for its key.
void *table_take(struct table *t, const struct flow_key *k);
void table_free(struct table *t, void *entry);
// Looks at one entry of each table that ages, and frees it if it is old.
void pairing_age(struct pairing *p);

// k: any key with these addresses in this direction.
struct stamp *addresses_stamp(const struct pairing *p, const struct flow_key *k);
// For as long as flows live, ACKs do not pair between the addresses.
void set_incomplete(struct pairing *p, const struct flow_key *k);
uint32_t addresses_find(const struct pairing *p, const struct flow_key *k);

// Finds or makes the reverse queue pair of the key.
uint32_t reverse_take(struct pairing *p, const struct flow_key *k, uint32_t addresses);
// Forgets all that was learnt about it.
void reverse_renew(struct pairing *p, struct reverse *r);
// Clears the bits of slots that were assigned since.
void reverse_sync(struct pairing *p, struct reverse *r);
void rule_out(struct pairing *p, struct reverse *r, unsigned slot);

// The flow of the addresses and queue pair of any key, or FLOW_NONE.
uint32_t flow_of(const struct pairing *p, const struct flow_key *k);
// From now on CNPs of the flow go to qp. Other pairs of the flow or of qp are dropped. False: one
// of them is from a more trusted source, or there is no room.
bool pair_set(struct pairing *p, uint32_t id, uint32_t qp, enum pair_source source);
void pair_drop(struct pairing *p, uint32_t id, ctr_t *counter, enum pair_reason reason);
// Drops the pair, and what connection management stated of it, unless it is an operator's.
void pair_contradicted(struct pairing *p, uint32_t id, ctr_t *counter);
// Stores k and applies it to the flow, if it is in the table. What was known of the key before, and
// of the other direction of that connection, is dropped. False: something more trusted contradicts
// it, or there is no room.
bool known_set(struct pairing *p, const struct known *k);
// Forgets the pair of the key and what is known of it, if it is with qp (FLOW_NONE: with any). An
// operator's pair is only forgotten for the reason WHY_FORGOTTEN.
void known_forget(struct pairing *p, const struct flow_key *k, uint32_t qp, ctr_t *counter,
		  enum pair_reason reason);

// ---- pairing_evidence.c
// A first READ response of the flow, whose way is known, passed with this PSN.
void read_answered(struct pairing *p, uint32_t id, uint32_t psn);
