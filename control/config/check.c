// SPDX-License-Identifier: Apache-2.0
#include "control/config/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "control/config/flood.h"
#include "control/config/ipcc.h"
#include "control/config/watchdogs.h"

enum { PATH_LEN = 256 };

void check_report(struct diag_sink *s, enum diag_level level, const struct cfg_map *m,
		  const char *key, struct cfg_pos at, const char *fmt, ...)
{
	char path[PATH_LEN], text[512];
	va_list ap;

	snprintf(path, sizeof(path), "%s%s%s", m->path, *key == '\0' ? "" : ".", key);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	diag_add(s, level, at, path, "%s", text);
}

// ---- which class speaks for a queue or a group
bool check_gives_queue(const struct cfg_class *c)
{
	return c->schedule.map.given || c->schedule.strict.given || c->min_rate.given ||
	       c->max_rate.given || c->egress.map.given || c->wred.map.given || c->ipcc.map.given ||
	       c->ipcc.on.given;
}

static bool gives_pg(const struct cfg_class *c)
{
	return c->ingress.map.given;
}

static int class_of(const struct cfg_profile *p, const struct cfg_lookup *map, unsigned to,
		    bool (*gives)(const struct cfg_class *))
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
	return class_of(p, &p->class_to_pg, pg, gives_pg);
}

int check_class_of_queue(const struct cfg_profile *p, unsigned queue)
{
	return class_of(p, &p->class_to_queue, queue, check_gives_queue);
}

// ---- rules of one profile
static void kmin_is_not_above_kmax(const struct cfg_profile *p, struct diag_sink *s)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		for (unsigned color = 0; color < N_COLORS; color++) {
			const struct cfg_wred *w = &p->classes[cls].wred;
			const struct cfg_curve *k = &w->curve[color];
			enum unit_kind unit = k->kmin.percent ? UNIT_PERCENT : UNIT_BYTES;
			char kmin[32], kmax[32];

			// A size and a percentage meet in the compiler, which knows the limit.
			if (k->kmin.n <= k->kmax.n || k->kmin.percent != k->kmax.percent ||
			    k->kmin.bad || k->kmax.bad || !k->kmax.given)
				continue;
			unit_print(unit, k->kmin.n, kmin, sizeof(kmin));
			unit_print(unit, k->kmax.n, kmax, sizeof(kmax));
			check_report(s, DIAG_ERROR, color == GREEN ? &w->map : &k->map, "kmin",
				     k->kmin.at, "%s is above kmax %s", kmin, kmax);
		}
}

static void lossless_and_lossy_do_not_mix(const struct cfg_profile *p, struct diag_sink *s)
{
	static const char *const what[] = {"queue", "priority group"};
	const struct cfg_lookup *maps[] = {&p->class_to_queue, &p->class_to_pg};

	for (unsigned a = 0; a < 2 * N_CLASSES; a++)
		for (unsigned b = 0; b < N_CLASSES; b++) {
			const struct cfg_lookup *l = maps[a / N_CLASSES];
			const struct cfg_val *v = &p->classes[a % N_CLASSES].lossless;

			if (!v->n || p->classes[b].lossless.n ||
			    cfg_mapped(l, a % N_CLASSES) != cfg_mapped(l, b))
				continue;
			check_report(s, DIAG_ERROR, &p->classes[a % N_CLASSES].map, "lossless",
				     v->at,
				     "%s %u also carries class %u, which is lossy" CURE "map one of"
				     " them elsewhere",
				     what[a / N_CLASSES], cfg_mapped(l, b), b);
		}
}

static void shared_settings_are_given_once(const struct cfg_profile *p, struct diag_sink *s)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		const struct cfg_class *c = &p->classes[cls];
		unsigned pg = cfg_mapped(&p->class_to_pg, cls);
		unsigned queue = cfg_mapped(&p->class_to_queue, cls);
		int g = check_class_of_pg(p, pg), q = check_class_of_queue(p, queue);

		if (gives_pg(c) && g != (int)cls)
			check_report(s, DIAG_ERROR, &c->map, "ingress", c->ingress.map.at,
				     "priority group %u takes its settings from class %d"
				     CURE "give them once",
				     pg, g);
		if (check_gives_queue(c) && q != (int)cls)
			check_report(
				s, DIAG_ERROR, &c->map, "", c->map.at,
				"queue %u takes schedule, rates, egress, wred and ipcc from class"
				" %d" CURE "give them once",
				queue, q);
	}
}

