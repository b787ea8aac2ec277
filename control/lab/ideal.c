// SPDX-License-Identifier: Apache-2.0
#include "control/lab/ideal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/routes.h"
#include "control/lab/traffic.h"
#include "control/lab/workload.h"
#include "dataplane/base/units.h"
#include "dataplane/packet/wire.h"
#include "dataplane/policy.h"
#include "dataplane/qos/shaper.h"
#include "drivers/nic/frames.h"
#include "drivers/nic/requester.h"

#define PICOS 1000000000000u
enum { PICOS_PER_NANO = 1000 };

struct ideal {
	const struct scenario *sc;
	struct routes routes;
};

int ideal_create(const struct scenario *sc, struct ideal **out)
{
	struct ideal *i = calloc(1, sizeof(*i));

	if (i == NULL)
		return -ENOMEM;
	i->sc = sc;
	routes_derive(sc, &i->routes);
	*out = i;
	return 0;
}

void ideal_destroy(struct ideal *i)
{
	free(i);
}

// ---- the way

void ideal_find(struct ideal *i, uint32_t from, uint32_t to, struct ideal_path *path)
{
	const struct scenario *sc = i->sc;
	const struct sc_end *at = NULL;
	uint32_t link = sc->hosts[from].link, from_sw = 0, out = 0;

	path->n = 0;
	while (link != SC_NO_LINK && path->n < IDEAL_MAX_LINKS) {
		const struct sc_link *l = &sc->links[link];
		const struct sc_port *port;
		struct way way;
		// The end that frames come to: of the first link the one that is not the host.
		unsigned side = at == NULL ? l->end[0].is_switch || l->end[0].node != from ? 0 : 1
					   : at == &l->end[0];

		at = &l->end[side];
		path->links[path->n].sw = from_sw;
		path->links[path->n].speed_bps = l->speed_bps;
		path->links[path->n].delay_ns = l->delay_ns;
		path->links[path->n].out = out;
		path->links[path->n].in = at->port;
		path->links[path->n].extra = path->links[path->n].extra_back = 0;
		path->n++;
		if (!at->is_switch)
			return;
		from_sw = at->node;
		way = routes_way(&i->routes, from_sw, to, NULL, 0);
		if (way.n == 0)
			break;
		out = way.ports[0];
		port = &sc->switches[from_sw].ports[out];
		link = port->link;
		at = link == SC_NO_LINK ? NULL : &sc->links[link].end[port->side];
	}
	path->n = 0;
}

static struct ideal_path reversed(const struct ideal_path *path)
{
	struct ideal_path back = {.n = path->n};

	for (uint32_t l = 0; l < path->n; l++) {
		uint32_t k = path->n - 1 - l;

		back.links[l] = path->links[k];
		back.links[l].out = path->links[k].in;
		back.links[l].in = path->links[k].out;
		back.links[l].extra = path->links[k].extra_back;
		back.links[l].extra_back = path->links[k].extra;
		back.links[l].sw = l == 0 ? 0 : path->links[k + 1].sw;
	}
	return back;
}

// Of frames that a host sends with this tag. A router removes the tag. A bridge with VLANs sends
// the frames as each port carries their VLAN.
static void add_extra(const struct fabric *f, struct ideal_path *path, struct frame_tag tag,
		      bool v6)
{
	for (uint32_t l = 0; l < path->n; l++) {
		const struct policy *p = l == 0 ? NULL : f->switches[path->links[l].sw].in.policy;
		const struct policy_port *in = p == NULL ? NULL : &p->ports[path->links[l - 1].in];

		if (p != NULL && in->routed) {
			tag = (struct frame_tag){0};
		} else if (p != NULL && p->vlan_aware) {
			if (frame_tag_vid(&tag) == 0)
				tag.vid = in->vlan.untagged;
			tag.on = vlan_bit(p->ports[path->links[l].out].vlan.tagged, tag.vid);
		}
		path->links[l].extra = frame_extra(&tag, v6);
	}
}

// ---- frames through links; times in ps

