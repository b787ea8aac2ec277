// SPDX-License-Identifier: Apache-2.0
// The rows of `show`: their keys are those of the tables, counters count since the clear, and what
// is derived (quantiles, sums, shares) is right.
#include <string.h>

#include "control/inof/registry.h"
#include "control/lldp/agent.h"
#include "control/microbursts/burstlog.h"
#include "control/observe/fact.h"
#include "control/observe/linux_numbers.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "drivers/standin/standin.h"
#include "tests/unit/observe/rows.h"

enum { SECOND = 1000000000 };

// ---- keys

static const struct linux_numbers *one_tap(void *arg)
{
	static const struct linux_numbers n = {.tap[0].name = "p1"};

	(void)arg;
	return &n;
}

static bool say_nothing(void *arg, unsigned port, struct lldp_local *out)
{
	(void)arg;
	(void)port;
	*out = (struct lldp_local){0};
	return true;
}

static bool send_nothing(void *arg, unsigned port, const uint8_t *bytes, uint16_t len)
{
	(void)arg, (void)port, (void)bytes, (void)len;
	return true;
}

static void ignore_event(void *arg, const struct event *e, const char *about)
{
	(void)arg, (void)e, (void)about;
}

// A host with PFC in class 4 behind port 0.
static struct lldp_agent *agent_with_host(void)
{
	static const struct lldp_agent_ops ops = {say_nothing, send_nothing, ignore_event};
	static const uint8_t one[] = {1};
	const struct lldp_pdu host = {
		.chassis = {LLDP_CHASSIS_LOCAL, {one, 1}},
		.port = {LLDP_PORT_NAME, {one, 1}},
		.ttl_s = 120,
		.dcbx.pfc = {.given = true, .enable = 1 << 4},
	};
	uint8_t frame[LLDP_MAX_LEN];
	struct lldp_agent *a;

	assert_int_equal(lldp_agent_create(FAKE_PORTS, &ops, NULL, &a), 0);
	lldp_local_changed(a, 0);
	lldp_receive(a, 0, frame, lldp_build(frame, &host, (struct lldp_text){0}), 0);
	return a;
}

static const uint8_t *no_mac(void *arg, unsigned port)
{
	static const uint8_t mac[6];

	(void)arg, (void)port;
	return mac;
}

static bool send_no_notice(void *arg, unsigned port, const struct inof_frame *f)
{
	(void)arg, (void)port, (void)f;
	return true;
}

// A target at port 0 and a peer's initiator, and a notice to the target.
static struct inof_registry *registry_with_hosts(void)
{
	static const struct inof_ops ops = {no_mac, send_no_notice, ignore_event, NULL};
	static const struct inof_conf conf = {.default_zone = true, .ports = {1}};
	struct inof_registration r = {ip_key_v4(0x0a000001), true, {.role = INOF_TARGET}};
	static const uint8_t one[] = {1};
	const struct lldp_pdu host = {.chassis = {LLDP_CHASSIS_LOCAL, {one, 1}},
				      .port = {LLDP_PORT_NAME, {one, 1}}, .ttl_s = 120};
	uint8_t frame[LLDP_MAX_LEN], tlv[INOF_TLV_MAX];
	struct inof_registry *reg;
	uint16_t len;

	r.service.protocol = INOF_ROCE;
	assert_int_equal(inof_create(FAKE_PORTS, &ops, NULL, 1, 1, &reg), 0);
	inof_set_conf(reg, &conf, 0);
	inof_link(reg, 0, true, 0);
	len = inof_build_registration(tlv, &r);
	len = lldp_build(frame, &host, (struct lldp_text){tlv, len});
	assert_true(inof_lldp(reg, 0, frame, len, 0));
	r.ip = ip_key_v4(0x0a000002);
	r.service.role = INOF_INITIATOR;
	assert_true(inof_peer_host(reg, 1, &r, 0));
	inof_set_reflectors(reg, &(struct inof_reflector){.ip = r.ip, .up = true}, 1, 0);
	inof_poll(reg, 0);
	return reg;
}

