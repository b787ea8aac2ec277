// SPDX-License-Identifier: Apache-2.0
// How the answers of a switch look to people: sentences in place of tables of zeros, footnotes, the
// lines about orders in force.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "control/base/terminal.h"
#include "control/ctl/show.h"

static char *shown(const char *what, const char *answer, const struct show_wish *wish)
{
	struct json_object *data = json_tokener_parse(answer);
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	assert_non_null(data);
	assert_true(show_tables(f, what, data, wish));
	fclose(f);
	json_object_put(data);
	return out;
}

static void want(const char *what, const char *answer, const struct show_wish *wish,
		 const char *text)
{
	char *out = shown(what, answer, wish);

	if (strcmp(out, text) != 0)
		fail_msg("show %s: \"%s\" is not \"%s\"", what, out, text);
	free(out);
}

static void want_part(const char *what, const char *answer, const struct show_wish *wish,
		      const char *text)
{
	char *out = shown(what, answer, wish);

	if (strstr(out, text) == NULL)
		fail_msg("show %s: \"%s\" is not in \"%s\"", what, text, out);
	free(out);
}

static const struct show_wish plain, all = {.all = true};

// ---- nothing has happened

static const char calm_watchdog[] =
	"{\"watchdog\": [{\"port\": \"p1\", \"class\": 3, \"status\": \"operational\","
	" \"mode\": \"xoff\", \"detected\": 0, \"tx_ok\": 0},"
	" {\"port\": \"p2\", \"class\": 3, \"status\": \"operational\", \"mode\": \"xoff\"}]}";

