// SPDX-License-Identifier: Apache-2.0
#include "control/observe/fact.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "control/observe/fact_flows.h"
#include "control/observe/fact_settings.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/qos/pg.h"
#include "dataplane/switch.h"

#define PORT(m) offsetof(struct port_counters, m)
#define QUEUE(m) offsetof(struct queue_counters, m)
#define PG(m) offsetof(struct pg_counters, m)
#define PG_STATE(m) offsetof(struct pg_state, m)
#define DROP(m) offsetof(struct drop_counters, m)
#define WORKER(m) offsetof(struct worker_counters, m)
#define FDB_PORT(m) offsetof(struct fdb_port_counters, m)
#define WATCHDOG(m) offsetof(struct watchdog_class, m)
#define NONE FACT_COMPUTED

#define ROW_PORT {"port", FACT_ID, NONE, "port of the policy file"}
#define ROW_QUEUE {"queue", FACT_ID, NONE, "egress queue, 0 to 7"}
#define ROW_PG {"pg", FACT_ID, NONE, "priority group, 0 to 7"}
#define ROW_CLASS {"class", FACT_LABEL, NONE, "lowest class that the policy maps here"}

static const struct fact version[] = {
	{"name", FACT_TEXT, NONE, "name of the switch"},
	{"version", FACT_TEXT, NONE, "version of weir"},
	{"policy_file", FACT_TEXT, NONE, "policy file that runs"},
	{"uptime_ms", FACT_GAUGE, NONE, "real time since the start"},
	{"ports", FACT_GAUGE, NONE, "ports of the switch"},
	{"workers", FACT_GAUGE, NONE, "workers of the switch"},
	{"held", FACT_YES, NONE, "admission is stopped (quiesce)"},
	{"drop_all", FACT_YES, NONE,
	 "all lossless classes are discarded (weirctl watchdog drop-all on)"},
	{"confirm_in_ms", FACT_GAUGE, NONE,
	 "after this time the policy before comes back, without `weirctl confirm`; 0: it stays"},
};

static const struct fact interfaces[] = {
	ROW_PORT,
	{"up", FACT_DERIVED, NONE, "the link is up"},
	{"speed_bps", FACT_DERIVED, NONE, "speed the port is shaped to, bits per second"},
	{"rx_packets", FACT_DERIVED, NONE, "frames received, MAC control not counted"},
	{"rx_bytes", FACT_DERIVED, NONE, "bytes of those, without FCS"},
	{"rx_pps", FACT_DERIVED, NONE, "frames per second received, over the last second"},
	{"rx_bps", FACT_DERIVED, NONE, "bits per second received, over the last second"},
	{"rx_util_percent", FACT_DERIVED, NONE,
	 "share of speed_bps, with FCS, preamble and gap of each frame"},
	{"tx_packets", FACT_DERIVED, NONE, "frames sent, PFC not counted"},
	{"tx_bytes", FACT_DERIVED, NONE, "bytes of those, without FCS"},
	{"tx_pps", FACT_DERIVED, NONE, "frames per second sent, over the last second"},
	{"tx_bps", FACT_DERIVED, NONE, "bits per second sent, over the last second"},
	{"tx_util_percent", FACT_DERIVED, NONE, "see rx_util_percent"},
	{"t_ns", FACT_DERIVED, NONE, "switch time of the row, which is model time"},
};

