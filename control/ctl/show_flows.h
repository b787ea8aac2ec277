// SPDX-License-Identifier: Apache-2.0
// How flows look to people, and the notifications that the switch sends them. Pure but for
// printing.
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct json_object;

void print_flows(FILE *out, struct json_object *data, bool unpaired);
void print_ipcc(FILE *out, struct json_object *data);
void print_cnps(FILE *out, struct json_object *data);
