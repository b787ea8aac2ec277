// SPDX-License-Identifier: Apache-2.0
// Tests the steps of one reload of control/instance with a running switch. test_reload.c tests what
// a new policy does to the switch.
#include "dataplane/policy.h"
#include "tests/lab/bench.h"

#include <errno.h>
#include <string.h>

#include "control/config/config.h"
#include "control/instance/instance.h"

#define POLICY(more)                                                                               \
	"switch: {name: in, buffer: {size: 1MB}}\n"                                                \
	"ports:\n  - {name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: 10G, mtu: 1500}\n"         \
	"profiles:\n  default:\n" more                                                             \
	"    dscp_to_class: {default: 0, 24: 3, 40: 5}\n"                                          \
	"    classes:\n"                                                                           \
	"      3: {lossless: true, ingress: {static: 9KB, headroom: 12KB}}\n"                      \
	"      5: {lossless: true, ingress: {static: 9KB, headroom: 12KB}}\n"

enum { LOOK_NS = 500, BIT3 = 1 << 3, BIT5 = 1 << 5 };

static const char still[] = POLICY("");
static const char swapped[] = POLICY("    class_to_pg: {3: 5, 5: 3}\n");

struct seen {
	struct instance in;
	unsigned n_new, n_settled;
	const struct policy *at_new; // the policy of the instance then
	uint8_t paused_at_new; // classes of port 1
	const struct config *config_before; // that stood beside the new one
};

static void see_new_policy(void *arg, uint64_t now_ns)
{
	struct seen *s = arg;

	(void)now_ns;
	s->n_new++;
	s->at_new = s->in.policy;
	s->paused_at_new = (uint8_t)switch_pfc_tx(s->in.sw, 0)->paused;
	s->config_before = s->in.retired_config;
	assert_true(instance_reloads(&s->in)); // until the workers have it
}

static void see_settled(void *arg, uint64_t now_ns)
{
	struct seen *s = arg;

	(void)now_ns;
	s->n_settled++;
	assert_false(instance_reloads(&s->in));
}

static const struct instance_ops ops = {.new_policy = see_new_policy, .settled = see_settled};

static struct bench *open_instance(struct seen *s)
{
	struct bench *b = bench_open(still, 1500);
	char err[256];

	*s = (struct seen){.in = {.sw = b->sw, .policy = b->policy, .ops = &ops, .arg = s}};
	assert_int_equal(instance_open(&s->in, err, sizeof(err)), 0);
	return b;
}

// The bench closes the switch with the policy that it runs.
static void close_instance(struct bench *b, struct seen *s)
{
	instance_close(&s->in);
	b->policy = s->in.policy;
	s->in.policy = NULL;
	instance_fini(&s->in);
	bench_close(b);
}

static struct policy *begin_reload(struct bench *b, struct seen *s, const char *text,
				   uint64_t late_ns)
{
	struct policy *next = bench_compile(b, text);

	assert_int_equal(instance_prepare(&s->in, next), 0);
	instance_reload(&s->in, NULL, next, b->clock.now_ns, late_ns);
	return next;
}

static void run_reload(struct bench *b, struct seen *s)
{
	unsigned n = s->n_settled;

	for (unsigned i = 0; i < 1000 && s->n_settled == n; i++) {
		actor_poke(&b->actor);
		bench_run(b, LOOK_NS);
		instance_step(&s->in, b->clock.now_ns);
	}
	assert_int_equal(s->n_settled, n + 1);
}

static void a_reload_is_published_once_its_classes_are_paused(void **state)
{
	struct seen s;
	struct bench *b = open_instance(&s);
	struct policy *first = b->policy, *next = begin_reload(b, &s, swapped, CHANGE_LATE_NS);

	(void)state;
	instance_step(&s.in, b->clock.now_ns);
	assert_ptr_equal(s.in.policy, first);
	assert_int_equal(s.n_new, 0);
	run_reload(b, &s);
	assert_int_equal(s.n_new, 1);
	assert_ptr_equal(s.at_new, next);
	assert_int_equal(s.paused_at_new, BIT3 | BIT5);
	actor_poke(&b->actor);
	bench_run(b, LOOK_NS);
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 0);
	close_instance(b, &s);
}

