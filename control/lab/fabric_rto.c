// SPDX-License-Identifier: Apache-2.0
// Derives a retransmission timer for hosts without the key `rto`. A fabric without losses answers
// each packet before this timer runs out.
//
//   rto = 2 * (base RTT + sum over the switches of the way: buffer / slowest link of the way)
//
// of the way with the largest result, rounded up to whole milliseconds. The factor 2 leaves room
// for full buffers on the way of the acknowledgement, and for other queues that a port serves.
#include <errno.h>
#include <stdlib.h>

#include "control/lab/fabric_int.h"
#include "control/lab/ideal.h"
#include "dataplane/units.h"
#include "drivers/nic/requester.h"

#define MS_NS 1000000ull
#define MOST_MS 60000ull // as the key `rto`

enum { LONGEST_PACKET = 4096 };

static double buffer_bytes(const struct fabric *f, uint32_t sw)
{
	const struct policy *p = f->switches[sw].policy;

	return (double)p->buffer.total_cells * p->cell.bytes;
}

static double way_ns(const struct fabric *f, const struct ideal_path *path)
{
	struct ideal_message m = {
		.op = REQ_WRITE, .mtu = LONGEST_PACKET, .n_bytes = LONGEST_PACKET};
	uint64_t slowest = UINT64_MAX;
	double bytes = 0;

	for (uint32_t l = 0; l < path->n; l++) {
		if (path->links[l].speed_bps < slowest)
			slowest = path->links[l].speed_bps;
		if (l != 0)
			bytes += buffer_bytes(f, path->links[l].sw);
	}
	return (double)ideal_complete_ns(path, &m) +
	       bytes * BITS_PER_BYTE * SECOND_NS / (double)slowest;
}

// Hosts of one switch with links alike have ways alike: the first and the last of them stand for
// all.
static bool is_alike(const struct scenario *sc, uint32_t a, uint32_t b)
{
	const struct sc_link *x = &sc->links[sc->hosts[a].link];
	const struct sc_link *y = &sc->links[sc->hosts[b].link];

	return routes_edge(sc, a) == routes_edge(sc, b) && x->speed_bps == y->speed_bps &&
	       x->delay_ns == y->delay_ns;
}

static uint32_t find_examples(const struct scenario *sc, uint32_t *hosts)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < sc->n_hosts; i++) {
		uint32_t k = 0;

		while (k < n && !is_alike(sc, hosts[k], i))
			k += 2;
		if (k == n) {
			hosts[n] = i;
			n += 2;
		}
		hosts[k + 1] = i;
	}
	return n;
}

static uint64_t whole_ms(double ns)
{
	uint64_t ms = ns >= (double)(MOST_MS * MS_NS) ? MOST_MS : (uint64_t)(ns / MS_NS);

	return ms == MOST_MS || (double)(ms * MS_NS) >= ns ? ms : ms + 1;
}

int fabric_rto(struct fabric *f)
{
	uint32_t *hosts = calloc(2 * (size_t)f->sc->n_hosts + 1, sizeof(*hosts));
	struct ideal_path path;
	struct ideal *ideal = NULL;
	double longest = MS_NS;
	int err = hosts == NULL ? -ENOMEM : ideal_create(f->sc, &ideal);
	uint32_t n = err == 0 ? find_examples(f->sc, hosts) : 0;

	for (uint32_t a = 0; a < n; a += 2)
		for (uint32_t b = 1; b < n; b += 2) {
			double ns;

			if (hosts[a] == hosts[b])
				continue;
			ideal_find(ideal, hosts[a], hosts[b], &path);
			ns = path.n == 0 ? 0 : 2 * way_ns(f, &path);
			longest = ns > longest ? ns : longest;
		}
	f->rto_ns = whole_ms(longest) * MS_NS;
	ideal_destroy(ideal);
	free(hosts);
	return err;
}
