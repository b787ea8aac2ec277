// SPDX-License-Identifier: Apache-2.0
// Notifications between real threads: one that is all neighbours sends RoCEv2 to one port faster
// than that is taken, workers own the flows and the queue, and control reads flows, counters and
// records while it turns IPCC off and on. In every order of events a CNP is for a queue pair that
// its receiver has, and in the end all of them are accounted for.
#include "dataplane/policy.h"
#include "tests/lab/ipcc_bench.h"
#include "tests/threads/ring_port.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_mbuf.h>

#include "control/config/config.h"
#include "dataplane/packet/wire.h"
#include "dataplane/worker.h"

enum {
	POOL_FRAMES = 16383,
	FLOWS = 4, // of each sender
	SENT_A_TURN = 4,
	TAKEN_A_TURN = 6, // of what 3 * SENT_A_TURN come to
	TAKEN_AT_ONCE = 64,
	ROUNDS = 3, // of policies
	CNPS_A_ROUND = 50,
	EVENTS = 256,
};

static const uint64_t patience_ns = 60000000000;

struct rig {
	struct weir_switch *sw;
	struct ring_port ports[IPCC_PORTS];
	struct port_facts facts[IPCC_PORTS];
	struct rte_mempool *pool;
	unsigned n_workers, pool_frames;
	pthread_t workers[8], neighbours;
	_Atomic bool stop, silent;
	_Atomic bool is_silent; // the neighbours'
	ctr_t cnps, wrong; // the neighbours'
	uint64_t records; // control's
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
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
		sched_yield();
	}
	return NULL;
}

static void send_data(struct rig *r, unsigned from, uint32_t n)
{
	const struct ipcc_data d = {.from = from,
				    .to = IPCC_TO,
				    .qp = IPCC_QP + n % FLOWS,
				    .psn = n / FLOWS & BTH_PSN_MASK,
				    .len = 500};
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->pool);

	if (m == NULL)
		return;
	ipcc_build((uint8_t *)rte_pktmbuf_append(m, d.len), &d);
	if (!ring_port_send(&r->ports[from], m))
		rte_pktmbuf_free(m);
}

static void check_frame(struct rig *r, unsigned port, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct pkt_info info;

	if (!parse(frame, m->pkt_len, &info) || !info.roce || info.bth_opcode != ROCE_CNP)
		return;
	ctr_inc(&r->cnps);
	if (frame[5] != port + 1 || info.bth_dest_qp - IPCC_QP - IPCC_SENDER_QP >= FLOWS)
		ctr_inc(&r->wrong);
}

static void take(struct rig *r, unsigned port, unsigned n)
{
	struct rte_mbuf *pkts[TAKEN_AT_ONCE];

	n = ring_port_receive(&r->ports[port], pkts, n);
	for (unsigned i = 0; i < n; i++) {
		check_frame(r, port, pkts[i]);
		rte_pktmbuf_free(pkts[i]);
	}
}

static void *neighbours(void *arg)
{
	struct rig *r = arg;
	uint32_t sent[IPCC_PORTS] = {0};

	while (!atomic_load_explicit(&r->stop, memory_order_relaxed)) {
		bool silent = atomic_load_explicit(&r->silent, memory_order_relaxed);

		atomic_store_explicit(&r->is_silent, silent, memory_order_release);
		for (unsigned port = 0; port < IPCC_PORTS; port++) {
			take(r, port, silent || port != IPCC_TO ? TAKEN_AT_ONCE : TAKEN_A_TURN);
			for (unsigned i = 0; !silent && port != IPCC_TO && i < SENT_A_TURN; i++)
				send_data(r, port, sent[port]++);
		}
		sched_yield();
	}
	return NULL;
}

// ---- the rig

static struct policy *compile(const struct rig *r, const char *ipcc)
{
	const struct ipcc_policy keys = {.ipcc = ipcc,
					 .lossy = true,
					 .pairs = ipcc_pairs(IPCC_QP, FLOWS),
					 .keys = "    cnp: {max_rate: 1000000, burst: 1000}\n"};
	const char *yaml = ipcc_yaml(&keys);
	struct diags d = {0};
	struct config *c = NULL;
	struct policy *p = NULL;

	if (config_parse("notes.yaml", yaml, strlen(yaml), &c, &d) != 0 ||
	    config_compile(c, r->facts, &p, &d) != 0)
		fail_msg("%s", d.n != 0 ? d.lines[0] : "the policy does not compile");
	config_small_flows(c, p);
	config_destroy(c);
	diags_fini(&d);
	p->n_workers = r->n_workers;
	return p;
}

static const char on[] = "{interval: 20us, min_gap: 20us}";

static void rig_open(struct rig *r)
{
	struct switch_port ports[IPCC_PORTS];
	struct policy *policy;

	r->n_workers = bench_workers();
	r->pool = ring_port_pool("notes", POOL_FRAMES);
	assert_non_null(r->pool);
	r->pool_frames = rte_mempool_avail_count(r->pool);
	for (unsigned i = 0; i < IPCC_PORTS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "np%u", i);
		assert_int_equal(ring_port_init(&r->ports[i], name), 0);
		r->facts[i] = ring_port_facts((uint8_t)(i + 1));
		ports[i] = (struct switch_port){
			.ops = &ring_port_ops, .drv = &r->ports[i], .facts = r->facts[i]};
	}
	policy = compile(r, on);
	assert_int_equal(switch_create(policy, ports, r->pool, 1, &r->sw), 0);
	for (unsigned i = 0; i < r->n_workers; i++) {
		struct worker_arg *a = malloc(sizeof(*a));

		assert_non_null(a);
		*a = (struct worker_arg){r, switch_worker(r->sw, i)};
		assert_int_equal(pthread_create(&r->workers[i], NULL, work, a), 0);
	}
	assert_int_equal(pthread_create(&r->neighbours, NULL, neighbours, r), 0);
}

