// SPDX-License-Identifier: Apache-2.0
#include "control/lab/nic_keys.h"

#include "control/base/rows.h"
#include "drivers/nic/pausing.h"

enum { MAX_BUFFER = 1 << 30 };

// The first four are also generations of NICs (`nic.preset`).
#define PRESETS "cx3", "cx4", "gen1", "gen2"
static const char *const preset_words[] = {PRESETS, NULL};
static const char *const cc_words[] = {PRESETS, "none", "dcqcn", "paper", "connectx", "qcn", NULL};
static const char *const flavour_words[] = {
	[CC_NONE] = "none", [CC_PAPER] = "paper", [CC_CONNECTX] = "connectx", NULL};
enum { GO_BACK_0, GO_BACK_N, GO_BACK_SELECTIVE };

// ---- cc
#define ROW_TIME CFG_NUMBER, .unit = UNIT_TIME
#define ROW_RATE CFG_NUMBER, .unit = UNIT_RATE
#define ROW_BYTES CFG_NUMBER, .unit = UNIT_BYTES
#define ROW_COUNT CFG_NUMBER, .unit = UNIT_COUNT
#define ROW_SWITCH CFG_SWITCH
#define ROW_GAIN CFG_TEXT
#define ROW_CLASSES CFG_SET

static const struct cfg_row cc_rows[] = {
	{FIELD(CFG_WORD, cc_keys, preset), .words = cc_words, .dflt_text = "paper",
	 .help = "where all other keys of `cc` start from"},
	{FIELD(CFG_WORD, cc_keys, flavour), .words = flavour_words, .dflt_text = "of the preset",
	 .help = "reaction point; without `preset` also where all other keys start from"},
	{FIELD(CFG_WORD, cc_keys, np),
	 .words = WORDS([NP_NONE] = "none", [NP_WINDOW] = "window", [NP_GAP] = "gap"),
	 .dflt_text = "of the preset",
	 .help = "notification point: a CNP per window and queue pair, or per mark with a gap"},
#define X(name, kind, field, lo, hi, who, text)                                                    \
	{#name,                                                                                    \
	 ROW_##kind,                                                                               \
	 AT(cc_keys, name),                                                                        \
	 .min = lo,                                                                                \
	 .max = hi,                                                                                \
	 .dflt_text = "of the preset",                                                             \
	 .help = who ": " text},
	CC_KEYS(X)
#undef X
};
static SCHEMA(cc_schema, cc_rows, cc_keys);

// ---- the NIC
static const struct cfg_row receive_rows[] = {
	{NUMBER(RATE, nic_receive_keys, rate), .min = 1000000, .max = GIGA(1000), .required = true,
	 .help = "at which the host takes frames"},
	{NUMBER(RATE, nic_receive_keys, loopback), .max = GIGA(1000),
	 .help = "share of that rate which traffic of the host to itself takes"},
	{NUMBER(BYTES, nic_receive_keys, buffer), .min = 4096, .max = MAX_BUFFER,
	 .dflt_text = "256KiB", .help = "in which frames wait"},
	{NUMBER(BYTES, nic_receive_keys, xoff), .min = 1, .max = MAX_BUFFER,
	 .dflt_text = "half of the buffer", .help = "PAUSE is sent above it"},
	{NUMBER(BYTES, nic_receive_keys, xon), .min = 1, .max = MAX_BUFFER,
	 .dflt_text = "half of xoff", .help = "XON is sent below it"},
	{NUMBER(COUNT, nic_receive_keys, qp_cache), .min = 1, .max = NIC_MAX_QPS,
	 .dflt_text = "of all", .help = "queue pairs in the cache of the NIC"},
	{NUMBER(TIME, nic_receive_keys, qp_miss), .min = 1, .max = 1000000, .dflt = 500,
	 .help = "what a frame of a queue pair that is not in the cache takes longer"},
};
static SCHEMA(receive_schema, receive_rows, nic_receive_keys);

