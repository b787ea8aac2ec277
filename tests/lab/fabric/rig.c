// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/fabric/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <rte_mempool.h>

#include "dataplane/policy.h"

// One at a time in a process; that of a test that failed goes before the next is made.
static struct rig left;

static void print(struct diags *d)
{
	for (unsigned i = 0; i < d->n; i++)
		print_message("%s\n", d->lines[i]);
	diags_fini(d);
}

void rig_make(struct rig *r, const char *file, const struct sc_set *sets)
{
	struct fabric_hooks hooks;
	struct diag_sink s = {.file = file};
	struct diags d = {0};
	unsigned n = 0;
	int err;

	rig_free(&left);
	*r = (struct rig){0};
	while (sets != NULL && sets[n].path != NULL)
		n++;
	err = scenario_load(file, sets, n, &r->sc, &d);
	print(&d);
	assert_int_equal(err, 0);
	assert_int_equal(traffic_create(r->sc, &r->traffic), 0);
	traffic_hooks(r->traffic, &hooks);
	left = *r;
	err = fabric_create(r->sc, &hooks, &r->f, &d);
	if (err != 0)
		print(&d);
	diags_fini(&d);
	assert_int_equal(err, 0);
	left = *r;
	err = traffic_check(r->traffic, r->f, &s);
	diag_finish(&s, &d);
	diags_fini(&d);
	assert_int_equal(err, 0);
	assert_int_equal(traffic_start(r->traffic, r->f), 0);
}

// Every frame that was taken from the pool waits in a switch or is on a wire.
static void frames_are_all_known(const struct fabric *f)
{
	uint64_t known = 0;

	for (uint32_t i = 0; i < f->sc->n_switches; i++)
		known += switch_balance(f->switches[i].in.sw).queued;
	for (uint32_t i = 0; i < f->sc->n_links; i++)
		for (unsigned side = 0; side < 2; side++)
			known += wire_counts(wire_end(f->links[i].wire, side)).in_flight;
	assert_int_equal(f->pool->populated_size - rte_mempool_avail_count(f->pool), known);
}

void rig_run(struct rig *r, uint64_t t_ns)
{
	char text[200] = "";

	assert_int_equal(fabric_run_until(r->f, t_ns), 0);
	assert_true(r->f->clock.now_ns == t_ns);
	if (!fabric_balanced(r->f, text, sizeof(text)))
		fail_msg("%s", text);
	frames_are_all_known(r->f);
}

void rig_free(struct rig *r)
{
	traffic_destroy(r->traffic);
	fabric_destroy(r->f);
	scenario_destroy(r->sc);
	*r = left = (struct rig){0};
}

static void mix(uint64_t *h, uint64_t v)
{
	*h = (*h ^ v) * 0x100000001b3u;
	*h ^= *h >> 29;
}

static void mix_switch(uint64_t *h, const struct weir_switch *sw)
{
	for (unsigned p = 0; p < switch_policy(sw)->n_ports; p++) {
		const struct port_counters *c = switch_port_counters(sw, p);

		mix(h, ctr_get(&c->rx_bytes));
		mix(h, ctr_get(&c->tx_bytes));
		mix(h, ctr_get(&c->generated));
		for (unsigned q = 0; q < N_QUEUES; q++) {
			const struct queue_counters *k = switch_queue_counters(sw, p, q);

			mix(h, ctr_get(&k->tx_bytes));
			mix(h, ctr_get(&k->ecn_marked));
			mix(h, gauge_get(&k->max_bytes));
		}
	}
}

uint64_t rig_digest(const struct rig *r)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (uint32_t i = 0; i < r->sc->n_switches; i++)
		mix_switch(&h, r->f->switches[i].in.sw);
	for (uint32_t i = 0; i < r->sc->n_hosts; i++) {
		const struct nic_stats *s = nic_stats_now(r->f->hosts[i].nic);

		mix(&h, s->tx_frames);
		mix(&h, s->rx_frames);
		mix(&h, s->cnps_received);
		mix(&h, s->messages_completed);
		for (unsigned c = 0; c < NIC_CLASSES; c++) {
			mix(&h, s->cls[c].goodput_bytes);
			mix(&h, s->cls[c].last_rx_ns);
		}
	}
	mix(&h, r->f->clock.n_events);
	mix(&h, traffic_n_done(r->traffic));
	return h;
}

uint64_t rig_drops(const struct rig *r, uint32_t sw, enum drop_reason reason)
{
	uint64_t n = 0;

	for (unsigned p = 0; p < r->sc->switches[sw].n_ports; p++)
		for (unsigned c = 0; c < N_CLASSES; c++)
			n += ctr_get(
				&switch_drops(r->f->switches[sw].in.sw, p, c, reason)->packets);
	return n;
}
