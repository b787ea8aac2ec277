// SPDX-License-Identifier: Apache-2.0
// pg_profile_lookup.ini: the priority groups that a switch with SONiC's static buffer model gives a
// lossless class, by speed and cable. Control thread only.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/sonic/configdb.h"

struct pg_lookup_row {
	uint64_t speed_bps, cable_cm;
	uint64_t size, xon, xoff, xon_offset; // bytes
	int threshold; // log2 of alpha
	bool has_xon_offset;
};

// The caller zeroes it.
struct pg_lookup {
	struct pg_lookup_row *rows;
	unsigned n, room;
};

// 0, or -EINVAL with a message for each wrong line.
must_check int pg_lookup_read(struct pg_lookup *l, const char *name, const char *text, size_t len,
			      struct sonic_report *r);
// The row, or NULL.
const struct pg_lookup_row *pg_lookup_find(const struct pg_lookup *l, uint64_t speed_bps,
					   uint64_t cable_cm);
void pg_lookup_fini(struct pg_lookup *l);