static const struct cfg_row nic_rows[] = {
	{NUMBER(RATE, nic_keys, speed), .min = 1000000, .max = GIGA(800), .dflt_text = "the link's",
	 .help = "line rate; must be the link's"},
	{FIELD(CFG_WORD, nic_keys, preset), .words = preset_words, .dflt_text = "none",
	 .help = "generation of the card: where `cc` starts from"},
	{FIELD(CFG_MAP, nic_keys, cc), .sub = &cc_schema,
	 .scalar = SCALAR("cc", CFG_WORD, AT(nic_keys, cc.preset), .words = cc_words),
	 .dflt_text = "the preset's, else none", .help = "congestion control"},
	{NUMBER(COUNT, nic_keys, window), .min = 1, .max = NIC_MAX_WINDOW, .dflt_text = "8192",
	 .help = "unacknowledged packets per queue pair"},
	{NUMBER(TIME, nic_keys, rto), .min = 1000, .max = SECONDS(60),
	 .dflt_text = "as the fabric needs",
	 .help = "retransmission timer; default: twice (base RTT + time in which the full buffers "
		 "of the longest way drain at its slowest link), at least 1ms"},
	{FIELD(CFG_WORD, nic_keys, udp_sport),
	 .words = WORDS([NIC_SPORT_LINUX] = "linux", [NIC_SPORT_FIXED] = "fixed",
			[NIC_SPORT_RANDOM] = "random"),
	 .help = "UDP source port of a queue pair: derived from both numbers as Linux does, 49152 "
		 "for all, or drawn"},
	{.key = "deaf", .type = CFG_SWITCH, AT(nic_keys, ignore_pause), .help = "ignores PFC"},
	{FIELD(CFG_SWITCH, nic_keys, whole_link),
	 .help = "on: obeys and sends PAUSE of 802.3x, which stops all classes, and not PFC"},
	{FIELD(CFG_WORD, nic_keys, go_back),
	 .words = WORDS([GO_BACK_0] = "0", [GO_BACK_N] = "n", [GO_BACK_SELECTIVE] = "selective"),
	 .dflt = GO_BACK_N,
	 .help = "what is sent again after a loss: all from the lost packet on (n), the message "
		 "(0), or the lost packet alone (`selective`; both hosts must have it)"},
	{FIELD(CFG_SWITCH, nic_keys, fence),
	 .help = "one SEND in flight per round trip (hidden fence of fast memory registration)"},
	{NUMBER(TIME, nic_keys, storm_guard), .min = 1000, .max = SECONDS(60), .dflt_text = "never",
	 .help = "a card that has paused its peer for this time sends no further PAUSE"},
	{FIELD(CFG_MAP, nic_keys, receive), .sub = &receive_schema, .dflt_text = "at line rate",
	 .help = "a slow receiver"},
};
SCHEMA(nic_keys_schema, nic_rows, nic_keys);

// ---- what they make
static const void *cc_key_value(const struct cc_keys *k, unsigned i)
{
	// The rows of the table come behind the three words.
	return (const char *)k + cc_rows[N(cc_rows) - N_CC_KEYS + i].off;
}

static struct cfg_map map_of(const struct cc_keys *k, unsigned i)
{
	const struct cfg_val *v = cc_key_value(k, i);

	if (cc_keys[i].kind == CC_CLASSES)
		return ((const struct cfg_set *)cc_key_value(k, i))->map;
	return (struct cfg_map){.path = v->path, .at = v->at, .given = v->given};
}

static void apply_key(const struct cc_keys *k, unsigned i, struct cc_config *c,
		      struct diag_sink *sink)
{
	const struct cfg_val *v = cc_key_value(k, i);
	const struct cfg_map m = map_of(k, i);

	if (!m.given)
		return;
	// A parameter that an earlier row has given under its other name.
	for (unsigned j = 0; j < i; j++)
		if (cc_keys[j].off == cc_keys[i].off && map_of(k, j).given) {
			REFUSE(sink, &m, "is the same as %s on line %u: give one of them",
			       cc_keys[j].name, map_of(k, j).at.line);
			return;
		}
	if (cc_keys[i].kind == CC_CLASSES)
		cc_set(c, &cc_keys[i], ((const struct cfg_set *)cc_key_value(k, i))->bits[0]);
	else if (cc_keys[i].kind != CC_GAIN && !v->bad)
		cc_set(c, &cc_keys[i], (uint64_t)v->n);
	else if (!v->bad && !cc_set_gain(c, v->text))
		REFUSE(sink, &m,
		       "\"%s\" is no fraction of at most 1 such as 1/256, with a denominator of at "
		       "most 65536",
		       v->text);
}

