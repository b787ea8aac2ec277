// SPDX-License-Identifier: Apache-2.0
// The hosts of iNOF on a switch, their zones, and what each host has been told: docs/inof.md. The
// service (control/instance/inof.c) gives it frames, links, storms and time. It knows frames as
// bytes and no driver. One thread calls everything.
//
// A host is an address. LLDP registers it by chassis ID and port ID, at one port of the switch, or
// a peer, which is another switch. A host is online while it is registered and its port has no
// fault; others in its zones are told when that changes:
//
//	registered, link up, no storm -> online
//	link down, storm, aged out, another address, another zone, BFD -> offline, with the reason
//
// The registry has no queue of changes. It has one bit for each receiver and host: whether the last
// notice said online. It compares these bits with the truth and sends a notice for each difference,
// first for hosts that went, then for hosts that came. So no notice is out of date when it is sent.
// At rest each receiver has got the truth. A notice is repeated until the host acknowledges it.
//
// Memory: 3 KB a host, so 24 MB with 8,000 hosts; 1 KB a zone and its members.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/inof/wire.h"
#include "control/inof/zone.h"
#include "dataplane/event.h"

enum {
	INOF_HOSTS = 8000,
	INOF_LOCAL = 1000, // of these, for hosts at ports of this switch alone
	INOF_PORTS = POLICY_MAX_PORTS,
	INOF_PINS = 1000,
	INOF_WINDOW = 16, // notices on their way to a host: hosts that came,
	INOF_WINDOW_ALL = 32, // and with those that went
	INOF_KEY_MAX = 128, // bytes of chassis ID and port ID
	INOF_LOG = 4096, // notices that are kept for `show inof log`
	// Frames of notices: so many at once and a second at a port. Within 500 ms that is 350 at
	// most. A host that receives 500 ignores all of them for ten seconds.
	INOF_BURST = 100,
	INOF_RATE = 500,
	INOF_RETRY_MS = 100, // then twice as long each time
	INOF_RETRY_MAX_MS = 10000,
	INOF_SILENT = 5, // notices without an answer, after which a host is called silent
	INOF_BOUNCE_MS = 1000, // a host that changes its service is offline at most so long
	INOF_EARLY_MS = 100,
	INOF_QUERY_NS = 1000000000, // a host that asks more often is answered later
	INOF_REFLECTORS = 8,
	INOF_PEERS_S = 5, // without a word of weir-inof, after which its sessions count as down
	INOF_GHOST_S = 300, // a host that is gone is kept so long for those that must be told
	// A link went down: the port keeps the address of its host so long, as no registration
	// lasts longer.
	INOF_KEEP_S = INOF_TTL_S,
};

enum inof_origin { INOF_AT_PORT, INOF_AT_PEER };

// The ports at which an address may register, a bitmap; peer: and it may be at other switches.
struct inof_pin {
	struct ip_key ip;
	uint64_t ports[INOF_PORTS / 64];
	bool peer;
};

// From the policy.
struct inof_conf {
	bool default_zone; // hosts without a zone form a zone
	bool hard_zoning; // the switch drops frames between hosts that share no zone
	bool unique_nqn; // a name belongs to the port that registers it first
	uint64_t ports[INOF_PORTS / 64]; // a bitmap: those that take part
	const struct inof_pin *pins; // n_pins of them, in order of inof_ip_is_above()
	unsigned n_pins;
};

struct inof_ops {
	const uint8_t *(*mac)(void *arg, unsigned port);
	// False: there was no room; the registry tries again at the next poll.
	bool (*send)(void *arg, unsigned port, const struct inof_frame *f);
	// about: the host's address. port: of the host, or PORT_NONE.
	void (*event)(void *arg, const struct event *e, const char *about);
	// Whether the tables of the switch have the MAC address, or the IP address, at a place that
	// is not the port. NULL: there are no tables.
	bool (*is_elsewhere)(void *arg, unsigned port, const uint8_t mac[6], struct ip_key ip);
};

// Why a registration was refused.
enum inof_refusal {
	INOF_BAD_TLV,
	INOF_ADDRESS_HELD, // by a host elsewhere, also while its link is down
	INOF_KEY_HELD, // chassis ID and port ID, by a host at another port
	INOF_NQN_HELD,
	INOF_NO_ROOM, // the table is full, or the port has its share
	INOF_PINNED, // the policy pins the address to other ports
	INOF_ELSEWHERE, // the tables of the switch have the host at another port
	N_INOF_REFUSALS,
};
extern const char *const inof_refusal_name[N_INOF_REFUSALS];

// Of a port. They only grow.
struct inof_counters {
	uint64_t registrations; // good ones, also repeated
	uint64_t refused[N_INOF_REFUSALS];
	uint64_t queries, unknown_queries; // unknown: of no host at the port
	uint64_t acks, bad_acks; // bad: of no notice that is on its way to a host at the port
	uint64_t from_hosts; // notices that a host sent
	uint64_t malformed; // frames and messages that cannot be read
	uint64_t notices, repeated; // messages that were sent; of those, again
	uint64_t frames; // in which they were sent
};

struct inof_registry;

// seed: of the sequence numbers. hash: a number that no host knows, so that hosts cannot choose
// addresses and IDs that meet in one bucket. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int inof_create(unsigned n_ports, const struct inof_ops *ops,
						    void *arg, uint32_t seed, uint64_t hash,
						    struct inof_registry **out);
void inof_destroy(struct inof_registry *r); // NULL is fine

