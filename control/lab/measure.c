// SPDX-License-Identifier: Apache-2.0
#include "control/lab/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/schema.h"
#include "control/lab/metric.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"

// One function of a text while it is measured: opened at the beginning of its window, sampled,
// closed at the end, then its values are read. Expectations have one window, records one after the
// other.
//
//   leaf_open -> leaf_sample ... -> leaf_close -> values
//       ^                               |
//       +-- records: the next row ------+
struct measure_leaf {
	const struct expr_leaf *leaf;
	struct expr_object *objects; // those that it is about, now that all are known
	uint32_t n; // values: one for each object, or one for all of them
	uint32_t n_objects;
	bool open, closed;
	uint64_t from_ns, to_ns; // of the window at hand
	double *first, *first_per; // counters at from_ns
	struct sample_set *samples;
	struct watch *watches; // BY_WATCH
	struct level *levels; // BY_LEVEL
	uint64_t first_done; // operations that had finished before
	double *values; // of each object, after close
};

static bool leaf_samples(const struct measure_leaf *l)
{
	// What a flow carried while it was paired is counted from sample to sample.
	if (l->leaf->fn->every_sample)
		return true;
	return l->leaf->fn->method == BY_SAMPLE && l->leaf->stat.kind != STAT_NOW;
}

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

enum { MAX_METRICS = 64 };

struct text {
	struct sc_text source;
	const struct expr *e;
};

struct edge {
	uint64_t t_ns;
	uint32_t leaf;
	bool opens;
};

struct measure {
	const struct scenario *sc;
	struct arena arena;
	struct expr_names names;
	struct expr_set set;
	struct text *records, *expects, metrics[MAX_METRICS];
	uint32_t n_metrics;
	uint32_t n_recorded; // leaves of records: the first ones of the set
	// While it runs.
	struct metric_world world;
	struct measure_leaf *leaves; // by index in the set
	uint32_t n_leaves;
	struct edge *edges; // ascending
	uint32_t n_edges, next_edge, n_sampling;
	struct vtimer edge_timer, row_timer, sample_timer;
	uint64_t edge_turn, row_turn, sample_turn;
	bool started; // the timers are those of a clock
	int err; // the first that happened on the clock
	uint64_t end_ns;
	unsigned digits; // of texts
	// Histograms.
	struct histogram {
		const char *name;
		struct level level;
	} * histograms;
	uint32_t n_histograms;
	struct measure_series series;
	uint64_t cap_rows;
};

// ---- before the run

static void take_names(struct measure *m)
{
	const struct scenario *sc = m->sc;
	const char **hosts = arena_alloc(&m->arena, (sc->n_hosts + 1) * sizeof(*hosts));
	const char **flows = arena_alloc(&m->arena, (sc->n_flows + 1) * sizeof(*flows));
	const char **switches = arena_alloc(&m->arena, (sc->n_switches + 1) * sizeof(*switches));
	bool *endless = arena_alloc(&m->arena, (sc->n_flows + 1) * sizeof(*endless));
	uint32_t *n_ports = arena_alloc(&m->arena, (sc->n_switches + 1) * sizeof(*n_ports));

	for (uint32_t i = 0; i < sc->n_hosts; i++)
		hosts[i] = sc->hosts[i].name;
	for (uint32_t i = 0; i < sc->n_flows; i++) {
		flows[i] = sc->flows[i].label;
		endless[i] = flow_endless(&sc->flows[i]);
	}
	for (uint32_t i = 0; i < sc->n_switches; i++) {
		switches[i] = sc->switches[i].name;
		n_ports[i] = sc->switches[i].n_ports;
	}
	m->names = (struct expr_names){
		.hosts = hosts,
		.flows = flows,
		.switches = switches,
		.n_ports = n_ports,
		.endless = endless,
		.n_hosts = sc->n_hosts,
		.n_flows = sc->n_flows,
		.n_switches = sc->n_switches,
		.duration_ns = sc->duration_ns,
	};
}

