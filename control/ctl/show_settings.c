// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/show_settings.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/table.h"

enum { N_MAPPED = 8 };

static const struct column vlan_columns[] = {
	{"VLAN", "vlan", UNIT_COUNT}, {"FLOOD", "flood", UNIT_ON, 2},
	{"UNTAGGED", "untagged", UNIT_TEXT, 1}, {"TAGGED", "tagged", UNIT_TEXT, 1},
};
static const struct table vlans = {COLUMNS(vlan_columns), NULL, NULL,
				   "no VLAN: the bridge does not look at tags"};
static const struct column pfc_columns[] = {
	{"CLASS", "class", UNIT_COUNT}, {"RX", "rx", UNIT_ON}, {"TX", "tx", UNIT_ON},
	{"RX_POLICY", "rx_policy", UNIT_ON, 3}, {"TX_POLICY", "tx_policy", UNIT_ON, 3},
	{"PROFILE", "profile", UNIT_TEXT, 2}, {"PORTS", "ports", UNIT_TEXT, 1},
};
static const struct table pfc = {COLUMNS(pfc_columns), NULL, NULL,
				 "no class is lossless: no port sends or obeys PFC"};
static const struct column ecn_columns[] = {
	{"QUEUE", "queue", UNIT_COUNT}, {"CLASS", "class", UNIT_COUNT, 5},
	{"COLOR", "color", UNIT_TEXT, 2}, {"ECN", "ecn", UNIT_ON},
	{"KMIN", "kmin_bytes", UNIT_BYTES}, {"KMAX", "kmax_bytes", UNIT_BYTES},
	{"PMAX", "pmax_percent", UNIT_PERCENT, 1}, {"WEIGHT", "weight", UNIT_COUNT, 7},
	{"MARK_AT", "mark_at", UNIT_TEXT, 8}, {"ABOVE_KMAX", "above_kmax", UNIT_TEXT, 9},
	{"NOT_ECT", "not_ect", UNIT_TEXT, 6}, {"PROFILE", "profile", UNIT_TEXT, 4},
	{"PORTS", "ports", UNIT_TEXT, 3},
};
static const struct table ecn = {COLUMNS(ecn_columns), "wred", "group|s of queues without `wred`",
				 "no queue has `wred`: no frame is marked or dropped early"};
static const struct column pg_columns[] = {
	{"PG", "pg", UNIT_COUNT}, {"CLASS", "class", UNIT_COUNT, 5},
	{"LOSSLESS", "lossless", UNIT_YES, 6}, {"MIN", "min_bytes", UNIT_BYTES},
	{"ALPHA", "alpha", UNIT_TEXT}, {"STATIC", "static_bytes", UNIT_BYTES, 8},
	{"HEADROOM", "headroom_bytes", UNIT_BYTES}, {"XON", "xon_bytes", UNIT_BYTES, 2},
	{"XON_OFFSET", "xon_offset_bytes", UNIT_BYTES, 3}, {"PROFILE", "profile", UNIT_TEXT, 4},
	{"PORTS", "ports", UNIT_TEXT, 1},
};
static const struct table pgs = {
	COLUMNS(pg_columns),
	"lossless min_bytes static_bytes headroom_bytes xon_bytes xon_offset_bytes",
	"lossy group|s without min or headroom", "no group has min or headroom"};
static const struct column class_columns[] = {
	{"CLASS", "class", UNIT_COUNT}, {"LOSSLESS", "lossless", UNIT_YES, 2},
	{"QUEUE", "queue", UNIT_COUNT}, {"PG", "pg", UNIT_COUNT, 1},
	{"PCP", "pcp", UNIT_TEXT}, {"DSCP", "dscp", UNIT_TEXT},
};
static const struct table classes = {COLUMNS(class_columns), NULL, NULL, NULL};

static struct json_object *member(struct json_object *row, const char *key)
{
	struct json_object *v = NULL;

	json_object_object_get_ex(row, key, &v);
	return v;
}

static const char *text(struct json_object *row, const char *key)
{
	struct json_object *v = member(row, key);

	return v != NULL ? json_object_get_string(v) : "-";
}

static struct json_object *at(struct json_object *list, size_t i)
{
	return json_object_array_get_idx(list, i);
}

// ---- names of ports

// Whether b is the name after a: "p9" and "p10".
static bool follows(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	while (n > 0 && isdigit((unsigned char)a[n - 1]))
		n--;
	while (m > 0 && isdigit((unsigned char)b[m - 1]))
		m--;
	return n == m && strncmp(a, b, n) == 0 && a[n] != '\0' && b[n] != '\0' && b[n] != '0' &&
	       strtoul(b + n, NULL, 10) == strtoul(a + n, NULL, 10) + 1;
}

// "p1-p12 q1" of a list of names; "-" of none.
static struct json_object *ranges(struct json_object *names)
{
	size_t n = json_object_array_length(names), len;
	struct json_object *out;
	char *all = NULL;
	FILE *f = open_memstream(&all, &len);

