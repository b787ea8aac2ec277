// SPDX-License-Identifier: Apache-2.0
#include "dataplane/icmp.h"

#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include <rte_ip.h>

#include "dataplane/forward/l3.h"
#include "dataplane/packet/edit.h"

enum {
	TTL = 64,
	V4_LEN = 20,
	V6_LEN = 40,
	ICMP_LEN = 8,
	QUOTE_V4 = 576 - V4_LEN - ICMP_LEN, // RFC 1812 4.3.2.3
	QUOTE_V6 = 1280 - V6_LEN - ICMP_LEN, // RFC 4443 3.3
};

static bool may_answer(struct worker *w, struct port *p)
{
	if (policer_take(&p->pol->limit[LIMIT_COPP], &w->l3->punt[p->no]->icmp, w->now_ns))
		return true;
	ctr_inc(&p->c.limited[LIMIT_COPP]);
	return false;
}

static void turn_round(const struct policy_port *port, struct frame *f)
{
	uint8_t *eth = rte_pktmbuf_mtod(f->m, uint8_t *);

	memcpy(eth, eth + ETH_ALEN_, ETH_ALEN_);
	memcpy(eth + ETH_ALEN_, port->mac, ETH_ALEN_);
	f->m->hash.rss = FLOW_NONE;
	f->answer = false;
	f->out_port = f->in_port;
	f->queue = port->classify.class_to_queue[f->cls];
}

static void swap(uint8_t *a, uint8_t *b, unsigned n)
{
	uint8_t spare[16];

	memcpy(spare, a, n);
	memcpy(a, b, n);
	memcpy(b, spare, n);
}

// The checksum of ICMP covers the type, and of IPv6 the addresses, whose order is nothing to it.
static void becomes(uint8_t *icmp, uint8_t type)
{
	uint16_t word = be16_get(icmp);

	be16_put(icmp + 2, csum_update(be16_get(icmp + 2), word, (uint16_t)(type << 8)));
	icmp[0] = type;
}

// The ICMP header, whole; NULL: there is none. A tag may have been taken off since the frame was
// parsed.
static uint8_t *icmp_of(const struct frame *f, const struct pkt_info *pkt)
{
	unsigned off = (unsigned)pkt->l4_off - pkt->l3_off + f->l3_off;

	if (pkt->ip_proto != (f->kind == PKT_IPV4 ? IPPROTO_ICMP : IPPROTO_ICMPV6) ||
	    pkt->l4_off == 0 || off + ICMP_LEN > f->m->data_len)
		return NULL;
	return rte_pktmbuf_mtod(f->m, uint8_t *) + off;
}

// A subnet's broadcast address is the router's as well, and is not answered.
static bool is_own(const struct policy *pol, uint8_t family, const uint8_t *ip)
{
	for (unsigned i = 0; i < pol->n_ports; i++)
		for (unsigned k = 0; k < pol->ports[i].n_addrs; k++) {
			const struct policy_addr *a = &pol->ports[i].addrs[k];

			if (a->family == family &&
			    memcmp(a->ip, ip, family == FAMILY_V4 ? 4 : 16) == 0)
				return true;
		}
	return false;
}

enum drop_reason icmp_answer(struct worker *w, struct port *p, struct frame *f,
			     const struct pkt_info *pkt)
{
	uint8_t *l3 = rte_pktmbuf_mtod(f->m, uint8_t *) + f->l3_off;
	uint8_t *icmp = icmp_of(f, pkt);
	bool v4 = f->kind == PKT_IPV4;

	if (icmp == NULL || icmp[0] != (v4 ? ICMP_ECHO : ICMP6_ECHO_REQUEST) || icmp[1] != 0 ||
	    (v4 && (be16_get(l3 + 6) & (IP_MF | IP_OFFMASK)) != 0) ||
	    !is_own(w->pol, v4 ? FAMILY_V4 : FAMILY_V6, l3 + (v4 ? 16 : 24)))
		return DROP_TO_ROUTER;
	if (!may_answer(w, p))
		return DROP_COPP;
	if (v4) {
		uint16_t word = be16_get(l3 + 8);

		swap(l3 + 12, l3 + 16, 4);
		l3[8] = TTL;
		be16_put(l3 + 10, csum_update(be16_get(l3 + 10), word, be16_get(l3 + 8)));
		becomes(icmp, ICMP_ECHOREPLY);
	} else {
		swap(l3 + 8, l3 + 24, 16);
		l3[7] = TTL;
		becomes(icmp, ICMP6_ECHO_REPLY);
	}
	turn_round(p->pol, f);
	return N_DROP_REASONS;
}

// ---- Time Exceeded

