// SPDX-License-Identifier: Apache-2.0
#include "tests/perf/measure.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sys/resource.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include "dataplane/qos/pfc.h"
#include "dataplane/worker.h"

enum { GIVE_UP_S = 20, EVENTS = 64 };

// What the workers wait for when they do not run for a time.
struct until {
	bool (*holds)(const struct rig *r, uint64_t arg);
	uint64_t arg;
};

// Shared by the workers of one run; each writes its own row.
struct run {
	struct rig *rig;
	const struct until *until; // NULL: run for `ticks`
	uint64_t ticks;
	_Atomic unsigned n_arrived, n_finished;
	struct __rte_cache_aligned each {
		struct run *run;
		unsigned id;
		uint64_t cycles, busy_cycles, preempted;
		bool timed_out;
	} each[RIG_MAX_WORKERS];
};

static uint64_t preemptions(void)
{
	struct rusage u = {0};

	(void)getrusage(RUSAGE_THREAD, &u);
	return (uint64_t)u.ru_nivcsw;
}

static void meet(struct run *run)
{
	atomic_fetch_add(&run->n_arrived, 1);
	while (atomic_load(&run->n_arrived) < run->rig->conf->n_workers)
		rte_pause();
}

static void loop_for(struct each *e, struct worker *w)
{
	const struct rig *r = e->run->rig;
	const struct worker_counters *c = switch_worker_counters(r->sw, e->id);
	uint64_t start = rte_rdtsc(), t = start, busy = ctr_get(&c->busy_loops);

	while (t - start < e->run->ticks) {
		uint64_t end, now_busy;

		(void)worker_step(w, clock_now_ns(&r->clock));
		end = rte_rdtsc();
		now_busy = ctr_get(&c->busy_loops);
		if (now_busy != busy)
			e->busy_cycles += end - t;
		busy = now_busy;
		t = end;
	}
	e->cycles = t - start;
}

static void loop_until(struct each *e, struct worker *w)
{
	const struct rig *r = e->run->rig;
	uint64_t give_up = rte_rdtsc() + GIVE_UP_S * rte_get_tsc_hz();

	while (!e->run->until->holds(r, e->run->until->arg) && !e->timed_out) {
		(void)worker_step(w, clock_now_ns(&r->clock));
		e->timed_out = rte_rdtsc() > give_up;
	}
}

static int worker_main(void *arg)
{
	struct each *e = arg;
	struct run *run = e->run;
	struct worker *w = switch_worker(run->rig->sw, e->id);
	uint64_t before;

	meet(run);
	before = preemptions();
	if (run->until != NULL)
		loop_until(e, w);
	else
		loop_for(e, w);
	e->preempted = preemptions() - before;
	atomic_fetch_add(&run->n_finished, 1);
	return 0;
}

// The main thread sleeps: rte_eal_wait_lcore() alone would take a core from the workers.
static void go(struct run *run)
{
	static const struct timespec look_again = {.tv_nsec = 200000};
	unsigned n = run->rig->conf->n_workers;

	for (unsigned i = 0; i < n; i++) {
		run->each[i] = (struct each){.run = run, .id = i};
		if (rte_eal_remote_launch(worker_main, &run->each[i], live_worker_lcore(i)) != 0)
			rte_panic("worker %u is not waiting\n", i);
	}
	while (atomic_load(&run->n_finished) < n)
		nanosleep(&look_again, NULL);
	for (unsigned i = 0; i < n; i++)
		rte_eal_wait_lcore(live_worker_lcore(i));
}

// ---- a round

struct sums {
	uint64_t packets, loops, busy_loops, rx_cycles, tx_cycles;
};

static struct sums sum(const struct rig *r)
{
	struct sums s = {0};

