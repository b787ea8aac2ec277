// SPDX-License-Identifier: Apache-2.0
// The XDP program and the dataplane must agree on what is a PFC frame: each frame goes through the
// loaded program (BPF_PROG_TEST_RUN, no interface needed) and through parse() and mac_ctrl_parse().
// Exit 77 where the kernel does not let us load programs.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <linux/bpf.h>

#include "dataplane/base/rng.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/pfc_frame.h"
#include "drivers/xdp/attach.h"
#include "drivers/xdp/weir_xdp.h"

enum { FRAME_MAX = 128, SKIPPED = 77, RANDOM_FRAMES = 20000, SEED = 7, REPEAT = 2000000 };

static struct xdp_attach attach;
static int load_error;

struct bench {
	int prog;
	struct weir_xdp_pause want; // what the words must hold
	uint64_t n_pfc;
};

static struct bench bench_make(void)
{
	struct bench b = {.prog = bpf_program__fd(
				  bpf_object__find_program_by_name(attach.obj, WEIR_XDP_PROG))};

	memcpy(&b.want, attach.pause, sizeof(b.want));
	b.n_pfc = xdp_attach_count(&attach, WEIR_XDP_PFC);
	return b;
}

static void expect(struct bench *b, const uint8_t *frame, uint32_t len)
{
	struct pkt_info pkt = {0};
	struct pfc_times times;

	if (!parse(frame, len, &pkt) || pkt.kind != PKT_MAC_CONTROL || pkt.n_tags != 0 ||
	    mac_ctrl_parse(frame, len, &times) != MAC_CTRL_PFC)
		return;
	b->n_pfc++;
	for (unsigned c = 0; c < WEIR_N_CLASSES; c++)
		if (times.enable >> c & 1)
			b->want.word[c] = (uint32_t)(b->want.word[c] + 1) |
					  (uint64_t)times.quanta[c] << 32;
}

static void run(struct bench *b, const uint8_t *frame, uint32_t len)
{
	uint8_t in[FRAME_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in, .data_size_in = len, .repeat = 1);

	memcpy(in, frame, len);
	assert_int_equal(bpf_prog_test_run_opts(b->prog, &opts), 0);
	assert_int_equal(opts.retval, XDP_DROP); // no socket is bound, and no rule keeps anything
	expect(b, frame, len);
	assert_memory_equal(attach.pause, &b->want, sizeof(b->want));
}

static void pfc_frame(uint8_t frame[FRAME_MAX])
{
	static const uint8_t src[6] = {2, 0, 0, 0, 0, 1};
	const struct pfc_times times = {.enable = 0x88, .quanta = {[3] = 0xffff, [7] = 0x0102}};

	memset(frame, 0, FRAME_MAX);
	pfc_frame_build(frame, src, &times);
}

// The verifier refuses a program that may read behind the end of a frame.
static void the_kernel_takes_the_program(void **state)
{
	const struct keep nothing = {0};
	const uint8_t mac[6] = {0};
	struct live_text text = {0};

	(void)state;
	load_error = xdp_attach_load(&attach, false, &text);
	if (load_error != 0 && load_error != -EPERM)
		fail_msg("%s", text.err);
	if (load_error == 0)
		assert_int_equal(xdp_attach_rules(&attach, &nothing, mac, FRAME_MAX), 0);
}

static void any_length_is_judged_alike(void **state)
{
	struct bench b = bench_make();
	uint64_t before = b.n_pfc;
	uint8_t frame[FRAME_MAX];

	(void)state;
	pfc_frame(frame);
	for (uint32_t len = ETH_HLEN_; len <= FRAME_MAX; len++)
		run(&b, frame, len);
	assert_int_equal(b.n_pfc - before, FRAME_MAX - PFC_MIN_RX_LEN + 1);
}

static void any_changed_byte_is_judged_alike(void **state)
{
	struct bench b = bench_make();
	uint8_t frame[FRAME_MAX];

	(void)state;
	for (unsigned at = 0; at < PFC_FRAME_LEN; at++)
		for (unsigned value = 0; value < 256; value++) {
			pfc_frame(frame);
			frame[at] = (uint8_t)value;
			run(&b, frame, PFC_FRAME_LEN);
		}
	assert_int_equal(xdp_attach_count(&attach, WEIR_XDP_PFC), b.n_pfc);
}

