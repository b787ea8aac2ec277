// SPDX-License-Identifier: Apache-2.0
// Random schedules of two switches that tell each other of their hosts: hosts, zones, faults, lost
// frames, restarts, late words, and times in which the switches do not reach each other. Each
// notice says the truth when it is sent, and at rest each host's last notice about each address is
// the truth of its zones, as this file computes it without the registries.
//
// usage: test_inof_random [SCHEDULES [FIRST_SEED]]
#include "tests/unit/inof/world.h"

#include <stdio.h>

#include "dataplane/base/rng.h"

enum { SWITCHES = 2, HOSTS_EACH = 6, HOSTS = SWITCHES * HOSTS_EACH };
enum { ADDRESSES = 12, PORTS = 4, STEPS = 60, DEFAULT_SCHEDULES = 1000 };

// What is true, by the actions of the schedule.
struct truth {
	bool up[SWITCHES][PORTS], storm[SWITCHES][PORTS];
	bool registered[HOSTS]; // and the link has been up since
	uint64_t end_ns[HOSTS];
	// Until when an address is a port's because its link went down; of which host.
	uint64_t kept_ns[SWITCHES][ADDRESSES];
	unsigned keeper[SWITCHES][ADDRESSES];
	// What the switch has taken of the other: the host of an address is online, with this
	// service.
	bool taken[SWITCHES][ADDRESSES];
	struct inof_service service[SWITCHES][ADDRESSES];
	bool split; // the switches do not reach each other
	unsigned zone; // a bitmap of addresses; 0: none
	bool default_zone;
};

// What has happened in all schedules.
enum deed {
	LINK_DOWN, STORM, ZONE, DEFAULT_ZONE_OFF, QUERY, GOODBYE, SERVICE, ADDRESS, AGED_OUT,
	RESTART, SPLIT, DETECTED, HEALED, CAME, WENT, SAME_HOST, HELD,
	KEPT, LOST, ACKS_LOST, N_DEEDS
};
static const char *const deed_name[N_DEEDS] = {
	"links went down", "storms", "zones", "no default zone", "hosts began anew", "goodbyes",
	"services changed", "addresses changed", "hosts aged out", "switches began anew",
	"switches lost each other", "and noticed it", "and met again", "peers' hosts came",
	"peers' hosts went", "switches had one host", "registrations of peers' hosts",
	"addresses were kept for a link that was down", "notices were lost",
	"acknowledgements were lost",
};
static unsigned long deeds[N_DEEDS];

static struct world w[SWITCHES];
static struct host_model host[HOSTS];
static struct truth t;
static struct rng rng;
static uint64_t changed_ns[HOSTS]; // when an address got another service
static struct ip_key before[HOSTS]; // addresses of hosts that are away

static unsigned pick(unsigned n)
{
	return rng_next(&rng) % n;
}

static unsigned switch_of(unsigned i)
{
	return i / HOSTS_EACH;
}

static bool is_online(unsigned i)
{
	return t.registered[i] && !t.storm[switch_of(i)][host[i].port];
}

static bool zones_meet(struct ip_key a, struct ip_key b)
{
	bool in_a = t.zone >> (uint8_t)a.lo & 1, in_b = t.zone >> (uint8_t)b.lo & 1;

	return !ip_key_same(a, b) && (in_a != in_b ? false : in_a || t.default_zone);
}

// The host with an address at a switch, or -1.
static int holder_at(unsigned sw, struct ip_key ip)
{
	for (unsigned i = sw * HOSTS_EACH; i < (sw + 1) * HOSTS_EACH; i++)
		if (t.registered[i] && ip_key_same(host[i].ip, ip))
			return (int)i;
	return -1;
}

