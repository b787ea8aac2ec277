// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/bridge/counters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/arena.h"
#include "control/base/json_in.h"
#include "control/ctl/client.h"
#include "control/observe/fact.h"
#include "control/sonic/bridge/difference.h"
#include "control/sonic/bridge/redis.h"

enum {
	N_INDEXES = 8, // of queues, groups and classes of a port
	OID_LEN = 24,
	NAME_LEN = 64,
	KEY_LEN = 128,
	HASH_WORDS = 160,
	HASH_TEXT = 8192,
	MAX_POOLS = 16,
	OWN_OIDS = 0x57,
	BITS_PER_BYTE = 8,
};

// ---- the rows: the field of an object's hash, and the fact that it shows

struct sai_row {
	const char *field; // '#': the class
	enum fact_id fact; // F_NONE: 0, for what a switch in software does not have
};
#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

// SONiC adds unicast and others to RX_OK and TX_OK. The switch counts frames without that
// difference.
static const struct sai_row port_rows[] = {
	{"SAI_PORT_STAT_IF_IN_OCTETS", F_PORTS_rx_bytes},
	{"SAI_PORT_STAT_IF_IN_UCAST_PKTS", F_PORTS_rx_packets},
	{"SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS", F_NONE},
	{"SAI_PORT_STAT_IF_IN_ERRORS", F_PORTS_rx_missed},
	{"SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS", F_NONE},
	{"SAI_PORT_STAT_IF_OUT_OCTETS", F_PORTS_tx_bytes},
	{"SAI_PORT_STAT_IF_OUT_UCAST_PKTS", F_PORTS_tx_packets},
	{"SAI_PORT_STAT_IF_OUT_NON_UCAST_PKTS", F_NONE},
	{"SAI_PORT_STAT_IF_OUT_ERRORS", F_PORTS_tx_errors},
	{"SAI_PORT_STAT_ETHER_TX_OVERSIZE_PKTS", F_NONE},
	{"SAI_PORT_STAT_TRIM_PACKETS", F_PORTS_trimmed},
	{"SAI_PORT_STAT_TX_TRIM_PACKETS", F_PORTS_trim_sent},
	{"SAI_PORT_STAT_DROPPED_TRIM_PACKETS", F_PORTS_trim_dropped},
};
// SAI_PORT_STAT_IF_IN_DISCARDS and OUT_DISCARDS are sums: see discards().
static const struct sai_row pfc_rows[] = {
	{"SAI_PORT_STAT_PFC_#_RX_PKTS", F_PFC_rx_pause},
	{"SAI_PORT_STAT_PFC_#_TX_PKTS", F_PFC_tx_pause},
	{"SAI_PORT_STAT_PFC_#_RX_PAUSE_DURATION_US", F_PFC_rx_pause_duration_us},
	{"SAI_PORT_STAT_PFC_#_TX_PAUSE_DURATION_US", F_PFC_tx_pause_duration_us},
	{"SAI_PORT_STAT_PFC_#_ON2OFF_RX_PKTS", F_PFC_rx_pause_transition},
};
static const struct sai_row queue_rows[] = {
	{"SAI_QUEUE_STAT_PACKETS", F_QUEUES_tx_packets},
	{"SAI_QUEUE_STAT_BYTES", F_QUEUES_tx_bytes},
	{"SAI_QUEUE_STAT_DROPPED_BYTES", F_QUEUES_dropped_bytes},
	{"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", F_QUEUES_ecn_marked},
	{"SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES", F_QUEUES_length_bytes},
	{"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", F_QUEUES_max_bytes},
	{"SAI_QUEUE_STAT_TRIM_PACKETS", F_QUEUES_trimmed},
	{"SAI_QUEUE_STAT_TX_TRIM_PACKETS", F_QUEUES_trim_sent},
	{"SAI_QUEUE_STAT_DROPPED_TRIM_PACKETS", F_QUEUES_trim_dropped},
};
// In the hash of the queue of the class, while the class is watched.
static const struct sai_row watchdog_rows[] = {
	{"PFC_WD_STATUS", F_WATCHDOG_status},
	{"PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", F_WATCHDOG_detected},
	{"PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", F_WATCHDOG_restored},
	{"PFC_WD_QUEUE_STATS_TX_PACKETS", F_WATCHDOG_tx_ok},
	{"PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS", F_WATCHDOG_tx_dropped},
	{"PFC_WD_QUEUE_STATS_RX_PACKETS", F_WATCHDOG_rx_ok},
	{"PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS", F_WATCHDOG_rx_dropped},
	{"PFC_WD_QUEUE_STATS_TX_PACKETS_LAST", F_WATCHDOG_tx_ok_last},
	{"PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS_LAST", F_WATCHDOG_tx_dropped_last},
	{"PFC_WD_QUEUE_STATS_RX_PACKETS_LAST", F_WATCHDOG_rx_ok_last},
	{"PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS_LAST", F_WATCHDOG_rx_dropped_last},
};
static const struct sai_row pg_rows[] = {
	{"SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS", F_PGS_rx_packets},
	{"SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES", F_PGS_rx_bytes},
	{"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", F_PGS_dropped_packets},
	{"SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_CURR_OCCUPANCY_BYTES", F_PGS_shared_bytes},
	{"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_CURR_OCCUPANCY_BYTES", F_PGS_headroom_bytes},
	{"SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES", F_PGS_max_shared_bytes},
	{"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", F_PGS_max_headroom_bytes},
};
static const struct sai_row pool_rows[] = {
	{"SAI_BUFFER_POOL_STAT_CURR_OCCUPANCY_BYTES", F_POOLS_used_bytes},
	{"SAI_BUFFER_POOL_STAT_WATERMARK_BYTES", F_POOLS_max_bytes},
};
// Of the pool of all headroom, in the hash of each ingress pool.
static const struct sai_row headroom_rows[] = {
	{"SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES", F_POOLS_max_bytes},
};
// RATES: portstat wants bytes per second, and the share of the speed in percent.
static const struct sai_row rate_rows[] = {
	{"RX_PPS", F_INTERFACES_rx_pps}, {"RX_UTIL", F_INTERFACES_rx_util_percent},
	{"TX_PPS", F_INTERFACES_tx_pps}, {"TX_UTIL", F_INTERFACES_tx_util_percent},
};
static const struct {
	const char *field;
	enum fact_id bits;
} byte_rates[] = {{"RX_BPS", F_INTERFACES_rx_bps}, {"TX_BPS", F_INTERFACES_tx_bps}};

