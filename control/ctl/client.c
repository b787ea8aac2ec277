// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/client.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/base/terminal.h"
#include "control/observe/fact.h"

enum { ANSWER_TIMEOUT_S = 10, CHUNK = 65536, PATH_LEN = 128, WHY_LEN = 1024 };

static const char dir[] = "/run/weir";

static const char *socket_path(const char *name, char path[PATH_LEN])
{
	snprintf(path, PATH_LEN, "%s/%.64s.sock", dir, name);
	return path;
}

static int connect_to(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int code;

	if (fd < 0)
		return -errno;
	memcpy(at.sun_path, path, len < sizeof(at.sun_path) ? len : sizeof(at.sun_path) - 1);
	client_timeout(&(struct client){.fd = fd}, ANSWER_TIMEOUT_S);
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	code = errno;
	close(fd);
	return -code;
}

// A switch that was killed leaves its socket behind.
static bool answers(const char *path)
{
	int fd = connect_to(path);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

const char *client_find(char found[CLIENT_NAME_LEN])
{
	char path[PATH_LEN], pattern[64], names[256] = "";
	unsigned n = 0;
	glob_t sockets;

	if (answers(socket_path("weir", path)))
		return "weir";
	snprintf(found, CLIENT_NAME_LEN, "weir");
	snprintf(pattern, sizeof(pattern), "%s/*.sock", dir);
	if (glob(pattern, 0, NULL, &sockets) != 0)
		return found;
	for (size_t i = 0; i < sockets.gl_pathc; i++) {
		const char *base = strrchr(sockets.gl_pathv[i], '/') + 1;
		size_t at = strlen(names);

		if (!answers(sockets.gl_pathv[i]))
			continue;
		n++;
		snprintf(found, CLIENT_NAME_LEN, "%.*s", (int)(strlen(base) - strlen(".sock")),
			 base);
		snprintf(names + at, sizeof(names) - at, " %s", found);
	}
	globfree(&sockets);
	if (n < 2)
		return found;
	terminal_printf(stderr, "several switches run here; choose one with -s:%s\n", names);
	return NULL;
}

int client_connect(const char *name, struct client *out)
{
	char path[PATH_LEN];

	out->fd = connect_to(socket_path(name, path));
	return out->fd < 0 ? out->fd : 0;
}

int client_open(const char *name, struct client *out)
{
	char path[PATH_LEN], found[CLIENT_NAME_LEN];
	int err;

	if (name == NULL && (name = client_find(found)) == NULL)
		return -1;
	err = client_connect(name, out);
	if (err == 0)
		return 0;
	socket_path(name, path);
	if (err == -EACCES)
		terminal_printf(stderr,
				"no permission for %s; run weirctl as the user who runs weir\n",
				path);
	else if (err == -ECONNREFUSED)
		terminal_printf(stderr,
				"the switch %s is gone, and its socket %s is stale; "
				"start the switch again with: weir -c FILE\n",
				name, path);
	else
		terminal_printf(
			stderr,
			"no switch named %s is running (%s %s); start one with: weir -c FILE\n",
			name, err == -ENOENT ? "no" : "nothing answers at", path);
	return -1;
}

void client_timeout(struct client *c, unsigned seconds)
{
	struct timeval timeout = {.tv_sec = seconds};

	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

void client_close(struct client *c)
{
	close(c->fd);
}

static int send_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n <= 0)
			return -1;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

// One line without its newline, to be freed; NULL when the connection fails first.
static char *receive_line(int fd)
{
	char *text = NULL;
	size_t len = 0;

	for (;;) {
		char *grown = realloc(text, len + CHUNK + 1);
		ssize_t n;

		if (grown == NULL)
			break;
		text = grown;
		n = recv(fd, text + len, CHUNK, 0);
		if (n <= 0)
			break;
		len += (size_t)n;
		if (text[len - 1] == '\n') {
			text[len - 1] = '\0';
			return text;
		}
	}
	free(text);
	return NULL;
}

// The reply; NULL when the connection fails, or the reply is no JSON (*garbled).
static struct json_object *exchange(struct client *c, struct json_object *req, bool *garbled)
{
	size_t len;
	const char *text = json_object_to_json_string_length(req, JSON_C_TO_STRING_PLAIN, &len);
	struct json_object *reply = NULL;
	char *line = NULL;

	if (send_all(c->fd, text, len) == 0 && send_all(c->fd, "\n", 1) == 0)
		line = receive_line(c->fd);
	if (line != NULL)
		reply = json_tokener_parse(line);
	*garbled = line != NULL && reply == NULL;
	json_object_put(req);
	free(line);
	return reply;
}

struct json_object *client_exchange_quiet(struct client *c, struct json_object *req)
{
	bool garbled;
	struct json_object *reply = exchange(c, req, &garbled);
	struct json_object *data = json_object_get(json_object_object_get(reply, "data"));

	json_object_put(reply);
	return data;
}

struct json_object *client_exchange_why(struct client *c, struct json_object *req, char *why,
					size_t len)
{
	bool garbled;
	struct json_object *reply = exchange(c, req, &garbled), *data = NULL, *error;

	why[0] = '\0';
	if (json_object_object_get_ex(reply, "data", &data))
		json_object_get(data);
	else if (json_object_object_get_ex(reply, "error", &error))
		snprintf(why, len, "%s", json_object_get_string(error));
	else if (reply != NULL || garbled)
		snprintf(why, len, "the switch gave an answer that is not understood; are its "
				   "programs of the same version?");
	json_object_put(reply);
	return data;
}

struct json_object *client_exchange(struct client *c, struct json_object *req)
{
	char why[WHY_LEN];
	struct json_object *data = client_exchange_why(c, req, why, sizeof(why));

	if (data == NULL)
		terminal_printf(stderr, "%s\n", why[0] != '\0' ? why
				: "the switch did not answer; it may be stopping");
	return data;
}

struct json_object *client_request(const char *name, struct json_object *req)
{
	struct json_object *data;
	struct client c;

	if (client_open(name, &c) != 0) {
		json_object_put(req);
		return NULL;
	}
	data = client_exchange(&c, req);
	client_close(&c);
	return data;
}

struct json_object *show_request(unsigned list)
{
	return request_of("show", "what", fact_lists[list].what);
}

void print_json(struct json_object *data)
{
	puts(json_object_to_json_string_ext(data, JSON_C_TO_STRING_PRETTY |
						     JSON_C_TO_STRING_NOSLASHESCAPE |
						     JSON_C_TO_STRING_SPACED));
}

void sleep_s(double s)
{
	struct timespec t = {.tv_sec = (time_t)s};

	t.tv_nsec = (long)((s - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}
