// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/daemon.h"

#include "control/daemon/daemon_impl.h"

int daemon_run(const struct options *opt)
{
	struct daemon d = {.opt = opt};
	int status;

	signals_install();
	status = bring_up(&d);
	if (status != 0)
		return status;
	run_loop(&d);
	drain(&d);
	status = report_balance(&d);
	take_down(&d);
	return status;
}
