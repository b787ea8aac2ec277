// SPDX-License-Identifier: Apache-2.0
// What a worker reports to the control thread: fixed-size records over an SPSC ring. The worker
// formats nothing; control turns a record into a log line. A full ring counts `events_lost`.
#pragma once

#include <stdint.h>

#include "dataplane/base/port_no.h"

#define EVENT_TYPES(X)                                                                             \
	X(XOFF, "pfc-xoff", "a priority group entered XOFF and PAUSE was due")                     \
	X(XON, "pfc-xon", "a priority group left XOFF")                                            \
	X(LOSSLESS_DROP, "lossless-drop", "a frame of a lossless class was dropped")               \
	X(STORM, "pfc-storm", "the watchdog found a PFC storm; the class is in recovery")          \
	X(STORM_OVER, "pfc-storm-over",                                                            \
	  "the storm is over; pfc says whether the class obeys PFC now")                           \
	X(STORM_LIMIT, "pfc-storm-limit",                                                          \
	  "too many storms: PFC of the class is off, or the port is down, until an operator "      \
	  "recovers it")                                                                           \
	X(STORM_RECOVERED, "pfc-recovered", "an operator ended a storm or an escalation")          \
	X(DROP_ALL, "watchdog-drop-all", "an operator turned drop-all on or off")                  \
	X(PFC_RATE_UP, "pfc-rate-high", "PFC frames per second rose above the warning threshold")  \
	X(PFC_RATE_DOWN, "pfc-rate-normal",                                                        \
	  "PFC frames per second fell below the warning threshold again")                          \
	X(PFC_PAUSED, "pfc-paused-long",                                                           \
	  "the peer paused a class for nearly the whole last second, in one pause or in many")     \
	X(PFC_PAUSED_OVER, "pfc-paused-normal",                                                    \
	  "the peer no longer pauses the class for nearly the whole second")                       \
	X(PAUSE_IGNORED, "pfc-ignored",                                                            \
	  "the switch has paused a class for a second, and the peer went on sending frames of "    \
	  "it: let the peer obey PFC, or put this traffic into a lossy class (at most one in ten " \
	  "seconds)")                                                                              \
	X(PAIR_DROPPED, "pair-dropped",                                                            \
	  "a frame contradicts a flow's pair: the switch drops the pair and learns again (at "     \
	  "most one a second)")                                                                    \
	X(FLOWS_FULL, "flows-full",                                                                \
	  "the flow table has no room for a flow; the switch forwards it, but does not "           \
	  "follow it (at most one a second)")                                                      \
	X(ELEPHANTS, "elephants",                                                                  \
	  "flows became elephants; port and class are those of the latest one: `weirctl show "     \
	  "flows --elephants` (at most one a second)")                                             \
	X(ELEPHANTS_OVER, "elephants-over",                                                        \
	  "elephants slowed down, paused or left the table (at most one a second)")                \
	X(CNP_CAP, "cnp-cap",                                                                      \
	  "a port has reached its limit of CNPs; the switch left CNPs out (at most one a second)") \
	X(LINK_UP, "link-up", "the port's link came up")                                           \
	X(LINK_DOWN, "link-down", "the port's link went down; its queues were flushed")            \
	X(WORKER_STALLED, "worker-stalled",                                                        \
	  "a worker stands still: its ports neither receive nor send")                             \
	X(WORKER_RECOVERED, "worker-recovered", "a worker that stood still loops again")           \
	X(STANDIN_PAUSED, "stand-in-paused",                                                       \
	  "the stand-in paused the peers of a worker's ports while the worker stood still")        \
	X(STANDIN_GAVE_UP, "stand-in-gave-up",                                                     \
	  "a worker has stood still for 10 s: the stand-in stops pausing its peers")               \
	X(STANDIN_ENDED, "stand-in-ended",                                                         \
	  "the stand-in has ended: no PAUSE while a worker stands still, until a restart")         \
	X(RX_MISSED, "rx-missed", "the receive ring of a port with lossless classes overflowed")   \
	X(RX_GUARD, "rx-guard",                                                                    \
	  "the receive ring of a port was fuller than rx_guard, and the switch paused the peer: "  \
	  "see the gaps of `show workers` (at most one a second and port)")                        \
	X(MAC_LEARNED, "mac-learned", "an address was learned")                                    \
	X(MAC_MOVED, "mac-moved", "an address moved to another port")                              \
	X(MAC_AGED, "mac-aged",                                                                    \
	  "the switch dropped an address from its table: no frame came from it")                   \
	X(LOSSLESS_UNKNOWN, "lossless-unknown",                                                    \
	  "a frame went to an unknown address or to a group, in a lossless class that is not "     \
	  "flooded: enter the address into fdb (a group into multicast), let the station send "    \
	  "first, or set flood: on (at most one a second and port)")                               \
	X(LOSSLESS_UNREACHABLE, "lossless-unreachable",                                            \
	  "lossless frames have gone to one unknown address for a second, and the station does "   \
	  "not answer probes: enter the address into fdb, let the station send, or set flood: on") \
	X(MAC_EVICTED, "mac-evicted",                                                              \
	  "a new address replaced an old one: the port has more addresses than its share or its "  \
	  "mac_limit (at most one a second)")                                                      \
	X(MAC_FLAPPING, "mac-flapping",                                                            \
	  "an address moved too often and is pinned to its older port; if another station uses "   \
	  "it, set `sticky: true` for the port or add a static `fdb` entry (at most one a "        \
	  "second)")                                                                               \
	X(MAC_STICKY, "mac-sticky",                                                                \
	  "frames with an address of a sticky port arrived by another port and were dropped (at "  \
	  "most one a second)")                                                                    \
	X(FDB_FULL, "fdb-full",                                                                    \
	  "the table of addresses is full: a new address replaces the oldest address of the "      \
	  "port that is furthest above its share")                                                 \
	X(FDB_ROOM, "fdb-room", "the table of addresses has room again")                           \
	X(NEIGHBOUR_MAC, "neighbour-mac-changed",                                                  \
	  "a next hop has another MAC address; if the station did not change it, add a static "    \
	  "entry in `neighbours` (at most one a second and port)")                                 \
	X(PORT_GONE, "interface-gone",                                                             \
	  "the port's interface does not exist any more; the port uses it again when it exists "   \
	  "again")                                                                                 \
	X(PORT_BACK, "interface-back", "the port's interface exists again, and the port uses it")  \
	X(PORT_REFUSED, "interface-refused",                                                       \
	  "the port's interface exists again, but the port cannot use it: the log says why, and "  \
	  "weir tries again twice a second")                                                       \
	X(COPP, "copp-limit",                                                                      \
	  "the port receives more frames for control than its copp rate; the switch drops the "    \
	  "excess (`weirctl show control` has the reasons)")                                       \
	X(COPP_OVER, "copp-normal", "the port has kept its copp rate for five seconds")            \
	X(STORM_CONTROL, "storm-control",                                                          \
	  "the port exceeds its storm_control rate or the fixed rate of BPDUs; the switch drops "  \
	  "the excess")                                                                            \
	X(STORM_CONTROL_OVER, "storm-control-over",                                                \
	  "the port has kept its storm_control rate for five seconds")                             \
	X(ROCE_LOSSY, "roce-in-lossy-class",                                                       \
	  "RoCEv2 data arrives in a lossy class: map its DSCP to a lossless class "                \
	  "(`dscp_to_class`), or let the senders use a DSCP of a lossless class")                  \
	X(ROCE_LOSSY_OVER, "roce-in-lossy-class-over",                                             \
	  "no RoCEv2 data has arrived in a lossy class for five seconds")                          \
	X(LOOP, "loop-detected",                                                                   \
	  "a loop probe of one port came back on another port or on the same port")                \
	X(LOOP_OVER, "loop-over", "no loop probe has come back for five seconds")                  \
	X(LOOP_RECOVERED, "loop-recovered",                                                        \
	  "the port is up again: it received no loop probe for its `recover` time")                \
	X(NEXT_HOP_LOST, "next-hop-lost",                                                          \
	  "a route's next hop does not answer; frames for it are dropped")                         \
	X(NEXT_HOP_BACK, "next-hop-back", "a route's next hop answers again")                      \
	X(LINUX_RESYNC, "linux-resync",                                                            \
	  "the kernel dropped messages about its routes; the switch reads all of them again")      \
	X(LINUX_ROUTES_REFUSED, "linux-routes-refused",                                            \
	  "the kernel has more routes than the switch's table; the switch does not use the "       \
	  "excess")                                                                                \
	X(LINUX_TAP_LOST, "linux-tap-lost",                                                        \
	  "somebody removed the tap of a port, or moved it; the switch makes it again")            \
	X(LINUX_TAP_REFUSED, "linux-tap-refused",                                                  \
	  "the kernel refuses the tap of a port or its address: the log says why; the switch "     \
	  "tries a tap again each second")                                                         \
	X(LLDP_NEW, "lldp-neighbour", "the port has a new LLDP neighbour")                         \
	X(LLDP_GONE, "lldp-neighbour-gone",                                                        \
	  "an LLDP neighbour is gone: it said so, its time ran out, or the link went down")        \
	X(DCBX_MISMATCH, "dcbx-mismatch",                                                          \
	  "the host and the switch differ in PFC or in the class of RoCEv2: `weirctl show dcbx` "  \
	  "has the cure (at most one in ten seconds and port)")                                    \
	X(DCBX_AGREED, "dcbx-agreed", "the host and the switch have the same PFC settings")        \
	X(DCBX_PFC, "dcbx-pfc",                                                                    \
	  "the host's settings have changed the classes with PFC on the port; `because` names "    \
	  "the key that lets them")                                                                \
	X(INOF_HOST, "inof-host", "an NVMe-oF host is there, and the hosts of its zones are told") \
	X(INOF_HOST_GONE, "inof-host-gone",                                                        \
	  "an NVMe-oF host is gone, for a reason that the hosts of its zones are told")            \
	X(INOF_REFUSED, "inof-refused",                                                            \
	  "the switch refused the registration of an NVMe-oF host: `weirctl show inof hosts` has " \
	  "the host that holds the address (at most one in ten seconds and port)")                 \
	X(INOF_ELSEWHERE, "inof-elsewhere",                                                        \
	  "frames from or to a host of another port than the one at which an NVMe-oF host "        \
	  "registered the address: hard zoning does not judge them; pin the address with "         \
	  "inof.hosts (at most one a second and port)")                                            \
	X(INOF_SILENT, "inof-silent",                                                              \
	  "an NVMe-oF host answers no notice: `weirctl show inof log` has the notices; look "      \
	  "whether its agent runs")                                                                \
	X(INOF_REFLECTOR, "inof-reflector", "weir-inof has a session with a route reflector")      \
	X(INOF_REFLECTOR_GONE, "inof-reflector-gone",                                              \
	  "weir-inof has no session with a route reflector; hosts of other switches stay as they " \
	  "are: look at `weirctl show inof peers`, and whether weir-inof and bgpd run")            \
	X(ECN_AUTO, "ecn-auto",                                                                    \
	  "auto ECN changed the thresholds of a queue, or the way in which it chooses them")       \
	X(IMPAIR, "impair", "a rule of `weirctl impair` begins to impair frames of a port")        \
	X(IMPAIR_OVER, "impair-over", "a rule of `weirctl impair` has ended")                      \
	X(TX_SET, "tx-set", "an operator changed TX-enable of a port or queue")                    \
	X(RELOADED, "reload", "all workers use a new policy")                                      \
	X(RELOAD_FAILED, "reload-failed", "a new policy was refused; nothing has changed")         \
	X(ROLLBACK, "rollback",                                                                    \
	  "the switch uses the policy before again: by `rollback`, or because no `confirm` came")