// ---- the maps

enum map {
	PORT_NAMES,
	QUEUE_NAMES, QUEUE_PORTS, QUEUE_INDEXES, QUEUE_TYPES,
	PG_NAMES, PG_PORTS, PG_INDEXES,
	POOL_NAMES,
	N_MAPS,
};
static const char *const map_key[N_MAPS] = {
	[PORT_NAMES] = "COUNTERS_PORT_NAME_MAP",
	[QUEUE_NAMES] = "COUNTERS_QUEUE_NAME_MAP",
	[QUEUE_PORTS] = "COUNTERS_QUEUE_PORT_MAP",
	[QUEUE_INDEXES] = "COUNTERS_QUEUE_INDEX_MAP",
	[QUEUE_TYPES] = "COUNTERS_QUEUE_TYPE_MAP",
	[PG_NAMES] = "COUNTERS_PG_NAME_MAP",
	[PG_PORTS] = "COUNTERS_PG_PORT_MAP",
	[PG_INDEXES] = "COUNTERS_PG_INDEX_MAP",
	[POOL_NAMES] = "COUNTERS_BUFFER_POOL_NAME_MAP",
};

// ---- watermarks since SONiC's own clears, beside those of the switch

enum marks { USER, PERSISTENT, N_MARKS };
static const char *const marks_word[N_MARKS] = {"USER", "PERSISTENT"};
static const char *const marks_key[N_MARKS] = {"USER_WATERMARKS:", "PERSISTENT_WATERMARKS:"};

