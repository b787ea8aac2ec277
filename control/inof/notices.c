// SPDX-License-Identifier: Apache-2.0
// Notices to hosts: the comparison with the truth, notices on their way, and the frames.
#include <stdlib.h>
#include <string.h>

#include "control/inof/registry_impl.h"

enum { COST_A_POLL = 1 << 20 }; // of comparisons: words of sets

static const uint64_t RETRY_NS = INOF_RETRY_MS * (uint64_t)MS_NS;

// ---- hosts that may know of each other

static bool can_be_told(const struct host *h)
{
	return h->present && h->subscribes && h->origin == INOF_AT_PORT;
}

// A part of a set of hosts.
struct span {
	unsigned from, end; // words
};

// Hosts of which this one should know, in these words of the set: those of its zones and family
// that are online, and that are targets if it is an initiator, or the other way round. Returns the
// cost.
static unsigned visible(const struct inof_registry *r, const struct host *h, struct span s,
			uint64_t out[WORDS])
{
	const uint64_t(*by_role)[WORDS] = r->online[inof_ip_is_v6(h->ip)];
	unsigned n_zones = 0;

	memset(out + s.from, 0, (s.end - s.from) * sizeof(*out));
	for (unsigned i = 0; i < ZONE_WORDS; i++)
		for (uint64_t left = h->zone_set[i]; left != 0; left &= left - 1, n_zones++) {
			unsigned zone = i * 64 + (unsigned)__builtin_ctzll(left);

			for (unsigned w = s.from; w < s.end; w++)
				out[w] |= r->zone[zone]->members[w];
		}
	for (unsigned w = s.from; w < s.end; w++)
		out[w] &= (h->service.role & INOF_INITIATOR ? by_role[INOF_TARGET][w] : 0) |
			  (h->service.role & INOF_TARGET ? by_role[INOF_INITIATOR][w] : 0);
	if (h->no / 64u >= s.from && h->no / 64u < s.end)
		put_bit(out, h->no, false);
	return ZONE_WORDS + (n_zones + 2) * (s.end - s.from);
}

void notices_end(struct inof_registry *r, struct host *h, unsigned i, uint64_t now_ns)
{
	struct host *about = r->host[h->flight[i].about];

	if (h->flight[i].first)
		put_bit(r->dirty, h->no, true); // the next notice about the same host
	h->flight[i] = h->flight[--h->n_flights];
	if (h->blocked)
		put_bit(r->dirty, h->no, true); // there is room for the next notice
	host_unref(r, about, now_ns);
}

// The host knows of no other any more: it is gone, or has begun anew.
void notices_forget(struct inof_registry *r, struct host *h, uint64_t now_ns)
{
	while (h->n_flights > 0)
		notices_end(r, h, h->n_flights - 1, now_ns);
	for (unsigned w = 0; w < WORDS; w++)
		while (h->told[w] != 0) {
			unsigned i = w * 64 + (unsigned)__builtin_ctzll(h->told[w]);

			h->told[w] &= h->told[w] - 1;
			host_unref(r, r->host[i], now_ns);
		}
	r->due_ns[h->no] = UINT64_MAX;
	h->blocked = h->silent = false;
	free(h->renewed);
	h->renewed = NULL;
	mark_receiver_dirty(r, h);
	h->synced = r->change;
}

void notices_rest(struct inof_registry *r, struct host *h)
{
	r->due_ns[h->no] = UINT64_MAX;
	for (unsigned i = 0; i < h->n_flights; i++)
		h->flight[i].due_ns = 0; // sent when the host is back
}

// Without memory a receiver keeps the service of before.
void notices_renew(struct inof_registry *r, const struct host *about)
{
	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		struct host *to = r->host[i];

		if (to == NULL || !has_bit(to->told, about->no))
			continue;
		if (to->renewed == NULL)
			to->renewed = calloc(WORDS, sizeof(*to->renewed));
		if (to->renewed != NULL)
			put_bit(to->renewed, about->no, true);
		mark_receiver_dirty(r, to);
	}
}

static uint64_t renewed(const struct host *h, unsigned word)
{
	return h->renewed == NULL ? 0 : h->renewed[word];
}

// ---- notices

static struct flight *flight_about(struct host *h, unsigned about)
{
	for (unsigned i = 0; i < h->n_flights; i++)
		if (h->flight[i].about == about)
			return &h->flight[i];
	return NULL;
}

// Why a notice says what it says. A host that comes has no reason, unless the zones have changed
// since both hosts are there.
static enum inof_reason notice_reason(const struct inof_registry *r, const struct host *to,
				      const struct host *about, bool online)
{
	if (!online && renewed(to, about->no / 64) >> (about->no % 64) & 1)
		return INOF_ADDRESS_CHANGE;
	if (!online)
		return about->online ? INOF_ZONE_CHANGE : about->reason;
	return r->zones_changed > max_u64(to->synced, about->shown) ? INOF_ZONE_CHANGE
								    : INOF_NO_FAULT;
}

