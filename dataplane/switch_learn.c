// SPDX-License-Identifier: Apache-2.0
// The control thread's side of the address table: it learns what workers report, moves and ages
// addresses, and makes records of that. A neighbour can cause as many reports as it can send
// frames. So each loop of control takes a bounded number of reports, and a port makes at most one
// record of each kind in a loop: the first address in full, and the number of those that followed.
#include "dataplane/forward/vtep.h"
#include "dataplane/policy.h"
#include "dataplane/switch_impl.h"

enum {
	LEARN_A_TURN = 1024, // reports of each worker
	AGE_A_TURN = 64, // addresses
	ROOM_PART = 16, // a table that was full has room again when a 16th of it is free
};

static const struct {
	enum event_type type;
	uint64_t every_ns; // between two records of one port
} kinds[N_MAC_NOTICES] = {
	[MAC_NOTICE_LEARNED] = {EVENT_MAC_LEARNED, 0},
	[MAC_NOTICE_MOVED] = {EVENT_MAC_MOVED, 0},
	[MAC_NOTICE_EVICTED] = {EVENT_MAC_EVICTED, SECOND_NS},
	[MAC_NOTICE_FLAPPING] = {EVENT_MAC_FLAPPING, SECOND_NS},
	[MAC_NOTICE_STICKY] = {EVENT_MAC_STICKY, SECOND_NS},
};

// ---- records

static void announce(struct event *e, enum event_type type, uint64_t now_ns, unsigned port,
		     const struct mac_notice *n)
{
	*e = (struct event){.t_ns = now_ns, .type = (uint8_t)type, .port = (port_no_t)port,
			    .cls = CLASS_NONE,
			    .a = event_mac_a((uint16_t)(n->key & 0xffff), n->other),
			    .b = event_mac_b(n->key >> 16, n->n - 1)};
}

// The row of a port or peer in `notice`, and the number at a row.
static unsigned notice_row_of(const struct weir_switch *sw, unsigned port)
{
	return port < POLICY_MAX_PORTS ? port : sw->n_ports + port - VTEP_FIRST;
}

static unsigned port_at(const struct weir_switch *sw, unsigned row)
{
	return row < sw->n_ports ? row : row - sw->n_ports + VTEP_FIRST;
}

unsigned learn_n_rows(const struct weir_switch *sw)
{
	return sw->n_ports + FDB_MAX_PEERS;
}

static void add_mac_notice(struct weir_switch *sw, enum mac_notice_kind kind, unsigned port,
			   uint64_t key, port_no_t other)
{
	struct mac_notice *n = &sw->learning.notice[notice_row_of(sw, port)][kind];

	if (n->n++ == 0) {
		n->key = key;
		n->other = other;
	}
	sw->learning.noted = true;
}

static bool is_due(const struct mac_notice *n, enum mac_notice_kind kind, uint64_t now_ns)
{
	return n->n != 0 && (n->said_ns == 0 || now_ns - n->said_ns >= kinds[kind].every_ns);
}

// The ports take turns at the room that there is.
static unsigned say_notices(struct weir_switch *sw, uint64_t now_ns, struct event *events,
			    unsigned n)
{
	struct learning *l = &sw->learning;
	unsigned all = N_MAC_NOTICES * learn_n_rows(sw), k = 0;
	bool left = false;

	for (unsigned i = 0; l->noted && i < all; i++) {
		unsigned at = (l->next + i) % all;
		unsigned kind = at % N_MAC_NOTICES, row = at / N_MAC_NOTICES;
		struct mac_notice *m = &l->notice[row][kind];

		if (k < n && is_due(m, kind, now_ns)) {
			announce(&events[k++], kinds[kind].type, now_ns, port_at(sw, row), m);
			*m = (struct mac_notice){.said_ns = now_ns};
			if (k == n)
				l->next = at + 1;
		}
		left |= m->n != 0;
	}
	l->noted = left;
	return k;
}

// Once when the table becomes full, and once when it has room again.
static void say_full(struct weir_switch *sw)
{
	const struct fdb *f = &sw->fdb;
	struct learning *l = &sw->learning;
	uint32_t n = f->count - f->stale;

	if (!l->full && n >= f->max) {
		l->full = true;
		control_say(sw, EVENT_FDB_FULL, PORT_NONE, CLASS_NONE, 0, n);
	} else if (l->full && n < f->max - f->max / ROOM_PART) {
		l->full = false;
		control_say(sw, EVENT_FDB_ROOM, PORT_NONE, CLASS_NONE, 0, n);
	}
}

// ---- what workers report

static void store_address(struct weir_switch *sw, uint64_t key, port_no_t port, port_no_t from,
			  uint64_t now_ns)
{
	struct fdb_evicted gone;
	int moved = fdb_learn(&sw->fdb, key, port, false, now_ns, &gone);

	if (gone.key != 0)
		add_mac_notice(sw, MAC_NOTICE_EVICTED, gone.port, gone.key, FDB_NO_PORT);
	if (moved >= 0 && from != port)
		add_mac_notice(sw, moved ? MAC_NOTICE_MOVED : MAC_NOTICE_LEARNED, port, key, from);
}

