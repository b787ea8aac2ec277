// SPDX-License-Identifier: Apache-2.0
// The small parts of the NIC: serial numbers, histogram, timers, ARP, connection messages,
// source port.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/base/rng.h"
#include "dataplane/packet/cm.h"
#include "dataplane/packet/psn.h"
#include "dataplane/packet/wire.h"
#include "drivers/nic/frames.h"
#include "drivers/nic/hist.h"
#include "drivers/nic/timers.h"

static void psn_arithmetic_wraps_at_24_bits(void **state)
{
	(void)state;
	assert_int_equal(psn_add(0xffffff, 1), 0);
	assert_int_equal(psn_add(5, 0x1000000), 5);
	assert_int_equal(psn_diff(0, 0xffffff), 1);
	assert_int_equal(psn_diff(0xffffff, 0), -1);
	assert_int_equal(psn_diff(0x7fffff, 0), 0x7fffff);
	assert_int_equal(psn_diff(0x800000, 0), -0x800000);
}

static void quantiles_are_at_most_one_bucket_high(void **state)
{
	static struct hist h;

	(void)state;
	assert_int_equal(hist_quantile(&h, 500), 0);
	for (uint64_t i = 1; i <= 100000; i++)
		hist_add(&h, i);
	assert_in_range(hist_quantile(&h, 500), 50000, 50000 + 50000 / 64);
	assert_in_range(hist_quantile(&h, 990), 99000, 99000 + 99000 / 64);
	assert_int_equal(hist_quantile(&h, 1000), 100000);
	for (unsigned shift = 0; shift < 64; shift++) {
		unsigned b = hist_bucket(1ull << shift);

		assert_true(b < HIST_BUCKETS);
		assert_true(hist_bucket_max(b) >= 1ull << shift);
		assert_int_equal(hist_bucket(hist_bucket_max(b)), b);
	}
	assert_int_equal(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
}

static void timers_give_the_earliest(void **state)
{
	enum { N = 37 };
	struct rng rng = {.state = 3};
	struct timers t;

	(void)state;
	assert_int_equal(timers_init(&t, N), 0);
	assert_int_equal(timers_next(&t), UINT64_MAX);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t first = UINT64_MAX;

		timers_set(&t, rng_next(&rng) % N, rng_next(&rng) % 100);
		for (unsigned k = 0; k < N; k++)
			first = t.due_ns[k] < first ? t.due_ns[k] : first;
		assert_int_equal(timers_next(&t), first);
		assert_int_equal(t.due_ns[timers_first(&t)], first);
	}
	timers_fini(&t);
}

static void connection_messages_have_the_fields_where_a_switch_looks(void **state)
{
	struct cm_msg m = {.attr = CM_REQ, .local_id = 0x11223344, .qpn = 0xabcdef, .psn = 0x123456,
			   .mtu = 4096, .tos = 0x62, .src_ip = ip_key_v4(1), .dst_ip = ip_key_v4(2),
			   .tid = 77, .psn_wish = 0xfffffe};
	uint8_t mad[CM_MAD_LEN];
	struct cm_msg got;

	(void)state;
	cm_build(mad, &m);
	assert_int_equal(mad[1], 7);
	assert_int_equal(be16_get(mad + 16), 0x0010);
	assert_int_equal(be24_get(mad + 56), 0xabcdef);
	assert_int_equal(be24_get(mad + 68), 0x123456);
	assert_true(cm_parse(mad, sizeof(mad), &got));
	assert_memory_equal(&got, &m, sizeof(m));
	assert_false(cm_parse(mad, CM_MAD_LEN - 1, &got));
	m = (struct cm_msg){.attr = CM_REP, .local_id = 1, .remote_id = 2, .qpn = 0xabcdef,
			    .psn = 0x123456, .rkey = 3, .va = 4, .region_bytes = 5};
	cm_build(mad, &m);
	assert_int_equal(be24_get(mad + 36), 0xabcdef);
	assert_int_equal(be24_get(mad + 44), 0x123456);
	assert_true(cm_parse(mad, sizeof(mad), &got));
	assert_memory_equal(&got, &m, sizeof(m));
	mad[17] = 0x99;
	assert_false(cm_parse(mad, sizeof(mad), &got));
}

static void mtu_codes(void **state)
{
	(void)state;
	assert_int_equal(cm_mtu_code(256), 1);
	assert_int_equal(cm_mtu_code(4096), 5);
	assert_int_equal(cm_mtu_code(1500), 0);
	assert_int_equal(cm_mtu_code(0), 0);
	assert_int_equal(cm_mtu_of(6), 0);
}

static void source_port_is_what_linux_derives(void **state)
{
	(void)state;
	assert_int_equal(roce_udp_sport(329, 328), 58766);
	assert_int_equal(roce_udp_sport(328, 329), 58766);
}

static void shifted_payload_is_noticed(void **state)
{
	static struct payload_table t;

	(void)state;
	payload_table_init(&t);
	assert_true(payload_ok(&t, 1000000, payload_at(&t, 1000000), 1024));
	for (unsigned shift = 1; shift < PAYLOAD_PERIOD; shift++)
		assert_false(payload_ok(&t, 1000000 + shift, payload_at(&t, 1000000), 64));
	assert_false(payload_ok(&t, 0, payload_at(&t, 1024), 1024));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(psn_arithmetic_wraps_at_24_bits),
		cmocka_unit_test(quantiles_are_at_most_one_bucket_high),
		cmocka_unit_test(timers_give_the_earliest),
		cmocka_unit_test(connection_messages_have_the_fields_where_a_switch_looks),
		cmocka_unit_test(mtu_codes),
		cmocka_unit_test(source_port_is_what_linux_derives),
		cmocka_unit_test(shifted_payload_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
