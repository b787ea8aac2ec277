// SPDX-License-Identifier: Apache-2.0
// A whole switch between virtual wires, driven by a little program: frames of any bytes, bursts,
// pauses, TX off, links, held admission, policies published under way, one worker or two. However
// it went, with everything on again nothing is stuck: no cell in use, no frame queued, no group in
// XOFF, no PAUSE standing, the balance exact, every mbuf back (the bench checks the last two). And
// while every host obeyed and nothing else interfered, no lossless frame was lost.
//
//   input: ports, workers, policy; then operations: a number and its bytes
#include "dataplane/qos/pfc.h"
#include "dataplane/qos/pg.h"
#include "tests/fuzz/fuzz.h"

#include "control/config/config.h"
#include "tests/fuzz/world.h"
#include "tests/lab/bench.h"

enum { MAX_OPS = 50, MAX_FRAMES = 100, LONGEST = 1600, HEADER = 100, N_POLICIES = 4, TX_PORT = 8,
       PORT_KB = 20, MAX_PUBLISHES = 3, LONGEST_BURST = 64, KINDS = 32, WORLD_BYTES = 16 << 20 };

// A bench that runs one of the policies, and two snapshots of each policy: one may run while the
// other is published. Each kind of bench is made when an input first asks for it.
struct place {
	struct world *world;
	struct bench *b;
	struct policy *spare[N_POLICIES][2];
};

static struct place places[KINDS];

struct run {
	struct bench *b;
	struct place *place;
	struct policy *first; // that ran when the input began
	unsigned n_ports, n_workers, n_frames, n_publishes;
	uint16_t off[8]; // queues of each port that were switched off; bit TX_PORT: all of it
	bool honest; // nothing has happened that may cost a lossless frame
};

static const char *const profiles[N_POLICIES] = {
	// Two lossless classes, marking.
	"    classes:\n"
	"      3: {lossless: true, ingress: {alpha: 1/4}, wred: {ecn: on, kmin: 2KB, kmax: 8KB, "
	"pmax: 20%}}\n"
	"      5: {lossless: true, ingress: {min: 3KB, alpha: 1/16, xon_offset: 1KB}}\n"
	"      6: {schedule: strict, max_rate: 200M}\n",
	// All lossy: trimming, WRED by colour, DWRR.
	"    dscp_to_color: {0-15: yellow, 40-47: red}\n"
	"    classes:\n"
	"      0: {schedule: {dwrr: 7}, egress: {min: 2KB, alpha: 1/8, discard: trim}}\n"
	"      1: {egress: {static: 5KB, discard: trim}, "
	"wred: {ecn: on, kmin: 1KB, kmax: 4KB, pmax: 50%, "
	"mark_at: enqueue, weight: 2, red: {kmin: 0, kmax: 2KB, pmax: 100%}}}\n"
	"      5: {schedule: {dwrr: 900}, ingress: {static: 6KB}, min_rate: 10M}\n",
	// VLANs and remarking; what a class is called changes on the way.
	"    remark: {pcp: class, dscp: {3: 10, 0: 63}}\n"
	"    classes:\n"
	"      0: {egress: {alpha: 1/16, discard: trim}}\n"
	"      3: {lossless: true, wred: {ecn: on, kmin: 2KB, kmax: 2KB, pmax: 100%}}\n",
	// Trust of tags, shared groups and queues, an oversubscribed headroom.
	"    trust: pcp\n"
	"    class_to_queue: {4: 3}\n"
	"    class_to_pg: {4: 3}\n"
	"    pfc: {quanta: 3000}\n"
	"    classes:\n"
	"      3: {lossless: true, ingress: {static: 4KB, xon: 1KB, headroom: 4KB}}\n"
	"      4: {lossless: true}\n"
	"      7: {schedule: strict, max_rate: 100M}\n",
};

// Where trimmed frames go: a lossy queue, or a lossless one.
static const char *const trims[N_POLICIES] = {
	[1] = ", trim: {size: 64, dscp: 40, lengths: keep}",
	[2] = ", trim: {size: 100, dscp: from_class, class: 3}",
};

