// SPDX-License-Identifier: Apache-2.0
#include "control/config/model.h"

#include "control/base/model_time.h"
#include "control/base/rows.h"
#include "control/inof/registry.h"
#include "dataplane/packet/trim.h"
#include "dataplane/qos/elephant.h"
#include "dataplane/qos/guard.h"
#include "dataplane/qos/watchdog.h"
#include "dataplane/roce/ipcc.h"

#define MOST_B (64ll << 30) // 2^31 cells of 32 B

enum {
	MAX_VID = 4094,
	MAX_PPS = 10000000,
	MAX_PAIRS = 4096,
	LEAST_QP = 2, // 0 and 1 are management
	MOST_QP = 0xfffffe, // the next one means a multicast group
	DEVICE_LEN = 63,
	IP_LEN = 127,
	NETNS_LEN = 107,
	ECN_FILE_LEN = 127,
	LEAST_FRAME = 64, // bytes
	NAME_LEN = POLICY_NAME_LEN - 1,
};

const char *const cfg_trust_words[] = {
	[TRUST_DSCP] = "dscp", [TRUST_PCP] = "pcp", [TRUST_PORT] = "port", NULL};
const char *const cfg_color_words[] = {
	[GREEN] = "green", [YELLOW] = "yellow", [RED] = "red", NULL};
// In the order of enum pair_source, from PAIR_STATIC.
static const char *const source_words[] = {"static", "cm", "read", "ack", "cnp", NULL};
static_assert(N(source_words) == N_PAIR_SOURCES, "the word of a source is its number less one");

const char *const cfg_watchdog_modes[] = {
	[WATCHDOG_XOFF] = "xoff", [WATCHDOG_PROGRESS] = "progress", NULL};
const char *const cfg_watchdog_actions[] = {
	[WATCHDOG_DROP] = "drop", [WATCHDOG_FORWARD] = "forward", [WATCHDOG_ALERT] = "alert", NULL};
const char *const cfg_watchdog_thens[] = {
	[WATCHDOG_PFC_OFF] = "pfc_off", [WATCHDOG_PORT_DOWN] = "port_down", NULL};

// ---- headroom, ingress, egress
static const struct cfg_row headroom_rows[] = {
	{NUMBER(BYTES, cfg_headroom, lossless_mtu), .min = 64, .max = 65535,
	 .dflt_text = "the port's mtu", .help = "longest frame of the class"},
	{NUMBER(PERCENT, cfg_headroom, small_frames), .max = PERCENT(100), .dflt = PERCENT(100),
	 .help = "share of the bytes in frames of 64 B, which leave most of a cell empty"},
	{NUMBER(BYTES, cfg_headroom, mac_phy), .max = MB(1), .dflt = 819, .dflt_text = "0.8KiB",
	 .help = "bytes inside the MACs and PHYs of both ends"},
	{NUMBER(BYTES, cfg_headroom, peer_response), .max = MB(10), .dflt = CFG_WORD_VALUE,
	 .word = "quanta",
	 .help = "bytes that the peer still sends until it obeys; `quanta`: the IEEE response time "
		 "at the port's speed"},
};
static SCHEMA(headroom_schema, headroom_rows, cfg_headroom);

// clang-format off
#define INGRESS_LIMITS \
	{NUMBER(BYTES, cfg_ingress, min), .max = MOST_B, .percent_of = "switch.buffer.size", \
	 .help = "reserved for the priority group of this port; rounds up to cells"}, \
	{FIELD(CFG_ALPHA, cfg_ingress, alpha), .dflt_text = "1 (lossy: static, the buffer)", \
	 .help = "T = alpha * free ingress pool, a power of two from 1/256 to 128"}, \
	{"static", CFG_NUMBER, .unit = UNIT_BYTES, AT(cfg_ingress, static_limit), .max = MOST_B, \
	 .percent_of = "the ingress pool", .dflt_text = "none", \
	 .help = "a fixed T in place of alpha; rounds down to cells"}
#define INGRESS_HEADROOM \
	{FIELD(CFG_MAP, cfg_ingress, headroom), .sub = &headroom_schema, .dflt_text = "auto", \
	 .scalar = SCALAR("headroom", CFG_NUMBER, .unit = UNIT_BYTES, .max = MOST_B, \
			  AT(cfg_ingress, headroom.fixed), .dflt = CFG_WORD_VALUE, .word = "auto", \
			  .percent_of = "switch.buffer.size"), \
	 .help = "memory for frames that arrive after PAUSE: `auto`, a size, or the inputs of " \
		 "`auto`"}
// clang-format on

static const struct cfg_row ingress_rows[] = {
	INGRESS_LIMITS,
	{NUMBER(BYTES, cfg_ingress, xon), .max = MOST_B, .percent_of = "the ingress pool",
	 .help = "XON when shared use is at or below max(xon, T - xon_offset); rounds down"},
	{NUMBER(BYTES, cfg_ingress, xon_offset), .max = MOST_B, .percent_of = "the ingress pool",
	 .dflt_text = "2 frame limits", .help = "see xon; rounds up"},
	INGRESS_HEADROOM,
};
static SCHEMA(ingress_schema, ingress_rows, cfg_ingress);

static const struct cfg_row port_ingress_rows[] = {
	INGRESS_LIMITS,
	INGRESS_HEADROOM,
	{NUMBER(BYTES, cfg_ingress, mru), .min = 64, .max = 65535,
	 .dflt_text = "headroom.lossless_mtu", .help = "longest frame of this class on this port"},
	{NUMBER(LENGTH, cfg_ingress, cable), .max = KM(2000), .dflt_text = "the port's",
	 .help = "cable length, for the headroom of this class"},
};
static SCHEMA(port_ingress_schema, port_ingress_rows, cfg_ingress);

static const struct cfg_row egress_rows[] = {
	{NUMBER(BYTES, cfg_egress, min), .max = MOST_B, .percent_of = "the lossy egress pool",
	 .help = "the queue may always hold this; rounds up to cells"},
	{FIELD(CFG_ALPHA, cfg_egress, alpha), .dflt_text = "1",
	 .help = "limit = alpha * free lossy egress pool; lossless queues have no limit"},
	{"static", CFG_NUMBER, .unit = UNIT_BYTES, AT(cfg_egress, static_limit), .max = MOST_B,
	 .percent_of = "the lossy egress pool", .dflt_text = "none",
	 .help = "a fixed limit in place of alpha; rounds down to cells"},
	{FIELD(CFG_WORD, cfg_egress, discard), .words = WORDS("drop", "trim"),
	 .help = "what happens to a frame beyond the limit: `drop`, or `trim` as `switch.trim` "
		 "says"},
};
static SCHEMA(egress_schema, egress_rows, cfg_egress);

// ---- WRED and ECN
// clang-format off
#define CURVE(s, f) \
	{"kmin", CFG_NUMBER, .unit = UNIT_BYTES, AT(s, f kmin), .max = MOST_B, .required = true, \
	 .percent_of = "the queue's own limit", .help = "mark or drop above this queue length"}, \
	{"kmax", CFG_NUMBER, .unit = UNIT_BYTES, AT(s, f kmax), .max = MOST_B, .required = true, \
	 .percent_of = "the queue's own limit", .help = "the probability reaches pmax here"}, \
	{"pmax", CFG_NUMBER, .unit = UNIT_PERCENT, AT(s, f pmax), .max = PERCENT(100), \
	 .required = true, .help = "the probability at kmax"}
// clang-format on

static const struct cfg_row curve_rows[] = {CURVE(cfg_curve, )};
static SCHEMA(curve_schema, curve_rows, cfg_curve);

