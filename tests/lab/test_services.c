// SPDX-License-Identifier: Apache-2.0
// Tests what the services of control/instance ask of their owner and do for it, on a running
// switch. What the protocols say is tested with their agents.
#include "dataplane/policy.h"
#include "tests/lab/bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/autoecn/agent.h"
#include "control/config/config.h"
#include "control/inof/registry.h"
#include "control/instance/service.h"
#include "control/lldp/agent.h"
#include "control/microbursts/burstlog.h"
#include "dataplane/base/units.h"
#include "dataplane/event.h"
#include "dataplane/packet/lldp.h"
#include "dataplane/packet/neighbour.h"

#define POLICY_OF(sw, class, more)                                                                 \
	"switch: {name: sv, " sw "}\n"                                                             \
	"ports:\n  - {name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: 10G}\n"                    \
	"profiles:\n  default:\n    dscp_to_class: {default: 0, 24: 3}\n"                          \
	"    classes: {3: {lossless: true" class "}}\n" more
#define POLICY(sw, more) POLICY_OF(sw, "", more)

enum { PORTS = 3, LOOK_NS = MS_NS, A_LOOK = 64 }; // frames of LLDP that a look takes

static const char plain[] = POLICY("lldp: on", "");
static const char by_peer[] = POLICY("lldp: on", "    pfc: {mode: auto}\n");

struct seen {
	struct bench *b;
	struct instance in;
	int renewed; // what renew_policy returns
	unsigned n_renew, n_troubles, n_left, n_events[N_EVENT_TYPES];
	enum trouble_severity severity;
	char text[256];
	char about[64]; // of the last event
	struct event pfc; // the last EVENT_DCBX_PFC, and when it was told
	uint64_t pfc_at_ns;
	unsigned n_hellos[PORTS], n_goodbyes[PORTS], n_notices[PORTS], n_questions[PORTS];
};

// ---- the owner

static void see_event(void *arg, const struct event *e, const char *about, uint64_t now_ns)
{
	struct seen *s = arg;

	s->n_events[e->type]++;
	snprintf(s->about, sizeof(s->about), "%s", about);
	if (e->type != EVENT_DCBX_PFC)
		return;
	s->pfc = *e;
	s->pfc_at_ns = now_ns;
}

static void see_trouble(void *arg, enum trouble_severity severity, const char *text)
{
	struct seen *s = arg;

	s->n_troubles++;
	s->severity = severity;
	snprintf(s->text, sizeof(s->text), "%s", text);
}

static int renew(void *arg, uint64_t now_ns, char *err, size_t err_len)
{
	struct seen *s = arg;

	(void)now_ns;
	s->n_renew++;
	snprintf(err, err_len, "refused");
	return s->renewed;
}

static void poke(void *arg)
{
	struct seen *s = arg;

	actor_poke(&s->b->actor);
}

static void see_left(void *arg, const struct control_frame *f)
{
	struct seen *s = arg;

	assert_int_equal(f->port, 0);
	s->n_left++;
}

// The hosts of the bench obey the policy that runs.
static void take_policy(void *arg, uint64_t now_ns)
{
	struct seen *s = arg;

	(void)now_ns;
	s->b->policy = s->in.policy;
}

static const struct instance_ops ops = {.new_policy = take_policy, .event = see_event,
					.trouble = see_trouble, .renew_policy = renew,
					.wake = poke, .leave_lldp = see_left};

static void hear_frame(struct bench_host *h, const uint8_t *frame, uint16_t len)
{
	struct seen *s = h->source_arg;
	unsigned port = (unsigned)(h - h->bench->host);
	uint16_t type = be16_get(frame + 12);
	struct neighbour_msg m;
	struct lldp_pdu p;

	if (type == ETYPE_ARP && neighbour_parse(frame, len, &m))
		s->n_questions[port] += m.request;
	if (type == ETYPE_INOF)
		s->n_notices[port]++;
	if (type != ETYPE_LLDP)
		return;
	assert_int_equal(lldp_parse(frame, len, &p), LLDP_OK);
	if (p.ttl_s == 0)
		s->n_goodbyes[port]++;
	else
		s->n_hellos[port]++;
}

static struct config *config_of(const char *text)
{
	struct diags d = {0};
	struct config *c;

