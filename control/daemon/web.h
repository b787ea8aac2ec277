// SPDX-License-Identifier: Apache-2.0
// `weir --web`: the page (control/page/page.h), and what it shows. Read-only.
//
//	GET /            the page
//	GET /live        a stream of server-sent events: the numbers over time, 5 times a second
//	GET /show/WHAT   the answer to `weirctl show WHAT --json`; its keys as a query, ?port=p1
//
// docs/web.md describes the stream. A request is refused if a page from elsewhere may have made it
// (http_is_foreign), and without the token where there is one; without one `show config` is
// refused. Streams, and answers to `show` at a time and in a second, are bounded. Control thread.
#pragma once

#include <stdint.h>

#include "control/daemon/httpd.h"

struct daemon;
struct web;

enum {
	WEB_MAX_STREAMS = 8,
	WEB_MAX_SHOWS = 8, // at a time
	WEB_SHOWS_A_SECOND = 50,
	WEB_BYTES_A_SECOND = 2 << 20, // of answers: a longer one uses up the next seconds
	WEB_EVERY_MS = 200, // frames of a stream
	WEB_TOKEN_LEAST = 16, // characters
	WEB_TOKEN_LEN = 128,
};

struct web_conf {
	const struct endpoint *at;
	const char *token; // NULL: none is needed
	const char *socket; // of the control protocol
};

// Listens; the switch must be there. 0 or -errno.
__attribute__((warn_unused_result)) int web_create(const struct daemon *d,
						   const struct web_conf *conf, struct web **out);
void web_destroy(struct web *w); // NULL is fine
void web_poll(struct web *w, uint64_t now_ns); // once per control loop; NULL is fine

// The first line of a file, as a token. NULL with a reason in err. A token that users other than
// the file's owner and group can read, or users other than its owner can change, comes with a
// warning in err.
char *web_token(const char *file, char *err, unsigned err_len);
