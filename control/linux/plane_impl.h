// SPDX-License-Identifier: Apache-2.0
// The state of the plane, for plane.c and for plane_show.c, which reads it.
#pragma once

#include "control/linux/batch.h"
#include "control/linux/netns.h"
#include "control/linux/plane.h"
#include "control/linux/tap.h"
#include "control/observe/linux_numbers.h"
#include "dataplane/qos/policer.h"

enum { PLANE_ERR_LEN = 256 };

struct plane_iface {
	struct linux_tap tap;
	bool wanted; // the policy routes there
	uint64_t retry_ns; // of a tap that could not be made
	uint64_t repeat_ns; // when the addresses of a new tap are set again; 0: done
	unsigned n_addrs; // that the plane has set
	struct policy_addr addrs[MAX_PORT_ADDRS];
	struct linux_tap_numbers c;
	char refused[PLANE_ERR_LEN]; // the last reason in the log
};

struct plane {
	struct weir_switch *sw;
	const struct plane_ops *ops;
	void *arg;
	struct netns *netns;
	struct netlink *netlink;
	struct mirror *mirror;
	int epoll;
	uint64_t now_ns; // of this poll
	bool dumping;
	bool stale; // routes may have gone without a message
	bool full; // MIRROR_PREFIXES are too few
	bool made; // `routes` are those of the kernel
	struct batch batch; // changes that are not published
	struct policy_routes routes; // lists alone
	struct mirror_census census; // of `routes`
	struct linux_numbers n; // the other members are filled by plane_numbers()
	struct policer asked[POLICY_MAX_PORTS]; // stations that frames of the port wanted
	struct plane_iface iface[N_IFACES];
};
