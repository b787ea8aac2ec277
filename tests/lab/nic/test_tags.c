// SPDX-License-Identifier: Apache-2.0
// NICs whose frames have an 802.1Q tag, and those that use IPv6: every frame of a connection, from
// the request for an address to the CNP.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/packet/icrc.h"
#include "dataplane/packet/neighbour.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"
#include "tests/lab/nic/loop.h"
#include "tests/lab/nic/tcp_flows.h"
#include "tests/nd_option.h"

enum { VID = 7, PCP = 5, CNP_PCP = 6 };

static const struct ip_key ip6[2] = {{0xfdull << 56, 1}, {0xfdull << 56, 2}};

// What the frames of both NICs were.
static struct seen {
	uint32_t arp, nd, cm, data, acks, cnps, tcp, other;
	uint32_t untagged, ipv4;
	uint32_t data_pcps, cnp_pcps; // bitmaps
} seen;

static void tap(void *arg, unsigned from, uint64_t t_ns, const uint8_t *frame, uint32_t len)
{
	struct pkt_info info;

	(void)arg, (void)from, (void)t_ns;
	assert_true(parse(frame, len, &info));
	assert_false(info.bad_l3);
	seen.untagged += info.n_tags == 0;
	seen.ipv4 += info.kind == PKT_IPV4;
	if (info.n_tags != 0)
		assert_int_equal(info.tci & TCI_VID_MASK, VID);
	if (info.roce)
		assert_true(icrc_check(frame, len, &info));
	if (info.ether_type == ETYPE_ARP) {
		seen.arp++;
	} else if (info.ip_proto == IP_PROTO_ICMPV6) {
		seen.nd++;
	} else if (info.roce && info.bth_opcode == ROCE_CNP) {
		seen.cnps++;
		seen.cnp_pcps |= 1u << (info.tci >> TCI_PCP_SHIFT);
	} else if (info.roce) {
		*(info.bth_opcode == UD_SEND_ONLY ? &seen.cm
		  : info.bth_opcode == RC_ACK	  ? &seen.acks
						  : &seen.data) += 1;
		seen.data_pcps |= 1u << (info.tci >> TCI_PCP_SHIFT);
	} else if (info.ip_proto == IP_PROTO_TCP) {
		seen.tcp++;
		seen.data_pcps |= 1u << (info.tci >> TCI_PCP_SHIFT);
	} else {
		seen.other++;
	}
}

static void set_up(unsigned side, struct nic_config *c)
{
	c->ip6 = ip6[side];
	c->tag = (struct frame_tag){.on = true, .vid = VID};
	c->class_of_pcp[PCP] = 3;
	c->cc = cc_preset_find("paper")->config;
}

static struct nic_flow flow_of(bool tagged, bool v6, enum req_op op)
{
	return (struct nic_flow){.dst_ip = v6 ? ip6[1] : ip_key_v4(LOOP_IP1), .op = (uint8_t)op,
				 .cls = 3, .tag = {tagged, PCP, VID}, .msg_bytes = 20001,
				 .n_messages = 4, .mtu = 1024, .first_psn = NIC_RANDOM_PSN};
}

static void begin(struct loop *l, void (*edit)(unsigned side, struct nic_config *c))
{
	seen = (struct seen){0};
	loop_up(l, 5, edit);
	l->tap = tap;
	l->faults.ce = 5;
}

