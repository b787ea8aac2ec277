// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/interval.h"

#include <stdint.h>

#include <json-c/json.h>

#include "dataplane/qos/shaper.h"
#include "control/daemon/json_in.h"

static const struct direction {
	const char *packets, *bytes, *pps, *bps, *util;
} directions[] = {
	{"rx_packets", "rx_bytes", "rx_pps", "rx_bps", "rx_util_percent"},
	{"tx_packets", "tx_bytes", "tx_pps", "tx_bps", "tx_util_percent"},
};

static void put(struct json_object *row, const char *key, double v)
{
	json_object_object_add(row, key, json_object_new_uint64((uint64_t)v));
}

static void put_direction(struct json_object *row, struct json_object *before,
			  const struct direction *d)
{
	uint64_t ns = count_in(row, "t_ns") - count_in(before, "t_ns");
	double seconds = (double)(ns > 0 ? ns : 1) / 1e9;
	double speed_bps = (double)count_in(row, "speed_bps");
	double packets = (double)count_in(row, d->packets) - (double)count_in(before, d->packets);
	double bytes = (double)count_in(row, d->bytes) - (double)count_in(before, d->bytes);
	double line_bps;

	if (packets < 0 || bytes < 0)
		packets = bytes = 0;
	line_bps = 8 * (bytes + LINK_OVERHEAD_BYTES * packets) / seconds;
	put(row, d->packets, packets);
	put(row, d->bytes, bytes);
	put(row, d->pps, packets / seconds);
	put(row, d->bps, 8 * bytes / seconds);
	if (speed_bps > 0) {
		uint64_t hundredths = (uint64_t)(10000 * line_bps / speed_bps);

		json_object_object_add(row, d->util,
				       json_object_new_double((double)hundredths / 100));
	}
}

void interval_rates(struct json_object *data, struct json_object *before)
{
	struct json_object *rows, *old;

	if (!json_object_object_get_ex(data, "interfaces", &rows) ||
	    !json_object_object_get_ex(before, "interfaces", &old))
		return;
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		for (size_t k = 0; k < sizeof(directions) / sizeof(directions[0]); k++)
			put_direction(json_object_array_get_idx(rows, i),
				      json_object_array_get_idx(old, i), &directions[k]);
}
