// SPDX-License-Identifier: Apache-2.0
// What the stand-in decides, and its process: started, ended, and what runs in it.
#include "drivers/standin/standin.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/if_packet.h>

#include "dataplane/base/units.h"
#include "dataplane/packet/pfc_frame.h"
#include "drivers/system_clock.h"

enum {
	NOBODY = 65534,
	OFF_LOOK_NS = 100 * MS_NS,
	LEAST_SLEEP_NS = 10 * US_NS,
	END_MS = 1000, // a process that is stopped ends with the switch's
};

// ---- what it decides

enum { QUANTUM_BITS = 512, MAX_QUANTA = UINT16_MAX, REFRESHES = 4 };

__extension__ typedef unsigned __int128 wide;

uint64_t standin_pause_ns(struct standin_order o, uint64_t speed_bps, uint32_t time_scale)
{
	wide model_ns = (wide)o.quanta * QUANTUM_BITS * SECOND_NS / speed_bps;

	return (uint64_t)(model_ns * (time_scale > 1 ? time_scale : 1));
}

struct standin_order standin_order(uint8_t classes, uint64_t speed_bps, uint64_t worker_refresh_ns,
				   uint32_t time_scale)
{
	uint32_t slower = time_scale > 1 ? time_scale : 1;
	uint64_t real_refresh_ns = worker_refresh_ns * slower;
	uint64_t least_ns = real_refresh_ns + STANDIN_REFRESH_NS;
	uint64_t pause_ns = least_ns > STANDIN_PAUSE_NS ? least_ns : STANDIN_PAUSE_NS;
	uint64_t bits = (uint64_t)((wide)pause_ns * speed_bps / SECOND_NS / slower);
	uint64_t quanta = bits / QUANTUM_BITS + 1;
	struct standin_order o = {.classes = classes};

	if (classes == 0)
		return o;
	o.quanta = (uint16_t)(quanta < MAX_QUANTA ? quanta : MAX_QUANTA);
	pause_ns = standin_pause_ns(o, speed_bps, time_scale) / REFRESHES;
	o.refresh_ns = (uint32_t)(pause_ns < STANDIN_REFRESH_NS ? pause_ns : STANDIN_REFRESH_NS);
	return o;
}

enum standin_verdict standin_look(struct standin_watch *w, uint64_t beats, uint64_t pause_after_ns,
				  uint64_t now_ns)
{
	if (beats != w->beats || beats == 0 || pause_after_ns == 0)
		*w = (struct standin_watch){.beats = beats, .since_ns = now_ns};
	if (now_ns - w->since_ns < pause_after_ns || pause_after_ns == 0 || beats == 0)
		return STANDIN_MOVES;
	if (now_ns - w->since_ns >= pause_after_ns + STANDIN_LIMIT_NS)
		return STANDIN_GIVE_UP;
	return STANDIN_SEND;
}

// ---- its loop

// Of the process itself.
struct watcher {
	struct standin_shared *shared;
	int pipe, socket;
	struct standin_watch watch[STANDIN_MAX_WORKERS];
	bool still[STANDIN_MAX_WORKERS];
	uint64_t due_ns[STANDIN_MAX_PORTS]; // of the next frame
};

static void send_pause(struct watcher *m, struct standin_port *p, struct standin_order o)
{
	const struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = p->ifindex};
	struct pfc_times times = {.enable = o.classes};
	uint8_t frame[PFC_FRAME_LEN];

	for (unsigned c = 0; c < sizeof(times.quanta) / sizeof(times.quanta[0]); c++)
		times.quanta[c] = o.classes >> c & 1 ? o.quanta : 0;
	pfc_frame_build(frame, p->mac, &times);
	if (sendto(m->socket, frame, sizeof(frame), MSG_DONTWAIT, (const void *)&to, sizeof(to)) ==
	    (ssize_t)sizeof(frame))
		ctr_inc(&p->sent);
}

static void check_workers(struct watcher *m, uint64_t now_ns)
{
	uint64_t after_ns = gauge_get(&m->shared->pause_after_ns);

	for (unsigned i = 0; i < STANDIN_MAX_WORKERS; i++) {
		struct standin_worker *w = &m->shared->workers[i];
		enum standin_verdict v = standin_look(&m->watch[i], gauge_get(&w->beat.beats),
						      after_ns, now_ns);

		if (v == STANDIN_SEND && !m->still[i])
			ctr_inc(&w->episodes);
		m->still[i] = v == STANDIN_SEND;
		gauge_set(&w->gave_up, v == STANDIN_GIVE_UP);
	}
}

