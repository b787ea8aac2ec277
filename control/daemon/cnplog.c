// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/cnplog.h"

#include <errno.h>
#include <stdlib.h>

#include <json-c/json.h>

#include "control/observe/fact.h"
#include "control/observe/observe.h"
#include "dataplane/switch.h"
#include "dataplane/switch_flows.h"

enum { AT_ONCE = 256 };

struct kept {
	struct cnp_record c;
	uint64_t wall_ns; // when control took it
};

struct cnplog {
	uint64_t total; // the next one's place is total % CNPLOG_KEPT
	struct kept kept[CNPLOG_KEPT];
};

int cnplog_create(struct cnplog **out)
{
	struct cnplog *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return -ENOMEM;
	*out = l;
	return 0;
}

void cnplog_destroy(struct cnplog *l)
{
	free(l);
}

// No more than are kept, so that a flood of CNPs does not hold the control thread up.
void cnplog_poll(struct cnplog *l, struct weir_switch *sw, uint64_t wall_ns)
{
	struct cnp_record at_once[AT_ONCE];
	unsigned n, all = 0;

	do {
		n = switch_cnp_records(sw, at_once, AT_ONCE);
		for (unsigned i = 0; i < n; i++)
			l->kept[l->total++ % CNPLOG_KEPT] = (struct kept){at_once[i], wall_ns};
		all += n;
	} while (n == AT_ONCE && all < CNPLOG_KEPT);
}

static bool cnp_concerns_port(const struct kept *k, int port)
{
	return port < 0 || k->c.port == port || k->c.left_by == port;
}

// The first of the last `count` that are wanted.
static uint64_t first_cnp_of_query(const struct cnplog *l, const struct cnplog_query *query)
{
	uint64_t oldest = l->total > CNPLOG_KEPT ? l->total - CNPLOG_KEPT : 0, at = l->total;
	uint32_t n = 0;

	while (at > oldest && (query->count == 0 || n < query->count)) {
		at--;
		n += cnp_concerns_port(&l->kept[at % CNPLOG_KEPT], query->port);
	}
	return at;
}

struct json_object *cnplog_rows(const struct cnplog *l, const struct weir_switch *sw,
				const struct cnplog_query *query)
{
	struct json_object *out = json_object_new_object();
	struct json_object *list = rows_in(out, FACTS_CNPS);
	uint64_t total = l != NULL ? l->total : 0;

	for (uint64_t i = l != NULL ? first_cnp_of_query(l, query) : 0; i < total; i++) {
		const struct kept *k = &l->kept[i % CNPLOG_KEPT];

		if (!cnp_concerns_port(k, query->port))
			continue;
		cnp_row_emit(row_in(list), &k->c,
			     &(struct cnp_view){switch_policy(sw), i + 1, k->wall_ns});
	}
	row_u64(out, "total", total);
	row_u64(out, "kept", total < CNPLOG_KEPT ? total : CNPLOG_KEPT);
	row_u64(out, KEY(STEERING, lost), switch_cnp_records_lost(sw));
	return out;
}
