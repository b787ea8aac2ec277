// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/observe/fake_switch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "control/autoecn/agent.h"
#include "dataplane/switch_impair.h"

struct weir_switch *fake_switch_create(void)
{
	struct weir_switch *sw = calloc(1, sizeof(*sw));
	struct policy *p = calloc(1, sizeof(*p) + FAKE_PORTS * sizeof(p->ports[0]));

	sw->in.sw = sw;
	sw->place = 1;
	sw->policy = p;
	strcpy(p->name, "sw1");
	p->n_ports = FAKE_PORTS;
	p->n_workers = FAKE_WORKERS;
	p->n_worker_cores = 1;
	p->worker_cores[0] = 5;
	p->cell.bytes = 256;
	for (unsigned i = 0; i < FAKE_PORTS; i++) {
		p->ports[i].name[0] = 'p';
		p->ports[i].name[1] = (char)('1' + i);
		strcpy(p->ports[i].device, "xdp:a\"b\\");
		p->ports[i].classify.lossless = 1 << 3;
		for (uint8_t c = 0; c < N_CLASSES; c++) {
			p->ports[i].classify.class_to_queue[c] = c;
			p->ports[i].classify.class_to_pg[c] = c;
		}
		p->ports[i].watchdog = (struct watchdog_params){
			.classes = 1 << 3, .mode = WATCHDOG_PROGRESS, .action = WATCHDOG_FORWARD,
			.then = WATCHDOG_PORT_DOWN, .detect_ns = 100000000,
			.restore_ns = 200000000, .limit_count = 30, .limit_window_ns = 20000000000};
		sw->port[i].status[3] = WATCHDOG_OPERATIONAL;
	}
	p->vlan_aware = true;
	p->vlan_exists[0] = 1 << 10;
	p->svis = &sw->svi;
	p->svi_of_vlan = sw->svi_of_vlan;
	p->n_svis = 1;
	sw->svi_of_vlan[10] = IFACE_SVI;
	sw->svi = (struct policy_svi){.name = "vlan10", .vid = 10, .mtu = 1500, .n_addrs = 1};
	sw->svi.addrs[0] =
		(struct policy_addr){.family = FAMILY_V4, .len = 24, .ip = {10, 0, 10, 1}};
	p->ports[0].vlan.untagged = 10;
	p->ports[1].vlan.tagged[0] = 1 << 10;
	p->ports[1].punts = 1 << PUNT_LLDP;
	strcpy(sw->guard_group[0], "up");
	p->guard_groups = sw->guard_group;
	p->n_guard_groups = 1;
	p->ports[0].guard = (struct guard_params){
		.group = 1, .n_rules = 1, .rules = {{.dscp = 26, .to_class = 4, .to_dscp = 34}}};
	return sw;
}

void fake_switch_destroy(struct weir_switch *sw)
{
	free(sw->flows.rows);
	free(sw->policy);
	free(sw);
}

const char *const pool_name[N_POOLS] = {"ingress", "headroom", "egress_lossy",
				       "egress_lossless"};

const struct policy *switch_policy(const struct weir_switch *sw)
{
	return sw->policy;
}

unsigned switch_n_workers(const struct weir_switch *sw)
{
	(void)sw;
	return FAKE_WORKERS;
}

unsigned switch_port_owner(const struct weir_switch *sw, unsigned port)
{
	(void)sw;
	return port % FAKE_WORKERS;
}

const struct switch_port *switch_port(const struct weir_switch *sw, unsigned port)
{
	return &sw->sp[port];
}

void switch_drv_stats(const struct weir_switch *sw, unsigned port, struct port_drv_stats *out)
{
	*out = sw->port[port].drv;
}

unsigned switch_drv_reasons(const struct weir_switch *sw, unsigned port, struct port_reason *out,
			    unsigned n)
{
	assert(n > 0);
	out[0] = (struct port_reason){.name = PORT_REASON_LLDP, .help = "LLDP",
				      .frames = sw->port[port].drv.rx_to_kernel};
	return 1;
}

bool switch_device_gone(const struct weir_switch *sw, unsigned port)
{
	(void)sw;
	return port == 1;
}

bool switch_tx_enabled(const struct weir_switch *sw, unsigned port, int queue)
{
	(void)sw;
	return port != 1 || queue != 7;
}

