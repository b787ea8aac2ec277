// SPDX-License-Identifier: Apache-2.0
// The keys of a host's `nic:` map in a scenario, as rows (control/base/schema.h), and what they
// make of a NIC. The keys of `cc:` come from the one table of drivers/nic/dcqcn.h. Control thread
// only; pure.
//
//   nic: {preset: gen1, cc: {n: 20us}, window: 4096}
//   nic: {cc: dcqcn}
#pragma once

#include "control/base/rows.h"
#include "drivers/nic/nic.h"

// The member of a key, by the kind of CC_KEYS.
#define CC_MEMBER_TIME struct cfg_val
#define CC_MEMBER_RATE struct cfg_val
#define CC_MEMBER_BYTES struct cfg_val
#define CC_MEMBER_COUNT struct cfg_val
#define CC_MEMBER_SWITCH struct cfg_val
#define CC_MEMBER_GAIN struct cfg_val
#define CC_MEMBER_CLASSES struct cfg_set

struct cc_keys {
	struct cfg_map map;
	struct cfg_val preset; // also the word that stands in place of the map: the later holds
	struct cfg_val flavour, np;
#define X(name, kind, field, lo, hi, who, help) CC_MEMBER_##kind name;
	CC_KEYS(X)
#undef X
};

struct nic_receive_keys {
	struct cfg_map map;
	struct cfg_val rate, loopback, buffer, xoff, xon, qp_cache, qp_miss;
};

struct nic_keys {
	struct cfg_map map;
	struct cfg_val speed, preset, window, rto, udp_sport, ignore_pause, go_back, fence;
	struct cfg_val storm_guard, whole_link;
	struct cc_keys cc;
	struct nic_receive_keys receive;
};

extern const struct cfg_schema nic_keys_schema;

// Lays what was given over *c, which comes from nic_config_default and has the speed of the host's
// link, 0: not known. Values that cannot hold are reported.
void nic_keys_apply(const struct nic_keys *k, struct nic_config *c, struct diag_sink *sink);
