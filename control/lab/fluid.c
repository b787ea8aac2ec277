// SPDX-License-Identifier: Apache-2.0
#include "control/lab/fluid.h"

#include <complex.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/rows.h"
#include "control/base/terminal.h"
#include "control/lab/ideal.h"
#include "control/lab/lab.h"
#include "control/lab/measure.h"
#include "control/lab/report.h"
#include "control/lab/traffic.h"
#include "control/observe/columns.h"
#include "control/observe/frames.h"
#include "control/page/page.h"
#include "dataplane/policy.h"

enum { BISECTIONS = 200, SWEEP_PER_DECADE = 400, SWEEP_DECADES = 6 };
static const double smallest_p = 1e-9, lowest_hz = 1.0, longest_step_s = 1e-6;

double fluid_mark(const struct fluid_params *p, double q)
{
	if (q <= p->kmin)
		return 0;
	return q > p->kmax ? 1 : p->pmax * (q - p->kmin) / (p->kmax - p->kmin);
}

// The terms of the equations. All of them depend on p and a rate alone.
struct terms {
	double cnp; // share of CNP intervals with a mark
	double marked; // share of alpha intervals with a mark
	double byte_rate, timer_rate; // increases per second by bytes and by time
	double byte_ai, timer_ai; // of those, additive ones
};

// Chance that n packets hold a mark.
static double any(double p, double n)
{
	return -expm1(n * log1p(-p));
}

// p / ((1-p)^-n - 1): events "n packets without a mark", per packet. Tends to 1/n for small p.
static double runs(double p, double n)
{
	return p <= smallest_p ? 1 / n : p / expm1(-n * log1p(-p));
}

static struct terms terms_of(const struct fluid_params *f, double p, double rate)
{
	double per_timer = f->timer_s * rate;
	struct terms t = {.byte_rate = 0};

	// p is 1 above kmax: every interval has a mark and nothing increases.
	if (p >= 1)
		return (struct terms){.cnp = 1, .marked = 1};
	t.cnp = any(p, f->cnp_s * rate);
	t.marked = any(p, f->alpha_s * rate);
	t.byte_rate = rate * runs(p, f->byte_packets);
	t.timer_rate = rate * runs(p, per_timer);
	t.byte_ai = t.byte_rate * pow(1 - p, f->fast_steps * f->byte_packets);
	t.timer_ai = t.timer_rate * pow(1 - p, f->fast_steps * per_timer);
	return t;
}

// Derivatives of alpha, RT and RC. p and delayed_rc are those of a loop delay ago.
struct slope {
	double alpha, rt, rc;
};

static struct slope slope_of(const struct fluid_params *f, const struct fluid_state *s, double p,
			     double delayed_rc)
{
	struct terms t = terms_of(f, p, delayed_rc);

	return (struct slope){
		.alpha = f->g / f->alpha_s * (t.marked - s->alpha),
		.rt = -(s->rt - s->rc) / f->cnp_s * t.cnp + f->ai_pps * (t.byte_ai + t.timer_ai),
		.rc = -s->rc * s->alpha / (2 * f->cnp_s) * t.cnp +
		      (s->rt - s->rc) / 2 * (t.byte_rate + t.timer_rate),
	};
}

// With alpha and RT at rest for this p: how fast RC would change. Falls as p grows.
static double drift(const struct fluid_params *f, double p, struct fluid_state *s)
{
	struct terms t = terms_of(f, p, s->rc);

	s->alpha = t.marked;
	s->rt = s->rc + f->ai_pps * (t.byte_ai + t.timer_ai) * f->cnp_s / t.cnp;
	return slope_of(f, s, p, s->rc).rc;
}

// ---- stability: the loop cut open at p, its answer at one frequency

struct jacobian {
	double by_alpha[3], by_rt[3], by_rc[3], by_delayed_rc[3], by_p[3]; // of alpha, RT, RC
};

static void difference(double out[3], struct slope hi, struct slope lo, double width)
{
	out[0] = (hi.alpha - lo.alpha) / width;
	out[1] = (hi.rt - lo.rt) / width;
	out[2] = (hi.rc - lo.rc) / width;
}

