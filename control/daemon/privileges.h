// SPDX-License-Identifier: Apache-2.0
// The process gives up what it needs no more once its ports are open. From then on it reads frames
// and requests of strangers.
//
// It keeps CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and CAP_IPC_LOCK: a reload writes the rules of
// `keep`, counters of the XDP program are read, an interface that is made again is opened, and the
// frame pool is registered for the socket. Capabilities, their bounding set and
// no_new_privs belong to a thread, and DPDK has made threads by then. Each thread gives them up in
// the handler of PRIVILEGES_SIGNAL. Called by the control thread.
#pragma once

#include <signal.h>

// A thread that blocks all other signals must let this one through.
#define PRIVILEGES_SIGNAL (SIGRTMIN + 3)

// 0, or -errno with a sentence in err; some threads may have given them up then.
__attribute__((warn_unused_result)) int privileges_give_up(char *err, unsigned err_len);
