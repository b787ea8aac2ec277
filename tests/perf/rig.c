// SPDX-License-Identifier: Apache-2.0
#include "tests/perf/rig.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mempool.h>

#include "control/config/config.h"
#include "control/config/port_open.h"
#include "dataplane/policy.h"
#include "dataplane/port_ops.h"
#include "dataplane/roce/pairing.h"
#include "dataplane/switch_zones.h"
#include "tests/perf/traffic.h"

enum {
	CELL_BYTES = 256,
	MB = 1 << 20,
	LEAST_BUFFER_MB = 12,
	TABLES_BYTES = 64 << 20,
	FRAME_RECORD_BYTES = 64,
	SEED = 1,
};

__attribute__((format(printf, 2, 3))) static int failed(int err, const char *fmt, ...)
{
	va_list ap;

	fputs("weir-bench: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return err;
}

// ---- the policy

// With alpha 8 two groups of u cells each stay below XOFF while 2.125 u fit into the ingress pool,
// which is the buffer less the headrooms. A third more leaves room for those.
static uint32_t buffer_mb(const struct rig_conf *c)
{
	uint64_t cells = (c->frame_bytes + CELL_BYTES - 1) / CELL_BYTES;
	uint64_t bytes = cells * CELL_BYTES * c->standing * c->n_ports * 4 / 3;

	return LEAST_BUFFER_MB + (uint32_t)(bytes / MB);
}

static void put_head(FILE *f, const struct rig_conf *c)
{
	fprintf(f, "switch: {name: bench, workers: %u, buffer: {size: %uMB, cell: %uB}, ",
		c->n_workers, buffer_mb(c), CELL_BYTES);
	if (c->microbursts != NULL)
		fprintf(f, "microbursts: {window: %s}, ", c->microbursts);
	fprintf(f, "flows: {max: %u}, elephants: %s}\nports:\n", c->flow_table,
		c->elephants ? "on" : "off");
	for (unsigned i = 0; i < c->n_ports; i++) {
		fprintf(f, "  - {name: p%u, device: \"%s\", speed: 400G, profile: bench", i,
			c->devices[i]);
		if (c->vxlan && i % 2 != 0)
			fprintf(f, ", mtu: 1600, ip: 192.168.%u.1/24", i + 1);
		else if (c->vxlan)
			fputs(", vlan: {untagged: 1}", f);
		else if (c->svis)
			fprintf(f, ", vlan: {untagged: %u}", i + 1);
		else if (c->next_hops != 0)
			fprintf(f, ", ip: 192.168.%u.1/24", i + 1);
		if (!c->vxlan && c->frame_bytes > TRAFFIC_SHORT_FRAME)
			fprintf(f, ", mtu: %u", c->frame_bytes - ETH_HLEN_);
		fputs("}\n", f);
	}
}

static void put_vlans(FILE *f, const struct rig_conf *c)
{
	fputs("vlans:\n", f);
	for (unsigned i = 0; i < c->n_ports; i++) {
		uint8_t m[6];

		traffic_port_mac(i, m);
		fprintf(f, "  - {id: %u, ip: 192.168.%u.1/24, ", i + 1, i + 1);
		fprintf(f, "mac: \"%02x:%02x:%02x:%02x:%02x:%02x\"}\n", m[0], m[1], m[2], m[3],
			m[4], m[5]);
	}
	fputs("fdb:\n", f);
	for (unsigned i = 0; i < c->n_ports; i++)
		for (uint32_t k = 0; k < c->next_hops; k++)
			fprintf(f, "  - {mac: \"02:00:%02x:00:00:%02x\", port: p%u}\n",
				i + 1, k, i);
}

// The hosts of a port are behind its next hops.
static void put_routes(FILE *f, const struct rig_conf *c)
{
	fputs("routes:\n", f);
	for (unsigned i = 0; i < c->n_ports; i++) {
		fprintf(f, "  - {to: 10.%u.0.0/16, via: [", i + 1);
		for (uint32_t k = 0; k < c->next_hops; k++)
			fprintf(f, "%s192.168.%u.%u", k > 0 ? ", " : "", i + 1, k + 2);
		fputs("]}\n", f);
	}
	fputs("neighbours:\n", f);
	for (unsigned i = 0; i < c->n_ports; i++)
		for (uint32_t k = 0; k < c->next_hops; k++)
			fprintf(f,
				"  - {ip: 192.168.%u.%u, mac: \"02:00:%02x:00:00:%02x\"}\n", i + 1,
				k + 2, i + 1, k);
}

static void put_tunnels(FILE *f, const struct rig_conf *c)
{
	fprintf(f, "vlans: [{id: 1}]\nvxlan: {source: 192.168.2.1, vnis: {%u: {vlan: 1, peers: [",
		TRAFFIC_VNI);
	for (unsigned i = 1; i < c->n_ports; i += 2)
		fprintf(f, "%s192.168.%u.2", i > 1 ? ", " : "", i + 1);
	fputs("]}}}\nneighbours:\n", f);
	for (unsigned i = 1; i < c->n_ports; i += 2)
		fprintf(f, "  - {ip: 192.168.%u.2, mac: \"02:00:%02x:00:00:00\"}\n", i + 1, i + 1);
}

static void put_hosts(FILE *f, const struct rig_conf *c, unsigned port, uint32_t n)
{
	char at[32];

	snprintf(at, sizeof(at), c->vxlan && port % 2 != 0 ? "192.168.%u.2, vlan: 1" : "p%u",
		 c->vxlan && port % 2 != 0 ? port + 1 : port);
	for (uint32_t host = 0; host < n; host++) {
		uint8_t m[6];

		traffic_mac(port, host, m);
		fprintf(f, "  - {mac: \"%02x:%02x:%02x:%02x:%02x:%02x\", port: %s}\n", m[0], m[1],
			m[2], m[3], m[4], m[5], at);
	}
}

// Everything on: a lossless class with PFC and ECN at departure, a strict one for CNPs, the rest by
// weight, all below the port's shaper.
static const char profile[] =
	"profiles:\n"
	"  bench:\n"
	"    trust: dscp\n"
	"    pfc: {rx: on, tx: on}\n"
	"    dscp_to_class: {default: 0, 24-31: 3, 48-55: 6}\n"
	"    classes:\n"
	"      0: {schedule: {dwrr: 40}}\n"
	"      3:\n"
	"        lossless: true\n"
	"        schedule: {dwrr: 60}\n"
	"        ingress: {min: 18KB, alpha: 8, xon_offset: 18KB, headroom: auto}\n"
	"        wred: {ecn: on, kmin: 150KB, kmax: 1500KB, pmax: 100%}\n"
	"      6: {schedule: strict}\n";

char *rig_policy_text(const struct rig_conf *conf)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NULL;
	put_head(f, conf);
	if (conf->svis)
		put_vlans(f, conf);
	if (conf->vxlan)
		put_tunnels(f, conf);
	if (conf->next_hops != 0)
		put_routes(f, conf);
	else
		fputs("fdb:\n", f);
	for (unsigned i = 0; i < conf->n_ports && conf->next_hops == 0; i++)
		put_hosts(f, conf, i, conf->n_macs);
	fputs(profile, f);
	if (conf->profile_key != NULL)
		fprintf(f, "    %s\n", conf->profile_key);
	return fclose(f) == 0 ? text : NULL;
}

