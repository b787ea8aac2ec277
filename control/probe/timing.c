// SPDX-License-Identifier: Apache-2.0
// The measures of times and shares: weights of classes, reaction to PAUSE, watchdog. Times
// come with bounds: the probe looks at its ports at moments, and a frame is seen up to one gap
// between two looks after it came.
#include "control/probe/measure.h"
#include "dataplane/base/units.h"

enum {
	DWRR_MOST = 1500, // frames of each class
	DWRR_LEN = 256,
	WARM_UP = 50, // frames before the PAUSE
	REACTIONS = 5,
	TRIES = 20, // a reaction is measured again when the PAUSE ran out
	STORMS = 4, // a storm is made again when its PAUSE ran out
	TRICKLE = 64, // frames in the time in which a restoration is looked for, per settle time
};

// ---- weights

// Bytes of each class until the first one has no frame left.
static uint64_t count_shares(const struct probe *p, uint64_t bytes[PROBE_CLASSES])
{
	uint32_t left[PROBE_CLASSES] = {0}, end = UINT32_MAX, last[PROBE_CLASSES] = {0};
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->n_sent; i++) {
		const struct probe_seen *s = &p->seen[i];

		left[s->cls]++;
		if (s->t_ns != 0 && s->nth >= last[s->cls])
			last[s->cls] = s->nth;
	}
	for (unsigned c = 0; c < PROBE_CLASSES; c++)
		if (left[c] != 0 && last[c] < end)
			end = last[c];
	for (uint32_t i = 0; i < p->n_sent; i++) {
		const struct probe_seen *s = &p->seen[i];

		if (s->t_ns == 0 || s->nth > end)
			continue;
		bytes[s->cls] += s->len;
		sum += s->len;
	}
	return sum;
}

static void found_shares(struct probe *p)
{
	uint64_t bytes[PROBE_CLASSES] = {0}, sum = count_shares(p, bytes);

	for (unsigned i = 0; i < p->conf.n_classes; i++) {
		unsigned c = p->conf.classes[i];
		int64_t ppm = (int64_t)(bytes[c] * PPM / sum);
		// A scheduler serves up to one frame of full size out of turn, at each end.
		int64_t off = (int64_t)(2ull * PROBE_LEN_MAX * PPM / sum);

		probe_found(p, PROBE_SHARE_0 + c, ppm, ppm > off ? ppm - off : 0,
			    ppm + off < PPM ? ppm + off : PPM);
		if (bytes[c] == sum && p->conf.n_classes > 1)
			p->word[PROBE_SHARE_0 + c] = "strict";
	}
}

enum probe_verdict probe_dwrr(struct probe *p)
{
	uint32_t per_class = p->conf.most / PROBE_CLASSES;
	struct probe_shot shot = probe_shot(p, DWRR_LEN);
	uint8_t classes = 0;
	uint32_t lost;

	if (p->conf.n_classes < 2)
		return probe_cannot(p, "name two classes or more with --classes");
	per_class = per_class > DWRR_MOST ? DWRR_MOST : per_class;
	// Room for all classes in the buffer that one class found.
	if (p->value[PROBE_XOFF_BYTES].given) {
		uint64_t room = (uint64_t)p->value[PROBE_XOFF_BYTES].value / p->conf.n_classes / 2;

		per_class = (uint32_t)min_u64(per_class, room / DWRR_LEN);
	}
	for (unsigned i = 0; i < p->conf.n_classes; i++)
		classes |= (uint8_t)(1u << p->conf.classes[i]);
	if (!probe_begin(p, classes))
		return PROBE_CANNOT;
	for (uint32_t n = 0; n < per_class; n++)
		for (unsigned i = 0; i < p->conf.n_classes; i++) {
			shot.cls = p->conf.classes[i];
			(void)probe_send(p, &shot, 1);
		}
	(void)probe_settle(p, PROBE_TX, p->conf.cls);
	probe_release(p);
	if (p->n_leaked != 0)
		return probe_cannot(p,
				    "frames left the egress although it was held; hold lossy "
				    "classes with --hold");
	lost = probe_lost(p);
	if (p->broken)
		return PROBE_CANNOT;
	if (lost != 0 || p->n_arrived == 0)
		return probe_cannot(p, "%u frames were lost", lost);
	found_shares(p);
	return PROBE_DONE;
}

// ---- reaction

struct reaction {
	struct probe_value time, bytes; // given: a frame came after the PAUSE
	bool ends; // else frames go on to come
	bool ran_out; // frames came again when a PAUSE had run out
};

