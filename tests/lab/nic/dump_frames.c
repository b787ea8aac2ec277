// SPDX-License-Identifier: Apache-2.0
// Writes every kind of frame the NIC sends to a pcap file, for judge_frames.py: ARP, connection
// management, Write, Send and Read with their answers, NAKs, CNPs, a rejected connection, a
// pause storm, TCP without ECN, with it, and DCTCP. Another file gets the frames of connections
// with an 802.1Q tag, over IPv4 and IPv6.
//
// usage: dump_frames FILE TAGGED_FILE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/lab/nic/loop.h"
#include "tests/lab/nic/tcp_flows.h"

struct pcap_head {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, sigfigs, snaplen, link;
};

struct pcap_record {
	uint32_t sec, nsec, caplen, len;
};

static FILE *out;

static void write_frame(void *arg, unsigned from, uint64_t t_ns, const uint8_t *frame, uint32_t len)
{
	const struct pcap_record r = {(uint32_t)(t_ns / 1000000000), (uint32_t)(t_ns % 1000000000),
				      len, len};

	(void)arg;
	(void)from;
	assert_int_equal(fwrite(&r, sizeof(r), 1, out), 1);
	assert_int_equal(fwrite(frame, len, 1, out), 1);
}

static void small_responder(unsigned side, struct nic_config *c)
{
	c->max_qps = side == 1 ? 3 : 8;
	c->cc = cc_preset_find("paper")->config;
}

static void dump(void **state)
{
	const struct storm_params storm = {.classes = 1u << 3 | 1u << 5, .quanta = 65535,
					   .start_ns = 1000000, .every_ns = 100000,
					   .for_ns = 300000};
	uint32_t ids[4];
	struct loop l;

	(void)state;
	loop_up(&l, 11, small_responder);
	l.tap = write_frame;
	l.faults = (struct loop_faults){.loss = 25, .ce = 20, .spare_management = true};
	for (uint8_t i = 0; i < 4; i++) {
		// Sizes that need padding, PSNs that wrap.
		const struct nic_flow f = {.dst_ip = ip_key_v4(LOOP_IP1), .op = i % 3, .cls = 3,
					   .msg_bytes = 3001u + i, .n_messages = 20, .mtu = 1024,
					   .first_psn = 0xfffff0};

		assert_int_equal(nic_flow_add(l.nic[0], &f, &ids[i]), 0);
	}
	nic_storm_start(l.nic[1], &storm);
	assert_true(loop_finish(&l, ids, 3, 1000000000));
	assert_int_equal(nic_flow_status(l.nic[0], ids[3]).state, NIC_FLOW_REJECTED);
	for (unsigned i = 0; i < 3; i++)
		nic_flow_close(l.nic[0], ids[i]);
	loop_run(&l, l.now_ns + 3000000, 0);
	loop_down(&l);
}

static void dump_tcp(void **state)
{
	struct loop l;

	(void)state;
	loop_up(&l, 12, NULL);
	l.tap = write_frame;
	l.faults = (struct loop_faults){.loss = 40, .ce = 20};
	for (unsigned i = 0; i < 3; i++) {
		struct nic_flow f = tcp_flow(i == 2 ? TCP_DCTCP : TCP_NEWRENO, i != 0);
		uint32_t id;

		f.msg_bytes = 30001;
		f.n_messages = 10;
		f.tcp.sack = i == 2;
		id = tcp_connect(&l, &f);
		assert_true(loop_finish(&l, &id, 1, 100000000000));
	}
	loop_down(&l);
}

static const struct ip_key ip6[2] = {{0xfdull << 56, 1}, {0xfdull << 56, 2}};

static void tagged(unsigned side, struct nic_config *c)
{
	c->ip6 = ip6[side];
	c->tag = (struct frame_tag){.on = true, .vid = 100};
	c->cc = cc_preset_find("paper")->config;
}

static void dump_tagged(void **state)
{
	uint32_t ids[7];
	struct loop l;

	(void)state;
	loop_up(&l, 13, tagged);
	l.tap = write_frame;
	l.faults = (struct loop_faults){.loss = 25, .ce = 20, .spare_management = true};
	for (unsigned i = 0; i < 6; i++) {
		const struct nic_flow f = {.dst_ip = i < 3 ? ip_key_v4(LOOP_IP1) : ip6[1],
					   .tag = {true, 5, 100}, .op = (uint8_t)(i % 3),
					   .cls = 5,
					   .msg_bytes = 3001u + i, .n_messages = 20, .mtu = 1024,
					   .first_psn = 0xfffff0};

		assert_int_equal(nic_flow_add(l.nic[0], &f, &ids[i]), 0);
	}
	assert_true(loop_finish(&l, ids, 6, 1000000000));
	for (unsigned i = 0; i < 6; i++)
		nic_flow_close(l.nic[0], ids[i]);
	loop_run(&l, l.now_ns + 3000000, 0);
	for (unsigned i = 0; i < 2; i++) {
		struct nic_flow f = tcp_flow(TCP_NEWRENO, false);

		for (unsigned s = 0; s < 2; s++) {
			const uint8_t far_mac[6] = {2, 0, 0, 0, 0, (uint8_t)(2 - s)};

			assert_int_equal(nic_peer_set(l.nic[s], ip6[1 - s], far_mac), 0);
		}
		if (i == 1)
			f.dst_ip = ip6[1];
		f.tag = f.far_tag = (struct frame_tag){true, 0, 100};
		f.msg_bytes = 30001;
		f.n_messages = 10;
		ids[6] = tcp_connect(&l, &f);
		assert_true(loop_finish(&l, &ids[6], 1, 100000000000));
	}
	loop_down(&l);
}

static int dump_to(const char *path, const struct CMUnitTest *tests, size_t n)
{
	const struct pcap_head head = {0xa1b23c4d, 2, 4, 0, 0, 65535, 1};
	int rc = 1;

	out = fopen(path, "wb");
	if (out == NULL)
		return 1;
	if (fwrite(&head, sizeof(head), 1, out) == 1)
		rc = _cmocka_run_group_tests(path, tests, n, NULL, NULL);
	return fclose(out) != 0 || rc != 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest plain[] = {cmocka_unit_test(dump_tcp), cmocka_unit_test(dump)};
	const struct CMUnitTest with_tags[] = {cmocka_unit_test(dump_tagged)};

	if (argc != 3)
		return 2;
	return dump_to(argv[1], plain, 2) + dump_to(argv[2], with_tags, 1);
}
