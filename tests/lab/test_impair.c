// SPDX-License-Identifier: Apache-2.0
// Impairment of a whole switch: what each action does to frames, to counters and to the balance,
// how rules end, and what is left when a port goes down. Hosts are those of roce_frame.h. The rules
// come from texts, as users write them.
#include <errno.h>
#include <string.h>

#include "control/config/impair.h"
#include "dataplane/packet/icrc.h"
#include "dataplane/packet/psn.h"
#include "dataplane/switch_impair.h"
#include "tests/lab/roce_frame.h"

enum { HOSTS = 3, US = 1000, MS = 1000000, QP = 18, SETTLE = 200 * US };

static const char policy[] =
	"switch: {name: z, workers: 1}\n"
	"ports:\n  - {name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: 10G, profile: q}\n"
	"profiles: {q: {trust: dscp, dscp_to_class: {default: 0, 24-31: 3}, "
	"classes: {3: {lossless: on}}}}\n";

static enum impair_direction way;

static struct bench *open_bench(void)
{
	struct bench *b = bench_open(policy, 0);

	for (unsigned h = 0; h < HOSTS; h++)
		bench_send(b, h, &(struct bench_frame){.broadcast = true, .len = 64});
	bench_run(b, SETTLE);
	bench_control(b);
	for (unsigned h = 0; h < HOSTS; h++)
		b->host[h].n_rx = 0;
	return b;
}

static struct impair_rule rule(const char *match, const char *action)
{
	struct impair_rule r = {.for_ns = 1000ull * MS, .direction = (uint8_t)way};
	struct impair_mistake why;

	if (!impair_parse_match(match, &r, &why) || !impair_parse_action(action, &r, &why))
		fail_msg("column %u: %s", why.column, why.text);
	return r;
}

static uint32_t add_rule(struct bench *b, unsigned port, const struct impair_rule *r)
{
	uint32_t id = 0;

	assert_int_equal(switch_impair_add(b->sw, port, r, &id), 0);
	bench_control(b);
	bench_run(b, 1);
	return id;
}

// Frames of these tests go from the first host to the second. A rule for frames that leave is at
// the second port, one for frames that arrive at the first.
static uint32_t impair(struct bench *b, const char *match, const char *action)
{
	struct impair_rule r = rule(match, action);

	return add_rule(b, way, &r);
}

static struct impair_view view(const struct bench *b, uint32_t id)
{
	struct impair_view v = {0};

	for (unsigned i = 0; switch_impair_get(b->sw, i, &v); i++)
		if (v.id == id)
			return v;
	fail_msg("no rule %u", id);
	return v;
}

// RoCEv2 with an iCRC, from the first host to the second.
static void send_psn(struct bench *b, uint32_t psn, uint32_t qp, uint8_t ecn, bool v6)
{
	uint8_t f[FRAME_MAX];
	const struct roce r = {.from = 0, .to = 1, .v6 = v6, .opcode = RC_WRITE_MIDDLE,
			       .ecn = ecn, .qp = qp, .psn = psn, .payload = 256, .sport = 5000};
	uint16_t len = roce_build(f, &r);
	unsigned l3_len = len - ETH_HLEN_ - ROCE_ICRC_LEN;

	icrc_put(f + len - ROCE_ICRC_LEN,
		 icrc(f + ETH_HLEN_, l3_len, v6 ? PKT_IPV6 : PKT_IPV4));
	bench_send_raw(b, 0, f, len);
}

static void send_psns(struct bench *b, uint32_t from, uint32_t to)
{
	for (uint32_t psn = from; psn <= to; psn++)
		send_psn(b, psn, QP, ECN_ECT0, false);
}

static struct pkt_info parsed(const struct bench_rx *rx)
{
	struct pkt_info pkt;

	assert_true(parse(rx->data, rx->len, &pkt));
	return pkt;
}

static uint32_t psn_at(const struct bench *b, unsigned i)
{
	assert_true(i < b->host[1].n_rx);
	return parsed(&b->host[1].rx[i]).bth_psn;
}

static void expect_psns(const struct bench *b, const uint32_t *psns, unsigned n)
{
	assert_int_equal(b->host[1].n_rx, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(psn_at(b, i), psns[i]);
}

static unsigned n_events(const struct bench *b, enum event_type type, uint32_t *a, uint64_t *v)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n_events; i++)
		if (b->events[i].type == type) {
			n++;
			*a = b->events[i].a;
			*v = b->events[i].b;
		}
	return n;
}

