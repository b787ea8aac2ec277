// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/schedule_net.h"

#include <string.h>

#include "control/config/impair.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/vxlan.h"
#include "dataplane/packet/wire.h"
#include "dataplane/switch_zones.h"
#include "tests/lab/router.h"

#define PICK(rng, table) ((table)[pick((rng), sizeof(table) / sizeof((table)[0]))])

enum {
	TTL = 64,
	V4_LEN = sizeof(struct ipv4_hdr),
	V6_LEN = sizeof(struct ipv6_hdr),
	UDP_LEN = sizeof(struct udp_hdr),
	BTH_LEN = sizeof(struct bth_hdr),
	ICMP_PROTO = 1,
	ICMP_ECHO_REQUEST = 8,
	MAGIC = 0x5eed, // in front of the stamp
	STRAY_TAG = 7,
	SHORT_LEN = SCHEDULE_MIN_LEN + 40, // all headers and the stamp, in IPv6 too
};

static unsigned pick(struct rng *rng, unsigned n)
{
	return rng_next(rng) % n;
}

void net_address(uint8_t *ip, bool v6, unsigned net, unsigned host)
{
	uint8_t last = (uint8_t)(NET_FIRST_ADDRESS + host);

	if (v6)
		memcpy(ip, (uint8_t[16]){0xfd, 0, 0, (uint8_t)net, [15] = last}, 16);
	else
		memcpy(ip, (uint8_t[4]){10, 0, (uint8_t)net, last}, 4);
}

// ---- frames

// A frame between two hosts, before it is written.
struct hop {
	struct bench_frame f;
	unsigned from, from_net, to, to_net;
	uint8_t router; // last byte of its MAC address; 0: to the host itself
	bool far_net; // to an address behind the underlay's host
	bool to_switch; // to the address of the switch in the sender's net
	bool roce, ping;
	uint8_t ttl;
};

static void put_l4(uint8_t *l4, const struct hop *h, uint32_t seq)
{
	struct bth_hdr *bth = (void *)(l4 + UDP_LEN);

	if (h->ping) {
		l4[0] = ICMP_ECHO_REQUEST;
		l4[1] = 0;
	}
	if (!h->roce)
		return;
	be16_put(l4, (uint16_t)(50000 + h->from));
	be16_put(l4 + 2, ROCE_UDP_PORT);
	memset(bth, 0, sizeof(*bth));
	bth->opcode = RC_WRITE_MIDDLE;
	be16_put(&bth->pkey, BTH_PKEY_DEFAULT);
	be24_put(&bth->dest_qp, NET_QP + h->from);
	be24_put(&bth->psn, seq & 0xffff);
	be32_put((uint8_t *)(bth + 1), h->f.seq);
}

static void put_ip(uint8_t *l3, const struct hop *h)
{
	bool v6 = h->f.ipv6;
	uint8_t *dst = l3 + (v6 ? 24 : 16);

	net_address(l3 + (v6 ? 8 : 12), v6, h->from_net, h->from);
	net_address(dst, v6, h->to_net, h->to);
	if (h->to_switch)
		dst[v6 ? 15 : 3] = 1;
	if (h->far_net && !v6)
		memcpy(dst, (uint8_t[]){10, 9, 1, 1}, 4);
	l3[v6 ? 7 : 8] = h->ttl;
	if (h->ping)
		l3[v6 ? 6 : 9] = ICMP_PROTO;
	if (v6)
		return;
	memset(l3 + 10, 0, 2);
	be16_put(l3 + 10, router_csum(l3, V4_LEN));
}

static uint16_t write_frame(uint8_t *out, struct hop *h, struct rng *rng)
{
	uint8_t *l3 = out + ETH_HLEN_ + (h->f.tagged ? 4 : 0);
	uint16_t len;

	h->f.to = h->to;
	len = bench_build(out, h->from, &h->f);
	if (h->router != 0)
		memcpy(out, (uint8_t[]){2, 0, 0, 0, 1, h->router}, 6);
	if (h->f.ether_type != 0) {
		be32_put(l3, h->f.seq);
		return len;
	}
	put_ip(l3, h);
	be32_put(l3 + (h->f.ipv6 ? V6_LEN : V4_LEN) + UDP_LEN, h->f.seq);
	put_l4(l3 + (h->f.ipv6 ? V6_LEN : V4_LEN), h, rng_next(rng));
	return len;
}

