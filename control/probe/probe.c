// SPDX-License-Identifier: Apache-2.0
#include "control/probe/probe.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/base/units.h"
#include "dataplane/packet/pfc_frame.h"
#include "dataplane/packet/wire.h"
#include "dataplane/qos/pfc.h"
#include "dataplane/qos/shaper.h"

enum {
	HELLO_TRIES = 5,
	QUIET_SETTLES = 10, // without a frame, until missing frames are lost
	OBEY_FRAMES = 16,
	OBEY_TRIES = 4,
	PATH_FRAMES = 8,
	RENEWALS = 8, // of a PAUSE in its lifetime
	CLOSE_PERCENT = 25, // speeds that differ by less are the same
	NO_TRIAL = 0, // the number of hello frames
};

static const uint64_t storm_ns = 10 * (uint64_t)SECOND_NS; // of PAUSE, without a frame of ours

int probe_init(struct probe *p, const struct probe_conf *conf, const struct probe_io *io)
{
	*p = (struct probe){.conf = *conf, .io = *io};
	p->seen = calloc(conf->most, sizeof(*p->seen));
	return p->seen == NULL ? -ENOMEM : 0;
}

void probe_fini(struct probe *p)
{
	free(p->seen);
	p->seen = NULL;
}

uint64_t probe_now(struct probe *p)
{
	return p->io.now(p->io.of);
}

void probe_run(struct probe *p, uint64_t for_ns)
{
	p->io.run(p->io.of, probe_now(p) + for_ns);
}

uint64_t probe_wire_ns(const struct probe *p, enum probe_port port, uint32_t len)
{
	return ((len + LINK_OVERHEAD_BYTES) * 8ull * SECOND_NS + p->conf.speed_bps[port] - 1) /
	       p->conf.speed_bps[port];
}

// ---- what arrives

static void receive_pfc(struct probe *p, enum probe_port port, const struct pfc_times *t,
			uint64_t t_ns)
{
	for (unsigned c = 0; c < PROBE_CLASSES; c++) {
		struct probe_pfc *s = &p->pfc[port][c];

		if (!(t->enable >> c & 1))
			continue;
		s->t_ns = t_ns;
		s->until_ns = t_ns + pfc_quanta_ns(p->conf.speed_bps[port], t->quanta[c]);
		if (t->quanta[c] != 0) {
			s->n_pause++;
		} else {
			s->xon_ns = t_ns;
			s->n_xon++;
			p->sends_xon = true;
		}
	}
}

void probe_receive(struct probe *p, enum probe_port port, const uint8_t *frame, uint32_t len,
		   uint64_t t_ns)
{
	struct probe_frame f;
	struct pfc_times times;
	struct probe_seen *s;

	if (len >= PFC_MIN_RX_LEN && be16_get(frame + 12) == ETYPE_MAC_CONTROL) {
		if (mac_ctrl_parse(frame, len, &times) == MAC_CTRL_PFC)
			receive_pfc(p, port, &times, t_ns);
		return;
	}
	// A flooded frame comes to other ports too.
	if (!probe_frame_parse(frame, len, &f) || memcmp(frame, p->conf.mac[port], 6) != 0)
		return;
	if (f.trial == NO_TRIAL)
		p->n_hello++;
	if (f.trial != p->trial || f.seq >= p->n_sent)
		return;
	s = &p->seen[f.seq];
	if (s->t_ns != 0)
		return;
	s->t_ns = t_ns;
	s->nth = p->n_arrived++;
	s->ecn = f.ecn;
	p->last_arrival_ns = t_ns;
	p->n_leaked += p->held;
}

// A PAUSE stands until XON, which no speed is needed for. Where a device lets its PAUSE expire, the
// speed of the port says when.
bool probe_paused(const struct probe *p, enum probe_port port, uint8_t cls)
{
	const struct probe_pfc *s = &p->pfc[port][cls];

	return s->until_ns > s->t_ns && (!p->lets_expire || p->io.now(p->io.of) < s->until_ns);
}

// ---- PAUSE of our own

