// SPDX-License-Identifier: Apache-2.0
// A scenario from its file: YAML, --set edits, rows, then the parts in the order in which they name
// each other. Every part reports its mistakes, also if another part has some.
#include "control/lab/scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/impair.h"
#include "control/config/model.h"
#include "control/config/rows.h"
#include "control/inof/endpoint.h"
#include "control/lab/measure.h"
#include "control/lab/routes.h"
#include "control/lab/scenario_int.h"
#include "control/lab/traffic.h"
#include "dataplane/bits.h"
#include "dataplane/tap.h"
#include "dataplane/units.h"

enum { NAME_LEN = 63, TITLE_LEN = 80, TEXT_LEN = 8000, PATH_LEN = 255, MAX_ITEMS = 4096 };

// ---- switches and hosts
static const struct cfg_row switch_rows[] = {
	{NUMBER(COUNT, sc_switch_keys, ports), .min = 1, .max = POLICY_MAX_PORTS,
	 .dflt_text = "as linked",
	 .help = "number of ports; those without a link are down, but their reserves count"},
	{FIELD(CFG_LINE, sc_switch_keys, policy), .max = PATH_LEN, .dflt_text = "the scenario's",
	 .help = "policy file of this switch"},
	{FIELD(CFG_NODE, sc_switch_keys, override), .dflt_text = "none",
	 .help = "keys of the policy, laid over the file for this switch; `~` removes a key"},
	{NUMBER(COUNT, sc_switch_keys, ecmp_seed), .max = UINT32_MAX,
	 .dflt_text = "from seed and name", .help = "seed of its hash of flows over equal ways"},
	{FIELD(CFG_LIST, sc_switch_keys, routes), .sub = &sc_route_schema, .max = MAX_ITEMS,
	 .dflt_text = "shortest paths",
	 .help = "routes in place of those that are derived, for the hosts named"},
};
SCHEMA(sc_switch_schema, switch_rows, sc_switch_keys);

static const struct cfg_row lldp_rows[] = {
	{FIELD(CFG_SET, sc_lldp_keys, pfc), .max = 7, .dflt_text = "not said; the NIC has all",
	 .help = "classes in which the host says that it has PFC, [3]; its NIC then obeys and "
		 "sends PFC in these classes only"},
	{FIELD(CFG_SWITCH, sc_lldp_keys, willing),
	 .help = "on: the host follows the PFC settings of its switch"},
	{NUMBER(COUNT, sc_lldp_keys, roce), .max = 7, .dflt = CFG_WORD_VALUE, .word = "none",
	 .help = "class of RoCEv2 that the host names"},
};
static SCHEMA(lldp_schema, lldp_rows, sc_lldp_keys);

static const char *const inof_words[] = {"none", [INOF_TARGET] = "target",
					 [INOF_INITIATOR] = "initiator", [INOF_BOTH] = "both",
					 NULL};

static const struct cfg_row inof_rows[] = {
	{FIELD(CFG_WORD, sc_inof_keys, role), .words = inof_words,
	 .help = "what the host registers as"},
	{FIELD(CFG_TEXT, sc_inof_keys, nqn), .max = INOF_NQN_MAX, .dflt_text = "none",
	 .help = "name of the subsystem; targets with one name are its paths"},
	{FIELD(CFG_SWITCH, sc_inof_keys, notices), .dflt = 1,
	 .help = "off: as without iNOF. The host does not register, knows all targets from the "
		 "start, and leaves a path only when it does not answer for `keep_alive`"},
	{NUMBER(TIME, sc_inof_keys, delay), .max = SECONDS(1), .dflt = MS_NS,
	 .help = "from the arrival of a notice to what the host does"},
	{NUMBER(TIME, sc_inof_keys, keep_alive), .min = MS_NS, .max = SECONDS(3600),
	 .dflt = SECONDS(5),
	 .help = "a path on which no message is complete for so long does not answer"},
	{"register", CFG_NUMBER, .unit = UNIT_TIME, AT(sc_inof_keys, interval),
	 .min = 100 * MS_NS, .max = SECONDS(3600), .dflt = INOF_REGISTER_S * (int64_t)SECOND_NS,
	 .help = "interval of registrations, which last four intervals"},
};
static SCHEMA(inof_schema, inof_rows, sc_inof_keys);

static const struct cfg_row host_rows[] = {
	{FIELD(CFG_MAP, sc_host_keys, nic), .sub = &nic_keys_schema, .dflt_text = "defaults",
	 .help = "the NIC of the host"},
	{FIELD(CFG_MAP, sc_host_keys, lldp), .sub = &lldp_schema,
	 .scalar = SCALAR("lldp", CFG_SWITCH, AT(sc_host_keys, lldp.on)), .dflt_text = "off",
	 .help = "the host speaks LLDP with DCBX. A switch of the lab speaks it where its policy "
		 "says `lldp: on`"},
	{FIELD(CFG_MAP, sc_host_keys, inof), .sub = &inof_schema,
	 .scalar = SCALAR("inof", CFG_WORD, AT(sc_host_keys, inof.role), .words = inof_words),
	 .dflt_text = "none",
	 .help = "the host has iNOF. A switch of the lab has it where its policy says `inof: on`"},
};
SCHEMA(sc_host_schema, host_rows, sc_host_keys);

static const struct cfg_row link_rows[] = {
	{FIELD(CFG_WORDS, sc_link_keys, between), .required = true, .max = PATH_LEN,
	 .help = "two ends, [h1, s1.p1]; ranges make several links, end by end"},
	{"speed", CFG_NUMBER, .unit = UNIT_RATE, AT(sc_link_keys, cable.speed), .min = 1000000,
	 .max = GIGA(800), .required = true, .help = "line rate"},
	{"length", CFG_NUMBER, .unit = UNIT_LENGTH, AT(sc_link_keys, cable.length),
	 .max = SC_MAX_CABLE_CM, .dflt = SC_DEFAULT_CABLE_CM,
	 .help = "of the cable, for delay and headroom"},
	{"delay", CFG_NUMBER, .unit = UNIT_TIME, AT(sc_link_keys, cable.delay),
	 .max = SC_MAX_DELAY_NS, .dflt = -1, .dflt_text = "of the length",
	 .help = "propagation, one way; headroom then follows from it, not from the length"},
	{"profile", CFG_NAME, AT(sc_link_keys, cable.profile), .max = POLICY_NAME_LEN - 1,
	 .dflt_text = "the policy's", .help = "profile of the switch ports at its ends"},
};
static SCHEMA(link_schema, link_rows, sc_link_keys);

