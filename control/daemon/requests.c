// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/requests.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/daemon/capture.h"
#include "control/daemon/daemon.h"
#include "control/daemon/flow_requests.h"
#include "control/daemon/inof_peers.h"
#include "control/daemon/peer_zones.h"
#include "control/daemon/server.h"
#include "control/inof/registry.h"
#include "control/instance/service.h"
#include "control/observe/fact.h"
#include "control/orders/flow_pair.h"
#include "control/orders/inof_zones.h"
#include "control/orders/orders.h"
#include "dataplane/policy.h"
#include "dataplane/switch_flows.h"

enum { CONFIRM_MAX_MS = 86400000 };

struct requests {
	struct daemon *d;
	struct server *server;
	struct capture *capture;
	bool held; // by `quiesce --hold`
	uint64_t now_ns;
	struct pending pending[SERVER_MAX_CLIENTS];
	struct reload_request reload[SERVER_MAX_CLIENTS];
	struct flow_requests flows;
	struct peer_zones *peer_zones;
	char error[ORDER_TEXT_LEN]; // of the request at hand
};

// A request at hand.
struct request {
	unsigned client;
	struct json_object *json;
	int port; // OBSERVE_ALL_PORTS: none is named
	struct json_object *data; // of the answer; NULL: an empty object
};

// NULL: q->data is the answer. LATER: the answer comes later. Else the sentence of the error.
typedef const char *request_fn(struct requests *r, struct request *q);
static const char LATER[] = "";

// error NULL: the answer is data, which this takes over; NULL: an empty object.
static void reply_to_client(void *arg, unsigned client, const char *error, struct json_object *data)
{
	struct requests *r = arg;
	struct json_object *reply = json_object_new_object();

	row_bool(reply, "ok", error == NULL);
	if (error != NULL)
		row_text(reply, "error", error);
	else
		json_object_object_add(reply, "data",
				       data != NULL ? data : json_object_new_object());
	server_reply(r->server, client,
		     json_object_to_json_string_ext(reply, JSON_C_TO_STRING_PLAIN));
	json_object_put(reply);
}

__attribute__((format(printf, 2, 3))) static const char *format_request_error(struct requests *r,
									      const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->error, sizeof(r->error), fmt, ap);
	va_end(ap);
	return r->error;
}

static const char *wait_for(struct requests *r, const struct request *q, enum pending_kind kind,
			    uint64_t request)
{
	pending_start(&r->pending[q->client], kind, request, r->now_ns);
	return LATER;
}

// ---- the requests

static const char *show_events(struct requests *r, struct request *q)
{
	const char *severity = text_in(q->json, KEY(EVENTS, severity));
	int grade = severity != NULL ? eventlog_grade(severity) : 0;

	if (grade < 0)
		return "a severity is info, warning or alarm";
	q->data = json_object_new_object();
	json_object_object_add(q->data, "events",
			       eventlog_rows(r->d->log, q->port, count_in(q->json, "since"),
					     grade));
	row_u64(q->data, "events_lost", switch_events_lost(r->d->in.sw));
	return NULL;
}

static const char *on_show(struct requests *r, struct request *q)
{
	const char *what = text_in(q->json, "what");
	const struct daemon *d = r->d;

	if (what == NULL)
		return "cannot show \"\"";
	if (strcmp(what, "flows") == 0) {
		const char *error = flow_requests_add(&r->flows, q->client, q->json, q->port);

		return error != NULL ? error : wait_for(r, q, PENDING_FLOWS, 0);
	}
	if (strcmp(what, "events") == 0)
		return show_events(r, q);
	if (strcmp(what, "config") == 0) {
		struct json_object *c = json_object_new_object();

		q->data = json_object_new_object();
		json_object_object_add(q->data, "config", c);
		row_text(c, KEY(VERSION, name), switch_policy(d->in.sw)->name);
		row_text(c, "file", reload_path(d->reload));
		row_text(c, KEY(DROP_REASONS, text), d->policy_text);
	} else if (strcmp(what, "cnps") == 0) {
		uint64_t count = count_in(q->json, "count");
		struct cnplog_query query = {
			.port = q->port,
			.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX};

		q->data = cnplog_rows(d->cnps, d->in.sw, &query);
	} else if (d->plane != NULL && strcmp(what, fact_lists[FACTS_ROUTES].what) == 0) {
		q->data = plane_routes(d->plane, q->port);
	} else if (d->plane != NULL && strcmp(what, fact_lists[FACTS_NEIGHBOURS].what) == 0) {
		q->data = plane_neighbours(d->plane, q->port, r->now_ns);
	} else {
		q->data = order_show(&d->in, d->observe, what, q->port,
				     OBSERVE_HISTORY |
					     (true_in(q->json, "all") ? OBSERVE_ALL_ROWS : 0),
				     r->now_ns);
	}
	return q->data != NULL ? NULL : format_request_error(r, "cannot show \"%.32s\"", what);
}

