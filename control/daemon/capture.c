// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/capture.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>
#include <pcap/pcap.h>

#include "control/base/json_in.h"
#include "control/base/model_time.h"
#include "control/capture/pcapng.h"
#include "control/capture/capture_wire.h"
#include "control/observe/fact.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/tap.h"

enum {
	RING_BYTES = 16 << 20, // of one worker, at most
	ALL_RINGS_BYTES = 64 << 20,
	LEAST_RECORDS = 64,
	FILTER_BYTES = 256, // kept of a frame for the filter's sake, whatever the snaplen
	CLOCK_SAMPLES = 4,
	READ_WAIT_MAX_MS = 1000,
	WINDOW = 64, // records of a worker looked at together
	BATCH_BYTES = 256 << 10, // of one answer
	LOOK_RECORDS = 8192, // examined at most for one answer, so that the loop goes on turning
	LONGEST_FRAME = 65535,
	ERROR_LEN = CAPTURE_MAX_FILTER + PCAP_ERRBUF_SIZE + 64,
};

static const uint64_t SKEW_NS = 10 * US_NS; // more than the cores' clocks differ

enum state { IDLE, PREPARING, ARMING, RUNNING, ENDING, REST, OFF };
enum answer { ANSWER_NONE, ANSWER_START, ANSWER_READ, ANSWER_STOP };

enum only { ONLY_ALL, ONLY_DROPS, ONLY_MARKED, ONLY_PFC, N_ONLY };

struct selection {
	enum only only;
	uint32_t snaplen; // bytes of each frame handed on, at most
	uint64_t wall_offset_ns; // switch time to time since 1970
};

struct count {
	uint64_t seen, matched; // frames examined, and frames that match the request
};

// The slow beginning of a capture, on a thread of its own so that the control loop goes on: libpcap
// may read files or ask a name server for a host's address, and the tap is large. The thread's last
// act is to set `done` (release); control looks at the rest after it has seen that (acquire).
// Two hold it: the thread until it is done, and control until it drops it. The last one frees it.
struct preparation {
	_Atomic bool done;
	_Atomic int holders;
	struct tap_params params;
	struct tap *tap;
	struct bpf_program program;
	bool has_program, misused;
	char error[ERROR_LEN];
	char filter[CAPTURE_MAX_FILTER + 1];
};

struct cursor {
	const struct tap_record *rec[WINDOW];
	unsigned n, at;
};

struct capture {
	struct weir_switch *sw;
	struct capture_times times;
	struct capture_answers answers;
	uint64_t now_ns; // real time

	enum state state;
	unsigned owner; // client; meaningless when idle or off
	enum answer pending; // to the owner
	bool discard; // with ANSWER_STOP: the client will not read the rest
	uint64_t deadline_ns; // ARMING, ENDING: of the workers; ANSWER_READ, OFF: of the answer
	uint64_t last_request_ns; // of the owner
	uint64_t request; // of the switch
	bool request_open; // not seen done

	struct preparation *prepare;
	struct tap *tap; // of `prepare`, once it is done
	struct selection selection;
	uint64_t ports[POLICY_MAX_PORTS / 64];
	unsigned n_workers;

	unsigned n_samples;
	uint64_t barrier_ns, horizon_ns; // model time

	struct json_object *next; // request that waits until the one before is off; NULL: none
	unsigned next_client;
	int next_port;

	// The frames of one answer.
	bool full; // the last batch ended for lack of room
	size_t batch_len;
	uint8_t batch[BATCH_BYTES];
	struct count count[POLICY_MAX_PORTS];
	struct cursor cursor[]; // n_workers
};

// ---- preparation

static void preparation_release(struct preparation *p)
{
	if (atomic_fetch_sub(&p->holders, 1) > 1)
		return;
	if (p->has_program)
		pcap_freecode(&p->program);
	tap_destroy(p->tap);
	free(p);
}

static void *prepare_tap(void *arg)
{
	struct preparation *p = arg;
	pcap_t *dead = p->filter[0] != '\0' ? pcap_open_dead(DLT_EN10MB, LONGEST_FRAME) : NULL;

	if (dead != NULL) {
		p->has_program = pcap_compile(dead, &p->program, p->filter, 1,
					      PCAP_NETMASK_UNKNOWN) == 0;
		p->misused = !p->has_program;
		if (p->misused)
			snprintf(p->error, sizeof(p->error), "the filter \"%s\" is wrong: %s",
				 p->filter, pcap_geterr(dead));
		pcap_close(dead);
	} else if (p->filter[0] != '\0') {
		snprintf(p->error, sizeof(p->error), "no memory for a filter");
	}
	if (p->error[0] == '\0' && tap_create(&p->params, &p->tap) != 0)
		snprintf(p->error, sizeof(p->error), "no memory for the frames of a capture");
	atomic_store_explicit(&p->done, true, memory_order_release);
	preparation_release(p);
	return NULL;
}

