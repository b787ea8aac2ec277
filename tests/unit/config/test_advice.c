// SPDX-License-Identifier: Apache-2.0
// Policies that load and compile but cannot mean what they say: each gives exactly these warnings,
// and its neighbour that makes sense gives none. Machines have two processors here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "control/config/config.h"
#include "dataplane/port_ops.h"
#include "tests/unit/config/compiled.h"

enum { PROCESSORS = 2 };

#define A "{name: a, device: \"wire:a\", speed: 1G"
#define PORT "ports: [" A ", profile: q}]\n"
#define TWO_PORTS                                                                                  \
	"ports: [" A ", profile: q},\n"                                                           \
	"  {name: b, device: \"wire:b\", speed: 10G, profile: q}]\n"
#define MAP "dscp_to_class: {default: 0, 24-31: 3}, "
#define LOSSLESS "classes: {3: {lossless: on}}"

// lines: what is warned of, each line ended by \n.
struct row {
	const char *policy, *lines;
};

static void expect_rows(const struct row *rows, size_t n, const struct port_facts *facts)
{
	for (size_t i = 0; i < n; i++) {
		struct config *c = parsed(rows[i].policy);
		struct policy *p = compile_with(c, facts);
		struct diags d = {0};
		char got[2048] = "";

		advice_add(c, facts, p, PROCESSORS, &d);
		for (unsigned k = 0; k < d.n; k++) {
			strcat(got, d.lines[k]);
			strcat(got, "\n");
		}
		assert_int_equal(d.n_errors, 0);
		assert_string_equal(got, rows[i].lines);
		diags_fini(&d);
		policy_destroy(p);
		config_destroy(c);
	}
}

#define EXPECT(rows) expect_rows(rows, sizeof(rows) / sizeof((rows)[0]), NULL)

static void a_lossless_class_without_pfc_is_warned_of(void **state)
{
	static const struct row rows[] = {
		{PORT "profiles: {q: {" MAP "pfc: {rx: on, tx: on}, " LOSSLESS "}}\n", ""},
		{PORT "profiles: {q: {" MAP "pfc: {tx: off}, " LOSSLESS "}}\n",
		 "t:2:65: warning: profiles.q.pfc.tx: the switch does not pause the senders of"
		 " lossless class 3, and drops frames when the headroom is full: set tx: on, or"
		 " remove lossless\n"},
		{PORT "profiles: {q: {pfc: {rx: off},\n"
		      "  classes: {3: {lossless: on}, 4: {lossless: on}}}}\n",
		 "t:2:26: warning: profiles.q.pfc.rx: the switch ignores a PAUSE for lossless"
		 " classes 3, 4, and the peer drops frames: set rx: on, or remove lossless\n"},
		{PORT "profiles: {q: {pfc: {rx: off, tx: off}}}\n", ""},
	};

	(void)state;
	EXPECT(rows);
}

static void a_lossless_class_that_no_frame_reaches_is_warned_of(void **state)
{
	static const struct row rows[] = {
		{PORT "profiles: {q: {dscp_to_class: {default: 0},\n  " LOSSLESS "}}\n",
		 "t:3:27: warning: profiles.q.classes.3.lossless: no DSCP leads to class 3: no"
		 " frame uses the class and its headroom: name the class in dscp_to_class, or"
		 " remove lossless\n"},
		{PORT "profiles: {q: {dscp_to_class: {default: 0, 26: 3},\n  " LOSSLESS "}}\n", ""},
		// The built-in map: DSCP 24 to 31.
		{PORT "profiles: {q: {" LOSSLESS "}}\n", ""},
		// Tagged frames that are not IP, if the writer speaks of PCP.
		{PORT "profiles: {q: {dscp_to_class: {default: 0}, pcp_to_class: {3: 3},\n"
		      "  " LOSSLESS "}}\n",
		 ""},
		{PORT "profiles: {q: {trust: pcp, pcp_to_class: {default: 0},\n  " LOSSLESS "}}\n",
		 "t:3:27: warning: profiles.q.classes.3.lossless: no PCP leads to class 3: no frame"
		 " uses the class and its headroom: name the class in pcp_to_class, or remove"
		 " lossless\n"},
		{PORT "profiles: {q: {trust: pcp, dscp_to_class: {default: 0},\n  " LOSSLESS "}}\n",
		 ""},
		{PORT "profiles: {q: {trust: port,\n  " LOSSLESS "}}\n",
		 "t:3:27: warning: profiles.q.classes.3.lossless: no port leads to class 3: no"
		 " frame uses the class and its headroom: name the class in default_class of a"
		 " port, or remove lossless\n"},
		// One of the ports is enough.
		{"ports: [" A ", profile: q},\n"
		 "  {name: b, device: \"wire:b\", speed: 1G, profile: q, default_class: 3}]\n"
		 "profiles: {q: {trust: port,\n  classes: {3: {lossless: on, flood: on}}}}\n",
		 ""},
	};

	(void)state;
	EXPECT(rows);
}

