// SPDX-License-Identifier: Apache-2.0
#include "dataplane/forward/mac_move.h"

static void count(struct mac_move *m, uint8_t from, uint64_t now_ns)
{
	uint64_t stay_ns = now_ns - m->since_ns;

	if (stay_ns > m->longest_ns) {
		m->longest_ns = stay_ns;
		m->longest = from;
	}
	if (m->n == 0 || now_ns - m->window_ns >= MAC_MOVE_WINDOW_NS) {
		m->window_ns = now_ns;
		m->first = from;
		m->n = 0;
	}
	m->n++;
	m->since_ns = now_ns;
}

enum mac_move_verdict mac_move_decide(const struct mac_move_params *p, struct mac_move *m,
				      uint8_t from, uint8_t to, uint64_t now_ns, uint8_t *home)
{
	if (p->limit == 0)
		return MAC_MOVE;
	if (now_ns < m->held_until_ns)
		return MAC_STAY;
	count(m, from, now_ns);
	if (m->n <= p->limit)
		return MAC_MOVE;
	*home = m->longest == from || m->longest == to ? m->longest : m->first;
	m->held_until_ns = now_ns + p->hold_ns;
	m->n = 0;
	return MAC_PIN;
}