static const struct fact ports[] = {
	{"name", FACT_ID, NONE, "port of the policy file", "port"},
	{"device", FACT_TEXT, NONE, "device as the policy file names it"},
	{"speed_bps", FACT_GAUGE, NONE, "speed the port is shaped to, bits per second"},
	{"mtu", FACT_GAUGE, NONE, "IP MTU, bytes"},
	{"up", FACT_YES, NONE, "the link is up"},
	{"no_device", FACT_YES, NONE, "the port's interface does not exist"},
	{"looped", FACT_YES, NONE, "a loop probe came back to this port, or from it to another"},
	{"loop_down", FACT_YES, NONE, "loop detection keeps the port down"},
	{"rx_packets", FACT_COUNTER, PORT(rx_packets), "frames received, MAC control not counted"},
	{"rx_bytes", FACT_COUNTER, PORT(rx_bytes), "bytes of those, without FCS"},
	{"tx_packets", FACT_COUNTER, PORT(tx_packets), "frames sent, PFC not counted"},
	{"tx_bytes", FACT_COUNTER, PORT(tx_bytes), "bytes of those, without FCS"},
	{"bad_l3", FACT_COUNTER, PORT(bad_l3),
	 "frames with a broken IP or transport header, forwarded by their MAC addresses"},
	{"tx_pending_bytes", FACT_GAUGE, PORT(tx_pending_bytes),
	 "bytes in the driver, not yet sent"},
	{"rx_depth", FACT_GAUGE, PORT(rx_depth), "frames waiting in the receive ring"},
	{"queued", FACT_GAUGE, PORT(queued), "frames held for this port"},
	{"rx_missed", FACT_COUNTER, NONE, "frames lost because the receive ring was full"},
	{"tx_errors", FACT_COUNTER, NONE, "frames the driver took and could not send"},
	{"rx_to_kernel", FACT_COUNTER, NONE, "frames steered to the host's own network stack"},
	{"rx_pps", FACT_DERIVED, NONE, "frames per second received, over the last second"},
	{"rx_bps", FACT_DERIVED, NONE, "bits per second received, over the last second"},
	{"tx_pps", FACT_DERIVED, NONE, "frames per second sent, over the last second"},
	{"tx_bps", FACT_DERIVED, NONE, "bits per second sent, over the last second"},
	{"tx_enabled", FACT_YES, NONE, "no operator has stopped transmission (set port P tx off)"},
	{"pfc_rx", FACT_YES, NONE, "PFC frames of the peer reach the switch"},
	{"pfc_tx", FACT_YES, NONE, "PFC frames of the switch reach the peer"},
	{"rx_guard", FACT_YES, NONE, "the receive ring is so full that the peer is paused"},
	{"rx_guard_possible", FACT_YES, NONE, "the driver can tell how full the receive ring is"},
	{"pfc_standin_sent", FACT_COUNTER, NONE,
	 "PFC frames of the stand-in, sent while the port's worker stood still; no other counter "
	 "has them"},
	{"when_stalled", FACT_TEXT, NONE,
	 "what the peer gets while the port's worker stands still"},
};

static const struct fact clock_facts[] = {
	{"time_scale", FACT_GAUGE, NONE,
	 "model time passes so many times slower than real time: the rates and times of all lists "
	 "are the model's, and the machine moves that many times less"},
};

static const struct fact queues[] = {
	ROW_PORT, ROW_QUEUE, ROW_CLASS,
	{"tx_packets", FACT_COUNTER, QUEUE(tx_packets), "frames sent from the queue"},
	{"tx_bytes", FACT_COUNTER, QUEUE(tx_bytes), "bytes of those"},
	{"ecn_marked", FACT_COUNTER, QUEUE(ecn_marked),
	 "frames marked Congestion Experienced here"},
	{"dropped_packets", FACT_COUNTER, QUEUE(dropped_packets),
	 "frames dropped at the queue, by its limit, by WRED or because the link went down"},
	{"dropped_bytes", FACT_COUNTER, QUEUE(dropped_bytes), "bytes of those"},
	{"length_bytes", FACT_GAUGE, QUEUE(length_bytes), "frame bytes in the queue"},
	{"length_packets", FACT_GAUGE, QUEUE(length_packets), "frames in the queue"},
	{"max_bytes", FACT_GAUGE, QUEUE(max_bytes),
	 "most bytes the queue has held since the last clear watermarks"},
	{"tx_pps", FACT_DERIVED, NONE, "frames per second sent, over the last second"},
	{"tx_bps", FACT_DERIVED, NONE, "bits per second sent, over the last second"},
	{"paused", FACT_YES, NONE, "the peer has paused the queue"},
	{"tx_enabled", FACT_YES, NONE, "no operator has stopped the queue (set queue P Q tx off)"},
};

static const struct fact latency[] = {
	ROW_PORT, ROW_QUEUE, ROW_CLASS,
	{"packets", FACT_DERIVED, NONE, "frames that the row is about"},
	{"p50_ns", FACT_DERIVED, NONE, "half of the frames stayed this long at most"},
	{"p99_ns", FACT_DERIVED, NONE, "99 % of the frames stayed this long at most"},
	{"max_ns", FACT_GAUGE, NONE, "the longest stay since the last clear"},
	{"turn_ns", FACT_DERIVED, NONE,
	 "mean turn of the port's worker over the last second, without waits for a frame: a stay "
	 "of 0 ns is shorter"},
};

