// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/qos_params.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/compile.h"
#include "control/config/config.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"

enum {
	BAD = 2,
	SMALL = 64, // bytes of a packet of the tests, without FCS
	WRR_BYTES = 1500, // of a packet of the test of weights
	WRR_PACKETS = 150, // of the heaviest queue, at most
	MOST_AT_ONCE = 1 << 16, // frames
	CM_PER_M = 100,
	INDENT = 16, // of the sections of a profile
	NAME_LEN = 96,
};

static const uint64_t MBPS = 1000000;

// ---- one class of an empty switch, whose output is held

struct memory {
	struct pg_pools pools;
	uint64_t lossy_free; // cells of the lossy egress pool
};

struct fill {
	const struct pg_params *pg;
	const struct egress_params *queue;
	struct memory *memory;
	struct pg_state group;
	struct egress_state held;
	uint32_t cells; // of a frame
	// Frames that were taken, those in min of the group, and those in min of the queue.
	uint64_t n, n_min, n_queue_min;
};

static void charge_frames(struct fill *f, struct pg_decision d, enum egress_verdict e,
			  uint32_t frames)
{
	struct pg_delta delta = pg_charge(&f->group, d, frames * f->cells);

	f->memory->pools.ingress_free -= (uint64_t)delta.ingress;
	f->memory->pools.headroom_free -= (uint64_t)delta.headroom;
	f->memory->lossy_free -= (uint64_t)egress_charge(&f->held, e, frames * f->cells).lossy;
	f->n += frames;
	f->n_min += d.verdict == PG_MIN ? frames : 0;
	f->n_queue_min += e == EGRESS_MIN ? frames : 0;
}

static bool admit_frames(struct fill *f, uint32_t frames)
{
	uint32_t c = frames * f->cells;
	enum pg_verdict v = pg_room(f->pg, &f->group, &f->memory->pools, c, f->cells);
	enum egress_verdict e =
		egress_decide(f->queue, &f->held, f->memory->lossy_free, c, f->cells);

	if (v == PG_NO_ROOM || e == EGRESS_DROP || e == EGRESS_SPLIT)
		return false;
	charge_frames(f, (struct pg_decision){.verdict = v}, e, frames);
	return true;
}

// Until the group or the queue has no room for one more frame.
static void fill_until_full(struct fill *f)
{
	uint32_t frames = 1;

	while (frames != 0) {
		if (!admit_frames(f, frames))
			frames /= 2;
		else if (frames < MOST_AT_ONCE)
			frames *= 2;
	}
}

// One frame beyond the thresholds. False: it is dropped.
static bool overflow(struct fill *f)
{
	struct pg_decision d = pg_decide(f->pg, &f->group, &f->memory->pools, 0, f->cells);

	charge_frames(f, d, EGRESS_LOSSLESS, 1);
	return d.verdict == PG_HEADROOM;
}

