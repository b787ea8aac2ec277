// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/schedule_together.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/packet/wire.h"
#include "dataplane/policy.h"
#include "dataplane/switch_flows.h"
#include "dataplane/switch_impair.h"
#include "dataplane/switch_vxlan.h"
#include "dataplane/tap.h"

// ---- traffic

bool together_traffic(struct schedule *s, unsigned port, struct bench_frame *out)
{
	struct net_frame *f = &s->together->next[port];

	net_frame_draw(&s->rng, &s->together->view, port, f);
	*out = (struct bench_frame){.raw = f->bytes, .len = f->len, .dscp = f->dscp};
	return true;
}

static void see_policy(struct schedule *s)
{
	uint32_t on = features_of_policy(s->b->policy);
	struct net_view *v = &s->together->view;

	v->vlans = s->b->policy->vlan_aware;
	v->tunnels = on >> FEATURE_VXLAN & 1;
	v->routes = on >> FEATURE_SVI & 1;
	v->honest = s->conf.promise;
	v->stamp = s->together->stamp;
}

void together_before_policy(struct schedule *s)
{
	s->together->policy_changes = true;
	memset(s->known, 0, sizeof(s->known));
	memset(s->lives_at, 0, sizeof(s->lives_at));
}

void together_after_policy(struct schedule *s)
{
	s->together->policy_changes = false;
	s->together->reloaded = true;
	s->together->table_is_new = true;
	see_policy(s);
	schedule_look_up(s, true);
	schedule_known(s);
}

// The addresses of the policy before leave the table in the first step of control.
bool together_table_changes(const struct schedule *s)
{
	bool changes = s->together->table_is_new;

	s->together->table_is_new = false;
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		changes |= !switch_link_up(s->b->sw, port);
	return changes;
}

// ---- zones

// Frames that arrive meanwhile are judged by nobody: they have an older stamp.
static void set_zones(struct schedule *s)
{
	struct together *x = s->together;

	x->stamp++;
	assert_int_equal(net_zones_set(s->b->sw, &x->zones), 0);
	schedule_settle(s);
	x->view.stamp = x->stamp;
}

void zones_change(struct schedule *s)
{
	if (s->together == NULL)
		return;
	net_zones_draw(&s->rng, &s->together->zones);
	set_zones(s);
}

// What entered after the last change, and may not arrive.
static void check_arrival(struct schedule *s, const uint8_t *frame, uint16_t len)
{
	const struct together *x = s->together;
	const uint8_t *inner;
	struct net_ends e;
	uint16_t stamp;

	if (!x->zones.on || !net_stamp(frame, len, &stamp, &inner) || stamp != x->stamp)
		return;
	e = net_ends(inner, len - (unsigned)(inner - frame));
	if (net_are_apart(&x->zones, &e))
		fail_msg("a frame from host %u or %u arrives at host %u or %u, against the zones",
			 e.from_ip + 1, e.from_mac + 1, e.to_ip + 1, e.to_mac + 1);
}

// ---- impairments

static void refresh_rules(struct schedule *s)
{
	struct together *x = s->together;
	struct impair_view v;

	for (unsigned i = 0; switch_impair_get(s->b->sw, i, &v); i++)
		for (unsigned k = 0; k < x->n_rules; k++)
			if (x->rule[k].id == v.id)
				x->rule[k].changed = v.changed;
}

void impairment_begins(struct schedule *s)
{
	struct together *x = s->together;
	struct impair_rule r;
	uint32_t id;
	unsigned port;
	int err;

	if (x == NULL || x->n_rules == TOGETHER_RULES)
		return;
	port = pick(s, SCHEDULE_PORTS);
	net_rule_draw(&s->rng, s->conf.promise, (1 + pick(s, 500)) * 1000ull, &r);
	refresh_rules(s); // those that have ended may give their places away
	err = switch_impair_add(s->b->sw, port, &r, &id);
	if (err == 0)
		x->rule[x->n_rules++] = (struct together_rule){
			.id = id, .port = port, .drops = r.action == IMPAIR_ACT_DROP};
	else
		assert_int_equal(err, -ENOSPC);
	schedule_settle(s);
}

