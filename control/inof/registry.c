// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/inof/registry_impl.h"


const char *const inof_refusal_name[N_INOF_REFUSALS] = {
	[INOF_BAD_TLV] = "bad-tlv",	  [INOF_ADDRESS_HELD] = "address-held",
	[INOF_KEY_HELD] = "port-id-held", [INOF_NQN_HELD] = "nqn-held",
	[INOF_NO_ROOM] = "no-room",
};

// ---- hosts by address and by key

static unsigned ip_bucket(const struct inof_registry *r, struct ip_key ip)
{
	return (unsigned)(flow_end(flow_mix(flow_mix(r->hash, ip.hi), ip.lo)) % BUCKETS);
}

static uint64_t key_hash(const struct inof_registry *r, const struct key *k)
{
	uint64_t h = flow_mix(r->hash, k->len);

	for (unsigned i = 0; i < k->len; i++)
		h = flow_mix(h, k->bytes[i]);
	return flow_end(h);
}

static unsigned key_bucket(const struct inof_registry *r, const struct key *k)
{
	return (unsigned)(key_hash(r, k) % BUCKETS);
}

struct host *host_by_ip(const struct inof_registry *r, struct ip_key ip)
{
	unsigned i = r->by_ip[ip_bucket(r, ip)];

	while (i != NO_HOST && !ip_key_same(r->host[i]->ip, ip))
		i = r->host[i]->next_by_ip;
	return i == NO_HOST ? NULL : r->host[i];
}

static struct host *find_key(const struct inof_registry *r, const struct key *k)
{
	unsigned i = r->by_key[key_bucket(r, k)];

	while (i != NO_HOST && (r->host[i]->key.len != k->len ||
				memcmp(r->host[i]->key.bytes, k->bytes, k->len) != 0))
		i = r->host[i]->next_by_key;
	return i == NO_HOST ? NULL : r->host[i];
}

static void drop_key(struct inof_registry *r, struct host *h)
{
	uint16_t *at = &r->by_key[key_bucket(r, &h->key)];

	if (h->key.len == 0)
		return;
	while (*at != h->no)
		at = &r->host[*at]->next_by_key;
	*at = h->next_by_key;
	h->key.len = 0;
}

static void take_key(struct inof_registry *r, struct host *h, const struct key *k)
{
	uint16_t *at = &r->by_key[key_bucket(r, k)];

	drop_key(r, h);
	h->key = *k;
	h->key_hash = key_hash(r, k);
	h->next_by_key = *at;
	*at = h->no;
}

// ---- events

void registry_say(const struct inof_registry *r, enum event_type type, const struct host *h,
		unsigned port, uint32_t a, uint64_t now_ns)
{
	struct event e = {.t_ns = now_ns, .type = (uint16_t)type, .port = (uint8_t)port,
			  .cls = CLASS_NONE, .a = a};
	char about[INOF_IP_TEXT] = "";

	if (h != NULL)
		inof_ip_print(h->ip, about);
	r->ops->event(r->arg, &e, about);
}

// One alarm a port in ten seconds; the counters have all.
void registry_refuse(struct inof_registry *r, unsigned port, enum inof_refusal why,
		     struct ip_key ip, uint64_t now_ns)
{
	const struct host about = {.ip = ip};
	struct inof_port *p = &r->port[port];

	p->c.refused[why]++;
	if (p->alarmed && now_ns - p->alarmed_ns < 10 * (uint64_t)SECOND_NS)
		return;
	p->alarmed = true;
	p->alarmed_ns = now_ns;
	registry_say(r, EVENT_INOF_REFUSED, why == INOF_BAD_TLV ? NULL : &about, port, why, now_ns);
}

// ---- changes of hosts and zones

static void look_at_zones(struct inof_registry *r, const struct host *h)
{
	for (unsigned i = 0; i < ZONE_WORDS; i++)
		r->dirty_zones[i] |= h->zone_set[i];
	r->change++;
}

static void place_in_zones(struct inof_registry *r, struct host *h)
{
	int port = h->origin == INOF_AT_PORT ? h->port : -1;
	bool any = false;

	look_at_zones(r, h);
	for (unsigned z = 1; z < ZONE_SLOTS; z++) {
		struct zone *zone = r->zone[z];
		bool in = zone != NULL && !zone->hidden &&
			  inof_zone_has(&zone->def, h->ip, &h->service.nqn, port);

		if (zone != NULL)
			put_bit(zone->members, h->no, in);
		put_bit(h->zone_set, z, in);
		any |= in;
	}
	put_bit(h->zone_set, 0, !any && r->conf.default_zone);
	put_bit(r->zone[0]->members, h->no, !any && r->conf.default_zone);
	look_at_zones(r, h);
	look_at(r, h);
}

