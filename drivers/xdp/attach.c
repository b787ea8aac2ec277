// SPDX-License-Identifier: Apache-2.0
#include "drivers/xdp/attach.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

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
	ours = bpf_obj_get_info_by_fd(fd, &info, &len) == 0 &&
	       info.type == BPF_MAP_TYPE_XSKMAP && strcmp(info.name, WEIR_XDP_XSKS) == 0;
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
	    strcmp(info.name, WEIR_XDP_PROG) != 0)
		return false;
	for (uint32_t i = 0; i < info.nr_map_ids && i < MAPS_MAX; i++)
		if (map_is_xsks(maps[i]))
			return true;
	return false;
}

// A live program of ours hangs on a link, which the kernel does not let us detach by interface;
// only one that outlived its owner comes off here.
static int take_over(int ifindex, int prog_fd, uint32_t flags)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = prog_fd);

	return bpf_xdp_detach(ifindex, flags | XDP_FLAGS_REPLACE, &opts);
}

static int check_one(int ifindex, const char *ifname, uint32_t prog_id, uint32_t flags,
		     struct live_text *text)
{
	int fd = bpf_prog_get_fd_by_id(prog_id);
	int rc = 0;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0 || !prog_is_ours(fd))
		rc = live_refuse(text, -EBUSY,
				 "%s: another XDP program (id %u) is attached and stays; remove it "
				 "with `ip link set dev %s xdp off` if nobody needs it",
				 ifname, prog_id, ifname);
	else if (take_over(ifindex, fd, flags) != 0)
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
		return live_refuse(text, rc, "%s: the kernel does not tell its XDP programs: %s",
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

static int load_failed(int rc, struct live_text *text)
{
	if (rc == -EPERM || rc == -EACCES)
		return live_refuse(text, rc,
				   "loading the XDP program is not permitted; run as root");
	return live_refuse(text, rc,
			   "the kernel does not load the XDP program (%s); Linux 5.12 or newer "
			   "with CONFIG_XDP_SOCKETS is needed",
			   strerror(-rc));
}

static const struct xdp_attach nothing = {
	.link_fd = -1, .xsks_fd = -1, .counts_fd = -1, .rules_fd = -1};

static int map_pause(struct xdp_attach *a)
{
	int fd = bpf_object__find_map_fd_by_name(a->obj, WEIR_XDP_PAUSE);
	void *words = mmap(NULL, sizeof(*a->pause), PROT_READ, MAP_SHARED, fd, 0);

	if (words == MAP_FAILED)
		return -errno;
	a->pause = words;
	return 0;
}

int xdp_attach_load(struct xdp_attach *a, struct live_text *text)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = WEIR_XDP_PROG);
	int rc;

	libbpf_set_print(quiet); // every failure is told in our own words
	*a = nothing;
	a->obj = bpf_object__open_mem(weir_xdp_obj, sizeof(weir_xdp_obj), &opts);
	if (a->obj == NULL)
		return load_failed(-errno, text);
	rc = bpf_object__load(a->obj);
	if (rc == 0)
		rc = map_pause(a);
	if (rc != 0)
		return load_failed(rc, text);
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

int xdp_attach_link(struct xdp_attach *a, int ifindex, enum xdp_mode mode)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .flags = mode == XDP_MODE_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE);
	struct bpf_program *prog = bpf_object__find_program_by_name(a->obj, WEIR_XDP_PROG);

	if (prog == NULL)
		return -ENOENT;
	int fd = bpf_link_create(bpf_program__fd(prog), ifindex, BPF_XDP, &opts);

	if (fd < 0)
		return fd;
	a->link_fd = fd;
	return 0;
}

int xdp_attach_socket(const struct xdp_attach *a, int xsk_fd)
{
	uint32_t queue = 0, fd = (uint32_t)xsk_fd;

	return bpf_map_update_elem(a->xsks_fd, &queue, &fd, BPF_ANY);
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
