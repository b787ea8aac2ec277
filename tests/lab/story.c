// SPDX-License-Identifier: Apache-2.0
// weir-story: an act of scripts/run on virtual wires, for machines where no live port can be had.
// The same dataplane and the same endpoints (drivers/nic) as live, two senders on ports 1 and 2 and
// the receiver on port 3, on the virtual clock. Prints one JSON object: samples as `weirctl show
// ... --json` gives them, and what the endpoints counted. It judges nothing; scripts/netlab does,
// as for a live run.
//
// Times are those of a live run at the time scale of the policy: they become model time, so both
// worlds play the same.
//
//   weir-story POLICY.yaml [seconds=8] [qps=4] [depth=16] [window=1024] [size=65536] [rto_ms=3000]
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>
#include <rte_eal.h>
#include <rte_mbuf.h>

#include "control/config/config.h"
#include "control/model_time.h"
#include "control/observe/observe.h"
#include "dataplane/worker.h"
#include "drivers/nic/nic.h"
#include "drivers/wire/wire.h"

enum {
	N_HOSTS = 3,
	RECEIVER = 2,
	MAX_QPS = 64,
	SPARE_FRAMES = 8192, // of the wires and the endpoints
	FRAME_ROOM = 2048 + RTE_PKTMBUF_HEADROOM,
	FRAME_MEMORY = 2560, // with all that a pool puts around it
	TABLES_MB = 96,
	PATH_MTU = 1024,
	EXIT_MISUSED = 2,
};

#define MS 1000000ull
// Of real time in a live run.
static const uint64_t start_ns = 1 * MS, control_every_ns = 10 * MS, sample_every_ns = 500 * MS;
static const uint64_t drain_ns = 20000 * MS, rest_ns = 1000 * MS, retry_ns = 100 * MS;
static const uint32_t first_ip = 0x0a000001; // of host 1
static const uint8_t classes[] = {3, 5}; // of the queue pairs, in turns

struct plan {
	uint64_t seconds, qps, depth, window, size, rto_ms;
};

struct host {
	struct wire *wire;
	struct actor actor;
	struct nic *nic;
	uint32_t flows[MAX_QPS];
	uint32_t n_flows;
};

struct story {
	struct plan plan;
	struct vclock clock;
	struct config *config;
	struct policy *policy;
	struct rte_mempool *pool;
	struct weir_switch *sw;
	struct actor actor;
	struct observe *observe;
	struct host host[N_HOSTS];
	uint64_t control_at_ns, sample_at_ns;
	struct json_object *samples;
};

static uint64_t span(const struct story *s, uint64_t live_ns)
{
	return model_span_ns(config_time_scale(s->config), live_ns);
}

static int failed(const char *what)
{
	fprintf(stderr, "weir-story: %s\n", what);
	return -1;
}

// ---- the command line

static int parse_plan(struct plan *p, int argc, char **argv)
{
	const struct {
		const char *key;
		uint64_t *value, max;
	} rows[] = {
		{"seconds=", &p->seconds, 3600}, {"qps=", &p->qps, MAX_QPS},
		{"depth=", &p->depth, REQ_MAX_MSGS}, {"window=", &p->window, NIC_MAX_WINDOW},
		{"size=", &p->size, REQ_MAX_MSG_BYTES}, {"rto_ms=", &p->rto_ms, 3600000},
	};

	*p = (struct plan){8, 4, 16, 1024, 65536, 3000};
	for (int i = 0; i < argc; i++) {
		bool known = false;

		for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
			size_t len = strlen(rows[r].key);
			char *end = NULL;

			if (strncmp(argv[i], rows[r].key, len) != 0)
				continue;
			*rows[r].value = strtoull(argv[i] + len, &end, 10);
			known = end != argv[i] + len && *end == '\0' && *rows[r].value >= 1 &&
				*rows[r].value <= rows[r].max;
		}
		if (!known) {
			fprintf(stderr, "weir-story: cannot use \"%s\"\n", argv[i]);
			return -1;
		}
	}
	return 0;
}

// ---- the world

