// SPDX-License-Identifier: Apache-2.0
// Between the files of control/inof: the data of a registry. registry.c has the hosts and links,
// zoning.c their zones, notices.c what they are told.
#pragma once

#include "control/inof/registry.h"

#include <assert.h>

#include "control/inof/zone_index.h"
#include "dataplane/base/units.h"

enum {
	EARLY_BYTES = 32768, // of frames that come before the switch sees the link
	WORDS = INOF_HOSTS / 64,
	BUCKETS = 16384,
	NO_HOST = INOF_HOSTS,
	VERSION_UNKNOWN = INOF_VERSION + 1,
	FRAME_NS = SECOND_NS / INOF_RATE,
	WORK_A_POLL = 50000,
	LINGER_MS = 1000,
};

static_assert(WORDS * 64 == INOF_HOSTS, "whole words");

// A notice on its way to a host.
struct flight {
	uint64_t due_ns, log; // log: the number of its row
	uint32_t seq;
	uint16_t about;
	uint8_t reason, tries;
	bool online;
	bool first; // the host acknowledges this one before it gets the next about the same host
};

struct key {
	bool of_sender; // the chassis ID is the MAC address that sent the frame
	uint8_t len;
	uint8_t bytes[INOF_KEY_MAX];
};

struct host {
	struct ip_key ip;
	uint16_t no, next_by_ip, next_by_key;
	enum inof_origin origin;
	port_no_t port;
	uint32_t peer;
	struct key key; // len 0: it is registered no more
	uint64_t key_hash; // of the key, also when it is registered no more
	bool present; // registered, and its link has been up since
	bool online; // present without a fault
	bool subscribes;
	bool placed; // in the zones of its address, port and name
	uint8_t reason;
	struct inof_service service;
	struct inof_registration *pending; // another service, which waits until all were told
	uint64_t since_ns, end_ns, pending_ns;
	uint64_t zone_set[ZONE_WORDS];
	// References from receivers: the last notice says that this host is online, or a notice
	// about the host is not acknowledged yet.
	uint32_t n_refs;
	uint64_t shown; // the change with which it came online
	// As a receiver.
	uint8_t version;
	bool silent, blocked; // blocked: the window is full
	uint32_t seq;
	uint64_t synced; // the change with which it began to be told
	uint64_t asked_ns, again_ns; // its last query; when a query that came too soon is answered
	uint64_t told[WORDS];
	uint64_t *renewed; // of told: it knows the service of before; NULL: none
	unsigned n_flights;
	struct flight flight[INOF_WINDOW_ALL];
};

struct zone {
	int source; // -1: the default zone
	bool hidden;
	struct inof_zone def;
	uint64_t members[WORDS];
};

struct inof_port {
	bool up;
	uint8_t fault; // enum inof_reason
	unsigned n; // hosts at the port, also those that are gone
	struct host *lingers; // the last of those that no other host must be told of; NULL: none
	uint64_t tokens_ns, refilled_ns; // a frame is FRAME_NS
	uint64_t alarmed_ns;
	bool alarmed;
	struct inof_counters c;
	// Frames that came while the link was down, each behind a struct early_frame.
	uint32_t early_len;
	uint8_t *early; // EARLY_BYTES; NULL: none
};

// Receivers are compared with the truth in rounds. A round goes on at the next poll where it has
// cost too much in one.
struct round {
	unsigned next; // receiver; INOF_HOSTS: the round is over
	uint64_t zones[ZONE_WORDS], words[(WORDS + 63) / 64];
};

struct early_frame {
	uint64_t t_ns;
	uint32_t len;
	bool lldp;
};

