// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/poller.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "dataplane/units.h"
#include "dataplane/worker.h"
#include "drivers/live.h"

enum {
	REST_AFTER_NS = 20 * US_NS,
	REST_NS = 30 * US_NS,
	REST_MARGIN_NS = 60 * US_NS, // what a rest takes at worst on a quiet machine
	LOOPS_PER_LOOK = 2, // loops between two looks at the counters
	BLOCK_AFTER_NS = MS_NS,
	BLOCK_NS = 4 * MS_NS,
	BLOCKS_PER_LATE = 3, // waits within the age at which the stand-in acts
};

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
	bool sending; // frames handed to a driver have not left
	struct pollfd *fds; // of all our ports
	unsigned n_fds;
	bool fds_found;
	bool can_wait; // for a frame of any port
	uint32_t n_devices_taken; // by the worker, when fds was made
};

struct pollers {
	_Atomic bool stop;
	unsigned n, n_started;
	struct poller p[];
};

static void look(struct poller *p, uint64_t real_ns)
{
	uint64_t n = 0, pending = 0;

	for (unsigned i = p->id; i < p->n_ports; i += switch_n_workers(p->sw)) {
		const struct port_counters *c = switch_port_counters(p->sw, i);

		n += ctr_get(&c->received) + ctr_get(&c->transmitted);
		pending += gauge_get(&c->tx_pending_bytes);
	}
	p->sending = pending != 0;
	if (n != p->moved) {
		p->moved = n;
		p->moved_at_ns = real_ns;
	}
}

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

	if (left_ns < REST_MARGIN_NS) {
		p->moved_at_ns = real_ns;
		return;
	}
	look(p, real_ns);
	if (real_ns - p->moved_at_ns < REST_AFTER_NS)
		return;
	find_fds(p);
	if (!p->can_wait || p->sending || real_ns - p->moved_at_ns < BLOCK_AFTER_NS) {
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
		all->p[i].fds = calloc((size_t)all->p[i].n_ports * PORT_WAIT_FDS,
				       sizeof(*all->p[i].fds));
		err = all->p[i].fds == NULL ? -ENOMEM : 0;
		if (err == 0)
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
	for (unsigned i = 0; i < all->n; i++)
		free(all->p[i].fds);
	free(all);
}
