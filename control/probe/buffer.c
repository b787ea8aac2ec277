// SPDX-License-Identifier: Apache-2.0
// The thresholds of the buffer: how many frames are accepted until PAUSE, until a loss, and how
// many are left at XON. Each count is exact, because the egress is held and frames have numbers.
#include <math.h>

#include "control/probe/measure.h"

enum {
	FIRST_FRAMES = 64, // of the first trial
	CHUNK = 16, // frames between two looks for a PAUSE
	CONGESTIONS = 5,
	TRIES = 6, // a trial is made again when it was spoiled
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

// A count of frames as three numbers. One frame more would cross the threshold, so the threshold
// may lie up to one frame less one cell above.
static void found_frames(struct probe *p, enum probe_value_id frames, uint32_t n, uint16_t len)
{
	int64_t c = cells_of_len(p, len), cell = (int64_t)p->conf.cell_bytes;

	probe_found(p, frames, n, n, n);
	if (cell == 0)
		return;
	probe_found(p, frames + 1, n * c, n * c, n * c + c - 1);
	probe_found(p, frames + 2, n * c * cell, n * c * cell, (n * c + c - 1) * cell);
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
	if (p->n_leaked == 0)
		return probe_cannot(p,
				    "the probe lost %u frames at its own ports: this machine is "
				    "too busy; see --rx-ring",
				    (unsigned)p->n_missed);
	return probe_cannot(p,
			    "%u frames left the egress although it was held: a PAUSE of --rx ran "
			    "out, or a watchdog ended it; see docs/probe.md",
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
static enum probe_verdict fill(struct probe *p, struct fill *f)
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
		if (++tries == TRIES)
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
};

// Both sides once more: a device that stalled during a trial gave a wrong answer.
static enum probe_verdict confirm(struct probe *p, const struct border *b, uint32_t at, bool *holds)
{
	bool lower = false, upper = true;
	enum probe_verdict v = at == 0 ? PROBE_DONE : b->trial(p, b->arg, at, &lower);

	if (v == PROBE_DONE)
		v = b->trial(p, b->arg, at + 1, &upper);
	*holds = !lower && upper;
	return v;
}

// The largest number in from..hi - 1 that is not beyond the border.
static enum probe_verdict border(struct probe *p, const struct border *b, uint32_t from,
				 uint32_t hi, uint32_t *out)
{
	for (unsigned tries = 0; tries < TRIES; tries++) {
		uint32_t lo = from, top = hi;
		enum probe_verdict v = PROBE_DONE;
		bool beyond, holds;

		while (v == PROBE_DONE && top - lo > 1) {
			uint32_t mid = lo + (top - lo) / 2;

			probe_say(p, "%s between %u and %u", b->what, lo, top);
			v = b->trial(p, b->arg, mid, &beyond);
			*(beyond ? &top : &lo) = mid;
		}
		if (v == PROBE_DONE)
			v = confirm(p, b, lo, &holds);
		if (v != PROBE_DONE)
			return v;
		*out = lo;
		if (holds)
			return PROBE_DONE;
	}
	return probe_cannot(p, "%s differs from trial to trial; give a longer --settle",
			    b->what);
}

// arg: a struct fill, of which n frames are sent.
static enum probe_verdict pauses(struct probe *p, const void *arg, uint32_t n, bool *beyond)
{
	struct fill f = *(const struct fill *)arg;
	enum probe_verdict v;

	f.n = n;
	v = fill(p, &f);
	*beyond = f.paused;
	return v;
}

enum probe_verdict probe_find_xoff(struct probe *p, uint16_t len, uint32_t *out)
{
	struct fill f = fill_of(p, len, FIRST_FRAMES);
	enum probe_verdict v = fill(p, &f);
	uint32_t lo = 0;

	while (v == PROBE_DONE && !f.paused && f.lost == 0 && f.n < p->conf.most) {
		lo = f.n;
		f.n = 2 * f.n < p->conf.most ? 2 * f.n : p->conf.most;
		probe_say(p, "no PAUSE in %u frames", lo);
		v = fill(p, &f);
	}
	if (v != PROBE_DONE)
		return v;
	if (!f.paused && f.lost != 0)
		return probe_cannot(p,
				    "frame %u was lost and no PAUSE came: class %u is lossy, DSCP "
				    "%d leads to another class (--dscp), or a watchdog ended the "
				    "PAUSE of --rx",
				    f.first_lost + 1, p->conf.cls, p->conf.dscp[p->conf.cls]);
	if (!f.paused)
		return probe_cannot(p, "no PAUSE of class %u came in %u frames; see --most",
				    p->conf.cls, f.sent);
	// The device may have been late in these trials: the range has room on both sides.
	return border(p, &(struct border){pauses, &f, "XOFF"}, lo / 2, 2 * f.sent, out);
}

// A device that stalls may lose frames early, and none late. So the count that comes twice is the
// greatest of all.
enum probe_verdict probe_find_loss(struct probe *p, uint16_t len, uint32_t from, uint32_t *out)
{
	struct fill f = fill_of(p, len, from);
	uint32_t extra = FIRST_FRAMES, best = 0;
	unsigned none = 0; // trials that lost the first frame
	enum probe_verdict v;

	f.to_the_end = true;
	for (unsigned tries = 0; tries < 2 * TRIES;) {
		f.n = from + extra < p->conf.most ? from + extra : p->conf.most;
		v = fill(p, &f);
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
			extra *= 2;
			continue;
		}
		*out = f.first_lost;
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
	uint32_t n;
	enum probe_verdict v = probe_find_xoff(p, PROBE_LEN_MIN, &n);

	if (v == PROBE_DONE)
		found_frames(p, PROBE_XOFF_FRAMES, n, PROBE_LEN_MIN);
	return v;
}

// The XOFF threshold in frames of PROBE_LEN_MIN, which is measured once.
static enum probe_verdict known_xoff(struct probe *p, uint32_t *n)
{
	enum probe_verdict v = PROBE_DONE;

	if (!p->value[PROBE_XOFF_FRAMES].given)
		v = probe_xoff(p);
	*n = (uint32_t)p->value[PROBE_XOFF_FRAMES].value;
	return v;
}

// ---- the size of a cell

// Three quarters of the frames that fit with one cell each: whether frames of len bytes fill more.
static enum probe_verdict needs_two_cells(struct probe *p, const void *arg, uint32_t len,
					  bool *beyond)
{
	uint32_t n = *(const uint32_t *)arg;
	struct fill f = fill_of(p, (uint16_t)len, n - n / 4);
	enum probe_verdict v = fill(p, &f);

	*beyond = f.paused;
	return v;
}

enum probe_verdict probe_cell(struct probe *p)
{
	enum { FEWEST = 8 };
	int64_t known = (int64_t)p->conf.cell_bytes;
	enum probe_verdict v;
	uint32_t n, len;
	bool two;

	if (known != 0) {
		probe_found(p, PROBE_CELL, known, known, known);
		return PROBE_DONE;
	}
	v = known_xoff(p, &n);
	if (v == PROBE_DONE && n < FEWEST)
		return probe_cannot(p, "%u frames until XOFF are too few; give --cell", n);
	if (v == PROBE_DONE)
		v = needs_two_cells(p, &n, PROBE_LEN_MAX, &two);
	if (v == PROBE_DONE && !two)
		return probe_cannot(p, "a cell has %u bytes or more; give --cell", PROBE_LEN_MAX);
	if (v == PROBE_DONE)
		v = needs_two_cells(p, &n, PROBE_LEN_MIN + 1, &two);
	if (v == PROBE_DONE && two)
		return probe_cannot(p, "a cell has %u bytes or less; give --cell", PROBE_LEN_MIN);
	if (v == PROBE_DONE)
		v = border(p, &(struct border){needs_two_cells, &n, "cell bytes"},
			   PROBE_LEN_MIN + 1, PROBE_LEN_MAX, &len);
	if (v != PROBE_DONE)
		return v;
	p->conf.cell_bytes = len;
	probe_found(p, PROBE_CELL, len, len, len);
	found_frames(p, PROBE_XOFF_FRAMES, n, PROBE_LEN_MIN);
	return PROBE_DONE;
}

// ---- headroom, limit

enum probe_verdict probe_headroom(struct probe *p)
{
	enum probe_verdict v;
	uint32_t xoff, all;

	v = known_xoff(p, &xoff);
	if (v == PROBE_DONE)
		v = probe_find_loss(p, PROBE_LEN_MIN, xoff + 1, &all);
	if (v != PROBE_DONE)
		return v;
	if (all < xoff)
		return probe_cannot(p, "frame %u was lost before XOFF", all + 1);
	found_frames(p, PROBE_HEADROOM_FRAMES, all - xoff, PROBE_LEN_MIN);
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
	uint32_t all;
	enum probe_verdict v;

	if (p->conf.hold == PROBE_HOLD_CONGESTION)
		return limit_by_congestion(p);
	v = probe_find_loss(p, PROBE_LEN_MIN, 0, &all);

	if (v == PROBE_DONE)
		found_frames(p, PROBE_LIMIT_FRAMES, all, PROBE_LEN_MIN);
	return v;
}

// ---- XON

// arg: how many frames bring the group into XOFF. n of them wait at --rx, and the rest at --third.
// Then those at --third leave: whether no XON comes.
static enum probe_verdict stays_paused(struct probe *p, const void *arg, uint32_t n, bool *beyond)
{
	struct probe_shot shot = probe_shot(p, PROBE_LEN_MIN);
	uint32_t total = *(const uint32_t *)arg, leave = n < total ? total - n : 0;
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
		if (!probe_spoiled(p))
			break;
		if (++tries == TRIES)
			return spoiled(p);
	}
	return paused ? PROBE_DONE
		      : probe_cannot(p, "the group did not enter XOFF with %u frames", total);
}

// By a third port: exact. The frames at --third leave, and the others do not.
static enum probe_verdict xon_by_third(struct probe *p, uint32_t xoff, uint32_t *out)
{
	uint32_t total = xoff + 1;
	bool beyond;
	enum probe_verdict v = stays_paused(p, &total, 0, &beyond);

