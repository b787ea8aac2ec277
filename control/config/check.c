// SPDX-License-Identifier: Apache-2.0
#include "control/config/compile.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "control/config/config.h"
#include "dataplane/base/bits.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/port_ops.h"
#include "drivers/xdp/weir_xdp.h"

void check_report(struct diag_sink *s, enum diag_level level, const struct cfg_val *v,
		  const struct cfg_map *m, const char *key, const char *fmt, ...)
{
	char path[PATH_LEN], text[512];
	va_list ap;

	snprintf(path, sizeof(path), "%s.%s", m->path, key);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	diag_add(s, level, v->given ? v->at : m->at, v->given ? v->path : path, "%s", text);
}

void check_port_names(const struct config *c, const bool which[POLICY_MAX_PORTS],
		      char out[PORT_NAMES_LEN])
{
	unsigned n = 0;
	size_t len = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < c->n_ports; i++)
		if (which[i] && n++ < PORTS_NAMED)
			len += (size_t)snprintf(out + len, PORT_NAMES_LEN - len, "%s%.*s",
						n == 1 ? "" : ", ", POLICY_NAME_LEN,
						c->ports[i].name);
	if (n > PORTS_NAMED)
		snprintf(out + len, PORT_NAMES_LEN - len, " and %u more", n - PORTS_NAMED);
}

// ---- which class gives the settings of a queue or a group

static bool gives_queue(const struct cfg_class *c)
{
	return c->schedule.map.given || c->schedule.strict.given || c->min_rate.given ||
	       c->max_rate.given || c->egress.map.given || c->wred.map.given ||
	       cfg_ecn_is_auto(c) || c->ipcc.map.given || c->ipcc.on.given;
}

static bool gives_pg(const struct cfg_class *c)
{
	return c->ingress.map.given;
}

static int class_giving_settings(const struct cfg_profile *p, const struct cfg_lookup *map,
				 unsigned to, bool (*gives)(const struct cfg_class *))
{
	int first = -1;

	for (int cls = N_CLASSES - 1; cls >= 0; cls--) {
		if (cfg_mapped(map, (unsigned)cls) != to)
			continue;
		if (first < 0 || gives(&p->classes[cls]) || !gives(&p->classes[first]))
			first = cls;
	}
	return first;
}

int check_class_of_pg(const struct cfg_profile *p, unsigned pg)
{
	return class_giving_settings(p, &p->class_to_pg, pg, gives_pg);
}

int check_class_of_queue(const struct cfg_profile *p, unsigned queue)
{
	return class_giving_settings(p, &p->class_to_queue, queue, gives_queue);
}

// ---- rules of a class and of a profile
static void kmin_is_not_above_kmax(const struct subject *x)
{
	for (unsigned color = 0; color < N_COLORS; color++) {
		const struct cfg_curve *k = &x->cls->wred.curve[color];
		enum unit_kind unit = k->kmin.percent ? UNIT_PERCENT : UNIT_BYTES;

		// A size and a percentage meet in the compiler, which knows the limit.
		if (k->kmin.n > k->kmax.n && k->kmin.percent == k->kmax.percent && !k->kmin.bad &&
		    !k->kmax.bad && k->kmax.given)
			REFUSE(x->s, &k->kmin, "%s is above kmax %s", UNIT_TEXT(unit, k->kmin.n),
			       UNIT_TEXT(unit, k->kmax.n));
	}
}

static void lossless_and_lossy_do_not_mix(const struct subject *x)
{
	static const char *const what[] = {"queue", "priority group"};
	const struct cfg_profile *p = x->profile;
	const struct cfg_lookup *maps[] = {&p->class_to_queue, &p->class_to_pg};

	for (unsigned a = 0; a < 2 * N_CLASSES; a++)
		for (unsigned b = 0; b < N_CLASSES; b++) {
			const struct cfg_lookup *l = maps[a / N_CLASSES];
			const struct cfg_val *v = &p->classes[a % N_CLASSES].lossless;

			if (v->n && !p->classes[b].lossless.n &&
			    cfg_mapped(l, a % N_CLASSES) == cfg_mapped(l, b))
				REFUSE(x->s, v,
				       "%s %u also carries class %u, which is lossy" CURE
				       "map one of them elsewhere",
				       what[a / N_CLASSES], cfg_mapped(l, b), b);
		}
}

static void shared_settings_are_given_once(const struct subject *x)
{
	const struct cfg_profile *p = x->profile;
	unsigned pg = cfg_mapped(&p->class_to_pg, x->n);
	unsigned queue = cfg_mapped(&p->class_to_queue, x->n);
	int g = check_class_of_pg(p, pg), q = check_class_of_queue(p, queue);

	if (gives_pg(x->cls) && g != (int)x->n)
		REFUSE(x->s, &x->cls->ingress.map,
		       "classes %d and %u share priority group %u" CURE
		       "give ingress in one of them",
		       g, x->n, pg);
	if (gives_queue(x->cls) && q != (int)x->n)
		REFUSE(x->s, &x->cls->map,
		       "classes %d and %u share queue %u" CURE
		       "give schedule, rates, egress, wred, ecn and ipcc in one of them",
		       q, x->n, queue);
}

