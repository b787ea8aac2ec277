// SPDX-License-Identifier: Apache-2.0
// The learnt addresses of the switch over its restart: /run/weir/NAME.fdb, a line for each address
// (MAC, VLAN, name of its port). A switch that starts reads them as stale ones
// (dataplane/forward/fdb.h), so a RoCEv2 receiver that waits for frames gets them at once. The file
// is written every two seconds while addresses change, and at the end. A file older than `mac_age`
// is ignored.
#pragma once

#include <stdint.h>

struct daemon;
struct fdb_file;

// Reads the file of the switch before. The daemon has its switch. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int fdb_file_create(const struct daemon *d,
							struct fdb_file **out);
void fdb_file_destroy(struct fdb_file *f); // writes it; NULL is fine
void fdb_file_poll(struct fdb_file *f, uint64_t now_ns);
