// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/traffic_int.h"
#include "drivers/nic/frames.h"
#include "drivers/nic/requester.h"

// tag: 1, step, generation and index of the op. A stream's messages count from 0 and have no 1.
enum { TAG_STEP_SHIFT = 60, TAG_GENERATION_SHIFT = 32 };
#define TAG_MARK (1ull << 63)
#define TAG_GENERATIONS (1u << (TAG_STEP_SHIFT - TAG_GENERATION_SHIFT))

void traffic_give_up(struct traffic *t)
{
	t->f->out_of_memory = true;
}

void traffic_at(struct traffic *t, uint64_t t_ns, vclock_fn *fn, void *arg)
{
	uint64_t now = traffic_now(t);

	if (vclock_at(&t->f->clock, t_ns < now ? now : t_ns, fn, arg) != 0)
		traffic_give_up(t);
}

// ---- operations

struct op *op_begin(struct run *r, uint32_t src, uint32_t dst, uint32_t n_bytes)
{
	struct traffic *t = r->t;
	struct op **blocks, *block, *op = STAILQ_FIRST(&t->free_ops);

	if (op == NULL) {
		blocks = realloc(t->op_blocks, (t->n_op_blocks + 1) * sizeof(*blocks));
		t->op_blocks = blocks != NULL ? blocks : t->op_blocks;
		block = blocks != NULL ? calloc(OPS_PER_BLOCK, sizeof(*block)) : NULL;
		if (block == NULL) {
			traffic_give_up(t);
			return NULL;
		}
		for (uint32_t i = 0; i < OPS_PER_BLOCK; i++) {
			block[i].index = t->n_op_blocks * OPS_PER_BLOCK + i;
			STAILQ_INSERT_TAIL(&t->free_ops, &block[i], next);
		}
		t->op_blocks[t->n_op_blocks++] = block;
		op = block;
	}
	STAILQ_REMOVE_HEAD(&t->free_ops, next);
	*op = (struct op){.index = op->index, .generation = op->generation, .src = src, .dst = dst,
			  .n_bytes = n_bytes, .posted_ns = traffic_now(t), .run = r};
	t->n_open++;
	r->n_begun++;
	r->n_open++;
	return op;
}

static enum step step_of(uint64_t tag)
{
	return (enum step)((tag >> TAG_STEP_SHIFT) & 7);
}

static uint64_t op_tag(const struct op *op, enum step step)
{
	return TAG_MARK | (uint64_t)step << TAG_STEP_SHIFT |
	       (uint64_t)op->generation << TAG_GENERATION_SHIFT | op->index;
}

// NULL: it is done already, and another may have its place.
static struct op *op_of(const struct traffic *t, uint64_t tag)
{
	uint32_t i = (uint32_t)tag;
	struct op *op = &t->op_blocks[i / OPS_PER_BLOCK][i % OPS_PER_BLOCK];

	return op->run != NULL && op_tag(op, step_of(tag)) == tag ? op : NULL;
}

static struct traffic_done *next_done(struct traffic *t)
{
	uint32_t block = (uint32_t)(t->n_done / DONE_PER_BLOCK);

	if (block == t->done_room) {
		struct traffic_done **more = realloc(t->done_blocks, (block + 1) * sizeof(*more));

		if (more == NULL)
			return NULL;
		t->done_blocks = more;
		more[block] = malloc(DONE_PER_BLOCK * sizeof(**more));
		if (more[block] == NULL)
			return NULL;
		t->done_room++;
	}
	return &t->done_blocks[block][t->n_done++ % DONE_PER_BLOCK];
}

void op_fail(struct op *op)
{
	struct traffic *t = op->run->t;

	t->n_open--;
	op->run->n_open--;
	op->run = NULL;
	op->generation = (op->generation + 1) % TAG_GENERATIONS;
	STAILQ_INSERT_HEAD(&t->free_ops, op, next);
}

void op_finish(struct op *op)
{
	struct traffic *t = op->run->t;
	struct traffic_done *d = next_done(t);

	if (d == NULL)
		traffic_give_up(t);
	else
		*d = (struct traffic_done){.flow = op->run->index & INT32_MAX,
					   .is_read = op->is_read, .src = op->src, .dst = op->dst,
					   .n_bytes = op->n_bytes, .posted_ns = op->posted_ns,
					   .first_tx_ns = op->first_tx_ns,
					   .last_tx_ns = op->last_tx_ns,
					   .done_ns = traffic_now(t)};
	op->run->last_done_ns = traffic_now(t);
	op_fail(op);
}

