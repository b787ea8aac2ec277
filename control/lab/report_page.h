// SPDX-License-Identifier: Apache-2.0
// What the page of a run shows (web/), as one object of JSON; docs/web.md has its keys. Control
// thread only; after measure_finish.
#pragma once

#include "control/lab/report.h"

// Writes the page with the data in it. 0, -ENOMEM.
__attribute__((warn_unused_result)) int report_page(const struct run *r, FILE *out);
