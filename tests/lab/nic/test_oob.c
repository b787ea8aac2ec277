// SPDX-License-Identifier: Apache-2.0
// What the lab asks of a NIC beyond the live one: connections that no wire sees, messages posted
// one by one, calls when one is done or served, and frames without payload.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lab/nic/pair.h"

enum { LOG = 64 };
static const uint64_t gbps = 1000000000;

// What the hooks of both sides were told.
struct told {
	unsigned n_done, n_served;
	struct nic_done done[LOG];
	struct nic_served served[LOG];
};

static void on_done(void *arg, const struct nic_done *d)
{
	struct told *t = arg;

	assert_true(t->n_done < LOG);
	t->done[t->n_done++] = *d;
}

static void on_served(void *arg, const struct nic_served *s)
{
	struct told *t = arg;

	assert_true(t->n_served < LOG);
	t->served[t->n_served++] = *s;
}

static void up(struct pair *p, struct told *told, uint16_t max_qps)
{
	const struct nic_hooks hooks = {.done = on_done, .served = on_served, .arg = told};
	const struct pair_conf conf = {.speed_bps = 40 * gbps, .delay_ns = 1000,
				       .hooks = {hooks, hooks}, .max_qps = max_qps};

	memset(told, 0, sizeof(*told));
	pair_up(p, &conf);
}

static void connecting_says_no_word(void **state)
{
	struct told told;
	struct pair p;
	uint32_t id;

	(void)state;
	up(&p, &told, 0);
	id = pair_connect(&p, 0, (struct nic_flow){.cls = 3, .manual = true});
	pair_run(&p, 1000000);
	assert_int_equal(nic_flow_status(p.nic[0], id).state, NIC_FLOW_UP);
	assert_int_equal(pair_stats(&p, 0)->tx_frames + pair_stats(&p, 1)->tx_frames, 0);
	pair_down(&p);
}

static void what_cannot_be_connected_is_refused(void **state)
{
	const struct nic_flow good = {.dst_ip = ip_key_v4(PAIR_IP1), .cls = 3, .mtu = 1024,
				      .first_psn = NIC_RANDOM_PSN};
	struct nic_flow f = good;
	struct told told;
	struct pair p;
	uint32_t id;

	(void)state;
	up(&p, &told, 2);
	f.dst_ip = ip_key_v4(PAIR_IP0); // not the responder's
	assert_int_equal(nic_connect(p.nic[0], &f, p.nic[1], &id), -EINVAL);
	f = good;
	f.mtu = 0;
	assert_int_equal(nic_connect(p.nic[0], &f, p.nic[1], &id), -EINVAL);
	assert_int_equal(nic_connect(p.nic[0], &good, p.nic[1], &id), 0);
	assert_int_equal(nic_connect(p.nic[0], &good, p.nic[1], &id), 0);
	assert_int_equal(nic_connect(p.nic[0], &good, p.nic[1], &id), -ENOSPC);
	pair_down(&p);
}

static void keep_destination(void *arg, unsigned to, const uint8_t *frame)
{
	if (to == 1)
		memcpy(arg, frame, 6);
}

static void frames_go_to_the_new_address_of_a_peer(void **state)
{
	const uint8_t other[6] = {2, 9, 9, 9, 9, 9};
	uint8_t mac[6], seen[6];
	struct told told;
	struct pair p;
	uint32_t id;

	(void)state;
	up(&p, &told, 0);
	p.frame_tap = keep_destination;
	p.tap_arg = seen;
	pair_mac(1, mac);
	id = pair_connect(&p, 0, (struct nic_flow){.op = REQ_WRITE, .cls = 3, .manual = true});
	assert_int_equal(nic_post(p.nic[0], id, 1024, 1), 0);
	pair_poke(&p, 0);
	pair_run(&p, 100000);
	assert_memory_equal(seen, mac, 6);
	assert_int_equal(nic_peer_set(p.nic[0], ip_key_v4(PAIR_IP1), other), 0);
	assert_int_equal(nic_post(p.nic[0], id, 1024, 2), 0);
	pair_poke(&p, 0);
	pair_run(&p, 200000);
	assert_memory_equal(seen, other, 6);
	assert_int_equal(told.n_served, 1);
	pair_down(&p);
}

