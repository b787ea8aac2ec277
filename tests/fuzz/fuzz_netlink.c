// SPDX-License-Identifier: Apache-2.0
// Messages of the kernel in any order and of any length, into the mirror of its routes. Whatever
// they say, the routes of the next policy must be well formed, and the switch must know the
// neighbours that the mirror shows.
//
//   input: netlink messages; NLMSG_NOOP begins a dump, NLMSG_DONE ends it, NLMSG_OVERRUN gives an
//          interface another device
#include "control/config/addr.h"
#include "tests/fuzz/fuzz.h"

#include <libmnl/libmnl.h>
#include <stdlib.h>
#include <string.h>

#include "control/linux/mirror.h"

enum { FIRST_IFINDEX = 2, OTHER_IFINDEX = 8, N_BOUND = 3, MAX_INPUT = 1 << 16 };

// A neighbour that the switch knows, by the interface's number.
struct known {
	port_no_t iface;
	struct policy_addr addr;
	uint8_t mac[6];
};

struct run {
	struct mirror *m;
	struct known *known;
	unsigned n;
	unsigned shown;
};

static struct known *find(struct run *r, port_no_t iface, const struct policy_addr *a)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->known[i].iface == iface && addr_same(&r->known[i].addr, a))
			return &r->known[i];
	return NULL;
}

static void on_neighbour(void *arg, port_no_t iface, const struct policy_addr *a,
			 const uint8_t *mac)
{
	struct run *r = arg;
	struct known *k = find(r, iface, a);

	FUZZ_CHECK(iface < N_IFACES);
	if (mac == NULL) {
		FUZZ_CHECK(k != NULL);
		*k = r->known[--r->n];
		return;
	}
	if (k == NULL) {
		r->known = realloc(r->known, (r->n + 1) * sizeof(*k));
		FUZZ_CHECK(r->known != NULL);
		k = &r->known[r->n++];
	}
	*k = (struct known){.iface = iface, .addr = *a};
	memcpy(k->mac, mac, sizeof(k->mac));
}

static void on_stale(void *arg, port_no_t iface, const struct policy_addr *a)
{
	(void)arg;
	(void)a;
	FUZZ_CHECK(iface < N_IFACES);
}

static void check_neighbour(void *arg, const struct mirror_neighbour *n)
{
	struct run *r = arg;
	const struct known *k = find(r, n->iface, &n->addr);

	FUZZ_CHECK((n->mac != NULL) == (k != NULL));
	FUZZ_CHECK(k == NULL || memcmp(k->mac, n->mac, sizeof(k->mac)) == 0);
	r->shown += k != NULL;
}

static void check_route(void *arg, const struct mirror_route *x)
{
	(void)arg;
	FUZZ_CHECK(x->iface == PORT_NONE || x->iface < N_IFACES);
	FUZZ_CHECK(strlen(x->device) < 16 && x->weight > 0);
}

static void check_nexthop(const struct run *r, const struct policy_nexthop *h)
{
	bool leaves = h->kind == NEXTHOP_GATEWAY || h->kind == NEXTHOP_LINK;

	FUZZ_CHECK(h->kind != NEXTHOP_GIVEN && h->kind <= NEXTHOP_BLACKHOLE);
	FUZZ_CHECK(!leaves || (h->port < N_IFACES && mirror_ifindex(r->m, h->port) != 0));
	FUZZ_CHECK((h->kind == NEXTHOP_GATEWAY) == (h->addr.family != 0));
}

static void check_routes(const struct run *r)
{
	struct policy_routes out = {0};
	struct mirror_census census;

	FUZZ_CHECK(mirror_routes(r->m, &out, &census) == 0);
	FUZZ_CHECK(census.taken + census.foreign == out.n_prefixes);
	for (uint32_t i = 0; i < out.n_prefixes; i++) {
		const struct policy_addr *to = &out.prefixes[i].to;
		const struct policy_addr base = addr_masked(*to, to->len, false);

		FUZZ_CHECK(out.prefixes[i].group < out.n_groups);
		FUZZ_CHECK(to->len <= addr_bits(to) && addr_same(&base, to));
	}
	for (uint32_t i = 0; i < out.n_groups; i++) {
		const struct policy_group *g = &out.groups[i];

		FUZZ_CHECK(g->n >= 1 && g->n <= MAX_NEXTHOPS && g->first + g->n <= out.n_nexthops);
	}
	for (uint32_t i = 0; i < out.n_nexthops; i++)
		check_nexthop(r, &out.nexthops[i]);
	free(out.prefixes);
	free(out.groups);
	free(out.nexthops);
}

static void take(struct run *r, const struct nlmsghdr *h, bool *dumping)
{
	struct kernel_msg msg;

	if (h->nlmsg_type == NLMSG_NOOP && !*dumping) {
		mirror_begin_dump(r->m);
		*dumping = true;
	} else if (h->nlmsg_type == NLMSG_DONE && *dumping) {
		(void)mirror_end_dump(r->m);
		*dumping = false;
	} else if (h->nlmsg_type == NLMSG_OVERRUN) {
		mirror_bind(r->m, 0, mirror_ifindex(r->m, 0) ^ OTHER_IFINDEX);
	} else if (kernel_msg_parse(h, &msg) != KERNEL_MALFORMED) {
		(void)mirror_apply(r->m, &msg, 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct mirror_ops ops = {.neighbour = on_neighbour, .stale = on_stale};
	struct run r = {0};
	bool dumping = false;
	char *bytes;
	size_t left = len;

	if (len > MAX_INPUT)
		return 0;
	// Of its own, so that a sanitizer sees each byte beyond; aligned as netlink is.
	bytes = malloc(len + 1);
	FUZZ_CHECK(bytes != NULL && mirror_create(&ops, &r, MIRROR_PREFIXES, &r.m) == 0);
	memcpy(bytes, data, len);
	for (unsigned i = 0; i < N_BOUND; i++)
		mirror_bind(r.m, (port_no_t)i, FIRST_IFINDEX + i);
	for (const struct nlmsghdr *h = kernel_msg_first(bytes, &left); h != NULL;
	     h = kernel_msg_next(h, &left))
		take(&r, h, &dumping);
	check_routes(&r);
	mirror_walk_routes(r.m, check_route, &r);
	mirror_walk_neighbours(r.m, check_neighbour, &r);
	FUZZ_CHECK(r.shown == r.n);
	mirror_destroy(r.m);
	free(r.known);
	free(bytes);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}
