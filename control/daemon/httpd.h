// SPDX-License-Identifier: Apache-2.0
// A small HTTP server inside the control loop: the page of metrics, and the page of `weir --web`.
// One request a connection, answered once, or by a stream of server-sent events.
//
// It never blocks. Connections, bytes of a request, bytes that wait for a reader, and the time of
// each direction are bounded. A connection beyond the number takes the place of the oldest request
// that is incomplete after HTTPD_REQUEST_MS, or of a client that has not read its answer for
// HTTPD_ANSWER_MS. Until then it waits in the backlog. A stream keeps its place as long as its
// reader keeps up. Called by the control thread only.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/daemon/http.h"

struct httpd;

enum {
	HTTPD_MAX_CLIENTS = 16,
	HTTPD_TIMEOUT_MS = 5000, // from the connection to the last byte of the answer
	HTTPD_REQUEST_MS = 50, // a request has so long when others wait for its place
	HTTPD_ANSWER_MS = 500, // an answer has so long when others wait for its place
	HTTPD_STREAM_BYTES = 4 << 20, // that a reader of a stream may be behind
};

struct httpd_ops {
	// A whole request of HTTP 1 with GET or HEAD. Its texts are gone after the call. The answer
	// may come later: the client has HTTPD_TIMEOUT_MS.
	void (*request)(void *arg, unsigned client, const struct http_request *q, uint64_t now_ns);
	// The client that was to get an answer, or has a stream, is gone. NULL: no one asks.
	void (*gone)(void *arg, unsigned client);
};

// Listens; n_clients at most at a time. 0 or -errno; *out is untouched on failure.
__attribute__((warn_unused_result)) int httpd_create(const struct endpoint *at, unsigned n_clients,
						     const struct httpd_ops *ops, void *arg,
						     struct httpd **out);
void httpd_destroy(struct httpd *h); // NULL is fine

// Once per control loop: takes connections, reads, answers, as far as that goes now.
void httpd_poll(struct httpd *h, uint64_t now_ns);

struct httpd_answer {
	int status; // of http_status_line
	bool head; // the body is not sent
	const char *type, *headers; // headers: further lines, each with its end; NULL: none
	const char *body;
	size_t len;
};
void httpd_answer(struct httpd *h, unsigned client, const struct httpd_answer *a);

// Begins a stream in place of an answer.
void httpd_stream(struct httpd *h, unsigned client, const char *headers);
// Adds to it. False: the reader was too far behind, and is gone.
bool httpd_push(struct httpd *h, unsigned client, const char *text, size_t len);
