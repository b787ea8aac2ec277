// SPDX-License-Identifier: Apache-2.0
// Messages of the kernel as libmnl builds them, and the routes and neighbours that the switch makes
// of them. The live test compares the same with `ip route` (tests/smoke/linux).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "control/config/addr.h"
#include "control/linux/mirror.h"

enum { P1 = 11, P2 = 12, ETH0 = 2, TEXT = 512, BUF = 2048, ROOM = 1000 };

// ---- messages

static char buf[BUF];

static struct policy_addr addr(const char *text)
{
	struct policy_addr a;

	assert_true(addr_parse(text, &a));
	return a;
}

static uint8_t af(const struct policy_addr *a)
{
	return a->family == FAMILY_V4 ? AF_INET : AF_INET6;
}

static struct nlmsghdr *begin(uint16_t type, uint16_t flags)
{
	struct nlmsghdr *h;

	memset(buf, 0, sizeof(buf));
	h = mnl_nlmsg_put_header(buf);
	h->nlmsg_type = type;
	h->nlmsg_flags = flags;
	return h;
}

static void put_addr(struct nlmsghdr *h, uint16_t type, const struct policy_addr *a)
{
	mnl_attr_put(h, type, a->family == FAMILY_V4 ? 4 : 16, a->ip);
}

struct route {
	const char *to;
	const char *via; // NULL: on the link
	uint32_t oif, metric, nexthop_id;
	uint8_t type; // 0: RTN_UNICAST
	uint8_t table; // 0: RT_TABLE_MAIN
	uint8_t tos;
	uint8_t protocol; // 0: RTPROT_STATIC
	const char *also; // a second next hop on P2, with weight 3
};

static void put_via(struct nlmsghdr *h, const struct policy_addr *to, const char *text)
{
	struct policy_addr via = addr(text);
	uint8_t other[18] = {AF_INET6};

	if (via.family == to->family) {
		put_addr(h, RTA_GATEWAY, &via);
		return;
	}
	memcpy(other + 2, via.ip, sizeof(via.ip));
	mnl_attr_put(h, RTA_VIA, sizeof(other), other);
}

static void put_hop(struct nlmsghdr *h, const struct policy_addr *to, const char *via, int oif,
		    uint8_t weight)
{
	struct rtnexthop *nh = (void *)((char *)h + h->nlmsg_len);

	h->nlmsg_len += (uint32_t)sizeof(*nh);
	*nh = (struct rtnexthop){.rtnh_ifindex = oif, .rtnh_hops = (uint8_t)(weight - 1)};
	put_via(h, to, via);
	nh->rtnh_len = (uint16_t)((char *)h + h->nlmsg_len - (char *)nh);
}

static struct nlmsghdr *route(bool gone, uint16_t flags, const struct route *r)
{
	struct nlmsghdr *h = begin(gone ? RTM_DELROUTE : RTM_NEWROUTE, flags);
	struct rtmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	struct policy_addr to = addr(r->to);

	*m = (struct rtmsg){.rtm_family = af(&to), .rtm_dst_len = to.len, .rtm_tos = r->tos,
			    .rtm_table = r->table != 0 ? r->table : RT_TABLE_MAIN,
			    .rtm_type = r->type != 0 ? r->type : RTN_UNICAST,
			    .rtm_protocol = r->protocol != 0 ? r->protocol : RTPROT_STATIC};
	put_addr(h, RTA_DST, &to);
	if (r->metric != 0)
		mnl_attr_put_u32(h, RTA_PRIORITY, r->metric);
	if (r->nexthop_id != 0)
		mnl_attr_put_u32(h, RTA_NH_ID, r->nexthop_id);
	if (r->also != NULL) {
		struct nlattr *nest = mnl_attr_nest_start(h, RTA_MULTIPATH);

		put_hop(h, &to, r->via, (int)r->oif, 1);
		put_hop(h, &to, r->also, P2, 3);
		mnl_attr_nest_end(h, nest);
		return h;
	}
	if (r->oif != 0)
		mnl_attr_put_u32(h, RTA_OIF, r->oif);
	if (r->via != NULL)
		put_via(h, &to, r->via);
	return h;
}

