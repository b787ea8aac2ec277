// SPDX-License-Identifier: Apache-2.0
// The policy file as structs: its keys in human units with positions, and the ports after their
// ranges are expanded. Private to control/config. The rows that fill it are in model.c. Immutable
// after config_load.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/base/arena.h"
#include "control/base/schema.h"
#include "control/config/routes.h"
#include "dataplane/forward/vtep.h"
#include "dataplane/forward/route_params.h"
#include "dataplane/qos/wred.h"
#include "drivers/xdp/keep.h"

struct cfg_workers {
	struct cfg_set cores;
	struct cfg_val count;
};

struct cfg_buffer {
	struct cfg_map map;
	struct cfg_val size, cell, headroom_pool, oversubscription, egress_lossy;
};

struct cfg_ecmp {
	struct cfg_map map;
	struct cfg_val hash, seed;
};

struct cfg_flows {
	struct cfg_map map;
	struct cfg_val on; // a scalar in place of the map
	struct cfg_val max, age;
};

struct cfg_elephants {
	struct cfg_map map;
	struct cfg_val on; // a scalar in place of the map
	struct cfg_val rate, end_rate, bytes, age, end_age, mice_packets;
};

struct cfg_microbursts {
	struct cfg_map map;
	struct cfg_val on; // a scalar in place of the map
	struct cfg_val window, from;
};

enum { TRIM_EXACT, TRIM_KEEP }; // words of trim.lengths

struct cfg_trim {
	struct cfg_map map;
	struct cfg_val size, cls, lengths;
	struct cfg_val dscp; // CFG_WORD_VALUE: from_class
	struct cfg_val queue; // CFG_WORD_VALUE: auto
	struct cfg_val share; // PERCENT(100): no limit
};

struct cfg_pairing {
	struct cfg_map map;
	struct cfg_val matches;
	struct cfg_words sources; // index of source_words
};

struct cfg_stall {
	struct cfg_map map;
	struct cfg_val pause_after, alarm_after; // CFG_WORD_VALUE: off
};

struct cfg_switch {
	struct cfg_map map;
	struct cfg_val name, mac_age, mac_move_limit, mac_move_hold, time_scale, poll, lldp;
	struct cfg_workers workers;
	struct cfg_buffer buffer;
	struct cfg_ecmp ecmp;
	struct cfg_flows flows;
	struct cfg_elephants elephants;
	struct cfg_microbursts microbursts;
	struct cfg_trim trim;
	struct cfg_pairing pairing;
	struct cfg_stall stall;
};

struct cfg_headroom {
	struct cfg_map map;
	struct cfg_val fixed; // bytes; CFG_WORD_VALUE: auto
	struct cfg_val lossless_mtu, small_frames, mac_phy, peer_response;
};

// mru and cable are keys of a port's override only, xon and xon_offset of a profile only.
struct cfg_ingress {
	struct cfg_map map;
	struct cfg_val min, alpha, static_limit, xon, xon_offset, mru, cable;
	struct cfg_headroom headroom;
};

enum { DISCARD_DROP, DISCARD_TRIM }; // words of egress.discard

struct cfg_egress {
	struct cfg_map map;
	struct cfg_val min, alpha, static_limit, discard;
};

struct cfg_curve {
	struct cfg_map map;
	struct cfg_val kmin, kmax, pmax;
};

struct cfg_wred {
	struct cfg_map map;
	struct cfg_val ecn, above_kmax, mark_at, weight, not_ect;
	struct cfg_curve curve[N_COLORS]; // green is filled by the keys of wred itself
};

struct cfg_ecn {
	struct cfg_map map;
	struct cfg_val is_auto; // a scalar in place of the map
	struct cfg_val mode, action, floor, ceiling, step, model;
};

struct cfg_ipcc {
	struct cfg_map map;
	struct cfg_val on; // a scalar in place of the map
	struct cfg_val interval, deep, few, many, drain, min_gap, spare;
	struct cfg_val cut; // CFG_WORD_VALUE: learnt
};

// What happens to mice, or to frames of elephants.
struct cfg_sized {
	struct cfg_map map;
	struct cfg_val color, cls, dscp;
};

struct cfg_schedule {
	struct cfg_map map;
	struct cfg_val strict, dwrr; // strict.given: strict
};

// The watchdog's times of one class, in place of those of the profile and of the port.
struct cfg_class_watchdog {
	struct cfg_map map;
	struct cfg_val detect, restore;
};

