// SPDX-License-Identifier: Apache-2.0
// Two readings of the headers of a frame, compared field by field, as there is padding between
// them; and the template's reading against that of the parser.
#pragma once

#include "dataplane/packet/parse_template.h"

static inline bool pkt_same(const struct pkt_info *a, const struct pkt_info *b)
{
	return a->kind == b->kind && a->n_tags == b->n_tags && a->l3_off == b->l3_off &&
	       a->dscp == b->dscp && a->ecn == b->ecn && a->ip_proto == b->ip_proto &&
	       a->group_dst == b->group_dst && a->reserved_dst == b->reserved_dst &&
	       a->fragment == b->fragment && a->roce == b->roce && a->bad_l3 == b->bad_l3 &&
	       a->roce_data == b->roce_data && a->bth_opcode == b->bth_opcode &&
	       a->bth_ack_req == b->bth_ack_req && a->tci == b->tci &&
	       a->ether_type == b->ether_type && a->l4_off == b->l4_off &&
	       a->udp_sport == b->udp_sport && a->udp_dport == b->udp_dport &&
	       a->bth_dest_qp == b->bth_dest_qp && a->bth_psn == b->bth_psn &&
	       a->inner_tag == b->inner_tag;
}

// parsed: what parse() says of the frame. *fits: a template says so, too.
static inline bool template_agrees(const uint8_t *frame, uint32_t len,
				   const struct pkt_info *parsed, bool *fits)
{
	struct pkt_info quick;
	struct template_ip ip;

	*fits = parse_template(frame, len, &quick);
	if (template_class(frame, len, &ip)) {
		const struct udp_hdr *udp = template_roce(frame, ip.kind);

		if (parsed->kind != ip.kind || (parsed->dscp << 2 | parsed->ecn) != ip.tos ||
		    parsed->n_tags != 0 || parsed->group_dst || parsed->bad_l3)
			return false;
		if (udp != NULL ? !parsed->roce || (const uint8_t *)udp != frame + parsed->l4_off
				: parsed->roce && ip.kind == PKT_IPV4)
			return false;
	}
	return !*fits || pkt_same(&quick, parsed);
}
