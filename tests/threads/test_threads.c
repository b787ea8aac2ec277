// SPDX-License-Identifier: Apache-2.0
// One switch with real threads: WEIR_WORKERS workers, a thread that is all neighbours (peers.h),
// and this one, which does all that control may do while they run: publish policies, switch TX,
// clear watermarks, hold admission, learn and age addresses, follow links, read every number, tap
// frames.
// No order of events is fixed, so what is asserted holds in every order: ends never exceed
// beginnings, frames of a flow stay in order, a class whose neighbours obey PFC loses nothing, and
// at rest the books close to the frame.
#include "tests/lab/bench.h"
#include "tests/threads/peers.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <json-c/json_object.h>
#include <rte_mbuf.h>

#include "control/config/config.h"
#include "control/observe/burstlog.h"
#include "control/observe/observe.h"
#include "dataplane/switch_ecn.h"
#include "dataplane/switch_flows.h"
#include "dataplane/tap.h"
#include "dataplane/worker.h"
#include "drivers/absent.h"

enum {
#ifdef __SANITIZE_THREAD__ // some ten times as slow
	ROUNDS = 100,
#else
	ROUNDS = 300,
#endif
	STORM_ROUNDS = 60,
	POOL_FRAMES = 16383,
	FLAPPING = PEERS_PORTS - 1, // the port whose link goes down and up
	CONTROL_NS = 100000000,
	EVENTS = 1024,
	FILLS = 12,
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

struct rig {
	struct weir_switch *sw;
	struct ring_port ports[PEERS_PORTS];
	struct port_facts facts[PEERS_PORTS];
	struct peers peers;
	struct rte_mempool *pool;
	unsigned n_workers, pool_frames;
	pthread_t workers[8];
	_Atomic bool stop;
	uint64_t control_ns, flows_made, curves;
	struct observe *observe;
	struct burstlog *bursts;
	struct watchdog_params watchdog; // of every port; a file cannot say such short times
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// ---- policies

// Neighbours are static, so that no lossless frame is copied; one more address roams.
static const char *policy_text(unsigned n_workers, unsigned variant, const char *headroom_pool,
			       const char *classes)
{
	static char text[4096];
	int n = snprintf(
		text, sizeof(text),
		"switch: {name: lab, workers: %u, mac_age: 20s, flows: {max: 64, age: 1ms}, "
		"elephants: %s, microbursts: %s, buffer: {size: 1500KB, headroom_pool: %s}}\n"
		"ports:\n  - {name: \"p[1-%u]\", device: \"wire:w[1-%u]\", speed: %s, "
		"profile: x}\n"
		"profiles:\n  x:\n    dscp_to_color: {26: %s}\n    classes:\n%sfdb:\n",
		n_workers, variant % 2 ? "{rate: 1M, bytes: 10KB, period: 10us, age: 5ms}" : "off",
		variant % 3 ? "{window: 100us}" : "off", headroom_pool, PEERS_PORTS, PEERS_PORTS,
		variant % 3 == 1 ? "5G" : "10G", variant % 2 ? "yellow" : "green", classes);

	for (unsigned i = 1; i <= PEERS_PORTS; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "  - {mac: \"02:00:00:00:00:%02x\", port: p%u}\n", i, i);
	return text;
}

static const char *const class_variants[] = {
	"      3: {lossless: true, ingress: {alpha: 1/64, headroom: 40KB}}\n"
	"      5: {lossless: true, ingress: {headroom: 40KB}}\n",
	"      3: {lossless: true, ingress: {alpha: 1, min: 2KB, headroom: 40KB}, wred: {ecn: on, "
	"kmin: 5KB, kmax: 50KB, pmax: 20%}, schedule: {dwrr: 7}}\n"
	"      1: {egress: {alpha: 1/16}, schedule: strict, max_rate: 1G}\n",
	"      3: {lossless: true, ingress: {alpha: 1/16, headroom: 60KB}, wred: {ecn: on, kmin: "
	"1KB, kmax: 9KB, pmax: 90%, mark_at: enqueue, weight: 2}, schedule: strict}\n"
	"      5: {lossless: true, ingress: {static: 4KB, headroom: 40KB}}\n",
};

static struct policy *compile(const struct rig *r, const char *yaml)
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
	for (unsigned i = 0; i < PEERS_PORTS; i++) {
		p->ports[i].watchdog = r->watchdog;
		p->ports[i].watchdog.classes = r->watchdog.detect_ns != 0 ? p->ports[i].pfc.rx : 0;
	}
	return p;
}

// ---- threads

struct worker_arg {
	struct rig *rig;
	struct worker *worker;
};

static void *work(void *arg)
{
	struct worker_arg a = *(struct worker_arg *)arg;

	free(arg);
	while (!atomic_load_explicit(&a.rig->stop, memory_order_relaxed)) {
		worker_step(a.worker, now_ns());
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

static struct rig *rig_open(const char *yaml)
{
	static unsigned n_opened;
	struct rig *r = calloc(1, sizeof(*r));
	struct switch_port ports[PEERS_PORTS];
	struct policy *policy;

	assert_non_null(r);
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
	assert_int_equal(observe_create(r->sw, &r->observe), 0);
	assert_int_equal(burstlog_create(PEERS_PORTS, &r->bursts), 0);
	observe_set_microbursts(r->observe, r->bursts);
	r->n_workers = switch_n_workers(r->sw);
	r->control_ns = now_ns();
	r->peers.ports = r->ports;
	r->peers.pool = r->pool;
	return r;
}

static void rig_start(struct rig *r)
{
	for (unsigned i = 0; i < r->n_workers; i++) {
		struct worker_arg *a = malloc(sizeof(*a));

		assert_non_null(a);
		*a = (struct worker_arg){r, switch_worker(r->sw, i)};
		assert_int_equal(pthread_create(&r->workers[i], NULL, work, a), 0);
	}
	assert_int_equal(peers_start(&r->peers), 0);
}

static void rig_close(struct rig *r)
{
	struct policy *policy;

	peers_stop(&r->peers);
	atomic_store(&r->stop, true);
	for (unsigned i = 0; i < r->n_workers; i++)
		pthread_join(r->workers[i], NULL);
	observe_destroy(r->observe);
	burstlog_destroy(r->bursts);
	policy = (struct policy *)(uintptr_t)switch_policy(r->sw);
	switch_destroy(r->sw);
	policy_destroy(policy);
	for (unsigned i = 0; i < PEERS_PORTS; i++)
		ring_port_fini(&r->ports[i]);
	assert_int_equal(rte_mempool_avail_count(r->pool), r->pool_frames);
	free(r);
}

// ---- what control does

static void control_step(struct rig *r)
{
	struct event events[EVENTS];

	switch_control_step(r->sw, r->control_ns, events, EVENTS);
	burstlog_poll(r->bursts, r->sw, &(struct burst_clock){now_ns(), now_ns(), 1});
}

// Control's clock runs ahead of the workers', so that links are polled each time, and learned
// addresses age.
static void time_passes(struct rig *r)
{
	r->control_ns += CONTROL_NS;
	control_step(r);
}

static void check_balance(const struct rig *r)
{
	struct balance x = switch_balance(r->sw);

	assert_true(balance_ended(&x) <= balance_begun(&x));
}

static void await(struct rig *r, bool (*done)(const struct rig *r, uint64_t arg), uint64_t arg)
{
	uint64_t began = now_ns();

	while (!done(r, arg)) {
		if (now_ns() - began > patience_ns)
			fail_msg("waited for ever");
		control_step(r);
		sched_yield();
	}
}

static bool acknowledged(const struct rig *r, uint64_t request)
{
	return switch_request_done(r->sw, request);
}

static bool grace_over(const struct rig *r, uint64_t token)
{
	return switch_grace_over(r->sw, token);
}

static void publish(struct rig *r, const char *yaml)
{
	struct policy *old;
	uint64_t token;

	switch_publish(r->sw, compile(r, yaml), &old, &token);
	await(r, grace_over, token);
	policy_destroy(old);
}

static bool peers_know(const struct rig *r, uint64_t epoch)
{
	return atomic_load_explicit(&r->peers.link_seen[FLAPPING], memory_order_acquire) == epoch;
}

static bool replaced(const struct rig *r, uint64_t port)
{
	return switch_device_replaced(r->sw, (unsigned)port);
}

static void use_device(struct rig *r, const struct port_ops *ops, void *drv)
{
	const struct switch_port next = {.ops = ops, .drv = drv, .facts = r->facts[FLAPPING]};

	assert_int_equal(switch_replace_device(r->sw, FLAPPING, &next), 0);
	await(r, replaced, FLAPPING);
}

// The neighbour forgets its pauses when the switch has, and before it can send new ones. The port
// has no device for a while.
static void flap(struct rig *r)
{
	uint32_t epoch = atomic_load(&r->peers.link_epoch[FLAPPING]) + 1;

	ring_port_set_up(&r->ports[FLAPPING], false);
	time_passes(r);
	await(r, acknowledged, switch_clear_watermarks(r->sw));
	atomic_store_explicit(&r->peers.link_epoch[FLAPPING], epoch, memory_order_release);
	await(r, peers_know, epoch);
	use_device(r, &absent_ops, NULL);
	time_passes(r);
	use_device(r, &ring_port_ops, &r->ports[FLAPPING]);
	ring_port_set_up(&r->ports[FLAPPING], true);
	time_passes(r);
}

static void tap_for_a_while(struct rig *r)
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
	await(r, acknowledged, switch_set_tap(r->sw, tap));
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
	await(r, acknowledged, switch_set_tap(r->sw, NULL));
	tap_destroy(tap);
}

static void count_row(void *arg, const struct fdb_row *row)
{
	*(unsigned *)arg += row->port;
}

static void read_all(struct rig *r)
{
	static const char *const kinds[] = {
		"ports", "queues",  "pfc",     "buffers", "watermarks", "drops",
		"hints", "balance", "control", "fdb",     "latency",    "workers",
		"watchdog", "guard", "causes", "microbursts",
	};
	unsigned rows = 0;

	for (unsigned i = 0; i < GLANCES; i++)
		check_balance(r);
	observe_sample(r->observe, r->control_ns);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		json_object_put(observe_show(r->observe, kinds[i], OBSERVE_ALL_PORTS,
					     r->control_ns));
	json_object_put(observe_waiting(r->sw));
	for (unsigned p = 0; p < PEERS_PORTS; p++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			rows += switch_queue_paused(r->sw, p, q) + switch_skid_used(r->sw, p) != 0;
	switch_fdb_walk(r->sw, r->control_ns, count_row, &rows);
	r->flows_made = peers_check_flows(r->sw, now_ns(), false);
}

// The workers copy the curves, or leave them out where another policy has come.
static void order_curves(struct rig *r, unsigned i)
{
	for (unsigned p = 0; p < PEERS_PORTS; p++) {
		const uint64_t kmin = 1000 + 500 * (i % 7);
		const struct wred_curve c = wred_curve_of(kmin, 4 * kmin, 200000);

		r->curves += switch_set_curve(r->sw, p, 3, &c);
	}
}

static void one_round(struct rig *r, unsigned i)
{
	unsigned port = i % PEERS_PORTS;
	int queue = i % 3 == 0 ? -1 : 3;

	time_passes(r);
	read_all(r);
	order_curves(r, i);
	await(r, acknowledged, switch_set_tx(r->sw, port, queue, false));
	order_curves(r, i + 1);
	publish(r, policy_text(r->n_workers, i, "auto", class_variants[i % 3]));
	if (i % 4 == 1)
		flap(r);
	if (i % 8 == 3)
		tap_for_a_while(r);
	if (i % 4 == 2) {
		await(r, acknowledged, switch_hold_admission(r->sw, true));
		read_all(r);
		await(r, acknowledged, switch_hold_admission(r->sw, false));
	}
	if (i % 8 == 7)
		observe_clear(r->observe, r->control_ns);
	await(r, acknowledged, switch_clear_watermarks(r->sw));
	await(r, acknowledged, switch_set_tx(r->sw, port, queue, true));
}

// ---- at rest

static uint64_t arrived(const struct rig *r)
{
	uint64_t n = 0;

	for (unsigned p = 0; p < PEERS_PORTS; p++)
		n += ctr_get(&switch_port_counters(r->sw, p)->received);
	return n;
}

// All that the peers sent is in the switch's books, and no number moves any more.
static bool taken_in(const struct rig *r, uint64_t arg)
{
	struct balance x = switch_balance(r->sw);

	(void)arg;
	return atomic_load_explicit(&r->peers.is_silent, memory_order_acquire) &&
	       arrived(r) == ctr_get(&r->peers.sent) && balance_begun(&x) == balance_ended(&x);
}

static bool drained(const struct rig *r, uint64_t arg)
{
	uint64_t used = 0;

	for (unsigned p = 0; p < PEERS_PORTS; p++) {
		for (unsigned g = 0; g < N_PGS; g++)
			used += pg_used(switch_pg_state(r->sw, p, g)) +
				pg_in_xoff(switch_pg_state(r->sw, p, g)) +
				gauge_get(&switch_pfc_tx(r->sw, p)->stats[g].since_ns);
	}
	return used == 0 && taken_in(r, arg) && switch_balance(r->sw).queued == 0 &&
	       switch_balance(r->sw).transmitted == ctr_get(&r->peers.received);
}

static void all_is_accounted_for(struct rig *r)
{
	for (unsigned pool = 0; pool < N_POOLS; pool++)
		assert_int_equal(switch_pool(r->sw, pool).used, 0);
	for (unsigned p = 0; p < PEERS_PORTS; p++)
		assert_int_equal(switch_skid_used(r->sw, p), 0);
	assert_int_equal(ctr_get(&r->peers.out_of_order), 0);
	peers_check_flows(r->sw, now_ns(), true);
}

static void control_may_do_anything_while_workers_run(void **state)
{
	struct rig *r = rig_open(policy_text(bench_workers(), 0, "auto", class_variants[0]));
	struct flow_totals flows;

	(void)state;
	rig_start(r);
	for (unsigned i = 0; i < ROUNDS; i++)
		one_round(r, i);
	atomic_store(&r->peers.silent, true);
	await(r, drained, 0);
	all_is_accounted_for(r);
	// A group that waits out a lost link may overrun its headroom; the others may not.
	for (unsigned p = 0; p < FLAPPING; p++)
		assert_int_equal(ctr_get(&switch_drops(r->sw, p, 3, DROP_HEADROOM)->packets), 0);
	print_message("%lu frames in, %lu out, %lu of them PFC\n", ctr_get(&r->peers.sent),
		      ctr_get(&r->peers.received), ctr_get(&r->peers.pfc));
	assert_true(ctr_get(&r->peers.sent) > 10000);
	assert_true(ctr_get(&r->peers.pfc) > 10);
	assert_true(r->flows_made > 200); // places had several flows one after the other
	switch_flow_totals(r->sw, &flows);
	assert_true(flows.elephants.began > 0);
	assert_true(r->curves > ROUNDS);
	for (unsigned w = 0; w < r->n_workers; w++)
		assert_true(ctr_get(&switch_worker_counters(r->sw, w)->busy_loops) > 0);
	rig_close(r);
}

// ---- storms

static uint64_t storms(const struct weir_switch *sw)
{
	uint64_t n = 0;

	for (unsigned p = 0; p < PEERS_PORTS; p++)
		n += ctr_get(&switch_watchdog(sw, p, 3)->detected);
	return n;
}

// As many as asked for, or all that there will be: under `progress` a storm lasts as long as its
// peer goes on, and one that escalated is none any more.
static bool stormed(const struct rig *r, uint64_t n)
{
	unsigned storming = atomic_load(&r->peers.storming);
	bool escalated = false, all = true;

	for (unsigned p = 0; p < PEERS_PORTS; p++) {
		enum watchdog_status status = switch_watchdog_status(r->sw, p, 3);

		escalated |= status == WATCHDOG_IS_PFC_OFF;
		all &= status == WATCHDOG_IN_STORM || !(storming >> p & 1);
	}
	return escalated || (all && r->watchdog.mode == WATCHDOG_PROGRESS) || storms(r->sw) >= n;
}

static void recover_all(struct rig *r)
{
	int err;

	for (unsigned p = 0; p < PEERS_PORTS; p++)
		await(r, acknowledged, switch_watchdog_recover(r->sw, p, 3, &err));
}

// Only the port that flaps goes down: what waits out a lost link is told apart below.
static void storm_round(struct rig *r, unsigned i)
{
	r->watchdog.action = (uint8_t)(i % 3);
	r->watchdog.mode = (uint8_t)(i / 3 % 2);
	r->watchdog.limit_count = i % 5 == 0 ? 3 : 0;
	atomic_store(&r->peers.storming, (uint8_t)(1u << FLAPPING | 1u << i % PEERS_PORTS));
	await(r, acknowledged, switch_watchdog_drop_all(r->sw, false));
	publish(r, policy_text(r->n_workers, i, "auto", class_variants[i % 3]));
	recover_all(r);
	await(r, stormed, storms(r->sw) + 3);
	time_passes(r);
	read_all(r);
	if (i % 4 == 1)
		flap(r);
	if (i % 4 == 3)
		await(r, acknowledged, switch_watchdog_drop_all(r->sw, true));
	read_all(r);
}

static void storms_are_found_and_end_while_workers_run(void **state)
{
	struct rig *r = rig_open(policy_text(bench_workers(), 0, "auto", class_variants[0]));

	(void)state;
	r->watchdog = (struct watchdog_params){
		.detect_ns = 200000, .restore_ns = 300000, .limit_window_ns = UINT64_MAX};
	rig_start(r);
	for (unsigned i = 0; i < STORM_ROUNDS; i++)
		storm_round(r, i);
	await(r, acknowledged, switch_watchdog_drop_all(r->sw, false));
	atomic_store(&r->peers.silent, true);
	await(r, taken_in, 0);
	recover_all(r);
	await(r, drained, 0);
	all_is_accounted_for(r);
	for (unsigned p = 0; p < FLAPPING; p++)
		assert_int_equal(ctr_get(&switch_drops(r->sw, p, 3, DROP_HEADROOM)->packets), 0);
	for (unsigned p = 0; p < PEERS_PORTS; p++)
		for (unsigned a = 0; a < PEERS_PORTS * N_PGS * N_QUEUES; a++)
			assert_int_equal(switch_held_cells(r->sw, p, a % N_QUEUES,
							   a / N_QUEUES / N_PGS,
							   a / N_QUEUES % N_PGS), 0);
	rig_close(r);
}

// ---- workers that fill the same pools at the same time

static uint64_t overruns(const struct weir_switch *sw)
{
	uint64_t n = 0;

	for (unsigned p = 0; p < PEERS_PORTS; p++)
		n += ctr_get(&switch_drops(sw, p, 3, DROP_HEADROOM)->packets);
	return n;
}

static bool overrun(const struct rig *r, uint64_t n)
{
	return overruns(r->sw) >= n;
}

// Nothing leaves and nobody obeys PFC: each worker takes what it believes to be free until every
// pool is full. A worker that believed too much would leave a pool overfull.
static void pools_keep_their_size_when_workers_race_for_them(void **state)
{
	static const char classes[] =
		"      3: {lossless: true, ingress: {alpha: 128, headroom: 40KB}}\n"
		"      5: {lossless: true, ingress: {alpha: 128, headroom: 40KB}}\n";
	struct rig *r = rig_open(policy_text(bench_workers(), 0, "150KB", classes));

	(void)state;
	atomic_store(&r->peers.deaf, true);
	rig_start(r);
	for (unsigned i = 0; i < FILLS; i++) {
		for (unsigned p = 0; p < PEERS_PORTS; p++)
			await(r, acknowledged, switch_set_tx(r->sw, p, -1, false));
		atomic_store(&r->peers.silent, false);
		await(r, overrun, overruns(r->sw) + 5000);
		atomic_store(&r->peers.silent, true);
		await(r, taken_in, 0);
		for (unsigned pool = 0; pool < N_LIMITED_POOLS; pool++) {
			struct pool_use u = switch_pool(r->sw, pool);
			bool full = pool == POOL_EGRESS_LOSSY || u.used > u.size / 2;

			if (u.used > u.size || !full)
				fail_msg("pool %s of %lu cells holds %lu", pool_name[pool], u.size,
					 u.used);
		}
		for (unsigned p = 0; p < PEERS_PORTS; p++)
			await(r, acknowledged, switch_set_tx(r->sw, p, -1, true));
		await(r, drained, 0);
	}
	all_is_accounted_for(r);
	rig_close(r);
}

// EAL binds this thread to one core, and threads inherit that: all of them would take turns there.
static int all_cores(void **state)
{
	cpu_set_t cores;

	if (sched_getaffinity(0, sizeof(cores), &cores) != 0 || bench_eal(state) != 0)
		return -1;
	return sched_setaffinity(0, sizeof(cores), &cores);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_may_do_anything_while_workers_run),
		cmocka_unit_test(storms_are_found_and_end_while_workers_run),
		cmocka_unit_test(pools_keep_their_size_when_workers_race_for_them),
	};

	return cmocka_run_group_tests_name("threads", tests, all_cores, NULL);
}
