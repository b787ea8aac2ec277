// SPDX-License-Identifier: Apache-2.0
// An LLDP agent (IEEE 802.1AB clause 9) with DCBX for the ports of one station: when it sends
// frames, which neighbours each port has, and what follows from their DCBX TLVs. A switch has
// it as a service (control/instance/lldp.c), a host of the lab has its own. It knows frames as
// bytes and no driver. One thread.
//
// Sending: every 30 s; four frames a second apart when a neighbour is new; at once when the port
// says something else. Five frames at most in a row, then one a second (transmission credit).
//
// Damping: a change of the peer's DCBX settings takes effect at once. If another one took effect
// less than ten seconds ago, it waits until they are over. So a peer that changes all the time, or
// whose link flaps, changes PFC of the port, and causes an event, once in ten seconds. A difference
// must also last two seconds, in which a willing peer can follow. So must the silence of a peer: a
// link that comes back has PFC as before, if its peer speaks within that time. While the link is
// down, nothing takes effect. What another policy changes is not damped.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/lldp/dcbx.h"
#include "dataplane/event.h"

enum {
	LLDP_NEIGHBOURS = 8, // of a port
	LLDP_INTERVAL_S = 30,
	LLDP_TTL_S = LLDP_INTERVAL_S * 4 + 1,
	LLDP_FAST = 4, // frames a second apart
	LLDP_CREDIT = 5,
	LLDP_SETTLE_S = 2,
	LLDP_DAMP_S = 10,
	LLDP_ABOUT_LEN = 64,
};

struct lldp_agent;

// What a port says about itself. The texts are read at once and not kept.
struct lldp_local {
	bool pfc_auto; // PFC only in classes that the peer has too
	uint8_t pfc_possible; // classes that can have PFC, if the port follows its peer
	struct lldp_pdu pdu; // ttl_s is the agent's; dcbx: as the policy says
	struct lldp_text extra; // further TLVs, whole
	uint8_t address[17]; // room for pdu.management
};

struct lldp_agent_ops {
	// False: the port does not speak LLDP.
	bool (*local)(void *arg, unsigned port, struct lldp_local *out);
	// False: there was no room; the agent tries again at the next poll.
	bool (*send)(void *arg, unsigned port, const uint8_t *bytes, uint16_t len);
	// about: the name of the neighbour, or its chassis ID.
	void (*event)(void *arg, const struct event *e, const char *about);
};

// Of a port. They only grow.
struct lldp_counters {
	uint64_t sent, received;
	uint64_t malformed; // frames that are no LLDPDU
	uint64_t own; // frames of this port that came back
	uint64_t too_many; // frames of neighbours beyond LLDP_NEIGHBOURS
	uint64_t aged; // neighbours whose time has run out
	uint64_t unknown_tlvs, bad_tlvs;
	uint64_t cee; // frames with DCBX from before the standard
	uint64_t dcbx_changes; // of what the peer says, damped or not
};

struct lldp_neighbour {
	struct lldp_pdu pdu; // points into bytes
	uint64_t since_ns, end_ns;
	uint16_t len;
	uint8_t bytes[LLDP_MAX_LEN];
};

enum dcbx_state {
	DCBX_OFF, // the port does not speak LLDP
	DCBX_SILENT, // no neighbour has DCBX TLVs
	DCBX_OLD, // one has, those of CEE, which are not spoken here
	DCBX_SEVERAL, // of several neighbours: none is the peer (38.4)
	DCBX_MISMATCH,
	DCBX_AGREED,
	N_DCBX_STATES,
};
extern const char *const dcbx_state_name[N_DCBX_STATES];

// Why the peer's settings have changed PFC of a port.
enum dcbx_pfc_cause {
	DCBX_PFC_BY_AUTO, // `pfc.mode: auto`
	DCBX_PFC_BY_WILLING, // the port follows the peer, or did so before
};

// How a port stands with its DCBX peer. Also for readers.
struct dcbx_view {
	enum dcbx_state state;
	unsigned differences; // enum dcbx_difference
	const struct lldp_neighbour *peer; // NULL: there is none
	struct dcbx_pdu local; // what the policy says
	uint8_t oper; // classes with PFC by the state machine, which the port says to the peer
	uint8_t active; // classes with PFC, as of what has taken effect
	bool pfc_auto;
	bool follows; // PFC is the peer's
};

// 0 or -ENOMEM. arg: for the ops.
__attribute__((warn_unused_result)) int lldp_agent_create(unsigned n_ports,
							  const struct lldp_agent_ops *ops,
							  void *arg, struct lldp_agent **out);
void lldp_agent_destroy(struct lldp_agent *a); // NULL is fine

// A frame of EtherType 0x88cc without tags.
void lldp_receive(struct lldp_agent *a, unsigned port, const uint8_t *bytes, uint32_t len,
		  uint64_t now_ns);
// The link of a port. A link that is down has no neighbours, and PFC as before.
void lldp_link(struct lldp_agent *a, unsigned port, bool up, uint64_t now_ns);
// The answers of ops.local may have changed. A port whose LLDP is now off says goodbye.
void lldp_local_changed(struct lldp_agent *a, uint64_t now_ns);
// Sends and ages what is due. To be called at lldp_next_ns(), or often.
void lldp_poll(struct lldp_agent *a, uint64_t now_ns);
// For tests: UINT64_MAX: nothing is due.
uint64_t lldp_next_ns(const struct lldp_agent *a);
// Says goodbye (TTL 0) on all ports.
void lldp_shutdown(struct lldp_agent *a);

// Classes in which the port may have PFC: those of the peer if pfc_auto, or if the port follows it,
// else all. Changes only in the calls above.
uint8_t lldp_pfc_allowed(const struct lldp_agent *a, unsigned port, bool pfc_auto);

bool lldp_is_on(const struct lldp_agent *a, unsigned port);
const struct lldp_counters *lldp_counters(const struct lldp_agent *a, unsigned port);
// The i-th neighbour of the port, or NULL.
const struct lldp_neighbour *lldp_neighbour(const struct lldp_agent *a, unsigned port, unsigned i);
void lldp_dcbx(const struct lldp_agent *a, unsigned port, struct dcbx_view *out);

// A text of a TLV as printable ASCII: other bytes become '?'. An ID of kind MAC or address is
// written as such.
void lldp_text_print(struct lldp_text t, char out[LLDP_ABOUT_LEN]);
void lldp_id_print(const struct lldp_id *id, bool chassis, char out[LLDP_ABOUT_LEN]);
void lldp_address_print(struct lldp_text address, char out[LLDP_ABOUT_LEN]);
