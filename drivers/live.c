// SPDX-License-Identifier: Apache-2.0
#include "drivers/live.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "dataplane/base/units.h"
#include "drivers/absent.h"
#include "drivers/ethdev/ethdev.h"
#include "drivers/ethdev/pci.h"
#include "drivers/xdp/attach.h"
#include "drivers/xdp/netdev.h"
#include "drivers/xdp/xdp.h"

enum {
	MB = 1 << 20,
	FILES_SPARE = 32, // open beside those of hugepages as EAL starts
	ARGS_MAX = 64,
	LCORES_LEN = 4096,
	SHORT_LEN = 32,
	TAGGED_OVERHEAD = 22,
	MODEL_BURST_NS = US_NS,
	LATE_NS = 10 * MS_NS, // as long as others had the core in measurements
};

static_assert(sizeof(struct rte_mbuf) == LIVE_MBUF_BYTES &&
		      (int)RTE_MBUF_DEFAULT_BUF_SIZE == (int)LIVE_DATA_ROOM_MIN,
	      "device.h has the numbers of DPDK");

// ---- EAL

// Owned by live_eal_init: EAL copies what it keeps.
struct args {
	int argc;
	char *argv[ARGS_MAX + 1];
	char lcores[LCORES_LEN];
	char mem_mb[SHORT_LEN];
};

// EAL takes its arguments without const and does not write into them.
static void arg(struct args *a, const char *text)
{
	if (a->argc < ARGS_MAX)
		a->argv[a->argc++] = (char *)(uintptr_t)text;
}

// ---- CPUs

__attribute__((format(printf, 2, 3))) static void lcores_add(struct args *a, const char *fmt, ...)
{
	size_t len = strlen(a->lcores);
	va_list args;

	va_start(args, fmt);
	vsnprintf(a->lcores + len, sizeof(a->lcores) - len, fmt, args);
	va_end(args);
}

// "lcore@(0-3,8)" with the CPUs the process may use, in ranges.
static void lcore_floating(struct args *a, unsigned lcore, const cpu_set_t *allowed)
{
	const char *sep = "";

	lcores_add(a, "%s%u@(", lcore > 0 ? "," : "", lcore);
	for (int cpu = 0, last; cpu < CPU_SETSIZE; cpu = last + 1) {
		last = cpu;
		if (!CPU_ISSET((size_t)cpu, allowed))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET((size_t)last + 1, allowed))
			last++;
		lcores_add(a, "%s%d-%d", sep, cpu, last);
		sep = ",";
	}
	lcores_add(a, ")");
}

static int map_lcores(struct args *a, const struct live_eal_conf *conf, struct live_text *text)
{
	cpu_set_t allowed;

	CPU_ZERO(&allowed);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return -errno;
	lcore_floating(a, 0, &allowed);
	for (unsigned i = 0; i < conf->n_workers; i++) {
		int cpu = conf->worker_cpus != NULL ? conf->worker_cpus[i] : -1;

		if (cpu >= CPU_SETSIZE || (cpu >= 0 && !CPU_ISSET((size_t)cpu, &allowed)))
			return live_refuse(
				text, -EINVAL,
				"worker %u wants CPU %d, which this process may not use; `nproc` "
				"and `taskset -p $$` show which it may",
				i, cpu);
		if (cpu < 0)
			lcore_floating(a, live_worker_lcore(i), &allowed);
		else
			lcores_add(a, ",%u@%d", live_worker_lcore(i), cpu);
	}
	if (strlen(a->lcores) + 1 < sizeof(a->lcores))
		return 0;
	return live_refuse(text, -E2BIG, "%u workers are too many", conf->n_workers);
}

// ---- memory