static void manual_messages_are_told_with_their_tags_and_times(void **state)
{
	struct told told;
	const struct nic_done *d = &told.done[0];
	struct pair p;
	uint32_t id;

	(void)state;
	up(&p, &told, 0);
	id = pair_connect(&p, 0, (struct nic_flow){.op = REQ_WRITE, .cls = 3, .manual = true});
	pair_run(&p, 5000);
	assert_int_equal(nic_post(p.nic[0], id, 4096, 777), 0);
	pair_poke(&p, 0);
	pair_run(&p, 100000);
	assert_int_equal(told.n_done, 1);
	assert_int_equal(told.n_served, 1);
	assert_int_equal(d->flow, id);
	assert_int_equal(d->tag, 777);
	assert_int_equal(d->n_bytes, 4096);
	assert_int_equal(d->posted_ns, 5000);
	assert_int_equal(d->first_tx_ns, 5000);
	// Three frames of 1122, 1106 and 1106 bytes of the line go before the last: 666.8 ns.
	assert_int_equal(d->last_tx_ns, 5667);
	// It takes 221.2 ns and 1 us, the ACK 17.2 ns and 1 us.
	assert_int_equal(told.served[0].now_ns, 5667 + 221 + 1000);
	assert_int_equal(d->done_ns, told.served[0].now_ns + 18 + 1000);
	assert_int_equal(told.served[0].tag, 777);
	assert_int_equal(told.served[0].n_bytes, 4096);
	assert_true(ip_key_same(told.served[0].src_ip, ip_key_v4(PAIR_IP0)));
	assert_int_equal(told.served[0].qpn, nic_flow_status(p.nic[0], id).peer_qpn);
	pair_down(&p);
}

static void histograms_hold_the_parts_of_a_message(void **state)
{
	const struct nic_stats *s;
	struct told told;
	struct pair p;
	uint32_t id;

	(void)state;
	up(&p, &told, 0);
	id = pair_connect(&p, 0, (struct nic_flow){.op = REQ_SEND, .cls = 3, .manual = true});
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(nic_post(p.nic[0], id, 40000, i), 0);
	pair_poke(&p, 0);
	pair_run(&p, 1000000);
	assert_int_equal(told.n_done, 10);
	s = pair_stats(&p, 0);
	assert_int_equal(s->waiting.n + s->sending.n + s->network.n, 3 * s->completion.n);
	for (unsigned i = 0; i < 10; i++)
		assert_true(told.done[i].posted_ns == 0 &&
			    told.done[i].first_tx_ns <= told.done[i].last_tx_ns &&
			    told.done[i].last_tx_ns < told.done[i].done_ns);
	assert_int_equal(s->waiting.max_ns, told.done[9].first_tx_ns);
	assert_int_equal(s->completion.max_ns, told.done[9].done_ns);
	// The last message waits for nine others and is sent in its own time.
	assert_in_range(s->waiting.max_ns, 9 * s->sending.max_ns, 9 * s->sending.max_ns + 3000);
	pair_down(&p);
}