// ---- connections

struct lane *lane_add(struct run *r, uint32_t src, uint32_t dst, enum req_op op)
{
	struct traffic *t = r->t;
	struct lane *l;

	if (t->n_lanes == t->lanes_room) {
		uint32_t room = t->lanes_room != 0 ? 2 * t->lanes_room : 64;
		struct lane **more = realloc(t->lanes, room * sizeof(struct lane *));

		if (more == NULL)
			return NULL;
		t->lanes = more;
		t->lanes_room = room;
	}
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	l->pub = (struct traffic_conn){.flow = r->index, .src = src, .dst = dst,
				       .cls = (uint8_t)r->f->cls.n, .id = TRAFFIC_NOT_OPEN};
	l->run = r;
	l->op = (uint8_t)op;
	t->lanes[t->n_lanes++] = l;
	return l;
}

// ---- connecting

// The NIC's ids are small and used again: a table per host.
static bool remember(struct traffic *t, struct lane *l, uint32_t id)
{
	uint32_t host = l->pub.src, room = t->by_id_room[host];

	if (id >= room) {
		uint32_t more = id < 8 ? 16 : 2 * id;
		struct lane **table = realloc(t->by_id[host], more * sizeof(struct lane *));

		if (table == NULL)
			return false;
		memset(table + room, 0, (more - room) * sizeof(struct lane *));
		t->by_id[host] = table;
		t->by_id_room[host] = more;
	}
	t->by_id[host][id] = l;
	l->pub.id = id;
	l->state = LANE_BUSY;
	return true;
}

int lane_open(struct lane *l, const struct nic_flow *stream)
{
	struct traffic *t = l->run->t;
	struct nic *from = t->f->hosts[l->pub.src].nic, *to = t->f->hosts[l->pub.dst].nic;
	const struct lab_flow *f = l->run->f;
	const struct sc_host *src = &t->sc->hosts[l->pub.src], *dst = &t->sc->hosts[l->pub.dst];
	struct nic_flow nf = stream != NULL ? *stream : (struct nic_flow){.manual = true};
	uint32_t id;
	int err;

	nf.dst_ip = flow_is_ip6(f, src) ? sc_host_ip6(dst) : ip_key_v4(dst->ip);
	nf.tag = flow_tag(f, src, l->pub.cls);
	nf.far_tag = flow_tag(f, dst, l->pub.cls);
	nf.op = l->op;
	nf.cls = l->pub.cls;
	nf.has_dscp = true;
	nf.dscp = flow_class_dscp(f, l->pub.cls);
	nf.ecn = (uint8_t)flow_ecn(f);
	nf.mtu = f->payload;
	nf.rate_bps = f->rate.n > 0 ? (uint64_t)f->rate.n : 0;
	nf.cc_off = f->cc.n == 0;
	nf.first_psn = f->first_psn.n < 0 ? NIC_RANDOM_PSN : (uint32_t)f->first_psn.n;
	nf.ack_every = flow_ack_every(f);
	nf.is_tcp = flow_is_tcp(f);
	nf.tcp = f->tcp_params;
	nf.qpn = l->reuse.qpn;
	nf.peer_qpn = l->reuse.peer_qpn;
	err = fabric_introduce(t->f, l->pub.src, l->pub.dst, flow_is_ip6(f, src));
	if (err == 0)
		err = t->sc->connect_by_cm && !nf.is_tcp ? nic_flow_add(from, &nf, &id)
							 : nic_connect(from, &nf, to, &id);
	if (err != 0)
		return err;
	fabric_poke_host(t->f, l->pub.src);
	return remember(t, l, id) ? 0 : -ENOMEM;
}

// ---- posting

static bool queue_push(struct lane_queue *q, struct lane_post p)
{
	if (q->n == q->size) {
		uint32_t size = q->size != 0 ? 2 * q->size : 16;
		struct lane_post *ring = malloc(size * sizeof(*ring));

		if (ring == NULL)
			return false;
		for (uint32_t i = 0; i < q->n; i++)
			ring[i] = q->ring[(q->head + i) & (q->size - 1)];
		free(q->ring);
		*q = (struct lane_queue){.ring = ring, .n = q->n, .size = size};
	}
	q->ring[(q->head + q->n++) & (q->size - 1)] = p;
	return true;
}

static void retry(void *arg, uint64_t now_ns);

