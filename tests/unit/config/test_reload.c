// SPDX-License-Identifier: Apache-2.0
// What a new policy file changes, key by key, and which of it a running switch refuses. The table
// below must name every key of the schema: a new one has to say what a reload does with it.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/config/config.h"
#include "control/config/model.h"

static const char base[] =
	"switch:\n"
	"  name: w\n"
	"  workers: 1\n"
	"  mac_age: 300s\n"
	"  buffer: {size: 12MB, cell: 256B, headroom_pool: auto, oversubscription: 1,"
	"           egress_lossy: 100%}\n"
	"  time_scale: 3\n"
	"  stall: {pause_after: 10ms, alarm_after: 100ms}\n"
	"ports:\n"
	"  - name: \"p[1-2]\"\n"
	"    device: \"xdp:e[1-2]\"\n"
	"    speed: 1G\n"
	"    mtu: 1500\n"
	"    cable: 5m\n"
	"    profile: q\n"
	"    default_class: 0\n"
	"    rx_guard: 50%\n"
	"    take_over: off\n"
	"    tx_ring: 8KiB\n"
	"    rx_ring: 1024\n"
	"    keep: [lacp]\n"
	"    vlan: {untagged: 1, tagged: [20]}\n"
	"    classes: {3: {ingress: {min: 1KB, alpha: 1/2, headroom: auto, mru: 1000,\n"
	"                            cable: 6m}},\n"
	"              4: {ingress: {headroom: {lossless_mtu: 999, small_frames: 98%,\n"
	"                                       mac_phy: 97, peer_response: quanta}}}}\n"
	"vlans: [{id: 10, flood: on, ip: 10.0.10.1/24, mac: \"02:00:00:00:00:10\", mtu: 900}]\n"
	"fdb: [{mac: \"02:00:00:00:00:01\", port: p2, vlan: 20}]\n"
	"multicast: [{mac: \"01:00:5e:00:00:27\", vlan: 20, ports: [p2]}]\n"
	"inof: {zones: {db: {members: [10.0.0.1]}}, hosts: {10.0.0.9: peer}}\n"
	"profiles:\n"
	"  other: {trust: pcp, classes: {3: {lossless: on}, 4: {lossless: on}}}\n"
	"  q:\n"
	"    trust: dscp\n"
	"    dscp_to_class: {default: 0, 26: 3}\n"
	"    pcp_to_class: {5: 5}\n"
	"    dscp_to_color: {46: green}\n"
	"    class_to_queue: {7: 7}\n"
	"    class_to_pg: {6: 6}\n"
	"    remark: {pcp: {1: 1}, dscp: {1: 8}}\n"
	"    pfc: {rx: on, tx: on, whole_link: off, quanta: 65535}\n"
	"    classes:\n"
	"      1: {ecn: auto, schedule: strict}\n"
	"      2:\n"
	"        schedule: {dwrr: 5}\n"
	"        min_rate: 1M\n"
	"        max_rate: 900M\n"
	"        egress: {min: 2KB, alpha: 2}\n"
	"        wred: {ecn: on, kmin: 10KB, kmax: 20KB, pmax: 10%, above_kmax: all,\n"
	"               mark_at: dequeue, weight: 0, not_ect: drop,\n"
	"               yellow: {kmin: 11KB, kmax: 21KB, pmax: 11%},\n"
	"               red: {kmin: 12KB, kmax: 22KB, pmax: 12%}}\n"
	"      3:\n"
	"        lossless: on\n"
	"        ingress: {min: 3KB, alpha: 4, xon: 1KB, xon_offset: 18KB, headroom: auto}\n"
	"      4:\n"
	"        lossless: on\n"
	"        flood: off\n"
	"        ingress: {headroom: {lossless_mtu: 1499, small_frames: 99%, mac_phy: 819,\n"
	"                             peer_response: 7KB}}\n"
	"      5: {schedule: {dwrr: 9}}\n"
	"      6: {ecn: {mode: auto, action: on, floor: 6KB, ceiling: 66KB, step: 21ms,\n"
	"                model: builtin}}\n";

// Routing, which goes beside bridging but not on the same port.
static const char router[] = "switch: {ecmp: {hash: 5tuple, seed: 1}}\n"
			     "ports:\n"
			     "  - {name: r1, device: \"xdp:r1\", speed: 1G, ip: [10.0.1.1/24]}\n"
			     "  - {name: r2, device: \"xdp:r2\", speed: 1G, ip: 10.0.2.1/24}\n"
			     "routes: [{to: 10.9.0.0/16, via: 10.0.1.2}]\n"
			     "neighbours: [{ip: 10.0.2.7, mac: \"02:00:00:00:00:07\", port: r2}]\n";

static const char tunnels[] =
	"vlans: [{id: 101}, {id: 102}]\n"
	"ports:\n"
	"  - {name: v1, device: \"xdp:v1\", speed: 1G, mtu: 1500, vlan: {tagged: 101-102}}\n"
	"  - {name: v2, device: \"xdp:v2\", speed: 1G, mtu: 1600,\n"
	"     ip: [10.0.9.1/24, 10.0.9.9/32]}\n"
	"vxlan: {source: 10.0.9.1, port: 4790, ecn: copy, dscp: 47, trust: inner,\n"
	"        mark_inner: on, vnis: {7001: {vlan: 101, peers: [10.0.9.2]}}}\n";

