// SPDX-License-Identifier: Apache-2.0
// Items of `flows:`: their keys, what the keys make of hosts and sizes, the rules between keys, and
// what flows need of policies.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/rows.h"
#include "control/config/model.h"
#include "control/config/port_open.h"
#include "control/inof/wire.h"
#include "control/lab/lab.h"
#include "control/lab/scenario_int.h"
#include "control/lab/traffic_int.h"
#include "control/lab/workload.h"
#include "dataplane/base/units.h"
#include "dataplane/packet/cm.h"
#include "dataplane/policy.h"
#include "drivers/nic/frames.h"
#include "drivers/nic/requester.h"

enum {
	NAME_LEN = 31,
	TEXT_LEN = 255,
	MAX_COUNT = 1000000000,
	MAX_PSN = (1 << 24) - 1,
	MAX_VID = 4094,
	MIN_PAYLOAD = 16,
	MAX_PAYLOAD = 4096
};

static const char *const pattern_words[] = {"each",    "incast",  "all-to-all", "poisson",
					    "request", "storage", "trace",     NULL};
static_assert(N(pattern_words) == N_PATTERNS + 1, "a word for each pattern");

static const struct cfg_row storage_rows[] = {
	{NUMBER(PERCENT, lab_storage_keys, reads), .max = PERCENT(100), .dflt = PERCENT(50),
	 .help = "share of disk reads, drawn for each"},
	{NUMBER(BYTES, lab_storage_keys, small), .max = MB(1), .dflt = KB(4),
	 .help = "up to this size the payload travels in request or reply"},
	{NUMBER(BYTES, lab_storage_keys, large), .max = GIGA(1), .dflt = KB(64),
	 .help = "up to this size the server moves the payload by one READ or WRITE"},
	{NUMBER(BYTES, lab_storage_keys, chunk), .min = 1, .max = MB(64), .dflt = KB(64),
	 .help = "above that, by chunks of this size, one after the other"},
	{NUMBER(COUNT, lab_storage_keys, credits), .min = 1, .max = 128, .dflt = 16,
	 .help = "requests of one client that one server has buffers for"},
	{NUMBER(BYTES, lab_storage_keys, request), .max = MB(1), .dflt = 256,
	 .help = "a request without its payload"},
	{NUMBER(BYTES, lab_storage_keys, reply), .max = MB(1), .dflt = 128,
	 .help = "a reply without its payload"},
};
static SCHEMA(storage_schema, storage_rows, lab_storage_keys);

static const struct cfg_row reuse_rows[] = {
	{NUMBER(COUNT, lab_reuse_keys, after), .min = 1, .max = MAX_COUNT, .required = true,
	 .help = "messages of a connection until it is closed"},
	{FIELD(CFG_SWITCH, lab_reuse_keys, crossed),
	 .help = "two connections between the same hosts change places at the receiver: a queue "
		 "pair of the sender gets another one of the receiver"},
	{NUMBER(TIME, lab_reuse_keys, pause), .max = SECONDS(10), .dflt = 10000,
	 .help = "until it is opened anew; longer than frames are under way"},
};
static SCHEMA(reuse_schema, reuse_rows, lab_reuse_keys);

static const char *const tcp_words[] = {[TCP_NEWRENO] = "newreno", [TCP_DCTCP] = "dctcp", NULL};

static const struct cfg_row tcp_rows[] = {
	{FIELD(CFG_WORD, lab_tcp_keys, cc), .words = tcp_words, .help = "congestion control"},
	{FIELD(CFG_SWITCH, lab_tcp_keys, sack), .dflt = 1, .help = "selective acknowledgements"},
	{NUMBER(BYTES, lab_tcp_keys, window), .min = KB(16), .max = TCP_MAX_WINDOW, .dflt = MB(4),
	 .help = "receive window"},
	{NUMBER(COUNT, lab_tcp_keys, initial_window), .min = 1, .max = 1000, .dflt = 10,
	 .help = "segments that a connection begins with, and begins with again after it was idle"},
	{NUMBER(TIME, lab_tcp_keys, rto_min), .min = 1000, .max = SECONDS(60), .dflt = 10000000,
	 .help = "least retransmission timer"},
	{NUMBER(TIME, lab_tcp_keys, rto_initial), .min = 1000, .max = SECONDS(60),
	 .dflt = SECONDS(1),
	 .help = "retransmission timer before the first round trip is measured, as of a SYN"},
	{NUMBER(TIME, lab_tcp_keys, delayed_ack), .min = 1, .max = SECONDS(1), .dflt = 1000000,
	 .help = "how long an ACK waits for a further segment"},
	{FIELD(CFG_TEXT, lab_tcp_keys, g), .max = NAME_LEN, .dflt_text = "1/16",
	 .help = "dctcp: gain of alpha, a fraction of at most 1"},
};
static SCHEMA(tcp_schema, tcp_rows, lab_tcp_keys);