static void posting_stops_at_the_depth(void **state)
{
	struct told told;
	struct pair p;
	uint32_t id, other;

	(void)state;
	up(&p, &told, 0);
	id = pair_connect(&p, 0, (struct nic_flow){.cls = 3, .manual = true, .depth = 20});
	other = pair_connect(&p, 0, (struct nic_flow){.cls = 3, .n_messages = 1});
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(nic_post(p.nic[0], id, 100, i), 0);
	assert_int_equal(nic_post(p.nic[0], id, 100, 20), -EAGAIN);
	assert_int_equal(nic_post(p.nic[0], other, 100, 20), -EINVAL);
	assert_int_equal(nic_post(p.nic[0], id, REQ_MAX_MSG_BYTES + 1u, 20), -EINVAL);
	pair_poke(&p, 0);
	pair_run(&p, 100000);
	assert_int_equal(nic_post(p.nic[0], id, 100, 20), 0);
	nic_flow_stop(p.nic[0], id);
	assert_int_equal(nic_post(p.nic[0], id, 100, 21), -EAGAIN);
	// Both flows' messages in the order of each.
	assert_int_equal(told.n_done, 21);
	for (unsigned i = 0, next = 0; i < 21; i++)
		if (told.done[i].flow == id)
			assert_int_equal(told.done[i].tag, next++);
	pair_down(&p);
}

// Requests from side 0; side 1 answers each on a flow of its own, side 0 asks again when it has
// the answer.
struct game {
	struct pair p;
	uint32_t ask, answer;
	unsigned rounds;
	uint64_t last_ns;
};

static void game_served(void *arg, const struct nic_served *s)
{
	struct game *g = arg;
	unsigned side = ip_key_same(s->src_ip, ip_key_v4(PAIR_IP0));

	g->last_ns = s->now_ns;
	g->rounds += !side;
	if (g->rounds == 5)
		return;
	assert_int_equal(nic_post(g->p.nic[side], side ? g->answer : g->ask, side ? 3000 : 64,
				  s->tag + 1), 0);
	pair_poke(&g->p, side);
}

static void hooks_may_post(void **state)
{
	static struct game g;
	const struct nic_hooks hooks = {.served = game_served, .arg = &g};
	const struct pair_conf conf = {.speed_bps = 40 * gbps, .delay_ns = 1000,
				       .hooks = {hooks, hooks}};
	// A request of 64 B is 146 B of the line, 29.2 ns; an answer of 3 kB 1106, 1106 and 1058.
	const uint64_t round = 30 + 1000 + 654 + 1000;

	(void)state;
	pair_up(&g.p, &conf);
	g.ask = pair_connect(&g.p, 0, (struct nic_flow){.op = REQ_SEND, .cls = 3, .manual = true});
	g.answer =
		pair_connect(&g.p, 1, (struct nic_flow){.op = REQ_SEND, .cls = 3, .manual = true});
	assert_int_equal(nic_post(g.p.nic[0], g.ask, 64, 0), 0);
	pair_poke(&g.p, 0);
	pair_run(&g.p, 1000000);
	assert_int_equal(g.rounds, 5);
	// Frames wait for an ACK's end now and then.
	assert_in_range(g.last_ns, 5 * round, 5 * (round + 2 * 18));
	pair_down(&g.p);
}

// Each message has a connection of its own, closed by the one hook or the other.
struct chain {
	struct pair p;
	uint32_t id;
	unsigned rounds;
	bool close_when_served;
};

static void chain_next(struct chain *c)
{
	c->id = pair_connect(&c->p, 0, (struct nic_flow){.op = REQ_SEND, .cls = 3, .manual = true});
	assert_int_equal(nic_post(c->p.nic[0], c->id, 5000, 0), 0);
}

static void chain_done(void *arg, const struct nic_done *d)
{
	struct chain *c = arg;

	assert_int_equal(d->flow, c->id);
	nic_flow_close(c->p.nic[0], c->id);
	nic_flow_forget(c->p.nic[0], c->id);
	if (++c->rounds < 100)
		chain_next(c);
}

static void chain_served(void *arg, const struct nic_served *s)
{
	struct chain *c = arg;

	if (c->close_when_served)
		chain_done(c, &(struct nic_done){.flow = c->id, .n_bytes = s->n_bytes});
}