// A CNP that waits behind a pause comes too late to end the congestion that caused it. Where all
// classes are lossless there is no better class for it.
static void cnp_class_is_lossy(const struct subject *x)
{
	const struct cfg_profile *p = x->profile;
	unsigned dscp = (unsigned)p->cnp.dscp.n, cnp = cfg_dscp_class(p, dscp);
	bool ecn = false, all = cfg_lossless(p) == (1u << N_CLASSES) - 1;

	for_each_bit (cls, cfg_lossless(p))
		ecn |= cls != cnp &&
		       (p->classes[cls].wred.ecn.n || cfg_ecn_is_auto(&p->classes[cls]));
	if (p->trust.n == TRUST_DSCP && ecn && p->classes[cnp].lossless.n)
		diag_add(x->s, all ? DIAG_WARNING : DIAG_ERROR, p->classes[cnp].lossless.at,
			 p->classes[cnp].lossless.path,
			 "class %u carries CNPs (DSCP %u): a lossless CNP class can be paused by"
			 " the congestion it reports" CURE "%s",
			 cnp, dscp,
			 all ? "make one class lossy and map the DSCP to it"
			     : "map the DSCP to a lossy class");
}

static void lossless_class_has_no_egress_limit(const struct subject *x)
{
	if (x->cls->lossless.n && x->cls->egress.map.given)
		REFUSE(x->s, &x->cls->egress.map,
		       "a lossless queue has no egress limit: PFC limits it at the ingress" CURE
		       "remove egress");
}

static void alpha_or_static(const struct cfg_val *alpha, const struct cfg_val *fixed,
			    struct diag_sink *s)
{
	if (alpha->given && fixed->given)
		REFUSE(s, fixed, "alpha and static exclude each other" CURE "keep one");
}

// PFC settings of a class without PFC would have no effect, and no message would say so.
static void check_ingress(const struct cfg_class *c, const struct cfg_ingress *in,
			  struct diag_sink *s)
{
	static const char why[] =
		"has no effect in a lossy class" CURE "set lossless: true or remove it";
	const struct cfg_val *keys[] = {&in->headroom.fixed, &in->xon, &in->xon_offset, &in->mru,
					&in->cable};
	// A mistake in the class may be what keeps the class lossy.
	bool lossy = !c->lossless.n && !(c->map.given && diag_has_error(s, c->map.path));

	if (c->lossless.n && in->headroom.fixed.n == 0)
		REFUSE(s, &in->headroom.fixed,
		       "0 leaves no memory for frames that arrive after PAUSE: a lossless class "
		       "needs headroom" CURE "use auto");
	for (unsigned i = 0; lossy && i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i]->given)
			REFUSE(s, keys[i], "%s", why);
	if (lossy && in->headroom.map.given)
		REFUSE(s, &in->headroom.map, "%s", why);
	alpha_or_static(&in->alpha, &in->static_limit, s);
}

static void buffers_make_sense(const struct subject *x)
{
	check_ingress(x->cls, &x->cls->ingress, x->s);
	alpha_or_static(&x->cls->egress.alpha, &x->cls->egress.static_limit, x->s);
}

static void rates_make_sense(const struct subject *x)
{
	const struct cfg_class *c = x->cls;

	if (c->min_rate.n != 0 && c->schedule.strict.given)
		REFUSE(x->s, &c->min_rate,
		       "has no effect in a strict queue" CURE "remove min_rate");
	if (c->max_rate.n != 0 && c->min_rate.n > c->max_rate.n)
		REFUSE(x->s, &c->min_rate, "%s is above max_rate %s",
		       UNIT_TEXT(UNIT_RATE, c->min_rate.n), UNIT_TEXT(UNIT_RATE, c->max_rate.n));
}

static void wred_has_an_effect(const struct subject *x)
{
	const struct cfg_wred *w = &x->cls->wred;
	bool drops = w->not_ect.given ? w->not_ect.n != 0 : !x->cls->lossless.n;

	if (w->map.given && !w->ecn.n && !drops && !cfg_ipcc_is_on(x->cls))
		WARN(x->s, &w->map,
		     "neither marks nor drops" CURE "set ecn: on, not_ect: drop or ipcc: on");
}

