// SPDX-License-Identifier: Apache-2.0
// What Linux hosts said to each other, played once more through a switch: the pairs that it finds
// are those of the hosts. tests/data/linux_guests.pcap is a port's view of two guests of
// scripts/rdma: rping, ib_write_bw -R, ib_read_bw -R, ucmatose -c 4, and ib_send_bw -q 2 without
// CM, with real MADs, ACKs, iCRCs and UDP source ports. Then the same with damaged management.
//
//   lab_linux_rdma FILE    plays another capture of RoCEv2 over IPv4, and lists the pairs
#include "dataplane/policy.h"
#include "source_root.h"
#include "tests/lab/bench.h"

#include <stdio.h>
#include <string.h>

#include "dataplane/packet/cm.h"
#include "dataplane/packet/wire.h"
#include "dataplane/roce/pairing.h"
#include "dataplane/switch_flows.h"
#include "tests/lab/lab_yaml.h"

enum {
	PCAP_HEAD = 24,
	PCAP_RECORD = 16,
	MAX_LEN = 1600,
	SEEN_MOST = 256,
	AT_SRC = 26, // of a frame without tags: IPv4 source
	AT_OPCODE = 42,
	AT_QP = 47,
	AT_MAD = 62, // behind BTH and DETH
	FRAME_GAP_NS = 2000000, // hosts that are silent for longer say nothing more by it
};

// Queue pairs of 10.0.0.1 and 10.0.0.2, as REQ and REP say; the last two as perftest printed them.
static const struct {
	uint32_t a, b;
	uint8_t source;
} conns[] = {
	{0x11, 0x17, PAIR_CM}, {0x12, 0x18, PAIR_CM}, {0x13, 0x19, PAIR_CM}, {0x14, 0x1a, PAIR_CM},
	{0x15, 0x1b, PAIR_CM}, {0x16, 0x1c, PAIR_CM}, {0x17, 0x1d, PAIR_CM}, {0x18, 0x1e, PAIR_CM},
	{0x19, 0x1f, PAIR_CM}, {0x1a, 0x20, PAIR_ACK}, {0x1b, 0x21, PAIR_ACK},
};
enum {
	N_CONNS = sizeof(conns) / sizeof(conns[0]),
	N_FLOWS = 19, // that have data or READ responses, by tshark
};

// A flow that had a pair: from host a (0) or b (1) to the queue pair qp.
struct seen {
	uint32_t from, qp, sender_qp;
	uint8_t source;
};

struct play {
	struct bench *b;
	FILE *in;
	uint64_t at_ns; // of the capture
	uint32_t first_ip; // of host a
	unsigned n_seen;
	struct seen seen[SEEN_MOST];
	// Alters a management message; false leaves it out.
	bool (*damage)(void *arg, uint8_t *mad, uint16_t *mad_len);
	void *damage_arg;
};

// ---- what the switch found

static bool look_at(void *arg, const struct flow_row *row)
{
	struct play *p = arg;
	uint8_t src[16], dst[16];
	struct seen s = {.qp = flow_key_qp(&row->key), .sender_qp = row->pair.qp,
			 .source = row->pair.source};

	flow_key_addresses(&row->key, src, dst);
	s.from = be32_get(src) != p->first_ip;
	if (s.source == PAIR_NONE)
		return true;
	for (unsigned i = 0; i < p->n_seen; i++)
		if (memcmp(&p->seen[i], &s, sizeof(s)) == 0)
			return true;
	assert_true(p->n_seen < SEEN_MOST);
	p->seen[p->n_seen++] = s;
	return true;
}

// Whether a flow had this pair by this source.
static bool had(const struct play *p, uint32_t from, uint32_t qp, uint32_t sender_qp,
		uint8_t source)
{
	for (unsigned i = 0; i < p->n_seen; i++) {
		const struct seen *s = &p->seen[i];

		if (s->from == from && s->qp == qp && s->sender_qp == sender_qp &&
		    s->source == source)
			return true;
	}
	return false;
}

static void assert_no_wrong_pair(const struct play *p)
{
	for (unsigned i = 0; i < p->n_seen; i++) {
		const struct seen *s = &p->seen[i];
		unsigned c = 0;

		while (c < N_CONNS && (s->from == 0 ? conns[c].b : conns[c].a) != s->qp)
			c++;
		if (c == N_CONNS || (s->from == 0 ? conns[c].a : conns[c].b) != s->sender_qp)
			fail_msg("host %u to 0x%x: 0x%x by source %u", s->from, s->qp,
				 s->sender_qp, s->source);
	}
}

