// SPDX-License-Identifier: Apache-2.0
#include "control/autoecn/feature.h"

static double share(double part, double of)
{
	return of <= 0 ? 0 : part > of ? 1 : part / of;
}

// A window is about as long as a round through the table, but seldom sees each place once.
static void flows(const struct ecn_snapshot *from, const struct ecn_snapshot *to,
		  struct ecn_features *out)
{
	double places = (double)(to->places - from->places);
	double bytes = (double)(to->flow_bytes - from->flow_bytes);

	out->flows = out->elephants = out->fairness = ECN_UNKNOWN;
	if (places > 0)
		out->flows = (double)(to->flows - from->flows) * (double)to->table / places;
	if (bytes <= 0)
		return;
	out->fairness = share(bytes * bytes,
			      (double)(to->flows - from->flows) *
				      (double)(to->flow_squares - from->flow_squares));
	out->elephants = share((double)(to->elephant_bytes - from->elephant_bytes), bytes);
}

// Mean and 99th percentile of the frames that left in between.
static void delays(const struct ecn_snapshot *from, const struct ecn_snapshot *to,
		   uint64_t (*bucket_max)(unsigned), unsigned n, struct ecn_features *out)
{
	uint64_t all = 0, seen = 0;
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		all += to->residence[i] - from->residence[i];
	for (unsigned i = 0; i < n && all != 0; i++) {
		uint64_t frames = to->residence[i] - from->residence[i];

		sum += (double)frames * (double)bucket_max(i);
		if (seen * 100 < all * 99 && (seen + frames) * 100 >= all * 99)
			out->delay_p99_ns = (double)bucket_max(i);
		seen += frames;
	}
	out->delay_mean_ns = all == 0 ? 0 : sum / (double)all;
}

struct ecn_features ecn_features_between(const struct ecn_snapshot *from,
					 const struct ecn_snapshot *to, uint64_t speed_bps,
					 uint64_t (*bucket_max)(unsigned), unsigned n)
{
	double ns = (double)(to->t_ns - from->t_ns);
	double lengths = (double)(to->lengths - from->lengths);
	struct ecn_features f = {0};

	f.packets = to->tx_packets - from->tx_packets;
	f.pauses = to->pauses - from->pauses;
	f.utilisation = share((double)(to->tx_bytes - from->tx_bytes) * 8e9,
			      (double)speed_bps * ns);
	f.marked_use = to->marked_ns == from->marked_ns
			       ? 1
			       : share((double)(to->marked_bytes - from->marked_bytes) * 8e9,
				       (double)speed_bps *
					       (double)(to->marked_ns - from->marked_ns));
	f.mark_share = share((double)(to->marked - from->marked), (double)f.packets);
	f.paused_share = share((double)(to->paused_ns - from->paused_ns), ns);
	f.queue_bytes =
		lengths <= 0 ? 0 : (double)(to->length_sum - from->length_sum) / lengths;
	flows(from, to, &f);
	delays(from, to, bucket_max, n, &f);
	return f;
}
