// SPDX-License-Identifier: Apache-2.0
// The table of known workloads: features of an archetype, and the thresholds that are best for it.
// A text file, one archetype a line; the format is on top of conf/models/builtin.ecn and in
// docs/auto-ecn.md. Pure; no DPDK.
//
// Nearest archetype: each feature is divided by its scale, so that a distance of 1 is a difference
// that matters. The distance of a row is the root mean square over the features that both know.
// A row further than the limit is not the workload.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/autoecn/feature.h"

enum { ECN_MODEL_ROWS = 256, ECN_MODEL_NAME = 24 };

struct ecn_thresholds {
	uint64_t kmin_bytes, kmax_bytes;
	uint32_t pmax_ppm;
};

struct ecn_archetype {
	char name[ECN_MODEL_NAME];
	struct ecn_features at;
	double kmin_us; // of the link's speed: 1 us of 10 Gb/s is 1250 bytes
	double kmax_us;
	uint32_t pmax_ppm;
};

struct ecn_model {
	unsigned n;
	struct ecn_archetype row[ECN_MODEL_ROWS];
};

// The table that is compiled in (conf/models/builtin.ecn).
extern const char ecn_model_builtin_text[];

// name: of the file, for messages. False with "NAME:LINE: ..." in err; *out is then untouched.
bool ecn_model_parse(const char *name, const char *text, size_t len, struct ecn_model *out,
		     char *err, size_t err_len);
// A file, or the table that is compiled in where path is NULL.
bool ecn_model_load(const char *path, struct ecn_model *out, char *err, size_t err_len);

// The nearest row within the limit, or NULL. *distance: of the nearest one, whichever it is.
const struct ecn_archetype *ecn_model_nearest(const struct ecn_model *m,
					      const struct ecn_features *f, double *distance);

// How far two windows of one queue are from each other, in the same units.
double ecn_distance(const struct ecn_features *a, const struct ecn_features *b);

struct ecn_thresholds ecn_model_thresholds(const struct ecn_archetype *a, uint64_t speed_bps);