static const struct cfg_row wred_rows[] = {
	{FIELD(CFG_SWITCH, cfg_wred, ecn),
	 .help = "mark ECT frames CE; off: every frame counts as Not-ECT"},
	CURVE(cfg_wred, curve[GREEN].),
	{FIELD(CFG_WORD, cfg_wred, above_kmax), .words = WORDS("pmax", "all"), .dflt = 1,
	 .help = "above kmax: `all` marks or drops each frame, `pmax` does so with probability "
		 "pmax"},
	{FIELD(CFG_WORD, cfg_wred, mark_at), .words = WORDS("enqueue", "dequeue"), .dflt = 1,
	 .help = "`enqueue`: decides when a frame arrives; `dequeue`: when the frame leaves (Fast "
		 "ECN)"},
	{NUMBER(COUNT, cfg_wred, weight), .max = 15,
	 .help = "average += (length - average) / 2^weight; 0: instantaneous"},
	{FIELD(CFG_WORD, cfg_wred, not_ect), .words = WORDS("pass", "drop"),
	 .dflt_text = "drop (lossless: pass)", .help = "what WRED does to Not-ECT frames"},
	{"yellow", CFG_MAP, .sub = &curve_schema, AT(cfg_wred, curve[YELLOW]),
	 .dflt_text = "as green", .help = "a curve of its own for yellow frames"},
	{"red", CFG_MAP, .sub = &curve_schema, AT(cfg_wred, curve[RED]), .dflt_text = "as green",
	 .help = "a curve of its own for red frames"},
};
static SCHEMA(wred_schema, wred_rows, cfg_wred);

static const struct cfg_row ecn_rows[] = {
	{FIELD(CFG_WORD, cfg_ecn, mode), .words = WORDS("auto"), .required = true,
	 .help = "`auto`: the switch chooses kmin, kmax and pmax"},
	{FIELD(CFG_WORD, cfg_ecn, action), .words = WORDS("advise", "on"), .dflt = 1,
	 .help = "`advise`: the thresholds of the start stay, and the switch shows what it would "
		 "use"},
	{NUMBER(BYTES, cfg_ecn, floor), .min = LEAST_FRAME, .max = MOST_B,
	 .dflt_text = "2 frames of full size", .help = "kmin is never below"},
	{NUMBER(BYTES, cfg_ecn, ceiling), .min = LEAST_FRAME, .max = MOST_B,
	 .dflt_text = "3/4 of the queue at XOFF",
	 .help = "kmin is never above; the queue at XOFF is that of `weirctl plan`, so marks begin "
		 "before PFC pauses"},
	{NUMBER(TIME, cfg_ecn, step), .min = MS(5), .max = SECONDS(1), .dflt = MS(20),
	 .help = "time between two changes"},
	{FIELD(CFG_TEXT, cfg_ecn, model), .max = ECN_FILE_LEN, .dflt_text = "builtin",
	 .help = "known workloads: `builtin`, `off`, or a file, seen from the policy file"},
};
static SCHEMA(ecn_schema, ecn_rows, cfg_ecn);

// ---- notifications
static const struct cfg_row cnp_rows[] = {
	{NUMBER(COUNT, cfg_cnp, dscp), .max = 63, .dflt = 48,
	 .help = "DSCP of the CNPs that the switch makes"},
	{"class", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_cnp, cls), .max = 7, .dflt = 6,
	 .help = "class of these CNPs; it must be lossy, and should be strict"},
	{NUMBER(COUNT, cfg_cnp, max_rate), .min = 1, .max = 1000000, .dflt = 1000,
	 .help = "CNPs per millisecond that may leave by one port"},
	{NUMBER(COUNT, cfg_cnp, burst), .min = 1, .max = 65536, .dflt = 64,
	 .help = "CNPs that may leave by one port at once"},
};
static SCHEMA(cnp_schema, cnp_rows, cfg_cnp);

static const struct cfg_row ipcc_rows[] = {
	{NUMBER(TIME, cfg_ipcc, interval), .min = US(1), .max = SECONDS(1), .dflt = US(5),
	 .help = "time between two looks while the queue is above kmin; the first look is when it "
		 "grows beyond kmin"},
	{NUMBER(PERCENT, cfg_ipcc, deep), .max = PERCENT(100), .dflt = PERCENT(50),
	 .help = "a queue is deep when its length reaches this share of kmax, or its memory this "
		 "share of the threshold"},
	{NUMBER(COUNT, cfg_ipcc, few), .max = FEED_SLOTS, .dflt = 2,
	 .help = "limit of CNPs in one look when a shallow queue grows or a deep queue shrinks"},
	{NUMBER(COUNT, cfg_ipcc, many), .min = 1, .max = FEED_SLOTS, .dflt = 64,
	 .help = "limit of CNPs in one look when a deep queue grows"},
	{NUMBER(PERCENT, cfg_ipcc, cut), .min = PERCENT(1), .max = PERCENT(100),
	 .dflt = PERCENT(50), .word = "learnt",
	 .help = "share by which a CNP lowers the sender's rate; `learnt`: as the earlier CNPs to "
		 "the flow did"},
	{NUMBER(TIME, cfg_ipcc, drain), .min = US(1), .max = SECONDS(1), .dflt = US(50),
	 .help = "the part of the queue above kmin must drain in this time"},
	{NUMBER(TIME, cfg_ipcc, min_gap), .max = SECONDS(1), .dflt = US(10),
	 .help = "least time between two CNPs to one flow"},
	{NUMBER(TIME, cfg_ipcc, spare), .max = SECONDS(1), .dflt_text = "0us: they are marked",
	 .help = "time after a CNP in which frames of its flow are not marked"},
};
static SCHEMA(ipcc_schema, ipcc_rows, cfg_ipcc);

// ---- classes and profiles
static const struct cfg_row schedule_rows[] = {
	{NUMBER(COUNT, cfg_schedule, dwrr), .min = 1, .max = 1000, .dflt = 1, .required = true,
	 .help = "weight among the DWRR queues, in bytes"},
};
static SCHEMA(schedule_schema, schedule_rows, cfg_schedule);

// Actions on the frames of a flow, by its size.
static const struct cfg_row sized_rows[] = {
	{FIELD(CFG_WORD, cfg_sized, color), .words = cfg_color_words, .dflt_text = "the DSCP's",
	 .help = "drop precedence: the curve of `wred` for these frames"},
	{"class", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_sized, cls), .max = 7,
	 .dflt_text = "as they arrive",
	 .help = "class, and so queue, in which these frames leave; their priority group stays. "
		 "Only in a lossy class, and to a lossy class"},
	{NUMBER(COUNT, cfg_sized, dscp), .max = 63, .dflt_text = "as they arrive",
	 .help = "DSCP with which these frames leave, unless `remark` or a guard gives another. "
		 "Only in a lossy class"},
};
static SCHEMA(sized_schema, sized_rows, cfg_sized);

static const struct cfg_row class_watchdog_rows[] = {
	{NUMBER(TIME, cfg_class_watchdog, detect), .min = MS(1), .max = SECONDS(5),
	 .dflt_text = "the watchdog's",
	 .help = "a pause of the class that lasts this long is a storm; whole milliseconds"},
	{NUMBER(TIME, cfg_class_watchdog, restore), .min = MS(1), .max = SECONDS(60),
	 .dflt_text = "the watchdog's",
	 .help = "time after which the class obeys PFC again; whole milliseconds"},
};
static SCHEMA(class_watchdog_schema, class_watchdog_rows, cfg_class_watchdog);