// Watchdog and guard, of a port over those of its profile.
static const char guarded[] =
	"switch: {flows: off}\n"
	"ports:\n"
	"  - {name: g1, device: \"xdp:g1\", speed: 1G, profile: q}\n"
	"  - name: g2\n"
	"    device: \"xdp:g2\"\n"
	"    speed: 1G\n"
	"    profile: q\n"
	"    watchdog: {mode: xoff, action: alert, detect: 101ms, restore: 102ms,\n"
	"               limit: {count: 29, window: 21s, then: port_down}}\n"
	"    guard: {group: ups, remap: [{dscp: 26, to_class: 2, to_dscp: 18}]}\n"
	"profiles:\n"
	"  q:\n"
	"    pfc: {warning: {in: 900, out: 800, paused: 90%}}\n"
	"    watchdog: {action: forward, detect: 103ms, restore: 104ms,\n"
	"               limit: {count: 28, window: 22s, then: pfc_off}}\n"
	"    guard: {group: others, remap: [{dscp: 27, to_class: 1, to_dscp: 8}]}\n"
	"    classes: {3: {lossless: on, watchdog: {detect: 105ms, restore: 106ms}}}\n"
	"  r: {watchdog: off, classes: {3: {lossless: on}}}\n";

// Flow table, pairing and notifications.
static const char notifying[] =
	"switch:\n"
	"  flows: {max: 5000, age: 4s}\n"
	"  elephants: {rate: 3G, end_rate: 2G, bytes: 3MB, age: 9ms, end_age: 99ms,\n"
	"              mice_packets: 127}\n"
	"  microbursts: {window: 2ms, from: 40%}\n"
	"  trim: {size: 129, dscp: from_class, class: 4, queue: 5, lengths: keep, share: 9%}\n"
	"  pairing: {matches: 5, sources: [cm, ack]}\n"
	"ports:\n"
	"  - {name: n1, device: \"xdp:n1\", speed: 1G, profile: q}\n"
	"pairs:\n"
	"  - {from: 10.0.0.1, to: 10.0.0.2, qp: 0x12, sender_qp: 52}\n"
	"profiles:\n"
	"  q:\n"
	"    remark: {dscp: {3-4: 33}}\n"
	"    cnp: {dscp: 49, class: 7, max_rate: 700, burst: 65}\n"
	"    classes:\n"
	"      2:\n"
	"        egress: {discard: trim}\n"
	"        wred: {kmin: 31KB, kmax: 32KB, pmax: 1%}\n"
	"        ipcc: off\n"
	"        elephants: {color: red, class: 1, dscp: 9}\n"
	"        mice: {color: green, class: 5, dscp: 41}\n"
	"      3:\n"
	"        wred: {kmin: 33KB, kmax: 34KB, pmax: 1%}\n"
	"        ipcc: {interval: 6us, deep: 51%, few: 3, many: 66, cut: 52%, drain: 53us,\n"
	"               min_gap: 12us, spare: 13us}\n";

// The kernel as the control plane.
static const char kernel[] = "control_plane: {type: linux, netns: a}\n"
			     "ports:\n"
			     "  - {name: k1, device: \"xdp:i1\", speed: 1G, ip: []}\n";
static const char kernel_type[] = "control_plane: {type: linux}\n"
				  "ports:\n"
				  "  - {name: m1, device: \"xdp:i1\", speed: 1G, ip: []}\n";
static const char kernel_short[] = "control_plane: linux\n"
				   "ports:\n"
				   "  - {name: l1, device: \"xdp:i1\", speed: 1G, ip: []}\n";

#define I3 "profiles.q.classes.3.ipcc."

#define WP "ports[1].watchdog."
#define WQ "profiles.q.watchdog."
#define WC "profiles.q.classes.3.watchdog."
#define GP "ports[1].guard."
#define GQ "profiles.q.guard."

#define ADD "default_class: 0\n"
#define IN3 "ports[0].classes.3.ingress."
#define HR4 "ports[0].classes.4.ingress.headroom."
#define Q2 "profiles.q.classes.2."
#define Q3 "profiles.q.classes.3."
#define Q4 "profiles.q.classes.4.ingress.headroom."

struct change {
	const char *old, *new; // a piece of the base that is there once, and what replaces it
	const char *keys; // that differ, each with a blank in front
	const char *refused; // the only message; NULL: a reload takes it
};

