// SPDX-License-Identifier: Apache-2.0
// What clients ask and say about RoCEv2 flows: `show flows`, whose answer takes two looks at the
// table and is made for one client at a time, and an operator's word about a pair. Called by the
// control thread only, from requests.c; it sends nothing itself.
#pragma once

#include "control/daemon/flow_scan.h"
#include "control/daemon/pending.h"
#include "control/daemon/server.h"

struct json_object;

// All clients' wishes; zeroed: none.
struct flow_requests {
	struct flow_wish wish[SERVER_MAX_CLIENTS];
	struct flow_scan scan; // for the one whose turn it is
	unsigned busy; // that client plus one; 0: nobody
};

// Notes the client's wish: keys "unpaired" and "limit" of its request. NULL, or what is wrong.
const char *flow_requests_add(struct flow_requests *f, unsigned client, struct json_object *req,
			      int port);
void flow_requests_gone(struct flow_requests *f, unsigned client);

// PENDING_DONE: now flow_requests_emit. PENDING_TIMEOUT: there was no memory for it.
enum pending_verdict flow_requests_step(struct flow_requests *f, unsigned client,
					struct weir_switch *sw, struct scan_time now);
// Adds the flows to data; the next one's turn has come.
void flow_requests_emit(struct flow_requests *f, unsigned client, struct weir_switch *sw,
			uint64_t model_ns, struct json_object *data);

// add: the flow {"from", "to", "qp"} is paired with "sender_qp" from now on. Else its pair is
// forgotten, however it was learnt. NULL, or what is wrong.
const char *flow_request_pair(struct weir_switch *sw, struct json_object *req, bool add);

// A flow del waits until all workers have taken it. found_before: from switch_pair_orders_done
// before the order. PENDING_DONE: *wrong is NULL, or says that the flow is unknown.
enum pending_verdict flow_request_step(const struct weir_switch *sw, uint64_t found_before,
				       const char **wrong);
