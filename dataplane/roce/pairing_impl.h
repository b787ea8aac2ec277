// SPDX-License-Identifier: Apache-2.0
// What the files of pairing share. Nobody else includes it.
//
// Three tables beside the flows, each under its own map:
//   addresses   two addresses and the flows between them, each with a slot of its own
//   reverses    queue pairs that answers go to; each remembers the slots of flows it cannot be of
//   knowns      pairs told by connection management or an operator, looked up when a flow begins
//
// Slots. A bit of a reverse queue pair says "not the flow in this slot". A slot that is given to
// another flow, or to another life of one, means something else from then on: `seq` of the
// addresses counts such gifts, the last few are listed, and a reverse queue pair that comes by
// clears the bits that were given since, or all of them.
//
// Words that control reads are written by relaxed stores (put32, put64), by the owner alone.
#pragma once

#include <stddef.h>

#include "dataplane/roce/pairing.h"

enum {
	FEW_SLOTS = 8, // between two addresses without a block
	SOME_SLOTS = 64, // with one word of bits
	SLOT_WORDS = PAIR_MAX_BETWEEN / 64,
	NO_SLOT = 0xffff,
	DATAGRAM_SLOT = 0xfffe, // of a flow that is only counted
	GIFTS = 16,
	STAMPS_MIN = 256,
	FEW_PSNS = 64,
	BEHIND_MIN = 3, // answers in a row that are older than what was answered before
	PSN_SPAN = 1 << 22, // PSNs behind the highest that an old flow may have sent
	PAIR_SKIPS = 256, // flows that one ACK passes by unasked
	PAST_AGES = 20,
	PAST_SPAN = 1 << 12, // and ahead of the first, where it may have had a life before
	CE_NS = 1000000, // a CNP follows a mark within this
	SPORT_FIRST = 0xc000, // of the range that Linux uses; NICs with one port for all have it
	START_FRESH = 1 << 24, // no packet of the connection was seen
};

// Why a flow has no pair: what the owner found last.
#define PAIR_REASONS(X)                                                                            \
	X(NO_ANSWER, "no answer seen")                                                             \
	X(SEVERAL, "several candidates")                                                           \
	X(MATCHING, "answers are being matched")                                                   \
	X(NOT_LATELY, "answers do not follow its packets")                                         \
	X(BLIND, "not all flows between the two hosts are known")                                  \
	X(CROWDED, "too many flows between the two hosts")                                         \
	X(OTHER_WAY, "answers may go another way, and the UDP source port does not tell")          \
	X(WRONG_PORT, "answers come from another port than it leaves by")                          \
	X(SOURCE_OFF, "what was seen is no source that may pair")                                  \
	X(CONTRADICTION, "its pair was dropped: a contradiction")                                  \
	X(LIFE, "its pair was dropped: the queue pair began anew")                                 \
	X(CLOSED, "its connection was closed")                                                     \
	X(TOLD, "an operator said to forget it")                                                   \
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

// peer_hint of a flow: a reason in the low bits. HINT_UNPAIRED: it is counted in n_unpaired.
enum { HINT_REASON = 0x1f, HINT_PAST = 0x20, HINT_READ_WAITS = 0x40, HINT_UNPAIRED = 0x80 };

struct addresses {
	struct flow_key key; // KEY_ADDRESSES
	uint64_t used, open; // slots, where there are no more than 64
	uint32_t ids[FEW_SLOTS]; // flows by slot, where there are no more than 8
	uint32_t block; // else; in `some` or `many`
	uint32_t seq; // gifts
	uint16_t gift[GIFTS];
	uint16_t n_slots; // 8, 64, 1024
	uint16_t at; // where the search for a free slot goes on
	uint32_t n_flows, n_homeless, n_datagrams; // homeless: those without a slot
	uint32_t n_reverses, first; // a list through `next`
	uint8_t out_port; // of the latest flow that was looked at
	// Where answers may go another way: UDP source port of the latest, and the queue pair it
	// went to; one that answers to several had, and so is derived from none of them.
	uint16_t sport, shared_sport;
	uint16_t flow_sport, shared_flow_sport; // the same of the latest flow
	uint32_t flow_sport_qp;
	uint32_t sport_qp;
};

// sent: `highest` of the flow when it was last asked; it has sent no less since.
struct some_slots {
	uint32_t ids[SOME_SLOTS], sent[SOME_SLOTS];
};
struct many_slots {
	uint32_t ids[PAIR_MAX_BETWEEN], sent[PAIR_MAX_BETWEEN];
	uint64_t used[SLOT_WORDS], open[SLOT_WORDS];
};
struct out_block {
	uint64_t out[SLOT_WORDS];
};

