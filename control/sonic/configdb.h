// SPDX-License-Identifier: Apache-2.0
// A SONiC configuration as rows: table, key, field, value, the way CONFIG_DB holds it. JSON files
// (config_db.json) and a Redis database both fill one. The import makes a policy of it
// (import.h), the export makes one of a policy (export.h). This module knows no table: the rows of
// tables.h say what each field means. Control thread only.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "control/base/arena.h"
#include "dataplane/base/compiler.h"

// The texts belong to the configuration. A row without fields has field and value "NULL", as in
// Redis. A field that holds a list ends with '@', and its value has commas.
struct sonic_row {
	const char *table, *key, *field, *value;
};

// The caller zeroes it.
struct sonic_config {
	struct arena arena;
	struct sonic_row *rows; // sorted after sonic_sort()
	unsigned n, room;
	bool sorted;
};

// Adds a row. A later row of the same field replaces an earlier one. field NULL: no fields.
void sonic_set(struct sonic_config *c, const char *table, const char *key, const char *field,
	       const char *value);
// Sorts the rows by table, key and field; Ethernet4 is before Ethernet10. The functions below need
// it; import and export do it themselves.
void sonic_sort(struct sonic_config *c);
void sonic_config_fini(struct sonic_config *c);

// The value, or NULL.
const char *sonic_get(const struct sonic_config *c, const char *table, const char *key,
		      const char *field);
bool sonic_has_key(const struct sonic_config *c, const char *table, const char *key);
bool sonic_has_table(const struct sonic_config *c, const char *table);
// The number of the first row of a table, or of a key of the table (key NULL: of the table). c->n
// or a row of another table: there is none.
unsigned sonic_first(const struct sonic_config *c, const char *table, const char *key);

// ---- what import and export have to say

enum sonic_level {
	SONIC_ERROR, // refused: the result has no place for the value
	SONIC_WARNING, // taken, but it has another effect than on a switch with SONiC, or none
	SONIC_NOTE, // what was assumed
	SONIC_IGNORED, // a table that does not concern a switch like this
};

struct sonic_message {
	enum sonic_level level;
	const char *table, *key, *field; // NULL: of no single one
	const char *text;
};

// The caller zeroes it.
struct sonic_report {
	struct arena arena;
	struct sonic_message *messages;
	unsigned n, room, n_errors;
	bool refused; // rows that no policy can say, which a partial import leaves out
	unsigned n_left_out; // messages beyond what the report holds: the last line counts them
};

__attribute__((format(printf, 6, 7))) void
sonic_say(struct sonic_report *r, enum sonic_level level, const char *table, const char *key,
	  const char *field, const char *fmt, ...);
// One line for each message; messages that differ only in their keys share a line.
void sonic_report_print(const struct sonic_report *r, FILE *out);
void sonic_report_fini(struct sonic_report *r);

// ---- JSON

// Adds the rows of a text in JSON: {TABLE: {KEY: {FIELD: VALUE}}}. name: of the file, for messages.
// 0, or -EINVAL with messages.
must_check int sonic_read_json(struct sonic_config *c, const char *name, const char *text,
			       size_t len, struct sonic_report *r);
// Writes all rows the way `config save` does.
void sonic_write_json(struct sonic_config *c, FILE *out);
