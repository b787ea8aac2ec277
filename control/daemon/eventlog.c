// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/eventlog.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include <json-c/json.h>

#include "control/autoecn/rule.h"
#include "control/base/json_in.h"
#include "control/daemon/journal.h"
#include "control/daemon/outlet.h"
#include "control/inof/registry.h"
#include "control/lldp/agent.h"
#include "control/observe/fact.h"
#include "dataplane/base/units.h"
#include "dataplane/drop.h"
#include "dataplane/forward/vtep.h"
#include "dataplane/iface.h"
#include "dataplane/qos/cause.h"
#include "dataplane/switch.h"
#include "dataplane/switch_impair.h"

enum {
	WINDOW_NS = SECOND_NS,
	TIME_LEN = 32,
	LINE_MAX_LEN = 1024,
	EVENT_ABOUT_LEN = 128,
	// Ports, then SVIs or tunnel peers, and last PORT_NONE (share_of_port).
	EVENT_NO_PORT = POLICY_MAX_PORTS + FDB_MAX_PEERS,
	EVENT_PORTS,
};

struct kept {
	struct event e;
	struct timespec wall;
	uint64_t seq; // from 1 on
	TAILQ_ENTRY(kept) by_time;
	STAILQ_ENTRY(kept) of_share;
	char about[EVENT_ABOUT_LEN]; // an address or a neighbour; empty: none
};

// The kept events of one port and type, the oldest first.
struct share {
	STAILQ_HEAD(, kept) kept;
	unsigned n;
};

// Places for events of some types.
struct pool {
	struct kept *places; // `size` of them, n of them in use
	unsigned size, n;
	uint16_t of_port[EVENT_PORTS]; // places that each port uses
};

struct limit {
	uint64_t window_ns; // start of the present second
	uint32_t written, suppressed; // in it
	uint8_t of_port[EVENT_PORTS]; // lines of each port in it
};

enum { POOL_WARNINGS = N_EVENT_TYPES, POOL_INFO, POOL_ROUTINE, N_EVENT_POOLS };

struct eventlog {
	const struct policy *policy;
	struct limit limit[N_EVENT_TYPES];
	uint64_t count[N_EVENT_TYPES], total; // since the start
	TAILQ_HEAD(by_time, kept) by_time; // all that are kept, the oldest first
	struct share share[EVENT_PORTS][N_EVENT_TYPES];
	// Each type of alarm has a pool of its own; lesser events share those behind these.
	struct pool pool[N_EVENT_POOLS];
	uint8_t pool_of[N_EVENT_TYPES];
	struct kept lesser[N_EVENT_POOLS - N_EVENT_TYPES][EVENTLOG_KEPT];
	struct kept alarms[N_EVENT_TYPES][EVENTLOG_ALARMS];
};
static_assert((int)N_IFACES <= (int)EVENT_NO_PORT, "each interface has a share");
static_assert(N_EVENT_POOLS <= UINT8_MAX && EVENTLOG_KEPT <= UINT16_MAX, "pool_of, of_port");

// ---- what the numbers of a record mean, per type

typedef void detail_fn(const struct eventlog *l, const struct event *e, struct json_object *row);

static void add_cells(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	row_u64(row, KEY(PGS, shared_bytes), (uint64_t)e->a * l->policy->cell.bytes);
}

// What held the group's buffer as it entered XOFF (qos/cause.h).
static void add_cause(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	struct pause_cause c = cause_unpack(e->t_ns, e->b);

	add_cells(l, e, row);
	if (c.kind != CAUSE_QUEUE || c.out_port >= l->policy->n_ports)
		return;
	row_text(row, KEY(CAUSES, cause_port), l->policy->ports[c.out_port].name);
	row_u64(row, KEY(CAUSES, cause_class), c.cls);
	row_u64(row, KEY(CAUSES, held_bytes), (uint64_t)c.held_cells * l->policy->cell.bytes);
	row_bool(row, "cause_paused", c.paused);
}

