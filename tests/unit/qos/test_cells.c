// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/cells.h"
#include "tests/unit/qos/test.h"

static void cells_are_exact_for_every_length(void **state)
{
	static const uint32_t cell_bytes[] = {32,  64,   80,	 96,   128,  144,	160, 208,
					      254, 256,  512, 1000, 1024, 2048, 4096, 9216};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cell_bytes); i++) {
		uint32_t b = cell_bytes[i];
		struct cell_size cs = cell_size_of(b);

		for (uint32_t len = 0; len + b <= 65536; len++)
			if (cells_of(&cs, len) != (len + b - 1) / b)
				fail_msg("cell %u, length %u: %u cells", b, len,
					 cells_of(&cs, len));
	}
}

static void every_cell_size_is_exact_around_its_multiples(void **state)
{
	(void)state;
	for (uint32_t b = 32; b <= 9216; b++) {
		struct cell_size cs = cell_size_of(b);

		for (uint32_t n = 1; (n + 1) * b + 1 <= 65536; n++) {
			assert_int_equal(cells_of(&cs, n * b - 1), n);
			assert_int_equal(cells_of(&cs, n * b), n);
			assert_int_equal(cells_of(&cs, n * b + 1), n + 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_are_exact_for_every_length),
		cmocka_unit_test(every_cell_size_is_exact_around_its_multiples),
	};

	return cmocka_run_group_tests_name("cells", tests, NULL, NULL);
}