struct inof_registry {
	const struct inof_ops *ops;
	void *arg;
	unsigned n_hosts, n_peer_hosts, next_receiver;
	uint32_t seed, n_created; // sequence numbers of hosts begin with both
	uint64_t hash; // begins the hash of each address and key
	struct inof_conf conf;
	uint64_t pins; // their digest
	uint64_t change; // counts what others can see
	uint64_t zones_changed; // the last change of zones
	uint64_t next_age_ns;
	uint64_t dirty[WORDS]; // receivers that must be looked at
	// And all receivers of these zones, for the changes of hosts of these words.
	uint64_t dirty_zones[ZONE_WORDS], dirty_words[(WORDS + 63) / 64];
	struct round round;
	uint64_t online[2][INOF_BOTH][WORDS]; // by family and role: 1 target, 2 initiator
	uint64_t due_ns[INOF_HOSTS]; // the next notice to a receiver
	uint16_t by_ip[BUCKETS], by_key[BUCKETS];
	struct host *host[INOF_HOSTS];
	// By host. mac: the chassis ID is its MAC address, and no other port had it before; with
	// bit 48. nqn: a hash of its name. 0: none.
	uint64_t mac[INOF_HOSTS], nqn[INOF_HOSTS];
	struct zone *zone[ZONE_SLOTS];
	struct zone_index *index; // of the zones that are not hidden; NULL: there are none
	uint64_t work, busy_from; // members of zones and keys that were looked at; see inof_is_busy
	unsigned n_reflectors;
	uint64_t heard_ns; // of weir-inof
	struct inof_reflector reflector[INOF_REFLECTORS];
	uint64_t last_told;
	struct inof_told log[INOF_LOG];
	struct inof_port port[INOF_PORTS];
};

// ---- sets of bits

static inline bool has_bit(const uint64_t *set, unsigned i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static inline void put_bit(uint64_t *set, unsigned i, bool on)
{
	uint64_t bit = 1ull << (i % 64);

	set[i / 64] = on ? set[i / 64] | bit : set[i / 64] & ~bit;
}

static inline bool meet(const uint64_t *a, const uint64_t *b, unsigned words)
{
	for (unsigned i = 0; i < words; i++)
		if ((a[i] & b[i]) != 0)
			return true;
	return false;
}

// ---- hosts

static inline unsigned host_place(const struct host *h)
{
	return h->origin == INOF_AT_PORT ? h->port : PORT_NONE;
}

// Also while its link is down.
static inline bool is_registered(const struct host *h)
{
	return h->origin == INOF_AT_PORT ? h->key.len != 0 : h->present;
}

static inline bool takes_part(const struct inof_registry *r, unsigned port)
{
	return has_bit(r->conf.ports, port);
}

struct host *host_by_ip(const struct inof_registry *r, struct ip_key ip); // or NULL
// Whether a host at another port has the name.
bool nqn_is_held(const struct inof_registry *r, const struct inof_nqn *nqn, unsigned port);
void registry_refuse(struct inof_registry *r, unsigned port, enum inof_refusal why,
		     struct ip_key ip, uint64_t now_ns);
// Makes a host online that is there without a fault.
void host_come_online(struct inof_registry *r, struct host *h, uint64_t now_ns);
// One receiver less knows the host or waits for a notice about it: the host may be gone then.
void host_unref(struct inof_registry *r, struct host *h, uint64_t now_ns);
// port: PORT_NONE for none.
void registry_say(const struct inof_registry *r, enum event_type type, const struct host *h,
		  unsigned port, uint32_t a, uint64_t now_ns);

// ---- zones

// Looks at all receivers of the zones of a host that has changed.
void zoning_look_at(struct inof_registry *r, const struct host *h);
// Puts the host into its zones.
void zoning_place(struct inof_registry *r, struct host *h);
void zoning_place_all(struct inof_registry *r);
void zoning_leave(struct inof_registry *r, struct host *h);
void zoning_free(struct inof_registry *r);

// A frame of a host, before the switch sees the link.
void registry_keep_early(struct inof_registry *r, unsigned port, const uint8_t *frame,
			 uint32_t len, uint64_t now_ns);

// ---- what hosts are told

// Answers a query. The host gets all its notices again.
void notices_answer(struct inof_registry *r, struct host *h, uint64_t now_ns);
// The host has another service. Receivers that know it get "offline" first.
void notices_renew(struct inof_registry *r, const struct host *about);

// Looks at the host, as a receiver, at the next poll.
static inline void mark_receiver_dirty(struct inof_registry *r, const struct host *h)
{
	put_bit(r->dirty, h->no, true);
	r->change++;
}

// Ends the i-th notice on its way to the host.
void notices_end(struct inof_registry *r, struct host *h, unsigned i, uint64_t now_ns);
// The host can be told nothing for now, and keeps what it knows.
void notices_rest(struct inof_registry *r, struct host *h);
// The host knows of no other any more: it is gone, or has begun anew.
void notices_forget(struct inof_registry *r, struct host *h, uint64_t now_ns);
// Compares what the hosts were told with the truth, and begins notices where they differ.
void notices_compare(struct inof_registry *r, uint64_t now_ns);
// Sends what is due.
void notices_send(struct inof_registry *r, uint64_t now_ns);
