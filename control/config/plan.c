// SPDX-License-Identifier: Apache-2.0
#include "control/config/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/terminal.h"
#include "control/config/compile.h"
#include "dataplane/base/bits.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "drivers/standin/standin.h"
#include "drivers/xdp/xdp.h"

enum {
	BAD = 2,
	WIRE_OVERHEAD = 24, // FCS, preamble, gap
	NAME_WIDTH = 8, // of a column, at least
};

static const uint64_t Q16 = 1 << 16;
static const uint64_t BITS_NS = 8ull * SECOND_NS; // bit/s times ns in a byte

__extension__ typedef unsigned __int128 wide;

// The slowest speed of the headroom table needs the least headroom. A policy that does not fit with
// it never fits.
static const uint64_t LEAST_SPEED_BPS = 1000000000;

// ---- JSON
struct number {
	const char *key;
	uint64_t value;
};

#define ADD_NUMBERS(o, ...)                                                                        \
	add_numbers(o, (const struct number[]){__VA_ARGS__},                                       \
		    sizeof((const struct number[]){__VA_ARGS__}) / sizeof(struct number))

static void add_numbers(struct json_object *o, const struct number *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_object_object_add(o, numbers[i].key, json_object_new_uint64(numbers[i].value));
}

static void add_plan_text(struct json_object *o, const char *key, const char *v)
{
	json_object_object_add(o, key, v == NULL ? NULL : json_object_new_string(v));
}

static void add_bool(struct json_object *o, const char *key, bool v)
{
	json_object_object_add(o, key, json_object_new_boolean(v));
}

// Puts a new map or list under the key.
static struct json_object *added(struct json_object *o, const char *key, struct json_object *v)
{
	json_object_object_add(o, key, v);
	return v;
}

static void append_text(struct json_object *list, const char *v)
{
	json_object_array_add(list, json_object_new_string(v));
}