// Posts the messages for which the NIC has room. The NIC has none before the connection is up, and
// does not report when that is.
static void post_lane_queue(struct lane *l)
{
	struct traffic *t = l->run->t;
	struct lane_queue *q = &l->queue;
	bool posted = false;

	while (q->n != 0 && l->pub.id != TRAFFIC_NOT_OPEN) {
		const struct lane_post *p = &q->ring[q->head];

		if (nic_post(t->f->hosts[l->pub.src].nic, l->pub.id, p->n_bytes, p->tag) != 0)
			break;
		q->head = (q->head + 1) & (q->size - 1);
		q->n--;
		l->n_out++;
		posted = true;
	}
	// A NIC that is calling looks again by itself.
	if (posted && t->in_hook != l->pub.src)
		fabric_poke_host(t->f, l->pub.src);
	if (q->n != 0 && l->n_out == 0 && !l->retrying) {
		l->retrying = true;
		traffic_at(t, traffic_now(t) + RETRY_NS, retry, l);
	}
}

static bool is_refused(const struct lane *l)
{
	return l->pub.id != TRAFFIC_NOT_OPEN &&
	       nic_flow_status(l->run->t->f->hosts[l->pub.src].nic, l->pub.id).state ==
		       NIC_FLOW_REJECTED;
}

// Gives the NIC's id back.
static void lane_forget(struct traffic *t, struct lane *l)
{
	nic_flow_forget(t->f->hosts[l->pub.src].nic, l->pub.id);
	t->by_id[l->pub.src][l->pub.id] = NULL;
	l->pub.id = TRAFFIC_NOT_OPEN;
}

// A receiver without a queue pair refuses the connection. An idle connection makes room, and the
// sender asks again.
static void retry(void *arg, uint64_t now_ns)
{
	struct lane *l = arg;
	struct traffic *t = l->run->t;
	int err = 0;

	l->retrying = false;
	if (is_refused(l)) {
		lane_forget(t, l);
		lane_make_room(l);
		l->retrying = true;
		traffic_at(t, now_ns + REFUSED_NS, retry, l);
		return;
	}
	if (l->pub.id == TRAFFIC_NOT_OPEN && l->queue.n != 0)
		err = lane_open(l, NULL);
	if (err == -ENOSPC)
		lane_make_room(l);
	if (err != 0 && err != -ENOSPC)
		traffic_give_up(t);
	post_lane_queue(l);
}

// It is idle no more.
static void wake(struct lane *l)
{
	struct traffic *t = l->run->t;

	TAILQ_REMOVE(&l->pair->source->idle, l, age);
	l->pair->source->n_idle--;
	TAILQ_REMOVE(&t->idle[l->pub.src].out, l, age_at_src);
	TAILQ_REMOVE(&t->idle[l->pub.dst].in, l, age_at_dst);
	if (flow_is_single(l->run->f))
		TAILQ_REMOVE(&l->pair->idle, l, spare);
}

void lane_post(struct lane *l, struct op *op, enum step step, uint32_t n_bytes)
{
	if (l->state == LANE_IDLE) {
		wake(l);
	} else if (l->state == LANE_DYING) {
		TAILQ_REMOVE(&l->run->t->dying, l, age);
	}
	l->state = LANE_BUSY;
	if (!queue_push(&l->queue, (struct lane_post){op_tag(op, step), n_bytes}))
		traffic_give_up(l->run->t);
	post_lane_queue(l);
}

// ---- resting and closing

// Adds what the connection has counted since it was opened.
static void lane_count(const struct traffic *t, const struct lane *l, struct traffic_counts *to)
{
	struct nic_flow_status s = nic_flow_status(t->f->hosts[l->pub.src].nic, l->pub.id);

	to->tx_packets += s.tx_packets;
	to->tx_bytes += s.tx_bytes;
	to->acked_bytes += s.acked_bytes;
	to->cnps += s.cnps;
	to->posted += s.posted;
	to->completed += s.completed;
	to->retransmissions += s.tcp.stats.retransmissions;
	to->timeouts += s.tcp.stats.timeouts;
	to->fast_retransmits += s.tcp.stats.fast_retransmits;
	to->ece += s.tcp.stats.ece_received;
}

void lane_close(struct traffic *t, struct lane *l)
{
	lane_count(t, l, &l->closed);
	nic_flow_close(t->f->hosts[l->pub.src].nic, l->pub.id);
	lane_forget(t, l);
	// The message that closes it leaves now.
	if (t->sc->connect_by_cm)
		fabric_poke_host(t->f, l->pub.src);
	l->state = LANE_CLOSED;
	l->queue.n = l->n_out = 0;
	if (flow_is_single(l->run->f))
		TAILQ_INSERT_TAIL(&l->pair->closed, l, spare);
}