static bool send_pfc(struct probe *p, enum probe_port port, uint8_t classes, uint16_t quanta)
{
	struct pfc_times t = {.enable = classes};
	uint8_t frame[PFC_FRAME_LEN];
	uint64_t now = probe_now(p);

	for (unsigned c = 0; c < PROBE_CLASSES; c++)
		t.quanta[c] = classes >> c & 1 ? quanta : 0;
	pfc_frame_build(frame, p->conf.mac[port], &t);
	if (!p->io.send(p->io.of, port, frame, sizeof(frame)))
		return false;
	p->pause_sent_ns[port] = now;
	return true;
}

uint64_t probe_pause_ns(const struct probe *p, enum probe_port port)
{
	return p->lifetime_ns[port] != 0
		       ? p->lifetime_ns[port]
		       : pfc_quanta_ns(p->conf.speed_bps[port], p->conf.quanta);
}

uint64_t probe_tick(struct probe *p, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;

	for (enum probe_port i = 0; i < PROBE_PORTS; i++) {
		if (p->pausing[i] == 0)
			continue;
		if (now_ns >= p->pause_due_ns[i]) {
			if (p->pause_sent_ns[i] != 0)
				p->renewed_ns =
					max_u64(p->renewed_ns, now_ns - p->pause_sent_ns[i]);
			p->pause_due_ns[i] = now_ns + probe_pause_ns(p, i) / RENEWALS;
			if (!send_pfc(p, i, p->pausing[i], p->conf.quanta))
				p->pause_due_ns[i] = now_ns + US_NS;
		}
		next = min_u64(next, p->pause_due_ns[i]);
	}
	return next;
}

void probe_pause(struct probe *p, enum probe_port port, uint8_t classes, bool on)
{
	if (classes == 0)
		return;
	if (on) {
		p->pausing[port] |= classes;
		p->pause_due_ns[port] = p->pause_sent_ns[port] = 0;
		(void)probe_tick(p, probe_now(p));
		return;
	}
	p->pausing[port] &= (uint8_t)~classes;
	while (!send_pfc(p, port, classes, 0))
		probe_run(p, US_NS);
}

void probe_pause_once(struct probe *p, enum probe_port port, uint16_t quanta)
{
	while (!send_pfc(p, port, (uint8_t)(1u << p->conf.cls), quanta))
		probe_run(p, US_NS);
}

// A watchdog discards all frames or lets all of them pass. A PAUSE that ran out lets a burst pass.
bool probe_ran_out(const struct probe *p)
{
	bool burst = p->n_leaked != 0 && p->n_leaked < p->n_sent && p->n_arrived == p->n_sent;

	return p->renewed_ns >= probe_pause_ns(p, PROBE_RX) || (burst && p->renewed_ns != 0);
}

enum probe_verdict probe_cannot_renew(struct probe *p)
{
	return probe_cannot(p,
			    "this probe cannot renew PAUSE in time: one lasts %.1f ms in the "
			    "device, as at %.3g Gb/s, and frames left meanwhile; use --hold and "
			    "--release, slower ports or a time scale%s",
			    (double)probe_pause_ns(p, PROBE_RX) / MS_NS,
			    (double)p->conf.speed_bps[PROBE_RX] / 1e9,
			    p->lifetime_ns[PROBE_RX] == 0 ? "; or give --speed" : "");
}

// ---- trials

struct probe_shot probe_shot(const struct probe *p, uint16_t len)
{
	return (struct probe_shot){
		.from = PROBE_TX, .to = PROBE_RX, .cls = p->conf.cls, .len = len};
}

static void transmit(struct probe *p, const struct probe_shot *shot, uint32_t trial, uint32_t seq)
{
	struct probe_frame f = {.cls = shot->cls,
				.dscp = (uint8_t)p->conf.dscp[shot->cls],
				.ecn = PROBE_ECT0,
				.vlan = p->conf.vlan,
				.len = shot->len,
				.trial = trial,
				.seq = seq};
	uint8_t frame[PROBE_LEN_MAX];
	uint64_t now;

	memcpy(f.dst, p->conf.mac[shot->to], sizeof(f.dst));
	memcpy(f.src, p->conf.mac[shot->from], sizeof(f.src));
	probe_frame_build(frame, &f);
	p->io.run(p->io.of, p->next_ns[shot->from]);
	while (now = probe_now(p), !p->io.send(p->io.of, shot->from, frame, f.len))
		probe_run(p, US_NS);
	p->next_ns[shot->from] =
		now + max_u64(p->conf.interval_ns, probe_wire_ns(p, shot->from, f.len));
	if (trial != NO_TRIAL)
		p->seen[seq].sent_ns = now;
}

