// SPDX-License-Identifier: Apache-2.0
#include "control/linux/plane.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "control/config/addr.h"
#include "control/linux/plane_impl.h"
#include "dataplane/base/units.h"
#include "dataplane/forward/vtep.h"
#include "dataplane/iface.h"
#include "dataplane/switch.h"
#include "dataplane/switch_punt.h"
#include "dataplane/switch_routes.h"

enum {
	RCVBUF = 32 << 20, // some 60,000 messages
	MESSAGES_A_LOOP = 2048,
	FRAMES_A_TAP = 64, // that one loop takes from a tap
	PUNTS_A_LOOP = 1024,
	REQUESTS_A_LOOP = 512,
	READY = 64, // taps and sockets of one epoll_wait
	NETLINK_SLOT = N_IFACES, // in place of an interface number
	REASONS = 1 << PUNT_ROUTING | 1 << PUNT_LACP | NEIGHBOUR_REASONS | 1 << PUNT_LOCAL |
		  1 << PUNT_TTL,
};

static const uint64_t REPEAT_NS = SECOND_NS; // after the first poll with a tap
static const uint64_t REPEAT_LATER = UINT64_MAX; // of a tap that no poll has seen
static const uint64_t RETRY_NS = SECOND_NS; // of a tap that cannot be made

static const struct policy *policy_of(const struct plane *p)
{
	return switch_policy(p->sw);
}

static void report_plane_event(const struct plane *p, enum event_type type, port_no_t port,
			       uint64_t n, const char *why)
{
	p->ops->event(p->arg, type, port, n, why);
}

// ---- neighbours

static bool is_gateway(const struct plane *p, port_no_t iface, const struct policy_addr *a)
{
	const struct policy_routes *r = &policy_of(p)->routes;

	for (uint32_t i = 0; i < r->n_nexthops; i++)
		if (r->nexthops[i].kind == NEXTHOP_GATEWAY && r->nexthops[i].port == iface &&
		    addr_same(&r->nexthops[i].addr, a))
			return true;
	return false;
}

static void ask_kernel_for_neighbour(struct plane *p, port_no_t iface, const struct policy_addr *a,
				     bool gateway)
{
	uint32_t ifindex = mirror_ifindex(p->mirror, iface);

	if (ifindex == 0)
		return;
	p->n.asked++;
	netlink_ask_neighbour(p->netlink, ifindex, a, gateway);
}

static void on_neighbour(void *arg, port_no_t iface, const struct policy_addr *a,
			 const uint8_t *mac)
{
	struct plane *p = arg;

	if (switch_set_neighbour(p->sw, iface, a, mac) != 0)
		p->n.neighbours_refused++;
}

// Frames between stations do not pass the kernel, so it does not know that a neighbour is in use.
static void on_stale(void *arg, port_no_t iface, const struct policy_addr *a)
{
	struct plane *p = arg;

	ask_kernel_for_neighbour(p, iface, a, is_gateway(p, iface, a));
}

static bool is_managed(const struct plane *p, port_no_t iface, const struct policy_addr *a)
{
	struct mirror_neighbour n;

	return mirror_find_neighbour(p->mirror, iface, a, &n) &&
	       (n.managed || (n.state & (NUD_PERMANENT | NUD_NOARP)) != 0);
}

// Peers of tunnels on a link of the switch: no frame asks for them.
static void manage_peers(struct plane *p)
{
	const struct vtep *v = policy_of(p)->vtep;
	struct iface i;

	for (unsigned no = 0; v != NULL && no < N_IFACES; no++)
		for (uint32_t k = 0; k < v->n_peers && iface_get(policy_of(p), no, &i); k++) {
			struct policy_addr a = {.family = v->v6 ? FAMILY_V6 : FAMILY_V4};
			bool here = false;

			memcpy(a.ip, v->peers[k], sizeof(a.ip));
			for (unsigned n = 0; n < i.n_addrs; n++)
				here |= addr_holds(&i.addrs[n], &a);
			if (here && !is_managed(p, (port_no_t)no, &a))
				ask_kernel_for_neighbour(p, (port_no_t)no, &a, true);
		}
}

