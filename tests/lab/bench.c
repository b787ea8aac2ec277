// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "control/config/config.h"
#include "control/config/port_open.h"
#include "dataplane/policy.h"
#include "dataplane/port_ops.h"
#include "dataplane/qos/shaper.h"
#include "dataplane/worker.h"
#include "tests/eal.h"

enum { POOL_FRAMES = 65535, START_NS = 1000000, CHANGE_LOOK_NS = 500 };

static struct rte_mempool *pool; // one per process: EAL starts once
static unsigned n_opened;

int bench_eal(void **state)
{
	static char *argv[] = {"test", "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry",
			       "--log-level=critical", "-m", "1024", "-l", "0", NULL};

	(void)state;
	if (pool != NULL)
		return 0;
	if (eal_init_unbound(10, argv) < 0)
		return -1;
	pool = rte_pktmbuf_pool_create("bench", POOL_FRAMES, 0, 0, 4096 + 128, SOCKET_ID_ANY);
	return pool == NULL ? -1 : 0;
}

static void print_diags(const struct diags *d)
{
	for (unsigned i = 0; i < d->n; i++)
		print_error("%s\n", d->lines[i]);
}

static struct config *load(const char *yaml)
{
	struct diags d = {0};
	struct config *c = NULL;

	if (config_parse("bench.yaml", yaml, strlen(yaml), &c, &d) != 0) {
		print_diags(&d);
		fail_msg("the policy does not parse");
	}
	diags_fini(&d);
	return c;
}

unsigned bench_workers(void)
{
	const char *n = getenv("WEIR_WORKERS");

	return n == NULL ? 1 : (unsigned)strtoul(n, NULL, 10);
}

static struct policy *compile(const struct config *c, const struct port_facts *facts)
{
	struct diags d = {0};
	struct policy *p = NULL;

	if (config_compile(c, facts, &p, &d) != 0) {
		print_diags(&d);
		fail_msg("the policy does not compile");
	}
	config_small_flows(c, p);
	diags_fini(&d);
	if (p->n_workers == 1)
		p->n_workers = bench_workers();
	return p;
}

// ---- the host

static void *grown(void *mem, uint32_t *capacity, size_t elem)
{
	*capacity = *capacity == 0 ? 256 : 2 * *capacity;
	mem = realloc(mem, *capacity * elem);
	assert_non_null(mem);
	return mem;
}

static void record(struct bench_rx **list, uint32_t *n, uint32_t *capacity,
		   const struct rte_mbuf *m, uint64_t now_ns)
{
	struct bench_rx *r;

	if (*n == *capacity)
		*list = grown(*list, capacity, sizeof(**list));
	r = &(*list)[(*n)++];
	*r = (struct bench_rx){.t_ns = now_ns, .len = (uint16_t)m->pkt_len};
	memcpy(r->data, rte_pktmbuf_mtod(m, void *),
	       m->pkt_len < BENCH_KEEP ? m->pkt_len : BENCH_KEEP);
}

struct pfc_times bench_pfc_times(const struct bench_rx *rx)
{
	struct pfc_times t = {0};

	enum mac_ctrl kind = mac_ctrl_parse(rx->data, rx->len, &t);

	assert_true(kind == MAC_CTRL_PFC || kind == MAC_CTRL_PAUSE_8023X);
	return t;
}

static void host_pfc(struct bench_host *h, const struct bench_rx *rx)
{
	struct pfc_times t = bench_pfc_times(rx);
	uint64_t speed = h->pfc_speed_bps;

	if (speed == 0)
		speed = h->bench->policy->ports[h - h->bench->host].speed_bps;
	if (h->obey_after_ns == UINT64_MAX)
		return;
	for (unsigned c = 0; c < 8; c++) {
		if (!(t.enable >> c & 1))
			continue;
		if (h->pause_until_ns[c] <= rx->t_ns)
			h->pause_from_ns[c] = rx->t_ns + h->obey_after_ns;
		h->pause_until_ns[c] = rx->t_ns + pfc_quanta_ns(speed, t.quanta[c]);
	}
}

static void host_receive(struct bench_host *h, uint64_t now_ns)
{
	struct rte_mbuf *m;

	while (wire_ops.rx(h->end, &m, 1) == 1) {
		const uint8_t *eth = rte_pktmbuf_mtod(m, const uint8_t *);

		if (eth[12] == 0x88 && eth[13] == 0x08) {
			record(&h->pfc, &h->n_pfc, &h->pfc_capacity, m, now_ns);
			host_pfc(h, &h->pfc[h->n_pfc - 1]);
		} else {
			record(&h->rx, &h->n_rx, &h->rx_capacity, m, now_ns);
			if (h->on_rx != NULL)
				h->on_rx(h, eth, (uint16_t)m->pkt_len);
		}
		rte_pktmbuf_free(m);
	}
}

