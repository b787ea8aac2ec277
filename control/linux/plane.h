// SPDX-License-Identifier: Apache-2.0
// The kernel as the control plane of a running switch (`control_plane: linux`): a tap for each
// routed port, the frames between taps and ports, and the kernel's routes and neighbours in the
// dataplane.
//
//   port -> worker: punt (dataplane/switch_punt.h) -> tap -> kernel, FRR
//   kernel, FRR -> tap -> switch_inject -> queue of the port
//   rtnetlink -> mirror -> routes of a policy (published), neighbours (set one by one)
//   link of the port -> carrier of the tap
//
// Interfaces are those of dataplane/iface.h: routed ports and SVIs. Created before weir gives up
// its privileges. Called by the control thread only.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/linux/mirror.h"
#include "control/linux/netlink.h"
#include "dataplane/base/compiler.h"
#include "dataplane/event.h"

struct control_frame;
struct json_object;
struct linux_numbers;
struct plane;
struct policy;
struct weir_switch;

struct plane_ops {
	// Publishes the running file with the routes of plane_fill(). False: not now, or it failed;
	// the plane tries again.
	bool (*publish)(void *arg);
	// port: or PORT_NONE. why: for the log, or NULL.
	void (*event)(void *arg, enum event_type type, port_no_t port, uint64_t n, const char *why);
};

struct plane_conf {
	struct weir_switch *sw; // its policy runs
	const char *netns; // NULL: the namespace of the process
	const struct plane_ops *ops;
	void *arg;
};

// Makes the taps and reads the kernel's state. 0, or -errno with a sentence in err.
must_check int plane_create(const struct plane_conf *conf, uint64_t now_ns, struct plane **out,
			    char *err, size_t err_len);
void plane_destroy(struct plane *p); // NULL is fine

// Gives a policy on its way the kernel's routes in place of its own. False: out of memory.
bool plane_fill(struct plane *p, struct policy *policy); // NULL is fine
// The switch has another policy.
void plane_new_policy(struct plane *p, uint64_t now_ns); // NULL is fine
// Once a control loop, each millisecond.
void plane_poll(struct plane *p, uint64_t now_ns); // NULL is fine
// Gives a frame to the tap of its port: LLDP that the switch leaves to the kernel's side.
void plane_give(struct plane *p, const struct control_frame *x); // NULL is fine
// Readable when plane_poll() has something to do; -1: p is NULL.
int plane_fd(const struct plane *p);

// ---- for show
// As they are now; they live as long as the plane.
const struct linux_numbers *plane_numbers(void *plane);
struct json_object *plane_routes(const struct plane *p, int port);
struct json_object *plane_neighbours(const struct plane *p, int port, uint64_t now_ns);
