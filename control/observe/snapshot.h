// SPDX-License-Identifier: Apache-2.0
// The numbers of a switch at one moment, for readers in other threads: made by the control thread
// from the same rows that answer `show`, immutable from then on. Plain memory without references
// into the switch or into JSON. Long lists are cut into pages for replies of limited size.
//
// snapshot_take is called by the control thread; everything else reads, in any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/observe/fact.h"
#include "control/observe/observe.h"

struct json_object;

struct snapshot_cell {
	const char *key; // of the fact
	char *text; // NULL: a number
	uint64_t n;
};

// key: the ids of the row, such as p1_3; only letters, digits and underscores.
struct snapshot_row {
	char *key, *port; // port: NULL where the row has none
	struct snapshot_cell *cells;
	unsigned n_cells;
};

struct snapshot_list {
	const struct fact_list *facts;
	struct snapshot_row *rows; // one where facts->single
	unsigned n_rows;
};

struct snapshot {
	unsigned n_ports;
	char **ports; // names
	struct snapshot_list lists[N_FACT_LISTS]; // without rows where the facts have no prefix
};

struct snapshot *snapshot_take(struct observe *o, uint64_t now_ns); // NULL: out of memory
void snapshot_free(struct snapshot *s); // NULL is fine

// Adds the rows of one list. rows: its JSON. False when memory ran out.
bool snapshot_add(struct snapshot_list *list, const struct fact_list *facts,
		  struct json_object *rows);

struct snapshot_page {
	const char *port; // NULL: all
	unsigned page, n_pages; // from 1
	unsigned first, last; // rows to show, of those that match `port`; last is not shown
};

// What "p1", "2" or "p1,2" asks for: a port, a page, or both; params NULL: the first page of all.
// A page holds no more than max_rows rows and about max_bytes of JSON. False with *why.
bool snapshot_page(const struct snapshot *s, const struct snapshot_list *list, const char *params,
		   unsigned max_rows, size_t max_bytes, struct snapshot_page *out,
		   const char **why);
bool snapshot_matches(const struct snapshot_row *row, const struct snapshot_page *page);
