// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/inof/registry_impl.h"


const char *const inof_refusal_name[N_INOF_REFUSALS] = {
	[INOF_BAD_TLV] = "bad-tlv",	  [INOF_ADDRESS_HELD] = "address-held",
	[INOF_KEY_HELD] = "port-id-held", [INOF_NQN_HELD] = "nqn-held",
	[INOF_NO_ROOM] = "no-room",	  [INOF_PINNED] = "address-pinned",
	[INOF_ELSEWHERE] = "address-elsewhere",
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
	r->mac[h->no] = 0;
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
	struct event e = {.t_ns = now_ns, .type = (uint8_t)type, .port = (port_no_t)port,
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

// The host is no more the one that its port keeps for a moment.
static void stop_lingering(struct inof_registry *r, const struct host *h)
{
	if (h->origin == INOF_AT_PORT && r->port[h->port].lingers == h)
		r->port[h->port].lingers = NULL;
}

static void destroy_host(struct inof_registry *r, struct host *h)
{
	uint16_t *at = &r->by_ip[ip_bucket(r, h->ip)];

	while (*at != h->no)
		at = &r->host[*at]->next_by_ip;
	*at = h->next_by_ip;
	drop_key(r, h);
	zoning_leave(r, h);
	stop_lingering(r, h);
	r->nqn[h->no] = 0;
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
	zoning_look_at(r, h);
	h->shown = r->change;
	registry_say(r, EVENT_INOF_HOST, h, host_place(h), 0, now_ns);
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
	zoning_look_at(r, h);
	registry_say(r, EVENT_INOF_HOST_GONE, h, host_place(h), why, now_ns);
}

static uint64_t nqn_hash(const struct inof_nqn *nqn)
{
	uint64_t h = nqn->len;

	for (unsigned i = 0; i < nqn->len; i++)
		h = flow_mix(h, (uint8_t)nqn->text[i]);
	return flow_end(h) | 1;
}

static bool same_nqn(const struct inof_nqn *a, const struct inof_nqn *b)
{
	return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

// A host that says the name of before stays in its zones.
static void set_service(struct inof_registry *r, struct host *h, const struct inof_service *s)
{
	bool placed = h->placed && same_nqn(&h->service.nqn, &s->nqn);

	h->service = *s;
	r->nqn[h->no] = s->nqn.len == 0 ? 0 : nqn_hash(&s->nqn);
	if (placed)
		mark_receiver_dirty(r, h);
	else
		zoning_place(r, h);
}

static void apply_pending(struct inof_registry *r, struct host *h, uint64_t now_ns)
{
	const struct inof_service service = h->pending->service;

	h->subscribes = h->pending->subscribes;
	free(h->pending);
	h->pending = NULL;
	if (h->n_refs > 0)
		notices_renew(r, h);
	set_service(r, h, &service);
	host_come_online(r, h, now_ns);
}

// Whether the host may come back and still know others.
static bool knows_others(const struct host *h)
{
	return h->n_flights > 0 || meet(h->told, h->told, WORDS);
}

// None must be told that the host went. The last one of each port is kept for a moment: a host that
// comes and goes keeps its place in its zones.
static void end_soon(struct inof_registry *r, struct host *h, uint64_t now_ns)
{
	struct inof_port *p = h->origin == INOF_AT_PORT ? &r->port[h->port] : NULL;

	if (p == NULL) {
		destroy_host(r, h);
		return;
	}
	if (p->lingers != NULL && p->lingers != h)
		destroy_host(r, p->lingers);
	p->lingers = h;
	h->end_ns = min_u64(h->end_ns, now_ns + LINGER_MS * (uint64_t)MS_NS);
	r->next_age_ns = min_u64(r->next_age_ns, h->end_ns);
}

// One receiver less knows the host or waits for a notice about it.
void host_unref(struct inof_registry *r, struct host *h, uint64_t now_ns)
{
	h->n_refs--;
	if (h->n_refs > 0)
		return;
	if (!is_registered(h) && !knows_others(h))
		end_soon(r, h, now_ns);
	else if (h->pending != NULL)
		apply_pending(r, h, now_ns);
}

// The host can neither be told nor be reached any more. It still knows others if its link has not
// gone down: then it may register again and must be told what it missed.
static void leave_registry(struct inof_registry *r, struct host *h, enum inof_reason why,
			   bool forgets, uint64_t now_ns)
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
	leave_registry(r, h, why, forgets, now_ns);
	free(h->pending);
	h->pending = NULL;
	r->change++;
	drop_key(r, h);
	h->end_ns = now_ns + INOF_GHOST_S * (uint64_t)SECOND_NS;
	r->next_age_ns = min_u64(r->next_age_ns, h->end_ns);
	if (h->n_refs == 0 && !knows_others(h))
		end_soon(r, h, now_ns);
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
	if (r->host[no] == NULL)
		return;
	for (unsigned i = 0; i < INOF_HOSTS && ghost->n_refs > 0; i++) {
		struct host *h = r->host[i];

		for (unsigned k = h == NULL ? 0 : h->n_flights; k-- > 0;)
			if (h->flight[k].about == no) {
				notices_end(r, h, k, now_ns);
				break;
			}
		if (h != NULL && has_bit(h->told, no)) {
			put_bit(h->told, no, false);
			host_unref(r, ghost, now_ns);
		}
	}
	destroy_host(r, ghost);
}

static bool has_room(const struct inof_registry *r, enum inof_origin origin, unsigned port)
{
	return origin == INOF_AT_PORT
		       ? r->port[port].n < INOF_HOSTS - r->n_hosts
		       : r->n_hosts < INOF_HOSTS && r->n_peer_hosts < INOF_HOSTS - INOF_LOCAL;
}

static struct host *create_host(struct inof_registry *r, struct ip_key ip, enum inof_origin origin,
				unsigned port)
{
	struct host *h;
	uint16_t *at;

	if (origin == INOF_AT_PORT && !has_room(r, origin, port) && r->port[port].lingers != NULL)
		destroy_host(r, r->port[port].lingers);
	h = has_room(r, origin, port) ? calloc(1, sizeof(*h)) : NULL;
	at = &r->by_ip[ip_bucket(r, ip)];
	if (h == NULL)
		return NULL;
	while (r->host[h->no] != NULL)
		h->no++;
	h->ip = ip;
	h->origin = origin;
	h->port = (port_no_t)port;
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
	       same_nqn(&a->nqn, &b->nqn);
}

bool nqn_is_held(const struct inof_registry *r, const struct inof_nqn *nqn, unsigned port)
{
	uint64_t hash = nqn_hash(nqn);

	for (unsigned i = 0; nqn->len > 0 && i < INOF_HOSTS; i++) {
		const struct host *h = r->nqn[i] == hash ? r->host[i] : NULL;

		if (h != NULL && is_registered(h) && host_place(h) != port &&
		    same_nqn(&h->service.nqn, nqn))
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
		set_service(r, h, &reg->service);
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
		mark_receiver_dirty(r, h);
	if (!was_present)
		h->synced = r->change;
	if (!was_present && h->n_flights > 0)
		r->due_ns[h->no] = 0; // notices_rest() had stopped them
	h->subscribes = reg->subscribes;
	host_come_online(r, h, now_ns);
}

// The pin of an address; NULL: it may be anywhere.
static const struct inof_pin *pin_of(const struct inof_registry *r, struct ip_key ip)
{
	unsigned from = 0, end = r->conf.n_pins;

	while (from < end) {
		unsigned mid = (from + end) / 2;

		if (inof_ip_is_above(ip, r->conf.pins[mid].ip))
			from = mid + 1;
		else
			end = mid;
	}
	return from < r->conf.n_pins && ip_key_same(r->conf.pins[from].ip, ip)
		       ? &r->conf.pins[from]
		       : NULL;
}

// place: a port, or PORT_NONE for another switch.
static bool pin_allows(const struct inof_pin *pin, unsigned place)
{
	if (pin == NULL)
		return true;
	return place == PORT_NONE ? pin->peer : has_bit(pin->ports, place);
}

// Whether the host keeps its address from another place. While its link is down it does, unless the
// operator has named both places.
static bool keeps(const struct host *h, unsigned place, const struct inof_pin *pin)
{
	return h != NULL && is_registered(h) && host_place(h) != place &&
	       (h->present || pin == NULL);
}

// Whether the host is registered at the port already, so that no other place can have it.
static bool is_at(const struct host *h, unsigned port)
{
	return h != NULL && is_registered(h) && host_place(h) == port;
}

// A registration as its frame says it.
struct claim {
	struct key key;
	struct inof_registration reg;
	const uint8_t *src; // MAC address that sent the frame
	uint64_t end_ns;
};

// Whether another place has what the registration claims. The first holder keeps it.
// N_INOF_REFUSALS: none has.
static enum inof_refusal refusal_of(const struct inof_registry *r, unsigned port,
				    const struct claim *c)
{
	const struct host *by_key = find_key(r, &c->key), *by_ip = host_by_ip(r, c->reg.ip);
	const struct inof_pin *pin = pin_of(r, c->reg.ip);

	if (!pin_allows(pin, port))
		return INOF_PINNED;
	if (keeps(by_ip, port, pin))
		return by_ip == by_key ? INOF_KEY_HELD : INOF_ADDRESS_HELD;
	if (keeps(by_key, port, by_key == by_ip ? pin : NULL))
		return INOF_KEY_HELD;
	if (r->conf.unique_nqn && nqn_is_held(r, &c->reg.service.nqn, port))
		return INOF_NQN_HELD;
	if (pin == NULL && !is_at(by_ip, port) && r->ops->is_elsewhere != NULL &&
	    r->ops->is_elsewhere(r->arg, port, c->src, c->reg.ip))
		return INOF_ELSEWHERE;
	return N_INOF_REFUSALS;
}

static const uint8_t *chassis_mac_of_key(const struct key *k)
{
	return k->bytes + 3; // as host_key_of_pdu() wrote the chassis ID
}

static uint64_t mac_word(const struct key *k)
{
	return 1ull << 48 | (uint64_t)be32_get(chassis_mac_of_key(k)) << 16 |
	       be16_get(chassis_mac_of_key(k) + 4);
}

// Whether a host at another port has the MAC address of the key.
static bool mac_is_held(const struct inof_registry *r, const struct key *k, unsigned port)
{
	uint64_t mac = mac_word(k);

	for (unsigned i = 0; i < INOF_HOSTS; i++)
		if (r->mac[i] == mac && host_place(r->host[i]) != port)
			return true;
	return false;
}

static void move_to_port(struct inof_registry *r, struct host *h, unsigned port)
{
	if (h->origin == INOF_AT_PORT && h->port == port)
		return;
	set_ports_share(r, h, -1);
	h->origin = INOF_AT_PORT;
	h->port = (port_no_t)port;
	set_ports_share(r, h, 1);
	zoning_place(r, h);
}

static void register_host(struct inof_registry *r, unsigned port, const struct claim *c,
			  uint64_t now_ns)
{
	const struct key *key = &c->key;
	enum inof_refusal why = refusal_of(r, port, c);
	struct host *old, *h;
	bool owns_mac;

	if (why != N_INOF_REFUSALS) {
		registry_refuse(r, port, why, c->reg.ip, now_ns);
		return;
	}
	old = find_key(r, key);
	if (old != NULL && !ip_key_same(old->ip, c->reg.ip))
		unregister(r, old, INOF_ADDRESS_CHANGE, true, now_ns);
	h = host_by_ip(r, c->reg.ip);
	if (h == NULL)
		h = create_host(r, c->reg.ip, INOF_AT_PORT, port);
	if (h == NULL) {
		registry_refuse(r, port, INOF_NO_ROOM, c->reg.ip, now_ns);
		return;
	}
	// Another host registers the address of a ghost. It does not know what the ghost knew.
	if (h->key.len == 0 && h->key_hash != key_hash(r, key))
		notices_forget(r, h, now_ns);
	stop_lingering(r, h);
	move_to_port(r, h, port);
	r->port[port].c.registrations++;
	owns_mac = key->of_sender && (find_key(r, key) == h && h->key.of_sender
					      ? r->mac[h->no] != 0
					      : !mac_is_held(r, key, port));
	take_key(r, h, key);
	r->mac[h->no] = owns_mac ? mac_word(key) : 0;
	h->end_ns = c->end_ns;
	r->next_age_ns = min_u64(r->next_age_ns, h->end_ns);
	refresh(r, h, &c->reg, now_ns);
}

// Kind and bytes of both IDs.
static bool host_key_of_pdu(const struct lldp_pdu *p, const uint8_t *src, struct key *out)
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
	struct claim c = {.src = frame + 6};
	struct lldp_pdu pdu;
	enum inof_found found;
	struct host *h;
	bool alone;

	if (!takes_part(r, port) || lldp_parse(frame, len, &pdu) != LLDP_OK)
		return false;
	if (!r->port[port].up)
		return keep_registration(&r->port[port], frame, len, now_ns);
	found = inof_find_registration(frame, len, &c.reg, &alone);
	c.end_ns = now_ns + min_u64(pdu.ttl_s, INOF_KEEP_S) * SECOND_NS;
	if (!host_key_of_pdu(&pdu, frame + 6, &c.key))
		found = found == INOF_NONE ? INOF_NONE : INOF_BAD;
	else if (found == INOF_FOUND && pdu.ttl_s != 0)
		register_host(r, port, &c, now_ns);
	else if (found != INOF_BAD) {
		// A goodbye, or an LLDP station that registers no more. The neighbours of LLDP
		// want the frame, too.
		h = find_key(r, &c.key);
		if (h != NULL && host_place(h) == port)
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
	const struct inof_pin *pin = pin_of(r, reg->ip);
	struct host *h = host_by_ip(r, reg->ip);

	if (!pin_allows(pin, PORT_NONE) || keeps(h, PORT_NONE, pin) ||
	    (h != NULL && h->present && h->origin == INOF_AT_PEER && h->peer != peer))
		return false;
	if (h == NULL)
		h = create_host(r, reg->ip, INOF_AT_PEER, 0);
	if (h == NULL)
		return false;
	if (h->origin == INOF_AT_PORT) {
		notices_forget(r, h, now_ns);
		drop_key(r, h);
		stop_lingering(r, h);
		set_ports_share(r, h, -1);
		h->origin = INOF_AT_PEER;
		set_ports_share(r, h, 1);
		zoning_place(r, h);
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
	registry_say(r, up ? EVENT_INOF_REFLECTOR : EVENT_INOF_REFLECTOR_GONE, &about, PORT_NONE,
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

		if (h == NULL || host_place(h) != port)
			continue;
		if (h->present) {
			leave_registry(r, h, INOF_LINK_DOWN, true, now_ns);
			h->end_ns = now_ns + INOF_KEEP_S * (uint64_t)SECOND_NS;
		}
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

		if (h == NULL || host_place(h) != port)
			continue;
		if (reason == INOF_NO_FAULT)
			host_come_online(r, h, now_ns);
		else
			go_offline(r, h, reason, now_ns);
	}
}

// ---- time

// The cost of a host that goes or changes its service is that of all receivers. A poll spends the
// first number; the hosts that are left wait for the next poll.
enum { AGE_COST_A_POLL = 64, AGE_COST_OF_ALL = 8 };

static void age(struct inof_registry *r, uint64_t now_ns)
{
	unsigned cost = 0;

	if (now_ns < r->next_age_ns)
		return;
	r->next_age_ns = UINT64_MAX;
	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		struct host *h = r->host[i];

		if (h == NULL)
			continue;
		if (h->pending != NULL && now_ns >= h->pending_ns && cost < AGE_COST_A_POLL) {
			cost += AGE_COST_OF_ALL;
			apply_pending(r, h, now_ns);
		}
		if (h->again_ns != 0 && now_ns >= h->again_ns && cost < AGE_COST_A_POLL) {
			cost++;
			notices_answer(r, h, now_ns);
		}
		if (now_ns >= h->end_ns && cost < AGE_COST_A_POLL) {
			cost += is_registered(h) ? 1 : AGE_COST_OF_ALL;
			if (is_registered(h))
				unregister(r, h, INOF_AGED_OUT, false, now_ns);
			else
				purge(r, h, now_ns);
		}
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
	r->busy_from = r->work + WORK_A_POLL;
}

bool inof_is_busy(const struct inof_registry *r)
{
	return r->work >= r->busy_from;
}

// ---- what the operator says

void inof_set_conf(struct inof_registry *r, const struct inof_conf *conf, uint64_t now_ns)
{
	bool placed = r->conf.default_zone != conf->default_zone;

	r->conf = *conf;
	r->pins = 0;
	for (unsigned i = 0; i < conf->n_pins; i++) {
		const struct inof_pin *p = &conf->pins[i];

		r->pins = flow_mix(flow_mix(r->pins, p->ip.hi), p->ip.lo);
		r->pins = flow_mix(flow_mix(r->pins, p->ports[0]), p->ports[1]);
		r->pins = flow_mix(r->pins, p->peer);
	}
	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		struct host *h = r->host[i];

		if (h != NULL && is_registered(h) &&
		    ((h->origin == INOF_AT_PORT && !takes_part(r, h->port)) ||
		     !pin_allows(pin_of(r, h->ip), host_place(h))))
			unregister(r, h, INOF_ZONE_CHANGE, false, now_ns);
	}
	if (placed)
		zoning_place_all(r);
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
	r->round.next = INOF_HOSTS;
	r->busy_from = WORK_A_POLL;
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
	zoning_free(r);
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
		.mac = r->mac[h->no] != 0 ? chassis_mac_of_key(&h->key) : NULL};
	for (unsigned w = 0; w < ZONE_WORDS; w++)
		out->n_zones += (unsigned)__builtin_popcountll(h->zone_set[w]);
	return true;
}

uint64_t inof_pins(const struct inof_registry *r)
{
	return r->pins;
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
