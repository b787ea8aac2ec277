// SPDX-License-Identifier: Apache-2.0
#include "tests/threads/thread_rig.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <json-c/json_object.h>
#include <rte_mbuf.h>

#include "control/config/config.h"
#include "control/microbursts/burstlog.h"
#include "control/observe/observe.h"
#include "dataplane/base/bits.h"
#include "dataplane/policy.h"
#include "dataplane/switch_ecn.h"
#include "dataplane/tap.h"
#include "dataplane/worker.h"
#include "drivers/absent.h"

enum {
	POOL_FRAMES = 16383,
	CONTROL_NS = 100000000,
	EVENTS = 1024,
	GLANCES = 300, // at the balance, each at another moment of the workers' loops
};

static const uint64_t patience_ns = 60000000000; // a wait that takes longer is for ever

#ifdef __SANITIZE_THREAD__
// The hash library is not instrumented: a key is published there by a store that the sanitizer does
// not see, and its memcmp by a worker then looks like a race with control's memcpy before it.
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:librte_hash.so\n";
}
#endif

uint64_t thread_rig_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct policy *compile(const struct thread_rig *r, const char *yaml)
{
	struct diags d = {0};
	struct config *c = NULL;
	struct policy *p = NULL;

	if (config_parse("threads.yaml", yaml, strlen(yaml), &c, &d) != 0 ||
	    config_compile(c, r->facts, &p, &d) != 0) {
		for (unsigned i = 0; i < d.n; i++)
			print_error("%s\n", d.lines[i]);
		fail();
	}
	config_small_flows(c, p);
	config_destroy(c);
	diags_fini(&d);
	if (r->adjust != NULL)
		r->adjust(r, p);
	return p;
}

// ---- threads

struct worker_arg {
	struct thread_rig *rig;
	struct worker *worker;
};

static void *work(void *arg)
{
	struct worker_arg a = *(struct worker_arg *)arg;

	free(arg);
	while (!atomic_load_explicit(&a.rig->stop, memory_order_relaxed)) {
		worker_step(a.worker, thread_rig_now_ns());
		sched_yield(); // there are more threads than cores
	}
	return NULL;
}

static struct rte_mempool *pool_once(void)
{
	static struct rte_mempool *pool;

	if (pool == NULL)
		pool = ring_port_pool("threads", POOL_FRAMES);
	assert_non_null(pool);
	return pool;
}

struct thread_rig *thread_rig_open(const char *yaml,
				   void (*adjust)(const struct thread_rig *r, struct policy *p),
				   void *arg)
{
	static unsigned n_opened;
	struct thread_rig *r = calloc(1, sizeof(*r));
	struct switch_port ports[PEERS_PORTS];
	struct burstlog *bursts;
	struct policy *policy;

	assert_non_null(r);
	r->adjust = adjust;
	r->arg = arg;
	r->pool = pool_once();
	r->pool_frames = rte_mempool_avail_count(r->pool);
	for (unsigned i = 0; i < PEERS_PORTS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "rp%u-%u", n_opened, i);
		assert_int_equal(ring_port_init(&r->ports[i], name), 0);
		r->facts[i] = ring_port_facts((uint8_t)(i + 1));
		ports[i] = (struct switch_port){
			.ops = &ring_port_ops, .drv = &r->ports[i], .facts = r->facts[i]};
	}
	policy = compile(r, yaml);
	snprintf(policy->name, sizeof(policy->name), "thr%u", n_opened++);
	assert_int_equal(switch_create(policy, ports, r->pool, 1, &r->sw), 0);
	assert_int_equal(burstlog_create(PEERS_PORTS, &bursts), 0);
	r->in = (struct instance){.sw = r->sw, .service[SERVICE_MICROBURSTS] = bursts};
	assert_int_equal(observe_create(&r->in, &r->observe), 0);
	r->n_workers = switch_n_workers(r->sw);
	r->control_ns = thread_rig_now_ns();
	r->peers.ports = r->ports;
	r->peers.pool = r->pool;
	rng_init(&r->peers.rng, 1);
	return r;
}

void thread_rig_start(struct thread_rig *r)
{
	for (unsigned i = 0; i < r->n_workers; i++) {
		struct worker_arg *a = malloc(sizeof(*a));

		assert_non_null(a);
		*a = (struct worker_arg){r, switch_worker(r->sw, i)};
		assert_int_equal(pthread_create(&r->workers[i], NULL, work, a), 0);
	}
	assert_int_equal(peers_start(&r->peers), 0);
}

