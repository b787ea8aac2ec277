// SPDX-License-Identifier: Apache-2.0
// Commands that change a running switch: set, clear, quiesce, resume, confirm.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/client.h"
#include "control/ctl/ctl.h"
#include "control/ctl/show.h"

static int ask(const struct ctl *c, struct json_object *req)
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
	req = request_of("set_tx", "port", argv[1]);
	json_object_object_add(req, "on", json_object_new_boolean(strcmp(on, "on") == 0));
	if (queue) {
		char *end;
		long q = strtol(argv[2], &end, 10);

		if (end == argv[2] || *end != '\0' || q < 0 || q > 7) {
			json_object_put(req);
			return misused("a queue is a number from 0 to 7, not \"%s\"", argv[2]);
		}
		json_object_object_add(req, "queue", json_object_new_int((int)q));
	}
	return ask(c, req);
}

int cmd_clear(const struct ctl *c, int argc, char **argv)
{
	if (argc != 1 ||
	    (strcmp(argv[0], "watermarks") != 0 && strcmp(argv[0], "counters") != 0))
		return misused_words("clear");
	return ask(c, request_of("clear", "what", argv[0]));
}

int cmd_quiesce(const struct ctl *c, int argc, char **argv)
{
	struct json_object *req, *data, *held;

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
		if (json_object_object_get_ex(data, "held", &held) && json_object_get_boolean(held))
			puts("admission stays stopped until: weirctl resume");
	}
	json_object_put(data);
	return CTL_DONE;
}

int cmd_resume(const struct ctl *c, int argc, char **argv)
{
	if (argc > 0)
		return misused("resume takes no \"%s\"", argv[0]);
	return ask(c, request_of("resume", NULL, NULL));
}

int cmd_confirm(const struct ctl *c, int argc, char **argv)
{
	if (argc > 0)
		return misused("confirm takes no \"%s\"", argv[0]);
	return ask(c, request_of("confirm", NULL, NULL));
}
