// SPDX-License-Identifier: Apache-2.0
// The control thread's side of the watchdog: it counts the storms that workers report, escalates
// when there are too many, warns of high PFC rates, and passes on what operators ask for. The
// owners of the ports detect, recover and discard (storm.h).
//
// Control reads the watchdogs' counters in each loop. The records of storms are for the log only.
// An escalation comes at the same storm whether a record is late, lost, or has no room.
//
// An escalation is the operator's business from then on: it outlasts reloads, whatever they say of
// the watchdog, until `recover`. Only a class that is no longer lossless leaves it by itself: it
// has no PFC that could be off.
#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "dataplane/policy.h"
#include "dataplane/svi.h"

enum {
	RATES_EVERY_NS = 100000000,
	IGNORED_LOOKS = 10, // a second; each finds frames of a peer that does not obey a pause
	IGNORED_FRAMES = 100, // ... and all together these, at least
	IGNORED_SAY_S = 10, // between two events of a class
};

// Of one port; made with its first storm.
struct storm_port {
	uint64_t counted[N_CLASSES], all_counted; // storms that escalation knows of
	struct watchdog_limit *limit[N_CLASSES]; // NULL: no storm since one could escalate
};

// Of one port; made when its policy first warns.
struct storm_rates {
	struct pfc_rate in[N_CLASSES], out[N_CLASSES], paused[N_CLASSES];
	uint64_t paused_us[N_CLASSES]; // since the start, as last read
};

// Of one port; made with its first pause of the peer.
struct pause_answers {
	struct pause_answer {
		uint64_t since_ns; // when the pause began that is looked at; 0: none
		uint64_t first, last; // arrivals by the start of the second, and by the latest look
		uint64_t said_ns; // when the latest event was made
		unsigned looks; // of the present second
	} of[N_CLASSES];
};

// ---- records of control's own

void control_say(struct weir_switch *sw, enum event_type type, unsigned port, unsigned cls,
		 uint32_t a, uint64_t b)
{
	struct storms *s = &sw->storms;

	if (s->n_own == OWN_EVENTS) {
		s->own_lost++;
		return;
	}
	s->own[s->n_own++] = (struct event){
		.type = (uint8_t)type, .port = (port_no_t)port, .cls = (uint8_t)cls,
		.a = a, .b = b};
}

unsigned storms_say(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n)
{
	struct storms *s = &sw->storms;
	unsigned k = s->n_own < n ? s->n_own : n;

	for (unsigned i = 0; i < k; i++) {
		events[i] = s->own[i];
		events[i].t_ns = now_ns;
	}
	s->n_own -= k;
	memmove(s->own, s->own + k, s->n_own * sizeof(s->own[0]));
	return k;
}

// ---- escalation

void control_port_down(struct weir_switch *sw, unsigned port)
{
	bool down = sw->storms.link_down[port] || sw->storms.taken_down[port] != 0 ||
		    loops_hold(sw, port);

	if (down == atomic_load(&sw->want.down[port]))
		return;
	atomic_store(&sw->want.down[port], down);
	svis_links(sw);
	control_request(sw);
	if (down)
		fdb_make_stale(&sw->fdb, (port_no_t)port);
}

static void want_pfc_off(struct weir_switch *sw, unsigned port, uint8_t classes)
{
	if (classes == atomic_load(&sw->want.pfc_off[port]))
		return;
	atomic_store(&sw->want.pfc_off[port], classes);
	control_request(sw);
}

static bool escalated(const struct weir_switch *sw, unsigned port, unsigned cls)
{
	return (atomic_load(&sw->want.pfc_off[port]) | sw->storms.taken_down[port]) >> cls & 1;
}

static void escalate(struct weir_switch *sw, unsigned port, unsigned cls)
{
	const struct watchdog_params *wp = &sw->policy_mem->ports[port].watchdog;
	uint8_t bit = (uint8_t)(1u << cls);

	if (wp->then == WATCHDOG_PORT_DOWN) {
		sw->storms.taken_down[port] |= bit;
		control_port_down(sw, port);
	} else {
		want_pfc_off(sw, port, atomic_load(&sw->want.pfc_off[port]) | bit);
	}
	control_say(sw, EVENT_STORM_LIMIT, port, cls, wp->then, wp->limit_count);
}

static void *made(void *memory, size_t size)
{
	return memory != NULL ? memory : rte_zmalloc("storms", size, 64);
}