static const struct cfg_row class_rows[] = {
	{FIELD(CFG_SWITCH, cfg_class, lossless), .help = "protected by PFC"},
	{FIELD(CFG_SWITCH, cfg_class, flood), .dflt_text = "on (lossless: off)",
	 .help = "frames to unknown addresses and to groups leave by all ports; off: they are "
		 "dropped as lossless-unknown; only a lossless class can be off"},
	{FIELD(CFG_MAP, cfg_class, schedule), .sub = &schedule_schema,
	 .scalar = SCALAR("schedule", CFG_WORD, AT(cfg_class, schedule.strict),
			  .words = WORDS("strict"), .expected = "strict or {dwrr: WEIGHT}"),
	 .dflt_text = "{dwrr: 1}", .help = "`strict` or `{dwrr: WEIGHT}`"},
	{NUMBER(RATE, cfg_class, min_rate), .max = GIGA(800),
	 .help = "served first while below this rate"},
	{NUMBER(RATE, cfg_class, max_rate), .max = GIGA(800), .dflt_text = "0: none",
	 .help = "never above this rate"},
	{FIELD(CFG_MAP, cfg_class, ingress), .sub = &ingress_schema, .dflt_text = "defaults",
	 .help = "the priority group"},
	{FIELD(CFG_MAP, cfg_class, egress), .sub = &egress_schema, .dflt_text = "defaults",
	 .help = "the queue"},
	{FIELD(CFG_MAP, cfg_class, wred), .sub = &wred_schema, .dflt_text = "tail drop",
	 .help = "early drop and ECN marking of the queue"},
	{FIELD(CFG_MAP, cfg_class, ecn), .sub = &ecn_schema,
	 .scalar = SCALAR("ecn", CFG_WORD, AT(cfg_class, ecn.is_auto), .words = WORDS("auto")),
	 .dflt_text = "off",
	 .help = "thresholds that follow the traffic, in place of `wred`. `auto`: with these "
		 "defaults"},
	{FIELD(CFG_MAP, cfg_class, ipcc), .sub = &ipcc_schema,
	 .scalar = SCALAR("ipcc", CFG_SWITCH, AT(cfg_class, ipcc.on)), .dflt_text = "off",
	 .help = "the switch sends CNPs for the queue when it is longer than kmin of its `wred`. "
		 "The class needs `wred`, also where that marks nothing (`ecn: off`). `on` or "
		 "`{}`: with these defaults"},
	{FIELD(CFG_MAP, cfg_class, elephants), .sub = &sized_schema, .dflt_text = "as others",
	 .help = "what happens to frames of elephants (`switch.elephants`) that arrive in this "
		 "class"},
	{FIELD(CFG_MAP, cfg_class, mice), .sub = &sized_schema, .dflt_text = "as others",
	 .help = "the same for mice, the first frames of a flow"},
	{FIELD(CFG_MAP, cfg_class, watchdog), .sub = &class_watchdog_schema,
	 .dflt_text = "the watchdog's",
	 .help = "times of the watchdog in this class. They replace those of the profile and of "
		 "the port, which say whether there is a watchdog and what it does"},
};
static SCHEMA(class_schema, class_rows, cfg_class);

static const struct cfg_row remark_rows[] = {
	{FIELD(CFG_LOOKUP, cfg_remark, pcp), .n_keys = 8, .max = 7,
	 .scalar = SCALAR("pcp", CFG_WORD, AT(cfg_remark, pcp_is_class), .words = WORDS("class")),
	 .dflt_text = "none", .help = "new PCP of tagged frames: `class`, or {class: PCP}"},
	{FIELD(CFG_LOOKUP, cfg_remark, dscp), .n_keys = 8, .max = 63, .dflt_text = "none",
	 .help = "new DSCP of IP frames, {class: DSCP}"},
};
static SCHEMA(remark_schema, remark_rows, cfg_remark);

static const struct cfg_row warning_rows[] = {
	{NUMBER(COUNT, cfg_pfc_warning, in), .max = MAX_PPS, .dflt_text = "0: none",
	 .help = "an event warns when more PFC frames of one class than this arrive in a second"},
	{NUMBER(COUNT, cfg_pfc_warning, out), .max = MAX_PPS, .dflt_text = "0: none",
	 .help = "the same for PFC frames that the port sends"},
	{NUMBER(PERCENT, cfg_pfc_warning, paused), .max = PERCENT(100), .dflt = PERCENT(95),
	 .help = "an event warns when the peer pauses a class for more than this share of a "
		 "second; 0%: no warning"},
};
static SCHEMA(pfc_warning_schema, warning_rows, cfg_pfc_warning);

static const struct cfg_row pfc_rows[] = {
	{FIELD(CFG_WORD, cfg_pfc, mode), .words = WORDS("on", "auto"),
	 .help = "`auto`: a port has PFC in a lossless class only while its peer has it too, by "
		 "DCBX; it has none before the peer has spoken. `on`: whatever the peer says"},
	{FIELD(CFG_SWITCH, cfg_pfc, rx), .dflt = 1,
	 .help = "obey PAUSE of the peer, in lossless classes"},
	{FIELD(CFG_SWITCH, cfg_pfc, tx), .dflt = 1, .help = "send PAUSE, in lossless classes"},
	{FIELD(CFG_SWITCH, cfg_pfc, whole_link),
	 .help = "on: sends PAUSE of 802.3x in place of PFC, and obeys both. It pauses all "
		 "lossless classes at once, and at the peer the whole link. For experiments"},
	{NUMBER(COUNT, cfg_pfc, quanta), .min = 1, .max = 65535, .dflt = 65535,
	 .help = "time a PAUSE asks for, in 512 bit times. The frame that repeats it must arrive "
		 "before that, behind what is on its way: `weirctl check` refuses fewer quanta"},
	{FIELD(CFG_MAP, cfg_pfc, warning), .sub = &pfc_warning_schema,
	 .dflt_text = "long pauses only",
	 .help = "early warning: one event when the rate of the last second rises above the limit, "
		 "and one when it falls below 7/8 of the limit. Two events are at least a second "
		 "apart"},
};
static SCHEMA(pfc_schema, pfc_rows, cfg_pfc);

// ---- watchdog and guard, of a profile and, laid over it, of a port
static const struct cfg_row limit_rows[] = {
	{NUMBER(COUNT, cfg_watchdog_limit, count), .max = WATCHDOG_LIMIT_MAX, .dflt = 30,
	 .help = "number of storms of one class of one port after which `then` follows; 0: never"},
	{NUMBER(TIME, cfg_watchdog_limit, window), .min = MS(100), .max = SECONDS(86400),
	 .dflt = SECONDS(20), .help = "time within which that number of storms counts"},
	{FIELD(CFG_WORD, cfg_watchdog_limit, then), .words = cfg_watchdog_thens,
	 .help = "what follows, until `weirctl watchdog recover PORT CLASS`. `pfc_off`: the class "
		 "has neither PFC nor a watchdog. `port_down`: the port stays down"},
};
static SCHEMA(limit_schema, limit_rows, cfg_watchdog_limit);

static const struct cfg_row watchdog_rows[] = {
	{FIELD(CFG_WORD, cfg_watchdog, mode), .words = cfg_watchdog_modes,
	 .dflt = WATCHDOG_PROGRESS,
	 .help = "what counts as a storm. `xoff`: the peer pauses the class for `detect` without a "
		 "break. `progress`: frames also wait, and none of them leaves in that time"},
	{FIELD(CFG_WORD, cfg_watchdog, action), .words = cfg_watchdog_actions,
	 .dflt = WATCHDOG_DROP,
	 .help = "what happens until restoration. `drop`: the class neither obeys nor sends PFC, "
		 "and the port drops the frames of the class that it holds and receives. "
		 "`forward`: no PFC either, but the port sends these frames. `alert`: an event "
		 "only, PFC goes on"},
	{NUMBER(TIME, cfg_watchdog, detect), .min = MS(1), .max = SECONDS(5), .dflt = MS(100),
	 .help = "a pause that lasts this long is a storm; whole milliseconds"},
	{NUMBER(TIME, cfg_watchdog, restore), .min = MS(1), .max = SECONDS(60), .dflt = MS(100),
	 .help = "time after which the class obeys PFC again; whole milliseconds. `xoff`: it "
		 "counts from detection. `progress`: from the last PAUSE with a time above 0"},
	{FIELD(CFG_MAP, cfg_watchdog, limit), .sub = &limit_schema,
	 .dflt_text = "30 in 20s, then pfc_off", .help = "when storms return too often"},
};
static SCHEMA(watchdog_schema, watchdog_rows, cfg_watchdog);
static const struct cfg_schema port_watchdog_schema = {
	watchdog_rows, N(watchdog_rows), sizeof(struct cfg_watchdog), "the profile's"};

