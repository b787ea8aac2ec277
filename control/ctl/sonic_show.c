// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/sonic_show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/ctl/show.h"
#include "dataplane/packet/classify.h"

enum {
	HEAD_ROOM = 2, // a column is this much wider than its head
	GAP = 2, // blanks between columns
	MOST_COLUMNS = 16,
	MOST_TABLES = 2,
	MOST_NEEDS = 8,
};

static const double BITS_PER_BYTE = 8;

// How a cell shows its fact. Of two facts in one cell the sum counts.
enum format {
	NOT_KNOWN, // N/A: Weir has no such number
	TEXT,
	COMMAS, // 1,234
	DIGITS, // 1234
	BYTES_PER_S, // of bits per second: 12.00 KB/s
	PER_S, // 12.00/s
	PERCENT, // 1.25%
	STATE, // U, D
	PAIR, // 12/3
	PLACE, // PORT:CLASS
	UNICAST, // UC3
	POOL, // SONiC's name of a pool
};

struct sonic_column {
	const char *head;
	enum format as;
	enum fact_id a, b;
};

// Rows of which a table leaves some out.
enum filter {
	EVERY_ROW,
	ONCE_A_PORT, // the first watched class of each port
	NOT_IDLE, // with a number that is not 0
	SHARED_POOLS,
	HEADROOM_POOL,
};

struct sonic_table {
	const char *title; // the line above; NULL: none
	// A line for each port and a column PREFIX0 to PREFIX7 for each value of `index`...
	enum fact_id index, value;
	const char *first, *prefix;
	enum format as;
	// ... or, where these are given, a line for each row of the list of the first column.
	const struct sonic_column *columns;
	enum filter filter;
	bool by_port; // a table for each port
	enum fact_id notice; // where it is true, notice_text stands above
	const char *notice_text;
};

struct sonic_show {
	const char *usage;
	unsigned list; // of facts, names our kind
	struct sonic_table tables[MOST_TABLES];
	void (*print)(FILE *out, struct json_object *data); // in place of tables
};

#define COLUMNS_OF(...) .columns = (const struct sonic_column[]){__VA_ARGS__, {NULL}}

// Of the tables of ports.
#define IFACE {"IFACE", TEXT, F_INTERFACES_port}, {"STATE", STATE, F_INTERFACES_up}
#define RX_DRP {"RX_DRP", COMMAS, F_PGS_dropped_packets, F_PORTS_rx_missed}
#define TX_DRP {"TX_DRP", COMMAS, F_QUEUES_dropped_packets}

static void print_ecn(FILE *out, struct json_object *data);

