// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/bridge/redis.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "control/base/stop.h"
#include "drivers/system_clock.h"

enum {
	DEFAULT_PORT = 6379,
	HOST_LEN = 256,
	STOP_S = 1, // for the answer, when the program is to end
};

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

static int close_with_error(struct redis *r, const char *why)
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
	r->noted = 0;
}

static redisReplyObjectFunctions functions; // of hiredis, but for the next one
static void *(*create_array)(const redisReadTask *task, int elements);

// hiredis would allocate what the server announces.
static void *create_bounded_array(const redisReadTask *task, int elements)
{
	return elements > REDIS_ELEMENTS ? NULL : create_array(task, elements);
}

static void bound_arrays(redisReader *reader)
{
	if (create_array == NULL) {
		functions = *reader->fn;
		create_array = functions.createArray;
		functions.createArray = create_bounded_array;
	}
	reader->fn = &functions;
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
		return close_with_error(r, "no memory");
	if (r->c->err != 0)
		return close_with_error(r, r->c->errstr);
	if (fcntl(r->c->fd, F_SETFL, O_NONBLOCK) != 0)
		return close_with_error(r, strerror(errno));
	r->c->flags &= ~REDIS_BLOCK; // what would block is no error
	bound_arrays(r->c->reader);
	return 0;
}

static void queue(struct redis *r, unsigned n, const char *const *words, const char *key)
{
	char *copy = key != NULL ? strdup(key) : NULL;

	if (r->n == 0)
		forget_keys(r);
	if (r->first + r->n == REDIS_BATCH) {
		free(copy);
		close_with_error(r, "too many commands in a batch");
		return;
	}
	r->keys[r->first + r->n++] = copy;
	// hiredis does not write to the words.
	if (redisAppendCommandArgv(r->c, (int)n, (const char **)(uintptr_t)words, NULL) != REDIS_OK)
		close_with_error(r, r->c->errstr);
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

// Waits for `events` of the connection. False: there are none by *end_ns, which comes earlier when
// the program is to end.
static bool wait_until(const struct redis *r, short events, uint64_t *end_ns)
{
	struct pollfd p = {.fd = r->c->fd, .events = events};

	for (;;) {
		uint64_t now_ns = monotonic_ns();
		int n;

		if (stop_requests() > 0)
			*end_ns = min_u64(*end_ns, now_ns + (uint64_t)STOP_S * SECOND_NS);
		if (now_ns >= *end_ns || stop_requests() > 1)
			return false;
		n = poll(&p, 1, (int)((*end_ns - now_ns) / MS_NS) + 1);
		if (n >= 0 || errno != EINTR)
			return n > 0;
	}
}

// 0 or -1 with r->err.
static int send_queued(struct redis *r, uint64_t *end_ns)
{
	for (int sent = 0;;) {
		if (redisBufferWrite(r->c, &sent) != REDIS_OK)
			return close_with_error(r, r->c->errstr);
		if (sent)
			return 0;
		if (!wait_until(r, POLLOUT, end_ns))
			return close_with_error(r, "commands are not read in time");
	}
}

// Hands what has come to the reader, which takes apart what it can and keeps the rest. Counts the
// bytes in *n. 0 or -1 with r->err.
static int read_more(struct redis *r, size_t *n)
{
	size_t before = r->c->reader->len;

	if (redisBufferRead(r->c) != REDIS_OK)
		return close_with_error(r, r->c->errstr);
	*n += r->c->reader->len - before;
	return 0;
}

static uint64_t answer_end_ns(void)
{
	return monotonic_ns() + (uint64_t)REDIS_TIMEOUT_S * SECOND_NS;
}

// Sends what is queued and takes one reply. redisGetReply() would give each byte a time of its own.
// 0 or -1 with r->err.
static int take_reply(struct redis *r, uint64_t end_ns, redisReply **reply)
{
	size_t n = 0;

	if (send_queued(r, &end_ns) != 0)
		return -1;
	for (;;) {
		if (redisGetReplyFromReader(r->c, (void **)reply) != REDIS_OK)
			return close_with_error(r, r->c->reader->err == REDIS_ERR_OOM
							   ? "an answer has too many parts"
							   : r->c->errstr);
		if (*reply != NULL)
			return 0;
		if (n > REDIS_ANSWER)
			return close_with_error(r, "an answer is too long");
		if (!wait_until(r, POLLIN, &end_ns))
			return close_with_error(r, "no answer in time");
		if (read_more(r, &n) != 0)
			return -1;
	}
}

redisReply *redis_reply(struct redis *r, const char **key)
{
	while (r->c != NULL && r->n > 0) {
		redisReply *reply = NULL;
		const char *of = r->keys[r->first];

		if (take_reply(r, answer_end_ns(), &reply) != 0)
			return NULL;
		r->first++;
		r->n--;
		if (of != NULL) {
			*key = of;
			return reply;
		}
		if (reply->type == REDIS_REPLY_ERROR) // of a SELECT: what follows is of no use
			close_with_error(r, reply->str);
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

static bool is_message(const redisReply *reply)
{
	const char *word = reply->type == REDIS_REPLY_ARRAY && reply->elements > 0
				   ? redis_text(reply->element[0])
				   : "";

	return strcmp(word, "message") == 0 || strcmp(word, "pmessage") == 0;
}

int redis_subscribe(struct redis *r, const char *command, const char *channel)
{
	const char *words[] = {command, channel};
	uint64_t end_ns = answer_end_ns();
	char why[REDIS_TEXT];
	bool answered = false;

	if (redisAppendCommandArgv(r->c, 2, words, NULL) != REDIS_OK)
		return close_with_error(r, r->c->errstr);
	while (!answered) {
		redisReply *reply;

		// Messages may come without a pause.
		if (monotonic_ns() >= end_ns)
			return close_with_error(r, "no answer in time");
		if (take_reply(r, end_ns, &reply) != 0)
			return -1;
		answered = !is_message(reply);
		if (reply->type == REDIS_REPLY_ERROR) {
			snprintf(why, sizeof(why), "%s: %s", command, redis_text(reply));
			close_with_error(r, why);
		}
		freeReplyObject(reply);
	}
	return r->c != NULL ? 0 : -1;
}

redisReply *redis_notification(struct redis *r, bool *read)
{
	redisReply *reply = NULL;

	if (r->c == NULL || (*read && read_more(r, &r->noted) != 0))
		return NULL;
	*read = false;
	if (redisReaderGetReply(r->c->reader, (void **)&reply) != REDIS_OK)
		close_with_error(r, r->c->reader->errstr);
	else if (reply != NULL)
		r->noted = 0;
	else if (r->noted > REDIS_ANSWER)
		close_with_error(r, "a notification is too long");
	return reply;
}
