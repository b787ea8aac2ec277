// SPDX-License-Identifier: Apache-2.0
// One client's wish for a reload, from its request to its answer: it waits for its turn, tries, and
// waits until all workers run on the new policy. Called by the control thread only, from
// requests.c; it sends nothing itself.
#pragma once

#include <stdint.h>

#include "control/daemon/pending.h"
#include "control/daemon/reload.h"

struct json_object;

struct reload_request {
	char *path; // NULL: the file that runs
	struct json_object *answer; // once it was tried
	uint64_t deadline_ns;
	uint64_t confirm_ns; // see reload_try
	bool check; // only asks whether the switch would take the file
	bool rollback; // asks for the policy before, without a path
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
