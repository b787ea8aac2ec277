// SPDX-License-Identifier: Apache-2.0
#include "control/lab/inof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "control/inof/endpoint.h"
#include "control/lab/fabric.h"
#include "control/lab/inof_peers.h"

enum { NVME_PORT = 4420 };

struct station {
	struct fabric *f;
	uint32_t i; // host
	struct inof_endpoint *endpoint; // NULL: none
	bool up; // the link, as last seen
	uint64_t poll_ns;
};

// A frame that a host has got and not yet looked at.
struct arrival {
	TAILQ_ENTRY(arrival) entry;
	struct lab_inof *in;
	uint32_t host, len;
	uint8_t bytes[];
};
TAILQ_HEAD(arrivals, arrival);

struct lab_inof {
	struct fabric *f;
	struct station *hosts;
	struct arrivals arrivals;
	struct lab_inof_peers *peers; // NULL: the switches exchange no hosts
};

// ---- hosts

static bool host_sends(void *arg, const uint8_t *frame, uint16_t len)
{
	const struct station *s = arg;

	fabric_poke_host(s->f, s->i);
	return nic_send_frame(s->f->hosts[s->i].nic, frame, len);
}

static void path(const struct station *s, const struct inof_path *p, bool begins, bool forced)
{
	const struct scenario *sc = s->f->sc;
	struct fabric_path change = {.src = s->i, .begins = begins, .forced = forced};

	while (change.dst < sc->n_hosts &&
	       !ip_key_same(ip_key_v4(sc->hosts[change.dst].ip), p->ip))
		change.dst++;
	if (change.dst < sc->n_hosts && s->f->hooks.path != NULL)
		s->f->hooks.path(s->f->hooks.arg, &change);
}

static void path_begins(void *arg, const struct inof_path *p)
{
	path(arg, p, true, false);
}

static void path_ends(void *arg, const struct inof_path *p, uint8_t why, bool forced)
{
	(void)why;
	path(arg, p, false, forced);
}

static struct inof_service service_of(const struct sc_host *h)
{
	struct inof_service s = {h->inof.role, INOF_ROCE, NVME_PORT, {0}};

	if (h->inof.nqn != NULL) {
		s.nqn.len = (uint8_t)strlen(h->inof.nqn);
		memcpy(s.nqn.text, h->inof.nqn, s.nqn.len);
	}
	return s;
}

static int make_host(struct station *s, struct fabric *f, uint32_t i)
{
	static const struct inof_endpoint_ops ops = {host_sends, path_begins, path_ends, NULL};
	const struct sc_host *h = &f->sc->hosts[i];
	struct inof_endpoint_conf c = {
		.port_id = "snsd_eth0_00",
		.registration = {.ip = ip_key_v4(h->ip), .subscribes = true,
				 .service = service_of(h)},
		.register_ns = h->inof.register_ns,
	};

	*s = (struct station){.f = f, .i = i};
	memcpy(c.mac, h->mac, sizeof(c.mac));
	return h->inof.role == 0 ? 0 : inof_endpoint_create(&c, &ops, s, &s->endpoint);
}

static void offer_all(const struct station *s)
{
	const struct scenario *sc = s->f->sc;

	if ((sc->hosts[s->i].inof.role & INOF_INITIATOR) == 0)
		return;
	for (uint32_t i = 0; i < sc->n_hosts; i++) {
		const struct sc_host *h = &sc->hosts[i];
		const struct inof_service service = service_of(h);

		if (i != s->i && (h->inof.role & INOF_TARGET) != 0)
			inof_endpoint_offer(s->endpoint, ip_key_v4(h->ip), &service);
	}
}

static void poll_station(struct station *s, uint64_t now_ns)
{
	bool up = wire_ops.link_up(fabric_host_end(s->f, s->i)), changed = up != s->up;

	if (s->endpoint == NULL)
		return;
	s->up = up;
	inof_endpoint_link(s->endpoint, up, now_ns);
	if (!s->f->sc->hosts[s->i].inof.notices) {
		if (changed && up)
			offer_all(s);
	} else if (changed || now_ns >= s->poll_ns) {
		s->poll_ns = inof_endpoint_poll(s->endpoint, now_ns);
	}
}

