// SPDX-License-Identifier: Apache-2.0
// The page docs/scenario-functions.md: what can be expected of a run, and recorded.
#include "control/lab/expr_func.h"
#include "control/manual/pages.h"

int page_scenario_functions(FILE *out, const char *docs)
{
	(void)docs;
	expr_func_docs(out);
	return 0;
}