// An object, or a group of ids with their weights; n 0: an object.
static struct nlmsghdr *object(bool gone, uint32_t id, const char *via, uint32_t oif,
			       const struct nexthop_grp *group, unsigned n)
{
	struct nlmsghdr *h = begin(gone ? RTM_DELNEXTHOP : RTM_NEWNEXTHOP, 0);
	struct nhmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	mnl_attr_put_u32(h, NHA_ID, id);
	if (n > 0)
		mnl_attr_put(h, NHA_GROUP, n * sizeof(*group), group);
	if (oif != 0)
		mnl_attr_put_u32(h, NHA_OIF, oif);
	if (via != NULL) {
		struct policy_addr a = addr(via);

		m->nh_family = af(&a);
		put_addr(h, NHA_GATEWAY, &a);
	}
	return h;
}

enum { GROUP = 0xfe }; // in place of the last byte: a MAC address of a group
static struct nlmsghdr *neighbour(bool gone, const char *ip, int ifindex, uint16_t state,
				  uint8_t last)
{
	struct nlmsghdr *h = begin(gone ? RTM_DELNEIGH : RTM_NEWNEIGH, 0);
	struct ndmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	const uint8_t mac[6] = {last == GROUP ? 3 : 2, 0, 0, 0, 0, last};
	struct policy_addr a = addr(ip);

	*m = (struct ndmsg){.ndm_family = af(&a), .ndm_ifindex = ifindex, .ndm_state = state};
	put_addr(h, NDA_DST, &a);
	if (last != 0)
		mnl_attr_put(h, NDA_LLADDR, sizeof(mac), mac);
	return h;
}

static struct nlmsghdr *link_msg(bool gone, int ifindex, unsigned flags)
{
	struct nlmsghdr *h = begin(gone ? RTM_DELLINK : RTM_NEWLINK, 0);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	*m = (struct ifinfomsg){.ifi_index = ifindex, .ifi_flags = flags};
	mnl_attr_put_strz(h, IFLA_IFNAME, "some");
	return h;
}

// ---- the mirror under test

struct bench {
	struct mirror *m;
	struct mirror_census census; // of the routes that were last made
	char log[TEXT]; // what the switch heard of neighbours since it was last read
};

static void on_neighbour(void *arg, port_no_t iface, const struct policy_addr *a,
			 const uint8_t *mac)
{
	struct bench *b = arg;
	char text[ADDR_TEXT_LEN];
	size_t at = strlen(b->log);

	snprintf(b->log + at, sizeof(b->log) - at, "%u %s %d; ", iface, addr_text(a, text),
		 mac == NULL ? -1 : mac[5]);
}

static void on_stale(void *arg, port_no_t iface, const struct policy_addr *a)
{
	struct bench *b = arg;
	char text[ADDR_TEXT_LEN];
	size_t at = strlen(b->log);

	snprintf(b->log + at, sizeof(b->log) - at, "stale %u %s; ", iface, addr_text(a, text));
}

static struct bench *bench_open(uint32_t max_prefixes)
{
	static const struct mirror_ops ops = {.neighbour = on_neighbour, .stale = on_stale};
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	assert_int_equal(mirror_create(&ops, b, max_prefixes, &b->m), 0);
	mirror_bind(b->m, 0, P1);
	mirror_bind(b->m, 1, P2);
	return b;
}

static int setup(void **state)
{
	*state = bench_open(ROOM);
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	mirror_destroy(b->m);
	free(b);
	return 0;
}

static unsigned apply(struct bench *b, const struct nlmsghdr *h)
{
	struct kernel_msg msg;

	assert_int_not_equal(kernel_msg_parse(h, &msg), KERNEL_MALFORMED);
	return mirror_apply(b->m, &msg, 1);
}

static void add(struct bench *b, const struct route *r)
{
	(void)apply(b, route(false, NLM_F_CREATE, r));
}

