// SPDX-License-Identifier: Apache-2.0
// weir-hostd: takes the PFC frames that arrive at an interface of the kernel, and holds and
// releases the queues of its classes.
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "control/base/lock_file.h"
#include "control/base/standard_fds.h"
#include "control/base/stop.h"
#include "control/base/terminal.h"
#include "control/hostd/args.h"
#include "control/hostd/gate.h"
#include "control/observe/fact.h"
#include "dataplane/base/bits.h"
#include "dataplane/qos/pfc.h"
#include "drivers/system_clock.h"

enum {
	EXIT_MISUSED = 2,
	ERROR_LEN = 256,
	FRAME_LEN = 256,
	BURST = 64,
	RECEIVE_BYTES = 4 << 20,
	DRAIN_NS = 2 * SECOND_NS, // for the frames that were held at the end
	DRAIN_LOOK_US = 1000,
	LOCK_PATH_LEN = 64,
};
static const char run_dir[] = "/run/weir";

struct hostd {
	const struct hostd_args *args;
	struct gate *gate;
	int packets; // socket: MAC control frames of the interface
	int links; // socket: news of the interfaces
	int lock; // file: one program at an interface
	char lock_path[LOCK_PATH_LEN];
	bool bridged; // the interface became a port of a bridge
	uint8_t held; // bitmap of classes
	uint64_t malformed; // MAC control frames that are no PFC, or that had a tag
	struct gate_counts counts; // at the end
	struct pfc_params params;
	struct pfc_rx_state rx;
};

static bool failed(const struct hostd *d, const char *what, int rc)
{
	terminal_printf(stderr, "weir-hostd: %s: %s%s\n", d->args->device, what,
			rc == 0 ? "" : strerror(-rc));
	return false;
}

// ---- start

// Each network namespace has interfaces of its own.
static bool take_lock(struct hostd *d, unsigned ifindex)
{
	struct stat netns;

	if (stat("/proc/self/ns/net", &netns) != 0)
		return failed(d, "/proc/self/ns/net: ", -errno);
	if (mkdir(run_dir, 0755) != 0 && errno != EEXIST)
		return failed(d, "cannot make /run/weir: ", -errno);
	snprintf(d->lock_path, sizeof(d->lock_path), "%s/hostd.%ju.%u.lock", run_dir,
		 (uintmax_t)netns.st_ino, ifindex);
	d->lock = lock_file_take(d->lock_path);
	if (d->lock == -EWOULDBLOCK)
		return failed(d, "another weir-hostd runs here", 0);
	return d->lock >= 0 || failed(d, "lock in /run/weir: ", d->lock);
}

static bool open_packets(struct hostd *d, unsigned ifindex)
{
	const struct sockaddr_ll from = {.sll_family = AF_PACKET, .sll_ifindex = (int)ifindex,
					 .sll_protocol = htons(ETH_P_PAUSE)};

	// A card, or the virtio device of a guest, drops frames to a group that no socket has
	// joined.
	const struct packet_mreq group = {.mr_ifindex = (int)ifindex, .mr_alen = ETH_ALEN,
					  .mr_type = PACKET_MR_MULTICAST,
					  .mr_address = {0x01, 0x80, 0xc2, 0, 0, 0x01}};

	// Frames of other protocols of EtherType 0x8808 could fill the socket.
	struct sock_filter to_pfc[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0180c200, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0001, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, FRAME_LEN),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog filter = {.len = sizeof(to_pfc) / sizeof(to_pfc[0]),
					  .filter = to_pfc};
	const int room = RECEIVE_BYTES;

	d->packets = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)setsockopt(d->packets, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (d->packets >= 0 &&
	    setsockopt(d->packets, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) == 0 &&
	    bind(d->packets, (const struct sockaddr *)&from, sizeof(from)) == 0 &&
	    setsockopt(d->packets, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &group, sizeof(group)) == 0)
		return true;
	terminal_printf(stderr, "weir-hostd: %s: no socket for PFC frames: %s\n", d->args->device,
			gate_why(-errno));
	return false;
}

