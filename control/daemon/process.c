// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "control/base/lock_file.h"
#include "control/base/stop.h"
#include "control/daemon/daemon.h"
#include "control/daemon/outlet.h"
#include "dataplane/base/units.h"

enum {
	STOPS_MAX = 2,
	FILES_MAX = 4,
	THREADS_MAX = 512,
	WAIT_MS = 10000, // for all threads
	AGAIN_MS = 1000, // until a thread gets the signal once more
	TURN_NS = MS_NS,
	STATUS_LEN = 4096,
};

// ---- signals

static volatile sig_atomic_t hup; // set by the handler, reset by the loop
// Written by the control thread. A path is complete before the number says so.
static volatile sig_atomic_t ready, n_files;
static char files[FILES_MAX][PROCESS_PATH_LEN];

// Calls nothing but system calls: a handler runs in the middle of anything.
static void end_now(int status)
{
	static const char early[] = "weir: stopped before it was ready\n";

	if (!ready)
		(void)!write(STDERR_FILENO, early, sizeof(early) - 1);
	outlet_last();
	for (sig_atomic_t i = n_files; i > 0; i--)
		if (unlink(files[i - 1]) != 0)
			(void)rmdir(files[i - 1]);
	_exit(status);
}

static void on_hup(int sig)
{
	(void)sig;
	hup = 1;
}

static void on_stop(int n)
{
	if (n > STOPS_MAX)
		end_now(EXIT_FAILED);
	else if (!ready)
		end_now(EXIT_OK);
}

void process_catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_hup};

	stop_catch(0, on_stop);
	sigaction(SIGHUP, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
}

void process_remove_at_end(const char *path)
{
	if (n_files == FILES_MAX || strlen(path) >= PROCESS_PATH_LEN)
		return;
	strcpy(files[n_files], path);
	n_files = n_files + 1;
}

void process_forget_files(void)
{
	n_files = 0;
}

void process_ready(void)
{
	ready = 1;
}

bool process_take_hup(void)
{
	if (!hup)
		return false;
	hup = 0;
	return true;
}

// ---- privileges

static const uint64_t kept = 1ull << CAP_NET_ADMIN | 1ull << CAP_NET_RAW | 1ull << CAP_BPF |
			     1ull << CAP_IPC_LOCK;

static atomic_int failure; // errno of a thread; a handler has no argument

// Of the calling thread. System calls only: it runs in a signal handler.
static int give_up_mine(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	for (unsigned long cap = 0; cap < 64; cap++)
		if (!(kept >> cap & 1) && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1 &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
			return errno;
	if (syscall(SYS_capget, &head, caps) != 0)
		return errno;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t stay = caps[i].permitted & (uint32_t)(kept >> 32 * i);

		caps[i] = (struct __user_cap_data_struct){.effective = stay, .permitted = stay};
	}
	if (syscall(SYS_capset, &head, caps) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return errno;
	return 0;
}

static void give_up_on_signal(int sig)
{
	int before = errno, err = give_up_mine();

	(void)sig;
	if (err != 0)
		atomic_store(&failure, err);
	errno = before;
}

// The value of a line of /proc/PID/status, which begins with `name`.
static uint64_t status_value(const char *status, const char *name, int base)
{
	const char *at = strstr(status, name);

	return at == NULL ? UINT64_MAX : strtoull(at + strlen(name), NULL, base);
}

// Whether a thread has given them up. True also for one that has ended: whether a thread ends
// before it handles a signal is not known otherwise.
static bool is_given_up(pid_t id)
{
	char path[64], status[STATUS_LEN] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)id);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, status, sizeof(status) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return fd >= 0 || errno == ENOENT || errno == ESRCH;
	return (status_value(status, "\nCapPrm:", 16) & ~kept) == 0 &&
	       (status_value(status, "\nCapBnd:", 16) & ~kept) == 0 &&
	       status_value(status, "\nNoNewPrivs:", 10) == 1;
}

struct asked {
	struct {
		pid_t id;
		unsigned ms;
	} thread[THREADS_MAX];
	unsigned n;
};

// A number may belong to a new thread by now, so it is asked once more after a while.
static bool is_to_be_asked(struct asked *a, pid_t id, unsigned ms)
{
	unsigned i = 0;

	while (i < a->n && a->thread[i].id != id)
		i++;
	if (i < a->n && ms < a->thread[i].ms + AGAIN_MS)
		return false;
	if (i == THREADS_MAX)
		return ms % AGAIN_MS == 0;
	a->thread[i].id = id;
	a->thread[i].ms = ms;
	a->n += i == a->n;
	return true;
}

