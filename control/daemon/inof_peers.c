// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/inof_peers.h"

#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/inof/registry.h"
#include "control/observe/fact.h"

enum { DIGEST_LEN = 17 };
static_assert(INOF_TLV_MAX % 8 == 0, "whole words");

static void hex_print(char out[2 * INOF_TLV_MAX + 1], const uint8_t *bytes, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		snprintf(out + (size_t)2 * i, 3, "%02x", bytes[i]);
}

static unsigned nibble(char c)
{
	const char *digits = "0123456789abcdef", *at = c == '\0' ? NULL : strchr(digits, c);

	return at == NULL ? UINT8_MAX : (unsigned)(at - digits);
}

// The number of bytes; 0: the text is no hex of 1 to INOF_TLV_MAX bytes.
static uint16_t hex_read(uint8_t out[INOF_TLV_MAX], const char *text)
{
	size_t n = strlen(text);

	if (n % 2 != 0 || n > 2 * (size_t)INOF_TLV_MAX)
		return 0;
	for (size_t i = 0; i < n; i += 2) {
		unsigned high = nibble(text[i]), low = nibble(text[i + 1]);

		if (high > 15 || low > 15)
			return 0;
		out[i / 2] = (uint8_t)(high << 4 | low);
	}
	return (uint16_t)(n / 2);
}

static uint16_t tlv_of(const struct inof_host_view *h, uint8_t tlv[INOF_TLV_MAX])
{
	const struct inof_registration reg = {.ip = h->ip, .subscribes = h->subscribes,
					      .service = *h->service};

	return inof_build_registration(tlv, &reg);
}

uint64_t inof_peers_digest(const struct inof_registry *r, uint64_t now_ns)
{
	uint64_t hash = inof_pins(r);
	struct inof_host_view h;

	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		uint64_t words[INOF_TLV_MAX / 8] = {0};


		if (!inof_host(r, i, now_ns, &h) || h.origin != INOF_AT_PORT)
			continue;
		tlv_of(&h, (uint8_t *)words);
		hash = flow_mix(hash, h.reason);
		for (unsigned k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			hash = flow_mix(hash, words[k]);
	}
	return hash;
}

static struct json_object *registration_row(const struct inof_host_view *h)
{
	struct json_object *row = json_object_new_object();
	uint8_t tlv[INOF_TLV_MAX];
	char hex[2 * INOF_TLV_MAX + 1];

	hex_print(hex, tlv, tlv_of(h, tlv));
	row_text(row, "tlv", hex);
	return row;
}

struct json_object *inof_peers_rows(const struct inof_registry *r, bool all, uint64_t now_ns)
{
	struct json_object *data = json_object_new_object(), *row;
	struct json_object *hosts = list_in(data, "hosts");
	struct json_object *peers = all ? list_in(data, "peers") : NULL;
	struct inof_host_view h;
	char digest[DIGEST_LEN], peer[INOF_IP_TEXT];

	snprintf(digest, sizeof(digest), "%016" PRIx64, inof_peers_digest(r, now_ns));
	row_text(data, "digest", digest);
	snprintf(digest, sizeof(digest), "%016" PRIx64, inof_pins(r));
	row_text(data, "pins", digest);
	for (unsigned i = 0; i < INOF_HOSTS; i++) {
		if (!inof_host(r, i, now_ns, &h) || (!all && h.origin == INOF_AT_PEER))
			continue;
		row = registration_row(&h);
		if (h.origin == INOF_AT_PORT) {
			row_text(row, KEY(INOF_HOSTS, reason), inof_reason_name[h.reason]);
			json_object_array_add(hosts, row);
		} else {
			inof_ip_print(ip_key_v4(h.peer), peer);
			row_text(row, KEY(INOF_HOSTS, peer), peer);
			json_object_array_add(peers, row);
		}
	}
	return data;
}

const char *inof_peers_say(struct inof_registry *r, struct json_object *request, uint64_t now_ns)
{
	const char *hex = text_in(request, "tlv"), *from = text_in(request, KEY(INOF_HOSTS, peer));
	const char *why = text_in(request, KEY(INOF_HOSTS, reason));
	struct inof_registration reg;
	uint8_t tlv[INOF_TLV_MAX];
	uint16_t len = hex == NULL ? 0 : hex_read(tlv, hex);
	unsigned reason = 0;
	struct in_addr peer;

	while (why != NULL && reason < N_INOF_REASONS &&
	       strcmp(why, inof_reason_name[reason]) != 0)
		reason++;
	if (why == NULL || reason == N_INOF_REASONS)
		return "inof_peer has a reason, as weirctl show inof hosts names them";
	if (from == NULL || inet_pton(AF_INET, from, &peer) != 1)
		return "inof_peer has a peer: the router ID of the other switch";
	if (len == 0 || !inof_read_registration(tlv, len, &reg))
		return "inof_peer has a tlv: the registration of a host in hex";
	if (!inof_peer_word(r, ntohl(peer.s_addr), &reg, (enum inof_reason)reason, now_ns))
		return "another switch or a port of this one holds the address, or there is no "
		       "room: weirctl show inof hosts";
	return NULL;
}

static bool reflector_read(struct json_object *row, struct inof_reflector *out)
{
	const char *ip = text_in(row, KEY(INOF_PEERS, reflector));
	const char *session = text_in(row, KEY(INOF_PEERS, session));
	struct inof_member m;

	if (ip == NULL || session == NULL || inof_member_parse(ip, NULL, NULL, &m) != NULL ||
	    m.kind != INOF_MEMBER_IP || !ip_key_same(m.first, m.last))
		return false;
	*out = (struct inof_reflector){
		.ip = m.first, .up = strcmp(session, "up") == 0,
		.hosts = (uint32_t)count_in(row, KEY(INOF_PEERS, named)),
		.refused = (uint32_t)count_in(row, KEY(INOF_PEERS, refused))};
	return true;
}

const char *inof_peers_reflectors(struct inof_registry *r, struct json_object *request,
				  uint64_t now_ns)
{
	struct inof_reflector list[INOF_REFLECTORS];
	struct json_object *rows = NULL;
	size_t n;

	json_object_object_get_ex(request, "reflectors", &rows);
	n = json_object_is_type(rows, json_type_array) ? json_object_array_length(rows) : 0;
	if (n == 0 || n > INOF_REFLECTORS)
		return "inof_reflectors has a list of one to eight reflectors";
	for (size_t i = 0; i < n; i++)
		if (!reflector_read(json_object_array_get_idx(rows, i), &list[i]))
			return "a reflector has an address and a session, up or down";
	inof_set_reflectors(r, list, (unsigned)n, now_ns);
	return NULL;
}
