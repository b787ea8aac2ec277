// SPDX-License-Identifier: Apache-2.0
// The keys of one item of `flows:`.

#include "control/config/rows.h"
#include "control/lab/traffic_flow.h"
#include "drivers/nic/requester.h"

#define FLOW(f) .off = offsetof(struct lab_flow, f)
#define REUSE(f) .off = offsetof(struct lab_reuse_keys, f)
#define STORE(f) .off = offsetof(struct lab_storage_keys, f)
#define GB(n) ((n)*1000000000ll)

enum {
	NAME_LEN = 31,
	TEXT_LEN = 255,
	MAX_COUNT = 1000000000,
	MAX_PSN = (1 << 24) - 1,
	MIN_PAYLOAD = 16,
	MAX_PAYLOAD = 4096
};

static const char *const pattern_words[] = {"each",    "incast",  "all-to-all", "poisson",
					    "request", "storage", NULL};
static const char *const op_words[] = {"write", "send", "read", NULL};
static_assert(N(pattern_words) == N_PATTERNS + 1, "a word for each pattern");

static const struct cfg_row storage_rows[] = {
	{"reads", CFG_NUMBER, .unit = UNIT_PERCENT, STORE(reads), .max = PERCENT(100),
	 .dflt = PERCENT(50), .dflt_text = "50%", .help = "share of disk reads, drawn for each"},
	{"small", CFG_NUMBER, .unit = UNIT_BYTES, STORE(small), .max = MB(1), .dflt = KB(4),
	 .dflt_text = "4KB", .help = "up to this size the payload travels in request or reply"},
	{"large", CFG_NUMBER, .unit = UNIT_BYTES, STORE(large), .max = GB(1), .dflt = KB(64),
	 .dflt_text = "64KB",
	 .help = "up to this size the server moves the payload by one READ or WRITE"},
	{"chunk", CFG_NUMBER, .unit = UNIT_BYTES, STORE(chunk), .min = 1, .max = MB(64),
	 .dflt = KB(64), .dflt_text = "64KB",
	 .help = "above that, by chunks of this size, one after the other"},
	{"credits", CFG_NUMBER, .unit = UNIT_COUNT, STORE(credits), .min = 1, .max = 128,
	 .dflt = 16, .dflt_text = "16",
	 .help = "requests of one client that one server has buffers for"},
	{"request", CFG_NUMBER, .unit = UNIT_BYTES, STORE(request), .max = MB(1), .dflt = 256,
	 .dflt_text = "256B", .help = "a request without its payload"},
	{"reply", CFG_NUMBER, .unit = UNIT_BYTES, STORE(reply), .max = MB(1), .dflt = 128,
	 .dflt_text = "128B", .help = "a reply without its payload"},
};
static const struct cfg_schema storage_schema = {storage_rows, N(storage_rows),
						 sizeof(struct lab_storage_keys)};

static const struct cfg_row reuse_rows[] = {
	{"after", CFG_NUMBER, .unit = UNIT_COUNT, REUSE(after), .min = 1, .max = MAX_COUNT,
	 .required = true, .help = "messages of a connection until it is closed"},
	{"crossed", CFG_SWITCH, REUSE(crossed), .dflt_text = "off",
	 .help = "two connections between the same hosts change places at the receiver: a queue "
		 "pair of the sender gets another one of the receiver"},
	{"pause", CFG_NUMBER, .unit = UNIT_TIME, REUSE(pause), .max = SECONDS(10), .dflt = 10000,
	 .dflt_text = "10us", .help = "until it is opened anew; longer than frames are under way"},
};
static const struct cfg_schema reuse_schema = {reuse_rows, N(reuse_rows),
					       sizeof(struct lab_reuse_keys)};
static const struct cfg_row reuse_scalar = {"reuse",
					    CFG_NUMBER,
					    .unit = UNIT_COUNT,
					    .off = offsetof(struct lab_flow, reuse.after),
					    .min = 1,
					    .max = MAX_COUNT,
					    .dflt_text = "never"};

static const char *const tcp_words[] = {
	[TCP_NEWRENO] = "newreno", [TCP_DCTCP] = "dctcp", NULL};
#define TCP(f) .off = offsetof(struct lab_tcp_keys, f)

