// SPDX-License-Identifier: Apache-2.0
// DCQCN inside the NIC, two of them back to back over a path that marks frames at random: marks
// become CNPs of the right queue pair, CNPs become a pace, and both stay where they are wanted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"
#include "tests/lab/nic/loop.h"

enum { MS = 1000000, US = 1000, MANY = 64, BTH_AT = 42, LINK = 24 };
static const uint64_t line_bps = 100000000000;

static const char *preset; // of both sides
static void (*tune)(unsigned side, struct cc_config *c);

static void with_preset(unsigned side, struct nic_config *c)
{
	c->cc = cc_preset_find(preset)->config;
	if (tune != NULL)
		tune(side, &c->cc);
}

static void up(struct loop *l, const char *name, void (*edit)(unsigned, struct cc_config *))
{
	preset = name;
	tune = edit;
	loop_up(l, 5, with_preset);
}

static struct nic_flow flow_of(uint8_t op)
{
	return (struct nic_flow){.dst_ip = ip_key_v4(LOOP_IP1), .op = op, .cls = 3, .mtu = 1024,
				 .msg_bytes = 65536, .depth = 16, .first_psn = NIC_RANDOM_PSN};
}

static uint32_t add(struct loop *l, const struct nic_flow *f)
{
	uint32_t id;

	assert_int_equal(nic_flow_add(l->nic[0], f, &id), 0);
	return id;
}

// ---- what passes on the wire

struct seen {
	uint64_t cnps[2], data[2]; // by sender
	uint64_t data_bytes[2]; // link bytes
	uint64_t last_cnp_ns, least_gap_ns; // between CNPs of side 1
	uint64_t last_data_ns, longest_run, run; // of side 0: frames less than 1 us apart
	uint32_t qpn[2]; // of the last CNP
	uint8_t tos;
	uint16_t cnp_sport, data_sport;
};

static void see(void *arg, unsigned from, uint64_t t_ns, const uint8_t *frame, uint32_t len)
{
	const struct bth_hdr *bth = (const struct bth_hdr *)(const void *)(frame + BTH_AT);
	struct seen *s = arg;
	struct pkt_info info;

	if (!parse(frame, len, &info) || !info.roce || info.bth_opcode == RC_ACK ||
	    info.bth_opcode == UD_SEND_ONLY)
		return;
	if (info.bth_opcode != ROCE_CNP) {
		s->data[from]++;
		s->data_bytes[from] += len + LINK;
		s->data_sport = be16_get(frame + 34);
		if (from != 0)
			return;
		s->run = t_ns - s->last_data_ns < US ? s->run + 1 : 1;
		s->longest_run = s->run > s->longest_run ? s->run : s->longest_run;
		s->last_data_ns = t_ns;
		return;
	}
	s->cnps[from]++;
	s->qpn[from] = be24_get(&bth->dest_qp);
	s->tos = frame[15];
	s->cnp_sport = be16_get(frame + 34);
	assert_int_equal(len, 74);
	if (from == 1 && s->cnps[1] > 1 && t_ns - s->last_cnp_ns < s->least_gap_ns)
		s->least_gap_ns = t_ns - s->last_cnp_ns;
	if (from == 1)
		s->last_cnp_ns = t_ns;
}

static void tap(struct loop *l, struct seen *s)
{
	*s = (struct seen){.least_gap_ns = UINT64_MAX};
	l->tap = see;
	l->tap_arg = s;
}

// ---- tests

static void marked_data_slows_its_sender_and_no_marks_let_it_recover(void **state)
{
	static const char *const names[] = {"paper", "connectx"};

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		for (uint8_t op = REQ_WRITE; op <= REQ_SEND; op++) {
			const struct nic_flow f = flow_of(op);
			struct nic_flow_status s;
			struct seen seen;
			struct loop l;
			uint32_t id;

			up(&l, names[i], NULL);
			tap(&l, &seen);
			l.faults.ce = 16;
			id = add(&l, &f);
			loop_run(&l, 5 * MS, 0);
			s = nic_flow_status(l.nic[0], id);
			assert_in_range(s.rate_bps, 1000000, line_bps / 4);
			assert_true(seen.cnps[1] > 20);
			assert_int_equal(s.cnps, seen.cnps[1]);
			assert_int_equal(loop_stats(&l, 1).cnps_sent, seen.cnps[1]);
			assert_int_equal(loop_stats(&l, 0).cnps_received, seen.cnps[1]);
			assert_int_equal(seen.qpn[1], s.qpn);
			// No data came back, so no marks did that count: ACKs and CNPs make none.
			assert_true(l.marked > loop_stats(&l, 1).cls[3].ce_marked);
			assert_int_equal(seen.cnps[0], 0);
			assert_int_equal(seen.tos, 0xc2);
			assert_int_equal(seen.cnp_sport, seen.data_sport);
			l.faults.ce = 0;
			nic_flow_stop(l.nic[0], id);
			loop_run(&l, 3000 * (uint64_t)MS, 0);
			// By itself, though it sent nothing.
			assert_int_equal(nic_flow_status(l.nic[0], id).rate_bps, 0);
			loop_down(&l);
		}
}

