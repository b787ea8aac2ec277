// SPDX-License-Identifier: Apache-2.0
// From what an item of `flows:` says to whom it connects: hosts, sizes, rules between keys, and the
// room that the hosts' NICs need. Every mistake is reported.
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/bundle.h"
#include "control/lab/traffic_flow.h"
#include "dataplane/packet/cm.h"
#include "drivers/nic/requester.h"

enum {
	POOL_QPS = 1024, // of a NIC whose connections come and go; unused ones cost nothing
	MAX_CONNS = 1 << 18, // of a standing flow
};

#define BIT(pattern) (1u << (pattern))
#define STANDING (BIT(PATTERN_EACH) | BIT(PATTERN_INCAST) | BIT(PATTERN_ALL_TO_ALL))
#define ROUNDS (BIT(PATTERN_INCAST) | BIT(PATTERN_ALL_TO_ALL))
#define SERVICE (BIT(PATTERN_REQUEST) | BIT(PATTERN_STORAGE))
#define POOLED (BIT(PATTERN_POISSON) | SERVICE)
#define ANY (STANDING | POOLED)

// Keys that some patterns do not know, and who does.
static const struct {
	const char *key;
	size_t off;
	uint32_t patterns;
	const char *say;
} limited[] = {
#define KEY(f) #f, offsetof(struct lab_flow, f)
	{KEY(pairs), BIT(PATTERN_EACH), "is for each"},
	{KEY(op), ANY & ~BIT(PATTERN_STORAGE), "is chosen by size"},
	{KEY(depth), BIT(PATTERN_EACH) | SERVICE, "is for each, request and storage"},
	{KEY(qps), STANDING | SERVICE, "is as many as there are messages under way"},
	{KEY(interval), STANDING, "is for each, incast and all-to-all"},
	{KEY(load), POOLED, "is for poisson, request and storage"},
	{KEY(idle), POOLED, "is for poisson, request and storage"},
	{KEY(fan), BIT(PATTERN_INCAST), "is for incast"},
	{KEY(request), BIT(PATTERN_REQUEST), "is for request"},
	{KEY(think), SERVICE, "is for request and storage"},
#undef KEY
};

static const char *const pattern_name[N_PATTERNS] = {"each",	"incast",  "all-to-all",
						     "poisson", "request", "storage"};

// One item being resolved.
struct resolver {
	struct scenario *sc;
	struct lab_flow *f;
	struct diag_sink *s;
	uint8_t *seen; // by host
	uint32_t *found; // room for all hosts
	uint32_t *qps; // by host: queue pairs that stand
	uint8_t *pooled; // by host: more come and go
	const struct lab_flow *by_dscp[NIC_DSCPS]; // the first that sends it
};

__attribute__((format(printf, 4, 5))) static void wrong(struct resolver *r, struct cfg_pos at,
							const char *key, const char *fmt, ...)
{
	char text[256], path[96];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s%s%s", r->f->map.path, key != NULL ? "." : "",
		 key != NULL ? key : "");
	diag_add(r->s, DIAG_ERROR, at, path, "%s", text);
}

static struct cfg_pos place(const struct lab_flow *f, const struct cfg_val *v)
{
	return v->given ? v->at : f->map.at;
}

// ---- hosts

// All hosts that the patterns name, each once, in the order of the text.
static uint32_t *find_hosts(struct resolver *r, const struct cfg_words *w, uint32_t *n)
{
	uint32_t *all = arena_alloc(r->sc->arena, (r->sc->n_hosts + 1) * sizeof(*all));

	*n = 0;
	memset(r->seen, 0, r->sc->n_hosts);
	for (unsigned i = 0; i < w->n; i++) {
		const struct sc_text_at v = {w->items[i].text, w->items[i].at, w->map.path};
		unsigned got = scenario_pick_hosts(r->sc, r->s, &v, r->found);

		for (unsigned k = 0; k < got; k++) {
			if (r->seen[r->found[k]])
				continue;
			r->seen[r->found[k]] = 1;
			all[(*n)++] = r->found[k];
		}
	}
	return all;
}

