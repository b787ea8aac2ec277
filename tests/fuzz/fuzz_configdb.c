// SPDX-License-Identifier: Apache-2.0
// Any text as a CONFIG_DB file: it makes a policy that loads, compiles and exports, or it is
// refused with messages. The export of an import imports again, to the same policy.
//
//   input: the file, as it is; its length chooses the options
#include "control/config/port_open.h"
#include "dataplane/policy.h"
#include "tests/fuzz/fuzz.h"

#include "control/config/config.h"
#include "control/sonic/export.h"
#include "control/sonic/import.h"
#include "control/sonic/pg_lookup.h"

enum { N_OPTIONS = 4, MOST_LEN = 1 << 16 };

static const char lookup_text[] = "10000 5m 1248 2288 35776 -3 2288\n"
				  "100000 40m 50000 19456 9000 0\n";

static char *imported(struct sonic_config *c, size_t options, struct sonic_report *r)
{
	struct pg_lookup lookup = {0};
	const struct sonic_import_options o = {
		.partial = (options & 1) != 0,
		.lookup = (options & 2) != 0 ? &lookup : NULL,
	};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int err;

	FUZZ_CHECK(pg_lookup_read(&lookup, "l", lookup_text, strlen(lookup_text), r) == 0);
	err = sonic_import(c, &o, r, out);
	fclose(out);
	pg_lookup_fini(&lookup);
	FUZZ_CHECK(err == 0 || len == 0);
	if (err == 0)
		return text;
	FUZZ_CHECK(r->n_errors > 0);
	free(text);
	return NULL;
}

// The report never has a control character, whatever the file has.
static void check_report(const struct sonic_report *r)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	sonic_report_print(r, out);
	fclose(out);
	for (size_t i = 0; i < len; i++)
		FUZZ_CHECK(text[i] == '\n' || ((unsigned char)text[i] >= ' ' && text[i] != 0x7f));
	free(text);
}

static void check_policy(const char *text)
{
	struct diags d = {0};
	struct config *c = NULL;
	struct policy *p = NULL;

	FUZZ_CHECK(config_parse("p", text, strlen(text), &c, &d) == 0);
	FUZZ_CHECK(memory_compile(c, &p, &d) == 0);
	for (unsigned i = 0; i < config_n_ports(c); i++) {
		struct config_port_open port = config_port(c, i);

		// Without --ports each port has the interface of its own name.
		FUZZ_CHECK(!port.take_over && strncmp(port.device, "xdp:", 4) == 0 &&
			   strcmp(port.device + 4, port.name) == 0);
	}
	// An import never writes `flood`.
	for (unsigned i = 0; i < p->n_ports; i++)
		FUZZ_CHECK(p->ports[i].no_flood == p->ports[i].classify.lossless);
	policy_destroy(p);
	config_destroy(c);
	diags_fini(&d);
}

// Some values lie between what a policy and CONFIG_DB can say, and the export refuses them. What it
// writes is a configuration.
static void check_export(const char *policy, size_t options)
{
	struct sonic_config out = {0};
	struct sonic_report r = {0};

	if (sonic_export("p", policy, strlen(policy), &out, &r) == 0) {
		char *json = NULL, *again;
		size_t len = 0;
		FILE *f = open_memstream(&json, &len);
		struct sonic_config c = {0};
		struct sonic_report read = {0};

		sonic_write_json(&out, f);
		fclose(f);
		FUZZ_CHECK(sonic_read_json(&c, "j", json, len, &read) == 0);
		again = imported(&c, options | 1, &read);
		FUZZ_CHECK(again != NULL);
		free(again);
		free(json);
		sonic_report_fini(&read);
		sonic_config_fini(&c);
	} else {
		FUZZ_CHECK(r.n_errors > 0);
	}
	check_report(&r);
	sonic_report_fini(&r);
	sonic_config_fini(&out);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonic_config c = {0};
	struct sonic_report r = {0};
	size_t options = size % N_OPTIONS;
	char *policy;

	if (size > MOST_LEN)
		return 0;
	if (sonic_read_json(&c, "f", (const char *)data, size, &r) != 0)
		FUZZ_CHECK(r.n_errors > 0);
	policy = c.n > 0 ? imported(&c, options, &r) : NULL;
	check_report(&r);
	if (policy != NULL) {
		check_policy(policy);
		check_export(policy, options);
	}
	free(policy);
	sonic_report_fini(&r);
	sonic_config_fini(&c);
	return 0;
}
