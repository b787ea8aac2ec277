// SPDX-License-Identifier: Apache-2.0
// Whatever the frame is, the readers stay inside it and what they say of it hangs together.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dataplane/base/rng.h"
#include "dataplane/packet/icrc.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/pfc_frame.h"
#include "tests/pkt_same.h"
#include "tests/unit/packet/frames.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

// What holds of every result, whatever the frame was.
static void check_sane(const struct pkt_info *p, uint32_t len)
{
	bool ip = p->kind == PKT_IPV4 || p->kind == PKT_IPV6;

	assert_true(p->kind <= PKT_INOF && p->n_tags <= PARSE_MAX_TAGS);
	assert_true(p->l3_off == 14 + 4 * p->n_tags && p->l3_off <= len);
	assert_true(p->dscp < 64 && p->ecn < 4);
	assert_true(ip || (p->dscp == 0 && p->ecn == 0 && p->l4_off == 0));
	assert_true(p->l4_off < len);
	assert_true(!p->roce || (p->l4_off + 20u <= len && p->udp_dport == ROCE_UDP_PORT));
	assert_true(!p->bad_l3 || p->kind == PKT_OTHER);
	assert_true(!p->fragment || p->l4_off == 0);
}

// Garbage behind a plausible start, so that the deep layers are reached often.
static uint32_t garbage(struct rng *rng, uint8_t *f)
{
	static const uint16_t types[] = {0x0800, 0x86dd, 0x8100, 0x88a8, 0x9100,
					 0x8808, 0x88cc, 0x8809, 0x88a7};
	static const uint8_t protos[] = {0, 17, 43, 44, 51, 60, 6};
	uint32_t len = rng_next(rng) % 160, l3 = 12;
	uint16_t type;

	for (unsigned i = 0; i < 160; i += 4)
		be32_put(f + i, rng_next(rng));
	do {
		type = types[rng_next(rng) % N(types)];
		be16_put(f + l3, type);
		l3 += type == 0x0800 || type == 0x86dd ? 2 : 4;
	} while (l3 < 24 && type != 0x0800 && type != 0x86dd && rng_next(rng) % 8);
	if (type == 0x0800 || type == 0x86dd) {
		bool v6 = type == 0x86dd;

		f[l3] = (uint8_t)((v6 ? 0x60 : 0x40) | (f[l3] & 0xf));
		be16_put(f + l3 + (v6 ? 4 : 2), (uint16_t)(rng_next(rng) % 160));
		f[l3 + (v6 ? 6 : 9)] = protos[rng_next(rng) % N(protos)];
		if (!v6 && rng_next(rng) % 2)
			be16_put(f + l3 + 6, 0);
	}
	for (unsigned i = 54; i < 150; i += 8) {
		f[i] = protos[rng_next(rng) % N(protos)];
		f[i + 1] &= 3;
		be16_put(f + i + 2, rng_next(rng) % 2 ? 4791 : 0);
	}
	return len;
}

static void a_million_garbage_frames_do_no_harm(void **state)
{
	struct rng rng;
	unsigned seen[2][PKT_INOF + 1] = {{0}}, n_roce = 0, n_fragment = 0, n_bad = 0;
	unsigned n_fits = 0;

	(void)state;
	rng_init(&rng, 20240229);
	for (unsigned i = 0; i < 1000000; i++) {
		uint8_t f[192];
		uint32_t len = garbage(&rng, f);
		uint8_t *copy = exact_copy(f, len);
		struct pkt_info p;
		struct pfc_times times;
		bool fits;

		if (parse(copy, len, &p)) {
			assert_true(template_agrees(copy, len, &p, &fits));
			n_fits += fits;
			check_sane(&p, len);
			seen[p.l4_off != 0][p.kind]++;
			n_roce += p.roce;
			n_fragment += p.fragment;
			n_bad += p.bad_l3;
			icrc_check(copy, len, &p);
			mac_ctrl_parse(copy, len, &times);
		}
		free(copy);
	}
	// The garbage did reach every corner.
	for (unsigned k = 0; k <= PKT_INOF; k++)
		assert_true(seen[0][k] > 1000);
	assert_true(seen[1][PKT_IPV4] > 1000 && seen[1][PKT_IPV6] > 1000);
	assert_true(n_roce > 1000 && n_fragment > 1000 && n_bad > 1000);
	assert_true(n_fits > 1000);
}

