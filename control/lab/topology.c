// SPDX-License-Identifier: Apache-2.0
// Known topologies by their numbers. Names count from 1 over the whole fabric; the ports of a
// switch are, in order: its hosts, then the tier below, then the tier above.
//
//   star        s1; h1.. on p1..
//   leaf-spine  leaves l1.., spines s1..; every leaf to every spine
//   clos        per pod ToRs t1.. and leaves l1.., spines s1..; in a pod every ToR to every leaf,
//               and every leaf to every spine
//   ring        s1..; the last two ports of each go to the next switch and to the one before
#include <string.h>

#include "control/config/rows.h"
#include "control/lab/scenario_int.h"

#define COUNT(key, f, most, text)                                                                  \
	{                                                                                          \
		key, CFG_NUMBER, .unit = UNIT_COUNT, AT(sc_shape, f), .min = 1, .max = most,       \
				 .required = true, .help = text                                    \
	}
#define SPEED(key, f, otherwise, text)                                                             \
	{                                                                                          \
		key, CFG_NUMBER, .unit = UNIT_RATE, AT(sc_shape, f), .min = 1000000,               \
				 .max = 800000000000ll, .required = (otherwise) == NULL,           \
				 .dflt_text = otherwise, .help = text                              \
	}
#define LENGTH(key, f, otherwise, text)                                                            \
	{                                                                                          \
		key, CFG_NUMBER, .unit = UNIT_LENGTH, AT(sc_shape, f), .max = SC_MAX_CABLE_CM,     \
				 .dflt_text = otherwise, .help = text                              \
	}
#define DELAY(key, f, otherwise, text)                                                             \
	{                                                                                          \
		key, CFG_NUMBER, .unit = UNIT_TIME, AT(sc_shape, f), .max = SC_MAX_DELAY_NS,       \
				 .dflt_text = otherwise, .help = text ", in place of the length"   \
	}
#define PROFILE(key, f, otherwise, text)                                                           \
	{                                                                                          \
		key, CFG_NAME, AT(sc_shape, f), .max = POLICY_NAME_LEN - 1,                        \
						.dflt_text = otherwise, .help = text               \
	}

static const struct cfg_row star_rows[] = {
	COUNT("hosts", hosts, POLICY_MAX_PORTS, "h1, h2, ... on s1"),
	SPEED("speed", host.speed, NULL, "of every link"),
	LENGTH("length", host.length, "5m", "of every cable"),
	DELAY("delay", host.delay, "of the length", "propagation of every cable, one way"),
	PROFILE("profile", host.profile, "the policy's", "profile of every linked port"),
};
static SCHEMA(star_schema, star_rows, sc_shape);

static const struct cfg_row leaf_spine_rows[] = {
	COUNT("leaves", leaves, SC_MAX_SWITCHES, "l1, l2, ..."),
	COUNT("spines", spines, POLICY_MAX_PORTS, "s1, s2, ..., each linked to every leaf"),
	COUNT("hosts_per_leaf", hosts_each, POLICY_MAX_PORTS, "h1, h2, ... in order of leaves"),
	SPEED("host_speed", host.speed, NULL, "host to leaf"),
	SPEED("fabric_speed", fabric.speed, "host_speed", "leaf to spine"),
	LENGTH("host_length", host.length, "5m", "host to leaf"),
	LENGTH("fabric_length", fabric.length, "host_length", "leaf to spine"),
	DELAY("host_delay", host.delay, "of the length", "host to leaf"),
	PROFILE("host_profile", host.profile, "the policy's", "of the ports host to leaf"),
	DELAY("fabric_delay", fabric.delay, "host_delay", "leaf to spine"),
	PROFILE("fabric_profile", fabric.profile, "the policy's", "of the ports leaf to spine"),
};
static SCHEMA(leaf_spine_schema, leaf_spine_rows, sc_shape);