struct reverse {
	struct flow_key key; // KEY_REVERSE
	uint64_t out; // slots 0..63 that it is not of
	uint64_t seen_ns;
	uint32_t block; // more bits, else FLOW_NONE
	uint32_t flow; // it is paired with, else FLOW_NONE
	uint32_t addresses, next, prev;
	uint32_t seq; // of the addresses when it was last looked at
	uint32_t last, back; // PSN: highest answered, latest of those behind it
	uint16_t cursor;
	uint8_t matches, cnps, behind;
	bool has_last, live;
};

struct known {
	struct flow_key key; // KEY_KNOWN
	uint32_t qp;
	// PSN with which the flow begins, or was about to go on, with START_FRESH. READ responses
	// have the PSNs of their requests.
	uint32_t requests, responses;
	uint8_t source, in_port, out_port; // FLOW_NO_PORT: not known
	bool live;
	uint64_t seen_ns;
};

// A connection being made: messages of the side that asked (a) and of the other (b).
struct talk {
	struct flow_key key; // addresses a to b, id of a
	uint32_t qp[2], id[2];
	uint32_t psn[2]; // Starting PSN that each states: the first PSN of the other's requests
	uint64_t seen_ns;
	uint8_t port[2]; // where the message of each came in
	bool has[2], live;
};

// A PSN that READ requests asked for and that was not answered yet.
struct ask {
	struct flow_key key; // addresses as of the responses, PSN, port
	uint32_t qp; // that asked first
	uint32_t n; // how often
	uint64_t seen_ns;
	uint16_t udp_sport;
	uint8_t left_by; // the port that the requests left by
	bool several; // queue pairs asked
	bool one_way, live;
};

// Which elements of a table are in use, and where ageing is.
struct pool {
	struct flow_map map;
	uint32_t n, n_used, cursor;
	uint32_t n_free, *free; // a stack
};

struct pairing {
	struct flow_table *flows;
	struct pair_params params;
	struct pairing_counters count;
	struct pool addresses, reverses, knowns, talks, asks;
	struct addresses *address;
	struct reverse *reverse;
	struct known *known;
	struct talk *talk;
	struct ask *ask;
	struct some_slots *some;
	struct many_slots *many;
	struct out_block *block;
	struct pool somes, manys, blocks; // without maps
	uint32_t stamp_mask;
	uint64_t *blind_until; // by hash of addresses: not all flows are known
	uint64_t *reads_until; // the same: not all READ requests
	uint64_t *past_until; // by hash of a flow: it had a life before
	uint64_t *outside; // the same: flows for whose addresses there was no room
	uint64_t now_ns; // of the latest call
};

static inline void put32(uint32_t *at, uint32_t v)
{
	__atomic_store_n(at, v, __ATOMIC_RELAXED);
}

