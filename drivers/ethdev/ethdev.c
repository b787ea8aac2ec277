// SPDX-License-Identifier: Apache-2.0
#include "drivers/ethdev/ethdev.h"

#include <errno.h>
#include <net/if.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "dataplane/base/counter.h"
#include "dataplane/base/units.h"
#include "dataplane/packet/wire.h"
#include "drivers/checksums.h"
#include "drivers/ethdev/hold.h"
#include "drivers/ethdev/inflight.h"
#include "drivers/ethdev/memif.h"
#include "drivers/ethdev/pci.h"
#include "drivers/ethdev/stale.h"

enum {
	TX_CONTROL_SPARE = 8, // descriptors only MAC control frames may use
	SHAPER_BURST_NS = 100 * US_NS,
	NAME_LEN = 64,
	DEVARGS_LEN = 512,
	VALUE_LEN = 256, // of one argument
};

struct ethdev_port {
	// ---- owner worker
	uint16_t id;
	bool tx_readable; // inflight is kept
	bool finish; // checksums that the sender left unfinished
	bool has_guest; // of vhost: there is a ring only while the guest is
	uint32_t max_frame;
	uint32_t tx_limit_bytes;
	struct inflight inflight;
	struct hold hold; // of memif servers, and of vhost for the depth
	ctr_t rx_bad; // chains and overlong frames, which the dataplane cannot take
	ctr_t sums_finished;

	// ---- control
	uint32_t rx_ring; // descriptors, as adjusted
	bool probed; // we plugged the device in, so we take it out
	bool started;
	bool is_vdev;
	struct memif_server *memif; // or NULL
	enum live_known pfc_rx, pfc_tx;
	struct rte_device *dev;
	bool watched;
	_Atomic bool gone; // written by EAL's interrupt thread
};

// What a driver does with PFC frames. REQUEST: it forwards MAC control frames on request.
enum pfc_rx { PFC_RX_NO, PFC_RX_YES, PFC_RX_REQUEST };
static const struct driver_trait {
	const char *driver;
	enum pfc_rx pfc_rx;
	bool pfc_tx;
} driver_traits[] = {
	{"net_e1000_em", PFC_RX_REQUEST, true}, {"net_e1000_igb", PFC_RX_REQUEST, true},
	{"net_igc", PFC_RX_REQUEST, true},	    {"net_ixgbe", PFC_RX_REQUEST, true},
	{"net_txgbe", PFC_RX_REQUEST, true},    {"net_ngbe", PFC_RX_REQUEST, true},
	{"net_dpaa", PFC_RX_REQUEST, true},	    {"net_i40e", PFC_RX_REQUEST, false},
	{"net_virtio", PFC_RX_YES, true},   {"net_vmxnet3", PFC_RX_YES, true},
	{"net_ena", PFC_RX_YES, true},	    {"", PFC_RX_NO, true}, // any other NIC: stays last
};
static const struct driver_trait vdev_trait = {"vdev", PFC_RX_YES, true};

struct opening {
	const char *given; // device and arguments
	const struct live_conf *conf;
	struct ethdev_port *port;
	struct rte_eth_dev_info info;
	char name[NAME_LEN]; // the device without its arguments
	char devargs[DEVARGS_LEN]; // with arguments that fit
	bool is_vdev;
	struct live_text *text;
};

// ---- DPDK's af_packet driver truncates, and counts as received, what is longer than a slot of its
// ring, and refuses a pool whose buffers are shorter than a slot: so the slot has to lie between
// the two, and only we know both

enum {
	SLOT_DEFAULT = 2048,
	SLOT_OVERHEAD = 66, // of a slot that no frame may use; measured
	SLOT_HEADER = 32, // what the driver takes off a slot when it checks the pool
	HEADROOM = 128,
	// Slots in steps of 128, 32 to a block: a block is then whole pages, as the kernel wants
	// it, and whole slots, as the driver wants it.
	SLOT_STEP = 128,
	SLOTS_PER_BLOCK = 32,
};

