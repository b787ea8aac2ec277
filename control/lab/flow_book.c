// SPDX-License-Identifier: Apache-2.0
#include "control/lab/flow_book.h"

#include <stdlib.h>

static bool is_data(const struct flow_row *r)
{
	return r->way.kind == FLOW_DATA || r->way.kind == FLOW_READ_RESPONSES;
}

static enum pair_source source_of(const struct flow_row *r, const struct flow_seen *s, bool same)
{
	enum pair_source now = r->pair.source;

	if (same)
		return s->source == now ? now : PAIR_NONE;
	return now == PAIR_STATIC || now == PAIR_CM || now == PAIR_READ ? now : PAIR_NONE;
}

static void take(void *arg, uint32_t place, const struct flow_row *r)
{
	struct flow_book *b = arg;
	struct flow_seen *s = &b->seen[place];
	bool same = s->first_ns == r->first_ns && flow_key_same(&s->key, &r->key) &&
		    s->bytes <= r->bytes;

	if (!is_data(r))
		return;
	b->bytes[source_of(r, s, same)] += r->bytes - (same ? s->bytes : 0);
	*s = (struct flow_seen){r->key, r->first_ns, r->bytes, r->pair.source};
}

void flow_book_look(struct flow_book *b, struct weir_switch *sw, uint64_t now_ns)
{
	const struct flows_look look = {
		.now_ns = now_ns, .n = switch_flows_places(sw), .fn = take, .arg = b};

	if (b->seen == NULL && look.n != 0) {
		b->seen = calloc(look.n, sizeof(*b->seen));
		b->n_places = look.n;
		b->short_of_memory = b->seen == NULL;
	} else if (b->looked_ns == now_ns) {
		return;
	}
	b->looked_ns = now_ns;
	if (b->seen != NULL && look.n == b->n_places)
		switch_flows_look(sw, &look);
}

void flow_book_fini(struct flow_book *b)
{
	free(b->seen);
}