static const struct change changes[] = {
	{"name: w", "name: v", " switch.name", "t:2:9: switch.name: changes only by a restart"},
	{"workers: 1", "workers: 2", " switch.workers",
	 "t:3:12: switch.workers: changes only by a restart"},
	{"workers: 1", "workers: [1]", " switch.workers",
	 "t:3:12: switch.workers: changes only by a restart"},
	{"300s\n", "300s\n  poll: busy\n", " switch.poll",
	 "t:5:9: switch.poll: changes only by a restart"},
	{"300s", "301s", " switch.mac_age", NULL},
	{"300s\n", "300s\n  mac_move_limit: 6\n", " switch.mac_move_limit", NULL},
	{"300s\n", "300s\n  mac_move_hold: 10s\n", " switch.mac_move_hold", NULL},
	{"size: 12MB", "size: 13MB", " switch.buffer.size",
	 "t:5:18: switch.buffer.size: changes only by a restart"},
	{"256B", "128B", " switch.buffer.cell",
	 "t:5:30: switch.buffer.cell: changes only by a restart"},
	{"time_scale: 3", "time_scale: 4", " switch.time_scale",
	 "t:6:15: switch.time_scale: changes only by a restart"},
	{"headroom_pool: auto", "headroom_pool: 4%", " switch.buffer.headroom_pool", NULL},
	{"headroom_pool: auto", "headroom_pool: 1MB", " switch.buffer.headroom_pool", NULL},
	{"oversubscription: 1", "oversubscription: 2", " switch.buffer.oversubscription", NULL},
	{"egress_lossy: 100%", "egress_lossy: 1000000B", " switch.buffer.egress_lossy", NULL},
	{"\"p[1-2]\"", "\"p[2-3]\"", " ports[0].name", NULL},
	{"\"xdp:e[1-2]\"", "\"xdp:f[1-2]\"", " ports[0].device",
	 "t:10:13: ports[0] (p[1-2]).device: changes only by a restart"},
	{"speed: 1G", "speed: 2G", " ports[0].speed", NULL},
	{"mtu: 1500\n", "mtu: 1400\n", " ports[0].mtu", NULL},
	{"cable: 5m", "cable: 7m", " ports[0].cable", NULL},
	{"profile: q", "profile: other", " ports[0].profile", NULL},
	{"default_class: 0", "default_class: 1", " ports[0].default_class", NULL},
	{"default_class: 0", "default_class: 0\n    mac_limit: 9", " ports[0].mac_limit", NULL},
	{"default_class: 0", "default_class: 0\n    sticky: on", " ports[0].sticky", NULL},
	{"rx_guard: 50%", "rx_guard: off", " ports[0].rx_guard", NULL},
	{"take_over: off", "take_over: on", " ports[0].take_over", NULL},
	{"take_over: off", "take_over: off\n    optional: on", " ports[0].optional", NULL},
	{ADD, ADD "    copp: 500\n", " ports[0].copp", NULL},
	{ADD, ADD "    storm_control: {broadcast: 9}\n",
	 " ports[0].storm_control.broadcast", NULL},
	{ADD, ADD "    storm_control: {unknown_unicast: 9}\n",
	 " ports[0].storm_control.unknown_unicast", NULL},
	{ADD, ADD "    storm_control: {multicast: 9}\n",
	 " ports[0].storm_control.multicast", NULL},
	{ADD, ADD "    lldp: off\n", " ports[0].lldp", NULL},
	{ADD, ADD "    lldp: {willing: on}\n", " ports[0].lldp.willing", NULL},
	{"time_scale: 3", "time_scale: 3\n  lldp: off", " switch.lldp", NULL},
	{ADD, ADD "    inof: off\n", " ports[0].inof", NULL},
	{"inof: {zones: {db: {members: [10.0.0.1]}}, hosts: {10.0.0.9: peer}}", "inof: off",
	 " inof.hosts.10.0.0.9 inof.zones.db inof", NULL},
	{"{zones:", "{default_zone: off, zones:", " inof.default_zone", NULL},
	{"{zones:", "{hard_zoning: on, zones:", " inof.hard_zoning", NULL},
	{"{zones:", "{unique_nqn: on, zones:", " inof.unique_nqn", NULL},
	{"members: [10.0.0.1]", "members: [p1]", " inof.zones.db.members", NULL},
	{"10.0.0.9: peer", "10.0.0.9: [p1, peer]", " inof.hosts.10.0.0.9.ports", NULL},
	{"10.0.0.9: peer", "10.0.0.9: peer, 10.0.0.8: peer", " inof.hosts.10.0.0.8", NULL},
	{"{db: {", "{more: {members: [p2]}, db: {", " inof.zones.more", NULL},
	{"quanta: 65535}", "quanta: 65535, mode: auto}", " profiles.q.pfc.mode", NULL},
	{ADD, ADD "    loop_detect: on\n", " ports[0].loop_detect", NULL},
	{ADD, ADD "    loop_detect: {action: port_down}\n",
	 " ports[0].loop_detect.action", NULL},
	{ADD, ADD "    loop_detect: {recover: 9s}\n",
	 " ports[0].loop_detect.recover", NULL},
	{"tx_ring: 8KiB", "tx_ring: 9KiB", " ports[0].tx_ring",
	 "t:18:14: ports[0] (p[1-2]).tx_ring: changes only by a restart"},
	{"rx_ring: 1024", "rx_ring: 2048", " ports[0].rx_ring",
	 "t:19:14: ports[0] (p[1-2]).rx_ring: changes only by a restart"},
	{"pause_after: 10ms", "pause_after: off", " switch.stall.pause_after", NULL},
	{"alarm_after: 100ms", "alarm_after: 1s", " switch.stall.alarm_after", NULL},
	{"keep: [lacp]", "keep: [lacp, arp]", " ports[0].keep", NULL},
	{"untagged: 1", "untagged: 2", " ports[0].vlan.untagged", NULL},
	{"tagged: [20]", "tagged: [20, 30]", " ports[0].vlan.tagged", NULL},
	{"untagged: 1, ", "", " ports[0].vlan.untagged", NULL}, // the same value, but not given
	{"min: 1KB", "min: 2KB", " " IN3 "min", NULL},
	{"alpha: 1/2", "static: 1MB", " " IN3 "alpha " IN3 "static", NULL},
	{"auto, mru", "5KB, mru", " " IN3 "headroom", NULL},
	{"mru: 1000", "mru: 1001", " " IN3 "mru", NULL},
	{"cable: 6m", "cable: 8m", " " IN3 "cable", NULL},
	{"lossless_mtu: 999", "lossless_mtu: 998", " " HR4 "lossless_mtu", NULL},
	{"small_frames: 98%", "small_frames: 97%", " " HR4 "small_frames", NULL},
	{"mac_phy: 97", "mac_phy: 96", " " HR4 "mac_phy", NULL},
	{"peer_response: quanta", "peer_response: 1KB", " " HR4 "peer_response", NULL},
	{"[{id: 10, flood: on", "[{id: 10, flood: off", " vlans[0].flood", NULL},
	{"[{id: 10,", "[{id: 11,", " vlans[0].id", NULL},
	{"mtu: 900}]", "mtu: 900}, {id: 12}]", " vlans", NULL},
	{"10.0.10.1/24", "[10.0.10.1/24, 10.0.11.1/24]", " vlans[0].ip", NULL},
	{"00:10\"", "00:11\"", " vlans[0].mac", NULL},
	{"mtu: 900", "mtu: 901", " vlans[0].mtu", NULL},
	{"00:01\"", "00:02\"", " fdb[0].mac", NULL},
	{"port: p2,", "port: p1,", " fdb[0].port", NULL},
	{"vlan: 20}", "vlan: 1}", " fdb[0].vlan", NULL},
	{"fdb: [{mac: \"02:00:00:00:00:01\", port: p2, vlan: 20}]", "", " fdb", NULL},
	{"00:27\"", "00:28\"", " multicast[0].mac", NULL},
	{"ports: [p2]}", "ports: [p1, p2]}", " multicast[0].ports", NULL},
	{"vlan: 20, ports", "vlan: 1, ports", " multicast[0].vlan", NULL},
	{"other:", "another:", " profiles.another profiles.other", NULL},
	{"trust: dscp", "trust: port", " profiles.q.trust", NULL},
	{"26: 3}", "26: 3, 27: 3}", " profiles.q.dscp_to_class", NULL},
	{"{5: 5}", "{5: 6}", " profiles.q.pcp_to_class", NULL},
	{"46: green", "46: red", " profiles.q.dscp_to_color", NULL},
	{"{7: 7}", "{7: 6}", " profiles.q.class_to_queue", NULL},
	{"{6: 6}", "{6: 7}", " profiles.q.class_to_pg", NULL},
	{"pcp: {1: 1}", "pcp: class", " profiles.q.remark.pcp", NULL},
	{"dscp: {1: 8}", "dscp: {1: 9}", " profiles.q.remark.dscp", NULL},
	{"rx: on", "rx: off", " profiles.q.pfc.rx", NULL},
	{"tx: on", "tx: off", " profiles.q.pfc.tx", NULL},
	{"quanta: 65535", "quanta: 65534", " profiles.q.pfc.quanta", NULL},
	{"whole_link: off", "whole_link: on", " profiles.q.pfc.whole_link", NULL},
	{"schedule: strict", "schedule: {dwrr: 6}",
	 " profiles.q.classes.1.schedule.dwrr profiles.q.classes.1.schedule", NULL},
	{"dwrr: 5", "dwrr: 6", " " Q2 "schedule.dwrr", NULL},
	{"min_rate: 1M", "min_rate: 2M", " " Q2 "min_rate", NULL},
	{"900M", "901M", " " Q2 "max_rate", NULL},
	{"min: 2KB", "min: 3KB", " " Q2 "egress.min", NULL},
	{"alpha: 2", "static: 1MB", " " Q2 "egress.alpha " Q2 "egress.static", NULL},
	{"ecn: on", "ecn: off", " " Q2 "wred.ecn", NULL},
	{"kmin: 10KB", "kmin: 9KB", " " Q2 "wred.kmin", NULL},
	{"kmax: 20KB", "kmax: 19KB", " " Q2 "wred.kmax", NULL},
	{"pmax: 10%", "pmax: 9%", " " Q2 "wred.pmax", NULL},
	{"above_kmax: all", "above_kmax: pmax", " " Q2 "wred.above_kmax", NULL},
	{"mark_at: dequeue", "mark_at: enqueue", " " Q2 "wred.mark_at", NULL},
	{"weight: 0", "weight: 1", " " Q2 "wred.weight", NULL},
	{"action: on", "action: advise", " profiles.q.classes.6.ecn.action", NULL},
	{"floor: 6KB", "floor: 7KB", " profiles.q.classes.6.ecn.floor", NULL},
	{"ceiling: 66KB", "ceiling: 67KB", " profiles.q.classes.6.ecn.ceiling", NULL},
	{"step: 21ms", "step: 22ms", " profiles.q.classes.6.ecn.step", NULL},
	{"model: builtin", "model: off", " profiles.q.classes.6.ecn.model", NULL},
	{"ecn: auto, s", "s", " profiles.q.classes.1.ecn", NULL},
	{"ecn: auto,", "ecn: {mode: auto},",
	 " profiles.q.classes.1.ecn.mode profiles.q.classes.1.ecn", NULL},
	{"not_ect: drop", "not_ect: pass", " " Q2 "wred.not_ect", NULL},
	{"kmin: 11KB", "kmin: 9KB", " " Q2 "wred.yellow.kmin", NULL},
	{"kmax: 21KB", "kmax: 19KB", " " Q2 "wred.yellow.kmax", NULL},
	{"pmax: 11%", "pmax: 9%", " " Q2 "wred.yellow.pmax", NULL},
	{"kmin: 12KB", "kmin: 9KB", " " Q2 "wred.red.kmin", NULL},
	{"kmax: 22KB", "kmax: 19KB", " " Q2 "wred.red.kmax", NULL},
	{"pmax: 12%", "pmax: 9%", " " Q2 "wred.red.pmax", NULL},
	{"5: {schedule: {dwrr: 9}}", "5: {lossless: on, schedule: {dwrr: 9}}",
	 " profiles.q.classes.5.lossless", NULL},
	{"        flood: off\n", "        flood: on\n", " profiles.q.classes.4.flood", NULL},
	{"min: 3KB", "min: 4KB", " " Q3 "ingress.min", NULL},
	{"alpha: 4", "static: 1MB", " " Q3 "ingress.alpha " Q3 "ingress.static", NULL},
	{"xon: 1KB", "xon: 2KB", " " Q3 "ingress.xon", NULL},
	{"xon_offset: 18KB", "xon_offset: 17KB", " " Q3 "ingress.xon_offset", NULL},
	{"auto}", "1%}", " " Q3 "ingress.headroom", NULL},
	{"lossless_mtu: 1499", "lossless_mtu: 1498", " " Q4 "lossless_mtu", NULL},
	{"small_frames: 99%", "small_frames: 97%", " " Q4 "small_frames", NULL},
	{"mac_phy: 819", "mac_phy: 818", " " Q4 "mac_phy", NULL},
	{"peer_response: 7KB", "peer_response: 8KB", " " Q4 "peer_response", NULL},
	{"hash: 5tuple,", "hash: 5tuple+qp,", " switch.ecmp.hash", NULL},
	{"seed: 1}", "seed: 2}", " switch.ecmp.seed", NULL},
	{"[10.0.1.1/24]", "[10.0.1.1/24, 10.0.3.1/24]", " ports[0].ip", NULL},
	{"to: 10.9.0.0/16", "to: 10.9.0.0/17", " routes[0].to", NULL},
	{"via: 10.0.1.2", "via: [10.0.1.2, 10.0.2.2]", " routes[0].via", NULL},
	{"via: 10.0.1.2}]", "via: 10.0.1.2}, {to: 10.8.0.0/16, via: r2}]", " routes", NULL},
	{"ip: 10.0.2.7", "ip: 10.0.2.8", " neighbours[0].ip", NULL},
	{"00:00:07\"", "00:00:08\"", " neighbours[0].mac", NULL},
	{"\", port: r2}", "\"}", " neighbours[0].port", NULL},
	{"type: linux}", "type: weir}", " control_plane.type",
	 "t:1:23: control_plane.type: changes only by a restart"},
	{"netns: a", "netns: b", " control_plane.netns",
	 "t:1:37: control_plane.netns: changes only by a restart"},
	{"control_plane: linux", "control_plane: weir", " control_plane",
	 "t:1:16: control_plane: changes only by a restart"},
	{"source: 10.0.9.1", "source: 10.0.9.9", " vxlan.source", NULL},
	{"port: 4790", "port: 4789", " vxlan.port", NULL},
	{"ecn: copy", "ecn: off", " vxlan.ecn", NULL},
	{"dscp: 47", "dscp: uniform", " vxlan.dscp", NULL},
	{"trust: inner", "trust: tunnel", " vxlan.trust", NULL},
	{"mark_inner: on", "mark_inner: off", " vxlan.mark_inner", NULL},
	{"vlan: 101, p", "vlan: 102, p", " vxlan.vnis.7001.vlan", NULL},
	{"peers: [10.0.9.2]", "peers: [10.0.9.3]", " vxlan.vnis.7001.peers", NULL},
	{"7001: {", "7002: {vlan: 102}, 7001: {", " vxlan.vnis.7002", NULL},
	{"name: g1,", "name: g1, watchdog: on,", " ports[0].watchdog", NULL},
	{"name: g1,", "name: g1, watchdog: off,", " ports[0].watchdog", NULL},
	{"mode: xoff", "mode: progress", " " WP "mode", NULL},
	{"action: alert", "action: drop", " " WP "action", NULL},
	{"detect: 101ms", "detect: 111ms", " " WP "detect", NULL},
	{"restore: 102ms", "restore: 112ms", " " WP "restore", NULL},
	{"count: 29", "count: 19", " " WP "limit.count", NULL},
	{"window: 21s", "window: 31s", " " WP "limit.window", NULL},
	{"then: port_down", "then: pfc_off", " " WP "limit.then", NULL},
	{"name: g1,", "name: g1, guard: off,", " ports[0].guard", NULL},
	{"group: ups", "group: downs", " " GP "group", NULL},
	{"dscp: 26, to", "dscp: 28, to", " " GP "remap[0].dscp", NULL},
	{"to_class: 2, to_dscp: 18", "to_class: 0, to_dscp: 0",
	 " " GP "remap[0].to_class " GP "remap[0].to_dscp", NULL},
	{"to_dscp: 18}", "to_dscp: 18}, {dscp: 28, to_class: 2, to_dscp: 18}", " " GP "remap",
	 NULL},
	{"in: 900", "in: 901", " profiles.q.pfc.warning.in", NULL},
	{"out: 800", "out: 0", " profiles.q.pfc.warning.out", NULL},
	{"paused: 90%", "paused: 0%", " profiles.q.pfc.warning.paused", NULL},
	{"watchdog: {action: forward,", "watchdog: {mode: xoff, action: forward,", " " WQ "mode",
	 NULL},
	{"action: forward", "action: drop", " " WQ "action", NULL},
	{"detect: 103ms", "detect: 113ms", " " WQ "detect", NULL},
	{"restore: 104ms", "restore: 114ms", " " WQ "restore", NULL},
	{"count: 28", "count: 18", " " WQ "limit.count", NULL},
	{"window: 22s", "window: 32s", " " WQ "limit.window", NULL},
	{"then: pfc_off", "then: port_down", " " WQ "limit.then", NULL},
	{"detect: 105ms", "detect: 115ms", " " WC "detect", NULL},
	{"restore: 106ms", "restore: 116ms", " " WC "restore", NULL},
	{"r: {watchdog: off,", "r: {watchdog: on,", " profiles.r.watchdog", NULL},
	{"group: others", "group: more", " " GQ "group", NULL},
	{"dscp: 27, to", "dscp: 29, to", " " GQ "remap[0].dscp", NULL},
	{"to_class: 1, to_dscp: 8", "to_class: 0, to_dscp: 0",
	 " " GQ "remap[0].to_class " GQ "remap[0].to_dscp", NULL},
	{"max: 5000", "max: 5001", " switch.flows.max",
	 "t:2:16: switch.flows.max: changes only by a restart"},
	{"max: 5000, ", "", " switch.flows.max",
	 "t:2:10: switch.flows.max: changes only by a restart"},
	{"{flows: off}", "{flows: on}", " switch.flows",
	 "t:1:17: switch.flows: changes only by a restart"},
	{"{flows: off}", "{flows: {}}", " switch.flows",
	 "t:1:17: switch.flows: changes only by a restart"},
	{"{flows: off}", "{}", " switch.flows",
	 "t:1:9: switch.flows: changes only by a restart"},
	{"age: 4s", "age: 5s", " switch.flows.age", NULL},
	{"{rate: 3G", "{rate: 4G", " switch.elephants.rate", NULL},
	{"end_rate: 2G", "end_rate: 1G", " switch.elephants.end_rate", NULL},
	{"bytes: 3MB", "bytes: 2MB", " switch.elephants.bytes", NULL},
	{" age: 9ms", " age: 8ms", " switch.elephants.age", NULL},
	{"end_age: 99ms", "end_age: 98ms", " switch.elephants.end_age", NULL},
	{"mice_packets: 127", "mice_packets: 126", " switch.elephants.mice_packets", NULL},
	{"switch: {flows: off}", "switch: {flows: off, elephants: off}", " switch.elephants", NULL},
	{"window: 2ms, f", "window: 3ms, f", " switch.microbursts.window", NULL},
	{"from: 40%", "from: 41%", " switch.microbursts.from", NULL},
	{"switch: {flows: off}", "switch: {flows: off, microbursts: off}", " switch.microbursts",
	 NULL},
	{"size: 129", "size: 130", " switch.trim.size", NULL},
	{"dscp: from_class", "dscp: 9", " switch.trim.dscp", NULL},
	{"class: 4, q", "class: 3, q", " switch.trim.class", NULL},
	{"queue: 5, l", "queue: auto, l", " switch.trim.queue", NULL},
	{"lengths: keep", "lengths: exact", " switch.trim.lengths", NULL},
	{"share: 9%", "share: 8%", " switch.trim.share", NULL},
	{"discard: trim", "discard: drop", " " Q2 "egress.discard", NULL},
	{"color: red, c", "color: yellow, c", " " Q2 "elephants.color", NULL},
	{"class: 1, dscp: 9", "class: 0, dscp: 9", " " Q2 "elephants.class", NULL},
	{"dscp: 9}", "dscp: 10}", " " Q2 "elephants.dscp", NULL},
	{"color: green, c", "color: red, c", " " Q2 "mice.color", NULL},
	{"class: 5, dscp: 41", "class: 4, dscp: 41", " " Q2 "mice.class", NULL},
	{"dscp: 41", "dscp: 42", " " Q2 "mice.dscp", NULL},
	{"matches: 5", "matches: 6", " switch.pairing.matches", NULL},
	{"[cm, ack]", "[cm, cnp]", " switch.pairing.sources", NULL},
	{"[cm, ack]", "[ack, cm, read]", " switch.pairing.sources", NULL},
	{"from: 10.0.0.1", "from: 10.0.0.3", " pairs[0].from", NULL},
	{"to: 10.0.0.2", "to: 10.0.0.4", " pairs[0].to", NULL},
	{"qp: 0x12", "qp: 0x13", " pairs[0].qp", NULL},
	{"qp: 0x12", "qp: 18", "", NULL},
	{"sender_qp: 52", "sender_qp: 53", " pairs[0].sender_qp", NULL},
	{"sender_qp: 52}",
	 "sender_qp: 52}\n  - {from: 10.0.0.1, to: 10.0.0.2, qp: 2, sender_qp: 2}", " pairs",
	 NULL},
	{"dscp: 49", "dscp: 50", " profiles.q.cnp.dscp", NULL},
	{"class: 7, max", "class: 5, max", " profiles.q.cnp.class", NULL},
	{"max_rate: 700", "max_rate: 701", " profiles.q.cnp.max_rate", NULL},
	{"burst: 65", "burst: 66", " profiles.q.cnp.burst", NULL},
	{"ipcc: off", "ipcc: on", " profiles.q.classes.2.ipcc", NULL},
	{"interval: 6us", "interval: 7us", " " I3 "interval", NULL},
	{"deep: 51%", "deep: 52%", " " I3 "deep", NULL},
	{"few: 3", "few: 4", " " I3 "few", NULL},
	{"many: 66", "many: 67", " " I3 "many", NULL},
	{"cut: 52%", "cut: learnt", " " I3 "cut", NULL},
	{"drain: 53us", "drain: 54us", " " I3 "drain", NULL},
	{"min_gap: 12us", "min_gap: 0us", " " I3 "min_gap", NULL},
	{"spare: 13us", "spare: 14us", " " I3 "spare", NULL},
};

