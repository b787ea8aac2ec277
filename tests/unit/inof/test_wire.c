// SPDX-License-Identifier: Apache-2.0
// Registrations and frames of iNOF byte for byte, and what is refused.
#include "source_root.h"
#include "tests/unit/lldp/test.h"

#include <stdio.h>

#include "control/inof/wire.h"

#define SWITCH 0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee
#define ETH 0x01, 0x80, 0xc2, 0x00, 0x00, 0x0d, SWITCH, 0x88, 0xa7
#define HEADER(version, len) ETH, version, 0, 0, len, 0, 0, 0, 0
#define SRC_V4 1, 0, 4, 10, 0, 0, 2
#define DST_V4 2, 0, 4, 10, 0, 0, 1
#define V6(last) 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last
#define SRC_V6 3, 0, 16, V6(2)
#define DST_V6 4, 0, 16, V6(1)
#define SEQ 5, 0, 4, 0x01, 0x02, 0x03, 0x04
#define SERVICE 8, 0, 11, 1, 1, 0, 0, 0x12, 0xb7, 4, 'n', 'q', 'n', '.'

static const uint8_t mac[6] = {SWITCH};
static const struct inof_nqn nqn = {4, "nqn."};

static const uint8_t notice_v1[] = {
	HEADER(1, 52), 0x21, 0, 49, SRC_V4, DST_V4, SEQ, 6, 0, 4, 0, 0, 0, 0, 7, 0, 4, 0, 0, 0, 2,
	SERVICE,
};
static const uint8_t notice_v0[] = {
	HEADER(0, 70), 0x21, 0, 67, SRC_V6, DST_V6, SEQ, 6, 0, 1, 1, 7, 0, 1, 0, SERVICE,
};
// Sixty bytes at least, as Ethernet wants them.
static const uint8_t ack_v1[60] = {HEADER(1, 24), 0x22, 0, 21, SRC_V4, DST_V4, SEQ};
static const uint8_t query_v1[60] = {HEADER(1, 10), 0x23, 0, 7, DST_V4};
static const uint8_t query_v6[60] = {HEADER(1, 22), 0x23, 0, 19, DST_V6};

static struct ip_key v4(uint8_t last)
{
	return ip_key_v4(0x0a000000u | last);
}

static struct ip_key v6(uint8_t last)
{
	return (struct ip_key){0x20010db800000000ull, last};
}

static struct inof_message message(enum inof_kind kind, bool is_v6)
{
	struct inof_message m = {.kind = kind, .dst = is_v6 ? v6(1) : v4(1)};

	if (kind == INOF_QUERY)
		return m;
	m.src = is_v6 ? v6(2) : v4(2);
	m.seq = 0x01020304;
	if (kind == INOF_NOTICE)
		m.service = (struct inof_service){INOF_TARGET, INOF_ROCE, 4791, nqn};
	return m;
}

static void check_same(const struct inof_message *a, const struct inof_message *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_true(ip_key_same(a->src, b->src) && ip_key_same(a->dst, b->dst));
	assert_int_equal(a->seq, b->seq);
	assert_int_equal(a->online, b->online);
	assert_int_equal(a->reason, b->reason);
	assert_memory_equal(&a->service, &b->service, sizeof(a->service));
}

// Builds the frame, compares its bytes, and reads the message back from them.
static void check_frame(const struct inof_message *m, uint8_t version, const uint8_t *want,
			size_t len)
{
	struct inof_message got;
	struct inof_frame f;
	struct inof_reader r;

	inof_begin(&f, mac, version);
	assert_true(inof_append(&f, m));
	inof_end(&f);
	assert_int_equal(f.len, len);
	assert_memory_equal(f.bytes, want, len);
	assert_true(inof_open(want, (uint32_t)len, &r));
	assert_int_equal(r.version, version);
	assert_int_equal(inof_next(&r, &got), INOF_MESSAGE);
	check_same(&got, m);
	assert_int_equal(inof_next(&r, &got), INOF_END);
}

static void notices_are_byte_for_byte_as_hosts_read_them_in_both_versions(void **state)
{
	struct inof_message m = message(INOF_NOTICE, false);

	(void)state;
	m.reason = INOF_PFC_STORM;
	check_frame(&m, 1, notice_v1, sizeof(notice_v1));
	m = message(INOF_NOTICE, true);
	m.online = true;
	check_frame(&m, 0, notice_v0, sizeof(notice_v0));
}