// The value of "key=" among comma-separated arguments, copied out. False: not there.
static bool devarg_value(const char *devargs, const char *key, char *out, size_t out_len)
{
	size_t key_len = strlen(key);
	const char *at = devargs;

	while ((at = strchr(at, ',')) != NULL) {
		at++;
		if (strncmp(at, key, key_len) == 0 && at[key_len] == '=') {
			snprintf(out, out_len, "%.*s", (int)strcspn(at + key_len + 1, ","),
				 at + key_len + 1);
			return true;
		}
	}
	return false;
}

// Copies the arguments without those of two keys, each of which ends with '='.
static void copy_without(const char *devargs, const char *const keys[2], char *out, size_t out_len)
{
	size_t used = 0;

	out[0] = '\0';
	while (*devargs != '\0') {
		size_t len = strcspn(devargs, ",");

		if (strncmp(devargs, keys[0], strlen(keys[0])) != 0 &&
		    strncmp(devargs, keys[1], strlen(keys[1])) != 0 && used + len + 1 < out_len)
			used += (size_t)snprintf(out + used, out_len - used, "%s%.*s",
						 used > 0 ? "," : "", (int)len, devargs);
		devargs += len + (devargs[len] == ',');
	}
}

// Many drivers return -1 for any reason, which is the value of -EPERM.
static const char *driver_error_text(int rc)
{
	return rc == -1 ? "the driver says no more than its own lines above" : strerror(-rc);
}

// Without an interface the driver itself refuses.
static int check_interface(const struct opening *o)
{
	char ifname[VALUE_LEN];
	struct ifreq ifr = {0};

	if (!devarg_value(o->given, "iface", ifname, sizeof(ifname)))
		return 0;
	if (live_ifreq(ifname, SIOCGIFMTU, &ifr) != 0)
		return live_refuse(
			o->text, -ENODEV,
			"%s: no such interface in this network namespace; `ip link` lists them",
			ifname);
	if ((uint32_t)ifr.ifr_mtu < o->conf->mtu)
		return live_refuse(
			o->text, -EMSGSIZE,
			"%s: its MTU is %d and the port needs %u; `ip link set dev %s mtu %u`",
			ifname, ifr.ifr_mtu, o->conf->mtu, ifname, o->conf->mtu);
	return 0;
}

// A guest with `tso=1` sends TCP segments of up to 64 KB as one frame, and no port receives these.
static int fit_vhost(const struct opening *o)
{
	char value[VALUE_LEN];

	if (strncmp(o->given, "net_vhost", strlen("net_vhost")) != 0)
		return 0;
	if (devarg_value(o->given, "tso", value, sizeof(value)) && strcmp(value, "0") != 0)
		return live_refuse(o->text, -EINVAL,
				   "tso=%s lets the guest send frames that are longer than the "
				   "port receives; leave it out",
				   value);
	if (devarg_value(o->given, "iface", value, sizeof(value)) &&
	    strstr(o->given, "client=1") == NULL)
		stale_socket_remove(value, SOCK_STREAM);
	return 0;
}