static void add_reason(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	(void)l;
	if (e->a < N_DROP_REASONS)
		row_text(row, KEY(DROPS, reason), drop_info[e->a].name);
}

static void add_port(const struct eventlog *l, struct json_object *row, const char *key,
		     uint64_t port)
{
	row_text(row, key, port < l->policy->n_ports ? l->policy->ports[port].name : "?");
}

static void add_loop(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	add_port(l, row, "sent_by", e->a & 0xffff);
	if (e->a >> 16 != 0)
		row_u64(row, KEY(FDB, vlan), e->a >> 16);
	if (e->b != 0)
		add_port(l, row, "taken_down", e->b - 1);
}

// Where an address is behind a tunnel.
static void add_peer(const struct eventlog *l, unsigned place, const char *key,
		     struct json_object *row)
{
	const uint8_t *peer = vtep_peer_at(l->policy->vtep, place);

	if (peer != NULL)
		row_text(row, key, vtep_text(l->policy->vtep, peer, (char[VTEP_TEXT_LEN]){""}));
}

// The other port: where the address came from, or where it may not go.
static void add_mac(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	port_no_t other = event_mac_other(e->a);
	char mac[18];
	unsigned at = 0;

	for (int shift = 40; shift >= 0; shift -= 8)
		at += (unsigned)snprintf(mac + at, sizeof(mac) - at, "%02x%s",
					 (unsigned)(e->b >> shift & 0xff), shift > 0 ? ":" : "");
	row_text(row, KEY(FDB, mac), mac);
	row_u64(row, KEY(FDB, vlan), event_mac_vid(e->a));
	if (other < l->policy->n_ports)
		row_text(row, "other_port", l->policy->ports[other].name);
	add_peer(l, e->port, KEY(TUNNEL_PEERS, peer), row);
	add_peer(l, other, "other_peer", row);
	if (event_mac_more(e->b) != 0)
		row_u64(row, "more", event_mac_more(e->b));
}

static void add_station(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	add_mac(l, e, row);
	json_object_object_del(row, KEY(FDB, vlan));
}

static void add_neighbour(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	const struct event mac = {.b = e->b & 0xffffffffffff};
	char ip[40];

	if (e->b >> 48 != 0)
		snprintf(ip, sizeof(ip), "...:%x:%x", e->a >> 16, e->a & 0xffff);
	else
		snprintf(ip, sizeof(ip), "%u.%u.%u.%u", e->a >> 24, e->a >> 16 & 0xff,
			 e->a >> 8 & 0xff, e->a & 0xff);
	row_text(row, KEY(NEIGHBOURS, ip), ip);
	add_station(l, &mac, row);
}

static void add_unknown(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	add_mac(l, e, row);
	row_text(row, "hint",
		 "not flooded, as the class is lossless: enter the address into fdb, let the "
		 "station send first, or set flood: on");
}

static void add_queue(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	(void)l;
	if (e->b > 0)
		row_u64(row, KEY(QUEUES, queue), e->b - 1);
}

static void add_class_numbers(struct json_object *row, const char *key, unsigned classes)
{
	struct json_object *list = list_in(row, key);

	for_each_bit (cls, classes)
		json_object_array_add(list, json_object_new_int((int)cls));
}

static void add_dcbx(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	(void)l;
	add_class_numbers(row, KEY(DCBX, host_pfc), e->a & 0xff);
	add_class_numbers(row, KEY(DCBX, switch_pfc), e->a >> 8 & 0xff);
	if ((e->b & 0xff) != 0)
		row_u64(row, KEY(DCBX, host_roce), (e->b & 0xff) - 1);
	if (e->b >> 8 != 0)
		row_u64(row, KEY(DCBX, switch_roce), (e->b >> 8) - 1);
}

static void add_pfc(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	(void)l;
	add_class_numbers(row, KEY(DCBX, active), e->a & 0xff);
	add_class_numbers(row, KEY(DCBX, switch_pfc), e->a >> 8 & 0xff);
}

