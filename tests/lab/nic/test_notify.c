// SPDX-License-Identifier: Apache-2.0
// Whose notification is it: a NIC obeys CNPs for its own queue pairs alone, knows one that comes
// late from one that is wrong, and says at any time which queue pairs are joined; connections that
// take the numbers of others before them.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <rte_mbuf.h>

#include "dataplane/packet/wire.h"
#include "drivers/nic/frames.h"
#include "tests/lab/nic/pair.h"

enum { US = 1000, STRANGER = 0x0a000009, SPORT_AT = 34 };
static const uint64_t gbps = 1000000000;

static void up(struct pair *p, uint8_t udp_sport)
{
	const struct pair_conf conf = {
		.speed_bps = 40 * gbps, .delay_ns = 1000, .udp_sport = udp_sport, .cc = "paper"};

	pair_up(p, &conf);
}

static uint32_t stream(struct pair *p)
{
	return pair_connect(p, 0, (struct nic_flow){.cls = 3, .msg_bytes = 65536, .depth = 2});
}

static struct nic_flow_status status(const struct pair *p, uint32_t id)
{
	return nic_flow_status(p->nic[0], id);
}

// ---- CNPs from nowhere

struct cnp_from {
	uint32_t src_ip, dest_qp;
	uint16_t udp_sport;
};

static void notify(struct pair *p, struct cnp_from c)
{
	static const uint8_t zeros[16];
	const struct roce_pkt pkt = {.opcode = ROCE_CNP,
				     .dest_qp = c.dest_qp,
				     .payload = zeros,
				     .payload_len = sizeof(zeros)};
	struct frame_addr addr = {.src_ip = ip_key_v4(c.src_ip), .dst_ip = ip_key_v4(PAIR_IP0),
				  .sport = c.udp_sport};
	uint8_t frame[128];

	pair_mac(0, addr.dst_mac);
	pair_mac(1, addr.src_mac);
	roce_build(frame, roce_frame_len(&pkt), &addr, &pkt);
	pair_inject(p, 0, frame, roce_frame_len(&pkt));
	pair_run(p, p->clock.now_ns + 10 * US);
}

static void a_cnp_that_fits_is_obeyed_and_others_are_not(void **state)
{
	struct nic_flow_status s;
	const struct nic_stats *n;
	struct cnp_from good;
	struct pair p;
	uint32_t id;

	(void)state;
	up(&p, NIC_SPORT_LINUX);
	id = stream(&p);
	pair_run(&p, 10 * US);
	s = status(&p, id);
	good = (struct cnp_from){PAIR_IP1, s.qpn, roce_udp_sport(s.qpn, s.peer_qpn)};
	notify(&p, (struct cnp_from){STRANGER, good.dest_qp, good.udp_sport});
	notify(&p, (struct cnp_from){good.src_ip, good.dest_qp ^ 0x800000, good.udp_sport});
	notify(&p, (struct cnp_from){good.src_ip, good.dest_qp ^ 1, good.udp_sport});
	notify(&p, (struct cnp_from){good.src_ip, s.peer_qpn, good.udp_sport});
	notify(&p, (struct cnp_from){good.src_ip, good.dest_qp, good.udp_sport ^ 1});
	n = pair_stats(&p, 0);
	assert_int_equal(n->cnps_wrong, 5);
	assert_int_equal(n->cnps_received + n->cnps_late + n->rate_cuts, 0);
	assert_int_equal(status(&p, id).rate_bps, 0);

	notify(&p, good);
	n = pair_stats(&p, 0);
	assert_int_equal(n->cnps_wrong, 5);
	assert_int_equal(n->cnps_received, 1);
	assert_int_equal(n->rate_cuts, 1);
	assert_int_equal(status(&p, id).rate_bps, 20 * gbps);
	pair_down(&p);
}

// A notification under way while the connection closes, and while another takes its slot.
static void a_cnp_for_one_that_was_is_late_and_not_obeyed(void **state)
{
	struct nic_flow_status s;
	struct cnp_from old;
	struct pair p;
	uint32_t id;

	(void)state;
	up(&p, NIC_SPORT_LINUX);
	id = stream(&p);
	pair_run(&p, 10 * US);
	s = status(&p, id);
	old = (struct cnp_from){PAIR_IP1, s.qpn, roce_udp_sport(s.qpn, s.peer_qpn)};
	nic_flow_close(p.nic[0], id);
	nic_flow_forget(p.nic[0], id);
	pair_run(&p, 100 * US);
	notify(&p, old);
	assert_int_equal(pair_stats(&p, 0)->cnps_late, 1);
	id = stream(&p);
	notify(&p, old);
	assert_int_equal(pair_stats(&p, 0)->cnps_late, 2);
	assert_int_equal(pair_stats(&p, 0)->cnps_wrong, 0);
	assert_int_equal(pair_stats(&p, 0)->cnps_received, 0);
	assert_int_equal(status(&p, id).rate_bps, 0);
	pair_down(&p);
}

