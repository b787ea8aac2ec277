// SPDX-License-Identifier: Apache-2.0
// The inside of a switch: what its workers and control's side (switch_*.c) share.
//
//   object                 writer                        readers
//   policy pointer         control (release)             workers (acquire, once per loop)
//   wanted (requests)      control, then seq (release)   workers (acquire seq, once per loop)
//   port (port.h)          the port's owner              control, relaxed, one word at a time
//   device of a port       control (release)             the port's owner (acquire)
//   slots of a worker      that worker                   all workers, control
//   released[w]            worker w                      ingress owners (acquire)
//   handoff a -> b         worker a                      worker b (handoff.h)
//   learn, event rings     their worker                  control
//   fdb                    control                       workers (forward/fdb.h)
//   reported[set][port]    the port's owner              workers (bridging.c)
//   copies                 all workers (atomic add)      workers, control
//   learning.taken         control                       workers
//   neighbours, adj words  control                       workers (forward/route.h)
//   punt rings of a port   the port's owner              control (frame_ring.h)
//   send rings             control                       their worker (frame_ring.h)
//   stations and zones     control (release)             workers (acquire; switch_zones.c)
//   flow shard of a worker that worker                   control; others: a pair, CNP or rate
//   note ring a -> b       worker a (congested queue)    worker b (owns the flow)
//   pair orders            control                       its worker
//   CNP records            their worker                  control
//   feed and IPCC state    owner of the queue            control: struct ipcc_counters
//   microburst ring, marks their worker                  control
//   rules of impairment    in turn (impair.h)            in turn
#pragma once

#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>

#include "dataplane/base/bits.h"
#include "dataplane/base/compiler.h"
#include "dataplane/base/port_set.h"
#include "dataplane/base/rng.h"
#include "dataplane/base/units.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/forward/route.h"
#include "dataplane/handoff.h"
#include "dataplane/packet/roce.h"
#include "dataplane/port.h"
#include "dataplane/qos/microburst.h"
#include "dataplane/roce/ipcc.h"
#include "dataplane/run.h"
#include "dataplane/switch.h"
#include "dataplane/switch_flows.h"
#include "dataplane/switch_punt.h"
#include "dataplane/switch_routes.h"
#include "dataplane/tap.h"

enum {
	MAX_CONTROL_FRAMES = 4,
	EVENT_RING = 4096,
	LEARN_RING = 4096,
	FDB_MAX = 16384,
	OWN_EVENTS = 256,
	NOTE_RING = 1024,
	CNP_RECORDS = 4096,
	PAIR_ORDERS = 1024,
	N_CEILINGS = 2,
};

// Cells of other workers' priority groups that this worker has released; monotone.
struct released {
	ctr_t any; // sum over all groups of one ingress owner, to skip idle ones
	ctr_t cells[]; // [port * N_PGS + pg]
};

// A destination whose next hop control was given lately.
enum { REQUEST_SLOTS = 64, REQUEST_AGAIN_NS = 100000000 };
struct hop_request {
	struct ip_key dst;
	uint64_t t_ns; // 0: none
};

// The way from a port to control (punt.h); made with the first policy that has a reason for it.
struct punt_port {
	struct rte_ring *ring[N_PUNT_REASONS]; // frame_ring.h; NULL: never a reason
	struct rte_ring *requests; // of struct neighbour_request
	// The port's owner's.
	struct policer policer[N_PUNT_REASONS], requests_policer, icmp;
	struct punt_counters c[N_PUNT_REASONS];
};

// Frames of routed ports whose next hop is being requested (routing.h).
enum { WAITING_MAX = 64 }; // of a worker; of a port: POLICY_PORT_WAITING
struct waiting {
	struct frame f;
	struct pkt_info pkt;
	uint64_t end_ns; // then it is dropped
	port_no_t iface; // where it came in
};
struct waiting_room {
	unsigned n;
	uint32_t version; // of the neighbours, when the frames were last looked at
	uint64_t settings; // of the policy that they came under
	struct waiting all[WAITING_MAX]; // the oldest first
};

