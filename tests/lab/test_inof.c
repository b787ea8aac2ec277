// SPDX-License-Identifier: Apache-2.0
// iNOF on a whole switch: what one host can take from others by registrations and frames of iNOF.
// The instance of the switch has what the workers give to control, in looks of 3 ms. Host i of
// these tests has the MAC address 02:00:00:00:00:0i and the IP address 10.0.0.i.
#include <string.h>

#include "control/config/config.h"
#include "control/inof/registry.h"
#include "control/instance/service.h"
#include "dataplane/base/rng.h"
#include "dataplane/base/units.h"
#include "dataplane/packet/lldp.h"
#include "tests/lab/router.h"

enum { HOSTS = 4, LEN = 100, LOOP_MS = 3 };
enum { TARGET = 0, INITIATOR = 1, STATION = 2, HOSTILE = 3 }; // ports

static const char bridge[] =
	"switch: {name: i, lldp: on}\n"
	"ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G}\n"
	"inof: {hard_zoning: on}\n";

static struct {
	struct bench *b;
	struct instance in;
	unsigned n_refused;
	enum inof_refusal refused;
	// What the initiator was told of the target.
	bool told, online;
	unsigned n_told;
} t;

// ---- a switch

static uint64_t now_ns(void)
{
	return t.b->clock.now_ns;
}

static void see_event(void *arg, const struct event *e, const char *about, uint64_t at_ns)
{
	(void)arg, (void)about, (void)at_ns;
	if (e->type != EVENT_INOF_REFUSED)
		return;
	t.n_refused++;
	t.refused = (enum inof_refusal)e->a;
}

static void poke(void *arg)
{
	(void)arg;
	actor_poke(&t.b->actor);
}

static void fail_for_trouble(void *arg, enum trouble_severity severity, const char *text)
{
	(void)arg, (void)severity;
	fail_msg("%s", text);
}

// One look of control. The events of the workers are the bench's.
static void loop(void)
{
	bench_run(t.b, LOOP_MS * (uint64_t)MS_NS);
	bench_control(t.b);
	instance_hear(&t.in, now_ns());
	instance_act(&t.in, now_ns());
}

static void set_link(unsigned port, bool up)
{
	wire_set_up(t.b->host[port].wire, up);
	switch_links_changed(t.b->sw);
}

static void loops(unsigned n)
{
	while (n-- > 0)
		loop();
}

// ---- hosts

static void put_mac(uint8_t *out, unsigned host)
{
	memcpy(out, (uint8_t[]){2, 0, 0, 0, (uint8_t)(host >> 8), (uint8_t)host}, 6);
}

static void send_inof(unsigned port, struct inof_message m)
{
	struct inof_frame f;
	uint8_t mac[6];

	put_mac(mac, port + 1);
	inof_begin(&f, mac, INOF_VERSION);
	inof_append(&f, &m);
	inof_end(&f);
	bench_send_raw(t.b, port, f.bytes, f.len);
}

static void on_frame(struct bench_host *h, const uint8_t *frame, uint16_t len)
{
	struct inof_message m;
	struct inof_reader in;

	(void)h;
	if (be16_get(frame + 12) != ETYPE_INOF || !inof_open(frame, len, &in))
		return;
	while (inof_next(&in, &m) == INOF_MESSAGE) {
		if (ip_key_same(m.src, ip_key_v4(0x0a000001))) {
			t.n_told++;
			t.told = true;
			t.online = m.online;
		}
		m.kind = INOF_ACK;
		send_inof(INITIATOR, m);
	}
}

// From a port: of a host with an address, by IDs of its MAC address.
static void send_registration(unsigned port, unsigned host, uint32_t ip, uint8_t role,
			      uint16_t ttl_s)
{
	const struct inof_registration reg = {
		ip_key_v4(ip), true, {.role = role, .protocol = INOF_ROCE, .port = 4420}};
	uint8_t mac[6], tlv[INOF_TLV_MAX], frame[LLDP_MAX_LEN];
	struct lldp_pdu p = {.chassis = {LLDP_CHASSIS_MAC, {mac, 6}},
			     .port = {LLDP_PORT_NAME, {(const uint8_t *)"snsd_eth0_01", 12}},
			     .ttl_s = ttl_s};
	uint16_t len = inof_build_registration(tlv, &reg);

	put_mac(mac, host);
	len = lldp_build(frame, &p, (struct lldp_text){tlv, ttl_s == 0 ? 0 : len});
	memcpy(frame + 6, mac, 6);
	bench_send_raw(t.b, port, frame, len);
}

