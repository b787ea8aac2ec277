// SPDX-License-Identifier: Apache-2.0
// Whether retransmission timers ran out too early: packets came twice although no frame was lost.
#include <inttypes.h>
#include <string.h>

#include <json-c/json.h>

#include "control/lab/report_rows.h"
#include "control/observe/field.h"

enum { TEXT_LEN = 400 };

static uint64_t lost_frames(const struct run *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->sc->n_switches; i++) {
		struct weir_switch *sw = r->fabric->switches[i].sw;

		for (unsigned port = 0; port < switch_policy(sw)->n_ports; port++)
			for (unsigned cls = 0; cls < N_CLASSES; cls++)
				for (unsigned why = 0; why < N_DROP_REASONS; why++)
					n += ctr_get(&switch_drops(sw, port, cls, why)->packets);
	}
	for (uint32_t i = 0; i < r->sc->n_links; i++)
		for (unsigned side = 0; side < 2; side++) {
			struct wire_counts c =
				wire_counts(wire_end(r->fabric->links[i].wire, side));

			for (unsigned why = 0; why < WIRE_N_LOSSES; why++)
				n += c.lost[why];
		}
	for (uint32_t i = 0; i < r->sc->n_hosts; i++)
		n += nic_stats_now(r->fabric->hosts[i].nic)->rx_dropped;
	return n;
}

uint64_t report_rto_ns(const struct run *r, uint32_t host)
{
	uint64_t given = r->sc->hosts[host].nic.rto_ns;

	return given != 0 ? given : r->fabric->rto_ns;
}

// Needless packets of queue pairs, and the shortest timer that ran out. TCP measures its own timer.
struct spurious {
	uint64_t packets, rto_ns;
};

static struct spurious find_spurious(const struct run *r)
{
	struct spurious out = {.rto_ns = UINT64_MAX};

	for (uint32_t i = 0; i < r->sc->n_hosts; i++) {
		const struct nic_stats *s = nic_stats_now(r->fabric->hosts[i].nic);

		out.packets += s->duplicates - s->tcp_duplicates;
		if (s->timeouts != s->tcp_timeouts && report_rto_ns(r, i) < out.rto_ns)
			out.rto_ns = report_rto_ns(r, i);
	}
	return out;
}

// A timer that ran out because of a loss sends again what is not acknowledged yet: up to
// REQ_ACK_EVERY packets that are there. So many a lost frame are no sign of a short timer.
static bool warning(const struct run *r, char text[TEXT_LEN])
{
	struct spurious s = find_spurious(r);
	char now[EXPR_VALUE_LEN], cure[EXPR_VALUE_LEN];

	if (s.rto_ns == UINT64_MAX || s.packets <= REQ_ACK_EVERY * lost_frames(r))
		return false;
	expr_print(EXPR_TIME, (double)s.rto_ns, now, sizeof(now));
	expr_print(EXPR_TIME,
		   (double)(s.rto_ns < r->fabric->rto_ns ? r->fabric->rto_ns : 2 * s.rto_ns), cure,
		   sizeof(cure));
	snprintf(text, TEXT_LEN,
		 "%" PRIu64 " packets were sent again although their receivers had accepted them, "
		 "and losses do not explain it: the retransmission timer of %s ran out while the "
		 "packet or its ACK waited. Set `hosts.NAME.nic.rto` to at least %s",
		 s.packets, now, cure);
	return true;
}

void report_rto_line(const struct run *r, FILE *out)
{
	char text[TEXT_LEN];

	if (warning(r, text))
		fprintf(out, "warning: %s\n", text);
}

void report_rto_json(const struct run *r, struct json_object *out)
{
	struct json_object *list = list_in(out, "warnings");
	char text[TEXT_LEN];

	if (warning(r, text))
		json_object_array_add(list, json_object_new_string(text));
}
