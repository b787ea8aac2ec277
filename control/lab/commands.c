// SPDX-License-Identifier: Apache-2.0
// The command line of weir-lab: commands and options, one row each, help, and the commands that
// run nothing: `list` of the bundled scenarios, and `completion`.
#include <getopt.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/base/opts.h"
#include "control/base/standard_fds.h"
#include "control/base/terminal.h"
#include "control/config/model.h"
#include "control/lab/expr.h"
#include "control/lab/lab.h"
#include "source_root.h"

static int list(const struct lab_args *a), complete(const struct lab_args *a);

const struct lab_command lab_commands[] = {
	{"run", "weir-lab run FILE... [options]", "run scenarios and check what they expect",
	 LAB_RUN, lab_run},
	{"check", "weir-lab check FILE... [--set KEY=VALUE] [--files]",
	 "load scenarios and their policies only", LAB_CHECK, lab_check},
	{"sweep", "weir-lab sweep FILE --vary KEY=A,B,C [options]",
	 "run a scenario with each of some values, several at a time", LAB_SWEEP, lab_python},
	{"tune", "weir-lab tune FILE... [options]",
	 "search the thresholds that are best for scenarios", LAB_TUNE, lab_python},
	{"fluid", "weir-lab fluid FILE [options]",
	 "DCQCN's fluid model of a scenario's busiest port, beside its packet run", LAB_FLUID,
	 lab_fluid},
	{"page", "weir-lab page [FILE]",
	 "print the page (docs/web.md) with data: JSON of a file or of standard input", LAB_PAGE,
	 lab_page},
	{"list", "weir-lab list [WORD]", "print the bundled scenarios, all or those with a word",
	 LAB_LIST, list},
	{"completion", "weir-lab completion bash",
	 "for your shell: source <(weir-lab completion bash)", LAB_COMPLETION, complete},
};
const size_t lab_n_commands = sizeof(lab_commands) / sizeof(lab_commands[0]);

const char lab_summary[] =
	"weir-lab runs whole lossless fabrics on a virtual clock: the dataplane and the\n"
	"policy files of weir, emulated NICs (RoCEv2, TCP) and wires. The same file and\n"
	"seed give the same bytes.\n";
const char lab_exit[] =
	"0 all expectations hold (tune: a point is allowed), 1 not so, or broken off, 2 misused";

__attribute__((format(printf, 2, 3))) static bool report_lab_misuse(const struct lab_command *c,
								    const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) >= 0)
		usage_printf("weir-lab %s: %s (try weir-lab %s --help)\n", c->name, text, c->name);
	va_end(ap);
	free(text);
	return false;
}

static bool take_set(const struct opt *row, char *text, void *args)
{
	struct lab_args *a = args;
	char *eq = strchr(text, '=');

	if (eq == NULL || eq == text)
		return report_lab_misuse(a->command, "--%s needs key=value, not %s", row->name,
					 text);
	*eq = '\0';
	a->sets[a->n_sets++] = (struct sc_set){text, eq + 1};
	return true;
}

static bool take_seed(const struct opt *row, char *text, void *args)
{
	struct lab_args *a = args;

	a->sets[a->n_sets++] = (struct sc_set){row->name, text};
	return true;
}

// Appends the text to a list of the arguments.
static bool take_text(const struct opt *row, char *text, void *args)
{
	struct lab_words *w = (void *)((char *)args + row->off);

	w->texts[w->n++] = text;
	return true;
}

static bool take_lab_number(const struct opt *row, char *text, void *args)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end != '\0' || end == text || n < (unsigned long)row->min ||
	    n > (unsigned long)row->max)
		return report_lab_misuse(((struct lab_args *)args)->command,
					 "--%s needs a number from %d to %d, not %s", row->name,
					 (int)row->min, (int)row->max, text);
	*(unsigned *)((char *)args + row->off) = (unsigned)n;
	return true;
}