static bool open_links(struct hostd *d)
{
	const struct sockaddr_nl news = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};

	d->links = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (d->links >= 0 && bind(d->links, (const struct sockaddr *)&news, sizeof(news)) == 0)
		return true;
	return failed(d, "no socket for news of the interface: ", -errno);
}

static bool hostd_open(struct hostd *d)
{
	const struct sched_param first = {.sched_priority = 1};
	unsigned ifindex = if_nametoindex(d->args->device);
	char err[ERROR_LEN];

	if (ifindex == 0)
		return failed(d, "there is no such interface", 0);
	if (!open_packets(d, ifindex) || !take_lock(d, ifindex) || !open_links(d))
		return false;
	if (gate_open(d->args, ifindex, &d->gate, err, sizeof(err)) != 0) {
		terminal_printf(stderr, "weir-hostd: %s\n", err);
		return false;
	}
	// Frames that leave while this program waits for a processor need headroom in the switch.
	(void)sched_setscheduler(0, SCHED_RR, &first);
	pfc_params_init(&d->params, (uint64_t)d->args->speed_bps, PFC_MAX_QUANTA, 0);
	d->params.lossless = d->params.rx = d->args->classes;
	return true;
}

static void hostd_close(struct hostd *d)
{
	gate_close(d->gate);
	if (d->packets >= 0)
		close(d->packets);
	if (d->links >= 0)
		close(d->links);
	if (d->lock >= 0)
		lock_file_release(d->lock, d->lock_path);
}

// ---- the loop

