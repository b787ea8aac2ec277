// SPDX-License-Identifier: Apache-2.0
// Control's side of SVIs (svi.h): which are up, and frames of control into their VLANs.
#include "dataplane/forward/bridge.h"
#include "dataplane/svi.h"

enum { TAG_LEN = 4, TPID_8021Q = 0x8100 };

static bool carries(const struct weir_switch *sw, unsigned port, unsigned vid)
{
	return !sw->policy_mem->ports[port].routed && bridge_member(sw->policy_mem, port, vid) &&
	       switch_link_up(sw, port);
}

void svis_links(struct weir_switch *sw)
{
	const struct policy *p = sw->policy_mem;

	for (unsigned i = 0; i < p->n_svis; i++) {
		bool down = true;

		for (unsigned port = 0; down && port < sw->n_ports; port++)
			down = !carries(sw, port, p->svis[i].vid);
		atomic_store(&sw->want.down[IFACE_SVI + i], down);
	}
}

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
	copy.port = (uint8_t)port;
	copy.reason = 0;
	copy.len = (uint16_t)(f->len + tag);
	memcpy(copy.bytes, f->bytes, macs);
	if (tagged) {
		be16_put(copy.bytes + macs, TPID_8021Q);
		be16_put(copy.bytes + macs + 2,
			 (uint16_t)(pcp_of(pp, f) << TCI_PCP_SHIFT | vid));
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

	if (f->port >= IFACE_SVI + p->n_svis || f->len < ETH_HLEN_)
		return false;
	vid = p->svis[f->port - IFACE_SVI].vid;
	if (!(f->bytes[0] & 1))
		e = fdb_find(&sw->fdb, fdb_key(f->bytes, (uint16_t)vid));
	for (unsigned port = 0; port < sw->n_ports; port++)
		if (carries(sw, port, vid) && (e == NULL || e->port == port))
			all &= send_by(sw, port, vid, f, kind);
	return all;
}
