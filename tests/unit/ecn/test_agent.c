// SPDX-License-Identifier: Apache-2.0
// Auto ECN of a switch that is a handful of numbers: what the agent feeds its rules, and which
// thresholds the queues get.
#include "dataplane/policy.h"
#include "tests/unit/ecn/test.h"

#include <stdlib.h>

#include "control/autoecn/agent.h"
#include "dataplane/qos/pfc.h"
#include "dataplane/qos/wred.h"
#include "dataplane/switch.h"
#include "dataplane/switch_ecn.h"
#include "dataplane/switch_flows.h"

enum { N_PORTS = 2, PORT = 1, QUEUE = 3, OTHER = 5, ERR_LEN = 256, N_FLOWS = 4 };
#define MS 1000000ull

struct weir_switch {
	struct policy *policy;
	struct queue_counters queue;
	struct pfc_rx_state rx[N_PORTS];
	struct pfc_tx_state tx[N_PORTS];
	enum watchdog_status status[N_CLASSES];
	struct wred_curve curve; // that the worker got last
	unsigned n_curves;
	bool busy; // the worker has not seen the order before yet
	uint32_t n_places; // of the flow table; the flows are in the last places
	struct flow_row flow[N_FLOWS];
};

uint32_t switch_flows_places(const struct weir_switch *sw)
{
	return sw->n_places;
}

void switch_flows_look(struct weir_switch *sw, const struct flows_look *look)
{
	assert_true(look->first + look->n <= sw->n_places);
	for (uint32_t i = look->first; i < look->first + look->n; i++)
		if (i + N_FLOWS >= sw->n_places)
			look->fn(look->arg, i, &sw->flow[i + N_FLOWS - sw->n_places]);
}

const struct policy *switch_policy(const struct weir_switch *sw)
{
	return sw->policy;
}

const struct queue_counters *switch_queue_counters(const struct weir_switch *sw, unsigned port,
						   unsigned queue)
{
	assert_int_equal(port, PORT);
	assert_true(queue == QUEUE || queue == OTHER);
	return &sw->queue;
}

const struct pfc_rx_state *switch_pfc_rx(const struct weir_switch *sw, unsigned port)
{
	return &sw->rx[port];
}

const struct pfc_tx_state *switch_pfc_tx(const struct weir_switch *sw, unsigned port)
{
	return &sw->tx[port];
}

enum watchdog_status switch_watchdog_status(const struct weir_switch *sw, unsigned port,
					    unsigned cls)
{
	return port == 0 ? sw->status[cls] : WATCHDOG_OPERATIONAL;
}

struct pause_cause switch_pause_cause(const struct weir_switch *sw, unsigned port, unsigned pg)
{
	(void)sw;
	(void)port;
	(void)pg;
	return (struct pause_cause){.kind = CAUSE_QUEUE, .out_port = PORT, .queue = QUEUE};
}

uint64_t residence_bucket_max(unsigned b)
{
	return 1000 * (b + 1);
}

bool switch_set_curve(struct weir_switch *sw, unsigned port, unsigned queue,
		      const struct wred_curve *c)
{
	assert_int_equal(port, PORT);
	assert_true(queue == QUEUE || queue == OTHER);
	if (sw->busy)
		return false;
	sw->curve = *c;
	sw->n_curves++;
	return true;
}

// ---- a switch with one queue

struct world {
	struct weir_switch sw;
	struct autoecn *agent;
	struct autoecn_change last;
	unsigned n_changes;
	uint64_t now_ns;
	bool policy_changes;
};

static void keep(void *arg, const struct autoecn_change *c)
{
	struct world *w = arg;

	w->last = *c;
	w->n_changes++;
}

static struct policy *policy_with(uint64_t speed_bps)
{
	struct policy *p = calloc(1, sizeof(*p) + N_PORTS * sizeof(p->ports[0]));
	struct policy_port *pp = &p->ports[PORT];

	p->n_ports = N_PORTS;
	for (unsigned i = 0; i < N_PORTS; i++)
		for (uint8_t c = 0; c < N_CLASSES; c++)
			p->ports[i].classify.class_to_queue[c] = c;
	pp->classify.lossless = 3 << 3;
	pp->classify.class_to_queue[4] = QUEUE;
	pp->speed_bps = 10000000000;
	pp->auto_ecn[QUEUE] = (struct auto_ecn_params){
		.on = true, .action = ECN_ON, .model = ECN_MODEL_OFF, .floor_bytes = 3000,
		.ceiling_bytes = 300000, .step_ns = 20 * MS, .speed_bps = speed_bps};
	return p;
}

