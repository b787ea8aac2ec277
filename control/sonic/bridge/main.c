// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <stdio.h>

#include "control/base/standard_fds.h"
#include "control/sonic/bridge/args.h"
#include "control/sonic/bridge/bridge.h"

enum { EXIT_MISUSED = 2 };

int main(int argc, char **argv)
{
	struct bridge_args args;

	standard_fds_open();
	signal(SIGPIPE, SIG_IGN); // hiredis writes to a connection that Redis may have closed
	if (opts_completion(&bridge_opts, argc, argv))
		return 0;
	if (!bridge_args_parse(argc, argv, &args))
		return EXIT_MISUSED;
	if (args.version) {
		puts("weir-sonic " WEIR_VERSION);
		return 0;
	}
	if (args.help) {
		bridge_args_help();
		return 0;
	}
	return args.once ? bridge_once(&args) : bridge_run(&args);
}
