// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/inof/world.h"

#include <stdio.h>

#include "dataplane/base/rng.h"

static const uint8_t switch_mac[6] = {0x02, 0, 0, 0, 0, 1};

struct ip_key world_ip(unsigned last)
{
	return ip_key_v4(0x0a000000u + last);
}

struct host_model world_host(unsigned number, unsigned port, uint8_t role)
{
	return (struct host_model){.ip = world_ip(number), .number = number, .port = port,
				   .service = {.role = role, .protocol = INOF_ROCE, .port = 4420}};
}

const struct told *world_told(const struct host_model *h, struct ip_key about)
{
	for (unsigned i = 0; i < h->n_told; i++)
		if (ip_key_same(h->told[i].about, about))
			return &h->told[i];
	return NULL;
}

void world_forget(struct host_model *h)
{
	h->n_told = 0;
}

static void remember(struct host_model *h, const struct inof_message *m)
{
	struct told *t = (struct told *)(uintptr_t)world_told(h, m->src);

	h->n++;
	if (t == NULL) {
		h->told = realloc(h->told, (h->n_told + 1) * sizeof(*h->told));
		assert_non_null(h->told);
		t = &h->told[h->n_told++];
		*t = (struct told){.about = m->src};
	}
	t->n_offline += !m->online && t->seq != m->seq;
	t->seq = m->seq;
	t->online = m->online;
	t->reason = m->reason;
	t->service_port = m->service.port;
}

static bool is_lost(const struct world *w, uint64_t chance, unsigned *n)
{
	bool lost = chance != 0 && (rng_next(w->rng) & UINT32_MAX) < chance;

	*n += lost;
	return lost;
}

static const uint8_t *mac_of(void *arg, unsigned port)
{
	(void)arg;
	(void)port;
	return switch_mac;
}

static void answer(struct world *w, unsigned port, uint8_t version, const struct inof_message *m)
{
	assert_true(w->n_acks < N(w->ack));
	w->ack[w->n_acks].port = port;
	w->ack[w->n_acks].version = version;
	w->ack[w->n_acks++].m = *m;
}

// The frame arrives at once, its acknowledgement after the poll.
static bool deliver(void *arg, unsigned port, const struct inof_frame *f)
{
	struct world *w = arg;
	uint8_t *copy = exact_copy(f->bytes, f->len);
	struct inof_message m;
	struct inof_reader in;

	assert_true(port < WORLD_PORTS && f->len >= 60);
	// Of 400 frames in a row the first and the last are more than 500 ms apart.
	if (w->n_frames[port] >= 400)
		assert_true(w->now_ns - w->frame_ns[port][(w->n_frames[port] - 400) % WORLD_SENT] >
			    500 * MS);
	w->frame_ns[port][w->n_frames[port]++ % WORLD_SENT] = w->now_ns;
	assert_true(inof_open(copy, f->len, &in));
	w->last_version = in.version;
	while (inof_next(&in, &m) == INOF_MESSAGE) {
		w->last = m;
		assert_true(w->check == NULL || w->check(w, &m));
		for (unsigned i = 0; i < w->n_hosts; i++) {
			struct host_model *h = &w->host[i];

			if (h->port != port || !ip_key_same(h->ip, m.dst) ||
			    is_lost(w, w->loss, &w->n_lost))
				continue;
			remember(h, &m);
			if (!h->silent && !is_lost(w, w->acks_lost, &w->n_acks_lost))
				answer(w, port, in.version, &m);
		}
	}
	assert_ptr_equal(in.at, in.end);
	free(copy);
	return true;
}

static void count_event(void *arg, const struct event *e, const char *about)
{
	struct world *w = arg;

	(void)about;
	w->n_events[e->type]++;
	w->last_a[e->type] = e->a;
}

static bool is_elsewhere(void *arg, unsigned port, const uint8_t mac[6], struct ip_key ip)
{
	const struct world *w = arg;

	(void)port;
	(void)mac;
	return ip_key_same(ip, w->elsewhere);
}