// Any other driver's arguments are copied as they are.
static int fit_devargs(struct opening *o)
{
	static const char *const layout[] = {"framesz=", "blocksz="};
	uint32_t shortest = o->conf->max_frame + SLOT_OVERHEAD, slot = SLOT_DEFAULT;
	uint32_t longest = rte_pktmbuf_data_room_size(o->conf->pool) - HEADROOM + SLOT_HEADER;
	uint32_t step = (shortest + SLOT_STEP - 1) / SLOT_STEP * SLOT_STEP;
	char value[VALUE_LEN];
	bool given;
	int rc;

	snprintf(o->devargs, sizeof(o->devargs), "%s%s", o->name,
		 o->given + strcspn(o->given, ","));
	if (strncmp(o->given, "net_af_packet", strlen("net_af_packet")) != 0)
		return fit_vhost(o);
	rc = check_interface(o);
	if (rc != 0)
		return rc;
	given = devarg_value(o->given, "framesz", value, sizeof(value));
	if (given)
		slot = (uint32_t)strtoul(value, NULL, 10);
	if (given && slot < shortest)
		return live_refuse(o->text, -EMSGSIZE,
				   "framesz=%u would truncate frames of %u bytes; write "
				   "framesz=%u,blocksz=%u or leave it out",
				   slot, o->conf->max_frame, step, step * SLOTS_PER_BLOCK);
	if (slot >= shortest && slot <= longest)
		return 0;
	copy_without(o->given, layout, value, sizeof(value));
	snprintf(o->devargs, sizeof(o->devargs), "%s,blocksz=%u,framesz=%u", value,
		 step * SLOTS_PER_BLOCK, step);
	return 0;
}

// ---- guests of vhost

