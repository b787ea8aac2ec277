// SPDX-License-Identifier: Apache-2.0
// The command line of weir-hostd, as rows (control/base/opts.h).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/base/opts.h"
#include "dataplane/packet/classify.h"

struct hostd_args {
	const char *device; // an interface of the kernel
	int64_t speed_bps; // of its line
	uint64_t dscps[N_CLASSES]; // bitmaps of the DSCPs of each class
	uint8_t classes; // bitmap of the classes that obey PFC
	bool json, help, version;
};

// False after a complaint.
bool hostd_args_parse(int argc, char **argv, struct hostd_args *out);

void hostd_args_help(void);

extern const struct opts hostd_opts;
extern const char hostd_usage[], hostd_summary[], hostd_exit[];
