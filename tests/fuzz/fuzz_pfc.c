// SPDX-License-Identifier: Apache-2.0
// PFC in both directions (802.1Qbb, 802.3 Annex 31D) against a plain model that keeps one
// interval per class: what is paused, for how long, what was counted, and what the next frame must
// say. Frames go in as bytes, truncated and padded ones too.
//
//   input: speed, classes, quanta; then steps: a time, an operation, its bytes
#include "tests/fuzz/fuzz.h"

#include "dataplane/qos/pfc.h"

enum { MAX_STEPS = 400, N = N_CLASSES };

static const uint64_t speeds[] = {1000000, 80000000, 1000000000, 10000000000, 25000000000,
				  40000000000, 100000000000, 400000000000, 800000000000};

// One direction as it should be: a class is paused while now < until.
struct model {
	uint64_t from[N], until[N];
	uint64_t duration[N], transitions[N], frames[N], longest[N], change[N];
	uint64_t lossy, empty;
	uint8_t deaf;
	uint64_t word[N]; // how far the last one reaches
};

struct run {
	struct pfc_params p;
	struct pfc_rx_state rx;
	struct pfc_tx_state tx;
	struct model mrx, mtx;
	uint64_t now;
};

// Counts a pause of the model as finished.
static void model_end(struct model *m, unsigned c, uint64_t at)
{
	uint64_t end = at < m->until[c] ? at : m->until[c];

	m->duration[c] += end - m->from[c];
	m->change[c] = end;
	if (end - m->from[c] > m->longest[c])
		m->longest[c] = end - m->from[c];
	m->from[c] = m->until[c] = 0;
}

static void model_expire(struct model *m, uint64_t now)
{
	for (unsigned c = 0; c < N; c++)
		if (m->until[c] != 0 && now >= m->until[c])
			model_end(m, c, m->until[c]);
}

static void model_pause(struct model *m, unsigned c, uint64_t now, uint64_t until)
{
	if (m->until[c] == 0) {
		m->from[c] = m->change[c] = now;
		m->transitions[c]++;
	}
	m->until[c] = until;
}

static void model_frame(struct run *r, const struct pfc_times *f)
{
	struct model *m = &r->mrx;

	if (f->enable == 0)
		m->empty++;
	else if (f->enable & (uint8_t)~r->p.lossless)
		m->lossy++;
	model_expire(m, r->now);
	for (unsigned c = 0; c < N; c++) {
		if (!(f->enable & r->p.lossless & 1u << c))
			continue;
		m->frames[c]++;
		if (!(r->p.rx >> c & 1))
			continue;
		m->word[c] = f->quanta[c] == 0
				     ? 0
				     : r->now + pfc_quanta_ns(r->p.speed_bps, f->quanta[c]);
		if (m->deaf >> c & 1)
			continue;
		if (f->quanta[c] != 0)
			model_pause(m, c, r->now, m->word[c]);
		else if (m->until[c] != 0)
			model_end(m, c, r->now);
	}
}

static void same(const struct model *m, const struct pfc_class_stats *st, uint8_t paused)
{
	for (unsigned c = 0; c < N; c++) {
		FUZZ_CHECK((paused >> c & 1) == (m->until[c] != 0));
		FUZZ_CHECK(ctr_get(&st[c].frames) == m->frames[c]);
		FUZZ_CHECK(ctr_get(&st[c].transitions) == m->transitions[c]);
		FUZZ_CHECK(ctr_get(&st[c].duration_ns) == m->duration[c]);
		FUZZ_CHECK(gauge_get(&st[c].since_ns) == m->from[c]);
		FUZZ_CHECK(gauge_get(&st[c].longest_ns) == m->longest[c]);
		FUZZ_CHECK(gauge_get(&st[c].last_change_ns) == m->change[c]);
	}
}

