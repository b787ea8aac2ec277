// SPDX-License-Identifier: Apache-2.0
// Names of a scenario: looking them up, matching patterns, suggesting what was meant, seeds by
// name.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/lab/scenario_int.h"
#include "dataplane/rng.h"

enum { SHOWN_NAMES = 4 };

int scenario_host(const struct scenario *sc, const char *name)
{
	for (uint32_t i = 0; i < sc->n_hosts; i++)
		if (strcmp(sc->hosts[i].name, name) == 0)
			return (int)i;
	return -1;
}

int scenario_switch(const struct scenario *sc, const char *name)
{
	for (uint32_t i = 0; i < sc->n_switches; i++)
		if (strcmp(sc->switches[i].name, name) == 0)
			return (int)i;
	return -1;
}

int sc_port_number(const char *name)
{
	char *end;
	long n;

	if (name[0] != 'p' || name[1] < '1' || name[1] > '9')
		return -1;
	n = strtol(name + 1, &end, 10);
	return *end != '\0' || n > POLICY_MAX_PORTS ? -1 : (int)n;
}

int scenario_port(const struct scenario *sc, uint32_t sw, const char *name)
{
	int n = sc_port_number(name);

	return n < 0 || (uint32_t)n > sc->switches[sw].n_ports ? -1 : n - 1;
}

// ---- patterns

// The number at the head of a name and the numbers in brackets at the head of a pattern.
static bool range_holds(const char *inside, size_t len, const char *digits, size_t n_digits)
{
	char range[256], number[8];
	struct cfg_set set = {0};
	const char *why;
	long v;

	if (len >= sizeof(range) || n_digits == 0 || n_digits >= sizeof(number))
		return false;
	memcpy(range, inside, len);
	range[len] = '\0';
	memcpy(number, digits, n_digits);
	number[n_digits] = '\0';
	v = strtol(number, NULL, 10);
	if (v >= CFG_SET_BITS || !schema_parse_ranges(range, 0, CFG_SET_BITS - 1, &set, &why))
		return false;
	// "h[1-8]" names h1, not h01; "h[01-08]" the other way round.
	if (number[0] == '0' && n_digits > 1 && range[0] != '0')
		return false;
	return (set.bits[v / 64] >> (v % 64) & 1) != 0 &&
	       (range[0] != '0' || strspn(range, "0123456789") == n_digits);
}

// What lies up to the next star or the end, at the head of the name; what follows it, or NULL. A
// range takes all digits there are.
static const char *piece_fits(const char *pattern, const char *name)
{
	for (; *pattern != '\0' && *pattern != '*'; pattern++) {
		const char *end = *pattern == '[' ? strchr(pattern, ']') : NULL;
		size_t digits = strspn(name, "0123456789");

		if (end == NULL) {
			if (*pattern != *name++)
				return NULL;
			continue;
		}
		if (!range_holds(pattern + 1, (size_t)(end - pattern) - 1, name, digits))
			return NULL;
		name += digits;
		pattern = end;
	}
	return name;
}

// Behind a star the first place where the next piece fits leaves the most for those after it, so
// no place is tried twice. The last piece must reach the end.
bool scenario_matches(const char *pattern, const char *name)
{
	const char *rest = piece_fits(pattern, name);

	for (pattern += strcspn(pattern, "*"); rest != NULL && *pattern == '*';) {
		bool last;

		pattern++;
		last = pattern[strcspn(pattern, "*")] == '\0';
		for (name = rest;; name++) {
			rest = piece_fits(pattern, name);
			if ((rest != NULL && (!last || *rest == '\0')) || *name == '\0')
				break;
		}
		pattern += strcspn(pattern, "*");
	}
	return rest != NULL && *rest == '\0';
}

unsigned scenario_match_hosts(const struct scenario *sc, const char *pattern, uint32_t *idx,
			      unsigned max)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < sc->n_hosts && n < max; i++)
		if (scenario_matches(pattern, sc->hosts[i].name))
			idx[n++] = i;
	return n;
}

// ---- suggestions
static const char *host_at(const void *sc, unsigned i)
{
	return ((const struct scenario *)sc)->hosts[i].name;
}

static const char *switch_at(const void *sc, unsigned i)
{
	return ((const struct scenario *)sc)->switches[i].name;
}

