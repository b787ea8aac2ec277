// SPDX-License-Identifier: Apache-2.0
// weir-generator: the tester of scripts/bench --rfc2544. It sends frames by one port at a stated
// rate, receives them by another port, and reports loss and latency of each trial. testpmd's
// flowgen and txonly neither pace frames nor number them, so that they cannot do this.
//
//   weir-generator --cpu CPU --device DEVICE --device DEVICE [--rx-queues N]
//
// Each line of standard input is one trial, each line of standard output is its result in JSON:
//
//   SIZE RATE FRAMES MICROSECONDS
//
// SIZE is the length with FCS, 64 to 1518, or "imix". RATE is frames a second; "flood": as fast as
// the generator can; "wait": as flood, but a frame that the port refuses is sent later. A trial
// ends after so many frames, or after the time, whichever is first; 0 means no limit of frames.
//
// A frame has a number and the time of its transmission. A frame that the port does not take at its
// time is lost, as at a network card whose ring is full; it is also counted as refused. One core
// sends and receives. If the system takes this core away for longer than GAP_US, the generator does
// not send the frames of that time later, and reports the gap.
//
// The main thread reads and prints; all frames are handled by one worker thread. The ports must
// copy frames (net_memif does), because the generator writes into a frame it has just sent.
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_launch.h>
#include <rte_mbuf.h>

#include "dataplane/base/units.h"
#include "dataplane/packet/wire.h"
#include "drivers/live.h"
#include "tests/perf/traffic.h"

enum {
	TX, RX, N_PORTS, // the port that sends the numbered frames, and the port that receives them
	FCS = 4,
	MAX_FRAME = 1518 - FCS,
	N_FLOWS = 16,
	MAX_RX_QUEUES = 8,
	RING = 1024,
	IMIX_FRAMES = 12,
	N_TEMPLATES = 48, // whole rounds of the flows and of the IMIX
	BURST = 32,
	POOL_FRAMES = 16384,
	UDP_PORT = 4096, // of no protocol that a switch reads
	GAP_US = 50,
	QUIET_MS = 20, // a trial is over when no frame came for that time
	WARM_MS = 100, // limit of the wait for the first frames
	START_S = 20, // limit of the wait for a device that forwards
	OTHER_EVERY = 64, // loops between two looks at the sending port
	SEQ_BITS = 30,
};
static const uint64_t max_frames = UINT64_C(1) << SEQ_BITS;

// Lengths with FCS, 7:4:1.
static const uint16_t imix[IMIX_FRAMES] = {64, 594, 64, 64, 594, 64, 64, 594, 64, 594, 64, 1518};

// Behind the UDP header, in the machine's own byte order.
struct __attribute__((packed)) stamp {
	uint16_t trial; // 0: a frame of the warm-up
	uint64_t seq, tsc;
};
enum { STAMP_AT = sizeof(struct eth_hdr) + sizeof(struct ipv4_hdr) + sizeof(struct udp_hdr) };
static_assert(STAMP_AT + sizeof(struct stamp) == 64 - FCS, "the shortest frame has a stamp");

// Latencies: 64 buckets each time the value doubles, so that a bucket is 1.6 % wide.
enum { SUB_BITS = 6, SUBS = 1 << SUB_BITS, BUCKETS = (64 - SUB_BITS + 1) * SUBS };

enum pace { PACE_RATE, PACE_FLOOD, PACE_WAIT };

struct trial {
	uint16_t id;
	uint16_t size; // 0: IMIX
	enum pace pace;
	double per_tick; // frames
	uint64_t frames, ticks; // limits
};

struct result {
	uint64_t offered, refused, received, duplicates, reordered;
	uint64_t other; // frames that are none of this trial
	uint64_t pauses; // PFC and PAUSE frames from the device
	uint64_t send_ticks, gaps, gap_ticks, gap_max_ticks;
	uint64_t latency_max, latency_min, latency[BUCKETS];
};

struct generator {
	uint16_t ports[N_PORTS];
	uint16_t n_rx_queues; // of the receiving port: a device may send by several
	struct rte_mempool *pool;
	struct rte_mbuf *templates[N_TEMPLATES];
	uint64_t *seen; // one bit for each number
	uint64_t next_expected;
	uint16_t trial_id;
	sem_t done; // posted by the worker after a trial
	struct trial trial;
	struct result result;
};

