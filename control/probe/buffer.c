// SPDX-License-Identifier: Apache-2.0
// The thresholds of the buffer: how many frames are accepted until PAUSE, until a loss, and how
// many are left at XON. Each count is exact, because the egress is held and frames have numbers.
#include <math.h>

#include "control/probe/measure.h"

enum {
	FIRST_FRAMES = 64, // of the first trial
	CHUNK = 16, // frames between two looks for a PAUSE
	TRIES = 3, // a trial is made again when frames leave the held egress
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

static enum probe_verdict not_held(struct probe *p)
{
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
		if (p->n_leaked == 0)
			return PROBE_DONE;
		if (++tries == TRIES)
			return not_held(p);
	}
}

static struct fill fill_of(const struct probe *p, uint16_t len, uint32_t n)
{
	return (struct fill){.shot = probe_shot(p, len), .n = n};
}

enum probe_verdict probe_find_xoff(struct probe *p, uint16_t len, uint32_t *out)
{
	uint32_t lo = 0, hi = 0; // lo frames bring no PAUSE, hi frames do
	struct fill f = fill_of(p, len, FIRST_FRAMES);
	enum probe_verdict v = fill(p, &f);

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
				    "frame %u was lost and no PAUSE came: the class is lossy, or a "
				    "watchdog ended the PAUSE of --rx",
				    f.first_lost + 1);
	if (!f.paused)
		return probe_cannot(p, "no PAUSE of class %u came in %u frames; see --most",
				    p->conf.cls, f.sent);
	for (hi = f.sent; v == PROBE_DONE && hi - lo > 1;) {
		f.n = (lo + hi) / 2;
		probe_say(p, "XOFF between %u and %u frames", lo, hi);
		v = fill(p, &f);
		if (f.paused)
			hi = f.sent;
		else
			lo = f.n;
	}
	*out = lo;
	return v;
}

enum probe_verdict probe_find_loss(struct probe *p, uint16_t len, uint32_t from, uint32_t *out)
{
	struct fill f = fill_of(p, len, from);
	uint32_t extra = FIRST_FRAMES;
	enum probe_verdict v;

	f.to_the_end = true;
	do {
		if (f.n == p->conf.most)
			return probe_cannot(p, "no frame of %u was lost; see --most", f.n);
		f.n = from + extra < p->conf.most ? from + extra : p->conf.most;
		extra *= 2;
		probe_say(p, "no loss in fewer than %u frames", f.n);
		v = fill(p, &f);
	} while (v == PROBE_DONE && f.lost == 0);
	*out = f.first_lost;
	return v;
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
static enum probe_verdict needs_two_cells(struct probe *p, uint32_t n, uint16_t len, bool *two)
{
	struct fill f = fill_of(p, len, n - n / 4);
	enum probe_verdict v = fill(p, &f);

	*two = f.paused;
	return v;
}

enum probe_verdict probe_cell(struct probe *p)
{
	enum { FEWEST = 8 };
	uint16_t lo = PROBE_LEN_MIN, hi = PROBE_LEN_MAX;
	enum probe_verdict v;
	uint32_t n;
	bool two;

	if (p->conf.cell_bytes != 0) {
		probe_found(p, PROBE_CELL, (int64_t)p->conf.cell_bytes,
			    (int64_t)p->conf.cell_bytes, (int64_t)p->conf.cell_bytes);
		return PROBE_DONE;
	}
	v = known_xoff(p, &n);
	if (v != PROBE_DONE)
		return v;
	if (n < FEWEST)
		return probe_cannot(p, "%u frames until XOFF are too few; give --cell", n);
	v = needs_two_cells(p, n, hi, &two);
	if (v == PROBE_DONE && !two)
		return probe_cannot(p, "a cell has more than %u bytes; give --cell", hi);
	// lo takes one cell, hi takes more.
	while (v == PROBE_DONE && hi - lo > 1) {
		uint16_t mid = (uint16_t)((lo + hi) / 2);

		probe_say(p, "a cell has %u to %u bytes", lo, hi - 1);
		v = needs_two_cells(p, n, mid, &two);
		if (two)
			hi = mid;
		else
			lo = mid;
	}
	if (v != PROBE_DONE)
		return v;
	if (lo == PROBE_LEN_MIN)
		return probe_cannot(p, "a cell has less than %u bytes; give --cell",
				    PROBE_LEN_MIN);
	p->conf.cell_bytes = lo;
	probe_found(p, PROBE_CELL, lo, lo, lo);
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

enum probe_verdict probe_limit(struct probe *p)
{
	uint32_t all;
	enum probe_verdict v = probe_find_loss(p, PROBE_LEN_MIN, 0, &all);

