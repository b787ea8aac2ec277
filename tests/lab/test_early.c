// SPDX-License-Identifier: Apache-2.0
// PFC that a driver sees before the frame is received, and reloads that promise more than is free.
#include "dataplane/policy.h"
#include "tests/lab/rig.h"

#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "control/config/config.h"
#include "dataplane/packet/pfc_frame.h"

// ---- PFC that is seen early

enum { QUANTA = 1000, QUANTA_NS = 51200 };

static void word(struct rig *r, unsigned cls, uint32_t n_frames, uint16_t quanta)
{
	r->port[OUT].word[cls].seq += n_frames;
	r->port[OUT].word[cls].quanta = quanta;
	rig_step(r);
}

static void pfc_arrives(struct rig *r, uint8_t enable, uint16_t quanta)
{
	struct rig_port *p = &r->port[OUT];
	struct rte_mbuf *m = rte_pktmbuf_alloc(rte_mempool_lookup("bench"));
	struct pfc_times t = {.enable = enable};
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, PORTS};

	assert_non_null(m);
	for (unsigned c = 0; c < N_CLASSES; c++)
		t.quanta[c] = enable >> c & 1 ? quanta : 0;
	pfc_frame_build((uint8_t *)rte_pktmbuf_append(m, PFC_FRAME_LEN), mac, &t);
	p->waiting[p->n_waiting++] = m;
	rig_step(r);
}

static const char one_lossless[] = "      3: {lossless: true, ingress: {headroom: 20KB}}\n";

static void a_word_pauses_once_and_its_frame_not_again(void **state)
{
	const struct port_facts facts = {0};
	struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", one_lossless), &facts, true);
	const struct pfc_rx_state *rx = switch_pfc_rx(r->sw, OUT);

	(void)state;
	assert_false(switch_queue_paused(r->sw, OUT, 3)); // the word of before is old news
	word(r, 3, 1, QUANTA);
	assert_true(switch_queue_paused(r->sw, OUT, 3));
	r->now_ns += QUANTA_NS / 2;
	pfc_arrives(r, 1 << 3 | 1 << 4, QUANTA);
	assert_int_equal(ctr_get(&rx->ignored_lossy), 1);
	r->now_ns += QUANTA_NS / 2 - 1;
	rig_step(r);
	assert_true(switch_queue_paused(r->sw, OUT, 3));
	r->now_ns++;
	rig_step(r);
	assert_false(switch_queue_paused(r->sw, OUT, 3));
	assert_int_equal(ctr_get(&rx->stats[3].frames), 1);
	rig_close(r);
}

static void an_early_xon_is_not_undone_by_the_frame_of_a_pause(void **state)
{
	const struct port_facts facts = {0};
	struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", one_lossless), &facts, true);

	(void)state;
	word(r, 3, 1, QUANTA);
	rig_stand(r, 3, 100, 3);
	assert_int_equal(r->port[OUT].n_sent, 0);
	word(r, 3, 1, 0);
	assert_int_equal(r->port[OUT].n_sent, 1);
	pfc_arrives(r, 1 << 3, QUANTA);
	assert_false(switch_queue_paused(r->sw, OUT, 3));
	word(r, 3, 5, QUANTA); // five frames since the last look
	assert_int_equal(ctr_get(&switch_pfc_rx(r->sw, OUT)->stats[3].frames), 7);
	assert_int_equal(ctr_get(&switch_port_counters(r->sw, OUT)->early_pauses), 7);
	rig_close(r);
}

static void a_word_from_before_its_class_was_lossless_is_old_news(void **state)
{
	const struct port_facts facts = {0};
	struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", one_lossless), &facts, true);
	static const char both[] = "      3: {lossless: true}\n      5: {lossless: true}\n";
	struct policy *old;
	uint64_t token;

	(void)state;
	word(r, 5, 3, QUANTA);
	assert_false(switch_queue_paused(r->sw, OUT, 5));
	switch_publish(r->sw, rig_compile(r, lab_yaml(PORTS, "10G", "", "", both)), &old, &token);
	rig_step(r);
	rig_step(r);
	assert_true(switch_grace_over(r->sw, token));
	policy_destroy(old);
	assert_false(switch_queue_paused(r->sw, OUT, 5));
	word(r, 5, 1, QUANTA);
	assert_true(switch_queue_paused(r->sw, OUT, 5));
	rig_close(r);
}

static void link_is(struct rig *r, bool up)
{
	struct event events[8];

	r->port[OUT].down = !up;
	r->now_ns += 200000000;
	switch_control_step(r->sw, r->now_ns, events, 8);
	rig_step(r);
}

static void a_word_from_while_the_link_was_down_is_old_news(void **state)
{
	const struct port_facts facts = {0};
	struct rig *r = rig_open(lab_yaml(PORTS, "10G", "", "", one_lossless), &facts, true);

	(void)state;
	link_is(r, false);
	word(r, 3, 1, QUANTA);
	link_is(r, true);
	assert_false(switch_queue_paused(r->sw, OUT, 3));
	word(r, 3, 1, QUANTA);
	assert_true(switch_queue_paused(r->sw, OUT, 3));
	rig_close(r);
}

// ---- a reload that promises more than is free

static void publish(struct rig *r, const char *yaml)
{
	struct policy *old;
	uint64_t token;

	switch_publish(r->sw, rig_compile(r, yaml), &old, &token);
	rig_step(r);
	rig_step(r);
	assert_true(switch_grace_over(r->sw, token));
	policy_destroy(old);
}

// The ingress pool is full of a lossy class when a new policy sets memory apart that is still in
// use. Until it is free nobody can have it: the switch never holds more than its buffer.
static void min_that_a_reload_sets_apart_waits_until_it_is_free(void **state)
{
	static const char hog[] = "      0: {egress: {static: 100%}}\n";
	static const char apart[] = "      0: {egress: {static: 100%}}\n"
				    "      3: {lossless: true, ingress: {min: 300KB, "
				    "alpha: 1/64, headroom: 5KB}}\n";
	const struct port_facts facts = {0};
	struct rig *r = rig_open(rig_small_buffer(hog), &facts, false);
	const struct pg_state *pg = switch_pg_state(r->sw, 0, 3);
	uint64_t total = switch_policy(r->sw)->buffer.total_cells;

	(void)state;
	rig_tx(r, false);
	for (unsigned i = 0; switch_balance(r->sw).dropped == 0 && i < 1000; i++)
		rig_stand(r, 0, 64, MOST);
	assert_int_equal(switch_pool(r->sw, POOL_INGRESS).used, total);
	publish(r, rig_small_buffer(apart));
	rig_stand(r, 3, 64, MOST);
	assert_int_equal(gauge_get(&pg->min_used), 0);
	assert_true(pg_in_xoff(pg));
	rig_tx(r, true);
	for (unsigned i = 0; i < 100000 && switch_balance(r->sw).queued != 0; i++) {
		r->now_ns += 1000;
		rig_step(r);
	}
	assert_int_equal(switch_balance(r->sw).queued, 0);
	rig_stand(r, 3, 64, 1);
	assert_int_equal(pg_in_xoff(pg), 0);
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_pauses_once_and_its_frame_not_again),
		cmocka_unit_test(an_early_xon_is_not_undone_by_the_frame_of_a_pause),
		cmocka_unit_test(a_word_from_before_its_class_was_lossless_is_old_news),
		cmocka_unit_test(a_word_from_while_the_link_was_down_is_old_news),
		cmocka_unit_test(min_that_a_reload_sets_apart_waits_until_it_is_free),
	};

	return cmocka_run_group_tests_name("early", tests, bench_eal, NULL);
}