static void leave_zones(struct inof_registry *r, struct host *h)
{
	for (unsigned z = 0; z < ZONE_SLOTS; z++)
		if (has_bit(h->zone_set, z))
			put_bit(r->zone[z]->members, h->no, false);
	memset(h->zone_set, 0, sizeof(h->zone_set));
}

static void mark_online(struct inof_registry *r, const struct host *h, bool on)
{
	uint64_t(*by_role)[WORDS] = r->online[inof_ip_is_v6(h->ip)];

	for (unsigned role = INOF_TARGET; role <= INOF_INITIATOR; role++)
		if (h->service.role & role)
			put_bit(by_role[role], h->no, on);
}

// ---- the life of a host

static void set_ports_share(struct inof_registry *r, const struct host *h, int d)
{
	if (h->origin == INOF_AT_PORT)
		r->port[h->port].n += (unsigned)d;
	else
		r->n_peer_hosts += (unsigned)d;
	r->n_hosts += (unsigned)d;
}

static void destroy_host(struct inof_registry *r, struct host *h)
{
	uint16_t *at = &r->by_ip[ip_bucket(r, h->ip)];

	while (*at != h->no)
		at = &r->host[*at]->next_by_ip;
	*at = h->next_by_ip;
	drop_key(r, h);
	leave_zones(r, h);
	put_bit(r->dirty, h->no, false);
	r->due_ns[h->no] = UINT64_MAX;
	r->host[h->no] = NULL;
	set_ports_share(r, h, -1);
	free(h->pending);
	free(h->renewed);
	free(h);
}

void host_come_online(struct inof_registry *r, struct host *h, uint64_t now_ns)
{
	uint8_t fault = h->origin == INOF_AT_PORT ? r->port[h->port].fault : INOF_NO_FAULT;

	if (h->online || !h->present || h->pending != NULL)
		return;
	h->reason = fault;
	if (fault != INOF_NO_FAULT)
		return;
	h->online = true;
	h->since_ns = now_ns;
	mark_online(r, h, true);
	look_at_zones(r, h);
	h->shown = r->change;
	registry_say(r, EVENT_INOF_HOST, h, place_of(h), 0, now_ns);
}

static void go_offline(struct inof_registry *r, struct host *h, enum inof_reason why,
		       uint64_t now_ns)
{
	if (!h->online)
		return;
	mark_online(r, h, false);
	h->online = false;
	h->reason = (uint8_t)why;
	h->since_ns = now_ns;
	look_at_zones(r, h);
	registry_say(r, EVENT_INOF_HOST_GONE, h, place_of(h), why, now_ns);
}

static void apply_pending(struct inof_registry *r, struct host *h, uint64_t now_ns)
{
	h->service = h->pending->service;
	h->subscribes = h->pending->subscribes;
	free(h->pending);
	h->pending = NULL;
	if (h->n_refs > 0)
		notices_renew(r, h);
	place_in_zones(r, h);
	host_come_online(r, h, now_ns);
}

// Whether the host may come back and still know others.
static bool knows_others(const struct host *h)
{
	return h->n_flights > 0 || meet(h->told, h->told, WORDS);
}

// One receiver less knows the host or waits for a notice about it.
void host_unref(struct inof_registry *r, struct host *h, uint64_t now_ns)
{
	h->n_refs--;
	if (h->n_refs > 0)
		return;
	if (!is_registered(h) && !knows_others(h))
		destroy_host(r, h);
	else if (h->pending != NULL)
		apply_pending(r, h, now_ns);
}

// The host can neither be told nor be reached any more. It still knows others if its link has not
// gone down: then it may register again and must be told what it missed.
static void leave(struct inof_registry *r, struct host *h, enum inof_reason why, bool forgets,
		  uint64_t now_ns)
{
	go_offline(r, h, why, now_ns);
	h->present = false;
	h->again_ns = 0;
	// Its own knowledge refers to no host that is itself, so h outlives this.
	if (forgets)
		notices_forget(r, h, now_ns);
	else
		notices_rest(r, h);
}