static void a_class_in_which_no_host_is_found_is_warned_of(void **state)
{
#define IN_CLASS_3(keys) \
	"ports: [" A ", profile: q, default_class: 3}]\nprofiles: {q: {trust: port,\n  " keys "}}\n"
#define TAGGED(keys) \
	"vlans: [{id: 5}]\nports: [" A ", profile: q, default_class: 3,\n" \
	"  vlan: {untagged: none, tagged: [5]}}]\nprofiles: {q: {" keys ",\n  " LOSSLESS "}}\n"
#define TAGGED_WARNING \
	"t:5:27: warning: profiles.q.classes.3.lossless: ARP in a tag with PCP 0 gets class 3," \
	" which is lossless and not flooded, so its requests are dropped and hosts do not find" \
	" each other: set flood: on in the class, or map PCP 0 to a lossy class\n"
	static const struct row rows[] = {
		{IN_CLASS_3(LOSSLESS),
		 "t:1:75: warning: ports[0] (a).default_class: ARP gets class 3, which is"
		 " lossless and not flooded, so its requests are dropped and hosts do not find"
		 " each other: set flood: on in the class, or give the port a lossy"
		 " default_class\n"},
		{IN_CLASS_3("classes: {3: {lossless: on, flood: on}}"), ""},
		{PORT "profiles: {q: {dscp_to_class: {default: 3},\n  " LOSSLESS "}}\n",
		 "t:3:27: warning: profiles.q.classes.3.lossless: IPv6 neighbour discovery (DSCP 0)"
		 " gets class 3, which is lossless and not flooded, so hosts do not find each other"
		 " over IPv6: set flood: on in the class, or map DSCP 0 to a lossy class\n"},
		// A router answers ARP itself.
		{"ports: [" A ", profile: q, default_class: 3, ip: 10.0.0.1/24}]\n"
		 "profiles: {q: {trust: port,\n  " LOSSLESS "}}\n",
		 ""},
		// Only tagged frames come in. They have the class of the port or that of their PCP.
		{TAGGED("trust: port"),
		 "t:2:75: warning: ports[0] (a).default_class: ARP gets class 3, which is"
		 " lossless and not flooded, so its requests are dropped and hosts do not find"
		 " each other: set flood: on in the class, or give the port a lossy"
		 " default_class\n"},
		{TAGGED("trust: pcp"), ""},
		{TAGGED("trust: pcp, pcp_to_class: {0: 3}"), TAGGED_WARNING},
		{TAGGED("pcp_to_class: {0: 3}"), TAGGED_WARNING},
		{"vlans: [{id: 5}]\n"
		 "ports: [" A ", profile: q, vlan: {untagged: 5}}]\n"
		 "profiles: {q: {pcp_to_class: {0: 3},\n  " LOSSLESS "}}\n",
		 ""},
	};

	(void)state;
	EXPECT(rows);
#undef IN_CLASS_3
#undef TAGGED
#undef TAGGED_WARNING
}

static void a_profile_without_a_port_is_warned_of(void **state)
{
	static const struct row rows[] = {
		{PORT "profiles:\n  q: {}\n  r: {dscp_to_class: {default: 0},\n    " LOSSLESS "}\n",
		 "t:4:6: warning: profiles.r: no port uses this profile: name it at a port as"
		 " profile: r, or remove it\n"},
		{"ports: [" A "}]\nprofiles: {default: {}}\n", ""},
	};

	(void)state;
	EXPECT(rows);
}

static void a_max_rate_above_the_speed_is_warned_of(void **state)
{
	static const struct row rows[] = {
		{PORT "profiles: {q: {classes: {0: {max_rate: 2G}}}}\n",
		 "t:2:40: warning: profiles.q.classes.0.max_rate: 2G is above 1G, the speed of the"
		 " fastest port of the profile: the rate has no effect: lower or remove it\n"},
		{PORT "profiles: {q: {classes: {0: {max_rate: 1G}}}}\n", ""},
		{TWO_PORTS "profiles: {q: {classes: {0: {max_rate: 2G}}}}\n", ""},
	};
	static const struct row link = {
		"ports: [{name: a, device: \"wire:a\", profile: q}]\n"
		"profiles: {q: {classes: {0: {max_rate: 2G}}}}\n",
		"t:2:40: warning: profiles.q.classes.0.max_rate: 2G is above 1G, the speed of the"
		" fastest port of the profile: the rate has no effect: lower or remove it\n"};
	const struct port_facts facts = {.speed_bps = 1000000000, .pfc_rx = true, .pfc_tx = true};

	(void)state;
	EXPECT(rows);
	expect_rows(&link, 1, &facts);
}

