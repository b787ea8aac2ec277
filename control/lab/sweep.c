// SPDX-License-Identifier: Apache-2.0
#include "control/lab/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/config/terminal.h"
#include "control/lab/expr.h"
#include "control/lab/report_file.h"

enum { MAX_VARIES = 8, MAX_VALUES = 256, MAX_POINTS = 4096, EXEC_FAILED = 127 };

// ---- what is varied

// The end of a value: a comma that stands in no bracket and no quotes.
static const char *value_end(const char *s)
{
	char quote = 0;
	int depth = 0;

	for (; *s != '\0' && (quote != 0 || depth > 0 || *s != ','); s++) {
		if (quote != 0)
			quote = *s == quote ? 0 : quote;
		else if (*s == '"' || *s == '\'')
			quote = *s;
		else if (strchr("[{(", *s) != NULL)
			depth++;
		else if (strchr("]})", *s) != NULL)
			depth--;
	}
	return s;
}

bool sweep_parse_vary(struct arena *a, const char *text, struct sweep_vary *out)
{
	const char *eq = strchr(text, '='), *s, *end;

	*out = (struct sweep_vary){.values = arena_alloc(a, MAX_VALUES * sizeof(char *))};
	if (eq == NULL || eq == text || eq[1] == '\0') {
		usage_printf("weir-lab sweep: --vary needs key=a,b,c, not %s\n", text);
		return false;
	}
	out->key = arena_text(a, text, (size_t)(eq - text));
	for (s = eq + 1;; s = end + 1) {
		end = value_end(s);
		if (end == s || out->n == MAX_VALUES) {
			usage_printf("weir-lab sweep: --vary %s: %s\n", out->key,
				     end == s ? "a value is empty" : "too many values");
			return false;
		}
		out->values[out->n++] = arena_text(a, s, (size_t)(end - s));
		if (*end == '\0')
			return true;
	}
}

// The last dimension changes fastest.
uint32_t sweep_index(const struct sweep *s, uint32_t point, uint32_t d)
{
	for (uint32_t i = s->n_varies - 1; i > d; i--)
		point /= s->varies[i].n;
	return point % s->varies[d].n;
}

bool sweep_quantity(const char *text, double *v, enum expr_unit *unit)
{
	const char *why, *end = expr_number(text, v, unit, &why);

	return end != NULL && *end == '\0';
}

static bool take_varies(struct sweep *s)
{
	const struct lab_args *a = s->args;

	if (a->n_varies == 0 || a->n_varies > MAX_VARIES || a->n_files != 1) {
		usage_printf(
			"weir-lab sweep: needs one scenario and 1 to %d times --vary key=a,b,c\n",
			MAX_VARIES);
		return false;
	}
	s->varies = arena_alloc(s->arena, a->n_varies * sizeof(*s->varies));
	s->n_points = 1;
	for (; s->n_varies < a->n_varies; s->n_varies++) {
		struct sweep_vary *v = &s->varies[s->n_varies];

		if (!sweep_parse_vary(s->arena, a->varies[s->n_varies], v))
			return false;
		s->n_points *= v->n;
		if (s->n_points > MAX_POINTS) {
			usage_printf("weir-lab sweep: more than %d combinations\n", MAX_POINTS);
			return false;
		}
	}
	s->points = arena_alloc(s->arena, s->n_points * sizeof(*s->points));
	return true;
}

// ---- what a run says

static const char *text_of(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : "";
}

static void take_values(struct sweep *s, struct sweep_point *p, struct json_object *list,
			const char *name_key)
{
	size_t n = list == NULL ? 0 : json_object_array_length(list);
	struct sweep_value *more = arena_alloc(s->arena, (p->n_values + n + 1) * sizeof(*more));

	if (p->n_values != 0)
		memcpy(more, p->values, p->n_values * sizeof(*more));
	p->values = more;
	for (size_t i = 0; i < n; i++) {
		struct json_object *row = json_object_array_get_idx(list, i), *v = NULL;
		struct sweep_value *to = &p->values[p->n_values++];
		// As the file has it, with the params that the runs differ in.
		const char *written = text_of(row, "written"), *unit = text_of(row, "unit"),
			   *measured, *name = *written != '\0' ? written : text_of(row, name_key);

		measured = text_of(row, "measured");
		to->text = strstr(measured, " to ") != NULL
				   ? "" // of a list: the one value that decides is shown
				   : arena_text(s->arena, measured, strlen(measured));
		json_object_object_get_ex(row, "value", &v);
		to->name = arena_text(s->arena, name, strlen(name));
		to->unit = arena_text(s->arena, unit, strlen(unit));
		to->value = v == NULL ? __builtin_nan("") : json_object_get_double(v);
		to->judged = json_object_object_get_ex(row, "passed", &v);
		to->passed = to->judged && json_object_get_boolean(v);
	}
}