bool switch_link_up(const struct weir_switch *sw, unsigned port)
{
	(void)sw;
	return port == 0;
}

enum loop_state switch_loop_state(const struct weir_switch *sw, unsigned port)
{
	(void)sw;
	return port == 0 ? LOOP_NONE : LOOP_PORT_DOWN;
}

struct balance switch_balance(const struct weir_switch *sw)
{
	return sw->balance;
}

const struct worker_counters *switch_worker_counters(const struct weir_switch *sw, unsigned worker)
{
	return &sw->worker[worker];
}

const struct port_counters *switch_port_counters(const struct weir_switch *sw, unsigned port)
{
	return &sw->port[port].c;
}

const struct queue_counters *switch_queue_counters(const struct weir_switch *sw, unsigned port,
						   unsigned queue)
{
	return &sw->port[port].queue[queue];
}

const struct pg_counters *switch_pg_counters(const struct weir_switch *sw, unsigned port,
					     unsigned pg)
{
	return &sw->port[port].pg_counters[pg];
}

const struct pg_state *switch_pg_state(const struct weir_switch *sw, unsigned port, unsigned pg)
{
	return &sw->port[port].pg[pg];
}

const struct drop_counters *switch_drops(const struct weir_switch *sw, unsigned port, unsigned cls,
					 enum drop_reason reason)
{
	return &sw->port[port].drops[cls][reason];
}

const struct pfc_rx_state *switch_pfc_rx(const struct weir_switch *sw, unsigned port)
{
	return &sw->port[port].pfc_rx;
}

const struct pfc_tx_state *switch_pfc_tx(const struct weir_switch *sw, unsigned port)
{
	return &sw->port[port].pfc_tx;
}

bool switch_queue_paused(const struct weir_switch *sw, unsigned port, unsigned queue)
{
	(void)sw;
	return port == 0 && queue == 3;
}

uint64_t switch_watermark(const struct weir_switch *sw, unsigned port, enum watermark which,
			  unsigned i)
{
	const struct pg_state *pg = &sw->port[port].pg[i];

	return which == WATERMARK_QUEUE	   ? gauge_get(&sw->port[port].queue[i].max_bytes)
	       : which == WATERMARK_SHARED ? gauge_get(&pg->max_shared)
					   : gauge_get(&pg->max_headroom);
}

unsigned switch_microburst_records(struct weir_switch *sw, struct microburst_record *out,
				   unsigned n)
{
	unsigned k = sw->n_microbursts < n ? sw->n_microbursts : n;

	memcpy(out, sw->microbursts, k * sizeof(out[0]));
	sw->n_microbursts = 0;
	return k;
}

bool switch_impair_get(const struct weir_switch *sw, unsigned i, struct impair_view *out)
{
	static const struct impair_rule rule = {.action_text = "drop"};

	(void)sw;
	*out = (struct impair_view){.rule = &rule, .id = 1};
	return i == 0;
}

uint64_t switch_microburst_records_lost(const struct weir_switch *sw)
{
	return sw->microbursts_lost;
}

struct pool_use switch_pool(const struct weir_switch *sw, enum pool_id pool)
{
	(void)sw;
	return (struct pool_use){.size = 1000, .used = 10 + pool, .max = 20};
}

void switch_fdb_walk(struct weir_switch *sw, uint64_t now_ns,
		     void (*fn)(void *arg, const struct fdb_row *row), void *arg)
{
	const struct fdb_row row = {.mac = {2, 0, 0, 0, 0, 1}, .vid = 10, .port = sw->place};

	(void)now_ns;
	fn(arg, &row);
}

const struct fdb_port *switch_fdb_port(const struct weir_switch *sw, unsigned port)
{
	return port < FAKE_PORTS ? &sw->port[port].fdb : &sw->behind;
}

uint64_t switch_events_lost(const struct weir_switch *sw)
{
	return sw->events_lost;
}

const struct watchdog_class *switch_watchdog(const struct weir_switch *sw, unsigned port,
					     unsigned cls)
{
	return &sw->port[port].watchdog[cls];
}

enum watchdog_status switch_watchdog_status(const struct weir_switch *sw, unsigned port,
					    unsigned cls)
{
	return sw->port[port].status[cls];
}

