// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/packet/roce.h"
#include "dataplane/packet/wire.h"

enum { V4_BTH = 14 + 20 + 8, EXT = V4_BTH + 12, LEN = 512 };

// An IPv4 frame with so many bytes between BTH and iCRC, which count up from 1.
static uint32_t build(uint8_t out[LEN], uint8_t opcode, uint32_t qp, uint32_t ext)
{
	uint32_t udp_len = 8 + 12 + ext + 4;

	memset(out, 0, LEN);
	out[12] = 8;
	out[14] = 0x45;
	be16_put(out + 16, (uint16_t)(20 + udp_len));
	out[22] = 64;
	out[23] = IP_PROTO_UDP;
	be32_put(out + 26, 0x0a000001);
	be32_put(out + 30, 0x0a000002);
	be16_put(out + 34, 50000);
	be16_put(out + 36, ROCE_UDP_PORT);
	be16_put(out + 38, (uint16_t)udp_len);
	out[V4_BTH] = opcode;
	be16_put(out + V4_BTH + 2, 0x8123);
	be24_put(out + V4_BTH + 5, qp);
	be24_put(out + V4_BTH + 9, 0x777777);
	for (uint32_t i = 0; i < ext; i++)
		out[EXT + i] = (uint8_t)(i + 1);
	return EXT + ext + 4;
}

static bool read_msg(const uint8_t *frame, uint32_t len, uint32_t stored, struct roce_msg *out)
{
	uint8_t *exact = malloc(stored != 0 ? stored : 1); // whoever reads beyond it is caught
	struct pkt_info pkt;
	bool said;

	assert_non_null(exact);
	memcpy(exact, frame, stored);
	assert_true(parse(frame, len, &pkt));
	assert_true(pkt.roce);
	said = roce_msg_read(exact, stored, &pkt, out);
	free(exact);
	out->mad = NULL;
	return said;
}

// Field by field: what lies between them has no value.
static void same(const struct roce_msg *got, const struct roce_msg *want)
{
	assert_int_equal(got->role, want->role);
	assert_int_equal(got->opcode, want->opcode);
	assert_int_equal(got->syndrome, want->syndrome);
	assert_int_equal(got->has_aeth, want->has_aeth);
	assert_int_equal(got->first, want->first);
	assert_int_equal(got->pkey, want->pkey);
	assert_int_equal(got->dest_qp, want->dest_qp);
	assert_int_equal(got->psn, want->psn);
	assert_int_equal(got->read_bytes, want->read_bytes);
	assert_int_equal(got->src_qp, want->src_qp);
	assert_ptr_equal(got->mad, want->mad);
	assert_int_equal(got->mad_len, want->mad_len);
}

static void roles_follow_the_opcode(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t qp;
		enum roce_role role;
	} t[] = {
		{RC_SEND_FIRST, 5, ROCE_ROLE_DATA},
		{RC_WRITE_ONLY_IMM, 5, ROCE_ROLE_DATA},
		{RC_SEND_ONLY_INVALIDATE, 5, ROCE_ROLE_DATA},
		{RC_COMPARE_SWAP, 5, ROCE_ROLE_DATA},
		{RC_READ_REQUEST, 5, ROCE_ROLE_READ_REQUEST},
		{RC_READ_RESPONSE_FIRST, 5, ROCE_ROLE_READ_RESPONSE},
		{RC_READ_RESPONSE_MIDDLE, 5, ROCE_ROLE_READ_RESPONSE},
		{RC_READ_RESPONSE_LAST, 5, ROCE_ROLE_READ_RESPONSE},
		{RC_READ_RESPONSE_ONLY, 5, ROCE_ROLE_READ_RESPONSE},
		{RC_ACK, 5, ROCE_ROLE_ACK},
		{RC_ATOMIC_ACK, 5, ROCE_ROLE_ACK},
		{RC_RESYNC, 5, ROCE_ROLE_OTHER},
		{0x18, 5, ROCE_ROLE_OTHER}, // reserved
		{0x1f, 5, ROCE_ROLE_OTHER},
		{0x24, 5, ROCE_ROLE_UNRELIABLE}, // UC SEND Only
		{0x2c, 5, ROCE_ROLE_OTHER}, // UC has no READ
		{0x31, 5, ROCE_ROLE_OTHER}, // nor ACK
		{0x44, 5, ROCE_ROLE_OTHER}, // RD
		{UD_SEND_ONLY, 5, ROCE_ROLE_DATAGRAM},
		{UD_SEND_ONLY_IMM, 5, ROCE_ROLE_DATAGRAM},
		{UD_SEND_ONLY, 1, ROCE_ROLE_MANAGEMENT},
		{RC_SEND_ONLY, 1, ROCE_ROLE_DATA},
		{0x6a, 5, ROCE_ROLE_OTHER},
		{ROCE_CNP, 5, ROCE_ROLE_CNP},
		{0x80, 5, ROCE_ROLE_OTHER},
		{0xa6, 5, ROCE_ROLE_DATA}, // XRC WRITE First
		{0xac, 5, ROCE_ROLE_READ_REQUEST},
		{0xb1, 5, ROCE_ROLE_ACK},
		{0xc4, 5, ROCE_ROLE_OTHER}, // the manufacturer's
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_int_equal(roce_role(t[i].opcode, t[i].qp), t[i].role);
	// Nothing that congestion is about is missed among the reliable connected ones.
	for (unsigned op = 0; op <= RC_SEND_ONLY_INVALIDATE; op++)
		if (roce_is_data((uint8_t)op))
			assert_true(roce_role((uint8_t)op, 5) != ROCE_ROLE_OTHER);
}

