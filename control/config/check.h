// SPDX-License-Identifier: Apache-2.0
// Rules between the keys of a policy that no row of the schema can see, as tables of named
// functions. A rule looks at one subject and reports into x->s; the engine calls it for every
// subject of its scope. The features have tables of their own (watchdogs.c, ipcc.c, guards.c).
// Rules that need cells and pools are in compile.c. Control thread only.
//
// The text of a message stands in its rule, not in the row: so the compiler compares the format
// with the values.
#pragma once

#include "control/config/model.h"

enum { PATH_LEN = 256 };

struct subject {
	const struct config *c;
	struct diag_sink *s;
	unsigned n; // number of the class or of the port
	const struct cfg_profile *profile; // of a profile, a class and a port
	const struct cfg_class *cls; // of a class
	const struct cfg_port *item; // of an item and of a port
	const struct config_port *port; // of a port
};

struct rule {
	// A class: of every profile. An item: an entry of `ports` as it is written. A port: an item
	// makes several if it has ranges.
	enum { OF_POLICY, OF_PROFILE, OF_CLASS, OF_ITEM, OF_PORT } scope;
	void (*check)(const struct subject *x);
};

// Applies every rule in turn. All rules speak, whatever the others said.
void check_rules(const struct rule *rules, size_t n, const struct config *c, struct diag_sink *s);
#define CHECK_RULES(rules, c, s) check_rules(rules, sizeof(rules) / sizeof((rules)[0]), c, s)

// The rules of check.c, then those of watchdogs and of IPCC.
void config_check(const struct config *c, struct diag_sink *s);
void watchdogs_check(const struct config *c, struct diag_sink *s);
void ipcc_check(const struct config *c, struct diag_sink *s);

// Steps of reading a file, after the ports are expanded (load.c).
void routes_resolve(struct config *c, struct diag_sink *s); // routes, neighbours and ECMP
void guards_resolve(struct config *c, struct diag_sink *s); // groups and their rules
// The addresses of the i-th of n ports that an item of the file makes.
void routes_port_addrs(struct config *c, struct config_port *port, unsigned i, unsigned n,
		       struct diag_sink *s);

// A message about `key` of a map, at its value if the file gives one, else at the map. For values
// that are given there are REFUSE and WARN.
__attribute__((format(printf, 6, 7))) void check_report(struct diag_sink *s, enum diag_level level,
							const struct cfg_val *v,
							const struct cfg_map *m, const char *key,
							const char *fmt, ...);

// The class whose settings a group or a queue takes: the one that gives any, else the lowest that
// maps to it; -1 where no class does.
int check_class_of_pg(const struct cfg_profile *p, unsigned pg);
int check_class_of_queue(const struct cfg_profile *p, unsigned queue);
