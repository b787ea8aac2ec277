// SPDX-License-Identifier: Apache-2.0
// A policy to a SONiC configuration, the way back of import.h. Control thread only.
#pragma once

#include "control/sonic/configdb.h"

// Adds the rows of the policy with this text to *out. name: of the file, for messages. 0, or
// -EINVAL with errors in *r.
must_check int sonic_export(const char *name, const char *text, size_t len,
			    struct sonic_config *out, struct sonic_report *r);