// "h1, h2, h3 ... h8"
static const char *some_names(struct arena *a, const void *sc, unsigned n,
			      const char *(*get)(const void *, unsigned))
{
	const char *all = "";

	for (unsigned i = 0; i < n; i++) {
		if (n > SHOWN_NAMES && i == SHOWN_NAMES - 1) {
			all = arena_printf(a, "%s ... ", all);
			i = n - 1;
		} else if (i != 0) {
			all = arena_printf(a, "%s, ", all);
		}
		all = arena_printf(a, "%s%s", all, get(sc, i));
	}
	return all;
}

static const char *hint(struct arena *a, const struct scenario *sc, const char *text, unsigned n,
			const char *(*get)(const void *, unsigned))
{
	const char *near = schema_closest(text, n, get, sc);

	if (near != NULL)
		return arena_printf(a, "did you mean %s?", near);
	if (n == 0)
		return "there is none";
	return arena_printf(a, "there %s %s", n == 1 ? "is" : "are", some_names(a, sc, n, get));
}

const char *sc_known_hosts(const struct scenario *sc, struct arena *a, const char *text)
{
	return hint(a, sc, text, sc->n_hosts, host_at);
}

const char *sc_known_switches(const struct scenario *sc, struct arena *a, const char *text)
{
	return hint(a, sc, text, sc->n_switches, switch_at);
}

// ---- hosts of a value
static bool is_pattern(const char *text)
{
	return strpbrk(text, "*[") != NULL;
}

// A range must be there as a whole: each of its numbers.
static unsigned range_size(const char *text)
{
	const char *open = strchr(text, '['), *end = open == NULL ? NULL : strchr(open, ']');
	struct cfg_set set = {0};
	char range[256];
	const char *why;

	if (end == NULL || strchr(text, '*') != NULL || strchr(end, '[') != NULL ||
	    (size_t)(end - open) > sizeof(range))
		return 0;
	memcpy(range, open + 1, (size_t)(end - open) - 1);
	range[end - open - 1] = '\0';
	return schema_parse_ranges(range, 0, CFG_SET_BITS - 1, &set, &why) ? set.n : 0;
}

// Where a number stands in "2-16,1", which holds it.
static unsigned place_in(const char *inside, unsigned long number)
{
	unsigned before = 0;

	for (;;) {
		char *end;
		unsigned long from = strtoul(inside, &end, 10);
		unsigned long to = *end == '-' ? strtoul(end + 1, &end, 10) : from;

		if (number >= from && number <= to)
			return before + (unsigned)(number - from);
		before += (unsigned)(to - from) + 1;
		inside = end + 1;
	}
}

// The hosts of one range, all there, in the order in which it is written.
static void put_in_order(const struct scenario *sc, const char *text, uint32_t *idx, unsigned n)
{
	size_t prefix = strcspn(text, "[");
	uint32_t *found = arena_alloc(sc->arena, n * sizeof(*found));

	memcpy(found, idx, n * sizeof(*found));
	for (unsigned i = 0; i < n; i++) {
		const char *number = sc->hosts[found[i]].name + prefix;

		idx[place_in(text + prefix + 1, strtoul(number, NULL, 10))] = found[i];
	}
}

unsigned scenario_pick_hosts(const struct scenario *sc, struct diag_sink *s,
			     const struct sc_text_at *v, uint32_t *idx)
{
	unsigned n = scenario_match_hosts(sc, v->text, idx, sc->n_hosts);
	const char *shown = schema_shown(sc->arena, v->text);

	if (n == 0 && !is_pattern(v->text)) {
		diag_add(s, DIAG_ERROR, v->at, v->path, "there is no host %s: %s", shown,
			 sc_known_hosts(sc, sc->arena, v->text));
	} else if (n == 0) {
		diag_add(s, DIAG_ERROR, v->at, v->path, "no host is named %s: %s", shown,
			 sc_known_hosts(sc, sc->arena, ""));
	} else if (n < range_size(v->text)) {
		diag_add(s, DIAG_ERROR, v->at, v->path, "%s names %u hosts, of which %u are there",
			 shown, range_size(v->text), n);
		return 0;
	} else if (range_size(v->text) == n) {
		put_in_order(sc, v->text, idx, n);
	}
	return n;
}

// ---- seeds
uint64_t scenario_seed(const struct scenario *sc, const char *consumer, uint32_t index)
{
	struct rng r;

	rng_init(&r, sc->seed);
	for (const char *c = consumer; *c != '\0'; c++)
		r.state = rng_next64(&r) ^ (uint8_t)*c;
	r.state = rng_next64(&r) ^ index;
	return rng_next64(&r);
}