static const char *start_of(const struct nic_keys *k)
{
	if (k->cc.preset.given)
		return cc_words[k->cc.preset.n];
	if (k->preset.given)
		return preset_words[k->preset.n];
	if (k->cc.flavour.given)
		return flavour_words[k->cc.flavour.n];
	return k->cc.map.given ? "paper" : "none";
}

static void config_cc(const struct nic_keys *k, struct nic_config *c, struct diag_sink *sink)
{
	const struct cc_keys *cc = &k->cc;
	const char *wrong;

	c->cc = cc_preset_find(start_of(k))->config;
	if (cc->flavour.given)
		c->cc.flavour = (uint8_t)cc->flavour.n;
	if (cc->np.given)
		c->cc.np = (uint8_t)cc->np.n;
	for (unsigned i = 0; i < N_CC_KEYS; i++)
		apply_key(cc, i, &c->cc, sink);
	wrong = c->speed_bps != 0 ? cc_config_wrong(&c->cc, c->speed_bps) : NULL;
	if (wrong != NULL && cc->map.given)
		REFUSE(sink, &cc->map, "%s", wrong);
	else if (wrong != NULL)
		REFUSE(sink, &k->map, "its congestion control %s", wrong);
}

static void config_receive(const struct nic_receive_keys *k, struct nic_faults *f,
			   struct diag_sink *sink)
{
	struct rxbuf_params p;

	if (!k->map.given)
		return;
	f->rx_rate_bps = (uint64_t)k->rate.n;
	f->loopback_bps = (uint64_t)k->loopback.n;
	f->rx_buffer_bytes = (uint32_t)k->buffer.n;
	f->rx_xoff_bytes = (uint32_t)k->xoff.n;
	f->rx_xon_bytes = (uint32_t)k->xon.n;
	f->qp_cache = (uint32_t)k->qp_cache.n;
	f->qp_miss_ns = (uint64_t)k->qp_miss.n;
	if (k->rate.given && f->loopback_bps >= f->rx_rate_bps)
		REFUSE(sink, &k->map, "loopback leaves nothing of the rate");
	else if (k->rate.given &&
		 !rxbuf_params_init(&p, f->rx_rate_bps - f->loopback_bps, f->rx_buffer_bytes,
				    f->rx_xoff_bytes, f->rx_xon_bytes))
		REFUSE(sink, &k->map,
		       "xon must be at most xoff, and xoff below buffer; they are %s, %s and %s",
		       UNIT_TEXT(UNIT_BYTES, p.xon), UNIT_TEXT(UNIT_BYTES, p.xoff),
		       UNIT_TEXT(UNIT_BYTES, p.capacity));
}

static void config_speed(const struct nic_keys *k, struct nic_config *c, struct diag_sink *sink)
{
	uint64_t link_bps = c->speed_bps;

	if (!k->speed.given || k->speed.bad)
		return;
	c->speed_bps = (uint64_t)k->speed.n;
	if (link_bps == 0 || c->speed_bps == link_bps)
		return;
	REFUSE(sink, &k->speed,
	       "%s, but the host's link has %s: give both the same, or leave it out",
	       UNIT_TEXT(UNIT_RATE, k->speed.n), UNIT_TEXT(UNIT_RATE, (int64_t)link_bps));
}

void nic_keys_apply(const struct nic_keys *k, struct nic_config *c, struct diag_sink *sink)
{
	config_speed(k, c, sink);
	config_cc(k, c, sink);
	config_receive(&k->receive, &c->faults, sink);
	if (k->window.given && !k->window.bad)
		c->window = (uint32_t)k->window.n;
	if (k->rto.given && !k->rto.bad)
		c->rto_ns = (uint64_t)k->rto.n;
	c->udp_sport = (uint8_t)k->udp_sport.n;
	c->ignore_pause = k->ignore_pause.n != 0;
	c->whole_link = k->whole_link.n != 0;
	c->faults.go_back_0 = k->go_back.n == GO_BACK_0;
	c->selective = k->go_back.n == GO_BACK_SELECTIVE;
	c->faults.fence = k->fence.n != 0;
	c->faults.storm_guard_ns = (uint64_t)k->storm_guard.n;
}