static void print_json(struct json_object *o, FILE *out)
{
	fprintf(out, "%s\n",
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

// ---- check
static void print_check_json(const char *path, bool ok, bool strict, const struct diags *d,
			     FILE *out)
{
	struct json_object *o = json_object_new_object(), *list;
	unsigned n_errors = strict ? d->n_messages : d->n_errors;

	add_plan_text(o, "file", path);
	add_bool(o, "ok", ok);
	json_object_object_add(o, "errors", json_object_new_int((int)n_errors));
	list = added(o, "messages", json_object_new_array());
	for (unsigned i = 0; i < d->n_messages; i++) {
		const struct diag_message *m = &d->messages[i];
		struct json_object *message = json_object_new_object();

		add_plan_text(message, "file", m->file);
		json_object_object_add(message, "line",
				       m->line == 0 ? NULL : json_object_new_int64(m->line));
		json_object_object_add(message, "column",
				       m->column == 0 ? NULL : json_object_new_int64(m->column));
		add_plan_text(message, "key", m->key);
		add_plan_text(message, "severity", m->is_error || strict ? "error" : "warning");
		add_plan_text(message, "text", m->text);
		add_plan_text(message, "hint", m->hint);
		json_object_array_add(list, message);
	}
	print_json(o, out);
}

static uint64_t whole_mb(uint64_t bytes)
{
	return (bytes + (1 << 20) - 1) >> 20;
}

// The memory of the policy on live ports; 0 where only the devices' facts give it.
static struct memory_plan memory_of(const struct config *c)
{
	struct memory_plan memory = {0};
	struct diags earlier = {0};
	struct policy *p = NULL;

	if (memory_compile(c, &p, &earlier) == 0)
		memory = memory_plan(c, p);
	diags_fini(&earlier); // reported already, or due to facts that only the devices know
	policy_destroy(p);
	return memory;
}

static void print_ok(const char *path, unsigned n_warnings, const struct policy *p,
		     const struct memory_plan *memory, FILE *out)
{
	unsigned n_lossless = 0;
	char warnings[32] = "", rings[64] = "";

	if (memory->apart_bytes != 0)
		snprintf(rings, sizeof(rings), ", %" PRIu64 " MB of ordinary pages for rings",
			 whole_mb(memory->apart_bytes));
	for (unsigned i = 0; i < p->n_ports; i++)
		n_lossless += (unsigned)__builtin_popcount(p->ports[i].classify.lossless);
	if (n_warnings > 0)
		snprintf(warnings, sizeof(warnings), ", %u warning%s", n_warnings,
			 n_warnings == 1 ? "" : "s");
	terminal_printf(out,
			"%s: ok%s (%u port%s, %u lossless group%s, %" PRIu64 " B of headroom, "
			"%" PRIu64 " MB of hugepages%s)\n",
			path, warnings, p->n_ports, p->n_ports == 1 ? "" : "s", n_lossless,
			n_lossless == 1 ? "" : "s",
			(uint64_t)p->buffer.headroom_pool_cells * p->cell.bytes,
			whole_mb(memory->huge_bytes), rings);
}

// These are no warnings: --strict judges a file, which may be for another machine.
static void print_notes(const char *path, const struct config *c, const struct policy *p, FILE *out)
{
	char note[SPEED_NOTE_LEN];

	if (config_missing_note(c, note, sizeof(note)) != NULL)
		terminal_printf(out, "%s: note: %s\n", path, note);
	if (config_speed_note(c, p, note, sizeof(note)) != NULL)
		terminal_printf(out, "%s: note: %s\n", path, note);
}

int check_print(const char *path, bool json, bool strict, FILE *out)
{
	struct diags d = {0};
	struct config *c = NULL;
	struct policy *p = NULL;
	struct memory_plan memory = {0};
	unsigned n_warnings;
	bool ok;
	int err = config_load(path, &c, &d);

	err = err == 0 ? config_check_live(c, &d) : err;
	if (err == 0)
		err = compile_policy(c, NULL, LEAST_SPEED_BPS, &p, &d);
	if (err == 0)
		memory = memory_of(c);
	if (err == 0)
		advice_add(c, NULL, p, advice_processors(), &d);
	n_warnings = d.n_messages - d.n_errors;
	ok = err == 0 && !(strict && n_warnings > 0);
	if (json)
		print_check_json(path, ok, strict, &d, out);
	else
		diags_print(&d);
	if (!json && ok)
		print_ok(path, n_warnings, p, &memory, out);
	if (!json && ok)
		print_notes(path, c, p, out);
	else if (!json && err == 0)
		terminal_printf(stderr, "%s: %u warning%s, and --strict takes them as mistakes\n",
				path, n_warnings, n_warnings == 1 ? "" : "s");
	else if (!json && d.messages[0].line != 0)
		terminal_printf(stderr,
				"%s: more errors and warnings may come when these are mended\n",
				path);
	policy_destroy(p);
	config_destroy(c);
	diags_fini(&d);
	return ok ? 0 : BAD;
}

// ---- groups and pools
// Every lossless class of every port.
#define FOR_EACH_GROUP(p, i, cls)                                                                  \
	for (unsigned i = 0; i < (p)->n_ports; i++)                                                \
		for_each_bit (cls, (p)->ports[i].classify.lossless)

struct plan_pg {
	unsigned pg;
	// Bytes.
	uint64_t min, shared, xoff, xoff_at, xoff_alone, xon_at, xon_alone, t_flight, neighbour;
};

static struct plan_pg plan_pg(const struct config *c, const struct policy *p, unsigned port,
			      unsigned cls)
{
	const struct policy_port *pp = &p->ports[port];
	unsigned pg = pp->classify.class_to_pg[cls];
	const struct pg_params *params = &pp->pg[pg];
	uint64_t free_cells = p->buffer.ingress_pool_cells, cell = p->cell.bytes;
	struct plan_pg r = {.pg = pg};

	r.min = params->min_cells * cell;
	r.xoff = compile_xoff_bytes(c, &c->ports[port], pg, pp->speed_bps);
	r.shared = min_u64(free_cells, threshold_cells(&params->shared, free_cells)) * cell;
	r.xoff_at = r.min + r.shared;
	r.xoff_alone = (params->min_cells + plan_alone_cells(&params->shared, free_cells)) * cell;
	r.xon_alone = plan_xon_alone_cells(params, free_cells) * cell;
	r.xon_at = r.min + min_u64(free_cells, pg_xon_at(params, free_cells)) * cell;
	r.t_flight = compile_flight_bytes(c, &c->ports[port], pg, pp->speed_bps);
	r.neighbour = (uint64_t)pp->tx_ring_bytes + pp->max_frame;
	return r;
}

enum { N_POOLS = 6 };

static void pools(const struct policy *p, struct number out[N_POOLS])
{
	uint64_t cell = p->cell.bytes, headroom = p->buffer.headroom_pool_cells;
	const struct buffer_params *b = &p->buffer;

	out[0] = (struct number){"buffer", b->total_cells * cell};
	out[1] = (struct number){"min", (b->total_cells - b->ingress_pool_cells - headroom) * cell};
	out[2] = (struct number){"headroom", headroom * cell};
	out[3] = (struct number){"ingress", b->ingress_pool_cells * cell};
	out[4] = (struct number){"egress_lossy", b->egress_lossy_cells * cell};
	out[5] = (struct number){"egress_lossless", b->total_cells * cell};
}

static const char *const ecn_sentences[] = {
	"The port sends frames of full size at line rate.",
	"All lossless groups of the port send in turn, and never slow down.",
	"The frames go to all other ports with ECN in turn.",
	"Or they go to the ports of one WRED setting, or to the slowest one.",
	"The traffic with the fewest marks counts.",
	"Of several outputs each sends at most half of what arrives.",
	"One output alone sends its part of an incast of all other ports.",
};
enum { N_SENTENCES = sizeof(ecn_sentences) / sizeof(ecn_sentences[0]) };

static struct json_object *pgs_json(const struct config *c, const struct policy *p)
{
	struct json_object *list = json_object_new_array();

	FOR_EACH_GROUP (p, i, cls) {
		const struct plan_pg g = plan_pg(c, p, i, cls);
		const struct plan_ecn e = plan_ecn(p, i, cls);
		struct json_object *o = json_object_new_object(), *outputs;

		add_plan_text(o, "port", p->ports[i].name);
		ADD_NUMBERS(o, {"class", cls}, {"pg", g.pg}, {"min_bytes", g.min},
			    {"shared_bytes", g.shared}, {"headroom_bytes", g.xoff},
			    {"xoff_bytes", g.xoff}, {"xoff_cells", p->ports[i].pg[g.pg].xoff_cells},
			    {"xoff_at_bytes", g.xoff_at}, {"xoff_alone_bytes", g.xoff_alone},
			    {"xon_at_bytes", g.xon_at}, {"xon_alone_bytes", g.xon_alone},
			    {"t_flight_bytes", g.t_flight});
		add_bool(o, "headroom_holds", g.xoff >= g.t_flight);
		ADD_NUMBERS(o, {"neighbour_must_reserve_bytes", g.neighbour});
		add_bool(o, "ecn", e.n_outputs != 0);
		outputs = added(o, "ecn_outputs", json_object_new_array());
		for (unsigned to = 0; to < p->n_ports; to++)
			if (e.output[to])
				append_text(outputs, p->ports[to].name);
		ADD_NUMBERS(o, {"kmin_bytes", e.kmin_bytes}, {"ecn_frames_to_xoff", e.n_frames},
			    {"ecn_queue_bytes", e.queue_bytes},
			    {"ecn_average_bytes", e.average_bytes});
		json_object_object_add(o, "ecn_marks_to_xoff",
				       json_object_new_double(plan_ecn_marks(&e)));
		add_plan_text(o, "ecn_before_pfc", plan_ecn_word(e.verdict));
		json_object_array_add(list, o);
	}
	return list;
}

// The first column holds the longest name.
static int name_width(const struct policy *p)
{
	size_t width = NAME_WIDTH;

	for (unsigned i = 0; i < p->n_ports; i++)
		if (strlen(p->ports[i].name) > width)
			width = strlen(p->ports[i].name);
	return (int)width;
}

static void groups_text(const struct config *c, const struct policy *p, FILE *out)
{
	fprintf(out, "\n%-*s %5s %9s %9s %9s %10s %10s %10s\n", name_width(p), "pfc", "class",
		"min", "xoff", "t_flight", "xoff_at", "alone", "xon_at");
	FOR_EACH_GROUP (p, i, cls) {
		const struct plan_pg g = plan_pg(c, p, i, cls);

		fprintf(out,
			PLAN_ROW "%-*s %5u %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %10" PRIu64
				 " %10" PRIu64 " %10" PRIu64 "\n",
			name_width(p), p->ports[i].name, cls, g.min, g.xoff, g.t_flight, g.xoff_at,
			g.xoff_alone, g.xon_at);
		if (g.xoff < g.t_flight)
			fputs("  headroom is smaller than t_flight\n", out);
	}
	fprintf(out, "\n%-*s %5s %9s\n", name_width(p), "peer", "class", "neighbour");
	FOR_EACH_GROUP (p, i, cls)
		fprintf(out, PLAN_ROW "%-*s %5u %9" PRIu64 "\n", name_width(p), p->ports[i].name,
			cls, plan_pg(c, p, i, cls).neighbour);
	fprintf(out,
		"\nBytes throughout.\n"
		"xoff       headroom: the group accepts this much after its PAUSE has left\n"
		"t_flight   most that can be in flight then: xoff must not be smaller\n"
		"xoff_at    min + T in an empty shared pool; T is at most the pool\n"
		"alone      the group enters XOFF here if no other group uses the switch\n"
		"xon_at     min + shared use: at or below it the group sends XON (empty pool)\n"
		"neighbour  the port still sends this much after a PAUSE has arrived: its\n"
		"           transmit ring and the frame on the wire. The peer must reserve it\n"
		"           in addition to cable and response.\n");
}

static void ecn_text(const struct policy *p, FILE *out)
{
	fprintf(out, "\n%-*s %5s %10s %3s %8s %10s %10s %7s %s\n", name_width(p), "ecn", "class",
		"kmin", "out", "frames", "queue", "average", "marks", "verdict");
	FOR_EACH_GROUP (p, i, cls) {
		const struct plan_ecn e = plan_ecn(p, i, cls);

		fprintf(out,
			PLAN_ROW "%-*s %5u %10" PRIu64 " %3u %8" PRIu64 " %10" PRIu64 " %10" PRIu64
			" %7.4g %s\n",
			name_width(p), p->ports[i].name, cls, e.kmin_bytes, e.n_outputs, e.n_frames,
			e.queue_bytes, e.average_bytes, plan_ecn_marks(&e),
			e.n_outputs == 0 ? "no ECN" : plan_ecn_word(e.verdict));
	}
	fprintf(out,
		"\n"
		"out        outputs that the frames go to\n"
		"frames     of the class, before the frame that enters XOFF\n"
		"queue      the longest output queue at XOFF\n"
		"average    the same queue as WRED sees it, with its weight\n"
		"marks      expected before XOFF: sum of p(average) over the frames that the\n"
		"           queues decide about\n"
		"verdict    ECN before PFC: yes, more than 10 marks; marginal, 0.1 to 10; no,\n"
		"           fewer than 0.1\n");
	for (unsigned i = 0; i < N_SENTENCES; i++)
		fprintf(out, "%-10s %s\n", i == 0 ? "traffic" : "", ecn_sentences[i]);
}

// ---- watchdogs, early warnings, chains of the guards
static bool warns(const struct policy_port *p)
{
	return p->pfc_warning.in_pps != 0 || p->pfc_warning.out_pps != 0;
}

static void warning_text(const struct policy *p, FILE *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_ports; i++) {
		const struct pfc_warning_params *w = &p->ports[i].pfc_warning;

		if (!warns(&p->ports[i]))
			continue;
		if (n++ == 0)
			fprintf(out, "\n%-13s %9s %9s  PFC frames/s of a class; 0: no warning\n",
				"early_warning", "in", "out");
		fprintf(out, PLAN_ROW "%-13s %9u %9u\n", p->ports[i].name, w->in_pps, w->out_pps);
	}
}

// False: another rule leads to this DSCP.
static bool begins_chain(const struct guard_params *g, uint8_t dscp)
{
	for (unsigned i = 0; i < g->n_rules; i++)
		if (g->rules[i].to_dscp == dscp)
			return false;
	return true;
}

static void chain_line(const struct policy_port *p, uint8_t dscp, FILE *out)
{
	uint8_t chain[GUARD_CHAIN_MAX];
	unsigned n = guard_chain(&p->guard, dscp, chain);

	for (unsigned i = 0; i < n; i++) {
		unsigned cls = p->classify.dscp_to_class[chain[i]];

		fprintf(out, "%s%u (class %u%s)", i == 0 ? "  DSCP " : " -> ", chain[i], cls,
			p->classify.lossless >> cls & 1 ? "" : ", lossy");
	}
	fputc('\n', out);
}

static void guard_text(const struct policy *p, FILE *out)
{
	for (unsigned group = 1; group <= p->n_guard_groups; group++) {
		const struct policy_port *first = NULL;

		fprintf(out, "\nguard %s:", p->guard_groups[group - 1]);
		for (unsigned i = 0; i < p->n_ports; i++) {
			if (p->ports[i].guard.group != group)
				continue;
			first = first == NULL ? &p->ports[i] : first;
			fprintf(out, " %s", p->ports[i].name);
		}
		fputc('\n', out);
		for (unsigned i = 0; first != NULL && i < first->guard.n_rules; i++)
			if (begins_chain(&first->guard, first->guard.rules[i].dscp))
				chain_line(first, first->guard.rules[i].dscp, out);
	}
}

static void storm_port_json(const struct policy_port *p, struct json_object *port)
{
	plan_watchdog_json(p, port);
	plan_pause_json(p, port);
	if (warns(p))
		ADD_NUMBERS(added(port, "pfc_warning", json_object_new_object()),
			    {"in_pps", p->pfc_warning.in_pps}, {"out_pps", p->pfc_warning.out_pps});
}

static struct json_object *rule_json(const struct guard_params *g, const struct guard_rule *r)
{
	struct json_object *o = json_object_new_object(), *list;
	uint8_t chain[GUARD_CHAIN_MAX];
	unsigned n = guard_chain(g, r->dscp, chain);

	ADD_NUMBERS(o, {"dscp", r->dscp}, {"to_class", r->to_class}, {"to_dscp", r->to_dscp});
	list = added(o, "chain", json_object_new_array());
	for (unsigned i = 0; i < n; i++)
		json_object_array_add(list, json_object_new_int(chain[i]));
	return o;
}

static struct json_object *guards_json(const struct policy *p)
{
	struct json_object *list = json_object_new_array();

	for (unsigned group = 1; group <= p->n_guard_groups; group++) {
		const struct guard_params *g = NULL;
		struct json_object *o = json_object_new_object(), *ports, *rules;

		add_plan_text(o, "group", p->guard_groups[group - 1]);
		ports = added(o, "ports", json_object_new_array());
		rules = added(o, "rules", json_object_new_array());
		for (unsigned i = 0; i < p->n_ports; i++) {
			if (p->ports[i].guard.group != group)
				continue;
			g = &p->ports[i].guard; // all ports of a group have the same
			append_text(ports, p->ports[i].name);
		}
		for (unsigned i = 0; g != NULL && i < g->n_rules; i++)
			json_object_array_add(rules, rule_json(g, &g->rules[i]));
		json_object_array_add(list, o);
	}
	return list;
}

// ---- workers that stand still
// The receive ring of each port must hold all frames until the PAUSE of the stand-in acts
// (drivers/standin).

// The frames of a port from the last loop of its worker until the peer has stopped.
struct plan_stall {
	bool interface; // the stand-in can send by the port
	uint64_t bytes; // on the wire, with gaps and preambles
	uint64_t ring; // frames
	uint64_t least_frame; // mean frame bytes from which the ring suffices
	uint64_t ring_needed; // for frames of full size; a power of two
	// The largest pause_after with frames of full size: with this ring, and with the longest.
	uint64_t age_ns, longest_age_ns;
	bool holds; // frames of full size
};

// The largest number of bytes that the peer sends after the PAUSE has left.
static uint64_t flight_bytes(const struct config *c, const struct policy *p, unsigned port)
{
	const struct policy_port *pp = &p->ports[port];
	uint64_t most = 0;

	for_each_bit (cls, pp->classify.lossless)
		most = max_u64(most,
			       compile_flight_bytes(c, &c->ports[port],
						    pp->classify.class_to_pg[cls], pp->speed_bps));
	return most;
}

static uint64_t power_of_two(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

// With a ring that holds so many bytes.
static uint64_t longest_age_ns(uint64_t room, uint64_t flight, uint64_t per_s)
{
	room -= room < flight ? room : flight;
	return (uint64_t)((wide)room * BITS_NS / per_s) * STANDIN_LOOKS / (STANDIN_LOOKS + 1);
}

// False: the port has no PFC to send, or the policy has no `pause_after`.
static bool plan_stall(const struct config *c, const struct policy *p, unsigned port,
		       struct plan_stall *out)
{
	const struct policy_port *pp = &p->ports[port];
	uint64_t age_ns = p->stall.pause_after_ns, flight = flight_bytes(c, p, port);
	uint64_t full = pp->max_frame + WIRE_OVERHEAD;
	uint64_t ring = (uint64_t)c->ports[port].item->rx_ring.n;
	uint64_t per_s = pp->speed_bps / config_time_scale(c) + 1;

	*out = (struct plan_stall){.interface = strncmp(pp->device, "xdp:", 4) == 0};
	if (age_ns == 0 || (pp->pfc.tx & pp->pfc.lossless) == 0)
		return false;
	out->bytes = (uint64_t)((wide)(age_ns + age_ns / STANDIN_LOOKS) * per_s / BITS_NS) + flight;
	out->ring = ring != 0 ? power_of_two(ring) : XDP_RX_RING_DEFAULT;
	out->least_frame = out->bytes / out->ring;
	out->least_frame -= out->least_frame < WIRE_OVERHEAD ? out->least_frame : WIRE_OVERHEAD;
	out->ring_needed = power_of_two((out->bytes + full - 1) / full);
	out->age_ns = longest_age_ns(out->ring * full, flight, per_s);
	out->longest_age_ns = longest_age_ns(XDP_RX_RING_MAX * full, flight, per_s);
	out->holds = out->bytes <= out->ring * full;
	return true;
}

static void stall_line(const struct policy *p, const char *name, const struct plan_stall *s,
		       FILE *out)
{
	if (!s->interface) {
		fprintf(out,
			PLAN_ROW "%-*s %11s %8s %10s %11s\n"
			"  no PAUSE while its worker stands still: no kernel interface\n",
			name_width(p), name, "-", "-", "-", "-");
		return;
	}
	fprintf(out, PLAN_ROW "%-*s %11s %8" PRIu64 " %10" PRIu64 " %11" PRIu64, name_width(p),
		name, UNIT_TEXT(UNIT_TIME, (int64_t)p->stall.pause_after_ns), s->ring, s->bytes,
		s->least_frame);
	fputs(s->holds ? "  holds\n" : "\n  TOO SMALL, frames are lost", out);
	if (s->holds)
		return;
	if (s->longest_age_ns < MS_NS)
		fputs(", and no ring is large enough\n", out);
	else if (s->ring_needed > XDP_RX_RING_MAX)
		fprintf(out, ": rx_ring: %u and switch.stall.pause_after: %" PRIu64 "ms\n",
			XDP_RX_RING_MAX, s->longest_age_ns / MS_NS);
	else if (s->age_ns < MS_NS)
		fprintf(out, ": rx_ring: %" PRIu64 "\n", s->ring_needed);
	else
		fprintf(out, ": rx_ring: %" PRIu64 ", or switch.stall.pause_after: %" PRIu64 "ms\n",
			s->ring_needed, s->age_ns / MS_NS);
}

static void stall_text(const struct config *c, const struct policy *p, FILE *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_ports; i++) {
		struct plan_stall s;

		if (!plan_stall(c, p, i, &s))
			continue;
		if (n++ == 0)
			fprintf(out, "\n%-*s %11s %8s %10s %11s  %s\n", name_width(p), "stall",
				"pause_after", "rx_ring", "arrive", "least_frame", "verdict");
		stall_line(p, p->ports[i].name, &s, out);
	}
	if (n != 0)
		fputs("\n"
		      "arrive       bytes on the wire from the last loop of a worker until its\n"
		      "             peer has stopped: 1.25 * pause_after, and t_flight\n"
		      "least_frame  the receive ring holds these bytes if the mean frame has at\n"
		      "             least this many bytes\n",
		      out);
}

static void stall_port_json(const struct config *c, const struct policy *p, unsigned port,
			    struct json_object *o)
{
	struct json_object *stall;
	struct plan_stall s;

	if (!plan_stall(c, p, port, &s))
		return;
	stall = added(o, "stall", json_object_new_object());
	add_bool(stall, "interface", s.interface);
	ADD_NUMBERS(stall, {"pause_after_ns", p->stall.pause_after_ns}, {"rx_ring", s.ring},
		    {"arrive_bytes", s.bytes}, {"least_frame_bytes", s.least_frame},
		    {"rx_ring_needed", s.ring_needed});
	add_bool(stall, "holds", s.holds);
}

// ---- flow table and queues that send notifications
static uint64_t deep_bytes(const struct ipcc_params *i)
{
	return i->kmax_bytes * i->deep_q16 / Q16;
}

// Groups that fill a queue together: each has its min, and `share` of its threshold.
struct fill {
	uint64_t min_cells, static_cells;
	uint64_t alpha_q24; // sum of share * alpha
};

static void fill_add(struct fill *f, uint64_t min_cells, const struct threshold *t,
		     uint32_t share_q16)
{
	f->min_cells += min_cells;
	if (t->dynamic)
		f->alpha_q24 += (uint64_t)share_q16 << (8 + t->alpha_log2);
	else
		f->static_cells += t->static_cells * (uint64_t)share_q16 >> 16;
}

// Each group has share * alpha * free. `free` is the part of the pool that no group uses.
static uint64_t fill_bytes(const struct policy *p, const struct fill *f, uint64_t pool)
{
	uint64_t fixed = min_u64(f->static_cells, pool), one_q24 = 1 << 24;
	uint64_t shared =
		(uint64_t)((wide)(pool - fixed) * f->alpha_q24 / (one_q24 + f->alpha_q24));

	return (f->min_cells + fixed + shared) * p->cell.bytes;
}

// A bitmap of the priority groups of a port. Frames of these groups go to the queue.
static unsigned groups_to(const struct policy_port *from, const struct policy_port *to,
			  unsigned queue)
{
	unsigned groups = 0;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (to->classify.class_to_queue[cls] == queue && from->classify.lossless >> cls & 1)
			groups |= 1u << from->classify.class_to_pg[cls];
	return groups;
}

struct ipcc_depth plan_ipcc_depth(const struct policy *p, unsigned port, unsigned queue,
				  uint32_t share_q16)
{
	const struct policy_port *to = &p->ports[port];
	const struct egress_params *e = &to->queue[queue].egress;
	struct ipcc_depth d = {0};
	struct fill all = {0};

	if (!e->lossless) {
		fill_add(&all, e->min_cells, &e->shared, share_q16);
		d.one = d.all = fill_bytes(p, &all, p->buffer.egress_lossy_cells);
		return d;
	}
	for (unsigned i = 0; i < p->n_ports; i++) {
		const struct policy_port *from = &p->ports[i];

		for_each_bit (g, i == port ? 0 : groups_to(from, to, queue)) {
			const struct pg_params *pg = &from->pg[g];
			struct fill one = {0};
			uint64_t bytes;

			fill_add(&one, pg->min_cells, &pg->shared, share_q16);
			fill_add(&all, pg->min_cells, &pg->shared, share_q16);
			bytes = fill_bytes(p, &one, p->buffer.ingress_pool_cells);
			d.one = d.one == 0 ? bytes : min_u64(bytes, d.one);
		}
	}
	d.all = fill_bytes(p, &all, p->buffer.ingress_pool_cells);
	return d;
}

// The bytes that the port sends in this time.
static uint64_t bytes_in(const struct policy_port *p, uint64_t ns)
{
	return (uint64_t)((wide)p->speed_bps * ns / (8ull * SECOND_NS));
}

#define FOR_EACH_IPCC(p, port, q)                                                                  \
	for (unsigned port = 0; port < (p)->n_ports; port++)                                       \
		for (unsigned q = 0; q < N_QUEUES; q++)                                            \
			if ((p)->ports[port].queue[q].ipcc.enabled)

static void flows_text(const struct policy *p, FILE *out)
{
	if (p->flows.max == 0)
		fputs("\nflows: no table\n", out);
	else
		fprintf(out,
			"\nflows: %u, age %s, %u static pairs\n"
			"  memory, with IPCC: %" PRIu64 " B\n",
			p->flows.max, UNIT_TEXT(UNIT_TIME, (int64_t)p->flows.age_ns), p->n_pairs,
			config_flow_bytes(p));
}

static void ipcc_text(const struct policy *p, FILE *out)
{
	unsigned n = 0;

	FOR_EACH_IPCC (p, port, q) {
		const struct policy_port *pp = &p->ports[port];
		const struct ipcc_params *i = &pp->queue[q].ipcc;

		if (n++ == 0)
			fprintf(out, "\n%-*s %5s %10s %10s %10s %8s %10s %3s %4s\n", name_width(p),
				"ipcc", "queue", "kmin", "kmax", "deep", "interval", "sent_in_it",
				"few", "many");
		fprintf(out,
			PLAN_ROW "%-*s %5u %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %8s %10" PRIu64
			" %3u %4u\n",
			name_width(p), pp->name, q, i->kmin_bytes, i->kmax_bytes, deep_bytes(i),
			UNIT_TEXT(UNIT_TIME, (int64_t)i->interval_ns), bytes_in(pp, i->interval_ns),
			i->few, i->many);
	}
	if (n == 0)
		return;
	fprintf(out, "\n%-*s %5s %6s %8s %8s %8s %12s %12s\n", name_width(p), "ipcc", "queue",
		"cut", "drain", "min_gap", "spare", "deep_one", "deep_all");
	FOR_EACH_IPCC (p, port, q) {
		const struct ipcc_params *i = &p->ports[port].queue[q].ipcc;
		const struct ipcc_depth deep = plan_ipcc_depth(p, port, q, i->deep_q16);
		char cut[32] = "learnt";

		if (!i->cut_learnt)
			snprintf(cut, sizeof(cut), "%" PRIu64 "%%",
				 ((uint64_t)i->cut_q16 * 100 + Q16 / 2) / Q16);
		fprintf(out, PLAN_ROW "%-*s %5u %6s %8s %8s %8s %12" PRIu64 " %12" PRIu64 "\n",
			name_width(p), p->ports[port].name, q, cut,
			UNIT_TEXT(UNIT_TIME, (int64_t)i->drain_ns),
			UNIT_TEXT(UNIT_TIME, (int64_t)i->min_gap_ns),
			UNIT_TEXT(UNIT_TIME, (int64_t)i->spare_ns), deep.one, deep.all);
	}
	fputs("\n"
	      "deep        from this length one look may send `many` CNPs, if the queue grows\n"
	      "deep_one    the same length if one port alone fills the queue: its priority\n"
	      "            group has then reached `deep` of its threshold\n"
	      "deep_all    the same length if all other ports fill the queue alike\n"
	      "sent_in_it  the port sends this much in one interval. Below one frame, the\n"
	      "            trend is that of single frames. Above kmax - kmin, a burst ends\n"
	      "            between two looks\n",
	      out);
	fprintf(out, "\n%-*s %5s %5s %10s %7s  CNPs of the switch that leave here\n", name_width(p),
		"cnp", "dscp", "class", "per_ms", "burst");
	for (unsigned i = 0; i < p->n_ports; i++) {
		const struct cnp_params *c = &p->ports[i].cnp;

		fprintf(out, PLAN_ROW "%-*s %5u %5u %10u %7u\n", name_width(p), p->ports[i].name,
			c->dscp, c->cls, c->max_per_ms, c->burst);
	}
}

static struct json_object *ipcc_json(const struct policy *p)
{
	struct json_object *list = json_object_new_array();

	FOR_EACH_IPCC (p, port, q) {
		const struct policy_port *pp = &p->ports[port];
		const struct ipcc_params *i = &pp->queue[q].ipcc;
		const struct ipcc_depth deep = plan_ipcc_depth(p, port, q, i->deep_q16);
		struct json_object *o = json_object_new_object();

		add_plan_text(o, "port", pp->name);
		ADD_NUMBERS(o, {"queue", q}, {"kmin_bytes", i->kmin_bytes},
			    {"kmax_bytes", i->kmax_bytes}, {"deep_bytes", deep_bytes(i)},
			    {"deep_one_bytes", deep.one}, {"deep_all_bytes", deep.all},
			    {"interval_ns", i->interval_ns},
			    {"interval_bytes", bytes_in(pp, i->interval_ns)}, {"few", i->few},
			    {"many", i->many});
		add_bool(o, "cut_learnt", i->cut_learnt);
		ADD_NUMBERS(o, {"cut_ppm", ((uint64_t)i->cut_q16 * PPM + Q16 / 2) / Q16},
			    {"drain_ns", i->drain_ns}, {"min_gap_ns", i->min_gap_ns},
			    {"spare_ns", i->spare_ns});
		json_object_array_add(list, o);
	}
	return list;
}

// ---- the whole plan
static struct json_object *ports_json(const struct config *c, const struct policy *p)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < p->n_ports; i++) {
		struct json_object *o = json_object_new_object();
		const struct policy_port *pp = &p->ports[i];

