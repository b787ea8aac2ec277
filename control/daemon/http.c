// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *http_status_line(int status)
{
	switch (status) {
	case 200: return "200 OK";
	case 400: return "400 Bad Request";
	case 404: return "404 Not Found";
	case 405: return "405 Method Not Allowed";
	case 431: return "431 Request Header Fields Too Large";
	case 505: return "505 HTTP Version Not Supported";
	default: return "500 Internal Server Error";
	}
}

static bool is(const char *at, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(at, word, len) == 0;
}

// METHOD SP TARGET SP VERSION.
static struct http_verdict judge_line(const char *line, size_t len, const char *path)
{
	const char *target = memchr(line, ' ', len), *version = NULL, *query;
	bool head = is(line, target != NULL ? (size_t)(target - line) : 0, "HEAD");
	size_t rest;

	if (target != NULL) {
		target++;
		version = memchr(target, ' ', len - (size_t)(target - line));
	}
	if (version == NULL || version == target || target - line < 2)
		return (struct http_verdict){400, false};
	rest = len - (size_t)(version + 1 - line);
	if (rest != strlen("HTTP/1.1") || memcmp(version + 1, "HTTP/", 5) != 0)
		return (struct http_verdict){400, false};
	if (version[6] != '1')
		return (struct http_verdict){505, false};
	if (!head && !is(line, (size_t)(target - 1 - line), "GET"))
		return (struct http_verdict){405, false};
	// The target without its query is the path.
	query = memchr(target, '?', (size_t)(version - target));
	if (!is(target, (size_t)((query != NULL ? query : version) - target), path))
		return (struct http_verdict){404, head};
	return (struct http_verdict){200, head};
}

struct http_verdict http_judge(const char *in, size_t len, const char *path)
{
	const char *end = memchr(in, '\n', len);
	size_t line;

	// An empty line ends the head; a bare newline counts as its end too.
	if (memmem(in, len, "\r\n\r\n", 4) == NULL && memmem(in, len, "\n\n", 2) == NULL)
		return (struct http_verdict){len >= HTTP_REQUEST_MAX ? 431 : 0, false};
	line = (size_t)(end - in);
	if (line > 0 && in[line - 1] == '\r')
		line--;
	if (memchr(in, '\0', line) != NULL)
		return (struct http_verdict){400, false};
	return judge_line(in, line, path);
}

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

bool endpoint_parse(const char *text, struct endpoint *out)
{
	const char *colon = strrchr(text, ':'), *port = colon != NULL ? colon + 1 : text;
	struct endpoint e = {0};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&e.addr;
	struct sockaddr_in *in4 = (struct sockaddr_in *)(void *)&e.addr;
	char host[HOST_LEN] = "127.0.0.1";
	size_t len = colon != NULL ? (size_t)(colon - text) : 0;
	bool v6 = len >= 2 && text[0] == '[' && text[len - 1] == ']';

	if (len >= sizeof(host) || (colon != NULL && len == 0))
		return false;
	if (colon != NULL)
		snprintf(host, sizeof(host), "%.*s", (int)(v6 ? len - 2 : len), text + v6);
	e.addr.ss_family = v6 ? AF_INET6 : AF_INET;
	e.len = v6 ? sizeof(*in6) : sizeof(*in4);
	snprintf(e.text, sizeof(e.text), v6 ? "[%s]:%s" : "%s:%s", host, port);
	if (inet_pton(e.addr.ss_family, host,
		      v6 ? (void *)&in6->sin6_addr : (void *)&in4->sin_addr) != 1 ||
	    !parse_port(port, v6 ? &in6->sin6_port : &in4->sin_port))
		return false;
	*out = e;
	return true;
}