static inline uint32_t look32(const uint32_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static inline void put64(uint64_t *at, uint64_t v)
{
	__atomic_store_n(at, v, __ATOMIC_RELAXED);
}

static inline uint64_t look64(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static inline struct flow *flow_at(const struct pairing *p, uint32_t id)
{
	return &p->flows->flows[id];
}

static inline void why(struct flow *f, enum pair_reason reason)
{
	__atomic_store_n(&f->peer_hint, (uint8_t)((f->peer_hint & (0xff - HINT_REASON)) | reason),
			 __ATOMIC_RELAXED);
}

static inline struct flow_way way_of(const struct flow *f)
{
	return flow_way_of(gauge_get(&f->way));
}

static inline struct flow_pair pair_of(const struct flow *f)
{
	return flow_pair_of(gauge_get(&f->pair));
}

// ---- pairing_table.c
uint32_t pool_take(struct pool *pool); // FLOW_NONE: none is free
void pool_give(struct pool *pool, uint32_t index);
uint32_t table_find(const struct pool *pool, const struct flow_key *k);
uint32_t table_add(struct pool *pool, const struct flow_key *k);
void table_remove(struct pool *pool, const struct flow_key *k, uint32_t index);
size_t pairing_tables(struct pairing *p, void *mem, uint32_t n_flows, uint32_t seed);
// Looks at a few entries that may be old.
void pairing_age(struct pairing *p);

// Found or made.
uint32_t known_take(struct pairing *p, const struct flow_key *k);
uint32_t known_find(const struct pairing *p, const struct flow_key *k);
void known_free(struct pairing *p, uint32_t index);
struct talk *talk_take(struct pairing *p, const struct flow_key *k);
struct talk *talk_find(struct pairing *p, const struct flow_key *k);
struct ask *ask_take(struct pairing *p, const struct flow_key *k);
struct ask *ask_find(struct pairing *p, const struct flow_key *k);
void ask_free(struct pairing *p, struct ask *ask);

// What is not known, for as long as flows live: all flows, all READ requests between two addresses.
void blind(struct pairing *p, const struct flow_key *k);
bool is_blind(const struct pairing *p, const struct flow_key *k);
void reads_blind(struct pairing *p, const struct flow_key *k);
bool is_reads_blind(const struct pairing *p, const struct flow_key *k);
// A flow left the table with packets that may be unanswered: it may come back to send them again.
void set_past(struct pairing *p, const struct flow_key *k);
bool has_past(const struct pairing *p, const struct flow_key *k);

uint32_t addresses_stamp(const struct pairing *p, const struct flow_key *k); // of `outside`

// ---- pairing_slots.c
// k: any key with these addresses, that way round.
uint32_t addresses_find(const struct pairing *p, const struct flow_key *k);
// A flow has come, or begins another life: whatever was known of it holds no more.
void addresses_join(struct pairing *p, uint32_t id);
void addresses_leave(struct pairing *p, uint32_t id);
void addresses_anew(struct pairing *p, uint32_t id);
// Whether the flow in the slot may be paired.
void slot_open(struct pairing *p, const struct flow *f, bool open);
unsigned slot_words(const struct addresses *a);
uint64_t open_word(const struct pairing *p, const struct addresses *a, unsigned w);
uint64_t used_word(const struct pairing *p, const struct addresses *a, unsigned w);
uint32_t slot_flow(const struct pairing *p, const struct addresses *a, unsigned slot);
// What the flow in the slot has sent at least; NULL where there are few slots.
uint32_t *slot_sent(const struct pairing *p, const struct addresses *a, unsigned slot);

uint32_t reverse_find(const struct pairing *p, const struct flow_key *k);
// Found or made; FLOW_NONE: no room.
uint32_t reverse_take(struct pairing *p, const struct flow_key *k, uint32_t addresses);
// Forgets what it was told.
void reverse_renew(struct pairing *p, struct reverse *r);
// Takes notice of slots given since.
void reverse_sync(struct pairing *p, struct reverse *r);
uint64_t out_word(const struct pairing *p, const struct reverse *r, unsigned w);
// For control: the slot was not given to another since.
bool is_ruled_out(const struct pairing *p, const struct reverse *r, unsigned slot);
void rule_out(struct pairing *p, struct reverse *r, unsigned slot);

void reverse_drop(struct pairing *p, uint32_t index);

// ---- pairing.c
// From now on CNPs of the flow go to qp. Whoever else has one of both loses it. False: somebody
// whose word weighs more says otherwise.
bool pair_set(struct pairing *p, uint32_t id, uint32_t qp, enum pair_source source);
void pair_drop(struct pairing *p, uint32_t id, ctr_t *counter, enum pair_reason reason);
// What told of it was wrong, or is out of date.
void pair_contradicted(struct pairing *p, uint32_t id, ctr_t *counter);
// Every connection between two queue pairs has two directions. Replaces what was known of either.
bool known_set(struct pairing *p, const struct known *k);
// The pair of the key and what is known of it, if it is with qp (FLOW_NONE: with any).
void known_forget(struct pairing *p, const struct flow_key *k, uint32_t qp, ctr_t *counter,
		  enum pair_reason reason);

// ---- pairing_answer.c
// What remains of a reverse queue pair's candidates once some of them were held against an answer.
enum verdict { SAYS_NOTHING, RULES_OUT, MATCHES };
struct question {
	const struct pair_answer *answer;
	uint32_t psn;
	bool fresh;
	enum verdict (*ask)(struct pairing *p, const struct question *q, struct flow *f);
};
struct findings {
	unsigned n; // candidates left
	unsigned n_matched; // of them, as far as they were asked
	unsigned slot; // of one of them
};
struct findings weigh(struct pairing *p, struct reverse *r, const struct question *q);
// The queue pair an answer goes to; NULL: nothing is known of its addresses, or no room.
struct reverse *reverse_heard(struct pairing *p, const struct pair_answer *a,
			      const struct flow_key *back);
// By the ports, as far as they are known.
bool on_its_way(struct pairing *p, const struct pair_answer *a, const struct flow *f);
// Says why not.
bool may_pair(struct pairing *p, const struct pair_answer *a, struct flow *f,
	      enum pair_source source);
void hear_ack(struct pairing *p, const struct pair_answer *a, const struct flow_key *back);
void hear_cnp(struct pairing *p, const struct pair_answer *a, const struct flow_key *back);

// ---- pairing_read.c
void hear_read_request(struct pairing *p, const struct pair_answer *a,
		       const struct flow_key *back);
void read_answered(struct pairing *p, uint32_t id, uint32_t psn);

// ---- pairing_cm.c
void hear_management(struct pairing *p, const struct pair_answer *a, bool arrives);
