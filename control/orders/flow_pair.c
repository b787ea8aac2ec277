// SPDX-License-Identifier: Apache-2.0
#include "control/orders/flow_pair.h"

#include <errno.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/config/addr.h"
#include "control/observe/fact.h"
#include "control/orders/words.h"
#include "dataplane/forward/route_params.h"
#include "dataplane/switch_flows.h"

static bool station_of(struct json_object *req, const char *key, struct policy_addr *out)
{
	const char *text = text_in(req, key);

	return text != NULL && addr_parse(text, out) && addr_is_station(out) &&
	       out->len == addr_bits(out);
}

const char *flow_pair_change(struct weir_switch *sw, struct json_object *request, bool add)
{
	struct known_pair k = {.source = PAIR_STATIC, .qp = FLOW_NONE};
	int64_t qp = number_in(request, KEY(FLOWS, qp), -1, WORDS_QP_MOST);
	int64_t sender_qp = number_in(request, KEY(FLOWS, sender_qp), -1, WORDS_QP_MOST);
	struct policy_addr from, to;

	if (!station_of(request, KEY(FLOWS, from), &from) ||
	    !station_of(request, KEY(FLOWS, to), &to))
		return "from and to are addresses of stations, such as 10.0.0.1";
	if (from.family != to.family)
		return "from and to are both IPv4 or both IPv6";
	if (qp < WORDS_QP_LEAST || (add && sender_qp < WORDS_QP_LEAST))
		return "a queue pair is a number from 2 to 0xffffff";
	k.key = flow_key_of(from.family == FAMILY_V6, from.ip, to.ip, (uint32_t)qp, KEY_KNOWN);
	if (add)
		k.qp = (uint32_t)sender_qp;
	switch (switch_order_pair(sw, &k)) {
	case 0: return NULL;
	case -ENOTSUP:
		return "there is no flow table: the policy has switch.flows off, which a restart "
		       "changes";
	case -EAGAIN: return "too many pairs were changed at once; try again";
	default: return "the pair cannot be changed";
	}
}

bool flow_pair_deleted(const struct weir_switch *sw, uint64_t found_before, const char **wrong)
{
	uint64_t found;

	if (!switch_pair_orders_done(sw, &found))
		return false;
	*wrong = found != found_before ? NULL
				       : "no such flow or pair is known; weirctl show flows lists "
					 "the flows";
	return true;
}
