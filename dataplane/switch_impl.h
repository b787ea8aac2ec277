// SPDX-License-Identifier: Apache-2.0
// The inside of a switch, shared by switch.c (control's side) and worker*.c (the workers' side).
//
//   object                 writer                        readers
//   policy pointer         control (release)             workers (acquire, once per loop)
//   wanted (requests)      control, then seq (release)   workers (acquire seq, once per loop)
//   port_rt                the port's owner              control, relaxed, one word at a time
//   device of a port       control (release)             the port's owner (acquire)
//   slots of a worker      that worker                   all workers, control
//   released[w]            worker w                      ingress owners (acquire)
//   handoff ring a -> b    worker a                      worker b
//   learn, event rings     their worker                  control
//   fdb                    control                       workers (forward/fdb.h)
//   heard[set][port]       the port's owner              workers (worker_flood.c)
//   learning.taken         control                       workers
//   neighbours, adj words  control                       workers (forward/neighbours.h, route.h)
//   punt rings of a port   the port's owner              control
//   send rings             control                       their worker
//   flow shard of a worker that worker                   control; others: pair, told, rate of one
//   note ring a -> b       worker a (congested queue)    worker b (owns the flow)
//   pair orders            control                       its worker
//   CNP records            their worker                  control
//   feed and IPCC state    owner of the queue            control: struct ipcc_counters
#pragma once

#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>

#include "dataplane/bits.h"
#include "dataplane/compiler.h"
#include "dataplane/fifo.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/port_limits.h"
#include "dataplane/port_set.h"
#include "dataplane/packet/roce.h"
#include "dataplane/forward/route.h"
#include "dataplane/replica.h"
#include "dataplane/rng.h"
#include "dataplane/roce/feed.h"
#include "dataplane/switch.h"
#include "dataplane/switch_flows.h"
#include "dataplane/switch_learn.h"
#include "dataplane/units.h"
#include "dataplane/waiting.h"
#include "dataplane/switch_routes.h"
#include "dataplane/tap.h"


enum {
	CLASS_NONE = 0xff,
	MAX_WORKERS = 64,
	BURST = 32,
	MAX_CONTROL_FRAMES = 4,
	EVENT_RING = 4096,
	LEARN_RING = 4096,
	FDB_MAX = 16384,
	OWN_EVENTS = 256,
	NOTE_RING = 1024,
	CNP_RECORDS = 4096,
	PAIR_ORDERS = 1024,
	TX_OFF_PORT = 1 << 8, // in tx_off, beside one bit per queue
	RX_GUARD_CHECK_FRAMES = BURST,
};

