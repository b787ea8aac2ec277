// SPDX-License-Identifier: Apache-2.0
// weirctl impair: reads the rule, so that a mistake is shown at its place without a switch, and
// sends its texts. The switch reads them again.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/base/terminal.h"
#include "control/base/units.h"
#include "control/config/impair.h"
#include "control/ctl/client.h"
#include "control/ctl/ctl.h"
#include "control/observe/fact.h"

// Shows the text with a mark below the mistake.
static int wrong_text(const char *option, const char *text, const struct impair_mistake *why)
{
	terminal_printf(stderr, "weirctl: --%s: column %u: %s\n  %s\n  %*s^\n", option, why->column,
			why->text, text, (int)why->column - 1, "");
	return CTL_MISUSED;
}

// The words of --action behind the first one stand behind the port: `--action ce 10%`.
static bool join_words(char *out, size_t len, const char *first, int argc, char **argv)
{
	size_t n = (size_t)snprintf(out, len, "%s", first);

	for (int i = 0; i < argc && n < len; i++)
		n += (size_t)snprintf(out + n, len - n, " %s", argv[i]);
	return n < len;
}

static int stop(const struct ctl *c, const char *which)
{
	struct json_object *req = request_of("impair_stop", NULL, NULL), *data;
	char *end;
	unsigned long id = strtoul(which, &end, 10);

	if (strcmp(which, "all") != 0 && (which[0] < '1' || which[0] > '9' || *end != '\0')) {
		json_object_put(req);
		return misused("impair stop wants the number of a rule, or all, not \"%s\"", which);
	}
	if (strcmp(which, "all") != 0)
		row_u64(req, KEY(IMPAIRMENTS, rule), id);
	data = client_request(c->name, req);
	if (data == NULL)
		return CTL_FAILED;
	if (c->json)
		print_json(data);
	else
		printf("stopped: %" PRIu64 "\n", count_in(data, "stopped"));
	json_object_put(data);
	return CTL_DONE;
}

// Whole microseconds, not less than the time.
static uint64_t us_of(int64_t ns)
{
	return ns <= 0 ? 0 : ((uint64_t)ns + 999) / 1000;
}

int cmd_impair(const struct ctl *c, int argc, char **argv)
{
	const char *match = c->impair.match != NULL ? c->impair.match : "", *why;
	struct impair_mistake mistake;
	struct impair_rule rule;
	struct json_object *req, *data;
	char action[256];
	int64_t for_ns = 0;

	if (argc == 1 && strcmp(argv[0], "list") == 0)
		return cmd_show(c, 1, (char *[]){(char[]){"impairments"}, NULL});
	if (argc == 2 && strcmp(argv[0], "stop") == 0)
		return stop(c, argv[1]);
	if (c->impair.action == NULL || (c->impair.in && c->impair.out))
		return misused_words(c);
	if (!join_words(action, sizeof(action), c->impair.action, argc - 1, argv + 1))
		return misused("--action is too long");
	if (!impair_parse_match(match, &rule, &mistake))
		return wrong_text(KEY(IMPAIRMENTS, match), match, &mistake);
	if (!impair_parse_action(action, &rule, &mistake))
		return wrong_text(KEY(IMPAIRMENTS, action), action, &mistake);
	if (c->impair.for_text != NULL && !unit_parse(UNIT_TIME, c->impair.for_text, &for_ns, &why))
		return misused("--for is a time, as 10s, not \"%s\"", c->impair.for_text);
	req = request_of("impair", KEY(QUEUES, port), argv[0]);
	row_text(req, KEY(IMPAIRMENTS, match), match);
	row_text(req, KEY(IMPAIRMENTS, action), action);
	row_text(req, KEY(IMPAIRMENTS, way), c->impair.out ? "out" : "in");
	if (c->impair.for_text != NULL)
		row_u64(req, KEY(IMPAIRMENTS, for_us), us_of(for_ns));
	if (c->count != 0)
		row_u64(req, KEY(IMPAIRMENTS, most), c->count);
	if (c->impair.seed != 0)
		row_u64(req, KEY(IMPAIRMENTS, rule_seed), c->impair.seed);
	data = client_request(c->name, req);
	if (data == NULL)
		return CTL_FAILED;
	if (c->json)
		print_json(data);
	else
		printf("rule %" PRIu64 ", seed %" PRIu64 ": weirctl show impairments\n",
		       count_in(data, KEY(IMPAIRMENTS, rule)),
		       count_in(data, KEY(IMPAIRMENTS, rule_seed)));
	json_object_put(data);
	return CTL_DONE;
}
