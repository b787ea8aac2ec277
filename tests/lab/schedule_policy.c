// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/schedule_policy.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "dataplane/qos/pfc.h"
#include "tests/lab/schedule_net.h"
#include "tests/lab/schedule_text.h"

#define PICK(rng, table) ((table)[pick((rng), sizeof(table) / sizeof((table)[0]))])

enum { PFC_LINK_BYTES = 84, LINK_OVERHEAD = 24, TAGS = 8, MTU = 1500, HEADERS = 22 };

static unsigned pick(struct rng *rng, unsigned n)
{
	return rng_next(rng) % n;
}

void text_add(struct text *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	t->n += (size_t)vsnprintf(t->at + t->n, sizeof(t->at) - t->n, format, ap);
	va_end(ap);
	assert(t->n < sizeof(t->at));
}

void schedule_conf_draw(struct schedule_conf *c, struct rng *rng)
{
	static const unsigned cells[] = {96, 128, 256};
	static const unsigned buffers_kb[] = {1000, 1500, 4000};
	static const unsigned speeds[] = {10000, 10000, 10000, 1000, 25000};

	*c = (struct schedule_conf){
		.promise = pick(rng, 2),
		.n_workers = 1 + pick(rng, 3),
		.delay_ns = pick(rng, 1500),
		.rx_ring = pick(rng, 2) ? 256 : 0,
		.buffer_kb = PICK(rng, buffers_kb),
		.cell_bytes = PICK(rng, cells),
	};
	// Frames for all cells and copies: no more than the bench has.
	if (SCHEDULE_PORTS > 5) {
		c->buffer_kb = 6000;
		c->cell_bytes = c->cell_bytes < 256 ? 192 : 256;
	}
	c->learned = pick(rng, 2);
	c->full = c->learned && pick(rng, 24) == 0;
	c->flood = pick(rng, 2);
	c->copies_one_in = SCHEDULE_PORTS > 5 && pick(rng, 2) ? 2 : 30;
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		c->speed_mbps[p] = PICK(rng, speeds);
}

// Headroom in bytes for all that can arrive after the frame that entered XOFF, which takes
// headroom itself: the PAUSE waits for a frame that has just begun, travels, and the host ends the
// frame it is at. Frames of the worst length fill that time.
static unsigned headroom_needed(const struct schedule_conf *c)
{
	unsigned cell = c->cell_bytes, longest = (SCHEDULE_MAX_LEN + TAGS + cell - 1) / cell;
	uint64_t window = SCHEDULE_MAX_LEN + TAGS + LINK_OVERHEAD + PFC_LINK_BYTES, worst = 0;
	unsigned fastest = 0;

	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		fastest = c->speed_mbps[p] > fastest ? c->speed_mbps[p] : fastest;
	window += c->together ? NET_TUNNEL_BYTES : 0;
	window += (2 * c->delay_ns + 4) * fastest / 8000 + 1;
	for (unsigned len = SCHEDULE_MIN_LEN; len <= SCHEDULE_MAX_LEN; len++) {
		uint64_t cells = window * ((len + cell - 1) / cell) / (len + LINK_OVERHEAD) + 1;

		worst = cells > worst ? cells : worst;
	}
	return (unsigned)(worst + 2 * longest) * cell;
}

// `auto` plans for the speed of the policy, so it is right where that is the wire's; being generous
// it needs the largest buffer for three classes.
static void draw_headroom(struct text *t, const struct schedule_conf *c, struct rng *rng)
{
	if (t->full_speed && c->buffer_kb >= 4000 && pick(rng, 2))
		return;
	if (!c->promise && pick(rng, 2))
		text_add(t, ", headroom: %uKB", 1 + pick(rng, 8));
	else
		text_add(t, ", headroom: %u", headroom_needed(c) + 1000 * pick(rng, 10));
}

// Most windows are the shortest that a policy may have.
static void draw_short_auto(struct text *t, const struct schedule_conf *c, struct rng *rng)
{
	const char *const models[] = {"off", "builtin", c->ecn_model, c->ecn_model};
	static const char *const rails[] = {"", "", ", ceiling: 20KB", ", floor: 4KB"};

	text_add(t, ", ecn: {mode: auto, action: %s, step: %ums, model: %s%s}",
		 pick(rng, 8) ? "on" : "advise", 5 + pick(rng, 2) * pick(rng, 6), PICK(rng, models),
		 PICK(rng, rails));
}

