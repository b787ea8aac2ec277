// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/import.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/schema.h"
#include "control/sonic/model.h"

enum { TEXT_LEN = 512 };

void refuse(struct import *im, enum sonic_field f, const char *key, const char *field,
	    const char *fmt, ...)
{
	const struct sonic_field_info *info = &sonic_fields[f];
	char text[TEXT_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	im->r->refused = true;
	sonic_say(im->r, im->o->partial ? SONIC_WARNING : SONIC_ERROR, info->table, key,
		  field != NULL ? field : info->field, "%s%s", text,
		  im->o->partial ? " (left out)" : "");
}

void refuse_row(struct import *im, const struct sonic_row *row, const char *fmt, ...)
{
	char text[TEXT_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	im->r->refused = true;
	sonic_say(im->r, im->o->partial ? SONIC_WARNING : SONIC_ERROR, row->table, row->key, NULL,
		  "%s%s", text, im->o->partial ? " (left out)" : "");
}

// ---- rows

const struct sonic_row *find_row(const struct import *im, enum sonic_field f, const char *key,
				 const char *field)
{
	const struct sonic_config *c = &im->c;
	const struct sonic_field_info *info = &sonic_fields[f];

	if (field == NULL)
		field = info->field;
	for (unsigned i = sonic_first(c, info->table, key);
	     i < c->n && strcmp(c->rows[i].table, info->table) == 0 &&
	     strcmp(c->rows[i].key, key) == 0;
	     i++)
		if (strcmp(c->rows[i].field, field) == 0)
			return &c->rows[i];
	return NULL;
}

void mark(struct import *im, const struct sonic_row *row, enum sonic_row_state state)
{
	uint8_t *at = &im->state[row - im->c.rows];

	if (*at < state)
		*at = (uint8_t)state;
}

bool peek_at(const struct import *im, enum sonic_field f, const char *key, const char *field,
	     int64_t *out)
{
	const struct sonic_row *row = find_row(im, f, key, field);
	const char *why;

	return row != NULL && sonic_parse(&sonic_fields[f], row->value, out, &why);
}

bool peek(const struct import *im, enum sonic_field f, const char *key, int64_t *out)
{
	return peek_at(im, f, key, NULL, out);
}

bool take_at(struct import *im, enum sonic_field f, const char *key, const char *field,
	     int64_t *out)
{
	if (!peek_at(im, f, key, field, out))
		return false;
	mark(im, find_row(im, f, key, field), ROW_SAID);
	return true;
}

bool take(struct import *im, enum sonic_field f, const char *key, int64_t *out)
{
	return take_at(im, f, key, NULL, out);
}

// ---- every row by itself

static bool is_harmless(const struct sonic_field_info *f, const char *text)
{
	int64_t n;
	const char *why;

	if (f->rule != SONIC_ONLY)
		return true;
	return sonic_parse(f, text, &n, &why) && n == (f->words != NULL ? 0 : f->max);
}

// The object that a NAME names must exist; CONFIG_DB calls no profile NULL.
static bool is_named(const struct import *im, const struct sonic_field_info *f, const char *text)
{
	return strcmp(text, SONIC_NO_PROFILE) == 0 || sonic_has_key(&im->c, f->words[0], text);
}

// " (expected drop, forward, alert)", " (expected 1 to 100)", or nothing.
static const char *expected(const struct sonic_field_info *f, char out[TEXT_LEN])
{
	size_t len = 0;

	out[0] = '\0';
	if (f->unit == SONIC_WORD)
		for (unsigned i = 0; f->words[i] != NULL && len < TEXT_LEN; i++)
			len += (size_t)snprintf(out + len, TEXT_LEN - len, "%s%s",
						i == 0 ? " (expected " : ", ", f->words[i]);
	else if (f->max > 0 && f->unit != SONIC_SWITCH)
		len += (size_t)snprintf(out, TEXT_LEN, " (expected %" PRId64 " to %" PRId64, f->min,
					f->max);
	if (len > 0 && len < TEXT_LEN - 1)
		strcpy(out + len, ")");
	return out;
}

// A row for all fields of a table, and no other row.
static bool is_whole_table(const struct sonic_field_info *f)
{
	return f == sonic_fields || strcmp(f[-1].table, f->table) != 0;
}

static void check_value(struct import *im, const struct sonic_row *row,
			const struct sonic_field_info *f)
{
	char text[TEXT_LEN];
	const char *why = "", *near = NULL;
	int64_t n;

	if (f->rule == SONIC_REFUSED && strcmp(f->field, "*") == 0)
		near = sonic_near_field(row->table, row->field);
	if (near != NULL)
		refuse(im, (enum sonic_field)(f - sonic_fields), row->key, row->field,
		       "is not known: did you mean %s?", near);
	else if (f->rule == SONIC_REFUSED && strcmp(row->field, "NULL") != 0)
		refuse(im, (enum sonic_field)(f - sonic_fields), row->key, row->field,
		       "is refused: %s", f->help);
	else if (f->rule == SONIC_REFUSED && is_whole_table(f))
		refuse(im, (enum sonic_field)(f - sonic_fields), row->key, row->field,
		       "the table is refused: %s", f->help);
	else if (strcmp(row->field, "NULL") == 0)
		return; // a key without fields
	else if (!sonic_parse(f, row->value, &n, &why))
		sonic_say(im->r, SONIC_ERROR, row->table, row->key, row->field, "\"%s\" %s%s",
			  row->value, why, expected(f, text));
	else if (!is_harmless(f, row->value))
		refuse(im, (enum sonic_field)(f - sonic_fields), row->key, row->field,
		       "\"%s\" is refused: %s", row->value, f->help);
	else if (f->unit == SONIC_NAME && !is_named(im, f, row->value))
		sonic_say(im->r, SONIC_ERROR, row->table, row->key, row->field,
			  "there is no %s|%s", f->words[0], row->value);
}

// A number as a field: the DSCP or the TC of a map.
static void check_map_field(struct import *im, const struct sonic_row *row)
{
	bool dscp = strcmp(row->table, sonic_fields[SONIC_DSCP_TC].table) == 0;
	bool known = dscp;
	char *end;
	long n = strtol(row->field, &end, 10);

	for (enum sonic_field f = SONIC_DOT1P_TC; f <= SONIC_TC_DOT1P; f++)
		known |= strcmp(row->table, sonic_fields[f].table) == 0;
	if (known && strcmp(row->field, "NULL") != 0 &&
	    (!isdigit((unsigned char)row->field[0]) || *end != '\0' || n > (dscp ? 63 : 7) ||
	     (row->field[0] == '0' && row->field[1] != '\0')))
		sonic_say(im->r, SONIC_ERROR, row->table, row->key, row->field,
			  "is no number from 0 to %d", dscp ? 63 : 7);
}

static void check_key(struct import *im, const struct sonic_row *row)
{
	const char *bar = strchr(row->key, '|');

	if (!sonic_key_has_number(row->table))
		return;
	if (bar == NULL)
		sonic_say(im->r, SONIC_ERROR, row->table, row->key, NULL,
			  "expected PORT|NUMBER");
	else if (strchr(bar + 1, '|') != NULL)
		refuse(im, (enum sonic_field)(sonic_field(row->table, row->field) - sonic_fields),
		       row->key, row->field,
		       "is a virtual output queue of a chassis: Weir queues at the egress");
	else if (atoi(bar + 1) >= N_CLASSES)
		refuse(im, (enum sonic_field)(sonic_field(row->table, row->field) - sonic_fields),
		       row->key, row->field, "there are queues and groups 0 to 7");
}

bool row_port(const struct sonic_row *row, const char **port, size_t *len)
{
	const char *bar = strchr(row->key, '|');

	*port = row->key;
	*len = strcspn(row->key, "|");
	if (strcmp(row->table, sonic_fields[SONIC_CABLE].table) == 0) {
		*port = row->field;
		*len = strlen(row->field);
		return strcmp(row->field, "NULL") != 0;
	}
	if (strcmp(row->table, sonic_fields[SONIC_MEMBER_MODE].table) == 0 && bar != NULL) {
		*port = bar + 1;
		*len = strlen(bar + 1);
		return true;
	}
	return sonic_key_has_port(row->table) && strcmp(row->key, SONIC_GLOBAL) != 0 &&
	       strcmp(row->key, "GLOBAL") != 0 &&
	       !(sonic_key_has_number(row->table) && bar != NULL && strchr(bar + 1, '|') != NULL);
}

// Without a table PORT, ports are those that the other tables name.
static void check_port(struct import *im, const struct sonic_row *row)
{
	const char *table = sonic_fields[SONIC_PORT_SPEED].table, *port;
	size_t len;

	if (!row_port(row, &port, &len) || !sonic_has_table(&im->c, table))
		return;
	port = arena_text(&im->arena, port, len);
	if (!sonic_has_key(&im->c, table, port))
		refuse_row(im, row, "there is no port %s in %s", port, table);
}

static const char *table_at(const void *fields, unsigned i)
{
	return ((const struct sonic_field_info *)fields)[i].table;
}

// No rows of it are read. It may be a table of another service, or one of ours with a slip.
static void ignore_table(struct import *im, const char *table)
{
	static const char no_slip[] = "DSCP_TO_FC_MAP"; // of SONiC, one letter from DSCP_TO_TC_MAP
	const char *near = schema_closest(table, N_SONIC_FIELDS, table_at, sonic_fields);

	if (near != NULL && strcmp(table, no_slip) != 0)
		sonic_say(im->r, SONIC_IGNORED, table, NULL, NULL,
			  "is not known: did you mean %s?", near);
	else
		sonic_say(im->r, SONIC_IGNORED, table, NULL, NULL,
			  "does not concern a switch like this");
}

static void check_rows(struct import *im)
{
	for (unsigned i = 0; i < im->c.n; i++) {
		const struct sonic_row *row = &im->c.rows[i];
		const struct sonic_field_info *f = sonic_field(row->table, row->field);
		bool again = i > 0 && strcmp(row->table, im->c.rows[i - 1].table) == 0;

		if (!sonic_knows_table(row->table)) {
			im->state[i] = ROW_IGNORED;
			if (!again)
				ignore_table(im, row->table);
			continue;
		}
		check_port(im, row);
		if (f == NULL && strcmp(row->field, "NULL") != 0) {
			const char *near = sonic_near_field(row->table, row->field);

			sonic_say(im->r, SONIC_WARNING, row->table, row->key, row->field,
				  "is not known, and has no effect%s%s%s",
				  near != NULL ? ": did you mean " : "", near != NULL ? near : "",
				  near != NULL ? "?" : "");
			continue;
		}
		if (f == NULL)
			continue;
		if (f->rule == SONIC_READ)
			im->state[i] = ROW_SAID;
		check_key(im, row);
		check_value(im, row, f);
		check_map_field(im, row);
	}
}

// ---- values with an effect that a policy cannot give

static void warn_of_table(struct import *im)
{
	if (sonic_has_table(&im->c, sonic_fields[SONIC_LOOPBACK].table))
		sonic_say(im->r, SONIC_WARNING, sonic_fields[SONIC_LOOPBACK].table, NULL, NULL,
			  "has no effect: %s", sonic_fields[SONIC_LOOPBACK].help);
	for (unsigned i = 0; i < im->c.n; i++) {
		const struct sonic_row *row = &im->c.rows[i];
		const struct sonic_field_info *f = sonic_field(row->table, row->field);

		if (f == &sonic_fields[SONIC_WD_BIG_RED] && strcmp(row->value, "enable") == 0)
			sonic_say(im->r, SONIC_WARNING, row->table, row->key, row->field,
				  "has no effect: once the switch runs, type `weirctl watchdog "
				  "drop-all on`");
		if (f == &sonic_fields[SONIC_PORT_ADMIN] && strcmp(row->value, "down") == 0)
			sonic_say(im->r, SONIC_WARNING, row->table, row->key, row->field,
				  "has no effect: %s", f->help);
	}
}

static bool is_list_of_limits(const struct sonic_row *row)
{
	return strcmp(row->table, sonic_fields[SONIC_INGRESS_LIST].table) == 0 ||
	       strcmp(row->table, sonic_fields[SONIC_EGRESS_LIST].table) == 0;
}

static void warn_of_port_limits(struct import *im)
{
	for (unsigned i = 0; i < im->c.n; i++) {
		const struct sonic_row *row = &im->c.rows[i];

		if (is_list_of_limits(row) &&
		    (i == 0 || strcmp(row->table, im->c.rows[i - 1].table) != 0))
			sonic_say(im->r, SONIC_NOTE, row->table, NULL, NULL,
				  "has no effect: %s", sonic_fields[SONIC_INGRESS_LIST].help);
	}
}

// ---- the whole

int sonic_import(struct sonic_config *c, const struct sonic_import_options *o,
		 struct sonic_report *r, FILE *yaml)
{
	struct import im = {.o = o, .r = r};
	unsigned errors = r->n_errors;
	char *text = NULL;
	size_t len = 0;
	FILE *out = allocated(open_memstream(&text, &len));

	sonic_sort(c);
	sonic_expand(c, &im.c, r);
	im.state = allocated(calloc(im.c.n + 1, 1));
	check_rows(&im);
	import_ports(&im);
	import_trim(&im);
	import_qos(&im);
	import_buffer(&im);
	import_profiles(&im);
	warn_of_table(&im);
	warn_of_port_limits(&im);
	if (r->n_errors == errors) {
		import_yaml(&im, out);
		fflush(out);
		import_check(&im, text, len);
	}
	fclose(out);
	if (r->n_errors == errors)
		fwrite(text, 1, len, yaml);
	free(text);
	free(im.state);
	sonic_config_fini(&im.c);
	sonic_config_fini(&im.marks);
	arena_fini(&im.arena);
	return r->n_errors > errors ? -EINVAL : 0;
}