static const struct cfg_row flow_rows[] = {
	{FIELD(CFG_NAME, lab_flow, name), .max = NAME_LEN, .dflt_text = "f1, f2, ...",
	 .help = "how expectations and the report call it"},
	{FIELD(CFG_WORD, lab_flow, pattern), .words = pattern_words,
	 .help = "the hosts that post, and their times"},
	{FIELD(CFG_WORDS, lab_flow, from), .max = TEXT_LEN,
	 .dflt_text = "required; of a trace all hosts",
	 .help = "hosts that send or request: names, ranges `h[1-8]`, `h*`"},
	{FIELD(CFG_WORDS, lab_flow, to), .max = TEXT_LEN, .dflt_text = "as from",
	 .help = "hosts that receive or answer; no host sends to itself"},
	{FIELD(CFG_SWITCH, lab_flow, pairs),
	 .help = "each: the first of `from` to the first of `to`, and so on"},
	{FIELD(CFG_SWITCH, lab_flow, inof),
	 .help = "each, with a size: an initiator sends only to the targets that it uses "
		 "(hosts.NAME.inof). When a path ends, its messages are sent again on the next"},
	{"class", CFG_NUMBER, .unit = UNIT_COUNT, AT(lab_flow, cls), .max = 7, .dflt = 3,
	 .expected = "expected one class from 0 to 7: give each class an item of its own",
	 .help = "traffic class and PFC priority, the same of all its frames"},
	{NUMBER(COUNT, lab_flow, dscp), .max = 63, .dflt = CFG_WORD_VALUE, .word = "by-class",
	 .dflt_text = "8 * class",
	 .help = "DSCP of its frames; the hosts' NICs take it for `class`"},
	{NUMBER(COUNT, lab_flow, vlan), .max = MAX_VID, .dflt = CFG_WORD_VALUE, .word = "by-host",
	 .help = "VID of the 802.1Q tag of its frames; 0 is a tag with a priority only"},
	{NUMBER(COUNT, lab_flow, pcp), .max = 7, .dflt = CFG_WORD_VALUE, .word = "by-class",
	 .help = "PCP of the tag; the hosts' NICs take it for `class`"},
	{FIELD(CFG_SWITCH, lab_flow, ip6), .dflt_text = "as the host",
	 .help = "its connections use IPv6"},
	{FIELD(CFG_WORD, lab_flow, ecn), .words = nic_ecn_words,
	 .dflt_text = "ect0, of newreno not-ect",
	 .help = "ECN codepoint of its frames; WRED drops `not-ect` where it marks the others"},
	{FIELD(CFG_WORD, lab_flow, op), .words = WORDS("write", "send", "read"),
	 .help = "the operation; with request: that of the answer"},
	{FIELD(CFG_LINE, lab_flow, size), .max = TEXT_LEN, .dflt_text = "unlimited",
	 .help = "`unlimited`, bytes of a message (an answer, a storage payload), or a "
		 "distribution: a name in sizes/, or a file"},
	{FIELD(CFG_LINE, lab_flow, trace), .max = TEXT_LEN, .dflt_text = "none",
	 .help = "a file of flows with their start, hosts and bytes, as of HPCC or htsim, or CSV"},
	{NUMBER(COUNT, lab_flow, count), .min = 1, .max = MAX_COUNT, .dflt = CFG_WORD_VALUE,
	 .word = "endless", .help = "messages of a connection, rounds, or operations of a host"},
	{NUMBER(COUNT, lab_flow, depth), .min = 1, .max = 128, .dflt = 1,
	 .help = "messages of a connection, or operations of a host, under way"},
	{NUMBER(COUNT, lab_flow, qps), .min = 1, .max = 1024, .dflt = 1,
	 .help = "connections from one host to another"},
	{NUMBER(RATE, lab_flow, rate), .min = 1000, .max = GIGA(800), .dflt = CFG_WORD_VALUE,
	 .word = "line", .help = "pacing of each connection, link overhead included"},
	{NUMBER(TIME, lab_flow, interval), .min = 1, .max = SECONDS(3600), .dflt = CFG_WORD_VALUE,
	 .word = "none", .help = "from message to message, or round to round, whether done or not"},
	{NUMBER(TIME, lab_flow, start), .max = SECONDS(3600), .help = "when it begins"},
	{NUMBER(TIME, lab_flow, stop), .max = SECONDS(3600), .dflt = CFG_WORD_VALUE,
	 .word = "never", .help = "from then on nothing is posted"},
	{NUMBER(TIME, lab_flow, jitter), .max = SECONDS(3600),
	 .help = "each connection, and each message of a round, begins later by up to this"},
	{NUMBER(BYTES, lab_flow, mtu), .min = MIN_PAYLOAD, .max = MAX_PAYLOAD,
	 .dflt = CFG_WORD_VALUE, .word = "auto",
	 .help = "payload of a packet; `auto`: the largest of 256, 512, 1024, 2048, 4096 that "
		 "every port takes, of TCP the least IP MTU of all ports less 40"},
	{FIELD(CFG_SWITCH, lab_flow, cc), .dflt = 1, .help = "off: these connections ignore CNPs"},
	{NUMBER(PERCENT, lab_flow, load), .min = 1, .max = PERCENT(100), .dflt = CFG_WORD_VALUE,
	 .word = "closed",
	 .help = "Poisson arrivals at this share of each sending host's line, headers included; "
		 "`closed`: `depth` under way"},
	{NUMBER(COUNT, lab_flow, idle), .max = 1024, .dflt = 64,
	 .help = "connections a host keeps open for later; others are closed"},
	{NUMBER(COUNT, lab_flow, fan), .min = 1, .max = SC_MAX_HOSTS, .dflt = CFG_WORD_VALUE,
	 .word = "all", .help = "incast: so many of `from`, drawn anew for each round"},
	{NUMBER(BYTES, lab_flow, request), .max = MB(64), .dflt = 64,
	 .help = "size of a request, a SEND"},
	{NUMBER(TIME, lab_flow, think), .max = SECONDS(10),
	 .help = "time of the server before it answers"},
	{NUMBER(COUNT, lab_flow, first_psn), .max = MAX_PSN, .dflt = CFG_WORD_VALUE,
	 .word = "random", .help = "PSN that each connection begins with"},
	{NUMBER(COUNT, lab_flow, ack_every), .min = 1, .max = REQ_MAX_ACK_EVERY,
	 .dflt = REQ_ACK_EVERY, .dflt_text = "16, of TCP 2",
	 .help = "packets per ACK; the last packet of a message always gets one"},
	{FIELD(CFG_MAP, lab_flow, reuse), .sub = &reuse_schema,
	 .scalar = SCALAR("reuse", CFG_NUMBER, .unit = UNIT_COUNT, AT(lab_flow, reuse.after),
			  .min = 1, .max = MAX_COUNT),
	 .dflt_text = "never",
	 .help = "each, with a size: connections are closed after so many messages and opened "
		 "anew on the same queue pair numbers"},
	{FIELD(CFG_MAP, lab_flow, tcp), .sub = &tcp_schema,
	 .scalar = SCALAR("tcp", CFG_WORD, AT(lab_flow, tcp.cc), .words = tcp_words),
	 .dflt_text = "RDMA", .help = "TCP connections in place of queue pairs"},
	{FIELD(CFG_MAP, lab_flow, storage), .sub = &storage_schema, .dflt_text = "defaults",
	 .help = "modes of transfer of the storage pattern"},
};
SCHEMA(lab_flow_schema, flow_rows, lab_flow);

