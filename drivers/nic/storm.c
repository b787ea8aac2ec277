// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/storm.h"

static uint64_t end_of(const struct storm *s)
{
	return s->p.for_ns > UINT64_MAX - s->p.start_ns ? UINT64_MAX : s->p.start_ns + s->p.for_ns;
}

void storm_start(struct storm *s, const struct storm_params *p)
{
	*s = (struct storm){.p = *p, .next_ns = p->start_ns};
}

void storm_stop(struct storm *s, uint64_t now_ns)
{
	if (s->next_ns == UINT64_MAX || now_ns < s->p.start_ns)
		return;
	s->p.for_ns = now_ns - s->p.start_ns;
	s->next_ns = s->p.silent_end ? UINT64_MAX : now_ns;
}

bool storm_due(const struct storm *s, uint64_t now_ns, struct pfc_times *f)
{
	if (s->next_ns == UINT64_MAX || now_ns < s->next_ns)
		return false;
	*f = (struct pfc_times){.enable = s->p.classes};
	for (unsigned c = 0; c < 8; c++)
		if (s->p.classes & 1u << c && now_ns < end_of(s))
			f->quanta[c] = s->p.quanta;
	return true;
}

void storm_sent(struct storm *s, uint64_t now_ns)
{
	uint64_t end = end_of(s), missed;

	if (now_ns >= end) {
		s->next_ns = UINT64_MAX;
		return;
	}
	missed = (now_ns - s->next_ns) / s->p.every_ns;
	s->next_ns += (missed + 1) * s->p.every_ns;
	if (s->next_ns >= end)
		s->next_ns = s->p.silent_end ? UINT64_MAX : end;
}