// What all ways have in common. Most frames go to the last port.
static struct hop draw_hop(struct rng *rng, const struct net_view *v, unsigned from)
{
	struct hop h = {
		.f = {.dscp = (uint8_t)pick(rng, 64),
		      .ecn = (uint8_t)pick(rng, 4),
		      .ipv6 = pick(rng, 3) == 0,
		      .seq = (uint32_t)MAGIC << 16 | v->stamp},
		.from = from,
		.from_net = net_of_host(from),
		.to = pick(rng, 4) == 0 ? pick(rng, SCHEDULE_PORTS) : NET_TRUNK,
		.ttl = TTL,
	};

	h.f.len = (uint16_t)(SHORT_LEN + pick(rng, pick(rng, 2) ? 1390 : 160));
	h.roce = pick(rng, 2);
	return h;
}

static void to_router(struct hop *h, struct rng *rng, uint8_t router)
{
	h->router = router;
	h->to_net = net_of_host(h->to);
	if (h->to == NET_TRUNK && pick(rng, 2))
		h->to_net = 200;
	h->far_net = pick(rng, 16) == 0;
	h->to_switch = h->ping = pick(rng, 32) == 0;
	h->roce &= !h->ping;
	h->ttl = pick(rng, 40) == 0 ? 1 : TTL;
}

static void by_bridge(struct hop *h, struct rng *rng, const struct net_view *v)
{
	h->to_net = h->from_net;
	if (v->tunnels && pick(rng, 3) == 0)
		h->to = NET_FAR + pick(rng, NET_N_FAR);
	if (pick(rng, 24) == 0) {
		h->f.broadcast = pick(rng, 2);
		h->to = h->f.broadcast ? h->to : NET_NOBODY;
	} else if (pick(rng, 24) == 0) {
		h->f.ether_type = 0x88b5;
		h->f.dscp = 0;
	}
}

static void from_station(struct rng *rng, const struct net_view *v, unsigned from,
			 struct net_frame *out)
{
	struct hop h = draw_hop(rng, v, from);

	if (v->vlans && from == NET_TRUNK && pick(rng, 2)) {
		h.from_net = 200;
		h.f.tagged = true;
		h.f.vid = 200;
	} else if (pick(rng, 12) == 0) {
		h.f.tagged = true;
		h.f.vid = STRAY_TAG;
	}
	if (pick(rng, 150) == 0) // a thief
		h.f.as = (uint8_t)(1 + pick(rng, SCHEDULE_PORTS));
	if (v->routes && pick(rng, 3) == 0)
		to_router(&h, rng, (uint8_t)h.from_net);
	else
		by_bridge(&h, rng, v);
	out->len = write_frame(out->bytes, &h, rng);
	out->dscp = h.f.dscp;
	out->to_group = h.f.broadcast;
}

// ---- the host behind the port that routes

static void from_underlay(struct rng *rng, const struct net_view *v, struct net_frame *out)
{
	struct hop h = draw_hop(rng, v, NET_ROUTED_PORT);

	to_router(&h, rng, NET_ROUTED_PORT + 1);
	out->len = write_frame(out->bytes, &h, rng);
	out->dscp = h.f.dscp;
}

// From a station behind one of the two peers, now and then behind the other one than before.
static void out_of_a_tunnel(struct rng *rng, const struct net_view *v, struct net_frame *out)
{
	unsigned far = pick(rng, NET_N_FAR), peer = (far + (pick(rng, 20) == 0)) % 2;
	struct hop h = draw_hop(rng, v, NET_FAR + far);
	uint8_t src[4] = {10, 9, 0, 7}, dst[4] = {10, 0, NET_UNDERLAY, 1};
	struct vxlan_outer o = {.src = src,
				.dst = dst,
				.dscp = (uint8_t)pick(rng, 64),
				.ecn = (uint8_t)pick(rng, 4),
				.ttl = TTL,
				.sport = 50000,
				.dport = VXLAN_UDP_PORT,
				.vni = pick(rng, 30) == 0 ? NET_VNI + 1 : NET_VNI};

	h.from_net = 100;
	by_bridge(&h, rng, v);
	if (h.f.len > SCHEDULE_MAX_LEN - NET_TUNNEL_BYTES)
		h.f.len = SCHEDULE_MAX_LEN - NET_TUNNEL_BYTES;
	if (peer == 0)
		net_address(src, false, NET_UNDERLAY, NET_ROUTED_PORT);
	if (v->honest && h.f.ecn == ECN_NOT_ECT)
		o.ecn = ECN_NOT_ECT;
	o.inner_len = write_frame(out->bytes + VXLAN_V4_LEN, &h, rng);
	vxlan_write(out->bytes, &o);
	memcpy(out->bytes, (uint8_t[]){2, 0, 0, 0, 1, NET_ROUTED_PORT + 1}, 6);
	memcpy(out->bytes + 6, (uint8_t[]){2, 0, 0, 0, 0, NET_ROUTED_PORT + 1}, 6);
	out->len = (uint16_t)(VXLAN_V4_LEN + o.inner_len);
	out->dscp = o.dscp;
}