// The kernel keeps the next hops of routes resolved, before the first frame needs them.
static void manage_gateways(struct plane *p)
{
	const struct policy_routes *r = &policy_of(p)->routes;

	for (uint32_t i = 0; i < r->n_nexthops; i++) {
		const struct policy_nexthop *h = &r->nexthops[i];

		if (h->kind == NEXTHOP_GATEWAY && !is_managed(p, h->port, &h->addr))
			ask_kernel_for_neighbour(p, h->port, &h->addr, true);
	}
	manage_peers(p);
}

// The kernel has one table of neighbours for all interfaces, with room for 1,024 of them. So one
// port whose frames go to unknown stations may not fill it.
static bool may_ask(struct plane *p, const struct neighbour_request *r)
{
	static const struct policer_params rate = {.interval_ns = SECOND_NS / 16,
						   .burst_ns = 4ull * SECOND_NS};
	struct mirror_neighbour n;

	if (mirror_find_neighbour(p->mirror, r->port, &r->addr, &n) &&
	    n.state & NUD_INCOMPLETE)
		return false; // it asks
	if (policer_take(&rate, &p->asked[r->from], p->now_ns))
		return true;
	p->n.requests_limited++;
	return false;
}

static void take_requests(struct plane *p)
{
	struct neighbour_request r;

	for (unsigned i = 0; i < REQUESTS_A_LOOP && switch_next_neighbour_request(p->sw, &r);
	     i++) {
		bool gateway = is_gateway(p, r.port, &r.addr);

		if (gateway || may_ask(p, &r))
			ask_kernel_for_neighbour(p, r.port, &r.addr, gateway);
	}
}

// ---- taps

static void watch_descriptor(const struct plane *p, int fd, unsigned slot)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = slot};

	(void)epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e); // without it the loop is late, no more
}

static void close_tap(struct plane *p, port_no_t iface)
{
	mirror_bind(p->mirror, iface, 0);
	linux_tap_close(&p->iface[iface].tap);
}

static bool has_addr(const struct policy_addr *addrs, unsigned n, const struct policy_addr *a)
{
	for (unsigned i = 0; i < n; i++)
		if (addrs[i].len == a->len && addr_same(&addrs[i], a))
			return true;
	return false;
}

static void refuse_addr(const struct plane *p, const struct plane_iface *f,
			const struct policy_addr *a, int err)
{
	char why[ADDR_TEXT_LEN + 96], text[ADDR_TEXT_LEN];

	snprintf(why, sizeof(why), "%s: the kernel refuses the address %s: %s", f->tap.name,
		 addr_text(a, text), strerror(-err));
	report_plane_event(p, EVENT_LINUX_TAP_REFUSED, PORT_NONE, 0, why);
}

// Of the addresses of a tap those of the policy alone are the plane's.
static void set_addrs(struct plane *p, struct plane_iface *f, const struct iface *i)
{
	for (unsigned k = 0; k < f->n_addrs; k++)
		if (!has_addr(i->addrs, i->n_addrs, &f->addrs[k]))
			(void)!netlink_set_addr(p->netlink, f->tap.ifindex, &f->addrs[k], false);
	for (unsigned k = 0; k < i->n_addrs; k++) {
		int err = has_addr(f->addrs, f->n_addrs, &i->addrs[k])
				  ? 0
				  : netlink_set_addr(p->netlink, f->tap.ifindex, &i->addrs[k],
						     true);

		if (err != 0)
			refuse_addr(p, f, &i->addrs[k], err);
	}
	f->n_addrs = i->n_addrs;
	memcpy(f->addrs, i->addrs, i->n_addrs * sizeof(f->addrs[0]));
}

// The tap of an interface that has none. False: a sentence is in err.
static bool open_tap(struct plane *p, const struct iface *i, char *err, size_t err_len)
{
	struct plane_iface *f = &p->iface[i->no];

	f->tap = (struct linux_tap){.fd = -1, .mtu = i->mtu};
	snprintf(f->tap.name, sizeof(f->tap.name), "%.*s", IFNAMSIZ - 1, i->name);
	memcpy(f->tap.mac, i->mac, sizeof(f->tap.mac));
	f->n_addrs = 0;
	if (linux_tap_open(p->netns, &f->tap, err, err_len) != 0)
		return false;
	mirror_bind(p->mirror, i->no, f->tap.ifindex);
	watch_descriptor(p, f->tap.fd, i->no);
	set_addrs(p, f, i);
	f->repeat_ns = REPEAT_LATER;
	return true;
}

