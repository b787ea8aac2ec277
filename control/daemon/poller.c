// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/poller.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "dataplane/worker.h"
#include "drivers/live.h"

enum {
	REST_AFTER_NS = 20000,
	REST_NS = 30000,
	REST_MARGIN_NS = 60000, // what a rest takes at worst on a quiet machine
	LOOPS_PER_LOOK = 2, // loops between two looks at the counters
};

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
};

struct pollers {
	_Atomic bool stop;
	unsigned n, n_started;
	struct poller p[];
};

static uint64_t frames_moved(const struct poller *p)
{
	uint64_t n = 0;

	for (unsigned i = p->id; i < p->n_ports; i += switch_n_workers(p->sw)) {
		const struct port_counters *c = switch_port_counters(p->sw, i);

		n += ctr_get(&c->received) + ctr_get(&c->transmitted);
	}
	return n;
}

// left_ns: until the worker has something to do. All in real time.
static bool may_rest(struct poller *p, uint64_t real_ns, uint64_t left_ns)
{
	uint64_t moved;

	if (left_ns < REST_MARGIN_NS) {
		p->moved_at_ns = real_ns;
		return false;
	}
	moved = frames_moved(p);
	if (moved != p->moved) {
		p->moved = moved;
		p->moved_at_ns = real_ns;
	}
	return real_ns - p->moved_at_ns >= REST_AFTER_NS;
}

static int poller_main(void *arg)
{
	static const struct timespec rest = {.tv_nsec = REST_NS};
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
		if (may_rest(p, real_ns, real_span_ns(p->time_scale, wake_ns)))
			nanosleep(&rest, NULL);
	}
	return 0;
}

int pollers_start(struct weir_switch *sw, const struct tsc_clock *clock,
		  const struct pollers_how *how, struct pollers **out)
{
	unsigned n = switch_n_workers(sw);
	struct pollers *all = calloc(1, sizeof(*all) + n * sizeof(all->p[0]));

	if (all == NULL)
		return -ENOMEM;
	all->n = n;
	for (unsigned i = 0; i < n; i++) {
		int err;

		all->p[i] = (struct poller){.sw = sw, .w = switch_worker(sw, i), .clock = clock,
					    .stop = &all->stop, .id = i,
					    .busy_poll = how->busy_poll,
					    .time_scale = how->time_scale,
					    .beat = &how->standin->workers[i].beat,
					    .limits = &how->standin->limits,
					    .n_ports = switch_policy(sw)->n_ports};
		err = rte_eal_remote_launch(poller_main, &all->p[i], live_worker_lcore(i));
		if (err != 0) {
			pollers_stop(all);
			return err;
		}
		all->n_started = i + 1;
	}
	*out = all;
	return 0;
}

void pollers_stop(struct pollers *all)
{
	if (all == NULL)
		return;
	atomic_store(&all->stop, true);
	for (unsigned i = 0; i < all->n_started; i++)
		rte_eal_wait_lcore(live_worker_lcore(i));
	free(all);
}
