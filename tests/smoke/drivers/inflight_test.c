// SPDX-License-Identifier: Apache-2.0
// A transmit ring seen through descriptor states, against a pretended NIC that sends in order.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/ethdev/inflight.h"

enum { SIZE = 64 };

// The NIC: everything before `sent` has left. It is asked for the descriptor `offset` places after
// the tail, which on a ring is the one that many places before its end.
static bool nic_busy(uint32_t tail, uint32_t sent, uint16_t offset)
{
	uint32_t frame = tail + offset - SIZE;

	assert_in_range(offset, 0, SIZE - 1);
	return frame >= sent && frame < tail;
}

static void reap(struct inflight *f, uint32_t sent)
{
	while (inflight_frames(f) > 0 && !nic_busy(f->tail, sent, inflight_oldest_offset(f)))
		inflight_pop(f);
}

static void bytes_are_those_of_the_frames_that_have_not_left(void **state)
{
	struct inflight f = {.size = SIZE};
	uint32_t sent = 0, pushed = 0;

	(void)state;
	for (unsigned round = 0; round < 1000; round++) {
		for (unsigned i = 0; i < round % 7 && pushed - sent < SIZE - 1; i++)
			inflight_push(&f, 60 + pushed++ % 1400);
		if (pushed > sent)
			sent += round % (pushed - sent + 1);
		uint32_t want = 0;

		for (uint32_t k = sent; k < pushed; k++)
			want += 60 + k % 1400;
		reap(&f, sent);
		assert_int_equal(inflight_frames(&f), pushed - sent);
		assert_int_equal(f.bytes, want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_those_of_the_frames_that_have_not_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
