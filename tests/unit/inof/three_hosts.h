// SPDX-License-Identifier: Apache-2.0
// A target and two initiators around a registry, for tests of it.
#pragma once

#include "tests/unit/inof/world.h"

#include "control/inof/registry_impl.h"

static struct world w;
static struct host_model h[3]; // a target at port 0, initiators at ports 1 and 2

static int begin(void **state)
{
	(void)state;
	h[0] = world_host(1, 0, INOF_TARGET);
	h[1] = world_host(2, 1, INOF_INITIATOR);
	h[2] = world_host(3, 2, INOF_INITIATOR);
	world_begin(&w, h, N(h));
	return 0;
}

static int end(void **state)
{
	(void)state;
	world_end(&w);
	return 0;
}

static void register_all(void)
{
	for (unsigned i = 0; i < N(h); i++)
		world_register(&w, &h[i], 120);
	world_run(&w, w.now_ns + 10 * MS);
}

static void expect(const struct host_model *to, const struct host_model *about, bool online,
		   enum inof_reason reason)
{
	const struct told *t = world_told(to, about->ip);

	assert_non_null(t);
	assert_int_equal(t->online, online);
	assert_int_equal(t->reason, reason);
}

static const struct inof_counters *count(unsigned port)
{
	return inof_counters(w.r, port);
}