static void draw_wred(struct text *t, const struct schedule_conf *c, struct rng *rng, bool lossless)
{
	unsigned kmin_kb = 2 + pick(rng, 30), kmax_kb = kmin_kb + pick(rng, 100);

	if (c->ecn_model != NULL && pick(rng, 8) != 0) {
		draw_short_auto(t, c, rng);
		return;
	}
	if (pick(rng, 3) == 0)
		return;
	if (pick(rng, 4) == 0) {
		text_add(t, ", ecn: {mode: auto, action: %s, step: %ums, model: %s%s}",
			 pick(rng, 4) ? "on" : "advise", 5 + pick(rng, 200),
			 pick(rng, 2) ? "off" : "builtin", pick(rng, 2) ? ", ceiling: 40KB" : "");
		return;
	}
	text_add(t,
		 ", wred: {ecn: %s, kmin: %uKB, kmax: %uKB, pmax: %u%%, mark_at: %s, weight: %u%s}",
		 pick(rng, 4) ? "on" : "off", kmin_kb, kmax_kb, pick(rng, 101),
		 pick(rng, 2) ? "enqueue" : "dequeue", pick(rng, 5),
		 lossless && !c->promise && pick(rng, 2) ? ", not_ect: drop" : "");
}

static void draw_schedule(struct text *t, struct rng *rng)
{
	bool strict = pick(rng, 4) == 0;

	if (strict)
		text_add(t, ", schedule: strict");
	else
		text_add(t, ", schedule: {dwrr: %u}", 1 + pick(rng, pick(rng, 2) ? 10 : 200));
	if (pick(rng, 6) == 0)
		text_add(t, ", max_rate: %uM", 200 + pick(rng, 2000));
	if (!strict && pick(rng, 6) == 0)
		text_add(t, ", min_rate: %uM", 1 + pick(rng, 100));
}

// Classes 0, 1, 4, 6 and 7 are lossy in every profile.
static void draw_sized(struct text *t, bool lossless)
{
	static const char *const sizes[] = {"elephants", "mice"};
	static const char *const colors[] = {"green", "yellow", "red"};
	static const unsigned lossy[] = {0, 1, 4, 6, 7};

	for (unsigned i = 0; t->elephants && i < 2; i++) {
		if (pick(&t->luck, 3) == 0)
			continue;
		text_add(t, ", %s: {color: %s", sizes[i], PICK(&t->luck, colors));
		if (!lossless && pick(&t->luck, 2))
			text_add(t, ", class: %u", PICK(&t->luck, lossy));
		if (!lossless && pick(&t->luck, 3) == 0)
			text_add(t, ", dscp: %u", pick(&t->luck, 64));
		text_add(t, "}");
	}
}

static void draw_elephants(struct text *t)
{
	static const char *const rates[] = {"1M", "10M", "100M", "1G"};
	static const char *const bytes[] = {"10KB", "20KB", "200KB"};
	static const char *const times[] = {"10us", "50us", "200us", "5ms"};

	const char *rate, *sent, *age;

	if (!t->elephants)
		return;
	rate = PICK(&t->luck, rates);
	sent = PICK(&t->luck, bytes);
	age = PICK(&t->luck, times);
	text_add(t,
		 " elephants: {rate: %s, bytes: %s, age: %s, end_age: %s, mice_packets: %u},",
		 rate, sent, age, age, pick(&t->luck, 20));
}

// The trim queue is that of class 6 or 7, which do not trim.
static void draw_trim(struct text *t)
{
	static const unsigned sizes[] = {64, 128, 128, 400, 1000}, shares[] = {1, 10, 100, 100};

	if (t->trims)
		text_add(t, " trim: {size: %u, dscp: 48, queue: %u, lengths: %s, share: %u%%},",
			 PICK(&t->cuts, sizes), 6 + pick(&t->cuts, 2),
			 pick(&t->cuts, 2) ? "exact" : "keep", PICK(&t->cuts, shares));
}

