// SPDX-License-Identifier: Apache-2.0
// Policies to exact cell numbers, computed by hand in the comments.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/config/config.h"
#include "control/config/port_open.h"
#include "dataplane/policy.h"
#include "dataplane/port_ops.h"
#include "tests/unit/config/compiled.h"

#define G 1000000000ull

static struct config *load(const char *path)
{
	struct config *c = NULL;
	struct diags d = {0};

	if (config_load(path, &c, &d) != 0 || d.n != 0) {
		print_all(&d);
		fail();
	}
	diags_fini(&d);
	return c;
}

static void sample_profile_in_cells(void **state)
{
	struct config *c = load("conf/roce.yaml");
	struct policy *p = compile_with(c, NULL);
	const struct policy_port *pp = &p->ports[2];

	(void)state;
	assert_string_equal(p->name, "sw1");
	assert_int_equal(p->n_ports, 3);
	assert_int_equal(p->n_workers, 1);
	assert_int_equal(p->n_worker_cores, 0);
	assert_int_equal(p->mac_age_s, 300);
	assert_false(p->vlan_aware);
	// 12,000,000 / 256 = 46,875. min: 3 * ceil(18,000 / 256) = 3 * 71 = 213.
	// xoff: w = 4; 1500 + 4 * (1500 + 6 + 819 + 2 * 64) = 11,312 -> 12 KiB = 48 cells; three:
	// 144.
	assert_int_equal(p->buffer.total_cells, 46875);
	assert_int_equal(p->buffer.headroom_pool_cells, 144);
	assert_int_equal(p->buffer.ingress_pool_cells, 46875 - 213 - 144);
	assert_int_equal(p->buffer.egress_lossy_cells, 46518);
	assert_string_equal(pp->name, "p3");
	assert_string_equal(pp->device, "xdp:sw3");
	assert_int_equal(pp->speed_bps, G);
	assert_int_equal(pp->max_frame, 1522);
	assert_int_equal(pp->tx_ring_bytes, 8192);
	assert_int_equal(pp->skid_cells, 0);
	assert_int_equal(pp->rx_guard_on, 0);
	assert_int_equal(pp->shaper.q24_per_byte, shaper_of(G, 0).q24_per_byte);
	assert_true(pp->pg[3].lossless);
	assert_int_equal(pp->pg[3].min_cells, 71);
	assert_int_equal(pp->pg[3].xoff_cells, 48);
	assert_int_equal(pp->pg[3].xon_cells, 0);
	assert_int_equal(pp->pg[3].xon_offset_cells, 71);
	assert_true(pp->pg[3].shared.dynamic);
	assert_int_equal(pp->pg[3].shared.alpha_log2, 0);
	assert_false(pp->pg[0].lossless);
	assert_false(pp->pg[0].shared.dynamic);
	assert_int_equal(pp->pg[0].shared.static_cells, 46875);
	assert_int_equal(pp->pg[0].xoff_cells, 0);
	policy_destroy(p);
	config_destroy(c);
}

static void sample_profile_in_queues_and_maps(void **state)
{
	struct config *c = load("conf/roce.yaml");
	struct policy *p = compile_with(c, NULL);
	const struct policy_port *pp = &p->ports[0];
	const struct classify_params *m = &pp->classify;
	const struct wred_params *w = &pp->queue[3].wred;

	(void)state;
	assert_int_equal(m->trust, TRUST_DSCP);
	assert_int_equal(m->lossless, 1 << 3);
	for (unsigned d = 0; d < 64; d++) {
		unsigned cls = d / 8 == 3 || d / 8 == 6 ? d / 8 : 0;

		assert_int_equal(m->dscp_to_class[d], cls);
		assert_int_equal(m->dscp_to_color[d], GREEN);
	}
	for (unsigned k = 0; k < 8; k++) {
		assert_int_equal(m->pcp_to_class[k], k == 3 || k == 6 ? k : 0);
		assert_int_equal(m->class_to_queue[k], k);
		assert_int_equal(m->class_to_pg[k], k);
		assert_int_equal(m->remark_pcp[k], REMARK_NONE);
		assert_int_equal(m->remark_dscp[k], REMARK_NONE);
	}
	assert_int_equal(pp->sched.strict, 1 << 6);
	// 50 to 50: one frame limit each. The heaviest weight has one.
	assert_int_equal(pp->sched.quantum_bytes[0], 1522);
	assert_int_equal(pp->sched.quantum_bytes[3], 1522);
	assert_int_equal(pp->pfc.lossless, 1 << 3);
	assert_int_equal(pp->pfc.tx, 1 << 3);
	assert_int_equal(pp->pfc.rx, 1 << 3);
	assert_int_equal(pp->pfc.quanta, 65535);
	assert_int_equal(pp->pfc.lifetime_ns, 33553920); // 65535 * 512 ns
	assert_true(pp->queue[3].egress.lossless);
	assert_false(pp->queue[0].egress.lossless);
	assert_true(pp->queue[0].egress.shared.dynamic);
	assert_int_equal(pp->queue[0].egress.shared.alpha_log2, 0);
	assert_true(w->enabled && w->ecn && w->above_kmax_all && w->mark_at_dequeue);
	assert_false(w->not_ect_drop);
	for (unsigned color = 0; color < N_COLORS; color++) {
		assert_int_equal(w->curve[color].kmin_bytes, 150000);
		assert_int_equal(w->curve[color].kmax_bytes, 1500000);
		assert_int_equal(w->curve[color].pmax_q32, 1ull << 32);
	}
	assert_false(pp->queue[0].wred.enabled);
	policy_destroy(p);
	config_destroy(c);
}

