// SPDX-License-Identifier: Apache-2.0
#include "source_root.h"
#include "tests/fuzz/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "control/daemon/daemon.h"
#include "dataplane/worker.h"
#include "tests/eal.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/net.h"
#include "tests/fuzz/world.h"

enum { POOL = 4095, PORTS = 2, PASSES = 3, START_NS = 1000000000,
       MAX_WORK = 20, FRAME_LEN = 60, WORLD_BYTES = 32 << 20 };

// From the port without frames only the harness's own come.
struct fuzz_port {
	struct fuzz_daemon *d;
	uint32_t waiting; // frames to be received
};

struct fuzz_daemon {
	struct daemon d;
	struct options opt;
	struct live_port ports[PORTS];
	struct fuzz_port port[PORTS];
	uint64_t now_ns;
};

static struct world *world;
static struct fuzz_daemon *made; // in the world
static int first_free_fd;

static struct rte_mempool *pool;
static FILE *nowhere;

// ---- the ports

static uint16_t port_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	// A broadcast of IPv4, so that all of the switch's way is walked.
	static const uint8_t start[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1,
					0x08, 0x00, 0x45, 0x62, 0, 46};
	struct fuzz_port *p = drv;
	uint16_t got = 0;

	for (; got < n && p->waiting != 0; got++, p->waiting--) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
		char *at = m == NULL ? NULL : rte_pktmbuf_append(m, FRAME_LEN);

		if (at == NULL)
			break;
		memset(at, 0, FRAME_LEN);
		memcpy(at, start, sizeof(start));
		pkts[got] = m;
	}
	return got;
}

static int32_t port_depth(void *drv)
{
	const struct fuzz_port *p = drv;

	return (int32_t)p->waiting;
}

static int32_t port_room(void *drv)
{
	(void)drv;
	return PORT_ROOM_ANY;
}

static uint16_t port_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	(void)drv;
	for (uint16_t i = 0; i < n; i++)
		rte_pktmbuf_free(pkts[i]);
	return n;
}

static uint32_t port_pending(void *drv)
{
	(void)drv;
	return 0;
}

static void port_stats(void *drv, struct port_drv_stats *out)
{
	(void)drv;
	*out = (struct port_drv_stats){0};
}

static bool port_up(void *drv)
{
	(void)drv;
	return true;
}

static const struct port_ops ops = {
	.rx = port_rx, .rx_depth = port_depth, .tx_room = port_room, .tx = port_tx,
	.tx_pending = port_pending, .stats = port_stats, .link_up = port_up,
};

// ---- what an input must leave as it was

static int lowest_free_fd(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

	close(fd);
	return fd;
}

// ---- threads: their work is done at the next step, so each run is alike

struct work {
	void *(*fn)(void *arg);
	void *arg;
};

static struct work waiting[MAX_WORK];
static unsigned n_waiting;

int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_detach(pthread_t t);

// The fuzzer's own threads, and EAL's, begin before the daemon is made.
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	if (made == NULL)
		return __real_pthread_create(t, attr, fn, arg);
	if (n_waiting == MAX_WORK)
		return EAGAIN;
	waiting[n_waiting++] = (struct work){fn, arg};
	*t = pthread_self();
	return 0;
}

int __wrap_pthread_detach(pthread_t t)
{
	(void)t;
	return 0;
}

static void work(void)
{
	for (unsigned i = 0; i < n_waiting; i++)
		(void)waiting[i].fn(waiting[i].arg);
	n_waiting = 0;
}

// ---- up and down

static void open_switch(struct fuzz_daemon *f)
{
	struct daemon *d = &f->d;
	struct switch_port sp[PORTS];
	struct diags said = {0};

	FUZZ_CHECK(config_load_text(f->opt.policy_path, &d->in.config, &d->policy_text, &said) ==
		   0);
	d->n_open = config_n_ports(d->in.config);
	FUZZ_CHECK(d->n_open == PORTS);
	for (unsigned i = 0; i < PORTS; i++) {
		f->port[i].d = f;
		f->ports[i] = (struct live_port){
			.ops = &ops, .drv = &f->port[i],
			.facts = {.mac = {2, 0, 0, 0, 1, (uint8_t)i}, .max_frame = 2000,
				  .rx_ring = 64, .rx_depth_readable = true, .pfc_rx = true,
				  .pfc_tx = true}};
		sp[i] = (struct switch_port){.ops = f->ports[i].ops, .drv = f->ports[i].drv,
					     .facts = f->ports[i].facts};
	}
	FUZZ_CHECK(compile_for_ports(d, d->in.config, &d->in.policy, &said) == 0);
	diags_fini(&said);
	FUZZ_CHECK(switch_create(d->in.policy, sp, pool, 1, &d->in.sw) == 0);
}