static void add_thresholds(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	unsigned why = e->a & 0xff, mode = e->a >> 8 & 0xff;

	(void)l;
	row_text(row, KEY(ECN_AUTO, reason), why < N_ECN_WHYS ? ecn_why_text[why] : "?");
	row_text(row, KEY(ECN_AUTO, mode), mode < N_ECN_MODES ? ecn_mode_name[mode] : "?");
	row_text(row, KEY(ECN_AUTO, action), e->a >> 16 & 1 ? "on" : "advise");
	row_u64(row, "kmin_before_bytes", e->b & UINT32_MAX);
	row_u64(row, KEY(ECN_AUTO, kmin_bytes), e->b >> 32);
}

static void add_impairment(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	(void)l;
	row_u64(row, KEY(IMPAIRMENTS, rule), e->a & 0xffffff);
}

static void add_impairment_end(const struct eventlog *l, const struct event *e,
			       struct json_object *row)
{
	unsigned why = e->a >> 24;

	add_impairment(l, e, row);
	row_text(row, KEY(IMPAIRMENTS, state), why < N_IMPAIR_WHYS ? impair_why_name[why] : "?");
}

// The worker, and the ports that are its own (switch_create).
static void add_worker(const struct eventlog *l, const struct event *e, struct json_object *row)
{
	struct json_object *ports;

	row_u64(row, KEY(WORKERS, worker), e->a);
	ports = list_in(row, KEY(WORKERS, ports));
	for (unsigned i = e->a; i < l->policy->n_ports; i += l->policy->n_workers)
		json_object_array_add(ports, json_object_new_string(l->policy->ports[i].name));
}

// A number of the record under its key.
struct detail {
	enum { OF_NONE, OF_A, OF_B, OF_B_US } of; // OF_B_US: nanoseconds, shown in microseconds
	const char *key; // NULL: that of the fact
	enum fact_id fact;
	const char *const *words; // NULL: the number itself
	unsigned n_words;
};

#define OWN(key) key, 0
#define KNOWN(list, key) NULL, F_##list##_##key
#define WORDS(w) w, sizeof(w) / sizeof((w)[0])
static const char *const off_on[] = {"off", "on"}, *const in_out[] = {"in", "out"};
static const char *const actions[] = {
	[WATCHDOG_DROP] = "drop", [WATCHDOG_FORWARD] = "forward", [WATCHDOG_ALERT] = "alert"};
static const char *const limits[] = {
	[WATCHDOG_PFC_OFF] = "pfc-off", [WATCHDOG_PORT_DOWN] = "port-down"};
static const char *const limited[] = {
	[LIMIT_COPP] = "copp", [LIMIT_BROADCAST] = "broadcast",
	[LIMIT_UNKNOWN_UNICAST] = "unknown-unicast", [LIMIT_MULTICAST] = "multicast"};
static const char *const pfc_causes[] = {
	[DCBX_PFC_BY_AUTO] = "pfc.mode", [DCBX_PFC_BY_WILLING] = "lldp.willing"};