// Else frames are marked that wait behind a single one, and DCQCN leaves a part of the line idle.
static void kmin_is_two_frames(const struct subject *x)
{
	const struct config_port *longest = NULL; // its MTU is the largest of the profile

	for (unsigned i = 0; i < x->c->n_ports; i++)
		if (x->c->ports[i].profile == x->profile &&
		    (longest == NULL || x->c->ports[i].item->mtu.n > longest->item->mtu.n))
			longest = &x->c->ports[i];
	for (unsigned cls = 0; cls < N_CLASSES && longest != NULL; cls++) {
		const struct cfg_wred *w = &x->profile->classes[cls].wred;
		const struct cfg_val *kmin = &w->curve[GREEN].kmin;
		int64_t frame = longest->item->mtu.n + FRAME_OVERHEAD;

		if (w->ecn.n && kmin->given && !kmin->bad && !kmin->percent && kmin->n < 2 * frame)
			WARN(x->s, kmin,
			     "%s is less than two frames of port %s, so senders slow down where "
			     "nothing waits" CURE "give ten frames or more, %s",
			     UNIT_TEXT(UNIT_BYTES, kmin->n), longest->name,
			     UNIT_TEXT(UNIT_BYTES, 10 * frame));
	}
}

static void lossy_class_floods(const struct subject *x)
{
	if (!cfg_floods(x->cls) && !x->cls->lossless.n)
		REFUSE(x->s, &x->cls->flood,
		       "a lossy class is always flooded, because it carries ARP" CURE
		       "remove flood, or use vlans[].flood for unknown unicast");
}

// ---- rules of a port
static void port_name_is_unique(const struct subject *x)
{
	if (cfg_find_port(x->c, x->port->name) != (int)x->n)
		REFUSE(x->s, &x->item->name, "port %s is given twice", x->port->name);
}

static void device_is_unique(const struct subject *x)
{
	for (unsigned i = 0; i < x->n; i++)
		if (strcmp(x->port->device, x->c->ports[i].device) == 0)
			REFUSE(x->s, &x->item->device, "%s already belongs to port %s",
			       x->port->device, x->c->ports[i].name);
}

static void port_overrides_make_sense(const struct subject *x)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		const struct cfg_ingress *in = &x->item->classes[cls].ingress;
		unsigned pg = cfg_mapped(&x->profile->class_to_pg, cls);

		if (!in->map.given)
			continue;
		check_ingress(&x->profile->classes[cls], in, x->s);
		for (unsigned other = 0; other < cls; other++)
			if (cfg_mapped(&x->profile->class_to_pg, other) == pg &&
			    x->item->classes[other].ingress.map.given)
				REFUSE(x->s, &in->map,
				       "classes %u and %u share priority group %u" CURE
				       "give ingress in one of them",
				       other, cls, pg);
	}
}

static bool vlan_listed(const struct config *c, unsigned id)
{
	const struct cfg_vlan *v = c->root.vlans.items;

	for (unsigned i = 0; i < c->root.vlans.n; i++)
		if (v[i].id.n == id)
			return true;
	return false;
}

static void port_vlans_make_sense(const struct subject *x)
{
	static const char unlisted[] = "VLAN %u is not listed in vlans, but the switch uses it";
	const struct cfg_port_vlan *v = &x->item->vlan;
	unsigned untagged = cfg_untagged(x->item);

	if (untagged != 0 && cfg_set_has(&v->tagged, untagged))
		REFUSE(x->s, &v->tagged.map,
		       "VLAN %u is untagged on this port: it cannot be tagged too", untagged);
	if (!x->c->root.vlans.map.given)
		return;
	if (v->untagged.given && !v->untagged.bad && untagged != 0 && !vlan_listed(x->c, untagged))
		WARN(x->s, &v->untagged, unlisted, untagged);
	for (unsigned id = 1; id < N_VLANS && v->tagged.n != 0; id++)
		if (cfg_set_has(&v->tagged, id) && !vlan_listed(x->c, id)) {
			WARN(x->s, &v->tagged.map, unlisted, id);
			break;
		}
}

// The port's key, else the switch's.
static bool wants_lldp(const struct config *c, const struct cfg_port *p)
{
	return p->lldp.on.given || p->lldp.map.given ? cfg_is_on(&p->lldp.on, &p->lldp.map)
						     : c->root.sw.lldp.n != 0;
}

bool cfg_lldp(const struct config *c, const struct cfg_port *p)
{
	return wants_lldp(c, p) && !(cfg_keep(c, p, NULL).kinds >> WEIR_KEEP_LLDP & 1);
}

struct keep cfg_keep(const struct config *c, const struct cfg_port *p, struct diag_sink *s)
{
	struct keep k = {0};
	const char *why;

	if (!p->keep.map.given)
		return wants_lldp(c, p) ? k : keep_default();
	for (unsigned i = 0; i < p->keep.n; i++) {
		const struct cfg_val *v = &p->keep.items[i];

		if (!keep_add(&k, v->text, &why) && s != NULL)
			REFUSE(s, v, "\"%s\" %s", v->text, why);
	}
	return k;
}

