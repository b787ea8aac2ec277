// SPDX-License-Identifier: Apache-2.0
// A file of its own: tests of what people see have views of their own in place of an agent.
#include "control/autoecn/agent.h"
#include "dataplane/policy.h"

struct wred_params autoecn_wred(const struct autoecn *a, const struct policy *p, unsigned port,
				unsigned queue)
{
	struct wred_params wred = p->ports[port].queue[queue].wred;
	struct autoecn_view view;

	if (autoecn_view(a, port, queue, &view))
		for (unsigned color = 0; color < N_COLORS; color++)
			wred.curve[color] = wred_curve_of(view.now.kmin_bytes, view.now.kmax_bytes,
							  view.now.pmax_ppm);
	return wred;
}
