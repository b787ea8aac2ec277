// SPDX-License-Identifier: Apache-2.0
// Made-up names and a parser over them, for the tests of expressions.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/lab/expr.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define NOTHING __builtin_nan("")

static const char *const hosts[] = {"h1", "h2", "h3", "h10", "both"};
static const char *const flows[] = {"bulk", "web", "both"};
static const char *const switches[] = {"s1", "leaf-2"};
static const bool endless[] = {true, false, false};
static const uint32_t n_ports[] = {3, 12};
static const struct expr_names names = {
	.hosts = hosts,
	.flows = flows,
	.switches = switches,
	.n_ports = n_ports,
	.endless = endless,
	.n_hosts = N(hosts),
	.n_flows = N(flows),
	.n_switches = N(switches),
	.duration_ns = 20000000,
};

struct fixture {
	struct arena arena;
	struct diag_sink sink;
	struct expr_set set;
	struct diags diags;
};

static void fixture_init(struct fixture *f)
{
	*f = (struct fixture){.sink = {.file = "x.yaml"}};
	f->set = (struct expr_set){.arena = &f->arena, .sink = &f->sink, .names = &names};
}

static void fixture_fini(struct fixture *f)
{
	diags_fini(&f->diags);
	arena_fini(&f->arena);
}

// Text that begins in line 5, column 9.
static const struct expr *parse_text(struct fixture *f, const char *text, enum expr_want want)
{
	const struct expr *e = expr_parse(&f->set, text, (struct cfg_pos){5, 9}, "expect[0]", want);

	diag_finish(&f->sink, &f->diags);
	return e;
}