#define AT(f) offsetof(struct lab_args, f)
static const struct opt options[] = {
	{"set", 0, "KEY=VALUE",
	 "change the scenario: a.b[2].c=value; policy.X changes the policy of all switches", 0,
	 take_set, LAB_RUN | LAB_CHECK | LAB_SWEEP | LAB_FLUID | LAB_TUNE},
	{"seed", 0, "N", "the seed, in place of the file's", 0, take_seed, LAB_RUN | LAB_SWEEP},
	{"vary", 0, "KEY=A,B,C",
	 "run with each of these values; several: all combinations. Of tune also KEY=LO..HI, with "
	 ":log and the number of values in the grid: kmin=5KB..400KB:log:4", AT(varies), take_text,
	 LAB_SWEEP | LAB_TUNE},
	{"objective", 0, "EXPR",
	 "minimise this; `max EXPR`: maximise (default: slowdown(p99, size < 100KB))",
	 AT(objective), .commands = LAB_TUNE},
	{"throughput", 0, "EXPR", "what must reach the floor (default: sum(goodput(h*)))",
	 AT(throughput), .commands = LAB_TUNE},
	{"floor", 0, "PERCENT", "least throughput, as a share of the best one (default: 95%)",
	 AT(floor), .commands = LAB_TUNE},
	{"pauses", 0, "EXPR",
	 "what must not rise above its value in the scenario as it is (default: xoffs)", AT(pauses),
	 .commands = LAB_TUNE},
	{"class", 0, "PROFILE.CLASS",
	 "whose curve kmin, kmax and pmax of --vary are (default: roce.3)", AT(queue),
	 .commands = LAB_TUNE},
	{"seeds", 0, "N", "run each point with the seeds 1 to N, and take means", AT(seeds),
	 take_lab_number, LAB_TUNE, .min = 1, .max = 64},
	{"rounds", 0, "N", "end after N rounds (default: 8)", AT(rounds), take_lab_number, LAB_TUNE,
	 .min = 1, .max = 64},
	{"metric", 0, "EXPR", "also report this, such as jain(rate(h*), 10ms, 20ms)", AT(metrics),
	 take_text, LAB_RUN | LAB_SWEEP},
	{"jobs", 0, "N", "processes at a time (default: one per processor)", AT(jobs),
	 take_lab_number, LAB_SWEEP | LAB_TUNE, .min = 1, .max = 1024},
	{"on", 0, "dask://HOST:PORT",
	 "run on the workers of this Dask scheduler, in place of this machine", AT(on),
	 .commands = LAB_SWEEP | LAB_TUNE},
	{"files", 0, NULL, "print the names of the files that the scenarios read", AT(list_files),
	 .commands = LAB_CHECK},
	{"page", 0, "FILE",
	 "write the page of the run there; where that fails, the run has not", AT(page),
	 .commands = LAB_RUN},
	{"out", 0, "DIR",
	 "write the report there: JSON, CSV, report.html; sweep and tune also keep each run "
	 "there, and tune writes policy.yaml", AT(out),
	 .commands = LAB_RUN | LAB_SWEEP | LAB_FLUID | LAB_TUNE},
	{"digits", 0, "N",
	 "digits of figures in tables, 4 to 15 (default: 4); counts keep all digits, JSON "
	 "and CSV have nine", AT(digits), take_lab_number, LAB_RUN | LAB_SWEEP,
	 .min = EXPR_DIGITS, .max = EXPR_MAX_DIGITS},
	{"senders", 0, "N",
	 "N endless flows into one port, in place of the scenario's flows and faults",
	 AT(senders), take_lab_number, LAB_FLUID, .min = 1, .max = 1024},
	{"json", 0, NULL, "report as JSON", AT(json),
	 .commands = LAB_RUN | LAB_SWEEP | LAB_FLUID | LAB_TUNE},
	{"quiet", 0, NULL, "no lines about progress, speed and the place of the report", AT(quiet),
	 .commands = LAB_RUN | LAB_SWEEP | LAB_TUNE},
	{"help", 0, NULL, "print this", AT(help),
	 .commands = LAB_NEEDS_FILE | LAB_COMPLETION | LAB_LIST | LAB_PAGE},
};

