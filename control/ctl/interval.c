// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/interval.h"

#include <stdint.h>

#include <json-c/json.h>

#include "control/ctl/table.h"
#include "dataplane/qos/shaper.h"

static const struct direction {
	enum fact_id packets, bytes, pps, bps, util;
} directions[] = {
	{F_INTERFACES_rx_packets, F_INTERFACES_rx_bytes, F_INTERFACES_rx_pps, F_INTERFACES_rx_bps,
	 F_INTERFACES_rx_util_percent},
	{F_INTERFACES_tx_packets, F_INTERFACES_tx_bytes, F_INTERFACES_tx_pps, F_INTERFACES_tx_bps,
	 F_INTERFACES_tx_util_percent},
};

static void put(struct json_object *row, enum fact_id f, double v)
{
	json_object_object_add(row, fact_rows[f].key, json_object_new_uint64((uint64_t)v));
}

static double grown(struct json_object *row, struct json_object *before, enum fact_id f)
{
	return (double)fact_count(row, f) - (double)fact_count(before, f);
}

static void put_direction(struct json_object *row, struct json_object *before,
			  const struct direction *d)
{
	uint64_t ns = fact_count(row, F_INTERFACES_t_ns) - fact_count(before, F_INTERFACES_t_ns);
	double seconds = (double)(ns > 0 ? ns : 1) / 1e9;
	double speed_bps = (double)fact_count(row, F_INTERFACES_speed_bps);
	double packets = grown(row, before, d->packets), bytes = grown(row, before, d->bytes);
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

		json_object_object_add(row, fact_rows[d->util].key,
				       json_object_new_double((double)hundredths / 100));
	}
}

void interval_rates(struct json_object *data, struct json_object *before)
{
	struct json_object *rows = rows_of(data, FACTS_INTERFACES);
	struct json_object *old = rows_of(before, FACTS_INTERFACES);

	if (rows == NULL || old == NULL)
		return;
	for (size_t i = 0; i < n_rows(rows); i++)
		for (size_t k = 0; k < sizeof(directions) / sizeof(directions[0]); k++)
			put_direction(row_at(rows, i), row_at(old, i), &directions[k]);
}
