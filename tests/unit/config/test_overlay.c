// SPDX-License-Identifier: Apache-2.0
// A policy file with maps laid over it and with the ports of another world: what merges, what is
// replaced, and where mistakes are told.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/base/node.h"
#include "control/config/config.h"
#include "control/config/model.h"
#include "control/config/port_open.h"
#include "dataplane/policy.h"
#include "tests/temporary.h"

static const char policy[] =
	"switch: {name: live, workers: 2, buffer: {size: 12MB}}\n"
	"ports:\n"
	"  - {name: \"p[1-2]\", device: \"xdp:sw[1-2]\", speed: 1G, mtu: 9000, profile: roce}\n"
	"  - {name: up, device: \"pci:0000:3b:00.0\", speed: 100G, cable: 100m, default_class: 3}\n"
	"fdb: [{mac: \"02:00:00:00:00:01\", port: up}]\n"
	"profiles:\n"
	"  roce:\n"
	"    classes:\n"
	"      3: {lossless: true, wred: {ecn: on, kmin: 100KB, kmax: 200KB, pmax: 10%}}\n";

static const struct config_overlay_port lab_ports[] = {
	{40000000000, 500}, {25000000000, 1000}, {10000000000, 0}};

enum { N_LAB_PORTS = sizeof(lab_ports) / sizeof(lab_ports[0]), TEXT_LEN = 4096 };

// Loads the policy under maps written as YAML; NULL ends them. The messages go to said.
static struct config *under(const char *const *maps, char *said)
{
	const struct node *nodes[8];
	struct arena a = {0};
	struct diag_sink s = {.file = "lab.yaml"};
	struct config_overlay o = {.maps = nodes,
				   .file = "lab.yaml",
				   .switch_name = "s1",
				   .ports = lab_ports,
				   .n_ports = N_LAB_PORTS};
	struct config *c = NULL;
	struct diags d = {0};
	char file[PATH_MAX];
	int err;

	temporary_file(file, "policy.yaml", policy);
	for (; maps[o.n_maps] != NULL; o.n_maps++) {
		nodes[o.n_maps] = node_parse(&a, maps[o.n_maps], strlen(maps[o.n_maps]), &s);
		assert_non_null(nodes[o.n_maps]);
	}
	err = config_load_overlay(file, &o, &c, &d);
	*said = '\0';
	for (unsigned i = 0; i < d.n; i++) {
		const char *line = d.lines[i];

		// The file's name differs from run to run.
		if (strncmp(line, file, strlen(file)) == 0)
			said += sprintf(said, "policy");
		said += sprintf(said, "%s\n",
				strncmp(line, file, strlen(file)) == 0 ? line + strlen(file)
								       : line);
	}
	assert_int_equal(err, c == NULL ? -EINVAL : 0);
	diags_fini(&d);
	arena_fini(&a);
	return c;
}

static struct config *good(const char *const *maps)
{
	char said[TEXT_LEN];
	struct config *c = under(maps, said);

	assert_string_equal(said, "");
	assert_non_null(c);
	return c;
}

static const struct cfg_class *class_3(const struct config *c)
{
	return &c->ports[0].profile->classes[3];
}

static void ports_have_the_settings_of_the_same_name_or_of_the_last(void **state)
{
	struct config *c = good((const char *const[]){NULL});

	(void)state;
	assert_int_equal(config_n_ports(c), N_LAB_PORTS);
	assert_string_equal(config_port(c, 0).name, "p1");
	assert_string_equal(config_port(c, 0).device, "wire:p1");
	assert_int_equal(config_port(c, 1).mtu, 9000); // p2 is in the file
	assert_int_equal(config_port(c, 2).mtu, 1500); // p3 is not: as `up`
	assert_int_equal(c->ports[2].item->default_class.n, 3);
	assert_string_equal(c->ports[0].profile->map.name, "roce");
	assert_string_equal(c->ports[2].profile->map.name, "default");
	assert_int_equal(config_port(c, 1).speed_bps, 25000000000);
	assert_int_equal(c->ports[1].item->cable.n, 1000);
	assert_int_equal(c->ports[2].item->cable.n, 0); // not the 100 m of the file
	config_destroy(c);
}

