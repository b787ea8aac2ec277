// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/requests.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/daemon/capture.h"
#include "control/daemon/clock.h"
#include "control/daemon/flow_request.h"
#include "control/daemon/json_in.h"
#include "control/daemon/metrics.h"
#include "control/daemon/pending.h"
#include "control/model_time.h"
#include "control/observe/fact.h"
#include "dataplane/switch_flows.h"

enum { ERROR_LEN = 512, NO_SUCH_PORT = -2, CONFIRM_MAX_MS = 86400000 };

struct requests {
	struct requests_env env;
	struct server *server;
	struct capture *capture;
	bool held; // by `quiesce --hold`
	uint64_t now_ns;
	struct pending pending[SERVER_MAX_CLIENTS];
	struct reload_request reload[SERVER_MAX_CLIENTS];
	struct flow_requests flows;
};

// ---- answers

static void send_reply(struct requests *r, unsigned client, struct json_object *reply)
{
	server_reply(r->server, client,
		     json_object_to_json_string_ext(reply, JSON_C_TO_STRING_PLAIN));
	json_object_put(reply);
}

static void answer_ok(struct requests *r, unsigned client, struct json_object *data)
{
	struct json_object *reply = json_object_new_object();

	json_object_object_add(reply, "ok", json_object_new_boolean(1));
	json_object_object_add(reply, "data", data != NULL ? data : json_object_new_object());
	send_reply(r, client, reply);
}

