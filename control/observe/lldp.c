// SPDX-License-Identifier: Apache-2.0
// The facts of LLDP and DCBX, from the agent of the switch. What a neighbour says is shown, and is
// part of a command only where it is a plain name.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "control/observe/observe_impl.h"
#include "dataplane/base/bits.h"
#include "dataplane/policy.h"

enum { CURE_LEN = 640, HEX_LEN = 2 * LLDP_TLV_MAX + 32 };

static struct json_object *lldp_text(struct lldp_text t)
{
	char text[LLDP_ABOUT_LEN];

	lldp_text_print(t, text);
	return json_object_new_string(text);
}

static struct json_object *lldp_id(const struct lldp_id *id, bool chassis)
{
	char text[LLDP_ABOUT_LEN];

	lldp_id_print(id, chassis, text);
	return json_object_new_string(text);
}

static struct json_object *lldp_address(struct lldp_text t)
{
	char text[LLDP_ABOUT_LEN];

	lldp_address_print(t, text);
	return json_object_new_string(text);
}

static struct json_object *lldp_capabilities(uint16_t enabled)
{
	const struct {
		uint16_t bits;
		const char *name;
	} names[] = {{LLDP_BRIDGE, "bridge"}, {LLDP_ROUTER, "router"}, {LLDP_STATION, "station"},
		     {(uint16_t)~(LLDP_BRIDGE | LLDP_ROUTER | LLDP_STATION), "further"}};
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (enabled & names[i].bits)
			json_object_array_add(list, json_object_new_string(names[i].name));
	return list;
}

static const char *lldp_dialect(const struct lldp_pdu *p)
{
	const struct dcbx_pdu *d = &p->dcbx;

	if (d->ets.given || d->ets_recommended.given || d->pfc.given || d->app_given)
		return "ieee";
	return p->cee ? "cee" : "none";
}

static struct json_object *lldp_unknown(const struct lldp_neighbour *n)
{
	struct json_object *list = json_object_new_array();
	const uint8_t *at = lldp_first(n->bytes);
	struct lldp_tlv t;

	while (lldp_next(&at, n->bytes + n->len, &t)) {
		char text[HEX_LEN];
		unsigned from = t.organization != 0 ? 4 : 0;
		int len;

		if (lldp_is_known(&t))
			continue;
		len = t.organization != 0
			      ? sprintf(text, "%02x-%02x-%02x-%u:", t.value[0], t.value[1],
					t.value[2], t.value[3])
			      : sprintf(text, "%u:", t.type);
		for (unsigned i = from; i < t.len; i++)
			len += sprintf(text + len, "%02x", t.value[i]);
		json_object_array_add(list, json_object_new_string(text));
	}
	return list;
}

static unsigned lldp_n(const struct at *a)
{
	unsigned n = 0;

	while (lldp_neighbour(instance_lldp(a->o->in), a->port, n) != NULL)
		n++;
	return n;
}

static struct json_object *dcbx_host(const struct at *a)
{
	const struct lldp_pdu *p = &a->dcbx->peer->pdu;

	return p->system_name.len > 0 ? lldp_text(p->system_name) : lldp_id(&p->chassis, true);
}

// Empty while there is no peer.
static const struct dcbx_pdu *host(const struct at *a)
{
	static const struct dcbx_pdu none;

	return a->dcbx->peer != NULL ? &a->dcbx->peer->pdu.dcbx : &none;
}

// By the policy, as DCBX has narrowed it, and by the driver.
static uint8_t pfc_in_force(const struct at *a)
{
	return (a->has->pfc_rx ? a->pp->pfc.rx : 0) | (a->has->pfc_tx ? a->pp->pfc.tx : 0);
}

static const char *tsa_name(uint8_t tsa)
{
	switch (tsa) {
	case DCBX_STRICT: return "strict";
	case DCBX_SHAPER: return "shaper";
	case DCBX_ETS: return "ets";
	case DCBX_VENDOR: return "vendor";
	default: return "?";
	}
}

// ---- the cure

// The host's interface where it names one that is safe in a shell, else a word to replace.
static void interface_of(const struct lldp_pdu *p, char out[LLDP_ABOUT_LEN])
{
	enum { IFNAME_MAX = 15 };
	const struct lldp_text *t = p->port.kind == LLDP_PORT_NAME ? &p->port.id
								   : &p->port_description;
	bool plain = t->len > 0 && t->len <= IFNAME_MAX && t->at[0] != '-';

	for (unsigned i = 0; plain && i < t->len; i++)
		plain = isalnum(t->at[i]) || t->at[i] == '_' || t->at[i] == '-' || t->at[i] == '.';
	if (plain)
		lldp_text_print(*t, out);
	else
		strcpy(out, "IFACE");
}

// "3, 4", or "none".
static const char *classes_text(uint8_t classes, char out[32])
{
	int len = 0;

	strcpy(out, "none");
	for_each_bit (cls, classes)
		len += sprintf(out + len, "%s%u", len == 0 ? "" : ", ", cls);
	return out;
}