// The device of a port may have been replaced by one with another MAC address. Closes a tap that
// would obey strangers.
static void adapt_tap(struct plane *p, const struct iface *i)
{
	struct plane_iface *f = &p->iface[i->no];
	int rc;

	if (memcmp(f->tap.mac, i->mac, sizeof(f->tap.mac)) != 0 || f->tap.mtu != i->mtu) {
		memcpy(f->tap.mac, i->mac, sizeof(f->tap.mac));
		f->tap.mtu = i->mtu;
		rc = linux_tap_adapt(p->netns, &f->tap);
		if (rc == -EROFS) {
			close_tap(p, i->no);
			return;
		}
		if (rc != 0)
			report_plane_event(p, EVENT_LINUX_TAP_REFUSED, PORT_NONE, 0,
					   "the kernel refuses the MAC address or MTU of a tap");
	}
	set_addrs(p, f, i);
}

// The numbers of the taps' interfaces in a policy, which may number SVIs anew. PORT_NONE: the
// policy has no such interface. True: some number differs.
static bool numbers_in(const struct plane *p, const struct policy *policy, port_no_t to[N_IFACES])
{
	bool moved = false;
	struct iface i;

	for (unsigned no = 0; no < N_IFACES; no++)
		to[no] = PORT_NONE;
	for (unsigned next = 0; next < N_IFACES; next++)
		for (unsigned no = 0; iface_get(policy, next, &i) && no < N_IFACES; no++)
			if (p->iface[no].tap.fd >= 0 &&
			    strncmp(p->iface[no].tap.name, i.name, IFNAMSIZ) == 0)
				to[no] = (port_no_t)next;
	for (unsigned no = 0; no < N_IFACES; no++)
		moved |= p->iface[no].tap.fd >= 0 && to[no] != no;
	return moved;
}

// Brings taps and policy together. False: a tap is missing, and err says why.
static bool make_taps(struct plane *p, uint64_t now_ns, char *err, size_t err_len)
{
	const struct policy *policy = policy_of(p);
	bool all = true;
	struct iface i;

	for (unsigned no = 0; no < N_IFACES; no++) {
		struct plane_iface *f = &p->iface[no];

		f->wanted = iface_get(policy, no, &i);
		// Another VLAN may have the number of one that went.
		if (f->tap.fd >= 0 &&
		    (!f->wanted || strncmp(f->tap.name, i.name, IFNAMSIZ) != 0))
			close_tap(p, (port_no_t)no);
		if (!f->wanted)
			continue;
		if (f->tap.fd >= 0)
			adapt_tap(p, &i);
		if (f->tap.fd < 0 && !open_tap(p, &i, err, err_len)) {
			f->retry_ns = now_ns + RETRY_NS;
			all = false;
		}
	}
	return all;
}

// Somebody removed the device, or moved it into another namespace.
static void tap_lost(struct plane *p, port_no_t iface, uint64_t now_ns)
{
	close_tap(p, iface);
	p->iface[iface].retry_ns = now_ns;
	p->n.taps_lost++;
	report_plane_event(p, EVENT_LINUX_TAP_LOST, iface, 0, NULL);
}

static void make_lost_taps(struct plane *p, uint64_t now_ns)
{
	char err[PLANE_ERR_LEN];
	struct iface i;

	for (unsigned no = 0; no < N_IFACES; no++) {
		struct plane_iface *f = &p->iface[no];

		if (!f->wanted || f->tap.fd >= 0 || now_ns < f->retry_ns ||
		    !iface_get(policy_of(p), no, &i) || open_tap(p, &i, err, sizeof(err)))
			continue;
		if (strcmp(err, f->refused) != 0)
			report_plane_event(p, EVENT_LINUX_TAP_REFUSED, (port_no_t)no, 0, err);
		snprintf(f->refused, sizeof(f->refused), "%s", err);
		f->retry_ns = now_ns + RETRY_NS;
	}
}

