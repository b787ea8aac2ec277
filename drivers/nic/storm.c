// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/storm.h"

static uint64_t end_of(const struct storm *s)
{
	return s->p.for_ns > UINT64_MAX - s->p.start_ns ? UINT64_MAX : s->p.start_ns + s->p.for_ns;
}

// Of the present burst; without bursts the storm is one.
static uint64_t burst_end(const struct storm *s)
{
	uint64_t end = end_of(s);

	if (s->p.period_ns == 0 || end - s->from_ns < s->p.burst_ns)
		return end;
	return s->from_ns + s->p.burst_ns;
}

// This burst is over, and what it had to say is said. Those that are over meanwhile are left out.
static void next_burst(struct storm *s, uint64_t now_ns)
{
	uint64_t end = end_of(s), periods = 1;

	s->next_ns = UINT64_MAX;
	if (s->p.period_ns == 0 || end - s->from_ns <= s->p.period_ns)
		return;
	if (now_ns - s->from_ns >= s->p.burst_ns)
		periods += (now_ns - s->from_ns - s->p.burst_ns) / s->p.period_ns;
	s->from_ns += s->p.period_ns * periods;
	if (s->from_ns < end)
		s->next_ns = s->from_ns;
}

void storm_start(struct storm *s, const struct storm_params *p)
{
	*s = (struct storm){.p = *p, .from_ns = p->start_ns, .next_ns = p->start_ns};
}

void storm_stop(struct storm *s, uint64_t now_ns)
{
	if (s->next_ns == UINT64_MAX || now_ns < s->p.start_ns)
		return;
	s->p.for_ns = now_ns - s->p.start_ns;
	// Between two bursts there is nothing to take back.
	s->next_ns = s->p.silent_end || s->from_ns > now_ns ? UINT64_MAX : now_ns;
}

bool storm_due(const struct storm *s, uint64_t now_ns, struct pfc_times *f)
{
	if (s->next_ns == UINT64_MAX || now_ns < s->next_ns)
		return false;
	*f = (struct pfc_times){.enable = s->p.classes};
	for (unsigned c = 0; c < 8; c++)
		if (s->p.classes & 1u << c && now_ns < burst_end(s))
			f->quanta[c] = s->p.quanta;
	return true;
}

uint64_t storm_sent(struct storm *s, uint64_t now_ns)
{
	uint64_t end = burst_end(s), missed;

	if (now_ns >= end) {
		missed = (end - s->next_ns + s->p.every_ns - 1) / s->p.every_ns;
		next_burst(s, now_ns);
		return missed;
	}
	missed = (now_ns - s->next_ns) / s->p.every_ns;
	s->next_ns += (missed + 1) * s->p.every_ns;
	if (s->next_ns >= end) {
		s->next_ns = end;
		if (s->p.silent_end)
			next_burst(s, now_ns);
	}
	return missed;
}