void world_begin(struct world *w, struct host_model *hosts, unsigned n)
{
	static const struct inof_ops ops = {mac_of, deliver, count_event, is_elsewhere};
	struct inof_conf conf = {.default_zone = true, .ports = {UINT64_MAX, UINT64_MAX}};

	*w = (struct world){.host = hosts, .n_hosts = n, .rng = w->rng, .now_ns = S};
	assert_int_equal(inof_create(WORLD_PORTS, &ops, w, 7, 7, &w->r), 0);
	inof_set_conf(w->r, &conf, w->now_ns);
	for (unsigned p = 0; p < WORLD_PORTS; p++)
		inof_link(w->r, p, true, w->now_ns);
}

void world_end(struct world *w)
{
	for (unsigned i = 0; i < w->n_hosts; i++)
		free(w->host[i].told);
	inof_destroy(w->r);
}

void world_register(struct world *w, struct host_model *h, uint16_t ttl_s)
{
	const struct inof_registration reg = {h->ip, !h->unsubscribed, h->service};
	uint8_t mac[6] = {0x02, 1, 0, 0, (uint8_t)(h->number >> 8), (uint8_t)h->number};
	const char *name = h->name == NULL ? "snsd_eth0_01" : h->name;
	uint8_t tlv[INOF_TLV_MAX], frame[LLDP_MAX_LEN];
	struct lldp_pdu p = {.chassis = {LLDP_CHASSIS_MAC, {mac, 6}},
			     .port = {LLDP_PORT_NAME,
				      {(const uint8_t *)name, (uint16_t)strlen(name)}},
			     .ttl_s = ttl_s};
	uint16_t len = lldp_build(frame, &p, (struct lldp_text){
		tlv, ttl_s == 0 ? 0 : inof_build_registration(tlv, &reg)});

	memcpy(frame + 6, mac, 6);
	frame[11] ^= h->other_source;
	assert_int_equal(inof_lldp(w->r, h->port, frame, len, w->now_ns), ttl_s != 0);
}

void world_send(struct world *w, unsigned port, enum inof_kind kind, uint8_t version,
		struct inof_message m)
{
	struct inof_frame f;

	m.kind = kind;
	inof_begin(&f, switch_mac, version);
	inof_append(&f, &m);
	inof_end(&f);
	inof_receive(w->r, port, f.bytes, f.len, w->now_ns);
}

void world_query(struct world *w, struct host_model *h)
{
	world_send(w, h->port, INOF_QUERY, 1, (struct inof_message){.dst = h->ip});
}

static void poll(struct world *w, uint64_t now_ns)
{
	w->now_ns = max_u64(w->now_ns, now_ns);
	inof_poll(w->r, w->now_ns);
	for (unsigned i = 0; i < w->n_acks; i++)
		world_send(w, w->ack[i].port, INOF_ACK, w->ack[i].version, w->ack[i].m);
	w->n_acks = 0;
}

void world_run(struct world *w, uint64_t end_ns)
{
	uint64_t next_ns;

	while ((next_ns = inof_next_ns(w->r)) <= end_ns)
		poll(w, next_ns);
	poll(w, end_ns);
}

static int no_port(const void *arg, const char *name)
{
	unsigned port;

	(void)arg;
	return sscanf(name, "p%u", &port) == 1 ? (int)port : -1;
}

// The one zone of the policy; members NULL: none.
void world_zone(struct world *w, const char *name, const char *const *members)
{
	struct inof_zone z = {0};
	struct inof_member m;

	snprintf(z.name, sizeof(z.name), "%s", name);
	for (; members != NULL && *members != NULL; members++) {
		assert_null(inof_member_parse(*members, no_port, NULL, &m));
		assert_int_equal(inof_zone_add(&z, *members, &m), 0);
	}
	assert_int_equal(inof_set_zones(w->r, INOF_ZONES_POLICY, &z, members != NULL, w->now_ns),
			 0);
	inof_zone_fini(&z);
}
