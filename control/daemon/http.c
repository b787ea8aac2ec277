// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/http.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *http_status_line(int status)
{
	switch (status) {
	case 200: return "200 OK";
	case 400: return "400 Bad Request";
	case 401: return "401 Unauthorized";
	case 403: return "403 Forbidden";
	case 404: return "404 Not Found";
	case 405: return "405 Method Not Allowed";
	case 431: return "431 Request Header Fields Too Large";
	case 503: return "503 Service Unavailable";
	case 504: return "504 Gateway Timeout";
	case 505: return "505 HTTP Version Not Supported";
	default: return "500 Internal Server Error";
	}
}

bool http_text_is(struct http_text t, const char *word)
{
	return t.at != NULL && t.len == strlen(word) && memcmp(t.at, word, t.len) == 0;
}

// METHOD SP TARGET SP VERSION.
static struct http_request parse_line(const char *line, size_t len)
{
	const char *target = memchr(line, ' ', len), *version = NULL, *query;
	struct http_text method = {line, target != NULL ? (size_t)(target - line) : 0};
	struct http_request q = {.head = http_text_is(method, "HEAD")};
	size_t rest;

	if (target != NULL) {
		target++;
		version = memchr(target, ' ', len - (size_t)(target - line));
	}
	if (version == NULL || version == target || target - line < 2)
		return (struct http_request){.status = 400};
	rest = len - (size_t)(version + 1 - line);
	if (rest != strlen("HTTP/1.1") || memcmp(version + 1, "HTTP/", 5) != 0)
		return (struct http_request){.status = 400};
	if (version[6] != '1')
		return (struct http_request){.status = 505};
	if (!q.head && !http_text_is(method, "GET"))
		return (struct http_request){.status = 405};
	q.status = 200;
	query = memchr(target, '?', (size_t)(version - target));
	q.path = (struct http_text){target,
				    (size_t)((query != NULL ? query : version) - target)};
	if (query != NULL)
		q.query = (struct http_text){query + 1, (size_t)(version - query - 1)};
	return q;
}

// The value of a header line, without the blanks around it; NULL: another header.
static struct http_text header(const char *line, size_t len, const char *name)
{
	size_t n = strlen(name);
	struct http_text v = {line + n + 1, len - n - 1};

	if (len <= n || line[n] != ':' || strncasecmp(line, name, n) != 0)
		return (struct http_text){NULL, 0};
	while (v.len > 0 && (*v.at == ' ' || *v.at == '\t')) {
		v.at++;
		v.len--;
	}
	while (v.len > 0 && strchr(" \t\r", v.at[v.len - 1]) != NULL)
		v.len--;
	return v;
}

static bool take_header_once(struct http_text *value, struct http_text line)
{
	bool twice = line.at != NULL && value->at != NULL;

	if (line.at != NULL)
		*value = line;
	return !twice;
}

// RFC 9112 5.1: a name and a colon, without a blank before or between. So a line that goes on with
// the line before is none either.
static bool is_field(const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);

	for (const char *c = line; colon != NULL && c < colon; c++)
		if (!isgraph((unsigned char)*c))
			return false;
	return colon != NULL && colon > line;
}

// Header lines from `at` on. Status 400: a line is no field, or two have one name.
static void parse_headers(struct http_request *q, const char *at, const char *end)
{
	while (at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((next != NULL ? next : end) - at);

		if (!is_field(at, len) || !take_header_once(&q->host, header(at, len, "Host")) ||
		    !take_header_once(&q->origin, header(at, len, "Origin")) ||
		    !take_header_once(&q->site, header(at, len, "Sec-Fetch-Site")))
			q->status = 400;
		at += len + 1;
	}
}

struct http_request http_parse(const char *in, size_t len)
{
	const char *end = memchr(in, '\n', len), *head_end;
	struct http_request q;
	size_t line;

