// SPDX-License-Identifier: Apache-2.0
// Checksums that a virtual sender left unfinished. DPDK's sum over the whole is the expected one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "drivers/checksums.h"

enum { ROOM = 1600, IP4_OPTIONS = 8, UNTAGGED = 0 };

struct frame {
	uint8_t bytes[ROOM];
	struct rte_mbuf m;
	unsigned l3, l4; // offsets
	bool v6;
	uint8_t proto;
};

static struct rte_ipv4_hdr *ip4(struct frame *f)
{
	return (void *)(f->bytes + f->l3);
}

static struct rte_ipv6_hdr *ip6(struct frame *f)
{
	return (void *)(f->bytes + f->l3);
}

static uint16_t get_sum(const struct frame *f)
{
	uint16_t v;

	memcpy(&v, f->bytes + f->l4 + (f->proto == IPPROTO_TCP ? 16 : 6), sizeof(v));
	return v;
}

static void set_sum(struct frame *f, uint16_t v)
{
	memcpy(f->bytes + f->l4 + (f->proto == IPPROTO_TCP ? 16 : 6), &v, sizeof(v));
}

// The sum of the whole, as a card would finish it.
static uint16_t whole(struct frame *f)
{
	uint16_t before = get_sum(f), sum;

	set_sum(f, 0);
	sum = f->v6 ? rte_ipv6_udptcp_cksum(ip6(f), f->bytes + f->l4)
		    : rte_ipv4_udptcp_cksum(ip4(f), f->bytes + f->l4);
	set_sum(f, before);
	return sum;
}

// With the field as Linux leaves it. pad: bytes behind the datagram, as of a short frame.
static void build(struct frame *f, unsigned tags, bool v6, uint8_t proto, unsigned n_data,
		  unsigned pad)
{
	unsigned header = proto == IPPROTO_TCP ? sizeof(struct rte_tcp_hdr)
					       : sizeof(struct rte_udp_hdr);
	uint16_t type = v6 ? RTE_BE16(RTE_ETHER_TYPE_IPV6) : RTE_BE16(RTE_ETHER_TYPE_IPV4);
	uint16_t len = (uint16_t)(header + n_data);

	*f = (struct frame){.v6 = v6, .proto = proto, .l3 = 14 + 4 * tags};
	for (unsigned i = 0; i < ROOM; i++)
		f->bytes[i] = (uint8_t)(i * 37 + 11);
	for (unsigned i = 0; i < tags; i++)
		memcpy(f->bytes + 12 + 4 * i,
		       i == 0 && tags == 2 ? "\x88\xa8\0\x0a" : "\x81\0\0\x0a", 4);
	memcpy(f->bytes + f->l3 - 2, &type, sizeof(type));
	if (v6) {
		f->l4 = f->l3 + sizeof(struct rte_ipv6_hdr);
		ip6(f)->payload_len = rte_cpu_to_be_16(len);
		ip6(f)->proto = proto;
	} else {
		f->l4 = f->l3 + sizeof(struct rte_ipv4_hdr) + IP4_OPTIONS;
		ip4(f)->version_ihl = 0x40 | (sizeof(struct rte_ipv4_hdr) + IP4_OPTIONS) / 4;
		ip4(f)->total_length = rte_cpu_to_be_16((uint16_t)(f->l4 - f->l3 + len));
		ip4(f)->fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG);
		ip4(f)->next_proto_id = proto;
	}
	f->m.buf_addr = f->bytes;
	f->m.data_len = (uint16_t)(f->l4 + len + pad);
	f->m.pkt_len = f->m.data_len;
	if (proto == IPPROTO_UDP) {
		const uint16_t udp_len = rte_cpu_to_be_16(len);

		memcpy(f->bytes + f->l4 + 4, &udp_len, sizeof(udp_len));
	}
	set_sum(f, v6 ? rte_ipv6_phdr_cksum(ip6(f), 0) : rte_ipv4_phdr_cksum(ip4(f), 0));
}

static unsigned finish(struct frame *f)
{
	struct rte_mbuf *m = &f->m;

	return checksums_finish(&m, 1);
}

static void unfinished_sums_are_finished(void **state)
{
	static const struct {
		unsigned tags;
		bool v6;
		uint8_t proto;
		unsigned n_data, pad;
	} rows[] = {
		{0, false, IPPROTO_TCP, 0, 0},	{0, false, IPPROTO_TCP, 1000, 0},
		{0, false, IPPROTO_TCP, 1, 5},	{0, false, IPPROTO_UDP, 0, 18},
		{0, false, IPPROTO_UDP, 333, 0}, {0, true, IPPROTO_TCP, 1001, 0},
		{0, true, IPPROTO_UDP, 7, 3},	{1, false, IPPROTO_TCP, 64, 0},
		{1, true, IPPROTO_UDP, 1400, 0}, {2, false, IPPROTO_UDP, 2, 0},
		{2, true, IPPROTO_TCP, 999, 0},
	};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct frame f, before;
		uint16_t want;

		build(&f, rows[i].tags, rows[i].v6, rows[i].proto, rows[i].n_data, rows[i].pad);
		before = f;
		want = whole(&f);
		assert_int_equal(finish(&f), 1);
		assert_int_equal(get_sum(&f), want);
		set_sum(&f, get_sum(&before));
		assert_memory_equal(f.bytes, before.bytes, ROOM); // and nothing else
	}
}