// A port as its owner sees it. Members above `rx` are egress, below ingress.
struct __rte_cache_aligned port_rt {
	const struct port_ops *ops;
	void *drv;
	const struct switch_port *device; // as last taken over; NULL: the first is still there
	uint8_t backlog; // bitmap of queues that hold a frame
	uint8_t xoff_pgs; // bitmap of groups in XOFF
	bool up, guard, driver_wakes;
	bool early_pause; // the driver's words pause, not the frames in its ring
	uint16_t tx_off; // bitmap of queues, TX_OFF_PORT
	uint16_t n_held;
	uint16_t tx_burst; // 1..BURST
	// The watchdog's word (worker_watchdog.c), bitmaps of classes; all are 0 nearly always.
	uint8_t stormed; // in recovery, whatever the action
	uint8_t unprotected; // neither obey nor send PFC: most of those, and all that control wants
	uint8_t discarded; // of the unprotected: their frames are dropped
	uint8_t sifting; // queues that are not served until discarded frames are out of them
	uint32_t head_len[N_QUEUES]; // of each queue's first frame
	struct shaper_state shaper;
	struct sched_state sched;
	struct fifo fifo[N_QUEUES];
	struct egress_state egress[N_QUEUES];
	struct wred_state wred[N_QUEUES];
	struct pfc_rx_state pfc_rx;
	uint32_t pause_seq[N_CLASSES]; // of the driver's words, as last acted upon
	uint8_t pause_classes; // whose words are acted upon
	struct pfc_tx_state pfc_tx;
	struct frame held[BURST]; // left the queue, refused by the driver
	struct queue_counters queue[N_QUEUES];
	// Cells by account and queue, [in_port * N_PGS + pg]: what a PAUSE of that group waits for.
	_Atomic uint32_t (*held_cells)[N_QUEUES];
	// the rest of the watchdog: bitmaps of classes
	uint8_t watched;
	uint8_t pfc_off; // control wants them unprotected
	bool drop_all; // control wants all lossless classes discarded
	uint64_t recover_seen; // wanted.recover as last acted upon
	uint64_t waiting_ns[N_QUEUES]; // when the queue became non-empty
	uint64_t sent_ns[N_QUEUES]; // when a frame last left it while it was paused
	struct fifo_sift sift; // of the queue in sift_begun
	uint8_t sift_begun, sift_again; // bitmaps of queues, of those in sifting
	ctr_t reports; // of source addresses, put into the learn ring
	ctr_t storms; // detected so far, of all classes
	struct watchdog_class watchdog[N_CLASSES];
	// Notifications (worker_ipcc.c). Made by control before a policy first wants them, kept.
	uint8_t ipcc_queues; // bitmap, of the policy at hand; 0 nearly always
	_Atomic(struct ipcc_rt *) ipcc[N_QUEUES];
	uint8_t mac[6]; // of the device
	// ingress
	uint8_t excused_pgs; // they or the receive ring are full since before PFC was on again
	struct pg_state pg[N_PGS];
	gauge_t skid_used; // cells
	struct pg_counters pg_counters[N_PGS];
	struct port_counters c;
	struct drop_counters drops[N_CLASSES][N_DROP_REASONS];
	struct cause_record cause[N_PGS];
	struct {
		uint8_t port, queue;
	} xoff_by[N_PGS]; // where the frame was going with which the group entered XOFF
	uint64_t unknown_said_ns; // when the last event of a frame that was not flooded was made
	uint64_t guard_said_ns; // when the last event of the receive-ring guard was made
	uint64_t guards_unsaid; // times that the guard began since then
	ctr_t remapped[GUARD_MAX_RULES];
	struct port_flow_counters flows;
	struct cnp_bucket cnps; // that leave by this port
	struct policer storm[N_LIMIT_KINDS], storm_bpdu;
	uint64_t seen_released[MAX_WORKERS][N_PGS]; // of other workers' releases, already settled
};

// A priority group of a port, as an index.
static inline unsigned account_index(unsigned in_port, unsigned pg)
{
	return in_port * N_PGS + pg;
}

// Cells of another worker's priority groups that this worker let go; monotone.
struct released {
	ctr_t any; // sum over all groups of one ingress owner, to skip idle ones
	ctr_t cells[]; // [port * N_PGS + pg]
};

// A destination of which control was told.
enum { ASKED_SLOTS = 64, ASK_AGAIN_NS = 100000000 };
struct asked {
	struct ip_key dst;
	uint64_t t_ns; // 0: none
};

// What a worker needs to route; made with the first policy that does.
struct worker_l3 {
	const struct neighbours *neighbours;
	struct rte_ring *sends[N_SEND_KINDS]; // by enum send_kind
	struct punt_port *punt[POLICY_MAX_PORTS]; // of owned ports; NULL: never routed
	struct asked asked[ASKED_SLOTS];
	struct route_cache cache;
	struct waiting_room waiting;
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
};

// What the owner of a queue has to say about a flow of another worker's.
struct ipcc_note {
	uint32_t flow, generation;
	uint8_t verdict; // enum cnp_silence; CNP_SILENT_NONE: it is to be told
	struct cnp_record why; // complete but for key, sender_qp, source and left_by
};

