// SPDX-License-Identifier: Apache-2.0
#include "control/inof/zone.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool parse_ip(const char *text, size_t len, struct ip_key *out)
{
	char copy[INOF_IP_TEXT];
	uint8_t bytes[16];

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (inet_pton(AF_INET, copy, bytes) == 1)
		*out = ip_key_v4(be32_get(bytes));
	else if (inet_pton(AF_INET6, copy, bytes) == 1)
		*out = ip_key_v6(bytes);
	else
		return false;
	return true;
}

bool inof_ip_is_above(struct ip_key a, struct ip_key b)
{
	return a.hi != b.hi ? a.hi > b.hi : a.lo > b.lo;
}

// The addresses of a prefix. len: as written; IPv4 stands in the low 32 bits of a key.
static const char *prefix(struct inof_member *m, const char *text)
{
	unsigned width = inof_ip_is_v6(m->first) ? 128 : 32, len = 0, host;
	uint64_t hi, lo;
	const char *at;

	for (at = text; *at >= '0' && *at <= '9' && len <= 128; at++)
		len = len * 10 + (unsigned)(*at - '0');
	if (at == text || *at != '\0' || len > width)
		return width == 32 ? "a prefix of IPv4 ends with /0 to /32"
				   : "a prefix of IPv6 ends with /0 to /128";
	host = width - len;
	hi = host >= 128 ? UINT64_MAX : host > 64 ? (1ull << (host - 64)) - 1 : 0;
	lo = host >= 64 ? UINT64_MAX : (1ull << host) - 1;
	if ((m->first.hi & hi) != 0 || (m->first.lo & lo) != 0)
		return "a prefix has no bits behind its length: write its first address";
	m->last = (struct ip_key){m->first.hi | hi, m->first.lo | lo};
	return NULL;
}

static const char *range(struct inof_member *m, const char *text)
{
	if (!parse_ip(text, strlen(text), &m->last) ||
	    inof_ip_is_v6(m->last) != inof_ip_is_v6(m->first))
		return "a range is two addresses of one family: 10.0.0.1-10.0.0.9";
	if (inof_ip_is_above(m->first, m->last))
		return "the range begins above its end";
	return NULL;
}

const char *inof_member_parse(const char *text, inof_port_fn *port, const void *arg,
			      struct inof_member *out)
{
	size_t len = strcspn(text, "/-");
	struct inof_member m = {.kind = INOF_MEMBER_IP};
	const char *wrong = NULL;
	int no;

	if (strlen(text) >= INOF_MEMBER_TEXT)
		return "a member is shorter than this";
	if (strncmp(text, "nqn.", 4) == 0 || strncmp(text, "iqn.", 4) == 0 || text[0] == '*') {
		m.kind = INOF_MEMBER_NQN;
		for (const char *at = text; *at != '\0'; at++)
			if (*at <= ' ' || *at > '~')
				wrong = "is no NQN: write printable ASCII without blanks";
	} else if (parse_ip(text, len, &m.first)) {
		m.last = m.first;
		if (text[len] == '/')
			wrong = prefix(&m, text + len + 1);
		else if (text[len] == '-')
			wrong = range(&m, text + len + 1);
	} else {
		no = port == NULL ? -1 : port(arg, text);
		if (no < 0)
			return "is no address, prefix, range, port of the switch, or NQN (which "
			       "begins with nqn., iqn. or *)";
		m.kind = INOF_MEMBER_PORT;
		m.port = (port_no_t)no;
	}
	if (wrong == NULL)
		*out = m;
	return wrong;
}

// The room for members is a power of two.
int inof_zone_add(struct inof_zone *z, const char *text, const struct inof_member *m)
{
	struct inof_member *grown = z->members;
	char *copy = strdup(text);

	if ((z->n & (z->n - 1)) == 0)
		grown = realloc(z->members, (z->n == 0 ? 1 : 2 * z->n) * sizeof(*grown));
	if (grown != NULL)
		z->members = grown;
	if (grown == NULL || copy == NULL) {
		free(copy);
		return -ENOMEM;
	}
	grown[z->n] = *m;
	grown[z->n++].text = copy;
	return 0;
}

void inof_zone_fini(struct inof_zone *z)
{
	while (z->n > 0)
		free(z->members[--z->n].text);
	free(z->members);
	z->members = NULL;
}

void inof_zones_free(struct inof_zone *zones, unsigned n)
{
	for (unsigned i = 0; zones != NULL && i < n; i++)
		inof_zone_fini(&zones[i]);
	free(zones);
}

int inof_zone_copy(struct inof_zone *to, const struct inof_zone *from)
{
	*to = (struct inof_zone){0};
	memcpy(to->name, from->name, sizeof(to->name));
	for (unsigned i = 0; i < from->n; i++)
		if (inof_zone_add(to, from->members[i].text, &from->members[i]) != 0) {
			inof_zone_fini(to);
			return -ENOMEM;
		}
	return 0;
}

// One * at a time, with one step back: linear in the name for each of the stars.
bool inof_name_matches(const char *pattern, const struct inof_nqn *nqn)
{
	const char *star = NULL, *text = nqn->text, *end = text + nqn->len, *from = text;

	while (text < end) {
		if (*pattern == '*') {
			star = pattern++;
			from = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star != NULL) {
			pattern = star + 1;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}
