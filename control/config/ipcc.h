// SPDX-License-Identifier: Apache-2.0
// Flow table, pairing and notifications (IPCC) of a configuration: the rules between their keys,
// and what the dataplane is told. Control thread only.
#pragma once

#include "control/config/compile.h"

// A class whose queue sends notifications.
bool ipcc_is_on(const struct cfg_class *c);

void ipcc_check(const struct config *c, struct diag_sink *s);

// After the queues: a notifying queue takes kmin and kmax as they were resolved for its port.
void compile_ipcc(struct compiler *k);
