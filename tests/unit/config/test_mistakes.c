// SPDX-License-Identifier: Apache-2.0
// Every bad/NAME.yaml must produce exactly the lines of bad/NAME.expect: text, position and order.
// All mistakes of a file are reported in one pass.
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/config/config.h"
#include "tests/temporary.h"

enum { LEAST_FIXTURES = 74 };

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 16);

	if (f == NULL)
		fail_msg("%s is missing", path);
	assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
	fclose(f);
	return text;
}

// All lines as one text.
static char *reported(const char *path, int *err)
{
	struct diags d = {0};
	struct config *c = NULL;
	struct policy *p = NULL;
	char *text = calloc(1, 1 << 16), *end = text;

	*err = config_load(path, &c, &d);
	if (*err == 0)
		*err = config_compile(c, NULL, &p, &d);
	if (*err == 0)
		advice_add(c, NULL, p, UINT_MAX, &d);
	for (unsigned i = 0; i < d.n; i++)
		end += sprintf(end, "%s\n", d.lines[i]);
	assert_int_equal(*err, d.n_errors == 0 ? 0 : -EINVAL);
	policy_destroy(p);
	config_destroy(c);
	diags_fini(&d);
	return text;
}

static void check_fixture(const char *name)
{
	char *want, *got, expect[300];
	int err;

	snprintf(expect, sizeof(expect), "%.*s.expect", (int)(strlen(name) - 5), name);
	want = slurp(expect);
	got = reported(name, &err);
	assert_string_equal(got, want);
	assert_int_equal(err != 0, strstr(name, "_is_a_warning") == NULL);
	free(got);
	free(want);
}

static void every_mistake_has_its_exact_text(void **state)
{
	DIR *dir = opendir(".");
	struct dirent *e;
	unsigned n = 0;

	(void)state;
	assert_non_null(dir);
	while ((e = readdir(dir)) != NULL) {
		size_t len = strlen(e->d_name);

		if (len <= 5 || strcmp(e->d_name + len - 5, ".yaml") != 0)
			continue;
		check_fixture(e->d_name);
		n++;
	}
	closedir(dir);
	assert_in_range(n, LEAST_FIXTURES, 1000);
}

static void an_unreadable_file_is_reported(void **state)
{
	char pipe[PATH_MAX], *got;
	int err;

	(void)state;
	got = reported("no-such-file.yaml", &err);
	assert_string_equal(got, "no-such-file.yaml: cannot open: No such file or directory\n");
	free(got);
	got = reported(".", &err);
	assert_int_equal(err, -EINVAL);
	assert_string_equal(got, ".: cannot open: Is a directory\n");
	free(got);
	snprintf(pipe, sizeof(pipe), "%.*s/pipe", PATH_MAX - 8, temporary_folder());
	assert_int_equal(mkfifo(pipe, 0600), 0);
	got = reported(pipe, &err);
	assert_int_equal(err, -EINVAL);
	assert_non_null(strstr(got, ": cannot open: it is no regular file\n"));
	free(got);
}

// Parses a text that must be refused with this line, whatever its size.
static void refuses(const char *text, size_t len, const char *line)
{
	struct diags d = {0};
	struct config *c = NULL;

	assert_int_equal(config_parse("f", text, len, &c, &d), -EINVAL);
	assert_null(c);
	assert_true(d.n >= 1);
	assert_string_equal(d.lines[0], line);
	diags_fini(&d);
}

static void large_and_deep_files_are_refused_quickly(void **state)
{
	size_t n = 5 << 20;
	char *text = malloc(n);

	(void)state;
	memset(text, ' ', n);
	refuses(text, n, "f:1:1: YAML: the file is larger than 4 MiB: this is no policy");
	n = 4 << 20;
	memset(text, '[', n);
	refuses(text, n, "f:1:17: YAML: maps and lists are nested too deeply");
	for (size_t i = 0; i < n; i += 2)
		memcpy(text + i, "- ", 2);
	refuses(text, n, "f:1:33: YAML: maps and lists are nested too deeply");
	memset(text, 'a', n);
	for (size_t i = 0; i < n; i += 4)
		memcpy(text + i, "a: \n", 4);
	refuses(text, n, "f:100000:3: YAML: the file holds more values than any policy needs");
	memset(text, ',', n);
	memcpy(text, "ports: [a", 9);
	for (size_t i = 9; i + 2 < n; i += 2)
		memcpy(text + i, ",a", 2);
	text[n - 1] = ']';
	refuses(text, n, "f:1:400003: YAML: the file holds more values than any policy needs");
	free(text);
}

static void thousands_of_mistakes_end_in_one_line(void **state)
{
	struct diags d = {0};
	struct config *c = NULL;
	size_t len = 0;
	char *text = malloc(1 << 18);

	(void)state;
	for (unsigned i = 0; i < 5000; i++)
		len += (size_t)sprintf(text + len, "key%u: 1\n", i);
	assert_int_equal(config_parse("f", text, len, &c, &d), -EINVAL);
	assert_int_equal(d.n, 1001);
	assert_string_equal(strstr(d.lines[1000], "further"), "further errors are not shown");
	diags_fini(&d);
	free(text);
}

static void messages_carry_no_control_characters(void **state)
{
	const char text[] = "ports:\n  - {name: \"\\e[2Jp\", device: \"xdp:a\"}\n";
	const char csi[] = "ports:\n  - {name: \"\\x9b2Jp\", device: \"xdp:a\"}\n";

	(void)state;
	refuses(text, sizeof(text) - 1,
		"f:2:12: ports[0] (?[2Jp).name: \"?[2Jp\" holds a space or a character"
		" outside ASCII");
	// U+009B introduces a control sequence as ESC [ does.
	refuses(csi, sizeof(csi) - 1,
		"f:2:12: ports[0] (??2Jp).name: \"??2Jp\" holds a space or a character"
		" outside ASCII");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mistake_has_its_exact_text),
		cmocka_unit_test(an_unreadable_file_is_reported),
		cmocka_unit_test(large_and_deep_files_are_refused_quickly),
		cmocka_unit_test(thousands_of_mistakes_end_in_one_line),
		cmocka_unit_test(messages_carry_no_control_characters),
	};

	if (argc != 2 || chdir(argv[1]) != 0 || chdir("tests/unit/config/bad") != 0) {
		fprintf(stderr, "usage: %s SOURCE_ROOT\n", argv[0]);
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