// zebra 8.4 loses addresses that come within moments of their interface. An address that is set
// again is reported again.
static void repeat_addrs(struct plane *p, uint64_t now_ns)
{
	for (unsigned no = 0; no < N_IFACES; no++) {
		struct plane_iface *f = &p->iface[no];

		if (f->repeat_ns == REPEAT_LATER)
			f->repeat_ns = now_ns + REPEAT_NS;
		if (f->repeat_ns == 0 || now_ns < f->repeat_ns)
			continue;
		f->repeat_ns = 0;
		for (unsigned k = 0; f->tap.fd >= 0 && k < f->n_addrs; k++)
			(void)!netlink_set_addr(p->netlink, f->tap.ifindex, &f->addrs[k], true);
	}
}

static void set_carriers(struct plane *p)
{
	for (unsigned no = 0; no < N_IFACES; no++)
		if (p->iface[no].tap.fd >= 0)
			linux_tap_carrier(&p->iface[no].tap, switch_link_up(p->sw, no));
}

// ---- frames

static void take_from_tap(struct plane *p, port_no_t iface, uint64_t now_ns)
{
	struct plane_iface *f = &p->iface[iface];
	struct control_frame out;

	for (unsigned i = 0; i < FRAMES_A_TAP && f->tap.fd >= 0; i++) {
		ssize_t n = linux_tap_read(&f->tap, out.bytes, sizeof(out.bytes));

		if (n == 0)
			return;
		if (n < 0) {
			tap_lost(p, iface, now_ns);
			return;
		}
		f->c.from_kernel++;
		out.len = (uint16_t)n;
		out.port = iface;
		if (!switch_send(p->sw, &out, SEND_OTHER))
			f->c.from_kernel_lost++;
	}
}

void plane_give(struct plane *p, const struct control_frame *x)
{
	struct plane_iface *f = p == NULL ? NULL : &p->iface[x->port];

	if (f == NULL)
		return;
	if (f->tap.fd >= 0 && linux_tap_write(&f->tap, x->bytes, x->len))
		f->c.to_kernel++;
	else
		f->c.to_kernel_lost++;
}

static void take_punts(struct plane *p)
{
	struct control_frame x;

	for (unsigned i = 0; i < PUNTS_A_LOOP && switch_next_punt(p->sw, REASONS, &x); i++)
		plane_give(p, &x);
}

static void take_frames(struct plane *p, uint64_t now_ns)
{
	struct epoll_event ready[READY];
	int n = epoll_wait(p->epoll, ready, READY, 0);

	for (int i = 0; i < n; i++)
		if (ready[i].data.u32 < N_IFACES)
			take_from_tap(p, (port_no_t)ready[i].data.u32, now_ns);
}

// ---- messages of the kernel

static void on_message(void *arg, const struct kernel_msg *m)
{
	struct plane *p = arg;
	unsigned change = mirror_apply(p->mirror, m, p->now_ns);
	port_no_t iface;

	if (change & MIRROR_STALE)
		p->stale = true;
	if (change != 0)
		batch_change(&p->batch, p->now_ns);
	if (m->kind != KERNEL_LINK || !m->gone)
		return;
	iface = mirror_iface(p->mirror, m->link.ifindex);
	if (iface != PORT_NONE)
		tap_lost(p, iface, p->now_ns);
}

static void begin_dump(struct plane *p)
{
	p->stale = false;
	p->dumping = true;
	mirror_begin_dump(p->mirror);
	netlink_begin_dump(p->netlink);
}

static void lost_messages(struct plane *p)
{
	p->n.resyncs++;
	report_plane_event(p, EVENT_LINUX_RESYNC, PORT_NONE, netlink_stats(p->netlink)->lost, NULL);
	begin_dump(p);
}

static void step_dump(struct plane *p)
{
	switch (netlink_dump(p->netlink, MESSAGES_A_LOOP, on_message, p)) {
	case NETLINK_MORE: break;
	case NETLINK_LOST: begin_dump(p); break;
	case NETLINK_DONE:
		p->dumping = false;
		(void)mirror_end_dump(p->mirror);
		if (p->batch.first_ns == 0)
			batch_change(&p->batch, p->now_ns);
		break;
	}
}