static const struct sonic_show shows[] = {
	{"show pfc counters [PORT]", FACTS_PFC,
	 {{NULL, F_PFC_class, F_PFC_rx_pause, "Port Rx", "PFC", COMMAS},
	  {NULL, F_PFC_class, F_PFC_tx_pause, "Port Tx", "PFC", COMMAS}}},
	{"show pfcwd stats [PORT]", FACTS_WATCHDOG,
	 {{.filter = NOT_IDLE,
	   COLUMNS_OF({"QUEUE", PLACE, F_WATCHDOG_port, F_WATCHDOG_class},
		      {"STATUS", TEXT, F_WATCHDOG_status},
		      {"STORM DETECTED/RESTORED", PAIR, F_WATCHDOG_detected, F_WATCHDOG_restored},
		      {"TX OK/DROP", PAIR, F_WATCHDOG_tx_ok, F_WATCHDOG_tx_dropped},
		      {"RX OK/DROP", PAIR, F_WATCHDOG_rx_ok, F_WATCHDOG_rx_dropped},
		      {"TX LAST OK/DROP", PAIR, F_WATCHDOG_tx_ok_last, F_WATCHDOG_tx_dropped_last},
		      {"RX LAST OK/DROP", PAIR, F_WATCHDOG_rx_ok_last,
		       F_WATCHDOG_rx_dropped_last})}}},
	{"show pfcwd config [PORT]", FACTS_WATCHDOG,
	 {{.filter = ONCE_A_PORT,
	   .notice = F_VERSION_drop_all,
	   .notice_text = "BIG_RED_SWITCH status is enable",
	   COLUMNS_OF({"PORT", TEXT, F_WATCHDOG_port}, {"ACTION", TEXT, F_WATCHDOG_action},
		      {"DETECTION TIME", DIGITS, F_WATCHDOG_detect_ms},
		      {"RESTORATION TIME", DIGITS, F_WATCHDOG_restore_ms})}}},
	{"show priority-group watermark headroom [PORT]", FACTS_PG_MARKS,
	 {{"Ingress headroom per PG:", F_PG_MARKS_pg, F_PG_MARKS_max_headroom_bytes, "Port", "PG",
	   DIGITS}}},
	{"show priority-group watermark shared [PORT]", FACTS_PG_MARKS,
	 {{"Ingress shared pool occupancy per PG:", F_PG_MARKS_pg, F_PG_MARKS_max_shared_bytes,
	   "Port", "PG", DIGITS}}},
	{"show priority-group drop counters [PORT]", FACTS_PGS,
	 {{"Ingress PG dropped packets:", F_PGS_pg, F_PGS_dropped_packets, "Port", "PG", DIGITS}}},
	{"show queue counters [PORT]", FACTS_QUEUES,
	 {{.by_port = true,
	   COLUMNS_OF({"Port", TEXT, F_QUEUES_port}, {"TxQ", UNICAST, F_QUEUES_queue},
		      {"Counter/pkts", COMMAS, F_QUEUES_tx_packets},
		      {"Counter/bytes", COMMAS, F_QUEUES_tx_bytes},
		      {"Drop/pkts", COMMAS, F_QUEUES_dropped_packets},
		      {"Drop/bytes", COMMAS, F_QUEUES_dropped_bytes})}}},
	{"show queue watermark unicast [PORT]", FACTS_QUEUE_MARKS,
	 {{"Egress shared pool occupancy per unicast queue:", F_QUEUE_MARKS_queue,
	   F_QUEUE_MARKS_max_bytes, "Port", "UC", DIGITS}}},
	{"show buffer_pool watermark", FACTS_POOL_MARKS,
	 {{.title = "Shared pool maximum occupancy:", .filter = SHARED_POOLS,
	   COLUMNS_OF({"Pool", POOL, F_POOL_MARKS_name},
		      {"Bytes", DIGITS, F_POOL_MARKS_max_bytes})}}},
	{"show headroom-pool watermark", FACTS_POOL_MARKS,
	 {{.title = "Headroom pool maximum occupancy:", .filter = HEADROOM_POOL,
	   COLUMNS_OF({"Pool", POOL, F_POOL_MARKS_name},
		      {"Bytes", DIGITS, F_POOL_MARKS_max_bytes})}}},
	{"show interfaces counters [PORT]", FACTS_INTERFACES,
	 {{COLUMNS_OF(IFACE, {"RX_OK", COMMAS, F_INTERFACES_rx_packets},
		      {"RX_BPS", BYTES_PER_S, F_INTERFACES_rx_bps},
		      {"RX_UTIL", PERCENT, F_INTERFACES_rx_util_percent}, {"RX_ERR", NOT_KNOWN},
		      RX_DRP, {"RX_OVR", NOT_KNOWN}, {"TX_OK", COMMAS, F_INTERFACES_tx_packets},
		      {"TX_BPS", BYTES_PER_S, F_INTERFACES_tx_bps},
		      {"TX_UTIL", PERCENT, F_INTERFACES_tx_util_percent},
		      {"TX_ERR", COMMAS, F_PORTS_tx_errors}, TX_DRP, {"TX_OVR", NOT_KNOWN})}}},
	{"show interfaces counters errors [PORT]", FACTS_INTERFACES,
	 {{COLUMNS_OF(IFACE, {"RX_ERR", NOT_KNOWN}, RX_DRP, {"RX_OVR", NOT_KNOWN},
		      {"TX_ERR", COMMAS, F_PORTS_tx_errors}, TX_DRP, {"TX_OVR", NOT_KNOWN})}}},
	{"show interfaces counters rates [PORT]", FACTS_INTERFACES,
	 {{COLUMNS_OF(IFACE, {"RX_OK", COMMAS, F_INTERFACES_rx_packets},
		      {"RX_BPS", BYTES_PER_S, F_INTERFACES_rx_bps},
		      {"RX_PPS", PER_S, F_INTERFACES_rx_pps},
		      {"RX_UTIL", PERCENT, F_INTERFACES_rx_util_percent},
		      {"TX_OK", COMMAS, F_INTERFACES_tx_packets},
		      {"TX_BPS", BYTES_PER_S, F_INTERFACES_tx_bps},
		      {"TX_PPS", PER_S, F_INTERFACES_tx_pps},
		      {"TX_UTIL", PERCENT, F_INTERFACES_tx_util_percent})}}},
	{"show interfaces counters trim [PORT]", FACTS_INTERFACES,
	 {{COLUMNS_OF(IFACE, {"TRIM_PKTS", COMMAS, F_PORTS_trimmed},
		      {"TRIM_TX_PKTS", COMMAS, F_PORTS_trim_sent},
		      {"TRIM_DRP_PKTS", COMMAS, F_PORTS_trim_dropped})}}},
	{"show ecn", FACTS_ECN, .print = print_ecn},
};
enum { N_SHOWS = sizeof(shows) / sizeof(shows[0]) };

