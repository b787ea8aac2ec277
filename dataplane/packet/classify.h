// SPDX-License-Identifier: Apache-2.0
// Classification: which class (traffic class = PFC priority), colour, queue and priority group a
// frame belongs to, by DSCP, PCP or port (IEEE 802.1Q 6.9.3 for PCP, RFC 2474 for DSCP). Pure;
// called by the ingress owner for every frame. Does not change the frame.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"

enum { N_CLASSES = 8, N_QUEUES = 8, N_PGS = 8, CLASS_NONE = 0xff };
enum { REMARK_NONE = 0xff };

enum trust { TRUST_DSCP, TRUST_PCP, TRUST_PORT };
enum color { GREEN, YELLOW, RED, N_COLORS };

struct classify_params {
	uint8_t trust; // enum trust
	uint8_t default_class;
	uint8_t lossless; // bitmap of classes
	uint8_t control_class; // of BPDUs: the highest lossy class, the default one if none is
	uint8_t dscp_to_class[64];
	uint8_t dscp_to_color[64]; // enum color
	uint8_t pcp_to_class[8];
	uint8_t class_to_queue[N_CLASSES];
	uint8_t class_to_pg[N_CLASSES];
	uint8_t remark_pcp[N_CLASSES]; // new PCP on egress, REMARK_NONE: leave
	uint8_t remark_dscp[N_CLASSES]; // new DSCP on egress, REMARK_NONE: leave
};

struct classified {
	uint8_t cls;
	uint8_t color;
};

// trust dscp: IP frames by DSCP; other tagged frames by PCP; else the port's default class.
// trust pcp: tagged frames by PCP; else the default class. trust port: the default class.
// BPDUs have a class of their own: it is lossy, so a peer's PAUSE does not hold them.
// Colour comes from the DSCP of IP frames, green otherwise.
static inline struct classified classify(const struct classify_params *p,
					 const struct pkt_info *pkt)
{
	bool ip = pkt->kind == PKT_IPV4 || pkt->kind == PKT_IPV6;
	struct classified c = {
		.cls = p->default_class,
		.color = ip ? p->dscp_to_color[pkt->dscp] : (uint8_t)GREEN,
	};

	if (p->trust == TRUST_DSCP && ip)
		c.cls = p->dscp_to_class[pkt->dscp];
	else if (pkt->reserved_dst == DST_STP)
		c.cls = p->control_class;
	else if (pkt->n_tags > 0 && p->trust != TRUST_PORT)
		c.cls = p->pcp_to_class[pkt->tci >> TCI_PCP_SHIFT];
	return c;
}

enum { N_TOS = 256 };

// The results of classify() for untagged IP frames, by their TOS or Traffic Class byte.
struct classify_row {
	uint8_t cls, color, pg;
	bool hint; // RoCEv2 data should not come so: the class is lossy, or there is no ECN
};

void classify_rows(const struct classify_params *p, struct classify_row rows[N_TOS]);