static void extension_headers_are_read_where_they_are_whole(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t qp, ext; // bytes that the opcode promises
		struct roce_msg want;
	} t[] = {
		{RC_SEND_ONLY, 5, 0, {.role = ROCE_ROLE_DATA}},
		{RC_WRITE_FIRST, 5, 0, {.role = ROCE_ROLE_DATA}},
		{RC_ACK, 5, 4, {.role = ROCE_ROLE_ACK, .has_aeth = true, .syndrome = 1}},
		{RC_ATOMIC_ACK, 5, 4, {.role = ROCE_ROLE_ACK, .has_aeth = true, .syndrome = 1}},
		{RC_READ_RESPONSE_FIRST, 5, 4,
		 {.role = ROCE_ROLE_READ_RESPONSE, .has_aeth = true, .syndrome = 1, .first = true}},
		{RC_READ_RESPONSE_ONLY, 5, 4,
		 {.role = ROCE_ROLE_READ_RESPONSE, .has_aeth = true, .syndrome = 1, .first = true}},
		{RC_READ_RESPONSE_MIDDLE, 5, 0, {.role = ROCE_ROLE_READ_RESPONSE}},
		{RC_READ_RESPONSE_LAST, 5, 4,
		 {.role = ROCE_ROLE_READ_RESPONSE, .has_aeth = true, .syndrome = 1}},
		{RC_READ_REQUEST, 5, 16,
		 {.role = ROCE_ROLE_READ_REQUEST, .read_bytes = 0x0d0e0f10}},
		{0xac, 5, 20, {.role = ROCE_ROLE_READ_REQUEST, .read_bytes = 0x11121314}}, // XRC
		{UD_SEND_ONLY, 9, 8, {.role = ROCE_ROLE_DATAGRAM, .src_qp = 0x060708}},
		{UD_SEND_ONLY, 1, 8, {.role = ROCE_ROLE_MANAGEMENT, .src_qp = 0x060708}},
		{ROCE_CNP, 5, 0, {.role = ROCE_ROLE_CNP}},
	};
	uint8_t frame[LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct roce_msg want = t[i].want, got;
		uint32_t len = build(frame, t[i].opcode, t[i].qp, t[i].ext);

		want.opcode = t[i].opcode;
		want.dest_qp = t[i].qp;
		want.psn = 0x777777;
		want.pkey = 0x8123;
		assert_true(read_msg(frame, len, len, &got));
		same(&got, &want);
		// Stored as far as the header goes, and no further.
		assert_true(read_msg(frame, len, EXT + t[i].ext, &got));
		same(&got, &want);
		for (uint32_t stored = 0; stored < EXT + t[i].ext; stored++)
			assert_false(read_msg(frame, len, stored, &got));
		// All stored, but UDP ends before it: what follows is not the message's.
		for (uint32_t ext = 0; ext < t[i].ext; ext++) {
			be16_put(frame + 38, (uint16_t)(8 + 12 + ext + 4));
			assert_false(read_msg(frame, len, len, &got));
		}
	}
}

static void an_aeth_tells_ack_from_nak(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum roce_role role;
	} t[] = {{0x00, ROCE_ROLE_ACK}, {0x1f, ROCE_ROLE_ACK}, {0x20, ROCE_ROLE_NAK},
		 {0x3f, ROCE_ROLE_NAK}, {0x60, ROCE_ROLE_NAK}, {0x64, ROCE_ROLE_NAK},
		 {0x40, ROCE_ROLE_ACK} /* reserved */};
	uint8_t frame[LEN];
	struct roce_msg got;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint32_t len = build(frame, RC_ACK, 5, 4);

		frame[EXT] = t[i].syndrome;
		assert_true(read_msg(frame, len, len, &got));
		assert_int_equal(got.role, t[i].role);
	}
}

static void a_management_message_is_as_long_as_is_stored_and_said(void **state)
{
	static const struct {
		uint32_t mad, cut, want; // bytes; how many of the frame's last are not stored
	} t[] = {{256, 0, 256}, {256, 4, 256}, {256, 5, 255},
		 {256, 256, 4}, {0, 0, 0},     {10, 3, 10}};
	uint8_t frame[LEN];
	struct pkt_info pkt;
	struct roce_msg got;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint32_t len = build(frame, UD_SEND_ONLY, 1, 8 + t[i].mad);

		assert_true(parse(frame, len, &pkt));
		assert_true(roce_msg_read(frame, len - t[i].cut, &pkt, &got));
		assert_int_equal(got.mad_len, t[i].want);
		assert_ptr_equal(got.mad, frame + EXT + 8);
	}
}

static void addresses_are_read_of_both_families(void **state)
{
	uint8_t l3[40], src[16], dst[16], want[16] = {0};

	(void)state;
	for (uint8_t i = 0; i < sizeof(l3); i++)
		l3[i] = i;
	roce_addresses(l3, PKT_IPV6, src, dst);
	assert_memory_equal(src, l3 + 8, 16);
	assert_memory_equal(dst, l3 + 24, 16);
	roce_addresses(l3, PKT_IPV4, src, dst);
	memcpy(want, l3 + 12, 4);
	assert_memory_equal(src, want, 16);
	memcpy(want, l3 + 16, 4);
	assert_memory_equal(dst, want, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_follow_the_opcode),
		cmocka_unit_test(extension_headers_are_read_where_they_are_whole),
		cmocka_unit_test(an_aeth_tells_ack_from_nak),
		cmocka_unit_test(a_management_message_is_as_long_as_is_stored_and_said),
		cmocka_unit_test(addresses_are_read_of_both_families),
	};

	return cmocka_run_group_tests_name("roce messages", tests, NULL, NULL);
}