static uint64_t switch_step(void *arg, uint64_t now_ns)
{
	struct story *s = arg;

	return worker_step(switch_worker(s->sw, 0), now_ns);
}

static uint64_t host_step(void *arg, uint64_t now_ns)
{
	return nic_step(arg, now_ns);
}

static int report_diags(struct diags *d)
{
	for (unsigned i = 0; i < d->n; i++)
		fprintf(stderr, "%s\n", d->lines[i]);
	diags_fini(d);
	return -1;
}

static int make_wires(struct story *s, struct port_facts facts[N_HOSTS])
{
	for (unsigned i = 0; i < N_HOSTS; i++) {
		const uint8_t mac[6] = {2, 0, 0, 0, 1, (uint8_t)(i + 1)};
		const struct wire_conf conf = {.speed_bps = config_port(s->config, i).speed_bps,
					       .delay_ns = wire_delay_ns(500)};

		if (wire_create(&s->clock, &conf, &s->host[i].wire) != 0)
			return failed("out of memory");
		facts[i] = wire_facts(wire_end(s->host[i].wire, 0), mac);
	}
	return 0;
}

static int make_policy(struct story *s, const char *path)
{
	struct port_facts facts[N_HOSTS];
	struct diags d = {0};

	if (config_load(path, &s->config, &d) != 0)
		return report_diags(&d);
	diags_fini(&d);
	if (config_n_ports(s->config) != N_HOSTS || config_n_workers(s->config) != 1)
		return failed("the policy must have three ports and one worker");
	if (make_wires(s, facts) != 0)
		return -1;
	if (config_compile(s->config, facts, &s->policy, &d) != 0)
		return report_diags(&d);
	diags_fini(&d);
	return 0;
}

static int make_memory(struct story *s)
{
	uint32_t frames = switch_max_frames(s->policy) + SPARE_FRAMES;
	char mb[16];
	char *argv[] = {(char[]){"weir-story"}, (char[]){"--no-huge"}, (char[]){"--no-shconf"},
			(char[]){"--no-pci"}, (char[]){"--no-telemetry"},
			(char[]){"--log-level=critical"}, (char[]){"-m"}, mb,
			(char[]){"-l"}, (char[]){"0"}};

	snprintf(mb, sizeof(mb), "%" PRIu64,
		 TABLES_MB + (uint64_t)frames * FRAME_MEMORY / 1000000);
	if (rte_eal_init(sizeof(argv) / sizeof(argv[0]), argv) < 0)
		return failed("DPDK does not start");
	s->pool = rte_pktmbuf_pool_create("frames", frames, 0, 0, FRAME_ROOM, SOCKET_ID_ANY);
	return s->pool == NULL ? failed("not enough memory for the frames") : 0;
}

static int make_switch(struct story *s)
{
	struct switch_port ports[N_HOSTS];

	for (unsigned i = 0; i < N_HOSTS; i++) {
		struct wire_end *end = wire_end(s->host[i].wire, 0);
		const uint8_t mac[6] = {2, 0, 0, 0, 1, (uint8_t)(i + 1)};

		ports[i] = (struct switch_port){.ops = &wire_ops, .drv = end,
						.facts = wire_facts(end, mac)};
		wire_end_attach(end, &s->actor);
	}
	if (switch_create(s->policy, ports, s->pool, 1, &s->sw) != 0 ||
	    observe_create(s->sw, &s->observe) != 0)
		return failed("not enough memory for the switch");
	actor_init(&s->actor, &s->clock, switch_step, s);
	actor_poke(&s->actor);
	return 0;
}

static int make_host(struct story *s, unsigned i)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)(i + 1)};
	struct host *h = &s->host[i];
	struct wire_end *end = wire_end(h->wire, 1);
	struct nic_config c;

	nic_config_default(&c);
	c.ops = &wire_ops;
	c.drv = end;
	c.pool = s->pool;
	c.facts = wire_facts(end, mac);
	c.ip = first_ip + i;
	c.speed_bps = config_port(s->config, i).speed_bps;
	c.max_qps = 2 * MAX_QPS;
	c.window = (uint32_t)s->plan.window;
	c.rto_ns = span(s, s->plan.rto_ms * MS);
	c.retry_ns = span(s, retry_ns);
	c.seed = i + 1;
	c.listen = i == RECEIVER;
	c.verify = true;
	if (nic_create(&c, &h->nic) != 0)
		return failed("not enough memory for the hosts");
	actor_init(&h->actor, &s->clock, host_step, h->nic);
	wire_end_attach(end, &h->actor);
	return 0;
}

