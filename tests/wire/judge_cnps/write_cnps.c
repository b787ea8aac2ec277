// SPDX-License-Identifier: Apache-2.0
// Runs switches on the virtual clock until they have told the senders of a congested queue, and
// writes a capture file for other programs to judge: for each shape of flow, bridged and routed,
// one data frame of each sender as the switch received it, then all CNPs that this sender got.
//
// usage: write_cnps FILE
#include <stdio.h>
#include <stdlib.h>

#include "dataplane/packet/wire.h"
#include "tests/lab/ipcc_bench.h"

enum { C_TAG = ETYPE_VLAN, S_TAG = ETYPE_QINQ };
enum { TO = 2, FRAMES = 60, PCAP_MAGIC_NS = (int)0xa1b23c4d, LINKTYPE_ETHERNET = 1 };

static const struct ipcc_data flows[] = {
	{.to = TO, .qp = 1000},
	{.to = TO, .qp = 1001, .v6 = true, .sport = 4791},
	{.to = TO, .qp = 1002, .tags = {{C_TAG, 3 << 13 | 77}}, .pkey = 0x8002},
	{.to = TO, .qp = 1003, .v6 = true, .tags = {{C_TAG, 0x1000 | 4094}}, .sport = 65535},
	{.to = TO, .qp = 1000, .tags = {{S_TAG, 0x3000 | 100}}},
	{.to = TO, .qp = 1001, .v6 = true, .tags = {{S_TAG, 3 << 13 | 100}}},
	{.to = TO, .qp = 1002, .tags = {{S_TAG, 3 << 13 | 100}, {C_TAG, 0x7000 | 77}}},
	{.to = TO, .qp = 1003, .v6 = true, .tags = {{S_TAG, 0x1000 | 100}, {C_TAG, 4094}}},
	{.to = TO, .qp = 1000, .tags = {{C_TAG, 5}, {C_TAG, 0}}},
	{.to = TO, .qp = 1001, .v6 = true, .tags = {{C_TAG, 5}, {C_TAG, 6}}},
	{.to = TO, .qp = 1000, .routed = true},
	{.to = TO, .qp = 1001, .routed = true, .v6 = true, .pkey = 0x1234},
	{.to = TO, .qp = 1002, .routed = true, .tags = {{C_TAG, 3 << 13}}},
	{.to = TO, .qp = 1003, .routed = true, .tags = {{C_TAG, 3 << 13}}, .v6 = true},
};

static void put(FILE *out, const void *p, size_t n)
{
	if (fwrite(p, 1, n, out) != n) {
		perror("write_cnps");
		exit(1);
	}
}

static void put_frame(FILE *out, uint64_t t_ns, const uint8_t *frame, uint32_t len)
{
	const uint32_t head[] = {(uint32_t)(t_ns / 1000000000), (uint32_t)(t_ns % 1000000000), len,
				 len};

	put(out, head, sizeof(head));
	put(out, frame, len);
}

static void write_sender(FILE *out, const struct bench *b, const struct ipcc_data *d)
{
	uint8_t data[IPCC_MAX_LEN];
	struct ipcc_cnp c;

	put_frame(out, 0, data, ipcc_build(data, d));
	for (unsigned i = 0; ipcc_cnp(b, d->from, i, &c); i++)
		put_frame(out, c.rx->t_ns, c.rx->data, c.rx->len);
}

static void run(FILE *out, const struct ipcc_data *flow)
{
	const struct ipcc_policy p = {.ipcc = "on", .routed = flow->routed};
	struct bench *b = bench_open(ipcc_yaml(&p), 0);
	struct ipcc_data d = *flow;

	for (d.from = 0; d.from < TO; d.from++)
		ipcc_send(b, &d, FRAMES);
	ipcc_settle(b);
	for (d.from = 0; d.from < TO; d.from++)
		write_sender(out, b, &d);
	bench_close(b);
}

int main(int argc, char **argv)
{
	static const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, sigfigs, snaplen, linktype;
	} head = {(uint32_t)PCAP_MAGIC_NS, 2, 4, 0, 0, 65535, LINKTYPE_ETHERNET};
	FILE *out = argc == 2 ? fopen(argv[1], "wb") : NULL;

	if (out == NULL || bench_eal(NULL) != 0) {
		fprintf(stderr, "usage: write_cnps FILE\n");
		return 2;
	}
	put(out, &head, sizeof(head));
	for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++)
		run(out, &flows[i]);
	return fclose(out) == 0 ? 0 : 1;
}
