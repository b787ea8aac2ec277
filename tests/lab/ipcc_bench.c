// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/ipcc_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/packet/icrc.h"
#include "dataplane/packet/wire.h"
#include "dataplane/policy.h"
#include "tests/lab/lab_yaml.h"

enum { TEXT = 32768, SETTLE_NS = 5000000, FIRST_NS = 20000, SPORT = 49152 };

// ---- policy

const char *ipcc_pairs(uint32_t first, unsigned n)
{
	static char text[TEXT];
	size_t at = 0;

	for (uint32_t qp = first; qp < first + n; qp++)
		for (unsigned from = 1; from <= IPCC_PORTS; from++)
			for (unsigned to = 1; to <= IPCC_PORTS; to++) {
				if (from == to)
					continue;
				at += (size_t)snprintf(
					text + at, sizeof(text) - at,
					"  - {from: 10.0.%u.2, to: 10.0.%u.2, qp: %u, "
					"sender_qp: %u}\n"
					"  - {from: \"fd00:%u::2\", to: \"fd00:%u::2\", qp: %u, "
					"sender_qp: %u}\n",
					from, to, qp, qp + IPCC_SENDER_QP, from, to, qp,
					qp + IPCC_SENDER_QP);
				assert_true(at < sizeof(text));
			}
	return text;
}

static int routed_ports(char *text, size_t room)
{
	int n = snprintf(text, room,
			 "switch: {name: lab, buffer: {size: 4MB, cell: 256B}}\n"
			 "ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G, "
			 "mtu: 1500, profile: x, ip: [\"10.0.[1-4].1/24\", "
			 "\"fd00:[1-4]::1/64\"]}\nneighbours:\n");

	static_assert(IPCC_PORTS == 4, "as many as the ports above");
	for (unsigned i = 1; i <= IPCC_PORTS; i++)
		n += snprintf(text + n, room - (size_t)n,
			      "  - {ip: 10.0.%u.2, mac: \"02:00:00:00:00:%02x\"}\n"
			      "  - {ip: \"fd00:%u::2\", mac: \"02:00:00:00:00:%02x\"}\n",
			      i, i, i, i);
	return n;
}

const char *ipcc_yaml(const struct ipcc_policy *p)
{
	static char text[2 * TEXT];
	const char *keys = p->keys != NULL ? p->keys : "";
	char classes[1024];
	const char *pairs = p->pairs != NULL ? p->pairs : ipcc_pairs(1000, 4);
	int n;

	snprintf(classes, sizeof(classes),
		 "      3: {lossless: %s, wred: {kmin: 5KB, kmax: 20KB, pmax: 100%%%s}, "
		 "ipcc: %s}\n%s",
		 p->lossy ? "false" : "true", p->wred != NULL ? p->wred : ", ecn: off", p->ipcc,
		 p->classes != NULL ? p->classes : "      6: {schedule: strict}\n");
	if (p->routed) {
		n = routed_ports(text, sizeof(text));
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "profiles:\n  x:\n%s    classes:\n%s", keys, classes);
	} else {
		n = snprintf(text, sizeof(text), "%s",
			     lab_yaml(IPCC_PORTS, "10G", "", keys, classes));
	}
	if (pairs[0] != 0)
		snprintf(text + n, sizeof(text) - (size_t)n, "pairs:\n%s", pairs);
	return text;
}

struct bench *ipcc_open(const struct ipcc_policy *p)
{
	struct bench *b = bench_open(ipcc_yaml(p), 0);

	bench_run(b, FIRST_NS);
	return b;
}

// ---- data

static uint16_t csum_of(const uint8_t *p)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < sizeof(struct ipv4_hdr); i += 2)
		sum += be16_get(p + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static uint8_t *put_l2(uint8_t *out, const struct ipcc_data *d)
{
	uint8_t *at = out + 12;

	memcpy(out, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(d->to + 1)}, 6);
	if (d->routed)
		memcpy(out, (uint8_t[]){2, 0, 0, 0, 1, (uint8_t)(d->from + 1)}, 6);
	memcpy(out + 6, (uint8_t[]){2, 0, 0, d->adapter, 0, (uint8_t)(d->from + 1)}, 6);
	for (unsigned i = 0; i < 2 && d->tags[i].tpid != 0; i++) {
		be16_put(at, d->tags[i].tpid);
		be16_put(at + 2, d->tags[i].tci);
		at += 4;
	}
	be16_put(at, d->v6 ? ETYPE_IPV6 : ETYPE_IPV4);
	return at + 2;
}