static uint64_t read_kernel_number(const char *path)
{
	uint64_t n = 0;
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return 0;
	if (fscanf(f, "%" SCNu64, &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

static uint64_t free_hugepage_bytes(void)
{
	static const char root[] = "/sys/kernel/mm/hugepages";
	uint64_t sum = 0, kib;
	struct dirent *e;
	DIR *dir = opendir(root);

	if (dir == NULL)
		return 0;
	while ((e = readdir(dir)) != NULL) {
		char path[sizeof(root) + sizeof(e->d_name) + SHORT_LEN];

		if (sscanf(e->d_name, "hugepages-%" SCNu64 "kB", &kib) != 1)
			continue;
		snprintf(path, sizeof(path), "%s/%s/free_hugepages", root, e->d_name);
		sum += read_kernel_number(path) * kib * 1024;
	}
	closedir(dir);
	return sum;
}

// The kernel's own estimate of what can be had without swapping.
static uint64_t available_bytes(void)
{
	uint64_t kib = 0;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");

	if (f == NULL)
		return UINT64_MAX;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			break;
	fclose(f);
	return kib * 1024;
}

static uint64_t nr_hugepages_for(uint64_t need_mb)
{
	return read_kernel_number("/proc/sys/vm/nr_hugepages") + need_mb / 2 + 1;
}

// On normal pages the mempool lets no element cross a page: one per page, up to twice the memory.
static int normal_pages(struct args *a, uint64_t need_mb, uint64_t free_mb, uint64_t apart_mb,
			struct live_text *text)
{
	uint64_t available_mb = available_bytes() / MB;

	if (LIVE_NORMAL_PAGES * need_mb + apart_mb > available_mb)
		return live_refuse(
			text, -ENOMEM,
			"not enough memory: %" PRIu64 " MB of hugepages are needed and %" PRIu64
			" MB are free; ordinary pages would take %" PRIu64 " MB of %" PRIu64
			" MB; make switch.buffer.size smaller or switch.buffer.cell larger, or "
			"get hugepages with `echo %" PRIu64 " > /proc/sys/vm/nr_hugepages`",
			need_mb, free_mb, LIVE_NORMAL_PAGES * need_mb + apart_mb, available_mb,
			nr_hugepages_for(need_mb));
	arg(a, "--no-huge");
	arg(a, "--no-shconf");
	snprintf(a->mem_mb, sizeof(a->mem_mb), "%" PRIu64, LIVE_NORMAL_PAGES * need_mb);
	return 0;
}

static int apart_fits(uint64_t apart_mb, struct live_text *text)
{
	uint64_t available_mb = available_bytes() / MB;

	if (apart_mb <= available_mb)
		return 0;
	return live_refuse(text, -ENOMEM,
			   "not enough memory: the rings of the xdp: ports take %" PRIu64
			   " MB of ordinary pages and %" PRIu64
			   " MB are available; make rx_ring or tx_ring of the ports smaller",
			   apart_mb, available_mb);
}

// EAL keeps a file open for each hugepage, and reports "Cannot allocate memory" where it may not.
static int files_for(uint64_t need_mb, struct live_text *text)
{
	uint64_t need = need_mb / 2 + FILES_SPARE;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= need)
		return 0;
	return live_refuse(text, -EMFILE,
			   "%" PRIu64 " files may be open, and DPDK opens one for each of %" PRIu64
			   " hugepages; `ulimit -n %" PRIu64 "` allows them",
			   (uint64_t)files.rlim_cur, need_mb / 2, need);
}

static int choose_memory(struct args *a, const struct live_eal_conf *conf, bool no_huge,
			 struct live_text *text)
{
	uint64_t need_mb = (conf->mem_bytes + MB - 1) / MB + LIVE_EAL_MB +
			   (uint64_t)LIVE_WORKER_MB * conf->n_workers;
	uint64_t free_mb = free_hugepage_bytes() / MB;
	uint64_t apart_mb = (conf->apart_bytes + MB - 1) / MB;
	bool huge = !no_huge && free_mb >= need_mb;
	int rc = apart_fits(apart_mb, text);

	if (rc != 0)
		return rc;
	if (huge)
		rc = files_for(need_mb, text);
	if (huge) {
		arg(a, "--in-memory");
		snprintf(a->mem_mb, sizeof(a->mem_mb), "%" PRIu64, need_mb);
	} else if (conf->physical != NULL && no_huge) {
		return live_refuse(text, -EINVAL,
				   "%s: its kernel driver knows no IOMMU, so DPDK needs hugepages; "
				   "leave out --no-huge, or bind the device to vfio-pci",
				   conf->physical);
	} else if (conf->physical != NULL) {
		return live_refuse(
			text, -ENOMEM,
			"%s: its kernel driver knows no IOMMU, so DPDK needs hugepages: %" PRIu64
			" MB of them, and %" PRIu64 " MB are free; bind the device to vfio-pci, or "
			"`echo %" PRIu64 " > /proc/sys/vm/nr_hugepages`",
			conf->physical, need_mb, free_mb, nr_hugepages_for(need_mb));
	} else {
		rc = normal_pages(a, need_mb, free_mb, apart_mb, text);
	}
	arg(a, "-m");
	arg(a, a->mem_mb);
	if (no_huge || huge || rc != 0)
		return rc;
	live_note(text,
		  "running on normal pages: %" PRIu64 " MB of hugepages are needed and %" PRIu64
		  " MB are free; memory-bound work takes 65-90 %% longer; `echo %" PRIu64
		  " > /proc/sys/vm/nr_hugepages` before the start sets them\n",
		  need_mb, free_mb, nr_hugepages_for(need_mb));
	return 0;
}

// ---- the user's own arguments

static const char *const memory_args[] = {"-m",		"--in-memory", "--socket-mem",
					  "--legacy-mem", "--huge-dir",	 NULL};
static const char *const no_huge_args[] = {"--no-huge", NULL};
static const char *const lcore_args[] = {"-l", "-c", "--lcores", "-s", NULL};
static const char *const pci_args[] = {"-a", "-b", "--allow", "--block", "--no-pci", NULL};

// "-m 64", "-m64", "--socket-mem=64": the name is a prefix of the argument.
static bool has_extra(const struct live_eal_conf *conf, const char *const *names)
{
	for (; *names != NULL; names++)
		for (int i = 0; i < conf->n_extra; i++)
			if (strncmp(conf->extra[i], *names, strlen(*names)) == 0)
				return true;
	return false;
}

static int build_args(struct args *a, const char *prog, const struct live_eal_conf *conf,
		      struct live_text *text)
{
	int rc = 0;

	arg(a, prog);
	if (!has_extra(conf, lcore_args)) {
		rc = map_lcores(a, conf, text);
		arg(a, "--lcores");
		arg(a, a->lcores);
	}
	if (rc == 0 && !has_extra(conf, memory_args))
		rc = choose_memory(a, conf, has_extra(conf, no_huge_args), text);
	// An allow list with no NIC in it: devices are plugged in one by one when ports open.
	if (!has_extra(conf, pci_args)) {
		arg(a, conf->pci ? "-a" : "--no-pci");
		if (conf->pci)
			arg(a, "0000:00:00.0");
	}
	arg(a, conf->file_prefix != NULL ? "--file-prefix" : "--no-telemetry");
	if (conf->file_prefix != NULL)
		arg(a, conf->file_prefix);
	arg(a, conf->physical != NULL ? "--iova-mode=pa" : "--iova-mode=va");
	arg(a, "--log-level=*:error");
	if (a->argc + conf->n_extra > ARGS_MAX)
		return live_refuse(text, -E2BIG, "%d EAL arguments are too many", conf->n_extra);
	for (int i = 0; i < conf->n_extra; i++)
		arg(a, conf->extra[i]);
	return rc;
}

int live_eal_init(const char *prog, const struct live_eal_conf *conf, struct live_text *text)
{
	struct args *a = calloc(1, sizeof(*a));
	int rc, lock;

	if (a == NULL)
		return -ENOMEM;
	snprintf(text->err, sizeof(text->err), "EAL arguments cannot be made");
	// Programs that start at once look at the free hugepages and take them one after the other,
	// else the last would find none left after it decided for them. The lock goes with the
	// descriptor.
	lock = open("/proc/sys/vm/nr_hugepages", O_RDONLY | O_CLOEXEC);
	if (lock >= 0)
		(void)flock(lock, LOCK_EX);
	rc = build_args(a, prog, conf, text);
	if (rc == 0 && rte_eal_init(a->argc, a->argv) < 0) {
		rc = rte_errno > 0 ? -rte_errno : -EIO;
		live_refuse(text, rc, "DPDK does not start: %s; its own messages are above",
			    strerror(-rc));
	}
	if (lock >= 0)
		close(lock);
	free(a);
	return rc;
}

void live_eal_fini(void)
{
	(void)rte_eal_cleanup();
}

// ---- the two kinds of devices

static enum live_state state_xdp(const char *rest)
{
	int flags = netdev_flags(rest);

	if (flags == -ENODEV)
		return LIVE_MISSING;
	return flags >= 0 && (flags & IFF_UP) == 0 ? LIVE_DOWN : LIVE_READY;
}

static enum live_state state_pci(const char *rest)
{
	return pci_is_bound(rest) ? LIVE_READY : LIVE_MISSING;
}

static const struct kind {
	const char *prefix;
	bool pci;
	int (*open)(const char *rest, const struct live_conf *conf, struct live_port *out,
		    struct live_text *text);
	int (*probe)(const char *rest, struct live_info *out, struct live_text *text); // or NULL
	enum live_state (*state)(const char *rest); // or NULL
} kinds[] = {
	{"xdp:", false, xdp_open, xdp_probe, state_xdp},
	{"pci:", true, ethdev_open, NULL, state_pci},
	{"vdev:", false, ethdev_open, NULL, NULL},
};

static const struct kind *kind_of_device(const char *device)
{
	for (size_t i = 0; i < RTE_DIM(kinds); i++) {
		size_t len = strlen(kinds[i].prefix);

		if (strncmp(device, kinds[i].prefix, len) == 0 && device[len] != '\0')
			return &kinds[i];
	}
	return NULL;
}

bool live_device_valid(const char *device)
{
	return kind_of_device(device) != NULL;
}

void live_eal_device(struct live_eal_conf *conf, const char *device)
{
	const struct kind *k = kind_of_device(device);

	if (k == NULL || !k->pci)
		return;
	conf->pci = true;
	if (pci_needs_physical(device + strlen(k->prefix)))
		conf->physical = device;
}

// ---- the pool

int live_pool_create(uint32_t n_frames, uint32_t max_frame, struct rte_mempool **out,
		     struct live_text *text)
{
	uint32_t n = n_frames + rte_lcore_count() * LIVE_CACHE_HELD;
	uint32_t room = live_data_room(max_frame);
	struct rte_mempool *pool;

	if (room > UINT16_MAX)
		return live_refuse(text, -EMSGSIZE, "frames of %u bytes are too long", max_frame);
	pool = rte_pktmbuf_pool_create("frames", n, LIVE_CACHE_FRAMES, 0, (uint16_t)room,
				       SOCKET_ID_ANY);
	if (pool == NULL)
		return live_refuse(
			text, rte_errno > 0 ? -rte_errno : -ENOMEM,
			"no memory for %u frames of %u bytes (%s); a smaller switch.buffer.size "
			"or smaller receive rings need less",
			n, max_frame, rte_strerror(rte_errno));
	*out = pool;
	return 0;
}

// ---- ports

int live_open(const char *device, const struct live_conf *conf, struct live_port *out,
	      struct live_text *text)
{
	const struct kind *k = kind_of_device(device);
	const struct keep keep = keep_default();
	struct live_conf c = *conf;
	struct live_port port = {0};
	size_t noted = strlen(text->note);
	uint32_t burst_ns;
	int rc;

	if (k == NULL)
		return live_refuse(text, -EINVAL,
				   "%s: not a device; write xdp:INTERFACE, pci:ADDRESS or "
				   "vdev:NAME",
				   device);
	if (c.mtu == 0)
		c.mtu = c.max_frame - TAGGED_OVERHEAD;
	if (c.keep == NULL)
		c.keep = &keep;
	rc = k->open(device + strlen(k->prefix), &c, &port, text);
	if (rc != 0) {
		text->note[noted] = '\0';
		return rc;
	}
	// Poll loops share their cores where time is scaled: the burst that keeps their rate when
	// they are late is not cut below a microsecond of the model, 5 KB at 40 Gb/s.
	burst_ns = port.facts.shaper_burst_ns;
	if (c.time_scale > 1)
		port.facts.shaper_burst_ns = RTE_MAX(burst_ns / c.time_scale,
						     RTE_MIN(burst_ns, (uint32_t)MODEL_BURST_NS));
	else
		port.facts.shaper_late_ns = LATE_NS;
	*out = port;
	return 0;
}

int live_program_load(const char *device, uint32_t max_frame, struct xdp_attach **out,
		      struct live_text *text)
{
	const struct kind *k = kind_of_device(device);
	struct xdp_attach *a;
	int rc;

	*out = NULL;
	if (k == NULL || k->open != xdp_open)
		return 0;
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return live_refuse(text, -ENOMEM, "out of memory");
	rc = xdp_attach_load(a, xdp_is_long(max_frame), text);
	if (rc == 0)
		*out = a;
	else
		live_program_free(a);
	return rc;
}

void live_program_free(struct xdp_attach *program)
{
	if (program != NULL)
		xdp_attach_close(program);
	free(program);
}

enum live_state live_device_state(const char *device)
{
	const struct kind *k = kind_of_device(device);

	return k == NULL || k->state == NULL ? LIVE_READY : k->state(device + strlen(k->prefix));
}

static void info_absent(void *drv, struct live_info *out)
{
	(void)drv;
	*out = (struct live_info){0};
}

void live_absent(const struct port_facts *facts, struct live_port *out)
{
	*out = (struct live_port){.ops = &absent_ops, .facts = *facts, .info = info_absent};
}

struct port_facts live_facts(const struct live_conf *conf)
{
	return (struct port_facts){
		.max_frame = conf->max_frame,
		.rx_ring = xdp_rx_ring(conf->rx_ring),
		.rx_depth_readable = true,
		.pfc_rx = true,
		.pfc_tx = true,
	};
}

int live_probe(const char *device, struct live_info *out, struct live_text *text)
{
	const struct kind *k = kind_of_device(device);

	*out = (struct live_info){0};
	if (k == NULL || k->probe == NULL)
		return 0;
	return k->probe(device + strlen(k->prefix), out, text);
}

void live_info(const struct live_port *port, struct live_info *out)
{
	port->info(port->drv, out);
}

int live_set_keep(const struct live_port *port, const struct keep *keep, bool take_over,
		  struct live_text *text)
{
	return port->set_keep == NULL ? 0 : port->set_keep(port->drv, keep, take_over, text);
}

void live_close(struct live_port *port)
{
	if (port->close != NULL)
		port->close(port->drv);
	*port = (struct live_port){0};
}
