// SPDX-License-Identifier: Apache-2.0
// The tables of `show --style sonic`, from answers that are written here: heads, layout and units
// of SONiC's own commands.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "control/ctl/show.h"
#include "control/ctl/sonic_show.h"

static const struct sonic_show *find(const char *text, int *n_words)
{
	char *words[8], *copy = strdup(text), *at = copy;
	int n = 0;
	const struct sonic_show *s;

	for (char *word; (word = strsep(&at, " ")) != NULL;)
		words[n++] = word;
	s = sonic_find(n, words, n_words);
	free(copy);
	return s;
}

static char *printed(const char *command, const char *answer, bool all)
{
	struct json_object *data = json_tokener_parse(answer);
	int n_words = 0;
	const struct sonic_show *s = find(command, &n_words);
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	assert_non_null(data);
	assert_non_null(s);
	sonic_print(f, s, data, all);
	fclose(f);
	json_object_put(data);
	return out;
}

static void want(const char *command, const char *answer, const char *text)
{
	char *out = printed(command, answer, false);

	if (strcmp(out, text) != 0)
		fail_msg("show %s: \"%s\" is not \"%s\"", command, out, text);
	free(out);
}

static void the_words_of_sonic_lead_to_our_kinds(void **state)
{
	static const struct {
		const char *words, *kind;
		int n_words;
	} rows[] = {
		{"pfc counters", "pfc", 2},
		{"pfc counters p1", "pfc", 2},
		{"pfcwd stats", "watchdog", 2},
		{"pfcwd config p1", "watchdog", 2},
		{"priority-group watermark headroom", "watermarks", 3},
		{"priority-group watermark shared", "watermarks", 3},
		{"priority-group drop counters", "buffers", 3},
		{"queue counters", "queues", 2},
		{"queue watermark unicast", "watermarks", 3},
		{"buffer_pool watermark", "watermarks", 2},
		{"headroom-pool watermark", "watermarks", 2},
		{"interfaces counters", "interfaces", 2},
		{"interfaces counters errors", "interfaces", 3},
		{"interfaces counters rates p1", "interfaces", 3},
		{"ecn", "ecn", 1},
	};
	static const char *const none[] = {"pfc", "pfc counter", "queue", "queue watermark",
					   "priority-group drop", "ecn-auto", "flows"};
	int n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sonic_show *s = find(rows[i].words, &n);

		assert_non_null(s);
		assert_string_equal(sonic_kind(s), rows[i].kind);
		assert_int_equal(n, rows[i].n_words);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_null(find(none[i], &n));
}

static void pauses_have_a_column_for_each_priority(void **state)
{
	(void)state;
	want("pfc counters",
	     "{\"pfc\": [{\"port\": \"Ethernet0\", \"class\": 3, \"rx_pause\": 1234,"
	     " \"tx_pause\": 7}, {\"port\": \"Ethernet0\", \"class\": 4, \"rx_pause\": 0,"
	     " \"tx_pause\": 1234567}]}",
	     "  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7\n"
	     "---------  ------  ------  ------  ------  ------  ------  ------  ------\n"
	     "Ethernet0     N/A     N/A     N/A   1,234       0     N/A     N/A     N/A\n"
	     "\n"
	     "  Port Tx    PFC0    PFC1    PFC2    PFC3       PFC4    PFC5    PFC6    PFC7\n"
	     "---------  ------  ------  ------  ------  ---------  ------  ------  ------\n"
	     "Ethernet0     N/A     N/A     N/A       7  1,234,567     N/A     N/A     N/A\n");
}

static const char watchdogs[] =
	"{\"watchdog\": ["
	"{\"port\": \"p1\", \"class\": 3, \"status\": \"stormed\", \"mode\": \"progress\","
	" \"action\": \"drop\", \"detect_ms\": 200, \"restore_ms\": 400, \"detected\": 2,"
	" \"restored\": 1, \"tx_ok\": 100, \"tx_dropped\": 300, \"rx_ok\": 5, \"rx_dropped\": 6,"
	" \"tx_ok_last\": 0, \"tx_dropped_last\": 200, \"rx_ok_last\": 7, \"rx_dropped_last\": 8},"
	"{\"port\": \"p1\", \"class\": 4, \"status\": \"operational\", \"mode\": \"progress\","
	" \"action\": \"drop\", \"detect_ms\": 200, \"restore_ms\": 400, \"detected\": 0,"
	" \"restored\": 0},"
	"{\"port\": \"p2\", \"class\": 3, \"status\": \"drop-all\", \"mode\": null}],"
	" \"version\": {\"drop_all\": true}}";