// ---- commands

// Whether `word` is the next word of the usage at *at.
static bool is_word(const char **at, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*at, word, len) != 0 || ((*at)[len] != ' ' && (*at)[len] != '\0'))
		return false;
	*at += len + strspn(*at + len, " ");
	return true;
}

// The longest one.
const struct sonic_show *sonic_find(int argc, char **argv, int *n_words)
{
	const struct sonic_show *found = NULL;
	int most = 0;

	for (const struct sonic_show *s = shows; s < shows + N_SHOWS; s++) {
		const char *at = s->usage;
		int n = 0;

		is_word(&at, "show");
		while (n < argc && is_word(&at, argv[n]))
			n++;
		if ((*at != '\0' && *at != '[') || n <= most)
			continue;
		found = s;
		most = n;
	}
	if (found != NULL)
		*n_words = most;
	return found;
}

// Commands of SONiC without a table here, and what shows the same. docs/coming-from-sonic.md has
// them, too.
static const struct {
	const char *theirs, *ours;
} elsewhere[] = {
	{"interfaces status", "show ports"},
	{"pfc priority", "show pfc status"},
	{"queue watermark multicast", "show queue watermark unicast"},
	{"dropcounters counts", "show drops --explain"},
	{"buffer configuration", "show buffers config"},
	{"arp", "show neighbours"},
	{"ip route", "show routes"},
	{"vlan brief", "show vlan"},
	{"lldp neighbors", "show lldp"},
};

const char *sonic_elsewhere(int argc, char **argv, const char **theirs)
{
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		const char *at = *theirs = elsewhere[i].theirs;
		int n = 0;

		while (n < argc && is_word(&at, argv[n]))
			n++;
		if (*at == '\0')
			return elsewhere[i].ours;
	}
	return NULL;
}

const struct sonic_show *sonic_of_kind(const char *what)
{
	for (const struct sonic_show *s = shows; s < shows + N_SHOWS; s++)
		if (strcmp(sonic_kind(s), what) == 0)
			return s;
	return NULL;
}

const char *sonic_kind(const struct sonic_show *s)
{
	return fact_lists[s->list].what;
}

unsigned sonic_list(const struct sonic_show *s)
{
	return s->list;
}

const char *sonic_usage(unsigned i)
{
	return i < N_SHOWS ? shows[i].usage : NULL;
}

static unsigned list_of_fact(enum fact_id f)
{
	unsigned list = 0;

	while (list + 1 < N_FACT_LISTS &&
	       (&fact_rows[f] < fact_lists[list].rows ||
		&fact_rows[f] >= fact_lists[list].rows + fact_lists[list].n))
		list++;
	return list;
}

