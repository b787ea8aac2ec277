// SPDX-License-Identifier: Apache-2.0
// Priority flow control of one port (IEEE 802.1Qbb, 802.3 Annex 31D), both directions, as
// decisions: pfc_rx_* keeps which classes the peer has paused, pfc_tx_* which classes we keep
// paused at the peer and what the next PFC frame must say. Pure; time is an argument. Called by the
// port's owner.
//
//   receiving, per class                       sending, per class
//
//          time q > 0                                 wanted (XOFF or receive-ring guard)
//   [runs] ----------> [paused until t+q]     [on] ----------------> [paused, refresh at t+R]
//      ^                 |   | time q > 0        ^                       |    | refresh due
//      |   0, or expiry  |   +--> until = t+q    |     not wanted: 0     |    +--> quanta again
//      +-----------------+                       +-----------------------+
//
// A quantum is 512 bit times at the port's speed; L is the lifetime quanta * 512 / speed.
//
// The PFC frame that repeats a PAUSE may have to wait for what is on its way already: a frame of
// full size, and the driver's transmit ring. It must arrive before the PAUSE runs out. With D for
// the time of these bytes, R is L/2, or 2(L-D)/3 where that is earlier (D above L/4). Below
// pfc_least_quanta() a PAUSE cannot be repeated in time.
//
// A class may ignore PAUSE, as in the recovery from a storm: PAUSE frames are counted and
// remembered, and do not pause. When the class obeys again, it obeys what is left of the last one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/counter.h"
#include "dataplane/base/units.h"
#include "dataplane/packet/classify.h"
#include "dataplane/packet/pfc_frame.h"

struct pfc_params {
	uint8_t lossless; // bitmap of classes; all else is neither paused nor pauses
	uint8_t tx; // of those, the classes we send PAUSE for
	uint8_t rx; // of those, the classes that obey the peer's PAUSE
	bool whole_link; // 802.3x PAUSE in place of PFC frames: all classes pause at once
	uint16_t quanta; // time we ask for
	uint64_t speed_bps;
	uint64_t lifetime_ns; // of our PAUSE
	uint64_t before_ns; // that what is on its way takes, before a PFC frame
	uint64_t refresh_ns; // from a PAUSE to the next one
};

// mlx5's names: rx_prioN_pause and so on. Durations in nanoseconds, finished pauses only; a
// reader adds the pause that still lasts (since_ns).
struct pfc_class_stats {
	ctr_t frames; // PFC frames that enabled the class, XON included
	ctr_t duration_ns;
	ctr_t transitions; // from running to paused
	gauge_t since_ns; // start of the present pause; 0: not paused
	gauge_t until_ns; // its end as known now
	gauge_t longest_ns; // of the pauses that ended since the watermarks were cleared
	gauge_t last_change_ns; // when a pause last began or ended; 0: never
};

// How long the present pause has lasted at now_ns; 0: no pause lasts. The worker may end the pause
// between the reads. One answer is then off by that pause, the next answer is right again.
static inline uint64_t pfc_pause_so_far(const struct pfc_class_stats *s, uint64_t now_ns)
{
	uint64_t since_ns = gauge_get(&s->since_ns);
	uint64_t until_ns = min_u64(gauge_get(&s->until_ns), now_ns);

	return since_ns != 0 && until_ns > since_ns ? until_ns - since_ns : 0;
}

// All pauses up to now_ns, the present one included.
static inline uint64_t pfc_paused_ns(const struct pfc_class_stats *s, uint64_t now_ns)
{
	return ctr_get(&s->duration_ns) + pfc_pause_so_far(s, now_ns);
}

struct pfc_rx_state {
	uint8_t paused; // bitmap of classes
	uint8_t ignore_pause; // classes that are not paused whatever the peer says
	uint64_t until_ns[N_CLASSES]; // the end of the peer's last PAUSE; 0: it was XON
	struct pfc_class_stats stats[N_CLASSES];
	ctr_t ignored_lossy, empty_vector;
};

struct pfc_tx_state {
	uint64_t refresh_ns[N_CLASSES]; // of paused classes
	uint64_t after_ns, speed_bps; // refresh_ns and the speed as the parameters last said
	struct pfc_class_stats stats[N_CLASSES];
	ctr_t retries; // loops in which the driver did not take a due frame
	uint8_t paused; // bitmap of classes that the peer must pause, by the last PFC frame
	bool whole_link; // as the parameters last said
	// The peer may still hold these classes: it got their PAUSE before whole_link changed.
	uint8_t other_form;
	uint8_t by_control; // classes that control wants paused, whatever the parameters say
};

enum { PFC_MAX_QUANTA = 65535 };

