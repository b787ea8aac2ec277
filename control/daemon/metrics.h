// SPDX-License-Identifier: Apache-2.0
// The page of metrics for Prometheus, and its server (httpd.h): GET /metrics. All clients share a
// page that is at most 100 ms old. Changes nothing in the switch. Control thread only.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "control/daemon/eventlog.h"
#include "control/daemon/http.h"
#include "control/observe/observe.h"

struct metrics;

enum {
	METRICS_MAX_CLIENTS = 8,
	METRICS_PAGE_MS = 100, // a page is handed out again for so long
};

// The page, to be freed; NULL when memory ran out.
char *metrics_page(struct observe *o, const struct eventlog *log, uint64_t now_ns, size_t *len);

// Listens. 0 or -errno; *out is untouched on failure.
__attribute__((warn_unused_result)) int metrics_create(const struct endpoint *at, struct observe *o,
						       const struct eventlog *log,
						       struct metrics **out);
void metrics_destroy(struct metrics *m); // NULL is fine

// Once per control loop. NULL is fine.
void metrics_poll(struct metrics *m, uint64_t now_ns);