static void rig_close(struct rig *r)
{
	struct policy *policy = (struct policy *)(uintptr_t)switch_policy(r->sw);

	atomic_store(&r->stop, true);
	pthread_join(r->neighbours, NULL);
	for (unsigned i = 0; i < r->n_workers; i++)
		pthread_join(r->workers[i], NULL);
	switch_destroy(r->sw);
	policy_destroy(policy);
	for (unsigned i = 0; i < IPCC_PORTS; i++)
		ring_port_fini(&r->ports[i]);
	assert_int_equal(rte_mempool_avail_count(r->pool), r->pool_frames);
}

// ---- control

static bool count_row(void *arg, const struct flow_row *row)
{
	assert_true(row->silence < N_CNP_SILENCES);
	(*(unsigned *)arg)++;
	return true;
}

static void look_around(struct rig *r)
{
	static struct cnp_record records[EVENTS];
	static struct event events[EVENTS];
	unsigned n = switch_cnp_records(r->sw, records, EVENTS), flows = 0;

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(records[i].sender_qp,
				 flow_key_qp(&records[i].key) + IPCC_SENDER_QP);
	r->records += n;
	switch_control_step(r->sw, now_ns(), events, EVENTS);
	switch_flows_walk(r->sw, now_ns(), true, count_row, &flows);
	assert_true(flows <= (IPCC_PORTS - 1) * FLOWS);
	assert_true(switch_ipcc(r->sw, IPCC_TO, IPCC_QUEUE) != NULL);
	sched_yield();
}

static uint64_t sent(const struct rig *r)
{
	uint64_t n = 0;

	for (unsigned port = 0; port < IPCC_PORTS; port++)
		n += ctr_get(&switch_port_flows(r->sw, port)->cnps_sent);
	return n;
}

static void publish(struct rig *r, const char *ipcc)
{
	struct policy *old;
	uint64_t token;

	switch_publish(r->sw, compile(r, ipcc), &old, &token);
	while (!switch_grace_over(r->sw, token))
		look_around(r);
	policy_destroy(old);
}

static bool has_come(const struct rig *r, uint64_t n)
{
	return sent(r) >= n;
}

static bool all_were_told(const struct rig *r, uint64_t n)
{
	for (unsigned port = 0; port < IPCC_PORTS; port++)
		if (port != IPCC_TO && ctr_get(&switch_port_flows(r->sw, port)->cnps_sent) == n)
			return false;
	return true;
}

// Nothing is on its way any more.
static bool is_empty(const struct rig *r, uint64_t n)
{
	struct balance x;
	uint64_t got = 0;

	if (!atomic_load_explicit(&r->is_silent, memory_order_acquire))
		return false;
	for (unsigned port = 0; port < IPCC_PORTS; port++)
		if (ctr_get(&r->ports[port].in_put) != ctr_get(&r->ports[port].in_got) ||
		    ctr_get(&r->ports[port].out_put) != ctr_get(&r->ports[port].out_got))
			return false;
	for (unsigned port = 0; port < IPCC_PORTS; port++)
		got += ctr_get(&r->ports[port].in_got);
	// What a worker has taken out of a ring is not `received` yet.
	x = switch_balance(r->sw);
	return x.received == got && x.queued == n && ctr_get(&r->cnps) == sent(r) &&
	       x.received + x.generated + x.replicated == x.transmitted + x.consumed + x.dropped;
}

static void await(struct rig *r, bool (*done)(const struct rig *r, uint64_t arg), uint64_t arg)
{
	uint64_t began = now_ns();

	while (!done(r, arg)) {
		if (now_ns() - began > patience_ns)
			fail_msg("waited for ever");
		look_around(r);
	}
}

static void every_cnp_is_right_and_accounted_for(void **state)
{
	static struct rig rig;
	struct rig *r = &rig;

	(void)state;
	rig_open(r);
	for (unsigned i = 0; i < ROUNDS; i++) {
		await(r, has_come, sent(r) + CNPS_A_ROUND);
		publish(r, i % 2 ? "off" : on);
		publish(r, i % 3 ? on : "{interval: 50us, spare: 1ms, cut: learnt}");
	}
	await(r, all_were_told, 0);
	atomic_store(&r->silent, true);
	await(r, is_empty, 0);
	look_around(r);
	while (r->records + switch_cnp_records_lost(r->sw) < sent(r))
		look_around(r);
	assert_int_equal(r->records + switch_cnp_records_lost(r->sw), sent(r));
	assert_int_equal(ctr_get(&r->wrong), 0);
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
		cmocka_unit_test(every_cnp_is_right_and_accounted_for),
	};

	return cmocka_run_group_tests_name("notes", tests, all_cores, NULL);
}
