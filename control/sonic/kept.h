// SPDX-License-Identifier: Apache-2.0
// Lines of a policy for the export alone: comments, so that a policy stays a policy.
//
//   #sonic name QUEUE|@AZURE|3 scheduler=scheduler.1   the name of what the policy says
//   #sonic keep BUFFER_POOL|egress_lossless_pool size=15982720   has no effect here
//
// @P stands for the ports of profile P, @* for all ports. The keys are those of CONFIG_DB. Control
// thread only.
#pragma once

#include "control/config/config.h"
#include "control/sonic/configdb.h"

// Reads the lines of a policy's text. c: the policy. Other comments are not read; a line that
// begins with the word and cannot be read is an error.
void kept_read(const struct config *c, const char *text, struct sonic_config *keep,
	       struct sonic_config *name, struct sonic_report *r);
