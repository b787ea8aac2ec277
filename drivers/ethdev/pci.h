// SPDX-License-Identifier: Apache-2.0
// Devices of the PCI bus, as the kernel shows them in sysfs. devargs is what follows `pci:` in a
// policy: "0000:3b:00.0" or "3b:00.0", and arguments behind a comma.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { PCI_NAME_LEN = 32 };

// The name that DPDK and the kernel have for the device: "0000:3b:00.0". False: it is no address.
bool pci_name(const char *devargs, char name[PCI_NAME_LEN]);

// Whether the device exists, and its driver of the kernel lets DPDK use it: vfio-pci, a uio driver,
// or one that shares the card, such as mlx5_core.
bool pci_is_bound(const char *devargs);

// Whether DMA of the device has physical addresses: uio_pci_generic and igb_uio know no IOMMU.
bool pci_needs_physical(const char *devargs);