static struct jacobian jacobian_of(const struct fluid_params *f, const struct fluid_state *s,
				   double p)
{
	struct jacobian j;
	double ha = s->alpha * 1e-4, hr = s->rc * 1e-4, hp = p * 1e-4;
	struct fluid_state hi = *s, lo = *s;

	hi.alpha += ha, lo.alpha -= ha;
	difference(j.by_alpha, slope_of(f, &hi, p, s->rc), slope_of(f, &lo, p, s->rc), 2 * ha);
	hi = lo = *s;
	hi.rt += hr, lo.rt -= hr;
	difference(j.by_rt, slope_of(f, &hi, p, s->rc), slope_of(f, &lo, p, s->rc), 2 * hr);
	hi = lo = *s;
	hi.rc += hr, lo.rc -= hr;
	difference(j.by_rc, slope_of(f, &hi, p, s->rc), slope_of(f, &lo, p, s->rc), 2 * hr);
	difference(j.by_delayed_rc, slope_of(f, s, p, s->rc + hr), slope_of(f, s, p, s->rc - hr),
		   2 * hr);
	difference(j.by_p, slope_of(f, s, p + hp, s->rc), slope_of(f, s, p - hp, s->rc), 2 * hp);
	return j;
}

// det of the 3x3 matrix with columns a, b, c.
static double complex det3(const double complex a[3], const double complex b[3],
			   const double complex c[3])
{
	return a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) +
	       c[0] * (a[1] * b[2] - a[2] * b[1]);
}

// Loop gain at w rad/s: p -> RC -> queue -> p, with the minus of a feedback that is negative.
static double complex loop_gain(const struct fluid_params *f, const struct jacobian *j, double w)
{
	double complex s = I * w, late = cexp(-s * f->delay_s), a[3], b[3], c[3], d[3];
	double slope = f->pmax / (f->kmax - f->kmin);

	// (sI - A) x = d, x = (alpha, RT, RC); RC by Cramer's rule.
	for (unsigned i = 0; i < 3; i++) {
		a[i] = (i == 0 ? s : 0) - j->by_alpha[i];
		b[i] = (i == 1 ? s : 0) - j->by_rt[i];
		c[i] = (i == 2 ? s : 0) - j->by_rc[i] - j->by_delayed_rc[i] * late;
		d[i] = j->by_p[i] * late;
	}
	return -slope * f->n_flows / s * det3(a, b, d) / det3(a, b, c);
}

// Phase margin at the last frequency where the gain falls through one.
static void find_margin(const struct fluid_params *f, const struct fluid_state *s,
			struct fluid_point *out)
{
	struct jacobian j = jacobian_of(f, s, out->p);
	double complex before = 0;
	double turn = 0;

	for (unsigned i = 0; i <= SWEEP_PER_DECADE * SWEEP_DECADES; i++) {
		double hz = lowest_hz * pow(10, (double)i / SWEEP_PER_DECADE);
		double complex gain = loop_gain(f, &j, 2 * M_PI * hz);

		// The phase is followed from step to step: a delay turns it many times round.
		turn += i == 0 ? carg(gain) : carg(gain / before);
		if (i != 0 && cabs(before) >= 1 && cabs(gain) < 1) {
			out->crossover_hz = hz;
			out->margin_deg = 180 + turn * 180 / M_PI;
		}
		before = gain;
	}
}

struct fluid_point fluid_fixed_point(const struct fluid_params *f)
{
	struct fluid_state s = {.rc = f->capacity_pps / f->n_flows};
	struct fluid_point out = {.rc = s.rc, .margin_deg = 180};
	double lo = smallest_p, hi = 1 - smallest_p;

	for (unsigned i = 0; i < BISECTIONS; i++) {
		double mid = sqrt(lo * hi);

		if (drift(f, mid, &s) > 0)
			lo = mid;
		else
			hi = mid;
	}
	out.p = lo;
	drift(f, out.p, &s);
	out.alpha = s.alpha;
	out.rt = s.rt;
	out.q = f->kmin + out.p / f->pmax * (f->kmax - f->kmin);
	out.found = out.p <= f->pmax && s.rc > f->min_pps;
	if (out.found)
		find_margin(f, &s, &out);
	return out;
}