static void check_rx(const struct run *r)
{
	uint64_t longest = r->now + pfc_quanta_ns(r->p.speed_bps, UINT16_MAX), next = UINT64_MAX;

	same(&r->mrx, r->rx.stats, r->rx.paused);
	FUZZ_CHECK((r->rx.paused & ~(r->p.rx & r->p.lossless)) == 0);
	FUZZ_CHECK((r->rx.paused & r->rx.ignore_pause) == 0);
	FUZZ_CHECK(ctr_get(&r->rx.ignored_lossy) == r->mrx.lossy);
	FUZZ_CHECK(ctr_get(&r->rx.empty_vector) == r->mrx.empty);
	for (unsigned c = 0; c < N; c++)
		if (r->mrx.until[c] != 0) {
			FUZZ_CHECK(r->rx.until_ns[c] == r->mrx.until[c]);
			FUZZ_CHECK(r->rx.until_ns[c] > r->now && r->rx.until_ns[c] <= longest);
			next = r->mrx.until[c] < next ? r->mrx.until[c] : next;
		}
	FUZZ_CHECK(pfc_rx_next(&r->rx) == next);
}

// A frame from the wire. It need not be PFC.
static const uint8_t mac_control[] = {0x01, 0x80, 0xc2, 0, 0, 0x01};

static void receive(struct run *r, struct fuzz_in *in)
{
	size_t n = fuzz_u8(in) % 80;
	const uint8_t *at = fuzz_take(in, &n);
	uint8_t *frame = fuzz_exact(at, n);
	struct pfc_times f = {0};
	unsigned opcode = n >= 16 ? (unsigned)frame[14] << 8 | frame[15] : 0;
	enum mac_ctrl kind;
	bool ours;

	if (n >= 16 && frame[14] == 0xff) {
		frame[14] = 1; // the opcode, which chance alone would seldom give
		frame[15] = 1;
		opcode = MAC_CTRL_OPCODE_PFC;
	}
	if (n >= 16 && frame[0] == 0xff)
		memcpy(frame, mac_control, sizeof(mac_control));
	ours = n >= 6 && memcmp(frame, mac_control, sizeof(mac_control)) == 0;
	kind = mac_ctrl_parse(frame, (uint32_t)n, &f);
	FUZZ_CHECK((kind == MAC_CTRL_PFC) == (ours && opcode == MAC_CTRL_OPCODE_PFC && n >= 34));
	FUZZ_CHECK(kind != MAC_CTRL_PFC_MISADDRESSED || (!ours && n >= 34));
	FUZZ_CHECK(kind != MAC_CTRL_PAUSE_8023X || (opcode == MAC_CTRL_OPCODE_PAUSE && n >= 18));
	if (kind == MAC_CTRL_PFC) {
		pfc_rx_frame(&r->p, &r->rx, &f, r->now);
		model_frame(r, &f);
	}
	free(frame);
}

// Times chosen by the input, built and read back.
static void receive_built(struct run *r, struct fuzz_in *in)
{
	struct pfc_times f = {.enable = fuzz_u8(in)}, back = {0};
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
	uint8_t frame[PFC_FRAME_LEN];

	for (unsigned c = 0; c < N; c++)
		f.quanta[c] = f.enable >> c & 1 ? fuzz_u16(in) : 0;
	pfc_frame_build(frame, mac, &f);
	FUZZ_CHECK(mac_ctrl_parse(frame, sizeof(frame), &back) == MAC_CTRL_PFC);
	FUZZ_CHECK(back.enable == f.enable);
	FUZZ_CHECK(memcmp(back.quanta, f.quanta, sizeof(f.quanta)) == 0);
	pfc_rx_frame(&r->p, &r->rx, &back, r->now);
	model_frame(r, &f);
}

static void clear_rx(struct run *r, uint8_t keep)
{
	pfc_rx_clear(&r->rx, keep, r->now);
	model_expire(&r->mrx, r->now);
	for (unsigned c = 0; c < N; c++)
		if (r->mrx.until[c] != 0 && !(keep >> c & 1))
			model_end(&r->mrx, c, r->now);
	for (unsigned c = 0; c < N; c++)
		r->mrx.word[c] = keep >> c & 1 ? r->mrx.word[c] : 0;
}