void thread_rig_close(struct thread_rig *r)
{
	struct policy *policy;

	peers_stop(&r->peers);
	atomic_store(&r->stop, true);
	for (unsigned i = 0; i < r->n_workers; i++)
		pthread_join(r->workers[i], NULL);
	observe_destroy(r->observe);
	burstlog_destroy(instance_microbursts(&r->in));
	policy = (struct policy *)(uintptr_t)switch_policy(r->sw);
	switch_destroy(r->sw);
	policy_destroy(policy);
	for (unsigned i = 0; i < PEERS_PORTS; i++)
		ring_port_fini(&r->ports[i]);
	assert_int_equal(rte_mempool_avail_count(r->pool), r->pool_frames);
	free(r);
}

// ---- what control does

static void control_step(struct thread_rig *r)
{
	struct event events[EVENTS];

	switch_control_step(r->sw, r->control_ns, events, EVENTS);
	burstlog_poll(instance_microbursts(&r->in), r->sw,
		      &(struct burst_clock){thread_rig_now_ns(), thread_rig_now_ns(), 1});
}

void thread_rig_time_passes(struct thread_rig *r)
{
	r->control_ns += CONTROL_NS;
	control_step(r);
}

void thread_rig_check_balance(const struct thread_rig *r)
{
	struct balance x = switch_balance(r->sw);

	assert_true(balance_ended(&x) <= balance_begun(&x));
}

void thread_rig_await(struct thread_rig *r, bool (*done)(const struct thread_rig *r, uint64_t arg),
		      uint64_t arg)
{
	uint64_t began = thread_rig_now_ns();

	while (!done(r, arg)) {
		if (thread_rig_now_ns() - began > patience_ns)
			fail_msg("waited for ever");
		control_step(r);
		sched_yield();
	}
}

static bool is_done(const struct thread_rig *r, uint64_t request)
{
	return switch_request_done(r->sw, request);
}

void thread_rig_acknowledged(struct thread_rig *r, uint64_t request)
{
	thread_rig_await(r, is_done, request);
}

static bool grace_over(const struct thread_rig *r, uint64_t token)
{
	return switch_grace_over(r->sw, token);
}

void thread_rig_publish(struct thread_rig *r, const char *yaml)
{
	struct policy *old;
	uint64_t token;

	switch_publish(r->sw, compile(r, yaml), &old, &token);
	thread_rig_await(r, grace_over, token);
	policy_destroy(old);
}

static bool peers_know(const struct thread_rig *r, uint64_t epoch)
{
	return atomic_load_explicit(&r->peers.link_seen[FLAPPING], memory_order_acquire) == epoch;
}

static bool replaced(const struct thread_rig *r, uint64_t port)
{
	return switch_device_replaced(r->sw, (unsigned)port);
}

static void use_device(struct thread_rig *r, const struct port_ops *ops, void *drv)
{
	const struct switch_port next = {.ops = ops, .drv = drv, .facts = r->facts[FLAPPING]};

	assert_int_equal(switch_replace_device(r->sw, FLAPPING, &next), 0);
	thread_rig_await(r, replaced, FLAPPING);
}

void thread_rig_link_down(struct thread_rig *r)
{
	uint32_t epoch = atomic_load(&r->peers.link_epoch[FLAPPING]) + 1;

	ring_port_set_up(&r->ports[FLAPPING], false);
	thread_rig_time_passes(r);
	thread_rig_acknowledged(r, switch_clear_watermarks(r->sw));
	atomic_store_explicit(&r->peers.link_epoch[FLAPPING], epoch, memory_order_release);
	thread_rig_await(r, peers_know, epoch);
}

void thread_rig_link_up(struct thread_rig *r)
{
	ring_port_set_up(&r->ports[FLAPPING], true);
	thread_rig_time_passes(r);
}

void thread_rig_flap(struct thread_rig *r)
{
	thread_rig_link_down(r);
	use_device(r, &absent_ops, NULL);
	thread_rig_time_passes(r);
	use_device(r, &ring_port_ops, &r->ports[FLAPPING]);
	thread_rig_link_up(r);
}

