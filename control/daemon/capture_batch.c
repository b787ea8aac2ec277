// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/capture_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/capture/frame.h"
#include "control/daemon/capture_prepare.h"
#include "dataplane/tap.h"

enum {
	WINDOW = 64, // records of a worker looked at together
	BATCH_BYTES = 256 << 10, // of one answer
	LOOK_RECORDS = 8192, // examined at most for one answer, so that the loop goes on turning
};

struct cursor {
	const struct tap_record *rec[WINDOW];
	unsigned n, at;
};

struct capture_batch {
	struct tap *tap;
	struct capture_wish wish;
	unsigned n_workers;
	uint64_t horizon_ns;
	struct capture_count count[POLICY_MAX_PORTS];
	size_t len;
	uint8_t bytes[BATCH_BYTES];
	struct cursor cursor[]; // n_workers
};

bool capture_only_of(const char *text, enum capture_only *out)
{
	static const char *const name[N_CAPTURE_ONLY] = {
		[ONLY_ALL] = "all",
		[ONLY_DROPS] = "drops",
		[ONLY_MARKED] = "marked",
		[ONLY_PFC] = "pfc",
	};

	if (text == NULL)
		text = name[ONLY_ALL];
	for (unsigned i = 0; i < N_CAPTURE_ONLY; i++) {
		if (strcmp(text, name[i]) == 0) {
			*out = (enum capture_only)i;
			return true;
		}
	}
	return false;
}

static bool is_pfc(const struct tap_record *r)
{
	static const uint8_t mac_control_pfc[] = {0x88, 0x08, 0x01, 0x01};

	return r->captured >= 16 && memcmp(r->data + 12, mac_control_pfc, 4) == 0;
}

static bool selected(const struct capture_batch *b, const struct tap_record *r)
{
	switch (b->wish.only) {
	case ONLY_DROPS: return r->meta.direction == TAP_DROP;
	case ONLY_MARKED: return r->meta.marked;
	case ONLY_PFC: return is_pfc(r);
	case ONLY_ALL:
	case N_CAPTURE_ONLY: break;
	}
	return true;
}

static bool matches(const struct capture_batch *b, const struct tap_record *r)
{
	return selected(b, r) &&
	       capture_prepare_matches(b->wish.filter, r->data, r->len, r->captured);
}

static void pack(struct capture_batch *b, const struct tap_record *r)
{
	struct capture_record out = capture_record_of(r, b->wish.snaplen);

	out.t_ns += b->wish.wall_offset_ns;
	memcpy(b->bytes + b->len, &out, sizeof(out));
	b->len += sizeof(out);
	memcpy(b->bytes + b->len, r->data, out.captured);
	b->len += out.captured;
}

static void refill(struct capture_batch *b, unsigned worker)
{
	struct cursor *k = &b->cursor[worker];

	tap_release(b->tap, worker, k->at);
	k->n = tap_read(b->tap, worker, k->rec, WINDOW);
	k->at = 0;
}

// The oldest record of all workers up to the horizon; NULL: none. The lower worker wins a tie.
static struct cursor *oldest(struct capture_batch *b, unsigned *worker)
{
	uint64_t t_ns = b->horizon_ns;
	struct cursor *best = NULL;

	for (unsigned w = 0; w < b->n_workers; w++) {
		struct cursor *k = &b->cursor[w];

		if (k->at == k->n || k->rec[k->at]->t_ns > t_ns ||
		    (best != NULL && k->rec[k->at]->t_ns == t_ns))
			continue;
		t_ns = k->rec[k->at]->t_ns;
		best = k;
		*worker = w;
	}
	return best;
}

static bool has_room(const struct capture_batch *b)
{
	return BATCH_BYTES - b->len >= sizeof(struct capture_record) + b->wish.snaplen;
}

bool capture_batch_fill(struct capture_batch *b, uint64_t horizon_ns)
{
	bool all = false;

	b->horizon_ns = horizon_ns;
	b->len = 0;
	for (unsigned w = 0; w < b->n_workers; w++) {
		b->cursor[w].at = 0;
		refill(b, w);
	}
	for (unsigned looked = 0; looked < LOOK_RECORDS && has_room(b); looked++) {
		unsigned w = 0;
		struct cursor *k = oldest(b, &w);
		const struct tap_record *r;

		all = k == NULL;
		if (all)
			break;
		r = k->rec[k->at++];
		b->count[r->meta.port].seen++;
		if (matches(b, r)) {
			b->count[r->meta.port].matched++;
			pack(b, r);
		}
		if (k->at == k->n)
			refill(b, w);
	}
	for (unsigned w = 0; w < b->n_workers; w++)
		tap_release(b->tap, w, b->cursor[w].at);
	return all;
}

bool capture_batch_empty(const struct capture_batch *b)
{
	return b->len == 0;
}

struct json_object *capture_batch_text(const struct capture_batch *b)
{
	size_t len = base64_len(b->len);
	char *text = malloc(len + 1);
	struct json_object *out;

	// Without memory the frames are missing from the capture, and nothing worse happens.
	if (text == NULL)
		return json_object_new_string("");
	base64_encode(text, b->bytes, b->len);
	out = json_object_new_string_len(text, (int)len);
	free(text);
	return out;
}

struct capture_count capture_batch_count(const struct capture_batch *b, unsigned port)
{
	return b->count[port];
}

void capture_batch_begin(struct capture_batch *b, struct tap *tap,
			 const struct capture_wish *wish)
{
	b->tap = tap;
	b->wish = *wish;
	b->len = 0;
	memset(b->count, 0, sizeof(b->count));
}

int capture_batch_create(unsigned n_workers, struct capture_batch **out)
{
	struct capture_batch *b = calloc(1, sizeof(*b) + n_workers * sizeof(b->cursor[0]));

	if (b == NULL)
		return -ENOMEM;
	b->n_workers = n_workers;
	*out = b;
	return 0;
}

void capture_batch_destroy(struct capture_batch *b)
{
	free(b);
}
