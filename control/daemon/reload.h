// SPDX-License-Identifier: Apache-2.0
// Live reload: a new policy file in place of the running one, all of it or nothing.
//
//   read -> schema and rules -> restart-only keys -> compile for the open ports
//        any mistake: told, and nothing has changed      |
//                                                        v
//   pause: classes that move are paused until their peers are silent (dataplane/switch_change.h)
//                                                        |
//                                                        v
//   publish, grace: every worker has finished the loop it was in -> taken over, acknowledged
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

#include "control/config/config.h"

struct daemon;
struct policy_change;
struct reload;

enum reload_verdict {
	RELOAD_BUSY, // an earlier one is not taken over yet: nothing was looked at
	RELOAD_REFUSED, // said holds the mistakes; nothing has changed
	RELOAD_BEGUN, // reload_pending() until all workers run on it
	RELOAD_POSSIBLE, // of reload_check(): reload_try() would begin
};

// Zeroed before, reload_report_fini after.
struct reload_report {
	struct diags said; // mistakes, or the warnings about a policy that was taken
	struct config_changes changes;
};
void reload_report_fini(struct reload_report *out);

// For a daemon whose policy runs. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int reload_create(struct daemon *d, struct reload **out);
// The workers must have stopped; NULL is fine.
void reload_destroy(struct reload *r);

// path NULL: the file that runs. confirm_ns not 0: reload_poll() puts the policy before back,
// unless reload_confirm() comes within confirm_ns. Until then every other reload is refused.
enum reload_verdict reload_try(struct reload *r, const char *path, uint64_t confirm_ns,
			       uint64_t now_ns, struct reload_report *out);
// False: no policy waits for a confirm.
bool reload_confirm(struct reload *r);
// Puts the policy before back at once.
enum reload_verdict reload_rollback(struct reload *r, uint64_t now_ns, struct reload_report *out);
// The same question without the change: RELOAD_POSSIBLE or RELOAD_REFUSED, with what would change.
// Only the drivers are not asked: they may still refuse another `keep`.
enum reload_verdict reload_check(struct reload *r, const char *path, struct reload_report *out);
bool reload_pending(const struct reload *r);
// Publishes the running file once more, compiled for the ports as they are open now; never while
// reload_pending(). 0 or -errno with one line in err; nothing has changed then.
__attribute__((warn_unused_result)) int reload_for_ports(struct reload *r, uint64_t now_ns,
							 char *err, size_t err_len);
// Once per control loop: publishes after a pause, and notices that all workers run on the policy.
void reload_poll(struct reload *r, uint64_t now_ns);
// Classes are paused for a reload: the control loop must not rest.
bool reload_in_haste(const struct reload *r, uint64_t now_ns);

// The reload that SIGHUP asks for: what there is to say goes to the log. False: busy, ask again.
bool reload_on_signal(struct reload *r, uint64_t now_ns);

// Of the last one that began.
const struct policy_change *reload_change(const struct reload *r);
enum { RELOAD_PAUSE_LEN = 128 };
// What was paused for it, and for how long. False: nothing was.
bool reload_pause_text(const struct reload *r, char out[RELOAD_PAUSE_LEN]);
extern const char reload_late_text[];

const char *reload_path(const struct reload *r); // of the file that runs
// Gives the observer the path of the file that runs.
void reload_describe(const struct reload *r);
const char *reload_text(const struct reload *r); // as it was when it was loaded