struct cfg_class {
	struct cfg_map map;
	struct cfg_val lossless, flood, min_rate, max_rate;
	struct cfg_schedule schedule;
	struct cfg_ingress ingress;
	struct cfg_egress egress;
	struct cfg_wred wred;
	struct cfg_ecn ecn;
	struct cfg_ipcc ipcc;
	struct cfg_sized elephants, mice;
	struct cfg_class_watchdog watchdog;
};

struct cfg_remark {
	struct cfg_map map;
	struct cfg_val pcp_is_class;
	struct cfg_lookup pcp, dscp;
};

struct cfg_pfc_warning {
	struct cfg_map map;
	struct cfg_val in, out, paused;
};

enum { PFC_MODE_ON, PFC_MODE_AUTO }; // words of pfc.mode

struct cfg_pfc {
	struct cfg_map map;
	struct cfg_val rx, tx, mode, whole_link, quanta;
	struct cfg_pfc_warning warning;
};

struct cfg_watchdog_limit {
	struct cfg_map map;
	struct cfg_val count, window, then;
};

// A port's goes over its profile's key by key: see watchdogs.c.
struct cfg_watchdog {
	struct cfg_map map;
	struct cfg_val on; // a scalar in place of the map
	struct cfg_val mode, action, detect, restore;
	struct cfg_watchdog_limit limit;
};

struct cfg_guard_rule {
	struct cfg_map map;
	struct cfg_val dscp, to_class, to_dscp;
};

// A port's goes over its profile's key by key: see guards.c.
struct cfg_guard {
	struct cfg_map map;
	struct cfg_val off; // a scalar in place of the map
	struct cfg_val group;
	struct cfg_list remap;
};

struct cfg_cnp {
	struct cfg_map map;
	struct cfg_val dscp, cls, max_rate, burst;
};

struct cfg_profile {
	struct cfg_map map;
	struct cfg_val trust;
	struct cfg_lookup dscp_to_class, pcp_to_class, dscp_to_color, class_to_queue, class_to_pg;
	struct cfg_remark remark;
	struct cfg_pfc pfc;
	struct cfg_watchdog watchdog;
	struct cfg_guard guard;
	struct cfg_cnp cnp;
	struct cfg_class classes[N_CLASSES];
};

struct cfg_port_class {
	struct cfg_map map;
	struct cfg_ingress ingress;
};

struct cfg_port_vlan {
	struct cfg_map map;
	struct cfg_val untagged; // CFG_WORD_VALUE: untagged frames are refused
	struct cfg_set tagged;
};

struct cfg_storm_control {
	struct cfg_map map;
	struct cfg_val broadcast, unknown_unicast, multicast;
};

enum { LOOP_ACTION_ALARM, LOOP_ACTION_PORT_DOWN }; // words of loop_detect.action

struct cfg_loop_detect {
	struct cfg_map map;
	struct cfg_val on; // a scalar in place of the map
	struct cfg_val action, recover;
};

struct cfg_lldp {
	struct cfg_map map;
	struct cfg_val on; // a scalar in place of the map
	struct cfg_val willing;
};

struct cfg_port {
	struct cfg_map map;
	struct cfg_val name, device, speed, mtu, cable, profile, default_class, rx_guard, tx_ring;
	struct cfg_val rx_ring, mac_limit, sticky, take_over, optional;
	struct cfg_val copp, inof;
	struct cfg_storm_control storm_control;
	struct cfg_loop_detect loop_detect;
	struct cfg_lldp lldp;
	struct cfg_port_vlan vlan;
	struct cfg_words keep, ip;
	struct cfg_watchdog watchdog;
	struct cfg_guard guard;
	struct cfg_port_class classes[N_CLASSES];
};

struct cfg_vlan {
	struct cfg_map map;
	struct cfg_val id, flood, mac, mtu;
	struct cfg_words ip;
};

struct cfg_fdb {
	struct cfg_map map;
	struct cfg_val mac, port, vlan;
};

struct cfg_multicast {
	struct cfg_map map;
	struct cfg_val mac, vlan;
	struct cfg_words ports;
};

struct cfg_route {
	struct cfg_map map;
	struct cfg_val to;
	struct cfg_words via;
};

struct cfg_neighbour {
	struct cfg_map map;
	struct cfg_val ip, mac, port;
};

