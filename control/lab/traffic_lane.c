// SPDX-License-Identifier: Apache-2.0
// Connections: opened out of band or on the wire, fed, and closed when too many of a host are idle.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/traffic_int.h"
#include "drivers/nic/requester.h"

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

void lane_free(struct lane *l)
{
	free(l->queue.ring);
	free(l);
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

static int connect_lane(struct traffic *t, const struct lane *l, const struct nic_flow *nf,
			uint32_t *id)
{
	struct nic *from = t->f->hosts[l->pub.src].nic, *to = t->f->hosts[l->pub.dst].nic;
	int err = fabric_introduce(t->f, l->pub.src, l->pub.dst);

	if (err != 0)
		return err;
	return t->sc->connect_by_cm && !nf->is_tcp ? nic_flow_add(from, nf, id)
						   : nic_connect(from, nf, to, id);
}

int lane_open(struct lane *l, const struct nic_flow *stream)
{
	struct traffic *t = l->run->t;
	const struct lab_flow *f = l->run->f;
	struct nic_flow nf = stream != NULL ? *stream : (struct nic_flow){.manual = true};
	uint32_t id;
	int err;

	nf.dst_ip = t->sc->hosts[l->pub.dst].ip;
	nf.op = l->op;
	nf.cls = l->pub.cls;
	nf.has_dscp = true;
	nf.dscp = flow_dscp(f);
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
	err = connect_lane(t, l, &nf, &id);
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

// Gives the NIC what it takes. It takes nothing before the connection is up, which nobody tells.
static void flush(struct lane *l)
{
	struct traffic *t = l->run->t;
	struct lane_queue *q = &l->queue;
	bool posted = false;

	while (q->n != 0) {
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
		traffic_at(t, traffic_now(t) + LANE_RETRY_NS, retry, l);
	}
}

static void retry(void *arg, uint64_t now_ns)
{
	struct lane *l = arg;

	(void)now_ns;
	l->retrying = false;
	flush(l);
}

static void wake(struct lane *l)
{
	struct source *s = l->pair != NULL ? l->pair->source : NULL;

	if (l->state == LANE_IDLE) {
		TAILQ_REMOVE(&s->idle, l, age);
		s->n_idle--;
	} else if (l->state == LANE_DYING) {
		TAILQ_REMOVE(&l->run->t->dying, l, age);
	}
	l->state = LANE_BUSY;
}

void lane_post(struct lane *l, struct op *op, enum step step, uint32_t n_bytes)
{
	wake(l);
	if (!queue_push(&l->queue, (struct lane_post){op_tag(op, step), n_bytes}))
		traffic_give_up(l->run->t);
	flush(l);
}

// ---- resting and closing

void lane_count(const struct traffic *t, const struct lane *l, struct traffic_counts *to)
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
	struct nic *nic = t->f->hosts[l->pub.src].nic;

	lane_count(t, l, &l->closed);
	nic_flow_close(nic, l->pub.id);
	nic_flow_forget(nic, l->pub.id);
	t->by_id[l->pub.src][l->pub.id] = NULL;
	l->pub.id = TRAFFIC_NOT_OPEN;
	l->state = LANE_CLOSED;
	if (l->run->f->pattern.n == PATTERN_POISSON)
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

static void close_oldest(struct source *s)
{
	struct traffic *t = s->run->t;
	struct lane *l = TAILQ_FIRST(&s->idle);

	TAILQ_REMOVE(&s->idle, l, age);
	s->n_idle--;
	if (s->run->f->pattern.n == PATTERN_POISSON)
		TAILQ_REMOVE(&l->pair->idle, l, spare);
	l->state = LANE_DYING;
	if (TAILQ_EMPTY(&t->dying))
		traffic_at(t, traffic_now(t), close_dying, t);
	TAILQ_INSERT_TAIL(&t->dying, l, age);
}

static void rest(struct lane *l)
{
	struct source *s = l->pair->source;

	l->state = LANE_IDLE;
	TAILQ_INSERT_TAIL(&s->idle, l, age);
	s->n_idle++;
	if (l->run->f->pattern.n == PATTERN_POISSON)
		TAILQ_INSERT_HEAD(&l->pair->idle, l, spare);
	// On the wire a connection takes its time to go; there they stay.
	if (s->n_idle > (uint64_t)s->run->f->idle.n && !s->run->t->sc->connect_by_cm)
		close_oldest(s);
}

void lane_done(struct lane *l)
{
	l->n_out--;
	flush(l);
	if (l->n_out != 0 || l->queue.n != 0)
		return;
	if (l->pair != NULL)
		rest(l);
	else if (lane_used_up(l))
		lane_reuse(l);
}
