// SPDX-License-Identifier: Apache-2.0
// Privileges are given up by each thread while others begin and end, as threads of DPDK's drivers
// do at a start. As root.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/daemon/outlet.h"
#include "control/daemon/process.h"

enum { ROUNDS = 20, STAYING = 3, CHURNING = 2, ERR_LEN = 256, GOOD = 42 };

void outlet_last(void)
{
}

static void *ends(void *arg)
{
	return arg;
}

static void *churns(void *arg)
{
	for (;;) {
		pthread_t t;

		if (pthread_create(&t, NULL, ends, NULL) == 0)
			pthread_join(t, NULL);
	}
	return arg;
}

static void *stays(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static uint64_t permitted(pid_t id)
{
	char path[64], line[256];
	uint64_t caps = UINT64_MAX;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)id);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "CapPrm:", strlen("CapPrm:")) == 0)
			caps = strtoull(line + strlen("CapPrm:"), NULL, 16);
	if (f != NULL)
		fclose(f);
	return caps;
}

// In a process of its own, which has no privileges afterwards. Returns GOOD.
static int one_round(void)
{
	char err[ERR_LEN] = "";
	pthread_t t;

	for (unsigned i = 0; i < STAYING; i++)
		if (pthread_create(&t, NULL, stays, NULL) != 0)
			return 1;
	for (unsigned i = 0; i < CHURNING; i++)
		if (pthread_create(&t, NULL, churns, NULL) != 0)
			return 2;
	if (privileges_give_up(err, sizeof(err)) != 0) {
		fprintf(stderr, "%s\n", err);
		return 3;
	}
	// The numbers of the first threads follow that of the process. They keep CAP_NET_ADMIN,
	// CAP_NET_RAW, CAP_IPC_LOCK and CAP_BPF.
	for (pid_t id = getpid(); id <= getpid() + STAYING + CHURNING; id++)
		if ((permitted(id) & ~0x8000007000ull) != 0 && permitted(id) != UINT64_MAX)
			return 4;
	// A signal that comes late does not end the process.
	kill(getpid(), PRIVILEGES_SIGNAL);
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? GOOD : 5;
}

static void threads_that_begin_and_end_do_not_matter(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	for (unsigned i = 0; i < ROUNDS; i++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			_exit(one_round());
		assert_int_equal(waitpid(child, &status, 0), child);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != GOOD)
			fail_msg("round %u: signal %d, status %d", i, WTERMSIG(status),
				 WEXITSTATUS(status));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_begin_and_end_do_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