static void two_lossless_classes_share_the_pool(void **state)
{
	struct config *c = load("conf/two-lossless.yaml");
	struct policy *p = compile_with(c, NULL);

	(void)state;
	assert_int_equal(p->ports[1].pfc.lossless, 1 << 3 | 1 << 5);
	assert_int_equal(p->buffer.headroom_pool_cells, 6 * 48);
	assert_int_equal(p->buffer.ingress_pool_cells, 46875 - 6 * 71 - 6 * 48);
	assert_int_equal(p->ports[1].sched.quantum_bytes[0], 761);
	assert_int_equal(p->ports[1].sched.quantum_bytes[5], 1522);
	policy_destroy(p);
	config_destroy(c);
}

static void a_port_without_profile_is_lossy(void **state)
{
	struct policy *p = policy_of("ports: [{name: a, device: \"wire:a\", speed: 10G}]\n");
	const struct policy_port *pp = &p->ports[0];

	(void)state;
	assert_string_equal(p->name, "weir");
	assert_int_equal(pp->pfc.lossless, 0);
	assert_int_equal(p->buffer.headroom_pool_cells, 0);
	assert_int_equal(p->buffer.ingress_pool_cells, 46875);
	assert_int_equal(pp->sched.strict, 0);
	for (unsigned k = 0; k < 8; k++) {
		assert_int_equal(pp->classify.dscp_to_class[8 * k + 7], k);
		assert_int_equal(pp->classify.pcp_to_class[k], k);
		assert_int_equal(pp->sched.quantum_bytes[k], 1522);
		assert_int_equal(pp->pg[k].shared.static_cells, 46875);
		assert_false(pp->queue[k].egress.lossless);
	}
	policy_destroy(p);
}

static void the_profile_named_default_serves_ports_without_one(void **state)
{
	struct policy *p = policy_of("ports: [{name: a, device: \"wire:a\", speed: 10G}]\n"
				     "profiles: {default: {classes: {2: {lossless: on}}}}\n");

	(void)state;
	assert_int_equal(p->ports[0].pfc.lossless, 1 << 2);
	policy_destroy(p);
}

// Cell 96, B 1 MB = 10,416 cells.
static const char percentages[] =
	"switch:\n"
	"  buffer: {size: 1MB, cell: 96B, headroom_pool: 10%, egress_lossy: 50%}\n"
	"ports: [{name: a, device: \"wire:a\", speed: 10G, profile: q}]\n"
	"profiles:\n"
	"  q:\n"
	"    classes:\n"
	"      0:\n"
	"        ingress: {min: 1%, static: 25%}\n"
	"        egress: {min: 1KB, static: 100KB}\n"
	"        wred: {kmin: 10%, kmax: 50%, pmax: 5%, not_ect: drop, red: {kmin: 1KB, kmax: 2KB, "
	"pmax: 100%}}\n"
	"      1: {ingress: {alpha: 1/2}, egress: {alpha: 1/2}, wred: {kmin: 10%, kmax: 100%, "
	"pmax: 1%}}\n"
	"      3:\n"
	"        lossless: on\n"
	"        ingress: {static: 10%, xon: 1%, xon_offset: 1%, headroom: 2%}\n"
	"        wred: {ecn: on, kmin: 1%, kmax: 10%, pmax: 1%, mark_at: enqueue, above_kmax: "
	"pmax, weight: 9}\n";

