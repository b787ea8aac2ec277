// SPDX-License-Identifier: Apache-2.0
// LLDPDUs on the wire (IEEE 802.1AB clause 8) with the DCBX TLVs of IEEE 802.1Qaz (802.1Q annex
// D.2.8 to D.2.11): reads and builds them. Pure; any thread. Decides nothing: control/lldp/dcbx.h
// has the state machines, control/lldp/agent.h the timers and neighbours.
//
// A PDU that was read points into the frame. A TLV that is not read here stays there as bytes:
// lldp_next() walks over all TLVs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/packet/classify.h"

enum {
	LLDP_MAX_LEN = 14 + 1500, // of a frame, as 802.3 limits it
	LLDP_TLV_MAX = 511, // bytes of a value
	LLDP_TEXT_MAX = 255,
	LLDP_MAX_TLVS = 250, // of a PDU; a PDU with more of them is refused
	DCBX_MAX_APPS = 64, // that are kept; the standard allows 168
	UDP_ROCE = 4791,
};

enum lldp_type {
	LLDP_END,
	LLDP_CHASSIS,
	LLDP_PORT,
	LLDP_TTL,
	LLDP_PORT_DESCRIPTION,
	LLDP_SYSTEM_NAME,
	LLDP_SYSTEM_DESCRIPTION,
	LLDP_CAPABILITIES,
	LLDP_MANAGEMENT,
	LLDP_ORGANIZATION = 127,
};

enum lldp_chassis_kind { LLDP_CHASSIS_MAC = 4, LLDP_CHASSIS_ADDRESS = 5, LLDP_CHASSIS_LOCAL = 7 };
enum lldp_port_kind { LLDP_PORT_MAC = 3, LLDP_PORT_ADDRESS = 4, LLDP_PORT_NAME = 5 };
enum lldp_capability { LLDP_BRIDGE = 1 << 2, LLDP_ROUTER = 1 << 4, LLDP_STATION = 1 << 7 };

// Organisations, with the subtype in the low byte.
enum lldp_organization {
	LLDP_QAZ_ETS = 0x0080c209, // ETS configuration
	LLDP_QAZ_ETS_RECOMMENDED = 0x0080c20a,
	LLDP_QAZ_PFC = 0x0080c20b,
	LLDP_QAZ_APP = 0x0080c20c,
	LLDP_CEE = 0x001b2102, // DCBX as it was before the standard
};

struct lldp_tlv {
	uint8_t type;
	uint16_t len;
	const uint8_t *value;
	uint32_t organization; // OUI << 8 | subtype of type 127, else 0
};

struct lldp_text {
	const uint8_t *at; // no terminating zero; NULL: the PDU has no such TLV
	uint16_t len;
};

// Chassis ID or port ID.
struct lldp_id {
	uint8_t kind;
	struct lldp_text id;
};

enum dcbx_tsa { DCBX_STRICT = 0, DCBX_SHAPER = 1, DCBX_ETS = 2, DCBX_VENDOR = 255 };

// Of an ETS configuration or recommendation. The latter has no first line.
struct dcbx_ets {
	bool given, willing, cbs;
	uint8_t max_tcs; // 0: 8
	uint8_t tc[N_CLASSES]; // of each priority
	uint8_t percent[8], tsa[8]; // of each traffic class
};

struct dcbx_pfc {
	bool given, willing;
	bool bypass; // cannot do PFC on a port with MACsec
	uint8_t max; // classes that may have PFC at a time; 0: 8
	uint8_t enable; // bitmap of priorities
};

enum dcbx_selector { DCBX_UDP = 3, DCBX_TCP_UDP = 4, DCBX_DSCP = 5 };

struct dcbx_app {
	uint8_t priority, selector; // selector: as in the standard, DCBX_*
	uint16_t protocol; // an EtherType, port or DSCP
};

struct dcbx_pdu {
	struct dcbx_ets ets, ets_recommended;
	struct dcbx_pfc pfc;
	bool app_given;
	uint8_t n_apps;
	struct dcbx_app app[DCBX_MAX_APPS];
};

struct lldp_pdu {
	uint8_t mac[6]; // source address of the frame
	struct lldp_id chassis, port;
	uint16_t ttl_s; // 0: the neighbour says goodbye
	struct lldp_text port_description, system_name, system_description;
	bool has_capabilities;
	uint16_t capabilities, enabled; // bitmaps of enum lldp_capability
	struct lldp_text management; // first address: its family (IANA), then its bytes
	struct dcbx_pdu dcbx;
	uint8_t n_unknown; // TLVs that are not read here
	uint8_t n_bad; // TLVs of a wrong length, and second ones where one is allowed
	bool cee; // speaks the DCBX before the standard
};

enum lldp_verdict {
	LLDP_OK,
	LLDP_TOO_LONG,
	LLDP_TRUNCATED, // a TLV reaches beyond the frame
	LLDP_NO_IDENTITY, // does not begin with chassis, port and TTL, or has one of them twice
	LLDP_TOO_MANY_TLVS,
};

// A frame of EtherType 0x88cc without tags. *out is filled for LLDP_OK and then points into it.
enum lldp_verdict lldp_parse(const uint8_t *frame, uint32_t len, struct lldp_pdu *out);

// The TLV at *at, which moves on. False at the end of the PDU, and where a TLV is truncated. *at
// begins at lldp_first(); end: of the frame.
bool lldp_next(const uint8_t **at, const uint8_t *end, struct lldp_tlv *out);
static inline const uint8_t *lldp_first(const uint8_t *frame)
{
	return frame + 14;
}

// Whether lldp_parse() reads TLVs of this kind.
bool lldp_is_known(const struct lldp_tlv *t);

// The frame to the nearest bridge (01:80:c2:00:00:0e), padded to 60 bytes. Texts longer than
// LLDP_TEXT_MAX are cut. TLVs of `extra`, whole with their headers, stand before the end. Returns
// the length; 0: it would be longer than LLDP_MAX_LEN.
uint16_t lldp_build(uint8_t out[LLDP_MAX_LEN], const struct lldp_pdu *p, struct lldp_text extra);
