// SPDX-License-Identifier: Apache-2.0
// Builds the policy of a lab test: n equal ports whose hosts are static entries, one profile `x`.
#pragma once

#include <stdio.h>

// classes: the rows below `classes:` of profile x, indented by six. port_keys: appended to every
// port.
static inline const char *lab_yaml(unsigned n_ports, const char *speed, const char *port_keys,
				   const char *profile_keys, const char *classes)
{
	static char text[8192];
	int n = snprintf(text, sizeof(text),
			 "switch: {name: lab, buffer: {size: 4MB, cell: 256B}}\n"
			 "ports:\n  - {name: \"p[1-%u]\", device: \"wire:w[1-%u]\", speed: %s, "
			 "mtu: 1500, profile: x%s}\nfdb:\n",
			 n_ports, n_ports, speed, port_keys);

	for (unsigned i = 1; i <= n_ports; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "  - {mac: \"02:00:00:00:00:%02x\", port: p%u}\n", i, i);
	snprintf(text + n, sizeof(text) - (size_t)n, "profiles:\n  x:\n%s    classes:\n%s",
		 profile_keys, classes);
	return text;
}
