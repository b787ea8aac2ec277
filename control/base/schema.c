// SPDX-License-Identifier: Apache-2.0
#include "control/base/schema.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/base/bits.h"
#include "dataplane/base/units.h"

enum { SHOWN_LEN = 48, WORD_LEN = 24 };

// A node of the tree on its way into a member of a struct.
struct slot {
	struct cfg_reader *r;
	const struct cfg_row *row;
	const struct node *n;
	void *to;
	const char *path;
};

#define WRONG(f, ...) diag_add((f)->r->sink, DIAG_ERROR, (f)->n->at, (f)->path, __VA_ARGS__)

// ---- texts
const char *schema_shown(struct arena *a, const char *text)
{
	size_t n = strlen(text);

	if (n <= SHOWN_LEN)
		return text;
	n = SHOWN_LEN;
	// Never half a UTF-8 character.
	while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return arena_printf(a, "%.*s...", (int)n, text);
}

// Edits between two words: insert, delete, change, swap of neighbours.
static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned d[WORD_LEN + 1][WORD_LEN + 1];

	for (size_t i = 0; i <= na; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= nb; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		for (size_t j = 1; j <= nb; j++) {
			unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[na][nb];
}

const char *schema_closest(const char *text, unsigned n, const char *(*get)(const void *, unsigned),
			   const void *ctx)
{
	size_t len = strlen(text);
	unsigned best = len < 4 ? 1 : 2;
	const char *found = NULL;

	if (len > WORD_LEN || len < 2)
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		const char *word = get(ctx, i);
		size_t word_len = strlen(word);
		unsigned d;

		if (word_len > WORD_LEN || word_len < 2)
			continue;
		d = distance(text, len, word, word_len);
		if (d < best || (d == best && found == NULL)) {
			best = d;
			found = word;
		}
	}
	return found;
}

// One number of at most six digits; returns what follows or NULL.
static const char *small_number(const char *s, int64_t *out)
{
	unsigned digits = 0;

	while (*s == ' ')
		s++;
	for (*out = 0; isdigit((unsigned char)*s) && digits < 6; s++, digits++)
		*out = *out * 10 + (*s - '0');
	if (digits == 0 || isdigit((unsigned char)*s))
		return NULL;
	while (*s == ' ')
		s++;
	return s;
}

static bool set_add(struct cfg_set *set, int64_t from, int64_t to, const char **why)
{
	for (int64_t i = from; i <= to; i++) {
		uint64_t *word = &set->bits[i / 64];
		uint64_t bit = 1ull << (i % 64);

		if (*word & bit) {
			*why = "names a number twice";
			return false;
		}
		*word |= bit;
		if (set->n < CFG_SET_ORDERED)
			set->ordered[set->n] = (uint16_t)i;
		set->n++;
	}
	return true;
}

bool schema_parse_ranges(const char *s, int64_t min, int64_t max, struct cfg_set *set,
			 const char **why)
{
	for (;;) {
		int64_t from, to;

		*why = "is no number or range";
		s = small_number(s, &from);
		to = from;
		if (s != NULL && *s == '-')
			s = small_number(s + 1, &to);
		if (s == NULL || (*s != '\0' && *s != ','))
			return false;
		*why = "is out of range";
		if (from < min || to > max || to >= CFG_SET_BITS)
			return false;
		*why = "ends before it begins";
		if (from > to || !set_add(set, from, to, why))
			return false;
		if (*s++ == '\0')
			return true;
	}
}

// ---- defaults
static void *member(void *base, const struct cfg_row *row)
{
	return (char *)base + row->off;
}

void schema_defaults(const struct cfg_schema *s, void *base)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct cfg_row *row = &s->rows[i];

		if (row->scalar != NULL)
			((struct cfg_val *)member(base, row->scalar))->n = row->scalar->dflt;
		if (row->type <= CFG_ALPHA)
			((struct cfg_val *)member(base, row))->n = row->dflt;
		else if (row->type == CFG_MAP)
			schema_defaults(row->sub, member(base, row));
		else if (row->type == CFG_CLASSES)
			for (unsigned c = 0; c < CFG_N_CLASSES; c++)
				schema_defaults(row->sub,
						(char *)member(base, row) + c * row->sub->size);
	}
}

