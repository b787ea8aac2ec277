// SPDX-License-Identifier: Apache-2.0
// The rows of facts about the policy that runs. Part of the table in fact.c, which alone includes
// this.
#pragma once

#include "control/observe/fact.h"

#define SETTING_PORT {"port", FACT_ID, FACT_COMPUTED, "port of the policy file"}
#define SETTING_QUEUE {"queue", FACT_ID, FACT_COMPUTED, "egress queue, 0 to 7"}
#define SETTING_PG {"pg", FACT_ID, FACT_COMPUTED, "priority group, 0 to 7"}
#define SETTING_CLASS                                                                              \
	{"class", FACT_LABEL, FACT_COMPUTED, "lowest class that the policy maps here"}
#define SETTING_PROFILE {"profile", FACT_TEXT, FACT_COMPUTED, "profile of the port"}

static const struct fact vlans[] = {
	{"vlan", FACT_ID, FACT_COMPUTED, "VLAN ID"},
	{"untagged", FACT_TEXT, FACT_COMPUTED, "ports that carry it untagged"},
	{"tagged", FACT_TEXT, FACT_COMPUTED, "ports that carry it tagged"},
	{"flood", FACT_YES, FACT_COMPUTED, "frames to unknown addresses are flooded"},
};

static const struct fact qos[] = {
	SETTING_PORT, SETTING_PROFILE,
	{"trust", FACT_TEXT, FACT_COMPUTED, "what gives a frame its class: dscp, pcp or port"},
	{"default_class", FACT_GAUGE, FACT_COMPUTED, "class of frames without DSCP and tag"},
	{"lossless", FACT_TEXT, FACT_COMPUTED, "lossless classes"},
	{"dscp_to_class", FACT_TEXT, FACT_COMPUTED, "64 classes, of DSCP 0 to 63"},
	{"pcp_to_class", FACT_TEXT, FACT_COMPUTED, "8 classes, of PCP 0 to 7"},
	{"class_to_queue", FACT_TEXT, FACT_COMPUTED, "8 egress queues, of class 0 to 7"},
	{"class_to_pg", FACT_TEXT, FACT_COMPUTED, "8 priority groups, of class 0 to 7"},
};

static const struct fact pfc_status[] = {
	SETTING_PORT,
	{"class", FACT_ID, FACT_COMPUTED, "lossless class, which is the PFC priority"},
	SETTING_PROFILE,
	{"rx", FACT_YES, FACT_COMPUTED, "PAUSE of the peer stops the class"},
	{"tx", FACT_YES, FACT_COMPUTED, "the switch pauses the class at the peer"},
	{"rx_policy", FACT_YES, FACT_COMPUTED,
	 "the policy says so for rx; the driver may be unable to (see pfc_rx of ports)"},
	{"tx_policy", FACT_YES, FACT_COMPUTED, "likewise for tx (see pfc_tx of ports)"},
};

static const struct fact ecn_queues[] = {
	SETTING_PORT, SETTING_QUEUE,
	{"color", FACT_ID, FACT_COMPUTED, "frames of this colour: green, yellow, red, or all"},
	SETTING_CLASS, SETTING_PROFILE,
	{"wred", FACT_YES, FACT_COMPUTED, "the queue has `wred`"},
	{"ecn", FACT_YES, FACT_COMPUTED, "ECN-capable frames are marked and not dropped"},
	{"kmin_bytes", FACT_GAUGE, FACT_COMPUTED,
	 "no frame is marked or dropped up to this length; null without wred, as the next two"},
	{"kmax_bytes", FACT_GAUGE, FACT_COMPUTED, "the probability rises up to this length"},
	{"pmax_percent", FACT_DERIVED, FACT_COMPUTED, "probability at kmax"},
	{"weight", FACT_GAUGE, FACT_COMPUTED,
	 "weight of the mean length, 1/2^weight; 0: the length itself"},
	{"mark_at", FACT_TEXT, FACT_COMPUTED, "enqueue or dequeue"},
	{"above_kmax", FACT_TEXT, FACT_COMPUTED, "marked above kmax: all, or with pmax"},
	{"not_ect", FACT_TEXT, FACT_COMPUTED,
	 "what happens to frames that are not ECN-capable: drop, pass"},
};

static const struct fact buffer[] = {
	{"size_bytes", FACT_GAUGE, FACT_COMPUTED, "size of the buffer"},
	{"cell_bytes", FACT_GAUGE, FACT_COMPUTED, "size of a cell"},
	{"ingress_pool_bytes", FACT_GAUGE, FACT_COMPUTED, "shared pool of the priority groups"},
	{"headroom_pool_bytes", FACT_GAUGE, FACT_COMPUTED, "pool of the PFC headroom"},
	{"egress_lossy_bytes", FACT_GAUGE, FACT_COMPUTED, "what lossy queues may hold together"},
	{"egress_lossless_bytes", FACT_GAUGE, FACT_COMPUTED,
	 "what lossless queues may hold together: the whole buffer"},
};

static const struct fact pg_config[] = {
	SETTING_PORT, SETTING_PG, SETTING_CLASS, SETTING_PROFILE,
	{"lossless", FACT_YES, FACT_COMPUTED, "the group has headroom and sends PAUSE"},
	{"min_bytes", FACT_GAUGE, FACT_COMPUTED, "guaranteed minimum"},
	{"alpha", FACT_TEXT, FACT_COMPUTED,
	 "the group may use alpha times what is free of the ingress pool; null: a fixed size"},
	{"static_bytes", FACT_GAUGE, FACT_COMPUTED, "that size; null with alpha"},
	{"headroom_bytes", FACT_GAUGE, FACT_COMPUTED, "PFC headroom: what may arrive after XOFF"},
	{"xon_bytes", FACT_GAUGE, FACT_COMPUTED, "XON at or below this much of the shared pool"},
	{"xon_offset_bytes", FACT_GAUGE, FACT_COMPUTED, "or this far below the XOFF threshold"},
};
