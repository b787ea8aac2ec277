// SPDX-License-Identifier: Apache-2.0
// A policy text becomes the policy of a switch, all of it or nothing:
//
//   text -> check by this program -> FILE.next -> check by the running switch
//        -> FILE.next takes the place of FILE -> reload
//
// So FILE is always a policy that a switch took, or that none has seen because none runs, and a
// switch that starts again starts with it. A text that the running switch refuses stays in
// FILE.next, for an operator who restarts the switch.
#pragma once

#include <stddef.h>

#include "control/sonic/bridge/lines.h"

enum apply_end {
	APPLY_DONE, // the switch runs it
	APPLY_REFUSED,
	APPLY_FAILED, // the file cannot be written
	APPLY_NO_SWITCH, // no switch answers; FILE has the policy unless the switch is slow
};

// name: of the switch; NULL: only the file is written. why: zeroed by the caller; has lines for
// every end but APPLY_DONE. *changes: keys that the switch changed.
enum apply_end apply_policy(const char *name, const char *path, const char *text,
			    struct lines *why, size_t *changes);