// ---- the trajectory

static double clamp(double v, double lo, double hi)
{
	return fmin(fmax(v, lo), hi);
}

int fluid_run(const struct fluid_params *f, double until_s, double every_s, double step_s,
	      void (*each)(void *arg, const struct fluid_state *s), void *arg)
{
	struct fluid_state s = {.alpha = 1, .rt = f->capacity_pps, .rc = f->capacity_pps};
	double next_s = 0, *p, *rc; // of the last n steps, rings
	unsigned n = 1;

	if (step_s <= 0)
		step_s = fmin(fmin(f->timer_s, fmin(f->cnp_s, f->alpha_s)) / 50, longest_step_s);
	if (f->delay_s > step_s)
		n = (unsigned)(f->delay_s / step_s + 0.5);
	p = calloc(2 * (size_t)n, sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	rc = p + n;
	for (unsigned i = 0; i < n; i++)
		rc[i] = f->capacity_pps;
	for (uint64_t i = 0; (s.t_s = (double)i * step_s) <= until_s; i++) {
		unsigned at = (unsigned)(i % n);
		struct slope d = slope_of(f, &s, p[at], rc[at]);

		if (s.t_s >= next_s) {
			each(arg, &s);
			next_s += every_s;
		}
		p[at] = fluid_mark(f, s.q);
		rc[at] = s.rc;
		s.q = fmax(0, s.q + (f->n_flows * s.rc - f->capacity_pps) * step_s);
		s.alpha = clamp(s.alpha + d.alpha * step_s, 0, 1);
		s.rt = clamp(s.rt + d.rt * step_s, f->min_pps, f->capacity_pps);
		s.rc = clamp(s.rc + d.rc * step_s, f->min_pps, f->capacity_pps);
	}
	free(p);
	return 0;
}

// ---- the command
// `weir-lab fluid`: the fluid model of the busiest port to a host in a scenario, beside a packet
// run of the same scenario. Flows count when they are endless, obey CNPs by the paper's rules and
// end at that host in the same class.

enum { ROWS = 1000, NAME = 80, TEXT = NAME + 16, FRAME_HEADERS = 58, CLASSES = 8, TITLE = 200 };
static const double ns_per_s = 1e9;

// The lines of the comparison.
enum { ROW_QUEUE, ROW_MARKED, ROW_RATE, ROW_ALPHA, N_ROWS };
static const struct {
	const char *what, *key;
	enum expr_unit unit;
} rows[N_ROWS] = {
	[ROW_QUEUE] = {"queue", "queue_bytes", EXPR_BYTES},
	[ROW_MARKED] = {"marked", "marked", EXPR_SHARE},
	[ROW_RATE] = {"rate of a flow", "rate_bps", EXPR_RATE},
	[ROW_ALPHA] = {"alpha", "alpha", EXPR_COUNT},
};

struct curve {
	double x[ROWS + 1], queue[ROWS + 1], rate[ROWS + 1];
	uint64_t n;
};

struct fluid_job {
	struct scenario *sc;
	struct fabric *fabric;
	struct traffic *traffic;
	struct measure *measure;
	// The bottleneck.
	uint32_t dst, sw, port, queue, src, n_flows;
	const struct lab_flow *flow, *counted;
	uint32_t *n_to; // flows by host and class
	uint8_t cls;
	char name[NAME]; // "s1.p9.3"
	struct sc_text records[3];
	char record_text[3][TEXT];

	struct fluid_params p;
	double frame_bytes, line_bytes, speed_bps, duration_s;
	struct fluid_point point;
	struct curve fluid, packets;
	// By row; NAN: nothing to say. Of the model and the packets: means of the second half.
	double at_rest[N_ROWS], of_fluid[N_ROWS], of_packets[N_ROWS];
	uint64_t n_late; // steps of the model in the second half
};

static int report_fluid_error(const struct fluid_job *j, const char *what)
{
	fprintf(stderr, "weir-lab fluid: %s: %s\n", j->sc->file, what);
	return LAB_MISUSED;
}

// ---- the bottleneck

static bool obeys(const struct fluid_job *j, const struct lab_flow *f, uint32_t src)
{
	const struct cc_config *cc = &j->sc->hosts[src].nic.cc;

	return f->cc.n != 0 && !flow_is_tcp(f) && cc->flavour == CC_PAPER &&
	       cc->rp_classes >> f->cls.n & 1;
}

static int count_flows(void *arg, uint32_t src, uint32_t dst)
{
	struct fluid_job *j = arg;
	const struct lab_flow *f = j->counted;
	uint32_t *n = &j->n_to[dst * CLASSES + (uint32_t)f->cls.n];

	if (!obeys(j, f, src))
		return 0;
	*n += (uint32_t)f->qps.n;
	if (*n > j->n_flows) {
		j->n_flows = *n;
		j->dst = dst;
		j->src = src;
		j->cls = (uint8_t)f->cls.n;
		j->flow = f;
	}
	return 0;
}

static int find_bottleneck(struct fluid_job *j)
{
	const struct sc_link *l;

	j->n_to = arena_alloc(j->sc->arena, (size_t)j->sc->n_hosts * CLASSES * sizeof(*j->n_to));
	for (uint32_t i = 0; i < j->sc->n_flows; i++) {
		const struct lab_flow *f = j->counted = &j->sc->flows[i];

		if (flow_pattern(f) == PATTERN_EACH && f->size_kind == SIZE_UNLIMITED)
			flow_each_pair(f, count_flows, j);
	}
	if (j->n_flows == 0)
		return report_fluid_error(
			j, "no endless flow obeys DCQCN by the paper's rules (nic: {cc: "
			   "paper}), and the model has only such flows: --senders 8 "
			   "puts eight of them into one port, in place of messages");
	l = &j->sc->links[j->sc->hosts[j->dst].link];
	if (!l->end[0].is_switch && !l->end[1].is_switch)
		return report_fluid_error(j, "the hosts are joined without a switch");
	j->sw = l->end[l->end[0].is_switch ? 0 : 1].node;
	j->port = l->end[l->end[0].is_switch ? 0 : 1].port;
	j->speed_bps = (double)l->speed_bps;
	return LAB_DONE;
}

static int find_params(struct fluid_job *j)
{
	const struct policy_port *pp = &j->fabric->switches[j->sw].in.policy->ports[j->port];
	const struct wred_params *w;
	const struct wred_curve *c;
	const struct cc_config *cc = &j->sc->hosts[j->src].nic.cc;
	struct ideal_path path = {0};
	struct ideal *ideal;

	j->queue = pp->classify.class_to_queue[j->cls];
	w = &pp->queue[j->queue].wred;
	c = &w->curve[GREEN];
	snprintf(j->name, sizeof(j->name), "%s.p%" PRIu32 ".%" PRIu32, j->sc->switches[j->sw].name,
		 j->port + 1, j->queue);
	if (!w->enabled || !w->ecn || c->kmax_bytes <= c->kmin_bytes)
		return report_fluid_error(
			j, "its busiest queue does not mark by a curve (wred: ecn: on, kmin below "
			   "kmax)");
	j->duration_s = (double)j->sc->duration_ns / ns_per_s;
	j->frame_bytes = j->flow->payload + FRAME_HEADERS;
	j->line_bytes = j->frame_bytes + (double)LINK_OVERHEAD_BYTES;
	j->p = (struct fluid_params){
		.n_flows = j->n_flows,
		.capacity_pps = j->speed_bps / 8 / j->line_bytes,
		.kmin = (double)c->kmin_bytes / j->frame_bytes,
		.kmax = (double)c->kmax_bytes / j->frame_bytes,
		.pmax = (double)c->pmax_q32 / 4294967296.0,
		.g = (double)cc->g_num / cc->g_den,
		.cnp_s = (double)cc->np_gap_ns / ns_per_s,
		.alpha_s = (double)cc->alpha_ns / ns_per_s,
		.timer_s = (double)cc->increase_ns / ns_per_s,
		.byte_packets = (double)cc->byte_budget / j->frame_bytes,
		.fast_steps = (double)cc->fast,
		.ai_pps = (double)cc->ai_bps / 8 / j->line_bytes,
		.min_pps = (double)cc->rmin_bps / 8 / j->line_bytes,
	};
	if (cc->np_gap_ns == 0)
		return report_fluid_error(
			j, "its receivers send a CNP per mark, which the model does not know");
	// There and back: a mark goes to the receiver, a CNP to the sender, its data to the queue.
	if (ideal_create(j->sc, &ideal) != 0)
		return report_fluid_error(j, "there is not enough memory");
	ideal_find(ideal, j->src, j->dst, &path);
	ideal_destroy(ideal);
	for (uint32_t l = 0; l < path.n; l++)
		j->p.delay_s += (2 * (double)path.links[l].delay_ns +
				 j->line_bytes * 8 * ns_per_s / (double)path.links[l].speed_bps);
	j->p.delay_s /= ns_per_s;
	return LAB_DONE;
}

// ---- both runs

static double rate_of(const struct fluid_job *j, double pps)
{
	return pps * 8 * j->line_bytes;
}

static void fluid_step(void *arg, const struct fluid_state *s)
{
	struct fluid_job *j = arg;
	struct curve *c = &j->fluid;
	const double v[N_ROWS] = {s->q * j->frame_bytes, fluid_mark(&j->p, s->q),
				  rate_of(j, s->rc), s->alpha};

	if (c->n <= ROWS) {
		c->x[c->n] = s->t_s * ns_per_s;
		c->queue[c->n] = v[ROW_QUEUE];
		c->rate[c->n++] = v[ROW_RATE];
	}
	if (s->t_s < j->duration_s / 2)
		return;
	for (unsigned i = 0; i < N_ROWS; i++)
		j->of_fluid[i] += v[i];
	j->n_late++;
}

static int run_fluid(struct fluid_job *j)
{
	const struct fluid_point *p = &j->point;

	j->point = fluid_fixed_point(&j->p);
	if (fluid_run(&j->p, j->duration_s, j->duration_s / ROWS, 0, fluid_step, j) != 0)
		return report_fluid_error(j, "there is not enough memory for so long a loop");
	for (unsigned i = 0; i < N_ROWS; i++) {
		const double at_rest[N_ROWS] = {p->q * j->frame_bytes, p->p, rate_of(j, p->rc),
						p->alpha};

		j->at_rest[i] = p->found ? at_rest[i] : NAN;
		j->of_fluid[i] /= j->n_late != 0 ? (double)j->n_late : 1;
		j->of_packets[i] = NAN;
	}
	return LAB_DONE;
}

// Mean of a column over the second half.
static double late_mean(const struct fluid_job *j, uint32_t column)
{
	const struct measure_series *s = measure_series(j->measure);
	double sum = 0, n = 0;

	for (uint64_t r = 0; r < s->n_rows; r++) {
		double v = s->values[r * s->n_columns + column];

		if (s->row_ns[r] * 2 <= j->sc->duration_ns || isnan(v))
			continue;
		sum += v;
		n++;
	}
	return n > 0 ? sum / n : NAN;
}

static int run_packets(struct fluid_job *j)
{
	const struct measure_series *s = measure_series(j->measure);
	struct curve *c = &j->packets;

	if (traffic_start(j->traffic, j->fabric) != 0 ||
	    measure_start(j->measure, j->fabric, j->traffic) != 0 ||
	    fabric_run_until(j->fabric, j->sc->duration_ns) != 0 ||
	    measure_finish(j->measure, j->sc->duration_ns) != 0)
		return report_fluid_error(j, "there is not enough memory for the packet run");
	j->of_packets[ROW_QUEUE] = late_mean(j, 0);
	j->of_packets[ROW_MARKED] = late_mean(j, 1);
	j->of_packets[ROW_RATE] = late_mean(j, 2) / j->n_flows;
	for (uint64_t r = 0; r < s->n_rows && r <= ROWS; r++) {
		c->x[r] = (double)s->row_ns[r];
		c->queue[r] = s->values[r * s->n_columns];
		c->rate[r] = s->values[r * s->n_columns + 2] / j->n_flows;
		c->n = r + 1;
	}
	return LAB_DONE;
}

// ---- the report

static void print_table(const struct fluid_job *j)
{
	char text[TITLE], frame[EXPR_VALUE_LEN], speed[EXPR_VALUE_LEN];

	expr_print(EXPR_BYTES, j->frame_bytes, frame, sizeof(frame));
	expr_print(EXPR_RATE, j->speed_bps, speed, sizeof(speed));
	terminal_printf(stdout,
			"%s: queue %s, %" PRIu32 " flows, %sbps, frames of %s, a loop of %.1f us\n"
			"\n",
			j->sc->name, j->name, j->n_flows, speed, frame, j->p.delay_s * 1e6);
	printf("%-14s  %14s  %14s  %14s\n", "", "fixed point", "fluid model", "packet run");
	for (unsigned i = 0; i < N_ROWS; i++) {
		const double v[] = {j->at_rest[i], j->of_fluid[i], j->of_packets[i]};

		printf("%-14s", rows[i].what);
		for (unsigned k = 0; k < 3; k++) {
			expr_print(rows[i].unit, v[k], text, sizeof(text));
			printf("  %14s", isnan(v[k]) ? "-" : text);
		}
		putchar('\n');
	}
	if (!j->point.found)
		snprintf(text, sizeof(text),
			 "no fixed point: %" PRIu32 " flows would need %.2f %% of the frames "
			 "marked, the curve ends at %.2f %%; the queue goes to kmax",
			 j->n_flows, j->point.p * 100, j->p.pmax * 100);
	else
		snprintf(text, sizeof(text), "phase margin %.0f degrees at %.0f Hz: the loop %s",
			 j->point.margin_deg, j->point.crossover_hz,
			 j->point.margin_deg > 0 ? "settles" : "oscillates");
	terminal_printf(stdout,
			"\n%s.\nModel and packets: means of the second half of %.0f ms.\n", text,
			j->duration_s * 1e3);
}

static struct json_object *json_number_or_null(double v)
{
	char text[32];

	if (isnan(v))
		return NULL;
	snprintf(text, sizeof(text), "%.6g", v);
	return json_object_new_double_s(strtod(text, NULL), text);
}

static struct json_object *to_json(const struct fluid_job *j)
{
	struct json_object *o = json_object_new_object(), *row;

	json_object_object_add(o, "scenario", json_object_new_string(j->sc->name));
	json_object_object_add(o, "queue", json_object_new_string(j->name));
	json_object_object_add(o, "flows", json_object_new_int64(j->n_flows));
	json_object_object_add(o, "loop_delay_ns", json_number_or_null(j->p.delay_s * ns_per_s));
	json_object_object_add(o, "fixed_point", json_object_new_boolean(j->point.found));
	if (j->point.found) {
		json_object_object_add(o, "phase_margin_degrees",
				       json_number_or_null(j->point.margin_deg));
		json_object_object_add(o, "crossover_hz",
				       json_number_or_null(j->point.crossover_hz));
	}
	for (unsigned i = 0; i < N_ROWS; i++) {
		row = json_object_new_object();
		json_object_object_add(row, "fixed_point", json_number_or_null(j->at_rest[i]));
		json_object_object_add(row, "fluid", json_number_or_null(j->of_fluid[i]));
		json_object_object_add(row, "packets", json_number_or_null(j->of_packets[i]));
		json_object_object_add(o, rows[i].key, row);
	}
	return o;
}

static void put_numbers(const char *key, const double *v, uint64_t n, FILE *out)
{
	fprintf(out, "\"%s\": [", key);
	for (uint64_t i = 0; i < n; i++) {
		fputs(i == 0 ? "" : ",", out);
		frames_number(v[i], out);
	}
	fputc(']', out);
}

static void put_line(const char *name, const struct curve *c, bool rates, FILE *out)
{
	fprintf(out, "{\"name\": \"%s\", ", name);
	put_numbers("x", c->x, c->n, out);
	fputs(", ", out);
	put_numbers("y", rates ? c->rate : c->queue, c->n, out);
	fputc('}', out);
}

static void put_plot(const struct fluid_job *j, bool rates, FILE *out)
{
	char title[TITLE];

	snprintf(title, sizeof(title), "%s of %s", rates ? "rates" : "queue", j->name);
	fputs("{\"title\": ", out);
	columns_text(title, out);
	fprintf(out,
		", \"x\": {\"what\": \"time\", \"unit\": \"ns\"}, \"y\": {\"what\": \"%s\", "
		"\"unit\": \"%s\"},\n\"series\": [",
		rates ? "rate of a flow" : "queue", rates ? "bps" : "bytes");
	put_line("packet run", &j->packets, rates, out);
	fputs(",\n", out);
	put_line("fluid model", &j->fluid, rates, out);
	fputs("]}", out);
}

// The page: two plots. 0, -ENOMEM.
static int put_page(const struct fluid_job *j, FILE *out)
{
	char *data = NULL;
	size_t len;
	FILE *f = open_memstream(&data, &len);

	if (f == NULL)
		return -ENOMEM;
	fputs("{\"kind\": \"weir-plots\", \"title\": ", f);
	columns_text(j->sc->name, f);
	fputs(", \"plots\": [", f);
	put_plot(j, false, f);
	fputs(",\n", f);
	put_plot(j, true, f);
	fputs("]}\n", f);
	fclose(f);
	page_write(data, out);
	free(data);
	return 0;
}

static int publish_fluid_job(const struct fluid_job *j, const struct lab_args *a)
{
	static const char *const files[] = {"fluid.json", "report.html"};
	struct json_object *o = to_json(j);
	const char *json = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY);
	int err = 0;

	if (a->json)
		puts(json);
	else
		print_table(j);
	for (unsigned i = 0; a->out != NULL && i < N(files) && err == 0; i++) {
		FILE *out = report_create(a->out, files[i]);
		int end;

		if (out == NULL) {
			err = -errno;
			break;
		}
		if (i == 0)
			fprintf(out, "%s\n", json);
		else
			err = put_page(j, out);
		end = report_finish(out);
		err = err != 0 ? err : end;
	}
	if (err != 0)
		fprintf(stderr, "weir-lab fluid: %s: cannot write the report: %s\n", a->out,
			strerror(-err));
	else if (a->out != NULL)
		report_say(a->out, "report.html");
	json_object_put(o);
	return err != 0 ? LAB_FAILED : LAB_DONE;
}