// Adds the kind of the fact, unless it is there.
static unsigned add_need(const char *needs[MOST_NEEDS], unsigned n, enum fact_id f)
{
	const char *kind = f != F_NONE ? fact_lists[list_of_fact(f)].what : needs[0];

	for (unsigned i = 0; i < n; i++)
		if (strcmp(needs[i], kind) == 0)
			return n;
	needs[n] = kind;
	return n + 1;
}

const char *sonic_needs(const struct sonic_show *s, unsigned i)
{
	const char *needs[MOST_NEEDS] = {sonic_kind(s)};
	unsigned n = add_need(needs, 1, s->tables[0].notice);

	for (const struct sonic_column *c = s->tables[0].columns; c != NULL && c->head != NULL; c++)
		n = add_need(needs, add_need(needs, n, c->a), c->b);
	return i + 1 < n ? needs[i + 1] : NULL;
}

// ---- values

// The fact that names the port of a row: the first one of each list.
static struct json_object *port_cell_of_row(struct json_object *row, unsigned list)
{
	return json_object_object_get(row, fact_lists[list].rows[0].key);
}

// The fact of this row. From another list: the sum over the rows of the same port.
static struct json_object *value_at(struct json_object *data, struct json_object *row,
				    unsigned list, enum fact_id f)
{
	unsigned other = list_of_fact(f);
	struct json_object *rows;
	uint64_t sum = 0;
	bool known = false;

	if (f == F_NONE || other == list)
		return f == F_NONE ? NULL : json_object_get(fact_in(row, f));
	rows = rows_of(data, other);
	for (size_t i = 0; i < n_rows(rows); i++) {
		struct json_object *r = row_at(rows, i);

		if (!json_object_equal(port_cell_of_row(r, other), port_cell_of_row(row, list)))
			continue;
		known |= fact_in(r, f) != NULL;
		sum += fact_count(r, f);
	}
	return known ? json_object_new_uint64(sum) : NULL;
}

static const char *pool_name(const char *ours)
{
	static const char *const names[][2] = {
		{"ingress", "ingress_lossless_pool"},
		{"headroom", "ingress_lossless_pool"}, // its xoff
		{"egress_lossy", "egress_lossy_pool"},
		{"egress_lossless", "egress_lossless_pool"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i][0], ours) == 0)
			return names[i][1];
	return ours;
}

// Above 10,000 in the next unit.
static void format_rate(char out[CELL_LEN], double bytes_per_s)
{
	static const char *const units[] = {"B", "KB", "MB"};
	const double step = 1000, most = 10 * step;
	unsigned i = 0;

	for (; i < 2 && bytes_per_s > most; i++)
		bytes_per_s /= step;
	snprintf(out, CELL_LEN, "%.2f %s/s", bytes_per_s, units[i]);
}

static void format_cell(char out[CELL_LEN], enum format as, struct json_object *a,
			struct json_object *b)
{
	char port[CELL_LEN];

	if (as == NOT_KNOWN || a == NULL) {
		snprintf(out, CELL_LEN, "N/A");
		return;
	}
	switch (as) {
	case COMMAS: {
		struct json_object *sum = json_object_new_uint64(json_object_get_uint64(a) +
								 json_object_get_uint64(b));

		cell_format(out, CELL_COUNT, sum);
		json_object_put(sum);
		break;
	}
	case BYTES_PER_S: format_rate(out, json_object_get_double(a) / BITS_PER_BYTE); break;
	case PER_S: snprintf(out, CELL_LEN, "%.2f/s", json_object_get_double(a)); break;
	case PERCENT: snprintf(out, CELL_LEN, "%.2f%%", json_object_get_double(a)); break;
	case STATE: snprintf(out, CELL_LEN, json_object_get_boolean(a) ? "U" : "D"); break;
	case PAIR:
		snprintf(out, CELL_LEN, "%" PRIu64 "/%" PRIu64, json_object_get_uint64(a),
			 json_object_get_uint64(b));
		break;
	case PLACE:
		snprintf(port, sizeof(port), "%s", json_object_get_string(a));
		snprintf(out, CELL_LEN, "%.64s:%" PRIu64, port, json_object_get_uint64(b));
		break;
	case UNICAST: snprintf(out, CELL_LEN, "UC%" PRIu64, json_object_get_uint64(a)); break;
	case POOL: snprintf(out, CELL_LEN, "%s", pool_name(json_object_get_string(a))); break;
	default: snprintf(out, CELL_LEN, "%s", json_object_get_string(a)); break;
	}
}