// After so many frames have left, the group leaves XOFF; so many at least.
static uint64_t frames_to_xon(const struct fill *f)
{
	uint64_t low = 1, high = f->n;

	while (low < high) {
		uint64_t middle = (low + high) / 2;
		struct fill after = *f;
		struct pg_delta d = pg_release(&after.group, (uint32_t)middle * f->cells);
		uint64_t free_cells = f->memory->pools.ingress_free - (uint64_t)d.ingress;

		if (pg_may_xon(f->pg, &after.group, free_cells))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

// ---- the numbers of a class

enum number {
	NUM_DSCP,
	NUM_ECT,
	NUM_PG,
	NUM_QUEUE,
	NUM_ZERO,
	NUM_MIN, // packets that min takes
	NUM_QUEUE_MIN, // likewise of the queue
	NUM_ROOM, // packets in min and shared memory
	NUM_XOFF, // the packet that makes the switch send PAUSE
	NUM_INGRESS_DROP, // the first packet that finds no headroom
	NUM_XON, // packets that must leave after NUM_XOFF before the switch sends XON
	NUM_EGRESS_DROP, // the first packet that finds no room in the queue
	NUM_SMALL, // bytes of a packet
	NUM_WHOLE, // bytes of a packet that fills its cells
	NUM_CELL,
	N_NUMBERS,
};

struct class_numbers {
	const char *why_not; // NULL: the numbers hold
	uint64_t of[N_NUMBERS];
	unsigned cls;
	uint32_t max_frame; // of the port
};

// The lowest code point of the class: DSCP, or PCP where the port trusts that. -1: there is none.
static int code_point(const struct classify_params *p, unsigned cls)
{
	bool pcp = p->trust == TRUST_PCP;
	const uint8_t *map = pcp ? p->pcp_to_class : p->dscp_to_class;

	if (p->trust == TRUST_PORT)
		return p->default_class == cls ? 0 : -1;
	for (int i = 0; i < (pcp ? 8 : 64); i++)
		if (map[i] == cls)
			return i;
	return -1;
}

// WRED drops packets of the tests before the buffer does.
static bool wred_drops_first(const struct policy_queue *q)
{
	return q->wred.enabled && wred_drops(&q->wred, ECN_ECT1);
}

static struct memory empty_memory(const struct policy *p)
{
	return (struct memory){.pools = {.ingress_free = p->buffer.ingress_pool_cells,
					 .headroom_free = p->buffer.headroom_pool_cells},
			       .lossy_free = p->buffer.egress_lossy_cells};
}

// From a port to another, frames of so many bytes.
static struct fill empty_class(const struct policy *p, unsigned from, unsigned to, unsigned cls,
			       uint32_t bytes, struct memory *memory)
{
	const struct policy_port *in = &p->ports[from], *out = &p->ports[to];

	return (struct fill){
		.pg = &in->pg[in->classify.class_to_pg[cls]],
		.queue = &out->queue[in->classify.class_to_queue[cls]].egress,
		.memory = memory,
		.cells = cells_of(&p->cell, bytes),
	};
}

// The rules of the tests count cells where a packet has several.
static void store(struct class_numbers *n, enum number i, uint64_t packets, const struct fill *f)
{
	n->of[i] = packets * f->cells;
}

static struct class_numbers test_numbers_of_class(const struct policy *p, unsigned from,
						  unsigned to, unsigned cls)
{
	const struct policy_port *in = &p->ports[from];
	unsigned queue = in->classify.class_to_queue[cls];
	struct memory memory = empty_memory(p);
	struct fill f = empty_class(p, from, to, cls, SMALL, &memory);
	struct class_numbers n = {.cls = cls, .max_frame = in->max_frame};
	int dscp = code_point(&in->classify, cls);

	n.of[NUM_DSCP] = (uint64_t)dscp;
	n.of[NUM_ECT] = ECN_ECT1; // as the tests send
	n.of[NUM_PG] = in->classify.class_to_pg[cls];
	n.of[NUM_QUEUE] = queue;
	n.of[NUM_SMALL] = SMALL;
	n.of[NUM_CELL] = p->cell.bytes;
	n.of[NUM_WHOLE] = (uint64_t)f.cells * p->cell.bytes;
	fill_until_full(&f);
	store(&n, NUM_MIN, f.n_min, &f);
	store(&n, NUM_QUEUE_MIN, f.n_queue_min, &f);
	store(&n, NUM_ROOM, f.n, &f);
	store(&n, NUM_EGRESS_DROP, f.n + 1, &f);
	if (dscp < 0)
		n.why_not = "no code point has the class";
	else if (wred_drops_first(&p->ports[to].queue[queue]))
		n.why_not = "WRED drops packets before the buffer is full";
	else if (f.pg->lossless && !(in->pfc.tx >> cls & 1))
		n.why_not = "the class sends no PFC";
	else if (!f.pg->lossless &&
		 pg_room(f.pg, &f.group, &memory.pools, f.cells, f.cells) == PG_NO_ROOM)
		n.why_not = "the ingress pool is full before the queue has its limit";
	if (!f.pg->lossless || n.why_not != NULL)
		return n;
	store(&n, NUM_XOFF, f.n + 1, &f);
	if (overflow(&f)) {
		store(&n, NUM_XON, frames_to_xon(&f), &f);
		while (overflow(&f))
			;
	} else {
		n.why_not = "the class has no headroom";
	}
	store(&n, NUM_INGRESS_DROP, f.n, &f);
	return n;
}

// ---- the sections of the file

enum field {
	FIELD_DSCP,
	FIELD_ECN,
	FIELD_PG,
	FIELD_QUEUE,
	FIELD_FILL_MIN,
	FIELD_FILL_INGR_MIN,
	FIELD_FILL_EGR_MIN,
	FIELD_TRIG_PFC,
	FIELD_TRIG_INGR_DRP,
	FIELD_DISMISS_PFC,
	FIELD_TRIG_EGR_DRP,
	FIELD_MARGIN,
	FIELD_PACKET_SIZE,
	FIELD_CELL_SIZE,
	N_FIELDS,
};

static const char *const field_names[N_FIELDS] = {
	"dscp", "ecn", "pg", "queue", "pkts_num_fill_min", "pkts_num_fill_ingr_min",
	"pkts_num_fill_egr_min", "pkts_num_trig_pfc", "pkts_num_trig_ingr_drp",
	"pkts_num_dismiss_pfc", "pkts_num_trig_egr_drp", "pkts_num_margin", "packet_size",
	"cell_size",
};

// In the tests of watermarks pkts_num_trig_pfc is the packets that do not go into headroom. There
// PAUSE is sent at the packet after them.
static const struct section {
	const char *name;
	bool lossless;
	bool numbered; // NAME_1 and NAME_2 of the first two classes; else of the first class
	struct {
		enum field field;
		enum number number;
	} rows[N_FIELDS];
} sections[] = {
	{"xoff", true, true,
	 {{FIELD_DSCP, NUM_DSCP}, {FIELD_ECN, NUM_ECT}, {FIELD_PG, NUM_PG},
	  {FIELD_TRIG_PFC, NUM_XOFF}, {FIELD_TRIG_INGR_DRP, NUM_INGRESS_DROP},
	  {FIELD_MARGIN, NUM_ZERO}, {FIELD_PACKET_SIZE, NUM_SMALL}, {FIELD_CELL_SIZE, NUM_CELL}}},
	{"xon", true, true,
	 {{FIELD_DSCP, NUM_DSCP}, {FIELD_ECN, NUM_ECT}, {FIELD_PG, NUM_PG},
	  {FIELD_TRIG_PFC, NUM_XOFF}, {FIELD_DISMISS_PFC, NUM_XON}, {FIELD_MARGIN, NUM_ZERO},
	  {FIELD_PACKET_SIZE, NUM_SMALL}, {FIELD_CELL_SIZE, NUM_CELL}}},
	{"wm_pg_headroom", true, false,
	 {{FIELD_DSCP, NUM_DSCP}, {FIELD_ECN, NUM_ECT}, {FIELD_PG, NUM_PG},
	  {FIELD_TRIG_PFC, NUM_ROOM}, {FIELD_TRIG_INGR_DRP, NUM_INGRESS_DROP},
	  {FIELD_MARGIN, NUM_ZERO}, {FIELD_PACKET_SIZE, NUM_SMALL}, {FIELD_CELL_SIZE, NUM_CELL}}},
	{"wm_pg_shared_lossless", true, false,
	 {{FIELD_DSCP, NUM_DSCP}, {FIELD_ECN, NUM_ECT}, {FIELD_PG, NUM_PG},
	  {FIELD_FILL_MIN, NUM_MIN}, {FIELD_TRIG_PFC, NUM_ROOM}, {FIELD_PACKET_SIZE, NUM_SMALL},
	  {FIELD_CELL_SIZE, NUM_CELL}}},
	{"wm_q_shared_lossless", true, false,
	 {{FIELD_DSCP, NUM_DSCP}, {FIELD_ECN, NUM_ECT}, {FIELD_QUEUE, NUM_QUEUE},
	  {FIELD_FILL_MIN, NUM_ZERO}, {FIELD_TRIG_INGR_DRP, NUM_INGRESS_DROP},
	  {FIELD_PACKET_SIZE, NUM_WHOLE}, {FIELD_CELL_SIZE, NUM_CELL}}},
	{"wm_buf_pool_lossless", true, false,
	 {{FIELD_DSCP, NUM_DSCP}, {FIELD_ECN, NUM_ECT}, {FIELD_PG, NUM_PG},
	  {FIELD_QUEUE, NUM_QUEUE}, {FIELD_FILL_INGR_MIN, NUM_MIN}, {FIELD_TRIG_PFC, NUM_ROOM},
	  {FIELD_TRIG_INGR_DRP, NUM_INGRESS_DROP}, {FIELD_FILL_EGR_MIN, NUM_QUEUE_MIN},
	  {FIELD_PACKET_SIZE, NUM_SMALL}, {FIELD_CELL_SIZE, NUM_CELL}}},
	{"lossy_queue_1", false, false,
	 {{FIELD_DSCP, NUM_DSCP}, {FIELD_ECN, NUM_ECT}, {FIELD_PG, NUM_PG},
	  {FIELD_TRIG_EGR_DRP, NUM_EGRESS_DROP}, {FIELD_MARGIN, NUM_ZERO},
	  {FIELD_PACKET_SIZE, NUM_SMALL}, {FIELD_CELL_SIZE, NUM_CELL}}},
	{"wm_pg_shared_lossy", false, false,
	 {{FIELD_DSCP, NUM_DSCP}, {FIELD_ECN, NUM_ECT}, {FIELD_PG, NUM_PG},
	  {FIELD_FILL_MIN, NUM_MIN}, {FIELD_TRIG_EGR_DRP, NUM_EGRESS_DROP},
	  {FIELD_PACKET_SIZE, NUM_SMALL}, {FIELD_CELL_SIZE, NUM_CELL}}},
	{"wm_buf_pool_lossy", false, false,
	 {{FIELD_DSCP, NUM_DSCP}, {FIELD_ECN, NUM_ECT}, {FIELD_PG, NUM_PG},
	  {FIELD_QUEUE, NUM_QUEUE}, {FIELD_FILL_INGR_MIN, NUM_MIN},
	  {FIELD_TRIG_EGR_DRP, NUM_EGRESS_DROP}, {FIELD_FILL_EGR_MIN, NUM_QUEUE_MIN},
	  {FIELD_PACKET_SIZE, NUM_SMALL}, {FIELD_CELL_SIZE, NUM_CELL}}},
	{"wm_q_shared_lossy", false, false,
	 {{FIELD_DSCP, NUM_DSCP}, {FIELD_ECN, NUM_ECT}, {FIELD_QUEUE, NUM_QUEUE},
	  {FIELD_FILL_MIN, NUM_ZERO}, {FIELD_TRIG_EGR_DRP, NUM_EGRESS_DROP},
	  {FIELD_PACKET_SIZE, NUM_WHOLE}, {FIELD_CELL_SIZE, NUM_CELL}}},
};
enum { N_SECTIONS = sizeof(sections) / sizeof(sections[0]) };

static void print_number(FILE *out, const char *key, uint64_t v)
{
	fprintf(out, "%*s%s: %" PRIu64 "\n", INDENT + 4, "", key, v);
}

static void print_head(FILE *out, const char *name)
{
	fprintf(out, "%*s%s:\n", INDENT, "", name);
}

static void print_section(FILE *out, const struct section *s, const struct class_numbers *n,
			  unsigned no)
{
	char name[NAME_LEN];

	snprintf(name, sizeof(name), s->numbered ? "%s_%u" : "%s", s->name, no);
	print_head(out, name);
	// The first field is dscp, and every section has cell_size last.
	for (unsigned i = 0; i < N_FIELDS; i++) {
		print_number(out, field_names[s->rows[i].field], n->of[s->rows[i].number]);
		if (s->rows[i].field == FIELD_CELL_SIZE)
			return;
	}
}

// A packet that fills its cells may be longer than the port takes.
static bool can_be_sent(const struct section *s, const struct class_numbers *n)
{
	for (unsigned i = 0; i < N_FIELDS; i++)
		if (s->rows[i].number == NUM_WHOLE && n->of[NUM_WHOLE] > n->max_frame)
			return false;
	return true;
}

static void print_why_not(FILE *out, const struct class_numbers *n)
{
	fprintf(out, "%*s# class %u: %s\n", INDENT, "", n->cls, n->why_not);
}

// Of a lossless class with the number `no`, or of the lossy class.
static void print_class(FILE *out, const struct class_numbers *n, bool lossless, unsigned no)
{
	for (const struct section *s = sections; s < sections + N_SECTIONS; s++)
		if (s->lossless == lossless && (s->numbered || no == 1) && can_be_sent(s, n))
			print_section(out, s, n, no);
}

static void print_lossless(FILE *out, const struct policy *p, unsigned from, unsigned to)
{
	unsigned no = 0;

	for_each_bit (cls, p->ports[from].classify.lossless) {
		const struct class_numbers n = test_numbers_of_class(p, from, to, cls);

		if (n.why_not != NULL)
			print_why_not(out, &n);
		else
			print_class(out, &n, true, ++no);
	}
}

// Of the first lossy class that has numbers.
static void print_lossy(FILE *out, const struct policy *p, unsigned from, unsigned to)
{
	unsigned lossy = (uint8_t)~p->ports[from].classify.lossless;

	for_each_bit (cls, lossy) {
		const struct class_numbers n = test_numbers_of_class(p, from, to, cls);

		if (n.why_not == NULL) {
			print_class(out, &n, false, 1);
			return;
		}
		print_why_not(out, &n);
	}
}

// ---- ECN

// Of the first class whose queue marks by its length alone, and every packet above kmax: with
// num_of_pkts packets in the queue those up to min_limit bytes pass, and those above limit are
// marked.
static void print_ecn(FILE *out, const struct policy *p, unsigned from, unsigned to)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		const struct class_numbers n = test_numbers_of_class(p, from, to, cls);
		const struct wred_params *w = &p->ports[to].queue[n.of[NUM_QUEUE]].wred;
		const struct wred_curve *c = &w->curve[GREEN];
		uint64_t packets = c->kmax_bytes / n.of[NUM_WHOLE] + 2;
		uint64_t cells = packets * n.of[NUM_WHOLE] / n.of[NUM_CELL];

		if (n.why_not != NULL || !w->enabled || !w->ecn || w->weight != 0 ||
		    !w->above_kmax_all || cells > n.of[NUM_ROOM] ||
		    n.of[NUM_WHOLE] > n.max_frame)
			continue;
		print_head(out, "ecn_1");
		print_number(out, field_names[FIELD_DSCP], n.of[NUM_DSCP]);
		print_number(out, field_names[FIELD_ECN], n.of[NUM_ECT]);
		print_number(out, "num_of_pkts", packets);
		print_number(out, "limit", c->kmax_bytes);
		print_number(out, "min_limit", c->kmin_bytes);
		print_number(out, field_names[FIELD_PACKET_SIZE], n.of[NUM_WHOLE]);
		print_number(out, field_names[FIELD_CELL_SIZE], n.of[NUM_CELL]);
		return;
	}
}