static int failed(const char *what, const char *why)
{
	fprintf(stderr, "weir-generator: %s: %s\n", what, why);
	return -1;
}

// ---- frames

static uint16_t length_of(const struct trial *t, uint64_t i)
{
	return (uint16_t)((t->size != 0 ? t->size : imix[i % IMIX_FRAMES]) - FCS);
}

static void put_headers(uint8_t *frame, unsigned from, unsigned flow, uint16_t len)
{
	struct eth_hdr *eth = (void *)frame;
	struct ipv4_hdr *ip = (void *)(eth + 1);
	struct udp_hdr *udp = (void *)(ip + 1);

	memset(frame, 0, len);
	traffic_mac(from, flow, eth->src);
	traffic_mac(from ^ 1, flow, eth->dst);
	be16_put(&eth->type, ETYPE_IPV4);
	ip->ver_ihl = 0x45;
	ip->tos = TRAFFIC_DSCP << 2;
	be16_put(&ip->total_len, (uint16_t)(len - sizeof(*eth)));
	ip->ttl = 64;
	ip->proto = IP_PROTO_UDP;
	be32_put(&ip->src, 198u << 24 | (18 + from) << 16 | (flow + 1)); // RFC 2544, C.2.2
	be32_put(&ip->dst, 198u << 24 | (18 + (from ^ 1)) << 16 | (flow + 1));
	be16_put(&udp->sport, (uint16_t)(UDP_PORT + flow));
	be16_put(&udp->dport, UDP_PORT);
	be16_put(&udp->len, (uint16_t)(len - sizeof(*eth) - sizeof(*ip)));
	ip->csum.b[0] = ip->csum.b[1] = 0;
	*(uint16_t *)(void *)&ip->csum = rte_ipv4_cksum((const struct rte_ipv4_hdr *)(void *)ip);
}

static void set_length(struct rte_mbuf *m, uint16_t len)
{
	m->data_len = len;
	m->pkt_len = len;
}

static void make_templates(struct generator *g)
{
	for (unsigned i = 0; i < N_TEMPLATES; i++) {
		uint16_t len = length_of(&g->trial, i);

		set_length(g->templates[i], len);
		put_headers(rte_pktmbuf_mtod(g->templates[i], uint8_t *), TX, i % N_FLOWS, len);
	}
}

static struct stamp *stamp_of(struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(m, struct stamp *, STAMP_AT);
}

// ---- sending. The driver gives up one reference of a frame, so that the template stays.

static unsigned send_burst(struct generator *g, unsigned n, uint64_t now)
{
	struct rte_mbuf *out[BURST];
	struct result *r = &g->result;
	unsigned sent;

	for (unsigned i = 0; i < n; i++) {
		out[i] = g->templates[(r->offered + i) % N_TEMPLATES];
		rte_mbuf_refcnt_set(out[i], 2);
		*stamp_of(out[i]) = (struct stamp){g->trial.id, r->offered + i, now};
	}
	sent = rte_eth_tx_burst(g->ports[TX], 0, out, (uint16_t)n);
	if (g->trial.pace == PACE_WAIT) {
		r->offered += sent;
	} else {
		r->offered += n;
		r->refused += n - sent;
	}
	return sent;
}

static unsigned due(const struct generator *g, uint64_t elapsed)
{
	const struct trial *t = &g->trial;
	uint64_t n = BURST;

	if (t->pace == PACE_RATE) {
		uint64_t until_now = (uint64_t)((double)elapsed * t->per_tick);

		n = until_now > g->result.offered ? until_now - g->result.offered : 0;
	}
	if (t->frames != 0)
		n = RTE_MIN(n, t->frames - g->result.offered);
	return (unsigned)RTE_MIN(RTE_MIN(n, max_frames - g->result.offered), (uint64_t)BURST);
}

// ---- receiving

static unsigned bucket_of(uint64_t v)
{
	unsigned shift;

	if (v < SUBS)
		return (unsigned)v;
	shift = 63 - (unsigned)__builtin_clzll(v) - SUB_BITS;
	return (shift + 1) * SUBS + (unsigned)(v >> shift) - SUBS;
}

// The least value of a bucket.
static uint64_t value_of(unsigned bucket)
{
	unsigned octave = bucket / SUBS;

	return octave == 0 ? bucket : (uint64_t)(SUBS + bucket % SUBS) << (octave - 1);
}

