// SPDX-License-Identifier: Apache-2.0
// weir-lab-bench: what a packet-hop of the lab costs. N NICs send through one switch to one NIC, on
// 40 Gb/s wires, with DCQCN and ECN holding the queue: the equilibrium scenario without weir-lab
// around it. One hop is one frame delivered by one wire. The counts are the same in every
// run; the times are this machine's.
//
//   weir-lab-bench [--senders N] [--ports N] [--ms N] [--cc PRESET] [--pool ring|stack]
//                  [--cache N] [--whole] [--split]
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_mbuf.h>

#include "control/config/config.h"
#include "dataplane/switch.h"
#include "dataplane/worker.h"
#include "drivers/nic/nic.h"
#include "drivers/wire/wire.h"

enum { MAX_PORTS = 64, SNAP = 128, WHOLE = 2048, FIRST_IP = 0x0a000001, PATH_MTU = 1024, CLS = 3,
       WARM_MS = 3 };
static const uint64_t speed_bps = 40000000000, ms_ns = 1000000;

struct options {
	uint64_t senders, ports, ms, cache;
	const char *cc, *pool;
	bool whole, split;
};

struct part {
	uint64_t tsc, n;
};

struct host {
	struct lab *lab;
	struct actor actor;
	struct wire *wire;
	struct nic *nic;
};

struct lab {
	struct options o;
	struct vclock clock;
	struct config *config;
	struct policy *policy;
	struct rte_mempool *pool;
	struct weir_switch *sw;
	struct actor actor;
	struct host host[MAX_PORTS];
	struct part nics, worker;
};

static int failed(const char *what)
{
	fprintf(stderr, "weir-lab-bench: %s\n", what);
	return -1;
}

// ---- the policy

static char *policy_text(const struct options *o)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NULL;
	fputs("switch: {name: bench, buffer: {size: 12MB, cell: 256B}}\nports:\n", f);
	for (unsigned i = 0; i < o->ports; i++)
		fprintf(f, "  - {name: p%u, device: \"vdev:null%u\", speed: 40G, profile: roce}\n",
			i + 1, i);
	fputs("fdb:\n", f);
	for (unsigned i = 0; i < o->ports; i++)
		fprintf(f, "  - {mac: \"02:00:00:00:00:%02x\", port: p%u}\n", i + 1, i + 1);
	fputs("profiles:\n"
	      "  roce:\n"
	      "    trust: dscp\n"
	      "    dscp_to_class: {default: 0, 24-31: 3, 48-55: 6}\n"
	      "    classes:\n"
	      "      0: {schedule: {dwrr: 40}}\n"
	      "      3:\n"
	      "        lossless: true\n"
	      "        schedule: {dwrr: 60}\n"
	      "        ingress: {alpha: 8}\n"
	      "        wred: {ecn: on, kmin: 5KB, kmax: 200KB, pmax: 1%}\n"
	      "      6: {schedule: strict}\n",
	      f);
	return fclose(f) == 0 ? text : NULL;
}

static int report_diags(struct diags *d)
{
	for (unsigned i = 0; i < d->n; i++)
		fprintf(stderr, "%s\n", d->lines[i]);
	diags_fini(d);
	return -1;
}

static int make_policy(struct lab *l, const struct port_facts *facts)
{
	struct diags d = {0};
	char *text = policy_text(&l->o);

	if (text == NULL)
		return failed("out of memory");
	if (config_parse("bench", text, strlen(text), &l->config, &d) != 0 ||
	    config_compile(l->config, facts, &l->policy, &d) != 0) {
		free(text);
		return report_diags(&d);
	}
	config_small_flows(l->config, l->policy);
	free(text);
	diags_fini(&d);
	return 0;
}

// ---- the world

static uint64_t switch_step(void *arg, uint64_t now_ns)
{
	struct lab *l = arg;
	uint64_t wake, start;

	if (!l->o.split)
		return worker_step(switch_worker(l->sw, 0), now_ns);
	start = rte_rdtsc();
	wake = worker_step(switch_worker(l->sw, 0), now_ns);
	l->worker.tsc += rte_rdtsc() - start;
	l->worker.n++;
	return wake;
}