static void percentages_are_of_what_the_manual_says(void **state)
{
	struct policy *p = policy_of(percentages);
	const struct policy_port *pp = &p->ports[0];

	(void)state;
	// headroom_pool 100,000 / 96 = 1041 down; min 10,000 / 96 = 105 up.
	assert_int_equal(p->buffer.total_cells, 10416);
	assert_int_equal(p->buffer.headroom_pool_cells, 1041);
	assert_int_equal(pp->pg[0].min_cells, 105);
	assert_int_equal(p->buffer.ingress_pool_cells, 10416 - 1041 - 105); // 9270 = 889,920 B
	assert_int_equal(p->buffer.egress_lossy_cells, 4635); // 444,960 B
	assert_int_equal(pp->pg[0].shared.static_cells, 2317); // 222,480 / 96
	assert_int_equal(pp->queue[0].egress.min_cells, 11);
	assert_int_equal(pp->queue[0].egress.shared.static_cells, 1041);
	// The queue's limit: (11 + 1041) * 96 = 100,992 B.
	assert_int_equal(pp->queue[0].wred.curve[GREEN].kmin_bytes, 10099);
	assert_int_equal(pp->queue[0].wred.curve[YELLOW].kmax_bytes, 50496);
	assert_int_equal(pp->queue[0].wred.curve[RED].kmax_bytes, 2000);
	assert_true(pp->pg[1].shared.dynamic);
	assert_int_equal(pp->pg[1].shared.alpha_log2, -1);
	// Alone with alpha 1/2: a third of 444,960 B.
	assert_int_equal(pp->queue[1].wred.curve[GREEN].kmax_bytes, 148320);
	assert_true(pp->queue[1].wred.not_ect_drop);
	assert_int_equal(pp->pg[3].shared.static_cells, 927);
	assert_false(pp->pg[3].shared.dynamic);
	assert_int_equal(pp->pg[3].xon_cells, 92); // 8,899 / 96 down
	assert_int_equal(pp->pg[3].xon_offset_cells, 93); // 8,900 / 96 up
	assert_int_equal(pp->pg[3].xoff_cells, 209); // 20,000 / 96 up
	// A lossless queue has no limit: % of the ingress pool.
	assert_int_equal(pp->queue[3].wred.curve[GREEN].kmin_bytes, 8899);
	assert_int_equal(pp->queue[3].wred.weight, 9);
	assert_false(pp->queue[3].wred.mark_at_dequeue);
	assert_false(pp->queue[3].wred.above_kmax_all);
	policy_destroy(p);
}

static void overrides_of_a_port_win(void **state)
{
	struct policy *p =
		policy_of("switch: {buffer: {cell: 96B, size: 100MB}}\n"
			  "ports:\n"
			  "  - {name: a, device: \"wire:a\", speed: 100G, mtu: 9100, cable: 300m, "
			  "profile: q}\n"
			  "  - {name: b, device: \"wire:b\", speed: 10G, mtu: 9100, cable: 300m, "
			  "profile: q,\n"
			  "     classes: {3: {ingress: {min: 1KB, static: 96KB, cable: 5m}}}}\n"
			  "  - {name: c, device: \"wire:c\", speed: 40G, mtu: 9100, cable: 300m, "
			  "profile: q,\n"
			  "     classes: {3: {ingress: {headroom: 10KB}}}}\n"
			  "  - {name: d, device: \"wire:d\", speed: 100G, mtu: 9100, cable: 300m, "
			  "profile: q,\n"
			  "     classes: {3: {ingress: {headroom: {peer_response: quanta}}}}}\n"
			  "  - {name: e, device: \"wire:e\", speed: 10G, mtu: 9100, profile: q,\n"
			  "     classes: {3: {ingress: {mru: 3072}}}}\n"
			  "profiles:\n"
			  "  q:\n"
			  "    classes:\n"
			  "      3:\n"
			  "        lossless: on\n"
			  "        ingress: {alpha: 1/4, headroom: {lossless_mtu: 1024, "
			  "peer_response: 3.8KiB}}\n");

	(void)state;
	assert_int_equal(p->ports[0].pg[3].xoff_cells, 104448 / 96);
	assert_int_equal(p->ports[0].pg[3].shared.alpha_log2, -2);
	assert_int_equal(p->ports[0].pg[3].min_cells, 0);
	assert_int_equal(p->ports[0].pg[3].xon_offset_cells, (2 * 9122 + 95) / 96);
	assert_int_equal(p->ports[1].pg[3].xoff_cells, (29696 + 95) / 96);
	assert_int_equal(p->ports[1].pg[3].min_cells, 11);
	assert_false(p->ports[1].pg[3].shared.dynamic);
	assert_int_equal(p->ports[1].pg[3].shared.static_cells, 1000);
	assert_int_equal(p->ports[2].pg[3].xoff_cells, 105);
	assert_int_equal(p->ports[3].pg[3].xoff_cells, 147456 / 96);
	assert_int_equal(p->ports[4].pg[3].xoff_cells, (29696 + 2048 + 95) / 96);
	policy_destroy(p);
}

