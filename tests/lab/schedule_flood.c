// SPDX-License-Identifier: Apache-2.0
#include "dataplane/policy.h"
#include "tests/lab/schedule_together.h"

#include <string.h>

#include "dataplane/packet/wire.h"
#include "dataplane/tap.h"

enum {
	SNAPLEN = 16,
	SNAPLEN_IP = 64, // with the addresses of IP
	RECORDS = 1 << 17, // more than a port that goes down can drop at once
	TABLE = 16384, // addresses that the switch can learn
	AT_ONCE = 2000, // fewer than a worker can report
};

int schedule_host_of(const uint8_t *mac)
{
	static const uint8_t prefix[5] = {2, 0, 0, 0, 0};

	if (memcmp(mac, prefix, sizeof(prefix)) != 0 || mac[5] == 0 || mac[5] > SCHEDULE_PORTS)
		return -1;
	return mac[5] - 1;
}

// ---- what is known

static const uint16_t vids[SCHEDULE_VLANS] = {0, 100, 200};

static void listed(void *arg, const struct fdb_row *row)
{
	port_no_t(*lives_at)[SCHEDULE_PORTS] = arg;
	int host = schedule_host_of(row->mac);

	for (unsigned v = 0; host >= 0 && !row->is_stale && v < SCHEDULE_VLANS; v++)
		if (row->vid == vids[v])
			lives_at[v][host] = (port_no_t)(row->port + 1);
}

// A policy without learning has the address.
static bool is_fixed(const struct schedule *s, unsigned v, unsigned h)
{
	if (s->conf.learned)
		return false;
	return s->b->policy->vlan_aware ? v != 0 && net_has_host(vids[v], h) : v == 0;
}

static void check_station(struct schedule *s, unsigned v, unsigned h, port_no_t at, bool link_down)
{
	port_no_t before = s->lives_at[v][h];

	if (is_fixed(s, v, h))
		assert_int_not_equal(at, 0);
	if (link_down || s->conf.full || before == 0)
		return;
	if (at == 0)
		fail_msg("host %u was forgotten", h + 1);
	if (at != before && before <= SCHEDULE_PORTS && s->b->policy->ports[before - 1].sticky)
		fail_msg("host %u left port %u, where it is sticky", h + 1, before);
}

// The table changes only in steps of control. It forgets no station, unless a link went down, the
// policy is new, or the table is full. Nothing ages: control's clock runs ahead of the workers'
// clocks here.
void schedule_look_up(struct schedule *s, bool link_down)
{
	port_no_t lives_at[SCHEDULE_VLANS][SCHEDULE_PORTS] = {0};

	switch_fdb_walk(s->b->sw, s->control_ns, listed, lives_at);
	for (unsigned v = 0; v < SCHEDULE_VLANS; v++)
		for (unsigned h = 0; h < SCHEDULE_PORTS; h++)
			check_station(s, v, h, lives_at[v][h], link_down);
	memcpy(s->lives_at, lives_at, sizeof(lives_at));
}

void schedule_known(struct schedule *s)
{
	for (unsigned v = 0; v < SCHEDULE_VLANS; v++)
		for (unsigned h = 0; h < SCHEDULE_PORTS; h++)
			s->known[v][h] = s->lives_at[v][h] != 0;
}

// ---- what is dropped

// Frames that the router sends into a VLAN have a source address that ends with its VID. Others at
// a port that routes came out of a tunnel.
unsigned schedule_vlan_of(const struct schedule *s, const struct tap_record *r)
{
	static const uint8_t router[5] = {2, 0, 0, 0, 1};
	const struct policy_port *p = &s->b->policy->ports[r->meta.port];
	unsigned vid = p->routed ? 100 : p->vlan.untagged;

	if (!s->b->policy->vlan_aware)
		return 0;
	if (memcmp(r->data + 6, router, sizeof(router)) == 0)
		vid = r->data[11];
	else if (!p->routed && be16_get(r->data + 12) == ETYPE_VLAN)
		vid = be16_get(r->data + 14) & TCI_VID_MASK;
	return vid == 200 ? 2 : 1;
}

