// SPDX-License-Identifier: Apache-2.0
// The command `show`: requests one kind from the switch and prints it, or follows its events.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <json-c/json.h>

#include "control/base/schema.h"
#include "control/base/stop.h"
#include "control/base/terminal.h"
#include "control/ctl/client.h"
#include "control/ctl/ctl.h"
#include "control/ctl/show.h"
#include "control/ctl/sonic_show.h"
#include "dataplane/qos/shaper.h"

enum { FOLLOW_MS = 200, FLOWS_MAX = 1000, CNPS = 50, KIND_LEN = 32, KIND_COLUMN = 17 };

void show_help(FILE *out)
{
	const char *help, *what;

	for (unsigned i = 0; (what = show_kind(i, &help)) != NULL; i++) {
		char term[KIND_LEN];

		snprintf(term, sizeof(term), "  %s", what);
		print_term(out, term, help, KIND_COLUMN);
	}
	fputs("\nSONiC's words for some of them, with --style sonic also its tables:\n", out);
	for (unsigned i = 0; (what = sonic_usage(i)) != NULL; i++)
		fprintf(out, "    %s\n", what);
}

// Whether `what` is the kind, or its first word.
static bool begins_kind(const char *kind, const char *what)
{
	size_t len = strlen(what);

	return strncmp(kind, what, len) == 0 && (kind[len] == '\0' || kind[len] == '-');
}

const char *show_page(const char *what)
{
	static const struct {
		unsigned list; // of facts, names the kind
		const char *page;
	} pages[] = {
		{FACTS_CNPS, "ipcc.md"},
		{FACTS_DCBX, "dcbx.md"},
		{FACTS_DROPS, "counters.md"},
		{FACTS_ECN, "sight.md"},
		{FACTS_ECN_AUTO, "auto-ecn.md"},
		{FACTS_EVENTS, "counters.md"},
		{FACTS_FLOWS, "ipcc.md"},
		{FACTS_GUARD, "storms.md"},
		{FACTS_IMPAIRMENTS, "impair.md"},
		{FACTS_INOF_HOSTS, "inof.md"},
		{FACTS_INOF_LOG, "inof.md"},
		{FACTS_INOF_PEERS, "inof.md"},
		{FACTS_INOF_PORTS, "inof.md"},
		{FACTS_INOF_ZONES, "inof.md"},
		{FACTS_IPCC, "ipcc.md"},
		{FACTS_LINUX_TAPS, "linux.md"},
		{FACTS_LLDP, "dcbx.md"},
		{FACTS_NEIGHBOURS, "routing.md"},
		{FACTS_ROUTES, "routing.md"},
		{FACTS_VNIS, "vxlan.md"},
		{FACTS_WATCHDOG, "storms.md"},
	};

	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		if (begins_kind(fact_lists[pages[i].list].what, what))
			return pages[i].page;
	return "sight.md";
}

const char *show_kinds(char text[SHOW_KINDS_LEN])
{
	const char *help, *what;
	size_t at = 0;

	for (unsigned i = 0; (what = show_kind(i, &help)) != NULL && at < SHOW_KINDS_LEN; i++)
		at += (size_t)snprintf(text + at, SHOW_KINDS_LEN - at, "%s%s", i > 0 ? " " : "",
				       what);
	return text;
}

static const char *kind_at(const void *n, unsigned i)
{
	const char *help;

	(void)n;
	return show_kind(i, &help);
}

static int cannot_show(const char *what)
{
	char kinds[SHOW_KINDS_LEN];
	const char *near;
	size_t at = 0;
	unsigned n = 0;

	while (kind_at(NULL, n) != NULL)
		n++;
	for (unsigned i = 0; i < n; i++) // inof: inof hosts, inof zones, ...
		if (begins_kind(kind_at(NULL, i), what) && kind_at(NULL, i)[strlen(what)] == '-')
			at += (size_t)snprintf(kinds + at, sizeof(kinds) - at, "%s%s %s",
					       at > 0 ? ", " : "", what,
					       kind_at(NULL, i) + strlen(what) + 1);
	if (at > 0)
		return misused("cannot show \"%s\" alone; one of: %s", what, kinds);
	near = schema_closest(what, n, kind_at, NULL);
	if (near != NULL)
		return misused("cannot show \"%s\": did you mean %s?", what, near);
	return misused("cannot show \"%s\"; one of: %s", what, show_kinds(kinds));
}

