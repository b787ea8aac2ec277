// SPDX-License-Identifier: Apache-2.0
// Sets of ports as bits, walked in ascending order. Pure values, used by their owner.
//
// The sets of one owner lie side by side: a cache line has the same 64 ports of all sets. Only the
// words of ports that there are count, so a switch of up to 64 ports touches one line.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/port_no.h"

// The sets of a worker. Each of its loops reads and changes them (worker.c).
enum port_set {
	PORTS_EVERY, // all it owns
	PORTS_POLLED, // their drivers do not wake the worker
	PORTS_CALLED, // something happened since the last loop; also set by drivers
	PORTS_DUE, // this loop's
	PORTS_TIMED, // with a time to be looked at again, wake_ns
	PORTS_XOFF, // with a group in XOFF
	N_PORT_SETS = 8, // a cache line
};

enum { PORT_SET_WORDS = POLICY_MAX_PORTS / 64 };
static_assert(POLICY_MAX_PORTS % 64 == 0, "whole words");

struct port_sets {
	struct __attribute__((aligned(64))) {
		uint64_t set[N_PORT_SETS];
	} word[PORT_SET_WORDS];
	unsigned n_words; // in use
};

static inline void port_sets_init(struct port_sets *s, unsigned n_ports)
{
	*s = (struct port_sets){.n_words = (n_ports + 63) / 64};
}

static inline void port_set_add(struct port_sets *s, enum port_set which, unsigned port)
{
	s->word[port / 64].set[which] |= 1ull << port % 64;
}

static inline void port_set_remove(struct port_sets *s, enum port_set which, unsigned port)
{
	s->word[port / 64].set[which] &= ~(1ull << port % 64);
}

static inline void port_set_copy(struct port_sets *s, enum port_set to, enum port_set from)
{
	for (unsigned i = 0; i < s->n_words; i++)
		s->word[i].set[to] = s->word[i].set[from];
}

static inline bool port_set_empty(const struct port_sets *s, enum port_set which)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < s->n_words; i++)
		any |= s->word[i].set[which];
	return any == 0;
}

// A walk over a set. Ports of the word at hand that enter or leave the set meanwhile do not matter.
struct port_walk {
	const struct port_sets *sets;
	enum port_set which;
	uint64_t left; // of the word
	unsigned word;
};

static inline struct port_walk port_set_walk(const struct port_sets *s, enum port_set which)
{
	return (struct port_walk){.sets = s, .which = which, .left = s->word[0].set[which]};
}

// The next port into *port. False: that was all.
static inline bool port_walk_next(struct port_walk *w, unsigned *port)
{
	while (w->left == 0) {
		if (++w->word >= w->sets->n_words)
			return false;
		w->left = w->sets->word[w->word].set[w->which];
	}
	*port = w->word * 64 + (unsigned)__builtin_ctzll(w->left);
	w->left &= w->left - 1;
	return true;
}