// A queue that sends notifications.
struct ipcc_rt {
	struct ipcc_state state;
	struct feed feed;
	struct ipcc_counters c;
};

struct __rte_cache_aligned worker {
	struct weir_switch *sw;
	const struct policy *pol; // of this loop; not to be read in the next one
	uint64_t policy_version; // of pol: a new policy may live at the address of an old one
	bool headroom_covered; // the headroom pool holds all that the groups may take
	uint64_t now_ns;
	uint64_t request_seen;
	uint32_t watermark_epoch;
	uint32_t n_devices_taken;
	bool busy; // this loop moved a frame
	bool refreshed; // this loop has read what others hold and released
	bool hold; // admission is stopped
	uint8_t id;
	uint8_t n_owned;
	uint8_t owned[POLICY_MAX_PORTS];
	// Which ports a loop looks at (worker.c).
	struct port_set every; // all it owns
	struct port_set polled; // whose driver does not tell
	struct port_set called; // something happened since the last loop; also set by drivers
	struct port_set due; // this loop's
	struct port_set timed; // with a time to be looked at again, wake_ns
	struct port_set xoff; // with a group in XOFF
	uint64_t wake_ns[POLICY_MAX_PORTS];
	uint64_t serve_ns[POLICY_MAX_PORTS]; // as egress_serve said last
	struct rng rng;
	struct fifo_pool chunks;
	struct fdb_cache *fdb_cache;
	struct worker_l3 *l3; // NULL: no policy has routed yet
	struct worker_loop *loop; // NULL: no policy has asked for it yet
	struct worker_flows *flows; // NULL: no flow table
	bool ipcc; // some port of the switch has a queue that sends notifications
	struct rte_ring *notes[MAX_WORKERS]; // to each other worker; NULL without flow tables
	struct released *released;
	struct rte_ring *events, *learn;
	struct rte_ring *out[MAX_WORKERS]; // hand-off to each other worker
	uint64_t any_seen[MAX_WORKERS];
	// Cells and claims, as read at the last account_refresh.
	uint64_t others_used[N_LIMITED_POOLS];
	struct tap *tap; // NULL: nobody watches
	ctr_t events_lost;
	ctr_t handed, taken; // frames put into, and taken out of, hand-off rings
	ctr_t request_done;
	struct worker_counters c;
	// Cells of each pool that the burst at hand may still charge; read by all other workers.
	gauge_t claimed __rte_cache_aligned;
	struct pool_slot slots[N_POOLS];
};

struct __rte_cache_aligned wanted {
	_Atomic uint64_t seq; // grows with each request
	_Atomic bool hold;
	_Atomic uint32_t watermark_epoch;
	_Atomic(struct tap *) tap;
	_Atomic uint16_t tx_off[POLICY_MAX_PORTS];
	_Atomic bool down[POLICY_MAX_PORTS]; // links, as control polled them, or ports it took down
	_Atomic uint8_t pfc_off[POLICY_MAX_PORTS]; // bitmaps of classes
	_Atomic uint64_t recover[POLICY_MAX_PORTS]; // a byte a class, which grows with each request
	_Atomic bool drop_all;
	_Atomic uint8_t pause[POLICY_MAX_PORTS]; // bitmaps of classes, while the policy changes
	// Devices to take over; NULL: the first is still there.
	_Atomic(const struct switch_port *) device[POLICY_MAX_PORTS];
};

// What control has to say about pairs and had no room for yet.
struct pair_orders {
	struct known_pair *pairs; // n of them, from `next` on
	uint32_t n, next;
};

struct device;
struct storm_port;
struct storm_rates;