static void oversubscription_divides_the_headroom_pool(void **state)
{
	struct policy *p = policy_of(
		"switch: {buffer: {oversubscription: 7}}\n"
		"ports: [{name: \"p[1-3]\", device: \"wire:p[1-3]\", speed: 1G, profile: q}]\n"
		"profiles: {q: {classes: {3: {lossless: on, ingress: {headroom: 10KB}}}}}\n");

	(void)state;
	assert_int_equal(p->buffer.headroom_pool_cells, 18); // ceil(3 * 40 / 7)
	policy_destroy(p);
}

static void facts_of_the_ports_are_used(void **state)
{
	struct config *c =
		parsed("switch: {workers: [2, 1]}\n"
		       "ports:\n"
		       "  - {name: a, device: \"pci:0000:3b:00.0\", profile: q, rx_guard: 25%}\n"
		       "  - {name: b, device: \"xdp:b\", speed: 1G, profile: q, rx_guard: 75%}\n"
		       "  - {name: c, device: \"xdp:c\", speed: 1G, profile: q, rx_guard: off}\n"
		       "profiles: {q: {pfc: {tx: off, quanta: 100}, classes: {3: {lossless: on, "
		       "max_rate: 500M}}}}\n");
	const struct port_facts facts[] = {
		{.speed_bps = 25 * G,
		 .rx_ring = 1024,
		 .rx_depth_readable = true,
		 .shaper_burst_ns = 50000,
		 .tx_ring_bytes = 4096,
		 .pfc_rx = true,
		 .pfc_tx = true},
		{.rx_ring = 2048, .rx_depth_readable = true, .max_frame = 1522, .pfc_rx = true},
		{.rx_ring = 64, .rx_depth_readable = true, .pfc_rx = true},
	};
	struct policy *p = compile_with(c, facts);

	(void)state;
	assert_int_equal(p->n_workers, 2);
	assert_int_equal(p->n_worker_cores, 2);
	assert_int_equal(p->worker_cores[0], 2);
	assert_int_equal(p->worker_cores[1], 1);
	assert_int_equal(p->ports[0].speed_bps, 25 * G);
	assert_int_equal(p->ports[0].shaper.burst_q24, shaper_of(25 * G, 50000).burst_q24);
	assert_int_equal(p->ports[0].tx_ring_bytes, 4096);
	assert_int_equal(p->ports[0].rx_guard_on, 256);
	assert_int_equal(p->ports[0].rx_guard_off, 128);
	assert_int_equal(p->ports[1].rx_guard_on, 1536);
	assert_int_equal(p->ports[1].rx_guard_off, 512);
	assert_int_equal(p->ports[2].rx_guard_on, 0);
	assert_int_equal(p->ports[1].skid_cells, (2048 + 64) * 6);
	assert_int_equal(p->ports[0].sched.has_max, 1 << 3);
	assert_int_equal(p->ports[0].sched.max_rate[3].q24_per_byte,
			 shaper_of(G / 2, 0).q24_per_byte);
	assert_int_equal(p->ports[0].sched.max_rate[3].burst_q24,
			 shaper_of(G / 2, 50000).burst_q24);
	assert_int_equal(p->ports[0].pfc.lossless, 1 << 3);
	assert_int_equal(p->ports[0].pfc.tx, 0);
	assert_int_equal(p->ports[0].pfc.rx, 1 << 3);
	assert_int_equal(p->ports[1].pfc.lifetime_ns, 51200);
	policy_destroy(p);
	config_destroy(c);
}