static int preparation_start(const char *filter, const struct tap_params *params,
			     struct preparation **out)
{
	struct preparation *p = calloc(1, sizeof(*p));
	pthread_t thread;
	int err;

	if (p == NULL)
		return -ENOMEM;
	p->params = *params;
	if (filter != NULL)
		strcpy(p->filter, filter);
	atomic_store(&p->holders, 2);
	err = pthread_create(&thread, NULL, prepare_tap, p);
	if (err != 0) {
		free(p);
		return -err;
	}
	pthread_detach(thread);
	*out = p;
	return 0;
}

static bool preparation_done(const struct preparation *p)
{
	return atomic_load_explicit(&p->done, memory_order_acquire);
}

// ---- the frames of one answer: merged by time, filtered, packed, counted. Of equal times a
// worker's own order stands, and the lower worker comes first.

static bool matches(const struct capture *c, const struct tap_record *r)
{
	static const uint8_t mac_control_pfc[] = {0x88, 0x08, 0x01, 0x01};
	const struct preparation *p = c->prepare;
	bool pfc = r->captured >= 16 && memcmp(r->data + 12, mac_control_pfc, 4) == 0;

	if ((c->selection.only == ONLY_DROPS && r->meta.direction != TAP_DROP) ||
	    (c->selection.only == ONLY_MARKED && !r->meta.marked) ||
	    (c->selection.only == ONLY_PFC && !pfc))
		return false;
	return !p->has_program ||
	       bpf_filter(p->program.bf_insns, r->data, r->len, r->captured) != 0;
}

static void pack(struct capture *c, const struct tap_record *r)
{
	struct capture_record out = capture_record_of(r, c->selection.snaplen);

	out.t_ns += c->selection.wall_offset_ns;
	memcpy(c->batch + c->batch_len, &out, sizeof(out));
	c->batch_len += sizeof(out);
	memcpy(c->batch + c->batch_len, r->data, out.captured);
	c->batch_len += out.captured;
}

static void refill(struct capture *c, unsigned worker)
{
	struct cursor *k = &c->cursor[worker];

	tap_release(c->tap, worker, k->at);
	k->n = tap_read(c->tap, worker, k->rec, WINDOW);
	k->at = 0;
}

// The oldest record of all workers up to the horizon; NULL: none. The lower worker wins a tie.
static struct cursor *oldest(struct capture *c, unsigned *worker)
{
	uint64_t t_ns = c->horizon_ns;
	struct cursor *best = NULL;

	for (unsigned w = 0; w < c->n_workers; w++) {
		struct cursor *k = &c->cursor[w];

		if (k->at == k->n || k->rec[k->at]->t_ns > t_ns ||
		    (best != NULL && k->rec[k->at]->t_ns == t_ns))
			continue;
		t_ns = k->rec[k->at]->t_ns;
		best = k;
		*worker = w;
	}
	return best;
}

// Takes records up to the horizon out of the rings, as many as one answer can hold. True: there are
// no more of them now.
static bool fill_batch(struct capture *c)
{
	size_t longest = sizeof(struct capture_record) + c->selection.snaplen;
	bool all = false;

	c->batch_len = 0;
	for (unsigned w = 0; w < c->n_workers; w++) {
		c->cursor[w].at = 0;
		refill(c, w);
	}
	for (unsigned looked = 0; looked < LOOK_RECORDS && BATCH_BYTES - c->batch_len >= longest;
	     looked++) {
		unsigned w = 0;
		struct cursor *k = oldest(c, &w);
		const struct tap_record *r;

		all = k == NULL;
		if (all)
			break;
		r = k->rec[k->at++];
		c->count[r->meta.port].seen++;
		if (matches(c, r)) {
			c->count[r->meta.port].matched++;
			pack(c, r);
		}
		if (k->at == k->n)
			refill(c, w);
	}
	for (unsigned w = 0; w < c->n_workers; w++)
		tap_release(c->tap, w, c->cursor[w].at);
	return all;
}

