// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/selftest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <json-c/json.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "control/base/terminal.h"
#include "control/base/units.h"
#include "control/daemon/clock.h"
#include "control/observe/fact.h"
#include "dataplane/base/units.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/pfc_frame.h"
#include "dataplane/packet/wire.h"
#include "drivers/live.h"
#include "drivers/nic/frames.h"

enum {
	SELFTEST_PORTS_MAX = 2,
	FRAME_OVERHEAD_BYTES = 22,
	TAG_BYTES = 4,
	FRAME_MAX = 10240,
	BURST = 32,
	ETYPE_EXPERIMENT = 0x88b5, // IEEE 802, local experimental
	PROBE_LEN = 60,
	PROBE_EVERY_NS = 100 * MS_NS,
	PROBE_TRIES = 20,
	ARRIVE_NS = SECOND_NS,
	TEST_VID = 5,
	TEST_CLASS = 3,
	TEST_DSCP = 26,
	TEST_QP = 0x57e1f,
	TEST_UDP_SPORT = 0xc0de,
	TEST_IP_FROM = 0xa9fe0001, // 169.254.0.1 and .2, link-local
	DELAY_ROUNDS = 20,
	ETH_MIN_FRAME = 60,
	SPEED_LEN = 32,
	MTU_DEFAULT = 1500,
	POOL_SPARE_FRAMES = 1024,
	TABLES_BYTES = 8 << 20,
	LINK_WAIT_NS = 3 * MS_NS,
	LINK_TRIES = 1000, // three seconds: a kernel wakes a new link up to one second later
	TEXT_LEN = 1024,
	TEXT_COLUMN = 13,
};

enum verdict { PASSED, FAILED, UNKNOWN };

struct selftest_port {
	const char *device;
	const char *name; // the device without its kind and arguments, for hints
	struct live_info info;
	struct live_port live;
	bool probed, open;
	uint32_t mtu; // what it is tested with
	enum live_known sends_pfc, gets_pfc; // proved by frames
};

struct selftest {
	const struct options *opt;
	struct json_object *json, *checks; // checks: the rows in json; NULL: findings are printed
	unsigned n_failed;
	struct selftest_port ports[SELFTEST_PORTS_MAX];
	unsigned n_ports;
	struct rte_mempool *pool;
	struct tsc_clock clock;
};

enum outcome { ARRIVED, LOST, UNTAGGED, CHANGED };

struct frame {
	uint32_t len;
	uint8_t data[FRAME_MAX];
};

struct path {
	struct selftest *t;
	struct selftest_port *from, *to;
};

// ---- findings: a line of text at once, or a row of the JSON at the end

static const char *const verdicts[] = {
	[PASSED] = "ok", [FAILED] = "failed", [UNKNOWN] = "cannot tell"};

// p NULL: about no port.
__attribute__((format(printf, 5, 6))) static void finding(struct selftest *t,
							  const struct selftest_port *p,
							  const char *check, enum verdict verdict,
							  const char *fmt, ...)
{
	const char *device = p != NULL ? p->device : "weir";
	char text[TEXT_LEN], line[2 * TEXT_LEN];
	struct json_object *row;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	t->n_failed += verdict == FAILED;
	if (t->checks != NULL) {
		row = row_in(t->checks);
		row_text(row, KEY(PORTS, device), device);
		row_text(row, "check", check);
		row_text(row, "verdict", verdicts[verdict]);
		row_text(row, KEY(DROP_REASONS, text), text);
		return;
	}
	snprintf(line, sizeof(line), "%s: %s", device, text);
	printf("%-*s", TEXT_COLUMN, verdict == FAILED ? "FAILED" : verdicts[verdict]);
	print_indented(stdout, line, TEXT_COLUMN, terminal_width(stdout));
	putchar('\n');
	fflush(stdout);
}

// ---- What only frames can prove. First a frame of an experimental EtherType finds out whether the
// two ports are joined; nothing else is sent before that, so a neighbour that is no loop sees
// nothing of the rest.

// ---- frames

static void ether(struct frame *f, const struct path *p, uint16_t type, uint32_t len)
{
	memset(f->data, 0, len);
	memcpy(f->data, p->to->live.facts.mac, 6);
	memcpy(f->data + 6, p->from->live.facts.mac, 6);
	be16_put(f->data + 12, type);
	for (uint32_t i = ETH_HLEN_; i < len; i++)
		f->data[i] = (uint8_t)(i * 7 + 1);
	f->len = len;
}