void thread_rig_tap_for_a_while(struct thread_rig *r)
{
	struct tap_params params = {
		.ports = {(1 << PEERS_PORTS) - 1},
		.n_workers = r->n_workers,
		.n_records = 256,
		.snaplen = 64,
	};
	const struct tap_record *records[32];
	struct tap *tap;
	uint64_t lost = 0;

	assert_int_equal(tap_create(&params, &tap), 0);
	thread_rig_acknowledged(r, switch_set_tap(r->sw, tap));
	for (unsigned i = 0; i < 50; i++) {
		for (unsigned w = 0; w < r->n_workers; w++) {
			unsigned n = tap_read(tap, w, records, 32);

			for (unsigned k = 0; k < n; k++)
				lost += records[k]->captured > 64 || records[k]->data[0] == 0xaa;
			tap_release(tap, w, n);
		}
		tap_lost_of(tap, 0);
	}
	assert_int_equal(lost, 0);
	thread_rig_acknowledged(r, switch_set_tap(r->sw, NULL));
	tap_destroy(tap);
}

static void count_row(void *arg, const struct fdb_row *row)
{
	*(unsigned *)arg += row->port;
}

void thread_rig_read_all(struct thread_rig *r)
{
	static const char *const kinds[] = {
		"ports",    "queues",  "pfc",	  "buffers",	 "watermarks", "drops",
		"hints",    "balance", "control", "fdb",	 "latency",    "workers",
		"watchdog", "guard",   "causes",  "microbursts",
	};
	unsigned rows = 0;

	for (unsigned i = 0; i < GLANCES; i++)
		thread_rig_check_balance(r);
	observe_sample(r->observe, r->control_ns);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		json_object_put(
			observe_show(r->observe, kinds[i], OBSERVE_ALL_PORTS, r->control_ns));
	json_object_put(observe_waiting(r->sw));
	for (unsigned p = 0; p < PEERS_PORTS; p++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			rows += switch_queue_paused(r->sw, p, q) + switch_skid_used(r->sw, p) != 0;
	switch_fdb_walk(r->sw, r->control_ns, count_row, &rows);
}

// The workers copy the curves, or leave them out where another policy has come.
void thread_rig_order_curves(struct thread_rig *r, unsigned i)
{
	for (unsigned p = 0; p < PEERS_PORTS; p++) {
		const uint64_t kmin = 1000 + 500 * (i % 7);
		const struct wred_curve c = wred_curve_of(kmin, 4 * kmin, 200000);

		r->curves += switch_set_curve(r->sw, p, 3, &c);
	}
}

// ---- at rest

static uint64_t arrived(const struct thread_rig *r)
{
	uint64_t n = 0;

	for (unsigned p = 0; p < PEERS_PORTS; p++)
		n += ctr_get(&switch_port_counters(r->sw, p)->received);
	return n;
}

bool thread_rig_taken_in(const struct thread_rig *r, uint64_t arg)
{
	struct balance x = switch_balance(r->sw);

	(void)arg;
	return atomic_load_explicit(&r->peers.is_silent, memory_order_acquire) &&
	       arrived(r) == ctr_get(&r->peers.sent) && balance_begun(&x) == balance_ended(&x);
}

bool thread_rig_drained(const struct thread_rig *r, uint64_t arg)
{
	uint64_t used = 0;

	for (unsigned p = 0; p < PEERS_PORTS; p++) {
		for (unsigned g = 0; g < N_PGS; g++)
			used += pg_used(switch_pg_state(r->sw, p, g)) +
				pg_in_xoff(switch_pg_state(r->sw, p, g)) +
				gauge_get(&switch_pfc_tx(r->sw, p)->stats[g].since_ns);
	}
	return used == 0 && thread_rig_taken_in(r, arg) && switch_balance(r->sw).queued == 0 &&
	       switch_balance(r->sw).transmitted == ctr_get(&r->peers.received);
}

void thread_rig_check_rest(const struct thread_rig *r)
{
	for (unsigned pool = 0; pool < N_POOLS; pool++)
		assert_int_equal(switch_pool(r->sw, pool).used, 0);
	for (unsigned p = 0; p < PEERS_PORTS; p++)
		assert_int_equal(switch_skid_used(r->sw, p), 0);
}

void thread_rig_check_lossless(const struct thread_rig *r, uint8_t classes)
{
	for (unsigned p = 0; p < FLAPPING; p++)
		for_each_bit (cls, classes)
			assert_int_equal(
				ctr_get(&switch_drops(r->sw, p, cls, DROP_HEADROOM)->packets), 0);
}

// EAL binds this thread to one core, and threads inherit that: all of them would take turns there.
int thread_rig_eal(void **state)
{
	cpu_set_t cores;

	if (sched_getaffinity(0, sizeof(cores), &cores) != 0 || bench_eal(state) != 0)
		return -1;
	return sched_setaffinity(0, sizeof(cores), &cores);
}
