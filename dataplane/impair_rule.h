// SPDX-License-Identifier: Apache-2.0
// A rule of impairment: which frames it changes, and what happens to them. The match is a small
// program of tests. Each test compares one field of a frame with a range and names the next test
// for both results. Tests name later tests only, so a match ends after IMPAIR_MAX_TESTS steps at
// most. control/config/impair.c makes programs of texts.
//
// Called by the worker that owns the port. The same rule, seed and frames give the same results.
// Pure: it reads frames and its own memory, and changes no frame. No DPDK.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/rng.h"
#include "dataplane/packet/parse.h"

// Fields: id, name, highest value, help. A comparison of a field that a frame does not have is
// false, also with !=.
#define IMPAIR_FIELDS(X)                                                                           \
	X(LEN, "len", 65535, "bytes of the frame, without FCS")                                    \
	X(CLASS, "class", 7, "class in which the port takes the frame")                            \
	X(VLAN, "vlan", 4095, "VLAN ID of the outer tag")                                          \
	X(DSCP, "dscp", 63, "DSCP of IPv4 and IPv6")                                               \
	X(ECN, "ecn", 3, "not-ect, ect0, ect1, ce")                                                \
	X(SRC, "ip.src", 0, "source address: an address or a prefix")                              \
	X(DST, "ip.dst", 0, "destination address: an address or a prefix")                         \
	X(PROTO, "ip.proto", 255, "protocol number of IP: 6 TCP, 17 UDP")                          \
	X(SPORT, "udp.sport", 65535, "source port of UDP")                                         \
	X(DPORT, "udp.dport", 65535, "destination port of UDP")                                    \
	X(OPCODE, "roce.opcode", 255, "opcode of the BTH: a name, or a number")                    \
	X(QP, "roce.qp", 0xffffff, "destination queue pair of the BTH")                            \
	X(PSN, "roce.psn", 0xffffff, "packet sequence number of the BTH")                          \
	X(FLOW, "flow", 65535, "a number that all frames of a flow share, and that --seed changes")

// Words: id, name, help. They hold or do not.
#define IMPAIR_WORDS(X)                                                                            \
	X(IPV4, "ipv4", "the frame is IPv4")                                                       \
	X(IPV6, "ipv6", "the frame is IPv6")                                                       \
	X(TCP, "tcp", "the frame is TCP")                                                          \
	X(UDP, "udp", "the frame is UDP")                                                          \
	X(ROCE, "roce", "the frame is RoCEv2: UDP to port 4791 with a whole BTH")                  \
	X(DATA, "data", "RoCEv2, but no ACK, NAK, CNP or cm")                                      \
	X(CM, "cm", "connection management: RoCEv2 to queue pair 1")                               \
	X(ACK, "ack", "ACK or atomic ACK of RoCEv2")                                               \
	X(NAK, "nak", "NAK or RNR NAK of RoCEv2")                                                  \
	X(CNP, "cnp", "CNP of RoCEv2")                                                             \
	X(ACKREQ, "ackreq", "the AckReq bit of the BTH is set")                                    \
	X(ONCE, "once", "the flow and PSN have not come here before; write it last")

enum impair_field {
#define X(id, ...) IMPAIR_##id,
	IMPAIR_FIELDS(X)
	IMPAIR_N_FIELDS,
	IMPAIR_BEFORE_WORDS = IMPAIR_N_FIELDS - 1,
	IMPAIR_WORDS(X)
#undef X
	IMPAIR_RANDOM, // `random 1%`: below `chance`
	IMPAIR_EVERY, // `every 100`: each hundredth frame that comes here
};

enum {
	IMPAIR_MAX_TESTS = 24,
	IMPAIR_HIT = 254, // in place of the next test: the result
	IMPAIR_MISS = 255,
	IMPAIR_ONCE_FRAMES = 1024, // that `once` knows
	IMPAIR_TEXT = 256, // of a match, with its end
	IMPAIR_ACTION_TEXT = 32,
	IMPAIR_DELAY_MAX_NS = 1000000000,
	IMPAIR_GAP_MAX = 64,
	IMPAIR_GAP_NS = 1000000, // a frame that is reordered waits no longer
};