// Control's side of the watchdog (switch_watchdog.c); only control touches it.
struct storms {
	bool link_down[POLICY_MAX_PORTS]; // as polled
	uint8_t taken_down[POLICY_MAX_PORTS]; // bitmap of classes for whose sake the port is down
	struct storm_port *port[POLICY_MAX_PORTS]; // NULL: no storm yet
	struct storm_rates *rates[POLICY_MAX_PORTS]; // NULL: no early warning yet
	uint64_t rates_ns; // when they were last looked at
	struct event own[OWN_EVENTS]; // for the next step to give out
	uint32_t n_own;
	uint64_t own_lost;
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
	struct heard *heard; // [HEARD_SETS][n_ports], worker_flood.h
	struct neighbours neighbours;
	struct route_table *retired_tables; // until the end of their grace
	uint8_t punt_next[N_PUNT_KINDS]; // port that control asks first, in turn
	uint32_t n_tables; // made so far, for their names
	uint32_t n_ports, n_workers;
	uint32_t frame_cells; // of the longest frame of any port
	struct worker *workers[MAX_WORKERS];
	struct switch_port *ports;
	struct port_rt **rt; // by port
	uint8_t *owner; // by port
	struct wanted want;
	bool static_due; // addresses of the policy wait for room in the table
	bool static_stale; // those of the policy before go at the end of its grace
	uint64_t static_token;
	uint64_t link_polled_ns, link_poll_ns;
	bool port_gone[POLICY_MAX_PORTS]; // and it was said
	struct device *device[POLICY_MAX_PORTS]; // switch_device.c; NULL: never replaced
	uint64_t rx_missed[POLICY_MAX_PORTS]; // as last reported
	struct storms storms;
	struct learning learning;
	struct limit_watch (*limits)[N_WATCHED]; // by port
	uint64_t limits_ns; // when they were last looked at
	struct loops *loops; // NULL: no policy has asked for it yet
	uint64_t (*random)(void); // NULL: numbers that follow from the seed
	uint64_t seed;
	struct pair_orders orders;
	uint32_t hash_seed; // of tables whose keys neighbours choose
	uint32_t copy_frames; // frames of the pool for copies, beyond those of the buffer
	_Atomic uint32_t copies __rte_cache_aligned; // and records, of replicated frames
};

static inline struct port_rt *worker_port(const struct worker *w, unsigned port)
{
	return w->sw->rt[port];
}

// ---- worker_account.c
// Settles what other workers released and reads what they hold; before each burst.
void account_refresh(struct worker *w);
// The same before a burst of n frames, whose cells are claimed until account_done.
void account_claim(struct worker *w, unsigned n);
void account_done(struct worker *w);
// Charges the frame, or drops it. True: the frame may go on.
bool account_admit(struct worker *w, struct frame *f);
// The same for a frame that is replicated: n frames of the pool for its copies are counted already.
bool account_admit_replicated(struct worker *w, struct frame *f, unsigned n);
// Charges frames of one group at once: cells in all, `least` of the smallest. False: nothing was
// done, they must be admitted one by one.
bool account_admit_alike(struct worker *w, const struct frame *first, uint32_t cells,
			 uint32_t least);
// Cells that frames of f's group may still take of its min.
uint32_t account_min_left(const struct worker *w, const struct frame *f);
// Gives back the cells of frames that left, or were dropped at egress.
void account_release(struct worker *w, unsigned in_port, unsigned pg, uint32_t cells);
// Settles, then lets groups leave XOFF that may; once per loop.
void account_settle(struct worker *w);
// Takes a new policy's word.
void account_new_policy(struct worker *w);
// Sends the PFC frame that is due, if any. Returns when the next one is.
uint64_t account_pfc_now(struct worker *w, unsigned port);
static inline uint64_t account_pfc(struct worker *w, unsigned port)
{
	const struct port_rt *p = worker_port(w, port);

	if (p->xoff_pgs == 0 && !p->guard && (p->pfc_tx.paused | p->pfc_tx.asked) == 0)
		return UINT64_MAX; // as nearly always
	return account_pfc_now(w, port);
}

