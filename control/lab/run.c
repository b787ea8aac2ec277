// SPDX-License-Identifier: Apache-2.0
// The commands run, check and sweep. One scenario from file to report, with a progress line on a
// terminal and an orderly end by signal.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control/base/rows.h"
#include "control/base/stop.h"
#include "control/base/terminal.h"
#include "control/lab/fabric.h"
#include "control/lab/lab.h"
#include "control/lab/lab_capture.h"
#include "control/lab/measure.h"
#include "control/lab/report.h"
#include "control/lab/report_page.h"
#include "control/lab/timeline.h"
#include "control/lab/traffic.h"
#include "dataplane/base/units.h"
#include "drivers/system_clock.h"

enum {
	SLICES = 10000, // of the duration, at most that many pieces
	LEAST_SLICE_NS = 1000,
	PROGRESS_NS = 200000000,
	PROGRESS_LEN = 256,
};

static volatile sig_atomic_t running; // pid of the process to be stopped, too; 0: none

static void stop_child(int n)
{
	(void)n;
	if (running > 0)
		kill(running, SIGTERM);
}

// ---- lines for people, on stderr
static int print_mistakes(struct diags *d)
{
	diags_print(d);
	diags_fini(d);
	return LAB_MISUSED;
}

static int no_memory(const char *file)
{
	fprintf(stderr, "weir-lab: %s: there is not enough memory for this fabric\n", file);
	return LAB_FAILED;
}

struct progress {
	bool on;
	uint64_t start_ns, shown_ns;
};

static void show_progress(struct progress *p, const struct run *r)
{
	const struct vclock *c = &r->fabric->clock;
	uint64_t now = monotonic_ns(), spent = now - p->start_ns, total = r->sc->duration_ns;
	double seconds = (double)spent / 1e9, part = (double)c->now_ns / (double)total;
	unsigned width = terminal_width(stderr);
	char line[PROGRESS_LEN];

	if (!p->on || now - p->shown_ns < PROGRESS_NS || seconds <= 0 || part <= 0)
		return;
	p->shown_ns = now;
	snprintf(line, sizeof(line),
		 "%s: %.3f of %.3f ms, %.2f M events/s, %.2f M hops/s, %.0f s left", r->sc->name,
		 (double)c->now_ns / 1e6, (double)total / 1e6, (double)c->n_events / seconds / 1e6,
		 (double)fabric_hops(r->fabric) / seconds / 1e6, seconds / part - seconds);
	fprintf(stderr, "\r%.*s\033[K", width > 1 ? (int)width - 1 : (int)sizeof(line), line);
	fflush(stderr);
}

static void print_speed(const struct run *r)
{
	const struct vclock *c = &r->fabric->clock;
	double busy = (double)r->busy_ns / 1e9 + 1e-9;
	uint64_t hops = fabric_hops(r->fabric);
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	terminal_printf(stderr,
			"%s: %.3f ms in %.2f s, %.2f s of processor time: %" PRIu64
			" packet-hops (%.2f M/s), %" PRIu64
			" events (%.2f M/s), peak memory %ld MB\n",
			r->sc->name, (double)r->end_ns / 1e6, (double)r->wall_ns / 1e9, busy, hops,
			(double)hops / busy / 1e6, c->n_events, (double)c->n_events / busy / 1e6,
			u.ru_maxrss / 1024);
}

// ---- one run
static int loop(struct run *r, const struct lab_args *a)
{
	uint64_t duration = r->sc->duration_ns, slice = duration / SLICES, t = 0;
	struct progress p = {.on = !a->quiet && isatty(STDERR_FILENO), .start_ns = monotonic_ns()};
	uint64_t busy = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int err = 0;

	if (slice < LEAST_SLICE_NS)
		slice = LEAST_SLICE_NS;
	while (err == 0 && t < duration && stop_requests() == 0 && !r->fabric->clock.stopped) {
		t = duration - t > slice ? t + slice : duration;
		err = fabric_run_until(r->fabric, t);
		if (r->timeline != NULL)
			timeline_look(r->timeline, t, false);
		show_progress(&p, r);
	}
	if (p.on && p.shown_ns != 0)
		fputs("\r\033[K", stderr);
	r->end_ns = r->fabric->clock.stopped ? r->fabric->clock.now_ns : t;
	r->broken_off = t < duration && !r->fabric->clock.stopped;
	r->wall_ns = monotonic_ns() - p.start_ns;
	r->busy_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - busy;
	return err;
}