// ---- drop

static void a_frame_is_dropped_by_its_psn_and_raises_no_alarm(void **state)
{
	struct bench *b = open_bench();
	uint32_t id = impair(b, "roce.opcode == RC_WRITE_MIDDLE && psn%10 == 0", "drop"), a;
	uint64_t v;

	(void)state;
	send_psns(b, 5, 34);
	bench_run(b, SETTLE);
	bench_control(b);
	assert_int_equal(b->host[1].n_rx, 27);
	for (unsigned i = 0; i < 27; i++)
		assert_int_not_equal(psn_at(b, i) % 10, 0);
	assert_int_equal(ctr_get(&switch_drops(b->sw, way, 3, DROP_IMPAIRED)->packets), 3);
	assert_int_equal(n_events(b, EVENT_LOSSLESS_DROP, &a, &v), 0);
	assert_int_equal(view(b, id).hits, 3);
	assert_int_equal(view(b, id).changed, 3);
	bench_close(b);
}

static void frames_of_other_ports_queue_pairs_and_kinds_are_left_alone(void **state)
{
	struct bench *b = open_bench();
	const struct bench_frame back = {.to = 0, .len = 100};

	(void)state;
	impair(b, "roce.qp == 18", "drop");
	send_psn(b, 1, 19, ECN_ECT0, false);
	bench_send(b, 0, &(struct bench_frame){.to = 1, .len = 100});
	bench_send(b, 1, &back);
	send_psn(b, 2, 18, ECN_ECT0, true);
	bench_run(b, SETTLE);
	assert_int_equal(b->host[1].n_rx, 2);
	assert_int_equal(b->host[0].n_rx, 1);
	bench_close(b);
}

static void pfc_is_never_impaired(void **state)
{
	struct bench *b = open_bench();
	uint32_t id = impair(b, "", "drop");

	(void)state;
	bench_pause(b, 0, 1 << 3, 1000);
	bench_run(b, SETTLE);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->consumed), 1);
	assert_int_equal(view(b, id).hits, 0);
	bench_close(b);
}

static void a_frame_that_is_sent_again_passes_with_once(void **state)
{
	struct bench *b = open_bench();
	static const uint32_t want[] = {8, 9, 11, 9, 10, 11};

	(void)state;
	impair(b, "psn%10 == 0 && once", "drop");
	send_psns(b, 8, 11);
	send_psns(b, 9, 11);
	bench_run(b, SETTLE);
	expect_psns(b, want, 6);
	bench_close(b);
}

// ---- delay, reorder, duplicate

static void a_delayed_frame_arrives_so_much_later_and_is_queued_meanwhile(void **state)
{
	struct bench *b = open_bench();
	static const uint32_t want[] = {1, 3, 2};
	struct balance at;
	uint64_t plain_ns, delayed_ns;
	uint32_t id;

	(void)state;
	send_psns(b, 2, 2);
	plain_ns = b->clock.now_ns;
	bench_run(b, SETTLE);
	plain_ns = b->host[1].rx[0].t_ns - plain_ns;
	b->host[1].n_rx = 0;
	id = impair(b, "psn == 2", "delay 50us");
	send_psns(b, 1, 1);
	bench_run(b, SETTLE);
	delayed_ns = b->clock.now_ns;
	send_psns(b, 2, 3);
	bench_run(b, 20 * US);
	at = switch_balance(b->sw);
	assert_int_equal(at.queued, 1);
	assert_int_equal(at.received + at.generated + at.replicated,
			 at.transmitted + at.consumed + at.dropped + at.queued);
	assert_int_equal(view(b, id).held, 1);
	bench_run(b, SETTLE);
	expect_psns(b, want, 3);
	assert_int_equal(b->host[1].rx[2].t_ns - delayed_ns, plain_ns + 50 * US);
	assert_int_equal(view(b, id).held, 0);
	assert_int_equal(switch_balance(b->sw).queued, 0);
	assert_int_equal(switch_copies(b->sw), 0);
	bench_close(b);
}

static void a_delay_of_all_frames_keeps_their_order(void **state)
{
	struct bench *b = open_bench();

	(void)state;
	impair(b, "", "delay 30us");
	send_psns(b, 0, 99);
	bench_run(b, SETTLE);
	assert_int_equal(b->host[1].n_rx, 100);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(psn_at(b, i), i);
	bench_close(b);
}

