// SPDX-License-Identifier: Apache-2.0
// A VTEP on the virtual clock: which ways a frame takes, its headers byte by byte, its class, and
// what ends here. p1 and p2 are stations of VLAN 100, p2 with tags. p3 and p4 lead to a peer each.
#include <stdio.h>
#include <string.h>

#include "dataplane/packet/vxlan.h"
#include "dataplane/switch_flows.h"
#include "dataplane/switch_vxlan.h"
#include "dataplane/worker.h"
#include "tests/lab/router.h"

enum { LEN = 100, DSCP_LOSSLESS = 26, LONGEST = 400, MILLISECOND = 1000000, GROUP = 0xff };

static const char ports[] =
	"switch: {name: v, buffer: {size: 4MB, cell: 256B}, ecmp: {seed: 7}}\n"
	"vlans: [{id: 100}]\n"
	"ports:\n"
	"  - {name: p1, device: \"wire:1\", speed: 10G, vlan: {untagged: 100}, profile: q}\n"
	"  - {name: p2, device: \"wire:2\", speed: 10G, vlan: {untagged: none, tagged: 100}, "
	"profile: q}\n"
	"  - {name: p3, device: \"wire:3\", speed: 10G, mtu: 1550, ip: [10.0.3.1/24], "
	"profile: q}\n"
	"  - {name: p4, device: \"wire:4\", speed: 10G, mtu: 1550, ip: [10.0.4.1/24], "
	"profile: q}\n"
	"profiles: {q: {trust: dscp, dscp_to_class: {default: 0, 24-31: 3}, "
	"classes: {3: {lossless: on}}}}\n"
	"neighbours:\n"
	"  - {ip: 10.0.3.2, mac: \"02:00:00:00:00:03\"}\n"
	"  - {ip: 10.0.4.2, mac: \"02:00:00:00:00:04\"}\n";

static const char both[] = "vxlan: {source: 10.0.3.1, vnis: {7: {vlan: 100, "
			   "peers: [10.0.3.2, 10.0.4.2]}}}\n";

static const char *policy(const char *more)
{
	static char text[4096];

	snprintf(text, sizeof(text), "%s%s", ports, more);
	return text;
}

// ---- frames

// An inner frame between stations, which have the addresses 02:00:00:00:00:NN; GROUP: broadcast.
static unsigned inner(uint8_t *out, unsigned to, unsigned from, uint8_t tos)
{
	memset(out, 0, LEN);
	if (to == GROUP)
		memset(out, 0xff, 6);
	else
		memcpy(out, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)to}, 6);
	memcpy(out + 6, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)from}, 6);
	be16_put(out + 12, ETYPE_IPV4);
	out[14] = 0x45;
	out[15] = tos;
	be16_put(out + 16, LEN - 14);
	out[22] = 64;
	out[23] = IP_PROTO_UDP;
	router_ip("192.168.0.1", out + 26);
	router_ip("192.168.0.2", out + 30);
	be16_put(out + 24, router_csum(out + 14, 20));
	be16_put(out + 34, 1000);
	be16_put(out + 36, 2000);
	be16_put(out + 38, LEN - 34);
	return LEN;
}

struct tunnel {
	unsigned port; // by which it arrives
	const char *src;
	uint32_t vni;
	uint8_t tos; // outer
};

static const struct tunnel from_3 = {P3, "10.0.3.2", 7, 0},
			   lossless_from_3 = {P3, "10.0.3.2", 7, DSCP_LOSSLESS << 2};

// Sends the frame in a tunnel to the VTEP.
static void send_through(struct bench *b, const struct tunnel *t, const uint8_t *frame,
			 unsigned len)
{
	uint8_t out[LONGEST], src[4], dst[4];
	struct vxlan_outer o = {.src = src, .dst = dst, .ttl = 64, .sport = 50000,
				.dport = VXLAN_UDP_PORT, .vni = t->vni, .inner_len = len};

	router_ip(t->src, src);
	router_ip("10.0.3.1", dst);
	o.dscp = t->tos >> 2;
	o.ecn = t->tos & 3;
	vxlan_write(out, &o);
	memcpy(out, (uint8_t[]){2, 0, 0, 0, 1, (uint8_t)(t->port + 1)}, 6);
	memcpy(out + 6, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(t->port + 1)}, 6);
	memcpy(out + VXLAN_V4_LEN, frame, len);
	bench_send(b, t->port, &(struct bench_frame){.raw = out, .dscp = o.dscp,
						     .len = (uint16_t)(VXLAN_V4_LEN + len)});
}