void sweep_take(struct sweep *s, struct sweep_point *p, const char *json)
{
	struct json_object *o = json_tokener_parse(json), *v = NULL;

	if (o == NULL)
		return;
	if (json_object_object_get_ex(o, "passed", &v))
		p->passed = json_object_get_boolean(v);
	if (json_object_object_get_ex(o, "expectations", &v))
		take_values(s, p, v, "expectation");
	if (json_object_object_get_ex(o, "metrics", &v))
		take_values(s, p, v, "metric");
	json_object_put(o);
}

// ---- processes

struct child {
	pid_t pid; // 0: none
	uint32_t point;
	FILE *out, *err;
};

struct crowd {
	struct sweep *s;
	struct child *children;
	uint32_t n_children, next, done, failed;
	sigset_t signals, before;
	bool stopped, shown;
};

static char *whole_text(struct arena *a, FILE *f)
{
	long len;
	char *text;

	if (fseek(f, 0, SEEK_END) != 0 || (len = ftell(f)) < 0)
		len = 0;
	rewind(f);
	text = arena_alloc(a, (size_t)len + 1);
	text[fread(text, 1, (size_t)len, f)] = '\0';
	return text;
}

// weir-lab run FILE --json --quiet --set ... --metric ...
static char **command(struct sweep *s, uint32_t point)
{
	const struct lab_args *a = s->args;
	size_t n = 0, most = 9 + 2 * ((size_t)a->n_sets + a->n_metrics + s->n_varies);
	char **argv = arena_alloc(s->arena, most * sizeof(*argv));

	argv[n++] = arena_printf(s->arena, "weir-lab");
	argv[n++] = arena_printf(s->arena, "run");
	argv[n++] = arena_printf(s->arena, "--json");
	argv[n++] = arena_printf(s->arena, "--quiet");
	argv[n++] = arena_printf(s->arena, "--digits=%u", a->digits);
	for (unsigned i = 0; i < a->n_sets; i++)
		argv[n++] =
			arena_printf(s->arena, "--set=%s=%s", a->sets[i].path, a->sets[i].value);
	for (uint32_t d = 0; d < s->n_varies; d++)
		argv[n++] = arena_printf(s->arena, "--set=%s=%s", s->varies[d].key,
					 s->varies[d].values[sweep_index(s, point, d)]);
	for (unsigned i = 0; i < a->n_metrics; i++)
		argv[n++] = arena_printf(s->arena, "--metric=%s", a->metrics[i]);
	argv[n++] = arena_printf(s->arena, "%s", a->files[0]);
	return argv;
}

__attribute__((noreturn)) static void become(const struct crowd *c, const struct child *ch,
					     char **argv)
{
	// A sweep that is killed leaves nobody behind.
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigprocmask(SIG_SETMASK, &c->before, NULL);
	if (dup2(fileno(ch->out), STDOUT_FILENO) >= 0 && dup2(fileno(ch->err), STDERR_FILENO) >= 0)
		execv("/proc/self/exe", argv);
	_exit(EXEC_FAILED);
}

static bool start(struct crowd *c, struct child *ch)
{
	char **argv = command(c->s, c->next);

	*ch = (struct child){.point = c->next, .out = tmpfile(), .err = tmpfile()};
	if (ch->out == NULL || ch->err == NULL)
		return false;
	fflush(NULL);
	ch->pid = fork();
	if (ch->pid == 0)
		become(c, ch, argv);
	if (ch->pid < 0)
		return false;
	c->s->points[c->next++].state = SWEEP_RUNS;
	return true;
}

// The lines of standard error that say why a run did not start. Warnings do not.
static const char *reason_of(struct arena *a, const char *err, int status)
{
	const char *text = "";

	while (*err != '\0') {
		size_t len = strcspn(err, "\n");
		const char *line = arena_text(a, err, len);

		if (len != 0 && strstr(line, ": warning: ") == NULL)
			text = arena_printf(a, "%s%s%s", text, *text == '\0' ? "" : "\n", line);
		err += len + (err[len] != '\0');
	}
	if (*text != '\0')
		return text;
	if (WIFSIGNALED(status))
		return arena_printf(a, "ended by signal %d (%s)", WTERMSIG(status),
				    strsignal(WTERMSIG(status)));
	return arena_printf(a, "ended with code %d", WEXITSTATUS(status));
}