// ---- single values
// why continues the value: "is ..." or, after a colon, what was expected.
static bool refuse_value(const struct slot *f, const char *why)
{
	bool verb = strncmp(why, "is ", 3) == 0 || strncmp(why, "holds ", 6) == 0;

	WRONG(f, "\"%s\"%s %s", schema_shown(f->r->arena, f->n->text), verb ? "" : ":", why);
	return false;
}

static bool parse_number_value(const struct slot *f, struct cfg_val *v)
{
	const struct cfg_row *row = f->row;
	const char *text = f->n->text, *why;
	int64_t value;
	size_t len = strlen(text);
	bool ends_in_percent = len > 0 && text[len - 1] == '%', below;

	if (row->word != NULL && strcmp(text, row->word) == 0) {
		v->n = CFG_WORD_VALUE;
		return true;
	}
	if (row->unit == UNIT_COUNT && ends_in_percent)
		return refuse_value(
			f, arena_printf(f->r->arena,
					"%s is a whole number, not a percentage" CURE "write %.*s",
					row->key, (int)len - 1, schema_shown(f->r->arena, text)));
	v->percent = row->percent_of != NULL && ends_in_percent;
	if (!unit_parse(v->percent ? UNIT_PERCENT : row->unit, text, &value, &why)) {
		if (row->word != NULL)
			why = arena_printf(f->r->arena, "%s, or %s", why, row->word);
		return refuse_value(f, row->expected != NULL ? row->expected : why);
	}
	v->n = value;
	if (v->percent)
		return value <= PPM || refuse_value(f, "is above 100%");
	below = value < row->min;
	if (!below && value <= row->max)
		return true;
	WRONG(f, "%s is %s the %s %s", schema_shown(f->r->arena, text), below ? "below" : "above",
	      below ? "minimum" : "maximum", UNIT_TEXT(row->unit, below ? row->min : row->max));
	return false;
}

static const char *listed_word_at(const void *words, unsigned i)
{
	return ((const char *const *)words)[i];
}

static bool parse_word_value(const struct slot *f, struct cfg_val *v)
{
	const char *const *words = f->row->words;
	const char *all = "", *near;
	unsigned i;

	for (i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], f->n->text) == 0) {
			v->n = i;
			return true;
		}
		all = arena_printf(f->r->arena, "%s%s%s", all, i == 0 ? "" : ", ", words[i]);
	}
	near = schema_closest(f->n->text, i, listed_word_at, words);
	if (near != NULL)
		return refuse_value(f, arena_printf(f->r->arena, "did you mean %s?", near));
	if (f->row->expected != NULL)
		all = f->row->expected;
	return refuse_value(
		f, arena_printf(f->r->arena, "expected %s%s", i > 1 ? "one of " : "", all));
}

static bool on_off(const struct slot *f, struct cfg_val *v)
{
	const char *text = f->n->text;

	v->n = strcmp(text, "on") == 0 || strcmp(text, "true") == 0;
	return v->n != 0 || strcmp(text, "off") == 0 || strcmp(text, "false") == 0 ||
	       refuse_value(f, "expected on or off");
}

static bool alpha(const struct slot *f, struct cfg_val *v)
{
	char why[96];

	return unit_parse_alpha(f->n->text, &v->n, why, sizeof(why)) || refuse_value(f, why);
}

static bool text(const struct slot *f, struct cfg_val *v)
{
	const char *text = f->n->text;
	size_t len = strlen(text);
	bool line = f->row->type == CFG_LINE;

	for (const char *c = text; f->row->type == CFG_NAME && *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && strchr("._-", *c) == NULL)
			return refuse_value(f, "a name is made of letters, digits, . _ and -");
	if (len == 0)
		return refuse_value(f, "is empty");
	if (len > (size_t)f->row->max)
		return refuse_value(f, arena_printf(f->r->arena,
						    "is longer than %" PRId64 " characters",
						    f->row->max));
	for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
		if (line && ((*c < 0x20 && *c != '\n') || *c == 0x7f))
			return refuse_value(f, "holds a control character");
		if (!line && (*c <= 0x20 || *c >= 0x7f))
			return refuse_value(f, "holds a space or a character outside ASCII");
	}
	v->text = text;
	return true;
}

