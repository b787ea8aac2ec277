// SPDX-License-Identifier: Apache-2.0
// A capture of the lab: the frames of chosen switch ports, both ways and dropped ones, as
// DIR/capture.pcapng, with the comments of `weirctl capture` (control/capture/pcapng.h). Times are
// those of the virtual clock. Frames that find the file full are counted and not written. The same
// run gives the same bytes. Single thread.
#pragma once

#include <stdint.h>

#include "control/lab/scenario.h"

struct fabric;
struct lab_capture;

#define LAB_CAPTURE_FILE "capture.pcapng"

// Begins to capture what the scenario asks for, before the fabric runs. 0, -errno (of the file, or
// -ENOMEM).
__attribute__((warn_unused_result)) int lab_capture_start(struct fabric *f, const char *dir,
							  struct lab_capture **out);
// The file is whole. 0, -errno: something of it could not be written.
__attribute__((warn_unused_result)) int lab_capture_finish(struct lab_capture *c, uint64_t end_ns);
void lab_capture_destroy(struct lab_capture *c); // after the fabric; NULL is fine

struct lab_capture_counts {
	uint64_t written, bytes; // frames, and bytes of the file
	uint64_t cut, first_cut_ns; // frames that found it full; the first of them
};
struct lab_capture_counts lab_capture_counts(const struct lab_capture *c);

// ---- of the fabric: after each step of a switch that is captured
void lab_capture_stepped(struct lab_capture *c, uint32_t sw);