static void a_delayed_frame_waits_while_its_queue_is_tx_disabled(void **state)
{
	struct bench *b = open_bench();

	(void)state;
	impair(b, "", "delay 50us");
	send_psns(b, 1, 3);
	bench_run(b, 20 * US);
	bench_tx(b, 1, 3, false);
	bench_run(b, SETTLE);
	assert_int_equal(b->host[1].n_rx, 0);
	bench_tx(b, 1, 3, true);
	bench_run(b, SETTLE);
	assert_int_equal(b->host[1].n_rx, 3);
	bench_close(b);
}

static void a_reordered_frame_follows_frames_of_its_flow_alone(void **state)
{
	struct bench *b = open_bench();
	static const uint32_t want[] = {1, 101, 102, 103, 3, 4, 2, 5};

	(void)state;
	impair(b, "psn == 2", "reorder 2");
	send_psns(b, 1, 2);
	for (uint32_t psn = 101; psn <= 103; psn++)
		send_psn(b, psn, 19, ECN_ECT0, false);
	send_psns(b, 3, 5);
	bench_run(b, SETTLE);
	expect_psns(b, want, 8);
	bench_close(b);
}

static void a_reordered_frame_without_followers_arrives_after_a_millisecond(void **state)
{
	struct bench *b = open_bench();

	(void)state;
	impair(b, "", "reorder 3");
	send_psns(b, 7, 7);
	bench_run(b, MS / 2);
	assert_int_equal(b->host[1].n_rx, 0);
	bench_run(b, MS);
	assert_int_equal(b->host[1].n_rx, 1);
	bench_close(b);
}

static void a_duplicate_is_a_frame_of_its_own_behind_the_first(void **state)
{
	struct bench *b = open_bench();
	static const uint32_t want[] = {1, 2, 2, 3};
	uint64_t before = ctr_get(&switch_port_counters(b->sw, way)->replicated);

	(void)state;
	impair(b, "psn == 2", "duplicate");
	send_psns(b, 1, 3);
	bench_run(b, SETTLE);
	expect_psns(b, want, 4);
	assert_memory_equal(b->host[1].rx[1].data, b->host[1].rx[2].data, BENCH_KEEP);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, way)->replicated), before + 1);
	bench_close(b);
}

static void frames_beyond_the_room_pass_and_are_counted(void **state)
{
	struct bench *b = open_bench();
	uint32_t id = impair(b, "", "delay 10ms");

	(void)state;
	send_psns(b, 0, IMPAIR_HELD_MAX + 9);
	bench_run(b, 5 * MS);
	assert_int_equal(view(b, id).held, IMPAIR_HELD_MAX);
	assert_int_equal(view(b, id).unable, 10);
	assert_int_equal(b->host[1].n_rx, 10);
	bench_run(b, 10 * MS);
	assert_int_equal(b->host[1].n_rx, IMPAIR_HELD_MAX + 10);
	bench_close(b);
}

// ---- CE, iCRC

static void ce_is_set_in_ect_frames_alone_and_the_headers_hold(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct bench *b = open_bench();
		uint32_t id = impair(b, "", "ce");

		send_psn(b, 1, QP, ECN_ECT0, v6);
		send_psn(b, 2, QP, ECN_NOT_ECT, v6);
		send_psn(b, 3, QP, ECN_ECT1, v6);
		bench_run(b, SETTLE);
		assert_int_equal(b->host[1].n_rx, 3);
		assert_int_equal(parsed(&b->host[1].rx[0]).ecn, ECN_CE);
		assert_int_equal(parsed(&b->host[1].rx[1]).ecn, ECN_NOT_ECT);
		assert_int_equal(parsed(&b->host[1].rx[2]).ecn, ECN_CE);
		assert_true(v6 || router_csum(b->host[1].rx[0].data + ETH_HLEN_, 20) == 0);
		assert_int_equal(view(b, id).hits, 3);
		assert_int_equal(view(b, id).changed, 2);
		assert_int_equal(view(b, id).unable, 1);
		bench_close(b);
	}
}