// ---- frames

static void set_table(struct policy *policy, void *arg)
{
	(void)arg;
	policy->flows = (struct flow_params){.max = 64 * bench_workers(),
					     .age_ns = 3000000000};
}

static void play_open(struct play *p, const char *path)
{
	uint8_t head[PCAP_HEAD];

	*p = (struct play){.in = fopen(path, "rb")};
	assert_non_null(p->in);
	assert_int_equal(fread(head, 1, sizeof(head), p->in), sizeof(head));
	p->b = bench_open_with(lab_yaml(2, "10G", "", "", "      3: {lossless: true}\n"),
			       &(struct bench_opts){.seed = 1, .adjust = set_table});
}

static void play_close(struct play *p)
{
	fclose(p->in);
	bench_close(p->b);
}

static uint32_t le32_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static bool is_management(const uint8_t *frame)
{
	return be24_get(frame + AT_QP) == CM_QP;
}

// Of the host that sent it, to the other one; the bench has these addresses.
static void send_frame(struct play *p, uint8_t *frame, uint16_t len)
{
	unsigned from = be32_get(frame + AT_SRC) != p->first_ip;
	const uint8_t mac[] = {2, 0, 0, 0, 0};

	memcpy(frame, mac, sizeof(mac));
	memcpy(frame + 6, mac, sizeof(mac));
	frame[5] = (uint8_t)(2 - from);
	frame[11] = (uint8_t)(1 + from);
	bench_send_raw(p->b, from, frame, len);
}

// Plays the next frame. False at the end.
static bool play_frame(struct play *p)
{
	uint8_t head[PCAP_RECORD], frame[MAX_LEN];
	uint64_t at_ns, gap_ns;
	uint16_t len, mad_len;

	if (fread(head, 1, sizeof(head), p->in) != sizeof(head))
		return false;
	len = (uint16_t)le32_at(head + 8);
	assert_true(len <= MAX_LEN && fread(frame, 1, len, p->in) == len);
	at_ns = le32_at(head) * 1000000000ull + le32_at(head + 4) * 1000ull;
	gap_ns = p->at_ns != 0 && at_ns > p->at_ns ? at_ns - p->at_ns : 0;
	p->at_ns = at_ns;
	if (len < AT_MAD || be16_get(frame + 36) != ROCE_UDP_PORT)
		return true;
	if (p->first_ip == 0)
		p->first_ip = be32_get(frame + AT_SRC);
	bench_run(p->b, gap_ns < FRAME_GAP_NS ? gap_ns : FRAME_GAP_NS);
	if (p->damage != NULL && is_management(frame)) {
		mad_len = (uint16_t)(len - AT_MAD);
		if (!p->damage(p->damage_arg, frame + AT_MAD, &mad_len))
			return true;
		len = (uint16_t)(AT_MAD + mad_len);
	}
	send_frame(p, frame, len);
	bench_run(p->b, 10000);
	switch_flows_walk(p->b->sw, p->b->clock.now_ns, false, look_at, p);
	return true;
}

static void play_all(struct play *p)
{
	while (play_frame(p))
		;
	play_close(p);
}

// ---- tests

static void each_connection_of_linux_is_paired_and_none_wrongly(void **state)
{
	struct play p;

	(void)state;
	play_open(&p, SOURCE_ROOT "/tests/data/linux_guests.pcap");
	play_all(&p);
	assert_no_wrong_pair(&p);
	assert_int_equal(p.n_seen, N_FLOWS);
	for (unsigned i = 0; i < N_CONNS; i++) {
		bool to_b = had(&p, 0, conns[i].b, conns[i].a, conns[i].source);
		bool to_a = had(&p, 1, conns[i].a, conns[i].b, conns[i].source);

		if (!to_b && !to_a)
			fail_msg("0x%x and 0x%x are not paired", conns[i].a, conns[i].b);
	}
}

