// SPDX-License-Identifier: Apache-2.0
// One switch under its control, on any clock: the policy that it runs, and how another policy takes
// its place. The daemon has one; a fabric of the lab has one for each of its switches. No thread,
// no file, no socket. Called by the thread that controls the switch; times are those of the
// dataplane.
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

struct config;
struct policy;
struct weir_switch;

// The instance calls these functions of its owner during a reload. A member may be NULL.
struct instance_ops {
	// The workers have the new policy, and the instance has it and its config. retired_config
	// is NULL if the config stays. This function must not begin a reload.
	void (*new_policy)(void *arg, uint64_t now_ns);
	// The policy before is freed. This function may begin the next reload.
	void (*settled)(void *arg, uint64_t now_ns);
};

struct instance {
	struct weir_switch *sw;
	struct config *config; // the source of the policy; may be NULL
	struct policy *policy;
	const struct instance_ops *ops;
	void *arg; // of ops
	// While classes are paused for it. NULL: none. next_config NULL: the config stays.
	struct policy *next;
	struct config *next_config;
	struct policy *retired; // until the grace is over
	struct config *retired_config;
	uint64_t token; // of the grace of `retired`
	struct policy_change change; // the last one
};

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
