// SPDX-License-Identifier: Apache-2.0
// CNPs byte for byte: captured ones, and others against the layout written out by hand.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/packet/cnp.h"
#include "dataplane/packet/parse.h"
#include "source_root.h"
#include "tests/unit/qos/test.h"

enum { PCAP_HEAD = 24, PCAP_RECORD = 16, ROOM = 128 };

static const struct cnp captured[] = {
	// a ConnectX-4 Lx, which numbers its packets
	{.src_mac = {0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32},
	 .dst_mac = {0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2},
	 .src_ip = {10, 0, 17, 1}, .dst_ip = {10, 0, 18, 1}, .dscp = 48, .pkey = 0xffff,
	 .ip_id = 0x718c, .dest_qp = 0x118},
	{.src_ip = {192, 168, 10, 12}, .dst_ip = {192, 168, 10, 10}, .dscp = 48, .pkey = 0xffff,
	 .udp_sport = 0xc123, .dest_qp = 0x19f},
};

static void read_captured(unsigned n, uint8_t frame[CNP_LEN_V4])
{
	FILE *in = fopen(SOURCE_ROOT "/tests/data/cnp_vectors.pcap", "rb");
	uint8_t head[PCAP_HEAD];

	assert_non_null(in);
	assert_int_equal(fread(head, 1, PCAP_HEAD, in), PCAP_HEAD);
	for (unsigned i = 0; i <= n; i++) {
		assert_int_equal(fread(head, 1, PCAP_RECORD, in), PCAP_RECORD);
		assert_int_equal(head[8], CNP_LEN_V4);
		assert_int_equal(fread(frame, 1, CNP_LEN_V4, in), CNP_LEN_V4);
	}
	fclose(in);
}

static void a_cnp_is_what_was_captured(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(captured); i++) {
		struct cnp c = captured[i];
		uint8_t want[CNP_LEN_V4], got[CNP_MAX_LEN];

		read_captured(i, want);
		if (i == 1) {
			// What was published of it leaves the MAC addresses open.
			memcpy(c.dst_mac, want, 6);
			memcpy(c.src_mac, want + 6, 6);
		}
		assert_int_equal(cnp_build(got, &c), CNP_LEN_V4);
		assert_memory_equal(got, want, CNP_LEN_V4);
	}
}

// The same numbers as published, without the file.
static void the_published_checksums_come_out(void **state)
{
	uint8_t got[CNP_MAX_LEN];

	(void)state;
	cnp_build(got, &captured[0]);
	assert_memory_equal(got + 70, ((uint8_t[]){0x82, 0xfd, 0x00, 0x2a}), 4);
	cnp_build(got, &captured[1]);
	assert_memory_equal(got + 24, ((uint8_t[]){0xa4, 0x88}), 2);
	assert_memory_equal(got + 70, ((uint8_t[]){0xd3, 0x07, 0x70, 0xc1}), 4);
}

// ---- every shape, from the layout