// Whole or not at all: others may look for it.
static void replace_page_file(const struct run *r, const struct lab_args *a)
{
	const char *file = a->page;
	struct arena arena = {0};
	const char *new_file = arena_printf(&arena, "%s.new", file);
	FILE *out = fopen(new_file, "we");
	int err = out == NULL ? -errno : report_page(r, out);
	int end = out == NULL ? 0 : report_finish(out);

	err = err != 0 ? err : end;
	if (err == 0 && rename(new_file, file) != 0)
		err = -errno;
	if (err != 0)
		unlink(new_file);
	if (err != 0 && !a->quiet)
		fprintf(stderr, "weir-lab: warning: %s: no page: %s\n", file, strerror(-err));
	arena_fini(&arena);
}

static int publish_run(const struct run *r, const struct lab_args *a)
{
	int err = r->capture != NULL ? lab_capture_finish(r->capture, r->end_ns) : 0;

	if (a->json)
		report_json_print(r, stdout);
	else
		report_table(r, stdout);
	fflush(stdout);
	if (a->out != NULL && err == 0)
		err = report_files(r, a->out);
	if (a->page != NULL)
		replace_page_file(r, a);
	if (err != 0)
		fprintf(stderr, "weir-lab: %s: cannot write the report: %s\n", a->out,
			strerror(-err));
	if (!a->quiet)
		print_speed(r);
	if (!a->quiet && a->out != NULL && err == 0)
		report_say(a->out, "report.html");
	return err == 0 && report_passed(r) ? LAB_DONE : LAB_FAILED;
}

// Everything that can be wrong without running, with its place. 0, LAB_*.
static int prepare_run(struct run *r, const struct lab_args *a, struct diags *d)
{
	struct diag_sink s = {.file = r->sc->file, .document = "scenario"};
	struct fabric_hooks hooks;
	int err = traffic_create(r->sc, &r->traffic);

	if (err != 0)
		return no_memory(r->sc->file);
	traffic_hooks(r->traffic, &hooks);
	err = fabric_create(r->sc, &hooks, &r->fabric, d);
	if (err == -EINVAL)
		return LAB_MISUSED;
	if (err != 0)
		return no_memory(r->sc->file);
	err = traffic_check(r->traffic, r->fabric, &s);
	err |= measure_create(r->sc, &r->measure, &s);
	if (r->measure != NULL)
		measure_set_digits(r->measure, r->digits);
	for (unsigned i = 0; r->measure != NULL && i < a->metrics.n; i++)
		err |= measure_add_metric(r->measure, a->metrics.texts[i], &s);
	diag_finish(&s, d);
	return err == 0 ? LAB_DONE : LAB_MISUSED;
}

static int play(struct run *r, const struct lab_args *a)
{
	int err = traffic_start(r->traffic, r->fabric);

	if (err == 0)
		err = measure_start(r->measure, r->fabric, r->traffic);
	if (err == 0 && a->out != NULL && r->sc->n_captured != 0)
		err = lab_capture_start(r->fabric, a->out, &r->capture);
	if (r->capture != NULL && err != 0 && err != -ENOMEM) {
		fprintf(stderr, "weir-lab: %s: cannot write " LAB_CAPTURE_FILE ": %s\n", a->out,
			strerror(-err));
		return LAB_FAILED;
	}
	if (err == 0 && (a->out != NULL || a->page != NULL)) {
		r->timeline = timeline_create(r);
		err = r->timeline == NULL ? -ENOMEM : 0;
	}
	if (err == 0 && r->timeline != NULL)
		timeline_look(r->timeline, 0, true);
	if (err == 0)
		err = loop(r, a);
	// The last events of the switches belong to the numbers.
	fabric_look(r->fabric);
	if (r->timeline != NULL)
		timeline_look(r->timeline, r->end_ns, true);
	if (err == 0)
		err = measure_finish(r->measure, r->end_ns);
	if (err == 0)
		err = fair_create(r->fabric, r->traffic, r->end_ns, &r->fair);
	if (err == -ENOSPC)
		fprintf(stderr, "weir-lab: %s: a NIC has no queue pair left\n", r->sc->file);
	else if (err != 0)
		return no_memory(r->sc->file);
	return err != 0 ? LAB_FAILED : publish_run(r, a);
}

