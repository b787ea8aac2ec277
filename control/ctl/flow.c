// SPDX-License-Identifier: Apache-2.0
// The command `flow`: an operator says which queue pair belongs to a flow's sender, or takes it
// back.
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/client.h"
#include "control/ctl/ctl.h"

enum { QP_LEAST = 2, QP_MOST = 0xffffff };

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
	static const char *const keys[] = {"qp", "sender_qp"};
	bool add = argc == 5 && strcmp(argv[0], "add") == 0;
	bool del = argc == 4 && strcmp(argv[0], "del") == 0;
	struct json_object *req, *data;

	if (!add && !del)
		return misused_words("flow");
	req = request_of(add ? "flow_add" : "flow_del", "from", argv[1]);
	json_object_object_add(req, "to", json_object_new_string(argv[2]));
	for (int i = 3; i < argc; i++) {
		unsigned qp;

		if (!parse_qp(argv[i], &qp)) {
			json_object_put(req);
			return misused("a queue pair is a number from 2 to 0xffffff, not \"%s\"",
				       argv[i]);
		}
		json_object_object_add(req, keys[i - 3], json_object_new_int64(qp));
	}
	data = client_request(c->name, req);
	if (data == NULL)
		return CTL_FAILED;
	json_object_put(data);
	return CTL_DONE;
}