// CRC-32 bit by bit, as the annex has it: no table and no library that the switch uses.
static uint32_t crc_bits(const uint8_t *p, size_t n)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (unsigned b = 0; b < 8; b++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static size_t put(uint8_t *at, size_t n, const char *hex)
{
	for (; *hex != 0; hex++) {
		unsigned byte;

		if (*hex == ' ')
			continue;
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		at[n++] = (uint8_t)byte;
		hex++;
	}
	return n;
}

struct shape {
	bool v6;
	struct cnp_tag tags[2]; // TPID 0: none
	const char *l2, *l3; // in hex
	size_t masked[12]; // bytes of the packet that count as ones; 0 ends them
	uint8_t half; // of byte 0, for IPv6
};

static const char l4_hex[] = "d00d 12b7 0028 0000" // UDP
			     "81 00 8001 40 abcdef 00 000000" // BTH
			     "00000000 00000000 00000000 00000000";

#define V4 "45 c6 003c 0000 4000 40 11 4daf c0000201 c6336407", {1, 8, 10, 11, 26, 27, 32}, 0
#define V6                                                                                         \
	"6c 60 0000 0028 11 40 20010db8000000000000000000000001 20010db8000000010000000000000002", \
		{1, 2, 3, 7, 46, 47, 52}, 0x0f

static const struct shape shapes[] = {
	{false, {{0}}, "0a0000000001 020000000002 0800", V4},
	{false, {{0x8100, 0xcabc}}, "0a0000000001 020000000002 8100 cabc 0800", V4},
	{false, {{0x88a8, 0xcabc}}, "0a0000000001 020000000002 88a8 cabc 0800", V4},
	{false, {{0x88a8, 0xdabc}, {0x8100, 0xc123}},
	 "0a0000000001 020000000002 88a8 dabc 8100 c123 0800", V4},
	{false, {{0x8100, 0xcabc}, {0x8100, 0xd000}},
	 "0a0000000001 020000000002 8100 cabc 8100 d000 0800", V4},
	{true, {{0}}, "0a0000000001 020000000002 86dd", V6},
	{true, {{0x8100, 0xcabc}}, "0a0000000001 020000000002 8100 cabc 86dd", V6},
	{true, {{0x9100, 0xcabc}}, "0a0000000001 020000000002 9100 cabc 86dd", V6},
	{true, {{0x88a8, 0xcabc}, {0x8100, 0xd123}},
	 "0a0000000001 020000000002 88a8 cabc 8100 d123 86dd", V6},
	{true, {{0x9100, 0xc001}, {0x88a8, 0xcfff}},
	 "0a0000000001 020000000002 9100 c001 88a8 cfff 86dd", V6},
};

static unsigned n_tags(const struct shape *s)
{
	return s->tags[0].tpid == 0 ? 0 : s->tags[1].tpid == 0 ? 1 : 2;
}

static struct cnp cnp_of(const struct shape *s)
{
	struct cnp c = {.dst_mac = {0x0a, 0, 0, 0, 0, 1}, .src_mac = {2, 0, 0, 0, 0, 2},
			.n_tags = (uint8_t)n_tags(s), .v6 = s->v6, .dscp = 49,
			.udp_sport = 0xd00d, .pkey = 0x8001, .dest_qp = 0xabcdef,
			.src_ip = {192, 0, 2, 1}, .dst_ip = {198, 51, 100, 7}};

	memcpy(c.tags, s->tags, sizeof(c.tags));
	if (s->v6) {
		memcpy(c.src_ip, (uint8_t[16]){0x20, 1, 0x0d, 0xb8, [15] = 1}, 16);
		memcpy(c.dst_ip, (uint8_t[16]){0x20, 1, 0x0d, 0xb8, [7] = 1, [15] = 2}, 16);
	}
	return c;
}

static uint32_t icrc_of(const uint8_t *l3, size_t n, const struct shape *s)
{
	uint8_t m[8 + ROOM];

	memset(m, 0xff, 8);
	memcpy(m + 8, l3, n);
	for (unsigned i = 0; s->masked[i] != 0; i++)
		m[8 + s->masked[i]] = 0xff;
	m[8] |= s->half;
	return crc_bits(m, 8 + n);
}

static void every_shape_is_its_layout_with_its_icrc(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		const struct shape *s = &shapes[i];
		uint8_t want[ROOM], got[CNP_MAX_LEN];
		struct cnp c = cnp_of(s);
		size_t l3 = put(want, 0, s->l2), n = put(want, put(want, l3, s->l3), l4_hex);
		uint32_t crc = icrc_of(want + l3, n - l3, s);

		for (unsigned b = 0; b < 4; b++)
			want[n++] = (uint8_t)(crc >> 8 * b);
		assert_row(i, cnp_build(got, &c), n);
		assert_int_equal(n, (s->v6 ? CNP_LEN_V6 : CNP_LEN_V4) + 4 * n_tags(s));
		assert_memory_equal(got, want, n);
	}
}

static void the_switch_parses_what_it_sends_as_a_cnp(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct cnp c = cnp_of(&shapes[i]);
		uint8_t frame[CNP_MAX_LEN];
		struct pkt_info info;

		assert_true(parse(frame, cnp_build(frame, &c), &info));
		assert_row(i, info.roce, true);
		assert_row(i, info.roce_data, false);
		assert_row(i, info.bth_opcode, 0x81);
		assert_row(i, info.bth_dest_qp, 0xabcdef);
		assert_row(i, info.bth_psn, 0);
		assert_row(i, info.dscp, 49);
		assert_row(i, info.ecn, ECN_ECT0);
		assert_row(i, info.udp_sport, 0xd00d);
		assert_row(i, info.n_tags, n_tags(&shapes[i]));
		assert_row(i, info.tci, shapes[i].tags[0].tci);
	}
}

// A destination beyond 24 bits cannot spill into what stands beside it.
static void only_24_bits_of_the_queue_pair_are_written(void **state)
{
	struct cnp c = cnp_of(&shapes[0]);
	uint8_t a[CNP_MAX_LEN], b[CNP_MAX_LEN];
	uint32_t n = cnp_build(a, &c);

	(void)state;
	c.dest_qp |= 0xff000000;
	assert_int_equal(cnp_build(b, &c), n);
	assert_memory_equal(a, b, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cnp_is_what_was_captured),
		cmocka_unit_test(the_published_checksums_come_out),
		cmocka_unit_test(every_shape_is_its_layout_with_its_icrc),
		cmocka_unit_test(the_switch_parses_what_it_sends_as_a_cnp),
		cmocka_unit_test(only_24_bits_of_the_queue_pair_are_written),
	};

	return cmocka_run_group_tests_name("cnp", tests, NULL, NULL);
}
