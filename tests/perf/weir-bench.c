// SPDX-License-Identifier: Apache-2.0
// What a packet costs: the live switch (policy, drivers, dataplane as in `weir`) on endless
// traffic, in short rounds. scripts/bench runs it case by case; alone it prints one line a case.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>
#include <rte_cycles.h>

#include "dataplane/packet/vxlan.h"
#include "dataplane/roce/params.h"
#include "tests/perf/measure.h"
#include "tests/perf/rig.h"
#include "tests/perf/stages.h"
#include "tests/perf/traffic.h"
#include "tests/temporary.h"

enum { EXIT_FAILED = 1, EXIT_MISUSED = 2, WARM_UP_ROUNDS = 3 };
enum { SLOW_MPPS = 2 }; // whatever is measured, more packets a microsecond make flows

struct options {
	struct rig_conf rig;
	struct traffic traffic;
	const char *dir; // of the traffic; NULL: a temporary one
	bool only_traffic, stays, zones, shallow, standing, split, stages, json;
	unsigned n_rounds, round_us;
};

static const char usage[] =
	"usage: weir-bench [options]\n"
	"  --frame BYTES        length without FCS, 74..9230 (74)\n"
	"  --flows N            distinct flows of a port, 1..65536 (16)\n"
	"  --macs N             hosts behind a port, 1..4096 (1)\n"
	"  --route N            routes, each by N next hops, 1..64, instead of bridging\n"
	"  --svi N              the same, from VLAN to VLAN: no port routes by itself\n"
	"  --vxlan              every second port leads to a VTEP: half of the frames go into a\n"
	"                       tunnel, half of them come out of one\n"
	"  --zones              hard zoning, with the hosts of all flows in one zone\n"
	"  --workers N          1 or 2 (1), on the CPUs of --cpus A,B (0,1)\n"
	"  --stays              two ports a worker, and what one receives leaves by the other\n"
	"  --queue KIND         shallow, standing, or both (both)\n"
	"  --standing N         frames that stand in each egress queue (16384)\n"
	"  --rounds N           rounds of a case (400), each --round-us N long (2000)\n"
	"  --key 'KEY: VALUE'   one more key of the policy's profile, such as 'watchdog: on'\n"
	"  --flow-table N       entries of the flow table, up to 1048576 (0: none)\n"
	"  --elephants          the switch looks for elephants in it\n"
	"  --microbursts TIME   the switch takes the peak of each queue and group so often\n"
	"  --spread N           so many queue pairs a port, a power of two, in random order, with\n"
	"                       PSNs that follow, whatever the frames say\n"
	"  --responses          frames are READ responses, else SENDs\n"
	"  --split              driver and dataplane apart, in a case of its own\n"
	"  --stages             the stages of the dataplane one by one\n"
	"  --traffic DIR        keep the pcap files of the traffic there\n"
	"  --only-traffic       write those and end\n"
	"  --device DEVICE      instead of net_pcap ports; once for each port. Its traffic comes\n"
	"                       from elsewhere\n"
	"  --json               one JSON object\n";

// ---- options

enum { OPT_FRAME = 256, OPT_FLOWS, OPT_MACS, OPT_ROUTE, OPT_SVI, OPT_VXLAN, OPT_ZONES,
       OPT_WORKERS, OPT_CPUS, OPT_STAYS, OPT_QUEUE, OPT_STANDING, OPT_KEY, OPT_FLOW_TABLE,
       OPT_ELEPHANTS, OPT_MICROBURSTS,
       OPT_SPREAD, OPT_RESPONSES, OPT_ROUNDS, OPT_ROUND_US, OPT_SPLIT, OPT_STAGES,
       OPT_TRAFFIC, OPT_ONLY_TRAFFIC, OPT_DEVICE, OPT_JSON, OPT_HELP };

