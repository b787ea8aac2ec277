// SPDX-License-Identifier: Apache-2.0
// LLDPDUs byte for byte, and what is refused.
#include "tests/unit/lldp/test.h"

static const uint8_t mac[6] = {0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee};

#define HEAD                                                                                       \
	0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, 0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0x88, 0xcc
#define CHASSIS 0x02, 0x07, 0x04, 0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee
#define PORT 0x04, 0x03, 0x05, 'p', '1'
#define TTL 0x06, 0x02, 0x00, 0x79
#define IDENTITY HEAD, CHASSIS, PORT, TTL

static const uint8_t golden[] = {
	IDENTITY,
	0x08, 0x04, 'e', 't', 'h', '0', // port description
	0x0a, 0x02, 's', 'w', // system name
	0x0c, 0x01, 'W', // system description
	0x0e, 0x04, 0x00, 0x14, 0x00, 0x04, // bridge and router; bridge is enabled
	0x10, 0x0c, 0x05, 0x01, 10, 0, 0, 1, 0x01, 0, 0, 0, 0, 0, // management address
	0xfe, 0x19, 0x00, 0x80, 0xc2, 0x09, 0x00, // ETS configuration: not willing, 8 classes
	0x01, 0x23, 0x45, 0x67, 50, 0, 0, 50, 0, 0, 0, 0, 2, 0, 0, 2, 0, 0, 0, 0,
	0xfe, 0x19, 0x00, 0x80, 0xc2, 0x0a, 0x00, // recommendation
	0x01, 0x23, 0x45, 0x67, 50, 0, 0, 50, 0, 0, 0, 0, 2, 0, 0, 2, 0, 0, 0, 0,
	0xfe, 0x06, 0x00, 0x80, 0xc2, 0x0b, 0x08, 0x08, // PFC of class 3, 8 possible
	0xfe, 0x08, 0x00, 0x80, 0xc2, 0x0c, 0x00, 0x64, 0x12, 0xb7, // UDP 4791: class 3
	0x00, 0x00,
};

static const struct dcbx_ets ets = {.given = true, .tc = {0, 1, 2, 3, 4, 5, 6, 7},
				    .percent = {50, 0, 0, 50}, .tsa = {2, 0, 0, 2}};

static struct lldp_pdu full(void)
{
	static const uint8_t address[] = {1, 10, 0, 0, 1};
	struct lldp_pdu p = {
		.chassis = {LLDP_CHASSIS_MAC, {mac, 6}},
		.port = {LLDP_PORT_NAME, TEXT("p1")},
		.ttl_s = 121,
		.port_description = TEXT("eth0"),
		.system_name = TEXT("sw"),
		.system_description = TEXT("W"),
		.has_capabilities = true,
		.capabilities = LLDP_BRIDGE | LLDP_ROUTER,
		.enabled = LLDP_BRIDGE,
		.management = {address, sizeof(address)},
		.dcbx = {.ets = ets, .ets_recommended = ets,
			 .pfc = {.given = true, .max = 8, .enable = 1 << 3},
			 .app_given = true, .n_apps = 1, .app = {{3, DCBX_TCP_UDP, UDP_ROCE}}},
	};

	memcpy(p.mac, mac, sizeof(p.mac));
	return p;
}

static enum lldp_verdict parsed(const uint8_t *frame, uint32_t len, struct lldp_pdu *out)
{
	uint8_t *copy = exact_copy(frame, len);
	enum lldp_verdict v = lldp_parse(copy, len, out);

	free(copy); // *out may point into it: only numbers of it are looked at
	return v;
}

static void a_frame_is_byte_for_byte_as_the_standards_draw_it(void **state)
{
	uint8_t out[LLDP_MAX_LEN];
	const struct lldp_pdu p = full();

	(void)state;
	assert_int_equal(lldp_build(out, &p, (struct lldp_text){0}), sizeof(golden));
	assert_memory_equal(out, golden, sizeof(golden));
}

