// SPDX-License-Identifier: Apache-2.0
// Routes from the file, or from a program, to the lists of the policy.
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/config/config.h"
#include "control/config/routes.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/iface.h"
#include "dataplane/policy.h"
#include "dataplane/port_ops.h"
#include "dataplane/switch_punt.h"

static struct config *parsed(const char *text)
{
	struct config *c = NULL;
	struct diags d = {0};
	int err = config_parse("t", text, strlen(text), &c, &d);

	for (unsigned i = 0; i < d.n; i++)
		print_message("%s\n", d.lines[i]);
	assert_int_equal(err, 0);
	diags_fini(&d);
	return c;
}

static struct policy *compiled(const struct config *c)
{
	struct policy *p = NULL;
	struct diags d = {0};

	assert_int_equal(config_compile(c, NULL, &p, &d), 0);
	diags_fini(&d);
	return p;
}

static struct policy_addr addr(const char *text, uint8_t len)
{
	bool v6 = strchr(text, ':') != NULL;
	struct policy_addr a = {.family = v6 ? FAMILY_V6 : FAMILY_V4, .len = len};

	assert_int_equal(inet_pton(v6 ? AF_INET6 : AF_INET, text, a.ip), 1);
	return a;
}

// "10.0.1.2@p1 ..." as the next hops of a prefix; "link@", "self@", "given@" for the other kinds.
static const char *hops_to(const struct policy *p, const char *prefix, uint8_t len)
{
	static const char *const kinds[] = {[NEXTHOP_GIVEN] = "given", [NEXTHOP_LINK] = "link",
					    [NEXTHOP_SELF] = "self"};
	struct policy_addr to = addr(prefix, len);
	static char out[512];
	size_t n = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < p->routes.n_prefixes; i++) {
		const struct policy_group *g = &p->routes.groups[p->routes.prefixes[i].group];

		if (memcmp(&p->routes.prefixes[i].to, &to, sizeof(to)) != 0)
			continue;
		for (uint32_t k = 0; k < g->n; k++) {
			const struct policy_nexthop *h = &p->routes.nexthops[g->first + k];
			char ip[INET6_ADDRSTRLEN];

			inet_ntop(h->addr.family == FAMILY_V6 ? AF_INET6 : AF_INET, h->addr.ip, ip,
				  sizeof(ip));
			n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s@%s", n ? " " : "",
					      h->kind == NEXTHOP_GATEWAY ? ip : kinds[h->kind],
					      iface_name(p, h->port));
		}
	}
	return out;
}

static const char file[] =
	"switch: {name: one}\n"
	"ports:\n"
	"  - {name: p1, device: \"xdp:e1\", speed: 1G, ip: [10.0.1.1/24, \"fd00:1::1/64\"]}\n"
	"  - {name: p2, device: \"xdp:e2\", speed: 1G, ip: [10.0.1.129/25, 10.0.2.0/31]}\n"
	"  - {name: \"p[3-4]\", device: \"xdp:e[3-4]\", speed: 1G, ip: \"10.0.[3-4].1/32\"}\n"
	"  - {name: p5, device: \"xdp:e5\", speed: 1G}\n"
	"routes:\n"
	"  - {to: default, via: 10.0.1.2}\n"
	"  - {to: \"default\", via: \"fd00:1::2\"}\n"
	"  - {to: 10.9.0.0/16, via: [10.0.1.2, 10.0.1.130, 10.0.2.1]}\n"
	"  - {to: 10.8.0.0/16, via: [10.0.1.2, 10.0.1.130, 10.0.2.1]}\n"
	"  - {to: 10.7.0.1, via: p2}\n"
	"  - {to: 10.6.0.0/16, via: 192.0.2.1}\n"
	"neighbours:\n"
	"  - {ip: 192.0.2.1, mac: \"02:00:00:00:00:09\", port: p3}\n"
	"  - {ip: 10.0.1.131, mac: \"02:00:00:00:00:0a\"}\n";

