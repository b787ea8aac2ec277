// SPDX-License-Identifier: Apache-2.0
// Connections that are closed after so many messages and opened anew on the queue pair numbers they
// had, as applications do that keep queue pairs in a pool: `reuse` of a flow. Crossed, two of them
// between the same hosts change places at the responder, so that a number of the sender belongs to
// another number of the receiver than before.
//
//   busy --(after messages are complete)--> closed --(pause)--> busy
//                                             |                  ^
//                                             +-- waits for -----+
//                                                 a partner (crossed), PARTNER_NS at most
#include <errno.h>

#include "control/lab/traffic_int.h"

enum { PARTNER_NS = 100000 };

static void reopen(void *arg, uint64_t now_ns)
{
	struct lane *l = arg;
	struct traffic *t = l->run->t;
	int err = lane_open(l, NULL);

	// A number is in use: by a slot whose last frame waits, or by another flow for a while.
	if (err == -ENOSPC) {
		traffic_at(t, now_ns + LANE_RETRY_NS, reopen, l);
		return;
	}
	if (err != 0) {
		traffic_give_up(t);
		return;
	}
	l->reuse.n_begun = 0;
	standing_continue(l, now_ns);
}

static void reopen_later(struct lane *l)
{
	uint64_t pause = (uint64_t)l->run->f->reuse.pause.n;

	l->reuse.waits = false;
	traffic_at(l->run->t, traffic_now(l->run->t) + pause, reopen, l);
}

static void without_partner(void *arg, uint64_t now_ns)
{
	struct lane *l = arg;

	// It found one meanwhile, and may wait for another since.
	if (l->reuse.waits && l->reuse.since_ns + PARTNER_NS <= now_ns)
		reopen_later(l);
}

static struct lane *find_partner(const struct lane *l)
{
	const struct run *r = l->run;

	for (uint32_t i = 0; i < r->n_lanes; i++) {
		struct lane *other = r->lanes[i];

		if (other->reuse.waits && other != l && other->pub.src == l->pub.src &&
		    other->pub.dst == l->pub.dst)
			return other;
	}
	return NULL;
}

static void cross(struct lane *l)
{
	struct lane *other = find_partner(l);
	uint32_t peer_qpn = l->reuse.peer_qpn;

	if (other == NULL) {
		l->reuse.waits = true;
		l->reuse.since_ns = traffic_now(l->run->t);
		traffic_at(l->run->t, l->reuse.since_ns + PARTNER_NS, without_partner, l);
		return;
	}
	l->reuse.peer_qpn = other->reuse.peer_qpn;
	other->reuse.peer_qpn = peer_qpn;
	reopen_later(other);
	reopen_later(l);
}

static void close_for_reuse(void *arg, uint64_t now_ns)
{
	struct lane *l = arg;
	struct traffic *t = l->run->t;
	struct nic_flow_status s = nic_flow_status(t->f->hosts[l->pub.src].nic, l->pub.id);

	(void)now_ns;
	l->reuse.qpn = s.qpn;
	l->reuse.peer_qpn = s.peer_qpn;
	lane_close(t, l);
	if (l->run->f->reuse.crossed.n != 0)
		cross(l);
	else
		reopen_later(l);
}

bool lane_used_up(const struct lane *l)
{
	int64_t after = l->run->f->reuse.after.n;

	return after > 0 && l->reuse.n_begun >= (uint64_t)after;
}

void lane_reuse(struct lane *l)
{
	struct traffic *t = l->run->t;

	// The NIC is calling: it does not like its connections to go meanwhile.
	traffic_at(t, traffic_now(t), close_for_reuse, l);
}