static void parse_text(struct measure *m, const struct sc_text *source, enum expr_want want,
		       struct text *out)
{
	out->source = *source;
	out->e = expr_parse(&m->set, source->text, source->at, source->path, want);
}

static void parse_histograms(struct measure *m)
{
	static const struct expr_func fn = {.name = "histogram",
					    .kinds = OBJ_BIT(OBJ_SWITCH) | OBJ_BIT(OBJ_PORT) |
						     OBJ_BIT(OBJ_QUEUE)};
	uint32_t n_texts = m->sc->n_histograms, n = 0;
	struct expr_leaf *leaves = arena_alloc(&m->arena, (n_texts + 1) * sizeof(*leaves));

	for (uint32_t i = 0; i < n_texts; i++) {
		const struct sc_text *source = &m->sc->histograms[i];
		const char *why;

		leaves[i] = (struct expr_leaf){.fn = &fn};
		if (!expr_select(&m->set, &fn, source->text, &leaves[i], &why) &&
		    !m->names.incomplete)
			diag_add(m->set.sink, DIAG_ERROR, source->at, source->path, "%s", why);
		n += leaves[i].n_objects;
	}
	m->histograms = arena_alloc(&m->arena, (n + 1) * sizeof(*m->histograms));
	for (uint32_t i = 0; i < n_texts; i++)
		for (uint32_t k = 0; k < leaves[i].n_objects; k++)
			m->histograms[m->n_histograms++] =
				(struct histogram){.name = leaves[i].objects[k].name,
						   .level = metric_level(&leaves[i].objects[k])};
}

int measure_create(const struct scenario *sc, struct measure **out, struct diag_sink *s)
{
	struct measure *m = calloc(1, sizeof(*m));
	unsigned before = s->n_errors;
	uint32_t first;

	if (m == NULL)
		return -ENOMEM;
	m->sc = sc;
	m->digits = EXPR_DIGITS;
	take_names(m);
	m->names.incomplete =
		before != 0 && (sc->n_hosts == 0 || sc->n_switches == 0 || sc->n_flows == 0);
	m->set = (struct expr_set){.arena = &m->arena, .sink = s, .names = &m->names};
	m->records = arena_alloc(&m->arena, (sc->n_records + 1) * sizeof(*m->records));
	m->expects = arena_alloc(&m->arena, (sc->n_expects + 1) * sizeof(*m->expects));
	for (uint32_t i = 0; i < sc->n_records; i++) {
		const struct sc_text *source = &sc->records[i];
		bool windowed = false;

		first = m->set.n_leaves;
		parse_text(m, source, EXPR_VALUE, &m->records[i]);
		for (uint32_t k = first; k < m->set.n_leaves && m->records[i].e != NULL; k++)
			windowed |= m->set.leaves[k]->windowed;
		if (windowed)
			diag_add(s, DIAG_ERROR, source->at, source->path,
				 "what is recorded takes no window: each row is about the time "
				 "since the row before");
	}
	m->n_recorded = m->set.n_leaves;
	parse_histograms(m);
	for (uint32_t i = 0; i < sc->n_expects; i++)
		parse_text(m, &sc->expects[i], EXPR_CHECK, &m->expects[i]);
	m->set.sink = NULL;
	if (s->n_errors != before || m->names.incomplete) {
		measure_destroy(m);
		return -EINVAL;
	}
	*out = m;
	return 0;
}

// As many values as a leaf may have; how many connections a flow has is known when they are made.
static uint32_t most_of_leaf(const void *arg, uint32_t leaf)
{
	const struct expr_leaf *l = ((const struct measure *)arg)->set.leaves[leaf];
	const struct expr_object *first = l->objects;

	if (l->fn->method == BY_SET)
		return 1;
	return first->kind == OBJ_CONN && first->conn == UINT32_MAX ? UINT32_MAX : l->n_objects;
}

