// SPDX-License-Identifier: Apache-2.0
// Frames of discarded classes (p->discarded) that wait in queues: takes them out of the queues in
// p->purging, one queue at a time. The others stay, in order. A queue that is purged is not served.
// Called by the worker that owns the port.
#pragma once

#include "dataplane/switch_impl.h"

// Looks at a bounded number of frames; once per loop.
void purge_look(struct worker *w, struct port *p);
// Ends the purge at once. Frames that were not looked at stay.
void purge_stop(struct worker *w, struct port *p);
