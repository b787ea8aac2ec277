// SPDX-License-Identifier: Apache-2.0
// weirctl capture: begins a capture at the switch, fetches the frames, decides when the capture
// ends, and writes the file. The protocol is in docs/capture.md; what a frame becomes is in
// control/capture/pcapng.h.
#include "control/ctl/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/base/stop.h"
#include "control/base/units.h"
#include "control/capture/pcapng.h"
#include "control/ctl/client.h"
#include "control/ctl/ctl.h"
#include "control/observe/fact.h"
#include "dataplane/base/units.h"
#include "dataplane/drop.h"
#include "dataplane/tap.h"
#include "drivers/system_clock.h"

enum { BUFFER_BYTES = 1 << 20, NO_INTERFACE = -1, TEXT_LEN = 128 };

struct kept {
	struct capture_record r;
	uint8_t *data;
};

struct capture_file {
	FILE *out;
	const char *path;
	int error; // errno of the first failure
	int interface[POLICY_MAX_PORTS]; // by port, in the file
	uint64_t written[POLICY_MAX_PORTS];
	uint64_t started_ns, latest_ns;
	unsigned last, n_kept, next; // the ring of those that are only kept
	struct kept *kept;
};

// ---- the file

static bool note_write_error(struct capture_file *f, bool ok)
{
	if (!ok && f->error == 0)
		f->error = errno != 0 ? errno : EIO;
	return ok;
}

static bool write_frame(struct capture_file *f, const struct capture_record *r,
			const uint8_t *data)
{
	f->written[r->port]++;
	return note_write_error(
		f, capture_frame_write(f->out, (uint32_t)f->interface[r->port], r, data));
}

static bool keep_last_frame(struct capture_file *f, const struct capture_record *r,
			    const uint8_t *data)
{
	struct kept *k = &f->kept[f->next];
	uint8_t *copy = realloc(k->data, r->captured + 1);

	if (copy == NULL)
		return note_write_error(f, false);
	memcpy(copy, data, r->captured);
	k->data = copy;
	k->r = *r;
	f->next = (f->next + 1) % f->last;
	if (f->n_kept < f->last)
		f->n_kept++;
	return true;
}

bool capture_file_add(struct capture_file *f, const struct capture_record *r, const uint8_t *data)
{
	if (r->port >= POLICY_MAX_PORTS || f->interface[r->port] == NO_INTERFACE)
		return true; // of no port of this capture: not written
	f->latest_ns = r->t_ns;
	return f->last != 0 ? keep_last_frame(f, r, data) : write_frame(f, r, data);
}

static bool capture_file_flush(struct capture_file *f)
{
	return note_write_error(f, fflush(f->out) == 0);
}

static bool write_head(struct capture_file *f, struct json_object *started,
		       const char *filter)
{
	struct json_object *ports = json_object_object_get(started, KEY(WORKERS, ports));
	size_t n = ports != NULL ? json_object_array_length(ports) : 0;
	const char *name = text_in(started, "switch");
	char text[TEXT_LEN];

	snprintf(text, sizeof(text), "weirctl " WEIR_VERSION " (switch %s)",
		 name != NULL ? name : "");
	if (!note_write_error(f, pcapng_section(f->out, text)))
		return false;
	for (size_t i = 0; i < n; i++) {
		struct json_object *row = json_object_array_get_idx(ports, i);
		uint64_t port = count_in(row, "index");
		const struct pcapng_interface interface = {
			.name = text_in(row, KEY(QUEUES, port)),
			.description = text_in(row, KEY(PORTS, device)),
			.filter = filter,
			.speed_bps = count_in(row, KEY(PORTS, speed_bps)),
			.snaplen = (uint32_t)count_in(started, "snaplen"),
		};

		if (port >= POLICY_MAX_PORTS)
			continue;
		f->interface[port] = (int)i;
		if (!note_write_error(f, pcapng_interface(f->out, &interface)))
			return false;
	}
	return capture_file_flush(f);
}

static void release(struct capture_file *f)
{
	for (unsigned i = 0; f->kept != NULL && i < f->n_kept; i++)
		free(f->kept[i].data);
	free(f->kept);
	free(f);
}

static FILE *stream_of(const char *path)
{
	bool standard = strcmp(path, "-") == 0;
	// Payload of others: a file that is made here is for its owner alone.
	int fd = standard ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *out = standard ? stdout : fd >= 0 ? fdopen(fd, "w") : NULL;

	if (out != NULL)
		setvbuf(out, NULL, _IOFBF, BUFFER_BYTES);
	return out;
}

