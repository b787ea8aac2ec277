// SPDX-License-Identifier: Apache-2.0
// A line server on a UNIX stream socket: takes whole lines from several clients, hands each line to
// one function, and sends the answer of that function. It does not read the lines.
//
// Nothing a client does blocks the control thread or makes it hold memory without bound: a line
// has a longest length, a client has one request at a time, one that does not read its answer
// is dropped, and there is a largest number of clients. A client beyond that number takes the place
// of the one that has been idle for longest. Called by the control thread only.
#pragma once

#include <stdint.h>

struct server;

enum { SERVER_MAX_CLIENTS = 16, SERVER_LINE_MAX = 4096 };

struct server_ops {
	// One line without its newline. The answer may come now or later by server_reply();
	// until then the client is not read. client: 0..SERVER_MAX_CLIENTS-1.
	void (*line)(void *arg, unsigned client, const char *line, uint64_t now_ns);
	// The client is gone; an answer that is still owed is owed no more.
	void (*gone)(void *arg, unsigned client);
};

// Takes the listening socket over, also on failure. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int server_create(int listen_fd, const struct server_ops *ops,
						      void *arg, struct server **out);
void server_destroy(struct server *s); // NULL is fine

// server_poll() also ends when this is readable; -1: nothing else.
void server_watch(struct server *s, int fd);
// Waits up to timeout_ms for something to do, and does it.
void server_poll(struct server *s, int timeout_ms, uint64_t now_ns);

// Sends one line (the newline is added).
void server_reply(struct server *s, unsigned client, const char *text);
