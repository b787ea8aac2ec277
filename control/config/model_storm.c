// SPDX-License-Identifier: Apache-2.0
#include "control/config/model_storm.h"

#include "control/config/model.h"
#include "control/config/rows.h"

#define MS(n) ((n)*1000000ll)
#define SECONDS(n) ((n)*1000000000ll)

enum { NAME_LEN = POLICY_NAME_LEN - 1 };

static const char *const mode_words[] = {
	[WATCHDOG_XOFF] = "xoff", [WATCHDOG_PROGRESS] = "progress", NULL};
static const char *const action_words[] = {
	[WATCHDOG_DROP] = "drop", [WATCHDOG_FORWARD] = "forward", [WATCHDOG_ALERT] = "alert", NULL};
static const char *const then_words[] = {
	[WATCHDOG_PFC_OFF] = "pfc_off", [WATCHDOG_PORT_DOWN] = "port_down", NULL};

// ---- early warning
static const struct cfg_row warning_rows[] = {
	{"in", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_pfc_warning, in), .max = 10000000,
	 .dflt_text = "0: none",
	 .help = "PFC frames received per second, of one class, above which an event warns"},
	{"out", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_pfc_warning, out), .max = 10000000,
	 .dflt_text = "0: none", .help = "the same for those sent"},
	{"paused", CFG_NUMBER, .unit = UNIT_PERCENT, AT(cfg_pfc_warning, paused), .max = 1000000,
	 .dflt = 950000, .dflt_text = "95%",
	 .help = "the share of a second for which the peer pauses a class, above which an event "
		 "warns; 0%: none"},
};
SCHEMA(cfg_pfc_warning_schema, warning_rows, cfg_pfc_warning);

// ---- watchdog and guard, of a profile and, laid over it, of a port
#define PROFILES_OWN(text) text
#define THE_PROFILES(text) "the profile's"

#define LIMIT_ROWS(from)                                                                           \
	{"count",                                                                                  \
	 CFG_NUMBER,                                                                               \
	 .unit = UNIT_COUNT,                                                                       \
	 AT(cfg_watchdog_limit, count),                                                            \
	 .max = WATCHDOG_LIMIT_MAX,                                                                \
	 .dflt = 30,                                                                               \
	 .dflt_text = from("30"),                                                                  \
	 .help = "storms of one class of one port; 0: never"},                                     \
		{"window",                                                                         \
		 CFG_NUMBER,                                                                       \
		 .unit = UNIT_TIME,                                                                \
		 AT(cfg_watchdog_limit, window),                                                   \
		 .min = MS(100),                                                                   \
		 .max = SECONDS(86400),                                                            \
		 .dflt = SECONDS(20),                                                              \
		 .dflt_text = from("20s"),                                                         \
		 .help = "the time they are counted in"},                                          \
	{                                                                                          \
		"then", CFG_WORD, AT(cfg_watchdog_limit, then),                                    \
			.words = then_words, .dflt_text = from("pfc_off"),                         \
			.help = "until `weirctl watchdog recover PORT CLASS`: `pfc_off`: "         \
				"the class goes on without PFC and is not watched; "               \
				"`port_down`: the port is kept down"                               \
	}