static void a_file_becomes_prefixes_and_next_hops(void **state)
{
	static const struct {
		const char *prefix;
		uint8_t len;
		const char *hops;
	} rows[] = {
		{"0.0.0.0", 0, "10.0.1.2@p1"},
		{"::", 0, "fd00:1::2@p1"},
		{"10.9.0.0", 16, "10.0.1.2@p1 10.0.1.130@p2 10.0.2.1@p2"}, // longest subnet decides
		{"10.7.0.1", 32, "link@p2"},
		{"10.6.0.0", 16, "192.0.2.1@p3"},
		{"10.0.1.0", 24, "link@p1"},
		{"10.0.1.128", 25, "link@p2"},
		{"10.0.1.1", 32, "self@p1"},
		{"10.0.1.0", 32, "self@p1"},
		{"10.0.1.255", 32, "self@p1"}, // both subnets end there: once
		{"10.0.1.128", 32, "self@p2"},
		{"fd00:1::", 64, "link@p1"},
		{"fd00:1::1", 128, "self@p1"},
		{"fd00:1::", 128, "self@p1"}, // any router of the subnet
		{"fd00:1::ffff:ffff:ffff:ffff", 128, ""}, // a station as others
		{"10.0.2.0", 31, "link@p2"},
		{"10.0.2.0", 32, "self@p2"}, // of two stations neither means all
		{"10.0.2.1", 32, ""},
		{"10.0.3.1", 32, "self@p3"},
		{"10.0.4.1", 32, "self@p4"},
	};
	struct config *c = parsed(file);
	struct policy *p = compiled(c);

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(hops_to(p, rows[i].prefix, rows[i].len), rows[i].hops);
	assert_true(p->ports[0].routed && p->ports[3].routed && !p->ports[4].routed);
	assert_int_equal(p->routes.n_neighbours, 2);
	assert_int_equal(p->routes.neighbours[1].port, 1);
	assert_false(p->routes.compact);
	policy_destroy(p);
	config_destroy(c);
}

static void equal_groups_are_one(void **state)
{
	struct config *c = parsed(file);
	struct policy *p = compiled(c);
	uint32_t group[2] = {0, 1};

	(void)state;
	for (uint32_t i = 0; i < p->routes.n_prefixes; i++)
		for (unsigned k = 0; k < 2; k++) {
			struct policy_addr to = addr(k ? "10.8.0.0" : "10.9.0.0", 16);

			if (memcmp(&p->routes.prefixes[i].to, &to, sizeof(to)) == 0)
				group[k] = p->routes.prefixes[i].group;
		}
	assert_int_equal(group[0], group[1]);
	policy_destroy(p);
	config_destroy(c);
}

static uint64_t seed_of(const char *text)
{
	struct config *c = parsed(text);
	struct policy *p = compiled(c);
	uint64_t seed = p->routes.ecmp_seed;

	policy_destroy(p);
	config_destroy(c);
	return seed;
}

static void the_seed_is_made_of_the_name_unless_given(void **state)
{
#define PORT "ports: [{name: p, device: \"xdp:e\", speed: 1G, ip: 10.0.0.1/24}]\n"
	(void)state;
	assert_true(seed_of("switch: {name: a}\n" PORT) != seed_of("switch: {name: b}\n" PORT));
	assert_true(seed_of("switch: {name: a}\n" PORT) == seed_of("switch: {name: a}\n" PORT));
	assert_int_equal(seed_of("switch: {ecmp: {seed: 0}}\n" PORT), 0);
	assert_int_equal(seed_of("switch: {ecmp: {seed: 7}}\n" PORT), 7);
#undef PORT
}

static const char bare[] =
	"ports: [{name: \"p[1-4]\", device: \"wire:[1-4]\", speed: 1G}]\n";

static struct config *routed(void)
{
	struct config *c = parsed(bare);

	for (unsigned i = 0; i < 3; i++)
		config_set_routed(c, i, true);
	return c;
}

static void a_program_sets_a_hundred_thousand_host_routes(void **state)
{
	enum { N = 100000, GROUPS = 50 };
	static struct config_route r[N];
	static struct policy_nexthop hops[GROUPS][2];
	struct config *c = routed();
	struct policy *p;

	(void)state;
	for (unsigned i = 0; i < GROUPS; i++)
		for (unsigned k = 0; k < 2; k++)
			hops[i][k] = (struct policy_nexthop){.kind = NEXTHOP_GIVEN,
							     .port = (uint8_t)k,
							     .mac = {2, 0, 0, 0, (uint8_t)i, 1}};
	for (uint32_t i = 0; i < N; i++)
		r[i] = (struct config_route){
			.to = {FAMILY_V4, 32,
			       {10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i}},
			.n_nexthops = 2, .nexthops = hops[i * GROUPS / N]};
	assert_int_equal(config_set_routes(c, r, N), 0);
	memset(hops, 0xff, sizeof(hops)); // they were copied
	p = compiled(c);
	assert_int_equal(p->routes.n_prefixes, N);
	assert_int_equal(p->routes.n_groups, GROUPS);
	assert_int_equal(p->routes.n_nexthops, 2 * GROUPS);
	assert_true(p->routes.compact);
	assert_string_equal(hops_to(p, "10.1.0.0", 32), "given@p1 given@p2");
	policy_destroy(p);
	config_destroy(c);
}

