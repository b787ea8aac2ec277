// SPDX-License-Identifier: Apache-2.0
// Loop detection, control's side: each second each port of the bridge sends a probe in its untagged
// VLAN, and one in each of some tagged VLANs in turn. A probe that comes back in its VLAN proves a
// loop between the port that sent it and the port that received it.
//
// A stranger must not take a port of others down. So a probe counts only with the nonce that was
// drawn for its port and its round, and only in this round or the next. Who knows the nonce is on
// the link of that port and can loop it with a cable as well. Any other probe is counted as forged.
//
// A port that is held down still receives. Its time to recover begins again with each probe that
// arrives there, so a port does not come up into a loop that is still there.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_malloc.h>

#include "dataplane/packet/loop_frame.h"
#include "dataplane/policy.h"
#include "dataplane/switch_impl.h"

enum { RING_HEARD = 1024, TAGGED_A_ROUND = 16 };
// A probe takes two elements of the ring.
enum { ELEMS_A_ROUND = 2 * (TAGGED_A_ROUND + 1) };
static const uint64_t PROBE_EVERY_NS = SECOND_NS, CALM_NS = 5ull * SECOND_NS;

struct loop_port {
	uint64_t nonce[2]; // of this round and the one before, by round & 1
	uint32_t round; // 0: none was sent yet
	uint16_t next_vid; // tagged VLAN to be probed next
	uint64_t due_ns;
	// A bitmap: with these ports of a higher or the same number.
	uint64_t looped[POLICY_MAX_PORTS / 64];
	uint64_t seen_ns; // when one of those loops was last seen
	bool held; // down by the policy's action
	uint64_t held_ns; // since it was taken down, or a probe last arrived there
};

struct loops {
	uint64_t id;
	struct rng rng;
	struct loop_port port[];
};

// ---- made with the first policy that asks for it

static void worker_free(struct worker_loop *l)
{
	if (l == NULL)
		return;
	rte_free(l->echoes);
	rte_free(l);
}

static int worker_loop_create(struct weir_switch *sw, struct worker *w)
{
	struct worker_loop *l = rte_zmalloc("loop", sizeof(*l), 64);

	if (l == NULL)
		return -ENOMEM;
	l->id = sw->loops->id;
	l->echoes = switch_ring(sizeof(struct loop_echo), RING_HEARD);
	if (l->echoes == NULL) {
		worker_free(l);
		return -ENOMEM;
	}
	w->loop = l;
	return 0;
}

static uint64_t draw(struct weir_switch *sw)
{
	return sw->random != NULL ? sw->random() : rng_next64(&sw->loops->rng);
}

int loops_prepare(struct weir_switch *sw, const struct policy *p)
{
	int err = 0;

	if (!p->loop_detect || sw->loops != NULL)
		return 0;
	sw->loops = rte_zmalloc("loops",
				sizeof(*sw->loops) + sw->n_ports * sizeof(sw->loops->port[0]), 64);
	if (sw->loops == NULL)
		return -ENOMEM;
	rng_init(&sw->loops->rng, sw->seed);
	sw->loops->id = draw(sw);
	for (unsigned i = 0; err == 0 && i < sw->n_workers; i++)
		err = worker_loop_create(sw, sw->workers[i]);
	if (err != 0)
		loops_free(sw);
	return err;
}

void loops_free(struct weir_switch *sw)
{
	for (unsigned i = 0; i < sw->n_workers && sw->workers[i] != NULL; i++) {
		worker_free(sw->workers[i]->loop);
		sw->workers[i]->loop = NULL;
	}
	rte_free(sw->loops);
	sw->loops = NULL;
}

// ---- probes