static void report_lab_option_error(const struct opts *o, enum opts_wrong what, const char *word,
				    const char *name)
{
	const struct lab_command *c = lab_commands;

	while (!(c->options & o->command))
		c++;
	if (what == OPTS_NO_VALUE)
		report_lab_misuse(c, "no value belongs to %s", word);
	else if (what == OPTS_VALUE_MISSING)
		report_lab_misuse(c, "a value is missing behind %s", word);
	else if (name == NULL)
		report_lab_misuse(c, "unknown option %.*s", (int)strcspn(word, "="), word);
	else
		usage_printf("weir-lab %s: unknown option %.*s: did you mean --%s?\n", c->name,
			     (int)strcspn(word, "="), word, name);
}

const struct opts lab_opts = {.program = "weir-lab", .rows = options,
			      .n = sizeof(options) / sizeof(options[0]),
			      .wrong = report_lab_option_error};

static struct opts opts_of(const struct lab_command *c)
{
	struct opts o = lab_opts;

	o.command = c->options;
	return o;
}

static void *room(int n, size_t size)
{
	void *p = calloc((size_t)n + 1, size);

	if (p == NULL) {
		fputs("weir-lab: out of memory\n", stderr);
		abort();
	}
	return p;
}

static bool parse_args(const struct lab_command *c, int argc, char **argv, struct lab_args *out)
{
	const struct opts o = opts_of(c);

	*out = (struct lab_args){.command = c, .digits = EXPR_DIGITS,
				 .files = room(argc, sizeof(char *)),
				 .sets = room(argc, sizeof(struct sc_set)),
				 .varies.texts = room(argc, sizeof(char *)),
				 .metrics.texts = room(argc, sizeof(char *))};
	if (opts_parse(&o, argc, argv, out) == OPTS_WRONG)
		return false;
	while (optind < argc)
		out->files[out->n_files++] = argv[optind++];
	return out->help || out->n_files != 0 || !(c->options & LAB_NEEDS_FILE) ||
	       report_lab_misuse(c, "no scenario file is named");
}

// ---- the bundled scenarios
enum { LIST_COLUMNS = 80, MAX_SCENARIOS = 1024 };

struct bundle {
	struct arena arena;
	const char *names[MAX_SCENARIOS];
	unsigned n;
};

// `installed` beside the folder of this program, or `source` where that is not there.
static const char *beside(const char *installed, const char *source)
{
	static char path[PATH_MAX + 64];
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL)
		return source;
	strcpy(slash, installed);
	return access(path, R_OK) == 0 ? path : source;
}

const char *bundle_dir(void)
{
	return beside("/../share/weir/conf/lab", SOURCE_ROOT "/conf/lab");
}

const char *bundle_python(const char *command)
{
	return strcmp(command, "tune") == 0 ? beside("/../share/weir/lab/tune.py",
						     SOURCE_ROOT "/control/lab/tune.py")
					    : beside("/../share/weir/lab/sweep.py",
						     SOURCE_ROOT "/control/lab/sweep.py");
}

static void read_names(struct bundle *b)
{
	char *pattern = arena_printf(&b->arena, "%s/*.yaml", bundle_dir());
	glob_t found;

	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc && b->n < MAX_SCENARIOS; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;

		b->names[b->n++] = arena_text(&b->arena, name, strlen(name) - strlen(".yaml"));
	}
	globfree(&found);
}

static const char *bundle_name_at(const void *bundle, unsigned i)
{
	return ((const struct bundle *)bundle)->names[i];
}

static char *bundled_path_of(struct arena *a, const char *name)
{
	return arena_printf(a, "%s/%s.yaml", bundle_dir(), name);
}