#define HOW_MANY {OF_B, OWN("count")} // since the last such event
#define LIMITED {OF_A, KNOWN(CAUSES, kind), WORDS(limited)}, HOW_MANY
#define PFC_RATE {OF_A, OWN("direction"), WORDS(in_out)}, {OF_B, OWN("frames_per_s")}
static const struct {
	const char *severity;
	detail_fn *add; // before the details; NULL: none
	struct detail details[2];
} shape[] = {
	[EVENT_XOFF] = {"info", add_cause},
	[EVENT_XON] = {"info", add_cells},
	[EVENT_LOSSLESS_DROP] = {"alarm", add_reason, {{OF_B, OWN("frame_bytes")}}},
	[EVENT_STORM] = {"alarm", NULL,
			 {{OF_A, KNOWN(WATCHDOG, action), WORDS(actions)},
			  {OF_B_US, OWN("measured_us")}}},
	[EVENT_STORM_OVER] = {"info", NULL,
			 {{OF_B_US, KNOWN(WATCHDOG, storm_us)},
			  {OF_A, OWN("pfc"), WORDS(off_on)}}},
	[EVENT_STORM_LIMIT] = {"alarm", NULL,
			 {{OF_A, OWN("then"), WORDS(limits)}, {OF_B, OWN("storms")}}},
	[EVENT_STORM_RECOVERED] = {"info"},
	[EVENT_DROP_ALL] = {"warning", NULL, {{OF_A, KNOWN(VERSION, drop_all), WORDS(off_on)}}},
	[EVENT_PFC_RATE_UP] = {"warning", NULL, {PFC_RATE}},
	[EVENT_PFC_RATE_DOWN] = {"info", NULL, {PFC_RATE}},
	[EVENT_PFC_PAUSED] = {"warning", NULL, {{OF_B, OWN("paused_us_per_s")}}},
	[EVENT_PFC_PAUSED_OVER] = {"info", NULL, {{OF_B, OWN("paused_us_per_s")}}},
	[EVENT_PAUSE_IGNORED] = {"warning", NULL, {{OF_B, KNOWN(STAND_IN, frames)}}},
	[EVENT_PAIR_DROPPED] = {"warning", NULL, {HOW_MANY}},
	[EVENT_FLOWS_FULL] = {"warning", NULL, {HOW_MANY}},
	[EVENT_CNP_CAP] = {"warning", NULL, {HOW_MANY}},
	[EVENT_ELEPHANTS] = {"info", NULL, {{OF_A, KNOWN(ELEPHANTS, now)}, HOW_MANY}},
	[EVENT_ELEPHANTS_OVER] = {"info", NULL, {{OF_A, KNOWN(ELEPHANTS, now)}, HOW_MANY}},
	[EVENT_LINK_UP] = {"info"},
	[EVENT_LINK_DOWN] = {"warning"},
	[EVENT_WORKER_STALLED] = {"alarm", add_worker, {{OF_B_US, OWN("stood_still_us")}}},
	[EVENT_WORKER_RECOVERED] = {"info", add_worker, {{OF_B_US, OWN("stood_still_us")}}},
	[EVENT_STANDIN_PAUSED] = {"warning", NULL,
			 {{OF_A, KNOWN(WORKERS, worker)}, {OF_B, KNOWN(STAND_IN, frames)}}},
	[EVENT_STANDIN_GAVE_UP] = {"alarm", add_worker},
	[EVENT_STANDIN_ENDED] = {"alarm"},
	[EVENT_RX_MISSED] = {"alarm", NULL, {{OF_B, KNOWN(DROPS, packets)}}},
	[EVENT_RX_GUARD] = {"warning", NULL, {{OF_A, KNOWN(PORTS, rx_depth)}, HOW_MANY}},
	[EVENT_MAC_LEARNED] = {"info", add_mac},
	[EVENT_MAC_MOVED] = {"warning", add_mac},
	[EVENT_MAC_AGED] = {"info", add_mac},
	[EVENT_LOSSLESS_UNKNOWN] = {"warning", add_unknown},
	[EVENT_LOSSLESS_UNREACHABLE] = {"alarm", add_unknown},
	[EVENT_MAC_EVICTED] = {"warning", add_mac},
	[EVENT_MAC_FLAPPING] = {"alarm", add_mac},
	[EVENT_MAC_STICKY] = {"alarm", add_mac},
	[EVENT_FDB_FULL] = {"warning", NULL, {{OF_B, OWN("addresses")}}},
	[EVENT_FDB_ROOM] = {"info", NULL, {{OF_B, OWN("addresses")}}},
	[EVENT_NEIGHBOUR_MAC] = {"warning", add_neighbour},
	[EVENT_PORT_GONE] = {"alarm"},
	[EVENT_PORT_BACK] = {"info"},
	[EVENT_PORT_REFUSED] = {"warning"},
	[EVENT_COPP] = {"warning", NULL, {HOW_MANY}},
	[EVENT_COPP_OVER] = {"info", NULL, {HOW_MANY}},
	[EVENT_STORM_CONTROL] = {"warning", NULL, {LIMITED}},
	[EVENT_STORM_CONTROL_OVER] = {"info", NULL, {LIMITED}},
	[EVENT_ROCE_LOSSY] = {"warning", NULL, {{OF_A, KNOWN(GUARD, dscp)}, HOW_MANY}},
	[EVENT_ROCE_LOSSY_OVER] = {"info", NULL, {{OF_A, KNOWN(GUARD, dscp)}, HOW_MANY}},
	[EVENT_LOOP] = {"alarm", add_loop},
	[EVENT_LOOP_OVER] = {"info"},
	[EVENT_LOOP_RECOVERED] = {"info"},
	[EVENT_NEXT_HOP_LOST] = {"warning"},
	[EVENT_NEXT_HOP_BACK] = {"info"},
	[EVENT_LINUX_RESYNC] = {"warning", NULL, {{OF_B, OWN("times")}}},
	[EVENT_LINUX_ROUTES_REFUSED] = {"alarm", NULL, {{OF_B, KNOWN(NEIGHBOUR_TOTALS, refused)}}},
	[EVENT_LINUX_TAP_LOST] = {"warning"},
	[EVENT_LINUX_TAP_REFUSED] = {"alarm"},
	[EVENT_LLDP_NEW] = {"info"},
	[EVENT_LLDP_GONE] = {"info"},
	[EVENT_DCBX_MISMATCH] = {"warning", add_dcbx},
	[EVENT_DCBX_AGREED] = {"info", add_dcbx},
	[EVENT_DCBX_PFC] = {"info", add_pfc, {{OF_B, OWN("because"), WORDS(pfc_causes)}}},
	[EVENT_INOF_HOST] = {"info"},
	[EVENT_INOF_HOST_GONE] = {"warning", NULL,
			 {{OF_A, KNOWN(INOF_HOSTS, reason), WORDS(inof_reason_name)}}},
	[EVENT_INOF_REFUSED] = {"alarm", NULL,
			 {{OF_A, KNOWN(INOF_HOSTS, reason), WORDS(inof_refusal_name)}}},
	[EVENT_INOF_ELSEWHERE] = {"alarm", add_station},
	[EVENT_INOF_SILENT] = {"warning", NULL, {{OF_A, KNOWN(INOF_HOSTS, unanswered)}}},
	[EVENT_INOF_REFLECTOR] = {"info"},
	[EVENT_INOF_REFLECTOR_GONE] = {"alarm", NULL, {{OF_A, KNOWN(INOF_PEERS, named)}}},
	[EVENT_ECN_AUTO] = {"info", add_thresholds},
	[EVENT_IMPAIR] = {"warning", add_impairment,
			 {{OF_B, KNOWN(IMPAIRMENTS, action), WORDS(impair_action_name)}}},
	[EVENT_IMPAIR_OVER] = {"info", add_impairment_end,
			 {{OF_B, KNOWN(IMPAIRMENTS, impaired)}}},
	[EVENT_TX_SET] = {"info", add_queue, {{OF_A, KNOWN(PFC_STATUS, tx), WORDS(off_on)}}},
	[EVENT_RELOADED] = {"info", NULL, {{OF_A, OWN("changed")}}},
	[EVENT_RELOAD_FAILED] = {"warning", NULL, {{OF_A, OWN("mistakes")}}},
	[EVENT_ROLLBACK] = {"warning"},
};
static_assert(sizeof(shape) / sizeof(shape[0]) == N_EVENT_TYPES, "every event has a shape");

