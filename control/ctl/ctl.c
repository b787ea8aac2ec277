// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/config/terminal.h"
#include "control/ctl/commands.h"

enum {
	HANG = sizeof("weirctl ") - 1, // blanks before the further lines of a form
	MISUSED_LEN = 1024,
};

const char ctl_try_help[] = "Try `weirctl --help`.\n";

int misused(const char *fmt, ...)
{
	char text[MISUSED_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	terminal_printf(stderr, "weirctl: %s\n", text);
	fputs(ctl_try_help, stderr);
	return CTL_MISUSED;
}

void print_usage(FILE *out, const struct command *cmd, const char *first, const char *next)
{
	const char *at = cmd->usage, *lead = first;

	while (*at != '\0') {
		size_t len = strcspn(at, "\n");
		char *form = strndup(at, len);

		fprintf(out, "%sweirctl ", lead);
		print_indented(out, form != NULL ? form : "", (int)strlen(lead) + HANG,
			       TERMINAL_TEXT);
		fputc('\n', out);
		free(form);
		at += len + (at[len] != '\0');
		lead = next;
	}
}

int misused_words(const char *command)
{
	struct command_table commands = ctl_commands();

	for (size_t i = 0; i < commands.n; i++)
		if (strcmp(commands.rows[i].name, command) == 0)
			print_usage(stderr, &commands.rows[i], "usage: ", "       ");
	fprintf(stderr, "Try `weirctl help %s`.\n", command);
	return CTL_MISUSED;
}

struct json_object *request_of(const char *cmd, const char *key, const char *value)
{
	struct json_object *req = json_object_new_object();

	json_object_object_add(req, "cmd", json_object_new_string(cmd));
	if (key != NULL)
		json_object_object_add(req, key, json_object_new_string(value));
	return req;
}

void print_json(struct json_object *data)
{
	puts(json_object_to_json_string_ext(data, JSON_C_TO_STRING_PRETTY |
						     JSON_C_TO_STRING_NOSLASHESCAPE |
						     JSON_C_TO_STRING_SPACED));
}