// Reads the node by its row into *out. False after a report, *out then keeps its default.
static bool read_scalar(const struct slot *f, struct cfg_val *out)
{
	static bool (*const read[])(const struct slot *, struct cfg_val *) = {
		[CFG_NUMBER] = parse_number_value, [CFG_WORD] = parse_word_value,
		[CFG_SWITCH] = on_off, [CFG_ALPHA] = alpha,
		[CFG_NAME] = text, [CFG_TEXT] = text,
		[CFG_LINE] = text,
	};
	struct cfg_val v = {.n = f->row->dflt, .path = f->path, .at = f->n->at, .given = true};
	bool ok = read[f->row->type](f, &v);

	if (!ok) {
		v.n = out->n;
		v.text = out->text;
		v.percent = out->percent;
		v.bad = true;
	}
	*out = v;
	return ok;
}

// ---- keys of SONiC's CONFIG_DB that a writer carried over, with their values translated
static int row_index(const struct cfg_schema *s, const char *key)
{
	for (unsigned i = 0; i < s->n; i++)
		if (strcmp(s->rows[i].key, key) == 0)
			return (int)i;
	return -1;
}

// key: where the map has it, else `within: {key}`.
static const struct {
	const char *sonic, *key, *within;
	enum unit_kind unit;
	int64_t times; // the value in that unit; 0: no value to translate
	bool power; // the exponent of a power of two
} sonic_rows[] = {
	{"dynamic_th", "alpha", "ingress", .power = true},
	{"static_th", "static", "ingress", UNIT_BYTES, 1},
	{"size", "min", "ingress", UNIT_BYTES, 1},
	{"xoff", "headroom", "ingress", UNIT_BYTES, 1},
	{"green_min_threshold", "kmin", "wred", UNIT_BYTES, 1},
	{"green_max_threshold", "kmax", "wred", UNIT_BYTES, 1},
	{"green_drop_probability", "pmax", "wred", UNIT_PERCENT, PPM / 100},
	{"detection_time", "detect", "watchdog", UNIT_TIME, MS_NS},
	{"restoration_time", "restore", "watchdog", UNIT_TIME, MS_NS},
	{"weight", "dwrr", "schedule", UNIT_COUNT, 1},
	{"cir", "min_rate", "", UNIT_RATE, 8},
	{"pir", "max_rate", "", UNIT_RATE, 8},
	{"dscp_to_tc_map", "dscp_to_class", ""},
	{"tc_to_queue_map", "class_to_queue", ""},
	{"tc_to_pg_map", "class_to_pg", ""},
	{"packet_discard_action", "discard", "egress"},
	{"dscp_value", "dscp", ""},
	{"tc_value", "class", ""},
	{"queue_index", "queue", ""},
	{"pfc_enable", "lossless: on in the classes of the profile", "classes"},
};

// Whether a key of the map is SONiC's name for `key`.
static bool sonic_gives(const struct node *map, const char *key)
{
	for (const struct node *v = map->first; v != NULL; v = v->next)
		for (size_t i = 0; i < sizeof(sonic_rows) / sizeof(sonic_rows[0]); i++)
			if (strcmp(sonic_rows[i].key, key) == 0 &&
			    strcmp(sonic_rows[i].sonic, v->key->text) == 0)
				return true;
	return false;
}

// The value of the i-th row as a policy writes it, or NULL.
static const char *policy_value_of_sonic(struct arena *a, size_t i, const char *text)
{
	const int64_t most = 1000000000000;
	char *end, out[UNIT_TEXT_LEN];
	int64_t n = strtoll(text, &end, 10);

	if (end == text || *end != '\0')
		return NULL;
	if (sonic_rows[i].power && n >= ALPHA_LOG2_MIN && n <= ALPHA_LOG2_MAX)
		unit_print_alpha((int)n, out, sizeof(out));
	else if (sonic_rows[i].times != 0 && n >= 0 && n <= most)
		unit_print(sonic_rows[i].unit, n * sonic_rows[i].times, out, sizeof(out));
	else
		return NULL;
	return arena_text(a, out, strlen(out));
}

