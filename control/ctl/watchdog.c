// SPDX-License-Identifier: Apache-2.0
// The command `watchdog`: ends a storm or an escalation by hand, and the big red switch.
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/client.h"
#include "control/ctl/ctl.h"

static int ask(const struct ctl *c, struct json_object *req)
{
	struct json_object *data = client_request(c->name, req);

	if (data == NULL)
		return CTL_FAILED;
	json_object_put(data);
	return CTL_DONE;
}

static int recover(const struct ctl *c, const char *port, const char *cls)
{
	struct json_object *req;

	if (cls[0] < '0' || cls[0] > '7' || cls[1] != '\0')
		return misused("a class is a number from 0 to 7, not \"%s\"", cls);
	req = request_of("watchdog_recover", "port", port);
	json_object_object_add(req, "class", json_object_new_int(cls[0] - '0'));
	return ask(c, req);
}

static int drop_all(const struct ctl *c, const char *on)
{
	struct json_object *req;

	if (strcmp(on, "on") != 0 && strcmp(on, "off") != 0)
		return misused_words("watchdog");
	req = request_of("watchdog_drop_all", NULL, NULL);
	json_object_object_add(req, "on", json_object_new_boolean(strcmp(on, "on") == 0));
	return ask(c, req);
}

int cmd_watchdog(const struct ctl *c, int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[0], "recover") == 0)
		return recover(c, argv[1], argv[2]);
	if (argc == 2 && strcmp(argv[0], "drop-all") == 0)
		return drop_all(c, argv[1]);
	return misused_words("watchdog");
}