static const struct cfg_row tcp_rows[] = {
	{"cc", CFG_WORD, TCP(cc), .words = tcp_words, .dflt_text = "newreno",
	 .help = "congestion control"},
	{"sack", CFG_SWITCH, TCP(sack), .dflt = 1, .dflt_text = "on",
	 .help = "selective acknowledgements"},
	{"window", CFG_NUMBER, .unit = UNIT_BYTES, TCP(window), .min = KB(16),
	 .max = TCP_MAX_WINDOW, .dflt = MB(4), .dflt_text = "4MB", .help = "receive window"},
	{"initial_window", CFG_NUMBER, .unit = UNIT_COUNT, TCP(initial_window), .min = 1,
	 .max = 1000, .dflt = 10, .dflt_text = "10",
	 .help = "segments that a connection begins with, and begins with again after it was idle"},
	{"rto_min", CFG_NUMBER, .unit = UNIT_TIME, TCP(rto_min), .min = 1000, .max = SECONDS(60),
	 .dflt = 10000000, .dflt_text = "10ms", .help = "least retransmission timer"},
	{"rto_initial", CFG_NUMBER, .unit = UNIT_TIME, TCP(rto_initial), .min = 1000,
	 .max = SECONDS(60), .dflt = SECONDS(1), .dflt_text = "1s",
	 .help = "retransmission timer before the first round trip is measured, as of a SYN"},
	{"delayed_ack", CFG_NUMBER, .unit = UNIT_TIME, TCP(delayed_ack), .min = 1,
	 .max = SECONDS(1), .dflt = 1000000, .dflt_text = "1ms",
	 .help = "how long an ACK waits for a further segment"},
	{"g", CFG_TEXT, TCP(g), .max = NAME_LEN, .dflt_text = "1/16",
	 .help = "dctcp: gain of alpha, a fraction of at most 1"},
};
static const struct cfg_schema tcp_schema = {tcp_rows, N(tcp_rows), sizeof(struct lab_tcp_keys)};
static const struct cfg_row tcp_scalar = {"tcp", CFG_WORD,
					  .off = offsetof(struct lab_flow, tcp.cc),
					  .words = tcp_words, .dflt_text = "RDMA"};

