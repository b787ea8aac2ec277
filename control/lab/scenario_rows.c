// SPDX-License-Identifier: Apache-2.0
// The keys of a scenario file, as rows (control/config/schema.h).

#include "control/config/rows.h"
#include "control/lab/scenario_int.h"
#include "control/lab/traffic.h"
#include "dataplane/tap.h"

enum { NAME_LEN = 63, TITLE_LEN = 80, TEXT_LEN = 8000, PATH_LEN = 255, MAX_ITEMS = 4096 };

static const char *const forwarding_words[] = {"auto", "bridge", "route", NULL};
static const char *const until_words[] = {"done", NULL};
static const char *const connect_words[] = {"direct", "cm", NULL};
static const char *const frames_words[] = {"headers", "whole", NULL};

// ---- switches and hosts
static const struct cfg_row switch_rows[] = {
	{"ports", CFG_NUMBER, .unit = UNIT_COUNT, AT(sc_switch_keys, ports), .min = 1,
	 .max = POLICY_MAX_PORTS, .dflt_text = "as linked",
	 .help = "number of ports; those without a link are down, but their reserves count"},
	{"policy", CFG_LINE, AT(sc_switch_keys, policy), .max = PATH_LEN,
	 .dflt_text = "the scenario's", .help = "policy file of this switch"},
	{"override", CFG_NODE, AT(sc_switch_keys, override), .dflt_text = "none",
	 .help = "keys of the policy, laid over the file for this switch; `~` removes a key"},
	{"ecmp_seed", CFG_NUMBER, .unit = UNIT_COUNT, AT(sc_switch_keys, ecmp_seed),
	 .max = UINT32_MAX, .dflt_text = "from seed and name",
	 .help = "what its hash of flows over equal ways starts with"},
	{"routes", CFG_LIST, AT(sc_switch_keys, routes), .sub = &sc_route_schema, .max = MAX_ITEMS,
	 .dflt_text = "shortest paths",
	 .help = "routes in place of those that are derived, for the hosts named"},
};
SCHEMA(sc_switch_schema, switch_rows, sc_switch_keys);

static const struct cfg_row host_rows[] = {
	{"nic", CFG_MAP, AT(sc_host_keys, nic), .sub = &nic_keys_schema, .dflt_text = "defaults",
	 .help = "its network card"},
};
SCHEMA(sc_host_schema, host_rows, sc_host_keys);

static const struct cfg_row link_rows[] = {
	{"between", CFG_WORDS, AT(sc_link_keys, between), .required = true, .max = PATH_LEN,
	 .help = "two ends, [h1, s1.p1]; ranges make several links, end by end"},
	{"speed", CFG_NUMBER, .unit = UNIT_RATE, AT(sc_link_keys, cable.speed), .min = 1000000,
	 .max = GIGA(800), .required = true, .help = "line rate"},
	{"length", CFG_NUMBER, .unit = UNIT_LENGTH, AT(sc_link_keys, cable.length),
	 .max = SC_MAX_CABLE_CM, .dflt = SC_DEFAULT_CABLE_CM, .dflt_text = "5m",
	 .help = "of the cable, for delay and headroom"},
	{"delay", CFG_NUMBER, .unit = UNIT_TIME, AT(sc_link_keys, cable.delay),
	 .max = SC_MAX_DELAY_NS, .dflt = -1, .dflt_text = "of the length",
	 .help = "propagation, one way; headroom then follows from it, not from the length"},
	{"profile", CFG_NAME, AT(sc_link_keys, cable.profile), .max = POLICY_NAME_LEN - 1,
	 .dflt_text = "the policy's", .help = "profile of the switch ports at its ends"},
};
static SCHEMA(link_schema, link_rows, sc_link_keys);

// ---- the whole
static const struct cfg_row record_rows[] = {
	{"every", CFG_NUMBER, .unit = UNIT_TIME, AT(sc_record_keys, every), .min = 100,
	 .max = SECONDS(1), .dflt = 10000, .dflt_text = "10us", .help = "from row to row"},
	{"what", CFG_LINES, AT(sc_record_keys, what), .max = PATH_LEN,
	 .dflt_text = "nothing", .help = "columns: rate(h1), queue(s1.p3.3), pauses(s1), ..."},
	{"histogram", CFG_WORDS, AT(sc_record_keys, histogram), .max = PATH_LEN,
	 .dflt_text = "none",
	 .help = "queues s1.p3.3, or ports and switches: the time that each had each length, "
		 "exact, in report.json"},
	{"bin", CFG_NUMBER, .unit = UNIT_BYTES, AT(sc_record_keys, bin), .min = 1, .max = GIGA(64),
	 .dflt_text = "a cell", .help = "of a histogram"},
	{"capture", CFG_WORDS, AT(sc_record_keys, capture), .max = PATH_LEN, .dflt_text = "none",
	 .help = "switch ports `s1.p3` whose frames, both ways and dropped ones, `--out` gets as "
		 "capture.pcapng"},
	{"snaplen", CFG_NUMBER, .unit = UNIT_COUNT, AT(sc_record_keys, snaplen), .min = 1,
	 .max = TAP_MAX_SNAPLEN, .dflt = 128, .dflt_text = "128",
	 .help = "of a capture: bytes kept of a frame"},
	{"capture_class", CFG_NUMBER, .unit = UNIT_COUNT, AT(sc_record_keys, capture_class),
	 .max = 7, .dflt = CFG_WORD_VALUE, .word = "all", .dflt_text = "all",
	 .help = "of a capture: frames of one class, and PFC"},
	{"capture_size", CFG_NUMBER, .unit = UNIT_BYTES, AT(sc_record_keys, capture_size),
	 .min = 1000, .max = GIGA(64), .dflt = 64000000, .dflt_text = "64MB",
	 .help = "of a capture: the most that the file holds; later frames are counted"},
};
static SCHEMA(record_schema, record_rows, sc_record_keys);

