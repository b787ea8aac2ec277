// SPDX-License-Identifier: Apache-2.0
// RoCEv2 senders on the bench, and what the switch sends them: hosts with the addresses
// 10.0.(port + 1).2 and fd00:(port + 1)::2, flows whose pairs the policy knows, CNPs that hosts
// received, each with the record that explains it.
#pragma once

#include "dataplane/packet/parse.h"
#include "dataplane/switch_flows.h"
#include "tests/lab/bench.h"

enum {
	IPCC_PORTS = 4,
	IPCC_KMIN = 5000,
	IPCC_KMAX = 20000,
	IPCC_FRAME = 1000, // bytes of a data frame
	IPCC_SENDER_QP = 0x1000, // the sender's queue pair is the receiver's and this
	IPCC_TO = 2, // the port of the receiver
	IPCC_QUEUE = 3,
	IPCC_QP = 1000, // of the first flow that has a pair
	IPCC_MAX_LEN = 1600,
	IPCC_MAX_RECORDS = 4096,
};

// Keys of `ipcc` and of `wred` are added to what the class has by itself.
struct ipcc_policy {
	const char *ipcc; // "on", or a map
	const char *wred; // more of its keys, beginning with a comma; NULL: ecn off
	const char *keys; // of the profile, lines; NULL: none
	const char *classes; // more rows; NULL: class 6 is strict
	const char *pairs; // NULL: those of ipcc_pairs
	bool lossy; // the class of the data
	bool routed; // ports with the addresses 10.0.(port + 1).1/24, fd00:(port + 1)::1/64
};
const char *ipcc_yaml(const struct ipcc_policy *p);
// Pairs of flows from every port to every other, with the queue pairs first to first + n - 1, for
// both families.
const char *ipcc_pairs(uint32_t first, unsigned n);

// The bench with this policy, and the first interval, which has no look, behind it.
struct bench *ipcc_open(const struct ipcc_policy *p);

struct ipcc_tag {
	uint16_t tpid, tci; // TPID 0: none
};

struct ipcc_data {
	unsigned from, to; // ports
	uint32_t qp, psn;
	uint16_t len; // 0: IPCC_FRAME
	bool v6;
	struct ipcc_tag tags[2]; // the outermost first
	uint8_t opcode; // 0: SEND first
	uint16_t sport, pkey; // 0: 49152 + qp, 0xffff
	bool routed; // to the MAC address of the switch's port
	uint8_t adapter; // byte 3 of the sender's MAC address
};
// Returns its length. The iCRC is right.
uint16_t ipcc_build(uint8_t *out, const struct ipcc_data *d);
// n of them wait at the host, with one PSN after the other.
void ipcc_send(struct bench *b, const struct ipcc_data *d, unsigned n);
// n of a flow from each of the first n_hosts, to the receiver.
void ipcc_incast(struct bench *b, unsigned n_hosts, unsigned n);
void ipcc_settle(struct bench *b); // until all has arrived: a few milliseconds

// Of the receiver's queue.
const struct ipcc_counters *ipcc_counters(const struct bench *b);
uint64_t ipcc_length(const struct bench *b);

// A CNP as a host received it.
struct ipcc_cnp {
	const struct bench_rx *rx;
	struct pkt_info info;
	unsigned host;
};
// The nth one of the host; false: there is none.
bool ipcc_cnp(const struct bench *b, unsigned host, unsigned nth, struct ipcc_cnp *out);
unsigned ipcc_cnps(const struct bench *b, unsigned host);

// What the record says follows from the policy of its queue, which must still be that of its time.
void ipcc_check_record(const struct bench *b, const struct cnp_record *r);

struct ipcc_seen {
	struct cnp_record records[IPCC_MAX_RECORDS]; // by time
	unsigned n;
};
// All records until now. Asserts that they are the CNPs that hosts received, and that each is right
// about the policy's queue: to be called when all has arrived.
void ipcc_explain(struct bench *b, struct ipcc_seen *seen);
