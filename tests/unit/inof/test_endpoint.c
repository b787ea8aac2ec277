// SPDX-License-Identifier: Apache-2.0
// A host of iNOF: when it registers, queries and acknowledges, and which paths it uses.
#include <stdio.h>

#include "tests/unit/lldp/test.h"

#include "control/inof/endpoint.h"

#define S ((uint64_t)SECOND_NS)

static const uint8_t mac[6] = {0x02, 0, 0, 0, 0, 1};
static const struct inof_nqn disk = {4, "disk"}, tape = {4, "tape"}, nameless = {0};

// What the endpoint has called, as text: "+2" begins the path to 10.0.0.2, "-2 link-down" ends it,
// "!2 ..." ends it with force, "R" is a registration, "G" a goodbye, "Q" a query, "A2" one
// acknowledgement.
struct host {
	struct inof_endpoint *e;
	char log[512];
	bool full; // there is no room for a frame
	uint16_t ttl_s;
	struct inof_registration registered;
};

__attribute__((format(printf, 2, 3))) static void note(struct host *h, const char *fmt, ...)
{
	size_t n = strlen(h->log);
	va_list ap;

	va_start(ap, fmt);
	if (n > 0)
		h->log[n++] = ',';
	vsnprintf(h->log + n, sizeof(h->log) - n, fmt, ap);
	va_end(ap);
}

static bool send(void *arg, const uint8_t *frame, uint16_t len)
{
	struct host *h = arg;
	struct inof_message m;
	struct inof_reader r;
	struct lldp_pdu pdu;
	bool alone;

	if (h->full)
		return false;
	if (frame[12] == 0x88 && frame[13] == 0xcc) {
		assert_int_equal(lldp_parse(frame, len, &pdu), LLDP_OK);
		assert_int_equal(inof_find_registration(frame, len, &h->registered, &alone),
				 pdu.ttl_s != 0 ? INOF_FOUND : INOF_NONE);
		assert_true(alone);
		h->ttl_s = pdu.ttl_s;
		note(h, pdu.ttl_s != 0 ? "R" : "G");
		return true;
	}
	assert_true(inof_open(frame, len, &r));
	while (inof_next(&r, &m) == INOF_MESSAGE)
		if (m.kind == INOF_QUERY)
			note(h, "Q");
		else
			note(h, "A%u", (unsigned)(m.src.lo & 0xff));
	return true;
}

static void begin(void *arg, const struct inof_path *p)
{
	note(arg, "+%u", (unsigned)(p->ip.lo & 0xff));
}

static void end(void *arg, const struct inof_path *p, uint8_t why, bool forced)
{
	note(arg, "%c%u %s", forced ? '!' : '-', (unsigned)(p->ip.lo & 0xff), inof_end_text(why));
}

static void host_begin(struct host *h, uint8_t role, uint64_t register_ns)
{
	static const struct inof_endpoint_ops ops = {send, begin, end, NULL};
	struct inof_endpoint_conf c = {
		.port_id = "snsd_eth0_00",
		.registration = {ip_key_v4(0x0a000001), true, {role, INOF_ROCE, 4420, disk}},
		.register_ns = register_ns,
	};

	*h = (struct host){0};
	memcpy(c.mac, mac, sizeof(mac));
	assert_int_equal(inof_endpoint_create(&c, &ops, h, &h->e), 0);
}

static void said(struct host *h, const char *want)
{
	assert_string_equal(h->log, want);
	h->log[0] = '\0';
}

static struct inof_message notice(uint8_t src, bool online, uint8_t reason,
				  const struct inof_nqn *nqn)
{
	return (struct inof_message){
		INOF_NOTICE, ip_key_v4(0x0a000000u | src), ip_key_v4(0x0a000001), 7, online, reason,
		{INOF_TARGET, INOF_ROCE, 4420, *nqn}};
}

static void receive(struct host *h, const struct inof_message *m, unsigned n)
{
	struct inof_frame f;

	inof_begin(&f, mac, INOF_VERSION);
	for (unsigned i = 0; i < n; i++)
		assert_true(inof_append(&f, &m[i]));
	inof_end(&f);
	inof_endpoint_receive(h->e, f.bytes, f.len);
}

static void comes(struct host *h, uint8_t src, const struct inof_nqn *nqn)
{
	receive(h, (const struct inof_message[]){notice(src, true, INOF_NO_FAULT, nqn)}, 1);
}

