// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/selftest.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_mempool.h>

#include "control/config/units.h"
#include "control/daemon/selftest_impl.h"

enum {
	SPEED_LEN = 32,
	MTU_WHERE_NONE_IS_TOLD = 1500,
	POOL_SPARE_FRAMES = 1024,
	TABLES_BYTES = 8 << 20,
	LINK_WAIT_NS = 3000000,
	LINK_TRIES = 1000, // three seconds: a kernel wakes a new link up to one second later
};

// ---- what a device tells

static void check_driver(struct selftest *t, const struct selftest_port *p)
{
	const struct live_info *i = &p->info;

	report_add(&t->report, p->device, "driver",
		   i->driver[0] != '\0' ? VERDICT_OK : VERDICT_UNKNOWN, "its driver is %s",
		   i->driver[0] != '\0' ? i->driver : "not told");
}

static void check_queues(struct selftest *t, const struct selftest_port *p)
{
	const struct live_info *i = &p->info;

	if (i->rx_queues == 1)
		report_add(&t->report, p->device, "queues", VERDICT_OK,
			   "it has one receive queue, which is polled");
	else if (i->rx_queues > 1)
		report_add(&t->report, p->device, "queues", VERDICT_FAILED,
			   "it spreads frames over %u receive queues and one is polled; `ethtool "
			   "-L %s %s 1` leaves one",
			   i->rx_queues, p->name, i->combined_queues ? "combined" : "rx");
}

static void check_mtu(struct selftest *t, const struct selftest_port *p)
{
	const struct live_info *i = &p->info;

	if (i->mtu != 0 && i->mtu > p->mtu)
		report_add(&t->report, p->device, "mtu", VERDICT_FAILED,
			   "its MTU is %u and a port on it carries at most %u, so longer frames "
			   "would be lost; `ip link set dev %s mtu %u`, on the neighbour too",
			   i->mtu, p->mtu, p->name, p->mtu);
	else if (i->mtu_max != 0)
		report_add(&t->report, p->device, "mtu", VERDICT_OK,
			   "its MTU is %u, so the largest frame has %u bytes; an MTU of up to %u "
			   "would fit",
			   p->mtu, p->mtu + FRAME_OVERHEAD_BYTES, i->mtu_max);
	else
		report_add(&t->report, p->device, "mtu", VERDICT_UNKNOWN,
			   "it tells no limit for its MTU; it is tested with %u, so the largest "
			   "frame has %u bytes",
			   p->mtu, p->mtu + FRAME_OVERHEAD_BYTES);
}

// Settings of a NIC that take something off the wire before the switch sees it.
static void check_settings(struct selftest *t, const struct selftest_port *p)
{
	const struct live_info *i = &p->info;

	if (i->takes_tags_off == LIVE_YES)
		report_add(&t->report, p->device, "vlan_offload", VERDICT_FAILED,
			   "the NIC takes VLAN tags off; `ethtool -K %s rxvlan off` keeps them in "
			   "the frame",
			   p->name);
	else if (i->takes_tags_off == LIVE_NO)
		report_add(&t->report, p->device, "vlan_offload", VERDICT_OK,
			   "the NIC leaves VLAN tags in the frame");
	if (i->flow_control == LIVE_YES)
		report_add(&t->report, p->device, "flow_control", VERDICT_FAILED,
			   "802.3x flow control is on, so the NIC stops for all classes at once "
			   "and may keep PFC frames; `ethtool -A %s autoneg off rx off tx off`",
			   p->name);
	else if (i->flow_control == LIVE_NO)
		report_add(&t->report, p->device, "flow_control", VERDICT_OK,
			   "802.3x flow control is off");
}

static void check_mode(struct selftest *t, const struct selftest_port *p)
{
	struct live_info i;

	live_info(&p->live, &i);
	if (i.native == LIVE_UNKNOWN)
		report_add(&t->report, p->device, "open", VERDICT_OK, "it opens as a DPDK port");
	else
		report_add(&t->report, p->device, "open", VERDICT_OK,
			   "it opens with %s, and the kernel %s",
			   i.native == LIVE_YES
				   ? "native XDP"
				   : "the slower generic XDP, as its driver has no native one or "
				     "refuses it at this MTU",
			   i.zero_copy == LIVE_YES ? "copies no frame (zero copy)"
						   : "copies each frame");
	if (p->live.facts.rx_depth_readable)
		report_add(&t->report, p->device, "rx_depth", VERDICT_OK,
			   "the receive ring of %u frames can be watched, so rx_guard works",
			   p->live.facts.rx_ring);
	else
		report_add(&t->report, p->device, "rx_depth", VERDICT_FAILED,
			   "the driver does not tell how full its receive ring is, so rx_guard is "
			   "off and a late switch loses frames there");
}

