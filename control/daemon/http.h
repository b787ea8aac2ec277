// SPDX-License-Identifier: Apache-2.0
// The little of HTTP that a page needs (RFC 9112): one GET or HEAD, answered once, then the
// connection ends. Judges the bytes of a request; pure, sends nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { HTTP_REQUEST_MAX = 4096 };

struct http_text {
	const char *at; // within the request; NULL: it has none
	size_t len;
};

struct http_request {
	int status; // 0: the request is not complete yet; 200, or what is wrong with it
	bool head; // the answer has no body
	struct http_text path, query; // query: behind the `?`
	struct http_text host, origin, site; // header lines; site: Sec-Fetch-Site
};

// The len bytes that have come, HTTP_REQUEST_MAX at most: with so many and no end it is too long.
struct http_request http_parse(const char *in, size_t len);

bool http_text_is(struct http_text t, const char *word);

// The value of a key of the query, with %41 as A. False: it has no such key, or a value that is
// too long for out, or is not text.
bool http_query(const struct http_request *q, const char *key, char *out, size_t room);

struct http_verdict {
	int status;
	bool head;
};
// path: the only one there is.
struct http_verdict http_verdict_of(const struct http_request *q, const char *path);

// Whether a browser may have been made to ask by a page from elsewhere: Host is a name, which may
// be anybody's (only addresses and localhost are not), or Origin is another place than Host, or the
// browser says so itself (Sec-Fetch-Site, also where it sends no Origin).
bool http_is_foreign(const struct http_request *q);
// The same, but a link from elsewhere may lead here.
bool http_is_foreign_page(const struct http_request *q);

// "404 Not Found" for the statuses of http_parse, and for 401, 403, 500, 503 and 504.
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
// Only this machine reaches it.
bool endpoint_is_local(const struct endpoint *e);