static void keep_makes_sense(const struct subject *x)
{
	const char *device = x->item->device.text;

	const struct keep k = cfg_keep(x->c, x->item, x->s);

	if ((k.kinds >> WEIR_KEEP_LLDP & 1) && wants_lldp(x->c, x->item) &&
	    !diag_has_error(x->s, x->item->keep.map.path))
		WARN(x->s, &x->item->keep.map,
		     "keeps LLDP for the host's stack, so weir speaks no LLDP and no DCBX on this "
		     "port" CURE "remove lldp from keep, or say so with lldp: off");
	if (x->item->keep.map.given && device != NULL && strncmp(device, "xdp:", 4) != 0)
		REFUSE(x->s, &x->item->keep.map,
		       "only an xdp: device can keep frames for the host's stack, not %s" CURE
		       "remove keep",
		       device);
}

// The port never gets an answer there, so no class would ever have PFC.
static void auto_pfc_has_lldp(const struct subject *x)
{
	const struct cfg_pfc *pfc = &x->port->profile->pfc;

	if (pfc->mode.n == PFC_MODE_AUTO && !cfg_lldp(x->c, x->item))
		REFUSE(x->s, &pfc->mode,
		       "auto needs LLDP, and port %s does not speak it" CURE
		       "give the port lldp: on without keep: [lldp], or a profile with mode: on",
		       x->port->name);
}

static void optional_makes_sense(const struct subject *x)
{
	const struct cfg_val *optional = &x->item->optional;
	const char *device = x->item->device.text;

	if (optional->n == 0 || device == NULL)
		return;
	if (strncmp(device, "xdp:", 4) != 0)
		REFUSE(x->s, optional,
		       "only an xdp: device can be optional, not %s" CURE "remove optional",
		       device);
	else if (x->item->speed.n == 0)
		REFUSE(x->s, optional,
		       "a device that does not exist has no speed" CURE
		       "give the port a speed, such as 10G");
}

// ---- rules of the whole policy
static void vlan_ids_are_unique(const struct subject *x)
{
	const struct cfg_vlan *v = x->c->root.vlans.items;
	uint64_t seen[N_VLANS / 64] = {0};

	for (unsigned i = 0; i < x->c->root.vlans.n; i++) {
		unsigned id = (unsigned)v[i].id.n;

		if (id != 0 && vlan_bit(seen, id))
			REFUSE(x->s, &v[i].id, "VLAN %u is given twice", id);
		seen[id / 64] |= 1ull << (id % 64);
	}
}

static void fdb_makes_sense(const struct subject *x)
{
	const struct cfg_fdb *all = x->c->root.fdb.items;
	bool aware = cfg_vlan_aware(x->c);
	uint8_t mac[6];

	for (unsigned i = 0; i < x->c->root.fdb.n; i++) {
		const struct cfg_fdb *f = &all[i];
		int port = f->port.text != NULL ? cfg_find_place(x->c, f->port.text) : -1;
		const struct cfg_port *p =
			port < 0 || port >= VTEP_FIRST ? NULL : x->c->ports[port].item;

		if (f->mac.text != NULL && !cfg_parse_mac(f->mac.text, mac))
			REFUSE(x->s, &f->mac,
			       "\"%s\": expected an address such as 02:00:00:00:00:01",
			       f->mac.text);
		else if (f->mac.text != NULL && (mac[0] & 1))
			REFUSE(x->s, &f->mac,
			       "%s is a multicast address: only unicast belongs to one port",
			       f->mac.text);
		if (f->port.text != NULL && port < 0)
			REFUSE(x->s, &f->port, "there is no port %s", f->port.text);
		if (port >= VTEP_FIRST)
			vxlan_fdb_makes_sense(x->c, f, port, x->s);
		if (p == NULL)
			continue;
		if (!f->vlan.given && aware && cfg_untagged(p) == 0)
			check_report(x->s, DIAG_ERROR, &f->vlan, &f->map, "vlan",
				     "is required: port %s takes no untagged frames", f->port.text);
		else if (!f->vlan.given || f->vlan.bad)
			continue;
		else if (!aware)
			REFUSE(x->s, &f->vlan,
			       "this policy has no VLANs" CURE "remove it or give vlans");
		else if (cfg_untagged(p) != f->vlan.n &&
			 !cfg_set_has(&p->vlan.tagged, (unsigned)f->vlan.n))
			REFUSE(x->s, &f->vlan, "port %s is not in VLAN %u", f->port.text,
			       (unsigned)f->vlan.n);
	}
}

struct fdb_place {
	const struct cfg_fdb *f;
	uint16_t vid;
};

