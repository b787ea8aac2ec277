// SPDX-License-Identifier: Apache-2.0
// Capture files byte for byte, and that no input makes one that cannot be walked block by block.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"

struct file {
	FILE *out;
	char *bytes;
	size_t len;
};

static void file_begin(struct file *f)
{
	f->out = open_memstream(&f->bytes, &f->len);
	assert_non_null(f->out);
}

static void file_end(struct file *f)
{
	assert_int_equal(fclose(f->out), 0);
}

static uint32_t u32(const char *at)
{
	uint8_t b[4];

	memcpy(b, at, 4);
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static unsigned u16(const char *at)
{
	return u32(at) & 0xffff; // every 16-bit field has two more bytes behind it
}

// Walks all blocks; the type of each goes to types. Returns how many.
static unsigned walk(const struct file *f, uint32_t *types, unsigned max)
{
	unsigned n = 0;

	for (size_t at = 0; at < f->len; n++) {
		uint32_t total = u32(f->bytes + at + 4);

		assert_true(n < max);
		assert_true(total >= 12 && total % 4 == 0 && total <= f->len - at);
		assert_int_equal(u32(f->bytes + at + total - 4), total);
		types[n] = u32(f->bytes + at);
		at += total;
	}
	return n;
}

// An option of the block at `at` whose fixed part has `skip` bytes; NULL: it has none.
static const char *option(const char *at, size_t skip, unsigned code, unsigned *len)
{
	const char *end = at + u32(at + 4) - 4;

	for (at += 8 + skip; at < end; at += 4 + ((u16(at + 2) + 3) & ~3u)) {
		if (u16(at) == 0)
			break;
		if (u16(at) == code) {
			*len = u16(at + 2);
			return at + 4;
		}
	}
	return NULL;
}

static void every_block_has_the_bytes_that_the_format_asks_for(void **state)
{
	static const uint8_t section[] = {
		0x0a, 0x0d, 0x0d, 0x0a, 40, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		4, 0, 4, 0, 'w', 'e', 'i', 'r', 0, 0, 0, 0, 40, 0, 0, 0,
	};
	static const uint8_t second_interface[] = {
		1, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 0xf2, 5, 0, 0,
		2, 0, 2, 0, 'p', '2', 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0,
	};
	static const uint8_t sent_head[] = {
		6, 0, 0, 0, 96, 0, 0, 0, 1, 0, 0, 0,
		0xfe, 0x9c, 0x97, 0x17, 0x16, 0xcd, 0x85, 0x3d, // GOLDEN_T_NS + 1, in two words
		24, 0, 0, 0, 33, 0, 0, 0,
	};
	static const uint8_t sent_tail[] = {
		1, 0, 15, 0, 'd', 'i', 'r', '=', 'o', 'u', 't', ' ', 'c', 'l', 'a', 's', 's', '=',
		'3', 0, 2, 0, 4, 0, 2, 0, 0, 0, 6, 0, 4, 0, 3, 0, 0, 0, 0, 0, 0, 0, 96, 0, 0, 0,
	};
	struct file f;
	const char *at;

	(void)state;
	file_begin(&f);
	assert_true(golden_write(f.out));
	file_end(&f);
	at = f.bytes;
	assert_memory_equal(at, section, sizeof(section));
	at += u32(at + 4);
	at += u32(at + 4);
	assert_memory_equal(at, second_interface, sizeof(second_interface));
	at += u32(at + 4);
	at += u32(at + 4);
	assert_memory_equal(at, sent_head, sizeof(sent_head));
	assert_memory_equal(at + 28, golden_frame, 24);
	assert_memory_equal(at + 52, sent_tail, sizeof(sent_tail));
	free(f.bytes);
}

static void a_file_has_its_blocks_in_the_order_written(void **state)
{
	static const uint32_t want[] = {0x0a0d0d0a, 1, 1, 6, 6, 5};
	uint32_t types[8];
	struct file f;

	(void)state;
	file_begin(&f);
	assert_true(golden_write(f.out));
	file_end(&f);
	assert_int_equal(walk(&f, types, 8), 6);
	assert_memory_equal(types, want, sizeof(want));
	free(f.bytes);
}

static void frames_of_every_length_are_padded_and_keep_their_bytes(void **state)
{
	uint8_t data[64];

	(void)state;
	memset(data, 0xee, sizeof(data));
	for (uint32_t len = 0; len <= sizeof(data); len++) {
		const struct pcapng_frame frame = {.data = data, .captured = len, .len = len + 5,
						   .queue = PCAPNG_NO_QUEUE};
		uint32_t type;
		struct file f;

		file_begin(&f);
		assert_true(pcapng_frame(f.out, &frame));
		file_end(&f);
		assert_int_equal(walk(&f, &type, 1), 1);
		assert_int_equal(f.len, 32 + ((len + 3) & ~3u) + 4);
		assert_int_equal(u32(f.bytes + 20), len);
		assert_int_equal(u32(f.bytes + 24), len + 5);
		assert_memory_equal(f.bytes + 28, data, len);
		for (size_t i = 28 + len; i < f.len - 4; i++)
			assert_int_equal(f.bytes[i], 0);
		free(f.bytes);
	}
}

static void texts_and_frames_beyond_the_limit_are_cut(void **state)
{
	static char text[5 * PCAPNG_MAX_TEXT];
	static uint8_t data[PCAPNG_MAX_FRAME + 100];
	const struct pcapng_interface interface = {.name = text, .description = text,
						   .filter = text, .speed_bps = 1};
	const struct pcapng_frame frame = {.data = data, .captured = sizeof(data),
					   .len = sizeof(data), .comment = text,
					   .direction = PCAPNG_INBOUND, .queue = 7};
	uint32_t types[3];
	struct file f;
	unsigned len;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	file_begin(&f);
	assert_true(pcapng_section(f.out, text));
	assert_true(pcapng_interface(f.out, &interface));
	assert_true(pcapng_frame(f.out, &frame));
	file_end(&f);
	assert_int_equal(walk(&f, types, 3), 3);
	assert_non_null(option(f.bytes, 16, 4, &len));
	assert_true(len > 1000 && len < PCAPNG_MAX_TEXT);
	free(f.bytes);
}

static void statistics_tell_what_was_lost(void **state)
{
	static const struct {
		unsigned code;
		uint32_t value;
	} row[] = {{4, 10}, {5, 1}, {7, 0}, {6, 2}, {8, 1}};
	uint32_t types[8];
	const char *at;
	struct file f;

	(void)state;
	file_begin(&f);
	assert_true(golden_write(f.out));
	file_end(&f);
	assert_int_equal(walk(&f, types, 8), 6);
	for (at = f.bytes; u32(at) != 5;)
		at += u32(at + 4);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		unsigned len = 0;
		const char *v = option(at, 12, row[i].code, &len);

		if (row[i].code == 7) { // what the operating system dropped: not ours to tell
			assert_null(v);
			continue;
		}
		assert_non_null(v);
		assert_int_equal(len, 8);
		assert_int_equal(u32(v), row[i].value);
		assert_int_equal(u32(v + 4), 0);
	}
	free(f.bytes);
}

static void a_stream_that_fails_is_noticed(void **state)
{
	FILE *out = fopen("/dev/full", "w");

	(void)state;
	if (out == NULL)
		skip();
	setvbuf(out, NULL, _IONBF, 0);
	assert_false(pcapng_section(out, "weir"));
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_block_has_the_bytes_that_the_format_asks_for),
		cmocka_unit_test(a_file_has_its_blocks_in_the_order_written),
		cmocka_unit_test(frames_of_every_length_are_padded_and_keep_their_bytes),
		cmocka_unit_test(texts_and_frames_beyond_the_limit_are_cut),
		cmocka_unit_test(statistics_tell_what_was_lost),
		cmocka_unit_test(a_stream_that_fails_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
