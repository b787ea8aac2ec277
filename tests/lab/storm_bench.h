// SPDX-License-Identifier: Apache-2.0
// A bench with a watchdog at each port, for the tests of what control does about storms: three
// ports of 10 Gb/s, classes 3 and 5 lossless. Host 2 makes the storms. Times are short, 1 ms, for
// a virtual clock does not care.
#pragma once

#include "dataplane/policy.h"
#include "tests/lab/bench.h"

enum {
	MS = 1000000,
	START_NS = MS, // when the bench opens
	DETECT_NS = MS,
	RESTORE_NS = MS,
	WINDOW_NS = 20 * MS,
	LIMIT = 3,
	SHORT_QUANTA = 29297, // 1.5 ms at 10 Gb/s: over before the class is restored
	BIT3 = 1 << 3,
	BIT4 = 1 << 4,
	BIT5 = 1 << 5,
};

// Of every port, for those of the classes that are lossless. What is changed here later, the next
// policy has.
struct storm_setup {
	struct watchdog_params watchdog;
	struct pfc_warning_params warning;
};

// Mode xoff, action drop.
struct storm_setup storm_setup(enum watchdog_then then);
// A policy of the bench where these classes are lossless.
const char *storm_yaml_of(uint8_t lossless);
const char *storm_yaml(void); // 3 and 5
struct bench *storm_open(struct storm_setup *s);
// The same with another policy.
struct bench *storm_open_with(const char *yaml, struct storm_setup *s);
// Class 3 of port 2 is escalated.
struct bench *storm_open_escalated(struct storm_setup *s);

void run_until(struct bench *b, uint64_t t_ns);
// Control looks, and the workers do what it wants.
void control(struct bench *b);
// The nth record of its kind so far, or NULL.
const struct event *event(const struct bench *b, enum event_type type, unsigned nth);
unsigned n_of(const struct bench *b, enum event_type type);
void expect_status(const struct bench *b, unsigned port, unsigned cls, enum watchdog_status want);

// When a PFC frame that host 2 sends now has arrived.
uint64_t pause_ns(const struct bench *b);
// Storms of some classes by host 2, one after the other, each restored before the next. Control
// does not look.
void storms(struct bench *b, uint8_t classes, unsigned n);
// Frames of 1000 bytes; returns when they have arrived.
void send(struct bench *b, unsigned from, unsigned to, unsigned cls, unsigned n);
void expect_delivered(struct bench *b, unsigned from, unsigned to, unsigned cls, unsigned n,
		      unsigned want);

// Of port 2, acknowledged on return.
void recover(struct bench *b, unsigned cls);
void expect_nothing_to_recover(struct bench *b, unsigned port, unsigned cls);
