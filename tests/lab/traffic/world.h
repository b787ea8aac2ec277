// SPDX-License-Identifier: Apache-2.0
// A fabric with traffic for one test: a scenario given as text, everything made as `weir-lab run`
// makes it, but without measures and reports. The switch's policy is conf/roce.yaml, unless the
// text says otherwise.
#pragma once

#include "control/lab/fabric.h"
#include "control/lab/traffic.h"

struct world {
	struct scenario *sc;
	struct fabric *f;
	struct traffic *t;
	struct diags d;
	struct fabric_hooks traffic; // behind ours
	char *wire; // messages that arrived or were answered, one line each; "" at first
	size_t wire_len, wire_room;
};

// The lines of `hosts:`, `flows:` and so on; name, duration and policy are added. root: of the
// sources. Fails the test when it cannot be made.
void world_create(struct world *w, const char *root, const char *yaml);
void world_run(struct world *w, uint64_t until_ns);
void world_destroy(struct world *w); // also asserts that the books close and nothing was dropped

// The messages of a text that is wrong, each line ended; the caller frees.
char *world_mistakes(const char *root, const char *yaml);

// What was done, one line per message: "h1 > h2 1000 B: posted 0, done 1234". The caller frees.
char *world_log(const struct world *w);