bool lab_can_write(const char *out)
{
	int err = out == NULL ? 0 : report_folder(out);

	if (err != 0)
		fprintf(stderr, "weir-lab: --out %s: cannot write there: %s\n", out,
			strerror(-err));
	return err == 0;
}

static int lab_run_file(const struct lab_args *a, const char *file)
{
	struct scenario *sc = NULL;
	struct run r = {0};
	struct diags d = {0};
	int code;

	if (scenario_load(file, a->sets, a->n_sets, &sc, &d) != 0)
		return print_mistakes(&d);
	r.sc = sc;
	r.digits = a->digits;
	code = prepare_run(&r, a, &d);
	print_mistakes(&d); // warnings, too
	if (code == LAB_DONE && !lab_can_write(a->out))
		code = LAB_MISUSED;
	if (code == LAB_DONE)
		code = play(&r, a);
	fair_destroy(r.fair);
	timeline_destroy(r.timeline);
	measure_destroy(r.measure);
	traffic_destroy(r.traffic);
	fabric_destroy(r.fabric);
	lab_capture_destroy(r.capture);
	scenario_destroy(sc);
	return code;
}

// ---- commands

__attribute__((noreturn)) static void become_run(const struct lab_args *a, const char *file)
{
	running = 0; // the parent's child is this one
	prctl(PR_SET_PDEATHSIG, SIGTERM); // no child outlives a parent that was killed
	_exit(lab_finish(lab_run_file(a, file)));
}

// DPDK starts once a process, with memory for one fabric: each of several runs has its own.
static int run_apart(const struct lab_args *a, const char *file)
{
	struct lab_args own = *a;
	char path[4096];
	int status = 0;
	pid_t child;

	if (a->out != NULL) {
		const char *slash = strrchr(file, '/'), *name = slash == NULL ? file : slash + 1;

		// "runs/incast" of "conf/lab/incast.yaml" where --out is "runs".
		snprintf(path, sizeof(path), "%s/%.*s", a->out, (int)strcspn(name, "."), name);
		own.out = path;
	}
	fflush(stdout);
	child = fork();
	if (child == 0)
		become_run(&own, file);
	running = child;
	if (child > 0 && stop_requests() != 0) // between the two lines above
		kill(child, SIGTERM);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	running = 0;
	if (child > 0 && WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "weir-lab: %s: the run did not end by itself\n", file);
	return LAB_FAILED;
}