int measure_add_metric(struct measure *m, const char *text, struct diag_sink *s)
{
	const char *shown = schema_shown(&m->arena, text);
	const struct sc_text source = {
		.text = arena_text(&m->arena, text, strlen(text)),
		.at = {1, 1, arena_printf(&m->arena, "--metric '%s'", shown)}};
	struct text *t = &m->metrics[m->n_metrics];

	if (m->n_metrics == MAX_METRICS) {
		diag_add(s, DIAG_ERROR, source.at, NULL, "more than %d", MAX_METRICS);
		return -EINVAL;
	}
	m->set.sink = s;
	parse_text(m, &source, EXPR_VALUE, t);
	m->set.sink = NULL;
	if (t->e == NULL)
		return -EINVAL;
	if (expr_n(t->e, &(struct expr_env){.n = most_of_leaf, .arg = m}) > 1) {
		diag_add(s, DIAG_ERROR, source.at, NULL,
			 "is a list, and a metric is one value" CURE
			 "write max(%s), or min, sum, mean, jain or count of it",
			 shown);
		return -EINVAL;
	}
	m->n_metrics++;
	return 0;
}

void measure_set_digits(struct measure *m, unsigned digits)
{
	m->digits = digits;
}

static void forget_timers(struct measure *m)
{
	if (!m->started)
		return;
	vtimer_cancel(&m->edge_timer);
	vtimer_cancel(&m->row_timer);
	vtimer_cancel(&m->sample_timer);
}

void measure_destroy(struct measure *m)
{
	if (m == NULL)
		return;
	forget_timers(m);
	for (uint32_t i = 0; i < m->n_leaves; i++)
		for (uint32_t k = 0; k < m->leaves[i].n; k++)
			free(m->leaves[i].samples[k].runs);
	for (uint32_t i = 0; i < m->n_histograms; i++)
		level_fini(&m->histograms[i].level);
	if (m->world.fabric != NULL)
		metric_world_fini(&m->world);
	free(m->series.row_ns);
	free(m->series.values);
	arena_fini(&m->arena);
	free(m);
}

// ---- values

static uint32_t env_n(const void *arg, uint32_t leaf)
{
	const struct measure *m = arg;

	return m->leaves[leaf].n;
}

static double env_value(const void *arg, uint32_t leaf, uint32_t i)
{
	const struct measure *m = arg;

	return m->leaves[leaf].closed ? m->leaves[leaf].values[i] : __builtin_nan("");
}

static struct expr_env env_of(const struct measure *m)
{
	return (struct expr_env){.n = env_n, .value = env_value, .arg = m, .digits = m->digits};
}

// ---- columns

// "rate(h*)" for h1: "rate(h1)".
static const char *leaf_column(struct measure *m, const char *text, const struct expr_object *o)
{
	const char *open = strchr(text, '('), *end;
	bool inside = false;

	if (open == NULL || o->kind >= OBJ_ALL_HOSTS)
		return text;
	for (end = open; *end != '\0' && (inside || (*end != ',' && *end != ')')); end++)
		inside = *end == '[' || (inside && *end != ']');
	return arena_printf(&m->arena, "%.*s(%s%s", (int)(open - text), text, o->name, end);
}

static const char *column_name(struct measure *m, const struct text *t, uint32_t n, uint32_t i)
{
	const struct measure_leaf *l = &m->leaves[t->e->first_leaf];

	if (t->e->op == EX_LEAF && l->leaf->fn->method != BY_SET)
		return leaf_column(m, t->source.text, &l->objects[i]);
	if (n > 1 && l->n == n)
		return arena_printf(&m->arena, "%s: %s", t->source.text, l->objects[i].name);
	return t->source.text;
}

static int add_series_row(struct measure *m, uint64_t now_ns)
{
	struct measure_series *s = &m->series;
	struct expr_env env = env_of(m);
	double *row;

	if (s->n_rows == m->cap_rows) {
		uint64_t cap = m->cap_rows == 0 ? 256 : 2 * m->cap_rows;
		uint64_t *t = realloc(s->row_ns, cap * sizeof(*t));
		double *v;

		if (t == NULL)
			return -ENOMEM;
		s->row_ns = t;
		v = realloc(s->values, cap * s->n_columns * sizeof(*v));
		if (v == NULL)
			return -ENOMEM;
		s->values = v;
		m->cap_rows = cap;
	}
	s->row_ns[s->n_rows] = now_ns;
	row = &s->values[s->n_rows++ * s->n_columns];
	for (uint32_t c = 0; c < s->n_columns; c++)
		row[c] =
			expr_value(m->records[s->columns[c].record].e, s->columns[c].element, &env);
	return 0;
}

