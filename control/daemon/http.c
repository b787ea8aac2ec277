// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	int status;
	const char *line;
} lines[] = {
	{200, "200 OK"},
	{400, "400 Bad Request"},
	{404, "404 Not Found"},
	{405, "405 Method Not Allowed"},
	{431, "431 Request Header Fields Too Large"},
	{500, "500 Internal Server Error"},
	{505, "505 HTTP Version Not Supported"},
};

const char *http_status_line(int status)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (lines[i].status == status)
			return lines[i].line;
	return "500 Internal Server Error";
}

// An empty line ends the head; a bare newline counts as its end too.
static bool complete(const char *in, size_t len)
{
	return memmem(in, len, "\r\n\r\n", 4) != NULL || memmem(in, len, "\n\n", 2) != NULL;
}

static bool is(const char *at, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(at, word, len) == 0;
}

// The target without its query is the path.
static bool names(const char *target, size_t len, const char *path)
{
	const char *query = memchr(target, '?', len);

	return is(target, query != NULL ? (size_t)(query - target) : len, path);
}

// METHOD SP TARGET SP VERSION.
static struct http_verdict judge_line(const char *line, size_t len, const char *path)
{
	const char *target = memchr(line, ' ', len), *version = NULL;
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
	return (struct http_verdict){
		names(target, (size_t)(version - target), path) ? 200 : 404, head};
}

struct http_verdict http_judge(const char *in, size_t len, const char *path)
{
	const char *end = memchr(in, '\n', len);
	size_t line;

	if (!complete(in, len))
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