// Bytes of a line, overhead included, that may go before a PFC frame: a frame of full size and a
// full transmit ring. The ring may be full of the shortest frames.
uint32_t pfc_bytes_before(uint32_t max_frame, uint32_t tx_ring_bytes);

// The least quanta of a PAUSE that can be repeated before it runs out; may be above 65535.
uint32_t pfc_least_quanta(uint32_t bytes_before);

// Quanta in 1..PFC_MAX_QUANTA, speed in bits per second.
void pfc_params_init(struct pfc_params *p, uint64_t speed_bps, uint16_t quanta,
		     uint32_t bytes_before);

// ceil(quanta * 512 / speed) in nanoseconds.
uint64_t pfc_quanta_ns(uint64_t speed_bps, uint16_t quanta);

// A PFC frame whose last bit arrived at now_ns.
void pfc_rx_frame(const struct pfc_params *p, struct pfc_rx_state *s, const struct pfc_times *f,
		  uint64_t now_ns);

// The same frame where its classes were already acted upon (the driver saw it early): only an empty
// or a lossy class vector is counted.
void pfc_rx_frame_seen(const struct pfc_params *p, struct pfc_rx_state *s,
		       const struct pfc_times *f);

// Ends the pauses that have run out; to be called before s->paused is read in a loop.
void pfc_rx_expire(struct pfc_rx_state *s, uint64_t now_ns);

// When the next pause runs out; UINT64_MAX if none stands.
uint64_t pfc_rx_next(const struct pfc_rx_state *s);

// From now on these classes, and no others, ignore PAUSE. The pauses of classes that begin to
// ignore it end. A class that obeys again obeys the peer's last PAUSE for as long as that lasts.
void pfc_rx_ignore(struct pfc_rx_state *s, uint8_t classes, uint64_t now_ns);

// Ends every pause and forgets what the peer said last, as when the link goes down or a policy
// drops the class from `keep`.
void pfc_rx_clear(struct pfc_rx_state *s, uint8_t keep, uint64_t now_ns);

// Fills *f with the classes that change or are due for refresh; false if no frame is needed.
// want: classes that must be paused now. PAUSE of the whole link has one time for all of them.
bool pfc_tx_due(const struct pfc_params *p, const struct pfc_tx_state *s, uint8_t want,
		uint64_t now_ns, struct pfc_times *f);

// Classes for which an XON of the other form (802.3x or PFC) goes ahead of *f, the frame that is
// due: parameters have changed the form of a PAUSE that stands, and after *f no PAUSE stands. Until
// then the old PAUSE may run out: its XON could end the new PAUSE.
uint8_t pfc_tx_owed_xon(const struct pfc_tx_state *s, const struct pfc_times *f);

// The driver took the frame.
void pfc_tx_sent(const struct pfc_params *p, struct pfc_tx_state *s, const struct pfc_times *f,
		 uint64_t now_ns);

// Takes new parameters. Refreshes each standing PAUSE at once if the new parameters repeat a PAUSE
// earlier or in another form, or if the peer now counts quanta faster.
void pfc_tx_new_params(const struct pfc_params *p, struct pfc_tx_state *s, uint64_t now_ns);

// Forgets every pause, as when the link goes down.
void pfc_tx_clear(struct pfc_tx_state *s, uint64_t now_ns);

// When the next refresh is due; UINT64_MAX if no pause stands.
uint64_t pfc_tx_next(const struct pfc_tx_state *s);

// ---- early warning
//
// PFC frames per second of one class of one port, in one direction, above a
// threshold, or the microseconds of each second for which the peer pauses the class. One verdict on
// the way up and one on the way down, never two within a second (hold-off), and the way down needs
// the rate below seven eighths of the threshold (hysteresis), so that a rate at the threshold does
// not chatter. As H3C's "priority-flow-control early-warning". Pure; control feeds it the counter
// it reads anyway, from every few milliseconds to once a second.

struct pfc_warning_params {
	uint32_t in_pps, out_pps; // PFC frames per second; 0: no warning
	uint32_t paused_us; // of each second, by the peer; 0: no warning
};

enum { PFC_RATE_SLOTS = 10 };

// The rate is over the last second, in tenths.
struct pfc_rate {
	uint64_t slot_start_ns;
	uint64_t at_start; // the counter when the present slot began
	uint64_t slots[PFC_RATE_SLOTS]; // frames of the latest full slots
	uint32_t slot; // next to be overwritten
	bool begun, above;
	uint64_t changed_ns; // the last verdict
};

enum pfc_rate_verdict { PFC_RATE_SAME, PFC_RATE_UP, PFC_RATE_DOWN };

// The counter stands at `frames` at now_ns. *pps: the rate now.
enum pfc_rate_verdict pfc_rate_look(struct pfc_rate *r, uint32_t threshold_pps, uint64_t frames,
				    uint64_t now_ns, uint64_t *pps);