	if (v == PROBE_DONE && beyond)
		return probe_cannot(p, "no XON came although all frames had left");
	if (v != PROBE_DONE)
		return v;
	return border(p, &(struct border){stays_paused, &total, "XON"}, 0, total, out);
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
	int64_t c = cells_of_len(p, PROBE_LEN_MIN), cell = (int64_t)p->conf.cell_bytes;
	enum probe_verdict v;
	uint32_t xoff, n = 0;

	v = known_xoff(p, &xoff);
	if (v != PROBE_DONE)
		return v;
	if (!p->conf.third)
		return xon_by_time(p, xoff);
	v = xon_by_third(p, xoff, &n);
	if (v != PROBE_DONE)
		return v;
	probe_found(p, PROBE_XON_CELLS, n * c, n * c, n * c + c - 1);
	if (cell != 0)
		probe_found(p, PROBE_XON_BYTES, n * c * cell, n * c * cell,
			    (n * c + c - 1) * cell);
	return PROBE_DONE;
}

// ---- shared memory

// The group of --third stands at its XOFF threshold: frames of --tx until PAUSE then.
static enum probe_verdict xoff_beside(struct probe *p, uint32_t xoff, uint32_t *out)
{
	struct fill f = fill_of(p, PROBE_LEN_MIN, 0);

