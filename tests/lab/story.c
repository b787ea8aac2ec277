// SPDX-License-Identifier: Apache-2.0
// weir-story: an act of scripts/run on virtual wires, for machines where no live port can be had.
// It runs a scenario of one switch as weir-lab does, until all messages are complete, and prints
// one JSON object: samples as `weirctl show ... --json` gives them, and what the endpoints counted,
// the last of the scenario's hosts being the receiver. It judges nothing; scripts/netlab does, as
// for a live run.
//
//   weir-story FILE [KEY=VALUE]...      keys of the scenario, as of `weir-lab run --set`
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "control/lab/fabric.h"
#include "control/lab/traffic.h"
#include "control/observe/observe.h"

enum { DONE, FAILED, MISUSED };
enum { MAX_SETS = 64, REST_SAMPLES = 2 };

struct story {
	struct scenario *sc;
	struct traffic *traffic;
	struct fabric *fabric;
	struct observe *observe;
	struct json_object *samples;
};

static int failed(const char *what)
{
	fprintf(stderr, "weir-story: %s\n", what);
	return FAILED;
}

static int told(struct diags *d)
{
	for (unsigned i = 0; i < d->n; i++)
		fprintf(stderr, "%s\n", d->lines[i]);
	diags_fini(d);
	return MISUSED;
}

static int load(struct story *s, int argc, char **argv)
{
	struct sc_set sets[MAX_SETS];
	unsigned n = 0;
	struct diags d = {0};

	for (int i = 2; i < argc && n < MAX_SETS; i++) {
		char *eq = strchr(argv[i], '=');

		if (eq == NULL)
			break;
		*eq = '\0';
		sets[n++] = (struct sc_set){argv[i], eq + 1};
	}
	if (argc < 2 || n != (unsigned)argc - 2) {
		fputs("usage: weir-story FILE [KEY=VALUE]...\n", stderr);
		return MISUSED;
	}
	if (scenario_load(argv[1], sets, n, &s->sc, &d) != 0)
		return told(&d);
	if (s->sc->n_switches != 1 || s->sc->n_hosts < 2)
		return failed("the scenario must have one switch, senders and a receiver");
	return DONE;
}

static int make(struct story *s)
{
	struct fabric_hooks hooks;
	struct diags d = {0};

	if (traffic_create(s->sc, &s->traffic) != 0)
		return failed("out of memory");
	traffic_hooks(s->traffic, &hooks);
	if (fabric_create(s->sc, &hooks, &s->fabric, &d) != 0) {
		told(&d);
		return failed("the fabric cannot be made");
	}
	diags_fini(&d);
	if (observe_create(&s->fabric->switches[0].in, &s->observe) != 0 ||
	    traffic_start(s->traffic, s->fabric) != 0)
		return failed("there is not enough memory for this act");
	return DONE;
}

// ---- what is told

static void put(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

static struct json_object *sample(const struct story *s)
{
	static const char *const kinds[] = {"ports", "queues", "pfc", "buffers", "drops"};
	struct json_object *out = json_object_new_object();
	uint64_t now_ns = s->fabric->clock.now_ns;

	json_object_object_add(out, "t", json_object_new_double((double)now_ns / 1e9));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct json_object *rows =
			observe_show(s->observe, kinds[i], OBSERVE_ALL_PORTS, now_ns);

		json_object_object_foreach(rows, key, list)
			json_object_object_add(out, key, json_object_get(list));
		json_object_put(rows);
	}
	return out;
}

// The names of weir-host's report.
static void put_numbers(struct json_object *o, const struct nic_stats *n)
{
	const struct {
		const char *key;
		uint64_t value;
	} rows[] = {
		{"tx_frames", n->tx_frames},
		{"rx_frames", n->rx_frames},
		{"messages_posted", n->messages_posted},
		{"messages_completed", n->messages_completed},
		{"retransmissions", n->retransmissions},
		{"acks_sent", n->acks_sent},
		{"acks_received", n->acks_received},
		{"naks_sent", n->naks_sent},
		{"naks_received", n->naks_received},
		{"icrc_errors", n->icrc_errors},
		{"payload_errors", n->payload_errors},
		{"malformed", n->malformed},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		put(o, rows[i].key, rows[i].value);
}

static struct json_object *host_report(const struct story *s, uint32_t host)
{
	struct json_object *o = json_object_new_object(), *classes = json_object_new_array();
	struct nic *nic = s->fabric->hosts[host].nic;
	const struct nic_stats *n = nic_stats_now(nic);
	uint64_t received = 0, marked = 0;

	put_numbers(o, n);
	for (unsigned c = 0; c < NIC_CLASSES; c++) {
		struct json_object *row = json_object_new_object();

		received += n->cls[c].rx_packets;
		marked += n->cls[c].ce_marked;
		put(row, "class", c);
		put(row, "rx_pause", ctr_get(&nic_pfc_rx(nic)->stats[c].frames));
		json_object_array_add(classes, row);
	}
	put(o, "packets_received", received);
	put(o, "ce_marked", marked);
	// A virtual wire has no receive ring, and takes what it has said it has room for.
	put(o, "rx_missed", 0);
	put(o, "tx_errors", 0);
	json_object_object_add(o, "classes", classes);
	json_object_object_add(o, "error", NULL);
	return o;
}

static void print_story(const struct story *s)
{
	struct json_object *out = json_object_new_object(), *senders = json_object_new_array();
	uint32_t receiver = s->sc->n_hosts - 1;

	for (uint32_t i = 0; i < receiver; i++)
		json_object_array_add(senders, host_report(s, i));
	json_object_object_add(out, "samples", json_object_get(s->samples));
	json_object_object_add(out, "balance", observe_balance(s->fabric->switches[0].in.sw));
	json_object_object_add(out, "senders", senders);
	json_object_object_add(out, "receiver", host_report(s, receiver));
	puts(json_object_to_json_string_ext(out, JSON_C_TO_STRING_PLAIN));
	json_object_put(out);
}

// ---- the run

// Posting goes on until `stop` of the flows; what is outstanding then is waited for.
static int play(struct story *s)
{
	uint64_t every = s->sc->sample_ns, end = s->sc->duration_ns;

	for (uint64_t t = 0; t <= end; t += every) {
		if (fabric_run_until(s->fabric, t) != 0)
			return failed("out of memory");
		json_object_array_add(s->samples, sample(s));
		if (t > 0 && traffic_n_open(s->traffic) == 0 && end > t + REST_SAMPLES * every)
			end = t + REST_SAMPLES * every;
	}
	return DONE;
}

static void take_down(struct story *s)
{
	json_object_put(s->samples);
	observe_destroy(s->observe);
	traffic_destroy(s->traffic);
	fabric_destroy(s->fabric);
	scenario_destroy(s->sc);
}

int main(int argc, char **argv)
{
	struct story s = {.samples = json_object_new_array()};
	int code = load(&s, argc, argv);

	if (code == DONE)
		code = make(&s);
	if (code == DONE)
		code = play(&s);
	if (code == DONE)
		print_story(&s);
	take_down(&s);
	return code;
}