// In the thread of DPDK's vhost, after a guest has come and before its memory is unmapped.
static int guest_changed(uint16_t id, enum rte_eth_event_type event, void *arg, void *unused)
{
	struct ethdev_port *p = arg;
	struct rte_eth_link link = {0};

	(void)event;
	(void)unused;
	if (rte_eth_link_get_nowait(id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP)
		hold_clear(&p->hold);
	else
		hold_set(&p->hold);
	return 0;
}

static int watch_guest(struct opening *o)
{
	struct ethdev_port *p = o->port;
	int rc;

	p->has_guest = strcmp(o->info.driver_name, "net_vhost") == 0;
	if (!p->has_guest)
		return 0;
	hold_set(&p->hold);
	rc = rte_eth_dev_callback_register(p->id, RTE_ETH_EVENT_INTR_LSC, guest_changed, p);
	return rc == 0 ? 0
		       : live_refuse(o->text, rc, "%s: DPDK does not report its guests: %s",
				     o->name, strerror(-rc));
}

// ---- devices of the PCI bus that are taken away

// In EAL's interrupt thread. With vfio-pci the kernel waits until the port is closed. With
// uio_pci_generic the device is gone already: DPDK has put memory in the place of its registers.
static void device_removed(const char *name, enum rte_dev_event_type event, void *arg)
{
	struct ethdev_port *p = arg;

	(void)name;
	if (event == RTE_DEV_EVENT_REMOVE)
		atomic_store_explicit(&p->gone, true, memory_order_relaxed);
}

static int watch_removal(struct opening *o)
{
	struct ethdev_port *p = o->port;
	int rc;

	rc = rte_dev_event_callback_register(rte_dev_name(p->dev), device_removed, p);
	p->watched = rc == 0;
	if (rc == 0 && pci_needs_physical(o->name))
		rc = rte_dev_event_monitor_start() != 0 ? -EIO : rte_dev_hotplug_handle_enable();
	return rc == 0 ? 0
		       : live_refuse(o->text, rc, "%s: DPDK does not report its removal: %s",
				     o->name, strerror(-rc));
}

static bool ethdev_gone(void *drv)
{
	struct ethdev_port *p = drv;

	return atomic_load_explicit(&p->gone, memory_order_relaxed);
}

// ---- memif servers

static const char memif_default_socket[] = "/run/memif.sock"; // an abstract name, as in the driver

static bool is_memif_server(const char *devargs)
{
	char role[VALUE_LEN];

	return strncmp(devargs, "net_memif", strlen("net_memif")) == 0 &&
	       devarg_value(devargs, "role", role, sizeof(role)) &&
	       (strcmp(role, "server") == 0 || strcmp(role, "master") == 0);
}

// The driver gets a socket of its own (memif.h).
static int open_memif(struct opening *o)
{
	static const char *const replaced[] = {"socket=", "socket-abstract="};
	char name[VALUE_LEN], abstract[VALUE_LEN], inner[NAME_LEN], rest[DEVARGS_LEN];
	bool is_path;

	if (!is_memif_server(o->given))
		return 0;
	if (!devarg_value(o->given, "socket", name, sizeof(name)))
		snprintf(name, sizeof(name), "%s", memif_default_socket);
	is_path = devarg_value(o->given, "socket-abstract", abstract, sizeof(abstract)) &&
		  strcmp(abstract, "no") == 0;
	snprintf(inner, sizeof(inner), "weir-%d-%.32s", (int)getpid(), o->name);
	copy_without(o->given, replaced, rest, sizeof(rest));
	snprintf(o->devargs, sizeof(o->devargs), "%.*s,socket=%s",
		 (int)(sizeof(o->devargs) - sizeof(inner) - sizeof(",socket=")), rest, inner);
	return memif_server_open(name, !is_path, inner, &o->port->memif, o->text);
}

static int start_memif(struct opening *o)
{
	int rc = o->port->memif == NULL ? 0 : memif_server_start(o->port->memif, &o->port->hold);

	return rc == 0 ? 0
		       : live_refuse(o->text, rc, "%s: no thread can be started: %s", o->name,
				     strerror(-rc));
}

// ---- plugging in

static const char *probe_cure(const struct opening *o)
{
	if (!pci_needs_physical(o->name))
		return "for pci: bind it to vfio-pci, for vdev: check its arguments";
	return o->conf->no_wait ? "with a uio driver a card that comes back needs `weir "
				  "--keep-privileges`; bind it to vfio-pci"
				: "a uio driver needs root; bind it to vfio-pci";
}

static int probe(struct opening *o)
{
	struct ethdev_port *p = o->port;
	int rc;

	if (rte_eth_dev_get_port_by_name(o->name, &p->id) != 0) {
		rc = rte_dev_probe(o->devargs);
		if (rc != 0)
			return live_refuse(
				o->text, rc,
				"%s: DPDK finds no such device or no driver for it: %s; %s",
				o->given, driver_error_text(rc), probe_cure(o));
		p->probed = true;
		if (rte_eth_dev_get_port_by_name(o->name, &p->id) != 0)
			return live_refuse(o->text, -ENODEV, "%s: the device is no Ethernet port",
					   o->name);
	}
	rc = rte_eth_dev_info_get(p->id, &o->info);
	if (rc != 0)
		return live_refuse(o->text, rc, "%s: the driver does not describe it: %s", o->name,
				   driver_error_text(rc));
	p->dev = o->info.device;
	o->is_vdev = strcmp(rte_bus_name(rte_dev_bus(p->dev)), "vdev") == 0;
	return 0;
}

// A descriptor's state is exact only when the NIC reports each one; drivers that cannot are set up
// with their own defaults. mlx5 counts the offset from the other end and is left out.
static int setup_tx(struct opening *o, uint16_t n)
{
	struct ethdev_port *p = o->port;
	struct rte_eth_txconf each = o->info.default_txconf;
	int socket = rte_eth_dev_socket_id(p->id);
	unsigned node = socket < 0 ? 0 : (unsigned)socket;

	each.tx_rs_thresh = 1;
	each.tx_free_thresh = n / 4;
	p->inflight.size = n;
	p->tx_readable = !o->is_vdev && n <= INFLIGHT_MAX &&
			 strncmp(o->info.driver_name, "mlx", 3) != 0 &&
			 rte_eth_tx_queue_setup(p->id, 0, n, node, &each) == 0;
	return p->tx_readable ? 0 : rte_eth_tx_queue_setup(p->id, 0, n, node, NULL);
}

static int setup_queues(struct opening *o)
{
	struct ethdev_port *p = o->port;
	uint16_t n_rx = ethdev_rx_ring(o->conf->rx_ring);
	uint16_t n_tx = ethdev_tx_ring(o->conf->tx_ring_bytes);
	int socket = rte_eth_dev_socket_id(p->id);
	int rc = rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &n_rx, &n_tx);

	if (rc == 0)
		rc = rte_eth_rx_queue_setup(p->id, 0, n_rx, socket < 0 ? 0 : (unsigned)socket, NULL,
					    o->conf->pool);
	if (rc == 0)
		rc = setup_tx(o, n_tx);
	p->rx_ring = n_rx;
	return rc;
}