// ---- rows and lines

static void format_time(char out[TIME_LEN], const struct timespec *wall)
{
	struct tm tm;
	size_t n;

	gmtime_r(&wall->tv_sec, &tm);
	n = strftime(out, TIME_LEN, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, TIME_LEN - n, ".%06uZ", (unsigned)(wall->tv_nsec / 1000) % 1000000u);
}

// NULL: the event is about no port.
static const char *event_port_name(const struct eventlog *l, const struct kept *k)
{
	return iface_name(l->policy, k->e.port);
}

// The subject of the text of an event.
static const char *about_key(unsigned type)
{
	switch (type) {
	case EVENT_ECN_AUTO: return "features";
	case EVENT_NEXT_HOP_LOST:
	case EVENT_NEXT_HOP_BACK:
	case EVENT_INOF_HOST:
	case EVENT_INOF_HOST_GONE:
	case EVENT_INOF_REFUSED:
	case EVENT_INOF_SILENT:
	case EVENT_INOF_REFLECTOR:
	case EVENT_INOF_REFLECTOR_GONE: return KEY(NEIGHBOURS, ip);
	default: return KEY(LLDP, neighbour);
	}
}

// What the event carries beside its port.
static void add_details(const struct eventlog *l, const struct kept *k, struct json_object *row)
{
	const char *key = about_key(k->e.type);

	if (k->e.cls < N_CLASSES)
		row_u64(row, KEY(QUEUES, class), k->e.cls);
	if (k->about[0] != '\0')
		row_text(row, key, k->about);
	if (shape[k->e.type].add != NULL)
		shape[k->e.type].add(l, &k->e, row);
	for (unsigned i = 0; i < 2 && shape[k->e.type].details[i].of != OF_NONE; i++) {
		const struct detail *d = &shape[k->e.type].details[i];
		uint64_t v = d->of == OF_A ? k->e.a : d->of == OF_B ? k->e.b : k->e.b / US_NS;

		key = d->key != NULL ? d->key : fact_rows[d->fact].key;
		if (d->words == NULL)
			row_u64(row, key, v);
		else
			row_text(row, key, v < d->n_words ? d->words[v] : "?");
	}
}

