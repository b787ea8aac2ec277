// SPDX-License-Identifier: Apache-2.0
// How the tests of recovery from a storm begin and end: a storm that host 2 makes of class 3, with
// frames on both sides of it, and a switch at rest again.
#pragma once

#include "tests/lab/storm_bench.h"

// A frame of 1000 bytes has 4 cells: 25 of them fill the shared 100 cells of a group, 29 its
// headroom.
enum { FULL = 25, HEADROOM = 29, REFRESH_NS = 300000, US = 1000 };

// Mode xoff, never escalated.
struct storm_setup recovery_setup(enum watchdog_action action);

// Before the storm n frames of class 3 from host 2 stand in the switch; with more than FULL their
// group is in XOFF. Host 2 obeys no PAUSE.
void stand_in_xoff(struct bench *b, unsigned n);
// Runs up to the instant of detection, that not included. Before it 20 frames of class 3 wait for
// host 2. Returns the instant.
uint64_t storm_comes(struct bench *b);
// The storm ends; nothing is paused or stands any more, and frames cross.
void expect_at_rest(struct bench *b);

const struct watchdog_class *class_3(const struct bench *b); // of port 2
uint64_t dropped(const struct bench *b, enum drop_reason reason); // of that class
void expect_frames(const struct watchdog_frames *f, uint64_t tx_ok, uint64_t tx_dropped,
		   uint64_t rx_ok, uint64_t rx_dropped);
// The last PFC frame that host 2 got.
void expect_pfc(const struct bench *b, uint64_t left_ns, uint8_t enable, uint16_t quanta);