__attribute__((format(printf, 3, 4))) static void answer_error(struct requests *r, unsigned client,
							       const char *fmt, ...)
{
	struct json_object *reply = json_object_new_object();
	char text[ERROR_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_object_object_add(reply, "ok", json_object_new_boolean(0));
	json_object_object_add(reply, "error", json_object_new_string(text));
	send_reply(r, client, reply);
}

// ---- reading a request

// The port's index, OBSERVE_ALL_PORTS when none is named, or NO_SUCH_PORT after an error answer.
static int port_of(struct requests *r, unsigned client, struct json_object *req)
{
	const struct policy *pol = switch_policy(r->env.sw);
	const char *name = text_in(req, KEY(QUEUES, port));
	char names[ERROR_LEN / 2] = "";
	size_t at = 0;

	if (name == NULL)
		return OBSERVE_ALL_PORTS;
	for (unsigned i = 0; i < pol->n_ports; i++)
		if (strcmp(pol->ports[i].name, name) == 0)
			return (int)i;
	for (unsigned i = 0; i < pol->n_ports && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, " %s", pol->ports[i].name);
	answer_error(r, client, "no port named %.32s; the ports are:%s%s", name, names,
		     at >= sizeof(names) ? "..." : "");
	return NO_SUCH_PORT;
}

// ---- the requests

typedef void request_fn(struct requests *r, unsigned client, struct json_object *req);

static struct json_object *config_data(const struct requests *r)
{
	struct json_object *out = json_object_new_object();
	struct json_object *c = json_object_new_object();

	json_object_object_add(out, "config", c);
	json_object_object_add(c, KEY(VERSION, name),
			       json_object_new_string(switch_policy(r->env.sw)->name));
	json_object_object_add(c, "file", json_object_new_string(reload_path(r->env.reload)));
	json_object_object_add(c, KEY(DROP_REASONS, text),
			       json_object_new_string(reload_text(r->env.reload)));
	return out;
}

static void on_show_events(struct requests *r, unsigned client, struct json_object *req, int port)
{
	const char *severity = text_in(req, KEY(EVENTS, severity));
	int grade = severity != NULL ? eventlog_grade(severity) : 0;
	struct json_object *out;

	if (grade < 0) {
		answer_error(r, client, "a severity is info, warning or alarm");
		return;
	}
	out = json_object_new_object();
	json_object_object_add(out, "events",
			       eventlog_rows(r->env.log, port, count_in(req, "since"), grade));
	json_object_object_add(out, "events_lost",
			       json_object_new_uint64(switch_events_lost(r->env.sw)));
	answer_ok(r, client, out);
}

static struct json_object *cnps_data(const struct requests *r, int port, uint64_t count)
{
	struct cnplog_wish wish = {.port = port,
				   .count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX};

	return cnplog_rows(r->env.cnps, r->env.sw, &wish);
}

static void on_show_flows(struct requests *r, unsigned client, struct json_object *req, int port)
{
	const char *wrong = flow_requests_add(&r->flows, client, req, port);

	if (wrong != NULL)
		answer_error(r, client, "%s", wrong);
	else
		r->pending[client].kind = PENDING_FLOWS;
}

static void on_show(struct requests *r, unsigned client, struct json_object *req)
{
	const char *what = text_in(req, "what");
	struct json_object *data;
	int port = port_of(r, client, req);

	if (port == NO_SUCH_PORT)
		return;
	if (what != NULL && strcmp(what, "flows") == 0) {
		on_show_flows(r, client, req, port);
		return;
	}
	if (what != NULL && strcmp(what, "events") == 0) {
		on_show_events(r, client, req, port);
		return;
	}
	if (what == NULL)
		data = NULL;
	else if (strcmp(what, "config") == 0)
		data = config_data(r);
	else if (strcmp(what, "cnps") == 0)
		data = cnps_data(r, port, count_in(req, "count"));
	else if (strcmp(what, "routes") == 0)
		data = resolver_routes(r->env.resolver, r->env.sw, port);
	else if (strcmp(what, "neighbours") == 0)
		data = resolver_neighbours(r->env.resolver, r->env.sw, port, r->now_ns);
	else
		data = observe_rows(r->env.observe, what, port,
				    true_in(req, "all") ? OBSERVE_ALL_ROWS : 0, r->now_ns);
	if (data == NULL)
		answer_error(r, client, "cannot show \"%.32s\"", what != NULL ? what : "");
	else
		answer_ok(r, client, data);
}

static void on_metrics(struct requests *r, unsigned client, struct json_object *req)
{
	size_t len = 0;
	char *text = metrics_page(r->env.observe, r->env.log, r->now_ns, &len);
	struct json_object *data;

	(void)req;
	if (text == NULL) {
		answer_error(r, client, "out of memory");
		return;
	}
	data = json_object_new_object();
	json_object_object_add(data, KEY(DROP_REASONS, text),
			       json_object_new_string_len(text, (int)len));
	free(text);
	answer_ok(r, client, data);
}

static void on_set_tx(struct requests *r, unsigned client, struct json_object *req)
{
	struct pending *p = &r->pending[client];
	struct json_object *q = NULL;
	bool on = true_in(req, "on");
	int port = port_of(r, client, req);
	int queue = -1;

	if (port == NO_SUCH_PORT)
		return;
	if (port == OBSERVE_ALL_PORTS) {
		answer_error(r, client, "set_tx needs a port");
		return;
	}
	if (json_object_object_get_ex(req, KEY(QUEUES, queue), &q) && q != NULL) {
		queue = json_object_get_int(q);
		if (!json_object_is_type(q, json_type_int) || queue < 0 || queue >= N_QUEUES) {
			answer_error(r, client, "a queue is a number from 0 to 7");
			return;
		}
	}
	pending_start(p, PENDING_TX, switch_set_tx(r->env.sw, (unsigned)port, queue, on),
		      r->now_ns);
	p->port = (unsigned)port;
	p->queue = queue;
	p->on = on;
}

static void on_clear(struct requests *r, unsigned client, struct json_object *req)
{
	const char *what = text_in(req, "what");

	if (what != NULL && strcmp(what, "counters") == 0) {
		observe_clear(r->env.observe, r->now_ns);
		answer_ok(r, client, NULL);
	} else if (what != NULL && strcmp(what, "watermarks") == 0) {
		pending_start(&r->pending[client], PENDING_WATERMARKS,
			      switch_clear_watermarks(r->env.sw), r->now_ns);
	} else {
		answer_error(r, client, "clear counters or clear watermarks");
	}
}

static void on_quiesce(struct requests *r, unsigned client, struct json_object *req)
{
	struct pending *p = &r->pending[client];

	pending_start(p, PENDING_QUIESCE, switch_hold_admission(r->env.sw, true), r->now_ns);
	p->hold = true_in(req, "hold");
}

// ---- storms

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

static void nothing_to_recover(struct requests *r, unsigned client, unsigned port, unsigned cls)
{
	const struct policy_port *pp = &switch_policy(r->env.sw)->ports[port];
	char classes[2 * N_CLASSES + 1];

	if (!(pp->classify.lossless >> cls & 1) && pp->classify.lossless == 0)
		answer_error(r, client, "class %u of %s is lossy, as all its classes are", cls,
			     pp->name);
	else if (!(pp->classify.lossless >> cls & 1))
		answer_error(r, client, "class %u of %s is lossy; its lossless classes are: %s",
			     cls, pp->name, lossless_text(pp->classify.lossless, classes));
	else if (switch_watchdog_drops_all(r->env.sw))
		answer_error(r, client, "class %u of %s is in no storm of its own; drop-all is on, "
					"and ends with: weirctl watchdog drop-all off",
			     cls, pp->name);
	else
		answer_error(r, client, "class %u of %s is in no storm and not escalated: there is "
					"nothing to recover", cls, pp->name);
}

static void on_watchdog_recover(struct requests *r, unsigned client, struct json_object *req)
{
	struct json_object *v = NULL;
	int port = port_of(r, client, req), cls, err = 0;
	uint64_t request;

	if (port == NO_SUCH_PORT)
		return;
	cls = json_object_object_get_ex(req, KEY(QUEUES, class), &v) ? json_object_get_int(v)
								    : -1;
	if (port == OBSERVE_ALL_PORTS || !json_object_is_type(v, json_type_int) || cls < 0 ||
	    cls >= N_CLASSES) {
		answer_error(r, client, "watchdog_recover needs a port and a class from 0 to 7");
		return;
	}
	request = switch_watchdog_recover(r->env.sw, (unsigned)port, (unsigned)cls, &err);
	if (err != 0)
		nothing_to_recover(r, client, (unsigned)port, (unsigned)cls);
	else
		pending_start(&r->pending[client], PENDING_WATCHDOG, request, r->now_ns);
}

static void on_watchdog_drop_all(struct requests *r, unsigned client, struct json_object *req)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(req, "on", &v) ||
	    !json_object_is_type(v, json_type_boolean)) {
		answer_error(r, client, "watchdog_drop_all needs \"on\": true or false");
		return;
	}
	pending_start(&r->pending[client], PENDING_WATCHDOG,
		      switch_watchdog_drop_all(r->env.sw, json_object_get_boolean(v)), r->now_ns);
}