// The registration ends. The host is kept while some must be told that it went, or while it may
// come back and know others.
static void unregister(struct inof_registry *r, struct host *h, enum inof_reason why, bool forgets,
		       uint64_t now_ns)
{
	leave(r, h, why, forgets, now_ns);
	free(h->pending);
	h->pending = NULL;
	r->change++;
	drop_key(r, h);
	h->end_ns = now_ns + INOF_GHOST_S * (uint64_t)SECOND_NS;
	r->next_age_ns = min_u64(r->next_age_ns, h->end_ns);
	if (h->n_refs == 0 && !knows_others(h))
		destroy_host(r, h);
}

// The host of the ghost knows no other host: its link went down, or its time is over.
static void forget_ghost(struct inof_registry *r, struct host *ghost, uint64_t now_ns)
{
	notices_forget(r, ghost, now_ns);
	if (ghost->n_refs == 0)
		destroy_host(r, ghost);
}

// Frees the place of a ghost. Notices about it end.
static void purge(struct inof_registry *r, struct host *ghost, uint64_t now_ns)
{
	unsigned no = ghost->no;

	forget_ghost(r, ghost, now_ns);
	for (unsigned i = 0; i < INOF_HOSTS && r->host[no] != NULL; i++) {
		struct host *h = r->host[i];

		for (unsigned k = h == NULL ? 0 : h->n_flights; k-- > 0;)
			if (h->flight[k].about == no) {
				notices_end(r, h, k, now_ns);
				break;
			}
		if (r->host[no] != NULL && h != NULL && has_bit(h->told, no)) {
			put_bit(h->told, no, false);
			host_unref(r, ghost, now_ns);
		}
	}
}

static struct host *create_host(struct inof_registry *r, struct ip_key ip, enum inof_origin origin,
				unsigned port)
{
	bool room = origin == INOF_AT_PORT ? r->port[port].n < INOF_HOSTS - r->n_hosts
					   : r->n_hosts < INOF_HOSTS &&
						     r->n_peer_hosts < INOF_HOSTS - INOF_LOCAL;
	struct host *h = room ? calloc(1, sizeof(*h)) : NULL;
	uint16_t *at = &r->by_ip[ip_bucket(r, ip)];

	if (h == NULL)
		return NULL;
	while (r->host[h->no] != NULL)
		h->no++;
	h->ip = ip;
	h->origin = origin;
	h->port = (uint8_t)port;
	h->version = VERSION_UNKNOWN;
	// A host that comes back must not take an acknowledgement of its former life for a new one.
	h->seq = (uint32_t)flow_end(flow_mix(r->hash ^ r->seed, ++r->n_created));
	h->next_by_ip = *at;
	*at = h->no;
	r->host[h->no] = h;
	set_ports_share(r, h, 1);
	return h;
}

// ---- registrations

static bool same_service(const struct inof_service *a, const struct inof_service *b)
{
	return a->role == b->role && a->protocol == b->protocol && a->port == b->port &&
	       a->nqn.len == b->nqn.len && memcmp(a->nqn.text, b->nqn.text, a->nqn.len) == 0;
}

bool nqn_is_held(const struct inof_registry *r, const struct inof_nqn *nqn, unsigned port)
{
	for (unsigned i = 0; nqn->len > 0 && i < INOF_HOSTS; i++) {
		const struct host *h = r->host[i];

		if (h != NULL && h->present && !(h->origin == INOF_AT_PORT && h->port == port) &&
		    h->service.nqn.len == nqn->len &&
		    memcmp(h->service.nqn.text, nqn->text, nqn->len) == 0)
			return true;
	}
	return false;
}

// The host is there, with this service. A host that says another service than before is offline
// until all have been told, so that each goes through "offline" to the new service.
static void refresh(struct inof_registry *r, struct host *h, const struct inof_registration *reg,
		    uint64_t now_ns)
{
	bool was_present = h->present;

	h->present = true;
	if (h->subscribes && !reg->subscribes) {
		notices_forget(r, h, now_ns);
		h->subscribes = false;
	}
	if (h->n_refs == 0 && !h->online) {
		free(h->pending);
		h->pending = NULL;
		h->service = reg->service;
		place_in_zones(r, h);
	} else if (!same_service(&h->service, &reg->service)) {
		// A repeated registration does not begin the wait again.
		if (h->pending == NULL)
			h->pending_ns = now_ns + INOF_BOUNCE_MS * (uint64_t)MS_NS;
		if (h->pending == NULL)
			h->pending = malloc(sizeof(*h->pending));
		if (h->pending == NULL)
			return; // the next registration tries again
		*h->pending = *reg;
		go_offline(r, h, INOF_ADDRESS_CHANGE, now_ns);
		r->next_age_ns = min_u64(r->next_age_ns, h->pending_ns);
		if (h->n_refs == 0)
			apply_pending(r, h, now_ns);
		return;
	} else {
		free(h->pending); // it says the service of before again
		h->pending = NULL;
	}
	if (h->subscribes != reg->subscribes || !was_present)
		look_at(r, h);
	if (!was_present)
		h->synced = r->change;
	if (!was_present && h->n_flights > 0)
		r->due_ns[h->no] = 0; // notices_rest() had stopped them
	h->subscribes = reg->subscribes;
	host_come_online(r, h, now_ns);
}

