// SPDX-License-Identifier: Apache-2.0
// The control thread: its loop, and the way to rest when the operator says stop.
#include "control/daemon/daemon.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/config/terminal.h"
#include "control/daemon/daemon_impl.h"
#include "control/daemon/json_in.h"
#include "control/daemon/outlet.h"
#include "control/daemon/pending.h"
#include "control/daemon/signals.h"
#include "control/daemon/telemetry.h"
#include "control/observe/fact.h"
#include "control/stop.h"
#include "dataplane/units.h"

enum { LOOP_MS = 3, IDLE_LOOP_MS = 10, EVENTS_PER_LOOP = 256, DRAIN_NS = 500 * MS_NS };
static const uint64_t IDLE_AFTER_NS = SECOND_NS;

// When a frame last moved.
struct idle {
	uint64_t moved, moved_at_ns;
};

void daemon_event(const struct daemon *d, enum event_type type, unsigned port, uint32_t a,
		  uint64_t b, uint64_t now_ns)
{
	const struct event e = {.t_ns = model_time_ns(config_time_scale(d->config), now_ns),
				.type = (uint16_t)type, .port = (uint8_t)port, .cls = CLASS_NONE,
				.a = a, .b = b};

	eventlog_add(d->log, &e, now_ns);
}

// now_ns is real time, as for all that control waits for; the switch is told model time.
static void control_once(struct daemon *d, uint64_t now_ns)
{
	uint64_t model_ns = model_time_ns(config_time_scale(d->config), now_ns);
	struct event events[EVENTS_PER_LOOP];
	unsigned n = switch_control_step(d->sw, model_ns, events, EVENTS_PER_LOOP);

	for (unsigned i = 0; i < n; i++)
		eventlog_add(d->log, &events[i], now_ns);
	eventlog_tick(d->log, now_ns);
	cnplog_poll(d->cnps, d->sw, wall_now_ns());
	observe_sample(d->observe, now_ns);
	stall_poll(d->stall, now_ns);
	reload_poll(d->reload, now_ns);
	resolver_poll(d->resolver, now_ns);
}

static int loop_ms(const struct daemon *d, struct idle *idle, uint64_t now_ns)
{
	uint64_t n = 0;

	if (reload_in_haste(d->reload, now_ns))
		return 0;
	for (unsigned i = 0; i < d->n_open; i++) {
		const struct port_counters *c = switch_port_counters(d->sw, i);

		n += ctr_get(&c->received) + ctr_get(&c->transmitted);
	}
	if (n != idle->moved)
		*idle = (struct idle){n, now_ns};
	return now_ns - idle->moved_at_ns < IDLE_AFTER_NS ? LOOP_MS : IDLE_LOOP_MS;
}

static void run_loop(struct daemon *d)
{
	struct idle idle = {.moved_at_ns = clock_now_ns(&d->clock)};
	bool hup = false;

	while (stop_requests() == 0) {
		uint64_t now_ns = clock_now_ns(&d->clock);

		control_once(d, now_ns);
		requests_poll(d->requests, loop_ms(d, &idle, now_ns), now_ns);
		hotplug_poll(d->hotplug, now_ns);
		metrics_poll(d->metrics, now_ns);
		telemetry_poll(now_ns);
		// Taken first: a signal that comes while the file is read asks for another go.
		hup |= signals_take_hup();
		if (hup)
			hup = !reload_on_signal(d->reload, now_ns);
	}
}

// Stops admission and the workers; a second signal cuts it short.
static void drain(struct daemon *d)
{
	static const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t end_ns = clock_now_ns(&d->clock) + DRAIN_NS;
	uint64_t request = switch_hold_admission(d->sw, true);
	uint64_t now_ns;

	do {
		now_ns = clock_now_ns(&d->clock);
		control_once(d, now_ns);
		if (switch_request_done(d->sw, request) && switch_at_rest(d->sw))
			break;
		nanosleep(&pause, NULL);
	} while (stop_requests() < 2 && now_ns < end_ns);
	stall_disarm(d->stall);
	pollers_stop(d->pollers);
	d->pollers = NULL;
	control_once(d, clock_now_ns(&d->clock));
}

static void print_json(const struct daemon *d)
{
	struct json_object *out = json_object_new_object();

	json_object_object_add(out, "balance", observe_balance(d->sw));
	json_object_object_add(out, "waiting", observe_waiting(d->sw));
	puts(json_object_to_json_string_ext(out, JSON_C_TO_STRING_SPACED));
	json_object_put(out);
}

// The exit status.
static int report_balance(const struct daemon *d)
{
	struct balance b = switch_balance(d->sw);
	const struct fact_list *l = &fact_lists[FACTS_BALANCE];
	struct json_object *row = observe_balance(d->sw);
	bool holds = balance_begun(&b) == balance_ended(&b);

	if (d->opt->json) {
		print_json(d);
	} else {
		for (size_t i = 0; i < l->n; i++)
			if (l->rows[i].kind != FACT_YES)
				printf("%-12s %" PRIu64 "\n", l->rows[i].key,
				       count_in(row, l->rows[i].key));
		printf("balance %s: %" PRIu64 " frames began, %" PRIu64 " ended\n",
		       holds ? "holds" : "DOES NOT HOLD", balance_begun(&b), balance_ended(&b));
	}
	json_object_put(row);
	fflush(stdout);
	return holds ? EXIT_OK : EXIT_FAILED;
}

int daemon_run(const struct options *opt)
{
	struct daemon d = {.opt = opt};
	int status;

	signals_install();
	terminal_keep_widths();
	status = outlet_open();
	if (status != 0) {
		fprintf(stderr, "weir: cannot make pipes for its output: %s\n", strerror(-status));
		return EXIT_FAILED;
	}
	status = bring_up(&d);
	if (status == 0) {
		run_loop(&d);
		drain(&d);
		status = report_balance(&d);
		take_down(&d);
	}
	outlet_close();
	return status;
}
