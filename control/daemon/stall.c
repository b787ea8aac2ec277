// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/stall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/daemon/daemon.h"
#include "dataplane/units.h"
#include "drivers/standin/standin.h"

enum {
	ORDERS_EVERY_NS = 100 * MS_NS,
	SAY_EVERY_NS = 60ull * SECOND_NS,
	LOOPS_ON = 2, // a worker writes the length of a stall in the loop after it
};

static_assert((int)STANDIN_MAX_PORTS >= (int)POLICY_MAX_PORTS, "a place for each port");

// What was last seen of a worker.
struct seen {
	uint64_t beats, at_ns; // at_ns: when `beats` was first seen
	uint64_t stalls, stalled_ns;
	uint64_t reported_beats; // while a reported stall lasts; 0: none
	uint64_t reported_ns; // the beginning of that stall
	bool gave_up;
};

struct stall {
	struct daemon *d;
	struct standin standin;
	bool armed;
	uint64_t version; // of the policy that the orders are made of
	uint64_t orders_ns, said_ns;
	struct seen seen[STANDIN_MAX_WORKERS];
	uint64_t sent[STANDIN_MAX_PORTS];
};

int stall_create(struct daemon *d, struct stall **out)
{
	struct stall *s = calloc(1, sizeof(*s));
	int err;

	if (s == NULL)
		return -ENOMEM;
	s->d = d;
	err = standin_start(&s->standin);
	if (s->standin.shared == NULL) {
		free(s);
		return -ENOMEM;
	}
	if (err != 0)
		printf("note: no stand-in (%s): no PAUSE while a worker stands still\n",
		       strerror(-err));
	*out = s;
	return 0;
}

void stall_destroy(struct stall *s)
{
	if (s == NULL)
		return;
	standin_stop(&s->standin);
	free(s);
}

struct standin *stall_standin(struct stall *s)
{
	return &s->standin;
}

// ---- orders

static uint64_t limit_of(uint64_t ns)
{
	return ns != 0 ? ns : UINT64_MAX;
}

// Classes for which the switch itself would send PFC now.
static uint8_t classes_of(const struct stall *s, unsigned port)
{
	const struct pfc_params *p = &s->d->policy->ports[port].pfc;
	uint8_t classes = p->tx & p->lossless;

	if (!switch_port(s->d->sw, port)->facts.pfc_tx || !switch_link_up(s->d->sw, port))
		return 0;
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (switch_watchdog_recovers(s->d->sw, port, c))
			classes &= (uint8_t)~(1u << c);
	return classes;
}

static void give_orders(struct stall *s, uint64_t now_ns)
{
	const struct policy *policy = s->d->policy;
	struct standin_shared *shared = s->standin.shared;

	for (unsigned i = 0; i < policy->n_ports; i++) {
		const struct pfc_params *p = &policy->ports[i].pfc;
		struct standin_order o = standin_order(classes_of(s, i), p->speed_bps,
						       p->lifetime_ns / 2,
						       config_time_scale(s->d->config));

		gauge_set(&shared->ports[i].order,
			  shared->ports[i].ifindex != 0 ? standin_pack(o) : 0);
	}
	gauge_set(&shared->limits.late_ns, limit_of(policy->stall.pause_after_ns));
	gauge_set(&shared->limits.stall_ns, limit_of(policy->stall.alarm_after_ns));
	gauge_set(&shared->pause_after_ns, policy->stall.pause_after_ns);
	s->version = policy->version;
	s->orders_ns = now_ns;
}

static void take_device(struct stall *s, unsigned port)
{
	const struct live_port *live = &s->d->ports[port];
	struct standin_port *p = &s->standin.shared->ports[port];
	struct live_info info = {0};

	live_info(live, &info);
	p->ifindex = info.ifindex;
	p->worker = (uint8_t)switch_port_owner(s->d->sw, port);
	memcpy(p->mac, live->facts.mac, sizeof(p->mac));
	atomic_thread_fence(memory_order_release); // before the order
}

void stall_new_device(struct stall *s, unsigned port)
{
	gauge_set(&s->standin.shared->ports[port].order, 0);
	atomic_thread_fence(memory_order_release); // before the rest
	take_device(s, port);
	s->orders_ns = 0; // the next poll gives the orders
}