// "SONiC's dynamic_th -1 is alpha: 1/2", or NULL where `s` takes no key of that meaning. value: of
// a key that `s` does not have.
static const char *sonic_translate(struct arena *a, const struct cfg_schema *s,
				   const struct node *value)
{
	const char *sonic = value->key->text, *to = NULL;

	for (size_t i = 0; i < sizeof(sonic_rows) / sizeof(sonic_rows[0]); i++) {
		bool here = row_index(s, sonic_rows[i].key) >= 0;

		if (strcmp(sonic_rows[i].sonic, sonic) != 0 ||
		    (!here && row_index(s, sonic_rows[i].within) < 0))
			continue;
		if (value->kind == NODE_SCALAR)
			to = policy_value_of_sonic(a, i, value->text);
		if (to == NULL)
			return arena_printf(a, "SONiC's %s is %s", sonic, sonic_rows[i].key);
		to = arena_printf(a, "%s: %s", sonic_rows[i].key, to);
		return arena_printf(a, here ? "SONiC's %s %s is %s" : "SONiC's %s %s is %s: {%s}",
				    sonic, value->text, here ? to : sonic_rows[i].within, to);
	}
	return NULL;
}

// ---- maps, lists and sets
static const char *row_key(const void *schema, unsigned i)
{
	return ((const struct cfg_schema *)schema)->rows[i].key;
}

static const char *all_keys(struct arena *a, const struct cfg_schema *s)
{
	const char *all = "";

	for (unsigned i = 0; i < s->n; i++)
		all = arena_printf(a, "%s%s%s", all, i == 0 ? "" : ", ", s->rows[i].key);
	return all;
}

static const char *sub_path(struct cfg_reader *r, const char *path, const char *key)
{
	return arena_printf(r->arena, "%s%s%s", path, *path == '\0' ? "" : ".",
			    schema_shown(r->arena, key));
}

static void report_kind(const struct slot *f, const char *expected)
{
	static const char *const found[] = {
		[NODE_SCALAR] = "a single value", [NODE_MAP] = "a map", [NODE_LIST] = "a list"};
	bool nothing = f->n->kind == NODE_SCALAR && *f->n->text == '\0';

	WRONG(f, "expected %s, found %s", expected, nothing ? "nothing" : found[f->n->kind]);
}

static void report_twice(struct cfg_reader *r, const struct node *key, const char *path,
			 struct cfg_pos first)
{
	diag_add(r->sink, DIAG_ERROR, key->at, path, "given twice, first on line %u", first.line);
}

// Notes where the value is. False after a report: it is of another kind.
static bool begin_cfg_map(const struct slot *f, enum node_kind kind, const char *expected)
{
	*(struct cfg_map *)f->to = (struct cfg_map){.path = f->path, .at = f->n->at, .given = true};
	if (f->n->kind != kind)
		report_kind(f, expected);
	return f->n->kind == kind;
}

static void fill_scalar(const struct slot *f)
{
	if (f->n->kind != NODE_SCALAR)
		report_kind(f, "a single value");
	else
		read_scalar(f, f->to);
}

static void fill_map(const struct slot *f)
{
	schema_fill(f->r, f->row->sub, f->n, f->to, f->path);
}

static void fill_node(const struct slot *f)
{
	*(const struct node **)f->to = f->n;
}

static void fill_classes(const struct slot *f)
{
	if (f->n->kind != NODE_MAP) {
		report_kind(f, "a map of classes 0 to 7");
		return;
	}
	for (const struct node *v = f->n->first; v != NULL; v = v->next) {
		struct cfg_set classes = {0};
		const char *why;

		if (!schema_parse_ranges(v->key->text, 0, 7, &classes, &why)) {
			diag_add(f->r->sink, DIAG_ERROR, v->key->at,
				 sub_path(f->r, f->path, v->key->text),
				 "unknown class" CURE "classes are 0 to 7, such as 3, 4-7 or "
				 "\"3,5\"");
			continue;
		}
		for_each_bit (cls, (unsigned)classes.bits[0]) {
			struct cfg_map *m = (void *)((char *)f->to + cls * f->row->sub->size);
			const char *path = arena_printf(f->r->arena, "%s.%u", f->path, cls);

			if (m->given)
				report_twice(f->r, v->key, path, m->at);
			else
				schema_fill(f->r, f->row->sub, v, m, path);
		}
	}
}

