// SPDX-License-Identifier: Apache-2.0
// Writes every kind of frame the NIC sends to a pcap file, for judge_frames.py: ARP, connection
// management, Write, Send and Read with their answers, NAKs, CNPs, a rejected connection, a
// pause storm, TCP without ECN, with it, and DCTCP.
//
// usage: dump_frames FILE
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
		const struct nic_flow f = {.dst_ip = LOOP_IP1, .op = i % 3, .cls = 3,
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(dump_tcp), cmocka_unit_test(dump)};
	const struct pcap_head head = {0xa1b23c4d, 2, 4, 0, 0, 65535, 1};
	int rc;

	if (argc != 2)
		return 2;
	out = fopen(argv[1], "wb");
	if (out == NULL || fwrite(&head, sizeof(head), 1, out) != 1)
		return 1;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	return fclose(out) != 0 || rc != 0;
}
