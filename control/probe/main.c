// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <rte_mempool.h>

#include "control/base/standard_fds.h"
#include "control/base/stop.h"
#include "control/base/terminal.h"
#include "control/config/port_open.h"
#include "control/probe/args.h"
#include "control/probe/live_run.h"
#include "control/probe/report.h"
#include "control/probe/wire_run.h"

enum { EXIT_MISUSED = 2, TABLES_BYTES = 64 << 20 };

static void print_probe_message(const char *text)
{
	if (text[0] != '\0')
		terminal_printf(stderr, "weir-probe: %s\n", text);
}

static void print_probe_notes(char *notes)
{
	char *save = NULL;

	for (char *line = strtok_r(notes, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		print_probe_message(line);
}

// One line that is written again and again.
static void progress(void *of, const char *text)
{
	(void)of;
	fprintf(stderr, "\r\033[K%s", text);
	fflush(stderr);
}

static int write_probe_page(const struct probe_report *r, const char *path)
{
	FILE *f = fopen(path, "w");
	bool good = f != NULL;

	if (good)
		probe_report_page(r, f);
	if (f != NULL && fclose(f) != 0)
		good = false;
	if (!good)
		terminal_printf(stderr, "weir-probe: --report: %s cannot be written: %m\n", path);
	return good ? 0 : 1;
}

// Measures and reports. conf has what the runner gave.
static int measure(const struct probe_args *a, struct probe *p, const char *device,
		   const char *const *ports)
{
	static struct probe_result results[PROBE_N_MEASURES];
	const struct probe_report r = {p, results, device, ports};
	int rc = probe_measure_all(p, a->which, results) != 0;

	if (p->conf.progress != NULL)
		fputs("\r\033[K", stderr);
	if (a->json)
		probe_report_json(&r, stdout);
	else
		probe_report_table(&r, stdout);
	if (a->report != NULL && write_probe_page(&r, a->report) != 0)
		rc = 1;
	return rc;
}

static struct probe_conf conf_of(const struct probe_args *a)
{
	struct probe_conf conf = {0};

	if (!a->quiet && isatty(STDERR_FILENO))
		conf.progress = progress;
	return conf;
}

// ---- a device

static int live(const struct probe_args *a)
{
	static struct live_run r;
	const struct live_run_conf c = {.device = a->port, .rx_ring = (uint32_t)a->rx_ring,
					.eal = a->eal, .n_eal = a->n_eal};
	struct probe_conf conf = conf_of(a);
	struct live_text text = {0};
	struct probe_io io;
	struct probe p;
	int rc = 1;

	r.hold = a->hold;
	r.release = a->release;
	if (live_run_open(&r, &c, &text) != 0) {
		print_probe_notes(text.note);
		print_probe_message(text.err);
		goto out;
	}
	print_probe_notes(text.note);
	live_run_conf_fill(&r, (uint64_t)a->speed, &conf);
	probe_args_conf(a, &conf);
	io = live_run_io(&r);
	if (probe_init(&p, &conf, &io) != 0) {
		print_probe_message("not enough memory; take fewer frames with --most");
		goto out;
	}
	r.probe = &p;
	rc = measure(a, &p, "device on live ports", a->port);
	probe_fini(&p);
out:
	live_run_close(&r);
	return rc;
}

// ---- a policy

// The port of that name; without a name the i-th. -1: there is none, and the complaint is printed.
static int find_probe_port(const struct config *c, const char *name, unsigned i)
{
	unsigned n = config_n_ports(c);

	for (unsigned k = 0; k < n; k++)
		if (name == NULL ? k == i : strcmp(config_port(c, k).name, name) == 0)
			return (int)k;
	if (name != NULL)
		terminal_printf(stderr, "weir-probe: the policy has no port %s\n", name);
	else
		terminal_printf(stderr, "weir-probe: the policy has %u ports, too few\n", n);
	return -1;
}

static int choose_ports(const struct probe_args *a, const struct config *c,
			struct wire_run_opts *o, const char *names[PROBE_PORTS])
{
	o->third = a->port[PROBE_THIRD] != NULL || config_n_ports(c) > PROBE_THIRD;
	for (unsigned i = 0; i < PROBE_PORTS; i++) {
		int k;

		names[i] = NULL;
		o->port[i] = 0;
		if (i == PROBE_THIRD && !o->third)
			continue;
		k = find_probe_port(c, a->port[i], i);
		if (k < 0)
			return -1;
		o->port[i] = (unsigned)k;
		names[i] = config_port(c, (unsigned)k).name;
		for (unsigned before = 0; before < i; before++)
			if (o->port[before] == o->port[i]) {
				terminal_printf(stderr, "weir-probe: port %s is used twice\n",
						names[i]);
				return -1;
			}
	}
	return 0;
}

static int with_pool(const struct probe_args *a, const struct config *c, struct rte_mempool *pool)
{
	struct wire_run_opts o = {.delay_ns = (uint64_t)a->delay_ns, .seed = 1};
	const char *names[PROBE_PORTS];
	struct probe_conf conf = conf_of(a);
	struct wire_run *r = NULL;
	struct diags d = {0};
	struct probe_io io;
	struct probe p;
	int rc = EXIT_MISUSED;

	if (choose_ports(a, c, &o, names) != 0)
		return rc;
	if (wire_run_open(c, &o, pool, &r, &d) != 0) {
		if (d.n == 0)
			print_probe_message("not enough memory for the switch of this policy");
		goto out;
	}
	wire_run_conf(r, &conf);
	probe_args_conf(a, &conf);
	if (a->dscp < 0)
		wire_run_dscps(r, &conf);
	io = wire_run_io(r);
	if (probe_init(&p, &conf, &io) != 0) {
		print_probe_message("not enough memory; take fewer frames with --most");
		goto out;
	}
	wire_run_bind(r, &p);
	rc = measure(a, &p, config_name(c), names);
	probe_fini(&p);
out:
	diags_print(&d);
	diags_fini(&d);
	wire_run_close(r);
	return rc;
}

static int lab(const struct probe_args *a)
{
	char *extra[] = {(char[]){"--no-huge"}, (char[]){"--no-shconf"},
			 (char[]){"--no-telemetry"}};
	struct live_eal_conf eal = {.extra = extra, .n_extra = 3};
	struct live_text text = {0};
	struct rte_mempool *pool = NULL;
	struct config *c = NULL;
	struct policy *p = NULL;
	struct diags d = {0};
	uint32_t frames = 0;
	int rc = EXIT_MISUSED, err = config_load(a->policy, &c, &d);

	if (err == 0)
		err = config_compile(c, NULL, &p, &d);
	diags_print(&d);
	diags_fini(&d);
	if (err != 0)
		goto out;
	frames = wire_run_frames(p);
	eal.mem_bytes = live_pool_bytes(frames, PROBE_LEN_MAX) + TABLES_BYTES;
	rc = 1;
	if (live_eal_init("weir-probe", &eal, &text) != 0 ||
	    live_pool_create(frames, PROBE_LEN_MAX, &pool, &text) != 0)
		print_probe_message(text.err);
	else
		rc = with_pool(a, c, pool);
	rte_mempool_free(pool);
	live_eal_fini();
out:
	policy_destroy(p);
	config_destroy(c);
	return rc;
}

int main(int argc, char **argv)
{
	static struct probe_args args;

	standard_fds_open();
	if (argc == 3 && strcmp(argv[1], "completion") == 0 && strcmp(argv[2], "bash") == 0) {
		probe_args_completion(stdout);
		return 0;
	}
	if (!probe_args_parse(argc, argv, &args))
		return EXIT_MISUSED;
	if (args.version) {
		puts("weir-probe " WEIR_VERSION);
		return 0;
	}
	if (args.help) {
		probe_args_help(stdout);
		return 0;
	}
	stop_catch(0, NULL);
	prctl(PR_SET_TIMERSLACK, 1UL);
	return args.policy != NULL ? lab(&args) : live(&args);
}