static void register_host(unsigned port, uint8_t role)
{
	send_registration(port, port + 1, 0x0a000001 + port, role, 120);
}

// An IPv4 frame between two hosts. to 0: to all.
static void send(unsigned from, unsigned to)
{
	uint8_t f[LEN] = {0}, *ip = f + ETH_HLEN_;

	memset(f, 0xff, 6);
	if (to != 0)
		put_mac(f, to);
	put_mac(f + 6, from);
	memcpy(f + 12, (uint8_t[]){8, 0, 0x45, 0, 0, LEN - 14, 0, 0, 0, 0, 64, 17}, 12);
	memcpy(ip + 12, (uint8_t[]){10, 0, 0, (uint8_t)from, 10, 0, 0, (uint8_t)to}, 8);
	be16_put(ip + 10, router_csum(ip, 20));
	bench_send_raw(t.b, from - 1, f, sizeof(f));
}

static int begin(void **state)
{
	static const struct instance_ops ops = {
		.event = see_event, .trouble = fail_for_trouble, .wake = poke};
	struct diags d = {0};
	char err[256];

	(void)state;
	memset(&t, 0, sizeof(t));
	t.b = bench_open(bridge, 0);
	t.b->host[INITIATOR].on_rx = on_frame;
	t.in = (struct instance){.sw = t.b->sw, .policy = t.b->policy, .ops = &ops};
	assert_int_equal(config_parse("bridge", bridge, strlen(bridge), &t.in.config, &d), 0);
	diags_fini(&d);
	assert_int_equal(instance_open(&t.in, err, sizeof(err)), 0);
	for (unsigned host = 1; host <= HOSTS; host++)
		send(host, 0); // the bridge knows all
	loops(2);
	register_host(TARGET, INOF_TARGET);
	register_host(INITIATOR, INOF_INITIATOR);
	loops(10);
	assert_true(t.told && t.online);
	return 0;
}

static int end(void **state)
{
	(void)state;
	instance_close(&t.in);
	config_destroy(t.in.config);
	bench_close(t.b);
	return 0;
}

static const struct inof_counters *count(unsigned port)
{
	return inof_counters(instance_inof(&t.in), port);
}

static uint32_t arrived(unsigned from, unsigned to)
{
	uint32_t before = t.b->host[to - 1].n_rx;

	send(from, to);
	bench_run(t.b, MS_NS);
	return t.b->host[to - 1].n_rx - before;
}

// ---- the address of another station

// Of a gateway, say: host 3 is no host of iNOF.
static void an_address_that_a_host_registers_for_another_station_stays_reachable(void **state)
{
	unsigned n_alarms = 0;

	(void)state;
	send_registration(HOSTILE, 4, 0x0a000003, INOF_TARGET, 120);
	loops(10);
	assert_int_equal(count(HOSTILE)->registrations, 1);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(arrived(1, 3), 1); // both would be targets
		assert_int_equal(arrived(3, 1), 1);
		loop();
	}
	assert_int_equal(bench_drops(t.b, DROP_ZONE), 0);
	for (unsigned i = 0; i < t.b->n_events; i++) {
		const struct event *e = &t.b->events[i];

		if (e->type != EVENT_INOF_ELSEWHERE)
			continue;
		assert_int_equal(e->port, STATION);
		assert_int_equal(event_mac_other(e->a), HOSTILE);
		assert_int_equal(e->b, 0x020000000003);
		n_alarms++;
	}
	assert_in_range(n_alarms, 1, 2); // one a second and port of arrival
}

// With the MAC address of the station, too.
static void a_host_that_another_port_has_is_refused(void **state)
{
	(void)state;
	send_registration(HOSTILE, 3, 0x0a000003, INOF_TARGET, 120);
	loops(5);
	assert_int_equal(count(HOSTILE)->refused[INOF_ELSEWHERE], 1);
	assert_int_equal(t.n_refused, 1);
	assert_int_equal(t.refused, INOF_ELSEWHERE);
	assert_int_equal(arrived(1, 3), 1);
	register_host(STATION, INOF_TARGET); // the station itself
	loops(5);
	assert_int_equal(count(STATION)->registrations, 1);
	assert_int_equal(arrived(1, 3), 0); // two targets
	assert_int_equal(bench_drops(t.b, DROP_ZONE), 1);
}

