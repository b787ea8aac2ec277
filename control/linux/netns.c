// SPDX-License-Identifier: Apache-2.0
#include "control/linux/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_LEN = 256 };

// The caller writes fn and arg, the thread writes result; `turn` says whose turn it is.
struct netns {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum { TURN_CALLER, TURN_THREAD, TURN_END } turn;
	int (*fn)(void *arg);
	void *arg;
	int result;
	int fd; // of the namespace; -1: that of the process
	char ip_command[PATH_LEN];
};

static int enter_netns(void *arg)
{
	const struct netns *n = arg;

	return n->fd >= 0 && setns(n->fd, CLONE_NEWNET) != 0 ? -errno : 0;
}

static void *serve_netns_calls(void *arg)
{
	struct netns *n = arg;

	pthread_mutex_lock(&n->mutex);
	while (n->turn != TURN_END) {
		if (n->turn == TURN_THREAD) {
			n->result = n->fn(n->arg);
			n->turn = TURN_CALLER;
			pthread_cond_broadcast(&n->changed);
		} else {
			pthread_cond_wait(&n->changed, &n->mutex);
		}
	}
	pthread_mutex_unlock(&n->mutex);
	return NULL;
}

int netns_call(struct netns *n, int (*fn)(void *arg), void *arg)
{
	int result;

	pthread_mutex_lock(&n->mutex);
	n->fn = fn;
	n->arg = arg;
	n->turn = TURN_THREAD;
	pthread_cond_broadcast(&n->changed);
	while (n->turn == TURN_THREAD)
		pthread_cond_wait(&n->changed, &n->mutex);
	result = n->result;
	pthread_mutex_unlock(&n->mutex);
	return result;
}

static int open_namespace(const char *name, char *err, size_t err_len)
{
	char path[PATH_LEN];
	int fd;

	snprintf(path, sizeof(path), "%s%s", strchr(name, '/') != NULL ? "" : "/run/netns/", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (errno == ENOENT && strchr(name, '/') == NULL)
		snprintf(err, err_len,
			 "control_plane.netns: there is no network namespace %s; make it: ip netns "
			 "add %s", name, name);
	else
		snprintf(err, err_len,
			 "control_plane.netns: cannot open %s: %s; give the name of a namespace of "
			 "`ip netns`, or the path of one that exists", path, strerror(errno));
	return -errno;
}

static void name_ip_command(struct netns *n, const char *name)
{
	if (name == NULL)
		snprintf(n->ip_command, sizeof(n->ip_command), "ip");
	else if (strchr(name, '/') == NULL)
		snprintf(n->ip_command, sizeof(n->ip_command), "ip -n %s", name);
	else
		snprintf(n->ip_command, sizeof(n->ip_command), "nsenter --net=%s ip", name);
}

const char *netns_ip_command(const struct netns *n)
{
	return n->ip_command;
}

int netns_open(const char *name, struct netns **out, char *err, size_t err_len)
{
	struct netns *n = calloc(1, sizeof(*n));
	int rc;

	if (n == NULL) {
		snprintf(err, err_len, "out of memory");
		return -ENOMEM;
	}
	name_ip_command(n, name);
	n->fd = name == NULL ? -1 : open_namespace(name, err, err_len);
	if (name != NULL && n->fd < 0) {
		rc = n->fd;
		free(n);
		return rc;
	}
	pthread_mutex_init(&n->mutex, NULL);
	pthread_cond_init(&n->changed, NULL);
	rc = -pthread_create(&n->thread, NULL, serve_netns_calls, n);
	if (rc != 0) {
		snprintf(err, err_len, "control_plane: cannot make a thread: %s", strerror(-rc));
		if (n->fd >= 0)
			close(n->fd);
		free(n);
		return rc;
	}
	rc = netns_call(n, enter_netns, n);
	if (rc != 0) {
		snprintf(err, err_len, "control_plane.netns: cannot enter %s: %s; it must be a "
				       "network namespace, and weir must start as root",
			 name, strerror(-rc));
		netns_close(n);
		return rc;
	}
	*out = n;
	return 0;
}

void netns_close(struct netns *n)
{
	if (n == NULL)
		return;
	pthread_mutex_lock(&n->mutex);
	n->turn = TURN_END;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->mutex);
	pthread_join(n->thread, NULL);
	pthread_cond_destroy(&n->changed);
	pthread_mutex_destroy(&n->mutex);
	if (n->fd >= 0)
		close(n->fd);
	free(n);
}