// DSCP 24, ECT(0). n: bytes from here on.
static uint8_t *put_l3(uint8_t *l3, const struct ipcc_data *d, unsigned n)
{
	if (d->v6) {
		memset(l3, 0, 40);
		be32_put(l3, 0x66200000);
		be16_put(l3 + 4, (uint16_t)(n - 40));
		l3[6] = IP_PROTO_UDP;
		l3[7] = 64;
		be32_put(l3 + 8, 0xfd000000 + d->from + 1);
		be32_put(l3 + 24, 0xfd000000 + d->to + 1);
		l3[23] = l3[39] = 2;
		return l3 + 40;
	}
	memset(l3, 0, 20);
	l3[0] = 0x45;
	l3[1] = 24 << 2 | ECN_ECT0;
	be16_put(l3 + 2, (uint16_t)n);
	be16_put(l3 + 6, IPV4_DF);
	l3[8] = 64;
	l3[9] = IP_PROTO_UDP;
	be32_put(l3 + 12, 0x0a000002 + ((d->from + 1) << 8));
	be32_put(l3 + 16, 0x0a000002 + ((d->to + 1) << 8));
	be16_put(l3 + 10, csum_of(l3));
	return l3 + 20;
}

uint16_t ipcc_build(uint8_t *out, const struct ipcc_data *d)
{
	uint16_t len = d->len == 0 ? IPCC_FRAME : d->len;
	uint8_t *l3 = put_l2(out, d);
	uint8_t *l4 = put_l3(l3, d, len - (unsigned)(l3 - out)), *end = out + len - ROCE_ICRC_LEN;
	struct udp_hdr *udp = (void *)l4;
	struct bth_hdr *bth = (void *)(udp + 1);

	be16_put(&udp->sport, d->sport != 0 ? d->sport : (uint16_t)(SPORT + d->qp));
	be16_put(&udp->dport, ROCE_UDP_PORT);
	be16_put(&udp->len, (uint16_t)(out + len - l4));
	be16_put(&udp->csum, 0);
	*bth = (struct bth_hdr){.opcode = d->opcode, .flags = BTH_MIG};
	be16_put(&bth->pkey, d->pkey != 0 ? d->pkey : BTH_PKEY_DEFAULT);
	be24_put(&bth->dest_qp, d->qp);
	be24_put(&bth->psn, d->psn);
	memset(bth + 1, 0x5a, (size_t)(end - (uint8_t *)(bth + 1)));
	icrc_put(end, icrc(l3, (uint32_t)(end - l3), d->v6 ? PKT_IPV6 : PKT_IPV4));
	return len;
}

void ipcc_send(struct bench *b, const struct ipcc_data *d, unsigned n)
{
	uint8_t frame[IPCC_MAX_LEN];
	struct ipcc_data one = *d;

	for (unsigned i = 0; i < n; i++, one.psn = (one.psn + 1) & BTH_PSN_MASK)
		bench_send_raw(b, d->from, frame, ipcc_build(frame, &one));
}

void ipcc_incast(struct bench *b, unsigned n_hosts, unsigned n)
{
	struct ipcc_data d = {.to = IPCC_TO, .qp = IPCC_QP};

	for (unsigned i = 0; i < n_hosts; i++) {
		d.from = i < IPCC_TO ? i : i + 1;
		ipcc_send(b, &d, n);
	}
}

void ipcc_settle(struct bench *b)
{
	bench_run(b, SETTLE_NS);
}

const struct ipcc_counters *ipcc_counters(const struct bench *b)
{
	return switch_ipcc(b->sw, IPCC_TO, IPCC_QUEUE);
}

uint64_t ipcc_length(const struct bench *b)
{
	return gauge_get(&switch_queue_counters(b->sw, IPCC_TO, IPCC_QUEUE)->length_bytes);
}

// ---- CNPs