static const struct fact pfc[] = {
	ROW_PORT,
	{"class", FACT_ID, NONE, "class, which is the PFC priority"},
	{"lossless", FACT_YES, NONE, "the policy says that the class is lossless"},
	{"rx_pause", FACT_COUNTER, NONE, "PFC frames received that enable the class, XON included"},
	{"rx_pause_duration_us", FACT_COUNTER, NONE, "time the peer kept the class paused"},
	{"rx_pause_transition", FACT_COUNTER, NONE, "times the peer's pause of the class began"},
	{"rx_pause_longest_us", FACT_GAUGE, NONE,
	 "longest pause of the class by the peer since the last clear watermarks"},
	{"rx_pause_last_change_us", FACT_GAUGE, NONE,
	 "time since the peer's pause of the class last began or ended; null: never"},
	{"tx_pause", FACT_COUNTER, NONE, "PFC frames sent that enable the class, XON included"},
	{"tx_pause_duration_us", FACT_COUNTER, NONE, "time the switch kept the peer paused"},
	{"tx_pause_transition", FACT_COUNTER, NONE, "times the switch's pause of the class began"},
	{"tx_pause_longest_us", FACT_GAUGE, NONE,
	 "longest pause of the class by the switch since the last clear watermarks"},
	{"tx_pause_last_change_us", FACT_GAUGE, NONE,
	 "time since the switch's pause of the class last began or ended; null: never"},
	{"xoff", FACT_YES, NONE, "the priority group of the class is in XOFF"},
};

static const struct fact watchdog[] = {
	ROW_PORT,
	{"class", FACT_ID, NONE, "class, which is the PFC priority"},
	{"status", FACT_TEXT, NONE,
	 "off (not watched), operational, stormed, pfc-off and port-down (too many storms, until "
	 "weirctl watchdog recover), drop-all (by an operator)"},
	{"stormed", FACT_YES, NONE, "a storm lasts"},
	{"mode", FACT_TEXT, NONE,
	 "what a storm is: xoff (paused without a break), progress (paused, and nothing of the "
	 "queue was sent); null where the class is not watched, as action and limit_then"},
	{"action", FACT_TEXT, NONE, "what happens in a storm: drop, forward or alert"},
	{"limit_then", FACT_TEXT, NONE, "what an escalation does: pfc-off or port-down"},
	{"detect_ms", FACT_GAUGE, NONE, "how long until it is a storm; 0: not watched"},
	{"restore_ms", FACT_GAUGE, NONE, "how long until it is over"},
	{"limit_storms", FACT_GAUGE, NONE, "storms within the window that escalate; 0: never"},
	{"limit_window_ms", FACT_GAUGE, NONE, "the window"},
	{"detected", FACT_COUNTER, WATCHDOG(detected), "storms found"},
	{"restored", FACT_COUNTER, WATCHDOG(restored), "storms that are over"},
	{"tx_ok", FACT_COUNTER, WATCHDOG(total.tx_ok), "frames of the class sent during storms"},
	{"tx_dropped", FACT_COUNTER, WATCHDOG(total.tx_dropped),
	 "frames of the class that were to leave and were dropped during storms"},
	{"rx_ok", FACT_COUNTER, WATCHDOG(total.rx_ok),
	 "frames of the class that arrived here during storms and were admitted"},
	{"rx_dropped", FACT_COUNTER, WATCHDOG(total.rx_dropped),
	 "frames of the class that arrived here and were dropped during storms"},
	{"tx_ok_last", FACT_GAUGE, WATCHDOG(last.tx_ok),
	 "tx_ok of the present or last storm; likewise the next three"},
	{"tx_dropped_last", FACT_GAUGE, WATCHDOG(last.tx_dropped), "see tx_ok_last"},
	{"rx_ok_last", FACT_GAUGE, WATCHDOG(last.rx_ok), "see tx_ok_last"},
	{"rx_dropped_last", FACT_GAUGE, WATCHDOG(last.rx_dropped), "see tx_ok_last"},
	{"last_measured_us", FACT_GAUGE, NONE,
	 "how long the last storm had lasted when it was found: detect, and what the worker came "
	 "late"},
	{"storm_us", FACT_GAUGE, NONE, "time since the present storm was found; 0: there is none"},
	{"longest_storm_us", FACT_GAUGE, NONE,
	 "longest time from the finding of a storm to its end, since the start"},
};

static const struct fact guard[] = {
	ROW_PORT,
	{"group", FACT_LABEL, NONE, "group of the port"},
	{"dscp", FACT_ID, NONE, "DSCP of the frames of the rule, as they arrive"},
	{"to_class", FACT_LABEL, NONE, "class in which they leave"},
	{"to_dscp", FACT_LABEL, NONE, "DSCP with which they leave"},
	{"packets", FACT_COUNTER, NONE,
	 "frames that arrived at this port and turned back into its group"},
};

static const struct fact peers[] = {
	ROW_PORT,
	{"class", FACT_ID, NONE, "class that the port's peer pauses"},
	{"paused_us", FACT_GAUGE, NONE, "how long the present pause has lasted; 0: there is none"},
	{"stormed", FACT_YES, NONE, "the watchdog has found a storm that is not over"},
	{"storm_us", FACT_GAUGE, NONE, "how long the storm has lasted"},
};

static const struct fact stand_in[] = {
	{"frames", FACT_GAUGE, NONE,
	 "PFC frames that the stand-in sent while a worker stood still, of all ports shown"},
};

