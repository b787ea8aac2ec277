// SPDX-License-Identifier: Apache-2.0
// The number of a port: its index in the policy. Every number of a port has this type.
//
// The numbers from POLICY_MAX_PORTS on are free for what stands beside ports: a layer 3 interface
// may be an SVI (iface.h), a destination of the address table may be a peer of a tunnel or the
// router (forward/fdb.h, forward/vtep.h).
#pragma once

#include <stdint.h>

#define POLICY_MAX_PORTS_TEXT "512" // in messages
typedef uint16_t port_no_t;

enum {
	POLICY_MAX_PORTS = 512,
	PORT_NONE = 0xffff, // in place of a port's number
	POLICY_NAME_LEN = 32, // of a port, a VLAN, a profile, a switch; with the NUL
};