// Whether addresses can be learned at the port, or at a peer of a tunnel.
static bool learns(const struct weir_switch *sw, unsigned port)
{
	const struct vtep *v = sw->policy_mem->vtep;

	if (port >= POLICY_MAX_PORTS)
		return v != NULL && port - VTEP_FIRST < v->n_peers;
	return port < sw->n_ports && switch_link_up(sw, port) &&
	       !sw->policy_mem->ports[port].routed;
}

// The port that the address is pinned to: no port that is down or routed.
static port_no_t home_of(const struct weir_switch *sw, const struct fdb_entry *e, port_no_t port,
		       uint64_t now_ns)
{
	bool usable[FDB_MAX_PORTS] = {false};

	for (unsigned i = 0; i < FDB_MAX_PORTS; i++)
		usable[i] = learns(sw, i);
	return mac_move_home(&e->move, port, usable, now_ns);
}

static void move_address(struct weir_switch *sw, struct fdb_entry *e, port_no_t port,
			 uint64_t now_ns)
{
	port_no_t from = e->port, home;

	switch (mac_move_decide(&sw->policy_mem->mac_move, &e->move, from, now_ns)) {
	case MAC_MOVE:
		store_address(sw, e->key, port, from, now_ns);
		break;
	case MAC_PIN:
		home = home_of(sw, e, port, now_ns);
		add_mac_notice(sw, MAC_NOTICE_FLAPPING, home, e->key, home == port ? from : port);
		if (home != from)
			store_address(sw, e->key, home, from, now_ns);
		break;
	case MAC_STAY:
		fdb_count_held(&sw->fdb, port);
		break;
	}
}

static void learn_address(struct weir_switch *sw, uint64_t key, port_no_t port, uint64_t now_ns)
{
	struct fdb_entry *e = fdb_find(&sw->fdb, key);

	if (e == NULL) {
		store_address(sw, key, port, FDB_NO_PORT, now_ns);
	} else if (e->port == port) {
		store_address(sw, key, port, port, now_ns);
	} else if (e->port < POLICY_MAX_PORTS && sw->policy_mem->ports[e->port].sticky) {
		fdb_count_held(&sw->fdb, port);
		add_mac_notice(sw, MAC_NOTICE_STICKY, port, key, e->port);
	} else if (!e->is_static) {
		move_address(sw, e, port, now_ns);
	}
}

static void learn_of(struct weir_switch *sw, struct worker *w, uint64_t now_ns)
{
	struct learn_record rec;

	for (unsigned i = 0; i < LEARN_A_TURN; i++) {
		if (rte_ring_sc_dequeue_elem(w->learn, &rec, sizeof(rec)) != 0)
			break;
		ctr_inc(&sw->learning.taken[rec.by]);
		// Reported before its port went down and was flushed.
		// Or before it became a routed one.
		if (learns(sw, (unsigned)rec.port))
			learn_address(sw, rec.key, (port_no_t)rec.port, now_ns);
	}
}

unsigned learn_control(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n)
{
	for (unsigned i = 0; i < sw->n_workers; i++)
		learn_of(sw, sw->workers[i], now_ns);
	vxlan_control(sw);
	say_full(sw);
	return say_notices(sw, now_ns, events, n);
}

unsigned learn_age(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n)
{
	struct mac_notice *aged = &sw->learning.aged;
	uint64_t age_ns = sw->policy_mem->mac_age_s * (uint64_t)SECOND_NS;
	uint64_t keys[AGE_A_TURN];
	unsigned k = fdb_age(&sw->fdb, now_ns, age_ns, keys, AGE_A_TURN);

	if (aged->n == 0 && k != 0)
		aged->key = keys[0];
	aged->n += k;
	if (aged->n == 0 || n == 0)
		return 0;
	aged->other = FDB_NO_PORT;
	announce(&events[0], EVENT_MAC_AGED, now_ns, PORT_NONE, aged);
	aged->n = 0;
	return 1;
}

// ---- stale addresses

void switch_fdb_stale(struct weir_switch *sw, const uint8_t mac[6], uint16_t vid, unsigned port,
		     uint64_t now_ns)
{
	uint64_t key = fdb_key(mac, vid);

	if (fdb_key_is_station(key) && port < sw->n_ports && !sw->policy_mem->ports[port].routed)
		fdb_learn_stale(&sw->fdb, key, (port_no_t)port, now_ns);
}

uint64_t switch_fdb_changes(const struct weir_switch *sw)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < FDB_VERSIONS; i++)
		n += fdb_version(&sw->fdb, i);
	return n;
}

// ---- policies

void learn_new_policy(struct weir_switch *sw)
{
	const struct policy *pol = sw->policy_mem;
	uint32_t bridged = 0;

	uint32_t peers = pol->vtep != NULL ? pol->vtep->n_peers : 0;

	for (unsigned i = 0; i < pol->n_ports; i++)
		bridged += !pol->ports[i].routed;
	bridged += peers;
	for (unsigned i = 0; i < peers; i++)
		fdb_set_port(&sw->fdb, (port_no_t)(VTEP_FIRST + i), sw->fdb.max,
			     sw->fdb.max / bridged);
	for (unsigned i = 0; i < pol->n_ports; i++) {
		uint32_t limit = pol->ports[i].mac_limit;

		if (limit == 0 || limit > sw->fdb.max)
			limit = sw->fdb.max;
		fdb_set_port(&sw->fdb, (port_no_t)i, limit,
			     pol->ports[i].routed ? 0 : sw->fdb.max / bridged);
	}
}