static void acknowledgements_and_queries_are_byte_for_byte_as_hosts_send_them(void **state)
{
	struct inof_message ack = message(INOF_ACK, false), query = message(INOF_QUERY, false);

	(void)state;
	check_frame(&ack, 1, ack_v1, sizeof(ack_v1));
	check_frame(&query, 1, query_v1, sizeof(query_v1));
	query = message(INOF_QUERY, true);
	check_frame(&query, 1, query_v6, sizeof(query_v6));
}

static void a_frame_takes_messages_up_to_1514_bytes_and_no_more(void **state)
{
	const struct inof_message ack = message(INOF_ACK, false);
	struct inof_message got;
	unsigned n = 0, n_read = 0;
	struct inof_reader r;
	struct inof_frame f;

	(void)state;
	inof_begin(&f, mac, 1);
	while (inof_append(&f, &ack))
		n++;
	assert_int_equal(n, 62); // of 24 bytes, in 1,492
	inof_end(&f);
	assert_int_equal(f.len, 14 + 8 + 62 * 24);
	assert_true(inof_open(f.bytes, f.len, &r));
	while (inof_next(&r, &got) == INOF_MESSAGE)
		n_read++;
	assert_int_equal(n_read, 62);
}

// ---- registrations

#define HOST 0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, SWITCH, 0x88, 0xcc
#define CHASSIS 0x02, 0x07, 0x04, SWITCH
#define PORT 0x04, 0x0d, 0x05, 's', 'n', 's', 'd', '_', 'e', 't', 'h', '0', '_', '0', '1'
#define TTL 0x06, 0x02, 0x00, 0x78
#define IDENTITY HOST, CHASSIS, PORT, TTL
#define TLV(len) 0xfe, len, 0x00, 0x18, 0x82, 101

static const uint8_t registered_v4[] = {
	IDENTITY, TLV(35), 1, 0x81, 0, 0, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	2, 1, 1, 1, 0x12, 0xb7, 4, 'n', 'q', 'n', '.', 0, 0,
};
static const uint8_t registered_v6[] = {
	IDENTITY, TLV(31), 1, 0x02, 0, 0, V6(1), 1, 2, 1, 1, 0, 0, 0, 0, 0,
};
enum { OFF_TLV = sizeof((const uint8_t[]){IDENTITY}), OFF_VALUE = OFF_TLV + 2 };

static void check_registration(const struct inof_registration *want, const uint8_t *frame,
			       uint32_t len)
{
	const uint8_t port_name[] = "snsd_eth0_01";
	struct lldp_pdu p = {.chassis = {LLDP_CHASSIS_MAC, {mac, 6}},
			     .port = {LLDP_PORT_NAME, {port_name, sizeof(port_name) - 1}},
			     .ttl_s = INOF_TTL_S};
	uint8_t tlv[INOF_TLV_MAX], built[LLDP_MAX_LEN];
	struct inof_registration got;
	uint16_t tlv_len = inof_build_registration(tlv, want);
	bool alone = false;

	memcpy(p.mac, mac, sizeof(mac));
	assert_int_equal(lldp_build(built, &p, (struct lldp_text){tlv, tlv_len}), len);
	assert_true(inof_read_registration(tlv, tlv_len, &got));
	assert_true(ip_key_same(got.ip, want->ip));
	assert_false(inof_read_registration(tlv, (uint16_t)(tlv_len - 1), &got));
	tlv[tlv_len] = 0;
	assert_false(inof_read_registration(tlv, (uint16_t)(tlv_len + 1), &got));
	assert_memory_equal(built, frame, len);
	assert_int_equal(inof_find_registration(frame, len, &got, &alone), INOF_FOUND);
	assert_true(alone);
	assert_true(ip_key_same(got.ip, want->ip));
	assert_int_equal(got.subscribes, want->subscribes);
	assert_memory_equal(&got.service, &want->service, sizeof(got.service));
}

static void registrations_are_byte_for_byte_as_the_open_agent_sends_them(void **state)
{
	struct inof_registration r = {v4(1), true, {INOF_INITIATOR, INOF_ROCE, 4791, nqn}};

	(void)state;
	check_registration(&r, registered_v4, sizeof(registered_v4));
	r = (struct inof_registration){v6(1), false, {INOF_TARGET, INOF_TCP, 0, {0}}};
	check_registration(&r, registered_v6, sizeof(registered_v6));
}

