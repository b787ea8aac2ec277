// SPDX-License-Identifier: Apache-2.0
#include "tests/perf/stages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

#include "dataplane/base/rng.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/packet/edit.h"
#include "dataplane/policy.h"

enum {
	N_FRAMES = 256, // stay in the nearest caches, as a burst does
	N_REPEATS = 400, // the fastest counts
	RUN = 32, // frames that leave together
	FDB_ROOM = 16384,
	IN_PORT = 0,
	OUT_PORT = 1,
	CLASS = 3,
};

struct bench_frame {
	uint8_t bytes[TRAFFIC_SHORT_FRAME];
	struct pkt_info info;
	uint64_t src_key, dst_key;
};

struct stages {
	const struct policy *pol;
	uint32_t len, cells;
	uint64_t now_ns;
	struct bench_frame *frames; // N_FRAMES
	struct fdb fdb;
	struct fdb_cache *cache;
	struct rte_rcu_qsbr *qsbr;
	struct pg_state pg;
	struct egress_state egress;
	struct wred_state wred;
	struct sched_state sched;
	struct shaper_state shaper;
	struct queue_counters queue;
	struct rng rng;
	uint64_t sink; // what the stages find, so that none is optimised away
};

// ---- the stages: each does its part of N_FRAMES frames

static void do_parse(struct stages *s)
{
	for (unsigned i = 0; i < N_FRAMES; i++)
		s->sink += parse(s->frames[i].bytes, s->len, &s->frames[i].info);
}

static void do_classify(struct stages *s)
{
	const struct classify_params *p = &s->pol->ports[IN_PORT].classify;

	for (unsigned i = 0; i < N_FRAMES; i++)
		s->sink += classify(p, &s->frames[i].info).cls;
}

static void do_fdb(struct stages *s)
{
	port_no_t lives_at;

	for (unsigned i = 0; i < N_FRAMES; i++) {
		const struct bench_frame *f = &s->frames[i];

		s->sink += fdb_source(&s->fdb, s->cache, f->src_key, IN_PORT, s->now_ns,
				      &lives_at);
		s->sink += fdb_lookup(&s->fdb, s->cache, f->dst_key);
	}
}

static void do_admit(struct stages *s)
{
	const struct pg_params *p = &s->pol->ports[IN_PORT].pg[CLASS];
	const struct pg_pools pools = {s->pol->buffer.ingress_pool_cells,
				       s->pol->buffer.headroom_pool_cells};

	for (unsigned i = 0; i < N_FRAMES; i++) {
		uint32_t c = cells_of(&s->pol->cell, s->len);

		struct pg_decision d = pg_decide(p, &s->pg, &pools, 0, c);

		s->sink += (uint64_t)pg_charge(&s->pg, d, c).ingress;
	}
}

static void do_release(struct stages *s)
{
	for (unsigned i = 0; i < N_FRAMES; i++)
		s->sink += (uint64_t)pg_release(&s->pg, s->cells).ingress;
}

static void do_egress(struct stages *s)
{
	const struct egress_params *p = &s->pol->ports[OUT_PORT].queue[CLASS].egress;

	for (unsigned i = 0; i < N_FRAMES; i++) {
		enum egress_verdict v = egress_decide(p, &s->egress, FDB_ROOM,
						       s->cells, s->cells);

		s->sink += (uint64_t)egress_charge(&s->egress, v, s->cells).lossy;
		s->sink += (uint64_t)egress_release(p, &s->egress, s->cells).lossy;
	}
}

static void do_schedule(struct stages *s)
{
	const struct policy_port *p = &s->pol->ports[OUT_PORT];
	uint32_t head_len[N_QUEUES] = {[CLASS] = s->len};

	shaper_update(&p->shaper, &s->shaper, s->now_ns += 1000000);
	for (unsigned i = 0; i < N_FRAMES; i += RUN) {
		int q = sched_pick(&p->sched, &s->sched, 1 << CLASS, head_len, s->now_ns);
		struct sched_run run = sched_run_begin(&p->sched, &s->sched, (unsigned)q,
						       1 << CLASS);

		for (unsigned k = 0; k < RUN && shaper_ready(&p->shaper, &s->shaper); k++) {
			if (!sched_run_lasts(&p->sched, &run, (unsigned)q, s->len))
				break;
			sched_run_spend(&p->sched, &run, (unsigned)q, s->len);
			shaper_charge(&p->shaper, &s->shaper, s->len + LINK_OVERHEAD_BYTES);
		}
		sched_run_end(&p->sched, &s->sched, &run, (unsigned)q);
	}
	s->sched.deficit[CLASS] = 0;
}

// A length in the middle of the curve: half of the frames would be marked.
static void do_wred(struct stages *s)
{
	const struct wred_params *p = &s->pol->ports[OUT_PORT].queue[CLASS].wred;
	uint64_t middle = (p->curve[GREEN].kmin_bytes + p->curve[GREEN].kmax_bytes) / 2;

	for (unsigned i = 0; i < N_FRAMES; i++) {
		uint64_t len = wred_average(p, &s->wred, middle);

		s->sink += wred_decide(p, len, GREEN, ECN_ECT0, rng_next(&s->rng));
	}
}