static uint64_t host_step(void *arg, uint64_t now_ns)
{
	struct host *h = arg;
	uint64_t wake, start;

	if (!h->lab->o.split)
		return nic_step(h->nic, now_ns);
	start = rte_rdtsc();
	wake = nic_step(h->nic, now_ns);
	h->lab->nics.tsc += rte_rdtsc() - start;
	h->lab->nics.n++;
	return wake;
}

static int make_wires(struct lab *l, struct switch_port *ports)
{
	const struct wire_conf conf = {.speed_bps = speed_bps, .delay_ns = wire_delay_ns(500)};

	for (unsigned i = 0; i < l->o.ports; i++) {
		const uint8_t mac[6] = {2, 1, 0, 0, 0, (uint8_t)i};
		struct wire_end *end;

		if (wire_create(&l->clock, &conf, &l->host[i].wire) != 0)
			return failed("out of memory");
		end = wire_end(l->host[i].wire, 0);
		ports[i] = (struct switch_port){.ops = &wire_ops, .drv = end,
						.facts = wire_facts(end, mac)};
		wire_end_attach(end, &l->actor);
	}
	return 0;
}

// The operations of rte_pktmbuf_pool_create are rings, first in, first out: every frame of the pool
// takes its turn, and most come from a far cache. Those of a stack give what was freed last: 3 %
// of a hop with 8 senders, 16 % with 63; a thread's cache in front of it another 3 %. They are in a
// plugin that EAL loads, also without huge pages.
static int make_pool(struct lab *l)
{
	char *argv[] = {(char[]){"weir-lab-bench"}, (char[]){"--no-huge"}, (char[]){"--no-shconf"},
			(char[]){"--no-pci"}, (char[]){"--no-telemetry"},
			(char[]){"--log-level=critical"}, (char[]){"-m"}, (char[]){"512"},
			(char[]){"-l"}, (char[]){"0"}};
	uint32_t frames = switch_max_frames(l->policy) + 4096;
	uint16_t room = RTE_PKTMBUF_HEADROOM + (l->o.whole ? WHOLE : SNAP);
	const char *ops = strcmp(l->o.pool, "ring") == 0 ? "ring_mp_mc" : l->o.pool;

	if (rte_eal_init(sizeof(argv) / sizeof(argv[0]), argv) < 0)
		return failed("DPDK does not start");
	l->pool = rte_pktmbuf_pool_create_by_ops("frames", frames, (unsigned)l->o.cache, 0, room,
						 SOCKET_ID_ANY, ops);
	return l->pool == NULL ? failed("no memory for the frames, or no such pool") : 0;
}

static int make_host(struct lab *l, unsigned i)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)(i + 1)};
	const struct cc_preset *cc = cc_preset_find(l->o.cc);
	struct host *h = &l->host[i];
	struct wire_end *end = wire_end(h->wire, 1);
	struct nic_config c;

	nic_config_default(&c);
	c.ops = &wire_ops;
	c.drv = end;
	c.pool = l->pool;
	c.facts = wire_facts(end, mac);
	c.ip = ip_key_v4(FIRST_IP + i);
	c.speed_bps = speed_bps;
	c.seed = i + 1;
	c.snap = l->o.whole ? 0 : SNAP;
	if (cc == NULL)
		return failed("no such preset of DCQCN");
	c.cc = cc->config;
	if (nic_create(&c, &h->nic) != 0)
		return failed("out of memory");
	h->lab = l;
	actor_init(&h->actor, &l->clock, host_step, h);
	wire_end_attach(end, &h->actor);
	return 0;
}