// "ports[1] (b1)": a reader knows the name, not the number.
static const char *item_path(const struct slot *f, const struct node *n, unsigned i)
{
	const struct node *v = n->kind == NODE_MAP ? node_child(n, "name") : NULL;

	if (v != NULL && v->kind == NODE_SCALAR && *v->text != '\0')
		return arena_printf(f->r->arena, "%s[%u] (%s)", f->path, i,
				    schema_shown(f->r->arena, v->text));
	return arena_printf(f->r->arena, "%s[%u]", f->path, i);
}

struct cfg_map *cfg_entry_named(const struct cfg_list *t, const struct cfg_schema *s,
				const char *name)
{
	for (unsigned i = 0; i < t->n; i++) {
		struct cfg_map *m = (void *)((char *)t->items + i * s->size);

		if (strcmp(m->name, name) == 0)
			return m;
	}
	return NULL;
}

// The entries of a list, or of a table, which have names.
static void fill_entries(const struct slot *f)
{
	struct cfg_list *list = f->to;
	const struct cfg_schema *sub = f->row->sub;
	bool table = f->row->type == CFG_TABLE;

	if (!begin_cfg_map(f, table ? NODE_MAP : NODE_LIST, table ? "a map of names" : "a list"))
		return;
	if (f->n->n > (uint64_t)f->row->max) {
		WRONG(f, "%u entries: at most %" PRId64 " are possible", f->n->n, f->row->max);
		return;
	}
	// Where the key was given before, for a pattern that fits as well, the later list counts.
	list->n = 0;
	list->items = arena_alloc(f->r->arena, f->n->n * sub->size);
	for (const struct node *v = f->n->first; v != NULL; v = v->next) {
		const char *path =
			table ? sub_path(f->r, f->path, v->key->text) : item_path(f, v, list->n);
		struct cfg_map *m = table ? cfg_entry_named(list, sub, v->key->text) : NULL;

		if (m != NULL) {
			report_twice(f->r, v->key, path, m->at);
			continue;
		}
		m = (void *)((char *)list->items + list->n++ * sub->size);
		m->name = table ? v->key->text : NULL;
		schema_defaults(sub, m);
		schema_fill(f->r, sub, v, m, path);
	}
}

// Calls `add` with each item of a list, or with what is no list.
static void each_item(const struct slot *f, void (*add)(const struct slot *, const struct node *))
{
	if (f->n->kind != NODE_LIST)
		add(f, f->n);
	else
		for (const struct node *v = f->n->first; v != NULL; v = v->next)
			add(f, v);
}

static void add_ranges(const struct slot *f, const struct node *n)
{
	const struct slot one = {f->r, f->row, n, f->to, f->path};
	const struct cfg_row *row = f->row;
	const char *why;

	if (n->kind != NODE_SCALAR)
		report_kind(&one, "numbers and ranges");
	else if (!schema_parse_ranges(n->text, row->min, row->max, f->to, &why))
		WRONG(&one,
		      "\"%s\" %s: expected numbers from %" PRId64 " to %" PRId64 " such as %s",
		      schema_shown(f->r->arena, n->text), why, row->min, row->max,
		      row->max == 7 ? "3 or 0-7" : "20 or 30-39");
}

static void fill_set(const struct slot *f)
{
	begin_cfg_map(f, f->n->kind, NULL);
	each_item(f, add_ranges);
}

// The value of one lookup entry; -1 after a report.
static int lookup_value(const struct slot *f, const struct node *v, const char *path)
{
	const struct cfg_row row = {.key = f->row->key,
				    .type = f->row->words != NULL ? CFG_WORD : CFG_NUMBER,
				    .unit = UNIT_COUNT,
				    .max = f->row->max,
				    .words = f->row->words};
	const struct slot value = {f->r, &row, v, NULL, path};
	struct cfg_val out = {0};

	if (v->kind != NODE_SCALAR)
		report_kind(&value, "a single value");
	else if (read_scalar(&value, &out))
		return (int)out.n;
	return -1;
}

