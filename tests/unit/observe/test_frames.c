// SPDX-License-Identifier: Apache-2.0
// Values over time as changes: what is kept, how it is thinned, and what is printed.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/observe/frames.h"

enum { MAX_CHANGES = 400000 };

static char *printed(const struct frames *f, bool last, bool all)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (last)
		frames_print_last(f, all, out);
	else
		frames_print(f, out);
	fclose(out);
	return text;
}

static void expect(const struct frames *f, const char *want)
{
	char *text = printed(f, false, false);

	assert_string_equal(text, want);
	free(text);
}

static void a_frame_has_only_what_has_changed(void **state)
{
	struct frames *f = frames_create(4, MAX_CHANGES);
	char *text;

	(void)state;
	assert_true(frames_begin(f, 10, false));
	frames_put(f, 3, 0); // no column begins with zero
	frames_put(f, 2, 1.5);
	assert_true(frames_begin(f, 20, false));
	frames_put(f, 2, 1.5);
	frames_put(f, 3, 7);
	assert_true(frames_begin(f, 30, false));
	frames_put(f, 2, 0);
	frames_put(f, 3, NAN);
	expect(f, "[[10,0,1.5],\n[20,1,7],\n[30,0,0,1,null]]");
	assert_int_equal(frames_n_columns(f), 2);
	assert_int_equal(frames_place(f, 0), 2);
	assert_int_equal(frames_place(f, 1), 3);
	assert_false(frames_begin(f, 30, true));
	frames_forget(f);
	expect(f, "[]");
	assert_true(frames_begin(f, 40, false));
	frames_put(f, 3, 9);
	text = printed(f, true, false);
	assert_string_equal(text, "[40,1,9]");
	free(text);
	text = printed(f, true, true); // for a reader that has seen none of them
	assert_string_equal(text, "[40,0,0,1,9]");
	free(text);
	frames_destroy(f);
}

// The value at the time of a frame, from the text.
static double value_at(const char *text, double t_ns)
{
	double v = 0;
	char *end;

	for (const char *s = strchr(text + 1, '['); s != NULL; s = strchr(s + 1, '[')) {
		if (strtod(s + 1, &end) > t_ns)
			break;
		if (*end == ',') // column 0 comes first
			v = strtod(end + 3, &end);
	}
	return v;
}

// However many frames come, the values at those that are left are what they were.
static void frames_beyond_the_limit_merge(void **state)
{
	enum { N = 5000 };
	struct frames *f = frames_create(2, MAX_CHANGES);
	unsigned taken = 0, left = 0;
	char *text;

	(void)state;
	for (unsigned t = 1; t <= N; t++)
		if (frames_begin(f, t, t == N)) {
			frames_put(f, 0, t);
			frames_put(f, 1, -(double)t);
			taken++;
		}
	text = printed(f, false, false);
	for (const char *s = text + 1; (s = strchr(s, '[')) != NULL; s++) {
		double t = strtod(s + 1, NULL);

		assert_true(value_at(text, t) == t);
		left++;
	}
	assert_in_range(left, FRAMES_MAX / 2, FRAMES_MAX);
	assert_in_range(taken, left, 3 * FRAMES_MAX);
	assert_true(value_at(text, N) == N);
	free(text);
	frames_destroy(f);
}

// Many columns that change in each frame: few frames are left, with the last value of each column.
static void changes_beyond_the_limit_merge(void **state)
{
	enum { COLUMNS = MAX_CHANGES / 8, FRAMES = 40 };
	struct frames *f = frames_create(COLUMNS, MAX_CHANGES);
	unsigned left = 0;
	char *text;

	(void)state;
	for (unsigned t = 1; t <= FRAMES; t++)
		if (frames_begin(f, t, t == FRAMES))
			for (unsigned i = 0; i < COLUMNS; i++)
				frames_put(f, i, t + i);
	text = printed(f, true, true);
	assert_memory_equal(text, "[40,0,40,1,41,2,42,", 19);
	free(text);
	text = printed(f, false, false);
	for (const char *s = text + 1; (s = strchr(s, '[')) != NULL; s++)
		left++;
	assert_in_range(left, 4, 9);
	free(text);
	frames_destroy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_has_only_what_has_changed),
		cmocka_unit_test(frames_beyond_the_limit_merge),
		cmocka_unit_test(changes_beyond_the_limit_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