// ---- lines of text

struct lines {
	unsigned n_columns;
	char heads[MOST_COLUMNS][CELL_LEN];
	struct json_object *rows; // lists of texts
};

static void print_sonic_table(FILE *out, const char *title, struct lines *l)
{
	size_t width[MOST_COLUMNS], n = n_rows(l->rows);

	for (unsigned c = 0; c < l->n_columns; c++) {
		width[c] = strlen(l->heads[c]) + HEAD_ROOM;
		for (size_t i = 0; i < n; i++) {
			size_t len = strlen(json_object_get_string(row_at(row_at(l->rows, i), c)));

			width[c] = len > width[c] ? len : width[c];
		}
	}
	if (title != NULL)
		fprintf(out, "%s\n", title);
	for (unsigned c = 0; c < l->n_columns; c++)
		fprintf(out, "%*s%*s", c == 0 ? 0 : GAP, "", (int)width[c], l->heads[c]);
	fputc('\n', out);
	for (unsigned c = 0; c < l->n_columns; c++) {
		fprintf(out, "%*s", c == 0 ? 0 : GAP, "");
		for (size_t i = 0; i < width[c]; i++)
			fputc('-', out);
	}
	fputc('\n', out);
	for (size_t i = 0; i < n; i++) {
		for (unsigned c = 0; c < l->n_columns; c++)
			fprintf(out, "%*s%*s", c == 0 ? 0 : GAP, "", (int)width[c],
				json_object_get_string(row_at(row_at(l->rows, i), c)));
		fputc('\n', out);
	}
}

static void append_text_cell(struct json_object *line, const char *text)
{
	json_object_array_add(line, json_object_new_string(text));
}

// ---- tables

// A line for each port, a column for each of eight.
static void print_grid(FILE *out, const struct sonic_table *t, struct json_object *data)
{
	unsigned list = list_of_fact(t->value);
	struct json_object *rows = rows_of(data, list), *line = NULL, *port = NULL;
	struct lines l = {.n_columns = 1 + N_CLASSES, .rows = json_object_new_array()};
	char cell[CELL_LEN];

	snprintf(l.heads[0], CELL_LEN, "%s", t->first);
	for (unsigned i = 0; i < N_CLASSES; i++)
		snprintf(l.heads[1 + i], CELL_LEN, "%s%u", t->prefix, i);
	for (size_t i = 0; i < n_rows(rows); i++) {
		struct json_object *row = row_at(rows, i);
		unsigned column = 1 + (unsigned)fact_count(row, t->index) % N_CLASSES;

		if (line == NULL || !json_object_equal(port, port_cell_of_row(row, list))) {
			port = port_cell_of_row(row, list);
			line = json_object_new_array();
			json_object_array_add(l.rows, line);
			append_text_cell(line, json_object_get_string(port));
			for (unsigned k = 0; k < N_CLASSES; k++)
				append_text_cell(line, "N/A");
		}
		format_cell(cell, t->as, fact_in(row, t->value), NULL);
		json_object_array_put_idx(line, column, json_object_new_string(cell));
	}
	print_sonic_table(out, t->title, &l);
	json_object_put(l.rows);
}

static bool differ(struct json_object *a, struct json_object *b, enum fact_id f)
{
	return !json_object_equal(fact_in(a, f), fact_in(b, f));
}