static void a_target_whose_link_blinks_is_back_whatever_others_register_meanwhile(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2000 / LOOP_MS; i++) {
		if (i == 100 || i == 101 + 1000 / LOOP_MS)
			set_link(TARGET, i != 100);
		if (i % 10 == 0)
			send_registration(HOSTILE, 4, 0x0a000001, INOF_TARGET, UINT16_MAX);
		loop();
	}
	assert_false(t.online);
	register_host(TARGET, INOF_TARGET);
	loops(5);
	assert_true(t.online);
	assert_int_equal(count(HOSTILE)->registrations, 0);
	assert_int_equal(arrived(2, 1), 1);
}

// ---- floods

// What the others do must take as many loops as without the flood.
static void b_goes_on_as_before(void)
{
	uint64_t registered = count(STATION)->registrations;

	register_host(STATION, INOF_INITIATOR);
	loops(2);
	assert_int_equal(count(STATION)->registrations, registered + 1);
	t.n_told = 0;
	set_link(TARGET, false);
	loops(2);
	assert_int_equal(t.n_told, 1);
	assert_false(t.online);
	set_link(TARGET, true);
	loop();
	register_host(TARGET, INOF_TARGET);
	loops(3);
	assert_true(t.online);
	assert_int_equal(t.n_told, 2); // each notice once: all were acknowledged
	assert_int_equal(arrived(2, 1), 1);
}

// More than control takes: ever new addresses, hosts that come and go, and addresses of others.
static void a_flood_of_registrations_takes_nothing_from_others(void **state)
{
	struct rng rng;
	uint32_t next = 0;

	(void)state;
	rng_init(&rng, 3);
	b_goes_on_as_before();
	for (unsigned i = 0; i < 1000; i++) {
		for (unsigned k = 0; k < 10; k++) {
			uint32_t ip = k < 5 ? 0x0a010000 + next++ : 0x0a000001 + rng_next(&rng) % 8;

			send_registration(HOSTILE, 0x100 + (ip & 0xff), ip, (uint8_t)(1 + k % 3),
					  k % 2 ? 0 : UINT16_MAX);
		}
		loop();
		if (i % 100 == 99)
			b_goes_on_as_before();
	}
	assert_true(count(HOSTILE)->registrations > 1000);
	assert_true(ctr_get(&switch_port_counters(t.b->sw, HOSTILE)->punt[PUNT_LLDP].limited) > 0);
}

static void a_flood_of_frames_of_inof_takes_nothing_from_others(void **state)
{
	static const enum inof_kind kinds[] = {INOF_NOTICE, INOF_ACK, INOF_QUERY};
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	b_goes_on_as_before();
	for (unsigned i = 0; i < 1000; i++) {
		for (unsigned k = 0; k < 10; k++)
			send_inof(HOSTILE, (struct inof_message){
				.kind = kinds[k % 3],
				.src = ip_key_v4(0x0a000001), .dst = ip_key_v4(0x0a000002),
				.seq = rng_next(&rng),
				.service = {.role = INOF_TARGET, .protocol = INOF_ROCE}});
		loop();
		if (i % 100 == 99)
			b_goes_on_as_before();
	}
	assert_true(count(HOSTILE)->bad_acks > 100);
	assert_true(count(HOSTILE)->from_hosts > 100);
	assert_int_equal(count(HOSTILE)->unknown_queries, count(HOSTILE)->queries);
}

// Control makes the table anew at most every 10 ms, whatever comes and goes.
static void stations_change_at_most_every_10_ms(void **state)
{
	const struct inof_state *inof = t.in.service[SERVICE_INOF];
	uint64_t last = inof->hard_zoning.change, last_ns = 0;
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		send_registration(HOSTILE, 4, 0x0a000004, INOF_TARGET, i % 2 ? 0 : 120);
		loop();
		if (inof->hard_zoning.change == last)
			continue;
		assert_true(last_ns == 0 || now_ns() - last_ns >= 10 * MS_NS);
		last = inof->hard_zoning.change;
		last_ns = now_ns();
		n++;
	}
	assert_in_range(n, 300 * LOOP_MS / 12 - 5, 300 * LOOP_MS / 10);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(an_address_that_a_host_registers_for_another_station_stays_reachable),
		TEST(a_host_that_another_port_has_is_refused),
		TEST(a_target_whose_link_blinks_is_back_whatever_others_register_meanwhile),
		TEST(a_flood_of_registrations_takes_nothing_from_others),
		TEST(a_flood_of_frames_of_inof_takes_nothing_from_others),
		TEST(stations_change_at_most_every_10_ms),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
