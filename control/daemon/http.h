// SPDX-License-Identifier: Apache-2.0
// The little of HTTP that a page of metrics needs (RFC 9112): one GET or HEAD of one path, answered
// once, then the connection ends. Judges the bytes of a request; pure, sends nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { HTTP_REQUEST_MAX = 4096 };

struct http_verdict {
	int status; // 0: the request is not complete yet; 200, or what is wrong with it
	bool head; // the answer has no body
};

// The len bytes that have come, HTTP_REQUEST_MAX at most: with so many and no end it is too long.
// path: the only one there is.
struct http_verdict http_judge(const char *in, size_t len, const char *path);

// "404 Not Found" for the statuses that http_judge gives.
const char *http_status_line(int status);

// ---- where a server listens, as written on a command line: "9410", "127.0.0.1:9410",
// "[::1]:9410". Opens nothing and uses no name service. Without an address it is this machine only.

enum { ENDPOINT_TEXT_LEN = 64 };

struct endpoint {
	struct sockaddr_storage addr;
	socklen_t len;
	char text[ENDPOINT_TEXT_LEN]; // "127.0.0.1:9410", for people
};

// False when the text is none; *out is untouched then.
bool endpoint_parse(const char *text, struct endpoint *out);
