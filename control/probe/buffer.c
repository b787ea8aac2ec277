// SPDX-License-Identifier: Apache-2.0
// The thresholds of the buffer: how many frames are accepted until PAUSE, until a loss, and how
// many are left at XON. A count is exact, because the egress is held and frames have numbers. If
// trials disagree, the bounds of the count contain what each trial said.
#include <math.h>

#include "control/probe/measure.h"
#include "dataplane/base/units.h"

enum {
	FIRST_FRAMES = 64, // of the first trial
	CHUNK = 16, // frames between two looks for a PAUSE
	CONGESTIONS = 5,
	TRIES = 6, // a search is made again when its trials disagree
	SPOILED = 20, // a trial is made again when it was spoiled
};

static uint8_t class_bit(const struct probe *p)
{
	return (uint8_t)(1u << p->conf.cls);
}

// Frames of len bytes hold so many cells; 1 where the size of a cell is not known.
static int64_t cells_of_len(const struct probe *p, uint16_t len)
{
	int64_t cell = (int64_t)p->conf.cell_bytes;

	return cell == 0 ? 1 : (len + cell - 1) / cell;
}

static void found_bytes(struct probe *p, enum probe_value_id id, int64_t cells, int64_t low,
			int64_t high)
{
	const struct probe_value *cell = &p->value[PROBE_CELL];
	int64_t is = (int64_t)p->conf.cell_bytes;

	if (is != 0)
		probe_found(p, id, cells * is, low * (cell->given ? cell->low : is),
			    high * (cell->given ? cell->high : is));
}

// The line of a number says whether its trials gave different answers.
static void say_disagreed(struct probe *p, enum probe_value_id id, const struct probe_count *n)
{
	p->word[id] = n->low == n->high ? NULL : "trials disagreed";
}

// A count of frames as three numbers. One frame more would cross the threshold, so the threshold
// may lie up to one frame less one cell above.
static void found_frames(struct probe *p, enum probe_value_id frames, const struct probe_count *n,
			 uint16_t len)
{
	int64_t c = cells_of_len(p, len);

	probe_found(p, frames, n->n, n->low, n->high);
	say_disagreed(p, frames, n);
	if (p->conf.cell_bytes == 0)
		return;
	probe_found(p, frames + 1, n->n * c, n->low * c, n->high * c + c - 1);
	found_bytes(p, frames + 2, n->n * c, n->low * c, n->high * c + c - 1);
}

// ---- one trial

struct fill {
	struct probe_shot shot;
	uint32_t n; // frames
	// Frames that another sender sends before; n_other 0: none.
	struct probe_shot other;
	uint32_t n_other;
	bool to_the_end; // also when PAUSE has come
	// Result.
	bool paused; // PAUSE stands
	uint32_t sent; // of n: it ends early when PAUSE comes
	uint32_t lost, first_lost;
};

static enum probe_verdict spoiled(struct probe *p)
{
	if (p->n_leaked != 0 && probe_ran_out(p))
		return probe_cannot_renew(p);
	if (p->n_leaked == 0)
		return probe_cannot(p,
				    "the probe lost %u frames at its own ports: this machine is "
				    "too busy; see --rx-ring",
				    (unsigned)p->n_missed);
	return probe_cannot(p,
			    "%u frames left the egress although it was held: a watchdog ended the "
			    "PAUSE of --rx; see docs/probe.md",
			    p->n_leaked);
}

static void fill_send(struct probe *p, struct fill *f)
{
	uint8_t cls = f->shot.cls;

	f->sent = 0;
	f->paused = false;
	while (f->sent < f->n && !f->paused) {
		uint32_t k = f->n - f->sent < CHUNK ? f->n - f->sent : CHUNK;

		if (!probe_send(p, &f->shot, k))
			break;
		f->sent += k;
		// A PAUSE that does not stand is one for the receive ring.
		if (!f->to_the_end && probe_paused(p, f->shot.from, cls))
			f->paused = probe_settle(p, f->shot.from, cls);
	}
	f->paused = probe_settle(p, f->shot.from, cls);
}

