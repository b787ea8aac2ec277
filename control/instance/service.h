// SPDX-License-Identifier: Apache-2.0
// A service: what control does for a switch beside its policy, as LLDP or auto ECN. It is written
// once, for any clock: it knows the instance (instance.h) and no daemon, no lab, no socket.
//
// In each look of control all services collect, then all hear, then all act, in the order of enum
// service_id. Between hearing and acting the owner may bring what other switches say. A function
// may be NULL, but for open and close.
#pragma once

#include "control/inof/hard_zoning.h"
#include "control/instance/instance.h"

struct policy;

struct service {
	// The switch runs its first policy; nothing has been forwarded yet. 0, or -errno, with why
	// in err if it is not memory; close() is called all the same.
	int (*open)(struct instance *in, char *err, size_t err_len);
	void (*close)(struct instance *in); // also before open()

	// What workers have recorded. In the lab also called when a link changes between two looks:
	// a flap that is over before the look is seen here alone. Of a live link it is not seen.
	void (*collect)(struct instance *in);
	void (*hear)(struct instance *in); // links, and frames for control
	void (*act)(struct instance *in); // sends and changes what is due

	// A policy that is about to be prepared: the service writes its own part of it. Also called
	// before open().
	void (*carry)(const struct instance *in, struct policy *next);
	// The workers have another policy. in->retired_config: NULL if the config is the same.
	void (*new_policy)(struct instance *in);
	// The switch ends in order; frames sent now still leave.
	void (*end)(struct instance *in);
};

extern const struct service auto_ecn_service, inof_service, lldp_service, microbursts_service,
	neighbours_service;

// The states of the services, in->service[]. NULL: before instance_open(), and of microbursts
// and neighbours until a policy asks for them.

struct lldp_state {
	struct lldp_agent *agent;
	uint64_t retry_ns; // no other attempt to change PFC before
};

struct inof_state {
	struct inof_registry *registry; // NULL: off
	struct inof_zone *zones; // of the running switch (instance_set_inof_zones)
	unsigned n_zones;
	struct hard_zoning hard_zoning;
};

// Readers get a state by these functions. NULL: there is none.

static inline const struct lldp_agent *instance_lldp(const struct instance *in)
{
	const struct lldp_state *s = in->service[SERVICE_LLDP];

	return s == NULL ? NULL : s->agent;
}

static inline struct inof_registry *instance_inof(const struct instance *in)
{
	const struct inof_state *s = in->service[SERVICE_INOF];

	return s == NULL ? NULL : s->registry;
}

static inline const struct autoecn *instance_auto_ecn(const struct instance *in)
{
	return in->service[SERVICE_AUTO_ECN];
}

// No policy has asked for microbursts yet: NULL.
static inline struct burstlog *instance_microbursts(const struct instance *in)
{
	return in->service[SERVICE_MICROBURSTS];
}

// The kernel is the control plane, or no policy has routed yet: NULL.
static inline const struct resolver *instance_resolver(const struct instance *in)
{
	return in->service[SERVICE_NEIGHBOURS];
}

// The zones that operators have added to the running switch; *n of them.
const struct inof_zone *instance_inof_zones(const struct instance *in, unsigned *n);
// Other ones, while there is a registry. 0, and the service has taken them over, or as
// inof_set_zones().
must_check int instance_set_inof_zones(struct instance *in, struct inof_zone *zones, unsigned n);
