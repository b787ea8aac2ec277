// SPDX-License-Identifier: Apache-2.0
#include "control/orders/words.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/base/schema.h"
#include "control/observe/fact.h"

enum { TEXT_LEN = 1024, MOST_WORDS = 64 };

struct json_object *request_of(const char *cmd, const char *key, const char *value)
{
	struct json_object *req = json_object_new_object();

	json_object_object_add(req, "cmd", json_object_new_string(cmd));
	if (key != NULL)
		json_object_object_add(req, key, json_object_new_string(value));
	return req;
}

// The words at hand, behind those that were read.
struct words {
	int n;
	const char *const *at;
	char *why;
};

// Takes the request back, and says why: NULL.
__attribute__((format(printf, 3, 4))) static struct json_object *
refuse_words(struct words *w, struct json_object *req, const char *fmt, ...)
{
	va_list ap;

	json_object_put(req);
	va_start(ap, fmt);
	vsnprintf(w->why, WORDS_WHY_LEN, fmt, ap);
	va_end(ap);
	return NULL;
}

static bool nth_word_is(const struct words *w, int i, const char *word)
{
	return i < w->n && strcmp(w->at[i], word) == 0;
}

static bool is_on_or_off(const char *word)
{
	return strcmp(word, "on") == 0 || strcmp(word, "off") == 0;
}

static struct json_object *set_words(struct words *w)
{
	bool queue = w->n == 5 && nth_word_is(w, 0, "queue");
	const char *on = w->at[w->n - 1];
	struct json_object *req;

	if (!queue && !(w->n == 4 && nth_word_is(w, 0, "port")))
		return NULL;
	if (!nth_word_is(w, w->n - 2, "tx") || !is_on_or_off(on))
		return refuse_words(w, NULL, "set %s ends in tx on or tx off, not %.64s %.64s",
				    w->at[0], w->at[w->n - 2], on);
	req = request_of("set_tx", KEY(QUEUES, port), w->at[1]);
	row_bool(req, "on", strcmp(on, "on") == 0);
	if (queue) {
		char *end;
		long q = strtol(w->at[2], &end, 10);

		if (end == w->at[2] || *end != '\0' || q < 0 || q > 7)
			return refuse_words(w, req,
					    "a queue is a number from 0 to 7, not \"%.64s\"",
					    w->at[2]);
		json_object_object_add(req, KEY(QUEUES, queue), json_object_new_int((int)q));
	}
	return req;
}

static struct json_object *watchdog_words(struct words *w)
{
	const char *last = w->at[w->n - 1];
	struct json_object *req;

	if (w->n == 3 && nth_word_is(w, 0, "recover")) {
		if (last[0] < '0' || last[0] > '7' || last[1] != '\0')
			return refuse_words(w, NULL,
					    "a class is a number from 0 to 7, not \"%.64s\"", last);
		req = request_of("watchdog_recover", KEY(QUEUES, port), w->at[1]);
		json_object_object_add(req, KEY(QUEUES, class), json_object_new_int(last[0] - '0'));
		return req;
	}
	if (w->n != 2 || !nth_word_is(w, 0, "drop-all") || !is_on_or_off(last))
		return NULL;
	req = request_of("watchdog_drop_all", NULL, NULL);
	row_bool(req, "on", strcmp(last, "on") == 0);
	return req;
}

// A number as people and drivers write them: 18 or 0x12.
static bool parse_qp(const char *text, unsigned *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n < WORDS_QP_LEAST ||
	    n > WORDS_QP_MOST)
		return false;
	*out = (unsigned)n;
	return true;
}

static struct json_object *flow_words(struct words *w)
{
	const char *const keys[] = {KEY(FLOWS, qp), KEY(FLOWS, sender_qp)};
	bool add = w->n == 5 && nth_word_is(w, 0, "add");
	struct json_object *req;

	if (!add && !(w->n == 4 && nth_word_is(w, 0, "del")))
		return NULL;
	req = request_of(add ? "flow_add" : "flow_del", KEY(FLOWS, from), w->at[1]);
	row_text(req, KEY(FLOWS, to), w->at[2]);
	for (int i = 3; i < w->n; i++) {
		unsigned qp;

		if (!parse_qp(w->at[i], &qp))
			return refuse_words(w, req,
					    "a queue pair is a number from 2 to 0xffffff, "
					    "not \"%.64s\"",
					    w->at[i]);
		json_object_object_add(req, keys[i - 3], json_object_new_int64(qp));
	}
	return req;
}

static struct json_object *inof_words(struct words *w)
{
	bool add = nth_word_is(w, 1, "add");
	struct json_object *req, *members;

