// SPDX-License-Identifier: Apache-2.0
#include "control/microbursts/burstlog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/switch.h"
#include "dataplane/switch_microbursts.h"

enum { AT_ONCE = 256, AT_MOST = 65536, N_HIGH = BURSTLOG_PEAK_S + 1 };

struct part {
	uint64_t next; // number of the first window that is not known yet
	uint64_t burst; // that the window before is in; 0: none. Burst n is at (n - 1) % KEPT
	struct burst_counts counts, base;
	struct {
		uint64_t second, bytes;
	} high[N_HIGH]; // by second
	uint32_t peak[BURSTLOG_WINDOWS]; // by number of the window
};

struct burstlog {
	struct microburst_params params; // of the policy
	uint64_t now_ns; // switch time of the last poll
	uint64_t total;
	struct burst kept[BURSTLOG_KEPT];
	unsigned n_ports;
	struct part parts[]; // [port][part]
};

int burstlog_create(unsigned n_ports, struct burstlog **out)
{
	struct burstlog *l =
		calloc(1, sizeof(*l) + n_ports * MICROBURST_PARTS * sizeof(l->parts[0]));

	if (l == NULL)
		return -ENOMEM;
	l->n_ports = n_ports;
	*out = l;
	return 0;
}

void burstlog_destroy(struct burstlog *l)
{
	free(l);
}

static struct part *part_of(struct burstlog *l, unsigned port, unsigned part)
{
	return &l->parts[port * MICROBURST_PARTS + part];
}

static const struct part *part_at(const struct burstlog *l, unsigned port, unsigned part)
{
	return &l->parts[port * MICROBURST_PARTS + part];
}

static void fill_window_peaks(struct part *p, uint64_t from, uint64_t to, uint32_t peak)
{
	if (to - from > BURSTLOG_WINDOWS)
		from = to - BURSTLOG_WINDOWS;
	for (; from < to; from++)
		p->peak[from % BURSTLOG_WINDOWS] = peak;
}

static void raise_high(struct part *p, uint64_t second, uint64_t bytes)
{
	unsigned i = (unsigned)(second % N_HIGH);

	if (p->high[i].second != second) {
		p->high[i].second = second;
		p->high[i].bytes = 0;
	}
	p->high[i].bytes = max_u64(p->high[i].bytes, bytes);
}

static void begin_burst(struct burstlog *l, struct part *p, const struct microburst_record *r,
			const struct burst_clock *now)
{
	uint64_t ago_ns = now->switch_ns > r->t_ns ? now->switch_ns - r->t_ns : 0;

	l->kept[l->total++ % BURSTLOG_KEPT] = (struct burst){
		.t_ns = r->t_ns, .port = r->port, .part = r->part,
		.wall_ns = now->wall_ns - ago_ns * now->time_scale};
	p->burst = l->total;
	p->counts.bursts++;
}

// The burst goes on, or begins.
static void add_to_burst(struct burstlog *l, struct part *p, const struct microburst_record *r,
			 const struct burst_clock *now)
{
	uint64_t span_ns = r->windows * l->params.window_ns;
	struct burst *b;

	p->counts.over_ns += span_ns;
	if (p->burst == 0)
		begin_burst(l, p, r, now);
	if (l->total - p->burst >= BURSTLOG_KEPT)
		return; // others have its place
	b = &l->kept[(p->burst - 1) % BURSTLOG_KEPT];
	b->span_ns += span_ns;
	b->peak_bytes = max_u64(b->peak_bytes, r->peak_bytes);
	b->headroom_bytes = max_u64(b->headroom_bytes, r->headroom_bytes);
	b->share = r->share > b->share ? r->share : b->share;
}

