// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/qos_params.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/compile.h"
#include "control/config/config.h"
#include "dataplane/units.h"

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

struct fill {
	const struct pg_params *pg;
	const struct egress_params *queue;
	struct pg_pools *pools;
	struct pg_state group;
	struct egress_state held;
	uint64_t lossy_free;
	uint32_t cells; // of a frame
	uint64_t n, n_min; // frames that were taken, and those in min
};

static void act(struct fill *f, struct pg_decision d, enum egress_verdict e, uint32_t frames)
{
	struct pg_delta delta = pg_charge(&f->group, d, frames * f->cells);

	f->pools->ingress_free -= (uint64_t)delta.ingress;
	f->pools->headroom_free -= (uint64_t)delta.headroom;
	f->lossy_free -= (uint64_t)egress_charge(&f->held, e, frames * f->cells).lossy;
	f->n += frames;
	f->n_min += d.verdict == PG_MIN ? frames : 0;
}

static bool take(struct fill *f, uint32_t frames)
{
	uint32_t c = frames * f->cells;
	enum pg_verdict v = pg_room(f->pg, &f->group, f->pools, c, f->cells);
	enum egress_verdict e = egress_decide(f->queue, &f->held, f->lossy_free, c, f->cells);

	if (v == PG_NO_ROOM || e == EGRESS_DROP || e == EGRESS_SPLIT)
		return false;
	act(f, (struct pg_decision){.verdict = v}, e, frames);
	return true;
}

// Until the group or the queue has no room for one more frame.
static void fill(struct fill *f)
{
	uint32_t frames = 1;

	while (frames != 0) {
		if (!take(f, frames))
			frames /= 2;
		else if (frames < MOST_AT_ONCE)
			frames *= 2;
	}
}

