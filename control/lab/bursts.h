// SPDX-License-Identifier: Apache-2.0
// The microbursts of a fabric's switches (control/observe/burstlog.h): a log for each switch whose
// policy has asked for them. Times of day begin with the run. Called by the fabric's look.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fabric;

// Takes the records of all switches. False: memory is short.
bool lab_bursts_look(struct fabric *f, uint64_t now_ns);
void lab_bursts_destroy(struct fabric *f);