static void hooks_may_close_and_connect(void **state)
{
	static struct chain c;
	const struct nic_hooks hooks = {.done = chain_done, .served = chain_served, .arg = &c};
	const struct pair_conf conf = {.speed_bps = 40 * gbps, .delay_ns = 1000,
				       .hooks = {hooks, hooks}, .max_qps = 3};

	(void)state;
	for (unsigned when = 0; when < 2; when++) {
		memset(&c, 0, sizeof(c));
		c.close_when_served = when;
		pair_up(&c.p, &conf);
		chain_next(&c);
		pair_run(&c.p, 10000000);
		assert_int_equal(c.rounds, 100);
		assert_int_equal(pair_stats(&c.p, 1)->messages_served, 100);
		pair_down(&c.p);
	}
}

static void status_counts_bytes(void **state)
{
	struct nic_flow_status s;
	struct told told;
	struct pair p;
	uint32_t id;

	(void)state;
	up(&p, &told, 0);
	id = pair_connect(&p, 0, (struct nic_flow){.op = REQ_WRITE, .cls = 3, .msg_bytes = 1 << 20,
						   .n_messages = 1});
	// Half of it is there: what was acknowledged is a multiple of 16 packets.
	pair_run(&p, 110000);
	s = nic_flow_status(p.nic[0], id);
	assert_int_equal(s.acked_bytes % (16 * 1024), 0);
	assert_in_range(s.acked_bytes, 490000, 530000);
	pair_run(&p, 1000000);
	s = nic_flow_status(p.nic[0], id);
	assert_int_equal(s.acked_bytes, 1 << 20);
	assert_int_equal(s.tx_bytes, (1 << 20) + 1024 * 58 + 16);
	assert_int_equal(s.tx_packets, 1024);
	pair_down(&p);
}

// An answer has an AETH in its first and last packet.
static void status_of_a_read_counts_the_data_at_the_far_end(void **state)
{
	struct nic_flow_status s;
	struct told told;
	struct pair p;
	uint32_t id;

	(void)state;
	up(&p, &told, 0);
	id = pair_connect(&p, 0, (struct nic_flow){.op = REQ_READ, .cls = 3, .msg_bytes = 10240,
						   .n_messages = 1});
	pair_run(&p, 1000000);
	s = nic_flow_status(p.nic[0], id);
	assert_int_equal(s.acked_bytes, 10240);
	assert_int_equal(s.tx_packets, 10);
	assert_int_equal(s.tx_bytes, 10240 + 10 * 58 + 2 * 4);
	pair_down(&p);
}

static void closing_frees_both_ends_without_a_word(void **state)
{
	struct told told;
	struct pair p;

	(void)state;
	up(&p, &told, 2);
	for (unsigned i = 0; i < 1000; i++) {
		uint32_t id = pair_connect(&p, 0, (struct nic_flow){.cls = 3, .manual = true});
		uint64_t sent = pair_stats(&p, 0)->tx_frames + pair_stats(&p, 1)->tx_frames;

		nic_flow_close(p.nic[0], id);
		pair_run(&p, p.clock.now_ns + 10000);
		assert_int_equal(nic_flow_status(p.nic[0], id).state, NIC_FLOW_CLOSED);
		assert_int_equal(pair_stats(&p, 0)->tx_frames + pair_stats(&p, 1)->tx_frames, sent);
		nic_flow_forget(p.nic[0], id);
	}
	pair_down(&p);
}

static void frames_of_a_closed_connection_find_nobody(void **state)
{
	struct told told;
	struct pair p;
	uint32_t id;

	(void)state;
	up(&p, &told, 2);
	id = pair_connect(&p, 0, (struct nic_flow){.cls = 3, .msg_bytes = 1 << 20});
	pair_run(&p, 50000);
	nic_flow_close(p.nic[0], id);
	nic_flow_forget(p.nic[0], id);
	id = pair_connect(&p, 0, (struct nic_flow){.cls = 3, .msg_bytes = 4096, .n_messages = 3});
	pair_run(&p, 200000);
	assert_int_equal(nic_flow_status(p.nic[0], id).completed, 3);
	// 1 us of frames on the wire, and the answers to what had arrived.
	assert_in_range(pair_stats(&p, 1)->unknown_qp, 3, 8);
	assert_int_equal(pair_stats(&p, 1)->out_of_sequence, 0);
	pair_down(&p);
}