		add_plan_text(o, "name", pp->name);
		add_plan_text(o, "device", pp->device);
		ADD_NUMBERS(o, {"speed_bps", pp->speed_bps}, {"mtu_bytes", pp->mtu},
			    {"max_frame_bytes", pp->max_frame},
			    {"tx_ring_bytes", pp->tx_ring_bytes});
		storm_port_json(pp, o);
		ADD_NUMBERS(added(o, "cnp", json_object_new_object()), {"dscp", pp->cnp.dscp},
			    {"class", pp->cnp.cls}, {"max_per_ms", pp->cnp.max_per_ms},
			    {"burst", pp->cnp.burst});
		stall_port_json(c, p, i, o);
		json_object_array_add(list, o);
	}
	return list;
}

static void plan_json(const struct config *c, const struct policy *p, const struct memory_plan *m,
		      FILE *out)
{
	struct json_object *o = json_object_new_object(), *list;
	struct number lines[N_POOLS];

	pools(p, lines);
	add_plan_text(o, "name", p->name);
	ADD_NUMBERS(o, {"cell_bytes", p->cell.bytes});
	json_object_object_add(o, "ports", ports_json(c, p));
	json_object_object_add(o, "pgs", pgs_json(c, p));
	json_object_object_add(o, "queues", plan_queues_json(p));
	list = added(o, "ecn_traffic", json_object_new_array());
	for (unsigned i = 0; i < N_SENTENCES; i++)
		append_text(list, ecn_sentences[i]);
	list = added(o, "pools", json_object_new_array());
	for (unsigned i = 0; i < N_POOLS; i++) {
		struct json_object *pool = json_object_new_object();

		add_plan_text(pool, "name", lines[i].key);
		ADD_NUMBERS(pool, {"size_bytes", lines[i].value});
		json_object_array_add(list, pool);
	}
	ADD_NUMBERS(added(o, "memory", json_object_new_object()), {"frames", m->n_frames},
		    {"frame_bytes", m->frame_bytes}, {"pool_bytes", m->pool_bytes},
		    {"record_bytes", m->record_bytes}, {"table_bytes", m->table_bytes},
		    {"flow_bytes", m->flow_bytes}, {"hugepage_bytes", m->huge_bytes},
		    {"ordinary_page_bytes", m->normal_bytes}, {"apart_bytes", m->apart_bytes});
	json_object_object_add(o, "guards", guards_json(p));
	ADD_NUMBERS(added(o, "flows", json_object_new_object()), {"max", p->flows.max},
		    {"age_ns", p->flows.age_ns}, {"memory_bytes", config_flow_bytes(p)},
		    {"pairs", p->n_pairs});
	json_object_object_add(o, "ipcc", ipcc_json(p));
	print_json(o, out);
}

