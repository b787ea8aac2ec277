// SPDX-License-Identifier: Apache-2.0
// A scenario from its file: YAML, --set edits, rows, then the parts in the order in which they name
// each other. Every part reports its mistakes, also if another part has some.
#include "control/lab/scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/rows.h"
#include "control/config/model.h"
#include "control/inof/endpoint.h"
#include "control/lab/measure.h"
#include "control/lab/routes.h"
#include "control/lab/scenario_int.h"
#include "control/lab/traffic.h"
#include "control/lab/without.h"
#include "dataplane/base/units.h"
#include "dataplane/tap.h"

enum { TITLE_LEN = 80, TEXT_LEN = 8000, MAX_VID = 4094 };

// ---- switches and hosts
static const struct cfg_row switch_rows[] = {
	{NUMBER(COUNT, sc_switch_keys, ports), .min = 1, .max = POLICY_MAX_PORTS,
	 .dflt_text = "as linked",
	 .help = "number of ports; those without a link are down, but their reserves count"},
	{FIELD(CFG_LINE, sc_switch_keys, policy), .max = SC_MAX_PATH, .dflt_text = "the scenario's",
	 .help = "policy file of this switch"},
	{FIELD(CFG_NODE, sc_switch_keys, override), .dflt_text = "none",
	 .help = "keys of the policy, laid over the file for this switch; `~` removes a key"},
	{NUMBER(COUNT, sc_switch_keys, ecmp_seed), .max = UINT32_MAX,
	 .dflt_text = "from seed and name", .help = "seed of its hash of flows over equal ways"},
	{FIELD(CFG_LIST, sc_switch_keys, routes), .sub = &sc_route_schema, .max = SC_MAX_ITEMS,
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
	{NUMBER(COUNT, sc_host_keys, vlan), .max = MAX_VID, .dflt = CFG_WORD_VALUE,
	 .word = "untagged",
	 .help = "the frames of its connections have an 802.1Q tag with this VID; 0 is a tag with "
		 "a priority only"},
	{FIELD(CFG_SWITCH, sc_host_keys, ip6),
	 .help = "the connections that it opens use IPv6, where a flow does not say otherwise"},
};
SCHEMA(sc_host_schema, host_rows, sc_host_keys);

static const struct cfg_row link_rows[] = {
	{FIELD(CFG_WORDS, sc_link_keys, between), .required = true, .max = SC_MAX_PATH,
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
	{FIELD(CFG_LINES, sc_record_keys, what), .max = SC_MAX_PATH, .dflt_text = "nothing",
	 .help = "columns: rate(h1), queue(s1.p3.3), pauses(s1), ..."},
	{FIELD(CFG_WORDS, sc_record_keys, histogram), .max = SC_MAX_PATH, .dflt_text = "none",
	 .help = "queues s1.p3.3, or ports and switches: the time that each had each length, "
		 "exact, in report.json"},
	{NUMBER(BYTES, sc_record_keys, bin), .min = 1, .max = GIGA(64), .dflt_text = "a cell",
	 .help = "of a histogram"},
	{FIELD(CFG_WORDS, sc_record_keys, capture), .max = SC_MAX_PATH, .dflt_text = "none",
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
	{"scenario", CFG_NAME, AT(sc_keys, name), .required = true, .max = SC_MAX_TEXT,
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
	{FIELD(CFG_LINE, sc_keys, policy), .max = SC_MAX_PATH, .dflt_text = "the switches'",
	 .help = "policy file of all switches, the very file that runs live; seen from this file. "
		 "Without dot and slash also the name of a bundled policy, such as `roce`"},
	{FIELD(CFG_NODE, sc_keys, override), .dflt_text = "none",
	 .help = "keys of the policy, laid over the file for all switches; `~` removes a key"},
	{FIELD(CFG_MAP, sc_keys, topology), .sub = &sc_topology_schema, .dflt_text = "none",
	 .help = "a known topology, by its numbers"},
	{FIELD(CFG_NODE, sc_keys, switches), .dflt_text = "the topology's",
	 .help = "switches by name or range; a pattern such as \"*\" adds to those there are"},
	{FIELD(CFG_NODE, sc_keys, hosts), .dflt_text = "the topology's",
	 .help = "hosts by name or range; a pattern such as \"h*\" adds to those there are"},
	{FIELD(CFG_LIST, sc_keys, links), .sub = &link_schema, .max = SC_MAX_ITEMS,
	 .dflt_text = "the topology's", .help = "cables"},
	{FIELD(CFG_WORD, sc_keys, forwarding), .words = WORDS("auto", "bridge", "route", "tunnel"),
	 .help = "bridge: by address, a tree only; route: by shortest paths, flows spread over "
		 "equal ones; tunnel: switches with hosts bridge them in one VXLAN, and route "
		 "between each other; auto: bridge a tree, route anything else"},
	{FIELD(CFG_SWITCH, sc_keys, withdraw), .dflt = 1,
	 .help = "derived routes: a switch uses a next hop only while a shortest way behind it "
		 "to the host's switch is up. off: routes stay as they are"},
	{FIELD(CFG_WORD, sc_keys, neighbours), .words = WORDS("given", "learnt"),
	 .help = "MAC addresses of hosts on routing switches. learnt: a switch asks for them by "
		 "ARP or neighbour discovery, as a live switch: the first 8 frames of a port wait, "
		 "others are dropped; given: it knows them from the start"},
	{FIELD(CFG_WORD, sc_keys, connect), .words = WORDS("direct", "cm"),
	 .help = "cm: frames on the wire make the connections; direct: they exist from the start"},
	{FIELD(CFG_WORD, sc_keys, frames), .words = WORDS("headers", "whole"),
	 .help = "whole: payload is there, and checked where it arrives, as is the iCRC; headers: "
		 "the rest of a frame is only counted"},
	{FIELD(CFG_MAP, sc_keys, inof), .sub = &inof_peers_schema, .dflt_text = "defaults",
	 .help = "hosts of iNOF from switch to switch"},
	{FIELD(CFG_LIST, sc_keys, flows), .sub = &lab_flow_schema, .max = SC_MAX_ITEMS,
	 .dflt_text = "none", .help = "the traffic: senders, receivers, messages"},
	{FIELD(CFG_LIST, sc_keys, faults), .sub = &sc_fault_schema, .max = SC_MAX_ITEMS,
	 .dflt_text = "none", .help = "faults and their times"},
	{FIELD(CFG_MAP, sc_keys, record), .sub = &record_schema, .dflt_text = "nothing",
	 .help = "time series"},
	{FIELD(CFG_LINES, sc_keys, expect), .max = TEXT_LEN, .dflt_text = "nothing",
	 .help = "conditions; the run fails where one does not hold"},
	{FIELD(CFG_WORDS, sc_keys, about), .words = mechanism_words, .dflt_text = "nothing",
	 .help = "mechanisms that it shows: without any of them some condition does not hold"},
	{FIELD(CFG_WORDS, sc_keys, without), .words = mechanism_words, .dflt_text = "nothing",
	 .help = "mechanisms that are switched off everywhere, to see what they do"},
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
	sc->learn_neighbours = k->neighbours.n != 0;
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

	for (uint32_t i = 0; i < b->sc->n_flows; i++) {
		const struct lab_flow *f = &b->sc->flows[i];

		endless =
			endless && !f->size.bad && !f->count.bad && !f->stop.bad && flow_endless(f);
	}
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
			sw->policy_file = sc_policy_path(b, policy->text);
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
	if (sc->learn_neighbours && (!sc->routed || sc->tunnelled))
		REFUSE(b->r.sink, &b->k.neighbours,
		       "the switches bridge their hosts, and ask for no MAC address" CURE
		       "give forwarding: route");
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
		h->vlan = (int)b->host_keys[i].vlan.n;
		h->ip6 = b->host_keys[i].ip6.n != 0;
		h->nic.ip = ip_key_v4(h->ip);
		h->nic.ip6 = sc_host_ip6(h);
		h->nic.any_vlan = true;
		h->nic.seed = scenario_seed(sc, "nic", i);
		h->nic.listen = true;
	}
	if (sc->n_hosts == 0 && b->r.sink->n_errors == 0)
		diag_add(b->r.sink, DIAG_ERROR, b->k.map.at, "hosts",
			 "is required: a run needs hosts");
}

// ---- the whole
static void build(struct sc_builder *b)
{
	struct scenario *sc = b->sc;
	unsigned mistakes = b->r.sink->n_errors;

	take_values(b);
	mechanisms_take(sc, &b->k.without);
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
	mechanisms_off_in_hosts(sc);
	sc->flows = b->k.flows.items;
	sc->n_flows = b->k.flows.n;
	if (traffic_resolve(sc, b->r.sink) != 0)
		sc->n_flows = 0;
	check_end(b);
	sc_build_faults(b);
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
static bool has_policies_and_speeds(const struct scenario *sc)
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
	if (err != 0 && b.sound && !b.unlinked && has_policies_and_speeds(sc))
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
