// SPDX-License-Identifier: Apache-2.0
// One switch with real threads: WEIR_WORKERS workers, a thread that is all neighbours (peers.h),
// and this one, which does all that control may do while they run: publish policies, switch TX,
// clear watermarks, hold admission, learn and age addresses, follow links, read every number, tap
// frames.
// No order of events is fixed, so what is asserted holds in every order: ends never exceed
// beginnings, frames of a flow stay in order, a class whose neighbours obey PFC loses nothing, and
// at rest the books close to the frame.
#include "dataplane/policy.h"
#include "tests/threads/thread_rig.h"

#include <stdio.h>

#include "control/observe/observe.h"
#include "dataplane/switch_flows.h"
#include "dataplane/switch_impair.h"

// Under the sanitizer, on a busy machine, a flow has some frames a second: too few for an elephant,
// and a short age would make mice of all.
#ifdef __SANITIZE_THREAD__
#define TURN_AGE "100ms"
enum { LEAST_ELEPHANTS = 0 };
#else
#define TURN_AGE "3ms"
enum { LEAST_ELEPHANTS = 50 };
#endif

enum {
#ifdef __SANITIZE_THREAD__ // some ten times as slow
	ROUNDS = 100,
#else
	ROUNDS = 300,
#endif
	STORM_ROUNDS = 60,
	TURN_ROUNDS = 200,
	LEARN_ROUNDS = 200,
	LOOKS = 50000, // at the balance
	FILLS = 12,
};

static const uint8_t always_lossless = 1 << 3; // in every policy

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
		n_workers, variant % 2 ? "{rate: 1M, bytes: 10KB, age: 5ms, end_age: 5ms}" : "off",
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

// Returns how many flows there were until now.
static uint64_t read_all(struct thread_rig *r)
{
	thread_rig_read_all(r);
	return peers_check_flows(r->sw, thread_rig_now_ns(), false);
}

static uint64_t one_round(struct thread_rig *r, unsigned i)
{
	unsigned port = i % PEERS_PORTS;
	int queue = i % 3 == 0 ? -1 : 3;
	uint64_t flows_made;

	thread_rig_time_passes(r);
	flows_made = read_all(r);
	thread_rig_order_curves(r, i);
	thread_rig_acknowledged(r, switch_set_tx(r->sw, port, queue, false));
	thread_rig_order_curves(r, i + 1);
	thread_rig_publish(r, policy_text(r->n_workers, i, "auto", class_variants[i % 3]));
	if (i % 4 == 1)
		thread_rig_flap(r);
	if (i % 8 == 3)
		thread_rig_tap_for_a_while(r);
	if (i % 4 == 2) {
		thread_rig_acknowledged(r, switch_hold_admission(r->sw, true));
		read_all(r);
		thread_rig_acknowledged(r, switch_hold_admission(r->sw, false));
	}
	if (i % 8 == 7)
		observe_clear(r->observe, r->control_ns);
	thread_rig_acknowledged(r, switch_clear_watermarks(r->sw));
	thread_rig_acknowledged(r, switch_set_tx(r->sw, port, queue, true));
	return flows_made;
}

// ---- at rest

static void all_is_accounted_for(struct thread_rig *r)
{
	thread_rig_check_rest(r);
	assert_int_equal(ctr_get(&r->peers.out_of_order), 0);
	peers_check_flows(r->sw, thread_rig_now_ns(), true);
}

static bool elephants_began(const struct thread_rig *r, uint64_t n)
{
	struct flow_totals flows;

	switch_flow_totals(r->sw, &flows);
	return flows.elephants.began >= n;
}

static void control_may_do_anything_while_workers_run(void **state)
{
	struct thread_rig *r = thread_rig_open(
		policy_text(bench_workers(), 0, "auto", class_variants[0]), NULL, NULL);
	uint64_t flows_made = 0;

	(void)state;
	thread_rig_start(r);
	for (unsigned i = 0; i < ROUNDS; i++)
		flows_made = one_round(r, i);
	// A busy machine may halt the peers for `age` again and again while a policy is in force.
	thread_rig_publish(r, policy_text(r->n_workers, 1, "auto", class_variants[1]));
	if (LEAST_ELEPHANTS != 0)
		thread_rig_await(r, elephants_began, 1);
	atomic_store(&r->peers.silent, true);
	thread_rig_await(r, thread_rig_drained, 0);
	all_is_accounted_for(r);
	thread_rig_check_lossless(r, always_lossless);
	print_message("%lu frames in, %lu out, %lu of them PFC\n", ctr_get(&r->peers.sent),
		      ctr_get(&r->peers.received), ctr_get(&r->peers.pfc));
	assert_true(ctr_get(&r->peers.sent) > 10000);
	assert_true(ctr_get(&r->peers.pfc) > 10);
	assert_true(flows_made > 200); // places had several flows one after the other
	assert_true(r->curves > ROUNDS);
	for (unsigned w = 0; w < r->n_workers; w++)
		assert_true(ctr_get(&switch_worker_counters(r->sw, w)->busy_loops) > 0);
	thread_rig_close(r);
}