static void the_watchdog_has_the_stats_of_storms_and_its_settings(void **state)
{
	char *text;

	(void)state;
	want("pfcwd stats", watchdogs,
	     "  QUEUE    STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    "
	     "TX LAST OK/DROP    RX LAST OK/DROP\n"
	     "-------  --------  -------------------------  ------------  ------------  "
	     "-----------------  -----------------\n"
	     "   p1:3   stormed                        2/1       100/300           5/6  "
	     "            0/200                7/8\n");
	text = printed("pfcwd stats", watchdogs, true);
	assert_non_null(strstr(text, "\n   p1:4  operational                        0/0  "));
	free(text);
	want("pfcwd config", watchdogs,
	     "BIG_RED_SWITCH status is enable\n"
	     "  PORT    ACTION    DETECTION TIME    RESTORATION TIME\n"
	     "------  --------  ----------------  ------------------\n"
	     "    p1      drop               200                 400\n");
}

static void times_of_a_class_that_are_not_those_of_the_line_are_named(void **state)
{
	(void)state;
	want("pfcwd config",
	     "{\"watchdog\": ["
	     "{\"port\": \"p1\", \"class\": 3, \"mode\": \"progress\", \"action\": \"drop\","
	     " \"detect_ms\": 20, \"restore_ms\": 400},"
	     "{\"port\": \"p1\", \"class\": 4, \"mode\": \"progress\", \"action\": \"drop\","
	     " \"detect_ms\": 200, \"restore_ms\": 400},"
	     "{\"port\": \"p1\", \"class\": 5, \"mode\": null, \"detect_ms\": 0},"
	     "{\"port\": \"p2\", \"class\": 3, \"mode\": \"progress\", \"action\": \"drop\","
	     " \"detect_ms\": 200, \"restore_ms\": 300},"
	     "{\"port\": \"p2\", \"class\": 6, \"mode\": \"progress\", \"action\": \"drop\","
	     " \"detect_ms\": 200, \"restore_ms\": 300}]}",
	     "p1: class 4 has other times: weirctl show watchdog\n"
	     "  PORT    ACTION    DETECTION TIME    RESTORATION TIME\n"
	     "------  --------  ----------------  ------------------\n"
	     "    p1      drop                20                 400\n"
	     "    p2      drop               200                 300\n");
}

static void watermarks_and_drops_are_plain_digits(void **state)
{
	static const char marks[] =
		"{\"pgs\": [{\"port\": \"p1\", \"pg\": 3, \"max_shared_bytes\": 2057328,"
		" \"max_headroom_bytes\": 512, \"dropped_packets\": 1500}],"
		" \"queues\": [{\"port\": \"p1\", \"queue\": 7, \"max_bytes\": 1999}],"
		" \"pools\": [{\"name\": \"ingress\", \"max_bytes\": 10},"
		" {\"name\": \"headroom\", \"max_bytes\": 11},"
		" {\"name\": \"egress_lossy\", \"max_bytes\": 12},"
		" {\"name\": \"egress_lossless\", \"max_bytes\": 13}]}";

	(void)state;
	want("priority-group watermark shared", marks,
	     "Ingress shared pool occupancy per PG:\n"
	     "  Port    PG0    PG1    PG2      PG3    PG4    PG5    PG6    PG7\n"
	     "------  -----  -----  -----  -------  -----  -----  -----  -----\n"
	     "    p1    N/A    N/A    N/A  2057328    N/A    N/A    N/A    N/A\n");
	want("priority-group watermark headroom", marks,
	     "Ingress headroom per PG:\n"
	     "  Port    PG0    PG1    PG2    PG3    PG4    PG5    PG6    PG7\n"
	     "------  -----  -----  -----  -----  -----  -----  -----  -----\n"
	     "    p1    N/A    N/A    N/A    512    N/A    N/A    N/A    N/A\n");
	want("priority-group drop counters", marks,
	     "Ingress PG dropped packets:\n"
	     "  Port    PG0    PG1    PG2    PG3    PG4    PG5    PG6    PG7\n"
	     "------  -----  -----  -----  -----  -----  -----  -----  -----\n"
	     "    p1    N/A    N/A    N/A   1500    N/A    N/A    N/A    N/A\n");
	want("queue watermark unicast", marks,
	     "Egress shared pool occupancy per unicast queue:\n"
	     "  Port    UC0    UC1    UC2    UC3    UC4    UC5    UC6    UC7\n"
	     "------  -----  -----  -----  -----  -----  -----  -----  -----\n"
	     "    p1    N/A    N/A    N/A    N/A    N/A    N/A    N/A   1999\n");
	want("buffer_pool watermark", marks,
	     "Shared pool maximum occupancy:\n"
	     "                 Pool    Bytes\n"
	     "---------------------  -------\n"
	     "ingress_lossless_pool       10\n"
	     "    egress_lossy_pool       12\n"
	     " egress_lossless_pool       13\n");
	want("headroom-pool watermark", marks,
	     "Headroom pool maximum occupancy:\n"
	     "                 Pool    Bytes\n"
	     "---------------------  -------\n"
	     "ingress_lossless_pool       11\n");
}

