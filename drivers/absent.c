// SPDX-License-Identifier: Apache-2.0
#include "drivers/absent.h"

static uint16_t no_frames(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	(void)drv;
	(void)pkts;
	(void)n;
	return 0;
}

static int32_t no_room(void *drv)
{
	(void)drv;
	return 0;
}

static uint32_t nothing_pending(void *drv)
{
	(void)drv;
	return 0;
}

static void no_numbers(void *drv, struct port_drv_stats *out)
{
	(void)drv;
	*out = (struct port_drv_stats){0};
}

static bool no_link(void *drv)
{
	(void)drv;
	return false;
}

static bool is_gone(void *drv)
{
	(void)drv;
	return true;
}

static unsigned no_fds(void *drv, int *fds)
{
	(void)drv;
	(void)fds;
	return 0;
}

const struct port_ops absent_ops = {
	.rx = no_frames,
	.rx_depth = no_room,
	.tx_room = no_room,
	.tx = no_frames,
	.tx_pending = nothing_pending,
	.stats = no_numbers,
	.link_up = no_link,
	.gone = is_gone,
	.wait_fds = no_fds,
};