static uint64_t wire_ps(uint32_t frame_len, uint64_t speed_bps)
{
	return ((uint64_t)frame_len + LINK_OVERHEAD_BYTES) * 8 * PICOS / speed_bps;
}

static uint64_t link_ps(const struct ideal_path *path, uint32_t l, uint32_t len)
{
	return wire_ps(len + path->links[l].extra, path->links[l].speed_bps);
}

// Of a segment, or of a packet, without what a link adds.
static uint32_t frame_len(const struct ideal_message *m, uint8_t opcode, uint32_t payload)
{
	struct roce_pkt p = {.opcode = opcode, .payload_len = payload};

	if (m->is_tcp)
		return tcp_frame_len(&(struct tcp_seg){.len = payload, .scale = -1}, 0);
	return roce_frame_len(&p);
}

// A stream of frames on its way: when the last one so far left each link.
struct stream {
	const struct ideal_path *path;
	uint64_t pace_bps; // 0: none
	uint64_t ready; // when the pacing lets the next one begin
	uint64_t end[IDEAL_MAX_LINKS];
};

static void send_one(struct stream *s, uint32_t len)
{
	uint64_t arrived = s->ready;

	for (uint32_t l = 0; l < s->path->n; l++) {
		uint64_t begin = max_u64(s->end[l], arrived);

		if (l == 0 && s->pace_bps != 0)
			s->ready = begin + wire_ps(len + s->path->links[0].extra, s->pace_bps);
		s->end[l] = begin + link_ps(s->path, l, len);
		arrived = s->end[l] + s->path->links[l].delay_ns * PICOS_PER_NANO;
	}
}

// n frames as the one before, at once. In the recurrence a frame's end at link i comes from an end
// of the frame before the n at some link j, by i - j steps from link to link and n from frame to
// frame. Those are best all made at one link, the slowest between j and i, and it may as well be
// j: the end there is never earlier than what came from links before it.
static void send_many(struct stream *s, uint32_t len, uint64_t n)
{
	uint64_t end[IDEAL_MAX_LINKS] = {0};

	for (uint32_t i = 0; i < s->path->n; i++) {
		uint64_t forward = 0;

		for (uint32_t j = i + 1; j-- > 0;) {
			uint64_t time = link_ps(s->path, j, len), step = time;

			if (j == 0 && s->pace_bps != 0)
				step = max_u64(step, wire_ps(len + s->path->links[0].extra,
							     s->pace_bps));
			end[i] = max_u64(end[i], s->end[j] + forward + n * step);
			if (j > 0)
				forward += time + s->path->links[j - 1].delay_ns * PICOS_PER_NANO;
		}
	}
	s->ready += end[0] - s->end[0];
	memcpy(s->end, end, s->path->n * sizeof(end[0]));
}

static uint64_t arrived_ps(const struct stream *s)
{
	uint32_t last = s->path->n - 1;

	return s->end[last] + s->path->links[last].delay_ns * PICOS_PER_NANO;
}

static uint64_t single_ps(const struct ideal_path *path, uint32_t len)
{
	struct stream s = {.path = path};

	send_one(&s, len);
	return arrived_ps(&s);
}

// Packets of a message, or segments.
static uint64_t data_ps(const struct ideal_path *path, const struct ideal_message *m)
{
	const uint8_t *code = workload_opcodes(m->op);
	struct stream s = {.path = path, .pace_bps = m->pace_bps};
	uint32_t n = m->n_bytes == 0 ? 1 : (m->n_bytes + m->mtu - 1) / m->mtu;
	uint32_t rest = m->n_bytes - (n - 1) * m->mtu, middle;

	if (n > 1)
		send_one(&s, frame_len(m, code[1], m->mtu));
	middle = frame_len(m, code[2], m->mtu);
	if (n > 2)
		send_one(&s, middle);
	if (n > 3)
		send_many(&s, middle, n - 3);
	send_one(&s, frame_len(m, code[n == 1 ? 0 : 3], rest));
	return arrived_ps(&s);
}