static void station_speaks(struct bench *b, const struct tunnel *t, unsigned station)
{
	uint8_t frame[LEN];

	inner(frame, GROUP, station, 0);
	send_through(b, t, frame, LEN);
	bench_run(b, MILLISECOND);
	bench_control(b);
	bench_run(b, MILLISECOND);
}

static void forget(struct bench *b)
{
	for (unsigned i = 0; i < b->n_ports; i++)
		b->host[i].n_rx = 0;
}

// The only frame that the host at the port received is `frame` in a tunnel to dst.
static void is_in_tunnel(const struct bench *b, unsigned port, const char *dst,
			 const uint8_t *frame, uint8_t tos)
{
	const struct bench_rx *rx = &b->host[port].rx[0];
	struct vxlan_found in;
	struct pkt_info pkt;
	uint8_t ip[4];

	assert_int_equal(b->host[port].n_rx, 1);
	assert_int_equal(rx->len, LEN + VXLAN_V4_LEN);
	assert_true(parse(rx->data, rx->len, &pkt));
	assert_true(vxlan_is(&pkt, VXLAN_UDP_PORT));
	assert_int_equal(vxlan_read(rx->data, BENCH_KEEP, ETH_HLEN_, &pkt, &in), VXLAN_OK);
	assert_int_equal(in.vni, 7);
	assert_int_equal(in.len, LEN);
	assert_memory_equal(rx->data + in.off, frame, BENCH_KEEP - VXLAN_V4_LEN);
	assert_int_equal(rx->data[15], tos);
	assert_int_equal(rx->data[22], 64);
	assert_true(router_csum(rx->data + 14, 20) == 0);
	router_ip(dst, ip);
	assert_memory_equal(rx->data + 30, ip, 4);
	assert_memory_equal(rx->data, ((uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(port + 1)}), 6);
}

// ---- the ways

static void a_frame_to_a_station_behind_a_peer_goes_into_its_tunnel(void **state)
{
	struct bench *b = bench_open(policy(both), 0);
	uint8_t frame[LEN];

	(void)state;
	station_speaks(b, &from_3, 0x33);
	station_speaks(b, &(struct tunnel){P4, "10.0.4.2", 7, 0}, 0x44);
	forget(b);
	inner(frame, 0x33, 1, DSCP_LOSSLESS << 2 | ECN_ECT0);
	bench_send_raw(b, P1, frame, LEN);
	bench_run(b, MILLISECOND);
	is_in_tunnel(b, P3, "10.0.3.2", frame, DSCP_LOSSLESS << 2 | ECN_ECT0);
	assert_int_equal(b->host[P4].n_rx + b->host[P2].n_rx, 0);
	assert_int_equal(ctr_get(&switch_queue_counters(b->sw, P3, 3)->tx_packets), 1);
	forget(b);
	inner(frame, 0x44, 1, 0);
	bench_send_raw(b, P1, frame, LEN);
	bench_run(b, MILLISECOND);
	is_in_tunnel(b, P4, "10.0.4.2", frame, 0);
	bench_close(b);
}

static void a_record_of_an_address_behind_a_peer_names_the_peer(void **state)
{
	struct bench *b = bench_open(policy(both), 0);
	unsigned n = 0;

	(void)state;
	station_speaks(b, &(struct tunnel){P4, "10.0.4.2", 7, 0}, 0x44);
	for (unsigned i = 0; i < b->n_events; i++) {
		const struct event *e = &b->events[i];

		if (e->type != EVENT_MAC_LEARNED)
			continue;
		assert_int_equal(e->port, VTEP_FIRST + 1);
		assert_int_equal(event_mac_other(e->a), PORT_NONE);
		n++;
	}
	assert_int_equal(n, 1);
	bench_close(b);
}