// A NIC does not like its connections to go while it calls: this runs between its steps.
static void close_dying(void *arg, uint64_t now_ns)
{
	struct traffic *t = arg;
	struct lane *l;

	(void)now_ns;
	while ((l = TAILQ_FIRST(&t->dying)) != NULL) {
		TAILQ_REMOVE(&t->dying, l, age);
		lane_close(t, l);
	}
}

static void rest(struct lane *l)
{
	struct source *s = l->pair->source;
	struct traffic *t = s->run->t;

	l->state = LANE_IDLE;
	l->idle_ns = traffic_now(t);
	TAILQ_INSERT_TAIL(&s->idle, l, age);
	TAILQ_INSERT_TAIL(&t->idle[l->pub.src].out, l, age_at_src);
	TAILQ_INSERT_TAIL(&t->idle[l->pub.dst].in, l, age_at_dst);
	if (flow_is_single(l->run->f))
		TAILQ_INSERT_HEAD(&l->pair->idle, l, spare);
	if (++s->n_idle <= (uint64_t)s->run->f->idle.n)
		return;
	// Too many are idle: the oldest goes.
	l = TAILQ_FIRST(&s->idle);
	wake(l);
	l->state = LANE_DYING;
	if (TAILQ_EMPTY(&t->dying))
		traffic_at(t, traffic_now(t), close_dying, t);
	TAILQ_INSERT_TAIL(&t->dying, l, age);
}

static bool make_room_at(struct traffic *t, uint32_t host)
{
	struct lane *l = TAILQ_FIRST(&t->idle[host].out), *in = TAILQ_FIRST(&t->idle[host].in);

	if (l == NULL || (in != NULL && in->idle_ns < l->idle_ns))
		l = in;
	if (l == NULL || !nic_is_full(t->f->hosts[host].nic))
		return false;
	wake(l);
	lane_close(t, l);
	return true;
}

bool lane_make_room(const struct lane *l)
{
	bool at_src = make_room_at(l->run->t, l->pub.src);

	return make_room_at(l->run->t, l->pub.dst) || at_src;
}

// ---- connections that are opened anew
// Connections that are closed after so many messages and opened anew on the queue pair numbers they
// had, as applications do that keep queue pairs in a pool: `reuse` of a flow. Crossed, two of them
// between the same hosts change places at the responder, so that a number of the sender belongs to
// another number of the receiver than before.
//
//   busy --(after messages are complete)--> closed --(pause)--> busy
//                                             |                  ^
//                                             +-- waits for -----+
//                                                 a partner (crossed), PARTNER_NS at most

enum { PARTNER_NS = 100000 };

static void reopen(void *arg, uint64_t now_ns)
{
	struct lane *l = arg;
	struct traffic *t = l->run->t;
	int err = lane_open(l, NULL);

	// A number is in use: by a slot whose last frame waits, or by another flow for a while.
	if (err == -ENOSPC) {
		traffic_at(t, now_ns + RETRY_NS, reopen, l);
		return;
	}
	if (err != 0) {
		traffic_give_up(t);
		return;
	}
	l->reuse.n_begun = 0;
	standing_continue(l, now_ns);
}

static void reopen_later(struct lane *l)
{
	uint64_t pause = (uint64_t)l->run->f->reuse.pause.n;

	l->reuse.waits = false;
	traffic_at(l->run->t, traffic_now(l->run->t) + pause, reopen, l);
}

static void without_partner(void *arg, uint64_t now_ns)
{
	struct lane *l = arg;

	// It found one meanwhile, and may wait for another since.
	if (l->reuse.waits && l->reuse.since_ns + PARTNER_NS <= now_ns)
		reopen_later(l);
}

static void cross(struct lane *l)
{
	const struct run *r = l->run;
	struct lane *other = NULL;
	uint32_t peer_qpn = l->reuse.peer_qpn;

	for (uint32_t i = 0; i < r->n_lanes && other == NULL; i++)
		if (r->lanes[i]->reuse.waits && r->lanes[i] != l &&
		    r->lanes[i]->pub.src == l->pub.src && r->lanes[i]->pub.dst == l->pub.dst)
			other = r->lanes[i];
	if (other == NULL) {
		l->reuse.waits = true;
		l->reuse.since_ns = traffic_now(l->run->t);
		traffic_at(l->run->t, l->reuse.since_ns + PARTNER_NS, without_partner, l);
		return;
	}
	l->reuse.peer_qpn = other->reuse.peer_qpn;
	other->reuse.peer_qpn = peer_qpn;
	reopen_later(other);
	reopen_later(l);
}