static void pfc_class_has_headroom(const struct cfg_profile *p, struct diag_sink *s)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		const struct cfg_class *c = &p->classes[cls];

		if (c->lossless.n && c->ingress.headroom.fixed.n == 0)
			check_report(s, DIAG_ERROR, &c->ingress.map, "headroom",
				     c->ingress.headroom.fixed.at,
				     "0 leaves no room for what arrives after a PAUSE: a lossless"
				     " class needs headroom, use auto");
	}
}

// A CNP that waits behind a pause comes too late to end the congestion that caused it. Where all
// classes are lossless there is no better class for it.
static void cnp_class_is_lossy(const struct cfg_profile *p, struct diag_sink *s)
{
	unsigned dscp = (unsigned)p->cnp.dscp.n, cnp = cfg_dscp_class(p, dscp);
	bool ecn = false, all = true;

	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		ecn |= cls != cnp && p->classes[cls].lossless.n && p->classes[cls].wred.ecn.n;
		all &= p->classes[cls].lossless.n != 0;
	}
	if (p->trust.n == TRUST_DSCP && ecn && p->classes[cnp].lossless.n)
		check_report(
			s, all ? DIAG_WARNING : DIAG_ERROR, &p->classes[cnp].map, "lossless",
			p->classes[cnp].lossless.at,
			"class %u carries CNPs (DSCP %u): a lossless CNP class can be paused by"
			" the congestion it reports" CURE "%s",
			cnp, dscp,
			all ? "make one class lossy and map the DSCP to it"
			    : "map the DSCP to a lossy class");
}

static void lossless_class_has_no_egress_limit(const struct cfg_profile *p, struct diag_sink *s)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		const struct cfg_class *c = &p->classes[cls];

		if (c->lossless.n && c->egress.map.given)
			check_report(
				s, DIAG_ERROR, &c->map, "egress", c->egress.map.at,
				"a lossless queue is never limited here, its senders are held at"
				" the ingress" CURE "remove egress");
	}
}

// PFC settings of a class without PFC would silently do nothing.
static void refuse_pfc_keys(const struct cfg_ingress *in, struct diag_sink *s)
{
	const struct {
		const char *key;
		const struct cfg_val *v;
	} keys[] = {{"headroom", &in->headroom.fixed},
		    {"xon", &in->xon},
		    {"xon_offset", &in->xon_offset},
		    {"mru", &in->mru},
		    {"cable", &in->cable}};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].v->given)
			check_report(s, DIAG_ERROR, &in->map, keys[i].key, keys[i].v->at,
				     "means nothing in a lossy class"
				     CURE "set lossless: true or remove it");
	if (in->headroom.map.given)
		check_report(s, DIAG_ERROR, &in->map, "headroom", in->headroom.map.at,
			     "means nothing in a lossy class"
			     CURE "set lossless: true or remove it");
}

// A mistake in the class may be what keeps the class lossy.
static bool is_meant_lossy(const struct cfg_class *c, const struct diag_sink *s)
{
	return !c->lossless.n && !(c->map.given && diag_has_error(s, c->map.path));
}

static void lossy_class_has_no_pfc_keys(const struct cfg_profile *p, struct diag_sink *s)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (is_meant_lossy(&p->classes[cls], s))
			refuse_pfc_keys(&p->classes[cls].ingress, s);
}

static void refuse_both(const struct cfg_map *m, const struct cfg_val *alpha,
			const struct cfg_val *fixed, struct diag_sink *s)
{
	if (alpha->given && fixed->given)
		check_report(s, DIAG_ERROR, m, "static", fixed->at,
			     "alpha and static exclude each other" CURE "keep one");
}

static void alpha_or_static(const struct cfg_profile *p, struct diag_sink *s)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		const struct cfg_class *c = &p->classes[cls];

		refuse_both(&c->ingress.map, &c->ingress.alpha, &c->ingress.static_limit, s);
		refuse_both(&c->egress.map, &c->egress.alpha, &c->egress.static_limit, s);
	}
}