	if (!nth_word_is(w, 0, "zone") || w->n < (add ? 4 : 3) ||
	    (!add && !nth_word_is(w, 1, "remove")))
		return NULL;
	req = request_of(add ? "inof_zone_add" : "inof_zone_remove", KEY(INOF_ZONES, zone),
			 w->at[2]);
	members = list_in(req, KEY(INOF_ZONES, members));
	for (int i = 3; i < w->n; i++)
		json_object_array_add(members, json_object_new_string(w->at[i]));
	return req;
}

static const char *kind_of_show(const void *n, unsigned i)
{
	(void)n;
	return fact_lists[i].what;
}

static bool is_kind(const char *what)
{
	for (unsigned i = 0; i < N_FACT_LISTS; i++)
		if (strcmp(fact_lists[i].what, what) == 0)
			return true;
	return false;
}

static struct json_object *refuse_kind(struct words *w)
{
	const char *near = schema_closest(w->at[0], N_FACT_LISTS, kind_of_show, NULL);

	return refuse_words(w, NULL, "cannot show \"%.64s\"%s%s%s", w->at[0],
			    near != NULL ? ": did you mean " : "", near != NULL ? near : "",
			    near != NULL ? "?" : "");
}

// `show pfc status p1` is the kind pfc-status.
static struct json_object *show_words(struct words *w)
{
	char two[64] = "";
	struct json_object *req;
	int n = 1;

	if (w->n > 1)
		snprintf(two, sizeof(two), "%s-%s", w->at[0], w->at[1]);
	if (is_kind(two))
		n = 2;
	else if (!is_kind(w->at[0]))
		return refuse_kind(w);
	if (w->n > n + 1 || (w->n > n && w->at[n][0] == '-'))
		return NULL;
	req = request_of("show", "what", n == 2 ? two : w->at[0]);
	if (w->n > n)
		row_text(req, KEY(QUEUES, port), w->at[n]);
	return req;
}

static const struct {
	const char *word, *forms;
	struct json_object *(*read)(struct words *w);
} commands[] = {{"set", WORDS_SET, set_words},
		{"watchdog", WORDS_WATCHDOG, watchdog_words},
		{"flow", WORDS_FLOW, flow_words},
		{"inof", WORDS_INOF, inof_words},
		{"show", "show KIND [PORT]", show_words}};
enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static unsigned find_command(const char *word)
{
	unsigned i = 0;

	while (i < N_COMMANDS && strcmp(word, commands[i].word) != 0)
		i++;
	return i;
}

struct json_object *request_of_words(int n, const char *const *words, char why[WORDS_WHY_LEN])
{
	struct words w = {n - 1, words + 1, why};
	unsigned i = n > 1 ? find_command(words[0]) : N_COMMANDS;

	why[0] = '\0';
	return i < N_COMMANDS ? commands[i].read(&w) : NULL;
}

// The forms of the command, or the commands.
static void say_forms(const char *word, char why[WORDS_WHY_LEN])
{
	unsigned i = find_command(word);
	size_t at;

	if (i == N_COMMANDS) {
		at = (size_t)snprintf(why, WORDS_WHY_LEN, "the commands here are");
		for (i = 0; i < N_COMMANDS; i++)
			at += (size_t)snprintf(why + at, WORDS_WHY_LEN - at, " %s",
					       commands[i].word);
		return;
	}
	at = (size_t)snprintf(why, WORDS_WHY_LEN, "expected ");
	for (const char *c = commands[i].forms; *c != '\0' && at < WORDS_WHY_LEN; c++)
		at += (size_t)snprintf(why + at, WORDS_WHY_LEN - at, *c == '\n' ? " or " : "%c",
				       *c);
}

struct json_object *request_of_text(const char *text, char why[WORDS_WHY_LEN])
{
	const char *words[MOST_WORDS];
	char copy[TEXT_LEN], *next;
	struct json_object *req;
	int n = 0;

	snprintf(why, WORDS_WHY_LEN, "is too long");
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return NULL;
	for (char *w = strtok_r(copy, " \t", &next); w != NULL; w = strtok_r(NULL, " \t", &next)) {
		if (n == MOST_WORDS) {
			snprintf(why, WORDS_WHY_LEN, "has more than %d words", MOST_WORDS);
			return NULL;
		}
		if (n > 0 || strcmp(w, "weirctl") != 0)
			words[n++] = w;
	}
	req = request_of_words(n, words, why);
	if (req == NULL && why[0] == '\0')
		say_forms(n > 0 ? words[0] : "", why);
	return req;
}