static void count_frame(struct generator *g, const struct rte_mbuf *m, uint64_t now)
{
	const struct stamp *s = rte_pktmbuf_mtod_offset(m, const struct stamp *, STAMP_AT);
	const struct eth_hdr *eth = rte_pktmbuf_mtod(m, const struct eth_hdr *);
	struct result *r = &g->result;
	uint64_t took;

	if (be16_get(&eth->type) != ETYPE_IPV4 || s->trial != g->trial.id ||
	    s->seq >= r->offered) {
		r->other++;
		return;
	}
	r->received++;
	r->duplicates += g->seen[s->seq / 64] >> (s->seq % 64) & 1;
	g->seen[s->seq / 64] |= UINT64_C(1) << (s->seq % 64);
	r->reordered += s->seq < g->next_expected;
	g->next_expected = s->seq + 1;
	took = now - s->tsc;
	r->latency[bucket_of(took)]++;
	r->latency_max = RTE_MAX(r->latency_max, took);
	r->latency_min = RTE_MIN(r->latency_min, took);
}

static unsigned receive(struct generator *g)
{
	struct rte_mbuf *in[BURST];
	unsigned all = 0;

	for (uint16_t q = 0; q < g->n_rx_queues; q++) {
		unsigned n = rte_eth_rx_burst(g->ports[RX], q, in, BURST);
		uint64_t now = rte_rdtsc();

		for (unsigned i = 0; i < n; i++)
			count_frame(g, in[i], now);
		rte_pktmbuf_free_bulk(in, n);
		all += n;
	}
	return all;
}

// The port that sends receives only what the device makes itself: PFC, and copies of the warm-up.
static unsigned receive_other(struct generator *g, unsigned port)
{
	struct rte_mbuf *in[BURST];
	unsigned warm = 0;

	for (uint16_t q = 0; q < g->n_rx_queues; q++) {
		unsigned n = rte_eth_rx_burst(g->ports[port], q, in, BURST);

		for (unsigned i = 0; i < n; i++) {
			const struct eth_hdr *eth = rte_pktmbuf_mtod(in[i], const struct eth_hdr *);
			uint16_t type = be16_get(&eth->type);

			g->result.pauses += type == ETYPE_MAC_CONTROL;
			warm += type == ETYPE_IPV4 && stamp_of(in[i])->trial == 0;
		}
		rte_pktmbuf_free_bulk(in, n);
	}
	return warm;
}

// ---- a trial

// One frame of each flow in both directions: the device learns addresses and makes its flow
// entries. Returns whether the device forwards in both directions.
static bool warm_up(struct generator *g)
{
	uint64_t end = rte_rdtsc() + rte_get_tsc_hz() / 1000 * WARM_MS;
	unsigned missing[N_PORTS];

	for (unsigned port = 0; port < N_PORTS; port++) {
		missing[port ^ 1] = N_FLOWS;
		for (unsigned flow = 0; flow < N_FLOWS; flow++) {
			struct rte_mbuf *m = rte_pktmbuf_alloc(g->pool);

			if (m == NULL)
				return false;
			set_length(m, 64 - FCS);
			put_headers(rte_pktmbuf_mtod(m, uint8_t *), port, flow, 64 - FCS);
			if (rte_eth_tx_burst(g->ports[port], 0, &m, 1) == 0)
				rte_pktmbuf_free(m);
		}
	}
	while (missing[TX] + missing[RX] > 0 && rte_rdtsc() < end)
		for (unsigned port = 0; port < N_PORTS; port++)
			missing[port] -= RTE_MIN(missing[port], receive_other(g, port));
	return missing[TX] < N_FLOWS && missing[RX] < N_FLOWS;
}

static void count_gap(struct result *r, uint64_t ticks)
{
	r->gaps++;
	r->gap_ticks += ticks;
	r->gap_max_ticks = RTE_MAX(r->gap_max_ticks, ticks);
}