// A notice at the time when it is sent. The registry says whether a host is online: it lets a host
// be offline for up to INOF_BOUNCE_MS after a change of its service, and such a host is told as its
// service before demands.
static bool is_true(struct world *world, const struct inof_message *m)
{
	unsigned sw = (unsigned)(world - w);
	int to = holder_at(sw, m->dst), about = holder_at(sw, m->src);
	struct inof_host_view v;

	for (unsigned i = 0; i < INOF_HOSTS; i++)
		if (inof_host(world->r, i, world->now_ns, &v) && ip_key_same(v.ip, m->src)) {
			bool there = v.origin == INOF_AT_PORT ? about >= 0
							      : t.taken[sw][(uint8_t)v.ip.lo];
			uint8_t role = about >= 0 ? host[about].service.role : v.service->role;
			bool want = v.online && there && to >= 0 &&
				    (role | host[to].service.role) == INOF_BOTH &&
				    zones_meet(m->src, m->dst);

			// A host with another service is offline first for those that know it.
			return m->online == want || m->reason == INOF_ADDRESS_CHANGE ||
			       (to >= 0 && world->now_ns - changed_ns[to] <=
						   INOF_BOUNCE_MS * MS);
		}
	return !m->online;
}

// The switch has forgotten the host, which still knows others.
static void age_out(unsigned i)
{
	t.registered[i] = false;
	before[i] = host[i].ip;
	host[i].ip = ip_key_v4(0);
}

// A host whose link is down keeps the address for its port. 0: of this port, or none does.
static bool is_kept(unsigned sw, struct ip_key ip, unsigned port)
{
	unsigned a = (uint8_t)ip.lo;

	return w[sw].now_ns < t.kept_ns[sw][a] && host[t.keeper[sw][a]].port != port;
}

// The host registers: it gives up what it kept, or takes it back.
static void keep_no_more(unsigned i, struct ip_key ip)
{
	unsigned sw = switch_of(i);

	for (unsigned a = 0; a < ADDRESSES; a++)
		if (t.keeper[sw][a] == i || a == (uint8_t)ip.lo)
			t.kept_ns[sw][a] = 0;
}

// The host is away: it has no address, and knows of no other.
static void leave(unsigned i)
{
	age_out(i);
	world_forget(&host[i]);
}

// ---- actions

// The other switch has the host of this address, so the registration is refused.
static bool is_held(unsigned sw, struct ip_key ip)
{
	return t.taken[sw][(uint8_t)ip.lo];
}

static void act_register(unsigned i)
{
	struct host_model *h = &host[i];
	struct world *at = &w[switch_of(i)];
	const uint64_t *refused = &inof_counters(at->r, h->port)->refused[INOF_ADDRESS_HELD];
	struct ip_key ip = pick(2) == 0 ? world_ip(pick(ADDRESSES)) : before[i];
	uint64_t n_refused = *refused;

	if (!t.up[switch_of(i)][h->port] ||
	    (!t.registered[i] && (holder_at(switch_of(i), ip) >= 0 ||
				  is_kept(switch_of(i), ip, h->port))))
		return; // what is refused has tests of its own
	if (!t.registered[i]) {
		if (!ip_key_same(ip, before[i]))
			world_forget(h);
		h->ip = ip;
		changed_ns[i] = at->now_ns;
	}
	world_register(at, h, 120);
	if (!t.registered[i] && is_held(switch_of(i), ip)) {
		deeds[HELD]++;
		assert_int_equal(*refused, n_refused + 1);
		leave(i);
		return;
	}
	assert_int_equal(*refused, n_refused);
	deeds[SAME_HOST] += !t.registered[i] && holder_at(1 - switch_of(i), ip) >= 0;
	t.registered[i] = true;
	t.end_ns[i] = at->now_ns + 120 * S;
	keep_no_more(i, h->ip);
}

static void act_change(unsigned i)
{
	struct host_model *h = &host[i];
	struct world *at = &w[switch_of(i)];
	struct ip_key ip = world_ip(pick(ADDRESSES));

	if (!t.registered[i])
		return;
	changed_ns[i] = at->now_ns;
	if (pick(2) == 0) {
		h->service.port++;
		h->service.role = (uint8_t)(1 + pick(3));
		world_register(at, h, 120);
		deeds[SERVICE]++;
	} else if (holder_at(switch_of(i), ip) < 0 && !is_held(switch_of(i), ip) &&
		   !is_kept(switch_of(i), ip, h->port)) {
		h->ip = ip;
		keep_no_more(i, ip);
		// Its agent begins anew with another address.
		world_forget(h);
		world_register(at, h, 120);
		deeds[ADDRESS]++;
	} else {
		return;
	}
	t.end_ns[i] = at->now_ns + 120 * S;
}

