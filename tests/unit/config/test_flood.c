// SPDX-License-Identifier: Apache-2.0
// Which classes are flooded, the memory that their copies need, and the line that says so.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "control/config/config.h"
#include "dataplane/policy.h"
#include "dataplane/port_ops.h"
#include "tests/unit/config/compiled.h"

static void lossless_classes_are_flooded_where_the_file_says_so(void **state)
{
	static const char text[] =
		"switch: {buffer: {size: 1MB}}\n"
		"ports:\n"
		"  - {name: \"p[1-4]\", device: \"xdp:e[1-4]\", speed: 1G, profile: a}\n"
		"  - {name: r1, device: \"xdp:r1\", speed: 1G, profile: a, ip: 10.0.1.1/24}\n"
		"profiles: {a: {classes: {3: {lossless: on}, 5: {lossless: on, flood: %s,\n"
		"  ingress: {headroom: 2560}}}}}\n";
	struct port_facts facts[5] = {0};
	char note[FLOOD_NOTE_LEN], yaml[800];
	struct config *c;
	struct policy *p;

	(void)state;
	snprintf(yaml, sizeof(yaml), text, "on");
	p = policy_of(yaml);
	assert_int_equal(p->ports[0].no_flood, 1 << 3);
	// 10 cells of headroom at each of 4 bridged ports; a record and two copies each.
	assert_int_equal(p->copy_frames, 4 * 10 * 3);
	assert_string_equal(config_flood_note(p, note, sizeof(note)),
			    "not flooded, because lossless: class 3; the switch drops their frames "
			    "to unknown addresses (lossless-unknown)");
	policy_destroy(p);
	for (unsigned i = 0; i < 5; i++)
		facts[i] = (struct port_facts){.rx_ring = 100, .pfc_tx = true, .pfc_rx = true};
	c = parsed(yaml);
	p = compile_with(c, facts);
	assert_int_equal(p->copy_frames, 4 * (10 + 164) * 3); // the ring and a burst as well
	policy_destroy(p);
	config_destroy(c);
	snprintf(yaml, sizeof(yaml) - 200, text, "off");
	p = policy_of(yaml);
	assert_int_equal(p->ports[0].no_flood, 1 << 3 | 1 << 5);
	assert_int_equal(p->copy_frames, 0);
	policy_destroy(p);
	// Three ports of a group: a record and two copies, or the frame came in elsewhere.
	strcat(yaml, "multicast: [{mac: \"01:00:5e:00:00:01\", ports: [p1]},\n"
		     "  {mac: \"01:00:5e:00:00:02\", ports: [p1, p2, p4]}]\n");
	p = policy_of(yaml);
	assert_int_equal(p->copy_frames, 4 * (p->ports[0].pg[3].xoff_cells + 10) * 3);
	assert_int_equal(p->n_multicast, 2);
	assert_int_equal(p->multicast[1].ports[0], 1 | 2 | 8);
	policy_destroy(p);
	p = policy_of("ports: [{name: p1, device: \"xdp:e1\", speed: 1G}]\n");
	assert_int_equal(p->ports[0].no_flood, 0);
	assert_null(config_flood_note(p, note, sizeof(note)));
	policy_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lossless_classes_are_flooded_where_the_file_says_so),
	};

	return cmocka_run_group_tests_name("config_flood", tests, NULL, NULL);
}