// Frames that came after the PAUSE. Returns the last frame of the trial that came.
static uint32_t count_reaction(const struct probe *p, uint64_t paused_ns, uint64_t sent_ns,
			       uint64_t gap_ns, struct reaction *r)
{
	uint64_t before_ns = sent_ns;
	uint32_t last = 0;

	for (uint32_t i = 0; i < p->n_sent; i++) {
		const struct probe_seen *s = &p->seen[i];

		if (s->t_ns == 0)
			continue;
		last = i;
		// The frame may have come before the PAUSE, and the probe looked later.
		r->bytes.low += s->t_ns > sent_ns + gap_ns ? s->len : 0;
		r->bytes.high += s->t_ns > paused_ns ? s->len : 0;
		r->ran_out |= s->t_ns > before_ns + probe_pause_ns(p, PROBE_RX) / 2;
		before_ns = max_u64(before_ns, s->t_ns);
	}
	r->bytes.value = r->bytes.high;
	return last;
}

// One PAUSE under load: the time to the last frame and the bytes that came, with their bounds.
static struct reaction react(struct probe *p)
{
	const struct probe_shot shot = probe_shot(p, PROBE_LEN_MAX);
	uint64_t pace = max_u64(p->conf.interval_ns, probe_wire_ns(p, PROBE_TX, shot.len));
	struct probe_value *t;
	struct reaction r = {0};
	uint64_t paused_ns, sent_ns, gap;
	uint32_t last;

	(void)probe_begin(p, 0);
	(void)probe_send(p, &shot, WARM_UP);
	(void)p->io.gap(p->io.of);
	paused_ns = probe_now(p);
	probe_pause(p, PROBE_RX, (uint8_t)(1u << p->conf.cls), true);
	sent_ns = probe_now(p);
	// Frames go on until the device has been silent for long.
	do {
		if (!probe_send(p, &shot, 1))
			break;
	} while (probe_now(p) < max_u64(p->last_arrival_ns, sent_ns) + p->conf.settle_ns / 2);
	gap = p->io.gap(p->io.of);
	last = count_reaction(p, paused_ns, sent_ns, gap, &r);
	if (last + 1 < p->n_sent)
		pace = max_u64(pace, p->seen[last + 1].sent_ns - p->seen[last].sent_ns);
	r.time.given = r.bytes.given = r.bytes.high != 0;
	r.ends = p->n_sent < p->conf.most;
	t = &r.time;
	t->value = t->given ? (int64_t)(p->seen[last].t_ns - paused_ns) : 0;
	// The device stopped after it had begun the last frame, and before it began another one.
	t->low = t->value - (int64_t)(gap + (sent_ns - paused_ns) +
				      probe_wire_ns(p, PROBE_RX, shot.len));
	t->low = t->low < 0 ? 0 : t->low;
	t->high = t->value + (int64_t)pace;
	// Another one was ready when it had passed the device.
	if (!t->given)
		t->value = t->high += (int64_t)p->path_ns;
	probe_release(p);
	r.ran_out |= probe_ran_out(p);
	return r;
}

enum probe_verdict probe_reaction(struct probe *p)
{
	struct reaction worst = {.time = {.value = -1}}, most = {.bytes = {.value = -1}};

	for (unsigned i = 0, tries = 0; i < REACTIONS;) {
		struct reaction r = react(p);

		if (r.ran_out && ++tries < TRIES)
			continue;
		if (r.ran_out)
			return probe_cannot_renew(p);
		if (!r.ends)
			return probe_cannot(p, "frames come on after a PAUSE");
		if (p->n_missed != 0)
			return probe_cannot(p, "the probe lost frames at its own ports");
		// A time counts more than a bound.
		if (r.time.given > worst.time.given ||
		    (r.time.given == worst.time.given && r.time.value > worst.time.value))
			worst = r;
		if (r.bytes.value > most.bytes.value)
			most = r;
		probe_say(p, "reaction %u of %u", ++i, REACTIONS);
	}
	probe_found(p, PROBE_REACTION, worst.time.value, worst.time.low, worst.time.high);
	if (most.bytes.given)
		probe_found(p, PROBE_REACTION_BYTES, most.bytes.value, most.bytes.low,
			    most.bytes.high);
	else
		p->word[PROBE_REACTION] = "at most: no frame came after the PAUSE";
	return PROBE_DONE;
}

// ---- watchdog