static const struct cfg_row guard_rule_rows[] = {
	{NUMBER(COUNT, cfg_guard_rule, dscp), .max = 63, .required = true,
	 .help = "DSCP with which IP frames arrive that turn back here"},
	{NUMBER(COUNT, cfg_guard_rule, to_class), .max = 7, .required = true,
	 .help = "class in which these frames leave; the priority group stays that of the class in "
		 "which they arrived"},
	{NUMBER(COUNT, cfg_guard_rule, to_dscp), .max = 63, .required = true,
	 .help = "DSCP with which these frames leave, also if `remark` gives another; it must map "
		 "to `to_class`"},
};
static SCHEMA(guard_rule_schema, guard_rule_rows, cfg_guard_rule);

// clang-format off
#define GUARD_ROWS(group_text, remap_text) \
	{FIELD(CFG_NAME, cfg_guard, group), .max = NAME_LEN, .dflt_text = group_text, \
	 .help = "name of a group of ports; a frame turns back if it arrives and leaves by ports " \
		 "of one group"}, \
	{FIELD(CFG_LIST, cfg_guard, remap), .sub = &guard_rule_schema, .max = GUARD_MAX_RULES, \
	 .dflt_text = remap_text, \
	 .help = "rules, one for each DSCP, the same for all ports of a group; a chain of rules " \
		 "must end in a lossy class"}
// clang-format on

static const struct cfg_row guard_rows[] = {GUARD_ROWS("none", "the group's")};
static SCHEMA(guard_schema, guard_rows, cfg_guard);
static const struct cfg_row port_guard_rows[] = {
	GUARD_ROWS("the profile's", "the profile's, else the group's")};
static SCHEMA(port_guard_schema, port_guard_rows, cfg_guard);

static const struct cfg_row profile_rows[] = {
	{FIELD(CFG_WORD, cfg_profile, trust), .words = cfg_trust_words,
	 .help = "what decides the class: DSCP (tagged non-IP: PCP), PCP, or the port"},
	{FIELD(CFG_LOOKUP, cfg_profile, dscp_to_class), .n_keys = 64, .max = 7, .has_default = true,
	 .dflt_text = "dscp / 8",
	 .help = "the class of each value; `default` sets all values that are not named"},
	{FIELD(CFG_LOOKUP, cfg_profile, pcp_to_class), .n_keys = 8, .max = 7, .has_default = true,
	 .dflt_text = "identity",
	 .help = "the class of each value; `default` sets all values that are not named"},
	{FIELD(CFG_LOOKUP, cfg_profile, dscp_to_color), .n_keys = 64,
	 .words = cfg_color_words, .max = 2, .has_default = true,
	 .dflt_text = "green", .help = "drop precedence: green, yellow, red"},
	{FIELD(CFG_LOOKUP, cfg_profile, class_to_queue), .n_keys = 8, .max = 7,
	 .dflt_text = "identity", .help = "egress queue of a class"},
	{FIELD(CFG_LOOKUP, cfg_profile, class_to_pg), .n_keys = 8, .max = 7,
	 .dflt_text = "identity", .help = "priority group of a class"},
	{FIELD(CFG_MAP, cfg_profile, remark), .sub = &remark_schema, .dflt_text = "none",
	 .help = "rewrites PCP and DSCP on the way out"},
	{FIELD(CFG_MAP, cfg_profile, pfc), .sub = &pfc_schema, .dflt_text = "defaults",
	 .help = "priority flow control of the lossless classes"},
	{FIELD(CFG_MAP, cfg_profile, watchdog), .sub = &watchdog_schema,
	 .scalar = SCALAR("watchdog", CFG_SWITCH, AT(cfg_profile, watchdog.on)), .dflt_text = "off",
	 .help = "ends pauses that are storms, in lossless classes that obey PFC; `on` or `{}`: "
		 "with these defaults"},
	{FIELD(CFG_MAP, cfg_profile, guard), .sub = &guard_schema, .dflt_text = "none",
	 .help = "deadlock guard: frames that turn back get another class"},
	{FIELD(CFG_MAP, cfg_profile, cnp), .sub = &cnp_schema, .dflt_text = "defaults",
	 .help = "CNPs of the switch that leave by these ports"},
	{FIELD(CFG_CLASSES, cfg_profile, classes), .sub = &class_schema,
	 .dflt_text = "lossy, DWRR 1",
	 .help = "settings of classes 0 to 7; a key such as 4-7 or \"3,5\" sets several; other "
		 "classes keep the defaults"},
};
SCHEMA(cfg_profile_schema, profile_rows, cfg_profile);

// ---- ports
static const struct cfg_row port_vlan_rows[] = {
	{NUMBER(COUNT, cfg_port_vlan, untagged), .min = 1, .max = MAX_VID, .dflt = 1,
	 .word = "none",
	 .help = "VLAN of untagged frames, both ways; `none` refuses them. A port without `tagged` "
		 "takes no frame with a VLAN ID"},
	{FIELD(CFG_SET, cfg_port_vlan, tagged), .min = 1, .max = MAX_VID, .dflt_text = "none",
	 .help = "VLANs the port carries tagged, [20, 30-39]"},
};
static SCHEMA(port_vlan_schema, port_vlan_rows, cfg_port_vlan);

static const struct cfg_row port_class_rows[] = {
	{FIELD(CFG_MAP, cfg_port_class, ingress), .sub = &port_ingress_schema,
	 .dflt_text = "the profile's", .help = "overrides for this port"},
};
static SCHEMA(port_class_schema, port_class_rows, cfg_port_class);

static const struct cfg_row storm_rows[] = {
	{NUMBER(COUNT, cfg_storm_control, broadcast), .max = MAX_PPS, .dflt_text = "0: none",
	 .help = "broadcast frames per second that the switch replicates; a burst may have the "
		 "frames of a quarter of a second"},
	{NUMBER(COUNT, cfg_storm_control, unknown_unicast), .max = MAX_PPS, .dflt_text = "0: none",
	 .help = "the same for frames to addresses that the bridge does not know"},
	{NUMBER(COUNT, cfg_storm_control, multicast), .max = MAX_PPS, .dflt_text = "0: none",
	 .help = "the same for multicast; BPDUs have a limit of their own with the same rate, or "
		 "1,000 per second without one"},
};
static SCHEMA(storm_control_schema, storm_rows, cfg_storm_control);

static const struct cfg_row loop_rows[] = {
	{FIELD(CFG_WORD, cfg_loop_detect, action), .words = WORDS("alarm", "port_down"),
	 .help = "`alarm`: an event only. `port_down`: the port also goes down. If both ports of "
		 "the loop say so, the later one in `ports` goes down"},
	{NUMBER(TIME, cfg_loop_detect, recover), .min = SECONDS(2), .max = SECONDS(86400),
	 .dflt = SECONDS(300),
	 .help = "the port comes up when it has received no probe for this time"},
};
static SCHEMA(loop_detect_schema, loop_rows, cfg_loop_detect);

static const struct cfg_row lldp_rows[] = {
	{FIELD(CFG_SWITCH, cfg_lldp, willing),
	 .help = "on: the port follows the PFC settings of its DCBX peer, in lossless classes; if "
		 "the peer is willing too, the end with the lower MAC address has the settings"},
};
static SCHEMA(lldp_schema, lldp_rows, cfg_lldp);