static void close_for_reuse(void *arg, uint64_t now_ns)
{
	struct lane *l = arg;
	struct traffic *t = l->run->t;
	struct nic_flow_status s = nic_flow_status(t->f->hosts[l->pub.src].nic, l->pub.id);

	(void)now_ns;
	l->reuse.qpn = s.qpn;
	l->reuse.peer_qpn = s.peer_qpn;
	lane_close(t, l);
	if (l->run->f->reuse.crossed.n != 0)
		cross(l);
	else
		reopen_later(l);
}

bool lane_used_up(const struct lane *l)
{
	int64_t after = l->run->f->reuse.after.n;

	return after > 0 && l->reuse.n_begun >= (uint64_t)after;
}

// A message of the connection is complete: posts what waits; without more to do, it rests.
static void lane_done(struct lane *l)
{
	l->n_out--;
	post_lane_queue(l);
	if (l->n_out != 0 || l->queue.n != 0)
		return;
	if (l->pair != NULL)
		rest(l);
	else if (lane_used_up(l)) // A NIC that calls must keep its connections meanwhile.
		traffic_at(l->run->t, traffic_now(l->run->t), close_for_reuse, l);
}

// ---- the end of flows

// Ends a flow that begins nothing more. `left` has the messages of a round that jitter holds back.
static void look_for_end(struct run *r)
{
	const struct lab_flow *f = r->f;
	struct traffic *t = r->t;
	bool rounds = f->pattern.n == PATTERN_INCAST || f->pattern.n == PATTERN_ALL_TO_ALL;
	bool counted = f->count.n >= 0 || f->pattern.n == PATTERN_TRACE;
	bool begun = counted && (rounds ? r->n_rounds == (uint64_t)f->count.n
					: r->n_begun == r->n_due);

	if (r->is_done || r->n_open != 0 || r->left != 0 || flow_endless(f) ||
	    (!begun && traffic_now(t) < flow_stop_ns(f)))
		return;
	r->is_done = true;
	if (--t->n_undone == 0 && t->sc->until_done)
		vclock_stop(&t->f->clock);
}

static void look_at_stop(void *arg, uint64_t now_ns)
{
	(void)now_ns;
	look_for_end(arg);
}

// ---- hooks

static void on_done(void *arg, uint32_t host, const struct nic_done *d)
{
	struct traffic *t = arg;
	struct lane *l = d->flow < t->by_id_room[host] ? t->by_id[host][d->flow] : NULL;

	if (l == NULL || !(d->tag & TAG_MARK))
		return;
	t->in_hook = host;
	behaviours[l->run->f->pattern.n].done(l, op_of(t, d->tag), step_of(d->tag), d);
	lane_done(l);
	look_for_end(l->run);
	t->in_hook = TRAFFIC_NO_HOST;
}

static void on_served(void *arg, uint32_t host, const struct nic_served *s)
{
	struct traffic *t = arg;
	struct op *op = s->tag & TAG_MARK ? op_of(t, s->tag) : NULL;
	struct run *r = op != NULL ? op->run : NULL;
	const struct behaviour *b = r != NULL ? &behaviours[r->f->pattern.n] : NULL;

	if (b == NULL || b->served == NULL)
		return;
	t->in_hook = host;
	b->served(op, step_of(s->tag));
	look_for_end(r);
	t->in_hook = TRAFFIC_NO_HOST;
}

void traffic_hooks(struct traffic *t, struct fabric_hooks *hooks)
{
	*hooks = (struct fabric_hooks){.done = on_done, .served = on_served,
					.path = paths_changed, .arg = t};
}

// ---- life