// ---- the scenario

// Hosts that take part in a flow, each once, but the one that is to receive.
static uint32_t pick_senders(const struct fluid_job *j, const struct lab_flow *f, uint32_t *out)
{
	const uint32_t *lists[] = {f->src, f->dst}, n[] = {f->n_src, f->n_dst};
	uint32_t n_out = 0;

	for (unsigned k = 0; k < 2; k++)
		for (uint32_t i = 0; i < n[k]; i++) {
			uint32_t host = lists[k][i];
			bool seen = host == f->dst[0] || !obeys(j, f, host);

			for (uint32_t s = 0; s < n_out; s++)
				seen |= out[s] == host;
			if (!seen)
				out[n_out++] = host;
		}
	return n_out;
}

// The scenario anew, with n endless flows of the hosts of its first flow that obeys CNPs into one
// port. A number that its hosts cannot share evenly is refused.
static int load_senders(struct fluid_job *j, const struct lab_args *a, struct diags *d)
{
	enum { N_MORE_SETS = 4 };
	struct arena arena = {0};
	struct sc_set *sets = arena_alloc(&arena, (a->n_sets + N_MORE_SETS) * sizeof(*sets));
	uint32_t *hosts = arena_alloc(&arena, j->sc->n_hosts * sizeof(*hosts)), n = 0;
	const struct lab_flow *f = NULL;
	const char *names = "";
	int code = LAB_MISUSED;

	for (uint32_t i = 0; n == 0 && i < j->sc->n_flows; i++) {
		f = &j->sc->flows[i];
		n = flow_is_tcp(f) ? 0 : pick_senders(j, f, hosts);
	}
	n = n > a->senders ? a->senders : n;
	for (uint32_t i = 0; i < n; i++)
		names = arena_printf(&arena, "%s%s%s", names, i != 0 ? ", " : "",
				     j->sc->hosts[hosts[i]].name);
	if (n == 0) {
		report_fluid_error(
			j, "no host of its flows obeys DCQCN by the paper's rules (nic: {cc: "
			   "paper}), and the model has only such hosts");
	} else if (a->senders % n != 0) {
		fprintf(stderr, "weir-lab fluid: --senders: %u flows cannot be shared evenly by "
			"%" PRIu32 " hosts: give a multiple of it, or fewer\n", a->senders, n);
	} else {
		const struct sc_set more[N_MORE_SETS] = {
			{"flows", arena_printf(&arena,
					       "[{from: [%s], to: %s, class: %u, dscp: %u, "
					       "qps: %" PRIu32 "}]",
					       names, j->sc->hosts[f->dst[0]].name,
					       (unsigned)f->cls.n, flow_dscp(f), a->senders / n)},
			{"faults", "[]"},
			{"record", "{what: []}"},
			{"expect", "[]"}};

		memcpy(sets, a->sets, a->n_sets * sizeof(*sets));
		memcpy(sets + a->n_sets, more, sizeof(more));
		scenario_destroy(j->sc);
		j->sc = NULL;
		diags_fini(d);
		*d = (struct diags){0};
		if (scenario_load(a->files[0], sets, a->n_sets + N_MORE_SETS, &j->sc, d) == 0)
			code = LAB_DONE;
	}
	arena_fini(&arena);
	return code;
}