#define WATCHDOG_ROWS(from, limit_rows_schema)                                                     \
	{"mode",                                                                                   \
	 CFG_WORD,                                                                                 \
	 AT(cfg_watchdog, mode),                                                                   \
	 .words = mode_words,                                                                      \
	 .dflt = WATCHDOG_PROGRESS,                                                                \
	 .dflt_text = from("progress"),                                                            \
	 .help = "what a storm is: `xoff`: paused without a break for `detect`; `progress`: and "  \
		 "frames wait, and none of them left meanwhile"},                                  \
		{"action",                                                                         \
		 CFG_WORD,                                                                         \
		 AT(cfg_watchdog, action),                                                         \
		 .words = action_words,                                                            \
		 .dflt = WATCHDOG_DROP,                                                            \
		 .dflt_text = from("drop"),                                                        \
		 .help = "until restored the class neither obeys nor sends PFC, and `drop`: what " \
			 "waits for it or arrives in it on the port is dropped; `forward`: it is " \
			 "sent; `alert`: an event only, PFC goes on"},                             \
		{"detect",                                                                         \
		 CFG_NUMBER,                                                                       \
		 .unit = UNIT_TIME,                                                                \
		 AT(cfg_watchdog, detect),                                                         \
		 .min = MS(100),                                                                   \
		 .max = SECONDS(5),                                                                \
		 .dflt = MS(100),                                                                  \
		 .dflt_text = from("100ms"),                                                       \
		 .help = "a pause that lasts so long is a storm"},                                 \
		{"restore",                                                                        \
		 CFG_NUMBER,                                                                       \
		 .unit = UNIT_TIME,                                                                \
		 AT(cfg_watchdog, restore),                                                        \
		 .min = MS(100),                                                                   \
		 .max = SECONDS(60),                                                               \
		 .dflt = MS(100),                                                                  \
		 .dflt_text = from("100ms"),                                                       \
		 .help = "`xoff`: the class obeys PFC again so long after detection; `progress`: " \
			 "so long after the last PAUSE that asked for time"},                      \
	{                                                                                          \
		"limit", CFG_MAP, .sub = limit_rows_schema, AT(cfg_watchdog, limit),               \
				  .dflt_text = from("30 in 20s, then pfc_off"),                    \
				  .help = "when storms return too often"                           \
	}

static const struct cfg_row limit_rows[] = {LIMIT_ROWS(PROFILES_OWN)};
static SCHEMA(limit_schema, limit_rows, cfg_watchdog_limit);
static const struct cfg_row watchdog_rows[] = {WATCHDOG_ROWS(PROFILES_OWN, &limit_schema)};
SCHEMA(cfg_watchdog_schema, watchdog_rows, cfg_watchdog);
static const struct cfg_row port_limit_rows[] = {LIMIT_ROWS(THE_PROFILES)};
static SCHEMA(port_limit_schema, port_limit_rows, cfg_watchdog_limit);
static const struct cfg_row port_watchdog_rows[] = {
	WATCHDOG_ROWS(THE_PROFILES, &port_limit_schema)};
SCHEMA(cfg_port_watchdog_schema, port_watchdog_rows, cfg_watchdog);

static const struct cfg_row guard_rule_rows[] = {
	{"dscp", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_guard_rule, dscp), .max = 63,
	 .required = true, .help = "of IP frames that turn back here, as they arrive"},
	{"to_class", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_guard_rule, to_class), .max = 7,
	 .required = true, .help = "class they leave in; PAUSE goes on by that of their arrival"},
	{"to_dscp", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_guard_rule, to_dscp), .max = 63,
	 .required = true,
	 .help = "DSCP they leave with, whatever `remark` says; it must be of `to_class`"},
};
static SCHEMA(guard_rule_schema, guard_rule_rows, cfg_guard_rule);

#define GUARD_ROWS(group_text, remap_text)                                                         \
	{"group",                                                                                  \
	 CFG_NAME,                                                                                 \
	 AT(cfg_guard, group),                                                                     \
	 .max = NAME_LEN,                                                                          \
	 .dflt_text = group_text,                                                                  \
	 .help = "a frame turns back where it leaves by a port of the group that it came in by"},  \
	{                                                                                          \
		"remap", CFG_LIST, .sub = &guard_rule_schema, AT(cfg_guard, remap),                \
				   .max = GUARD_MAX_RULES, .dflt_text = remap_text,                \
				   .help = "rules, one per DSCP and the same for all ports of a "  \
					   "group; a chain of them must end in a lossy class"      \
	}

static const struct cfg_row guard_rows[] = {GUARD_ROWS("none", "the group's")};
SCHEMA(cfg_guard_schema, guard_rows, cfg_guard);
static const struct cfg_row port_guard_rows[] = {
	GUARD_ROWS("the profile's", "the profile's, else the group's")};
SCHEMA(cfg_port_guard_schema, port_guard_rows, cfg_guard);
