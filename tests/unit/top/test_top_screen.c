// SPDX-License-Identifier: Apache-2.0
// What the screen of `weirctl watch` shows of recorded snapshots, at several sizes; and its keys.
#include "tests/unit/top/recorded.h"

struct bench {
	struct recorded before, now;
	struct top_snapshot *s[2];
	struct top_view view;
	struct top_data data;
	struct top_canvas *c;
	char *text;
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->before = b->now = (struct recorded){.n_ports = 6, .n_workers = 2};
	b->now.loops = 1000;
	b->view = (struct top_view){.interval_s = 1};
	*state = b;
	return 0;
}

static void forget(struct bench *b)
{
	free(b->c);
	free(b->text);
	b->c = NULL;
	b->text = NULL;
	for (unsigned i = 0; i < 2; i++) {
		top_snapshot_destroy(b->s[i]);
		b->s[i] = NULL;
	}
}

static int end(void **state)
{
	forget(*state);
	free(*state);
	return 0;
}

// lines 0: the plain lines.
static void draw(struct bench *b, unsigned lines, unsigned columns, bool ascii)
{
	size_t len;
	FILE *out;

	forget(b);
	b->s[0] = snapshot(&b->before);
	b->s[1] = snapshot(&b->now);
	b->data = (struct top_data){.name = "sw1", .clock = "14:02:11", .trouble = b->data.trouble,
				    .before = b->s[0], .now = b->s[1], .seconds = 1};
	b->c = lines > 0 ? top_draw(&b->data, &b->view, lines, columns, ascii)
			 : top_draw_plain(&b->data, &b->view);
	assert_non_null(b->c);
	out = open_memstream(&b->text, &len);
	top_canvas_print(b->c, out);
	fclose(out);
}

static void shows(const struct bench *b, const char *part)
{
	if (strstr(b->text, part) == NULL)
		fail_msg("\"%s\" is not in\n%s", part, b->text);
}

static void shows_not(const struct bench *b, const char *part)
{
	if (strstr(b->text, part) != NULL)
		fail_msg("\"%s\" is in\n%s", part, b->text);
}

// The line that starts with the word; its number.
static unsigned line_of(const struct bench *b, const char *word)
{
	for (unsigned y = 0; y < b->c->lines; y++) {
		unsigned x = 0;

		while (word[x] != '\0' && (wchar_t)word[x] == top_cell(b->c, y, x)->ch)
			x++;
		if (word[x] == '\0')
			return y;
	}
	fail_msg("no line starts with \"%s\":\n%s", word, b->text);
	return 0;
}

static void busy(struct bench *b)
{
	b->before.port[2].drops = 10;
	b->now.port[0] = (struct recorded_port){.rx_bytes = 15000000, .tx_bytes = 1000000};
	b->now.port[1] = (struct recorded_port){.tx_bytes = 15000000, .marks = 1234,
						.queue_bytes = 120000};
	b->now.port[2] = (struct recorded_port){.rx_bytes = 4000000, .drops = 52};
	b->now.port[3] = (struct recorded_port){.rx_bytes = 30000000, .tx_pause = 480,
						.buffer_bytes = 50000, .xoff = true};
	b->now.port[4] = (struct recorded_port){.tx_bytes = 9000, .rx_pause = 2000,
						.paused_us = 980000, .status = "stormed",
						.paused = true};
	b->now.port[5].down = true;
	b->now.events =
		"{\"seq\": 7, \"time\": \"2026-11-22T14:01:00.000001Z\", \"event\": \"link-down\","
		" \"severity\": \"warning\", \"text\": \"x\", \"port\": \"p6\"},"
		"{\"seq\": 8, \"time\": \"2026-11-22T14:02:09.000001Z\", \"event\": \"pfc-storm\","
		" \"severity\": \"alarm\", \"text\": \"x\", \"port\": \"p5\", \"class\": 3,"
		" \"action\": \"drop\", \"measured_us\": 100250}";
}

// ---- whole screens