static void what_the_device_cannot_do_is_said(void **state)
{
	struct config *c =
		parsed("ports:\n"
		       "  - {name: a, device: \"xdp:a\", mtu: 4200, speed: 1G, profile: q}\n"
		       "  - {name: b, device: \"xdp:b\", profile: q}\n"
		       "profiles: {q: {classes: {3: {lossless: on}}}}\n");
	const struct port_facts facts[] = {{.max_frame = 3400, .pfc_tx = true}, {.pfc_rx = true}};
	static const char *const want[] = {
		"t:2:23: warning: ports[0] (a).device: xdp:a does not deliver PFC frames: the"
		" switch cannot obey them",
		"t:2:37: ports[0] (a).mtu: MTU 4200 needs frames of 4222 B, but xdp:a was opened"
		" for at most 3400 B: 3378 is the largest MTU until a restart",
		"t:3:5: ports[1] (b).speed: is required, because the link of b reports none",
		"t:3:23: warning: ports[1] (b).device: xdp:b cannot send PFC frames: its lossless "
		"classes can"
		" lose frames",
	};
	struct policy *p = NULL;
	struct diags d = {0};

	(void)state;
	assert_int_equal(config_compile(c, facts, &p, &d), -EINVAL);
	assert_null(p);
	assert_int_equal(d.n, 4);
	assert_int_equal(d.n_errors, 2);
	for (unsigned i = 0; i < 4; i++)
		assert_string_equal(d.lines[i], want[i]);
	diags_fini(&d);
	config_destroy(c);
}

// A copy of AF_XDP takes a batch of frames, which a card without copies does not.
static void what_a_device_may_refuse_is_a_warning(void **state)
{
	static const char want[] =
		"t:4:30: warning: profiles.q.pfc.quanta: weir will refuse 300 quanta at a virtual "
		"interface, and where AF_XDP copies frames: 48704 bytes may stand in the transmit "
		"ring there, and 1098 quanta are the least";
	struct config *c =
		parsed("ports:\n"
		       "  - {name: \"p[1-2]\", device: \"xdp:a[1-2]\", speed: 1G, profile: q}\n"
		       "  - {name: b, device: \"pci:0000:3b:00.0\", speed: 1G, profile: q}\n"
		       "profiles: {q: {pfc: {quanta: 300}, classes: {3: {lossless: on}}}}\n");
	const struct port_facts card = {.tx_ring_bytes = 8192, .pfc_rx = true, .pfc_tx = true};
	struct policy *p = NULL;
	struct diags d = {0};

	(void)state;
	assert_int_equal(config_compile(c, NULL, &p, &d), 0);
	assert_int_equal(d.n, 1);
	assert_string_equal(d.lines[0], want);
	diags_fini(&d);
	policy_destroy(p);
	policy_destroy(compile_with(c, (const struct port_facts[]){card, card, card}));
	config_destroy(c);
}

// The longest ring of a driver that cannot report its descriptors: no PAUSE lasts as long.
static void a_ring_that_no_pause_outlasts_is_refused_at_the_mtu(void **state)
{
	static const char want[] =
		"t:2:59: ports[0] (a).mtu: a PAUSE of 65535 quanta can end before it is repeated: "
		"a PFC frame may wait for a frame of 9022 bytes, and for 4619264 bytes in the "
		"transmit ring; 101196 quanta are the least, more than a PFC frame can carry: "
		"take a smaller mtu";
	struct config *c = parsed(
		"ports:\n"
		"  - {name: a, device: \"pci:0000:3b:00.0\", speed: 1G, mtu: 9000, profile: q}\n"
		"profiles: {q: {classes: {3: {lossless: on}}}}\n");
	const struct port_facts card = {
		.tx_ring_bytes = 512 * 9022, .pfc_rx = true, .pfc_tx = true};
	struct policy *p = NULL;
	struct diags d = {0};

	(void)state;
	assert_int_equal(config_compile(c, &card, &p, &d), -EINVAL);
	assert_int_equal(d.n, 1);
	assert_string_equal(d.lines[0], want);
	diags_fini(&d);
	config_destroy(c);
}