static const char *on_metrics(struct requests *r, struct request *q)
{
	size_t len = 0;
	char *text = metrics_page(r->d->observe, r->d->log, r->now_ns, &len);

	if (text == NULL)
		return "out of memory";
	q->data = json_object_new_object();
	json_object_object_add(q->data, KEY(DROP_REASONS, text),
			       json_object_new_string_len(text, (int)len));
	free(text);
	return NULL;
}

static const char *on_clear(struct requests *r, struct request *q)
{
	const char *what = text_in(q->json, "what");

	if (what != NULL && strcmp(what, "watermarks") == 0)
		return wait_for(r, q, PENDING_ACK, switch_clear_watermarks(r->d->in.sw));
	if (what == NULL || strcmp(what, "counters") != 0)
		return "clear counters or clear watermarks";
	observe_clear(r->d->observe, r->now_ns);
	return NULL;
}

static const char *on_quiesce(struct requests *r, struct request *q)
{
	wait_for(r, q, PENDING_QUIESCE, switch_hold_admission(r->d->in.sw, true));
	r->pending[q->client].hold = true_in(q->json, "hold");
	return LATER;
}

static void resume_unless_wanted(struct requests *r)
{
	for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++)
		if (r->pending[i].kind == PENDING_QUIESCE)
			return;
	if (!r->held)
		switch_hold_admission(r->d->in.sw, false);
}

static const char *on_resume(struct requests *r, struct request *q)
{
	(void)q;
	r->held = false;
	resume_unless_wanted(r);
	return NULL;
}

static const char *on_reload(struct requests *r, struct request *q)
{
	int64_t confirm_ms = number_in(q->json, "confirm_within_ms", 0, CONFIRM_MAX_MS);

	if (confirm_ms < 0)
		return format_request_error(r, "confirm_within_ms is a number up to %d",
					    CONFIRM_MAX_MS);
	switch (reload_request_init(&r->reload[q->client], text_in(q->json, "file"),
				    true_in(q->json, "check"), (uint64_t)confirm_ms * MS_NS,
				    r->now_ns)) {
	case 0: return wait_for(r, q, PENDING_RELOAD, 0);
	case -EINVAL: return "the file of a reload is an absolute path";
	default: return "out of memory";
	}
}

static const char *on_rollback(struct requests *r, struct request *q)
{
	struct reload_request *reload = &r->reload[q->client];

	(void)!reload_request_init(reload, NULL, false, 0, r->now_ns); // no path: 0
	reload->rollback = true;
	return wait_for(r, q, PENDING_RELOAD, 0);
}

static const char *on_confirm(struct requests *r, struct request *q)
{
	(void)q;
	return reload_confirm(r->d->reload) ? NULL : "no policy waits for a confirm";
}

// The three of a capture are answered by control/daemon/capture.h, now or later.
static const char *on_capture(struct requests *r, struct request *q)
{
	capture_start(r->capture, q->client,
		      q->port == OBSERVE_ALL_PORTS ? CAPTURE_ALL_PORTS : q->port, q->json);
	return LATER;
}

static const char *on_capture_read(struct requests *r, struct request *q)
{
	capture_read(r->capture, q->client, q->json);
	return LATER;
}

static const char *on_capture_stop(struct requests *r, struct request *q)
{
	capture_stop(r->capture, q->client, q->json);
	return LATER;
}

// Answered when the hosts at ports are no longer as the digest says, at the latest when the request
// would time out.
static const char *on_inof_local(struct requests *r, struct request *q)
{
	const char *digest = text_in(q->json, "digest");

	if (instance_inof(&r->d->in) == NULL)
		return inof_is_off;
	if (digest == NULL) {
		q->data = inof_peers_rows(instance_inof(&r->d->in), true, r->now_ns);
		return NULL;
	}
	wait_for(r, q, PENDING_INOF, 0);
	r->pending[q->client].digest = strtoull(digest, NULL, 16);
	return LATER;
}

static const char *on_inof_peer(struct requests *r, struct request *q)
{
	struct inof_registry *registry = instance_inof(&r->d->in);

	return registry == NULL ? inof_is_off : inof_peers_say(registry, q->json, r->now_ns);
}

