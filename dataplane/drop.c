// SPDX-License-Identifier: Apache-2.0
#include "dataplane/drop.h"

const struct drop_info drop_info[N_DROP_REASONS] = {
#define X(id, name, help) [DROP_##id] = {name, help},
	DROP_REASONS(X)
#undef X
};