// ---- weights

struct weights {
	unsigned packets[N_QUEUES]; // 0: the queue takes no part
	unsigned cls[N_QUEUES]; // of its packets
	unsigned total;
};

// The heaviest queue has `heaviest` packets. Queues that are strict or have a rate of their own
// take no part.
static struct weights weights_of(const struct policy *p, unsigned from, unsigned to,
				 unsigned heaviest)
{
	const struct classify_params *in = &p->ports[from].classify;
	const struct sched_params *s = &p->ports[to].sched;
	struct weights w = {.total = 0};
	uint64_t most = 0;

	for (unsigned cls = N_CLASSES; cls-- > 0;) {
		unsigned q = in->class_to_queue[cls];

		if (code_point(in, cls) < 0 || ((s->strict | s->has_max | s->has_min) >> q & 1))
			continue;
		w.cls[q] = cls;
		w.packets[q] = 1;
		most = max_u64(most, s->quantum_bytes[q]);
	}
	for (unsigned q = 0; q < N_QUEUES; q++) {
		uint64_t n = most == 0 ? 0 : (uint64_t)heaviest * s->quantum_bytes[q] / most;

		w.packets[q] = w.packets[q] == 0 ? 0 : (unsigned)max_u64(n, 1);
		w.total += w.packets[q];
	}
	return w;
}