// The last host of the first senders + 1 receives.
static int connect_host(struct lab *l, unsigned i)
{
	unsigned to = (unsigned)l->o.senders;
	const uint8_t macs[2][6] = {{2, 0, 0, 0, 0, (uint8_t)(i + 1)},
				    {2, 0, 0, 0, 0, (uint8_t)(to + 1)}};
	const struct nic_flow f = {.dst_ip = ip_key_v4(FIRST_IP + to), .op = REQ_WRITE, .cls = CLS,
				   .mtu = PATH_MTU, .msg_bytes = 1 << 20, .depth = 2,
				   .start_ns = ms_ns + i * 1000, .first_psn = NIC_RANDOM_PSN};
	uint32_t id;

	if (nic_peer_set(l->host[i].nic, ip_key_v4(FIRST_IP + to), macs[1]) != 0 ||
	    nic_peer_set(l->host[to].nic, ip_key_v4(FIRST_IP + i), macs[0]) != 0 ||
	    nic_connect(l->host[i].nic, &f, l->host[to].nic, &id) != 0)
		return failed("a queue pair cannot be made");
	actor_poke(&l->host[i].actor);
	return 0;
}

static int make_lab(struct lab *l)
{
	struct switch_port ports[MAX_PORTS];
	struct port_facts facts[MAX_PORTS];

	vclock_init(&l->clock);
	actor_init(&l->actor, &l->clock, switch_step, l);
	if (make_wires(l, ports) != 0)
		return -1;
	for (unsigned i = 0; i < l->o.ports; i++)
		facts[i] = ports[i].facts;
	if (make_policy(l, facts) != 0 || make_pool(l) != 0)
		return -1;
	if (switch_create(l->policy, ports, l->pool, 1, &l->sw) != 0)
		return failed("no memory for the switch");
	for (unsigned i = 0; i < l->o.ports; i++)
		if (make_host(l, i) != 0)
			return -1;
	for (unsigned i = 0; i < l->o.senders; i++)
		if (connect_host(l, i) != 0)
			return -1;
	actor_poke(&l->actor);
	return 0;
}

static void destroy_lab(struct lab *l)
{
	switch_destroy(l->sw);
	for (unsigned i = 0; i < l->o.ports; i++) {
		nic_destroy(l->host[i].nic);
		wire_destroy(l->host[i].wire);
	}
	vclock_fini(&l->clock);
	policy_destroy(l->policy);
	config_destroy(l->config);
	rte_mempool_free(l->pool);
}

// ---- the measurement

static uint64_t hops(const struct lab *l)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < 2 * l->o.ports; i++)
		n += wire_counts(wire_end(l->host[i / 2].wire, i % 2)).delivered;
	return n;
}

static bool balanced(const struct lab *l)
{
	struct balance x = switch_balance(l->sw);

	for (unsigned i = 0; i < 2 * l->o.ports; i++) {
		struct wire_counts c = wire_counts(wire_end(l->host[i / 2].wire, i % 2));

		if (!wire_balanced(&c))
			return false;
	}
	return x.received + x.generated + x.replicated ==
	       x.transmitted + x.consumed + x.dropped + x.queued;
}

// A round is a virtual millisecond. Whatever else runs on the machine can only add to one.
struct rounds {
	uint64_t n, hops, tsc; // all of them
	double least_tsc; // per hop, in the best one
};

static double ns_of(double tsc)
{
	return tsc / (double)rte_get_tsc_hz() * 1e9;
}