// What a worker needs to route; made with the first policy that does.
struct worker_l3 {
	const struct neighbours *neighbours;
	struct hop_request requests[REQUEST_SLOTS];
	struct route_cache cache;
	struct waiting_room waiting;
};

// Loop detection; made with the first policy that asks for it (switch_loop.c).
struct worker_loop {
	uint64_t id; // of the switch, in its probes
	struct rte_ring *echoes; // of struct loop_echo, to control
	struct policer policer[POLICY_MAX_PORTS]; // of probes that arrive
};

// A probe with this switch's id that arrived in the VLAN that it names.
struct loop_echo {
	uint64_t nonce;
	uint32_t round;
	uint16_t vid;
	port_no_t from_port, in_port; // as the probe says; as it is
	uint16_t none[3]; // a ring copies each byte, so none may be without a value
};

// The elephants among the flows of a worker, and the sums of mice and elephants (elephants.h).
enum { ELEPHANTS_MAX = 4096 };
struct worker_elephants {
	struct elephant_params params; // of the policy as last acted upon
	uint64_t look_mask; // a flow is looked at when one of these bits of its `bytes` changes
	uint64_t look_ns; // when all elephants are next looked at; of no meaning without any
	uint32_t cursor; // the one that this round of looks comes to next
	gauge_t now;
	ctr_t began, ended;
	ctr_t refused; // flows that were no elephants because the list was full
	ctr_t packets[N_SIZES], bytes[N_SIZES];
	uint64_t began_said, ended_said, said_ns; // for events
	port_no_t latest_port; // of the latest that began
	uint8_t latest_cls;
	uint32_t places[ELEPHANTS_MAX]; // of the elephants in the table, `now` of them
};

// Watermarks of a port since `clear watermarks` but for the present window (microbursts.h).
struct microburst_marks {
	gauge_t queue[N_QUEUES], shared[N_PGS], headroom[N_PGS];
	uint8_t xoff; // groups in XOFF when the window began
};

// The windows of a worker; made with the first policy that asks for them (switch_microbursts.c).
struct worker_microbursts {
	uint64_t end_ns; // of the window; UINT64_MAX: off
	uint64_t begun_ns, window_ns;
	uint64_t busy_seen; // loops that moved a frame, when the window began
	bool holds; // a queue or group was not empty then
	struct rte_ring *records; // of struct microburst_record, to control
	ctr_t lost;
	gauge_t ingress; // of the worker's slot of the ingress pool, as the marks
	struct microburst_marks marks[]; // by port
};

// The flows that enter by a worker's ports.
struct worker_flows {
	struct flow_table table;
	struct pairing *pairing; // roce/pairing.h
	struct rte_ring *orders; // of struct known_pair, from control
	uint64_t orders_put; // control's
	ctr_t orders_taken;
	ctr_t orders_found; // orders to forget a pair that named a known flow or pair
	struct rte_ring *records; // of struct cnp_record, to control
	ctr_t records_lost;
	uint64_t policy_version; // as last acted upon
	void *table_mem, *pairing_mem; // for destroy
	uint64_t dropped_seen, refused_seen, capped_seen, said_ns; // for events
	struct worker_elephants elephants;
};

// What the owner of a queue decided about a flow of another worker's.
struct ipcc_note {
	uint32_t flow, generation;
	uint8_t verdict; // enum cnp_silence; CNP_SILENT_NONE: its sender gets a CNP
	struct cnp_record why; // complete but for key, sender_qp, source and left_by
};

// A queue that sends notifications.
struct ipcc_rt {
	struct ipcc_state state;
	struct feed feed;
	struct ipcc_counters c;
};