// Whether the buffer takes all of them.
static bool weights_fit(const struct policy *p, unsigned from, unsigned to,
			const struct weights *w)
{
	struct memory memory = empty_memory(p);

	for (unsigned q = 0; q < N_QUEUES; q++) {
		struct fill f = empty_class(p, from, to, w->cls[q], WRR_BYTES, &memory);

		for (unsigned i = 0; i < w->packets[q]; i++)
			if (!admit_frames(&f, 1))
				return false;
	}
	return true;
}

// The packets that are left when the first queue has sent all of its own, if it is the turn of
// queue `turn` as the output is released.
static unsigned packets_left(const struct sched_params *p, const struct weights *w, unsigned turn)
{
	struct sched_state s = {.turn = (uint8_t)turn};
	unsigned left[N_QUEUES], total = w->total;
	uint32_t len[N_QUEUES];
	uint8_t ready = 0;

	for (unsigned q = 0; q < N_QUEUES; q++) {
		left[q] = w->packets[q];
		len[q] = WRR_BYTES;
		ready |= (uint8_t)((left[q] != 0) << q);
	}
	while (ready != 0) {
		int picked = sched_pick(p, &s, ready, len, 0);
		unsigned q = (unsigned)picked;
		struct sched_run run = sched_run_begin(p, &s, q, ready);

		sched_run_spend(p, &run, q, WRR_BYTES);
		sched_run_end(p, &s, &run, q);
		total--;
		if (--left[q] == 0)
			return total;
	}
	return 0;
}