static const struct frame_spec samples[] = {
	{.opcode = RC_SEND_MIDDLE, .tos = 0x6a, .payload_len = 64, .option_words = 3},
	{.opcode = RC_ACK, .tos = 0x68, .payload_len = 4, .v6 = true, .n_tags = 1, .tci = {0x6001}},
	{.opcode = ROCE_CNP, .tos = 0xc2, .payload_len = 16, .n_tags = 2, .tci = {5, 6}},
};

// A frame that a template knows, of a random kind.
static uint32_t common(struct rng *rng, uint8_t *f)
{
	struct frame_spec s = {
		.v6 = rng_next(rng) % 2,
		.n_tags = rng_next(rng) % 2,
		.tci = {(uint16_t)rng_next(rng)},
		.tos = (uint8_t)rng_next(rng),
		.opcode = (uint8_t)rng_next(rng),
		.dest_qp = rng_next(rng) & 0xffffff,
		.psn = rng_next(rng) & 0xffffff,
		.payload_len = (uint16_t)(rng_next(rng) % 64),
		.seed = (uint8_t)rng_next(rng),
	};
	uint32_t len = frame_roce(f, &s), l3 = 14 + 4u * s.n_tags;

	f[0] &= 0xfe;
	if (rng_next(rng) % 4 == 0)
		f[l3 + (s.v6 ? 6 : 9)] = IP_PROTO_TCP;
	if (rng_next(rng) % 4 == 0)
		be16_put(f + l3 + (s.v6 ? 42 : 22), (uint16_t)rng_next(rng));
	return len;
}

// The way without a template is the judge of the template's: of whole frames, of those with some
// bits of their headers wrong, and of those that are cut off.
static void templates_say_what_the_parser_says(void **state)
{
	unsigned fit[2][2][2] = {{{0}}}; // by version, tags, RoCEv2
	unsigned other = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 4791);
	for (unsigned i = 0; i < 400000; i++) {
		uint8_t f[FRAME_MAX];
		uint32_t len = common(&rng, f);
		unsigned flips = i % 4 == 0 ? 0 : rng_next(&rng) % 4;
		struct pkt_info p;
		uint8_t *copy;
		bool fits;

		for (unsigned k = 0; k < flips; k++)
			f[rng_next(&rng) % 70] ^= (uint8_t)(1 << rng_next(&rng) % 8);
		if (i % 8 == 7)
			len = 14 + rng_next(&rng) % (len - 14);
		copy = exact_copy(f, len);
		assert_true(parse(copy, len, &p));
		assert_true(template_agrees(copy, len, &p, &fits));
		assert_true(fits || i % 4 != 0);
		if (fits)
			fit[p.kind == PKT_IPV6][p.n_tags][p.roce]++;
		else
			other++;
		free(copy);
	}
	for (unsigned k = 0; k < 8; k++)
		assert_true((&fit[0][0][0])[k] > 10000);
	assert_true(other > 10000);
}

static void a_flipped_bit_anywhere_does_no_harm(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(samples); i++) {
		uint8_t f[FRAME_MAX];
		uint32_t len = frame_roce(f, &samples[i]);

		for (uint32_t bit = 0; bit < len * 8; bit++) {
			f[bit / 8] ^= (uint8_t)(1 << bit % 8);
			uint8_t *copy = exact_copy(f, len);
			struct pkt_info p;

			assert_true(parse(copy, len, &p));
			check_sane(&p, len);
			icrc_check(copy, len, &p);
			free(copy);
			f[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_garbage_frames_do_no_harm),
		cmocka_unit_test(a_flipped_bit_anywhere_does_no_harm),
		cmocka_unit_test(templates_say_what_the_parser_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
