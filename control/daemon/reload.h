// SPDX-License-Identifier: Apache-2.0
// Live reload: a new policy file in place of the running one, all of it or nothing.
//
//   read -> schema and rules -> restart-only keys -> compile for the open ports
//        any mistake: reported, nothing has changed      |
//                                                        v
//   pause: classes that move are paused until their peers are silent (dataplane/switch_change.h)
//                                                        |
//                                                        v
//   publish, grace (control/instance/instance.h): every worker has finished the loop it was in
//        -> taken over, acknowledged
//
// A worker reads the policy pointer once per loop, so one loop never mixes two policies; frames
// that wait keep their queue and account. Counters, addresses learnt, and ports stay. One reload
// at a time: another one waits until all workers have taken the first. Called by the control thread
// only. Opens no device, and does not watch the file. A port that has another device (hotplug.h) is
// a reload of the running file.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/daemon/pending.h"

struct daemon;
struct json_object;
struct reload;

// For a daemon whose policy runs. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int reload_create(struct daemon *d, struct reload **out);
// The workers must have stopped; NULL is fine.
void reload_destroy(struct reload *r);

// False: no policy waits for a confirm.
bool reload_confirm(struct reload *r);
// The switch ends: a rollback that becomes due does not begin. reload_destroy() logs which policy
// the next start reads.
void reload_forbid_rollback(struct reload *r);
bool reload_pending(const struct reload *r);
// Publishes the running file once more, compiled for the ports as they are open now; never while
// reload_pending(). 0 or -errno with one line in err; nothing has changed then.
__attribute__((warn_unused_result)) int reload_for_ports(struct reload *r, uint64_t now_ns,
							 char *err, size_t err_len);
// The same with the kernel's routes of now (control/linux/plane.h). Ports, queues and classes are
// the same, so frames that wait for a next hop go on waiting. False: there is no memory; nothing
// has changed.
bool reload_for_routes(struct reload *r, uint64_t now_ns);
// The instance has published a policy, or freed the policy before (control/instance/instance.h).
void reload_published(struct reload *r);
void reload_settled(struct reload *r, uint64_t now_ns);
// Once per control loop: publishes after a pause, and notices that all workers run on the policy.
void reload_poll(struct reload *r, uint64_t now_ns);
// Classes are paused for a reload: the control loop must not rest.
bool reload_in_haste(const struct reload *r, uint64_t now_ns);

// The reload of SIGHUP; its report goes to the log. False: busy, try again.
bool reload_on_signal(struct reload *r, uint64_t now_ns);

const char *reload_path(const struct reload *r); // of the file that runs
// Gives the observer the path of the file that runs.
void reload_describe(const struct reload *r);

// A reload from its request to its answer: it waits for the one before, tries, and waits until all
// workers run on the new policy.
struct reload_request {
	char *path; // NULL: the file that runs
	struct json_object *answer; // once it was tried
	uint64_t deadline_ns;
	uint64_t confirm_ns; // 0: confirmed at once; else reload_confirm() must come in this time
	bool check; // only checks whether the switch would take the file
	bool rollback; // the policy before comes back; without a path
	bool published;
};

// path NULL: the file that runs. 0, or -EINVAL when it is no absolute path.
__attribute__((warn_unused_result)) int reload_request_init(struct reload_request *q,
							    const char *path, bool check,
							    uint64_t confirm_ns,
							    uint64_t now_ns);
void reload_request_fini(struct reload_request *q); // the client may be gone; the reload goes on

// PENDING_DONE: *answer is {"reloaded": bool, "file", "mistakes": [...], "warnings": [...],
// "changed": [...], "changes": [...]}, with `check` also "possible": bool, and the caller's.
// PENDING_TIMEOUT: q->published says how far it has come.
enum pending_verdict reload_request_step(struct reload_request *q, struct reload *r,
					 uint64_t now_ns, struct json_object **answer);
