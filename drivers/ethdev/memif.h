// SPDX-License-Identifier: Apache-2.0
// The socket of a net_memif server: it stands between the peers and DPDK's driver.
//
// When a peer leaves, the driver unmaps the peer's rings at once (hold.h). When a peer leaves
// before the driver has greeted it, the driver closes a descriptor that DPDK still polls, and DPDK
// ends the process. So a thread listens at the socket in place of the driver. It passes the
// messages of one peer at a time on:
//
//   peer --- socket= of the device --- thread --- a private socket --- driver
//
// The driver never loses its end in the middle. When the peer leaves, the thread holds the port,
// ends the private connection, waits until the driver has closed it, and releases the port. The
// rings are memory that peer and driver share, so frames do not pass the
// thread.
//
// Messages have 128 bytes and may carry one descriptor (memif protocol, version 2.0).
//
// Control opens, starts and closes.
#pragma once

#include <stdbool.h>

struct hold;
struct live_text;
struct memif_server;

// Listens at the socket: a path, or the name of an abstract one. inner: the abstract name at which
// the driver will listen. 0 or -errno with text->err.
__attribute__((warn_unused_result)) int memif_server_open(const char *socket, bool abstract,
							  const char *inner,
							  struct memif_server **out,
							  struct live_text *text);
// After the driver listens. 0 or -errno.
__attribute__((warn_unused_result)) int memif_server_start(struct memif_server *s,
							   struct hold *hold);
// Before the device is stopped. NULL is fine.
void memif_server_close(struct memif_server *s);