static void a_share_of_frames_is_marked_and_a_seed_repeats_it(void **state)
{
	uint8_t first[500], again[500], other[500], *runs[] = {first, again, other};
	unsigned marked = 0;

	(void)state;
	for (unsigned run = 0; run < 3; run++) {
		struct bench *b = open_bench();
		struct impair_rule r = rule("data", "ce 10%");

		r.seed = run == 2 ? 8 : 7;
		add_rule(b, way, &r);
		send_psns(b, 1, 500);
		bench_run(b, MS);
		assert_int_equal(b->host[1].n_rx, 500);
		for (unsigned i = 0; i < 500; i++)
			runs[run][i] = parsed(&b->host[1].rx[i]).ecn;
		bench_close(b);
	}
	for (unsigned i = 0; i < 500; i++)
		marked += first[i] == ECN_CE;
	assert_in_range(marked, 30, 75);
	assert_memory_equal(first, again, 500);
	assert_memory_not_equal(first, other, 500);
}

static uint8_t seen[2][2048];
static uint16_t seen_len[2];
static unsigned n_seen;

static void keep_frame(struct bench_host *h, const uint8_t *frame, uint16_t len)
{
	(void)h;
	memcpy(seen[n_seen & 1], frame, len);
	seen_len[n_seen++ & 1] = len;
}

// One bit of the iCRC, or of the payload, differs; nothing else does.
static void one_bit_is_turned_where_the_rule_says(void **state)
{
	static const struct {
		const char *action;
		bool in_icrc;
	} rows[] = {{"corrupt icrc", true}, {"corrupt payload", false}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct bench *b = open_bench();
		struct impair_rule r = rule("psn == 5", rows[i / 2].action);
		struct pkt_info pkt;
		unsigned bits = 0, from = 0, to;

		r.seed = i;
		add_rule(b, way, &r);
		n_seen = 0;
		b->host[1].on_rx = keep_frame;
		send_psn(b, 4, QP, ECN_ECT0, i & 1);
		send_psn(b, 5, QP, ECN_ECT0, i & 1);
		bench_run(b, SETTLE);
		assert_int_equal(n_seen, 2);
		assert_int_equal(seen_len[0], seen_len[1]);
		to = seen_len[0];
		assert_true(parse(seen[0], to, &pkt) && icrc_check(seen[0], to, &pkt));
		assert_true(parse(seen[1], to, &pkt) && !icrc_check(seen[1], to, &pkt));
		// The frame as it was sent: another PSN than that of the first.
		be24_put(seen[0] + pkt.l4_off + 8 + 9, 5);
		icrc_put(seen[0] + to - 4,
			 icrc(seen[0] + ETH_HLEN_, to - ETH_HLEN_ - 4u, pkt.kind));
		for (unsigned k = 0; k < to; k++) {
			unsigned differs = (unsigned)__builtin_popcount(seen[0][k] ^ seen[1][k]);

			bits += differs;
			from = differs != 0 ? k : from;
		}
		assert_int_equal(bits, 1);
		assert_int_equal(from >= to - ROCE_ICRC_LEN, rows[i / 2].in_icrc);
		assert_true(from >= pkt.l4_off + 20u);
		bench_close(b);
	}
}

// ---- how rules end

static void a_rule_ends_after_its_frames_and_says_so(void **state)
{
	struct bench *b = open_bench();
	struct impair_rule r = rule("data", "drop");
	uint32_t id, a = 0;
	uint64_t v = 0;

	(void)state;
	r.count = 3;
	id = add_rule(b, way, &r);
	bench_control(b);
	assert_int_equal(n_events(b, EVENT_IMPAIR, &a, &v), 1);
	assert_int_equal(a, id);
	assert_int_equal(v, IMPAIR_ACT_DROP);
	send_psns(b, 1, 10);
	bench_run(b, SETTLE);
	bench_control(b);
	assert_int_equal(b->host[1].n_rx, 7);
	assert_int_equal(n_events(b, EVENT_IMPAIR_OVER, &a, &v), 1);
	assert_int_equal(a, id | IMPAIR_BY_COUNT << 24);
	assert_int_equal(v, 3);
	assert_int_equal(view(b, id).state, IMPAIR_OVER);
	bench_close(b);
}