struct impair_test {
	uint8_t field; // enum impair_field
	uint8_t hit, miss; // the next test, IMPAIR_HIT or IMPAIR_MISS
	bool differs; // !=: the range must not have the value
	uint8_t family, prefix; // of addr
	uint32_t divisor; // 0: none; the remainder is compared
	uint32_t low, high; // the range; of IMPAIR_EVERY: high is the interval
	uint64_t inverse; // of the divisor (impair_inverse); of IMPAIR_RANDOM: chance of 2^32
	uint8_t addr[16];
};

struct impair_match {
	uint8_t n; // 0: all frames
	struct impair_test test[IMPAIR_MAX_TESTS];
};

#define IMPAIR_ACTIONS(X)                                                                          \
	X(DROP, "drop", "", "the frame ends")                                                      \
	X(DELAY, "delay", " TIME", "the frame waits; others overtake it")                          \
	X(DUPLICATE, "duplicate", "", "a copy follows the frame")                                  \
	X(REORDER, "reorder", " N", "the frame follows the next N frames of its flow")             \
	X(CE, "ce", " [P%]", "CE is set, of frames that are ECT")                                  \
	X(CORRUPT, "corrupt", " icrc|payload", "a bit of the iCRC, or of the payload, is turned")

enum impair_action {
#define X(id, ...) IMPAIR_ACT_##id,
	IMPAIR_ACTIONS(X)
#undef X
		N_IMPAIR_ACTIONS,
};
enum impair_part { IMPAIR_ICRC, IMPAIR_PAYLOAD };
enum impair_direction { IMPAIR_IN, IMPAIR_OUT, N_IMPAIR_DIRECTIONS };

struct impair_rule {
	struct impair_match match;
	uint8_t action, part, direction; // enums of those names
	uint16_t gap; // IMPAIR_ACT_REORDER: frames
	uint64_t delay_ns;
	uint64_t chance; // of 2^32, with which a frame that matches is changed
	uint64_t for_ns;
	uint64_t count; // frames that are changed; 0: as many as match
	uint64_t seed;
	char match_text[IMPAIR_TEXT], action_text[IMPAIR_ACTION_TEXT]; // as they were written
};

// A frame as the match sees it. eth: of which `stored` bytes are there.
struct impair_frame {
	const uint8_t *eth;
	const struct pkt_info *pkt;
	uint32_t stored, len;
	uint8_t cls;
};

// What a rule remembers from frame to frame.
struct impair_memory {
	struct rng rng;
	uint64_t seed;
	uint32_t seen[IMPAIR_MAX_TESTS]; // of IMPAIR_EVERY
	uint64_t once[IMPAIR_ONCE_FRAMES];
};

// For a remainder without a division: x % d == (inverse * x mod 2^64) * d >> 64, for any x of 32
// bits (Lemire, Kaser, Kurz: Faster remainder by direct computation, 2019).
static inline uint64_t impair_inverse(uint32_t d)
{
	return UINT64_MAX / d + 1;
}

// Why a rule has ended.
#define IMPAIR_WHYS(X) X(TIME, "time") X(COUNT, "count") X(STOPPED, "stopped")
enum impair_why {
#define X(id, name) IMPAIR_BY_##id,
	IMPAIR_WHYS(X)
#undef X
		N_IMPAIR_WHYS,
};
extern const char *const impair_why_name[N_IMPAIR_WHYS];

extern const char *const impair_action_name[N_IMPAIR_ACTIONS];
extern const char *const impair_direction_name[N_IMPAIR_DIRECTIONS];

void impair_memory_init(struct impair_memory *m, uint64_t seed);
bool impair_matches(const struct impair_match *m, struct impair_memory *memory,
		    const struct impair_frame *f);

// The same for all frames of one direction of a flow: addresses and queue pair of RoCEv2,
// addresses, protocol and ports of other IP, else both MAC addresses.
uint64_t impair_flow(const struct impair_frame *f);

// Where the iCRC of a RoCEv2 frame begins, and its payload; false: there is none within len.
bool impair_icrc(const struct impair_frame *f, uint32_t *icrc, uint32_t *payload);
