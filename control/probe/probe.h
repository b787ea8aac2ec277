// SPDX-License-Identifier: Apache-2.0
// The engine of weir-probe: trials of numbered frames through a device, between two or three ports,
// while PAUSE of the receiving port holds the egress. The measures (measure.h) are made of trials.
//
// It sees the device by three things: frames that it sends, frames that come, and the time. A
// runner (probe_io) gives them: live ports (live_run.c), or a switch on the virtual clock
// (wire_run.c). One thread. Nothing here reads a clock.
//
//   port PROBE_TX --> device --> port PROBE_RX      the egress under test
//                            --> port PROBE_THIRD   a second egress, or a second sender
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/probe/frame.h"

enum probe_port { PROBE_TX, PROBE_RX, PROBE_THIRD, PROBE_PORTS };
enum { PROBE_CLASSES = 8, PROBE_WHY_LEN = 256 };

struct probe;

// The functions of a runner for the engine. Lengths are without FCS, times in ns.
struct probe_io {
	void *of;
	// False: the port has no room now.
	bool (*send)(void *of, enum probe_port port, const uint8_t *frame, uint16_t len);
	// Gives what arrives to probe_receive, and calls probe_tick in time, until the clock is at
	// until_ns; looks once if that has passed.
	void (*run)(void *of, uint64_t until_ns);
	uint64_t (*now)(void *of);
	// Holds or releases the egress by the operator's way. 0, or -1 with a message printed.
	int (*order)(void *of, bool hold);
	// Longest time between two looks at the ports since the last call; 0: events are exact.
	uint64_t (*gap)(void *of);
	// Frames that the probe itself lost, because it was late at its own ports. Monotone.
	uint64_t (*missed)(void *of);
};

// How frames are kept in the device. CONGESTION: by a second sender, so they leave as fast as the
// egress can.
enum probe_hold { PROBE_HOLD_PFC, PROBE_HOLD_ORDER, PROBE_HOLD_CONGESTION };

struct probe_conf {
	uint8_t mac[PROBE_PORTS][6];
	uint64_t speed_bps[PROBE_PORTS];
	bool speed_known; // else that of the link, which may not be the device's
	bool third; // there is a third port
	uint8_t cls;
	uint8_t classes[PROBE_CLASSES]; // dwrr compares their weights
	unsigned n_classes;
	int dscp[PROBE_CLASSES]; // of each class
	int vlan; // PROBE_NO_TAG: none
	enum probe_hold hold;
	uint64_t settle_ns; // after the last frame, until the device has reacted for certain
	uint64_t interval_ns; // between two frames at least; 0: line rate
	uint32_t most; // frames of a trial at most
	uint32_t passes; // of the marking curve
	uint64_t cell_bytes; // 0: not known
	uint64_t min_bytes; // memory that is reserved for the group
	uint64_t storm_ns; // longest storm for the watchdog
	uint16_t quanta; // of each PAUSE
	void (*progress)(void *of, const char *text); // may be NULL
	void *progress_of;
};

// A number with its bounds. The true value lies between low and high.
struct probe_value {
	bool given;
	int64_t value, low, high;
};

enum probe_value_id {
#define PROBE_VALUE(id, ...) PROBE_##id,
#include "control/probe/values.def"
#undef PROBE_VALUE
	PROBE_N_VALUES
};

enum probe_verdict {
	PROBE_NOT_RUN,
	PROBE_DONE,
	PROBE_NO_ANSWER, // the device does not answer PFC
	PROBE_CANNOT, // why says the reason
};

// One frame of a trial.
struct probe_seen {
	uint64_t sent_ns, t_ns; // t_ns: arrival; 0: it did not arrive
	uint32_t nth; // place among all arrivals
	uint16_t len;
	uint8_t cls, ecn;
};

struct probe_pfc {
	uint64_t t_ns, until_ns; // of the last PFC frame of the class; the end of its PAUSE, by
				 // the speed of the port
	uint64_t xon_ns; // of the last XON
	uint32_t n_pause, n_xon; // frames
};