static int fdb_order(const void *a, const void *b)
{
	const struct fdb_place *x = a, *y = b;
	int mac = strcasecmp(x->f->mac.text, y->f->mac.text);

	if (mac != 0)
		return mac;
	if (x->vid != y->vid)
		return x->vid < y->vid ? -1 : 1;
	return x->f < y->f ? -1 : 1;
}

static void fdb_addresses_are_unique(const struct subject *x)
{
	const struct cfg_fdb *f = x->c->root.fdb.items;
	struct fdb_place *sorted = calloc(x->c->root.fdb.n + 1, sizeof(*sorted));
	unsigned n = 0;

	for (unsigned i = 0; sorted != NULL && i < x->c->root.fdb.n; i++)
		if (f[i].mac.text != NULL && f[i].port.text != NULL)
			sorted[n++] = (struct fdb_place){&f[i], cfg_fdb_vid(x->c, &f[i])};
	if (n > 1)
		qsort(sorted, n, sizeof(*sorted), fdb_order);
	for (unsigned i = 1; i < n; i++) {
		const struct cfg_val *twice = &sorted[i].f->mac;

		if (strcasecmp(sorted[i - 1].f->mac.text, twice->text) == 0 &&
		    sorted[i - 1].vid == sorted[i].vid)
			REFUSE(x->s, twice, "%s is given twice", twice->text);
	}
	free(sorted);
}

static void worker_cores_are_few(const struct subject *x)
{
	const struct cfg_set *cores = &x->c->root.sw.workers.cores;

	if (cores->map.given && (cores->n < 1 || cores->n > 64))
		REFUSE(x->s, &cores->map, "%u cores: 1 to 64 are possible", cores->n);
}

// Files of the switch and of DPDK carry its name.
static void name_can_be_a_file(const struct subject *x)
{
	const struct cfg_val *name = &x->c->root.sw.name;

	if (name->text != NULL && name->text[0] == '.')
		REFUSE(x->s, name,
		       "\"%s\" cannot be a file name" CURE "begin it with a letter or a digit",
		       name->text);
}

// ---- advice about a policy that compiles
// A burst of a round trip in a data centre: a smaller shared pool absorbs none.
enum { LEAST_POOL_US = 100, LIST_LEN = 32 };

// 0: only the link knows, and the link is not open.
static uint64_t known_speed_bps(const struct subject *x, unsigned port)
{
	int64_t given = x->c->ports[port].item->speed.n;

	if (given != 0)
		return (uint64_t)given;
	return x->facts != NULL ? x->facts[port].speed_bps : 0;
}

static void lossless_classes_have_pfc(const struct subject *x)
{
	const struct cfg_pfc *pfc = &x->profile->pfc;
	unsigned lossless = cfg_lossless(x->profile);
	char list[LIST_LEN];
	const char *comma = "";
	int len = sprintf(list, lossless & (lossless - 1) ? "classes" : "class");

	for_each_bit (cls, lossless) {
		len += sprintf(list + len, "%s %u", comma, cls);
		comma = ",";
	}
	if (lossless != 0 && !pfc->tx.n)
		WARN(x->s, &pfc->tx,
		     "the switch does not pause the senders of lossless %s, and drops frames "
		     "when the headroom is full" CURE "set tx: on, or remove lossless",
		     list);
	if (lossless != 0 && !pfc->rx.n)
		WARN(x->s, &pfc->rx,
		     "the switch ignores a PAUSE for lossless %s, and the peer drops frames" CURE
		     "set rx: on, or remove lossless",
		     list);
}

// Classes that a frame can get on some port of the profile.
static unsigned reached_classes(const struct subject *x)
{
	const struct cfg_profile *p = x->profile;
	bool by_dscp = p->trust.n == TRUST_DSCP;
	bool by_pcp = p->trust.n == TRUST_PCP || (by_dscp && p->pcp_to_class.map.given);
	unsigned classes = 0;

	for (unsigned i = 0; i < x->c->n_ports; i++)
		if (x->c->ports[i].profile == p)
			classes |= 1u << x->c->ports[i].item->default_class.n;
	for (unsigned dscp = 0; by_dscp && dscp < 64; dscp++)
		classes |= 1u << cfg_dscp_class(p, dscp);
	for (unsigned pcp = 0; by_pcp && pcp < 8; pcp++)
		classes |= 1u << cfg_mapped(&p->pcp_to_class, pcp);
	return classes;
}

static void lossless_classes_are_reached(const struct subject *x)
{
	static const struct {
		const char *by, *map;
	} trust[] = {
		[TRUST_DSCP] = {"DSCP", "dscp_to_class"},
		[TRUST_PCP] = {"PCP", "pcp_to_class"},
		[TRUST_PORT] = {"port", "default_class of a port"},
	};
	const struct cfg_profile *p = x->profile;

	for_each_bit (cls, cfg_lossless(p) & ~reached_classes(x))
		WARN(x->s, &p->classes[cls].lossless,
		     "no %s leads to class %u: no frame uses the class and its headroom" CURE
		     "name the class in %s, or remove lossless",
		     trust[p->trust.n].by, cls, trust[p->trust.n].map);
}

