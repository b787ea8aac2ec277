// SPDX-License-Identifier: Apache-2.0
// From a policy file to a forwarding switch, the control loop, and back in reverse.
#include "control/daemon/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include "control/base/json_in.h"
#include "control/base/stop.h"
#include "control/base/terminal.h"
#include "control/base/units.h"
#include "control/config/port_open.h"
#include "control/daemon/journal.h"
#include "control/daemon/outlet.h"
#include "control/daemon/process.h"
#include "control/daemon/telemetry.h"
#include "control/instance/service.h"
#include "control/observe/fact.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/port_ops.h"

enum {
	ERR_LEN = 256,
	FAILED_LEN = 1024,
	DRIVERS_EVERY_NS = 100 * MS_NS, // between two looks at links and losses
	FILES = 256, // clients, pipes, workers, DPDK's own
	FILES_PORT = 16,
	HUGEPAGE_BYTES = 2 << 20, // the smallest, so the most files
	WORKER_CPUS = 64,
	SPEED_LEN = 32,
	LOOP_MS = 3,
	PLANE_LOOP_MS = 1, // BFD sends and receives each 50 ms
	PLANE_DRIVERS_EVERY_NS = 10 * MS_NS, // a tap follows its link
	INOF_DRIVERS_EVERY_NS = 4 * MS_NS, // hosts are told that a link is down
	IDLE_LOOP_MS = 10,
	DRAIN_NS = 500 * MS_NS,
};
static const uint64_t IDLE_AFTER_NS = SECOND_NS;

uint64_t daemon_any_seed(void)
{
	uint64_t seed = 1;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = (uint64_t)getpid();
	return seed;
}