// Hosts between which there is no way; one such pair is reported.
static void check_reach(struct resolver *r)
{
	const struct lab_flow *f = r->f;
	const struct sc_host *hosts = r->sc->hosts;

	for (uint32_t i = 0; i < f->n_src; i++) {
		for (uint32_t d = 0; d < f->n_dst; d++) {
			uint32_t from = f->src[i], to = f->dst[f->pairs.n != 0 ? i : d];

			if (hosts[from].island == hosts[to].island)
				continue;
			wrong(r, f->map.at, NULL, "%s cannot reach %s: no way of links joins them",
			      hosts[from].name, hosts[to].name);
			return;
		}
	}
}

static void check_pairs(struct resolver *r)
{
	const struct lab_flow *f = r->f;

	for (uint32_t i = 0; i < f->n_src; i++) {
		if (f->src[i] != f->dst[i])
			continue;
		wrong(r, f->pairs.at, "pairs",
		      "%s is paired with itself: a range keeps the order in which it is written, "
		      "such as h[2-8,1]",
		      r->sc->hosts[f->src[i]].name);
		return;
	}
}

static void resolve_hosts(struct resolver *r)
{
	struct lab_flow *f = r->f;

	f->src = find_hosts(r, &f->from, &f->n_src);
	if (!f->to.map.given) {
		f->dst = f->src;
		f->n_dst = f->n_src;
	} else {
		f->dst = find_hosts(r, &f->to, &f->n_dst);
	}
	if (f->n_src == 0 || f->n_dst == 0)
		return;
	if (f->pairs.n != 0 && f->n_src != f->n_dst)
		wrong(r, f->pairs.at, "pairs",
		      "%u hosts in `from` cannot be paired with %u in `to`", f->n_src, f->n_dst);
	if (f->pairs.n != 0 && f->n_src == f->n_dst && f->pattern.n == PATTERN_EACH)
		check_pairs(r);
	if (f->n_src == 1 && f->n_dst == 1 && f->src[0] == f->dst[0])
		wrong(r, f->map.at, f->to.map.given ? "to" : NULL,
		      "%s would send to itself only: name another host in `to`",
		      r->sc->hosts[f->src[0]].name);
	else if (f->pairs.n == 0 || f->n_src == f->n_dst)
		check_reach(r);
	if (f->pattern.n == PATTERN_INCAST && f->fan.n >= 0 && (uint64_t)f->fan.n > f->n_src)
		wrong(r, f->fan.at, "fan", "%" PRId64 " of %u hosts cannot be drawn", f->fan.n,
		      f->n_src);
}

// ---- sizes

static void cannot_read(struct resolver *r, const char *path, int err)
{
	wrong(r, r->f->size.at, "size", "%s: cannot read: %s", schema_shown(r->sc->arena, path),
	      strerror(-err));
}

// A bare name is looked for in sizes/ beside the scenario, then among those that come with the lab.
static void load_sizes(struct resolver *r, const char *text)
{
	const char *slash = strrchr(r->sc->file, '/');
	int folder = slash != NULL ? (int)(slash - r->sc->file) + 1 : 0;
	size_t len = strlen(text);
	bool is_file =
		strchr(text, '/') != NULL || (len > 4 && strcmp(text + len - 4, ".cdf") == 0);
	struct arena *a = r->sc->arena;
	const char *path;
	int err;

	if (*text == '/')
		path = text;
	else
		path = arena_printf(a, "%.*s%s%s%s", folder, r->sc->file, is_file ? "" : "sizes/",
				    text, is_file ? "" : ".cdf");
	err = cdf_load(path, a, &r->f->sizes, r->s);
	if (err == -ENOENT && !is_file) {
		err = cdf_load(arena_printf(a, "%s/sizes/%s.cdf", bundle_dir(), text), a,
			       &r->f->sizes, r->s);
		if (err == -ENOENT) {
			wrong(r, r->f->size.at, "size",
			      "\"%s\" is neither a size such as 64KB, nor unlimited, nor a "
			      "distribution: there is no %s",
			      schema_shown(a, text), path);
			return;
		}
	}
	if (err != 0 && err != -EINVAL)
		cannot_read(r, path, err);
}