// Holds the egress, sends, looks for PAUSE, and releases.
static enum probe_verdict fill_device(struct probe *p, struct fill *f)
{
	for (unsigned tries = 0;;) {
		if (!probe_begin(p, class_bit(p)))
			return PROBE_CANNOT;
		if (f->n_other != 0) {
			(void)probe_send(p, &f->other, f->n_other);
			(void)probe_settle(p, f->other.from, f->other.cls);
		}
		fill_send(p, f);
		probe_release(p);
		if (p->broken)
			return PROBE_CANNOT;
		f->lost = probe_lost(p);
		f->first_lost = probe_first_lost(p);
		if (!probe_spoiled(p))
			return PROBE_DONE;
		if (++tries == SPOILED)
			return spoiled(p);
	}
}

static struct fill fill_of(const struct probe *p, uint16_t len, uint32_t n)
{
	return (struct fill){.shot = probe_shot(p, len), .n = n};
}

// ---- the border between two answers

struct border {
	// Whether n is beyond the border. A trial of its own.
	enum probe_verdict (*trial)(struct probe *p, const void *arg, uint32_t n, bool *beyond);
	const void *arg;
	const char *what; // for people
	// Of all trials: the greatest number that was not beyond, and the least one that was.
	uint32_t below, beyond;
};

static enum probe_verdict border_trial(struct probe *p, struct border *b, uint32_t n, bool *beyond)
{
	enum probe_verdict v = b->trial(p, b->arg, n, beyond);

	if (v != PROBE_DONE)
		return v;
	if (*beyond)
		b->beyond = n < b->beyond ? n : b->beyond;
	else
		b->below = n > b->below ? n : b->below;
	return v;
}

// Both sides once more: a device that stalled during a trial gave a wrong answer.
static enum probe_verdict confirm(struct probe *p, struct border *b, uint32_t at, bool *holds)
{
	bool lower = false, upper = true;
	enum probe_verdict v = at == 0 ? PROBE_DONE : border_trial(p, b, at, &lower);

	if (v == PROBE_DONE)
		v = border_trial(p, b, at + 1, &upper);
	*holds = !lower && upper;
	return v;
}

// The largest number in from..hi - 1 that is not beyond the border. b->below and b->beyond may hold
// trials of before.
static enum probe_verdict border(struct probe *p, struct border *b, uint32_t from, uint32_t hi,
				 struct probe_count *out)
{
	if (b->beyond == 0)
		b->beyond = UINT32_MAX;
	for (unsigned tries = 0; tries < TRIES; tries++) {
		uint32_t lo = from, top = hi;
		enum probe_verdict v = PROBE_DONE;
		bool beyond, holds;

		while (v == PROBE_DONE && top - lo > 1) {
			uint32_t mid = lo + (top - lo) / 2;

			probe_say(p, "%s between %u and %u", b->what, lo, top);
			v = border_trial(p, b, mid, &beyond);
			*(beyond ? &top : &lo) = mid;
		}
		if (v == PROBE_DONE)
			v = confirm(p, b, lo, &holds);
		if (v != PROBE_DONE)
			return v;
		*out = (struct probe_count){lo, lo, lo};
		if (b->beyond <= lo)
			out->low = b->beyond - 1;
		if (b->below > lo)
			out->high = b->below;
		if (holds)
			return PROBE_DONE;
	}
	return probe_cannot(p, "%s differs from trial to trial; give a longer --settle",
			    b->what);
}

static enum probe_verdict lost_without_pause(struct probe *p, const struct fill *f)
{
	return probe_cannot(p,
			    "frame %u was lost and no PAUSE %s: class %u is lossy, DSCP %d leads "
			    "to another class (--dscp), or a watchdog ended the PAUSE of --rx",
			    f->first_lost + 1,
			    p->pfc[PROBE_TX][p->conf.cls].n_pause == 0 ? "came" : "stands",
			    p->conf.cls, p->conf.dscp[p->conf.cls]);
}

// A class that loses frames without PAUSE does so each time. A device that stood still for a moment
// sends the frames later than the probe waits for them.
static enum probe_verdict fill_lossless(struct probe *p, struct fill *f)
{
	for (unsigned tries = 0; tries < TRIES; tries++) {
		enum probe_verdict v = fill_device(p, f);

		if (v != PROBE_DONE || f->paused || f->lost == 0)
			return v;
	}
	return lost_without_pause(p, f);
}