// ---- leaves

static void note_measure_error(struct measure *m, int err)
{
	if (m->err == 0)
		m->err = err;
}

static uint32_t conns_of(const struct expr_object *o, const struct metric_world *w)
{
	return o->kind == OBJ_CONN && o->conn == UINT32_MAX ? w->flows[o->node].n : 1;
}

// Finds the objects of a leaf: the hosts that * means, and connections: "name/*" becomes "name/1",
// "name/2", ...
static void leaf_bind(struct measure *m, struct measure_leaf *l, const struct expr_leaf *leaf)
{
	const struct metric_world *w = &m->world;
	uint32_t most = 0;
	size_t n;

	*l = (struct measure_leaf){.leaf = leaf};
	for (uint32_t i = 0; i < leaf->n_objects; i++)
		most += conns_of(&leaf->objects[i], w);
	l->objects = arena_alloc(&m->arena, (most + 1) * sizeof(*l->objects));
	for (uint32_t i = 0; i < leaf->n_objects; i++) {
		const struct expr_object *o = &leaf->objects[i];
		const char *slash = strrchr(o->name, '/');

		if (leaf->star && o->kind <= OBJ_HOST_CLASS &&
		    !metric_host_is(m->sc, o->node, leaf->fn->who))
			continue;
		for (uint32_t k = 0; k < conns_of(o, w); k++) {
			struct expr_object *to = &l->objects[l->n_objects++];

			*to = *o;
			if (o->kind != OBJ_CONN || o->conn != UINT32_MAX)
				continue;
			to->conn = k;
			to->name = arena_printf(&m->arena, "%.*s/%u", (int)(slash - o->name),
						o->name, k + 1);
		}
	}
	l->n = leaf->fn->method == BY_SET ? 1 : l->n_objects;
	n = l->n + 1;
	l->first = arena_alloc(&m->arena, n * sizeof(*l->first));
	l->first_per = arena_alloc(&m->arena, n * sizeof(*l->first_per));
	l->values = arena_alloc(&m->arena, n * sizeof(*l->values));
	l->samples = arena_alloc(&m->arena, n * sizeof(*l->samples));
	if (leaf->fn->method == BY_WATCH)
		l->watches = arena_alloc(&m->arena, n * sizeof(*l->watches));
	if (leaf->fn->method == BY_LEVEL)
		l->levels = arena_alloc(&m->arena, n * sizeof(*l->levels));
}

static double read_now(const struct measure *m, const struct measure_leaf *l, uint32_t i)
{
	return metric_read(&m->world, l->leaf, &l->objects[i]);
}

static void leaf_open(struct measure *m, struct measure_leaf *l, uint64_t now_ns)
{
	const struct expr_func *fn = l->leaf->fn;
	uint64_t step = m->sc->sample_ns;

	l->open = true;
	l->closed = false;
	l->from_ns = now_ns;
	l->first_done = traffic_n_done(m->world.traffic);
	for (uint32_t i = 0; i < l->n; i++) {
		sample_set_clear(&l->samples[i]);
		if (fn->method == BY_WATCH)
			metric_watch(&m->world, &l->objects[i], &l->watches[i]);
		if (fn->method == BY_LEVEL) {
			l->levels[i] = metric_level(&l->objects[i]);
			l->levels[i].above_bytes = l->leaf->bytes;
			level_begin(m->world.fabric, &l->levels[i]);
		}
		if (fn->method <= BY_LINE) // it counts
			l->first[i] = read_now(m, l, i);
		if (fn->method == BY_SHARE)
			l->first_per[i] = metric_read_per(&m->world, l->leaf, &l->objects[i]);
	}
	if (!leaf_samples(l) || step == 0)
		return;
	m->n_sampling++;
	if (!vtimer_is_set(&m->sample_timer))
		vtimer_set_turn(&m->sample_timer, (now_ns + step - 1) / step * step,
				m->sample_turn);
}

