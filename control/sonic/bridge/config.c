// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/bridge/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/sonic/bridge/args.h"
#include "control/sonic/bridge/counters.h"
#include "control/sonic/bridge/redis.h"
#include "control/sonic/configdb.h"
#include "control/sonic/import.h"
#include "control/sonic/pg_lookup.h"
#include "control/sonic/tables.h"

enum {
	SCAN_COUNT = 1000,
	MAX_ROUNDS = 1 << 16, // of SCAN
	BATCH = 256,
	MAX_KEYS = 20000, // of the tables that matter
	MAX_BYTES = 65536, // of one hash, as Redis stores it
	MAX_MISTAKES = 50,
	NAME_SHOWN = 200, // characters of a key in a message
	CURSOR_LEN = 24,
};

static const char indicator[] = "CONFIG_DB_INITIALIZED";

struct reading {
	struct redis *r;
	int db;
	struct sonic_config config;
	struct sonic_report report;
	char **keys; // sorted, each once
	size_t n, room;
};

// A mistake in a key of CONFIG_DB, TABLE|KEY.
static void mistake(struct reading *g, const char *key, const char *field, const char *text)
{
	char table[NAME_SHOWN], rest[NAME_SHOWN];
	size_t bar = strcspn(key, "|");

	if (g->report.n_errors >= MAX_MISTAKES) {
		g->report.n_errors++;
		g->report.n_left_out++;
		return;
	}
	snprintf(table, sizeof(table), "%.*s", (int)bar, key);
	snprintf(rest, sizeof(rest), "%s", key[bar] == '|' ? key + bar + 1 : "");
	sonic_say(&g->report, SONIC_ERROR, table, rest, field, "%s", text);
}

// ---- the keys

bool configdb_concerns(const char *key)
{
	size_t bar = strcspn(key, "|");
	char table[NAME_SHOWN];

	if (key[bar] != '|')
		return strcmp(key, indicator) == 0;
	snprintf(table, sizeof(table), "%.*s", (int)bar, key);
	return sonic_knows_table(table);
}

// Of STATE_DB only what the platform says of the memory.
static bool is_row(const struct reading *g, const char *key)
{
	return strchr(key, '|') != NULL && configdb_concerns(key) &&
	       (g->db == CONFIG_DB || strncmp(key, "ASIC_TABLE|", strlen("ASIC_TABLE|")) == 0);
}

static bool keep_key(struct reading *g, const char *key)
{
	if (g->n == g->room) {
		size_t room = g->room != 0 ? 2 * g->room : 256;
		char **keys = reallocarray(g->keys, room, sizeof(*keys));

		if (keys == NULL)
			return false;
		g->keys = keys;
		g->room = room;
	}
	g->keys[g->n] = strdup(key);
	return g->keys[g->n] != NULL && ++g->n > 0;
}

// Numbers count as numbers: Ethernet4 is before Ethernet12.
static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

// SCAN may give a key twice.
static void sort_keys(struct reading *g)
{
	size_t n = 0;

	qsort(g->keys, g->n, sizeof(*g->keys), by_name);
	for (size_t i = 0; i < g->n; i++)
		if (n > 0 && strcmp(g->keys[n - 1], g->keys[i]) == 0)
			free(g->keys[i]);
		else
			g->keys[n++] = g->keys[i];
	g->n = n;
}

// One SCAN. False: the connection ended, or there is no memory.
static bool scan(struct reading *g, char cursor[CURSOR_LEN])
{
	char count[16];
	const redisReply *found;
	redisReply *reply;
	const char *key;
	bool ok = true;

	snprintf(count, sizeof(count), "%d", SCAN_COUNT);
	REDIS_PUT(g->r, g->db, "SCAN", cursor, "COUNT", count);
	reply = redis_reply(g->r, &key);
	if (reply == NULL)
		return false;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) {
		sonic_say(&g->report, SONIC_ERROR, NULL, NULL, NULL, "SCAN of CONFIG_DB: %s",
			  reply->str != NULL ? reply->str : "no cursor");
		snprintf(cursor, CURSOR_LEN, "0");
		freeReplyObject(reply);
		return true;
	}
	snprintf(cursor, CURSOR_LEN, "%s", redis_text(reply->element[0]));
	found = reply->element[1];
	for (size_t i = 0; ok && i < found->elements; i++) {
		const char *name = redis_text(found->element[i]);

		if (strlen(name) == found->element[i]->len && is_row(g, name))
			ok = keep_key(g, name);
	}
	freeReplyObject(reply);
	return ok;
}

