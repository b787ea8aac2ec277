// SPDX-License-Identifier: Apache-2.0
// The world of the tests of a capture. The functions of switch.h that it asks are defined here over
// plain numbers, so that a worker can be as late as a test wants it; the tap and libpcap are the
// real ones. One thread beside that of the filter; included by one file of a program.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sched.h>

#include <json-c/json.h>

#include "control/capture/capture_wire.h"
#include "control/daemon/capture.h"
#include "dataplane/policy.h"
#include "dataplane/tap.h"

enum { N_PORTS = 3, CLIENT = 5, OTHER = 6, MAX_TURNS = 10000000 };
static const uint64_t T0 = 1000000000, WALL = 1700000000000000000, MS = 1000000;

struct weir_switch {
	struct policy *policy;
	struct tap *tap;
	uint64_t asked, acked;
};

static struct {
	struct weir_switch sw;
	struct capture *c;
	uint64_t now_ns;
	struct json_object *data; // the last answer
	char error[256];
	unsigned client, n_answers;
} w;

const struct policy *switch_policy(const struct weir_switch *sw)
{
	return sw->policy;
}

unsigned switch_n_workers(const struct weir_switch *sw)
{
	return sw->policy->n_workers;
}

uint64_t switch_set_tap(struct weir_switch *sw, struct tap *tap)
{
	sw->tap = tap;
	return ++sw->asked;
}

bool switch_request_done(const struct weir_switch *sw, uint64_t request)
{
	return sw->acked >= request;
}

static inline uint64_t wall_ns(void)
{
	return WALL + w.now_ns - T0;
}

static inline void on_answer(void *arg, unsigned client, const char *error,
			     struct json_object *data)
{
	assert_ptr_equal(arg, &w);
	if (error != NULL) {
		snprintf(w.error, sizeof(w.error), "%s", error);
	} else {
		json_object_put(w.data);
		w.data = data;
	}
	w.client = client;
	w.n_answers++;
}

// ---- verbs

static inline int begin_scaled(uint32_t time_scale)
{
	static const struct capture_answers answers = {.arg = &w, .answer = on_answer};
	const struct capture_times times = {.wall_ns = wall_ns, .time_scale = time_scale};
	struct policy *p = calloc(1, sizeof(*p) + N_PORTS * sizeof(p->ports[0]));

	memset(&w, 0, sizeof(w));
	w.now_ns = T0;
	p->n_ports = N_PORTS;
	p->n_workers = 2;
	strcpy(p->name, "lab");
	for (unsigned i = 0; i < N_PORTS; i++) {
		snprintf(p->ports[i].name, sizeof(p->ports[i].name), "p%u", i + 1);
		p->ports[i].max_frame = 1522;
		p->ports[i].speed_bps = 1000000000;
	}
	w.sw.policy = p;
	assert_int_equal(capture_create(&w.sw, &times, &answers, &w.c), 0);
	return 0;
}

static inline int begin(void **state)
{
	(void)state;
	return begin_scaled(1);
}

static inline int end(void **state)
{
	(void)state;
	capture_destroy(w.c);
	json_object_put(w.data);
	free(w.sw.policy);
	return 0;
}

static inline void turn(void)
{
	w.now_ns += 3 * MS;
	capture_poll(w.c, w.now_ns);
}

static inline void agree(void)
{
	w.sw.acked = w.sw.asked;
}

static inline void start(unsigned client, int port, const char *req)
{
	struct json_object *o = json_tokener_parse(req);

	assert_non_null(o);
	capture_start(w.c, client, port, o);
	json_object_put(o);
}

static inline void read_for(unsigned client, int ms)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "wait_ms", json_object_new_int(ms));
	capture_read(w.c, client, o);
	json_object_put(o);
}

static inline void stop(unsigned client, bool discard)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "discard", json_object_new_boolean(discard));
	capture_stop(w.c, client, o);
	json_object_put(o);
}

// The thread that prepares a capture takes its own time; the clock here stands meanwhile.
static inline void until_tap_or_answer(void)
{
	unsigned had = w.n_answers;

	for (unsigned i = 0; i < MAX_TURNS && w.sw.tap == NULL && w.n_answers == had; i++) {
		capture_poll(w.c, w.now_ns);
		sched_yield();
	}
	assert_true(w.sw.tap != NULL || w.n_answers > had);
}

static inline void run_capture(int port, const char *req)
{
	start(CLIENT, port, req);
	until_tap_or_answer();
	assert_non_null(w.sw.tap);
	agree();
	turn();
	assert_int_equal(w.n_answers, 1);
}

static inline void frame(unsigned worker, uint64_t t_ns, const char *bytes, struct tap_meta meta)
{
	tap_bytes(w.sw.tap, worker, t_ns, bytes, (uint32_t)strlen(bytes), &meta);
}

static inline uint64_t number(struct json_object *from, const char *key)
{
	struct json_object *v = NULL;

	assert_true(json_object_object_get_ex(from, key, &v));
	return json_object_get_uint64(v);
}

// The bytes of all frames of the last answer, one after another, separated by spaces.
static inline const char *frames(void)
{
	static char text[1024];
	uint8_t bytes[4096];
	struct json_object *v = NULL;
	size_t len, at = 0, n = 0;

	assert_true(json_object_object_get_ex(w.data, "frames", &v));
	len = (size_t)json_object_get_string_len(v);
	assert_true(len * 3 / 4 <= sizeof(bytes));
	assert_true(base64_decode(bytes, json_object_get_string(v), len));
	text[0] = '\0';
	while (at < len * 3 / 4) {
		struct capture_record r;

		memcpy(&r, bytes + at, sizeof(r));
		at += sizeof(r);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s", n > 0 ? " " : "",
				      (int)r.captured, (const char *)bytes + at);
		at += r.captured;
	}
	assert_int_equal(at, len * 3 / 4);
	return text;
}

static inline struct json_object *count_of(unsigned row)
{
	struct json_object *v = NULL;

	assert_true(json_object_object_get_ex(w.data, "counts", &v));
	return json_object_array_get_idx(v, row);
}
