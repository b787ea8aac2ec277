// SPDX-License-Identifier: Apache-2.0
// CONFIG_DB as a policy. Reads the whole database, since a policy is one thing: the keys by SCAN,
// and the hashes of the tables that the import knows. Other keys are skipped, however many there
// are. Another type than a hash, or a value that is too long, is a mistake that names table and
// key.
#pragma once

#include <stdbool.h>

struct bridge_args;
struct counters;
struct redis;

enum read_end {
	READ_DONE,
	READ_REFUSED,
	READ_LOADING, // SONiC is writing the database: CONFIG_DB_INITIALIZED is not 1
	READ_NO_REDIS,
};

struct configdb_text {
	char *policy; // READ_DONE. The caller frees both
	char *report; // lines: mistakes, warnings, and what is ignored. NULL: no memory
};

// *initialized: whether the indicator has ever been 1, kept between calls. Gives the names of the
// pools to c, which may be NULL.
enum read_end configdb_read(struct redis *r, const struct bridge_args *args, bool *initialized,
			  struct counters *c, struct configdb_text *out);

// The notification is about a key that may change the policy.
bool configdb_concerns(const char *key);
