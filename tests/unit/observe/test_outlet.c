// SPDX-License-Identifier: Apache-2.0
// Output while the reader of standard error stands still, and when the reader goes on. A call that
// waited would never return, and the test would run into its time limit.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/daemon/outlet.h"
#include "control/daemon/process.h"

enum { LINES = 100000, PAUSE_MS = 500, LAST = 3000, SETTLE_MS = 50 };

struct reader {
	int err; // standard error as it was
	int end; // the read end of the pipe that takes its place
	char *text;
	size_t len;
};

static struct reader stand_still(void)
{
	struct reader r = {.err = dup(STDERR_FILENO)};
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	(void)fcntl(ends[1], F_SETPIPE_SZ, 4096);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
	r.end = ends[0];
	r.text = calloc(1, 64 << 20);
	assert_non_null(r.text);
	return r;
}

// Reads until nothing has come for a while.
static void go_on(struct reader *r)
{
	struct pollfd p = {.fd = r->end, .events = POLLIN};

	while (poll(&p, 1, PAUSE_MS) > 0) {
		ssize_t n = read(r->end, r->text + r->len, 4096);

		if (n <= 0)
			break;
		r->len += (size_t)n;
	}
}

static unsigned n_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned n = 0;

	assert_non_null(tasks);
	for (const struct dirent *task; (task = readdir(tasks)) != NULL;)
		n += atoi(task->d_name) > 0;
	closedir(tasks);
	return n;
}

// A thread that wrote to the reader ends now. Until then it uses what outlet_open() fills anew.
static void forget(struct reader *r)
{
	dup2(r->err, STDERR_FILENO);
	close(r->err);
	close(r->end);
	free(r->text);
	while (n_threads() > 1)
		usleep(1000);
}

static void say(unsigned number)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "line number %u\n", number);

	outlet_line(line, (size_t)n);
}

// The numbers of the lines rise; returns how many there are. *told: the lines said to be lost.
static unsigned check_lines(const struct reader *r, uint64_t *told)
{
	unsigned n = 0, number, last = 0;
	char *next, *line = r->text;

	for (; (next = strchr(line, '\n')) != NULL; line = next + 1) {
		const char *lost = strstr(line, "lines lost=");

		if (lost != NULL && lost < next) {
			*told += strtoul(lost + strlen("lines lost="), NULL, 10);
			continue;
		}
		assert_int_equal(sscanf(line, "line number %u", &number), 1);
		assert_true(number > last);
		last = number;
		n++;
	}
	assert_int_equal(*line, '\0'); // no line is cut off
	return n;
}

static void lines_that_nobody_reads_are_lost_and_counted(void **state)
{
	struct reader r = stand_still();
	uint64_t told = 0;

	(void)state;
	assert_int_equal(outlet_open(), 0);
	for (unsigned i = 1; i <= LINES; i++)
		say(i);
	assert_true(outlet_lost() > 0);
	go_on(&r);
	say(LINES + 1);
	go_on(&r);
	outlet_close();
	go_on(&r);
	assert_int_equal(check_lines(&r, &told) + told, LINES + 1);
	assert_int_equal(told, outlet_lost());
	forget(&r);
}

static void an_end_waits_for_no_reader(void **state)
{
	struct reader r = stand_still();

	(void)state;
	assert_int_equal(outlet_open(), 0);
	for (unsigned i = 1; i <= LINES; i++)
		say(i);
	outlet_close();
	forget(&r);
}

static void everything_arrives_where_it_is_read(void **state)
{
	struct reader r = stand_still();
	uint64_t told = 0, before = outlet_lost();

	(void)state;
	say(1); // not opened yet
	assert_int_equal(outlet_open(), 0);
	for (unsigned i = 2; i <= 100; i++)
		say(i);
	fprintf(stderr, "line number %u\n", 101);
	go_on(&r);
	outlet_close();
	say(102);
	go_on(&r);
	assert_int_equal(check_lines(&r, &told), 102);
	assert_int_equal(outlet_lost(), before);
	forget(&r);
}

// A process that a signal ends calls nothing else. The reader begins late, so most of the lines
// still wait in the pipes by then.
static void the_last_lines_of_a_process_get_out(void **state)
{
	struct reader r = stand_still();
	uint64_t told = 0;
	pid_t child;

	(void)state;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		if (outlet_open() != 0)
			_exit(1);
		for (unsigned i = 1; i <= LAST; i++)
			say(i);
		outlet_last();
		_exit(0);
	}
	usleep(OUTLET_LAST_MS / 3 * 1000);
	go_on(&r);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(check_lines(&r, &told), LAST);
	forget(&r);
}

static void ignore(int sig)
{
	(void)sig;
}

// Each thread takes this signal. A thread that is interrupted in its wait waits again, and holds no
// bytes.
static void a_signal_leaves_the_threads_at_rest(void **state)
{
	const struct sigaction sa = {.sa_handler = ignore};
	struct reader r = stand_still();
	struct timespec begin, end;
	struct dirent *task;
	DIR *tasks;

	(void)state;
	assert_int_equal(sigaction(PRIVILEGES_SIGNAL, &sa, NULL), 0);
	assert_int_equal(outlet_open(), 0);
	usleep(SETTLE_MS * 1000);
	tasks = opendir("/proc/self/task");
	while ((task = readdir(tasks)) != NULL)
		if (atoi(task->d_name) > 0)
			assert_int_equal(tgkill(getpid(), atoi(task->d_name), PRIVILEGES_SIGNAL),
					 0);
	closedir(tasks);
	usleep(SETTLE_MS * 1000);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	outlet_last();
	clock_gettime(CLOCK_MONOTONIC, &end);
	outlet_close();
	forget(&r);
	assert_true((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000 <
		    OUTLET_LAST_MS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_that_nobody_reads_are_lost_and_counted),
		cmocka_unit_test(everything_arrives_where_it_is_read),
		cmocka_unit_test(an_end_waits_for_no_reader),
		cmocka_unit_test(a_signal_leaves_the_threads_at_rest),
		cmocka_unit_test(the_last_lines_of_a_process_get_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