static void ports_of_other_names_have_their_settings_by_their_place(void **state)
{
	struct config *c = good((const char *const[]){
		"{fdb: ~, ports: [{name: \"Ethernet[0,4]\", speed: 1G, mtu: 9000}, {name: up, "
		"speed: 1G, mtu: 2000}]}", NULL});

	(void)state;
	for (uint32_t i = 0; i < N_LAB_PORTS; i++)
		assert_int_equal(config_port(c, i).mtu, i < 2 ? 9000 : 2000);
	config_destroy(c);
	c = good((const char *const[]){"{fdb: ~, ports: [{name: Ethernet0, speed: 1G, mtu: 9000}, "
				       "{name: up, speed: 1G, mtu: 2000}]}", NULL});
	assert_int_equal(config_port(c, 0).mtu, 9000);
	assert_int_equal(config_port(c, 1).mtu, 2000);
	assert_int_equal(config_port(c, 2).mtu, 2000); // the last one's
	config_destroy(c);
}

static void name_workers_and_addresses_are_not_those_of_the_live_switch(void **state)
{
	struct config *c = good((const char *const[]){NULL});

	(void)state;
	assert_string_equal(config_name(c), "s1");
	assert_int_equal(config_n_workers(c), 1);
	assert_int_equal(c->root.fdb.n, 0);
	config_destroy(c);
	c = good((const char *const[]){"{switch: {workers: 2, name: x}}", NULL});
	assert_int_equal(config_n_workers(c), 2);
	assert_string_equal(config_name(c), "s1");
	config_destroy(c);
}

static void maps_merge_and_anything_else_replaces(void **state)
{
	struct config *c = good((const char *const[]){
		"{switch: {buffer: {size: 8MB}}, profiles: {roce: {classes: {3: {wred: {kmin: "
		"50KB}}}}}}",
		"{profiles: {roce: {classes: {3: {wred: {kmin: 60KB}}, 6: {schedule: strict}}}}}",
		NULL});

	(void)state;
	assert_int_equal(c->root.sw.buffer.size.n, 8000000);
	assert_int_equal(class_3(c)->wred.curve[0].kmin.n, 60000); // the later map counts
	assert_int_equal(class_3(c)->wred.curve[0].kmax.n, 200000); // of the file
	assert_true(c->ports[0].profile->classes[6].schedule.strict.given);
	config_destroy(c);
}

static void a_tilde_removes_the_key(void **state)
{
	struct config *c = good((const char *const[]){
		"{profiles: {roce: {classes: {3: {wred: ~}}}}, nothing_here: ~}", NULL});

	(void)state;
	assert_false(class_3(c)->wred.map.given);
	assert_true(class_3(c)->lossless.n);
	config_destroy(c);
}

static void mistakes_are_told_where_they_stand(void **state)
{
	char said[TEXT_LEN];

	(void)state;
	assert_null(under((const char *const[]){"switch:\n  bufer: {size: 8MB}\n", NULL}, said));
	assert_string_equal(said,
			    "lab.yaml:2:3: switch.bufer: unknown key: did you mean buffer?\n");
	assert_null(under(
		(const char *const[]){"profiles: {roce: {classes: {3: {wred: {kmin: 300KB}}}}}",
				      NULL},
		said));
	assert_string_equal(said,
			    "lab.yaml:1:46: profiles.roce.classes.3.wred.kmin: 300KB is above "
			    "kmax 200KB\n");
	// What the file itself says is still the file's.
	assert_null(under(
		(const char *const[]){"profiles: {roce: {classes: {3: {wred: {kmax: 50KB}}}}}",
				      NULL},
		said));
	assert_string_equal(said, "policy:9:49: profiles.roce.classes.3.wred.kmin: 100KB is above "
				  "kmax 50KB\n");
}

static void the_ports_of_the_file_are_checked_though_the_lab_has_others(void **state)
{
	char said[TEXT_LEN];

	(void)state;
	assert_null(under(
		(const char *const[]){"ports: [{name: p1, device: nowhere, speed: 1G}]", NULL},
		said));
	assert_string_equal(said, "policy:5:40: fdb[0].port: there is no port up\n"
				  "lab.yaml:1:28: ports[0] (p1).device: \"nowhere\": a device is "
				  "xdp:INTERFACE, pci:ADDRESS or vdev:ARGUMENTS\n");
}

