// SPDX-License-Identifier: Apache-2.0
// ports[].keep: from words of the policy to what the driver is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "control/config/config.h"
#include "control/config/port_open.h"
#include "drivers/xdp/weir_xdp.h"

static struct config *load(const char *keep)
{
	struct diags d = {0};
	struct config *c = NULL;
	char text[256];
	int len = snprintf(text, sizeof(text),
			   "ports: [{name: p1, device: \"xdp:e1\", speed: 1G%s}]", keep);
	int err = config_parse("keep.yaml", text, (size_t)len, &c, &d);

	for (unsigned i = 0; i < d.n; i++)
		print_message("%s\n", d.lines[i]);
	diags_fini(&d);
	assert_int_equal(err, 0);
	return c;
}

static struct keep keep_of(const char *text)
{
	struct config *c = load(text);
	struct keep k = config_port(c, 0).keep;

	config_destroy(c);
	return k;
}

static void lldp_is_kept_where_the_switch_does_not_speak_it(void **state)
{
	struct keep k = keep_of(", lldp: off");

	(void)state;
	assert_int_equal(k.kinds, 1u << WEIR_KEEP_LLDP);
	assert_int_equal(k.n_ports, 0);
	assert_int_equal(keep_of("").kinds, 0);
}

static void an_empty_list_keeps_nothing(void **state)
{
	(void)state;
	assert_int_equal(keep_of(", keep: []").kinds, 0);
}

static void every_word_is_a_rule(void **state)
{
	static const struct {
		const char *text;
		unsigned kinds;
	} rows[] = {
		{", keep: lldp", 1u << WEIR_KEEP_LLDP},
		{", keep: [lacp]", 1u << WEIR_KEEP_LACP},
		{", keep: [arp]", 1u << WEIR_KEEP_ARP},
		{", keep: [icmp]", 1u << WEIR_KEEP_ICMP},
		{", keep: [tcp/22]", 1u << WEIR_KEEP_TCP},
		{", keep: [udp/53]", 1u << WEIR_KEEP_UDP},
		{", keep: [lldp, arp]", 1u << WEIR_KEEP_LLDP | 1u << WEIR_KEEP_ARP},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(keep_of(rows[i].text).kinds, rows[i].kinds);
}

static void ports_keep_their_protocol_and_number(void **state)
{
	struct keep k = keep_of(", keep: [tcp/22, udp/65535, tcp/1]");

	(void)state;
	assert_int_equal(k.n_ports, 3);
	assert_int_equal(k.ports[0].kind, WEIR_KEEP_TCP);
	assert_int_equal(k.ports[0].port, 22);
	assert_int_equal(k.ports[1].kind, WEIR_KEEP_UDP);
	assert_int_equal(k.ports[1].port, 65535);
	assert_int_equal(k.ports[2].port, 1);
}

static void one_port_number_too_many_is_refused(void **state)
{
	struct keep k = {0};
	const char *why = NULL;
	char word[16];

	(void)state;
	for (unsigned i = 1; i <= KEEP_PORTS_MAX; i++) {
		snprintf(word, sizeof(word), "tcp/%u", i);
		assert_true(keep_add(&k, word, &why));
	}
	assert_false(keep_add(&k, "udp/9", &why));
	assert_non_null(strstr(why, "at most 32"));
	assert_int_equal(k.kinds, 1u << WEIR_KEEP_TCP);
}

static void a_reload_may_change_it(void **state)
{
	struct config *a = load(""), *b = load(", keep: [arp, tcp/22]");
	struct diags d = {0};

	(void)state;
	assert_int_equal(config_check_reload(a, b, &d), 0);
	diags_fini(&d);
	config_destroy(a);
	config_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lldp_is_kept_where_the_switch_does_not_speak_it),
		cmocka_unit_test(an_empty_list_keeps_nothing),
		cmocka_unit_test(every_word_is_a_rule),
		cmocka_unit_test(ports_keep_their_protocol_and_number),
		cmocka_unit_test(one_port_number_too_many_is_refused),
		cmocka_unit_test(a_reload_may_change_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
