// SPDX-License-Identifier: Apache-2.0
// Hostile hosts of iNOF: any LLDP frames and any frames of EtherType 0x88a7, and messages and
// registrations of any values, on four ports whose links and faults change. Whatever comes: no read
// outside the frame, no more hosts than the table and the shares allow, every frame that is sent is
// one, and what was read is read again from what is built of it.
//
//	input: operations: a number and its bytes
#include "tests/fuzz/fuzz.h"

#include "control/inof/registry.h"
#include "dataplane/base/units.h"

enum { PORTS = 4, MAX_OPS = 300 };

struct world {
	struct inof_registry *r;
	bool refuses;
	uint64_t now_ns, sent[PORTS];
	struct inof_message last;
};

static const uint8_t *mac_of(void *arg, unsigned port)
{
	static const uint8_t mac[6] = {2};

	(void)arg;
	FUZZ_CHECK(port < PORTS);
	return mac;
}

static bool take_frame(void *arg, unsigned port, const struct inof_frame *f)
{
	struct world *w = arg;
	uint8_t *copy = fuzz_exact(f->bytes, f->len);
	struct inof_reader in;

	FUZZ_CHECK(port < PORTS && f->len >= 60 && inof_open(copy, f->len, &in));
	while (in.at != in.end)
		FUZZ_CHECK(inof_next(&in, &w->last) == INOF_MESSAGE &&
			   w->last.kind == INOF_NOTICE);
	free(copy);
	w->sent[port] += !w->refuses;
	return !w->refuses;
}

static void take_event(void *arg, const struct event *e, const char *about)
{
	(void)arg;
	FUZZ_CHECK(e->type < N_EVENT_TYPES && strlen(about) < INOF_IP_TEXT);
}

static void check_message(const struct inof_message *m, uint8_t version)
{
	struct inof_message again;
	struct inof_reader in;
	struct inof_frame f;

	inof_begin(&f, mac_of(NULL, 0), version);
	FUZZ_CHECK(inof_append(&f, m));
	inof_end(&f);
	FUZZ_CHECK(inof_open(f.bytes, f.len, &in) && inof_next(&in, &again) == INOF_MESSAGE);
	FUZZ_CHECK(again.kind == m->kind && ip_key_same(again.dst, m->dst));
	FUZZ_CHECK(m->kind == INOF_QUERY ||
		   (ip_key_same(again.src, m->src) && again.seq == m->seq));
	FUZZ_CHECK(inof_next(&in, &again) == INOF_END);
}

static void receive(struct world *w, unsigned port, const uint8_t *bytes, size_t len)
{
	uint8_t *frame = fuzz_exact(bytes, len);
	struct inof_message m;
	struct inof_reader in;
	enum inof_read read;

	if (inof_open(frame, (uint32_t)len, &in))
		while ((read = inof_next(&in, &m)) != INOF_END)
			if (read == INOF_MESSAGE)
				check_message(&m, in.version);
	inof_receive(w->r, port, frame, (uint32_t)len, w->now_ns);
	free(frame);
}

// A header that is good, and the messages of the input.
static void receive_messages(struct world *w, unsigned port, struct fuzz_in *in)
{
	uint8_t frame[INOF_FRAME_MAX] = {0x01, 0x80, 0xc2, 0, 0, 0x0d,
					 2, 0, 0, 0, 0, 9, 0x88, 0xa7};
	size_t n = fuzz_u8(in) * 4u;
	const uint8_t *bytes;

	frame[14] = fuzz_u8(in) & 1;
	bytes = fuzz_take(in, &n);
	frame[16] = (uint8_t)(n >> 8);
	frame[17] = (uint8_t)n;
	memcpy(frame + 22, bytes, n);
	receive(w, port, frame, 22 + n);
}

static void receive_lldp(struct world *w, unsigned port, const uint8_t *bytes, size_t len)
{
	uint8_t *frame = fuzz_exact(bytes, len);
	struct inof_registration r;
	struct lldp_pdu pdu;
	bool alone;

	if (lldp_parse(frame, (uint32_t)len, &pdu) == LLDP_OK &&
	    inof_find_registration(frame, (uint32_t)len, &r, &alone) == INOF_FOUND) {
		uint8_t tlv[INOF_TLV_MAX];

		FUZZ_CHECK(inof_build_registration(tlv, &r) == 2 + 31 + r.service.nqn.len);
	}
	inof_lldp(w->r, port, frame, (uint32_t)len, w->now_ns);
	free(frame);
}

