// SPDX-License-Identifier: Apache-2.0
// One running switch from its policy file to its control socket: brings everything up, runs the
// control loop, drains, and takes everything down in reverse. The main thread calls everything
// here. control/instance replaces config and policy and has the services, reload.c replaces
// policy_text.
#pragma once

#include "control/config/config.h"
#include "control/daemon/clock.h"
#include "control/daemon/cnplog.h"
#include "control/daemon/eventlog.h"
#include "control/daemon/fdb_file.h"
#include "control/daemon/hotplug.h"
#include "control/daemon/metrics.h"
#include "control/daemon/options.h"
#include "control/daemon/owner.h"
#include "control/daemon/process.h"
#include "control/daemon/reload.h"
#include "control/daemon/requests.h"
#include "control/daemon/systemd.h"
#include "control/daemon/web.h"
#include "control/daemon/workers.h"
#include "control/instance/instance.h"
#include "control/linux/plane.h"
#include "control/observe/observe.h"
#include "drivers/live.h"

struct config_port_open;
struct policy;

struct daemon {
	const struct options *opt;
	char *policy_text;
	struct instance in;
	struct rundir rundir;
	struct rte_mempool *pool;
	unsigned n_open;
	struct live_port *ports; // n_open of them are open, or wait for their device
	struct xdp_attach **programs; // by port, kept for devices to come
	struct observe *observe;
	struct eventlog *log;
	struct cnplog *cnps;
	struct reload *reload;
	struct workers *workers;
	struct hotplug *hotplug;
	bool closing; // at the end: of hotplug_destroy()
	struct fdb_file *fdb_file;
	struct plane *plane; // control_plane: linux; else NULL
	struct requests *requests;
	struct metrics *metrics; // NULL: not served
	struct web *web; // the same
	char *web_token;
	struct systemd systemd;
	struct tsc_clock clock;
};

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_MISUSED = 2 };

// Runs until a signal. The exit status of the program.
int daemon_run(const struct options *opt);

// A number that no station knows. Without entropy any number will do.
uint64_t daemon_any_seed(void);

// How often the switch looks at links: what the policy needs.
void daemon_set_pace(const struct daemon *d);

// How the device of a port is opened; p must outlive the answer.
struct live_conf port_conf(const struct daemon *d, unsigned port,
			   const struct config_port_open *p);
// A policy for the ports that are open. 0, -EINVAL with *diags filled, or -ENOMEM.
__attribute__((warn_unused_result)) int compile_for_ports(const struct daemon *d,
							  const struct config *c,
							  struct policy **out,
							  struct diags *diags);

// Logs an event that control has seen. port: or PORT_NONE.
void daemon_event(const struct daemon *d, enum event_type type, unsigned port, uint32_t a,
		  uint64_t b, uint64_t now_ns);
