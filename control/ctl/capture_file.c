// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/capture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/capture/frame.h"
#include "control/capture/pcapng.h"
#include "control/daemon/json_in.h"
#include "control/observe/fact.h"

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

// ---- writing

static bool note(struct capture_file *f, bool ok)
{
	if (!ok && f->error == 0)
		f->error = errno != 0 ? errno : EIO;
	return ok;
}

static bool write_frame(struct capture_file *f, const struct capture_record *r,
			const uint8_t *data)
{
	f->written[r->port]++;
	return note(f, capture_frame_write(f->out, (uint32_t)f->interface[r->port], r, data));
}

static bool keep(struct capture_file *f, const struct capture_record *r, const uint8_t *data)
{
	struct kept *k = &f->kept[f->next];
	uint8_t *copy = realloc(k->data, r->captured + 1);

	if (copy == NULL)
		return note(f, false);
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
		return true; // of no port that was asked for: not written
	f->latest_ns = r->t_ns;
	return f->last != 0 ? keep(f, r, data) : write_frame(f, r, data);
}

bool capture_file_flush(struct capture_file *f)
{
	return note(f, fflush(f->out) == 0);
}

bool capture_file_reader_left(const struct capture_file *f)
{
	return f->error == EPIPE;
}

// ---- the beginning

static bool write_head(struct capture_file *f, struct json_object *started,
		       const char *filter)
{
	struct json_object *ports = json_object_object_get(started, KEY(WORKERS, ports));
	size_t n = ports != NULL ? json_object_array_length(ports) : 0;
	const char *name = text_in(started, "switch");
	char text[TEXT_LEN];

	snprintf(text, sizeof(text), "weirctl " WEIR_VERSION " (switch %s)",
		 name != NULL ? name : "");
	if (!note(f, pcapng_section(f->out, text)))
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
		if (!note(f, pcapng_interface(f->out, &interface)))
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

// ---- the end

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
		if (!note(f, pcapng_statistics(f->out, &s)))
			return false;
	}
	return true;
}

bool capture_file_close(struct capture_file *f, struct json_object *counts, uint64_t *written)
{
	bool ok = f->error == 0 && write_kept(f) && write_statistics(f, counts) &&
		  capture_file_flush(f);

	if (f->out != stdout)
		ok &= note(f, fclose(f->out) == 0);
	ok |= f->error == EPIPE;
	if (!ok)
		fprintf(stderr, "weirctl: cannot write %s: %s\n", f->path, strerror(f->error));
	*written = 0;
	for (unsigned i = 0; i < POLICY_MAX_PORTS; i++)
		*written += f->written[i];
	release(f);
	return ok;
}
