// SPDX-License-Identifier: Apache-2.0
#include "dataplane/forward/vtep.h"

#include <arpa/inet.h>
#include <string.h>

static unsigned vni_hash(uint32_t vni)
{
	return vni * 0x9e3779b9u >> 21;
}
static_assert(VTEP_VNI_SLOTS == 1 << 11, "a slot by eleven bits");

static unsigned peer_hash(const uint8_t ip[16])
{
	return (unsigned)(flow_mix(be64_get(ip), be64_get(ip + 8)) >> 56);
}
static_assert(VTEP_PEER_SLOTS == 1 << 8, "a slot by eight bits");

void vtep_index(struct vtep *v)
{
	memset(v->vni_of_vid, 0, sizeof(v->vni_of_vid));
	memset(v->vni_slot, 0, sizeof(v->vni_slot));
	memset(v->peer_slot, 0, sizeof(v->peer_slot));
	for (unsigned i = 0; i < v->n_vnis; i++) {
		unsigned at = vni_hash(v->vnis[i].vni);

		while (v->vni_slot[at] != 0)
			at = (at + 1) % VTEP_VNI_SLOTS;
		v->vni_slot[at] = (uint16_t)(i + 1);
		v->vni_of_vid[v->vnis[i].vid] = (uint16_t)(i + 1);
	}
	for (unsigned i = 0; i < v->n_peers; i++) {
		unsigned at = peer_hash(v->peers[i]);

		while (v->peer_slot[at] != 0)
			at = (at + 1) % VTEP_PEER_SLOTS;
		v->peer_slot[at] = (uint8_t)(i + 1);
	}
}

const struct vtep_vni *vtep_vni_of(const struct vtep *v, uint32_t vni)
{
	unsigned at = vni_hash(vni);

	for (; v->vni_slot[at] != 0; at = (at + 1) % VTEP_VNI_SLOTS)
		if (v->vnis[v->vni_slot[at] - 1].vni == vni)
			return &v->vnis[v->vni_slot[at] - 1];
	return NULL;
}

uint8_t vtep_peer_of(const struct vtep *v, const uint8_t ip[16])
{
	unsigned at = peer_hash(ip);

	for (; v->peer_slot[at] != 0; at = (at + 1) % VTEP_PEER_SLOTS)
		if (memcmp(v->peers[v->peer_slot[at] - 1], ip, 16) == 0)
			return (uint8_t)(v->peer_slot[at] - 1);
	return VTEP_NONE;
}

const char *vtep_text(const struct vtep *v, const uint8_t ip[16], char out[VTEP_TEXT_LEN])
{
	return inet_ntop(v->v6 ? AF_INET6 : AF_INET, ip, out, VTEP_TEXT_LEN);
}

const uint8_t *vtep_peer_at(const struct vtep *v, unsigned place)
{
	return v != NULL && place - VTEP_FIRST < v->n_peers ? v->peers[place - VTEP_FIRST] : NULL;
}