struct capture_file *capture_file_open(const char *path, struct json_object *started,
				       unsigned last, const char *filter)
{
	struct capture_file *f = calloc(1, sizeof(*f));

	if (f != NULL && last != 0)
		f->kept = calloc(last, sizeof(f->kept[0]));
	if (f == NULL || (last != 0 && f->kept == NULL)) {
		free(f);
		fputs("weirctl: out of memory\n", stderr);
		return NULL;
	}
	f->path = path;
	f->last = last;
	f->started_ns = f->latest_ns = count_in(started, "started_ns");
	for (unsigned i = 0; i < POLICY_MAX_PORTS; i++)
		f->interface[i] = NO_INTERFACE;
	f->out = stream_of(path);
	if (f->out != NULL && write_head(f, started, filter))
		return f;
	fprintf(stderr, "weirctl: cannot write %s: %s\n", path,
		strerror(f->error != 0 ? f->error : errno));
	if (f->out != NULL && f->out != stdout)
		fclose(f->out);
	release(f);
	return NULL;
}

static bool write_kept(struct capture_file *f)
{
	unsigned from = f->n_kept == f->last ? f->next : 0;

	for (unsigned i = 0; i < f->n_kept; i++) {
		const struct kept *k = &f->kept[(from + i) % f->last];

		if (!write_frame(f, &k->r, k->data))
			return false;
	}
	return true;
}

static bool write_statistics(struct capture_file *f, struct json_object *counts)
{
	size_t n = counts != NULL ? json_object_array_length(counts) : 0;

	for (size_t i = 0; i < n; i++) {
		struct json_object *row = json_object_array_get_idx(counts, i);
		uint64_t port = count_in(row, "index");
		struct pcapng_statistics s = {
			.t_ns = f->latest_ns,
			.begin_ns = f->started_ns,
			.end_ns = f->latest_ns,
			.received = count_in(row, "seen") + count_in(row, KEY(STEERING, lost)),
			.dropped = count_in(row, KEY(STEERING, lost)),
			.accepted = count_in(row, "matched"),
		};

		if (port >= POLICY_MAX_PORTS || f->interface[port] == NO_INTERFACE)
			continue;
		s.interface = (uint32_t)f->interface[port];
		s.delivered = f->written[port];
		if (!note_write_error(f, pcapng_statistics(f->out, &s)))
			return false;
	}
	return true;
}

bool capture_file_close(struct capture_file *f, struct json_object *counts, uint64_t *written)
{
	bool ok = f->error == 0 && write_kept(f) && write_statistics(f, counts) &&
		  capture_file_flush(f);

	if (f->out != stdout)
		ok &= note_write_error(f, fclose(f->out) == 0);
	ok |= f->error == EPIPE;
	if (!ok)
		fprintf(stderr, "weirctl: cannot write %s: %s\n", f->path, strerror(f->error));
	*written = 0;
	for (unsigned i = 0; i < POLICY_MAX_PORTS; i++)
		*written += f->written[i];
	release(f);
	return ok;
}

// ---- the capture

enum { READ_WAIT_MS = 250 };

struct limits {
	uint64_t count; // frames; 0: none
	unsigned last; // 0: all are written
	uint64_t time_ns; // 0: none
	unsigned snaplen; // 0: whole frames
	bool until_drop;
};

struct run {
	const char *port, *path;
	struct limits limit;
	struct client client;
	struct capture_file *file;
	uint64_t end_ns; // since 1970: no frame from then on; 0: no end
	uint64_t deadline_ns; // the same on the monotonic clock
	uint64_t taken; // frames so far, written or kept
	bool over; // a limit is reached; what else comes is not wanted
	bool end; // the switch has no more
	bool hung_up; // the switch does not answer
	struct json_object *counts; // NULL until the end
};

// ---- the command line

static bool parse_limit(const char *text, unsigned max, unsigned *out)
{
	char *end;
	unsigned long n;

	if (text == NULL)
		return true;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || n == 0 || n > max)
		return false;
	*out = (unsigned)n;
	return true;
}

