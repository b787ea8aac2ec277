// SPDX-License-Identifier: Apache-2.0
// The params of a scenario file: `params: {n: 8}` gives `$n` a value in every key and every value
// of the tree, before any row reads the tree. `${2 * n}` is computed with the arithmetic of expr.h.
// `$$` is a dollar sign. Control thread only.
#pragma once

#include <stdint.h>

#include "control/base/node.h"

struct lab_param {
	const char *name, *value; // in the arena
};

struct lab_params {
	struct lab_param *rows; // in the order of the file
	uint32_t n;
};

// Changes the tree. Mistakes are reported to *s, and so are params that are not used. The position
// of a changed text names its params, for the messages of the text's readers.
struct lab_params params_apply(struct arena *a, struct diag_sink *s, struct node *root);

struct sc_set {
	const char *path, *value; // "duration", "5ms"; "flows[0].size"; "policy.profiles.roce..."
};

// One edit of the tree by `--set`, before params_apply. Mistakes are reported as of the option.
void params_set(struct arena *a, struct diag_sink *s, struct node *root, const struct sc_set *set);
