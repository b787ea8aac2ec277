// SPDX-License-Identifier: Apache-2.0
#include "control/linux/netlink.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/linux/netns.h"

enum { BUFFER = 65536, REQUEST_LEN = 256, ANSWER_LEN = 2048 };

enum { SOCKET_CHANGES, SOCKET_DUMPS, SOCKET_REQUESTS, N_SOCKETS };

// What a dump requests, one after the other.
static const struct {
	uint16_t type;
	uint8_t family;
	size_t header;
} dump_steps[] = {
	{RTM_GETLINK, AF_UNSPEC, sizeof(struct ifinfomsg)},
	{RTM_GETNEXTHOP, AF_UNSPEC, sizeof(struct nhmsg)},
	{RTM_GETROUTE, AF_INET, sizeof(struct rtmsg)},
	{RTM_GETROUTE, AF_INET6, sizeof(struct rtmsg)},
	{RTM_GETNEIGH, AF_INET, sizeof(struct ndmsg)},
	{RTM_GETNEIGH, AF_INET6, sizeof(struct ndmsg)},
};
enum { N_DUMP_STEPS = sizeof(dump_steps) / sizeof(dump_steps[0]) };

struct netlink {
	int fd[N_SOCKETS];
	int rcvbuf;
	uint32_t seq;
	unsigned step; // of the dump
	uint32_t dump_seq; // of the request of the step; 0: not sent yet
	bool changed; // the kernel says that the dump is inconsistent
	struct netlink_stats stats;
	struct kernel_msg msg;
	_Alignas(struct nlmsghdr) char buffer[BUFFER];
};

// ---- sockets, in the namespace's thread

static int subscribe(int fd)
{
	static const int groups[] = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
				     RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, RTNLGRP_NEIGH,
				     RTNLGRP_NEXTHOP};
	const struct sockaddr_nl any = {.nl_family = AF_NETLINK};

	// A socket without an address gets no messages of its groups.
	if (bind(fd, (const struct sockaddr *)&any, sizeof(any)) != 0)
		return -errno;
	for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &groups[i],
			       sizeof(groups[i])) != 0)
			return -errno;
	return 0;
}

static int open_sockets(void *arg)
{
	struct netlink *n = arg;

	for (unsigned i = 0; i < N_SOCKETS; i++) {
		n->fd[i] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
				  NETLINK_ROUTE);
		if (n->fd[i] < 0)
			return -errno;
	}
	// Without the privilege the kernel grants its usual maximum.
	if (setsockopt(n->fd[SOCKET_CHANGES], SOL_SOCKET, SO_RCVBUFFORCE, &n->rcvbuf,
		       sizeof(n->rcvbuf)) != 0)
		(void)setsockopt(n->fd[SOCKET_CHANGES], SOL_SOCKET, SO_RCVBUF, &n->rcvbuf,
				 sizeof(n->rcvbuf));
	return subscribe(n->fd[SOCKET_CHANGES]);
}

int netlink_open(struct netns *ns, int rcvbuf, struct netlink **out, char *err, size_t err_len)
{
	struct netlink *n = calloc(1, sizeof(*n));
	int rc;

	if (n == NULL) {
		snprintf(err, err_len, "out of memory");
		return -ENOMEM;
	}
	for (unsigned i = 0; i < N_SOCKETS; i++)
		n->fd[i] = -1;
	n->rcvbuf = rcvbuf;
	rc = netns_call(ns, open_sockets, n);
	if (rc != 0) {
		snprintf(err, err_len, "control_plane: cannot open a netlink socket: %s",
			 strerror(-rc));
		netlink_close(n);
		return rc;
	}
	*out = n;
	return 0;
}

void netlink_close(struct netlink *n)
{
	for (unsigned i = 0; n != NULL && i < N_SOCKETS; i++)
		if (n->fd[i] >= 0)
			close(n->fd[i]);
	free(n);
}