static void each_port_has_its_table_of_queues(void **state)
{
	(void)state;
	want("queue counters",
	     "{\"queues\": [{\"port\": \"p1\", \"queue\": 0, \"tx_packets\": 1000,"
	     " \"tx_bytes\": 1234567890123456, \"dropped_packets\": 0, \"dropped_bytes\": 0},"
	     "{\"port\": \"p2\", \"queue\": 3, \"tx_packets\": 1, \"tx_bytes\": 64,"
	     " \"dropped_packets\": 2, \"dropped_bytes\": 128}]}",
	     "  Port    TxQ    Counter/pkts          Counter/bytes    Drop/pkts    Drop/bytes\n"
	     "------  -----  --------------  ---------------------  -----------  ------------\n"
	     "    p1    UC0           1,000  1,234,567,890,123,456            0             0\n"
	     "\n"
	     "  Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes\n"
	     "------  -----  --------------  ---------------  -----------  ------------\n"
	     "    p2    UC3               1               64            2           128\n");
}

static void a_line_of_a_port_has_the_sums_of_its_groups_and_queues(void **state)
{
	(void)state;
	want("interfaces counters",
	     "{\"interfaces\": [{\"port\": \"p1\", \"up\": true, \"rx_packets\": 1234,"
	     " \"rx_bps\": 1638400, \"rx_util_percent\": 64, \"tx_packets\": 5,"
	     " \"tx_bps\": 107000000, \"tx_util_percent\": 0.126},"
	     "{\"port\": \"p2\", \"up\": false, \"rx_packets\": 0, \"rx_bps\": 80}],"
	     " \"ports\": [{\"name\": \"p1\", \"rx_missed\": 1000, \"tx_errors\": 3}],"
	     " \"pgs\": [{\"port\": \"p1\", \"pg\": 0, \"dropped_packets\": 20},"
	     " {\"port\": \"p1\", \"pg\": 3, \"dropped_packets\": 4},"
	     " {\"port\": \"p2\", \"pg\": 3, \"dropped_packets\": 90}],"
	     " \"queues\": [{\"port\": \"p1\", \"dropped_packets\": 7},"
	     " {\"port\": \"p1\", \"dropped_packets\": 70}]}",
	     "  IFACE    STATE    RX_OK       RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR    "
	     "TX_OK      TX_BPS    TX_UTIL    TX_ERR    TX_DRP    TX_OVR\n"
	     "-------  -------  -------  -----------  ---------  --------  --------  --------  "
	     "-------  ----------  ---------  --------  --------  --------\n"
	     "     p1        U    1,234  204.80 KB/s     64.00%       N/A     1,024       N/A  "
	     "      5  13.38 MB/s      0.13%         3        77       N/A\n"
	     "     p2        D        0    10.00 B/s        N/A       N/A        90       N/A  "
	     "    N/A         N/A        N/A       N/A       N/A       N/A\n");
}