// ---- storms

// A file cannot say such short times.
static void storms_end(const struct thread_rig *r, struct policy *p)
{
	const struct watchdog_params *watchdog = r->arg;

	for (unsigned i = 0; i < PEERS_PORTS; i++) {
		p->ports[i].watchdog = *watchdog;
		p->ports[i].watchdog.classes = p->ports[i].pfc.rx;
	}
}

static uint64_t storms(const struct weir_switch *sw)
{
	uint64_t n = 0;

	for (unsigned p = 0; p < PEERS_PORTS; p++)
		n += ctr_get(&switch_watchdog(sw, p, 3)->detected);
	return n;
}

// As many as asked for, or all that there will be: under `progress` a storm lasts as long as its
// peer goes on, and one that escalated is none any more.
static bool stormed(const struct thread_rig *r, uint64_t n)
{
	const struct watchdog_params *watchdog = r->arg;
	unsigned storming = atomic_load(&r->peers.storming);
	bool escalated = false, all = true;

	for (unsigned p = 0; p < PEERS_PORTS; p++) {
		enum watchdog_status status = switch_watchdog_status(r->sw, p, 3);

		escalated |= status == WATCHDOG_IS_PFC_OFF;
		all &= status == WATCHDOG_IN_STORM || !(storming >> p & 1);
	}
	return escalated || (all && watchdog->mode == WATCHDOG_PROGRESS) || storms(r->sw) >= n;
}

static void recover_all(struct thread_rig *r)
{
	int err;

	for (unsigned p = 0; p < PEERS_PORTS; p++)
		thread_rig_acknowledged(r, switch_watchdog_recover(r->sw, p, 3, &err));
}

// Only the port that flaps goes down: what waits out a lost link is told apart below.
static void storm_round(struct thread_rig *r, unsigned i)
{
	struct watchdog_params *watchdog = r->arg;

	watchdog->action = (uint8_t)(i % 3);
	watchdog->mode = (uint8_t)(i / 3 % 2);
	watchdog->limit_count = i % 5 == 0 ? 3 : 0;
	atomic_store(&r->peers.storming, (uint8_t)(1u << FLAPPING | 1u << i % PEERS_PORTS));
	thread_rig_acknowledged(r, switch_watchdog_drop_all(r->sw, false));
	thread_rig_publish(r, policy_text(r->n_workers, i, "auto", class_variants[i % 3]));
	recover_all(r);
	thread_rig_await(r, stormed, storms(r->sw) + 3);
	thread_rig_time_passes(r);
	read_all(r);
	if (i % 4 == 1)
		thread_rig_flap(r);
	if (i % 4 == 3)
		thread_rig_acknowledged(r, switch_watchdog_drop_all(r->sw, true));
	read_all(r);
}

static void storms_are_found_and_end_while_workers_run(void **state)
{
	struct watchdog_params watchdog = {
		.detect_ns = 200000, .restore_ns = 300000, .limit_window_ns = UINT64_MAX};
	struct thread_rig *r = thread_rig_open(
		policy_text(bench_workers(), 0, "auto", class_variants[0]), storms_end, &watchdog);

	(void)state;
	thread_rig_start(r);
	for (unsigned i = 0; i < STORM_ROUNDS; i++)
		storm_round(r, i);
	thread_rig_acknowledged(r, switch_watchdog_drop_all(r->sw, false));
	atomic_store(&r->peers.silent, true);
	thread_rig_await(r, thread_rig_taken_in, 0);
	recover_all(r);
	thread_rig_await(r, thread_rig_drained, 0);
	all_is_accounted_for(r);
	thread_rig_check_lossless(r, always_lossless);
	for (unsigned p = 0; p < PEERS_PORTS; p++)
		for (unsigned a = 0; a < PEERS_PORTS * N_PGS * N_QUEUES; a++)
			assert_int_equal(switch_held_cells(r->sw, p, a % N_QUEUES,
							   a / N_QUEUES / N_PGS,
							   a / N_QUEUES % N_PGS), 0);
	thread_rig_close(r);
}

// ---- workers that fill the same pools at the same time

static uint64_t overruns(const struct weir_switch *sw)
{
	uint64_t n = 0;

	for (unsigned p = 0; p < PEERS_PORTS; p++)
		n += ctr_get(&switch_drops(sw, p, 3, DROP_HEADROOM)->packets);
	return n;
}

