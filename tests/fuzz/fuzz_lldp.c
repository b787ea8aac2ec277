// SPDX-License-Identifier: Apache-2.0
// Hostile neighbours of an LLDP agent: any frames, and frames with an identity and any TLVs behind
// it, on two ports whose links and settings change. Whatever comes: no read outside the frame, no
// more than eight neighbours, no more frames than the transmission credit allows, every frame that
// is sent is one, and what was read is read again from what is built of it.
//
//   input: a byte of configuration; then operations: a number and its bytes
#include "tests/fuzz/fuzz.h"

#include <ctype.h>

#include "control/lldp/agent.h"
#include "dataplane/base/units.h"

enum { PORTS = 2, MAX_OPS = 200, IDENTITY_LEN = 14 + 4 + 4 + 4 };

static const uint8_t own_mac[6] = {2, 0, 0, 0, 0, 5};

struct world {
	struct lldp_agent *agent;
	struct lldp_local local;
	bool on, refuses;
	uint64_t now_ns;
	uint64_t links_up; // each gives its port a full credit
	uint64_t n_sent;
};

static bool local(void *arg, unsigned port, struct lldp_local *out)
{
	const struct world *w = arg;

	FUZZ_CHECK(port < PORTS);
	*out = w->local;
	out->pfc_possible = out->pdu.dcbx.pfc.enable;
	return w->on;
}

static bool take_frame(void *arg, unsigned port, const uint8_t *bytes, uint16_t len)
{
	struct world *w = arg;
	struct lldp_pdu p;
	uint8_t *copy = fuzz_exact(bytes, len);

	FUZZ_CHECK(port < PORTS && len >= 60);
	FUZZ_CHECK(lldp_parse(copy, len, &p) == LLDP_OK && p.n_bad == 0 && p.n_unknown == 0);
	free(copy);
	w->n_sent += !w->refuses;
	return !w->refuses;
}

static void check_text(const char *text)
{
	FUZZ_CHECK(strlen(text) < LLDP_ABOUT_LEN);
	for (; *text != '\0'; text++)
		FUZZ_CHECK(isprint((unsigned char)*text));
}

static void take_event(void *arg, const struct event *e, const char *about)
{
	const struct world *w = arg;

	FUZZ_CHECK(e->port < PORTS && e->t_ns == w->now_ns && e->type < N_EVENT_TYPES);
	check_text(about);
}

// What is read of a frame that is built of what was read.
static void check_round_trip(const struct lldp_pdu *p)
{
	uint8_t frame[LLDP_MAX_LEN];
	uint16_t len = lldp_build(frame, p, (struct lldp_text){0});
	struct lldp_pdu again;

	if (len == 0)
		return;
	FUZZ_CHECK(lldp_parse(frame, len, &again) == LLDP_OK);
	FUZZ_CHECK(again.n_bad == 0 && again.n_unknown == 0);
	FUZZ_CHECK(memcmp(&again.dcbx, &p->dcbx, sizeof(p->dcbx)) == 0);
	FUZZ_CHECK(again.ttl_s == p->ttl_s && again.chassis.id.len == p->chassis.id.len);
	FUZZ_CHECK(again.enabled == p->enabled && again.management.len == p->management.len);
}

static void check_tlvs(const uint8_t *frame, uint32_t len)
{
	const uint8_t *at = lldp_first(frame), *end = frame + len;
	struct lldp_tlv t;

	while (lldp_next(&at, end, &t))
		FUZZ_CHECK(t.value + t.len <= end && t.len <= LLDP_TLV_MAX);
}

static void receive(struct world *w, unsigned port, const uint8_t *bytes, uint32_t len)
{
	uint8_t *frame = fuzz_exact(bytes, len);
	struct lldp_pdu p;

	if (lldp_parse(frame, len, &p) == LLDP_OK) {
		check_round_trip(&p);
		check_tlvs(frame, len);
	}
	lldp_receive(w->agent, port, frame, len, w->now_ns);
	free(frame);
}

// Chassis and port of one byte, a TTL, and the TLVs of the input.
static void receive_tlvs(struct world *w, unsigned port, struct fuzz_in *in)
{
	uint8_t frame[LLDP_MAX_LEN] = {0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 9, 0x88, 0xcc,
				       0x02, 2, 7, 0, 0x04, 2, 7, 0, 0x06, 2, 0, 0};
	size_t n = fuzz_u16(in) % (LLDP_MAX_LEN - IDENTITY_LEN);
	const uint8_t *tlvs;

	frame[17] = fuzz_u8(in) % 16;
	frame[25] = fuzz_u8(in);
	tlvs = fuzz_take(in, &n);
	memcpy(frame + IDENTITY_LEN, tlvs, n);
	receive(w, port, frame, (uint32_t)(IDENTITY_LEN + n));
}

