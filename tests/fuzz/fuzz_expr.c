// SPDX-License-Identifier: Apache-2.0
// Any text as a line of `expect:` and as one of `record:`, over a few names: refused with one
// message at its place, or measured, whatever the functions give.
//
//   input: a byte that chooses what functions give, and the text
#include "tests/fuzz/fuzz.h"

#include "control/lab/expr.h"

static const char *const hosts[] = {"h1", "h2", "h10", "both"};
static const char *const flows[] = {"bulk", "web.1", "both"};
static const char *const switches[] = {"s1", "leaf-2"};
static const uint32_t n_ports[] = {3, 12};
static const bool endless[] = {true, false, false};
static const struct expr_names names = {
	.hosts = hosts,
	.flows = flows,
	.switches = switches,
	.n_ports = n_ports,
	.endless = endless,
	.n_hosts = 4,
	.n_flows = 3,
	.n_switches = 2,
	.duration_ns = 20000000,
};

struct world {
	struct expr_set set;
	uint8_t choice;
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

// By * nothing may be left.
static uint32_t world_n(const void *arg, uint32_t leaf)
{
	const struct world *w = arg;

	FUZZ_CHECK(leaf < w->set.n_leaves);
	return w->choice & 1 && w->set.leaves[leaf]->star ? 0 : w->set.leaves[leaf]->n_objects;
}

static double world_value(const void *arg, uint32_t leaf, uint32_t i)
{
	static const double values[] = {0, 1, -1, 1e300, 1e-300, 20e9, 125e3};
	const struct world *w = arg;
	unsigned k = ((unsigned)w->choice >> 1) + leaf + i;

	FUZZ_CHECK(leaf < w->set.n_leaves && i < w->set.leaves[leaf]->n_objects);
	return k % 8 == 7 ? __builtin_nan("") : values[k % 8];
}

static void check_leaf(const struct expr_leaf *l)
{
	FUZZ_CHECK(l->fn != NULL && l->n_objects > 0);
	FUZZ_CHECK(!l->windowed || (l->from_ns < l->to_ns && l->to_ns <= names.duration_ns));
	for (uint32_t i = 0; i < l->n_objects; i++)
		FUZZ_CHECK(l->objects[i].name != NULL && l->objects[i].cls < 8);
}

static bool ends(const char text[EXPR_VALUE_LEN])
{
	return memchr(text, '\0', EXPR_VALUE_LEN) != NULL;
}

static void judge(const struct world *w, const struct expr *e, bool check)
{
	const struct expr_env env = {world_n, world_value, w};
	struct expr_verdict v;

	FUZZ_CHECK(e->first_leaf + e->n_leaves <= w->set.n_leaves && expr_unit(e) < N_EXPR_UNITS);
	for (uint32_t i = 0; i < w->set.n_leaves; i++)
		check_leaf(w->set.leaves[i]);
	for (uint32_t i = 0; i < expr_n(e, &env) && !check; i++)
		(void)expr_value(e, i, &env);
	if (!check)
		return;
	v = expr_check(e, &env);
	FUZZ_CHECK(ends(v.measured) && ends(v.expected) && ends(v.tolerance));
}

static void try_as(const char *text, uint8_t choice, enum expr_want want)
{
	struct arena a = {0};
	struct diag_sink s = {.file = "f", .document = "scenario"};
	struct world w = {{.arena = &a, .sink = &s, .names = &names}, choice};
	const struct expr *e = expr_parse(&w.set, text, (struct cfg_pos){1, 1}, "expect[0]", want);
	struct diags d = {0};

	FUZZ_CHECK(s.n_errors == (e == NULL));
	if (e != NULL)
		judge(&w, e, want == EXPR_CHECK);
	diag_finish(&s, &d);
	diags_fini(&d);
	arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);

	FUZZ_CHECK(text != NULL);
	if (len != 0)
		memcpy(text, data + 1, len - 1);
	text[len == 0 ? 0 : len - 1] = '\0';
	try_as(text, len == 0 ? 0 : data[0], EXPR_CHECK);
	try_as(text, len == 0 ? 0 : data[0], EXPR_VALUE);
	free(text);
	return 0;
}
