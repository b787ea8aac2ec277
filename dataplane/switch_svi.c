// SPDX-License-Identifier: Apache-2.0
// Control's side of SVIs (svi.h): their numbers, which are up, and frames of control into their
// VLANs.
#include "dataplane/forward/bridge.h"
#include "dataplane/svi.h"

enum { TAG_LEN = 4, TPID_8021Q = 0x8100 };

static bool carries(const struct weir_switch *sw, unsigned port, unsigned vid)
{
	return !sw->policy_mem->ports[port].routed && bridge_member(sw->policy_mem, port, vid) &&
	       switch_link_up(sw, port);
}

// ---- numbers

// The first place that neither policy has; where there is none, one that the next one has not.
static uint8_t first_free_svi(const bool taken[POLICY_MAX_SVIS], const bool held[POLICY_MAX_SVIS])
{
	uint8_t i = 0;

	while (i < POLICY_MAX_SVIS && (taken[i] || held[i]))
		i++;
	for (i %= POLICY_MAX_SVIS; taken[i]; i++)
		;
	return i;
}

// The place of each SVI of the policy: that of its VLAN in the running policy, else a free one.
static void places(const struct policy *running, const struct policy *next,
		   uint8_t place[POLICY_MAX_SVIS])
{
	// A place of the running policy waits for the policy after the next: until then there are
	// neighbours with its number.
	bool taken[POLICY_MAX_SVIS] = {false}, held[POLICY_MAX_SVIS] = {false};

	for (unsigned i = 0; i < running->n_svis; i++)
		held[i] = running->svis[i].vid != 0;
	for (unsigned i = 0; i < next->n_svis; i++) {
		port_no_t no = policy_svi_of(running, next->svis[i].vid);

		place[i] = no == 0 ? UINT8_MAX : (uint8_t)(no - IFACE_SVI);
		if (no != 0)
			taken[place[i]] = true;
	}
	for (unsigned i = 0; i < next->n_svis; i++) {
		if (place[i] != UINT8_MAX || next->svis[i].vid == 0)
			continue;
		place[i] = first_free_svi(taken, held);
		taken[place[i]] = true;
	}
}

static void renumber(port_no_t *no, const uint8_t place[POLICY_MAX_SVIS])
{
	if (*no >= IFACE_SVI && *no < N_IFACES) // else PORT_NONE
		*no = (port_no_t)(IFACE_SVI + place[*no - IFACE_SVI]);
}

void svis_keep_numbers(const struct policy *running, struct policy *next)
{
	uint8_t place[POLICY_MAX_SVIS];
	unsigned n = next->n_svis;
	struct policy_svi from[POLICY_MAX_SVIS];

	if (n == 0 || next->table != NULL) // none, or done before the table was made
		return;
	places(running, next, place);
	memcpy(from, next->svis, n * sizeof(*from));
	memset(next->svis, 0, POLICY_MAX_SVIS * sizeof(*next->svis));
	next->n_svis = 0;
	for (unsigned i = 0; i < n; i++) {
		if (from[i].vid == 0)
			continue;
		next->svis[place[i]] = from[i];
		next->svi_of_vlan[from[i].vid] = (port_no_t)(IFACE_SVI + place[i]);
		if (place[i] >= next->n_svis)
			next->n_svis = place[i] + 1u;
	}
	for (uint32_t i = 0; i < next->routes.n_nexthops; i++)
		renumber(&next->routes.nexthops[i].port, place);
	for (uint32_t i = 0; i < next->routes.n_neighbours; i++)
		renumber(&next->routes.neighbours[i].port, place);
}

// ---- links

void svis_links(struct weir_switch *sw)
{
	const struct policy *p = sw->policy_mem;

	for (unsigned i = 0; i < p->n_svis; i++) {
		bool down = true;

		if (p->svis[i].vid == 0)
			continue;
		for (unsigned port = 0; down && port < sw->n_ports; port++)
			down = !carries(sw, port, p->svis[i].vid);
		atomic_store(&sw->want.down[IFACE_SVI + i], down);
	}
}

// ---- frames of control

// The PCP is that of a bridged frame of this class.
static uint8_t pcp_of(const struct policy_port *port, const struct control_frame *f)
{
	struct pkt_info pkt;
	uint8_t cls;

	if (!parse(f->bytes, f->len, &pkt))
		return 0;
	cls = classify(&port->classify, &pkt).cls;
	return port->classify.remark_pcp[cls] != REMARK_NONE ? port->classify.remark_pcp[cls] : cls;
}

static bool send_by(struct weir_switch *sw, unsigned port, unsigned vid,
		    const struct control_frame *f, enum send_kind kind)
{
	const struct policy_port *pp = &sw->policy_mem->ports[port];
	bool tagged = vlan_bit(pp->vlan.tagged, vid);
	unsigned macs = 2 * ETH_ALEN_, tag = tagged ? TAG_LEN : 0;
	struct control_frame copy;

	if (f->len + tag > CONTROL_FRAME_MAX)
		return false;
	copy.port = (port_no_t)port;
	copy.reason = 0;
	copy.len = (uint16_t)(f->len + tag);
	memcpy(copy.bytes, f->bytes, macs);
	if (tagged) {
		be16_put(copy.bytes + macs, TPID_8021Q);
		be16_put(copy.bytes + macs + 2,
			 (uint16_t)((unsigned)pcp_of(pp, f) << TCI_PCP_SHIFT | vid));
	}
	memcpy(copy.bytes + macs + tag, f->bytes + macs, f->len - macs);
	return switch_send(sw, &copy, kind);
}

bool svi_send(struct weir_switch *sw, const struct control_frame *f, enum send_kind kind)
{
	const struct policy *p = sw->policy_mem;
	const struct fdb_entry *e = NULL;
	bool all = true;
	unsigned vid;

	if (policy_svi(p, f->port) == NULL || f->len < ETH_HLEN_)
		return false;
	vid = policy_svi(p, f->port)->vid;
	if (!(f->bytes[0] & 1))
		e = fdb_find(&sw->fdb, fdb_key(f->bytes, (uint16_t)vid));
	for (unsigned port = 0; port < sw->n_ports; port++)
		if (carries(sw, port, vid) && (e == NULL || e->port == port))
			all &= send_by(sw, port, vid, f, kind);
	return all;
}
