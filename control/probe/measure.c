// SPDX-License-Identifier: Apache-2.0
#include "control/probe/measure.h"

#include <string.h>

#include "dataplane/qos/pfc.h"

// In the order of `all`: later ones use what earlier ones found.
const struct probe_measure probe_measures[PROBE_N_MEASURES] = {
	{"cell", "size of a cell: the longest frame that takes one", probe_cell, PROBE_CELL,
	 PROBE_CELL},
	{"xoff", "XOFF threshold of the priority group", probe_xoff, PROBE_XOFF_FRAMES,
	 PROBE_XOFF_BYTES},
	{"shared", "shared limit of the group, alone and beside a full one", probe_shared,
	 PROBE_SHARED_BYTES, PROBE_POOL_BYTES},
	{"xon", "XON threshold of the group; exact with a third port", probe_xon, PROBE_XON_CELLS,
	 PROBE_XON_BYTES},
	{"headroom", "frames that are accepted after PAUSE until a loss", probe_headroom,
	 PROBE_HEADROOM_FRAMES, PROBE_HEADROOM_BYTES},
	{"limit", "frames that the queue takes until a loss; for lossy classes", probe_limit,
	 PROBE_LIMIT_FRAMES, PROBE_LIMIT_BYTES, .congestion = true},
	{"ecn", "marking curve: kmin, kmax and pmax", probe_ecn, PROBE_KMIN, PROBE_SAMPLES},
	{"dwrr", "shares of --classes in the egress", probe_dwrr, PROBE_SHARE_0, PROBE_SHARE_7},
	{"reaction", "time and bytes from PAUSE sent to the last frame", probe_reaction,
	 PROBE_REACTION, PROBE_REACTION_BYTES, .obeys = true},
	{"watchdog", "times of a PFC watchdog: detection and restoration", probe_watchdog,
	 PROBE_DETECT, PROBE_RESTORE, .obeys = true},
};

int probe_measure_find(const char *name)
{
	for (int i = 0; i < PROBE_N_MEASURES; i++)
		if (strcmp(probe_measures[i].name, name) == 0)
			return i;
	return -1;
}

// A device that is so fast that its PAUSE ends unseen looks like one that ignores it.
static enum probe_verdict no_answer(struct probe *p)
{
	const unsigned cls = p->conf.cls;

	if (p->unseen_ns == 0)
		(void)probe_cannot(p,
				   "DSCP %d must lead to class %u, and class %u must be lossless",
				   p->conf.dscp[cls], cls, cls);
	else
		(void)probe_cannot(p,
				   "DSCP %d must lead to class %u, and class %u must be lossless; "
				   "a port above %.2g Gb/s ends a PAUSE before this probe sees it: "
				   "use --hold and --release, or a time scale",
				   p->conf.dscp[cls], cls, cls,
				   PFC_MAX_QUANTA * 512 / (double)p->unseen_ns);
	return PROBE_NO_ANSWER;
}

static enum probe_verdict run_measure(struct probe *p, const struct probe_measure *m,
			      enum probe_answer answer)
{
	bool needs = m->obeys || p->conf.hold == PROBE_HOLD_PFC;

	if (needs && answer == PROBE_RUNS_OUT)
		return probe_cannot_renew(p);
	if (needs && answer == PROBE_IGNORES)
		return no_answer(p);
	if (p->conf.hold == PROBE_HOLD_CONGESTION && !m->congestion)
		return probe_cannot(p, "it needs an egress that stands still, not congestion");
	probe_say(p, "%s", m->help);
	return m->run(p);
}

unsigned probe_measure_all(struct probe *p, unsigned which,
			   struct probe_result results[PROBE_N_MEASURES])
{
	unsigned undone = 0;
	bool passes = probe_hello(p);
	enum probe_answer answer = passes ? probe_obeys(p) : PROBE_IGNORES;

	for (unsigned i = 0; i < PROBE_N_MEASURES; i++) {
		struct probe_result *r = &results[i];

		*r = (struct probe_result){0};
		if (!(which >> i & 1))
			continue;
		r->verdict = PROBE_CANNOT;
		if (passes && !p->broken) {
			p->why[0] = '\0';
			r->verdict = run_measure(p, &probe_measures[i], answer);
		}
		if (r->verdict == PROBE_DONE)
			continue;
		memcpy(r->why, p->why, sizeof(r->why));
		undone++;
	}
	return undone;
}
