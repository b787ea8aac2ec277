// SPDX-License-Identifier: Apache-2.0
// What only frames can prove. First a frame of an experimental EtherType finds out whether the two
// ports are joined; nothing else is sent before that, so a neighbour that is no loop sees nothing
// of the rest.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "control/daemon/selftest_impl.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/pfc_frame.h"
#include "dataplane/packet/wire.h"
#include "dataplane/units.h"
#include "drivers/nic/roce_build.h"

enum {
	FRAME_MAX = 10240,
	BURST = 32,
	ETYPE_EXPERIMENT = 0x88b5, // IEEE 802, local experimental
	PROBE_LEN = 60,
	PROBE_EVERY_NS = 100000000,
	PROBE_TRIES = 20,
	ARRIVE_NS = 1000000000,
	TEST_VID = 5,
	TEST_CLASS = 3,
	TEST_DSCP = 26,
	TEST_QP = 0x57e1f,
	TEST_UDP_SPORT = 0xc0de,
	TEST_IP_FROM = 0xa9fe0001, // 169.254.0.1 and .2, link-local
	DELAY_ROUNDS = 20,
	ETH_MIN_FRAME = 60,
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

static void make_probe(struct frame *f, const struct path *p)
{
	ether(f, p, ETYPE_EXPERIMENT, PROBE_LEN);
}

static void make_roce(struct frame *f, const struct path *p, uint32_t len)
{
	static const uint8_t payload[FRAME_MAX] = {0x5a, 0xa5};
	struct roce_pkt pkt = {.opcode = RC_SEND_ONLY, .dest_qp = TEST_QP, .psn = len,
			       .payload = payload, .payload_len = len - ROCE_MIN_LEN};
	struct roce_addr a = {.src_ip = TEST_IP_FROM, .dst_ip = TEST_IP_FROM + 1,
			      .udp_sport = TEST_UDP_SPORT, .ip_id = (uint16_t)len,
			      .tos = TEST_DSCP << 2 | 2};

	// The payload is padded to words, so that a length that is no multiple of four is reached
	// by a shorter one.
	pkt.payload_len &= ~3u;
	memcpy(a.src_mac, p->from->live.facts.mac, sizeof(a.src_mac));
	memcpy(a.dst_mac, p->to->live.facts.mac, sizeof(a.dst_mac));
	roce_build(f->data, &a, &pkt);
	f->len = roce_frame_len(&pkt);
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

// Time 0: even a neighbour that obeys it pauses nothing.
static void make_pfc(struct frame *f, const struct path *p)
{
	const struct pfc_times times = {.enable = 1u << TEST_CLASS};

	pfc_frame_build(f->data, p->from->live.facts.mac, &times);
	f->len = PFC_FRAME_LEN;
}

// ---- one frame there

static bool send_frame(const struct path *p, const struct frame *f)
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
static bool same(const struct rte_mbuf *m, const struct frame *f)
{
	const uint8_t *got = rte_pktmbuf_mtod(m, const uint8_t *);

	if (m->pkt_len < f->len || memcmp(got, f->data, f->len) != 0)
		return false;
	for (uint32_t i = f->len; i < m->pkt_len; i++)
		if (got[i] != 0)
			return false;
	return m->pkt_len == f->len || m->pkt_len == ETH_MIN_FRAME;
}

static bool same_without_tag(const struct rte_mbuf *m, const struct frame *f)
{
	const uint8_t *got = rte_pktmbuf_mtod(m, const uint8_t *);

	return be16_get(f->data + 12) == ETYPE_VLAN && m->pkt_len == f->len - TAG_BYTES &&
	       memcmp(got, f->data, 12) == 0 &&
	       memcmp(got + 12, f->data + 12 + TAG_BYTES, m->pkt_len - 12) == 0;
}

// What a received frame is to the one that was sent. The host's own frames pass here too: those are
// LOST as far as ours is concerned.
static enum outcome judge(const struct rte_mbuf *m, const struct frame *f)
{
	if (same(m, f))
		return ARRIVED;
	if (same_without_tag(m, f))
		return UNTAGGED;
	return m->pkt_len >= ETH_HLEN_ &&
			       memcmp(rte_pktmbuf_mtod(m, const uint8_t *), f->data, 14) == 0
		       ? CHANGED
		       : LOST;
}

static void drain(const struct path *p)
{
	const struct live_port *l = &p->from->live;
	struct rte_mbuf *pkts[BURST];

	if (p->from != p->to)
		rte_pktmbuf_free_bulk(pkts, l->ops->rx(l->drv, pkts, BURST));
	(void)l->ops->tx_pending(l->drv); // lets a transmit ring that is busy go on
}

// The best that arrived in one burst.
static enum outcome receive(const struct path *p, const struct frame *f)
{
	const struct live_port *l = &p->to->live;
	struct rte_mbuf *pkts[BURST];
	uint16_t n = l->ops->rx(l->drv, pkts, BURST);
	enum outcome best = LOST;

	for (uint16_t i = 0; i < n && best != ARRIVED; i++) {
		enum outcome o = judge(pkts[i], f);

		if (o != LOST)
			best = o;
	}
	rte_pktmbuf_free_bulk(pkts, n);
	drain(p);
	return best;
}

static enum outcome wait_for(const struct path *p, const struct frame *f, uint64_t wait_ns)
{
	uint64_t end_ns = clock_now_ns(&p->t->clock) + wait_ns;
	enum outcome best = LOST;

	do {
		enum outcome o = receive(p, f);

		if (o != LOST)
			best = o;
	} while (best != ARRIVED && clock_now_ns(&p->t->clock) < end_ns);
	return best;
}

static bool joined(const struct path *p)
{
	struct frame f;

	make_probe(&f, p);
	for (unsigned i = 0; i < PROBE_TRIES; i++)
		if (send_frame(p, &f) && wait_for(p, &f, PROBE_EVERY_NS) == ARRIVED)
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
	struct report *r = &p->t->report;
	const char *from = p->from->device, *to = p->to->device;
	struct frame f;
	enum outcome o;

	s->make(&f, p);
	o = send_frame(p, &f) ? wait_for(p, &f, ARRIVE_NS) : LOST;
	if (o == ARRIVED)
		report_add(r, from, s->check, VERDICT_OK, "%s (%u bytes) arrives at %s unchanged",
			   s->what, f.len, to);
	else if (o == UNTAGGED)
		report_add(r, from, s->check, VERDICT_FAILED,
			   "%s arrives at %s without its tag; `ethtool -K %s %s off`%s keeps it",
			   s->what, to, p->to->info.has_rate ? p->to->name : "PEER",
			   p->to->info.has_rate ? "rxvlan" : "txvlan",
			   p->to->info.has_rate ? "" : " at the other end of the virtual link");
	else if (o == CHANGED)
		report_add(r, from, s->check, VERDICT_FAILED, "%s (%u bytes) arrives at %s changed",
			   s->what, f.len, to);
	else
		report_add(r, from, s->check, VERDICT_FAILED,
			   "%s (%u bytes) does not arrive at %s; are both MTUs %u or more?",
			   s->what, f.len, to, path_mtu(p));
}

// Of an early PAUSE the driver's word tells, else the frame itself.
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
		drain(p);
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
		if (!send_frame(p, f) || !pause_seen(p, f, before.seq)) {
			report_add(&p->t->report, p->to->device, "pause", VERDICT_FAILED,
				   "only %u of %u PFC frames from %s were seen", i, DELAY_ROUNDS,
				   p->from->device);
			return;
		}
		delay_ns[i] = clock_now_ns(&p->t->clock) - start_ns;
		(void)wait_for(p, f, l->ops->pause != NULL ? ARRIVE_NS : 0);
	}
	qsort(delay_ns, DELAY_ROUNDS, sizeof(delay_ns[0]), by_value);
	report_add(&p->t->report, p->to->device, "pause", VERDICT_OK,
		   "a PAUSE from %s is seen %" PRIu64 " us after it was sent (median of %u), %s",
		   p->from->device, (delay_ns[DELAY_ROUNDS / 2] + US_NS - 1) / US_NS,
		   DELAY_ROUNDS,
		   l->ops->pause != NULL ? "before its frame is received"
					 : "when its frame is received");
}

