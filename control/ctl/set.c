// SPDX-License-Identifier: Apache-2.0
// Commands that are one request to a running switch: set, clear, quiesce, resume, confirm,
// watchdog, flow, metrics, completion.
#include "control/ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/base/opts.h"
#include "control/ctl/client.h"
#include "control/ctl/show.h"
#include "control/ctl/sonic_show.h"
#include "control/orders/words.h"

static int send_request(const struct ctl *c, struct json_object *req)
{
	struct json_object *data = client_request(c->name, req);

	if (data == NULL)
		return CTL_FAILED;
	json_object_put(data);
	return CTL_DONE;
}

// The command with its words. NULL: *status is that of the program.
static struct json_object *read_words(const struct ctl *c, int argc, char **argv, int *status)
{
	const char **words = calloc((size_t)argc + 1, sizeof(*words));
	char why[WORDS_WHY_LEN];
	struct json_object *req;

	if (words == NULL)
		abort();
	words[0] = c->command->name;
	for (int i = 0; i < argc; i++)
		words[i + 1] = argv[i];
	req = request_of_words(argc + 1, words, why);
	free(words);
	if (req == NULL)
		*status = why[0] != '\0' ? misused("%s", why) : misused_words(c);
	return req;
}

int cmd_words(const struct ctl *c, int argc, char **argv)
{
	int status;
	struct json_object *req = read_words(c, argc, argv, &status);

	return req == NULL ? status : send_request(c, req);
}

int cmd_clear(const struct ctl *c, int argc, char **argv)
{
	(void)argc;
	if (strcmp(argv[0], "watermarks") != 0 && strcmp(argv[0], "counters") != 0)
		return misused_words(c);
	return send_request(c, request_of("clear", "what", argv[0]));
}

int cmd_quiesce(const struct ctl *c, int argc, char **argv)
{
	struct json_object *req = request_of("quiesce", NULL, NULL), *data;

	(void)argc;
	(void)argv;
	row_bool(req, "hold", c->hold);
	data = client_request(c->name, req);
	if (data == NULL)
		return CTL_FAILED;
	if (c->json) {
		print_json(data);
	} else {
		show_tables(stdout, "balance", data, &(struct show_wish){.all = true});
		if (fact_yes(data, F_VERSION_held))
			puts("admission stays stopped until: weirctl resume");
	}
	json_object_put(data);
	return CTL_DONE;
}

// The command is the request.
int cmd_request(const struct ctl *c, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return send_request(c, request_of(c->command->name, NULL, NULL));
}

// Hosts that the change has parted.
static void print_parted(struct json_object *rows)
{
	enum { SHOWN = 20 };
	size_t n = n_rows(rows);

	for (size_t i = 0; i < n && i < SHOWN; i++)
		printf("%s no longer finds %s\n", fact_text(row_at(rows, i), F_INOF_LOG_receiver),
		       fact_text(row_at(rows, i), F_INOF_LOG_about));
	if (n > SHOWN)
		puts("and others: weirctl show inof log");
}

int cmd_inof(const struct ctl *c, int argc, char **argv)
{
	int status;
	struct json_object *req = read_words(c, argc, argv, &status), *data;

	if (req == NULL)
		return status;
	data = client_request(c->name, req);
	if (data == NULL)
		return CTL_FAILED;
	if (c->json) {
		print_json(data);
	} else {
		printf("zone %s: %s; a host of any zone is not in the zone default: "
		       "weirctl show inof zones\n", argv[2],
		       strcmp(argv[1], "add") == 0 ? "added" : "removed");
		print_parted(rows_of(data, FACTS_INOF_LOG));
	}
	json_object_put(data);
	return CTL_DONE;
}

int cmd_metrics(const struct ctl *c, int argc, char **argv)
{
	struct json_object *data = client_request(c->name, request_of("metrics", NULL, NULL));
	const char *text;

	(void)argc;
	(void)argv;
	if (data == NULL)
		return CTL_FAILED;
	text = text_in(data, KEY(DROP_REASONS, text));
	if (text != NULL)
		fputs(text, stdout);
	json_object_put(data);
	return CTL_DONE;
}

static bool weirctl_command_at(unsigned i, struct completion_command *out)
{
	struct command_table commands = ctl_commands();
	const char *sonic = i >= commands.n ? sonic_usage(i - (unsigned)commands.n) : NULL;

	if (sonic != NULL)
		*out = (struct completion_command){"show", sonic, 0};
	if (i >= commands.n)
		return sonic != NULL;
	*out = (struct completion_command){commands.rows[i].name, commands.rows[i].usage, 0};
	return true;
}

// `completion bash` prints the script. The script calls `completion ports`: one name a line.
int cmd_completion(const struct ctl *c, int argc, char **argv)
{
	char kinds[SHOW_KINDS_LEN];
	const struct completion script = {&ctl_opts, show_kinds(kinds),
					  "--switch --help --version", weirctl_command_at};
	struct json_object *data, *rows;

	(void)argc;
	if (strcmp(argv[0], "bash") == 0) {
		completion_script(&script, stdout);
		return CTL_DONE;
	}
	if (strcmp(argv[0], "ports") != 0)
		return misused_words(c);
	data = client_request(c->name, show_request(FACTS_PORTS));
	if (data == NULL)
		return CTL_FAILED;
	rows = rows_of(data, FACTS_PORTS);
	for (size_t i = 0; i < n_rows(rows); i++)
		puts(fact_text(row_at(rows, i), F_PORTS_name));
	json_object_put(data);
	return CTL_DONE;
}
