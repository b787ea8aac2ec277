// SPDX-License-Identifier: Apache-2.0
#include "control/lab/measure_leaf.h"

#include "dataplane/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static double no_value(void)
{
	return __builtin_nan("");
}

// ---- samples

int sample_set_add(struct sample_set *s, double v, bool keep)
{
	if (v != v)
		return 0; // there was nothing to read
	s->min = s->n == 0 || v < s->min ? v : s->min;
	s->max = s->n == 0 || v > s->max ? v : s->max;
	s->sum += v;
	s->last = v;
	s->n++;
	if (!keep)
		return 0;
	if (s->n_runs != 0 && s->runs[s->n_runs - 1].v == v) {
		s->runs[s->n_runs - 1].n++;
		return 0;
	}
	if (s->n_runs == s->cap) {
		uint32_t cap = s->cap == 0 ? 64 : 2 * s->cap;
		struct sample_run *more = realloc(s->runs, cap * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		s->runs = more;
		s->cap = cap;
	}
	s->runs[s->n_runs++] = (struct sample_run){v, 1};
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const struct sample_run *x = a, *y = b;

	return x->v < y->v ? -1 : x->v > y->v;
}

static double quantile(struct sample_set *s, uint32_t ppm)
{
	uint64_t rank = (s->n * ppm + PPM - 1) / PPM, seen = 0;

	qsort(s->runs, s->n_runs, sizeof(*s->runs), by_value);
	for (uint32_t i = 0; i < s->n_runs; i++) {
		seen += s->runs[i].n;
		if (seen >= rank)
			return s->runs[i].v;
	}
	return no_value();
}

double sample_set_stat(struct sample_set *s, struct expr_stat stat)
{
	if (s->n == 0)
		return no_value();
	switch ((enum expr_stat_kind)stat.kind) {
	case STAT_MEAN:
		return s->sum / (double)s->n;
	case STAT_MIN:
		return s->min;
	case STAT_MAX:
		return s->max;
	case STAT_NOW:
		return s->last;
	default:
		return quantile(s, stat.ppm);
	}
}

void sample_set_clear(struct sample_set *s)
{
	s->n = s->n_runs = 0;
	s->sum = 0;
}

// ---- objects

static bool wanted(const struct measure_leaf *l, const struct expr_object *o,
		   const struct metric_world *w)
{
	return !l->leaf->star || o->kind > OBJ_HOST_CLASS ||
	       metric_host_is(w->fabric->sc, o->node, l->leaf->fn->who);
}

static uint32_t conns_of(const struct expr_object *o, const struct metric_world *w)
{
	return o->kind == OBJ_CONN && o->conn == UINT32_MAX ? w->flows[o->node].n : 1;
}

// "name/*" becomes "name/1", "name/2", ...; the names live as long as the leaf.
static int add_object(struct measure_leaf *l, const struct expr_object *o,
		      const struct metric_world *w)
{
	uint32_t n = conns_of(o, w);

	for (uint32_t i = 0; i < n; i++) {
		struct expr_object *to = &l->objects[l->n_objects];
		const char *slash = strrchr(o->name, '/');

		*to = *o;
		if (o->kind == OBJ_CONN && o->conn == UINT32_MAX) {
			char *name = malloc(strlen(o->name) + 12);

			if (name == NULL)
				return -ENOMEM;
			sprintf(name, "%.*s/%u", (int)(slash - o->name), o->name, i + 1);
			to->name = name;
			to->conn = i;
		} else {
			to->name = strdup(o->name);
		}
		if (to->name == NULL)
			return -ENOMEM;
		l->n = ++l->n_objects;
	}
	return 0;
}

int measure_leaf_bind(struct measure_leaf *l, const struct expr_leaf *leaf,
		      const struct metric_world *w)
{
	uint32_t most = 0;

	*l = (struct measure_leaf){.leaf = leaf};
	for (uint32_t i = 0; i < leaf->n_objects; i++)
		most += conns_of(&leaf->objects[i], w);
	l->objects = calloc(most + 1, sizeof(*l->objects));
	if (l->objects == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < leaf->n_objects; i++)
		if (wanted(l, &leaf->objects[i], w) && add_object(l, &leaf->objects[i], w) != 0)
			return -ENOMEM;
	if (leaf->fn->method == BY_SET)
		l->n = 1;
	l->first = calloc(l->n + 1, sizeof(*l->first));
	l->first_per = calloc(l->n + 1, sizeof(*l->first_per));
	l->values = calloc(l->n + 1, sizeof(*l->values));
	l->samples = calloc(l->n + 1, sizeof(*l->samples));
	if (leaf->fn->method == BY_WATCH)
		l->watches = calloc(l->n + 1, sizeof(*l->watches));
	if (leaf->fn->method == BY_LEVEL)
		l->levels = calloc(l->n + 1, sizeof(*l->levels));
	if (l->first == NULL || l->first_per == NULL || l->values == NULL || l->samples == NULL ||
	    (leaf->fn->method == BY_WATCH && l->watches == NULL) ||
	    (leaf->fn->method == BY_LEVEL && l->levels == NULL))
		return -ENOMEM;
	return 0;
}

void measure_leaf_fini(struct measure_leaf *l)
{
	for (uint32_t i = 0; i < l->n_objects; i++)
		free((void *)(uintptr_t)l->objects[i].name);
	for (uint32_t i = 0; i < l->n && l->samples != NULL; i++)
		free(l->samples[i].runs);
	free(l->objects);
	free(l->first);
	free(l->first_per);
	free(l->values);
	free(l->samples);
	free(l->watches);
	free(l->levels);
}

// ---- windows

static bool counts(const struct measure_leaf *l)
{
	return l->leaf->fn->method <= BY_LINE;
}

static void begin_level(struct measure_leaf *l, const struct metric_world *w, uint32_t i)
{
	l->levels[i] = metric_level(&l->objects[i]);
	l->levels[i].above_bytes = l->leaf->bytes;
	level_begin(w->fabric, &l->levels[i]);
}

static double ended_level(struct measure_leaf *l, const struct metric_world *w, uint32_t i)
{
	level_end(w->fabric, &l->levels[i]);
	return l->leaf->fn->metric == METRIC_QUEUE_MEAN ? level_mean_bytes(&l->levels[i])
							: level_share_above(&l->levels[i]);
}

void measure_leaf_open(struct measure_leaf *l, const struct metric_world *w, uint64_t now_ns)
{
	const struct expr_func *fn = l->leaf->fn;

	l->open = true;
	l->closed = false;
	l->from_ns = now_ns;
	l->first_done = traffic_n_done(w->traffic);
	for (uint32_t i = 0; i < l->n; i++) {
		sample_set_clear(&l->samples[i]);
		if (fn->method == BY_WATCH)
			metric_watch(w, l->leaf, &l->objects[i], &l->watches[i]);
		if (fn->method == BY_LEVEL)
			begin_level(l, w, i);
		if (counts(l))
			l->first[i] = metric_read(w, l->leaf, fn->metric, &l->objects[i]);
		if (fn->method == BY_SHARE)
			l->first_per[i] = metric_read(w, l->leaf, fn->per, &l->objects[i]);
	}
}

int measure_leaf_sample(struct measure_leaf *l, const struct metric_world *w)
{
	bool keep = l->leaf->stat.kind == STAT_QUANTILE;
	int err = 0;

	if (l->leaf->fn->method == BY_SHARE) {
		for (uint32_t i = 0; i < l->n; i++)
			(void)metric_read(w, l->leaf, l->leaf->fn->metric, &l->objects[i]);
		return 0;
	}
	for (uint32_t i = 0; i < l->n && err == 0; i++)
		err = sample_set_add(&l->samples[i],
				     metric_read(w, l->leaf, l->leaf->fn->metric, &l->objects[i]),
				     keep);
	return err;
}

static double counted(const struct measure_leaf *l, const struct metric_world *w, uint32_t i)
{
	const struct expr_func *fn = l->leaf->fn;
	const struct expr_object *o = &l->objects[i];
	double grown = metric_read(w, l->leaf, fn->metric, o) - l->first[i], per;
	double ns = (double)(l->to_ns - l->from_ns);

	if (fn->method == BY_COUNT)
		return grown;
	if (fn->method == BY_SHARE) {
		per = metric_read(w, l->leaf, fn->per, o) - l->first_per[i];
		return per == 0 ? no_value() : grown / per;
	}
	if (ns == 0)
		return no_value();
	grown = grown * BITS_PER_BYTE * SECOND_NS / ns;
	return fn->method == BY_LINE ? grown / metric_speed(w, o) : grown;
}

// Where a window is shorter than a sample's distance, what is now stands for it.
static int sampled(struct measure_leaf *l, const struct metric_world *w, uint32_t i)
{
	struct sample_set *s = &l->samples[i];
	bool now = l->leaf->stat.kind == STAT_NOW || s->n == 0;
	int err = 0;

	if (now)
		err = sample_set_add(s,
				     metric_read(w, l->leaf, l->leaf->fn->metric, &l->objects[i]),
				     l->leaf->stat.kind == STAT_QUANTILE);
	l->values[i] = sample_set_stat(s, l->leaf->stat);
	return err;
}

static int operated(struct measure_leaf *l, const struct metric_world *w, uint32_t i)
{
	uint64_t last = traffic_n_done(w->traffic);
	bool keep = l->leaf->stat.kind == STAT_QUANTILE;
	int err = 0;

	for (uint64_t k = l->first_done; k < last && err == 0; k++) {
		const struct traffic_done *d = traffic_done(w->traffic, k);

		if (metric_operation_fits(w, l->leaf, &l->objects[i], d))
			err = sample_set_add(&l->samples[i],
					     metric_operation(w, l->leaf->fn->metric, d), keep);
	}
	l->values[i] = sample_set_stat(&l->samples[i], l->leaf->stat);
	return err;
}

static double at_the_end(const struct measure_leaf *l, const struct metric_world *w, uint32_t i)
{
	const struct expr_func *fn = l->leaf->fn;
	// The end of the run is after everything.
	uint64_t to_ns = l->leaf->to_ns < w->fabric->sc->duration_ns ? l->to_ns : UINT64_MAX;

	if (fn->method == BY_SET)
		return metric_found(w, fn->metric, l->objects, l->n_objects, l->from_ns);
	if (fn->method == BY_STORM)
		return metric_storm(w, l->leaf, &l->objects[i], l->from_ns, to_ns);
	return metric_read(w, l->leaf, fn->metric, &l->objects[i]);
}

int measure_leaf_close(struct measure_leaf *l, const struct metric_world *w, uint64_t now_ns)
{
	int err = 0;

	l->open = false;
	l->closed = true;
	l->to_ns = now_ns;
	for (uint32_t i = 0; i < l->n && err == 0; i++) {
		if (counts(l))
			l->values[i] = counted(l, w, i);
		else if (l->leaf->fn->method == BY_SAMPLE)
			err = sampled(l, w, i);
		else if (l->leaf->fn->method == BY_OPERATION)
			err = operated(l, w, i);
		else if (l->leaf->fn->method == BY_LEVEL)
			l->values[i] = ended_level(l, w, i);
		else if (l->leaf->fn->method == BY_WATCH)
			l->values[i] = metric_watched(w, l->leaf, &l->watches[i]);
		else
			l->values[i] = at_the_end(l, w, i);
	}
	return err;
}

void measure_leaf_settle(struct measure_leaf *l, const struct metric_world *w)
{
	if (!l->closed || l->leaf->fn->method != BY_STORM)
		return;
	for (uint32_t i = 0; i < l->n; i++)
		l->values[i] = at_the_end(l, w, i);
}