enum { N_CHANGES = sizeof(changes) / sizeof(changes[0]), TEXT_LEN = 8192 };

static struct config *parsed(const char *text)
{
	struct config *c = NULL;
	struct diags d = {0};
	int err = config_parse("t", text, strlen(text), &c, &d);

	for (unsigned i = 0; err != 0 && i < d.n; i++)
		print_message("%s\n", d.lines[i]);
	assert_int_equal(err, 0);
	diags_fini(&d);
	return c;
}

// The text that a change is made in.
static const char *base_of(const char *old)
{
	const char *const all[] = {base, router, tunnels, guarded, kernel, kernel_type,
				   kernel_short, notifying};

	for (unsigned i = 0; i + 1 < sizeof(all) / sizeof(all[0]); i++)
		if (strstr(all[i], old) != NULL)
			return all[i];
	return notifying;
}

static struct config *edited(const char *old, const char *new)
{
	const char *from = base_of(old), *at = strstr(from, old);
	char text[TEXT_LEN];

	if (at == NULL || strstr(at + 1, old) != NULL)
		fail_msg("\"%s\" must stand in the base once", old);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - from), from, new, at + strlen(old));
	return parsed(text);
}

static void keys_of(const struct config *a, const struct config *b, char *out, size_t len)
{
	struct config_changes c = {0};
	size_t at = 0;

	out[0] = '\0';
	config_changes(a, b, &c);
	for (unsigned i = 0; i < c.n && at < len; i++)
		at += (size_t)snprintf(out + at, len - at, " %s", c.rows[i].key);
	config_changes_fini(&c);
}

