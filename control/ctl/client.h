// SPDX-License-Identifier: Apache-2.0
// The other end of the daemon's control socket: finds it, sends one request, waits for the answer.
// Prints a sentence when that fails. Protocol: control/daemon/requests.h.
#pragma once

#include <stddef.h>

#include "control/orders/words.h"

struct json_object;

struct client {
	int fd;
};

enum { CLIENT_NAME_LEN = 64 };

// The switch that is meant when none is named: `weir`, or the only one that runs, or `weir` where
// none does. NULL after a message if several run. The answer may be in `found`.
const char *client_find(char found[CLIENT_NAME_LEN]);

// name: the switch, or NULL for `weir`, or for the only one that runs. 0 or -1 after a message.
__attribute__((warn_unused_result)) int client_open(const char *name, struct client *out);
void client_close(struct client *c);

// Without any message: 0 or -errno of the connection, and data or NULL. After NULL the connection
// is of no use.
__attribute__((warn_unused_result)) int client_connect(const char *name, struct client *out);
// Consumes req.
struct json_object *client_exchange_quiet(struct client *c, struct json_object *req);
void client_timeout(struct client *c, unsigned seconds); // of each answer; 10 unless set

// Consumes req. The answer's data (the caller puts it), or NULL with a sentence in why, which is
// empty if no answer came in time.
struct json_object *client_exchange_why(struct client *c, struct json_object *req, char *why,
					size_t len);

// Consumes req. The answer's data (the caller puts it), or NULL after a message.
struct json_object *client_exchange(struct client *c, struct json_object *req);

// All in one: open, exchange, close.
struct json_object *client_request(const char *name, struct json_object *req);

// {"cmd": "show", "what": KIND}. list: of facts, names the kind.
struct json_object *show_request(unsigned list);

void print_json(struct json_object *data);

void sleep_s(double s); // a signal ends it