static void lookup_entry(const struct slot *f, const struct node *v, int64_t *dflt)
{
	const char *why = NULL, *path = sub_path(f->r, f->path, v->key->text);
	const struct slot key = {f->r, f->row, v->key, f->to, path};
	struct cfg_lookup *l = f->to;
	struct cfg_set keys = {0};
	int value;

	if (f->row->has_default && strcmp(v->key->text, "default") == 0) {
		if (*dflt >= 0)
			WRONG(&key, "given twice");
		*dflt = lookup_value(f, v, path);
		return;
	}
	if (!schema_parse_ranges(v->key->text, 0, f->row->n_keys - 1, &keys, &why)) {
		WRONG(&key, "\"%s\" %s: expected keys from 0 to %u such as 3, 4-7 or \"3,5\"%s",
		      schema_shown(f->r->arena, v->key->text), why, f->row->n_keys - 1,
		      f->row->has_default ? ", or default" : "");
		return;
	}
	if (keys.bits[0] & l->set) {
		WRONG(&key, "%d already has a value", __builtin_ctzll(keys.bits[0] & l->set));
		return;
	}
	value = lookup_value(f, v, path);
	for (uint64_t left = keys.bits[0]; value >= 0 && left != 0; left &= left - 1)
		l->v[__builtin_ctzll(left)] = (uint8_t)value;
	l->set |= keys.bits[0];
}

static void fill_lookup(const struct slot *f)
{
	struct cfg_lookup *l = f->to;
	int64_t dflt = -1;

	if (!begin_cfg_map(f, NODE_MAP, "a map such as {3: 26}"))
		return;
	for (const struct node *v = f->n->first; v != NULL; v = v->next)
		lookup_entry(f, v, &dflt);
	for (unsigned k = 0; dflt >= 0 && k < f->row->n_keys; k++)
		if (!(l->set >> k & 1)) {
			l->v[k] = (uint8_t)dflt;
			l->set |= 1ull << k;
		}
}

static void add_word(const struct slot *f, const struct node *n)
{
	const struct cfg_row row = {.key = f->row->key,
				    .type = f->row->words != NULL	? CFG_WORD
					    : f->row->type == CFG_LINES ? CFG_LINE
									: CFG_TEXT,
				    .max = f->row->max,
				    .words = f->row->words};
	const struct slot one = {f->r, &row, n, NULL, f->path};
	struct cfg_words *w = f->to;

	if (n->kind != NODE_SCALAR)
		report_kind(&one, "a single value");
	else if (read_scalar(&one, &w->items[w->n]))
		w->n++;
}

static void fill_words(const struct slot *f)
{
	struct cfg_words *w = f->to;

	if (!begin_cfg_map(f, f->n->kind == NODE_MAP ? NODE_LIST : f->n->kind, "a list"))
		return;
	w->n = 0; // likewise
	w->items = arena_alloc(f->r->arena,
			       (f->n->kind == NODE_LIST ? f->n->n : 1) * sizeof(*w->items));
	each_item(f, add_word);
}

static void (*const fill[N_CFG_TYPES])(const struct slot *) = {
	[CFG_NUMBER] = fill_scalar, [CFG_WORD] = fill_scalar,	  [CFG_SWITCH] = fill_scalar,
	[CFG_ALPHA] = fill_scalar,  [CFG_NAME] = fill_scalar,	  [CFG_TEXT] = fill_scalar,
	[CFG_MAP] = fill_map,	    [CFG_CLASSES] = fill_classes, [CFG_LIST] = fill_entries,
	[CFG_TABLE] = fill_entries, [CFG_SET] = fill_set,	  [CFG_LOOKUP] = fill_lookup,
	[CFG_WORDS] = fill_words,   [CFG_LINE] = fill_scalar,	  [CFG_LINES] = fill_words,
	[CFG_NODE] = fill_node,
};