// Whether somebody else has what the registration claims. The first holder keeps it.
static bool is_refused(struct inof_registry *r, unsigned port, const struct key *key,
		       const struct inof_registration *reg, uint64_t now_ns)
{
	const struct host *by_key = find_key(r, key), *by_ip = host_by_ip(r, reg->ip);

	if (by_ip != NULL && by_ip->present && place_of(by_ip) != port) {
		registry_refuse(r, port, by_ip == by_key ? INOF_KEY_HELD : INOF_ADDRESS_HELD,
				reg->ip, now_ns);
		return true;
	}
	if (by_key != NULL && by_key->present && by_key->port != port) {
		registry_refuse(r, port, INOF_KEY_HELD, reg->ip, now_ns);
		return true;
	}
	if (r->conf.unique_nqn && nqn_is_held(r, &reg->service.nqn, port)) {
		registry_refuse(r, port, INOF_NQN_HELD, reg->ip, now_ns);
		return true;
	}
	return false;
}

static const uint8_t *mac_of(const struct key *k)
{
	return k->bytes + 3; // as key_of() wrote the chassis ID
}

// Whether a host at another port has the MAC address of the key.
static bool mac_is_held(const struct inof_registry *r, const struct key *k, unsigned port)
{
	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		const struct host *h = r->host[i];

		if (h != NULL && h->owns_mac && h->key.len != 0 && place_of(h) != port &&
		    memcmp(mac_of(&h->key), mac_of(k), 6) == 0)
			return true;
	}
	return false;
}

static void move_to_port(struct inof_registry *r, struct host *h, unsigned port)
{
	if (h->origin == INOF_AT_PORT && h->port == port)
		return;
	set_ports_share(r, h, -1);
	h->origin = INOF_AT_PORT;
	h->port = (uint8_t)port;
	set_ports_share(r, h, 1);
	place_in_zones(r, h);
}

static void register_host(struct inof_registry *r, unsigned port, const struct key *key,
			  const struct inof_registration *reg, uint64_t end_ns, uint64_t now_ns)
{
	struct host *old, *h;

	if (is_refused(r, port, key, reg, now_ns))
		return;
	old = find_key(r, key);
	if (old != NULL && !ip_key_same(old->ip, reg->ip))
		unregister(r, old, INOF_ADDRESS_CHANGE, true, now_ns);
	h = host_by_ip(r, reg->ip);
	if (h == NULL)
		h = create_host(r, reg->ip, INOF_AT_PORT, port);
	if (h == NULL) {
		registry_refuse(r, port, INOF_NO_ROOM, reg->ip, now_ns);
		return;
	}
	// Another host registers the address of a ghost. It does not know what the ghost knew.
	if (h->key.len == 0 && h->key_hash != key_hash(r, key))
		notices_forget(r, h, now_ns);
	move_to_port(r, h, port);
	r->port[port].c.registrations++;
	h->owns_mac = key->of_sender && (find_key(r, key) == h && h->key.of_sender
						 ? h->owns_mac
						 : !mac_is_held(r, key, port));
	take_key(r, h, key);
	h->end_ns = end_ns;
	r->next_age_ns = min_u64(r->next_age_ns, end_ns);
	refresh(r, h, reg, now_ns);
}

// Kind and bytes of both IDs.
static bool key_of(const struct lldp_pdu *p, const uint8_t *src, struct key *out)
{
	unsigned len = 3u + p->chassis.id.len + p->port.id.len;
	uint8_t *at = out->bytes;

	if (len > INOF_KEY_MAX)
		return false;
	*at++ = p->chassis.kind;
	*at++ = p->port.kind;
	*at++ = (uint8_t)p->chassis.id.len;
	memcpy(at, p->chassis.id.at, p->chassis.id.len);
	memcpy(at + p->chassis.id.len, p->port.id.at, p->port.id.len);
	out->len = (uint8_t)len;
	out->of_sender = p->chassis.kind == LLDP_CHASSIS_MAC && p->chassis.id.len == 6 &&
			 memcmp(p->chassis.id.at, src, 6) == 0;
	return true;
}