// arg: a struct fill, of which n frames are sent.
static enum probe_verdict pauses(struct probe *p, const void *arg, uint32_t n, bool *beyond)
{
	struct fill f = *(const struct fill *)arg;
	enum probe_verdict v;

	f.n = n;
	v = fill_lossless(p, &f);
	*beyond = f.paused;
	return v;
}

static enum probe_verdict no_pause(struct probe *p, const struct fill *f)
{
	uint8_t cls = p->conf.cls;

	if (p->pfc[PROBE_TX][cls].n_pause != 0)
		return probe_cannot(p,
				    "PAUSE of class %u came and did not stand for %.0f ms, if the "
				    "ports of the device have %.3g Gb/s; else give --speed",
				    cls, (double)p->conf.settle_ns / MS_NS,
				    (double)p->conf.speed_bps[PROBE_TX] / 1e9);
	return probe_cannot(p, "no PAUSE of class %u came in %u frames; see --most", cls, f->sent);
}

enum probe_verdict probe_find_xoff(struct probe *p, uint16_t len, struct probe_count *out)
{
	struct fill f = fill_of(p, len, FIRST_FRAMES);
	enum probe_verdict v = fill_lossless(p, &f);
	struct border b = {pauses, &f, "XOFF"};
	uint32_t lo = 0, hi;

	while (v == PROBE_DONE && !f.paused && f.n < p->conf.most) {
		lo = f.n;
		f.n = 2 * f.n < p->conf.most ? 2 * f.n : p->conf.most;
		probe_say(p, "no PAUSE in %u frames", lo);
		v = fill_lossless(p, &f);
	}
	if (v != PROBE_DONE)
		return v;
	if (!f.paused)
		return no_pause(p, &f);
	b.below = lo;
	b.beyond = f.sent;
	// The device may have been late in these trials: the range has room on both sides.
	hi = 2 * (f.sent > lo ? f.sent : lo);
	return border(p, &b, (f.sent < lo ? f.sent : lo) / 2,
		      hi < p->conf.most ? hi : p->conf.most, out);
}

// A device that stalls may lose frames early, and none late. So the count that comes twice is the
// greatest of all. The bounds contain the others.
enum probe_verdict probe_find_loss(struct probe *p, uint16_t len, uint32_t from,
				   struct probe_count *out)
{
	struct fill f = fill_of(p, len, from);
	uint32_t extra = FIRST_FRAMES, best = 0, low = UINT32_MAX, high = 0;
	unsigned none = 0; // trials that lost the first frame
	enum probe_verdict v;

	f.to_the_end = true;
	for (unsigned tries = 0; tries < 2 * TRIES;) {
		f.n = from + extra < p->conf.most ? from + extra : p->conf.most;
		v = fill_device(p, &f);
		if (v != PROBE_DONE)
			return v;
		if (f.lost == 0 && f.n == p->conf.most)
			return probe_cannot(p, "no frame of %u was lost; see --most", f.n);
		// The device was empty, so it had room for one.
		if (f.lost != 0 && f.first_lost == 0 && ++none < TRIES)
			continue;
		if (none == TRIES)
			return probe_cannot(p,
					    "the first frame was lost too: a watchdog discarded "
					    "the queue; see docs/probe.md");
		probe_say(p, "%u frames and no loss", f.first_lost);
		if (f.lost == 0) {
			best = 0;
			high = f.n;
			extra *= 2;
			continue;
		}
		low = f.first_lost < low ? f.first_lost : low;
		*out = (struct probe_count){f.first_lost, low,
					    f.first_lost > high ? f.first_lost : high};
		if (tries++ != 0 && f.first_lost == best)
			return PROBE_DONE;
		best = f.first_lost > best ? f.first_lost : best;
	}
	return probe_cannot(p, "the first lost frame differs from trial to trial");
}

uint16_t probe_cell_len(const struct probe *p)
{
	uint64_t cell = p->conf.cell_bytes;

	if (cell <= PROBE_LEN_MIN)
		return PROBE_LEN_MIN;
	return cell > PROBE_LEN_MAX ? PROBE_LEN_MAX : (uint16_t)cell;
}