static void resolve_size(struct resolver *r)
{
	struct lab_flow *f = r->f;
	const char *text = f->size.text, *why;
	int64_t n;

	if (f->size.bad)
		return;
	if (text == NULL || strcmp(text, "unlimited") == 0) {
		if (!flow_standing(f))
			wrong(r, place(f, &f->size), "size",
			      "pattern %s needs a size, or a distribution such as websearch",
			      pattern_name[f->pattern.n]);
		return;
	}
	f->size_kind = SIZE_FIXED;
	if (*text >= '0' && *text <= '9') {
		if (!unit_parse(UNIT_BYTES, text, &n, &why))
			wrong(r, f->size.at, "size", "\"%s\": %s", schema_shown(r->sc->arena, text),
			      why);
		else if (n < 1 || n > REQ_MAX_MSG_BYTES)
			wrong(r, f->size.at, "size", "%s: a message has 1 B to 1 GiB", text);
		else
			f->n_bytes = (uint32_t)n;
		return;
	}
	f->size_kind = SIZE_CDF;
	load_sizes(r, text);
}

// ---- rules

static void check_keys(struct resolver *r)
{
	for (unsigned i = 0; i < sizeof(limited) / sizeof(limited[0]); i++) {
		const struct cfg_val *v =
			(const struct cfg_val *)((const char *)r->f + limited[i].off);

		if (v->given && !(limited[i].patterns & BIT(r->f->pattern.n)))
			wrong(r, v->at, limited[i].key, "%s: leave it out of pattern %s",
			      limited[i].say, pattern_name[r->f->pattern.n]);
	}
	if (r->f->storage.map.given && r->f->pattern.n != PATTERN_STORAGE)
		wrong(r, r->f->storage.map.at, "storage",
		      "is for storage: leave it out of pattern %s", pattern_name[r->f->pattern.n]);
}

static void check_reuse(struct resolver *r)
{
	const struct lab_flow *f = r->f;
	struct cfg_pos at = f->reuse.map.given ? f->reuse.map.at : f->reuse.after.at;

	if (!f->reuse.map.given && !f->reuse.after.given)
		return;
	if (f->pattern.n != PATTERN_EACH)
		wrong(r, at, "reuse", "is for each: leave it out of pattern %s",
		      pattern_name[f->pattern.n]);
	else if (f->size_kind == SIZE_UNLIMITED && !f->size.bad)
		wrong(r, at, "reuse", "says nothing of an endless stream: give a size");
	if (r->sc->connect_by_cm)
		wrong(r, at, "reuse", "needs connections out of band: leave out `connect: cm`");
	if (f->reuse.crossed.n != 0 && f->qps.n < 2)
		wrong(r, f->reuse.crossed.at, "reuse.crossed",
		      "two connections can change places: give `qps` of 2 at least");
}

// Keys that speak of queue pairs.
static void check_tcp(struct resolver *r)
{
	const struct lab_flow *f = r->f;
	const struct cfg_val *rdma[] = {&f->op, &f->cc, &f->first_psn};
	static const char *const rdma_key[] = {"op", "cc", "first_psn"};

	if (!flow_is_tcp(f))
		return;
	for (unsigned i = 0; i < sizeof(rdma) / sizeof(rdma[0]); i++)
		if (rdma[i]->given)
			wrong(r, rdma[i]->at, rdma_key[i], "is of RDMA: leave it out beside `tcp`");
	if (f->reuse.map.given || f->reuse.after.given)
		wrong(r, f->reuse.map.given ? f->reuse.map.at : f->reuse.after.at, "reuse",
		      "is of RDMA: leave it out beside `tcp`");
	if (f->pattern.n == PATTERN_STORAGE)
		wrong(r, f->pattern.at, "pattern",
		      "storage moves data by RDMA READ and WRITE: leave out `tcp`");
	if (f->tcp.cc.n == TCP_DCTCP && f->ecn.given && f->ecn.n == NIC_NOT_ECT)
		wrong(r, f->ecn.at, "ecn", "dctcp needs ECN: give ect0 or ect1, or leave it out");
	if (f->tcp.cc.n != TCP_DCTCP && f->tcp.g.given)
		wrong(r, f->tcp.g.at, "tcp.g", "is of dctcp: give `cc: dctcp`, or leave it out");
}

