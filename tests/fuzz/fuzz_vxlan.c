// SPDX-License-Identifier: Apache-2.0
// A VTEP under hostile tunnels: any bytes behind the UDP header of a peer, headers with damage, and
// any frames of its stations, in any order. The reader of the headers stays inside the bytes that
// are stored, wherever the frame is cut. A mark of the inner header changes only ECN and checksums.
// The switch loses no cell and no mbuf, whatever it forwards, floods or drops.
//
//   input: family and workers; then frames: kind, length, damage, bytes
#include "tests/fuzz/fuzz.h"

#include "control/config/config.h"
#include "dataplane/packet/vxlan.h"
#include "tests/lab/bench.h"

enum { STATION, TRUNK, VTEP, MAX_FRAMES = 24, LONGEST = 300, SETTLE_NS = 2000000,
       WAITING_NS = 1500000000 // longer than frames wait for a neighbour
};

static const char text[] =
	"switch: {name: lab, workers: %u, flows: {max: 16, age: 1ms}, buffer: {size: 80KB, "
	"cell: 256B}}\n"
	"vlans: [{id: 100}]\n"
	"ports:\n"
	"  - {name: p1, device: \"wire:1\", speed: 1G, mtu: 600, profile: q, "
	"vlan: {untagged: 100}}\n"
	"  - {name: p2, device: \"wire:2\", speed: 1G, mtu: 600, profile: q, "
	"vlan: {tagged: 100}}\n"
	"  - {name: p3, device: \"wire:3\", speed: 1G, mtu: 700, profile: q, "
	"ip: [10.0.3.1/24, \"fd00::1/64\"]}\n"
	"profiles: {q: {classes: {3: {lossless: on, ingress: {headroom: 8KB}}}}}\n"
	"neighbours:\n"
	"  - {ip: 10.0.3.2, mac: \"02:00:00:00:00:03\"}\n"
	"  - {ip: \"fd00::2\", mac: \"02:00:00:00:00:03\"}\n"
	"vxlan: {source: \"%s\", mark_inner: on, vnis: {7: {vlan: 100, peers: \"%s\"}}}\n";

// The frame in a heap block that ends where the stored bytes end.
static void check_cut(const uint8_t *frame, unsigned len)
{
	struct pkt_info pkt;

	if (!parse(frame, len, &pkt) || !vxlan_is(&pkt, VXLAN_UDP_PORT))
		return;
	for (unsigned stored = pkt.l4_off; stored <= len; stored++) {
		uint8_t *cut = fuzz_exact(frame, stored);
		struct vxlan_found in;

		if (vxlan_read(cut, stored, pkt.l3_off, &pkt, &in) == VXLAN_OK)
			FUZZ_CHECK(in.off + 14u <= stored && in.off + in.len <= len);
		free(cut);
	}
}

// Marked, the frame in the tunnel is the same but for CE, and CE is set only if it was ECT.
static void check_mark(const uint8_t *frame, unsigned len)
{
	uint8_t *copy = fuzz_exact(frame, len);
	struct pkt_info pkt, before, after;
	struct vxlan_found in;

	if (parse(frame, len, &pkt) && (pkt.kind == PKT_IPV4 || pkt.kind == PKT_IPV6) &&
	    vxlan_mark_inner(copy + pkt.l3_off, len - pkt.l3_off, len - pkt.l3_off,
			     VXLAN_UDP_PORT)) {
		FUZZ_CHECK(vxlan_read(frame, len, pkt.l3_off, &pkt, &in) == VXLAN_OK);
		FUZZ_CHECK(parse(frame + in.off, in.len, &before));
		FUZZ_CHECK(parse(copy + in.off, in.len, &after));
		FUZZ_CHECK(before.ecn == ECN_ECT0 || before.ecn == ECN_ECT1);
		FUZZ_CHECK(after.ecn == ECN_CE && after.dscp == before.dscp);
	} else {
		FUZZ_CHECK(memcmp(frame, copy, len) == 0);
	}
	free(copy);
}

// Outer headers of the peer around n bytes of the input, which begin with the VXLAN header.
static unsigned tunnel_frame(uint8_t *out, bool v6, struct fuzz_in *in)
{
	static const uint8_t v4[2][4] = {{10, 0, 3, 2}, {10, 0, 3, 1}};
	static const uint8_t long_[2][16] = {{0xfd, [15] = 2}, {0xfd, [15] = 1}};
	size_t n = fuzz_u8(in);
	unsigned over = vxlan_overhead(v6) - (unsigned)sizeof(struct vxlan_hdr);
	const uint8_t *at = fuzz_take(in, &n);
	uint8_t tos = fuzz_u8(in), where = fuzz_u8(in), what = fuzz_u8(in);
	struct vxlan_outer o = {.v6 = v6, .src = v6 ? long_[0] : v4[0],
				.dst = v6 ? long_[1] : v4[1], .dscp = tos >> 2, .ecn = tos & 3,
				.ttl = 64, .sport = 50000, .dport = VXLAN_UDP_PORT};

	o.inner_len = (uint32_t)n > sizeof(struct vxlan_hdr) ? (uint32_t)n - 8 : 0;
	vxlan_write(out, &o);
	memcpy(out, (uint8_t[]){2, 0, 0, 0, 1, 3}, 6);
	memcpy(out + 6, (uint8_t[]){2, 0, 0, 0, 0, 3}, 6);
	memcpy(out + over, at, n);
	if (where < over)
		out[where] ^= what;
	return over + (unsigned)n;
}

static void one_frame(struct bench *b, bool v6, struct fuzz_in *in)
{
	uint8_t frame[LONGEST + VXLAN_V6_LEN], kind = fuzz_u8(in) & 3;
	size_t n = fuzz_u8(in) % (LONGEST - 60) + 60;
	unsigned len;

	memset(frame, 0, sizeof(frame));
	if (kind >= VTEP) {
		len = tunnel_frame(frame, v6, in);
		check_cut(frame, len);
		check_mark(frame, len);
		bench_send_raw(b, 2, frame, (uint16_t)len);
	} else {
		size_t given = n;
		const uint8_t *at = fuzz_take(in, &given);

		memcpy(frame, at, given);
		bench_send_raw(b, kind == TRUNK, frame, (uint16_t)n);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	setenv("CMOCKA_TEST_ABORT", "1", 1); // the bench speaks through cmocka
	unsetenv("WEIR_WORKERS");
	FUZZ_CHECK(bench_eal(NULL) == 0);
	return 0;
}

// A switch of its own for each input: routes of DPDK are no memory of a world (world.h).
static struct bench *open_vtep(unsigned kind)
{
	char policy[sizeof(text) + 64];

	snprintf(policy, sizeof(policy), text, 1 + (kind >> 1 & 1),
		 kind & 1 ? "fd00::1" : "10.0.3.1", kind & 1 ? "fd00::2" : "10.0.3.2");
	return bench_open(policy, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = {data, len};
	unsigned kind = fuzz_u8(&in);
	struct bench *b = open_vtep(kind);

	for (unsigned i = 0; i < MAX_FRAMES && in.left != 0; i++) {
		one_frame(b, kind & 1, &in);
		if (i % 4 == 3) {
			bench_run(b, SETTLE_NS);
			bench_control(b);
		}
	}
	bench_run(b, SETTLE_NS);
	bench_control(b);
	bench_run(b, WAITING_NS);
	FUZZ_CHECK(switch_balance(b->sw).queued == 0);
	for (unsigned pool = 0; pool < N_POOLS; pool++)
		FUZZ_CHECK(switch_pool(b->sw, pool).used == 0);
	bench_close(b);
	return 0;
}