static void every_frame_has_the_tag(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		bool v6 = i >= 3;
		struct nic_flow f = flow_of(true, v6, i % 3);
		struct nic_stats s;
		struct loop l;
		uint32_t id;

		begin(&l, set_up);
		assert_int_equal(nic_flow_add(l.nic[0], &f, &id), 0);
		assert_true(loop_finish(&l, &id, 1, 1000000000));
		s = loop_stats(&l, 1);
		assert_int_equal(s.payload_errors + s.icrc_errors + s.malformed + s.ignored, 0);
		assert_int_equal(v6 ? seen.nd : seen.arp, 2);
		assert_int_equal(v6 ? seen.arp + seen.ipv4 : seen.nd, 0);
		assert_int_equal(seen.untagged + seen.other, 0);
		assert_int_equal(seen.cm, 3);
		assert_true(seen.data != 0 && seen.acks + (f.op == REQ_READ) != 0);
		assert_int_equal(seen.data_pcps, 1u << PCP);
		assert_true(seen.cnps != 0);
		assert_int_equal(seen.cnp_pcps, 1u << CNP_PCP);
		// The responder takes the PCP for the class.
		assert_true(f.op == REQ_READ || s.cls[3].rx_packets != 0);
		assert_int_equal(s.cls[PCP].rx_packets, 0);
		loop_down(&l);
	}
}

static void cnps_have_pcp_2(unsigned side, struct nic_config *c)
{
	set_up(side, c);
	c->class_of_pcp[CNP_PCP] = 3;
	c->class_of_pcp[2] = c->class_of_dscp[c->cc.cnp_dscp];
}

static void cnps_have_a_pcp_of_their_class(void **state)
{
	struct nic_flow f = flow_of(true, false, REQ_WRITE);
	struct loop l;
	uint32_t id;

	(void)state;
	f.tag.pcp = CNP_PCP;
	begin(&l, cnps_have_pcp_2);
	assert_int_equal(nic_flow_add(l.nic[0], &f, &id), 0);
	assert_true(loop_finish(&l, &id, 1, 1000000000));
	assert_int_equal(seen.data_pcps, 1u << CNP_PCP);
	assert_int_equal(seen.cnp_pcps, 1u << 2);
	loop_down(&l);
}

static void without_tag(unsigned side, struct nic_config *c)
{
	set_up(side, c);
	c->tag.on = false;
}

static void ipv6_goes_without_a_tag(void **state)
{
	struct nic_flow f = flow_of(false, true, REQ_WRITE);
	struct loop l;
	uint32_t id;

	(void)state;
	begin(&l, without_tag);
	assert_int_equal(nic_flow_add(l.nic[0], &f, &id), 0);
	assert_true(loop_finish(&l, &id, 1, 1000000000));
	assert_int_equal(seen.nd, 2);
	assert_true(seen.untagged != 0 && seen.ipv4 == 0);
	assert_int_equal(loop_stats(&l, 0).timeouts, 0);
	loop_down(&l);
}

// Frames with which NIC 1 answers a solicitation over IPv6.
static uint64_t answers(struct ip_key sender, struct ip_key target)
{
	struct neighbour_msg m = {.family = 6, .request = true, .has_mac = true,
				  .sender_mac = {2, 0, 0, 0, 0, 9}};
	uint8_t frame[NEIGHBOUR_MSG_MAX];
	struct loop l;
	uint64_t n;

	ip_key_put(m.sender, sender);
	ip_key_put(m.target, target);
	begin(&l, without_tag);
	loop_inject(&l, 1, frame, neighbour_build(frame, &m));
	loop_run(&l, 1000000, 0);
	n = loop_stats(&l, 1).tx_frames;
	assert_int_equal(loop_stats(&l, 1).ignored, n == 0);
	loop_down(&l);
	return n;
}

static void a_tagged_solicitation_may_have_two_options(void **state)
{
	struct neighbour_msg m = {.family = 6, .request = true, .has_mac = true,
				  .sender_mac = {2, 0, 0, 0, 0, 9}};
	uint8_t frame[NEIGHBOUR_MSG_MAX + ND_OPTION_LEN + FRAME_TAG_LEN];
	struct loop l;
	uint32_t len;

	(void)state;
	ip_key_put(m.sender, (struct ip_key){0xfdull << 56, 0x99});
	ip_key_put(m.target, ip6[1]);
	len = nd_add_nonce(frame, neighbour_build(frame, &m));
	memmove(frame + 16, frame + 12, len - 12);
	be32_put(frame + 12, (uint32_t)ETYPE_VLAN << 16 | VID);
	begin(&l, set_up);
	loop_inject(&l, 1, frame, len + FRAME_TAG_LEN);
	loop_run(&l, 1000000, 0);
	assert_int_equal(loop_stats(&l, 1).tx_frames, 1);
	assert_int_equal(loop_stats(&l, 1).ignored, 0);
	loop_down(&l);
}