static bool quiescing(const struct requests *r)
{
	for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++)
		if (r->pending[i].kind == PENDING_QUIESCE)
			return true;
	return false;
}

static void resume_unless_wanted(struct requests *r)
{
	if (!r->held && !quiescing(r))
		switch_hold_admission(r->env.sw, false);
}

static void on_resume(struct requests *r, unsigned client, struct json_object *req)
{
	(void)req;
	r->held = false;
	resume_unless_wanted(r);
	answer_ok(r, client, NULL);
}

static void on_reload(struct requests *r, unsigned client, struct json_object *req)
{
	int64_t confirm_ms = number_in(req, "confirm_within_ms", 0, CONFIRM_MAX_MS);

	if (confirm_ms < 0) {
		answer_error(r, client, "confirm_within_ms is a number up to %d", CONFIRM_MAX_MS);
		return;
	}
	switch (reload_request_init(&r->reload[client], text_in(req, "file"), true_in(req, "check"),
				    (uint64_t)confirm_ms * 1000000, r->now_ns)) {
	case 0: r->pending[client].kind = PENDING_RELOAD; break;
	case -EINVAL: answer_error(r, client, "the file of a reload is an absolute path"); break;
	default: answer_error(r, client, "out of memory"); break;
	}
}

static void on_rollback(struct requests *r, unsigned client, struct json_object *req)
{
	(void)req;
	(void)!reload_request_init(&r->reload[client], NULL, false, 0, r->now_ns); // no path: 0
	r->reload[client].rollback = true;
	r->pending[client].kind = PENDING_RELOAD;
}

static void on_confirm(struct requests *r, unsigned client, struct json_object *req)
{
	(void)req;
	if (reload_confirm(r->env.reload))
		answer_ok(r, client, NULL);
	else
		answer_error(r, client, "no policy waits for a confirm");
}

// ---- captures: control/daemon/capture.h answers for itself

static void capture_ok(void *arg, unsigned client, struct json_object *data)
{
	answer_ok(arg, client, data);
}