// ---- worker_cause.c
// The queue that holds most of a group; CAUSE_NONE where none holds any. Pauses that last no longer
// than till at_ns are over. at_hand, if not NULL: a frame of it that is on its way to its queue. Of
// workers and of control: pol is what they go by.
struct pause_cause cause_search(const struct weir_switch *sw, const struct policy *pol,
				uint64_t at_ns, unsigned account, const struct frame *at_hand);
// The group of f enters XOFF with it. Returns the cause, packed.
uint64_t cause_of_xoff(struct worker *w, const struct frame *f);
// A PFC frame has left: keeps the causes of what it pauses.
void cause_of_pauses(struct worker *w, unsigned port, const struct pfc_times *times);

// ---- worker_guard.c
// The port of departure is known, and in a group: a frame that turns back gets class and queue by
// the rule that is returned. NULL: it stays as it is.
const struct guard_rule *guard_turn(const struct worker *w, struct frame *f, uint8_t dscp);
// Counts the frame under its rule. Returns the DSCP that it gets.
uint8_t guard_turned(struct worker *w, const struct frame *f, const struct guard_rule *r);

// ---- worker_flows.c
// The flow of a frame as an id in the shard of its port of arrival's owner, kept in the mbuf. Only
// where there is a flow table; FLOW_NONE: none.
static inline uint32_t frame_flow(const struct frame *f)
{
	return f->m->hash.rss;
}

static inline struct worker_flows *flows_of_port(const struct weir_switch *sw, unsigned port)
{
	return sw->workers[sw->owner[port]]->flows;
}

// Finds or makes the flows of a burst of one port, counts, and tells pairing. Sets frame_flow of
// all of them, and `answer` of those that pairing wants to hear of.
void flows_burst(struct worker *w, struct frame *frames, const struct pkt_info *pkts, unsigned n);
// ---- worker_flows_out.c
// What a flow that is gone means to pairing.
struct flow_hooks flows_hooks(struct worker_flows *wf);
struct pair_answer;
// What pairing wants to know of a frame that arrived, beyond what it says.
struct pair_answer flows_answer(const struct worker *w, const struct frame *f,
				const struct pkt_info *pkt, const struct roce_msg *msg);
// These know their way out.
void flows_went(struct worker *w, const struct frame *frames, unsigned n);
// A frame marked `answer` leaves by a port of this worker's.
void flows_hear(struct worker *w, const struct frame *f);
// Of those, a READ request.
static inline bool flows_asks(const struct pkt_info *pkt)
{
	return roce_role_of_opcode[pkt->bth_opcode] == ROCE_ROLE_READ_REQUEST;
}
// Once per loop: ageing, what control has to say, events.
void flows_tick(struct worker *w);

// ---- worker_ipcc.c
// Frames of one queue that sends notifications have entered it.
void ipcc_fed(struct worker *w, const struct frame *frames, unsigned n);
// Sends the CNPs that other workers ask for, and looks at the queues of the ports that are due;
// between what enters the queues and what leaves them.
void ipcc_run_now(struct worker *w);
static inline void ipcc_run(struct worker *w)
{
	if (unlikely(w->ipcc))
		ipcc_run_now(w);
}
// When the port is to be looked at for its sake.
uint64_t ipcc_wake_ns(const struct worker *w, unsigned port);
static inline uint64_t ipcc_wake(const struct worker *w, unsigned port)
{
	return worker_port(w, port)->ipcc_queues == 0 ? UINT64_MAX : ipcc_wake_ns(w, port);
}
void ipcc_new_policy(struct worker *w);
// The frame's flow has just been told: it is not to be marked as well.
bool ipcc_spares(const struct worker *w, const struct frame *f);

// ---- switch_flows_ipcc.c
void flows_free_ipcc(struct port_rt *p);

// ---- worker_ingress.c
// Receives one burst of a port and admits it. True when there may be more.
bool ingress_poll(struct worker *w, unsigned port);
// What the frame needs to leave by its port. False: the frame does not fit and was dropped.
bool ingress_make_ready(struct worker *w, struct frame *f, unsigned vid, bool tagged,
			const struct pkt_info *pkt);