static void receive_any(struct world *w, unsigned port, struct fuzz_in *in)
{
	size_t n = fuzz_u16(in) % (LLDP_MAX_LEN + 8);
	const uint8_t *bytes = fuzz_take(in, &n);

	receive(w, port, bytes, (uint32_t)n);
}

static void set_local(struct world *w, struct fuzz_in *in)
{
	uint8_t flags = fuzz_u8(in);

	w->on = flags & 1;
	w->local.pfc_auto = flags & 2;
	w->local.pdu.dcbx.pfc.willing = flags & 4;
	w->local.pdu.dcbx.pfc.given = flags & 8;
	w->local.pdu.dcbx.ets.given = flags & 16;
	w->refuses = flags & 32;
	w->local.pdu.dcbx.pfc.enable = fuzz_u8(in);
	lldp_local_changed(w->agent, w->now_ns);
}

static void check_ports(const struct world *w)
{
	for (unsigned port = 0; port < PORTS; port++) {
		struct dcbx_view v;
		unsigned n = 0;

		for (; lldp_neighbour(w->agent, port, n) != NULL; n++) {
			const struct lldp_neighbour *h = lldp_neighbour(w->agent, port, n);
			char text[LLDP_ABOUT_LEN];

			FUZZ_CHECK(h->end_ns > w->now_ns || h->pdu.ttl_s != 0);
			lldp_id_print(&h->pdu.chassis, true, text);
			check_text(text);
			lldp_address_print(h->pdu.management, text);
			check_text(text);
		}
		FUZZ_CHECK(n <= LLDP_NEIGHBOURS && (w->on || n == 0));
		lldp_dcbx(w->agent, port, &v);
		FUZZ_CHECK((v.active & ~v.local.pfc.enable) == 0);
		FUZZ_CHECK((v.oper & ~v.local.pfc.enable) == 0);
		FUZZ_CHECK((v.peer != NULL) ==
			   (v.state == DCBX_AGREED || v.state == DCBX_MISMATCH));
	}
}

// To the next thing that is due, a few times, or by some time.
static void let_time_pass(struct world *w, struct fuzz_in *in)
{
	uint64_t end_ns = w->now_ns + fuzz_log(in) % (1000ull * SECOND_NS);

	for (unsigned i = 0; i < 16 && lldp_next_ns(w->agent) <= end_ns; i++) {
		uint64_t next_ns = lldp_next_ns(w->agent);

		w->now_ns = next_ns > w->now_ns ? next_ns : w->now_ns;
		lldp_poll(w->agent, w->now_ns);
	}
	w->now_ns = end_ns;
	lldp_poll(w->agent, w->now_ns);
}

static void set_link(struct world *w, unsigned port, bool up)
{
	w->links_up += up;
	lldp_link(w->agent, port, up, w->now_ns);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct lldp_agent_ops ops = {local, take_frame, take_event};
	static const uint8_t name[] = {'p'};
	struct world w = {.on = true};
	struct fuzz_in in = {data, len};

	w.local.pdu = (struct lldp_pdu){.chassis = {LLDP_CHASSIS_MAC, {own_mac, 6}},
					.port = {LLDP_PORT_NAME, {name, sizeof(name)}}};
	memcpy(w.local.pdu.mac, own_mac, sizeof(own_mac));
	FUZZ_CHECK(lldp_agent_create(PORTS, &ops, &w, &w.agent) == 0);
	set_local(&w, &in);
	set_link(&w, 0, true);
	for (unsigned i = 0; i < MAX_OPS && in.left > 0; i++) {
		uint8_t op = fuzz_u8(&in);
		unsigned port = op >> 7;

		switch (op & 7) {
		case 0: receive_any(&w, port, &in); break;
		case 1: set_local(&w, &in); break;
		case 2: set_link(&w, port, fuzz_u8(&in) & 1); break;
		case 3: let_time_pass(&w, &in); break;
		default: receive_tlvs(&w, port, &in); break;
		}
		check_ports(&w);
		FUZZ_CHECK(w.n_sent <= (w.links_up + w.now_ns / SECOND_NS + 1) * PORTS *
					       (LLDP_CREDIT + 1));
	}
	w.refuses = false;
	lldp_shutdown(w.agent);
	lldp_agent_destroy(w.agent);
	return 0;
}
