// SPDX-License-Identifier: Apache-2.0
// IP addresses and prefixes as people write them in a policy, and what their bits say (RFC 1122
// 3.2.1.3, RFC 4291 2). Control thread only; pure.
#pragma once

#include <stdbool.h>

struct policy_addr;
enum { ADDR_TEXT_LEN = 52 };

// "10.0.0.1" or "10.0.0.0/8"; without a length it is the whole address.
bool addr_parse(const char *text, struct policy_addr *out);
// The length is left out where that is the whole address.
const char *addr_text(const struct policy_addr *a, char out[ADDR_TEXT_LEN]);

unsigned addr_bits(const struct policy_addr *a); // 32 or 128
// By family, bits, length.
int addr_cmp(const struct policy_addr *a, const struct policy_addr *b);
bool addr_same(const struct policy_addr *a, const struct policy_addr *b); // whatever the length
bool addr_holds(const struct policy_addr *net, const struct policy_addr *a);
// With the bits beyond len set to 0 or 1.
struct policy_addr addr_masked(struct policy_addr a, unsigned len, bool ones);

// Only an address of one station can be a port's, a neighbour's or a next hop.
bool addr_is_station(const struct policy_addr *a);
// Whether the address means all stations (IPv4) or any router (IPv6) of its subnet.
bool addr_is_edge(const struct policy_addr *a);
