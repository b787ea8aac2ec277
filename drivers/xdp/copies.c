// SPDX-License-Identifier: Apache-2.0
#include "drivers/xdp/copies.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <rte_byteorder.h>
#include <rte_mbuf.h>

enum {
	SLOT_BYTES = 2048,
	N_SLOTS = 128,
	BLOCK_BYTES = 4096, // a page
	RING_BYTES = SLOT_BYTES * N_SLOTS,
	MACS_LEN = 12,
	TAG_LEN = 4,
};

// Frames to a group whose EtherType is ARP or IPv6, behind the tag that the kernel has taken off
// and maybe a second. Of IPv6 the program lets nothing but neighbour discovery come to a group.
static const struct sock_filter group_only[] = {
	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 8),
	BPF_STMT(BPF_LD | BPF_H | BPF_ABS, MACS_LEN),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_ARP, 5, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 4, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_8021Q, 0, 4),
	BPF_STMT(BPF_LD | BPF_H | BPF_ABS, MACS_LEN + TAG_LEN),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_ARP, 1, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	BPF_STMT(BPF_RET | BPF_K, 0),
};

static int configure(int fd)
{
	const struct sock_fprog filter = {.len = RTE_DIM(group_only),
					  .filter = (void *)(uintptr_t)group_only};
	const struct tpacket_req req = {.tp_block_size = BLOCK_BYTES,
					.tp_block_nr = RING_BYTES / BLOCK_BYTES,
					.tp_frame_size = SLOT_BYTES,
					.tp_frame_nr = N_SLOTS};
	const int version = TPACKET_V2, on = 1;
	const struct {
		int level, option;
		const void *value;
		socklen_t len;
	} options[] = {
		{SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)},
		{SOL_PACKET, PACKET_VERSION, &version, sizeof(version)},
		// What the host itself sends is not the switch's.
		{SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)},
		{SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)},
	};

	for (size_t i = 0; i < RTE_DIM(options); i++)
		if (setsockopt(fd, options[i].level, options[i].option, options[i].value,
			       options[i].len) != 0)
			return -errno;
	return 0;
}

int copies_open(struct xdp_copies *c, int ifindex)
{
	const struct sockaddr_ll on = {.sll_family = AF_PACKET,
				       .sll_protocol = RTE_BE16(ETH_P_ALL),
				       .sll_ifindex = ifindex};
	void *ring;
	int rc;

	*c = (struct xdp_copies){.fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)};
	if (c->fd < 0)
		return -errno;
	rc = configure(c->fd);
	if (rc != 0)
		return rc;
	ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	if (ring == MAP_FAILED)
		return -errno;
	c->ring = ring;
	return bind(c->fd, (const struct sockaddr *)&on, sizeof(on)) == 0 ? 0 : -errno;
}

void copies_close(struct xdp_copies *c)
{
	if (c->ring != NULL)
		munmap(c->ring, RING_BYTES);
	if (c->fd >= 0)
		close(c->fd);
	*c = (struct xdp_copies){.fd = -1};
}

// NULL when the frame is lost.
static struct rte_mbuf *copy(const struct tpacket2_hdr *h, uint32_t status,
			     struct rte_mempool *pool)
{
	const uint8_t *frame = (const uint8_t *)h + h->tp_mac;
	uint32_t tag = (status & TP_STATUS_VLAN_VALID) != 0 ? TAG_LEN : 0;
	uint16_t tpid = (status & TP_STATUS_VLAN_TPID_VALID) != 0 ? h->tp_vlan_tpid : ETH_P_8021Q;
	uint16_t words[2] = {rte_cpu_to_be_16(tpid), rte_cpu_to_be_16(h->tp_vlan_tci)};
	struct rte_mbuf *m;
	char *to;

	if (h->tp_snaplen != h->tp_len || h->tp_len < ETH_HLEN)
		return NULL;
	m = rte_pktmbuf_alloc(pool);
	to = m == NULL ? NULL : rte_pktmbuf_append(m, (uint16_t)(h->tp_len + tag));
	if (to == NULL) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	memcpy(to, frame, MACS_LEN);
	memcpy(to + MACS_LEN, words, tag);
	memcpy(to + MACS_LEN + tag, frame + MACS_LEN, h->tp_len - MACS_LEN);
	return m;
}

uint16_t copies_rx(struct xdp_copies *c, struct rte_mempool *pool, struct rte_mbuf **pkts,
		   uint16_t n)
{
	uint16_t got = 0;

	while (got < n && c->ring != NULL) {
		struct tpacket2_hdr *h = (void *)(c->ring + c->next * SLOT_BYTES);
		uint32_t status = __atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE);

		if ((status & TP_STATUS_USER) == 0)
			break;
		pkts[got] = copy(h, status, pool);
		if (pkts[got] != NULL)
			got++;
		else
			ctr_add(&c->lost, 1);
		__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		c->next = (c->next + 1) % N_SLOTS;
	}
	return got;
}

// The kernel forgets its count when it is asked for it.
uint64_t copies_lost(struct xdp_copies *c)
{
	struct tpacket_stats st = {0};
	socklen_t len = sizeof(st);

	if (c->fd >= 0 && getsockopt(c->fd, SOL_PACKET, PACKET_STATISTICS, &st, &len) == 0)
		c->overflowed += st.tp_drops;
	return c->overflowed + ctr_get(&c->lost);
}