static void rates_make_sense(const struct cfg_profile *p, struct diag_sink *s)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		const struct cfg_class *c = &p->classes[cls];
		char min[32], max[32];

		if (c->min_rate.n != 0 && c->schedule.strict.given)
			check_report(s, DIAG_ERROR, &c->map, "min_rate", c->min_rate.at,
				     "a strict queue comes first anyway" CURE "remove min_rate");
		if (c->max_rate.n == 0 || c->min_rate.n <= c->max_rate.n)
			continue;
		unit_print(UNIT_RATE, c->min_rate.n, min, sizeof(min));
		unit_print(UNIT_RATE, c->max_rate.n, max, sizeof(max));
		check_report(s, DIAG_ERROR, &c->map, "min_rate", c->min_rate.at,
			     "%s is above max_rate %s", min, max);
	}
}

static void wred_has_an_effect(const struct cfg_profile *p, struct diag_sink *s)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		const struct cfg_class *c = &p->classes[cls];
		bool drops = c->wred.not_ect.given ? c->wred.not_ect.n != 0 : !c->lossless.n;

		if (c->wred.map.given && !c->wred.ecn.n && !drops && !ipcc_is_on(c))
			check_report(
				s, DIAG_WARNING, &c->map, "wred", c->wred.map.at,
				"neither marks nor drops"
				CURE "set ecn: on, not_ect: drop or ipcc: on");
	}
}

static void (*const profile_rules[])(const struct cfg_profile *, struct diag_sink *) = {
	kmin_is_not_above_kmax,
	lossless_and_lossy_do_not_mix,
	shared_settings_are_given_once,
	pfc_class_has_headroom,
	cnp_class_is_lossy,
	lossless_class_has_no_egress_limit,
	lossy_class_has_no_pfc_keys,
	alpha_or_static,
	rates_make_sense,
	wred_has_an_effect,
	flood_check,
};

// ---- rules of the whole policy
static void port_names_are_unique(const struct config *c, struct diag_sink *s)
{
	for (unsigned i = 0; i < c->n_ports; i++)
		if (cfg_find_port(c, c->ports[i].name) != (int)i)
			check_report(s, DIAG_ERROR, &c->ports[i].item->map, "name",
				     c->ports[i].item->name.at, "port %s is given twice",
				     c->ports[i].name);
}

static void devices_are_unique(const struct config *c, struct diag_sink *s)
{
	for (unsigned i = 0; i < c->n_ports; i++)
		for (unsigned j = 0; j < i; j++)
			if (strcmp(c->ports[i].device, c->ports[j].device) == 0)
				check_report(s, DIAG_ERROR, &c->ports[i].item->map, "device",
					     c->ports[i].item->device.at,
					     "%s already belongs to port %s", c->ports[i].device,
					     c->ports[j].name);
}

static void override_rules(const struct config_port *port, unsigned cls, struct diag_sink *s)
{
	const struct cfg_ingress *in = &port->item->classes[cls].ingress;
	const struct cfg_profile *p = port->profile;
	unsigned pg = cfg_mapped(&p->class_to_pg, cls);

	refuse_both(&in->map, &in->alpha, &in->static_limit, s);
	if (is_meant_lossy(&p->classes[cls], s))
		refuse_pfc_keys(in, s);
	else if (p->classes[cls].lossless.n && in->headroom.fixed.n == 0)
		check_report(
			s, DIAG_ERROR, &in->map, "headroom", in->headroom.fixed.at,
			"0 leaves no room for what arrives after a PAUSE: a lossless class needs"
			" headroom, use auto");
	for (unsigned other = 0; other < cls; other++)
		if (cfg_mapped(&p->class_to_pg, other) == pg &&
		    port->item->classes[other].ingress.map.given)
			check_report(s, DIAG_ERROR, &in->map, "", in->map.at,
				     "priority group %u takes its settings from class %u"
				     CURE "give them once",
				     pg, other);
}