// Virtual devices often cannot set an MTU and carry any length all the same.
static int set_mtu(const struct opening *o)
{
	uint32_t mtu = o->conf->mtu;
	int rc;

	if (!o->is_vdev && mtu > o->info.max_mtu)
		return live_refuse(o->text, -EMSGSIZE, "%s: the NIC's largest MTU is %u, not %u",
				   o->name, o->info.max_mtu, mtu);
	rc = rte_eth_dev_set_mtu(o->port->id, (uint16_t)mtu);
	if (rc != 0 && !o->is_vdev)
		return live_refuse(o->text, rc, "%s: the NIC does not take an MTU of %u: %s",
				   o->name, mtu, driver_error_text(rc));
	return 0;
}

static int configure(struct opening *o)
{
	const struct rte_eth_conf conf = {0};
	struct ethdev_port *p = o->port;
	int rc = rte_eth_dev_configure(p->id, 1, 1, &conf);

	if (rc == 0)
		rc = setup_queues(o);
	if (rc != 0)
		return live_refuse(o->text, rc, "%s: the driver refuses one queue each way: %s",
				   o->name, driver_error_text(rc));
	rc = set_mtu(o);
	if (rc != 0)
		return rc;
	rc = rte_eth_dev_start(p->id);
	if (rc != 0)
		return live_refuse(o->text, rc, "%s: the port does not start: %s", o->name,
				   driver_error_text(rc));
	p->started = true;
	rc = rte_eth_promiscuous_enable(p->id);
	if (rc != 0 && rc != -ENOTSUP)
		live_note(o->text,
			  "%s: promiscuous mode failed (%s); only frames to its own MAC arrive\n",
			  o->name, driver_error_text(rc));
	return 0;
}

// ---- what the port can do

static bool forward_mac_control(uint16_t id)
{
	struct rte_eth_fc_conf fc = {0};

	if (rte_eth_dev_flow_ctrl_get(id, &fc) != 0)
		return false;
	fc.mode = RTE_ETH_FC_NONE;
	fc.mac_ctrl_frame_fwd = 1;
	return rte_eth_dev_flow_ctrl_set(id, &fc) == 0;
}

static const struct driver_trait *traits_of(const struct opening *o)
{
	const struct driver_trait *t = driver_traits;

	if (o->is_vdev)
		return &vdev_trait;
	while (t->driver[0] != '\0' && strcmp(t->driver, o->info.driver_name) != 0)
		t++;
	return t;
}

// Devices behind which a kernel or a virtual machine hands frames over as they lie in memory.
static bool leaves_unfinished(const char *driver)
{
	static const char *const drivers[] = {"net_af_packet", "net_af_xdp", "net_vhost",
					      "net_virtio_user"};

	for (unsigned i = 0; i < RTE_DIM(drivers); i++)
		if (strcmp(driver, drivers[i]) == 0)
			return true;
	return false;
}

static void pfc_facts(const struct opening *o, struct port_facts *facts)
{
	const struct driver_trait *t = traits_of(o);
	const char *driver = o->info.driver_name;

	o->port->is_vdev = o->is_vdev;
	o->port->finish = leaves_unfinished(driver);
	facts->pfc_tx = t->pfc_tx;
	facts->pfc_rx = t->pfc_rx == PFC_RX_YES ||
			(t->pfc_rx == PFC_RX_REQUEST && forward_mac_control(o->port->id));
	if (t->driver[0] != '\0') {
		o->port->pfc_rx = facts->pfc_rx ? LIVE_YES : LIVE_NO;
		o->port->pfc_tx = facts->pfc_tx ? LIVE_YES : LIVE_NO;
	}
	live_note_pfc(o->text, o->name, driver, facts->pfc_rx, facts->pfc_tx);
}

