// SPDX-License-Identifier: Apache-2.0
#include "drivers/xdp/netdev.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int dev_ethtool(const struct netdev *d, void *cmd)
{
	struct ifreq ifr = {.ifr_data = cmd};

	return live_ifreq(d->name, SIOCETHTOOL, &ifr);
}

// A driver that does not report its channels has one of each.
static void read_ethtool(struct netdev *d)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_channels ch = {.cmd = ETHTOOL_GCHANNELS};
	struct ethtool_value flags = {.cmd = ETHTOOL_GFLAGS};
	struct ethtool_pauseparam p = {.cmd = ETHTOOL_GPAUSEPARAM};

	if (dev_ethtool(d, &info) == 0) {
		snprintf(d->driver, sizeof(d->driver), "%s", info.driver);
		d->is_card = info.bus_info[0] != '\0' && strcmp(info.bus_info, "N/A") != 0;
	}
	d->rx_queues = 1;
	if (dev_ethtool(d, &ch) == 0 && ch.rx_count + ch.combined_count > 0) {
		d->rx_queues = ch.rx_count + ch.combined_count;
		d->combined_queues = ch.combined_count > 0;
	}
	d->rx_vlan_offload = dev_ethtool(d, &flags) == 0 && (flags.data & ETH_FLAG_RXVLAN) != 0;
	d->flow_control_known = dev_ethtool(d, &p) == 0;
	d->flow_control = d->flow_control_known && (p.rx_pause != 0 || p.tx_pause != 0);
}

// The kernel first answers with the number of words of its link mode masks, negated, and the
// speed when the request has that number.
static void read_speed(struct netdev *d)
{
	enum { MASK_WORDS_MAX = 3 * 127 };
	_Alignas(struct ethtool_link_settings) char
		buf[sizeof(struct ethtool_link_settings) + MASK_WORDS_MAX * sizeof(uint32_t)] = {0};
	struct ethtool_link_settings *s = (void *)buf;

	s->cmd = ETHTOOL_GLINKSETTINGS;
	if (dev_ethtool(d, s) != 0 || s->link_mode_masks_nwords >= 0)
		return;
	s->link_mode_masks_nwords = (int8_t)-s->link_mode_masks_nwords;
	s->cmd = ETHTOOL_GLINKSETTINGS;
	if (dev_ethtool(d, s) == 0 && s->speed != (uint32_t)SPEED_UNKNOWN)
		d->speed_bps = s->speed * 1000000ull;
}

static int read_address_and_mtu(struct netdev *d)
{
	struct ifreq ifr = {0};
	int rc = live_ifreq(d->name, SIOCGIFHWADDR, &ifr);

	if (rc != 0)
		return rc;
	memcpy(d->mac, ifr.ifr_hwaddr.sa_data, sizeof(d->mac));
	rc = live_ifreq(d->name, SIOCGIFMTU, &ifr);
	if (rc == 0)
		d->mtu = (uint32_t)ifr.ifr_mtu;
	return rc;
}

static int set_admin_up(struct netdev *d)
{
	struct ifreq ifr = {0};
	int rc = live_ifreq(d->name, SIOCGIFFLAGS, &ifr);

	if (rc != 0 || ifr.ifr_flags & IFF_UP)
		return rc;
	ifr.ifr_flags = (short)(ifr.ifr_flags | IFF_UP);
	return live_ifreq(d->name, SIOCSIFFLAGS, &ifr);
}

// The kernel undoes a membership when its socket closes, also after SIGKILL. Protocol 0: the socket
// itself receives nothing.
static int make_promiscuous(struct netdev *d)
{
	struct packet_mreq req = {.mr_ifindex = d->ifindex, .mr_type = PACKET_MR_PROMISC};

	d->promisc_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (d->promisc_fd < 0)
		return -errno;
	if (setsockopt(d->promisc_fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &req, sizeof(req)) != 0)
		return -errno;
	return 0;
}

static int open_socket(struct netdev *d)
{
	d->nl_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	return d->nl_fd < 0 ? -errno : 0;
}

static int find_netdev(struct netdev *d, const char *ifname, struct live_text *text)
{
	if (strlen(ifname) < sizeof(d->name))
		d->ifindex = (int)if_nametoindex(ifname);
	if (d->ifindex == 0)
		return live_refuse(
			text, -ENODEV,
			"%s: no such interface in this network namespace; `ip link` lists them",
			ifname);
	snprintf(d->name, sizeof(d->name), "%s", ifname);
	return 0;
}

int netdev_open(struct netdev *d, const char *ifname, struct live_text *text)
{
	static const struct {
		int (*take)(struct netdev *d);
		const char *what;
	} steps[] = {
		{open_socket, "opening a socket"},
		{read_address_and_mtu, "reading its address"},
		{set_admin_up, "bringing it up"},
		{make_promiscuous, "making it promiscuous"},
	};
	int rc;

	*d = (struct netdev){.nl_fd = -1, .promisc_fd = -1};
	rc = find_netdev(d, ifname, text);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		rc = steps[i].take(d);
		if (rc == 0)
			continue;
		netdev_close(d);
		if (rc == -EPERM || rc == -EACCES)
			return live_refuse(text, rc, "%s: %s is not permitted; run as root", ifname,
					   steps[i].what);
		return live_refuse(text, rc, "%s: %s failed: %s", ifname, steps[i].what,
				   strerror(-rc));
	}
	read_ethtool(d);
	read_speed(d);
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void netdev_close(struct netdev *d)
{
	close_fd(&d->promisc_fd);
	close_fd(&d->nl_fd);
}