void net_frame_draw(struct rng *rng, const struct net_view *v, unsigned from, struct net_frame *out)
{
	out->to_group = false;
	if (!v->vlans || from != NET_ROUTED_PORT)
		from_station(rng, v, from, out);
	else if (v->tunnels && pick(rng, 2))
		out_of_a_tunnel(rng, v, out);
	else
		from_underlay(rng, v, out);
}

// ---- what a frame says

static unsigned host_or_none(unsigned n)
{
	bool far = n >= NET_FAR && n < NET_FAR + NET_N_FAR;

	return n < SCHEDULE_PORTS || far ? n : NET_HOSTS;
}

static unsigned host_of_mac(const uint8_t *mac)
{
	static const uint8_t prefix[5] = {2, 0, 0, 0, 0};

	return memcmp(mac, prefix, sizeof(prefix)) == 0 ? host_or_none(mac[5] - 1u) : NET_HOSTS;
}

// NET_HOSTS: the address is none of a host.
static unsigned host_of_ip(const uint8_t *ip, bool v6)
{
	unsigned net = ip[v6 ? 3 : 2],
		 host = host_or_none(ip[v6 ? 15 : 3] - (unsigned)NET_FIRST_ADDRESS);
	uint8_t own[16];

	net_address(own, v6, net, host);
	if (host == NET_HOSTS || !net_has_host(net, host) || memcmp(ip, own, v6 ? 16 : 4) != 0)
		return NET_HOSTS;
	return host;
}

static bool is_from_router(const uint8_t *frame)
{
	static const uint8_t router[5] = {2, 0, 0, 0, 1};

	return memcmp(frame + 6, router, sizeof(router)) == 0;
}

struct net_ends net_ends(const uint8_t *frame, unsigned len)
{
	bool routed = is_from_router(frame);
	struct net_ends e = {.from_mac = host_of_mac(frame + 6),
			     .from_ip = NET_HOSTS,
			     .to_mac = routed ? NET_HOSTS : host_of_mac(frame),
			     .to_ip = NET_HOSTS,
			     .group = frame[0] & 1};
	unsigned l3 = ETH_HLEN_, type = be16_get(frame + 12);

	if (type == ETYPE_VLAN) {
		type = be16_get(frame + 16);
		l3 += 4;
	}
	if (type == ETYPE_IPV4 && len >= l3 + V4_LEN) {
		e.from_ip = host_of_ip(frame + l3 + 12, false);
		e.to_ip = host_of_ip(frame + l3 + 16, false);
	} else if (type == ETYPE_IPV6 && len >= l3 + V6_LEN) {
		e.from_ip = host_of_ip(frame + l3 + 8, true);
		e.to_ip = host_of_ip(frame + l3 + 24, true);
	}
	return e;
}

bool net_stamp(const uint8_t *frame, unsigned len, uint16_t *stamp, const uint8_t **inner)
{
	struct pkt_info pkt;
	struct vxlan_found in;
	unsigned at;

	*inner = frame;
	if (!parse(frame, len, &pkt))
		return false;
	if (is_from_router(frame) && vxlan_is(&pkt, VXLAN_UDP_PORT) &&
	    vxlan_read(frame, len, pkt.l3_off, &pkt, &in) == VXLAN_OK) {
		*inner = frame + in.off;
		len = in.len;
		if (!parse(*inner, len, &pkt))
			return false;
	}
	at = pkt.kind == PKT_OTHER ? pkt.l3_off : pkt.l4_off + UDP_LEN + (pkt.roce ? BTH_LEN : 0u);
	if (at + 4 > len || be16_get(*inner + at) != MAGIC)
		return false;
	*stamp = be16_get(*inner + at + 2);
	return true;
}