static void draw_lossless(struct text *t, const struct schedule_conf *c, struct rng *rng,
			  unsigned cls)
{
	static const char *const thresholds[] = {
		"alpha: 1/64", "alpha: 1/16", "alpha: 1/16", "alpha: 1/4",
		"alpha: 1",    "alpha: 8",    "static: 9KB", "static: 5%",
	};
	static const char *const mins[] = {"0", "0", "3KB", "1600"};
	static const char *const offsets[] = {"", ", xon_offset: 0", ", xon_offset: 4KB",
					      ", xon: 2KB, xon_offset: 100%"};

	text_add(t, "      %u: {lossless: true, flood: %s, ingress: {min: %s, %s%s", cls,
		 c->flood ? "on" : "off", PICK(rng, mins), PICK(rng, thresholds),
		 PICK(rng, offsets));
	draw_headroom(t, c, rng);
	text_add(t, "}");
	if (!keys_of_class(t, cls))
		draw_wred(t, c, rng, true);
	draw_sized(t, true);
	draw_schedule(t, rng);
	text_add(t, "}\n");
}

static void draw_lossy(struct text *t, const struct schedule_conf *c, struct rng *rng, unsigned cls)
{
	static const char *const queues[] = {"alpha: 1", "alpha: 1/8", "alpha: 1/64, min: 4KB",
					     "static: 30KB"};

	text_add(t, "      %u: {egress: {%s%s}", cls, PICK(rng, queues),
		 t->trims && cls < 6 && pick(&t->cuts, 3) != 0 ? ", discard: trim" : "");
	if (pick(rng, 4) == 0)
		text_add(t, ", ingress: {static: %uKB}", 4 + pick(rng, 100));
	if (!keys_of_class(t, cls))
		draw_wred(t, c, rng, false);
	draw_sized(t, false);
	draw_schedule(t, rng);
	text_add(t, "}\n");
}

static unsigned mtu_of(const struct schedule_conf *c, unsigned port)
{
	return c->together && port == NET_ROUTED_PORT ? MTU + NET_TUNNEL_BYTES : MTU;
}

// Also the fewest quanta that `check` takes, and some more: the PAUSE is repeated before it runs
// out, behind the longest frame.
static unsigned draw_quanta(struct text *t, const struct schedule_conf *c, struct rng *rng)
{
	static const unsigned quanta[] = {65535, 4000, 300, 0};
	unsigned n = PICK(rng, quanta), longest = mtu_of(c, NET_ROUTED_PORT) + HEADERS;

	if (n != 0)
		return n;
	return pfc_least_quanta(pfc_bytes_before(longest, 0)) +
	       (c->together && pick(&t->more, 2) ? pick(&t->more, 40) : 0);
}

// Class 0 keeps its defaults: it carries the copies, and the probes of the end.
static void draw_profile(struct text *t, const struct schedule_conf *c, struct rng *rng,
			 const char *name)
{
	static const char *const maps[] = {
		"",
		"    dscp_to_class: {26: 5, 42: 3}\n",
		"    dscp_to_class: {24-31: 5, 40-47: 3, 8-15: 2}\n",
		"    dscp_to_class: {16-23: 3, 49-63: 5}\n",
	};
	static const char *const groups[] = {
		"",
		"    class_to_pg: {3: 5, 5: 3}\n",
		"    class_to_pg: {2: 3, 3: 5, 5: 2}\n",
	};
	static const char *const queues[] = {"", "    class_to_queue: {3: 5, 5: 3}\n"};
	static const uint8_t lossless_sets[] = {
		1 << 3, 1 << 3 | 1 << 5, 1 << 3 | 1 << 5, 1 << 5, 0, 1 << 2 | 1 << 3 | 1 << 5};
	uint8_t lossless = c->same_classes ? 1 << 3 | 1 << 5 : PICK(rng, lossless_sets);

	text_add(t, "  %s:\n%s", name, c->same_classes ? "" : PICK(rng, maps));
	if (c->moves_groups)
		text_add(t, "%s%s", PICK(rng, groups), PICK(rng, queues));
	text_add(t, "    pfc: {quanta: %u%s%s%s}\n", draw_quanta(t, c, rng),
		 c->whole_link && pick(&t->more, 2) ? ", whole_link: on" : "",
		 !c->promise && pick(rng, 4) == 0 ? ", rx: off" : "",
		 !c->promise && pick(rng, 4) == 0 ? ", tx: off" : "");
	keys_of_profile(t, lossless);
	if (pick(rng, 4) == 0)
		text_add(t, "    remark: {dscp: {1: 9, 6: 50}, pcp: class}\n");
	text_add(t, "    dscp_to_color: {8-11: yellow, 16-19: red}\n    classes:\n");
	for (unsigned cls = 1; cls < 8; cls++) {
		if (lossless >> cls & 1)
			draw_lossless(t, c, rng, cls);
		else if (cls == 1 || pick(rng, 2))
			draw_lossy(t, c, rng, cls);
	}
}