static void expect_refusal(const struct config *a, const struct config *b, const char *line)
{
	struct diags d = {0};
	int err = config_check_reload(a, b, &d);

	assert_int_equal(err, line == NULL ? 0 : -EINVAL);
	if (line != NULL)
		assert_string_equal(d.lines[0], line);
	assert_int_equal(d.n, line == NULL ? 0 : 1);
	diags_fini(&d);
}

static void every_change_is_named_and_only_restart_keys_are_refused(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_CHANGES; i++) {
		const struct change *c = &changes[i];
		struct config *running = parsed(base_of(c->old));
		struct config *next = edited(c->old, c->new);
		char keys[TEXT_LEN];

		keys_of(running, next, keys, sizeof(keys));
		assert_string_equal(keys, c->keys);
		if (strcmp(c->keys, " ports[0].name") != 0) // see below
			expect_refusal(running, next, c->refused);
		config_destroy(next);
		config_destroy(running);
	}
}

static void the_same_text_changes_nothing(void **state)
{
	struct config *a = parsed(base), *b = parsed(base);
	char keys[TEXT_LEN];

	(void)state;
	keys_of(a, b, keys, sizeof(keys));
	assert_string_equal(keys, "");
	expect_refusal(a, b, NULL);
	config_destroy(a);
	config_destroy(b);
}

