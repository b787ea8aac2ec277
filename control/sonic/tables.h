// SPDX-License-Identifier: Apache-2.0
// The fields of CONFIG_DB as rows of tables.def: unit, range, and what becomes of them. Import,
// export and docs/sonic.md use the same rows. Pure; control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/sonic/configdb.h"

enum sonic_unit {
	SONIC_TEXT,
	SONIC_NONE, // a row without fields
	SONIC_NAME, // of an object in the table words[0]
	SONIC_WORD, // the index of one of `words`
	SONIC_SWITCH, // true, false
	SONIC_COUNT,
	SONIC_OR_WORD, // a number, or words[0], which is -1
	SONIC_EXPONENT, // log2 of alpha
	SONIC_LIST, // "3,4": a bitmap
	SONIC_BYTES,
	SONIC_KIB, // "0.8": in bytes, decimals cut off
	SONIC_BYTE_RATE, // bytes per second: in bits per second
	SONIC_MBPS, // in bits per second
	SONIC_MS, // in nanoseconds
	SONIC_PERCENT, // in millionths
	SONIC_LENGTH, // "5m": in centimetres
};

enum sonic_rule {
	SONIC_SAID, // a key of the policy says it
	SONIC_READ, // the same, but the export does not write it
	SONIC_KEPT, // no effect here; the export writes it as it was
	SONIC_ONLY, // one value (MAX, or the first word) is kept; others are refused
	SONIC_REFUSED,
};

#define F(id, ...) SONIC_##id,
enum sonic_field {
#include "control/sonic/tables.def"
	N_SONIC_FIELDS
};
#undef F

struct sonic_field_info {
	const char *table, *field, *key;
	enum sonic_unit unit;
	enum sonic_rule rule;
	int64_t min, max;
	const char *const *words;
	const char *help;
};
extern const struct sonic_field_info sonic_fields[N_SONIC_FIELDS];

// The row of a field, or NULL: the table, or the field of this table, is not known.
const struct sonic_field_info *sonic_field(const char *table, const char *field);
// The named field of the table that is meant by a misspelt one, or NULL.
const char *sonic_near_field(const char *table, const char *field);
bool sonic_knows_table(const char *table);

// The value in the unit above. False with *why.
bool sonic_parse(const struct sonic_field_info *f, const char *text, int64_t *out,
		 const char **why);
// The way back, for the fields that the export writes. The text is in `out`. A value between two
// that the field can have is rounded down.
enum { SONIC_TEXT_LEN = 32 };
const char *sonic_text(enum sonic_field f, int64_t n, char out[SONIC_TEXT_LEN]);

// ---- keys

// Lists of ports and ranges in keys become rows of their own ("Ethernet0,Ethernet4|3-4" has four),
// and references of the old form lose their brackets ("[BUFFER_POOL|x]" is x). Wrong ranges are
// errors. Keys of other chassis cards ("host|asic0|Ethernet0|3-4") stay as they are.
void sonic_expand(const struct sonic_config *in, struct sonic_config *out, struct sonic_report *r);
// Whether keys of the table begin with a port.
bool sonic_key_has_port(const char *table);
// Whether keys of the table are a port and a number.
bool sonic_key_has_number(const char *table);

// ---- docs/sonic.md: the rows as a table in Markdown
void sonic_print_fields(FILE *out);