	for (unsigned i = 0; i < r->n_open; i++) {
		s.packets += ctr_get(&switch_port_counters(r->sw, i)->tx_packets);
		s.rx_cycles += r->probes[i].rx_cycles;
		s.tx_cycles += r->probes[i].tx_cycles;
	}
	for (unsigned i = 0; i < r->conf->n_workers; i++) {
		s.loops += ctr_get(&switch_worker_counters(r->sw, i)->loops);
		s.busy_loops += ctr_get(&switch_worker_counters(r->sw, i)->busy_loops);
	}
	return s;
}

struct round measure_round(struct rig *r, uint64_t ns)
{
	struct run run = {.rig = r, .ticks = ns * rte_get_tsc_hz() / 1000000000};
	struct event events[EVENTS];
	struct sums before, after;
	struct round round;

	while (switch_control_step(r->sw, clock_now_ns(&r->clock), events, EVENTS) == EVENTS)
		;
	before = sum(r);
	go(&run);
	after = sum(r);
	round = (struct round){
		.packets = after.packets - before.packets,
		.loops = after.loops - before.loops,
		.busy_loops = after.busy_loops - before.busy_loops,
		.rx_cycles = after.rx_cycles - before.rx_cycles,
		.tx_cycles = after.tx_cycles - before.tx_cycles,
	};
	for (unsigned i = 0; i < r->conf->n_workers; i++) {
		round.cycles += run.each[i].cycles;
		round.busy_cycles += run.each[i].busy_cycles;
		round.preempted += run.each[i].preempted;
		if (run.each[i].cycles > round.elapsed_cycles)
			round.elapsed_cycles = run.each[i].cycles;
	}
	return round;
}

// ---- states of the switch

static int run_until(struct rig *r, const struct until *u, const char *what)
{
	struct run run = {.rig = r, .until = u};

	go(&run);
	for (unsigned i = 0; i < r->conf->n_workers; i++) {
		if (!run.each[i].timed_out)
			continue;
		fprintf(stderr, "weir-bench: %s took longer than %d s\n", what, GIVE_UP_S);
		return -ETIMEDOUT;
	}
	return 0;
}

static bool request_is_done(const struct rig *r, uint64_t request)
{
	return switch_request_done(r->sw, request);
}

static bool queues_hold(const struct rig *r, uint64_t n)
{
	for (unsigned i = 0; i < r->n_open; i++)
		if (gauge_get(&switch_port_counters(r->sw, i)->queued) < n)
			return false;
	return true;
}

static bool all_is_sent(const struct rig *r, uint64_t arg)
{
	return measure_queued(r) == arg;
}

static int acknowledged(struct rig *r, uint64_t request)
{
	return run_until(r, &(struct until){request_is_done, request}, "a request to the workers");
}

static int set_tx(struct rig *r, bool on)
{
	int err = 0;

	for (unsigned i = 0; i < r->n_open && err == 0; i++)
		err = acknowledged(r, switch_set_tx(r->sw, i, -1, on));
	return err;
}

int measure_stand(struct rig *r, uint64_t n)
{
	int err = set_tx(r, false);

	if (err == 0)
		err = run_until(r, &(struct until){queues_hold, n}, "filling the queues");
	return err == 0 ? set_tx(r, true) : err;
}

int measure_drain(struct rig *r)
{
	int err = acknowledged(r, switch_hold_admission(r->sw, true));

	if (err == 0)
		err = run_until(r, &(struct until){all_is_sent, 0}, "emptying the queues");
	return err == 0 ? acknowledged(r, switch_hold_admission(r->sw, false)) : err;
}

uint64_t measure_dropped(const struct rig *r)
{
	return switch_balance(r->sw).dropped;
}

uint64_t measure_queued(const struct rig *r)
{
	return switch_balance(r->sw).queued;
}

uint64_t measure_pauses_sent(const struct rig *r)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < r->n_open; i++)
		for (unsigned c = 0; c < N_CLASSES; c++)
			n += ctr_get(&switch_pfc_tx(r->sw, i)->stats[c].transitions);
	return n;
}

uint64_t measure_marked(const struct rig *r)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < r->n_open; i++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			n += ctr_get(&switch_queue_counters(r->sw, i, q)->ecn_marked);
	return n;
}