// ---- faults: what goes wrong, where, when, and for how long
enum { PPB_PER_PPM = 1000, QUANTUM_BITS = 512 };

// One struct for all kinds; each kind has rows for what it uses.
struct kind_keys {
	struct cfg_map map;
	struct cfg_val for_ns, quanta, every, silent, rate, every_nth, longer_than, shorter_than,
		control, speed, delay, loopback, policy, burst, period, count;
	struct sc_impair_keys impair;
	struct cfg_set classes;
	struct cfg_list routes;
	const struct node *override;
};

enum target { TARGET_HOST, TARGET_LINK, TARGET_PORT, TARGET_SWITCH, N_TARGETS };

struct fault_keys {
	struct cfg_map map;
	struct cfg_val at, target[N_TARGETS], from;
	struct kind_keys kind[N_SC_FAULTS];
};

#define FOR                                                                                        \
	"for", CFG_NUMBER, .unit = UNIT_TIME, AT(kind_keys, for_ns), .min = 1,                     \
			   .max = SECONDS(3600), .dflt = -1, .dflt_text = "for good",              \
			   .help = "how long it lasts"

static const struct cfg_row lasting_rows[] = {{FOR}};
static SCHEMA(lasting_schema, lasting_rows, kind_keys);

static const struct cfg_row storm_rows[] = {
	{"class", CFG_SET, AT(kind_keys, classes), .max = 7, .required = true,
	 .help = "one, or several: 0-7, [3, 4]"},
	{FOR},
	{NUMBER(COUNT, kind_keys, quanta), .max = 65535, .dflt = 65535,
	 .help = "of each PAUSE, in 512 bit times; 0: a storm of XON, which needs `every`"},
	{NUMBER(TIME, kind_keys, every), .min = 100, .max = SECONDS(1), .dflt = -1,
	 .dflt_text = "half the time of the quanta", .help = "from PAUSE to PAUSE"},
	{"silent_end", CFG_SWITCH, AT(kind_keys, silent),
	 .help = "no XON at the end: the last PAUSE runs out"},
	{NUMBER(TIME, kind_keys, burst), .min = 100, .max = SECONDS(3600),
	 .dflt_text = "without a break", .help = "it pauses for so long in every `period`"},
	{NUMBER(TIME, kind_keys, period), .min = 200, .max = SECONDS(3600), .dflt_text = "none",
	 .help = "from the beginning of a burst to that of the next"},
	{NUMBER(COUNT, kind_keys, count), .min = 1, .max = 1000000, .dflt_text = "as `for` allows",
	 .help = "number of bursts"},
};
static SCHEMA(storm_schema, storm_rows, kind_keys);

static const struct cfg_row lossy_rows[] = {
	{FOR},
	{NUMBER(PERCENT, kind_keys, rate), .max = PPM, .dflt_text = "none",
	 .help = "share of the frames that is lost by chance"},
	{NUMBER(COUNT, kind_keys, every_nth), .min = 1, .max = 1 << 30, .dflt_text = "none",
	 .help = "every nth frame is lost"},
	{NUMBER(BYTES, kind_keys, longer_than), .max = 65535,
	 .help = "only frames of more bytes can be lost: data, not ACKs"},
	{NUMBER(BYTES, kind_keys, shorter_than), .min = 1, .max = 65535, .dflt_text = "any",
	 .help = "only frames of fewer bytes can be lost: ACKs (62 B) and CNPs (74 B), not data"},
	{FIELD(CFG_SWITCH, kind_keys, control), .help = "MAC control frames can be lost, too"},
};
static SCHEMA(lossy_schema, lossy_rows, kind_keys);

static const struct cfg_row slow_rows[] = {
	{FOR},
	{NUMBER(RATE, kind_keys, speed), .min = 1000000, .max = GIGA(800),
	 .dflt_text = "the link's", .help = "line rate meanwhile; neither end reports a change"},
	{NUMBER(TIME, kind_keys, delay), .max = SECONDS(1), .dflt = -1, .dflt_text = "the link's",
	 .help = "propagation meanwhile, one way"},
};
static SCHEMA(slow_schema, slow_rows, kind_keys);

static const struct cfg_row receiver_rows[] = {
	{FOR},
	{NUMBER(RATE, kind_keys, rate), .min = 1000, .max = GIGA(800), .required = true,
	 .help = "at which its host takes received frames"},
	{NUMBER(RATE, kind_keys, loopback), .max = GIGA(800),
	 .help = "of that rate, taken by traffic of the host to itself"},
};
static SCHEMA(receiver_schema, receiver_rows, kind_keys);

static const struct cfg_row tx_off_rows[] = {
	{FOR},
	{"class", CFG_SET, AT(kind_keys, classes), .max = 7, .dflt_text = "the port",
	 .help = "only this queue, or these: 3-4, [3, 4]"},
};
static SCHEMA(tx_off_schema, tx_off_rows, kind_keys);

static const struct cfg_row reload_rows[] = {
	{FIELD(CFG_LINE, kind_keys, policy), .max = 255, .dflt_text = "the switch's",
	 .help = "another policy file"},
	{FIELD(CFG_NODE, kind_keys, override), .dflt_text = "none",
	 .help = "laid over the policy, after what the switch started with; {}: as it started"},
	{FIELD(CFG_LIST, kind_keys, routes), .sub = &sc_route_schema, .max = MAX_ITEMS,
	 .dflt_text = "those that it started with",
	 .help = "routes in place of those that it started with, for the hosts named"},
};
static SCHEMA(reload_schema, reload_rows, kind_keys);

static const char *const ways[] = {"in", "out", NULL};

