// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/flow_request.h"

#include <errno.h>

#include "control/config/units.h"
#include "control/daemon/json_in.h"
#include "control/observe/fact.h"
#include "dataplane/switch_flows.h"

enum { QP_LEAST = 2, QP_MOST = 0xffffff }; // 0 and 1 are management's

// ---- show flows

const char *flow_requests_add(struct flow_requests *f, unsigned client, struct json_object *req,
			      int port)
{
	int64_t limit = number_in(req, KEY(FDB_PORTS, limit), SCAN_LIMIT, SCAN_LIMIT_MAX);

	if (limit <= 0)
		return "limit is a number of flows from 1 to 1000";
	f->wish[client] = (struct flow_wish){
		.port = port, .limit = (uint32_t)limit,
		.unpaired = true_in(req, KEY(PAIRING, unpaired))};
	return NULL;
}

void flow_requests_gone(struct flow_requests *f, unsigned client)
{
	if (f->busy != client + 1)
		return;
	flow_scan_fini(&f->scan);
	f->busy = 0;
}

enum pending_verdict flow_requests_step(struct flow_requests *f, unsigned client,
					struct weir_switch *sw, struct scan_time now)
{
	if (f->busy != 0 && f->busy != client + 1)
		return PENDING_WAIT; // for its turn
	if (f->busy == 0 && flow_scan_start(&f->scan, sw, &f->wish[client]) != 0)
		return PENDING_TIMEOUT;
	f->busy = client + 1;
	return flow_scan_step(&f->scan, sw, now) ? PENDING_DONE : PENDING_WAIT;
}

void flow_requests_emit(struct flow_requests *f, unsigned client, struct weir_switch *sw,
			uint64_t model_ns, struct json_object *data)
{
	flow_scan_emit(&f->scan, sw, model_ns, data);
	flow_requests_gone(f, client);
}

// ---- flow add, flow del

static bool station_of(struct json_object *req, const char *key, struct policy_addr *out)
{
	const char *text = text_in(req, key);

	return text != NULL && addr_parse(text, out) && addr_is_station(out) &&
	       out->len == addr_bits(out);
}

static const char *pair_error(int err)
{
	switch (err) {
	case 0: return NULL;
	case -ENOTSUP:
		return "there is no flow table: the policy has switch.flows off, which a restart "
		       "changes";
	case -EAGAIN: return "too many pairs were told at once; try again";
	default: return "the pair could not be told";
	}
}

enum pending_verdict flow_request_step(const struct weir_switch *sw, uint64_t found_before,
				       const char **wrong)
{
	uint64_t found;

	if (!switch_pair_orders_done(sw, &found))
		return PENDING_WAIT;
	*wrong = found != found_before ? NULL
				       : "no such flow or pair is known; weirctl show flows lists "
					 "the flows";
	return PENDING_DONE;
}

const char *flow_request_pair(struct weir_switch *sw, struct json_object *req, bool add)
{
	struct known_pair k = {.source = PAIR_STATIC, .qp = FLOW_NONE};
	int64_t qp = number_in(req, KEY(FLOWS, qp), -1, QP_MOST);
	int64_t sender_qp = number_in(req, KEY(FLOWS, sender_qp), -1, QP_MOST);
	struct policy_addr from, to;

	if (!station_of(req, KEY(FLOWS, from), &from) || !station_of(req, KEY(FLOWS, to), &to))
		return "from and to are addresses of stations, such as 10.0.0.1";
	if (from.family != to.family)
		return "from and to are both IPv4 or both IPv6";
	if (qp < QP_LEAST || (add && sender_qp < QP_LEAST))
		return "a queue pair is a number from 2 to 0xffffff";
	k.key = flow_key_of(from.family == FAMILY_V6, from.ip, to.ip, (uint32_t)qp, KEY_KNOWN);
	if (add)
		k.qp = (uint32_t)sender_qp;
	return pair_error(switch_order_pair(sw, &k));
}
