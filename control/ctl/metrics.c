// SPDX-License-Identifier: Apache-2.0
// The command `metrics`: the page for Prometheus, as the switch would serve it.
#include <stdio.h>

#include <json-c/json.h>

#include "control/ctl/client.h"
#include "control/ctl/ctl.h"

int cmd_metrics(const struct ctl *c, int argc, char **argv)
{
	struct json_object *data, *text;

	if (argc > 0)
		return misused("metrics takes no \"%s\"", argv[0]);
	data = client_request(c->name, request_of("metrics", NULL, NULL));
	if (data == NULL)
		return CTL_FAILED;
	if (json_object_object_get_ex(data, "text", &text))
		fputs(json_object_get_string(text), stdout);
	json_object_put(data);
	return CTL_DONE;
}