static uint64_t log_notice(struct inof_registry *r, const struct host *to,
			   const struct flight *f, uint64_t now_ns)
{
	uint64_t no = ++r->last_told;

	r->log[no % INOF_LOG] = (struct inof_told){
		.seq_no = no, .first_ns = now_ns, .about = r->host[f->about]->ip,
		.receiver = to->ip, .seq = f->seq, .port = to->port, .reason = f->reason,
		.online = f->online};
	return no;
}

// Begins a notice in place of one about the same host that is on its way. After "offline" because
// of another service the host must acknowledge, or it would keep the connection of before. False:
// the window is full.
static bool begin_notice(struct inof_registry *r, struct host *to, unsigned about, bool online,
			 uint64_t now_ns)
{
	struct flight *f = flight_about(to, about);

	if (f != NULL && f->first && online)
		return true;
	if (f == NULL) {
		if (to->n_flights >= (online ? INOF_WINDOW : INOF_WINDOW_ALL))
			return false;
		f = &to->flight[to->n_flights++];
		r->host[about]->n_refs++;
	}
	// The bit itself is a reference, too.
	put_bit(to->told, about, online);
	r->host[about]->n_refs += online ? 1u : (uint32_t)-1;
	*f = (struct flight){.due_ns = now_ns, .seq = ++to->seq, .about = (uint16_t)about,
			     .reason = (uint8_t)notice_reason(r, to, r->host[about], online),
			     .online = online};
	f->first = f->reason == INOF_ADDRESS_CHANGE;
	f->log = log_notice(r, to, f, now_ns);
	if (to->renewed != NULL)
		put_bit(to->renewed, about, false);
	r->due_ns[to->no] = 0;
	return true;
}

// Begins the notices that the host lacks: first of those that went, then of those that came.
// Returns the cost.
static unsigned compare(struct inof_registry *r, struct host *to, struct span s, uint64_t now_ns)
{
	uint64_t want[WORDS];
	unsigned cost = visible(r, to, s, want);

	to->blocked = false;
	for (unsigned came = 0; came < 2; came++)
		for (unsigned w = s.from; w < s.end && !to->blocked; w++) {
			uint64_t differ = want[w] ^ to->told[w];

			differ = came ? differ & want[w] : (differ & ~want[w]) | renewed(to, w);
			for (; differ != 0 && !to->blocked; differ &= differ - 1, cost += WORDS)
				to->blocked = !begin_notice(
					r, to, w * 64 + (unsigned)__builtin_ctzll(differ), came,
					now_ns);
		}
	return cost;
}

static bool any_is_dirty(const struct inof_registry *r)
{
	return r->round.next < INOF_HOSTS || meet(r->dirty, r->dirty, WORDS) ||
	       meet(r->dirty_zones, r->dirty_zones, ZONE_WORDS);
}

static void begin_round(struct inof_registry *r)
{
	r->round.next = 0;
	memcpy(r->round.zones, r->dirty_zones, sizeof(r->dirty_zones));
	memcpy(r->round.words, r->dirty_words, sizeof(r->dirty_words));
	memset(r->dirty_zones, 0, sizeof(r->dirty_zones));
	memset(r->dirty_words, 0, sizeof(r->dirty_words));
}

// The words in which hosts of the round's zones have changed.
static struct span changed_words(const struct round *round)
{
	struct span s = {WORDS, 0};

	for (unsigned w = 0; w < WORDS; w++)
		if (has_bit(round->words, w)) {
			s.from = s.from < w ? s.from : w;
			s.end = w + 1;
		}
	return s;
}

// Compares a receiver with all hosts if the receiver has changed or its window was full. Else the
// function compares it with those hosts that are in changed zones. Returns the cost.
static unsigned compare_next(struct inof_registry *r, struct host *h, struct span changed,
			     uint64_t now_ns)
{
	const struct span all = {0, WORDS};
	bool own = has_bit(r->dirty, h->no), zones = meet(h->zone_set, r->round.zones, ZONE_WORDS);

	put_bit(r->dirty, h->no, false);
	if (!can_be_told(h) || (!own && !zones))
		return 1;
	return compare(r, h, own || h->blocked ? all : changed, now_ns);
}

void notices_compare(struct inof_registry *r, uint64_t now_ns)
{
	unsigned cost = 0;
	struct span changed;

	if (!any_is_dirty(r))
		return;
	if (r->round.next == INOF_HOSTS)
		begin_round(r);
	changed = changed_words(&r->round);
	for (; r->round.next < INOF_HOSTS && cost < COST_A_POLL; r->round.next++)
		if (r->host[r->round.next] != NULL)
			cost += compare_next(r, r->host[r->round.next], changed, now_ns);
}