static const struct cfg_row clos_rows[] = {
	COUNT("pods", pods, SC_MAX_SWITCHES, "groups of ToRs and leaves"),
	COUNT("tors_per_pod", tors, POLICY_MAX_PORTS, "t1, t2, ... in order of pods"),
	COUNT("leaves_per_pod", leaves, POLICY_MAX_PORTS,
	      "l1, l2, ..., each linked to every ToR of its pod"),
	COUNT("spines", spines, POLICY_MAX_PORTS, "s1, s2, ..., each linked to every leaf"),
	COUNT("hosts_per_tor", hosts_each, POLICY_MAX_PORTS, "h1, h2, ... in order of ToRs"),
	SPEED("host_speed", host.speed, NULL, "host to ToR"),
	SPEED("fabric_speed", fabric.speed, "host_speed", "ToR to leaf"),
	SPEED("spine_speed", spine.speed, "fabric_speed", "leaf to spine"),
	LENGTH("host_length", host.length, "5m", "host to ToR"),
	LENGTH("fabric_length", fabric.length, "host_length", "ToR to leaf"),
	LENGTH("spine_length", spine.length, "fabric_length", "leaf to spine"),
	DELAY("host_delay", host.delay, "of the length", "host to ToR"),
	PROFILE("host_profile", host.profile, "the policy's", "of the ports host to ToR"),
	DELAY("fabric_delay", fabric.delay, "host_delay", "ToR to leaf"),
	PROFILE("fabric_profile", fabric.profile, "the policy's", "of the ports ToR to leaf"),
	DELAY("spine_delay", spine.delay, "fabric_delay", "leaf to spine"),
	PROFILE("spine_profile", spine.profile, "fabric_profile", "of the ports leaf to spine"),
};
static SCHEMA(clos_schema, clos_rows, sc_shape);

static const struct cfg_row ring_rows[] = {
	{NUMBER(COUNT, sc_shape, switches), .min = 3, .max = SC_MAX_SWITCHES, .required = true,
	 .help = "s1, s2, ..."},
	COUNT("hosts_per_switch", hosts_each, POLICY_MAX_PORTS, "h1, h2, ... in order of switches"),
	SPEED("host_speed", host.speed, NULL, "host to switch"),
	SPEED("fabric_speed", fabric.speed, "host_speed", "switch to switch"),
	LENGTH("host_length", host.length, "5m", "host to switch"),
	LENGTH("fabric_length", fabric.length, "host_length", "switch to switch"),
	DELAY("host_delay", host.delay, "of the length", "host to switch"),
	PROFILE("host_profile", host.profile, "the policy's", "of the ports host to switch"),
	DELAY("fabric_delay", fabric.delay, "host_delay", "switch to switch"),
	PROFILE("fabric_profile", fabric.profile, "the policy's", "of the ports switch to switch"),
};
static SCHEMA(ring_schema, ring_rows, sc_shape);

#define KIND(key, id, schema, text)                                                                \
	{                                                                                          \
		key, CFG_MAP, .sub = &(schema), AT(sc_topology_keys, shape[id]),                   \
			      .dflt_text = "none", .help = text                                    \
	}
static const struct cfg_row topology_rows[] = {
	KIND("star", TOPOLOGY_STAR, star_schema, "one switch and its hosts"),
	KIND("leaf-spine", TOPOLOGY_LEAF_SPINE, leaf_spine_schema, "two tiers"),
	KIND("clos", TOPOLOGY_CLOS, clos_schema, "three tiers"),
	KIND("ring", TOPOLOGY_RING, ring_schema, "switches in a circle"),
};
static_assert(N(topology_rows) == N_TOPOLOGIES, "a row per topology");
SCHEMA(sc_topology_schema, topology_rows, sc_topology_keys);

// ---- growing
struct tier {
	uint32_t first, n; // switches
};

struct shape {
	struct sc_builder *b;
	const struct sc_shape *k;
	struct sc_text where;
	struct sc_cable host, fabric, spine;
	uint32_t n_plugged[SC_MAX_SWITCHES]; // ports of a switch that are taken
};

static void read_cable(struct shape *s, const struct sc_cable_keys *k, const char *delay,
		       struct sc_cable *c)
{
	sc_read_cable(s->b, k, arena_printf(s->b->r.arena, "%s.%s", s->k->map.path, delay), c);
}

static struct tier add_tier(struct shape *s, const char *letter, uint32_t n)
{
	struct scenario *sc = s->b->sc;
	struct tier t = {sc->n_switches, n};

	for (uint32_t i = 0; i < n; i++)
		if (sc_add_switch(s->b, arena_printf(s->b->r.arena, "%s%u", letter, i + 1),
				  s->where.at, s->where.path) < 0)
			return (struct tier){t.first, i};
	return t;
}

static struct sc_end plug(struct shape *s, uint32_t sw)
{
	return (struct sc_end){true, sw, s->n_plugged[sw]++};
}

static void add_hosts(struct shape *s, struct tier t, uint32_t each)
{
	for (uint32_t i = 0; i < t.n; i++)
		for (uint32_t k = 0; k < each; k++) {
			const char *name = arena_printf(s->b->r.arena, "h%u", i * each + k + 1);
			int host = sc_add_host(s->b, name, s->where.at, s->where.path);
			struct sc_end end[2];

			if (host < 0)
				return;
			end[0] = (struct sc_end){false, (uint32_t)host, 0};
			end[1] = plug(s, t.first + i);
			sc_add_link(s->b, end, &s->host, &s->where);
		}
}

