// SPDX-License-Identifier: Apache-2.0
// `weirctl plan FILE --sonic`: the numbers that SONiC's QoS tests (sonic-mgmt, tests/qos) need of a
// switch, as their file qos_params.yaml has them. Each number comes from the functions with which
// a switch decides (qos/pg.h, qos/egress.h, qos/sched.h), fed with the packets of the test from an
// empty switch. Needs no daemon and opens no device. Control thread only.
#pragma once

#include <stdio.h>

struct config;

// 0, or 2 with the reasons on stderr if the policy cannot be compiled.
int qos_params_print(const struct config *c, FILE *out);