static void arrived(void *arg, uint64_t now_ns)
{
	struct arrival *a = arg;

	(void)now_ns;
	inof_endpoint_receive(a->in->hosts[a->host].endpoint, a->bytes, a->len);
	TAILQ_REMOVE(&a->in->arrivals, a, entry);
	free(a);
}

// The host acts later, and never while its NIC calls.
void lab_inof_received(struct lab_inof *in, uint32_t host, const uint8_t *frame, uint32_t len,
		       uint64_t now_ns)
{
	const struct sc_inof *k = &in->f->sc->hosts[host].inof;
	struct arrival *a;

	if (!k->notices)
		return;
	a = malloc(sizeof(*a) + len);
	if (a == NULL) {
		in->f->out_of_memory = true;
		return;
	}
	a->in = in;
	a->host = host;
	a->len = len;
	memcpy(a->bytes, frame, len);
	TAILQ_INSERT_TAIL(&in->arrivals, a, entry);
	if (vclock_at(&in->f->clock, now_ns + k->delay_ns, arrived, a) != 0)
		in->f->out_of_memory = true;
}

void lab_inof_silent(struct lab_inof *in, uint32_t host, uint32_t target)
{
	inof_endpoint_silent(in->hosts[host].endpoint, ip_key_v4(in->f->sc->hosts[target].ip));
}

bool lab_inof_one_subsystem(const struct scenario *sc, uint32_t a, uint32_t b)
{
	const char *x = sc->hosts[a].inof.nqn, *y = sc->hosts[b].inof.nqn;

	return a == b || (x != NULL && y != NULL && strcmp(x, y) == 0);
}

// ---- both

int lab_inof_create(struct fabric *f, struct lab_inof **out)
{
	const struct scenario *sc = f->sc;
	struct lab_inof *in;
	int err = 0;

	if (!f->has_inof)
		return 0;
	in = calloc(1, sizeof(*in));
	if (in == NULL)
		return -ENOMEM;
	*out = in;
	in->f = f;
	TAILQ_INIT(&in->arrivals);
	in->hosts = calloc(sc->n_hosts + 1, sizeof(in->hosts[0]));
	if (in->hosts == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < sc->n_hosts && err == 0; i++)
		err = make_host(&in->hosts[i], f, i);
	if (sc->inof.exchange && err == 0)
		err = lab_inof_peers_create(sc->n_switches, sc->inof.delay_ns, sc->inof.detect_ns,
					    &in->peers);
	return err;
}

void lab_inof_destroy(struct lab_inof *in)
{
	struct arrival *a;

	if (in == NULL)
		return;
	lab_inof_peers_destroy(in->peers);
	for (uint32_t i = 0; in->hosts != NULL && i < in->f->sc->n_hosts; i++)
		inof_endpoint_destroy(in->hosts[i].endpoint);
	while ((a = TAILQ_FIRST(&in->arrivals)) != NULL) {
		TAILQ_REMOVE(&in->arrivals, a, entry);
		free(a);
	}
	free(in->hosts);
	free(in);
}

void lab_inof_look(struct lab_inof *in, uint64_t now_ns)
{
	if (in == NULL)
		return;
	for (uint32_t i = 0; i < in->f->sc->n_hosts; i++)
		poll_station(&in->hosts[i], now_ns);
}

void lab_inof_exchange(struct lab_inof *in, uint64_t now_ns)
{
	if (in == NULL)
		return;
	for (uint32_t i = 0; i < in->f->sc->n_switches; i++)
		lab_inof_peers_registry(in->peers, i, instance_inof(&in->f->switches[i].in));
	if (lab_inof_peers_look(in->peers, now_ns) != 0)
		in->f->out_of_memory = true;
}

void lab_inof_cut_off(struct lab_inof *in, uint32_t sw, bool on)
{
	if (in != NULL)
		lab_inof_peers_cut_off(in->peers, sw, on);
}