static void six_ports_at_80x24_are_this_screen(void **state)
{
	struct bench *b = *state;

	busy(b);
	draw(b, 24, 80, true);
	assert_string_equal(
		b->text,
		"sw1  14:02:11  5 up  1 down  sort trouble  every 1 s\n"
		"Workers [|||||||       40%] [|||||||       41%]\n"
		"ingress [|||||||     45%] headroom [            0%] egress_lossy [|||||||98%]\n"
		"STORM  p5 class 3 for 1.5s: its peer pauses it, action drop\n"
		"Port State   Rx b/s Rx% Tx b/s Tx% PFCtx PFCrx ECN/s Drop/s        Buffer Queued\n"
		"p5   STORM        0   0  72.0k   0     0 2.00k     0      0 [          0]      0\n"
		"p4   pausing   240M  25      0   0   480     0     0      0 [||||||50.0k]      0\n"
		"p3   drops    32.0M   3      0   0     0     0     0     42 [          0]      0\n"
		"p2   marks        0   0   120M  12     0     0 1.23k      0 [          0]   120k\n"
		"p1   up        120M  12  8.00M   1     0     0     0      0 [          0]      0\n"
		"p6   down         0   0      0   0     0     0     0      0 [          0]      0\n"
		"14:02:09Z ALARM pfc-storm p5:3 action=drop measured_us=100250\n"
		"14:01:00Z warning link-down p6\n"
		"\n\n\n\n\n\n\n\n\n\n"
		"h help  q quit  Enter open  s sort  / filter  p pause  + - interval\n");
}

static void a_port_that_is_opened_is_this_screen(void **state)
{
	struct bench *b = *state;

	busy(b);
	b->now.port[2].lossless_drops = 5;
	strcpy(b->view.opened, "p3");
	draw(b, 24, 80, true);
	shows(b, "\np3 LOSS  1.00Gb/s  xdp:s3\n"
		 "Rx 32.0Mb/s 4.00k frames/s [||                                  3%]\n"
		 "Tx     0b/s     0 frames/s [                                    0%]\n"
		 "Class Queue Tx b/s  Depth   Peak ECN/s Drop/s PFCtx PFCrx PFC\n"
		 "    0     0      0      0      0     0     42     0     0 lossy\n"
		 "    3     3      0      0      0     0    5.0     0     0 lossless\n"
		 "(6 idle classes are not shown)\n"
		 "drops class 0 wred: 42/s, 52 so far\n"
		 "drops class 3 headroom-overrun: 5.0/s, 5 so far\n");
	shows_not(b, "p6");
	strcpy(b->view.opened, "p5");
	draw(b, 24, 80, true);
	shows(b, " stormed paused 98%\n");
	draw(b, 10, 40, true);
	shows(b, "Class Queue Tx b/s PFC\n    3     3  72.0k stormed paused 98%");
}

// Each size shows the head, the port in the worst trouble, and the keys, inside its edges.
static void every_size_and_number_of_ports_fits(void **state)
{
	static const unsigned sizes[][2] = {{10, 40}, {24, 80}, {60, 200}, {15, 60}};
	static const unsigned n_ports[] = {1, 6, 64};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t k = 0; k < sizeof(n_ports) / sizeof(n_ports[0]); k++)
			for (unsigned opened = 0; opened < 2; opened++) {
				unsigned n = n_ports[k], lines = sizes[i][0];
				char last[8];

				b->before.n_ports = b->now.n_ports = n;
				snprintf(last, sizeof(last), "p%u", n);
				memset(b->now.port, 0, sizeof(b->now.port));
				busy(b);
				b->now.port[n - 1] = (struct recorded_port){.status = "pfc-off"};
				b->now.port[n > 1 ? 4 : 0].status = "stormed";
				strcpy(b->view.opened, opened ? last : "");
				draw(b, lines, sizes[i][1], false);
				assert_int_equal(b->c->lines, lines);
				assert_int_equal(line_of(b, "sw1  14:02:11"), 0);
				line_of(b, opened ? "Esc back" : "h help");
				assert_int_equal(line_of(b, opened ? "Esc back" : "h help"),
						 lines - 1);
				shows(b, "STORM");
				line_of(b, opened ? last : n > 1 ? "p5 " : "p1 ");
			}
	b->view.opened[0] = '\0';
	draw(b, 9, 80, true);
	shows(b, "80x9 is too small");
}

static void wide_screens_have_more_columns_and_narrow_ones_keep_the_important(void **state)
{
	struct bench *b = *state;

	busy(b);
	draw(b, 60, 200, true);
	shows(b, "Queued Paused% Pausing%  Lost Speed");
	shows(b, "1.80MB of 4.00MB");
	draw(b, 10, 40, true);
	shows(b, "Port State   Rx b/s Tx b/s PFCtx Drop/s\n");
}