static void a_broadcast_goes_to_each_port_and_peer_and_from_a_tunnel_to_ports_only(void **state)
{
	struct bench *b = bench_open(policy(both), 0);
	uint8_t frame[LEN];

	(void)state;
	inner(frame, GROUP, 1, 0);
	bench_send_raw(b, P1, frame, LEN);
	bench_run(b, MILLISECOND);
	is_in_tunnel(b, P3, "10.0.3.2", frame, 0);
	is_in_tunnel(b, P4, "10.0.4.2", frame, 0);
	assert_int_equal(b->host[P2].n_rx, 1);
	assert_int_equal(b->host[P2].rx[0].len, LEN + 4);
	forget(b);
	send_through(b, &from_3, frame, inner(frame, GROUP, 0x33, 0));
	bench_run(b, MILLISECOND);
	assert_int_equal(b->host[P1].n_rx, 1);
	assert_int_equal(b->host[P1].rx[0].len, LEN);
	assert_int_equal(b->host[P2].n_rx, 1);
	assert_int_equal(b->host[P3].n_rx + b->host[P4].n_rx, 0);
	bench_close(b);
}

static void a_frame_from_one_peer_to_a_station_of_another_is_dropped(void **state)
{
	struct bench *b = bench_open(policy(both), 0);
	uint8_t frame[LEN];

	(void)state;
	station_speaks(b, &(struct tunnel){P4, "10.0.4.2", 7, 0}, 0x44);
	forget(b);
	send_through(b, &from_3, frame, inner(frame, 0x44, 0x33, 0));
	bench_run(b, MILLISECOND);
	assert_int_equal(bench_drops(b, DROP_HAIRPIN), 1);
	assert_int_equal(router_received(b), 0);
	bench_close(b);
}

static void the_tag_of_the_vlan_stays_outside_the_tunnel(void **state)
{
	struct bench *b = bench_open(policy(both), 0);
	uint8_t frame[LEN], tagged[LEN + 4];

	(void)state;
	station_speaks(b, &from_3, 0x33);
	forget(b);
	inner(frame, 0x33, 2, 0);
	memcpy(tagged, frame, 12);
	be32_put(tagged + 12, 0x81000000 | 100);
	memcpy(tagged + 16, frame + 12, LEN - 12);
	bench_send_raw(b, P2, tagged, sizeof(tagged));
	bench_run(b, MILLISECOND);
	is_in_tunnel(b, P3, "10.0.3.2", frame, 0);
	forget(b);
	bench_control(b); // 2 is known now
	send_through(b, &from_3, frame, inner(frame, 2, 0x33, 0));
	bench_run(b, MILLISECOND);
	assert_int_equal(b->host[P2].n_rx, 1);
	assert_int_equal(be32_get(b->host[P2].rx[0].data + 12) & 0xffff0fff, 0x81000000 | 100);
	bench_close(b);
}

// Control enters an address milliseconds after a station has spoken.
static void a_lossless_frame_follows_at_once_one_that_came_out_of_a_tunnel(void **state)
{
	struct bench *b = bench_open(policy(both), 0);
	uint8_t frame[LEN];

	(void)state;
	send_through(b, &from_3, frame, inner(frame, GROUP, 0x33, 0));
	bench_run(b, 10000);
	forget(b);
	inner(frame, 0x33, 1, DSCP_LOSSLESS << 2);
	bench_send_raw(b, P1, frame, LEN);
	bench_run(b, 10000);
	is_in_tunnel(b, P3, "10.0.3.2", frame, DSCP_LOSSLESS << 2);
	assert_int_equal(bench_drops(b, DROP_LOSSLESS_UNKNOWN), 0);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, P1)->unknown_probes), 0);
	bench_close(b);
}

static void an_address_of_the_policy_may_be_behind_a_peer(void **state)
{
	static const char fixed[] = "fdb: [{mac: \"02:00:00:00:00:55\", vlan: 100, "
				    "port: 10.0.4.2}]\n";
	char text[1024];
	struct bench *b;
	uint8_t frame[LEN];

	(void)state;
	snprintf(text, sizeof(text), "%s%s", both, fixed);
	b = bench_open(policy(text), 0);
	inner(frame, 0x55, 1, DSCP_LOSSLESS << 2);
	bench_send_raw(b, P1, frame, LEN);
	bench_run(b, MILLISECOND);
	is_in_tunnel(b, P4, "10.0.4.2", frame, DSCP_LOSSLESS << 2);
	bench_close(b);
}