// True: all that the kernel has sent is in the mirror.
static bool take_messages(struct plane *p)
{
	if (p->dumping) {
		step_dump(p);
		return false;
	}
	switch (netlink_read(p->netlink, MESSAGES_A_LOOP, on_message, p)) {
	case NETLINK_DONE: return true;
	case NETLINK_LOST: lost_messages(p); break;
	case NETLINK_MORE: break;
	}
	return false;
}

// ---- publication

static bool same_routes(const struct policy_routes *a, const struct policy_routes *b)
{
	return a->n_prefixes == b->n_prefixes && a->n_groups == b->n_groups &&
	       a->n_nexthops == b->n_nexthops &&
	       memcmp(a->prefixes, b->prefixes, a->n_prefixes * sizeof(a->prefixes[0])) == 0 &&
	       memcmp(a->groups, b->groups, a->n_groups * sizeof(a->groups[0])) == 0 &&
	       memcmp(a->nexthops, b->nexthops, a->n_nexthops * sizeof(a->nexthops[0])) == 0;
}

static void free_routes(struct policy_routes *r)
{
	free(r->prefixes);
	free(r->groups);
	free(r->nexthops);
	*r = (struct policy_routes){0};
}

static void report_room(struct plane *p)
{
	if (p->census.no_room > 0 && !p->full)
		report_plane_event(p, EVENT_LINUX_ROUTES_REFUSED, PORT_NONE, p->census.no_room,
				   NULL);
	p->full = p->census.no_room > 0;
}

// Makes the routes of the mirror those of the next policy. True: they differ from the running ones.
static bool make_routes(struct plane *p)
{
	struct policy_routes next = {0};

	if (mirror_routes(p->mirror, &next, &p->census) != 0) {
		free_routes(&next);
		return false;
	}
	free_routes(&p->routes);
	p->routes = next;
	p->made = true;
	report_room(p);
	return !same_routes(&p->routes, &policy_of(p)->routes);
}

static void publish_kernel_routes(struct plane *p)
{
	bool differ = make_routes(p);

	// It may have met a reload of the user's.
	if (differ && !p->ops->publish(p->arg)) {
		batch_again(&p->batch, p->now_ns);
		return;
	}
	p->n.publications += differ;
	batch_end(&p->batch, p->now_ns, differ ? p->routes.n_prefixes : 0);
	manage_gateways(p);
}

static void publish_when_due(struct plane *p, bool read_all)
{
	if (p->dumping || !batch_due(&p->batch, p->now_ns, read_all, p->stale))
		return;
	if (p->stale)
		begin_dump(p);
	else
		publish_kernel_routes(p);
}

// Interfaces by their numbers in the policy.
static void renumber(const struct plane *p, struct policy *policy)
{
	struct policy_routes *r = &policy->routes;
	port_no_t to[N_IFACES];

	if (!numbers_in(p, policy, to))
		return;
	for (uint32_t i = 0; i < r->n_nexthops; i++) {
		struct policy_nexthop *h = &r->nexthops[i];

		if (h->port == PORT_NONE)
			continue;
		h->port = to[h->port];
		if (h->port == PORT_NONE && h->kind != NEXTHOP_SELF)
			*h = (struct policy_nexthop){.kind = NEXTHOP_NONE, .port = PORT_NONE};
	}
}

static bool copy_route_array(void **to, const void *from, size_t n, size_t size)
{
	*to = calloc(n + 1, size);
	if (*to != NULL)
		memcpy(*to, from, n * size);
	return *to != NULL;
}

bool plane_fill(struct plane *p, struct policy *policy)
{
	struct policy_routes *r = &policy->routes;
	const struct policy_routes *own = p == NULL ? NULL : &p->routes;

	if (own == NULL || !r->any || !p->made)
		return true;
	free(r->prefixes);
	free(r->groups);
	free(r->nexthops);
	r->prefixes = NULL;
	r->groups = NULL;
	r->nexthops = NULL;
	r->n_prefixes = own->n_prefixes;
	r->n_groups = own->n_groups;
	r->n_nexthops = own->n_nexthops;
	if (!copy_route_array((void **)&r->prefixes, own->prefixes, own->n_prefixes,
			      sizeof(own->prefixes[0])) ||
	    !copy_route_array((void **)&r->groups, own->groups, own->n_groups,
			      sizeof(own->groups[0])) ||
	    !copy_route_array((void **)&r->nexthops, own->nexthops, own->n_nexthops,
			      sizeof(own->nexthops[0])))
		return false;
	renumber(p, policy);
	return true;
}