static double counted(const struct measure *m, const struct measure_leaf *l, uint32_t i)
{
	const struct expr_func *fn = l->leaf->fn;
	const struct expr_object *o = &l->objects[i];
	double grown = read_now(m, l, i) - l->first[i], per;
	double ns = (double)(l->to_ns - l->from_ns);

	if (fn->method == BY_COUNT)
		return grown;
	if (fn->method == BY_SHARE) {
		per = metric_read_per(&m->world, l->leaf, o) - l->first_per[i];
		return per == 0 ? no_value() : grown / per;
	}
	if (ns == 0)
		return no_value();
	grown = grown * BITS_PER_BYTE * SECOND_NS / ns;
	return fn->method == BY_LINE ? grown / metric_speed(&m->world, o) : grown;
}

// The value at the end of a window.
static double leaf_value(struct measure *m, struct measure_leaf *l, uint32_t i)
{
	const struct expr_func *fn = l->leaf->fn;
	const struct expr_object *o = &l->objects[i];
	bool keep = l->leaf->stat.kind == STAT_QUANTILE;
	uint64_t to_ns;

	switch ((enum expr_method)fn->method) {
	case BY_SAMPLE:
		// Where a window is shorter than a sample's distance, what is now stands for it.
		if (l->leaf->stat.kind == STAT_NOW || l->samples[i].n == 0)
			note_measure_error(m,
					   sample_set_add(&l->samples[i], read_now(m, l, i), keep));
		return sample_set_stat(&l->samples[i], l->leaf->stat);
	case BY_OPERATION:
		for (uint64_t k = l->first_done; k < traffic_n_done(m->world.traffic); k++) {
			const struct traffic_done *d = traffic_done(m->world.traffic, k);

			if (metric_operation_fits(&m->world, l->leaf, o, d))
				note_measure_error(
					m, sample_set_add(&l->samples[i],
							  metric_operation(&m->world, fn, d),
							  keep));
		}
		return sample_set_stat(&l->samples[i], l->leaf->stat);
	case BY_LEVEL:
		level_end(m->world.fabric, &l->levels[i]);
		return fn->level(&l->levels[i]);
	case BY_WATCH:
		return metric_watched(&l->watches[i]);
	case BY_SET:
		return metric_found(&m->world, fn, l->objects, l->n_objects, l->from_ns);
	case BY_STORM:
		// The end of the run is after everything.
		to_ns = l->leaf->to_ns < m->sc->duration_ns ? l->to_ns : UINT64_MAX;
		return metric_storm(&m->world, l->leaf, o, l->from_ns, to_ns);
	case BY_NOW:
		return read_now(m, l, i);
	default:
		return counted(m, l, i);
	}
}

static void leaf_close(struct measure *m, struct measure_leaf *l, uint64_t now_ns)
{
	if (!l->open)
		return;
	l->open = false;
	l->closed = true;
	l->to_ns = now_ns;
	for (uint32_t i = 0; i < l->n; i++)
		l->values[i] = leaf_value(m, l, i);
	if (leaf_samples(l) && m->sc->sample_ns != 0)
		m->n_sampling--;
}

// ---- on the clock

static void on_sample(void *arg, uint64_t now_ns)
{
	struct measure *m = arg;

	note_measure_error(m, metric_world_refresh(&m->world)); // connections that came since
	for (uint32_t k = 0; k < m->n_leaves && m->n_sampling != 0; k++) {
		struct measure_leaf *l = &m->leaves[k];

		for (uint32_t i = 0; i < l->n && l->open && leaf_samples(l); i++) {
			double v = read_now(m, l, i);

			// A share is only read: what it counts grows from sample to sample.
			if (l->leaf->fn->method != BY_SHARE)
				note_measure_error(
					m, sample_set_add(&l->samples[i], v,
							  l->leaf->stat.kind == STAT_QUANTILE));
		}
	}
	if (m->n_sampling != 0)
		vtimer_set_turn(&m->sample_timer, now_ns + m->sc->sample_ns, m->sample_turn);
}