// A scenario whose policies compile, made but not started. Only what the comparison needs is
// recorded, and nothing is expected.
static int prepare_fluid_job(struct fluid_job *j, struct diags *d)
{
	static const char *const what[] = {"queue", "mark_share", "rate"};
	struct diag_sink s = {.file = j->sc->file, .document = "scenario"};
	struct fabric_hooks hooks;
	int code;

	if (traffic_create(j->sc, &j->traffic) != 0)
		return report_fluid_error(j, "there is not enough memory");
	traffic_hooks(j->traffic, &hooks);
	if (fabric_create(j->sc, &hooks, &j->fabric, d) != 0)
		return LAB_MISUSED;
	code = traffic_check(j->traffic, j->fabric, &s) == 0 ? find_bottleneck(j) : LAB_MISUSED;
	if (code == LAB_DONE)
		code = find_params(j);
	for (unsigned i = 0; i < N(what); i++) {
		snprintf(j->record_text[i], TEXT, "%s(%s)", what[i], j->name);
		j->records[i] = (struct sc_text){.text = j->record_text[i]};
	}
	j->sc->records = j->records;
	j->sc->n_records = N(what);
	j->sc->n_expects = 0;
	j->sc->record_every_ns = (j->sc->duration_ns + ROWS - 1) / ROWS;
	if (code == LAB_DONE && measure_create(j->sc, &j->measure, &s) != 0)
		code = LAB_MISUSED;
	diag_finish(&s, d);
	return code;
}

