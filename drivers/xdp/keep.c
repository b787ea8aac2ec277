// SPDX-License-Identifier: Apache-2.0
#include "drivers/xdp/keep.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/xdp/weir_xdp.h"

enum { PORT_MAX = 65535, PORT_DIGITS = 5 };

static const struct kind {
	const char *word;
	bool has_port; // written "tcp/22"
} kinds[] = {
	[WEIR_KEEP_LLDP] = {"lldp"},
	[WEIR_KEEP_LACP] = {"lacp"}, // and their markers
	[WEIR_KEEP_ARP] = {"arp"}, // to the port's own address; to a group also into the switch
	[WEIR_KEEP_ICMP] = {"icmp"}, // the same, of IPv6 neighbour discovery
	[WEIR_KEEP_TCP] = {"tcp", true}, // to the port's own address, from or to one of these ports
	[WEIR_KEEP_UDP] = {"udp", true},
};

static_assert(sizeof(kinds) / sizeof(kinds[0]) == WEIR_N_KEEPS, "one row for each rule");

static bool add_port(struct keep *k, unsigned kind, const char *text, const char **why)
{
	size_t len = strspn(text, "0123456789");
	unsigned long port = len <= PORT_DIGITS && text[len] == '\0' ? strtoul(text, NULL, 10) : 0;

	if (port == 0 || port > PORT_MAX) {
		*why = "has no port number: expected one from 1 to 65535";
		return false;
	}
	for (unsigned i = 0; i < k->n_ports; i++)
		if (k->ports[i].kind == kind && k->ports[i].port == port) {
			*why = "is given twice";
			return false;
		}
	if (k->n_ports == KEEP_PORTS_MAX) {
		*why = "is one too many: at most 32 ports can be kept";
		return false;
	}
	k->ports[k->n_ports++] = (struct keep_port){.kind = (uint8_t)kind, .port = (uint16_t)port};
	k->kinds |= (uint8_t)(1u << kind);
	return true;
}

bool keep_add(struct keep *k, const char *word, const char **why)
{
	size_t len = strcspn(word, "/");
	unsigned kind = 0;

	while (kind < WEIR_N_KEEPS &&
	       (strlen(kinds[kind].word) != len || memcmp(kinds[kind].word, word, len) != 0 ||
		kinds[kind].has_port != (word[len] == '/')))
		kind++;
	if (kind == WEIR_N_KEEPS) {
		*why = "cannot be kept: expected lldp, lacp, arp, icmp, tcp/PORT or udp/PORT";
		return false;
	}
	if (kinds[kind].has_port)
		return add_port(k, kind, word + len + 1, why);
	if (k->kinds >> kind & 1) {
		*why = "is given twice";
		return false;
	}
	k->kinds |= (uint8_t)(1u << kind);
	return true;
}

struct keep keep_default(void)
{
	return (struct keep){.kinds = 1u << WEIR_KEEP_LLDP};
}