bool switch_admission_held(const struct weir_switch *sw)
{
	return sw->held;
}

bool switch_watchdog_drops_all(const struct weir_switch *sw)
{
	return sw->drops_all;
}

uint64_t switch_pause_ignored(const struct weir_switch *sw, unsigned port)
{
	return sw->port[port].pause_ignored;
}

uint64_t switch_guard_remapped(const struct weir_switch *sw, unsigned port, unsigned rule)
{
	return sw->port[port].remapped[rule];
}

struct pause_cause switch_pause_cause(const struct weir_switch *sw, unsigned port, unsigned pg)
{
	return sw->port[port].last[pg];
}

struct pause_cause switch_cause_now(const struct weir_switch *sw, unsigned port, unsigned pg)
{
	return sw->port[port].now[pg];
}

// ---- flows

const struct ipcc_counters *switch_ipcc(const struct weir_switch *sw, unsigned port, unsigned queue)
{
	return sw->port[port].notifies[queue] ? &sw->port[port].ipcc[queue] : NULL;
}

const struct flow_port *switch_flow_port(const struct weir_switch *sw, unsigned port)
{
	return &sw->port[port].flow_port;
}

const struct port_flow_counters *switch_port_flows(const struct weir_switch *sw, unsigned port)
{
	return &sw->port[port].flows;
}

void switch_flow_totals(const struct weir_switch *sw, struct flow_totals *out)
{
	*out = sw->flows.totals;
}

void switch_vxlan_peer(const struct weir_switch *sw, unsigned peer,
		       struct vxlan_peer_counters *out)
{
	*out = sw->tunnel[peer];
}

void switch_vxlan_totals(const struct weir_switch *sw, struct vxlan_counters *out)
{
	*out = sw->tunnels;
}

uint32_t switch_flows_places(const struct weir_switch *sw)
{
	return sw->flows.n;
}

void switch_flows_look(struct weir_switch *sw, const struct flows_look *look)
{
	struct fake_flows *f = &sw->flows;

	if (look->n > f->most_at_once)
		f->most_at_once = look->n;
	for (uint32_t i = look->first; i < look->first + look->n && i < f->n; i++) {
		struct flow_row row = f->rows[i];

		if (row.key.w[4] == 0)
			continue;
		f->whys += look->why;
		row.reason = look->why ? row.reason : NULL;
		look->fn(look->arg, i, &row);
	}
}

unsigned switch_cnp_records(struct weir_switch *sw, struct cnp_record *out, unsigned n)
{
	struct fake_flows *f = &sw->flows;

	n = n < f->n_records ? n : f->n_records;
	memcpy(out, f->records, n * sizeof(out[0]));
	f->n_records -= n;
	memmove(f->records, f->records + n, f->n_records * sizeof(out[0]));
	return n;
}

uint64_t switch_cnp_records_lost(const struct weir_switch *sw)
{
	return sw->flows.records_lost;
}

int switch_order_pair(struct weir_switch *sw, const struct known_pair *k)
{
	sw->flows.told = *k;
	return sw->flows.tell_err;
}

bool switch_pair_orders_done(const struct weir_switch *sw, uint64_t *found)
{
	*found = sw->flows.found;
	return sw->flows.taken;
}

// As in dataplane/switch.c.
uint64_t residence_bucket_max(unsigned b)
{
	unsigned log2 = b / RESIDENCE_SUB + 1;

	if (b < RESIDENCE_SUB)
		return b;
	return ((uint64_t)(b % RESIDENCE_SUB + RESIDENCE_SUB + 1) << (log2 - 2)) - 1;
}

// One queue has auto ECN.
bool autoecn_view(const struct autoecn *a, unsigned port, unsigned queue, struct autoecn_view *out)
{
	(void)a;
	*out = (struct autoecn_view){.on = true, .mode = ECN_MODEL, .row = "web",
				     .now = {5000, 20000, 200000},
				     .advice = {5000, 20000, 200000},
				     .features = {.flows = ECN_UNKNOWN, .elephants = ECN_UNKNOWN,
						  .fairness = ECN_UNKNOWN}};
	return port == 0 && queue == 3;
}
