// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/ctl.h"

#include <stdarg.h>
#include <stdio.h>

#include <json-c/json.h>

const char ctl_try_help[] = "Try `weirctl --help`.\n";

int misused(const char *fmt, ...)
{
	va_list ap;

	fputs("weirctl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	fputs(ctl_try_help, stderr);
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
