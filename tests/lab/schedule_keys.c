// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/schedule_text.h"

#include "tests/lab/schedule_net.h"

#define PICK(rng, table) ((table)[pick((rng), sizeof(table) / sizeof((table)[0]))])

static unsigned pick(struct rng *rng, unsigned n)
{
	return rng_next(rng) % n;
}

static bool is_on(const struct text *t, enum feature f)
{
	return t->on >> f & 1;
}

// ---- VLANs, routing and tunnels
//
// VLAN 100 has the VNI. One port routes: the peers of the VNI are behind it. The last port has both
// VLANs. VLAN 200 may route, VLAN 100 only where it has no VNI.

bool keys_have_vlans(const struct text *t)
{
	return is_on(t, FEATURE_VXLAN) || is_on(t, FEATURE_SVI);
}

static void vlan_of_port(struct text *t, unsigned port)
{
	if (port == NET_ROUTED_PORT)
		text_add(t, ", ip: [10.0.%u.1/24, \"fd00:%x::1/64\"]", NET_UNDERLAY, NET_UNDERLAY);
	else
		text_add(t, ", vlan: {untagged: %u%s}", net_of_host(port),
			 port == NET_TRUNK ? ", tagged: [200]" : "");
}

static void add_vlan(struct text *t, unsigned vid, bool routes)
{
	text_add(t, "  - {id: %u", vid);
	if (pick(&t->more, 8) == 0)
		text_add(t, ", flood: off");
	if (routes)
		text_add(t,
			 ", mac: \"02:00:00:00:01:%02x\", ip: [10.0.%u.1/24, "
			 "\"fd00:%x::1/64\"]",
			 vid, vid, vid);
	text_add(t, "}\n");
}

static void add_neighbour(struct text *t, unsigned net, unsigned host)
{
	text_add(t,
		 "  - {ip: 10.0.%u.%u, mac: \"02:00:00:00:00:%02x\"}\n"
		 "  - {ip: \"fd00:%x::%x\", mac: \"02:00:00:00:00:%02x\"}\n",
		 net, NET_FIRST_ADDRESS + host, host + 1, net, NET_FIRST_ADDRESS + host, host + 1);
}

static void add_neighbours(struct text *t, bool routes_100, bool routes_200)
{
	text_add(t, "neighbours:\n");
	add_neighbour(t, NET_UNDERLAY, NET_ROUTED_PORT);
	for (unsigned host = 0; host < SCHEDULE_PORTS; host++) {
		if (routes_100 && net_has_host(100, host))
			add_neighbour(t, 100, host);
		if (routes_200 && net_has_host(200, host))
			add_neighbour(t, 200, host);
	}
}

static void add_fdb(struct text *t, bool fixed, bool far)
{
	if (fixed || far)
		text_add(t, "fdb:\n");
	for (unsigned host = 0; fixed && host < SCHEDULE_PORTS; host++)
		for (unsigned vid = 100; vid <= 200; vid += 100)
			if (net_has_host(vid, host))
				text_add(t,
					 "  - {mac: \"02:00:00:00:00:%02x\", port: p%u, "
					 "vlan: %u}\n",
					 host + 1, host + 1, vid);
	if (far)
		text_add(t, "  - {mac: \"02:00:00:00:00:%02x\", port: 10.0.%u.%u, vlan: 100}\n",
			 NET_FAR + 1, NET_UNDERLAY, NET_FIRST_ADDRESS + NET_ROUTED_PORT);
}

static void vlans(struct text *t, const struct schedule_conf *c)
{
	bool routes_200 = is_on(t, FEATURE_SVI),
	     routes_100 = routes_200 && !is_on(t, FEATURE_VXLAN);

	text_add(t, "vlans:\n");
	add_vlan(t, 100, routes_100);
	add_vlan(t, 200, routes_200);
	add_neighbours(t, routes_100, routes_200);
	text_add(t, "routes:\n  - {to: 10.9.0.0/16, via: 10.0.%u.%u}\n", NET_UNDERLAY,
		 NET_FIRST_ADDRESS + NET_ROUTED_PORT);
	add_fdb(t, !c->learned, is_on(t, FEATURE_VXLAN) && pick(&t->more, 2));
}

static void vxlan(struct text *t, const struct schedule_conf *c)
{
	static const char *const ecns[] = {"rfc6040", "rfc6040", "copy", "off"};
	static const char *const dscps[] = {"uniform", "uniform", "24", "0"};

	(void)c;
	text_add(t,
		 "vxlan: {source: 10.0.%u.1, ecn: %s, dscp: %s, trust: %s, mark_inner: %s, "
		 "vnis: {%u: {vlan: 100, peers: [10.0.%u.%u, 10.9.0.7]}}}\n",
		 NET_UNDERLAY, PICK(&t->more, ecns), PICK(&t->more, dscps),
		 is_on(t, FEATURE_INNER_TRUST) ? "inner" : "tunnel",
		 pick(&t->more, 4) == 0 ? "on" : "off", NET_VNI, NET_UNDERLAY,
		 NET_FIRST_ADDRESS + NET_ROUTED_PORT);
}

// ---- limits of ports