// Learning of addresses: what workers report of sources that the table does not know, and what
// control keeps of it.
struct learn_record {
	uint64_t key;
	uint32_t port; // where the address is: a port, or a peer of a tunnel
	uint32_t by; // the port by which the frame arrived
};

enum mac_notice_kind {
	MAC_NOTICE_LEARNED,
	MAC_NOTICE_MOVED,
	MAC_NOTICE_EVICTED,
	MAC_NOTICE_FLAPPING,
	MAC_NOTICE_STICKY,
	N_MAC_NOTICES,
};

// What control has to say about addresses of one port.
struct mac_notice {
	uint64_t key; // the first one
	uint64_t said_ns; // when the last record was given out; 0: never
	uint32_t n; // addresses since then; 0: nothing to say
	port_no_t other; // the other port, or FDB_NO_PORT
};

// Control's side of the address table (switch_learn.c). Workers read `taken`.
struct learning {
	ctr_t taken[POLICY_MAX_PORTS]; // reports of the port's addresses
	struct mac_notice (*notice)[N_MAC_NOTICES]; // of ports, and of peers behind them
	struct mac_notice aged;
	unsigned next; // of [port][kind], as one index: who says something first
	bool noted; // there is something to say
	bool full; // and it was said
};

// An address that a port's owner has just reported to control. The hash of the address selects a
// set, and each port has one slot in each set. So a flood of addresses at one port overwrites slots
// of that port only.
enum { REPORTED_SETS = 64, REPORTED_NS = 500000000 };
struct reported {
	_Atomic uint64_t key; // 0 while the slot changes
	_Atomic uint64_t t_ns;
	_Atomic port_no_t at; // the port, or the number of a peer behind it
};

struct __rte_cache_aligned worker {
	struct weir_switch *sw;
	const struct policy *pol; // of this loop; not to be read in the next one
	uint64_t policy_version; // of pol: a new policy may live at the address of an old one
	bool headroom_covered; // the headroom pool holds all that the groups may take
	bool elephants; // the policy looks for them
	uint64_t now_ns;
	uint64_t request_seen;
	uint32_t watermark_epoch;
	uint32_t n_devices_taken;
	bool busy; // this loop moved a frame
	bool settled; // this loop has settled what others released
	bool exact; // others_used is what others hold, not their ceilings
	bool hold; // admission is stopped
	uint8_t id;
	uint16_t n_owned;
	port_no_t owned[POLICY_MAX_PORTS];
	struct port_sets sets; // which ports a loop looks at
	uint64_t wake_ns[POLICY_MAX_PORTS];
	uint64_t serve_ns[POLICY_MAX_PORTS]; // as egress_serve said last
	struct rng rng;
	struct fifo_pool chunks;
	struct fdb_cache *fdb_cache;
	struct rte_ring *sends[N_SEND_KINDS]; // from control; NULL: never of use yet
	_Atomic(struct worker_microbursts *) microbursts_made; // control's: the next
	ctr_t sends_put; // control's: frames that it put there
	ctr_t sends_taken;
	_Atomic(struct worker_l3 *) l3_made; // control's: from the next policy on
	struct worker_l3 *l3; // NULL: no policy of its own has routed yet
	struct worker_loop *loop; // NULL: no policy has asked for it yet
	struct worker_vxlan *vxlan; // NULL: no policy has asked for it yet (vxlan.h)
	struct worker_flows *flows; // NULL: no flow table
	struct worker_microbursts *microbursts; // NULL: no policy of its own has asked for it yet
	bool ipcc; // some port of the switch has a queue that sends notifications
	struct rte_ring *notes[MAX_WORKERS]; // to each other worker; NULL without flow tables
	struct released *released;
	struct rte_ring *events, *learn;
	struct handoff *out[MAX_WORKERS]; // to each other worker
	// Frames that this loop has taken out of the hand-offs of others: n_from[] of each.
	struct frame *taken; // [n_workers * BURST]
	uint16_t n_from[MAX_WORKERS];
	uint16_t n_taken, n_fetched; // in all; of those, whose mbufs are fetched
	uint64_t any_seen[MAX_WORKERS];
	// Cells and claims of others, or their ceilings (admission.c).
	uint64_t others_used[N_LIMITED_POOLS];
	struct tap *tap; // NULL: no capture runs
	const struct zone_table *zones; // NULL: no hard zoning (zones.h)
	ctr_t events_lost;
	ctr_t request_done;
	struct worker_counters c;
	// Cells of each pool that the burst at hand may still charge; read by all other workers.
	gauge_t claimed __rte_cache_aligned;
	struct pool_slot slots[N_POOLS];
	// No less than cells and claims in two of the pools (admission.c); changes rarely.
	gauge_t ceiling[N_CEILINGS] __rte_cache_aligned;
};