static uint64_t arrival_ps(const struct ideal_path *path, const struct ideal_message *m)
{
	struct ideal_path back;

	if (m->is_tcp || m->op != REQ_READ)
		return data_ps(path, m);
	back = reversed(path);
	return single_ps(path, frame_len(m, RC_READ_REQUEST, 0)) + data_ps(&back, m);
}

static uint64_t complete_ps(const struct ideal_path *path, const struct ideal_message *m)
{
	struct ideal_path back;

	if (m->op == REQ_READ && !m->is_tcp)
		return arrival_ps(path, m);
	back = reversed(path);
	return arrival_ps(path, m) + single_ps(&back, frame_len(m, RC_ACK, 0));
}

static uint64_t ns_of(uint64_t ps)
{
	return (ps + PICOS_PER_NANO - 1) / PICOS_PER_NANO;
}

uint64_t ideal_arrival_ns(const struct ideal_path *path, const struct ideal_message *m)
{
	return path->n == 0 ? 0 : ns_of(arrival_ps(path, m));
}

uint64_t ideal_complete_ns(const struct ideal_path *path, const struct ideal_message *m)
{
	return path->n == 0 ? 0 : ns_of(complete_ps(path, m));
}

// ---- operations

// Client and server with the network between them to themselves.
struct dialogue {
	const struct lab_flow *f;
	struct ideal_path there, back;
	uint64_t pace_there, pace_back;
};

static struct ideal_message message(const struct dialogue *g, bool there, enum req_op op,
				    uint32_t n_bytes)
{
	// The data of a READ is paced by its responder.
	bool data_there = op == REQ_READ ? !there : there;

	return (struct ideal_message){.op = (uint8_t)op,
				      .is_tcp = flow_is_tcp(g->f),
				      .mtu = g->f->payload,
				      .n_bytes = n_bytes,
				      .pace_bps = data_there ? g->pace_there : g->pace_back};
}

// A disk read's last piece of payload is on its way with the reply.
static uint64_t storage_ps(const struct dialogue *g, bool is_read, uint32_t n_bytes)
{
	const struct storage_params *p = &g->f->store;
	uint32_t reply_bytes = storage_reply_bytes(p, is_read, n_bytes), moved = 0, n;
	struct ideal_message request =
		message(g, true, REQ_SEND, storage_request_bytes(p, is_read, n_bytes));
	struct ideal_message reply = message(g, false, REQ_SEND, reply_bytes);
	uint64_t sum = arrival_ps(&g->there, &request);

	while ((n = storage_next_bytes(p, n_bytes, moved)) != 0) {
		struct ideal_message m = message(g, false, is_read ? REQ_WRITE : REQ_READ, n);

		moved += n;
		if (is_read && moved == n_bytes)
			sum += arrival_ps(&g->back, &m) +
			       link_ps(&g->back, 0, frame_len(&m, RC_SEND_ONLY, reply_bytes));
		else
			sum += complete_ps(&g->back, &m);
	}
	if (!is_read || storage_mode_of(p, n_bytes) == STORAGE_SMALL)
		sum += arrival_ps(&g->back, &reply);
	return sum;
}

static uint64_t pace_of(const struct scenario *sc, const struct lab_flow *f, uint32_t host)
{
	uint64_t nic = sc->hosts[host].nic.speed_bps;

	return f->rate.n > 0 && (uint64_t)f->rate.n < nic ? (uint64_t)f->rate.n : nic;
}

