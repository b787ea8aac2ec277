// SPDX-License-Identifier: Apache-2.0
// Hosts around a registry of iNOF, on a clock of the test: they register, ask and acknowledge, and
// remember the last notice about each address. Only tests use it.
#pragma once

#include "tests/unit/lldp/test.h"

#include "control/inof/registry.h"

#define S ((uint64_t)SECOND_NS)
#define MS ((uint64_t)MS_NS)

enum { WORLD_PORTS = 8, WORLD_SENT = 1000 };

struct told {
	struct ip_key about;
	bool online;
	uint8_t reason;
	uint16_t service_port;
	unsigned n_offline; // notices with "offline", not repeated ones
	uint32_t seq;
};

// A host with one address.
struct host_model {
	struct ip_key ip;
	unsigned port, number; // number: of the chassis ID
	const char *name; // port ID; NULL: that of most
	struct inof_service service;
	bool silent; // acknowledges nothing
	bool unsubscribed; // registers without the wish for notices
	uint8_t other_source; // its frames have another source address than its chassis ID
	unsigned n; // notices for it, each time
	unsigned n_told;
	struct told *told; // the last one about each address
};

struct world {
	struct inof_registry *r;
	uint64_t now_ns;
	unsigned n_hosts;
	struct host_model *host;
	uint64_t loss, acks_lost; // of 2^32, of frames to and from hosts
	unsigned n_lost, n_acks_lost;
	struct rng *rng;
	unsigned n_frames[WORLD_PORTS];
	uint64_t frame_ns[WORLD_PORTS][WORLD_SENT]; // when the last ones were sent, as a ring
	struct inof_message last;
	uint8_t last_version;
	unsigned n_events[N_EVENT_TYPES];
	uint32_t last_a[N_EVENT_TYPES];
	struct {
		unsigned port;
		uint8_t version;
		struct inof_message m;
	} ack[8192]; // n_acks of them are on their way
	unsigned n_acks;
	struct ip_key elsewhere; // the tables of the switch have it at no port of the test
	bool (*check)(struct world *w, const struct inof_message *m);
};

void world_begin(struct world *w, struct host_model *hosts, unsigned n);
void world_end(struct world *w);
struct ip_key world_ip(unsigned last); // 10.0.x.y
struct host_model world_host(unsigned number, unsigned port, uint8_t role);

void world_register(struct world *w, struct host_model *h, uint16_t ttl_s);
void world_send(struct world *w, unsigned port, enum inof_kind kind, uint8_t version,
		struct inof_message m);
void world_query(struct world *w, struct host_model *h);
// Polls until this time, at each time at which something is due.
void world_run(struct world *w, uint64_t end_ns);
// What the host was told last of an address; NULL: nothing.
const struct told *world_told(const struct host_model *h, struct ip_key about);
void world_forget(struct host_model *h);
void world_zone(struct world *w, const char *name, const char *const *members);