static const struct cfg_row port_rows[] = {
	{FIELD(CFG_TEXT, cfg_port, name), .reload = CFG_RESTART, .required = true,
	 .max = DEVICE_LEN, .help = "a range such as p[1-3] makes several ports"},
	{FIELD(CFG_TEXT, cfg_port, device), .reload = CFG_RESTART, .required = true,
	 .max = 4 * DEVICE_LEN,
	 .expected = "a live switch needs xdp:IFACE, pci:ADDRESS or vdev:ARGUMENTS; only weir-lab "
		     "needs none",
	 .help = "xdp:IFACE, pci:ADDRESS or vdev:ARGUMENTS; ranges expand with the name; weir-lab "
		 "needs none"},
	{NUMBER(RATE, cfg_port, speed), .min = 1000000, .max = GIGA(800), .dflt_text = "the link's",
	 .help = "required if the link reports no speed; the port is shaped to this rate"},
	{NUMBER(BYTES, cfg_port, mtu), .min = 68, .max = MAX_MTU, .dflt = 1500, .dflt_text = "1500",
	 .help = "IP MTU; a frame may have mtu + 22 B; a reload cannot raise it above its value at "
		 "the start"},
	{NUMBER(LENGTH, cfg_port, cable), .max = KM(2000), .dflt = 500,
	 .help = "cable length, for the headroom"},
	{FIELD(CFG_NAME, cfg_port, profile), .max = NAME_LEN, .dflt_text = "default",
	 .help = "built-in `default`: every class lossy, DWRR 1"},
	{FIELD(CFG_MAP, cfg_port, vlan), .sub = &port_vlan_schema, .dflt_text = "untagged 1",
	 .help = "VLAN membership"},
	{NUMBER(COUNT, cfg_port, mac_limit), .max = 16384, .dflt_text = "0: the table's room",
	 .help = "most learned addresses of the port; a further address replaces the port's "
		 "oldest. Without a limit the port may also use the room that other ports leave "
		 "free. Each port keeps an equal share that no other port takes"},
	{FIELD(CFG_SWITCH, cfg_port, sticky),
	 .help = "a learned address of the port does not move to another port while the link is "
		 "up; frames from it that arrive by another port are dropped"},
	{NUMBER(COUNT, cfg_port, default_class), .max = 7,
	 .help = "class of frames without the field that `trust` names"},
	{NUMBER(PERCENT, cfg_port, rx_guard), .max = PERCENT(100), .dflt = PERCENT(50),
	 .word = "off", .help = "PAUSE when the receive ring is fuller than this"},
	{NUMBER(BYTES, cfg_port, tx_ring), .reload = CFG_RESTART, .max = MB(16), .dflt = 8192,
	 .dflt_text = "8KiB",
	 .help = "data the transmit ring may hold beyond the frame on the wire"},
	{NUMBER(COUNT, cfg_port, rx_ring), .reload = CFG_RESTART, .min = 64, .max = 32768,
	 .dflt_text = "the driver's, 2048 of `xdp:`",
	 .help = "frames the receive ring holds; a power of two"},
	{FIELD(CFG_MAP, cfg_port, lldp), .sub = &lldp_schema,
	 .scalar = SCALAR("lldp", CFG_SWITCH, AT(cfg_port, lldp.on)),
	 .dflt_text = "the switch's",
	 .help = "the port speaks LLDP with DCBX; `on` or `{}`: with these defaults. A port that "
		 "keeps LLDP for the host's stack (`keep`) does not"},
	{FIELD(CFG_WORDS, cfg_port, keep), .max = DEVICE_LEN,
	 .dflt_text = "none; [lldp] where `lldp` is off",
	 .help = "frames for the host's stack, on `xdp:` ports only: `lldp`, `lacp`, `arp`, "
		 "`icmp`, `tcp/PORT`, `udp/PORT` (from or to that port number). All but `lldp` and "
		 "`lacp` are kept only if they go to the interface's own MAC address, because the "
		 "switch forwards frames to other stations. ARP to a group goes to the host and to "
		 "the switch; so does IPv6 neighbour discovery to a group, with `icmp`. A frame "
		 "may have up to two VLAN tags"},
	{FIELD(CFG_SWITCH, cfg_port, take_over),
	 .help = "on: a start or reload uses an `xdp:` device even if the host has addresses or "
		 "the default route there; the host can then use neither. Not needed if `keep` "
		 "leaves IP to the host"},
	{FIELD(CFG_SWITCH, cfg_port, optional),
	 .help = "on: weir also starts if the interface of an `xdp:` device does not exist; the "
		 "port uses the interface as soon as it exists and is up. The port needs a "
		 "`speed`"},
	{FIELD(CFG_WORDS, cfg_port, ip), .max = IP_LEN, .dflt_text = "none: the port bridges",
	 .help = "addresses with the length of their prefix, [10.0.1.1/24, \"fd00:1::1/64\"]. A "
		 "port with addresses routes and does not bridge. Ranges expand with the name"},
	{NUMBER(COUNT, cfg_port, copp), .min = 10, .max = 100000, .dflt = 1000,
	 .help = "control-plane policing: frames per second that the port may hand to control, of "
		 "each reason (`weirctl show control`). Unknown destinations and ICMP answers of "
		 "the switch have this rate each. A burst may have the frames of a quarter of a "
		 "second, at most 250"},
	{FIELD(CFG_SWITCH, cfg_port, inof), .dflt = 1,
	 .help = "`off`: no host registers at the port (`inof`)"},
	{FIELD(CFG_MAP, cfg_port, storm_control), .sub = &storm_control_schema, .dflt_text = "none",
	 .help = "limits for frames of this port that are replicated"},
	{FIELD(CFG_MAP, cfg_port, loop_detect), .sub = &loop_detect_schema,
	 .scalar = SCALAR("loop_detect", CFG_SWITCH, AT(cfg_port, loop_detect.on)),
	 .dflt_text = "off",
	 .help = "sends a probe each second and looks for probes that come back; `on` or `{}`: "
		 "with these defaults"},
	{FIELD(CFG_MAP, cfg_port, watchdog), .sub = &port_watchdog_schema,
	 .scalar = SCALAR("watchdog", CFG_SWITCH, AT(cfg_port, watchdog.on)),
	 .dflt_text = "the profile's",
	 .help = "`on`, `off`, or keys; each key replaces that of the profile"},
	{FIELD(CFG_MAP, cfg_port, guard), .sub = &port_guard_schema,
	 .scalar = SCALAR("guard", CFG_WORD, AT(cfg_port, guard.off), .words = WORDS("off")),
	 .dflt_text = "the profile's",
	 .help = "`off`, or keys; each key replaces that of the profile"},
	{FIELD(CFG_CLASSES, cfg_port, classes), .sub = &port_class_schema, .dflt_text = "none",
	 .help = "overrides of the profile's classes on this port"},
};
static SCHEMA(port_schema, port_rows, cfg_port);

static const struct cfg_row vlan_rows[] = {
	{NUMBER(COUNT, cfg_vlan, id), .min = 1, .max = MAX_VID, .required = true,
	 .help = "VLAN ID"},
	{FIELD(CFG_SWITCH, cfg_vlan, flood), .dflt = 1, .help = "off: unknown unicast is dropped"},
	{FIELD(CFG_WORDS, cfg_vlan, ip), .max = IP_LEN, .dflt_text = "none: the VLAN only bridges",
	 .help = "addresses of the switch in the VLAN with the length of their prefix, "
		 "[10.0.100.1/24, \"fd00:100::1/64\"]. The switch then routes frames of the VLAN "
		 "that go to its MAC address, and bridges the others. The interface is named "
		 "`vlan` and the ID, such as vlan100; at most 126 VLANs have one"},
	{FIELD(CFG_TEXT, cfg_vlan, mac), .max = 17, .dflt_text = "that of the first port",
	 .help = "MAC address of the switch in the VLAN, \"02:00:00:00:00:64\"; only with `ip`"},
	{NUMBER(BYTES, cfg_vlan, mtu), .min = 68, .max = MAX_MTU,
	 .dflt_text = "the smallest of its ports",
	 .help = "IP MTU of packets that are routed into the VLAN; only with `ip`"},
};
static SCHEMA(vlan_schema, vlan_rows, cfg_vlan);

