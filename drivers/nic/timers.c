// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/timers.h"

#include <errno.h>
#include <stdlib.h>

int timers_init(struct timers *t, uint32_t n)
{
	*t = (struct timers){
		.due_ns = calloc(n, sizeof(*t->due_ns)),
		.heap = calloc(n, sizeof(*t->heap)),
		.pos = calloc(n, sizeof(*t->pos)),
		.n = n,
	};
	if (t->due_ns == NULL || t->heap == NULL || t->pos == NULL) {
		timers_fini(t);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		t->due_ns[i] = UINT64_MAX;
		t->heap[i] = i;
		t->pos[i] = i;
	}
	return 0;
}

void timers_fini(struct timers *t)
{
	free(t->due_ns);
	free(t->heap);
	free(t->pos);
	*t = (struct timers){0};
}

static void place_timer(struct timers *t, uint32_t at, uint32_t id)
{
	t->heap[at] = id;
	t->pos[id] = at;
}

// Times that are equal keep the smaller id first, so that runs repeat.
static int before(const struct timers *t, uint32_t a, uint32_t b)
{
	return t->due_ns[a] < t->due_ns[b] || (t->due_ns[a] == t->due_ns[b] && a < b);
}

void timers_set(struct timers *t, uint32_t id, uint64_t due_ns)
{
	uint32_t at = t->pos[id];

	if (t->due_ns[id] == due_ns)
		return;
	t->due_ns[id] = due_ns;
	for (; at != 0 && before(t, id, t->heap[(at - 1) / 2]); at = (at - 1) / 2)
		place_timer(t, at, t->heap[(at - 1) / 2]);
	for (uint32_t child = 2 * at + 1; child < t->n; at = child, child = 2 * at + 1) {
		if (child + 1 < t->n && before(t, t->heap[child + 1], t->heap[child]))
			child++;
		if (!before(t, t->heap[child], id))
			break;
		place_timer(t, at, t->heap[child]);
	}
	place_timer(t, at, id);
}