// A host may see the link, and register and ask, before the switch does. Frames beyond the room are
// lost; the host sends them again.
static void keep_early(struct inof_port *p, bool lldp, const uint8_t *frame, uint32_t len,
		       uint64_t now_ns)
{
	const struct early_frame head = {now_ns, len, lldp};
	struct early_frame first;

	if (p->early == NULL)
		p->early = malloc(EARLY_BYTES);
	if (p->early == NULL)
		return;
	if (p->early_len > 0) {
		memcpy(&first, p->early, sizeof(first));
		if (now_ns - first.t_ns > 2 * INOF_EARLY_MS * (uint64_t)MS_NS)
			p->early_len = 0;
	}
	if (len > EARLY_BYTES || p->early_len + sizeof(head) + len > EARLY_BYTES)
		return;
	memcpy(p->early + p->early_len, &head, sizeof(head));
	memcpy(p->early + p->early_len + sizeof(head), frame, len);
	p->early_len += (uint32_t)sizeof(head) + len;
}

void registry_keep_early(struct inof_registry *r, unsigned port, const uint8_t *frame,
			 uint32_t len, uint64_t now_ns)
{
	keep_early(&r->port[port], false, frame, len, now_ns);
}

static bool keep_registration(struct inof_port *p, const uint8_t *frame, uint32_t len,
			      uint64_t now_ns)
{
	struct inof_registration reg;
	bool alone;

	if (inof_find_registration(frame, len, &reg, &alone) != INOF_FOUND)
		return false;
	keep_early(p, true, frame, len, now_ns);
	return alone;
}

bool inof_lldp(struct inof_registry *r, unsigned port, const uint8_t *frame, uint32_t len,
	       uint64_t now_ns)
{
	struct inof_registration reg;
	struct lldp_pdu pdu;
	enum inof_found found;
	struct host *h;
	struct key key;
	bool alone;

	if (!takes_part(r, port) || lldp_parse(frame, len, &pdu) != LLDP_OK)
		return false;
	if (!r->port[port].up)
		return keep_registration(&r->port[port], frame, len, now_ns);
	found = inof_find_registration(frame, len, &reg, &alone);
	if (!key_of(&pdu, frame + 6, &key))
		found = found == INOF_NONE ? INOF_NONE : INOF_BAD;
	else if (found == INOF_FOUND && pdu.ttl_s != 0)
		register_host(r, port, &key, &reg, now_ns + pdu.ttl_s * (uint64_t)SECOND_NS,
			      now_ns);
	else if (found != INOF_BAD) {
		// A goodbye, or an LLDP station that registers no more. The neighbours of LLDP
		// want the frame, too.
		h = find_key(r, &key);
		if (h != NULL && place_of(h) == port)
			unregister(r, h, INOF_AGED_OUT, true, now_ns);
		return false;
	}
	if (found == INOF_BAD)
		registry_refuse(r, port, INOF_BAD_TLV, (struct ip_key){0}, now_ns);
	return found != INOF_NONE && alone;
}

bool inof_peer_host(struct inof_registry *r, uint32_t peer, const struct inof_registration *reg,
		    uint64_t now_ns)
{
	struct host *h = host_by_ip(r, reg->ip);

	if (h != NULL && h->present && (h->origin == INOF_AT_PORT || h->peer != peer))
		return false;
	if (h == NULL)
		h = create_host(r, reg->ip, INOF_AT_PEER, 0);
	if (h == NULL)
		return false;
	if (h->origin == INOF_AT_PORT) {
		notices_forget(r, h, now_ns);
		drop_key(r, h);
		set_ports_share(r, h, -1);
		h->origin = INOF_AT_PEER;
		set_ports_share(r, h, 1);
		place_in_zones(r, h);
	}
	h->peer = peer;
	h->end_ns = UINT64_MAX;
	refresh(r, h, reg, now_ns);
	return true;
}

void inof_peer_gone(struct inof_registry *r, uint32_t peer, struct ip_key ip,
		    enum inof_reason reason, uint64_t now_ns)
{
	struct host *h = host_by_ip(r, ip);