struct cuts {
	unsigned n;
	uint64_t first_ns;
};

static void on_cut(void *arg, uint64_t now_ns)
{
	struct cuts *c = arg;

	if (c->n++ == 0)
		c->first_ns = now_ns;
}

static void the_instant_of_a_cut_is_told(void **state)
{
	struct cuts cuts = {0};
	struct pair_conf conf = {.speed_bps = 40 * gbps,
				 .delay_ns = 1000,
				 .cc = "paper",
				 .hooks = {{.cut = on_cut, .arg = &cuts}}};
	struct nic_flow_status s;
	struct pair p;
	uint32_t id;

	(void)state;
	pair_up(&p, &conf);
	id = stream(&p);
	pair_run(&p, 10 * US);
	assert_int_equal(cuts.n, 0);
	s = status(&p, id);
	notify(&p, (struct cnp_from){PAIR_IP1, s.qpn, roce_udp_sport(s.qpn, s.peer_qpn)});
	assert_int_equal(cuts.n, 1);
	// 98 bytes of the line take 19.6 ns, behind an ACK at most; then comes the cable.
	assert_in_range(cuts.first_ns, 10 * US + 1019, 10 * US + 1040);
	pair_run(&p, 3000 * US); // it recovers, which is no cut
	assert_int_equal(cuts.n, 1);
	pair_down(&p);
}

// ---- who is joined with whom

static enum nic_pair joined(const struct pair *p, unsigned side, uint32_t qpn, uint32_t peer_ip,
			    uint32_t peer_qpn)
{
	return nic_pair_now(p->nic[side], qpn, ip_key_v4(peer_ip), peer_qpn);
}

static void what_is_joined_now_was_or_never_was_is_told_apart(void **state)
{
	struct nic_flow_status a, b;
	struct pair p;
	uint32_t id[2];

	(void)state;
	up(&p, NIC_SPORT_LINUX);
	id[0] = stream(&p);
	id[1] = stream(&p);
	a = status(&p, id[0]);
	b = status(&p, id[1]);
	assert_int_equal(joined(&p, 0, a.qpn, PAIR_IP1, a.peer_qpn), NIC_PAIR_RIGHT);
	assert_int_equal(joined(&p, 1, a.peer_qpn, PAIR_IP0, a.qpn), NIC_PAIR_RIGHT);
	assert_int_equal(joined(&p, 0, a.qpn, PAIR_IP1, b.peer_qpn), NIC_PAIR_WRONG);
	assert_int_equal(joined(&p, 0, b.qpn, PAIR_IP1, a.peer_qpn), NIC_PAIR_WRONG);
	assert_int_equal(joined(&p, 0, a.qpn, STRANGER, a.peer_qpn), NIC_PAIR_WRONG);
	assert_int_equal(joined(&p, 0, 0, PAIR_IP1, 0), NIC_PAIR_WRONG);
	assert_int_equal(joined(&p, 0, 0xffffff, PAIR_IP1, a.peer_qpn), NIC_PAIR_WRONG);

	nic_flow_close(p.nic[0], id[0]);
	assert_int_equal(joined(&p, 0, a.qpn, PAIR_IP1, a.peer_qpn), NIC_PAIR_LATE);
	nic_flow_forget(p.nic[0], id[0]);
	pair_run(&p, 100 * US);
	assert_int_equal(joined(&p, 0, a.qpn, PAIR_IP1, a.peer_qpn), NIC_PAIR_LATE);
	(void)stream(&p); // in its slot, under another number
	assert_int_equal(joined(&p, 0, a.qpn, PAIR_IP1, a.peer_qpn), NIC_PAIR_LATE);
	assert_int_equal(joined(&p, 0, b.qpn, PAIR_IP1, b.peer_qpn), NIC_PAIR_RIGHT);
	pair_down(&p);
}

// ---- the same numbers again

static uint32_t again(struct pair *p, uint32_t qpn, uint32_t peer_qpn)
{
	return pair_connect(p, 0,
			    (struct nic_flow){.cls = 3,
					      .msg_bytes = 65536,
					      .depth = 2,
					      .qpn = qpn,
					      .peer_qpn = peer_qpn});
}