static void a_read_is_slowed_at_the_responder(void **state)
{
	const struct nic_flow f = flow_of(REQ_READ);
	struct nic_flow_status s;
	struct seen seen;
	struct loop l;
	uint64_t free_bytes;
	uint32_t id;

	(void)state;
	up(&l, "paper", NULL);
	tap(&l, &seen);
	id = add(&l, &f);
	loop_run(&l, 2 * MS, 0);
	free_bytes = seen.data_bytes[1];
	tap(&l, &seen);
	l.faults.ce = 16;
	loop_run(&l, 4 * MS, 0);
	s = nic_flow_status(l.nic[0], id);
	assert_true(seen.cnps[0] > 10);
	assert_int_equal(seen.qpn[0], s.peer_qpn);
	assert_int_equal(seen.cnps[1], 0);
	assert_int_equal(loop_stats(&l, 1).cnps_received, seen.cnps[0]);
	assert_true(seen.data_bytes[1] < free_bytes / 2);
	loop_down(&l);
}

// The sum of what leaves is what the reaction point allows, also when much of it is sent again.
static void retransmissions_are_paced_too(void **state)
{
	struct nic_flow f = flow_of(REQ_WRITE);
	struct seen seen;
	struct loop l;

	(void)state;
	up(&l, "paper", NULL);
	tap(&l, &seen);
	l.faults = (struct loop_faults){.loss = 40, .spare_management = true};
	f.rate_bps = 1000000000;
	add(&l, &f);
	loop_run(&l, 20 * MS, 0);
	assert_true(loop_stats(&l, 0).retransmissions > 100);
	// 1 Gb/s for 20 ms are 2.5 MB; two frames may be saved up.
	assert_in_range(seen.data_bytes[0], 1000000, 2500000 + 4 * 1200);
	loop_down(&l);
}

static void only_here(unsigned side, struct cc_config *c)
{
	(void)side;
	c->np_classes = 1u << 3;
	c->rp_classes = 1u << 3 | 1u << 4;
}

static void obey_nothing_in_3(unsigned side, struct cc_config *c)
{
	(void)side;
	c->rp_classes = (uint8_t)~(1u << 3);
}

static void each_class_has_its_own_switches(void **state)
{
	struct nic_flow f = flow_of(REQ_WRITE);
	struct seen seen;
	struct loop l;
	uint32_t id[2];

	(void)state;
	up(&l, "paper", only_here);
	tap(&l, &seen);
	l.faults.ce = 16;
	id[0] = add(&l, &f);
	f.cls = 4;
	id[1] = add(&l, &f);
	loop_run(&l, 2 * MS, 0);
	assert_true(nic_flow_status(l.nic[0], id[0]).cnps > 10);
	assert_true(nic_flow_status(l.nic[0], id[0]).rate_bps != 0);
	assert_int_equal(nic_flow_status(l.nic[0], id[1]).cnps, 0);
	loop_down(&l);

	up(&l, "paper", obey_nothing_in_3);
	l.faults.ce = 16;
	f.cls = 3;
	id[0] = add(&l, &f);
	loop_run(&l, 2 * MS, 0);
	assert_true(nic_flow_status(l.nic[0], id[0]).cnps > 10);
	assert_int_equal(nic_flow_status(l.nic[0], id[0]).rate_bps, 0);
	loop_down(&l);
}

static void no_congestion_control_no_cnp(void **state)
{
	const struct nic_flow f = flow_of(REQ_WRITE);
	struct seen seen;
	struct loop l;

	(void)state;
	up(&l, "none", NULL);
	tap(&l, &seen);
	l.faults.ce = 2;
	add(&l, &f);
	loop_run(&l, 1 * MS, 0);
	assert_true(l.marked > 1000);
	assert_int_equal(seen.cnps[0] + seen.cnps[1], 0);
	loop_down(&l);
}

