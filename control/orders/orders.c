// SPDX-License-Identifier: Apache-2.0
#include "control/orders/orders.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/instance/instance.h"
#include "control/instance/service.h"
#include "control/observe/fact.h"
#include "control/observe/observe.h"
#include "control/observe/route_rows.h"
#include "control/orders/flow_pair.h"
#include "control/orders/impair.h"
#include "control/orders/inof_zones.h"
#include "dataplane/iface.h"
#include "dataplane/switch.h"
#include "dataplane/switch_flows.h"

__attribute__((format(printf, 2, 3))) static const char *format_order_error(struct order *o,
									    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(o->text, sizeof(o->text), fmt, ap);
	va_end(ap);
	return o->text;
}

const char *order_port(const struct policy *p, struct json_object *request, bool interfaces,
		       int *port, char text[ORDER_TEXT_LEN])
{
	const char *name = text_in(request, KEY(QUEUES, port));
	char names[ORDER_TEXT_LEN / 2] = "";
	size_t at = 0;

	*port = ORDER_NO_PORT;
	if (name == NULL)
		return NULL;
	for (unsigned no = 0; no < (interfaces ? N_IFACES : p->n_ports); no++)
		if (iface_name(p, no) != NULL && strcmp(iface_name(p, no), name) == 0) {
			*port = (int)no;
			return NULL;
		}
	for (unsigned i = 0; i < p->n_ports && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, " %s", p->ports[i].name);
	snprintf(text, ORDER_TEXT_LEN, "no port named %.32s; the ports are:%s%s", name, names,
		 at >= sizeof(names) ? "..." : "");
	return text;
}

static const char *set_tx(struct order *o)
{
	struct json_object *v = NULL;

	o->on = true_in(o->request, "on");
	o->queue = -1;
	if (o->port == ORDER_NO_PORT)
		return "set_tx needs a port";
	if (json_object_object_get_ex(o->request, KEY(QUEUES, queue), &v) && v != NULL) {
		o->queue = json_object_get_int(v);
		if (!json_object_is_type(v, json_type_int) || o->queue < 0 || o->queue >= N_QUEUES)
			return "a queue is a number from 0 to 7";
	}
	o->token = switch_set_tx(o->in->sw, (unsigned)o->port, o->queue, o->on);
	o->wait = ORDER_TX;
	return NULL;
}

// The lossless classes of a port, as "3 5".
static const char *lossless_text(uint8_t classes, char out[2 * N_CLASSES + 1])
{
	size_t at = 0;

	out[0] = '\0';
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (classes >> c & 1)
			at += (size_t)snprintf(out + at, 2 * N_CLASSES + 1 - at, "%s%u",
					       at > 0 ? " " : "", c);
	return out;
}

static const char *watchdog_recover(struct order *o)
{
	const struct policy_port *port;
	struct json_object *v = NULL;
	char classes[2 * N_CLASSES + 1];
	int cls = json_object_object_get_ex(o->request, KEY(QUEUES, class), &v)
			  ? json_object_get_int(v)
			  : -1;
	int err = 0;

	if (o->port == ORDER_NO_PORT || !json_object_is_type(v, json_type_int) || cls < 0 ||
	    cls >= N_CLASSES)
		return "watchdog_recover needs a port and a class from 0 to 7";
	o->token = switch_watchdog_recover(o->in->sw, (unsigned)o->port, (unsigned)cls, &err);
	o->wait = ORDER_ACK;
	if (err == 0)
		return NULL;
	port = &switch_policy(o->in->sw)->ports[o->port];
	if (port->classify.lossless == 0)
		return format_order_error(o, "class %d of %s is lossy, as all its classes are", cls,
					  port->name);
	if (!(port->classify.lossless >> cls & 1))
		return format_order_error(
			o, "class %d of %s is lossy; its lossless classes are: %s", cls, port->name,
			lossless_text(port->classify.lossless, classes));
	if (switch_watchdog_drops_all(o->in->sw))
		return format_order_error(
			o, "class %d of %s is in no storm of its own; drop-all is on, and "
			   "ends with: weirctl watchdog drop-all off", cls, port->name);
	return format_order_error(
		o, "class %d of %s is in no storm and not escalated: there is nothing to "
		   "recover", cls, port->name);
}

