// SPDX-License-Identifier: Apache-2.0
// A scenario file as structs: switches and hosts, links, flows, faults, records and expectations.
// Names and ranges are expanded, places in the file are kept.
// Loading reports every mistake in one pass as `file:line:column: key.path: what is wrong`; nothing
// runs before a scenario is whole. Immutable afterwards.
//
//   file + --set edits -> tree (control/base/node.h) -> rows -> struct scenario -> fabric.h
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/base/diag.h"
#include "control/base/node.h"
#include "control/config/config.h"
#include "control/lab/params.h"
#include "dataplane/base/port_no.h"
#include "drivers/nic/nic.h"
#include "drivers/wire/wire.h"

enum { SC_MAX_SWITCHES = 512, SC_MAX_HOSTS = 4096, SC_MAX_LINKS = 8192, SC_MAX_FAULTS = 65536 };

enum { SC_NO_LINK = UINT32_MAX };

struct sc_port {
	uint32_t link; // SC_NO_LINK: nothing is plugged in
	uint8_t side; // of the link: its end[side] is this port
};

// A route that the file gives: frames to a host leave by one of these ports.
struct sc_route {
	struct cfg_pos at;
	uint32_t host;
	uint32_t n_ports;
	const port_no_t *ports; // 0-based
};

struct sc_switch {
	const char *name; // 12 characters at most
	struct cfg_pos at;
	uint32_t n_ports; // named p1, p2, ...
	uint32_t first_port; // of all switch ports of the scenario, for tables by port
	struct sc_port *ports;
	const char *policy_file; // as found from the scenario's folder
	// Keys laid over the policy file, in this order, after the scenario's own.
	uint32_t n_overrides;
	const struct node **overrides;
	uint32_t ecmp_seed;
	uint32_t n_routes; // besides, or instead of, those that are derived
	const struct sc_route *routes;
};

struct sc_host {
	const char *name;
	struct cfg_pos at;
	// All but ops, drv, pool, facts, hooks. rto_ns of 0: as the fabric needs it (fabric.c).
	struct nic_config nic;
	uint32_t ip; // host order
	int vlan; // of its tagged frames; -1: they are untagged
	bool ip6; // the connections that it opens
	uint8_t mac[6];
	uint32_t link; // index; a host has one
	uint32_t island; // hosts of one island can reach each other
	struct sc_lldp {
		bool on, has_pfc, willing;
		uint8_t pfc; // bitmap of classes
		int roce; // class of RoCEv2 that it names; -1: none
	} lldp;
	struct sc_inof {
		uint8_t role; // enum inof_role; 0: the host has no iNOF
		bool notices; // else the host knows all targets from the start
		const char *nqn; // NULL: none
		uint64_t delay_ns; // from the arrival of a frame to what the host does
		uint64_t keep_alive_ns, register_ns;
	} inof;
};

// The address of a host over IPv6: fd00::a.b.c.d.
static inline struct ip_key sc_host_ip6(const struct sc_host *h)
{
	return (struct ip_key){0xfdull << 56, h->ip};
}

// One end of a link: a host, or port `port` (0-based) of a switch.
struct sc_end {
	bool is_switch;
	uint32_t node, port;
};

struct sc_link {
	struct sc_end end[2];
	struct cfg_pos at;
	const char *name; // "h1-s1.p1"
	uint64_t speed_bps;
	uint64_t cable_cm; // headroom follows from it
	uint64_t delay_ns; // of the cable, or as given
	const struct node *profile; // of its switch ports, `profile: X`; NULL: the policy's
};

// Faults: key of the file, its target, the schema of its keys (scenario_faults.c), help text.
#define SC_FAULTS(X)                                                                               \
	X(PAUSE_STORM, pause_storm, HOST, storm, "host: its NIC sends PAUSE without need")         \
	X(LINK_DOWN, link_down, LINK, lasting, "link: it is cut")                                  \
	X(LINK_LOSSY, link_lossy, LINK, lossy, "link, or from: it loses frames")                   \
	X(LINK_SLOW, link_slow, LINK, slow, "link: it is slower or longer")                        \
	X(SLOW_RECEIVER, slow_receiver, HOST, receiver,                                            \
	  "host: it takes frames slowly, and its NIC pauses")                                      \
	X(IGNORE_PAUSE, deaf, HOST, lasting, "host: its NIC does not obey PAUSE")                  \
	X(TX_OFF, tx_off, PORT, tx_off, "port: it, or one of its queues, sends nothing")           \
	X(RELOAD, reload, SWITCH, reload, "switch: another policy, live")                          \
	X(DROP_ALL, drop_all, SWITCH, lasting,                                                     \
	  "switch: it discards all lossless classes, as `weirctl watchdog drop-all on` does")      \
	X(CUT_OFF, cut_off, SWITCH, lasting,                                                       \
	  "switch: it neither hears other switches nor is heard, with the key inof.peers")         \
	X(IMPAIR, impair, PORT, impair, "port: a rule of `weirctl impair` (impair.md)")            \
	X(RECOVER, recover, PORT, recover, "port: as `weirctl watchdog recover` does for a class") \
	X(WEIRCTL, weirctl, SWITCH, weirctl,                                                       \
	  "switch: what an operator types: `set`, `watchdog`, `flow`, `inof`, `show` of weirctl")

