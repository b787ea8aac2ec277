// SPDX-License-Identifier: Apache-2.0
// Rules of impairment from texts: which frames a match holds for, and the place and words of each
// mistake.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "control/config/impair.h"
#include "dataplane/packet/wire.h"

enum { FRAME = 128 };

// A WRITE of RoCEv2 in VLAN 20; an ACK and a NAK; TCP over IPv6; ARP.
enum kind { WRITE, ACK, NAK, CNP, TCP6, ARP, N_KINDS };
static uint8_t frames[N_KINDS][FRAME];
static struct pkt_info pkts[N_KINDS];

static uint8_t *ipv4(uint8_t *ip, uint8_t dscp, uint8_t ecn)
{
	memcpy(ip, (uint8_t[]){0x45, (uint8_t)(dscp << 2 | ecn), 0, 80}, 4);
	ip[8] = 64;
	ip[9] = IP_PROTO_UDP;
	memcpy(ip + 12, (uint8_t[]){10, 0, 0, 1, 10, 0, 1, 2}, 8);
	return ip + 20;
}

static void roce(enum kind k, unsigned off, uint8_t opcode, uint8_t syndrome, uint32_t psn)
{
	uint8_t *l4 = ipv4(frames[k] + off, 26, ECN_ECT0);

	be16_put(frames[k] + off - 2, ETYPE_IPV4);
	be16_put(l4, 49152);
	be16_put(l4 + 2, ROCE_UDP_PORT);
	be16_put(l4 + 4, 60);
	l4[8] = opcode;
	be24_put(l4 + 8 + 5, 0x12);
	l4[8 + 8] = k == WRITE ? BTH_ACK_REQ : 0;
	be24_put(l4 + 8 + 9, psn);
	l4[20] = syndrome;
}

static int make(void **state)
{
	(void)state;
	be16_put(frames[WRITE] + 12, ETYPE_VLAN);
	be16_put(frames[WRITE] + 14, 3 << TCI_PCP_SHIFT | 20);
	roce(WRITE, 18, RC_WRITE_MIDDLE, 0, 2001);
	roce(ACK, 14, RC_ACK, AETH_ACK, 7);
	roce(NAK, 14, RC_ACK, AETH_NAK, 8);
	roce(CNP, 14, ROCE_CNP, 0, 0);
	be16_put(frames[TCP6] + 12, ETYPE_IPV6);
	memcpy(frames[TCP6] + 14, (uint8_t[]){0x60, 0, 0, 0, 0, 60, IP_PROTO_TCP, 64, 0xfd}, 9);
	memcpy(frames[TCP6] + 14 + 24, (uint8_t[]){0xfd, 1}, 2);
	be16_put(frames[ARP] + 12, ETYPE_ARP);
	for (unsigned k = 0; k < N_KINDS; k++)
		assert_true(parse(frames[k], FRAME, &pkts[k]));
	return 0;
}

static struct impair_frame frame(enum kind k)
{
	return (struct impair_frame){.eth = frames[k], .pkt = &pkts[k], .stored = FRAME,
				     .len = FRAME, .cls = 3};
}

static struct impair_memory memory;

// A bitmap of the frames for which a text holds.
static unsigned holds_for(const char *text)
{
	struct impair_mistake why;
	struct impair_rule r;
	unsigned out = 0;

	if (!impair_parse_match(text, &r, &why))
		fail_msg("%s: column %u: %s", text, why.column, why.text);
	impair_memory_init(&memory, 1);
	for (unsigned k = 0; k < N_KINDS; k++) {
		struct impair_frame f = frame(k);

		out |= (unsigned)impair_matches(&r.match, &memory, &f) << k;
	}
	return out;
}

#define W (1u << WRITE)
#define A (1u << ACK)
#define N (1u << NAK)
#define C (1u << CNP)
#define T (1u << TCP6)
#define P (1u << ARP)
#define ROCE (W | A | N | C)
#define ALL (ROCE | T | P)