uint32_t flow_draw_size(const struct lab_flow *f, struct rng *r)
{
	return f->size_kind == SIZE_CDF ? cdf_sample(&f->sizes, rng_next(r)) : f->n_bytes;
}

// The order of the pairs is by sender. An incast's rounds take one receiver after the other. In
// all-to-all each host begins with its successor, so that in a round no receiver is everybody's
// first.
int flow_each_pair(const struct lab_flow *f, flow_pair_fn *fn, void *arg)
{
	bool incast = flow_pattern(f) == PATTERN_INCAST, paired = f->pairs.n != 0;
	bool shifted = flow_pattern(f) == PATTERN_ALL_TO_ALL, by_sender = !incast && !shifted;
	uint32_t n_outer = by_sender ? f->n_src : f->n_dst;
	uint32_t n_inner = !by_sender ? f->n_src : paired ? 1 : f->n_dst;
	int err = 0;

	for (uint32_t o = 0; o < n_outer && err == 0; o++)
		for (uint32_t i = 0; i < n_inner && err == 0; i++) {
			uint32_t src = f->src[by_sender ? o : i];
			uint32_t dst = f->dst[shifted		 ? (i + o) % f->n_dst
					      : incast || paired ? o
								 : i];

			if (src != dst)
				err = fn(arg, src, dst);
		}
	return err;
}

// ---- resolving
// From what an item of `flows:` says to whom it connects: hosts, sizes, rules between keys, and the
// room that the hosts' NICs need. Every mistake is reported.

enum {
	POOL_QPS = 1024, // of a NIC whose connections come and go; unused ones cost nothing
	MAX_CONNS = 1 << 18, // of a standing flow
};

#define BIT(pattern) (1u << (pattern))
#define STANDING (BIT(PATTERN_EACH) | BIT(PATTERN_INCAST) | BIT(PATTERN_ALL_TO_ALL))
#define ROUNDS (BIT(PATTERN_INCAST) | BIT(PATTERN_ALL_TO_ALL))
#define SERVICE (BIT(PATTERN_REQUEST) | BIT(PATTERN_STORAGE))
#define POOLED (BIT(PATTERN_POISSON) | SERVICE)
#define SIZED (STANDING | POOLED)
#define ANY (SIZED | BIT(PATTERN_TRACE))

// Keys that some patterns do not know, and who does.
static const struct {
	size_t off;
	uint32_t patterns;
	const char *say;
} limited[] = {
#define KEY(f) offsetof(struct lab_flow, f)
	{KEY(pairs), BIT(PATTERN_EACH), "is for each"},
	{KEY(size), SIZED, "is in the file"},
	{KEY(count), SIZED, "is in the file"},
	{KEY(jitter), SIZED, "is in the file"},
	{KEY(op), ANY & ~BIT(PATTERN_STORAGE), "is chosen by size"},
	{KEY(depth), BIT(PATTERN_EACH) | SERVICE, "is for each, request and storage"},
	{KEY(qps), STANDING | SERVICE, "is as many as there are messages under way"},
	{KEY(interval), STANDING, "is for each, incast and all-to-all"},
	{KEY(load), POOLED, "is for poisson, request and storage"},
	{KEY(idle), POOLED | BIT(PATTERN_TRACE), "is for poisson, request, storage and trace"},
	{KEY(fan), BIT(PATTERN_INCAST), "is for incast"},
	{KEY(request), BIT(PATTERN_REQUEST), "is for request"},
	{KEY(think), SERVICE, "is for request and storage"},
#undef KEY
};

// One item being resolved.
struct resolver {
	struct scenario *sc;
	struct lab_flow *f;
	struct diag_sink *s;
	uint8_t *seen; // by host
	uint32_t *found; // room for all hosts
	uint32_t *qps; // by host: queue pairs that stand
	uint8_t *pooled; // by host: more come and go
	struct claim {
		struct lab_flow *flow; // the first that sends it
		uint8_t cls;
	} by_dscp[NIC_DSCPS], by_pcp[NIC_CLASSES];
};

static const char *path_of_flow_key(const struct resolver *r, const char *key)
{
	return arena_printf(r->sc->arena, "%s.%s", r->f->map.path, key);
}

static struct cfg_pos position_of_flow_key(const struct lab_flow *f, const struct cfg_val *v)
{
	return v->given ? v->at : f->map.at;
}

// ---- hosts

// All hosts that the patterns name, each once, in the order of the text.
static uint32_t *find_hosts(struct resolver *r, const struct cfg_words *w, uint32_t *n)
{
	uint32_t *all = arena_alloc(r->sc->arena, (r->sc->n_hosts + 1) * sizeof(*all));

	*n = 0;
	memset(r->seen, 0, r->sc->n_hosts);
	for (unsigned i = 0; i < w->n; i++) {
		const struct sc_text v = {w->items[i].text, w->items[i].at, w->map.path};
		unsigned got = scenario_pick_hosts(r->sc, r->s, &v, r->found);

		for (unsigned k = 0; k < got; k++) {
			if (r->seen[r->found[k]])
				continue;
			r->seen[r->found[k]] = 1;
			all[(*n)++] = r->found[k];
		}
	}
	return all;
}

// Reports one pair of hosts between which there is no way, and one host that is paired with itself.
static void check_pairs(struct resolver *r)
{
	const struct lab_flow *f = r->f;
	const struct sc_host *hosts = r->sc->hosts;
	bool paired = f->pairs.n != 0;

	for (uint32_t i = 0; i < f->n_src && paired && f->pattern.n == PATTERN_EACH; i++) {
		if (f->src[i] != f->dst[i])
			continue;
		REFUSE(r->s, &f->pairs,
		       "%s is paired with itself: a range keeps the order in which it is written, "
		       "such as h[2-8,1]",
		       hosts[f->src[i]].name);
		break;
	}
	if (f->n_src == 1 && f->n_dst == 1 && f->src[0] == f->dst[0]) {
		diag_add(r->s, DIAG_ERROR, f->map.at,
			 f->to.map.given ? path_of_flow_key(r, "to") : f->map.path,
			 "%s would send to itself only: name another host in `to`",
			 hosts[f->src[0]].name);
		return;
	}
	for (uint32_t i = 0; i < f->n_src; i++)
		for (uint32_t d = 0; d < f->n_dst; d++) {
			uint32_t from = f->src[i], to = f->dst[paired ? i : d];

			if (hosts[from].island == hosts[to].island)
				continue;
			REFUSE(r->s, &f->map, "%s cannot reach %s: no way of links joins them",
			       hosts[from].name, hosts[to].name);
			return;
		}
}