	if (h != NULL && h->present && h->origin == INOF_AT_PEER && h->peer == peer)
		unregister(r, h, reason, true, now_ns);
}

bool inof_peer_word(struct inof_registry *r, uint32_t peer, const struct inof_registration *reg,
		    enum inof_reason reason, uint64_t now_ns)
{
	if (reason == INOF_NO_FAULT)
		return inof_peer_host(r, peer, reg, now_ns);
	inof_peer_gone(r, peer, reg->ip, reason, now_ns);
	return true;
}

static void session_is(struct inof_registry *r, struct inof_reflector *l, bool up, uint64_t now_ns)
{
	const struct host about = {.ip = l->ip};

	l->up = up;
	l->since_ns = now_ns;
	registry_say(r, up ? EVENT_INOF_REFLECTOR : EVENT_INOF_REFLECTOR_GONE, &about, UINT8_MAX,
		     l->hosts, now_ns);
}

void inof_set_reflectors(struct inof_registry *r, const struct inof_reflector *list, unsigned n,
			 uint64_t now_ns)
{
	struct inof_reflector old[INOF_REFLECTORS];
	unsigned n_old = r->n_reflectors;

	memcpy(old, r->reflector, sizeof(old));
	r->n_reflectors = n;
	r->heard_ns = now_ns;
	for (unsigned i = 0; i < n; i++) {
		struct inof_reflector *l = &r->reflector[i];
		unsigned k = 0;

		*l = list[i];
		while (k < n_old && !ip_key_same(old[k].ip, l->ip))
			k++;
		l->since_ns = k < n_old ? old[k].since_ns : now_ns;
		if (l->up != (k < n_old && old[k].up))
			session_is(r, l, l->up, now_ns);
	}
}

static void watch_reflectors(struct inof_registry *r, uint64_t now_ns)
{
	if (now_ns < r->heard_ns + INOF_PEERS_S * (uint64_t)SECOND_NS)
		return;
	for (unsigned i = 0; i < r->n_reflectors; i++)
		if (r->reflector[i].up)
			session_is(r, &r->reflector[i], false, now_ns);
}

// ---- links and faults

static void take_early(struct inof_registry *r, unsigned port, uint64_t now_ns)
{
	struct inof_port *p = &r->port[port];
	uint8_t *frames = p->early;
	struct early_frame head;

	p->early = NULL;
	for (uint32_t at = 0; at < p->early_len; at += head.len) {
		memcpy(&head, frames + at, sizeof(head));
		at += (uint32_t)sizeof(head);
		if (now_ns - head.t_ns > INOF_EARLY_MS * (uint64_t)MS_NS)
			continue;
		if (head.lldp)
			(void)inof_lldp(r, port, frames + at, head.len, now_ns);
		else
			inof_receive(r, port, frames + at, head.len, now_ns);
	}
	p->early_len = 0;
	free(frames);
}

// A link that comes up shows nothing about the hosts behind it: they register or ask again.
void inof_link(struct inof_registry *r, unsigned port, bool up, uint64_t now_ns)
{
	struct inof_port *p = &r->port[port];

	if (p->up == up)
		return;
	p->up = up;
	if (up)
		take_early(r, port, now_ns);
	for (unsigned i = 0; !up && i < INOF_HOSTS; i++) {
		struct host *h = r->host[i];

		if (h == NULL || place_of(h) != port)
			continue;
		if (h->present)
			leave(r, h, INOF_LINK_DOWN, true, now_ns);
		else if (!is_registered(h) && knows_others(h))
			forget_ghost(r, h, now_ns);
	}
}

void inof_fault(struct inof_registry *r, unsigned port, enum inof_reason reason, uint64_t now_ns)
{
	if (r->port[port].fault == reason)
		return;
	r->port[port].fault = (uint8_t)reason;
	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		struct host *h = r->host[i];

		if (h == NULL || place_of(h) != port)
			continue;
		if (reason == INOF_NO_FAULT)
			host_come_online(r, h, now_ns);
		else
			go_offline(r, h, reason, now_ns);
	}
}

// ---- time

