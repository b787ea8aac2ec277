// SPDX-License-Identifier: Apache-2.0
// Published numbers: SONiC's headroom table for a Mellanox MSN2700 and the thresholds of the DCQCN
// paper, section 4.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "dataplane/qos/headroom.h"

#define G 1000000000ull

// Cell 96, 64 B frames only, lossless MTU 1024, port MTU 9100, 0.8 KiB in MAC and PHY.
static uint64_t msn2700(uint64_t speed_bps, uint64_t cable_m, uint32_t response)
{
	const struct headroom_in in = {
		.speed_bps = speed_bps,
		.cable_cm = cable_m * 100,
		.cell_bytes = 96,
		.lossless_mtu = 1024,
		.port_mtu = 9100,
		.mac_phy = 819,
		.peer_response = response == 0 ? headroom_peer_response(speed_bps) : response,
		.small_frames_ppm = 1000000,
	};

	return headroom_xoff(&in);
}

static void xoff_equals_the_published_table(void **state)
{
	static const struct {
		uint64_t speed, cable_m;
		uint32_t response;
		uint64_t xoff;
	} rows[] = {
		{10 * G, 5, 3891, 29696},   {40 * G, 300, 3891, 59392},	  {100 * G, 5, 3891, 30720},
		{100 * G, 40, 3891, 38912}, {100 * G, 300, 3891, 104448}, {100 * G, 300, 0, 147456},
		{10 * G, 300, 0, 37888},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(msn2700(rows[i].speed, rows[i].cable_m, rows[i].response),
				 rows[i].xoff);
}

static void peer_response_follows_the_speed(void **state)
{
	static const struct {
		uint64_t speed, quanta;
	} rows[] = {{1 * G, 2},	    {10 * G, 67},   {25 * G, 80},   {40 * G, 118},
		    {50 * G, 147},  {100 * G, 394}, {200 * G, 453}, {400 * G, 905},
		    {800 * G, 905}, {G / 10, 2},    {12 * G, 80}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(headroom_peer_response(rows[i].speed), rows[i].quanta * 64);
}

// 12,000 KB, 32 ports, 22.4 KB in flight for each lossless class of a port.
static void dynamic_ecn_bounds_of_the_paper(void **state)
{
	static const struct {
		unsigned k;
		int alpha_log2;
		uint64_t bound;
	} rows[] = {{8, -3, 12237}, {8, -2, 16316}, {8, -1, 19580},
		    {8, 0, 21755},  {8, 1, 23035},  {2, 0, 110066}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t f = 12000000 - rows[i].k * 32ull * 22400;

		assert_int_equal(headroom_ecn_bound(f, 0, 32, rows[i].k, rows[i].alpha_log2),
				 rows[i].bound);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xoff_equals_the_published_table),
		cmocka_unit_test(peer_response_follows_the_speed),
		cmocka_unit_test(dynamic_ecn_bounds_of_the_paper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