// ---- sending

static bool take_token(struct inof_port *p, uint64_t now_ns)
{
	const uint64_t most = INOF_BURST * (uint64_t)FRAME_NS;

	p->tokens_ns = min_u64(most, p->tokens_ns + (now_ns - p->refilled_ns));
	p->refilled_ns = now_ns;
	if (p->tokens_ns < FRAME_NS)
		return false;
	p->tokens_ns -= FRAME_NS;
	return true;
}

// A frame that is being filled, and the notices in it.
struct out {
	struct inof_frame frame;
	unsigned port, n;
	uint8_t version;
	struct {
		struct host *to;
		unsigned flight;
	} in[INOF_FRAME_MAX / 32];
};

static uint64_t retry_ns(unsigned tries)
{
	uint64_t wait_ns = RETRY_NS << (tries < 8 ? tries - 1 : 7);

	return min_u64(wait_ns, INOF_RETRY_MAX_MS * (uint64_t)MS_NS);
}

static void was_sent(struct inof_registry *r, struct host *to, struct flight *f, uint64_t now_ns)
{
	struct inof_counters *c = &r->port[to->port].c;
	struct inof_told *log = &r->log[f->log % INOF_LOG];

	f->tries = f->tries < UINT8_MAX ? f->tries + 1 : f->tries;
	f->due_ns = now_ns + retry_ns(f->tries);
	c->notices++;
	c->repeated += f->tries > 1;
	if (log->seq_no == f->log)
		log->sent++;
	if (f->tries <= INOF_SILENT || to->silent)
		return;
	to->silent = true;
	registry_say(r, EVENT_INOF_SILENT, to, to->port, to->n_flights, now_ns);
}

// False: the port sends no more now.
static bool send_notice_frame(struct inof_registry *r, struct out *o, uint64_t now_ns)
{
	if (o->n == 0)
		return true;
	inof_end(&o->frame);
	if (!r->ops->send(r->arg, o->port, &o->frame)) {
		r->port[o->port].tokens_ns += FRAME_NS;
		o->n = 0;
		return false;
	}
	r->port[o->port].c.frames++;
	while (o->n > 0) {
		o->n--;
		was_sent(r, o->in[o->n].to, &o->in[o->n].to->flight[o->in[o->n].flight], now_ns);
	}
	return true;
}

static bool put_notice(struct inof_registry *r, struct out *o, struct host *to, unsigned i,
		       uint64_t now_ns)
{
	const struct flight *f = &to->flight[i];
	const struct host *about = r->host[f->about];
	// Until the host has sent a frame, its version is unknown: both versions in turn.
	uint8_t version = to->version != VERSION_UNKNOWN ? to->version
							 : (uint8_t)(INOF_VERSION - f->tries % 2);
	const struct inof_message m = {.kind = INOF_NOTICE, .src = about->ip, .dst = to->ip,
				       .seq = f->seq, .online = f->online, .reason = f->reason,
				       .service = about->service};

	if (o->n > 0 && (o->version != version || !inof_append(&o->frame, &m))) {
		if (!send_notice_frame(r, o, now_ns))
			return false;
	} else if (o->n > 0) {
		o->in[o->n].to = to;
		o->in[o->n++].flight = i;
		return true;
	}
	if (!take_token(&r->port[o->port], now_ns))
		return false;
	o->version = version;
	inof_begin(&o->frame, r->ops->mac(r->arg, o->port), version);
	inof_append(&o->frame, &m); // one message always fits
	o->in[0].to = to;
	o->in[0].flight = i;
	o->n = 1;
	return true;
}

static uint64_t earliest(const struct host *h)
{
	uint64_t at_ns = UINT64_MAX;

	for (unsigned i = 0; i < h->n_flights; i++)
		at_ns = min_u64(at_ns, h->flight[i].due_ns);
	return at_ns;
}

// All notices that are due at one port, from the host on that was not served the last time.
static void send_port(struct inof_registry *r, unsigned port, const uint16_t *due, unsigned n,
		      uint64_t now_ns)
{
	struct out o = {.port = port};
	bool open = true;

	for (unsigned k = 0; k < n; k++) {
		struct host *to = r->host[due[k]];

		for (unsigned i = 0; open && i < to->n_flights; i++)
			if (to->flight[i].due_ns <= now_ns)
				open = put_notice(r, &o, to, i, now_ns);
	}
	send_notice_frame(r, &o, now_ns);
	for (unsigned k = 0; k < n; k++)
		r->due_ns[due[k]] = earliest(r->host[due[k]]);
}

