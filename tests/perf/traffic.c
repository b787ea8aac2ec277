// SPDX-License-Identifier: Apache-2.0
#include "tests/perf/traffic.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "dataplane/packet/edit.h"
#include "dataplane/packet/icrc.h"
#include "dataplane/packet/vxlan.h"
#include "dataplane/packet/wire.h"

enum {
	ECT0 = 2,
	SPORT_FIRST = 49152,
	SPORTS = 16384,
	HEADERS = sizeof(struct eth_hdr) + sizeof(struct ipv4_hdr) + sizeof(struct udp_hdr) +
		  sizeof(struct bth_hdr),
};

void traffic_mac(unsigned port, uint32_t host, uint8_t mac[6])
{
	const uint8_t m[6] = {0x02, 0, (uint8_t)(port + 1), 0, (uint8_t)(host >> 8), (uint8_t)host};

	memcpy(mac, m, sizeof(m));
}

void traffic_port_mac(unsigned port, uint8_t mac[6])
{
	const uint8_t m[6] = {0x02, 'p', 'c', 'a', 'p', (uint8_t)port};

	memcpy(mac, m, sizeof(m));
}

uint32_t traffic_ip(unsigned port, uint32_t flow)
{
	return 10u << 24 | (port + 1) << 16 | ((flow + 1) & 0xffff);
}

// One's complement sum of the header with a checksum of zero.
static uint16_t ipv4_csum(const struct ipv4_hdr *ip)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < sizeof(*ip); i += 2)
		sum += be16_get((const uint8_t *)ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void put_ip(struct ipv4_hdr *ip, uint32_t l3_bytes, uint32_t src, uint32_t dst)
{
	ip->ver_ihl = 0x45;
	ip->tos = TRAFFIC_DSCP << 2 | ECT0;
	be16_put(&ip->total_len, (uint16_t)l3_bytes);
	be16_put(&ip->frag, IPV4_DF);
	ip->ttl = 64;
	ip->proto = IP_PROTO_UDP;
	be32_put(&ip->src, src);
	be32_put(&ip->dst, dst);
	be16_put(&ip->csum, ipv4_csum(ip));
}

void traffic_frame(const struct traffic *t, unsigned from, unsigned to, uint32_t i, uint8_t *out)
{
	struct eth_hdr *eth = (void *)out;
	struct ipv4_hdr *ip = (void *)(eth + 1);
	struct udp_hdr *udp = (void *)(ip + 1);
	struct bth_hdr *bth = (void *)(udp + 1);
	uint32_t l3_bytes = t->frame_bytes - (uint32_t)sizeof(*eth);

	memset(out, 0, t->frame_bytes);
	if (t->routed)
		traffic_port_mac(from, eth->dst);
	else
		traffic_mac(to, i % t->n_macs, eth->dst);
	traffic_mac(from, i % t->n_macs, eth->src);
	be16_put(&eth->type, ETYPE_IPV4);
	put_ip(ip, l3_bytes, traffic_ip(from, i), traffic_ip(to, i));
	be16_put(&udp->sport, (uint16_t)(SPORT_FIRST + i % SPORTS));
	be16_put(&udp->dport, ROCE_UDP_PORT);
	be16_put(&udp->len, (uint16_t)(l3_bytes - sizeof(*ip)));
	bth->opcode = t->responses ? RC_READ_RESPONSE_MIDDLE : RC_SEND_ONLY;
	bth->flags = BTH_MIG;
	be16_put(&bth->pkey, BTH_PKEY_DEFAULT);
	be24_put(&bth->dest_qp, 0x100 + i);
	be24_put(&bth->psn, i);
	memset(bth + 1, 0x5a, t->frame_bytes - HEADERS - ROCE_ICRC_LEN);
	icrc_put(out + t->frame_bytes - ROCE_ICRC_LEN,
		 icrc((void *)ip, l3_bytes - ROCE_ICRC_LEN, PKT_IPV4));
}

// Puts the frame into the tunnel from the VTEP behind the port. Returns the length.
static uint32_t into_tunnel(const struct traffic *t, unsigned port, uint32_t i, uint8_t *frame)
{
	// As rig.c has them: the switch is .1 of the first odd port, each VTEP .2 of its own.
	const uint8_t src[] = {192, 168, (uint8_t)(port + 1), 2}, dst[] = {192, 168, 2, 1};
	struct vxlan_outer o = {.src = src, .dst = dst, .dscp = TRAFFIC_DSCP, .ecn = ECN_ECT0,
				.ttl = 64, .dport = VXLAN_UDP_PORT, .vni = TRAFFIC_VNI,
				.inner_len = t->frame_bytes};

	o.sport = (uint16_t)(VXLAN_LEAST_SPORT | i);
	memmove(frame + VXLAN_V4_LEN, frame, t->frame_bytes);
	vxlan_write(frame, &o);
	traffic_port_mac(port, frame);
	traffic_mac(port, 0, frame + ETH_ALEN_);
	return VXLAN_V4_LEN + t->frame_bytes;
}

// ---- pcap, the classic format in the machine's own byte order

struct pcap_file_hdr {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy, snaplen, link_type;
};
struct pcap_record_hdr {
	uint32_t sec, usec, captured, length;
};

static int write_frames(FILE *f, const struct traffic *t, unsigned port, unsigned to)
{
	const struct pcap_file_hdr hdr = {0xa1b2c3d4, 2, 4, 0, 0, 65535, 1};
	struct pcap_record_hdr rec = {0, 0, t->frame_bytes, t->frame_bytes};
	uint8_t frame[TRAFFIC_MAX_FRAME + VXLAN_V4_LEN];

	if (fwrite(&hdr, sizeof(hdr), 1, f) != 1)
		return -EIO;
	for (uint32_t i = 0; i < t->n_flows; i++) {
		traffic_frame(t, port, to, i, frame);
		if (t->tunnels && port % 2 != 0)
			rec.captured = rec.length = into_tunnel(t, port, i, frame);
		if (fwrite(&rec, sizeof(rec), 1, f) != 1 ||
		    fwrite(frame, rec.length, 1, f) != 1)
			return -EIO;
	}
	return 0;
}

int traffic_write(const struct traffic *t, unsigned n_ports, const char *dir)
{
	for (unsigned port = 0; port < n_ports; port++) {
		char path[PATH_MAX];
		FILE *f;
		int err;

		if (snprintf(path, sizeof(path), "%s/p%u.pcap", dir, port) >= PATH_MAX)
			return -ENAMETOOLONG;
		f = fopen(path, "we");
		if (f == NULL)
			return -errno;
		err = write_frames(f, t, port, (port + t->apart) % n_ports);
		if (fclose(f) != 0 && err == 0)
			err = -EIO;
		if (err != 0)
			return err;
	}
	return 0;
}