static int add_flows(struct story *s, struct host *h)
{
	for (; h->n_flows < s->plan.qps; h->n_flows++) {
		const struct nic_flow f = {
			.dst_ip = first_ip + RECEIVER,
			.op = REQ_WRITE,
			.cls = classes[h->n_flows % sizeof(classes)],
			.mtu = PATH_MTU,
			.msg_bytes = (uint32_t)s->plan.size,
			.depth = (uint32_t)s->plan.depth,
			.start_ns = span(s, start_ns),
			.first_psn = NIC_RANDOM_PSN,
		};

		if (nic_flow_add(h->nic, &f, &h->flows[h->n_flows]) != 0)
			return failed("a queue pair cannot be made");
	}
	actor_poke(&h->actor);
	return 0;
}

static int make_hosts(struct story *s)
{
	for (unsigned i = 0; i < N_HOSTS; i++)
		if (make_host(s, i) != 0 || (i != RECEIVER && add_flows(s, &s->host[i]) != 0))
			return -1;
	return 0;
}

// ---- what is told

static void put(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

static struct json_object *sample(struct story *s)
{
	static const char *const kinds[] = {"ports", "queues", "pfc", "buffers", "drops"};
	struct json_object *out = json_object_new_object();

	json_object_object_add(out, "t", json_object_new_double((double)s->clock.now_ns / 1e9));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct json_object *rows = observe_show(s->observe, kinds[i], OBSERVE_ALL_PORTS,
							s->clock.now_ns);

		json_object_object_foreach(rows, key, list)
			json_object_object_add(out, key, json_object_get(list));
		json_object_put(rows);
	}
	return out;
}

static struct json_object *host_classes(const struct host *h)
{
	struct json_object *list = json_object_new_array();

	for (unsigned c = 0; c < NIC_CLASSES; c++) {
		struct json_object *o = json_object_new_object();

		put(o, "class", c);
		put(o, "rx_pause", ctr_get(&nic_pfc_rx(h->nic)->stats[c].frames));
		json_object_array_add(list, o);
	}
	return list;
}

// The names of weir-host's report.
static struct json_object *host_report(const struct host *h)
{
	struct json_object *o = json_object_new_object();
	uint64_t sent = 0, received = 0, marked = 0;
	struct port_drv_stats drv = {0};
	struct nic_stats n;

	nic_stats(h->nic, &n);
	wire_ops.stats(wire_end(h->wire, 1), &drv);
	for (unsigned c = 0; c < NIC_CLASSES; c++) {
		sent += n.cls[c].tx_packets;
		received += n.cls[c].rx_packets;
		marked += n.cls[c].ce_marked;
	}
	put(o, "packets_sent", sent);
	put(o, "packets_received", received);
	put(o, "ce_marked", marked);
	put(o, "rx_missed", drv.rx_missed);
	put(o, "tx_errors", drv.tx_errors);
	put(o, "tx_frames", n.tx_frames);
	put(o, "rx_frames", n.rx_frames);
	put(o, "messages_posted", n.messages_posted);
	put(o, "messages_completed", n.messages_completed);
	put(o, "retransmissions", n.retransmissions);
	put(o, "acks_sent", n.acks_sent);
	put(o, "acks_received", n.acks_received);
	put(o, "naks_sent", n.naks_sent);
	put(o, "naks_received", n.naks_received);
	put(o, "icrc_errors", n.icrc_errors);
	put(o, "payload_errors", n.payload_errors);
	put(o, "malformed", n.malformed);
	json_object_object_add(o, "classes", host_classes(h));
	json_object_object_add(o, "error", NULL);
	return o;
}

