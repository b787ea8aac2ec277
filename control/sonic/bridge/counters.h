// SPDX-License-Identifier: Apache-2.0
// The numbers of a running switch in SONiC's COUNTERS_DB, STATE_DB and APPL_DB, as SONiC's own show
// scripts read them: pfcstat, queuestat, pg-drop, watermarkstat, portstat, pfcwd. A table of rows
// gives the SAI name of each fact. docs/sonic-live.md lists the keys.
//
// A script goes from a name ("Ethernet0:3") by a map to an object id, and from the id to a hash.
// The ids of this bridge begin with oid:0x57, and follow from the port's name, so that they are the
// same after a restart. The bridge owns these ids, and the map entries of its ports; it removes
// those of ports that are gone, and touches no others.
#pragma once

#include <stdbool.h>

struct client;
struct json_object;
struct redis;

enum { APPL_DB = 0, COUNTERS_DB = 2, CONFIG_DB = 4, STATE_DB = 6 };

struct counters; // what was written last

__attribute__((warn_unused_result)) struct counters *counters_create(void); // NULL: no memory
void counters_destroy(struct counters *c); // NULL is fine

// The names of SONiC's pools, and the pool of the switch (a `name` of `show buffers`) that holds
// the numbers of each. counters_pool() is false where there are too many: the pool has no numbers.
void counters_pools_begin(struct counters *c);
bool counters_pool(struct counters *c, const char *sonic, const char *pool);

// All maps are compared with the ports of the switch at the next write: after a connection to
// Redis, and now and then.
void counters_check_maps(struct counters *c);

// The counters of the switch began at 0. As long as it runs, what is written never goes back,
// unless an operator clears the counters.
void counters_switch_started(struct counters *c);

// From SONiC's WATERMARK_CLEAR_REQUEST: ["USER","PG_SHARED"]. The next write shows what the switch
// has measured since.
void counters_clear_request(struct counters *c, const char *json);

enum counters_end { COUNTERS_WRITTEN, COUNTERS_NO_SWITCH, COUNTERS_NO_REDIS };

// Reads the switch and writes everything. refused: for each error of the server.
enum counters_end counters_write(struct counters *c, struct client *sw, struct redis *r,
				 void (*refused)(void *ctx, const char *key, const char *error),
				 void *ctx);