// FNV-1a over time, direction and length of every frame.
struct trace {
	uint64_t hash;
	uint32_t longest_stored, longest;
};

static void trace_tap(void *arg, unsigned to, uint64_t t_ns, uint32_t stored, uint32_t len)
{
	struct trace *t = arg;

	t->hash = (t->hash ^ (t_ns * 2 + to)) * 0x100000001b3;
	t->hash = (t->hash ^ len) * 0x100000001b3;
	t->longest_stored = stored > t->longest_stored ? stored : t->longest_stored;
	t->longest = len > t->longest ? len : t->longest;
}

static struct trace run_trace(bool whole)
{
	const struct pair_conf conf = {.speed_bps = 100 * gbps, .delay_ns = 700, .whole = whole};
	struct trace t = {.hash = 0xcbf29ce484222325};
	uint32_t ids[6];
	struct pair p;

	pair_up(&p, &conf);
	p.tap = trace_tap;
	p.tap_arg = &t;
	p.end[0].lose_every = 901;
	p.end[1].lose_every = 700;
	for (uint8_t i = 0; i < 6; i++)
		ids[i] = pair_connect(&p, i & 1, (struct nic_flow){.op = i % 3, .cls = i,
								   .msg_bytes = 70001, .mtu = 4096,
								   .n_messages = 100});
	pair_run(&p, 20000000);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(nic_flow_status(p.nic[i & 1], ids[i]).completed, 100);
	for (unsigned i = 0; i < 2; i++) {
		const struct nic_stats *s = pair_stats(&p, i);

		assert_int_equal(s->payload_errors + s->malformed + s->icrc_errors + s->no_mbuf, 0);
		assert_true(p.end[i].lost != 0);
	}
	pair_down(&p);
	return t;
}

static void frames_without_payload_behave_as_whole_ones(void **state)
{
	struct trace whole = run_trace(true), snapped = run_trace(false);

	(void)state;
	assert_int_equal(snapped.longest_stored, PAIR_SNAP);
	assert_int_equal(snapped.longest, whole.longest);
	assert_int_equal(whole.longest_stored, whole.longest);
	assert_true(snapped.hash == whole.hash);
}

static void numbers_that_are_read_twice_are_not_counted_twice(void **state)
{
	static struct nic_stats copy;
	struct told told;
	struct pair p;

	(void)state;
	up(&p, &told, 0);
	pair_connect(&p, 0, (struct nic_flow){.op = REQ_SEND, .cls = 3, .msg_bytes = 1 << 20,
					      .n_messages = 20});
	p.end[1].lose_every = 300;
	pair_run(&p, 2000000);
	copy = *nic_stats_now(p.nic[0]);
	assert_true(copy.naks_received > 3 && copy.retransmissions != 0);
	assert_memory_equal(pair_stats(&p, 0), &copy, sizeof(copy));
	pair_down(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connecting_says_no_word),
		cmocka_unit_test(what_cannot_be_connected_is_refused),
		cmocka_unit_test(frames_go_to_the_new_address_of_a_peer),
		cmocka_unit_test(manual_messages_are_told_with_their_tags_and_times),
		cmocka_unit_test(histograms_hold_the_parts_of_a_message),
		cmocka_unit_test(posting_stops_at_the_depth),
		cmocka_unit_test(hooks_may_post),
		cmocka_unit_test(hooks_may_close_and_connect),
		cmocka_unit_test(status_counts_bytes),
		cmocka_unit_test(status_of_a_read_counts_the_data_at_the_far_end),
		cmocka_unit_test(closing_frees_both_ends_without_a_word),
		cmocka_unit_test(frames_of_a_closed_connection_find_nobody),
		cmocka_unit_test(frames_without_payload_behave_as_whole_ones),
		cmocka_unit_test(numbers_that_are_read_twice_are_not_counted_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
