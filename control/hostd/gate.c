// SPDX-License-Identifier: Apache-2.0
#include "control/hostd/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dataplane/base/bits.h"
#include "dataplane/base/units.h"

enum {
	MAJOR = 0xfc, // of the root; handles that the kernel chooses begin at 0x8000
	OTHER = N_CLASSES + 1, // minors: class c has c + 1
	KICK,
	LINE,
	MESSAGE_LEN = 512,
	ANSWER_LEN = 4096, // with the statistics of a queue
	LINK_LEN = 32768, // with all that the kernel says about an interface
	LIMIT_BYTES = 64 << 20, // the send buffers of all sockets hold less
	L2_ROOM = 14 + 2 * 4, // header and tags
	WIRE_BYTES = 8 + 4 + 12, // preamble, FCS and gap, which htb counts too
	LEAST_WIRE_BYTES = 84,
	BURST_NS = 100 * US_NS, // what htb may send at once after a late timer
	TICK_NS = 64, // unit of times in messages of htb
	KIND_LEN = 32,
	DSCPS = 64,
	IPV4_DSCP_SHIFT = 18, // in the first word of the header
	IPV6_DSCP_SHIFT = 22,
};
#define OPEN_BYTES_PER_S 125000000000ull // tbf as good as absent

struct gate {
	int netlink, kick; // sockets
	unsigned ifindex;
	uint32_t seq, frame_bytes; // the longest frame of the interface
	uint64_t bytes_per_s; // of the line
	bool plug;
};

// ---- requests

struct message {
	_Alignas(struct nlmsghdr) char bytes[MESSAGE_LEN];
	struct nlmsghdr *h;
	struct tcmsg *tc;
};

static void message_begin(struct gate *g, struct message *m, uint16_t type, uint16_t flags,
			  uint32_t parent, uint32_t handle)
{
	memset(m->bytes, 0, sizeof(m->bytes));
	m->h = mnl_nlmsg_put_header(m->bytes);
	m->h->nlmsg_type = type;
	m->h->nlmsg_flags = (uint16_t)(flags | NLM_F_REQUEST | NLM_F_ACK);
	m->h->nlmsg_seq = ++g->seq;
	m->tc = mnl_nlmsg_put_extra_header(m->h, sizeof(*m->tc));
	m->tc->tcm_ifindex = (int)g->ifindex;
	m->tc->tcm_parent = parent;
	m->tc->tcm_handle = handle;
}

// The kernel answers before send() returns. 0 or -errno.
static int message_send(const struct gate *g, const struct message *m)
{
	_Alignas(struct nlmsghdr) char answer[MESSAGE_LEN] = {0};
	const struct nlmsghdr *h = (const void *)answer;
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(h);
	ssize_t got;

	if (send(g->netlink, m->h, m->h->nlmsg_len, 0) < 0)
		return -errno;
	do {
		got = recv(g->netlink, answer, sizeof(answer), MSG_TRUNC);
		if (got < 0 && errno != EINTR)
			return -errno;
	} while (got < (ssize_t)(sizeof(*h) + sizeof(e->error)) || h->nlmsg_type != NLMSG_ERROR ||
		 h->nlmsg_seq != m->h->nlmsg_seq);
	return e->error;
}

static uint32_t id_of(unsigned minor)
{
	return TC_H_MAKE((uint32_t)MAJOR << 16, minor);
}

// Each leaf has a major of its own.
static uint32_t leaf_of(unsigned minor)
{
	return (uint32_t)(MAJOR + minor) << 16;
}

static struct tc_ratespec ratespec(uint64_t bytes_per_s)
{
	return (struct tc_ratespec){.linklayer = TC_LINKLAYER_ETHERNET,
				    .rate = (uint32_t)min_u64(bytes_per_s, UINT32_MAX)};
}

// ---- the tree

static int put_root(struct gate *g)
{
	const struct tc_htb_glob glob = {.version = 3, .rate2quantum = 10, .defcls = OTHER};
	struct nlattr *options;
	struct message m;

	message_begin(g, &m, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, TC_H_ROOT, id_of(0));
	mnl_attr_put_strz(m.h, TCA_KIND, "htb");
	options = mnl_attr_nest_start(m.h, TCA_OPTIONS);
	mnl_attr_put(m.h, TCA_HTB_INIT, sizeof(glob), &glob);
	mnl_attr_nest_end(m.h, options);
	return message_send(g, &m);
}

