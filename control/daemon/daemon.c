// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/daemon.h"

#include <stdio.h>
#include <string.h>

#include "control/config/terminal.h"
#include "control/daemon/daemon_impl.h"
#include "control/daemon/outlet.h"
#include "control/daemon/signals.h"

int daemon_run(const struct options *opt)
{
	struct daemon d = {.opt = opt};
	int status;

	signals_install();
	terminal_keep_widths();
	status = outlet_open();
	if (status != 0) {
		fprintf(stderr, "weir: cannot make pipes for its output: %s\n", strerror(-status));
		return EXIT_FAILED;
	}
	status = bring_up(&d);
	if (status == 0) {
		run_loop(&d);
		drain(&d);
		status = report_balance(&d);
		take_down(&d);
	}
	outlet_close();
	return status;
}
