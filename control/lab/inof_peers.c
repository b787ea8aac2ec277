// SPDX-License-Identifier: Apache-2.0
#include "control/lab/inof_peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/inof/registry.h"

// What a switch says of a host.
struct word {
	uint64_t at_ns;
	struct ip_key ip; // 0: of no host
	enum inof_reason reason; // INOF_NO_FAULT: it is online
	uint16_t len;
	uint8_t tlv[INOF_TLV_MAX]; // its registration
};

struct peer {
	struct inof_registry *registry; // NULL: inof is off
	bool cut_off;
	uint64_t heard_ns; // the last sign of it
	bool lost; // and its hosts are offline
	uint64_t change; // of the registry, as last said
	bool all_said; // with that change
	struct word *said; // the last of each host, by its place in the registry
	struct word *log; // all of them, in order
	uint32_t n, room; // of the log
	uint32_t *taken; // how many of the log of each other switch its registry has
};

struct lab_inof_peers {
	uint64_t delay_ns, detect_ns;
	uint32_t n;
	struct peer *peer;
};

int lab_inof_peers_create(uint32_t n_switches, uint64_t delay_ns, uint64_t detect_ns,
			  struct lab_inof_peers **out)
{
	struct lab_inof_peers *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return -ENOMEM;
	*out = p;
	p->delay_ns = delay_ns;
	p->detect_ns = detect_ns;
	p->peer = calloc(n_switches, sizeof(p->peer[0]));
	while (p->peer != NULL && p->n < n_switches) {
		struct peer *s = &p->peer[p->n++];

		s->said = calloc(INOF_HOSTS, sizeof(s->said[0]));
		s->taken = calloc(n_switches, sizeof(s->taken[0]));
		if (s->said == NULL || s->taken == NULL)
			return -ENOMEM;
	}
	return p->peer == NULL ? -ENOMEM : 0;
}

void lab_inof_peers_destroy(struct lab_inof_peers *p)
{
	if (p == NULL)
		return;
	for (uint32_t i = 0; i < p->n; i++) {
		free(p->peer[i].said);
		free(p->peer[i].log);
		free(p->peer[i].taken);
	}
	free(p->peer);
	free(p);
}

void lab_inof_peers_cut_off(struct lab_inof_peers *p, uint32_t sw, bool on)
{
	if (p != NULL)
		p->peer[sw].cut_off = on;
}

void lab_inof_peers_registry(struct lab_inof_peers *p, uint32_t sw, struct inof_registry *r)
{
	struct peer *s;

	if (p == NULL || p->peer[sw].registry == r)
		return;
	s = &p->peer[sw];
	s->registry = r;
	s->all_said = false;
	memset(s->taken, 0, p->n * sizeof(s->taken[0]));
}

// ---- what a switch says

// Of the host at a place. False: there is no memory.
static bool append_peer_word(struct peer *s, unsigned place, const struct word *w)
{
	if (s->n == s->room) {
		uint32_t room = 2 * s->room + 64;
		struct word *more = realloc(s->log, room * sizeof(*more));

		if (more == NULL)
			return false;
		s->log = more;
		s->room = room;
	}
	s->log[s->n++] = s->said[place] = *w;
	return true;
}

// The host at a place as the registry has it.
static struct word peer_word_of_host(const struct peer *s, unsigned place, uint64_t now_ns)
{
	struct word w = {.at_ns = now_ns};
	struct inof_host_view h;

	if (!inof_host(s->registry, place, now_ns, &h) || h.origin != INOF_AT_PORT)
		return w;
	w.ip = h.ip;
	w.reason = h.reason;
	w.len = inof_build_registration(
		w.tlv, &(struct inof_registration){h.ip, h.subscribes, *h.service});
	return w;
}

// All hosts that were online at places where the registry has others, or none, are gone.
static bool say_ends(struct peer *s, enum inof_reason why, uint64_t now_ns)
{
	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		struct word end = s->said[i];

		if (end.len == 0 || end.reason != INOF_NO_FAULT ||
		    (why == INOF_AGED_OUT &&
		     ip_key_same(peer_word_of_host(s, i, now_ns).ip, end.ip)))
			continue;
		end.at_ns = now_ns;
		end.reason = why;
		if (!append_peer_word(s, i, &end))
			return false;
	}
	return true;
}

static bool say_changes(struct peer *s, uint64_t now_ns)
{
	uint64_t change = inof_change(s->registry);

	if (s->all_said && s->change == change)
		return true;
	// A host that has another place now comes after it has gone.
	if (!say_ends(s, INOF_AGED_OUT, now_ns))
		return false;
	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		const struct word w = peer_word_of_host(s, i, now_ns), *old = &s->said[i];

		if (w.len != 0 &&
		    (w.reason != old->reason || w.len != old->len ||
		     memcmp(w.tlv, old->tlv, w.len) != 0) &&
		    !append_peer_word(s, i, &w))
			return false;
	}
	s->change = change;
	s->all_said = true;
	return true;
}

static bool speak(struct lab_inof_peers *p, struct peer *s, uint64_t now_ns)
{
	if (s->registry != NULL && !s->cut_off) {
		s->heard_ns = now_ns;
		s->lost = false;
		return say_changes(s, now_ns);
	}
	if (s->lost || now_ns < s->heard_ns + p->detect_ns)
		return true;
	s->lost = true;
	s->all_said = false; // it says all again when it is back
	return say_ends(s, INOF_BFD_DOWN, now_ns);
}

// ---- what others hear

// No two switches of a fabric have a host, so no word is refused.
static void hear(const struct lab_inof_peers *p, struct peer *to, uint32_t from, uint64_t now_ns)
{
	const struct peer *s = &p->peer[from];
	uint32_t *i = &to->taken[from];
	struct inof_registration reg;

	for (; *i < s->n && s->log[*i].at_ns + p->delay_ns <= now_ns; ++*i)
		if (inof_read_registration(s->log[*i].tlv, s->log[*i].len, &reg))
			(void)inof_peer_word(to->registry, from + 1, &reg, s->log[*i].reason,
					     now_ns);
}

int lab_inof_peers_look(struct lab_inof_peers *p, uint64_t now_ns)
{
	for (uint32_t i = 0; p != NULL && i < p->n; i++)
		if (!speak(p, &p->peer[i], now_ns))
			return -ENOMEM;
	for (uint32_t to = 0; p != NULL && to < p->n; to++)
		for (uint32_t from = 0; from < p->n; from++)
			if (from != to && p->peer[to].registry != NULL && !p->peer[to].cut_off)
				hear(p, &p->peer[to], from, now_ns);
	return 0;
}