static void fill_row(struct cfg_reader *r, const struct cfg_row *row, const struct node *n,
		     void *base, const char *path)
{
	struct slot f = {r, row, n, member(base, row), path};

	if (row->scalar != NULL && n->kind == NODE_SCALAR) {
		if (row->type == CFG_MAP) {
			((struct cfg_map *)f.to)->path = path;
			((struct cfg_map *)f.to)->at = n->at;
		}
		f.row = row->scalar;
		f.to = member(base, row->scalar);
	}
	fill[f.row->type](&f);
}

static void report_unknown_key(struct cfg_reader *r, const struct cfg_schema *s,
			       const struct node *value, const char *path)
{
	const char *near = schema_closest(value->key->text, s->n, row_key, s);
	const char *cure = sonic_translate(r->arena, s, value);

	if (cure == NULL && near != NULL)
		cure = arena_printf(r->arena, "did you mean %s?", near);
	if (cure == NULL)
		cure = arena_printf(r->arena, "known here are %s", all_keys(r->arena, s));
	diag_add(r->sink, DIAG_ERROR, value->key->at, path, "unknown key" CURE "%s", cure);
}

// In {tagged: 10,20} YAML reads 20 as a key without a value. first: 10, of `row`.
static bool goes_on(const struct cfg_schema *s, const struct cfg_row *row, const struct node *first)
{
	const struct node *n = first->next;

	if (n == NULL || n->kind != NODE_SCALAR || *n->text != '\0' ||
	    n->key->at.line != first->at.line || row_index(s, n->key->text) >= 0)
		return false;
	return row->type == CFG_WORDS ||
	       (row->type == CFG_SET && isdigit((unsigned char)*n->key->text));
}

// Returns the last value of the list.
static const struct node *report_bare_list(struct cfg_reader *r, const struct cfg_schema *s,
					   const struct cfg_row *row, const struct node *first,
					   const char *path)
{
	const struct node *last = first;
	const char *list = first->text;

	for (; goes_on(s, row, last); last = last->next)
		list = arena_printf(r->arena, "%s, %s", list, last->next->key->text);
	diag_add(r->sink, DIAG_ERROR, first->at, sub_path(r, path, first->key->text),
		 "a list needs brackets" CURE "[%s]", schema_shown(r->arena, list));
	return last;
}

void schema_fill(struct cfg_reader *r, const struct cfg_schema *s, const struct node *n, void *base,
		 const char *path)
{
	const struct slot whole = {r, NULL, n, base, path};
	struct cfg_pos first[CFG_MAX_ROWS] = {{0}};
	struct cfg_map *m = base;

	assert(s->n <= CFG_MAX_ROWS);
	m->path = path;
	m->at = n->at;
	m->given = true;
	if (n->kind != NODE_MAP && s->bare != NULL) {
		fill_row(r, s->bare, n, base, path);
		return;
	}
	if (n->kind != NODE_MAP) {
		report_kind(&whole, arena_printf(r->arena, "a map of %s", all_keys(r->arena, s)));
		return;
	}
	for (const struct node *v = n->first; v != NULL; v = v->next) {
		const char *p = sub_path(r, path, v->key->text);
		int i = row_index(s, v->key->text);

		if (i < 0) {
			report_unknown_key(r, s, v, p);
		} else if (first[i].line != 0) {
			report_twice(r, v->key, p, first[i]);
		} else {
			first[i] = v->key->at;
			fill_row(r, &s->rows[i], v, base, p);
			if (v->kind == NODE_SCALAR && goes_on(s, &s->rows[i], v))
				v = report_bare_list(r, s, &s->rows[i], v, path);
		}
	}
	for (unsigned i = 0; i < s->n; i++)
		if (s->rows[i].required && first[i].line == 0 && !sonic_gives(n, s->rows[i].key))
			diag_add(r->sink, DIAG_ERROR, n->at, sub_path(r, path, s->rows[i].key),
				 "is required%s%s", s->rows[i].expected != NULL ? CURE : "",
				 s->rows[i].expected != NULL ? s->rows[i].expected : "");
}