// Without memory the storm is not counted: the watchdog itself needs none. A storm whose time is
// lost (t_ns is 0) does not count either: it may be older than the window.
static void count_storm(struct weir_switch *sw, unsigned port, unsigned cls, uint64_t t_ns)
{
	const struct watchdog_params *wp = &sw->policy_mem->ports[port].watchdog;
	struct storm_port *sp = sw->storms.port[port];

	sp->counted[cls]++;
	sp->all_counted++;
	if (t_ns == 0 || wp->limit_count == 0 || !(wp->classes >> cls & 1) ||
	    escalated(sw, port, cls))
		return;
	sp->limit[cls] = made(sp->limit[cls], sizeof(*sp->limit[cls]));
	if (sp->limit[cls] != NULL && watchdog_limit_storm(wp, sp->limit[cls], t_ns))
		escalate(sw, port, cls);
}

static bool know_port(struct weir_switch *sw, unsigned port)
{
	sw->storms.port[port] = made(sw->storms.port[port], sizeof(struct storm_port));
	return sw->storms.port[port] != NULL;
}

static void count_new(struct weir_switch *sw, unsigned port)
{
	const struct storm_port *sp = sw->storms.port[port];

	for (unsigned c = 0; c < N_CLASSES; c++) {
		const struct watchdog_class *w = &sw->port[port]->watchdog[c];
		uint64_t detected = ctr_get(&w->detected);

		while (sp->counted[c] != detected)
			count_storm(sw, port, c, watchdog_detected_ns(w, sp->counted[c]));
	}
}

void storms_pass(struct weir_switch *sw)
{
	for (unsigned port = 0; port < sw->n_ports; port++) {
		uint64_t detected = ctr_get(&sw->port[port]->storms);

		if (detected != 0 && know_port(sw, port) &&
		    sw->storms.port[port]->all_counted != detected)
			count_new(sw, port);
	}
}

// ---- early warning

static void look_at_rate(struct weir_switch *sw, unsigned port, unsigned cls, bool out,
			 uint64_t now_ns)
{
	const struct policy_port *pp = &sw->policy_mem->ports[port];
	const struct port *p = sw->port[port];
	const struct pfc_class_stats *st = out ? &p->pfc_tx.stats[cls] : &p->pfc_rx.stats[cls];
	struct storm_rates *rates = sw->storms.rates[port];
	struct pfc_rate *r = out ? &rates->out[cls] : &rates->in[cls];
	uint32_t threshold = out ? pp->pfc_warning.out_pps : pp->pfc_warning.in_pps;
	enum pfc_rate_verdict v;
	uint64_t pps;

	if (!(pp->classify.lossless >> cls & 1))
		threshold = 0;
	v = pfc_rate_look(r, threshold, ctr_get(&st->frames), now_ns, &pps);
	if (v != PFC_RATE_SAME)
		control_say(sw, v == PFC_RATE_UP ? EVENT_PFC_RATE_UP : EVENT_PFC_RATE_DOWN, port,
			    cls, out, pps);
}

// The owner may end a pause between the two loads. Then its time is missing until the next look.
static uint64_t paused_ns(const struct pfc_class_stats *st, uint64_t now_ns)
{
	uint64_t ended_ns = atomic_load_explicit(&st->duration_ns, memory_order_acquire);
	uint64_t since_ns = gauge_get(&st->since_ns);

	return ended_ns + (since_ns != 0 && now_ns > since_ns ? now_ns - since_ns : 0);
}

static void look_at_pauses(struct weir_switch *sw, unsigned port, unsigned cls, uint64_t now_ns)
{
	const struct policy_port *pp = &sw->policy_mem->ports[port];
	struct storm_rates *rates = sw->storms.rates[port];
	uint64_t us = paused_ns(&sw->port[port]->pfc_rx.stats[cls], now_ns) / 1000, last_second;
	uint32_t most = pp->classify.lossless >> cls & 1 ? pp->pfc_warning.paused_us : 0;
	enum pfc_rate_verdict v;

	if (us > rates->paused_us[cls])
		rates->paused_us[cls] = us;
	v = pfc_rate_look(&rates->paused[cls], most, rates->paused_us[cls], now_ns, &last_second);
	if (last_second > SECOND_US)
		last_second = SECOND_US; // the look was late: the tenths hold more than a second
	if (v != PFC_RATE_SAME)
		control_say(sw, v == PFC_RATE_UP ? EVENT_PFC_PAUSED : EVENT_PFC_PAUSED_OVER, port,
			    cls, 0, last_second);
}

static void look_at_rates(struct weir_switch *sw, unsigned port, uint64_t now_ns)
{
	const struct pfc_warning_params *wp = &sw->policy_mem->ports[port].pfc_warning;

	if ((wp->in_pps | wp->out_pps | wp->paused_us) == 0 && sw->storms.rates[port] == NULL)
		return;
	sw->storms.rates[port] = made(sw->storms.rates[port], sizeof(struct storm_rates));
	if (sw->storms.rates[port] == NULL)
		return; // and again with the next look
	for (unsigned c = 0; c < N_CLASSES; c++) {
		look_at_rate(sw, port, c, false, now_ns);
		look_at_rate(sw, port, c, true, now_ns);
		look_at_pauses(sw, port, c, now_ns);
	}
}