static bool find_keys(struct reading *g)
{
	char cursor[CURSOR_LEN] = "0";
	unsigned rounds = 0;

	do {
		if (!scan(g, cursor))
			return false;
		if (++rounds == MAX_ROUNDS)
			sonic_say(&g->report, SONIC_ERROR, NULL, NULL, NULL,
				  "SCAN of CONFIG_DB does not end");
	} while (strcmp(cursor, "0") != 0 && g->n <= MAX_KEYS && rounds < MAX_ROUNDS);
	if (g->n > MAX_KEYS)
		sonic_say(&g->report, SONIC_ERROR, NULL, NULL, NULL,
			  "CONFIG_DB has more than %d keys of tables that the bridge reads",
			  MAX_KEYS);
	sort_keys(g);
	return true;
}

// SONiC sets the indicator at the end of a load, and a load begins by flushing the database. A
// Redis that never had it is not SONiC's.
static bool is_loading(struct reading *g, bool *initialized)
{
	redisReply *reply;
	const char *key;
	bool is_one, has_it;

	REDIS_PUT(g->r, CONFIG_DB, "GET", indicator);
	reply = redis_reply(g->r, &key);
	if (reply == NULL)
		return false;
	has_it = reply->type == REDIS_REPLY_STRING;
	is_one = has_it && strcmp(reply->str, "1") == 0;
	freeReplyObject(reply);
	if (is_one)
		*initialized = true;
	return !is_one && (has_it || *initialized);
}

// ---- the hashes

// Queues one command for each key of a batch and gives each reply to `take`. False: the connection
// ended.
static bool each_key(struct reading *g, const char *const *words, unsigned n_words, unsigned key_at,
		     bool (*take)(struct reading *g, size_t i, const redisReply *reply))
{
	for (size_t at = 0; at < g->n; at += BATCH) {
		size_t end = at + BATCH < g->n ? at + BATCH : g->n;
		redisReply *reply;
		const char *key;

		for (size_t i = at; i < end; i++) {
			const char *command[8];

			memcpy(command, words, n_words * sizeof(*words));
			command[key_at] = g->keys[i];
			redis_put(g->r, g->db, n_words, command);
		}
		for (size_t i = at; i < end; i++) {
			bool ok;

			reply = redis_reply(g->r, &key);
			if (reply == NULL)
				return false;
			ok = take(g, i, reply);
			freeReplyObject(reply);
			if (!ok)
				return false;
		}
	}
	return true;
}

static void forget_key(struct reading *g, size_t i)
{
	g->keys[i][0] = '\0';
}

// A server that forbids MEMORY does not say how long a hash is.
static bool take_size(struct reading *g, size_t i, const redisReply *reply)
{
	char text[NAME_SHOWN];

	if (reply->type != REDIS_REPLY_INTEGER || reply->integer <= MAX_BYTES)
		return true;
	snprintf(text, sizeof(text), "the hash has %lld bytes, at most %d are possible; remove the "
				     "key, or its long values", reply->integer, MAX_BYTES);
	mistake(g, g->keys[i], NULL, text);
	forget_key(g, i);
	return true;
}

static bool is_text(const redisReply *r)
{
	return r->type == REDIS_REPLY_STRING && strlen(r->str) == r->len;
}

static bool take_hash(struct reading *g, size_t i, const redisReply *reply)
{
	const char *key = g->keys[i], *bar = strchr(key, '|');
	char table[NAME_SHOWN];

	if (reply->type != REDIS_REPLY_ARRAY && reply->str != NULL) {
		mistake(g, key, NULL, strncmp(reply->str, "WRONGTYPE", strlen("WRONGTYPE")) == 0
					      ? "the key is no hash, as rows of CONFIG_DB are"
					      : reply->str);
		return true;
	}
	snprintf(table, sizeof(table), "%.*s", (int)(bar - key), key);
	for (size_t f = 0; f + 1 < reply->elements; f += 2)
		if (is_text(reply->element[f]) && is_text(reply->element[f + 1]))
			sonic_set(&g->config, table, bar + 1, reply->element[f]->str,
				  reply->element[f + 1]->str);
		else
			mistake(g, key, reply->element[f]->str, "the value is no text");
	return true;
}

// A key with too long a hash is left out: a mistake says so.
static void drop_forgotten(struct reading *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++)
		if (g->keys[i][0] != '\0')
			g->keys[n++] = g->keys[i];
		else
			free(g->keys[i]);
	g->n = n;
}

static bool read_hashes(struct reading *g)
{
	static const char *const size[] = {"MEMORY", "USAGE", "", "SAMPLES", "0"};
	static const char *const all[] = {"HGETALL", ""};

	if (!each_key(g, size, sizeof(size) / sizeof(size[0]), 2, take_size))
		return false;
	drop_forgotten(g);
	return each_key(g, all, sizeof(all) / sizeof(all[0]), 1, take_hash);
}

