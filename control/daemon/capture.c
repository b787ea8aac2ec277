// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/capture_wire.h"
#include "control/daemon/capture_batch.h"
#include "control/daemon/capture_prepare.h"
#include "control/model_time.h"
#include "dataplane/tap.h"
#include "dataplane/units.h"

enum {
	RING_BYTES = 16 << 20, // of one worker, at most
	ALL_RINGS_BYTES = 64 << 20,
	LEAST_RECORDS = 64,
	FILTER_BYTES = 256, // kept of a frame for the filter's sake, whatever the snaplen
	CLOCK_SAMPLES = 4,
	READ_WAIT_MAX_MS = 1000,
	TEXT_LEN = 2048,
};

static const uint64_t SKEW_NS = 10000; // more than the cores' clocks differ

enum state { IDLE, PREPARING, ARMING, RUNNING, ENDING, REST, OFF };
enum owed { OWED_NOTHING, OWED_START, OWED_READ, OWED_STOP };

struct capture {
	struct weir_switch *sw;
	struct capture_times times;
	struct capture_answers answers;
	uint64_t now_ns; // real time

	enum state state;
	unsigned owner; // client; meaningless when idle or off
	enum owed owed; // to the owner
	bool discard; // with OWED_STOP: nobody will read the rest
	uint64_t deadline_ns; // ARMING, ENDING: of the workers; OWED_READ, OFF: of the answer
	uint64_t heard_ns; // from the owner
	uint64_t request; // of the switch
	bool request_open; // not seen done

	struct capture_prepare *prepare;
	struct tap *tap;
	struct capture_batch *batch;
	bool full; // the last batch ended for lack of room
	struct capture_wish wish;
	uint64_t ports[POLICY_MAX_PORTS / 64];
	unsigned n_workers;

	unsigned n_samples;
	uint64_t barrier_ns, horizon_ns; // model time

	struct json_object *next; // request that waits until the one before is off; NULL: none
	unsigned next_client;
	int next_port;
};

static uint64_t model_ns(const struct capture *c)
{
	return model_time_ns(c->times.time_scale, c->now_ns);
}

// ---- answers

static void pay_ok(struct capture *c, struct json_object *data)
{
	c->owed = OWED_NOTHING;
	c->heard_ns = c->now_ns;
	c->answers.ok(c->answers.arg, c->owner, data);
}

static void pay_error(struct capture *c, const char *text)
{
	c->owed = OWED_NOTHING;
	c->answers.error(c->answers.arg, c->owner, text);
}

static bool wanted(const struct capture *c, unsigned port)
{
	return c->ports[port / 64] >> (port % 64) & 1;
}

static void add_u64(struct json_object *to, const char *key, uint64_t v)
{
	json_object_object_add(to, key, json_object_new_uint64(v));
}

static void add_text(struct json_object *to, const char *key, const char *v)
{
	json_object_object_add(to, key, json_object_new_string(v));
}

static void add_started(const struct capture *c, struct json_object *data)
{
	const struct policy *pol = switch_policy(c->sw);
	struct json_object *list = json_object_new_array();

	add_text(data, "switch", pol->name);
	add_u64(data, "snaplen", c->wish.snaplen);
	add_u64(data, "started_ns", model_ns(c) + c->wish.wall_offset_ns);
	json_object_object_add(data, "ports", list);
	for (unsigned i = 0; i < pol->n_ports; i++) {
		struct json_object *row = json_object_new_object();

		if (!wanted(c, i)) {
			json_object_put(row);
			continue;
		}
		add_u64(row, "index", i);
		add_text(row, "port", pol->ports[i].name);
		add_text(row, "device", pol->ports[i].device);
		add_u64(row, "speed_bps", pol->ports[i].speed_bps);
		json_object_array_add(list, row);
	}
}

static void add_counts(const struct capture *c, struct json_object *data)
{
	const struct policy *pol = switch_policy(c->sw);
	struct json_object *list = json_object_new_array();

	json_object_object_add(data, "counts", list);
	for (unsigned i = 0; i < pol->n_ports; i++) {
		struct capture_count n = capture_batch_count(c->batch, i);
		struct json_object *row;

		if (!wanted(c, i))
			continue;
		row = json_object_new_object();
		add_u64(row, "index", i);
		add_u64(row, "seen", n.seen);
		add_u64(row, "matched", n.matched);
		add_u64(row, "lost", tap_lost_of(c->tap, i));
		json_object_array_add(list, row);
	}
}

