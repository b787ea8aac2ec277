// SPDX-License-Identifier: Apache-2.0
// ARP and neighbour discovery byte by byte, and what must not be believed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/packet/neighbour.h"

#define A6 {2, 0, 0, 0, 0, 0xaa}
#define B6 {2, 0, 0, 0, 0, 0xbb}

static const uint8_t a_mac[6] = A6, b_mac[6] = B6, nobody[6];
static const uint8_t a4[16] = {10, 0, 1, 1}, b4[16] = {10, 0, 1, 2};
static const uint8_t a6[16] = {0xfd, 0, 0, 1, [15] = 1};
static const uint8_t b6[16] = {0xfd, 0, 0, 1, [13] = 0x12, 0x34, 0x56};

// Who has 10.0.1.2? Tell 10.0.1.1.
static const uint8_t arp_request[60] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 0xaa, 8, 6, //
	0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 0xaa, 10, 0, 1, 1, 0, 0, 0, 0, 0, 0, 10, 0, 1, 2,
};

// 10.0.1.1 is at :aa, to :bb.
static const uint8_t arp_reply[60] = {
	2, 0, 0, 0, 0, 0xbb, 2, 0, 0, 0, 0, 0xaa, 8, 6, //
	0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 0xaa, 10, 0, 1, 1, 2, 0, 0, 0, 0, 0xbb, 10, 0, 1, 2,
};

// Who has fd00:1::34:5600? Checksum by hand over the words that are not 0:
//   fd00+1+1 + ff02+1+ff34+5600 + 20+3a + 8700 + fd00+1+34+5600 + 0101+0200+00aa
static const uint8_t ns[86] = {
	0x33, 0x33, 0xff, 0x34, 0x56, 0x00, 2, 0, 0, 0, 0, 0xaa, 0x86, 0xdd, //
	0x60, 0, 0, 0, 0, 32, 58, 255, //
	0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, //
	0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0x34, 0x56, 0x00, //
	135, 0, 0xd0, 0x87, 0, 0, 0, 0, //
	0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x34, 0x56, 0x00, //
	1, 1, 2, 0, 0, 0, 0, 0xaa,
};

static struct neighbour_msg msg(uint8_t family, bool request, const uint8_t *mac,
				const uint8_t *sender, const uint8_t *target, const uint8_t *to)
{
	struct neighbour_msg m = {.family = family, .request = request};

	memcpy(m.sender_mac, mac, 6);
	memcpy(m.sender, sender, 16);
	memcpy(m.target, target, 16);
	memcpy(m.to_mac, to, 6);
	return m;
}

static void arp_is_written_as_rfc_826_says(void **state)
{
	uint8_t out[NEIGHBOUR_MSG_MAX];
	struct neighbour_msg ask = msg(4, true, a_mac, a4, b4, nobody);
	struct neighbour_msg tell = msg(4, false, a_mac, a4, b4, b_mac);

	(void)state;
	assert_int_equal(neighbour_build(out, &ask), sizeof(arp_request));
	assert_memory_equal(out, arp_request, sizeof(arp_request));
	assert_int_equal(neighbour_build(out, &tell), sizeof(arp_reply));
	assert_memory_equal(out, arp_reply, sizeof(arp_reply));
}

// The target's last three bytes make the group, and the group the MAC address.
static void a_solicitation_goes_to_the_group_of_its_target(void **state)
{
	static const uint8_t target[16] = {0xfd, 0, 0, 1, [13] = 0x34, 0x56, 0x00};
	struct neighbour_msg ask = msg(6, true, a_mac, a6, target, nobody);
	uint8_t out[NEIGHBOUR_MSG_MAX];

	(void)state;
	assert_int_equal(neighbour_build(out, &ask), NEIGHBOUR_MSG_MAX);
	assert_memory_equal(out, ns, sizeof(ns));
}