static bool check_link(struct selftest *t, const struct selftest_port *p)
{
	const struct timespec wait = {.tv_nsec = LINK_WAIT_NS};
	const struct live_port *l = &p->live;
	char speed[SPEED_LEN];

	for (unsigned i = 0; i < LINK_TRIES && !l->ops->link_up(l->drv); i++)
		nanosleep(&wait, NULL);
	if (!l->ops->link_up(l->drv)) {
		report_add(&t->report, p->device, "link", VERDICT_FAILED,
			   "its link is down; plug the cable in, or bring the other end up");
		return false;
	}
	unit_print(UNIT_RATE, (int64_t)l->facts.speed_bps, speed, sizeof(speed));
	if (l->facts.speed_bps != 0)
		report_add(&t->report, p->device, "link", VERDICT_OK, "its link is up at %sb/s",
			   speed);
	else
		report_add(&t->report, p->device, "link", VERDICT_OK,
			   "its link is up and has no speed of its own: the policy gives the port "
			   "one");
	return true;
}

// ---- PFC, when all is known that frames can prove

static void pfc_finding(struct selftest *t, const struct selftest_port *p, const char *check,
			enum live_known proved, enum live_known listed)
{
	bool rx = strcmp(check, "pfc_rx") == 0;
	const char *driver = p->info.driver[0] != '\0' ? p->info.driver : "this driver";

	if (proved == LIVE_YES)
		report_add(&t->report, p->device, check, VERDICT_OK,
			   rx ? "PFC frames from the wire reach the switch"
			      : "PFC frames of the switch reach the wire");
	else if (listed == LIVE_YES && proved == LIVE_UNKNOWN)
		report_add(&t->report, p->device, check, VERDICT_OK,
			   rx ? "%s is known to pass PFC frames from the wire to the switch"
			      : "%s is known to pass PFC frames of the switch to the wire",
			   driver);
	else if (listed == LIVE_NO)
		report_add(&t->report, p->device, check, VERDICT_FAILED,
			   rx ? "%s keeps received PFC frames to itself, so a PAUSE from the peer "
				"does not reach the switch"
			      : "%s discards PFC frames that software sends, so the switch cannot "
				"pause the peer",
			   driver);
	else if (proved == LIVE_NO)
		report_add(&t->report, p->device, check, VERDICT_UNKNOWN,
			   rx ? "PFC frames got lost on the way to this port: its NIC keeps them, "
				"or the sender's discarded them"
			      : "PFC frames got lost on the way from this port: its NIC discards "
				"them, or the receiver's keeps them");
	else
		report_add(&t->report, p->device, check, VERDICT_UNKNOWN,
			   rx ? "whether %s passes received PFC frames to software is not known; "
				"join two ports by a cable and name both to find out"
			      : "whether %s sends PFC frames of software is not known; join two "
				"ports by a cable and name both to find out",
			   driver);
}

static void check_pfc(struct selftest *t, const struct selftest_port *p)
{
	struct live_info i;

	live_info(&p->live, &i);
	pfc_finding(t, p, "pfc_rx", p->gets_pfc, i.pfc_rx);
	pfc_finding(t, p, "pfc_tx", p->sends_pfc, i.pfc_tx);
}

// ---- the ladder

// Drivers begin their sentence with the device, and so does every finding.
static void refused(struct selftest *t, const struct selftest_port *p, const char *err)
{
	size_t len = strcspn(err, ":");

	if (strncmp(err, p->name, len) == 0 && strncmp(err + len, ": ", 2) == 0)
		err += len + 2;
	report_add(&t->report, p->device, "open", VERDICT_FAILED, "%s", err);
}

static void probe_port(struct selftest *t, struct selftest_port *p)
{
	struct live_text text = {0};

	if (live_probe(p->device, &p->info, &text) != 0) {
		refused(t, p, text.err);
		return;
	}
	p->mtu = p->info.mtu != 0 ? p->info.mtu : MTU_WHERE_NONE_IS_TOLD;
	if (p->info.mtu_max != 0 && p->mtu > p->info.mtu_max)
		p->mtu = p->info.mtu_max;
	check_queues(t, p);
	p->probed = p->info.rx_queues <= 1;
}