static bool ethdev_link_up(void *drv)
{
	const struct ethdev_port *p = drv;
	struct rte_eth_link link = {0};

	return !atomic_load_explicit(&p->gone, memory_order_relaxed) &&
	       rte_eth_link_get_nowait(p->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

// DPDK's vhost reads the guest's ring without looking whether the guest is there.
static int32_t guest_depth(struct ethdev_port *p)
{
	int32_t depth;

	if (!hold_begin(&p->hold))
		return 0;
	depth = rte_eth_rx_queue_count(p->id, 0);
	hold_end(&p->hold);
	return depth;
}

static int32_t ethdev_rx_depth(void *drv)
{
	struct ethdev_port *p = drv;

	return unlikely(p->has_guest) ? guest_depth(p) : rte_eth_rx_queue_count(p->id, 0);
}

static uint64_t link_speed(const struct opening *o)
{
	struct rte_eth_link link = {0};
	int rc;

	if (o->is_vdev)
		return 0;
	rc = o->conf->no_wait ? rte_eth_link_get_nowait(o->port->id, &link)
			      : rte_eth_link_get(o->port->id, &link);
	if (rc != 0 || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
		return 0;
	return link.link_speed * 1000000ull;
}

static void fill_facts(const struct opening *o, struct port_facts *facts)
{
	struct ethdev_port *p = o->port;
	struct rte_ether_addr mac = {0};

	// A MAC of zeros stays where the driver has none; the port still works.
	if (rte_eth_macaddr_get(p->id, &mac) != 0)
		live_note(o->text, "%s: the driver reports no MAC address\n", o->name);
	p->tx_readable = p->tx_readable && rte_eth_tx_descriptor_status(p->id, 0, 0) >= 0;
	*facts = (struct port_facts){
		.speed_bps = link_speed(o),
		.max_frame = o->conf->max_frame,
		.rx_ring = p->rx_ring,
		.tx_ring_bytes = p->tx_readable ? RTE_MAX(p->tx_limit_bytes, p->max_frame)
			       : o->is_vdev ? p->max_frame // sends within tx()
					    : p->inflight.size * p->max_frame,
		.shaper_burst_ns = SHAPER_BURST_NS,
		.rx_depth_readable = ethdev_rx_depth(p) >= 0,
	};
	memcpy(facts->mac, mac.addr_bytes, sizeof(facts->mac));
	pfc_facts(o, facts);
	if (!facts->rx_depth_readable)
		live_note(o->text,
			  "%s: the driver does not report how full its receive ring is, so the "
			  "receive-ring guard is off\n",
			  o->name);
}

// ---- owner worker

// net_e1000_em knows buffers of 8192 and of 16384 bytes and none between, and hands a frame that is
// longer than the first in two.
static bool join_pieces(const struct ethdev_port *p, struct rte_mbuf *m)
{
	return m->pkt_len <= p->max_frame && rte_pktmbuf_linearize(m) == 0;
}

static uint16_t ethdev_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct ethdev_port *p = drv;
	uint16_t got = rte_eth_rx_burst(p->id, 0, pkts, n), kept = 0;

	for (uint16_t i = 0; i < got; i++) {
		if (likely(pkts[i]->nb_segs == 1 && pkts[i]->pkt_len <= p->max_frame) ||
		    join_pieces(p, pkts[i])) {
			pkts[kept++] = pkts[i];
			continue;
		}
		rte_pktmbuf_free(pkts[i]);
		ctr_add(&p->rx_bad, 1);
	}
	if (p->finish)
		ctr_add(&p->sums_finished, checksums_finish(pkts, kept));
	return kept;
}

static void reap(struct ethdev_port *p)
{
	struct inflight *f = &p->inflight;

	while (inflight_frames(f) > 0 &&
	       rte_eth_tx_descriptor_status(p->id, 0, inflight_oldest_offset(f)) !=
		       RTE_ETH_TX_DESC_FULL)
		inflight_pop(f);
}

static int32_t ethdev_tx_room(void *drv)
{
	struct ethdev_port *p = drv;
	const struct inflight *f = &p->inflight;

	if (!p->tx_readable)
		return PORT_ROOM_ANY;
	reap(p);
	if (f->bytes == 0)
		return (int32_t)RTE_MAX(p->tx_limit_bytes, p->max_frame);
	if (f->bytes >= p->tx_limit_bytes || inflight_frames(f) + TX_CONTROL_SPARE >= f->size)
		return 0;
	return (int32_t)(p->tx_limit_bytes - f->bytes);
}

static bool is_mac_control(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod(m, const struct rte_ether_hdr *)->ether_type ==
	       RTE_BE16(ETYPE_MAC_CONTROL);
}

// Sends as many of the frames, in order, as the ring has descriptors for. Lengths are taken down
// before the burst: a frame sent may be gone when it returns.
static uint16_t ethdev_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct ethdev_port *p = drv;
	uint16_t lens[INFLIGHT_MAX], fit = 0, sent;
	uint32_t used;

	if (!p->tx_readable)
		return rte_eth_tx_burst(p->id, 0, pkts, n);
	reap(p);
	used = inflight_frames(&p->inflight);
	for (; fit < n; fit++) {
		uint32_t spare = is_mac_control(pkts[fit]) ? 1 : TX_CONTROL_SPARE;

		if (used + fit + spare >= p->inflight.size)
			break;
		lens[fit] = (uint16_t)pkts[fit]->pkt_len;
	}
	sent = rte_eth_tx_burst(p->id, 0, pkts, fit);
	for (uint16_t i = 0; i < sent; i++)
		inflight_push(&p->inflight, lens[i]);
	return sent;
}

static uint32_t ethdev_tx_pending(void *drv)
{
	struct ethdev_port *p = drv;

	if (!p->tx_readable)
		return 0;
	reap(p);
	return p->inflight.bytes;
}

// ---- owner worker of a memif server

static uint16_t memif_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct ethdev_port *p = drv;
	uint16_t got;

	if (!hold_begin(&p->hold))
		return 0;
	got = ethdev_rx(drv, pkts, n);
	hold_end(&p->hold);
	return got;
}

