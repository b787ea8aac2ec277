// SPDX-License-Identifier: Apache-2.0
// Control's side of a port whose device is replaced: the request to the worker, and the numbers of
// earlier drivers, which the numbers of the port include.
#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "dataplane/switch_impl.h"

// Made when a port's device is first replaced.
struct device {
	struct switch_port port[2]; // in turn: the worker may still read the other one
	uint8_t turn;
	uint64_t request;
	struct port_drv_stats before; // of all drivers before the present one
	struct port_reason reasons[PORT_REASONS_MAX];
	unsigned n_reasons;
};

bool device_is_gone(const struct switch_port *p)
{
	return p->ops->gone != NULL && p->ops->gone(p->drv);
}

void devices_free(struct weir_switch *sw)
{
	for (unsigned i = 0; i < POLICY_MAX_PORTS; i++)
		rte_free(sw->device[i]);
}

int switch_replace_device(struct weir_switch *sw, unsigned port, const struct switch_port *next)
{
	struct device *d = sw->device[port];

	if (d == NULL)
		d = rte_zmalloc("device", sizeof(*d), 64);
	if (d == NULL)
		return -ENOMEM;
	sw->device[port] = d;
	d->turn ^= 1;
	d->port[d->turn] = *next;
	atomic_store_explicit(&sw->want.device[port], &d->port[d->turn], memory_order_release);
	control_request(sw);
	d->request = atomic_load(&sw->want.seq);
	return 0;
}

// The worker does not use the driver any more, so the numbers of the driver are final.
static void keep_numbers(const struct weir_switch *sw, unsigned port)
{
	struct device *d = sw->device[port];
	struct port_reason reasons[PORT_REASONS_MAX];

	d->n_reasons = switch_drv_reasons(sw, port, reasons, PORT_REASONS_MAX);
	memcpy(d->reasons, reasons, sizeof(reasons));
	switch_drv_stats(sw, port, &d->before);
}

bool switch_device_replaced(struct weir_switch *sw, unsigned port)
{
	struct device *d = sw->device[port];

	if (d == NULL || !switch_request_done(sw, d->request))
		return false;
	keep_numbers(sw, port);
	sw->ports[port] = d->port[d->turn];
	sw->port_gone[port] = sw->port_gone[port] && device_is_gone(&sw->ports[port]);
	return true;
}

bool switch_device_gone(const struct weir_switch *sw, unsigned port)
{
	return sw->port_gone[port];
}

void switch_drv_stats(const struct weir_switch *sw, unsigned port, struct port_drv_stats *out)
{
	const struct device *d = sw->device[port];
	struct port_drv_stats now;

	sw->ports[port].ops->stats(sw->ports[port].drv, &now);
	if (d != NULL) {
		now.rx_missed += d->before.rx_missed;
		now.tx_errors += d->before.tx_errors;
		now.rx_to_kernel += d->before.rx_to_kernel;
	}
	*out = now;
}

unsigned switch_drv_reasons(const struct weir_switch *sw, unsigned port, struct port_reason *out,
			    unsigned n)
{
	const struct switch_port *p = &sw->ports[port];
	const struct device *d = sw->device[port];
	unsigned k = p->ops->reasons == NULL ? 0 : p->ops->reasons(p->drv, out, n);

	if (d == NULL)
		return k;
	for (unsigned i = 0; i < d->n_reasons && i < n; i++) {
		if (i < k) {
			out[i].frames += d->reasons[i].frames;
			continue;
		}
		out[i] = d->reasons[i];
		k = i + 1;
	}
	return k;
}