struct cfg_control_plane {
	struct cfg_map map;
	struct cfg_val word; // a scalar in place of the map
	struct cfg_val type, netns;
};

struct cfg_vni {
	struct cfg_map map;
	struct cfg_val vlan;
	struct cfg_words peers;
};

struct cfg_vxlan {
	struct cfg_map map;
	struct cfg_val source, port, ecn, trust, mark_inner;
	struct cfg_val dscp; // CFG_WORD_VALUE: uniform
	struct cfg_list vnis;
};

struct cfg_inof_zone {
	struct cfg_map map;
	struct cfg_words members;
};

struct cfg_inof_host {
	struct cfg_map map;
	struct cfg_words ports;
};

struct cfg_inof {
	struct cfg_map map;
	struct cfg_val on; // a scalar in place of the map
	struct cfg_val default_zone, hard_zoning, unique_nqn;
	struct cfg_list zones, hosts;
};

struct cfg_pair {
	struct cfg_map map;
	struct cfg_val from, to, qp, sender_qp;
};

struct cfg_root {
	struct cfg_map map;
	struct cfg_switch sw;
	struct cfg_control_plane control_plane;
	struct cfg_list ports, vlans, fdb, multicast, routes, neighbours, pairs, profiles;
	struct cfg_vxlan vxlan;
	struct cfg_inof inof;
};

enum { CONTROL_PLANE_WEIR, CONTROL_PLANE_LINUX }; // words of control_plane.type

extern const struct cfg_schema cfg_root_schema;
extern const struct cfg_schema cfg_profile_schema;
// The words of keys, by value.
extern const char *const cfg_trust_words[], *const cfg_color_words[], *const cfg_watchdog_modes[];
extern const char *const cfg_watchdog_actions[], *const cfg_watchdog_thens[];

// One port after expansion.
struct config_port {
	const struct cfg_port *item; // of the file
	const struct cfg_profile *profile; // never NULL
	const char *name, *device;
	bool routed;
	const struct policy_addr *addrs;
	unsigned n_addrs;
	unsigned group; // of the guard, 1..; 0: in none
};

// A VLAN that routes, too. In the order of VLAN IDs.
struct config_svi {
	const struct cfg_vlan *item; // of the file
	const char *name; // "vlan100"
	const struct policy_addr *addrs;
	unsigned n_addrs;
};

// A layer 3 interface (dataplane/iface.h): a routed port, or an SVI.
struct config_iface {
	port_no_t no;
	const char *kind, *name; // "port " and "p1", or "" and "vlan100"
	const struct policy_addr *addrs;
	unsigned n_addrs;
	const struct cfg_words *ip; // of the file
};

// Ports that share a guard.
struct config_group {
	const char *name;
	const struct cfg_list *remap; // as the first port that has rules gives them, or NULL
	unsigned remap_port; // that port
	const struct cfg_guard_rule *rules; // those of remap that can be read
	unsigned n_rules;
	// One port of each profile: the rules need only the profile of a port.
	const struct config_port **kinds;
	unsigned n_kinds;
};

// Made by routes.c from the file, or set by a program.
struct config_routes {
	const struct config_route *items;
	unsigned n;
	bool compact;
	const struct policy_neighbour *neighbours;
	unsigned n_neighbours;
	uint64_t ecmp_seed;
	enum ecmp_by ecmp_by;
};

struct config {
	struct arena arena;
	const char *file;
	struct cfg_root root;
	const struct cfg_profile *builtin; // every class lossy DWRR 1
	struct config_port ports[POLICY_MAX_PORTS];
	unsigned n_ports;
	struct config_svi svis[POLICY_MAX_SVIS];
	unsigned n_svis;
	struct config_group groups[POLICY_MAX_PORTS];
	unsigned n_groups;
	struct config_routes routes;
	struct vtep *vtep; // NULL: no tunnels
	struct inof_zone *inof_zones;
	unsigned n_inof_zones;
	struct inof_pin *inof_pins;
	unsigned n_inof_pins;
};

enum { MAX_MTU = 9216 };
enum { FRAME_OVERHEAD = 14 + 8 }; // Ethernet header and two VLAN tags beyond the IP MTU

static inline uint32_t cfg_max_frame(const struct cfg_port *p)
{
	return (uint32_t)p->mtu.n + FRAME_OVERHEAD;
}