// Control writes the order, and no other until the worker has seen this one: `n` grows by each.
struct curve_order {
	_Atomic uint64_t n;
	uint64_t policy_version; // it is for this policy
	uint64_t request; // control's
	uint8_t queue;
	struct wred_curve curve;
};

struct __rte_cache_aligned wanted {
	_Atomic uint64_t seq; // grows with each request
	_Atomic bool hold;
	_Atomic uint32_t watermark_epoch;
	_Atomic(struct tap *) tap;
	_Atomic(const struct zone_table *) zones;
	_Atomic uint16_t tx_off[POLICY_MAX_PORTS];
	// Links, as control polled them, or ports it took down; and SVIs without a port that is up.
	_Atomic bool down[N_IFACES];
	_Atomic uint8_t pfc_off[POLICY_MAX_PORTS]; // bitmaps of classes
	_Atomic uint64_t recover[POLICY_MAX_PORTS]; // a byte a class, which grows with each request
	_Atomic bool drop_all;
	_Atomic uint8_t pause[POLICY_MAX_PORTS]; // bitmaps of classes, while the policy changes
	// The latest order about thresholds (switch_ecn.c); NULL: there was none.
	_Atomic(struct curve_order *) curves[POLICY_MAX_PORTS];
	// Rules of a port (impair.h); NULL: there was none.
	_Atomic(struct impair *) impair[POLICY_MAX_PORTS];
	// Devices to take over; NULL: the first is still there.
	_Atomic(const struct switch_port *) device[POLICY_MAX_PORTS];
};

// Orders about pairs that found no room in the workers' rings yet.
struct pair_orders {
	struct known_pair *pairs; // n of them, from `next` on
	uint32_t n, next;
};

// Control watches at each port (switch.c) the drops beyond a rate, by enum limit_kind, and
// signs of a wrong configuration.
enum { WATCH_ROCE_LOSSY = N_LIMIT_KINDS, N_WATCHED };
struct limit_watch {
	uint64_t seen, before; // frames at the last look; before it began
	uint64_t last_ns; // when another was last seen
	bool exceeded;
};

struct device;
struct impair;
struct storm_port;
struct storm_rates;
struct pause_answers;
struct vtep;

// Control's side of the watchdog (switch_watchdog.c); only control touches it.
struct storms {
	bool link_down[POLICY_MAX_PORTS]; // as polled
	uint8_t taken_down[POLICY_MAX_PORTS]; // bitmap of classes for whose sake the port is down
	struct storm_port *port[POLICY_MAX_PORTS]; // NULL: no storm yet
	struct storm_rates *rates[POLICY_MAX_PORTS]; // NULL: no early warning yet
	struct pause_answers *answers[POLICY_MAX_PORTS]; // NULL: never paused the peer
	ctr_t ignored[POLICY_MAX_PORTS]; // frames that peers sent while paused
	uint64_t rates_ns; // when both were last looked at
	struct event own[OWN_EVENTS]; // for the next step to give out
	uint32_t n_own;
	uint64_t own_lost;
};

