// SPDX-License-Identifier: Apache-2.0
// The numbers of a switch at one moment, for readers in other threads: the answers to `show`,
// without references into the switch. Long lists are cut into pages for replies of limited size.
//
// snapshot_take is called by the control thread. Everything else may run in any thread: it changes
// nothing and counts no references.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/observe/fact.h"
#include "control/observe/observe.h"

struct snapshot {
	struct json_object *lists[N_FACT_LISTS]; // NULL: not kept, as the facts have no prefix
};

struct snapshot *snapshot_take(struct observe *o, uint64_t now_ns); // NULL: out of memory
void snapshot_free(struct snapshot *s); // NULL is fine

// Row i of a list.
struct json_object *snapshot_row(const struct snapshot *s, unsigned list, unsigned i);

enum { SNAPSHOT_KEY_LEN = 128, SNAPSHOT_TEXT_LEN = 128 };

// The ids of a row, such as p1_3; only letters, digits and underscores.
void snapshot_key(unsigned list, struct json_object *row, char key[SNAPSHOT_KEY_LEN]);

// The value of a fact: a number, or a text (*is_text). False: the row has none.
bool snapshot_value(const struct fact *f, struct json_object *row, uint64_t *n,
		    char text[SNAPSHOT_TEXT_LEN], bool *is_text);

struct snapshot_page {
	const char *port; // NULL: all
	unsigned page, n_pages; // from 1
	unsigned first, last; // rows to show, of those that match `port`; last is not shown
};

// params: "p1", "2" or "p1,2" select a port, a page, or both. NULL: the first page of all ports.
// A page holds no more than max_rows rows and about max_bytes of JSON. False with *why.
bool snapshot_page(const struct snapshot *s, unsigned list, const char *params, unsigned max_rows,
		   size_t max_bytes, struct snapshot_page *out, const char **why);
bool snapshot_matches(unsigned list, struct json_object *row, const struct snapshot_page *page);