static void do_mark(struct stages *s)
{
	for (unsigned i = 0; i < N_FRAMES; i++)
		edit_ecn_ce(s->frames[i].bytes + ETH_HLEN_, PKT_IPV4);
}

static void do_residence(struct stages *s)
{
	for (unsigned i = 0; i < N_FRAMES; i++) {
		ctr_inc(&s->queue.residence[residence_bucket(1000 + 16 * i)]);
		gauge_max(&s->queue.residence_max_ns, 1000 + 16 * i);
	}
}

static const struct stage {
	const char *name;
	void (*run)(struct stages *s);
	const char *when; // shown beside
} table[] = {
	{"parse", do_parse, "every frame"},
	{"classify", do_classify, "every frame"},
	{"fdb", do_fdb, "every frame: source and destination"},
	{"admission", do_admit, "every frame: cells, PG decision, charge"},
	{"egress", do_egress, "every frame: lossy limit, charge and release"},
	{"schedule", do_schedule, "every frame: pick, commit, port shaper"},
	{"wred", do_wred, "every frame that leaves an ECN queue above kmin"},
	{"mark", do_mark, "marked frames: CE and checksum"},
	{"residence", do_residence, "every frame: histogram and maximum"},
	{"release", do_release, "every frame: cells back to the PG"},
};

enum { N_STAGES = sizeof(table) / sizeof(table[0]) };

// ---- set-up

static int make_fdb(struct stages *s, const struct traffic *t)
{
	s->qsbr = rte_zmalloc(NULL, rte_rcu_qsbr_get_memsize(1), 64);
	if (s->qsbr == NULL || rte_rcu_qsbr_init(s->qsbr, 1) != 0)
		return -ENOMEM;
	if (fdb_init(&s->fdb, "bench-stages", FDB_ROOM, 1, s->qsbr) != 0)
		return -ENOMEM;
	for (unsigned port = 0; port < 2; port++) {
		for (uint32_t h = 0; h < t->n_macs; h++) {
			uint8_t mac[6];

			traffic_mac(port, h, mac);
			if (fdb_learn(&s->fdb, fdb_key(mac, 0), (port_no_t)port, true, s->now_ns,
				      NULL) < 0)
				return -ENOSPC;
		}
	}
	return 0;
}

static int make_frames(struct stages *s, const struct traffic *t)
{
	s->frames = calloc(N_FRAMES, sizeof(s->frames[0]));
	s->cache = rte_zmalloc(NULL, sizeof(*s->cache), 64);
	if (s->frames == NULL || s->cache == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < N_FRAMES; i++) {
		struct bench_frame *f = &s->frames[i];

		traffic_frame(t, IN_PORT, OUT_PORT, i % t->n_flows, f->bytes);
		f->dst_key = fdb_key(f->bytes, 0);
		f->src_key = fdb_key(f->bytes + ETH_ALEN_, 0);
	}
	return 0;
}

static void drop_all(struct stages *s)
{
	if (s->fdb.hash != NULL)
		fdb_fini(&s->fdb);
	rte_free(s->qsbr);
	rte_free(s->cache);
	free(s->frames);
}

// ---- the measurement

struct timing {
	struct stages *s;
	double cycles[N_STAGES];
};

// Stages run in turns: one may use what the one before found, and release undoes admission.
static int on_worker(void *arg)
{
	struct timing *t = arg;

	for (unsigned i = 0; i < N_STAGES; i++)
		t->cycles[i] = 1e12;
	for (unsigned n = 0; n < N_REPEATS; n++) {
		for (unsigned i = 0; i < N_STAGES; i++) {
			uint64_t start = rte_rdtsc_precise();
			double cycles;

			table[i].run(t->s);
			cycles = (double)(rte_rdtsc_precise() - start) / N_FRAMES;
			if (cycles < t->cycles[i])
				t->cycles[i] = cycles;
		}
	}
	return 0;
}

static void report(const struct timing *t, struct json_object *out)
{
	struct json_object *all = out == NULL ? NULL : json_object_new_object();

	for (unsigned i = 0; i < N_STAGES; i++) {
		if (out == NULL)
			printf("stage %-10s %6.1f cycles  %s\n", table[i].name, t->cycles[i],
			       table[i].when);
		else
			json_object_object_add(all, table[i].name,
					       json_object_new_double(t->cycles[i]));
	}
	if (out != NULL)
		json_object_object_add(out, "stages", all);
}

int stages_measure(const struct rig *r, const struct traffic *t, struct json_object *out)
{
	struct stages *s = calloc(1, sizeof(*s));
	struct timing timing = {.s = s};
	int err;

	if (s == NULL)
		return -ENOMEM;
	s->pol = r->policy;
	s->len = t->frame_bytes;
	s->cells = cells_of(&r->policy->cell, s->len);
	s->now_ns = CLOCK_START_NS;
	err = make_frames(s, t);
	if (err == 0)
		err = make_fdb(s, t);
	if (err == 0) {
		rte_eal_remote_launch(on_worker, &timing, live_worker_lcore(0));
		rte_eal_wait_lcore(live_worker_lcore(0));
		report(&timing, out);
	} else {
		fprintf(stderr, "weir-bench: no memory for the stages: %s\n", strerror(-err));
	}
	drop_all(s);
	free(s);
	return err;
}
