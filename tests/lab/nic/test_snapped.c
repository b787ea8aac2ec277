// SPDX-License-Identifier: Apache-2.0
// Frames that are stored without their payload, in a switch: forwarded, flooded, counted and
// captured by the length they have on the wire.
#include "tests/lab/bench.h"

#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/tap.h"

enum { LEN = 1098, STORED = 80, KEPT = 96 };

static const char policy[] =
	"switch: {name: br}\n"
	"ports:\n"
	"  - {name: p1, device: \"wire:a\", speed: 10G, vlan: {untagged: 10}}\n"
	"  - {name: \"p[2-3]\", device: \"wire:b[2-3]\", speed: 10G, vlan: {untagged: 10}}\n"
	"  - {name: p4, device: \"wire:d\", speed: 10G, vlan: {tagged: [10]}}\n"
	"vlans: [{id: 10}]\n";

static void send_snapped(struct bench *b, unsigned from, unsigned to)
{
	const struct bench_frame f = {.to = to, .len = LEN, .dscp = 24};
	struct bench_host *h = &b->host[from];

	bench_send(b, from, &f);
	h->queue[h->q_tail - 1]->data_len = STORED;
	bench_run(b, 10000);
	bench_control(b);
}

static struct tap *watch(struct bench *b)
{
	const struct tap_params p = {.ports = {0xf}, .n_workers = bench_workers(), .n_records = 64,
				     .snaplen = KEPT};
	struct tap *t;
	uint64_t req;

	assert_int_equal(tap_create(&p, &t), 0);
	req = switch_set_tap(b->sw, t);
	actor_poke(&b->actor);
	bench_run(b, 1);
	assert_true(switch_request_done(b->sw, req));
	return t;
}

static void unwatch(struct bench *b, struct tap *t)
{
	uint64_t req = switch_set_tap(b->sw, NULL);

	actor_poke(&b->actor);
	bench_run(b, 1);
	assert_true(switch_request_done(b->sw, req));
	tap_destroy(t);
}

static void snapped_frames_are_flooded_and_forwarded_at_their_length(void **state)
{
	uint8_t whole[LEN];
	const struct bench_frame f = {.to = 1, .len = LEN, .dscp = 24};
	struct bench *b = bench_open(policy, 0);

	(void)state;
	bench_build(whole, 0, &f);
	send_snapped(b, 0, 1); // unknown: to all
	for (unsigned i = 1; i < 4; i++) {
		const struct bench_rx *rx = &b->host[i].rx[0];
		unsigned tag = i == 3 ? 4 : 0;

		assert_int_equal(b->host[i].n_rx, 1);
		assert_int_equal(rx->len, LEN + tag);
		assert_memory_equal(rx->data, whole, 12);
		assert_memory_equal(rx->data + 12 + tag, whole + 12, STORED - 12);
	}
	send_snapped(b, 1, 0); // known by now
	assert_int_equal(b->host[0].n_rx, 1);
	assert_int_equal(b->host[0].rx[0].len, LEN);
	assert_int_equal(b->host[2].n_rx, 1);
	bench_close(b);
}

static void captures_know_the_length_of_snapped_frames(void **state)
{
	struct bench *b = bench_open(policy, 0);
	struct tap *t = watch(b);
	unsigned seen = 0;

	(void)state;
	send_snapped(b, 0, 1);
	for (unsigned w = 0; w < bench_workers(); w++) {
		const struct tap_record *r[16];
		unsigned n = tap_read(t, w, r, 16);

		for (unsigned i = 0; i < n; i++, seen++) {
			unsigned tag = r[i]->meta.port == 3 ? 4 : 0;

			assert_int_equal(r[i]->len, LEN + tag);
			assert_int_equal(r[i]->captured, STORED + tag);
		}
		tap_release(t, w, n);
	}
	assert_int_equal(seen, 4);
	unwatch(b, t);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snapped_frames_are_flooded_and_forwarded_at_their_length),
		cmocka_unit_test(captures_know_the_length_of_snapped_frames),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
