// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/workers.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "control/daemon/daemon.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/worker.h"
#include "drivers/live.h"
#include "drivers/standin/standin.h"

enum {
	REST_AFTER_NS = 20 * US_NS,
	REST_NS = 30 * US_NS,
	REST_MARGIN_NS = 60 * US_NS, // what a rest takes at worst on a quiet machine
	LOOPS_PER_LOOK = 2, // loops between two looks at the counters
	BLOCK_AFTER_NS = MS_NS,
	BLOCK_NS = 4 * MS_NS,
	BLOCKS_PER_LATE = 3, // waits within the age at which the stand-in acts
	ORDERS_EVERY_NS = 100 * MS_NS,
	REPORT_EVERY_NS = 60ull * SECOND_NS,
	LOOPS_ON = 2, // a worker writes the length of a stall in the loop after it
};

static_assert((int)STANDIN_MAX_PORTS >= (int)POLICY_MAX_PORTS, "a place for each port");

static const struct timespec rest = {.tv_nsec = REST_NS};

struct poller {
	struct weir_switch *sw;
	struct worker *w;
	const struct tsc_clock *clock;
	const _Atomic bool *stop; // written by control, read here
	unsigned id, n_ports; // policies come and go, the number of ports stays
	uint32_t time_scale;
	bool busy_poll;
	struct heartbeat *beat;
	const struct heartbeat_limits *limits;
	uint64_t moved; // frames in and out of our ports when last looked
	uint64_t moved_at_ns; // real time
	struct pollfd *fds; // of all our ports
	unsigned n_fds;
	bool fds_found;
	bool can_wait; // for a frame of any port
	uint32_t n_devices_taken; // by the worker, when fds was made
};

// What was last seen of a worker.
struct seen {
	uint64_t beats, at_ns; // at_ns: when `beats` was first seen
	uint64_t stalled_ns;
	uint64_t reported_beats; // while a reported stall lasts; 0: none
	uint64_t reported_ns; // the beginning of that stall
	bool gave_up;
};

struct workers {
	struct daemon *d;
	_Atomic bool stop;
	unsigned n_started;
	struct poller *pollers; // NULL: not running
	struct standin standin;
	uint64_t version; // of the policy that the orders are made of
	uint64_t orders_ns, reported_ns;
	struct seen seen[STANDIN_MAX_WORKERS];
	uint64_t sent[STANDIN_MAX_PORTS];
};

// A device that went down reports an error until somebody takes it.
static void wait_for_frame(struct poller *p, uint64_t ns)
{
	const struct timespec limit = {.tv_nsec = (long)ns};
	bool failed = false;

	if (ppoll(p->fds, p->n_fds, &limit, NULL) <= 0)
		return;
	for (unsigned i = 0; i < p->n_fds; i++)
		if ((p->fds[i].revents & ~POLLIN) != 0) {
			int err;
			socklen_t len = sizeof(err);

			(void)getsockopt(p->fds[i].fd, SOL_SOCKET, SO_ERROR, &err, &len);
			failed = true;
		}
	if (failed)
		nanosleep(&rest, NULL);
}

