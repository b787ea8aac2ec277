// SPDX-License-Identifier: Apache-2.0
// What a device tells about itself beyond the facts that a switch needs: for people who set one up
// (`weir --selftest`). Control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { LIVE_DRIVER_LEN = 32 };

// Three values, as most of this is not told by every driver.
enum live_known { LIVE_UNKNOWN, LIVE_NO, LIVE_YES };

struct live_info {
	char driver[LIVE_DRIVER_LEN]; // "" where it is not told
	int ifindex; // of the kernel's interface that the device is; 0: it is none
	uint32_t mtu; // as it is set now; 0: not told
	uint32_t mtu_max; // largest IP MTU that a port on it can carry; 0: not told
	uint32_t rx_queues; // 0: not told
	bool combined_queues; // `ethtool -L` calls them combined, not rx
	bool has_rate; // a link with a speed, not a virtual one
	enum live_known pfc_rx, pfc_tx; // PFC frames pass between wire and software
	enum live_known takes_tags_off; // VLAN tags of received frames do not reach the switch
	enum live_known flow_control; // 802.3x PAUSE is on

	// ---- of an open port
	enum live_known native; // NO: the generic hook
	enum live_known zero_copy;
};