static void port_overrides_make_sense(const struct config *c, struct diag_sink *s)
{
	for (unsigned i = 0; i < c->n_ports; i++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			if (c->ports[i].item->classes[cls].ingress.map.given)
				override_rules(&c->ports[i], cls, s);
}

static void vlan_ids_are_unique(const struct config *c, struct diag_sink *s)
{
	const struct cfg_vlan *v = c->root.vlans.items;
	uint64_t seen[N_VLANS / 64] = {0};

	for (unsigned i = 0; i < c->root.vlans.n; i++) {
		unsigned id = (unsigned)v[i].id.n;

		if (id != 0 && vlan_bit(seen, id))
			check_report(s, DIAG_ERROR, &v[i].map, "id", v[i].id.at,
				     "VLAN %u is given twice", id);
		seen[id / 64] |= 1ull << (id % 64);
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

static void port_vlans_make_sense(const struct config *c, struct diag_sink *s)
{
	const struct cfg_port *ports = c->root.ports.items;

	for (unsigned i = 0; i < c->root.ports.n; i++) {
		const struct cfg_port_vlan *v = &ports[i].vlan;
		unsigned untagged = cfg_untagged(&ports[i]);

		if (untagged != 0 && cfg_set_has(&v->tagged, untagged))
			check_report(s, DIAG_ERROR, &v->map, "tagged", v->tagged.map.at,
				     "VLAN %u is untagged on this port: it cannot be tagged too",
				     untagged);
		if (!c->root.vlans.map.given)
			continue;
		if (v->untagged.given && !v->untagged.bad && untagged != 0 &&
		    !vlan_listed(c, untagged))
			check_report(s, DIAG_WARNING, &v->map, "untagged", v->untagged.at,
				     "VLAN %u is not listed in vlans: it exists all the same",
				     untagged);
		for (unsigned id = 1; id < N_VLANS && v->tagged.n != 0; id++)
			if (cfg_set_has(&v->tagged, id) && !vlan_listed(c, id)) {
				check_report(
					s, DIAG_WARNING, &v->map, "tagged", v->tagged.map.at,
					"VLAN %u is not listed in vlans: it exists all the same",
					id);
				break;
			}
	}
}

static void fdb_rule(const struct config *c, const struct cfg_fdb *f, struct diag_sink *s)
{
	uint8_t mac[6];
	int port = f->port.text != NULL ? cfg_find_port(c, f->port.text) : 0;
	const struct cfg_port *p;

	if (f->mac.text != NULL && !cfg_parse_mac(f->mac.text, mac))
		check_report(s, DIAG_ERROR, &f->map, "mac", f->mac.at,
			     "\"%s\": expected an address such as 02:00:00:00:00:01", f->mac.text);
	else if (f->mac.text != NULL && (mac[0] & 1))
		check_report(s, DIAG_ERROR, &f->map, "mac", f->mac.at,
			     "%s is a multicast address: only unicast belongs to one port",
			     f->mac.text);
	if (port < 0)
		check_report(s, DIAG_ERROR, &f->map, "port", f->port.at, "there is no port %s",
			     f->port.text);
	if (port < 0 || f->port.text == NULL)
		return;
	p = c->ports[port].item;
	if (!f->vlan.given && cfg_vlan_aware(c) && cfg_untagged(p) == 0)
		check_report(s, DIAG_ERROR, &f->map, "vlan", f->map.at,
			     "is required: port %s takes no untagged frames", f->port.text);
	else if (!f->vlan.given || f->vlan.bad)
		return;
	else if (!cfg_vlan_aware(c))
		check_report(s, DIAG_ERROR, &f->map, "vlan", f->vlan.at,
			     "this policy has no VLANs" CURE "remove it or give vlans");
	else if (cfg_untagged(p) != f->vlan.n && !cfg_set_has(&p->vlan.tagged, (unsigned)f->vlan.n))
		check_report(s, DIAG_ERROR, &f->map, "vlan", f->vlan.at,
			     "port %s is not in VLAN %u", f->port.text, (unsigned)f->vlan.n);
}

static void fdb_makes_sense(const struct config *c, struct diag_sink *s)
{
	const struct cfg_fdb *f = c->root.fdb.items;

	for (unsigned i = 0; i < c->root.fdb.n; i++)
		fdb_rule(c, &f[i], s);
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

static void fdb_addresses_are_unique(const struct config *c, struct diag_sink *s)
{
	const struct cfg_fdb *f = c->root.fdb.items;
	struct fdb_place *sorted = calloc(c->root.fdb.n + 1, sizeof(*sorted));
	unsigned n = 0;

	for (unsigned i = 0; sorted != NULL && i < c->root.fdb.n; i++)
		if (f[i].mac.text != NULL && f[i].port.text != NULL)
			sorted[n++] = (struct fdb_place){&f[i], cfg_fdb_vid(c, &f[i])};
	if (n > 1)
		qsort(sorted, n, sizeof(*sorted), fdb_order);
	for (unsigned i = 1; i < n; i++) {
		const struct cfg_fdb *twice = sorted[i].f;

		if (strcasecmp(sorted[i - 1].f->mac.text, twice->mac.text) == 0 &&
		    sorted[i - 1].vid == sorted[i].vid)
			check_report(s, DIAG_ERROR, &twice->map, "mac", twice->mac.at,
				     "%s is given twice", twice->mac.text);
	}
	free(sorted);
}

static void worker_cores_are_few(const struct config *c, struct diag_sink *s)
{
	const struct cfg_set *cores = &c->root.sw.workers.cores;

	if (cores->map.given && (cores->n < 1 || cores->n > 64))
		check_report(s, DIAG_ERROR, &c->root.sw.map, "workers", cores->map.at,
			     "%u cores: 1 to 64 are possible", cores->n);
}

struct keep cfg_keep(const struct cfg_port *p, struct diag_sink *s)
{
	struct keep k = {0};
	const char *why;

	if (!p->keep.map.given)
		return keep_default();
	for (unsigned i = 0; i < p->keep.n; i++) {
		const struct cfg_val *v = &p->keep.items[i];

		if (!keep_add(&k, v->text, &why) && s != NULL)
			check_report(s, DIAG_ERROR, &p->map, "keep", v->at, "\"%s\" %s", v->text,
				     why);
	}
	return k;
}

static void keep_makes_sense(const struct config *c, struct diag_sink *s)
{
	const struct cfg_port *p = c->root.ports.items;

	for (unsigned i = 0; i < c->root.ports.n; i++) {
		const char *device = p[i].device.text;

		(void)cfg_keep(&p[i], s);
		if (p[i].keep.map.given && device != NULL && strncmp(device, "xdp:", 4) != 0)
			check_report(s, DIAG_ERROR, &p[i].map, "keep", p[i].keep.map.at,
				     "only an xdp: device shares its frames with the host's stack,"
				     " not %s" CURE "leave keep out",
				     device);
	}
}

static void optional_makes_sense(const struct config *c, struct diag_sink *s)
{
	const struct cfg_port *p = c->root.ports.items;

	for (unsigned i = 0; i < c->root.ports.n; i++) {
		const char *device = p[i].device.text;

		if (p[i].optional.n == 0 || device == NULL)
			continue;
		if (strncmp(device, "xdp:", 4) != 0)
			check_report(s, DIAG_ERROR, &p[i].map, "optional", p[i].optional.at,
				     "only an xdp: device can be made after the start, not %s"
				     CURE "leave optional out",
				     device);
		else if (p[i].speed.n == 0)
			check_report(s, DIAG_ERROR, &p[i].map, "optional", p[i].optional.at,
				     "a device that does not exist has no speed" CURE
				     "give the port a speed, such as 10G");
	}
}

// Files of the switch and of DPDK carry its name.
static void name_can_be_a_file(const struct config *c, struct diag_sink *s)
{
	const struct cfg_val *name = &c->root.sw.name;

	if (name->text != NULL && name->text[0] == '.')
		check_report(s, DIAG_ERROR, &c->root.sw.map, "name", name->at,
			     "\"%s\" cannot be a file name"
			     CURE "begin it with a letter or a digit",
			     name->text);
}

static void (*const policy_rules[])(const struct config *, struct diag_sink *) = {
	port_names_are_unique,
	devices_are_unique,
	port_overrides_make_sense,
	vlan_ids_are_unique,
	port_vlans_make_sense,
	fdb_makes_sense,
	fdb_addresses_are_unique,
	worker_cores_are_few,
	name_can_be_a_file,
	keep_makes_sense,
	optional_makes_sense,
	watchdogs_check,
	ipcc_check,
};

void config_check(const struct config *c, struct diag_sink *s)
{
	const struct cfg_profile *p = c->root.profiles.items;

	for (unsigned i = 0; i < c->root.profiles.n; i++)
		for (size_t r = 0; r < sizeof(profile_rules) / sizeof(profile_rules[0]); r++)
			profile_rules[r](&p[i], s);
	for (size_t r = 0; r < sizeof(policy_rules) / sizeof(policy_rules[0]); r++)
		policy_rules[r](c, s);
}
