// SPDX-License-Identifier: Apache-2.0
// Notifications to systemd, by the protocol of sd_notify(3): the switch is ready, its status in a
// line, and its watchdog. Without systemd each call does nothing.
//
// systemd ends a switch that does not feed its watchdog for WatchdogSec, and starts it again. The
// switch feeds each quarter of that time, as long as each worker has moved within a quarter. The
// control thread feeds, so a control thread that stands still does not. Control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/daemon/datagram.h"

enum { SYSTEMD_STATUS_LEN = 256, SYSTEMD_FEEDS = 4 };

struct systemd {
	struct datagram to;
	uint64_t feed_every_ns; // 0: no watchdog
	uint64_t fed_at_ns, status_at_ns;
	char status[SYSTEMD_STATUS_LEN]; // that was taken last
};

// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment, so
// that no child speaks for the switch.
void systemd_open(struct systemd *s);
void systemd_close(struct systemd *s);

// The switch starts, and waits for something that may take long: the limit of the start moves on.
void systemd_waiting(const struct systemd *s, const char *what);
void systemd_ready(const struct systemd *s);
void systemd_stopping(const struct systemd *s);

// True if a feed is due at now_ns. still_ns: how long the worker that stands still longest has not
// moved.
bool systemd_feed_due(const struct systemd *s, uint64_t still_ns, uint64_t now_ns);

// Feeds the watchdog if that is due. Sends the status if it has changed, once a second at most.
void systemd_poll(struct systemd *s, const char *status, uint64_t still_ns, uint64_t now_ns);