static int pfc_cure(const struct dcbx_view *v, const char *iface, char *out, size_t room)
{
	char own[32], host[32], bits[20] = "", prio[48] = "all:off";

	for (unsigned c = 0; c < N_CLASSES; c++) {
		bool on = v->local.pfc.enable >> c & 1;

		sprintf(bits + strlen(bits), "%s%d", c == 0 ? "" : ",", on);
		if (on)
			sprintf(prio + strlen(prio), " %u:on", c);
	}
	return snprintf(out, room,
			"the host has PFC on %s, the switch on %s; on the host: mlnx_qos -i %s "
			"--pfc %s, or dcb pfc set dev %s prio-pfc %s",
			v->differences & DCBX_NO_PFC_TLV
				? "no class that it says"
				: classes_text(v->peer->pdu.dcbx.pfc.enable, host),
			classes_text(v->oper, own), iface, bits, iface, prio);
}

// NULL: nothing differs.
static const char *cure_text(const struct dcbx_view *v, char out[CURE_LEN])
{
	char iface[LLDP_ABOUT_LEN];
	int len = 0;

	if (v->state == DCBX_SEVERAL)
		return "several neighbours speak DCBX on the port, so none counts; let one of them "
		       "be directly connected and speak alone";
	if (v->state == DCBX_OLD)
		return "the host speaks DCBX of CEE only, which the switch does not; let it speak "
		       "802.1Qaz (IEEE)";
	if (v->state == DCBX_SILENT && v->pfc_auto && v->active == 0)
		return "pfc.mode is auto and no neighbour speaks DCBX, so the port has no PFC; let "
		       "the host speak DCBX, or set mode: on";
	if (!(v->differences & DCBX_FAULTS))
		return NULL;
	interface_of(&v->peer->pdu, iface);
	if (v->differences & (DCBX_PFC_DIFFERS | DCBX_NO_PFC_TLV))
		len = pfc_cure(v, iface, out, CURE_LEN);
	if (v->differences & DCBX_APP_DIFFERS)
		snprintf(out + len, CURE_LEN - (size_t)len,
			 "%sthe host sends RoCEv2 in class %d, the switch expects %d; on the host: "
			 "dcb app replace dev %s port-prio 4791:%d",
			 len > 0 ? "; " : "", dcbx_roce_class(&v->peer->pdu.dcbx),
			 dcbx_roce_class(&v->local), iface, dcbx_roce_class(&v->local));
	return out;
}

static bool dcbx_has_cure(const struct at *a)
{
	char text[CURE_LEN];

	return cure_text(a->dcbx, text) != NULL;
}

static struct json_object *dcbx_cure(const struct at *a)
{
	char text[CURE_LEN];

	return json_object_new_string(cure_text(a->dcbx, text));
}

// ---- rows

#define SINCE_LLDP(member)                                                                         \
	(lldp_counters(instance_lldp(a->o->in), a->port)->member - a->base->lldp.member)
#define HOST_ETS(e) MAYBE(host(a)->ets.given, e)
#define FACTS_OF "control/observe/lldp.def"
#define FACTS_AT struct at
#include "control/observe/facts.def"

void show_lldp(const struct show *s, struct json_object *out)
{
	struct json_object *neighbours = rows_in(out, FACTS_LLDP);
	struct json_object *ports = rows_in(out, FACTS_LLDP_PORTS);

	for (unsigned port = s->first; instance_lldp(s->o->in) != NULL && port < s->last; port++) {
		struct at a = at_port(s, port, 0);

		emit(row_in(ports), FACTS_LLDP_PORTS, &a);
		for (unsigned i = 0;
		     (a.neighbour = lldp_neighbour(instance_lldp(s->o->in), port, i)) != NULL; i++)
			emit(row_in(neighbours), FACTS_LLDP, &a);
	}
}

void show_dcbx(const struct show *s, struct json_object *out)
{
	struct json_object *ports = rows_in(out, FACTS_DCBX);
	struct json_object *classes = rows_in(out, FACTS_DCBX_CLASSES);

	for (unsigned port = s->first; instance_lldp(s->o->in) != NULL && port < s->last; port++) {
		struct at a = at_port(s, port, 0);
		struct dcbx_view view;

		lldp_dcbx(instance_lldp(s->o->in), port, &view);
		a.dcbx = &view;
		emit(row_in(ports), FACTS_DCBX, &a);
		for (a.i = 0; view.peer != NULL && a.i < N_CLASSES; a.i++)
			emit(row_in(classes), FACTS_DCBX_CLASSES, &a);
	}
}

void show_pfc_ports(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_PFC_PORTS);

	for (unsigned port = s->first; port < s->last; port++) {
		struct at a = at_port(s, port, 0);
		struct dcbx_view view = {.state = DCBX_OFF};

		if (instance_lldp(s->o->in) != NULL)
			lldp_dcbx(instance_lldp(s->o->in), port, &view);
		a.dcbx = &view;
		emit(row_in(rows), FACTS_PFC_PORTS, &a);
	}
}