// ---- alarms

static void alarms_are_said_in_words_and_as_alarms(void **state)
{
	static const char *const want[] = {
		"GONE  switch sw1", "DROP-ALL  all lossless classes", "HELD  admission is stopped",
		"PFC-OFF  p1 class 3: until weirctl watchdog recover p1 3\n",
		"PAUSED  p2 class 3: its peer pauses it 95 % of the time\n",
		"PORT-DOWN  p3 class 3: until weirctl watchdog recover p3 3\n",
		"STALLED  worker 0", "LOSS  12 lossless frames so far",
		"LOSS  7 frames at full receive rings",
		"UNKNOWN  p6 class 3: 900 frames/s dropped: weirctl show hints\n"};
	struct bench *b = *state;

	draw(b, 24, 80, true);
	shows(b, "\nno alarm\n");
	b->data.trouble = "GONE  switch sw1";
	b->now.drop_all = b->now.held = true;
	b->now.loops = 0;
	b->now.port[0].status = "pfc-off";
	b->now.port[1].paused_us = 950000;
	b->now.port[2].status = "port-down";
	b->now.port[3].lossless_drops = 12;
	b->now.port[4].missed = 7;
	b->now.port[5] = (struct recorded_port){.unknown = 900, .group_frames = 910};
	draw(b, 120, 120, true);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		shows(b, want[i]);
		assert_int_equal(top_cell(b->c, line_of(b, want[i][0] == 'L' ? "LOSS" : "GONE"), 0)
					 ->attr,
				 TOP_ALARM);
	}
	assert_int_equal(top_cell(b->c, line_of(b, "p4"), 5)->attr & ~TOP_REVERSE, TOP_ALARM);
	shows(b, "p5   LOSS         0   0      0   0     0     0     0    7.0 ");
	draw(b, 24, 80, true);
	shows(b, "+8 alarms");
}

// ---- notes

static void a_hint_names_ports_dscp_and_cure(void **state)
{
	struct bench *b = *state;

	b->before.port[1].roce_in_lossy = b->now.port[1].roce_in_lossy = 40;
	draw(b, 24, 80, true);
	shows(b, "\nhint: RoCE in a lossy class on p2, not now: give the DSCP");
	b->now.port[3].roce_in_lossy = 10;
	b->now.events = "{\"seq\": 1, \"time\": \"2026-11-22T14:01:00.000001Z\", \"event\": "
			"\"roce-in-lossy-class\", \"severity\": \"warning\", \"port\": \"p4\", "
			"\"dscp\": 10}";
	draw(b, 24, 80, true);
	shows(b, "\nhint: RoCE in a lossy class (DSCP 10) on p2 p4: give the DSCP to a lossless\n"
		 "    class (dscp_to_class), or let the senders use its DSCP\n");
}

static void alarms_come_before_newer_warnings_and_repetitions_are_one_line(void **state)
{
	struct bench *b = *state;

	b->now.port[4].status = "stormed";
	b->now.events =
		"{\"seq\": 1, \"time\": \"2026-11-22T14:00:01Z\", \"event\": \"pfc-storm\","
		" \"severity\": \"alarm\", \"port\": \"p5\", \"class\": 3},"
		"{\"seq\": 2, \"time\": \"2026-11-22T14:00:02Z\", \"event\": \"link-down\","
		" \"severity\": \"warning\", \"port\": \"p5\"},"
		"{\"seq\": 3, \"time\": \"2026-11-22T14:00:03Z\", \"event\": \"pfc-xoff\","
		" \"severity\": \"info\", \"port\": \"p5\", \"class\": 3},"
		"{\"seq\": 4, \"time\": \"2026-11-22T14:00:04Z\", \"event\": \"link-down\","
		" \"severity\": \"warning\", \"port\": \"p5\"}";
	draw(b, 24, 80, true);
	shows(b, "\n14:00:01Z ALARM pfc-storm p5:3\n14:00:04Z warning link-down p5 x2\n\n");
	assert_int_equal(b->s[1]->event_seq, 4);
}