// ---- zones

static bool is_host(unsigned number)
{
	return host_or_none(number) != NET_HOSTS;
}

void net_zones_draw(struct rng *rng, struct net_zones *out)
{
	static const uint8_t roles[] = {ZONE_INITIATOR, ZONE_TARGET, ZONE_INITIATOR | ZONE_TARGET};

	*out = (struct net_zones){.on = pick(rng, 3) != 0};
	for (unsigned host = 0; host < NET_HOSTS; host++)
		out->station[host] = (struct net_station){
			.known = is_host(host) && pick(rng, 2),
			.roles = PICK(rng, roles),
			.zones = (uint8_t)(1 + pick(rng, (1 << NET_ZONES) - 1))};
}

bool net_are_apart(const struct net_zones *z, const struct net_ends *e)
{
	const struct net_station *a = &z->station[e->from_ip], *b = &z->station[e->to_ip];
	bool same_role;

	if (!a->known)
		a = &z->station[e->from_mac];
	if (!b->known)
		b = &z->station[e->to_mac];
	same_role = a->roles == b->roles && a->roles != (ZONE_INITIATOR | ZONE_TARGET);
	return z->on && !e->group && a->known && b->known &&
	       ((a->zones & b->zones) == 0 || same_role);
}

static unsigned add_addresses(struct zone_station *rows, const struct zone_station *like,
			      unsigned net, unsigned host)
{
	for (unsigned v6 = 0; v6 < 2; v6++) {
		rows[v6] = *like;
		memset(rows[v6].mac, 0, sizeof(rows[v6].mac));
		rows[v6].addr = (struct policy_addr){.family = v6 ? FAMILY_V6 : FAMILY_V4,
						     .len = v6 ? 128 : 32};
		net_address(rows[v6].addr.ip, v6, net, host);
	}
	return 2;
}

int net_zones_set(struct weir_switch *sw, const struct net_zones *z)
{
	struct zone_station rows[NET_HOSTS * 5];
	uint16_t zones[NET_HOSTS][NET_ZONES];
	unsigned n = 0;

	for (unsigned host = 0; z->on && host < NET_HOSTS; host++) {
		struct zone_station like = {.mac = {2, 0, 0, 0, 0, (uint8_t)(host + 1)},
					    .roles = z->station[host].roles,
					    .zones = zones[host]};

		if (!z->station[host].known)
			continue;
		for (uint16_t zone = 0; zone < NET_ZONES; zone++)
			if (z->station[host].zones >> zone & 1)
				zones[host][like.n_zones++] = zone;
		rows[n++] = like;
		n += add_addresses(rows + n, &like, net_of_host(host), host);
		if (host == NET_TRUNK)
			n += add_addresses(rows + n, &like, 200, host);
	}
	return switch_set_zones(sw, rows, n);
}

// ---- impairments

void net_rule_draw(struct rng *rng, bool promise, uint64_t for_ns, struct impair_rule *out)
{
	static const char *const matches[] = {
		"",
		"random 10%",
		"dscp >= 24 && every 3",
		"roce && psn%3 == 0",
		"len > 500",
		"flow%2 == 0 && !ipv6",
		"data && once",
		"vlan == 200 || udp.dport == 5001",
	};
	static const char *const lossy[] = {
		"class <= 1 && random 30%",
		"class == 4 || class >= 6",
		"class == 0 && every 2",
	};
	static const char *const holds[] = {"delay 3us", "delay 100us", "duplicate", "reorder 3"};
	static const char *const others[] = {"drop",   "drop",	       "ce",
					     "ce 30%", "corrupt icrc", "corrupt payload"};
	struct impair_mistake why;
	bool hold = pick(rng, 2);
	const char *match;

	*out = (struct impair_rule){.for_ns = for_ns,
				    .seed = pick(rng, 1000),
				    .count = pick(rng, 3) == 0 ? 1 + pick(rng, 50) : 0,
				    .direction = (uint8_t)pick(rng, N_IMPAIR_DIRECTIONS)};
	match = hold && promise && out->direction == IMPAIR_IN ? PICK(rng, lossy)
							       : PICK(rng, matches);
	if (!impair_parse_match(match, out, &why) ||
	    !impair_parse_action(hold ? PICK(rng, holds) : PICK(rng, others), out, &why))
		fail_msg("%s", why.text);
}