void impairments_stop(struct schedule *s)
{
	if (s->together == NULL)
		return;
	(void)switch_impair_stop(s->b->sw, 0);
	schedule_settle(s);
}

static void check_impaired(struct schedule *s)
{
	struct together *x = s->together;
	uint64_t by_rules[SCHEDULE_PORTS] = {0};

	if (x->n_rules == 0)
		return;
	refresh_rules(s);
	for (unsigned k = 0; k < x->n_rules; k++)
		by_rules[x->rule[k].port] += x->rule[k].drops ? x->rule[k].changed : 0;
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		assert_int_equal(schedule_drops(s, port, DROP_IMPAIRED), by_rules[port]);
}

static bool is_impaired(const struct schedule *s)
{
	struct impair_view v;
	bool on = false;

	for (unsigned i = 0; switch_impair_get(s->b->sw, i, &v); i++)
		on |= v.state == IMPAIR_ON;
	return on;
}

// ---- limits

static void check_limits(const struct schedule *s)
{
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		const struct port_counters *c = switch_port_counters(s->b->sw, port);
		uint64_t limited = 0;

		for (unsigned kind = LIMIT_BROADCAST; kind < N_LIMIT_KINDS; kind++)
			limited += ctr_get(&c->limited[kind]);
		assert_int_equal(schedule_drops(s, port, DROP_STORM_CONTROL), limited);
	}
}

// ---- loops

static void keep_probe(struct schedule *s, unsigned port, const uint8_t *frame, uint16_t len)
{
	unsigned type = be16_get(frame + 12);

	if (type == ETYPE_VLAN)
		type = be16_get(frame + 16);
	if (type != ETYPE_LOOPBACK || len > TOGETHER_PROBE_MAX)
		return;
	memcpy(s->together->probe[port], frame, len);
	s->together->probe_len[port] = len;
}

// A host that has heard a probe of a port that sends them; SCHEDULE_PORTS: there is none.
static unsigned host_with_probe(struct schedule *s)
{
	unsigned first = pick(s, SCHEDULE_PORTS);

	for (unsigned i = 0; i < SCHEDULE_PORTS; i++) {
		unsigned port = (first + i) % SCHEDULE_PORTS;

		if (s->b->policy->ports[port].loop.on && s->together->probe_len[port] != 0)
			return port;
	}
	return SCHEDULE_PORTS;
}

// A cable leads from the host's port back to the switch, to this port or to another one.
void a_probe_comes_back(struct schedule *s)
{
	struct together *x = s->together;
	unsigned heard, at;

	if (x == NULL)
		return;
	schedule_control(s);
	bench_run(s->b, s->pace_ns); // a probe of this round, or of the one before
	heard = host_with_probe(s);
	if (heard == SCHEDULE_PORTS)
		return;
	at = pick(s, 2) ? heard : pick(s, SCHEDULE_PORTS);
	x->probe_came_back = true;
	bench_send_raw(s->b, at, x->probe[heard], x->probe_len[heard]);
	bench_run(s->b, s->pace_ns);
	schedule_control(s);
}

static void check_loops(struct schedule *s)
{
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		bool down = switch_loop_state(s->b->sw, port) == LOOP_PORT_DOWN;

		if (down && !s->together->probe_came_back)
			fail_msg("port %u is down for a loop that is not there", port + 1);
		s->together->totals->ports_down += down && s->was_up[port];
	}
}

// ---- what is dropped

static void judge_zone(struct schedule *s, const struct tap_record *r)
{
	struct net_ends e = net_ends(r->data, r->captured);

	s->together->totals->zoned++;
	if (!net_are_apart(&s->together->zones, &e))
		fail_msg("port %u drops a frame from host %u or %u to host %u or %u for its zones",
			 r->meta.port + 1, e.from_ip + 1, e.from_mac + 1, e.to_ip + 1,
			 e.to_mac + 1);
}