static void vlans_and_static_addresses(void **state)
{
	struct policy *p = policy_of(
		"ports:\n"
		"  - {name: a, device: \"wire:a\", speed: 1G, vlan: {untagged: 10, tagged: [20, "
		"30-39]}}\n"
		"  - {name: b, device: \"wire:b\", speed: 1G, vlan: {untagged: none, tagged: 10}}\n"
		"  - {name: c, device: \"wire:c\", speed: 1G}\n"
		"vlans: [{id: 1}, {id: 10, flood: off}, {id: 20}, {id: 30}, {id: 31}, {id: 32}, "
		"{id: 33},"
		" {id: 34}, {id: 35}, {id: 36}, {id: 37}, {id: 38}, {id: 39}, {id: 99}]\n"
		"fdb: [{mac: \"02:0A:00:00:00:01\", port: b, vlan: 10}, {mac: "
		"\"02:0a:00:00:00:01\", port: a, vlan: 20},"
		" {mac: \"02:00:00:00:00:ff\", port: a}]\n");

	(void)state;
	assert_true(p->vlan_aware);
	assert_int_equal(p->ports[0].vlan.untagged, 10);
	assert_true(vlan_bit(p->ports[0].vlan.tagged, 20) && vlan_bit(p->ports[0].vlan.tagged, 39));
	assert_false(vlan_bit(p->ports[0].vlan.tagged, 10) ||
		     vlan_bit(p->ports[0].vlan.tagged, 40));
	assert_int_equal(p->ports[1].vlan.untagged, 0);
	assert_int_equal(p->ports[2].vlan.untagged, 1);
	assert_true(vlan_bit(p->vlan_exists, 1) && vlan_bit(p->vlan_exists, 99));
	assert_false(vlan_bit(p->vlan_exists, 2));
	assert_true(vlan_bit(p->flood_off, 10));
	assert_false(vlan_bit(p->flood_off, 20));
	assert_int_equal(p->n_fdb, 3);
	assert_memory_equal(p->fdb[0].mac, "\x02\x0a\0\0\0\x01", 6);
	assert_int_equal(p->fdb[0].port, 1);
	assert_int_equal(p->fdb[0].vid, 10);
	assert_int_equal(p->fdb[1].vid, 20);
	assert_int_equal(p->fdb[2].vid, 10); // the port's untagged VLAN
	policy_destroy(p);
	p = policy_of("ports: [{name: a, device: \"wire:a\", speed: 1G}]\n"
		      "fdb: [{mac: \"02:00:00:00:00:01\", port: a}]\n");
	assert_false(p->vlan_aware);
	assert_int_equal(p->fdb[0].vid, 0);
	policy_destroy(p);
}

static void maps_remark_and_sharing(void **state)
{
	struct policy *p = policy_of(
		"ports: [{name: a, device: \"wire:a\", speed: 1G, default_class: 2, profile: q}]\n"
		"profiles:\n"
		"  q:\n"
		"    trust: pcp\n"
		"    dscp_to_class: {24-31: 4, \"40,46\": 5}\n"
		"    dscp_to_color: {default: yellow, 0-7: green, 63: red}\n"
		"    class_to_queue: {5: 4}\n"
		"    class_to_pg: {5: 4}\n"
		"    remark: {pcp: class, dscp: {3: 26, 4: 34}}\n"
		"    classes:\n"
		"      3: {schedule: strict}\n"
		"      4: {lossless: on}\n"
		"      5: {lossless: on, schedule: {dwrr: 9}, ingress: {headroom: 5KB}}\n");
	const struct policy_port *pp = &p->ports[0];
	const struct classify_params *m = &pp->classify;

	(void)state;
	assert_int_equal(m->trust, TRUST_PCP);
	assert_int_equal(m->default_class, 2);
	assert_int_equal(m->dscp_to_class[31], 4);
	assert_int_equal(m->dscp_to_class[40], 5);
	assert_int_equal(m->dscp_to_class[46], 5);
	assert_int_equal(m->dscp_to_class[41], 5); // 41 / 8
	assert_int_equal(m->dscp_to_class[23], 2);
	assert_int_equal(m->dscp_to_color[7], GREEN);
	assert_int_equal(m->dscp_to_color[8], YELLOW);
	assert_int_equal(m->dscp_to_color[63], RED);
	assert_int_equal(m->class_to_queue[5], 4);
	assert_int_equal(m->remark_pcp[7], 7);
	assert_int_equal(m->remark_dscp[3], 26);
	assert_int_equal(m->remark_dscp[4], 34);
	assert_int_equal(m->remark_dscp[5], REMARK_NONE);
	// Queue and group 4 take the settings of class 5, the one that gives any.
	assert_int_equal(pp->sched.quantum_bytes[4], 1522);
	assert_int_equal(pp->pg[4].xoff_cells, 20);
	assert_false(pp->pg[5].lossless);
	assert_true(pp->queue[4].egress.lossless);
	assert_int_equal(pp->sched.strict, 1 << 3);
	policy_destroy(p);
}