enum event_type {
#define X(id, name, help) EVENT_##id,
	EVENT_TYPES(X)
#undef X
		N_EVENT_TYPES,
};

struct event {
	uint64_t t_ns; // switch time
	uint8_t type; // enum event_type
	uint8_t cls; // class or PG, CLASS_NONE where none applies
	port_no_t port; // index in the policy
	// XOFF, XON: shared cells; LOSSLESS_DROP: enum drop_reason; STORM, STORM_LIMIT: action or
	// `then` (qos/watchdog.h); STORM_OVER: 1 if the class obeys and sends PFC again;
	// PFC_RATE_*: 0 in, 1 out; DROP_ALL: 1 on; MAC_*: event_mac_a();
	// NEIGHBOUR_MAC: an IPv4 address, or the last 32 bits of an IPv6 address;
	// WORKER_*, STANDIN_*: the worker; ROCE_LOSSY*: the DSCP of the latest frame;
	// COPP*, STORM_CONTROL*: enum limit_kind; LOOP: the port that sent the probe, VLAN << 16;
	// RX_GUARD: frames in the ring; ELEPHANTS*: elephants now;
	// DCBX_PFC: bitmaps of classes with PFC, in force, and by the policy << 8;
	// DCBX_*: bitmaps of classes with PFC, of the host, and of the switch << 8;
	// INOF_HOST_GONE: enum inof_reason; INOF_REFUSED: enum inof_refusal (control/inof);
	// INOF_SILENT: notices on their way; INOF_REFLECTOR*: hosts that it has named;
	// ECN_AUTO: event_ecn_a();
	// IMPAIR*: the rule, enum impair_why << 24 (switch_impair.h)
	uint32_t a;
	// XOFF: cause_pack(); LOSSLESS_DROP: frame length; MAC_*: event_mac_b(); FDB_*: addresses;
	// NEIGHBOUR_MAC: the new address in the low 48 bits, and bit 48 for IPv6;
	// STORM: measured ns; STORM_OVER: ns in recovery; STORM_LIMIT: storms; PFC_RATE_*: frames
	// per second; PFC_PAUSED*: microseconds of the last second; PAUSE_IGNORED: frames;
	// PAIR_DROPPED, FLOWS_FULL, CNP_CAP, RX_GUARD, ELEPHANTS*: how many since the last such
	// event;
	// WORKER_*: ns that it stood still; STANDIN_PAUSED: PFC frames;
	// COPP*, STORM_CONTROL*: frames dropped since the limit was first exceeded;
	// ROCE_LOSSY*: frames since the first; LOOP: 1 + the
	// port that is taken down, 0: none; DCBX_PFC: enum dcbx_pfc_cause (control/lldp);
	// DCBX_*: 1 + the class of RoCEv2, of the host, and of the switch << 8; 0: none said;
	// IMPAIR: enum impair_action; IMPAIR_OVER: frames that it changed;
	// ECN_AUTO: kmin before, and after << 32, in bytes
	uint64_t b;
};

