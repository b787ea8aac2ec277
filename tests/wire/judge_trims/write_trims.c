// SPDX-License-Identifier: Apache-2.0
// Writes frames and what trimming makes of them to a pcap file, for judges that know the formats
// from elsewhere: each frame whole, then trimmed with the lengths kept, then with exact lengths.
// The list here and the one in judge.py are two sides of one table.
#include <stdio.h>
#include <string.h>

#include "dataplane/packet/trim.h"
#include "tests/unit/packet/frames.h"

enum { SIZE = 128, DSCP = 48 };

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

static const struct frame_spec specs[] = {
	{.opcode = RC_SEND_MIDDLE, .tos = 0x02, .payload_len = 1024, .dest_qp = 0x11, .psn = 1},
	{.opcode = RC_SEND_MIDDLE, .tos = 0x01, .payload_len = 1024, .dest_qp = 0x22, .psn = 2,
	 .v6 = true, .seed = 5},
	{.opcode = RC_SEND_LAST, .tos = 0x07, .payload_len = 512, .dest_qp = 0x33, .psn = 3,
	 .n_tags = 1, .tci = {0x0064}, .seed = 6},
	{.opcode = RC_SEND_MIDDLE, .tos = 0x00, .payload_len = 256, .dest_qp = 0x44, .psn = 4,
	 .v6 = true, .n_tags = 1, .tci = {0x0064}, .seed = 7},
	{.opcode = RC_SEND_ONLY, .tos = 0x02, .payload_len = 32, .dest_qp = 0x55, .psn = 5},
};

// The RoCE frame becomes a segment of TCP.
static void make_tcp(uint8_t *f, const struct frame_spec *s)
{
	uint8_t *l3 = f + 14 + s->n_tags * 4, *l4 = l3 + (s->v6 ? 40 : 20);

	l3[s->v6 ? 6 : 9] = IP_PROTO_TCP;
	if (!s->v6)
		be16_put(l3 + 10, ipv4_csum(l3));
	memset(l4, 0, sizeof(struct tcp_hdr));
	be16_put(l4, 40000);
	be16_put(l4 + 2, 80);
	l4[12] = 5 << 4;
	l4[13] = 0x10; // ACK
	be16_put(l4 + 14, 1000);
}

static bool put_trims(FILE *out, const struct frame_spec *s, bool tcp)
{
	struct trim_params p = {.size = SIZE, .dscp = DSCP};
	bool ok = true;

	for (unsigned i = 0; i < 3; i++) {
		uint8_t f[FRAME_MAX];
		struct trim_frame t = {.bytes = f, .l3_off = (uint8_t)(14 + s->n_tags * 4),
				       .kind = s->v6 ? PKT_IPV6 : PKT_IPV4};
		uint32_t len;

		t.len = t.stored = len = frame_roce(f, s);
		if (tcp)
			make_tcp(f, s);
		p.exact = i == 2;
		if (i != 0) {
			len = trim_len(&p, &t);
			trim_edit(&p, &t, len);
		}
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
		fprintf(stderr, "usage: write_trims FILE.pcap\n");
		return 2;
	}
	ok = fwrite(&h, sizeof(h), 1, out) == 1;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		ok &= put_trims(out, &specs[i], false) && put_trims(out, &specs[i], true);
	return fclose(out) == 0 && ok ? 0 : 1;
}