static void memory_text(const struct memory_plan *m, FILE *out)
{
	fprintf(out,
		"\nmemory of live ports: %" PRIu64 " MB of hugepages, or up to %" PRIu64
		" MB of ordinary pages\n"
		"  frames     %8" PRIu64 " MB: %u of %u B, one for each cell, and in rings\n"
		"  records    %8" PRIu64 " MB: what queues and rings keep of each frame\n"
		"  tables     %8" PRIu64 " MB\n"
		"  flows      %8" PRIu64 " MB\n",
		whole_mb(m->huge_bytes), whole_mb(m->normal_bytes), whole_mb(m->pool_bytes),
		m->n_frames, m->frame_bytes, whole_mb(m->record_bytes), whole_mb(m->table_bytes),
		whole_mb(m->flow_bytes));
	if (m->apart_bytes != 0)
		fprintf(out,
			"  apart      %8" PRIu64
			" MB of ordinary pages beside them, for rings\n",
			whole_mb(m->apart_bytes));
}

static void plan_text(const struct config *c, const struct policy *p, const struct memory_plan *m,
		      FILE *out)
{
	struct number lines[N_POOLS];

	pools(p, lines);
	fprintf(out, "switch %s: %u ports, cells of %u B\n\n%-15s %12s %10s\n", p->name, p->n_ports,
		p->cell.bytes, "pool", "bytes", "cells");
	for (unsigned i = 0; i < N_POOLS; i++)
		fprintf(out, "%-15s %12" PRIu64 " %10" PRIu64 "\n", lines[i].key, lines[i].value,
			lines[i].value / p->cell.bytes);
	groups_text(c, p, out);
	ecn_text(p, out);
	memory_text(m, out);
	plan_pause_text(p, name_width(p), out);
	plan_watchdog_text(p, name_width(p), out);
	warning_text(p, out);
	guard_text(p, out);
	stall_text(c, p, out);
	flows_text(p, out);
	ipcc_text(p, out);
}

static bool has_port(const struct policy *p, const char *port)
{
	unsigned i = 0;

	while (i < p->n_ports && strcmp(p->ports[i].name, port) != 0)
		i++;
	if (i == p->n_ports)
		fprintf(stderr, "the policy has no port named %s\n", port);
	return i < p->n_ports;
}

int plan_print(const struct config *c, bool json, const char *port, FILE *out)
{
	struct diags d = {0};
	struct policy *p = NULL;
	struct memory_plan memory = {0};
	char *text = NULL;
	size_t len;
	FILE *f;
	int err = config_compile(c, NULL, &p, &d);

	if (err == 0)
		memory = memory_of(c);
	diags_print(&d);
	diags_fini(&d);
	if (err != 0 || (port != NULL && !has_port(p, port))) {
		policy_destroy(p);
		return BAD;
	}
	if (json) {
		plan_json(c, p, &memory, out);
	} else if ((f = open_memstream(&text, &len)) != NULL) {
		plan_text(c, p, &memory, f);
		fclose(f);
		plan_rows(p, text, port, out);
		free(text);
	}
	policy_destroy(p);
	return 0;
}