// ---- is every key of the schema in the table?

// "ports[0].classes.3.x" as "ports[].classes.N.x", profiles by any name, VNIs by any number.
static void generalise(const char *key, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		bool digit = key[i] >= '0' && key[i] <= '9';

		if (digit && n > 0 && out[n - 1] == '.')
			out[n++] = 'N';
		else if (!digit || (n > 0 && out[n - 1] != '['))
			out[n++] = key[i];
	}
	out[n] = '\0';
	if (strncmp(out, "profiles.q", 10) == 0 || strncmp(out, "profiles.r", 10) == 0)
		memmove(out + 8, out + 10, strlen(out + 10) + 1);
	if (strncmp(out, "inof.zones.db.", 14) == 0)
		memmove(out + 11, out + 14, strlen(out + 14) + 1);
	if (strncmp(out, "inof.hosts.N0.N.N.N.", 20) == 0)
		memmove(out + 11, out + 20, strlen(out + 20) + 1);
	if (strncmp(out, "vxlan.vnis.N001.", 16) == 0)
		memmove(out + 11, out + 16, strlen(out + 16) + 1);
}

static bool in_table(const char *pattern)
{
	char key[256];

	for (unsigned i = 0; i < N_CHANGES; i++)
		for (const char *at = changes[i].keys; *at == ' ';) {
			size_t len = strcspn(at + 1, " ");

			generalise(at + 1, len, key);
			if (strcmp(key, pattern) == 0)
				return true;
			at += len + 1;
		}
	return false;
}

