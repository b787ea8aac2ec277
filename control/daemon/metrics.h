// SPDX-License-Identifier: Apache-2.0
// The page of metrics for Prometheus, and a very small HTTP server that hands it out: GET /metrics,
// one answer per connection.
//
// The server never blocks the control thread. Connections, bytes of a request, and the time of each
// direction are bounded. All clients share a page that is at most 100 ms old. A connection beyond
// the number takes the place of the oldest request that is incomplete after METRICS_REQUEST_MS, or
// of a client that has not read its answer for METRICS_ANSWER_MS. Until then the connection waits
// in the backlog. The server changes nothing in the switch and reads no more than the request line.
// Called by the control thread only.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "control/daemon/http.h"
#include "control/daemon/eventlog.h"
#include "control/observe/observe.h"

struct metrics;

enum {
	METRICS_MAX_CLIENTS = 8,
	METRICS_TIMEOUT_MS = 5000, // from the connection to the last byte of the answer
	METRICS_REQUEST_MS = 50, // a request has so long when others wait for its place
	METRICS_ANSWER_MS = 500, // an answer has so long when others wait for its place
	METRICS_PAGE_MS = 100, // a page is handed out again for so long
};

// The page, to be freed; NULL when memory ran out.
char *metrics_page(struct observe *o, const struct eventlog *log, uint64_t now_ns, size_t *len);

// Listens. 0 or -errno; *out is untouched on failure.
__attribute__((warn_unused_result)) int metrics_create(const struct endpoint *at, struct observe *o,
						       const struct eventlog *log,
						       struct metrics **out);
void metrics_destroy(struct metrics *m); // NULL is fine

// Once per control loop: takes connections, reads, answers, as far as that goes now. NULL is fine.
void metrics_poll(struct metrics *m, uint64_t now_ns);
