// SPDX-License-Identifier: Apache-2.0
// A scenario that runs: switches with compiled policies, wires, emulated NICs, all on one virtual
// clock in one thread, and the faults of the scenario at their times. It does not know traffic
// (traffic.h), numbers (measure.h) or reports.
#pragma once

#include "control/instance/service.h"
#include "control/lab/ledger.h"
#include "control/lab/level.h"
#include "control/lab/routes.h"
#include "control/lab/scenario.h"
#include "dataplane/switch.h"
#include "drivers/nic/nic.h"
#include "drivers/wire/vclock.h"
#include "drivers/wire/wire.h"

// A host of iNOF begins to use the path to another host, or ends it (inof.h). forced: messages
// under way fail; else they may be sent again.
struct fabric_path {
	uint32_t src, dst;
	bool begins, forced;
};

// Hooks of all NICs, set before the first step; arg is given back as it is.
struct fabric_hooks {
	void (*done)(void *arg, uint32_t host, const struct nic_done *d);
	void (*served)(void *arg, uint32_t host, const struct nic_served *s);
	void (*path)(void *arg, const struct fabric_path *p); // between the steps of NICs
	void *arg;
};

struct fabric_switch {
	const struct sc_switch *sc;
	struct worker *worker; // if it has but one
	struct actor actor; // all its workers
	struct instance in;
	struct vtimer look; // at a reload that is under way
	struct port_memory memory[POLICY_MAX_PORTS];
	struct fabric *fabric;
	const struct sc_fault *reload; // the last one; NULL: none
	bool wants_policy; // another one, when the reload before is settled
	uint64_t events_lost; // as last seen
	struct watches crossings; // watches of queues that rise
	bool captured;
	struct levels levels; // the readers of queue lengths
	struct flow_book book;
	uint64_t mismatches[POLICY_MAX_PORTS]; // events dcbx-mismatch
};

struct fabric_host {
	const struct sc_host *sc;
	struct nic *nic;
	struct actor actor;
	struct nic_memory memory;
	struct fabric *fabric;
};

struct fabric_link {
	const struct sc_link *sc;
	struct wire *wire; // side i is sc->end[i]
};

struct fabric_fault;
struct chain_fabric;
struct discovery;
struct lab_inof;
struct operator;
struct policy;

struct fabric {
	const struct scenario *sc;
	struct vclock clock;
	struct rte_mempool *pool;
	struct routes routes;
	struct fabric_switch *switches;
	struct fabric_host *hosts;
	struct fabric_link *links;
	uint8_t *ends_down; // by link, of its ends at switches: bit 0 the first
	struct wire **loose; // of ports without a link, by port of the scenario; NULL: linked
	uint64_t rto_ns; // retransmission timer of hosts without the key `rto`
	struct fabric_fault *faults;
	uint32_t n_faults_begun;
	struct chain_fabric *chain; // why it stands still
	struct storm_log storms;
	// Some host, or some policy of a switch at the start or of a reload, has it.
	bool has_lldp, has_inof;
	struct discovery *discovery; // of hosts that speak LLDP; NULL: none does
	struct lab_inof *inof; // of hosts, and between switches; NULL: without has_inof
	struct lab_capture *capture; // NULL: none; the caller's
	struct operator *operator; // NULL: no command is typed
	struct cnp_judge *cnps; // whether notifications were right
	struct watches cuts; // watches of rates that are cut
	struct fabric_hooks hooks;
	uint64_t n_events; // alarms: lossless drops seen, with the first of them below
	struct fabric_loss {
		bool seen;
		uint32_t sw;
		port_no_t port;
		uint8_t cls;
		uint64_t t_ns, count;
	} first_loss;
	bool out_of_memory; // frames ran out: nothing measured since is true
};

// Compiles every switch's policy (mistakes in *d), derives routes or addresses, makes everything.
// 0, -EINVAL, -ENOMEM. EAL is started by the first call.
__attribute__((warn_unused_result)) int fabric_create(const struct scenario *sc,
						      const struct fabric_hooks *hooks,
						      struct fabric **out, struct diags *d);
void fabric_destroy(struct fabric *f); // NULL is fine

// Everything up to and including t_ns. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int fabric_run_until(struct fabric *f, uint64_t t_ns);

// Control reads the events of the switches since the last call. Called at the end of a run too.
void fabric_look(struct fabric *f);

// Compiles the policies only: what can be wrong without making anything. 0 or -EINVAL.
__attribute__((warn_unused_result)) int fabric_check(const struct scenario *sc, struct diags *d);

// Makes two hosts known to each other's NIC, before nic_connect or nic_flow_add. 0 or -ENOSPC.
__attribute__((warn_unused_result)) int fabric_introduce(struct fabric *f, uint32_t a, uint32_t b,
							 bool by_ip6);

struct wire_end *fabric_host_end(const struct fabric *f, uint32_t host);

// After something was posted on a NIC from outside its own step.
void fabric_poke_host(struct fabric *f, uint32_t host);

// Link frames delivered so far: the packet-hops of the speed figure.
uint64_t fabric_hops(const struct fabric *f);

// The accounts: per switch begun = ended + queued, per wire sent = delivered + lost + in flight.
// The first that does not close is described in text; true: all close.
bool fabric_balanced(const struct fabric *f, char *text, size_t len);

// ---- fabric_policy.c: the file of each switch, compiled for the ports that it has in the
// scenario, with addresses or routes for every host
// The policy of a switch as it starts, or with the keys of a reload over it. *config owns what
// messages of later reloads compare with. 0 or -EINVAL.
int fabric_policy(const struct fabric *f, uint32_t sw, const struct sc_fault *reload,
		  struct config **config, struct policy **policy, struct diags *d);
// Policies of all switches and of all reloads. Each message is given once.
int fabric_policies(struct fabric *f, struct diags *d);
struct switch_port fabric_port(const struct fabric *f, uint32_t sw, uint32_t port);

// ---- fabric_memory.c
// Bytes stored of a frame, unless whole ones are asked for: headers are all that the switches read
// (nic_config.snap).
enum { FABRIC_SNAP = 128 };

// Starts EAL if need be and makes the frame pool. 0 or -ENOMEM.
int fabric_memory(struct fabric *f);
void fabric_memory_free(struct fabric *f);
// The end belongs to the port, or to the NIC: events of the end fetch what a step needs.
void fabric_fetch_port(struct fabric_switch *s, uint32_t port, struct wire_end *end);
void fabric_fetch_nic(struct fabric_host *h, struct wire_end *end);
bool fabric_memory_short(const struct fabric *f); // a frame was wanted and there was none
