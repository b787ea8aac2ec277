// SPDX-License-Identifier: Apache-2.0
// The answer to `show linux`.
#include <json-c/json.h>

#include "control/observe/linux_numbers.h"
#include "control/observe/observe_impl.h"

struct linux_at {
	const struct linux_numbers *n;
	const struct linux_tap_numbers *tap;
};

#define FACTS_OF "control/observe/linux.def"
#define FACTS_AT struct linux_at
#include "control/observe/facts.def"

void show_linux(const struct show *s, struct json_object *out)
{
	static const struct linux_numbers none;
	const struct observe *o = s->o;
	struct linux_at a = {.n = o->linux_numbers != NULL ? o->linux_numbers(o->linux_arg)
							   : &none};
	struct json_object *rows = rows_in(out, FACTS_LINUX_TAPS);

	for (unsigned i = 0; i < N_IFACES; i++) {
		a.tap = &a.n->tap[i];
		if (a.tap->name != NULL)
			emit(row_in(rows), FACTS_LINUX_TAPS, &a);
	}
	emit(single_in(out, FACTS_LINUX), FACTS_LINUX, &a);
}
