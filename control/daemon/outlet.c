// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "control/daemon/process.h"

enum { STREAMS = 2, CHUNK = 4096 };

struct stream {
	int fd; // 1 or 2: the write end of the pipe
	int out; // the descriptor as it was
	int in; // the read end of the pipe
	pthread_t thread;
	atomic_bool passing; // the thread may hold bytes
};

// The descriptors of a process, and therefore of the file: the handler of SIGABRT needs them.
static struct stream streams[STREAMS];
static unsigned n_open;
static uint64_t lost, unreported;

// Writes all bytes, however long that takes. False: there is no reader any more.
static bool write_all(int fd, const char *bytes, size_t len)
{
	for (ssize_t n; len > 0; bytes += n > 0 ? n : 0, len -= n > 0 ? (size_t)n : 0) {
		n = write(fd, bytes, len);
		if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
		else if (n < 0 && errno != EINTR)
			return false;
	}
	return true;
}

// Goes on reading without a reader of its own: the pipe must not fill up for that reason.
static void *pass_on(void *arg)
{
	struct stream *s = arg;
	struct pollfd some = {.fd = s->in, .events = POLLIN};
	char bytes[CHUNK];
	bool wanted = true;
	ssize_t n;

	do {
		atomic_store(&s->passing, false);
		while (poll(&some, 1, -1) < 0 && errno == EINTR)
			continue;
		atomic_store(&s->passing, true);
		n = read(s->in, bytes, sizeof(bytes));
		if (n > 0 && wanted)
			wanted = write_all(s->out, bytes, (size_t)n);
	} while (n > 0 || (n < 0 && errno == EINTR));
	atomic_store(&s->passing, false);
	return NULL;
}

void outlet_last(void)
{
	const struct timespec turn = {.tv_nsec = 1000000};

	for (unsigned ms = 0; ms < OUTLET_LAST_MS; ms++) {
		bool any = false;

		// First the pipe: the thread sets `passing` before it takes bytes from the pipe.
		for (unsigned i = 0; i < n_open; i++) {
			int bytes = 0;

			any |= ioctl(streams[i].in, FIONREAD, &bytes) == 0 && bytes > 0;
			any |= atomic_load(&streams[i].passing);
		}
		if (!any)
			return;
		nanosleep(&turn, NULL);
	}
}

// The message of assert() and of rte_panic() waits in the pipe, or in the thread, when the process
// ends.
static void on_abort(int sig)
{
	outlet_last();
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

static int stream_open(struct stream *s, int fd)
{
	sigset_t all, before;
	int ends[2], err;

	*s = (struct stream){.fd = fd, .out = fcntl(fd, F_DUPFD_CLOEXEC, 3)};
	if (s->out < 0)
		return -errno;
	if (pipe2(ends, O_CLOEXEC) != 0) {
		err = errno;
		close(s->out);
		return -err;
	}
	s->in = ends[0];
	(void)fcntl(ends[1], F_SETPIPE_SZ, OUTLET_BYTES); // a refusal leaves 64 KiB
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	// Signals are for the control thread, but for the one that each thread must take.
	sigfillset(&all);
	sigdelset(&all, PRIVILEGES_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&s->thread, NULL, pass_on, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err == 0 && dup2(ends[1], fd) < 0)
		err = errno; // cannot happen: both are open
	close(ends[1]);
	return -err;
}

int outlet_open(void)
{
	struct sigaction sa = {.sa_handler = on_abort};

	fflush(stdout);
	for (unsigned i = 0; i < STREAMS; i++) {
		int err = stream_open(&streams[i], STDOUT_FILENO + (int)i);

		if (err != 0) {
			outlet_close();
			return err;
		}
		n_open = i + 1;
	}
	sigaction(SIGABRT, &sa, NULL);
	return 0;
}

void outlet_close(void)
{
	struct timespec end;

	fflush(stdout);
	fflush(stderr);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += OUTLET_LAST_MS * 1000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	for (; n_open > 0; n_open--) {
		const struct stream *s = &streams[n_open - 1];

		// Closes the last write end, so the thread ends behind the last byte.
		dup2(s->out, s->fd);
		if (pthread_timedjoin_np(s->thread, NULL, &end) == 0)
			close(s->in);
		else
			pthread_detach(s->thread); // waits for a reader; ends with the process
	}
}

static bool write_log_line(const char *line, size_t len)
{
	ssize_t n;

	do
		n = write(STDERR_FILENO, line, len); // whole or not: at most PIPE_BUF
	while (n < 0 && errno == EINTR);
	return n >= 0 || errno != EAGAIN;
}

void outlet_line(const char *line, size_t len)
{
	char text[128];

	if (unreported > 0) {
		int n = snprintf(text, sizeof(text),
				 "weir: standard error was not read: lines lost=%" PRIu64 "\n",
				 unreported);

		if (write_log_line(text, (size_t)n))
			unreported = 0;
	}
	if (write_log_line(line, len))
		return;
	lost++;
	unreported++;
}

uint64_t outlet_lost(void)
{
	return lost;
}