// Of one of 16 keys and 16 addresses.
static void registers(struct world *w, unsigned port, struct fuzz_in *in)
{
	uint8_t key = fuzz_u8(in), tlv[INOF_TLV_MAX], frame[LLDP_MAX_LEN];
	struct inof_registration r = {ip_key_v4(0x0a000000u | (key & 15u)), key >> 7,
				      {.role = fuzz_u8(in) % 5, .protocol = fuzz_u8(in) % 4}};
	const uint8_t id = key >> 3 & 15;
	struct lldp_pdu p = {.chassis = {LLDP_CHASSIS_LOCAL, {&id, 1}},
			     .port = {LLDP_PORT_NAME, {&id, 1}}, .ttl_s = fuzz_u8(in)};
	size_t n = fuzz_u8(in) % 8;
	const uint8_t *name = fuzz_take(in, &n);
	uint16_t len;

	memcpy(r.service.nqn.text, name, n);
	r.service.nqn.len = (uint8_t)n;
	len = inof_build_registration(tlv, &r);
	len = lldp_build(frame, &p, (struct lldp_text){tlv, len});
	receive_lldp(w, port, frame, len);
}

// The last notice, whoever it was for.
static void acknowledges(struct world *w, unsigned port, struct fuzz_in *in)
{
	struct inof_frame f;

	w->last.kind = fuzz_u8(in) & 1 ? INOF_ACK : INOF_QUERY;
	inof_begin(&f, mac_of(NULL, 0), 1);
	inof_append(&f, &w->last);
	inof_end(&f);
	receive(w, port, f.bytes, f.len);
}

static void let_time_pass(struct world *w, struct fuzz_in *in)
{
	uint64_t end_ns = w->now_ns + fuzz_log(in) % (400ull * SECOND_NS);

	for (unsigned i = 0; i < 16 && inof_next_ns(w->r) <= end_ns; i++) {
		w->now_ns = max_u64(w->now_ns, inof_next_ns(w->r));
		inof_poll(w->r, w->now_ns);
	}
	w->now_ns = end_ns;
	inof_poll(w->r, w->now_ns);
	for (unsigned p = 0; p < PORTS; p++)
		FUZZ_CHECK(w->sent[p] <= INOF_BURST + w->now_ns / (SECOND_NS / INOF_RATE));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct inof_ops ops = {mac_of, take_frame, take_event, NULL};
	static const struct inof_conf conf = {.default_zone = true, .ports = {0xf}};
	struct fuzz_in in = {data, len};
	struct world w = {0};
	const uint8_t *bytes;
	size_t n;

	FUZZ_CHECK(inof_create(PORTS, &ops, &w, 1, 1, &w.r) == 0);
	inof_set_conf(w.r, &conf, 0);
	for (unsigned p = 0; p < PORTS; p++)
		inof_link(w.r, p, true, 0);
	for (unsigned i = 0; i < MAX_OPS && in.left > 0; i++) {
		uint8_t op = fuzz_u8(&in);
		unsigned port = op >> 6;

		switch (op & 7) {
		case 0:
			n = fuzz_u16(&in) % (INOF_FRAME_MAX + 8);
			bytes = fuzz_take(&in, &n);
			receive(&w, port, bytes, n);
			break;
		case 1:
			n = fuzz_u16(&in) % (LLDP_MAX_LEN + 8);
			bytes = fuzz_take(&in, &n);
			receive_lldp(&w, port, bytes, n);
			break;
		case 2: receive_messages(&w, port, &in); break;
		case 3: inof_link(w.r, port, fuzz_u8(&in) & 1, w.now_ns); break;
		case 4: inof_fault(w.r, port, fuzz_u8(&in) % N_INOF_REASONS, w.now_ns); break;
		case 5: let_time_pass(&w, &in); break;
		case 6: acknowledges(&w, port, &in); break;
		default: registers(&w, port, &in); break;
		}
		w.refuses = op & 32;
		FUZZ_CHECK(inof_n_hosts(w.r) <= INOF_HOSTS);
	}
	inof_destroy(w.r);
	return 0;
}