// ---- a scenario by its name

static bool bundle_resolve(struct lab_args *a)
{
	for (unsigned i = 0; i < a->n_files; i++) {
		const char *name = a->files[i];
		char *path;

		// A name with a dot or a slash is a file's.
		if (strpbrk(name, "./") != NULL || access(name, F_OK) == 0)
			continue;
		path = bundled_path_of(&a->arena, name);
		if (access(path, R_OK) != 0) {
			struct bundle b = {0};
			const char *near;

			read_names(&b);
			near = schema_closest(name, b.n, bundle_name_at, &b);
			if (near != NULL)
				usage_printf("weir-lab: there is no file and no scenario %s: did "
					     "you mean %s?\n",
					     name, near);
			else
				usage_printf("weir-lab: there is no file and no scenario %s; "
					     "weir-lab list prints the scenarios\n",
					     name);
			arena_fini(&b.arena);
			return false;
		}
		a->files[i] = path;
	}
	return true;
}

// ---- the list

// The title of a scenario. Without a title: the first sentence of its description.
static const char *summary(struct arena *a, const char *name)
{
	const char *path = bundled_path_of(a, name), *title = NULL, *description = "";
	struct diag_sink sink = {.file = path, .document = "scenario"};
	struct diags ignored = {0};
	const struct node *child;
	struct node *root;
	char *text, *end;
	size_t len;

	if (config_read_file(path, &text, &len) != 0)
		return "";
	root = node_parse(a, text, len, &sink);
	if (root != NULL)
		(void)params_apply(a, &sink, root);
	for (child = root != NULL ? root->first : NULL; child != NULL; child = child->next) {
		if (strcmp(child->key->text, "title") == 0 && child->text != NULL)
			title = arena_text(a, child->text, strlen(child->text));
		if (strcmp(child->key->text, "description") == 0 && child->text != NULL)
			description = arena_text(a, child->text, strlen(child->text));
	}
	free(text);
	diag_finish(&sink, &ignored);
	diags_fini(&ignored);
	if (title != NULL)
		return title;
	end = strstr(description, ". ");
	return end == NULL ? description
			   : arena_text(a, description, (size_t)(end + 1 - description));
}

static int list(const struct lab_args *a)
{
	const char *word = a->n_files > 0 ? a->files[0] : "";
	struct bundle b = {0};
	size_t width = 0, room;
	unsigned n_shown = 0;

	if (a->n_files > 1) {
		fputs("usage: weir-lab list [WORD]\n", stderr);
		return LAB_MISUSED;
	}
	read_names(&b);
	for (unsigned i = 0; i < b.n; i++)
		if (strlen(b.names[i]) > width)
			width = strlen(b.names[i]);
	room = LIST_COLUMNS - 2 - width;
	for (unsigned i = 0; i < b.n; i++) {
		const char *text = summary(&b.arena, b.names[i]);
		size_t len = strcspn(text, "\n");
		bool cut = len > room;

		if (strcasestr(b.names[i], word) == NULL && strcasestr(text, word) == NULL)
			continue;
		// A long text is cut between two words.
		for (len = cut ? room - strlen(" ...") : len; cut && len > 0 && text[len] != ' ';)
			len--;
		terminal_printf(stdout, "%-*s  %.*s%s\n", (int)width, b.names[i], (int)len, text,
				cut ? " ..." : "");
		n_shown++;
	}
	arena_fini(&b.arena);
	if (n_shown > 0)
		return LAB_DONE;
	usage_printf("weir-lab: no scenario of %s has \"%s\" in its name or title\n", bundle_dir(),
		     word);
	return LAB_FAILED;
}

// ---- completion
static bool lab_command_at(unsigned i, struct completion_command *out)
{
	if (i < lab_n_commands)
		*out = (struct completion_command){lab_commands[i].name, lab_commands[i].usage,
						   lab_commands[i].options};
	else
		*out = (struct completion_command){"help", "help functions", 0};
	return i <= lab_n_commands;
}

