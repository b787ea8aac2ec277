// SPDX-License-Identifier: Apache-2.0
// The sockets of rtnetlink of one namespace: the messages that the kernel sends when something
// changes, dumps of all there is, and requests. The messages go through message.h to the caller.
// Nothing here waits. Called by the control thread only.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/linux/message.h"
#include "dataplane/base/compiler.h"

struct netlink;
struct netns;

struct netlink_stats {
	uint64_t messages; // of changes
	uint64_t malformed;
	uint64_t lost; // how often the kernel dropped messages (ENOBUFS)
	uint64_t dumps, dumps_again; // dumps; of those, begun again because of a change meanwhile
	uint64_t refused; // requests that the kernel refused
};

// rcvbuf: bytes of messages that the kernel keeps for the switch. 0, or -errno with a sentence in
// err.
must_check int netlink_open(struct netns *ns, int rcvbuf, struct netlink **out, char *err,
			    size_t err_len);
void netlink_close(struct netlink *n); // NULL is fine
int netlink_fd(const struct netlink *n); // readable where netlink_read() has something
const struct netlink_stats *netlink_stats(const struct netlink *n);

typedef void netlink_fn(void *arg, const struct kernel_msg *m);

enum netlink_verdict {
	NETLINK_DONE, // there is nothing more now; of a dump: it is complete
	NETLINK_MORE,
	NETLINK_LOST, // the kernel dropped messages; of a dump: it failed. Dump everything
};
// Calls fn with up to about n messages of changes.
enum netlink_verdict netlink_read(struct netlink *n_, unsigned n, netlink_fn *fn, void *arg);

// Forgets the messages of changes so far, and begins a dump of links, next hops, routes and
// neighbours. Call netlink_dump() until the dump is done, and netlink_read() not before.
void netlink_begin_dump(struct netlink *n);
enum netlink_verdict netlink_dump(struct netlink *n_, unsigned n, netlink_fn *fn, void *arg);

// Adds an address to a device, or removes it. 0 or -errno.
must_check int netlink_set_addr(struct netlink *n, uint32_t ifindex, const struct policy_addr *a,
				bool add);
// Asks the kernel to resolve a neighbour; managed: and to keep it resolved.
void netlink_ask_neighbour(struct netlink *n, uint32_t ifindex, const struct policy_addr *a,
			   bool managed);
