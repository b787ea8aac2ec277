// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/storm_bench.h"

#include <errno.h>

#include "dataplane/policy.h"
#include "tests/lab/lab_yaml.h"

const char *storm_yaml_of(uint8_t lossless)
{
	char classes[512] = "";
	size_t n = 0;

	for (unsigned c = 0; c < N_CLASSES; c++)
		if (lossless >> c & 1)
			n += (size_t)snprintf(classes + n, sizeof(classes) - n,
					      "      %u: {lossless: true, ingress: {min: 0, "
					      "static: 25600, headroom: 30KB}}\n", c);
	return lab_yaml(3, "10G", "", "", classes);
}

const char *storm_yaml(void)
{
	return storm_yaml_of(BIT3 | BIT5);
}

static void adjust(struct policy *p, void *arg)
{
	const struct storm_setup *s = arg;

	for (uint32_t i = 0; i < p->n_ports; i++) {
		p->ports[i].watchdog = s->watchdog;
		p->ports[i].watchdog.classes &= p->ports[i].pfc.rx;
		p->ports[i].pfc_warning = s->warning;
	}
}

struct storm_setup storm_setup(enum watchdog_then then)
{
	return (struct storm_setup){.watchdog = {.classes = BIT3 | BIT5,
					   .mode = WATCHDOG_XOFF,
					   .action = WATCHDOG_DROP,
					   .then = (uint8_t)then,
					   .detect_ns = DETECT_NS,
					   .restore_ns = RESTORE_NS,
					   .limit_count = LIMIT,
					   .limit_window_ns = WINDOW_NS}};
}

struct bench *storm_open_with(const char *yaml, struct storm_setup *s)
{
	const struct bench_opts o = {.seed = 1, .adjust = adjust, .adjust_arg = s};

	return bench_open_with(yaml, &o);
}

struct bench *storm_open(struct storm_setup *s)
{
	return storm_open_with(storm_yaml(), s);
}

void run_until(struct bench *b, uint64_t t_ns)
{
	assert_true(t_ns >= b->clock.now_ns);
	bench_run(b, t_ns - b->clock.now_ns);
}

void control(struct bench *b)
{
	bench_control(b);
	actor_poke(&b->actor);
	bench_run(b, 1);
}

const struct event *event(const struct bench *b, enum event_type type, unsigned nth)
{
	for (unsigned i = 0; i < b->n_events; i++)
		if (b->events[i].type == type && nth-- == 0)
			return &b->events[i];
	return NULL;
}

unsigned n_of(const struct bench *b, enum event_type type)
{
	unsigned n = 0;

	while (event(b, type, n) != NULL)
		n++;
	return n;
}

void expect_status(const struct bench *b, unsigned port, unsigned cls, enum watchdog_status want)
{
	assert_int_equal(switch_watchdog_status(b->sw, port, cls), want);
}

uint64_t pause_ns(const struct bench *b)
{
	return b->clock.now_ns + bench_wire_ns(b, 2, PFC_FRAME_LEN);
}

void storms(struct bench *b, uint8_t classes, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		bench_pause(b, 2, classes, SHORT_QUANTA);
		bench_run(b, 3 * MS);
	}
}

void send(struct bench *b, unsigned from, unsigned to, unsigned cls, unsigned n)
{
	const struct bench_frame f = {.to = to, .dscp = (uint8_t)(8 * cls), .len = 1000};

	for (unsigned i = 0; i < n; i++)
		bench_send(b, from, &f);
	bench_run(b, n * bench_wire_ns(b, from, f.len) + 5000);
}

void expect_delivered(struct bench *b, unsigned from, unsigned to, unsigned cls, unsigned n,
		      unsigned want)
{
	uint32_t before = b->host[to].n_rx;

	send(b, from, to, cls, n);
	assert_int_equal(b->host[to].n_rx - before, want);
}

void recover(struct bench *b, unsigned cls)
{
	int err = 1;
	uint64_t request = switch_watchdog_recover(b->sw, 2, cls, &err);

	assert_int_equal(err, 0);
	assert_int_not_equal(request, 0);
	actor_poke(&b->actor);
	bench_run(b, 1);
	assert_true(switch_request_done(b->sw, request));
}

void expect_nothing_to_recover(struct bench *b, unsigned port, unsigned cls)
{
	int err = 0;

	assert_int_equal(switch_watchdog_recover(b->sw, port, cls, &err), 0);
	assert_int_equal(err, -EINVAL);
}

struct bench *storm_open_escalated(struct storm_setup *s)
{
	struct bench *b = storm_open(s);

	storms(b, BIT3, s->watchdog.limit_count);
	control(b);
	assert_int_equal(n_of(b, EVENT_STORM_LIMIT), 1);
	b->n_events = 0;
	return b;
}