static const struct {
	const char *text;
	unsigned want;
} matches[] = {
	{"", ALL},
	{"  ", ALL},
	{"roce", ROCE},
	{"data", W},
	{"cm", 0},
	{"ack", A},
	{"nak", N},
	{"cnp", C},
	{"ackreq", W},
	{"tcp", T},
	{"udp", ROCE},
	{"ipv4", ROCE},
	{"ipv6", T},
	{"!roce", T | P},
	{"psn == 2001", W},
	{"roce.psn==2001", W},
	{"psn%1000 == 1", W},
	{"psn % 1000 in 1-2", W},
	{"psn in 7 - 8", A | N},
	{"psn != 7", W | N | C},
	{"!(psn == 7)", W | N | C | T | P},
	{"psn < 8", A | C},
	{"psn <= 8", A | N | C},
	{"psn > 8", W},
	{"psn >= 8", W | N},
	{"roce.opcode == RC_WRITE_MIDDLE", W},
	{"opcode == rc-write-middle", W},
	{"opcode == 0x11", A | N},
	{"qp == 0x12 && psn == 7", A},
	{"qp == 18", ROCE},
	{"vlan == 20", W},
	{"vlan != 20", 0},
	{"dscp == 26", ROCE},
	{"ecn == ect0", ROCE},
	{"ecn == not-ect", T},
	{"class == 3", ALL},
	{"len == 128", ALL},
	{"ip.proto == 6", T},
	{"udp.dport == 4791", ROCE},
	{"udp.sport == 49152", ROCE},
	{"udp.dport != 4791", 0},
	{"ip.src == 10.0.0.1", ROCE},
	{"ip.src == 10.0.0.0/30", ROCE},
	{"ip.src == 10.0.0.2", 0},
	{"ip.dst == 10.0.0.0/23", ROCE},
	{"ip.dst == 10.0.0.0/24", 0},
	{"ip.dst != 10.0.0.0/24", ROCE},
	{"ip.src == fd00::/8", T},
	{"ip.dst == fd01::", T},
	{"nak || cnp && psn == 0", N | C},
	{"(nak || cnp) && psn == 0", C},
	{"!nak && roce && !(cnp || data)", A},
	{"!!tcp", T},
	{"every 2", A | C | P},
	{"roce && every 2", A | C},
	{"random 100%", ALL},
	{"roce && once", ROCE},
};

static void a_match_holds_for_the_frames_that_it_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(matches) / sizeof(matches[0]); i++)
		if (holds_for(matches[i].text) != matches[i].want)
			fail_msg("%s: %#x, not %#x", matches[i].text, holds_for(matches[i].text),
				 matches[i].want);
}

static void a_remainder_is_exact_for_each_divisor(void **state)
{
	static const uint32_t divisors[] = {2,	3,     7,      1000,	  4095,
					    4097, 65537, 8388607, 16777215, 4294967295u};
	struct impair_frame f = frame(WRITE);
	struct impair_test *t;
	struct impair_mistake why;
	struct impair_rule r;

	(void)state;
	assert_true(impair_parse_match("psn%2 == 0", &r, &why));
	t = &r.match.test[0];
	for (unsigned i = 0; i < sizeof(divisors) / sizeof(divisors[0]); i++)
		for (uint32_t psn = 0; psn < 0xffffff; psn += 4099) {
			t->divisor = divisors[i];
			t->inverse = impair_inverse(divisors[i]);
			t->low = t->high = psn % divisors[i];
			pkts[WRITE].bth_psn = psn;
			assert_true(impair_matches(&r.match, &memory, &f));
			t->low = t->high = t->low + 1;
			assert_false(impair_matches(&r.match, &memory, &f));
		}
	pkts[WRITE].bth_psn = 2001;
}

static void a_share_of_frames_is_chosen_by_the_seed(void **state)
{
	struct impair_frame f = frame(WRITE);
	unsigned n[3] = {0}, differ = 0;
	struct impair_mistake why;
	struct impair_memory other;
	struct impair_rule r;

	(void)state;
	assert_true(impair_parse_match("random 2.5%", &r, &why));
	impair_memory_init(&memory, 7);
	impair_memory_init(&other, 8);
	for (unsigned i = 0; i < 100000; i++) {
		bool a = impair_matches(&r.match, &memory, &f);
		bool b = impair_matches(&r.match, &other, &f);

		n[0] += a;
		n[1] += b;
		differ += a != b;
	}
	assert_in_range(n[0], 2350, 2650);
	assert_in_range(n[1], 2350, 2650);
	assert_in_range(differ, 4000, 5300);
}

static void once_is_true_again_for_another_packet_and_flow(void **state)
{
	struct impair_frame f = frame(WRITE);
	struct impair_mistake why;
	struct impair_rule r;

	(void)state;
	assert_true(impair_parse_match("data && once", &r, &why));
	impair_memory_init(&memory, 1);
	assert_true(impair_matches(&r.match, &memory, &f));
	assert_false(impair_matches(&r.match, &memory, &f));
	pkts[WRITE].bth_psn++;
	assert_true(impair_matches(&r.match, &memory, &f));
	pkts[WRITE].bth_dest_qp++;
	assert_true(impair_matches(&r.match, &memory, &f));
	assert_false(impair_matches(&r.match, &memory, &f));
	pkts[WRITE].bth_dest_qp--;
	pkts[WRITE].bth_psn--;
}

struct mistake {
	const char *text;
	unsigned column;
	const char *says;
};

