// SPDX-License-Identifier: Apache-2.0
#include "control/lab/bursts.h"

#include "control/lab/fabric.h"
#include "control/observe/burstlog.h"

bool lab_bursts_look(struct fabric *f, uint64_t now_ns)
{
	for (uint32_t i = 0; i < f->sc->n_switches; i++) {
		struct fabric_switch *s = &f->switches[i];
		const struct policy *p = switch_policy(s->in.sw);

		if (s->bursts == NULL && p->microbursts.window_ns != 0 &&
		    burstlog_create(p->n_ports, &s->bursts) != 0)
			return false;
		if (s->bursts != NULL)
			burstlog_poll(s->bursts, s->in.sw,
				      &(struct burst_clock){now_ns, now_ns, 1});
	}
	return true;
}

void lab_bursts_destroy(struct fabric *f)
{
	for (uint32_t i = 0; f->switches != NULL && i < f->sc->n_switches; i++)
		burstlog_destroy(f->switches[i].bursts);
}