static void deafen(struct run *r, uint8_t deaf)
{
	struct model *m = &r->mrx;

	pfc_rx_ignore(&r->rx, deaf, r->now);
	for (unsigned c = 0; c < N; c++) {
		if (deaf >> c & 1 && m->until[c] != 0)
			model_end(m, c, r->now);
		if (m->deaf >> c & 1 && !(deaf >> c & 1) && r->now < m->word[c])
			model_pause(m, c, r->now, m->word[c]);
	}
	m->deaf = deaf;
}

// What the switch wants; the driver takes the frame or does not.
static void send(struct run *r, uint8_t want, bool taken)
{
	uint8_t may = r->p.tx & r->p.lossless;
	struct pfc_times f;
	bool due = pfc_tx_due(&r->p, &r->tx, want, r->now, &f);

	FUZZ_CHECK(due == (f.enable != 0));
	for (unsigned c = 0; c < N; c++) {
		bool on = want & may & 1u << c, was = r->tx.paused >> c & 1;
		bool says = f.enable >> c & 1;

		FUZZ_CHECK(on == was || says);
		FUZZ_CHECK(on || was || !says);
		FUZZ_CHECK(!(on && was) || says == (r->now >= r->tx.refresh_ns[c]));
		FUZZ_CHECK(f.quanta[c] == (says && on ? r->p.quanta : 0));
	}
	if (!due || !taken)
		return;
	pfc_tx_sent(&r->p, &r->tx, &f, r->now);
	for (unsigned c = 0; c < N; c++) {
		r->mtx.frames[c] += f.enable >> c & 1;
		if (f.quanta[c] != 0)
			model_pause(&r->mtx, c, r->now, UINT64_MAX);
		else if (f.enable >> c & 1 && r->mtx.until[c] != 0)
			model_end(&r->mtx, c, r->now);
	}
	FUZZ_CHECK(r->tx.paused == (want & may));
	FUZZ_CHECK(!pfc_tx_due(&r->p, &r->tx, want, r->now, &f) || r->p.lifetime_ns < 2);
	FUZZ_CHECK(pfc_tx_next(&r->tx) <= r->now + r->p.lifetime_ns / 2 || r->tx.paused == 0);
}

static void clear_tx(struct run *r)
{
	pfc_tx_clear(&r->tx, r->now);
	for (unsigned c = 0; c < N; c++)
		if (r->mtx.until[c] != 0)
			model_end(&r->mtx, c, r->now);
}

static void step(struct run *r, struct fuzz_in *in)
{
	uint8_t op = fuzz_u8(in);

	r->now += fuzz_log(in) & 0xffffffffff; // up to 18 minutes
	switch (op % 8) {
	case 0: receive(r, in); break;
	case 1:
	case 2: receive_built(r, in); break;
	case 3: clear_rx(r, fuzz_u8(in)); break;
	case 4: clear_tx(r); break;
	case 5:
	case 6: send(r, fuzz_u8(in), op & 0x80); break;
	default: deafen(r, op & 0x80 ? fuzz_u8(in) : r->mrx.deaf); break; // or time only
	}
	pfc_rx_expire(&r->rx, r->now);
	model_expire(&r->mrx, r->now);
	check_rx(r);
	same(&r->mtx, r->tx.stats, r->tx.paused);
	FUZZ_CHECK((r->tx.paused & ~(r->p.tx & r->p.lossless)) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = {data, len};
	struct run r = {.now = 1};
	uint64_t speed = speeds[fuzz_u8(&in) % (sizeof(speeds) / sizeof(speeds[0]))];
	uint16_t quanta;

	r.p.lossless = fuzz_u8(&in);
	r.p.rx = fuzz_u8(&in) & r.p.lossless;
	r.p.tx = fuzz_u8(&in) & r.p.lossless;
	quanta = fuzz_u16(&in);
	pfc_params_init(&r.p, speed, quanta == 0 ? 1 : quanta, 0);
	for (unsigned i = 0; i < MAX_STEPS && in.left != 0; i++)
		step(&r, &in);
	return 0;
}
