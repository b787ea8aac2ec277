// SPDX-License-Identifier: Apache-2.0
// The zones of a registry: which there are, and which hosts are in which.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/inof/registry_impl.h"

// ---- hosts

void zoning_look_at(struct inof_registry *r, const struct host *h)
{
	for (unsigned i = 0; i < ZONE_WORDS; i++)
		r->dirty_zones[i] |= h->zone_set[i];
	put_bit(r->dirty_words, h->no / 64u, true);
	r->change++;
}

void zoning_place(struct inof_registry *r, struct host *h)
{
	uint64_t set[ZONE_WORDS] = {0};

	r->work++;
	if (r->index != NULL)
		r->work += zone_index_find(r->index, h->ip, &h->service.nqn,
					   h->origin == INOF_AT_PORT ? h->port : -1, set);
	if (r->conf.default_zone && !meet(set, set, ZONE_WORDS))
		put_bit(set, 0, true);
	h->placed = true;
	mark_receiver_dirty(r, h);
	if (memcmp(set, h->zone_set, sizeof(set)) == 0)
		return;
	zoning_look_at(r, h);
	for (unsigned w = 0; w < ZONE_WORDS; w++)
		for (uint64_t left = set[w] ^ h->zone_set[w]; left != 0; left &= left - 1) {
			unsigned z = 64 * w + (unsigned)__builtin_ctzll(left);

			put_bit(r->zone[z]->members, h->no, has_bit(set, z));
		}
	memcpy(h->zone_set, set, sizeof(set));
	zoning_look_at(r, h);
}

void zoning_leave(struct inof_registry *r, struct host *h)
{
	for (unsigned z = 0; z < ZONE_SLOTS; z++)
		if (has_bit(h->zone_set, z))
			put_bit(r->zone[z]->members, h->no, false);
	memset(h->zone_set, 0, sizeof(h->zone_set));
}

void zoning_place_all(struct inof_registry *r)
{
	for (unsigned i = 0; i < INOF_HOSTS; i++)
		if (r->host[i] != NULL)
			zoning_place(r, r->host[i]);
	r->zones_changed = ++r->change;
}

// ---- other zones

static void destroy_zone(struct zone *z)
{
	inof_zone_fini(&z->def);
	free(z);
}

static struct zone *new_zone(const struct inof_zone *def, int source)
{
	struct zone *z = calloc(1, sizeof(*z));

	if (z == NULL || inof_zone_copy(&z->def, def) != 0) {
		free(z);
		return NULL;
	}
	z->source = source;
	return z;
}

static void discard_new(const struct inof_registry *r, struct zone *const next[ZONE_SLOTS])
{
	for (unsigned z = 1; z < ZONE_SLOTS; z++)
		if (next[z] != NULL && next[z] != r->zone[z])
			destroy_zone(next[z]);
}

// next: the zones of other sources, and new ones of this one in free slots.
static int make_zones(const struct inof_registry *r, enum inof_zone_source source,
		      const struct inof_zone *zones, unsigned n, struct zone *next[ZONE_SLOTS])
{
	unsigned n_kept = 0, at = 1;

	for (unsigned z = 1; z < ZONE_SLOTS; z++)
		if (r->zone[z] != NULL && r->zone[z]->source != (int)source) {
			next[z] = r->zone[z];
			n_kept++;
		}
	if (n_kept + n > INOF_ZONES)
		return -ENOSPC;
	for (unsigned i = 0; i < n; i++) {
		while (next[at] != NULL)
			at++;
		next[at] = new_zone(&zones[i], (int)source);
		if (next[at] == NULL) {
			discard_new(r, next);
			return -ENOMEM;
		}
	}
	return 0;
}

static bool is_hidden(struct zone *const next[ZONE_SLOTS], unsigned z)
{
	for (unsigned k = 1; k < ZONE_SLOTS; k++)
		if (next[k] != NULL && next[k]->source < next[z]->source &&
		    strcmp(next[k]->def.name, next[z]->def.name) == 0)
			return true;
	return false;
}

static void free_zone(struct inof_registry *r, unsigned z)
{
	struct zone *zone = r->zone[z];

	for (unsigned w = 0; w < WORDS; w++)
		for (uint64_t left = zone->members[w]; left != 0; left &= left - 1) {
			struct host *h = r->host[64 * w + (unsigned)__builtin_ctzll(left)];

			zoning_look_at(r, h);
			mark_receiver_dirty(r, h);
			put_bit(h->zone_set, z, false);
		}
	destroy_zone(zone);
}

int inof_set_zones(struct inof_registry *r, enum inof_zone_source source,
		   const struct inof_zone *zones, unsigned n, uint64_t now_ns)
{
	struct zone *next[ZONE_SLOTS] = {NULL};
	const struct inof_zone *shown[ZONE_SLOTS] = {NULL};
	struct zone_index *index;
	int err = make_zones(r, source, zones, n, next);

	(void)now_ns;
	if (err != 0)
		return err;
	for (unsigned z = 1; z < ZONE_SLOTS; z++)
		if (next[z] != NULL && !is_hidden(next, z))
			shown[z] = &next[z]->def;
	index = zone_index_create(shown);
	if (index == NULL) {
		discard_new(r, next);
		return -ENOMEM;
	}
	for (unsigned z = 1; z < ZONE_SLOTS; z++) {
		if (r->zone[z] != NULL && r->zone[z] != next[z])
			free_zone(r, z);
		r->zone[z] = next[z];
		if (next[z] != NULL)
			next[z]->hidden = shown[z] == NULL;
	}
	zone_index_destroy(r->index);
	r->index = index;
	zoning_place_all(r);
	return 0;
}

void zoning_free(struct inof_registry *r)
{
	for (unsigned z = 0; z < ZONE_SLOTS; z++)
		if (r->zone[z] != NULL)
			destroy_zone(r->zone[z]);
	zone_index_destroy(r->index);
}

// ---- readers

const char *inof_zone_name(const struct inof_registry *r, unsigned slot)
{
	return slot == 0 ? "default" : r->zone[slot]->def.name;
}

bool inof_zone_at(const struct inof_registry *r, unsigned i, struct inof_zone_view *out)
{
	for (unsigned z = r->conf.default_zone ? 0 : 1; z < ZONE_SLOTS; z++) {
		const struct zone *zone = r->zone[z];

		if (zone == NULL || i-- > 0)
			continue;
		*out = (struct inof_zone_view){.name = inof_zone_name(r, z),
					       .source = zone->source, .slot = z,
					       .zone = z == 0 ? NULL : &zone->def,
					       .hidden = zone->hidden};
		return true;
	}
	return false;
}

bool inof_in_zone(const struct inof_registry *r, const struct inof_zone_view *zone, unsigned host)
{
	return has_bit(r->zone[zone->slot]->members, host);
}
