// SPDX-License-Identifier: Apache-2.0
// Addresses of the PCI bus, as policies have them and as DPDK names them, and the kernel's drivers
// of cards.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/ethdev/pci.h"
#include "drivers/live.h"

static const char *driver; // of the card 0000:3b:00.0; NULL: none

ssize_t __wrap_readlink(const char *path, char *out, size_t len);

ssize_t __wrap_readlink(const char *path, char *out, size_t len)
{
	assert_string_equal(path, "/sys/bus/pci/devices/0000:3b:00.0/driver");
	if (driver == NULL)
		return -1;
	snprintf(out, len, "../../../bus/pci/drivers/%s", driver);
	return (ssize_t)strlen(out);
}

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

static void a_card_is_there_once_its_driver_lets_dpdk_use_it(void **state)
{
	static const struct {
		const char *driver;
		bool bound, physical;
	} rows[] = {
		{NULL, false, false},		 {"vfio-pci", true, false},
		{"mlx5_vfio_pci", true, false},	 {"uio_pci_generic", true, true},
		{"igb_uio", true, true},	 {"mlx5_core", true, false},
		{"e1000e", false, false},	 {"virtio-pci", false, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct live_eal_conf conf = {0};

		driver = rows[i].driver;
		assert_int_equal(pci_is_bound("3b:00.0"), rows[i].bound);
		assert_int_equal(live_device_state("pci:3b:00.0,args=1"),
				 rows[i].bound ? LIVE_READY : LIVE_MISSING);
		live_eal_device(&conf, "pci:3b:00.0");
		live_eal_device(&conf, "xdp:eth0");
		assert_true(conf.pci);
		assert_int_equal(conf.physical != NULL, rows[i].physical);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_gets_its_domain_and_small_letters),
		cmocka_unit_test(another_name_is_no_address),
		cmocka_unit_test(a_card_is_there_once_its_driver_lets_dpdk_use_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