static void auto_ecn_has_limits_and_the_speed_of_its_queue(void **state)
{
	struct policy *p = policy_of(
		"switch: {buffer: {size: 12MB}}\n"
		"ports: [{name: \"p[1-2]\", device: \"wire:w[1-2]\", speed: 100G, mtu: 1500, "
		"profile: a}]\n"
		"profiles: {a: {dscp_to_class: {default: 0, 24: 3}, classes: {\n"
		"  0: {ecn: {mode: auto, action: advise}}, 1: {max_rate: 40G, ecn: auto},\n"
		"  3: {lossless: on, ecn: {mode: auto, floor: 64B, ceiling: 9KB, model: \"off\", "
		"step: 5ms}}}}}\n");
	const struct policy_port *pp = &p->ports[0];
	const struct auto_ecn_params *a = pp->auto_ecn;

	(void)state;
	assert_int_equal(a[0].action, ECN_ADVISE);
	assert_int_equal(a[0].model, ECN_MODEL_BUILTIN);
	assert_int_equal(a[0].floor_bytes, 2 * 1522);
	assert_int_equal(a[0].speed_bps, 100000000000);
	assert_int_equal(pp->queue[0].wred.curve[RED].kmin_bytes, 12500);
	assert_int_equal(a[1].action, ECN_ON);
	assert_int_equal(a[1].speed_bps, 40000000000);
	assert_int_equal(pp->queue[1].wred.curve[GREEN].kmin_bytes, 5000);
	assert_int_equal(a[3].floor_bytes, 64);
	assert_int_equal(a[3].ceiling_bytes, 9000);
	assert_int_equal(a[3].model, ECN_MODEL_OFF);
	assert_int_equal(a[3].step_ns, 5000000);
	assert_int_equal(pp->queue[3].wred.curve[GREEN].kmin_bytes, 9000);
	assert_false(a[2].on);
	policy_destroy(p);
}

static void restart_only_keys_are_refused_by_name(void **state)
{
	static const char base[] = "switch: {buffer: {size: 12MB}}\n"
				   "ports: [{name: a, device: \"xdp:a\", speed: 1G}]\n";
	static const struct {
		const char *text, *line; // NULL: a reload takes it
	} rows[] = {
		{base, NULL},
		{"switch: {name: weir, workers: 1, buffer: {size: 12000KB, oversubscription: 2}, "
		 "mac_age: 9s}\n"
		 "ports: [{name: a, device: \"xdp:a\", speed: 2G, cable: 9m, profile: q}]\n"
		 "profiles: {q: {classes: {3: {lossless: on}}}}\n",
		 NULL},
		{"switch: {buffer: {size: 13MB}}\nports: [{name: a, device: \"xdp:a\", speed: "
		 "1G}]\n",
		 "t:1:25: switch.buffer.size: changes only by a restart"},
		{"switch: {buffer: {cell: 128B}}\nports: [{name: a, device: \"xdp:a\", speed: "
		 "1G}]\n",
		 "t:1:25: switch.buffer.cell: changes only by a restart"},
		{"switch: {workers: 2}\nports: [{name: a, device: \"xdp:a\", speed: 1G}]\n",
		 "t:1:19: switch.workers: changes only by a restart"},
		{"switch: {workers: [3]}\nports: [{name: a, device: \"xdp:a\", speed: 1G}]\n",
		 "t:1:19: switch.workers: changes only by a restart"},
		{"switch: {name: b}\nports: [{name: a, device: \"xdp:a\", speed: 1G}]\n",
		 "t:1:16: switch.name: changes only by a restart"},
		{"ports: [{name: a, device: \"xdp:b\", speed: 1G}]\n",
		 "t:1:27: ports[0] (a).device: changes only by a restart"},
		{"ports: [{name: b, device: \"xdp:a\", speed: 1G}]\n",
		 "t:1:16: ports[0] (b).name: changes only by a restart"},
		{"ports: [{name: a, device: \"xdp:a\", speed: 1G}, {name: b, device: \"xdp:b\", "
		 "speed: 1G}]\n",
		 "t:1:8: ports: the switch has 1 ports and the file has 2: only a "
		 "restart adds or removes ports"},
	};
	struct config *running = parsed(base);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config *next = parsed(rows[i].text);
		struct diags d = {0};
		int err = config_check_reload(running, next, &d);

		assert_int_equal(err, rows[i].line == NULL ? 0 : -EINVAL);
		assert_int_equal(d.n, rows[i].line == NULL ? 0 : 1);
		if (rows[i].line != NULL)
			assert_string_equal(d.lines[0], rows[i].line);
		diags_fini(&d);
		config_destroy(next);
	}
	config_destroy(running);
}