static void print_wrr(FILE *out, const struct policy *p, unsigned from, unsigned to)
{
	const struct policy_port *port = &p->ports[to];
	unsigned heaviest = WRR_PACKETS, limit = 0;
	struct weights w = weights_of(p, from, to, 2 * heaviest);

	// Half of the packets that fit, so that the order in which the queues are filled is free.
	while (heaviest > 1 && !weights_fit(p, from, to, &w)) {
		heaviest /= 2;
		w = weights_of(p, from, to, 2 * heaviest);
	}
	w = weights_of(p, from, to, heaviest);
	if (w.total == 0 || heaviest <= 1 || port->max_frame < WRR_BYTES)
		return;
	for (unsigned turn = 0; turn < N_QUEUES; turn++) {
		unsigned left = packets_left(&port->sched, &w, turn);

		limit = left > limit ? left : limit;
	}
	print_head(out, "wrr");
	print_number(out, field_names[FIELD_ECN], ECN_ECT1);
	for (unsigned q = 0; q < N_QUEUES; q++) {
		char key[NAME_LEN];

		snprintf(key, sizeof(key), "q%u_num_of_pkts", q);
		if (w.packets[q] != 0)
			print_number(out, key, w.packets[q]);
	}
	print_number(out, "limit", limit + 1); // the test wants fewer than this
}

