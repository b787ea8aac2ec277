// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/bridge/bridge.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/base/stop.h"
#include "control/base/terminal.h"
#include "control/ctl/client.h"
#include "control/observe/fact.h"
#include "control/sonic/bridge/apply.h"
#include "control/sonic/bridge/args.h"
#include "control/sonic/bridge/config.h"
#include "control/sonic/bridge/counters.h"
#include "control/sonic/bridge/lines.h"
#include "control/sonic/bridge/redis.h"
#include "drivers/system_clock.h"

enum {
	EXIT_MISUSED = 2,
	TIME_LEN = 32,
	LONGEST_SETTLE = 10, // times --settle: changes without a pause are applied too
	MAX_RETRY_S = 8,
	CHECK_MAPS_EVERY = 10, // writes of the counters
	CLEAR_GAP_MS = 100,
};

// One kind of trouble: said when it begins, when it changes, and when it is over.
struct trouble {
	char text[LINES_ROOM]; // lines
};

struct bridge {
	const struct bridge_args *args;
	struct redis commands, notes;
	struct counters *counters;
	char *applied; // the policy that the switch runs; NULL: not known
	bool initialized; // see configdb_read()
	bool notified; // by keyspace notifications; else CONFIG_DB is read each second

	uint64_t changed_ns, since_ns; // the last and the first change that is not applied; 0: none
	uint64_t read_ns, write_ns, connect_ns; // due: poll of CONFIG_DB, counters, next attempt
	uint64_t wrote_ns; // the counters
	uint64_t connected_ns; // 0: not connected
	unsigned retry_s, n_writes;
	struct lines errors; // of the server since the last write of the counters
	uint64_t uptime_ms; // of the switch, at the last write

	struct trouble redis, sw, config, server;
	char notes_said[LINES_ROOM]; // warnings and notes of the last policy, as lines
	char state[TIME_LEN], applied_at[TIME_LEN];
	unsigned n_applied, n_refused;
};

// ---- messages