static const struct fact causes[] = {
	ROW_PORT,
	{"class", FACT_ID, NONE, "class whose sender, the port's peer, was paused"},
	{"now", FACT_YES, NONE, "it is paused now; else the row is about the last time"},
	{"xoff", FACT_YES, NONE, "the priority group of the class is in XOFF"},
	{"pause_us", FACT_GAUGE, NONE, "how long the present pause has lasted; 0: there is none"},
	{"last_pause_us", FACT_GAUGE, NONE, "time since the last PAUSE was sent"},
	{"kind", FACT_TEXT, NONE,
	 "queue (an egress queue holds the group's buffer), receive-ring (the worker was late), "
	 "none (of the present XOFF nothing is known yet)"},
	{"cause_port", FACT_TEXT, NONE,
	 "where the queue leaves that holds most of the group's buffer; null without a queue, as "
	 "the next two"},
	{"cause_class", FACT_GAUGE, NONE,
	 "class of that queue: one that is paused, if there is one"},
	{"cause_queue", FACT_GAUGE, NONE, "that queue"},
	{"held_bytes", FACT_GAUGE, NONE, "buffer of the group in that queue"},
	{"paused", FACT_YES, NONE, "that queue is itself paused by its peer"},
	{"cause_paused_us", FACT_GAUGE, NONE, "for how long it has been, now"},
	{"chain", FACT_TEXT, NONE,
	 "PORT:CLASS of this row, of its cause, of the cause's cause and so on, as far as this "
	 "switch sees"},
	{"ends", FACT_TEXT, NONE,
	 "where the chain ends: peer (what is behind the last port paused it), congestion (more "
	 "is offered to it than it sends), loop (it comes back to a port it has passed), tx-off "
	 "(an operator stopped it), receive-ring, gone (the moment has passed)"},
};

static const struct fact pgs[] = {
	ROW_PORT, ROW_PG, ROW_CLASS,
	{"lossless", FACT_YES, NONE, "the group has headroom and sends PAUSE"},
	{"rx_packets", FACT_COUNTER, PG(rx_packets), "frames that arrived for the group"},
	{"rx_bytes", FACT_COUNTER, PG(rx_bytes), "bytes of those"},
	{"dropped_packets", FACT_COUNTER, PG(dropped_packets), "frames the buffer did not admit"},
	{"dropped_bytes", FACT_COUNTER, PG(dropped_bytes), "bytes of those"},
	{"min_bytes", FACT_GAUGE, PG_STATE(min_used), "buffer used of the guaranteed minimum"},
	{"shared_bytes", FACT_GAUGE, PG_STATE(shared), "buffer used of the shared pool"},
	{"headroom_bytes", FACT_GAUGE, PG_STATE(headroom), "buffer used of the PFC headroom"},
	{"skid_bytes", FACT_GAUGE, PG_STATE(skid),
	 "memory used beyond the buffer, for what a software port still delivers after PAUSE"},
	{"max_shared_bytes", FACT_GAUGE, PG_STATE(max_shared),
	 "highest shared_bytes since the last clear watermarks"},
	{"max_headroom_bytes", FACT_GAUGE, PG_STATE(max_headroom),
	 "highest headroom_bytes since the last clear watermarks"},
	{"xoff_at_bytes", FACT_GAUGE, NONE, "XOFF threshold with the pool as it is now"},
	{"xon_at_bytes", FACT_GAUGE, NONE, "XON threshold with the pool as it is now"},
	{"xoff", FACT_YES, NONE, "the group is in XOFF: the peer is paused"},
};

static const struct fact pools[] = {
	{"name", FACT_ID, NONE, "ingress, headroom, egress_lossy or egress_lossless", "pool"},
	{"size_bytes", FACT_GAUGE, NONE, "size of the pool"},
	{"used_bytes", FACT_GAUGE, NONE, "how much of it is used"},
	{"max_bytes", FACT_GAUGE, NONE, "most that was used since the last clear watermarks"},
};

static const struct fact drops[] = {
	ROW_PORT,
	{"class", FACT_ID, NONE, "class of the frames"},
	{"reason", FACT_ID, NONE, "why they were dropped"},
	{"packets", FACT_COUNTER, DROP(packets), "frames dropped"},
	{"bytes", FACT_COUNTER, DROP(bytes), "bytes of those"},
	{"lossless", FACT_LABEL, NONE,
	 "true where frames of a lossless class were lost that were wanted: an alarm"},
};

static const struct fact drop_total[] = {
	{"packets", FACT_COUNTER, NONE, "frames dropped, whatever the reason"},
	{"bytes", FACT_COUNTER, NONE, "bytes of those"},
	{"lossless_packets", FACT_COUNTER, NONE, "of these frames, those that are an alarm"},
	{"lossless_bytes", FACT_COUNTER, NONE, "bytes of those"},
};

