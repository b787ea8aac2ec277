// SPDX-License-Identifier: Apache-2.0
// DCQCN as a whole, on the virtual clock: senders, one switch that marks by its policy, one
// receiver. Where the rates and the queue settle is compared with the fixed point of the fluid
// model (Zhu et al., CoNEXT 2016, section 3), worked out apart from this code.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <rte_mbuf.h>

#include "control/config/config.h"
#include "dataplane/switch.h"
#include "dataplane/worker.h"
#include "drivers/nic/nic.h"
#include "drivers/wire/wire.h"
#include "tests/eal.h"

enum { MAX_SENDERS = 8, POOL = 32767, SNAP = 104, CLS = 3, CNP_CLS = 6, US = 1000, MS = 1000000 };

static const char policy_text[] =
	"switch: {name: equilibrium, buffer: {size: 12MiB}}\n"
	"ports: [{name: \"p[0-%u]\", device: \"xdp:d[0-%u]\", speed: %uG, mtu: 1500, profile: r}]\n"
	"fdb:\n%s"
	"profiles:\n"
	"  r:\n"
	"    classes:\n"
	"      3: {lossless: true, schedule: {dwrr: 1}, ingress: {alpha: 1},\n"
	"          wred: {ecn: on, kmin: 5KB, kmax: 200KB, pmax: 1%%, mark_at: dequeue}}\n"
	"      6: {schedule: strict}\n";

struct world {
	struct vclock clock;
	struct config *config;
	struct policy *policy;
	struct weir_switch *sw;
	struct actor sw_actor;
	unsigned n; // senders are 0..n-1, the receiver is n
	struct wire *wire[MAX_SENDERS + 1];
	struct actor actor[MAX_SENDERS + 1];
	struct nic *nic[MAX_SENDERS + 1];
	uint32_t flow[MAX_SENDERS];
};

static struct rte_mempool *pool;

static uint64_t nic_actor(void *arg, uint64_t now_ns)
{
	return nic_step(arg, now_ns);
}

static uint64_t switch_actor(void *arg, uint64_t now_ns)
{
	return worker_step(switch_worker(arg, 0), now_ns);
}

static void mac_of(unsigned i, uint8_t mac[6])
{
	memcpy(mac, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(i + 1)}, 6);
}

static struct config *make_config(unsigned n_ports, unsigned gbps)
{
	char fdb[1024] = "", text[4096];
	struct config *c = NULL;
	struct diags d = {0};

	for (unsigned i = 0; i < n_ports; i++)
		snprintf(fdb + strlen(fdb), sizeof(fdb) - strlen(fdb),
			 "  - {mac: \"02:00:00:00:00:%02x\", port: p%u}\n", i + 1, i);
	snprintf(text, sizeof(text), policy_text, n_ports - 1, n_ports - 1, gbps, fdb);
	if (config_parse("equilibrium.yaml", text, strlen(text), &c, &d) != 0)
		fail_msg("%s", d.lines[0]);
	diags_fini(&d);
	return c;
}

static void make_switch(struct world *w, unsigned gbps)
{
	struct port_facts facts[MAX_SENDERS + 1];
	struct switch_port ports[MAX_SENDERS + 1];
	struct diags d = {0};

	w->config = make_config(w->n + 1, gbps);
	for (unsigned i = 0; i <= w->n; i++) {
		const struct wire_conf conf = {.speed_bps = gbps * 1000000000ull, .delay_ns = US};
		const uint8_t mac[6] = {2, 1, 0, 0, 0, (uint8_t)i};

		assert_int_equal(wire_create(&w->clock, &conf, &w->wire[i]), 0);
		facts[i] = wire_facts(wire_end(w->wire[i], 0), mac);
		ports[i] = (struct switch_port){.ops = &wire_ops, .facts = facts[i],
						.drv = wire_end(w->wire[i], 0)};
		wire_end_attach(wire_end(w->wire[i], 0), &w->sw_actor);
	}
	if (config_compile(w->config, facts, &w->policy, &d) != 0)
		fail_msg("%s", d.lines[0]);
	config_small_flows(w->config, w->policy);
	diags_fini(&d);
	assert_int_equal(switch_create(w->policy, ports, pool, 1, &w->sw), 0);
	actor_init(&w->sw_actor, &w->clock, switch_actor, w->sw);
	actor_poke(&w->sw_actor);
}