	assert_int_equal(config_parse("policy", text, strlen(text), &c, &d), 0);
	diags_fini(&d);
	return c;
}

static void carry(struct policy *p, void *arg)
{
	instance_carry(arg, p);
}

// The clock is at a whole millisecond then.
static void open_services(struct seen *s, const char *text)
{
	const struct bench_opts opts = {.adjust = carry, .adjust_arg = &s->in};
	char err[256];

	*s = (struct seen){0};
	s->b = bench_open_with(text, &opts);
	bench_run(s->b, MS_NS - s->b->clock.now_ns % MS_NS);
	s->in = (struct instance){.sw = s->b->sw, .policy = s->b->policy, .ops = &ops, .arg = s,
				  .config = config_of(text)};
	for (unsigned i = 0; i < PORTS; i++) {
		s->b->host[i].on_rx = hear_frame;
		s->b->host[i].source_arg = s;
	}
	assert_int_equal(instance_open(&s->in, err, sizeof(err)), 0);
}

static void close_services(struct seen *s)
{
	instance_close(&s->in);
	s->b->policy = s->in.policy;
	s->in.policy = NULL;
	instance_fini(&s->in);
	bench_close(s->b);
}

static void look_at(struct seen *s, uint64_t now_ns)
{
	instance_collect(&s->in, now_ns);
	instance_step(&s->in, now_ns);
	instance_hear(&s->in, now_ns);
	instance_act(&s->in, now_ns);
	actor_poke(&s->b->actor);
}

static void look(struct seen *s, unsigned n)
{
	while (n-- > 0) {
		bench_run(s->b, LOOK_NS);
		look_at(s, s->b->clock.now_ns);
	}
}

static void reload(struct seen *s, const char *text)
{
	struct policy *next = bench_compile(s->b, text);

	assert_int_equal(instance_prepare(&s->in, next), 0);
	instance_reload(&s->in, config_of(text), next, s->b->clock.now_ns, CHANGE_LATE_NS);
	for (unsigned i = 0; i < 1000 && instance_reloads(&s->in); i++)
		look(s, 1);
	assert_false(instance_reloads(&s->in));
}

// Of the host at a port.
static uint16_t build_hello(uint8_t frame[LLDP_MAX_LEN], unsigned port, uint8_t pfc,
			    struct lldp_text extra)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)(port + 1)};
	struct lldp_pdu p = {.chassis = {LLDP_CHASSIS_MAC, {mac, 6}},
			     .port = {LLDP_PORT_MAC, {mac, 6}},
			     .ttl_s = 120,
			     .dcbx.pfc = {.given = pfc != 0, .enable = pfc}};

	memcpy(p.mac, mac, sizeof(mac));
	return lldp_build(frame, &p, extra);
}

static void say_hello(struct seen *s, unsigned port, uint8_t pfc)
{
	uint8_t frame[LLDP_MAX_LEN];

	bench_send_raw(s->b, port, frame, build_hello(frame, port, pfc, (struct lldp_text){0}));
}

// ---- LLDP

static void a_peer_changes_pfc_by_another_policy(void **state)
{
	struct seen s;
	struct policy *next;

	(void)state;
	open_services(&s, by_peer);
	look(&s, 5);
	assert_int_equal(s.n_renew, 0);
	assert_true(s.n_hellos[0] > 0 && s.n_hellos[2] > 0);
	say_hello(&s, 0, 1 << 3); // without a peer there is no PFC
	look(&s, 2);
	assert_int_equal(s.n_events[EVENT_DCBX_PFC], 1);
	assert_true(s.n_renew > 0);
	assert_int_equal(s.n_troubles, 0);
	next = bench_compile(s.b, by_peer);
	assert_int_equal(next->ports[0].pfc.tx, 1 << 3);
	assert_int_equal(next->ports[1].pfc.tx, 0);
	policy_destroy(next);
	close_services(&s);
}

static void a_policy_that_is_refused_is_tried_again_after_5_s(void **state)
{
	struct seen s;

	(void)state;
	open_services(&s, by_peer);
	s.renewed = -EINVAL;
	look(&s, 2);
	say_hello(&s, 0, 1 << 3);
	look(&s, 100);
	assert_int_equal(s.n_renew, 1);
	assert_int_equal(s.n_troubles, 1);
	assert_int_equal(s.severity, TROUBLE_ERROR);
	assert_string_equal(s.text, "dcbx: refused; the next attempt is in 5 s");
	look(&s, 5000);
	assert_int_equal(s.n_renew, 2);
	close_services(&s);
}