// 64 queue pairs, all marked all the time: a NIC that needs 3 us for each makes 333 in a ms.
static void the_capacity_of_a_nic_bounds_its_cnps(void **state)
{
	const struct nic_flow f = flow_of(REQ_WRITE);
	uint64_t least = UINT64_MAX, most = 0;
	struct seen seen;
	struct loop l;
	uint32_t id[MANY];

	(void)state;
	up(&l, "cx3", obey_nothing_in_3);
	tap(&l, &seen);
	l.faults.ce = 1;
	// Of a listening side's 64 queue pairs none is left over.
	for (unsigned i = 0; i < MANY; i++)
		id[i] = add(&l, &f);
	loop_run(&l, 3 * MS, 0);
	assert_in_range(seen.cnps[1], 930, 1001);
	assert_int_equal(seen.least_gap_ns, 3 * US);
	for (unsigned i = 0; i < MANY; i++) {
		uint64_t n = nic_flow_status(l.nic[0], id[i]).cnps;

		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	// In turns, so that each has its share.
	assert_true(least + 2 >= most && least >= 10);
	loop_down(&l);
}

static void windows_without_obeying(unsigned side, struct cc_config *c)
{
	c->np = NP_WINDOW;
	obey_nothing_in_3(side, c);
}

static void a_window_or_a_gap_bounds_the_cnps_of_a_queue_pair(void **state)
{
	static const struct {
		const char *preset;
		void (*edit)(unsigned side, struct cc_config *c);
		uint64_t gap_ns, late_ns;
	} rows[] = {{"paper", windows_without_obeying, 50 * US, 0},
		    {"paper", obey_nothing_in_3, 50 * US, 100},
		    {"connectx", obey_nothing_in_3, 4 * US, 100}};
	const struct nic_flow f = flow_of(REQ_WRITE);

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seen seen;
		struct loop l;

		up(&l, rows[i].preset, rows[i].edit);
		tap(&l, &seen);
		l.faults.ce = 1;
		add(&l, &f);
		loop_run(&l, 2 * MS, 0);
		// A window ends by itself, a gap with the next frame.
		assert_in_range(seen.least_gap_ns, rows[i].gap_ns,
				rows[i].gap_ns + rows[i].late_ns);
		assert_in_range(seen.cnps[1], 1900 * US / (rows[i].gap_ns + 100),
				2 * MS / rows[i].gap_ns);
		loop_down(&l);
	}
}

static void paused(struct loop *l, unsigned to, uint8_t classes)
{
	struct pfc_times t = {.enable = classes};
	uint8_t frame[PFC_FRAME_LEN];
	const uint8_t mac[6] = {2, 9, 9, 9, 9, 9};

	for (unsigned c = 0; c < 8; c++)
		t.quanta[c] = UINT16_MAX; // at 100 Gb/s 335 us
	pfc_frame_build(frame, mac, &t);
	loop_inject(l, to, frame, sizeof(frame));
}

static void pause_holds_the_cnps_class_and_no_timer(void **state)
{
	const struct nic_flow f = flow_of(REQ_WRITE);
	struct nic_flow_status before, after;
	struct seen seen;
	struct loop l;
	uint64_t cnps;
	uint32_t id;

	(void)state;
	up(&l, "paper", NULL);
	tap(&l, &seen);
	l.faults.ce = 4;
	id = add(&l, &f);
	loop_run(&l, 1 * MS, 0);
	paused(&l, 1, 1u << 6);
	loop_run(&l, 1010 * US, 0);
	cnps = seen.cnps[1];
	loop_run(&l, 1300 * US, 0);
	assert_int_equal(seen.cnps[1], cnps);
	loop_run(&l, 1500 * US, 0);
	assert_true(seen.cnps[1] > cnps);
	// The data class paused: nothing is sent, marked or told, and the rate rises all the while.
	l.faults.ce = 0;
	loop_run(&l, 1600 * US, 0);
	before = nic_flow_status(l.nic[0], id);
	paused(&l, 0, 1u << 3);
	loop_run(&l, 1605 * US, 0);
	seen.data[0] = 0;
	loop_run(&l, 1900 * US, 0);
	after = nic_flow_status(l.nic[0], id);
	assert_int_equal(seen.data[0], 0);
	assert_true(after.rate_bps > before.rate_bps);
	loop_down(&l);
}

