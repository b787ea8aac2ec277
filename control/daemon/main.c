// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/daemon.h"

int main(int argc, char **argv)
{
	struct options opt = {0};

	switch (options_parse(argc, argv, &opt)) {
	case OPTIONS_DONE: return 0;
	case OPTIONS_MISUSED: return 2;
	case OPTIONS_RUN: break;
	}
	return daemon_run(&opt);
}
