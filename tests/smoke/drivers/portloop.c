// SPDX-License-Identifier: Apache-2.0
// The drivers under test without a switch between them: opens one or two devices, hands what port i
// receives to port 1-i, and obeys lines on standard input, one answer line each. The script beside
// it makes the interfaces, sends the frames and judges. Everything runs on the main lcore.
//
//   portloop [-a] [-f MAX_FRAME] [-m MTU] [-r RX_RING] [-t TX_BYTES] [-k KEEP]... DEVICE [DEVICE]
//            [-- EAL arguments]
//
// -a: each xdp: port has memory of its own.
//
//   hold P, go P     stop or resume receiving on port P
//   move P N         cut N bytes off the front of frames received on port P (0: none)
//   depth P          receive depth
//   watch P          reads the receive depth in each round from now on, as a switch does
//   stats P          everything the driver tells
//   send P N LEN [pfc]   offers N frames while tx_room allows (pfc: regardless)
//   pause P C        what the driver saw of PFC in class C
//   keep P [WORD]... keeps only these for the host's stack from now on
//   reasons P        frames that did not come through the ring
//   bad P            offers frames that no driver may send: a chain, a clone, a runt
//   chain P LEN      offers a chain of two buffers, as a device of DPDK may receive it
//   take P           the bus reports that the device was taken away
//   quit             closes the ports and counts the pool
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "drivers/live.h"

enum {
	BURST = 32,
	HELD_MAX = 65536,
	POOL_SPARE = 1024,
	POLLS_PER_COMMAND = 64,
	LINE_LEN = 128,
	PFC_TYPE = 0x8808,
};

struct port {
	struct live_port live;
	const char *name; // without its prefix
	bool open, held, watched;
	uint64_t rx, tx;
	uint16_t cut;
	struct rte_mbuf *wait[HELD_MAX]; // taken from the peer, refused by tx so far
	uint32_t n_wait;
};

struct loop {
	struct port port[2];
	unsigned n_ports;
	struct rte_mempool *pool;
	struct live_conf conf;
	struct keep keep;
	char line[LINE_LEN];
	size_t line_len;
	bool quit;
};

// ---- forwarding

static void transmit(struct port *p)
{
	uint32_t n = 0;
	int32_t room = p->live.ops->tx_room(p->live.drv);

	while (n < p->n_wait && n < BURST && (int32_t)p->wait[n]->pkt_len <= room)
		room -= (int32_t)p->wait[n++]->pkt_len;
	if (n == 0)
		return;
	n = p->live.ops->tx(p->live.drv, p->wait, (uint16_t)n);
	p->n_wait -= n;
	p->tx += n;
	memmove(p->wait, p->wait + n, p->n_wait * sizeof(p->wait[0]));
}

static void forward(struct port *from, struct port *to)
{
	if (from->watched)
		(void)from->live.ops->rx_depth(from->live.drv);
	if (!from->held && to->n_wait + BURST <= HELD_MAX) {
		uint16_t n = from->live.ops->rx(from->live.drv, to->wait + to->n_wait, BURST);

		for (uint16_t i = 0; i < n && from->cut > 0; i++)
			(void)rte_pktmbuf_adj(to->wait[to->n_wait + i], from->cut);
		from->rx += n;
		to->n_wait += n;
	}
	transmit(to);
}

// ---- commands

static struct rte_mbuf *make(struct loop *l, uint32_t len, uint16_t type)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(l->pool);

	if (m == NULL)
		return NULL;
	memset(rte_pktmbuf_append(m, (uint16_t)len), 0, len);
	if (len >= RTE_ETHER_HDR_LEN)
		rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->ether_type = rte_cpu_to_be_16(type);
	return m;
}

static void send_frames(struct loop *l, struct port *p, unsigned n, unsigned len, bool pfc)
{
	unsigned taken = 0;

	for (; taken < n; taken++) {
		struct rte_mbuf *m = make(l, len, pfc ? PFC_TYPE : RTE_ETHER_TYPE_IPV4);

		if (m == NULL)
			break;
		if ((!pfc && p->live.ops->tx_room(p->live.drv) < (int32_t)len) ||
		    p->live.ops->tx(p->live.drv, &m, 1) != 1) {
			rte_pktmbuf_free(m);
			break;
		}
	}
	printf("taken=%u room=%d pending=%u\n", taken, p->live.ops->tx_room(p->live.drv),
	       p->live.ops->tx_pending(p->live.drv));
}