static void a_table_of_zeros_is_one_sentence(void **state)
{
	static const struct {
		const char *what, *answer, *text;
	} rows[] = {
		{"watchdog", calm_watchdog,
		 "no class has been in a storm; --all shows 2 watched classes with all "
		 "settings\n"},
		{"pfc", "{\"pfc\": [{\"port\": \"p1\", \"class\": 3, \"rx_pause\": 0,"
			" \"tx_pause\": 0, \"xoff\": false}]}",
		 "no PFC frame has been received or sent; --all shows 1 class without PFC\n"},
		{"control", "{\"control\": [{\"port\": \"p1\", \"lldp\": 0}], \"steering\": []}",
		 "the switch has consumed no control frame; --all shows 8 kinds without a frame\n\n"
		 "every frame has come through the receive ring\n"},
		{"hints", "{\"hints\": [{\"port\": \"p1\", \"roce_not_ect\": 0}]}",
		 "no sign of a wrong configuration; --all shows 13 signs without a frame\n"},
		{"guard", "{\"guard\": []}", "no frame has turned back inside a group of ports\n"},
		{"queues", "{\"queues\": [{\"port\": \"p1\", \"queue\": 0, \"tx_packets\": 0}],"
			   " \"pools\": [{\"size_bytes\": 1000}]}",
		 "no queue has sent or holds a frame; --all shows 1 idle queue\n"},
		{"latency", "{\"latency\": []}", "no frame has passed a queue\n"},
		{"neighbours", "{\"neighbours\": []}", "no neighbour is known\n"},
		{"routes", "{\"routes\": []}", "no route: no port has an `ip`\n"},
		{"events", "{\"events\": []}", "no event\n"},
		{"drops", "{\"drops\": [], \"reasons\": [], \"total\": {\"packets\": 0}}",
		 "no frame was dropped\n"},
		{"fdb", "{\"fdb\": [], \"fdb_ports\": [{\"port\": \"p1\", \"limit\": 9}]}",
		 "no address is known\n\nno port has learned an address; --all shows 1 port "
		 "without an address\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		want(rows[i].what, rows[i].answer, &plain, rows[i].text);
}

static void one_of_the_tables_of_watermarks_is_shown_alone(void **state)
{
	static const char marks[] =
		"{\"queues\": [{\"port\": \"p1\", \"queue\": 3, \"max_bytes\": 5}],"
		" \"pgs\": [{\"port\": \"p2\", \"pg\": 3, \"max_headroom_bytes\": 256}],"
		" \"pools\": [{\"name\": \"ingress\", \"max_bytes\": 7}]}";
	const struct show_wish groups = {.only = FACTS_PG_MARKS + 1};
	char *out = shown("watermarks", marks, &groups);

	(void)state;
	assert_non_null(strstr(out, "p2 "));
	assert_null(strstr(out, "p1 "));
	assert_null(strstr(out, "ingress"));
	assert_int_equal(strncmp(out, "PORT", 4), 0);
	free(out);
	want_part("watermarks", marks, &plain, "\ningress");
}

static void all_shows_the_rows_of_zeros(void **state)
{
	(void)state;
	want_part("watchdog", calm_watchdog, &all, "\np2:3   operational  0/0 ");
	want_part("watchdog", calm_watchdog, &all, "DETECT");
	want_part("pfc", "{\"pfc\": [{\"port\": \"p1\", \"class\": 3, \"rx_pause\": 0}]}", &all,
		  "PORT RX  PFC0  PFC1  PFC2  PFC3  PFC4  PFC5  PFC6  PFC7\n"
		  "-------  ----  ----  ----  ----  ----  ----  ----  ----\n"
		  "p1          0     0     0     0     0     0     0     0\n");
}

static void a_lossless_group_without_use_is_counted(void **state)
{
	static const char groups[] =
		"{\"pgs\": [{\"port\": \"p1\", \"pg\": 3, \"lossless\": true},"
		" {\"port\": \"p2\", \"pg\": 3, \"lossless\": true, \"max_headroom_bytes\": 256},"
		" {\"port\": \"p3\", \"pg\": 3, \"lossless\": true, \"shared_bytes\": 256}],"
		" \"pools\": []}";
	static const char settings[] =
		"{\"buffer\": {}, \"pg_config\": ["
		"{\"port\": \"p1\", \"pg\": 0, \"lossless\": false, \"min_bytes\": 0,"
		" \"alpha\": \"8\", \"static_bytes\": null, \"headroom_bytes\": 0},"
		"{\"port\": \"p1\", \"pg\": 1, \"lossless\": false, \"min_bytes\": 512,"
		" \"alpha\": \"8\", \"static_bytes\": null, \"headroom_bytes\": 0},"
		"{\"port\": \"p1\", \"pg\": 3, \"lossless\": true, \"min_bytes\": 0,"
		" \"alpha\": \"1\"}]}";
	char *out = shown("buffers", groups, &plain);

	(void)state;
	assert_null(strstr(out, "p1 "));
	assert_non_null(strstr(out, "p2 "));
	assert_non_null(strstr(out, "p3 "));
	assert_non_null(strstr(out, "(1 idle priority group is not shown; name a port, or --all"));
	free(out);
	want_part("buffers", groups, &all, "\np1 ");
	out = shown("buffers-config", settings, &plain);
	assert_null(strstr(out, "\n 0      -"));
	assert_non_null(strstr(out, "\n 1      -"));
	assert_non_null(strstr(out, "\n 3      -"));
	assert_non_null(strstr(out, "(1 lossy group without min or headroom is not shown;"));
	free(out);
	want_part("buffers-config", settings, &all, "\n 0      -");
}

static void rows_of_zeros_are_counted_and_the_others_shown(void **state)
{
	static const char pfc[] =
		"{\"pfc\": [{\"port\": \"p1\", \"class\": 3, \"rx_pause\": 7, \"tx_pause\": 0},"
		" {\"port\": \"p1\", \"class\": 4, \"rx_pause\": 0, \"tx_pause\": 0},"
		" {\"port\": \"p2\", \"class\": 3, \"rx_pause\": 0, \"tx_pause\": 0}]}";
	static const char hints[] =
		"{\"hints\": [{\"port\": \"p1\", \"roce_in_lossy_class\": 70211}]}";

	(void)state;
	want_part("pfc", pfc, &plain,
		  "PORT RX  PFC3  PFC4\n"
		  "-------  ----  ----\n"
		  "p1          7     0\n"
		  "(1 port without PFC is not shown; name a port, or --all, to see it)\n\n"
		  "no PFC frame has been sent; --all shows 2 ports without PFC\n\n"
		  "PORT  CLASS  RX_PAUSED");
	want_part("pfc", pfc, &plain,
		  "(2 classes without PFC are not shown; name a port, or --all, to see them)\n");
	want_part("hints", hints, &plain,
		  "p1    roce_in_lossy_class  70,211  RoCEv2 frames that the policy puts into a "
		  "lossy class\n(12 signs without a frame are not shown;");
	want_part("watchdog",
		  "{\"watchdog\": [{\"port\": \"p1\", \"class\": 3, \"status\": \"stormed\"},"
		  " {\"port\": \"p2\", \"class\": 3, \"status\": \"operational\", \"detected\": 0},"
		  " {\"port\": \"p3\", \"class\": 3, \"status\": \"operational\","
		  " \"detected\": 1}]}",
		  &plain, "(1 class without a storm is not shown;");
}

static void one_port_shows_what_its_pfc_is_agreed_to_be(void **state)
{
	static const struct show_wish p1 = {.all = true, .port = "p1"};
	static const char answer[] =
		"{\"pfc\": [{\"port\": \"p1\", \"class\": 3, \"rx_pause\": 178, \"tx_pause\": 43}],"
		" \"pfc_ports\": [{\"port\": \"p1\", \"mode\": \"auto\", \"configured\": [3, 4],"
		" \"dcbx\": \"mismatch\", \"host_pfc\": [3], \"in_force\": [3]}]}";
	char *out;

	(void)state;
	want_part("pfc", answer, &p1,
		  "PORT  MODE  CONFIGURED  DCBX      HOST  IN_FORCE\n"
		  "----  ----  ----------  --------  ----  --------\n"
		  "p1    auto  3 4         mismatch  3     3\n"
		  "\nPORT RX  PFC0 ");
	out = shown("pfc", answer, &plain);
	assert_null(strstr(out, "CONFIGURED"));
	free(out);
}

static void queues_have_sums_by_port(void **state)
{
	static const struct show_wish narrow = {.width = 80};
	static const char answer[] =
		"{\"queues\": [{\"port\": \"p1\", \"queue\": 0, \"tx_packets\": 10,"
		" \"tx_bytes\": 1000, \"tx_pps\": 2, \"tx_bps\": 1600, \"dropped_packets\": 3,"
		" \"dropped_bytes\": 300}, {\"port\": \"p1\", \"queue\": 3, \"tx_packets\": 5,"
		" \"tx_bytes\": 7000, \"tx_pps\": 1, \"tx_bps\": 800},"
		" {\"port\": \"p2\", \"queue\": 0}],"
		" \"pools\": [{\"name\": \"ingress\", \"size_bytes\": 852000}]}";
	char *out = shown("queues", answer, &plain);

	(void)state;
	assert_non_null(strstr(out, "  TX_OK  TX_BYTES  TX_PPS     TX_BPS  "));
	assert_non_null(strstr(out, "  TX_DRP  DRP_BYTES  "));
	assert_non_null(strstr(out, "\n\nPORT_TOTAL  LENGTH  FRAMES  TX_OK  TX_BYTES  TX_PPS"));
	assert_non_null(strstr(out, "\np1             0 B       0     15   8.00 KB       3  "
				    "2.40 Kb/s    0       3      300 B\n"));
	assert_non_null(strstr(out, "(1 idle port is not shown;"));
	free(out);
	out = shown("queues", answer, &narrow);
	assert_null(strstr(out, "  DRP_BYTES  PAUSED"));
	for (const char *line = out; *line != '\0'; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 80);
	free(out);
}

// ---- figures that need a word

static void a_line_for_people_is_a_sentence_with_readable_figures(void **state)
{
	static const struct {
		const char *what, *answer, *part;
	} rows[] = {
		{"watchdog", "{\"watchdog\": []}",
		 "no class is watched; set `watchdog: on` in a profile\n"},
		{"version", "{\"version\": {\"uptime_ms\": 974321}}", "uptime       16 min 14 s\n"},
		{"version", "{\"version\": {\"uptime_ms\": 59999}}", "uptime       59 s\n"},
		{"version", "{\"version\": {\"uptime_ms\": 7260000}}", "uptime       2 h 1 min\n"},
		{"version", "{\"version\": {\"uptime_ms\": 273600000}}", "uptime       3 d 4 h\n"},
		{"events",
		 "{\"events\": [{\"time\": \"T\", \"event\": \"worker-stalled\", \"worker\": 0,"
		 " \"ports\": [\"a1\", \"a2\", \"b1\"]}]}",
		 " worker=0 ports=a1,a2,b1\n"},
		{"pfc", "{\"pfc\": [], \"stand_in\": {\"frames\": 3168}}",
		 "\nthe stand-in sent 3,168 PFC frames beside these (weirctl show workers: "
		 "STAND_INS)\n"},
		{"workers", "{\"workers\": [{\"worker\": 0, \"stalls\": 0, \"stand_ins\": 7}]}",
		 "  STAND_INS  "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		want_part(rows[i].what, rows[i].answer, &plain, rows[i].part);
}

static void a_stay_of_nothing_is_shorter_than_a_turn(void **state)
{
	static const char answer[] =
		"{\"latency\": [{\"port\": \"p1\", \"queue\": 3, \"class\": 3, \"packets\": 9,"
		" \"p50_ns\": 0, \"p99_ns\": 1500, \"max_ns\": 2000, \"turn_ns\": %d}]}";
	char text[sizeof(answer) + 16];

	(void)state;
	snprintf(text, sizeof(text), answer, 33000);
	want_part("latency", text, &plain, "p1        3      3       9  < 33.0 us  1.50 us  ");
	snprintf(text, sizeof(text), answer, 0);
	want_part("latency", text, &plain, "  < a loop  1.50 us  ");
}

static void a_queue_that_held_more_than_the_pool_has_a_footnote(void **state)
{
	static const char answer[] =
		"{\"queues\": [{\"port\": \"p1\", \"queue\": 3, \"max_bytes\": %d}],"
		" \"pools\": [{\"name\": \"ingress\", \"size_bytes\": 852000}]}";
	char text[sizeof(answer) + 16], *out;

	(void)state;
	snprintf(text, sizeof(text), answer, 1620000);
	want_part("queues", text, &plain, " 1.62 MB*  ");
	want_part("queues", text, &plain, "\n* is more than the ingress pool (852.0 KB). ");
	snprintf(text, sizeof(text), answer, 852000);
	out = shown("queues", text, &plain);
	assert_null(strchr(out, '*'));
	free(out);
}

static void losses_before_the_switch_say_so(void **state)
{
	(void)state;
	want_part("flows", "{\"flows\": [{\"gap_packets\": 46}], \"all\": 1, \"unpaired\": 0}",
		  &plain, "  LOST_UPSTREAM  ");
}

// ---- orders in force

static void want_orders(const char *state, const char *text)
{
	char answer[128], *out = NULL;
	struct json_object *data;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	snprintf(answer, sizeof(answer), "{\"version\": {%s}}", state);
	data = json_tokener_parse(answer);
	print_orders(f, data);
	fclose(f);
	json_object_put(data);
	assert_string_equal(out, text);
	free(out);
}

static void an_order_in_force_is_a_line_above_the_table(void **state)
{
	static const char held[] = "HELD: no frame is admitted, because of quiesce --hold, until: "
				   "weirctl resume\n";
	static const char drops[] = "DROP-ALL is on: frames of all lossless classes are discarded, "
				    "until: weirctl watchdog drop-all off\n";
	char both[sizeof(held) + sizeof(drops)];

	(void)state;
	snprintf(both, sizeof(both), "%s%s", drops, held);
	want_orders("\"held\": false, \"drop_all\": false", "");
	want_orders("\"held\": true, \"drop_all\": false", held);
	want_orders("\"held\": false, \"drop_all\": true", drops);
	want_orders("\"held\": true, \"drop_all\": true", both);
}

// ---- narrow terminals

static const char one_port[] =
	"{\"ports\": [{\"name\": \"p1\", \"device\": \"xdp:sw1\","
	" \"speed_bps\": 100000000000, \"mtu\": 1500, \"up\": true, \"tx_enabled\": true,"
	" \"rx_packets\": 123456789, \"rx_bps\": 1234567890, \"rx_missed\": 12345,"
	" \"tx_packets\": 123456789, \"tx_bps\": 1234567890, \"tx_errors\": 1,"
	" \"when_stalled\": \"stand-in pauses the peer\"}]}";

static size_t longest_line(const char *text)
{
	size_t longest = 0;

	while (*text != '\0') {
		size_t n = strcspn(text, "\n");

		longest = n > longest ? n : longest;
		text += n + (text[n] == '\n');
	}
	return longest;
}

static void a_table_leaves_out_columns_by_rank_until_it_fits(void **state)
{
	struct show_wish narrow = {.width = 80};
	char *out = shown("ports", one_port, &narrow);

	(void)state;
	assert_in_range(longest_line(out), 76, 80);
	if (strncmp(out,
		    "PORT  OPER  TX        RX_OK     RX_BPS  RX_MISS        TX_OK     TX_BPS  "
		    "TX_ERR\n", 78) != 0)
		fail_msg("%s", out);
	assert_non_null(strstr(out, "\n(not shown: DEVICE, SPEED, MTU, LOOP, RX_ROCE, PFC_RX, "
				    "PFC_TX, RX_GUARD,\n  IF_STALLED; --wide shows them)\n"));
	free(out);
	narrow.width = 40;
	out = shown("ports", one_port, &narrow);
	assert_non_null(strstr(out, "p1      up  1.23 Gb/s  1.23 Gb/s\n"));
	free(out);
	out = shown("ports", one_port, &plain); // no terminal
	assert_null(strstr(out, "not shown"));
	assert_non_null(strstr(out, "  stand-in pauses the peer\n"));
	free(out);
}

static void a_text_in_the_last_column_goes_on_below(void **state)
{
	static const char answer[] =
		"{\"hints\": [{\"port\": \"p1\", \"roce_in_lossy_class\": 70211}]}";
	struct show_wish narrow = {.width = 64};

	(void)state;
	want("hints", answer, &narrow,
	     "PORT  KIND                 FRAMES  MEANING\n"
	     "----  -------------------  ------  -----------------------------\n"
	     "p1    roce_in_lossy_class  70,211  RoCEv2 frames that the policy\n"
	     "                                   puts into a lossy class\n"
	     "(12 signs without a frame are not shown; name a port, or --all, to see them)\n");
}

static void no_width_is_too_small(void **state)
{
	static const char *const answers[][2] = {
		{"ports", one_port}, {"watchdog", calm_watchdog}, {"guard", "{\"guard\": []}"},
		{"hints", "{\"hints\": [{\"port\": \"p1\", \"roce_not_ect\": 7}]}"},
	};

	(void)state;
	for (unsigned width = 1; width <= 200; width++)
		for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
			const struct show_wish wish = {.all = true, .width = width};
			char *out = shown(answers[i][0], answers[i][1], &wish);

			if (width >= 80 && strcmp(answers[i][0], "ports") == 0)
				assert_in_range(longest_line(out), 10, width);
			assert_int_equal(out[strlen(out) - 1], '\n');
			free(out);
		}
}

static void want_folded(const char *text, unsigned width, const char *folded)
{
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	print_folded(f, text, width);
	fclose(f);
	assert_string_equal(out, folded);
	free(out);
}

static void a_long_sentence_breaks_between_words(void **state)
{
	(void)state;
	want_folded("one two three four five six seven\n", 0,
		    "one two three four five six seven\n");
	want_folded("one two three four five six seven eight\nnine\n", 24,
		    "one two three four five\n  six seven eight\nnine\n");
	want_folded("a_word_that_is_longer_than_the_line\n", 20,
		    "a_word_that_is_longe\n  r_than_the_line\n");
	want_folded("exactly twenty-four char\n", 24, "exactly twenty-four char\n");
	want_folded("no newline", 4, "no\n  newline");
}

static void a_line_is_measured_in_characters(void **state)
{
	(void)state;
	want_folded("\u00e4\u00e4\u00e4 \u00e4\u00e4\u00e4 \u00e4\n", 7,
		    "\u00e4\u00e4\u00e4 \u00e4\u00e4\u00e4\n  \u00e4\n");
	want_folded("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\n", 4,
		    "\u00e4\u00e4\u00e4\u00e4\n  \u00e4\u00e4\n");
}

// ---- the policy that runs

static void ports_with_the_same_settings_share_a_line(void **state)
{
	static const char ecn[] =
		"{\"ecn\": [{\"port\": \"p9\", \"queue\": 3, \"wred\": true, \"ecn\": true,"
		" \"kmin_bytes\": 60000, \"kmax_bytes\": 200000, \"pmax_percent\": 0.5},"
		" {\"port\": \"p10\", \"queue\": 3, \"wred\": true, \"ecn\": true,"
		" \"kmin_bytes\": 60000, \"kmax_bytes\": 200000, \"pmax_percent\": 0.5},"
		" {\"port\": \"p12\", \"queue\": 3, \"wred\": true, \"ecn\": true,"
		" \"kmin_bytes\": 60000, \"kmax_bytes\": 200000, \"pmax_percent\": 0.5},"
		" {\"port\": \"p12\", \"queue\": 0, \"wred\": false},"
		" {\"port\": \"q1\", \"queue\": 3, \"wred\": true, \"ecn\": false,"
		" \"kmin_bytes\": 1000, \"kmax_bytes\": 2000, \"pmax_percent\": 100.0}]}";

	const struct show_wish narrow = {.width = 62};

	(void)state;
	want_part("ecn", ecn, &narrow, "    3  -       on  60.0 KB  200.0 KB  0.5 %  p9-p10 p12\n");
	want_part("ecn", ecn, &narrow, "    3  -      off  1.00 KB   2.00 KB  100 %  q1\n");
	want_part("ecn", ecn, &plain, "(1 group of queues without `wred` is not shown;");
}

static void maps_are_shown_by_class(void **state)
{
	static const char start[] =
		"{\"qos\": [{\"port\": \"p1\", \"profile\": \"roce\", \"trust\": \"dscp\","
		" \"default_class\": 0, \"lossless\": [3], \"dscp_to_class\": [0,0,3,0],"
		" \"pcp_to_class\": [0,1,2,3,4,5,6,7], \"class_to_queue\": [0,1,2,5,4,5,6,7],"
		" \"class_to_pg\": [0,1,2,3,4,5,6,7]}]}";

	(void)state;
	want_part("qos", start, &plain, "ports p1, profile roce: trust dscp, default class 0\n");
	want_part("qos", start, &plain, "\n    0        no      0   0  0    0-1 3\n");
	want_part("qos", start, &plain, "\n    3       yes      5   3  3    2\n");
	want_part("qos", start, &plain, "\n    4        no      4   4  4    -\n");
}

static void rates_are_those_of_the_time_between_two_answers(void **state)
{
	struct json_object *before = json_tokener_parse(
		"{\"interfaces\": [{\"t_ns\": 1000000000, \"rx_packets\": 100,"
		" \"rx_bytes\": 10000, \"tx_packets\": 900, \"tx_bytes\": 90000}]}");
	struct json_object *data = json_tokener_parse(
		"{\"interfaces\": [{\"port\": \"p1\", \"t_ns\": 3000000000, \"up\": true,"
		" \"speed_bps\": 1000000, \"rx_packets\": 300, \"rx_bytes\": 25200,"
		" \"rx_pps\": 7, \"tx_packets\": 5, \"tx_bytes\": 500, \"tx_pps\": 7}]}");

	(void)state;
	interval_rates(data, before);
	// 200 frames of 76 bytes and 24 on the line in two seconds; tx was cleared.
	want("interfaces", json_object_to_json_string(data), &plain,
	     "PORT  OPER      SPEED  RX_OK     RX_BPS  RX_PPS  RX_UTIL  TX_OK  TX_BPS  TX_PPS  "
	     "TX_UTIL\n"
	     "----  ----  ---------  -----  ---------  ------  -------  -----  ------  ------  "
	     "-------\n"
	     "p1      up  1.00 Mb/s    200  60.8 Kb/s     100      8 %      0   0 b/s       0  "
	     "    0 %\n");
	json_object_put(data);
	json_object_put(before);
}

static void vlans_name_their_ports(void **state)
{
	(void)state;
	want("vlan", "{\"vlan\": [{\"vlan\": 10, \"untagged\": [\"a1\", \"a2\"],"
		     " \"tagged\": [\"t1\"], \"flood\": true, \"ip\": [\"10.0.10.1/24\"]},"
		     " {\"vlan\": 20, \"untagged\": [], \"tagged\": [\"t1\", \"t3\"],"
		     " \"flood\": false}]}",
	     &plain,
	     "VLAN  FLOOD  UNTAGGED  TAGGED  IP\n"
	     "----  -----  --------  ------  ------------\n"
	     "  10     on  a1-a2     t1      10.0.10.1/24\n"
	     "  20    off  -         t1 t3   -\n");
	want("vlan", "{\"vlan\": []}", &plain, "no VLAN: the bridge does not look at tags\n");
}

// A storm drops frames of lossless classes by its policy: no alarm.
static void drops_say_which_are_an_alarm(void **state)
{
	static const struct show_wish wish = {0};

	(void)state;
	want("drops",
	     "{\"drops\": [{\"port\": \"p1\", \"class\": 3, \"lossless\": false, \"packets\": 9, "
	     "\"bytes\": 90, \"reason\": \"watchdog\"}, {\"port\": \"p2\", \"class\": 3, "
	     "\"lossless\": true, \"packets\": 1, \"bytes\": 10, \"reason\": \"headroom\"}], "
	     "\"reasons\": [], \"total\": {\"packets\": 10, \"bytes\": 100, "
	     "\"lossless_packets\": 1}}",
	     &wish,
	     "PORT  CLASS  ALARM  FRAMES  BYTES  REASON\n"
	     "----  -----  -----  ------  -----  --------\n"
	     "p1        3     no       9   90 B  watchdog\n"
	     "p2        3    yes       1   10 B  headroom\n"
	     "total: 10 frames, 100 B; of them an alarm: 1\n");
	want_part("drops",
		  "{\"drops\": [{\"port\": \"p1\", \"class\": 0, \"packets\": 1}], \"reasons\": [],"
		  " \"total\": {\"packets\": 1, \"bytes\": 64, \"lossless_packets\": 0}}",
		  &plain, "total: 1 frame, 64 B;");
}

// Tables show texts of LLDP, Redis, policies and peers. New lines stay, because a text in the last
// column may have several lines.
static void a_text_of_others_moves_no_terminal(void **state)
{
	static const char *const obeyed[] = {"\\u001b", "\\u0007", "\\u0000b", "\\u007f", "\\u009b",
					     "\\u061c", "\\u200b", "\\u200f", "\\u2028", "\\u202e",
					     "\\u2066", "\\u2069", "\\r"};
	char answer[256];

	(void)state;
	for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++) {
		char *out;

		snprintf(answer, sizeof(answer),
			 "{\"events\": [{\"time_ns\": 1, \"severity\": \"warning\", \"event\": "
			 "\"x\", \"port\": \"p%s\", \"text\": \"a%s\\u00e9\\u20ac\"}]}", obeyed[i],
			 obeyed[i]);
		out = shown("events", answer, &all);
		for (const char *c = out; *c != '\0'; c++)
			assert_true((unsigned char)*c >= ' ' || *c == '\n');
		assert_null(strstr(out, "\xe2\x80\xae"));
		assert_null(strstr(out, "\xc2\x9b"));
		free(out);
	}
	for (unsigned lines = 0; lines < 2; lines++) {
		char text[] = "\x1b[31m\xc2\x9b\u202e\u2066\u200b\u2028\u061c\r|\n"
			      "\u00e9\u20ac\u2713";

		text_mask(text, lines);
		assert_string_equal(text, lines ? "?[31m?????????????????|\n\u00e9\u20ac\u2713"
						: "?[31m?????????????????|?\u00e9\u20ac\u2713");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_of_others_moves_no_terminal),
		cmocka_unit_test(drops_say_which_are_an_alarm),
		cmocka_unit_test(a_table_of_zeros_is_one_sentence),
		cmocka_unit_test(one_of_the_tables_of_watermarks_is_shown_alone),
		cmocka_unit_test(all_shows_the_rows_of_zeros),
		cmocka_unit_test(a_lossless_group_without_use_is_counted),
		cmocka_unit_test(rows_of_zeros_are_counted_and_the_others_shown),
		cmocka_unit_test(one_port_shows_what_its_pfc_is_agreed_to_be),
		cmocka_unit_test(queues_have_sums_by_port),
		cmocka_unit_test(a_line_for_people_is_a_sentence_with_readable_figures),
		cmocka_unit_test(a_stay_of_nothing_is_shorter_than_a_turn),
		cmocka_unit_test(a_queue_that_held_more_than_the_pool_has_a_footnote),
		cmocka_unit_test(losses_before_the_switch_say_so),
		cmocka_unit_test(an_order_in_force_is_a_line_above_the_table),
		cmocka_unit_test(a_table_leaves_out_columns_by_rank_until_it_fits),
		cmocka_unit_test(a_text_in_the_last_column_goes_on_below),
		cmocka_unit_test(no_width_is_too_small),
		cmocka_unit_test(a_long_sentence_breaks_between_words),
		cmocka_unit_test(a_line_is_measured_in_characters),
		cmocka_unit_test(ports_with_the_same_settings_share_a_line),
		cmocka_unit_test(maps_are_shown_by_class),
		cmocka_unit_test(rates_are_those_of_the_time_between_two_answers),
		cmocka_unit_test(vlans_name_their_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