static bool overrun(const struct thread_rig *r, uint64_t n)
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
	struct thread_rig *r =
		thread_rig_open(policy_text(bench_workers(), 0, "150KB", classes), NULL, NULL);

	(void)state;
	atomic_store(&r->peers.deaf, true);
	thread_rig_start(r);
	for (unsigned i = 0; i < FILLS; i++) {
		for (unsigned p = 0; p < PEERS_PORTS; p++)
			thread_rig_acknowledged(r, switch_set_tx(r->sw, p, -1, false));
		atomic_store(&r->peers.silent, false);
		thread_rig_await(r, overrun, overruns(r->sw) + 5000);
		atomic_store(&r->peers.silent, true);
		thread_rig_await(r, thread_rig_taken_in, 0);
		for (unsigned pool = 0; pool < N_LIMITED_POOLS; pool++) {
			struct pool_use u = switch_pool(r->sw, pool);
			bool full = pool == POOL_EGRESS_LOSSY || u.used > u.size / 2;

			if (u.used > u.size || !full)
				fail_msg("pool %s of %lu cells holds %lu", pool_name[pool], u.size,
					 u.used);
		}
		for (unsigned p = 0; p < PEERS_PORTS; p++)
			thread_rig_acknowledged(r, switch_set_tx(r->sw, p, -1, true));
		thread_rig_await(r, thread_rig_drained, 0);
	}
	all_is_accounted_for(r);
	thread_rig_close(r);
}

// ---- flows that turn

static uint64_t left_in_class(const struct thread_rig *r, unsigned cls)
{
	uint64_t n = 0;

	for (unsigned p = 0; p < PEERS_PORTS; p++)
		n += ctr_get(&switch_queue_counters(r->sw, p, cls)->tx_packets);
	return n;
}

static bool peers_sent(const struct thread_rig *r, uint64_t n)
{
	return ctr_get(&r->peers.sent) >= n;
}

// Flows change their queue while other workers send from both, and while both stand.
static void frames_of_flows_that_turn_stay_in_order(void **state)
{
	static const unsigned queues[] = {1, 2, 6};
	char text[2048];
	struct flow_totals flows;
	struct thread_rig *r;

	(void)state;
	snprintf(text, sizeof(text),
		 "switch: {name: lab, workers: %u, buffer: {size: 1500KB},\n"
		 "  flows: {max: 32768, age: 100s},\n"
		 "  elephants: {rate: 1M, bytes: 10KB, age: " TURN_AGE ", end_age: " TURN_AGE ",\n"
		 "              mice_packets: 5}}\n"
		 "ports:\n"
		 "  - {name: \"p[1-%u]\", device: \"wire:w[1-%u]\", speed: 10G, profile: x}\n"
		 "fdb: [{mac: \"02:00:00:00:00:01\", port: p1}, {mac: \"02:00:00:00:00:02\", "
		 "port: p2}, {mac: \"02:00:00:00:00:03\", port: p3}, {mac: "
		 "\"02:00:00:00:00:04\", port: p4}, {mac: \"02:00:00:00:00:05\", port: p5}]\n"
		 "profiles:\n  x:\n    classes:\n"
		 "      1: {mice: {class: 6}, elephants: {class: 2}, schedule: {dwrr: 10}}\n"
		 "      2: {schedule: {dwrr: 5}}\n      6: {schedule: strict}\n"
		 "      3: {lossless: on, ingress: {headroom: 40KB}}\n"
		 "      5: {lossless: on, ingress: {headroom: 40KB}}\n",
		 bench_workers(), PEERS_PORTS, PEERS_PORTS);
	r = thread_rig_open(text, NULL, NULL);
	thread_rig_start(r);
	for (unsigned i = 0; i < TURN_ROUNDS; i++) {
		unsigned port = i % 2 ? PEERS_PORTS - 1 : i / 2 % PEERS_PORTS;

		thread_rig_acknowledged(r, switch_set_tx(r->sw, port, (int)queues[i % 3], false));
		thread_rig_await(r, peers_sent, ctr_get(&r->peers.sent) + 100);
		thread_rig_time_passes(r);
		thread_rig_acknowledged(r, switch_set_tx(r->sw, port, (int)queues[i % 3], true));
		thread_rig_await(r, peers_sent, ctr_get(&r->peers.sent) + 200);
	}
	atomic_store(&r->peers.silent, true);
	thread_rig_await(r, thread_rig_drained, 0);
	switch_flow_totals(r->sw, &flows);
	assert_int_equal(flows.refused, 0); // order is promised to those with a place
	all_is_accounted_for(r);
	print_message("%lu frames of neither, %lu of elephants, %lu of mice\n",
		      left_in_class(r, 1), left_in_class(r, 2), left_in_class(r, 6));
	assert_true(left_in_class(r, 1) > 50 && left_in_class(r, 6) > 50);
	assert_true(left_in_class(r, 2) >= LEAST_ELEPHANTS);
	thread_rig_close(r);
}