static void resolve_hosts(struct resolver *r)
{
	struct lab_flow *f = r->f;

	if (f->trace.given && !f->from.map.given) {
		f->n_src = r->sc->n_hosts;
		f->src = arena_alloc(r->sc->arena, (f->n_src + 1) * sizeof(*f->src));
		for (uint32_t i = 0; i < f->n_src; i++)
			f->src[i] = i;
	} else {
		f->src = find_hosts(r, &f->from, &f->n_src);
	}
	if (!f->to.map.given) {
		f->dst = f->src;
		f->n_dst = f->n_src;
	} else {
		f->dst = find_hosts(r, &f->to, &f->n_dst);
	}
	if (f->n_src == 0 || f->n_dst == 0)
		return;
	if (f->pairs.n != 0 && f->n_src != f->n_dst)
		REFUSE(r->s, &f->pairs,
		       "pairs need as many hosts in `to` as in `from`, but `from` has %u and "
		       "`to` has %u",
		       f->n_src, f->n_dst);
	else
		check_pairs(r);
	if (f->pattern.n == PATTERN_INCAST && f->fan.n >= 0 && (uint64_t)f->fan.n > f->n_src)
		REFUSE(r->s, &f->fan, "%" PRId64 " of %u hosts cannot be drawn", f->fan.n,
		       f->n_src);
}

// ---- sizes

// The path of a file that the scenario names: seen from the folder of the scenario.
static const char *beside(const struct resolver *r, const char *text)
{
	const char *slash = strrchr(r->sc->file, '/');
	int folder = slash != NULL ? (int)(slash - r->sc->file) + 1 : 0;

	return *text == '/' ? text
			    : arena_printf(r->sc->arena, "%.*s%s", folder, r->sc->file, text);
}

// A bare name is looked for in sizes/ beside the scenario, then among those that come with the lab.
static void load_sizes(struct resolver *r, const char *text)
{
	size_t len = strlen(text);
	bool is_file =
		strchr(text, '/') != NULL || (len > 4 && strcmp(text + len - 4, ".cdf") == 0);
	struct arena *a = r->sc->arena;
	const char *path;
	int err;

	path = beside(r, is_file ? text : arena_printf(a, "sizes/%s.cdf", text));
	err = cdf_load(path, a, &r->f->sizes, r->s);
	r->f->sizes_file = path;
	if (err == -ENOENT && !is_file) {
		r->f->sizes_file = arena_printf(a, "%s/sizes/%s.cdf", bundle_dir(), text);
		err = cdf_load(r->f->sizes_file, a, &r->f->sizes, r->s);
	}
	if (err == -ENOENT && !is_file)
		REFUSE(r->s, &r->f->size,
		       "\"%s\" is neither a size such as 64KB, nor unlimited, nor a distribution: "
		       "there is no %s",
		       schema_shown(a, text), schema_shown(a, path));
	else if (err != 0 && err != -EINVAL)
		REFUSE(r->s, &r->f->size, "%s: cannot read: %s", schema_shown(a, path),
		       config_read_reason(err));
}

static void resolve_size(struct resolver *r)
{
	struct lab_flow *f = r->f;
	const char *text = f->size.text, *why;
	int64_t n;

	if (f->size.bad || f->pattern.n == PATTERN_TRACE)
		return;
	if (text == NULL || strcmp(text, "unlimited") == 0) {
		if (!flow_standing(f))
			diag_add(r->s, DIAG_ERROR, position_of_flow_key(f, &f->size),
				 path_of_flow_key(r, "size"),
				 "pattern %s needs a size, or a distribution such as websearch",
				 pattern_words[f->pattern.n]);
		return;
	}
	f->size_kind = SIZE_FIXED;
	if (*text >= '0' && *text <= '9') {
		if (!unit_parse(UNIT_BYTES, text, &n, &why))
			REFUSE(r->s, &f->size, "\"%s\": %s", schema_shown(r->sc->arena, text), why);
		else if (n < 1 || n > REQ_MAX_MSG_BYTES)
			REFUSE(r->s, &f->size, "%s: a message has 1 B to 1 GiB", text);
		else
			f->n_bytes = (uint32_t)n;
		return;
	}
	f->size_kind = SIZE_CDF;
	load_sizes(r, text);
}

// ---- traces

static void warn_of_late_flows(struct resolver *r)
{
	const struct lab_flow *f = r->f;
	uint64_t run_ns = r->sc->duration_ns != 0 ? r->sc->duration_ns : UINT64_MAX;
	uint64_t start_ns = (uint64_t)f->start.n, end_ns = min_u64(run_ns, flow_stop_ns(f));
	uint32_t n = f->played.n;

	while (n > 0 && start_ns + f->played.flows[n - 1].start_ns >= end_ns)
		n--;
	if (n < f->played.n)
		WARN(r->s, &f->trace, "%s at %s, before %u of %u flows begin",
		     end_ns < run_ns ? "it stops" : "the run ends",
		     UNIT_TEXT(UNIT_TIME, (int64_t)end_ns), f->played.n - n, f->played.n);
}

static void resolve_trace(struct resolver *r)
{
	struct lab_flow *f = r->f;
	const char **names = arena_alloc(r->sc->arena, (f->n_src + 1) * sizeof(*names));
	const struct trace_hosts hosts = {names, f->n_src};
	const char *path;
	int err;

	f->size_kind = SIZE_TRACE;
	if (f->trace.text == NULL || f->n_src == 0)
		return;
	for (uint32_t i = 0; i < f->n_src; i++)
		names[i] = r->sc->hosts[f->src[i]].name;
	path = beside(r, f->trace.text);
	err = trace_load(path, &hosts, r->sc->arena, &f->played, r->s);
	if (err != 0 && err != -EINVAL)
		REFUSE(r->s, &f->trace, "%s: cannot read: %s", schema_shown(r->sc->arena, path),
		       config_read_reason(err));
	if (err != 0)
		return;
	// A class that the scenario gives is that of all flows.
	f->played.has_class = f->played.has_class && !f->cls.given;
	for (uint32_t i = 0; i < f->played.n && f->played.has_class; i++)
		f->classes |= (uint8_t)(1u << f->played.flows[i].cls);
	warn_of_late_flows(r);
}

