// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/watchdog.h"

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

// Where the detection clock starts; UINT64_MAX: it does not run.
static uint64_t clock_ns(const struct watchdog_params *p, const struct watchdog_class *c,
			 const struct watchdog_look *look)
{
	uint64_t start = later(look->paused_ns, gauge_get(&c->armed_ns));

	if (look->paused_ns == 0)
		return UINT64_MAX;
	if (p->mode == WATCHDOG_XOFF)
		return start;
	if (look->waiting_ns == 0)
		return UINT64_MAX;
	return later(start, later(look->waiting_ns, look->sent_ns));
}

void watchdog_arm(struct watchdog_class *c, uint64_t now_ns)
{
	gauge_set(&c->state, WATCHDOG_WATCHING);
	gauge_set(&c->since_ns, now_ns);
	gauge_set(&c->armed_ns, now_ns);
}

uint64_t watchdog_next(const struct watchdog_params *p, const struct watchdog_class *c,
		       const struct watchdog_look *look)
{
	uint64_t start;

	if (watchdog_stormed(c)) {
		start = gauge_get(&c->since_ns);
		if (p->mode == WATCHDOG_PROGRESS)
			start = later(start, gauge_get(&c->last_pause_ns));
		return start + watchdog_restore_ns(p, look->cls);
	}
	start = clock_ns(p, c, look);
	return start == UINT64_MAX ? UINT64_MAX : start + watchdog_detect_ns(p, look->cls);
}

enum watchdog_verdict watchdog_decide(const struct watchdog_params *p,
				      const struct watchdog_class *c,
				      const struct watchdog_look *look, uint64_t now_ns)
{
	if (now_ns < watchdog_next(p, c, look))
		return WATCHDOG_NOTHING;
	return watchdog_stormed(c) ? WATCHDOG_RESTORED : WATCHDOG_DETECTED;
}

static void frames_clear(struct watchdog_frames *f)
{
	gauge_set(&f->tx_ok, 0);
	gauge_set(&f->tx_dropped, 0);
	gauge_set(&f->rx_ok, 0);
	gauge_set(&f->rx_dropped, 0);
}

void watchdog_enter(const struct watchdog_params *p, struct watchdog_class *c,
		    const struct watchdog_look *look, uint64_t now_ns)
{
	gauge_set(&c->measured_ns, now_ns - clock_ns(p, c, look));
	gauge_set(&c->last_pause_ns, 0);
	frames_clear(&c->last);
	gauge_set(&c->since_ns, now_ns);
	gauge_set(&c->detected_ns[ctr_get(&c->detected) % WATCHDOG_RECENT], now_ns);
	atomic_thread_fence(memory_order_release); // who sees the count sees the time
	ctr_inc(&c->detected);
	gauge_set(&c->state, WATCHDOG_STORMED);
}

void watchdog_leave(struct watchdog_class *c, uint64_t now_ns)
{
	gauge_max(&c->storm_longest_ns, now_ns - gauge_get(&c->since_ns));
	ctr_inc(&c->restored);
	watchdog_arm(c, now_ns);
}

uint64_t watchdog_detected_ns(const struct watchdog_class *c, uint64_t n)
{
	uint64_t detected = ctr_get(&c->detected);

	atomic_thread_fence(memory_order_acquire);
	// The owner writes the time of a storm over the oldest one before it counts the storm.
	return detected - n < WATCHDOG_RECENT ? gauge_get(&c->detected_ns[n % WATCHDOG_RECENT]) : 0;
}

// ---- escalation

// The window is closed at both ends: storms exactly limit_window_ns apart fall into one.
bool watchdog_limit_storm(const struct watchdog_params *p, struct watchdog_limit *l, uint64_t t_ns)
{
	uint64_t first_ns;

	l->at_ns[l->n++ % WATCHDOG_LIMIT_MAX] = t_ns;
	if (p->limit_count == 0 || l->n < p->limit_count)
		return false;
	first_ns = l->at_ns[(l->n - p->limit_count) % WATCHDOG_LIMIT_MAX];
	if (t_ns - first_ns > p->limit_window_ns)
		return false;
	l->n = 0;
	return true;
}