static int run_trial(void *arg)
{
	struct generator *g = arg;
	const struct trial *t = &g->trial;
	struct result *r = &g->result;
	uint64_t gap = rte_get_tsc_hz() / 1000000 * GAP_US;
	uint64_t quiet = rte_get_tsc_hz() / 1000 * QUIET_MS, start, last, heard;
	bool sending = true;

	(void)warm_up(g);
	start = last = heard = rte_rdtsc();
	for (unsigned loops = 1; sending || last - heard < quiet; loops++) {
		uint64_t now = rte_rdtsc();

		if (sending && now - last > gap)
			count_gap(r, now - last);
		last = now;
		if (sending) {
			unsigned n = due(g, now - start - r->gap_ticks);

			if (n > 0 && send_burst(g, n, now) > 0)
				heard = now;
			r->send_ticks = now - start;
			sending = r->send_ticks < t->ticks && r->offered < max_frames &&
				  (t->frames == 0 || r->offered < t->frames);
		}
		if (receive(g) > 0)
			heard = now;
		if (loops % OTHER_EVERY == 0)
			(void)receive_other(g, TX);
	}
	sem_post(&g->done);
	return 0;
}

// ---- results

static uint64_t to_ns(uint64_t ticks)
{
	return (uint64_t)((double)ticks * SECOND_NS / (double)rte_get_tsc_hz());
}

// The latency that this share of the frames did not exceed, in ticks.
static uint64_t percentile(const struct result *r, double share)
{
	uint64_t below = 0, want = (uint64_t)(share * (double)r->received);

	for (unsigned i = 0; i < BUCKETS; i++) {
		below += r->latency[i];
		if (below > want)
			return RTE_MIN(value_of(i), r->latency_max);
	}
	return r->latency_max;
}

// Numbers that never came, and the longest row of them. Reads the bits, not the counters.
static uint64_t count_lost(const struct generator *g, uint64_t *longest)
{
	uint64_t lost = 0, row = 0;

	*longest = 0;
	for (uint64_t i = 0; i < g->result.offered; i++) {
		bool seen = g->seen[i / 64] >> (i % 64) & 1;

		row = seen ? 0 : row + 1;
		lost += !seen;
		*longest = RTE_MAX(*longest, row);
	}
	return lost;
}

static void print_result(const struct generator *g)
{
	const struct result *r = &g->result;
	uint64_t longest, lost = count_lost(g, &longest);

	printf("{\"offered\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"received\": %" PRIu64
	       ", \"lost\": %" PRIu64 ", \"longest_loss\": %" PRIu64 ", \"duplicates\": %" PRIu64
	       ", \"reordered\": %" PRIu64 ", \"other\": %" PRIu64 ", \"pauses\": %" PRIu64,
	       r->offered, r->refused, r->received, lost, longest, r->duplicates, r->reordered,
	       r->other, r->pauses);
	printf(", \"ns\": %" PRIu64 ", \"gaps\": %" PRIu64 ", \"gap_ns\": %" PRIu64
	       ", \"gap_max_ns\": %" PRIu64,
	       to_ns(r->send_ticks), r->gaps, to_ns(r->gap_ticks), to_ns(r->gap_max_ticks));
	if (r->received > 0)
		printf(", \"latency_ns\": {\"min\": %" PRIu64 ", \"p50\": %" PRIu64
		       ", \"p99\": %" PRIu64 ", \"p999\": %" PRIu64 ", \"max\": %" PRIu64 "}",
		       to_ns(r->latency_min), to_ns(percentile(r, 0.5)),
		       to_ns(percentile(r, 0.99)), to_ns(percentile(r, 0.999)),
		       to_ns(r->latency_max));
	puts("}");
	fflush(stdout);
}

// ---- the program

static int read_trial(const char *line, struct trial *t)
{
	char size[16], rate[32], *end;
	uint64_t us;

	if (sscanf(line, "%15s %31s %" SCNu64 " %" SCNu64, size, rate, &t->frames, &us) != 4)
		return failed(line, "expected SIZE RATE FRAMES MICROSECONDS");
	t->size = strcmp(size, "imix") == 0 ? 0 : (uint16_t)strtoul(size, NULL, 10);
	if (strcmp(size, "imix") != 0 && (t->size < 64 || t->size > 1518))
		return failed(size, "must be 64 to 1518, or imix");
	t->pace = strcmp(rate, "flood") == 0  ? PACE_FLOOD
		  : strcmp(rate, "wait") == 0 ? PACE_WAIT
					      : PACE_RATE;
	t->per_tick = t->pace == PACE_RATE ? strtod(rate, &end) / (double)rte_get_tsc_hz() : 0;
	if (t->pace == PACE_RATE && (*end != '\0' || !(t->per_tick > 0)))
		return failed(rate, "must be frames a second, flood, or wait");
	t->ticks = (uint64_t)((double)us * (double)rte_get_tsc_hz() / 1e6);
	return 0;
}