	f.other = f.shot;
	f.other.from = PROBE_THIRD;
	f.n_other = xoff;
	return border(p, &(struct border){pauses, &f, "XOFF beside a full group"}, 0, xoff + 1,
		      out);
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
	int64_t cell = (int64_t)p->conf.cell_bytes, min, alone;
	enum probe_verdict v;
	uint32_t xoff, n = 0;

	v = known_xoff(p, &xoff);
	if (v != PROBE_DONE)
		return v;
	if (cell < PROBE_LEN_MIN)
		return probe_cannot(p, "the size of a cell is not known; give --cell");
	min = ((int64_t)p->conf.min_bytes + cell - 1) / cell;
	alone = (int64_t)xoff - min;
	if (alone < 0)
		return probe_cannot(p, "--min is more than the XOFF threshold");
	probe_found(p, PROBE_SHARED_BYTES, alone * cell, alone * cell, alone * cell);
	if (!p->conf.third)
		return PROBE_DONE;
	v = xoff_beside(p, xoff, &n);
	if (v != PROBE_DONE)
		return v;
	n = (int64_t)n > min ? n - (uint32_t)min : 0;
	probe_found(p, PROBE_BESIDE_BYTES, n * cell, n * cell, n * cell);
	found_threshold(p, alone, n, cell);
	return PROBE_DONE;
}
