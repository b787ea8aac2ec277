// SPDX-License-Identifier: Apache-2.0
// One connection to a Redis server, on hiredis. Commands are queued and sent together; the replies
// come in the same order. Each command names its database, and the connection selects it. A server
// that has not sent its whole answer within REDIS_TIMEOUT_S, that sends more than an answer may be,
// or what is no reply, ends the connection: then every call fails until redis_open(). Blocks for
// REDIS_TIMEOUT_S at most for what is queued and its first answer, and for each further answer, and
// for a second once the program is to end (stop.h).
#pragma once

#include <hiredis/hiredis.h>
#include <stdbool.h>

enum {
	REDIS_TIMEOUT_S = 5,
	REDIS_TEXT = 256,
	REDIS_BATCH = 512,
	REDIS_ANSWER = 64 << 20, // bytes of one answer
	REDIS_ELEMENTS = 1 << 20, // parts of a list in it
};

struct redis {
	redisContext *c; // NULL: not open
	int db; // selected by the last command that is queued; -1: not known
	unsigned first, n; // replies that have not come
	size_t noted; // bytes since the last notification
	char *keys[REDIS_BATCH]; // of the queued commands, for messages. NULL: a SELECT
	char err[REDIS_TEXT]; // why the connection ended
};

// address: the path of a Unix socket, or HOST, HOST:PORT, [ADDRESS]:PORT. 0 or -1 with r->err.
__attribute__((warn_unused_result)) int redis_open(struct redis *r, const char *address);
void redis_close(struct redis *r); // keeps r->err

// NULL: the address can be read. Else why it cannot.
const char *redis_address_wrong(const char *address);

// Queues a command of n words for the database; the second word is its key. Up to REDIS_BATCH
// commands may be queued. A failure shows in redis_reply().
void redis_put(struct redis *r, int db, unsigned n, const char *const *words);
#define REDIS_PUT(r, db, ...)                                                                      \
	redis_put(r, db, sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *),             \
		  (const char *[]){__VA_ARGS__})
static inline bool redis_full(const struct redis *r)
{
	return r->first + r->n + 2 > REDIS_BATCH;
}

// The reply to the next queued command, which the caller frees; *key: of the command, valid until
// the next call of redis_put(). NULL: no reply is left, or the connection ended.
redisReply *redis_reply(struct redis *r, const char **key);

// The text of a part of a reply; of a part that is no text: "". Servers are not trusted.
static inline const char *redis_text(const redisReply *part)
{
	return part->str != NULL ? part->str : "";
}

// Reads all replies that are left. refused: called with the key and the sentence of each error of
// the server. 0, or -1: the connection ended.
__attribute__((warn_unused_result)) int
redis_finish(struct redis *r, void (*refused)(void *ctx, const char *key, const char *error),
	     void *ctx);

// ---- a connection for notifications

// Sends a command of a channel or a pattern and waits for its answer. Messages of earlier
// subscriptions that come first are discarded. 0, or -1 with r->err: the connection ended, also
// where the server refuses.
__attribute__((warn_unused_result)) int redis_subscribe(struct redis *r, const char *command,
							const char *channel);

// The descriptor is readable: the next notification that has come, which the caller frees. NULL:
// none is left, or the connection ended (r->c is NULL).
redisReply *redis_notification(struct redis *r, bool *read);