static void make_roce(struct frame *f, const struct path *p, uint32_t len)
{
	static const uint8_t payload[FRAME_MAX] = {0x5a, 0xa5};
	struct roce_pkt pkt = {.opcode = RC_SEND_ONLY, .dest_qp = TEST_QP, .psn = len,
			       .payload = payload, .payload_len = len - ROCE_MIN_LEN};
	struct frame_addr a = {.src_ip = ip_key_v4(TEST_IP_FROM),
				.dst_ip = ip_key_v4(TEST_IP_FROM + 1),
			       .sport = TEST_UDP_SPORT, .ip_id = (uint16_t)len,
			       .tos = TEST_DSCP << 2 | 2};

	// The payload is padded to words, so that a length that is no multiple of four is reached
	// by a shorter one.
	pkt.payload_len &= ~3u;
	memcpy(a.src_mac, p->from->live.facts.mac, sizeof(a.src_mac));
	memcpy(a.dst_mac, p->to->live.facts.mac, sizeof(a.dst_mac));
	f->len = roce_frame_len(&pkt);
	roce_build(f->data, f->len, &a, &pkt);
}

static void make_smallest(struct frame *f, const struct path *p)
{
	make_roce(f, p, ROCE_MIN_LEN);
}

static uint32_t path_mtu(const struct path *p)
{
	return p->from->mtu < p->to->mtu ? p->from->mtu : p->to->mtu;
}

static void make_largest(struct frame *f, const struct path *p)
{
	make_roce(f, p, path_mtu(p) + ETH_HLEN_);
}

static void make_tagged(struct frame *f, const struct path *p)
{
	make_largest(f, p);
	memmove(f->data + 12 + TAG_BYTES, f->data + 12, f->len - 12);
	be16_put(f->data + 12, ETYPE_VLAN);
	be16_put(f->data + 14, TEST_CLASS << 13 | TEST_VID);
	f->len += TAG_BYTES;
}

// Chassis id, port id, a time to live of one second, end (802.1AB 8.5).
static void make_lldp(struct frame *f, const struct path *p)
{
	static const uint8_t group[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e};
	static const uint8_t rest[] = {0x04, 0x05, 0x07, 'w', 'e', 'i', 'r', 0x06, 0x02, 0, 1};
	uint8_t *at = f->data + ETH_HLEN_;

	ether(f, p, ETYPE_LLDP, ETH_MIN_FRAME);
	memset(at, 0, ETH_MIN_FRAME - ETH_HLEN_);
	memcpy(f->data, group, sizeof(group));
	memcpy(at, "\x02\x07\x04", 3); // subtype 4: a MAC address
	memcpy(at + 3, p->from->live.facts.mac, 6);
	memcpy(at + 9, rest, sizeof(rest));
}

// ---- one frame there

static bool send_test_frame(const struct path *p, const struct frame *f)
{
	const struct live_port *l = &p->from->live;
	uint64_t end_ns = clock_now_ns(&p->t->clock) + ARRIVE_NS;
	struct rte_mbuf *m = rte_pktmbuf_alloc(p->t->pool);
	char *data = m == NULL ? NULL : rte_pktmbuf_append(m, (uint16_t)f->len);

	if (data != NULL) {
		memcpy(data, f->data, f->len);
		do {
			(void)l->ops->tx_room(l->drv);
			if (l->ops->tx(l->drv, &m, 1) == 1)
				return true;
		} while (clock_now_ns(&p->t->clock) < end_ns);
	}
	rte_pktmbuf_free(m);
	return false;
}

// A MAC fills short frames up to 60 bytes.
static bool is_same_frame(const struct rte_mbuf *m, const struct frame *f)
{
	const uint8_t *got = rte_pktmbuf_mtod(m, const uint8_t *);

	if (m->pkt_len < f->len || memcmp(got, f->data, f->len) != 0)
		return false;
	for (uint32_t i = f->len; i < m->pkt_len; i++)
		if (got[i] != 0)
			return false;
	return m->pkt_len == f->len || m->pkt_len == ETH_MIN_FRAME;
}

// A received frame compared with the one that was sent. The host's own frames pass here too: those
// are LOST as far as ours is concerned.
static enum outcome judge_arrived_frame(const struct rte_mbuf *m, const struct frame *f)
{
	const uint8_t *got = rte_pktmbuf_mtod(m, const uint8_t *);