static struct json_object *request_with_options(const struct ctl *c, const char *what,
						const char *port)
{
	struct json_object *req = request_of("show", "what", what);
	unsigned limit = c->all ? FLOWS_MAX : c->limit;

	if (port != NULL)
		row_text(req, KEY(QUEUES, port), port);
	if (c->all)
		row_bool(req, "all", true);
	if (c->unpaired)
		row_bool(req, KEY(PAIRING, unpaired), true);
	if (c->elephants)
		row_bool(req, fact_lists[FACTS_ELEPHANTS].list, true);
	if (strcmp(what, "flows") == 0 && limit > 0)
		row_u64(req, KEY(FDB_PORTS, limit), limit);
	if (strcmp(what, "cnps") == 0 && !c->all)
		row_u64(req, "count", c->count > 0 ? c->count : CNPS);
	return req;
}

// ---- events

static const char *const severities[] = {"info", "warning", "alarm"};
enum { N_SEVERITIES = 3, WALL_LEN = 32 };

static unsigned grade(const char *severity)
{
	unsigned i = 0;

	while (i < N_SEVERITIES && strcmp(severities[i], severity) != 0)
		i++;
	return i;
}

// Seconds in "30s", "5m", "2h"; 0 where it is none of these.
static unsigned long span_s(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || n > UINT32_MAX || end[0] == '\0' || end[1] != '\0')
		return 0;
	return *end == 's' ? n : *end == 'm' ? 60 * n : *end == 'h' ? 3600 * n : 0;
}

static bool is_wanted(const struct ctl *c, struct json_object *row, const char *since)
{
	// Times are as long as each other, and end in Z.
	return fact_in(row, F_EVENTS_time) != NULL && fact_in(row, F_EVENTS_severity) != NULL &&
	       strcmp(fact_text(row, F_EVENTS_time), since) >= 0 &&
	       (c->severity == NULL ||
		grade(fact_text(row, F_EVENTS_severity)) >= grade(c->severity));
}

// Leaves the last `count` rows; 0: all.
static void keep_last(struct json_object *rows, unsigned count)
{
	size_t n = n_rows(rows);

	if (count != 0 && n > count)
		json_object_array_del_idx(rows, 0, n - count);
}

// Leaves only the rows that the options select, the last `count` of them; 0: all.
static void select_events(const struct ctl *c, struct json_object *data, unsigned count)
{
	struct json_object *rows = rows_of(data, FACTS_EVENTS), *wanted;
	char since[WALL_LEN] = "";

	if (c->since != NULL) {
		time_t at = time(NULL) - (time_t)span_s(c->since);
		struct tm tm;

		strftime(since, sizeof(since), "%Y-%m-%dT%H:%M:%S", gmtime_r(&at, &tm));
	}
	if (rows == NULL)
		return;
	wanted = json_object_new_array();
	for (size_t i = 0; i < n_rows(rows); i++)
		if (is_wanted(c, row_at(rows, i), since))
			json_object_array_add(wanted, json_object_get(row_at(rows, i)));
	keep_last(wanted, count);
	json_object_object_add(data, fact_lists[FACTS_EVENTS].list, wanted);
}

static void print_new(const struct ctl *c, struct json_object *data, uint64_t *since,
		      unsigned count)
{
	struct json_object *rows = rows_of(data, FACTS_EVENTS);

	if (rows == NULL)
		return;
	for (size_t i = 0; i < n_rows(rows); i++)
		if (fact_in(row_at(rows, i), F_EVENTS_seq) != NULL)
			*since = fact_count(row_at(rows, i), F_EVENTS_seq);
	select_events(c, data, count);
	rows = rows_of(data, FACTS_EVENTS);
	for (size_t i = 0; i < n_rows(rows); i++) {
		struct json_object *row = row_at(rows, i);

		if (c->json)
			puts(json_object_to_json_string_ext(row, JSON_C_TO_STRING_PLAIN));
		else
			show_event(stdout, row);
	}
	fflush(stdout);
}

static int follow(const struct ctl *c, const char *port)
{
	unsigned count = c->count;
	uint64_t since = 0;
	struct client cl;

	if (client_open(c->name, &cl) != 0)
		return CTL_FAILED;
	stop_catch(0, NULL);
	while (stop_requests() == 0) {
		struct json_object *req = request_with_options(c, "events", port), *data;

		row_u64(req, "since", since);
		data = client_exchange(&cl, req);
		if (data == NULL)
			break;
		print_new(c, data, &since, count);
		count = 0; // what comes from here on is never left out
		json_object_put(data);
		sleep_s(FOLLOW_MS / 1e3); // a signal ends it, and the loop with it
	}
	client_close(&cl);
	return stop_requests() != 0 ? CTL_DONE : CTL_FAILED;
}

// ---- interfaces over an interval

static const struct direction {
	enum fact_id packets, bytes, pps, bps, util;
} directions[] = {
	{F_INTERFACES_rx_packets, F_INTERFACES_rx_bytes, F_INTERFACES_rx_pps, F_INTERFACES_rx_bps,
	 F_INTERFACES_rx_util_percent},
	{F_INTERFACES_tx_packets, F_INTERFACES_tx_bytes, F_INTERFACES_tx_pps, F_INTERFACES_tx_bps,
	 F_INTERFACES_tx_util_percent},
};

