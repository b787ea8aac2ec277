// SPDX-License-Identifier: Apache-2.0
#include "drivers/xdp/attach.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include "drivers/xdp/weir_xdp.h"
#include "weir_xdp_obj.h"

enum { MAPS_MAX = 8, CPUS_MAX = 1024 };

static bool map_is_xsks(uint32_t id)
{
	struct bpf_map_info info = {0};
	uint32_t len = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id);
	bool ours;

	if (fd < 0)
		return false;
	ours = bpf_obj_get_info_by_fd(fd, &info, &len) == 0 && info.type == BPF_MAP_TYPE_XSKMAP &&
	       strcmp(info.name, WEIR_XDP_XSKS) == 0;
	close(fd);
	return ours;
}

// The kernel keeps 15 characters of a name, which ours fit into.
static bool prog_is_ours(int prog_fd)
{
	uint32_t maps[MAPS_MAX] = {0};
	struct bpf_prog_info info = {.nr_map_ids = MAPS_MAX, .map_ids = (uintptr_t)maps};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len) != 0 ||
	    (strcmp(info.name, WEIR_XDP_PROG) != 0 && strcmp(info.name, WEIR_XDP_PROG_LONG) != 0))
		return false;
	for (uint32_t i = 0; i < info.nr_map_ids && i < MAPS_MAX; i++)
		if (map_is_xsks(maps[i]))
			return true;
	return false;
}

// The kernel does not detach a program by its interface while a link holds it, as a link holds each
// live program of ours. So this removes only a program that outlived its owner.
static int check_one(int ifindex, const char *ifname, uint32_t prog_id, uint32_t flags,
		     struct live_text *text)
{
	int fd = bpf_prog_get_fd_by_id(prog_id), rc = 0;
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = fd);

	if (fd == -ENOENT)
		return 0;
	if (fd < 0 || !prog_is_ours(fd))
		rc = live_refuse(text, -EBUSY,
				 "%s: another XDP program (id %u) is attached and stays; remove it "
				 "with `ip link set dev %s xdp off` if it is not needed",
				 ifname, prog_id, ifname);
	else if (bpf_xdp_detach(ifindex, flags | XDP_FLAGS_REPLACE, &opts) != 0)
		rc = live_refuse(text, -EBUSY,
				 "%s: port already in use by another weir or weir-host", ifname);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

// One interface may carry a program in each of the three modes.
int xdp_attach_check(int ifindex, const char *ifname, struct live_text *text)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, q);
	int rc;

	libbpf_set_print(quiet);
	rc = bpf_xdp_query(ifindex, 0, &q);
	if (rc != 0)
		return live_refuse(text, rc, "%s: the kernel does not report its XDP programs: %s",
				   ifname, strerror(-rc));
	const struct {
		uint32_t id, flags;
	} modes[] = {
		{q.drv_prog_id, XDP_FLAGS_DRV_MODE},
		{q.skb_prog_id, XDP_FLAGS_SKB_MODE},
		{q.hw_prog_id, XDP_FLAGS_HW_MODE},
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]) && rc == 0; i++)
		if (modes[i].id != 0)
			rc = check_one(ifindex, ifname, modes[i].id, modes[i].flags, text);
	return rc;
}

static const char *program_name(bool long_frames)
{
	return long_frames ? WEIR_XDP_PROG_LONG : WEIR_XDP_PROG;
}

static int load_failed(int rc, bool long_frames, struct live_text *text)
{
	if (rc == -EPERM || rc == -EACCES)
		return live_refuse(text, rc,
				   "loading the XDP program is not permitted; run as root");
	return live_refuse(text, rc,
			   "the kernel does not load the XDP program (%s); Linux %s or newer "
			   "with CONFIG_XDP_SOCKETS is needed",
			   strerror(-rc), long_frames ? "6.6, for an MTU above 3554," : "5.12");
}

static const struct xdp_attach nothing = {
	.link_fd = -1, .xsks_fd = -1, .counts_fd = -1, .rules_fd = -1};