static void send(struct weir_switch *sw, unsigned port, uint16_t vid, bool tagged)
{
	const struct loop_port *lp = &sw->loops->port[port];
	const struct loop_probe p = {
		.id = sw->loops->id, .nonce = lp->nonce[lp->round & 1], .round = lp->round,
		.vid = vid, .port = (port_no_t)port, .tagged = tagged,
		.pcp = sw->policy_mem->ports[port].classify.control_class};
	struct control_frame f = {.port = (port_no_t)port};

	f.len = loop_frame_build(f.bytes, sw->ports[port].facts.mac, &p);
	// There is room: send_round has looked.
	(void)switch_send(sw, &f, SEND_LOOP_PROBE);
}

static void send_tagged(struct weir_switch *sw, unsigned port)
{
	const struct policy_vlan *v = &sw->policy_mem->ports[port].vlan;
	struct loop_port *lp = &sw->loops->port[port];
	unsigned sent = 0;

	for (unsigned i = 0; i < N_VLANS && sent < TAGGED_A_ROUND; i++) {
		uint16_t vid = lp->next_vid;

		lp->next_vid = (uint16_t)((vid + 1) % N_VLANS);
		if (!vlan_bit(v->tagged, vid))
			continue;
		send(sw, port, vid, true);
		sent++;
	}
}

static bool sends_probes(const struct weir_switch *sw, unsigned port)
{
	const struct policy_port *pp = &sw->policy_mem->ports[port];

	return pp->loop.on && !pp->routed && !atomic_load(&sw->want.down[port]);
}

// False: nothing was sent.
static bool send_round(struct weir_switch *sw, unsigned port, uint64_t now_ns)
{
	const struct policy_vlan *v = &sw->policy_mem->ports[port].vlan;
	const struct rte_ring *sends = sw->workers[sw->owner[port]]->sends[SEND_LOOP_PROBE];
	struct loop_port *lp = &sw->loops->port[port];

	if (!sends_probes(sw, port)) {
		lp->due_ns = 0; // a link that comes up is probed at once
		return false;
	}
	if (now_ns < lp->due_ns ||
	    ring_waiting(sends) + ELEMS_A_ROUND > rte_ring_get_capacity(sends))
		return false;
	lp->due_ns = now_ns + PROBE_EVERY_NS;
	lp->round++;
	lp->nonce[lp->round & 1] = draw(sw);
	if (!sw->policy_mem->vlan_aware)
		send(sw, port, 0, false);
	else if (v->untagged != 0)
		send(sw, port, v->untagged, false);
	if (sw->policy_mem->vlan_aware)
		send_tagged(sw, port);
	return true;
}

// ---- what has come back

static bool is_ours(const struct weir_switch *sw, const struct loop_echo *e)
{
	const struct loop_port *lp;

	if (e->from_port >= sw->n_ports || !sw->policy_mem->ports[e->from_port].loop.on)
		return false;
	lp = &sw->loops->port[e->from_port];
	return e->round != 0 && (e->round == lp->round || e->round + 1 == lp->round) &&
	       e->nonce == lp->nonce[e->round & 1];
}

static bool loops_with(const struct loop_port *lp, unsigned port)
{
	return lp->looped[port / 64] >> port % 64 & 1;
}

static bool has_looped(const struct loop_port *lp)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < POLICY_MAX_PORTS / 64; i++)
		any |= lp->looped[i];
	return any != 0;
}

static bool takes_down(const struct weir_switch *sw, unsigned port)
{
	return sw->policy_mem->ports[port].loop.on && sw->policy_mem->ports[port].loop.port_down;
}

// The one port that ends the loop: of two the second, so that probes of both ways agree. -1: none.
static int victim(const struct weir_switch *sw, unsigned low, unsigned high)
{
	if (takes_down(sw, high))
		return (int)high;
	return takes_down(sw, low) ? (int)low : -1;
}

static void hold(struct weir_switch *sw, unsigned port, bool held, uint64_t now_ns)
{
	sw->loops->port[port].held = held;
	sw->loops->port[port].held_ns = now_ns;
	control_port_down(sw, port);
}

