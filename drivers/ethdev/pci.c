// SPDX-License-Identifier: Apache-2.0
#include "drivers/ethdev/pci.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_LEN = 128 };

bool pci_name(const char *devargs, char name[PCI_NAME_LEN])
{
	unsigned domain = 0, bus, device, function;
	int len = 0;

	if (sscanf(devargs, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &len) != 4) {
		domain = 0;
		if (sscanf(devargs, "%2x:%2x.%1x%n", &bus, &device, &function, &len) != 3)
			return false;
	}
	if (devargs[len] != '\0' && devargs[len] != ',')
		return false;
	snprintf(name, PCI_NAME_LEN, "%04x:%02x:%02x.%x", domain, bus, device, function);
	return true;
}

// The name of the kernel's driver. False: there is no such device, or it has no driver.
static bool driver_of(const char *devargs, char driver[PATH_LEN])
{
	char name[PCI_NAME_LEN], path[PATH_LEN], target[PATH_LEN];
	const char *base;
	ssize_t len;

	if (!pci_name(devargs, name))
		return false;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", name);
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = '\0';
	base = strrchr(target, '/');
	snprintf(driver, PATH_LEN, "%s", base == NULL ? target : base + 1);
	return true;
}

bool pci_is_bound(const char *devargs)
{
	// DPDK uses these cards together with the kernel's own driver.
	static const char *const shared[] = {"mlx4_core", "mlx5_core", "mana"};
	char driver[PATH_LEN];

	if (!driver_of(devargs, driver))
		return false;
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		if (strcmp(driver, shared[i]) == 0)
			return true;
	return strstr(driver, "vfio") != NULL || strstr(driver, "uio") != NULL;
}

bool pci_needs_physical(const char *devargs)
{
	char driver[PATH_LEN];

	return driver_of(devargs, driver) && strstr(driver, "uio") != NULL;
}