uint64_t ideal_op_ns(struct ideal *i, const struct fabric *fabric, const struct lab_flow *f,
		     const struct traffic_done *d)
{
	const struct sc_host *src = &i->sc->hosts[d->src], *dst = &i->sc->hosts[d->dst];
	struct dialogue g = {.f = f,
			     .pace_there = pace_of(i->sc, f, d->src),
			     .pace_back = pace_of(i->sc, f, d->dst)};
	struct ideal_message m, answer;

	ideal_find(i, d->src, d->dst, &g.there);
	if (g.there.n == 0)
		return 0;
	add_extra(fabric, &g.there, flow_tag(f, src, 0), flow_is_ip6(f, src));
	g.back = reversed(&g.there);
	add_extra(fabric, &g.back, flow_tag(f, dst, 0), flow_is_ip6(f, src));
	g.there = reversed(&g.back);
	switch (flow_pattern(f)) {
	case PATTERN_REQUEST:
		m = message(&g, true, REQ_SEND, (uint32_t)f->request.n);
		answer = message(&g, false, (enum req_op)f->op.n, d->n_bytes);
		return (uint64_t)f->think.n +
		       ns_of(arrival_ps(&g.there, &m) + arrival_ps(&g.back, &answer));
	case PATTERN_STORAGE:
		return (uint64_t)f->think.n + ns_of(storage_ps(&g, d->is_read, d->n_bytes));
	default:
		m = message(&g, true, (enum req_op)f->op.n, d->n_bytes);
		return ns_of(complete_ps(&g.there, &m));
	}
}

// ---- the retransmission timer
// Derives a retransmission timer for hosts without the key `rto`. A fabric without losses answers
// each packet before this timer runs out.
//
//   rto = 2 * (base RTT + sum over the switches of the way: buffer / slowest link of the way)
//
// of the way with the largest result, rounded up to whole milliseconds. The factor 2 leaves room
// for full buffers on the way of the acknowledgement, and for other queues that a port serves.

enum { LONGEST_PACKET = 4096, MOST_MS = 60000 }; // MOST_MS: as the key `rto`

static double way_ns(const struct fabric *f, const struct ideal_path *path)
{
	struct ideal_message m = {
		.op = REQ_WRITE, .mtu = LONGEST_PACKET, .n_bytes = LONGEST_PACKET};
	uint64_t slowest = UINT64_MAX;
	double bytes = 0;

	for (uint32_t l = 0; l < path->n; l++) {
		slowest = min_u64(slowest, path->links[l].speed_bps);
		if (l != 0) {
			const struct policy *p = f->switches[path->links[l].sw].in.policy;

			bytes += (double)p->buffer.total_cells * p->cell.bytes;
		}
	}
	return (double)ideal_complete_ns(path, &m) +
	       bytes * BITS_PER_BYTE * SECOND_NS / (double)slowest;
}

// Hosts of one switch with links alike have ways alike: the first and the last of them stand for
// all.
static bool is_alike(const struct scenario *sc, uint32_t a, uint32_t b)
{
	const struct sc_link *x = &sc->links[sc->hosts[a].link];
	const struct sc_link *y = &sc->links[sc->hosts[b].link];

	return routes_edge(sc, a) == routes_edge(sc, b) && x->speed_bps == y->speed_bps &&
	       x->delay_ns == y->delay_ns;
}

static uint32_t find_examples(const struct scenario *sc, uint32_t *hosts)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < sc->n_hosts; i++) {
		uint32_t k = 0;

		while (k < n && !is_alike(sc, hosts[k], i))
			k += 2;
		if (k == n) {
			hosts[n] = i;
			n += 2;
		}
		hosts[k + 1] = i;
	}
	return n;
}

int ideal_rto(const struct fabric *f, uint64_t *out)
{
	uint32_t *hosts = calloc(2 * (size_t)f->sc->n_hosts + 1, sizeof(*hosts));
	struct ideal_path path;
	struct ideal *ideal = NULL;
	double longest = MS_NS;
	int err = hosts == NULL ? -ENOMEM : ideal_create(f->sc, &ideal);
	uint32_t n = err == 0 ? find_examples(f->sc, hosts) : 0;

	for (uint32_t a = 0; a < n; a += 2)
		for (uint32_t b = 1; b < n; b += 2) {
			double ns;

			if (hosts[a] == hosts[b])
				continue;
			ideal_find(ideal, hosts[a], hosts[b], &path);
			ns = path.n == 0 ? 0 : 2 * way_ns(f, &path);
			longest = ns > longest ? ns : longest;
		}
	*out = (uint64_t)fmin(ceil(longest / MS_NS), MOST_MS) * MS_NS;
	ideal_destroy(ideal);
	free(hosts);
	return err;
}
