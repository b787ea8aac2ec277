// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_LEN = 48 };

static bool parse_port(const char *text, in_port_t *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n == 0 || n > 65535)
		return false;
	*out = htons((in_port_t)n);
	return true;
}

static bool with_v6(const char *host, const char *port, struct endpoint *e)
{
	struct sockaddr_in6 *at = (struct sockaddr_in6 *)(void *)&e->addr;

	at->sin6_family = AF_INET6;
	e->len = sizeof(*at);
	snprintf(e->text, sizeof(e->text), "[%s]:%s", host, port);
	return inet_pton(AF_INET6, host, &at->sin6_addr) == 1 && parse_port(port, &at->sin6_port);
}

static bool with_v4(const char *host, const char *port, struct endpoint *e)
{
	struct sockaddr_in *at = (struct sockaddr_in *)(void *)&e->addr;

	at->sin_family = AF_INET;
	e->len = sizeof(*at);
	snprintf(e->text, sizeof(e->text), "%s:%s", host, port);
	return inet_pton(AF_INET, host, &at->sin_addr) == 1 && parse_port(port, &at->sin_port);
}

bool endpoint_parse(const char *text, struct endpoint *out)
{
	const char *colon = strrchr(text, ':');
	struct endpoint e = {0};
	char host[HOST_LEN] = "127.0.0.1";
	size_t len = colon != NULL ? (size_t)(colon - text) : 0;
	bool v6 = len >= 2 && text[0] == '[' && text[len - 1] == ']';

	if (len >= sizeof(host) || (colon != NULL && len == 0))
		return false;
	if (colon != NULL)
		snprintf(host, sizeof(host), "%.*s", (int)(v6 ? len - 2 : len), text + v6);
	if (!(v6 ? with_v6 : with_v4)(host, colon != NULL ? colon + 1 : text, &e))
		return false;
	*out = e;
	return true;
}