static struct rte_mbuf *make(unsigned from, const struct bench_frame *f)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	assert_non_null(m);
	if (f->raw != NULL)
		memcpy(rte_pktmbuf_append(m, f->len), f->raw, f->len);
	else
		rte_pktmbuf_append(m, bench_build(rte_pktmbuf_mtod(m, uint8_t *), from, f));
	return m;
}

static bool paused(const struct bench_host *h, unsigned cls, uint64_t now_ns)
{
	return now_ns >= h->pause_from_ns[cls] && now_ns < h->pause_until_ns[cls];
}

// The class of an IP frame, which the host maps as its port of the switch does.
static unsigned class_of(const struct bench_host *h, const struct bench_frame *f)
{
	return h->bench->policy->ports[h - h->bench->host].classify.dscp_to_class[f->dscp];
}

// The next frame to leave, or NULL with *wake set to when a pause ends.
static struct rte_mbuf *host_next(struct bench_host *h, uint64_t now_ns, uint64_t *wake)
{
	unsigned cls;

	if (h->q_head != h->q_tail) {
		cls = h->queue_class[h->q_head];
		if (!paused(h, cls, now_ns))
			return h->queue[h->q_head++];
		*wake = h->pause_until_ns[cls];
		return NULL;
	}
	if (h->source != NULL && !h->has_pending)
		h->has_pending = h->source(h, &h->pending);
	if (!h->has_pending)
		return NULL;
	cls = class_of(h, &h->pending);
	if (paused(h, cls, now_ns)) {
		*wake = h->pause_until_ns[cls];
		return NULL;
	}
	h->has_pending = false;
	return make((unsigned)(h - h->bench->host), &h->pending);
}

static uint64_t host_step(void *arg, uint64_t now_ns)
{
	struct bench_host *h = arg;
	uint64_t wake = UINT64_MAX;
	struct rte_mbuf *m;

	host_receive(h, now_ns);
	if (wire_ops.tx_room(h->end) == 0)
		return UINT64_MAX; // the wire calls
	m = host_next(h, now_ns, &wake);
	if (m != NULL) {
		assert_int_equal(wire_ops.tx(h->end, &m, 1), 1);
		h->sent++;
		(void)wire_ops.tx_room(h->end); // none: the wire calls when there is
	}
	return wake;
}

static void enqueue(struct bench_host *h, struct rte_mbuf *m, uint8_t cls)
{
	if (h->q_tail == h->q_capacity) {
		uint32_t capacity = h->q_capacity;

		h->queue = grown(h->queue, &capacity, sizeof(h->queue[0]));
		h->queue_class = grown(h->queue_class, &h->q_capacity, 1);
	}
	h->queue[h->q_tail] = m;
	h->queue_class[h->q_tail++] = cls;
	actor_poke(&h->actor);
}

// ---- frames

void bench_send(struct bench *b, unsigned from, const struct bench_frame *f)
{
	enqueue(&b->host[from], make(from, f), (uint8_t)class_of(&b->host[from], f));
}

void bench_send_raw(struct bench *b, unsigned from, const void *data, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, len), data, len);
	enqueue(&b->host[from], m, 7);
}

void bench_inject(struct bench *b, unsigned from, const struct bench_frame *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		bench_send(b, from, f);
		// There, and a PFC frame back.
		bench_run(b, bench_wire_ns(b, from, f->len) +
				     bench_wire_ns(b, from, PFC_FRAME_LEN) + 2 * b->delay_ns + 1);
	}
}

void bench_pause(struct bench *b, unsigned from, uint8_t enable, uint16_t quanta)
{
	struct pfc_times t = {.enable = enable};
	uint8_t frame[PFC_FRAME_LEN];

	for (unsigned c = 0; c < 8; c++)
		t.quanta[c] = enable >> c & 1 ? quanta : 0;
	pfc_frame_build(frame, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(from + 1)}, &t);
	bench_send_raw(b, from, frame, sizeof(frame));
}

static void storm_goes_on(void *arg, uint64_t now_ns)
{
	struct bench_host *h = arg;

	bench_pause(h->bench, (unsigned)(h - h->bench->host), h->storm_enable, h->storm_quanta);
	vtimer_set(&h->storm, now_ns + h->storm_every_ns);
}

void bench_storm(struct bench *b, unsigned from, uint8_t enable, uint16_t quanta,
		 uint64_t every_ns)
{
	struct bench_host *h = &b->host[from];

	h->storm_enable = enable;
	h->storm_quanta = quanta;
	h->storm_every_ns = every_ns;
	vtimer_cancel(&h->storm);
	if (every_ns != 0)
		storm_goes_on(h, b->clock.now_ns);
}

// ---- the bench