static const char *on_inof_reflectors(struct requests *r, struct request *q)
{
	struct inof_registry *registry = instance_inof(&r->d->in);

	return registry == NULL ? inof_is_off
				: inof_peers_reflectors(registry, q->json, r->now_ns);
}

static const char *on_inof_zones(struct requests *r, struct request *q)
{
	return peer_zones_take(r->peer_zones, instance_inof(&r->d->in), q->json, r->now_ns);
}

static const struct command {
	const char *cmd;
	request_fn *fn;
	bool port; // "port" is read, and must be the name of a port
} commands[] = {
	{"capture", on_capture, true},
	{"capture-read", on_capture_read},
	{"capture-stop", on_capture_stop},
	{"clear", on_clear},
	{"confirm", on_confirm},
	{"inof_local", on_inof_local},
	{"inof_peer", on_inof_peer},
	{"inof_reflectors", on_inof_reflectors},
	{"inof_zones", on_inof_zones},
	{"metrics", on_metrics},
	{"quiesce", on_quiesce},
	{"reload", on_reload},
	{"resume", on_resume},
	{"rollback", on_rollback},
	{"show", on_show, true},
};

// Puts a request that needs only the instance in force. The answer waits for the workers.
static const char *on_order(struct requests *r, struct request *q)
{
	static const enum pending_kind kinds[] = {[ORDER_ACK] = PENDING_ACK,
						  [ORDER_TX] = PENDING_TX,
						  [ORDER_PAIR] = PENDING_FORGET};
	struct pending *p = &r->pending[q->client];
	struct order o = {.in = &r->d->in, .request = q->json, .now_ns = r->now_ns};
	const char *error = order_put(&o);

	q->data = o.data;
	if (error == o.text)
		return format_request_error(r, "%s", o.text);
	if (error != NULL || o.wait == ORDER_DONE)
		return error;
	wait_for(r, q, kinds[o.wait], o.token);
	if (o.wait == ORDER_TX) {
		p->port = (unsigned)o.port;
		p->queue = o.queue;
		p->on = o.on;
	}
	p->found = o.token;
	return LATER;
}

static void on_line(void *arg, unsigned client, const char *line, uint64_t now_ns)
{
	struct requests *r = arg;
	struct request q = {.client = client, .json = json_tokener_parse(line),
			    .port = OBSERVE_ALL_PORTS};
	const char *cmd = text_in(q.json, "cmd"), *what = text_in(q.json, "what"), *error = NULL;
	const struct command *c = commands, *end = c + sizeof(commands) / sizeof(commands[0]);

	r->now_ns = now_ns;
	while (cmd != NULL && c < end && strcmp(c->cmd, cmd) != 0)
		c++;
	if (cmd == NULL)
		error = "a request is one JSON object per line with a \"cmd\"";
	else if (c < end && c->port)
		error = order_port(switch_policy(r->d->in.sw), q.json,
				   what != NULL && order_shows_interfaces(what), &q.port, r->error);
	else if (c == end && !order_is(cmd))
		error = format_request_error(r, "no command \"%.32s\"", cmd);
	if (error == NULL)
		error = c < end ? c->fn(r, &q) : on_order(r, &q);
	if (error != LATER)
		reply_to_client(r, client, error, q.data);
	json_object_put(q.json);
}

static void on_gone(void *arg, unsigned client)
{
	struct requests *r = arg;
	bool quiesce = r->pending[client].kind == PENDING_QUIESCE;

	r->pending[client].kind = PENDING_NONE;
	reload_request_fini(&r->reload[client]);
	flow_requests_gone(&r->flows, client);
	capture_gone(r->capture, client);
	if (quiesce)
		resume_unless_wanted(r);
}

// ---- requests that take time

static const char *reload_error(enum pending_verdict v, bool published)
{
	if (v == PENDING_DONE)
		return NULL;
	return published ? "the new policy is published, but a worker did not take it over for "
			   "5 s; is its core overloaded?"
			 : "an earlier reload has not reached all workers after 5 s; this one "
			   "changed nothing";
}

static const char *late(const struct pending *p)
{
	return p->acked ? "transmission is off, but the driver of the port still holds frames "
			  "after 2 s; is its link up?"
			: "a worker did not answer for 1 s; is its core overloaded?";
}

static enum pending_verdict step_inof(const struct requests *r, struct pending *p,
				      struct json_object **data)
{
	const struct inof_registry *registry = instance_inof(&r->d->in);