int netlink_fd(const struct netlink *n)
{
	return n->fd[SOCKET_CHANGES];
}

const struct netlink_stats *netlink_stats(const struct netlink *n)
{
	return &n->stats;
}

// ---- messages in

// One datagram of the kernel: another process can send to the socket too. Its length; 0: none now;
// -errno.
static ssize_t receive_in(int fd, char *buffer, size_t size)
{
	struct sockaddr_nl from = {0};
	socklen_t len = sizeof(from);
	ssize_t got;

	do
		got = recvfrom(fd, buffer, size, MSG_TRUNC, (struct sockaddr *)&from, &len);
	while (got >= 0 && from.nl_pid != 0);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return got > (ssize_t)size ? -ENOBUFS : got;
}

static ssize_t receive_from_kernel(struct netlink *n, unsigned which)
{
	return receive_in(n->fd[which], n->buffer, sizeof(n->buffer));
}

static void deliver_message(struct netlink *n, const struct nlmsghdr *h, netlink_fn *fn, void *arg)
{
	enum kernel_msg_kind kind = kernel_msg_parse(h, &n->msg);

	n->stats.malformed += kind == KERNEL_MALFORMED;
	if (kind != KERNEL_MALFORMED && kind != KERNEL_OTHER)
		fn(arg, &n->msg);
}

enum netlink_verdict netlink_read(struct netlink *n, unsigned max, netlink_fn *fn, void *arg)
{
	unsigned done = 0;

	while (done < max) {
		ssize_t got = receive_from_kernel(n, SOCKET_CHANGES);
		size_t left = (size_t)got;

		if (got == 0)
			return NETLINK_DONE;
		if (got < 0) {
			n->stats.lost++;
			return NETLINK_LOST;
		}
		for (const struct nlmsghdr *h = kernel_msg_first(n->buffer, &left); h != NULL;
		     h = kernel_msg_next(h, &left), done++) {
			n->stats.messages++;
			deliver_message(n, h, fn, arg);
		}
	}
	return NETLINK_MORE;
}

// ---- dumps

void netlink_begin_dump(struct netlink *n)
{
	ssize_t got;

	// Messages after a loss end the loop too: what they say is in the dump.
	while ((got = receive_from_kernel(n, SOCKET_CHANGES)) > 0 || got == -ENOBUFS)
		continue;
	while (receive_from_kernel(n, SOCKET_DUMPS) > 0)
		continue;
	n->step = 0;
	n->dump_seq = 0;
	n->changed = false;
	n->stats.dumps++;
}

static bool request_dump(struct netlink *n)
{
	char buf[REQUEST_LEN] = {0};
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct rtgenmsg *g;

	h->nlmsg_type = dump_steps[n->step].type;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	h->nlmsg_seq = n->dump_seq = ++n->seq;
	g = mnl_nlmsg_put_extra_header(h, dump_steps[n->step].header);
	g->rtgen_family = dump_steps[n->step].family;
	return send(n->fd[SOCKET_DUMPS], h, h->nlmsg_len, 0) == (ssize_t)h->nlmsg_len;
}