static void print_diags(struct diags *d)
{
	for (unsigned i = 0; i < d->n; i++)
		fprintf(stderr, "%s\n", d->lines[i]);
	diags_fini(d);
}

static int load(struct rig *r)
{
	struct diags diags = {0};
	char *text = rig_policy_text(r->conf);
	int err;

	if (text == NULL)
		return failed(-ENOMEM, "out of memory");
	err = config_parse("bench.yaml", text, strlen(text), &r->config, &diags);
	free(text);
	print_diags(&diags);
	return err;
}

static int compile(const struct rig *r, const struct port_facts *facts, struct policy **out)
{
	struct diags diags = {0};
	int err = config_compile(r->config, facts, out, &diags);

	if (err != 0)
		print_diags(&diags);
	else
		diags_fini(&diags);
	return err;
}

// ---- memory and ports

static uint32_t port_frames(const struct rig *r, unsigned i)
{
	return live_device_frames(r->conf->devices[i], config_port(r->config, i).tx_ring_bytes, 0);
}

// As the daemon plans it, before facts are known.
static int count_frames(const struct rig *r, uint32_t *n_frames)
{
	struct port_facts facts[RIG_MAX_PORTS] = {0};
	struct policy *plan;
	int err;

	for (unsigned i = 0; i < r->conf->n_ports; i++) {
		struct config_port_open p = config_port(r->config, i);

		facts[i] = (struct port_facts){.speed_bps = p.speed_bps, .max_frame = p.max_frame,
					       .rx_ring = port_frames(r, i),
					       .tx_ring_bytes = p.tx_ring_bytes,
					       .rx_depth_readable = true, .pfc_rx = true,
					       .pfc_tx = true};
	}
	err = compile(r, facts, &plan);
	if (err != 0)
		return err;
	*n_frames = switch_max_frames(plan) + r->conf->driver_frames;
	policy_destroy(plan);
	for (unsigned i = 0; i < r->conf->n_ports; i++)
		*n_frames += port_frames(r, i);
	return 0;
}