struct event_info {
	const char *name;
	const char *help;
};

// Indexed by enum event_type.
extern const struct event_info event_info[N_EVENT_TYPES];

// Records of auto ECN: enum ecn_why, enum ecn_mode (control/autoecn/rule.h), and whether the queue
// gets the thresholds.
static inline uint32_t event_ecn_a(uint8_t why, uint8_t mode, _Bool on)
{
	return why | (uint32_t)mode << 8 | (uint32_t)on << 16;
}

// Records of MAC addresses: VLAN, the other port (PORT_NONE: none), the address in the low 48 bits,
// and how many further addresses the record stands for.
enum { EVENT_MAC_MORE_MAX = 0xffff };

static inline uint32_t event_mac_a(uint16_t vid, port_no_t other)
{
	return vid | (uint32_t)(other == PORT_NONE ? 0 : other + 1u) << 16;
}

static inline uint16_t event_mac_vid(uint32_t a)
{
	return (uint16_t)a;
}

static inline port_no_t event_mac_other(uint32_t a)
{
	return (port_no_t)((a >> 16) - 1);
}

static inline uint64_t event_mac_b(uint64_t mac, uint32_t more)
{
	return mac | (uint64_t)(more < EVENT_MAC_MORE_MAX ? more : EVENT_MAC_MORE_MAX) << 48;
}

static inline uint32_t event_mac_more(uint64_t b)
{
	return (uint32_t)(b >> 48);
}
