// SPDX-License-Identifier: Apache-2.0
// Parts of weir-sonic: messages of several lines, the file that the switch runs, and counters that
// are differences.
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

#include "control/sonic/bridge/difference.h"
#include "control/sonic/bridge/lines.h"
#include "control/sonic/bridge/swap.h"

// ---- lines

static void each_line_is_there_once(void **state)
{
	struct lines l = {0};

	(void)state;
	lines_add(&l, "one\ntwo\n");
	lines_add(&l, "two\n\nthree");
	lines_add(&l, "tw");
	assert_string_equal(l.text, "one\ntwo\nthree\ntw");
	assert_true(lines_has(l.text, "two", 3));
	assert_false(lines_has(l.text, "thre", 4));
}

static void lines_without_room_are_counted_and_none_is_cut(void **state)
{
	struct lines l = {0};
	char line[64], last[64];
	unsigned n = 0;

	(void)state;
	for (; n < 1000; n++) {
		snprintf(line, sizeof(line), "line %04u of a message that is very long", n);
		lines_add(&l, line);
	}
	for (unsigned i = 0; i < n - l.left_out; i++) {
		snprintf(line, sizeof(line), "line %04u of a message that is very long", i);
		assert_true(lines_has(l.text, line, strlen(line)));
	}
	snprintf(last, sizeof(last), "\nand %u more", l.left_out);
	assert_in_range(l.left_out, 1, n - 1);
	assert_string_equal(l.text + strlen(l.text) - strlen(last), last);
	assert_in_range(strlen(l.text), LINES_ROOM - 128, LINES_ROOM - 1);
}

// ---- the file

static bool can_exchange;
static char folder[] = "/tmp/weir-test-XXXXXX", next[PATH_MAX], file[PATH_MAX];

int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	if (can_exchange)
		return __real_renameat2(from_dir, from, to_dir, to, flags);
	errno = EINVAL;
	return -1;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static const char *content(const char *path)
{
	static char text[64];
	FILE *f = fopen(path, "r");

	text[f != NULL ? fread(text, 1, sizeof(text) - 1, f) : 0] = '\0';
	if (f != NULL)
		fclose(f);
	return text;
}

static void the_earlier_file_can_come_back(void **state)
{
	char why[256];

	(void)state;
	for (int i = 0; i < 2; i++) {
		can_exchange = i == 0;
		put(file, "good");
		put(next, "refused");
		assert_int_equal(swap_files(next, file, why, sizeof(why)), 0);
		assert_string_equal(content(file), "refused");
		assert_string_equal(content(next), "good");
		assert_int_equal(swap_files(next, file, why, sizeof(why)), 0);
		assert_string_equal(content(file), "good");
	}
}

static void the_first_file_only_moves(void **state)
{
	char why[256];

	(void)state;
	for (int i = 0; i < 2; i++) {
		can_exchange = i == 0;
		unlink(file);
		put(next, "first");
		assert_int_equal(swap_files(next, file, why, sizeof(why)), 0);
		assert_string_equal(content(file), "first");
		assert_int_equal(access(next, F_OK), -1);
	}
}

static void a_file_that_cannot_be_kept_stays(void **state)
{
	char previous[PATH_MAX + 16], why[PATH_MAX];

	(void)state;
	can_exchange = false;
	snprintf(previous, sizeof(previous), "%s.previous", file);
	assert_int_equal(mkdir(previous, 0700), 0); // no copy can be there
	put(file, "good");
	put(next, "new");
	assert_int_equal(swap_files(next, file, why, sizeof(why)), -1);
	assert_string_equal(content(file), "good");
	assert_non_null(strstr(why, "cannot take the place of"));
	rmdir(previous);
}

static int make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(next, sizeof(next), "%s/policy.next", folder);
	snprintf(file, sizeof(file), "%s/policy", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(next);
	unlink(file);
	return rmdir(folder); // nothing else is left there
}

// ---- differences

static void a_difference_of_two_readings_never_goes_back(void **state)
{
	static const struct {
		uint64_t all, part, shown;
	} steps[] = {
		{10, 4, 6},
		{12, 8, 6}, // two of the four were counted between the readings
		{14, 8, 6},
		{20, 9, 11},
		{20, 9, 11},
		{3, 1, 2}, // cleared
		{3, 4, 2},
		{9, 4, 5},
		{9, 0, 9}, // one of them began anew
	};
	struct difference d = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		assert_int_equal(difference_shown(&d, steps[i].all, steps[i].part),
				 steps[i].shown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_is_there_once),
		cmocka_unit_test(lines_without_room_are_counted_and_none_is_cut),
		cmocka_unit_test(the_earlier_file_can_come_back),
		cmocka_unit_test(the_first_file_only_moves),
		cmocka_unit_test(a_file_that_cannot_be_kept_stays),
		cmocka_unit_test(a_difference_of_two_readings_never_goes_back),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
