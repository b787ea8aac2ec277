// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/bridge/redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { DEFAULT_PORT = 6379, HOST_LEN = 256 };

// A path, or a host and a port.
static bool split(const char *address, char host[HOST_LEN], int *port)
{
	const char *colon = strrchr(address, ':'), *end = address + strlen(address);
	char *rest;

	*port = DEFAULT_PORT;
	if (address[0] == '[') {
		const char *close = strchr(address++, ']');

		if (close == NULL || (close[1] != '\0' && close[1] != ':'))
			return false;
		end = close;
		colon = close[1] == ':' ? close + 1 : NULL;
	} else if (colon != NULL && strchr(address, ':') == colon) {
		end = colon;
	} else {
		colon = NULL; // a host alone, or an IPv6 address without a port
	}
	if (end == address || end - address >= HOST_LEN)
		return false;
	memcpy(host, address, (size_t)(end - address));
	host[end - address] = '\0';
	if (colon == NULL)
		return true;
	*port = (int)strtol(colon + 1, &rest, 10);
	return colon[1] >= '0' && colon[1] <= '9' && *rest == '\0' && *port > 0 && *port < 65536;
}

const char *redis_address_wrong(const char *address)
{
	char host[HOST_LEN];
	int port;

	if (address[0] == '/' || split(address, host, &port))
		return NULL;
	return "is no path of a socket and no HOST:PORT, such as 127.0.0.1:6379";
}

// Of the replies that have come.
static void forget_keys(struct redis *r)
{
	for (unsigned i = 0; i < r->first; i++)
		free(r->keys[i]);
	memmove(r->keys, r->keys + r->first, r->n * sizeof(r->keys[0]));
	r->first = 0;
}

static int fail(struct redis *r, const char *why)
{
	snprintf(r->err, sizeof(r->err), "%s", why);
	redis_close(r);
	return -1;
}

void redis_close(struct redis *r)
{
	if (r->c != NULL)
		redisFree(r->c);
	r->c = NULL;
	r->first += r->n;
	r->n = 0;
	forget_keys(r);
	r->db = -1;
}

int redis_open(struct redis *r, const char *address)
{
	const struct timeval limit = {.tv_sec = REDIS_TIMEOUT_S};
	char host[HOST_LEN];
	int port = 0;

	redis_close(r);
	if (address[0] == '/')
		r->c = redisConnectUnixWithTimeout(address, limit);
	else if (split(address, host, &port))
		r->c = redisConnectWithTimeout(host, port, limit);
	if (r->c == NULL)
		return fail(r, "no memory");
	if (r->c->err != 0)
		return fail(r, r->c->errstr);
	if (redisSetTimeout(r->c, limit) != REDIS_OK)
		return fail(r, r->c->errstr);
	return 0;
}

static void queue(struct redis *r, unsigned n, const char *const *words, const char *key)
{
	char *copy = key != NULL ? strdup(key) : NULL;

	if (r->n == 0)
		forget_keys(r);
	if (r->first + r->n == REDIS_BATCH) {
		free(copy);
		fail(r, "too many commands in a batch");
		return;
	}
	r->keys[r->first + r->n++] = copy;
	// hiredis does not write to the words.
	if (redisAppendCommandArgv(r->c, (int)n, (const char **)(uintptr_t)words, NULL) != REDIS_OK)
		fail(r, r->c->errstr);
}

void redis_put(struct redis *r, int db, unsigned n, const char *const *words)
{
	char number[16];

	if (r->c != NULL && r->db != db) {
		snprintf(number, sizeof(number), "%d", db);
		queue(r, 2, (const char *[]){"SELECT", number}, NULL);
		r->db = db;
	}
	if (r->c != NULL)
		queue(r, n, words, n > 1 ? words[1] : "");
}

redisReply *redis_reply(struct redis *r, const char **key)
{
	while (r->c != NULL && r->n > 0) {
		redisReply *reply = NULL;
		const char *of = r->keys[r->first];

		if (redisGetReply(r->c, (void **)&reply) != REDIS_OK) {
			bool late = r->c->err == REDIS_ERR_IO &&
				    strstr(r->c->errstr, "temporarily unavailable") != NULL;

			fail(r, late ? "no answer in time" : r->c->errstr);
			return NULL;
		}
		r->first++;
		r->n--;
		if (of != NULL) {
			*key = of;
			return reply;
		}
		if (reply->type == REDIS_REPLY_ERROR) // of a SELECT: what follows is of no use
			fail(r, reply->str);
		freeReplyObject(reply);
	}
	return NULL;
}

int redis_finish(struct redis *r, void (*refused)(void *ctx, const char *key, const char *error),
		 void *ctx)
{
	redisReply *reply;
	const char *key;

	while ((reply = redis_reply(r, &key)) != NULL) {
		if (reply->type == REDIS_REPLY_ERROR && r->c != NULL)
			refused(ctx, key, reply->str);
		freeReplyObject(reply);
	}
	return r->c != NULL ? 0 : -1;
}

redisReply *redis_notification(struct redis *r, bool *read)
{
	redisReply *reply = NULL;

	if (r->c == NULL)
		return NULL;
	if (*read && redisBufferRead(r->c) != REDIS_OK) {
		fail(r, r->c->errstr);
		return NULL;
	}
	*read = false;
	if (redisReaderGetReply(r->c->reader, (void **)&reply) != REDIS_OK) {
		fail(r, r->c->reader->errstr);
		return NULL;
	}
	return reply;
}
