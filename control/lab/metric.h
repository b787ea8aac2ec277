// SPDX-License-Identifier: Apache-2.0
// Reads the numbers of a running fabric that the functions of expr_func.h are about: counters and
// gauges of switches and NICs as they are at this instant, and times of finished operations.
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

// m of o at this instant; of a leaf for its reason and pool.
double metric_read(const struct metric_world *w, const struct expr_leaf *leaf, enum metric m,
		   const struct expr_object *o);

// m of several objects together: what was found from from_ns to this instant (chain.h).
double metric_found(const struct metric_world *w, enum metric m, const struct expr_object *objects,
		    uint32_t n, uint64_t from_ns);

// m of o by what the watchdogs said from from_ns to before to_ns, as far as control has heard.
double metric_storm(const struct metric_world *w, const struct expr_leaf *leaf,
		    const struct expr_object *o, uint64_t from_ns, uint64_t to_ns);

// m, of those that metric_cnp.c reads, of a switch, port or queue.
bool metric_is_cnp(enum metric m);
double metric_cnp(const struct metric_world *w, const struct expr_leaf *leaf, enum metric m,
		  const struct expr_object *o);

// Begins to watch for what the leaf wants to know of o, and ends it: when it was, NaN: never.
void metric_watch(const struct metric_world *w, const struct expr_leaf *leaf,
		  const struct expr_object *o, struct watch *to);
double metric_watched(const struct metric_world *w, const struct expr_leaf *leaf,
		      struct watch *from);

// Of one class at one port of a switch, for metric_read: counters of watchdog and guard.
double metric_watchdog(const struct weir_switch *sw, enum metric m, unsigned port, unsigned cls);

// Bits per second of the line that o stands at.
double metric_speed(const struct metric_world *w, const struct expr_object *o);

// Whether the operation counts for o, and its time in ns (slowdown: a number).
bool metric_operation_fits(const struct metric_world *w, const struct expr_leaf *leaf,
			   const struct expr_object *o, const struct traffic_done *d);
double metric_operation(const struct metric_world *w, enum metric m, const struct traffic_done *d);

// Of a switch, a port or a queue, to be begun.
struct level metric_level(const struct expr_object *o);

// Whether a host sends, or receives, data of a flow of the scenario.
bool metric_host_is(const struct scenario *sc, uint32_t host, enum expr_who who);

// Values in ascending order: the least one that this share of all does not exceed. NaN: none.
double metric_quantile(const double *sorted, uint64_t n, uint32_t ppm);

// PFC as the books have it, with the pause that still lasts.
double metric_paused_ns(const struct pfc_class_stats *s, uint64_t now_ns);