static void what_is_built_is_read_back(void **state)
{
	const struct lldp_pdu p = full();
	struct lldp_pdu got;

	(void)state;
	assert_int_equal(lldp_parse(golden, sizeof(golden), &got), LLDP_OK);
	assert_memory_equal(got.mac, mac, 6);
	assert_int_equal(got.chassis.kind, LLDP_CHASSIS_MAC);
	assert_int_equal(got.chassis.id.len, 6);
	assert_memory_equal(got.port.id.at, "p1", 2);
	assert_int_equal(got.ttl_s, 121);
	assert_memory_equal(got.system_name.at, "sw", 2);
	assert_memory_equal(got.port_description.at, "eth0", 4);
	assert_int_equal(got.capabilities, 0x14);
	assert_int_equal(got.enabled, 0x04);
	assert_memory_equal(got.management.at, p.management.at, 5);
	assert_memory_equal(&got.dcbx, &p.dcbx, sizeof(p.dcbx));
	assert_int_equal(got.n_unknown + got.n_bad, 0);
	assert_false(got.cee);
}

static void the_bits_of_the_first_byte_of_ets_and_pfc_are_read_and_built(void **state)
{
	struct lldp_pdu p = full(), got;
	uint8_t out[LLDP_MAX_LEN];
	uint16_t len;

	(void)state;
	p.dcbx.ets.willing = p.dcbx.ets.cbs = true;
	p.dcbx.ets.max_tcs = 5;
	p.dcbx.pfc.willing = p.dcbx.pfc.bypass = true;
	p.dcbx.pfc.max = 2;
	p.dcbx.pfc.enable = 0x81;
	len = lldp_build(out, &p, (struct lldp_text){0});
	assert_int_equal(lldp_parse(out, len, &got), LLDP_OK);
	assert_memory_equal(&got.dcbx, &p.dcbx, sizeof(p.dcbx));
}

static void a_short_frame_is_padded_to_60_bytes(void **state)
{
	struct lldp_pdu p = full();
	uint8_t out[LLDP_MAX_LEN];
	const struct lldp_pdu bare = {.chassis = p.chassis, .port = p.port};

	(void)state;
	memset(out, 0x5a, sizeof(out));
	assert_int_equal(lldp_build(out, &bare, (struct lldp_text){0}), 60);
	for (unsigned i = 14 + 9 + 5 + 4; i < 60; i++)
		assert_int_equal(out[i], 0);
	assert_int_equal(out[60], 0x5a);
}

static void texts_are_cut_and_a_frame_that_is_too_long_is_not_built(void **state)
{
	static uint8_t many[1400];
	struct lldp_pdu p = full(), got;
	uint8_t out[LLDP_MAX_LEN];

	(void)state;
	memset(many, 'x', sizeof(many));
	p.system_name = (struct lldp_text){many, 400};
	assert_int_equal(lldp_parse(out, lldp_build(out, &p, (struct lldp_text){0}), &got),
			 LLDP_OK);
	assert_int_equal(got.system_name.len, 255);
	assert_int_equal(lldp_build(out, &p, (struct lldp_text){many, sizeof(many)}), 0);
}

static void further_tlvs_stand_before_the_end(void **state)
{
	static const uint8_t extra[] = {0xfe, 0x05, 0x00, 0x18, 0x82, 101, 7};
	struct lldp_pdu p = full(), got;
	uint8_t out[LLDP_MAX_LEN];
	uint16_t len = lldp_build(out, &p, (struct lldp_text){extra, sizeof(extra)});

	(void)state;
	assert_int_equal(len, sizeof(golden) + sizeof(extra));
	assert_memory_equal(out + len - 2 - sizeof(extra), extra, sizeof(extra));
	assert_int_equal(lldp_parse(out, len, &got), LLDP_OK);
	assert_int_equal(got.n_unknown, 1);
}

struct row {
	const char *what;
	enum lldp_verdict verdict;
	unsigned len;
	uint8_t bytes[96];
	uint8_t n_unknown, n_bad;
	bool cee;
};