static const struct mark_row {
	const char *field;
	const char *clears; // words of the clear request
	enum fact_id fact;
} mark_rows[] = {
	{"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "Q_SHARED_UNI Q_SHARED_ALL", F_QUEUES_max_bytes},
	{"SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES", "PG_SHARED",
	 F_PGS_max_shared_bytes},
	{"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", "PG_HEADROOM",
	 F_PGS_max_headroom_bytes},
	{"SAI_BUFFER_POOL_STAT_WATERMARK_BYTES", "BUFFER_POOL", F_POOLS_max_bytes},
	{"SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES", "HEADROOM_POOL", F_POOLS_max_bytes},
};

struct pool {
	char sonic[NAME_LEN], name[NAME_LEN];
};

struct counters {
	struct pool pools[MAX_POOLS];
	unsigned n_pools;
	bool check_maps;
	struct json_object *ports; // names of the last write
	// The most that a mark of the switch was before the switch's marks were cleared, by the
	// mark's name (of SONiC): shown where the switch has no higher one since.
	struct json_object *kept[N_MARKS];
	uint8_t clear[N_MARKS]; // bits of mark_rows
	struct json_object *difference_no; // object id -> index of differences
	struct difference *differences;
	size_t n_differences;
};

struct counters *counters_create(void)
{
	struct counters *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->check_maps = true;
	for (unsigned m = 0; m < N_MARKS; m++)
		c->kept[m] = json_object_new_object();
	c->difference_no = json_object_new_object();
	return c;
}

void counters_destroy(struct counters *c)
{
	if (c == NULL)
		return;
	for (unsigned m = 0; m < N_MARKS; m++)
		json_object_put(c->kept[m]);
	json_object_put(c->ports);
	json_object_put(c->difference_no);
	free(c->differences);
	free(c);
}

void counters_switch_started(struct counters *c)
{
	for (size_t i = 0; i < c->n_differences; i++)
		c->differences[i] = (struct difference){0};
}

void counters_pools_begin(struct counters *c)
{
	c->n_pools = 0;
	c->check_maps = true;
}

bool counters_pool(struct counters *c, const char *sonic, const char *pool)
{
	struct pool *p = &c->pools[c->n_pools];

	if (c->n_pools == MAX_POOLS)
		return false;
	c->n_pools++;
	snprintf(p->sonic, sizeof(p->sonic), "%s", sonic);
	snprintf(p->name, sizeof(p->name), "%s", pool);
	return true;
}

void counters_check_maps(struct counters *c)
{
	c->check_maps = true;
}

// ---- one HSET

struct hash {
	const char *words[HASH_WORDS];
	unsigned n;
	char text[HASH_TEXT];
	size_t len;
};

static const char *hash_text(struct hash *h, const char *text)
{
	size_t n = strlen(text) + 1;
	char *at = h->text + h->len;

	if (h->len + n > HASH_TEXT)
		return "";
	memcpy(at, text, n);
	h->len += n;
	return at;
}

static void hash_begin(struct hash *h, const char *prefix, const char *name)
{
	char key[KEY_LEN];

	snprintf(key, sizeof(key), "%s%s", prefix, name);
	h->n = 0;
	h->len = 0;
	h->words[h->n++] = "HSET";
	h->words[h->n++] = hash_text(h, key);
}

static void hash_add(struct hash *h, const char *field, const char *value)
{
	if (h->n + 2 > HASH_WORDS)
		return;
	h->words[h->n++] = hash_text(h, field);
	h->words[h->n++] = hash_text(h, value);
}

static void hash_u64(struct hash *h, const char *field, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	hash_add(h, field, text);
}

struct writer {
	struct counters *c;
	struct redis *r;
	void (*refused)(void *ctx, const char *key, const char *error);
	void *ctx;
	struct hash h;
	bool lost; // the connection
};

static void room(struct writer *w)
{
	if (!w->lost && redis_full(w->r))
		w->lost = redis_finish(w->r, w->refused, w->ctx) != 0;
}

static void send_words(struct writer *w, int db, unsigned n, const char *const *words)
{
	room(w);
	if (!w->lost)
		redis_put(w->r, db, n, words);
}

static void hash_send(struct writer *w, int db)
{
	if (w->h.n > 2)
		send_words(w, db, w->h.n, w->h.words);
}

// ---- values of rows

static const char *fact_text_or_0(struct json_object *row, enum fact_id fact)
{
	struct json_object *v = fact != F_NONE && row != NULL
					? json_object_object_get(row, fact_rows[fact].key) : NULL;

	return v != NULL ? json_object_get_string(v) : "0";
}

static void add_rows(struct hash *h, const struct sai_row *rows, size_t n, struct json_object *row,
		     unsigned index)
{
	for (size_t i = 0; i < n; i++) {
		char field[KEY_LEN], *digit;

		snprintf(field, sizeof(field), "%s", rows[i].field);
		digit = strchr(field, '#');
		if (digit != NULL)
			*digit = (char)('0' + index);
		hash_add(h, field, fact_text_or_0(row, rows[i].fact));
	}
}

// ---- what the switch answers

struct answers {
	struct json_object *data[7];
	struct json_object *ports, *queues, *pfc, *pgs, *pools, *watchdog, *drops, *interfaces;
};

static struct json_object *fact_list_in(struct json_object *data, unsigned list)
{
	return json_object_object_get(data, fact_lists[list].list);
}

static void answers_put(struct answers *a)
{
	for (size_t i = 0; i < N(a->data); i++)
		json_object_put(a->data[i]);
}

// The drops of a port come before those of its queues: see difference.h.
static bool request_fact_lists(struct client *sw, struct answers *a)
{
	static const unsigned lists[N(a->data)] = {FACTS_PORTS, FACTS_DROPS,	FACTS_QUEUES,
						   FACTS_PFC,	FACTS_PGS,	FACTS_WATCHDOG,
						   FACTS_INTERFACES};

	for (size_t i = 0; i < N(lists); i++) {
		a->data[i] = client_exchange_quiet(sw, show_request(lists[i]));
		if (a->data[i] == NULL)
			return false;
	}
	a->ports = fact_list_in(a->data[0], FACTS_PORTS);
	a->drops = fact_list_in(a->data[1], FACTS_DROPS);
	a->queues = fact_list_in(a->data[2], FACTS_QUEUES);
	a->pfc = fact_list_in(a->data[3], FACTS_PFC);
	a->pgs = fact_list_in(a->data[4], FACTS_PGS);
	a->pools = fact_list_in(a->data[4], FACTS_POOLS);
	a->watchdog = fact_list_in(a->data[5], FACTS_WATCHDOG);
	a->interfaces = fact_list_in(a->data[6], FACTS_INTERFACES);
	return a->ports != NULL && a->queues != NULL && a->pgs != NULL;
}

static size_t list_length_or_0(struct json_object *list)
{
	return list != NULL ? json_object_array_length(list) : 0;
}

static const char *port_name_of_row(struct json_object *row)
{
	const char *port = text_in(row, KEY(QUEUES, port));

	return port != NULL ? port : "";
}

// The row of a port with this number under key; NULL: there is none.
static struct json_object *find_port_row(struct json_object *list, const char *port,
					 const char *key, uint64_t number)
{
	for (size_t i = 0; i < list_length_or_0(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		if (strcmp(port_name_of_row(row), port) == 0 &&
		    (key == NULL || count_in(row, key) == number))
			return row;
	}
	return NULL;
}

static struct json_object *named_row(struct json_object *list, const char *name)
{
	for (size_t i = 0; i < list_length_or_0(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);
		const char *has = text_in(row, KEY(POOLS, name));

		if (has != NULL && strcmp(has, name) == 0)
			return row;
	}
	return NULL;
}

// ---- object ids

// Numbers of SAI's object types.
enum object { OBJECT_PORT = 1, OBJECT_QUEUE = 21, OBJECT_POOL = 24, OBJECT_PG = 26 };

// 0x57, the type, 40 bits of FNV-1a of the name, and the index.
static void oid_of(enum object type, const char *name, unsigned index, char out[OID_LEN])
{
	uint64_t hash = 0xcbf29ce484222325;

	for (const char *p = name; *p != '\0'; p++)
		hash = (hash ^ (uint8_t)*p) * 0x100000001b3;
	snprintf(out, OID_LEN, "oid:0x%02x%02x%010" PRIx64 "%02x", OWN_OIDS, (unsigned)type,
		 hash & 0xffffffffff, index);
}

static bool is_weir_oid(const char *text)
{
	return strncmp(text, "oid:0x57", strlen("oid:0x57")) == 0;
}

// ---- hashes of objects

// The object's own counter: each object has one at most.
static struct difference *difference_of(struct counters *c, const char *oid)
{
	struct json_object *no;

	if (!json_object_object_get_ex(c->difference_no, oid, &no)) {
		c->differences = allocated(realloc(c->differences, (c->n_differences + 1) *
							   sizeof(*c->differences)));
		c->differences[c->n_differences] = (struct difference){0};
		no = json_object_new_uint64(c->n_differences++);
		json_object_object_add(c->difference_no, oid, no);
	}
	return &c->differences[json_object_get_uint64(no)];
}

// Frames that were dropped before a queue took them: all drops of the port without those of its
// queues.
static void discards(struct writer *w, const struct answers *a, const char *port, const char *oid)
{
	uint64_t all = 0, out = 0;

	for (size_t i = 0; i < list_length_or_0(a->drops); i++) {
		struct json_object *row = json_object_array_get_idx(a->drops, i);

		if (strcmp(port_name_of_row(row), port) == 0)
			all += count_in(row, KEY(DROPS, packets));
	}
	for (size_t i = 0; i < list_length_or_0(a->queues); i++) {
		struct json_object *row = json_object_array_get_idx(a->queues, i);

		if (strcmp(port_name_of_row(row), port) == 0)
			out += count_in(row, KEY(QUEUES, dropped_packets));
	}
	hash_u64(&w->h, "SAI_PORT_STAT_IF_IN_DISCARDS",
		 difference_shown(difference_of(w->c, oid), all, out));
	hash_u64(&w->h, "SAI_PORT_STAT_IF_OUT_DISCARDS", out);
}

static void write_rates(struct writer *w, const struct answers *a, const char *port,
			const char *oid)
{
	struct json_object *row = find_port_row(a->interfaces, port, NULL, 0);

	hash_begin(&w->h, "RATES:", oid);
	add_rows(&w->h, rate_rows, N(rate_rows), row, 0);
	for (size_t i = 0; i < N(byte_rates); i++)
		hash_u64(&w->h, byte_rates[i].field,
			 count_in(row, fact_rows[byte_rates[i].bits].key) / BITS_PER_BYTE);
	hash_send(w, COUNTERS_DB);
}

// In STATE_DB and APPL_DB, where `show interfaces` looks for the link.
static void write_state(struct writer *w, struct json_object *row, const char *port)
{
	static const struct {
		int db;
		const char *prefix;
	} tables[] = {{STATE_DB, "PORT_TABLE|"}, {APPL_DB, "PORT_TABLE:"}};
	bool up = true_in(row, KEY(PORTS, up)), on = true_in(row, KEY(PORTS, tx_enabled));

	for (size_t i = 0; i < N(tables); i++) {
		hash_begin(&w->h, tables[i].prefix, port);
		if (tables[i].db == STATE_DB) {
			hash_add(&w->h, "state", "ok");
			hash_add(&w->h, "netdev_oper_status", up ? "up" : "down");
		}
		hash_add(&w->h, "oper_status", up ? "up" : "down");
		hash_add(&w->h, "admin_status", on ? "up" : "down");
		hash_u64(&w->h, "speed", count_in(row, KEY(PORTS, speed_bps)) / 1000000);
		hash_add(&w->h, "mtu", fact_text_or_0(row, F_PORTS_mtu));
		hash_send(w, tables[i].db);
	}
}

static void write_port(struct writer *w, const struct answers *a, struct json_object *row)
{
	const char *port = text_in(row, KEY(PORTS, name));
	char oid[OID_LEN];

	oid_of(OBJECT_PORT, port, 0, oid);
	hash_begin(&w->h, "COUNTERS:", oid);
	add_rows(&w->h, port_rows, N(port_rows), row, 0);
	discards(w, a, port, oid);
	for (unsigned cls = 0; cls < N_INDEXES; cls++)
		add_rows(&w->h, pfc_rows, N(pfc_rows),
			 find_port_row(a->pfc, port, KEY(PFC, class), cls), cls);
	hash_send(w, COUNTERS_DB);
	write_rates(w, a, port, oid);
	write_state(w, row, port);
}

// The greater one of what the switch has measured, and of what is kept of the time before the marks
// of the switch were cleared.
static uint64_t mark_since(struct counters *c, enum marks m, unsigned row, const char *oid,
			   uint64_t now)
{
	char name[KEY_LEN];
	struct json_object *kept;

	snprintf(name, sizeof(name), "%u %s", row, oid);
	if (!json_object_object_get_ex(c->kept[m], name, &kept))
		return now;
	return json_object_get_uint64(kept) > now ? json_object_get_uint64(kept) : now;
}

static void keep_mark(struct counters *c, enum marks m, unsigned row, const char *oid, uint64_t v)
{
	char name[KEY_LEN];

	snprintf(name, sizeof(name), "%u %s", row, oid);
	json_object_object_add(c->kept[m], name, json_object_new_uint64(v));
}

// The marks of one row of an answer. index: of mark_rows. clearing: the switch clears its marks
// after this write, so what SONiC did not clear is kept here.
static void write_mark(struct writer *w, unsigned index, const char *oid, struct json_object *row,
		       bool clearing)
{
	uint64_t now = count_in(row, fact_rows[mark_rows[index].fact].key);

	for (unsigned m = 0; m < N_MARKS; m++) {
		uint64_t v = mark_since(w->c, m, index, oid, now);

		if (w->c->clear[m] >> index & 1)
			v = 0;
		if (clearing)
			keep_mark(w->c, m, index, oid, v);
		hash_begin(&w->h, marks_key[m], oid);
		hash_u64(&w->h, mark_rows[index].field, v);
		hash_send(w, COUNTERS_DB);
	}
}

// PFC_WD_* of a queue whose class is not watched are removed: pfcwd then shows N/A.
static void write_watchdog(struct writer *w, struct json_object *row, const char *oid)
{
	const char *status = row != NULL ? text_in(row, KEY(WATCHDOG, status)) : NULL;
	const char *words[N(watchdog_rows) + 2] = {"HDEL"};
	char key[KEY_LEN];

	if (status != NULL && strcmp(status, "off") != 0) {
		add_rows(&w->h, watchdog_rows, N(watchdog_rows), row, 0);
		hash_send(w, COUNTERS_DB);
		return;
	}
	hash_send(w, COUNTERS_DB);
	snprintf(key, sizeof(key), "COUNTERS:%s", oid);
	words[1] = key;
	for (size_t i = 0; i < N(watchdog_rows); i++)
		words[i + 2] = watchdog_rows[i].field;
	send_words(w, COUNTERS_DB, N(watchdog_rows) + 2, words);
}

static void write_queues(struct writer *w, const struct answers *a, bool clearing)
{
	for (size_t i = 0; i < list_length_or_0(a->queues); i++) {
		struct json_object *row = json_object_array_get_idx(a->queues, i), *cls;
		bool has_class = json_object_object_get_ex(row, KEY(QUEUES, class), &cls) &&
				 cls != NULL;
		char oid[OID_LEN];

		oid_of(OBJECT_QUEUE, port_name_of_row(row),
		       (unsigned)count_in(row, KEY(QUEUES, queue)), oid);
		hash_begin(&w->h, "COUNTERS:", oid);
		add_rows(&w->h, queue_rows, N(queue_rows), row, 0);
		// SAI counts a frame as dropped where it was trimmed, whatever became of it.
		hash_u64(&w->h, "SAI_QUEUE_STAT_DROPPED_PACKETS",
			 difference_shown(difference_of(w->c, oid),
					  count_in(row, KEY(QUEUES, dropped_packets)) +
						  count_in(row, KEY(QUEUES, trimmed)),
					  count_in(row, KEY(QUEUES, trim_dropped))));
		write_watchdog(w, has_class ? find_port_row(a->watchdog, port_name_of_row(row),
							    KEY(WATCHDOG, class),
							    json_object_get_uint64(cls))
					    : NULL, oid);
		write_mark(w, 0, oid, row, clearing);
	}
}

static void write_pgs(struct writer *w, const struct answers *a, bool clearing)
{
	for (size_t i = 0; i < list_length_or_0(a->pgs); i++) {
		struct json_object *row = json_object_array_get_idx(a->pgs, i);
		char oid[OID_LEN];

		oid_of(OBJECT_PG, port_name_of_row(row), (unsigned)count_in(row, KEY(PGS, pg)),
		       oid);
		hash_begin(&w->h, "COUNTERS:", oid);
		add_rows(&w->h, pg_rows, N(pg_rows), row, 0);
		hash_send(w, COUNTERS_DB);
		write_mark(w, 1, oid, row, clearing);
		write_mark(w, 2, oid, row, clearing);
	}
}

static void write_pools(struct writer *w, const struct answers *a, bool clearing)
{
	struct json_object *headroom = named_row(a->pools, "headroom");

	for (unsigned i = 0; i < w->c->n_pools; i++) {
		const struct pool *p = &w->c->pools[i];
		struct json_object *row = named_row(a->pools, p->name);
		bool ingress = strcmp(p->name, "ingress") == 0;
		char oid[OID_LEN];

		oid_of(OBJECT_POOL, p->sonic, 0, oid);
		hash_begin(&w->h, "COUNTERS:", oid);
		add_rows(&w->h, pool_rows, N(pool_rows), row, 0);
		if (ingress)
			add_rows(&w->h, headroom_rows, N(headroom_rows), headroom, 0);
		hash_send(w, COUNTERS_DB);
		write_mark(w, 3, oid, row, clearing);
		if (ingress)
			write_mark(w, 4, oid, headroom, clearing);
	}
}

// ---- maps

struct wanted {
	struct json_object *maps[N_MAPS];
};

static void want(struct wanted *wanted, enum map map, const char *field, const char *value)
{
	json_object_object_add(wanted->maps[map], field, json_object_new_string(value));
}

static void want_objects(struct wanted *wanted, enum object type, enum map names, enum map ports,
			 enum map indexes, const char *port)
{
	char oid[OID_LEN], port_oid[OID_LEN], name[KEY_LEN], number[4];

	oid_of(OBJECT_PORT, port, 0, port_oid);
	for (unsigned i = 0; i < N_INDEXES; i++) {
		oid_of(type, port, i, oid);
		snprintf(name, sizeof(name), "%s:%u", port, i);
		snprintf(number, sizeof(number), "%u", i);
		want(wanted, names, name, oid);
		want(wanted, ports, oid, port_oid);
		want(wanted, indexes, oid, number);
		if (type == OBJECT_QUEUE)
			want(wanted, QUEUE_TYPES, oid, "SAI_QUEUE_TYPE_UNICAST");
	}
}

static void want_all(struct wanted *wanted, const struct counters *c, const struct answers *a)
{
	char oid[OID_LEN];

	for (unsigned m = 0; m < N_MAPS; m++)
		wanted->maps[m] = json_object_new_object();
	for (size_t i = 0; i < list_length_or_0(a->ports); i++) {
		const char *port = text_in(json_object_array_get_idx(a->ports, i),
					   KEY(PORTS, name));

		oid_of(OBJECT_PORT, port, 0, oid);
		want(wanted, PORT_NAMES, port, oid);
		want_objects(wanted, OBJECT_QUEUE, QUEUE_NAMES, QUEUE_PORTS, QUEUE_INDEXES, port);
		want_objects(wanted, OBJECT_PG, PG_NAMES, PG_PORTS, PG_INDEXES, port);
	}
	for (unsigned i = 0; i < c->n_pools; i++) {
		oid_of(OBJECT_POOL, c->pools[i].sonic, 0, oid);
		want(wanted, POOL_NAMES, c->pools[i].sonic, oid);
	}
}

static void wanted_put(struct wanted *wanted)
{
	for (unsigned m = 0; m < N_MAPS; m++)
		json_object_put(wanted->maps[m]);
}

// An entry that is not wanted goes if its id is of this bridge, or if it names a part of a port of
// the switch that the switch does not have ("Ethernet0:12"). Others belong to someone else.
static bool is_stale(const struct wanted *wanted, enum map map, const char *field,
		     const char *value)
{
	char port[KEY_LEN];

	if (json_object_object_get_ex(wanted->maps[map], field, NULL))
		return false;
	snprintf(port, sizeof(port), "%.*s", (int)strcspn(field, ":"), field);
	return is_weir_oid(field) || is_weir_oid(value) ||
	       json_object_object_get_ex(wanted->maps[PORT_NAMES], port, NULL);
}

static void remove_object(struct writer *w, enum map map, const char *name, const char *oid)
{
	static const char *const prefixes[] = {"COUNTERS:", "RATES:", "USER_WATERMARKS:",
					       "PERSISTENT_WATERMARKS:"};
	char key[KEY_LEN];

	for (size_t i = 0; i < N(prefixes); i++) {
		snprintf(key, sizeof(key), "%s%s", prefixes[i], oid);
		send_words(w, COUNTERS_DB, 2, (const char *[]){"DEL", key});
	}
	if (map != PORT_NAMES)
		return;
	snprintf(key, sizeof(key), "PORT_TABLE|%s", name);
	send_words(w, STATE_DB, 2, (const char *[]){"DEL", key});
	snprintf(key, sizeof(key), "PORT_TABLE:%s", name);
	send_words(w, APPL_DB, 2, (const char *[]){"DEL", key});
}

static void write_map(struct writer *w, const struct wanted *wanted, enum map map)
{
	redisReply *has;
	const char *key;

	send_words(w, COUNTERS_DB, 2, (const char *[]){"HGETALL", map_key[map]});
	has = redis_reply(w->r, &key);
	if (has == NULL) {
		w->lost = true;
		return;
	}
	if (has->type == REDIS_REPLY_ERROR) // the writes below say it too
		has->elements = 0;
	for (size_t i = 0; i + 1 < has->elements; i += 2) {
		const char *field = redis_text(has->element[i]);
		const char *value = redis_text(has->element[i + 1]);

		if (!is_stale(wanted, map, field, value))
			continue;
		send_words(w, COUNTERS_DB, 3, (const char *[]){"HDEL", map_key[map], field});
		if (is_weir_oid(value) && map != QUEUE_PORTS && map != PG_PORTS)
			remove_object(w, map, field, value);
	}
	freeReplyObject(has);
	json_object_object_foreach(wanted->maps[map], name, value) {
		send_words(w, COUNTERS_DB, 4, (const char *[]){"HSET", map_key[map], name,
							      json_object_get_string(value)});
	}
	if (!w->lost)
		w->lost = redis_finish(w->r, w->refused, w->ctx) != 0;
}

static bool same_ports(const struct counters *c, struct json_object *names)
{
	return c->ports != NULL && json_object_equal(c->ports, names);
}

static void write_maps(struct writer *w, const struct answers *a)
{
	struct json_object *names = json_object_new_array();
	struct wanted wanted;

	for (size_t i = 0; i < list_length_or_0(a->ports); i++)
		json_object_array_add(names, json_object_get(json_object_object_get(
			json_object_array_get_idx(a->ports, i), KEY(PORTS, name))));
	if (!w->c->check_maps && same_ports(w->c, names)) {
		json_object_put(names);
		return;
	}
	want_all(&wanted, w->c, a);
	for (unsigned m = 0; m < N_MAPS && !w->lost; m++)
		write_map(w, &wanted, m);
	wanted_put(&wanted);
	json_object_put(w->c->ports);
	w->c->ports = names;
	w->c->check_maps = w->lost;
}

// ---- SONiC's clears

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; (at = strstr(at, word)) != NULL; at += len)
		if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
			return len > 0;
	return false;
}