// ---- peers that do not obey PAUSE

static bool pauses_peer(const struct port *p)
{
	uint64_t any = 0;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		any |= gauge_get(&p->pfc_tx.stats[cls].since_ns);
	return any != 0;
}

// Arrivals are known by group. When all of its classes were paused; 0: one of them may send.
static uint64_t group_paused_ns(const struct classify_params *c, const struct port *p, unsigned pg)
{
	uint64_t all_ns = 0;

	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		uint64_t since_ns = gauge_get(&p->pfc_tx.stats[cls].since_ns);

		if (c->class_to_pg[cls] != pg)
			continue;
		if (since_ns == 0)
			return 0;
		all_ns = max_u64(all_ns, since_ns);
	}
	return all_ns;
}

// Of several classes in one group the lowest stands for them.
static bool stands_for_group(const struct classify_params *c, unsigned cls)
{
	for (unsigned lower = 0; lower < cls; lower++)
		if (c->class_to_pg[lower] == c->class_to_pg[cls])
			return false;
	return c->lossless >> cls & 1;
}

// A peer that obeys sends nothing from a response time after the PAUSE on. Frames of before, and
// of a PAUSE that was repeated late, come in one look and not in those around it.
static void look_at_answer(struct weir_switch *sw, unsigned port, unsigned cls, uint64_t now_ns)
{
	const struct classify_params *c = &sw->policy_mem->ports[port].classify;
	const struct port *p = sw->port[port];
	struct pause_answer *a = &sw->storms.answers[port]->of[cls];
	unsigned pg = c->class_to_pg[cls];
	uint64_t since_ns = group_paused_ns(c, p, pg);
	uint64_t frames = ctr_get(&p->pg[pg].c.rx_packets), came;

	if (since_ns == 0 || since_ns != a->since_ns || frames == a->last) {
		*a = (struct pause_answer){since_ns, frames, frames, a->said_ns, 0};
		return;
	}
	a->last = frames;
	if (++a->looks < IGNORED_LOOKS)
		return;
	came = frames - a->first;
	a->first = frames;
	a->looks = 0;
	if (came < IGNORED_FRAMES)
		return;
	ctr_add(&sw->storms.ignored[port], came);
	if (a->said_ns != 0 && now_ns - a->said_ns < IGNORED_SAY_S * (uint64_t)SECOND_NS)
		return;
	a->said_ns = now_ns;
	control_say(sw, EVENT_PAUSE_IGNORED, port, cls, 0, came);
}

static void look_at_answers(struct weir_switch *sw, unsigned port, uint64_t now_ns)
{
	const struct classify_params *c = &sw->policy_mem->ports[port].classify;
	struct storms *s = &sw->storms;

	if (s->answers[port] == NULL && !pauses_peer(sw->port[port]))
		return;
	s->answers[port] = made(s->answers[port], sizeof(*s->answers[port]));
	for (unsigned cls = 0; s->answers[port] != NULL && cls < N_CLASSES; cls++)
		if (stands_for_group(c, cls))
			look_at_answer(sw, port, cls, now_ns);
}

uint64_t switch_pause_ignored(const struct weir_switch *sw, unsigned port)
{
	return ctr_get(&sw->storms.ignored[port]);
}

void storms_rates(struct weir_switch *sw, uint64_t now_ns)
{
	if (sw->storms.rates_ns != 0 && now_ns - sw->storms.rates_ns < RATES_EVERY_NS)
		return;
	sw->storms.rates_ns = now_ns;
	for (unsigned port = 0; port < sw->n_ports; port++) {
		look_at_rates(sw, port, now_ns);
		if (switch_port(sw, port)->facts.pfc_tx)
			look_at_answers(sw, port, now_ns);
	}
}

// ---- what operators ask for, and reloads

static void forget_storms(struct weir_switch *sw, unsigned port, unsigned cls)
{
	struct storm_port *sp = sw->storms.port[port];

	if (sp != NULL && sp->limit[cls] != NULL)
		sp->limit[cls]->n = 0;
}

static void end_escalations(struct weir_switch *sw, unsigned port, uint8_t classes)
{
	sw->storms.taken_down[port] &= (uint8_t)~classes;
	control_port_down(sw, port);
	want_pfc_off(sw, port, atomic_load(&sw->want.pfc_off[port]) & (uint8_t)~classes);
}