static const char *watchdog_drop_all(struct order *o)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o->request, "on", &v) ||
	    !json_object_is_type(v, json_type_boolean))
		return "watchdog_drop_all needs \"on\": true or false";
	o->token = switch_watchdog_drop_all(o->in->sw, json_object_get_boolean(v));
	o->wait = ORDER_ACK;
	return NULL;
}

static const char *flow_add(struct order *o)
{
	return flow_pair_change(o->in->sw, o->request, true);
}

static const char *flow_del(struct order *o)
{
	switch_pair_orders_done(o->in->sw, &o->token);
	o->wait = ORDER_PAIR;
	return flow_pair_change(o->in->sw, o->request, false);
}

static const char *add_impairment(struct order *o)
{
	if (o->port == ORDER_NO_PORT)
		return "no port is given";
	return impair_request(o->in->sw, (unsigned)o->port, o->request, o->now_ns, &o->data,
			      o->text);
}

static const char *stop_impairment(struct order *o)
{
	return impair_request_stop(o->in->sw, o->request, &o->data);
}

static const char *change_zone(struct order *o, bool add)
{
	struct json_object *members = NULL;

	json_object_object_get_ex(o->request, KEY(INOF_ZONES, members), &members);
	return inof_zones_change(o->in, add, text_in(o->request, KEY(INOF_ZONES, zone)), members,
				 &o->data, o->text);
}

static const char *zone_add(struct order *o)
{
	return change_zone(o, true);
}

static const char *zone_remove(struct order *o)
{
	return change_zone(o, false);
}

static const struct order_row {
	const char *cmd;
	const char *(*put)(struct order *o);
} orders[] = {
	{"flow_add", flow_add},
	{"flow_del", flow_del},
	{"impair", add_impairment},
	{"impair_stop", stop_impairment},
	{"inof_zone_add", zone_add},
	{"inof_zone_remove", zone_remove},
	{"set_tx", set_tx},
	{"watchdog_drop_all", watchdog_drop_all},
	{"watchdog_recover", watchdog_recover},
};

static const struct order_row *order_row(const char *cmd)
{
	const struct order_row *end = orders + sizeof(orders) / sizeof(orders[0]);

	for (const struct order_row *row = orders; cmd != NULL && row < end; row++)
		if (strcmp(row->cmd, cmd) == 0)
			return row;
	return NULL;
}

bool order_is(const char *cmd)
{
	return order_row(cmd) != NULL;
}

const char *order_put(struct order *o)
{
	const char *error =
		order_port(switch_policy(o->in->sw), o->request, false, &o->port, o->text);

	o->wait = ORDER_DONE;
	o->data = NULL;
	return error != NULL ? error : order_row(text_in(o->request, "cmd"))->put(o);
}

bool order_shows_interfaces(const char *what)
{
	return strcmp(what, fact_lists[FACTS_ROUTES].what) == 0 ||
	       strcmp(what, fact_lists[FACTS_NEIGHBOURS].what) == 0 ||
	       strcmp(what, fact_lists[FACTS_EVENTS].what) == 0;
}

struct json_object *order_show(const struct instance *in, struct observe *o, const char *what,
			       int port, unsigned flags, uint64_t now_ns)
{
	if (strcmp(what, fact_lists[FACTS_ROUTES].what) == 0)
		return rows_of_routes(instance_resolver(in), in->sw, port);
	if (strcmp(what, fact_lists[FACTS_NEIGHBOURS].what) == 0)
		return rows_of_neighbours(instance_resolver(in), in->sw, port, now_ns);
	return observe_rows(o, what, port, flags, now_ns);
}