	if (registry == NULL)
		return PENDING_TIMEOUT;
	if (r->now_ns < p->deadline_ns && p->change == inof_change(registry))
		return PENDING_WAIT;
	p->change = inof_change(registry);
	if (r->now_ns < p->deadline_ns && p->digest == inof_peers_digest(registry, r->now_ns))
		return PENDING_WAIT;
	*data = inof_peers_rows(registry, false, r->now_ns);
	return PENDING_DONE;
}

static void step_pending(struct requests *r, unsigned client)
{
	struct daemon *d = r->d;
	struct pending p;
	struct reload_request *reload = &r->reload[client];
	struct scan_time now = {r->now_ns,
				model_time_ns(instance_time_scale(&d->in), r->now_ns)};
	struct json_object *data = NULL;
	const char *error = NULL;
	enum pending_verdict v;

	switch (r->pending[client].kind) {
	case PENDING_RELOAD:
		v = reload_request_step(reload, d->reload, r->now_ns, &data);
		error = reload_error(v, reload->published);
		break;
	case PENDING_FLOWS:
		v = flow_requests_step(&r->flows, client, d->in.sw, now);
		error = v == PENDING_TIMEOUT ? "out of memory" : NULL;
		break;
	case PENDING_FORGET:
		v = flow_pair_deleted(d->in.sw, r->pending[client].found, &error) ? PENDING_DONE
										 : PENDING_WAIT;
		if (v != PENDING_WAIT || r->now_ns < r->pending[client].deadline_ns)
			break;
		v = PENDING_TIMEOUT;
		error = late(&r->pending[client]);
		break;
	case PENDING_INOF:
		v = step_inof(r, &r->pending[client], &data);
		error = v == PENDING_TIMEOUT ? inof_is_off : NULL;
		break;
	default:
		v = pending_step(&r->pending[client], d->in.sw, r->now_ns);
		error = v == PENDING_TIMEOUT ? late(&r->pending[client]) : NULL;
	}
	if (v == PENDING_WAIT)
		return;
	p = r->pending[client];
	r->pending[client].kind = PENDING_NONE;
	if (p.kind == PENDING_RELOAD) {
		reload_request_fini(reload);
	} else if (p.kind == PENDING_FLOWS && error == NULL) {
		data = observe_show(d->observe, "flows", OBSERVE_ALL_PORTS, r->now_ns);
		flow_requests_emit(&r->flows, client, d->in.sw, now.model_ns, data);
	} else if (p.kind == PENDING_QUIESCE) {
		if (error == NULL) {
			r->held |= p.hold;
			data = json_object_new_object();
			json_object_object_add(data, "balance", observe_balance(d->in.sw));
			json_object_object_add(data, "waiting", observe_waiting(d->in.sw));
			row_bool(data, KEY(VERSION, held), r->held);
		}
		resume_unless_wanted(r);
	} else if (p.kind == PENDING_TX && error == NULL) {
		daemon_event(d, EVENT_TX_SET, p.port, p.on, (uint64_t)(p.queue + 1), r->now_ns);
	}
	reply_to_client(r, client, error, data);
}

void requests_poll(struct requests *r, int timeout_ms, uint64_t now_ns)
{
	capture_poll(r->capture, now_ns);
	server_poll(r->server, timeout_ms, now_ns);
	r->now_ns = now_ns;
	for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++)
		if (r->pending[i].kind != PENDING_NONE)
			step_pending(r, i);
}

int requests_create(struct daemon *d, int listen_fd, struct requests **out)
{
	static const struct server_ops ops = {.line = on_line, .gone = on_gone};
	struct requests *r = calloc(1, sizeof(*r));
	const struct capture_answers answers = {.arg = r, .answer = reply_to_client};
	const struct capture_times times = {.wall_ns = wall_now_ns,
					    .time_scale = instance_time_scale(&d->in)};
	int err;

	if (r == NULL || peer_zones_create(&r->peer_zones) != 0 ||
	    capture_create(d->in.sw, &times, &answers, &r->capture) != 0) {
		close(listen_fd);
		if (r != NULL)
			peer_zones_destroy(r->peer_zones);
		free(r);
		return -ENOMEM;
	}
	r->d = d;
	err = server_create(listen_fd, &ops, r, &r->server);
	if (err != 0) {
		capture_destroy(r->capture);
		peer_zones_destroy(r->peer_zones);
		free(r);
		return err;
	}
	server_watch(r->server, plane_fd(d->plane));
	*out = r;
	return 0;
}

void requests_destroy(struct requests *r)
{
	if (r == NULL)
		return;
	for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++)
		reload_request_fini(&r->reload[i]);
	flow_requests_fini(&r->flows);
	server_destroy(r->server);
	capture_destroy(r->capture);
	peer_zones_destroy(r->peer_zones);
	free(r);
}
