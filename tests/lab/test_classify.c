// SPDX-License-Identifier: Apache-2.0
// Classification of a whole switch: conformance row M1, and the hints.
#include "tests/lab/bench.h"
#include "tests/lab/lab_yaml.h"

#include <string.h>

// Sends one frame and checks the queue and group that counted it, and that it arrived unchanged.
static void lands_in(struct bench *b, const struct bench_frame *f, unsigned cls)
{
	uint64_t q = ctr_get(&switch_queue_counters(b->sw, 2, cls)->tx_packets);
	uint64_t pg = ctr_get(&switch_pg_counters(b->sw, 0, cls)->rx_packets);
	uint8_t sent[2048];
	const struct bench_rx *rx;

	bench_inject(b, 0, f, 1);
	bench_run(b, 10000);
	assert_int_equal(ctr_get(&switch_queue_counters(b->sw, 2, cls)->tx_packets), q + 1);
	assert_int_equal(ctr_get(&switch_pg_counters(b->sw, 0, cls)->rx_packets), pg + 1);
	rx = &b->host[2].rx[b->host[2].n_rx - 1];
	assert_int_equal(rx->len, bench_build(sent, 0, f));
	assert_memory_equal(rx->data, sent, rx->len < BENCH_KEEP ? rx->len : BENCH_KEEP);
}

static void m1_all_dscps_by_the_built_in_map_v4_and_v6_tagged_and_not(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", "      3: {lossless: true}\n"), 0);

	(void)state;
	for (unsigned dscp = 0; dscp < 64; dscp++) {
		for (unsigned v = 0; v < 4; v++) {
			struct bench_frame f = {.to = 2,
						.dscp = (uint8_t)dscp,
						.ecn = (uint8_t)(dscp % 3),
						.len = 120,
						.ipv6 = v & 1,
						.tagged = v & 2,
						.pcp = 7,
						.vid = 5};

			lands_in(b, &f, dscp / 8);
		}
	}
	bench_close(b);
}

static void m1_dscps_by_a_map_of_the_policy(void **state)
{
	struct bench *b = bench_open(
		lab_yaml(3, "10G", "", "    dscp_to_class: {default: 2, 24-31: 3, 48-55: 6}\n",
			 "      3: {lossless: true}\n"),
		0);

	(void)state;
	for (unsigned dscp = 0; dscp < 64; dscp++) {
		struct bench_frame f = {.to = 2, .dscp = (uint8_t)dscp, .len = 100};

		lands_in(b, &f, dscp / 8 == 3 ? 3 : dscp / 8 == 6 ? 6 : 2);
	}
	bench_close(b);
}

static void m1_all_pcps(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", ", default_class: 1",
					      "    trust: pcp\n    pcp_to_class: {7: 4}\n",
					      "      3: {lossless: true}\n"),
				     0);

	(void)state;
	for (unsigned pcp = 0; pcp < 8; pcp++) {
		struct bench_frame f = {.to = 2, .dscp = 40, .len = 100, .tagged = true,
					.pcp = (uint8_t)pcp, .vid = 9};

		lands_in(b, &f, pcp == 7 ? 4 : pcp);
		f.ether_type = 0x1234;
		lands_in(b, &f, pcp == 7 ? 4 : pcp);
	}
	{
		struct bench_frame f = {.to = 2, .dscp = 40, .len = 100};

		lands_in(b, &f, 1);
	}
	bench_close(b);
}

static void m1_frames_without_a_dscp_go_by_pcp_then_by_port(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", ", default_class: 5", "",
					      "      3: {lossless: true}\n"),
				     0);
	struct bench_frame f = {.to = 2, .len = 100, .ether_type = 0x1234};

	(void)state;
	lands_in(b, &f, 5);
	f.tagged = true;
	f.pcp = 2;
	lands_in(b, &f, 2);
	bench_close(b);
}

static void queues_and_groups_can_be_mapped(void **state)
{
	struct bench *b = bench_open(
		lab_yaml(3, "10G", "", "    class_to_queue: {2: 1}\n    class_to_pg: {2: 7}\n",
			 "      3: {lossless: true}\n"),
		0);
	struct bench_frame f = {.to = 2, .dscp = 16, .len = 100};

	(void)state;
	bench_inject(b, 0, &f, 1);
	bench_run(b, 1000);
	assert_int_equal(ctr_get(&switch_queue_counters(b->sw, 2, 1)->tx_packets), 1);
	assert_int_equal(ctr_get(&switch_pg_counters(b->sw, 0, 7)->rx_packets), 1);
	bench_close(b);
}

static void remark_writes_dscp_and_pcp_on_the_way_out(void **state)
{
	struct bench *b = bench_open(
		lab_yaml(3, "10G", "", "    remark: {pcp: class, dscp: {2: 18}}\n",
			 "      3: {lossless: true}\n"),
		0);
	struct bench_frame f = {.to = 2, .dscp = 16, .ecn = 2, .len = 100, .tagged = true, .pcp = 7,
				.vid = 9};
	const uint8_t *d;
	uint32_t sum = 0;

	(void)state;
	bench_inject(b, 0, &f, 1);
	bench_run(b, 1000);
	d = b->host[2].rx[0].data;
	assert_int_equal(d[14] >> 5, 2);
	assert_int_equal(d[15], 9);
	assert_int_equal(d[19], 18 << 2 | 2);
	for (unsigned i = 18; i < 38; i += 2)
		sum += (uint32_t)(d[i] << 8 | d[i + 1]);
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	bench_close(b);
}

