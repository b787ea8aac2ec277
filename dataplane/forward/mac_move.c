// SPDX-License-Identifier: Apache-2.0
#include "dataplane/forward/mac_move.h"

static bool is_recent(const struct mac_stay *s, uint64_t now_ns)
{
	return now_ns - s->left_ns < MAC_MOVE_WINDOW_NS;
}

// The slot with the least rank is reused first: an old stay before a recent stay, then the shorter.
static uint64_t rank(const struct mac_stay *s, uint64_t now_ns)
{
	return (uint64_t)is_recent(s, now_ns) << 63 | s->longest_ns;
}

static struct mac_stay *stay_at(struct mac_move *m, port_no_t port, uint64_t now_ns)
{
	struct mac_stay *least = &m->stay[0];

	for (unsigned i = 0; i < MAC_STAYS; i++) {
		struct mac_stay *s = &m->stay[i];

		if (s->longest_ns != 0 && s->port == port)
			return s;
		if (rank(s, now_ns) < rank(least, now_ns))
			least = s;
	}
	*least = (struct mac_stay){.port = port};
	return least;
}

static void count_mac_move(struct mac_move *m, port_no_t from, uint64_t now_ns)
{
	struct mac_stay *s = stay_at(m, from, now_ns);
	uint64_t stay_ns = now_ns - m->since_ns;

	if (stay_ns > s->longest_ns)
		s->longest_ns = stay_ns;
	s->left_ns = now_ns;
	if (m->n == 0 || now_ns - m->window_ns >= MAC_MOVE_WINDOW_NS) {
		m->window_ns = now_ns;
		m->n = 0;
	}
	m->n++;
	m->since_ns = now_ns;
}

enum mac_move_verdict mac_move_decide(const struct mac_move_params *p, struct mac_move *m,
				      port_no_t from, uint64_t now_ns)
{
	if (p->limit == 0)
		return MAC_MOVE;
	if (now_ns < m->held_until_ns)
		return MAC_STAY;
	count_mac_move(m, from, now_ns);
	if (m->n <= p->limit)
		return MAC_MOVE;
	m->held_until_ns = now_ns + p->hold_ns;
	m->n = 0;
	return MAC_PIN;
}

port_no_t mac_move_home(const struct mac_move *m, port_no_t to, const bool *usable, uint64_t now_ns)
{
	uint64_t longest_ns = 0;
	port_no_t home = to;

	for (unsigned i = 0; i < MAC_STAYS; i++) {
		const struct mac_stay *s = &m->stay[i];
		bool lived = s->port == to || is_recent(s, now_ns);

		if (lived && usable[s->port] && s->longest_ns > longest_ns) {
			longest_ns = s->longest_ns;
			home = s->port;
		}
	}
	return home;
}