static const struct option longs[] = {
	{"frame", required_argument, NULL, OPT_FRAME},
	{"flows", required_argument, NULL, OPT_FLOWS},
	{"macs", required_argument, NULL, OPT_MACS},
	{"workers", required_argument, NULL, OPT_WORKERS},
	{"cpus", required_argument, NULL, OPT_CPUS},
	{"stays", no_argument, NULL, OPT_STAYS},
	{"queue", required_argument, NULL, OPT_QUEUE},
	{"route", required_argument, NULL, OPT_ROUTE},
	{"svi", required_argument, NULL, OPT_SVI},
	{"vxlan", no_argument, NULL, OPT_VXLAN},
	{"zones", no_argument, NULL, OPT_ZONES},
	{"standing", required_argument, NULL, OPT_STANDING},
	{"key", required_argument, NULL, OPT_KEY},
	{"flow-table", required_argument, NULL, OPT_FLOW_TABLE},
	{"elephants", no_argument, NULL, OPT_ELEPHANTS},
	{"microbursts", required_argument, NULL, OPT_MICROBURSTS},
	{"spread", required_argument, NULL, OPT_SPREAD},
	{"rounds", required_argument, NULL, OPT_ROUNDS},
	{"round-us", required_argument, NULL, OPT_ROUND_US},
	{"responses", no_argument, NULL, OPT_RESPONSES},
	{"split", no_argument, NULL, OPT_SPLIT},
	{"stages", no_argument, NULL, OPT_STAGES},
	{"traffic", required_argument, NULL, OPT_TRAFFIC},
	{"only-traffic", no_argument, NULL, OPT_ONLY_TRAFFIC},
	{"device", required_argument, NULL, OPT_DEVICE},
	{"json", no_argument, NULL, OPT_JSON},
	{"help", no_argument, NULL, OPT_HELP},
	{0},
};

static bool number(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end != '\0' || v < min || v > max) {
		fprintf(stderr, "weir-bench: %s is no number from %u to %u\n", text, min, max);
		return false;
	}
	*out = (uint32_t)v;
	return true;
}

static bool power_of_two(const char *text, uint32_t max, uint32_t *out)
{
	if (!number(text, 1, max, out))
		return false;
	if ((*out & (*out - 1)) == 0)
		return true;
	fprintf(stderr, "weir-bench: %s is no power of two\n", text);
	return false;
}

static bool cpus(const char *text, struct rig_conf *c)
{
	unsigned n = 0;
	char *end;

	for (; n < RIG_MAX_WORKERS; text = end + 1) {
		c->cpus[n++] = (int)strtoul(text, &end, 10);
		if (end == text || (*end != ',' && *end != '\0'))
			break;
		if (*end == '\0')
			return true;
	}
	fputs("weir-bench: --cpus wants numbers with commas between them\n", stderr);
	return false;
}

static bool queue_kind(const char *text, struct options *o)
{
	bool both = strcmp(text, "both") == 0;

	o->shallow = both || strcmp(text, "shallow") == 0;
	o->standing = both || strcmp(text, "standing") == 0;
	if (o->shallow || o->standing)
		return true;
	fprintf(stderr, "weir-bench: --queue wants shallow, standing or both, not %s\n", text);
	return false;
}

static bool device(const char *text, struct rig_conf *c)
{
	if (c->n_ports == RIG_MAX_PORTS || strlen(text) >= RIG_DEVICE_LEN) {
		fprintf(stderr, "weir-bench: at most %d devices of %d letters\n", RIG_MAX_PORTS,
			RIG_DEVICE_LEN - 1);
		return false;
	}
	snprintf(c->devices[c->n_ports++], RIG_DEVICE_LEN, "%s", text);
	return true;
}