// True: *out is an event to be given out.
static bool come_back(struct weir_switch *sw, const struct loop_echo *e, uint64_t now_ns,
		      struct event *out)
{
	unsigned low = e->from_port < e->in_port ? e->from_port : e->in_port;
	unsigned high = e->from_port < e->in_port ? e->in_port : e->from_port;
	struct loop_port *lp = &sw->loops->port[low];
	bool news = !loops_with(lp, high);
	int down = victim(sw, low, high);

	lp->looped[high / 64] |= 1ull << high % 64;
	lp->seen_ns = now_ns;
	if (down >= 0) {
		news |= !sw->loops->port[down].held;
		hold(sw, (unsigned)down, true, now_ns);
	}
	*out = (struct event){.t_ns = now_ns, .type = EVENT_LOOP, .port = e->in_port,
			      .cls = CLASS_NONE,
			      .a = e->from_port | (uint32_t)e->vid << 16,
			      .b = down < 0 ? 0 : (uint64_t)down + 1};
	return news;
}

static unsigned look_at_worker(struct weir_switch *sw, struct worker_loop *l, uint64_t now_ns,
			       struct event *events, unsigned n)
{
	struct loop_echo e;
	unsigned k = 0;

	while (k < n && rte_ring_sc_dequeue_elem(l->echoes, &e, sizeof(e)) == 0) {
		if (!is_ours(sw, &e))
			ctr_inc(&sw->port[e.in_port]->c.loop_forged);
		else
			k += come_back(sw, &e, now_ns, &events[k]);
	}
	return k;
}

// ---- what is over

static unsigned look_at_port(struct weir_switch *sw, unsigned port, uint64_t now_ns,
			     struct event *events, unsigned n)
{
	struct loop_port *lp = &sw->loops->port[port];
	uint64_t recover_ns = sw->policy_mem->ports[port].loop.recover_ns;
	struct event e = {.t_ns = now_ns, .port = (port_no_t)port, .cls = CLASS_NONE};
	unsigned k = 0;

	if (k < n && has_looped(lp) && now_ns - lp->seen_ns >= CALM_NS) {
		memset(lp->looped, 0, sizeof(lp->looped));
		e.type = EVENT_LOOP_OVER;
		events[k++] = e;
	}
	if (k < n && lp->held &&
	    (!takes_down(sw, port) || now_ns - lp->held_ns >= recover_ns)) {
		hold(sw, port, false, now_ns);
		e.type = EVENT_LOOP_RECOVERED;
		events[k++] = e;
	}
	return k;
}

unsigned loops_control(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n)
{
	bool sent = false;
	unsigned k = 0;

	if (sw->loops == NULL)
		return 0;
	for (unsigned i = 0; i < sw->n_workers; i++)
		k += look_at_worker(sw, sw->workers[i]->loop, now_ns, events + k, n - k);
	for (unsigned port = 0; port < sw->n_ports; port++) {
		k += look_at_port(sw, port, now_ns, events + k, n - k);
		sent |= send_round(sw, port, now_ns);
	}
	if (sent)
		control_request(sw); // a worker on a virtual clock sleeps
	return k;
}

bool loops_hold(const struct weir_switch *sw, unsigned port)
{
	return sw->loops != NULL && sw->loops->port[port].held;
}

enum loop_state switch_loop_state(const struct weir_switch *sw, unsigned port)
{
	if (loops_hold(sw, port))
		return LOOP_PORT_DOWN;
	if (!sw->policy_mem->ports[port].loop.on || sw->policy_mem->ports[port].routed)
		return LOOP_OFF;
	for (unsigned low = 0; low <= port; low++) {
		const struct loop_port *lp = &sw->loops->port[low];

		if ((low == port && has_looped(lp)) || loops_with(lp, port))
			return LOOP_FOUND;
	}
	return LOOP_NONE;
}

void switch_set_random(struct weir_switch *sw, uint64_t (*random)(void))
{
	sw->random = random;
	if (sw->loops != NULL)
		sw->loops->id = draw(sw);
	for (unsigned i = 0; sw->loops != NULL && i < sw->n_workers; i++)
		sw->workers[i]->loop->id = sw->loops->id;
}