static const struct cfg_row fdb_rows[] = {
	{FIELD(CFG_TEXT, cfg_fdb, mac), .max = 17, .required = true,
	 .help = "unicast address, \"02:00:00:00:00:01\""},
	{FIELD(CFG_TEXT, cfg_fdb, port), .max = IP_LEN, .required = true,
	 .help = "name of a port, or the address of a peer of `vxlan`"},
	{NUMBER(COUNT, cfg_fdb, vlan), .min = 1, .max = MAX_VID, .dflt_text = "the port's untagged",
	 .help = "only where VLANs are used"},
};
static SCHEMA(fdb_schema, fdb_rows, cfg_fdb);

static const struct cfg_row multicast_rows[] = {
	{FIELD(CFG_TEXT, cfg_multicast, mac), .max = 17, .required = true,
	 .help = "multicast address, \"01:00:5e:01:02:03\""},
	{FIELD(CFG_WORDS, cfg_multicast, ports), .max = POLICY_NAME_LEN - 1, .required = true,
	 .help = "names of the ports by which its frames leave, [p1, p2]; never the port by which "
		 "a frame came in"},
	{NUMBER(COUNT, cfg_multicast, vlan), .min = 1, .max = MAX_VID, .dflt_text = "none",
	 .help = "required where VLANs are used"},
};
static SCHEMA(multicast_schema, multicast_rows, cfg_multicast);

// ---- routing
static const struct cfg_row route_rows[] = {
	{FIELD(CFG_TEXT, cfg_route, to), .max = IP_LEN, .required = true,
	 .help = "a prefix, 10.9.0.0/16; without length: one address; `default`: all"},
	{FIELD(CFG_WORDS, cfg_route, via), .max = IP_LEN, .required = true,
	 .help = "address of the next hop, or a list of equal next hops that share the flows; the "
		 "name of a port: the destinations are on its link"},
};
static SCHEMA(route_schema, route_rows, cfg_route);

static const struct cfg_row neighbour_rows[] = {
	{FIELD(CFG_TEXT, cfg_neighbour, ip), .max = IP_LEN, .required = true,
	 .help = "IP address of the neighbour"},
	{FIELD(CFG_TEXT, cfg_neighbour, mac), .max = 17, .required = true,
	 .help = "unicast address, \"02:00:00:00:00:01\""},
	{FIELD(CFG_TEXT, cfg_neighbour, port), .max = NAME_LEN,
	 .dflt_text = "the port with its subnet", .help = "name of the neighbour's port"},
};
static SCHEMA(neighbour_schema, neighbour_rows, cfg_neighbour);

// ---- tunnels
static const struct cfg_row vni_rows[] = {
	{NUMBER(COUNT, cfg_vni, vlan), .min = 1, .max = MAX_VID, .required = true,
	 .help = "the VLAN that the VNI carries; its tag is left out in the tunnel"},
	{FIELD(CFG_WORDS, cfg_vni, peers), .max = IP_LEN, .dflt_text = "none",
	 .help = "addresses of the other VTEPs of the VNI, in all VNIs at most 126; a broadcast, "
		 "a multicast or a frame to an unknown address goes to each of them"},
};
static SCHEMA(vni_schema, vni_rows, cfg_vni);

static const struct cfg_row vxlan_rows[] = {
	{FIELD(CFG_TEXT, cfg_vxlan, source), .max = IP_LEN, .dflt_text = "none",
	 .help = "the address of the switch that begins and ends the tunnels, one of the `ip` of "
		 "its ports; required with `vnis`"},
	{NUMBER(COUNT, cfg_vxlan, port), .min = 1, .max = UINT16_MAX, .dflt = 4789,
	 .help = "UDP port of VXLAN"},
	{"vnis", CFG_TABLE, .sub = &vni_schema, AT(cfg_vxlan, vnis), .max = VTEP_MAX_VNIS,
	 .dflt_text = "none", .help = "the VNIs by number, 1 to 16777215"},
	{FIELD(CFG_WORD, cfg_vxlan, ecn), .words = WORDS("rfc6040", "copy", "off"),
	 .help = "`rfc6040`: CE crosses the tunnel in both directions, by the table of RFC 6040. "
		 "`copy`: the outer field replaces the inner one at the end of the tunnel. `off`: "
		 "outer headers are Not-ECT, and no mark reaches the inner header"},
	{NUMBER(COUNT, cfg_vxlan, dscp), .max = 63, .dflt = CFG_WORD_VALUE, .word = "uniform",
	 .help = "`uniform`: the inner DSCP becomes the outer DSCP, and the outer one becomes the "
		 "inner one at the end. A number: the outer DSCP, and the inner DSCP stays (pipe)"},
	{FIELD(CFG_WORD, cfg_vxlan, trust), .words = WORDS("tunnel", "inner"),
	 .help = "class in which a frame out of a tunnel leaves: `tunnel`: the class of its outer "
		 "header, in which the frame arrived; `inner`: the class of its inner DSCP"},
	{FIELD(CFG_SWITCH, cfg_vxlan, mark_inner),
	 .help = "where the switch sets CE in a VXLAN frame, CE is also set in the frame in it"},
};
static SCHEMA(vxlan_schema, vxlan_rows, cfg_vxlan);

// ---- hosts of NVMe over Fabrics
static const struct cfg_row inof_zone_rows[] = {
	{FIELD(CFG_WORDS, cfg_inof_zone, members), .max = INOF_MEMBER_TEXT - 1, .required = true,
	 .expected = "members: [10.0.0.1, 10.0.1.0/24]",
	 .help = "the hosts: addresses, prefixes, ranges (10.0.0.1-10.0.0.9), NQNs with `*` for "
		 "any characters, or names of ports; at most 256"},
};
static SCHEMA(inof_zone_schema, inof_zone_rows, cfg_inof_zone);

static const struct cfg_row inof_host_rows[] = {
	{FIELD(CFG_WORDS, cfg_inof_host, ports), .max = NAME_LEN, .required = true,
	 .expected = "ports: [p1]",
	 .help = "the ports at which the address may register; `peer`: at other switches. "
		 "`10.0.0.1: p1` is short for `10.0.0.1: {ports: p1}`"},
};
static const struct cfg_schema inof_host_schema = {
	inof_host_rows, N(inof_host_rows), sizeof(struct cfg_inof_host), .bare = inof_host_rows};

static const struct cfg_row inof_rows[] = {
	{FIELD(CFG_SWITCH, cfg_inof, default_zone), .dflt = 1,
	 .help = "on: the hosts that are in no zone form a zone, so that hosts find each other "
		 "without zones"},
	{FIELD(CFG_SWITCH, cfg_inof, hard_zoning),
	 .help = "on: the switch drops frames between hosts that share no zone, between two "
		 "initiators, and between two targets (drop reason zone). Hosts that have not "
		 "registered are not restricted"},
	{FIELD(CFG_SWITCH, cfg_inof, unique_nqn),
	 .help = "on: an NQN belongs to the port that registers it first; a registration of this "
		 "NQN at another port is refused. A subsystem with several ports needs `off`"},
	{"hosts", CFG_TABLE, .sub = &inof_host_schema, AT(cfg_inof, hosts), .max = INOF_PINS,
	 .dflt_text = "none",
	 .help = "addresses that register at these places alone, such as {10.0.0.1: p1}; any "
		 "other address belongs to the port that registers it first"},
	{"zones", CFG_TABLE, .sub = &inof_zone_schema, AT(cfg_inof, zones), .max = INOF_ZONES,
	 .dflt_text = "none", .help = "zones by name; hosts find those of their zones alone"},
};
static SCHEMA(inof_schema, inof_rows, cfg_inof);

// ---- switch
static const struct cfg_row ecmp_rows[] = {
	{FIELD(CFG_WORD, cfg_ecmp, hash), .words = WORDS("5tuple", "5tuple+qp"),
	 .help = "fields of the hash: addresses, protocol and ports; `5tuple+qp`: also the "
		 "destination QP of RoCE"},
	{NUMBER(COUNT, cfg_ecmp, seed), .max = UINT32_MAX, .dflt_text = "made of the switch's name",
	 .help = "seed of the hash; switches behind each other need different seeds"},
};
static SCHEMA(ecmp_schema, ecmp_rows, cfg_ecmp);