// ---- elephants and mice

// The policy above, with mice: the first two frames of a flow.
static const char *policy_with_mice(const char *more)
{
	static const char begin[] = "switch: {", classes[] = "classes: {";
	static char text[4096];
	const char *at = strstr(ports, classes) + strlen(classes);

	assert_memory_equal(ports, begin, strlen(begin));
	snprintf(text, sizeof(text), "%selephants: {mice_packets: 2}, %.*s%s%s%s", begin,
		 (int)(at - ports - (ptrdiff_t)strlen(begin)), ports + strlen(begin),
		 "0: {mice: {class: 5, dscp: 40}}, ", at, more);
	return text;
}

static uint64_t mice(const struct bench *b)
{
	struct flow_totals t;

	switch_flow_totals(b->sw, &t);
	return t.elephants.packets[SIZE_MOUSE];
}

// Three frames with the headers that they arrive with: the inner flow on the way into a tunnel, the
// outer flow on the way out of it. The first two of a flow are mice.
static void a_frame_has_the_size_of_the_flow_by_which_it_arrives(void **state)
{
	struct bench *b = bench_open(policy_with_mice(both), 0);
	uint64_t mice_before, in_before, out_before;
	uint8_t frame[LEN];

	(void)state;
	station_speaks(b, &from_3, 0x33);
	inner(frame, GROUP, 1, 0);
	bench_send_raw(b, P1, frame, LEN);
	bench_run(b, MILLISECOND);
	bench_control(b);
	bench_run(b, 10 * MILLISECOND); // a pause: all flows have mice again
	forget(b);
	mice_before = mice(b);
	in_before = ctr_get(&switch_queue_counters(b->sw, P3, 5)->tx_packets);
	out_before = ctr_get(&switch_queue_counters(b->sw, P1, 5)->tx_packets);
	for (unsigned i = 0; i < 3; i++) {
		inner(frame, 0x33, 1, 0);
		bench_send_raw(b, P1, frame, LEN);
		bench_run(b, MILLISECOND);
		assert_int_equal(b->host[P3].n_rx, i + 1);
		assert_int_equal(b->host[P3].rx[i].data[15], i < 2 ? 40 << 2 : 0);
		assert_int_equal(b->host[P3].rx[i].data[VXLAN_V4_LEN + 15], i < 2 ? 40 << 2 : 0);
	}
	assert_int_equal(mice(b) - mice_before, 2);
	assert_int_equal(ctr_get(&switch_queue_counters(b->sw, P3, 5)->tx_packets) - in_before, 2);
	for (unsigned i = 0; i < 3; i++) {
		inner(frame, 1, 0x33, 0);
		send_through(b, &from_3, frame, LEN);
		bench_run(b, MILLISECOND);
		assert_int_equal(b->host[P1].n_rx, i + 1);
		assert_int_equal(b->host[P1].rx[i].data[15], 0); // the outer header took it along
	}
	assert_int_equal(mice(b) - mice_before, 4);
	assert_int_equal(ctr_get(&switch_queue_counters(b->sw, P1, 5)->tx_packets) - out_before, 2);
	bench_close(b);
}

// ---- class