static uint64_t switch_step(void *arg, uint64_t now_ns)
{
	struct bench *b = arg;
	unsigned n = switch_n_workers(b->sw);
	uint64_t wake = UINT64_MAX;

	// The second pass takes over and settles what the first handed and released between
	// workers; the third lets groups leave XOFF for which that made room.
	for (unsigned pass = 0; pass < (n > 1 ? 3u : 1u); pass++) {
		wake = UINT64_MAX;
		for (unsigned i = 0; i < n; i++) {
			uint64_t t = worker_step(switch_worker(b->sw, i), now_ns);

			wake = t < wake ? t : wake;
		}
	}
	if (b->after_step != NULL)
		b->after_step(b);
	return wake;
}

static void open_host(struct bench *b, unsigned i, uint64_t speed_bps, uint64_t delay_ns)
{
	struct bench_host *h = &b->host[i];
	struct wire_conf wc = {.speed_bps = speed_bps, .delay_ns = delay_ns};

	h->bench = b;
	h->obey_after_ns = 0;
	assert_int_equal(wire_create(&b->clock, &wc, &h->wire), 0);
	h->end = wire_end(h->wire, 1);
	actor_init(&h->actor, &b->clock, host_step, h);
	vtimer_init(&h->storm, &b->clock, storm_goes_on, h);
	wire_end_attach(wire_end(h->wire, 0), &b->actor);
	wire_end_attach(h->end, &h->actor);
}

static const struct port_ops *polled_ops(void)
{
	static struct port_ops ops;

	ops = wire_ops;
	ops.watch = NULL;
	return &ops;
}

// Wires, and what the switch is told about its ends of them.
static void open_ports(struct bench *b, const struct config *c, const struct bench_opts *o,
		       struct switch_port *ports)
{
	for (unsigned i = 0; i < b->n_ports; i++) {
		uint8_t mac[6] = {2, 0, 0, (uint8_t)((i + 1) >> 8), 1, (uint8_t)(i + 1)};
		struct wire_end *end;

		open_host(b, i, config_port(c, i).speed_bps, o->delay_ns);
		end = wire_end(b->host[i].wire, 0);
		ports[i] = (struct switch_port){
			.ops = &wire_ops, .drv = end, .facts = wire_facts(end, mac)};
		if (o->polled)
			ports[i].ops = polled_ops();
		ports[i].facts.rx_ring = o->rx_ring;
		ports[i].facts.rx_depth_readable = o->rx_ring != 0;
	}
}

static void adjust(const struct bench *b, struct policy *p)
{
	if (b->adjust != NULL)
		b->adjust(p, b->adjust_arg);
}

struct bench *bench_open_with(const char *yaml, const struct bench_opts *o)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct config *c = load(yaml);
	struct port_facts facts[BENCH_MAX_PORTS];
	struct switch_port ports[BENCH_MAX_PORTS];

	assert_non_null(b);
	b->pool_frames = rte_mempool_avail_count(pool);
	b->delay_ns = o->delay_ns;
	b->adjust = o->adjust;
	b->adjust_arg = o->adjust_arg;
	vclock_init(&b->clock);
	assert_int_equal(vclock_run_until(&b->clock, START_NS), 0);
	actor_init(&b->actor, &b->clock, switch_step, b);
	b->n_ports = config_n_ports(c);
	assert_true(b->n_ports <= BENCH_MAX_PORTS);
	open_ports(b, c, o, ports);
	for (unsigned i = 0; i < b->n_ports; i++)
		facts[i] = ports[i].facts;
	b->policy = compile(c, facts);
	adjust(b, b->policy);
	b->had_tunnels = b->policy->vtep != NULL;
	config_destroy(c);
	// A test that failed leaves its switch behind; the next one must not share its names.
	snprintf(b->policy->name, sizeof(b->policy->name), "lab%u", n_opened++);
	assert_int_equal(switch_create(b->policy, ports, pool, o->seed, &b->sw), 0);
	bench_control(b);
	actor_poke(&b->actor);
	bench_run(b, 1);
	return b;
}

struct bench *bench_open(const char *yaml, uint64_t delay_ns)
{
	const struct bench_opts o = {.delay_ns = delay_ns, .seed = 1};

	return bench_open_with(yaml, &o);
}

static void close_host(struct bench_host *h)
{
	for (; h->q_head < h->q_tail; h->q_head++)
		rte_pktmbuf_free(h->queue[h->q_head]);
	wire_destroy(h->wire);
	free(h->queue);
	free(h->queue_class);
	free(h->rx);
	free(h->pfc);
}

static void check_balance(const struct bench *b)
{
	struct balance x = switch_balance(b->sw);

	assert_int_equal(x.received + x.generated + x.replicated,
			 x.transmitted + x.consumed + x.dropped + x.queued);
}

