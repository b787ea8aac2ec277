// SPDX-License-Identifier: Apache-2.0
// Commands about a policy file, without a switch: check and plan.
#include <stdio.h>

#include "control/config/plan.h"
#include "control/ctl/ctl.h"

int cmd_check(const struct ctl *c, int argc, char **argv)
{
	if (argc != 1)
		return misused_words("check");
	return check_print(argv[0], c->json, c->strict, stdout);
}

int cmd_plan(const struct ctl *c, int argc, char **argv)
{
	struct diags d = {0};
	struct config *cfg = NULL;
	int status;

	if (argc != 1)
		return misused_words("plan");
	status = config_load(argv[0], &cfg, &d) != 0 ? CTL_MISUSED : CTL_DONE;
	diags_print(&d);
	diags_fini(&d);
	if (status == CTL_DONE)
		status = plan_print(cfg, c->json, stdout);
	config_destroy(cfg);
	return status;
}