static void frames_of_a_port_without_lldp_are_left_to_the_owner(void **state)
{
	struct seen s;

	(void)state;
	open_services(&s, plain);
	look(&s, 2);
	say_hello(&s, 0, 0);
	look(&s, 2);
	assert_int_equal(s.n_left, 0);
	assert_non_null(lldp_neighbour(instance_lldp(&s.in), 0, 0));
	say_hello(&s, 0, 0);
	bench_run(s.b, MS_NS); // it waits for control while the policy changes
	reload(&s, POLICY("lldp: off", ""));
	assert_int_equal(s.n_left, 1);
	assert_int_equal(s.n_goodbyes[0], 1); // although no port of the policy speaks LLDP
	assert_null(lldp_neighbour(instance_lldp(&s.in), 0, 0));
	close_services(&s);
}

static uint64_t heard(const struct seen *s)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < PORTS; i++)
		n += lldp_counters(instance_lldp(&s->in), i)->received;
	return n;
}

// A live switch takes so many frames in one look; where the workers stand still it takes all.
static void a_look_takes_its_share_or_all(void **state)
{
	struct seen s;

	(void)state;
	for (unsigned all = 0; all < 2; all++) {
		uint64_t n;

		open_services(&s, plain);
		s.in.takes_all = all;
		look(&s, 2);
		for (unsigned i = 0; i < 2 * A_LOOK; i++)
			say_hello(&s, i % PORTS, 0);
		bench_run(s.b, LOOK_NS);
		instance_hear(&s.in, s.b->clock.now_ns);
		n = heard(&s);
		instance_hear(&s.in, s.b->clock.now_ns);
		if (all)
			assert_int_equal(n, heard(&s)); // the ring to control has fewer places
		else
			assert_int_equal(n, A_LOOK);
		assert_true(heard(&s) > A_LOOK);
		close_services(&s);
	}
}

static void a_switch_that_ends_says_goodbye(void **state)
{
	struct seen s;

	(void)state;
	open_services(&s, plain);
	look(&s, 5);
	assert_int_equal(s.n_goodbyes[0], 0);
	instance_end(&s.in);
	bench_run(s.b, MS_NS);
	for (unsigned i = 0; i < PORTS; i++)
		assert_int_equal(s.n_goodbyes[i], 1);
	close_services(&s);
}

// Control lives on the machine's clock; events have the time of the switch.
static void events_of_agents_have_the_time_of_the_switch(void **state)
{
	enum { SCALE = 10 };
	const uint64_t start_ns = SECOND_NS;
	struct seen s;

	(void)state;
	open_services(&s, by_peer);
	s.in.time_scale = SCALE;
	for (unsigned i = 0; i < 20; i++) {
		if (i == 10)
			say_hello(&s, 0, 1 << 3);
		bench_run(s.b, LOOK_NS);
		look_at(&s, start_ns + i * (uint64_t)SCALE * LOOK_NS);
	}
	assert_int_equal(s.n_events[EVENT_DCBX_PFC], 1);
	assert_in_range(s.pfc.t_ns, start_ns + 9 * LOOK_NS, start_ns + 12 * LOOK_NS);
	assert_in_range(s.pfc_at_ns, start_ns + 9 * SCALE * LOOK_NS,
			start_ns + 12 * SCALE * LOOK_NS);
	close_services(&s);
}

// ---- iNOF

static const char with_inof[] = POLICY("lldp: on", "inof: on\n");

static void register_host(struct seen *s, unsigned port, uint8_t role)
{
	const struct inof_registration reg = {
		ip_key_v4(0x0a000001 + port), true,
		{.role = role, .protocol = INOF_ROCE, .port = 4420}};
	uint8_t tlv[INOF_TLV_MAX], frame[LLDP_MAX_LEN];
	uint16_t len = inof_build_registration(tlv, &reg);

	len = build_hello(frame, port, 0, (struct lldp_text){tlv, len});
	bench_send_raw(s->b, port, frame, len);
}