static void make_nic(struct world *w, unsigned i, const struct cc_config *cc)
{
	uint64_t speed = wire_speed(w->wire[i]);
	struct nic_config c;
	uint8_t mac[6];

	mac_of(i, mac);
	nic_config_default(&c);
	c.ops = &wire_ops;
	c.drv = wire_end(w->wire[i], 1);
	c.pool = pool;
	c.facts = wire_facts(wire_end(w->wire[i], 1), mac);
	c.ip = ip_key_v4(i + 1);
	c.speed_bps = speed;
	c.seed = i;
	c.snap = SNAP;
	c.cc = *cc;
	assert_int_equal(nic_create(&c, &w->nic[i]), 0);
	actor_init(&w->actor[i], &w->clock, nic_actor, w->nic[i]);
	wire_end_attach(wire_end(w->wire[i], 1), &w->actor[i]);
}

static void join(struct world *w, unsigned i)
{
	const struct nic_flow f = {.dst_ip = ip_key_v4(w->n + 1), .cls = CLS, .mtu = 1024,
				   .depth = 8, .msg_bytes = 1 << 20, .first_psn = NIC_RANDOM_PSN};
	uint8_t mac[6], to[6];

	mac_of(i, mac);
	mac_of(w->n, to);
	assert_int_equal(nic_peer_set(w->nic[i], ip_key_v4(w->n + 1), to), 0);
	assert_int_equal(nic_peer_set(w->nic[w->n], ip_key_v4(i + 1), mac), 0);
	assert_int_equal(nic_connect(w->nic[i], &f, w->nic[w->n], &w->flow[i]), 0);
	actor_poke(&w->actor[i]);
}

static void up(struct world *w, unsigned senders, unsigned gbps, const struct cc_config *cc)
{
	*w = (struct world){.n = senders};
	vclock_init(&w->clock);
	make_switch(w, gbps);
	for (unsigned i = 0; i <= senders; i++)
		make_nic(w, i, cc);
	for (unsigned i = 0; i < senders; i++)
		join(w, i);
}

static void down(struct world *w)
{
	for (unsigned i = 0; i <= w->n; i++)
		nic_destroy(w->nic[i]);
	switch_destroy(w->sw);
	for (unsigned i = 0; i <= w->n; i++)
		wire_destroy(w->wire[i]);
	policy_destroy(w->policy);
	config_destroy(w->config);
	vclock_fini(&w->clock);
	assert_int_equal(rte_mempool_avail_count(pool), POOL);
}

struct settled {
	double share[MAX_SENDERS], jain, mean_queue, used, marked; // shares of the line
	uint64_t pauses, cnps;
};

static uint64_t sent(const struct world *w, unsigned i)
{
	return nic_flow_status(w->nic[i], w->flow[i]).tx_bytes;
}

static uint64_t pauses(const struct world *w)
{
	uint64_t n = 0;

	for (unsigned i = 0; i <= w->n; i++)
		n += ctr_get(&switch_pfc_tx(w->sw, i)->stats[CLS].frames);
	return n;
}

// What holds between two instants, the queue read every microsecond.
static struct settled settle(struct world *w, uint64_t from_ns, uint64_t to_ns)
{
	const struct queue_counters *q = switch_queue_counters(w->sw, w->n, CLS);
	uint64_t first[MAX_SENDERS], marked, packets, bytes, sum = 0, n = 0;
	struct settled s = {0};
	double square = 0, all = 0, line;