	if (is_same_frame(m, f))
		return ARRIVED;
	if (be16_get(f->data + 12) == ETYPE_VLAN && m->pkt_len == f->len - TAG_BYTES &&
	    memcmp(got, f->data, 12) == 0 &&
	    memcmp(got + 12, f->data + 12 + TAG_BYTES, m->pkt_len - 12) == 0)
		return UNTAGGED;
	if (m->pkt_len >= ETH_HLEN_ && memcmp(got, f->data, ETH_HLEN_) == 0)
		return CHANGED;
	return LOST;
}

static void drain_sender_ring(const struct path *p)
{
	const struct live_port *l = &p->from->live;
	struct rte_mbuf *pkts[BURST];

	if (p->from != p->to)
		rte_pktmbuf_free_bulk(pkts, l->ops->rx(l->drv, pkts, BURST));
	(void)l->ops->tx_pending(l->drv); // lets a transmit ring that is busy go on
}

// The best that arrived in one burst.
static enum outcome receive_test_frame(const struct path *p, const struct frame *f)
{
	const struct live_port *l = &p->to->live;
	struct rte_mbuf *pkts[BURST];
	uint16_t n = l->ops->rx(l->drv, pkts, BURST);
	enum outcome best = LOST;

	for (uint16_t i = 0; i < n && best != ARRIVED; i++) {
		enum outcome o = judge_arrived_frame(pkts[i], f);

		if (o != LOST)
			best = o;
	}
	rte_pktmbuf_free_bulk(pkts, n);
	drain_sender_ring(p);
	return best;
}

static enum outcome wait_for(const struct path *p, const struct frame *f, uint64_t wait_ns)
{
	uint64_t end_ns = clock_now_ns(&p->t->clock) + wait_ns;
	enum outcome best = LOST;

	do {
		enum outcome o = receive_test_frame(p, f);

		if (o != LOST)
			best = o;
	} while (best != ARRIVED && clock_now_ns(&p->t->clock) < end_ns);
	return best;
}

static bool joined(const struct path *p)
{
	struct frame f;

	ether(&f, p, ETYPE_EXPERIMENT, PROBE_LEN);
	for (unsigned i = 0; i < PROBE_TRIES; i++)
		if (send_test_frame(p, &f) && wait_for(p, &f, PROBE_EVERY_NS) == ARRIVED)
			return true;
	return false;
}

// ---- the checks

static const struct shape {
	const char *check, *what;
	void (*make)(struct frame *f, const struct path *p);
} shapes[] = {
	{"rocev2_smallest", "the smallest RoCEv2 frame", make_smallest},
	{"rocev2_largest", "the largest RoCEv2 frame", make_largest},
	{"vlan", "the largest RoCEv2 frame with a VLAN tag", make_tagged},
	{"lldp", "an LLDP frame", make_lldp},
};

static void check_shape(const struct path *p, const struct shape *s)
{
	const char *to = p->to->device;
	struct frame f;
	enum outcome o;

	s->make(&f, p);
	o = send_test_frame(p, &f) ? wait_for(p, &f, ARRIVE_NS) : LOST;
	if (o == ARRIVED)
		finding(p->t, p->from, s->check, PASSED, "%s (%u bytes) arrives at %s unchanged",
			s->what, f.len, to);
	else if (o == UNTAGGED)
		finding(p->t, p->from, s->check, FAILED,
			"%s arrives at %s without its tag; `ethtool -K %s %s off`%s keeps it",
			s->what, to, p->to->info.has_rate ? p->to->name : "PEER",
			p->to->info.has_rate ? "rxvlan" : "txvlan",
			p->to->info.has_rate ? "" : " at the other end of the virtual link");
	else if (o == CHANGED)
		finding(p->t, p->from, s->check, FAILED, "%s (%u bytes) arrives at %s changed",
			s->what, f.len, to);
	else
		finding(p->t, p->from, s->check, FAILED,
			"%s (%u bytes) does not arrive at %s; are both MTUs %u or more?", s->what,
			f.len, to, path_mtu(p));
}

