// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/pfc_frame.h"
#include "tests/unit/packet/frames.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static const uint8_t mac[6] = {0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee};

// XOFF of class 3, XON of class 5.
static const struct pfc_times xoff3_xon5 = {.enable = 0x28, .quanta = {[3] = 0xffff}};
static const uint8_t golden[PFC_FRAME_LEN] = {
	0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, // destination
	0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, // source
	0x88, 0x08, 0x01, 0x01, // EtherType, opcode
	0x00, 0x28, // classes
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, // times of 0 to 3
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // times of 4 to 7, then padding
};

static enum mac_ctrl parsed(const uint8_t *frame, uint32_t len, struct pfc_times *out)
{
	uint8_t *copy = exact_copy(frame, len);
	enum mac_ctrl r = mac_ctrl_parse(copy, len, out);

	free(copy);
	return r;
}

static void a_pfc_frame_is_byte_for_byte_as_the_standard_draws_it(void **state)
{
	uint8_t f[PFC_FRAME_LEN + 1];

	(void)state;
	memset(f, 0x5a, sizeof(f));
	pfc_frame_build(f, mac, &xoff3_xon5);
	assert_memory_equal(f, golden, PFC_FRAME_LEN);
	assert_int_equal(f[PFC_FRAME_LEN], 0x5a);
}

static void the_time_of_a_class_that_is_not_enabled_is_sent_as_zero(void **state)
{
	struct pfc_times t = xoff3_xon5;
	uint8_t f[PFC_FRAME_LEN];

	(void)state;
	t.quanta[0] = t.quanta[7] = 0x1234;
	pfc_frame_build(f, mac, &t);
	assert_memory_equal(f, golden, PFC_FRAME_LEN);
}

static void what_is_built_is_read_back_for_every_vector(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 256; v++) {
		struct pfc_times in = {.enable = (uint8_t)v}, out;
		uint8_t f[PFC_FRAME_LEN];
		struct pkt_info info;

		for (unsigned c = 0; c < 8; c++)
			in.quanta[c] = v >> c & 1 ? (uint16_t)(v * 251 + c * 4099) : 0;
		pfc_frame_build(f, mac, &in);
		assert_true(parse(f, sizeof(f), &info));
		assert_int_equal(info.kind, PKT_MAC_CONTROL);
		assert_true(info.group_dst && info.reserved_dst == DST_LINK_LOCAL);
		assert_int_equal(parsed(f, sizeof(f), &out), MAC_CTRL_PFC);
		assert_int_equal(out.enable, in.enable);
		assert_memory_equal(out.quanta, in.quanta, sizeof(in.quanta));
	}
}

static void every_length_from_34_is_a_pfc_frame_and_no_shorter_one(void **state)
{
	(void)state;
	for (uint32_t len = 0; len <= PFC_FRAME_LEN; len++) {
		const struct pfc_times untouched = {.enable = 0x11, .quanta = {1, 2, 3}};
		struct pfc_times out = untouched;
		enum mac_ctrl r = parsed(golden, len, &out);

		if (len < PFC_MIN_RX_LEN) {
			assert_int_equal(r, MAC_CTRL_MALFORMED);
			assert_memory_equal(&out, &untouched, sizeof(out));
			continue;
		}
		assert_int_equal(r, MAC_CTRL_PFC);
		assert_int_equal(out.enable, 0x28);
		assert_int_equal(out.quanta[3], 0xffff);
		assert_int_equal(out.quanta[5], 0);
	}
}

static void any_source_and_any_padding_will_do(void **state)
{
	uint8_t f[1500];
	struct pfc_times out;

	(void)state;
	memset(f, 0xff, sizeof(f));
	memcpy(f, golden, PFC_MIN_RX_LEN);
	memset(f + 6, 0, 6);
	assert_int_equal(parsed(f, sizeof(f), &out), MAC_CTRL_PFC);
	assert_int_equal(out.enable, 0x28);
	assert_int_equal(out.quanta[3], 0xffff);
}

