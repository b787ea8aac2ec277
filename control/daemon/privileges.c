// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/privileges.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "dataplane/units.h"

enum { THREADS_MAX = 512, WAIT_MS = 1000, TURN_NS = MS_NS };

static const uint64_t kept = 1ull << CAP_NET_ADMIN | 1ull << CAP_NET_RAW | 1ull << CAP_BPF |
			     1ull << CAP_IPC_LOCK;

// A handler has no argument. answers counts threads; failure is the errno of one of them.
static atomic_uint answers;
static atomic_int failure;

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

static void on_signal(int sig)
{
	int before = errno, err = give_up_mine();

	(void)sig;
	if (err != 0)
		atomic_store(&failure, err);
	atomic_fetch_add(&answers, 1);
	errno = before;
}

struct threads {
	pid_t id[THREADS_MAX];
	unsigned n;
};

static bool known(const struct threads *t, pid_t id)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->id[i] == id)
			return true;
	return false;
}

// Sends the signal to each thread that is not known yet. The number of them, or -errno.
static int ask_others(struct threads *t)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	if (dir == NULL)
		return -errno;
	while ((e = readdir(dir)) != NULL) {
		pid_t id = (pid_t)strtol(e->d_name, NULL, 10);

		if (id == 0 || id == gettid() || known(t, id) || t->n == THREADS_MAX)
			continue;
		t->id[t->n++] = id;
		if (tgkill(getpid(), id, PRIVILEGES_SIGNAL) == 0)
			n++;
	}
	closedir(dir);
	return n;
}

// Until no thread is left that was not asked: one that answers late may have made another.
static int ask_all(void)
{
	const struct timespec turn = {.tv_nsec = TURN_NS};
	struct threads threads = {0};
	unsigned asked = 0;
	int n;

	while ((n = ask_others(&threads)) > 0) {
		asked += (unsigned)n;
		for (unsigned ms = 0; atomic_load(&answers) < asked; ms++) {
			if (ms == WAIT_MS)
				return -ETIMEDOUT;
			nanosleep(&turn, NULL);
		}
	}
	return n;
}

int privileges_give_up(char *err, unsigned err_len)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
	int rc;

	atomic_store(&answers, 0);
	atomic_store(&failure, 0);
	sigaction(PRIVILEGES_SIGNAL, &sa, &before);
	rc = ask_all();
	sigaction(PRIVILEGES_SIGNAL, &before, NULL);
	if (rc == 0)
		rc = -atomic_load(&failure);
	if (rc == 0)
		rc = -give_up_mine();
	if (rc != 0)
		snprintf(err, err_len,
			 "privileges cannot be given up: %s; `weir --keep-privileges` runs with "
			 "all of them", strerror(-rc));
	return rc;
}