// ---- answers

static uint64_t model_ns(const struct capture *c)
{
	return model_time_ns(c->times.time_scale, c->now_ns);
}

// Of the owner.
static void answer_capture_owner(struct capture *c, const char *error, struct json_object *data)
{
	c->pending = ANSWER_NONE;
	c->last_request_ns = c->now_ns;
	c->answers.answer(c->answers.arg, c->owner, error, data);
}

static bool is_port_captured(const struct capture *c, unsigned port)
{
	return c->ports[port / 64] >> (port % 64) & 1;
}

static void add_started(const struct capture *c, struct json_object *data)
{
	const struct policy *pol = switch_policy(c->sw);
	struct json_object *list;

	row_text(data, "switch", pol->name);
	row_u64(data, "snaplen", c->selection.snaplen);
	row_u64(data, "started_ns", model_ns(c) + c->selection.wall_offset_ns);
	list = list_in(data, KEY(WORKERS, ports));
	for (unsigned i = 0; i < pol->n_ports; i++) {
		struct json_object *row = is_port_captured(c, i) ? row_in(list) : NULL;

		if (row == NULL)
			continue;
		row_u64(row, "index", i);
		row_text(row, KEY(QUEUES, port), pol->ports[i].name);
		row_text(row, KEY(PORTS, device), pol->ports[i].device);
		row_u64(row, KEY(PORTS, speed_bps), pol->ports[i].speed_bps);
	}
}

static void add_counts(const struct capture *c, struct json_object *data)
{
	struct json_object *list = list_in(data, "counts");

	for (unsigned i = 0; i < switch_policy(c->sw)->n_ports; i++) {
		struct json_object *row = is_port_captured(c, i) ? row_in(list) : NULL;

		if (row == NULL)
			continue;
		row_u64(row, "index", i);
		row_u64(row, "seen", c->count[i].seen);
		row_u64(row, "matched", c->count[i].matched);
		row_u64(row, KEY(STEERING, lost), tap_lost_of(c->tap, i));
	}
}

// ---- the workers

static void set_tap(struct capture *c, struct tap *tap)
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
	if (c->prepare != NULL)
		preparation_release(c->prepare);
	c->prepare = NULL;
	c->tap = NULL;
	c->pending = ANSWER_NONE;
	c->state = IDLE;
}

// The capture has no client any more.
static void switch_off(struct capture *c)
{
	c->pending = ANSWER_NONE;
	if (c->state == REST) {
		to_idle(c);
		return;
	}
	if (c->state == ARMING || c->state == RUNNING)
		set_tap(c, NULL);
	c->state = OFF;
}

static void serve_read(struct capture *c)
{
	bool all = fill_batch(c);
	bool over = all && c->state == REST;
	size_t len = base64_len(c->batch_len);
	struct json_object *data;
	char *text;

	c->full = !all;
	if (c->batch_len == 0 && !over && c->now_ns < c->deadline_ns)
		return;
	data = json_object_new_object();
	// Without memory the frames are missing from the capture, and nothing worse happens.
	text = malloc(len + 1);
	if (text != NULL)
		base64_encode(text, c->batch, c->batch_len);
	json_object_object_add(data, KEY(STAND_IN, frames),
			       text != NULL ? json_object_new_string_len(text, (int)len)
					    : json_object_new_string(""));
	free(text);
	row_bool(data, "end", over);
	if (over)
		add_counts(c, data);
	answer_capture_owner(c, NULL, data);
	if (over)
		to_idle(c);
}

// ---- requests

// Reads the request into c and *p. NULL, or the error.
static const char *read_start(struct capture *c, int port, struct json_object *req,
			      struct tap_params *p)
{
	static const char *const onlys[N_ONLY] = {[ONLY_ALL] = "all", [ONLY_DROPS] = "drops",
						  [ONLY_MARKED] = "marked", [ONLY_PFC] = "pfc"};
	const struct policy *pol = switch_policy(c->sw);
	int64_t snaplen = number_in(req, "snaplen", 0, TAP_MAX_SNAPLEN);
	const char *filter = text_in(req, "filter"), *only = text_in(req, "only");
	uint64_t ring_bytes = ALL_RINGS_BYTES / c->n_workers;
	enum only chosen = ONLY_ALL;
	uint32_t max_frame = 0;