static const struct fact drop_reasons[] = {
	{"reason", FACT_ID, NONE, "why frames were dropped"},
	{"packets", FACT_COUNTER, NONE, "frames dropped for it on the ports asked for"},
	{"bytes", FACT_COUNTER, NONE, "bytes of those"},
	{"text", FACT_TEXT, NONE, "the reason in a sentence"},
};

static const struct fact control[] = {
	ROW_PORT,
	{"pfc_ignored_lossy", FACT_COUNTER, NONE,
	 "times a PFC frame named a class that does not obey it: lossy, or pfc.rx off"},
	{"pfc_empty_vector", FACT_COUNTER, NONE, "PFC frames that enable no class"},
	{"lldp", FACT_COUNTER, NONE, "LLDP frames"},
	{"pfc_malformed", FACT_COUNTER, PORT(pfc_malformed),
	 "MAC control frames that are truncated or have an unknown opcode"},
	{"pfc_misaddressed", FACT_COUNTER, PORT(pfc_misaddressed),
	 "PFC frames to another address than 01:80:c2:00:00:01, which are ignored"},
	{"pause_8023x", FACT_COUNTER, PORT(pause_8023x), "global PAUSE frames, which are ignored"},
	{"other", FACT_COUNTER, PORT(other_control), "other link-local frames, taken in"},
	{"neighbour_frames", FACT_COUNTER, PORT(neighbour_frames),
	 "ARP and neighbour discovery taken in by a routed port"},
	{"neighbour_frames_lost", FACT_COUNTER, PORT(neighbour_frames_lost),
	 "of those, the ones that came too fast to be looked at"},
	{"early_pauses", FACT_COUNTER, PORT(early_pauses),
	 "pauses of a class that acted before their frame was taken from the receive ring"},
};

static const struct fact steering[] = {
	ROW_PORT,
	{"reason", FACT_ID, NONE, "why they did not"},
	{"packets", FACT_COUNTER, NONE, "frames"},
	{"lost", FACT_LABEL, NONE, "true where they are lost, and counted in rx_missed too"},
	{"text", FACT_TEXT, NONE, "the reason in a sentence"},
};

static const struct fact hints[] = {
	ROW_PORT,
	{"roce_in_lossy_class", FACT_COUNTER, PORT(roce_in_lossy_class),
	 "RoCEv2 frames that the policy puts into a lossy class"},
	{"roce_not_ect", FACT_COUNTER, PORT(roce_not_ect),
	 "RoCEv2 data frames whose sender is not ECN-capable"},
	{"lossless_unknown", FACT_COUNTER, PORT(lossless_unknown),
	 "frames to unknown addresses in a lossless class that is not flooded, dropped: enter the "
	 "address into fdb, let the station send first, or set flood: on in the class"},
	{"copp_dropped", FACT_COUNTER, PORT(limited[LIMIT_COPP]),
	 "ARP, neighbour discovery and ICMP for the switch dropped beyond the port's copp rate"},
	{"loop_forged", FACT_COUNTER, PORT(loop_forged),
	 "loop probes in the name of this switch that it did not send just now; ignored"},
	{"storm_broadcast", FACT_COUNTER, PORT(limited[LIMIT_BROADCAST]),
	 "broadcast frames dropped beyond the port's storm_control rate"},
	{"storm_unknown_unicast", FACT_COUNTER, PORT(limited[LIMIT_UNKNOWN_UNICAST]),
	 "frames to unknown addresses dropped beyond the port's storm_control rate"},
	{"storm_multicast", FACT_COUNTER, PORT(limited[LIMIT_MULTICAST]),
	 "multicast frames dropped beyond the port's storm_control rate, or BPDUs beyond theirs"},
	{"merged_segments", FACT_COUNTER, NONE,
	 "frames longer than the port receives, lost: a sender on this machine merges TCP segments;"
	 " run ethtool -K DEVICE tso off gso off at the sender"},
};

