// SPDX-License-Identifier: Apache-2.0
// What the kernel lets the process take. Called by the control thread, before other threads exist.
#pragma once

#include <stdint.h>

// Raises the limit of open files to what the switch needs, and with it the hugepages: DPDK keeps a
// file open for each. Raises the limit of locked memory, which AF_XDP counts. 0 where all files but
// those of hugepages may be open (live_eal_init looks at these); else -errno, a sentence in err.
__attribute__((warn_unused_result)) int limits_raise(uint64_t hugepage_bytes, unsigned n_ports,
						     char *err, unsigned err_len);
