// SPDX-License-Identifier: Apache-2.0
// What the daemon has of the operating system as one process: signals, privileges, and its files in
// /run/weir. The control thread calls everything here. Signals are file-static, because a handler
// has no argument and a process has one set of signals.
#pragma once

#include <signal.h>
#include <stdbool.h>

enum { PROCESS_PATH_LEN = 160 };

// ---- Signals. SIGTERM and SIGINT (control/base/stop.h) before process_ready(): the process
// removes its files and ends at once, in whatever step it is. No frame is counted yet, and the
// kernel takes everything else back.
// After process_ready(): the first starts an orderly end, the second cuts the drain short, the
// third ends the process as above. Each way lets standard output and error out first.

void process_catch_signals(void);

// A file, or a directory that is empty by then, to remove when a signal ends the process. The last
// one is removed first.
void process_remove_at_end(const char *path);
// The process has removed its files itself.
void process_forget_files(void);

void process_ready(void);
// True once for each SIGHUP, or for several that came close together.
bool process_take_hup(void);

// ---- Privileges that the process needs no more once its ports are open. From then on it reads
// frames and requests of strangers.
//
// It keeps CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and CAP_IPC_LOCK: a reload writes the rules of
// `keep`, counters of the XDP program are read, an interface that is made again is opened, and the
// frame pool is registered for the socket. Capabilities, their bounding set and no_new_privs belong
// to a thread, and DPDK has made threads by then. Each thread gives them up in the handler of
// PRIVILEGES_SIGNAL.

// A thread that blocks all other signals must let this one through.
#define PRIVILEGES_SIGNAL (SIGRTMIN + 3)

// 0, or -errno with a sentence in err; some threads may have given them up then.
__attribute__((warn_unused_result)) int privileges_give_up(char *err, unsigned err_len);

// ---- The files of a running switch in /run/weir. NAME.lock says that it runs: the kernel releases
// the lock of the file when the process dies, however it dies. weirctl connects to NAME.sock.

struct rundir {
	int lock_fd; // -1: not held
	char lock_path[96];
	char sock_path[96];
	char fdb_path[96]; // stays when the process ends (fdb_file.h)
};

// Takes the name. 0, -EBUSY when a switch of this name runs, or -errno; the sentence is in err.
__attribute__((warn_unused_result)) int rundir_take(struct rundir *r, const char *name, char *err,
						    unsigned err_len);

// A listening socket, mode 0600, in place of what a dead process left. Its descriptor or -errno.
__attribute__((warn_unused_result)) int rundir_listen(const struct rundir *r, char *err,
						      unsigned err_len);

// Removes lock and socket. Harmless when nothing was taken.
void rundir_release(struct rundir *r);