static void send_bad(struct loop *l, struct port *p)
{
	struct rte_mbuf *whole = make(l, 100, RTE_ETHER_TYPE_IPV4);
	struct rte_mbuf *bad[3] = {make(l, 100, RTE_ETHER_TYPE_IPV4),
				   rte_pktmbuf_clone(whole, l->pool),
				   make(l, RTE_ETHER_HDR_LEN - 1, 0)};

	(void)rte_pktmbuf_chain(bad[0], make(l, 100, 0));
	printf("taken=%u\n", p->live.ops->tx(p->live.drv, bad, RTE_DIM(bad)));
	rte_pktmbuf_free(whole);
}

static void send_chain(struct loop *l, struct port *p, unsigned len)
{
	struct rte_mbuf *m = make(l, len - len / 2, RTE_ETHER_TYPE_IPV4);

	(void)rte_pktmbuf_chain(m, make(l, len / 2, 0));
	printf("taken=%u\n", p->live.ops->tx(p->live.drv, &m, 1));
}

static void take_away(const struct port *p)
{
	rte_dev_event_callback_process(p->name, RTE_DEV_EVENT_REMOVE);
	printf("gone=%d\n", p->live.ops->gone(p->live.drv));
}

static void print_stats(const struct port *p)
{
	const struct port_ops *ops = p->live.ops;
	struct port_drv_stats st;

	ops->stats(p->live.drv, &st);
	printf("rx=%" PRIu64 " tx=%" PRIu64 " missed=%" PRIu64 " tx_errors=%" PRIu64
	       " to_kernel=%" PRIu64 " room=%d pending=%u up=%d\n",
	       p->rx, p->tx, st.rx_missed, st.tx_errors, st.rx_to_kernel,
	       ops->tx_room(p->live.drv), ops->tx_pending(p->live.drv),
	       ops->link_up(p->live.drv));
}

static void set_keep(const struct port *p, const char *words)
{
	struct live_text text = {0};
	struct keep k = {0};
	const char *why = "";
	char word[16];
	int used, rc = 0;

	for (; rc == 0 && sscanf(words, "%15s%n", word, &used) == 1; words += used)
		rc = keep_add(&k, word, &why) ? 0 : 1;
	if (rc == 0)
		rc = live_set_keep(&p->live, &k, true, &text);
	printf("rc=%d\n", rc);
}

static void print_reasons(const struct port *p)
{
	struct port_reason r[PORT_REASONS_MAX];
	unsigned n = 0;

	if (p->live.ops->reasons != NULL)
		n = p->live.ops->reasons(p->live.drv, r, PORT_REASONS_MAX);
	for (unsigned i = 0; i < n; i++)
		printf("%s=%" PRIu64 " ", r[i].name, r[i].frames);
	printf("\n");
}

static void print_pause(const struct port *p, unsigned cls)
{
	struct port_pause pause = {0};
	bool known = p->live.ops->pause != NULL &&
		     p->live.ops->pause(p->live.drv, cls, &pause);

	printf("known=%d seq=%u quanta=%u\n", known, pause.seq, pause.quanta);
}

static void command(struct loop *l)
{
	char verb[16] = "", flag[8] = "";
	unsigned i = 0, n = 0, len = 0;
	struct port *p;

	sscanf(l->line, "%15s %u %u %u %7s", verb, &i, &n, &len, flag);
	if (strcmp(verb, "quit") == 0) {
		l->quit = true;
		return;
	}
	p = &l->port[i % l->n_ports];
	if (strcmp(verb, "hold") == 0 || strcmp(verb, "go") == 0) {
		p->held = verb[0] == 'h';
		printf("ok\n");
	} else if (strcmp(verb, "move") == 0) {
		p->cut = (uint16_t)n;
		printf("ok\n");
	} else if (strcmp(verb, "depth") == 0) {
		printf("depth=%d\n", p->live.ops->rx_depth(p->live.drv));
	} else if (strcmp(verb, "watch") == 0) {
		p->watched = true;
		printf("ok\n");
	} else if (strcmp(verb, "stats") == 0) {
		print_stats(p);
	} else if (strcmp(verb, "pause") == 0) {
		print_pause(p, n % 8);
	} else if (strcmp(verb, "keep") == 0) {
		set_keep(p, l->line + strlen("keep 0"));
	} else if (strcmp(verb, "reasons") == 0) {
		print_reasons(p);
	} else if (strcmp(verb, "send") == 0) {
		send_frames(l, p, n, len, flag[0] != '\0');
	} else if (strcmp(verb, "bad") == 0) {
		send_bad(l, p);
	} else if (strcmp(verb, "chain") == 0) {
		send_chain(l, p, n);
	} else if (strcmp(verb, "take") == 0) {
		take_away(p);
	} else {
		printf("unknown command\n");
	}
}