static void a_frame_leaves_in_the_class_of_its_outer_or_its_inner_dscp(void **state)
{
	static const struct {
		const char *keys;
		unsigned cls;
		uint8_t tos;
	} rows[] = {
		{"", 3, DSCP_LOSSLESS << 2},
		{"dscp: 46, ", 3, 0},
		{"dscp: 46, trust: inner, ", 0, 0},
	};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		char text[512];
		struct bench *b;
		uint8_t frame[LEN];

		snprintf(text, sizeof(text), "vxlan: {%ssource: 10.0.3.1, vnis: {7: {vlan: 100, "
			 "peers: 10.0.3.2}}}\n", rows[i].keys);
		b = bench_open(policy(text), 0);
		inner(frame, GROUP, 1, 0);
		bench_send_raw(b, P1, frame, LEN);
		bench_run(b, MILLISECOND);
		bench_control(b); // 1 is known
		bench_run(b, MILLISECOND);
		forget(b);
		send_through(b, &lossless_from_3, frame, inner(frame, 1, 0x33, 0));
		bench_run(b, MILLISECOND);
		assert_int_equal(b->host[P1].n_rx, 1);
		assert_int_equal(b->host[P1].rx[0].data[15], rows[i].tos);
		assert_int_equal(
			ctr_get(&switch_queue_counters(b->sw, P1, rows[i].cls)->tx_packets), 1);
		assert_int_equal(ctr_get(&switch_pg_counters(b->sw, P3, 3)->rx_packets), 1);
		bench_close(b);
	}
}

// The peer does not send while the station is paused, and no frame is lost.
static void pause_of_a_station_stops_the_peer_behind_the_tunnel(void **state)
{
	struct bench *b = bench_open(policy(both), 0);
	uint8_t frame[LEN];

	(void)state;
	inner(frame, GROUP, 1, 0);
	bench_send_raw(b, P1, frame, LEN);
	bench_run(b, MILLISECOND);
	bench_control(b);
	bench_run(b, MILLISECOND);
	bench_storm(b, P1, 1 << 3, 0xffff, 100000);
	inner(frame, 1, 0x33, DSCP_LOSSLESS << 2);
	for (unsigned i = 0; i < 20000; i++)
		send_through(b, &lossless_from_3, frame, LEN);
	bench_run(b, 20 * MILLISECOND);
	assert_true(b->host[P3].n_pfc > 0);
	assert_int_equal(bench_pfc_times(&b->host[P3].pfc[0]).enable, 1 << 3);
	bench_storm(b, P1, 0, 0, 0);
	bench_run(b, 100 * MILLISECOND);
	assert_int_equal(b->host[P1].n_rx, 20000);
	bench_close(b);
}

// ---- ends

static void each_odd_frame_has_its_reason(void **state)
{
	static const struct tunnel tunnels[] = {
		{P3, "10.0.3.2", 8, 0}, {P3, "10.0.3.9", 7, 0}, {P3, "10.0.3.1", 7, 0},
		{P3, "10.0.3.2", 7, ECN_CE},
	};
	static const enum drop_reason reasons[] = {DROP_VXLAN_VNI, DROP_VXLAN_PEER, DROP_VXLAN_OWN,
						   DROP_VXLAN_ECN};
	struct bench *b = bench_open(policy(both), 0);
	uint8_t frame[LEN];

	(void)state;
	inner(frame, GROUP, 0x33, 0);
	for (unsigned i = 0; i < 4; i++) {
		send_through(b, &tunnels[i], frame, LEN);
		bench_run(b, MILLISECOND);
		assert_int_equal(bench_drops(b, reasons[i]), 1);
	}
	send_through(b, &from_3, frame, 13);
	be16_put(frame + 12, ETYPE_VLAN);
	send_through(b, &from_3, frame, LEN);
	be16_put(frame + 12, ETYPE_MAC_CONTROL);
	send_through(b, &from_3, frame, LEN);
	inner(frame, 1, 0x33, 0);
	be16_put(frame + 12, ETYPE_LLDP); // to one host: it would seem to come from the switch
	send_through(b, &from_3, frame, LEN);
	bench_run(b, MILLISECOND);
	assert_int_equal(bench_drops(b, DROP_VXLAN_INNER), 4);
	inner(frame, GROUP, 0x33, 0);
	frame[6] |= 1;
	send_through(b, &from_3, frame, LEN);
	bench_run(b, MILLISECOND);
	assert_int_equal(bench_drops(b, DROP_BAD_SOURCE), 1);
	assert_int_equal(router_received(b), 0);
	bench_close(b);
}