// One frame beyond the thresholds. False: it is dropped.
static bool overflow(struct fill *f)
{
	struct pg_decision d = pg_decide(f->pg, &f->group, f->pools, 0, f->cells);

	act(f, d, EGRESS_LOSSLESS, 1);
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
		uint64_t free_cells = f->pools->ingress_free - (uint64_t)d.ingress;

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

static struct fill empty_class(const struct policy *p, unsigned from, unsigned to, unsigned cls,
			       struct pg_pools *pools)
{
	const struct policy_port *in = &p->ports[from], *out = &p->ports[to];

	return (struct fill){
		.pg = &in->pg[in->classify.class_to_pg[cls]],
		.queue = &out->queue[in->classify.class_to_queue[cls]].egress,
		.pools = pools,
		.lossy_free = p->buffer.egress_lossy_cells,
		.cells = cells_of(&p->cell, SMALL),
	};
}

static struct pg_pools empty_pools(const struct policy *p)
{
	return (struct pg_pools){.ingress_free = p->buffer.ingress_pool_cells,
				 .headroom_free = p->buffer.headroom_pool_cells};
}

// The rules of the tests count cells where a packet has several.
static void store(struct class_numbers *n, enum number i, uint64_t packets, const struct fill *f)
{
	n->of[i] = packets * f->cells;
}

static struct class_numbers numbers_of(const struct policy *p, unsigned from, unsigned to,
				       unsigned cls)
{
	const struct policy_port *in = &p->ports[from];
	unsigned queue = in->classify.class_to_queue[cls];
	struct pg_pools pools = empty_pools(p);
	struct fill f = empty_class(p, from, to, cls, &pools);
	struct class_numbers n = {.cls = cls};
	int dscp = code_point(&in->classify, cls);

	n.of[NUM_DSCP] = (uint64_t)dscp;
	n.of[NUM_ECT] = ECN_ECT1; // as the tests send
	n.of[NUM_PG] = in->classify.class_to_pg[cls];
	n.of[NUM_QUEUE] = queue;
	n.of[NUM_SMALL] = SMALL;
	n.of[NUM_CELL] = p->cell.bytes;
	n.of[NUM_WHOLE] = (uint64_t)f.cells * p->cell.bytes;
	fill(&f);
	store(&n, NUM_MIN, f.n_min, &f);
	store(&n, NUM_ROOM, f.n, &f);
	store(&n, NUM_EGRESS_DROP, f.n + 1, &f);
	if (dscp < 0)
		n.why_not = "no code point has the class";
	else if (wred_drops_first(&p->ports[to].queue[queue]))
		n.why_not = "WRED drops packets before the buffer is full";
	else if (f.pg->lossless && !(in->pfc.tx >> cls & 1))
		n.why_not = "the class sends no PFC";
	else if (!f.pg->lossless && pg_room(f.pg, &f.group, &pools, f.cells, f.cells) == PG_NO_ROOM)
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
	"dscp", "ecn", "pg", "queue", "pkts_num_fill_min", "pkts_num_trig_pfc",
	"pkts_num_trig_ingr_drp", "pkts_num_dismiss_pfc", "pkts_num_trig_egr_drp",
	"pkts_num_margin", "packet_size", "cell_size",
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
	{"lossy_queue_1", false, false,
	 {{FIELD_DSCP, NUM_DSCP}, {FIELD_ECN, NUM_ECT}, {FIELD_PG, NUM_PG},
	  {FIELD_TRIG_EGR_DRP, NUM_EGRESS_DROP}, {FIELD_MARGIN, NUM_ZERO},
	  {FIELD_PACKET_SIZE, NUM_SMALL}, {FIELD_CELL_SIZE, NUM_CELL}}},
	{"wm_pg_shared_lossy", false, false,
	 {{FIELD_DSCP, NUM_DSCP}, {FIELD_ECN, NUM_ECT}, {FIELD_PG, NUM_PG},
	  {FIELD_FILL_MIN, NUM_MIN}, {FIELD_TRIG_EGR_DRP, NUM_EGRESS_DROP},
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

static void print_why_not(FILE *out, const struct class_numbers *n)
{
	fprintf(out, "%*s# class %u: %s\n", INDENT, "", n->cls, n->why_not);
}

// Of a lossless class with the number `no`, or of the lossy class.
static void print_class(FILE *out, const struct class_numbers *n, bool lossless, unsigned no)
{
	for (const struct section *s = sections; s < sections + N_SECTIONS; s++)
		if (s->lossless == lossless && (s->numbered || no == 1))
			print_section(out, s, n, no);
}

static void print_lossless(FILE *out, const struct policy *p, unsigned from, unsigned to)
{
	unsigned no = 0;

	for_each_bit (cls, p->ports[from].classify.lossless) {
		const struct class_numbers n = numbers_of(p, from, to, cls);

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
		const struct class_numbers n = numbers_of(p, from, to, cls);

		if (n.why_not == NULL) {
			print_class(out, &n, false, 1);
			return;
		}
		print_why_not(out, &n);
	}
}

// ---- profiles: ports of one speed and cable

static void profile_name(const struct config *c, const struct policy *p, unsigned port,
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
	fprintf(f, "%*scell_size: %u\n", INDENT, "", p->cell.bytes);
	fclose(f);
	return text;
}

static bool same(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

// The profile of a port, unless a port before has the same.
static void print_profile(const struct config *c, const struct policy *p, char *const *text,
			  unsigned port, FILE *out)
{
	char name[NAME_LEN], other[NAME_LEN];
	bool taken = false;

	profile_name(c, p, port, name);
	for (unsigned i = 0; i < port; i++) {
		profile_name(c, p, i, other);
		if (!same(name, other))
			continue;
		if (same(text[i], text[port]))
			return;
		taken = true;
	}
	fprintf(out, "%*s# ports:", INDENT - 4, "");
	for (unsigned i = port; i < p->n_ports; i++) {
		profile_name(c, p, i, other);
		if (same(name, other) && same(text[i], text[port]))
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