void counters_clear_request(struct counters *c, const char *json)
{
	struct json_object *words = json_tokener_parse(json);
	const char *of = NULL, *type = NULL;

	if (json_object_is_type(words, json_type_array) && json_object_array_length(words) >= 2) {
		of = json_object_get_string(json_object_array_get_idx(words, 0));
		type = json_object_get_string(json_object_array_get_idx(words, 1));
	}
	for (unsigned m = 0; of != NULL && type != NULL && m < N_MARKS; m++)
		for (unsigned i = 0; strcmp(of, marks_word[m]) == 0 && i < N(mark_rows); i++)
			if (has_word(mark_rows[i].clears, type))
				c->clear[m] |= (uint8_t)(1u << i);
	json_object_put(words);
}

// The switch has one mark for each object, and clears all marks together.
static bool clear_marks(struct client *sw)
{
	struct json_object *done =
		client_exchange_quiet(sw, request_of("clear", "what", "watermarks"));

	json_object_put(done);
	return done != NULL;
}

enum counters_end counters_write(struct counters *c, struct client *sw, struct redis *r,
				 void (*refused)(void *ctx, const char *key, const char *error),
				 void *ctx)
{
	struct writer w = {.c = c, .r = r, .refused = refused, .ctx = ctx};
	bool clearing = (c->clear[USER] | c->clear[PERSISTENT]) != 0;
	struct answers a = {0};

	if (!request_fact_lists(sw, &a) || (clearing && !clear_marks(sw))) {
		answers_put(&a);
		return COUNTERS_NO_SWITCH;
	}
	write_maps(&w, &a);
	for (size_t i = 0; i < list_length_or_0(a.ports); i++)
		write_port(&w, &a, json_object_array_get_idx(a.ports, i));
	write_queues(&w, &a, clearing);
	write_pgs(&w, &a, clearing);
	write_pools(&w, &a, clearing);
	c->clear[USER] = c->clear[PERSISTENT] = 0;
	if (!w.lost)
		w.lost = redis_finish(r, refused, ctx) != 0;
	answers_put(&a);
	return w.lost ? COUNTERS_NO_REDIS : COUNTERS_WRITTEN;
}