static enum inof_found found(const uint8_t *frame, uint32_t len)
{
	uint8_t *copy = exact_copy(frame, len);
	struct inof_registration r;
	enum inof_found f;
	bool alone;

	f = inof_find_registration(copy, len, &r, &alone);
	free(copy);
	return f;
}

// The bytes of a registration by their place in its value, and what must not be there.
static void a_registration_that_cannot_be_is_bad(void **state)
{
	static const struct {
		uint8_t at, byte;
	} bad[] = {
		{4, 0}, {4, 2}, // version
		{5, 0x80}, {5, 0x83}, // neither family
		{8, 0}, {8, 127}, {8, 224}, {8, 255}, // no address of a station
		{24, 0}, {24, 4}, // role
		{25, 0}, {25, 4}, // protocol
		{30, 3}, {30, 5}, {30, 255}, // a name that is shorter, or longer, than said
		{31, ' '}, {32, 0}, {33, '\n'}, {34, 0x7f}, {34, 0x80}, // bytes of the name
	};
	uint8_t frame[sizeof(registered_v4)];

	(void)state;
	for (unsigned i = 0; i < N(bad); i++) {
		memcpy(frame, registered_v4, sizeof(frame));
		frame[OFF_VALUE + bad[i].at] = bad[i].byte;
		if (found(frame, sizeof(frame)) != INOF_BAD)
			fail_msg("byte %u as %#x", bad[i].at, bad[i].byte);
	}
	memcpy(frame, registered_v6, sizeof(registered_v6));
	memset(frame + OFF_VALUE + 8, 0, 10);
	memset(frame + OFF_VALUE + 18, 0xff, 2);
	assert_int_equal(found(frame, sizeof(registered_v6)), INOF_BAD); // ::ffff:0.0.0.1
	memcpy(frame, registered_v6, sizeof(registered_v6));
	frame[OFF_VALUE + 8] = 0xfe;
	frame[OFF_VALUE + 9] = 0x80;
	assert_int_equal(found(frame, sizeof(registered_v6)), INOF_BAD); // of one link only
}

static void two_registrations_in_a_frame_are_bad_and_none_is_none(void **state)
{
	enum { TLV_LEN = sizeof(registered_v4) - OFF_TLV - 2 };
	uint8_t frame[sizeof(registered_v4) + TLV_LEN];

	(void)state;
	memcpy(frame, registered_v4, sizeof(registered_v4));
	memcpy(frame + sizeof(registered_v4) - 2, registered_v4 + OFF_TLV, TLV_LEN + 2);
	assert_int_equal(found(frame, sizeof(frame)), INOF_BAD);
	frame[OFF_VALUE + 3] = 102; // a TLV of another kind
	assert_int_equal(found(frame, sizeof(frame)), INOF_FOUND);
	frame[sizeof(frame) - 2 - TLV_LEN + 2 + 3] = 102;
	assert_int_equal(found(frame, sizeof(frame)), INOF_NONE);
}

static void a_frame_that_says_more_than_a_registration_is_of_an_lldp_station(void **state)
{
	uint8_t frame[sizeof(registered_v4) + 4];
	struct inof_registration r;
	bool alone = true;

	(void)state;
	memcpy(frame, registered_v4, sizeof(registered_v4));
	memcpy(frame + sizeof(registered_v4) - 2, (const uint8_t[]){0x0a, 2, 's', 'w', 0, 0}, 6);
	assert_int_equal(inof_find_registration(frame, sizeof(frame), &r, &alone), INOF_FOUND);
	assert_false(alone);
}

static void no_cut_and_no_wrong_byte_of_a_registration_is_read_beyond_its_end(void **state)
{
	uint8_t frame[sizeof(registered_v4)];

	(void)state;
	for (uint32_t len = 14; len < sizeof(frame); len++)
		found(registered_v4, len); // a sanitizer and exact_copy() are the judges
	for (unsigned at = OFF_TLV; at < sizeof(frame); at++)
		for (unsigned byte = 0; byte < 256; byte++) {
			memcpy(frame, registered_v4, sizeof(frame));
			frame[at] = (uint8_t)byte;
			found(frame, sizeof(frame));
		}
}

// ---- frames that cannot be

static enum inof_read first(const uint8_t *frame, uint32_t len)
{
	uint8_t *copy = exact_copy(frame, len);
	enum inof_read v = INOF_END;
	struct inof_message m;
	struct inof_reader r;

	if (inof_open(copy, len, &r))
		v = inof_next(&r, &m);
	free(copy);
	return v;
}