static void forget_keys(struct reading *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->keys[i]);
	g->n = 0;
}

static bool read_db(struct reading *g, int db)
{
	g->db = db;
	forget_keys(g);
	return find_keys(g) && read_hashes(g);
}

// ---- the policy

// The switch has one pool of each kind: struct counters shows SONiC's pools by them.
static void give_pools(const struct sonic_config *c, struct counters *counters,
		       struct sonic_report *r)
{
	const char *last = "";
	bool room = true;

	counters_pools_begin(counters);
	for (unsigned i = sonic_first(c, "BUFFER_POOL", NULL);
	     i < c->n && strcmp(c->rows[i].table, "BUFFER_POOL") == 0; i++) {
		const char *key = c->rows[i].key, *type = sonic_get(c, "BUFFER_POOL", key, "type");

		if (strcmp(key, last) == 0)
			continue;
		last = key;
		if (type != NULL && strcmp(type, "egress") != 0)
			room = counters_pool(counters, key, "ingress");
		else
			room = counters_pool(counters, key,
					     strstr(key, "lossless") != NULL ? "egress_lossless"
									     : "egress_lossy");
		if (!room)
			sonic_say(r, SONIC_WARNING, "BUFFER_POOL", key, NULL,
				  "has no numbers in COUNTERS_DB: there are too many pools");
	}
}

// The whole text of a file, which the caller frees; NULL: it cannot be read.
static char *file_text(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t n = f != NULL ? getdelim(&text, &room, '\0', f) : -1;

	if (f != NULL)
		fclose(f);
	*len = n > 0 ? (size_t)n : 0;
	if (n < 0) {
		free(text);
		return NULL;
	}
	return text;
}

static bool read_lookup(const char *path, struct pg_lookup *out, struct sonic_report *report)
{
	size_t len;
	char *text = file_text(path, &len);
	bool ok;

	if (text == NULL) {
		sonic_say(report, SONIC_ERROR, NULL, NULL, NULL, "%s cannot be read", path);
		return false;
	}
	ok = pg_lookup_read(out, path, text, len, report) == 0;
	free(text);
	return ok;
}

static enum read_end import(struct reading *g, const struct bridge_args *args,
			    struct configdb_text *out)
{
	struct pg_lookup lookup = {0};
	struct sonic_import_options options = {.ports = args->ports};
	size_t len;
	FILE *yaml;
	bool ok = true;

	if (args->lookup != NULL) {
		ok = read_lookup(args->lookup, &lookup, &g->report);
		options.lookup = &lookup;
	}
	yaml = open_memstream(&out->policy, &len);
	if (yaml == NULL)
		return READ_REFUSED;
	fputs("# weir-sonic made this policy from CONFIG_DB and writes it again at each change.\n",
	      yaml);
	ok = ok && sonic_import(&g->config, &options, &g->report, yaml) == 0;
	ok = fclose(yaml) == 0 && ok;
	pg_lookup_fini(&lookup);
	return ok ? READ_DONE : READ_REFUSED;
}

static enum read_end read_all(struct reading *g, const struct bridge_args *args, bool *initialized,
			      struct counters *c, struct configdb_text *out)
{
	enum read_end end;

	if (is_loading(g, initialized))
		return READ_LOADING;
	if (g->r->c == NULL || !read_db(g, CONFIG_DB) || !read_db(g, STATE_DB))
		return READ_NO_REDIS;
	if (g->report.n_errors > 0)
		return READ_REFUSED;
	sonic_sort(&g->config);
	end = import(g, args, out);
	if (end == READ_DONE && c != NULL)
		give_pools(&g->config, c, &g->report);
	return end;
}

// Beside mistakes, warnings and notes only make a message long.
static void only_errors(struct sonic_report *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->n; i++)
		if (r->messages[i].level == SONIC_ERROR)
			r->messages[n++] = r->messages[i];
	r->n = n;
}

enum read_end configdb_read(struct redis *r, const struct bridge_args *args, bool *initialized,
			    struct counters *c, struct configdb_text *out)
{
	struct reading g = {.r = r};
	enum read_end end = read_all(&g, args, initialized, c, out);
	size_t len;
	FILE *said = open_memstream(&out->report, &len);

	if (end == READ_REFUSED)
		only_errors(&g.report);
	if (said != NULL) {
		sonic_report_print(&g.report, said);
		fclose(said);
	}
	forget_keys(&g);
	free(g.keys);
	sonic_report_fini(&g.report);
	sonic_config_fini(&g.config);
	return end;
}