static void a_port_of_the_lab_takes_the_profile_of_its_cable(void **state)
{
	static struct node key = {.kind = NODE_SCALAR, .at = {4, 7}, .text = "profile"};
	static const struct node roce = {
		.kind = NODE_SCALAR, .at = {4, 16}, .text = "roce", .key = &key};
	const struct config_overlay_port ports[] = {{40000000000, 500, NULL},
						    {40000000000, 500, NULL},
						    {40000000000, 500, NULL},
						    {40000000000, 500, &roce}};
	const struct config_overlay o = {
		.file = "lab.yaml", .switch_name = "s1", .ports = ports, .n_ports = 4};
	struct config *c = NULL;
	struct diags d = {0};
	char file[PATH_MAX];

	(void)state;
	temporary_file(file, "policy.yaml", policy);
	assert_int_equal(config_load_overlay(file, &o, &c, &d), 0);
	assert_string_equal(c->ports[1].profile->map.name, "roce");
	assert_string_equal(c->ports[2].profile->map.name, "default"); // that of the last port
	assert_string_equal(c->ports[3].profile->map.name, "roce");
	config_destroy(c);
	diags_fini(&d);
	unlink(file);
}

static void ranges_of_classes_merge_class_by_class(void **state)
{
	char said[TEXT_LEN];
	struct config *c = under(
		(const char *const[]){
			"profiles: {roce: {classes: {2-4: {min_rate: 1G}, 5-6: {min_rate: 2G}}}}",
			"profiles: {roce: {classes: {5: {min_rate: 3G}, \"0,6\": ~}}}", NULL},
		said);
	const struct cfg_profile *p;

	(void)state;
	assert_string_equal(said, "");
	p = c->ports[0].profile;
	assert_int_equal(p->classes[2].min_rate.n, 1000000000);
	assert_int_equal(p->classes[3].min_rate.n, 1000000000);
	assert_true(p->classes[3].lossless.n); // of the file
	assert_false(p->classes[4].lossless.n);
	assert_int_equal(p->classes[5].min_rate.n, 3000000000);
	assert_false(p->classes[6].min_rate.given);
	config_destroy(c);
}

static void a_port_of_the_lab_needs_no_device(void **state)
{
	char said[TEXT_LEN];
	struct config *c = under(
		(const char *const[]){"{fdb: ~, ports: [{name: \"p[1-2]\", speed: 1G}]}", NULL},
		said);

	(void)state;
	assert_string_equal(said, "");
	assert_non_null(c);
	assert_string_equal(config_port(c, 0).device, "wire:p1");
	config_destroy(c);
}

static void a_policy_that_is_not_there_is_told(void **state)
{
	const struct config_overlay o = {
		.file = "lab.yaml", .switch_name = "s1", .ports = lab_ports, .n_ports = 1};
	struct config *c = NULL;
	struct diags d = {0};

	(void)state;
	assert_int_equal(config_load_overlay("nowhere.yaml", &o, &c, &d), -EINVAL);
	assert_int_equal(d.n, 1);
	assert_string_equal(d.lines[0], "nowhere.yaml: cannot open: No such file or directory");
	assert_null(c);
	diags_fini(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_have_the_settings_of_the_same_name_or_of_the_last),
		cmocka_unit_test(ports_of_other_names_have_their_settings_by_their_place),
		cmocka_unit_test(name_workers_and_addresses_are_not_those_of_the_live_switch),
		cmocka_unit_test(maps_merge_and_anything_else_replaces),
		cmocka_unit_test(a_tilde_removes_the_key),
		cmocka_unit_test(mistakes_are_told_where_they_stand),
		cmocka_unit_test(the_ports_of_the_file_are_checked_though_the_lab_has_others),
		cmocka_unit_test(a_port_of_the_lab_takes_the_profile_of_its_cable),
		cmocka_unit_test(ranges_of_classes_merge_class_by_class),
		cmocka_unit_test(a_port_of_the_lab_needs_no_device),
		cmocka_unit_test(a_policy_that_is_not_there_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