void stall_arm(struct stall *s)
{
	for (unsigned i = 0; i < s->d->n_open; i++)
		take_device(s, i);
	s->armed = true;
	give_orders(s, 0);
}

void stall_disarm(struct stall *s)
{
	s->armed = false;
	gauge_set(&s->standin.shared->pause_after_ns, 0);
}

// ---- events

// The worker runs again. Its stall was reported, or is seen only now.
static void is_over(struct stall *s, unsigned i, uint64_t stalls, uint64_t now_ns)
{
	const struct heartbeat *beat = &s->standin.shared->workers[i].beat;
	struct seen *w = &s->seen[i];
	uint64_t length_ns = ctr_get(&beat->stalled_ns) - w->stalled_ns;

	if (stalls == w->stalls)
		length_ns = now_ns - w->reported_ns;
	if (w->reported_beats == 0)
		daemon_event(s->d, EVENT_WORKER_STALLED, PORT_NONE, i, length_ns, now_ns);
	daemon_event(s->d, EVENT_WORKER_RECOVERED, PORT_NONE, i, length_ns, now_ns);
	w->reported_beats = 0;
	w->stalls = stalls;
	w->stalled_ns = ctr_get(&beat->stalled_ns);
}

static void look_at_worker(struct stall *s, unsigned i, uint64_t now_ns)
{
	const struct standin_worker *shared = &s->standin.shared->workers[i];
	uint64_t beats = atomic_load_explicit(&shared->beat.beats, memory_order_acquire);
	uint64_t stalls = ctr_get(&shared->beat.stalls);
	uint64_t alarm_ns = limit_of(s->d->policy->stall.alarm_after_ns);
	bool gave_up = gauge_get(&shared->gave_up) != 0;
	struct seen *w = &s->seen[i];

	if (beats != w->beats) {
		w->beats = beats;
		w->at_ns = now_ns;
	}
	if (w->reported_beats == 0 && beats != 0 && now_ns - w->at_ns >= alarm_ns) {
		w->reported_beats = beats;
		w->reported_ns = w->at_ns;
		daemon_event(s->d, EVENT_WORKER_STALLED, PORT_NONE, i, now_ns - w->at_ns, now_ns);
	}
	if (w->reported_beats != 0 ? beats - w->reported_beats >= LOOPS_ON : stalls != w->stalls)
		is_over(s, i, stalls, now_ns);
	if (gave_up && !w->gave_up)
		daemon_event(s->d, EVENT_STANDIN_GAVE_UP, PORT_NONE, i, 0, now_ns);
	w->gave_up = gave_up;
}

static void report_sent(struct stall *s, uint64_t now_ns)
{
	uint64_t sent[STANDIN_MAX_WORKERS] = {0};

	if (s->said_ns != 0 && now_ns - s->said_ns < SAY_EVERY_NS)
		return;
	for (unsigned i = 0; i < s->d->policy->n_ports; i++) {
		const struct standin_port *p = &s->standin.shared->ports[i];
		uint64_t now = ctr_get(&p->sent);

		sent[p->worker % STANDIN_MAX_WORKERS] += now - s->sent[i];
		s->sent[i] = now;
	}
	for (unsigned i = 0; i < STANDIN_MAX_WORKERS; i++) {
		if (sent[i] == 0)
			continue;
		daemon_event(s->d, EVENT_STANDIN_PAUSED, PORT_NONE, i, sent[i], now_ns);
		s->said_ns = now_ns;
	}
}

void stall_poll(struct stall *s, uint64_t now_ns)
{
	if (!s->armed)
		return;
	for (unsigned i = 0; i < s->d->policy->n_workers; i++)
		look_at_worker(s, i, now_ns);
	report_sent(s, now_ns);
	if (s->version != s->d->policy->version || now_ns - s->orders_ns >= ORDERS_EVERY_NS) {
		give_orders(s, now_ns);
		if (standin_lost(&s->standin))
			daemon_event(s->d, EVENT_STANDIN_ENDED, PORT_NONE, 0, 0, now_ns);
	}
}
