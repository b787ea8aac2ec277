// SPDX-License-Identifier: Apache-2.0
// Rates of ports between two answers of the kind `interfaces`. Pure.
#pragma once

struct json_object;

// The counters and rates of `data` become those of the time since `before`, 0 where the counters
// were cleared in between.
void interval_rates(struct json_object *data, struct json_object *before);
