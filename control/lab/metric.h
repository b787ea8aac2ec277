// SPDX-License-Identifier: Apache-2.0
// The functions of the lab (struct expr_func), each with the place of its number in a running
// fabric: a fact of control/observe (fact.h), a word of a NIC's or connection's counters, or a
// getter. Numbers are as they are at this instant; times are those of finished operations.
// Changes nothing. Counters are doubles: whole numbers up to 2^53 are exact. Single thread.
#pragma once

#include "control/lab/expr.h"
#include "control/lab/fabric.h"
#include "control/lab/traffic.h"

// Which connections belong to a flow, kept up to date as they come.
struct metric_flow {
	uint32_t *conns;
	uint32_t n, cap;
	uint64_t n_done; // operations
};

struct metric_world {
	struct fabric *fabric;
	struct traffic *traffic;
	uint32_t conns_seen;
	uint64_t done_seen;
	struct metric_flow *flows; // by flow
};

// 0, -ENOMEM.
__attribute__((warn_unused_result)) int metric_world_init(struct metric_world *w, struct fabric *f,
							  struct traffic *t);
void metric_world_fini(struct metric_world *w);

// Takes in connections and finished operations that are new. 0, -ENOMEM.
__attribute__((warn_unused_result)) int metric_world_refresh(struct metric_world *w);

// What the function of a leaf reads of o at this instant, and what BY_SHARE divides by.
double metric_read(const struct metric_world *w, const struct expr_leaf *leaf,
		   const struct expr_object *o);
double metric_read_per(const struct metric_world *w, const struct expr_leaf *leaf,
		       const struct expr_object *o);

// BY_SET, of several objects together: the findings from from_ns to this instant (chain.h).
double metric_found(const struct metric_world *w, const struct expr_func *fn,
		    const struct expr_object *objects, uint32_t n, uint64_t from_ns);

// BY_STORM, of o: from the records of the storm log from from_ns to before to_ns.
double metric_storm(const struct metric_world *w, const struct expr_leaf *leaf,
		    const struct expr_object *o, uint64_t from_ns, uint64_t to_ns);

// BY_WATCH: begins to watch o, and ends it: the first cut of a host's rate, or the first crossing
// of kmin at a queue. NaN: it did not happen.
void metric_watch(const struct metric_world *w, const struct expr_object *o, struct watch *to);
double metric_watched(struct watch *from);

// Bits per second of the line that o stands at.
double metric_speed(const struct metric_world *w, const struct expr_object *o);

// Whether the operation counts for o. Its time in ns (slowdown: a number).
bool metric_operation_fits(const struct metric_world *w, const struct expr_leaf *leaf,
			   const struct expr_object *o, const struct traffic_done *d);
double metric_operation(const struct metric_world *w, const struct expr_func *fn,
			const struct traffic_done *d);

// Of a switch, a port or a queue, to be begun.
struct level metric_level(const struct expr_object *o);

// Whether a host sends, or receives, data of a flow of the scenario.
bool metric_host_is(const struct scenario *sc, uint32_t host, enum expr_who who);

// Values in ascending order: the least one that this share of all does not exceed. NaN: none.
double metric_quantile(const double *sorted, uint64_t n, uint32_t ppm);