// The lines that are not among those that were said before.
static void say_new(const char *text, const char *before)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");

		if (n > 0 && !lines_has(before, text, n))
			terminal_printf(stderr, "weir-sonic: %.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

__attribute__((format(printf, 1, 2))) static void print_bridge_message(const char *fmt, ...)
{
	char text[2 * REDIS_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say_new(text, "");
}

// text "": it is over, which `over` says.
static void trouble_is(struct trouble *t, const char *text, const char *over)
{
	if (strcmp(t->text, text) == 0)
		return;
	snprintf(t->text, sizeof(t->text), "%s", text);
	say_new(text[0] != '\0' ? text : over, "");
}

// A signal or the server's clock moves nothing here: real time, for people.
static const char *time_text(char out[TIME_LEN])
{
	time_t now = time(NULL);
	struct tm tm;

	strftime(out, TIME_LEN, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	return out;
}

// ---- Redis

// An error of the server names the key. A key of another type stays as it is: it may be someone
// else's. The lines are said together, so that several bad keys are said once.
static void server_refused(void *ctx, const char *key, const char *error)
{
	struct bridge *b = ctx;
	char line[2 * REDIS_TEXT];

	snprintf(line, sizeof(line), "Redis refused a write to %s: %s%s", key, error,
		 strncmp(error, "WRONGTYPE", strlen("WRONGTYPE")) == 0
			 ? "; the key must be a hash: remove it, and the bridge writes it again"
			 : "");
	lines_add(&b->errors, line);
}

static void redis_gone(struct bridge *b, uint64_t now_ns)
{
	char text[2 * REDIS_TEXT];
	const char *why = b->commands.c == NULL ? b->commands.err : b->notes.err;

	snprintf(text, sizeof(text), "Redis at %s: %s; trying again", b->args->redis, why);
	trouble_is(&b->redis, text, "");
	redis_close(&b->commands);
	redis_close(&b->notes);
	// A server that takes connections and ends them has no more attempts than one that is gone.
	if (b->connected_ns != 0 && now_ns - b->connected_ns >= (uint64_t)MAX_RETRY_S * SECOND_NS)
		b->retry_s = 0;
	b->connected_ns = 0;
	b->retry_s = b->retry_s == 0 ? 1 : 2 * b->retry_s < MAX_RETRY_S ? 2 * b->retry_s
									: MAX_RETRY_S;
	b->connect_ns = now_ns + b->retry_s * SECOND_NS;
}

static void note_configdb_change(struct bridge *b, uint64_t now_ns)
{
	b->changed_ns = now_ns;
	if (b->since_ns == 0)
		b->since_ns = now_ns;
}

// The events that are needed: K, of hashes, of all types, and of texts in place of hashes.
static bool has_events(const char *flags)
{
	bool all = strchr(flags, 'A') != NULL;

	return strchr(flags, 'K') != NULL &&
	       (all || (strchr(flags, 'h') && strchr(flags, 'g') && strchr(flags, '$')));
}

static bool enable_events(struct bridge *b)
{
	static const char name[] = "notify-keyspace-events", more[] = "Khg$";
	redisReply *reply;
	const char *key;
	char flags[64] = "";
	bool ok;

	REDIS_PUT(&b->commands, CONFIG_DB, "CONFIG", "GET", name);
	reply = redis_reply(&b->commands, &key);
	if (reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2)
		snprintf(flags, sizeof(flags) - sizeof(more), "%s", redis_text(reply->element[1]));
	freeReplyObject(reply);
	if (has_events(flags) || b->commands.c == NULL)
		return true;
	strcat(flags, more);
	REDIS_PUT(&b->commands, CONFIG_DB, "CONFIG", "SET", name, flags);
	reply = redis_reply(&b->commands, &key);
	ok = reply != NULL && reply->type == REDIS_REPLY_STATUS;
	if (!ok && reply != NULL)
		print_bridge_message("Redis does not let the bridge set %s to \"%s\" (%s): "
				     "CONFIG_DB is read each second instead", name, flags,
				     reply->str != NULL ? reply->str : "no reason");
	freeReplyObject(reply);
	return ok;
}

static void handle(struct bridge *b, const redisReply *reply, uint64_t now_ns)
{
	const char *word, *colon;

	if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 3)
		return;
	word = redis_text(reply->element[0]);
	if (word != NULL && strcmp(word, "pmessage") == 0 && reply->elements == 4) {
		colon = strchr(redis_text(reply->element[2]), ':');
		if (colon != NULL && configdb_concerns(colon + 1))
			note_configdb_change(b, now_ns);
	} else if (word != NULL && strcmp(word, "message") == 0) {
		counters_clear_request(b->counters, redis_text(reply->element[2]));
		// Soon, but a server that asks without a pause does not keep the switch busy.
		b->write_ns = min_u64(b->write_ns, b->wrote_ns + CLEAR_GAP_MS * MS_NS);
	}
}

static void read_notes(struct bridge *b, uint64_t now_ns)
{
	bool read = true;
	redisReply *reply;

	while ((reply = redis_notification(&b->notes, &read)) != NULL) {
		handle(b, reply, now_ns);
		freeReplyObject(reply);
	}
	if (b->notes.c == NULL)
		redis_gone(b, now_ns);
}

// The notifications begin before CONFIG_DB is read, so no change falls between.
static void connect_redis(struct bridge *b, uint64_t now_ns)
{
	if (redis_open(&b->commands, b->args->redis) != 0 ||
	    redis_open(&b->notes, b->args->redis) != 0) {
		redis_gone(b, now_ns);
		return;
	}
	b->notified = enable_events(b);
	if (b->commands.c == NULL ||
	    redis_subscribe(&b->notes, "PSUBSCRIBE", "__keyspace@4__:*") != 0 ||
	    redis_subscribe(&b->notes, "SUBSCRIBE", "WATERMARK_CLEAR_REQUEST") != 0) {
		redis_gone(b, now_ns);
		return;
	}
	read_notes(b, now_ns); // what came with the answers
	if (b->notes.c == NULL)
		return;
	trouble_is(&b->redis, "", "Redis answers again: everything is read and written anew");
	b->connected_ns = now_ns;
	counters_check_maps(b->counters);
	b->write_ns = now_ns;
	note_configdb_change(b, now_ns);
	b->changed_ns -= (uint64_t)b->args->settle_ns; // nothing is being written as far as we know
}

static bool notes_wait(const struct bridge *b)
{
	struct pollfd p = {.fd = b->notes.c != NULL ? b->notes.c->fd : -1, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

// ---- the status, WEIR|status in STATE_DB

// A value of the hash is one line.
static const char *line_of(const struct trouble *t, char out[LINES_ROOM])
{
	snprintf(out, LINES_ROOM, "%s", t->text);
	for (char *at = out; (at = strchr(at, '\n')) != NULL;)
		*at = at[1] == '\0' ? '\0' : ';';
	return out;
}

static void write_status(struct bridge *b)
{
	char applied[16], refused[16], now[TIME_LEN], lines[3][LINES_ROOM];

	if (b->commands.c == NULL)
		return;
	snprintf(applied, sizeof(applied), "%u", b->n_applied);
	snprintf(refused, sizeof(refused), "%u", b->n_refused);
	REDIS_PUT(&b->commands, STATE_DB, "HSET", "WEIR|status", "switch", b->args->name, "policy",
		  b->args->policy, "state", b->state, "applied_at", b->applied_at, "applied",
		  applied, "refused", refused, "error", line_of(&b->config, lines[0]),
		  "switch_error", line_of(&b->sw, lines[1]), "redis_error",
		  line_of(&b->server, lines[2]), "alive_at", time_text(now), "version",
		  WEIR_VERSION);
	if (redis_finish(&b->commands, server_refused, b) != 0)
		redis_gone(b, monotonic_ns());
}

static void state_is(struct bridge *b, const char *state)
{
	snprintf(b->state, sizeof(b->state), "%s", state);
}

// ---- CONFIG_DB

static void applied(struct bridge *b, const char *policy, size_t changes)
{
	free(b->applied);
	b->applied = strdup(policy);
	b->n_applied++;
	time_text(b->applied_at);
	print_bridge_message("the switch runs the policy of CONFIG_DB: %zu keys changed", changes);
}

static void refuse_configdb(struct bridge *b, const char *mistakes)
{
	struct lines l = {0};

	lines_add(&l, "CONFIG_DB is refused, the earlier policy stays:");
	lines_add(&l, mistakes);
	if (strcmp(b->config.text, l.text) != 0)
		b->n_refused++;
	trouble_is(&b->config, l.text, "");
	state_is(b, "refused");
}

static void apply(struct bridge *b, const char *policy, uint64_t now_ns)
{
	struct lines why = {0};
	size_t changes;

	switch (apply_policy(b->args->name, b->args->policy, policy, &why, &changes)) {
	case APPLY_DONE:
		trouble_is(&b->config, "", "CONFIG_DB is valid again");
		trouble_is(&b->sw, "", "the switch answers again");
		state_is(b, "applied");
		applied(b, policy, changes);
		break;
	case APPLY_REFUSED:
		refuse_configdb(b, why.text);
		break;
	case APPLY_FAILED:
		refuse_configdb(b, why.text);
		note_configdb_change(b, now_ns + SECOND_NS); // the disk may have room then
		break;
	case APPLY_NO_SWITCH:
		trouble_is(&b->config, "", "CONFIG_DB is valid again");
		trouble_is(&b->sw, why.text, "");
		state_is(b, "no-switch");
		break; // write_counters() notices the switch
	}
}

static const char *report_or_no_memory(const struct configdb_text *text)
{
	return text->report != NULL ? text->report : "no memory";
}

// Warnings and notes that stay from one policy to the next are said once.
static void say_new_notes(struct bridge *b, const char *report)
{
	struct lines l = {0};

	lines_add(&l, report);
	say_new(l.text, b->notes_said);
	snprintf(b->notes_said, sizeof(b->notes_said), "%s", l.text);
}

static void take_configdb_text(struct bridge *b, const struct configdb_text *text, uint64_t now_ns)
{
	say_new_notes(b, report_or_no_memory(text));
	if (b->applied == NULL || strcmp(b->applied, text->policy) != 0) {
		apply(b, text->policy, now_ns);
	} else {
		trouble_is(&b->config, "", "CONFIG_DB says again what the switch runs");
		state_is(b, "applied");
	}
}

static void read_configdb(struct bridge *b, uint64_t now_ns)
{
	struct configdb_text text = {0};
	uint64_t since_ns = b->since_ns;
	enum read_end end;

	b->since_ns = 0;
	b->read_ns = now_ns + (b->notified ? (uint64_t)b->args->poll_ns : SECOND_NS);
	end = configdb_read(&b->commands, b->args, &b->initialized, b->counters, &text);
	// What changed while it was read may be half old and half new.
	if ((end == READ_DONE || end == READ_REFUSED) && notes_wait(b)) {
		read_notes(b, now_ns);
		if (b->since_ns != 0 && since_ns != 0)
			b->since_ns = since_ns;
		if (b->since_ns != 0 &&
		    now_ns - b->since_ns < LONGEST_SETTLE * (uint64_t)b->args->settle_ns)
			end = READ_LOADING;
	} else if (end == READ_LOADING) {
		state_is(b, "loading");
		trouble_is(&b->config, "SONiC is writing CONFIG_DB (CONFIG_DB_INITIALIZED is not "
				       "1): the bridge waits, the earlier policy stays", "");
	}
	if (end == READ_DONE)
		take_configdb_text(b, &text, now_ns);
	else if (end == READ_REFUSED)
		refuse_configdb(b, report_or_no_memory(&text));
	else if (end == READ_NO_REDIS)
		redis_gone(b, now_ns);
	free(text.policy);
	free(text.report);
	write_status(b);
}

// 0: nothing is due.
static uint64_t config_due(const struct bridge *b)
{
	uint64_t settle = (uint64_t)b->args->settle_ns, still, longest;

	if (b->since_ns == 0)
		return b->read_ns;
	still = b->changed_ns + settle;
	longest = b->since_ns + LONGEST_SETTLE * settle;
	return still < longest || settle == 0 ? still : longest;
}

// ---- counters

// A switch that started again runs the file it was given.
static void switch_started(struct bridge *b, struct client *c, uint64_t now_ns)
{
	struct json_object *data = client_exchange_quiet(c, show_request(FACTS_VERSION)), *row;
	uint64_t uptime_ms;

	row = json_object_object_get(data, fact_lists[FACTS_VERSION].list);
	uptime_ms = row != NULL ? count_in(row, KEY(VERSION, uptime_ms)) : 0;
	if (row != NULL && uptime_ms < b->uptime_ms)
		counters_switch_started(b->counters);
	if (row != NULL && (uptime_ms < b->uptime_ms || b->sw.text[0] != '\0')) {
		free(b->applied);
		b->applied = NULL;
		note_configdb_change(b, now_ns);
	}
	b->uptime_ms = uptime_ms;
	json_object_put(data);
}

static void write_counters(struct bridge *b, uint64_t now_ns)
{
	char text[REDIS_TEXT];
	struct client c;
	int err = client_connect(b->args->name, &c);
	enum counters_end end = COUNTERS_NO_SWITCH;

	b->wrote_ns = now_ns;
	b->write_ns = now_ns + (uint64_t)b->args->every_ns;
	if (b->n_writes++ % CHECK_MAPS_EVERY == 0)
		counters_check_maps(b->counters);
	if (err == 0) {
		switch_started(b, &c, now_ns);
		end = b->args->no_counters ? COUNTERS_WRITTEN
					   : counters_write(b->counters, &c, &b->commands,
							    server_refused, b);
		client_close(&c);
	}
	if (end == COUNTERS_NO_SWITCH) {
		snprintf(text, sizeof(text), "the switch %s does not answer: %s", b->args->name,
			 err != 0 ? strerror(-err) : "it may be stopping");
		trouble_is(&b->sw, text, "");
	} else if (end == COUNTERS_NO_REDIS) {
		redis_gone(b, now_ns);
	} else {
		trouble_is(&b->sw, "", "the switch answers again");
	}
	trouble_is(&b->server, b->errors.text, "Redis takes all writes again");
	b->errors = (struct lines){0};
	write_status(b);
}

// ---- the loop

static int wait_ms(const struct bridge *b, uint64_t now_ns)
{
	uint64_t due = b->connect_ns, config = config_due(b);

	if (b->commands.c != NULL)
		due = config < b->write_ns ? config : b->write_ns;
	return due <= now_ns ? 0 : (int)((due - now_ns) / MS_NS) + 1;
}

static void serve_bridge_once(struct bridge *b)
{
	struct pollfd p = {.fd = b->notes.c != NULL ? b->notes.c->fd : -1, .events = POLLIN};
	uint64_t now_ns = monotonic_ns();
	int ready = poll(&p, 1, wait_ms(b, now_ns));

	now_ns = monotonic_ns();
	if (ready > 0)
		read_notes(b, now_ns);
	if (b->commands.c == NULL && now_ns >= b->connect_ns)
		connect_redis(b, now_ns);
	if (b->commands.c != NULL && now_ns >= config_due(b))
		read_configdb(b, now_ns);
	if (b->commands.c != NULL && now_ns >= b->write_ns)
		write_counters(b, now_ns);
}

static void bridge_fini(struct bridge *b)
{
	redis_close(&b->commands);
	redis_close(&b->notes);
	counters_destroy(b->counters);
	free(b->applied);
}

int bridge_run(const struct bridge_args *args)
{
	struct bridge b = {.args = args, .state = "starting", .counters = counters_create()};

	if (b.counters == NULL)
		return EXIT_FAILURE;
	stop_catch(0, NULL);
	while (stop_requests() == 0)
		serve_bridge_once(&b);
	state_is(&b, "stopped");
	write_status(&b);
	bridge_fini(&b);
	return EXIT_SUCCESS;
}

static int once(struct redis *r, const struct bridge_args *args)
{
	struct configdb_text text = {0};
	bool initialized = false;
	struct lines why = {0};
	int status = EXIT_FAILURE;
	size_t changes;

	switch (configdb_read(r, args, &initialized, NULL, &text)) {
	case READ_DONE:
		say_new(report_or_no_memory(&text), "");
		if (apply_policy(NULL, args->policy, text.policy, &why, &changes) ==
		    APPLY_NO_SWITCH)
			status = EXIT_SUCCESS;
		else
			say_new(why.text, "");
		break;
	case READ_REFUSED:
		print_bridge_message("CONFIG_DB is refused:");
		say_new(report_or_no_memory(&text), "");
		status = EXIT_MISUSED;
		break;
	case READ_LOADING:
		print_bridge_message("SONiC is writing CONFIG_DB: CONFIG_DB_INITIALIZED is not 1");
		break;
	case READ_NO_REDIS:
		print_bridge_message("Redis at %s: %s", args->redis, r->err);
		break;
	}
	free(text.policy);
	free(text.report);
	return status;
}

int bridge_once(const struct bridge_args *args)
{
	struct redis r = {0};
	int status = EXIT_FAILURE;

	if (redis_open(&r, args->redis) == 0)
		status = once(&r, args);
	else
		print_bridge_message("Redis at %s: %s", args->redis, r.err);
	redis_close(&r);
	return status;
}