// ---- rules

static void resolve_tcp(struct resolver *r)
{
	struct lab_flow *f = r->f;
	const struct lab_tcp_keys *k = &f->tcp;
	struct cc_config gain = {.g_num = 1, .g_den = 16};

	if (!flow_is_tcp(f))
		return;
	if (k->g.given && !k->g.bad && !cc_set_gain(&gain, k->g.text))
		REFUSE(r->s, &k->g,
		       "\"%s\" is no fraction of at most 1 such as 1/16, with a denominator of at "
		       "most 65536",
		       schema_shown(r->sc->arena, k->g.text));
	if (k->delayed_ack.n > k->rto_min.n && !k->rto_min.bad && flow_ack_every(f) > 1)
		WARN(r->s, k->delayed_ack.given ? &k->delayed_ack : &k->rto_min,
		     "delayed_ack %s is above rto_min %s, so a sender may send a segment again "
		     "while its ACK waits" CURE "raise rto_min, or set ack_every: 1",
		     UNIT_TEXT(UNIT_TIME, k->delayed_ack.n), UNIT_TEXT(UNIT_TIME, k->rto_min.n));
	f->tcp_params = (struct tcp_params){
		.cc = (uint8_t)k->cc.n,
		.ecn = flow_ecn(f) != NIC_NOT_ECT,
		.sack = k->sack.n != 0,
		.ack_every = flow_ack_every(f),
		.initial_segments = (uint16_t)k->initial_window.n,
		.window_bytes = (uint32_t)k->window.n,
		.g_num = gain.g_num,
		.g_den = gain.g_den,
		.rto_min_ns = (uint64_t)k->rto_min.n,
		.rto_initial_ns = (uint64_t)k->rto_initial.n,
		.delayed_ack_ns = (uint64_t)k->delayed_ack.n,
	};
}

struct rule {
	bool broken;
	struct cfg_pos at;
	const char *key, *text; // a text that ends with a blank goes on with the pattern's name
};

static void report_broken(struct resolver *r, const struct rule *rules, unsigned n)
{
	const char *pattern = pattern_words[r->f->pattern.n];

	for (unsigned i = 0; i < n; i++)
		if (rules[i].broken)
			diag_add(r->s, DIAG_ERROR, rules[i].at, path_of_flow_key(r, rules[i].key),
				 "%s%s", rules[i].text,
				 rules[i].text[strlen(rules[i].text) - 1] == ' ' ? pattern : "");
}

static const char of_endless[] = "has no effect on an endless stream: give a size";

static void check_rules(struct resolver *r)
{
	const struct lab_flow *f = r->f;
	const char *pattern = pattern_words[f->pattern.n];
	bool endless = f->size_kind == SIZE_UNLIMITED && !f->size.bad && flow_standing(f);
	bool service = (BIT(f->pattern.n) & SERVICE) != 0, cm = r->sc->connect_by_cm;
	bool trace = f->pattern.n == PATTERN_TRACE;
	const char *late = arena_printf(r->sc->arena, "the run ends at %s, before this flow begins",
					UNIT_TEXT(UNIT_TIME, (int64_t)r->sc->duration_ns));
	const char *by_cm = arena_printf(
		r->sc->arena, "%s needs connections out of band: leave out `connect: cm`", pattern);
	const struct rule rules[] = {
		{!trace && !f->from.map.given && !diag_has_error(r->s, path_of_flow_key(r, "from")),
		 f->map.at, "from", "is required"},
		{f->storage.map.given && f->pattern.n != PATTERN_STORAGE, f->storage.map.at,
		 "storage", "is for storage: leave it out of pattern "},
		{endless && f->count.given, f->count.at, "count", of_endless},
		{endless && f->depth.given, f->depth.at, "depth", of_endless},
		{endless && f->interval.given, f->interval.at, "interval", of_endless},
		{endless && f->fan.given, f->fan.at, "fan", of_endless},
		{f->start.given && (uint64_t)f->start.n >= r->sc->duration_ns &&
			 r->sc->duration_ns != 0,
		 f->start.at, "start", late},
		{f->stop.n >= 0 && f->stop.n <= f->start.n, f->stop.at, "stop",
		 "is not after start"},
		{f->load.n >= 0 && f->depth.given && service, f->depth.at, "depth",
		 "is of a closed loop: leave out `load` or `depth`"},
		{f->pattern.n == PATTERN_POISSON && f->load.n < 0 && !f->load.bad,
		 position_of_flow_key(f, &f->load), "load",
		 "pattern poisson needs a load such as 30%"},
		{trace && !f->trace.given, f->pattern.at, "trace",
		 "pattern trace needs a file"},
		{!trace && f->trace.given, f->trace.at, "trace",
		 "has its own pattern: leave it out of pattern "},
		{trace && f->to.map.given, f->to.map.at, "to",
		 "is in the file: leave it out of pattern "},
		{f->played.has_class && f->dscp.n >= 0, f->dscp.at, "dscp",
		 "is of one class, and the file has its own classes: give a `class`, too"},
		{f->played.has_class && f->pcp.n >= 0, f->pcp.at, "pcp",
		 "is of one class, and the file has its own classes: give a `class`, too"},
		{f->pattern.n == PATTERN_REQUEST && f->op.n == REQ_READ, f->op.at, "op",
		 "an answer is a send or a write"},
		{cm && service, position_of_flow_key(f, &f->pattern), "pattern", by_cm},
		{cm && !flow_is_tcp(f) && f->mtu.n > 0 && cm_mtu_code((uint16_t)f->mtu.n) == 0,
		 f->mtu.at, "mtu",
		 "on the wire a path MTU is 256, 512, 1024, 2048 or 4096: leave out `connect: cm` "
		 "for others"},
	};

	for (unsigned i = 0; i < N(limited); i++) {
		const struct cfg_val *v = (const void *)((const char *)f + limited[i].off);

		if (v->given && !(limited[i].patterns & BIT(f->pattern.n)))
			REFUSE(r->s, v, "%s: leave it out of pattern %s", limited[i].say, pattern);
	}
	report_broken(r, rules, N(rules));
}

