// SPDX-License-Identifier: Apache-2.0
// The command `completion`: a script for bash, and the names of ports, which the script asks for.
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "control/completion.h"
#include "control/ctl/client.h"
#include "control/ctl/commands.h"
#include "control/ctl/ctl.h"
#include "control/ctl/show.h"
#include "control/ctl/table.h"

static bool command_at(unsigned i, struct completion_command *out)
{
	struct command_table commands = ctl_commands();

	if (i >= commands.n)
		return false;
	*out = (struct completion_command){commands.rows[i].name, commands.rows[i].usage, 0};
	return true;
}

static void print_script(void)
{
	char kinds[SHOW_KINDS_LEN];
	const struct completion c = {&ctl_opts, show_kinds(kinds), "--switch --help --version",
				     command_at};

	completion_script(&c, stdout);
}

// One name a line, for the script.
static int print_ports(const struct ctl *c)
{
	struct json_object *data = client_request(
		c->name, request_of("show", "what", fact_lists[FACTS_PORTS].what));
	struct json_object *rows = rows_of(data, FACTS_PORTS);

	if (data == NULL)
		return CTL_FAILED;
	for (size_t i = 0; i < n_rows(rows); i++)
		puts(fact_text(row_at(rows, i), F_PORTS_name));
	json_object_put(data);
	return CTL_DONE;
}

int cmd_completion(const struct ctl *c, int argc, char **argv)
{
	if (argc == 1 && strcmp(argv[0], "ports") == 0)
		return print_ports(c);
	if (argc != 1 || strcmp(argv[0], "bash") != 0)
		return misused_words("completion");
	print_script();
	return CTL_DONE;
}