static void capture_error(void *arg, unsigned client, const char *text)
{
	answer_error(arg, client, "%s", text);
}

static void on_capture(struct requests *r, unsigned client, struct json_object *req)
{
	int port = port_of(r, client, req);

	if (port != NO_SUCH_PORT)
		capture_start(r->capture, client,
			      port == OBSERVE_ALL_PORTS ? CAPTURE_ALL_PORTS : port, req);
}

static void on_capture_read(struct requests *r, unsigned client, struct json_object *req)
{
	capture_read(r->capture, client, req);
}

static void on_capture_stop(struct requests *r, unsigned client, struct json_object *req)
{
	capture_stop(r->capture, client, req);
}

// ---- pairs by hand

static void on_flow_add(struct requests *r, unsigned client, struct json_object *req)
{
	const char *wrong = flow_request_pair(r->env.sw, req, true);

	if (wrong != NULL)
		answer_error(r, client, "%s", wrong);
	else
		answer_ok(r, client, NULL);
}

static void on_flow_del(struct requests *r, unsigned client, struct json_object *req)
{
	struct pending *p = &r->pending[client];
	const char *wrong;
	uint64_t found;

	switch_pair_orders_done(r->env.sw, &found);
	wrong = flow_request_pair(r->env.sw, req, false);
	if (wrong != NULL) {
		answer_error(r, client, "%s", wrong);
		return;
	}
	pending_start(p, PENDING_FORGET, 0, r->now_ns);
	p->found = found;
}

static const struct {
	const char *cmd;
	request_fn *fn;
} commands[] = {
	{"capture", on_capture}, {"capture-read", on_capture_read},
	{"capture-stop", on_capture_stop},
	{"show", on_show},       {"set_tx", on_set_tx}, {"clear", on_clear},
	{"quiesce", on_quiesce}, {"resume", on_resume}, {"reload", on_reload},
	{"confirm", on_confirm}, {"rollback", on_rollback},
	{"metrics", on_metrics}, {"watchdog_recover", on_watchdog_recover},
	{"watchdog_drop_all", on_watchdog_drop_all},
	{"flow_add", on_flow_add}, {"flow_del", on_flow_del},
};