static bool opens(const uint8_t *frame, uint32_t len)
{
	uint8_t *copy = exact_copy(frame, len);
	struct inof_reader r;
	bool ok = inof_open(copy, len, &r);

	free(copy);
	return ok;
}

static void a_frame_with_a_wrong_header_is_refused(void **state)
{
	static const struct {
		uint8_t at, byte;
	} bad[] = {
		{0, 0x03}, {5, 0x0e}, // another group
		{14, 2}, {14, 255}, // version
		{16, 1}, {17, 53}, // longer than the frame
		{17, 0},
	};
	static const uint8_t giant[INOF_FRAME_MAX + 1] = {HEADER(1, 24), 0x22, 0, 21};
	uint8_t frame[sizeof(notice_v1)];

	(void)state;
	assert_true(opens(notice_v1, sizeof(notice_v1)));
	for (unsigned i = 0; i < N(bad); i++) {
		memcpy(frame, notice_v1, sizeof(frame));
		frame[bad[i].at] = bad[i].byte;
		if (opens(frame, sizeof(frame)))
			fail_msg("byte %u as %#x", bad[i].at, bad[i].byte);
	}
	assert_false(opens(notice_v1, 21));
	assert_false(opens(notice_v1, sizeof(notice_v1) - 1));
	assert_true(opens(giant, sizeof(giant) - 1));
	assert_false(opens(giant, sizeof(giant)));
}

static void a_message_that_lacks_a_part_or_has_a_wrong_one_is_malformed(void **state)
{
	static const struct {
		uint8_t at, byte;
	} bad[] = {
		{24, 48}, {24, 50}, // the message ends in the middle of its last part
		{25, 9}, {32, 9}, {39, 9}, {46, 9}, {53, 9}, {60, 9}, // a part is missing
		{25, 2}, {32, 1}, // one is there twice
		{25, 3}, {32, 4}, // an IPv4 address where one of IPv6 belongs
		{48, 3}, {62, 255}, // lengths of parts
		{49, 1}, {52, 2}, // states that are none
		{56, 1}, {59, 8}, // reasons that are none
		{63, 0}, {63, 4}, {64, 0}, {64, 4}, // role and protocol
		{69, 3}, {69, 5}, {70, ' '}, // the name
	};
	static const uint8_t twice[] = {HEADER(1, 17), 0x23, 0, 14, DST_V4, DST_V4};
	uint8_t frame[sizeof(notice_v1)];

	(void)state;
	assert_int_equal(first(notice_v1, sizeof(notice_v1)), INOF_MESSAGE);
	for (unsigned i = 0; i < N(bad); i++) {
		memcpy(frame, notice_v1, sizeof(frame));
		frame[bad[i].at] = bad[i].byte;
		if (first(frame, sizeof(frame)) != INOF_MALFORMED)
			fail_msg("byte %u as %#x", bad[i].at, bad[i].byte);
	}
	assert_int_equal(first(twice, sizeof(twice)), INOF_MALFORMED);
	// ::ffff:0.0.0.1
	memcpy(frame, query_v6, sizeof(query_v6));
	memset(frame + 28, 0, 10);
	memset(frame + 38, 0xff, 2);
	assert_int_equal(first(frame, sizeof(query_v6)), INOF_MALFORMED);
	// State and reason have the length of their version.
	memcpy(frame, notice_v1, sizeof(frame));
	frame[14] = 0;
	assert_int_equal(first(frame, sizeof(frame)), INOF_MALFORMED);
}

static void a_malformed_message_does_not_hide_those_behind_it(void **state)
{
	// A query without address, a message of another kind, a query, and one beyond the end.
	static const uint8_t frame[] = {HEADER(1, 21), 0x23, 0, 0, 0x30, 0, 2, 0, 0,
					0x23, 0, 7, DST_V4, 0x22, 0, 21};
	struct inof_message m;
	struct inof_reader r;

	(void)state;
	assert_true(inof_open(frame, sizeof(frame), &r));
	assert_int_equal(inof_next(&r, &m), INOF_MALFORMED);
	assert_int_equal(inof_next(&r, &m), INOF_UNKNOWN);
	assert_int_equal(inof_next(&r, &m), INOF_MESSAGE);
	assert_true(ip_key_same(m.dst, v4(1)));
	assert_int_equal(inof_next(&r, &m), INOF_MALFORMED);
	assert_int_equal(inof_next(&r, &m), INOF_END);
}