// A device that is replaced has other descriptors, and those before are closed.
static void find_fds(struct poller *p)
{
	int fds[POLICY_MAX_PORTS * PORT_WAIT_FDS], n;

	if (p->fds_found && p->n_devices_taken == worker_n_devices_taken(p->w))
		return;
	p->fds_found = true;
	p->n_devices_taken = worker_n_devices_taken(p->w);
	n = worker_wait_fds(p->w, fds);
	p->can_wait = n >= 0;
	p->n_fds = n >= 0 ? (unsigned)n : 0;
	for (unsigned i = 0; i < p->n_fds; i++)
		p->fds[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
}

// left_ns: until the worker has something to do. All in real time.
static void rest_if_idle(struct poller *p, uint64_t real_ns, uint64_t left_ns)
{
	uint64_t longest = gauge_get(&p->limits->late_ns) / BLOCKS_PER_LATE, begun_ns;
	uint64_t n = 0, pending = 0;

	if (left_ns < REST_MARGIN_NS) {
		p->moved_at_ns = real_ns;
		return;
	}
	for (unsigned i = p->id; i < p->n_ports; i += switch_n_workers(p->sw)) {
		const struct port_counters *c = switch_port_counters(p->sw, i);

		n += ctr_get(&c->received) + ctr_get(&c->transmitted);
		pending += gauge_get(&c->tx_pending_bytes);
	}
	if (n != p->moved) {
		p->moved = n;
		p->moved_at_ns = real_ns;
	}
	if (real_ns - p->moved_at_ns < REST_AFTER_NS)
		return;
	find_fds(p);
	if (!p->can_wait || pending != 0 || real_ns - p->moved_at_ns < BLOCK_AFTER_NS) {
		nanosleep(&rest, NULL);
		return;
	}
	if (longest > BLOCK_NS)
		longest = BLOCK_NS;
	if (longest > left_ns - REST_MARGIN_NS)
		longest = left_ns - REST_MARGIN_NS;
	begun_ns = clock_now_ns(p->clock);
	wait_for_frame(p, longest);
	ctr_add(&p->beat->waited_ns, clock_now_ns(p->clock) - begun_ns);
}

static int poller_main(void *arg)
{
	struct poller *p = arg;
	uint64_t real_ns = 0;
	unsigned loops = 0;

	// Without this the kernel adds its default slack of 50 us to each rest.
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	while (!atomic_load_explicit(p->stop, memory_order_relaxed)) {
		uint64_t t = clock_now_ns(p->clock);
		uint64_t now_ns, wake_ns;

		heartbeat_begin(p->beat);
		if (t > real_ns) {
			heartbeat_gap(p->beat, p->limits, real_ns != 0 ? t - real_ns : 0);
			real_ns = t;
		}
		now_ns = model_time_ns(p->time_scale, real_ns);
		wake_ns = worker_step(p->w, now_ns);
		if (p->busy_poll || ++loops % LOOPS_PER_LOOK != 0)
			continue;
		wake_ns = wake_ns > now_ns ? wake_ns - now_ns : 0;
		rest_if_idle(p, real_ns, real_span_ns(p->time_scale, wake_ns));
	}
	return 0;
}

// ---- orders

static uint64_t limit_of(uint64_t ns)
{
	return ns != 0 ? ns : UINT64_MAX;
}

// Classes for which the switch itself would send PFC now.
static uint8_t standin_classes(const struct workers *s, unsigned port)
{
	const struct pfc_params *p = &s->d->in.policy->ports[port].pfc;
	uint8_t classes = p->tx & p->lossless;

	if (!switch_port(s->d->in.sw, port)->facts.pfc_tx || !switch_link_up(s->d->in.sw, port))
		return 0;
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (switch_watchdog_recovers(s->d->in.sw, port, c))
			classes &= (uint8_t)~(1u << c);
	return classes;
}

static void give_orders(struct workers *s, uint64_t now_ns)
{
	const struct policy *policy = s->d->in.policy;
	struct standin_shared *shared = s->standin.shared;

	for (unsigned i = 0; i < policy->n_ports; i++) {
		const struct pfc_params *p = &policy->ports[i].pfc;
		struct standin_order o = standin_order(standin_classes(s, i), p->speed_bps,
						       p->refresh_ns,
						       instance_time_scale(&s->d->in));

		gauge_set(&shared->ports[i].order,
			  shared->ports[i].ifindex != 0 ? standin_pack(o) : 0);
	}
	gauge_set(&shared->limits.late_ns, limit_of(policy->stall.pause_after_ns));
	gauge_set(&shared->limits.stall_ns, limit_of(policy->stall.alarm_after_ns));
	gauge_set(&shared->pause_after_ns, policy->stall.pause_after_ns);
	s->version = policy->version;
	s->orders_ns = now_ns;
}

static void take_device(struct workers *s, unsigned port)
{
	const struct live_port *live = &s->d->ports[port];
	struct standin_port *p = &s->standin.shared->ports[port];
	struct live_info info = {0};

	live_info(live, &info);
	p->ifindex = info.ifindex;
	p->worker = (uint8_t)switch_port_owner(s->d->in.sw, port);
	memcpy(p->mac, live->facts.mac, sizeof(p->mac));
	atomic_thread_fence(memory_order_release); // before the order
}

void workers_new_device(struct workers *s, unsigned port)
{
	gauge_set(&s->standin.shared->ports[port].order, 0);
	atomic_thread_fence(memory_order_release); // before the rest
	take_device(s, port);
	s->orders_ns = 0; // the next poll gives the orders
}

int workers_start(struct workers *s)
{
	struct daemon *d = s->d;
	struct standin_shared *shared = s->standin.shared;
	unsigned n = switch_n_workers(d->in.sw);
	int err = 0;

	s->pollers = calloc(n, sizeof(s->pollers[0]));
	if (s->pollers == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < n && err == 0; i++) {
		struct poller *p = &s->pollers[i];

		*p = (struct poller){.sw = d->in.sw,
				     .w = switch_worker(d->in.sw, i),
				     .clock = &d->clock,
				     .stop = &s->stop,
				     .id = i,
				     .busy_poll =
					     d->opt->busy_poll || config_busy_poll(d->in.config),
				     .time_scale = instance_time_scale(&d->in),
				     .beat = &shared->workers[i].beat,
				     .limits = &shared->limits,
				     .n_ports = switch_policy(d->in.sw)->n_ports};
		p->fds = calloc((size_t)p->n_ports * PORT_WAIT_FDS, sizeof(*p->fds));
		err = p->fds == NULL ? -ENOMEM
				     : rte_eal_remote_launch(poller_main, p, live_worker_lcore(i));
		s->n_started += err == 0;
	}
	if (err != 0) {
		workers_stop(s);
		return err;
	}
	for (unsigned i = 0; i < n; i++)
		s->seen[i].at_ns = clock_now_ns(&d->clock);
	for (unsigned i = 0; i < d->n_open; i++)
		take_device(s, i);
	give_orders(s, 0);
	return 0;
}

void workers_stop(struct workers *s)
{
	if (s == NULL || s->pollers == NULL)
		return;
	gauge_set(&s->standin.shared->pause_after_ns, 0);
	atomic_store(&s->stop, true);
	for (unsigned i = 0; i < s->n_started; i++)
		rte_eal_wait_lcore(live_worker_lcore(i));
	for (unsigned i = 0; i < switch_n_workers(s->d->in.sw); i++)
		free(s->pollers[i].fds);
	free(s->pollers);
	s->pollers = NULL;
}

// ---- events

// The worker runs again. Its stall was reported, or is seen only now. stalled_ns: of all its stalls
// until now.
static void report_end(struct workers *s, unsigned i, uint64_t stalled_ns, uint64_t now_ns)
{
	struct seen *w = &s->seen[i];
	uint64_t length_ns = stalled_ns - w->stalled_ns;

	if (length_ns == 0)
		length_ns = now_ns - w->reported_ns;
	if (w->reported_beats == 0)
		daemon_event(s->d, EVENT_WORKER_STALLED, PORT_NONE, i, length_ns, now_ns);
	daemon_event(s->d, EVENT_WORKER_RECOVERED, PORT_NONE, i, length_ns, now_ns);
	w->reported_beats = 0;
	w->stalled_ns = stalled_ns;
}

static void check_worker(struct workers *s, unsigned i, uint64_t now_ns)
{
	const struct standin_worker *shared = &s->standin.shared->workers[i];
	uint64_t beats = atomic_load_explicit(&shared->beat.beats, memory_order_acquire);
	uint64_t stalled_ns = ctr_get(&shared->beat.stalled_ns);
	uint64_t alarm_ns = limit_of(s->d->in.policy->stall.alarm_after_ns);
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
	if (w->reported_beats != 0 ? beats - w->reported_beats >= LOOPS_ON
				   : stalled_ns != w->stalled_ns)
		report_end(s, i, stalled_ns, now_ns);
	if (gave_up && !w->gave_up)
		daemon_event(s->d, EVENT_STANDIN_GAVE_UP, PORT_NONE, i, 0, now_ns);
	w->gave_up = gave_up;
}

static void report_sent(struct workers *s, uint64_t now_ns)
{
	uint64_t sent[STANDIN_MAX_WORKERS] = {0};

	if (s->reported_ns != 0 && now_ns - s->reported_ns < REPORT_EVERY_NS)
		return;
	for (unsigned i = 0; i < s->d->in.policy->n_ports; i++) {
		const struct standin_port *p = &s->standin.shared->ports[i];
		uint64_t now = ctr_get(&p->sent);

		sent[p->worker % STANDIN_MAX_WORKERS] += now - s->sent[i];
		s->sent[i] = now;
	}
	for (unsigned i = 0; i < STANDIN_MAX_WORKERS; i++) {
		if (sent[i] == 0)
			continue;
		daemon_event(s->d, EVENT_STANDIN_PAUSED, PORT_NONE, i, sent[i], now_ns);
		s->reported_ns = now_ns;
	}
}

void workers_poll(struct workers *s, uint64_t now_ns)
{
	if (s->pollers == NULL)
		return;
	for (unsigned i = 0; i < s->d->in.policy->n_workers; i++)
		check_worker(s, i, now_ns);
	report_sent(s, now_ns);
	if (s->version != s->d->in.policy->version || now_ns - s->orders_ns >= ORDERS_EVERY_NS) {
		give_orders(s, now_ns);
		if (standin_lost(&s->standin))
			daemon_event(s->d, EVENT_STANDIN_ENDED, PORT_NONE, 0, 0, now_ns);
	}
}

uint64_t workers_still_ns(const struct workers *s, uint64_t now_ns)
{
	uint64_t longest = 0;

	for (unsigned i = 0; i < s->d->in.policy->n_workers; i++)
		if (now_ns - s->seen[i].at_ns > longest)
			longest = now_ns - s->seen[i].at_ns;
	return longest;
}

// ---- up and down

int workers_create(struct daemon *d, struct workers **out)
{
	struct workers *s = calloc(1, sizeof(*s));
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

void workers_destroy(struct workers *s)
{
	if (s == NULL)
		return;
	standin_stop(&s->standin);
	free(s);
}

struct standin *workers_standin(struct workers *s)
{
	return &s->standin;
}