static void act_link(unsigned sw, unsigned port)
{
	bool up = t.up[sw][port] = !t.up[sw][port];

	deeds[LINK_DOWN] += !up;
	inof_link(w[sw].r, port, up, w[sw].now_ns);
	for (unsigned i = sw * HOSTS_EACH; i < (sw + 1) * HOSTS_EACH && !up; i++) {
		if (host[i].port == port && t.registered[i]) {
			t.kept_ns[sw][(uint8_t)host[i].ip.lo] = w[sw].now_ns + INOF_KEEP_S * S;
			t.keeper[sw][(uint8_t)host[i].ip.lo] = i;
			leave(i);
		} else if (host[i].port == port)
			world_forget(&host[i]);
	}
}

static void act_storm(unsigned sw, unsigned port)
{
	bool on = t.storm[sw][port] = !t.storm[sw][port];

	deeds[STORM] += on;
	inof_fault(w[sw].r, port, on ? INOF_PFC_STORM : INOF_NO_FAULT, w[sw].now_ns);
}

static void set_zones(unsigned sw)
{
	static char text[ADDRESSES][16];
	const char *members[ADDRESSES + 1];
	struct inof_conf conf = {.default_zone = t.default_zone, .ports = {UINT64_MAX, 0}};
	unsigned n = 0;

	for (unsigned i = 0; i < ADDRESSES; i++)
		if (t.zone >> i & 1) {
			snprintf(text[n], sizeof(text[n]), "10.0.0.%u", i);
			members[n] = text[n];
			n++;
		}
	members[n] = NULL;
	inof_set_conf(w[sw].r, &conf, w[sw].now_ns);
	world_zone(&w[sw], "z", n > 0 ? members : NULL);
}

static void act_zone(void)
{
	t.zone = pick(3) == 0 ? 0 : pick(1u << ADDRESSES);
	t.default_zone = pick(4) != 0;
	deeds[ZONE]++;
	deeds[DEFAULT_ZONE_OFF] += !t.default_zone;
	for (unsigned sw = 0; sw < SWITCHES; sw++)
		set_zones(sw);
}

// A host that begins anew asks, and the answer must get through.
static void act_host_restarts(unsigned i)
{
	if (!t.registered[i])
		return;
	deeds[QUERY]++;
	world_forget(&host[i]);
	world_query(&w[switch_of(i)], &host[i]);
}

static void act_goodbye(unsigned i)
{
	if (!t.registered[i])
		return;
	deeds[GOODBYE]++;
	world_register(&w[switch_of(i)], &host[i], 0);
	leave(i);
}

static void end_switch(unsigned sw)
{
	deeds[LOST] += w[sw].n_lost;
	deeds[ACKS_LOST] += w[sw].n_acks_lost;
	inof_destroy(w[sw].r);
	w[sw].r = NULL;
}

static void begin_switch(unsigned sw, uint64_t now_ns)
{
	const struct world before_it = w[sw];

	world_begin(&w[sw], host + (size_t)sw * HOSTS_EACH, HOSTS_EACH);
	w[sw].now_ns = now_ns;
	w[sw].rng = &rng;
	w[sw].loss = before_it.loss;
	w[sw].acks_lost = before_it.acks_lost;
	w[sw].check = is_true;
	for (unsigned p = 0; p < PORTS; p++) {
		t.up[sw][p] = true;
		t.storm[sw][p] = false;
	}
	memset(t.taken[sw], 0, sizeof(t.taken[sw]));
	memset(t.kept_ns[sw], 0, sizeof(t.kept_ns[sw]));
}