static void check_pfc_frame(const struct path *p)
{
	struct frame f;
	bool arrived;

	make_pfc(&f, p);
	arrived = send_frame(p, &f) && wait_for(p, &f, ARRIVE_NS) == ARRIVED;
	p->from->sends_pfc = arrived ? LIVE_YES : LIVE_NO;
	p->to->gets_pfc = arrived ? LIVE_YES : LIVE_NO;
	report_add(&p->t->report, p->from->device, "pfc",
		   arrived ? VERDICT_OK : VERDICT_FAILED,
		   arrived ? "a PFC frame arrives at %s unchanged"
			   : "a PFC frame does not arrive at %s though other frames do, so the "
			     "receiver cannot be paused this way",
		   p->to->device);
	if (arrived)
		check_delay(p, &f);
}

void selftest_loop(struct selftest *t, struct selftest_port *from, struct selftest_port *to)
{
	const struct path p = {t, from, to};

	if (!joined(&p)) {
		if (from == to)
			report_add(&t->report, from->device, "loop", VERDICT_UNKNOWN,
				   "no frame that it sends comes back; join it to a second port by "
				   "a cable and name both to check frames");
		else
			report_add(&t->report, from->device, "loop", VERDICT_UNKNOWN,
				   "no frame that it sends arrives at %s; join the two by a cable "
				   "to check frames",
				   to->device);
		return;
	}
	report_add(&t->report, from->device, "loop", VERDICT_OK, "frames that it sends %s %s",
		   from == to ? "come back to" : "arrive at", to->device);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		check_shape(&p, &shapes[i]);
	check_pfc_frame(&p);
}