// Whether the table has the row, which stands behind `before`.
static bool has_row(const struct sonic_table *t, struct json_object *row,
		    struct json_object *before, bool all)
{
	bool headroom = fact_is(row, F_POOL_MARKS_name, "headroom");

	switch (t->filter) {
	case ONCE_A_PORT:
		return fact_in(row, F_WATCHDOG_mode) != NULL &&
		       (before == NULL || differ(before, row, F_WATCHDOG_port));
	case NOT_IDLE:
		for (const struct sonic_column *c = t->columns; c->head != NULL; c++)
			if (c->as == PAIR && row_is_active(row, FACTS(c->a, c->b)))
				return true;
		return all;
	case SHARED_POOLS: return !headroom;
	case HEADROOM_POOL: return headroom;
	case EVERY_ROW: break;
	}
	return true;
}

static void add_line(struct lines *l, const struct sonic_table *t, struct json_object *data,
		     struct json_object *row)
{
	unsigned list = list_of_fact(t->columns[0].a);
	struct json_object *line = json_object_new_array();
	char cell[CELL_LEN];

	for (const struct sonic_column *c = t->columns; c->head != NULL; c++) {
		struct json_object *a = value_at(data, row, list, c->a);
		struct json_object *b = value_at(data, row, list, c->b);

		format_cell(cell, c->as, a, b);
		append_text_cell(line, cell);
		json_object_put(a);
		json_object_put(b);
	}
	json_object_array_add(l->rows, line);
}

static void print_rows(FILE *out, const struct sonic_table *t, struct json_object *data, bool all)
{
	unsigned list = list_of_fact(t->columns[0].a);
	struct json_object *rows = rows_of(data, list), *before = NULL;
	struct lines l = {.rows = json_object_new_array()};

	for (const struct sonic_column *c = t->columns; c->head != NULL; c++)
		snprintf(l.heads[l.n_columns++], CELL_LEN, "%s", c->head);
	for (size_t i = 0; i < n_rows(rows); i++) {
		struct json_object *row = row_at(rows, i);

		if (t->by_port && before != NULL &&
		    !json_object_equal(port_cell_of_row(before, list),
				       port_cell_of_row(row, list))) {
			print_sonic_table(out, t->title, &l);
			fputc('\n', out);
			json_object_put(l.rows);
			l.rows = json_object_new_array();
		}
		if (!has_row(t, row, before, all))
			continue;
		add_line(&l, t, data, row);
		before = row;
	}
	print_sonic_table(out, t->title, &l);
	json_object_put(l.rows);
}

// SONiC has one line for a port. The classes that it is untrue for stand above.
static void print_other_times(FILE *out, struct json_object *rows)
{
	struct json_object *shown = NULL;

	for (size_t i = 0; i < n_rows(rows); i++) {
		struct json_object *row = row_at(rows, i);

		if (fact_in(row, F_WATCHDOG_mode) == NULL)
			continue;
		if (shown == NULL || differ(row, shown, F_WATCHDOG_port))
			shown = row;
		else if (differ(row, shown, F_WATCHDOG_detect_ms) ||
			 differ(row, shown, F_WATCHDOG_restore_ms))
			fprintf(out,
				"%s: class %" PRIu64 " has other times: weirctl show watchdog\n",
				json_object_get_string(fact_in(row, F_WATCHDOG_port)),
				fact_count(row, F_WATCHDOG_class));
	}
}

void sonic_print(FILE *out, const struct sonic_show *s, struct json_object *data, bool all)
{
	if (s->print != NULL) {
		s->print(out, data);
		return;
	}
	for (const struct sonic_table *t = s->tables; t < s->tables + MOST_TABLES; t++) {
		if (t->columns == NULL && t->first == NULL)
			break;
		if (t > s->tables)
			fputc('\n', out);
		if (t->notice != F_NONE &&
		    fact_yes(rows_of(data, list_of_fact(t->notice)), t->notice))
			fprintf(out, "%s\n", t->notice_text);
		if (t->filter == ONCE_A_PORT)
			print_other_times(out, rows_of(data, list_of_fact(t->columns[0].a)));
		if (t->columns == NULL)
			print_grid(out, t, data);
		else
			print_rows(out, t, data, all);
	}
}