static const struct cfg_row root_rows[] = {
	{"scenario", CFG_NAME, AT(sc_keys, name), .required = true, .max = NAME_LEN,
	 .help = "its name"},
	{"title", CFG_LINE, AT(sc_keys, title), .max = TITLE_LEN,
	 .dflt_text = "the first sentence of the description",
	 .help = "its line in `weir-lab list` and in the report"},
	{"description", CFG_LINE, AT(sc_keys, description), .max = TEXT_LEN, .dflt_text = "none",
	 .help = "what it shows, and where its figures come from; goes into the report"},
	{"params", CFG_NODE, AT(sc_keys, params), .dflt_text = "none",
	 .help = "values by name, {n: 8, kmin: 100KB}: `$n` stands for 8 in any key and value"},
	{"duration", CFG_NUMBER, .unit = UNIT_TIME, AT(sc_keys, duration), .min = 1,
	 .max = SECONDS(3600), .dflt_text = "required without `until`",
	 .help = "virtual time that is run"},
	{"until", CFG_WORD, AT(sc_keys, until), .words = until_words, .dflt_text = "the duration",
	 .help = "done: in place of `duration`; the run, its rates and its means end when the "
		 "last message of all flows that end is acknowledged"},
	{"at_most", CFG_NUMBER, .unit = UNIT_TIME, AT(sc_keys, at_most), .min = 1,
	 .max = SECONDS(3600), .dflt_text = "required with `until`",
	 .help = "virtual time by which the flows must be done; later the run ends and fails"},
	{"seed", CFG_NUMBER, .unit = UNIT_COUNT, AT(sc_keys, seed), .max = INT64_MAX, .dflt = 1,
	 .dflt_text = "1", .help = "of all chance; the same seed gives the same bytes"},
	{"sample", CFG_NUMBER, .unit = UNIT_TIME, AT(sc_keys, sample), .min = 100,
	 .max = SECONDS(1), .dflt = 10000, .dflt_text = "10us",
	 .help = "how often queue lengths are read for means and quantiles"},
	{"stuck_after", CFG_NUMBER, .unit = UNIT_TIME, AT(sc_keys, stuck), .min = 1000000,
	 .max = SECONDS(3600), .dflt_text = "twice the longest PAUSE",
	 .help = "a cycle of paused queues is a deadlock when none of them has sent anything for "
		 "so "
		 "long; looked at once a millisecond"},
	{"policy", CFG_LINE, AT(sc_keys, policy), .max = PATH_LEN, .dflt_text = "the switches'",
	 .help = "policy file of all switches, the very file that runs live; seen from this file"},
	{"override", CFG_NODE, AT(sc_keys, override), .dflt_text = "none",
	 .help = "keys of the policy, laid over the file for all switches; `~` removes a key"},
	{"topology", CFG_MAP, AT(sc_keys, topology), .sub = &sc_topology_schema,
	 .dflt_text = "none", .help = "a known one, by its numbers"},
	{"switches", CFG_NODE, AT(sc_keys, switches), .dflt_text = "the topology's",
	 .help = "switches by name or range; a pattern such as \"*\" adds to those there are"},
	{"hosts", CFG_NODE, AT(sc_keys, hosts), .dflt_text = "the topology's",
	 .help = "hosts by name or range; a pattern such as \"h*\" adds to those there are"},
	{"links", CFG_LIST, AT(sc_keys, links), .sub = &link_schema, .max = MAX_ITEMS,
	 .dflt_text = "the topology's", .help = "cables"},
	{"forwarding", CFG_WORD, AT(sc_keys, forwarding), .words = forwarding_words,
	 .dflt_text = "auto",
	 .help = "bridge: by address, a tree only; route: by shortest paths, flows spread over "
		 "equal "
		 "ones; auto: bridge a tree, route anything else"},
	{"withdraw", CFG_SWITCH, AT(sc_keys, withdraw), .dflt = 1, .dflt_text = "on",
	 .help = "derived routes: a switch uses a next hop only while a shortest way behind it "
		 "to the host's switch is up. off: routes stay as they are"},
	{"connect", CFG_WORD, AT(sc_keys, connect), .words = connect_words, .dflt_text = "direct",
	 .help = "cm: connections are made by frames on the wire; direct: they are there"},
	{"frames", CFG_WORD, AT(sc_keys, frames), .words = frames_words, .dflt_text = "headers",
	 .help = "whole: payload is there, and checked where it arrives, as is the iCRC; headers: "
		 "the rest of a frame is only counted"},
	{"flows", CFG_LIST, AT(sc_keys, flows), .sub = &lab_flow_schema, .max = MAX_ITEMS,
	 .dflt_text = "none", .help = "who sends what to whom"},
	{"faults", CFG_LIST, AT(sc_keys, faults), .sub = &sc_fault_schema, .max = MAX_ITEMS,
	 .dflt_text = "none", .help = "what goes wrong, and when"},
	{"record", CFG_MAP, AT(sc_keys, record), .sub = &record_schema, .dflt_text = "nothing",
	 .help = "time series"},
	{"expect", CFG_LINES, AT(sc_keys, expect), .max = TEXT_LEN, .dflt_text = "nothing",
	 .help = "what must hold; the run fails where it does not"},
};
SCHEMA(sc_root_schema, root_rows, sc_keys);