// The messages of one datagram. True: the step is complete.
static bool take_dump(struct netlink *n, size_t left, unsigned *done, netlink_fn *fn, void *arg)
{
	for (const struct nlmsghdr *h = kernel_msg_first(n->buffer, &left); h != NULL;
	     h = kernel_msg_next(h, &left)) {
		if (h->nlmsg_seq != n->dump_seq)
			continue;
		n->changed |= (h->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
		// A kernel without next-hop objects refuses to dump them.
		if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
			return true;
		deliver_message(n, h, fn, arg);
		++*done;
	}
	return false;
}

enum netlink_verdict netlink_dump(struct netlink *n, unsigned max, netlink_fn *fn, void *arg)
{
	unsigned done = 0;

	while (n->step < N_DUMP_STEPS) {
		ssize_t got;

		if (done >= max)
			return NETLINK_MORE;
		if (n->dump_seq == 0 && !request_dump(n))
			return NETLINK_LOST;
		got = receive_from_kernel(n, SOCKET_DUMPS);
		if (got < 0)
			return NETLINK_LOST;
		if (got == 0)
			return NETLINK_MORE;
		if (take_dump(n, (size_t)got, &done, fn, arg)) {
			n->step++;
			n->dump_seq = 0;
		}
	}
	if (!n->changed)
		return NETLINK_DONE;
	n->stats.dumps_again++;
	return NETLINK_LOST;
}

// ---- requests

// The kernel answers before send() returns. 0 or -errno. A caller may be in the middle of a buffer
// of messages, so the answer has a buffer of its own.
static int request_and_wait(struct netlink *n, struct nlmsghdr *h)
{
	_Alignas(struct nlmsghdr) char buffer[ANSWER_LEN];
	ssize_t got;

	h->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	h->nlmsg_seq = ++n->seq;
	if (send(n->fd[SOCKET_REQUESTS], h, h->nlmsg_len, 0) != (ssize_t)h->nlmsg_len)
		return -errno;
	while ((got = receive_in(n->fd[SOCKET_REQUESTS], buffer, sizeof(buffer))) > 0) {
		size_t left = (size_t)got;
		const struct nlmsghdr *a = kernel_msg_first(buffer, &left);
		const struct nlmsgerr *e = a == NULL ? NULL : mnl_nlmsg_get_payload(a);

		if (a != NULL && a->nlmsg_type == NLMSG_ERROR && a->nlmsg_seq == n->seq &&
		    a->nlmsg_len >= sizeof(*a) + sizeof(e->error)) {
			n->stats.refused += e->error != 0;
			return e->error;
		}
	}
	return got < 0 ? (int)got : -EIO;
}

static uint8_t family_of(const struct policy_addr *a)
{
	return a->family == FAMILY_V4 ? AF_INET : AF_INET6;
}

static size_t len_of(const struct policy_addr *a)
{
	return a->family == FAMILY_V4 ? 4 : 16;
}

int netlink_set_addr(struct netlink *n, uint32_t ifindex, const struct policy_addr *a, bool add)
{
	char buf[REQUEST_LEN] = {0};
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	h->nlmsg_type = add ? RTM_NEWADDR : RTM_DELADDR;
	h->nlmsg_flags = add ? NLM_F_CREATE | NLM_F_REPLACE : 0;
	*m = (struct ifaddrmsg){.ifa_family = family_of(a), .ifa_prefixlen = a->len,
				.ifa_index = ifindex};
	mnl_attr_put(h, IFA_LOCAL, len_of(a), a->ip);
	mnl_attr_put(h, IFA_ADDRESS, len_of(a), a->ip);
	if (a->family == FAMILY_V4 && a->len < 31) {
		uint8_t all[4];
		uint32_t hosts = 0xffffffffu >> a->len;

		for (unsigned i = 0; i < 4; i++)
			all[i] = (uint8_t)(a->ip[i] | hosts >> (24 - 8 * i));
		mnl_attr_put(h, IFA_BROADCAST, sizeof(all), all);
	}
	return request_and_wait(n, h);
}

void netlink_ask_neighbour(struct netlink *n, uint32_t ifindex, const struct policy_addr *a,
			   bool managed)
{
	char buf[REQUEST_LEN] = {0};
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct ndmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	h->nlmsg_type = RTM_NEWNEIGH;
	h->nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE;
	*m = (struct ndmsg){.ndm_family = family_of(a), .ndm_ifindex = (int)ifindex,
			    .ndm_flags = NTF_USE};
	mnl_attr_put(h, NDA_DST, len_of(a), a->ip);
	if (managed)
		mnl_attr_put_u32(h, NDA_FLAGS_EXT, NTF_EXT_MANAGED);
	(void)request_and_wait(n, h);
}