// ---- the workers

static void hand_tap(struct capture *c, struct tap *tap)
{
	c->request = switch_set_tap(c->sw, tap);
	c->request_open = true;
}

static bool workers_agree(struct capture *c)
{
	if (c->request_open && switch_request_done(c->sw, c->request))
		c->request_open = false;
	return !c->request_open;
}

static void to_idle(struct capture *c)
{
	capture_prepare_drop(c->prepare);
	c->prepare = NULL;
	c->tap = NULL;
	c->owed = OWED_NOTHING;
	c->state = IDLE;
}

// Nobody wants the capture any more.
static void switch_off(struct capture *c)
{
	c->owed = OWED_NOTHING;
	if (c->state == REST) {
		to_idle(c);
		return;
	}
	if (c->state == ARMING || c->state == RUNNING)
		hand_tap(c, NULL);
	c->state = OFF;
}

static void serve_read(struct capture *c)
{
	bool all = capture_batch_fill(c->batch, c->horizon_ns);
	bool over = all && c->state == REST;
	struct json_object *data;

	c->full = !all;
	if (capture_batch_empty(c->batch) && !over && c->now_ns < c->deadline_ns)
		return;
	data = json_object_new_object();
	json_object_object_add(data, "frames", capture_batch_text(c->batch));
	json_object_object_add(data, "end", json_object_new_boolean(over));
	if (over)
		add_counts(c, data);
	pay_ok(c, data);
	if (over)
		to_idle(c);
}

// ---- requests

static const char *text_in(struct json_object *req, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(req, key, &v) || !json_object_is_type(v, json_type_string))
		return NULL;
	return json_object_get_string(v);
}

static int64_t number_in(struct json_object *req, const char *key, int64_t otherwise)
{
	struct json_object *v;

	if (!json_object_object_get_ex(req, key, &v) || !json_object_is_type(v, json_type_int))
		return otherwise;
	return json_object_get_int64(v);
}

static void choose_ports(struct capture *c, int port, uint32_t *max_frame)
{
	const struct policy *pol = switch_policy(c->sw);

	memset(c->ports, 0, sizeof(c->ports));
	*max_frame = 0;
	for (unsigned i = 0; i < pol->n_ports; i++) {
		if (port != CAPTURE_ALL_PORTS && port != (int)i)
			continue;
		c->ports[i / 64] |= 1ull << (i % 64);
		if (pol->ports[i].max_frame > *max_frame)
			*max_frame = pol->ports[i].max_frame;
	}
}

static uint32_t records_for(const struct capture *c, uint32_t snaplen)
{
	uint64_t bytes = ALL_RINGS_BYTES / c->n_workers;
	uint32_t n = LEAST_RECORDS;

	if (bytes > RING_BYTES)
		bytes = RING_BYTES;
	while (2ull * n * (snaplen + sizeof(struct tap_record) + 64) <= bytes)
		n *= 2;
	return n;
}

// What the request asks for, into c and *p. NULL, or what is wrong with it.
static const char *read_start(struct capture *c, int port, struct json_object *req,
			      struct tap_params *p)
{
	int64_t snaplen = number_in(req, "snaplen", 0);
	const char *filter = text_in(req, "filter");
	uint32_t max_frame;

	if (!capture_only_of(text_in(req, "only"), &c->wish.only))
		return "only is drops, marked or pfc";
	if (snaplen < 0 || snaplen > TAP_MAX_SNAPLEN)
		return "snaplen is from 1 to 16384 bytes";
	if (filter != NULL && strlen(filter) > CAPTURE_MAX_FILTER)
		return "a filter is at most 1000 bytes long";
	choose_ports(c, port, &max_frame);
	c->wish.snaplen = snaplen != 0 ? (uint32_t)snaplen : max_frame;
	if (c->wish.snaplen > TAP_MAX_SNAPLEN)
		c->wish.snaplen = TAP_MAX_SNAPLEN;
	*p = (struct tap_params){.n_workers = c->n_workers, .snaplen = c->wish.snaplen};
	if (p->snaplen < FILTER_BYTES)
		p->snaplen = FILTER_BYTES;
	p->n_records = records_for(c, p->snaplen);
	memcpy(p->ports, c->ports, sizeof(p->ports));
	return NULL;
}

