// SPDX-License-Identifier: Apache-2.0
// Commands that are one request to a running switch: set, clear, quiesce, resume, confirm,
// watchdog, flow, metrics.
#include "control/ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/client.h"
#include "control/ctl/show.h"
#include "control/ctl/table.h"

enum { QP_LEAST = 2, QP_MOST = 0xffffff };

static int send_request(const struct ctl *c, struct json_object *req)
{
	struct json_object *data = client_request(c->name, req);

	if (data == NULL)
		return CTL_FAILED;
	json_object_put(data);
	return CTL_DONE;
}

int cmd_set(const struct ctl *c, int argc, char **argv)
{
	bool port = argc == 4 && strcmp(argv[0], "port") == 0;
	bool queue = argc == 5 && strcmp(argv[0], "queue") == 0;
	struct json_object *req;
	const char *on;

	if (!port && !queue)
		return misused_words("set");
	on = argv[argc - 1];
	if (strcmp(argv[argc - 2], "tx") != 0 || (strcmp(on, "on") != 0 && strcmp(on, "off") != 0))
		return misused("set %s ends in tx on or tx off, not %s %s", argv[0],
			       argv[argc - 2], on);
	req = request_of("set_tx", KEY(QUEUES, port), argv[1]);
	json_object_object_add(req, "on", json_object_new_boolean(strcmp(on, "on") == 0));
	if (queue) {
		char *end;
		long q = strtol(argv[2], &end, 10);

		if (end == argv[2] || *end != '\0' || q < 0 || q > 7) {
			json_object_put(req);
			return misused("a queue is a number from 0 to 7, not \"%s\"", argv[2]);
		}
		json_object_object_add(req, KEY(QUEUES, queue), json_object_new_int((int)q));
	}
	return send_request(c, req);
}

int cmd_clear(const struct ctl *c, int argc, char **argv)
{
	if (argc != 1 ||
	    (strcmp(argv[0], "watermarks") != 0 && strcmp(argv[0], "counters") != 0))
		return misused_words("clear");
	return send_request(c, request_of("clear", "what", argv[0]));
}

int cmd_quiesce(const struct ctl *c, int argc, char **argv)
{
	struct json_object *req, *data;

	if (argc > 0)
		return misused("quiesce takes no \"%s\"", argv[0]);
	req = request_of("quiesce", NULL, NULL);
	json_object_object_add(req, "hold", json_object_new_boolean(c->hold));
	data = client_request(c->name, req);
	if (data == NULL)
		return CTL_FAILED;
	if (c->json) {
		print_json(data);
	} else {
		show_tables(stdout, "balance", data, &(struct show_wish){.all = true});
		if (fact_yes(data, F_VERSION_held))
			puts("admission stays stopped until: weirctl resume");
	}
	json_object_put(data);
	return CTL_DONE;
}

int cmd_resume(const struct ctl *c, int argc, char **argv)
{
	if (argc > 0)
		return misused("resume takes no \"%s\"", argv[0]);
	return send_request(c, request_of("resume", NULL, NULL));
}

int cmd_confirm(const struct ctl *c, int argc, char **argv)
{
	if (argc > 0)
		return misused("confirm takes no \"%s\"", argv[0]);
	return send_request(c, request_of("confirm", NULL, NULL));
}

static int recover(const struct ctl *c, const char *port, const char *cls)
{
	struct json_object *req;

	if (cls[0] < '0' || cls[0] > '7' || cls[1] != '\0')
		return misused("a class is a number from 0 to 7, not \"%s\"", cls);
	req = request_of("watchdog_recover", KEY(QUEUES, port), port);
	json_object_object_add(req, KEY(QUEUES, class), json_object_new_int(cls[0] - '0'));
	return send_request(c, req);
}

static int drop_all(const struct ctl *c, const char *on)
{
	struct json_object *req;

	if (strcmp(on, "on") != 0 && strcmp(on, "off") != 0)
		return misused_words("watchdog");
	req = request_of("watchdog_drop_all", NULL, NULL);
	json_object_object_add(req, "on", json_object_new_boolean(strcmp(on, "on") == 0));
	return send_request(c, req);
}

int cmd_watchdog(const struct ctl *c, int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[0], "recover") == 0)
		return recover(c, argv[1], argv[2]);
	if (argc == 2 && strcmp(argv[0], "drop-all") == 0)
		return drop_all(c, argv[1]);
	return misused_words("watchdog");
}

// A number as people and drivers write them: 18 or 0x12.
static bool parse_qp(const char *text, unsigned *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n < QP_LEAST || n > QP_MOST)
		return false;
	*out = (unsigned)n;
	return true;
}

int cmd_flow(const struct ctl *c, int argc, char **argv)
{
	const char *const keys[] = {KEY(FLOWS, qp), KEY(FLOWS, sender_qp)};
	bool add = argc == 5 && strcmp(argv[0], "add") == 0;
	bool del = argc == 4 && strcmp(argv[0], "del") == 0;
	struct json_object *req;

	if (!add && !del)
		return misused_words("flow");
	req = request_of(add ? "flow_add" : "flow_del", KEY(FLOWS, from), argv[1]);
	json_object_object_add(req, KEY(FLOWS, to), json_object_new_string(argv[2]));
	for (int i = 3; i < argc; i++) {
		unsigned qp;

		if (!parse_qp(argv[i], &qp)) {
			json_object_put(req);
			return misused("a queue pair is a number from 2 to 0xffffff, not \"%s\"",
				       argv[i]);
		}
		json_object_object_add(req, keys[i - 3], json_object_new_int64(qp));
	}
	return send_request(c, req);
}

int cmd_metrics(const struct ctl *c, int argc, char **argv)
{
	struct json_object *data, *text;

	if (argc > 0)
		return misused("metrics takes no \"%s\"", argv[0]);
	data = client_request(c->name, request_of("metrics", NULL, NULL));
	if (data == NULL)
		return CTL_FAILED;
	if (json_object_object_get_ex(data, KEY(DROP_REASONS, text), &text))
		fputs(json_object_get_string(text), stdout);
	json_object_put(data);
	return CTL_DONE;
}