static void begin(struct world *w, uint64_t speed_bps)
{
	char err[ERR_LEN];

	memset(w, 0, sizeof(*w));
	w->now_ns = MS;
	w->sw.policy = policy_with(speed_bps);
	assert_int_equal(autoecn_create(&w->sw, keep, w, &w->agent, err, sizeof(err)), 0);
}

static void end(struct world *w)
{
	autoecn_destroy(w->agent);
	free(w->sw.policy);
}

static struct auto_ecn_params *params(struct world *w)
{
	return &w->sw.policy->ports[PORT].auto_ecn[QUEUE];
}

static struct autoecn_view view(const struct world *w)
{
	struct autoecn_view v;

	assert_true(autoecn_view(w->agent, PORT, QUEUE, &v));
	return v;
}

// The queue sends `bps` in frames of 1250 B, all of which take 1 us, for so many looks of 1 ms.
static void send(struct world *w, uint64_t bps, unsigned looks)
{
	const uint64_t frames = bps / 8 / 1250 / 1000;

	for (unsigned i = 0; i < looks; i++) {
		w->now_ns += MS;
		ctr_add(&w->sw.queue.tx_packets, frames);
		ctr_add(&w->sw.queue.tx_bytes, frames * 1250);
		ctr_add(&w->sw.queue.residence[0], frames);
		ctr_add(&w->sw.queue.ecn_marked, 1 + frames / 100);
		for (unsigned f = 0; f < N_FLOWS; f++)
			w->sw.flow[f].bytes += (uint64_t)1000 << f;
		autoecn_look(w->agent, w->policy_changes, w->now_ns);
	}
}

static void new_policy(struct world *w)
{
	char err[ERR_LEN];

	autoecn_carry(w->agent, w->sw.policy);
	assert_true(autoecn_new_policy(w->agent, w->now_ns, err, sizeof(err)));
}

// ----

static void a_queue_that_its_max_rate_fills_is_busy(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 500000000); // of a port of 10 Gb/s
	send(&w, 500000000, 100);
	assert_float_equal(view(&w).features.utilisation, 1, 1e-9);
	assert_int_not_equal(view(&w).mode, ECN_START);
	end(&w);
}

static void another_speed_begins_anew(void **state)
{
	struct world w;
	char err[ERR_LEN];

	(void)state;
	begin(&w, 100000000000);
	assert_int_equal(view(&w).now.kmin_bytes, 12500);
	send(&w, 100000000000, 1000);
	assert_int_equal(view(&w).mode, ECN_SETTLED);
	params(&w)->speed_bps = 40000000000;
	w.sw.policy->ports[PORT].queue[QUEUE].wred.curve[GREEN].kmin_bytes = 5000; // as compiled
	autoecn_carry(w.agent, w.sw.policy);
	assert_int_equal(w.sw.policy->ports[PORT].queue[QUEUE].wred.curve[GREEN].kmin_bytes, 5000);
	assert_true(autoecn_new_policy(w.agent, w.now_ns, err, sizeof(err)));
	assert_int_equal(view(&w).mode, ECN_START);
	assert_int_equal(view(&w).now.kmin_bytes, 5000);
	end(&w);
}

static const char model_path[] = "ecn_agent_model.ecn";

// A model with one row, which is that of send() at the full speed of the queue.
static void write_model(const char *row)
{
	FILE *f = fopen(model_path, "w");

	assert_non_null(f);
	fprintf(f, "%s 100 - 1 - - 4 16 20\n", row);
	fclose(f);
}

static void begin_with_model(struct world *w, enum ecn_action action)
{
	write_model("first");
	begin(w, 10000000000);
	params(w)->action = (uint8_t)action;
	params(w)->model = ECN_MODEL_FILE;
	strcpy(params(w)->model_file, model_path);
	params(w)->model_stamp = 1;
	new_policy(w);
	send(w, 10000000000, 100);
	assert_string_equal(view(w).row, "first");
}

static void a_model_file_that_was_written_again_is_read_again(void **state)
{
	struct world w;

	(void)state;
	begin_with_model(&w, ECN_ON);
	write_model("second");
	new_policy(&w);
	assert_string_equal(view(&w).row, "first"); // routes have changed, and not the file
	params(&w)->model_stamp = 2;
	new_policy(&w);
	assert_null(view(&w).row);
	send(&w, 10000000000, 100);
	assert_string_equal(view(&w).row, "second");
	remove(model_path);
	end(&w);
}

