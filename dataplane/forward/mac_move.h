// SPDX-License-Identifier: Apache-2.0
// Whether a learned address may move to another port. An address that moves more than `limit` times
// within ten seconds is pinned: it stays at its home for `hold_ns`, whatever frames arrive
// elsewhere. Switches call this MAC move limit or MAC flap damping. Pure; the control thread calls
// it for each report of an address at another port than its own.
//
// The home is chosen among the ports at which the address lived within the last ten seconds. Of
// these ports the home is the port with the longest stay without a break. An earlier stay counts
// for its port, even if the stay ended long ago. A port that a station has left for good, as a
// virtual machine that migrated, is not among these ports.
//
// So the port of a thief becomes the home in two cases only. Either the thief held the address
// without a break for longer than the station ever did. Or no frame of the station arrived for ten
// seconds.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/port_no.h"

enum { MAC_MOVE_LIMIT_MAX = 200, MAC_STAYS = 3 };
#define MAC_MOVE_WINDOW_NS 10000000000ull

struct mac_move_params {
	uint32_t limit; // moves within the window that are no flapping; 0: any number
	uint64_t hold_ns;
};

// Of one port.
struct mac_stay {
	uint64_t longest_ns; // stay that has ended; 0: the slot is free
	uint64_t left_ns; // when the address last left the port
	port_no_t port;
};

// Of one address. All zero but since_ns when the address is new.
struct mac_move {
	uint64_t since_ns; // at its present port
	uint64_t window_ns; // begin of the present window
	uint64_t held_until_ns; // 0: not pinned
	struct mac_stay stay[MAC_STAYS];
	uint8_t n; // moves in the window
};

enum mac_move_verdict {
	MAC_MOVE, // to the port that reported it
	MAC_PIN, // to mac_move_home, and stays there
	MAC_STAY, // pinned
};

// The address lives at port `from`, and a frame with it arrived at another port. Counts the move.
enum mac_move_verdict mac_move_decide(const struct mac_move_params *p, struct mac_move *m,
				      port_no_t from, uint64_t now_ns);

// The home of an address whose verdict is MAC_PIN; `to` is the port that reported it. usable: by
// port, whether an address may live there; `to` is usable.
port_no_t mac_move_home(const struct mac_move *m, port_no_t to, const bool *usable,
			uint64_t now_ns);
