// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/temporary.h"

// A message shortens a long path. The process enters the folder of the scenario, so that no message
// depends on $TMPDIR.
static int load(const char *root, const char *yaml, struct scenario **sc, struct diags *d)
{
	char path[PATH_MAX], *text;
	int n = asprintf(&text, "scenario: test\nduration: 1s\n%s%s%s%s",
			 strstr(yaml, "policy:") ? "" : "policy: ",
			 strstr(yaml, "policy:") ? "" : root,
			 strstr(yaml, "policy:") ? "" : "/conf/roce.yaml\n", yaml);

	assert_true(n > 0);
	temporary_file(path, "scenario.yaml", text);
	free(text);
	assert_int_equal(chdir(temporary_folder()), 0);
	return scenario_load("./scenario.yaml", NULL, 0, sc, d);
}

// What a test that failed has left behind: there is memory for one fabric at a time.
static struct {
	struct scenario *sc;
	struct fabric *f;
	struct traffic *t;
} standing;

static void clear_away(void)
{
	traffic_destroy(standing.t);
	fabric_destroy(standing.f);
	scenario_destroy(standing.sc);
	memset(&standing, 0, sizeof(standing));
}

static void print_all(const struct diags *d)
{
	for (unsigned i = 0; i < d->n; i++)
		print_message("%s\n", d->lines[i]);
}

// ---- listening to the NICs

__attribute__((format(printf, 2, 3))) static void note(struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->wire_len + 128 > w->wire_room) {
		w->wire_room = 2 * w->wire_room + 4096;
		w->wire = realloc(w->wire, w->wire_room);
	}
	va_start(ap, fmt);
	w->wire_len += (size_t)vsnprintf(w->wire + w->wire_len, 128, fmt, ap);
	va_end(ap);
}

static void on_done(void *arg, uint32_t host, const struct nic_done *d)
{
	struct world *w = arg;

	note(w, "%" PRIu64 " %s: %u B done\n", d->done_ns, w->sc->hosts[host].name, d->n_bytes);
	w->traffic.done(w->traffic.arg, host, d);
}

static void on_served(void *arg, uint32_t host, const struct nic_served *s)
{
	struct world *w = arg;

	note(w, "%" PRIu64 " %s: %u B came from %s\n", s->now_ns, w->sc->hosts[host].name,
	     s->n_bytes, w->sc->hosts[(s->src_ip.lo & 0xff) - 1].name);
	w->traffic.served(w->traffic.arg, host, s);
}

static void on_path(void *arg, const struct fabric_path *p)
{
	const struct world *w = arg;

	w->traffic.path(w->traffic.arg, p);
}

void world_create(struct world *w, const char *root, const char *yaml)
{
	const struct fabric_hooks hooks = {.done = on_done, .served = on_served, .path = on_path,
					    .arg = w};
	struct diag_sink s = {.file = "test"};
	int err;

	clear_away();
	*w = (struct world){0};
	note(w, "%s", "");
	err = load(root, yaml, &w->sc, &w->d);
	if (err == 0) {
		assert_int_equal(traffic_create(w->sc, &w->t), 0);
		traffic_hooks(w->t, &w->traffic);
		err = fabric_create(w->sc, &hooks, &w->f, &w->d);
	}
	if (err == 0)
		err = traffic_check(w->t, w->f, &s);
	diag_finish(&s, &w->d);
	print_all(&w->d);
	standing.sc = w->sc;
	standing.f = w->f;
	standing.t = w->t;
	assert_int_equal(err, 0);
	assert_int_equal(traffic_start(w->t, w->f), 0);
}

void world_run(struct world *w, uint64_t until_ns)
{
	assert_int_equal(fabric_run_until(w->f, until_ns), 0);
	assert_false(w->f->out_of_memory);
}

void world_destroy(struct world *w)
{
	char text[256];

	if (!fabric_balanced(w->f, text, sizeof(text)))
		fail_msg("%s", text);
	assert_false(w->f->first_loss.seen);
	clear_away();
	diags_fini(&w->d);
	free(w->wire);
}

char *world_mistakes(const char *root, const char *yaml)
{
	struct scenario *sc = NULL;
	struct fabric *f = NULL;
	struct traffic *t = NULL;
	struct fabric_hooks hooks;
	struct diags d = {0};
	struct diag_sink s = {.file = "test"};
	char *text = calloc(1, 1 << 16), *end = text;

	if (load(root, yaml, &sc, &d) == 0) {
		assert_int_equal(traffic_create(sc, &t), 0);
		traffic_hooks(t, &hooks);
		assert_int_equal(fabric_create(sc, &hooks, &f, &d), 0);
		if (traffic_check(t, f, &s) == 0)
			end += sprintf(end, "(runs)\n");
		diag_finish(&s, &d);
	}
	for (unsigned i = 0; i < d.n; i++) {
		// The name of the file says nothing here.
		const char *line = d.lines[i], *colon = strchr(line, ':');

		end += sprintf(end, "%s\n", strncmp(line, "./", 2) == 0 ? colon + 1 : line);
	}
	traffic_destroy(t);
	fabric_destroy(f);
	scenario_destroy(sc);
	diags_fini(&d);
	return text;
}

char *world_log(const struct world *w)
{
	uint64_t n = traffic_n_done(w->t);
	char *text = calloc(n + 1, 128), *end = text;

	for (uint64_t i = 0; i < n; i++) {
		const struct traffic_done *d = traffic_done(w->t, i);

		end += sprintf(end, "%s > %s %u B: posted %" PRIu64 ", done %" PRIu64 "\n",
			       w->sc->hosts[d->src].name, w->sc->hosts[d->dst].name, d->n_bytes,
			       d->posted_ns, d->done_ns);
	}
	return text;
}