// Control's side of hard zoning (switch_zones.c).
struct zoning {
	struct zone_table *now, *before; // before: until the next one
	uint64_t request; // the latest
};

// Elements in a ring of one producer and one consumer. As rte_ring_count(), which reads without an
// atomic load what another thread writes.
static inline unsigned ring_waiting(const struct rte_ring *r)
{
	return (__atomic_load_n(&r->prod.tail, __ATOMIC_RELAXED) -
		__atomic_load_n(&r->cons.tail, __ATOMIC_RELAXED)) &
	       r->mask;
}

struct weir_switch {
	_Atomic(const struct policy *) policy;
	struct policy *policy_mem; // what control must free
	struct rte_mempool *pool;
	struct rte_rcu_qsbr *qsbr;
	struct fdb fdb;
	struct reported *reported; // [REPORTED_SETS][n_ports] (bridging.c)
	struct neighbours neighbours;
	struct route_table *retired_tables; // until the end of their grace
	port_no_t punt_next[N_PUNT_REASONS], requests_next; // port that control asks first, in turn
	uint32_t n_impairments; // so far
	uint32_t n_tables; // made so far, for their names
	uint32_t n_ports, n_workers;
	uint32_t frame_cells; // of the longest frame of any port
	struct worker *workers[MAX_WORKERS];
	struct switch_port *ports;
	struct port **port; // by number
	uint8_t *owner; // by port
	struct wanted want;
	bool static_due; // addresses of the policy wait for room in the table
	bool static_stale; // those of the policy before go at the end of its grace
	uint64_t static_token;
	uint64_t link_polled_ns, link_poll_ns;
	bool port_gone[POLICY_MAX_PORTS]; // and it was said
	struct device *device[POLICY_MAX_PORTS]; // switch.c; NULL: never replaced
	uint64_t rx_missed[POLICY_MAX_PORTS]; // as last reported
	struct storms storms;
	struct learning learning;
	struct zoning zoning;
	struct limit_watch (*limits)[N_WATCHED]; // by port
	uint64_t limits_ns; // when they were last looked at
	struct loops *loops; // NULL: no policy has asked for it yet
	struct tunnels *tunnels; // likewise (switch_vxlan.c)
	uint64_t (*random)(void); // NULL: numbers that follow from the seed
	uint64_t seed;
	struct pair_orders orders;
	uint32_t hash_seed; // of tables whose keys neighbours choose
	uint32_t copy_frames; // frames of the pool for copies, beyond those of the buffer
	uint64_t pool_most[N_POOLS]; // cells; largest size since the watermarks were cleared
	_Atomic uint32_t copies __rte_cache_aligned; // and records, of replicated frames
};

static inline struct port *worker_port(const struct worker *w, unsigned port)
{
	return w->sw->port[port];
}

// Where the headers of a received frame begin, for a prefetch: the mbuf is not read. A frame that
// was given a tag begins 4 bytes earlier.
static inline const void *frame_headers(const struct rte_mbuf *m)
{
	return (const uint8_t *)m + sizeof(*m) + RTE_PKTMBUF_HEADROOM;
}

// The flow of a frame as an id in the shard of its port of arrival's owner, kept in the mbuf. Only
// where there is a flow table; FLOW_NONE: none.
static inline uint32_t frame_flow(const struct frame *f)
{
	return f->m->hash.rss;
}

// Fetches mbufs of some frames that were taken out of hand-offs, between two stages of a loop.
enum { FETCH_AT_ONCE = 8 };
static inline void fetch_taken(struct worker *w)
{
	for (unsigned i = 0; i < FETCH_AT_ONCE && w->n_fetched < w->n_taken; i++) {
		const uint8_t *m = (const uint8_t *)w->taken[w->n_fetched++].m;

		rte_prefetch0(m);
		rte_prefetch0(m + RTE_CACHE_LINE_SIZE);
	}
}