// ---- the headroom pool

// Of the lossless groups of a port, one class each.
static unsigned groups_of(const struct policy *p, unsigned port, unsigned cls[N_PGS])
{
	const struct classify_params *c = &p->ports[port].classify;
	unsigned seen = 0, n = 0;

	for_each_bit (i, c->lossless) {
		if (seen >> c->class_to_pg[i] & 1)
			continue;
		seen |= 1u << c->class_to_pg[i];
		cls[n++] = i;
	}
	return n;
}

// Group after group enters XOFF, then their headroom is filled in the same order, until the pool
// is full.
struct pool_run {
	unsigned ports[POLICY_MAX_PORTS], n_ports, to;
	unsigned cls[N_PGS], n_cls; // of each port
	unsigned n; // groups
	struct fill fill[POLICY_MAX_PORTS * N_PGS];
	uint64_t to_xoff[POLICY_MAX_PORTS * N_PGS]; // packets
	uint64_t full, partial; // packets of all groups but the last, and of the last one
};

// Whether all groups but the last fill their own headroom, and the last one fills the pool.
static bool run_pool(const struct policy *p, struct pool_run *r)
{
	struct memory memory = empty_memory(p);
	bool alike = true;

	for (unsigned i = 0; i < r->n; i++) {
		struct fill *f = &r->fill[i];

		*f = empty_class(p, r->ports[i / r->n_cls], r->to, r->cls[i % r->n_cls], SMALL,
				 &memory);
		fill_until_full(f);
		overflow(f);
		r->to_xoff[i] = f->n;
	}
	for (unsigned i = 0; i < r->n; i++) {
		struct fill *f = &r->fill[i];

		while (overflow(f))
			;
		r->partial = f->n - 1 - r->to_xoff[i];
		if (i == 0)
			r->full = r->partial;
		alike &= r->partial == r->full || i + 1 == r->n;
	}
	return alike && memory.pools.headroom_free < r->fill[0].cells;
}