static const struct cfg_row buffer_rows[] = {
	{NUMBER(BYTES, cfg_buffer, size), .reload = CFG_RESTART, .min = KB(1), .max = MOST_B,
	 .dflt = MB(12), .help = "the shared memory B"},
	{NUMBER(BYTES, cfg_buffer, cell), .reload = CFG_RESTART, .min = 32, .max = 4096,
	 .dflt = 256, .help = "unit of accounting"},
	{NUMBER(BYTES, cfg_buffer, headroom_pool), .max = MOST_B, .dflt = CFG_WORD_VALUE,
	 .word = "auto", .percent_of = "size",
	 .help = "`auto`: sum of all headrooms / oversubscription"},
	{NUMBER(RATIO, cfg_buffer, oversubscription), .min = 1000000, .max = 100000000,
	 .dflt = 1000000, .help = "how far the headroom pool is oversubscribed, 1 to 100"},
	{NUMBER(BYTES, cfg_buffer, egress_lossy), .max = MOST_B, .percent_of = "the ingress pool",
	 .dflt_text = "100%", .help = "pool of the lossy queues; rounds down to cells"},
};
static SCHEMA(buffer_schema, buffer_rows, cfg_buffer);

static const struct cfg_row stall_rows[] = {
	{NUMBER(TIME, cfg_stall, pause_after), .min = MS(1), .max = SECONDS(1), .dflt = MS(10),
	 .word = "off",
	 .help = "after this time the stand-in pauses the lossless classes of the worker's peers; "
		 "`off`: no PAUSE"},
	{NUMBER(TIME, cfg_stall, alarm_after), .min = MS(10), .max = SECONDS(60), .dflt = MS(100),
	 .word = "off",
	 .help = "after this time the switch reports `worker-stalled`; `off`: no event"},
};
static SCHEMA(stall_schema, stall_rows, cfg_stall);

// ---- flows and their peers
static const struct cfg_row flows_rows[] = {
	{NUMBER(COUNT, cfg_flows, max), .reload = CFG_RESTART, .max = FLOW_MAX, .dflt = 65536,
	 .help = "flows of the switch, divided among its workers; 0: no table. Further flows are "
		 "forwarded, but not followed"},
	{NUMBER(TIME, cfg_flows, age), .min = MS(1), .max = SECONDS(1000), .dflt = SECONDS(3),
	 .help = "a flow leaves the table this long after its last frame"},
};
static SCHEMA(flows_schema, flows_rows, cfg_flows);

static const struct cfg_row elephants_rows[] = {
	{NUMBER(RATE, cfg_elephants, rate), .min = MB(1), .max = GIGA(800), .dflt = GIGA(1),
	 .dflt_text = "1G, or a tenth of the slowest port",
	 .help = "a flow becomes an elephant when it has sent `bytes` at this mean rate or faster"},
	{NUMBER(BYTES, cfg_elephants, bytes), .min = KB(10), .max = MOST_B, .dflt = MB(1),
	 .help = "frame bytes; the switch looks at a flow each time it has sent another power of "
		 "two of them, at most an eighth of this"},
	{NUMBER(RATE, cfg_elephants, end_rate), .min = KB(1), .max = GIGA(800),
	 .dflt_text = "half of rate",
	 .help = "an elephant ends when its mean rate over `end_age` is below this rate, or "
		 "below `rate` if that is less"},
	{NUMBER(TIME, cfg_elephants, age), .min = US(10), .max = SECONDS(10), .dflt = MS(10),
	 .help = "after such a pause the next frames of a flow are mice, except an elephant's"},
	{NUMBER(TIME, cfg_elephants, end_age), .min = US(10), .max = SECONDS(10), .dflt = MS(100),
	 .help = "an elephant ends after this time below `end_rate`"},
	{NUMBER(COUNT, cfg_elephants, mice_packets), .max = ELEPHANT_MICE_MAX, .dflt = 128,
	 .help = "so many first frames of a flow, and after a pause of `age`, are mice"},
};
static SCHEMA(elephants_schema, elephants_rows, cfg_elephants);

static const struct cfg_row microbursts_rows[] = {
	{NUMBER(TIME, cfg_microbursts, window), .min = US(100), .max = SECONDS(1), .dflt = MS(1),
	 .help = "the highest use of each queue and priority group is taken so often"},
	{NUMBER(PERCENT, cfg_microbursts, from), .min = PERCENT(1), .max = PERCENT(100),
	 .dflt = PERCENT(50),
	 .help = "a window belongs to a burst from this share of the limit on: kmax, or the "
		 "threshold of a lossy queue; of a group XOFF"},
};
static SCHEMA(microbursts_schema, microbursts_rows, cfg_microbursts);

static const struct cfg_row trim_rows[] = {
	{NUMBER(BYTES, cfg_trim, size), .min = TRIM_LEAST, .max = TRIM_MOST, .dflt = 128,
	 .dflt_text = "128",
	 .help = "a longer frame is cut to this many bytes, from the Ethernet header on, without "
		 "FCS"},
	{NUMBER(COUNT, cfg_trim, dscp), .max = 63, .word = "from_class", .required = true,
	 .help = "DSCP of trimmed frames; `from_class`: that of `class` in `remark` of the "
		 "profile of the port by which they leave"},
	{"class", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_trim, cls), .max = 7,
	 .dflt_text = "none", .help = "only with `dscp: from_class`"},
	{NUMBER(COUNT, cfg_trim, queue), .max = 7, .dflt = CFG_WORD_VALUE, .word = "auto",
	 .help = "queue of trimmed frames; `auto`: that of `dscp`, or of `class`"},
	{FIELD(CFG_WORD, cfg_trim, lengths), .words = WORDS("exact", "keep"),
	 .help = "`exact`: the lengths in the headers of IP and UDP follow the cut. `keep`: they "
		 "stay, and routers between here and the receiver may drop the frame"},
	{NUMBER(PERCENT, cfg_trim, share), .min = PERCENT(1), .max = PERCENT(100),
	 .dflt = PERCENT(100),
	 .help = "most that trimmed frames take of the line of a port; those beyond are dropped"},
};
static SCHEMA(trim_schema, trim_rows, cfg_trim);

static const struct cfg_row pairing_rows[] = {
	{NUMBER(COUNT, cfg_pairing, matches), .min = 1, .max = 100, .dflt = PAIR_MATCHES,
	 .help = "ACKs that must fit before the switch pairs them with the only flow left"},
	{FIELD(CFG_WORDS, cfg_pairing, sources), .words = source_words, .dflt_text = "all of them",
	 .help = "where the switch learns pairs: `pairs` and `weirctl flow add`, connection "
		 "management, READ requests, ACKs, CNPs of the receiver"},
};
static SCHEMA(pairing_schema, pairing_rows, cfg_pairing);

static const struct cfg_row pair_rows[] = {
	{FIELD(CFG_TEXT, cfg_pair, from), .max = IP_LEN, .required = true,
	 .help = "address of the sender of data, IPv4 or IPv6"},
	{FIELD(CFG_TEXT, cfg_pair, to), .max = IP_LEN, .required = true,
	 .help = "address of the receiver of data"},
	{NUMBER(QP, cfg_pair, qp), .min = LEAST_QP, .max = MOST_QP, .required = true,
	 .help = "the receiver's queue pair, as in the data frames; 0x12 is 18"},
	{NUMBER(QP, cfg_pair, sender_qp), .min = LEAST_QP, .max = MOST_QP, .required = true,
	 .help = "the sender's queue pair, to which CNPs of the flow go"},
};
static SCHEMA(pair_schema, pair_rows, cfg_pair);