static void end(struct crowd *c, struct child *ch, int status)
{
	struct sweep_point *p = &c->s->points[ch->point];

	p->state = SWEEP_DONE;
	p->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	sweep_take(c->s, p, whole_text(c->s->arena, ch->out));
	if (p->n_values == 0 && p->code != LAB_DONE)
		p->error = reason_of(c->s->arena, whole_text(c->s->arena, ch->err), status);
	fclose(ch->out);
	fclose(ch->err);
	ch->pid = 0;
	c->done++;
	c->failed += p->code != LAB_DONE;
}

static void show(struct crowd *c)
{
	if (c->s->args->quiet || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\rsweep: %u of %u runs done, %u failed \033[K", c->done, c->s->n_points,
		c->failed);
	fflush(stderr);
	c->shown = true;
}

static void reap(struct crowd *c)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (uint32_t i = 0; i < c->n_children; i++)
			if (c->children[i].pid == pid)
				end(c, &c->children[i], status);
}

static uint32_t running(const struct crowd *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n_children; i++)
		n += c->children[i].pid > 0;
	return n;
}

static bool fill(struct crowd *c)
{
	for (uint32_t i = 0; i < c->n_children && c->next < c->s->n_points && !c->stopped; i++)
		if (c->children[i].pid <= 0 && !start(c, &c->children[i]))
			return false;
	return true;
}

// Signals are waited for, not caught: none can come between a look and the wait.
static bool wait_one(struct crowd *c)
{
	int sig = sigwaitinfo(&c->signals, NULL);

	if (sig == SIGINT || sig == SIGTERM) {
		c->stopped = true;
		for (uint32_t i = 0; i < c->n_children; i++)
			if (c->children[i].pid > 0)
				kill(c->children[i].pid, SIGTERM);
	}
	reap(c);
	return sig >= 0 || errno == EINTR;
}

static bool run_all(struct sweep *s, bool *stopped)
{
	struct crowd c = {.s = s};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	bool ok = true;

	c.n_children = s->args->jobs != 0 ? s->args->jobs : cores > 0 ? (uint32_t)cores : 1;
	c.children = arena_alloc(s->arena, c.n_children * sizeof(*c.children));
	sigemptyset(&c.signals);
	sigaddset(&c.signals, SIGINT);
	sigaddset(&c.signals, SIGTERM);
	sigaddset(&c.signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &c.signals, &c.before);
	do {
		ok = ok && fill(&c);
		show(&c);
	} while (running(&c) != 0 && wait_one(&c));
	sigprocmask(SIG_SETMASK, &c.before, NULL);
	if (c.shown)
		fputs("\r\033[K", stderr);
	if (!ok)
		fprintf(stderr, "weir-lab sweep: cannot start a process: %s\n", strerror(errno));
	*stopped = c.stopped;
	return ok;
}

static void number_reasons(struct sweep *s)
{
	s->reasons = arena_alloc(s->arena, s->n_points * sizeof(*s->reasons));
	for (uint32_t i = 0; i < s->n_points; i++) {
		struct sweep_point *p = &s->points[i];
		uint32_t k = 0;

		if (p->error == NULL)
			continue;
		while (k < s->n_reasons && strcmp(s->reasons[k], p->error) != 0)
			k++;
		if (k == s->n_reasons)
			s->reasons[s->n_reasons++] = p->error;
		p->reason = k + 1;
	}
}

// ---- the command

static int verdict(const struct sweep *s)
{
	uint32_t misused = 0, passed = 0;

	for (uint32_t i = 0; i < s->n_points; i++) {
		misused += s->points[i].code == LAB_MISUSED;
		passed += s->points[i].state == SWEEP_DONE && s->points[i].code == LAB_DONE;
	}
	if (misused == s->n_points)
		return LAB_MISUSED;
	return passed == s->n_points ? LAB_DONE : LAB_FAILED;
}

int lab_sweep(const struct lab_args *a)
{
	struct arena arena = {0};
	struct sweep s = {.args = a, .arena = &arena};
	bool stopped = false;
	int code = LAB_MISUSED, err = 0;

	if (take_varies(&s) && lab_can_write(a->out)) {
		code = run_all(&s, &stopped) ? verdict(&s) : LAB_FAILED;
		number_reasons(&s);
		if (a->json)
			sweep_json(&s, stdout);
		else
			sweep_table(&s, stdout);
		if (stopped)
			fputs("weir-lab sweep: stopped; what had ended is above\n", stderr);
		if (a->out != NULL)
			err = sweep_files(&s, a->out);
		if (err != 0)
			fprintf(stderr, "weir-lab sweep: %s: cannot write the results: %s\n",
				a->out, strerror(-err));
		else if (a->out != NULL && !a->quiet)
			report_say(a->out, "sweep.html");
	}
	arena_fini(&arena);
	return err != 0 ? LAB_FAILED : code;
}