static int complete(const struct lab_args *a)
{
	const struct completion c = {&lab_opts, "", "--help --version", lab_command_at};

	if (a->n_files != 1 || strcmp(a->files[0], "bash") != 0) {
		fputs("usage: weir-lab completion bash\n", stderr);
		return LAB_MISUSED;
	}
	completion_script(&c, stdout);
	return LAB_DONE;
}

// ---- help and dispatch
enum { OPTION_COLUMN = 21, COMMAND_COLUMN = 36 };

static void print_exit(FILE *out)
{
	char text[128];

	snprintf(text, sizeof(text), "%s.", lab_exit);
	print_term(out, "Exit:", text, (int)strlen("Exit: "));
}

static void print_lab_help(FILE *out)
{
	fputs(lab_summary, out);
	fputc('\n', out);
	for (size_t i = 0; i < lab_n_commands; i++) {
		char term[64];

		snprintf(term, sizeof(term), "  %s", lab_commands[i].usage);
		print_term(out, term, lab_commands[i].help, COMMAND_COLUMN);
	}
	fputs("\nweir-lab COMMAND --help names the options, weir-lab help functions what can be\n"
	      "expected and recorded.\n", out);
	print_exit(out);
}

static void print_command(const struct lab_command *c, FILE *out)
{
	const struct opts o = opts_of(c);

	fprintf(out, "usage: %s\n%s\n\n", c->usage, c->help);
	opts_help(&o, OPTION_COLUMN, out);
	fputc('\n', out);
	print_exit(out);
}

static const char *lab_command_name_at(const void *unused, unsigned i)
{
	(void)unused;
	return lab_commands[i].name;
}

int lab_main(int argc, char **argv, const char *version)
{
	bool help = argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0);
	const char *word = argc < 2 + help ? NULL : argv[1 + help];
	const struct lab_command *c = NULL;
	struct lab_args a;
	int code;

	for (size_t i = 0; word != NULL && i < lab_n_commands; i++)
		if (strcmp(lab_commands[i].name, word) == 0)
			c = &lab_commands[i];
	standard_fds_open();
	if (argc == 3 && strcmp(argv[1], "help") == 0 && strcmp(argv[2], "functions") == 0) {
		expr_func_help(stdout);
		return lab_finish(LAB_DONE);
	}
	if (help && (word == NULL || c != NULL)) {
		if (c != NULL) // `help run` as `run --help`
			print_command(c, stdout);
		else
			print_lab_help(stdout);
		return lab_finish(LAB_DONE);
	}
	if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
		printf("weir-lab %s\n", version);
		return lab_finish(LAB_DONE);
	}
	if (c == NULL) {
		const char *near = word == NULL ? NULL
						: schema_closest(word, (unsigned)lab_n_commands,
								 lab_command_name_at, NULL);

		if (word == NULL)
			fputs("usage: weir-lab COMMAND\n", stderr);
		else
			usage_printf("weir-lab: no command \"%s\"%s%s%s\n", word,
				     near != NULL ? ": did you mean " : "",
				     near != NULL ? near : "", near != NULL ? "?" : "");
		fputs("Try `weir-lab --help`.\n", stderr);
		return LAB_MISUSED;
	}
	if (!parse_args(c, argc - 1, argv + 1, &a)) {
		code = LAB_MISUSED;
	} else if (a.help) {
		print_command(c, stdout);
		code = LAB_DONE;
	} else if ((c->options & LAB_NEEDS_FILE) && !bundle_resolve(&a)) {
		code = LAB_MISUSED;
	} else {
		code = c->run(&a);
	}
	free(a.files);
	free(a.sets);
	free(a.varies.texts);
	free(a.metrics.texts);
	arena_fini(&a.arena);
	return lab_finish(code);
}