static void judge_sticky(struct schedule *s, const struct tap_record *r)
{
	int host = schedule_host_of(r->data + 6);
	unsigned at;

	s->together->totals->refused++;
	if (s->together->policy_changes || host < 0)
		return;
	at = s->lives_at[schedule_vlan_of(s, r)][host];
	if (at == 0 || at - 1 == r->meta.port || !s->b->policy->ports[at - 1].sticky)
		fail_msg("port %u refuses the address of host %d, which lives at %u (VLAN %u)",
			 r->meta.port + 1, host + 1, at, schedule_vlan_of(s, r));
}

void together_judge_drop(struct schedule *s, const struct tap_record *r)
{
	if (r->meta.direction != TAP_DROP)
		return;
	if (r->meta.reason == DROP_ZONE)
		judge_zone(s, r);
	else if (r->meta.reason == DROP_STICKY)
		judge_sticky(s, r);
}

// ---- the schedule

static void receive(struct bench_host *h, const uint8_t *frame, uint16_t len)
{
	struct schedule *s = h->source_arg;

	keep_probe(s, (unsigned)(h - h->bench->host), frame, len);
	check_arrival(s, frame, len);
}

void together_open(struct schedule *s, struct together_totals *totals)
{
	s->together = calloc(1, sizeof(*s->together));
	assert_non_null(s->together);
	s->together->totals = totals;
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		s->b->host[port].on_rx = receive;
		s->was_up[port] = true;
	}
	see_policy(s);
}

void together_after_step(struct schedule *s)
{
	check_impaired(s);
	check_limits(s);
	check_loops(s);
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		schedule_follow_link(s, port);
}

static uint32_t in_force(const struct schedule *s)
{
	uint32_t on = features_of_policy(s->b->policy);

	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		if (!switch_link_up(s->b->sw, port))
			on |= feature_bit(FEATURE_LINK_DOWN);
		for (int q = -1; q < N_QUEUES; q++)
			if (!switch_tx_enabled(s->b->sw, port, q))
				on |= feature_bit(FEATURE_TX_OFF);
	}
	if (is_impaired(s))
		on |= feature_bit(FEATURE_IMPAIR);
	if (s->together->zones.on)
		on |= feature_bit(FEATURE_ZONES);
	if (s->together->reloaded)
		on |= feature_bit(FEATURE_RELOAD);
	if (s->held)
		on |= feature_bit(FEATURE_HOLD);
	return on;
}

void together_after_event(struct schedule *s)
{
	feature_pairs_count(&s->together->totals->pairs, in_force(s));
	s->together->reloaded = false;
}

void together_calm_down(struct schedule *s)
{
	s->together->zones.on = false;
	set_zones(s);
	impairments_stop(s);
}

static void no_frame_is_held(const struct schedule *s)
{
	struct impair_view v;

	for (unsigned i = 0; switch_impair_get(s->b->sw, i, &v); i++)
		assert_int_equal(v.held, 0);
}

static void count(const struct schedule *s)
{
	struct together_totals *t = s->together->totals;
	struct vxlan_counters tunnels = {0};

	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		t->impaired += schedule_drops(s, port, DROP_IMPAIRED);
		t->limited += schedule_drops(s, port, DROP_STORM_CONTROL);
		t->cnps += ctr_get(&switch_port_flows(s->b->sw, port)->cnps_sent);
		for (unsigned rule = 0; rule < NET_GUARD_RULES; rule++)
			t->turned += switch_guard_remapped(s->b->sw, port, rule);
	}
	switch_vxlan_totals(s->b->sw, &tunnels);
	for (unsigned in = 0; in < 4; in++)
		for (unsigned out = 0; out < 4; out++)
			t->tunnelled += ctr_get(&tunnels.ecn[in][out]);
}

void together_close(struct schedule *s)
{
	no_frame_is_held(s);
	count(s);
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		s->b->host[port].on_rx = NULL;
	free(s->together);
	s->together = NULL;
}