// ---- addresses that are being learned

struct unknown {
	uint64_t copies, probes;
};

static struct unknown unknown_of(const struct thread_rig *r)
{
	struct unknown u = {0};

	for (unsigned p = 0; p < PEERS_PORTS; p++) {
		const struct port_counters *c = switch_port_counters(r->sw, p);

		u.copies += ctr_get(&c->replicated);
		u.probes += ctr_get(&c->unknown_probes);
	}
	return u;
}

// Addresses become unknown again and again. So the frames of a flow are flooded, and then they have
// one way. Lossless frames are not flooded. A probe has another class, and so no place in the order
// of its flow: the DSCP of that class tells it apart.
static void frames_stay_in_order_while_addresses_are_learned(void **state)
{
	struct thread_rig *r;
	struct unknown u;
	char text[1024];

	(void)state;
	snprintf(text, sizeof(text),
		 "switch: {name: lab, workers: %u, mac_age: 1s, buffer: {size: 1500KB}}\n"
		 "ports:\n"
		 "  - {name: \"p[1-%u]\", device: \"wire:w[1-%u]\", speed: 10G, profile: x}\n"
		 "profiles:\n  x:\n    remark: {dscp: {7: 63}}\n    classes:\n"
		 "      3: {lossless: on, ingress: {headroom: 40KB}}\n"
		 "      5: {lossless: on, ingress: {headroom: 40KB}}\n",
		 bench_workers(), PEERS_PORTS, PEERS_PORTS);
	r = thread_rig_open(text, NULL, NULL);
	thread_rig_start(r);
	for (unsigned i = 0; i < LEARN_ROUNDS; i++) {
		thread_rig_time_passes(r);
		if (i % 8 == 7)
			thread_rig_flap(r);
		thread_rig_await(r, peers_sent, ctr_get(&r->peers.sent) + 100);
	}
	atomic_store(&r->peers.silent, true);
	thread_rig_await(r, thread_rig_drained, 0);
	all_is_accounted_for(r);
	u = unknown_of(r);
	print_message("%lu copies, %lu probes\n", u.copies, u.probes);
	assert_true(u.copies > 100 && u.probes > 0);
	thread_rig_close(r);
}

// ---- frames that wait on their way in

static bool is_delayed(const struct thread_rig *r, uint64_t n)
{
	struct impair_view v = {0};
	uint64_t changed = 0;

	for (unsigned i = 0; switch_impair_get(r->sw, i, &v); i++)
		changed += v.changed;
	return changed >= n;
}

// Such a frame is in the books of the port that it came by, and then in those of the port that it
// leaves by. A reader who looks at one port after the other must not see it at both.
static void a_frame_that_waited_on_its_way_in_is_not_seen_twice(void **state)
{
	const struct impair_rule delay = {
		.action = IMPAIR_ACT_DELAY,
		.direction = IMPAIR_IN,
		.delay_ns = 2000,
		.chance = 1ull << 32,
		.for_ns = 1000000000000,
		.seed = 1,
		.match_text = "all",
		.action_text = "delay 2us",
	};
	struct thread_rig *r = thread_rig_open(
		policy_text(bench_workers(), 0, "auto", class_variants[0]), NULL, NULL);
	uint32_t id;

	(void)state;
	thread_rig_start(r);
	for (unsigned port = 0; port < PEERS_PORTS; port++)
		assert_int_equal(switch_impair_add(r->sw, port, &delay, &id), 0);
	thread_rig_await(r, is_delayed, 1000);
	for (unsigned i = 0; i < LOOKS; i++) {
		thread_rig_check_balance(r);
		if (i % 1000 == 0)
			thread_rig_time_passes(r);
	}
	atomic_store(&r->peers.silent, true);
	thread_rig_await(r, thread_rig_drained, 0);
	thread_rig_check_rest(r); // a frame for which a full list has no room overtakes others
	thread_rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_may_do_anything_while_workers_run),
		cmocka_unit_test(storms_are_found_and_end_while_workers_run),
		cmocka_unit_test(pools_keep_their_size_when_workers_race_for_them),
		cmocka_unit_test(frames_of_flows_that_turn_stay_in_order),
		cmocka_unit_test(frames_stay_in_order_while_addresses_are_learned),
		cmocka_unit_test(a_frame_that_waited_on_its_way_in_is_not_seen_twice),
	};

	return cmocka_run_group_tests_name("threads", tests, thread_rig_eal, NULL);
}