// 0, or -errno when the interface is gone.
static int take_frames(struct hostd *d)
{
	uint8_t frame[FRAME_LEN];
	struct pfc_times times;

	for (unsigned i = 0; i < BURST; i++) {
		struct sockaddr_ll from = {0};
		socklen_t from_len = sizeof(from);
		ssize_t len = recvfrom(d->packets, frame, sizeof(frame), 0,
				       (struct sockaddr *)&from, &from_len);

		if (len < 0 && errno == ENETDOWN) { // it may come up again, and its peer with it
			pfc_rx_clear(&d->rx, 0, monotonic_ns());
			continue;
		}
		if (len < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		// The kernel takes a tag away. With that of a VLAN that it does not know, the frame
		// is for another host.
		if (from.sll_pkttype != PACKET_MULTICAST)
			d->malformed++;
		else if (mac_ctrl_parse(frame, (uint32_t)len, &times) == MAC_CTRL_PFC)
			pfc_rx_frame(&d->params, &d->rx, &times, monotonic_ns());
		else
			d->malformed++;
	}
	return 0;
}

// The queues follow the classes that are paused now. 0 or -errno.
static int follow(struct hostd *d)
{
	int rc = 0;

	pfc_rx_expire(&d->rx, monotonic_ns());
	for_each_bit (c, d->held ^ d->rx.paused) {
		if (rc == 0)
			rc = gate_hold(d->gate, c, d->rx.paused >> c & 1);
		if (rc == 0)
			d->held ^= (uint8_t)(1u << c);
	}
	return rc;
}

static int wait_for_frames(const struct hostd *d, const sigset_t *open)
{
	struct pollfd p[] = {{.fd = d->packets, .events = POLLIN},
			     {.fd = d->links, .events = POLLIN}};
	uint64_t next_ns = pfc_rx_next(&d->rx), now_ns = monotonic_ns();
	uint64_t left_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	const struct timespec left = {.tv_sec = (time_t)(left_ns / SECOND_NS),
				      .tv_nsec = (long)(left_ns % SECOND_NS)};
	const struct timespec *wait = next_ns == UINT64_MAX ? NULL : &left;

	if (ppoll(p, sizeof(p) / sizeof(p[0]), wait, open) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

// 0 or -errno.
static int take_news(struct hostd *d)
{
	char unread[FRAME_LEN], err[ERROR_LEN];
	bool news = false;
	int rc;

	while (recv(d->links, unread, sizeof(unread), MSG_TRUNC) >= 0 || errno == ENOBUFS)
		news = true;
	rc = news ? gate_resize(d->gate, d->args, d->held) : 0;
	if (!news || rc != 0)
		return rc;
	d->bridged = gate_check(d->gate, d->args->device, err, sizeof(err)) == -EBUSY;
	if (d->bridged)
		terminal_printf(stderr, "weir-hostd: %s\n", err);
	return 0;
}

// Waits until the frames that were held have left, or DRAIN_NS are over.
static void drain_queues(struct hostd *d)
{
	uint64_t end_ns = monotonic_ns() + DRAIN_NS;

	while (gate_counts(d->gate, &d->counts) == 0 && d->counts.waiting > 0 &&
	       monotonic_ns() < end_ns)
		usleep(DRAIN_LOOK_US);
}

// Signals arrive only while the loop waits, so none is missed.
static bool hostd_loop(struct hostd *d)
{
	sigset_t stop, open;
	char name[IF_NAMESIZE];
	unsigned ifindex = if_nametoindex(d->args->device);
	int rc = 0;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	sigaddset(&stop, SIGQUIT);
	sigprocmask(SIG_BLOCK, &stop, &open);
	while (rc == 0 && !d->bridged && stop_requests() == 0) {
		rc = wait_for_frames(d, &open);
		if (rc == 0)
			rc = take_frames(d);
		if (rc == 0)
			rc = follow(d);
		if (rc == 0)
			rc = take_news(d); // asks the kernel, which may take its time
		if (if_indextoname(ifindex, name) == NULL)
			return failed(d, "the interface is gone", 0);
	}
	pfc_rx_clear(&d->rx, 0, monotonic_ns());
	if (rc == 0)
		rc = follow(d);
	if (rc == -ENOENT)
		return failed(d, "somebody removed its queues; start weir-hostd again", 0);
	if (rc == 0)
		drain_queues(d);
	return rc == 0 ? !d->bridged : failed(d, "", rc);
}

// ---- the report

static void report_text(const struct hostd *d)
{
	printf("%s: %s, %" PRIu64 " other MAC control frames, %u frames dropped by full queues\n",
	       d->args->device, gate_kind(d->gate), d->malformed, d->counts.drops);
	printf("class PFC-frames pauses paused-ms\n");
	for_each_bit (c, d->args->classes) {
		const struct pfc_class_stats *s = &d->rx.stats[c];

		printf("%5u %10" PRIu64 " %6" PRIu64 " %9" PRIu64 "\n", c, ctr_get(&s->frames),
		       ctr_get(&s->transitions), ctr_get(&s->duration_ns) / MS_NS);
	}
}

static void report_hostd_json(const struct hostd *d)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	row_text(o, KEY(PORTS, device), d->args->device);
	row_text(o, "held_by", gate_kind(d->gate));
	row_u64(o, "other_frames", d->malformed);
	row_u64(o, "queue_drops", d->counts.drops);
	json_object_object_add(o, "classes", list);
	for_each_bit (c, d->args->classes) {
		const struct pfc_class_stats *s = &d->rx.stats[c];
		struct json_object *row = row_in(list);

		row_u64(row, KEY(PFC, class), c);
		row_u64(row, KEY(PFC, rx_pause), ctr_get(&s->frames));
		row_u64(row, KEY(PFC, rx_pause_transition), ctr_get(&s->transitions));
		row_u64(row, KEY(PFC, rx_pause_duration_us), ctr_get(&s->duration_ns) / US_NS);
	}
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
	json_object_put(o);
}

int main(int argc, char **argv)
{
	struct hostd_args args;
	struct hostd d = {.args = &args, .packets = -1, .links = -1, .lock = -1};
	bool ok;

	standard_fds_open();
	if (opts_completion(&hostd_opts, argc, argv))
		return 0;
	if (!hostd_args_parse(argc, argv, &args))
		return EXIT_MISUSED;
	if (args.version) {
		puts("weir-hostd " WEIR_VERSION);
		return 0;
	}
	if (args.help) {
		hostd_args_help();
		return 0;
	}
	stop_catch(0, NULL);
	stop_catch_also(SIGHUP); // the terminal is closed
	stop_catch_also(SIGQUIT);
	signal(SIGPIPE, SIG_IGN);
	ok = hostd_open(&d);
	if (ok) {
		fputs("ready\n", stderr);
		ok = hostd_loop(&d);
		(args.json ? report_hostd_json : report_text)(&d);
	}
	hostd_close(&d);
	return ok ? 0 : 1;
}