	if (v == PROBE_DONE)
		found_frames(p, PROBE_LIMIT_FRAMES, all, PROBE_LEN_MIN);
	return v;
}

// ---- XON

// The group enters XOFF with n frames at --rx and the rest at --third. Then those at --third leave.
static enum probe_verdict xon_with(struct probe *p, uint32_t n, uint32_t total, bool *xon)
{
	struct probe_shot shot = probe_shot(p, PROBE_LEN_MIN);

	for (unsigned tries = 0;;) {
		bool paused;

		if (!probe_begin(p, class_bit(p)))
			return PROBE_CANNOT;
		probe_pause(p, PROBE_THIRD, class_bit(p), true);
		probe_run(p, p->conf.settle_ns);
		shot.to = PROBE_RX;
		(void)probe_send(p, &shot, n);
		shot.to = PROBE_THIRD;
		(void)probe_send(p, &shot, total - n);
		paused = probe_settle(p, PROBE_TX, p->conf.cls);
		if (p->n_leaked != 0) {
			probe_release(p);
			if (++tries < TRIES)
				continue;
			return not_held(p);
		}
		p->held = false;
		probe_pause(p, PROBE_THIRD, class_bit(p), false);
		while (p->n_arrived < total - n) {
			uint32_t before = p->n_arrived;

			probe_run(p, p->conf.settle_ns);
			if (before == p->n_arrived)
				break;
		}
		*xon = !probe_settle(p, PROBE_TX, p->conf.cls);
		probe_release(p);
		if (p->broken)
			return PROBE_CANNOT;
		if (!paused)
			return probe_cannot(p, "the group did not enter XOFF with %u frames",
					    total);
		return PROBE_DONE;
	}
}

// By a third port: exact. The frames at --third leave, and the others do not.
static enum probe_verdict xon_by_third(struct probe *p, uint32_t xoff, uint32_t *out)
{
	uint32_t lo = 0, hi = xoff + 1; // lo frames bring XON, hi frames do not
	enum probe_verdict v = PROBE_DONE;
	bool xon;

	v = xon_with(p, 0, xoff + 1, &xon);
	if (v == PROBE_DONE && !xon)
		return probe_cannot(p, "no XON came although all frames had left");
	while (v == PROBE_DONE && hi - lo > 1) {
		uint32_t mid = (lo + hi) / 2;

		probe_say(p, "XON between %u and %u frames", lo, hi);
		v = xon_with(p, mid, xoff + 1, &xon);
		if (xon)
			lo = mid;
		else
			hi = mid;
	}
	*out = lo;
	return v;
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

	(void)p->io.gap(p->io.of);
	if (!probe_begin(p, class_bit(p)))
		return PROBE_CANNOT;
	(void)probe_send(p, &shot, xoff + 1);
	(void)probe_settle(p, PROBE_TX, p->conf.cls);
	if (p->n_leaked != 0) {
		probe_release(p);
		return not_held(p);
	}
	(void)p->io.gap(p->io.of);
	probe_release(p);
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
	uint32_t lo = 0, hi = xoff + 1; // lo frames bring no PAUSE, hi frames do
	enum probe_verdict v = PROBE_DONE;

	f.other = f.shot;
	f.other.from = PROBE_THIRD;
	f.n_other = xoff;
	while (v == PROBE_DONE && hi - lo > 1) {
		f.n = (lo + hi) / 2;
		probe_say(p, "XOFF beside a full group between %u and %u frames", lo, hi);
		v = fill(p, &f);
		if (f.paused)
			hi = f.sent;
		else
			lo = f.n;
	}
	*out = lo;
	return v;
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