static void a_rule_ends_in_time_without_a_frame(void **state)
{
	struct bench *b = open_bench();
	struct impair_rule r = rule("", "drop");
	uint32_t id, a = 0;
	uint64_t v = 0, begin_ns = b->clock.now_ns;

	(void)state;
	r.for_ns = 5 * MS;
	id = add_rule(b, way, &r);
	bench_run(b, 4 * MS);
	assert_int_equal(view(b, id).state, IMPAIR_ON);
	bench_run(b, 2 * MS);
	bench_control(b);
	assert_int_equal(view(b, id).state, IMPAIR_OVER);
	assert_int_equal(n_events(b, EVENT_IMPAIR_OVER, &a, &v), 1);
	assert_int_equal(a, id | IMPAIR_BY_TIME << 24);
	for (unsigned i = 0; i < b->n_events; i++)
		if (b->events[i].type == EVENT_IMPAIR_OVER)
			assert_in_range(b->events[i].t_ns, begin_ns + 5 * MS,
					begin_ns + 5 * MS + 10 * US);
	send_psns(b, 1, 2);
	bench_run(b, SETTLE);
	assert_int_equal(b->host[1].n_rx, 2);
	bench_close(b);
}

static void frames_of_a_rule_that_ended_by_itself_keep_their_time(void **state)
{
	struct bench *b = open_bench();
	struct impair_rule r = rule("", "delay 100us");

	(void)state;
	r.count = 2;
	add_rule(b, way, &r);
	send_psns(b, 1, 3);
	bench_run(b, 50 * US);
	assert_int_equal(b->host[1].n_rx, 1);
	bench_run(b, SETTLE);
	assert_int_equal(b->host[1].n_rx, 3);
	bench_close(b);
}

static void a_rule_that_is_stopped_lets_its_frames_go_and_no_others(void **state)
{
	struct bench *b = open_bench();
	uint32_t id = impair(b, "psn < 10", "delay 100ms");
	uint32_t other = impair(b, "psn >= 10", "delay 100ms");

	(void)state;
	send_psns(b, 8, 12);
	bench_run(b, SETTLE);
	assert_int_equal(b->host[1].n_rx, 0);
	assert_int_equal(switch_impair_stop(b->sw, id), 1);
	bench_control(b);
	bench_run(b, SETTLE);
	assert_int_equal(b->host[1].n_rx, 2);
	assert_int_equal(view(b, id).why, IMPAIR_BY_STOPPED);
	assert_int_equal(view(b, other).held, 3);
	assert_int_equal(switch_impair_stop(b->sw, 0), 1);
	bench_control(b);
	bench_run(b, SETTLE);
	assert_int_equal(b->host[1].n_rx, 5);
	assert_int_equal(switch_impair_stop(b->sw, 0), 0);
	bench_close(b);
}

static void held_frames_end_with_the_link_and_with_the_switch(void **state)
{
	(void)state;
	for (unsigned down = 0; down < 2; down++) {
		struct bench *b = open_bench();

		impair(b, "", "delay 100ms");
		send_psns(b, 1, 4);
		bench_run(b, SETTLE);
		assert_int_equal(switch_balance(b->sw).queued, 4);
		if (down) {
			wire_set_up(b->host[way].wire, false);
			switch_links_changed(b->sw);
			bench_control(b);
			bench_run(b, SETTLE);
			assert_int_equal(bench_drops(b, DROP_PORT_DOWN), 4);
			assert_int_equal(switch_balance(b->sw).queued, 0);
		}
		bench_close(b);
	}
}

static void held_frames_survive_a_reload(void **state)
{
	struct bench *b = open_bench();

	(void)state;
	impair(b, "", "delay 2ms");
	send_psns(b, 1, 4);
	bench_run(b, SETTLE);
	bench_publish(b, policy);
	bench_run(b, 3 * MS);
	assert_int_equal(b->host[1].n_rx, 4);
	bench_close(b);
}

static void the_first_rule_that_changes_a_frame_decides(void **state)
{
	struct bench *b = open_bench();
	uint32_t ce = impair(b, "psn <= 2", "ce"), drop = impair(b, "", "drop");

	(void)state;
	send_psn(b, 1, QP, ECN_ECT0, false);
	send_psn(b, 2, QP, ECN_NOT_ECT, false); // cannot be marked: the next rule drops it
	send_psn(b, 3, QP, ECN_ECT0, false);
	bench_run(b, SETTLE);
	assert_int_equal(b->host[1].n_rx, 1);
	assert_int_equal(view(b, ce).changed, 1);
	assert_int_equal(view(b, drop).changed, 2);
	bench_close(b);
}