struct storm {
	uint64_t begin_ns, begun_ns; // the clock of the device starts between them
	uint64_t act_ns; // first sign of the watchdog; 0: none
	uint64_t act_gap_ns;
	bool forwards; // it sends the frames in place of discarding them
	bool ran_out; // frames came since a PAUSE ran out: no storm
	uint64_t end_ns; // last PAUSE
	uint64_t alive_ns, dead_ns; // the class worked again after dead_ns, until alive_ns
};

// The group is in XOFF. A watchdog that discards frames lets the group send XON; one that forwards
// lets frames come.
static void await_act(struct probe *p, struct storm *s)
{
	const struct probe_pfc *pfc = &p->pfc[PROBE_TX][p->conf.cls];
	uint64_t limit = s->begun_ns + p->conf.storm_ns, look = p->conf.settle_ns / 256 + 1;

	(void)p->io.gap(p->io.of);
	while (s->act_ns == 0 && probe_now(p) < limit) {
		uint64_t from = probe_now(p);

		probe_run(p, look);
		if (p->last_arrival_ns >= from && p->last_arrival_ns > s->begun_ns) {
			s->act_ns = p->last_arrival_ns;
			s->forwards = true;
		}
		if (pfc->xon_ns > s->begun_ns && !s->forwards)
			s->act_ns = pfc->xon_ns;
	}
	// Of several frames the first one counts.
	for (uint32_t i = 0; s->forwards && i < p->n_sent; i++)
		if (p->seen[i].t_ns > s->begun_ns)
			s->act_ns = min_u64(s->act_ns, p->seen[i].t_ns);
	s->act_gap_ns = p->io.gap(p->io.of);
}

// Frames one by one until one of them arrives.
static void await_return(struct probe *p, struct storm *s)
{
	const struct probe_shot shot = probe_shot(p, PROBE_LEN_MIN);
	// Numbers for frames must last as long as the wait does.
	uint64_t every = max_u64(p->conf.settle_ns / TRICKLE + 1,
				 2 * p->conf.storm_ns / p->conf.most);
	uint64_t limit = probe_now(p) + p->conf.storm_ns;
	uint32_t first = p->n_sent, i;

	while (probe_now(p) < limit) {
		if (!probe_send(p, &shot, 1))
			break;
		probe_run(p, every);
		for (i = first; i < p->n_sent && p->seen[i].t_ns == 0;)
			i++;
		if (i == p->n_sent)
			continue;
		s->alive_ns = p->seen[i].t_ns;
		s->dead_ns = i == first ? s->end_ns : p->seen[i - 1].sent_ns;
		return;
	}
}

// A watchdog that forwards goes on to do so. A PAUSE that ran out lets a burst pass, and the next
// PAUSE holds again.
static bool next_frame_comes(struct probe *p)
{
	const struct probe_shot shot = probe_shot(p, PROBE_LEN_MIN);
	uint32_t i = p->n_sent;

	probe_run(p, p->conf.settle_ns);
	if (!probe_send(p, &shot, 1))
		return false;
	// The frames before it may still leave.
	do
		probe_run(p, p->conf.settle_ns);
	while (p->seen[i].t_ns == 0 && probe_now(p) < p->last_arrival_ns + p->conf.settle_ns);
	return p->seen[i].t_ns != 0;
}

// A storm that goes on for `more_ns` after the watchdog has acted.
static enum probe_verdict one_storm(struct probe *p, uint64_t more_ns, struct storm *s)
{
	const struct probe_shot shot = probe_shot(p, PROBE_LEN_MAX);
	uint8_t bit = (uint8_t)(1u << p->conf.cls);

	*s = (struct storm){0};
	(void)probe_begin(p, 0);
	s->begin_ns = probe_now(p);
	probe_pause(p, PROBE_RX, bit, true);
	(void)probe_send(p, &shot, 1);
	s->begun_ns = probe_now(p);
	// A first frame that the PAUSE did not stop restarts the clock of the device.
	while (!probe_paused(p, PROBE_TX, p->conf.cls)) {
		if (!probe_send(p, &shot, 1)) {
			probe_release(p);
			return probe_cannot(p, "no PAUSE came in %u frames", p->n_sent);
		}
		if (p->n_sent < WARM_UP && p->last_arrival_ns > s->begun_ns)
			s->begun_ns = p->last_arrival_ns;
		if (p->pfc[PROBE_TX][p->conf.cls].n_xon != 0)
			break;
	}
	await_act(p, s);
	s->ran_out = s->forwards ? !next_frame_comes(p) : p->last_arrival_ns > s->begun_ns;
	s->ran_out |= p->renewed_ns >= probe_pause_ns(p, PROBE_RX);
	if (s->act_ns != 0 && more_ns != 0)
		probe_run(p, more_ns);
	s->end_ns = p->pause_sent_ns[PROBE_RX];
	p->pausing[PROBE_RX] = 0; // without XON
	if (s->act_ns != 0 && !s->forwards && !s->ran_out)
		await_return(p, s);
	probe_release(p);
	return PROBE_DONE;
}

