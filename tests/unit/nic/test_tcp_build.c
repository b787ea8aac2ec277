// SPDX-License-Identifier: Apache-2.0
// TCP segments as bytes: frames that scapy 2.5 built, and frames that nobody should build.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/base/rng.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"
#include "drivers/nic/frames.h"

enum { L4 = 34, OFFSET = L4 + 12, OPTIONS = L4 + 20, ROOM = 128 };

static const struct frame_addr addr = {.src_mac = {2, 0, 0, 0, 0, 1}, .dst_mac = {2, 0, 0, 0, 0, 2},
				     .src_ip = {0, 0xffff0a000001}, .dst_ip = {0, 0xffff0a000002},
				     .sport = 0x8001, .dport = 0x9002};
static const struct tcp_seg syn = {.seq = 0xfffffff0, .window = 65535, .mss = 1460, .scale = 5,
				   .sack_ok = true, .flags = TCP_SYN | TCP_ECE | TCP_CWR};
static const struct tcp_seg sacks = {.seq = 1, .ack = 0x01020304, .window = 0x1234, .scale = -1,
				     .flags = TCP_ACK | TCP_ECE, .n_sacks = 2,
				     .sacks = {{0x01020904, 0x01020d04}, {0x01021104, 0x01021504}}};
static const struct tcp_seg data = {.seq = 2, .ack = 3, .window = 1, .scale = -1, .len = 5,
				    .flags = TCP_PSH | TCP_ACK};

static const struct golden {
	const struct tcp_seg *seg;
	uint16_t ip_id;
	uint8_t tos;
	const char *hex;
} golden[] = {
	{&syn, 7, 0,
	 "02000000000202000000000108004500003400074000400626bb0a0000010a00"
	 "000280019002fffffff00000000080c2ffff4a5c0000020405b4010303050101"
	 "0402"},
	{&sacks, 8, 0,
	 "02000000000202000000000108004500003c00084000400626b20a0000010a00"
	 "0002800190020000000101020304a0501234df13000001010512010209040102"
	 "0d040102110401021504"},
	{&data, 9, 0x6a,
	 "0200000000020200000000010800456a002d00094000400626560a0000010a00"
	 "00028001900200000002000000035018000137e30000776569727300"},
};

static uint32_t build_as(const struct golden *g, const struct tcp_seg *s, uint8_t out[ROOM])
{
	struct frame_addr a = addr;
	uint32_t len = tcp_frame_len(s, 0);

	a.ip_id = g->ip_id;
	a.tos = g->tos;
	tcp_build(out, len, &a, s, (const uint8_t *)"weirs");
	return len;
}

static uint32_t build(const struct golden *g, uint8_t out[ROOM])
{
	return build_as(g, g->seg, out);
}

// `stored` bytes of a frame of len bytes, in memory that ends behind them.
static enum frame_read read_frame(const uint8_t *frame, uint32_t len, uint32_t stored,
				struct tcp_seg *s)
{
	uint8_t *copy = malloc(stored);
	const uint8_t *payload = NULL;
	enum frame_read r = FRAME_SHORT;
	struct pkt_info info;
	struct frame_addr a;

	memcpy(copy, frame, stored);
	if (parse(copy, stored, &info) && info.kind == PKT_IPV4 && info.ip_proto == IP_PROTO_TCP)
		r = tcp_read(copy, len, stored, &info, &a, s, &payload);
	if (r == FRAME_OK) {
		assert_true(s->n_sacks <= TCP_MAX_SACKS && s->len <= len);
		assert_true(payload == NULL || payload + s->len <= copy + stored);
	}
	free(copy);
	return r;
}

static void segments_are_the_bytes_that_others_build_and_read_as_they_were(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		uint8_t frame[ROOM], again[ROOM];
		char hex[2 * ROOM + 1];
		uint32_t len = build(&golden[i], frame);
		struct tcp_seg s;

		for (uint32_t k = 0; k < len; k++)
			snprintf(hex + 2 * (size_t)k, 3, "%02x", frame[k]);
		assert_string_equal(hex, golden[i].hex);
		assert_int_equal(read_frame(frame, len, len, &s), FRAME_OK);
		assert_int_equal(build_as(&golden[i], &s, again), len);
		assert_memory_equal(again, frame, len);
	}
}