struct line {
	char text[LINE_MAX_LEN];
};

static FILE *begin_line(struct line *line)
{
	FILE *out = fmemopen(line->text, sizeof(line->text) - 1, "w");

	return out != NULL ? out : stderr;
}

// To the journal, or to standard error. A line that is too long ends early.
static void end_line(FILE *out, struct line *line, int priority, struct json_object *fields)
{
	size_t len;

	if (out == stderr) {
		fputc('\n', out);
		return;
	}
	fclose(out);
	len = strnlen(line->text, sizeof(line->text) - 1);
	line->text[len] = '\0';
	if (journal_is_open()) {
		journal_entry(priority, line->text, fields);
		return;
	}
	line->text[len] = '\n';
	outlet_line(line->text, len + 1);
}

// The journal has the time of each entry.
static void write_time(FILE *out, const struct timespec *wall)
{
	char time[TIME_LEN];

	if (journal_is_open())
		return;
	format_time(time, wall);
	fprintf(out, "%s ", time);
}

static void write_line(const struct eventlog *l, const struct kept *k)
{
	static const int priorities[] = {JOURNAL_INFO, JOURNAL_WARNING, JOURNAL_ALARM};
	const char *severity = shape[k->e.type].severity;
	struct json_object *tail = json_object_new_object();
	struct line line;
	FILE *out = begin_line(&line);

	if (event_port_name(l, k) != NULL)
		row_text(tail, KEY(EVENTS, port), event_port_name(l, k));
	add_details(l, k, tail);
	write_time(out, &k->wall);
	fprintf(out, "%s %s %s: %s", l->policy->name, severity, event_info[k->e.type].name,
		event_info[k->e.type].help);
	json_object_object_foreach(tail, key, v) {
		fprintf(out, " %s=", key);
		value_print(out, v);
	}
	row_text(tail, "switch", l->policy->name);
	row_text(tail, KEY(EVENTS, event), event_info[k->e.type].name);
	row_text(tail, KEY(EVENTS, severity), severity);
	end_line(out, &line, priorities[eventlog_grade(severity)], tail);
	json_object_put(tail);
}