static void every_key_shown_has_a_row_and_every_row_is_shown(void **state)
{
	struct bench *b = *state;
	struct lldp_state lldp = {.agent = agent_with_host()};
	struct inof_state inof = {.registry = registry_with_hosts()};
	struct burstlog *bursts;

	assert_int_equal(burstlog_create(FAKE_PORTS, &bursts), 0);
	b->sw->policy->microbursts = (struct microburst_params){MS_NS, 500};
	b->sw->microbursts[b->sw->n_microbursts++] = (struct microburst_record){
		.windows = 1, .share = 500, .part = MICROBURST_GROUPS};
	burstlog_poll(bursts, b->sw, &(struct burst_clock){.time_scale = 1});
	b->sw->in.service[SERVICE_MICROBURSTS] = bursts;
	b->sw->in.service[SERVICE_LLDP] = &lldp;
	b->sw->in.service[SERVICE_INOF] = &inof;
	ctr_add(&b->sw->port[0].drops[3][DROP_WRED].packets, 1);
	ctr_add(&b->sw->port[0].queue[3].residence[0], 1);
	b->sw->port[0].last[3] = (struct pause_cause){.t_ns = 1, .kind = CAUSE_QUEUE, .cls = 3};
	b->sw->port[0].notifies[3] = true;
	gauge_set(&b->sw->port[0].pfc_rx.stats[3].since_ns, 1);
	observe_set_linux(b->o, one_tap, NULL);
	b->sw->vtep = (struct vtep){.here = true, .n_vnis = 1, .n_peers = 1};
	b->sw->policy->vtep = &b->sw->vtep;
	for (unsigned i = 0; i < N_FACT_LISTS; i++) {
		const struct fact_list *l = &fact_lists[i];
		struct json_object *data = observe_rows(b->o, l->what, OBSERVE_ALL_PORTS,
							OBSERVE_HISTORY, SECOND);

		// Of the event log and of the resolver: see test_eventlog and lab_resolver.
		if (i == FACTS_EVENTS || i == FACTS_ROUTES || i == FACTS_NEIGHBOURS ||
		    i == FACTS_NEIGHBOUR_TOTALS) {
			assert_null(data);
			continue;
		}
		if (i == FACTS_FLOWS || i == FACTS_CNPS) { // see test_flows
			json_object_put(data);
			continue;
		}
		compare_keys(l, l->single ? list(data, l->list) : row(data, l->list, 0));
		json_object_put(data);
	}
	lldp_agent_destroy(lldp.agent);
	inof_destroy(inof.registry);
	burstlog_destroy(bursts);
}

// ---- counters and baselines

static void counters_count_from_the_clear_and_gauges_do_not(void **state)
{
	struct bench *b = *state;
	struct fake_port *p = &b->sw->port[1];
	struct json_object *data;

	ctr_add(&p->c.rx_packets, 100);
	gauge_set(&p->c.queued, 7);
	p->drv.rx_missed = 5;
	observe_clear(b->o, SECOND);
	ctr_add(&p->c.rx_packets, 3);
	p->drv.rx_missed = 6;
	data = observe_show(b->o, "ports", 1, SECOND);
	assert_int_equal(json_object_array_length(list(data, "ports")), 1);
	assert_int_equal(number(row(data, "ports", 0), "rx_packets"), 3);
	assert_int_equal(number(row(data, "ports", 0), "queued"), 7);
	assert_int_equal(number(row(data, "ports", 0), "rx_missed"), 1);
	json_object_put(data);
}