// Ports, buffer, cell and workers are the same in all, so that each may follow each. The links are
// slow and the frames are short, so that a small buffer has room for headroom and a few frames
// reach each limit.
static const char *policy(const struct run *r, unsigned which)
{
	static char text[4096];
	int n = snprintf(text, sizeof(text),
			 "switch: {name: lab, workers: %u, flows: {max: 16, age: 1ms}, "
			 "buffer: {size: %uKB, cell: 256B%s}%s}\nports:\n",
			 r->n_workers, PORT_KB * r->n_ports,
			 which == 3 ? ", oversubscription: 2" : "",
			 trims[which] != NULL ? trims[which] : "");

	for (unsigned i = 1; i <= r->n_ports; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "  - {name: p%u, device: \"wire:w%u\", speed: 1G, mtu: 600, "
			      "profile: x%s}\n",
			      i, i, which != 2 ? "" : i % 2 ? ", vlan: {tagged: [2, 7]}"
							 : ", vlan: {untagged: 2, tagged: [1]}");
	n += snprintf(text + n, sizeof(text) - (size_t)n,
		      "fdb:\n  - {mac: \"02:00:00:00:00:01\", port: p1}\n%s"
		      "profiles:\n  x:\n",
		      which == 2 ? "vlans: [{id: 2, flood: off}]\n" : "");
	snprintf(text + n, sizeof(text) - (size_t)n, "%s", profiles[which]);
	return text;
}

// Any bytes, longer than the input gives by zeros.
static void op_raw(struct run *r, unsigned port, struct fuzz_in *in)
{
	size_t n = fuzz_u8(in) % HEADER, len = fuzz_u16(in) % LONGEST;
	const uint8_t *at = fuzz_take(in, &n);
	uint8_t frame[LONGEST] = {0};

	if (n != 0)
		memcpy(frame, at, n);
	len = len < n ? n : len;
	if (len == 0)
		return;
	bench_send_raw(r->b, port, frame, (uint16_t)len);
	r->n_frames++;
	r->honest = false; // the host cannot tell its class
}

static void op_burst(struct run *r, unsigned port, struct fuzz_in *in)
{
	unsigned v = fuzz_u8(in), n = fuzz_u8(in) % LONGEST_BURST;
	struct bench_frame f = {
		.to = v & 7,
		.ecn = v >> 3 & 3,
		.ipv6 = v & 0x20,
		.broadcast = v & 0x40,
		.tagged = v & 0x80,
		.pcp = v & 7,
	};

	f.dscp = fuzz_u8(in) & 63;
	f.len = (uint16_t)(80 + fuzz_u8(in) * 2);
	f.vid = v & 0x80 ? fuzz_u8(in) & 7 : 0;
	for (; n != 0 && r->n_frames < MAX_FRAMES; n--, r->n_frames++) {
		f.seq = r->n_frames;
		bench_send(r->b, port, &f);
	}
}

static void control(struct run *r)
{
	bench_control(r->b);
	r->b->n_events = 0;
	actor_poke(&r->b->actor);
}

static void set_tx(struct run *r, unsigned port, unsigned queue, bool on)
{
	bench_tx(r->b, port, queue == TX_PORT ? -1 : (int)queue, on);
	if (on)
		r->off[port] &= (uint16_t)~(1u << queue);
	else
		r->off[port] |= (uint16_t)(1u << queue);
}

static void op_link(struct run *r, unsigned port, unsigned v)
{
	wire_set_up(r->b->host[port].wire, v & 1);
	r->honest = false;
	if (v & 2)
		control(r);
}

static void op_admission(struct run *r, unsigned v)
{
	if (v & 2)
		switch_clear_watermarks(r->b->sw);
	else
		switch_hold_admission(r->b->sw, v & 1);
	r->honest = r->honest && v & 2;
	actor_poke(&r->b->actor);
}

static void op_publish(struct run *r, unsigned v)
{
	struct policy **spare = r->place->spare[v % N_POLICIES];

	if (r->n_publishes++ >= MAX_PUBLISHES)
		return;
	(void)bench_publish_compiled(r->b, spare[spare[0] == r->b->policy]);
	r->honest = false;
}

static void op(struct run *r, struct fuzz_in *in)
{
	unsigned v = fuzz_u8(in), port = (v >> 4) % r->n_ports;
	uint8_t a;

	switch (v & 0xf) {
	case 0:
	case 1: op_raw(r, port, in); break;
	case 2:
	case 3:
	case 4: op_burst(r, port, in); break;
	case 5:
		a = fuzz_u8(in);
		bench_pause(r->b, port, a, fuzz_u16(in));
		break;
	case 6:
		a = fuzz_u8(in);
		set_tx(r, port, a % (TX_PORT + 1), a & 0x80);
		break;
	case 7: op_link(r, port, fuzz_u8(in)); break;
	case 8: op_publish(r, fuzz_u8(in)); break;
	case 9: control(r); break;
	case 10:
		r->b->host[port].obey_after_ns = fuzz_u8(in) & 1 ? UINT64_MAX : 0;
		r->honest = false;
		break;
	case 11: op_admission(r, fuzz_u8(in)); break;
	default: bench_run(r->b, fuzz_log(in) & 0xfffff); // up to 1 ms
	}
}

