// SPDX-License-Identifier: Apache-2.0
#include "control/linux/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_arp.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/linux/netns.h"

enum { PATH_LEN = 96 };

// In the namespace's thread.

static struct ifreq request_of(const struct linux_tap *t)
{
	struct ifreq r = {0};

	memcpy(r.ifr_name, t->name, sizeof(r.ifr_name));
	return r;
}

// Settings of the kernel for one device; docs/linux.md has the reasons. Without a setting of
// `must`, a host could change where the kernel sends frames.
static const struct {
	const char *family, *key, *value;
	bool must;
} settings[] = {
	{"ipv6", "disable_ipv6", "0", false},
	{"ipv4", "rp_filter", "2", false},
	{"ipv6", "force_forwarding", "1", false},
	{"ipv6", "accept_ra", "0", true},
	{"ipv6", "autoconf", "0", true},
	{"ipv6", "accept_redirects", "0", true},
	{"ipv4", "forwarding", "1", true}, // else accept_redirects of `all` counts as well
	{"ipv4", "accept_redirects", "0", true},
	{"ipv4", "accept_source_route", "0", false},
	{"ipv4", "send_redirects", "0", false},
};

// True: the device has the value, or the kernel no such setting.
static bool write_sysctl(const char *path, const char *value)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char now[8] = "";
	bool done;

	if (fd < 0 && errno == ENOENT)
		return true;
	done = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	if (fd >= 0)
		close(fd);
	if (done)
		return true;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = read(fd, now, sizeof(now) - 1) > 0 && atoi(now) == atoi(value);
	close(fd);
	return done;
}

// Applies the settings. 0 or -EROFS.
static int apply_settings(const struct linux_tap *t)
{
	char path[PATH_LEN];

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", settings[i].family,
			 t->name, settings[i].key);
		if (!write_sysctl(path, settings[i].value) && settings[i].must)
			return -EROFS;
	}
	return 0;
}

static int adapt(int sock, const struct linux_tap *t)
{
	struct ifreq r = request_of(t);

	r.ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(r.ifr_hwaddr.sa_data, t->mac, sizeof(t->mac));
	if (ioctl(sock, SIOCSIFHWADDR, &r) != 0)
		return -errno;
	r = request_of(t);
	r.ifr_mtu = (int)t->mtu;
	if (ioctl(sock, SIOCSIFMTU, &r) != 0)
		return -errno;
	return apply_settings(t); // a larger MTU may have given the device IPv6 anew
}

static int bring_tap_up(int sock, const struct linux_tap *t)
{
	struct ifreq r = request_of(t);
	int rc = adapt(sock, t);

	if (rc != 0)
		return rc;
	if (ioctl(sock, SIOCGIFFLAGS, &r) != 0)
		return -errno;
	r.ifr_flags |= IFF_UP;
	return ioctl(sock, SIOCSIFFLAGS, &r) != 0 ? -errno : 0;
}

static int make_tap(void *arg)
{
	struct linux_tap *t = arg;
	struct ifreq r = request_of(t);
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), off = 0, rc = 0;

	r.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | IFF_TUN_EXCL);
	t->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (t->fd < 0 || sock < 0 || ioctl(t->fd, TUNSETIFF, &r) != 0 ||
	    ioctl(t->fd, TUNSETCARRIER, &off) != 0)
		rc = -errno;
	if (rc == 0)
		rc = bring_tap_up(sock, t);
	t->ifindex = if_nametoindex(t->name);
	t->carrier = false;
	if (sock >= 0)
		close(sock);
	return rc;
}

int linux_tap_open(struct netns *ns, struct linux_tap *t, char *err, size_t err_len)
{
	int rc = netns_call(ns, make_tap, t);

	if (rc == 0)
		return 0;
	if (rc == -EBUSY)
		snprintf(err, err_len,
			 "an interface %s exists already, and the tap of the port needs that name; "
			 "name the port otherwise, or: %s link del %s, unless another switch has "
			 "it", t->name, netns_ip_command(ns), t->name);
	else if (rc == -EROFS)
		snprintf(err, err_len,
			 "the tap %s would obey router advertisements and redirects of any host, "
			 "and /proc/sys is read-only; in a container "
			 "--sysctl net.ipv6.conf.default.KEY=0 for accept_ra, autoconf and "
			 "accept_redirects, and net.ipv4.conf.default.KEY for "
			 "accept_redirects=0 and forwarding=1, or a /proc/sys that is writable",
			 t->name);
	else if (t->fd < 0)
		snprintf(err, err_len, "cannot open /dev/net/tun: %s; modprobe tun, and in a "
				       "container --device /dev/net/tun", strerror(-rc));
	else
		snprintf(err, err_len, "cannot make the tap %s: %s", t->name, strerror(-rc));
	linux_tap_close(t);
	return rc;
}

void linux_tap_close(struct linux_tap *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	t->ifindex = 0;
}

static int adapt_call(void *arg)
{
	const struct linux_tap *t = arg;
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

	if (sock < 0)
		return -errno;
	rc = adapt(sock, t);
	close(sock);
	return rc;
}

int linux_tap_adapt(struct netns *ns, const struct linux_tap *t)
{
	struct linux_tap copy = *t;

	return netns_call(ns, adapt_call, &copy);
}

void linux_tap_carrier(struct linux_tap *t, bool on)
{
	int value = on;

	if (t->fd >= 0 && t->carrier != on && ioctl(t->fd, TUNSETCARRIER, &value) == 0)
		t->carrier = on;
}

ssize_t linux_tap_read(const struct linux_tap *t, void *bytes, size_t size)
{
	ssize_t n = read(t->fd, bytes, size);

	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

bool linux_tap_write(const struct linux_tap *t, const void *bytes, size_t len)
{
	return write(t->fd, bytes, len) == (ssize_t)len;
}