static const struct fact workers[] = {
	{"worker", FACT_ID, NONE, "number of the worker"},
	{"core", FACT_TEXT, NONE, "CPU it is bound to; null where the system chooses"},
	{"ports", FACT_TEXT, NONE, "ports it owns"},
	{"loops", FACT_COUNTER, WORKER(loops), "turns of its loop"},
	{"busy_loops", FACT_COUNTER, WORKER(busy_loops), "turns in which a frame moved"},
	{"late_loops", FACT_COUNTER, WORKER(gaps_over_1ms),
	 "turns that began more than a millisecond after the one before"},
	{"gap_max_ns", FACT_GAUGE, WORKER(gap_max_ns),
	 "longest time between two turns since the last clear watermarks"},
	{"stalls", FACT_COUNTER, NONE, "gaps between two turns of stall.alarm_after or more"},
	{"stalled_ns", FACT_COUNTER, NONE, "sum of those"},
	{"stand_in_gaps", FACT_COUNTER, NONE,
	 "gaps of stall.pause_after or more: the stand-in may have paused the peers"},
	{"stand_ins", FACT_COUNTER, NONE, "times that the stand-in began to send PFC"},
	{"loops_per_s", FACT_DERIVED, NONE, "turns per second of real time, over the last second"},
	{"busy_percent", FACT_DERIVED, NONE, "share of busy turns, over the last second"},
};

static const struct fact balance[] = {
	{"received", FACT_COUNTER, NONE, "frames that drivers delivered"},
	{"generated", FACT_COUNTER, NONE,
	 "frames made by the switch (PFC, ARP, neighbour discovery)"},
	{"replicated", FACT_COUNTER, NONE, "copies beyond the first of flooded frames"},
	{"transmitted", FACT_COUNTER, NONE, "frames that drivers took"},
	{"consumed", FACT_COUNTER, NONE, "control frames taken in"},
	{"dropped", FACT_COUNTER, NONE, "frames dropped, whatever the reason"},
	{"queued", FACT_GAUGE, NONE, "frames inside the switch"},
	{"balanced", FACT_YES, NONE,
	 "what came in equals what went out and what is inside; exact at rest only"},
};

static const struct fact queue_marks[] = {
	ROW_PORT, ROW_QUEUE, ROW_CLASS,
	{"max_bytes", FACT_GAUGE, QUEUE(max_bytes), "most bytes the queue has held"},
};
static const struct fact pg_marks[] = {
	ROW_PORT, ROW_PG, ROW_CLASS,
	{"max_shared_bytes", FACT_GAUGE, PG_STATE(max_shared), "most of the shared pool it used"},
	{"max_headroom_bytes", FACT_GAUGE, PG_STATE(max_headroom), "most of its headroom it used"},
};
static const struct fact pool_marks[] = {
	{"name", FACT_ID, NONE, "ingress, headroom, egress_lossy or egress_lossless", "pool"},
	{"max_bytes", FACT_GAUGE, NONE, "most that was used"},
};

static const struct fact fdb[] = {
	{"mac", FACT_ID, NONE, "address"},
	{"vlan", FACT_ID, NONE, "VLAN, 0 in a bridge without VLANs"},
	{"port", FACT_LABEL, NONE, "where it lives"},
	{"static", FACT_YES, NONE, "from the policy file; others are learned and age"},
	{"age_s", FACT_GAUGE, NONE, "seconds since a frame came from it"},
};

static const struct fact fdb_ports[] = {
	ROW_PORT,
	{"share", FACT_GAUGE, NONE, "learned addresses that no other port takes the place of"},
	{"limit", FACT_GAUGE, NONE, "learned addresses at most"},
	{"learned", FACT_GAUGE, FDB_PORT(learnt), "learned addresses that live here now"},
	{"added", FACT_COUNTER, FDB_PORT(added), "new addresses learned here"},
	{"moved", FACT_COUNTER, FDB_PORT(moved), "addresses that moved here from another port"},
	{"evicted", FACT_COUNTER, FDB_PORT(evicted),
	 "addresses forgotten for new ones, because the port had more than its share or limit"},
	{"refused", FACT_COUNTER, FDB_PORT(refused),
	 "reports of new addresses for which the table had no place"},
	{"held", FACT_COUNTER, FDB_PORT(held),
	 "reports that a pinned or sticky address of another port came in here; it did not move"},
};

static const struct fact routes[] = {
	{"to", FACT_ID, NONE, "prefix; an address without a length is one station"},
	{"port", FACT_ID, NONE, "where frames leave"},
	{"via", FACT_ID, NONE,
	 "address of the next hop; absent where the destination is on the link"},
	{"state", FACT_TEXT, NONE,
	 "connected (a port's subnet), self (the switch), or the next hop's: see neighbours"},
	{"mac", FACT_TEXT, NONE, "of the next hop, where it is known"},
};

static const struct fact neighbours[] = {
	{"ip", FACT_ID, NONE, "address"},
	{"port", FACT_ID, NONE, "on whose link it is"},
	{"mac", FACT_TEXT, NONE, "where it is known"},
	{"state", FACT_TEXT, NONE,
	 "incomplete (asked for), reachable, stale (in use, and asked again), failed (a gateway "
	 "without answer), static"},
	{"gateway", FACT_YES, NONE, "a route needs it"},
	{"age_s", FACT_GAUGE, NONE, "seconds in this state"},
};