static const struct cfg_row switch_rows[] = {
	{FIELD(CFG_NAME, cfg_switch, name), .reload = CFG_RESTART, .max = NAME_LEN,
	 .dflt_text = "weir", .help = "names the control socket"},
	{"workers", CFG_SET, CFG_RESTART, AT(cfg_switch, workers.cores), .max = 1023,
	 .scalar = SCALAR("workers", CFG_NUMBER, CFG_RESTART, .unit = UNIT_COUNT,
			  AT(cfg_switch, workers.count), .min = 1, .max = 64, .dflt = 1),
	 .dflt_text = "1", .help = "number of poll-mode cores, or a list of cores"},
	{FIELD(CFG_WORD, cfg_switch, poll), .reload = CFG_RESTART,
	 .words = WORDS("adaptive", "busy"),
	 .help = "`busy`: workers never sleep. `adaptive`: a worker sleeps while no frame moves. "
		 "After 1 ms it waits in the kernel for a frame, if all its ports are `xdp:`"},
	{FIELD(CFG_MAP, cfg_switch, buffer), .sub = &buffer_schema, .dflt_text = "defaults",
	 .help = "the shared buffer"},
	{NUMBER(TIME, cfg_switch, mac_age), .min = SECONDS(1), .max = SECONDS(1000000),
	 .dflt = SECONDS(300),
	 .help = "a learned address leaves the table this long after its last frame"},
	{NUMBER(COUNT, cfg_switch, mac_move_limit), .max = MAC_MOVE_LIMIT_MAX, .dflt = 5,
	 .help = "a learned address that moves more often within 10 s is pinned to its older port; "
		 "0: never"},
	{NUMBER(TIME, cfg_switch, mac_move_hold), .min = SECONDS(1), .max = SECONDS(1000000),
	 .dflt = SECONDS(60), .help = "how long the address stays pinned"},
	{NUMBER(COUNT, cfg_switch, time_scale), .reload = CFG_RESTART, .min = 1,
	 .max = TIME_SCALE_MAX, .dflt = 1,
	 .help = "S: model time passes S times slower than real time, so that a slow machine shows "
		 "the physics of fast links; every peer must use the same"},
	{FIELD(CFG_SWITCH, cfg_switch, lldp), .dflt = 1,
	 .help = "the ports speak LLDP with DCBX, unless a port says otherwise"},
	{FIELD(CFG_MAP, cfg_switch, ecmp), .sub = &ecmp_schema, .dflt_text = "defaults",
	 .help = "how flows spread over equal next hops"},
	{FIELD(CFG_MAP, cfg_switch, flows), .reload = CFG_RESTART, .sub = &flows_schema,
	 .scalar = SCALAR("flows", CFG_SWITCH, CFG_RESTART, AT(cfg_switch, flows.on), .dflt = 1),
	 .dflt_text = "on", .help = "the table of RoCEv2 flows; `off`: none"},
	{FIELD(CFG_MAP, cfg_switch, elephants), .sub = &elephants_schema,
	 .scalar = SCALAR("elephants", CFG_SWITCH, AT(cfg_switch, elephants.on)),
	 .dflt_text = "off",
	 .help = "which flows are elephants, and which frames are mice: RoCEv2, TCP and other "
		 "UDP. The table of flows then has flows of all three. `on` or `{}`: with these "
		 "defaults"},
	{FIELD(CFG_MAP, cfg_switch, microbursts), .sub = &microbursts_schema,
	 .scalar = SCALAR("microbursts", CFG_SWITCH, AT(cfg_switch, microbursts.on)),
	 .dflt_text = "off",
	 .help = "how full each queue and priority group was in each millisecond, for `weirctl "
		 "show microbursts`. `on` or `{}`: with these defaults"},
	{FIELD(CFG_MAP, cfg_switch, trim), .sub = &trim_schema, .dflt_text = "none",
	 .help = "how frames are trimmed that find no room in the queue of a class with "
		 "`egress: {discard: trim}`"},
	{FIELD(CFG_MAP, cfg_switch, pairing), .sub = &pairing_schema, .dflt_text = "defaults",
	 .help = "how the queue pair of a flow's sender is found"},
	{FIELD(CFG_MAP, cfg_switch, stall), .sub = &stall_schema, .dflt_text = "defaults",
	 .help = "what the switch does when a worker stands still, in real time"},
};
static SCHEMA(switch_schema, switch_rows, cfg_switch);

// ---- control plane
#define CONTROL_PLANES WORDS("weir", "linux")
static const struct cfg_row control_plane_rows[] = {
	{FIELD(CFG_WORD, cfg_control_plane, type), .reload = CFG_RESTART, .words = CONTROL_PLANES,
	 .help = "`linux`: each routed port has a tap in the kernel, and the kernel's routes and "
		 "neighbours are used. `weir`: routes of this file, and the switch's own ARP and "
		 "neighbour discovery"},
	{FIELD(CFG_LINE, cfg_control_plane, netns), .reload = CFG_RESTART, .max = NETNS_LEN,
	 .dflt_text = "weir's own",
	 .help = "network namespace of the taps: a name of `ip netns`, or a path"},
};
static SCHEMA(control_plane_schema, control_plane_rows, cfg_control_plane);

static const struct cfg_row root_rows[] = {
	{"switch", CFG_MAP, .sub = &switch_schema, AT(cfg_root, sw), .dflt_text = "defaults",
	 .help = "the switch as a whole"},
	{FIELD(CFG_MAP, cfg_root, control_plane), .reload = CFG_RESTART,
	 .sub = &control_plane_schema,
	 .scalar = SCALAR("control_plane", CFG_WORD, CFG_RESTART,
			  AT(cfg_root, control_plane.word), .words = CONTROL_PLANES),
	 .dflt_text = "weir", .help = "who resolves neighbours and knows routes: `linux`, or keys"},
	{FIELD(CFG_LIST, cfg_root, ports), .reload = CFG_RESTART, .required = true,
	 .sub = &port_schema, .max = POLICY_MAX_PORTS,
	 .help = "the ports; at most " POLICY_MAX_PORTS_TEXT " after ranges are expanded, and of "
		 "pci: and vdev: ports as "
		 "many as DPDK was built for: 32 in Debian"},
	{FIELD(CFG_LIST, cfg_root, vlans), .sub = &vlan_schema, .max = MAX_VID,
	 .dflt_text = "one bridge", .help = "absent: one bridge of all ports, tags pass unchanged"},
	{FIELD(CFG_LIST, cfg_root, fdb), .sub = &fdb_schema, .max = 16384, .dflt_text = "none",
	 .help = "static addresses"},
	{FIELD(CFG_LIST, cfg_root, multicast), .sub = &multicast_schema, .max = 1024,
	 .dflt_text = "none",
	 .help = "multicast addresses and their ports: their frames go to these ports only, also "
		 "in a lossless class that is not flooded"},
	{FIELD(CFG_LIST, cfg_root, routes), .sub = &route_schema, .max = 16384, .dflt_text = "none",
	 .help = "static routes, beside the subnets of the ports"},
	{FIELD(CFG_LIST, cfg_root, neighbours), .sub = &neighbour_schema, .max = 4096,
	 .dflt_text = "none",
	 .help = "static neighbours; the switch does not ask for their MAC addresses"},
	{FIELD(CFG_MAP, cfg_root, vxlan), .sub = &vxlan_schema, .dflt_text = "no tunnels",
	 .help = "VLANs that go on behind other switches, in VXLAN tunnels"},
	{FIELD(CFG_MAP, cfg_root, inof), .sub = &inof_schema,
	 .scalar = SCALAR("inof", CFG_SWITCH, AT(cfg_root, inof.on)), .dflt_text = "off",
	 .help = "hosts of NVMe over Fabrics register by LLDP and find each other; `on` or `{}`: "
		 "with these defaults"},
	{FIELD(CFG_LIST, cfg_root, pairs), .sub = &pair_schema, .max = MAX_PAIRS,
	 .dflt_text = "none", .help = "queue pairs of flows that are known beforehand"},
	{FIELD(CFG_TABLE, cfg_root, profiles), .sub = &cfg_profile_schema, .max = 64,
	 .dflt_text = "none", .help = "QoS profiles by name"},
};
SCHEMA(cfg_root_schema, root_rows, cfg_root);