static void age(struct inof_registry *r, uint64_t now_ns)
{
	if (now_ns < r->next_age_ns)
		return;
	r->next_age_ns = UINT64_MAX;
	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		struct host *h = r->host[i];

		if (h == NULL)
			continue;
		if (h->pending != NULL && now_ns >= h->pending_ns)
			apply_pending(r, h, now_ns);
		if (h->again_ns != 0 && now_ns >= h->again_ns)
			notices_answer(r, h, now_ns);
		if (now_ns >= h->end_ns && !is_registered(h))
			purge(r, h, now_ns);
		else if (now_ns >= h->end_ns)
			unregister(r, h, INOF_AGED_OUT, false, now_ns);
		if (r->host[i] == NULL)
			continue;
		r->next_age_ns = min_u64(r->next_age_ns, h->end_ns);
		if (h->again_ns != 0)
			r->next_age_ns = min_u64(r->next_age_ns, h->again_ns);
		if (h->pending != NULL)
			r->next_age_ns = min_u64(r->next_age_ns, h->pending_ns);
	}
}

void inof_poll(struct inof_registry *r, uint64_t now_ns)
{
	age(r, now_ns);
	watch_reflectors(r, now_ns);
	notices_compare(r, now_ns);
	notices_send(r, now_ns);
}

// ---- what the operator says

static void place_all(struct inof_registry *r)
{
	for (unsigned i = 0; i < INOF_HOSTS; i++)
		if (r->host[i] != NULL)
			place_in_zones(r, r->host[i]);
	r->zones_changed = ++r->change;
}

void inof_set_conf(struct inof_registry *r, const struct inof_conf *conf, uint64_t now_ns)
{
	bool placed = r->conf.default_zone != conf->default_zone;

	r->conf = *conf;
	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		struct host *h = r->host[i];

		if (h != NULL && is_registered(h) && h->origin == INOF_AT_PORT &&
		    !takes_part(r, h->port))
			unregister(r, h, INOF_ZONE_CHANGE, false, now_ns);
	}
	if (placed)
		place_all(r);
}

static void free_zone(struct inof_registry *r, unsigned z)
{
	for (unsigned i = 0; i < INOF_HOSTS; i++)
		if (r->host[i] != NULL && has_bit(r->host[i]->zone_set, z)) {
			look_at_zones(r, r->host[i]);
			look_at(r, r->host[i]);
			put_bit(r->host[i]->zone_set, z, false);
		}
	inof_zone_fini(&r->zone[z]->def);
	free(r->zone[z]);
	r->zone[z] = NULL;
}

static void hide_zones(struct inof_registry *r)
{
	for (unsigned z = 1; z < ZONE_SLOTS; z++) {
		if (r->zone[z] == NULL)
			continue;
		r->zone[z]->hidden = false;
		for (unsigned k = 1; k < ZONE_SLOTS; k++)
			if (r->zone[k] != NULL && r->zone[k]->source < r->zone[z]->source &&
			    strcmp(r->zone[k]->def.name, r->zone[z]->def.name) == 0)
				r->zone[z]->hidden = true;
	}
}

static struct zone *new_zone(const struct inof_zone *def, int source)
{
	struct zone *z = calloc(1, sizeof(*z));

	if (z == NULL || inof_zone_copy(&z->def, def) != 0) {
		free(z);
		return NULL;
	}
	z->source = source;
	return z;
}

int inof_set_zones(struct inof_registry *r, enum inof_zone_source source,
		   const struct inof_zone *zones, unsigned n, uint64_t now_ns)
{
	struct zone **made = calloc(n + 1, sizeof(*made));
	unsigned n_kept = 0, at = 1, i;

	(void)now_ns;
	for (unsigned z = 1; z < ZONE_SLOTS; z++)
		n_kept += r->zone[z] != NULL && r->zone[z]->source != (int)source;
	for (i = 0; made != NULL && n_kept + n <= INOF_ZONES && i < n; i++) {
		made[i] = new_zone(&zones[i], (int)source);
		if (made[i] == NULL)
			break;
	}
	if (made == NULL || i < n) {
		for (i = 0; made != NULL && made[i] != NULL; i++) {
			inof_zone_fini(&made[i]->def);
			free(made[i]);
		}
		free(made);
		return made != NULL && n_kept + n > INOF_ZONES ? -ENOSPC : -ENOMEM;
	}
	for (unsigned z = 1; z < ZONE_SLOTS; z++)
		if (r->zone[z] != NULL && r->zone[z]->source == (int)source)
			free_zone(r, z);
	for (i = 0; i < n; i++) {
		while (r->zone[at] != NULL)
			at++;
		r->zone[at] = made[i];
	}
	free(made);
	hide_zones(r);
	place_all(r);
	return 0;
}