int netdev_flags(const char *ifname)
{
	struct ifreq ifr = {0};
	int rc = live_ifreq(ifname, SIOCGIFFLAGS, &ifr);

	return rc == 0 ? (unsigned short)ifr.ifr_flags : rc;
}

static void read_attr(struct rtattr *attr, struct netdev_state *out)
{
	struct rtnl_link_stats64 stats = {0};

	if (attr->rta_type != IFLA_STATS64)
		return;
	memcpy(&stats, RTA_DATA(attr),
	       RTA_PAYLOAD(attr) < sizeof(stats) ? RTA_PAYLOAD(attr) : sizeof(stats));
	out->rx_missed = stats.rx_missed_errors;
	out->tx_lost = stats.tx_dropped + stats.tx_errors;
}

int netdev_read(const struct netdev *d, struct netdev_state *out)
{
	struct {
		struct nlmsghdr hdr;
		struct ifinfomsg ifi;
	} req = {
		.hdr = {.nlmsg_len = sizeof(req), .nlmsg_type = RTM_GETLINK,
			.nlmsg_flags = NLM_F_REQUEST},
		.ifi = {.ifi_family = AF_UNSPEC, .ifi_index = d->ifindex},
	};
	// The answer to a request for one link is one message; the kernel needs less than 8 KiB.
	_Alignas(struct nlmsghdr) char buf[16384];
	struct netdev_state state = {0};
	struct nlmsghdr *hdr = (void *)buf;
	ssize_t len;

	if (send(d->nl_fd, &req, sizeof(req), 0) < 0)
		return -errno;
	len = recv(d->nl_fd, buf, sizeof(buf), 0);
	if (len < 0)
		return -errno;
	if (!NLMSG_OK(hdr, (size_t)len) || hdr->nlmsg_type != RTM_NEWLINK)
		return -ENODEV;
	struct ifinfomsg *ifi = NLMSG_DATA(hdr);
	int left = (int)IFLA_PAYLOAD(hdr);

	state.up = (ifi->ifi_flags & IFF_UP) != 0 && (ifi->ifi_flags & IFF_RUNNING) != 0;
	for (struct rtattr *a = IFLA_RTA(ifi); RTA_OK(a, left);) {
		read_attr(a, &state);
		left -= (int)RTA_ALIGN(a->rta_len);
		a = (void *)((char *)a + RTA_ALIGN(a->rta_len));
	}
	*out = state;
	return 0;
}

// ---- whether the host itself uses an interface

static void append_with_and(char *text, size_t len, const char *what)
{
	size_t at = strlen(text);

	snprintf(text + at, len - at, "%s%s", at > 0 ? " and " : "", what);
}

// An address may have a label: "eth0:1".
static bool counts(const struct ifaddrs *a, const char *ifname)
{
	const struct sockaddr_in6 *six = (const void *)a->ifa_addr;

	if (a->ifa_addr == NULL || strcspn(a->ifa_name, ":") != strlen(ifname) ||
	    strncmp(a->ifa_name, ifname, strlen(ifname)) != 0)
		return false;
	if (a->ifa_addr->sa_family == AF_INET)
		return true;
	return a->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

static void add_addresses(const char *ifname, char *text, size_t len)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) != 0)
		return;
	for (const struct ifaddrs *a = all; a != NULL; a = a->ifa_next) {
		char word[INET6_ADDRSTRLEN];
		bool six;

		if (!counts(a, ifname))
			continue;
		six = a->ifa_addr->sa_family == AF_INET6;
		inet_ntop(a->ifa_addr->sa_family,
			  six ? (const void *)&((const struct sockaddr_in6 *)(const void *)
							a->ifa_addr)->sin6_addr
			      : (const void *)&((const struct sockaddr_in *)(const void *)
							a->ifa_addr)->sin_addr,
			  word, sizeof(word));
		append_with_and(text, len, word);
	}
	freeifaddrs(all);
}

// "eth0 00000000 GATEWAY FLAGS REFCNT USE METRIC 00000000 ..."
static bool is_default(const char *line, const char *ifname)
{
	char name[32];
	unsigned to, mask;

	return sscanf(line, "%31s %x %*x %*x %*d %*d %*d %x", name, &to, &mask) == 3 && to == 0 &&
	       mask == 0 && strcmp(name, ifname) == 0;
}

// "DESTINATION 00 SOURCE 00 GATEWAY METRIC REFCNT USE FLAGS eth0"
static bool is_default_v6(const char *line, const char *ifname)
{
	char name[32], to[33];
	unsigned len;

	return sscanf(line, "%32s %x %*s %*x %*s %*x %*x %*x %*x %31s", to, &len, name) == 3 &&
	       len == 0 && strspn(to, "0") == 32 && strcmp(name, ifname) == 0;
}

static bool any_line(const char *path, const char *ifname, bool (*fits)(const char *, const char *))
{
	char line[256];
	bool any = false;
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return false;
	while (!any && fgets(line, sizeof(line), f) != NULL)
		any = fits(line, ifname);
	fclose(f);
	return any;
}

bool netdev_host_uses(unsigned ifindex, char *text, size_t len)
{
	char ifname[IF_NAMESIZE];

	text[0] = '\0';
	if (if_indextoname(ifindex, ifname) == NULL)
		return false;
	add_addresses(ifname, text, len);
	if (any_line("/proc/net/route", ifname, is_default) ||
	    any_line("/proc/net/ipv6_route", ifname, is_default_v6))
		append_with_and(text, len, "the default route");
	return text[0] != '\0';
}