// The routes of the next policy, in one line.
static const char *routes(struct bench *b)
{
	static const char *const kinds[] = {[NEXTHOP_GATEWAY] = "via", [NEXTHOP_LINK] = "link",
					    [NEXTHOP_SELF] = "self", [NEXTHOP_NONE] = "none",
					    [NEXTHOP_BLACKHOLE] = "blackhole"};
	static char out[TEXT];
	struct policy_routes r = {0};
	char text[ADDR_TEXT_LEN];
	size_t at = 0;

	assert_int_equal(mirror_routes(b->m, &r, &b->census), 0);
	out[0] = '\0';
	for (uint32_t i = 0; i < r.n_prefixes; i++) {
		const struct policy_group *g = &r.groups[r.prefixes[i].group];

		at += (size_t)snprintf(out + at, TEXT - at, "%s%s", at > 0 ? "; " : "",
				       addr_text(&r.prefixes[i].to, text));
		for (uint32_t k = 0; k < g->n; k++) {
			const struct policy_nexthop *h = &r.nexthops[g->first + k];

			at += (size_t)snprintf(out + at, TEXT - at, " %s", kinds[h->kind]);
			if (h->kind == NEXTHOP_GATEWAY)
				at += (size_t)snprintf(out + at, TEXT - at, " %s",
						       addr_text(&h->addr, text));
			if (h->port != PORT_NONE)
				at += (size_t)snprintf(out + at, TEXT - at, " %u", h->port);
		}
	}
	free(r.prefixes);
	free(r.groups);
	free(r.nexthops);
	return out;
}

// ---- tests