static bool is_first(const char *const *names, uint32_t n, const char *name)
{
	if (name == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return false;
	return true;
}

// The files that the scenario reads, once each: a result that is kept depends on them.
static void print_files(const struct scenario *sc)
{
	uint32_t most = 1 + sc->n_switches + sc->n_faults + sc->n_flows, n = 0;
	const char **names = arena_alloc(sc->arena, most * sizeof(*names));

	names[n++] = sc->file;
	for (uint32_t i = 0; i < sc->n_switches; i++)
		if (is_first(names, n, sc->switches[i].policy_file))
			names[n++] = sc->switches[i].policy_file;
	for (uint32_t i = 0; i < sc->n_faults; i++)
		if (is_first(names, n, sc->faults[i].policy_file))
			names[n++] = sc->faults[i].policy_file;
	for (uint32_t i = 0; i < sc->n_flows; i++)
		if (is_first(names, n, sc->flows[i].sizes_file))
			names[n++] = sc->flows[i].sizes_file;
	for (uint32_t i = 0; i < n; i++)
		terminal_printf(stdout, "%s\n", names[i]);
	for (const struct sc_model *m = sc->models->next; m != NULL; m = m->next)
		terminal_printf(stdout, "%s\n", m->file);
}

// Loads a scenario and its policies and reports mistakes. report: also its size and warnings, where
// it has no mistake.
static int check_file(const struct lab_args *a, const char *file, bool report)
{
	struct scenario *sc = NULL;
	struct diags d = {0};
	int err = scenario_load(file, a->sets, a->n_sets, &sc, &d);

	if (err == 0)
		err = fabric_check(sc, &d);
	if (err == 0 && a->list_files)
		print_files(sc);
	else if (err == 0 && report)
		terminal_printf(stdout,
				"%s: %s: %u switch%s, %u host%s, %u link%s, %u flow%s: ready to "
				"run\n",
				file, sc->name, sc->n_switches, sc->n_switches == 1 ? "" : "es",
				sc->n_hosts, sc->n_hosts == 1 ? "" : "s", sc->n_links,
				sc->n_links == 1 ? "" : "s", sc->n_flows,
				sc->n_flows == 1 ? "" : "s");
	scenario_destroy(sc);
	if (err != 0 || (report && !a->list_files))
		print_mistakes(&d);
	else
		diags_fini(&d); // its warnings come with the run
	return err != 0 ? LAB_MISUSED : LAB_DONE;
}

static int check_files(const struct lab_args *a, bool report)
{
	int worst = LAB_DONE;

	for (unsigned i = 0; i < a->n_files; i++) {
		int code = check_file(a, a->files[i], report);

		worst = code > worst ? code : worst;
	}
	return worst;
}

int lab_run(const struct lab_args *a)
{
	int worst = LAB_DONE;

	stop_catch(0, stop_child);
	if (a->n_files == 1)
		return lab_run_file(a, a->files[0]);
	worst = check_files(a, false);
	if (worst == LAB_DONE && !lab_can_write(a->out))
		worst = LAB_MISUSED;
	if (worst != LAB_DONE)
		return worst;
	for (unsigned i = 0; i < a->n_files && stop_requests() == 0; i++) {
		int code = run_apart(a, a->files[i]);

		worst = code > worst ? code : worst;
	}
	return stop_requests() != 0 && worst == LAB_DONE ? LAB_FAILED : worst;
}

int lab_check(const struct lab_args *a)
{
	return check_files(a, true);
}

int lab_finish(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	fprintf(stderr, "weir-lab: the output could not be written\n");
	return code == LAB_DONE ? LAB_FAILED : code;
}

// Python runs `sweep` and `tune`: the module starts `weir-lab run` for each point and reports. It
// gets the options as they were read here.
int lab_python(const struct lab_args *a)
{
	const struct {
		const char *name, *value;
	} texts[] = {{"out", a->out},
		     {"objective", a->objective},
		     {"throughput", a->throughput},
		     {"floor", a->floor},
		     {"pauses", a->pauses},
		     {"class", a->queue},
		     {"on", a->on}};
	const struct {
		const char *name;
		unsigned value;
	} numbers[] = {{"jobs", a->jobs}, {"seeds", a->seeds}, {"rounds", a->rounds}};
	const char *command = a->command->name;
	struct arena arena = {0};
	const char **argv = arena_alloc(
		&arena,
		(20 + (size_t)a->n_sets + a->varies.n + a->metrics.n + a->n_files) * sizeof(*argv));
	char program[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	size_t n = 0;

	program[len > 0 ? len : 0] = '\0';
	argv[n++] = "python3";
	argv[n++] = "-EsB"; // neither the user's environment nor modules, and no cache is written
	argv[n++] = "-Xutf8";
	argv[n++] = bundle_python(command);
	if (a->command->options == LAB_SWEEP)
		argv[n++] = arena_printf(&arena, "--digits=%u", a->digits);
	for (unsigned i = 0; i < N(texts); i++)
		if (texts[i].value != NULL)
			argv[n++] = arena_printf(&arena, "--%s=%s", texts[i].name, texts[i].value);
	for (unsigned i = 0; i < N(numbers); i++)
		if (numbers[i].value != 0)
			argv[n++] = arena_printf(&arena, "--%s=%u", numbers[i].name,
						 numbers[i].value);
	if (a->json)
		argv[n++] = "--json";
	if (a->quiet)
		argv[n++] = "--quiet";
	for (unsigned i = 0; i < a->n_sets; i++)
		argv[n++] = arena_printf(&arena, "--set=%s=%s", a->sets[i].path, a->sets[i].value);
	for (unsigned i = 0; i < a->varies.n; i++)
		argv[n++] = arena_printf(&arena, "--vary=%s", a->varies.texts[i]);
	for (unsigned i = 0; i < a->metrics.n; i++)
		argv[n++] = arena_printf(&arena, "--metric=%s", a->metrics.texts[i]);
	argv[n++] = "--";
	argv[n++] = program;
	for (unsigned i = 0; i < a->n_files; i++)
		argv[n++] = a->files[i];
	execvp(argv[0], (char **)(uintptr_t)argv);
	usage_printf("weir-lab %s: cannot start python3, which runs it: %s%s\n", command,
		     strerror(errno), errno == ENOENT ? "; install the package python3" : "");
	arena_fini(&arena);
	return LAB_FAILED;
}