// Every switch of one tier to every one of the other, in order of the lower.
static void mesh(struct shape *s, struct tier low, struct tier high, const struct sc_cable *c)
{
	for (uint32_t i = 0; i < low.n; i++)
		for (uint32_t k = 0; k < high.n; k++) {
			const struct sc_end end[2] = {plug(s, low.first + i),
						      plug(s, high.first + k)};

			sc_add_link(s->b, end, c, &s->where);
		}
}

static void grow_star(struct shape *s)
{
	add_hosts(s, add_tier(s, "s", 1), (uint32_t)s->k->hosts.n);
}

static void grow_leaf_spine(struct shape *s)
{
	struct tier leaves = add_tier(s, "l", (uint32_t)s->k->leaves.n);
	struct tier spines = add_tier(s, "s", (uint32_t)s->k->spines.n);

	add_hosts(s, leaves, (uint32_t)s->k->hosts_each.n);
	mesh(s, leaves, spines, &s->fabric);
}

static void grow_clos(struct shape *s)
{
	uint32_t pods = (uint32_t)s->k->pods.n;
	uint32_t tors_each = (uint32_t)s->k->tors.n, leaves_each = (uint32_t)s->k->leaves.n;
	struct tier tors = add_tier(s, "t", pods * tors_each);
	struct tier leaves = add_tier(s, "l", pods * leaves_each);
	struct tier spines = add_tier(s, "s", (uint32_t)s->k->spines.n);

	if (s->b->r.sink->n_errors != 0)
		return; // too many of them: a part makes no fabric
	add_hosts(s, tors, (uint32_t)s->k->hosts_each.n);
	for (uint32_t p = 0; p < pods; p++)
		mesh(s, (struct tier){tors.first + p * tors_each, tors_each},
		     (struct tier){leaves.first + p * leaves_each, leaves_each}, &s->fabric);
	mesh(s, leaves, spines, &s->spine);
}

static void grow_ring(struct shape *s)
{
	struct tier t = add_tier(s, "s", (uint32_t)s->k->switches.n);
	uint32_t next = (uint32_t)s->k->hosts_each.n, before = next + 1;

	add_hosts(s, t, next);
	for (uint32_t i = 0; i < t.n; i++) {
		const struct sc_end end[2] = {{true, t.first + i, next},
					      {true, t.first + (i + 1) % t.n, before}};

		sc_add_link(s->b, end, &s->fabric, &s->where);
	}
}

static void (*const grow[N_TOPOLOGIES])(struct shape *s) = {
	[TOPOLOGY_STAR] = grow_star,
	[TOPOLOGY_LEAF_SPINE] = grow_leaf_spine,
	[TOPOLOGY_CLOS] = grow_clos,
	[TOPOLOGY_RING] = grow_ring,
};

// Numbers that were refused hold their defaults, which make no fabric.
static bool is_whole(const struct sc_shape *k, const struct cfg_schema *schema)
{
	for (unsigned i = 0; i < schema->n; i++) {
		const struct cfg_row *row = &schema->rows[i];
		const struct cfg_val *v = (const void *)((const char *)k + row->off);

		if (v->bad || (row->required && !v->given))
			return false;
	}
	return true;
}

static void build(struct sc_builder *b, const struct sc_shape *k)
{
	unsigned kind = (unsigned)(k - b->k.topology.shape);
	struct shape s = {.b = b,
			  .k = k,
			  .where = {.at = k->map.at, .path = k->map.path},
			  .host = SC_DEFAULT_CABLE};

	if (!is_whole(k, topology_rows[kind].sub))
		return;
	read_cable(&s, &k->host, kind == TOPOLOGY_STAR ? "delay" : "host_delay", &s.host);
	s.fabric = s.host;
	s.fabric.profile = NULL;
	read_cable(&s, &k->fabric, "fabric_delay", &s.fabric);
	s.spine = s.fabric;
	read_cable(&s, &k->spine, "spine_delay", &s.spine);
	grow[kind](&s);
}

void sc_build_topology(struct sc_builder *b)
{
	const struct sc_shape *found = NULL;

	if (!b->k.topology.map.given)
		return;
	for (unsigned i = 0; i < N_TOPOLOGIES; i++) {
		const struct sc_shape *k = &b->k.topology.shape[i];

		if (!k->map.given)
			continue;
		if (found != NULL) {
			sc_report(b, k->map.at, k->map.path, "there is a topology already: %s",
				  found->map.path);
			return;
		}
		found = k;
	}
	if (found == NULL)
		sc_report(b, b->k.topology.map.at, "topology",
			  "is empty: give one of star, leaf-spine, clos, ring");
	else
		build(b, found);
}