static void goes(struct host *h, uint8_t src, uint8_t reason, const struct inof_nqn *nqn)
{
	receive(h, (const struct inof_message[]){notice(src, false, reason, nqn)}, 1);
}

// ---- cases

static void it_registers_when_the_link_comes_up_and_at_each_interval(void **state)
{
	struct host h;

	(void)state;
	host_begin(&h, INOF_INITIATOR, 30 * S);
	assert_int_equal(inof_endpoint_poll(h.e, 5 * S), UINT64_MAX);
	inof_endpoint_link(h.e, true, 10 * S);
	assert_int_equal(inof_endpoint_poll(h.e, 10 * S), 40 * S);
	said(&h, "R,Q");
	assert_int_equal(h.ttl_s, 120);
	assert_true(ip_key_same(h.registered.ip, ip_key_v4(0x0a000001)));
	assert_true(h.registered.subscribes);
	assert_int_equal(h.registered.service.role, INOF_INITIATOR);
	assert_int_equal(inof_endpoint_poll(h.e, 40 * S - 1), 40 * S);
	said(&h, "");
	assert_int_equal(inof_endpoint_poll(h.e, 40 * S), 70 * S);
	said(&h, "R");
	inof_endpoint_destroy(h.e);
	host_begin(&h, INOF_INITIATOR, S / 5);
	inof_endpoint_link(h.e, true, 0);
	inof_endpoint_poll(h.e, 0);
	assert_int_equal(h.ttl_s, 1);
	inof_endpoint_destroy(h.e);
}

static void it_says_goodbye_once_and_nothing_after_it(void **state)
{
	struct host h;

	(void)state;
	host_begin(&h, INOF_TARGET, 30 * S);
	assert_true(inof_endpoint_ended(h.e));
	inof_endpoint_link(h.e, true, 0);
	inof_endpoint_poll(h.e, 0);
	said(&h, "R,Q");
	inof_endpoint_end(h.e);
	h.full = true;
	assert_true(inof_endpoint_poll(h.e, S) < 2 * S);
	assert_false(inof_endpoint_ended(h.e));
	h.full = false;
	assert_int_equal(inof_endpoint_poll(h.e, 2 * S), UINT64_MAX);
	said(&h, "G");
	assert_true(inof_endpoint_ended(h.e));
	assert_int_equal(inof_endpoint_poll(h.e, 60 * S), UINT64_MAX);
	said(&h, "");
	inof_endpoint_destroy(h.e);
}

static void a_frame_without_room_is_sent_at_the_next_poll(void **state)
{
	struct host h;

	(void)state;
	host_begin(&h, INOF_TARGET, 30 * S);
	h.full = true;
	inof_endpoint_link(h.e, true, S);
	assert_int_equal(inof_endpoint_poll(h.e, S), S + MS_NS);
	h.full = false;
	assert_int_equal(inof_endpoint_poll(h.e, S + MS_NS), 31 * S + MS_NS);
	said(&h, "R,Q");
	inof_endpoint_destroy(h.e);
}

static void only_whole_notices_for_its_own_address_are_acknowledged(void **state)
{
	struct inof_message m[3] = {notice(2, true, 0, &disk), notice(3, true, 0, &tape),
				    notice(4, true, 0, &nameless)};
	struct host h;

	(void)state;
	host_begin(&h, INOF_INITIATOR, 30 * S);
	m[1].dst = ip_key_v4(0x0a000063);
	receive(&h, m, 3);
	said(&h, "+2,+4,A2,A4");
	assert_int_equal(inof_endpoint_stats(h.e)->acks, 2);
	assert_int_equal(inof_endpoint_stats(h.e)->ignored, 1);
	m[0].kind = INOF_ACK;
	m[0].dst = ip_key_v4(0x0a000001);
	receive(&h, m, 1);
	said(&h, "");
	inof_endpoint_destroy(h.e);
}

static void a_repeated_notice_is_acknowledged_and_changes_nothing(void **state)
{
	struct host h;

	(void)state;
	host_begin(&h, INOF_INITIATOR, 30 * S);
	comes(&h, 2, &disk);
	comes(&h, 2, &disk);
	goes(&h, 2, INOF_LINK_DOWN, &disk);
	goes(&h, 2, INOF_LINK_DOWN, &disk);
	said(&h, "+2,A2,A2,-2 link-down,A2,A2");
	inof_endpoint_destroy(h.e);
}