static void print_story(struct story *s)
{
	struct json_object *out = json_object_new_object(), *senders = json_object_new_array();

	for (unsigned i = 0; i < N_HOSTS; i++)
		if (i != RECEIVER)
			json_object_array_add(senders, host_report(&s->host[i]));
	json_object_object_add(out, "samples", s->samples);
	json_object_object_add(out, "final", sample(s));
	json_object_object_add(out, "balance", observe_balance(s->sw));
	json_object_object_add(out, "senders", senders);
	json_object_object_add(out, "receiver", host_report(&s->host[RECEIVER]));
	puts(json_object_to_json_string_ext(out, JSON_C_TO_STRING_PLAIN));
	json_object_put(out);
}

// ---- the run

static bool all_complete(const struct story *s)
{
	for (unsigned i = 0; i < N_HOSTS; i++)
		for (uint32_t f = 0; f < s->host[i].n_flows; f++) {
			struct nic_flow_status st = nic_flow_status(s->host[i].nic,
								    s->host[i].flows[f]);

			if (st.state == FLOW_CONNECTING || st.posted != st.completed)
				return false;
		}
	return true;
}

// Runs to until_ns, or until all messages are complete where that is asked for.
static int run(struct story *s, uint64_t until_ns, bool until_complete)
{
	struct event events[64];

	while (s->clock.now_ns < until_ns && !(until_complete && all_complete(s))) {
		if (vclock_run_until(&s->clock, s->control_at_ns) != 0)
			return failed("out of memory");
		s->control_at_ns += span(s, control_every_ns);
		while (switch_control_step(s->sw, s->clock.now_ns, events, 64) == 64)
			;
		observe_sample(s->observe, s->clock.now_ns);
		if (s->clock.now_ns < s->sample_at_ns)
			continue;
		s->sample_at_ns += span(s, sample_every_ns);
		json_object_array_add(s->samples, sample(s));
	}
	return 0;
}

static void each_flow(struct story *s, void (*act)(struct nic *nic, uint32_t id))
{
	for (unsigned i = 0; i < N_HOSTS; i++) {
		for (uint32_t f = 0; f < s->host[i].n_flows; f++)
			act(s->host[i].nic, s->host[i].flows[f]);
		actor_poke(&s->host[i].actor);
	}
}

static int play(struct story *s)
{
	uint64_t stop_ns = span(s, start_ns + s->plan.seconds * 1000 * MS);

	s->control_at_ns = s->sample_at_ns = span(s, start_ns);
	if (run(s, stop_ns, false) != 0)
		return -1;
	each_flow(s, nic_flow_stop);
	if (run(s, stop_ns + span(s, drain_ns), true) != 0)
		return -1;
	each_flow(s, nic_flow_close);
	return run(s, s->clock.now_ns + span(s, rest_ns), false);
}

static void take_down(struct story *s)
{
	observe_destroy(s->observe);
	switch_destroy(s->sw);
	for (unsigned i = 0; i < N_HOSTS; i++) {
		nic_destroy(s->host[i].nic);
		wire_destroy(s->host[i].wire);
	}
	policy_destroy(s->policy);
	config_destroy(s->config);
	vclock_fini(&s->clock);
	rte_mempool_free(s->pool);
}

int main(int argc, char **argv)
{
	static struct story s;
	bool ok;

	if (argc < 2 || parse_plan(&s.plan, argc - 2, argv + 2) != 0) {
		fputs("usage: weir-story POLICY.yaml [seconds=N] [qps=N] [depth=N] [window=N] "
		      "[size=BYTES] [rto_ms=N]\n", stderr);
		return EXIT_MISUSED;
	}
	s.samples = json_object_new_array();
	vclock_init(&s.clock);
	ok = make_policy(&s, argv[1]) == 0 && make_memory(&s) == 0 && make_switch(&s) == 0 &&
	     make_hosts(&s) == 0 && play(&s) == 0;
	if (ok)
		print_story(&s);
	take_down(&s);
	return ok ? 0 : 1;
}
