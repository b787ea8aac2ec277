// SPDX-License-Identifier: Apache-2.0
// The network of random schedules with `together` (schedule_policy.h): where its hosts are, and
// the frames that they send. A host has a number: that of its port, or NET_FAR and more, for
// stations behind the peers of a tunnel. Its addresses are 02:00:00:00:00:(number + 1) and, in the
// net n, 10.0.n.(NET_FIRST_ADDRESS + number) and fd00:n::(the same). A net is a VLAN, or the one of
// the port that routes. The switch is 10.0.n.1, and 02:00:00:00:01:n or :(port + 1).
//
// Policies may have VLANs or one bridge: the hosts send the same frames, as far as they know. The
// maker of frames is pure: a schedule on the virtual clock and one with real threads have it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/rng.h"
#include "dataplane/impair_rule.h"
#include "tests/lab/schedule_policy.h"

struct weir_switch;

enum {
	NET_ROUTED_PORT = SCHEDULE_PORTS - 2, // where policies have VLANs
	NET_TRUNK = SCHEDULE_PORTS - 1, // in VLAN 100 untagged, in VLAN 200 tagged
	NET_UNDERLAY = 9,
	NET_FIRST_ADDRESS = 10,
	NET_FAR = 0x40,
	NET_N_FAR = 4,
	NET_NOBODY = 0x50,
	NET_HOSTS = NET_FAR + NET_N_FAR, // numbers are below
	NET_VNI = 7,
	NET_TUNNEL_BYTES = 50,
	NET_QP =
		0x200, // of the flow from host i to the trunk's host; the policy knows the sender's
	NET_SENDER_QP = 0x300,
	NET_GUARD_RULES = 2, // of each port with a guard
	NET_FRAME_MAX = 1600,
};

static inline unsigned net_of_host(unsigned host)
{
	if (host == NET_ROUTED_PORT)
		return NET_UNDERLAY;
	return host < SCHEDULE_PORTS && host % 2 != 0 && host != NET_TRUNK ? 200 : 100;
}

static inline bool net_has_host(unsigned net, unsigned host)
{
	return net_of_host(host) == net || (net == 200 && host == NET_TRUNK);
}

// Of 4 or 16 bytes.
void net_address(uint8_t *ip, bool v6, unsigned net, unsigned host);

// What the hosts know.
struct net_view {
	bool vlans, routes, tunnels; // the policy has them
	bool honest; // no frame that a tunnel may only drop: Not-ECT in what is ECT, or gets CE
	uint16_t stamp; // of frames that are made now
};

struct net_frame {
	uint16_t len;
	uint8_t dscp; // of the outermost IP header; 0: there is none
	bool to_group;
	uint8_t bytes[NET_FRAME_MAX];
};

// The next frame of the host at a port.
void net_frame_draw(struct rng *rng, const struct net_view *v, unsigned from,
		    struct net_frame *out);

// Who a frame is from and for, by each kind of address. NET_HOSTS: nobody in this network, or a
// router has changed the address. len: bytes that are there.
struct net_ends {
	unsigned from_ip, from_mac, to_ip, to_mac;
	bool group;
};
struct net_ends net_ends(const uint8_t *frame, unsigned len);
// The stamp of a frame of this maker as it left the switch, and the frame in its tunnel, where the
// switch has put it into one. False: it has none.
bool net_stamp(const uint8_t *frame, unsigned len, uint16_t *stamp, const uint8_t **inner);

// ---- zones

enum { NET_ZONES = 3 };

struct net_station {
	bool known;
	uint8_t roles, zones; // bitmaps
};

struct net_zones {
	bool on;
	struct net_station station[NET_HOSTS + 1]; // NET_HOSTS is none
};

void net_zones_draw(struct rng *rng, struct net_zones *out);
// Gives them to the switch, each host by its MAC address and by the IP addresses of its nets.
// Returns what switch_set_zones does.
int net_zones_set(struct weir_switch *sw, const struct net_zones *z);
// No frame between the two may pass. A station is known by its IP address, or else by its MAC
// address.
bool net_are_apart(const struct net_zones *z, const struct net_ends *e);

// ---- impairments

// A rule for up to for_ns. Frames that a rule holds, or copies, on their way in are in no account:
// the peer of a lossless class has been paused too late for them. With a promise they are of lossy
// classes.
void net_rule_draw(struct rng *rng, bool promise, uint64_t for_ns, struct impair_rule *out);
