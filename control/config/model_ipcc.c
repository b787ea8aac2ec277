// SPDX-License-Identifier: Apache-2.0
#include "control/config/model_ipcc.h"

#include "control/config/model.h"
#include "control/config/rows.h"
#include "dataplane/roce/feed.h"

#define US(n) ((n)*1000ll)
#define MS(n) ((n)*1000000ll)
#define SECONDS(n) ((n)*1000000000ll)
#define PERCENT(n) ((n)*10000ll)

// QP 0 and 1 are management, the highest means a multicast group.
enum { IP_LEN = 127, LEAST_QP = 2, MOST_QP = 0xfffffe, MOST_PER_MS = 1000000, MOST_BURST = 65536 };

// In the order of enum pair_source, from PAIR_STATIC.
static const char *const source_words[] = {"static", "cm", "read", "ack", "cnp", NULL};
static_assert(N(source_words) == N_PAIR_SOURCES, "the word of a source is its number less one");

// ---- flows and their peers
static const struct cfg_row flows_rows[] = {
	{"max", CFG_NUMBER, CFG_RESTART, .unit = UNIT_COUNT, AT(cfg_flows, max), .max = FLOW_MAX,
	 .dflt = 65536, .dflt_text = "65536",
	 .help = "flows of the switch, shared out over its workers; 0: no table; one more than "
		 "these is forwarded, but not followed"},
	{"age", CFG_NUMBER, .unit = UNIT_TIME, AT(cfg_flows, age), .min = MS(1),
	 .max = SECONDS(1000), .dflt = SECONDS(3), .dflt_text = "3s",
	 .help = "a flow is forgotten so long after its last frame"},
};
SCHEMA(cfg_flows_schema, flows_rows, cfg_flows);

static const struct cfg_row pairing_rows[] = {
	{"matches", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_pairing, matches), .min = 1, .max = 100,
	 .dflt = PAIR_MATCHES, .dflt_text = "3",
	 .help = "ACKs that must fit before the only flow left is taken for theirs"},
	{"sources", CFG_WORDS, AT(cfg_pairing, sources), .words = source_words,
	 .dflt_text = "all of them",
	 .help = "what may pair: `pairs` and `weirctl flow add`, connection management, READ "
		 "requests, ACKs, CNPs of the receiver"},
};
SCHEMA(cfg_pairing_schema, pairing_rows, cfg_pairing);

static const struct cfg_row pair_rows[] = {
	{"from", CFG_TEXT, AT(cfg_pair, from), .max = IP_LEN, .required = true,
	 .help = "address of the sender of data, IPv4 or IPv6"},
	{"to", CFG_TEXT, AT(cfg_pair, to), .max = IP_LEN, .required = true,
	 .help = "address of its receiver"},
	{"qp", CFG_NUMBER, .unit = UNIT_QP, AT(cfg_pair, qp), .min = LEAST_QP, .max = MOST_QP,
	 .required = true, .help = "the receiver's queue pair, as in the data frames; 0x12 is 18"},
	{"sender_qp", CFG_NUMBER, .unit = UNIT_QP, AT(cfg_pair, sender_qp), .min = LEAST_QP,
	 .max = MOST_QP, .required = true,
	 .help = "the sender's queue pair, to which CNPs of the flow go"},
};
SCHEMA(cfg_pair_schema, pair_rows, cfg_pair);

// ---- notifications
static const struct cfg_row cnp_rows[] = {
	{"dscp", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_cnp, dscp), .max = 63, .dflt = 48,
	 .dflt_text = "48", .help = "DSCP of the CNPs that the switch makes"},
	{"class", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_cnp, cls), .max = 7, .dflt = 6,
	 .dflt_text = "6", .help = "class they leave in, a lossy one and best a strict one"},
	{"max_rate", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_cnp, max_rate), .min = 1,
	 .max = MOST_PER_MS, .dflt = 1000, .dflt_text = "1000",
	 .help = "CNPs per millisecond that may leave by one port"},
	{"burst", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_cnp, burst), .min = 1, .max = MOST_BURST,
	 .dflt = 64, .dflt_text = "64", .help = "as many of them may leave at once"},
};
SCHEMA(cfg_cnp_schema, cnp_rows, cfg_cnp);

static const struct cfg_row ipcc_rows[] = {
	{"interval", CFG_NUMBER, .unit = UNIT_TIME, AT(cfg_ipcc, interval), .min = US(1),
	 .max = SECONDS(1), .dflt = US(5), .dflt_text = "5us",
	 .help = "the queue is looked at when it grows beyond kmin and so often while it is"},
	{"deep", CFG_NUMBER, .unit = UNIT_PERCENT, AT(cfg_ipcc, deep), .max = PERCENT(100),
	 .dflt = PERCENT(50), .dflt_text = "50%",
	 .help = "a queue is deep from this share of kmax, or of the threshold of its memory"},
	{"few", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_ipcc, few), .max = FEED_SLOTS, .dflt = 2,
	 .dflt_text = "2",
	 .help = "most CNPs of a look at a shallow queue that grows, or a deep one that shrinks"},
	{"many", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_ipcc, many), .min = 1, .max = FEED_SLOTS,
	 .dflt = 64, .dflt_text = "64", .help = "the same for a deep queue that grows"},
	{"cut", CFG_NUMBER, .unit = UNIT_PERCENT, AT(cfg_ipcc, cut), .min = PERCENT(1),
	 .max = PERCENT(100), .dflt = PERCENT(50), .word = "learnt", .dflt_text = "50%",
	 .help = "share of its rate that a sender takes off for a CNP; `learnt`: by what earlier "
		 "CNPs did to the flow"},
	{"drain", CFG_NUMBER, .unit = UNIT_TIME, AT(cfg_ipcc, drain), .min = US(1),
	 .max = SECONDS(1), .dflt = US(50), .dflt_text = "50us",
	 .help = "what stands above kmin is to be gone in this time"},
	{"min_gap", CFG_NUMBER, .unit = UNIT_TIME, AT(cfg_ipcc, min_gap), .max = SECONDS(1),
	 .dflt = US(10), .dflt_text = "10us", .help = "least time between two CNPs to one flow"},
	{"spare", CFG_NUMBER, .unit = UNIT_TIME, AT(cfg_ipcc, spare), .max = SECONDS(1),
	 .dflt_text = "0us: they are marked",
	 .help = "frames of a flow are not marked so long after a CNP to it"},
};
SCHEMA(cfg_ipcc_schema, ipcc_rows, cfg_ipcc);
