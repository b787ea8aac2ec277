// SPDX-License-Identifier: Apache-2.0
#include "drivers/live.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "drivers/absent.h"
#include "drivers/ethdev/ethdev.h"
#include "drivers/live_size.h"
#include "drivers/xdp/attach.h"
#include "drivers/xdp/netdev.h"
#include "drivers/xdp/xdp.h"

enum {
	TAGGED_OVERHEAD = 22,
	MODEL_BURST_NS = 1000,
	LATE_NS = 10000000, // as long as others had the core in measurements
};

static_assert(sizeof(struct rte_mbuf) == LIVE_MBUF_BYTES &&
		      (int)RTE_MBUF_DEFAULT_BUF_SIZE == (int)LIVE_DATA_ROOM_MIN &&
		      (int)RTE_MAX_MEMZONE == (int)LIVE_MEMZONES,
	      "live_size.h says what DPDK says");

// ---- the two kinds of devices

static enum live_state state_xdp(const char *rest)
{
	int flags = netdev_flags(rest);

	if (flags == -ENODEV)
		return LIVE_MISSING;
	return flags >= 0 && (flags & IFF_UP) == 0 ? LIVE_DOWN : LIVE_READY;
}

static const struct kind {
	const char *prefix;
	bool pci;
	int (*open)(const char *rest, const struct live_conf *conf, struct live_port *out,
		    struct live_text *text);
	int (*probe)(const char *rest, struct live_info *out, struct live_text *text); // or NULL
	enum live_state (*state)(const char *rest); // or NULL
} kinds[] = {
	{"xdp:", false, xdp_open, xdp_probe, state_xdp},
	{"pci:", true, ethdev_open, NULL, NULL},
	{"vdev:", false, ethdev_open, NULL, NULL},
};

static const struct kind *kind_of(const char *device)
{
	for (size_t i = 0; i < RTE_DIM(kinds); i++) {
		size_t len = strlen(kinds[i].prefix);

		if (strncmp(device, kinds[i].prefix, len) == 0 && device[len] != '\0')
			return &kinds[i];
	}
	return NULL;
}

bool live_device_valid(const char *device)
{
	return kind_of(device) != NULL;
}

bool live_device_is_pci(const char *device)
{
	const struct kind *k = kind_of(device);

	return k != NULL && k->pci;
}

// ---- the pool

int live_pool_create(const char *name, uint32_t n_frames, uint32_t max_frame,
		     struct rte_mempool **out, struct live_text *text)
{
	uint32_t n = n_frames + rte_lcore_count() * LIVE_CACHE_HELD;
	uint32_t room = live_data_room(max_frame);
	struct rte_mempool *pool;

	if (room > UINT16_MAX)
		return live_refuse(text, -EMSGSIZE, "frames of %u bytes are too long", max_frame);
	pool = rte_pktmbuf_pool_create(name, n, LIVE_CACHE_FRAMES, 0, (uint16_t)room,
				       SOCKET_ID_ANY);
	if (pool == NULL)
		return live_refuse(
			text, rte_errno > 0 ? -rte_errno : -ENOMEM,
			"no memory for %u frames of %u bytes (%s); a smaller switch.buffer.size "
			"or smaller receive rings need less",
			n, max_frame, rte_strerror(rte_errno));
	*out = pool;
	return 0;
}

// ---- ports

// Poll loops share their cores where time is scaled: what they may be late by without losing rate
// is not cut below a microsecond of the model, 5 KB at 40 Gb/s, which is S microseconds here.
static void slow_down(struct port_facts *facts, uint32_t time_scale)
{
	uint32_t model_ns = facts->shaper_burst_ns / time_scale;
	uint32_t least_ns = RTE_MIN(facts->shaper_burst_ns, (uint32_t)MODEL_BURST_NS);

	facts->shaper_burst_ns = RTE_MAX(model_ns, least_ns);
}

int live_open(const char *device, const struct live_conf *conf, struct live_port *out,
	      struct live_text *text)
{
	const struct kind *k = kind_of(device);
	const struct keep keep = keep_default();
	struct live_conf c = *conf;
	struct live_port port = {0};
	size_t noted = strlen(text->note);
	int rc;

	if (k == NULL)
		return live_refuse(text, -EINVAL,
				   "%s: not a device; write xdp:INTERFACE, pci:ADDRESS or "
				   "vdev:NAME",
				   device);
	if (c.mtu == 0)
		c.mtu = c.max_frame - TAGGED_OVERHEAD;
	if (c.keep == NULL)
		c.keep = &keep;
	rc = k->open(device + strlen(k->prefix), &c, &port, text);
	if (rc != 0) {
		text->note[noted] = '\0';
		return rc;
	}
	if (c.time_scale > 1)
		slow_down(&port.facts, c.time_scale);
	else
		port.facts.shaper_late_ns = LATE_NS;
	*out = port;
	return 0;
}

int live_program_load(const char *device, struct xdp_attach **out, struct live_text *text)
{
	const struct kind *k = kind_of(device);
	struct xdp_attach *a;
	int rc;

	*out = NULL;
	if (k == NULL || k->open != xdp_open)
		return 0;
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return live_refuse(text, -ENOMEM, "out of memory");
	rc = xdp_attach_load(a, text);
	if (rc == 0)
		*out = a;
	else
		live_program_free(a);
	return rc;
}

void live_program_free(struct xdp_attach *program)
{
	if (program != NULL)
		xdp_attach_close(program);
	free(program);
}

enum live_state live_device_state(const char *device)
{
	const struct kind *k = kind_of(device);

	return k == NULL || k->state == NULL ? LIVE_READY : k->state(device + strlen(k->prefix));
}

static void info_absent(void *drv, struct live_info *out)
{
	(void)drv;
	*out = (struct live_info){0};
}

void live_absent(const struct port_facts *facts, struct live_port *out)
{
	*out = (struct live_port){.ops = &absent_ops, .facts = *facts, .info = info_absent};
}

struct port_facts live_facts(const struct live_conf *conf)
{
	return (struct port_facts){
		.max_frame = conf->max_frame,
		.rx_ring = xdp_rx_ring(conf->rx_ring),
		.rx_depth_readable = true,
		.pfc_rx = true,
		.pfc_tx = true,
	};
}

int live_probe(const char *device, struct live_info *out, struct live_text *text)
{
	const struct kind *k = kind_of(device);

	*out = (struct live_info){0};
	if (k == NULL || k->probe == NULL)
		return 0;
	return k->probe(device + strlen(k->prefix), out, text);
}

void live_info(const struct live_port *port, struct live_info *out)
{
	port->info(port->drv, out);
}

int live_set_keep(const struct live_port *port, const struct keep *keep, bool take_over,
		  struct live_text *text)
{
	return port->set_keep == NULL ? 0 : port->set_keep(port->drv, keep, take_over, text);
}

void live_close(struct live_port *port)
{
	if (port->close != NULL)
		port->close(port->drv);
	*port = (struct live_port){0};
}
