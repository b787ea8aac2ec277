// SPDX-License-Identifier: Apache-2.0
// The numbers of a switch in the text format of Prometheus (exposition format 0.0.4): names, types
// and help come from the rows of fact.h, values from the same builders that answer `show`, but
// counted since the start: `clear counters` does not touch them, so a rate over it is right.
//
// Residence times are a histogram with a bucket for each power of two of nanoseconds. The switch
// keeps no sum of them, so there is no _sum and no average. Called by the control thread.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "control/observe/fact.h"
#include "control/observe/observe.h"
#include "dataplane/event.h"

// Values that observe does not have.
struct prometheus_about {
	const char *version;
	uint64_t events[N_EVENT_TYPES]; // since the start
	uint64_t log_lost; // lines of standard error, likewise
};

enum { RESIDENCE_LE_FIRST = 8, RESIDENCE_LE_LAST = 34 }; // buckets from 2^8 ns to 2^34 ns

// The whole page, to be freed; NULL when memory ran out.
char *prometheus_page(struct observe *o, const struct prometheus_about *about, uint64_t now_ns,
		      size_t *len);

// A label value with what must be escaped.
void prometheus_label(FILE *out, const char *value);
