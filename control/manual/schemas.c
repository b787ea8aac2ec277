// SPDX-License-Identifier: Apache-2.0
#include "control/manual/schemas.h"

#include <stdbool.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/show.h"
#include "control/observe/fact.h"

// How a row computes its fact, as text. Of the two macros only the name is of interest: the key may
// be absent, or the value null.
#undef IF
#undef MAYBE
#define IF(condition, e) @absent e
#define MAYBE(condition, e) @null e
static const char *const expressions[N_FACTS] = {
#define LIST(...)
#define ROW(list, key, kind, unit, place, head, rank, label, value, help)                          \
	[F_##list##_##key] = #value,
#define END(list)
#include "control/observe/facts.def"
};

static bool may_be(const struct fact *f, const char *what)
{
	return strstr(expressions[f - fact_rows], what) != NULL;
}

// Types that neither unit nor expression shows. A test with real answers finds one that is missing.
static const struct {
	enum fact_id fact;
	const char *type, *other; // other: NULL, or a second type
} types[] = {
	{F_BURST_QUEUES_history_bytes, "array", "null"}, // all are 0
	{F_BURST_PGS_history_bytes, "array", "null"},
	{F_CNPS_queue, "integer", NULL},
	{F_DCBX_CLASSES_host_share, "number", "null"},
	{F_DCBX_CLASSES_host_tc, "integer", "null"},
	{F_ECN_kmin_bytes, "integer", "null"},
	{F_ECN_kmax_bytes, "integer", "null"},
	{F_ECN_pmax_percent, "number", "null"},
	{F_IMPAIRMENTS_left_us, "integer", "null"},
	{F_IMPAIRMENTS_most, "integer", "null"},
	{F_INOF_HOSTS_service_port, "integer", NULL},
	{F_INOF_LOG_sequence, "integer", NULL},
	{F_PFC_rx_pause_last_change_us, "integer", "null"},
	{F_PFC_tx_pause_last_change_us, "integer", "null"},
	{F_QOS_lossless, "array", NULL},
	{F_QOS_dscp_to_class, "array", NULL},
	{F_QOS_pcp_to_class, "array", NULL},
	{F_QOS_class_to_queue, "array", NULL},
	{F_QOS_class_to_pg, "array", NULL},
	{F_VLAN_untagged, "array", NULL},
	{F_VLAN_tagged, "array", NULL},
	{F_VLAN_ip, "array", NULL},
};

// Lists of facts that the answer of another kind has, too. The kind is that of the list `of`.
static const struct {
	unsigned of, list;
} borrowed[] = {
	{FACTS_IPCC, FACTS_ELEPHANTS},
	{FACTS_IPCC, FACTS_FLOW_TABLE},
	{FACTS_IPCC, FACTS_PAIRING},
	{FACTS_QUEUES, FACTS_POOLS},
};

// Members of an answer, beside its lists of facts. The kind is that of the list `of`; NO_FACTS: the
// kind config. same: the fact that has the key; F_NONE: `key` is it.
static const struct member {
	unsigned of;
	enum fact_id same;
	const char *key, *type, *help;
} members[] = {
	{FACTS_CNPS, F_NONE, "total", "integer", "notifications since the start"},
	{FACTS_CNPS, F_NONE, "kept", "integer", "of those, the last ones that the switch knows"},
	{FACTS_CNPS, F_STEERING_lost, NULL, "integer",
	 "notifications that found no room in the ring to control"},
	{NO_FACTS, F_NONE, "config", "object", "name of the switch, file, and text of the file"},
	{FACTS_EVENTS, F_NONE, "events_lost", "integer",
	 "events that found no room in the ring to control"},
	{FACTS_FLOWS, F_NONE, "all", "integer", "flows in the table"},
	{FACTS_FLOWS, F_PAIRING_unpaired, NULL, "integer",
	 "of those, flows whose sender's queue pair is not known"},
	{FACTS_FLOWS, F_NONE, "matching", "integer", "of those, flows that the request selects"},
	{FACTS_FLOWS, F_NONE, "left_out", "integer", "of those, flows above the limit"},
	{FACTS_WATCHDOG, F_VERSION_drop_all, NULL, "boolean",
	 "all lossless classes are discarded"},
	{FACTS_WORKERS, F_NONE, "admission_held", "boolean", "quiesce --hold is in force"},
};

#define N(a) (sizeof(a) / sizeof((a)[0]))

// ---- pieces of a schema

static struct json_object *piece(const char *type, const char *help)
{
	struct json_object *s = json_object_new_object();

	row_text(s, "type", type);
	if (help != NULL)
		row_text(s, "description", help);
	return s;
}

static void add_schema_member(struct json_object *to, const char *key, struct json_object *s)
{
	json_object_object_add(to, key, s);
}

// "integer" or ["integer", "null"].
static void put_types(struct json_object *s, const char *type, const char *other)
{
	struct json_object *list;

	if (other == NULL) {
		row_text(s, "type", type);
		return;
	}
	list = list_in(s, "type");
	json_object_array_add(list, json_object_new_string(type));
	json_object_array_add(list, json_object_new_string(other));
}

static void put_fact_types(struct json_object *s, const struct fact *f)
{
	const char *null = may_be(f, "@null") ? "null" : NULL;

	for (size_t i = 0; i < N(types); i++)
		if (f == &fact_rows[types[i].fact]) {
			put_types(s, types[i].type, types[i].other);
			return;
		}
	switch (f->kind == FACT_YES ? CELL_YES : f->unit) {
	case CELL_YES:
	case CELL_UP:
	case CELL_ON: put_types(s, "boolean", null); break;
	case CELL_LIST: put_types(s, "array", null); break;
	case CELL_TEXT: put_types(s, "string", f->kind == FACT_ID ? NULL : "null"); break;
	case CELL_PERCENT: put_types(s, "number", null); break;
	default: put_types(s, "integer", null);
	}
}

static struct json_object *fact_schema(const struct fact *f)
{
	struct json_object *s = json_object_new_object();

	put_fact_types(s, f);
	row_text(s, "description", f->help);
	return s;
}

static struct json_object *row_schema(const struct fact_list *l)
{
	struct json_object *s = piece("object", NULL), *properties = json_object_new_object();
	struct json_object *required = json_object_new_array();

	for (size_t i = 0; i < l->n; i++) {
		add_schema_member(properties, l->rows[i].key, fact_schema(&l->rows[i]));
		if (!may_be(&l->rows[i], "@absent"))
			json_object_array_add(required, json_object_new_string(l->rows[i].key));
	}
	add_schema_member(s, "properties", properties);
	add_schema_member(s, "required", required);
	return s;
}

// ---- kinds

static bool is_kind(unsigned list, const char *what)
{
	return strcmp(list == NO_FACTS ? "config" : fact_lists[list].what, what) == 0;
}

static bool has_list(const char *what, unsigned list)
{
	for (size_t i = 0; i < N(borrowed); i++)
		if (borrowed[i].list == list && is_kind(borrowed[i].of, what))
			return true;
	return is_kind(list, what);
}

static void put_lists(struct json_object *properties, struct json_object *required,
		      const char *what)
{
	for (unsigned i = 0; i < N_FACT_LISTS; i++) {
		const struct fact_list *l = &fact_lists[i];
		struct json_object *s;

		if (!has_list(what, i))
			continue;
		s = l->single ? row_schema(l) : piece("array", NULL);
		if (!l->single)
			add_schema_member(s, "items", row_schema(l));
		row_text(s, "description", l->help);
		add_schema_member(properties, l->list, s);
		if (i != FACTS_VXLAN) // only with `vxlan` in the policy
			json_object_array_add(required, json_object_new_string(l->list));
	}
}

static struct json_object *kind_schema(const char *what, const char *help)
{
	struct json_object *s = piece("object", help), *properties = json_object_new_object();
	struct json_object *required = json_object_new_array();

	put_lists(properties, required, what);
	for (const struct member *m = members; m < members + N(members); m++) {
		const char *key = m->same != F_NONE ? fact_rows[m->same].key : m->key;

		if (!is_kind(m->of, what))
			continue;
		add_schema_member(properties, key, piece(m->type, m->help));
		json_object_array_add(required, json_object_new_string(key));
	}
	add_schema_member(s, "properties", properties);
	add_schema_member(s, "required", required);
	return s;
}

void schemas_print(FILE *out)
{
	struct json_object *root = json_object_new_object(), *kinds = json_object_new_object();
	const char *what, *help;

	row_text(root, "$schema", "https://json-schema.org/draft/2020-12/schema");
	row_text(root, "title", "Answers of weirctl show KIND --json");
	row_text(root, "description",
		 "Made by scripts/docs; do not edit. The definition of a kind is "
		 "#/$defs/KIND. Other keys may be added.");
	for (unsigned i = 0; (what = show_kind(i, &help)) != NULL; i++)
		add_schema_member(kinds, what, kind_schema(what, help));
	add_schema_member(root, "$defs", kinds);
	fprintf(out, "%s\n",
		json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
							     JSON_C_TO_STRING_NOSLASHESCAPE |
							     JSON_C_TO_STRING_SPACED));
	json_object_put(root);
}