bool ipcc_cnp(const struct bench *b, unsigned host, unsigned nth, struct ipcc_cnp *out)
{
	const struct bench_host *h = &b->host[host];

	for (uint32_t i = 0; i < h->n_rx; i++) {
		struct pkt_info info;

		if (h->rx[i].len > BENCH_KEEP || !parse(h->rx[i].data, h->rx[i].len, &info) ||
		    !info.roce || info.bth_opcode != ROCE_CNP || nth-- != 0)
			continue;
		*out = (struct ipcc_cnp){.rx = &h->rx[i], .info = info, .host = host};
		return true;
	}
	return false;
}

unsigned ipcc_cnps(const struct bench *b, unsigned host)
{
	struct ipcc_cnp c;
	unsigned n = 0;

	while (ipcc_cnp(b, host, n, &c))
		n++;
	return n;
}

static int by_time(const void *a, const void *b)
{
	const struct cnp_record *x = a, *y = b;

	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return (int)x->rank - y->rank;
}

void ipcc_check_record(const struct bench *b, const struct cnp_record *r)
{
	const struct ipcc_params *p = &b->policy->ports[r->port].queue[r->queue].ipcc;

	assert_true(r->len_bytes > p->kmin_bytes);
	assert_int_equal(r->kmin_bytes, p->kmin_bytes);
	assert_int_equal(r->kmax_bytes, p->kmax_bytes);
	assert_int_equal(r->quadrant, ipcc_quadrant(p, r->len_bytes, r->share_q16, r->trend_bytes));
	assert_int_not_equal(r->quadrant, IPCC_NONE);
	assert_true(r->notified <= (r->quadrant == IPCC_MANY ? p->many : p->few));
	assert_true(r->rank >= 1);
	assert_true(r->dt_ns >= p->interval_ns);
	assert_int_equal(r->excess_bps, ipcc_excess_bps(p, r->len_bytes, r->trend_bytes, r->dt_ns));
	assert_true(r->flow_bps > 0 && r->flow_bps <= r->queue_bps);
	assert_true(r->source != PAIR_NONE && r->source < N_PAIR_SOURCES);
}

// The CNP is the one that the record speaks of.
static void check_cnp(const struct ipcc_cnp *c, const struct cnp_record *r)
{
	const uint8_t *l3 = c->rx->data + c->info.l3_off;
	bool v6 = c->info.kind == PKT_IPV6;
	struct flow_key key;
	uint8_t src[16] = {0}, dst[16] = {0};

	// In the name of the receiver: the flow's addresses the other way round.
	memcpy(dst, l3 + (v6 ? 8 : 12), v6 ? 16 : 4);
	memcpy(src, l3 + (v6 ? 24 : 16), v6 ? 16 : 4);
	key = flow_key_of(v6, src, dst, flow_key_qp(&r->key), KEY_FLOW);
	assert_true(flow_key_same(&key, &r->key));
	assert_int_equal(c->info.bth_dest_qp, r->sender_qp);
	assert_true(icrc_check(c->rx->data, c->rx->len, &c->info));
	assert_true(c->rx->t_ns > r->t_ns);
}

void ipcc_explain(struct bench *b, struct ipcc_seen *seen)
{
	unsigned taken[BENCH_MAX_PORTS] = {0};

	seen->n += switch_cnp_records(b->sw, seen->records + seen->n, IPCC_MAX_RECORDS - seen->n);
	assert_int_equal(switch_cnp_records_lost(b->sw), 0);
	qsort(seen->records, seen->n, sizeof(seen->records[0]), by_time);
	for (unsigned i = 0; i < seen->n; i++) {
		const struct cnp_record *r = &seen->records[i];
		struct ipcc_cnp c;

		ipcc_check_record(b, r);
		assert_int_equal(r->sender_qp, flow_key_qp(&r->key) + IPCC_SENDER_QP);
		assert_true(ipcc_cnp(b, r->left_by, taken[r->left_by]++, &c));
		check_cnp(&c, r);
	}
	for (unsigned port = 0; port < b->n_ports; port++) {
		assert_int_equal(ipcc_cnps(b, port), taken[port]);
		assert_int_equal(ctr_get(&switch_port_flows(b->sw, port)->cnps_sent), taken[port]);
		assert_int_equal(ctr_get(&switch_port_counters(b->sw, port)->generated),
				 taken[port] + b->host[port].n_pfc);
	}
}