static const struct cfg_row impair_rows[] = {
	{FOR},
	{"match", CFG_LINE, AT(kind_keys, impair.match), .max = IMPAIR_TEXT - 1,
	 .dflt_text = "all frames", .help = "which frames, as in `weirctl impair --match`"},
	{"action", CFG_LINE, AT(kind_keys, impair.action), .max = IMPAIR_ACTION_TEXT - 1,
	 .required = true,
	 .help = "`drop`, `delay TIME`, `duplicate`, `reorder N`, `ce [P%]`, `corrupt icrc` or "
		 "`corrupt payload`"},
	{"way", CFG_WORD, AT(kind_keys, impair.way), .words = ways,
	 .help = "`in`: frames that the port receives; `out`: frames that it sends"},
	{"count", CFG_NUMBER, .unit = UNIT_COUNT, AT(kind_keys, impair.count), .min = 1,
	 .max = 1 << 30, .dflt_text = "no limit",
	 .help = "it ends when so many frames were changed"},
	{"seed", CFG_NUMBER, .unit = UNIT_COUNT, AT(kind_keys, impair.seed), .min = 1,
	 .max = INT32_MAX, .dflt_text = "of the scenario's", .help = "of chance"},
};
static SCHEMA(impair_schema, impair_rows, kind_keys);

static const struct cfg_row recover_rows[] = {
	{"class", CFG_SET, AT(kind_keys, classes), .max = 7, .required = true,
	 .help = "whose storm, or escalation, is to end: 3, 0-7, [3, 4]"},
};
static SCHEMA(recover_schema, recover_rows, kind_keys);

#define TARGET(key, id, text)                                                                      \
	key, CFG_TEXT, AT(fault_keys, target[id]), .max = NAME_LEN,                                \
						   .dflt_text = "as the fault needs", .help = text

