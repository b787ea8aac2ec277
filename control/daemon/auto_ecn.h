// SPDX-License-Identifier: Apache-2.0
// Auto ECN of the daemon: the agent of the switch (control/autoecn/agent.h) in the control loop, on
// model time, and its events. The main thread calls everything here.
#pragma once

#include <stdint.h>

struct autoecn;
struct daemon;
struct policy;

// Sets d->auto_ecn. 0, -ENOMEM, or -EINVAL with why in err.
__attribute__((warn_unused_result)) int auto_ecn_open(struct daemon *d, char *err,
						      unsigned err_len);
void auto_ecn_loop(struct daemon *d, uint64_t now_ns);
void auto_ecn_new_policy(struct daemon *d, uint64_t now_ns);