// Gives frames that are alike, with all their cells, to the owner of their egress port.
void ingress_hand_over(struct worker *w, struct frame *frames, unsigned n, uint32_t cells);

// ---- worker_route.c
// Forwards frames of one routed port by their IP addresses; those that know their way stay, in
// order. Returns how many.
unsigned route_burst(struct worker *w, struct frame *frames, const struct pkt_info *pkts,
		     unsigned n);
// ---- worker_send.c
// Sends what control wants sent by the worker's ports; only where the policy says control_sends.
void control_frames_send(struct worker *w);

// ---- switch_routes.c
void routes_before_publish(struct weir_switch *sw, struct policy *p);
void routes_retire(struct weir_switch *sw, struct policy *old, uint64_t token);
void routes_control(struct weir_switch *sw); // frees what no worker reads any more
void routes_free_retired(struct weir_switch *sw);
void routes_destroy(struct weir_switch *sw);

// ---- switch_flows.c
void flows_control(struct weir_switch *sw); // says what there was no room for

// ---- switch.c
// A ring of n elements with one writer and one reader, or NULL.
struct rte_ring *switch_ring(const struct weir_switch *sw, const char *kind, unsigned from,
			     unsigned to, unsigned elem, uint32_t n);
// Something in `want` has changed.
void control_request(struct weir_switch *sw);

// ---- switch_device.c
void devices_free(struct weir_switch *sw);
bool device_is_gone(const struct switch_port *p);

// ---- switch_watchdog.c: parts of switch_control_step, in this order
// A port is down when its link is, or when an escalation took it down.
void control_port_down(struct weir_switch *sw, unsigned port);
// Reads the watchdogs' counters: counts storms, escalates. No record of a worker is needed.
void storms_pass(struct weir_switch *sw);
void storms_rates(struct weir_switch *sw, uint64_t now_ns);
// A record of control's own, for storms_say to give out.
void control_say(struct weir_switch *sw, enum event_type type, unsigned port, unsigned cls,
		 uint32_t a, uint64_t b);
// Gives out what control itself has to say. Returns how many.
unsigned storms_say(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n);
void storms_new_policy(struct weir_switch *sw);
void storms_free(struct weir_switch *sw);

// ---- worker_device.c
// The port uses this device from now on.
void device_bind(struct port_rt *p, const struct switch_port *device);
// Control wants another device for the port.
static inline bool device_waits(const struct worker *w, unsigned port)
{
	const struct switch_port *d =
		atomic_load_explicit(&w->sw->want.device[port], memory_order_relaxed);

	return d != worker_port(w, port)->device;
}
// Takes the device over. The port is down, so no frame waits for the device before. link_change()
// ignores the early PFC words from before the port comes up.
void device_take(struct worker *w, unsigned port);

// ---- worker_pause.c
// The driver's early PFC words (port.h): those of today are old news.
void early_pause_init(struct port_rt *p);
// Lets words that changed since pause and resume the port's queues.
void early_pause_look(struct worker *w, unsigned port);
static inline void early_pause_poll(struct worker *w, unsigned port)
{
	const struct port_rt *p = worker_port(w, port);

	if (p->early_pause && p->up)
		early_pause_look(w, port);
}
// The link went down or came up: what was said before means nothing any more.
void early_pause_forget(struct port_rt *p);
// Words of classes that a new policy makes lossless are old news too.
void early_pause_new_policy(struct port_rt *p, uint8_t lossless);

