// SPDX-License-Identifier: Apache-2.0
#include "dataplane/drop.h"

const struct drop_info drop_info[N_DROP_REASONS] = {
#define X(id, name, loss, help) [DROP_##id] = {name, loss, help},
	DROP_REASONS(X)
#undef X
};
