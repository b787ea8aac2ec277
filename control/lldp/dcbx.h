// SPDX-License-Identifier: Apache-2.0
// The state machines of DCBX (IEEE 802.1Q clause 38.4, from 802.1Qaz): what a port does with the
// settings of its peer. Pure; any thread. Frame formats are in dataplane/packet/lldp.h.
//
//   symmetric (PFC): both ends use the settings of one end    asymmetric (ETS): each end its own
//
//   peer speaks, we are willing,                              we are willing, the peer recommends
//   and it is not, or has the lower MAC                       [ours] <------> [recommended]
//   [ours] <------------------------> [peer's]
//
//   informational (APP): the peer's settings are shown, and nothing follows from them
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/lldp.h"

// What decides. Zeroed: there is no peer.
struct dcbx_link {
	const struct dcbx_pdu *local; // as the policy says
	const struct dcbx_pdu *peer; // NULL: no peer has DCBX TLVs, or several have
	uint8_t local_mac[6], peer_mac[6];
	uint8_t possible; // classes that can have PFC here, whoever has the settings
};

// Whether PFC is the peer's, by the symmetric state machine (38.4.2): the peer has settings, we are
// willing, and the peer is not, or it has the lower MAC address.
bool dcbx_follows(const struct dcbx_link *l);

// Bitmap of the classes with PFC, by the symmetric state machine (38.4.2). In a switch only
// lossless classes can have PFC, because the others have no headroom.
uint8_t dcbx_pfc_oper(const struct dcbx_link *l);

// The ETS settings in force, by the asymmetric state machine (38.4.1).
const struct dcbx_ets *dcbx_ets_oper(const struct dcbx_link *l);

// The class of RoCEv2 (UDP port 4791) by an APP TLV, or -1.
int dcbx_roce_class(const struct dcbx_pdu *d);

// What differs between both ends, as a set.
enum dcbx_difference {
	DCBX_PFC_DIFFERS = 1, // one end has PFC in a class, the other has not
	DCBX_NO_PFC_TLV = 2, // the peer speaks DCBX and says nothing about PFC
	DCBX_APP_DIFFERS = 4, // both name a class for RoCEv2, and not the same
	DCBX_ETS_DIFFERS = 8, // shares, algorithms or the map of classes; no fault by itself
};
unsigned dcbx_differences(const struct dcbx_link *l);

// Of these, those that make lossless classes lose frames or stand still.
enum { DCBX_FAULTS = DCBX_PFC_DIFFERS | DCBX_NO_PFC_TLV | DCBX_APP_DIFFERS };