static struct tc_ratespec line_rate(uint64_t bytes_per_s)
{
	struct tc_ratespec r = ratespec(bytes_per_s);

	r.overhead = WIRE_BYTES;
	r.mpu = LEAST_WIRE_BYTES;
	return r;
}

static int put_class(struct gate *g, unsigned minor, uint32_t parent, uint64_t bytes_per_s)
{
	uint64_t burst = 2ull * g->frame_bytes + g->bytes_per_s * BURST_NS / SECOND_NS;
	const struct tc_htb_opt opt = {
		.rate = line_rate(bytes_per_s),
		.ceil = line_rate(g->bytes_per_s),
		.buffer = (uint32_t)(burst * SECOND_NS / bytes_per_s / TICK_NS),
		.cbuffer = (uint32_t)(burst * SECOND_NS / g->bytes_per_s / TICK_NS),
		.quantum = g->frame_bytes,
	};
	struct nlattr *options;
	struct message m;

	message_begin(g, &m, RTM_NEWTCLASS, NLM_F_CREATE | NLM_F_EXCL, parent, id_of(minor));
	mnl_attr_put_strz(m.h, TCA_KIND, "htb");
	options = mnl_attr_nest_start(m.h, TCA_OPTIONS);
	mnl_attr_put(m.h, TCA_HTB_PARMS, sizeof(opt), &opt);
	mnl_attr_put_u64(m.h, TCA_HTB_RATE64, bytes_per_s);
	mnl_attr_put_u64(m.h, TCA_HTB_CEIL64, g->bytes_per_s);
	mnl_attr_nest_end(m.h, options);
	return message_send(g, &m);
}

static int put_blackhole(struct gate *g)
{
	struct message m;

	message_begin(g, &m, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, id_of(KICK), leaf_of(KICK));
	mnl_attr_put_strz(m.h, TCA_KIND, "blackhole");
	return message_send(g, &m);
}

static int order_plug(struct gate *g, unsigned c, uint16_t flags, int action)
{
	const struct tc_plug_qopt opt = {.action = action, .limit = LIMIT_BYTES};
	struct message m;

	message_begin(g, &m, RTM_NEWQDISC, flags, id_of(c + 1), leaf_of(c + 1));
	mnl_attr_put_strz(m.h, TCA_KIND, "plug");
	mnl_attr_put(m.h, TCA_OPTIONS, sizeof(opt), &opt);
	return message_send(g, &m);
}

// A frame longer than the burst would be dropped, so the burst is one frame of full size, held or
// not; tbf cuts the segments of TCP to it.
static int order_tbf(struct gate *g, unsigned c, uint16_t flags, uint64_t bytes_per_s)
{
	const struct tc_tbf_qopt opt = {.rate = ratespec(bytes_per_s), .limit = LIMIT_BYTES};
	struct nlattr *options;
	struct message m;

	message_begin(g, &m, RTM_NEWQDISC, flags, id_of(c + 1), leaf_of(c + 1));
	mnl_attr_put_strz(m.h, TCA_KIND, "tbf");
	options = mnl_attr_nest_start(m.h, TCA_OPTIONS);
	mnl_attr_put(m.h, TCA_TBF_PARMS, sizeof(opt), &opt);
	mnl_attr_put_u32(m.h, TCA_TBF_BURST, g->frame_bytes);
	mnl_attr_put_u64(m.h, TCA_TBF_RATE64, bytes_per_s);
	mnl_attr_nest_end(m.h, options);
	return message_send(g, &m);
}

// A new plug holds all frames.
static int put_leaf(struct gate *g, unsigned c)
{
	const uint16_t create = NLM_F_CREATE | NLM_F_EXCL;
	int rc;

	if (!g->plug)
		return order_tbf(g, c, create, OPEN_BYTES_PER_S);
	rc = order_plug(g, c, create, TCQ_PLUG_LIMIT);
	return rc == 0 ? gate_hold(g, c, false) : rc;
}