static void a_mapped_address_of_ipv6_is_nobodys(void **state)
{
	const struct ip_key other = {0xfdull << 56, 0x99};

	(void)state;
	assert_int_equal(answers(other, ip6[1]), 1);
	assert_int_equal(answers(other, ip_key_v4(LOOP_IP1)), 0);
	assert_int_equal(answers(ip_key_v4(LOOP_IP0), ip6[1]), 0);
}

static void other_vlan(unsigned side, struct nic_config *c)
{
	set_up(side, c);
	c->tag.vid = side == 0 ? VID : VID + 1;
}

static void no_tag_at_side_1(unsigned side, struct nic_config *c)
{
	set_up(side, c);
	c->tag.on = side == 0;
}

static void frames_of_another_vlan_are_ignored(void **state)
{
	static void (*const edit[])(unsigned side, struct nic_config *c) = {other_vlan,
									     no_tag_at_side_1};

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		for (unsigned known = 0; known < 2; known++) {
			const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};
			struct nic_flow f = flow_of(true, false, REQ_WRITE);
			struct loop l;
			uint32_t id;

			begin(&l, edit[i]);
			// Without ARP the connection request is what comes.
			if (known)
				assert_int_equal(nic_peer_set(l.nic[0], f.dst_ip, mac), 0);
			assert_int_equal(nic_flow_add(l.nic[0], &f, &id), 0);
			loop_run(&l, 10000000, 0);
			assert_int_equal(nic_flow_status(l.nic[0], id).state, NIC_FLOW_CONNECTING);
			assert_int_equal(nic_flow_status(l.nic[0], id).resolved, known);
			assert_true(loop_stats(&l, 1).ignored > 5);
			assert_int_equal(loop_stats(&l, 1).tx_frames, 0);
			loop_down(&l);
		}
}

// Changes the VLAN of data frames on the way.
struct retag {
	struct loop *l;
	uint32_t n;
};

static void copy_into_other_vlan(void *arg, unsigned from, uint64_t t_ns, const uint8_t *frame,
				 uint32_t len)
{
	struct retag *r = arg;
	uint8_t copy[256];
	struct pkt_info info;

	(void)t_ns;
	assert_true(parse(frame, len, &info));
	if (!info.roce || info.bth_opcode == UD_SEND_ONLY || len > sizeof(copy))
		return;
	memcpy(copy, frame, len);
	copy[15]++; // of the VID
	loop_inject(r->l, !from, copy, len);
	r->n++;
}

static void data_of_another_vlan_is_no_queue_pairs(void **state)
{
	struct nic_flow f = flow_of(true, true, REQ_SEND);
	struct retag r = {0};
	struct nic_stats s;
	struct loop l;
	uint32_t id;

	(void)state;
	f.msg_bytes = 100;
	f.n_messages = 50;
	loop_up(&l, 5, set_up);
	r.l = &l;
	l.tap = copy_into_other_vlan;
	l.tap_arg = &r;
	assert_int_equal(nic_flow_add(l.nic[0], &f, &id), 0);
	assert_true(loop_finish(&l, &id, 1, 1000000000));
	s = loop_stats(&l, 1);
	assert_true(r.n >= 100);
	assert_int_equal(s.unknown_qp + loop_stats(&l, 0).unknown_qp, r.n);
	assert_int_equal(s.duplicates + s.out_of_sequence, 0);
	loop_down(&l);
}