// Returns when to check again.
static uint64_t serve_ports(struct watcher *m, uint64_t now_ns)
{
	uint64_t after_ns = gauge_get(&m->shared->pause_after_ns);
	uint64_t wake_ns = now_ns + (after_ns != 0 ? after_ns / STANDIN_LOOKS : OFF_LOOK_NS);

	for (unsigned i = 0; i < STANDIN_MAX_PORTS; i++) {
		struct standin_port *p = &m->shared->ports[i];
		struct standin_order o = standin_unpack(gauge_get(&p->order));

		atomic_thread_fence(memory_order_acquire); // the port's other members
		if (o.refresh_ns == 0 || !m->still[p->worker])
			continue;
		if (now_ns >= m->due_ns[i]) {
			send_pause(m, p, o);
			m->due_ns[i] = now_ns + o.refresh_ns;
		}
		if (m->due_ns[i] < wake_ns)
			wake_ns = m->due_ns[i];
	}
	return wake_ns;
}

static void run_watcher(struct watcher *m)
{
	struct pollfd end = {.fd = m->pipe};

	for (;;) {
		uint64_t now_ns = monotonic_ns(), wake_ns, left_ns = LEAST_SLEEP_NS;
		struct timespec left;

		check_workers(m, now_ns);
		wake_ns = serve_ports(m, now_ns);
		now_ns = monotonic_ns();
		if (wake_ns > now_ns + LEAST_SLEEP_NS)
			left_ns = wake_ns - now_ns;
		left = (struct timespec){.tv_sec = (time_t)(left_ns / SECOND_NS),
					 .tv_nsec = (long)(left_ns % SECOND_NS)};
		if (ppoll(&end, 1, &left, NULL) > 0)
			_exit(0); // the other end is closed
	}
}

// ---- its privileges

// Needs nothing but its socket and its end of the pipe. The file numbers 0 to 2 stay taken.
static int keep_only(int *a, int *b)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	*a = fcntl(*a, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	*b = fcntl(*b, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (*a < 0 || *b < 0)
		return -errno;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	for (int fd = STDERR_FILENO + 1; fd <= (*a > *b ? *a : *b); fd++)
		if (fd != *a && fd != *b)
			close(fd);
	if (syscall(SYS_close_range, (unsigned)(*a > *b ? *a : *b) + 1, ~0u, 0) != 0)
		return -errno;
	return 0;
}

// Root without capabilities may still write the files of root, so it becomes nobody as well.
static void drop_privileges(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	(void)setgroups(0, NULL);
	(void)syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY);
	(void)syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY);
	(void)syscall(SYS_capset, &head, none);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

// It may run before what keeps the workers from running. Without that right it runs
// as others do.
static void take_priority(void)
{
	const struct sched_param first = {.sched_priority = 1};

	(void)sched_setscheduler(0, SCHED_FIFO, &first);
	(void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "weir-stand-in", 0, 0, 0);
}

__attribute__((noreturn)) static void child(struct standin_shared *shared, int end, int sock,
					    pid_t parent)
{
	static struct watcher m;
	static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE};

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)setsid();
	if (keep_only(&end, &sock) != 0)
		_exit(1);
	take_priority();
	drop_privileges();
	// After the privileges, because a change of those ends it.
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent)
		_exit(1);
	m = (struct watcher){.shared = shared, .pipe = end, .socket = sock};
	run_watcher(&m);
	_exit(0);
}

// ---- in the switch's process

static int fork_child(struct standin *s)
{
	// For sending alone: with protocol 0 it receives nothing.
	int ends[2], sock = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), on = 1, rc;
	pid_t parent = getpid();

	s->pipe = -1;
	if (sock < 0)
		return -errno;
	(void)setsockopt(sock, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on));
	if (pipe2(ends, O_CLOEXEC) != 0) {
		rc = -errno;
		close(sock);
		return rc;
	}
	s->pid = fork();
	rc = s->pid < 0 ? -errno : 0;
	if (s->pid == 0) {
		close(ends[1]);
		child(s->shared, ends[0], sock, parent);
	}
	close(ends[0]);
	close(sock);
	s->pipe = ends[1];
	return rc;
}

int standin_start(struct standin *s)
{
	int rc;

	*s = (struct standin){.pipe = -1};
	s->shared = mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->shared == MAP_FAILED) {
		s->shared = NULL;
		return -errno;
	}
	gauge_set(&s->shared->limits.late_ns, UINT64_MAX);
	gauge_set(&s->shared->limits.stall_ns, UINT64_MAX);
	rc = fork_child(s);
	if (rc != 0)
		s->pid = 0;
	return rc;
}

bool standin_lost(struct standin *s)
{
	if (s->pid == 0 || waitpid(s->pid, NULL, WNOHANG) != s->pid)
		return false;
	s->pid = 0;
	return true;
}

void standin_stop(struct standin *s)
{
	if (s->shared == NULL)
		return;
	if (s->pipe >= 0)
		close(s->pipe);
	for (unsigned ms = 0; s->pid != 0 && ms < END_MS; ms++) {
		const struct timespec wait = {.tv_nsec = 1000000};

		if (waitpid(s->pid, NULL, WNOHANG) != 0)
			break;
		nanosleep(&wait, NULL);
	}
	(void)munmap(s->shared, sizeof(*s->shared));
	*s = (struct standin){0};
}
