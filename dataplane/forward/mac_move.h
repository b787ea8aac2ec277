// SPDX-License-Identifier: Apache-2.0
// Whether a learned address may move to another port. An address that moves more than `limit` times
// within ten seconds is pinned: it stays at its home for `hold_ns`, whatever frames arrive
// elsewhere. Switches call this MAC move limit or MAC flap damping. Pure; the control thread calls
// it for each report of an address at another port than its own.
//
// The home is the port at which the address has lived longest without a break. Where the address
// has left that port for good, as a virtual machine that migrated, the home is the port at which
// the address lived when the moves began.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MAC_MOVE_LIMIT_MAX = 200 };
#define MAC_MOVE_WINDOW_NS 10000000000ull

struct mac_move_params {
	uint32_t limit; // moves within the window that are no flapping; 0: any number
	uint64_t hold_ns;
};

// Of one address. All zero but since_ns when the address is new.
struct mac_move {
	uint64_t since_ns; // at its present port
	uint64_t window_ns; // begin of the present window
	uint64_t held_until_ns; // 0: not pinned
	uint64_t longest_ns; // stay at `longest`
	uint8_t longest; // port of the longest stay
	uint8_t first; // port that the window's first move left
	uint8_t n; // moves in the window
};

enum mac_move_verdict {
	MAC_MOVE, // to the port that reported it
	MAC_PIN, // to *home, and stays there
	MAC_STAY, // pinned
};

// The address lives at port `from`, and a frame with it arrived at port `to`. Counts the move, and
// sets *home where the verdict is MAC_PIN.
enum mac_move_verdict mac_move_decide(const struct mac_move_params *p, struct mac_move *m,
				      uint8_t from, uint8_t to, uint64_t now_ns, uint8_t *home);