// "sw1 warning ...": by the word behind the name of the switch.
static int priority_of(const char *text)
{
	static const struct {
		const char *word;
		int priority;
	} rows[] = {{" alarm ", JOURNAL_ALARM}, {" error ", JOURNAL_ALARM},
		    {" warning ", JOURNAL_WARNING}, {" info ", JOURNAL_INFO}};
	const char *behind = text + strcspn(text, " ");

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strncmp(behind, rows[i].word, strlen(rows[i].word)) == 0)
			return rows[i].priority;
	return JOURNAL_NOTICE;
}

void log_line(const char *fmt, ...)
{
	struct timespec wall;
	struct line line;
	FILE *out = begin_line(&line);
	char *text = NULL;
	va_list ap;

	clock_gettime(CLOCK_REALTIME, &wall);
	write_time(out, &wall);
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	fputs(text != NULL ? text : fmt, out); // without memory for the values
	end_line(out, &line, priority_of(text != NULL ? text : fmt), NULL);
	free(text);
}

static uint8_t pool_of(unsigned type)
{
	if (strcmp(shape[type].severity, "alarm") == 0)
		return (uint8_t)type;
	if (strcmp(shape[type].severity, "warning") == 0)
		return POOL_WARNINGS;
	// Each pause of an incast is an event, and each new station is one.
	if (type == EVENT_XOFF || type == EVENT_XON || type == EVENT_MAC_LEARNED ||
	    type == EVENT_MAC_AGED)
		return POOL_ROUTINE;
	return POOL_INFO;
}

int eventlog_create(const struct policy *policy, struct eventlog **out)
{
	struct eventlog *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return -ENOMEM;
	l->policy = policy;
	TAILQ_INIT(&l->by_time);
	for (unsigned type = 0; type < N_EVENT_TYPES; type++) {
		l->pool_of[type] = pool_of(type);
		l->pool[type] = (struct pool){.places = l->alarms[type], .size = EVENTLOG_ALARMS};
	}
	for (unsigned i = N_EVENT_TYPES; i < N_EVENT_POOLS; i++)
		l->pool[i] = (struct pool){.places = l->lesser[i - N_EVENT_TYPES],
					   .size = EVENTLOG_KEPT};
	*out = l;
	return 0;
}

void eventlog_new_policy(struct eventlog *l, const struct policy *policy)
{
	l->policy = policy;
}

void eventlog_destroy(struct eventlog *l)
{
	free(l);
}

static void limit_roll(const struct eventlog *l, unsigned type, struct limit *lim, uint64_t now_ns)
{
	if (now_ns - lim->window_ns < WINDOW_NS)
		return;
	if (lim->suppressed > 0)
		log_line("%s %s %s: more events of this type were not written suppressed=%u",
			 l->policy->name, shape[type].severity, event_info[type].name,
			 lim->suppressed);
	*lim = (struct limit){.window_ns = now_ns};
}

void eventlog_tick(struct eventlog *l, uint64_t now_ns)
{
	for (unsigned type = 0; type < N_EVENT_TYPES; type++)
		limit_roll(l, type, &l->limit[type], now_ns);
}

// The place of an event's port in the tables by port.
static unsigned share_of_port(const struct event *e)
{
	return e->port < EVENT_NO_PORT ? e->port : EVENT_NO_PORT;
}

// The share that loses its oldest event for a new one: of the port with the most places, the type
// with the most. Of equals it is that of the new event.
static struct share *largest_share(struct eventlog *l, const struct pool *p, const struct event *e)
{
	unsigned port = share_of_port(e), type = e->type;

	for (unsigned i = 0; i < EVENT_PORTS; i++)
		if (p->of_port[i] > p->of_port[port])
			port = i;
	for (unsigned i = 0; i < N_EVENT_TYPES; i++)
		if (&l->pool[l->pool_of[i]] == p && l->share[port][i].n > l->share[port][type].n)
			type = i;
	return &l->share[port][type];
}

// A free place, or that of the event that is given up for this one.
static struct kept *find_place(struct eventlog *l, struct pool *p, const struct event *e)
{
	struct share *s;
	struct kept *k;

