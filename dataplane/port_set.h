// SPDX-License-Identifier: Apache-2.0
// A set of ports as bits, walked in ascending order. Pure values, used by the owner of the set.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/policy.h"

enum { PORT_SET_WORDS = POLICY_MAX_PORTS / 64 };
static_assert(POLICY_MAX_PORTS % 64 == 0, "whole words");

struct port_set {
	uint64_t word[PORT_SET_WORDS];
};

static inline void port_set_add(struct port_set *s, unsigned port)
{
	s->word[port / 64] |= 1ull << port % 64;
}

static inline void port_set_remove(struct port_set *s, unsigned port)
{
	s->word[port / 64] &= ~(1ull << port % 64);
}

static inline void port_set_join(struct port_set *s, const struct port_set *other)
{
	for (unsigned i = 0; i < PORT_SET_WORDS; i++)
		s->word[i] |= other->word[i];
}

static inline bool port_set_empty(const struct port_set *s)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < PORT_SET_WORDS; i++)
		any |= s->word[i];
	return any == 0;
}

// A walk over a set. Ports of the word at hand that enter or leave the set meanwhile do not matter.
struct port_walk {
	const struct port_set *set;
	uint64_t left; // of the word
	unsigned word;
};

static inline struct port_walk port_set_walk(const struct port_set *s)
{
	return (struct port_walk){.set = s, .left = s->word[0]};
}

// The next port into *port. False: that was all.
static inline bool port_walk_next(struct port_walk *w, unsigned *port)
{
	while (w->left == 0) {
		if (++w->word == PORT_SET_WORDS)
			return false;
		w->left = w->set->word[w->word];
	}
	*port = w->word * 64 + (unsigned)__builtin_ctzll(w->left);
	w->left &= w->left - 1;
	return true;
}