static uint32_t largest_frame(const struct selftest *t)
{
	uint32_t mtu = 0;

	for (unsigned i = 0; i < t->n_ports; i++)
		if (t->ports[i].probed && t->ports[i].mtu > mtu)
			mtu = t->ports[i].mtu;
	return mtu + FRAME_OVERHEAD_BYTES;
}

static bool make_memory(struct selftest *t)
{
	uint32_t frames = POOL_SPARE_FRAMES, max_frame = largest_frame(t);
	struct live_text text = {0};
	struct live_eal_conf conf = {.extra = t->opt->eal, .n_extra = t->opt->n_eal};

	for (unsigned i = 0; i < t->n_ports; i++) {
		frames += live_device_frames(t->ports[i].device, 0, 0);
		conf.pci |= live_device_is_pci(t->ports[i].device);
	}
	conf.mem_bytes = live_pool_bytes(frames, max_frame) + TABLES_BYTES;
	if (live_eal_init("weir", &conf, &text) != 0) {
		report_add(&t->report, "weir", "memory", VERDICT_FAILED, "%s", text.err);
		return false;
	}
	if (live_pool_create("selftest", frames, max_frame, &t->pool, &text) == 0)
		return true;
	report_add(&t->report, "weir", "memory", VERDICT_FAILED, "%s", text.err);
	live_eal_fini();
	return false;
}

// LLDP shall arrive here and not at the host's stack: nothing is kept.
static void open_port(struct selftest *t, struct selftest_port *p)
{
	const struct keep nothing = {0};
	const struct live_conf conf = {.pool = t->pool, .mtu = p->mtu, .keep = &nothing,
				       .max_frame = p->mtu + FRAME_OVERHEAD_BYTES,
				       .take_over = true}; // for as long as the test lasts
	struct live_text text = {0};

	if (live_open(p->device, &conf, &p->live, &text) != 0) {
		refused(t, p, text.err);
		return;
	}
	p->open = true;
	if (p->info.driver[0] == '\0')
		live_info(&p->live, &p->info);
	check_driver(t, p);
	check_mode(t, p);
	check_mtu(t, p);
	check_settings(t, p);
}

static void test_ports(struct selftest *t)
{
	struct selftest_port *a = &t->ports[0], *b = &t->ports[t->n_ports - 1];
	bool all = true;

	for (unsigned i = 0; i < t->n_ports; i++)
		if (t->ports[i].probed)
			open_port(t, &t->ports[i]);
	for (unsigned i = 0; i < t->n_ports; i++)
		all &= t->ports[i].open && check_link(t, &t->ports[i]);
	if (all) {
		selftest_loop(t, a, b);
		if (a != b)
			selftest_loop(t, b, a);
	}
	for (unsigned i = 0; i < t->n_ports; i++)
		if (t->ports[i].open)
			check_pfc(t, &t->ports[i]);
	for (unsigned i = 0; i < t->n_ports; i++)
		live_close(&t->ports[i].live);
}

static void name_ports(struct selftest *t)
{
	for (int i = 0; i < t->opt->n_ports; i++) {
		const char *device = t->opt->ports[i];

		t->ports[i].device = device;
		t->ports[i].name = device + strcspn(device, ":") + 1;
	}
	t->n_ports = (unsigned)t->opt->n_ports;
}

static bool are_devices(const struct options *opt)
{
	for (int i = 0; i < opt->n_ports; i++) {
		if (!live_device_valid(opt->ports[i])) {
			fprintf(stderr,
				"weir: \"%s\" is not a device; write xdp:INTERFACE, pci:ADDRESS or "
				"vdev:NAME\n",
				opt->ports[i]);
			return false;
		}
		if (i > 0 && strcmp(opt->ports[0], opt->ports[i]) == 0) {
			fprintf(stderr, "weir: %s is given twice\n", opt->ports[i]);
			return false;
		}
	}
	return true;
}

int selftest_run(const struct options *opt)
{
	struct selftest t = {.opt = opt, .report = {.json = opt->json}};
	bool any = false;

	if (!are_devices(opt))
		return 2;
	name_ports(&t);
	for (unsigned i = 0; i < t.n_ports; i++) {
		probe_port(&t, &t.ports[i]);
		any |= t.ports[i].probed;
	}
	if (any && make_memory(&t)) {
		clock_start(&t.clock);
		test_ports(&t);
		rte_mempool_free(t.pool);
		live_eal_fini();
	}
	report_end(&t.report);
	return t.report.n_failed == 0 ? 0 : 1;
}
