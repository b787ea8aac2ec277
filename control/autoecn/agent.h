// SPDX-License-Identifier: Apache-2.0
// Auto ECN of one switch: looks at its queues, feeds the rule of each (rule.h), and gives the
// workers the thresholds that the rule wants. It is a service
// (control/instance/auto_ecn.c), on the clock of the switch. Control thread only.
//
// A window is as long as the key `step`. Its first part, WARM_UP, is left out: the senders need
// that time to follow the thresholds of the window.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/autoecn/rule.h"
#include "dataplane/base/port_no.h"
#include "dataplane/qos/wred.h"

struct autoecn;
struct policy;
struct weir_switch;

struct autoecn_change {
	uint64_t t_ns; // switch time
	port_no_t port;
	uint8_t queue, cls;
	bool on; // the workers get the thresholds; else it is advice
	enum ecn_mode mode;
	enum ecn_why why;
	char row[ECN_MODEL_NAME]; // of the model; empty: none
	struct ecn_thresholds before, after;
	struct ecn_features features;
};
typedef void autoecn_fn(void *arg, const struct autoecn_change *c);

// The state of a queue.
struct autoecn_view {
	bool on;
	enum ecn_mode mode;
	enum ecn_why why; // of the last change
	const char *row;
	struct ecn_thresholds now, advice; // advice: with `action: advise` only, else as now
	struct ecn_rails rails;
	struct ecn_features features, all; // of the last window; from the first window to the last
	uint64_t since_ns; // of the last change
	uint64_t n_changes, n_windows;
	uint8_t cls;
};

enum { AUTOECN_KEPT = 256 }; // changes, of the switch

// fn: hears of every change. The switch must outlive it. 0, -ENOMEM, or -EINVAL with why in err: a
// model cannot be read any more.
__attribute__((warn_unused_result)) int autoecn_create(struct weir_switch *sw, autoecn_fn *fn,
						       void *arg, struct autoecn **out, char *err,
						       unsigned err_len);
void autoecn_destroy(struct autoecn *a); // NULL is fine in all of these

// Once in a look of control. policy_changes: a policy is being published.
void autoecn_look(struct autoecn *a, bool policy_changes, uint64_t now_ns);
// The next policy begins with the thresholds of now, where its rails allow them.
void autoecn_carry(const struct autoecn *a, struct policy *next);
// The policy has been published. False: memory is short or a model cannot be read; err says which.
// Queues without their model search.
bool autoecn_new_policy(struct autoecn *a, uint64_t now_ns, char *err, unsigned err_len);

// False: the queue has static thresholds, or none.
bool autoecn_view(const struct autoecn *a, unsigned port, unsigned queue,
		  struct autoecn_view *out);

// The curves of a queue that are in force: those of auto ECN, else the policy's.
struct wred_params autoecn_wred(const struct autoecn *a, const struct policy *p, unsigned port,
				unsigned queue);

// The i-th of the latest changes, the oldest first; NULL: there is none.
const struct autoecn_change *autoecn_change(const struct autoecn *a, unsigned i);

// "use 97 %, marks 2.1 %, p99 45 us, PAUSE 0": the features in a line.
enum { AUTOECN_FEATURES_LEN = 96 };
void autoecn_features_print(const struct ecn_features *f, char out[AUTOECN_FEATURES_LEN]);