static void parts_that_are_not_known_are_skipped(void **state)
{
	static const uint8_t frame[] = {HEADER(1, 15), 0x23, 0, 12, 99, 0, 2, 1, 2, DST_V4};

	(void)state;
	assert_int_equal(first(frame, sizeof(frame)), INOF_MESSAGE);
}

static void addresses_are_printed_as_people_write_them(void **state)
{
	char text[INOF_IP_TEXT];

	(void)state;
	inof_ip_print(v4(7), text);
	assert_string_equal(text, "10.0.0.7");
	inof_ip_print(v6(7), text);
	assert_string_equal(text, "2001:db8::7");
}

// ---- frames of the other implementation (test_snsd.py)

enum { PCAP_HEAD = 24, PCAP_RECORD = 16, OFF_TYPE = 12 };

static uint32_t build_registration(const uint8_t *frame, uint32_t len, uint8_t *out)
{
	struct inof_registration reg;
	uint8_t tlv[INOF_TLV_MAX];
	struct lldp_pdu pdu;
	bool alone;

	assert_int_equal(lldp_parse(frame, len, &pdu), LLDP_OK);
	assert_int_equal(inof_find_registration(frame, len, &reg, &alone), INOF_FOUND);
	assert_true(alone);
	memcpy(pdu.mac, frame + 6, sizeof(pdu.mac));
	return lldp_build(out, &pdu,
			  (struct lldp_text){tlv, inof_build_registration(tlv, &reg)});
}

static uint32_t build_messages(const uint8_t *frame, uint32_t len, uint8_t *out)
{
	struct inof_message m;
	struct inof_reader r;
	struct inof_frame f;
	enum inof_read read;

	assert_true(inof_open(frame, len, &r));
	inof_begin(&f, frame + 6, r.version);
	while ((read = inof_next(&r, &m)) != INOF_END) {
		assert_int_equal(read, INOF_MESSAGE);
		assert_true(inof_append(&f, &m));
	}
	inof_end(&f);
	memcpy(out, f.bytes, f.len);
	return f.len;
}

static void frames_of_the_other_implementation_are_read_and_built_byte_for_byte(void **state)
{
	uint8_t head[PCAP_HEAD], frame[INOF_FRAME_MAX], built[INOF_FRAME_MAX];
	FILE *in = fopen(SOURCE_ROOT "/tests/data/inof_vectors.pcap", "rb");
	unsigned n = 0;

	(void)state;
	assert_non_null(in);
	assert_int_equal(fread(head, 1, PCAP_HEAD, in), PCAP_HEAD);
	for (; fread(head, 1, PCAP_RECORD, in) == PCAP_RECORD; n++) {
		uint32_t len = head[8] | (uint32_t)head[9] << 8, got;

		assert_int_equal(fread(frame, 1, len, in), len);
		got = frame[OFF_TYPE + 1] == 0xcc ? build_registration(frame, len, built)
						  : build_messages(frame, len, built);
		assert_int_equal(got, len);
		assert_memory_equal(built, frame, len);
	}
	fclose(in);
	assert_int_equal(n, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notices_are_byte_for_byte_as_hosts_read_them_in_both_versions),
		cmocka_unit_test(
			acknowledgements_and_queries_are_byte_for_byte_as_hosts_send_them),
		cmocka_unit_test(a_frame_takes_messages_up_to_1514_bytes_and_no_more),
		cmocka_unit_test(registrations_are_byte_for_byte_as_the_open_agent_sends_them),
		cmocka_unit_test(a_registration_that_cannot_be_is_bad),
		cmocka_unit_test(two_registrations_in_a_frame_are_bad_and_none_is_none),
		cmocka_unit_test(a_frame_that_says_more_than_a_registration_is_of_an_lldp_station),
		cmocka_unit_test(no_cut_and_no_wrong_byte_of_a_registration_is_read_beyond_its_end),
		cmocka_unit_test(a_frame_with_a_wrong_header_is_refused),
		cmocka_unit_test(a_message_that_lacks_a_part_or_has_a_wrong_one_is_malformed),
		cmocka_unit_test(a_malformed_message_does_not_hide_those_behind_it),
		cmocka_unit_test(parts_that_are_not_known_are_skipped),
		cmocka_unit_test(addresses_are_printed_as_people_write_them),
		cmocka_unit_test(
			frames_of_the_other_implementation_are_read_and_built_byte_for_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