static void put_fact_count(struct json_object *row, enum fact_id f, double v)
{
	row_u64(row, fact_rows[f].key, (uint64_t)v);
}

static double fact_growth(struct json_object *row, struct json_object *before, enum fact_id f)
{
	return (double)fact_count(row, f) - (double)fact_count(before, f);
}

static void put_direction(struct json_object *row, struct json_object *before,
			  const struct direction *d)
{
	uint64_t ns = fact_count(row, F_INTERFACES_t_ns) - fact_count(before, F_INTERFACES_t_ns);
	double seconds = (double)(ns > 0 ? ns : 1) / 1e9;
	double speed_bps = (double)fact_count(row, F_INTERFACES_speed_bps);
	double packets = fact_growth(row, before, d->packets),
	       bytes = fact_growth(row, before, d->bytes);
	double line_bps;

	if (packets < 0 || bytes < 0)
		packets = bytes = 0;
	line_bps = 8 * (bytes + LINK_OVERHEAD_BYTES * packets) / seconds;
	put_fact_count(row, d->packets, packets);
	put_fact_count(row, d->bytes, bytes);
	put_fact_count(row, d->pps, packets / seconds);
	put_fact_count(row, d->bps, 8 * bytes / seconds);
	if (speed_bps > 0) {
		uint64_t hundredths = (uint64_t)(10000 * line_bps / speed_bps);

		json_object_object_add(row, fact_rows[d->util].key,
				       json_object_new_double((double)hundredths / 100));
	}
}

void interval_rates(struct json_object *data, struct json_object *before)
{
	struct json_object *rows = rows_of(data, FACTS_INTERFACES);
	struct json_object *old = rows_of(before, FACTS_INTERFACES);

	if (rows == NULL || old == NULL)
		return;
	for (size_t i = 0; i < n_rows(rows); i++)
		for (size_t k = 0; k < sizeof(directions) / sizeof(directions[0]); k++)
			put_direction(row_at(rows, i), row_at(old, i), &directions[k]);
}

static struct json_object *request_data(const struct ctl *c, struct client *cl, const char *what,
			       const char *port)
{
	struct json_object *first = client_exchange(cl, request_with_options(c, what, port)), *data;

	if (!c->interval_given || first == NULL)
		return first;
	sleep_s(c->interval_s);
	data = client_exchange(cl, request_with_options(c, what, port));
	if (data != NULL)
		interval_rates(data, first);
	json_object_put(first);
	return data;
}

// ---- the command

static int check_options(const struct ctl *c, const char *what)
{
	const struct {
		bool given;
		const char *option, *kind;
	} rows[] = {
		{c->follow, "--follow", "events"},
		{c->since != NULL, "--since", "events"},
		{c->severity != NULL, "--severity", "events"},
		{c->interval_given, "--interval", "interfaces"},
		{c->explain, "--explain", "drops"},
		{c->why, "--why", "pfc"},
		{c->unpaired, "--unpaired", "flows"},
		{c->elephants, "--elephants", "flows"},
		{c->limit > 0, "--limit", "flows"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].given && strcmp(what, rows[i].kind) != 0)
			return misused("%s goes with show %s", rows[i].option, rows[i].kind);
	if (c->severity != NULL && grade(c->severity) == N_SEVERITIES)
		return misused("--severity is info, warning or alarm, not \"%s\"", c->severity);
	if (c->since != NULL && span_s(c->since) == 0)
		return misused("--since is a time such as 30s, 5m or 2h, not \"%s\"", c->since);
	if (c->limit > FLOWS_MAX)
		return misused("--limit is a number from 1 to %d", FLOWS_MAX);
	return CTL_DONE;
}

// A line for each order in force comes before every table.
static int print_tables(const struct ctl *c, struct client *cl, const char *what, const char *port,
			unsigned only, struct json_object *data)
{
	struct show_wish wish = {.all = c->all || port != NULL, .explain = c->explain,
				 .unpaired = c->unpaired, .elephants = c->elephants, .port = port,
				 .count = c->count, .only = only,
				 .width = c->wide ? 0 : terminal_width(stdout)};
	struct json_object *state =
		client_exchange(cl, request_of("show", "what", fact_lists[FACTS_VERSION].what));
	bool is_file = strcmp(what, "config") == 0;
	char *text = NULL;
	size_t len;
	FILE *out;

	if (state == NULL)
		return CTL_FAILED;
	out = open_memstream(&text, &len);
	if (out != NULL && !is_file)
		print_orders(out, state);
	json_object_put(state);
	if (out == NULL)
		return CTL_FAILED;
	show_tables(out, what, data, &wish);
	fclose(out);
	print_folded(stdout, text, is_file ? 0 : wish.width);
	free(text);
	return CTL_DONE;
}