static enum probe_verdict storm(struct probe *p, uint64_t more_ns, struct storm *s)
{
	for (unsigned i = 0; i < STORMS; i++) {
		enum probe_verdict v = one_storm(p, more_ns, s);

		if (v != PROBE_DONE || !s->ran_out)
			return v;
	}
	return probe_cannot_renew(p);
}

// The class is restored after the last frame that was lost was sent, and before the first one that
// passed came. It counts from the act, or from a later last PAUSE: a second, longer storm tells.
static void found_restore(struct probe *p, const struct storm *a, const struct storm *b)
{
	uint64_t late = p->path_ns + a->act_gap_ns; // of what we see
	// Less than nothing where the second one happened to be restored a little sooner.
	int64_t grown = (int64_t)(b->alive_ns - b->act_ns) - (int64_t)(a->alive_ns - a->act_ns);
	bool from_act = grown < (int64_t)(b->end_ns - b->act_ns) / 2;
	uint64_t from = a->act_ns, to = a->act_ns - late;
	int64_t low, high;

	if (!from_act) {
		from = max_u64(from, a->end_ns + p->path_ns);
		to = max_u64(to, a->end_ns);
	}
	low = (int64_t)(a->dead_ns - from);
	high = (int64_t)(a->alive_ns - to);
	p->word[PROBE_RESTORE] = from_act ? "after the act (mode xoff)"
					  : "after the last PAUSE or the act (mode progress)";
	probe_found(p, PROBE_RESTORE, (low + high) / 2, low, high);
}

// The first frame is on its way there, and the sign of the act on its way back.
static struct probe_value detection(const struct probe *p, const struct storm *s)
{
	struct probe_value v = {.given = true};

	v.low = (int64_t)(s->act_ns - s->begun_ns) - (int64_t)(s->act_gap_ns + 2 * p->path_ns);
	v.high = (int64_t)(s->act_ns - s->begin_ns);
	v.value = (v.low + v.high) / 2;
	return v;
}

static void widen(struct probe_value *all, const struct probe_value *v)
{
	if (v->given && v->low < all->low)
		all->low = v->low;
	if (v->given && v->high > all->high)
		all->high = v->high;
}

// A PAUSE that reaches the device late starts the clock of the watchdog again, and no frame need
// leave. So two storms must agree; the bounds contain those before.
enum probe_verdict probe_watchdog(struct probe *p)
{
	struct probe_value x, y, all = {.low = INT64_MAX};
	struct storm a, b;

	for (unsigned i = 0; i < STORMS; i++) {
		enum probe_verdict v = storm(p, 0, &a);

		if (v == PROBE_DONE && a.act_ns == 0)
			return probe_cannot(p,
					    "no watchdog acted: it is off, only alerts, or takes "
					    "longer than --storm");
		if (v != PROBE_DONE)
			return v;
		probe_say(p, "a second storm, for the restoration");
		// No frame tells when a watchdog that forwards ends to do so.
		if (a.forwards)
			probe_run(p, p->conf.storm_ns);
		v = storm(p, (a.act_ns - a.begun_ns) / 2, &b);
		if (v != PROBE_DONE)
			return v;
		x = detection(p, &a);
		y = b.act_ns != 0 ? detection(p, &b) : (struct probe_value){0};
		widen(&all, &x);
		if (!y.given || x.low > y.high || y.low > x.high) {
			widen(&all, &y);
			continue;
		}
		p->word[PROBE_DETECT] = a.forwards ? "forwards" : "discards";
		if (i != 0)
			p->word[PROBE_DETECT] = a.forwards ? "forwards; storms disagreed"
							   : "discards; storms disagreed";
		probe_found(p, PROBE_DETECT, x.value, all.low, all.high);
		if (a.alive_ns != 0 && b.alive_ns != 0)
			found_restore(p, &a, &b);
		return PROBE_DONE;
	}
	return probe_cannot(p, "the detection differs from storm to storm");
}
