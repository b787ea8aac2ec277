// SPDX-License-Identifier: Apache-2.0
// The ECN marking curve: the held queue is filled again and again, and each frame is a sample of
// the queue length that the device saw.
#include <errno.h>
#include <stdlib.h>

#include "control/probe/curve.h"
#include "control/probe/measure.h"
#include "dataplane/base/units.h"

enum { CE = 3 };

struct samples {
	// By the frames before the frame (mark at enqueue), and by those behind it (at dequeue).
	struct curve_sample *in, *out;
	uint32_t n;
	bool pauses; // the last frame brings PAUSE
	struct curve_fills fills;
	uint64_t marked, total;
	double marked_seq, clear_seq; // sums of the frames' numbers
};

static void add_marking_sample(struct samples *s, uint32_t i, uint32_t n, bool marked)
{
	s->in[i].total++;
	s->in[i].marked += marked;
	s->out[n - 1 - i].total++;
	s->out[n - 1 - i].marked += marked;
	s->total++;
	s->marked += marked;
	*(marked ? &s->marked_seq : &s->clear_seq) += i;
}

// One fill of n frames. A device that is late has not queued all of them when the egress is
// released. The PAUSE of the last frame proves that it has.
static enum probe_verdict pass(struct probe *p, struct samples *s, uint16_t len)
{
	struct probe_shot shot = probe_shot(p, len);
	uint64_t marked = s->marked;
	bool paused;

	if (!probe_begin(p, (uint8_t)(1u << p->conf.cls)))
		return PROBE_CANNOT;
	(void)probe_send(p, &shot, s->n);
	paused = probe_settle(p, PROBE_TX, p->conf.cls);
	probe_release(p);
	if (p->broken)
		return PROBE_CANNOT;
	if (probe_spoiled(p) || p->n_sent != s->n || probe_lost(p) != 0 || (s->pauses && !paused))
		return PROBE_NOT_RUN;
	for (uint32_t i = 0; i < s->n; i++)
		add_marking_sample(s, i, s->n, p->seen[i].ecn == CE);
	marked = s->marked - marked;
	s->fills.n++;
	s->fills.marked += (double)marked;
	s->fills.marked_squared += (double)marked * (double)marked;
	return PROBE_DONE;
}

static void found_bounds(struct probe *p, enum probe_value_id id, const struct curve_bounds *b,
			 double scale)
{
	probe_found(p, id, (int64_t)(b->value * scale + 0.5), (int64_t)(b->low * scale + 0.5),
		    (int64_t)(b->high * scale + 0.5));
}

// A length between two steps is not distinguished from the lower one.
static void found_length(struct probe *p, enum probe_value_id id, struct curve_bounds b,
			 uint16_t len)
{
	found_bounds(p, id, &b, len);
	p->value[id].high += len - 1;
}

static enum probe_verdict found_curve(struct probe *p, const struct samples *s, uint16_t len)
{
	uint64_t clear = s->total - s->marked;
	bool at_dequeue = s->marked != 0 && clear != 0 &&
			  s->marked_seq / (double)s->marked < s->clear_seq / (double)clear;
	const struct curve_sample *x = at_dequeue ? s->out : s->in;
	struct curve c;

	probe_found(p, PROBE_SAMPLES, (int64_t)s->total, (int64_t)s->total, (int64_t)s->total);
	probe_found(p, PROBE_MARKED, (int64_t)s->marked, (int64_t)s->marked, (int64_t)s->marked);
	if (s->marked == 0)
		return probe_cannot(p, "no frame was marked up to a queue of %u bytes", s->n * len);
	if (clear == 0)
		return probe_cannot(p, "every frame is marked, also in an empty queue");
	if (!curve_fit(x, s->n, &c) || !curve_explains(&c, x, s->n, &s->fills))
		return probe_cannot(p,
				    "the marks are not those of one curve of the queue's length: "
				    "the device averages the length, or was late in some of %u "
				    "fills; %u of %u frames were marked",
				    s->fills.n, (unsigned)s->marked, (unsigned)s->total);
	p->word[PROBE_KMIN] = at_dequeue ? "at dequeue" : "at enqueue";
	found_length(p, PROBE_KMIN, c.kmin, len);
	if (!c.kmax_seen)
		return probe_cannot(p,
				    "the end of the curve does not show in a queue of %u bytes, "
				    "the longest without a loss: kmax is above %.0f bytes, or %u "
				    "marks of %u frames are too few, see --passes",
				    s->n * len, c.kmax.low * len, (unsigned)s->marked,
				    (unsigned)s->total);
	p->word[PROBE_KMAX] = c.above_all ? "all above" : "pmax above";
	found_length(p, PROBE_KMAX, c.kmax, len);
	found_bounds(p, PROBE_PMAX, &c.pmax, PPM);
	return PROBE_DONE;
}

// As many frames as the queue takes without a loss, and not one more than brings PAUSE.
static enum probe_verdict longest(struct probe *p, struct samples *s, uint16_t len)
{
	struct probe_count c;
	enum probe_verdict v = probe_find_xoff(p, len, &c);

	s->pauses = v == PROBE_DONE;
	if (v != PROBE_DONE && !p->broken && p->conf.hold == PROBE_HOLD_ORDER)
		v = probe_find_loss(p, len, 0, &c); // of a lossy class
	if (v == PROBE_DONE)
		s->n = c.n + s->pauses;
	return v;
}

enum probe_verdict probe_ecn(struct probe *p)
{
	struct samples s = {0};
	uint32_t done = 0, bad = 0;
	enum probe_verdict v;
	uint16_t len;

	// Frames that fill their cells make the queue as long as the buffer allows.
	if (!p->value[PROBE_CELL].given)
		(void)probe_cell(p);
	len = probe_cell_len(p);
	v = longest(p, &s, len);
	if (v != PROBE_DONE)
		return v;
	if (s.n == 0)
		return probe_cannot(p, "the queue takes no frame without a PAUSE");
	s.in = calloc(s.n, sizeof(*s.in));
	s.out = calloc(s.n, sizeof(*s.out));
	if (s.in == NULL || s.out == NULL)
		v = probe_cannot(p, "out of memory");
	while (v == PROBE_DONE && done < p->conf.passes) {
		v = pass(p, &s, len);
		if (v == PROBE_DONE)
			probe_say(p, "fill %u of %u: %u of %u frames are marked", ++done,
				  p->conf.passes, (unsigned)s.marked, (unsigned)s.total);
		// A fill is no sample if its egress did not stay held, or if it lost a frame.
		else if (v == PROBE_NOT_RUN && ++bad <= p->conf.passes)
			v = PROBE_DONE;
	}
	if (v == PROBE_NOT_RUN)
		v = probe_ran_out(p)
			    ? probe_cannot_renew(p)
			    : probe_cannot(p, "in %u of %u fills the egress did not stay held, "
					      "frames were lost, or the device was late", bad,
					   done + bad);
	if (v == PROBE_DONE)
		v = found_curve(p, &s, len);
	free(s.in);
	free(s.out);
	return v;
}