static void play_damaged(bool (*damage)(void *arg, uint8_t *mad, uint16_t *mad_len), uint32_t arg,
			 bool by_cm)
{
	struct play p;

	play_open(&p, SOURCE_ROOT "/tests/data/linux_guests.pcap");
	p.damage = damage;
	p.damage_arg = &arg;
	play_all(&p);
	assert_no_wrong_pair(&p);
	for (unsigned i = 0; i < p.n_seen; i++)
		if (!by_cm && p.seen[i].source == PAIR_CM)
			fail_msg("0x%x is paired by cm, damage %u", p.seen[i].qp, arg);
}

static bool cut_short(void *arg, uint8_t *mad, uint16_t *mad_len)
{
	(void)mad;
	*mad_len = (uint16_t)*(const uint32_t *)arg;
	return true;
}

static void a_management_message_cut_at_any_byte_pairs_nothing(void **state)
{
	(void)state;
	for (uint32_t len = 0; len < CM_READ_LEN; len++)
		play_damaged(cut_short, len, false);
}

// Where REQ and REP have their Starting PSN; NULL: another message.
static uint8_t *psn_of(uint8_t *mad)
{
	uint16_t attr = be16_get(mad + 16);

	return attr == CM_REQ ? mad + 68 : attr == CM_REP ? mad + 44 : NULL;
}

enum { PSN_ZERO, PSN_FLIPPED, PSN_REVERSED, PSN_NEAR, N_PSN_DAMAGES };

static bool alter_psn(void *arg, uint8_t *mad, uint16_t *mad_len)
{
	uint8_t *psn = psn_of(mad);
	uint8_t first;

	(void)mad_len;
	if (psn == NULL)
		return true;
	first = psn[0];
	switch (*(const uint32_t *)arg) {
	case PSN_ZERO:
		memset(psn, 0, 3);
		break;
	case PSN_FLIPPED:
		psn[0] ^= 0x80;
		break;
	case PSN_REVERSED:
		psn[0] = psn[2];
		psn[2] = first;
		break;
	default:
		be24_put(psn, (be24_get(psn) + 1) & 0xffffff); // the flow begins one before it
	}
	return true;
}

static void with_other_starting_psns_cm_pairs_nothing(void **state)
{
	(void)state;
	for (uint32_t damage = 0; damage < N_PSN_DAMAGES; damage++)
		play_damaged(alter_psn, damage, false);
}

static bool set_attribute(void *arg, uint8_t *mad, uint16_t *mad_len)
{
	(void)mad_len;
	if (psn_of(mad) != NULL)
		be16_put(mad + 16, (uint16_t)*(const uint32_t *)arg);
	return true;
}

// REQ and REP become messages of one kind: some are not read, of others no answer ever comes.
static void messages_of_any_attribute_make_no_wrong_pair(void **state)
{
	(void)state;
	for (uint32_t attr = 0; attr < 0x20; attr++)
		play_damaged(set_attribute, attr, false);
	play_damaged(set_attribute, 0xffff, false);
}

static bool leave_out(void *arg, uint8_t *mad, uint16_t *mad_len)
{
	(void)mad_len;
	return be16_get(mad + 16) != *(const uint32_t *)arg;
}

static void messages_that_passed_elsewhere_make_no_wrong_pair(void **state)
{
	(void)state;
	for (uint32_t attr = CM_REQ; attr <= CM_DREP; attr++)
		play_damaged(leave_out, attr, attr != CM_REQ && attr != CM_REP);
}

// ---- another capture, by hand

static int list_pairs(const char *path)
{
	struct play p;
	void *state = NULL;

	if (bench_eal(&state) != 0)
		return 1;
	play_open(&p, path);
	play_all(&p);
	for (unsigned i = 0; i < p.n_seen; i++)
		printf("from %c to 0x%x: sender 0x%x, source %u\n", "ab"[p.seen[i].from],
		       p.seen[i].qp, p.seen[i].sender_qp, p.seen[i].source);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_connection_of_linux_is_paired_and_none_wrongly),
		cmocka_unit_test(a_management_message_cut_at_any_byte_pairs_nothing),
		cmocka_unit_test(with_other_starting_psns_cm_pairs_nothing),
		cmocka_unit_test(messages_of_any_attribute_make_no_wrong_pair),
		cmocka_unit_test(messages_that_passed_elsewhere_make_no_wrong_pair),
	};

	if (argc > 1)
		return list_pairs(argv[1]);
	return cmocka_run_group_tests_name("linux_rdma", tests, bench_eal, NULL);
}
