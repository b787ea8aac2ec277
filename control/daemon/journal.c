// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/journal.h"

#include <ctype.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <json-c/json.h>

#include "control/daemon/datagram.h"

enum { ENTRY_LEN = 8192, NAME_LEN = 64, NUMBER_LEN = 64 };

// The descriptor is of the process, as standard error is.
static struct datagram journal = {.fd = -1};
static uint64_t lost, unreported;

struct entry {
	char bytes[ENTRY_LEN];
	size_t len;
};

// Standard error is the stream that systemd has connected to the journal: its device and inode.
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream != NULL && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

bool journal_open(const char *path)
{
	return stderr_is_journal() && datagram_open(&journal, path);
}

void journal_close(void)
{
	datagram_close(&journal);
}

bool journal_is_open(void)
{
	return journal.fd >= 0;
}

// The form with a length, in which a value may hold a newline. A field without room is left out.
static void add_journal_field(struct entry *e, const char *name, const char *value)
{
	size_t name_len = strlen(name), len = strlen(value);
	uint64_t le = htole64(len);
	char *to = e->bytes + e->len;

	if (name_len + len + sizeof(le) + 2 > sizeof(e->bytes) - e->len)
		return;
	to = mempcpy(to, name, name_len);
	*to++ = '\n';
	to = mempcpy(to, &le, sizeof(le));
	to = mempcpy(to, value, len);
	*to++ = '\n';
	e->len = (size_t)(to - e->bytes);
}

static void add_fields(struct entry *e, struct json_object *fields)
{
	json_object_object_foreach(fields, key, v) {
		char name[NAME_LEN];
		int n = snprintf(name, sizeof(name), "WEIR_%s", key);

		if (n < 0 || (size_t)n >= sizeof(name) || v == NULL)
			continue;
		for (char *c = name; *c != '\0'; c++)
			*c = (char)toupper((unsigned char)*c);
		add_journal_field(e, name, json_object_get_string(v));
	}
}

static bool send_entry(int priority, const char *message, struct json_object *fields)
{
	struct entry e = {.len = 0};
	const char digit[] = {(char)('0' + priority), '\0'};

	add_journal_field(&e, "MESSAGE", message);
	add_journal_field(&e, "PRIORITY", digit);
	add_journal_field(&e, "SYSLOG_IDENTIFIER", "weir");
	if (fields != NULL)
		add_fields(&e, fields);
	return datagram_send(&journal, e.bytes, e.len);
}

void journal_entry(int priority, const char *message, struct json_object *fields)
{
	char text[NUMBER_LEN];

	if (unreported > 0) {
		snprintf(text, sizeof(text), "the journal was not read: entries lost=%" PRIu64,
			 unreported);
		if (send_entry(JOURNAL_WARNING, text, NULL))
			unreported = 0;
	}
	if (send_entry(priority, message, fields))
		return;
	lost++;
	unreported++;
}

uint64_t journal_lost(void)
{
	return lost;
}
