// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/schedule_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lab/bench.h"

static void all_schedules(void **state)
{
	struct schedule_program *p = *state;

	for (uint64_t seed = p->from; seed <= p->to; seed++) {
		p->running_seed = seed;
		p->run(p, seed);
	}
	p->running_seed = 0;
	p->finish(p);
}

static int say_how_to_replay(void **state)
{
	const struct schedule_program *p = *state;
	char workers[32] = "";

	if (p->n_workers != 0)
		snprintf(workers, sizeof(workers), " --workers %u", p->n_workers);
	if (p->running_seed != 0)
		print_error("replay: %s %lu --events %u%s\n", p->name, p->running_seed,
			    p->n_events, workers);
	return 0;
}

static int run_group(struct schedule_program *p)
{
	const struct CMUnitTest tests[] = {
		{p->claim, all_schedules, NULL, say_how_to_replay, p},
	};

	return cmocka_run_group_tests_name(p->name, tests, p->setup != NULL ? p->setup : bench_eal,
					   NULL);
}

// In a process of its own, silently: a failed schedule leaves its switch behind.
static bool passes(struct schedule_program *p, unsigned n_events)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		p->n_events = n_events;
		if (freopen("/dev/null", "w", stdout) == NULL ||
		    freopen("/dev/null", "w", stderr) == NULL)
			_exit(2);
		_exit(run_group(p) == 0 ? 0 : 1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

// The smallest number of events with which the seed fails, where one less passes.
static int bisect(struct schedule_program *p)
{
	unsigned good = 0, bad = p->n_events;

	p->to = p->from;
	if (passes(p, bad)) {
		printf("seed %lu passes with %u events\n", p->from, bad);
		return 0;
	}
	while (bad - good > 1) {
		unsigned middle = good + (bad - good) / 2;

		if (passes(p, middle))
			good = middle;
		else
			bad = middle;
	}
	p->n_events = bad;
	printf("seed %lu fails from event %u on:\n", p->from, bad);
	fflush(stdout);
	return run_group(p) == 0 ? 0 : 1;
}

static bool parse_seeds(struct schedule_program *p, const char *arg)
{
	char *end;

	p->from = p->to = strtoull(arg, &end, 10);
	if (*end == '-')
		p->to = strtoull(end + 1, &end, 10);
	return end != arg && *end == '\0' && p->from > 0 && p->from <= p->to;
}

static bool parse_args(struct schedule_program *p, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--bisect") == 0)
			p->bisect = true;
		else if (strcmp(argv[i], "--seeds") == 0 && parse_seeds(p, value))
			i++;
		else if (strcmp(argv[i], "--events") == 0 && atoi(value) > 0 && ++i)
			p->n_events = (unsigned)atoi(value);
		else if (strcmp(argv[i], "--workers") == 0 && atoi(value) > 0 && ++i)
			p->n_workers = (unsigned)atoi(value);
		else if (!parse_seeds(p, argv[i]))
			return false;
	}
	return true;
}

int schedule_main(struct schedule_program *p, int argc, char **argv)
{
	uint64_t n_seeds = p->to - p->from + 1;
	unsigned n_events = p->n_events;

	if (!parse_args(p, argc, argv)) {
		fprintf(stderr, "usage: %s [SEED | --seeds FROM-TO] [--events N] [--workers N] "
				"[--bisect]\n", p->name);
		return 2;
	}
	p->as_in_the_suite = p->to - p->from + 1 >= n_seeds && p->n_events >= n_events;
	return p->bisect ? bisect(p) : run_group(p);
}