static void a_peer_whose_mac_address_is_not_known_gets_no_frame(void **state)
{
	static const char unknown[] = "vxlan: {source: 10.0.3.1, vnis: {7: {vlan: 100, "
				      "peers: [10.0.3.9, 10.0.4.2]}}}\n";
	struct bench *b = bench_open(policy(unknown), 0);
	uint8_t frame[LEN];

	(void)state;
	inner(frame, GROUP, 1, 0);
	bench_send_raw(b, P1, frame, LEN);
	bench_run(b, MILLISECOND);
	assert_int_equal(bench_drops(b, DROP_NO_NEIGHBOUR), 1);
	is_in_tunnel(b, P4, "10.0.4.2", frame, 0);
	bench_close(b);
}

static void addresses_and_counts_of_a_peer_end_with_it(void **state)
{
	static const char other[] = "vxlan: {source: 10.0.3.1, vnis: {7: {vlan: 100, "
				    "peers: [10.0.4.2]}}}\n";
	struct bench *b = bench_open(policy(both), 0);
	struct vxlan_peer_counters c;
	uint8_t frame[LEN];

	(void)state;
	station_speaks(b, &from_3, 0x33);
	switch_vxlan_peer(b->sw, 0, &c);
	assert_int_equal(ctr_get(&c.rx_packets), 1);
	assert_int_equal(ctr_get(&c.rx_bytes), LEN);
	bench_publish(b, policy(other));
	switch_vxlan_peer(b->sw, 0, &c);
	assert_int_equal(ctr_get(&c.rx_packets), 0);
	forget(b);
	inner(frame, 0x33, 1, 0);
	bench_send_raw(b, P1, frame, LEN);
	bench_run(b, MILLISECOND);
	is_in_tunnel(b, P4, "10.0.4.2", frame, 0);
	assert_int_equal(b->host[P2].n_rx, 1); // flooded
	bench_publish(b, policy(other));
	switch_vxlan_peer(b->sw, 0, &c);
	assert_int_equal(ctr_get(&c.tx_packets), 1); // the same peer: its counts go on
	bench_close(b);
}

static void a_flooded_frame_leaves_in_the_queue_of_its_inner_class(void **state)
{
	struct bench *b = bench_open(policy("vxlan: {dscp: 46, trust: inner, source: 10.0.3.1, "
					    "vnis: {7: {vlan: 100, peers: 10.0.3.2}}}\n"),
				     0);
	uint8_t frame[LEN];

	(void)state;
	inner(frame, GROUP, 0x33, DSCP_LOSSLESS << 2);
	send_through(b, &from_3, frame, LEN);
	bench_run(b, MILLISECOND);
	for (port_no_t port = P1; port <= P2; port++) {
		assert_int_equal(ctr_get(&switch_queue_counters(b->sw, port, 3)->tx_packets), 1);
		assert_int_equal(ctr_get(&switch_queue_counters(b->sw, port, 0)->tx_packets), 0);
	}
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_to_a_station_behind_a_peer_goes_into_its_tunnel),
		cmocka_unit_test(a_record_of_an_address_behind_a_peer_names_the_peer),
		cmocka_unit_test(
			a_broadcast_goes_to_each_port_and_peer_and_from_a_tunnel_to_ports_only),
		cmocka_unit_test(a_frame_from_one_peer_to_a_station_of_another_is_dropped),
		cmocka_unit_test(the_tag_of_the_vlan_stays_outside_the_tunnel),
		cmocka_unit_test(
			a_lossless_frame_follows_at_once_one_that_came_out_of_a_tunnel),
		cmocka_unit_test(an_address_of_the_policy_may_be_behind_a_peer),
		cmocka_unit_test(a_frame_has_the_size_of_the_flow_by_which_it_arrives),
		cmocka_unit_test(a_frame_leaves_in_the_class_of_its_outer_or_its_inner_dscp),
		cmocka_unit_test(pause_of_a_station_stops_the_peer_behind_the_tunnel),
		cmocka_unit_test(each_odd_frame_has_its_reason),
		cmocka_unit_test(a_peer_whose_mac_address_is_not_known_gets_no_frame),
		cmocka_unit_test(addresses_and_counts_of_a_peer_end_with_it),
		cmocka_unit_test(a_flooded_frame_leaves_in_the_queue_of_its_inner_class),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