__attribute__((format(printf, 1, 2))) static int failed(const char *fmt, ...)
{
	char text[FAILED_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	terminal_printf(stderr, "weir: %s\n", text);
	return EXIT_FAILED;
}

static void print_diags(struct diags *d)
{
	diags_print(d);
	diags_fini(d);
}

static void print_notes(const char *port, const char *notes)
{
	while (*notes != '\0') {
		size_t len = strcspn(notes, "\n");

		terminal_printf(stdout, "%s%snote: %.*s\n", port, port[0] != '\0' ? " " : "",
				(int)len, notes);
		notes += len + (notes[len] != '\0');
	}
}

// ---- the policy file

// Read once, so that `show config` shows what was loaded even if the file has changed since.
static int load_policy(struct daemon *d)
{
	struct diags diags = {0};
	int err = config_load_text(d->opt->policy_path, &d->in.config, &d->policy_text, &diags);

	if (err == 0)
		err = config_check_live(d->in.config, &diags);
	print_diags(&diags);
	if (err != 0)
		return EXIT_MISUSED;
	d->in.time_scale = config_time_scale(d->in.config);
	for (unsigned i = 0; i < config_n_ports(d->in.config) && !d->opt->allow_vdev; i++) {
		struct config_port_open p = config_port(d->in.config, i);

		// The switch opens it as root. A policy may come from elsewhere (control/sonic).
		if (strncmp(p.device, "vdev:", strlen("vdev:")) == 0) {
			(void)failed("port %s has the device %s, and drivers of vdev: devices may "
				     "write any file: start weir with --allow-vdev if you trust "
				     "whoever writes %s", p.name, p.device, d->opt->policy_path);
			return EXIT_MISUSED;
		}
	}
	return 0;
}

// ---- memory

// Raises the limit of open files to what the switch needs, and with it the hugepages: DPDK keeps a
// file open for each. Raises the limit of locked memory, which AF_XDP counts. 0 if the switch
// can open its files; live_eal_init checks those of hugepages. Else -errno, and a sentence in err.
static int limits_raise(uint64_t hugepage_bytes, unsigned n_ports, char *err, unsigned err_len)
{
	const struct rlimit locked = {RLIM_INFINITY, RLIM_INFINITY};
	uint64_t least = FILES + n_ports * (uint64_t)FILES_PORT;
	uint64_t want = least + hugepage_bytes / HUGEPAGE_BYTES;
	struct rlimit files, more;

	(void)setrlimit(RLIMIT_MEMLOCK, &locked); // AF_XDP reports it where it matters
	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return -errno;
	more = (struct rlimit){want, files.rlim_max > want ? files.rlim_max : want};
	if (files.rlim_cur >= want || setrlimit(RLIMIT_NOFILE, &more) == 0)
		return 0;
	files.rlim_cur = files.rlim_max;
	if (files.rlim_max >= least && setrlimit(RLIMIT_NOFILE, &files) == 0)
		return 0;
	snprintf(err, err_len,
		 "too few files may be open: %" PRIu64 " are needed and %" PRIu64 " are allowed; "
		 "`ulimit -n %" PRIu64 "`, or LimitNOFILE=%" PRIu64 " in the systemd unit",
		 least, (uint64_t)files.rlim_max, least, least);
	return -EMFILE;
}

// The kernel's driver of a card decides how EAL starts.
static int wait_for_devices(struct daemon *d)
{
	hotplug_wait(d);
	return 0;
}

static int start_eal(struct daemon *d, const struct policy *plan, const struct memory_plan *memory)
{
	int cpus[WORKER_CPUS] = {0};
	struct live_text text = {0};
	char prefix[TELEMETRY_PREFIX_LEN], path[PROCESS_PATH_LEN];
	struct live_eal_conf conf = {
		.worker_cpus = plan->n_worker_cores > 0 ? cpus : NULL,
		.n_workers = plan->n_workers,
		.mem_bytes = memory->total_bytes,
		.apart_bytes = memory->apart_bytes,
		.extra = d->opt->eal,
		.n_extra = d->opt->n_eal,
		.file_prefix = prefix,
	};

	telemetry_prefix(config_name(d->in.config), prefix);
	// As root EAL makes its directory here. The telemetry socket is the only file in it.
	snprintf(path, sizeof(path), "/var/run/dpdk/%s", prefix);
	process_remove_at_end(path);
	snprintf(path, sizeof(path), "/var/run/dpdk/%s/dpdk_telemetry.v2", prefix);
	process_remove_at_end(path);
	for (uint32_t i = 0; i < plan->n_worker_cores && i < WORKER_CPUS; i++)
		cpus[i] = plan->worker_cores[i];
	for (unsigned i = 0; i < config_n_ports(d->in.config); i++)
		live_eal_device(&conf, config_port(d->in.config, i).device);
	if (live_eal_init("weir", &conf, &text) != 0)
		return failed("%s", text.err);
	print_notes("", text.note);
	return 0;
}

// Before a port is open its facts are not known, but the size of the pool is needed to open it.
// This plan is made with facts that need at least as many frames; the real one is compiled later.
static int make_memory(struct daemon *d)
{
	struct live_text text = {0};
	struct diags diags = {0};
	struct memory_plan memory;
	struct policy *plan;
	char why[LIVE_TEXT_LEN];
	int err = memory_compile(d->in.config, &plan, &diags);

	if (err == -ENOMEM)
		return failed("out of memory");
	if (err != 0) {
		print_diags(&diags);
		return EXIT_MISUSED;
	}
	diags_fini(&diags); // the real plan reports the same again
	memory = memory_plan(d->in.config, plan);
	if (limits_raise(memory.huge_bytes, config_n_ports(d->in.config), why, sizeof(why)) != 0)
		err = failed("%s", why);
	else
		err = start_eal(d, plan, &memory);
	policy_destroy(plan);
	if (err != 0)
		return err;
	err = live_pool_create(memory.n_frames, memory.max_frame, &d->pool, &text);
	if (err != 0) {
		telemetry_remove_dir();
		live_eal_fini();
		return failed("%s", text.err);
	}
	print_notes("", text.note);
	return 0;
}

// ---- ports

struct live_conf port_conf(const struct daemon *d, unsigned i, const struct config_port_open *p)
{
	return (struct live_conf){.pool = d->pool, .max_frame = p->max_frame, .mtu = p->mtu,
				  .tx_ring_bytes = p->tx_ring_bytes, .rx_ring = p->rx_ring,
				  .keep = &p->keep, .take_over = p->take_over, .apart = p->apart,
				  .program = d->programs[i],
				  .time_scale = instance_time_scale(&d->in)};
}

static int open_switch_port(struct daemon *d, unsigned i)
{
	const struct config_port_open p = config_port(d->in.config, i);
	bool missing = live_device_state(p.device) == LIVE_MISSING;
	struct live_text text = {0};
	struct live_conf conf;
	struct port_facts facts;

	if ((!missing || p.optional) &&
	    live_program_load(p.device, p.max_frame, &d->programs[i], &text) != 0)
		return failed("port %s: %s", p.name, text.err);
	conf = port_conf(d, i, &p);
	facts = live_facts(&conf);
	if (missing && p.optional) {
		live_absent(&facts, &d->ports[i]);
		snprintf(text.note, sizeof(text.note),
			 "%s does not exist; the port uses it once it is made and up\n", p.device);
	} else if (live_open(p.device, &conf, &d->ports[i], &text) != 0) {
		return failed("port %s: %s%s", p.name, text.err,
			      !missing ? ""
			      : strncmp(p.device, "pci:", 4) == 0
				      ? "; `weir --wait SECONDS` waits for it"
				      : "; `optional: on` at the port starts weir without it, and "
					"`weir --wait SECONDS` waits for it");
	}
	d->n_open = i + 1;
	print_notes(p.name, text.note);
	return 0;
}

static int open_ports(struct daemon *d)
{
	unsigned n = config_n_ports(d->in.config);

	d->ports = calloc(n, sizeof(*d->ports));
	d->programs = calloc(n, sizeof(struct xdp_attach *));
	if (d->ports == NULL || d->programs == NULL)
		return failed("out of memory");
	for (unsigned i = 0; i < n; i++) {
		int err = open_switch_port(d, i);

		if (err != 0)
			return err;
	}
	return 0;
}

int compile_for_ports(const struct daemon *d, const struct config *c, struct policy **out,
		      struct diags *diags)
{
	struct port_facts *facts = calloc(d->n_open, sizeof(*facts));
	int err;

	if (facts == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < d->n_open; i++)
		facts[i] = d->ports[i].facts;
	err = config_compile(c, facts, out, diags);
	if (err == 0) {
		advice_add(c, facts, *out, advice_processors(), diags);
		instance_carry(&d->in, *out);
	}
	if (err == 0 && !plane_fill(d->plane, *out)) {
		policy_destroy(*out);
		*out = NULL;
		err = -ENOMEM;
	}
	free(facts);
	return err;
}

static int compile_policy(struct daemon *d)
{
	struct diags diags = {0};
	int err = compile_for_ports(d, d->in.config, &d->in.policy, &diags);

	print_diags(&diags);
	if (err == -ENOMEM)
		return failed("out of memory");
	return err != 0 ? EXIT_MISUSED : 0;
}

// ---- the switch and its control

void daemon_set_pace(const struct daemon *d)
{
	const char *netns;
	uint64_t every_ns = instance_inof(&d->in) != NULL ? INOF_DRIVERS_EVERY_NS
			    : config_control_by_linux(d->in.config, &netns)
				    ? PLANE_DRIVERS_EVERY_NS
				    : DRIVERS_EVERY_NS;

	switch_poll_drivers_every(d->in.sw,
				  model_span_ns(instance_time_scale(&d->in), every_ns));
}

static int make_switch(struct daemon *d)
{
	struct switch_port *sp = calloc(d->n_open, sizeof(*sp));
	int err;

	if (sp == NULL)
		return failed("out of memory");
	for (unsigned i = 0; i < d->n_open; i++)
		sp[i] = (struct switch_port){.ops = d->ports[i].ops, .drv = d->ports[i].drv,
					     .facts = d->ports[i].facts};
	err = switch_create(d->in.policy, sp, d->pool, daemon_any_seed(), &d->in.sw);
	free(sp);
	if (err != 0)
		return failed("cannot make the switch: %s; is there enough memory (hugepages)?",
			      strerror(-err));
	switch_touch(d->in.sw);
	switch_set_random(d->in.sw, daemon_any_seed);
	return 0;
}

static bool publish_routes(void *arg)
{
	const struct daemon *d = arg;

	return !reload_pending(d->reload) && reload_for_routes(d->reload, clock_now_ns(&d->clock));
}

static void log_plane(void *arg, enum event_type type, port_no_t port, uint64_t n, const char *why)
{
	const struct daemon *d = arg;

	daemon_event(d, type, port, 0, n, clock_now_ns(&d->clock));
	if (why != NULL)
		log_line("%s warning control_plane: %s", d->in.policy->name, why);
}

static int open_plane(struct daemon *d)
{
	static const struct plane_ops ops = {.publish = publish_routes, .event = log_plane};
	struct plane_conf conf = {.sw = d->in.sw, .ops = &ops, .arg = d};
	char err[ERR_LEN];

	if (!config_control_by_linux(d->in.config, &conf.netns))
		return 0;
	if (plane_create(&conf, 0, &d->plane, err, sizeof(err)) != 0)
		return failed("%s", err);
	observe_set_linux(d->observe, plane_numbers, d->plane);
	return 0;
}

static int open_control(struct daemon *d)
{
	char err[ERR_LEN];
	int fd;

	if (observe_create(&d->in, &d->observe) != 0 ||
	    eventlog_create(d->in.policy, &d->log) != 0 || cnplog_create(&d->cnps) != 0 ||
	    reload_create(d, &d->reload) != 0 || hotplug_create(d, &d->hotplug) != 0 ||
	    fdb_file_create(d, &d->fdb_file) != 0)
		return failed("out of memory");
	if (open_plane(d) != 0)
		return EXIT_FAILED;
	if (instance_open(&d->in, err, sizeof(err)) != 0)
		return failed("%s", err);
	daemon_set_pace(d);
	observe_set_standin(d->observe, workers_standin(d->workers));
	reload_describe(d->reload);
	fd = rundir_listen(&d->rundir, err, sizeof(err));
	if (fd < 0)
		return failed("%s", err);
	if (requests_create(d, fd, &d->requests) != 0)
		return failed("out of memory");
	return 0;
}

// ---- metrics and telemetry

static int open_web(struct daemon *d)
{
	const struct options *o = d->opt;
	struct web_conf conf = {.at = &o->web, .socket = d->rundir.sock_path};
	char err[ERR_LEN];
	int code;

	if (!o->web_on)
		return 0;
	if (o->web_token != NULL) {
		d->web_token = web_token(o->web_token, err, sizeof(err));
		if (d->web_token == NULL)
			return failed("--web-token: %s", err);
		if (*err != '\0')
			log_line("%s warning --web-token: %s", d->in.policy->name, err);
		conf.token = d->web_token;
	}
	code = web_create(d, &conf, &d->web);
	if (code != 0)
		return failed("--web: cannot listen on %s: %s", o->web.text, strerror(-code));
	printf("web http://%s/%s\n", o->web.text,
	       conf.token != NULL ? "?token=... (as in the file of --web-token)" : "");
	return 0;
}

static int open_views(struct daemon *d)
{
	const struct endpoint *at = &d->opt->metrics;
	int err = d->opt->metrics_on
			  ? metrics_create(at, d->observe, d->log, &d->metrics)
			  : 0;

	if (err != 0)
		return failed("--metrics: cannot listen on %s: %s", at->text, strerror(-err));
	if (d->opt->metrics_on)
		printf("metrics http://%s/metrics\n", at->text);
	err = open_web(d);
	if (err != 0)
		return err;
	err = telemetry_start(d->observe);
	if (err != 0)
		return failed("DPDK telemetry: cannot register commands: %s", strerror(-err));
	return 0;
}

static void print_ports(const struct daemon *d)
{
	static const char *const pfc[] = {"none", "tx only", "rx only", "rx+tx"};

	for (unsigned i = 0; i < d->n_open; i++) {
		const struct policy_port *p = &d->in.policy->ports[i];
		const struct port_facts *f = &d->ports[i].facts;
		char speed[SPEED_LEN];

		unit_print(UNIT_RATE, (int64_t)p->speed_bps, speed, sizeof(speed));
		terminal_printf(stdout, "%s %s speed=%sb/s mtu=%u pfc=%s rx_guard=%s\n", p->name,
				p->device, speed, p->mtu, pfc[2 * f->pfc_rx + f->pfc_tx],
				f->rx_depth_readable && p->rx_guard_on != 0 ? "on" : "off");
	}
}

static int start_workers(struct daemon *d)
{
	unsigned n = switch_n_workers(d->in.sw);
	char note[SPEED_NOTE_LEN];
	int err;

	for (unsigned i = 0; i < n; i++)
		if (!rte_lcore_is_enabled(live_worker_lcore(i)))
			return failed("the EAL arguments leave no lcore %u for worker %u; leave "
				      "out -l and -c, switch.workers names the cores",
				      live_worker_lcore(i), i);
	process_ready();
	clock_start(&d->clock);
	err = workers_start(d->workers);
	if (err != 0)
		return failed("cannot start the workers: %s", strerror(-err));
	print_ports(d);
	if (config_flood_note(d->in.policy, note, sizeof(note)) != NULL)
		print_notes("", note);
	if (config_speed_note(d->in.config, d->in.policy, note, sizeof(note)) != NULL)
		print_notes("", note);
	if (instance_time_scale(&d->in) > 1)
		terminal_printf(stdout, "time scale %u: speeds, rates and times are the model's, "
				"and every peer must have the same scale\n",
				instance_time_scale(&d->in));
	puts("ready");
	fflush(stdout);
	systemd_ready(&d->systemd);
	return 0;
}

static int start_standin(struct daemon *d)
{
	return workers_create(d, &d->workers) != 0 ? failed("out of memory") : 0;
}

static int give_up_privileges(struct daemon *d)
{
	char err[ERR_LEN];

	if (!d->opt->keep_privileges && privileges_give_up(err, sizeof(err)) != 0)
		return failed("%s", err);
	return 0;
}

static int take_name(struct daemon *d)
{
	char err[ERR_LEN];

	if (rundir_take(&d->rundir, config_name(d->in.config), err, sizeof(err)) != 0)
		return failed("%s", err);
	process_remove_at_end(d->rundir.lock_path);
	process_remove_at_end(d->rundir.sock_path);
	return 0;
}

// Also after a failure in the middle: each call accepts what was not made. The frame pool ends with
// the process. DPDK writes zeros over memory that it frees, which takes half a second for 2 GB.
static void take_down(struct daemon *d)
{
	workers_stop(d->workers);
	telemetry_stop();
	web_destroy(d->web);
	free(d->web_token);
	metrics_destroy(d->metrics);
	d->closing = !hotplug_destroy(d->hotplug);
	fdb_file_destroy(d->fdb_file);
	requests_destroy(d->requests);
	plane_destroy(d->plane);
	instance_close(&d->in);
	reload_destroy(d->reload);
	cnplog_destroy(d->cnps);
	eventlog_destroy(d->log);
	observe_destroy(d->observe);
	switch_destroy(d->in.sw);
	while (d->n_open > 0 && !d->closing)
		live_close(&d->ports[--d->n_open]);
	for (unsigned i = 0; d->programs != NULL && i < config_n_ports(d->in.config); i++)
		live_program_free(d->programs[i]);
	free(d->programs);
	free(d->ports);
	instance_fini(&d->in);
	if (d->pool != NULL)
		telemetry_remove_dir();
	if (d->pool != NULL && !d->closing)
		live_eal_fini();
	process_forget_files();
	rundir_release(&d->rundir);
	workers_destroy(d->workers);
	free(d->policy_text);
}

// 0, or the exit status after the reason was printed and everything undone.
static int bring_daemon_up(struct daemon *d)
{
	static int (*const rungs[])(struct daemon *d) = {
		load_policy, start_standin, take_name, wait_for_devices, make_memory, open_ports,
		compile_policy, make_switch, open_control, open_views, give_up_privileges,
		start_workers,
	};

	for (unsigned i = 0; i < sizeof(rungs) / sizeof(rungs[0]); i++) {
		int status = rungs[i](d);

		if (status == 0)
			continue;
		take_down(d);
		return status;
	}
	return 0;
}

// ---- the control loop

// When a frame last moved.
struct idle {
	uint64_t moved, moved_at_ns;
};

void daemon_event(const struct daemon *d, enum event_type type, unsigned port, uint32_t a,
		  uint64_t b, uint64_t now_ns)
{
	const struct event e = {.t_ns = model_time_ns(d->in.time_scale, now_ns),
				.type = (uint8_t)type, .port = (port_no_t)port, .cls = CLASS_NONE,
				.a = a, .b = b};

	eventlog_add(d->log, &e, now_ns);
}

// now_ns is real time, as for all that control waits for.
static void control_once(struct daemon *d, uint64_t now_ns)
{
	instance_collect(&d->in, now_ns);
	eventlog_tick(d->log, now_ns);
	cnplog_poll(d->cnps, d->in.sw, wall_now_ns());
	observe_sample(d->observe, now_ns);
	workers_poll(d->workers, now_ns);
	reload_poll(d->reload, now_ns);
	plane_poll(d->plane, now_ns);
	instance_hear(&d->in, now_ns);
	instance_act(&d->in, now_ns);
}

static int loop_ms(const struct daemon *d, struct idle *idle, uint64_t now_ns)
{
	uint64_t n = 0;

	if (reload_in_haste(d->reload, now_ns))
		return 0;
	if (d->plane != NULL)
		return PLANE_LOOP_MS;
	if (instance_inof(&d->in) != NULL)
		return LOOP_MS;
	for (unsigned i = 0; i < d->n_open; i++) {
		const struct port_counters *c = switch_port_counters(d->in.sw, i);

		n += ctr_get(&c->received) + ctr_get(&c->transmitted);
	}
	if (n != idle->moved)
		*idle = (struct idle){n, now_ns};
	return now_ns - idle->moved_at_ns < IDLE_AFTER_NS ? LOOP_MS : IDLE_LOOP_MS;
}

// For `systemctl status`.
static void tell_systemd(struct daemon *d, uint64_t now_ns)
{
	char status[SYSTEMD_STATUS_LEN];
	uint64_t still_ns;
	unsigned n_up = 0;

	if (d->systemd.to.fd < 0) // it does not run the switch
		return;
	still_ns = workers_still_ns(d->workers, now_ns);
	for (unsigned i = 0; i < d->n_open; i++)
		n_up += switch_link_up(d->in.sw, i);
	snprintf(status, sizeof(status), "%s: %u of %u ports up, policy %" PRIu64 "%s",
		 d->in.policy->name, n_up, d->n_open, d->in.policy->settings,
		 still_ns >= SECOND_NS ? ", a worker stands still" : "");
	systemd_poll(&d->systemd, status, still_ns, now_ns);
}

static void run_loop(struct daemon *d)
{
	struct idle idle = {.moved_at_ns = clock_now_ns(&d->clock)};
	bool hup = false;

	while (stop_requests() == 0) {
		uint64_t now_ns = clock_now_ns(&d->clock);

		control_once(d, now_ns);
		requests_poll(d->requests, loop_ms(d, &idle, now_ns), now_ns);
		hotplug_poll(d->hotplug, now_ns);
		fdb_file_poll(d->fdb_file, now_ns);
		metrics_poll(d->metrics, now_ns);
		web_poll(d->web, now_ns);
		telemetry_poll(now_ns);
		tell_systemd(d, now_ns);
		// Taken first: a signal that comes while the file is read starts another reload.
		hup |= process_take_hup();
		if (hup)
			hup = !reload_on_signal(d->reload, now_ns);
	}
}

// Stops admission and the workers; a second signal cuts it short. Workers send nothing of control
// once admission is held, so LLDP's last frames leave before.
static void drain_switch(struct daemon *d)
{
	static const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t end_ns = clock_now_ns(&d->clock) + DRAIN_NS;
	uint64_t now_ns, request;

	systemd_stopping(&d->systemd);
	reload_forbid_rollback(d->reload);
	instance_end(&d->in);
	while (switch_sends_wait(d->in.sw) && stop_requests() < 2 &&
	       clock_now_ns(&d->clock) < end_ns)
		nanosleep(&pause, NULL);
	request = switch_hold_admission(d->in.sw, true);
	do {
		now_ns = clock_now_ns(&d->clock);
		control_once(d, now_ns);
		if (switch_request_done(d->in.sw, request) && switch_at_rest(d->in.sw))
			break;
		nanosleep(&pause, NULL);
	} while (stop_requests() < 2 && now_ns < end_ns);
	workers_stop(d->workers);
	control_once(d, clock_now_ns(&d->clock));
}

// The exit status.
static int report_balance(const struct daemon *d)
{
	struct balance b = switch_balance(d->in.sw);
	const struct fact_list *l = &fact_lists[FACTS_BALANCE];
	struct json_object *row = observe_balance(d->in.sw);
	bool holds = balance_begun(&b) == balance_ended(&b);

	if (d->opt->json) {
		struct json_object *out = json_object_new_object();

		json_object_object_add(out, "balance", json_object_get(row));
		json_object_object_add(out, "waiting", observe_waiting(d->in.sw));
		puts(json_object_to_json_string_ext(out, JSON_C_TO_STRING_SPACED));
		json_object_put(out);
	} else {
		for (size_t i = 0; i < l->n; i++)
			if (l->rows[i].kind != FACT_YES)
				printf("%-12s %" PRIu64 "\n", l->rows[i].key,
				       count_in(row, l->rows[i].key));
		printf("balance %s: %" PRIu64 " frames began, %" PRIu64 " ended\n",
		       holds ? "holds" : "DOES NOT HOLD", balance_begun(&b), balance_ended(&b));
	}
	json_object_put(row);
	fflush(stdout);
	return holds ? EXIT_OK : EXIT_FAILED;
}

int daemon_run(const struct options *opt)
{
	struct daemon d = {.opt = opt, .rundir.lock_fd = -1,
			   .in = {.ops = &daemon_instance_ops, .arg = &d}};
	int status;

	process_catch_signals();
	terminal_keep_widths();
	systemd_open(&d.systemd);
	(void)journal_open(JOURNAL_SOCKET);
	status = outlet_open();
	if (status != 0) {
		fprintf(stderr, "weir: cannot make pipes for its output: %s\n", strerror(-status));
		return EXIT_FAILED;
	}
	status = bring_daemon_up(&d);
	if (status == 0) {
		run_loop(&d);
		drain_switch(&d);
		status = report_balance(&d);
		take_down(&d);
	}
	outlet_close();
	journal_close();
	systemd_close(&d.systemd);
	if (d.closing)
		_exit(status);
	return status;
}
