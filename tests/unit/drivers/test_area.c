// SPDX-License-Identifier: Apache-2.0
// Memory of an AF_XDP port for its rings: no chunk is in two hands, and none is lost.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "drivers/xdp/area.h"

enum { CHUNKS = 300, CHUNK = 2048 };

static void each_chunk_is_handed_out_once(void **state)
{
	struct xdp_area a;
	uint8_t out[CHUNKS] = {0};

	(void)state;
	assert_int_equal(xdp_area_open(&a, CHUNKS, CHUNK), 0);
	assert_int_equal(a.len, CHUNKS * CHUNK);
	for (unsigned round = 0; round < 2; round++) {
		memset(out, 0, sizeof(out));
		for (unsigned i = 0; i < CHUNKS; i++) {
			uint64_t addr = xdp_area_take(&a);

			assert_int_equal(addr % CHUNK, 0);
			assert_true(addr < a.len);
			assert_int_equal(out[addr / CHUNK]++, 0);
		}
		assert_int_equal(a.n_free, 0);
		if (round == 0)
			xdp_area_reset(&a); // all are out, as when a socket is closed
	}
	// The kernel names a received frame by the place of its first byte.
	for (unsigned i = 0; i < CHUNKS; i++)
		xdp_area_give(&a, (uint64_t)i * CHUNK + 256);
	assert_int_equal(a.n_free, CHUNKS);
	assert_int_equal(xdp_area_take(&a), (CHUNKS - 1) * CHUNK);
	xdp_area_close(&a);
}

static void what_is_sent_is_copied_and_counted(void **state)
{
	struct xdp_area a;
	uint8_t frame[CHUNK];
	uint64_t addr[3];

	(void)state;
	assert_int_equal(xdp_area_open(&a, 3, CHUNK), 0);
	for (unsigned i = 0; i < 3; i++) {
		memset(frame, (int)i + 1, sizeof(frame));
		addr[i] = xdp_area_put(&a, frame, i == 2 ? CHUNK : 60 + i);
	}
	assert_int_equal(a.n_free, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(a.memory[addr[i]], i + 1);
	assert_int_equal(xdp_area_sent(&a, addr[1]), 61);
	assert_int_equal(xdp_area_sent(&a, addr[2]), CHUNK);
	assert_int_equal(xdp_area_sent(&a, addr[0]), 60);
	assert_int_equal(a.n_free, 3);
	xdp_area_close(&a);
}

static void one_that_is_not_open_is_closed_and_reset_as_nothing(void **state)
{
	struct xdp_area a = {0};

	(void)state;
	xdp_area_reset(&a);
	xdp_area_close(&a);
	assert_null(a.memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_chunk_is_handed_out_once),
		cmocka_unit_test(what_is_sent_is_copied_and_counted),
		cmocka_unit_test(one_that_is_not_open_is_closed_and_reset_as_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