	for (size_t i = 0; f != NULL && i < n; i++) {
		size_t last = i;

		while (last + 1 < n && follows(json_object_get_string(at(names, last)),
					       json_object_get_string(at(names, last + 1))))
			last++;
		fprintf(f, "%s%s", i > 0 ? " " : "", json_object_get_string(at(names, i)));
		if (last > i)
			fprintf(f, "-%s", json_object_get_string(at(names, last)));
		i = last;
	}
	if (f != NULL)
		fclose(f);
	out = json_object_new_string(all != NULL && *all != '\0' ? all : "-");
	free(all);
	return out;
}

// Rows that differ in nothing but their port are one row, with all the names in `ports`.
static struct json_object *by_settings(struct json_object *rows)
{
	struct json_object *out = json_object_new_array(), *names = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = at(rows, i), *port = json_object_get(member(row, "port"));
		size_t k = 0;

		json_object_object_del(row, "port");
		while (k < json_object_array_length(out) && !json_object_equal(at(out, k), row))
			k++;
		if (k == json_object_array_length(out)) {
			json_object_array_add(out, json_object_get(row));
			json_object_array_add(names, json_object_new_array());
		}
		json_object_array_add(at(names, k), port);
	}
	for (size_t k = 0; k < json_object_array_length(out); k++)
		json_object_object_add(at(out, k), "ports", ranges(at(names, k)));
	json_object_put(names);
	return out;
}

static void print_by_settings(FILE *out, struct json_object *rows, const struct table *t,
			      const struct show_wish *wish)
{
	struct json_object *groups;

	if (rows == NULL)
		return;
	groups = by_settings(rows);
	table_print(out, groups, t, wish);
	json_object_put(groups);
}

// ---- the kinds

void print_vlan(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows = member(data, "vlan");

	if (rows == NULL)
		return;
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = at(rows, i);

		json_object_object_add(row, "untagged", ranges(member(row, "untagged")));
		json_object_object_add(row, "tagged", ranges(member(row, "tagged")));
	}
	table_print(out, rows, &vlans, wish);
}

void print_pfc_status(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	print_by_settings(out, member(data, "pfc_status"), &pfc, wish);
}

void print_ecn(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	print_by_settings(out, member(data, "ecn"), &ecn, wish);
}

void print_buffers_config(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	static const struct {
		const char *name, *key;
	} lines[] = {
		{"buffer", "size_bytes"},
		{"cell", "cell_bytes"},
		{"ingress pool", "ingress_pool_bytes"},
		{"headroom pool", "headroom_pool_bytes"},
		{"lossy egress", "egress_lossy_bytes"},
		{"lossless egress", "egress_lossless_bytes"},
	};
	char cell[CELL_LEN];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		cell_format(cell, UNIT_BYTES, member(member(data, "buffer"), lines[i].key));
		fprintf(out, "%-15s  %s\n", lines[i].name, cell);
	}
	fputc('\n', out);
	print_by_settings(out, member(data, "pg_config"), &pgs, wish);
}

// "0-7 26" of the places of a map that hold cls; "-" of none.
static struct json_object *places(struct json_object *map, int cls)
{
	char text_of[CELL_LEN] = "";
	size_t n = json_object_array_length(map), len = 0;

	for (size_t i = 0; i < n && len < sizeof(text_of); i++) {
		size_t first = i;

		if (json_object_get_int(at(map, i)) != cls)
			continue;
		while (i + 1 < n && json_object_get_int(at(map, i + 1)) == cls)
			i++;
		len += (size_t)snprintf(text_of + len, sizeof(text_of) - len,
					i > first ? "%s%zu-%zu" : "%s%zu", len > 0 ? " " : "",
					first, i);
	}
	return json_object_new_string(len > 0 ? text_of : "-");
}

static bool holds(struct json_object *list, int cls)
{
	for (size_t i = 0; i < json_object_array_length(list); i++)
		if (json_object_get_int(at(list, i)) == cls)
			return true;
	return false;
}

static void print_maps(FILE *out, struct json_object *row, const struct show_wish *wish)
{
	struct json_object *rows = json_object_new_array();

	fprintf(out, "ports %s, profile %s: trust %s, default class %s\n", text(row, "ports"),
		text(row, "profile"), text(row, "trust"), text(row, "default_class"));
	for (int c = 0; c < N_MAPPED; c++) {
		struct json_object *line = json_object_new_object();
		size_t i = (size_t)c;

		json_object_object_add(line, "class", json_object_new_int(c));
		json_object_object_add(
			line, "lossless",
			json_object_new_boolean(holds(member(row, "lossless"), c)));
		json_object_object_add(line, "queue",
				       json_object_get(at(member(row, "class_to_queue"), i)));
		json_object_object_add(line, "pg",
				       json_object_get(at(member(row, "class_to_pg"), i)));
		json_object_object_add(line, "pcp", places(member(row, "pcp_to_class"), c));
		json_object_object_add(line, "dscp", places(member(row, "dscp_to_class"), c));
		json_object_array_add(rows, line);
	}
	table_print(out, rows, &classes, wish);
	json_object_put(rows);
}

void print_qos(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	struct json_object *rows = member(data, "qos"), *groups;

	if (rows == NULL)
		return;
	groups = by_settings(rows);
	for (size_t i = 0; i < json_object_array_length(groups); i++) {
		if (i > 0)
			fputc('\n', out);
		print_maps(out, at(groups, i), wish);
	}
	json_object_put(groups);
}
