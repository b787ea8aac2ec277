// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/packet/classify.h"
#include "tests/unit/packet/frames.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

enum { DEFAULT_CLASS = 5 };

// Maps in which no two neighbours agree, so that a wrong index shows.
static struct classify_params params(enum trust trust)
{
	struct classify_params p = {.trust = (uint8_t)trust, .default_class = DEFAULT_CLASS};

	for (unsigned d = 0; d < 64; d++) {
		p.dscp_to_class[d] = (uint8_t)(d * 3 % 8);
		p.dscp_to_color[d] = (uint8_t)(d % N_COLORS);
	}
	for (unsigned c = 0; c < 8; c++)
		p.pcp_to_class[c] = (uint8_t)(7 - c);
	return p;
}

static struct classified classified(enum trust trust, const struct frame_spec *s)
{
	struct classify_params p = params(trust);
	uint8_t f[FRAME_MAX];
	uint32_t len = frame_roce(f, s);
	struct pkt_info info;

	assert_true(parse(f, len, &info));
	return classify(&p, &info);
}

// Calls check for every DSCP, ECN and PCP, over IPv4 and IPv6, with none, one and two tags.
static void for_all_frames(void (*check)(const struct frame_spec *s))
{
	for (unsigned i = 0; i < 64 * 4 * 8 * 2 * 3; i++) {
		struct frame_spec s = {
			.tos = (uint8_t)i,
			.v6 = i >> 11 & 1,
			.n_tags = (uint8_t)(i >> 12),
			.tci = {(uint16_t)((i >> 8 & 7) << 13 | 0x1000 | (i & 0xfff)), 0x5abc},
		};

		check(&s);
	}
}

static void check_trust_dscp(const struct frame_spec *s)
{
	struct classified c = classified(TRUST_DSCP, s);

	assert_int_equal(c.cls, (s->tos >> 2) * 3 % 8);
	assert_int_equal(c.color, (s->tos >> 2) % N_COLORS);
}

static void trust_dscp_takes_ip_frames_by_dscp_tagged_or_not(void **state)
{
	(void)state;
	for_all_frames(check_trust_dscp);
}

static void check_trust_pcp(const struct frame_spec *s)
{
	struct classified c = classified(TRUST_PCP, s);

	assert_int_equal(c.cls, s->n_tags ? 7 - (s->tci[0] >> 13) : DEFAULT_CLASS);
	assert_int_equal(c.color, (s->tos >> 2) % N_COLORS);
}

static void trust_pcp_takes_the_outer_tag_else_the_default(void **state)
{
	(void)state;
	for_all_frames(check_trust_pcp);
}

static void check_trust_port(const struct frame_spec *s)
{
	struct classified c = classified(TRUST_PORT, s);

	assert_int_equal(c.cls, DEFAULT_CLASS);
	assert_int_equal(c.color, (s->tos >> 2) % N_COLORS);
}

static void trust_port_takes_the_default_for_everything(void **state)
{
	(void)state;
	for_all_frames(check_trust_port);
}

static void frames_without_ip_go_by_pcp_when_tagged_and_are_green(void **state)
{
	static const struct {
		uint8_t trust, n_tags;
		uint16_t tci;
		uint8_t want;
	} rows[] = {
		{TRUST_DSCP, 0, 0, DEFAULT_CLASS}, {TRUST_DSCP, 1, 0x6001, 7 - 3},
		{TRUST_DSCP, 2, 0xe001, 7 - 7},	   {TRUST_PCP, 0, 0, DEFAULT_CLASS},
		{TRUST_PCP, 1, 0x2001, 7 - 1},	   {TRUST_PORT, 1, 0x2001, DEFAULT_CLASS},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct classify_params p = params(rows[i].trust);
		const struct frame_spec s = {.n_tags = rows[i].n_tags,
					     .tci = {rows[i].tci, 0x4001}};
		uint8_t f[64] = {0};
		struct pkt_info info;

		// DSCP 0 is yellow here: a frame without IP must not be taken for one of DSCP 0.
		p.dscp_to_color[0] = YELLOW;
		p.dscp_to_class[0] = 1;
		frame_l2(f, &s, ETYPE_ARP);
		assert_true(parse(f, sizeof(f), &info));
		struct classified c = classify(&p, &info);
		assert_int_equal(c.cls, rows[i].want);
		assert_int_equal(c.color, GREEN);
	}
}

static void a_broken_ip_header_is_classified_as_no_ip(void **state)
{
	struct classify_params p = params(TRUST_DSCP);
	const struct frame_spec s = {.tos = 0x68, .n_tags = 1, .tci = {0x6001}};
	uint8_t f[FRAME_MAX];
	uint32_t len = frame_roce(f, &s);
	struct pkt_info info;

	(void)state;
	assert_true(parse(f, len - 1, &info));
	assert_true(info.bad_l3);
	assert_int_equal(classify(&p, &info).cls, 7 - 3);
	assert_int_equal(classify(&p, &info).color, GREEN);
}

static void a_row_by_tos_says_what_classify_says(void **state)
{
	(void)state;
	for (unsigned trust = TRUST_DSCP; trust <= TRUST_PORT; trust++) {
		struct classify_params p = params(trust);
		struct classify_row rows[N_TOS];

		p.lossless = 0x2a;
		for (unsigned c = 0; c < N_CLASSES; c++)
			p.class_to_pg[c] = (uint8_t)(c ^ 5);
		classify_rows(&p, rows);
		for (unsigned tos = 0; tos < N_TOS; tos++) {
			const struct frame_spec s = {.tos = (uint8_t)tos, .v6 = tos & 1};
			struct classified want = classified(trust, &s);

			assert_int_equal(rows[tos].cls, want.cls);
			assert_int_equal(rows[tos].color, want.color);
			assert_int_equal(rows[tos].pg, want.cls ^ 5);
			assert_int_equal(rows[tos].hint,
					 !(0x2a >> want.cls & 1) || (tos & 3) == ECN_NOT_ECT);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trust_dscp_takes_ip_frames_by_dscp_tagged_or_not),
		cmocka_unit_test(trust_pcp_takes_the_outer_tag_else_the_default),
		cmocka_unit_test(trust_port_takes_the_default_for_everything),
		cmocka_unit_test(frames_without_ip_go_by_pcp_when_tagged_and_are_green),
		cmocka_unit_test(a_broken_ip_header_is_classified_as_no_ip),
		cmocka_unit_test(a_row_by_tos_says_what_classify_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