static const struct cfg_row flow_rows[] = {
	{"name", CFG_NAME, FLOW(name), .max = NAME_LEN, .dflt_text = "f1, f2, ...",
	 .help = "how expectations and the report call it"},
	{"pattern", CFG_WORD, FLOW(pattern), .words = pattern_words, .dflt_text = "each",
	 .help = "who posts when"},
	{"from", CFG_WORDS, FLOW(from), .max = TEXT_LEN, .required = true,
	 .help = "hosts that send or ask: names, ranges `h[1-8]`, `h*`"},
	{"to", CFG_WORDS, FLOW(to), .max = TEXT_LEN, .dflt_text = "as from",
	 .help = "hosts that receive or answer; nobody sends to itself"},
	{"pairs", CFG_SWITCH, FLOW(pairs), .dflt_text = "off",
	 .help = "each: the first of `from` to the first of `to`, and so on"},
	{"class", CFG_NUMBER, .unit = UNIT_COUNT, FLOW(cls), .max = 7, .dflt = 3, .dflt_text = "3",
	 .expected = "expected one class from 0 to 7: give each class an item of its own",
	 .help = "traffic class and PFC priority, the same of all its frames"},
	{"dscp", CFG_NUMBER, .unit = UNIT_COUNT, FLOW(dscp), .max = 63, .dflt = CFG_WORD_VALUE,
	 .word = "by-class", .dflt_text = "8 * class",
	 .help = "DSCP of its frames; the hosts' NICs take it for `class`"},
	{"ecn", CFG_WORD, FLOW(ecn), .words = nic_ecn_words,
	 .dflt_text = "ect0, of newreno not-ect",
	 .help = "ECN codepoint of its frames; WRED drops `not-ect` where it marks the others"},
	{"op", CFG_WORD, FLOW(op), .words = op_words, .dflt_text = "write",
	 .help = "the operation; with request: that of the answer"},
	{"size", CFG_TEXT, FLOW(size), .max = TEXT_LEN, .dflt_text = "unlimited",
	 .help = "`unlimited`, bytes of a message (an answer, a storage payload), or a "
		 "distribution: a name in sizes/, or a file"},
	{"count", CFG_NUMBER, .unit = UNIT_COUNT, FLOW(count), .min = 1, .max = MAX_COUNT,
	 .dflt = CFG_WORD_VALUE, .word = "endless", .dflt_text = "endless",
	 .help = "messages of a connection, rounds, or operations of a host"},
	{"depth", CFG_NUMBER, .unit = UNIT_COUNT, FLOW(depth), .min = 1, .max = 128, .dflt = 1,
	 .dflt_text = "1", .help = "messages of a connection, or operations of a host, under way"},
	{"qps", CFG_NUMBER, .unit = UNIT_COUNT, FLOW(qps), .min = 1, .max = 1024, .dflt = 1,
	 .dflt_text = "1", .help = "connections from one host to another"},
	{"rate", CFG_NUMBER, .unit = UNIT_RATE, FLOW(rate), .min = 1000, .max = GIGA(800),
	 .dflt = CFG_WORD_VALUE, .word = "line", .dflt_text = "line",
	 .help = "pacing of each connection, link overhead included"},
	{"interval", CFG_NUMBER, .unit = UNIT_TIME, FLOW(interval), .min = 1, .max = SECONDS(3600),
	 .dflt = CFG_WORD_VALUE, .word = "none", .dflt_text = "none",
	 .help = "from message to message, or round to round, whether done or not"},
	{"start", CFG_NUMBER, .unit = UNIT_TIME, FLOW(start), .max = SECONDS(3600),
	 .dflt_text = "0", .help = "when it begins"},
	{"stop", CFG_NUMBER, .unit = UNIT_TIME, FLOW(stop), .max = SECONDS(3600),
	 .dflt = CFG_WORD_VALUE, .word = "never", .dflt_text = "never",
	 .help = "from then on nothing is posted"},
	{"jitter", CFG_NUMBER, .unit = UNIT_TIME, FLOW(jitter), .max = SECONDS(3600),
	 .dflt_text = "0",
	 .help = "each connection, and each message of a round, begins later by up to this"},
	{"mtu", CFG_NUMBER, .unit = UNIT_BYTES, FLOW(mtu), .min = MIN_PAYLOAD, .max = MAX_PAYLOAD,
	 .dflt = CFG_WORD_VALUE, .word = "auto", .dflt_text = "auto",
	 .help = "payload of a packet; `auto`: the largest of 256, 512, 1024, 2048, 4096 that "
		 "every port takes, of TCP the least IP MTU of all ports less 40"},
	{"cc", CFG_SWITCH, FLOW(cc), .dflt = 1, .dflt_text = "on",
	 .help = "off: these connections ignore CNPs"},
	{"load", CFG_NUMBER, .unit = UNIT_PERCENT, FLOW(load), .min = 1, .max = PERCENT(100),
	 .dflt = CFG_WORD_VALUE, .word = "closed", .dflt_text = "closed",
	 .help = "Poisson arrivals at this share of each sending host's line, headers included; "
		 "`closed`: `depth` under way"},
	{"idle", CFG_NUMBER, .unit = UNIT_COUNT, FLOW(idle), .max = 1024, .dflt = 64,
	 .dflt_text = "64", .help = "connections a host keeps open for later; others are closed"},
	{"fan", CFG_NUMBER, .unit = UNIT_COUNT, FLOW(fan), .min = 1, .max = SC_MAX_HOSTS,
	 .dflt = CFG_WORD_VALUE, .word = "all", .dflt_text = "all",
	 .help = "incast: so many of `from`, drawn anew for each round"},
	{"request", CFG_NUMBER, .unit = UNIT_BYTES, FLOW(request), .max = MB(64), .dflt = 64,
	 .dflt_text = "64B", .help = "size of a request, a SEND"},
	{"think", CFG_NUMBER, .unit = UNIT_TIME, FLOW(think), .max = SECONDS(10), .dflt_text = "0",
	 .help = "what the server takes before it answers"},
	{"first_psn", CFG_NUMBER, .unit = UNIT_COUNT, FLOW(first_psn), .max = MAX_PSN,
	 .dflt = CFG_WORD_VALUE, .word = "random", .dflt_text = "random",
	 .help = "PSN that each connection begins with"},
	{"ack_every", CFG_NUMBER, .unit = UNIT_COUNT, FLOW(ack_every), .min = 1,
	 .max = REQ_MAX_ACK_EVERY, .dflt = REQ_ACK_EVERY, .dflt_text = "16, of TCP 2",
	 .help = "packets per ACK; the last packet of a message always gets one"},
	{"reuse", CFG_MAP, FLOW(reuse), .sub = &reuse_schema, .scalar = &reuse_scalar,
	 .dflt_text = "never",
	 .help = "each, with a size: connections are closed after so many messages and opened "
		 "anew on the same queue pair numbers"},
	{"tcp", CFG_MAP, FLOW(tcp), .sub = &tcp_schema, .scalar = &tcp_scalar,
	 .dflt_text = "RDMA", .help = "TCP connections in place of queue pairs"},
	{"storage", CFG_MAP, FLOW(storage), .sub = &storage_schema, .dflt_text = "defaults",
	 .help = "modes of transfer of the storage pattern"},
};
static_assert(N(flow_rows) <= CFG_MAX_ROWS, "the engine keeps one position per row");

const struct cfg_schema lab_flow_schema = {flow_rows, N(flow_rows), sizeof(struct lab_flow)};