#define BYTES(...) sizeof((const uint8_t[]){__VA_ARGS__}), {__VA_ARGS__}

static const struct row rows[] = {
	{"no end TLV: the frame ends the PDU", LLDP_OK, BYTES(IDENTITY)},
	{"bytes behind the end", LLDP_OK, BYTES(IDENTITY, 0, 0, 0xff, 0xff)},
	{"an odd byte", LLDP_TRUNCATED, BYTES(IDENTITY, 0x08)},
	{"a TLV that reaches beyond the frame", LLDP_TRUNCATED, BYTES(IDENTITY, 0x08, 2, 'x')},
	{"a TTL of one byte", LLDP_NO_IDENTITY, BYTES(HEAD, CHASSIS, PORT, 0x06, 1, 5, 0, 0)},
	{"port before chassis", LLDP_NO_IDENTITY, BYTES(HEAD, PORT, CHASSIS, TTL)},
	{"no TTL", LLDP_NO_IDENTITY, BYTES(HEAD, CHASSIS, PORT, 0, 0)},
	{"an empty chassis ID", LLDP_NO_IDENTITY, BYTES(HEAD, 0x02, 1, 4, PORT, TTL)},
	{"a second chassis", LLDP_NO_IDENTITY, BYTES(IDENTITY, CHASSIS)},
	{"a second TTL", LLDP_NO_IDENTITY, BYTES(IDENTITY, TTL)},
	{"nothing", LLDP_NO_IDENTITY, BYTES(HEAD)},
	{"no whole Ethernet header", LLDP_TRUNCATED, BYTES(1, 2, 3)},
	{"an unknown type", LLDP_OK, BYTES(IDENTITY, 0x14, 1, 9, 0, 0), 1},
	{"an unknown OUI", LLDP_OK, BYTES(IDENTITY, 0xfe, 5, 0x00, 0x12, 0x0f, 1, 9), 1},
	{"an OUI that is too short", LLDP_OK, BYTES(IDENTITY, 0xfe, 3, 0x00, 0x80, 0xc2), 1},
	{"CEE is named", LLDP_OK, BYTES(IDENTITY, 0xfe, 5, 0x00, 0x1b, 0x21, 2, 0), 1, 0, true},
	{"PFC of a wrong length", LLDP_OK,
	 BYTES(IDENTITY, 0xfe, 5, 0x00, 0x80, 0xc2, 0x0b, 8), 0, 1},
	{"a second PFC TLV", LLDP_OK,
	 BYTES(IDENTITY, 0xfe, 6, 0x00, 0x80, 0xc2, 0x0b, 8, 8, 0xfe, 6, 0x00, 0x80, 0xc2, 0x0b, 8,
	       16), 0, 1},
	{"APP with a part of a row", LLDP_OK,
	 BYTES(IDENTITY, 0xfe, 7, 0x00, 0x80, 0xc2, 0x0c, 0, 1, 2), 0, 1},
	{"ETS of a wrong length", LLDP_OK,
	 BYTES(IDENTITY, 0xfe, 6, 0x00, 0x80, 0xc2, 0x09, 0, 0), 0, 1},
	{"a management address longer than its TLV", LLDP_OK,
	 BYTES(IDENTITY, 0x10, 9, 6, 1, 2, 3, 4, 5, 6, 7, 8), 0, 1},
	{"an empty management address", LLDP_OK, BYTES(IDENTITY, 0x10, 0), 0, 1},
	{"capabilities of a wrong length", LLDP_OK, BYTES(IDENTITY, 0x0e, 2, 0, 4), 0, 1},
	{"a second system name", LLDP_OK, BYTES(IDENTITY, 0x0a, 1, 'a', 0x0a, 1, 'b'), 0, 1},
};