static void a_frame_that_is_cut_anywhere_is_refused(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		uint8_t frame[ROOM];
		uint32_t len = build(&golden[i], frame);
		uint32_t end = golden[i].seg->len != 0 ? len - 1 : len; // one byte pads `data`
		struct tcp_seg s;

		for (uint32_t cut = ETH_HLEN_; cut < end; cut++)
			assert_int_equal(read_frame(frame, cut, cut, &s), FRAME_SHORT);
	}
}

static void a_header_shorter_than_its_least_or_longer_than_the_segment_is_refused(void **state)
{
	uint8_t frame[ROOM] = {0}; // the segment, and a pad that would hold the longest header
	struct tcp_seg s;

	(void)state;
	build(&golden[0], frame);
	for (unsigned words = 0; words < 16; words++) {
		frame[OFFSET] = (uint8_t)(words << 4);
		assert_int_equal(read_frame(frame, ROOM, ROOM, &s),
				 words < 5 || words > 8 ? FRAME_SHORT
				 : words == 8	       ? FRAME_OK
						       : FRAME_CHECKSUM);
	}
}

// Options of `syn` from the start, and the MSS that is read. Of a frame that is not stored as a
// whole nothing verifies the checksum.
static void options_that_do_not_hold_are_as_if_they_were_absent(void **state)
{
	static const struct {
		uint8_t bytes[12];
		uint16_t mss;
		int8_t scale;
		uint8_t n_sacks;
	} rows[] = {
		{{2, 4, 1, 0, 3, 3, 7, 0}, 256, 7, 0},
		{{3, 3, 0xff, 2, 4, 1, 0, 0}, 256, 127, 0},
		{{2, 3, 1, 0}, 0, -1, 0}, // another length than that of the kind
		{{2, 0, 2, 4, 1, 0}, 0, -1, 0}, // ends the walk: it would not go on
		{{2, 1, 2, 4, 1, 0}, 0, -1, 0},
		{{9, 13, 2, 4, 1, 0}, 0, -1, 0}, // longer than what is left
		{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}, 0, -1, 0}, // a kind without a length
		{{5, 10, 0, 0, 0, 9, 0, 0, 0, 1, 1, 1}, 0, -1, 1}, // whatever it says
		{{5, 12, 0, 0, 0, 9, 0, 0, 0, 1, 1, 1}, 0, -1, 1}, // half a block more
		{{5, 18, 0, 0, 0, 9, 0, 0, 0, 1, 1, 1}, 0, -1, 0},
	};
	uint8_t frame[ROOM];
	uint32_t len = build(&golden[0], frame);
	struct tcp_seg s;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memcpy(frame + OPTIONS, rows[i].bytes, sizeof(rows[i].bytes));
		assert_int_equal(read_frame(frame, len + 1, len, &s), FRAME_OK);
		assert_int_equal(s.mss, rows[i].mss);
		assert_int_equal(s.scale, rows[i].scale);
		assert_int_equal(s.n_sacks, rows[i].n_sacks);
	}
}

static void nothing_beyond_a_frame_is_read(void **state)
{
	struct rng r;

	(void)state;
	rng_init(&r, 1);
	for (unsigned i = 0; i < 200000; i++) {
		uint8_t frame[ROOM];
		uint32_t len = build(&golden[rng_next(&r) % 3], frame), cut;
		struct tcp_seg s;

		for (unsigned n = rng_next(&r) % 4; n != 0; n--)
			frame[ETH_HLEN_ + rng_next(&r) % (len - ETH_HLEN_)] = (uint8_t)rng_next(&r);
		cut = rng_next(&r) % 2 ? len : ETH_HLEN_ + rng_next(&r) % (len - ETH_HLEN_);
		read_frame(frame, cut + rng_next(&r) % 2, cut, &s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_are_the_bytes_that_others_build_and_read_as_they_were),
		cmocka_unit_test(a_frame_that_is_cut_anywhere_is_refused),
		cmocka_unit_test(
			a_header_shorter_than_its_least_or_longer_than_the_segment_is_refused),
		cmocka_unit_test(options_that_do_not_hold_are_as_if_they_were_absent),
		cmocka_unit_test(nothing_beyond_a_frame_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