static void tagged_mac_control_changes_nothing(void **state)
{
	static const uint8_t tpids[][2] = {{0x81, 0x00}, {0x88, 0xa8}, {0x91, 0x00}};
	struct bench b = bench_make();
	uint64_t before = b.n_pfc;
	uint8_t frame[FRAME_MAX], tagged[FRAME_MAX] = {0};

	(void)state;
	pfc_frame(frame);
	for (size_t i = 0; i < sizeof(tpids) / sizeof(tpids[0]); i++) {
		memcpy(tagged, frame, 12);
		memcpy(tagged + 12, tpids[i], 2);
		memcpy(tagged + 16, frame + 12, PFC_FRAME_LEN - 12);
		run(&b, tagged, PFC_FRAME_LEN + 4);
	}
	assert_int_equal(b.n_pfc, before);
}

// Random bytes behind a front that gets past the first looks more often than chance would.
static void random_frames_are_judged_alike(void **state)
{
	struct bench b = bench_make();
	uint64_t before = b.n_pfc;
	struct rng rng = {0};
	uint8_t frame[FRAME_MAX];

	(void)state;
	rng_init(&rng, SEED);
	for (unsigned i = 0; i < RANDOM_FRAMES; i++) {
		uint64_t luck = rng_next(&rng);

		for (unsigned k = 0; k < FRAME_MAX; k++)
			frame[k] = (uint8_t)rng_next(&rng);
		if (luck & 12)
			memcpy(frame, "\x01\x80\xc2\x00\x00\x01", 6);
		if (luck & 1)
			memcpy(frame + 12, "\x88\x08", 2);
		if (luck & 2)
			memcpy(frame + 14, "\x01\x01", 2);
		run(&b, frame, ETH_HLEN_ + (uint32_t)(luck >> 8) % (FRAME_MAX - ETH_HLEN_));
	}
	assert_true(b.n_pfc - before > RANDOM_FRAMES / 16);
}

struct runner {
	int prog;
	unsigned nth; // CPU of those we may use
	pthread_barrier_t *start;
};

static void pin(unsigned nth)
{
	cpu_set_t all, one;
	unsigned cpu = 0;

	CPU_ZERO(&all);
	CPU_ZERO(&one);
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	for (nth %= (unsigned)CPU_COUNT(&all); !CPU_ISSET(cpu, &all) || nth > 0; cpu++)
		nth -= CPU_ISSET(cpu, &all) ? 1 : 0;
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void *repeat(void *arg)
{
	const struct runner *r = arg;
	uint8_t frame[FRAME_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = PFC_FRAME_LEN,
		    .repeat = REPEAT);

	pfc_frame(frame);
	pin(r->nth);
	pthread_barrier_wait(r->start);
	return (void *)(intptr_t)bpf_prog_test_run_opts(r->prog, &opts);
}

// The generic hook runs on the CPU of whoever sends.
static void frames_on_two_cpus_at_once_are_all_counted(void **state)
{
	struct bench b = bench_make();
	uint32_t before = (uint32_t)b.want.word[3];
	pthread_barrier_t start;
	pthread_t threads[2];
	struct runner runners[2];
	void *rc;

	(void)state;
	assert_int_equal(pthread_barrier_init(&start, NULL, 2), 0);
	for (unsigned i = 0; i < 2; i++) {
		runners[i] = (struct runner){.prog = b.prog, .nth = i, .start = &start};
		assert_int_equal(pthread_create(&threads[i], NULL, repeat, &runners[i]), 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &rc), 0);
		assert_null(rc);
	}
	pthread_barrier_destroy(&start);
	assert_int_equal((uint32_t)attach.pause->word[3] - before, 2 * REPEAT);
	assert_int_equal(attach.pause->word[3] >> 32, 0xffff);
}

int main(void)
{
	const struct CMUnitTest load[] = {cmocka_unit_test(the_kernel_takes_the_program)};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_length_is_judged_alike),
		cmocka_unit_test(any_changed_byte_is_judged_alike),
		cmocka_unit_test(tagged_mac_control_changes_nothing),
		cmocka_unit_test(random_frames_are_judged_alike),
		cmocka_unit_test(frames_on_two_cpus_at_once_are_all_counted),
	};
	int failed = geteuid() == 0 ? cmocka_run_group_tests(load, NULL, NULL) : 0;

	if (geteuid() != 0 || load_error == -EPERM) {
		printf("skipped: loading an XDP program needs root\n");
		return SKIPPED;
	}
	if (failed != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	xdp_attach_close(&attach);
	return failed;
}