static void a_target_uses_no_path_and_an_initiator_none_to_an_initiator(void **state)
{
	struct inof_message m = notice(2, true, 0, &disk);
	struct host h;

	(void)state;
	host_begin(&h, INOF_TARGET, 30 * S);
	comes(&h, 2, &disk);
	said(&h, "A2");
	inof_endpoint_destroy(h.e);
	host_begin(&h, INOF_INITIATOR, 30 * S);
	m.service.role = INOF_INITIATOR;
	receive(&h, &m, 1);
	m.service.role = INOF_TARGET;
	m.service.protocol = INOF_TCP;
	receive(&h, &m, 1);
	said(&h, "A2,A2");
	inof_endpoint_destroy(h.e);
}

static void a_spare_path_takes_over_and_stays_in_use(void **state)
{
	struct host h;

	(void)state;
	host_begin(&h, INOF_INITIATOR, 30 * S);
	comes(&h, 2, &disk);
	comes(&h, 3, &disk);
	comes(&h, 4, &disk);
	comes(&h, 5, &tape);
	said(&h, "+2,A2,A3,A4,+5,A5");
	goes(&h, 3, INOF_LINK_DOWN, &disk); // a spare one
	said(&h, "A3");
	goes(&h, 2, INOF_PFC_STORM, &disk);
	said(&h, "-2 pfc-storm,+4,A2");
	comes(&h, 2, &disk);
	said(&h, "A2");
	goes(&h, 4, INOF_LINK_DOWN, &disk);
	said(&h, "-4 link-down,+2,A4");
	goes(&h, 2, INOF_LINK_DOWN, &disk);
	said(&h, "-2 link-down,A2");
	inof_endpoint_destroy(h.e);
}

static void targets_without_a_name_are_subsystems_of_their_own(void **state)
{
	struct host h;

	(void)state;
	host_begin(&h, INOF_INITIATOR, 30 * S);
	comes(&h, 2, &nameless);
	comes(&h, 3, &nameless);
	said(&h, "+2,A2,+3,A3");
	goes(&h, 2, INOF_LINK_DOWN, &nameless);
	said(&h, "-2 link-down,A2");
	inof_endpoint_destroy(h.e);
}

static void zone_address_and_age_end_a_path_with_force(void **state)
{
	static const char *const want[N_INOF_REASONS] = {
		[INOF_LINK_DOWN] = "+2,A2,-2 link-down,A2",
		[INOF_PFC_STORM] = "+2,A2,-2 pfc-storm,A2",
		[INOF_PACKET_ERROR] = "+2,A2,-2 packet-error,A2",
		[INOF_ZONE_CHANGE] = "+2,A2,!2 zone-change,A2",
		[INOF_ADDRESS_CHANGE] = "+2,A2,!2 address-change,A2",
		[INOF_AGED_OUT] = "+2,A2,!2 aged-out,A2",
		[INOF_BFD_DOWN] = "+2,A2,-2 bfd-down,A2",
	};
	struct host h;

	(void)state;
	for (uint8_t reason = INOF_LINK_DOWN; reason < N_INOF_REASONS; reason++) {
		host_begin(&h, INOF_INITIATOR, 30 * S);
		comes(&h, 2, &disk);
		goes(&h, 2, reason, &disk);
		said(&h, want[reason]);
		inof_endpoint_destroy(h.e);
	}
}

static void a_path_that_does_not_answer_becomes_the_last_spare_one(void **state)
{
	struct host h;

	(void)state;
	host_begin(&h, INOF_INITIATOR, 30 * S);
	comes(&h, 2, &disk);
	inof_endpoint_silent(h.e, ip_key_v4(0x0a000002));
	said(&h, "+2,A2"); // there is no other
	comes(&h, 3, &disk);
	inof_endpoint_silent(h.e, ip_key_v4(0x0a000002));
	said(&h, "A3,-2 no-answer,+3");
	inof_endpoint_silent(h.e, ip_key_v4(0x0a000002)); // not in use
	goes(&h, 3, INOF_LINK_DOWN, &disk);
	said(&h, "-3 link-down,+2,A3");
	inof_endpoint_destroy(h.e);
}