// One's complement sum over the pseudo header and ICMPv6, computed apart from the code.
static uint16_t sum_of(const uint8_t *f)
{
	uint32_t sum = 58 + 32;

	for (unsigned i = 22; i < 86; i += 2)
		sum += (uint32_t)f[i] << 8 | f[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void what_is_written_is_read_the_same(void **state)
{
	const struct {
		uint8_t family;
		bool request;
		const uint8_t *sender, *target, *to;
	} rows[] = {
		{4, true, a4, b4, nobody}, {4, true, a4, b4, b_mac}, {4, false, a4, b4, b_mac},
		{6, true, a6, b6, nobody}, {6, true, a6, b6, b_mac}, {6, false, a6, b6, b_mac},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct neighbour_msg in = msg(rows[i].family, rows[i].request, a_mac,
					      rows[i].sender, rows[i].target, rows[i].to);
		struct neighbour_msg out;
		uint8_t frame[NEIGHBOUR_MSG_MAX];
		uint16_t len = neighbour_build(frame, &in);

		assert_true(neighbour_parse(frame, len, &out));
		assert_int_equal(out.family, in.family);
		assert_int_equal(out.request, in.request);
		assert_true(out.has_mac);
		assert_memory_equal(out.sender_mac, a_mac, 6);
		assert_memory_equal(out.from_mac, a_mac, 6);
		assert_memory_equal(out.sender, in.sender, 16);
		assert_memory_equal(out.target, in.target, 16);
		if (in.family == 6)
			assert_int_equal(sum_of(frame), 0xffff);
		if (!in.request) {
			assert_true(out.solicited);
			assert_true(out.overrides);
		}
	}
}

// Who probes whether its address is free has no address yet: all nodes hear the answer.
static void a_probe_for_duplicates_is_answered_to_all(void **state)
{
	static const uint8_t none[16];
	struct neighbour_msg tell = msg(6, false, a_mac, a6, none, b_mac);
	struct neighbour_msg out;
	uint8_t frame[NEIGHBOUR_MSG_MAX];

	(void)state;
	assert_true(neighbour_parse(frame, neighbour_build(frame, &tell), &out));
	assert_memory_equal(frame, ((uint8_t[]){0x33, 0x33, 0, 0, 0, 1}), 6);
	assert_memory_equal(frame + 38, ((uint8_t[]){0xff, 2}), 2);
	assert_int_equal(frame[53], 1);
	assert_false(out.solicited);
	assert_int_equal(frame[58] & 0x40, 0); // a group cannot have asked
}

static void every_shorter_frame_is_refused(void **state)
{
	const struct neighbour_msg in[] = {msg(4, true, a_mac, a4, b4, nobody),
					   msg(6, true, a_mac, a6, b6, nobody)};
	static const uint32_t least[] = {42, 86}; // ARP is padded
	struct neighbour_msg out;
	uint8_t frame[NEIGHBOUR_MSG_MAX];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		neighbour_build(frame, &in[i]);
		for (uint32_t len = 0; len < least[i]; len++)
			assert_false(neighbour_parse(frame, len, &out));
		assert_true(neighbour_parse(frame, least[i], &out));
	}
}

// Byte `at` becomes `value`; where it is covered the checksum is mended, so that it alone decides.
static const struct {
	uint8_t family, at, value;
	bool mend;
	const char *what;
} spoilt[] = {
	{4, 15, 2, false, "another hardware"},
	{4, 17, 1, false, "another protocol"},
	{4, 18, 8, false, "hardware addresses of 8 bytes"},
	{4, 19, 16, false, "protocol addresses of 16 bytes"},
	{4, 21, 3, false, "RARP"},
	{4, 22, 3, false, "a group as sender"},
	{4, 6, 3, false, "sent by a group"},
	{6, 14, 0x50, false, "IP version 5"},
	{6, 20, 59, false, "not ICMPv6"},
	{6, 21, 254, false, "has crossed a router"},
	{6, 19, 23, false, "shorter than its header"},
	{6, 19, 33, false, "longer than the frame"},
	{6, 56, 0, false, "a wrong checksum"},
	{6, 55, 1, true, "a code"},
	{6, 54, 133, true, "a router solicitation"},
	{6, 62, 0xff, true, "asks for a group"},
	{6, 22, 0xff, true, "asked by a group"},
	{6, 79, 0, true, "an option without length"},
	{6, 79, 2, true, "an option beyond the frame"},
	{6, 80, 3, true, "a group's address as the sender's"},
};

static void mend(uint8_t *f)
{
	uint16_t sum;

	f[56] = f[57] = 0;
	sum = (uint16_t)~sum_of(f);
	f[56] = (uint8_t)(sum >> 8);
	f[57] = (uint8_t)sum;
}

static void what_does_not_hold_is_refused(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		bool v6 = spoilt[i].family == 6;
		struct neighbour_msg in = msg(spoilt[i].family, true, a_mac, v6 ? a6 : a4,
					      v6 ? b6 : b4, nobody);
		struct neighbour_msg out;
		uint8_t frame[NEIGHBOUR_MSG_MAX];
		uint16_t len = neighbour_build(frame, &in);

		assert_true(neighbour_parse(frame, len, &out));
		frame[spoilt[i].at] = spoilt[i].value;
		if (spoilt[i].mend)
			mend(frame);
		if (neighbour_parse(frame, len, &out))
			fail_msg("%s is believed", spoilt[i].what);
	}
}

static void a_solicited_advertisement_to_a_group_is_refused(void **state)
{
	static const uint8_t none[16];
	struct neighbour_msg tell = msg(6, false, a_mac, a6, none, nobody), out;
	uint8_t frame[NEIGHBOUR_MSG_MAX];
	uint16_t len = neighbour_build(frame, &tell);

	(void)state;
	assert_true(neighbour_parse(frame, len, &out));
	frame[58] |= 0x40;
	mend(frame);
	assert_int_equal(sum_of(frame), 0xffff);
	assert_false(neighbour_parse(frame, len, &out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arp_is_written_as_rfc_826_says),
		cmocka_unit_test(a_solicitation_goes_to_the_group_of_its_target),
		cmocka_unit_test(what_is_written_is_read_the_same),
		cmocka_unit_test(a_probe_for_duplicates_is_answered_to_all),
		cmocka_unit_test(every_shorter_frame_is_refused),
		cmocka_unit_test(what_does_not_hold_is_refused),
		cmocka_unit_test(a_solicited_advertisement_to_a_group_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