// A driver that reads PAUSE early reports it; else the frame itself arrives.
static bool pause_seen(const struct path *p, const struct frame *f, uint32_t seq_before)
{
	const struct live_port *l = &p->to->live;
	uint64_t end_ns = clock_now_ns(&p->t->clock) + ARRIVE_NS;
	struct port_pause now;

	if (l->ops->pause == NULL)
		return wait_for(p, f, ARRIVE_NS) == ARRIVED;
	do {
		if (l->ops->pause(l->drv, TEST_CLASS, &now) && now.seq != seq_before)
			return true;
		drain_sender_ring(p);
	} while (clock_now_ns(&p->t->clock) < end_ns);
	return false;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void check_delay(const struct path *p, const struct frame *f)
{
	const struct live_port *l = &p->to->live;
	uint64_t delay_ns[DELAY_ROUNDS];

	for (unsigned i = 0; i < DELAY_ROUNDS; i++) {
		uint64_t start_ns = clock_now_ns(&p->t->clock);
		struct port_pause before = {0};

		if (l->ops->pause != NULL)
			(void)l->ops->pause(l->drv, TEST_CLASS, &before);
		if (!send_test_frame(p, f) || !pause_seen(p, f, before.seq)) {
			finding(p->t, p->to, "pause", FAILED,
				"only %u of %u PFC frames from %s were seen", i, DELAY_ROUNDS,
				p->from->device);
			return;
		}
		delay_ns[i] = clock_now_ns(&p->t->clock) - start_ns;
		(void)wait_for(p, f, l->ops->pause != NULL ? ARRIVE_NS : 0);
	}
	qsort(delay_ns, DELAY_ROUNDS, sizeof(delay_ns[0]), by_value);
	finding(p->t, p->to, "pause", PASSED,
		"a PAUSE from %s is seen %" PRIu64 " us after it was sent (median of %u), %s",
		p->from->device, (delay_ns[DELAY_ROUNDS / 2] + US_NS - 1) / US_NS, DELAY_ROUNDS,
		l->ops->pause != NULL ? "before its frame is received"
				      : "when its frame is received");
}

static void check_pfc_frame(const struct path *p)
{
	// Time 0: even a neighbour that obeys it pauses nothing.
	const struct pfc_times times = {.enable = 1u << TEST_CLASS};
	struct frame f = {.len = PFC_FRAME_LEN};
	bool arrived;

	pfc_frame_build(f.data, p->from->live.facts.mac, &times);
	arrived = send_test_frame(p, &f) && wait_for(p, &f, ARRIVE_NS) == ARRIVED;
	p->from->sends_pfc = arrived ? LIVE_YES : LIVE_NO;
	p->to->gets_pfc = arrived ? LIVE_YES : LIVE_NO;
	finding(p->t, p->from, "pfc", arrived ? PASSED : FAILED,
		arrived ? "a PFC frame arrives at %s unchanged"
			: "a PFC frame does not arrive at %s though other frames do, so the "
			  "receiver cannot be paused this way",
		p->to->device);
	if (arrived)
		check_delay(p, &f);
}

// Sends frames from one open port to another (or itself) and judges what arrives.
static void test_frames(struct selftest *t, struct selftest_port *from, struct selftest_port *to)
{
	const struct path p = {t, from, to};

	if (!joined(&p)) {
		if (from == to)
			finding(t, from, "loop", UNKNOWN,
				"no frame that it sends comes back; join it to a second port by a "
				"cable and name both to check frames");
		else
			finding(t, from, "loop", UNKNOWN,
				"no frame that it sends arrives at %s; join the two by a cable to "
				"check frames",
				to->device);
		return;
	}
	finding(t, from, "loop", PASSED, "frames that it sends %s %s",
		from == to ? "come back to" : "arrive at", to->device);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		check_shape(&p, &shapes[i]);
	check_pfc_frame(&p);
}

// ---- what a device reports

static void check_mtu(struct selftest *t, const struct selftest_port *p)
{
	const struct live_info *i = &p->info;

	if (i->mtu != 0 && i->mtu > p->mtu)
		finding(t, p, "mtu", FAILED,
			"its MTU is %u and a port on it carries at most %u, so longer frames would "
			"be lost; `ip link set dev %s mtu %u`, on the neighbour too",
			i->mtu, p->mtu, p->name, p->mtu);
	else if (i->mtu_max != 0)
		finding(t, p, "mtu", PASSED,
			"its MTU is %u, so the largest frame has %u bytes; an MTU of up to %u "
			"would fit",
			p->mtu, p->mtu + FRAME_OVERHEAD_BYTES, i->mtu_max);
	else
		finding(t, p, "mtu", UNKNOWN,
			"it reports no limit for its MTU; it is tested with %u, so the largest "
			"frame has %u bytes",
			p->mtu, p->mtu + FRAME_OVERHEAD_BYTES);
}

// Settings of a NIC that take something off the wire before the switch sees it.
static void check_settings(struct selftest *t, const struct selftest_port *p)
{
	const struct live_info *i = &p->info;

	if (i->takes_tags_off == LIVE_YES)
		finding(t, p, "vlan_offload", FAILED,
			"the NIC takes VLAN tags off; `ethtool -K %s rxvlan off` keeps them in the "
			"frame",
			p->name);
	else if (i->takes_tags_off == LIVE_NO)
		finding(t, p, "vlan_offload", PASSED, "the NIC leaves VLAN tags in the frame");
	if (i->flow_control == LIVE_YES)
		finding(t, p, "flow_control", FAILED,
			"802.3x flow control is on, so the NIC stops for all classes at once and "
			"may keep PFC frames; `ethtool -A %s autoneg off rx off tx off`",
			p->name);
	else if (i->flow_control == LIVE_NO)
		finding(t, p, "flow_control", PASSED, "802.3x flow control is off");
}

static void check_mode(struct selftest *t, const struct selftest_port *p)
{
	struct live_info i;

	live_info(&p->live, &i);
	if (i.native == LIVE_UNKNOWN)
		finding(t, p, "open", PASSED, "it opens as a DPDK port");
	else
		finding(t, p, "open", PASSED, "it opens with %s, and the kernel %s",
			i.native == LIVE_YES ? "native XDP"
					     : "the slower generic XDP, as its driver has no "
					       "native one or refuses it at this MTU",
			i.zero_copy == LIVE_YES ? "copies no frame (zero copy)"
						: "copies each frame");
	if (p->live.facts.rx_depth_readable)
		finding(t, p, "rx_depth", PASSED,
			"the receive ring of %u frames can be watched, so rx_guard works",
			p->live.facts.rx_ring);
	else
		finding(t, p, "rx_depth", FAILED,
			"the driver does not report how full its receive ring is, so rx_guard is "
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
		finding(t, p, "link", FAILED,
			"its link is down; plug the cable in, or bring the other end up");
		return false;
	}
	unit_print(UNIT_RATE, (int64_t)l->facts.speed_bps, speed, sizeof(speed));
	if (l->facts.speed_bps != 0)
		finding(t, p, "link", PASSED, "its link is up at %sb/s", speed);
	else
		finding(t, p, "link", PASSED,
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
		finding(t, p, check, PASSED,
			rx ? "PFC frames from the wire reach the switch"
			   : "PFC frames of the switch reach the wire");
	else if (listed == LIVE_YES && proved == LIVE_UNKNOWN)
		finding(t, p, check, PASSED,
			rx ? "%s is known to pass PFC frames from the wire to the switch"
			   : "%s is known to pass PFC frames of the switch to the wire",
			driver);
	else if (listed == LIVE_NO)
		finding(t, p, check, FAILED,
			rx ? "%s keeps received PFC frames to itself, so a PAUSE from the peer "
			     "does not reach the switch"
			   : "%s discards PFC frames that software sends, so the switch cannot "
			     "pause the peer",
			driver);
	else if (proved == LIVE_NO)
		finding(t, p, check, UNKNOWN,
			rx ? "PFC frames got lost on the way to this port: its NIC keeps them, or "
			     "the sender's discarded them"
			   : "PFC frames got lost on the way from this port: its NIC discards "
			     "them, or the receiver's keeps them");
	else
		finding(t, p, check, UNKNOWN,
			rx ? "whether %s passes received PFC frames to software is not known; join "
			     "two ports by a cable and name both to find out"
			   : "whether %s sends PFC frames of software is not known; join two ports "
			     "by a cable and name both to find out",
			driver);
}

// ---- the ladder

// Drivers begin their sentence with the device, and so does every finding.
static void refused(struct selftest *t, const struct selftest_port *p, const char *err)
{
	size_t len = strcspn(err, ":");

	if (strncmp(err, p->name, len) == 0 && strncmp(err + len, ": ", 2) == 0)
		err += len + 2;
	finding(t, p, "open", FAILED, "%s", err);
}

static void probe_port(struct selftest *t, struct selftest_port *p)
{
	struct live_text text = {0};

	if (live_probe(p->device, &p->info, &text) != 0) {
		refused(t, p, text.err);
		return;
	}
	p->mtu = p->info.mtu != 0 ? p->info.mtu : MTU_DEFAULT;
	if (p->info.mtu_max != 0 && p->mtu > p->info.mtu_max)
		p->mtu = p->info.mtu_max;
	if (p->info.rx_queues == 1)
		finding(t, p, "queues", PASSED, "it has one receive queue, which is polled");
	else if (p->info.rx_queues > 1)
		finding(t, p, "queues", FAILED,
			"it spreads frames over %u receive queues and one is polled; `ethtool -L "
			"%s %s 1` leaves one",
			p->info.rx_queues, p->name, p->info.combined_queues ? "combined" : "rx");
	p->probed = p->info.rx_queues <= 1;
}

static bool make_memory(struct selftest *t)
{
	uint32_t frames = POOL_SPARE_FRAMES, max_frame = 0;
	struct live_text text = {0};
	struct live_eal_conf conf = {.extra = t->opt->eal, .n_extra = t->opt->n_eal};

	for (unsigned i = 0; i < t->n_ports; i++) {
		if (t->ports[i].probed && t->ports[i].mtu > max_frame)
			max_frame = t->ports[i].mtu;
		frames += live_device_frames(t->ports[i].device, 0, 0);
		live_eal_device(&conf, t->ports[i].device);
	}
	max_frame += FRAME_OVERHEAD_BYTES;
	conf.mem_bytes = live_pool_bytes(frames, max_frame) + TABLES_BYTES;
	if (live_eal_init("weir", &conf, &text) != 0) {
		finding(t, NULL, "memory", FAILED, "%s", text.err);
		return false;
	}
	if (live_pool_create(frames, max_frame, &t->pool, &text) == 0)
		return true;
	finding(t, NULL, "memory", FAILED, "%s", text.err);
	live_eal_fini();
	return false;
}

// LLDP shall arrive here and not at the host's stack: nothing is kept.
static void open_tested_port(struct selftest *t, struct selftest_port *p)
{
	const struct keep nothing = {0};
	const struct live_conf conf = {.pool = t->pool,
				       .mtu = p->mtu,
				       .keep = &nothing,
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
	finding(t, p, "driver", p->info.driver[0] != '\0' ? PASSED : UNKNOWN, "its driver is %s",
		p->info.driver[0] != '\0' ? p->info.driver : "not known");
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
			open_tested_port(t, &t->ports[i]);
	for (unsigned i = 0; i < t->n_ports; i++)
		all &= t->ports[i].open && check_link(t, &t->ports[i]);
	if (all) {
		test_frames(t, a, b);
		if (a != b)
			test_frames(t, b, a);
	}
	for (unsigned i = 0; i < t->n_ports; i++) {
		const struct selftest_port *p = &t->ports[i];
		struct live_info info;

		if (!p->open)
			continue;
		live_info(&p->live, &info);
		pfc_finding(t, p, "pfc_rx", p->gets_pfc, info.pfc_rx);
		pfc_finding(t, p, "pfc_tx", p->sends_pfc, info.pfc_tx);
	}
	for (unsigned i = 0; i < t->n_ports; i++)
		live_close(&t->ports[i].live);
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
	struct selftest t = {.opt = opt, .n_ports = (unsigned)opt->n_ports};
	bool any = false;

	if (!are_devices(opt))
		return 2;
	if (opt->json) {
		t.json = json_object_new_object();
		t.checks = list_in(t.json, "checks");
	}
	for (unsigned i = 0; i < t.n_ports; i++) {
		const char *device = opt->ports[i];

		t.ports[i].device = device;
		t.ports[i].name = device + strcspn(device, ":") + 1;
		probe_port(&t, &t.ports[i]);
		any |= t.ports[i].probed;
	}
	if (any && make_memory(&t)) {
		clock_start(&t.clock);
		test_ports(&t);
		rte_mempool_free(t.pool);
		live_eal_fini();
	}
	if (opt->json) {
		row_u64(t.json, "failed", t.n_failed);
		puts(json_object_to_json_string_ext(t.json, JSON_C_TO_STRING_PRETTY));
		json_object_put(t.json);
	} else if (t.n_failed == 0) {
		puts("nothing failed");
	} else {
		printf("%u check%s failed\n", t.n_failed, t.n_failed == 1 ? "" : "s");
	}
	return t.n_failed == 0 ? 0 : 1;
}