static void max_rates_limit_something(const struct subject *x)
{
	uint64_t fastest = 0;

	for (unsigned i = 0; i < x->c->n_ports; i++) {
		if (x->c->ports[i].profile != x->profile)
			continue;
		if (known_speed_bps(x, i) == 0)
			return;
		if (known_speed_bps(x, i) > fastest)
			fastest = known_speed_bps(x, i);
	}
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		const struct cfg_val *rate = &x->profile->classes[cls].max_rate;

		if ((uint64_t)rate->n > fastest)
			WARN(x->s, rate,
			     "%s is above %s, the speed of the fastest port of the profile: the "
			     "rate has no effect" CURE "lower or remove it",
			     UNIT_TEXT(UNIT_RATE, rate->n), UNIT_TEXT(UNIT_RATE, (int64_t)fastest));
	}
}

static void profile_is_used(const struct subject *x)
{
	if (cfg_profile_runs(x->c, x->profile)) {
		lossless_classes_have_pfc(x);
		lossless_classes_are_reached(x);
		max_rates_limit_something(x);
	} else {
		WARN(x->s, &x->profile->map,
		     "no port uses this profile" CURE
		     "name it at a port as profile: %s, or remove it",
		     x->profile->map.name);
	}
}

static void pcp_is_in_a_tag(const struct subject *x)
{
	const struct cfg_port *item = x->item;

	if (x->profile->trust.n == TRUST_PCP &&
	    (x->port->routed || (cfg_vlan_aware(x->c) && item->vlan.tagged.n == 0)))
		check_report(x->s, DIAG_WARNING, &item->profile, &item->map, "profile",
			     "profile %s trusts PCP, and the untagged frames of this port have"
			     " none: they all get class %u" CURE "%s",
			     x->profile->map.name, (unsigned)item->default_class.n,
			     x->port->routed ? "set trust: dscp"
					     : "set trust: dscp, or give vlan.tagged");
}

// Whether requests for addresses are dropped in the class: they go to a group.
static bool loses_requests(const struct cfg_profile *p, unsigned cls)
{
	return p->classes[cls].lossless.n && !cfg_floods(&p->classes[cls]);
}

static void hosts_find_each_other(const struct subject *x)
{
	const struct cfg_val *v = &x->item->default_class;
	unsigned nd = cfg_dscp_class(x->profile, 0);
	unsigned pcp0 = cfg_mapped(&x->profile->pcp_to_class, 0);
	bool by_port = x->profile->trust.n == TRUST_PORT;
	bool untagged = !cfg_vlan_aware(x->c) || cfg_untagged(x->item) != 0;
	bool tagged = x->item->vlan.tagged.n != 0;

	if (x->port->routed || (!untagged && !tagged))
		return;
	if ((untagged || by_port) && loses_requests(x->profile, (unsigned)v->n))
		check_report(x->s, DIAG_WARNING, v, &x->item->map, "default_class",
			     "ARP gets class %u, which is lossless and not flooded, so its "
			     "requests are dropped and hosts do not find each other" CURE
			     "set flood: on in the class, or give the port a lossy default_class",
			     (unsigned)v->n);
	if (tagged && !by_port && loses_requests(x->profile, pcp0))
		WARN(x->s, &x->profile->classes[pcp0].lossless,
		     "ARP in a tag with PCP 0 gets class %u, which is lossless and not flooded, so "
		     "its requests are dropped and hosts do not find each other" CURE
		     "set flood: on in the class, or map PCP 0 to a lossy class",
		     pcp0);
	if (x->profile->trust.n == TRUST_DSCP && loses_requests(x->profile, nd))
		WARN(x->s, &x->profile->classes[nd].lossless,
		     "IPv6 neighbour discovery (DSCP 0) gets class %u, which is lossless and not "
		     "flooded, so hosts do not find each other over IPv6" CURE
		     "set flood: on in the class, or map DSCP 0 to a lossy class",
		     nd);
}

static void port_is_in_a_vlan(const struct subject *x)
{
	const struct cfg_port_vlan *v = &x->item->vlan;

	if (cfg_untagged(x->item) == 0 && v->tagged.n == 0)
		WARN(x->s, &v->untagged,
		     "the port is in no VLAN and forwards no frame" CURE
		     "give a VLAN in untagged or tagged");
}