static void everything_on(struct run *r)
{
	struct bench *b = r->b;

	switch_hold_admission(b->sw, false);
	for (unsigned p = 0; p < r->n_ports; p++) {
		wire_set_up(b->host[p].wire, true);
		for (unsigned q = 0; q <= TX_PORT; q++)
			if (r->off[p] >> q & 1)
				set_tx(r, p, q, true);
	}
	// The first step sees the links come back, the second what came of it.
	for (unsigned i = 0; i < 2; i++) {
		control(r);
		bench_run(b, 500000000);
	}
}

static void nothing_is_left(const struct run *r)
{
	const struct weir_switch *sw = r->b->sw;

	FUZZ_CHECK(switch_balance(sw).queued == 0);
	for (unsigned p = 0; p < r->n_ports; p++) {
		const struct bench_host *h = &r->b->host[p];
		uint64_t trims_open = 0;

		for (unsigned q = 0; q < N_QUEUES; q++) {
			const struct queue_counters *c = switch_queue_counters(sw, p, q);

			trims_open += ctr_get(&c->trimmed) - ctr_get(&c->trim_sent) -
				      ctr_get(&c->trim_dropped);
		}
		FUZZ_CHECK(trims_open == 0 && gauge_get(&switch_port_counters(sw, p)->trims) == 0);

		FUZZ_CHECK(h->q_head == h->q_tail);
		FUZZ_CHECK(switch_pfc_tx(sw, p)->paused == 0 && switch_pfc_rx(sw, p)->paused == 0);
		FUZZ_CHECK(switch_skid_used(sw, p) == 0);
		for (unsigned g = 0; g < N_PGS; g++) {
			FUZZ_CHECK(pg_used(switch_pg_state(sw, p, g)) == 0);
			FUZZ_CHECK(!pg_in_xoff(switch_pg_state(sw, p, g)));
		}
	}
	for (unsigned pool = 0; pool < N_POOLS; pool++)
		FUZZ_CHECK(switch_pool(sw, pool).used == 0);
	if (r->honest)
		FUZZ_CHECK(bench_drops(r->b, DROP_HEADROOM) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	// The bench speaks through cmocka, which is to abort as we do.
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	unsetenv("WEIR_WORKERS");
	FUZZ_CHECK(bench_eal(NULL) == 0);
	return 0;
}

static void make(struct run *r, struct place *p, unsigned which, uint64_t delay_ns)
{
	p->world = world_begin(WORLD_BYTES);
	p->b = bench_open(policy(r, which), delay_ns);
	for (unsigned i = 0; i < N_POLICIES; i++)
		for (unsigned k = 0; k < 2; k++)
			p->spare[i][k] = bench_compile(p->b, policy(r, i));
	world_seal(p->world);
}

static void leave(struct run *r)
{
	const struct policy *running = r->b->policy;
	struct policy *first = r->first;

	bench_close(r->b);
	if (first != running)
		policy_destroy(first);
	for (unsigned i = 0; i < N_POLICIES; i++)
		for (unsigned k = 0; k < 2; k++)
			if (r->place->spare[i][k] != running)
				policy_destroy(r->place->spare[i][k]);
	world_end(r->place->world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = {data, len};
	unsigned v = fuzz_u8(&in), which = v >> 4 & 3;
	struct place *p = &places[(v & 1) | (v >> 2 & 1) << 1 | which << 2 | (v >> 7) << 4];
	struct run r = {.n_ports = v & 1 ? 4 : 2, .n_workers = 1 + (v >> 2 & 1), .place = p,
			.honest = which == 0 || which == 2};

	if (p->world == NULL)
		make(&r, p, which, v & 0x80 ? 2000 : 0);
	world_enter(p->world);
	r.b = p->b;
	r.first = r.b->policy;
	for (unsigned i = 0; i < MAX_OPS && in.left != 0; i++)
		op(&r, &in);
	everything_on(&r);
	nothing_is_left(&r);
	leave(&r);
	return 0;
}