static void resolve_tcp(struct resolver *r)
{
	struct lab_flow *f = r->f;
	const struct lab_tcp_keys *k = &f->tcp;
	struct cc_config gain = {.g_num = 1, .g_den = 16};

	if (!flow_is_tcp(f))
		return;
	if (k->g.given && !k->g.bad && !cc_set_gain(&gain, k->g.text))
		wrong(r, k->g.at, "tcp.g",
		      "\"%s\" is no fraction of at most 1 such as 1/16, with a denominator of at "
		      "most 65536", schema_shown(r->sc->arena, k->g.text));
	f->tcp_params = (struct tcp_params){
		.cc = (uint8_t)k->cc.n,
		.ecn = flow_ecn(f) != NIC_NOT_ECT,
		.sack = k->sack.n != 0,
		.ack_every = flow_ack_every(f),
		.initial_segments = (uint16_t)k->initial_window.n,
		.window_bytes = (uint32_t)k->window.n,
		.g_num = gain.g_num,
		.g_den = gain.g_den,
		.rto_min_ns = (uint64_t)k->rto_min.n,
		.rto_initial_ns = (uint64_t)k->rto_initial.n,
		.delayed_ack_ns = (uint64_t)k->delayed_ack.n,
	};
}

static void check_rules(struct resolver *r)
{
	struct lab_flow *f = r->f;
	const struct cfg_val *endless[] = {&f->count, &f->depth, &f->interval, &f->fan};
	static const char *const endless_key[] = {"count", "depth", "interval", "fan"};
	char duration[32];

	check_keys(r);
	for (unsigned i = 0; f->size_kind == SIZE_UNLIMITED && !f->size.bad && i < 4; i++)
		if (endless[i]->given && flow_standing(f))
			wrong(r, endless[i]->at, endless_key[i],
			      "says nothing of an endless stream: give a size");
	unit_print(UNIT_TIME, (int64_t)r->sc->duration_ns, duration, sizeof(duration));
	if (f->start.given && (uint64_t)f->start.n >= r->sc->duration_ns && r->sc->duration_ns != 0)
		wrong(r, f->start.at, "start", "the run ends at %s, before this flow begins",
		      duration);
	if (f->stop.n >= 0 && f->stop.n <= f->start.n)
		wrong(r, f->stop.at, "stop", "is not after start");
	if (f->load.n >= 0 && f->depth.given && BIT(f->pattern.n) & SERVICE)
		wrong(r, f->depth.at, "depth", "is of a closed loop: leave out `load` or `depth`");
	if (f->pattern.n == PATTERN_POISSON && f->load.n < 0 && !f->load.bad)
		wrong(r, place(f, &f->load), "load", "pattern poisson needs a load such as 30%%");
	if (f->pattern.n == PATTERN_REQUEST && f->op.n == REQ_READ)
		wrong(r, f->op.at, "op", "an answer is a send or a write");
	if (r->sc->connect_by_cm && BIT(f->pattern.n) & SERVICE)
		wrong(r, place(f, &f->pattern), "pattern",
		      "%s needs connections out of band: leave out `connect: cm`",
		      pattern_name[f->pattern.n]);
	if (r->sc->connect_by_cm && !flow_is_tcp(f) && f->mtu.n > 0 &&
	    cm_mtu_code((uint16_t)f->mtu.n) == 0)
		wrong(r, f->mtu.at, "mtu",
		      "on the wire a path MTU is 256, 512, 1024, 2048 or 4096: leave out "
		      "`connect: cm` for others");
	check_reuse(r);
	check_tcp(r);
	if (f->storage.small.n > f->storage.large.n)
		wrong(r, f->storage.map.at, "storage", "small is above large");
}

static void resolve_storage(struct lab_flow *f)
{
	const struct lab_storage_keys *k = &f->storage;

	f->store = (struct storage_params){
		.small_bytes = (uint32_t)k->small.n,
		.large_bytes = (uint32_t)k->large.n,
		.chunk_bytes = (uint32_t)k->chunk.n,
		.request_bytes = (uint32_t)k->request.n,
		.reply_bytes = (uint32_t)k->reply.n,
		.credits = (uint32_t)k->credits.n,
		.reads_ppm = (uint32_t)k->reads.n,
	};
}

// ---- room in the NICs

static int count_pair(void *arg, uint32_t src, uint32_t dst)
{
	struct resolver *r = arg;

	r->qps[src] += (uint32_t)r->f->qps.n;
	r->qps[dst] += (uint32_t)r->f->qps.n;
	return 0;
}