static unsigned missing_in(const struct cfg_schema *s, const char *path)
{
	static const char *const below[N_CFG_TYPES] = {
		[CFG_MAP] = "", [CFG_CLASSES] = ".N", [CFG_LIST] = "[]", [CFG_TABLE] = "."};
	unsigned missing = 0;

	for (unsigned i = 0; i < s->n; i++) {
		const struct cfg_row *row = &s->rows[i];
		const char *dot = *path == '\0' || path[strlen(path) - 1] == '.' ? "" : ".";
		char full[256], sub[260];

		snprintf(full, sizeof(full), "%.200s%s%.40s", path, dot, row->key);
		if ((row->sub == NULL || row->scalar != NULL) && !in_table(full)) {
			print_error("the table has no change of %s\n", full);
			missing++;
		}
		snprintf(sub, sizeof(sub), "%s%s", full, row->sub != NULL ? below[row->type] : "");
		if (row->sub != NULL)
			missing += missing_in(row->sub, sub);
	}
	return missing;
}

static void the_table_names_every_key_of_the_schema(void **state)
{
	(void)state;
	assert_int_equal(missing_in(&cfg_root_schema, ""), 0);
}

// ---- ports

static void ports_stay_the_same_in_the_same_order(void **state)
{
	static const struct {
		const char *name, *device, *lines[3];
	} rows[] = {
		{"\"p[2-3]\"",
		 "\"xdp:e[1-2]\"",
		 {"t:9:11: ports[0] (p[2-3]).name: p2 is port 1 here and port 2 of the"
		  " running switch: the order of ports changes only by a restart",
		  "t:9:11: ports[0] (p[2-3]).name: changes only by a restart"}},
		{"\"p[1-3]\"",
		 "\"xdp:e[1-3]\"",
		 {"t:9:3: ports: the switch has 2 ports and the file has 3: only a restart "
		  "adds or removes ports"}},
		{"\"p[1-2]\"",
		 "\"xdp:e[2-3]\"",
		 {"t:10:13: ports[0] (p[1-2]).device: changes only by a restart"}},
	};
	struct config *running = parsed(base);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *rest = strstr(base, "    speed");
		struct diags d = {0};
		struct config *next;
		char text[TEXT_LEN];
		unsigned n = 0;

		snprintf(text, sizeof(text), "%.*s  - name: %s\n    device: %s\n%s",
			 (int)(strstr(base, "  - name") - base), base, rows[i].name, rows[i].device,
			 rest);
		next = parsed(text);
		assert_int_equal(config_check_reload(running, next, &d), -EINVAL);
		for (; n < d.n && rows[i].lines[n] != NULL; n++)
			assert_string_equal(d.lines[n], rows[i].lines[n]);
		assert_int_equal(d.n, n);
		assert_null(rows[i].lines[n]);
		diags_fini(&d);
		config_destroy(next);
	}
	config_destroy(running);
}