static void a_pause_stops_the_class_of_tagged_frames(void **state)
{
	const struct storm_params storm = {.classes = 1u << 3, .quanta = 65535,
					   .every_ns = 100000, .for_ns = UINT64_MAX};
	struct nic_flow f = flow_of(true, true, REQ_WRITE);
	struct loop l;
	uint64_t before;
	uint32_t id;

	(void)state;
	f.n_messages = 0;
	loop_up(&l, 5, set_up);
	assert_int_equal(nic_flow_add(l.nic[0], &f, &id), 0);
	loop_run(&l, 1000000, 0);
	nic_storm_start(l.nic[1], &storm);
	loop_run(&l, 1010000, 0);
	before = loop_stats(&l, 0).cls[3].tx_packets;
	assert_true(before > 100);
	loop_run(&l, 2000000, 0);
	assert_int_equal(loop_stats(&l, 0).cls[3].tx_packets, before);
	loop_down(&l);
}

static void slow_host(unsigned side, struct nic_config *c)
{
	set_up(side, c);
	if (side == 1)
		c->faults = (struct nic_faults){.rx_rate_bps = 10000000000};
}

static void a_slow_receiver_pauses_the_class_of_the_pcp(void **state)
{
	struct nic_flow f = flow_of(true, false, REQ_WRITE);
	struct loop l;
	uint32_t id;

	(void)state;
	f.n_messages = 0;
	f.has_dscp = true; // which is class 0 without a tag
	loop_up(&l, 5, slow_host);
	assert_int_equal(nic_flow_add(l.nic[0], &f, &id), 0);
	loop_run(&l, 2000000, 0);
	assert_true(ctr_get(&nic_pfc_rx(l.nic[0])->stats[3].frames) != 0);
	assert_int_equal(ctr_get(&nic_pfc_rx(l.nic[0])->stats[0].frames), 0);
	assert_int_equal(loop_stats(&l, 1).rx_dropped, 0);
	loop_down(&l);
}

static void tcp_has_tag_and_ipv6(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct nic_flow f = tcp_flow(TCP_DCTCP, true);
		struct loop l;
		uint32_t id;

		seen = (struct seen){0};
		loop_up(&l, 5, set_up);
		for (unsigned i = 0; i < 2; i++) {
			const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)(2 - i)};

			assert_int_equal(nic_peer_set(l.nic[i], ip6[1 - i], mac), 0);
		}
		l.tap = tap;
		l.faults = (struct loop_faults){.loss = 40, .ce = 20};
		f.tag = f.far_tag = (struct frame_tag){true, PCP, VID};
		if (v6)
			f.dst_ip = ip6[1];
		f.msg_bytes = 30001;
		f.n_messages = 10;
		id = tcp_connect(&l, &f);
		assert_true(loop_finish(&l, &id, 1, 100000000000));
		assert_int_equal(seen.untagged + seen.other, 0);
		assert_true(seen.tcp > 200 && (seen.ipv4 == 0) == v6);
		assert_int_equal(seen.data_pcps, 1u << PCP);
		assert_int_equal(loop_stats(&l, 1).malformed, 0);
		assert_int_equal(loop_stats(&l, 1).payload_errors, 0);
		loop_down(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_has_the_tag),
		cmocka_unit_test(cnps_have_a_pcp_of_their_class),
		cmocka_unit_test(ipv6_goes_without_a_tag),
		cmocka_unit_test(a_tagged_solicitation_may_have_two_options),
		cmocka_unit_test(a_mapped_address_of_ipv6_is_nobodys),
		cmocka_unit_test(frames_of_another_vlan_are_ignored),
		cmocka_unit_test(data_of_another_vlan_is_no_queue_pairs),
		cmocka_unit_test(a_pause_stops_the_class_of_tagged_frames),
		cmocka_unit_test(a_slow_receiver_pauses_the_class_of_the_pcp),
		cmocka_unit_test(tcp_has_tag_and_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
