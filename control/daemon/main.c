// SPDX-License-Identifier: Apache-2.0
#include "control/base/standard_fds.h"
#include "control/daemon/daemon.h"
#include "control/daemon/selftest.h"

int main(int argc, char **argv)
{
	struct options opt = {0};

	standard_fds_open();
	switch (options_parse(argc, argv, &opt)) {
	case OPTIONS_DONE: return 0;
	case OPTIONS_MISUSED: return 2;
	case OPTIONS_RUN: break;
	}
	return opt.n_ports > 0 ? selftest_run(&opt) : daemon_run(&opt);
}
