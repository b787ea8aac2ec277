// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/signals.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/daemon/daemon_impl.h"
#include "control/daemon/outlet.h"
#include "control/stop.h"

enum { STOPS_MAX = 2 };

static volatile sig_atomic_t hup; // set by the handler, reset by the loop
// Written by the control thread. A path is complete before the number says so.
static volatile sig_atomic_t ready, n_files;
static char files[SIGNALS_FILES][SIGNALS_PATH_LEN];

// Calls nothing but system calls: a handler runs in the middle of anything.
static void end_now(int status)
{
	static const char early[] = "weir: told to stop before it was ready\n";

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

void signals_install(void)
{
	struct sigaction sa = {.sa_handler = on_hup};

	stop_catch(0, on_stop);
	sigaction(SIGHUP, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
}

void signals_remove_at_end(const char *path)
{
	if (n_files == SIGNALS_FILES || strlen(path) >= SIGNALS_PATH_LEN)
		return;
	strcpy(files[n_files], path);
	n_files = n_files + 1;
}

void signals_forget_files(void)
{
	n_files = 0;
}

void signals_ready(void)
{
	ready = 1;
}

bool signals_take_hup(void)
{
	if (!hup)
		return false;
	hup = 0;
	return true;
}