static void roce_in_a_lossy_class_and_not_ect_is_hinted(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", "      3: {lossless: true}\n"), 0);
	uint8_t frame[128];
	struct bench_frame f = {.to = 2, .dscp = 0, .len = 100};

	(void)state;
	bench_build(frame, 0, &f);
	frame[36] = 4791 >> 8;
	frame[37] = 4791 & 0xff;
	frame[42] = 0x0a; // RC RDMA WRITE ONLY
	bench_send_raw(b, 0, frame, 100);
	frame[42] = 0x11; // ACK: no data
	bench_send_raw(b, 0, frame, 100);
	bench_run(b, 10000);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->roce_in_lossy_class), 1);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->roce_not_ect), 1);
	bench_close(b);
}

// Only a tag gives RoCE v1 a lossless class.
static void rocev1_in_a_lossy_class_is_hinted(void **state)
{
	static const struct {
		struct bench_frame f;
		const char *trust;
		uint64_t hinted;
	} rows[] = {
		{{.to = 2, .len = 100, .ether_type = ETYPE_ROCE_V1}, "dscp", 1},
		{{.to = 2, .len = 100, .ether_type = ETYPE_ROCE_V1}, "pcp", 1},
		{{.to = 2, .len = 100, .ether_type = ETYPE_ROCE_V1, .tagged = true, .pcp = 4},
		 "pcp",
		 1},
		{{.to = 2, .len = 100, .ether_type = ETYPE_ROCE_V1, .tagged = true, .pcp = 3},
		 "pcp",
		 0},
		{{.to = 2, .len = 100, .ether_type = ETYPE_ROCE_V1 + 1}, "dscp", 0},
		{{.to = 2, .len = 100}, "dscp", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char trust[32];
		struct bench *b;
		const struct port_counters *c;

		snprintf(trust, sizeof(trust), "    trust: %s\n", rows[i].trust);
		b = bench_open(lab_yaml(3, "10G", "", trust, "      3: {lossless: true}\n"), 0);
		c = switch_port_counters(b->sw, 0);
		bench_inject(b, 0, &rows[i].f, 1);
		bench_run(b, 10000);
		assert_int_equal(ctr_get(&c->roce_v1_in_lossy_class), rows[i].hinted);
		assert_int_equal(ctr_get(&c->roce_in_lossy_class), 0);
		bench_close(b);
	}
}

static void expect_hint(struct bench *b, enum event_type type, unsigned dscp, uint64_t frames)
{
	b->n_events = 0;
	bench_control(b);
	assert_int_equal(b->n_events, type != N_EVENT_TYPES);
	if (type == N_EVENT_TYPES)
		return;
	assert_int_equal(b->events[0].type, type);
	assert_int_equal(b->events[0].port, 0);
	assert_int_equal(b->events[0].cls, 1); // an eighth of it
	assert_int_equal(b->events[0].a, dscp);
	assert_int_equal(b->events[0].b, frames);
}

// Once when it begins, once when it is over; and not at all where no class is lossless.
static void roce_in_a_lossy_class_is_told_with_its_dscp(void **state)
{
	static const struct {
		const char *classes;
		bool told;
	} rows[] = {{"      3: {lossless: true}\n", true}, {"      3: {}\n", false}};

	(void)state;
	for (unsigned r = 0; r < 2; r++) {
		struct bench *b = bench_open(lab_yaml(2, "10G", "", "", rows[r].classes), 0);
		enum event_type none = N_EVENT_TYPES;
		uint8_t frame[128];
		struct bench_frame f = {.to = 1, .dscp = 10, .len = 100};

		bench_build(frame, 0, &f);
		frame[36] = 4791 >> 8;
		frame[37] = 4791 & 0xff;
		frame[42] = 0x0a; // RC RDMA WRITE ONLY
		bench_control(b);
		for (unsigned i = 0; i < 7; i++)
			bench_send_raw(b, 0, frame, 100);
		bench_run(b, 150000000);
		bench_control(b); // the address of the host
		bench_run(b, 150000000);
		b->n_events = 0;
		bench_send_raw(b, 0, frame, 100);
		bench_run(b, 4900000000);
		expect_hint(b, none, 0, 0);
		bench_run(b, 5200000000);
		expect_hint(b, rows[r].told ? EVENT_ROCE_LOSSY_OVER : none, 10, 8);
		bench_send_raw(b, 0, frame, 100);
		bench_run(b, 150000000);
		expect_hint(b, rows[r].told ? EVENT_ROCE_LOSSY : none, 10, 1);
		bench_close(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(m1_all_dscps_by_the_built_in_map_v4_and_v6_tagged_and_not),
		cmocka_unit_test(m1_dscps_by_a_map_of_the_policy),
		cmocka_unit_test(m1_all_pcps),
		cmocka_unit_test(m1_frames_without_a_dscp_go_by_pcp_then_by_port),
		cmocka_unit_test(queues_and_groups_can_be_mapped),
		cmocka_unit_test(remark_writes_dscp_and_pcp_on_the_way_out),
		cmocka_unit_test(roce_in_a_lossy_class_and_not_ect_is_hinted),
		cmocka_unit_test(rocev1_in_a_lossy_class_is_hinted),
		cmocka_unit_test(roce_in_a_lossy_class_is_told_with_its_dscp),
	};

	return cmocka_run_group_tests_name("classify", tests, bench_eal, NULL);
}