static void raw_rows_ignore_the_clear(void **state)
{
	struct bench *b = *state;
	struct json_object *data;

	ctr_add(&b->sw->port[0].c.rx_packets, 100);
	ctr_add(&b->sw->worker[0].loops, 40);
	observe_clear(b->o, SECOND);
	data = observe_rows(b->o, "ports", 0, OBSERVE_RAW, SECOND);
	assert_int_equal(number(row(data, "ports", 0), "rx_packets"), 100);
	json_object_put(data);
	data = observe_rows(b->o, "workers", OBSERVE_ALL_PORTS, OBSERVE_RAW, SECOND);
	assert_int_equal(number(row(data, "workers", 0), "loops"), 40);
	json_object_put(data);
	data = observe_show(b->o, "workers", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(number(row(data, "workers", 0), "loops"), 0);
	json_object_put(data);
}

static void cells_are_shown_as_bytes(void **state)
{
	struct bench *b = *state;
	struct json_object *data;

	gauge_set(&b->sw->port[0].pg[3].shared, 10);
	gauge_set(&b->sw->port[0].pg[3].max_headroom, 4);
	ctr_add(&b->sw->port[0].pg_counters[3].rx_bytes, 5000);
	data = observe_show(b->o, "buffers", 0, SECOND);
	assert_int_equal(number(row(data, "pgs", 3), "shared_bytes"), 2560);
	assert_int_equal(number(row(data, "pgs", 3), "max_headroom_bytes"), 1024);
	assert_int_equal(number(row(data, "pgs", 3), "rx_bytes"), 5000);
	assert_int_equal(number(row(data, "pools", 1), "used_bytes"), 11 * 256);
	json_object_put(data);
}

// Alpha 8 of a pool of 1,000 cells with 10 in use is 7,920 cells. A group gets the pool at most.
static void no_threshold_is_larger_than_the_pool(void **state)
{
	struct bench *b = *state;
	struct policy_port *p = &b->sw->policy->ports[0];
	struct json_object *data;

	p->pg[3].shared = (struct threshold){.dynamic = true, .alpha_log2 = 3};
	p->pg[3].min_cells = 4;
	p->pg[3].xon_cells = 0;
	p->pg[3].xon_offset_cells = 100;
	data = observe_show(b->o, "buffers", 0, SECOND);
	assert_int_equal(number(row(data, "pgs", 3), "xoff_at_bytes"), 1004 * 256);
	assert_int_equal(number(row(data, "pgs", 3), "xon_at_bytes"), 904 * 256);
	json_object_put(data);
	p->pg[3].shared.alpha_log2 = 0;
	data = observe_show(b->o, "buffers", 0, SECOND);
	assert_int_equal(number(row(data, "pgs", 3), "xoff_at_bytes"), 994 * 256);
	assert_int_equal(number(row(data, "pgs", 3), "xon_at_bytes"), 894 * 256);
	json_object_put(data);
}

// ---- latency

static void stayed(struct queue_counters *q, uint64_t ns, uint64_t n)
{
	ctr_add(&q->residence[residence_bucket(ns)], n);
	gauge_max(&q->residence_max_ns, ns);
}

static void quantiles_are_upper_ends_of_their_buckets_and_the_maximum_is_exact(void **state)
{
	struct bench *b = *state;
	struct queue_counters *q = &b->sw->port[0].queue[3];
	struct json_object *data;

	stayed(q, 1000, 98);
	stayed(q, 50000, 1);
	stayed(q, 1234567, 1);
	data = observe_show(b->o, "latency", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(json_object_array_length(list(data, "latency")), 1);
	assert_int_equal(number(row(data, "latency", 0), "packets"), 100);
	assert_int_equal(number(row(data, "latency", 0), "p50_ns"), 1023);
	assert_int_equal(number(row(data, "latency", 0), "p99_ns"), 57343);
	assert_int_equal(number(row(data, "latency", 0), "max_ns"), 1234567);
	json_object_put(data);
}

static void a_clear_restarts_quantiles_and_maximum(void **state)
{
	struct bench *b = *state;
	struct queue_counters *q = &b->sw->port[0].queue[3];
	struct json_object *data;

	stayed(q, 1234567, 1000);
	observe_clear(b->o, SECOND);
	data = observe_show(b->o, "latency", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(json_object_array_length(list(data, "latency")), 0);
	json_object_put(data);
	stayed(q, 1000, 10);
	data = observe_show(b->o, "latency", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(number(row(data, "latency", 0), "p99_ns"), 1023);
	assert_int_equal(number(row(data, "latency", 0), "max_ns"), 1023);
	json_object_put(data);
	stayed(q, 2000000, 1);
	data = observe_show(b->o, "latency", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(number(row(data, "latency", 0), "max_ns"), 2000000);
	json_object_put(data);
}

static void the_maximum_is_no_less_than_the_quantiles_after_watermarks_are_cleared(void **state)
{
	struct bench *b = *state;
	struct queue_counters *q = &b->sw->port[0].queue[3];
	struct json_object *data;

	stayed(q, 50000, 100);
	gauge_set(&q->residence_max_ns, 0);
	stayed(q, 1000, 1);
	data = observe_show(b->o, "latency", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(number(row(data, "latency", 0), "p99_ns"), 57343);
	assert_int_equal(number(row(data, "latency", 0), "max_ns"), 57343);
	json_object_put(data);
}

static void a_row_says_how_long_a_turn_of_its_worker_is(void **state)
{
	static struct standin_shared waited;
	struct bench *b = *state;
	struct json_object *data;

	stayed(&b->sw->port[1].queue[3], 0, 1);
	data = observe_show(b->o, "latency", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(number(row(data, "latency", 0), "turn_ns"), 0); // not known yet
	json_object_put(data);
	observe_sample(b->o, SECOND);
	ctr_add(&b->sw->worker[1].loops, 40000);
	data = observe_show(b->o, "latency", OBSERVE_ALL_PORTS, 2ull * SECOND);
	assert_int_equal(number(row(data, "latency", 0), "turn_ns"), 25000);
	json_object_put(data);
	observe_set_standin(b->o, &(struct standin){.shared = &waited});
	ctr_add(&waited.workers[1].beat.waited_ns, SECOND * 9ull / 10);
	data = observe_show(b->o, "latency", OBSERVE_ALL_PORTS, 2ull * SECOND);
	assert_int_equal(number(row(data, "latency", 0), "turn_ns"), 2500);
	json_object_put(data);
	observe_set_standin(b->o, NULL);
	b->sw->in.time_scale = 500;
	data = observe_show(b->o, "latency", OBSERVE_ALL_PORTS, 2ull * SECOND);
	assert_int_equal(number(row(data, "latency", 0), "turn_ns"), 50);
	json_object_put(data);
}

// ---- the policy that runs

static void thresholds_are_those_of_the_policy_that_runs(void **state)
{
	struct bench *b = *state;
	struct policy_port *p = &b->sw->policy->ports[1];
	struct json_object *data, *r;

	strcpy(p->profile, "roce");
	p->queue[3].wred = (struct wred_params){.enabled = true, .ecn = true, .weight = 2};
	for (unsigned i = 0; i < N_COLORS; i++)
		p->queue[3].wred.curve[i] = wred_curve_of(60000, 200000, 5000);
	p->pg[3] = (struct pg_params){.lossless = true, .min_cells = 4, .xoff_cells = 100,
				      .shared = {.dynamic = true, .alpha_log2 = -3}};
	b->sw->policy->buffer.total_cells = 1000;
	data = observe_show(b->o, "ecn", 1, SECOND);
	r = row(data, "ecn", 3);
	assert_string_equal(text(r, "port"), "p2");
	assert_string_equal(text(r, "profile"), "roce");
	assert_string_equal(text(r, "color"), "all");
	assert_string_equal(text(r, "ecn"), "true");
	assert_int_equal(number(r, "kmin_bytes"), 60000);
	assert_int_equal(number(r, "kmax_bytes"), 200000);
	assert_int_equal(number(r, "weight"), 2);
	assert_string_equal(text(r, "pmax_percent"), "0.5");
	assert_string_equal(text(row(data, "ecn", 0), "ecn"), "false");
	json_object_put(data);
	p->queue[3].wred.curve[RED].kmin_bytes = 1;
	data = observe_show(b->o, "ecn", 1, SECOND);
	assert_string_equal(text(row(data, "ecn", 5), "color"), "red");
	assert_int_equal(number(row(data, "ecn", 5), "kmin_bytes"), 1);
	json_object_put(data);
	data = observe_show(b->o, "buffers-config", 1, SECOND);
	r = row(data, "pg_config", 3);
	assert_string_equal(text(r, "alpha"), "1/8");
	assert_int_equal(number(r, "min_bytes"), 4 * 256);
	assert_int_equal(number(r, "headroom_bytes"), 100 * 256);
	assert_int_equal(number(list(data, "buffer"), "size_bytes"), 256000);
	json_object_put(data);
	p->pg[3].xon_offset_cells = 999;
	data = observe_show(b->o, "buffers-config", 1, SECOND);
	assert_int_equal(number(row(data, "pg_config", 3), "xon_offset_bytes"), 999 * 256);
	json_object_put(data);
	p->pg[3].xon_offset_cells = 1000; // as the importer writes it for `xon` alone
	data = observe_show(b->o, "buffers-config", 1, SECOND);
	assert_null(json_object_object_get(row(data, "pg_config", 3), "xon_offset_bytes"));
	json_object_put(data);
}

static void pfc_is_in_force_where_policy_and_driver_have_it(void **state)
{
	struct bench *b = *state;
	struct json_object *data, *r;

	b->sw->policy->ports[0].pfc.rx = b->sw->policy->ports[0].pfc.tx = 1 << 3;
	b->sw->sp[0].facts.pfc_tx = true;
	data = observe_show(b->o, "pfc-status", 0, SECOND);
	assert_int_equal(json_object_array_length(list(data, "pfc_status")), 1);
	r = row(data, "pfc_status", 0);
	assert_int_equal(number(r, "class"), 3);
	assert_string_equal(text(r, "rx"), "false");
	assert_string_equal(text(r, "rx_policy"), "true");
	assert_string_equal(text(r, "tx"), "true");
	json_object_put(data);
	b->sw->policy->ports[0].lldp.pfc_auto = true;
	data = observe_show(b->o, "pfc", OBSERVE_ALL_PORTS, SECOND);
	r = row(data, "pfc_ports", 0);
	assert_string_equal(text(r, "mode"), "auto");
	assert_string_equal(text(r, "dcbx"), "off");
	assert_string_equal(text(r, "configured"), "[ 3 ]");
	assert_string_equal(text(r, "in_force"), "[ 3 ]");
	assert_null(json_object_object_get(r, "host_pfc"));
	b->sw->sp[0].facts.pfc_tx = false; // now neither direction has it
	json_object_put(data);
	data = observe_show(b->o, "pfc", 0, SECOND);
	assert_string_equal(text(row(data, "pfc_ports", 0), "in_force"), "[ ]");
	json_object_put(data);
}

static void vlans_are_listed_with_their_members(void **state)
{
	struct bench *b = *state;
	struct json_object *data = observe_show(b->o, "vlan", OBSERVE_ALL_PORTS, SECOND);

	assert_int_equal(json_object_array_length(list(data, "vlan")), 1);
	assert_int_equal(number(row(data, "vlan", 0), "vlan"), 10);
	assert_string_equal(text(row(data, "vlan", 0), "untagged"), "[ \"p1\" ]");
	assert_string_equal(text(row(data, "vlan", 0), "tagged"), "[ \"p2\" ]");
	json_object_put(data);
	b->sw->policy->vlan_exists[0] |= 1u << 1; // as of a routed port
	data = observe_show(b->o, "vlan", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(json_object_array_length(list(data, "vlan")), 1);
	json_object_put(data);
	b->sw->policy->ports[1].vlan.tagged[0] = 0;
	data = observe_show(b->o, "vlan", 1, SECOND);
	assert_int_equal(json_object_array_length(list(data, "vlan")), 0);
	json_object_put(data);
}

static void a_full_line_is_used_to_a_hundred_percent(void **state)
{
	struct bench *b = *state;
	struct json_object *data, *r;

	b->sw->policy->ports[0].speed_bps = 1000000000;
	observe_sample(b->o, SECOND);
	ctr_add(&b->sw->port[0].c.tx_packets, 125000); // of 976 bytes and 24 on the line
	ctr_add(&b->sw->port[0].c.tx_bytes, 125000 * 976);
	data = observe_show(b->o, "interfaces", 0, 2ull * SECOND);
	r = row(data, "interfaces", 0);
	assert_int_equal(number(r, "tx_bps"), 976000000);
	assert_int_equal(number(r, "tx_pps"), 125000);
	assert_string_equal(text(r, "tx_util_percent"), "100.0");
	assert_string_equal(text(r, "rx_util_percent"), "0.0");
	json_object_put(data);
}

// ---- the switch itself

static void the_switch_says_its_age_and_what_is_in_force(void **state)
{
	const struct observe_about about = {"1.2.3", "/etc/weir/sw1.yaml", SECOND};
	struct bench *b = *state;
	struct json_object *data, *r;

	observe_set_about(b->o, &about);
	b->sw->held = true;
	data = observe_show(b->o, "version", OBSERVE_ALL_PORTS, 3ull * SECOND);
	r = list(data, "version");
	assert_string_equal(text(r, "name"), "sw1");
	assert_string_equal(text(r, "version"), "1.2.3");
	assert_string_equal(text(r, "policy_file"), "/etc/weir/sw1.yaml");
	assert_int_equal(number(r, "uptime_ms"), 2000);
	assert_string_equal(text(r, "held"), "true");
	assert_string_equal(text(r, "drop_all"), "false");
	json_object_put(data);
}

// ---- drops

static void drop(struct bench *b, unsigned port, unsigned cls, unsigned reason, uint64_t n)
{
	ctr_add(&b->sw->port[port].drops[cls][reason].packets, n);
	ctr_add(&b->sw->port[port].drops[cls][reason].bytes, 100 * n);
}

static void drops_are_listed_where_they_happened_and_summed_by_reason(void **state)
{
	struct bench *b = *state;
	struct json_object *data, *r;

	drop(b, 0, 3, DROP_HEADROOM, 2);
	drop(b, 1, 3, DROP_HAIRPIN, 1);
	drop(b, 1, 0, DROP_HAIRPIN, 4);
	data = observe_show(b->o, "drops", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(json_object_array_length(list(data, "drops")), 3);
	r = row(data, "drops", 0);
	assert_string_equal(text(r, "port"), "p1");
	assert_int_equal(number(r, "class"), 3);
	assert_string_equal(text(r, "reason"), "headroom-overrun");
	assert_int_equal(number(r, "packets"), 2);
	assert_int_equal(number(r, "bytes"), 200);
	assert_string_equal(text(r, "lossless"), "true");
	assert_string_equal(text(row(data, "drops", 2), "lossless"), "false"); // filtering
	assert_int_equal(json_object_array_length(list(data, "reasons")), 2);
	assert_string_equal(text(row(data, "reasons", 0), "reason"), "hairpin");
	assert_int_equal(number(row(data, "reasons", 0), "packets"), 5);
	assert_string_equal(text(row(data, "reasons", 0), "text"), drop_info[DROP_HAIRPIN].help);
	assert_int_equal(number(list(data, "total"), "packets"), 7);
	assert_int_equal(number(list(data, "total"), "bytes"), 700);
	assert_int_equal(number(list(data, "total"), "lossless_packets"), 2);
	json_object_put(data);
}

static void all_drop_rows_are_shown_on_request_and_alarms_for_monitoring(void **state)
{
	struct bench *b = *state;
	struct json_object *data;
	unsigned n_loss = 0;

	for (unsigned i = 0; i < N_DROP_REASONS; i++)
		n_loss += drop_info[i].loss;
	data = observe_show(b->o, "drops", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(json_object_array_length(list(data, "drops")), 0);
	json_object_put(data);
	data = observe_rows(b->o, "drops", 1, OBSERVE_ALL_ROWS, SECOND);
	assert_int_equal(json_object_array_length(list(data, "drops")), N_CLASSES * N_DROP_REASONS);
	assert_int_equal(json_object_array_length(list(data, "reasons")), N_DROP_REASONS);
	json_object_put(data);
	data = observe_rows(b->o, "drops", 1, OBSERVE_ALARM_ROWS, SECOND);
	assert_int_equal(json_object_array_length(list(data, "drops")), n_loss);
	json_object_put(data);
}

// ---- workers

static void a_worker_shows_core_ports_load_and_late_turns(void **state)
{
	struct bench *b = *state;
	struct worker_counters *c = &b->sw->worker[1];
	struct json_object *data, *r;

	observe_sample(b->o, SECOND);
	ctr_add(&c->loops, 4000);
	ctr_add(&c->busy_loops, 1000);
	ctr_add(&c->gaps_over_1ms, 2);
	gauge_set(&c->gap_max_ns, 3000000);
	data = observe_show(b->o, "workers", OBSERVE_ALL_PORTS, 2ull * SECOND);
	assert_int_equal(number(row(data, "workers", 0), "core"), 5);
	assert_null(text(row(data, "workers", 1), "core"));
	r = row(data, "workers", 1);
	assert_string_equal(text(r, "ports"), "[ \"p2\" ]");
	assert_int_equal(number(r, "loops"), 4000);
	assert_int_equal(number(r, "loops_per_s"), 4000);
	assert_int_equal(number(r, "busy_percent"), 25);
	assert_int_equal(number(r, "late_loops"), 2);
	assert_int_equal(number(r, "gap_max_ns"), 3000000);
	json_object_put(data);
	data = observe_show(b->o, "workers", 0, 2ull * SECOND);
	assert_int_equal(json_object_array_length(list(data, "workers")), 1);
	assert_string_equal(text(data, "admission_held"), "false");
	json_object_put(data);
	b->sw->held = true;
	data = observe_show(b->o, "workers", 0, 2ull * SECOND);
	assert_string_equal(text(data, "admission_held"), "true");
	json_object_put(data);
}

// ---- pauses

static void a_pause_that_lasts_counts_as_far_as_it_has_gone(void **state)
{
	struct bench *b = *state;
	struct pfc_class_stats *st = &b->sw->port[0].pfc_rx.stats[3];
	struct json_object *data;

	ctr_add(&st->frames, 1);
	ctr_add(&st->duration_ns, 5000);
	gauge_set(&st->since_ns, SECOND);
	gauge_set(&st->until_ns, 3ull * SECOND);
	data = observe_show(b->o, "pfc", 0, 2ull * SECOND);
	assert_int_equal(number(row(data, "pfc", 0), "rx_pause_duration_us"), 1000005);
	json_object_put(data);
	observe_clear(b->o, 2ull * SECOND);
	data = observe_show(b->o, "pfc", 0, 2ull * SECOND + 7000);
	assert_int_equal(number(row(data, "pfc", 0), "rx_pause_duration_us"), 7);
	json_object_put(data);
}

// The worker has not looked since.
static void a_pause_whose_quanta_ran_out_counts_up_to_their_end(void **state)
{
	struct bench *b = *state;
	struct pfc_class_stats *st = &b->sw->port[0].pfc_rx.stats[3];
	struct json_object *data;

	gauge_set(&st->since_ns, SECOND);
	gauge_set(&st->until_ns, 3ull * SECOND);
	data = observe_show(b->o, "pfc", 0, 9ull * SECOND);
	assert_int_equal(number(row(data, "pfc", 0), "rx_pause_duration_us"), 2000000);
	assert_int_equal(number(row(data, "pfc", 0), "rx_pause_longest_us"), 2000000);
	json_object_put(data);
}

static void rates_and_times_of_a_slowed_switch_are_the_models(void **state)
{
	struct bench *b = *state;
	struct pfc_class_stats *st = &b->sw->port[0].pfc_rx.stats[3];
	struct port_counters *c = &b->sw->port[0].c;
	struct json_object *data;

	b->sw->in.time_scale = 500;
	observe_sample(b->o, SECOND);
	ctr_add(&c->tx_bytes, 10000000); // 80 Mb/s on the wall
	ctr_add(&b->sw->worker[0].loops, 1000);
	gauge_set(&st->since_ns, SECOND);
	gauge_set(&st->until_ns, 3ull * SECOND);
	data = observe_show(b->o, "ports", 0, 2ull * SECOND);
	assert_int_equal(number(row(data, "ports", 0), "tx_bps"), 40000000000);
	assert_int_equal(number(list(data, "clock"), "time_scale"), 500);
	json_object_put(data);
	data = observe_show(b->o, "pfc", 0, 2ull * SECOND);
	assert_int_equal(number(row(data, "pfc", 0), "rx_pause_duration_us"), 2000);
	json_object_put(data);
	observe_clear(b->o, 2ull * SECOND);
	data = observe_show(b->o, "pfc", 0, 3ull * SECOND);
	assert_int_equal(number(row(data, "pfc", 0), "rx_pause_duration_us"), 2000);
	json_object_put(data);
	data = observe_show(b->o, "workers", OBSERVE_ALL_PORTS, 2ull * SECOND);
	assert_int_equal(number(row(data, "workers", 0), "loops_per_s"), 1000); // the machine's
	json_object_put(data);
}

static void an_unknown_kind_is_null(void **state)
{
	struct bench *b = *state;

	assert_null(observe_show(b->o, "nothing", OBSERVE_ALL_PORTS, SECOND));
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_key_shown_has_a_row_and_every_row_is_shown),
		T(counters_count_from_the_clear_and_gauges_do_not),
		T(raw_rows_ignore_the_clear),
		T(cells_are_shown_as_bytes),
		T(no_threshold_is_larger_than_the_pool),
		T(quantiles_are_upper_ends_of_their_buckets_and_the_maximum_is_exact),
		T(a_clear_restarts_quantiles_and_maximum),
		T(the_maximum_is_no_less_than_the_quantiles_after_watermarks_are_cleared),
		T(a_row_says_how_long_a_turn_of_its_worker_is),
		T(the_switch_says_its_age_and_what_is_in_force),
		T(thresholds_are_those_of_the_policy_that_runs),
		T(pfc_is_in_force_where_policy_and_driver_have_it),
		T(vlans_are_listed_with_their_members),
		T(a_full_line_is_used_to_a_hundred_percent),
		T(drops_are_listed_where_they_happened_and_summed_by_reason),
		T(all_drop_rows_are_shown_on_request_and_alarms_for_monitoring),
		T(a_worker_shows_core_ports_load_and_late_turns),
		T(a_pause_that_lasts_counts_as_far_as_it_has_gone),
		T(a_pause_whose_quanta_ran_out_counts_up_to_their_end),
		T(rates_and_times_of_a_slowed_switch_are_the_models),
		T(an_unknown_kind_is_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