// ---- the manual
static void print_value(const struct cfg_row *row, FILE *out)
{
	static const char *const unit_names[] = {
		[UNIT_BYTES] = "size",	  [UNIT_RATE] = "rate",	    [UNIT_TIME] = "time",
		[UNIT_LENGTH] = "length", [UNIT_PERCENT] = "share", [UNIT_COUNT] = "number",
		[UNIT_QP] = "number",	  [UNIT_RATIO] = "ratio",
	};
	static const char *const type_names[N_CFG_TYPES] = {
		[CFG_SWITCH] = "on, off",
		[CFG_ALPHA] = "power of two 1/256..128",
		[CFG_NAME] = "name",
		[CFG_TEXT] = "text",
		[CFG_MAP] = "map",
		[CFG_CLASSES] = "map of 0..7",
		[CFG_LIST] = "list of maps",
		[CFG_TABLE] = "map of names",
		[CFG_WORDS] = "list of words",
		[CFG_LINE] = "text",
		[CFG_LINES] = "list of lines",
		[CFG_NODE] = "map",
	};

	if (row->scalar != NULL) {
		print_value(row->scalar, out);
		fputs(", or ", out);
	}
	if (row->type == CFG_NUMBER) {
		fprintf(out, "%s %s..%s", unit_names[row->unit], UNIT_TEXT(row->unit, row->min),
			UNIT_TEXT(row->unit, row->max));
		if (row->percent_of != NULL)
			fprintf(out, ", or %% of %s", row->percent_of);
		if (row->word != NULL)
			fprintf(out, ", or `%s`", row->word);
	} else if (row->words != NULL && row->type != CFG_LOOKUP) {
		fputs(row->type == CFG_WORDS ? "list of " : "", out);
		for (unsigned i = 0; row->words[i] != NULL; i++)
			fprintf(out, "%s`%s`", i == 0 ? "" : ", ", row->words[i]);
	} else if (row->type == CFG_SET)
		fprintf(out, "list of %" PRId64 "..%" PRId64, row->min, row->max);
	else if (row->type == CFG_LOOKUP && row->words == NULL)
		fprintf(out, "map of 0..%u to 0..%" PRId64, row->n_keys - 1, row->max);
	else if (row->type == CFG_LOOKUP)
		fprintf(out, "map of 0..%u to words", row->n_keys - 1);
	else
		fputs(type_names[row->type], out);
}

const char *schema_default(const struct cfg_row *row, char out[UNIT_TEXT_LEN])
{
	if (row->dflt_text != NULL || row->required)
		return row->dflt_text;
	switch (row->type) {
	case CFG_NUMBER:
		return row->word != NULL && row->dflt == CFG_WORD_VALUE
			       ? row->word
			       : unit_print(row->unit, row->dflt, out, UNIT_TEXT_LEN);
	case CFG_WORD:
		return row->words[row->dflt];
	case CFG_SWITCH:
		return row->dflt != 0 ? "on" : "off";
	default:
		return NULL;
	}
}

// inherited: what stands in place of all defaults, or NULL.
static void print_rows(const struct cfg_schema *s, const char *path, bool reload,
		       const char *inherited, FILE *out)
{
	static const char *const below[N_CFG_TYPES] = {
		[CFG_MAP] = ".", [CFG_CLASSES] = ".N.", [CFG_LIST] = "[].", [CFG_TABLE] = ".P."};

	if (s->dflt_text != NULL)
		inherited = s->dflt_text;
	for (unsigned i = 0; i < s->n; i++) {
		const struct cfg_row *row = &s->rows[i];
		char sub[256], text[UNIT_TEXT_LEN];
		const char *dflt = inherited != NULL ? inherited : schema_default(row, text);

		fprintf(out, "| `%s%s` | ", path, row->key);
		print_value(row, out);
		fprintf(out, " | %s |", row->required ? "required" : dflt != NULL ? dflt : "");
		if (reload)
			fprintf(out, " %s |", row->reload == CFG_RESTART ? "restart" : "live");
		fprintf(out, " %s |\n", row->help);
		if (row->sub == NULL)
			continue;
		snprintf(sub, sizeof(sub), "%s%s%s", path, row->key, below[row->type]);
		print_rows(row->sub, sub, reload, inherited, out);
	}
}

void schema_print(const struct cfg_schema *s, const char *path, bool reload, FILE *out)
{
	print_rows(s, path, reload, NULL, out);
}