static void what_is_whole_or_absent_stays(void **state)
{
	struct frame f;

	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		build(&f, UNTAGGED, v6, IPPROTO_TCP, 100, 0);
		set_sum(&f, whole(&f));
		assert_int_equal(finish(&f), 0);
		build(&f, UNTAGGED, v6, IPPROTO_TCP, 100, 0);
		set_sum(&f, 0x1234); // broken
		assert_int_equal(finish(&f), 0);
		assert_int_equal(get_sum(&f), 0x1234);
		build(&f, UNTAGGED, v6, IPPROTO_UDP, 100, 0);
		set_sum(&f, 0); // RoCEv2 has none
		assert_int_equal(finish(&f), 0);
		assert_int_equal(get_sum(&f), 0);
	}
}

// One of 65,536 whole sums is that of the pseudo header too, and stays the same.
static void a_whole_sum_that_looks_unfinished_stays_the_same(void **state)
{
	struct frame f;
	uint16_t pseudo, word;

	(void)state;
	build(&f, UNTAGGED, false, IPPROTO_TCP, 2, 0);
	pseudo = get_sum(&f);
	for (unsigned v = 0; v < 0x10000; v++) {
		word = (uint16_t)v;
		memcpy(f.bytes + f.l4 + sizeof(struct rte_tcp_hdr), &word, sizeof(word));
		if (whole(&f) == pseudo)
			break;
	}
	assert_int_equal(whole(&f), pseudo);
	(void)finish(&f);
	assert_int_equal(get_sum(&f), pseudo);
}

// A sum of zero becomes ones in an IPv6 datagram (RFC 8200 8.1).
static void a_datagrams_sum_is_never_zero(void **state)
{
	struct frame f;
	unsigned hits = 0;

	(void)state;
	for (unsigned v = 0; v < 0x10000; v++) {
		const uint16_t word = (uint16_t)v;

		build(&f, UNTAGGED, true, IPPROTO_UDP, 2, 0);
		memcpy(f.bytes + f.l4 + sizeof(struct rte_udp_hdr), &word, sizeof(word));
		assert_int_equal(finish(&f), 1);
		assert_int_not_equal(get_sum(&f), 0);
		hits += get_sum(&f) == 0xffff;
	}
	assert_in_range(hits, 1, 2);
}

// Cut anywhere, wrong lengths, fragments, other protocols: no byte beyond the frame is read, and
// none is changed.
static void frames_that_are_no_whole_datagram_stay(void **state)
{
	struct frame f, before;

	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned len = 0; len < 14 + 8 + 40 + 20 + 30; len++) {
			build(&f, 2, v6, IPPROTO_TCP, 30, 0);
			if (len == f.m.data_len)
				break;
			f.m.data_len = (uint16_t)len;
			f.m.pkt_len = len;
			before = f;
			assert_int_equal(finish(&f), 0);
			assert_memory_equal(f.bytes, before.bytes, ROOM);
		}
	build(&f, UNTAGGED, false, IPPROTO_TCP, 100, 0);
	ip4(&f)->fragment_offset = RTE_BE16(RTE_IPV4_HDR_MF_FLAG);
	assert_int_equal(finish(&f), 0);
	build(&f, UNTAGGED, false, IPPROTO_TCP, 100, 0);
	ip4(&f)->fragment_offset = RTE_BE16(20);
	assert_int_equal(finish(&f), 0);
	build(&f, UNTAGGED, false, IPPROTO_TCP, 100, 0);
	ip4(&f)->version_ihl = 0x44; // a header of 16 bytes
	assert_int_equal(finish(&f), 0);
	build(&f, UNTAGGED, true, IPPROTO_TCP, 100, 0);
	ip6(&f)->proto = IPPROTO_HOPOPTS;
	assert_int_equal(finish(&f), 0);
	build(&f, UNTAGGED, true, IPPROTO_TCP, 100, 0);
	ip6(&f)->payload_len = RTE_BE16(8); // no whole TCP header
	set_sum(&f, rte_ipv6_phdr_cksum(ip6(&f), 0));
	assert_int_equal(finish(&f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unfinished_sums_are_finished),
		cmocka_unit_test(what_is_whole_or_absent_stays),
		cmocka_unit_test(a_whole_sum_that_looks_unfinished_stays_the_same),
		cmocka_unit_test(a_datagrams_sum_is_never_zero),
		cmocka_unit_test(frames_that_are_no_whole_datagram_stay),
	};

	return cmocka_run_group_tests_name("checksums", tests, NULL, NULL);
}