static inline struct worker_flows *flows_of_port(const struct weir_switch *sw, unsigned port)
{
	return sw->workers[sw->owner[port]]->flows;
}

// ---- worker.c, for all files of a worker

void worker_event(struct worker *w, enum event_type type, unsigned port, unsigned cls, uint32_t a,
		  uint64_t b);
// The worker goes by this policy from now on.
void worker_use_policy(struct worker *w, const struct policy *pol);
// The port uses this device from now on.
void device_bind(struct port *p, const struct switch_port *device);

// ---- control's side: switch.c
// A ring of n elements with one writer and one reader, or NULL; rte_free() frees it. It has no name
// in DPDK, which has 2560 of them for a process: a fabric has thousands of ports.
struct rte_ring *switch_ring(unsigned elem, uint32_t n);
// Something in `want` has changed.
void control_request(struct weir_switch *sw);

// ---- switch_numbers.c
// The policy has changed, or (anew) the watermarks are cleared.
void numbers_pools(struct weir_switch *sw, bool anew);

// ---- switch_routes.c
void routes_before_publish(struct weir_switch *sw, struct policy *p);
void routes_retire(struct weir_switch *sw, struct policy *old, uint64_t token);
void routes_control(struct weir_switch *sw); // frees what no worker reads any more
void routes_free_retired(struct weir_switch *sw);
void routes_destroy(struct weir_switch *sw);

// ---- switch_punt.c
int punts_prepare(struct weir_switch *sw, const struct policy *p);
void punts_destroy(struct weir_switch *sw);

// ---- switch_flows.c
void flows_control(struct weir_switch *sw); // gives out orders that there was no room for
void flows_free_ipcc(struct port *p);

// ---- switch_loop.c
int loops_prepare(struct weir_switch *sw, const struct policy *p);
void loops_free(struct weir_switch *sw);
// Once per control step. Writes up to n events.
unsigned loops_control(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n);
bool loops_hold(const struct weir_switch *sw, unsigned port); // down for the sake of a loop

// ---- switch_microbursts.c
int microbursts_prepare(struct weir_switch *sw, const struct policy *p);
void microbursts_free(struct weir_switch *sw);
uint64_t microbursts_pool_max(const struct worker *w, unsigned pool); // cells

// ---- switch_ecn.c
void ecn_free(struct weir_switch *sw);

// ---- switch_zones.c
void zones_free(struct weir_switch *sw);

// ---- switch_vxlan.c
int vxlan_prepare(struct weir_switch *sw, const struct policy *p);
void vxlan_free(struct weir_switch *sw);
void vxlan_before_publish(struct weir_switch *sw, const struct vtep *v); // NULL: no tunnels
void vxlan_control(struct weir_switch *sw); // after reports of addresses were taken

// ---- switch_watchdog.c: parts of switch_control_step, in this order
// A port is down when its link is, or when an escalation took it down.
void control_port_down(struct weir_switch *sw, unsigned port);
// Reads the watchdogs' counters: counts storms, escalates. No record of a worker is needed.
void storms_pass(struct weir_switch *sw);
void storms_rates(struct weir_switch *sw, uint64_t now_ns);
// A record of control's own, for storms_say to give out.
void control_say(struct weir_switch *sw, enum event_type type, unsigned port, unsigned cls,
		 uint32_t a, uint64_t b);
// Gives out control's own records. Returns how many.
unsigned storms_say(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n);
void storms_new_policy(struct weir_switch *sw);
void storms_free(struct weir_switch *sw);

// ---- switch_learn.c: rows of learning.notice
unsigned learn_n_rows(const struct weir_switch *sw);

// Parts of switch_control_step. Return how many records they gave out.
// Learns what workers report.
unsigned learn_control(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n);
// Forgets a few addresses that are too old.
unsigned learn_age(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n);
// Limits and shares of the ports.
void learn_new_policy(struct weir_switch *sw);