static void draw_ports(struct text *t, const struct schedule_conf *c, struct rng *rng, bool first)
{
	static const char *const guards[] = {"50%", "50%", "25%"};
	static const unsigned slower[] = {1, 1, 1, 2, 4};

	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		unsigned speed = c->speed_mbps[p] / (first ? 1 : PICK(rng, slower));

		t->full_speed &= speed == c->speed_mbps[p];
		text_add(t,
			 "  - {name: p%u, device: \"wire:w%u\", speed: %uM, mtu: %u, cable: %um, "
			 "profile: %s, rx_guard: %s",
			 p + 1, p + 1, speed, mtu_of(c, p), (unsigned)(c->delay_ns / 5 + 1),
			 !c->promise && pick(rng, 4) == 0 ? "y" : "x", PICK(rng, guards));
		if (c->routed)
			text_add(t, ", ip: [\"10.0.%u.1/24\", \"fd00:%u::1/64\"]", p + 1, p + 1);
		keys_of_port(t, p);
		text_add(t, "}\n");
	}
}

// Where hosts are.
static void add_stations(struct text *t, const struct schedule_conf *c)
{
	if (c->learned && !c->routed)
		return;
	text_add(t, c->routed ? "neighbours:\n" : "fdb:\n");
	for (unsigned p = 1; p <= SCHEDULE_PORTS; p++) {
		if (!c->routed)
			text_add(t, "  - {mac: \"02:00:00:00:00:%02x\", port: p%u}\n", p, p);
		else
			text_add(t,
				 "  - {ip: 10.0.%u.2, mac: \"02:00:00:00:00:%02x\"}\n"
				 "  - {ip: \"fd00:%u::2\", mac: \"02:00:00:00:00:%02x\"}\n",
				 p, p, p, p);
	}
}

const char *schedule_policy(const struct schedule_conf *c, struct rng *rng, bool first)
{
	static struct text t;
	struct rng windows = *rng; // as for elephants, and the next one

	t.n = 0;
	t.full_speed = true;
	t.luck = *rng;
	t.cuts = *rng;
	t.trims = pick(&t.cuts, 2);
	t.elephants = c->elephants && pick(&t.luck, 4) != 0;
	keys_draw(&t, c, rng);
	text_add(&t, "switch: {name: lab, workers: %u, mac_age: 3600s, mac_move_limit: 0,%s",
		 c->n_workers, c->flows ? " flows: {max: 64, age: 5ms}," : "");
	if (pick(&windows, 2))
		text_add(&t, " microbursts: {window: %s},", pick(&windows, 2) ? "1ms" : "100us");
	draw_elephants(&t);
	draw_trim(&t);
	text_add(&t, "\n  buffer: {size: %uKB, cell: %uB%s}}\n", c->buffer_kb, c->cell_bytes,
		 !c->promise && pick(rng, 3) == 0 ? ", oversubscription: 3" : "");
	text_add(&t, "ports:\n");
	draw_ports(&t, c, rng, first);
	if (!keys_have_vlans(&t))
		add_stations(&t, c);
	keys_of_policy(&t, c);
	text_add(&t, "profiles:\n");
	draw_profile(&t, c, rng, "x");
	draw_profile(&t, c, rng, "y");
	return t.at;
}
