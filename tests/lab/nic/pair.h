// SPDX-License-Identifier: Apache-2.0
// Two NICs at the ends of a virtual wire, as the lab joins them: connections are made out of band,
// data frames may be stored without their payload, and what arrives may be lost by count. One
// thread; brings up EAL without hugepages.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "drivers/nic/nic.h"
#include "drivers/wire/wire.h"

enum { PAIR_POOL = 8191, PAIR_SNAP = 104, PAIR_IP0 = 0x0a000001, PAIR_IP1 = 0x0a000002 };

// A frame that arrived, before it is lost or received.
typedef void pair_tap_fn(void *arg, unsigned to, uint64_t t_ns, uint32_t stored, uint32_t len);
typedef void pair_frame_fn(void *arg, unsigned to, const uint8_t *frame);

// What stands between the wire and a NIC.
struct pair_end {
	struct pair *pair;
	struct wire_end *wire;
	unsigned side;
	uint32_t lose_every, data_frames; // every nth data frame that arrives is lost; 0: none
	uint64_t lost;
};

struct pair {
	struct vclock clock;
	struct wire *wire;
	struct pair_end end[2];
	struct actor actor[2];
	struct nic *nic[2];
	pair_tap_fn *tap;
	pair_frame_fn *frame_tap;
	void *tap_arg;
};

struct pair_conf {
	uint64_t speed_bps, delay_ns; // of the wire
	bool whole; // frames with their payload, which is verified
	struct nic_faults faults[2];
	struct nic_hooks hooks[2];
	uint16_t max_qps; // 0: as by default
	uint8_t udp_sport; // enum nic_sport
	const char *cc; // a preset; NULL: none
};

// Both NICs know each other's address. Fails the test on error.
void pair_up(struct pair *p, const struct pair_conf *c);
// Checks that every frame went back to the pool.
void pair_down(struct pair *p);

// The owner has asked a NIC for something: it is stepped.
void pair_poke(struct pair *p, unsigned side);
void pair_run(struct pair *p, uint64_t until_ns);

void pair_mac(unsigned side, uint8_t mac[6]);
// A frame of at most PAIR_SNAP bytes leaves the other side for this one now.
void pair_inject(struct pair *p, unsigned to, const uint8_t *frame, uint32_t len);

// A flow from side 0 (or 1) to the other; its dst_ip, mtu (1024) and first_psn are filled in.
uint32_t pair_connect(struct pair *p, unsigned from, struct nic_flow f);

const struct nic_stats *pair_stats(const struct pair *p, unsigned side);
