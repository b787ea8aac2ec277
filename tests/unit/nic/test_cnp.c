// SPDX-License-Identifier: Apache-2.0
// CNPs on the wire: what roce_build makes of one is, byte for byte, what was captured.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/packet/wire.h"
#include "drivers/nic/frames.h"
#include "source_root.h"

enum { FRAME = 128, CNP_LEN = 74, PCAP_HEAD = 24, PCAP_RECORD = 16 };

struct row {
	unsigned record; // of the file
	struct frame_addr addr;
	uint32_t dest_qp;
	uint8_t icrc[4];
};

static const struct row rows[] = {
	{0,
	 {.src_mac = {0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32},
	  .dst_mac = {0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2},
	  .src_ip = {0, 0xffff0a001101}, .dst_ip = {0, 0xffff0a001201}, .sport = 0, .ip_id = 0x718c,
	  .tos = 0xc2},
	 0x118, {0x82, 0xfd, 0x00, 0x2a}},
	{1,
	 {.src_ip = {0, 0xffffc0a80a0c}, .dst_ip = {0, 0xffffc0a80a0a}, .sport = 0xc123,
	  .tos = 0xc2},
	 0x19f, {0xd3, 0x07, 0x70, 0xc1}},
};

static uint32_t le32(const uint8_t *b)
{
	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

// The nth frame of the captured ones.
static void captured(unsigned n, uint8_t frame[FRAME])
{
	FILE *in = fopen(SOURCE_ROOT "/tests/data/cnp_vectors.pcap", "rb");
	uint8_t head[PCAP_HEAD];

	assert_non_null(in);
	assert_int_equal(fread(head, 1, PCAP_HEAD, in), PCAP_HEAD);
	for (unsigned i = 0; i <= n; i++) {
		assert_int_equal(fread(head, 1, PCAP_RECORD, in), PCAP_RECORD);
		assert_int_equal(le32(head + 8), CNP_LEN);
		assert_int_equal(fread(frame, 1, CNP_LEN, in), CNP_LEN);
	}
	fclose(in);
}

static void a_cnp_is_what_real_nics_send(void **state)
{
	static const uint8_t zeros[CNP_PAYLOAD_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roce_pkt cnp = {.opcode = ROCE_CNP, .dest_qp = rows[i].dest_qp,
				       .payload = zeros, .payload_len = sizeof(zeros)};
		struct frame_addr addr = rows[i].addr;
		uint8_t want[FRAME], got[FRAME];

		captured(rows[i].record, want);
		if (i == 1) {
			// The text of the second vector leaves the MAC addresses open.
			memcpy(addr.dst_mac, want, 6);
			memcpy(addr.src_mac, want + 6, 6);
		}
		assert_int_equal(roce_frame_len(&cnp), CNP_LEN);
		roce_build(got, roce_frame_len(&cnp), &addr, &cnp);
		assert_memory_equal(got, want, CNP_LEN);
		assert_memory_equal(got + CNP_LEN - 4, rows[i].icrc, 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cnp_is_what_real_nics_send),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