static int make_memory(struct rig *r)
{
	const struct rig_conf *c = r->conf;
	uint32_t max_frame = config_port(r->config, 0).max_frame, n_frames;
	struct live_text text = {0};
	struct live_eal_conf eal = {.worker_cpus = c->cpus, .n_workers = c->n_workers};
	int err = count_frames(r, &n_frames);

	if (err != 0)
		return err;
	eal.mem_bytes = live_pool_bytes(n_frames, max_frame) + TABLES_BYTES +
			(uint64_t)n_frames * FRAME_RECORD_BYTES * c->n_workers * c->n_workers;
	if (c->flow_table != 0)
		eal.mem_bytes += flow_table_bytes(c->flow_table) + pairing_bytes(c->flow_table);
	err = live_eal_init("weir-bench", &eal, &text);
	if (err == 0)
		err = live_pool_create(n_frames, max_frame, &r->pool, &text);
	fputs(text.note, stderr);
	return err == 0 ? 0 : failed(err, "%s", text.err);
}

static int open_ports(struct rig *r)
{
	for (unsigned i = 0; i < r->conf->n_ports; i++) {
		struct config_port_open p = config_port(r->config, i);
		struct live_conf conf = {.pool = r->pool, .max_frame = p.max_frame, .mtu = p.mtu,
					 .tx_ring_bytes = p.tx_ring_bytes, .keep = &p.keep,
					 .take_over = true};
		struct live_text text = {0};
		int err = live_open(p.device, &conf, &r->ports[i], &text);

		if (err != 0)
			return failed(err, "%s", text.err);
		r->n_open = i + 1;
	}
	return 0;
}

static int compile_policy(struct rig *r)
{
	struct port_facts facts[RIG_MAX_PORTS];

	for (unsigned i = 0; i < r->n_open; i++)
		facts[i] = r->ports[i].facts;
	return compile(r, facts, &r->policy);
}

int rig_open(struct rig *r, const struct rig_conf *conf)
{
	int err;

	*r = (struct rig){.conf = conf};
	err = load(r);
	if (err == 0)
		err = make_memory(r);
	if (err == 0)
		err = open_ports(r);
	if (err == 0)
		err = compile_policy(r);
	if (err == 0)
		clock_start(&r->clock);
	return err;
}

void rig_close(struct rig *r)
{
	switch_destroy(r->sw);
	policy_destroy(r->policy);
	while (r->n_open > 0)
		live_close(&r->ports[--r->n_open]);
	rte_mempool_free(r->pool);
	config_destroy(r->config);
}

// ---- a switch

// All of one zone: initiators behind even ports, targets behind odd ones.
static int set_zones(const struct rig *r)
{
	static const uint16_t zone = 1;
	uint32_t n = r->n_open * r->conf->zoned;
	struct zone_station *all = calloc(n, sizeof(*all));
	int err;

	for (uint32_t i = 0; all != NULL && i < n; i++) {
		unsigned port = i % r->n_open;
		uint32_t flow = i / r->n_open;

		all[i] = (struct zone_station){
			.roles = port % 2 == 0 ? ZONE_INITIATOR : ZONE_TARGET,
			.addr = {.family = FAMILY_V4, .len = 32}, .zones = &zone, .n_zones = 1};
		traffic_mac(port, flow % r->conf->n_macs, all[i].mac);
		be32_put(all[i].addr.ip, traffic_ip(port, flow));
	}
	err = all == NULL ? -ENOMEM : switch_set_zones(r->sw, all, n);
	free(all);
	return err == 0 ? 0 : failed(err, "cannot set zones: %s", strerror(-err));
}

int rig_new_switch(struct rig *r, enum rig_probe probe)
{
	struct switch_port sp[RIG_MAX_PORTS];
	int err;

	switch_destroy(r->sw);
	r->sw = NULL;
	for (unsigned i = 0; i < r->n_open; i++) {
		struct live_port *p = &r->ports[i];
		struct probe *between = &r->probes[i];

		probe_init(between, p->ops, p->drv, i);
		if (probe == RIG_SPREAD)
			probe_spread(between, r->conf->spread);
		if (probe == RIG_OBEYING)
			probe_obey(between);
		sp[i] = (struct switch_port){.ops = p->ops, .drv = p->drv, .facts = p->facts};
		if (probe != RIG_BARE) {
			sp[i].ops = &between->ops;
			sp[i].drv = between;
		}
	}
	err = switch_create(r->policy, sp, r->pool, SEED, &r->sw);
	if (err != 0)
		return failed(err, "cannot make the switch: %s", strerror(-err));
	for (unsigned i = 0; i < r->n_open && probe == RIG_OBEYING; i++)
		r->probes[i].sw = r->sw;
	return r->conf->zoned != 0 ? set_zones(r) : 0;
}
