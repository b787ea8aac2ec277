// SPDX-License-Identifier: Apache-2.0
// How long one PAUSE of the probe lasts in the device. A PAUSE counts in quanta of the device's own
// speed, which a veth link does not know: it always says 10G.
//
// A trial sends one PAUSE and a train of frames behind it. A device that obeys sends the train when
// the PAUSE has run out. Delays make a trial longer and never shorter, so the shortest one counts.
#include "control/probe/probe.h"
#include "dataplane/base/units.h"
#include "dataplane/qos/pfc.h"

enum {
	TRAIN = 16,
	TRIALS = 8,
	ATTEMPTS = 4 * TRIALS, // a train that begins late is no trial
	LATE_NS = 300 * US_NS,
	LONGEST_WAIT_NS = 100 * US_NS, // of the train for the PAUSE
	LOOK_NS = 20 * US_NS,
	SURE_NS = 2 * MS_NS, // a hold of this length is exact enough
	NOISE_NS = 50 * US_NS, // differences below this are the machine's
};
static const uint64_t SLOWEST_BPS = 10000000;

// Of one trial, or the shortest of several.
struct hold {
	uint64_t end_ns; // from the PAUSE until the arrival of the frame that waited longest
	uint64_t way_ns; // from its sending
};

static bool train_arrives(struct probe *p, uint64_t until_ns)
{
	while (p->n_arrived < p->n_sent && probe_now(p) < until_ns)
		probe_run(p, LOOK_NS);
	return p->n_arrived == p->n_sent;
}

// False: the train began late or a frame was lost, and the trial says nothing.
static bool try_once(struct probe *p, enum probe_port to, uint16_t quanta, struct hold *h)
{
	struct probe_shot shot = probe_shot(p, PROBE_LEN_MIN);
	uint64_t begin, limit = pfc_quanta_ns(SLOWEST_BPS, quanta) + p->conf.settle_ns;
	bool whole;

	shot.to = to;
	(void)probe_begin(p, 0);
	begin = probe_now(p);
	if (quanta != 0) {
		probe_pause_once(p, to, quanta);
		probe_run(p, min_u64(p->path_ns, LONGEST_WAIT_NS));
	}
	(void)probe_send(p, &shot, TRAIN);
	whole = train_arrives(p, begin + limit);
	// A device below the slowest speed is released.
	if (quanta != 0)
		probe_pause_once(p, to, 0);
	if (!whole && !train_arrives(p, probe_now(p) + p->conf.settle_ns))
		return false;
	*h = (struct hold){0};
	for (uint32_t i = 0; i < TRAIN; i++) {
		const struct probe_seen *s = &p->seen[i];

		if (s->t_ns - s->sent_ns > h->way_ns)
			*h = (struct hold){s->t_ns - begin, s->t_ns - s->sent_ns};
	}
	return p->seen[0].sent_ns - begin <= LATE_NS;
}

// The shortest hold of those that are longer than least_ns. False: two trials were shorter, or too
// few were valid, which too_late says.
static bool shortest(struct probe *p, enum probe_port to, uint16_t quanta, uint64_t least_ns,
		     struct hold *out)
{
	unsigned n = 0, below = 0;
	struct hold h;

	p->too_late = false;
	*out = (struct hold){UINT64_MAX, UINT64_MAX};
	for (unsigned i = 0; i < ATTEMPTS && n < TRIALS; i++) {
		if (!try_once(p, to, quanta, &h))
			continue;
		n++;
		if (h.way_ns <= least_ns) {
			if (++below == 2)
				return false;
			continue;
		}
		if (h.end_ns < out->end_ns)
			*out = h;
	}
	p->too_late = n < TRIALS;
	return !p->too_late;
}

// How long a PAUSE of these quanta holds frames; 0: not seen.
static uint64_t hold_ns(struct probe *p, enum probe_port to, uint16_t quanta,
			const struct hold *idle)
{
	struct hold held;

	return shortest(p, to, quanta, p->unseen_ns, &held) ? held.end_ns - idle->way_ns : 0;
}

uint64_t probe_lifetime(struct probe *p, enum probe_port to)
{
	// A short PAUSE tells a slow device, and does not begin a storm there.
	static const uint16_t quanta[] = {1024, 8192, 65535};
	enum { N = sizeof(quanta) / sizeof(quanta[0]) };
	uint64_t ns, sure_ns = 0, unsure_ns = 0;
	struct hold idle;

	if (!shortest(p, to, 0, 0, &idle))
		return 0;
	p->unseen_ns = 3 * idle.way_ns + NOISE_NS;
	for (unsigned i = 0; i < N; i++) {
		ns = hold_ns(p, to, quanta[i], &idle);
		if (ns == 0)
			continue;
		unsure_ns = ns * p->conf.quanta / quanta[i];
		if (ns < SURE_NS || i == N - 1) {
			sure_ns = unsure_ns;
		} else if (4 * hold_ns(p, to, quanta[i] / 2, &idle) < 3 * ns && !p->too_late) {
			// Delays alone may be as long, also in the shortest trial. They do not
			// grow with the quanta.
			sure_ns = unsure_ns;
			break;
		}
	}
	if (unsure_ns != 0)
		p->lifetime_ns[to] = sure_ns != 0 ? sure_ns : unsure_ns;
	return p->lifetime_ns[to];
}