struct probe {
	struct probe_conf conf;
	struct probe_io io;
	// The trial.
	uint32_t trial, n_sent, n_arrived;
	uint32_t n_leaked; // arrived while the egress was held
	uint64_t n_missed; // lost by the probe's own ports, once the egress is released
	uint64_t missed_before;
	bool held;
	bool ordered; // by the operator's way
	struct probe_seen *seen; // conf.most of them
	struct probe_pfc pfc[PROBE_PORTS][PROBE_CLASSES];
	uint8_t pausing[PROBE_PORTS]; // classes that this port pauses
	uint64_t pause_due_ns[PROBE_PORTS], pause_sent_ns[PROBE_PORTS];
	uint64_t renewed_ns; // longest time from a PAUSE of the trial to its renewal; 0: none
	uint64_t lifetime_ns[PROBE_PORTS]; // of a PAUSE, as measured; 0: not known
	uint64_t unseen_ns; // a PAUSE that lasts no longer cannot be measured; 0: not known
	bool too_late; // the last lifetime is not known because this probe sent its trains too late
	bool sends_xon; // the device ends its PAUSE by a frame
	bool lets_expire; // it does not
	bool expired; // that showed in this trial only
	uint64_t next_ns[PROBE_PORTS]; // when the port may send the next frame
	uint64_t last_arrival_ns;
	uint32_t n_hello; // hello frames that arrived
	uint64_t path_ns; // longest way of a frame of full size through the idle device
	// Results.
	struct probe_value value[PROBE_N_VALUES];
	const char *word[PROBE_N_VALUES]; // a finding in words beside a number, or NULL
	char why[PROBE_WHY_LEN];
	bool broken; // the operator's command failed, or PAUSE never ends: stop
};

// 0 or -ENOMEM. conf and io are copied.
__attribute__((warn_unused_result)) int probe_init(struct probe *p, const struct probe_conf *conf,
						   const struct probe_io *io);
void probe_fini(struct probe *p);

// ---- for the runner

// A frame that arrived at t_ns.
void probe_receive(struct probe *p, enum probe_port port, const uint8_t *frame, uint32_t len,
		   uint64_t t_ns);
// Sends the PAUSE frames that are due, and returns when the next one is.
uint64_t probe_tick(struct probe *p, uint64_t now_ns);

// ---- for the measures

struct probe_shot {
	enum probe_port from, to;
	uint8_t cls;
	uint16_t len;
};

// A frame of the class under test from PROBE_TX to PROBE_RX.
struct probe_shot probe_shot(const struct probe *p, uint16_t len);

// The device learns the addresses of all ports, and frames pass. False: why says what does not.
bool probe_hello(struct probe *p);
enum probe_answer {
	PROBE_IGNORES, // the device does not stop sending on PAUSE of the receiving port
	PROBE_OBEYS,
	PROBE_RUNS_OUT, // it stops, and goes on since the probe is late with the next PAUSE
};
// Measures the lifetime of a PAUSE first. If the speed of the device shows in it, conf.speed_bps
// becomes that speed.
enum probe_answer probe_obeys(struct probe *p);
// lifetime.c: the time that a PAUSE of conf.quanta lasts in the device, which is also kept in
// lifetime_ns; 0: none was seen.
uint64_t probe_lifetime(struct probe *p, enum probe_port to);

// Begins a trial: no frame is under way, the counts are 0. hold: of the egress, by PFC for these
// classes (bits), or by the operator's way.
bool probe_begin(struct probe *p, uint8_t hold);
// Sends n frames at the pace of the port. False: the trial has no number left.
bool probe_send(struct probe *p, const struct probe_shot *shot, uint32_t n);
// The port begins or ends to pause these classes at once. An end sends XON.
void probe_pause(struct probe *p, enum probe_port port, uint8_t classes, bool on);
// One PFC frame for the class under test, which is not renewed. quanta 0: XON.
void probe_pause_once(struct probe *p, enum probe_port port, uint16_t quanta);
// Time that a PAUSE of conf.quanta lasts in the device: as measured, or by the speed of the port.
uint64_t probe_pause_ns(const struct probe *p, enum probe_port port);
void probe_run(struct probe *p, uint64_t for_ns);
// Waits until the device has reacted to all that was sent. True: it pauses the port and class now.
bool probe_settle(struct probe *p, enum probe_port port, uint8_t cls);
bool probe_paused(const struct probe *p, enum probe_port port, uint8_t cls);
// Releases the egress and waits until no frame comes any more.
void probe_release(struct probe *p);
uint32_t probe_lost(const struct probe *p); // after probe_release
// Whether the trial says nothing: frames left the held egress, the probe itself lost some, or a
// PAUSE of the device ended without XON for the first time.
bool probe_spoiled(const struct probe *p);
// After probe_release: whether a PAUSE of the trial ran out before its renewal reached the device.
bool probe_ran_out(const struct probe *p);
// Frames that were sent before the first lost one.
uint32_t probe_first_lost(const struct probe *p);
// Time that a frame takes on the wire of a port.
uint64_t probe_wire_ns(const struct probe *p, enum probe_port port, uint32_t len);
uint64_t probe_now(struct probe *p);

// ---- results

void probe_found(struct probe *p, enum probe_value_id id, int64_t value, int64_t low, int64_t high);
// Sets the reason. Returns PROBE_CANNOT.
__attribute__((format(printf, 2, 3))) enum probe_verdict probe_cannot(struct probe *p,
								     const char *fmt, ...);
// The reason, if PAUSE of the probe runs out. Returns PROBE_CANNOT.
enum probe_verdict probe_cannot_renew(struct probe *p);
__attribute__((format(printf, 2, 3))) void probe_say(struct probe *p, const char *fmt, ...);