static void a_storm_of_any_class_of_the_queue_freezes_it(void **state)
{
	struct world w;

	(void)state;
	for (unsigned cls = 3; cls <= 4; cls++) {
		begin(&w, 10000000000);
		send(&w, 10000000000, 80);
		assert_int_equal(view(&w).mode, ECN_SEARCH);
		w.sw.status[cls] = WATCHDOG_IN_STORM;
		send(&w, 10000000000, 40);
		assert_int_equal(w.last.why, ECN_WHY_STORM);
		assert_int_equal(view(&w).mode, ECN_FROZEN);
		w.sw.status[cls] = WATCHDOG_OPERATIONAL;
		w.sw.status[5] = WATCHDOG_IN_STORM; // of another queue
		send(&w, 10000000000, 40);
		assert_int_not_equal(view(&w).mode, ECN_FROZEN);
		end(&w);
	}
}

static void a_peer_that_pauses_any_class_of_the_queue_freezes_it(void **state)
{
	struct world w;

	(void)state;
	for (unsigned cls = 3; cls <= 4; cls++) {
		begin(&w, 10000000000);
		send(&w, 10000000000, 80);
		for (unsigned i = 0; i < 40; i++) {
			ctr_add(&w.sw.rx[PORT].stats[cls].duration_ns, MS * 3 / 5);
			send(&w, 10000000000, 1);
		}
		assert_int_equal(w.last.why, ECN_WHY_PAUSED);
		assert_true(view(&w).features.paused_share > 0.55);
		assert_true(view(&w).features.paused_share < 0.65);
		end(&w);
	}
}

// Control reads the two words of a pause while the worker ends the pause: it counts twice, or not.
static void a_pause_that_is_read_while_it_ends_freezes_nothing(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 10000000000);
	send(&w, 10000000000, 80);
	for (unsigned i = 0; i < 60; i++) {
		gauge_set(&w.sw.rx[PORT].stats[3].duration_ns, i % 4 == 2 ? 0 : MS / 20);
		send(&w, 10000000000, 1);
		assert_int_not_equal(view(&w).mode, ECN_FROZEN);
	}
	assert_true(view(&w).features.paused_share < 0.05);
	end(&w);
}

static void thresholds_wait_for_a_worker_that_is_late(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 10000000000);
	w.sw.busy = true;
	send(&w, 10000000000, 66);
	assert_int_equal(view(&w).mode, ECN_SEARCH);
	assert_int_equal(w.sw.n_curves, 0);
	w.sw.busy = false;
	send(&w, 10000000000, 1);
	assert_int_equal(w.sw.n_curves, 1);
	assert_int_equal(w.sw.curve.kmin_bytes, view(&w).now.kmin_bytes);
	end(&w);
}

static void a_policy_that_comes_gets_no_order_and_begins_with_the_thresholds(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 10000000000);
	w.sw.busy = true;
	send(&w, 10000000000, 66);
	w.sw.busy = false;
	w.now_ns += MS;
	autoecn_look(w.agent, true, w.now_ns);
	assert_int_equal(w.sw.n_curves, 0);
	autoecn_carry(w.agent, w.sw.policy);
	for (unsigned color = 0; color < N_COLORS; color++)
		assert_int_equal(w.sw.policy->ports[PORT].queue[QUEUE].wred.curve[color].kmin_bytes,
				 view(&w).now.kmin_bytes);
	end(&w);
}

static void nothing_changes_while_a_policy_changes(void **state)
{
	struct world w;
	uint64_t kmin;

	(void)state;
	begin(&w, 10000000000);
	send(&w, 10000000000, 66);
	kmin = view(&w).now.kmin_bytes;
	w.policy_changes = true;
	send(&w, 10000000000, 100);
	assert_int_equal(w.last.why, ECN_WHY_POLICY);
	assert_int_equal(view(&w).now.kmin_bytes, kmin);
	w.policy_changes = false;
	send(&w, 10000000000, 40);
	assert_int_not_equal(view(&w).now.kmin_bytes, kmin);
	end(&w);
}

static void advice_reaches_no_queue(void **state)
{
	struct world w;

	(void)state;
	begin_with_model(&w, ECN_ADVISE);
	assert_int_equal(w.sw.n_curves, 0);
	assert_int_equal(view(&w).advice.kmin_bytes, 5000); // 4 us
	assert_int_equal(view(&w).now.kmin_bytes, 3000);
	remove(model_path);
	end(&w);
}