static void poll_commands(struct loop *l)
{
	char c;
	ssize_t got;

	while ((got = read(STDIN_FILENO, &c, 1)) == 1) {
		if (c != '\n') {
			if (l->line_len + 1 < sizeof(l->line))
				l->line[l->line_len++] = c;
			continue;
		}
		l->line[l->line_len] = '\0';
		l->line_len = 0;
		command(l);
		fflush(stdout);
	}
	if (got == 0)
		l->quit = true;
}

static void run(struct loop *l)
{
	while (!l->quit) {
		for (unsigned k = 0; k < POLLS_PER_COMMAND; k++)
			for (unsigned i = 0; i < l->n_ports; i++)
				forward(&l->port[i], &l->port[l->n_ports - 1 - i]);
		poll_commands(l);
	}
}

// ---- set-up

static int open_ports(struct loop *l, char **devices, struct live_text *text)
{
	for (unsigned i = 0; i < l->n_ports; i++) {
		struct port *p = &l->port[i];
		int rc = live_open(devices[i], &l->conf, &p->live, text);

		if (rc != 0)
			return rc;
		p->open = true;
		p->name = strchr(devices[i], ':') + 1;
		const struct port_facts *f = &p->live.facts;

		printf("port=%s speed=%" PRIu64 " rx_ring=%u tx_ring_bytes=%u depth=%d pfc=%d%d "
		       "mac=" RTE_ETHER_ADDR_PRT_FMT "\n",
		       devices[i], f->speed_bps, f->rx_ring, f->tx_ring_bytes,
		       f->rx_depth_readable, f->pfc_rx, f->pfc_tx, f->mac[0], f->mac[1], f->mac[2],
		       f->mac[3], f->mac[4], f->mac[5]);
	}
	return 0;
}

static void close_ports(struct loop *l)
{
	for (unsigned i = 0; i < l->n_ports; i++) {
		struct port *p = &l->port[i];

		rte_pktmbuf_free_bulk(p->wait, p->n_wait);
		if (p->open)
			live_close(&p->live);
	}
}

static int start(struct loop *l, char **devices, struct live_eal_conf *eal, struct live_text *text)
{
	uint32_t frames = POOL_SPARE;
	int rc;

	for (unsigned i = 0; i < l->n_ports; i++) {
		frames += live_device_frames(devices[i], l->conf.tx_ring_bytes, l->conf.rx_ring);
		live_eal_device(eal, devices[i]);
	}
	eal->mem_bytes = live_pool_bytes(frames, l->conf.max_frame);
	rc = live_eal_init("portloop", eal, text);
	if (rc == 0)
		rc = live_pool_create(frames, l->conf.max_frame, &l->pool, text);
	l->conf.pool = l->pool;
	if (rc == 0)
		rc = open_ports(l, devices, text);
	return rc;
}

static void options(struct loop *l, int argc, char **argv)
{
	const char *why;
	int c;

	l->conf.max_frame = 1522;
	l->conf.take_over = true;
	while ((c = getopt(argc, argv, "+af:k:m:r:t:")) != -1) {
		uint32_t v = (uint32_t)strtoul(optarg != NULL ? optarg : "0", NULL, 10);

		if (c == 'a')
			l->conf.apart = true;
		else if (c == 'f')
			l->conf.max_frame = v;
		else if (c == 'm')
			l->conf.mtu = v;
		else if (c == 'r')
			l->conf.rx_ring = v;
		else if (c == 't')
			l->conf.tx_ring_bytes = v;
		else if (c == 'k' && keep_add(&l->keep, optarg, &why))
			l->conf.keep = &l->keep;
		else
			exit(2);
	}
}

int main(int argc, char **argv)
{
	struct loop *l = calloc(1, sizeof(*l));
	struct live_text text = {0};
	struct live_eal_conf eal = {0};
	int rc, at;

	if (l == NULL)
		return 1;
	options(l, argc, argv);
	for (at = optind; at < argc && strcmp(argv[at], "--") != 0; at++)
		l->n_ports++;
	if (l->n_ports < 1 || l->n_ports > 2)
		return 2;
	eal.extra = argv + at + 1;
	eal.n_extra = at < argc ? argc - at - 1 : 0;
	rc = start(l, argv + optind, &eal, &text);
	fputs(text.note, stderr);
	if (rc == 0) {
		printf("ready\n");
		fflush(stdout);
		fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
		run(l);
	} else {
		fprintf(stderr, "error: %s\n", text.err);
	}
	close_ports(l);
	if (l->pool != NULL)
		printf("missing=%u\n", l->pool->size - rte_mempool_avail_count(l->pool));
	rte_mempool_free(l->pool);
	free(l);
	return rc == 0 ? 0 : 1;
}