static void print_list(FILE *out, const char *key, const unsigned *v, unsigned n)
{
	fprintf(out, "%*s%s: [", INDENT + 4, "", key);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s%u", i == 0 ? "" : ", ", v[i]);
	fputs("]\n", out);
}

static void print_pool_run(FILE *out, const struct policy *p, const struct pool_run *r)
{
	const struct classify_params *c = &p->ports[r->ports[0]].classify;
	unsigned dscps[N_PGS], pgs[N_PGS], cells = cells_of(&p->cell, SMALL);

	for (unsigned i = 0; i < r->n_cls; i++) {
		dscps[i] = (unsigned)code_point(c, r->cls[i]);
		pgs[i] = c->class_to_pg[r->cls[i]];
	}
	print_head(out, "hdrm_pool_size");
	print_list(out, "dscps", dscps, r->n_cls);
	print_number(out, field_names[FIELD_ECN], ECN_ECT1);
	print_list(out, "pgs", pgs, r->n_cls);
	print_list(out, "src_port_ids", r->ports, (r->n + r->n_cls - 1) / r->n_cls);
	print_number(out, "dst_port_id", r->to);
	print_number(out, "pgs_num", r->n);
	fprintf(out, "%*spkts_num_trig_pfc_shp: [", INDENT + 4, "");
	for (unsigned i = 0; i < r->n; i++)
		fprintf(out, "%s%" PRIu64, i == 0 ? "" : ", ", r->to_xoff[i] * cells);
	fputs("]\n", out);
	print_number(out, "pkts_num_hdrm_full", r->full * cells);
	print_number(out, "pkts_num_hdrm_partial", r->partial * cells);
	print_number(out, "margin", 0);
	print_number(out, field_names[FIELD_PACKET_SIZE], SMALL);
	print_number(out, field_names[FIELD_CELL_SIZE], p->cell.bytes);
}

// Where fewer groups than there are can fill the pool: ports like `from`, towards the last other
// port.
static void print_headroom_pool(FILE *out, const struct policy *p, unsigned from)
{
	struct pool_run *r = calloc(1, sizeof(*r));
	const struct policy_port *pp = &p->ports[from];
	uint64_t xoff;

	if (r == NULL)
		return;
	r->n_cls = groups_of(p, from, r->cls);
	r->to = p->n_ports - 1;
	for (unsigned i = 0; i < r->to; i++)
		if (memcmp(p->ports[i].pg, pp->pg, sizeof(pp->pg)) == 0 &&
		    memcmp(&p->ports[i].classify, &pp->classify, sizeof(pp->classify)) == 0)
			r->ports[r->n_ports++] = i;
	xoff = r->n_cls == 0 ? 0 : pp->pg[pp->classify.class_to_pg[r->cls[0]]].xoff_cells;
	if (xoff != 0)
		r->n = (unsigned)min_u64(p->buffer.headroom_pool_cells / xoff + 1,
					 r->n_ports * r->n_cls);
	// The packets that enter XOFF may fill what would be left for the last group.
	if (r->n > 1 && (run_pool(p, r) || (--r->n > 1 && run_pool(p, r))))
		print_pool_run(out, p, r);
	free(r);
}

