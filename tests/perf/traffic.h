// SPDX-License-Identifier: Apache-2.0
// The traffic of the benchmark: RoCEv2 frames with a valid iCRC, written to pcap files that a
// net_pcap port plays without end. Frame i of a port belongs to flow i: addresses of IP, UDP source
// port and queue pair are its own. All frames are SEND Only of class 3 (DSCP 26), ECT(0).
//
// Called by the main thread before anything is measured. Needs no EAL.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TRAFFIC_MIN_FRAME = 74, // Ethernet, IPv4, UDP, BTH, 16 bytes, iCRC; without FCS
	TRAFFIC_SHORT_FRAME = 1514, // the longest of a port's default MTU
	TRAFFIC_MAX_FRAME = 9230, // of an MTU of 9,216
	TRAFFIC_MAX_FLOWS = 65536,
	TRAFFIC_MAX_MACS = 4096,
	TRAFFIC_DSCP = 26,
	TRAFFIC_VNI = 1,
};

struct traffic {
	uint32_t frame_bytes; // without FCS, TRAFFIC_MIN_FRAME..TRAFFIC_MAX_FRAME
	uint32_t n_flows; // distinct frames of a port
	uint32_t n_macs; // hosts behind each port
	uint32_t apart; // port N sends to port N + apart, of all ports in a circle
	bool responses; // the middle of READ responses, else SENDs
	bool tunnels; // what odd ports receive is in VXLAN tunnels
	bool routed; // to the MAC address of the port they arrive at
};

// Address of a net_pcap port, which that driver makes of the port's number.
void traffic_port_mac(unsigned port, uint8_t mac[6]);

// Address of host h behind a port.
void traffic_mac(unsigned port, uint32_t host, uint8_t mac[6]);

// IPv4 address of the host of a flow, host order. Hosts of a MAC address have many.
uint32_t traffic_ip(unsigned port, uint32_t flow);

// Writes frame i that port `from` receives and that must leave through port `to`.
void traffic_frame(const struct traffic *t, unsigned from, unsigned to, uint32_t i, uint8_t *out);

// One file DIR/pN.pcap for each port N. 0 or -errno.
__attribute__((warn_unused_result)) int traffic_write(const struct traffic *t, unsigned n_ports,
						      const char *dir);