static void numbers_can_be_used_again_and_crossed(void **state)
{
	struct nic_flow_status a, b, c, d;
	struct pair p;
	uint32_t id[2];

	(void)state;
	up(&p, NIC_SPORT_LINUX);
	for (unsigned i = 0; i < 2; i++)
		id[i] = stream(&p);
	a = status(&p, id[0]);
	b = status(&p, id[1]);
	pair_run(&p, 100 * US);
	for (unsigned i = 0; i < 2; i++) {
		nic_flow_close(p.nic[0], id[i]);
		nic_flow_forget(p.nic[0], id[i]);
	}
	pair_run(&p, 200 * US);
	id[0] = again(&p, a.qpn, b.peer_qpn);
	id[1] = again(&p, b.qpn, a.peer_qpn);
	c = status(&p, id[0]);
	d = status(&p, id[1]);
	assert_int_equal(c.qpn, a.qpn);
	assert_int_equal(c.peer_qpn, b.peer_qpn);
	assert_int_equal(d.qpn, b.qpn);
	assert_int_equal(d.peer_qpn, a.peer_qpn);
	// The number is another's now: what was meant for the one before is wrong.
	assert_int_equal(joined(&p, 0, a.qpn, PAIR_IP1, a.peer_qpn), NIC_PAIR_WRONG);
	assert_int_equal(joined(&p, 0, a.qpn, PAIR_IP1, b.peer_qpn), NIC_PAIR_RIGHT);
	pair_run(&p, 400 * US);
	assert_true(status(&p, id[0]).completed > 2);
	assert_true(status(&p, id[1]).completed > 2);
	pair_down(&p);
}

static void a_number_that_is_in_use_is_not_given_away(void **state)
{
	struct nic_flow f = {.dst_ip = ip_key_v4(PAIR_IP1),
			     .cls = 3,
			     .mtu = 1024,
			     .msg_bytes = 1024,
			     .first_psn = NIC_RANDOM_PSN};
	struct nic_flow_status a;
	struct pair p;
	uint32_t id;

	(void)state;
	up(&p, NIC_SPORT_LINUX);
	a = status(&p, stream(&p));
	f.qpn = a.qpn;
	assert_int_equal(nic_connect(p.nic[0], &f, p.nic[1], &id), -ENOSPC);
	f.qpn = 0;
	f.peer_qpn = a.peer_qpn;
	assert_int_equal(nic_connect(p.nic[0], &f, p.nic[1], &id), -ENOSPC);
	f.peer_qpn = 0;
	assert_int_equal(nic_connect(p.nic[0], &f, p.nic[1], &id), 0);
	pair_down(&p);
}

// ---- ports

struct ports {
	uint32_t n[2]; // frames that arrived at a side
	uint16_t sport[2]; // of the first
	bool same[2];
};

static void see(void *arg, unsigned to, const uint8_t *frame)
{
	struct ports *s = arg;
	uint16_t sport = be16_get(frame + SPORT_AT);

	if (s->n[to]++ == 0) {
		s->sport[to] = sport;
		s->same[to] = true;
	}
	s->same[to] &= s->sport[to] == sport;
}

static struct ports ports_of(uint8_t mode)
{
	struct ports s = {0};
	struct nic_flow_status st;
	struct pair p;
	uint32_t id;

	up(&p, mode);
	p.frame_tap = see;
	p.tap_arg = &s;
	id = stream(&p);
	pair_run(&p, 100 * US);
	st = status(&p, id);
	if (mode == NIC_SPORT_LINUX)
		assert_int_equal(s.sport[1], roce_udp_sport(st.qpn, st.peer_qpn));
	pair_down(&p);
	assert_true(s.n[0] > 10 && s.n[1] > 100);
	assert_true(s.same[0] && s.same[1]);
	return s;
}

static void source_ports_are_derived_fixed_or_drawn(void **state)
{
	struct ports s;

	(void)state;
	s = ports_of(NIC_SPORT_LINUX);
	assert_int_equal(s.sport[0], s.sport[1]); // symmetric
	s = ports_of(NIC_SPORT_FIXED);
	assert_int_equal(s.sport[0], 49152);
	assert_int_equal(s.sport[1], 49152);
	s = ports_of(NIC_SPORT_RANDOM);
	assert_int_not_equal(s.sport[0], s.sport[1]);
	assert_true(s.sport[0] >= 0xc000 && s.sport[1] >= 0xc000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cnp_that_fits_is_obeyed_and_others_are_not),
		cmocka_unit_test(a_cnp_for_one_that_was_is_late_and_not_obeyed),
		cmocka_unit_test(the_instant_of_a_cut_is_told),
		cmocka_unit_test(what_is_joined_now_was_or_never_was_is_told_apart),
		cmocka_unit_test(numbers_can_be_used_again_and_crossed),
		cmocka_unit_test(a_number_that_is_in_use_is_not_given_away),
		cmocka_unit_test(source_ports_are_derived_fixed_or_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