static unsigned online(const struct seen *s)
{
	struct inof_host_view h;
	unsigned n = 0;

	for (unsigned i = 0; i < INOF_HOSTS; i++)
		n += inof_host(instance_inof(&s->in), i, s->in.now_ns, &h) && h.online;
	return n;
}

static void set_link(struct seen *s, unsigned port, bool up)
{
	wire_set_up(s->b->host[port].wire, up);
	switch_links_changed(s->b->sw);
}

static void hosts_hear_of_each_other_and_of_links(void **state)
{
	struct seen s;
	unsigned told;

	(void)state;
	open_services(&s, with_inof);
	s.in.links_every_ns = 4 * MS_NS;
	look(&s, 5);
	register_host(&s, 0, INOF_TARGET);
	register_host(&s, 1, INOF_INITIATOR);
	look(&s, 10);
	assert_int_equal(online(&s), 2);
	assert_true(s.n_notices[1] > 0);
	assert_null(lldp_neighbour(instance_lldp(&s.in), 0, 0)); // an agent of hosts
	told = s.n_notices[1];
	while (s.b->clock.now_ns % (4 * MS_NS) != 0)
		look(&s, 1);
	set_link(&s, 0, false);
	look(&s, 3);
	assert_int_equal(online(&s), 2); // not looked at yet
	look(&s, 2);
	assert_int_equal(online(&s), 1);
	assert_true(s.n_notices[1] > told);
	close_services(&s);
}

static struct inof_zone *one_zone(const char *name)
{
	struct inof_zone *z = calloc(1, sizeof(*z));
	struct inof_member m;

	snprintf(z->name, sizeof(z->name), "%s", name);
	assert_null(inof_member_parse("10.0.0.1", NULL, NULL, &m));
	assert_int_equal(inof_zone_add(z, "10.0.0.1", &m), 0);
	return z;
}

static bool has_zone(const struct seen *s, const char *name)
{
	struct inof_zone_view z;

	for (unsigned i = 0; inof_zone_at(instance_inof(&s->in), i, &z); i++)
		if (strcmp(z.name, name) == 0)
			return true;
	return false;
}

static void zones_of_the_running_switch_outlive_a_policy_without_inof(void **state)
{
	struct seen s;
	const struct inof_zone *zones;
	unsigned n;

	(void)state;
	open_services(&s, plain);
	assert_null(instance_inof(&s.in));
	reload(&s, with_inof);
	assert_non_null(instance_inof(&s.in));
	assert_int_equal(instance_set_inof_zones(&s.in, one_zone("mine"), 1), 0);
	assert_true(has_zone(&s, "mine"));
	reload(&s, plain);
	assert_null(instance_inof(&s.in));
	zones = instance_inof_zones(&s.in, &n);
	assert_int_equal(n, 1);
	assert_string_equal(zones[0].name, "mine");
	reload(&s, with_inof);
	assert_true(has_zone(&s, "mine"));
	close_services(&s);
}

// ---- neighbours

// A router whose next hop is the host at the second port.
#define ROUTER(more)                                                                               \
	"switch: {name: sv}\n" more                                                                \
	"ports:\n"                                                                                 \
	"  - {name: p1, device: \"wire:w1\", speed: 10G, ip: [10.0.1.1/24]}\n"                    \
	"  - {name: p2, device: \"wire:w2\", speed: 10G, ip: [10.0.2.1/24]}\n"                    \
	"  - {name: p3, device: \"wire:w3\", speed: 10G}\n"
static const char to_the_host[] = ROUTER("routes: [{to: 10.7.0.0/16, via: 10.0.2.2}]\n");
static const char to_another[] = ROUTER("routes: [{to: 10.7.0.0/16, via: 10.0.1.2}]\n");

static void say_neighbour(struct seen *s, unsigned port, const char *ip)
{
	struct neighbour_msg m = {.family = FAMILY_V4, .solicited = true, .overrides = true,
				  .has_mac = true};
	const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)(port + 1)};
	uint8_t frame[NEIGHBOUR_MSG_MAX];

	memcpy(m.sender_mac, mac, sizeof(mac));
	memcpy(m.from_mac, mac, sizeof(mac));
	memcpy(m.to_mac, switch_port(s->b->sw, port)->facts.mac, sizeof(m.to_mac));
	assert_int_equal(inet_pton(AF_INET, ip, m.sender), 1);
	assert_int_equal(inet_pton(AF_INET, "10.0.2.1", m.target), 1);
	bench_send_raw(s->b, port, frame, neighbour_build(frame, &m));
}

