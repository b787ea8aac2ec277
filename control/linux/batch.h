// SPDX-License-Identifier: Apache-2.0
// When changes of the kernel's routes become a new table. A change after a pause does so at once:
// it may be the new path of a link that is lost. In a series of changes a batch ends when the
// kernel has been quiet for 5 ms, or 50 ms after its first change. Times are in nanoseconds and
// come from the caller, which is the control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct batch {
	uint64_t first_ns, latest_ns; // changes that are in no table yet; 0: none
	uint64_t ended_ns; // of the last batch
	uint64_t not_before_ns; // the next one
};

// One more change.
void batch_change(struct batch *b, uint64_t now_ns);
// Whether to make a table. read_all: no more messages of the kernel wait. stale: routes may still
// go without a message, so the kernel must have been quiet.
bool batch_due(const struct batch *b, uint64_t now_ns, bool read_all, bool stale);
// All changes are in a table of so many prefixes; 0: the running one.
void batch_end(struct batch *b, uint64_t now_ns, uint32_t n_prefixes);
// The table could not be published.
void batch_again(struct batch *b, uint64_t now_ns);
