// SPDX-License-Identifier: Apache-2.0
// The generated pages of the manual, one function each: from the tables of commands, options,
// numbers, drop reasons and events, and from docs/configuration.md, which comes from the schema.
#pragma once

#include <stdio.h>

// docs: the directory of the manual. 0 or -1 when a source cannot be read.
// The section EXAMPLES of a page of the manual.
void page_examples(FILE *out, const char *page);

typedef int page_fn(FILE *out, const char *docs);

page_fn page_weir, page_weirctl, page_weir_host, page_weir_policy, page_counters;
page_fn page_configuration, page_scenario_functions, page_scenarios, page_weir_lab;
