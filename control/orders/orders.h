// SPDX-License-Identifier: Apache-2.0
// Requests that change a running switch and need nothing but its instance, on any clock: the daemon
// has them from its clients (control/daemon/requests.h), the lab from scenarios. Called by the
// thread that controls the switch.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct instance;
struct json_object;
struct observe;
struct policy;

enum { ORDER_TEXT_LEN = 512, ORDER_NO_PORT = -1 };

// The workers must do this before the answer. On a virtual clock their next step does it.
enum order_wait {
	ORDER_DONE, // nothing
	ORDER_ACK, // they acknowledge `token` (switch_request_done)
	ORDER_TX, // that, and what the driver held then leaves
	ORDER_PAIR, // switch_pair_orders_done; its count was `token` before
};

struct order {
	struct instance *in;
	struct json_object *request;
	uint64_t now_ns;
	int port; // that the request names, or ORDER_NO_PORT
	// Result.
	enum order_wait wait;
	uint64_t token;
	int queue; // ORDER_TX; -1: the whole port
	bool on; // ORDER_TX
	struct json_object *data; // of the answer; NULL: nothing
	char text[ORDER_TEXT_LEN]; // of an error
};

// Finds the port that the request names, if any. interfaces: an SVI has a name, too. NULL, or the
// sentence of the error in text.
const char *order_port(const struct policy *p, struct json_object *request, bool interfaces,
		       int *port, char text[ORDER_TEXT_LEN]);

bool order_is(const char *cmd);
// Puts o->request in force, for which order_is(). NULL, or the sentence of the error; nothing has
// changed then.
const char *order_put(struct order *o);

// The answer to `show`, but for kinds that only a daemon has; NULL: there is no such kind. port: an
// interface or ORDER_NO_PORT. flags: of observe_rows.
struct json_object *order_show(const struct instance *in, struct observe *o, const char *what,
			       int port, unsigned flags, uint64_t now_ns);
// Whether a kind of `show` has interfaces, where others have ports.
bool order_shows_interfaces(const char *what);
