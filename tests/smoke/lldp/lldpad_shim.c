// SPDX-License-Identifier: Apache-2.0
// Lets lldpad run on an interface without DCB, such as a veth (LD_PRELOAD). lldpad sends its
// requests of 802.1Qaz with two functions of libnl. The shim has functions of the same names. They
// answer in the kernel's place: lldpad speaks DCBX of IEEE for the interface, there are eight
// classes, and the APP entries are those that lldpad has set. Each setting that lldpad makes
// becomes a line of the file LLDPAD_SHIM_LOG:
//
//   pfc CLASSES                    a bitmap in hex
//   ets TC*8 SHARE*8 ALGORITHM*8   by class, then by traffic class
//   app SELECTOR PROTOCOL CLASS    "del" before "app": lldpad removes the entry
//
// Requests of CEE pass: the kernel refuses them, and lldpad then speaks no CEE.
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

struct nl_sock;
struct nl_msg;
struct ucred;
struct nlmsghdr *nlmsg_hdr(struct nl_msg *msg);
int nl_send_auto_complete(struct nl_sock *sk, struct nl_msg *msg);
int nl_recv(struct nl_sock *sk, struct sockaddr_nl *from, unsigned char **buf, struct ucred **who);

struct answer {
	struct nlmsghdr h;
	struct dcbmsg d;
	uint8_t room[512];
};

static uint8_t asked; // DCB_CMD_*: lldpad reads each answer before it sends the next request
static struct dcb_app apps[8]; // n_apps of them
static unsigned n_apps;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	const char *path = getenv("LLDPAD_SHIM_LOG");
	FILE *f = path == NULL ? NULL : fopen(path, "a");
	va_list args;

	if (f == NULL)
		return;
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
}

static void say_bytes(const uint8_t b[8])
{
	for (unsigned i = 0; i < 8; i++)
		say(" %u", b[i]);
}

// lldpad sets and removes one entry at a time.
static void change_app(struct rtattr *table, bool removed)
{
	struct rtattr *entry = RTA_DATA(table);
	struct dcb_app app;
	unsigned i = 0;

	memcpy(&app, RTA_DATA(entry), sizeof(app));
	say("%sapp %u %u %u\n", removed ? "del " : "", app.selector, app.protocol, app.priority);
	while (i < n_apps && memcmp(&apps[i], &app, sizeof(app)) != 0)
		i++;
	if (removed && i < n_apps)
		apps[i] = apps[--n_apps];
	else if (!removed && i == n_apps && n_apps < sizeof(apps) / sizeof(apps[0]))
		apps[n_apps++] = app;
}

static void *end_of(struct rtattr *a)
{
	return (uint8_t *)a + RTA_ALIGN(a->rta_len);
}

static void say_ieee(struct rtattr *ieee, bool removed)
{
	struct ieee_ets ets;
	struct ieee_pfc pfc;

	for (struct rtattr *a = RTA_DATA(ieee); a < (struct rtattr *)end_of(ieee);
	     a = end_of(a)) {
		switch (a->rta_type & NLA_TYPE_MASK) {
		case DCB_ATTR_IEEE_PFC:
			memcpy(&pfc, RTA_DATA(a), sizeof(pfc));
			say("pfc %02x\n", pfc.pfc_en);
			break;
		case DCB_ATTR_IEEE_ETS:
			memcpy(&ets, RTA_DATA(a), sizeof(ets));
			say("ets");
			say_bytes(ets.prio_tc);
			say_bytes(ets.tc_tx_bw);
			say_bytes(ets.tc_tsa);
			say("\n");
			break;
		case DCB_ATTR_IEEE_APP_TABLE:
			change_app(a, removed);
			break;
		default:
			break;
		}
	}
}

int nl_send_auto_complete(struct nl_sock *sk, struct nl_msg *msg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct dcbmsg *d = NLMSG_DATA(h);
	struct rtattr *name = (void *)(d + 1); // the interface: the shim has one

	(void)sk;
	asked = d->cmd;
	if (h->nlmsg_type == RTM_SETDCB)
		say_ieee(end_of(name), d->cmd == DCB_CMD_IEEE_DEL);
	return (int)h->nlmsg_len;
}

// Appends an attribute. value NULL: the caller puts attributes into it.
static struct rtattr *put(struct answer *r, unsigned short type, const void *value, size_t len)
{
	struct rtattr *a = (struct rtattr *)((uint8_t *)r + NLMSG_ALIGN(r->h.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	if (value != NULL)
		memcpy(RTA_DATA(a), value, len);
	r->h.nlmsg_len = NLMSG_ALIGN(r->h.nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

static void close_nest(struct answer *r, struct rtattr *a)
{
	a->rta_len = (unsigned short)((uint8_t *)r + r->h.nlmsg_len - (uint8_t *)a);
}

int nl_recv(struct nl_sock *sk, struct sockaddr_nl *from, unsigned char **buf, struct ucred **who)
{
	const uint8_t mode = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
	const struct ieee_ets ets = {.ets_cap = IEEE_8021QAZ_MAX_TCS};
	const struct ieee_pfc pfc = {.pfc_cap = IEEE_8021QAZ_MAX_TCS};
	struct answer *r = calloc(1, sizeof(*r));
	struct rtattr *ieee, *table;

	(void)sk, (void)from, (void)who;
	if (r == NULL)
		return -1;
	r->h.nlmsg_type = RTM_GETDCB;
	r->h.nlmsg_len = NLMSG_LENGTH(sizeof(r->d));
	r->d.cmd = asked;
	if (asked == DCB_CMD_GDCBX) {
		put(r, DCB_ATTR_DCBX, &mode, sizeof(mode));
	} else {
		ieee = put(r, DCB_ATTR_IEEE, NULL, 0);
		put(r, DCB_ATTR_IEEE_ETS, &ets, sizeof(ets));
		put(r, DCB_ATTR_IEEE_PFC, &pfc, sizeof(pfc));
		table = put(r, DCB_ATTR_IEEE_APP_TABLE, NULL, 0); // lldpad reads nothing behind it
		for (unsigned i = 0; i < n_apps; i++)
			put(r, DCB_ATTR_IEEE_APP, &apps[i], sizeof(apps[i]));
		close_nest(r, table);
		close_nest(r, ieee);
	}
	*buf = (unsigned char *)r;
	return (int)r->h.nlmsg_len;
}