enum probe_verdict probe_xoff(struct probe *p)
{
	struct probe_count n;
	enum probe_verdict v = probe_find_xoff(p, PROBE_LEN_MIN, &n);

	if (v == PROBE_DONE)
		found_frames(p, PROBE_XOFF_FRAMES, &n, PROBE_LEN_MIN);
	return v;
}

// The XOFF threshold in frames of PROBE_LEN_MIN, which is measured once.
static enum probe_verdict known_xoff(struct probe *p, struct probe_count *n)
{
	const struct probe_value *x = &p->value[PROBE_XOFF_FRAMES];
	enum probe_verdict v = PROBE_DONE;

	if (!x->given)
		v = probe_xoff(p);
	*n = (struct probe_count){(uint32_t)x->value, (uint32_t)x->low, (uint32_t)x->high};
	return v;
}

// ---- the size of a cell

// Three quarters of the frames that fit with one cell each: whether frames of len bytes fill more.
static enum probe_verdict needs_two_cells(struct probe *p, const void *arg, uint32_t len,
					  bool *beyond)
{
	uint32_t n = *(const uint32_t *)arg;
	struct fill f = fill_of(p, (uint16_t)len, n - n / 4);
	enum probe_verdict v = fill_device(p, &f);

	*beyond = f.paused;
	return v;
}

enum probe_verdict probe_cell(struct probe *p)
{
	enum { FEWEST = 8 };
	int64_t known = (int64_t)p->conf.cell_bytes;
	struct probe_count xoff, len;
	struct border b = {needs_two_cells, &xoff.n, "cell bytes"};
	enum probe_verdict v;
	bool two;

	if (known != 0) {
		probe_found(p, PROBE_CELL, known, known, known);
		return PROBE_DONE;
	}
	v = known_xoff(p, &xoff);
	if (v == PROBE_DONE && xoff.n < FEWEST)
		return probe_cannot(p, "%u frames until XOFF are too few; give --cell", xoff.n);
	if (v == PROBE_DONE)
		v = border_trial(p, &b, PROBE_LEN_MAX, &two);
	if (v == PROBE_DONE && !two)
		return probe_cannot(p, "a cell has %u bytes or more; give --cell", PROBE_LEN_MAX);
	b.beyond = PROBE_LEN_MAX;
	if (v == PROBE_DONE)
		v = border_trial(p, &b, PROBE_LEN_MIN + 1, &two);
	if (v == PROBE_DONE && two)
		return probe_cannot(p, "a cell has %u bytes or less; give --cell", PROBE_LEN_MIN);
	if (v == PROBE_DONE)
		v = border(p, &b, PROBE_LEN_MIN + 1, PROBE_LEN_MAX, &len);
	if (v != PROBE_DONE)
		return v;
	p->conf.cell_bytes = len.n;
	probe_found(p, PROBE_CELL, len.n, len.low, len.high);
	say_disagreed(p, PROBE_CELL, &len);
	found_frames(p, PROBE_XOFF_FRAMES, &xoff, PROBE_LEN_MIN);
	return PROBE_DONE;
}

// ---- headroom, limit

static uint32_t less(uint32_t a, uint32_t b)
{
	return a > b ? a - b : 0;
}

enum probe_verdict probe_headroom(struct probe *p)
{
	struct probe_count xoff, all, n;
	enum probe_verdict v = known_xoff(p, &xoff);

	if (v == PROBE_DONE)
		v = probe_find_loss(p, PROBE_LEN_MIN, xoff.n + 1, &all);
	if (v != PROBE_DONE)
		return v;
	if (all.n < xoff.n)
		return probe_cannot(p, "frame %u was lost before XOFF", all.n + 1);
	n = (struct probe_count){all.n - xoff.n, less(all.low, xoff.high), all.high - xoff.low};
	found_frames(p, PROBE_HEADROOM_FRAMES, &n, PROBE_LEN_MIN);
	return PROBE_DONE;
}