int lab_fluid(const struct lab_args *a)
{
	struct fluid_job *j = calloc(1, sizeof(*j));
	struct diags d = {0};
	int code = LAB_DONE;

	if (j == NULL || a->n_files != 1) {
		fputs("weir-lab fluid: name one scenario file\n", stderr);
		free(j);
		return LAB_MISUSED;
	}
	if (scenario_load(a->files[0], a->sets, a->n_sets, &j->sc, &d) != 0)
		code = LAB_MISUSED;
	else if (j->sc->until_done)
		code = report_fluid_error(
			j, "the curves are of a fixed time: give a `duration` in place of `until`");
	else if (a->senders != 0)
		code = load_senders(j, a, &d);
	if (code == LAB_DONE)
		code = prepare_fluid_job(j, &d);
	diags_print(&d);
	diags_fini(&d);
	if (code == LAB_DONE && !lab_can_write(a->out))
		code = LAB_MISUSED;
	if (code == LAB_DONE)
		code = run_fluid(j);
	if (code == LAB_DONE)
		code = run_packets(j);
	if (code == LAB_DONE)
		code = publish_fluid_job(j, a);
	measure_destroy(j->measure);
	traffic_destroy(j->traffic);
	fabric_destroy(j->fabric);
	scenario_destroy(j->sc);
	free(j);
	return code;
}