static uint64_t held_at(const struct bench *b, unsigned port, unsigned in_port, unsigned pg)
{
	uint64_t cells = 0;

	for (unsigned q = 0; q < N_QUEUES; q++)
		cells += switch_held_cells(b->sw, port, q, in_port, pg);
	return cells;
}

static void check_held_of(const struct bench *b, unsigned in_port, unsigned pg)
{
	uint64_t used = pg_used(switch_pg_state(b->sw, in_port, pg)), all = 0, most = 0;

	for (unsigned port = 0; port < b->n_ports; port++) {
		uint64_t cells = held_at(b, port, in_port, pg);

		all += cells;
		most = cells > most ? cells : most;
	}
	// Copies for two peers of a tunnel may leave by one port.
	if (b->had_tunnels && switch_copies(b->sw) != 0)
		most = 0;
	if (most > used || (all < used && switch_n_workers(b->sw) == 1) ||
	    (all > used && switch_copies(b->sw) == 0))
		fail_msg("group %u of port %u is charged with %lu cells; queues hold %lu, those of "
			 "one port %lu", pg, in_port + 1, used, all, most);
}

void bench_check_held(const struct bench *b)
{
	for (unsigned port = 0; port < b->n_ports; port++)
		for (unsigned pg = 0; pg < N_PGS; pg++)
			check_held_of(b, port, pg);
}

void bench_close(struct bench *b)
{
	check_balance(b);
	bench_check_held(b);
	switch_destroy(b->sw);
	for (unsigned i = 0; i < b->n_ports; i++)
		close_host(&b->host[i]);
	vclock_fini(&b->clock);
	policy_destroy(b->policy);
	assert_int_equal(rte_mempool_avail_count(pool), b->pool_frames);
	free(b);
}

void bench_run(struct bench *b, uint64_t for_ns)
{
	assert_int_equal(vclock_run_until(&b->clock, b->clock.now_ns + for_ns), 0);
}

void bench_control(struct bench *b)
{
	b->n_events += switch_control_step(b->sw, b->clock.now_ns, b->events + b->n_events,
					   (unsigned)(sizeof(b->events) / sizeof(b->events[0])) -
						   b->n_events);
	if (!switch_requests_done(b->sw))
		actor_poke(&b->actor);
}

static void step_workers(struct bench *b, uint64_t for_ns)
{
	actor_poke(&b->actor);
	bench_run(b, for_ns);
}

struct policy *bench_compile(const struct bench *b, const char *yaml)
{
	struct config *c = load(yaml);
	struct port_facts facts[BENCH_MAX_PORTS];
	struct policy *policy;

	for (unsigned i = 0; i < b->n_ports; i++)
		facts[i] = switch_port(b->sw, i)->facts;
	policy = compile(c, facts);
	adjust(b, policy);
	config_destroy(c);
	return policy;
}

struct policy *bench_publish_compiled(struct bench *b, struct policy *policy)
{
	struct policy *old;
	uint64_t token;

	change_begin(b->sw, policy, b->clock.now_ns, CHANGE_LATE_NS, &b->change);
	while (!change_ready(b->sw, &b->change, b->clock.now_ns))
		step_workers(b, b->change.stage == CHANGE_PAUSING ? CHANGE_LOOK_NS : 1);
	if (b->before_policy != NULL)
		b->before_policy(b);
	b->policy = policy;
	b->had_tunnels |= policy->vtep != NULL;
	switch_publish(b->sw, policy, &old, &token);
	assert_false(switch_grace_over(b->sw, token)); // the workers still use the old one
	step_workers(b, 1);
	assert_true(switch_grace_over(b->sw, token));
	change_end(b->sw, &b->change);
	if (b->change.classes != 0)
		step_workers(b, 1);
	return old;
}

void bench_publish(struct bench *b, const char *yaml)
{
	policy_destroy(bench_publish_compiled(b, bench_compile(b, yaml)));
}

void bench_tx(struct bench *b, unsigned port, int queue, bool on)
{
	uint64_t req = switch_set_tx(b->sw, port, queue, on);

	step_workers(b, 1);
	assert_true(switch_request_done(b->sw, req));
}

uint64_t bench_wire_ns(const struct bench *b, unsigned port, uint32_t len)
{
	uint64_t speed = b->policy->ports[port].speed_bps;

	return ((len + LINK_OVERHEAD_BYTES) * 8000000000ull + speed - 1) / speed;
}

uint64_t bench_drops(const struct bench *b, enum drop_reason reason)
{
	uint64_t n = 0;

	for (unsigned p = 0; p < b->n_ports; p++)
		for (unsigned c = 0; c < N_CLASSES; c++)
			n += ctr_get(&switch_drops(b->sw, p, c, reason)->packets);
	return n;
}