static int put_filter(struct gate *g, unsigned c, uint16_t protocol, uint32_t mask, uint32_t value)
{
	const unsigned order = protocol == ETH_P_IP ? 1 : 2;
	_Alignas(struct tc_u32_sel) char first_word[sizeof(struct tc_u32_sel) +
						    sizeof(struct tc_u32_key)] = {0};
	struct tc_u32_sel *sel = (void *)first_word;
	struct nlattr *options;
	struct message m;

	sel->flags = TC_U32_TERMINAL;
	sel->nkeys = 1;
	sel->keys[0] = (struct tc_u32_key){.mask = htonl(mask), .val = htonl(value)};
	message_begin(g, &m, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, id_of(0), 0);
	m.tc->tcm_info = TC_H_MAKE(order << 16, htons(protocol));
	mnl_attr_put_strz(m.h, TCA_KIND, "u32");
	options = mnl_attr_nest_start(m.h, TCA_OPTIONS);
	mnl_attr_put_u32(m.h, TCA_U32_CLASSID, id_of(c + 1));
	mnl_attr_put(m.h, TCA_U32_SEL, sizeof(first_word), first_word);
	mnl_attr_nest_end(m.h, options);
	return message_send(g, &m);
}

// The most DSCPs from `first` on that one mask can match.
static unsigned block_of(uint64_t dscps, unsigned first)
{
	unsigned n = 1;

	while (2 * n < DSCPS && first % (2 * n) == 0 &&
	       (dscps >> first & ((1ull << 2 * n) - 1)) == (1ull << 2 * n) - 1)
		n *= 2;
	return n;
}

static int put_filters(struct gate *g, unsigned c, uint64_t dscps)
{
	int rc = 0;

	for (unsigned first = 0, n; first < DSCPS && rc == 0; first += n) {
		n = block_of(dscps, first);
		if (!(dscps >> first & 1))
			continue;
		rc = put_filter(g, c, ETH_P_IP, (DSCPS - n) << IPV4_DSCP_SHIFT,
				first << IPV4_DSCP_SHIFT);
		if (rc == 0)
			rc = put_filter(g, c, ETH_P_IPV6, (DSCPS - n) << IPV6_DSCP_SHIFT,
					first << IPV6_DSCP_SHIFT);
	}
	return rc;
}

static int remove_root(struct gate *g)
{
	struct message m;

	message_begin(g, &m, RTM_DELQDISC, 0, TC_H_ROOT, id_of(0));
	mnl_attr_put_strz(m.h, TCA_KIND, "htb"); // one of another kind stays
	return message_send(g, &m);
}

static int put_classes(struct gate *g, const struct hostd_args *a)
{
	const uint64_t share = g->bytes_per_s / (N_CLASSES + 1); // each may take what others leave
	int rc = put_class(g, LINE, id_of(0), g->bytes_per_s);

	if (rc == 0)
		rc = put_class(g, OTHER, id_of(LINE), share);
	if (rc == 0)
		rc = put_class(g, KICK, id_of(0), share);
	if (rc == 0)
		rc = put_blackhole(g);
	for_each_bit (c, a->classes) {
		if (rc == 0)
			rc = put_class(g, c + 1, id_of(LINE), share);
		if (rc == 0)
			rc = put_leaf(g, c);
		if (rc == 0)
			rc = put_filters(g, c, a->dscps[c]);
	}
	return rc;
}

const char *gate_why(int rc)
{
	switch (-rc) {
	case EPERM: return "it needs root, or the capabilities NET_ADMIN and NET_RAW";
	case ENOENT:
		return "the kernel lacks a queue: `modprobe -a sch_htb sch_tbf cls_u32`, and "
		       "sch_plug if there is one";
	default: return strerror(-rc);
	}
}

static int put_tree(struct gate *g, const struct hostd_args *a, char *err, size_t err_len)
{
	int rc;

	(void)remove_root(g); // of an earlier gate: another root has another handle
	rc = put_root(g);
	if (rc == -EEXIST) {
		snprintf(err, err_len, "%s has queues of its own; `tc qdisc del dev %s root` "
			 "removes them", a->device, a->device);
		return rc;
	}
	if (rc == 0)
		rc = put_classes(g, a);
	if (rc == -ENOENT && g->plug) {
		g->plug = false;
		return put_tree(g, a, err, err_len);
	}
	if (rc != 0) {
		snprintf(err, err_len, "%s: %s", a->device, gate_why(rc));
		(void)remove_root(g);
	}
	return rc;
}