static void the_next_hop_of_a_new_route_is_asked_for_and_told(void **state)
{
	struct seen s;

	(void)state;
	open_services(&s, plain); // no port routes
	look(&s, 10);
	assert_null(instance_resolver(&s.in));
	assert_int_equal(s.n_questions[1], 0);
	reload(&s, to_the_host);
	look(&s, 10);
	assert_int_equal(s.n_questions[1], 1);
	look(&s, 5000); // three questions without an answer
	assert_int_equal(s.n_events[EVENT_NEXT_HOP_LOST], 1);
	say_neighbour(&s, 1, "10.0.2.2");
	look(&s, 10);
	assert_int_equal(s.n_events[EVENT_NEXT_HOP_BACK], 1);
	assert_string_equal(s.about, "10.0.2.2");
	assert_int_equal(s.n_questions[0], 0);
	reload(&s, to_another);
	look(&s, 10);
	assert_int_equal(s.n_questions[0], 1);
	close_services(&s);
}

static void the_kernel_resolves_where_it_is_the_control_plane(void **state)
{
	struct seen s;

	(void)state;
	open_services(&s, ROUTER("control_plane: linux\n"));
	look(&s, 10);
	assert_null(instance_resolver(&s.in));
	close_services(&s);
}

// ---- auto ECN and microbursts

// Of a queue that nobody uses it changes nothing; the rule is tested with the agent.
static void auto_ecn_begins_with_the_policy_that_asks_for_it(void **state)
{
	static const char with_auto[] = POLICY_OF("flows: on", ", ecn: auto", "");
	struct autoecn_view v;
	struct policy *next;
	uint64_t before_ns;
	struct seen s;

	(void)state;
	open_services(&s, POLICY("flows: on", ""));
	look(&s, 5);
	assert_false(autoecn_view(instance_auto_ecn(&s.in), 0, 3, &v));
	before_ns = s.b->clock.now_ns;
	reload(&s, with_auto);
	assert_true(autoecn_view(instance_auto_ecn(&s.in), 0, 3, &v));
	assert_true(v.on);
	assert_true(v.since_ns >= before_ns);
	assert_int_equal(v.n_windows, 0);
	look(&s, 1000);
	assert_true(autoecn_view(instance_auto_ecn(&s.in), 0, 3, &v));
	assert_true(v.n_windows > 0);
	next = bench_compile(s.b, with_auto);
	next->ports[0].queue[3].wred.curve[GREEN].kmin_bytes = 1;
	instance_carry(&s.in, next);
	assert_int_equal(next->ports[0].queue[3].wred.curve[GREEN].kmin_bytes, v.now.kmin_bytes);
	policy_destroy(next);
	close_services(&s);
}

static void microbursts_are_kept_from_the_policy_on_that_asks_for_them(void **state)
{
	struct seen s;

	(void)state;
	open_services(&s, plain);
	assert_null(instance_microbursts(&s.in));
	reload(&s, POLICY("lldp: on, microbursts: on", ""));
	assert_non_null(instance_microbursts(&s.in));
	close_services(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_changes_pfc_by_another_policy),
		cmocka_unit_test(a_policy_that_is_refused_is_tried_again_after_5_s),
		cmocka_unit_test(frames_of_a_port_without_lldp_are_left_to_the_owner),
		cmocka_unit_test(a_look_takes_its_share_or_all),
		cmocka_unit_test(a_switch_that_ends_says_goodbye),
		cmocka_unit_test(events_of_agents_have_the_time_of_the_switch),
		cmocka_unit_test(hosts_hear_of_each_other_and_of_links),
		cmocka_unit_test(zones_of_the_running_switch_outlive_a_policy_without_inof),
		cmocka_unit_test(the_next_hop_of_a_new_route_is_asked_for_and_told),
		cmocka_unit_test(the_kernel_resolves_where_it_is_the_control_plane),
		cmocka_unit_test(auto_ecn_begins_with_the_policy_that_asks_for_it),
		cmocka_unit_test(microbursts_are_kept_from_the_policy_on_that_asks_for_them),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