static int read_limits(const struct ctl *c, struct limits *l)
{
	const struct capture_words *w = &c->capture;
	const char *why = "it must be above 0";
	int64_t time_ns = 0;

	*l = (struct limits){.count = c->count, .until_drop = w->until_drop};
	if (w->time != NULL && (!unit_parse(UNIT_TIME, w->time, &time_ns, &why) || time_ns <= 0))
		return misused("--time \"%s\": %s", w->time, why);
	l->time_ns = (uint64_t)time_ns;
	if (!parse_limit(w->last, CAPTURE_LAST_MAX, &l->last))
		return misused("--last is a number from 1 to %u, not \"%s\"", CAPTURE_LAST_MAX,
			       w->last);
	if (!parse_limit(w->snaplen, TAP_MAX_SNAPLEN, &l->snaplen))
		return misused("--snaplen is a number from 1 to %u, not \"%s\"", TAP_MAX_SNAPLEN,
			       w->snaplen);
	if (w->only != NULL && strcmp(w->only, "drops") != 0 && strcmp(w->only, "marked") != 0 &&
	    strcmp(w->only, "pfc") != 0)
		return misused("--only is drops, marked or pfc, not \"%s\"", w->only);
	if (w->filter != NULL && strlen(w->filter) > CAPTURE_MAX_FILTER)
		return misused("--filter is at most %u bytes long", CAPTURE_MAX_FILTER);
	return CTL_DONE;
}

// ---- signals

static void end_at_second(int n)
{
	if (n > 1)
		_exit(CTL_FAILED);
}

// The first signal ends the capture in order. They are held back while an answer is awaited, which
// never takes long, so that no answer is cut in two.
static void catch_signals(void)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	stop_catch(SA_RESTART, end_at_second);
	sigaction(SIGPIPE, &ignore, NULL);
}

static struct json_object *request_data(struct run *r, struct json_object *req)
{
	struct json_object *data;
	sigset_t stops, before;

	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigprocmask(SIG_BLOCK, &stops, &before);
	data = client_exchange(&r->client, req);
	sigprocmask(SIG_SETMASK, &before, NULL);
	r->hung_up |= data == NULL;
	return data;
}

// ---- frames

static bool take_capture_record(struct run *r, const struct capture_record *rec,
				const uint8_t *data)
{
	if (r->end_ns != 0 && rec->t_ns >= r->end_ns) {
		r->over = true;
		return true;
	}
	if (!capture_file_add(r->file, rec, data))
		return false;
	r->taken++;
	r->over = (r->limit.count != 0 && r->taken >= r->limit.count) ||
		  (r->limit.until_drop && rec->direction == TAP_DROP &&
		   rec->reason < N_DROP_REASONS && drop_info[rec->reason].loss);
	return true;
}

// The records of an answer, in Base64.
static bool take_record_batch(struct run *r, struct json_object *frames)
{
	size_t len = (size_t)json_object_get_string_len(frames), left = len * 3 / 4;
	uint8_t *bytes = malloc(len + 1), *at = bytes;
	struct capture_record rec;
	bool ok = bytes != NULL && base64_decode(bytes, json_object_get_string(frames), len);

	while (ok && left >= sizeof(rec) && !r->over) {
		memcpy(&rec, at, sizeof(rec));
		at += sizeof(rec);
		left -= sizeof(rec);
		if (rec.captured > left || rec.captured > TAP_MAX_SNAPLEN)
			break; // cut short: the place of the next record is not known
		ok = take_capture_record(r, &rec, at);
		at += rec.captured;
		left -= rec.captured;
	}
	free(bytes);
	return ok;
}

// ---- requests until the end

static void note_counts(struct run *r, struct json_object *data)
{
	struct json_object *counts;

	if (r->counts == NULL && json_object_object_get_ex(data, "counts", &counts))
		r->counts = json_object_get(counts);
}

// False when the switch or the file has failed.
static bool fetch(struct run *r)
{
	struct json_object *req = request_of("capture-read", NULL, NULL);
	uint64_t now_ns = monotonic_ns(), left_ms = READ_WAIT_MS;
	struct json_object *data, *v;
	bool ok;

	if (r->deadline_ns != 0)
		left_ms = r->deadline_ns > now_ns ? (r->deadline_ns - now_ns) / MS_NS + 1 : 1;
	row_u64(req, "wait_ms", left_ms < READ_WAIT_MS ? left_ms : READ_WAIT_MS);
	data = request_data(r, req);
	if (data == NULL)
		return false;
	ok = !json_object_object_get_ex(data, KEY(STAND_IN, frames), &v) || take_record_batch(r, v);
	r->end = true_in(data, "end");
	note_counts(r, data);
	json_object_put(data);
	return ok && (r->limit.last != 0 || capture_file_flush(r->file));
}

static bool send_stop(struct run *r, bool discard)
{
	struct json_object *req = request_of("capture-stop", NULL, NULL);
	struct json_object *data;

	row_bool(req, "discard", discard);
	data = request_data(r, req);
	if (data == NULL)
		return false;
	note_counts(r, data);
	json_object_put(data);
	return true;
}