static void a_mistake_has_its_place_and_its_cure(void **state)
{
	static const struct mistake rows[] = {
		{"roce.psm == 5", 1, "there is no field roce.psm: did you mean roce.psn"},
		{"roce && opcod == 5", 9, "there is no field opcod"},
		{"psn", 4, "expected a comparison, ==, != or in, not the end"},
		{"roce.psn = 100", 10, "write == to compare: = is no comparison"},
		{"ip.src=10.0.0.1", 7, "write == to compare: = is no comparison"},
		{"psn ==", 7, "expected a number, not the end"},
		{"psn == x", 8, "expected a number, not x"},
		{"psn == 16777216", 8, "roce.psn is at most 16777215"},
		{"dscp == 64", 9, "dscp is at most 63"},
		{"psn%1000 == 1000", 13, "a remainder of 1000 is at most 999"},
		{"psn%0 == 0", 5, "expected a divisor from 2 on, not 0"},
		{"psn < 0", 7, "nothing is below 0"},
		{"psn in 9-8", 8, "the range is empty"},
		{"psn in 9", 9, "expected - and the end of the range"},
		{"opcode == RC_WRIT_ONLY", 11,
		 "RC_WRIT_ONLY is no opcode: did you mean RC_WRITE_ONLY"},
		{"ip.src == 10.0.0", 11, "expected an address or a prefix, not 10.0.0"},
		{"ip.src > 10.0.0.1", 8, "an address is compared with == or !="},
		{"roce ack", 6, "expected && or ||, not ack"},
		{"(roce", 6, "expected ), not the end"},
		{"roce &&", 8, "expected a field, a word, ! or (, not the end"},
		{"random 0%", 8, "expected a share above 0% and up to 100%"},
		{"random 5", 8, "expected a share, as 1% or 0.01%"},
		{"every 0", 7, "expected a number of frames, not 0"},
		{"!!!!!!!!!!!!!!!!!roce", 17, "is nested more than 16 deep"},
	};
	static const struct mistake actions[] = {
		{"", 1, "the end is no action: give drop, delay TIME, duplicate, reorder N, "},
		{"dropp", 1, "dropp is no action"},
		{"drop 1%", 6, "expected the end, not 1%"},
		{"delay", 6, "expected a time up to 1s, as 10us, not the end"},
		{"delay 2s", 7, "expected a time up to 1s"},
		{"delay 0us", 7, "expected a time up to 1s"},
		{"reorder 65", 9, "expected a number of frames from 1 to 64, not 65"},
		{"ce 101%", 4, "expected a share above 0% and up to 100%"},
		{"corrupt fcs", 9, "expected icrc or payload, not fcs"},
	};
	struct impair_mistake why;
	struct impair_rule r;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(impair_parse_match(rows[i].text, &r, &why));
		if (why.column != rows[i].column || strstr(why.text, rows[i].says) != why.text)
			fail_msg("%s: column %u: %s", rows[i].text, why.column, why.text);
	}
	for (unsigned i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		assert_false(impair_parse_action(actions[i].text, &r, &why));
		if (why.column != actions[i].column ||
		    strstr(why.text, actions[i].says) != why.text)
			fail_msg("%s: column %u: %s", actions[i].text, why.column, why.text);
	}
}

static void a_match_has_no_more_terms_than_places(void **state)
{
	char text[IMPAIR_TEXT] = "roce";
	struct impair_mistake why;
	struct impair_rule r;

	(void)state;
	for (unsigned i = 1; i < IMPAIR_MAX_TESTS; i++)
		strcat(text, "&&roce");
	assert_true(impair_parse_match(text, &r, &why));
	assert_int_equal(r.match.n, IMPAIR_MAX_TESTS);
	assert_int_equal(holds_for(text), ROCE);
	strcat(text, "&&roce");
	assert_false(impair_parse_match(text, &r, &why));
	assert_string_equal(why.text, "has more than 24 terms");
}

static void an_action_has_its_values(void **state)
{
	struct impair_mistake why;
	struct impair_rule r;

	(void)state;
	assert_true(impair_parse_action("delay 1.5us", &r, &why));
	assert_int_equal(r.delay_ns, 1500);
	assert_true(impair_parse_action(" reorder 3 ", &r, &why));
	assert_int_equal(r.gap, 3);
	assert_true(impair_parse_action("ce", &r, &why));
	assert_true(r.chance == 1ull << 32);
	assert_true(impair_parse_action("ce 25%", &r, &why));
	assert_true(r.chance == 1ull << 30);
	assert_true(impair_parse_action("corrupt payload", &r, &why));
	assert_int_equal(r.part, IMPAIR_PAYLOAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_match_holds_for_the_frames_that_it_names),
		cmocka_unit_test(a_remainder_is_exact_for_each_divisor),
		cmocka_unit_test(a_share_of_frames_is_chosen_by_the_seed),
		cmocka_unit_test(once_is_true_again_for_another_packet_and_flow),
		cmocka_unit_test(a_mistake_has_its_place_and_its_cure),
		cmocka_unit_test(a_match_has_no_more_terms_than_places),
		cmocka_unit_test(an_action_has_its_values),
	};

	return cmocka_run_group_tests(tests, make, NULL);
}