// Of `inof`: keys that do not go with it, and hosts that have none.
static void check_inof(struct resolver *r)
{
	static const char not_beside[] = "does not go with `inof`: leave one of them out";
	const struct lab_flow *f = r->f;
	const struct sc_host *h = r->sc->hosts;
	const struct rule rules[] = {
		{f->pattern.n != PATTERN_EACH, f->inof.at, "inof",
		 "is for each: leave it out of pattern "},
		{f->size_kind == SIZE_UNLIMITED && !f->size.bad && f->pattern.n == PATTERN_EACH,
		 f->inof.at, "inof", of_endless},
		{f->pairs.n != 0, f->pairs.at, "pairs", not_beside},
		{f->count.given, f->count.at, "count", not_beside},
		{f->interval.given, f->interval.at, "interval", not_beside},
		{f->reuse.map.given || f->reuse.after.given,
		 f->reuse.map.given ? f->reuse.map.at : f->reuse.after.at, "reuse", not_beside},
		{flow_is_tcp(f), f->tcp.map.given ? f->tcp.map.at : f->tcp.cc.at, "tcp",
		 not_beside},
		{r->sc->connect_by_cm, f->inof.at, "inof",
		 "needs connections out of band: leave out `connect: cm`"},
	};

	if (f->inof.n == 0)
		return;
	report_broken(r, rules, N(rules));
	for (uint32_t i = 0; i < f->n_src; i++)
		if ((h[f->src[i]].inof.role & INOF_INITIATOR) == 0) {
			REFUSE(r->s, &f->from.map, "%s is no initiator: give it `inof: initiator`",
			       h[f->src[i]].name);
			break;
		}
	for (uint32_t i = 0; i < f->n_dst; i++)
		if ((h[f->dst[i]].inof.role & INOF_TARGET) == 0) {
			REFUSE(r->s, f->to.map.given ? &f->to.map : &f->from.map,
			       "%s is no target: give it `inof: target`", h[f->dst[i]].name);
			break;
		}
}

// Of connections: how they are used again, and over TCP.
static void check_connections(struct resolver *r)
{
	static const char of_rdma[] = "is of RDMA: leave it out beside `tcp`";
	const struct lab_flow *f = r->f;
	bool endless = f->size_kind == SIZE_UNLIMITED && !f->size.bad, tcp = flow_is_tcp(f);
	bool reuse = f->reuse.map.given || f->reuse.after.given;
	struct cfg_pos reuse_at = f->reuse.map.given ? f->reuse.map.at : f->reuse.after.at;
	const struct rule rules[] = {
		{reuse && f->pattern.n != PATTERN_EACH, reuse_at, "reuse",
		 "is for each: leave it out of pattern "},
		{reuse && f->pattern.n == PATTERN_EACH && endless, reuse_at, "reuse", of_endless},
		{reuse && r->sc->connect_by_cm, reuse_at, "reuse",
		 "needs connections out of band: leave out `connect: cm`"},
		{reuse && f->reuse.crossed.n != 0 && f->qps.n < 2, f->reuse.crossed.at,
		 "reuse.crossed", "two connections can change places: give `qps` of 2 at least"},
		{tcp && f->op.given, f->op.at, "op", of_rdma},
		{tcp && f->cc.given, f->cc.at, "cc", of_rdma},
		{tcp && f->first_psn.given, f->first_psn.at, "first_psn", of_rdma},
		{tcp && reuse, reuse_at, "reuse", of_rdma},
		{tcp && f->pattern.n == PATTERN_STORAGE, f->pattern.at, "pattern",
		 "storage moves data by RDMA READ and WRITE: leave out `tcp`"},
		{tcp && f->tcp.cc.n == TCP_DCTCP && f->ecn.given && f->ecn.n == NIC_NOT_ECT,
		 f->ecn.at, "ecn", "dctcp needs ECN: give ect0 or ect1, or leave it out"},
		{tcp && f->tcp.cc.n != TCP_DCTCP && f->tcp.g.given, f->tcp.g.at, "tcp.g",
		 "is of dctcp: give `cc: dctcp`, or leave it out"},
		{f->storage.small.n > f->storage.large.n, f->storage.map.at, "storage",
		 "small is above large"},
	};

	report_broken(r, rules, N(rules));
}

// ---- room in the NICs

static int count_pair(void *arg, uint32_t src, uint32_t dst)
{
	struct resolver *r = arg;

	r->qps[src] += (uint32_t)r->f->qps.n;
	r->qps[dst] += (uint32_t)r->f->qps.n;
	return 0;
}

static void size_nics(struct resolver *r)
{
	for (uint32_t i = 0; i < r->sc->n_hosts; i++) {
		struct sc_host *h = &r->sc->hosts[i];
		uint32_t need = r->qps[i];

		if (need > NIC_MAX_QPS)
			diag_add(r->s, DIAG_ERROR, h->at, h->name,
				 "its flows need %u connections, and a NIC has at most %d", need,
				 NIC_MAX_QPS);
		need = (uint32_t)min_u64(need + (r->pooled[i] ? POOL_QPS : 0), NIC_MAX_QPS);
		h->nic.max_qps = (uint16_t)max_u64(h->nic.max_qps, need);
		h->nic.max_peers = (uint16_t)max_u64(h->nic.max_peers,
						     r->sc->n_hosts * (1 + r->sc->has_ip6));
	}
}

// ---- all of it

static void check_names(struct resolver *r)
{
	for (uint32_t i = 0; i < r->sc->n_flows; i++) {
		const struct lab_flow *f = &r->sc->flows[i];

		for (uint32_t k = 0; k < i; k++) {
			const struct lab_flow *other = &r->sc->flows[k];

			if (strcmp(f->label, other->label) != 0)
				continue;
			// Without a name a flow is f1, f2, ...; the one that was given is in the
			// way.
			r->f = &r->sc->flows[f->name.given ? i : k];
			REFUSE(r->s, &r->f->name, "two flows are called %s", f->label);
			break;
		}
	}
}