static const struct fact neighbour_totals[] = {
	{"unanswered", FACT_COUNTER, NONE, "neighbours that three questions did not reach"},
	{"refused", FACT_COUNTER, NONE, "neighbours that found no room in the table"},
	{"replaced", FACT_COUNTER, NONE,
	 "neighbours that a full table gave up for others, of the port with the most of them"},
	{"malformed", FACT_COUNTER, NONE, "frames that were no ARP and no neighbour discovery"},
	{"unsent", FACT_COUNTER, NONE, "questions and answers that found no room on their way"},
};

static const struct fact events[] = {
	{"seq", FACT_ID, NONE, "number of the event since the start"},
	{"time", FACT_TEXT, NONE, "wall-clock time, UTC"},
	{"t_ns", FACT_GAUGE, NONE, "switch time, which is model time"},
	{"event", FACT_TEXT, NONE, "its name, see below"},
	{"severity", FACT_TEXT, NONE, "info, warning or alarm"},
	{"text", FACT_TEXT, NONE, "the event in a sentence"},
	{"port", FACT_TEXT, NONE, "where it applies; likewise class, and what the event carries"},
};

#define LIST(name) name, sizeof(name) / sizeof((name)[0])

const struct fact_list fact_lists[] = {
	[FACTS_VERSION] = {"version", "version", "weir_switch", true, "The switch itself",
			   LIST(version)},
	[FACTS_INTERFACES] = {"interfaces", "interfaces", "weir_interface", false,
			      "Rates and utilisation of the ports", LIST(interfaces)},
	[FACTS_VLAN] = {"vlan", "vlan", NULL, false, "Members of the VLANs", LIST(vlans)},
	[FACTS_QOS] = {"qos", "qos", NULL, false, "Maps from frames to classes, queues and groups",
		       LIST(qos)},
	[FACTS_PFC_STATUS] = {"pfc-status", "pfc_status", "weir_pfc_status", false,
			      "PFC by port and lossless class", LIST(pfc_status)},
	[FACTS_ECN] = {"ecn", "ecn", "weir_ecn", false, "WRED and ECN of the queues in use",
		       LIST(ecn_queues)},
	[FACTS_BUFFER] = {"buffers-config", "buffer", "weir_buffer", true, "The buffer",
			  LIST(buffer)},
	[FACTS_PG_CONFIG] = {"buffers-config", "pg_config", "weir_pg_config", false,
			     "Thresholds of the priority groups in use", LIST(pg_config)},
	[FACTS_PORTS] = {"ports", "ports", "weir_port", false, "Ports", LIST(ports)},
	[FACTS_CLOCK] = {"ports", "clock", "weir_clock", true, "The clock of the switch",
			 LIST(clock_facts)},
	[FACTS_QUEUES] = {"queues", "queues", "weir_queue", false, "Egress queues", LIST(queues)},
	[FACTS_LATENCY] = {"latency", "latency", "weir_queue_residence", false,
			   "Time that frames spent in the switch, by egress queue", LIST(latency)},
	[FACTS_PFC] = {"pfc", "pfc", "weir_pfc", false, "Priority flow control", LIST(pfc)},
	[FACTS_PGS] = {"buffers", "pgs", "weir_pg", false,
		       "Priority groups: the buffer by ingress port", LIST(pgs)},
	[FACTS_POOLS] = {"buffers", "pools", "weir_pool", false, "Buffer pools", LIST(pools)},
	[FACTS_DROPS] = {"drops", "drops", "weir_drop", false,
			 "Drops by port, class and reason", LIST(drops)},
	[FACTS_DROP_TOTAL] = {"drops", "total", NULL, true, "Drops, their sum", LIST(drop_total)},
	[FACTS_DROP_REASONS] = {"drops", "reasons", NULL, false, "Drops by reason",
				LIST(drop_reasons)},
	[FACTS_CONTROL] = {"control", "control", "weir_control", false,
			   "Control frames that were taken in", LIST(control)},
	[FACTS_STEERING] = {"control", "steering", "weir_steering", false,
			    "Frames that did not come through the receive ring, and PFC seen "
			    "before it",
			    LIST(steering)},
	[FACTS_HINTS] = {"hints", "hints", "weir_hint", false,
			 "Signs of a wrong configuration", LIST(hints)},
	[FACTS_WORKERS] = {"workers", "workers", "weir_worker", false,
			   "Workers: the threads that move frames", LIST(workers)},
	[FACTS_BALANCE] = {"balance", "balance", "weir_balance", true,
			   "Balance of all frames since the start", LIST(balance)},
	[FACTS_QUEUE_MARKS] = {"watermarks", "queues", NULL, false, "Watermarks of queues",
			       LIST(queue_marks)},
	[FACTS_PG_MARKS] = {"watermarks", "pgs", NULL, false, "Watermarks of priority groups",
			    LIST(pg_marks)},
	[FACTS_POOL_MARKS] = {"watermarks", "pools", NULL, false, "Watermarks of pools",
			      LIST(pool_marks)},
	[FACTS_FDB] = {"fdb", "fdb", NULL, false, "Addresses", LIST(fdb)},
	[FACTS_FDB_PORTS] = {"fdb", "fdb_ports", "weir_fdb_port", false, "Addresses by port",
			     LIST(fdb_ports)},
	[FACTS_ROUTES] = {"routes", "routes", NULL, false, "Routes, a row for each next hop",
			  LIST(routes)},
	[FACTS_NEIGHBOURS] = {"neighbours", "neighbours", NULL, false,
			      "Neighbours on the links of routed ports", LIST(neighbours)},
	[FACTS_NEIGHBOUR_TOTALS] = {"neighbours", "totals", NULL, true,
				    "Neighbour resolution since the start", LIST(neighbour_totals)},
	[FACTS_EVENTS] = {"events", "events", NULL, false, "Events", LIST(events)},
	[FACTS_WATCHDOG] = {"watchdog", "watchdog", "weir_watchdog", false,
			    "PFC watchdog: storms by port and class", LIST(watchdog)},
	[FACTS_GUARD] = {"guard", "guard", "weir_guard", false,
			 "Deadlock guard: frames that turned back, by rule", LIST(guard)},
	[FACTS_CAUSES] = {"causes", "causes", NULL, false,
			  "Why the peers of ports are, or were last, paused", LIST(causes)},
	[FACTS_PEERS] = {"causes", "peers", NULL, false,
			 "Classes that their peers pause now, or whose peers storm", LIST(peers)},
	[FACTS_STAND_IN] = {"pfc", "stand_in", NULL, true,
			    "PFC frames of the stand-in, which no worker counts", LIST(stand_in)},
	[FACTS_IPCC] = {"ipcc", "ipcc", "weir_ipcc", false,
			"Notifications from the switch, by congested queue", LIST(ipcc)},
	[FACTS_FLOW_PORTS] = {"ipcc", "flow_ports", "weir_flow_port", false,
			      "RoCEv2 flows, by the port where they enter", LIST(flow_ports)},
	[FACTS_FLOW_TABLE] = {"flows", "flow_table", "weir_flows", true,
			      "The table of RoCEv2 flows", LIST(flow_table)},
	[FACTS_PAIRING] = {"flows", "pairing", "weir_pairing", true,
			   "Which queue pair belongs to a flow's sender", LIST(pairing)},
	[FACTS_FLOWS] = {"flows", "flows", NULL, false, "RoCEv2 flows", LIST(flows)},
	[FACTS_CNPS] = {"cnps", "cnps", NULL, false,
			"Notifications that the switch sent, each with its reasons", LIST(cnps)},
};
static_assert(sizeof(fact_lists) / sizeof(fact_lists[0]) == N_FACT_LISTS, "a row for each list");

