// SPDX-License-Identifier: Apache-2.0
#include "dataplane/device.h"

#include <string.h>

#include "dataplane/peer_pause.h"
#include "dataplane/worker.h"

void device_bind(struct port *p, const struct switch_port *device)
{
	p->ops = device->ops;
	p->drv = device->drv;
	p->driver_wakes = device->facts.wakes;
	p->tx_burst = device->facts.tx_burst;
	if (p->tx_burst == 0 || p->tx_burst > BURST)
		p->tx_burst = BURST;
	memcpy(p->mac, device->facts.mac, sizeof(p->mac));
	peer_pause_init(p);
}

void device_take(struct worker *w, struct port *p)
{
	const struct switch_port *device =
		atomic_load_explicit(&w->sw->want.device[p->no], memory_order_acquire);

	p->device = device;
	device_bind(p, device);
	w->n_devices_taken++;
}

uint32_t worker_n_devices_taken(const struct worker *w)
{
	return w->n_devices_taken;
}

int worker_wait_fds(const struct worker *w, int *fds)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_owned; i++) {
		const struct port *p = worker_port(w, w->owned[i]);

		if (p->ops->wait_fds == NULL)
			return -1;
		n += p->ops->wait_fds(p->drv, fds + n);
	}
	return (int)n;
}