static void each_kind_of_route_becomes_a_next_hop(void **state)
{
	static const struct {
		struct route r;
		const char *want;
	} rows[] = {
		{{"10.1.0.0/16", "10.0.1.2", P1}, "10.1.0.0/16 via 10.0.1.2 0"},
		{{"10.1.0.0/16", NULL, P2}, "10.1.0.0/16 link 1"},
		{{"fd00:1::/48", "fe80::2", P1}, "fd00:1::/48 via fe80::2 0"},
		{{"10.1.0.0/16", "fe80::2", P2}, "10.1.0.0/16 via fe80::2 1"},
		{{"10.0.1.1/32", NULL, P1, .type = RTN_LOCAL, .table = RT_TABLE_LOCAL},
		 "10.0.1.1 self 0"},
		{{"10.0.1.255/32", NULL, P1, .type = RTN_BROADCAST, .table = RT_TABLE_LOCAL},
		 "10.0.1.255 self 0"},
		{{"10.255.0.1/32", NULL, 1, .type = RTN_LOCAL, .table = RT_TABLE_LOCAL},
		 "10.255.0.1 self"},
		{{"10.1.0.0/16", .type = RTN_BLACKHOLE}, "10.1.0.0/16 blackhole"},
		{{"10.1.0.0/16", .type = RTN_UNREACHABLE}, "10.1.0.0/16 blackhole"},
		{{"10.1.0.0/16", .type = RTN_PROHIBIT}, "10.1.0.0/16 blackhole"},
		// Frames for it must not take a shorter prefix of the switch.
		{{"10.1.0.0/16", "10.9.9.9", ETH0}, "10.1.0.0/16 none"},
		{{"10.1.0.0/16", "10.0.1.2", P1, .tos = 8}, ""},
		{{"10.1.0.0/16", "10.0.1.2", P1, .protocol = RTPROT_REDIRECT}, ""},
		{{"::/0", "fe80::2", P1, .protocol = RTPROT_RA}, ""},
		{{"10.1.0.0/16", "10.0.1.2", P1, .table = 100}, ""},
		{{"224.0.0.0/4", NULL, P1}, ""},
		{{"fe80::/64", NULL, P1}, ""},
		{{"ff00::/8", NULL, P1}, ""},
		{{"127.0.0.0/8", NULL, 1, .type = RTN_LOCAL, .table = RT_TABLE_LOCAL}, ""},
		// Three parts in four for the second next hop.
		{{"10.1.0.0/16", "10.0.1.2", P1, .also = "10.0.2.2"},
		 "10.1.0.0/16 via 10.0.1.2 0 via 10.0.2.2 1 via 10.0.2.2 1 via 10.0.2.2 1"},
		{{"10.1.0.0/16", "10.0.1.2", ETH0, .also = "10.0.2.2"},
		 "10.1.0.0/16 via 10.0.2.2 1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *own;

		setup(&own);
		add(own, &rows[i].r);
		assert_string_equal(routes(own), rows[i].want);
		(void)apply(own, route(true, 0, &rows[i].r));
		assert_string_equal(routes(own), "");
		teardown(&own);
	}
}

static void the_lowest_metric_of_a_prefix_counts(void **state)
{
	const struct route slow = {"10.1.0.0/16", "10.0.1.9", P1, .metric = 20};
	const struct route fast = {"10.1.0.0/16", "10.0.2.9", P2, .metric = 10};

	add(*state, &slow);
	add(*state, &fast);
	assert_string_equal(routes(*state), "10.1.0.0/16 via 10.0.2.9 1");
	(void)apply(*state, route(true, 0, &fast));
	assert_string_equal(routes(*state), "10.1.0.0/16 via 10.0.1.9 0");
}

static void a_word_of_a_host_is_no_route_and_is_counted(void **state)
{
	const struct route mine = {"10.1.0.0/16", "10.0.2.2", P2},
			   host = {"10.1.0.0/16", "10.0.1.9", P1, .metric = 1,
				   .protocol = RTPROT_REDIRECT},
			   half = {"10.1.0.0/17", "10.0.1.9", P1, .protocol = RTPROT_REDIRECT};
	struct bench *b = *state;

	add(b, &mine);
	add(b, &host);
	add(b, &half);
	assert_string_equal(routes(b), "10.1.0.0/16 via 10.0.2.2 1");
	assert_int_equal(b->census.from_hosts, 2);
	assert_int_equal(b->census.unsupported, 0);
	(void)apply(b, route(true, 0, &mine));
	assert_string_equal(routes(b), "");
}

static void local_comes_before_main(void **state)
{
	const struct route local = {"10.1.0.1/32", NULL, P1, .type = RTN_LOCAL,
				    .table = RT_TABLE_LOCAL};
	const struct route main_ = {"10.1.0.1/32", "10.0.2.9", P2};

	add(*state, &local);
	add(*state, &main_);
	assert_string_equal(routes(*state), "10.1.0.1 self 0");
}

static void append_prepend_and_replace_keep_the_kernels_order(void **state)
{
	const struct route a = {"10.1.0.0/16", "10.0.1.1", P1}, b = {"10.1.0.0/16", "10.0.1.2", P1},
			   c = {"10.1.0.0/16", "10.0.1.3", P1}, d = {"10.1.0.0/16", "10.0.1.4", P1};

	add(*state, &a);
	(void)apply(*state, route(false, NLM_F_CREATE | NLM_F_APPEND, &b));
	assert_string_equal(routes(*state), "10.1.0.0/16 via 10.0.1.1 0");
	add(*state, &c); // prepended
	assert_string_equal(routes(*state), "10.1.0.0/16 via 10.0.1.3 0");
	(void)apply(*state, route(false, NLM_F_REPLACE, &d));
	assert_string_equal(routes(*state), "10.1.0.0/16 via 10.0.1.4 0");
	(void)apply(*state, route(true, 0, &d));
	assert_string_equal(routes(*state), "10.1.0.0/16 via 10.0.1.1 0");
	(void)apply(*state, route(true, 0, &a));
	assert_string_equal(routes(*state), "10.1.0.0/16 via 10.0.1.2 0");
}

static void an_ipv6_route_loses_one_next_hop_at_a_time(void **state)
{
	const struct route both = {"fd00:1::/48", "fd00::1", P1, .also = "fd00::2"};
	const struct route one = {"fd00:1::/48", "fd00::2", P2};

	add(*state, &one);
	add(*state, &both); // the kernel names all next hops at once
	assert_string_equal(routes(*state), "fd00:1::/48 via fd00::1 0 via fd00::2 1 via fd00::2 1 "
					    "via fd00::2 1");
	(void)apply(*state, route(true, 0, &one));
	assert_string_equal(routes(*state), "fd00:1::/48 via fd00::1 0");
	(void)apply(*state, route(true, 0, &both));
	assert_string_equal(routes(*state), "");
}

static void objects_and_groups_are_followed(void **state)
{
	const struct nexthop_grp group[] = {{.id = 1, .weight = 1}, {.id = 2}, {.id = 3}};
	const struct route r = {"10.1.0.0/16", .nexthop_id = 9};

	(void)apply(*state, object(false, 1, "10.0.1.1", P1, NULL, 0));
	(void)apply(*state, object(false, 2, "fe80::2", P2, NULL, 0));
	(void)apply(*state, object(false, 9, NULL, 0, group, 3));
	add(*state, &r);
	assert_string_equal(routes(*state),
			    "10.1.0.0/16 via 10.0.1.1 0 via 10.0.1.1 0 via fe80::2 1");
	(void)apply(*state, object(false, 1, "10.0.1.7", P1, NULL, 0));
	assert_string_equal(routes(*state),
			    "10.1.0.0/16 via 10.0.1.7 0 via 10.0.1.7 0 via fe80::2 1");
	(void)apply(*state, object(true, 2, NULL, 0, NULL, 0));
	assert_string_equal(routes(*state), "10.1.0.0/16 via 10.0.1.7 0");
	// The kernel says nothing about the routes that go with an object.
	(void)apply(*state, object(true, 9, NULL, 0, NULL, 0));
	assert_string_equal(routes(*state), "");
}

static void large_weights_are_rounded_and_nobody_is_left_out(void **state)
{
	const struct nexthop_grp group[] = {{.id = 1, .weight = 254}, {.id = 2}};
	const struct route r = {"10.1.0.0/16", .nexthop_id = 9};
	struct policy_routes out = {0};
	struct mirror_census census;
	unsigned first = 0;
	struct bench *b = *state;

	(void)apply(b, object(false, 1, "10.0.1.1", P1, NULL, 0));
	(void)apply(b, object(false, 2, "10.0.2.1", P2, NULL, 0));
	(void)apply(b, object(false, 9, NULL, 0, group, 2));
	add(b, &r);
	assert_int_equal(mirror_routes(b->m, &out, &census), 0);
	for (uint32_t i = 0; i < out.n_nexthops; i++)
		first += out.nexthops[i].port == 0;
	assert_int_equal(first, 62);
	assert_int_equal(out.n_nexthops, 63);
	free(out.prefixes);
	free(out.groups);
	free(out.nexthops);
}

static void a_dump_removes_what_it_does_not_name(void **state)
{
	const struct route gone = {"10.1.0.0/16", "10.0.1.1", P1};
	const struct route stays = {"10.2.0.0/16", "10.0.1.1", P1};
	struct bench *b = *state;

	add(b, &gone);
	add(b, &stays);
	(void)apply(b, neighbour(false, "10.0.1.1", P1, NUD_REACHABLE, 1));
	(void)apply(b, neighbour(false, "10.0.1.2", P1, NUD_REACHABLE, 2));
	mirror_begin_dump(b->m);
	(void)apply(b, route(false, NLM_F_MULTI, &stays));
	(void)apply(b, neighbour(false, "10.0.1.2", P1, NUD_REACHABLE, 2));
	b->log[0] = '\0';
	assert_int_equal(mirror_end_dump(b->m), MIRROR_ROUTES);
	assert_string_equal(routes(b), "10.2.0.0/16 via 10.0.1.1 0");
	assert_string_equal(b->log, "0 10.0.1.1 -1; ");
}

static void links_and_addresses_that_go_ask_for_a_dump(void **state)
{
	assert_int_equal(apply(*state, link_msg(false, P1, IFF_UP)), MIRROR_ROUTES | MIRROR_STALE);
	assert_int_equal(apply(*state, link_msg(false, P1, IFF_UP | IFF_RUNNING)), 0);
	assert_int_equal(apply(*state, link_msg(false, P1, 0)), MIRROR_ROUTES | MIRROR_STALE);
	assert_int_equal(apply(*state, link_msg(true, P1, 0)), MIRROR_ROUTES | MIRROR_STALE);
	assert_int_equal(apply(*state, begin(RTM_DELADDR, 0)), MIRROR_STALE);
	assert_int_equal(apply(*state, begin(RTM_NEWADDR, 0)), 0);
}

static void the_switch_hears_of_each_neighbour_once(void **state)
{
	static const struct {
		bool gone;
		const char *ip;
		int ifindex;
		uint16_t nud;
		uint8_t last;
		const char *want;
	} rows[] = {
		{false, "10.0.1.2", P1, NUD_INCOMPLETE, 0, ""},
		{false, "10.0.1.2", P1, NUD_REACHABLE, 7, "0 10.0.1.2 7; "},
		{false, "10.0.1.2", P1, NUD_DELAY, 7, ""},
		{false, "10.0.1.2", P1, NUD_STALE, 7, "stale 0 10.0.1.2; "},
		{false, "10.0.1.2", P1, NUD_PROBE, 8, "0 10.0.1.2 8; "},
		{false, "10.0.1.2", P1, NUD_FAILED, 0, "0 10.0.1.2 -1; "},
		{false, "10.0.1.2", P1, NUD_PERMANENT, 9, "0 10.0.1.2 9; "},
		{true, "10.0.1.2", P1, NUD_PERMANENT, 9, "0 10.0.1.2 -1; "},
		{true, "10.0.1.2", P1, NUD_PERMANENT, 9, ""},
		{false, "fe80::2", P2, NUD_REACHABLE, 5, "1 fe80::2 5; "},
		{false, "10.9.9.9", ETH0, NUD_REACHABLE, 5, ""},
		{false, "ff02::1", P1, NUD_NOARP, 5, ""},
		{false, "10.0.1.3", P1, NUD_REACHABLE, GROUP, ""},
		{false, "10.0.1.3", P1, NUD_REACHABLE, 6, "0 10.0.1.3 6; "},
		{false, "10.0.1.3", P1, NUD_REACHABLE, GROUP, "0 10.0.1.3 -1; "},
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		b->log[0] = '\0';
		(void)apply(b, neighbour(rows[i].gone, rows[i].ip, rows[i].ifindex, rows[i].nud,
					 rows[i].last));
		assert_string_equal(b->log, rows[i].want);
	}
}

static void neighbours_go_with_their_device(void **state)
{
	struct bench *b = *state;

	(void)apply(b, neighbour(false, "10.0.1.2", P1, NUD_REACHABLE, 7));
	(void)apply(b, neighbour(false, "10.0.2.2", P2, NUD_REACHABLE, 8));
	b->log[0] = '\0';
	mirror_bind(b->m, 0, P1 + 100);
	assert_string_equal(b->log, "0 10.0.1.2 -1; ");
	(void)apply(b, neighbour(false, "10.0.1.3", P1, NUD_REACHABLE, 9));
	(void)apply(b, neighbour(false, "10.0.1.3", P1 + 100, NUD_REACHABLE, 9));
	assert_string_equal(b->log, "0 10.0.1.2 -1; 0 10.0.1.3 9; ");
}

static void equal_routes_share_a_group(void **state)
{
	struct policy_routes out = {0};
	struct mirror_census census;
	struct bench *b = *state;

	for (unsigned i = 0; i < 1000; i++) {
		char to[ADDR_TEXT_LEN];
		struct route r = {to, "10.0.1.1", P1};

		snprintf(to, sizeof(to), "10.%u.%u.0/24", 1 + i / 250, i % 250);
		add(b, &r);
	}
	assert_int_equal(mirror_routes(b->m, &out, &census), 0);
	assert_int_equal(out.n_prefixes, 1000);
	assert_int_equal(out.n_groups, 1);
	assert_int_equal(census.taken, 1000);
	free(out.prefixes);
	free(out.groups);
	free(out.nexthops);
}

static void add_without_room(void *arg, const struct mirror_route *r)
{
	char *out = arg, text[ADDR_TEXT_LEN];
	size_t at = strlen(out);

	if (r->no_room)
		snprintf(out + at, TEXT - at, "%s; ", addr_text(&r->to, text));
}

static void expect_room(struct bench *b, const char *in, const char *out, uint32_t n_out)
{
	char without[TEXT] = "";

	assert_string_equal(routes(b), in);
	mirror_walk_routes(b->m, add_without_room, without);
	assert_string_equal(without, out);
	assert_int_equal(b->census.no_room, n_out);
}

// The first routes stay, except that a subnet of the switch always has a place.
static void routes_beyond_the_table_wait_for_a_place(void **state)
{
	const struct route r[] = {
		{"10.1.0.0/16", NULL, P1}, {"10.2.0.0/16", NULL, P1}, {"10.3.0.0/16", NULL, P1},
		{"10.4.0.0/16", NULL, P1}, {"10.5.0.0/16", NULL, ETH0}};
	const struct route subnet = {"10.0.1.0/24", NULL, P1, .protocol = RTPROT_KERNEL};
	struct bench *b = bench_open(3);
	void *own = b;

	(void)state;
	for (size_t i = 0; i < sizeof(r) / sizeof(r[0]); i++)
		add(b, &r[i]);
	expect_room(b, "10.1.0.0/16 link 0; 10.2.0.0/16 link 0; 10.3.0.0/16 link 0",
		    "10.4.0.0/16; 10.5.0.0/16; ", 2);
	assert_int_equal(b->census.taken, 3);
	assert_int_equal(b->census.foreign, 0);
	add(b, &subnet);
	expect_room(b, "10.0.1.0/24 link 0; 10.1.0.0/16 link 0; 10.2.0.0/16 link 0",
		    "10.3.0.0/16; 10.4.0.0/16; 10.5.0.0/16; ", 3);
	for (size_t i = 0; i < 2; i++)
		(void)apply(b, route(true, 0, &r[i]));
	expect_room(b, "10.0.1.0/24 link 0; 10.3.0.0/16 link 0; 10.4.0.0/16 link 0",
		    "10.5.0.0/16; ", 1);
	(void)apply(b, route(true, 0, &r[2]));
	expect_room(b, "10.0.1.0/24 link 0; 10.4.0.0/16 link 0; 10.5.0.0/16 none", "", 0);
	assert_int_equal(b->census.taken, 2);
	assert_int_equal(b->census.foreign, 1);
	teardown(&own);
}

// Each message, with each of its bytes as the last one: malformed or read, never beyond its end.
static void a_message_that_is_cut_off_is_malformed_or_shorter(void **state)
{
	const struct route r = {"10.1.0.0/16", "10.0.1.2", P1, .also = "10.0.2.2"};
	struct nlmsghdr *h = route(false, 0, &r);
	uint32_t whole = h->nlmsg_len;
	unsigned malformed = 0;
	struct kernel_msg msg;

	(void)state;
	for (uint32_t len = sizeof(*h); len < whole; len++) {
		struct nlmsghdr *copy = malloc(len);

		assert_non_null(copy);
		memcpy(copy, h, len);
		copy->nlmsg_len = len;
		malformed += kernel_msg_parse(copy, &msg) == KERNEL_MALFORMED;
		free(copy);
	}
	assert_int_equal(kernel_msg_parse(h, &msg), KERNEL_ROUTE);
	assert_int_equal(msg.route.n_hops, 2);
	// All but the cuts between two attributes.
	assert_in_range(malformed, whole - sizeof(*h) - 12, whole - sizeof(*h) - 2);
}

static void a_message_longer_than_its_buffer_is_none(void **state)
{
	static const uint32_t lengths[] = {0, 15, 17, 0x8b8b8b8b, UINT32_MAX};
	struct nlmsghdr two[2] = {{.nlmsg_len = sizeof(two[0])}};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t len = sizeof(two);
		const struct nlmsghdr *h = kernel_msg_first(two, &len);

		two[1].nlmsg_len = lengths[i];
		assert_ptr_equal(h, &two[0]);
		assert_null(kernel_msg_next(h, &len));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_route_becomes_a_next_hop),
		cmocka_unit_test_setup_teardown(the_lowest_metric_of_a_prefix_counts, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_word_of_a_host_is_no_route_and_is_counted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(local_comes_before_main, setup, teardown),
		cmocka_unit_test_setup_teardown(append_prepend_and_replace_keep_the_kernels_order,
						setup, teardown),
		cmocka_unit_test_setup_teardown(an_ipv6_route_loses_one_next_hop_at_a_time, setup,
						teardown),
		cmocka_unit_test_setup_teardown(objects_and_groups_are_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(large_weights_are_rounded_and_nobody_is_left_out,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_dump_removes_what_it_does_not_name, setup,
						teardown),
		cmocka_unit_test_setup_teardown(links_and_addresses_that_go_ask_for_a_dump, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_switch_hears_of_each_neighbour_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(neighbours_go_with_their_device, setup, teardown),
		cmocka_unit_test_setup_teardown(equal_routes_share_a_group, setup, teardown),
		cmocka_unit_test(routes_beyond_the_table_wait_for_a_place),
		cmocka_unit_test(a_message_that_is_cut_off_is_malformed_or_shorter),
		cmocka_unit_test(a_message_longer_than_its_buffer_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