// Sends the signal to the threads that have them. The number of these, or -errno.
static int ask_others(struct asked *a, unsigned ms)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	if (dir == NULL)
		return -errno;
	while ((e = readdir(dir)) != NULL) {
		pid_t id = (pid_t)strtol(e->d_name, NULL, 10);

		if (id == 0 || id == gettid() || is_given_up(id))
			continue;
		n++;
		if (is_to_be_asked(a, id, ms))
			(void)tgkill(getpid(), id, PRIVILEGES_SIGNAL); // or it has just ended
	}
	closedir(dir);
	return n;
}

// Until no thread has them: one that answers late may have made another.
static int all_give_up(void)
{
	const struct timespec turn = {.tv_nsec = TURN_NS};
	struct asked asked = {0};

	for (unsigned ms = 0; ms < WAIT_MS; ms++) {
		int n = ask_others(&asked, ms);

		if (n <= 0 || atomic_load(&failure) != 0)
			return n < 0 ? n : -atomic_load(&failure);
		nanosleep(&turn, NULL);
	}
	return -ETIMEDOUT;
}

int privileges_give_up(char *err, unsigned err_len)
{
	struct sigaction sa = {.sa_handler = give_up_on_signal, .sa_flags = SA_RESTART};
	int rc;

	atomic_store(&failure, 0);
	sigaction(PRIVILEGES_SIGNAL, &sa, NULL);
	rc = all_give_up();
	signal(PRIVILEGES_SIGNAL, SIG_IGN); // one that is late does not end the process
	if (rc == 0)
		rc = -give_up_mine();
	if (rc != 0)
		snprintf(err, err_len,
			 "privileges cannot be given up: %s; `weir --keep-privileges` runs with "
			 "all of them", strerror(-rc));
	return rc;
}

// ---- /run/weir

static const char run_dir[] = "/run/weir";

static int fail_on_path(int code, char *err, unsigned err_len, const char *what, const char *path)
{
	snprintf(err, err_len, "%s %s: %s%s", what, path, strerror(code),
		 code == EACCES ? "; start weir as root" : "");
	return -code;
}

int rundir_take(struct rundir *r, const char *name, char *err, unsigned err_len)
{
	r->lock_fd = -1;
	if (strchr(name, '/') != NULL || name[0] == '.' || name[0] == '\0') {
		snprintf(err, err_len, "switch.name \"%s\" cannot be a file name; use letters and "
				       "digits", name);
		return -EINVAL;
	}
	snprintf(r->lock_path, sizeof(r->lock_path), "%s/%s.lock", run_dir, name);
	snprintf(r->sock_path, sizeof(r->sock_path), "%s/%s.sock", run_dir, name);
	snprintf(r->fdb_path, sizeof(r->fdb_path), "%s/%s.fdb", run_dir, name);
	if (mkdir(run_dir, 0755) != 0 && errno != EEXIST)
		return fail_on_path(errno, err, err_len, "cannot make", run_dir);
	r->lock_fd = lock_file_take(r->lock_path);
	if (r->lock_fd >= 0)
		return 0;
	if (r->lock_fd != -EWOULDBLOCK)
		return fail_on_path(-r->lock_fd, err, err_len, "cannot lock", r->lock_path);
	snprintf(err, err_len, "a switch named %s is already running; stop it, or give this one "
			       "another switch.name", name);
	return -EBUSY;
}

int rundir_listen(const struct rundir *r, char *err, unsigned err_len)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	mode_t mask;
	int bound;

	if (fd < 0)
		return fail_on_path(errno, err, err_len, "cannot make a socket for", r->sock_path);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", r->sock_path);
	// We hold the lock, so a socket that is there belongs to a process that has ended.
	unlink(r->sock_path);
	mask = umask(0177);
	bound = bind(fd, (const struct sockaddr *)&at, sizeof(at));
	umask(mask);
	if (bound != 0 || listen(fd, SOMAXCONN) != 0) {
		int code = errno;

		close(fd);
		return fail_on_path(code, err, err_len, "cannot listen on", r->sock_path);
	}
	return fd;
}

void rundir_release(struct rundir *r)
{
	if (r->lock_fd < 0)
		return;
	unlink(r->sock_path);
	lock_file_release(r->lock_fd, r->lock_path);
	r->lock_fd = -1;
}
