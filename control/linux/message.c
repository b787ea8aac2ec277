// SPDX-License-Identifier: Apache-2.0
#include "control/linux/message.h"

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stddef.h>
#include <string.h>

#include "control/config/addr.h"

// The macros of netlink for this are signed.
static size_t aligned(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

// The attributes of a message by their number. The last one of a number counts.
enum { ATTRS = 64 };
struct attrs {
	const struct nlattr *of[ATTRS];
};

// False: an attribute is cut off.
static bool read_attrs(const struct nlattr *first, size_t len, struct attrs *out)
{
	const struct nlattr *a = first;

	*out = (struct attrs){0};
	while (len > 0) {
		size_t taken;

		if (len < sizeof(*a) || a->nla_len < sizeof(*a) || a->nla_len > len)
			return false;
		if (mnl_attr_get_type(a) < ATTRS)
			out->of[mnl_attr_get_type(a)] = a;
		taken = aligned(a->nla_len);
		if (taken >= len)
			break;
		len -= taken;
		a = (const void *)((const char *)a + taken);
	}
	return true;
}

// Behind the header of the message, which has this size. False: it is cut off.
static bool read_msg(const struct nlmsghdr *h, size_t header, struct attrs *out)
{
	size_t len = h->nlmsg_len, from = sizeof(*h) + aligned(header);

	if (len < sizeof(*h) + header)
		return false;
	return read_attrs((const void *)((const char *)h + from), len > from ? len - from : 0,
			  out);
}

static size_t payload_len(const struct nlattr *a)
{
	return mnl_attr_get_payload_len(a);
}

// The number of an attribute; absent: *out stays. False: the attribute is too short.
static bool read_u32_attr(const struct nlattr *a, uint32_t *out)
{
	if (a == NULL)
		return true;
	if (payload_len(a) < sizeof(*out))
		return false;
	memcpy(out, mnl_attr_get_payload(a), sizeof(*out));
	return true;
}

static bool read_addr_attr(const struct nlattr *a, uint8_t family, size_t skip,
			   struct policy_addr *out)
{
	size_t len = family == AF_INET ? 4 : 16;

	if (payload_len(a) < skip + len)
		return false;
	*out = (struct policy_addr){.family = family == AF_INET ? FAMILY_V4 : FAMILY_V6,
				    .len = (uint8_t)(8 * len)};
	memcpy(out->ip, (const char *)mnl_attr_get_payload(a) + skip, len);
	return true;
}

static bool is_ip(uint8_t family)
{
	return family == AF_INET || family == AF_INET6;
}

// ---- links

static enum kernel_msg_kind link_msg(const struct nlmsghdr *h, struct kernel_link *out)
{
	const struct ifinfomsg *m = mnl_nlmsg_get_payload(h);
	struct attrs a;

	if (!read_msg(h, sizeof(*m), &a))
		return KERNEL_MALFORMED;
	if (m->ifi_family == AF_BRIDGE)
		return KERNEL_OTHER;
	*out = (struct kernel_link){.ifindex = (uint32_t)m->ifi_index,
				    .up = (m->ifi_flags & IFF_UP) != 0};
	if (m->ifi_index <= 0)
		return KERNEL_MALFORMED;
	if (a.of[IFLA_IFNAME] != NULL) {
		size_t len = payload_len(a.of[IFLA_IFNAME]);

		if (len > sizeof(out->name) - 1)
			len = sizeof(out->name) - 1;
		memcpy(out->name, mnl_attr_get_payload(a.of[IFLA_IFNAME]), len);
	}
	return KERNEL_LINK;
}

// ---- routes

// RTA_GATEWAY has the family of the route, RTA_VIA names its own.
static bool hop_via(const struct attrs *a, uint8_t family, struct policy_addr *out)
{
	uint16_t named;

	if (a->of[RTA_GATEWAY] != NULL)
		return read_addr_attr(a->of[RTA_GATEWAY], family, 0, out);
	if (a->of[RTA_VIA] == NULL)
		return true;
	if (payload_len(a->of[RTA_VIA]) < sizeof(named))
		return false;
	memcpy(&named, mnl_attr_get_payload(a->of[RTA_VIA]), sizeof(named));
	return (named == AF_INET || named == AF_INET6) &&
	       read_addr_attr(a->of[RTA_VIA], (uint8_t)named, sizeof(named), out);
}

// RTA_MULTIPATH: struct rtnexthop with attributes, one after the other.
static bool hops_of(const struct nlattr *multipath, uint8_t family, struct kernel_route *out)
{
	const char *at = mnl_attr_get_payload(multipath), *end = at + payload_len(multipath);
	struct rtnexthop nh;
	struct attrs a;

	while (end - at >= (ptrdiff_t)sizeof(nh)) {
		memcpy(&nh, at, sizeof(nh));
		if (nh.rtnh_len < sizeof(nh) || nh.rtnh_len > end - at ||
		    !read_attrs((const void *)(at + sizeof(nh)), nh.rtnh_len - sizeof(nh), &a))
			return false;
		if (out->n_hops == KERNEL_HOPS) {
			out->n_left_out++;
		} else {
			struct kernel_hop *hop = &out->hops[out->n_hops];

			*hop = (struct kernel_hop){.ifindex = (uint32_t)nh.rtnh_ifindex,
						   .weight = (uint16_t)(nh.rtnh_hops + 1),
						   .dead = (nh.rtnh_flags & RTNH_F_DEAD) != 0};
			if (!hop_via(&a, family, &hop->via))
				return false;
			out->n_hops++;
		}
		if ((ptrdiff_t)aligned(nh.rtnh_len) > end - at)
			break;
		at += aligned(nh.rtnh_len);
	}
	return true;
}

static enum kernel_route_type type_of(uint8_t type)
{
	switch (type) {
	case RTN_UNICAST: return KERNEL_UNICAST;
	case RTN_LOCAL:
	case RTN_BROADCAST:
	case RTN_ANYCAST: return KERNEL_SELF;
	case RTN_BLACKHOLE:
	case RTN_UNREACHABLE:
	case RTN_PROHIBIT: return KERNEL_BLACKHOLE;
	default: return KERNEL_UNUSED;
	}
}

static bool route_hops(const struct rtmsg *m, const struct attrs *a, struct kernel_route *out)
{
	struct kernel_hop *hop = &out->hops[0];

	if (out->nexthop_id != 0)
		return true; // repeated here for programs that do not know objects
	if (a->of[RTA_MULTIPATH] != NULL)
		return hops_of(a->of[RTA_MULTIPATH], m->rtm_family, out);
	*hop = (struct kernel_hop){.weight = 1, .dead = (m->rtm_flags & RTNH_F_DEAD) != 0};
	if (!read_u32_attr(a->of[RTA_OIF], &hop->ifindex) || !hop_via(a, m->rtm_family, &hop->via))
		return false;
	out->n_hops = hop->ifindex != 0;
	return true;
}

static enum kernel_msg_kind route_msg(const struct nlmsghdr *h, struct kernel_route *out)
{
	const struct rtmsg *m = mnl_nlmsg_get_payload(h);
	struct attrs a;

	if (!read_msg(h, sizeof(*m), &a))
		return KERNEL_MALFORMED;
	if (!is_ip(m->rtm_family) || (m->rtm_flags & RTM_F_CLONED) != 0)
		return KERNEL_OTHER;
	*out = (struct kernel_route){
		.to = {.family = m->rtm_family == AF_INET ? FAMILY_V4 : FAMILY_V6},
		.table = m->rtm_table, .tos = m->rtm_tos, .protocol = m->rtm_protocol,
		.type = (uint8_t)type_of(m->rtm_type)};
	if (m->rtm_dst_len > (m->rtm_family == AF_INET ? 32 : 128) ||
	    (a.of[RTA_DST] != NULL && !read_addr_attr(a.of[RTA_DST], m->rtm_family, 0, &out->to)) ||
	    !read_u32_attr(a.of[RTA_TABLE], &out->table) ||
	    !read_u32_attr(a.of[RTA_PRIORITY], &out->metric) ||
	    !read_u32_attr(a.of[RTA_NH_ID], &out->nexthop_id) || !route_hops(m, &a, out))
		return KERNEL_MALFORMED;
	// Routes by source address too: the dataplane looks at the destination alone.
	if (m->rtm_src_len != 0)
		out->type = KERNEL_UNUSED;
	out->to = addr_masked(out->to, m->rtm_dst_len, false);
	out->to.len = m->rtm_dst_len;
	return KERNEL_ROUTE;
}

// ---- next-hop objects

static bool members_of(const struct nlattr *group, struct kernel_nexthop *out)
{
	const char *at = mnl_attr_get_payload(group), *end = at + payload_len(group);
	struct nexthop_grp g;

	out->group = true;
	for (; (size_t)(end - at) >= sizeof(g); at += sizeof(g)) {
		memcpy(&g, at, sizeof(g));
		if (out->n_members == KERNEL_HOPS) {
			out->n_left_out++;
			continue;
		}
		out->members[out->n_members].id = g.id;
		out->members[out->n_members++].weight = (uint16_t)(g.weight + 1);
	}
	return at == end;
}

static enum kernel_msg_kind nexthop_msg(const struct nlmsghdr *h, struct kernel_nexthop *out)
{
	const struct nhmsg *m = mnl_nlmsg_get_payload(h);
	struct attrs a;

	if (!read_msg(h, sizeof(*m), &a))
		return KERNEL_MALFORMED;
	*out = (struct kernel_nexthop){
		.blackhole = a.of[NHA_BLACKHOLE] != NULL,
		.hop = {.weight = 1, .dead = (m->nh_flags & RTNH_F_DEAD) != 0}};
	if (!read_u32_attr(a.of[NHA_ID], &out->id) || out->id == 0 ||
	    !read_u32_attr(a.of[NHA_OIF], &out->hop.ifindex) ||
	    (a.of[NHA_GATEWAY] != NULL &&
	     (!is_ip(m->nh_family) ||
	      !read_addr_attr(a.of[NHA_GATEWAY], m->nh_family, 0, &out->hop.via))) ||
	    (a.of[NHA_GROUP] != NULL && !members_of(a.of[NHA_GROUP], out)))
		return KERNEL_MALFORMED;
	return KERNEL_NEXTHOP;
}

// ---- neighbours

static enum kernel_msg_kind neighbour_msg(const struct nlmsghdr *h, struct kernel_neighbour *out)
{
	const struct ndmsg *m = mnl_nlmsg_get_payload(h);
	uint32_t more = 0;
	struct attrs a;

	if (!read_msg(h, sizeof(*m), &a))
		return KERNEL_MALFORMED;
	if (!is_ip(m->ndm_family) || m->ndm_flags & NTF_PROXY)
		return KERNEL_OTHER;
	*out = (struct kernel_neighbour){.ifindex = (uint32_t)m->ndm_ifindex,
					 .state = m->ndm_state,
					 .learned = (m->ndm_flags & NTF_EXT_LEARNED) != 0};
	if (a.of[NDA_DST] == NULL || !read_addr_attr(a.of[NDA_DST], m->ndm_family, 0, &out->addr) ||
	    !read_u32_attr(a.of[NDA_FLAGS_EXT], &more))
		return KERNEL_MALFORMED;
	out->managed = (more & NTF_EXT_MANAGED) != 0;
	if (a.of[NDA_LLADDR] != NULL && payload_len(a.of[NDA_LLADDR]) == sizeof(out->mac)) {
		memcpy(out->mac, mnl_attr_get_payload(a.of[NDA_LLADDR]), sizeof(out->mac));
		out->has_mac = true;
	}
	return KERNEL_NEIGHBOUR;
}

// mnl_nlmsg_ok() takes a length beyond INT_MAX for a negative one, and so for short enough.
const struct nlmsghdr *kernel_msg_first(const void *bytes, size_t *len)
{
	const struct nlmsghdr *h = bytes;

	return *len >= sizeof(*h) && h->nlmsg_len >= sizeof(*h) && h->nlmsg_len <= *len ? h : NULL;
}

const struct nlmsghdr *kernel_msg_next(const struct nlmsghdr *h, size_t *len)
{
	size_t taken = aligned(h->nlmsg_len);

	if (taken > *len)
		return NULL;
	*len -= taken;
	return kernel_msg_first((const char *)h + taken, len);
}

enum kernel_msg_kind kernel_msg_parse(const struct nlmsghdr *h, struct kernel_msg *out)
{
	enum kernel_msg_kind kind = KERNEL_OTHER;

	out->flags = h->nlmsg_flags;
	out->gone = h->nlmsg_type == RTM_DELLINK || h->nlmsg_type == RTM_DELADDR ||
		    h->nlmsg_type == RTM_DELROUTE || h->nlmsg_type == RTM_DELNEXTHOP ||
		    h->nlmsg_type == RTM_DELNEIGH;
	switch (h->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK: kind = link_msg(h, &out->link); break;
	case RTM_NEWADDR:
	case RTM_DELADDR: kind = KERNEL_ADDR; break;
	case RTM_NEWROUTE:
	case RTM_DELROUTE: kind = route_msg(h, &out->route); break;
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP: kind = nexthop_msg(h, &out->nexthop); break;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH: kind = neighbour_msg(h, &out->neighbour); break;
	default: break;
	}
	out->kind = (uint8_t)kind;
	return kind;
}

const char *kernel_protocol_name(uint8_t protocol)
{
	static const struct {
		uint8_t protocol;
		const char *name;
	} rows[] = {
		{RTPROT_REDIRECT, "redirect"}, {RTPROT_KERNEL, "kernel"}, {RTPROT_BOOT, "boot"},
		{RTPROT_STATIC, "static"},     {RTPROT_RA, "ra"},	  {RTPROT_ZEBRA, "zebra"},
		{RTPROT_BIRD, "bird"},	       {RTPROT_DHCP, "dhcp"},	  {RTPROT_BGP, "bgp"},
		{RTPROT_ISIS, "isis"},	       {RTPROT_OSPF, "ospf"},	  {RTPROT_RIP, "rip"},
		{RTPROT_EIGRP, "eigrp"},       {196, "static"}, // FRR's staticd
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].protocol == protocol)
			return rows[i].name;
	return NULL;
}
