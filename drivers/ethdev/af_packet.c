// SPDX-License-Identifier: Apache-2.0
#include "drivers/ethdev/af_packet.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <net/if.h>

enum {
	SLOT_DEFAULT = 2048,
	SLOT_OVERHEAD = 66, // of a slot that no frame may use; measured
	SLOT_HEADER = 32, // what the driver takes off a slot when it looks at the pool
	HEADROOM = 128,
	// Slots in steps of 128, 32 to a block: a block is then whole pages, as the kernel wants
	// it, and whole slots, as the driver wants it.
	SLOT_STEP = 128,
	SLOTS_PER_BLOCK = 32,
	VALUE_LEN = 256,
};

// The value of "key=" among comma-separated arguments, copied out. False: not there.
static bool value_of(const char *devargs, const char *key, char *out, size_t out_len)
{
	size_t key_len = strlen(key);
	const char *at = devargs;

	while ((at = strchr(at, ',')) != NULL) {
		at++;
		if (strncmp(at, key, key_len) == 0 && at[key_len] == '=') {
			snprintf(out, out_len, "%.*s", (int)strcspn(at + key_len + 1, ","),
				 at + key_len + 1);
			return true;
		}
	}
	return false;
}

// Copies the arguments without those that set the ring's layout.
static void copy_without_layout(const char *devargs, char *out, size_t out_len)
{
	size_t used = 0;

	out[0] = '\0';
	while (*devargs != '\0') {
		size_t len = strcspn(devargs, ",");

		if (strncmp(devargs, "framesz=", 8) != 0 && strncmp(devargs, "blocksz=", 8) != 0 &&
		    used + len + 1 < out_len)
			used += (size_t)snprintf(out + used, out_len - used, "%s%.*s",
						 used > 0 ? "," : "", (int)len, devargs);
		devargs += len + (devargs[len] == ',');
	}
}

static uint32_t kernel_mtu(const char *ifname)
{
	struct ifreq ifr = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t mtu = 0;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%.*s", IFNAMSIZ - 1, ifname);
	if (fd >= 0 && ioctl(fd, SIOCGIFMTU, &ifr) == 0)
		mtu = (uint32_t)ifr.ifr_mtu;
	if (fd >= 0)
		close(fd);
	return mtu;
}

// Without an interface the driver itself refuses.
static int check_interface(const struct af_packet_fit *fit, struct live_text *text)
{
	char ifname[VALUE_LEN];
	uint32_t mtu;

	if (!value_of(fit->devargs, "iface", ifname, sizeof(ifname)))
		return 0;
	mtu = kernel_mtu(ifname);
	if (mtu == 0)
		return live_refuse(
			text, -ENODEV,
			"%s: no such interface in this network namespace; `ip link` lists them",
			ifname);
	if (mtu < fit->mtu)
		return live_refuse(
			text, -EMSGSIZE,
			"%s: its MTU is %u and the port needs %u; `ip link set dev %s mtu %u`",
			ifname, mtu, fit->mtu, ifname, fit->mtu);
	return 0;
}

int af_packet_devargs(const struct af_packet_fit *fit, char *out, size_t out_len,
		      struct live_text *text)
{
	uint32_t shortest = fit->max_frame + SLOT_OVERHEAD, slot = SLOT_DEFAULT;
	uint32_t longest = fit->data_room - HEADROOM + SLOT_HEADER;
	uint32_t step = (shortest + SLOT_STEP - 1) / SLOT_STEP * SLOT_STEP;
	char value[VALUE_LEN];
	bool given;
	int rc;

	snprintf(out, out_len, "%s", fit->devargs);
	if (strncmp(fit->devargs, "net_af_packet", strlen("net_af_packet")) != 0)
		return 0;
	rc = check_interface(fit, text);
	if (rc != 0)
		return rc;
	given = value_of(fit->devargs, "framesz", value, sizeof(value));
	if (given)
		slot = (uint32_t)strtoul(value, NULL, 10);
	if (given && slot < shortest)
		return live_refuse(text, -EMSGSIZE,
				   "framesz=%u would truncate frames of %u bytes; write "
				   "framesz=%u,blocksz=%u or leave it out",
				   slot, fit->max_frame, step, step * SLOTS_PER_BLOCK);
	if (slot >= shortest && slot <= longest)
		return 0;
	copy_without_layout(fit->devargs, value, sizeof(value));
	snprintf(out, out_len, "%s,blocksz=%u,framesz=%u", value, step * SLOTS_PER_BLOCK, step);
	return 0;
}