static void judge(struct schedule *s, const struct tap_record *r)
{
	int host = schedule_host_of(r->data);

	if (s->together != NULL)
		together_judge_drop(s, r);
	if (r->meta.direction != TAP_DROP || r->meta.reason != DROP_LOSSLESS_UNKNOWN)
		return;
	s->totals->refused++;
	if (s->conf.flood)
		fail_msg("a class that is flooded refused a frame");
	if (!(s->b->policy->ports[r->meta.port].classify.lossless >> r->meta.cls & 1))
		fail_msg("lossy class %u refused a frame", r->meta.cls);
	if (host >= 0 && s->known[schedule_vlan_of(s, r)][host])
		fail_msg("a frame to host %d, which is known, was refused at port %u", host + 1,
			 r->meta.port + 1);
}

void schedule_check_refused(struct schedule *s)
{
	const struct tap_record *records[64];
	unsigned n;

	if (s->tap == NULL)
		return;
	for (unsigned w = 0; w < switch_n_workers(s->b->sw); w++)
		while ((n = tap_read(s->tap, w, records, 64)) != 0) {
			for (unsigned i = 0; i < n; i++)
				judge(s, records[i]);
			tap_release(s->tap, w, n);
		}
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		assert_int_equal(tap_lost_of(s->tap, port), 0);
}

// ---- a table without room

// To the sender's own address, so that none of them leaves.
static void made_up(struct schedule *s, uint32_t n)
{
	uint8_t frame[64] = {2, 0, 0, 0, 0, 1, 6, 0};

	memcpy(frame + 8, &n, sizeof(n));
	frame[12] = 0x88;
	frame[13] = 0xb5;
	bench_send_raw(s->b, 0, frame, sizeof(frame));
}

static void fill_table(struct schedule *s)
{
	s->silent = true;
	for (uint32_t n = 0; n < TABLE + AT_ONCE; n += AT_ONCE) {
		for (uint32_t i = 0; i < AT_ONCE; i++)
			made_up(s, n + i);
		bench_run(s->b, 2000000);
		schedule_control(s);
	}
	s->silent = false;
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		actor_poke(&s->b->host[p].actor);
}

void schedule_announce(struct schedule *s)
{
	struct bench_frame f = {.broadcast = true, .len = 100};

	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		bench_send(s->b, p, &f);
	bench_run(s->b, 100000000);
	schedule_control(s);
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		assert_true(s->known[0][p]);
}

// ----

void host_speaks_as_another(struct schedule *s)
{
	unsigned port = pick(s, SCHEDULE_PORTS);
	struct bench_frame f = {.to = pick(s, SCHEDULE_PORTS + 1), .dscp = (uint8_t)pick(s, 64),
				.len = 100, .as = (uint8_t)(1 + pick(s, SCHEDULE_PORTS))};

	if (s->conf.learned)
		bench_send(s->b, port, &f);
}

void schedule_flood_open(struct schedule *s)
{
	struct tap_params p = {.n_workers = switch_n_workers(s->b->sw), .n_records = RECORDS,
			       .snaplen = s->conf.together ? SNAPLEN_IP : SNAPLEN};

	memset(p.ports, 0xff, sizeof(p.ports));
	schedule_look_up(s, false);
	schedule_known(s);
	if (s->conf.full)
		fill_table(s);
	assert_int_equal(tap_create(&p, &s->tap), 0);
	switch_set_tap(s->b->sw, s->tap);
	schedule_settle(s);
}

void schedule_flood_count(struct schedule *s)
{
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		s->totals->copies += ctr_get(&switch_port_counters(s->b->sw, p)->replicated);
}

void schedule_flood_close(struct schedule *s)
{
	tap_destroy(s->tap);
	s->tap = NULL;
}