static void routes_that_are_none_are_refused(void **state)
{
	static const struct policy_nexthop ok = {.kind = NEXTHOP_GIVEN, .mac = {2}};
	static const struct policy_nexthop no_port = {.kind = NEXTHOP_GIVEN, .port = 4};
	static const struct policy_nexthop bridged = {.kind = NEXTHOP_GIVEN, .port = 3};
	static const struct policy_nexthop self = {.kind = NEXTHOP_SELF};
	static const struct policy_nexthop v6 = {.kind = NEXTHOP_GATEWAY,
						 .addr = {.family = FAMILY_V6}};
	const struct policy_addr net = addr("10.9.0.0", 16);
	const struct config_route rows[] = {
		{net, 1, &no_port}, {net, 1, &bridged}, {net, 1, &self}, {net, 1, &v6},
		{net, 0, &ok}, {net, MAX_NEXTHOPS + 1, &ok},
		{addr("10.9.0.1", 16), 1, &ok}, {addr("10.9.0.0", 33), 1, &ok},
		{{.family = 5}, 1, &ok},
	};
	const struct config_route twice[] = {{net, 1, &ok}, {addr("10.8.0.0", 16), 1, &ok},
					     {net, 1, &ok}};
	struct config *c = routed();

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(config_set_routes(c, &rows[i], 1), -EINVAL);
	assert_int_equal(config_set_routes(c, twice, 3), -EINVAL);
	assert_int_equal(config_set_routes(c, twice, 2), 0);
	assert_int_equal(config_set_routes(c, NULL, 0), 0);
	config_destroy(c);
}

// ---- VLANs that route

static const char svis[] =
	"ports:\n"
	"  - {name: p1, device: \"wire:1\", speed: 1G, vlan: {untagged: 200}, mtu: 9000}\n"
	"  - {name: p2, device: \"wire:2\", speed: 1G, vlan: {untagged: 100, tagged: [200]},\n"
	"     mtu: 4000}\n"
	"  - {name: p3, device: \"wire:3\", speed: 1G, ip: 10.0.3.1/24}\n"
	"  - {name: p4, device: \"wire:4\", speed: 1G, vlan: {untagged: 300}}\n"
	"vlans:\n"
	"  - {id: 200, ip: [10.2.0.1/16, \"fd00:2::1/64\"]}\n"
	"  - {id: 100, ip: 10.1.0.1/16, mac: \"02:00:00:00:01:64\", mtu: 1400}\n"
	"  - {id: 300}\n"
	"routes:\n"
	"  - {to: default, via: [10.1.0.9, 10.2.0.9, 10.0.3.9]}\n"
	"  - {to: 10.9.0.0/16, via: vlan100}\n"
	"neighbours:\n"
	"  - {ip: 10.2.0.7, mac: \"02:00:00:00:00:07\"}\n"
	"  - {ip: 192.0.2.1, mac: \"02:00:00:00:00:08\", port: vlan100}\n";

static void a_vlan_of_no_port_has_the_largest_mtu(void **state)
{
	static const struct port_facts facts[1];
	struct config *c = parsed(
		"switch: {buffer: {size: 4MB}}\n"
		"ports: [{name: p1, device: \"xdp:a\", speed: 1G}]\n"
		"vlans: [{id: 300, ip: 10.0.30.1/24, mac: \"02:00:00:00:01:01\"}]\n");
	struct policy *p = NULL;
	struct diags d = {0};

	(void)state;
	assert_int_equal(config_compile(c, facts, &p, &d), 0);
	assert_int_equal(p->svis[0].mtu, 9216);
	policy_destroy(p);
	config_destroy(c);
	diags_fini(&d);
}

