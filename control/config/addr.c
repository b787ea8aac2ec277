// SPDX-License-Identifier: Apache-2.0
#include "control/config/addr.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/policy.h"

unsigned addr_bits(const struct policy_addr *a)
{
	return a->family == FAMILY_V4 ? 32 : 128;
}

const char *addr_text(const struct policy_addr *a, char out[ADDR_TEXT_LEN])
{
	size_t n;

	inet_ntop(a->family == FAMILY_V4 ? AF_INET : AF_INET6, a->ip, out, ADDR_TEXT_LEN);
	n = strlen(out);
	if (a->len != addr_bits(a))
		snprintf(out + n, ADDR_TEXT_LEN - n, "/%u", a->len);
	return out;
}

int addr_cmp(const struct policy_addr *a, const struct policy_addr *b)
{
	int d = (int)a->family - (int)b->family;

	if (d == 0)
		d = memcmp(a->ip, b->ip, sizeof(a->ip));
	return d != 0 ? d : (int)a->len - (int)b->len;
}

bool addr_parse(const char *text, struct policy_addr *out)
{
	struct policy_addr a = {.family = strchr(text, ':') != NULL ? FAMILY_V6 : FAMILY_V4};
	size_t n = strcspn(text, "/");
	char ip[ADDR_TEXT_LEN], *end;
	unsigned long len;

	if (n >= sizeof(ip))
		return false;
	memcpy(ip, text, n);
	ip[n] = '\0';
	if (inet_pton(a.family == FAMILY_V4 ? AF_INET : AF_INET6, ip, a.ip) != 1)
		return false;
	a.len = (uint8_t)addr_bits(&a);
	if (text[n] == '/') {
		len = strtoul(text + n + 1, &end, 10);
		if (text[n + 1] < '0' || text[n + 1] > '9' || *end != '\0' || len > addr_bits(&a))
			return false;
		a.len = (uint8_t)len;
	}
	*out = a;
	return true;
}

struct policy_addr addr_masked(struct policy_addr a, unsigned len, bool ones)
{
	for (unsigned i = len; i < addr_bits(&a); i++) {
		uint8_t bit = (uint8_t)(0x80u >> i % 8);

		a.ip[i / 8] = ones ? a.ip[i / 8] | bit : a.ip[i / 8] & (uint8_t)~bit;
	}
	return a;
}

bool addr_same(const struct policy_addr *a, const struct policy_addr *b)
{
	return a->family == b->family && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

bool addr_holds(const struct policy_addr *net, const struct policy_addr *a)
{
	struct policy_addr base = addr_masked(*net, net->len, false);
	struct policy_addr other = addr_masked(*a, net->len, false);

	return addr_same(&base, &other);
}

bool addr_is_station(const struct policy_addr *a)
{
	static const uint8_t zero[15];

	if (a->family == FAMILY_V4)
		return a->ip[0] != 0 && a->ip[0] != 127 && a->ip[0] < 224;
	if (a->ip[0] == 0xff || (a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80))
		return false;
	return memcmp(a->ip, zero, sizeof(zero)) != 0 || a->ip[15] > 1;
}

bool addr_is_edge(const struct policy_addr *a)
{
	struct policy_addr low = addr_masked(*a, a->len, false),
			   high = addr_masked(*a, a->len, true);

	if (a->len + 1u >= addr_bits(a))
		return false;
	return addr_same(a, &low) || (a->family == FAMILY_V4 && addr_same(a, &high));
}
