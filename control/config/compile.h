// SPDX-License-Identifier: Apache-2.0
// Between the files of control/config: the rules between keys, and the steps from human units to
// cells and fixed point. Control thread only; pure.
#pragma once

#include "control/config/model.h"
#include "dataplane/qos/egress.h"
#include "dataplane/qos/guard.h"

struct policy;

// ---- rules between the keys of a policy that no row of the schema can see
// A rule is a named function. It looks at one subject and reports into x->s. Features have tables
// of their own (watchdogs.c, ipcc.c, guards.c). Rules that need cells and pools are in compile.c.
//
// The text of a message stands in its rule, not in the row: so the compiler compares the format
// with the values.
enum { PATH_LEN = 256 };

struct subject {
	const struct config *c;
	struct diag_sink *s;
	unsigned n; // number of the class or of the port
	const struct cfg_profile *profile; // of a profile, a class and a port
	const struct cfg_class *cls; // of a class
	const struct cfg_port *item; // of an item and of a port
	const struct config_port *port; // of a port
	const struct port_facts *facts; // of advice: as in config_compile, which made p
	const struct policy *p;
};

struct rule {
	// A class: of every profile. An item: an entry of `ports` as it is written. A port: an item
	// makes several if it has ranges.
	enum { OF_POLICY, OF_PROFILE, OF_CLASS, OF_ITEM, OF_PORT } scope;
	void (*check)(const struct subject *x);
};

// Applies every rule in turn to every subject of its scope, also after a mistake.
void check_rules(const struct rule *rules, size_t n, struct subject x);
#define CHECK_RULES(rules, ...)                                                                    \
	check_rules(rules, sizeof(rules) / sizeof((rules)[0]), (struct subject){__VA_ARGS__})

// The rules of check.c, then those of watchdogs, of IPCC, of elephants, of trimming and of
// the control plane.
void config_check(const struct config *c, struct diag_sink *s);
void control_plane_check(const struct config *c, struct diag_sink *s);
void control_plane_has_taps(const struct subject *x); // a rule of advice_add(), as the next
void vxlan_loops_end(const struct subject *x);
void watchdogs_check(const struct config *c, struct diag_sink *s);
void ipcc_check(const struct config *c, struct diag_sink *s);
void elephants_check(const struct config *c, struct diag_sink *s);
void trim_check(const struct config *c, struct diag_sink *s);
void inof_check(const struct config *c, struct diag_sink *s);
void multicast_makes_sense(const struct subject *x); // a rule of config_check
void auto_ecn_check(const struct config *c, struct diag_sink *s);

// Steps of reading a file, after the ports are expanded (load.c).
void svis_resolve(struct config *c, struct diag_sink *s); // before routes_resolve
void routes_resolve(struct config *c, struct diag_sink *s); // routes, neighbours and ECMP
void guards_resolve(struct config *c, struct diag_sink *s); // groups and their rules
void vxlan_resolve(struct config *c, struct diag_sink *s); // after routes; VNIs and peers
void inof_resolve(struct config *c, struct diag_sink *s); // zones and pins
// Checks a static address behind a peer. place: of the peer in the address table.
void vxlan_fdb_makes_sense(const struct config *c, const struct cfg_fdb *f, int place,
			   struct diag_sink *s);
// The addresses of the i-th of n ports that an item of the file makes.
void routes_port_addrs(struct config *c, struct config_port *port, unsigned i, unsigned n,
		       struct diag_sink *s);
// An address of the switch with the length of its prefix. False after a report.
bool routes_parse_addr(const struct cfg_val *v, const char *text, struct policy_addr *out,
		       struct diag_sink *s);

// Reports about `key` of a map: at its value if the file gives one, else at the map. REFUSE and
// WARN are for values that the file gives.
__attribute__((format(printf, 6, 7))) void check_report(struct diag_sink *s, enum diag_level level,
							const struct cfg_val *v,
							const struct cfg_map *m, const char *key,
							const char *fmt, ...);

