// SPDX-License-Identifier: Apache-2.0
// Without DPDK: texts, one ioctl, and the sizes of rings and frames, which drivers and the plan of
// a policy share.
#include "drivers/device.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/ethdev/ethdev.h"
#include "drivers/live.h"
#include "drivers/xdp/xdp.h"

enum {
	ETHDEV_RX_RING_DEFAULT = 1024,
	ETHDEV_RX_RING_MAX = 32768,
	ETHDEV_TX_RING_MIN = 64,
	ETHDEV_TX_RING_MAX = 512,
	ETHDEV_TX_BYTES_PER_DESC = 128,
	XDP_TX_BYTES_MAX = 1 << 20,
	XDP_PAGE = 4096, // of memory
	SHORTEST_FRAME = 64,
	LCORES_RESERVED = 9, // in live_pool_bytes(); live_eal_init() adds for each worker
	ELEMENT_OVERHEAD = 192, // header, trailer and share of the pool's ring, beside the mbuf
	BURST_FRAMES = 128, // in a worker's hands between two rings
};

int live_refuse(struct live_text *text, int rc, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(text->err, sizeof(text->err), fmt, args);
	va_end(args);
	return rc;
}

void live_note(struct live_text *text, const char *fmt, ...)
{
	size_t len = strlen(text->note);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text->note + len, sizeof(text->note) - len, fmt, args);
	va_end(args);
}

void live_note_pfc(struct live_text *text, const char *name, const char *driver, bool rx, bool tx)
{
	if (!rx)
		live_note(text,
			  "%s: the NIC (%s) keeps received PFC frames to itself, so a PAUSE from "
			  "the peer does not reach the switch\n",
			  name, driver);
	if (!tx)
		live_note(text,
			  "%s: the NIC (%s) discards PFC frames that software sends, so the switch "
			  "cannot pause the peer\n",
			  name, driver);
}

int live_ifreq(const char *ifname, unsigned long request, struct ifreq *ifr)
{
	int fd, rc;

	if (strlen(ifname) >= sizeof(ifr->ifr_name))
		return -ENODEV;
	strcpy(ifr->ifr_name, ifname);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	rc = ioctl(fd, request, ifr) == 0 ? 0 : -errno;
	close(fd);
	return rc;
}

// ---- sizes

static uint32_t within(uint32_t n, uint32_t least, uint32_t most)
{
	return n < least ? least : n > most ? most : n;
}

static uint32_t power_of_two(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

// ---- AF_XDP

uint32_t xdp_data_room(uint32_t max_frame)
{
	uint32_t frame = max_frame + XDP_FRAME_SLACK;

	return XDP_FRAME_ROOM + (frame + XDP_FRAME_STEP - 1) / XDP_FRAME_STEP * XDP_FRAME_STEP;
}

uint32_t xdp_rx_ring(uint32_t conf)
{
	uint32_t n = conf == 0 ? XDP_RX_RING_DEFAULT : conf;

	return power_of_two(within(n, XDP_RX_RING_MIN, XDP_RX_RING_MAX));
}

// Room for the configured bytes in the shortest frames that matter, and for MAC control beside.
uint32_t xdp_tx_ring(uint32_t tx_ring_bytes)
{
	uint32_t bytes = tx_ring_bytes == 0 ? XDP_TX_RING_BYTES_DEFAULT : tx_ring_bytes;

	return power_of_two(within(bytes, 0, XDP_TX_BYTES_MAX) / SHORTEST_FRAME +
			    2 * XDP_TX_CONTROL_SPARE);
}

uint32_t xdp_tx_limit(uint32_t tx_ring_bytes, uint32_t max_frame)
{
	uint32_t two = 2 * max_frame;

	return tx_ring_bytes != 0		? tx_ring_bytes
	       : two > XDP_TX_RING_BYTES_DEFAULT ? two
						 : XDP_TX_RING_BYTES_DEFAULT;
}

// A chunk of the kernel's is half a page or a page.
uint32_t xdp_area_chunk(uint32_t max_frame)
{
	return xdp_data_room(max_frame) <= XDP_PAGE / 2 ? XDP_PAGE / 2 : XDP_PAGE;
}

// ---- devices of DPDK

uint16_t ethdev_tx_ring(uint32_t tx_ring_bytes)
{
	uint32_t bytes = tx_ring_bytes != 0 ? tx_ring_bytes : ETHDEV_TX_BYTES_DEFAULT;

	return (uint16_t)power_of_two(within(bytes / ETHDEV_TX_BYTES_PER_DESC, ETHDEV_TX_RING_MIN,
					     ETHDEV_TX_RING_MAX));
}

uint16_t ethdev_rx_ring(uint32_t conf)
{
	return (uint16_t)power_of_two(
		conf != 0 ? within(conf, 0, ETHDEV_RX_RING_MAX) : ETHDEV_RX_RING_DEFAULT);
}

// ---- the pool

uint32_t live_device_frames(const char *device, uint32_t tx_ring_bytes, uint32_t rx_ring)
{
	if (strncmp(device, "xdp:", 4) == 0)
		return xdp_rx_ring(rx_ring) + xdp_tx_ring(tx_ring_bytes) + BURST_FRAMES;
	// Twice: drivers of DPDK raise a count to what they need, and hold completed frames until
	// they clean up.
	return 2u * (ethdev_rx_ring(rx_ring) + (uint32_t)ethdev_tx_ring(tx_ring_bytes)) +
	       BURST_FRAMES;
}

uint32_t live_apart_frames(void)
{
	return BURST_FRAMES;
}

uint64_t live_apart_bytes(uint32_t tx_ring_bytes, uint32_t rx_ring, uint32_t max_frame)
{
	uint32_t n = xdp_rx_ring(rx_ring) + xdp_tx_ring(xdp_tx_limit(tx_ring_bytes, max_frame));

	return (uint64_t)n * xdp_area_chunk(max_frame);
}

uint32_t live_device_ring_bytes(const char *device, uint32_t tx_ring_bytes, uint32_t max_frame)
{
	uint32_t batch = strncmp(device, "xdp:", 4) == 0 ? XDP_KERNEL_BATCH * max_frame : 0;

	return tx_ring_bytes > batch ? tx_ring_bytes : batch;
}

// AF_XDP leaves more room before the frame than a PMD does, so its need covers both.
uint32_t live_data_room(uint32_t max_frame)
{
	uint32_t room = xdp_data_room(max_frame);

	return room > LIVE_DATA_ROOM_MIN ? room : LIVE_DATA_ROOM_MIN;
}

uint32_t live_frame_bytes(uint32_t max_frame)
{
	return live_data_room(max_frame) + LIVE_MBUF_BYTES + ELEMENT_OVERHEAD;
}

uint64_t live_pool_bytes(uint32_t n_frames, uint32_t max_frame)
{
	return ((uint64_t)n_frames + LCORES_RESERVED * LIVE_CACHE_HELD) *
	       live_frame_bytes(max_frame) * 33 / 32;
}

bool live_device_has_no_card(const char *device)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq ifr = {.ifr_data = (void *)&info};

	return strncmp(device, "xdp:", 4) == 0 &&
	       live_ifreq(device + 4, SIOCETHTOOL, &ifr) == 0 &&
	       (strcmp(info.driver, "veth") == 0 || strcmp(info.driver, "tun") == 0);
}