	while (only != NULL && chosen < N_ONLY && strcmp(only, onlys[chosen]) != 0)
		chosen++;
	if (chosen == N_ONLY)
		return "only is drops, marked or pfc";
	c->selection.only = chosen;
	if (snaplen < 0)
		return "snaplen is from 1 to 16384 bytes";
	if (filter != NULL && strlen(filter) > CAPTURE_MAX_FILTER)
		return "a filter is at most 1000 bytes long";
	memset(c->ports, 0, sizeof(c->ports));
	for (unsigned i = 0; i < pol->n_ports; i++) {
		if (port != CAPTURE_ALL_PORTS && port != (int)i)
			continue;
		c->ports[i / 64] |= 1ull << (i % 64);
		if (pol->ports[i].max_frame > max_frame)
			max_frame = pol->ports[i].max_frame;
	}
	c->selection.snaplen = snaplen != 0 ? (uint32_t)snaplen : max_frame;
	if (c->selection.snaplen > TAP_MAX_SNAPLEN)
		c->selection.snaplen = TAP_MAX_SNAPLEN;
	*p = (struct tap_params){.n_workers = c->n_workers, .snaplen = c->selection.snaplen,
				 .n_records = LEAST_RECORDS};
	if (p->snaplen < FILTER_BYTES)
		p->snaplen = FILTER_BYTES;
	if (ring_bytes > RING_BYTES)
		ring_bytes = RING_BYTES;
	while (2ull * p->n_records * (p->snaplen + sizeof(struct tap_record) + 64) <= ring_bytes)
		p->n_records *= 2;
	memcpy(p->ports, c->ports, sizeof(p->ports));
	return NULL;
}

static void refuse_capture(struct capture *c, const char *why)
{
	struct json_object *data = json_object_new_object();

	row_text(data, KEY(FLOW_TABLE, refused), why);
	answer_capture_owner(c, NULL, data);
}

// Nothing is in the way.
static void begin_client_capture(struct capture *c, unsigned client, int port,
				 struct json_object *req)
{
	struct tap_params params;
	const char *wrong;

	c->owner = client;
	wrong = read_start(c, port, req, &params);
	if (wrong != NULL) {
		refuse_capture(c, wrong);
		return;
	}
	if (preparation_start(text_in(req, "filter"), &params, &c->prepare) != 0) {
		answer_capture_owner(c, "no memory or thread for a capture", NULL);
		return;
	}
	c->n_samples = 0;
	c->full = false;
	c->horizon_ns = 0;
	c->request_open = false;
	c->pending = ANSWER_START;
	c->state = PREPARING;
}

void capture_start(struct capture *c, unsigned client, int port, struct json_object *req)
{
	// A client that starts again ends its capture before. A client may also have taken the
	// place of one that left between two requests.
	if (c->state != IDLE && c->state != OFF && c->owner == client)
		switch_off(c);
	if (c->state == IDLE) {
		begin_client_capture(c, client, port, req);
	} else if (c->state == OFF && c->next == NULL) {
		c->next = json_object_get(req);
		c->next_client = client;
		c->next_port = port;
		c->deadline_ns = c->now_ns + CAPTURE_ACK_NS;
	} else {
		c->answers.answer(c->answers.arg, client,
				  "another capture is running; there is one at a time, stop that "
				  "one first",
				  NULL);
	}
}

static bool owns(struct capture *c, unsigned client)
{
	bool is = (c->state == RUNNING || c->state == REST) && c->owner == client;

	if (!is)
		c->answers.answer(c->answers.arg, client,
				  "no capture of this client is running; one that is not read for "
				  "10 s is ended",
				  NULL);
	return is;
}

void capture_read(struct capture *c, unsigned client, struct json_object *req)
{
	int64_t wait_ms = number_in(req, "wait_ms", 0, INT64_MAX);

	if (!owns(c, client))
		return;
	if (wait_ms < 0)
		wait_ms = 0;
	if (wait_ms > READ_WAIT_MAX_MS)
		wait_ms = READ_WAIT_MAX_MS;
	c->pending = ANSWER_READ;
	c->deadline_ns = c->now_ns + (uint64_t)wait_ms * MS_NS;
	// Otherwise the next poll serves it: small batches would cost more than they are worth.
	if (c->full || c->state == REST)
		serve_read(c);
}