// ---- worker_watchdog.c
// What follows for the port from its classes in a storm, the policy's action and control's wishes
// (p->pfc_off, p->drop_all, p->up): to be called after any of them has changed.
void watchdog_recompute(struct worker *w, unsigned port);
// Ends a storm of the class at once, if there is one.
void watchdog_recover(struct worker *w, unsigned port, unsigned cls);
// Admission was held, and is so no more.
void watchdog_after_hold(struct worker *w, unsigned port);
// Finds storms and their ends; pauses that have run out must have ended.
void watchdog_look(struct worker *w, unsigned port);
static inline void watchdog_poll(struct worker *w, unsigned port)
{
	const struct port_rt *p = worker_port(w, port);

	if (unlikely((p->pfc_rx.paused | p->stormed) != 0) && !w->hold)
		watchdog_look(w, port);
}
// When the port is to be looked at for its sake.
uint64_t watchdog_wake_ns(const struct worker *w, unsigned port);
static inline uint64_t watchdog_wake(const struct worker *w, unsigned port)
{
	const struct port_rt *p = worker_port(w, port);

	if ((p->pfc_rx.paused | p->stormed | p->sifting) == 0)
		return UINT64_MAX;
	return watchdog_wake_ns(w, port);
}
// A PFC frame was received; only while the port has a storm.
void watchdog_hear(struct worker *w, unsigned port, const struct pfc_times *times);
// What befell frames of the port's stormed classes; only while it has a storm.
void watchdog_sent(struct port_rt *p, const struct frame *frames, unsigned n);
void watchdog_not_sent(struct port_rt *p, const struct frame *f);
void watchdog_admitted(struct port_rt *p, const struct frame *frames, unsigned n);
void watchdog_not_admitted(struct port_rt *p, const struct frame *f);
// The excuse ends when group and receive ring have both had room.
static inline void watchdog_excuse_ends(struct port_rt *p)
{
	if (!p->guard)
		p->excused_pgs &= p->xoff_pgs;
}
// Whether a lossless frame that found no headroom was lost by the watchdog's order.
static inline bool watchdog_ordered(const struct port_rt *p, const struct frame *f)
{
	return (p->unprotected >> f->cls | p->excused_pgs >> f->pg) & 1;
}

// ---- worker_egress.c
// Admission, WRED and the queue; drops what may not enter. The frames are spent.
void egress_enqueue(struct worker *w, struct frame *frames, unsigned n);
// The same for frames of one account and one queue, with all their cells.
void egress_enqueue_alike(struct worker *w, struct frame *frames, unsigned n, uint32_t cells);
// Serves a port until it is idle, paused, shaped or full. Returns when it next has something to do.
uint64_t egress_serve(struct worker *w, unsigned port);
// Queues, as a bitmap, that nothing may leave now, or that are in a storm. Ends pauses that have
// run out.
uint8_t egress_still(struct worker *w, unsigned port);
// Drops all that waits for a port.
void egress_flush(struct worker *w, unsigned port, enum drop_reason reason);

// ---- worker.c
// Shows a frame of an owned port to the tap, when there is one for it.
void worker_tap(struct worker *w, enum tap_direction direction, unsigned port,
		const struct frame *f, enum drop_reason reason);
// The only way a frame ends without leaving. Counts it where the decision fell: `port` is owned
// by w.
void worker_drop(struct worker *w, unsigned port, const struct frame *f, enum drop_reason reason);
void worker_event(struct worker *w, enum event_type type, unsigned port, unsigned cls, uint32_t a,
		  uint64_t b);

// Cells free in a pool: its size less all slots, those of others as read at the last refresh, with
// what they claimed (worker_account.c).
static inline uint64_t pool_free(const struct worker *w, enum pool_id pool, uint64_t size)
{
	uint64_t used = w->others_used[pool] + gauge_get(&w->slots[pool].used);

	return size > used ? size - used : 0;
}

static inline void slot_add(struct worker *w, enum pool_id pool, int64_t cells)
{
	struct pool_slot *s = &w->slots[pool];

	if (cells == 0)
		return;
	gauge_set(&s->used, (uint64_t)((int64_t)gauge_get(&s->used) + cells));
	gauge_max(&s->max, gauge_get(&s->used));
}
