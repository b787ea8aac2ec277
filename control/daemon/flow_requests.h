// SPDX-License-Identifier: Apache-2.0
// The request `show flows`. For requests.c on the control thread; nothing here sends an answer.
//
// `show flows` has the flows by their rate. A rate needs two looks at the bytes of every flow, and
// a million flows are too many for one step of the control loop. So a look reads SCAN_STEP places a
// step. One client at a time has a scan. Only the largest flows become rows; the others are
// counted.
//
//   [first look, in steps] -> [SCAN_GAP_NS since its beginning] -> [second look] -> rows
#pragma once

#include "control/daemon/pending.h"
#include "control/daemon/server.h"
#include "dataplane/base/units.h"

struct json_object;
struct weir_switch;

enum {
	SCAN_STEP = 8192, // places a step: a millisecond or less where all hold a flow
	SCAN_GAP_NS = 100 * MS_NS, // of real time
	SCAN_LIMIT = 50, // rows of a request without "limit"
	SCAN_LIMIT_MAX = 1000,
};

struct flow_query {
	int port; // flows that enter or leave by it; -1: all
	bool unpaired; // only flows that need a pair and have none
	bool elephants; // only elephants
	uint32_t limit; // 1 to SCAN_LIMIT_MAX
};

struct scan_place { // what the first look saw
	uint64_t bytes, first_ns; // 0, 0: no flow
};

struct scan_top {
	uint64_t rate_bps, bytes, first_ns;
	uint32_t place;
};

// Zeroed: at rest.
struct flow_scan {
	struct flow_query query;
	uint32_t n_places, at; // at: the next place to look at
	bool second;
	uint64_t began_ns; // the first look, in real time
	struct scan_place *places; // n_places
	uint64_t *step_ns; // model time of each step of the first look
	struct scan_top *top; // a heap, the smallest on top
	uint32_t n_top;
	uint64_t n_matching, n_unpaired, n_all; // flows of the second look
	// Of the step at hand.
	uint64_t dt_ns;
};

struct scan_time {
	uint64_t real_ns, model_ns;
};

// The queries of all clients; zeroed: none.
struct flow_requests {
	struct flow_query query[SERVER_MAX_CLIENTS];
	struct flow_scan scan; // of one client
	unsigned busy; // that client plus one; 0: no scan
};
void flow_requests_fini(struct flow_requests *f);

// Notes the client's query: keys "unpaired", "elephants" and "limit" of its request. NULL, or what
// is wrong.
const char *flow_requests_add(struct flow_requests *f, unsigned client, struct json_object *req,
			      int port);
void flow_requests_gone(struct flow_requests *f, unsigned client);

// PENDING_DONE: now flow_requests_emit. PENDING_TIMEOUT: there was no memory for it.
enum pending_verdict flow_requests_step(struct flow_requests *f, unsigned client,
					struct weir_switch *sw, struct scan_time now);
// Adds "flows", the largest first, and how many there are: "all", "unpaired" of those, "matching"
// the query, and "left_out" of those. The next client's scan may begin.
void flow_requests_emit(struct flow_requests *f, unsigned client, struct weir_switch *sw,
			uint64_t model_ns, struct json_object *data);
