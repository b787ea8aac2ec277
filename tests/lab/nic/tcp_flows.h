// SPDX-License-Identifier: Apache-2.0
// TCP flows between the two NICs of a loop (loop.h), for tests.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/lab/nic/loop.h"

static inline struct nic_flow tcp_flow(enum tcp_cc cc, bool ecn)
{
	return (struct nic_flow){
		.dst_ip = ip_key_v4(LOOP_IP1),
		.cls = 0,
		.ecn = ecn ? NIC_ECT0 : NIC_NOT_ECT,
		.mtu = 1460,
		.is_tcp = true,
		.tcp = {.cc = (uint8_t)cc, .ecn = ecn, .ack_every = 2, .initial_segments = 10,
			.window_bytes = 1 << 20, .g_num = 1, .g_den = 16, .rto_min_ns = 1000000,
			.rto_initial_ns = 10000000, .delayed_ack_ns = 100000},
	};
}

// Side 0 to side 1; both know each other's address from then on.
static inline uint32_t tcp_connect(struct loop *l, const struct nic_flow *f)
{
	static const uint8_t mac[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
	uint32_t id;

	assert_int_equal(nic_peer_set(l->nic[0], ip_key_v4(LOOP_IP1), mac[1]), 0);
	assert_int_equal(nic_peer_set(l->nic[1], ip_key_v4(LOOP_IP0), mac[0]), 0);
	assert_int_equal(nic_connect(l->nic[0], f, l->nic[1], &id), 0);
	l->wake_ns[0] = l->now_ns;
	return id;
}