// Adds the answers that the table has values of. A line for each order in force is left out: other
// programs read these tables.
static int print_sonic(const struct ctl *c, struct client *cl, const struct sonic_show *s,
		       const char *port, struct json_object *data)
{
	const char *what;

	for (unsigned i = 0; (what = sonic_needs(s, i)) != NULL; i++) {
		struct json_object *more = client_exchange(cl, request_with_options(c, what, port));

		if (more == NULL)
			return CTL_FAILED;
		json_object_object_foreach(more, key, value)
			json_object_object_add(data, key, json_object_get(value));
		json_object_put(more);
	}
	sonic_print(stdout, s, data, c->all);
	return CTL_DONE;
}

// only: as in struct show_wish. sonic: the table in place of ours; NULL: ours.
static int show_once(const struct ctl *c, const char *what, const char *port, unsigned only,
		     const struct sonic_show *sonic)
{
	struct json_object *data;
	int status = CTL_DONE;
	struct client cl;

	if (client_open(c->name, &cl) != 0)
		return CTL_FAILED;
	data = request_data(c, &cl, what, port);
	if (data != NULL && strcmp(what, "events") == 0)
		select_events(c, data, c->count);
	if (data != NULL && strcmp(what, fact_lists[FACTS_INOF_LOG].what) == 0)
		keep_last(rows_of(data, FACTS_INOF_LOG), c->count);
	if (data == NULL)
		status = CTL_FAILED;
	else if (c->json)
		print_json(data);
	else if (sonic != NULL)
		status = print_sonic(c, &cl, sonic, port, data);
	else
		status = print_tables(c, &cl, what, port, only, data);
	json_object_put(data);
	client_close(&cl);
	return status;
}

// The kind that the words begin with. n_words: how many words its name takes. `show pfc status` is
// the kind pfc-status. *sonic: the command of SONiC with these words, or with this kind.
static const char *kind_in(int argc, char **argv, char two[KIND_LEN], int *n_words,
			   const struct sonic_show **sonic)
{
	*n_words = 2;
	*sonic = NULL;
	snprintf(two, KIND_LEN, "%s-%s", argv[0], argc > 1 ? argv[1] : "");
	if (strcmp(two, "qos-maps") == 0)
		return fact_lists[FACTS_QOS].what;
	if (show_exists(two))
		return two;
	*sonic = sonic_find(argc, argv, n_words);
	if (*sonic != NULL)
		return sonic_kind(*sonic);
	*n_words = 1;
	*sonic = sonic_of_kind(argv[0]);
	return strcmp(argv[0], "uptime") == 0 ? fact_lists[FACTS_VERSION].what : argv[0];
}

// NULL: ours. *status: what is wrong.
static const struct sonic_show *styled(const struct ctl *c, const char *what,
				       const struct sonic_show *sonic, int *status)
{
	const char *environment = getenv("WEIR_STYLE");
	bool wanted = c->style == STYLE_SONIC;

	if (c->style == STYLE_NOT_GIVEN && environment != NULL && environment[0] != '\0') {
		wanted = strcmp(environment, "sonic") == 0;
		if (!wanted && strcmp(environment, "weir") != 0)
			*status = misused("WEIR_STYLE is weir or sonic, not \"%s\"", environment);
	}
	if (c->style == STYLE_SONIC && (sonic == NULL || c->why || c->follow))
		*status = misused("SONiC has no table of this for show %s: leave out --style",
				  what);
	return wanted && !c->why && !c->follow ? sonic : NULL;
}

int cmd_show(const struct ctl *c, int argc, char **argv)
{
	char two[KIND_LEN], kinds[SHOW_KINDS_LEN];
	const struct sonic_show *sonic;
	int at, status = CTL_DONE;
	const char *what, *theirs;
	unsigned only = 0;

	if (argc == 0)
		return misused("show what? One of: %s", show_kinds(kinds));
	what = sonic_elsewhere(argc, argv, &theirs);
	if (what != NULL)
		return misused("SONiC's show %s is weirctl %s", theirs, what);
	what = kind_in(argc, argv, two, &at, &sonic);
	if (!show_exists(what))
		return cannot_show(what);
	if (argc > at + 1)
		return misused("show %s takes one port at most", what);
	if (check_options(c, what) != CTL_DONE)
		return CTL_MISUSED;
	// SONiC's words for one of several tables of a kind, such as those of watermarks.
	if (sonic != NULL && at > 1)
		only = sonic_list(sonic) + 1;
	sonic = styled(c, what, sonic, &status);
	if (status != CTL_DONE)
		return status;
	if (c->why)
		what = fact_lists[FACTS_CAUSES].what;
	return c->follow ? follow(c, argv[at]) : show_once(c, what, argv[at], only, sonic);
}
