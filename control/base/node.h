// SPDX-License-Identifier: Apache-2.0
// A YAML document as a tree with positions, read event by event with libyaml. Bounded on purpose:
// file size, nesting, number of nodes. Anchors, aliases and tags are refused, so a small file
// cannot become a large policy. Independent of policies. Control thread only.
#pragma once

#include <stdint.h>

#include "control/base/arena.h"
#include "control/base/diag.h"

enum { NODE_MAX_BYTES = 4 << 20, NODE_MAX_DEPTH = 16, NODE_MAX_NODES = 200000 };

enum node_kind { NODE_SCALAR, NODE_MAP, NODE_LIST };

struct node {
	enum node_kind kind;
	struct cfg_pos at;
	const char *text; // of a scalar, terminated, without NUL inside
	struct node *key; // of a map's value
	struct node *first, *next; // children; the next sibling
	unsigned n; // children
};

// The value of a key of a map, or NULL.
struct node *node_child(const struct node *map, const char *key);

// The root; NULL: *s has the mistake that ended reading.
struct node *node_parse(struct arena *a, const char *text, size_t len, struct diag_sink *s);