static void on_edge(void *arg, uint64_t now_ns)
{
	struct measure *m = arg;

	note_measure_error(m, metric_world_refresh(&m->world));
	while (m->next_edge < m->n_edges && m->edges[m->next_edge].t_ns <= now_ns) {
		const struct edge *e = &m->edges[m->next_edge++];

		if (e->opens)
			leaf_open(m, &m->leaves[e->leaf], now_ns);
		else
			leaf_close(m, &m->leaves[e->leaf], now_ns);
	}
	if (m->next_edge < m->n_edges)
		vtimer_set_turn(&m->edge_timer, m->edges[m->next_edge].t_ns, m->edge_turn);
}

static void end_row(struct measure *m, uint64_t now_ns)
{
	note_measure_error(m, metric_world_refresh(&m->world));
	for (uint32_t i = 0; i < m->n_recorded; i++)
		leaf_close(m, &m->leaves[i], now_ns);
	note_measure_error(m, add_series_row(m, now_ns));
}

static void begin_row(struct measure *m, uint64_t now_ns)
{
	for (uint32_t i = 0; i < m->n_recorded; i++)
		leaf_open(m, &m->leaves[i], now_ns);
	if (now_ns + m->sc->record_every_ns < m->sc->duration_ns)
		vtimer_set_turn(&m->row_timer, now_ns + m->sc->record_every_ns, m->row_turn);
}

static void on_row(void *arg, uint64_t now_ns)
{
	end_row(arg, now_ns);
	begin_row(arg, now_ns);
}

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return x->leaf < y->leaf ? -1 : x->leaf > y->leaf;
}

int measure_start(struct measure *m, struct fabric *f, struct traffic *t)
{
	struct vclock *clock = &f->clock;
	struct expr_env env = env_of(m);
	int err = metric_world_init(&m->world, f, t);
	uint32_t n = 0;

	if (err != 0)
		return err;
	m->leaves = arena_alloc(&m->arena, (m->set.n_leaves + 1) * sizeof(*m->leaves));
	for (; m->n_leaves < m->set.n_leaves; m->n_leaves++)
		leaf_bind(m, &m->leaves[m->n_leaves], m->set.leaves[m->n_leaves]);
	// A window that ends with the run has no edge there: measure_finish closes it.
	m->edges = arena_alloc(&m->arena, (2 * (size_t)m->n_leaves + 1) * sizeof(*m->edges));
	for (uint32_t i = m->n_recorded; i < m->n_leaves; i++) {
		const struct expr_leaf *l = m->leaves[i].leaf;

		m->edges[m->n_edges++] = (struct edge){l->from_ns, i, true};
		if (l->to_ns < m->sc->duration_ns)
			m->edges[m->n_edges++] = (struct edge){l->to_ns, i, false};
	}
	qsort(m->edges, m->n_edges, sizeof(*m->edges), by_time);
	for (uint32_t r = 0; r < m->sc->n_records; r++)
		n += expr_n(m->records[r].e, &env);
	m->series.columns = arena_alloc(&m->arena, (n + 1) * sizeof(*m->series.columns));
	for (uint32_t r = 0; r < m->sc->n_records && m->sc->record_every_ns != 0; r++) {
		const struct expr *e = m->records[r].e;
		uint32_t each = expr_n(e, &env);

		for (uint32_t i = 0; i < each; i++)
			m->series.columns[m->series.n_columns++] = (struct measure_column){
				column_name(m, &m->records[r], each, i), expr_unit(e), r, i};
	}
	m->edge_turn = vclock_turn(clock);
	m->row_turn = vclock_turn(clock);
	m->sample_turn = vclock_turn(clock);
	vtimer_init(&m->edge_timer, clock, on_edge, m);
	vtimer_init(&m->row_timer, clock, on_row, m);
	vtimer_init(&m->sample_timer, clock, on_sample, m);
	m->started = true;
	for (uint32_t i = 0; i < m->n_histograms; i++) {
		struct level *l = &m->histograms[i].level;

		l->bin_bytes = m->sc->bin_bytes != 0
				       ? m->sc->bin_bytes
				       : m->world.fabric->switches[l->sw].in.policy->cell.bytes;
		level_begin(m->world.fabric, l);
	}
	on_edge(m, clock->now_ns);
	if (m->series.n_columns != 0)
		begin_row(m, clock->now_ns);
	return m->err;
}