static void svi_has_a_port(const struct subject *x)
{
	for (unsigned i = 0; i < x->c->n_svis; i++) {
		const struct cfg_vlan *v = x->c->svis[i].item;
		bool any = false;

		for (unsigned p = 0; p < x->c->n_ports; p++)
			any |= !x->c->ports[p].routed &&
			       cfg_in_vlan(x->c->ports[p].item, (unsigned)v->id.n);
		if (!any)
			WARN(x->s, &v->ip.map,
			     "no port is in VLAN %u, so it never routes" CURE
			     "name the VLAN in vlan.untagged or vlan.tagged of a port",
			     (unsigned)v->id.n);
	}
}

static void workers_have_processors(const struct subject *x, unsigned n_processors)
{
	const struct cfg_workers *w = &x->c->root.sw.workers;
	unsigned n = config_n_workers(x->c);

	if (n > n_processors)
		diag_add(x->s, DIAG_WARNING, w->cores.n != 0 ? w->cores.map.at : w->count.at,
			 "switch.workers",
			 "%u workers need a processor each, and this machine has %u" CURE
			 "use at most %u",
			 n, n_processors, n_processors);
}

static void shared_pool_absorbs_a_burst(const struct subject *x)
{
	const struct cfg_buffer *b = &x->c->root.sw.buffer;
	uint64_t pool = x->p->buffer.ingress_pool_cells * (uint64_t)x->p->cell.bytes, us;
	unsigned port = 0;

	for (unsigned i = 1; i < x->c->n_ports; i++)
		if (known_speed_bps(x, i) > known_speed_bps(x, port))
			port = i;
	if (known_speed_bps(x, port) == 0)
		return;
	us = pool * 8 * SECOND_US / known_speed_bps(x, port);
	if (us >= LEAST_POOL_US)
		return;
	diag_add(x->s, DIAG_WARNING,
		 b->size.given	? b->size.at
		 : b->map.given ? b->map.at
				: x->c->root.ports.map.at,
		 "switch.buffer.size",
		 "the shared pool of %" PRIu64 " B holds %" PRIu64 " us at %s, the speed of port"
		 " %s, less than %d us" CURE
		 "enlarge size, shorten the cables, or raise oversubscription",
		 pool, us, UNIT_TEXT(UNIT_RATE, (int64_t)known_speed_bps(x, port)),
		 x->c->ports[port].name, LEAST_POOL_US);
}

// The groups of this number with the same headroom and the same need, from this port on: one
// message for all of them.
static void headroom_is_short(const struct subject *x, unsigned port, unsigned cls,
			      bool said[POLICY_MAX_PORTS][N_PGS])
{
	const struct config_port *p = &x->c->ports[port];
	unsigned pg = cfg_mapped(&p->profile->class_to_pg, cls);
	const struct cfg_ingress *own = &p->item->classes[cls].ingress;
	const struct cfg_ingress *in = own->headroom.map.given || own->headroom.fixed.given
					       ? own : &p->profile->classes[cls].ingress;
	uint64_t has = compile_xoff_bytes(x->c, p, pg, known_speed_bps(x, port));
	uint64_t needs = compile_flight_bytes(x->c, p, pg, known_speed_bps(x, port));
	bool which[POLICY_MAX_PORTS] = {false};
	char names[PORT_NAMES_LEN];

	if (has >= needs)
		return;
	for (unsigned i = port; i < x->c->n_ports; i++) {
		const struct config_port *q = &x->c->ports[i];

		which[i] = q->profile == p->profile && known_speed_bps(x, i) != 0 &&
			   compile_xoff_bytes(x->c, q, pg, known_speed_bps(x, i)) == has &&
			   compile_flight_bytes(x->c, q, pg, known_speed_bps(x, i)) == needs;
		said[i][pg] |= which[i];
	}
	check_port_names(x->c, which, names);
	check_report(x->s, DIAG_WARNING, &in->headroom.fixed, &in->map, "headroom",
		     "%" PRIu64 " B are less than what can be in flight after a PAUSE of %s, "
		     "%" PRIu64 " B: frames can be lost" CURE
		     "use auto, or %" PRIu64 " B at least; weirctl plan shows t_flight",
		     has, names, needs, needs);
}

static void headroom_holds_the_link(const struct subject *x)
{
	bool said[POLICY_MAX_PORTS][N_PGS] = {{false}};

	for (unsigned i = 0; i < x->c->n_ports; i++)
		for_each_bit (cls, cfg_lossless(x->c->ports[i].profile)) {
			unsigned pg = cfg_mapped(&x->c->ports[i].profile->class_to_pg, cls);

			if (known_speed_bps(x, i) != 0 && !said[i][pg])
				headroom_is_short(x, i, cls, said);
		}
}