// ---- beginning and end

int inof_create(unsigned n_ports, const struct inof_ops *ops, void *arg, uint32_t seed,
		uint64_t hash, struct inof_registry **out)
{
	struct inof_registry *r = n_ports <= INOF_PORTS ? calloc(1, sizeof(*r)) : NULL;

	if (r != NULL)
		r->zone[0] = calloc(1, sizeof(*r->zone[0]));
	if (r == NULL || r->zone[0] == NULL) {
		free(r);
		return -ENOMEM;
	}
	r->ops = ops;
	r->arg = arg;
	r->seed = seed;
	r->hash = hash;
	r->next_age_ns = UINT64_MAX;
	r->zone[0]->source = -1;
	for (unsigned i = 0; i < BUCKETS; i++)
		r->by_ip[i] = r->by_key[i] = NO_HOST;
	for (unsigned i = 0; i < INOF_HOSTS; i++)
		r->due_ns[i] = UINT64_MAX;
	for (unsigned i = 0; i < n_ports; i++)
		r->port[i].tokens_ns = INOF_BURST * (uint64_t)FRAME_NS;
	*out = r;
	return 0;
}

void inof_destroy(struct inof_registry *r)
{
	if (r == NULL)
		return;
	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		if (r->host[i] != NULL) {
			free(r->host[i]->pending);
			free(r->host[i]->renewed);
		}
		free(r->host[i]);
	}
	for (unsigned i = 0; i < INOF_PORTS; i++)
		free(r->port[i].early);
	for (unsigned z = 0; z < ZONE_SLOTS; z++)
		if (r->zone[z] != NULL) {
			inof_zone_fini(&r->zone[z]->def);
			free(r->zone[z]);
		}
	free(r);
}

// ---- readers

bool inof_host(const struct inof_registry *r, unsigned i, uint64_t now_ns,
	       struct inof_host_view *out)
{
	const struct host *h = i < INOF_HOSTS ? r->host[i] : NULL;

	if (h == NULL || !is_registered(h))
		return false;
	*out = (struct inof_host_view){
		.ip = h->ip, .service = &h->service, .origin = h->origin, .port = h->port,
		.peer = h->peer, .online = h->online, .subscribes = h->subscribes,
		.silent = h->silent, .reason = h->reason, .since_ns = h->since_ns,
		.left_ns = h->end_ns > now_ns ? h->end_ns - now_ns : 0,
		.unanswered = h->n_flights, .zones = h->zone_set,
		.mac = h->owns_mac && h->key.len != 0 ? mac_of(&h->key) : NULL};
	for (unsigned w = 0; w < ZONE_WORDS; w++)
		out->n_zones += (unsigned)__builtin_popcountll(h->zone_set[w]);
	return true;
}

uint64_t inof_change(const struct inof_registry *r)
{
	return r->change;
}

unsigned inof_reflectors(const struct inof_registry *r, const struct inof_reflector **list)
{
	*list = r->reflector;
	return r->n_reflectors;
}

unsigned inof_n_hosts(const struct inof_registry *r)
{
	return r->n_hosts;
}

const char *inof_zone_name(const struct inof_registry *r, unsigned slot)
{
	return slot == 0 ? "default" : r->zone[slot]->def.name;
}

bool inof_zone_at(const struct inof_registry *r, unsigned i, struct inof_zone_view *out)
{
	for (unsigned z = r->conf.default_zone ? 0 : 1; z < ZONE_SLOTS; z++) {
		const struct zone *zone = r->zone[z];

		if (zone == NULL || i-- > 0)
			continue;
		*out = (struct inof_zone_view){.name = inof_zone_name(r, z),
					       .source = zone->source, .slot = z,
					       .zone = z == 0 ? NULL : &zone->def,
					       .hidden = zone->hidden};
		return true;
	}
	return false;
}

bool inof_in_zone(const struct inof_registry *r, const struct inof_zone_view *zone, unsigned host)
{
	return has_bit(r->zone[zone->slot]->members, host);
}

const struct inof_told *inof_told(const struct inof_registry *r, uint64_t seq_no)
{
	const struct inof_told *t = &r->log[seq_no % INOF_LOG];

	return seq_no != 0 && t->seq_no == seq_no ? t : NULL;
}

uint64_t inof_last_told(const struct inof_registry *r)
{
	return r->last_told;
}

const struct inof_counters *inof_counters(const struct inof_registry *r, unsigned port)
{
	return &r->port[port].c;
}
