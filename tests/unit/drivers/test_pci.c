// SPDX-License-Identifier: Apache-2.0
// Addresses of the PCI bus, as policies have them and as DPDK names them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/ethdev/pci.h"

static void an_address_gets_its_domain_and_small_letters(void **state)
{
	static const struct {
		const char *given, *name;
	} rows[] = {
		{"0000:3b:00.0", "0000:3b:00.0"}, {"3b:00.1", "0000:3b:00.1"},
		{"3B:00.0", "0000:3b:00.0"},	  {"0001:3B:00.0,args=1:2", "0001:3b:00.0"},
		{"3b:00.0,iface=a:b:c", "0000:3b:00.0"}, {"10000:01:00.0", "10000:01:00.0"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char name[PCI_NAME_LEN];

		assert_true(pci_name(rows[i].given, name));
		assert_string_equal(name, rows[i].name);
	}
}

static void another_name_is_no_address(void **state)
{
	static const char *const rows[] = {
		"", "net_tap0", "net_tap0,iface=a", "3b", "3b/00.0", ",",
	};
	char name[PCI_NAME_LEN];

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(pci_name(rows[i], name));
		assert_false(pci_is_bound(rows[i]));
		assert_false(pci_needs_physical(rows[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_gets_its_domain_and_small_letters),
		cmocka_unit_test(another_name_is_no_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
