// SPDX-License-Identifier: Apache-2.0
// Writes frames made by the packet modules to a pcap file, for judges that know the formats from
// elsewhere. The list here and the one in judge.py are two sides of one table.
#include <stdio.h>

#include "dataplane/packet/edit.h"
#include "dataplane/packet/pfc_frame.h"
#include "tests/unit/packet/frames.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

struct pcap_file_hdr {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy, snap_len, link_type;
};

struct pcap_frame_hdr {
	uint32_t s, us, captured, len;
};

static bool put_frame(FILE *out, const uint8_t *frame, uint32_t len)
{
	const struct pcap_frame_hdr h = {.captured = len, .len = len};

	return fwrite(&h, sizeof(h), 1, out) == 1 && fwrite(frame, len, 1, out) == 1;
}

static const struct pfc_times pfc[] = {
	{.enable = 0x08, .quanta = {[3] = 0xffff}},
	{.enable = 0x08},
	{.enable = 0x28, .quanta = {[5] = 0x1234}},
	{.enable = 0x80, .quanta = {[0] = 9, [7] = 1}}, // the time of class 0 does not count
	{.enable = 0xff, .quanta = {1, 2, 3, 4, 5, 6, 7, 8}},
};

static bool put_pfc(FILE *out)
{
	static const uint8_t mac[6] = {0x02, 0, 0, 0, 0, 0x01};
	bool ok = true;

	for (size_t i = 0; i < N(pfc); i++) {
		uint8_t f[PFC_FRAME_LEN];

		pfc_frame_build(f, mac, &pfc[i]);
		ok &= put_frame(out, f, sizeof(f));
	}
	return ok;
}

static const struct frame_spec roce[] = {
	{.opcode = RC_SEND_MIDDLE, .tos = 0x6a, .payload_len = 256, .dest_qp = 0x11, .psn = 1},
	{.opcode = RC_SEND_MIDDLE, .tos = 0x6a, .payload_len = 256, .dest_qp = 0x22, .psn = 2,
	 .v6 = true, .seed = 5},
	{.opcode = RC_SEND_LAST, .tos = 0x69, .payload_len = 64, .dest_qp = 0x33, .psn = 0xffffff,
	 .n_tags = 1, .tci = {0x6064}, .seed = 6},
	{.opcode = ROCE_CNP, .tos = 0xc2, .payload_len = CNP_PAYLOAD_LEN, .dest_qp = 0x118,
	 .seed = 7},
	{.opcode = ROCE_CNP, .tos = 0xc2, .payload_len = CNP_PAYLOAD_LEN, .dest_qp = 0x19f,
	 .v6 = true, .n_tags = 1, .tci = {0xc064}, .seed = 8},
	{.opcode = RC_SEND_ONLY, .tos = 0x00, .payload_len = 32, .dest_qp = 0x44, .psn = 3,
	 .n_tags = 2, .tci = {0x2001, 0x4002}, .seed = 9},
};

// Every frame as built, marked, and marked and remarked to DSCP 34 and PCP 4.
static bool put_roce(FILE *out)
{
	bool ok = true;

	for (size_t i = 0; i < N(roce); i++) {
		const struct frame_spec *s = &roce[i];
		enum pkt_kind kind = s->v6 ? PKT_IPV6 : PKT_IPV4;
		uint8_t f[FRAME_MAX], *l3 = f + 14 + s->n_tags * 4;
		uint32_t len = frame_roce(f, s);

		ok &= put_frame(out, f, len);
		edit_ecn_ce(l3, kind);
		ok &= put_frame(out, f, len);
		edit_dscp(l3, kind, 34);
		if (s->n_tags)
			edit_pcp(f, 4);
		ok &= put_frame(out, f, len);
	}
	return ok;
}

int main(int argc, char **argv)
{
	const struct pcap_file_hdr h = {.magic = 0xa1b2c3d4, .major = 2, .minor = 4,
					.snap_len = 0xffff, .link_type = 1};
	FILE *out = argc == 2 ? fopen(argv[1], "wb") : NULL;
	bool ok;

	if (!out) {
		fprintf(stderr, "usage: write_frames FILE.pcap\n");
		return 2;
	}
	ok = fwrite(&h, sizeof(h), 1, out) == 1 && put_pfc(out) && put_roce(out);
	return fclose(out) == 0 && ok ? 0 : 1;
}