static void the_reserved_byte_of_the_vector_is_not_looked_at(void **state)
{
	uint8_t f[PFC_FRAME_LEN];
	struct pfc_times out;

	(void)state;
	memcpy(f, golden, sizeof(f));
	f[16] = 0xff;
	assert_int_equal(parsed(f, sizeof(f), &out), MAC_CTRL_PFC);
	assert_int_equal(out.enable, 0x28);
}

static void an_empty_vector_is_read_as_such(void **state)
{
	uint8_t f[PFC_FRAME_LEN];
	struct pfc_times out;

	(void)state;
	memcpy(f, golden, sizeof(f));
	f[17] = 0;
	assert_int_equal(parsed(f, sizeof(f), &out), MAC_CTRL_PFC);
	assert_int_equal(out.enable, 0);
}

static void other_mac_control_frames_are_told_from_pfc(void **state)
{
	static const struct {
		uint16_t opcode;
		uint32_t len;
		enum mac_ctrl want;
	} rows[] = {
		{0x0001, 60, MAC_CTRL_PAUSE_8023X}, {0x0001, 18, MAC_CTRL_PAUSE_8023X},
		{0x0001, 17, MAC_CTRL_MALFORMED},   {0x0001, 15, MAC_CTRL_MALFORMED},
		{0x0000, 60, MAC_CTRL_OTHER},	    {0x0100, 60, MAC_CTRL_OTHER},
		{0x0102, 16, MAC_CTRL_OTHER},	    {0x0002, 60, MAC_CTRL_OTHER},
		{0x0101, 33, MAC_CTRL_MALFORMED},   {0x0101, 34, MAC_CTRL_PFC},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		uint8_t f[PFC_FRAME_LEN];
		struct pfc_times out;

		memcpy(f, golden, sizeof(f));
		be16_put(f + 14, rows[i].opcode);
		assert_int_equal(parsed(f, rows[i].len, &out), rows[i].want);
	}
}

static void a_pause_of_the_whole_link_has_one_time_for_all_classes(void **state)
{
	static const uint8_t whole[] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0xaa, 0xbb, 0xcc,
					0xdd, 0xee, 0x88, 0x08, 0x00, 0x01, 0xff, 0xff, 0x00, 0x00};
	uint8_t f[PFC_FRAME_LEN + 1];
	struct pfc_times out;

	(void)state;
	memset(f, 0x5a, sizeof(f));
	pause_frame_build(f, mac, &xoff3_xon5);
	assert_memory_equal(f, whole, sizeof(whole));
	for (unsigned i = sizeof(whole); i < PFC_FRAME_LEN; i++)
		assert_int_equal(f[i], 0);
	assert_int_equal(f[PFC_FRAME_LEN], 0x5a);
	assert_int_equal(parsed(f, PFC_FRAME_LEN, &out), MAC_CTRL_PAUSE_8023X);
	assert_int_equal(out.enable, 0xff);
	for (unsigned c = 0; c < 8; c++)
		assert_int_equal(out.quanta[c], 0xffff);
	// One for another station names no class.
	f[5] = 2;
	assert_int_equal(parsed(f, PFC_FRAME_LEN, &out), MAC_CTRL_PAUSE_8023X);
	assert_int_equal(out.enable, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pfc_frame_is_byte_for_byte_as_the_standard_draws_it),
		cmocka_unit_test(the_time_of_a_class_that_is_not_enabled_is_sent_as_zero),
		cmocka_unit_test(what_is_built_is_read_back_for_every_vector),
		cmocka_unit_test(every_length_from_34_is_a_pfc_frame_and_no_shorter_one),
		cmocka_unit_test(any_source_and_any_padding_will_do),
		cmocka_unit_test(the_reserved_byte_of_the_vector_is_not_looked_at),
		cmocka_unit_test(an_empty_vector_is_read_as_such),
		cmocka_unit_test(other_mac_control_frames_are_told_from_pfc),
		cmocka_unit_test(a_pause_of_the_whole_link_has_one_time_for_all_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