// ---- ECN

static void add_curve(struct json_object *fields, struct json_object *row, const char *color)
{
	char key[CELL_LEN], value[CELL_LEN];
	const struct {
		const char *field;
		enum fact_id fact;
	} rows[] = {
		{"min_threshold", F_ECN_kmin_bytes},
		{"max_threshold", F_ECN_kmax_bytes},
		{"drop_probability", F_ECN_pmax_percent},
	};

	snprintf(key, sizeof(key), "wred_%s_enable", color);
	row_text(fields, key, "true");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(key, sizeof(key), "%s_%s", color, rows[i].field);
		snprintf(value, sizeof(value), "%.10g",
			 json_object_get_double(fact_in(row, rows[i].fact)));
		row_text(fields, key, value);
	}
}

static void print_profile(FILE *out, const char *name, struct json_object *fields)
{
	int left = 0, right = 0;

	json_object_object_foreach(fields, k, v) {
		left = (int)strlen(k) > left ? (int)strlen(k) : left;
		right = (int)json_object_get_string_len(v) > right
				? (int)json_object_get_string_len(v)
				: right;
	}
	fprintf(out, "Profile: %s\n", name);
	for (int line = 0; line < 2; line++) {
		for (int i = 0; i < left + GAP + right; i++)
			fputc(i < left || i >= left + GAP ? '-' : ' ', out);
		fputc('\n', out);
		if (line == 1)
			break;
		json_object_object_foreach(fields, key, value)
			fprintf(out, "%-*s  %s\n", left, key, json_object_get_string(value));
	}
	fputc('\n', out);
}

static bool same_queue(struct json_object *a, struct json_object *b)
{
	return fact_count(a, F_ECN_queue) == fact_count(b, F_ECN_queue) &&
	       json_object_equal(fact_in(a, F_ECN_port), fact_in(b, F_ECN_port));
}

// The fields of the queue that row *at begins; then *at is the row behind it.
static struct json_object *profile_of(struct json_object *rows, size_t *at)
{
	static const char *const colors[N_COLORS] = {"green", "yellow", "red"};
	struct json_object *first = row_at(rows, *at), *fields = json_object_new_object();

	row_text(fields, KEY(ECN, ecn), fact_yes(first, F_ECN_ecn) ? "ecn_all" : "ecn_none");
	for (; *at < n_rows(rows) && same_queue(row_at(rows, *at), first); ++*at)
		for (unsigned c = 0; c < N_COLORS; c++) {
			struct json_object *row = row_at(rows, *at);

			if (fact_is(row, F_ECN_color, "all") ||
			    fact_is(row, F_ECN_color, colors[c]))
				add_curve(fields, row, colors[c]);
		}
	return fields;
}

// A profile for each queue with `wred`, named PROFILE|QUEUE, once where ports have the same. Ports
// that differ have theirs as PROFILE|QUEUE|PORT.
static void print_ecn(FILE *out, struct json_object *data)
{
	struct json_object *rows = rows_of(data, FACTS_ECN), *seen = json_object_new_object();

	for (size_t i = 0; i < n_rows(rows);) {
		struct json_object *first = row_at(rows, i), *fields = profile_of(rows, &i), *same;
		char name[CELL_LEN];

		snprintf(name, sizeof(name), "%.64s|%" PRIu64, fact_text(first, F_ECN_profile),
			 fact_count(first, F_ECN_queue));
		same = json_object_object_get(seen, name);
		if (fact_yes(first, F_ECN_wred) && !json_object_equal(same, fields)) {
			if (same != NULL)
				snprintf(name + strlen(name), sizeof(name) - strlen(name), "|%.64s",
					 fact_text(first, F_ECN_port));
			print_profile(out, name, fields);
			json_object_object_add(seen, name, json_object_get(fields));
		}
		json_object_put(fields);
	}
	json_object_put(seen);
}