// The names of the ports that `which` has, for a message: "Ethernet0, Ethernet4 and 30 more".
enum { PORTS_NAMED = 8, PORT_NAMES_LEN = PORTS_NAMED * (POLICY_NAME_LEN + 2) + 32 };
void check_port_names(const struct config *c, const bool which[POLICY_MAX_PORTS],
		      char out[PORT_NAMES_LEN]);

// Several classes may map to one group or queue. One of them gives its settings: the class that
// has any in the file, else the lowest. -1: no class maps to it.
int check_class_of_pg(const struct cfg_profile *p, unsigned pg);
int check_class_of_queue(const struct cfg_profile *p, unsigned queue);

// That of the VLAN in the file, or the least one of its ports.
uint32_t cfg_svi_mtu(const struct config *c, const struct config_svi *v);
// Why frames of an interface go to control: for the own resolver, or all that the kernel may want.
// The taps of routed ports take protocols of the link too.
uint8_t cfg_punts(const struct config *c, bool port);

// ---- compile
struct compiler {
	const struct config *c;
	const struct port_facts *facts; // NULL: a plan without devices
	uint64_t assumed_speed_bps; // of a port with a speed in neither file nor link; 0: error
	struct policy *p;
	struct diag_sink *s;
	bool no_speed[POLICY_MAX_PORTS]; // neither file nor link gives one
};

// config_compile with an assumed speed for ports whose link decides.
must_check int compile_policy(const struct config *c, const struct port_facts *facts,
			      uint64_t assumed_speed_bps, struct policy **out, struct diags *d);

// Steps of a feature with a file of its own. Each reports into k->s and goes on.
void compile_svis(struct compiler *k); // before compile_fdb, which takes their addresses
void compile_multicast(struct compiler *k); // before the memory of copies
void compile_routes(struct compiler *k); // prefixes, groups, next hops, neighbours
void compile_vxlan(struct compiler *k); // after the routes
void compile_watchdogs(struct compiler *k); // and the warnings that need the speed of a port
void compile_guards(struct compiler *k);
void compile_elephants(struct compiler *k);
void compile_trim(struct compiler *k);
// 100 % of kmin and kmax, in bytes: the queue can hold this much in an otherwise empty switch.
uint64_t compile_queue_limit(const struct compiler *k, const struct egress_params *e);
// An earlier port has the same groups, speed and profile: sums and messages are the same.
bool compile_port_repeats(const struct compiler *k, unsigned i);
// The marking of a queue with auto ECN, without thresholds; and the thresholds of all, with limits.
void compile_auto_marking(const struct cfg_class *c, struct wred_params *out);
void compile_auto_ecn(struct compiler *k);
// The class with `ecn: auto` marks too late even with the thresholds of the start.
void warn_auto_ecn_after_pfc(struct compiler *k, const struct cfg_class *c, uint64_t queue_bytes);
void compile_ipcc(struct compiler *k); // after the queues: takes their kmin and kmax

// The DSCPs of a frame hop by hop, `dscp` first, until no rule changes it. Returns their number.
// The checks of a policy make sure that each chain ends.
enum { GUARD_CHAIN_MAX = GUARD_MAX_RULES + 1 };
unsigned guard_chain(const struct guard_params *g, uint8_t dscp, uint8_t out[GUARD_CHAIN_MAX]);

// Headroom of the group as configured or computed, in bytes; 0 for lossy groups.
uint64_t compile_xoff_bytes(const struct config *c, const struct config_port *port, unsigned pg,
			    uint64_t speed_bps);

// Bytes that can be in flight towards the group after its PAUSE has left: the headroom by `auto`,
// also if the file gives another. 0 for a lossy group.
uint64_t compile_flight_bytes(const struct config *c, const struct config_port *port, unsigned pg,
			      uint64_t speed_bps);