static void a_vlan_with_addresses_is_an_interface(void **state)
{
	static const struct port_facts facts[4] = {{.mac = {2, 0, 0, 0, 9, 1}}, {.mac = {4}}};
	struct config *c = parsed(svis);
	struct policy *p = NULL;
	struct diags d = {0};

	(void)state;
	assert_int_equal(config_compile(c, facts, &p, &d), 0);
	assert_int_equal(p->n_svis, 2);
	assert_int_equal(policy_svi_of(p, 100), IFACE_SVI);
	assert_int_equal(policy_svi_of(p, 200), IFACE_SVI + 1);
	assert_int_equal(policy_svi_of(p, 300), 0);
	assert_string_equal(p->svis[0].name, "vlan100");
	assert_memory_equal(p->svis[0].mac, "\x02\0\0\0\x01\x64", 6);
	assert_memory_equal(p->svis[1].mac, facts[0].mac, 6);
	assert_int_equal(p->svis[0].mtu, 1400);
	assert_int_equal(p->svis[1].mtu, 4000); // the least of its ports
	assert_int_equal(p->n_fdb, 2);
	assert_int_equal(p->fdb[1].port, FDB_ROUTER);
	assert_int_equal(p->fdb[1].vid, 200);
	assert_true(p->ports[0].in_svi && p->ports[1].in_svi);
	assert_false(p->ports[2].in_svi || p->ports[3].in_svi);
	assert_int_equal(p->ports[0].punts, 1 << PUNT_LLDP | NEIGHBOUR_REASONS);
	assert_int_equal(p->ports[3].punts, 1 << PUNT_LLDP);
	assert_true(p->control_sends);
	assert_string_equal(hops_to(p, "0.0.0.0", 0),
			    "10.1.0.9@vlan100 10.2.0.9@vlan200 10.0.3.9@p3");
	assert_string_equal(hops_to(p, "10.9.0.0", 16), "link@vlan100");
	assert_string_equal(hops_to(p, "10.2.0.0", 16), "link@vlan200");
	assert_string_equal(hops_to(p, "10.2.0.1", 32), "self@vlan200");
	assert_string_equal(hops_to(p, "fd00:2::", 64), "link@vlan200");
	assert_int_equal(p->routes.n_neighbours, 2);
	assert_int_equal(p->routes.neighbours[0].port, IFACE_SVI + 1);
	assert_int_equal(p->routes.neighbours[1].port, IFACE_SVI);
	policy_destroy(p);
	diags_fini(&d);
	config_destroy(c);
}

static void a_port_without_a_device_gives_no_address(void **state)
{
	static const struct port_facts facts[4] = {[2] = {.mac = {2, 0, 0, 0, 9, 3}}};
	struct config *c = parsed(svis);
	struct policy *p = NULL;
	struct diags d = {0};

	(void)state;
	assert_int_equal(config_compile(c, facts, &p, &d), 0);
	assert_memory_equal(p->svis[1].mac, facts[2].mac, 6);
	policy_destroy(p);
	diags_fini(&d);
	config_destroy(c);
}

static void at_most_126_vlans_route(void **state)
{
	char text[16384];
	size_t n = (size_t)sprintf(text, "ports: [{name: a, device: \"wire:a\", speed: 1G,"
					 " vlan: {tagged: [2-128]}}]\nvlans:\n");

	(void)state;
	for (unsigned vid = 2; vid <= 128; vid++) {
		struct config *c = NULL;
		struct diags d = {0};

		n += (size_t)sprintf(text + n, "  - {id: %u, ip: 10.0.%u.1/24}\n", vid, vid);
		if (vid < 127)
			continue;
		assert_int_equal(config_parse("t", text, n, &c, &d), vid == 127 ? 0 : -EINVAL);
		if (c == NULL)
			assert_string_equal(d.lines[0],
					    "t:129:19: vlans[126].ip: at most 126 VLANs can have "
					    "addresses");
		diags_fini(&d);
		config_destroy(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_becomes_prefixes_and_next_hops),
		cmocka_unit_test(equal_groups_are_one),
		cmocka_unit_test(the_seed_is_made_of_the_name_unless_given),
		cmocka_unit_test(a_program_sets_a_hundred_thousand_host_routes),
		cmocka_unit_test(routes_that_are_none_are_refused),
		cmocka_unit_test(a_vlan_with_addresses_is_an_interface),
		cmocka_unit_test(a_vlan_of_no_port_has_the_largest_mtu),
		cmocka_unit_test(a_port_without_a_device_gives_no_address),
		cmocka_unit_test(at_most_126_vlans_route),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
