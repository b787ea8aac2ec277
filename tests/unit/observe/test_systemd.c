// SPDX-License-Identifier: Apache-2.0
// What systemd learns: the words on its socket, and when the watchdog is fed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/daemon/systemd.h"

static const uint64_t S = 1000000000;

// The manager's end of an abstract socket.
static int listen_as(const char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(at.sun_path + 1, name + 1);
	assert_return_code(bind(fd, (const struct sockaddr *)&at,
				(socklen_t)(offsetof(struct sockaddr_un, sun_path) +
					    strlen(name))), 0);
	return fd;
}

static int begin(void **state)
{
	char name[64], pid[16];
	int *fd = malloc(sizeof(*fd));

	snprintf(name, sizeof(name), "@weir-test-systemd-%d", getpid());
	snprintf(pid, sizeof(pid), "%d", getpid());
	*fd = listen_as(name);
	setenv("NOTIFY_SOCKET", name, 1);
	setenv("WATCHDOG_USEC", "10000000", 1);
	setenv("WATCHDOG_PID", pid, 1);
	*state = fd;
	return 0;
}

static int end(void **state)
{
	int *fd = *state;

	close(*fd);
	free(fd);
	return 0;
}

// The next datagram; "" if there is none.
static const char *heard(void **state)
{
	static char text[512];
	ssize_t n = recv(*(int *)*state, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void each_step_of_a_life_is_told(void **state)
{
	struct systemd s;

	systemd_open(&s);
	assert_null(getenv("NOTIFY_SOCKET")); // children do not speak for the switch
	assert_null(getenv("WATCHDOG_USEC"));
	systemd_waiting(&s, "eth1");
	assert_string_equal(heard(state), "EXTEND_TIMEOUT_USEC=10000000\nSTATUS=waiting for eth1");
	systemd_ready(&s);
	assert_string_equal(heard(state), "READY=1");
	systemd_stopping(&s);
	assert_string_equal(heard(state), "STOPPING=1\nSTATUS=draining");
	systemd_close(&s);
}

static void the_watchdog_is_fed_each_quarter_while_all_workers_move(void **state)
{
	static const struct {
		uint64_t at_ms, still_ms;
		const char *want;
	} rows[] = {
		{10000, 0, "WATCHDOG=1"},   {12499, 0, ""},	{12500, 0, "WATCHDOG=1"},
		{15000, 2500, ""}, // a worker stands still
		{16000, 3500, ""},	     {16001, 2499, "WATCHDOG=1"}, // it has moved
		{18500, 0, ""},		     {18501, 2499, "WATCHDOG=1"},
	};
	struct systemd s;

	systemd_open(&s);
	strcpy(s.status, "ok");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		systemd_poll(&s, "ok", rows[i].still_ms * 1000000, rows[i].at_ms * 1000000);
		assert_string_equal(heard(state), rows[i].want);
	}
	systemd_close(&s);
}

static void a_watchdog_of_another_process_is_not_fed(void **state)
{
	struct systemd s;

	setenv("WATCHDOG_PID", "1", 1);
	systemd_open(&s);
	systemd_poll(&s, "", 0, 100 * S);
	assert_string_equal(heard(state), "");
	systemd_close(&s);
}

static void the_status_is_told_when_it_changes_once_a_second_at_most(void **state)
{
	struct systemd s;

	unsetenv("WATCHDOG_USEC");
	systemd_open(&s);
	systemd_poll(&s, "1 of 2 ports up", 0, S);
	assert_string_equal(heard(state), "STATUS=1 of 2 ports up");
	systemd_poll(&s, "2 of 2 ports up", 0, 2 * S - 1);
	assert_string_equal(heard(state), "");
	systemd_poll(&s, "2 of 2 ports up", 0, 2 * S);
	assert_string_equal(heard(state), "STATUS=2 of 2 ports up");
	systemd_poll(&s, "2 of 2 ports up", 0, 9 * S);
	assert_string_equal(heard(state), "");
	systemd_close(&s);
}

static void a_manager_that_stands_still_delays_nothing_and_gets_the_feed_later(void **state)
{
	struct systemd s;
	uint64_t now = 10 * S;

	systemd_open(&s);
	while (datagram_send(&s.to, "X", 1)) // until its queue is full
		continue;
	systemd_poll(&s, "", 0, now);
	assert_int_equal(s.fed_at_ns, 0);
	while (heard(state)[0] == 'X')
		continue;
	systemd_poll(&s, "", 0, ++now);
	assert_string_equal(heard(state), "WATCHDOG=1");
	systemd_close(&s);
}

static void without_systemd_nothing_happens(void **state)
{
	struct systemd s;

	unsetenv("NOTIFY_SOCKET");
	systemd_open(&s);
	systemd_ready(&s);
	systemd_poll(&s, "ok", 0, 100 * S);
	assert_string_equal(heard(state), "");
	systemd_close(&s);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		T(each_step_of_a_life_is_told),
		T(the_watchdog_is_fed_each_quarter_while_all_workers_move),
		T(a_watchdog_of_another_process_is_not_fed),
		T(the_status_is_told_when_it_changes_once_a_second_at_most),
		T(a_manager_that_stands_still_delays_nothing_and_gets_the_feed_later),
		T(without_systemd_nothing_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