int measure_finish(struct measure *m, uint64_t end_ns)
{
	m->end_ns = end_ns;
	forget_timers(m);
	note_measure_error(m, metric_world_refresh(&m->world));
	if (m->series.n_columns != 0 &&
	    (m->series.n_rows == 0 || m->series.row_ns[m->series.n_rows - 1] < end_ns))
		end_row(m, end_ns);
	for (uint32_t i = 0; i < m->n_histograms; i++) {
		level_end(m->world.fabric, &m->histograms[i].level);
		note_measure_error(m, m->histograms[i].level.out_of_memory ? -ENOMEM : 0);
	}
	for (uint32_t i = m->n_recorded; i < m->n_leaves; i++) {
		struct measure_leaf *l = &m->leaves[i];

		leaf_close(m, l, end_ns);
		// Control receives the events of storms a little later than they happen.
		for (uint32_t k = 0; k < l->n && l->closed && l->leaf->fn->method == BY_STORM; k++)
			l->values[k] = leaf_value(m, l, k);
	}
	return m->err;
}

// ---- afterwards

static bool is_known(const struct measure *m, const struct expr *e)
{
	bool ended = m->sc->until_done && traffic_all_done(m->world.traffic);
	uint64_t whole_ns = ended ? m->end_ns : m->sc->duration_ns;

	for (uint32_t i = e->first_leaf; i < e->first_leaf + e->n_leaves; i++) {
		uint64_t to_ns = m->set.leaves[i]->to_ns;

		if (to_ns == UINT64_MAX)
			to_ns = whole_ns;
		if (to_ns > m->end_ns)
			return false;
	}
	return true;
}

struct measure_verdict measure_expect(const struct measure *m, uint32_t i)
{
	const struct text *t = &m->expects[i];
	struct expr_env env = env_of(m);
	struct expr_verdict v = expr_check(t->e, &env);
	struct measure_verdict out = {.source = t->source,
				      .known = is_known(m, t->e),
				      .unit = expr_unit(t->e),
				      .value = v.worst};

	out.pass = v.pass && out.known;
	memcpy(out.measured, v.measured, sizeof(out.measured));
	memcpy(out.expected, v.expected, sizeof(out.expected));
	memcpy(out.tolerance, v.tolerance, sizeof(out.tolerance));
	return out;
}

uint32_t measure_n_metrics(const struct measure *m)
{
	return m->n_metrics;
}

// Of a list the first value: jain, mean, min and max make one of several.
struct measure_verdict measure_metric(const struct measure *m, uint32_t i)
{
	const struct text *t = &m->metrics[i];
	struct expr_env env = env_of(m);
	struct measure_verdict out = {.source = t->source,
				      .known = is_known(m, t->e),
				      .unit = expr_unit(t->e),
				      .value = __builtin_nan("")};

	if (expr_n(t->e, &env) != 0)
		out.value = expr_value(t->e, 0, &env);
	expr_print_digits(out.unit, out.value, m->digits, out.measured, sizeof(out.measured));
	return out;
}

uint32_t measure_n_histograms(const struct measure *m)
{
	return m->n_histograms;
}

const struct level *measure_histogram(const struct measure *m, uint32_t i, const char **name)
{
	*name = m->histograms[i].name;
	return &m->histograms[i].level;
}

const struct measure_series *measure_series(const struct measure *m)
{
	return &m->series;
}
