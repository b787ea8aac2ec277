// SPDX-License-Identifier: Apache-2.0
// A capture of a switch that is slowed by time_scale.
#include "control/base/model_time.h"
#include "tests/unit/capture/capture_world.h"

static const struct tap_meta in_p1 = {.port = 0, .direction = TAP_IN, .cls = 3};

static void frames_of_a_slowed_switch_carry_its_time_and_timeouts_stay_real(void **state)
{
	struct json_object *v = NULL;
	struct capture_record r;
	uint8_t bytes[64];

	end(state);
	begin_scaled(500);
	run_capture(CAPTURE_ALL_PORTS, "{\"snaplen\": 4}");
	frame(0, T0 + 1000000, "late", in_p1);
	read_for(CLIENT, 100);
	agree();
	turn();
	assert_int_equal(w.n_answers, 1);
	w.now_ns += 1000 * MS;
	turn();
	assert_string_equal(frames(), ""); // 100 ms of the wall are over
	read_for(CLIENT, 100);
	agree();
	turn();
	agree();
	turn();
	assert_string_equal(frames(), "late");
	assert_true(json_object_object_get_ex(w.data, "frames", &v));
	assert_true(base64_decode(bytes, json_object_get_string(v), base64_len(sizeof(r) + 4)));
	memcpy(&r, bytes, sizeof(r));
	assert_int_equal(r.t_ns, WALL + 1000000);
	w.now_ns += CAPTURE_SILENCE_NS + 1;
	turn();
	assert_null(w.sw.tap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			frames_of_a_slowed_switch_carry_its_time_and_timeouts_stay_real,
			begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