static void count_qps(struct resolver *r)
{
	const struct lab_flow *f = r->f;

	if (!flow_standing(f)) {
		for (uint32_t i = 0; i < f->n_src; i++)
			r->pooled[f->src[i]] = 1;
		for (uint32_t i = 0; i < f->n_dst; i++)
			r->pooled[f->dst[i]] = 1;
	} else if ((uint64_t)f->n_src * (f->pairs.n ? 1 : f->n_dst) * (uint64_t)f->qps.n >
		   MAX_CONNS) {
		wrong(r, f->map.at, NULL, "more than %d connections: use pattern poisson",
		      MAX_CONNS);
	} else {
		flow_each_pair(f, count_pair, r);
	}
}

static void size_nics(struct resolver *r)
{
	for (uint32_t i = 0; i < r->sc->n_hosts; i++) {
		struct sc_host *h = &r->sc->hosts[i];
		uint32_t need = r->qps[i];

		if (need > NIC_MAX_QPS)
			diag_add(r->s, DIAG_ERROR, h->at, h->name,
				 "its flows need %u connections, and a NIC has at most %d", need,
				 NIC_MAX_QPS);
		if (r->pooled[i])
			need = need + POOL_QPS < NIC_MAX_QPS ? need + POOL_QPS : NIC_MAX_QPS;
		if (need > NIC_MAX_QPS)
			need = NIC_MAX_QPS;
		if (h->nic.max_qps < need)
			h->nic.max_qps = (uint16_t)need;
		if (h->nic.max_peers < r->sc->n_hosts)
			h->nic.max_peers = (uint16_t)r->sc->n_hosts;
	}
}

// ---- all of it

static void check_names(struct resolver *r)
{
	for (uint32_t i = 0; i < r->sc->n_flows; i++) {
		const struct lab_flow *f = lab_flow_at(r->sc, i);

		for (uint32_t k = 0; k < i; k++) {
			const struct lab_flow *other = lab_flow_at(r->sc, k);

			if (strcmp(f->label, other->label) != 0)
				continue;
			// Without a name a flow is f1, f2, ...; the one that was given is in the
			// way.
			r->f = lab_flow_at(r->sc, f->name.given ? i : k);
			wrong(r, r->f->name.at, "name", "two flows are called %s", f->label);
			break;
		}
	}
}

// All NICs take a DSCP for the same class.
static void claim_dscp(struct resolver *r)
{
	const struct lab_flow *f = r->f, **first = &r->by_dscp[flow_dscp(f)];

	if (*first != NULL && (*first)->cls.n != f->cls.n)
		wrong(r, place(f, f->dscp.given ? &f->dscp : &f->cls), "dscp",
		      "DSCP %u is class %u in flow %s: give this flow another", flow_dscp(f),
		      (unsigned)(*first)->cls.n, (*first)->label);
	if (*first == NULL)
		*first = f;
	for (uint32_t i = 0; i < r->sc->n_hosts; i++)
		r->sc->hosts[i].nic.class_of_dscp[flow_dscp(f)] = (uint8_t)f->cls.n;
}

static void resolve_one(struct resolver *r, uint32_t i)
{
	struct lab_flow *f = r->f = lab_flow_at(r->sc, i);
	unsigned before = r->s->n_errors;

	f->label = f->name.text != NULL ? f->name.text : arena_printf(r->sc->arena, "f%u", i + 1);
	if (f->mtu.n > 0)
		f->payload = (uint16_t)f->mtu.n;
	resolve_storage(f);
	resolve_tcp(r);
	claim_dscp(r);
	resolve_hosts(r);
	resolve_size(r);
	check_rules(r);
	if (r->s->n_errors == before)
		count_qps(r);
}

int traffic_resolve(struct scenario *sc, struct diag_sink *s)
{
	unsigned before = s->n_errors;
	uint32_t n = sc->n_hosts + 1;
	struct resolver r = {.sc = sc, .s = s};

	r.seen = arena_alloc(sc->arena, n);
	r.pooled = arena_alloc(sc->arena, n);
	r.found = arena_alloc(sc->arena, n * sizeof(*r.found));
	r.qps = arena_alloc(sc->arena, n * sizeof(*r.qps));
	for (uint32_t i = 0; i < sc->n_flows; i++)
		resolve_one(&r, i);
	check_names(&r);
	size_nics(&r);
	return s->n_errors == before ? 0 : -EINVAL;
}