enum sc_fault_kind {
#define X(id, ...) SC_##id,
	SC_FAULTS(X)
#undef X
		N_SC_FAULTS,
};

struct sc_fault {
	uint8_t kind; // enum sc_fault_kind
	struct cfg_pos at;
	uint64_t at_ns, for_ns; // UINT64_MAX: for good
	struct sc_end target; // host or switch port
	uint32_t link; // of link faults
	bool one_way; // of link faults: only frames that leave by target
	int cls; // -1: all
	uint64_t rate_bps; // SLOW (0: as it is), SLOW_RECEIVER
	uint64_t loopback_bps; // SLOW_RECEIVER
	int64_t delay_ns; // SLOW; negative: as it is
	struct wire_loss loss;
	struct storm_params storm;
	const struct impair_rule *impair;
	const char *policy_file; // RELOAD: NULL: the switch's
	const char *words; // WEIRCTL
	const struct node *override; // RELOAD: laid over what the switch started with
	uint32_t n_routes; // RELOAD: before those that the switch started with
	const struct sc_route *routes;
};

// A line of `expect:` or of `record.what:`, parsed by expr.h.
struct sc_text {
	const char *text;
	struct cfg_pos at;
	const char *path; // "expect[2]"
};

struct lab_flow; // traffic.h

// A model of auto ECN that a policy names. fabric_check finds them.
struct sc_model {
	const char *file; // NULL in the first element, which stands for the list
	struct sc_model *next;
};

struct scenario {
	const char *file, *name, *description;
	const char *title; // empty: none
	struct lab_params params;
	uint64_t duration_ns, seed; // duration: with until_done the most
	bool until_done; // the run ends with the last message of all flows that end
	uint64_t sample_ns; // of queue lengths for quantiles
	uint64_t stuck_ns; // how long a cycle stands still before it is a deadlock; 0: by its links
	bool routed; // switches route by host routes; else they bridge a tree
	bool tunnelled; // likewise, but to VTEPs: switches with hosts bridge these, through tunnels
	bool has_ip6; // of a flow
	uint64_t *vids; // bitmap: of flows
	bool withdraw; // derived routes follow the links that are up
	bool learn_neighbours; // routed: switches ask for the MAC addresses of hosts
	struct {
		bool exchange; // switches tell each other of hosts
		uint64_t delay_ns, detect_ns;
	} inof;
	bool connect_by_cm; // connections on the wire; else out of band
	bool whole_frames; // payload and iCRC are there and checked; else headers are all there is
	uint64_t record_every_ns; // 0: no series
	struct sc_end *captured; // ports, each once
	uint32_t n_captured, capture_snaplen;
	int capture_class; // -1: all
	uint64_t capture_bytes; // at most
	uint64_t bin_bytes; // of histograms; 0: a cell
	uint32_t n_switches, n_hosts, n_links, n_flows, n_faults, n_records, n_expects;
	uint32_t n_histograms;
	uint32_t n_ports; // of all switches
	struct sc_switch *switches;
	struct sc_host *hosts;
	struct sc_link *links;
	struct lab_flow *flows;
	struct sc_fault *faults;
	struct sc_text *records, *expects;
	struct sc_text *histograms; // queues, ports, switches
	const struct node *override; // of all switches, before their own
	struct sc_model *models; // files, each once
	struct cfg_pos without_at;
	uint8_t without; // bits of mechanisms (without.h)
	uint8_t *present; // likewise: some host has it, or a policy that was compiled
	struct arena *arena;
};

// sets: of --set, in order. seed: of --seed, NULL: the file's. 0, -EINVAL with *d filled.
__attribute__((warn_unused_result)) int scenario_load(const char *path, const struct sc_set *sets,
						      unsigned n_sets, struct scenario **out,
						      struct diags *d);
// The same from a text; path: where other files are seen from, and for messages.
struct sc_input {
	const char *path, *text;
	size_t len;
	const struct sc_set *sets;
	unsigned n_sets;
};
__attribute__((warn_unused_result)) int scenario_parse(const struct sc_input *in,
						       struct scenario **out, struct diags *d);
void scenario_destroy(struct scenario *sc); // NULL is fine

// Index by name, or -1.
int scenario_host(const struct scenario *sc, const char *name);
int scenario_switch(const struct scenario *sc, const char *name);

// Whether a name matches a pattern: a name, ranges h[1-8], or * for any run of characters.
bool scenario_matches(const char *pattern, const char *name);

// The same for a value of the file, which must name hosts: what does not is reported at its place,
// with the nearest name. 0: reported.
unsigned scenario_pick_hosts(const struct scenario *sc, struct diag_sink *s,
			     const struct sc_text *v, uint32_t *idx);

// Seeds are split by who needs one, so that a new consumer changes nothing for the others.
uint64_t scenario_seed(const struct scenario *sc, const char *consumer, uint32_t index);
