// SPDX-License-Identifier: Apache-2.0
// Microbursts in a fabric. Each switch with `microbursts: on` in its policy has a log
// (control/observe/burstlog.h). Times of day begin with the run. Called by the fabric's look.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fabric;

// Takes the records of all switches. False: memory is short.
bool lab_bursts_look(struct fabric *f, uint64_t now_ns);
void lab_bursts_destroy(struct fabric *f);