// ---- profiles: ports of one speed and cable

static void qos_profile_name(const struct config *c, const struct policy *p, unsigned port,
			     char out[NAME_LEN])
{
	snprintf(out, NAME_LEN, "%" PRIu64 "_%gm", p->ports[port].speed_bps / MBPS,
		 (double)c->ports[port].item->cable.n / CM_PER_M);
}

// A port to which the packets of the tests go: another one of the same speed if there is one.
static unsigned port_to(const struct policy *p, unsigned from)
{
	unsigned other = from;

	for (unsigned i = p->n_ports; i-- > 0;) {
		if (i == from)
			continue;
		if (other == from || p->ports[i].speed_bps == p->ports[from].speed_bps)
			other = i;
	}
	return other;
}

static char *profile_text(const struct policy *p, unsigned port)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NULL;
	fprintf(f, "%*spkts_num_leak_out: 0\n", INDENT, "");
	print_lossless(f, p, port, port_to(p, port));
	print_lossy(f, p, port, port_to(p, port));
	print_headroom_pool(f, p, port);
	print_ecn(f, p, port, port_to(p, port));
	print_wrr(f, p, port, port_to(p, port));
	fprintf(f, "%*scell_size: %u\n", INDENT, "", p->cell.bytes);
	fclose(f);
	return text;
}

static bool both_same_text(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

// The profile of a port, unless a port before has the same.
static void print_profile(const struct config *c, const struct policy *p, char *const *text,
			  unsigned port, FILE *out)
{
	char name[NAME_LEN], other[NAME_LEN];
	bool taken = false;

	qos_profile_name(c, p, port, name);
	for (unsigned i = 0; i < port; i++) {
		qos_profile_name(c, p, i, other);
		if (!both_same_text(name, other))
			continue;
		if (both_same_text(text[i], text[port]))
			return;
		taken = true;
	}
	fprintf(out, "%*s# ports:", INDENT - 4, "");
	for (unsigned i = port; i < p->n_ports; i++) {
		qos_profile_name(c, p, i, other);
		if (both_same_text(name, other) && both_same_text(text[i], text[port]))
			fprintf(out, " %s", p->ports[i].name);
	}
	fprintf(out, "\n%*s%s%s%s:\n%s", INDENT - 4, "", name, taken ? "_" : "",
		taken ? p->ports[port].name : "", text[port] != NULL ? text[port] : "");
}

static void print_all(const struct config *c, const struct policy *p, FILE *out)
{
	char **text = calloc(p->n_ports, sizeof(*text));

	fprintf(out,
		"# Of %s, for SONiC's QoS tests: as qos_params.weir.yaml of tests/qos/files.\n"
		"# Hold the output with: weirctl set port PORT tx off\n"
		"# Numbers are cells in an empty switch. A packet of %u B takes %u of %u B.\n"
		"# A port with a receive ring drops later: it has memory beyond the buffer.\n"
		"qos_params:\n    weir:\n        topo-any:\n",
		p->name, SMALL, cells_of(&p->cell, SMALL), p->cell.bytes);
	for (unsigned i = 0; text != NULL && i < p->n_ports; i++)
		text[i] = profile_text(p, i);
	for (unsigned i = 0; text != NULL && i < p->n_ports; i++)
		print_profile(c, p, text, i, out);
	for (unsigned i = 0; text != NULL && i < p->n_ports; i++)
		free(text[i]);
	free(text);
}

int qos_params_print(const struct config *c, FILE *out)
{
	struct diags d = {0};
	struct policy *p = NULL;
	int err = config_compile(c, NULL, &p, &d);

	diags_print(&d);
	diags_fini(&d);
	if (err == 0)
		print_all(c, p, out);
	policy_destroy(p);
	return err == 0 ? 0 : BAD;
}