static uint64_t longest_run(const char *name, uint64_t *bytes)
{
	struct nic_flow f = flow_of(REQ_WRITE);
	struct seen seen;
	struct loop l;

	up(&l, name, NULL);
	tap(&l, &seen);
	f.rate_bps = 1000000000;
	add(&l, &f);
	loop_run(&l, 10 * MS, 0);
	*bytes = seen.data_bytes[0];
	loop_down(&l);
	return seen.longest_run;
}

static void pacing_is_by_packet_or_by_burst(void **state)
{
	uint64_t bytes;

	(void)state;
	assert_in_range(longest_run("paper", &bytes), 1, 3);
	assert_in_range(bytes, 1200000, 1260000);
	// 64,000 bytes in frames of 1082 or 1098, and what was saved up.
	assert_in_range(longest_run("gen1", &bytes), 59, 63);
	// 1.25 MB, and one burst more or less.
	assert_in_range(bytes, 1180000, 1320000);
}

static void leaky(unsigned side, struct cc_config *c)
{
	(void)side;
	c->leak = 1;
}

static void one_slow_queue_pair_holds_up_all_of_a_leaky_nic(void **state)
{
	(void)state;
	for (unsigned leak = 0; leak < 2; leak++) {
		struct nic_flow f = flow_of(REQ_WRITE);
		struct seen seen;
		struct loop l;
		uint32_t fast;

		up(&l, "gen2", leak ? leaky : NULL);
		tap(&l, &seen);
		fast = add(&l, &f);
		f.rate_bps = 1000000000;
		f.cls = 5;
		add(&l, &f);
		loop_run(&l, 10 * MS, 0);
		// 100 Gb/s, or packet by packet with the other one.
		if (leak)
			assert_in_range(nic_flow_status(l.nic[0], fast).tx_bytes, 1000000,
					1300000);
		else
			assert_true(nic_flow_status(l.nic[0], fast).tx_bytes > 110000000);
		loop_down(&l);
	}
}

static void a_rate_that_changes_changes_what_is_owed(void **state)
{
	struct nic_flow f = flow_of(REQ_WRITE);
	struct seen seen;
	struct loop l;
	uint32_t id;

	(void)state;
	up(&l, "gen1", NULL);
	tap(&l, &seen);
	f.rate_bps = 10000000; // a burst of 64 KB is worth 51 ms
	id = add(&l, &f);
	loop_run(&l, 2 * MS, 0);
	nic_flow_set_rate(l.nic[0], id, 10000000000);
	seen.data_bytes[0] = 0;
	l.wake_ns[0] = l.now_ns;
	loop_run(&l, 4 * MS, 0);
	// 2 ms at 10 Gb/s.
	assert_in_range(seen.data_bytes[0], 2400000, 2600000);
	loop_down(&l);
}

static void runs_repeat_to_the_byte(void **state)
{
	const struct nic_flow f = flow_of(REQ_WRITE);
	struct seen seen[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct loop l;

		memset(&seen[i], 0, sizeof(seen[i]));
		up(&l, "cx4", NULL);
		tap(&l, &seen[i]);
		l.faults.ce = 10;
		add(&l, &f);
		add(&l, &f);
		// Polled at other times, it must do the same at the same times.
		loop_run(&l, 3 * MS, i == 0 ? 0 : 333);
		loop_down(&l);
	}
	assert_int_equal(seen[0].cnps[1], seen[1].cnps[1]);
	assert_int_equal(seen[0].data_bytes[0], seen[1].data_bytes[0]);
	assert_int_equal(seen[0].last_cnp_ns, seen[1].last_cnp_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marked_data_slows_its_sender_and_no_marks_let_it_recover),
		cmocka_unit_test(a_read_is_slowed_at_the_responder),
		cmocka_unit_test(retransmissions_are_paced_too),
		cmocka_unit_test(each_class_has_its_own_switches),
		cmocka_unit_test(no_congestion_control_no_cnp),
		cmocka_unit_test(the_capacity_of_a_nic_bounds_its_cnps),
		cmocka_unit_test(a_window_or_a_gap_bounds_the_cnps_of_a_queue_pair),
		cmocka_unit_test(pause_holds_the_cnps_class_and_no_timer),
		cmocka_unit_test(pacing_is_by_packet_or_by_burst),
		cmocka_unit_test(one_slow_queue_pair_holds_up_all_of_a_leaky_nic),
		cmocka_unit_test(a_rate_that_changes_changes_what_is_owed),
		cmocka_unit_test(runs_repeat_to_the_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
