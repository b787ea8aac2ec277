// SPDX-License-Identifier: Apache-2.0
// Between the files of the import: the values of a SONiC configuration by port, in the units of a
// policy, and which rows they came from. Control thread only; pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/sonic/import.h"
#include "control/sonic/tables.h"
#include "dataplane/qos/wred.h"

// XON at xon alone: T - xon_offset is never above it.
#define SONIC_NEVER_OFFSET (64ll << 30)

// The names of the pools are part of SONiC's schema.
#define INGRESS_POOL "ingress_lossless_pool"
#define EGRESS_LOSSLESS_POOL "egress_lossless_pool"
#define EGRESS_LOSSY_POOL "egress_lossy_pool"
#define SONIC_NO_PROFILE "NULL"
#define SONIC_GLOBAL "global"
#define DEFAULT_NAME "AZURE"

// A pseudo-table in the lines for the export, with what the tables say by the absence of a row.
#define SONIC_MARKS "WEIR"
#define MARK_BUFFER "buffer" // a key
#define MARK_MODEL "model" // dynamic or traditional
#define MARK_SIZES "sizes" // of a dynamic model: the ingress pool has a size
#define MARK_MTU "mtu" // of a port: absent
#define MARK_GROUP "group" // of a port and group: made by SONiC, not by a row
#define MARK_SIZE "size" // of a port and group: without xoff, although there is no headroom pool
#define MARK_XON "xon" // of a port and group: xon below min, which is XON at min here
#define MARK_TYPE "type" // of a scheduler, with MARK_SCHEDULER before its name: absent
#define MARK_SCHEDULER "SCHEDULER|"
enum { SONIC_DEFAULT_MTU = 9100 };

enum sonic_limit_kind { LIMIT_NONE, LIMIT_ALPHA, LIMIT_STATIC };
struct sonic_limit {
	enum sonic_limit_kind kind;
	int64_t n; // log2 of alpha, or bytes
};

struct sonic_curve {
	bool given;
	int64_t kmin, kmax, pmax; // bytes, millionths
};

struct sonic_pg {
	bool given; // some row is about the group
	bool lossless, is_auto; // is_auto: headroom: auto
	int64_t min, xoff, xon, xon_offset; // bytes; xon: of shared use, beyond min
	bool has_xon, has_xon_offset;
	struct sonic_limit limit;
};

struct sonic_queue {
	bool has_buffer, has_schedule, has_wred, trims;
	int64_t min; // bytes
	struct sonic_limit limit;
	bool strict;
	int64_t weight, min_rate, max_rate; // bits per second
	bool ecn;
	struct sonic_curve curve[N_COLORS];
};

struct sonic_watchdog {
	bool on;
	int64_t action, detect_ns, restore_ns;
};

// What a profile of the policy says. Ports with the same values share a profile: the struct is
// zeroed and compared as bytes.
struct sonic_qos {
	bool has_dscp, has_pcp, has_queue_map, has_pg_map, has_pfc;
	uint8_t dscp[64], pcp[8], queue_of[N_CLASSES], pg_of[N_CLASSES];
	uint8_t remark_dscp[N_CLASSES], remark_pcp[N_CLASSES]; // REMARK_NONE: not remarked
	uint8_t lossless; // bitmap of priority groups
	struct sonic_watchdog watchdog;
	struct sonic_pg pg[N_PGS];
	struct sonic_queue queue[N_QUEUES];
};

// Names of the objects that the values came from, for comments. NULL: none.
struct sonic_names {
	const char *dscp, *pcp, *queue_map, *pg_map, *remark_dscp, *remark_pcp;
	const char *pg[N_PGS], *buffer[N_QUEUES], *scheduler[N_QUEUES], *wred[N_QUEUES];
};

enum { ABSENT = -2 }; // of a number
enum { VLAN_NONE = -1, VLAN_UNSAID = 0 }; // of `untagged`