void storms_new_policy(struct weir_switch *sw)
{
	for (unsigned port = 0; port < sw->n_ports; port++) {
		uint8_t lossy = (uint8_t)~sw->policy_mem->ports[port].classify.lossless;

		for (unsigned c = 0; c < N_CLASSES; c++)
			if ((lossy >> c & 1) && escalated(sw, port, c))
				control_say(sw, EVENT_STORM_RECOVERED, port, c, 0, 0);
		end_escalations(sw, port, lossy);
		if (sw->storms.answers[port] != NULL) // classes may be in other groups now
			*sw->storms.answers[port] = (struct pause_answers){0};
	}
}

static bool in_storm(const struct weir_switch *sw, unsigned port, unsigned cls)
{
	return watchdog_stormed(&sw->port[port]->watchdog[cls]);
}

// The class's byte grows; it never carries into its neighbour's.
static void want_recovered(struct weir_switch *sw, unsigned port, unsigned cls)
{
	uint64_t bytes = atomic_load(&sw->want.recover[port]), mask = 0xffull << 8 * cls;

	atomic_store(&sw->want.recover[port],
		     (bytes & ~mask) | ((bytes + (1ull << 8 * cls)) & mask));
	control_request(sw);
}

uint64_t switch_watchdog_recover(struct weir_switch *sw, unsigned port, unsigned cls, int *err)
{
	bool stormed, was_escalated;

	*err = -EINVAL;
	if (port >= sw->n_ports || cls >= N_CLASSES)
		return 0;
	stormed = in_storm(sw, port, cls);
	was_escalated = escalated(sw, port, cls);
	if (!stormed && !was_escalated)
		return 0;
	*err = 0;
	if (stormed)
		want_recovered(sw, port, cls);
	end_escalations(sw, port, (uint8_t)(1u << cls));
	forget_storms(sw, port, cls);
	control_say(sw, EVENT_STORM_RECOVERED, port, cls, 0, 0);
	return atomic_load(&sw->want.seq);
}

uint64_t switch_watchdog_drop_all(struct weir_switch *sw, bool on)
{
	if (on != atomic_load(&sw->want.drop_all)) {
		atomic_store(&sw->want.drop_all, on);
		control_say(sw, EVENT_DROP_ALL, PORT_NONE, CLASS_NONE, on, 0);
		control_request(sw);
	}
	return atomic_load(&sw->want.seq);
}

bool switch_watchdog_drops_all(const struct weir_switch *sw)
{
	return atomic_load_explicit(&sw->want.drop_all, memory_order_relaxed);
}

// ---- read

const struct watchdog_class *switch_watchdog(const struct weir_switch *sw, unsigned port,
					     unsigned cls)
{
	return &sw->port[port]->watchdog[cls];
}

enum watchdog_status switch_watchdog_status(const struct weir_switch *sw, unsigned port,
					    unsigned cls)
{
	const struct policy_port *pp = &sw->policy_mem->ports[port];

	if (sw->storms.taken_down[port] >> cls & 1)
		return WATCHDOG_IS_PORT_DOWN;
	if (switch_watchdog_drops_all(sw) && (pp->classify.lossless >> cls & 1))
		return WATCHDOG_DROPS_ALL;
	if (escalated(sw, port, cls))
		return WATCHDOG_IS_PFC_OFF;
	if (in_storm(sw, port, cls))
		return WATCHDOG_IN_STORM;
	return pp->watchdog.classes >> cls & 1 ? WATCHDOG_OPERATIONAL : WATCHDOG_OFF;
}

bool switch_watchdog_recovers(const struct weir_switch *sw, unsigned port, unsigned cls)
{
	switch (switch_watchdog_status(sw, port, cls)) {
	case WATCHDOG_OFF:
	case WATCHDOG_OPERATIONAL:
		return false;
	case WATCHDOG_IN_STORM:
		return sw->policy_mem->ports[port].watchdog.action != WATCHDOG_ALERT;
	default:
		return true;
	}
}

bool switch_in_storm(const struct weir_switch *sw, unsigned port)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		enum watchdog_status s = switch_watchdog_status(sw, port, cls);

		if (s == WATCHDOG_IN_STORM || s == WATCHDOG_IS_PFC_OFF)
			return true;
	}
	return false;
}

void storms_free(struct weir_switch *sw)
{
	for (unsigned port = 0; port < sw->n_ports; port++) {
		struct storm_port *sp = sw->storms.port[port];

		for (unsigned c = 0; sp != NULL && c < N_CLASSES; c++)
			rte_free(sp->limit[c]);
		rte_free(sp);
		rte_free(sw->storms.rates[port]);
		rte_free(sw->storms.answers[port]);
	}
}