static void a_storm_that_is_over_is_no_alarm_and_a_cut_line_says_so(void **state)
{
	struct bench *b = *state;

	b->now.events =
		"{\"seq\": 1, \"time\": \"2026-11-22T14:00:01Z\", \"event\": \"pfc-storm\","
		" \"severity\": \"alarm\", \"port\": \"p5\", \"class\": 3, \"action\": \"drop\"},"
		"{\"seq\": 2, \"time\": \"2026-11-22T14:00:02Z\", \"event\": \"worker-stalled\","
		" \"severity\": \"alarm\", \"worker\": 0, \"ports\": [\"a1\", \"a2\", \"b1\"]}";
	draw(b, 24, 80, true);
	shows(b, "\nno alarm\n");
	shows(b, "\n14:00:01Z over pfc-storm p5:3 action=drop\n");
	shows(b, "\n14:00:02Z ALARM worker-stalled worker=0 ports=a1,a2,b1\n");
	assert_int_equal(top_cell(b->c, line_of(b, "14:00:01Z"), 10)->attr, TOP_FAINT);
	draw(b, 24, 50, true);
	shows(b, "\n14:00:02Z ALARM worker-stalled worker=0 ports=a...\n");
	b->now.port[4].status = "stormed";
	draw(b, 24, 80, true);
	shows(b, "\n14:00:01Z ALARM pfc-storm p5:3 action=drop\n");
}

static void more_events_than_room_keep_the_alarms(void **state)
{
	struct top_snapshot *s = top_snapshot_create(NULL);

	(void)state;
	take(s, "events", "{\"events\": [{\"seq\": 1, \"time\": \"T\", \"event\": \"loop\", "
			  "\"severity\": \"alarm\"}]}");
	for (unsigned i = 0; i < 2 * TOP_EVENTS; i++)
		take(s, "events",
		     "{\"events\": [{\"seq\": %u, \"time\": \"T\", \"event\": \"link-down\", "
		     "\"severity\": \"warning\", \"port\": \"p%u\"}]}", i + 2, i);
	assert_int_equal(s->n_events, TOP_EVENTS);
	assert_string_equal(s->events[0].name, "loop");
	assert_string_equal(s->events[TOP_EVENTS - 1].port, "p127");
	top_snapshot_destroy(s);
}

// ---- plain lines

static void plain_lines_leave_idle_ports_out_and_stay_within_80_columns(void **state)
{
	struct bench *b = *state;

	busy(b);
	b->now.port[5] = b->now.port[0] = (struct recorded_port){0};
	b->now.port[5].roce_in_lossy = 1;
	draw(b, 0, 0, true);
	assert_true(b->c->columns <= 80);
	shows(b, "sw1  14:02:11  6 up\nWorkers 40% 41%");
	shows(b, "\nSTORM  p5 class 3");
	shows(b, "\np3   drops    32.0M   3      0   0     0     0     0     42        0      0\n");
	shows(b, "\n(2 idle ports are not shown)\nhint: RoCE");
	shows_not(b, "\np1 ");
	b->now.port[0].down = b->now.port[0].no_device = true;
	draw(b, 0, 0, true);
	shows(b, "\np1   no-dev ");
	shows_not(b, "q quit");
}

// ---- bars and numbers

static void bars_have_eighths_or_only_ascii(void **state)
{
	struct top_canvas *c = top_canvas_create(1, 12, false);
	wchar_t want[] = L"[\u2588\u2588\u2588\u258e      ]";

	(void)state;
	top_bar(c, 0, 0, 12, 0.325, TOP_GOOD, "");
	for (unsigned x = 0; x < 12; x++)
		assert_int_equal(top_cell(c, 0, x)->ch, want[x]);
	top_bar(c, 0, 0, 12, 7, TOP_GOOD, "over");
	assert_int_equal(top_cell(c, 0, 6)->ch, 0x2588);
	assert_int_equal(top_cell(c, 0, 7)->ch, L'o');
	free(c);
}