static void a_policy_is_in_force_only_after_the_workers_loops(void **state)
{
	struct seen s;
	struct bench *b = open_instance(&s);

	(void)state;
	(void)begin_reload(b, &s, POLICY("    pfc: {quanta: 30000}\n"), CHANGE_LATE_NS);
	for (unsigned i = 0; i < 3; i++) {
		instance_step(&s.in, b->clock.now_ns);
		assert_int_equal(s.n_new, 1); // no class moves
		assert_int_equal(s.n_settled, 0);
	}
	run_reload(b, &s);
	close_instance(b, &s);
}

// A port without a link sends no PAUSE, and a worker that stands still keeps no class paused.
static void a_late_change_lets_go_before_the_grace(void **state)
{
	struct seen s;
	struct bench *b = open_instance(&s);

	(void)state;
	(void)begin_reload(b, &s, swapped, 1);
	for (unsigned i = 0; i < 1000 && s.n_new == 0; i++) {
		actor_poke(&b->actor);
		bench_run(b, 1);
		instance_step(&s.in, b->clock.now_ns);
	}
	assert_true(s.in.change.late && instance_reloads(&s.in));
	run_reload(b, &s);
	actor_poke(&b->actor);
	bench_run(b, LOOK_NS);
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 0);
	close_instance(b, &s);
}

static struct config *config_of(const char *text)
{
	struct diags d = {0};
	struct config *c;

	assert_int_equal(config_parse("policy", text, strlen(text), &c, &d), 0);
	diags_fini(&d);
	return c;
}

static void the_config_before_lives_until_the_grace_is_over(void **state)
{
	struct seen s;
	struct bench *b = open_instance(&s);
	struct config *first = config_of(still), *second = config_of(swapped);
	struct policy *next = bench_compile(b, swapped);

	(void)state;
	s.in.config = first;
	assert_int_equal(instance_prepare(&s.in, next), 0);
	instance_reload(&s.in, second, next, b->clock.now_ns, CHANGE_LATE_NS);
	assert_ptr_equal(s.in.config, first);
	run_reload(b, &s);
	assert_ptr_equal(s.config_before, first);
	assert_ptr_equal(s.in.config, second);
	assert_null(s.in.retired_config);
	close_instance(b, &s);
}

// The switch ends while classes are paused for it.
static void a_policy_on_its_way_ends_with_the_instance(void **state)
{
	struct seen s;
	struct bench *b = open_instance(&s);
	struct policy *next = bench_compile(b, swapped);

	(void)state;
	assert_int_equal(instance_prepare(&s.in, next), 0);
	instance_reload(&s.in, config_of(swapped), next, b->clock.now_ns, CHANGE_LATE_NS);
	instance_step(&s.in, b->clock.now_ns);
	assert_int_equal(s.n_new, 0);
	close_instance(b, &s);
}

static void a_policy_of_more_copies_than_the_memory_has_is_refused(void **state)
{
	struct seen s;
	struct bench *b = open_instance(&s);
	struct policy *next = bench_compile(b, still);

	(void)state;
	next->copy_frames = switch_copy_frames(b->sw) + 1;
	assert_int_equal(instance_prepare(&s.in, next), -EINVAL);
	policy_destroy(next);
	assert_false(instance_reloads(&s.in));
	close_instance(b, &s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reload_is_published_once_its_classes_are_paused),
		cmocka_unit_test(a_policy_is_in_force_only_after_the_workers_loops),
		cmocka_unit_test(a_late_change_lets_go_before_the_grace),
		cmocka_unit_test(the_config_before_lives_until_the_grace_is_over),
		cmocka_unit_test(a_policy_on_its_way_ends_with_the_instance),
		cmocka_unit_test(a_policy_of_more_copies_than_the_memory_has_is_refused),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
