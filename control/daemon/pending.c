// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/pending.h"

#include "dataplane/policy.h"

void pending_start(struct pending *p, enum pending_kind kind, uint64_t request, uint64_t now_ns)
{
	*p = (struct pending){.kind = kind, .request = request,
			      .deadline_ns = now_ns + ACK_TIMEOUT_NS};
}

bool switch_at_rest(const struct weir_switch *sw)
{
	unsigned n_ports = switch_policy(sw)->n_ports;

	for (unsigned i = 0; i < n_ports; i++)
		if (gauge_get(&switch_port_counters(sw, i)->tx_pending_bytes) != 0)
			return false;
	return switch_balance(sw).queued == 0;
}

// The driver is a queue: what it held when the owner acknowledged has left once the port has sent
// that much more, even if other queues keep it busy. Frames handed over later only add to both
// sides. Sent bytes are read first, so that the difference is never too large.
static bool driver_drained(const struct pending *p, const struct weir_switch *sw)
{
	const struct port_counters *c = switch_port_counters(sw, p->port);
	uint64_t given = ctr_get(&c->tx_bytes);
	uint64_t in_driver;

	atomic_thread_fence(memory_order_acquire);
	in_driver = gauge_get(&c->tx_pending_bytes);
	return in_driver == 0 || given >= p->leave_target + in_driver;
}

static void on_ack(struct pending *p, const struct weir_switch *sw, uint64_t now_ns)
{
	const struct port_counters *c;

	p->acked = true;
	p->deadline_ns = now_ns + DRAIN_TIMEOUT_NS;
	if (p->kind != PENDING_TX)
		return;
	c = switch_port_counters(sw, p->port);
	p->leave_target = ctr_get(&c->tx_bytes) + gauge_get(&c->tx_pending_bytes);
}

static bool goal_reached(const struct pending *p, const struct weir_switch *sw)
{
	switch (p->kind) {
	case PENDING_TX: return p->on || driver_drained(p, sw);
	case PENDING_QUIESCE: return switch_at_rest(sw);
	case PENDING_NONE:
	case PENDING_RELOAD:
	case PENDING_FLOWS:
	case PENDING_FORGET:
	case PENDING_INOF:
	case PENDING_ACK: break;
	}
	return true;
}

enum pending_verdict pending_step(struct pending *p, const struct weir_switch *sw, uint64_t now_ns)
{
	if (!p->acked && switch_request_done(sw, p->request))
		on_ack(p, sw, now_ns);
	if (p->acked && goal_reached(p, sw))
		return PENDING_DONE;
	if (now_ns < p->deadline_ns)
		return PENDING_WAIT;
	// A switch that does not come to rest is no failure: the answer has what waits.
	return p->acked && p->kind == PENDING_QUIESCE ? PENDING_DONE : PENDING_TIMEOUT;
}