struct sonic_port {
	const char *name, *device;
	int64_t speed_bps, mtu, cable_cm; // speed 0: the link's; cable < 0: not given
	int untagged; // a VLAN ID or one of the above
	uint64_t tagged[64];
	const char **ip;
	unsigned n_ip;
	struct sonic_qos qos;
	struct sonic_names names;
	unsigned profile; // index of sonic_model.profiles
};

struct sonic_profile {
	const char *name;
	const struct sonic_port *port; // the first one
	unsigned n_ports;
};

struct sonic_vlan {
	int64_t id;
	const char **ip;
	unsigned n_ip;
};

struct sonic_model {
	const char *switch_name; // NULL: not given
	int64_t size, cell, headroom_pool, egress_lossy; // bytes; < 0: not given
	int64_t oversubscription; // 0: not given
	struct { // of `headroom: auto`; < 0: not given
		int64_t lossless_mtu, small_ppm, mac_phy, response, xon;
	} headroom;
	struct {
		bool on;
		int64_t size, dscp, cls, queue; // ABSENT: not given; dscp, queue: -1 is the word
	} trim;
	bool dynamic; // SONiC's dynamic buffer model
	bool sizes_given; // the pool sizes of a dynamic model
	struct sonic_port *ports;
	unsigned n_ports;
	struct sonic_profile *profiles;
	unsigned n_profiles;
	struct sonic_vlan *vlans;
	unsigned n_vlans;
};

// What becomes of a row.
enum sonic_row_state {
	ROW_KEPT, // the policy does not say it: a line for the export
	ROW_NAMED, // the policy says the object, the line keeps its name
	ROW_SAID,
	ROW_IGNORED,
};

struct import {
	struct sonic_config c; // expanded
	uint8_t *state; // enum sonic_row_state of each row
	const struct sonic_import_options *o;
	struct sonic_report *r;
	struct arena arena;
	struct sonic_config marks; // for the export: what the tables do not say themselves
	struct sonic_model m;
};

// ---- reading rows (import.c). A value that is wrong was reported before, and counts as absent.

// Refuses a row: an error, or with --partial a warning.
__attribute__((format(printf, 5, 6))) void refuse(struct import *im, enum sonic_field f,
						  const char *key, const char *field,
						  const char *fmt, ...);
// The same of a row as a whole.
__attribute__((format(printf, 3, 4))) void refuse_row(struct import *im,
						      const struct sonic_row *row, const char *fmt,
						      ...);
// The row names a port: the text, which does not end there.
bool row_port(const struct sonic_row *row, const char **port, size_t *len);
// The row of a field, or NULL. field: where the row of tables.def has "*".
const struct sonic_row *find_row(const struct import *im, enum sonic_field f, const char *key,
				 const char *field);
// False: absent. The policy says the value from now on.
bool take(struct import *im, enum sonic_field f, const char *key, int64_t *out);
bool take_at(struct import *im, enum sonic_field f, const char *key, const char *field,
	     int64_t *out);
// The same, but the row stays as it is.
bool peek(const struct import *im, enum sonic_field f, const char *key, int64_t *out);
bool peek_at(const struct import *im, enum sonic_field f, const char *key, const char *field,
	     int64_t *out);
void mark(struct import *im, const struct sonic_row *row, enum sonic_row_state state);

// ---- steps
void import_ports(struct import *im); // ports, VLANs, addresses
void import_trim(struct import *im); // before the queues
void import_qos(struct import *im); // maps, PFC, queues, watchdog of each port
void import_buffer(struct import *im); // pools; after the ports' groups
void import_group(struct import *im, struct sonic_port *p, unsigned pg, bool pfc);
void import_queue_buffer(struct import *im, struct sonic_port *p, unsigned queue, bool lossless);
void import_profiles(struct import *im); // ports that are alike share one

// The policy text must be a policy: `weirctl check` says the same. Else errors.
void import_check(struct import *im, const char *text, size_t len);

// ---- writing
void import_yaml(struct import *im, FILE *out);
// The lines for the export, with the rows that the policy does not say.
void kept_write(const struct import *im, FILE *out);