	assert_int_equal(vclock_run_until(&w->clock, from_ns), 0);
	line = (double)wire_speed(w->wire[0]) / 8e9 * (double)(to_ns - from_ns);
	for (unsigned i = 0; i < w->n; i++)
		first[i] = sent(w, i);
	marked = ctr_get(&q->ecn_marked);
	packets = ctr_get(&q->tx_packets);
	bytes = ctr_get(&q->tx_bytes);
	for (uint64_t t = from_ns; t < to_ns; t += US, n++) {
		assert_int_equal(vclock_run_until(&w->clock, t), 0);
		sum += gauge_get(&q->length_bytes);
	}
	for (unsigned i = 0; i < w->n; i++) {
		double x = (double)(sent(w, i) - first[i]) * 1106 / 1082;

		s.share[i] = x / line;
		all += x;
		square += x * x;
	}
	packets = ctr_get(&q->tx_packets) - packets;
	s.jain = all * all / (w->n * square);
	s.mean_queue = (double)sum / (double)n;
	s.used = ((double)(ctr_get(&q->tx_bytes) - bytes) + 24 * (double)packets) / line;
	s.marked = (double)(ctr_get(&q->ecn_marked) - marked) / (double)packets;
	s.pauses = pauses(w);
	for (unsigned i = 0; i < w->n; i++)
		s.cnps += nic_flow_status(w->nic[i], w->flow[i]).cnps;
	print_message("queue %.0f, used %.4f, marked %.4f, Jain %.4f, %" PRIu64 " PAUSE, %" PRIu64
		      " CNPs\n",
		      s.mean_queue, s.used, s.marked, s.jain, s.pauses, s.cnps);
	return s;
}

static void between(const char *what, double v, double lo, double hi)
{
	if (v < lo || v > hi)
		fail_msg("%s is %.4f, outside %.4f .. %.4f", what, v, lo, hi);
}

// Fixed point for 5 Gb/s each: p = 0.49 % of frames marked, at 5 KB + p / 1 % * 195 KB = 100 KB. A
// model of its own, packet by packet with real numbers, gave a mean of 84 to 88 KB with eight
// senders of that rate, and 124 KB where the end of a window makes no CNP: the rates then fall a
// little less often, and the line is never idle.
static void two_senders_share_a_line_and_the_queue_stands_near_the_fixed_point(void **state)
{
	static const struct {
		uint8_t np; // enum np_mode
		double queue_from, queue_to, used;
	} rows[] = {{NP_WINDOW, 75e3, 110e3, 0.985}, {NP_GAP, 100e3, 140e3, 0.998}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cc_config cc = cc_preset_find("paper")->config;
		struct settled s;
		struct world w;

		cc.np = rows[i].np;
		up(&w, 2, 10, &cc);
		s = settle(&w, 60 * MS, 160 * MS);
		down(&w);
		between("share of 0", s.share[0], 0.47, 0.53);
		between("share of 1", s.share[1], 0.47, 0.53);
		between("utilisation", s.used, rows[i].used, 1.0001);
		between("mean queue", s.mean_queue, rows[i].queue_from, rows[i].queue_to);
		between("marked", s.marked, 0.004, 0.025);
		assert_int_equal(s.pauses, 0);
		assert_true(s.cnps > 500);
	}
}

static void without_dcqcn_pfc_alone_holds_them_back(void **state)
{
	struct settled s;
	struct world w;

	(void)state;
	up(&w, 2, 10, &cc_preset_find("none")->config);
	s = settle(&w, 10 * MS, 20 * MS);
	down(&w);
	between("utilisation", s.used, 0.99, 1.0001);
	assert_true(s.mean_queue > 1e6 && s.pauses > 10 && s.cnps == 0);
}

static void a_run_repeats_to_the_byte(void **state)
{
	struct settled s[2];
	struct world w;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		memset(&s[i], 0, sizeof(s[i]));
		up(&w, 2, 10, &cc_preset_find("connectx")->config);
		s[i] = settle(&w, 2 * MS, 8 * MS);
		down(&w);
	}
	assert_memory_equal(&s[0], &s[1], sizeof(s[0]));
}

static int start(void **state)
{
	char *argv[] = {(char[]){"test"},	    (char[]){"--no-huge"},
			(char[]){"--no-shconf"},    (char[]){"--no-pci"},
			(char[]){"--no-telemetry"}, (char[]){"-m"},
			(char[]){"256"},	    (char[]){"--log-level=4"}};

	(void)state;
	if (eal_init_unbound(8, argv) < 0)
		return -1;
	pool = rte_pktmbuf_pool_create("equilibrium", POOL, 0, 0, RTE_PKTMBUF_HEADROOM + SNAP,
				       SOCKET_ID_ANY);
	return pool == NULL ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			two_senders_share_a_line_and_the_queue_stands_near_the_fixed_point),
		cmocka_unit_test(without_dcqcn_pfc_alone_holds_them_back),
		cmocka_unit_test(a_run_repeats_to_the_byte),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