// Frames before `lost` that wait in the device at t_ns. A frame leaves the memory when its time on
// the wire begins.
static int64_t waiting(const struct probe *p, uint32_t lost, int64_t t_ns)
{
	int64_t n = lost, wire_ns = (int64_t)probe_wire_ns(p, PROBE_RX, PROBE_LEN_MAX);

	for (uint32_t i = 0; i < lost; i++)
		n -= (int64_t)p->seen[i].t_ns - wire_ns <= t_ns;
	return n;
}

// Two senders at line rate fill the queue of one egress: v[0] frames wait when the first one is
// lost, v[1] to v[2] with the probe's own lateness.
static enum probe_verdict congest(struct probe *p, int64_t v[3])
{
	struct probe_shot own = probe_shot(p, PROBE_LEN_MAX), other = own;
	int64_t t, late;
	uint32_t lost, n = FIRST_FRAMES;

	other.from = PROBE_THIRD;
	for (;; n *= 2) {
		if (n > p->conf.most)
			return probe_cannot(p, "no frame of %u was lost; see --most", n / 2);
		(void)probe_begin(p, 0);
		(void)p->io.gap(p->io.of);
		while (p->n_sent < n) {
			(void)probe_send(p, &own, 1);
			(void)probe_send(p, &other, 1);
		}
		probe_release(p);
		late = (int64_t)(p->io.gap(p->io.of) + p->path_ns);
		if (p->n_missed != 0)
			return spoiled(p);
		lost = probe_first_lost(p);
		if (lost < n)
			break;
	}
	t = (int64_t)(p->seen[lost].sent_ns + probe_wire_ns(p, own.from, own.len));
	v[0] = waiting(p, lost, t);
	v[1] = waiting(p, lost, t + late);
	v[2] = waiting(p, lost, t - late);
	return PROBE_DONE;
}

// A device that was late had frames in its receive ring beside those in the queue. So the trial
// with the fewest frames counts.
static enum probe_verdict limit_by_congestion(struct probe *p)
{
	int64_t c = cells_of_len(p, PROBE_LEN_MAX), cell = (int64_t)p->conf.cell_bytes, v[3], w[3];
	enum probe_verdict verdict;

	if (!p->conf.third)
		return probe_cannot(p, "congestion needs a second sender: give --third");
	for (unsigned i = 0; i < CONGESTIONS; i++) {
		verdict = congest(p, w);
		if (verdict != PROBE_DONE)
			return verdict;
		for (unsigned k = 0; k < 3; k++)
			v[k] = i == 0 || w[k] < v[k] ? w[k] : v[k];
	}
	p->word[PROBE_LIMIT_FRAMES] = "if the device is not late";
	probe_found(p, PROBE_LIMIT_FRAMES, v[0], v[1], v[2]);
	if (cell == 0)
		return PROBE_DONE;
	// The lost frame lacked a cell at least, and a whole frame's at most.
	probe_found(p, PROBE_LIMIT_CELLS, v[0] * c, v[1] * c, v[2] * c + c - 1);
	probe_found(p, PROBE_LIMIT_BYTES, v[0] * c * cell, v[1] * c * cell,
		    (v[2] * c + c - 1) * cell);
	return PROBE_DONE;
}

enum probe_verdict probe_limit(struct probe *p)
{
	const struct probe_value *xoff = &p->value[PROBE_XOFF_FRAMES];
	struct probe_count all;
	enum probe_verdict v;

	if (p->conf.hold == PROBE_HOLD_CONGESTION)
		return limit_by_congestion(p);
	v = probe_find_loss(p, PROBE_LEN_MIN, 0, &all);
	if (v != PROBE_DONE)
		return v;
	if (xoff->given && all.n < xoff->low)
		return probe_cannot(p, "frame %u was lost before XOFF", all.n + 1);
	found_frames(p, PROBE_LIMIT_FRAMES, &all, PROBE_LEN_MIN);
	return PROBE_DONE;
}

// ---- XON

// arg: how many frames bring the group into XOFF. n of them wait at --rx, and the rest at --third.
// Then those at --third leave: whether no XON comes.
static enum probe_verdict stays_paused(struct probe *p, const void *arg, uint32_t n, bool *beyond)
{
	struct probe_shot shot = probe_shot(p, PROBE_LEN_MIN);
	uint32_t total = *(const uint32_t *)arg, leave = n < total ? total - n : 0;
	unsigned late = 0;
	bool paused;

