// SPDX-License-Identifier: Apache-2.0
// Collects the mistakes of a file. diag_finish gives them in the order of the file: as lines
// `file:line:column: key.path: text`, and in parts for programs. Control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// 1-based; line 0: nowhere in the file, column 0: no place within `file`.
struct cfg_pos {
	uint32_t line, column;
	const char *file; // NULL: the file that is read; else the file of an overlay
	const struct cfg_origin *origin; // NULL: the text is as the file has it
};

// Of a text that was made from another text. Each message about it ends with both.
struct cfg_origin {
	const char *written, *made_of; // "h[1-$n]"; "n is 8, line 3"
};

struct diag_entry;

struct diag_sink {
	const char *file;
	const char *document; // what the file is, for messages; NULL: a policy
	struct diag_entry *entries;
	unsigned n, cap, n_errors;
};

// A mistake or a warning, for programs. All texts belong to the struct.
struct diag_message {
	char *file, *key, *text, *hint; // key and hint may be NULL
	uint32_t line, column; // 0: no place in the file
	bool is_error;
};

// Messages in file order. The caller zeroes the list before its first use. Each function that adds
// messages keeps the earlier ones, so one list serves load and compile of a policy.
struct diags {
	// Ready to print. A warning's text begins "warning: " after the position. Repeats of one
	// message share the line of the first.
	char **lines;
	bool *is_error; // of each line
	unsigned n; // lines
	struct diag_message *messages; // with every repeat
	unsigned n_messages, n_errors;
};
// Prints the lines to standard error, broken at the width of a terminal.
void diags_print(const struct diags *d);
void diags_fini(struct diags *d);

enum diag_level { DIAG_ERROR, DIAG_WARNING };

// Separates the reason from the cure in a text: "is above kmax" CURE "lower it". Lines show ": " in
// its place.
#define CURE "\x1f"

// path may be NULL. Control characters of the text are shown as '?', so that a file cannot write to
// the terminal. The same message at the same place is kept once. False, for the caller to return.
__attribute__((format(printf, 5, 6))) bool diag_add(struct diag_sink *s, enum diag_level level,
						    struct cfg_pos at, const char *path,
						    const char *fmt, ...);

// A mistake in a value or in a map that the file gives (cfg_val, cfg_map), at its place.
#define REFUSE(s, v, ...) diag_add(s, DIAG_ERROR, (v)->at, (v)->path, __VA_ARGS__)
#define WARN(s, v, ...) diag_add(s, DIAG_WARNING, (v)->at, (v)->path, __VA_ARGS__)

// Further messages are not kept.
bool diag_is_full(const struct diag_sink *s);

// True where the map at this path, or a key inside, has a mistake already.
bool diag_has_error(const struct diag_sink *s, const char *path);

// Whether both are NULL or the same.
bool same_text(const char *a, const char *b);

// Appends the sorted lines to *d and empties the sink. A message that differs from an earlier one
// only in its place, and has the same last key, adds its line number to the line of that one.
void diag_finish(struct diag_sink *s, struct diags *d);