void capture_stop(struct capture *c, unsigned client, struct json_object *req)
{
	if (!owns(c, client))
		return;
	c->discard = true_in(req, "discard");
	c->pending = ANSWER_STOP;
	c->deadline_ns = c->now_ns + CAPTURE_ACK_NS;
	if (c->state == RUNNING)
		set_tap(c, NULL);
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

// ---- one poll in each state

static void poll_preparing(struct capture *c)
{
	const struct preparation *p = c->prepare;
	uint64_t offset_ns = c->times.wall_ns() - model_ns(c);

	// The difference between the two clocks: the smallest of a few samples, as whatever comes
	// between the two readings only makes it larger.
	if (c->n_samples == 0 || offset_ns < c->selection.wall_offset_ns)
		c->selection.wall_offset_ns = offset_ns;
	c->n_samples++;
	if (!preparation_done(p) || c->n_samples < CLOCK_SAMPLES)
		return;
	if (p->error[0] != '\0') {
		if (p->misused)
			refuse_capture(c, p->error);
		else
			answer_capture_owner(c, p->error, NULL);
		to_idle(c);
		return;
	}
	c->tap = p->tap;
	c->batch_len = 0;
	memset(c->count, 0, sizeof(c->count));
	set_tap(c, c->tap);
	c->deadline_ns = c->now_ns + CAPTURE_ACK_NS;
	c->state = ARMING;
}

// False: not yet. The capture ends when a worker is late.
static bool workers_in_time(struct capture *c)
{
	if (workers_agree(c))
		return true;
	if (c->now_ns >= c->deadline_ns) {
		answer_capture_owner(c, "a worker did not answer for 1 s; is its core overloaded?",
				     NULL);
		switch_off(c);
	}
	return false;
}

static void next_barrier(struct capture *c)
{
	c->barrier_ns = model_ns(c);
	set_tap(c, c->tap);
}

static void poll_arming(struct capture *c)
{
	struct json_object *data;

	if (!workers_in_time(c))
		return;
	data = json_object_new_object();
	add_started(c, data);
	answer_capture_owner(c, NULL, data);
	c->state = RUNNING;
	next_barrier(c);
}

// ENDING is over, or the capture runs.
static void poll_reader(struct capture *c)
{
	if (c->pending == ANSWER_READ)
		serve_read(c);
	else if (c->now_ns - c->last_request_ns > CAPTURE_SILENCE_NS)
		switch_off(c);
}

static void poll_running(struct capture *c)
{
	uint64_t skew_ns = model_span_ns(c->times.time_scale, SKEW_NS);

	if (workers_agree(c)) {
		c->horizon_ns = c->barrier_ns > skew_ns ? c->barrier_ns - skew_ns : 0;
		next_barrier(c);
	}
	poll_reader(c);
}

static void poll_ending(struct capture *c)
{
	struct json_object *data;

	if (!workers_in_time(c))
		return;
	c->horizon_ns = UINT64_MAX;
	c->state = REST;
	data = json_object_new_object();
	if (c->discard)
		add_counts(c, data);
	answer_capture_owner(c, NULL, data);
	if (c->discard)
		to_idle(c);
}

static void poll_off(struct capture *c)
{
	if (preparation_done(c->prepare) && workers_agree(c)) {
		to_idle(c);
		if (c->next != NULL)
			begin_client_capture(c, c->next_client, c->next_port, c->next);
		forget_next(c);
	} else if (c->next != NULL && c->now_ns >= c->deadline_ns) {
		c->answers.answer(c->answers.arg, c->next_client,
				  "the capture before this one has not ended after 1 s; is a "
				  "worker's core overloaded?",
				  NULL);
		forget_next(c);
	}
}

void capture_poll(struct capture *c, uint64_t now_ns)
{
	static void (*const poll[])(struct capture *c) = {
		[PREPARING] = poll_preparing, [ARMING] = poll_arming,
		[RUNNING] = poll_running,     [ENDING] = poll_ending,
		[REST] = poll_reader,     [OFF] = poll_off,
	};

	c->now_ns = now_ns;
	if (c->state != IDLE)
		poll[c->state](c);
}

int capture_create(struct weir_switch *sw, const struct capture_times *times,
		   const struct capture_answers *answers, struct capture **out)
{
	unsigned n_workers = switch_n_workers(sw);
	struct capture *c = calloc(1, sizeof(*c) + n_workers * sizeof(c->cursor[0]));

	if (c == NULL)
		return -ENOMEM;
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
	if (c->prepare != NULL)
		preparation_release(c->prepare);
	free(c);
}
