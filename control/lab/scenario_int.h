// SPDX-License-Identifier: Apache-2.0
// A scenario while it is read: what the rows fill, and the struct scenario that grows from it.
// Private to scenario*.c; everything here lives in the scenario's arena.
#pragma once

#include "control/base/schema.h"
#include "control/lab/nic_keys.h"
#include "control/lab/scenario.h"

enum { SC_NAME_LEN = 12, SC_DEFAULT_CABLE_CM = 500 };
#define SC_DEFAULT_CABLE                                                                           \
	{                                                                                          \
		.cable_cm = SC_DEFAULT_CABLE_CM, .delay_ns = -1                                    \
	}
enum { SC_MAX_CABLE_CM = 200000000, SC_MAX_DELAY_NS = 10000000 };
enum { SC_MAX_TEXT = 63, SC_MAX_PATH = 255, SC_MAX_ITEMS = 4096 }; // of values; of lists
enum { SC_MAX_ENTRIES = 8192 }; // of the maps `switches` and `hosts`
enum { FORWARD_AUTO, FORWARD_BRIDGE, FORWARD_ROUTE, FORWARD_TUNNEL }; // words of `forwarding`

// ---- what the rows fill
struct sc_switch_keys {
	struct cfg_map map;
	struct cfg_val ports, policy, ecmp_seed;
	const struct node *override;
	struct cfg_list routes;
};

struct sc_route_keys {
	struct cfg_map map;
	struct cfg_val to;
	struct cfg_words via;
};

struct sc_lldp_keys {
	struct cfg_map map;
	struct cfg_val on; // a scalar in place of the map
	struct cfg_val willing, roce;
	struct cfg_set pfc;
};

struct sc_inof_keys {
	struct cfg_map map;
	struct cfg_val role; // a scalar in place of the map
	struct cfg_val notices, nqn, delay, keep_alive, interval;
};

struct sc_host_keys {
	struct cfg_map map;
	struct cfg_val vlan, ip6;
	struct nic_keys nic;
	struct sc_lldp_keys lldp;
	struct sc_inof_keys inof;
};

struct sc_cable_keys {
	struct cfg_val speed, length, delay, profile;
};

struct sc_link_keys {
	struct cfg_map map;
	struct cfg_words between;
	struct sc_cable_keys cable;
};

// One struct for all kinds of topology; each kind has rows for what it uses.
struct sc_shape {
	struct cfg_map map;
	struct cfg_val hosts, switches, leaves, spines, pods, tors, hosts_each;
	struct sc_cable_keys host, fabric, spine;
};

enum sc_topology { TOPOLOGY_STAR, TOPOLOGY_LEAF_SPINE, TOPOLOGY_CLOS, TOPOLOGY_RING, N_TOPOLOGIES };

struct sc_topology_keys {
	struct cfg_map map;
	struct sc_shape shape[N_TOPOLOGIES];
};

struct sc_record_keys {
	struct cfg_map map;
	struct cfg_val every, bin, snaplen, capture_class, capture_size;
	struct cfg_words what, histogram, capture;
};

struct sc_inof_peers_keys {
	struct cfg_map map;
	struct cfg_val peers, detect; // peers: CFG_WORD_VALUE: off
};

struct sc_impair_keys { // of a fault
	struct cfg_val match, action, way, count, seed;
};

struct sc_keys {
	struct cfg_map map;
	struct cfg_val name, title, description, duration, until, at_most, seed, sample, stuck;
	struct cfg_val policy, forwarding, neighbours, withdraw, connect;
	struct cfg_val frames;
	struct sc_inof_peers_keys inof;
	struct sc_topology_keys topology;
	const struct node *switches, *hosts, *override, *params;
	struct cfg_list links, flows, faults;
	struct sc_record_keys record;
	struct cfg_words expect, about, without;
};

extern const struct cfg_schema sc_root_schema; // scenario.c
extern const struct cfg_schema sc_switch_schema, sc_host_schema;
extern const struct cfg_schema sc_fault_schema; // scenario_faults.c
extern const struct cfg_schema sc_topology_schema, sc_route_schema; // scenario_build.c

// ---- the scenario that grows
struct sc_builder {
	struct scenario *sc;
	struct cfg_reader r;
	struct sc_keys k;
	struct sc_switch_keys *switch_keys;
	struct sc_host_keys *host_keys;
	const char *folder; // of the file, with its slash
	bool sound; // switches and links are as the file says
	bool unlinked; // some host has no link
	bool too_many; // of the switches or hosts that are being defined: reported
};

// A path of the file as seen from here.
const char *sc_relative(struct sc_builder *b, const char *path);
// Of a policy: `roce` is conf/roce.yaml where no file has this name.
const char *sc_policy_path(struct sc_builder *b, const char *name);

// The routes of a list of sc_route_keys, for a switch. Returns how many.
uint32_t sc_read_routes(struct sc_builder *b, uint32_t sw, const struct cfg_list *list,
			const struct sc_route **out);

// "h1" or "s1.p2". False: reported.
bool sc_parse_end(struct sc_builder *b, const struct sc_text *v, struct sc_end *out);
// The nearest name as "did you mean X?", or those there are.
const char *sc_known_switches(const struct scenario *sc, struct arena *a, const char *text);

// scenario_faults.c: the faults, when hosts, links and flows are known.
void sc_build_faults(struct sc_builder *b);

// impair.c: the rule of a fault, with known times.
void sc_build_impair(struct sc_builder *b, const struct sc_impair_keys *k, struct sc_fault *f);

// scenario_build.c: switches, hosts and links with their settings, first those of the topology.
void sc_build_nodes(struct sc_builder *b);
void sc_build_routes(struct sc_builder *b); // those that switches are given
