// SPDX-License-Identifier: Apache-2.0
// A tap device of the kernel in place of a routed port, or of a routed VLAN: the kernel's protocols
// receive and send there. A frame is one read or write without header. The device goes with the
// process. Called by the control thread only; the devices are made in the namespace of netns.h.
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "dataplane/base/compiler.h"

struct netns;

struct linux_tap {
	int fd; // -1: none
	uint32_t ifindex;
	bool carrier;
	char name[IFNAMSIZ];
	uint8_t mac[6];
	uint32_t mtu;
};

// Makes the device *t names, with its MAC address and MTU, up, without carrier. A device of this
// name that exists is refused. IPv6 is on, the reverse-path filter is loose, and forwarding is on
// for the device, so the kernel answers expired TTLs. 0, or -errno with a sentence in err; t->fd is
// -1 then.
must_check int linux_tap_open(struct netns *ns, struct linux_tap *t, char *err, size_t err_len);
void linux_tap_close(struct linux_tap *t);

// Gives the device the MAC address and MTU of *t. 0 or -errno.
must_check int linux_tap_adapt(struct netns *ns, const struct linux_tap *t);
void linux_tap_carrier(struct linux_tap *t, bool on);
// A frame of the kernel. Its length; 0: none now; -errno: the device has gone.
ssize_t linux_tap_read(const struct linux_tap *t, void *bytes, size_t size);
// False: the kernel did not take the frame.
bool linux_tap_write(const struct linux_tap *t, const void *bytes, size_t len);
