// SPDX-License-Identifier: Apache-2.0
// Between the files of the export. Control thread only.
#pragma once

#include "control/config/model.h"
#include "control/sonic/kept.h"
#include "control/sonic/model.h"

// An object of a named table, BUFFER_PROFILE for instance, while it is made.
enum { OBJECT_FIELDS = 64 };
struct object {
	const char *table, *name;
	const char *fields[OBJECT_FIELDS], *values[OBJECT_FIELDS];
	unsigned n;
	bool merges; // objects that differ in no common field are one
};

struct export {
	const struct config *c;
	struct policy *p; // compiled: sizes in cells
	const char *file;
	struct sonic_config *out, keep, name;
	struct sonic_report *r;
	struct arena arena;
	struct object *objects;
	unsigned n_objects, room;
	bool hand_written; // no line of an import
};

void put(struct export *e, enum sonic_field f, const char *key, int64_t n);
void put_text(struct export *e, enum sonic_field f, const char *key, const char *value);
// The value of a kept row, the name of an object, a mark of the import; NULL: none.
const char *kept(const struct export *e, enum sonic_field f, const char *key);
const char *hint(const struct export *e, enum sonic_field f, const char *key);
const char *mark_of(const struct export *e, const char *key, const char *mark);
// Bytes of the policy. A percentage is an error.
int64_t bytes_of(struct export *e, const struct cfg_val *v);

// An object with values gets its wanted name, or, where that has other values, the name with a
// number. Objects with the same values share a name. The values of an object that merges are in the
// rows after export_objects() only.
void object_begin(struct object *o, enum sonic_field f);
void object_field(struct export *e, struct object *o, const char *field, const char *value);
void object_value(struct export *e, struct object *o, enum sonic_field f, int64_t n);
const char *object_end(struct export *e, struct object *o, const char *wanted);
void export_objects(struct export *e);

void export_qos(struct export *e); // maps, PFC, watchdog, schedulers, WRED
void export_buffer(struct export *e); // pools, profiles, groups, queues
