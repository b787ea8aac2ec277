// SPDX-License-Identifier: Apache-2.0
// The host's side of iNOF: registers an address, queries its zone when the link comes up,
// acknowledges notices, and decides which targets an initiator uses (docs/inof.md). weir-host and
// weir-lab run the same code. Pure: time is an argument, and frames are bytes. One thread calls
// everything.
//
// The addresses of targets with one NQN are the paths of one subsystem. A target without a name is
// a subsystem of its own. An initiator uses one path of each subsystem:
//
//	online             the path is used if its subsystem has no path in use, else it is spare
//	offline            the path ends; the spare path that came first is used in its place
//	no answer          the same, but the path stays, as the last spare one
//	own link is down   all paths end
//
// Offline because of a zone, an address or its age: the host must not reach the target any more, so
// messages in flight fail. Otherwise they may be sent again on another path.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/inof/wire.h"

enum {
	INOF_REGISTER_S = 30, // interval of registrations
	INOF_TTL_INTERVALS = 4, // what a registration lasts
	INOF_PATHS = 8000, // targets that a host knows at most
};

struct inof_path {
	struct ip_key ip;
	struct inof_service service;
	bool in_use;
};

// Why a path ended: a reason of a notice, or of the host itself.
enum inof_end { INOF_END_SILENT = N_INOF_REASONS, INOF_END_OWN_LINK };
const char *inof_end_text(uint8_t why);

// Calls out. Paths hold during the call only. A call must not call the endpoint.
struct inof_endpoint_ops {
	// False: there is no room; registrations and queries are tried again at the next poll.
	bool (*send)(void *arg, const uint8_t *frame, uint16_t len);
	void (*begin)(void *arg, const struct inof_path *p);
	// forced: messages in flight fail.
	void (*end)(void *arg, const struct inof_path *p, uint8_t why, bool forced);
	// A notice for this host, before the host acts. NULL: nothing to do.
	void (*notice)(void *arg, const struct inof_message *m);
};

struct inof_endpoint_conf {
	uint8_t mac[6];
	const char *port_id; // "snsd_eth0_00"; must live as long as the endpoint
	struct inof_registration registration;
	uint64_t register_ns; // interval of registrations
};

struct inof_endpoint_stats {
	uint64_t registrations, queries, acks;
	uint64_t notices; // for this host, repeated ones included
	uint64_t ignored; // messages for others or without all their parts
	uint64_t begins, ends; // paths in use
	uint64_t no_room; // targets beyond INOF_PATHS
};

struct inof_endpoint;

__attribute__((warn_unused_result)) int inof_endpoint_create(const struct inof_endpoint_conf *c,
							     const struct inof_endpoint_ops *ops,
							     void *arg, struct inof_endpoint **out);
void inof_endpoint_destroy(struct inof_endpoint *e); // NULL is fine

// The link is down until the first call.
void inof_endpoint_link(struct inof_endpoint *e, bool up, uint64_t now_ns);
// An untagged frame. A frame that is not of iNOF has no effect.
void inof_endpoint_receive(struct inof_endpoint *e, const uint8_t *frame, uint32_t len);
// A target that the operator names, without a notice. The link is up.
void inof_endpoint_offer(struct inof_endpoint *e, struct ip_key ip, const struct inof_service *s);
// The path in use to this address does not answer. Without a spare path the host goes on with it.
void inof_endpoint_silent(struct inof_endpoint *e, struct ip_key ip);
// Sends what is due. Returns when to call again; UINT64_MAX: after the link has changed.
uint64_t inof_endpoint_poll(struct inof_endpoint *e, uint64_t now_ns);
// The host ends: the next poll sends a goodbye, which is a shutdown LLDPDU (IEEE 802.1AB 9.1.2) of
// the same chassis ID and port ID with a TTL of 0, and nothing after it. Then others learn at once
// that the host went. ended: the goodbye was sent, or the link is down.
void inof_endpoint_end(struct inof_endpoint *e);
bool inof_endpoint_ended(const struct inof_endpoint *e);

const struct inof_endpoint_stats *inof_endpoint_stats(const struct inof_endpoint *e);
