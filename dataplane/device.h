// SPDX-License-Identifier: Apache-2.0
// The device of a port, as its worker uses the device: bound at the start, and replaced when
// control has another device for the port (switch_device.c). Called by the worker that owns the
// port.
#pragma once

#include "dataplane/switch_impl.h"

// The port uses this device from now on.
void device_bind(struct port *p, const struct switch_port *device);
// Control wants another device for the port.
static inline bool device_waits(const struct worker *w, const struct port *p)
{
	return atomic_load_explicit(&w->sw->want.device[p->no], memory_order_relaxed) != p->device;
}
// Takes the device over. The port is down, so no frame waits for the device before. Early PFC words
// from before are ignored when the port comes up.
void device_take(struct worker *w, struct port *p);