static void open_control(struct fuzz_daemon *f)
{
	struct daemon *d = &f->d;
	char err[256];

	FUZZ_CHECK(observe_create(&d->in, &d->observe) == 0);
	FUZZ_CHECK(eventlog_create(d->in.policy, &d->log) == 0);
	FUZZ_CHECK(reload_create(d, &d->reload) == 0);
	FUZZ_CHECK(cnplog_create(&d->cnps) == 0);
	FUZZ_CHECK(instance_open(&d->in, err, sizeof(err)) == 0);
	FUZZ_CHECK(requests_create(d, net_listener(), &d->requests) == 0);
}

// As of the daemon, but for its clock and its entropy: each run is alike.
static struct instance_ops ops_without_luck;

// Once; the daemon of each input begins as this one is now.
static void make(void)
{
	struct fuzz_daemon *f;

	world = world_begin(WORLD_BYTES);
	f = calloc(1, sizeof(*f));
	FUZZ_CHECK(f != NULL);
	f->now_ns = START_NS;
	f->opt.policy_path = SOURCE_ROOT "/tests/fuzz/policies/a.yaml";
	f->d.opt = &f->opt;
	ops_without_luck = daemon_instance_ops;
	ops_without_luck.read_clocks = NULL;
	ops_without_luck.inof_seeds = NULL;
	f->d.ports = f->ports;
	f->d.in.ops = &ops_without_luck;
	f->d.in.arg = &f->d;
	f->d.pool = pool;
	open_switch(f);
	open_control(f);
	world_seal(world);
	made = f;
}

struct fuzz_daemon *fuzz_daemon_open(void)
{
	if (made == NULL)
		make();
	else
		(void)net_listener();
	world_enter(world);
	first_free_fd = lowest_free_fd();
	return made;
}

void fuzz_daemon_close(struct fuzz_daemon *f)
{
	struct daemon *d = &f->d;
	struct balance b;

	work();
	requests_destroy(d->requests);
	b = switch_balance(d->in.sw);
	FUZZ_CHECK(balance_begun(&b) == balance_ended(&b));
	instance_close(&d->in);
	switch_destroy(d->in.sw);
	reload_destroy(d->reload);
	cnplog_destroy(d->cnps);
	eventlog_destroy(d->log);
	observe_destroy(d->observe);
	instance_fini(&d->in);
	free(d->policy_text);
	FUZZ_CHECK(rte_mempool_avail_count(pool) == POOL);
	FUZZ_CHECK(net_n_open() == 0 && lowest_free_fd() == first_free_fd);
	free(f);
	world_end(world);
}

// ---- running

static void workers_step(struct fuzz_daemon *f)
{
	f->port[0].waiting++;
	for (unsigned pass = 0; pass < PASSES; pass++)
		for (unsigned i = 0; i < switch_n_workers(f->d.in.sw); i++)
			(void)worker_step(switch_worker(f->d.in.sw, i), f->now_ns);
}

// The turn of the control loop, in the order of loop.c. What it logs goes nowhere.
static void control_step(struct fuzz_daemon *f)
{
	struct daemon *d = &f->d;

	instance_collect(&d->in, f->now_ns);
	eventlog_tick(d->log, f->now_ns);
	cnplog_poll(d->cnps, d->in.sw, f->now_ns);
	observe_sample(d->observe, f->now_ns);
	reload_poll(d->reload, f->now_ns);
	instance_hear(&d->in, f->now_ns);
	instance_act(&d->in, f->now_ns);
	requests_poll(d->requests, 0, f->now_ns);
}

void fuzz_daemon_step(struct fuzz_daemon *f, uint64_t for_ns, bool workers)
{
	FILE *err = stderr;

	f->now_ns += for_ns;
	work();
	if (workers)
		workers_step(f);
	stderr = nowhere;
	control_step(f);
	stderr = err;
}

uint64_t fuzz_daemon_received(const struct fuzz_daemon *f)
{
	return switch_balance(f->d.in.sw).received;
}

// A filter may name a host; the fuzzer's names are not to be asked for.
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		struct addrinfo **res)
{
	(void)node;
	(void)service;
	(void)hints;
	(void)res;
	return EAI_NONAME;
}

void fuzz_daemon_init(void)
{
	static char *args[] = {"fuzz", "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry",
			       "--log-level=critical", "-m", "128", "-l", "0", NULL};

	nowhere = fopen("/dev/null", "w");
	FUZZ_CHECK(nowhere != NULL && eal_init_unbound(10, args) >= 0);
	pool = rte_pktmbuf_pool_create("fuzz", POOL, 0, 0, 2048 + 128, SOCKET_ID_ANY);
	FUZZ_CHECK(pool != NULL);
}
