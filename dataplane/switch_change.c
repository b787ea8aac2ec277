// SPDX-License-Identifier: Apache-2.0
#include "dataplane/switch_change.h"

#include "dataplane/policy_change.h"
#include "dataplane/switch_impl.h"

static_assert((int)CHANGE_MAX_WORKERS == (int)MAX_WORKERS, "each worker has its place");

static void ask(struct weir_switch *sw, unsigned port, uint8_t classes)
{
	atomic_store_explicit(&sw->want.pause[port], classes, memory_order_relaxed);
}

void change_begin(struct weir_switch *sw, const struct policy *next, uint64_t now_ns,
		  uint64_t late_ns, struct policy_change *c)
{
	const struct policy *old = sw->policy_mem;

	*c = (struct policy_change){.next = next, .began_ns = now_ns, .late_ns = late_ns};
	c->classes = policy_change_classes(old, next);
	if (c->classes == 0)
		return;
	for (unsigned i = 0; i < sw->n_ports; i++) {
		uint8_t classes =
			policy_change_on_port(&old->ports[i], &next->ports[i], c->classes);

		ask(sw, i, classes);
		c->n_ports += classes != 0;
	}
	c->stage = CHANGE_PAUSING;
	control_request(sw);
	c->request = atomic_load(&sw->want.seq);
}

void change_end(struct weir_switch *sw, const struct policy_change *c)
{
	if (c->classes == 0)
		return;
	for (unsigned i = 0; i < sw->n_ports; i++)
		ask(sw, i, 0);
	control_request(sw);
}

// Whether all that was sent before the port's pauses has arrived.
static bool port_is_silent(const struct weir_switch *sw, const struct policy_change *c,
			   unsigned port, uint64_t now_ns)
{
	uint64_t response_ns = policy_change_response_ns(sw->policy_mem, c->next, port);
	uint8_t left = atomic_load_explicit(&sw->want.pause[port], memory_order_relaxed);

	for_each_bit (cls, left) {
		uint64_t since_ns = gauge_get(&sw->port[port]->pfc_tx.stats[cls].since_ns);

		if (switch_watchdog_recovers(sw, port, cls))
			continue;
		if (since_ns == 0 || now_ns < since_ns + response_ns)
			return false;
	}
	return true;
}

static bool all_are_silent(const struct weir_switch *sw, const struct policy_change *c,
			   uint64_t now_ns)
{
	if (!switch_request_done(sw, c->request))
		return false;
	for (unsigned i = 0; i < sw->n_ports; i++)
		if (switch_link_up(sw, i) && !port_is_silent(sw, c, i, now_ns))
			return false;
	return true;
}

// Each loop takes a burst out of each ring of n frames; one loop is under way.
static void expect_loops(struct weir_switch *sw, struct policy_change *c, unsigned worker,
			 uint32_t n)
{
	c->loops[worker] = ctr_get(&sw->workers[worker]->c.loops) + 2 + n / BURST;
}

static void expect_receiving(struct weir_switch *sw, struct policy_change *c)
{
	uint32_t longest = 0;

	for (unsigned i = 0; i < sw->n_ports; i++)
		if (sw->ports[i].facts.rx_ring > longest)
			longest = sw->ports[i].facts.rx_ring;
	for (unsigned i = 0; i < sw->n_workers; i++)
		expect_loops(sw, c, i, longest);
}

static void expect_handing(struct weir_switch *sw, struct policy_change *c)
{
	for (unsigned to = 0; to < sw->n_workers; to++) {
		uint32_t longest = 0;

		for (unsigned from = 0; from < sw->n_workers; from++) {
			const struct rte_ring *r = sw->workers[from]->out[to];

			if (r != NULL && ring_waiting(r) > longest)
				longest = ring_waiting(r);
		}
		expect_loops(sw, c, to, longest);
	}
}

static bool loops_done(const struct weir_switch *sw, const struct policy_change *c)
{
	for (unsigned i = 0; i < sw->n_workers; i++)
		if (ctr_get(&sw->workers[i]->c.loops) < c->loops[i])
			return false;
	return true;
}

static void advance(struct weir_switch *sw, struct policy_change *c, uint64_t now_ns)
{
	if (c->stage == CHANGE_PAUSING && all_are_silent(sw, c, now_ns)) {
		expect_receiving(sw, c);
		c->stage = CHANGE_RECEIVING;
	} else if (c->stage == CHANGE_RECEIVING && loops_done(sw, c)) {
		expect_handing(sw, c);
		c->stage = CHANGE_HANDING;
	} else if (c->stage == CHANGE_HANDING && loops_done(sw, c)) {
		c->stage = CHANGE_READY;
	}
}

bool change_ready(struct weir_switch *sw, struct policy_change *c, uint64_t now_ns)
{
	if (c->stage == CHANGE_READY)
		return true;
	advance(sw, c, now_ns);
	if (c->stage != CHANGE_READY && now_ns - c->began_ns >= c->late_ns) {
		c->late = true;
		c->stage = CHANGE_READY;
	}
	c->lasted_ns = now_ns - c->began_ns;
	return c->stage == CHANGE_READY;
}
