// SPDX-License-Identifier: Apache-2.0
#include "dataplane/event.h"

const struct event_info event_info[N_EVENT_TYPES] = {
#define X(id, name, help) [EVENT_##id] = {name, help},
	EVENT_TYPES(X)
#undef X
};
