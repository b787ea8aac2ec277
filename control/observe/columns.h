// SPDX-License-Identifier: Apache-2.0
// The numbers of a switch that are shown over time, on the page of `weir --web` and in the report
// of a run: a fixed sequence of places, each a fact of fact.h of one object. docs/web.md names
// them. What no frame has used yet is not read. Changes nothing; control thread only.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "dataplane/switch.h"

struct instance;

// How many places the switch has with its present policy.
uint32_t columns_places(const struct weir_switch *sw);

// Calls fn with the present value of each place that is in use: counters since the start, true as
// 1. now_ns: of the switch.
typedef void columns_fn(void *arg, uint32_t place, double value);
void columns_read(const struct instance *in, uint64_t now_ns, columns_fn *fn, void *arg);

// Writes the name of a place as JSON: ["s1","queues","p3",3,"length_bytes"]. name: of the switch.
void columns_name(const struct weir_switch *sw, const char *name, uint32_t place, FILE *out);
// The same of something else. index: negative: null.
void columns_name_of(const char *sw, const char *list, const char *object, int index,
		     const char *fact, FILE *out);
// A text as a JSON string.
void columns_text(const char *text, FILE *out);
