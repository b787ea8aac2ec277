// SPDX-License-Identifier: Apache-2.0
// A policy with random damage is either loaded or refused with sorted, complete messages; it never
// crashes the reader. Same seed, same mutants. Arguments: source root, number of mutants.
#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/config/config.h"
#include "dataplane/policy.h"

enum { MAX_TEXT = 8192, MUTANTS = 100000 };

static const char *root;
static unsigned n_mutants = MUTANTS;

static uint64_t next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static const char *const tokens[] = {
	"{",
	"}",
	"[",
	"]",
	": ",
	", ",
	"\n",
	"- ",
	"\"",
	"'",
	"&a ",
	"*a",
	"!!x ",
	"|\n",
	"%",
	"0",
	"-1",
	"99999999999999999999",
	"1e9",
	"[1-3]",
	"[0-9999]",
	"default",
	"lossless: true",
	"wred: {ecn: on, kmin: 1KB, kmax: 0, pmax: 1%}",
	"headroom: 100%",
	"static: 50%",
	"class_to_pg: {0-7: 0}",
	"class_to_queue: {0: 3}",
	"vlan: {tagged: [1-4094]}",
	"\t",
	"\xff",
	"\xc3\xa9",
	"? ",
	"---\n",
	"...\n",
	"#",
	"1/8",
	"alpha: 1/256",
	"cell: 4096",
	"size: 1KB",
	"profiles:",
	"  ",
	"auto",
	"oversubscription: 100",
	"min: 100%",
	"watchdog: off",
	"limit: {count: 256, window: 86400s}",
	"guard: {group: g}",
	"{dscp: 18, to_class: 3, to_dscp: 26}",
};

static size_t insert(char *text, size_t len, size_t at, const char *what, size_t n)
{
	if (len + n > MAX_TEXT)
		return len;
	memmove(text + at + n, text + at, len - at);
	memcpy(text + at, what, n);
	return len + n;
}

static size_t mutate(char *text, size_t len, uint64_t *seed)
{
	size_t at = len == 0 ? 0 : next(seed) % len, n = next(seed) % 40;
	const char *token = tokens[next(seed) % (sizeof(tokens) / sizeof(tokens[0]))];
	char piece[64];

	if (n > len - at)
		n = len - at;
	switch (next(seed) % 5) {
	case 0: // another byte
		if (len != 0)
			text[at] = (char)next(seed);
		return len;
	case 1: // a piece is lost
		memmove(text + at, text + at + n, len - at - n);
		return len - n;
	case 2: // a piece is repeated elsewhere
		memcpy(piece, text + at, n);
		return insert(text, len, len == 0 ? 0 : next(seed) % len, piece, n);
	case 3: // a number changes
		for (size_t i = at; i < len; i++)
			if (text[i] >= '0' && text[i] <= '9') {
				text[i] = (char)('0' + next(seed) % 10);
				break;
			}
		return len;
	default:
		return insert(text, len, at, token, strlen(token));
	}
}

// "m:LINE:COLUMN: "; lines without a position are not possible here.
static void check_messages(const struct diags *d)
{
	unsigned line = 0, column = 0;

	for (unsigned i = 0; i < d->n; i++) {
		unsigned l, c;

		if (sscanf(d->lines[i], "m:%u:%u: ", &l, &c) != 2)
			fail_msg("no position: %s", d->lines[i]);
		if (l < line || (l == line && c < column))
			fail_msg("out of order: %s", d->lines[i]);
		assert_null(strstr(d->lines[i], "(null)"));
		line = l;
		column = c;
	}
}

static bool try(const char *text, size_t len)
{
	struct diags load = {0}, compile = {0};
	struct config *c = NULL;
	struct policy *p = NULL;
	int err = config_parse("m", text, len, &c, &load);

	assert_int_equal(err, load.n_errors == 0 ? 0 : -EINVAL);
	assert_int_equal(c != NULL, err == 0);
	check_messages(&load);
	if (err == 0) {
		err = config_compile(c, NULL, &p, &compile);
		assert_int_equal(err, compile.n_errors == 0 ? 0 : -EINVAL);
		assert_int_equal(p != NULL, err == 0);
		check_messages(&compile);
	}
	if (p != NULL)
		assert_true(p->buffer.ingress_pool_cells + p->buffer.headroom_pool_cells <=
			    p->buffer.total_cells);
	policy_destroy(p);
	config_destroy(c);
	diags_fini(&load);
	diags_fini(&compile);
	return err == 0;
}

static size_t sample(const char *name, char text[MAX_TEXT])
{
	char path[4096];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/conf/%s.yaml", root, name);
	f = fopen(path, "r");
	assert_non_null(f);
	len = fread(text, 1, MAX_TEXT, f);
	fclose(f);
	return len;
}

static void damaged_policies_are_loaded_or_refused(void **state)
{
	char samples[2][MAX_TEXT], text[MAX_TEXT];
	size_t sample_len[2] = {sample("roce", samples[0]), sample("guard", samples[1])};
	uint64_t seed = 0x9e3779b97f4a7c15ull;
	unsigned good = 0;

	(void)state;
	for (unsigned i = 0; i < n_mutants; i++) {
		size_t len = sample_len[i % 2];

		memcpy(text, samples[i % 2], len);
		for (uint64_t n = 1 + next(&seed) % 6; n > 0; n--)
			len = mutate(text, len, &seed);
		good += try(text, len);
	}
	print_message("%u of %u mutants still load\n", good, n_mutants);
	// Both ways were walked, or the mutations are too weak or too strong to say anything.
	assert_in_range(good, n_mutants / 100, n_mutants - n_mutants / 100);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_policies_are_loaded_or_refused),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: %s SOURCE_ROOT [MUTANTS]\n", argv[0]);
		return 2;
	}
	root = argv[1];
	if (argc > 2)
		n_mutants = (unsigned)strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