static void ports_can_be_opened_from_the_configuration(void **state)
{
	struct config *c = parsed(
		"switch: {name: x, workers: 3}\n"
		"ports: [{name: \"p[1-2]\", device: \"xdp:e[7-8]\", mtu: 9000, tx_ring: 16KiB}]\n");
	struct config_port_open p = config_port(c, 1);

	(void)state;
	assert_int_equal(config_n_ports(c), 2);
	assert_string_equal(config_name(c), "x");
	assert_int_equal(config_n_workers(c), 3);
	assert_string_equal(p.name, "p2");
	assert_string_equal(p.device, "xdp:e8");
	assert_int_equal(p.speed_bps, 0);
	assert_int_equal(p.mtu, 9000);
	assert_int_equal(p.max_frame, 9022);
	assert_int_equal(p.tx_ring_bytes, 16384);
	config_destroy(c);
}

// In bytes no burst is longer than that of a port of 2 Gb/s, whatever the frames are.
static void only_ports_below_2_gbps_make_up_for_more_than_the_drivers_burst(void **state)
{
	static const struct {
		const char *speed;
		uint64_t bps, burst_ns;
	} rows[] = {{"10M", G / 100, 10000000},
		    {"400M", 2 * G / 5, 500000},
		    {"1600M", 8 * G / 5, 125000},
		    {"2G", 2 * G, 100000},
		    {"10G", 10 * G, 100000}};
	const struct port_facts facts = {.shaper_burst_ns = 100000, .shaper_late_ns = 10000000,
					 .pfc_rx = true, .pfc_tx = true};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[128];
		struct config *c;
		struct policy *p;

		snprintf(text, sizeof(text),
			 "ports: [{name: a, device: \"xdp:a\", mtu: 9000, speed: %s}]\n",
			 rows[i].speed);
		c = parsed(text);
		p = compile_with(c, &facts);
		assert_int_equal(p->ports[0].shaper.burst_q24,
				 shaper_of(rows[i].bps, rows[i].burst_ns).burst_q24);
		policy_destroy(p);
		config_destroy(c);
	}
}

static void the_rate_of_elephants_is_one_that_every_port_can_reach(void **state)
{
	static const struct {
		const char *elephants, *speed;
		uint64_t rate_bps, end_rate_bps;
	} rows[] = {
		{"{}", "100G", G, G / 2},
		{"{}", "10G", G, G / 2},
		{"{}", "1G", G / 10, G / 20}, // the slowest counts
		{"{end_rate: 90M}", "1G", G / 10, 90000000},
		{"{end_rate: 500M}", "1G", G / 10, G / 10},
		{"{rate: 1G}", "1G", G, G / 2},
		{"{rate: 300M, end_rate: 1M}", "100M", 300000000, 1000000},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];
		struct policy *p;

		snprintf(text, sizeof(text),
			 "switch: {elephants: %s}\n"
			 "ports: [{name: a, device: \"xdp:a\", speed: 100G},\n"
			 "        {name: b, device: \"xdp:b\", speed: %s}]\n",
			 rows[i].elephants, rows[i].speed);
		p = policy_of(text);
		assert_int_equal(p->elephants.rate_bps, rows[i].rate_bps);
		assert_int_equal(p->elephants.end_rate_bps, rows[i].end_rate_bps);
		policy_destroy(p);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_profile_in_cells),
		cmocka_unit_test(sample_profile_in_queues_and_maps),
		cmocka_unit_test(two_lossless_classes_share_the_pool),
		cmocka_unit_test(a_port_without_profile_is_lossy),
		cmocka_unit_test(the_profile_named_default_serves_ports_without_one),
		cmocka_unit_test(percentages_are_of_what_the_manual_says),
		cmocka_unit_test(overrides_of_a_port_win),
		cmocka_unit_test(oversubscription_divides_the_headroom_pool),
		cmocka_unit_test(facts_of_the_ports_are_used),
		cmocka_unit_test(
			only_ports_below_2_gbps_make_up_for_more_than_the_drivers_burst),
		cmocka_unit_test(what_the_device_cannot_do_is_said),
		cmocka_unit_test(what_a_device_may_refuse_is_a_warning),
		cmocka_unit_test(a_ring_that_no_pause_outlasts_is_refused_at_the_mtu),
		cmocka_unit_test(vlans_and_static_addresses),
		cmocka_unit_test(maps_remark_and_sharing),
		cmocka_unit_test(auto_ecn_has_limits_and_the_speed_of_its_queue),
		cmocka_unit_test(the_rate_of_elephants_is_one_that_every_port_can_reach),
		cmocka_unit_test(restart_only_keys_are_refused_by_name),
		cmocka_unit_test(ports_can_be_opened_from_the_configuration),
	};

	if (argc != 2 || chdir(argv[1]) != 0) {
		fprintf(stderr, "usage: %s SOURCE_ROOT\n", argv[0]);
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