static void a_port_whose_frames_have_no_pcp_is_warned_of(void **state)
{
	static const struct row rows[] = {
		{"ports: [" A ", vlan: {untagged: 10}, profile: q}]\n"
		 "profiles: {q: {trust: pcp, " LOSSLESS "}}\n",
		 "t:1:79: warning: ports[0] (a).profile: profile q trusts PCP, and the untagged"
		 " frames of this port have none: they all get class 0: set trust: dscp, or give"
		 " vlan.tagged\n"},
		{"ports: [" A ", vlan: {tagged: 10}, profile: q}]\n"
		 "profiles: {q: {trust: pcp}}\n",
		 ""},
		{PORT "profiles: {q: {trust: pcp}}\n", ""}, // tags pass: there are no VLANs
		{"ports: [" A ", ip: 10.0.0.1/24, profile: q}]\n"
		 "vlans: [{id: 1}]\nprofiles: {q: {trust: pcp}}\n",
		 "t:1:74: warning: ports[0] (a).profile: profile q trusts PCP, and the untagged"
		 " frames of this port have none: they all get class 0: set trust: dscp\n"},
	};

	(void)state;
	EXPECT(rows);
}

static void a_port_in_no_vlan_is_warned_of(void **state)
{
	static const struct row rows[] = {
		{"ports: [" A ", vlan: {untagged: none}}]\n",
		 "t:1:65: warning: ports[0] (a).vlan.untagged: the port is in no VLAN and forwards"
		 " no frame: give a VLAN in untagged or tagged\n"},
		{"ports: [" A ","
		 " vlan: {untagged: none, tagged: 7}}]\n",
		 ""},
	};

	(void)state;
	EXPECT(rows);
}

static void a_control_plane_without_a_tap_is_warned_of(void **state)
{
	static const struct row rows[] = {
		{"control_plane: linux\nports: [" A "}]\n",
		 "t:1:16: warning: control_plane: no port and no VLAN routes, so the kernel gets no"
		 " tap: give a port ip: 10.0.1.1/24, or ip: [] for BGP unnumbered\n"},
		{"control_plane: {type: linux}\nports: [" A ", ip: []}]\n", ""},
		{"control_plane: linux\nvlans: [{id: 1, ip: 10.0.1.1/24}]\nports: [" A "}]\n", ""},
		{"control_plane: weir\nports: [" A "}]\n", ""},
	};

	(void)state;
	EXPECT(rows);
}

static void more_workers_than_processors_are_warned_of(void **state)
{
	static const struct row rows[] = {
		{"switch: {workers: 3}\nports: [" A "}]\n",
		 "t:1:19: warning: switch.workers: 3 workers need a processor each, and this"
		 " machine has 2: use at most 2\n"},
		{"switch: {workers: [1, 2, 3]}\nports: [" A "}]\n",
		 "t:1:19: warning: switch.workers: 3 workers need a processor each, and this"
		 " machine has 2: use at most 2\n"},
		{"switch: {workers: 2}\nports: [" A "}]\n", ""},
	};

	(void)state;
	EXPECT(rows);
	assert_in_range(advice_processors(), 1, 100000);
}

// 100 us at 400G are 5 MB.
static void a_small_shared_pool_is_warned_of(void **state)
{
	static const struct row rows[] = {
		{"switch: {buffer: {size: 4999936, cell: 256}}\n"
		 "ports: [" A "},"
		 " {name: b, device: \"wire:b\", speed: 400G}]\n",
		 "t:1:25: warning: switch.buffer.size: the shared pool of 4999936 B holds 99 us at"
		 " 400G, the speed of port b, less than 100 us: enlarge size, shorten the cables,"
		 " or raise oversubscription\n"},
		{"switch: {buffer: {size: 5000192, cell: 256}}\n"
		 "ports: [{name: b, device: \"wire:b\", speed: 400G}]\n",
		 ""},
	};

	(void)state;
	EXPECT(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lossless_class_without_pfc_is_warned_of),
		cmocka_unit_test(a_lossless_class_that_no_frame_reaches_is_warned_of),
		cmocka_unit_test(a_class_in_which_no_host_is_found_is_warned_of),
		cmocka_unit_test(a_profile_without_a_port_is_warned_of),
		cmocka_unit_test(a_max_rate_above_the_speed_is_warned_of),
		cmocka_unit_test(a_port_whose_frames_have_no_pcp_is_warned_of),
		cmocka_unit_test(a_port_in_no_vlan_is_warned_of),
		cmocka_unit_test(a_control_plane_without_a_tap_is_warned_of),
		cmocka_unit_test(more_workers_than_processors_are_warned_of),
		cmocka_unit_test(a_small_shared_pool_is_warned_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