// ---- the engine
void check_rules(const struct rule *list, size_t n, struct subject of)
{
	const struct cfg_list *profiles = &of.c->root.profiles, *items = &of.c->root.ports;
	const unsigned subjects[] = {[OF_POLICY] = 1,
				     [OF_PROFILE] = profiles->n,
				     [OF_CLASS] = profiles->n * N_CLASSES,
				     [OF_ITEM] = items->n,
				     [OF_PORT] = of.c->n_ports};

	for (const struct rule *r = list; r < list + n; r++)
		for (unsigned i = 0; i < subjects[r->scope]; i++) {
			bool by_class = r->scope == OF_CLASS;
			struct subject x = of;

			x.n = by_class ? i % N_CLASSES : i;
			if (by_class || r->scope == OF_PROFILE)
				x.profile = (const struct cfg_profile *)profiles->items +
					    (by_class ? i / N_CLASSES : i);
			if (by_class)
				x.cls = &x.profile->classes[x.n];
			if (r->scope == OF_ITEM)
				x.item = (const struct cfg_port *)items->items + i;
			if (r->scope == OF_PORT) {
				x.port = &x.c->ports[i];
				x.item = x.port->item;
				x.profile = x.port->profile;
			}
			r->check(&x);
		}
}

void config_check(const struct config *c, struct diag_sink *s)
{
	static const struct rule rules[] = {
		{OF_CLASS, kmin_is_not_above_kmax},
		{OF_PROFILE, lossless_and_lossy_do_not_mix},
		{OF_CLASS, shared_settings_are_given_once},
		{OF_PROFILE, cnp_class_is_lossy},
		{OF_CLASS, lossless_class_has_no_egress_limit},
		{OF_CLASS, buffers_make_sense},
		{OF_CLASS, rates_make_sense},
		{OF_CLASS, wred_has_an_effect},
		{OF_PROFILE, kmin_is_two_frames},
		{OF_CLASS, lossy_class_floods},
		{OF_PORT, port_name_is_unique},
		{OF_PORT, device_is_unique},
		{OF_PORT, port_overrides_make_sense},
		{OF_POLICY, vlan_ids_are_unique},
		{OF_ITEM, port_vlans_make_sense},
		{OF_POLICY, fdb_makes_sense},
		{OF_POLICY, fdb_addresses_are_unique},
		{OF_POLICY, multicast_makes_sense},
		{OF_POLICY, worker_cores_are_few},
		{OF_POLICY, name_can_be_a_file},
		{OF_ITEM, keep_makes_sense},
		{OF_ITEM, optional_makes_sense},
		{OF_PORT, auto_pfc_has_lldp},
	};

	CHECK_RULES(rules, .c = c, .s = s);
	watchdogs_check(c, s);
	ipcc_check(c, s);
	elephants_check(c, s);
	trim_check(c, s);
	inof_check(c, s);
	auto_ecn_check(c, s);
	control_plane_check(c, s);
}

int config_check_live(const struct config *c, struct diags *d)
{
	struct diag_sink s = {.file = c->file};
	unsigned n = 0;

	for (unsigned i = 0; i < c->n_ports; i++) {
		n += strncmp(c->ports[i].device, "pci:", 4) == 0 ||
		     strncmp(c->ports[i].device, "vdev:", 5) == 0;
		if (n <= RTE_MAX_ETHPORTS)
			continue;
		REFUSE(&s, &c->ports[i].item->device,
		       "%s: this build of DPDK has places for %d pci: and vdev: ports" CURE
		       "take xdp: for the others, or a DPDK with a larger max_ethports",
		       c->ports[i].name, RTE_MAX_ETHPORTS);
		break;
	}
	diag_finish(&s, d);
	return n > RTE_MAX_ETHPORTS ? -EINVAL : 0;
}

void advice_add(const struct config *c, const struct port_facts *facts, const struct policy *p,
		unsigned n_processors, struct diags *d)
{
	static const struct rule rules[] = {
		{OF_PROFILE, profile_is_used},
		{OF_PORT, pcp_is_in_a_tag},
		{OF_PORT, hosts_find_each_other},
		{OF_PORT, port_is_in_a_vlan},
		{OF_POLICY, svi_has_a_port},
		{OF_POLICY, control_plane_has_taps},
		{OF_POLICY, vxlan_loops_end},
		{OF_POLICY, headroom_holds_the_link},
	};
	struct diag_sink s = {.file = c->file};
	const struct subject x = {.c = c, .s = &s, .facts = facts, .p = p};

	check_rules(rules, sizeof(rules) / sizeof(rules[0]), x);
	workers_have_processors(&x, n_processors);
	shared_pool_absorbs_a_burst(&x);
	diag_finish(&s, d);
}

unsigned advice_processors(void)
{
	cpu_set_t allowed;

	CPU_ZERO(&allowed);
	// A machine with more processors than the set holds has enough of them.
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return CPU_SETSIZE;
	return (unsigned)CPU_COUNT(&allowed);
}