// ---- from outside

void plane_new_policy(struct plane *p, uint64_t now_ns)
{
	char err[PLANE_ERR_LEN];

	if (p == NULL)
		return;
	if (!make_taps(p, now_ns, err, sizeof(err)))
		report_plane_event(p, EVENT_LINUX_TAP_REFUSED, PORT_NONE, 0, err);
}

const struct linux_numbers *plane_numbers(void *plane)
{
	struct plane *p = plane;
	const struct netlink_stats *s = netlink_stats(p->netlink);

	p->n.prefixes = p->census.routes;
	p->n.taken = p->census.taken;
	p->n.foreign = p->census.foreign;
	p->n.no_room = p->census.no_room;
	p->n.unsupported = p->census.unsupported;
	p->n.from_hosts = p->census.from_hosts;
	p->n.hops_left_out = p->census.hops_left_out;
	p->n.nexthops = p->census.nexthops;
	p->n.neighbours = mirror_n_neighbours(p->mirror);
	p->n.messages = s->messages;
	p->n.malformed = s->malformed;
	p->n.lost = s->lost;
	p->n.dumps = s->dumps;
	p->n.requests_refused = s->refused;
	for (unsigned i = 0; i < N_IFACES; i++) {
		const struct plane_iface *f = &p->iface[i];

		p->n.tap[i] = f->c;
		p->n.tap[i].name = f->wanted ? f->tap.name : NULL;
		p->n.tap[i].present = f->tap.fd >= 0;
		p->n.tap[i].carrier = f->tap.carrier;
	}
	return &p->n;
}

void plane_poll(struct plane *p, uint64_t now_ns)
{
	if (p == NULL)
		return;
	p->now_ns = now_ns;
	set_carriers(p);
	take_punts(p);
	take_frames(p, now_ns);
	take_requests(p);
	publish_when_due(p, take_messages(p));
	make_lost_taps(p, now_ns);
	repeat_addrs(p, now_ns);
}

int plane_fd(const struct plane *p)
{
	return p == NULL ? -1 : p->epoll;
}

static int open_all(struct plane *p, const struct plane_conf *conf, char *err, size_t err_len)
{
	static const struct mirror_ops mirror_ops = {.neighbour = on_neighbour, .stale = on_stale};
	int rc;

	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll < 0 || mirror_create(&mirror_ops, p, MIRROR_PREFIXES, &p->mirror) != 0) {
		snprintf(err, err_len, "out of memory");
		return -ENOMEM;
	}
	rc = netns_open(conf->netns, &p->netns, err, err_len);
	if (rc == 0)
		rc = netlink_open(p->netns, RCVBUF, &p->netlink, err, err_len);
	if (rc != 0)
		return rc;
	watch_descriptor(p, netlink_fd(p->netlink), NETLINK_SLOT);
	return make_taps(p, p->now_ns, err, err_len) ? 0 : -EIO;
}

int plane_create(const struct plane_conf *conf, uint64_t now_ns, struct plane **out, char *err,
		 size_t err_len)
{
	struct plane *p = calloc(1, sizeof(*p));
	int rc;

	if (p == NULL) {
		snprintf(err, err_len, "out of memory");
		return -ENOMEM;
	}
	p->sw = conf->sw;
	p->ops = conf->ops;
	p->arg = conf->arg;
	p->now_ns = now_ns;
	p->epoll = -1;
	for (unsigned i = 0; i < N_IFACES; i++)
		p->iface[i].tap.fd = -1;
	rc = open_all(p, conf, err, err_len);
	if (rc != 0) {
		plane_destroy(p);
		return rc;
	}
	begin_dump(p);
	*out = p;
	return 0;
}

void plane_destroy(struct plane *p)
{
	if (p == NULL)
		return;
	for (unsigned i = 0; i < N_IFACES; i++)
		linux_tap_close(&p->iface[i].tap);
	netlink_close(p->netlink);
	netns_close(p->netns);
	mirror_destroy(p->mirror);
	free_routes(&p->routes);
	if (p->epoll >= 0)
		close(p->epoll);
	free(p);
}