static const struct cfg_row fault_rows[] = {
	{NUMBER(TIME, fault_keys, at), .max = SECONDS(3600), .required = true,
	 .help = "when it begins"},
	{TARGET("host", TARGET_HOST, "the host, or hosts: a range h[1-8], a pattern")},
	{TARGET("link", TARGET_LINK, "the cable, by either end: h1, or s1.p3; both directions")},
	{FIELD(CFG_TEXT, fault_keys, from), .max = NAME_LEN, .dflt_text = "both directions",
	 .help = "in place of `link`: only frames that leave by this end"},
	{TARGET("port", TARGET_PORT, "the port, s1.p3")},
	{TARGET("switch", TARGET_SWITCH, "the switch")},
#define X(id, key, target, schema, text)                                                           \
	{#key,                                                                                     \
	 CFG_MAP,                                                                                  \
	 AT(fault_keys, kind[SC_##id]),                                                            \
	 .sub = &schema##_schema,                                                                  \
	 .dflt_text = "one of these",                                                              \
	 .help = text},
	SC_FAULTS(X)
#undef X
};
SCHEMA(sc_fault_schema, fault_rows, fault_keys);

static const struct {
	const char *key;
	enum target target;
} kinds[N_SC_FAULTS] = {
#define X(id, key, target, ...) {#key, TARGET_##target},
	SC_FAULTS(X)
#undef X
};

static const char *const target_keys[N_TARGETS] = {"host", "link", "port", "switch"};

// ---- the whole
static const struct cfg_row inof_peers_rows[] = {
	{NUMBER(TIME, sc_inof_peers_keys, peers), .max = SECONDS(60), .dflt = CFG_WORD_VALUE,
	 .word = "off",
	 .help = "the switches tell each other of their hosts: from a change at a switch to its "
		 "word at the others, in steps of 1 ms"},
	{NUMBER(TIME, sc_inof_peers_keys, detect), .max = SECONDS(3600), .dflt = SECONDS(19),
	 .help = "a switch that is cut off is not reachable after so long: its hosts are "
		 "offline, bfd-down"},
};
static SCHEMA(inof_peers_schema, inof_peers_rows, sc_inof_peers_keys);

static const struct cfg_row record_rows[] = {
	{NUMBER(TIME, sc_record_keys, every), .min = 100, .max = SECONDS(1), .dflt = 10000,
	 .help = "from row to row"},
	{FIELD(CFG_LINES, sc_record_keys, what), .max = PATH_LEN, .dflt_text = "nothing",
	 .help = "columns: rate(h1), queue(s1.p3.3), pauses(s1), ..."},
	{FIELD(CFG_WORDS, sc_record_keys, histogram), .max = PATH_LEN, .dflt_text = "none",
	 .help = "queues s1.p3.3, or ports and switches: the time that each had each length, "
		 "exact, in report.json"},
	{NUMBER(BYTES, sc_record_keys, bin), .min = 1, .max = GIGA(64), .dflt_text = "a cell",
	 .help = "of a histogram"},
	{FIELD(CFG_WORDS, sc_record_keys, capture), .max = PATH_LEN, .dflt_text = "none",
	 .help = "switch ports `s1.p3` whose frames, both ways and dropped ones, `--out` gets as "
		 "capture.pcapng"},
	{NUMBER(COUNT, sc_record_keys, snaplen), .min = 1, .max = TAP_MAX_SNAPLEN, .dflt = 128,
	 .help = "of a capture: bytes kept of a frame"},
	{NUMBER(COUNT, sc_record_keys, capture_class), .max = 7, .dflt = CFG_WORD_VALUE,
	 .word = "all", .help = "of a capture: frames of one class, and PFC"},
	{NUMBER(BYTES, sc_record_keys, capture_size), .min = 1000, .max = GIGA(64),
	 .dflt = 64000000,
	 .help = "of a capture: the most that the file holds; later frames are counted"},
};
static SCHEMA(record_schema, record_rows, sc_record_keys);

static const struct cfg_row root_rows[] = {
	{"scenario", CFG_NAME, AT(sc_keys, name), .required = true, .max = NAME_LEN,
	 .help = "its name"},
	{FIELD(CFG_LINE, sc_keys, title), .max = TITLE_LEN,
	 .dflt_text = "the first sentence of the description",
	 .help = "its line in `weir-lab list` and in the report"},
	{FIELD(CFG_LINE, sc_keys, description), .max = TEXT_LEN, .dflt_text = "none",
	 .help = "what it shows, and where its figures come from; goes into the report"},
	{FIELD(CFG_NODE, sc_keys, params), .dflt_text = "none",
	 .help = "values by name, {n: 8, kmin: 100KB}: `$n` stands for 8 in any key and value"},
	{NUMBER(TIME, sc_keys, duration), .min = 1, .max = SECONDS(3600),
	 .dflt_text = "required without `until`", .help = "virtual time that is run"},
	{FIELD(CFG_WORD, sc_keys, until), .words = WORDS("done"), .dflt_text = "the duration",
	 .help = "done: in place of `duration`; the run, its rates and its means end when the "
		 "last message of all flows that end is acknowledged"},
	{NUMBER(TIME, sc_keys, at_most), .min = 1, .max = SECONDS(3600),
	 .dflt_text = "required with `until`",
	 .help = "virtual time by which the flows must be done; later the run ends and fails"},
	{NUMBER(COUNT, sc_keys, seed), .max = INT64_MAX, .dflt = 1,
	 .help = "of all random numbers; the same seed gives the same bytes"},
	{NUMBER(TIME, sc_keys, sample), .min = 100, .max = SECONDS(1), .dflt = 10000,
	 .help = "how often queue lengths are read for means and quantiles"},
	{"stuck_after", CFG_NUMBER, .unit = UNIT_TIME, AT(sc_keys, stuck), .min = 1000000,
	 .max = SECONDS(3600), .dflt_text = "twice the longest PAUSE",
	 .help = "a cycle of paused queues is a deadlock when none of them has sent anything for "
		 "so "
		 "long; looked at once a millisecond"},
	{FIELD(CFG_LINE, sc_keys, policy), .max = PATH_LEN, .dflt_text = "the switches'",
	 .help = "policy file of all switches, the very file that runs live; seen from this file"},
	{FIELD(CFG_NODE, sc_keys, override), .dflt_text = "none",
	 .help = "keys of the policy, laid over the file for all switches; `~` removes a key"},
	{FIELD(CFG_MAP, sc_keys, topology), .sub = &sc_topology_schema, .dflt_text = "none",
	 .help = "a known topology, by its numbers"},
	{FIELD(CFG_NODE, sc_keys, switches), .dflt_text = "the topology's",
	 .help = "switches by name or range; a pattern such as \"*\" adds to those there are"},
	{FIELD(CFG_NODE, sc_keys, hosts), .dflt_text = "the topology's",
	 .help = "hosts by name or range; a pattern such as \"h*\" adds to those there are"},
	{FIELD(CFG_LIST, sc_keys, links), .sub = &link_schema, .max = MAX_ITEMS,
	 .dflt_text = "the topology's", .help = "cables"},
	{FIELD(CFG_WORD, sc_keys, forwarding), .words = WORDS("auto", "bridge", "route", "tunnel"),
	 .help = "bridge: by address, a tree only; route: by shortest paths, flows spread over "
		 "equal ones; tunnel: switches with hosts bridge them in one VXLAN, and route "
		 "between each other; auto: bridge a tree, route anything else"},
	{FIELD(CFG_SWITCH, sc_keys, withdraw), .dflt = 1,
	 .help = "derived routes: a switch uses a next hop only while a shortest way behind it "
		 "to the host's switch is up. off: routes stay as they are"},
	{FIELD(CFG_WORD, sc_keys, connect), .words = WORDS("direct", "cm"),
	 .help = "cm: frames on the wire make the connections; direct: they exist from the start"},
	{FIELD(CFG_WORD, sc_keys, frames), .words = WORDS("headers", "whole"),
	 .help = "whole: payload is there, and checked where it arrives, as is the iCRC; headers: "
		 "the rest of a frame is only counted"},
	{FIELD(CFG_MAP, sc_keys, inof), .sub = &inof_peers_schema, .dflt_text = "defaults",
	 .help = "hosts of iNOF from switch to switch"},
	{FIELD(CFG_LIST, sc_keys, flows), .sub = &lab_flow_schema, .max = MAX_ITEMS,
	 .dflt_text = "none", .help = "the traffic: senders, receivers, messages"},
	{FIELD(CFG_LIST, sc_keys, faults), .sub = &sc_fault_schema, .max = MAX_ITEMS,
	 .dflt_text = "none", .help = "faults and their times"},
	{FIELD(CFG_MAP, sc_keys, record), .sub = &record_schema, .dflt_text = "nothing",
	 .help = "time series"},
	{FIELD(CFG_LINES, sc_keys, expect), .max = TEXT_LEN, .dflt_text = "nothing",
	 .help = "conditions; the run fails where one does not hold"},
};
SCHEMA(sc_root_schema, root_rows, sc_keys);

// ---- values of the whole
static void take_values(struct sc_builder *b)
{
	const struct sc_keys *k = &b->k;
	struct scenario *sc = b->sc;

	sc->name = k->name.text != NULL ? k->name.text : "";
	sc->title = k->title.text != NULL ? k->title.text : "";
	sc->description = k->description.text != NULL ? k->description.text : "";
	sc->until_done = k->until.given;
	sc->duration_ns = (uint64_t)(sc->until_done ? k->at_most.n : k->duration.n);
	sc->sample_ns = (uint64_t)k->sample.n;
	sc->stuck_ns = (uint64_t)k->stuck.n;
	sc->seed = (uint64_t)k->seed.n;
	sc->withdraw = k->withdraw.n != 0;
	sc->inof.exchange = k->inof.peers.n != CFG_WORD_VALUE;
	sc->inof.delay_ns = (uint64_t)k->inof.peers.n;
	sc->inof.detect_ns = (uint64_t)k->inof.detect.n;
	sc->connect_by_cm = k->connect.n != 0;
	sc->whole_frames = k->frames.n != 0;
	sc->bin_bytes = (uint64_t)k->record.bin.n;
	sc->capture_snaplen = (uint32_t)k->record.snaplen.n;
	sc->capture_class = (int)k->record.capture_class.n;
	sc->capture_bytes = (uint64_t)k->record.capture_size.n;
	sc->record_every_ns = k->record.map.given ? (uint64_t)k->record.every.n : 0;
}

static void check_end(struct sc_builder *b)
{
	const struct sc_keys *k = &b->k;
	struct diag_sink *s = b->r.sink;
	bool endless = true;

	for (uint32_t i = 0; i < b->sc->n_flows; i++)
		endless = endless && flow_endless(&b->sc->flows[i]);
	if (k->map.given && !k->until.given && !k->duration.given && !k->at_most.given)
		diag_add(s, DIAG_ERROR, k->map.at, "duration", "is required");
	if (k->until.given && k->duration.given)
		REFUSE(s, &k->duration,
		       "the run ends when flows are done: leave out `duration` or `until`");
	if (k->until.given && !k->at_most.given)
		REFUSE(s, &k->until, "needs `at_most`, the time by which the flows must be done");
	if (k->at_most.given && !k->until.given)
		REFUSE(s, &k->at_most, "needs `until: done` beside it");
	if (k->until.given && endless && b->sc->n_flows == b->k.flows.n)
		REFUSE(s, &k->until, "no flow ends: give one a `size`, and a `count` or a `stop`");
}

static void take_lines(struct sc_builder *b, const struct cfg_words *w, struct sc_text **out,
		       uint32_t *n)
{
	*out = arena_alloc(b->r.arena, w->n * sizeof(**out));
	for (unsigned i = 0; i < w->n; i++)
		(*out)[i] = (struct sc_text){w->items[i].text, w->items[i].at,
					     arena_printf(b->r.arena, "%s[%u]", w->map.path, i)};
	*n = w->n;
}

static void take_captured(struct sc_builder *b)
{
	struct scenario *sc = b->sc;
	struct diag_sink *s = b->r.sink;
	struct sc_text *lines;
	uint32_t n;

	take_lines(b, &b->k.record.capture, &lines, &n);
	sc->captured = arena_alloc(b->r.arena, (n + 1) * sizeof(*sc->captured));
	for (unsigned i = 0; b->sound && i < n; i++) {
		const struct sc_text *at = &lines[i];
		struct sc_end e;
		uint32_t k = 0;

		if (!sc_parse_end(b, at, &e))
			continue;
		while (k < sc->n_captured &&
		       (sc->captured[k].node != e.node || sc->captured[k].port != e.port))
			k++;
		if (!e.is_switch)
			REFUSE(s, at, "%s is a host: capture the port of its switch", at->text);
		else if (e.port >= sc->switches[e.node].n_ports)
			REFUSE(s, at, "there is no port %s: %s has p1 to p%u", at->text,
			       sc->switches[e.node].name, sc->switches[e.node].n_ports);
		else if (k == sc->n_captured)
			sc->captured[sc->n_captured++] = e;
	}
}

// ---- switches and hosts
static void finish_switches(struct sc_builder *b)
{
	struct scenario *sc = b->sc;

	for (uint32_t i = 0; i < sc->n_switches; i++) {
		struct sc_switch *sw = &sc->switches[i];
		const struct sc_switch_keys *k = &b->switch_keys[i];
		const struct cfg_val *policy = k->policy.given ? &k->policy : &b->k.policy;
		const char *seed_of = arena_printf(b->r.arena, "ecmp.%s", sw->name);
		uint32_t p = 0;

		if (policy->text != NULL)
			sw->policy_file = sc_relative(b, policy->text);
		else if (!policy->given)
			diag_add(b->r.sink, DIAG_ERROR, b->k.map.at, "policy",
				 "is required: the policy file that the switches run");
		sw->ecmp_seed = (uint32_t)(k->ecmp_seed.given ? (uint64_t)k->ecmp_seed.n
							      : scenario_seed(sc, seed_of, 0));
		while (p < sw->n_ports && sw->ports[p].link == SC_NO_LINK)
			p++;
		if (p == sw->n_ports && b->sound)
			diag_add(b->r.sink, DIAG_ERROR, sw->at,
				 arena_printf(b->r.arena, "switches.%s", sw->name), "has no link");
		sw->first_port = sc->n_ports;
		sc->n_ports += sw->n_ports;
	}
}

static void choose_forwarding(struct sc_builder *b)
{
	struct scenario *sc = b->sc;
	uint32_t link = routes_islands(sc);
	bool tree = link == SC_NO_LINK;

	if (b->k.forwarding.n == FORWARD_BRIDGE && !tree)
		REFUSE(b->r.sink, &b->k.forwarding,
		       "the link %s closes a loop, in which bridged frames would circle: use "
		       "forwarding: route",
		       sc->links[link].name);
	sc->tunnelled = b->k.forwarding.n == FORWARD_TUNNEL;
	sc->routed = sc->routed || sc->tunnelled || b->k.forwarding.n == FORWARD_ROUTE ||
		     (b->k.forwarding.n == FORWARD_AUTO && !tree);
}

static struct sc_lldp lldp_of(const struct sc_lldp_keys *k)
{
	return (struct sc_lldp){.on = cfg_is_on(&k->on, &k->map), .has_pfc = k->pfc.map.given,
				.willing = k->willing.n != 0, .pfc = (uint8_t)k->pfc.bits[0],
				.roce = (int)k->roce.n};
}

static struct sc_inof inof_of(const struct sc_inof_keys *k)
{
	return (struct sc_inof){.role = (uint8_t)k->role.n, .notices = k->notices.n != 0,
				.nqn = k->nqn.text, .delay_ns = (uint64_t)k->delay.n,
				.keep_alive_ns = (uint64_t)k->keep_alive.n,
				.register_ns = (uint64_t)k->interval.n};
}

static void finish_hosts(struct sc_builder *b)
{
	struct scenario *sc = b->sc;

	for (uint32_t i = 0; i < sc->n_hosts; i++) {
		struct sc_host *h = &sc->hosts[i];

		nic_config_default(&h->nic);
		h->nic.rto_ns = 0; // of the fabric, if none is given
		if (h->link == SC_NO_LINK) {
			// Where a link could not be made, it may have been this one's.
			if (b->sound)
				diag_add(b->r.sink, DIAG_ERROR, h->at,
					 arena_printf(b->r.arena, "hosts.%s", h->name),
					 "has no link: a host needs one");
			b->unlinked = true;
			continue;
		}
		h->nic.speed_bps = sc->links[h->link].speed_bps;
		nic_keys_apply(&b->host_keys[i].nic, &h->nic, b->r.sink);
		h->lldp = lldp_of(&b->host_keys[i].lldp);
		h->inof = inof_of(&b->host_keys[i].inof);
		h->nic.ip = h->ip;
		h->nic.seed = scenario_seed(sc, "nic", i);
		h->nic.listen = true;
	}
	if (sc->n_hosts == 0 && b->r.sink->n_errors == 0)
		diag_add(b->r.sink, DIAG_ERROR, b->k.map.at, "hosts",
			 "is required: a run needs hosts");
}

// ---- from keys to faults
struct fault_reader {
	struct sc_builder *b;
	const struct fault_keys *k;
	const struct kind_keys *kind;
	struct sc_fault *f; // of the first target
	uint32_t *hosts, n_hosts; // all of them, where a pattern names several
};

static bool find_kind(struct fault_reader *r)
{
	struct diag_sink *s = r->b->r.sink;

	for (unsigned i = 0; i < N_SC_FAULTS; i++) {
		const struct kind_keys *kind = &r->k->kind[i];

		if (!kind->map.given)
			continue;
		if (r->kind != NULL)
			return REFUSE(
				s, &kind->map,
				"the entry has the fault %s already: give each fault an entry",
				kinds[r->f->kind].key);
		r->f->kind = (uint8_t)i;
		r->kind = kind;
	}
	return r->kind != NULL ||
	       REFUSE(s, &r->k->map, "names no fault: give one of pause_storm, link_down, ...");
}

// The value that names the target: the kind's own key, `from` in place of a link; others are
// refused.
static const struct cfg_val *find_target(struct fault_reader *r)
{
	enum target t = kinds[r->f->kind].target;
	const struct cfg_val *v = &r->k->target[t], *from = &r->k->from;
	struct diag_sink *s = r->b->r.sink;

	for (unsigned i = 0; i < N_TARGETS; i++)
		if (i != t && r->k->target[i].given)
			REFUSE(s, &r->k->target[i], "%s applies to a %s", kinds[r->f->kind].key,
			       target_keys[t]);
	r->f->one_way = from->given;
	if (from->given && (v->given || t != TARGET_LINK))
		REFUSE(s, from, "%s",
		       t == TARGET_LINK ? "link and from exclude each other"
					: "only link faults have a direction");
	else if (from->given || v->given)
		return from->given ? from : v;
	else
		REFUSE(s, &r->k->map, "the fault %s has no target" CURE "give its %s",
		       kinds[r->f->kind].key, target_keys[t]);
	return NULL;
}

// A pattern names hosts; the first one that has a link stands for them.
static bool find_hosts(struct fault_reader *r, const struct sc_text *v)
{
	const struct scenario *sc = r->b->sc;
	uint32_t n;

	r->hosts = arena_alloc(r->b->r.arena, (sc->n_hosts + 1) * sizeof(*r->hosts));
	n = scenario_pick_hosts(sc, r->b->r.sink, v, r->hosts);
	for (uint32_t i = 0; i < n; i++)
		if (sc->hosts[r->hosts[i]].link != SC_NO_LINK)
			r->hosts[r->n_hosts++] = r->hosts[i];
	if (r->n_hosts == 0)
		return false;
	r->f->target = (struct sc_end){.node = r->hosts[0]};
	r->f->link = sc->hosts[r->hosts[0]].link;
	return true;
}

static bool resolve_target(struct fault_reader *r)
{
	enum target t = kinds[r->f->kind].target;
	const struct scenario *sc = r->b->sc;
	struct diag_sink *s = r->b->r.sink;
	struct sc_end *e = &r->f->target;
	const struct cfg_val *v = find_target(r);
	struct sc_text where;

	if (v == NULL || v->bad)
		return false;
	where = (struct sc_text){v->text, v->at, v->path};
	if (t == TARGET_SWITCH) {
		int i = scenario_switch(sc, v->text);

		*e = (struct sc_end){true, (uint32_t)i, 0};
		return i >= 0 || REFUSE(s, v, "there is no switch %s: %s",
					schema_shown(r->b->r.arena, v->text),
					sc_known_switches(sc, r->b->r.arena, v->text));
	}
	if (t == TARGET_HOST && strpbrk(v->text, "*[") != NULL)
		return find_hosts(r, &where);
	if (!sc_parse_end(r->b, &where, e))
		return false;
	if (!e->is_switch)
		r->f->link = sc->hosts[e->node].link;
	else if (e->port < sc->switches[e->node].n_ports)
		r->f->link = sc->switches[e->node].ports[e->port].link;
	if (e->is_switch && t == TARGET_HOST)
		return REFUSE(s, v, "%s is no host", v->text);
	if (!e->is_switch && t == TARGET_PORT)
		return REFUSE(s, v, "%s is no port of a switch", v->text);
	if (e->is_switch && e->port >= sc->switches[e->node].n_ports)
		return REFUSE(s, v, "%s: the switch has %u ports", v->text,
			      sc->switches[e->node].n_ports);
	if (t == TARGET_LINK && r->f->link == SC_NO_LINK)
		return REFUSE(s, v, "%s has no link", v->text);
	return t != TARGET_HOST || r->f->link != SC_NO_LINK; // which is reported of the host
}

// The rules between the keys of a storm, of one host or of several.
static void check_storm(const struct fault_reader *r)
{
	const struct kind_keys *k = r->kind;
	struct diag_sink *s = r->b->r.sink;

	if (k->quanta.n == 0 && !k->every.given)
		REFUSE(s, &k->quanta, "a storm of XON has no interval of its own: give `every`");
	if (k->burst.given != k->period.given)
		REFUSE(s, &k->map, "burst and period need each other");
	else if (k->burst.given && !k->burst.bad && !k->period.bad && k->burst.n >= k->period.n)
		REFUSE(s, &k->burst, "%s leaves no break in a period of %s",
		       UNIT_TEXT(UNIT_TIME, k->burst.n), UNIT_TEXT(UNIT_TIME, k->period.n));
	if (k->count.given && !k->burst.given)
		REFUSE(s, &k->count, "there are no bursts");
	else if (k->count.given && k->for_ns.given)
		REFUSE(s, &k->count, "for and count exclude each other");
}

static void fill_storm(struct fault_reader *r)
{
	const struct kind_keys *k = r->kind;
	uint64_t speed = r->b->sc->links[r->f->link].speed_bps;
	// A link whose speed is wrong has none. The mistake is reported of the link.
	uint64_t quanta_ns =
		speed == 0 ? 0 : (uint64_t)k->quanta.n * QUANTUM_BITS * 1000000000u / speed;

	r->f->storm = (struct storm_params){
		.classes = (uint8_t)k->classes.bits[0],
		.quanta = (uint16_t)k->quanta.n,
		.start_ns = r->f->at_ns,
		.every_ns = k->every.n >= 0 ? (uint64_t)k->every.n : quanta_ns / 2 + 1,
		.for_ns = r->f->for_ns,
		.burst_ns = (uint64_t)k->burst.n,
		.period_ns = (uint64_t)k->period.n,
		.silent_end = k->silent.n != 0,
	};
}

static void fill_reload(struct fault_reader *r)
{
	const struct kind_keys *k = r->kind;
	struct diag_sink *s = r->b->r.sink;

	if (k->policy.text != NULL)
		r->f->policy_file = sc_relative(r->b, k->policy.text);
	if (k->override != NULL && k->override->kind != NODE_MAP)
		diag_add(s, DIAG_ERROR, k->override->at,
			 arena_printf(r->b->r.arena, "%s.override", k->map.path), "expected a map");
	else
		r->f->override = k->override;
	if (!k->policy.given && k->override == NULL && !k->routes.map.given)
		REFUSE(s, &k->map, "give a policy, an override or routes");
	r->f->n_routes = sc_read_routes(r->b, r->f->target.node, &k->routes, &r->f->routes);
	if (k->routes.map.given && !r->b->sc->routed)
		REFUSE(s, &k->routes.map,
		       "the switches bridge, and routes need `forwarding: route`");
}

static void fill_values(struct fault_reader *r)
{
	const struct kind_keys *k = r->kind;
	struct diag_sink *s = r->b->r.sink;
	struct sc_fault *f = r->f;

	f->rate_bps = (uint64_t)(f->kind == SC_LINK_SLOW ? k->speed.n : k->rate.n);
	f->loopback_bps = (uint64_t)k->loopback.n;
	f->delay_ns = k->delay.n;
	f->cls = -1;
	if (f->kind == SC_PAUSE_STORM) {
		check_storm(r);
		if (k->count.given && !k->count.bad)
			f->for_ns = (uint64_t)(k->count.n - 1) * (uint64_t)k->period.n +
				    (uint64_t)k->burst.n;
		fill_storm(r);
	} else if (f->kind == SC_LINK_LOSSY) {
		if (!k->rate.given && !k->every_nth.given)
			REFUSE(s, &k->map, "give a rate or every_nth");
		if (k->shorter_than.n > 0 && k->shorter_than.n <= k->longer_than.n + 1)
			REFUSE(s, &k->map,
			       "no frame is longer than %" PRId64 " B and shorter than %" PRId64
			       " B",
			       k->longer_than.n, k->shorter_than.n);
		f->loss = (struct wire_loss){
			.chance_ppb = (uint32_t)k->rate.n * PPB_PER_PPM,
			.every_nth = (uint32_t)k->every_nth.n,
			.longer_than_bytes = (uint32_t)k->longer_than.n,
			.shorter_than_bytes = (uint32_t)k->shorter_than.n,
			.spares_control = !k->control.n,
			.seed = scenario_seed(r->b->sc, "loss", r->b->sc->n_faults),
		};
	} else if (f->kind == SC_RELOAD) {
		fill_reload(r);
	} else if (f->kind == SC_IMPAIR) {
		sc_build_impair(r->b, &k->impair, f);
	}
	if (f->kind == SC_CUT_OFF && !r->b->sc->inof.exchange)
		REFUSE(s, &k->map,
		       "the switches say nothing to each other" CURE "add inof: {peers: 5ms}");
	if (f->kind == SC_SLOW_RECEIVER && k->rate.given && f->loopback_bps >= f->rate_bps)
		REFUSE(s, &k->map, "loopback leaves nothing of the rate");
	if (f->kind == SC_LINK_SLOW && !k->speed.given && !k->delay.given)
		REFUSE(s, &k->map, "give a speed or a delay");
}

static void push(struct sc_builder *b, const struct sc_fault *f, uint32_t *room)
{
	struct scenario *sc = b->sc;
	struct sc_fault *more;

	if (sc->n_faults == *room) {
		*room *= 2;
		more = arena_alloc(b->r.arena, *room * sizeof(*more));
		memcpy(more, sc->faults, sc->n_faults * sizeof(*more));
		sc->faults = more;
	}
	sc->faults[sc->n_faults++] = *f;
}

// Of a port, once for each class that is named; a storm has all of its classes at once. The same
// for each of several hosts, but what follows from the host's link.
static void push_all(struct fault_reader *r, uint32_t *room)
{
	const struct scenario *sc = r->b->sc;
	bool storm = r->f->kind == SC_PAUSE_STORM;
	uint32_t classes = storm || r->n_hosts != 0 ? 0 : (uint32_t)r->kind->classes.bits[0];

	if (sc->n_faults + r->n_hosts >= SC_MAX_FAULTS) {
		REFUSE(r->b->r.sink, &r->k->map, "there are more than %d faults", SC_MAX_FAULTS);
		return;
	}
	if (r->n_hosts == 0 && classes == 0)
		push(r->b, r->f, room);
	for_each_bit (cls, classes) {
		r->f->cls = (int)cls;
		push(r->b, r->f, room);
	}
	for (uint32_t i = 0; i < r->n_hosts; i++) {
		r->f->target.node = r->hosts[i];
		r->f->link = sc->hosts[r->hosts[i]].link;
		if (storm)
			fill_storm(r);
		push(r->b, r->f, room);
	}
}

static uint64_t end_of(const struct sc_fault *f)
{
	return f->for_ns < UINT64_MAX - f->at_ns ? f->at_ns + f->for_ns : UINT64_MAX;
}

// A NIC has one storm at a time. before[i]: the host's storm in front of storm i, from 1; 0: none.
static void check_storms(struct sc_builder *b)
{
	const struct sc_fault *all = b->sc->faults, *reported = NULL;
	uint32_t n = b->sc->n_faults;
	uint32_t *before = arena_alloc(b->r.arena, (n + 1) * sizeof(*before));
	uint32_t *last = arena_alloc(b->r.arena, (b->sc->n_hosts + 1) * sizeof(*last));

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k;

		if (all[i].kind != SC_PAUSE_STORM)
			continue;
		k = before[i] = last[all[i].target.node];
		last[all[i].target.node] = i + 1;
		while (k != 0 &&
		       !(all[i].at_ns < end_of(&all[k - 1]) && all[k - 1].at_ns < end_of(&all[i])))
			k = before[k - 1];
		// Of several hosts that one entry names the first is reported.
		if (k == 0 || (reported != NULL && reported->at.line == all[i].at.line &&
			       reported->at.column == all[i].at.column))
			continue;
		reported = &all[i];
		diag_add(b->r.sink, DIAG_ERROR, all[i].at, "faults",
			 "the storm at %s is still going on: name all classes in one, "
			 "or let the first end",
			 UNIT_TEXT(UNIT_TIME, (int64_t)all[k - 1].at_ns));
	}
}

static void build_faults(struct sc_builder *b)
{
	const struct scenario *sc = b->sc;
	const struct fault_keys *k = b->k.faults.items;
	uint32_t room = b->k.faults.n + 1;

	b->sc->faults = arena_alloc(b->r.arena, room * sizeof(b->sc->faults[0]));
	for (unsigned i = 0; i < b->k.faults.n; i++, k++) {
		struct sc_fault f = {
			.at = k->map.at, .at_ns = (uint64_t)k->at.n, .link = SC_NO_LINK};
		struct fault_reader r = {.b = b, .k = k, .f = &f};

		if (!find_kind(&r) || !resolve_target(&r))
			continue;
		f.for_ns = r.kind->for_ns.n > 0 ? (uint64_t)r.kind->for_ns.n : UINT64_MAX;
		if (k->at.given && !k->at.bad && sc->duration_ns != 0 && f.at_ns >= sc->duration_ns)
			REFUSE(b->r.sink, &k->at, "%s is not within the duration",
			       UNIT_TEXT(UNIT_TIME, (int64_t)f.at_ns));
		fill_values(&r);
		push_all(&r, &room);
	}
	check_storms(b);
}

// ---- the whole
static void build(struct sc_builder *b)
{
	struct scenario *sc = b->sc;
	unsigned mistakes = b->r.sink->n_errors;

	take_values(b);
	sc->switches = arena_alloc(b->r.arena, SC_MAX_SWITCHES * sizeof(sc->switches[0]));
	sc->hosts = arena_alloc(b->r.arena, SC_MAX_HOSTS * sizeof(sc->hosts[0]));
	sc->links = arena_alloc(b->r.arena, SC_MAX_LINKS * sizeof(sc->links[0]));
	sc_build_nodes(b);
	b->sound = b->r.sink->n_errors == mistakes;
	finish_switches(b);
	sc_build_routes(b);
	choose_forwarding(b);
	b->sound = b->r.sink->n_errors == mistakes;
	finish_hosts(b);
	sc->flows = b->k.flows.items;
	sc->n_flows = b->k.flows.n;
	if (traffic_resolve(sc, b->r.sink) != 0)
		sc->n_flows = 0;
	check_end(b);
	build_faults(b);
	take_lines(b, &b->k.record.what, &sc->records, &sc->n_records);
	take_lines(b, &b->k.record.histogram, &sc->histograms, &sc->n_histograms);
	const struct sc_record_keys *k = &b->k.record;
	const struct cfg_val *of_capture[] = {&k->snaplen, &k->capture_class, &k->capture_size};

	if (k->map.given && !k->what.map.given && k->histogram.n + k->capture.n == 0)
		diag_add(b->r.sink, DIAG_ERROR, k->map.at, "record.what",
			 "is required, or `histogram`, or `capture`");
	if (k->bin.given && k->histogram.n == 0)
		REFUSE(b->r.sink, &k->bin, "is of `histogram`: name a queue");
	for (unsigned i = 0; i < N(of_capture); i++)
		if (of_capture[i]->given && k->capture.n == 0)
			REFUSE(b->r.sink, of_capture[i], "is of `capture`: name a port");
	take_captured(b);
	take_lines(b, &b->k.expect, &sc->expects, &sc->n_expects);
}

static void read_tree(struct sc_builder *b, const struct sc_input *in)
{
	struct node *root = node_parse(b->r.arena, in->text, in->len, b->r.sink);
	unsigned mistakes;

	if (root == NULL)
		return;
	for (unsigned i = 0; i < in->n_sets; i++)
		params_set(b->r.arena, b->r.sink, root, &in->sets[i]);
	mistakes = b->r.sink->n_errors;
	b->sc->params = params_apply(b->r.arena, b->r.sink, root);
	if (b->r.sink->n_errors != mistakes)
		return; // the values are unknown
	schema_defaults(&sc_root_schema, &b->k);
	schema_fill(&b->r, &sc_root_schema, root, &b->k, "");
	build(b);
}

// A fabric needs values that may be missing where there are mistakes: a key `policy` that
// holds no path, a link whose `speed` is misspelt.
static bool is_whole(const struct scenario *sc)
{
	for (uint32_t i = 0; i < sc->n_switches; i++)
		if (sc->switches[i].policy_file == NULL)
			return false;
	for (uint32_t i = 0; i < sc->n_links; i++)
		if (sc->links[i].speed_bps == 0)
			return false;
	return true;
}

int scenario_parse(const struct sc_input *in, struct scenario **out, struct diags *d)
{
	struct arena *a = calloc(1, sizeof(*a));
	const char *slash = strrchr(in->path, '/');
	struct measure *m = NULL;
	struct scenario *sc;
	struct diag_sink s = {.document = "scenario"};
	struct sc_builder b = {.r = {a, &s}};
	int err;

	if (a == NULL)
		abort();
	sc = b.sc = arena_alloc(a, sizeof(*sc));
	sc->arena = a;
	sc->models = arena_alloc(a, sizeof(*sc->models));
	sc->file = s.file = arena_text(a, in->path, strlen(in->path));
	b.folder = slash == NULL ? "" : arena_text(a, in->path, (size_t)(slash - in->path) + 1);
	read_tree(&b, in);
	// Expectations are parsed again when they are measured; here for their mistakes.
	if (measure_create(sc, &m, &s) == 0)
		measure_destroy(m);
	err = s.n_errors == 0 ? 0 : -EINVAL;
	diag_finish(&s, d);
	// Policies are compiled when the fabric is made. Where it is not made, their mistakes are
	// reported here.
	if (err != 0 && b.sound && !b.unlinked && is_whole(sc))
		err = fabric_check(sc, d) == 0 ? err : -EINVAL;
	if (err != 0)
		scenario_destroy(sc);
	else
		*out = sc;
	return err;
}

int scenario_load(const char *path, const struct sc_set *sets, unsigned n_sets,
		  struct scenario **out, struct diags *d)
{
	struct sc_input in = {.path = path, .sets = sets, .n_sets = n_sets};
	char *text = NULL;
	int err = config_read(path, &text, &in.len, d);

	if (err != 0)
		return err;
	in.text = text;
	err = scenario_parse(&in, out, d);
	free(text);
	return err;
}

void scenario_destroy(struct scenario *sc)
{
	struct arena *a;

	if (sc == NULL)
		return;
	a = sc->arena;
	arena_fini(a);
	free(a);
}