static void add_burst_record(struct burstlog *l, const struct microburst_record *r,
			     const struct burst_clock *now)
{
	struct part *p = part_of(l, r->port, r->part);
	uint64_t first = r->t_ns / l->params.window_ns, end = first + r->windows;

	// Windows of another length, from before a reload.
	if (first < p->next || end * l->params.window_ns > now->switch_ns + l->params.window_ns)
		return;
	if (first > p->next)
		p->burst = 0; // it was empty in between
	fill_window_peaks(p, p->next, first, 0);
	fill_window_peaks(p, first, end,
			  r->peak_bytes < UINT32_MAX ? (uint32_t)r->peak_bytes : UINT32_MAX);
	p->next = end;
	raise_high(p, end * l->params.window_ns / SECOND_NS, r->peak_bytes);
	if (r->share != MICROBURST_NO_LIMIT && r->share >= l->params.from)
		add_to_burst(l, p, r, now);
	else
		p->burst = 0;
}

// Windows of another length: what is known of the last ones is void.
static void take_params(struct burstlog *l, const struct microburst_params *params)
{
	for (unsigned i = 0; params->window_ns != l->params.window_ns &&
			     i < l->n_ports * MICROBURST_PARTS; i++) {
		struct part *p = &l->parts[i];

		if (p->next == 0)
			continue; // its memory was never touched
		p->next = p->burst = 0;
		memset(p->peak, 0, sizeof(p->peak));
	}
	l->params = *params;
}

void burstlog_poll(struct burstlog *l, struct weir_switch *sw, const struct burst_clock *now)
{
	struct microburst_record r[AT_ONCE];
	struct burst_clock c = *now;
	unsigned n = AT_ONCE;

	take_params(l, &switch_policy(sw)->microbursts);
	for (unsigned all = 0; n == AT_ONCE && all < AT_MOST; all += n) {
		n = switch_microburst_records(sw, r, AT_ONCE);
		if (c.again != NULL)
			c.again(c.arg, &c);
		for (unsigned i = 0; i < n && l->params.window_ns != 0; i++)
			add_burst_record(l, &r[i], &c);
	}
	l->now_ns = c.switch_ns;
}

void burstlog_clear(struct burstlog *l)
{
	for (unsigned i = 0; i < l->n_ports * MICROBURST_PARTS; i++)
		l->parts[i].base = l->parts[i].counts;
}

uint64_t burstlog_total(const struct burstlog *l)
{
	return l == NULL ? 0 : l->total;
}

const struct burst *burstlog_latest(const struct burstlog *l, unsigned i)
{
	return i < l->total && i < BURSTLOG_KEPT ? &l->kept[(l->total - 1 - i) % BURSTLOG_KEPT]
						 : NULL;
}

struct burst_counts burstlog_counts(const struct burstlog *l, unsigned port, unsigned part,
				    bool since_start)
{
	const struct part *p = part_at(l, port, part);
	struct burst_counts c = p->counts;

	if (!since_start) {
		c.bursts -= p->base.bursts;
		c.over_ns -= p->base.over_ns;
	}
	return c;
}

uint64_t burstlog_peak(const struct burstlog *l, unsigned port, unsigned part)
{
	const struct part *p = part_at(l, port, part);
	uint64_t now_s = l->now_ns / SECOND_NS, peak = 0;

	for (unsigned i = 0; i < N_HIGH; i++)
		if (p->high[i].second + BURSTLOG_PEAK_S >= now_s)
			peak = max_u64(peak, p->high[i].bytes);
	return peak;
}

// The window before the last poll may lack its record yet: a worker closes it in its next loop.
uint64_t burstlog_windows(const struct burstlog *l, unsigned port, unsigned part, unsigned n,
			  uint32_t *out)
{
	const struct part *p = part_at(l, port, part);
	uint64_t over = l->params.window_ns != 0 ? l->now_ns / l->params.window_ns : 0;
	uint64_t highest = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t window = over + i >= n ? over + i - n : UINT64_MAX;
		bool known = window < p->next && window + BURSTLOG_WINDOWS >= p->next;

		out[i] = known ? p->peak[window % BURSTLOG_WINDOWS] : 0;
		highest = max_u64(highest, out[i]);
	}
	return highest;
}