static bool option(int opt, struct options *o)
{
	switch (opt) {
	case OPT_FRAME:
		return number(optarg, TRAFFIC_MIN_FRAME, TRAFFIC_MAX_FRAME,
			      &o->traffic.frame_bytes);
	case OPT_FLOWS: return number(optarg, 1, TRAFFIC_MAX_FLOWS, &o->traffic.n_flows);
	case OPT_MACS: return number(optarg, 1, TRAFFIC_MAX_MACS, &o->traffic.n_macs);
	case OPT_WORKERS: return number(optarg, 1, RIG_MAX_WORKERS, &o->rig.n_workers);
	case OPT_CPUS: return cpus(optarg, &o->rig);
	case OPT_STAYS: o->stays = true; return true;
	case OPT_QUEUE: return queue_kind(optarg, o);
	case OPT_SVI:
	case OPT_ROUTE:
		o->rig.svis = opt == OPT_SVI;
		o->traffic.routed = true;
		return number(optarg, 1, 64, &o->rig.next_hops);
	case OPT_VXLAN: o->rig.vxlan = o->traffic.tunnels = true; return true;
	case OPT_ZONES: o->zones = true; return true;
	case OPT_STANDING: return number(optarg, 1, 65536, &o->rig.standing);
	case OPT_ELEPHANTS: o->rig.elephants = true; return true;
	case OPT_MICROBURSTS: o->rig.microbursts = optarg; return true;
	case OPT_FLOW_TABLE: return number(optarg, 0, FLOW_MAX, &o->rig.flow_table);
	case OPT_SPREAD: return power_of_two(optarg, FLOW_MAX, &o->rig.spread);
	case OPT_RESPONSES: o->traffic.responses = true; return true;
	case OPT_KEY: o->rig.profile_key = optarg; return true;
	case OPT_ROUNDS: return number(optarg, 1, 100000, &o->n_rounds);
	case OPT_ROUND_US: return number(optarg, 1, 1000000, &o->round_us);
	case OPT_SPLIT: o->split = true; return true;
	case OPT_STAGES: o->stages = true; return true;
	case OPT_ONLY_TRAFFIC: o->only_traffic = true; return true;
	case OPT_JSON: o->json = true; return true;
	case OPT_DEVICE: return device(optarg, &o->rig);
	case OPT_TRAFFIC: o->dir = optarg; return true;
	default: return false;
	}
}

// -1, or the exit status.
static int read_options(int argc, char **argv, struct options *o)
{
	int opt;

	*o = (struct options){.rig = {.n_workers = 1, .cpus = {0, 1}, .standing = 16384},
			      .traffic = {.frame_bytes = 74, .n_flows = 16, .n_macs = 1},
			      .shallow = true, .standing = true, .n_rounds = 400, .round_us = 2000};
	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (opt == OPT_HELP) {
			fputs(usage, stdout);
			return 0;
		}
		if (!option(opt, o)) {
			if (opt == '?')
				fputs(usage, stderr);
			return EXIT_MISUSED;
		}
	}
	if (o->traffic.frame_bytes > TRAFFIC_SHORT_FRAME && (o->stages || o->rig.vxlan)) {
		fprintf(stderr, "weir-bench: --stages and --vxlan take frames of at most %d B\n",
			TRAFFIC_SHORT_FRAME);
		return EXIT_MISUSED;
	}
	if (optind < argc || o->rig.n_ports == 1) {
		fputs(usage, stderr);
		return EXIT_MISUSED;
	}
	return -1;
}

// ---- traffic and ports

// Port i belongs to worker i % n_workers (dataplane/switch.h).
static void count_ports(struct options *o)
{
	o->rig.n_ports = o->stays ? 2 * o->rig.n_workers : 2;
	o->traffic.apart = o->rig.n_ports / 2;
}

static int make_traffic(struct options *o)
{
	int err;

	if (o->dir == NULL)
		o->dir = temporary_folder();
	err = traffic_write(&o->traffic, o->rig.n_ports, o->dir);
	if (err != 0)
		fprintf(stderr, "weir-bench: cannot write traffic into %s: %s\n", o->dir,
			strerror(-err));
	return err;
}

// A policy's device names are short, so the folder is entered rather than named.
static int pcap_ports(struct options *o)
{
	struct rig_conf *c = &o->rig;

	c->driver_frames = c->n_ports * o->traffic.n_flows;
	for (unsigned i = 0; i < c->n_ports; i++)
		snprintf(c->devices[i], RIG_DEVICE_LEN,
			 "vdev:net_pcap%u,rx_pcap=p%u.pcap,infinite_rx=1", i, i);
	return chdir(o->dir) == 0 ? 0 : -errno;
}

// ---- cases

struct outcome {
	const char *name;
	unsigned n_rounds, n_clean; // clean: no worker was preempted
	double min, calm, median; // cycles per packet; calm: the median of the clean rounds
	double busy_min, busy_median; // of loops that moved a frame
	double best_mpps; // of the best round
	double rx, tx; // of the best round, cycles per packet in the drivers
	double packets_per_loop;
	uint64_t packets, dropped, pauses_sent, marked, standing, queued;
};

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}