const struct fact_metric_row fact_metrics[] = {
	[METRIC_INFO] = {"weir_info", "gauge", "always 1; the labels say which switch and version"},
	[METRIC_EVENTS] = {"weir_events_total", "counter", "events by name"},
	[METRIC_EVENTS_LOST] = {"weir_events_lost_total", "counter",
				"events that found no room on their way to control"},
	[METRIC_LOG_LOST] = {"weir_log_lost_total", "counter",
			     "lines of standard error that nobody read in time"},
	[METRIC_RESIDENCE] = {"weir_queue_residence_seconds", "histogram",
			      "time that frames spent in the switch; no sum is kept"},
};
static_assert(sizeof(fact_metrics) / sizeof(fact_metrics[0]) == N_FACT_METRICS,
	      "a row for each metric");

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

unsigned fact_per_unit(const struct fact *f)
{
	if (ends_in(f->key, "_ms"))
		return 1000;
	if (ends_in(f->key, "_us"))
		return 1000000;
	return ends_in(f->key, "_ns") ? 1000000000 : 1;
}

bool fact_metric(const struct fact_list *l, const struct fact *f, char out[METRIC_NAME_LEN])
{
	bool time = fact_per_unit(f) != 1;

	if (l->prefix == NULL ||
	    (f->kind != FACT_COUNTER && f->kind != FACT_GAUGE && f->kind != FACT_YES))
		return false;
	snprintf(out, METRIC_NAME_LEN, "%s_%.*s%s%s", l->prefix,
		 (int)(strlen(f->key) - (time ? strlen("_ns") : 0)), f->key,
		 time ? "_seconds" : "", f->kind == FACT_COUNTER ? "_total" : "");
	return true;
}