static void report(const struct lab *l, const struct rounds *r)
{
	double h = (double)r->hops, mean = ns_of((double)r->tsc) / h, least = ns_of(r->least_tsc);
	double nics = ns_of((double)l->nics.tsc), worker = ns_of((double)l->worker.tsc);
	struct nic_stats s;

	s = *nic_stats_now(l->host[l->o.senders].nic);
	printf("hops %" PRIu64 "\nmarked %" PRIu64 "\ncnps %" PRIu64 "\n", r->hops,
	       s.cls[CLS].ce_marked, s.cnps_sent);
	printf("goodput_bytes %" PRIu64 "\n", s.cls[CLS].goodput_bytes);
	printf("events_per_hop %.2f\nsteps_per_hop %.2f\n", (double)l->clock.n_events / h,
	       (double)l->clock.n_steps / h);
	printf("ns_per_hop %.1f\nMhops_per_s %.3f\nleast_ns_per_hop %.1f\nmost_Mhops_per_s %.3f\n",
	       mean, 1e3 / mean, least, 1e3 / least);
	if (!l->o.split)
		return;
	printf("nics_ns_per_hop %.1f\nnics_ns_per_step %.1f\n", nics / h,
	       nics / (double)l->nics.n);
	printf("worker_ns_per_hop %.1f\nworker_ns_per_step %.1f\n", worker / h,
	       worker / (double)l->worker.n);
	printf("clock_ns_per_hop %.1f\n", mean - (nics + worker) / h);
}

static int run_for(struct lab *l, uint64_t ms)
{
	if (vclock_run_until(&l->clock, l->clock.now_ns + ms * ms_ns) != 0)
		return failed("the clock does not run");
	return 0;
}

static int measure(struct lab *l)
{
	struct rounds r = {0};

	if (run_for(l, WARM_MS) != 0)
		return -1;
	l->clock.n_events = l->clock.n_steps = 0;
	l->nics = l->worker = (struct part){0};
	for (; r.n < l->o.ms; r.n++) {
		uint64_t before = hops(l), tsc = rte_rdtsc(), n;
		double per_hop;

		if (run_for(l, 1) != 0)
			return -1;
		tsc = rte_rdtsc() - tsc;
		n = hops(l) - before;
		per_hop = (double)tsc / (double)n;
		if (r.n == 0 || per_hop < r.least_tsc)
			r.least_tsc = per_hop;
		r.hops += n;
		r.tsc += tsc;
	}
	report(l, &r);
	return balanced(l) ? 0 : failed("frames are missing from the books");
}

// ---- arguments

static int usage(void)
{
	fputs("usage: weir-lab-bench [--senders N] [--ports N] [--ms N] [--cc PRESET]\n"
	      "                      [--pool ring|stack] [--cache N] [--whole] [--split]\n",
	      stderr);
	return 2;
}

static bool parse_number(const char *text, uint64_t *out)
{
	char *end;

	*out = strtoull(text, &end, 10);
	return *text != '\0' && *end == '\0';
}

static bool parse_args(int argc, char **argv, struct options *o)
{
	const struct {
		const char *name;
		uint64_t *number;
		const char **text;
		bool *flag;
	} rows[] = {
		{"--senders", .number = &o->senders}, {"--ports", .number = &o->ports},
		{"--ms", .number = &o->ms},	      {"--cc", .text = &o->cc},
		{"--pool", .text = &o->pool},	      {"--cache", .number = &o->cache},
		{"--whole", .flag = &o->whole},
		{"--split", .flag = &o->split},
	};

	for (int i = 1; i < argc; i++) {
		unsigned r = 0;

		while (r < sizeof(rows) / sizeof(rows[0]) && strcmp(argv[i], rows[r].name) != 0)
			r++;
		if (r == sizeof(rows) / sizeof(rows[0]))
			return false;
		if (rows[r].flag != NULL)
			*rows[r].flag = true;
		else if (++i == argc)
			return false;
		else if (rows[r].text != NULL)
			*rows[r].text = argv[i];
		else if (!parse_number(argv[i], rows[r].number))
			return false;
	}
	if (o->ports <= o->senders)
		o->ports = o->senders + 1;
	return o->senders != 0 && o->ports <= MAX_PORTS && o->ms != 0;
}

int main(int argc, char **argv)
{
	static struct lab l = {.o = {.senders = 8, .ms = 20, .cc = "paper", .pool = "stack",
					.cache = 256}};
	int err;

	if (!parse_args(argc, argv, &l.o))
		return usage();
	err = make_lab(&l);
	if (err == 0)
		err = measure(&l);
	destroy_lab(&l);
	(void)rte_eal_cleanup();
	return err == 0 ? 0 : 1;
}