static void on_line(void *arg, unsigned client, const char *line, uint64_t now_ns)
{
	struct requests *r = arg;
	struct json_object *req = json_tokener_parse(line);
	const char *cmd = text_in(req, "cmd");
	size_t i = 0;

	r->now_ns = now_ns;
	while (cmd != NULL && i < sizeof(commands) / sizeof(commands[0]) &&
	       strcmp(commands[i].cmd, cmd) != 0)
		i++;
	if (cmd == NULL)
		answer_error(r, client, "a request is one JSON object per line with a \"cmd\"");
	else if (i == sizeof(commands) / sizeof(commands[0]))
		answer_error(r, client, "no command \"%.32s\"", cmd);
	else
		commands[i].fn(r, client, req);
	json_object_put(req);
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

static void finish_quiesce(struct requests *r, unsigned client, bool hold)
{
	struct json_object *data = json_object_new_object();

	r->held |= hold;
	json_object_object_add(data, "balance", observe_balance(r->env.sw));
	json_object_object_add(data, "waiting", observe_waiting(r->env.sw));
	json_object_object_add(data, KEY(VERSION, held), json_object_new_boolean(r->held));
	resume_unless_wanted(r);
	answer_ok(r, client, data);
}

static void log_tx_set(struct requests *r, const struct pending *p)
{
	struct event e = {.t_ns = model_time_ns(r->env.time_scale, r->now_ns),
			  .type = EVENT_TX_SET, .port = (uint8_t)p->port, .cls = CLASS_NONE,
			  .a = p->on, .b = (uint64_t)(p->queue + 1)};

	eventlog_add(r->env.log, &e, r->now_ns);
}

static void finish(struct requests *r, unsigned client)
{
	struct pending p = r->pending[client];

	r->pending[client].kind = PENDING_NONE;
	if (p.kind == PENDING_QUIESCE) {
		finish_quiesce(r, client, p.hold);
		return;
	}
	if (p.kind == PENDING_TX)
		log_tx_set(r, &p);
	answer_ok(r, client, NULL);
}

static void give_up(struct requests *r, unsigned client)
{
	struct pending p = r->pending[client];

	r->pending[client].kind = PENDING_NONE;
	if (p.kind == PENDING_QUIESCE)
		resume_unless_wanted(r);
	if (p.acked)
		answer_error(r, client,
			     "transmission is off, but the driver of the port still holds frames "
			     "after 2 s; is its link up?");
	else
		answer_error(r, client, "a worker did not answer for 1 s; is its core overloaded?");
}

static void step_reload(struct requests *r, unsigned client)
{
	struct reload_request *q = &r->reload[client];
	struct json_object *data = NULL;
	enum pending_verdict v = reload_request_step(q, r->env.reload, r->now_ns, &data);
	bool published = q->published;

	if (v == PENDING_WAIT)
		return;
	r->pending[client].kind = PENDING_NONE;
	reload_request_fini(q);
	if (v == PENDING_DONE)
		answer_ok(r, client, data);
	else if (published)
		answer_error(r, client, "the new policy is published, but a worker did not take it "
					"over for 5 s; is its core overloaded?");
	else
		answer_error(r, client, "an earlier reload is not taken over by all workers after "
					"5 s; nothing was changed by this one");
}

static void step_flows(struct requests *r, unsigned client)
{
	uint64_t model_ns = model_time_ns(r->env.time_scale, r->now_ns);
	enum pending_verdict v = flow_requests_step(&r->flows, client, r->env.sw,
						    (struct scan_time){r->now_ns, model_ns});
	struct json_object *data;

	if (v == PENDING_WAIT)
		return;
	r->pending[client].kind = PENDING_NONE;
	if (v == PENDING_TIMEOUT) {
		answer_error(r, client, "out of memory");
		return;
	}
	data = observe_show(r->env.observe, "flows", OBSERVE_ALL_PORTS, r->now_ns);
	flow_requests_emit(&r->flows, client, r->env.sw, model_ns, data);
	answer_ok(r, client, data);
}

static void step_forget(struct requests *r, unsigned client)
{
	const struct pending *p = &r->pending[client];
	const char *wrong = NULL;

	if (flow_request_step(r->env.sw, p->found, &wrong) == PENDING_WAIT) {
		if (r->now_ns >= p->deadline_ns)
			give_up(r, client);
		return;
	}
	r->pending[client].kind = PENDING_NONE;
	if (wrong != NULL)
		answer_error(r, client, "%s", wrong);
	else
		answer_ok(r, client, NULL);
}

static void step_pending(struct requests *r, unsigned client)
{
	if (r->pending[client].kind == PENDING_FORGET) {
		step_forget(r, client);
		return;
	}
	if (r->pending[client].kind == PENDING_RELOAD) {
		step_reload(r, client);
		return;
	}
	if (r->pending[client].kind == PENDING_FLOWS) {
		step_flows(r, client);
		return;
	}
	switch (pending_step(&r->pending[client], r->env.sw, r->now_ns)) {
	case PENDING_WAIT: break;
	case PENDING_DONE: finish(r, client); break;
	case PENDING_TIMEOUT: give_up(r, client); break;
	}
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

int requests_create(const struct requests_env *env, int listen_fd, struct requests **out)
{
	static const struct server_ops ops = {.line = on_line, .gone = on_gone};
	struct requests *r = calloc(1, sizeof(*r));
	const struct capture_answers answers = {.arg = r, .ok = capture_ok,
						.error = capture_error};
	const struct capture_times times = {.wall_ns = wall_now_ns, .time_scale = env->time_scale};
	int err;

	if (r == NULL || capture_create(env->sw, &times, &answers, &r->capture) != 0) {
		close(listen_fd);
		free(r);
		return -ENOMEM;
	}
	r->env = *env;
	err = server_create(listen_fd, &ops, r, &r->server);
	if (err != 0) {
		capture_destroy(r->capture);
		free(r);
		return err;
	}
	*out = r;
	return 0;
}

void requests_destroy(struct requests *r)
{
	if (r == NULL)
		return;
	for (unsigned i = 0; i < SERVER_MAX_CLIENTS; i++)
		reload_request_fini(&r->reload[i]);
	flow_scan_fini(&r->flows.scan);
	server_destroy(r->server);
	capture_destroy(r->capture);
	free(r);
}