static void storm_control(struct text *t, unsigned port)
{
	static const unsigned rates[] = {0, 20, 400, 4000, 100000};

	(void)port;
	if (pick(&t->more, 4) != 0)
		text_add(t, ", storm_control: {broadcast: %u, unknown_unicast: %u, multicast: %u}",
			 PICK(&t->more, rates), PICK(&t->more, rates), PICK(&t->more, rates));
}

static void loop_detect(struct text *t, unsigned port)
{
	(void)port;
	if (pick(&t->more, 4) != 0)
		text_add(t, ", loop_detect: %s",
			 pick(&t->more, 2) ? "on" : "{action: port_down, recover: 2s}");
}

static void sticky(struct text *t, unsigned port)
{
	(void)port;
	if (pick(&t->more, 2))
		text_add(t, ", sticky: on");
}

// ---- guards, storms, notifications

// Class 4 is lossy in every profile, and DSCP 33 is of class 4.
static void guard(struct text *t, unsigned port)
{
	if (port < 2 || pick(&t->more, 3) != 0)
		text_add(t, ", guard: {group: up, remap: [{dscp: 24, to_class: 4, to_dscp: 33}, "
			    "{dscp: 42, to_class: 4, to_dscp: 33}]}");
}

static void watchdog(struct text *t)
{
	static const char *const actions[] = {"drop", "forward", "alert"};

	text_add(t, "    watchdog: {mode: %s, action: %s, limit: {count: 0}}\n",
		 pick(&t->more, 2) ? "xoff" : "progress", PICK(&t->more, actions));
}

// Class 6 has the CNPs.
static bool ipcc(struct text *t, unsigned cls)
{
	unsigned kmin_kb = 1 + pick(&t->more, 10), few = pick(&t->more, 4);

	if (cls == 6 || pick(&t->more, 2))
		return false;
	text_add(t,
		 ", wred: {ecn: %s, kmin: %uKB, kmax: %uKB, pmax: %u%%}, ipcc: {interval: "
		 "%uus, few: %u, many: %u, min_gap: %uus}",
		 pick(&t->more, 2) ? "on" : "off", kmin_kb, kmin_kb + 1 + pick(&t->more, 60),
		 pick(&t->more, 101), 1 + pick(&t->more, 20), few, few + 1 + pick(&t->more, 64),
		 pick(&t->more, 50));
	return true;
}

static void pairs(struct text *t, const struct schedule_conf *c)
{
	(void)c;
	text_add(t, "pairs:\n");
	for (unsigned host = 0; host < NET_TRUNK; host++)
		text_add(t, "  - {from: 10.0.%u.%u, to: 10.0.100.%u, qp: %u, sender_qp: %u}\n",
			 net_of_host(host), NET_FIRST_ADDRESS + host, NET_FIRST_ADDRESS + NET_TRUNK,
			 NET_QP + host, NET_SENDER_QP + host);
}

// ----

// A row is written where one of its features is on.
static const struct {
	uint32_t features;
	void (*of_port)(struct text *t, unsigned port);
	void (*of_profile)(struct text *t); // of one with lossless classes
	bool (*of_class)(struct text *t, unsigned cls); // as keys_of_class
	void (*of_policy)(struct text *t, const struct schedule_conf *c);
} rows[] = {
	{1 << FEATURE_VXLAN | 1 << FEATURE_SVI, .of_port = vlan_of_port, .of_policy = vlans},
	{1 << FEATURE_VXLAN, .of_policy = vxlan},
	{1 << FEATURE_STORM_CONTROL, .of_port = storm_control},
	{1 << FEATURE_LOOP_DETECT, .of_port = loop_detect},
	{1 << FEATURE_STICKY, .of_port = sticky},
	{1 << FEATURE_GUARD, .of_port = guard},
	{1 << FEATURE_WATCHDOG, .of_profile = watchdog},
	{1 << FEATURE_IPCC, .of_class = ipcc, .of_policy = pairs},
};

enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

void keys_draw(struct text *t, const struct schedule_conf *c, const struct rng *rng)
{
	rng_init(&t->more, rng_mix(rng->state)); // others begin where rng stands
	t->on = c->together ? rng_next(&t->more) : 0;
}

void keys_of_port(struct text *t, unsigned port)
{
	for (unsigned i = 0; i < N_ROWS; i++)
		if ((t->on & rows[i].features) != 0 && rows[i].of_port != NULL)
			rows[i].of_port(t, port);
}

void keys_of_profile(struct text *t, uint8_t lossless)
{
	for (unsigned i = 0; lossless != 0 && i < N_ROWS; i++)
		if ((t->on & rows[i].features) != 0 && rows[i].of_profile != NULL)
			rows[i].of_profile(t);
}

bool keys_of_class(struct text *t, unsigned cls)
{
	bool has_wred = false;

	for (unsigned i = 0; i < N_ROWS; i++)
		if ((t->on & rows[i].features) != 0 && rows[i].of_class != NULL)
			has_wred |= rows[i].of_class(t, cls);
	return has_wred;
}

void keys_of_policy(struct text *t, const struct schedule_conf *c)
{
	for (unsigned i = 0; i < N_ROWS; i++)
		if ((t->on & rows[i].features) != 0 && rows[i].of_policy != NULL)
			rows[i].of_policy(t, c);
}
