// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/np.h"

enum { MOST_DUE = 1 << 16 };

struct np_params np_params_of(const struct cc_config *c)
{
	return (struct np_params){.mode = c->np, .gap_ns = c->np_gap_ns};
}

void np_on_ce(const struct np_params *p, struct np_state *s, uint64_t now_ns)
{
	if (p->mode == NP_NONE)
		return;
	if (s->due != 0) {
		if (p->mode == NP_GAP && p->gap_ns == 0 && s->due < MOST_DUE)
			s->due++;
		return;
	}
	if (!s->has_last || now_ns - s->last_ns >= p->gap_ns)
		s->due = 1;
	else if (p->mode == NP_WINDOW)
		s->flagged = true;
}

void np_sent(struct np_state *s, uint64_t now_ns)
{
	s->due--;
	s->has_last = true;
	s->flagged = false;
	s->last_ns = now_ns;
}

uint64_t np_next(const struct np_params *p, const struct np_state *s)
{
	return s->flagged ? s->last_ns + p->gap_ns : UINT64_MAX;
}

void np_on_timer(const struct np_params *p, struct np_state *s, uint64_t now_ns)
{
	if (np_next(p, s) > now_ns)
		return;
	s->flagged = false;
	s->due = 1;
}