static void paths_that_do_not_answer_are_used_in_turn_again_and_again(void **state)
{
	struct host h;

	(void)state;
	host_begin(&h, INOF_INITIATOR, 30 * S);
	comes(&h, 2, &disk);
	comes(&h, 6, &tape);
	comes(&h, 3, &disk);
	comes(&h, 4, &disk);
	said(&h, "+2,A2,+6,A6,A3,A4");
	for (unsigned round = 0; round < 3; round++) {
		inof_endpoint_silent(h.e, ip_key_v4(0x0a000002));
		inof_endpoint_silent(h.e, ip_key_v4(0x0a000003));
		inof_endpoint_silent(h.e, ip_key_v4(0x0a000004));
		said(&h, "-2 no-answer,+3,-3 no-answer,+4,-4 no-answer,+2");
	}
	goes(&h, 3, INOF_LINK_DOWN, &disk);
	inof_endpoint_silent(h.e, ip_key_v4(0x0a000002));
	inof_endpoint_silent(h.e, ip_key_v4(0x0a000004));
	said(&h, "A3,-2 no-answer,+4,-4 no-answer,+2");
	inof_endpoint_destroy(h.e);
}

static void a_target_that_the_operator_names_is_used_like_any_other(void **state)
{
	const struct inof_service s = {INOF_TARGET, INOF_ROCE, 4420, disk};
	struct host h;

	(void)state;
	host_begin(&h, INOF_INITIATOR, 30 * S);
	inof_endpoint_offer(h.e, ip_key_v4(0x0a000002), &s);
	inof_endpoint_offer(h.e, ip_key_v4(0x0a000003), &s);
	inof_endpoint_offer(h.e, ip_key_v4(0x0a000002), &s); // again
	inof_endpoint_silent(h.e, ip_key_v4(0x0a000002));
	said(&h, "+2,-2 no-answer,+3");
	inof_endpoint_destroy(h.e);
}

static void all_paths_end_with_the_own_link_and_a_query_brings_them_back(void **state)
{
	struct host h;

	(void)state;
	host_begin(&h, INOF_INITIATOR, 30 * S);
	inof_endpoint_link(h.e, true, S);
	inof_endpoint_poll(h.e, S);
	comes(&h, 2, &disk);
	comes(&h, 3, &disk);
	comes(&h, 5, &tape);
	said(&h, "R,Q,+2,A2,A3,+5,A5");
	inof_endpoint_link(h.e, false, 2 * S);
	said(&h, "-5 own-link-down,-2 own-link-down");
	assert_int_equal(inof_endpoint_poll(h.e, 2 * S), UINT64_MAX);
	inof_endpoint_link(h.e, true, 3 * S);
	assert_int_equal(inof_endpoint_poll(h.e, 3 * S), 33 * S);
	comes(&h, 3, &disk);
	said(&h, "R,Q,+3,A3");
	inof_endpoint_destroy(h.e);
}

static void frames_of_others_and_cut_ones_have_no_effect(void **state)
{
	struct inof_message m = notice(2, true, 0, &disk);
	struct inof_frame f;
	struct host h;

	(void)state;
	host_begin(&h, INOF_INITIATOR, 30 * S);
	inof_begin(&f, mac, INOF_VERSION);
	assert_true(inof_append(&f, &m));
	inof_end(&f);
	for (uint32_t len = 0; len < f.len; len++)
		inof_endpoint_receive(h.e, f.bytes, len);
	f.bytes[12] ^= 1;
	inof_endpoint_receive(h.e, f.bytes, f.len);
	said(&h, "");
	inof_endpoint_destroy(h.e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_registers_when_the_link_comes_up_and_at_each_interval),
		cmocka_unit_test(it_says_goodbye_once_and_nothing_after_it),
		cmocka_unit_test(a_frame_without_room_is_sent_at_the_next_poll),
		cmocka_unit_test(only_whole_notices_for_its_own_address_are_acknowledged),
		cmocka_unit_test(a_repeated_notice_is_acknowledged_and_changes_nothing),
		cmocka_unit_test(a_target_uses_no_path_and_an_initiator_none_to_an_initiator),
		cmocka_unit_test(a_spare_path_takes_over_and_stays_in_use),
		cmocka_unit_test(targets_without_a_name_are_subsystems_of_their_own),
		cmocka_unit_test(zone_address_and_age_end_a_path_with_force),
		cmocka_unit_test(a_path_that_does_not_answer_becomes_the_last_spare_one),
		cmocka_unit_test(paths_that_do_not_answer_are_used_in_turn_again_and_again),
		cmocka_unit_test(a_target_that_the_operator_names_is_used_like_any_other),
		cmocka_unit_test(all_paths_end_with_the_own_link_and_a_query_brings_them_back),
		cmocka_unit_test(frames_of_others_and_cut_ones_have_no_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