static void claim(struct resolver *r, struct claim *first, uint8_t cls, const struct cfg_val *key,
		  const char *name, unsigned value)
{
	struct lab_flow *f = r->f;

	if (first->flow != NULL && first->cls != cls)
		diag_add(r->s, DIAG_ERROR, position_of_flow_key(f, key->given ? key : &f->cls),
			 path_of_flow_key(r, name),
			 "%s %u is class %u in flow %s: give this flow another",
			 key == &f->pcp ? "PCP" : "DSCP", value, first->cls, first->flow->label);
	if (first->flow == NULL)
		*first = (struct claim){f, cls};
}

// All NICs take a PCP for the same class, and of frames without a tag a DSCP.
static void claim_codes(struct resolver *r, uint8_t cls)
{
	const struct lab_flow *f = r->f;
	uint8_t dscp = flow_class_dscp(f, cls), pcp = flow_tag(f, r->sc->hosts, cls).pcp;

	if (f->n_tagged < f->n_src + f->n_dst)
		claim(r, &r->by_dscp[dscp], cls, &f->dscp, "dscp", dscp);
	if (f->n_tagged != 0)
		claim(r, &r->by_pcp[pcp], cls, &f->pcp, "pcp", pcp);
	for (uint32_t i = 0; i < r->sc->n_hosts; i++) {
		struct nic_config *c = &r->sc->hosts[i].nic;

		if (f->n_tagged < f->n_src + f->n_dst)
			c->class_of_dscp[dscp] = cls;
		if (f->n_tagged != 0)
			c->class_of_pcp[pcp] = cls;
	}
}

// CNPs need a PCP of their own class, which no flow has for another.
static void check_cnps(struct resolver *r, const struct lab_flow *f)
{
	for (uint32_t i = 0; i < f->n_src + f->n_dst && f->n_tagged != 0; i++) {
		uint32_t host = i < f->n_src ? f->src[i] : f->dst[i - f->n_src];
		const struct sc_host *h = &r->sc->hosts[host];
		const struct nic_config *c = &h->nic;
		uint8_t cls = c->class_of_dscp[c->cc.cnp_dscp];

		if (flow_is_tcp(f) || !(c->cc.np_classes & f->classes) ||
		    nic_pcp_of_class(c->class_of_pcp, cls) >= 0)
			continue;
		r->f = r->by_pcp[cls].flow;
		diag_add(r->s, DIAG_ERROR,
			 position_of_flow_key(r->f, r->f->pcp.given ? &r->f->pcp : &r->f->cls),
			 path_of_flow_key(r, "pcp"),
			 "PCP %u is class %u, and CNPs of %s are class %u, for which no PCP is "
			 "left: give this flow another",
			 cls, r->by_pcp[cls].cls, h->name, cls);
		return;
	}
}

// Reads the tag and the IP family of the flow, for all of its hosts.
static void resolve_frames(struct resolver *r)
{
	struct lab_flow *f = r->f;
	struct scenario *sc = r->sc;

	for (uint32_t i = 0; i < f->n_src + f->n_dst; i++) {
		uint32_t host = i < f->n_src ? f->src[i] : f->dst[i - f->n_src];
		const struct sc_host *h = &sc->hosts[host];
		struct frame_tag tag = flow_tag(f, h, 0);

		f->n_tagged += tag.on;
		sc->vids[tag.vid / 64] |= (uint64_t)tag.on << tag.vid % 64;
		f->has_ip6 |= i < f->n_src && flow_is_ip6(f, h);
	}
	sc->has_ip6 |= f->has_ip6;
	if (f->pcp.given && f->n_tagged == 0)
		REFUSE(r->s, &f->pcp, "needs a tag: give a `vlan`, 0 for one with a priority only");
}

static void resolve_one(struct resolver *r, uint32_t n)
{
	struct lab_flow *f = r->f = &r->sc->flows[n];
	unsigned before = r->s->n_errors;

	f->label = f->name.text != NULL ? f->name.text : arena_printf(r->sc->arena, "f%u", n + 1);
	if (f->mtu.n > 0)
		f->payload = (uint16_t)f->mtu.n;
	f->store = (struct storage_params){
		.small_bytes = (uint32_t)f->storage.small.n,
		.large_bytes = (uint32_t)f->storage.large.n,
		.chunk_bytes = (uint32_t)f->storage.chunk.n,
		.request_bytes = (uint32_t)f->storage.request.n,
		.reply_bytes = (uint32_t)f->storage.reply.n,
		.credits = (uint32_t)f->storage.credits.n,
		.reads_ppm = (uint32_t)f->storage.reads.n,
	};
	if (f->trace.given && !f->pattern.given)
		f->pattern.n = PATTERN_TRACE;
	resolve_tcp(r);
	resolve_hosts(r);
	resolve_size(r);
	if (f->pattern.n == PATTERN_TRACE)
		resolve_trace(r);
	if (!f->played.has_class)
		f->classes = (uint8_t)(1u << f->cls.n);
	resolve_frames(r);
	for (uint8_t cls = 0; cls < NIC_CLASSES; cls++)
		if (f->classes >> cls & 1)
			claim_codes(r, cls);
	check_rules(r);
	check_connections(r);
	check_inof(r);
	if (r->s->n_errors != before)
		return;
	for (uint32_t i = 0; i < f->n_src && !flow_standing(f); i++)
		r->pooled[f->src[i]] = 1;
	for (uint32_t i = 0; i < f->n_dst && !flow_standing(f); i++)
		r->pooled[f->dst[i]] = 1;
	if (!flow_standing(f))
		return;
	if ((uint64_t)f->n_src * (f->pairs.n ? 1 : f->n_dst) * (uint64_t)f->qps.n > MAX_CONNS)
		REFUSE(r->s, &f->map, "more than %d connections: use pattern poisson", MAX_CONNS);
	else
		flow_each_pair(f, count_pair, r);
}