// The power of the switch goes: so do all its links.
static void act_switch_restarts(unsigned sw)
{
	deeds[RESTART]++;
	for (unsigned i = sw * HOSTS_EACH; i < (sw + 1) * HOSTS_EACH; i++)
		if (t.registered[i])
			leave(i);
		else
			world_forget(&host[i]);
	end_switch(sw);
	begin_switch(sw, w[sw].now_ns);
	set_zones(sw);
}

// ---- from switch to switch

// What a switch says of an address. INOF_AGED_OUT: it has no such host.
static enum inof_reason word_of(unsigned sw, unsigned address, struct inof_registration *out)
{
	struct inof_host_view v;

	*out = (struct inof_registration){.ip = world_ip(address)};
	for (unsigned i = 0; i < INOF_HOSTS; i++)
		if (inof_host(w[sw].r, i, w[sw].now_ns, &v) && v.origin == INOF_AT_PORT &&
		    ip_key_same(v.ip, out->ip)) {
			out->subscribes = v.subscribes;
			out->service = *v.service;
			return v.reason;
		}
	return INOF_AGED_OUT;
}

static void take(unsigned sw, const struct inof_registration *reg, enum inof_reason reason)
{
	unsigned address = (uint8_t)reg->ip.lo;
	bool *taken = &t.taken[sw][address], online = reason == INOF_NO_FAULT;
	bool own = holder_at(sw, reg->ip) >= 0 || is_kept(sw, reg->ip, PORTS);

	deeds[KEPT] += online && is_kept(sw, reg->ip, PORTS);

	assert_int_equal(inof_peer_word(w[sw].r, 1, reg, reason, w[sw].now_ns), !online || !own);
	deeds[CAME] += !*taken && online && !own;
	deeds[WENT] += *taken && !online;
	*taken = online && !own;
	t.service[sw][address] = reg->service;
}

// The switch gets all that is new at the other.
static void act_exchange(unsigned to)
{
	for (unsigned a = 0; a < ADDRESSES && !t.split; a++) {
		struct inof_registration reg;
		enum inof_reason reason = word_of(1 - to, a, &reg);

		if (reason == INOF_NO_FAULT || t.taken[to][a])
			take(to, &reg, reason);
	}
}

static void act_split(void)
{
	t.split = !t.split;
	deeds[t.split ? SPLIT : HEALED]++;
}

// After the time of detection all hosts of the other switch are offline.
static void act_detect(unsigned sw)
{
	for (unsigned a = 0; a < ADDRESSES && t.split; a++)
		if (t.taken[sw][a]) {
			deeds[DETECTED]++;
			take(sw, &(struct inof_registration){.ip = world_ip(a)}, INOF_BFD_DOWN);
		}
}

// ---- a schedule

static void run_both(uint64_t end_ns)
{
	for (unsigned sw = 0; sw < SWITCHES; sw++)
		world_run(&w[sw], end_ns);
}

// Time never jumps over the end of a registration, so that the truth changes with it.
static void wait(uint64_t ns)
{
	uint64_t end_ns = w[0].now_ns + ns;

	while (w[0].now_ns < end_ns) {
		uint64_t next_ns = end_ns;

		for (unsigned i = 0; i < HOSTS; i++)
			if (t.registered[i])
				next_ns = min_u64(next_ns, t.end_ns[i]);
		if (next_ns > w[0].now_ns)
			run_both(next_ns - 1);
		for (unsigned i = 0; i < HOSTS; i++)
			if (t.registered[i] && next_ns >= t.end_ns[i]) {
				deeds[AGED_OUT]++;
				age_out(i);
			}
		run_both(next_ns);
	}
}

static void act(void)
{
	unsigned i = pick(HOSTS), sw = pick(SWITCHES);

	switch (pick(26)) {
	case 0: act_link(sw, pick(PORTS)); break;
	case 1:
	case 2: act_storm(sw, pick(PORTS)); break;
	case 3:
	case 4: act_zone(); break;
	case 5: act_host_restarts(i); break;
	case 6: act_goodbye(i); break;
	case 7:
	case 8:
	case 9: act_change(i); break;
	case 10:
		if (pick(4) == 0)
			act_switch_restarts(sw);
		break;
	case 11: act_split(); break;
	case 12: act_detect(sw); break;
	case 13:
	case 14:
	case 15:
	case 16: act_exchange(sw); break;
	default: act_register(i); break;
	}
	if (pick(3) == 0)
		wait(pick(20) == 0 ? pick(100) * S : pick(2000) * MS);
}

