// SPDX-License-Identifier: Apache-2.0
// A SONiC configuration to a policy. Pure: rows in, text out; it opens no file and no device. The
// rows of tables.h say what each field becomes. Control thread only.
#pragma once

#include <stdio.h>

#include "control/sonic/configdb.h"

struct pg_lookup;

struct sonic_import_options {
	// "Ethernet0=xdp:eth1,Ethernet4=pci:0000:01:00.0"; NULL: each port has the interface of its
	// own name. With a list, ports that are not in the list are left out.
	const char *ports;
	const struct pg_lookup *lookup; // pg_profile_lookup.ini; NULL: none
	// Writes the policy without what was refused. Refused rows become warnings.
	bool partial;
};

// Writes a policy that `weirctl check` accepts. 0, or -EINVAL with errors in *r: then nothing was
// written. Sorts *c.
must_check int sonic_import(struct sonic_config *c, const struct sonic_import_options *o,
			    struct sonic_report *r, FILE *yaml);