// No ICMP error answers an error message or a later fragment (RFC 1812 4.3.2.7).
static bool may_cause_error(const struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *icmp = icmp_of(f, pkt);

	if (pkt->fragment || pkt->ip_proto == 0)
		return false;
	if (icmp == NULL)
		return pkt->ip_proto != IPPROTO_ICMP && pkt->ip_proto != IPPROTO_ICMPV6;
	return f->kind == PKT_IPV4 ? icmp[0] == ICMP_ECHO : icmp[0] >= ICMP6_ECHO_REQUEST;
}

// The port's address in the subnet of the sender, or any of the family; NULL: none.
static const uint8_t *own_address(const struct policy_port *port, uint8_t family,
				  const uint8_t *sender)
{
	const uint8_t *any = NULL;

	for (unsigned i = 0; i < port->n_addrs; i++) {
		const struct policy_addr *a = &port->addrs[i];
		unsigned bit = 0;

		if (a->family != family)
			continue;
		while (bit < a->len && ((a->ip[bit / 8] ^ sender[bit / 8]) & 0x80 >> bit % 8) == 0)
			bit++;
		if (bit == a->len)
			return a->ip;
		any = any == NULL ? a->ip : any;
	}
	return any;
}

static void write_v4(uint8_t *l3, const uint8_t *own, const uint8_t *sender, uint16_t quoted,
		     uint8_t tos)
{
	uint8_t *icmp = l3 + V4_LEN;

	memset(l3, 0, V4_LEN + ICMP_LEN);
	l3[0] = 0x45;
	l3[1] = (uint8_t)(tos & ~3); // not ECN-capable
	be16_put(l3 + 2, (uint16_t)(V4_LEN + ICMP_LEN + quoted));
	l3[8] = TTL;
	l3[9] = IPPROTO_ICMP;
	memcpy(l3 + 12, own, 4);
	memcpy(l3 + 16, sender, 4);
	icmp[0] = ICMP_TIME_EXCEEDED;
	((struct rte_ipv4_hdr *)(void *)l3)->hdr_checksum = rte_ipv4_cksum((void *)l3);
	*(uint16_t *)(void *)(icmp + 2) = (uint16_t)~rte_raw_cksum(icmp, ICMP_LEN + quoted);
}

static void write_v6(uint8_t *l3, const uint8_t *own, const uint8_t *sender, uint16_t quoted,
		     uint8_t dscp)
{
	uint8_t *icmp = l3 + V6_LEN;

	memset(l3, 0, V6_LEN + ICMP_LEN);
	be16_put(l3, (uint16_t)(0x6000 | dscp << 6));
	be16_put(l3 + 4, (uint16_t)(ICMP_LEN + quoted));
	l3[6] = IPPROTO_ICMPV6;
	l3[7] = TTL;
	memcpy(l3 + 8, own, 16);
	memcpy(l3 + 24, sender, 16);
	icmp[0] = ICMP6_TIME_EXCEEDED;
	*(uint16_t *)(void *)(icmp + 2) = rte_ipv6_udptcp_cksum((void *)l3, icmp);
}

enum drop_reason icmp_time_exceeded(struct worker *w, struct port *p, struct frame *f,
				    const struct pkt_info *pkt)
{
	bool v4 = f->kind == PKT_IPV4;
	const struct policy_port *port = p->pol;
	uint8_t *l3 = rte_pktmbuf_mtod(f->m, uint8_t *) + f->l3_off;
	unsigned added = (v4 ? V4_LEN : V6_LEN) + ICMP_LEN;
	unsigned quoted = v4 ? be16_get(l3 + 2) : V6_LEN + be16_get(l3 + 4);
	uint8_t sender[16];
	const uint8_t *own;

	memcpy(sender, l3 + (v4 ? 12 : 8), v4 ? 4 : 16);
	own = own_address(port, v4 ? FAMILY_V4 : FAMILY_V6, sender);
	quoted = RTE_MIN(quoted, (unsigned)(v4 ? QUOTE_V4 : QUOTE_V6));
	quoted = RTE_MIN(quoted, port->mtu - added);
	quoted = RTE_MIN(quoted, (unsigned)f->m->data_len - f->l3_off);
	if (own == NULL || !may_cause_error(f, pkt) ||
	    f->l3_off + added + quoted > f->m->data_len + (unsigned)rte_pktmbuf_tailroom(f->m))
		return DROP_TTL_EXPIRED;
	if (!may_answer(w, p))
		return DROP_COPP;
	memmove(l3 + added, l3, quoted);
	if (v4)
		write_v4(l3, own, sender, (uint16_t)quoted, l3[1]);
	else
		write_v6(l3, own, sender, (uint16_t)quoted, pkt->dscp);
	f->len = (uint16_t)(f->l3_off + added + quoted);
	f->m->data_len = f->len;
	f->m->pkt_len = f->len;
	f->ecn = ECN_NOT_ECT;
	turn_round(p->pol, f);
	return N_DROP_REASONS;
}