// Hosts at ports that take part no more, or that are not those of their pins, leave, because of a
// zone change. The pins must live until the next call.
void inof_set_conf(struct inof_registry *r, const struct inof_conf *conf, uint64_t now_ns);
uint64_t inof_pins(const struct inof_registry *r); // a digest of the pins
// All zones of a source, in place of those before. -ENOMEM, or -ENOSPC for more than INOF_ZONES
// zones in all; the zones are then as before.
__attribute__((warn_unused_result)) int inof_set_zones(struct inof_registry *r,
						       enum inof_zone_source source,
						       const struct inof_zone *zones, unsigned n,
						       uint64_t now_ns);

// The link of a port. A link that is down has no hosts; their addresses stay the port's for
// INOF_KEEP_S. A registration that came less than
// INOF_EARLY_MS before the link is said to be up counts then.
void inof_link(struct inof_registry *r, unsigned port, bool up, uint64_t now_ns);
// A fault of a port, which takes its hosts offline. INOF_NO_FAULT: it is over.
void inof_fault(struct inof_registry *r, unsigned port, enum inof_reason reason, uint64_t now_ns);

// An LLDP frame. True: an agent of hosts has sent it, and it is no LLDP neighbour.
bool inof_lldp(struct inof_registry *r, unsigned port, const uint8_t *frame, uint32_t len,
	       uint64_t now_ns);
// The frames since the last poll have looked at so many zones that the caller should poll before it
// gives the next one.
bool inof_is_busy(const struct inof_registry *r);
// A frame of EtherType 0x88a7 without tags.
void inof_receive(struct inof_registry *r, unsigned port, const uint8_t *frame, uint32_t len,
		  uint64_t now_ns);

// A host of another switch comes, or says another service. peer: a number of the caller's.
// False: it was refused.
bool inof_peer_host(struct inof_registry *r, uint32_t peer, const struct inof_registration *reg,
		    uint64_t now_ns);
// It goes; reason: why, as its own switch says, or INOF_BFD_DOWN.
void inof_peer_gone(struct inof_registry *r, uint32_t peer, struct ip_key ip,
		    enum inof_reason reason, uint64_t now_ns);

// Another switch says that its host is online (INOF_NO_FAULT), or why it went. False: it was
// refused.
bool inof_peer_word(struct inof_registry *r, uint32_t peer, const struct inof_registration *reg,
		    enum inof_reason reason, uint64_t now_ns);

// A route reflector, as weir-inof says.
struct inof_reflector {
	struct ip_key ip;
	bool up;
	uint32_t hosts, refused; // that it has named; and routes of it that are none of hosts
	uint64_t since_ns; // of up; of the registry
};
// All of them, in place of those before; up to INOF_REFLECTORS.
void inof_set_reflectors(struct inof_registry *r, const struct inof_reflector *list, unsigned n,
			 uint64_t now_ns);
unsigned inof_reflectors(const struct inof_registry *r, const struct inof_reflector **list);

// Ages hosts and sends what is due. To be called at inof_next_ns(), or often.
void inof_poll(struct inof_registry *r, uint64_t now_ns);
// For tests: UINT64_MAX: nothing is due.
uint64_t inof_next_ns(const struct inof_registry *r);

// ---- readers

struct inof_host_view {
	struct ip_key ip;
	const struct inof_service *service;
	enum inof_origin origin;
	port_no_t port; // INOF_AT_PORT
	uint32_t peer; // INOF_AT_PEER
	bool online, subscribes, silent;
	enum inof_reason reason; // why it is not online; INOF_NO_FAULT: it is
	uint64_t since_ns; // when this state began
	uint64_t left_ns; // until it ages out
	unsigned unanswered; // notices on their way to it
	unsigned n_zones;
	const uint64_t *zones; // the set of them: a bit each, below 1 + INOF_ZONES
	const uint8_t *mac; // as its chassis ID says; NULL: not known
};
// The host at a place below INOF_HOSTS. False: there is none, or it is kept only for those that
// must be told that it went.
bool inof_host(const struct inof_registry *r, unsigned i, uint64_t now_ns,
	       struct inof_host_view *out);
unsigned inof_n_hosts(const struct inof_registry *r); // for tests
// Grows when a host comes, goes, or has other zones or roles; also at other times.
uint64_t inof_change(const struct inof_registry *r);

struct inof_zone_view {
	const char *name;
	int source; // enum inof_zone_source; -1: the default zone
	const struct inof_zone *zone; // NULL: the default zone
	bool hidden; // by a zone of an earlier source with its name
	unsigned slot; // for inof_in_zone()
};
// The i-th zone, the default zone first. False: there are no more.
bool inof_zone_at(const struct inof_registry *r, unsigned i, struct inof_zone_view *out);
// Of a zone that hosts have: zones of struct inof_host_view.
const char *inof_zone_name(const struct inof_registry *r, unsigned slot);
// Whether the zone has the host at a place.
bool inof_in_zone(const struct inof_registry *r, const struct inof_zone_view *zone, unsigned host);

// A notice as it was sent.
struct inof_told {
	uint64_t seq_no; // of all notices of this registry, from 1 on
	uint64_t first_ns, acked_ns; // acked_ns 0: not yet, or never
	struct ip_key about, receiver;
	uint32_t seq;
	port_no_t port; // of the receiver
	uint8_t reason;
	bool online;
	uint16_t sent; // how often
};
// The notice of a number, or NULL: it is forgotten, or not yet sent.
const struct inof_told *inof_told(const struct inof_registry *r, uint64_t seq_no);
uint64_t inof_last_told(const struct inof_registry *r); // 0: none

const struct inof_counters *inof_counters(const struct inof_registry *r, unsigned port);