	for (unsigned tries = 0;;) {
		if (!probe_begin(p, class_bit(p)))
			return PROBE_CANNOT;
		probe_pause(p, PROBE_THIRD, class_bit(p), true);
		probe_run(p, p->conf.settle_ns);
		shot.to = PROBE_RX;
		(void)probe_send(p, &shot, total - leave);
		shot.to = PROBE_THIRD;
		(void)probe_send(p, &shot, leave);
		paused = probe_settle(p, PROBE_TX, p->conf.cls);
		p->held = false;
		probe_pause(p, PROBE_THIRD, class_bit(p), false);
		for (uint32_t before = UINT32_MAX; before != p->n_arrived;) {
			before = p->n_arrived;
			probe_run(p, p->conf.settle_ns);
		}
		*beyond = probe_settle(p, PROBE_TX, p->conf.cls);
		probe_release(p);
		if (p->broken)
			return PROBE_CANNOT;
		if (probe_spoiled(p) && ++tries == SPOILED)
			return spoiled(p);
		// A device that stood still sends PAUSE later than the probe waits for it.
		if (!probe_spoiled(p) && (paused || ++late == TRIES))
			break;
	}
	return paused ? PROBE_DONE
		      : probe_cannot(p, "the group did not enter XOFF with %u frames", total);
}

// By a third port: exact. The frames at --third leave, and the others do not.
static enum probe_verdict xon_by_third(struct probe *p, uint32_t xoff, struct probe_count *out)
{
	uint32_t total = xoff + 1;
	struct border b = {stays_paused, &total, "XON"};
	enum probe_verdict v = PROBE_DONE;
	bool beyond = true;

	for (unsigned tries = 0; v == PROBE_DONE && beyond && tries < TRIES; tries++)
		v = border_trial(p, &b, 0, &beyond);
	if (v == PROBE_DONE && beyond)
		return probe_cannot(p, "no XON came although all frames had left");
	if (v != PROBE_DONE)
		return v;
	return border(p, &b, 0, total, out);
}

// Frames that had left the device `late_ns` before the XON arrived, by their arrival.
static uint32_t left_at_xon(const struct probe *p, int64_t late_ns)
{
	int64_t xon_ns = (int64_t)p->pfc[PROBE_TX][p->conf.cls].xon_ns;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_sent; i++)
		n += p->seen[i].t_ns != 0 && (int64_t)p->seen[i].t_ns - late_ns <= xon_ns;
	return n;
}

// By two ports: frames that arrived until the XON, with the bound of the probe's own lateness.
static enum probe_verdict xon_by_time(struct probe *p, uint32_t xoff)
{
	const struct probe_shot shot = probe_shot(p, PROBE_LEN_MIN);
	int64_t ahead = (int64_t)probe_wire_ns(p, PROBE_RX, PROBE_LEN_MIN), gap;
	int64_t cell = (int64_t)p->conf.cell_bytes, n[3];

	if (!probe_begin(p, class_bit(p)))
		return PROBE_CANNOT;
	(void)probe_send(p, &shot, xoff + 1);
	(void)probe_settle(p, PROBE_TX, p->conf.cls);
	(void)p->io.gap(p->io.of);
	probe_release(p);
	if (probe_spoiled(p))
		return spoiled(p);
	if (p->pfc[PROBE_TX][p->conf.cls].n_xon == 0)
		return probe_cannot(p, "no XON came although all frames had left");
	gap = (int64_t)p->io.gap(p->io.of);
	// A frame that leaves arrives at the end of its time on the wire, as the XON does.
	ahead -= (int64_t)probe_wire_ns(p, PROBE_TX, 60);
	n[0] = (int64_t)p->n_sent - left_at_xon(p, ahead);
	n[1] = (int64_t)p->n_sent - left_at_xon(p, ahead + gap);
	n[2] = (int64_t)p->n_sent - left_at_xon(p, ahead - gap);
	probe_found(p, PROBE_XON_CELLS, n[0], n[1], n[2]);
	if (cell != 0)
		probe_found(p, PROBE_XON_BYTES, n[0] * cell, n[1] * cell, n[2] * cell);
	return PROBE_DONE;
}

