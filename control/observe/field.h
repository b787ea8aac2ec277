// SPDX-License-Identifier: Apache-2.0
// Rows of counters by table: one line names the JSON key, the kind and the place of a counter in
// its struct, and serves the output, the copy into a baseline and the subtraction. Decides
// nothing. Called by the control thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct json_object;

enum field_kind {
	FIELD_CTR, // grows; shown as the difference to the baseline
	FIELD_GAUGE, // shown as it is
};

struct field {
	const char *key;
	enum field_kind kind;
	size_t off; // of a ctr_t or gauge_t
};

struct field_table {
	const struct field *rows;
	size_t n;
};

#define FIELD(s, member, k) {.key = #member, .kind = (k), .off = offsetof(struct s, member)}
#define FIELD_TABLE(rows) {(rows), sizeof(rows) / sizeof((rows)[0])}

// live and base are two objects of the struct the table is about.
void field_emit(struct json_object *row, const struct field_table *t, const void *live,
		const void *base);
void field_take_baseline(const struct field_table *t, const void *live, void *base);

void row_u64(struct json_object *row, const char *key, uint64_t v);
void row_bool(struct json_object *row, const char *key, _Bool v);
void row_text(struct json_object *row, const char *key, const char *v);