	if (p->n < p->size)
		return &p->places[p->n++];
	s = largest_share(l, p, e);
	k = STAILQ_FIRST(&s->kept);
	STAILQ_REMOVE_HEAD(&s->kept, of_share);
	s->n--;
	TAILQ_REMOVE(&l->by_time, k, by_time);
	p->of_port[share_of_port(&k->e)]--;
	return k;
}

static struct kept *keep_event(struct eventlog *l, const struct event *e)
{
	struct pool *p = &l->pool[l->pool_of[e->type]];
	struct share *s = &l->share[share_of_port(e)][e->type];
	struct kept *k = find_place(l, p, e);

	if (s->n++ == 0)
		STAILQ_INIT(&s->kept);
	STAILQ_INSERT_TAIL(&s->kept, k, of_share);
	TAILQ_INSERT_TAIL(&l->by_time, k, by_time);
	p->of_port[share_of_port(e)]++;
	k->e = *e;
	k->seq = ++l->total;
	return k;
}

// Ports share the lines of routine events, but for the first line of each.
static bool line_is_due(const struct eventlog *l, const struct limit *lim, const struct event *e)
{
	bool has_room = l->pool_of[e->type] != POOL_ROUTINE || lim->written < LOG_BURST;

	unsigned written = lim->of_port[share_of_port(e)];

	return written == 0 || (has_room && written < LOG_BURST);
}

void eventlog_add(struct eventlog *l, const struct event *e, uint64_t now_ns)
{
	eventlog_add_about(l, e, "", now_ns);
}

void eventlog_add_about(struct eventlog *l, const struct event *e, const char *about,
			uint64_t now_ns)
{
	struct kept *k;
	struct limit *lim;

	if (e->type >= N_EVENT_TYPES)
		return;
	k = keep_event(l, e);
	snprintf(k->about, sizeof(k->about), "%s", about);
	clock_gettime(CLOCK_REALTIME, &k->wall);
	l->count[e->type]++;
	lim = &l->limit[e->type];
	limit_roll(l, e->type, lim, now_ns);
	if (line_is_due(l, lim, e)) {
		lim->written++;
		lim->of_port[share_of_port(e)]++;
		write_line(l, k);
	} else {
		lim->suppressed++;
	}
}

const char *eventlog_severity(enum event_type type)
{
	return shape[type].severity;
}

uint64_t eventlog_count(const struct eventlog *l, enum event_type type)
{
	return l->count[type];
}

struct event_at {
	const struct eventlog *l;
	const struct kept *k;
	char time[TIME_LEN];
};

#define FACTS_OF "control/observe/events.def"
#define FACTS_AT struct event_at
#include "control/observe/facts.def"

int eventlog_grade(const char *severity)
{
	static const char *const grades[] = {"info", "warning", "alarm"};

	for (int i = 0; i < (int)(sizeof(grades) / sizeof(grades[0])); i++)
		if (strcmp(severity, grades[i]) == 0)
			return i;
	return -1;
}

struct json_object *eventlog_rows(const struct eventlog *l, int port, uint64_t since, int grade)
{
	struct json_object *list = json_object_new_array();
	const struct kept *k = TAILQ_LAST(&l->by_time, by_time);

	// A reader that follows asks for the latest few.
	while (k != NULL && k->seq > since && TAILQ_PREV(k, by_time, by_time) != NULL)
		k = TAILQ_PREV(k, by_time, by_time);
	for (; k != NULL; k = TAILQ_NEXT(k, by_time)) {
		struct event_at a = {.l = l, .k = k};
		struct json_object *row;

		if (k->seq <= since || (port >= 0 && k->e.port != port) ||
		    eventlog_grade(shape[k->e.type].severity) < grade)
			continue;
		row = row_in(list);
		format_time(a.time, &k->wall);
		emit(row, FACTS_EVENTS, &a);
		add_details(l, k, row);
	}
	return list;
}
