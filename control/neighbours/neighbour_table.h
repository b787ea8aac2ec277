// SPDX-License-Identifier: Apache-2.0
// The neighbours on the links of routed ports and in the VLANs of SVIs, which count as ports here:
// when each is probed, and how long each state lasts (RFC 826, RFC 4861 7.3, with fixed timers). A
// pure state machine: time comes in, probes and changes go out through two functions. Called by the
// control thread; knows neither frames nor the switch.
//
//              wanted                    answer
//      (none) -------> incomplete -----------------> reachable <---------+
//         ^               | 3 probes                     | 30 s          | answer
//         |  unanswered   v without answer               v               |
//         +-------------(gone), or `failed`            stale: 3 probes --+
//         +------------------------------------------------ unanswered
//
// A stale neighbour is used until its probes have failed. The row of a neighbour that a route needs
// (a gateway) stays: it is probed from the start, and when it fails, again every 5 s. No frame
// changes a static neighbour. A station that requests our address becomes a neighbour. Its row is
// stale at first, so the table checks the claim. Frames of other stations make no row.
//
// The table is shared fairly. A full table makes room for a new row: the port with the most rows
// gives up its oldest row, and the new row's own port does so where no other port has more. So a
// port keeps at least the table divided by the number of ports, whatever another port sends. Rows
// of next hops and static rows are never given up. Unanswered rows are limited in the same way.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/units.h"
#include "dataplane/forward/route_params.h"

enum {
	NEIGHBOUR_MAX = 8192,
	NEIGHBOUR_MAX_INCOMPLETE = 1024,
	NEIGHBOUR_PROBES = 3,
};
static const uint64_t NEIGHBOUR_RETRANS_NS = SECOND_NS;
static const uint64_t NEIGHBOUR_REACHABLE_NS = 30ull * SECOND_NS;
static const uint64_t NEIGHBOUR_RETRY_NS = 5ull * SECOND_NS;

enum neighbour_state {
	NEIGHBOUR_INCOMPLETE, // probed, no answer yet
	NEIGHBOUR_REACHABLE,
	NEIGHBOUR_STALE, // in use, and probed again
	NEIGHBOUR_FAILED, // a gateway that does not answer
	NEIGHBOUR_STATIC,
	N_NEIGHBOUR_STATES,
};
extern const char *const neighbour_state_name[N_NEIGHBOUR_STATES];

struct neighbour {
	struct policy_addr addr;
	port_no_t port;
	uint8_t state; // enum neighbour_state
	bool wanted; // a route needs it
	bool used; // slot of the table
	bool lost; // a next hop that was reported as lost
	uint8_t listed; // enum row_list of neighbour_table.c
	uint8_t probes; // sent in this state
	uint8_t mac[6];
	uint64_t due_ns; // of the next step
	uint64_t since_ns; // in this state
	uint32_t next; // of its chain
	uint32_t older, newer; // rows of the same port
};

struct neighbour_ops {
	// Sends a request for an address to the station mac; NULL: to all stations. False: there
	// was no room; the table asks again soon.
	bool (*probe)(void *arg, port_no_t port, const struct policy_addr *a, const uint8_t *mac);
	// What the workers shall use; NULL: nothing.
	void (*set)(void *arg, port_no_t port, const struct policy_addr *a, const uint8_t *mac);
	// A neighbour's MAC address has changed. May be NULL.
	void (*changed)(void *arg, port_no_t port, const struct policy_addr *a, const uint8_t *mac,
			uint64_t now_ns);
	// A next hop of a route does not answer; or it answers again.
	void (*next_hop)(void *arg, port_no_t port, const struct policy_addr *a, bool answers);
};

struct neighbour_stats {
	uint64_t refused; // for want of room: no row could be given up
	uint64_t replaced; // given up for another row
	uint64_t failed; // that did not answer
};

struct neighbour_table;

// 0 or -ENOMEM.
__attribute__((warn_unused_result)) int neighbour_table_create(const struct neighbour_ops *ops,
							       void *arg,
							       struct neighbour_table **out);
void neighbour_table_destroy(struct neighbour_table *t); // NULL is fine

// A frame wants to go there, or (as_route) a route does.
void neighbour_want(struct neighbour_table *t, port_no_t port, const struct policy_addr *a,
		    bool as_route, uint64_t now_ns);

enum neighbour_rx {
	NEIGHBOUR_RX_ANSWER, // to a request of ours
	NEIGHBOUR_RX_CLAIM, // unsolicited, or the sender of a request to another station
	NEIGHBOUR_RX_REQUEST, // for an address of ours
};
// mac NULL: the frame has none, as the station knows that we have it (RFC 4861 7.2.4). overrides:
// it replaces another address that is known.
void neighbour_receive(struct neighbour_table *t, port_no_t port, const struct policy_addr *a,
		     const uint8_t *mac, enum neighbour_rx how, bool overrides, uint64_t now_ns);

// Takes the place of whatever was known.
void neighbour_set_static(struct neighbour_table *t, port_no_t port, const struct policy_addr *a,
			  const uint8_t *mac, uint64_t now_ns);

// A new policy: between these two the calls above name each static and each wanted row again; a row
// that is not named is neither any more. `keep` decides whether such a row may stay.
void neighbour_begin_policy(struct neighbour_table *t);
void neighbour_end_policy(struct neighbour_table *t,
			  bool (*keep)(void *arg, port_no_t port, const struct policy_addr *a),
			  uint64_t now_ns);

// Once in a look of control: does what is due.
void neighbour_tick(struct neighbour_table *t, uint64_t now_ns);

const struct neighbour *neighbour_find(const struct neighbour_table *t, port_no_t port,
				       const struct policy_addr *a); // NULL: not known
// The i-th slot, NULL when it is free; i below NEIGHBOUR_MAX.
const struct neighbour *neighbour_at(const struct neighbour_table *t, unsigned i);
struct neighbour_stats neighbour_stats(const struct neighbour_table *t);
