// SPDX-License-Identifier: Apache-2.0
// YAML policy files: loads, checks and compiles them. Opens no device and needs no EAL.
//
//   config_load -> struct config (the keys of the file, in human units, with positions)
//   config_compile + facts of the opened ports -> struct policy (cells, fixed point)
//
// Every mistake is reported in one pass as `file:line:column: key.path: what is wrong`.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/base/diag.h"
#include "dataplane/base/compiler.h"

struct config;
struct policy;
struct port_facts;

// Reads a file. 0, or -EINVAL with messages in *d, also if the file cannot be read. *out keeps its
// value on failure.
must_check int config_load(const char *path, struct config **out, struct diags *d);
// The same. *text is the text of the file, which the caller frees; NULL: not needed.
must_check int config_load_text(const char *path, struct config **out, char **text,
				struct diags *d);
// Checks what the DPDK of this build limits: the number of pci: and vdev: ports. The lab needs no
// DPDK ports.
// 0, or -EINVAL with messages.
must_check int config_check_live(const struct config *c, struct diags *d);
must_check int config_parse(const char *name, const char *text, size_t len, struct config **out,
			    struct diags *d);
void config_destroy(struct config *c); // NULL is fine

// A policy file with maps laid over it and with other ports: the lab runs the policy of a live
// switch.
struct node;
struct config_overlay {
	// Laid over the file's tree in this order. A mistake in a map is reported at its place in
	// `file`, which has the maps.
	const struct node *const *maps;
	unsigned n_maps;
	const char *file;
	// Ports p1, p2, ... replace the file's ports, `fdb`, `routes` and `neighbours`. A port has
	// the settings of the file's port of that name, or of its last port, but this speed and
	// cable, and no address.
	const char *switch_name;
	uint32_t ecmp_seed;
	const struct config_overlay_port {
		uint64_t speed_bps, cable_cm;
		const struct node *profile; // with its key; NULL: the file's
	} * ports;
	unsigned n_ports;
};
// Lays the map `over` over the map `base`: maps merge, other values replace, `~` removes the key.
// The arena holds the copies. `file` is the place of a node without a file.
struct arena;
void overlay_merge(struct arena *a, struct node *base, const struct node *over, const char *file);
must_check int config_load_overlay(const char *path, const struct config_overlay *o,
				   struct config **out, struct diags *d);

// iNOF of the policy; the zones belong to c. False: it is off.
struct inof_conf;
struct inof_zone;
bool config_inof(const struct config *c, struct inof_conf *out, const struct inof_zone **zones,
		 unsigned *n_zones);
int config_port_named(const struct config *c, const char *name); // its index, or -1

unsigned config_n_ports(const struct config *c);
const char *config_name(const struct config *c); // switch.name
// Whether the kernel is the control plane of routed ports (control/linux). *netns: the namespace of
// the taps, NULL: that of the process.
bool config_control_by_linux(const struct config *c, const char **netns);
unsigned config_n_workers(const struct config *c);
bool config_busy_poll(const struct config *c);
uint32_t config_time_scale(const struct config *c); // of the live clock (control/base/model_time.h)

// facts: one for each port, or NULL for a plan without devices: no skid, and each port needs a
// speed in the file. Fails with messages in *d if these ports cannot keep the policy (headroom
// beyond the buffer, MTU beyond the device). The caller frees *out with policy_destroy.
must_check int config_compile(const struct config *c, const struct port_facts *facts,
			      struct policy **out, struct diags *d);
void policy_destroy(struct policy *p);

// Appends warnings about a policy that compiles but has no good effect: a lossless class without
// PAUSE, a profile without a port, a shared pool of a few microseconds. The lab does not call it: a
// scenario may want such a policy. facts: as in config_compile, which made *p. n_processors: of the
// machine that runs the policy.
void advice_add(const struct config *c, const struct port_facts *facts, const struct policy *p,
		unsigned n_processors, struct diags *d);
unsigned advice_processors(void); // that this process may use

// For many switches in one process, before the first switch is created. Without `switch.flows.max`
// in the file, the flow table is small if the file has keys of flows, pairs or IPCC. Else there is
// no table.
enum { CONFIG_FEW_FLOWS = 4096 };
void config_small_flows(const struct config *c, struct policy *p);
// Bytes of the flow table and of IPCC. IPCC counts for each queue that has it, and for one queue of
// each port at least, because a reload can turn it on.
uint64_t config_flow_bytes(const struct policy *p);

// A line about lossless classes that are not flooded, in `out` (FLOOD_NOTE_LEN); NULL: no such
// class.
enum { FLOOD_NOTE_LEN = 160 };
const char *config_flood_note(const struct policy *p, char *out, size_t out_len);
// Likewise, for an `out` of SPEED_NOTE_LEN: interfaces that are not on this machine.
const char *config_missing_note(const struct config *c, char *out, size_t out_len);
// The same about ports of 10 Gb/s and more on interfaces without a card (veth, tap) of
// this machine.
enum { SPEED_NOTE_LEN = 400 };
const char *config_speed_note(const struct config *c, const struct policy *p, char *out,
			      size_t out_len);

// 0, or -EINVAL with a message in *d for each key that `next` changes and only a restart can
// change.
must_check int config_check_reload(const struct config *running, const struct config *next,
				   struct diags *d);

// The keys that differ, by path. A key that only one of the files gives differs, also if it has its
// default. The caller zeroes the list.
struct config_change {
	char *key, *old, *new; // the values as the file could have them
};
struct config_changes {
	struct config_change *rows;
	unsigned n;
};
void config_changes(const struct config *running, const struct config *next,
		    struct config_changes *out);
void config_changes_fini(struct config_changes *c);

// ---- memory that a live switch requests from DPDK, as `weirctl check` and `plan` print it
struct memory_plan {
	uint32_t n_frames; // mbufs of the pool: one for each cell, and those in rings
	uint32_t frame_bytes; // of one mbuf with its buffer
	uint32_t max_frame; // the longest frame of any port
	uint64_t pool_bytes;
	uint64_t record_bytes; // records of each frame in queues and hand-off rings
	uint64_t table_bytes; // forwarding table, rings, counters
	uint64_t flow_bytes; // flow table and IPCC
	uint64_t total_bytes; // all of these: `weir` requests it from DPDK
	uint64_t huge_bytes; // and the memory of DPDK itself: hugepages that must be free
	uint64_t normal_bytes; // in place of them on ordinary pages, at most
	uint64_t apart_bytes; // ordinary pages beside either, of ports with live_conf.apart
};

// Compiles before a port is open, with assumed facts. They need at least as many frames as the
// facts of the ports will. 0, -EINVAL with messages in *d, or -ENOMEM.
must_check int memory_compile(const struct config *c, struct policy **out, struct diags *d);
struct memory_plan memory_plan(const struct config *c, const struct policy *p);