// ---- sockets

static int open_kick(struct gate *g)
{
	const struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)g->ifindex};
	const uint32_t class = id_of(KICK);

	g->kick = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (g->kick < 0 || bind(g->kick, (const struct sockaddr *)&to, sizeof(to)) != 0 ||
	    setsockopt(g->kick, SOL_SOCKET, SO_PRIORITY, &class, sizeof(class)) != 0)
		return -errno;
	return 0;
}

// The longest frame that the interface sends now. 0 or -errno.
static int frame_bytes_of(const struct gate *g, const char *device, uint32_t *out)
{
	struct ifreq r = {0};

	memcpy(r.ifr_name, device, strlen(device));
	if (ioctl(g->kick, SIOCGIFMTU, &r) != 0)
		return -errno;
	*out = (uint32_t)r.ifr_mtu + L2_ROOM;
	return 0;
}

static int open_sockets(struct gate *g, const char *device)
{
	int rc = open_kick(g);

	if (rc == 0)
		rc = frame_bytes_of(g, device, &g->frame_bytes);
	if (rc != 0)
		return rc;
	g->netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	return g->netlink < 0 ? -errno : 0;
}

// ---- what the interface is a port of

struct kinds {
	char own[KIND_LEN], master[KIND_LEN]; // empty: of a card; no port of another interface
};

static int link_kind(const struct nlattr *attr, void *out)
{
	struct kinds *k = out;
	char *to = mnl_attr_get_type(attr) == IFLA_INFO_KIND	    ? k->own
		   : mnl_attr_get_type(attr) == IFLA_INFO_SLAVE_KIND ? k->master
								     : NULL;

	if (to != NULL && mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) == 0)
		snprintf(to, KIND_LEN, "%s", mnl_attr_get_str(attr));
	return MNL_CB_OK;
}

static int link_info(const struct nlattr *attr, void *out)
{
	return mnl_attr_get_type(attr) == IFLA_LINKINFO
		       ? mnl_attr_parse_nested(attr, link_kind, out)
		       : MNL_CB_OK;
}

// 0 or -errno.
static int kinds_of(struct gate *g, struct kinds *out)
{
	_Alignas(struct nlmsghdr) char bytes[LINK_LEN] = {0};
	struct nlmsghdr *h = mnl_nlmsg_put_header(bytes);
	struct ifinfomsg *link = mnl_nlmsg_put_extra_header(h, sizeof(*link));
	uint32_t seq = ++g->seq;
	ssize_t got;

	*out = (struct kinds){0};
	h->nlmsg_type = RTM_GETLINK;
	h->nlmsg_flags = NLM_F_REQUEST;
	h->nlmsg_seq = seq;
	link->ifi_index = (int)g->ifindex;
	if (send(g->netlink, h, h->nlmsg_len, 0) < 0)
		return -errno;
	do {
		got = recv(g->netlink, bytes, sizeof(bytes), 0);
		if (got < 0 && errno != EINTR)
			return -errno;
	} while (!mnl_nlmsg_ok(h, (int)got) || h->nlmsg_seq != seq);
	if (h->nlmsg_type == RTM_NEWLINK)
		(void)mnl_attr_parse(h, sizeof(*link), link_info, out);
	return 0;
}

static bool is_bridge(const char *kind)
{
	return strcmp(kind, "bridge") == 0 || strcmp(kind, "openvswitch") == 0;
}

int gate_check(struct gate *g, const char *device, char *err, size_t err_len)
{
	struct kinds k;
	int rc = kinds_of(g, &k);

	if (rc != 0)
		snprintf(err, err_len, "%s: %s", device, gate_why(rc));
	else if (is_bridge(k.own))
		snprintf(err, err_len, "%s is a bridge, and gets no PFC frames; name an interface "
			 "with a cable to the switch", device);
	else if (strcmp(k.master, "bridge") == 0)
		snprintf(err, err_len, "%s is a port of a bridge, which takes its PFC frames; `ip "
			 "link set %s nomaster` takes it out", device, device);
	else if (is_bridge(k.master))
		snprintf(err, err_len, "%s is a port of Open vSwitch, which takes its PFC frames; "
			 "`ovs-vsctl del-port %s` takes it out", device, device);
	else
		return 0;
	return rc != 0 ? rc : -EBUSY;
}