bool probe_send(struct probe *p, const struct probe_shot *shot, uint32_t n)
{
	for (; n > 0; n--) {
		if (p->n_sent == p->conf.most)
			return false;
		p->seen[p->n_sent] = (struct probe_seen){.len = shot->len, .cls = shot->cls};
		p->n_sent++;
		transmit(p, shot, p->trial, p->n_sent - 1);
	}
	return true;
}

// One frame in each class, since a device may flood some classes only.
static void say_hello(struct probe *p, enum probe_port from, enum probe_port to)
{
	struct probe_shot shot = {.from = from, .to = to, .len = PROBE_LEN_MIN};

	for (shot.cls = 0; shot.cls < PROBE_CLASSES; shot.cls++)
		transmit(p, &shot, NO_TRIAL, 0);
}

static void measure_path(struct probe *p)
{
	const struct probe_shot shot = probe_shot(p, PROBE_LEN_MAX);

	(void)probe_begin(p, 0);
	for (unsigned i = 0; i < PATH_FRAMES; i++) {
		(void)probe_send(p, &shot, 1);
		(void)probe_settle(p, PROBE_TX, p->conf.cls);
	}
	probe_release(p);
	for (uint32_t i = 0; i < p->n_sent; i++)
		if (p->seen[i].t_ns != 0)
			p->path_ns = max_u64(p->path_ns, p->seen[i].t_ns - p->seen[i].sent_ns);
}

bool probe_hello(struct probe *p)
{
	static const char *const names[] = {
		[PROBE_TX] = "--tx", [PROBE_RX] = "--rx", [PROBE_THIRD] = "--third"};

	for (enum probe_port to = PROBE_RX; to <= (p->conf.third ? PROBE_THIRD : PROBE_RX); to++) {
		p->n_hello = 0;
		for (unsigned i = 0; i < HELLO_TRIES && p->n_hello == 0; i++) {
			say_hello(p, to, PROBE_TX);
			probe_run(p, p->conf.settle_ns);
			p->n_hello = 0;
			say_hello(p, PROBE_TX, to);
			probe_run(p, p->conf.settle_ns);
		}
		if (p->n_hello != 0)
			continue;
		(void)probe_cannot(p,
				   "no frame from --tx arrives at %s; the device must bridge "
				   "between these ports, in the VLAN of --vlan", names[to]);
		return false;
	}
	measure_path(p);
	return true;
}

bool probe_begin(struct probe *p, uint8_t hold)
{
	p->trial++;
	p->n_sent = p->n_arrived = p->n_leaked = 0;
	p->n_missed = 0;
	p->renewed_ns = 0;
	p->expired = false;
	p->missed_before = p->io.missed(p->io.of);
	memset(p->pfc, 0, sizeof(p->pfc));
	// Addresses must not age.
	transmit(p, &(struct probe_shot){.from = PROBE_RX, .to = PROBE_TX, .len = PROBE_LEN_MIN},
		 NO_TRIAL, 0);
	if (hold == 0)
		return true;
	if (p->conf.hold == PROBE_HOLD_ORDER) {
		if (p->io.order(p->io.of, true) != 0) {
			p->broken = true;
			(void)probe_cannot(p, "the command of --hold failed");
			return false;
		}
		p->ordered = true;
	} else {
		probe_pause(p, PROBE_RX, hold, true);
	}
	probe_run(p, p->conf.settle_ns);
	p->held = true;
	return true;
}

bool probe_settle(struct probe *p, enum probe_port port, uint8_t cls)
{
	uint64_t end = max_u64(probe_now(p), p->next_ns[port]) + p->conf.settle_ns;

	p->io.run(p->io.of, end);
	return probe_paused(p, port, cls);
}

