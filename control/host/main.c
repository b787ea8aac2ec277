// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <rte_mempool.h>

#include "control/base/standard_fds.h"
#include "control/base/stop.h"
#include "control/base/terminal.h"
#include "control/host/args.h"
#include "control/host/inof.h"
#include "control/host/storm.h"
#include "dataplane/base/units.h"
#include "dataplane/packet/wire.h"

enum {
	DEFAULT_SPEED_BPS = 1000000000,
	MIN_IP_MTU = 1500,
	ROCE_IP_OVERHEAD = 8 + 12 + 16 + 4, // UDP, BTH, RETH, iCRC
	L2_ROOM = 14 + 8,
	OWN_FRAMES = 512, // bursts, batches and queued control frames of the NIC
	MAX_PEERS = 256,
	EXIT_MISUSED = 2,
};

static void print_host_message(const char *text)
{
	if (text[0] != '\0')
		terminal_printf(stderr, "weir-host: %s\n", text);
}

// Notes come as lines of their own.
static void print_host_notes(char *notes)
{
	char *save = NULL;

	for (char *line = strtok_r(notes, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		print_host_message(line);
}

static uint32_t ip_mtu(const struct host_args *a)
{
	uint64_t ip = ip_key_is_zero(a->ip6) ? sizeof(struct ipv4_hdr) : sizeof(struct ipv6_hdr);

	return (uint32_t)max_u64((uint64_t)a->mtu + ip + ROCE_IP_OVERHEAD, MIN_IP_MTU);
}

static int open_host_port(struct host *h, struct rte_mempool **pool, struct live_text *text)
{
	const struct host_args *a = h->args;
	uint32_t max_frame = ip_mtu(a) + L2_ROOM;
	uint32_t frames = live_device_frames(a->device, 0, (uint32_t)a->rx_ring) + OWN_FRAMES;
	struct live_conf conf = {.max_frame = max_frame, .mtu = ip_mtu(a),
				 .rx_ring = (uint32_t)a->rx_ring,
				 .time_scale = (uint32_t)a->time_scale,
				 .take_over = true}; // an endpoint has the interface for itself
	struct live_eal_conf eal = {.mem_bytes = live_pool_bytes(frames, max_frame),
				    .extra = a->eal, .n_extra = a->n_eal};

	live_eal_device(&eal, a->device);
	if (live_eal_init("weir-host", &eal, text) != 0)
		return -1;
	if (live_pool_create(frames, max_frame, pool, text) != 0)
		return -1;
	conf.pool = *pool;
	return live_open(a->device, &conf, &h->port, text);
}

static uint64_t seed_of(const struct host_args *a)
{
	struct timespec t;

	if (a->seed >= 0)
		return (uint64_t)a->seed;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000007 ^ (uint64_t)t.tv_nsec << 20 ^ (uint64_t)getpid();
}

static uint64_t host_speed_bps(const struct host *h)
{
	uint64_t link = h->port.facts.speed_bps;

	if (h->args->speed != 0)
		return (uint64_t)h->args->speed;
	return link != 0 ? link : DEFAULT_SPEED_BPS;
}

static int make_nic(struct host *h, struct rte_mempool *pool)
{
	const struct host_args *a = h->args;
	struct nic_config c;

	nic_config_default(&c);
	c.ops = h->port.ops;
	c.drv = h->port.drv;
	c.pool = pool;
	c.facts = h->port.facts;
	c.ip = a->ip;
	c.ip6 = a->ip6;
	c.tag = (struct frame_tag){.on = a->vlan >= 0,
				   .vid = (uint16_t)(a->vlan < 0 ? 0 : a->vlan)};
	c.speed_bps = h->speed_bps;
	c.max_qps = (uint16_t)(a->inof != 0 ? max_u64((uint64_t)a->qps, HOST_MAX_PAIRS)
					    : (uint64_t)a->qps);
	c.max_peers = MAX_PEERS;
	c.window = (uint32_t)a->window;
	c.rto_ns = (uint64_t)a->rto_ns;
	c.retry_ns = (uint64_t)a->retry_ns;
	c.seed = seed_of(a);
	c.listen = a->listen;
	c.ignore_pause = a->ignore_pause;
	c.cc = a->cc;
	c.verify = !a->no_verify;
	host_args_classes(a, &c);
	c.trimmed_dscps = a->trimmed_dscps;
	c.selective = a->selective;
	if (a->burst_ns != 0)
		c.facts.shaper_burst_ns = (uint32_t)a->burst_ns;
	// A device may carry more than our frames' memory holds.
	c.facts.max_frame = (uint32_t)min_u64(c.facts.max_frame, ip_mtu(a) + L2_ROOM);
	if (a->inof != 0 && host_inof_create(h, &c.hooks) != 0)
		return -1;
	return nic_create(&c, &h->nic);
}

static int with_port(struct host *h)
{
	struct live_text text = {0};
	struct rte_mempool *pool = NULL;
	const char *wrong;
	int rc = 1;

	if (open_host_port(h, &pool, &text) != 0) {
		print_host_notes(text.note);
		print_host_message(text.err);
		goto out;
	}
	print_host_notes(text.note);
	wrong = cc_config_wrong(&h->args->cc, host_speed_bps(h));
	if (wrong != NULL) {
		fprintf(stderr, "weir-host: --cc %s; see --cc-set and --speed\n", wrong);
		goto out_port;
	}
	h->speed_bps = host_speed_bps(h);
	wrong = host_storm_wrong(h);
	if (wrong != NULL) {
		print_host_message(wrong);
		goto out_port;
	}
	if (make_nic(h, pool) != 0) {
		print_host_message(
			"not enough memory for the queue pairs; request fewer with --qps");
		goto out_port;
	}
	nic_set_pfc(h->nic, h->args->pfc);
	fprintf(stderr, "ready\n");
	rc = host_run(h);
	if (rc == 0)
		rc = host_storm_judge(h);
	host_report(h, stdout);
	print_host_message(h->error);
	nic_destroy(h->nic);
out_port:
	host_inof_destroy(h);
	live_close(&h->port);
out:
	rte_mempool_free(pool);
	live_eal_fini();
	return rc;
}

int main(int argc, char **argv)
{
	static struct host h;
	struct host_args args;

	standard_fds_open();
	if (opts_completion(&host_opts, argc, argv))
		return 0;
	if (!host_args_parse(argc, argv, &args))
		return EXIT_MISUSED;
	if (args.version) {
		puts("weir-host " WEIR_VERSION);
		return 0;
	}
	if (args.help) {
		host_args_help(stdout);
		return 0;
	}
	stop_catch(0, NULL);
	// Sleeps of microseconds are meant as such.
	prctl(PR_SET_TIMERSLACK, 1UL);
	h.args = &args;
	return with_port(&h);
}