static uint16_t memif_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct ethdev_port *p = drv;
	uint16_t sent;

	if (!hold_begin(&p->hold))
		return 0;
	sent = ethdev_tx(drv, pkts, n);
	hold_end(&p->hold);
	return sent;
}

// ---- control

// The rows of one device stay the same: `finish` is set when it is opened. With the lost ones as in
// ethdev_stats().
static unsigned ethdev_reasons(void *drv, struct port_reason *out, unsigned n)
{
	const struct ethdev_port *p = drv;
	struct rte_eth_stats st = {0};
	unsigned i = 0;

	(void)rte_eth_stats_get(p->id, &st);
	const struct port_reason rows[] = {
		{"sums_finished",
		 "TCP and UDP checksums that a virtual sender left unfinished, and that were "
		 "finished",
		 false, ctr_get(&p->sums_finished)},
		{p->finish ? PORT_REASON_MERGED : "too_long",
		 p->finish ? "frames longer than the port receives: a kernel or a guest behind it "
			     "merges TCP segments; `ethtool -K DEVICE tso off gso off` there"
			   : "frames longer than the port receives",
		 true, ctr_get(&p->rx_bad)},
		{"no_buffer", "frames lost for want of a free buffer", true, st.rx_nombuf},
		{"nic_missed", "frames that the device lost for want of buffers", true, st.imissed},
	};

	for (; i < n && i < RTE_DIM(rows); i++)
		out[i] = rows[i];
	return i;
}

