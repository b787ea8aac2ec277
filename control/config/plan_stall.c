// SPDX-License-Identifier: Apache-2.0
#include "control/config/plan_stall.h"

#include <inttypes.h>
#include <string.h>

#include "control/config/compile.h"
#include "control/config/units.h"
#include "dataplane/units.h"
#include "drivers/standin/standin.h"
#include "drivers/xdp/xdp.h"

enum { WIRE_OVERHEAD = 24, TIME_LEN = 32, CURE_LEN = 160 }; // FCS, preamble, gap

__extension__ typedef unsigned __int128 wide;

static const uint64_t BITS_NS = 8ull * 1000000000; // bit/s times ns in a byte

// The largest number of bytes that the peer sends after the PAUSE has left.
static uint64_t flight_bytes(const struct config *c, const struct policy *p, unsigned port)
{
	const struct policy_port *pp = &p->ports[port];
	uint64_t most = 0;

	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		unsigned pg = pp->classify.class_to_pg[cls];
		uint64_t bytes;

		if (!(pp->classify.lossless >> cls & 1))
			continue;
		bytes = compile_flight_bytes(c, &c->ports[port], pg, pp->speed_bps);
		most = bytes > most ? bytes : most;
	}
	return most;
}

static uint64_t power_of_two(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

// With a ring that holds so many bytes.
static uint64_t longest_age_ns(uint64_t room, uint64_t flight, uint64_t per_s)
{
	room -= room < flight ? room : flight;
	return (uint64_t)((wide)room * BITS_NS / per_s) * STANDIN_LOOKS / (STANDIN_LOOKS + 1);
}

bool plan_stall(const struct config *c, const struct policy *p, unsigned port,
		struct plan_stall *out)
{
	const struct policy_port *pp = &p->ports[port];
	uint64_t age_ns = p->stall.pause_after_ns, flight = flight_bytes(c, p, port);
	uint64_t full = pp->max_frame + WIRE_OVERHEAD;
	uint64_t ring = (uint64_t)c->ports[port].item->rx_ring.n;
	uint64_t per_s = pp->speed_bps / config_time_scale(c) + 1;

	*out = (struct plan_stall){.interface = strncmp(pp->device, "xdp:", 4) == 0};
	if (age_ns == 0 || (pp->pfc.tx & pp->pfc.lossless) == 0)
		return false;
	out->bytes = (uint64_t)((wide)(age_ns + age_ns / STANDIN_LOOKS) * per_s / BITS_NS) + flight;
	out->ring = ring != 0 ? power_of_two(ring) : XDP_RX_RING_DEFAULT;
	out->least_frame = out->bytes / out->ring;
	out->least_frame -= out->least_frame < WIRE_OVERHEAD ? out->least_frame : WIRE_OVERHEAD;
	out->ring_needed = power_of_two((out->bytes + full - 1) / full);
	out->age_ns = longest_age_ns(out->ring * full, flight, per_s);
	out->longest_age_ns = longest_age_ns(XDP_RX_RING_MAX * full, flight, per_s);
	out->holds = out->bytes <= out->ring * full;
	return true;
}

static void cure(const struct plan_stall *s, char out[CURE_LEN])
{
	const char *ring = "TOO SMALL, frames are lost: rx_ring:";

	if (s->ring_needed > XDP_RX_RING_MAX)
		snprintf(out, CURE_LEN, "%s %u and switch.stall.pause_after: %" PRIu64 "ms", ring,
			 XDP_RX_RING_MAX, s->longest_age_ns / MS_NS);
	else if (s->age_ns < MS_NS)
		snprintf(out, CURE_LEN, "%s %" PRIu64, ring, s->ring_needed);
	else
		snprintf(out, CURE_LEN,
			 "%s %" PRIu64 ", or switch.stall.pause_after: %" PRIu64 "ms", ring,
			 s->ring_needed, s->age_ns / MS_NS);
	if (s->longest_age_ns < MS_NS)
		snprintf(out, CURE_LEN, "TOO SMALL, frames are lost, and no ring is large enough");
}

static void line(const struct policy *p, const char *name, const struct plan_stall *s, FILE *out)
{
	char age[TIME_LEN], text[CURE_LEN] = "holds";

	unit_print(UNIT_TIME, (int64_t)p->stall.pause_after_ns, age, sizeof(age));
	if (!s->interface) {
		fprintf(out,
			"%-8s %11s %8s %10s %11s\n"
			"  no PAUSE while its worker stands still: no kernel interface\n",
			name, "-", "-", "-", "-");
		return;
	}
	if (!s->holds)
		cure(s, text);
	fprintf(out, "%-8s %11s %8" PRIu64 " %10" PRIu64 " %11" PRIu64 "%s%s\n", name, age,
		s->ring, s->bytes, s->least_frame, s->holds ? "  " : "\n  ", text);
}

void plan_stall_text(const struct config *c, const struct policy *p, FILE *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_ports; i++) {
		struct plan_stall s;

		if (!plan_stall(c, p, i, &s))
			continue;
		if (n++ == 0)
			fprintf(out, "\n%-8s %11s %8s %10s %11s  %s\n", "stall", "pause_after",
				"rx_ring", "arrive", "least_frame", "verdict");
		line(p, p->ports[i].name, &s, out);
	}
	if (n != 0)
		fputs("\n"
		      "arrive       bytes on the wire from the last loop of a worker until its\n"
		      "             peer has stopped: pause_after and a quarter, and t_flight\n"
		      "least_frame  the receive ring holds these bytes if the mean frame has at\n"
		      "             least so many bytes\n",
		      out);
}

static void add_u64(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

void plan_stall_port_json(const struct config *c, const struct policy *p, unsigned port,
			  struct json_object *o)
{
	struct json_object *stall;
	struct plan_stall s;

	if (!plan_stall(c, p, port, &s))
		return;
	stall = json_object_new_object();
	json_object_object_add(stall, "interface", json_object_new_boolean(s.interface));
	add_u64(stall, "pause_after_ns", p->stall.pause_after_ns);
	add_u64(stall, "rx_ring", s.ring);
	add_u64(stall, "arrive_bytes", s.bytes);
	add_u64(stall, "least_frame_bytes", s.least_frame);
	add_u64(stall, "rx_ring_needed", s.ring_needed);
	json_object_object_add(stall, "holds", json_object_new_boolean(s.holds));
	json_object_object_add(o, "stall", stall);
}
