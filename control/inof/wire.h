// SPDX-License-Identifier: Apache-2.0
// iNOF on the wire: the LLDP TLV with which a host registers (organisation 00-18-82, subtype 101),
// and the frames of EtherType 0x88a7 between switch and host: notices, acknowledgements, queries.
// Reads and builds both for either side. Pure; any thread. docs/inof.md draws the layouts. Decides
// nothing: control/inof/registry.h has the hosts, the zones and the timers.
//
// Input is hostile: nothing beyond the length is read, a length that is not the one of the layout
// makes its message malformed, and a frame has at most as many messages as its bytes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/forward/l3.h"
#include "dataplane/packet/lldp.h"

enum {
	INOF_LLDP = 0x00188265, // enum lldp_organization of a registration
	INOF_NQN_MAX = 223, // bytes of a name (NVMe base specification 4.7)
	INOF_TLV_MAX = 2 + 31 + INOF_NQN_MAX, // of a registration, with the header of the TLV
	INOF_FRAME_MAX = 14 + 1500,
	INOF_TTL_S = 120, // with which hosts register
	INOF_VERSION = 1, // the newest header; version 0 is spoken as well
};

enum inof_role { INOF_TARGET = 1, INOF_INITIATOR = 2, INOF_BOTH = 3 }; // a set
enum inof_protocol { INOF_ROCE = 1, INOF_TCP = 2, INOF_ISCSI = 3 };

enum inof_reason {
	INOF_NO_FAULT, // of a host that has come
	INOF_LINK_DOWN,
	INOF_PFC_STORM,
	INOF_PACKET_ERROR,
	INOF_ZONE_CHANGE,
	INOF_ADDRESS_CHANGE,
	INOF_AGED_OUT,
	INOF_BFD_DOWN,
	N_INOF_REASONS,
};
extern const char *const inof_reason_name[N_INOF_REASONS];
extern const char *const inof_role_name[INOF_BOTH + 1];
extern const char *const inof_protocol_name[INOF_ISCSI + 1];

// NVMe qualified name. len 0: the host has said none. Printable bytes, no terminating zero.
struct inof_nqn {
	uint8_t len;
	char text[INOF_NQN_MAX];
};

// The service of a host at one address, in registrations and in notices.
struct inof_service {
	uint8_t role; // enum inof_role
	uint8_t protocol; // enum inof_protocol
	uint16_t port; // of the transport; 0: the usual one
	struct inof_nqn nqn;
};

// ---- registrations

struct inof_registration {
	struct ip_key ip;
	bool subscribes; // wants notices
	struct inof_service service;
};

enum inof_found {
	INOF_NONE, // no registration
	INOF_FOUND,
	INOF_BAD, // a length, address, role, protocol or name that cannot be, or two registrations
};

// The registration among the TLVs of a frame that lldp_parse() takes; *out holds for INOF_FOUND.
// *alone: the frame says nothing else, so an agent of a host has sent it and no LLDP station.
enum inof_found inof_find_registration(const uint8_t *frame, uint32_t len,
				       struct inof_registration *out, bool *alone);
// The TLV of a registration by itself, with its header and nothing behind it.
bool inof_read_registration(const uint8_t *tlv, uint16_t len, struct inof_registration *out);
// The whole TLV with its header, for `extra` of lldp_build(). Returns its length.
uint16_t inof_build_registration(uint8_t out[INOF_TLV_MAX], const struct inof_registration *r);

// ---- frames

enum inof_kind { INOF_NOTICE = 0x21, INOF_ACK = 0x22, INOF_QUERY = 0x23 };

// Notice: about src, for dst. Acknowledgement: src, dst and seq of a notice. Query: dst, the
// address of the host that asks. The addresses of a message are of one family.
struct inof_message {
	enum inof_kind kind;
	struct ip_key src, dst;
	uint32_t seq;
	bool online;
	uint8_t reason; // enum inof_reason
	struct inof_service service; // of src
};

struct inof_reader {
	const uint8_t *at, *end;
	uint8_t version; // of the header
};

// A frame of EtherType 0x88a7 without tags. False: it is too short or too long, is to another
// group, has a version that is not known, or a length beyond its end.
bool inof_open(const uint8_t *frame, uint32_t len, struct inof_reader *out);

enum inof_read {
	INOF_END,
	INOF_MESSAGE,
	INOF_UNKNOWN, // a message of another kind
	INOF_MALFORMED, // and what follows is not read if the message reaches beyond the frame
};
// The next message. *out holds for INOF_MESSAGE.
enum inof_read inof_next(struct inof_reader *r, struct inof_message *out);

struct inof_frame {
	uint16_t len;
	uint8_t bytes[INOF_FRAME_MAX];
};

// Begins a frame from this address.
void inof_begin(struct inof_frame *f, const uint8_t mac[6], uint8_t version);
// Appends a message. False: the frame has no room for it.
bool inof_append(struct inof_frame *f, const struct inof_message *m);
// Ends a frame: pads it to 60 bytes.
void inof_end(struct inof_frame *f);

// ---- texts

// "10.0.0.1", "2001:db8::1".
enum { INOF_IP_TEXT = 46 };
void inof_ip_print(struct ip_key ip, char out[INOF_IP_TEXT]);
bool inof_ip_is_v6(struct ip_key ip);
