// SPDX-License-Identifier: Apache-2.0
#include "drivers/xdp/traits.h"

#include <string.h>

// A driver may keep PFC frames that software sends or wants to see. A NIC that is not listed is
// taken to consume received ones, as most MACs do. Intel's 1G MACs hand control frames on like
// any others as long as 802.3x flow control is off (docs/nics.md).
static const struct xdp_traits driver_traits[] = {
	{"veth", false, true, true, .unfinished = true},
	{"tun", false, true, true, .unfinished = true},
	{"virtio_net", false, true, true, .unfinished = true},
	{"hv_netvsc", false, true, true, .unfinished = true},
	{"vmxnet3", false, true, true, .unfinished = true},
	{"ena", false, true, true},
	{"igb", true, true, true, true},
	{"igc", true, true, true, true},
	{"e1000e", true, true, true, true},
	{"i40e", true, false, false},
	{"ice", true, false, false},
	{"mlx5_core", true, false, true},
	{"", true, false, true}, // any other: stays last
};

bool xdp_passes_pfc(const struct xdp_traits *t, const struct netdev *d)
{
	return t->pfc_rx && !(t->wants_no_flow_control && d->flow_control);
}

const struct xdp_traits *xdp_traits_of(const char *driver)
{
	const struct xdp_traits *t = driver_traits;

	while (t->driver[0] != '\0' && strcmp(t->driver, driver) != 0)
		t++;
	return t;
}

void xdp_note_pfc(const struct netdev *d, bool pfc_rx, struct live_text *text)
{
	const struct xdp_traits *t = xdp_traits_of(d->driver);

	if (t->driver[0] == '\0')
		live_note(
			text,
			"%s: it is not known whether the NIC (%s) passes PFC frames to and from "
			"software, and most keep received ones; `weir --selftest` finds out where "
			"two ports are joined by a cable\n",
			d->name, d->driver);
	else if (t->pfc_rx && !pfc_rx)
		live_note(text,
			  "%s: the NIC (%s) keeps received PFC frames to itself while 802.3x flow "
			  "control is on, so a PAUSE from the peer does not reach the switch; "
			  "`ethtool "
			  "-A %s autoneg off rx off tx off` before the start\n",
			  d->name, d->driver, d->name);
	live_note_pfc(text, d->name, d->driver, t->pfc_rx || t->driver[0] == '\0', t->pfc_tx);
}
