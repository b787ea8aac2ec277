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

enum { QP_LEAST = 2, QP_MOST = 0xffffff };

static int send_request(const struct ctl *c, struct json_object *req)
{
	struct json_object *data = client_request(c->name, req);

	if (data == NULL)
		return CTL_FAILED;
	json_object_put(data);
	return CTL_DONE;
}

int cmd_set(const struct ctl *c, int argc, char **argv)
{
	bool port = argc == 4 && strcmp(argv[0], "port") == 0;
	bool queue = argc == 5 && strcmp(argv[0], "queue") == 0;
	struct json_object *req;
	const char *on = argv[argc - 1];

	if (!port && !queue)
		return misused_words(c);
	if (strcmp(argv[argc - 2], "tx") != 0 || (strcmp(on, "on") != 0 && strcmp(on, "off") != 0))
		return misused("set %s ends in tx on or tx off, not %s %s", argv[0],
			       argv[argc - 2], on);
	req = request_of("set_tx", KEY(QUEUES, port), argv[1]);
	row_bool(req, "on", strcmp(on, "on") == 0);
	if (queue) {
		char *end;
		long q = strtol(argv[2], &end, 10);

		if (end == argv[2] || *end != '\0' || q < 0 || q > 7) {
			json_object_put(req);
			return misused("a queue is a number from 0 to 7, not \"%s\"", argv[2]);
		}
		json_object_object_add(req, KEY(QUEUES, queue), json_object_new_int((int)q));
	}
	return send_request(c, req);
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

int cmd_watchdog(const struct ctl *c, int argc, char **argv)
{
	const char *last = argv[argc - 1];
	struct json_object *req;

	if (argc == 3 && strcmp(argv[0], "recover") == 0) {
		if (last[0] < '0' || last[0] > '7' || last[1] != '\0')
			return misused("a class is a number from 0 to 7, not \"%s\"", last);
		req = request_of("watchdog_recover", KEY(QUEUES, port), argv[1]);
		json_object_object_add(req, KEY(QUEUES, class), json_object_new_int(last[0] - '0'));
		return send_request(c, req);
	}
	if (argc != 2 || strcmp(argv[0], "drop-all") != 0 ||
	    (strcmp(last, "on") != 0 && strcmp(last, "off") != 0))
		return misused_words(c);
	req = request_of("watchdog_drop_all", NULL, NULL);
	row_bool(req, "on", strcmp(last, "on") == 0);
	return send_request(c, req);
}

// A number as people and drivers write them: 18 or 0x12.
static bool parse_qp(const char *text, unsigned *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n < QP_LEAST || n > QP_MOST)
		return false;
	*out = (unsigned)n;
	return true;
}

int cmd_flow(const struct ctl *c, int argc, char **argv)
{
	const char *const keys[] = {KEY(FLOWS, qp), KEY(FLOWS, sender_qp)};
	bool add = argc == 5 && strcmp(argv[0], "add") == 0;
	bool del = argc == 4 && strcmp(argv[0], "del") == 0;
	struct json_object *req;

	if (!add && !del)
		return misused_words(c);
	req = request_of(add ? "flow_add" : "flow_del", KEY(FLOWS, from), argv[1]);
	row_text(req, KEY(FLOWS, to), argv[2]);
	for (int i = 3; i < argc; i++) {
		unsigned qp;

		if (!parse_qp(argv[i], &qp)) {
			json_object_put(req);
			return misused("a queue pair is a number from 2 to 0xffffff, not \"%s\"",
				       argv[i]);
		}
		json_object_object_add(req, keys[i - 3], json_object_new_int64(qp));
	}
	return send_request(c, req);
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
	bool add = strcmp(argv[1], "add") == 0;
	struct json_object *req, *members, *data;

	if (strcmp(argv[0], "zone") != 0 || (!add && strcmp(argv[1], "remove") != 0) ||
	    (add && argc < 4))
		return misused_words(c);
	req = request_of(add ? "inof_zone_add" : "inof_zone_remove", KEY(INOF_ZONES, zone),
			 argv[2]);
	members = list_in(req, KEY(INOF_ZONES, members));
	for (int i = 3; i < argc; i++)
		json_object_array_add(members, json_object_new_string(argv[i]));
	data = client_request(c->name, req);
	if (data == NULL)
		return CTL_FAILED;
	if (c->json) {
		print_json(data);
	} else {
		printf("zone %s: %s; a host of any zone is not in the zone default: "
		       "weirctl show inof zones\n", argv[2], add ? "added" : "removed");
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