static void refuse(struct capture *c, const char *why)
{
	struct json_object *data = json_object_new_object();

	add_text(data, "refused", why);
	pay_ok(c, data);
}

// Nothing is in the way.
static void begin(struct capture *c, unsigned client, int port, struct json_object *req)
{
	struct tap_params params;
	const char *wrong;

	c->owner = client;
	wrong = read_start(c, port, req, &params);
	if (wrong != NULL) {
		refuse(c, wrong);
		return;
	}
	if (capture_prepare_start(text_in(req, "filter"), &params, &c->prepare) != 0) {
		pay_error(c, "no memory or thread for a capture");
		return;
	}
	c->n_samples = 0;
	c->full = false;
	c->horizon_ns = 0;
	c->request_open = false;
	c->owed = OWED_START;
	c->state = PREPARING;
}

void capture_start(struct capture *c, unsigned client, int port, struct json_object *req)
{
	// A client that begins anew has no use for what it began before; nor has one that took the
	// place of a client that left between two requests.
	if (c->state != IDLE && c->state != OFF && c->owner == client)
		switch_off(c);
	if (c->state == IDLE) {
		begin(c, client, port, req);
	} else if (c->state == OFF && c->next == NULL) {
		c->next = json_object_get(req);
		c->next_client = client;
		c->next_port = port;
		c->deadline_ns = c->now_ns + CAPTURE_ACK_NS;
	} else {
		c->answers.error(c->answers.arg, client,
				 "another capture is running; there is one at a time, stop that "
				 "one first");
	}
}
static bool owns(struct capture *c, unsigned client)
{
	bool is = (c->state == RUNNING || c->state == REST) && c->owner == client;

	if (!is)
		c->answers.error(c->answers.arg, client,
				 "no capture of this client is running; one that is not read for "
				 "10 s is ended");
	return is;
}

void capture_read(struct capture *c, unsigned client, struct json_object *req)
{
	int64_t wait_ms = number_in(req, "wait_ms", 0);

	if (!owns(c, client))
		return;
	if (wait_ms < 0)
		wait_ms = 0;
	if (wait_ms > READ_WAIT_MAX_MS)
		wait_ms = READ_WAIT_MAX_MS;
	c->owed = OWED_READ;
	c->deadline_ns = c->now_ns + (uint64_t)wait_ms * MS_NS;
	// Otherwise the next turn of the loop serves it: small batches would cost more than they
	// are worth.
	if (c->full || c->state == REST)
		serve_read(c);
}

void capture_stop(struct capture *c, unsigned client, struct json_object *req)
{
	struct json_object *discard;

	if (!owns(c, client))
		return;
	c->discard = json_object_object_get_ex(req, "discard", &discard) &&
		     json_object_get_boolean(discard);
	c->owed = OWED_STOP;
	c->deadline_ns = c->now_ns + CAPTURE_ACK_NS;
	if (c->state == RUNNING)
		hand_tap(c, NULL);
	c->state = ENDING;
}

static void forget_next(struct capture *c)
{
	json_object_put(c->next);
	c->next = NULL;
}

void capture_gone(struct capture *c, unsigned client)
{
	if (c->next != NULL && c->next_client == client)
		forget_next(c);
	if (c->state != IDLE && c->state != OFF && c->owner == client)
		switch_off(c);
}

// ---- the turns of the control loop

// The difference between the two clocks: the smallest of a few samples, since whatever comes
// between the two readings only makes it larger.
static void sample_clocks(struct capture *c)
{
	uint64_t offset_ns = c->times.wall_ns() - model_ns(c);

	if (c->n_samples == 0 || offset_ns < c->wish.wall_offset_ns)
		c->wish.wall_offset_ns = offset_ns;
	c->n_samples++;
}