static void take_best(struct outcome *out, const struct round *best)
{
	double n = (double)best->packets;

	out->min = (double)best->cycles / n;
	out->rx = (double)best->rx_cycles / n;
	out->tx = (double)best->tx_cycles / n;
	out->packets_per_loop = n / (double)best->busy_loops;
	out->best_mpps = n * (double)rte_get_tsc_hz() / (double)best->elapsed_cycles / 1e6;
}

// Cycles per packet, a figure per round; one allocation.
struct ranks {
	double *all, *busy, *calm;
};

static void keep_round(struct outcome *out, struct ranks *v, const struct round *round)
{
	double n = (double)round->packets;

	out->packets += round->packets;
	v->all[out->n_rounds] = (double)round->cycles / n;
	v->busy[out->n_rounds++] = (double)round->busy_cycles / n;
	if (round->preempted == 0)
		v->calm[out->n_clean++] = (double)round->cycles / n;
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(v[0]), by_size);
	return v[n / 2];
}

static void take_ranks(struct outcome *out, struct ranks *v)
{
	out->median = median(v->all, out->n_rounds);
	out->busy_median = median(v->busy, out->n_rounds);
	out->busy_min = v->busy[0];
	out->calm = out->n_clean > 0 ? median(v->calm, out->n_clean) : out->median;
}

static bool better(const struct round *a, const struct round *b)
{
	return b->packets == 0 || (double)a->cycles * (double)b->packets <
					  (double)b->cycles * (double)a->packets;
}

// Until every flow there is has been seen.
static unsigned warm_up_rounds(const struct options *o)
{
	return WARM_UP_ROUNDS + o->rig.spread * o->rig.n_ports / (o->round_us * SLOW_MPPS);
}

// With several workers one may fall behind while the kernel runs something else: its queues are
// emptied between rounds, so that a round begins as the one before.
static int rounds(struct rig *r, const struct options *o, struct outcome *out)
{
	struct ranks v = {.all = calloc(3 * o->n_rounds, sizeof(double))};
	struct round best = {0};
	unsigned warm_up = warm_up_rounds(o);
	int err = v.all == NULL ? -ENOMEM : 0;

	v.busy = v.all + o->n_rounds;
	v.calm = v.busy + o->n_rounds;
	for (unsigned i = 0; i < o->n_rounds + warm_up && err == 0; i++) {
		struct round round = measure_round(r, o->round_us * 1000ull);

		if (o->rig.n_workers > 1 && out->standing == 0)
			err = measure_drain(r);
		if (i + 1 == warm_up)
			out->marked = measure_marked(r);
		if (i < warm_up || round.packets == 0)
			continue;
		keep_round(out, &v, &round);
		if (better(&round, &best))
			best = round;
	}
	if (err == 0 && out->n_rounds == 0) {
		fprintf(stderr, "weir-bench: no packet left the switch\n");
		err = -ENODATA;
	}
	if (err == 0) {
		out->marked = measure_marked(r) - out->marked;
		take_best(out, &best);
		take_ranks(out, &v);
	}
	free(v.all);
	return err;
}

static int run_case(struct rig *r, const struct options *o, enum rig_probe probe,
		    struct outcome *out)
{
	int err = rig_new_switch(r, probe);

	if (err == 0 && out->standing != 0)
		err = measure_stand(r, out->standing);
	if (err == 0)
		err = rounds(r, o, out);
	if (err != 0)
		return err;
	out->queued = measure_queued(r);
	out->dropped = measure_dropped(r);
	out->pauses_sent = measure_pauses_sent(r);
	return 0;
}

// ---- the report

static void print_text(const struct outcome *c)
{
	printf("%-14s cycles/packet: %6.1f min %6.1f calm median %6.1f median %7.2f Mpps", c->name,
	       c->min, c->calm, c->median, c->best_mpps);
	if (c->rx > 0)
		printf("  driver rx %.1f tx %.1f, switch %.1f", c->rx, c->tx,
		       c->min - c->rx - c->tx);
	printf("  (%u rounds, %u undisturbed; queued %" PRIu64 " dropped %" PRIu64, c->n_rounds,
	       c->n_clean, c->queued, c->dropped);
	printf(" paused %" PRIu64 " marked %" PRIu64 ")\n", c->pauses_sent, c->marked);
	fflush(stdout);
}