void notices_send(struct inof_registry *r, uint64_t now_ns)
{
	uint16_t due[INOF_HOSTS];
	unsigned n = 0, first = r->next_receiver;

	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		unsigned no = (first + i) % INOF_HOSTS;

		if (r->due_ns[no] <= now_ns)
			due[n++] = (uint16_t)no;
	}
	if (n > 0)
		r->next_receiver = (due[0] + 1u) % INOF_HOSTS;
	while (n > 0) {
		unsigned port = r->host[due[0]]->port, n_here = 0, n_rest = 0;
		uint16_t here[INOF_HOSTS];

		for (unsigned i = 0; i < n; i++)
			if (r->host[due[i]]->port == port)
				here[n_here++] = due[i];
			else
				due[n_rest++] = due[i];
		send_port(r, port, here, n_here, now_ns);
		n = n_rest;
	}
}

uint64_t inof_next_ns(const struct inof_registry *r)
{
	uint64_t next_ns = r->next_age_ns;

	if (any_is_dirty(r))
		return 0;
	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		const struct inof_port *p;
		uint64_t paced_ns = 0;

		if (r->due_ns[i] == UINT64_MAX)
			continue;
		p = &r->port[r->host[i]->port];
		if (p->tokens_ns < FRAME_NS)
			paced_ns = p->refilled_ns + FRAME_NS - p->tokens_ns;
		next_ns = min_u64(next_ns, max_u64(r->due_ns[i], paced_ns));
	}
	return next_ns;
}

// ---- frames of hosts

static void on_ack(struct inof_registry *r, unsigned port, const struct inof_message *m,
		   uint8_t version, uint64_t now_ns)
{
	struct inof_counters *c = &r->port[port].c;
	struct host *h = host_by_ip(r, m->dst);
	unsigned i = 0;

	if (h != NULL && (!can_be_told(h) || h->port != port))
		h = NULL;
	while (h != NULL && i < h->n_flights &&
	       (h->flight[i].seq != m->seq || h->flight[i].tries == 0 ||
		!ip_key_same(r->host[h->flight[i].about]->ip, m->src)))
		i++;
	if (h == NULL || i == h->n_flights) {
		c->bad_acks++;
		return;
	}
	c->acks++;
	h->version = version;
	h->silent = false;
	if (r->log[h->flight[i].log % INOF_LOG].seq_no == h->flight[i].log)
		r->log[h->flight[i].log % INOF_LOG].acked_ns = now_ns;
	notices_end(r, h, i, now_ns);
	r->due_ns[h->no] = earliest(h);
}

void notices_answer(struct inof_registry *r, struct host *h, uint64_t now_ns)
{
	h->asked_ns = now_ns;
	h->again_ns = 0;
	notices_forget(r, h, now_ns);
	host_come_online(r, h, now_ns);
}

// A host sends a query when it starts, so it must be told of all hosts. Its link is up again. It
// gets one answer a second: each answer fills the log.
static void on_query(struct inof_registry *r, unsigned port, const struct inof_message *m,
		     uint8_t version, uint64_t now_ns)
{
	struct host *h = host_by_ip(r, m->dst);

	r->port[port].c.queries++;
	if (h == NULL || !is_registered(h) || host_place(h) != port) {
		r->port[port].c.unknown_queries++;
		return;
	}
	if (!h->present && r->conf.unique_nqn && nqn_is_held(r, &h->service.nqn, port)) {
		registry_refuse(r, port, INOF_NQN_HELD, h->ip, now_ns);
		return;
	}
	h->version = version;
	if (!h->present || h->asked_ns == 0 || now_ns - h->asked_ns >= INOF_QUERY_NS) {
		h->present = true;
		notices_answer(r, h, now_ns);
	} else if (h->again_ns == 0) {
		h->again_ns = h->asked_ns + INOF_QUERY_NS;
		r->next_age_ns = min_u64(r->next_age_ns, h->again_ns);
	}
}

void inof_receive(struct inof_registry *r, unsigned port, const uint8_t *frame, uint32_t len,
		  uint64_t now_ns)
{
	struct inof_counters *c = &r->port[port].c;
	struct inof_message m;
	struct inof_reader in;
	enum inof_read read;

	if (!takes_part(r, port))
		return;
	if (!r->port[port].up) {
		registry_keep_early(r, port, frame, len, now_ns);
		return;
	}
	if (!inof_open(frame, len, &in)) {
		c->malformed++;
		return;
	}
	while ((read = inof_next(&in, &m)) != INOF_END) {
		if (read != INOF_MESSAGE)
			c->malformed++;
		else if (m.kind == INOF_ACK)
			on_ack(r, port, &m, in.version, now_ns);
		else if (m.kind == INOF_QUERY)
			on_query(r, port, &m, in.version, now_ns);
		else
			c->from_hosts++;
	}
}