static void a_number_has_five_characters_at_most(void **state)
{
	static const struct {
		double v;
		const char *want;
	} cases[] = {{0, "0"},          {0.01, "0.1"},      {0.34, "0.3"},    {9.96, "10"},
		     {42, "42"},        {999.4, "999"},     {999.6, "1.00k"}, {12345, "12.3k"},
		     {99960, "100k"},   {999600, "1.00M"},  {4e11, "400G"},   {1.8e19, "18.0E"}};
	char out[TOP_NUMBER_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(top_number(out, cases[i].v), cases[i].want);
}

// ---- keys

static bool press(struct bench *b, const char *keys)
{
	bool goes_on = true;

	for (; *keys != '\0'; keys++)
		goes_on = top_press(&b->view, &b->data, *keys == '^' ? TOP_ESCAPE : *keys);
	return goes_on;
}

static void the_selection_stays_with_its_port_and_in_sight(void **state)
{
	struct bench *b = *state;

	b->before.n_ports = b->now.n_ports = 64;
	draw(b, 24, 80, true);
	assert_true(top_cell(b->c, line_of(b, "p1 "), 0)->attr & TOP_REVERSE);
	press(b, "j");
	assert_string_equal(b->view.selected, "p2");
	top_press(&b->view, &b->data, TOP_KEY_PAGE_DOWN);
	top_press(&b->view, &b->data, TOP_KEY_DOWN);
	for (unsigned i = 0; i < 9; i++)
		top_press(&b->view, &b->data, TOP_KEY_PAGE_DOWN);
	assert_string_equal(b->view.selected, "p64");
	draw(b, 10, 40, true);
	assert_true(top_cell(b->c, line_of(b, "p64"), 0)->attr & TOP_REVERSE);
	shows_not(b, "\np1 ");
	b->now.port[63].drops = 1;
	draw(b, 10, 40, true);
	assert_int_equal(line_of(b, "p64"), line_of(b, "Port") + 1);
	press(b, "k");
	assert_string_equal(b->view.selected, "p64");
	top_press(&b->view, &b->data, TOP_KEY_UP);
	press(b, "jk");
	assert_string_equal(b->view.selected, "p64");
}

static void keys_open_sort_pause_help_and_quit(void **state)
{
	struct bench *b = *state;

	draw(b, 24, 80, true);
	press(b, "j\n");
	assert_string_equal(b->view.opened, "p2");
	press(b, "j\n");
	assert_string_equal(b->view.opened, "p2");
	press(b, "^");
	assert_string_equal(b->view.opened, "");
	press(b, "s");
	assert_int_equal(b->view.sort, TOP_SORT_THROUGHPUT);
	press(b, "ssssss");
	assert_int_equal(b->view.sort, TOP_SORT_TROUBLE);
	press(b, "p+h");
	assert_true(b->view.paused);
	draw(b, 24, 80, true);
	shows(b, "screen paused  sort trouble  every 2 s");
	shows(b, "select a port");
	press(b, "^p--");
	assert_false(b->view.paused || b->view.help);
	assert_true(b->view.interval_s < 0.6);
	press(b, "---------");
	assert_true(b->view.interval_s > 0);
	assert_false(press(b, "q"));
}

static void a_filter_is_typed_and_taken_back(void **state)
{
	struct bench *b = *state;

	draw(b, 24, 80, true);
	assert_true(press(b, "/pq3"));
	draw(b, 24, 80, true);
	shows(b, "filter: pq3_");
	top_press(&b->view, &b->data, TOP_KEY_BACKSPACE);
	top_press(&b->view, &b->data, TOP_KEY_BACKSPACE);
	press(b, "3\n");
	draw(b, 24, 80, true);
	shows(b, "filter p3");
	line_of(b, "p3 ");
	shows_not(b, "\np1 ");
	shows(b, "6 up"); // the head is of all ports
	press(b, "^");
	assert_string_equal(b->view.filter, "");
	press(b, "/x^");
	assert_string_equal(b->view.filter, "");
	assert_false(b->view.typing);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(six_ports_at_80x24_are_this_screen),
		T(a_port_that_is_opened_is_this_screen),
		T(every_size_and_number_of_ports_fits),
		T(wide_screens_have_more_columns_and_narrow_ones_keep_the_important),
		T(alarms_are_said_in_words_and_as_alarms),
		T(a_hint_names_ports_dscp_and_cure),
		T(alarms_come_before_newer_warnings_and_repetitions_are_one_line),
		T(a_storm_that_is_over_is_no_alarm_and_a_cut_line_says_so),
		T(more_events_than_room_keep_the_alarms),
		T(plain_lines_leave_idle_ports_out_and_stay_within_80_columns),
		T(bars_have_eighths_or_only_ascii),
		T(a_number_has_five_characters_at_most),
		T(the_selection_stays_with_its_port_and_in_sight),
		T(keys_open_sort_pause_help_and_quit),
		T(a_filter_is_typed_and_taken_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