static void ethdev_stats(void *drv, struct port_drv_stats *out)
{
	struct ethdev_port *p = drv;
	struct rte_eth_stats st = {0};

	(void)rte_eth_stats_get(p->id, &st);
	*out = (struct port_drv_stats){
		.rx_missed = st.imissed + st.rx_nombuf + ctr_get(&p->rx_bad),
		.tx_errors = st.oerrors,
	};
}

static const struct port_ops ethdev_ops = {
	.rx = ethdev_rx,
	.rx_depth = ethdev_rx_depth,
	.tx_room = ethdev_tx_room,
	.tx = ethdev_tx,
	.tx_pending = ethdev_tx_pending,
	.stats = ethdev_stats,
	.link_up = ethdev_link_up,
	.gone = ethdev_gone,
	.reasons = ethdev_reasons,
};

static const struct port_ops memif_ops = {
	.rx = memif_rx,
	.rx_depth = ethdev_rx_depth,
	.tx_room = ethdev_tx_room,
	.tx = memif_tx,
	.tx_pending = ethdev_tx_pending,
	.stats = ethdev_stats,
	.link_up = ethdev_link_up,
	.reasons = ethdev_reasons,
};

// ---- open and close

static void ethdev_info(void *drv, struct live_info *out)
{
	const struct ethdev_port *p = drv;
	struct rte_eth_dev_info info = {0};
	uint16_t mtu = 0;

	*out = (struct live_info){
		.has_rate = !p->is_vdev, .pfc_rx = p->pfc_rx, .pfc_tx = p->pfc_tx};
	if (rte_eth_dev_info_get(p->id, &info) == 0) {
		snprintf(out->driver, sizeof(out->driver), "%s", info.driver_name);
		out->mtu_max = p->is_vdev ? 0 : info.max_mtu;
	}
	if (rte_eth_dev_get_mtu(p->id, &mtu) == 0)
		out->mtu = mtu;
}

static void ethdev_close(void *drv)
{
	struct ethdev_port *p = drv;

	memif_server_close(p->memif);
	if (p->started)
		(void)rte_eth_dev_stop(p->id);
	while (p->has_guest && rte_eth_dev_callback_unregister(p->id, RTE_ETH_EVENT_INTR_LSC,
							       guest_changed, p) == -EAGAIN)
		sched_yield();
	while (p->watched && rte_dev_event_callback_unregister(rte_dev_name(p->dev), device_removed,
							       p) == -EAGAIN)
		sched_yield();
	if (p->dev != NULL)
		(void)rte_eth_dev_close(p->id);
	if (p->probed && p->dev != NULL)
		(void)rte_dev_remove(p->dev);
	free(p);
}

int ethdev_open(const char *devargs, const struct live_conf *conf, struct live_port *out,
		struct live_text *text)
{
	static int (*const steps[])(struct opening * o) = {fit_devargs, open_memif, probe,
							   watch_guest, watch_removal, configure,
							   start_memif};
	struct opening o = {.given = devargs, .conf = conf, .text = text};
	int rc = 0;

	if (!pci_name(devargs, o.name))
		snprintf(o.name, sizeof(o.name), "%.*s", (int)strcspn(devargs, ","), devargs);
	o.port = calloc(1, sizeof(*o.port));
	if (o.port == NULL)
		return live_refuse(text, -ENOMEM, "%s: out of memory", o.name);
	o.port->max_frame = conf->max_frame;
	o.port->tx_limit_bytes =
		conf->tx_ring_bytes != 0 ? conf->tx_ring_bytes : ETHDEV_TX_BYTES_DEFAULT;
	for (size_t i = 0; i < RTE_DIM(steps) && rc == 0; i++)
		rc = steps[i](&o);
	if (rc != 0) {
		ethdev_close(o.port);
		return rc;
	}
	*out = (struct live_port){.ops = o.port->memif != NULL ? &memif_ops : &ethdev_ops,
				  .drv = o.port,
				  .close = ethdev_close,
				  .info = ethdev_info};
	fill_facts(&o, &out->facts);
	return 0;
}