int gate_open(const struct hostd_args *a, unsigned ifindex, struct gate **out, char *err,
	      size_t err_len)
{
	struct gate *g = calloc(1, sizeof(*g));
	int rc;

	if (g == NULL) {
		snprintf(err, err_len, "out of memory");
		return -ENOMEM;
	}
	*g = (struct gate){.netlink = -1, .kick = -1, .ifindex = ifindex, .plug = true,
			   .bytes_per_s = (uint64_t)a->speed_bps / BITS_PER_BYTE};
	rc = open_sockets(g, a->device);
	if (rc != 0)
		snprintf(err, err_len, "%s: %s", a->device, gate_why(rc));
	else
		rc = gate_check(g, a->device, err, err_len);
	if (rc == 0)
		rc = put_tree(g, a, err, err_len);
	if (rc == 0)
		*out = g;
	else
		gate_close(g);
	return rc;
}

// tbf looks at its new rate only when htb looks at its queues: when a frame comes, or after a
// second. The senders may all be waiting, so a frame to the blackhole takes their place.
static void kick_htb(const struct gate *g)
{
	static const uint8_t frame[ETH_ZLEN] = {0x01, 0x80, 0xc2, 0, 0, 0x0e, 0x02, 0, 0, 0, 0, 0,
						0x88, 0xb5}; // EtherType for experiments

	(void)send(g->kick, frame, sizeof(frame), MSG_DONTWAIT); // the blackhole is an error
}

int gate_hold(struct gate *g, unsigned c, bool hold)
{
	int rc;

	if (g->plug)
		return order_plug(g, c, 0, hold ? TCQ_PLUG_BUFFER : TCQ_PLUG_RELEASE_INDEFINITE);
	rc = order_tbf(g, c, 0, hold ? 1 : OPEN_BYTES_PER_S);
	if (rc == 0 && !hold)
		kick_htb(g);
	return rc;
}

int gate_resize(struct gate *g, const struct hostd_args *a, uint8_t held)
{
	uint32_t frame_bytes;
	int rc = frame_bytes_of(g, a->device, &frame_bytes);

	if (rc != 0 || frame_bytes == g->frame_bytes)
		return rc;
	g->frame_bytes = frame_bytes;
	for_each_bit (c, a->classes) {
		if (rc == 0 && !g->plug)
			rc = gate_hold(g, c, held >> c & 1);
	}
	return rc;
}

static int stats_of(const struct nlattr *attr, void *out)
{
	if (mnl_attr_get_type(attr) == TCA_STATS &&
	    mnl_attr_get_payload_len(attr) >= sizeof(struct tc_stats))
		memcpy(out, mnl_attr_get_payload(attr), sizeof(struct tc_stats));
	return MNL_CB_OK;
}

int gate_counts(struct gate *g, struct gate_counts *out)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_LEN];
	const struct nlmsghdr *h = (const void *)answer;
	struct tc_stats stats = {0};
	struct message m;
	ssize_t got;

	*out = (struct gate_counts){0};
	message_begin(g, &m, RTM_GETQDISC, NLM_F_ECHO, TC_H_ROOT, id_of(0));
	if (send(g->netlink, m.h, m.h->nlmsg_len, 0) < 0)
		return -errno;
	do {
		got = recv(g->netlink, answer, sizeof(answer), 0);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (mnl_nlmsg_ok(h, (int)got) && h->nlmsg_type == RTM_NEWQDISC)
			(void)mnl_attr_parse(h, sizeof(struct tcmsg), stats_of, &stats);
	} while (!mnl_nlmsg_ok(h, (int)got) || h->nlmsg_type != NLMSG_ERROR ||
		 h->nlmsg_seq != g->seq);
	*out = (struct gate_counts){.waiting = stats.qlen, .drops = stats.drops};
	return ((const struct nlmsgerr *)mnl_nlmsg_get_payload(h))->error;
}

const char *gate_kind(const struct gate *g)
{
	return g->plug ? "plug" : "tbf";
}

void gate_close(struct gate *g)
{
	if (g == NULL)
		return;
	if (g->netlink >= 0) {
		(void)remove_root(g);
		close(g->netlink);
	}
	if (g->kick >= 0)
		close(g->kick);
	free(g);
}