static bool run_capture(struct run *r)
{
	while (!r->over && stop_requests() == 0 &&
	       (r->deadline_ns == 0 || monotonic_ns() < r->deadline_ns))
		if (!fetch(r))
			return false;
	if (!r->over && !send_stop(r, false))
		return false;
	while (!r->over && !r->end)
		if (!fetch(r))
			return false;
	return r->end || send_stop(r, true);
}

static struct json_object *start_request(const struct run *r, const struct ctl *c)
{
	struct json_object *req = request_of("capture", NULL, NULL);

	if (strcmp(r->port, "all") != 0)
		row_text(req, KEY(QUEUES, port), r->port);
	if (c->capture.filter != NULL)
		row_text(req, "filter", c->capture.filter);
	if (c->capture.only != NULL)
		row_text(req, "only", c->capture.only);
	if (r->limit.snaplen != 0)
		row_u64(req, "snaplen", r->limit.snaplen);
	return req;
}

// ---- the report

static void print_capture_report(const struct run *r, uint64_t written, bool json)
{
	struct json_object *out = json_object_new_object();
	uint64_t sum[3] = {0};
	const char *const key[] = {"seen", "matched", KEY(STEERING, lost)};
	size_t n = r->counts != NULL ? json_object_array_length(r->counts) : 0;

	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < 3; k++)
			sum[k] += count_in(json_object_array_get_idx(r->counts, i), key[k]);
	row_u64(out, "written", written);
	for (unsigned k = 0; k < 3 && r->counts != NULL; k++)
		row_u64(out, key[k], sum[k]);
	if (json)
		fprintf(stderr, "%s\n",
			json_object_to_json_string_ext(out, JSON_C_TO_STRING_PLAIN));
	else if (r->counts == NULL)
		fprintf(stderr, "%" PRIu64 " frames written; the switch gave no counts\n", written);
	else
		fprintf(stderr, "%" PRIu64 " frames written; %" PRIu64 " seen, %" PRIu64 " lost\n",
			written, sum[0], sum[2]);
	if (sum[2] > 0 && !json)
		fputs("frames were lost because they came faster than they were fetched; "
		      "a smaller --snaplen or a single port helps\n", stderr);
	json_object_put(out);
}

static int capture(struct run *r, const struct ctl *c, struct json_object *started)
{
	uint64_t written;
	bool ok;

	if (r->limit.time_ns != 0) {
		r->end_ns = count_in(started, "started_ns") + r->limit.time_ns;
		r->deadline_ns = monotonic_ns() + r->limit.time_ns;
	}
	r->file = capture_file_open(r->path, started, r->limit.last, c->capture.filter);
	if (r->file == NULL)
		return CTL_FAILED;
	fprintf(stderr, "capturing %s\n", r->port);
	ok = run_capture(r);
	if (!ok && !r->hung_up) // it is the file that has failed
		(void)!send_stop(r, true);
	// A reader who has left ends the capture early, and in order.
	ok |= r->file->error == EPIPE;
	ok &= capture_file_close(r->file, r->counts, &written);
	print_capture_report(r, written, c->json);
	json_object_put(r->counts);
	return ok ? CTL_DONE : CTL_FAILED;
}

int cmd_capture(const struct ctl *c, int argc, char **argv)
{
	struct json_object *started, *refused;
	struct run r = {0};
	int status;

	if (argc > 2 && c->capture.filter != NULL)
		return misused("a filter of several words needs quotes: --filter '%s ...'",
			       c->capture.filter);
	if (argc != 2)
		return misused_words(c);
	r.port = argv[0];
	r.path = argv[1];
	status = read_limits(c, &r.limit);
	if (status != CTL_DONE)
		return status;
	if (strcmp(r.path, "-") == 0 && isatty(STDOUT_FILENO))
		return misused("a capture is not for a terminal to show; name a file, or pipe it: "
			       "weirctl capture %s - | tshark -r -", r.port);
	if (client_open(c->name, &r.client) != 0)
		return CTL_FAILED;
	catch_signals();
	started = request_data(&r, start_request(&r, c));
	if (started == NULL) {
		status = CTL_FAILED;
	} else if (json_object_object_get_ex(started, KEY(FLOW_TABLE, refused), &refused)) {
		fprintf(stderr, "weirctl: %s\n", json_object_get_string(refused));
		status = CTL_MISUSED;
	} else {
		status = capture(&r, c, started);
	}
	json_object_put(started);
	client_close(&r.client);
	return status;
}