static int serve(struct generator *g)
{
	char line[128];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		memset(g->seen, 0, (g->result.offered + 63) / 64 * sizeof(*g->seen));
		g->result = (struct result){.latency_min = UINT64_MAX};
		g->next_expected = 0;
		if (read_trial(line, &g->trial) != 0)
			return -1;
		g->trial.id = g->trial_id = g->trial_id == UINT16_MAX ? 1 : g->trial_id + 1;
		make_templates(g);
		if (rte_eal_remote_launch(run_trial, g, live_worker_lcore(0)) != 0)
			return failed("the worker", "does not wait");
		sem_wait(&g->done); // rte_eal_wait_lcore() alone would take a core
		rte_eal_wait_lcore(live_worker_lcore(0));
		print_result(g);
	}
	return 0;
}

// ---- start

static int open_port(struct generator *g, const char *device, uint16_t *id)
{
	const struct rte_eth_conf conf = {0};
	char name[64];
	int err = rte_dev_probe(device);

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(device, ","), device);
	if (err == 0)
		err = rte_eth_dev_get_port_by_name(name, id);
	if (err == 0)
		err = rte_eth_dev_configure(*id, g->n_rx_queues, 1, &conf);
	for (uint16_t q = 0; q < g->n_rx_queues && err == 0; q++)
		err = rte_eth_rx_queue_setup(*id, q, RING, 0, NULL, g->pool);
	if (err == 0)
		err = rte_eth_tx_queue_setup(*id, 0, RING, 0, NULL);
	if (err == 0)
		err = rte_eth_dev_start(*id);
	return err == 0 ? 0 : failed(device, strerror(-err));
}

static bool link_is_up(uint16_t port)
{
	struct rte_eth_link link = {0};

	return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

// The device may see its links later than the generator.
static int wait_for_device(struct generator *g)
{
	uint64_t end = rte_rdtsc() + rte_get_tsc_hz() * START_S;

	while (rte_rdtsc() < end) {
		if (link_is_up(g->ports[TX]) && link_is_up(g->ports[RX]) && warm_up(g))
			return 0;
		poll(NULL, 0, 10);
	}
	return failed("start", "the device under test does not forward in both directions");
}

static int open_all(struct generator *g, int cpu, char *const *devices)
{
	struct live_text text = {0};
	struct live_eal_conf eal = {.worker_cpus = &cpu, .n_workers = 1};
	int err;

	eal.mem_bytes = live_pool_bytes(POOL_FRAMES, MAX_FRAME);
	err = live_eal_init("weir-generator", &eal, &text);
	if (err == 0)
		err = live_pool_create(POOL_FRAMES, MAX_FRAME, &g->pool, &text);
	fputs(text.note, stderr);
	if (err != 0)
		return failed("start", text.err);
	for (unsigned i = 0; i < N_PORTS; i++)
		if (open_port(g, devices[i], &g->ports[i]) != 0)
			return -1;
	g->seen = calloc(max_frames / 64, sizeof(*g->seen));
	if (g->seen == NULL || sem_init(&g->done, 0, 0) != 0 ||
	    rte_pktmbuf_alloc_bulk(g->pool, g->templates, N_TEMPLATES) != 0)
		return failed("start", "out of memory");
	return wait_for_device(g);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"cpu", required_argument, NULL, 'c'}, {"device", required_argument, NULL, 'd'},
		{"rx-queues", required_argument, NULL, 'q'}, {0},
	};
	static struct generator g = {.n_rx_queues = 1};
	char *devices[N_PORTS];
	int opt, cpu = 0, err = 0;
	unsigned n_devices = 0;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (opt == 'd' && n_devices < N_PORTS)
			devices[n_devices++] = optarg;
		else if (opt == 'c')
			cpu = atoi(optarg);
		else if (opt == 'q')
			g.n_rx_queues = (uint16_t)atoi(optarg);
		else
			err = -1;
	}
	if (err != 0 || n_devices != N_PORTS || g.n_rx_queues == 0 ||
	    g.n_rx_queues > MAX_RX_QUEUES) {
		fputs("usage: weir-generator --cpu CPU --device DEVICE --device DEVICE "
		      "[--rx-queues N]\n", stderr);
		return 2;
	}
	err = open_all(&g, cpu, devices);
	if (err == 0) {
		puts("ready");
		fflush(stdout);
		err = serve(&g);
	}
	live_eal_fini();
	return err == 0 ? 0 : 1;
}