static void ranges_and_single_entries_are_the_same_ports(void **state)
{
	struct config *a = parsed("ports: [{name: \"p[1-2]\", device: \"xdp:e[1-2]\", speed: 1G}]");
	struct config *b = parsed("ports:\n"
				  "  - {name: p1, device: \"xdp:e1\", speed: 1G}\n"
				  "  - {name: p2, device: \"xdp:e2\", speed: 2G}\n");
	char keys[TEXT_LEN];

	(void)state;
	expect_refusal(a, b, NULL);
	keys_of(a, b, keys, sizeof(keys));
	assert_string_equal(keys, " ports[0].name ports[0].device ports[1].name ports[1].device "
				  "ports[1].speed");
	config_destroy(a);
	config_destroy(b);
}

static void all_refusals_are_told_at_once_in_file_order(void **state)
{
	struct config *a = parsed(base);
	struct config *b = parsed("switch: {workers: 3, buffer: {cell: 64B}}\n"
				  "ports: [{name: p1, device: \"xdp:x\", tx_ring: 1KiB, "
				  "rx_ring: 1024}]\n");
	static const char *const want[] = {
		"t:1:9: switch.name: changes only by a restart",
		"t:1:9: switch.time_scale: changes only by a restart",
		"t:1:19: switch.workers: changes only by a restart",
		"t:1:37: switch.buffer.cell: changes only by a restart",
		("t:2:8: ports: the switch has 2 ports and the file has 1: only a restart "
		 "adds or removes ports"),
		"t:2:28: ports[0] (p1).device: changes only by a restart",
		"t:2:46: ports[0] (p1).tx_ring: changes only by a restart",
	};
	struct diags d = {0};

	(void)state;
	assert_int_equal(config_check_reload(a, b, &d), -EINVAL);
	for (unsigned i = 0; i < d.n && i < sizeof(want) / sizeof(want[0]); i++)
		assert_string_equal(d.lines[i], want[i]);
	assert_int_equal(d.n, sizeof(want) / sizeof(want[0]));
	diags_fini(&d);
	config_destroy(a);
	config_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_change_is_named_and_only_restart_keys_are_refused),
		cmocka_unit_test(the_same_text_changes_nothing),
		cmocka_unit_test(the_table_names_every_key_of_the_schema),
		cmocka_unit_test(ports_stay_the_same_in_the_same_order),
		cmocka_unit_test(ranges_and_single_entries_are_the_same_ports),
		cmocka_unit_test(all_refusals_are_told_at_once_in_file_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
