// SPDX-License-Identifier: Apache-2.0
// `weirctl import sonic` and `weirctl export sonic`: files in, a file out. control/sonic decides.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/node.h"
#include "control/base/terminal.h"
#include "control/config/model.h"
#include "control/ctl/ctl.h"
#include "control/sonic/export.h"
#include "control/sonic/import.h"
#include "control/sonic/pg_lookup.h"

static const char sonic[] = "sonic"; // the only kind of file

// False with a message. "-": standard input.
static bool read_file(const char *path, char **text, size_t *len)
{
	struct diags d = {0};
	int err = config_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, text, len, &d);

	diags_print(&d);
	diags_fini(&d);
	if (err == 0 && *len > NODE_MAX_BYTES) {
		terminal_printf(stderr, "%s: the file is larger than %d MiB\n", path,
				NODE_MAX_BYTES >> 20);
		return false;
	}
	return err == 0;
}

// A line of the file begins with a key of a policy, as no line of a SONiC configuration does.
static bool is_policy(const char *text)
{
	static const char *const keys[] = {"ports:", "profiles:", "switch:"};

	for (const char *line = text; line != NULL;
	     line = strchr(line, '\n'), line += line != NULL)
		for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (strncmp(line, keys[i], strlen(keys[i])) == 0)
				return true;
	return false;
}

static int read_tables(struct sonic_config *c, char **paths, int n, struct sonic_report *r)
{
	int status = CTL_DONE;

	for (int i = 0; i < n; i++) {
		char *text = NULL;
		size_t len = 0;

		if (!read_file(paths[i], &text, &len)) {
			status = CTL_MISUSED;
		} else if (is_policy(text)) {
			sonic_say(r, SONIC_ERROR, NULL, NULL, NULL,
				  "%s is a policy: `weirctl export sonic %s` makes a SONiC "
				  "configuration of it", paths[i], paths[i]);
			status = CTL_MISUSED;
		} else if (sonic_read_json(c, paths[i], text, len, r) != 0) {
			status = CTL_MISUSED;
		}
		free(text);
	}
	return status;
}

static int read_lookup(struct pg_lookup *l, const char *path, struct sonic_report *r)
{
	char *text = NULL;
	size_t len = 0;
	bool ok = path == NULL || (read_file(path, &text, &len) &&
				   pg_lookup_read(l, path, text, len, r) == 0);

	free(text);
	return ok ? CTL_DONE : CTL_MISUSED;
}

// Writes the whole result, to --output or to standard output.
static int write_result(const struct ctl *c, const char *text, size_t len)
{
	FILE *out = c->output != NULL ? fopen(c->output, "we") : stdout;
	bool ok = out != NULL && fwrite(text, 1, len, out) == len && fflush(out) == 0;

	if (!ok)
		terminal_printf(stderr, "weirctl: cannot write %s: %s\n",
				c->output != NULL ? c->output : "standard output", strerror(errno));
	if (out != NULL && out != stdout && fclose(out) != 0 && ok) {
		terminal_printf(stderr, "weirctl: cannot write %s: %s\n", c->output,
				strerror(errno));
		ok = false;
	}
	return ok ? CTL_DONE : CTL_FAILED;
}

static bool is_sonic(const struct ctl *c, const char *word)
{
	if (strcmp(word, sonic) == 0)
		return true;
	misused("%s knows sonic, not \"%s\"", c->command->name, word);
	return false;
}

int cmd_import(const struct ctl *c, int argc, char **argv)
{
	struct sonic_config tables = {0};
	struct sonic_report report = {0};
	struct pg_lookup lookup = {0};
	const struct sonic_import_options o = {
		.ports = c->ports,
		.lookup = c->pg_lookup != NULL ? &lookup : NULL,
		.partial = c->partial,
	};
	char *text = NULL;
	size_t len = 0;
	FILE *out;
	int status;

	if (!is_sonic(c, argv[0]))
		return CTL_MISUSED;
	out = allocated(open_memstream(&text, &len));
	status = read_tables(&tables, argv + 1, argc - 1, &report);
	if (read_lookup(&lookup, c->pg_lookup, &report) != CTL_DONE)
		status = CTL_MISUSED;
	// Also after a mistake, so that all mistakes come in one pass.
	if (tables.n > 0 && sonic_import(&tables, &o, &report, out) != 0)
		status = CTL_MISUSED;
	fclose(out);
	sonic_report_print(&report, stderr);
	if (report.refused && !c->partial)
		terminal_printf(stderr, "weirctl: --partial leaves out what is refused\n");
	if (status == CTL_DONE)
		status = write_result(c, text, len);
	free(text);
	pg_lookup_fini(&lookup);
	sonic_report_fini(&report);
	sonic_config_fini(&tables);
	return status;
}

int cmd_export(const struct ctl *c, int argc, char **argv)
{
	struct sonic_config tables = {0};
	struct sonic_report report = {0};
	char *policy = NULL, *text = NULL;
	size_t policy_len = 0, len = 0;
	int status = CTL_MISUSED;

	(void)argc;
	if (!is_sonic(c, argv[0]))
		return CTL_MISUSED;
	if (read_file(argv[1], &policy, &policy_len) &&
	    sonic_export(argv[1], policy, policy_len, &tables, &report) == 0) {
		FILE *out = allocated(open_memstream(&text, &len));

		sonic_write_json(&tables, out);
		fclose(out);
		status = CTL_DONE;
	}
	sonic_report_print(&report, stderr);
	if (status == CTL_DONE)
		status = write_result(c, text, len);
	free(text);
	free(policy);
	sonic_report_fini(&report);
	sonic_config_fini(&tables);
	return status;
}