int traffic_create(const struct scenario *sc, struct traffic **out)
{
	struct traffic *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return -ENOMEM;
	t->sc = sc;
	t->in_hook = TRAFFIC_NO_HOST;
	STAILQ_INIT(&t->free_ops);
	TAILQ_INIT(&t->dying);
	t->runs = calloc(sc->n_flows + 1, sizeof(*t->runs));
	t->by_id = calloc(sc->n_hosts + 1, sizeof(*t->by_id));
	t->by_id_room = calloc(sc->n_hosts + 1, sizeof(*t->by_id_room));
	t->idle = calloc(sc->n_hosts + 1, sizeof(*t->idle));
	if (t->runs == NULL || t->by_id == NULL || t->by_id_room == NULL || t->idle == NULL ||
	    ideal_create(sc, &t->ideal) != 0) {
		traffic_destroy(t);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < sc->n_hosts; i++) {
		TAILQ_INIT(&t->idle[i].out);
		TAILQ_INIT(&t->idle[i].in);
	}
	for (uint32_t i = 0; i < sc->n_flows; i++) {
		uint64_t seed = scenario_seed(sc, "traffic", i);

		t->runs[i] = (struct run){.t = t, .f = &sc->flows[i], .index = i, .seed = seed,
					  .rng = workload_rng(seed, UINT32_MAX),
					  .last_done_ns = UINT64_MAX};
		t->n_undone += !flow_endless(&sc->flows[i]);
	}
	*out = t;
	return 0;
}

void traffic_destroy(struct traffic *t)
{
	if (t == NULL)
		return;
	for (uint32_t i = 0; t->runs != NULL && i < t->sc->n_flows; i++) {
		struct run *r = &t->runs[i];

		for (uint32_t s = 0; s < r->n_sources; s++) {
			struct pair **pairs = r->sources[s].pairs;

			for (uint32_t d = 0; pairs != NULL && d < r->f->n_dst; d++) {
				if (pairs[d] != NULL)
					free(pairs[d]->lanes);
				free(pairs[d]);
			}
			free(pairs);
		}
		free(r->sources);
		free(r->ios);
		free(r->lanes);
		free(r->order);
		free(r->round_starts);
	}
	for (uint32_t i = 0; i < t->n_lanes; i++) {
		free(t->lanes[i]->queue.ring);
		free(t->lanes[i]);
	}
	for (uint32_t i = 0; t->by_id != NULL && i < t->sc->n_hosts; i++)
		free(t->by_id[i]);
	for (uint32_t i = 0; i < t->n_op_blocks; i++)
		free(t->op_blocks[i]);
	for (uint32_t i = 0; i < t->done_room; i++)
		free(t->done_blocks[i]);
	ideal_destroy(t->ideal);
	free(t->op_blocks);
	free(t->done_blocks);
	free(t->by_id);
	free(t->by_id_room);
	free(t->idle);
	free(t->lanes);
	free(t->runs);
	free(t);
}

int traffic_start(struct traffic *t, struct fabric *f)
{
	int err = 0;

	t->f = f;
	for (uint32_t i = 0; i < t->sc->n_flows && err == 0; i++) {
		struct run *r = &t->runs[i];

		err = behaviours[r->f->pattern.n].start(r);
		if (flow_endless(r->f))
			continue;
		// A flow may have nothing to do, or end with a time.
		traffic_at(t, 0, look_at_stop, r);
		if (r->f->stop.n >= 0)
			traffic_at(t, flow_stop_ns(r->f), look_at_stop, r);
	}
	return err;
}

// ---- what others read

uint32_t traffic_n_conns(const struct traffic *t)
{
	return t->n_lanes;
}

const struct traffic_conn *traffic_conn(const struct traffic *t, uint32_t i)
{
	return &t->lanes[i]->pub;
}

struct traffic_counts traffic_conn_counts(const struct traffic *t, uint32_t i)
{
	const struct lane *l = t->lanes[i];
	struct traffic_counts n = l->closed;

	if (l->pub.id != TRAFFIC_NOT_OPEN)
		lane_count(t, l, &n);
	return n;
}

uint64_t traffic_n_done(const struct traffic *t)
{
	return t->n_done;
}

const struct traffic_done *traffic_done(const struct traffic *t, uint64_t i)
{
	return &t->done_blocks[i / DONE_PER_BLOCK][i % DONE_PER_BLOCK];
}

uint64_t traffic_n_open(const struct traffic *t)
{
	return t->n_open;
}

uint64_t traffic_flow_done_ns(const struct traffic *t, uint32_t flow)
{
	return t->runs[flow].is_done ? t->runs[flow].last_done_ns : UINT64_MAX;
}

bool traffic_all_done(const struct traffic *t)
{
	return t->n_undone == 0;
}

uint64_t traffic_flow_open(const struct traffic *t, uint32_t flow)
{
	return t->runs[flow].n_open;
}

uint64_t traffic_ideal_ns(const struct traffic *t, const struct traffic_done *d)
{
	return ideal_op_ns(t->ideal, t->f, &t->sc->flows[d->flow], d);
}