static json_object *to_json(const struct outcome *c)
{
	const struct {
		const char *key;
		double value;
	} reals[] = {
		{"cycles_per_packet", c->min},	    {"cycles_per_packet_median", c->median},
		{"cycles_per_packet_calm", c->calm},
		{"busy_cycles_per_packet", c->busy_min},
		{"busy_cycles_per_packet_median", c->busy_median},
		{"mpps", c->best_mpps},		    {"driver_rx_cycles", c->rx},
		{"driver_tx_cycles", c->tx},	    {"packets_per_busy_loop", c->packets_per_loop},
	};
	const struct {
		const char *key;
		uint64_t value;
	} whole[] = {
		{"rounds", c->n_rounds},    {"rounds_undisturbed", c->n_clean},
		{"packets", c->packets},    {"dropped", c->dropped},
		{"pauses_sent", c->pauses_sent}, {"ecn_marked", c->marked},
		{"standing", c->standing},  {"queued", c->queued},
	};
	json_object *j = json_object_new_object();

	for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
		json_object_object_add(j, reals[i].key, json_object_new_double(reals[i].value));
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		json_object_object_add(j, whole[i].key,
				       json_object_new_int64((int64_t)whole[i].value));
	return j;
}

static int report(const struct options *o, const struct outcome *c, json_object *all)
{
	if (o->json)
		json_object_object_add(all, c->name, to_json(c));
	else
		print_text(c);
	// One worker must not lose a frame here: nothing was overloaded.
	if (c->dropped == 0)
		return 0;
	fprintf(stderr,
		"weir-bench: %s: %" PRIu64 " frames were dropped, so this measures the wrong "
		"thing\n",
		c->name, c->dropped);
	return -EIO;
}

static int all_cases(struct rig *r, const struct options *o, json_object *all)
{
	bool crosses = o->rig.n_workers > 1 && !o->stays;
	enum rig_probe plain = o->rig.spread != 0 ? RIG_SPREAD : crosses ? RIG_OBEYING : RIG_BARE;
	struct {
		bool wanted;
		enum rig_probe probe;
		struct outcome out;
	} cases[] = {
		{o->shallow, plain, {.name = "shallow"}},
		{o->standing, plain, {.name = "standing", .standing = o->rig.standing}},
		{o->split && o->shallow, RIG_TIMED, {.name = "split"}},
		{o->split && o->standing, RIG_TIMED,
		 {.name = "split-standing", .standing = o->rig.standing}},
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) && err == 0; i++) {
		if (!cases[i].wanted)
			continue;
		err = run_case(r, o, cases[i].probe, &cases[i].out);
		if (err == 0)
			err = report(o, &cases[i].out, all);
	}
	return err;
}

static int bench(struct options *o)
{
	json_object *all = json_object_new_object();
	struct rig rig;
	int err;

	o->rig.frame_bytes = o->traffic.frame_bytes + (o->rig.vxlan ? VXLAN_V4_LEN : 0);
	o->rig.n_macs = o->traffic.n_macs;
	o->rig.zoned = o->zones ? o->traffic.n_flows : 0;
	if (o->rig.n_ports == 0) {
		count_ports(o);
		err = make_traffic(o);
		if (err == 0 && !o->only_traffic)
			err = pcap_ports(o);
		if (err != 0 || o->only_traffic)
			return err;
	}
	if (!o->standing)
		o->rig.standing = 1024;
	err = rig_open(&rig, &o->rig);
	if (err == 0)
		err = all_cases(&rig, o, all);
	if (err == 0 && o->stages)
		err = stages_measure(&rig, &o->traffic, o->json ? all : NULL);
	if (err == 0 && o->json) {
		json_object_object_add(all, "tsc_hz",
				       json_object_new_int64((int64_t)rte_get_tsc_hz()));
		puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY));
	}
	rig_close(&rig);
	json_object_put(all);
	return err;
}

int main(int argc, char **argv)
{
	struct options o;
	int status = read_options(argc, argv, &o);

	if (status >= 0)
		return status;
	return bench(&o) == 0 ? 0 : EXIT_FAILED;
}