	// An empty line ends the head; a bare newline counts as its end too.
	head_end = memmem(in, len, "\r\n\r\n", 4);
	if (head_end == NULL)
		head_end = memmem(in, len, "\n\n", 2);
	if (head_end == NULL)
		return (struct http_request){.status = len >= HTTP_REQUEST_MAX ? 431 : 0};
	line = (size_t)(end - in);
	if (line > 0 && in[line - 1] == '\r')
		line--;
	if (memchr(in, '\0', line) != NULL)
		return (struct http_request){.status = 400};
	q = parse_line(in, line);
	if (q.status == 200)
		parse_headers(&q, end + 1, head_end);
	return q;
}

struct http_verdict http_verdict_of(const struct http_request *q, const char *path)
{
	bool found = q->status != 200 || http_text_is(q->path, path);

	return (struct http_verdict){found ? q->status : 404, q->head};
}

// ---- queries

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool decode(const char *at, const char *end, char *out, size_t room)
{
	size_t n = 0;

	for (; at < end; at++) {
		int c = *at == '+' ? ' ' : (unsigned char)*at;

		if (c == '%') {
			if (end - at < 3 || hex(at[1]) < 0 || hex(at[2]) < 0)
				return false;
			c = hex(at[1]) * 16 + hex(at[2]);
			at += 2;
		}
		if (c < ' ' || c == 0x7f || n + 1 >= room)
			return false;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return true;
}

bool http_query(const struct http_request *q, const char *key, char *out, size_t room)
{
	const char *at = q->query.at, *end = at != NULL ? at + q->query.len : NULL;
	size_t n = strlen(key);

	while (at != NULL && at < end) {
		const char *next = memchr(at, '&', (size_t)(end - at));
		const char *stop = next != NULL ? next : end;

		if ((size_t)(stop - at) > n && at[n] == '=' && memcmp(at, key, n) == 0)
			return decode(at + n + 1, stop, out, room);
		at = stop + 1;
	}
	return false;
}

// ---- requests that a page from elsewhere makes

// The text behind an address is empty, or a colon and digits.
static bool is_port(const char *text)
{
	return *text == '\0' ||
	       (*text == ':' && text[1 + strspn(text + 1, "0123456789")] == '\0');
}

// "127.0.0.1:8080", "[::1]", "localhost:8080".
static bool is_address(struct http_text host)
{
	char text[64];
	size_t n;
	struct in_addr in4;
	struct in6_addr in6;

	if (host.at == NULL || host.len >= sizeof(text))
		return false;
	memcpy(text, host.at, host.len);
	text[host.len] = '\0';
	if (strlen(text) != host.len)
		return false;
	n = strcspn(text, text[0] == '[' ? "]" : ":");
	if (text[0] == '[') {
		if (text[n] != ']' || !is_port(text + n + 1))
			return false;
		text[n] = '\0';
		return inet_pton(AF_INET6, text + 1, &in6) == 1;
	}
	if (!is_port(text + n))
		return false;
	text[n] = '\0';
	return strcasecmp(text, "localhost") == 0 || inet_pton(AF_INET, text, &in4) == 1;
}

bool http_is_foreign(const struct http_request *q)
{
	return http_is_foreign_page(q) ||
	       (q->site.at != NULL && !http_text_is(q->site, "same-origin") &&
		!http_text_is(q->site, "none"));
}

bool http_is_foreign_page(const struct http_request *q)
{
	static const char scheme[] = "http://";
	size_t n = strlen(scheme);

	if (!is_address(q->host))
		return true;
	return q->origin.at != NULL &&
	       (q->origin.len != n + q->host.len || memcmp(q->origin.at, scheme, n) != 0 ||
		memcmp(q->origin.at + n, q->host.at, q->host.len) != 0);
}

// ---- where a server listens

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

bool endpoint_is_local(const struct endpoint *e)
{
	const struct sockaddr_in6 *in6 = (const void *)&e->addr;
	const struct sockaddr_in *in4 = (const void *)&e->addr;

	if (e->addr.ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	return ntohl(in4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}