// Until all frames have come, or none comes for a long time.
static void drain_device(struct probe *p)
{
	uint64_t quiet = QUIET_SETTLES * p->conf.settle_ns, since = probe_now(p);

	while (p->n_arrived < p->n_sent &&
	       probe_now(p) < max_u64(since, p->last_arrival_ns) + quiet)
		probe_run(p, p->conf.settle_ns / 4);
	since = probe_now(p);
	// The device sends XON before the next trial, or its PAUSE expires.
	for (unsigned i = 0; probe_paused(p, PROBE_TX, p->conf.cls); i++) {
		if (probe_now(p) > since + storm_ns) {
			p->broken = true;
			(void)probe_cannot(p, "class %u of --tx is paused without end, with no "
					      "frame on its way: a PFC storm", p->conf.cls);
			return;
		}
		probe_run(p, p->conf.settle_ns);
		if (i < QUIET_SETTLES || p->lets_expire)
			continue;
		if (p->sends_xon)
			break;
		p->lets_expire = p->expired = true;
	}
}

void probe_release(struct probe *p)
{
	p->held = false;
	for (enum probe_port i = 0; i < PROBE_PORTS; i++)
		probe_pause(p, i, p->pausing[i], false);
	if (p->ordered && p->io.order(p->io.of, false) != 0) {
		p->broken = true;
		(void)probe_cannot(p, "the command of --release failed");
	}
	p->ordered = false;
	drain_device(p);
	p->n_missed = p->io.missed(p->io.of) - p->missed_before;
}

uint32_t probe_lost(const struct probe *p)
{
	return p->n_sent - p->n_arrived;
}

bool probe_spoiled(const struct probe *p)
{
	return p->n_leaked != 0 || p->n_missed != 0 || p->expired;
}

uint32_t probe_first_lost(const struct probe *p)
{
	uint32_t i = 0;

	while (i < p->n_sent && p->seen[i].t_ns != 0)
		i++;
	return i;
}

// Sets the speed that a PAUSE of this lifetime has. A veth reports 10 Gb/s for any device. So both
// ports get the speed if both report the same one.
static void learn_speed(struct probe *p, enum probe_port port, uint64_t lifetime_ns)
{
	const uint64_t said = p->conf.speed_bps[port];
	// Bits over a time, as a time is bits over a speed.
	uint64_t is = pfc_quanta_ns(lifetime_ns, p->conf.quanta);

	if (p->conf.speed_known || (is < said + said * CLOSE_PERCENT / 100 &&
				    said < is + is * CLOSE_PERCENT / 100))
		return;
	for (enum probe_port i = 0; i < PROBE_PORTS; i++)
		if (p->conf.speed_bps[i] == said)
			p->conf.speed_bps[i] = is;
}

enum probe_answer probe_obeys(struct probe *p)
{
	const struct probe_shot shot = probe_shot(p, PROBE_LEN_MIN);
	enum probe_hold hold = p->conf.hold;
	uint64_t ns = probe_lifetime(p, PROBE_RX), late = 0;
	bool too_late = p->too_late, obeys = false;

	if (p->conf.third)
		(void)probe_lifetime(p, PROBE_THIRD);
	if (ns != 0)
		learn_speed(p, PROBE_RX, ns);
	// A machine that stalls lets a PAUSE run out: one try in which nothing passes is the truth.
	p->conf.hold = PROBE_HOLD_PFC;
	for (unsigned i = 0; i < OBEY_TRIES && !obeys; i++) {
		(void)probe_begin(p, (uint8_t)(1u << p->conf.cls));
		(void)probe_send(p, &shot, OBEY_FRAMES);
		(void)probe_settle(p, PROBE_TX, p->conf.cls);
		obeys = p->n_leaked == 0;
		probe_release(p);
		late = max_u64(late, p->renewed_ns);
		// Frames that are lost were not held.
		obeys &= p->n_arrived != 0;
	}
	p->conf.hold = hold;
	p->renewed_ns = late;
	if (obeys)
		return PROBE_OBEYS;
	return ns != 0 || too_late ? PROBE_RUNS_OUT : PROBE_IGNORES;
}

// ---- results

void probe_found(struct probe *p, enum probe_value_id id, int64_t value, int64_t low, int64_t high)
{
	p->value[id] = (struct probe_value){true, value, low, high};
}

enum probe_verdict probe_cannot(struct probe *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
	return PROBE_CANNOT;
}

void probe_say(struct probe *p, const char *fmt, ...)
{
	char text[PROBE_WHY_LEN];
	va_list ap;

	if (p->conf.progress == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p->conf.progress(p->conf.progress_of, text);
}
