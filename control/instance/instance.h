// SPDX-License-Identifier: Apache-2.0
// One switch under its control, on any clock: the policy that it runs, how another policy takes its
// place, and the services beside it (service.h). The daemon has one; a fabric of the lab has one
// for each of its switches. No thread, no file, no socket. Called by the thread that controls the
// switch. Times are those of control: of the machine for a live switch, virtual in the lab.
//
//   instance_reload   classes that move are paused until their peers are silent
//        |            (dataplane/switch_change.h)
//        v
//   publish           the workers get the policy; new_policy() tells those who keep parts of it
//        |
//        v
//   grace             every worker has finished the loop that it was in
//        |
//        v
//   settled()         the policy before is freed, and the next reload may begin
//
// One reload at a time. Nothing of it fails: what can fail is done before (instance_prepare).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/base/compiler.h"
#include "dataplane/switch_change.h"

struct burst_clock;
struct config;
struct control_frame;
struct event;
struct policy;
struct weir_switch;

enum service_id {
	SERVICE_MICROBURSTS,
	SERVICE_NEIGHBOURS,
	SERVICE_LLDP,
	SERVICE_INOF,
	SERVICE_AUTO_ECN,
	N_SERVICES,
};

enum trouble_severity { TROUBLE_WARNING, TROUBLE_ERROR, TROUBLE_ALARM, N_TROUBLE_SEVERITIES };

// The instance calls these functions of its owner. A member may be NULL.
struct instance_ops {
	// The workers have the new policy, and the instance and its services have it.
	// retired_config is NULL if the config stays. This function must not begin a reload.
	void (*new_policy)(void *arg, uint64_t now_ns);
	// The policy before is freed. This function may begin the next reload.
	void (*settled)(void *arg, uint64_t now_ns);
	// Of a worker or of a service; e->t_ns is of the switch. about: a neighbour, a host, what a
	// change is based on; or "".
	void (*event)(void *arg, const struct event *e, const char *about, uint64_t now_ns);
	// What does not work, as a sentence for people that begins with the key of the policy.
	void (*trouble)(void *arg, enum trouble_severity severity, const char *text);
	// Begins to publish the running config once more, because a service wants another policy of
	// it (service.carry). 0, or -errno with one line in err; nothing has changed then.
	int (*renew_policy)(void *arg, uint64_t now_ns, char *err, size_t err_len);
	// Control has work for the workers. A live worker looks by itself.
	void (*wake)(void *arg);
	// burst_clock.again. NULL: all clocks stand still during a look, and the time of day is
	// that of control.
	void (*read_clocks)(void *arg, struct burst_clock *now);
	// An LLDP frame at a port that does not speak LLDP. NULL: it is forgotten.
	void (*leave_lldp)(void *arg, const struct control_frame *f);
	// For inof_create(). NULL: zeros.
	void (*inof_seeds)(void *arg, uint32_t *seq, uint64_t *hash);
};

// The owner sets sw, config, policy, ops, arg, and what differs from zero of time_scale,
// links_every_ns and takes_all, before instance_open().
struct instance {
	struct weir_switch *sw;
	struct config *config; // the source of the policy; may be NULL
	struct policy *policy;
	const struct instance_ops *ops;
	void *arg; // of ops
	uint32_t time_scale; // the switch lives so much slower (control/base/model_time.h); 0: 1
	uint64_t links_every_ns; // hosts of iNOF hear of links at multiples of it; 0: in each look
	bool takes_all; // the workers stand still during a look: it leaves nothing for the next
	uint64_t now_ns; // of the last call that had a time
	void *service[N_SERVICES]; // states (service.h); NULL: it keeps none now
	// While classes are paused for it. NULL: none. next_config NULL: the config stays.
	struct policy *next;
	struct config *next_config;
	struct policy *retired; // until the grace is over
	struct config *retired_config;
	uint64_t token; // of the grace of `retired`
	struct policy_change change; // the last one
};

// Opens the services. The workers have not begun. 0, or -errno with why in err;
// instance_close() all the same.
must_check int instance_open(struct instance *in, char *err, size_t err_len);
// Closes the services. The workers have stopped; the switch, if it was made, is still there.
void instance_close(struct instance *in);

// A look of control has three parts, in this order. Each keeps now_ns as that of the look.
// collect: events, and what workers have recorded; more often does no harm.
void instance_collect(struct instance *in, uint64_t now_ns);
void instance_hear(struct instance *in, uint64_t now_ns); // links, and frames for control
void instance_act(struct instance *in, uint64_t now_ns); // what is due

// The services write their part of a policy that was compiled, before it is prepared.
void instance_carry(const struct instance *in, struct policy *next);
// The switch ends in order: services say goodbye in frames that the workers still send.
void instance_end(struct instance *in);

// ---- for services

static inline uint32_t instance_time_scale(const struct instance *in)
{
	return in->time_scale == 0 ? 1 : in->time_scale;
}

// This look, in the switch's own time.
uint64_t instance_switch_ns(const struct instance *in);
// Hands a frame to the workers. False: there is no room for it now.
must_check bool instance_send(struct instance *in, unsigned port, const uint8_t *bytes,
			      uint16_t len);
void instance_wake(const struct instance *in);
// e->t_ns is a time of control.
void instance_tell_event(const struct instance *in, const struct event *e, const char *about);
// e->t_ns is a time of the switch.
void instance_tell_switch_event(const struct instance *in, const struct event *e,
				const char *about);
__attribute__((format(printf, 3, 4))) void instance_trouble(const struct instance *in,
							    enum trouble_severity severity,
							    const char *fmt, ...);

// ---- reload

// Makes the tables of a policy that is to be published. 0, -EINVAL where it needs more copies of
// frames than the switch has had memory for since its start, or -ENOMEM. After 0:
// instance_reload() or switch_unprepare().
must_check int instance_prepare(const struct instance *in, struct policy *next);
// The message for people about an error of instance_prepare().
const char *instance_prepare_text(int err);

// Never while instance_reloads(). Takes both over. config NULL: that of the instance stays.
// late_ns: the policy is published after so long, whatever peers do. The next instance_step() may
// publish already.
void instance_reload(struct instance *in, struct config *config, struct policy *next,
		     uint64_t now_ns, uint64_t late_ns);
// Until the policy before is freed.
static inline bool instance_reloads(const struct instance *in)
{
	return in->next != NULL || in->retired != NULL;
}

// Goes on with a reload, as far as the workers have come. To be asked again and again; on a virtual
// clock after the workers have stepped.
void instance_step(struct instance *in, uint64_t now_ns);

// Frees policies and configs, the running ones too. The workers have stopped; the switch is
// destroyed first, since it frees the tables of the policy that it runs.
void instance_fini(struct instance *in);
