// SPDX-License-Identifier: Apache-2.0
// How `show queues` looks: the queues, and the sums of each port.
#include <stdio.h>

#include <json-c/json.h>

#include "control/ctl/show.h"

// A port without any of these is left out.
#define BUSY FACTS(F_QUEUES_tx_packets, F_QUEUES_length_packets, F_QUEUES_dropped_packets)

static void print_port_sums(FILE *out, struct json_object *rows, const struct show_wish *wish)
{
	static const enum fact_id summed[] = {
		F_QUEUES_length_bytes, F_QUEUES_length_packets, F_QUEUES_tx_packets,
		F_QUEUES_tx_bytes, F_QUEUES_tx_pps, F_QUEUES_tx_bps, F_QUEUES_ecn_marked,
		F_QUEUES_dropped_packets, F_QUEUES_dropped_bytes};
	const struct table sums = {
		.list = NO_FACTS, .idle = "idle port|s", .active = BUSY,
		COLUMNS({.fact = F_QUEUES_port, .head = "PORT_TOTAL"},
			{.fact = F_QUEUES_length_bytes},
			{.fact = F_QUEUES_length_packets, .rank = 3},
			{.fact = F_QUEUES_tx_packets}, {.fact = F_QUEUES_tx_bytes},
			{.fact = F_QUEUES_tx_pps, .rank = 2}, {.fact = F_QUEUES_tx_bps},
			{.fact = F_QUEUES_ecn_marked, .rank = 4},
			{.fact = F_QUEUES_dropped_packets},
			{.fact = F_QUEUES_dropped_bytes, .rank = 1})};
	struct json_object *ports = json_object_new_array(), *sum = NULL;

	for (size_t i = 0; i < n_rows(rows); i++) {
		struct json_object *row = row_at(rows, i), *port = fact_in(row, F_QUEUES_port);

		if (sum == NULL || !json_object_equal(fact_in(sum, F_QUEUES_port), port)) {
			sum = row_in(ports);
			json_object_object_add(sum, KEY(QUEUES, port), json_object_get(port));
		}
		for (size_t k = 0; k < sizeof(summed) / sizeof(summed[0]); k++)
			row_u64(sum, fact_rows[summed[k]].key,
				fact_count(sum, summed[k]) + fact_count(row, summed[k]));
	}
	table_print(out, ports, &sums, wish);
	json_object_put(ports);
}

// A queue may hold more than the pool has.
void print_queues(FILE *out, struct json_object *data, const struct show_wish *wish)
{
	const struct table queues = {
		FACTS_QUEUES, "no queue has sent or holds a frame", "idle queue|s",
		FACTS(F_QUEUES_tx_packets, F_QUEUES_length_packets, F_QUEUES_max_bytes,
		      F_QUEUES_dropped_packets)};
	struct json_object *rows = rows_of(data, FACTS_QUEUES);
	struct json_object *pools = rows_of(data, FACTS_POOLS), *pool;
	char cell[CELL_LEN], starred[CELL_LEN + 1];
	bool beyond = false, any = wish->all && n_rows(rows) > 0;

	pool = pools != NULL ? row_at(pools, 0) : NULL;
	if (fact_in(pool, F_POOLS_size_bytes) == NULL)
		return;
	for (size_t i = 0; i < n_rows(rows); i++) {
		struct json_object *row = row_at(rows, i);

		any |= row_is_active(row, BUSY);
		if (fact_count(row, F_QUEUES_max_bytes) <= fact_count(pool, F_POOLS_size_bytes))
			continue;
		snprintf(starred, sizeof(starred), "%s*", fact_cell(cell, row, F_QUEUES_max_bytes));
		row_text(row, KEY(QUEUES, max_bytes), starred);
		beyond = true;
	}
	table_print(out, rows, &queues, wish);
	if (beyond)
		fprintf(out,
			"* is more than the ingress pool (%s). A queue also holds frames in the "
			"PFC headroom,\n  and in the skid: memory beyond the buffer for frames "
			"that arrive after a PAUSE.\n",
			fact_cell(cell, pool, F_POOLS_size_bytes));
	if (any) {
		fputc('\n', out);
		print_port_sums(out, rows, wish);
	}
}
