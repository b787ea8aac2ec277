// SPDX-License-Identifier: Apache-2.0
#include "drivers/xdp/host_use.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void add(char *text, size_t len, const char *what)
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
		add(text, len, word);
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

bool host_uses(unsigned ifindex, char *text, size_t len)
{
	char ifname[IF_NAMESIZE];

	text[0] = '\0';
	if (if_indextoname(ifindex, ifname) == NULL)
		return false;
	add_addresses(ifname, text, len);
	if (any_line("/proc/net/route", ifname, is_default) ||
	    any_line("/proc/net/ipv6_route", ifname, is_default_v6))
		add(text, len, "the default route");
	return text[0] != '\0';
}