static void every_odd_frame_is_refused_or_counted(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct lldp_pdu p = {0};
		enum lldp_verdict v = parsed(rows[i].bytes, rows[i].len, &p);

		if (v != rows[i].verdict || p.n_unknown != rows[i].n_unknown ||
		    p.n_bad != rows[i].n_bad || p.cee != rows[i].cee)
			fail_msg("%s: verdict %d, unknown %u, bad %u, cee %d", rows[i].what, v,
				 p.n_unknown, p.n_bad, p.cee);
	}
}

static void a_bad_tlv_does_not_undo_the_one_before(void **state)
{
	static const uint8_t f[] = {IDENTITY, 0xfe, 6, 0x00, 0x80, 0xc2, 0x0b, 8, 8,
				    0xfe, 6, 0x00, 0x80, 0xc2, 0x0b, 0x88, 16};
	struct lldp_pdu p;

	(void)state;
	assert_int_equal(parsed(f, sizeof(f), &p), LLDP_OK);
	assert_int_equal(p.dcbx.pfc.enable, 8);
	assert_false(p.dcbx.pfc.willing);
}

static void every_cut_of_a_frame_is_read_without_a_byte_beyond(void **state)
{
	struct lldp_pdu p;

	(void)state;
	for (unsigned len = 0; len <= sizeof(golden); len++)
		(void)parsed(golden, len, &p); // a sanitizer sees the byte
	assert_int_equal(parsed(golden, sizeof(golden) - 1, &p), LLDP_TRUNCATED);
}

static void endless_tlvs_end(void **state)
{
	static const uint8_t identity[] = {IDENTITY};
	uint8_t f[LLDP_MAX_LEN + 1];
	struct lldp_pdu p;

	(void)state;
	memset(f, 0, sizeof(f));
	for (unsigned i = 0; i + 1 < sizeof(f); i += 2)
		f[i] = 0x08; // port descriptions of no bytes
	memcpy(f, identity, sizeof(identity));
	assert_int_equal(parsed(f, LLDP_MAX_LEN, &p), LLDP_TOO_MANY_TLVS);
	assert_int_equal(parsed(f, LLDP_MAX_LEN + 1, &p), LLDP_TOO_LONG);
	// Three of them are chassis, port and TTL.
	assert_int_equal(parsed(f, sizeof(identity) + 2 * (LLDP_MAX_TLVS - 3), &p), LLDP_OK);
	assert_int_equal(p.n_bad, LLDP_MAX_TLVS - 4);
	assert_int_equal(parsed(f, sizeof(identity) + 2 * (LLDP_MAX_TLVS - 2), &p),
			 LLDP_TOO_MANY_TLVS);
}

static void apps_beyond_the_table_are_left_out(void **state)
{
	uint8_t f[256] = {IDENTITY}, *t = f + 14 + 9 + 5 + 4;
	struct lldp_pdu p;

	(void)state;
	t[0] = 0xfe;
	t[1] = 5 + 3 * 66;
	memcpy(t + 2, (const uint8_t[]){0x00, 0x80, 0xc2, 0x0c, 0}, 5);
	assert_int_equal(parsed(f, (uint32_t)(t + 2 + t[1] - f), &p), LLDP_OK);
	assert_int_equal(p.dcbx.n_apps, DCBX_MAX_APPS);
	assert_int_equal(p.n_bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_byte_for_byte_as_the_standards_draw_it),
		cmocka_unit_test(what_is_built_is_read_back),
		cmocka_unit_test(the_bits_of_the_first_byte_of_ets_and_pfc_are_read_and_built),
		cmocka_unit_test(a_short_frame_is_padded_to_60_bytes),
		cmocka_unit_test(texts_are_cut_and_a_frame_that_is_too_long_is_not_built),
		cmocka_unit_test(further_tlvs_stand_before_the_end),
		cmocka_unit_test(every_odd_frame_is_refused_or_counted),
		cmocka_unit_test(a_bad_tlv_does_not_undo_the_one_before),
		cmocka_unit_test(every_cut_of_a_frame_is_read_without_a_byte_beyond),
		cmocka_unit_test(endless_tlvs_end),
		cmocka_unit_test(apps_beyond_the_table_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