static void a_port_has_eight_rules_and_takes_the_place_of_one_that_ended(void **state)
{
	struct bench *b = open_bench();
	struct impair_rule r = rule("psn == 1", "drop");
	uint32_t id[IMPAIR_SLOTS + 1], again;

	(void)state;
	for (unsigned i = 0; i < IMPAIR_SLOTS; i++)
		id[i] = add_rule(b, way, &r);
	assert_int_equal(switch_impair_add(b->sw, way, &r, &again), -ENOSPC);
	assert_int_equal(switch_impair_stop(b->sw, id[3]), 1);
	bench_control(b);
	bench_run(b, 1);
	again = add_rule(b, way, &r);
	assert_int_equal(again, id[IMPAIR_SLOTS - 1] + 1);
	assert_int_equal(view(b, again).hits, 0);
	bench_close(b);
}

// Every action at once, under load of a lossless class, into a port that is too slow.
static void the_balance_holds_and_nothing_else_is_lost_under_load(void **state)
{
	struct bench *b = open_bench();
	uint32_t ids[5];

	(void)state;
	ids[0] = impair(b, "random 5%", "drop");
	ids[1] = impair(b, "every 7", "duplicate");
	ids[2] = impair(b, "psn%11 == 3", "delay 20us");
	ids[3] = impair(b, "psn%13 == 5", "reorder 3");
	ids[4] = impair(b, "flow%2 in 0-1 && !(psn%2 == 0)", "ce");
	for (uint32_t psn = 0; psn < 4000; psn++)
		send_psn(b, psn, QP + psn % 3, ECN_ECT0, psn & 4);
	for (unsigned i = 0; i < 40; i++) {
		struct balance at;

		bench_run(b, 50 * US);
		at = switch_balance(b->sw);
		assert_int_equal(at.received + at.generated + at.replicated,
				 at.transmitted + at.consumed + at.dropped + at.queued);
	}
	bench_run(b, 20 * MS);
	for (unsigned i = 0; i < 5; i++)
		assert_true(view(b, ids[i]).changed > 0);
	assert_int_equal(b->host[1].n_rx, 4000 - view(b, ids[0]).changed +
						  view(b, ids[1]).changed);
	assert_int_equal(bench_drops(b, DROP_IMPAIRED), view(b, ids[0]).changed);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_dropped_by_its_psn_and_raises_no_alarm),
		cmocka_unit_test(frames_of_other_ports_queue_pairs_and_kinds_are_left_alone),
		cmocka_unit_test(pfc_is_never_impaired),
		cmocka_unit_test(a_frame_that_is_sent_again_passes_with_once),
		cmocka_unit_test(a_delayed_frame_arrives_so_much_later_and_is_queued_meanwhile),
		cmocka_unit_test(a_delay_of_all_frames_keeps_their_order),
		cmocka_unit_test(a_delayed_frame_waits_while_its_queue_is_tx_disabled),
		cmocka_unit_test(a_reordered_frame_follows_frames_of_its_flow_alone),
		cmocka_unit_test(a_reordered_frame_without_followers_arrives_after_a_millisecond),
		cmocka_unit_test(a_duplicate_is_a_frame_of_its_own_behind_the_first),
		cmocka_unit_test(frames_beyond_the_room_pass_and_are_counted),
		cmocka_unit_test(ce_is_set_in_ect_frames_alone_and_the_headers_hold),
		cmocka_unit_test(a_share_of_frames_is_marked_and_a_seed_repeats_it),
		cmocka_unit_test(one_bit_is_turned_where_the_rule_says),
		cmocka_unit_test(a_rule_ends_after_its_frames_and_says_so),
		cmocka_unit_test(a_rule_ends_in_time_without_a_frame),
		cmocka_unit_test(frames_of_a_rule_that_ended_by_itself_keep_their_time),
		cmocka_unit_test(a_rule_that_is_stopped_lets_its_frames_go_and_no_others),
		cmocka_unit_test(held_frames_end_with_the_link_and_with_the_switch),
		cmocka_unit_test(held_frames_survive_a_reload),
		cmocka_unit_test(the_first_rule_that_changes_a_frame_decides),
		cmocka_unit_test(a_port_has_eight_rules_and_takes_the_place_of_one_that_ended),
		cmocka_unit_test(the_balance_holds_and_nothing_else_is_lost_under_load),
	};
	int failed = cmocka_run_group_tests_name("in", tests, bench_eal, NULL);

	way = IMPAIR_OUT;
	return failed + cmocka_run_group_tests_name("out", tests, NULL, NULL);
}