// The host that a switch believes to have an address: its own, else that of the other, if it has
// taken the host. -1: none.
static int believed_at(unsigned sw, struct ip_key ip)
{
	int own = holder_at(sw, ip);

	return own >= 0 || !t.taken[sw][(uint8_t)ip.lo] ? own : holder_at(1 - sw, ip);
}

static unsigned wrong_at_rest(void)
{
	unsigned n_wrong = 0;

	for (unsigned to = 0; to < HOSTS; to++)
		for (unsigned a = 0; a < ADDRESSES; a++) {
			const struct told *last = world_told(&host[to], world_ip(a));
			int about = believed_at(switch_of(to), world_ip(a));
			bool want = t.registered[to] && about >= 0 && is_online((unsigned)about) &&
				    zones_meet(host[to].ip, world_ip(a)) &&
				    (host[about].service.role | host[to].service.role) == INOF_BOTH;

			if (!t.registered[to] || ((last != NULL && last->online) == want &&
						  (!want || last->service_port ==
								    host[about].service.port)))
				continue;
			n_wrong++;
		}
	return n_wrong;
}

// 0, or how many notices are wrong at rest.
static unsigned run(uint64_t seed)
{
	unsigned n_wrong;

	rng_init(&rng, seed);
	t = (struct truth){.default_zone = true};
	for (unsigned i = 0; i < HOSTS; i++) {
		host[i] = world_host(i, i % PORTS, (uint8_t)(1 + pick(3)));
		before[i] = host[i].ip;
		host[i].ip = ip_key_v4(0);
		changed_ns[i] = 0;
	}
	for (unsigned sw = 0; sw < SWITCHES; sw++) {
		w[sw].loss = pick(3) * (uint64_t)UINT32_MAX / 4;
		w[sw].acks_lost = pick(3) * (uint64_t)UINT32_MAX / 4;
		begin_switch(sw, S);
	}
	for (unsigned i = 0; i < STEPS; i++)
		act();
	for (unsigned sw = 0; sw < SWITCHES; sw++)
		w[sw].loss = w[sw].acks_lost = 0;
	t.split = false;
	for (unsigned i = 0; i < HOSTS; i++)
		if (t.registered[i])
			act_register(i);
	wait(INOF_BOUNCE_MS * MS);
	for (unsigned sw = 0; sw < SWITCHES; sw++)
		act_exchange(sw);
	wait(30 * S); // the longest wait for a repetition, and more
	n_wrong = wrong_at_rest();
	for (unsigned sw = 0; sw < SWITCHES; sw++) {
		end_switch(sw);
		world_end(&w[sw]);
	}
	return n_wrong;
}

static unsigned long n_schedules = DEFAULT_SCHEDULES, first_seed = 1;

static void at_rest_each_host_has_been_told_the_truth_of_its_zones(void **state)
{
	(void)state;
	for (unsigned long i = 0; i < n_schedules; i++) {
		unsigned n_wrong = run(first_seed + i);

		if (n_wrong != 0)
			fail_msg("seed %lu: %u notices are wrong at rest", first_seed + i, n_wrong);
	}
}

static void schedules_have_all_that_can_happen(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_DEEDS; i++) {
		print_message("%lu %s\n", deeds[i], deed_name[i]);
		assert_true(deeds[i] > 0 || n_schedules < DEFAULT_SCHEDULES);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_rest_each_host_has_been_told_the_truth_of_its_zones),
		cmocka_unit_test(schedules_have_all_that_can_happen),
	};

	if (argc > 1)
		n_schedules = strtoul(argv[1], NULL, 10);
	if (argc > 2)
		first_seed = strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
