// SPDX-License-Identifier: Apache-2.0
// Which frames of a port go to the host's stack and not into the switch, as the words that a policy
// uses: "lldp", "arp", "tcp/22". Pure; the configuration checks words with it, the driver turns
// them into the rules of its XDP program. Any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEEP_PORTS_MAX = 32 };

struct keep_port {
	uint8_t kind; // WEIR_KEEP_TCP or WEIR_KEEP_UDP
	uint16_t port;
};

// Zeroed: nothing is kept.
struct keep {
	uint8_t kinds; // 1 << WEIR_KEEP_*
	uint8_t n_ports;
	struct keep_port ports[KEEP_PORTS_MAX];
};

// Adds what one word keeps. False with a reason that follows the word ("is given twice") in *why,
// and *k untouched.
bool keep_add(struct keep *k, const char *word, const char **why);

// What a port keeps by default: LLDP.
struct keep keep_default(void);