// Class -> queue and class -> group. Without an entry of the profile: identity.
static inline unsigned cfg_mapped(const struct cfg_lookup *l, unsigned key)
{
	return l->set >> key & 1 ? l->v[key] : key;
}

// The class of a DSCP; the built-in map is dscp / 8.
static inline unsigned cfg_dscp_class(const struct cfg_profile *p, unsigned dscp)
{
	return p->dscp_to_class.set >> dscp & 1 ? p->dscp_to_class.v[dscp] : dscp / 8;
}

// Of a key that takes a map, or on and off in its place: a map turns it on.
static inline bool cfg_is_on(const struct cfg_val *on, const struct cfg_map *map)
{
	return on->given ? on->n != 0 : map->given;
}

// A bitmap of the lossless classes.
static inline unsigned cfg_lossless(const struct cfg_profile *p)
{
	unsigned set = 0;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		set |= (unsigned)(p->classes[cls].lossless.n != 0) << cls;
	return set;
}

static inline bool cfg_has_flow_table(const struct config *c)
{
	return c->root.sw.flows.on.n != 0 && c->root.sw.flows.max.n != 0;
}

// A class whose queue sends notifications.
static inline bool cfg_ipcc_is_on(const struct cfg_class *c)
{
	return cfg_is_on(&c->ipcc.on, &c->ipcc.map);
}

static inline bool cfg_ecn_is_auto(const struct cfg_class *c)
{
	return c->ecn.is_auto.given || c->ecn.map.given;
}

// A lossy class is always flooded, a lossless class only if its key `flood` is on.
static inline bool cfg_floods(const struct cfg_class *c)
{
	return c->flood.given ? c->flood.n != 0 : !c->lossless.n;
}

// Whether a port has the profile.
bool cfg_profile_runs(const struct config *c, const struct cfg_profile *p);

// Whether the kernel is the control plane of routed ports.
static inline bool cfg_control_by_linux(const struct config *c)
{
	const struct cfg_control_plane *p = &c->root.control_plane;

	return (p->word.given ? p->word.n : p->type.n) == CONTROL_PLANE_LINUX;
}

// The switch is VLAN-aware if the file has any key of VLANs.
bool cfg_vlan_aware(const struct config *c);

static inline uint16_t cfg_untagged(const struct cfg_port *p)
{
	return p->vlan.untagged.n == CFG_WORD_VALUE ? 0 : (uint16_t)p->vlan.untagged.n;
}

// The frames that the port keeps for the host's stack, without words that cannot be kept. s:
// reports these words; NULL: no report.
struct keep cfg_keep(const struct config *c, const struct cfg_port *p, struct diag_sink *s);

// Whether the switch speaks LLDP on the port.
bool cfg_lldp(const struct config *c, const struct cfg_port *p);

// Whether hosts of the port can register with iNOF.
bool cfg_inof(const struct config *c, const struct cfg_port *p);

// "02:00:00:00:00:01" to six bytes.
bool cfg_parse_mac(const char *text, uint8_t mac[6]);

// Index of the port, or -1.
int cfg_find_port(const struct config *c, const char *name);
// The number of a port or, by its address, of a VXLAN peer in the address table; -1: there is none.
int cfg_find_place(const struct config *c, const char *name);

// The interface of this number, or of this name. False: there is none.
bool cfg_iface(const struct config *c, unsigned no, struct config_iface *out);
bool cfg_find_iface(const struct config *c, const char *name, struct config_iface *out);
// Whether the port is in the VLAN: it may also route, and is in none then.
static inline bool cfg_in_vlan(const struct cfg_port *p, unsigned vid)
{
	return cfg_untagged(p) == vid || cfg_set_has(&p->vlan.tagged, vid);
}

// VLAN of a static address; 0 in a transparent bridge and for a port that takes no untagged frame.
uint16_t cfg_fdb_vid(const struct config *c, const struct cfg_fdb *f);

// The text of a file, terminated, for the caller to free. It has at most one byte more than a file
// may have, so that the parser sees that it is too large. 0 or -errno; -ENXIO: it is no regular
// file.
must_check int config_read_file(const char *path, char **text, size_t *len);
// The same with the limit of the caller.
must_check int config_read_long_file(const char *path, size_t most, char **text, size_t *len);
const char *config_read_reason(int err); // of -errno, for people
// The same, and the reason in *d: 0 or -EINVAL.
must_check int config_read(const char *path, char **text, size_t *len, struct diags *d);