// Four flows of 1, 2, 4 and 8 Mb/s: the third one leaves by another queue, the last one is an
// elephant. What was sent before the first round says nothing.
static void a_window_knows_the_flows_of_its_queue_and_the_share_of_elephants(void **state)
{
	static const uint32_t places[] = {N_FLOWS, 15, 65536};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct world w;

		begin(&w, 10000000000);
		w.sw.n_places = places[i];
		w.sw.policy->elephants.enabled = true;
		for (unsigned f = 0; f < N_FLOWS; f++)
			w.sw.flow[f] = (struct flow_row){
				.way = {.out_port = PORT, .queue = f == 2 ? QUEUE + 1 : QUEUE},
				.size = f == 3 ? SIZE_ELEPHANT : SIZE_PLAIN, .bytes = f << 30};
		send(&w, 1000000000, 21);
		if (view(&w).features.elephants >= 0)
			assert_float_equal(view(&w).features.elephants, 8 / 11.0f, 0.01);
		send(&w, 1000000000, 60);
		assert_float_equal(view(&w).features.flows, 3, 0.01);
		assert_float_equal(view(&w).features.elephants, 8 / 11.0f, 0.01);
		assert_float_equal(view(&w).features.fairness, 11 * 11 / (3 * 69.0f), 0.01);
		w.sw.policy->elephants.enabled = false;
		send(&w, 1000000000, 20);
		assert_float_equal(view(&w).features.elephants, ECN_UNKNOWN, 0);
		assert_float_equal(view(&w).features.flows, 3, 0.01);
		end(&w);
	}
}

// Two queues: the one with the shorter windows sets the time of a round, until it gets longer ones.
// By the new time the next place of the round lies behind the present one. The window of the other
// queue goes on. It sees 8 flows in 3,180 of 1,500 places.
static void the_round_through_the_flow_table_waits_when_the_windows_get_longer(void **state)
{
	struct world w;
	struct auto_ecn_params *both;
	struct autoecn_view v;

	(void)state;
	begin(&w, 10000000000);
	both = w.sw.policy->ports[PORT].auto_ecn;
	both[OTHER] = both[QUEUE];
	both[OTHER].step_ns = 100 * MS;
	new_policy(&w);
	w.sw.n_places = 1500;
	for (unsigned f = 0; f < N_FLOWS; f++)
		w.sw.flow[f] = (struct flow_row){.way = {.out_port = PORT, .queue = OTHER}};
	send(&w, 1000000000, 50); // three rounds of 15 ms, and 400 places of the next one
	both[QUEUE].step_ns = 100 * MS;
	new_policy(&w);
	send(&w, 1000000000, 50); // 100 places in 5 ms
	assert_true(autoecn_view(w.agent, PORT, OTHER, &v));
	assert_int_equal(v.n_windows, 1);
	assert_float_equal(v.features.flows, 8 * 1500 / 3180.0f, 0.01);
	end(&w);
}

static void a_switch_without_a_flow_table_knows_no_flows(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 10000000000);
	send(&w, 1000000000, 81);
	assert_float_equal(view(&w).features.flows, ECN_UNKNOWN, 0);
	assert_float_equal(view(&w).features.elephants, ECN_UNKNOWN, 0);
	assert_float_equal(view(&w).features.fairness, ECN_UNKNOWN, 0);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_that_its_max_rate_fills_is_busy),
		cmocka_unit_test(another_speed_begins_anew),
		cmocka_unit_test(a_model_file_that_was_written_again_is_read_again),
		cmocka_unit_test(a_storm_of_any_class_of_the_queue_freezes_it),
		cmocka_unit_test(a_peer_that_pauses_any_class_of_the_queue_freezes_it),
		cmocka_unit_test(a_pause_that_is_read_while_it_ends_freezes_nothing),
		cmocka_unit_test(thresholds_wait_for_a_worker_that_is_late),
		cmocka_unit_test(a_policy_that_comes_gets_no_order_and_begins_with_the_thresholds),
		cmocka_unit_test(nothing_changes_while_a_policy_changes),
		cmocka_unit_test(advice_reaches_no_queue),
		cmocka_unit_test(
			a_window_knows_the_flows_of_its_queue_and_the_share_of_elephants),
		cmocka_unit_test(
			the_round_through_the_flow_table_waits_when_the_windows_get_longer),
		cmocka_unit_test(a_switch_without_a_flow_table_knows_no_flows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
