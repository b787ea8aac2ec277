// SPDX-License-Identifier: Apache-2.0
// Policies of a few lines, compiled. A mistake fails the test and is printed. Included after
// cmocka.h.
#pragma once

#include "control/config/config.h"

static inline void print_all(const struct diags *d)
{
	for (unsigned i = 0; i < d->n; i++)
		print_message("%s\n", d->lines[i]);
}

static inline struct policy *compile_with(struct config *c, const struct port_facts *facts)
{
	struct policy *p = NULL;
	struct diags d = {0};

	if (config_compile(c, facts, &p, &d) != 0 || d.n != 0) {
		print_all(&d);
		fail();
	}
	diags_fini(&d);
	return p;
}

static inline struct config *parsed(const char *text)
{
	struct config *c = NULL;
	struct diags d = {0};

	if (config_parse("t", text, strlen(text), &c, &d) != 0) {
		print_all(&d);
		fail();
	}
	diags_fini(&d);
	return c;
}

static inline struct policy *policy_of(const char *text)
{
	struct config *c = parsed(text);
	struct policy *p = compile_with(c, NULL);

	config_destroy(c);
	return p;
}