int xdp_attach_load(struct xdp_attach *a, bool long_frames, struct live_text *text)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = WEIR_XDP_PROG);
	struct bpf_program *prog;
	void *words;
	int rc;

	libbpf_set_print(quiet); // our own texts explain every failure
	*a = nothing;
	a->long_frames = long_frames;
	a->obj = bpf_object__open_mem(weir_xdp_obj, sizeof(weir_xdp_obj), &opts);
	if (a->obj == NULL)
		return load_failed(-errno, long_frames, text);
	prog = bpf_object__find_program_by_name(a->obj, program_name(!long_frames));
	rc = prog == NULL ? -ENOENT : bpf_program__set_autoload(prog, false);
	if (rc == 0)
		rc = bpf_object__load(a->obj);
	if (rc != 0)
		return load_failed(rc, long_frames, text);
	words = mmap(NULL, sizeof(*a->pause), PROT_READ, MAP_SHARED,
		     bpf_object__find_map_fd_by_name(a->obj, WEIR_XDP_PAUSE), 0);
	if (words == MAP_FAILED)
		return load_failed(-errno, long_frames, text);
	a->pause = words;
	a->xsks_fd = bpf_object__find_map_fd_by_name(a->obj, WEIR_XDP_XSKS);
	a->counts_fd = bpf_object__find_map_fd_by_name(a->obj, WEIR_XDP_COUNTS);
	a->rules_fd = bpf_object__find_map_fd_by_name(a->obj, WEIR_XDP_RULES);
	return 0;
}

void xdp_attach_borrow(struct xdp_attach *a, const struct xdp_attach *loaded)
{
	*a = *loaded;
	a->borrowed = true;
}

int xdp_attach_rules(const struct xdp_attach *a, const struct keep *keep, const uint8_t mac[6],
		     uint32_t longest)
{
	struct weir_xdp_rules *r = calloc(1, sizeof(*r));
	uint32_t zero = 0;
	int rc;

	if (r == NULL)
		return -ENOMEM;
	r->keep = keep->kinds;
	r->longest = longest;
	memcpy(r->mac, mac, sizeof(r->mac));
	for (unsigned i = 0; i < keep->n_ports; i++) {
		const struct keep_port *k = &keep->ports[i];
		__u64 *set = k->kind == WEIR_KEEP_TCP ? r->tcp : r->udp;

		set[k->port / 64] |= 1ull << k->port % 64;
	}
	rc = bpf_map_update_elem(a->rules_fd, &zero, r, BPF_ANY);
	free(r);
	return rc;
}

int xdp_attach_link(struct xdp_attach *a, int xsk_fd, int ifindex, enum xdp_mode mode)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .flags = mode == XDP_MODE_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE);
	struct bpf_program *prog =
		bpf_object__find_program_by_name(a->obj, program_name(a->long_frames));
	uint32_t queue = 0, to = (uint32_t)xsk_fd;
	int fd = bpf_map_update_elem(a->xsks_fd, &queue, &to, BPF_ANY);

	if (fd != 0 || prog == NULL)
		return fd != 0 ? fd : -ENOENT;
	fd = bpf_link_create(bpf_program__fd(prog), ifindex, BPF_XDP, &opts);
	if (fd < 0)
		return fd;
	a->link_fd = fd;
	return 0;
}

void xdp_attach_close(struct xdp_attach *a)
{
	if (a->link_fd >= 0)
		close(a->link_fd);
	if (a->borrowed) {
		*a = nothing;
		return;
	}
	if (a->pause != NULL)
		munmap((void *)(uintptr_t)a->pause, sizeof(*a->pause));
	bpf_object__close(a->obj);
	*a = nothing;
}

uint64_t xdp_attach_count(const struct xdp_attach *a, uint32_t slot)
{
	uint64_t per_cpu[CPUS_MAX] = {0}, sum = 0;
	int n_cpus = libbpf_num_possible_cpus();

	if (n_cpus < 0 || n_cpus > CPUS_MAX ||
	    bpf_map_lookup_elem(a->counts_fd, &slot, per_cpu) != 0)
		return 0;
	for (int i = 0; i < n_cpus; i++)
		sum += per_cpu[i];
	return sum;
}

// ---- copies

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
static struct rte_mbuf *copy_to_mbuf(const struct tpacket2_hdr *h, uint32_t status,
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
		pkts[got] = copy_to_mbuf(h, status, pool);
		if (pkts[got] != NULL)
			got++;
		else
			ctr_add(&c->lost, 1);
		__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		c->next = (c->next + 1) % N_SLOTS;
	}
	return got;
}

// The kernel resets its count when it is read.
uint64_t copies_lost(struct xdp_copies *c)
{
	struct tpacket_stats st = {0};
	socklen_t len = sizeof(st);

	if (c->fd >= 0 && getsockopt(c->fd, SOL_PACKET, PACKET_STATISTICS, &st, &len) == 0)
		c->overflowed += st.tp_drops;
	return c->overflowed + ctr_get(&c->lost);
}
