// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/systemd.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "dataplane/base/units.h"

enum { TEXT_LEN = SYSTEMD_STATUS_LEN + 64, STATUS_EVERY_NS = SECOND_NS };

__attribute__((format(printf, 2, 3))) static bool tell(const struct systemd *s, const char *fmt,
							...)
{
	char text[TEXT_LEN];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return len > 0 && (size_t)len < sizeof(text) && datagram_send(&s->to, text, (size_t)len);
}

// The watchdog may be that of a parent.
static bool watchdog_is_mine(const char *pid)
{
	return pid == NULL || strtol(pid, NULL, 10) == getpid();
}

void systemd_open(struct systemd *s)
{
	const char *path = getenv("NOTIFY_SOCKET"), *usec = getenv("WATCHDOG_USEC");

	*s = (struct systemd){.to.fd = -1};
	if (path != NULL && datagram_open(&s->to, path) && usec != NULL &&
	    watchdog_is_mine(getenv("WATCHDOG_PID")))
		s->feed_every_ns = strtoull(usec, NULL, 10) * US_NS / SYSTEMD_FEEDS;
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void systemd_close(struct systemd *s)
{
	datagram_close(&s->to);
}

void systemd_waiting(const struct systemd *s, const char *what)
{
	(void)tell(s, "EXTEND_TIMEOUT_USEC=10000000\nSTATUS=waiting for %s", what);
}

void systemd_ready(const struct systemd *s)
{
	(void)tell(s, "READY=1");
}

void systemd_stopping(const struct systemd *s)
{
	(void)tell(s, "STOPPING=1\nSTATUS=draining");
}

bool systemd_feed_due(const struct systemd *s, uint64_t still_ns, uint64_t now_ns)
{
	return s->feed_every_ns != 0 && still_ns < s->feed_every_ns &&
	       now_ns - s->fed_at_ns >= s->feed_every_ns;
}

void systemd_poll(struct systemd *s, const char *status, uint64_t still_ns, uint64_t now_ns)
{
	if (s->to.fd < 0)
		return;
	// A feed that systemd does not take is repeated in the next loop.
	if (systemd_feed_due(s, still_ns, now_ns) && tell(s, "WATCHDOG=1"))
		s->fed_at_ns = now_ns;
	if (now_ns - s->status_at_ns < STATUS_EVERY_NS || strcmp(status, s->status) == 0)
		return;
	s->status_at_ns = now_ns;
	if (tell(s, "STATUS=%s", status))
		snprintf(s->status, sizeof(s->status), "%s", status);
}
