// SPDX-License-Identifier: Apache-2.0
#include "control/lab/cnp_judge.h"

#include <stdlib.h>

#include "control/lab/fabric.h"
#include "dataplane/packet/wire.h"

enum { AT_ONCE = 32, QUEUES = 8 };

struct cnp_judge *cnp_judge_create(const struct scenario *sc)
{
	struct cnp_judge *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->sc = sc;
	j->queues = calloc((size_t)(sc->n_ports + 1) * QUEUES, sizeof(*j->queues));
	if (j->queues == NULL) {
		free(j);
		return NULL;
	}
	return j;
}

void cnp_judge_destroy(struct cnp_judge *j)
{
	if (j != NULL)
		free(j->queues);
	free(j);
}

// Addresses follow one another in the order of the hosts. NULL: nobody's.
static const struct fabric_host *host_of(const struct fabric *f, uint32_t ip)
{
	uint32_t i = f->sc->n_hosts == 0 ? 0 : ip - f->sc->hosts[0].ip;

	return i < f->sc->n_hosts && f->sc->hosts[i].ip == ip ? &f->hosts[i] : NULL;
}

static enum nic_pair verdict(const struct fabric *f, const struct cnp_record *r)
{
	const struct fabric_host *h;
	uint8_t src[16], dst[16];

	if (flow_key_addresses(&r->key, src, dst) != 4)
		return NIC_PAIR_WRONG; // no host speaks IPv6
	h = host_of(f, be32_get(src));
	return h == NULL ? NIC_PAIR_WRONG
			 : nic_pair_now(h->nic, r->sender_qp, be32_get(dst), flow_key_qp(&r->key));
}

static void count(struct cnp_counts *c, const struct cnp_record *r, enum nic_pair v)
{
	c->sent++;
	c->late += v == NIC_PAIR_LATE;
	c->wrong += v == NIC_PAIR_WRONG;
	c->by_source[r->source < N_PAIR_SOURCES ? r->source : 0]++;
}

static void judge(struct fabric *f, uint32_t sw, const struct cnp_record *r)
{
	struct cnp_judge *j = f->cnps;
	enum nic_pair v = verdict(f, r);
	uint32_t spot = (j->sc->switches[sw].first_port + r->port) * QUEUES + r->queue;

	count(&j->queues[spot], r, v);
	count(&j->all, r, v);
	if (v != NIC_PAIR_WRONG || j->seen)
		return;
	j->seen = true;
	j->first_sw = sw;
	j->first = *r;
}

void cnp_judge_look(struct fabric *f, uint32_t sw)
{
	struct cnp_record records[AT_ONCE];
	unsigned n;

	do {
		n = switch_cnp_records(f->switches[sw].sw, records, AT_ONCE);
		for (unsigned i = 0; i < n; i++)
			judge(f, sw, &records[i]);
	} while (n == AT_ONCE);
}

static void add(struct cnp_counts *to, const struct cnp_counts *c)
{
	to->sent += c->sent;
	to->late += c->late;
	to->wrong += c->wrong;
	for (unsigned s = 0; s < N_PAIR_SOURCES; s++)
		to->by_source[s] += c->by_source[s];
}

struct cnp_counts cnp_judge_counts(const struct cnp_judge *j, uint32_t sw, int port, int queue)
{
	struct cnp_counts sum = {0};

	if (sw == UINT32_MAX)
		return j->all;
	for (uint32_t p = 0; p < j->sc->switches[sw].n_ports; p++)
		for (int q = 0; q < QUEUES; q++)
			if ((port < 0 || p == (uint32_t)port) && (queue < 0 || q == queue))
				add(&sum, &j->queues[(j->sc->switches[sw].first_port + p) * QUEUES +
						     (uint32_t)q]);
	return sum;
}
