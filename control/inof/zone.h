// SPDX-License-Identifier: Apache-2.0
// Zones of iNOF: which hosts may find each other. A zone has a name and members; a member is a
// text, which this module reads and compares with hosts. Pure; any thread.
//
//	10.0.0.1  fd00::1        an address
//	10.0.0.0/24  fd00::/64   a prefix
//	10.0.0.1-10.0.0.9        a range, both ends included
//	nqn.2014-08.org:disk*    a name; each * stands for any characters
//	p3                       each host at this port of the switch
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/inof/wire.h"
#include "dataplane/base/port_no.h"

enum {
	INOF_ZONES = 1000, // beside the default zone
	INOF_ZONE_NAME = 32, // with the zero at the end
	INOF_MEMBERS = 256, // of a zone
	INOF_MEMBER_TEXT = 2 * INOF_IP_TEXT + INOF_NQN_MAX, // the longest member, with the zero
};

enum inof_member_kind { INOF_MEMBER_IP, INOF_MEMBER_NQN, INOF_MEMBER_PORT };

struct inof_member {
	enum inof_member_kind kind;
	struct ip_key first, last; // INOF_MEMBER_IP; of one family
	port_no_t port; // INOF_MEMBER_PORT
	char *text; // as written
};

// Who says which zones exist. A zone of an earlier one hides a zone of a later one with its name.
enum inof_zone_source { INOF_ZONES_POLICY, INOF_ZONES_RUNTIME, INOF_ZONES_PEER, N_INOF_SOURCES };

struct inof_zone {
	char name[INOF_ZONE_NAME];
	unsigned n;
	struct inof_member *members;
};

// The order of addresses; IPv4 is between addresses of IPv6.
bool inof_ip_is_above(struct ip_key a, struct ip_key b);

// The index of a port by its name, or -1.
typedef int inof_port_fn(const void *arg, const char *name);

// Reads a member. port NULL: no port is one. NULL, or the reason why the text is none. The text is
// copied into out->text by inof_zone_add() only.
const char *inof_member_parse(const char *text, inof_port_fn *port, const void *arg,
			      struct inof_member *out);

// 0 or -ENOMEM, and the zone is as before. The member's text is copied.
__attribute__((warn_unused_result)) int inof_zone_add(struct inof_zone *z, const char *text,
						      const struct inof_member *m);
void inof_zone_fini(struct inof_zone *z);
void inof_zones_free(struct inof_zone *zones, unsigned n); // and all of them; NULL is fine
// A zone with the same members. 0 or -ENOMEM, and *to is empty.
__attribute__((warn_unused_result)) int inof_zone_copy(struct inof_zone *to,
						       const struct inof_zone *from);

// Whether a name is one of a pattern, the text of a member.
bool inof_name_matches(const char *pattern, const struct inof_nqn *nqn);
