// SPDX-License-Identifier: Apache-2.0
#include "control/config/model_limits.h"

#include "control/config/model.h"
#include "control/config/rows.h"

#define SECONDS(n) ((n)*1000000000ll)

enum { MAX_PPS = 10000000 };

static const char *const action_words[] = {
	[LOOP_ACTION_ALARM] = "alarm", [LOOP_ACTION_PORT_DOWN] = "port_down", NULL};

static const struct cfg_row storm_rows[] = {
	{"broadcast", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_storm_control, broadcast),
	 .max = MAX_PPS, .dflt_text = "0: none",
	 .help = "broadcast frames per second that are replicated; a quarter of a second of it at "
		 "once"},
	{"unknown_unicast", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_storm_control, unknown_unicast),
	 .max = MAX_PPS, .dflt_text = "0: none",
	 .help = "the same for frames to addresses that the bridge does not know"},
	{"multicast", CFG_NUMBER, .unit = UNIT_COUNT, AT(cfg_storm_control, multicast),
	 .max = MAX_PPS, .dflt_text = "0: none",
	 .help = "the same for multicast; BPDUs have this rate for themselves, and 1,000 per "
		 "second where there is none"},
};
SCHEMA(cfg_storm_control_schema, storm_rows, cfg_storm_control);

static const struct cfg_row loop_rows[] = {
	{"action", CFG_WORD, AT(cfg_loop_detect, action), .words = action_words,
	 .dflt_text = "alarm",
	 .help = "`alarm`: an event; `port_down`: the port is kept down too, the second one where "
		 "both ports of the loop say so"},
	{"recover", CFG_NUMBER, .unit = UNIT_TIME, AT(cfg_loop_detect, recover), .min = SECONDS(2),
	 .max = SECONDS(86400), .dflt = SECONDS(300), .dflt_text = "300s",
	 .help = "the port comes up when no probe has arrived there for so long"},
};
SCHEMA(cfg_loop_detect_schema, loop_rows, cfg_loop_detect);