enum probe_verdict probe_xon(struct probe *p)
{
	int64_t c = cells_of_len(p, PROBE_LEN_MIN);
	struct probe_count xoff, n;
	enum probe_verdict v = known_xoff(p, &xoff);

	if (v != PROBE_DONE)
		return v;
	if (!p->conf.third)
		return xon_by_time(p, xoff.n);
	v = xon_by_third(p, xoff.n, &n);
	if (v != PROBE_DONE)
		return v;
	probe_found(p, PROBE_XON_CELLS, n.n * c, n.low * c, n.high * c + c - 1);
	say_disagreed(p, PROBE_XON_CELLS, &n);
	found_bytes(p, PROBE_XON_BYTES, n.n * c, n.low * c, n.high * c + c - 1);
	return PROBE_DONE;
}

// ---- shared memory

// The group of --third stands at its XOFF threshold: frames of --tx until PAUSE then.
static enum probe_verdict xoff_beside(struct probe *p, uint32_t xoff, struct probe_count *out)
{
	struct fill f = fill_of(p, PROBE_LEN_MIN, 0);
	struct border b = {pauses, &f, "XOFF beside a full group"};

	f.other = f.shot;
	f.other.from = PROBE_THIRD;
	f.n_other = xoff;
	return border(p, &b, 0, xoff + 1, out);
}

// Alone s = a(F + 1)/(1 + a) cells, beside such a group s' = (a(F + 1) - a s)/(1 + a), for a pool
// of F cells and a threshold of a times the free cells.
static void found_threshold(struct probe *p, int64_t alone, int64_t beside, int64_t cell)
{
	double a = beside > 0 ? (double)alone / (double)beside - 1 : 0;
	int64_t power, pool;

	if (beside == alone) {
		p->word[PROBE_SHARED_BYTES] = "static";
		return;
	}
	p->word[PROBE_SHARED_BYTES] = "follows the free pool";
	if (a <= 0)
		return;
	power = (int64_t)lround(log2(a));
	a = pow(2, (double)power);
	probe_found(p, PROBE_ALPHA, power, power, power);
	// alone = floor(a(F + 1)/(1 + a)).
	pool = (int64_t)ceil((double)alone * (1 + a) / a) - 1;
	probe_found(p, PROBE_POOL_BYTES, pool * cell, pool * cell,
		    ((int64_t)ceil((double)(alone + 1) * (1 + a) / a) - 2) * cell);
}

enum probe_verdict probe_shared(struct probe *p)
{
	int64_t cell = (int64_t)p->conf.cell_bytes;
	struct probe_count alone, beside;
	enum probe_verdict v = known_xoff(p, &alone);
	uint32_t xoff = alone.n, min;

	if (v != PROBE_DONE)
		return v;
	if (cell < PROBE_LEN_MIN)
		return probe_cannot(p, "the size of a cell is not known; give --cell");
	min = (uint32_t)(((int64_t)p->conf.min_bytes + cell - 1) / cell);
	if (xoff < min)
		return probe_cannot(p, "--min is more than the XOFF threshold");
	alone = (struct probe_count){xoff - min, less(alone.low, min), less(alone.high, min)};
	found_bytes(p, PROBE_SHARED_BYTES, alone.n, alone.low, alone.high);
	if (!p->conf.third)
		return PROBE_DONE;
	v = xoff_beside(p, xoff, &beside);
	if (v != PROBE_DONE)
		return v;
	beside = (struct probe_count){less(beside.n, min), less(beside.low, min),
				      less(beside.high, min)};
	found_bytes(p, PROBE_BESIDE_BYTES, beside.n, beside.low, beside.high);
	say_disagreed(p, PROBE_BESIDE_BYTES, &beside);
	// Alpha and the pool follow from both counts, if no trial disagreed.
	if (alone.low == alone.high && beside.low == beside.high)
		found_threshold(p, alone.n, beside.n, cell);
	return PROBE_DONE;
}