int traffic_resolve(struct scenario *sc, struct diag_sink *s)
{
	unsigned before = s->n_errors;
	uint32_t n = sc->n_hosts + 1;
	struct resolver r = {.sc = sc, .s = s};

	r.seen = arena_alloc(sc->arena, n);
	r.pooled = arena_alloc(sc->arena, n);
	r.found = arena_alloc(sc->arena, n * sizeof(*r.found));
	r.qps = arena_alloc(sc->arena, n * sizeof(*r.qps));
	sc->vids = arena_alloc(sc->arena, N_VLANS / 64 * sizeof(*sc->vids));
	for (uint32_t i = 0; i < sc->n_flows; i++)
		resolve_one(&r, i);
	for (uint32_t i = 0; i < sc->n_flows && s->n_errors == before; i++)
		check_cnps(&r, &sc->flows[i]);
	check_names(&r);
	size_nics(&r);
	return s->n_errors == before ? 0 : -EINVAL;
}

// ---- policies
// What flows need of the switches' policies: how long packets may be, and whether the frames
// of a class are taken for that class.

// IP packet of a payload, with the longest extension header.
enum { IP_EXTRA = ROCE_MIN_LEN - 14 + 16, NO_SWITCH_MTU = 9216 };

static const uint16_t path_mtus[] = {4096, 2048, 1024, 512, 256};

// The port with the smallest IP MTU.
struct narrowest {
	uint32_t mtu, sw, port;
};

// IP and transport headers of a packet, and the payload of one that fits.
static uint32_t extra_of(const struct lab_flow *f)
{
	return (flow_is_tcp(f) ? (uint32_t)TCP_HEADERS - 14 : (uint32_t)IP_EXTRA) +
	       f->has_ip6 * (uint32_t)FRAME_V6_EXTRA;
}

static void check_packets(const struct fabric *fabric, struct lab_flow *f,
			  const struct narrowest *n, struct diag_sink *s)
{
	const struct scenario *sc = fabric->sc;
	const struct config *c = sc->n_switches != 0 ? fabric->switches[n->sw].in.config : NULL;
	const char *port = c != NULL ? config_port(c, n->port).name : "";
	const char *sw = c != NULL ? sc->switches[n->sw].name : "";

	if (f->payload == 0 && flow_is_tcp(f))
		f->payload = (uint16_t)min_u64(PAYLOAD_MAX, n->mtu - extra_of(f));
	for (unsigned i = 0; i < N(path_mtus) && f->payload == 0; i++)
		if (path_mtus[i] + extra_of(f) <= n->mtu)
			f->payload = path_mtus[i];
	if (f->payload == 0)
		diag_add(s, DIAG_ERROR, f->map.at, f->map.path,
			 "the MTU of %u B of %s.%s is too small for any packet of 256 B: raise it, "
			 "or give the flow an mtu",
			 n->mtu, sw, port);
	else if (f->payload + extra_of(f) > n->mtu)
		diag_add(s, DIAG_ERROR, f->mtu.at, arena_printf(sc->arena, "%s.mtu", f->map.path),
			 "packets of %u B need an IP MTU of %u, and %s.%s has %u: at most %d B fit",
			 f->payload, f->payload + extra_of(f), sw, port, n->mtu,
			 (int)(n->mtu - extra_of(f)));
}

// A policy may map a flow's DSCP or PCP to another class, which is seldom meant.
static void check_class(const struct fabric *fabric, const struct lab_flow *f, uint8_t expected,
			struct diag_sink *s)
{
	uint8_t dscp = flow_class_dscp(f, expected);
	uint8_t pcp = flow_tag(f, fabric->sc->hosts, expected).pcp;

	for (uint32_t i = 0; i < fabric->sc->n_switches; i++) {
		const struct policy *p = fabric->switches[i].in.policy;

		for (uint32_t k = 0; k < p->n_ports; k++) {
			const struct classify_params *map = &p->ports[k].classify;
			bool by_pcp = map->trust == TRUST_PCP && f->n_tagged != 0;
			uint8_t cls = map->trust == TRUST_DSCP ? map->dscp_to_class[dscp]
				      : by_pcp		       ? map->pcp_to_class[pcp]
							       : map->default_class;

			if (cls == expected)
				continue;
			diag_add(s, DIAG_WARNING, f->cls.given ? f->cls.at : f->map.at,
				 arena_printf(fabric->sc->arena, "%s.class", f->map.path),
				 "its frames carry %s %u, which %s takes for class %u: give the "
				 "flow a `%s` of class %u",
				 by_pcp ? "PCP" : "DSCP", by_pcp ? pcp : dscp,
				 fabric->sc->switches[i].name, cls, by_pcp ? "pcp" : "dscp",
				 expected);
			return;
		}
	}
}

// Warns of one sender that waits for notices of a switch without iNOF.
static void check_registry(const struct fabric *f, const struct lab_flow *flow,
			   struct diag_sink *s)
{
	for (uint32_t i = 0; i < flow->n_src && flow->inof.n != 0; i++) {
		const struct sc_host *h = &f->sc->hosts[flow->src[i]];
		const struct sc_end *end = f->sc->links[h->link].end;
		uint32_t sw = end[end[0].is_switch ? 0 : 1].node;

		if ((!end[0].is_switch && !end[1].is_switch) || !h->inof.notices ||
		    instance_inof(&f->switches[sw].in) != NULL)
			continue;
		WARN(s, &flow->inof,
		     "%s sends nothing, because the policy of its switch %s has no iNOF" CURE
		     "add inof: on and switch: {lldp: on} to the policy, or give the hosts "
		     "notices: off",
		     h->name, f->sc->switches[sw].name);
		return;
	}
}

int traffic_check(struct traffic *t, const struct fabric *f, struct diag_sink *s)
{
	struct narrowest n = {.mtu = NO_SWITCH_MTU};
	unsigned before = s->n_errors;

	for (uint32_t i = 0; i < f->sc->n_switches; i++)
		for (uint32_t p = 0; p < config_n_ports(f->switches[i].in.config); p++) {
			uint32_t mtu = config_port(f->switches[i].in.config, p).mtu;

			if (mtu < n.mtu)
				n = (struct narrowest){mtu, i, p};
		}
	for (uint32_t i = 0; i < t->sc->n_flows; i++) {
		check_packets(f, &t->sc->flows[i], &n, s);
		for (uint8_t cls = 0; cls < NIC_CLASSES; cls++)
			if (t->sc->flows[i].classes >> cls & 1)
				check_class(f, &t->sc->flows[i], cls, s);
		check_registry(f, &t->sc->flows[i], s);
	}
	return s->n_errors == before ? 0 : -EINVAL;
}