static void poll_preparing(struct capture *c)
{
	const char *error;

	sample_clocks(c);
	if (!capture_prepare_done(c->prepare) || c->n_samples < CLOCK_SAMPLES)
		return;
	error = capture_prepare_error(c->prepare);
	if (error != NULL) {
		if (capture_prepare_misused(c->prepare))
			refuse(c, error);
		else
			pay_error(c, error);
		to_idle(c);
		return;
	}
	c->tap = capture_prepare_tap(c->prepare);
	c->wish.filter = c->prepare;
	capture_batch_begin(c->batch, c->tap, &c->wish);
	hand_tap(c, c->tap);
	c->deadline_ns = c->now_ns + CAPTURE_ACK_NS;
	c->state = ARMING;
}

static bool late(struct capture *c)
{
	if (c->now_ns < c->deadline_ns)
		return false;
	pay_error(c, "a worker did not answer for 1 s; is its core overloaded?");
	switch_off(c);
	return true;
}

static void next_barrier(struct capture *c)
{
	c->barrier_ns = model_ns(c);
	hand_tap(c, c->tap);
}

static void poll_arming(struct capture *c)
{
	struct json_object *data;

	if (!workers_agree(c)) {
		late(c);
		return;
	}
	data = json_object_new_object();
	add_started(c, data);
	pay_ok(c, data);
	c->state = RUNNING;
	next_barrier(c);
}

static void poll_running(struct capture *c)
{
	uint64_t skew_ns = model_span_ns(c->times.time_scale, SKEW_NS);

	if (workers_agree(c)) {
		c->horizon_ns = c->barrier_ns > skew_ns ? c->barrier_ns - skew_ns : 0;
		next_barrier(c);
	}
	if (c->owed == OWED_READ)
		serve_read(c);
	else if (c->now_ns - c->heard_ns > CAPTURE_SILENCE_NS)
		switch_off(c);
}

static void poll_ending(struct capture *c)
{
	struct json_object *data;

	if (!workers_agree(c)) {
		late(c);
		return;
	}
	c->horizon_ns = UINT64_MAX;
	c->state = REST;
	data = json_object_new_object();
	if (c->discard)
		add_counts(c, data);
	pay_ok(c, data);
	if (c->discard)
		to_idle(c);
}

static void poll_rest(struct capture *c)
{
	if (c->owed == OWED_READ)
		serve_read(c);
	else if (c->now_ns - c->heard_ns > CAPTURE_SILENCE_NS)
		switch_off(c);
}

static void poll_off(struct capture *c)
{
	if (capture_prepare_done(c->prepare) && workers_agree(c)) {
		to_idle(c);
		if (c->next != NULL)
			begin(c, c->next_client, c->next_port, c->next);
		forget_next(c);
	} else if (c->next != NULL && c->now_ns >= c->deadline_ns) {
		c->answers.error(c->answers.arg, c->next_client,
				 "the capture before this one has not ended after 1 s; is a "
				 "worker's core overloaded?");
		forget_next(c);
	}
}

static void poll_idle(struct capture *c)
{
	(void)c;
}

void capture_poll(struct capture *c, uint64_t now_ns)
{
	static void (*const turn[])(struct capture *c) = {
		[IDLE] = poll_idle,	    [PREPARING] = poll_preparing, [ARMING] = poll_arming,
		[RUNNING] = poll_running, [ENDING] = poll_ending,	    [REST] = poll_rest,
		[OFF] = poll_off,
	};

	c->now_ns = now_ns;
	turn[c->state](c);
}

int capture_create(struct weir_switch *sw, const struct capture_times *times,
		   const struct capture_answers *answers, struct capture **out)
{
	unsigned n_workers = switch_n_workers(sw);
	struct capture *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return -ENOMEM;
	if (capture_batch_create(n_workers, &c->batch) != 0) {
		free(c);
		return -ENOMEM;
	}
	c->sw = sw;
	c->times = *times;
	c->answers = *answers;
	c->n_workers = n_workers;
	*out = c;
	return 0;
}

void capture_destroy(struct capture *c)
{
	if (c == NULL)
		return;
	json_object_put(c->next);
	capture_prepare_drop(c->prepare);
	capture_batch_destroy(c->batch);
	free(c);
}
