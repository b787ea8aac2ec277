// SPDX-License-Identifier: Apache-2.0
// The live screen: storms, ports, busy queues, pauses and drops, again and again. On a terminal it
// uses the alternate screen and gives the old one back; elsewhere it prints one block per update.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/ctl/client.h"
#include "control/ctl/ctl.h"
#include "control/ctl/show.h"
#include "control/ctl/show_storms.h"

static volatile sig_atomic_t stopped; // written by the handler only

static void on_stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static int print_block(struct client *cl, FILE *out, const char *port, bool screen)
{
	static const char *const parts[] = {"watchdog", "ports", "queues", "pfc", "drops"};
	const struct show_wish wish = {.all = port != NULL};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct json_object *req = request_of("show", "what", parts[i]);
		struct json_object *data;

		if (port != NULL)
			json_object_object_add(req, "port", json_object_new_string(port));
		data = client_ask(cl, req);
		if (data == NULL)
			return CTL_FAILED;
		if (strcmp(parts[i], "watchdog") == 0) {
			print_alarms(out, data, screen);
		} else {
			show_tables(out, parts[i], data, &wish);
			fputc('\n', out);
		}
		json_object_put(data);
	}
	return CTL_DONE;
}

static void rest(double s)
{
	struct timespec t = {.tv_sec = (time_t)s};

	t.tv_nsec = (long)((s - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL); // a signal ends it, and the watch with it
}

static int watch_loop(const struct ctl *c, struct client *cl, const char *port, bool screen)
{
	for (unsigned n = 0; !stopped; n++) {
		char *text = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&text, &len);
		int status;

		if (out == NULL)
			return CTL_FAILED;
		status = print_block(cl, out, port, screen);
		fclose(out);
		if (status == CTL_DONE && !stopped) {
			// Home, then clear what is below: no flicker between two updates.
			printf("%s%s", screen ? "\033[H\033[J" : "", text);
			fflush(stdout);
		}
		free(text);
		if (status != CTL_DONE)
			return status;
		if (c->count != 0 && n + 1 == c->count)
			break;
		rest(c->interval_s);
	}
	return CTL_DONE;
}

int cmd_watch(const struct ctl *c, int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_stop};
	bool screen = isatty(STDOUT_FILENO);
	struct client cl;
	int status;

	if (argc > 1)
		return misused("watch takes one port at most");
	if (client_open(c->name, &cl) != 0)
		return CTL_FAILED;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (screen)
		fputs("\033[?1049h\033[?25l", stdout);
	status = watch_loop(c, &cl, argc > 0 ? argv[0] : NULL, screen);
	if (screen)
		fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	client_close(&cl);
	return status;
}
