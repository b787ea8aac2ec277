// SPDX-License-Identifier: Apache-2.0
// TCP connections of the NIC over a wire that loses, repeats, reorders, corrupts and marks: all
// bytes arrive, once and in order, and messages are complete when they are.
#include "tests/lab/nic/tcp_flows.h"

enum { N_FLOWS = 3, N_MESSAGES = 20, MESSAGE = 30001 };
static const uint64_t second = 1000000000;

struct told {
	uint32_t n_done, n_served;
	uint64_t bytes_served;
	struct nic_done last;
};

static struct told told;

static void on_done(void *arg, const struct nic_done *d)
{
	(void)arg;
	told.n_done++;
	told.last = *d;
	assert_true(d->posted_ns <= d->first_tx_ns && d->first_tx_ns <= d->last_tx_ns &&
		    d->last_tx_ns < d->done_ns);
}

static void on_served(void *arg, const struct nic_served *s)
{
	(void)arg;
	told.n_served++;
	told.bytes_served += s->n_bytes;
}

static void hooked(unsigned side, struct nic_config *c)
{
	(void)side;
	c->hooks = (struct nic_hooks){.done = on_done, .served = on_served};
}

static struct nic_stats transfer(uint64_t seed, enum tcp_cc cc, bool ecn, bool sack,
				 struct loop_faults faults, struct nic_stats *to)
{
	struct nic_flow f = tcp_flow(cc, ecn);
	uint32_t ids[N_FLOWS];
	struct nic_stats from;
	struct loop l;

	told = (struct told){0};
	f.msg_bytes = MESSAGE;
	f.n_messages = N_MESSAGES;
	f.tcp.sack = sack;
	loop_up(&l, seed, hooked);
	l.faults = faults;
	for (unsigned i = 0; i < N_FLOWS; i++)
		ids[i] = tcp_connect(&l, &f);
	assert_true(loop_finish(&l, ids, N_FLOWS, 1000 * second));
	assert_int_equal(told.n_done, N_FLOWS * N_MESSAGES);
	assert_int_equal(told.n_served, N_FLOWS * N_MESSAGES);
	assert_int_equal(told.bytes_served, (uint64_t)N_FLOWS * N_MESSAGES * MESSAGE);
	*to = loop_stats(&l, 1);
	from = loop_stats(&l, 0);
	assert_int_equal(to->payload_errors, 0);
	assert_int_equal(to->cls[0].goodput_bytes, (uint64_t)N_FLOWS * N_MESSAGES * MESSAGE);
	for (unsigned i = 0; i < N_FLOWS; i++)
		nic_flow_close(l.nic[0], ids[i]);
	loop_down(&l);
	return from;
}

static void all_bytes_arrive_once_and_in_order_whatever_the_wire_does(void **state)
{
	static const struct loop_faults faults[] = {
		{.loss = 25}, {.repeat = 10}, {.reorder = 10}, {.corrupt = 30}, {.ce = 5},
		{.loss = 40, .repeat = 30, .reorder = 20, .corrupt = 50, .ce = 10},
	};

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++)
		for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
			for (unsigned how = 0; how < 6; how++) {
				enum tcp_cc cc = how % 3 == 2 ? TCP_DCTCP : TCP_NEWRENO;
				bool ecn = how % 3 != 0;
				struct nic_stats to, from = transfer(seed, cc, ecn, how >= 3,
								     faults[i], &to);

				if (faults[i].loss != 0)
					assert_true(from.retransmissions > 0);
				if (faults[i].corrupt != 0)
					assert_true(to.malformed + from.malformed > 0);
				assert_int_equal(from.ece_received != 0,
						 ecn && faults[i].ce != 0);
			}
}

static void a_wire_without_faults_sends_nothing_again(void **state)
{
	struct nic_stats to, from;

	(void)state;
	from = transfer(1, TCP_NEWRENO, false, true, (struct loop_faults){0}, &to);
	assert_int_equal(from.retransmissions, 0);
	assert_int_equal(to.duplicates + to.out_of_sequence, 0);
	assert_int_equal(from.cls[0].tx_packets, to.cls[0].rx_packets);
}

static void what_tcp_cannot_be_is_refused(void **state)
{
	const struct nic_flow good = tcp_flow(TCP_DCTCP, true);
	struct nic_flow bad[5] = {good, good, good, good, good};
	struct loop l;
	uint32_t id;

	(void)state;
	bad[0].tcp.ecn = false; // DCTCP needs it
	bad[1].ecn = NIC_NOT_ECT;
	bad[2].mtu = 9000; // beyond the port
	bad[3].tcp.window_bytes = 1000; // less than a segment
	bad[4].tcp.g_num = 17; // more than 1
	loop_up(&l, 1, NULL);
	tcp_connect(&l, &good);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(nic_connect(l.nic[0], &bad[i], l.nic[1], &id), -22);
	assert_int_equal(nic_flow_add(l.nic[0], &good, &id), -22); // needs to know both ends
	loop_down(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_bytes_arrive_once_and_in_order_whatever_the_wire_does),
		cmocka_unit_test(a_wire_without_faults_sends_nothing_again),
		cmocka_unit_test(what_tcp_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