static void errors_and_rates_have_tables_of_their_own(void **state)
{
	static const char answer[] =
		"{\"interfaces\": [{\"port\": \"p1\", \"up\": true, \"rx_packets\": 1234,"
		" \"rx_bps\": 8, \"rx_pps\": 1500, \"tx_packets\": 5, \"tx_bps\": 80,"
		" \"tx_pps\": 2, \"rx_util_percent\": 1, \"tx_util_percent\": 2}],"
		" \"ports\": [{\"name\": \"p1\", \"rx_missed\": 6, \"tx_errors\": 3}],"
		" \"pgs\": [{\"port\": \"p1\", \"dropped_packets\": 1}],"
		" \"queues\": [{\"port\": \"p1\", \"dropped_packets\": 7}]}";

	(void)state;
	want("interfaces counters errors", answer,
	     "  IFACE    STATE    RX_ERR    RX_DRP    RX_OVR    TX_ERR    TX_DRP    TX_OVR\n"
	     "-------  -------  --------  --------  --------  --------  --------  --------\n"
	     "     p1        U       N/A         7       N/A         3         7       N/A\n");
	want("interfaces counters rates", answer,
	     "  IFACE    STATE    RX_OK    RX_BPS     RX_PPS    RX_UTIL    TX_OK     TX_BPS    "
	     "TX_PPS    TX_UTIL\n"
	     "-------  -------  -------  --------  ---------  ---------  -------  ---------  "
	     "--------  ---------\n"
	     "     p1        U    1,234  1.00 B/s  1500.00/s      1.00%        5  10.00 B/s  "
	     "  2.00/s      2.00%\n");
}

static void wred_profiles_are_printed_once(void **state)
{
#define QUEUE(port, queue, color, kmax)                                                            \
	"{\"port\": \"" port "\", \"queue\": " queue ", \"color\": \"" color "\", \"profile\":"    \
	" \"roce\", \"wred\": true, \"ecn\": true, \"kmin_bytes\": 1000, \"kmax_bytes\": " kmax    \
	", \"pmax_percent\": 12.5}"
#define TEXT(name, kmax)                                                                           \
	"Profile: " name "\n-----------------------  -------\n"                                    \
	"ecn                      ecn_all\nwred_green_enable        true\n"                        \
	"green_min_threshold      1000\ngreen_max_threshold      " kmax "\n"                       \
	"green_drop_probability   12.5\nwred_yellow_enable       true\n"                           \
	"yellow_min_threshold     1000\nyellow_max_threshold     " kmax "\n"                       \
	"yellow_drop_probability  12.5\nwred_red_enable          true\n"                           \
	"red_min_threshold        1000\nred_max_threshold        " kmax "\n"                       \
	"red_drop_probability     12.5\n-----------------------  -------\n\n"
	(void)state;
	want("ecn",
	     "{\"ecn\": [" QUEUE("p1", "3", "all", "2000") ", " QUEUE("p2", "3", "all", "2000")
	     ", " QUEUE("p3", "3", "all", "3000") "]}",
	     TEXT("roce|3", "2000") TEXT("roce|3|p3", "3000"));
	want("ecn", "{\"ecn\": [" QUEUE("p1", "3", "green", "2000") "]}",
	     "Profile: roce|3\n----------------------  -------\n"
	     "ecn                     ecn_all\nwred_green_enable       true\n"
	     "green_min_threshold     1000\ngreen_max_threshold     2000\n"
	     "green_drop_probability  12.5\n----------------------  -------\n\n");
	want("ecn", "{\"ecn\": [{\"port\": \"p1\", \"queue\": 0, \"wred\": false}]}", "");
}

static void each_table_names_the_kinds_that_it_needs(void **state)
{
	int n;

	(void)state;
	assert_string_equal(sonic_needs(find("interfaces counters", &n), 0), "buffers");
	assert_string_equal(sonic_needs(find("interfaces counters", &n), 1), "ports");
	assert_string_equal(sonic_needs(find("interfaces counters", &n), 2), "queues");
	assert_null(sonic_needs(find("interfaces counters", &n), 3));
	assert_string_equal(sonic_needs(find("pfcwd config", &n), 0), "version");
	assert_null(sonic_needs(find("pfc counters", &n), 0));
	assert_null(sonic_needs(find("ecn", &n), 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_words_of_sonic_lead_to_our_kinds),
		cmocka_unit_test(pauses_have_a_column_for_each_priority),
		cmocka_unit_test(the_watchdog_has_the_stats_of_storms_and_its_settings),
		cmocka_unit_test(times_of_a_class_that_are_not_those_of_the_line_are_named),
		cmocka_unit_test(watermarks_and_drops_are_plain_digits),
		cmocka_unit_test(each_port_has_its_table_of_queues),
		cmocka_unit_test(a_line_of_a_port_has_the_sums_of_its_groups_and_queues),
		cmocka_unit_test(errors_and_rates_have_tables_of_their_own),
		cmocka_unit_test(wred_profiles_are_printed_once),
		cmocka_unit_test(each_table_names_the_kinds_that_it_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
