// SPDX-License-Identifier: Apache-2.0
// Configuration as rows: one row per key makes parsing, ranges, units, defaults, error texts and
// the manual. The engine walks a YAML tree with a schema, fills plain structs and
// reports every mistake; it never stops at the first. Control thread only. Rules between keys
// are in check.c.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "control/base/arena.h"
#include "control/base/diag.h"
#include "control/base/node.h"
#include "control/base/units.h"

// A scalar as written, or its default.
struct cfg_val {
	int64_t n; // canonical unit; index of a word; 0 or 1; log2 of alpha
	const char *text; // names, devices, addresses
	const char *path; // "profiles.roce.trust", if given
	struct cfg_pos at;
	bool given;
	bool bad; // given, reported, and replaced by its default: rules must not report it again
	bool percent; // n is in millionths of the row's `percent_of`
};

// The first member of every struct that a map fills. A scalar in place of the map sets path and at.
struct cfg_map {
	const char *path; // "profiles.roce.classes.3"
	const char *name; // of an entry of a named table
	struct cfg_pos at;
	bool given;
};

// A set of numbers: [20, 30-39].
enum { CFG_SET_BITS = 4096, CFG_SET_ORDERED = 64 };
struct cfg_set {
	struct cfg_map map;
	uint64_t bits[CFG_SET_BITS / 64];
	uint16_t ordered[CFG_SET_ORDERED]; // the first ones, as written
	unsigned n;
};

static inline bool cfg_set_has(const struct cfg_set *s, unsigned n)
{
	return s->bits[n / 64] >> (n % 64) & 1;
}

// Small numbers to small numbers: {default: 0, 24-31: 3}.
enum { CFG_LOOKUP_KEYS = 64 };
struct cfg_lookup {
	struct cfg_map map;
	uint8_t v[CFG_LOOKUP_KEYS];
	uint64_t set; // bitmap of keys that have a value
};

struct cfg_list {
	struct cfg_map map;
	void *items;
	unsigned n;
};

struct cfg_words {
	struct cfg_map map;
	struct cfg_val *items;
	unsigned n;
};

enum cfg_type {
	CFG_NUMBER, // cfg_val
	CFG_WORD, // cfg_val
	CFG_SWITCH, // cfg_val: on, off
	CFG_ALPHA, // cfg_val
	CFG_NAME, // cfg_val: letters, digits, . _ -
	CFG_TEXT, // cfg_val: ASCII without spaces
	CFG_LINE, // cfg_val: any text
	CFG_MAP, // struct of `sub`
	CFG_CLASSES, // array of 8 structs of `sub`, keys 0..7
	CFG_LIST, // cfg_list of `sub`
	CFG_TABLE, // cfg_list of `sub`, entries named by their keys
	CFG_SET, // cfg_set, min..max
	CFG_LOOKUP, // cfg_lookup
	CFG_WORDS, // cfg_words: a list of texts, or one
	CFG_LINES, // cfg_words: a list of lines, or one
	CFG_NODE, // const struct node *: as it stands, to be read later
	N_CFG_TYPES,
};

// A reload applies live keys; restart keys must keep their value.
enum cfg_reload { CFG_LIVE, CFG_RESTART };

struct cfg_schema;

struct cfg_row {
	const char *key;
	enum cfg_type type;
	enum cfg_reload reload;
	bool required;
	enum unit_kind unit;
	size_t off;
	int64_t min, max,
		// NUMBER and SET values; LIST and TABLE: max entries; texts: length.
		dflt;
	const char *percent_of; // NUMBER: may also be a share of this
	const char *word; // NUMBER: may also be this word, stored as CFG_WORD_VALUE
	const char *const *words; // WORD, values of a LOOKUP, WORDS of few; ends with NULL
	unsigned n_keys; // LOOKUP
	bool has_default; // LOOKUP: the key `default` sets all keys that are not named
	const struct cfg_schema *sub;
	const struct cfg_row *scalar; // the row of a scalar in place of a map, set or lookup
	// In a message: in place of the words of a WORD, or of what the unit of a NUMBER expects;
	// what to write if a required row is missing.
	const char *expected;
	// For the manual. dflt_text: of a single value only if `dflt` is not the text.
	const char *dflt_text, *help;
};

enum { CFG_WORD_VALUE = -1, CFG_MAX_ROWS = 40, CFG_N_CLASSES = 8 };

struct cfg_schema {
	const struct cfg_row *rows;
	unsigned n;
	size_t size; // of the struct
	const char *dflt_text; // of all rows, also below, in place of their own
	const struct cfg_row *bare; // a value that is no map is the value of this row; or NULL
};

struct cfg_reader {
	struct arena *arena;
	struct diag_sink *sink;
};

// Sets every value of a zeroed struct to its default.
void schema_defaults(const struct cfg_schema *s, void *base);

// Fills a struct that holds its defaults from a YAML map.
void schema_fill(struct cfg_reader *r, const struct cfg_schema *s, const struct node *n, void *base,
		 const char *path);

// The entry of a table, or NULL.
struct cfg_map *cfg_entry_named(const struct cfg_list *t, const struct cfg_schema *s,
				const char *name);

// The default as a text, which may be in `out`; NULL: the row must be given.
const char *schema_default(const struct cfg_row *row, char out[UNIT_TEXT_LEN]);

// The rows as lines of a table in Markdown, for the manual: key, value, default, whether a reload
// applies it (where `reload`), meaning. path: what stands before the keys, "" or "switches.NAME.".
void schema_print(const struct cfg_schema *s, const char *path, bool reload, FILE *out);

// Numbers and ranges, "24-31" or "3,5,8-9", appended to *set. False with *why.
bool schema_parse_ranges(const char *text, int64_t min, int64_t max, struct cfg_set *set,
			 const char **why);

// The closest of n words for a mistyped one, or NULL. words: read through get(ctx, i).
const char *schema_closest(const char *text, unsigned n, const char *(*get)(const void *, unsigned),
			   const void *ctx);

// Text of the file that is safe and short enough for a message.
const char *schema_shown(struct arena *a, const char *text);
