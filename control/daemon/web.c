// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/web.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <json-c/json.h>

#include "control/base/model_time.h"
#include "control/daemon/daemon.h"
#include "control/observe/columns.h"
#include "control/observe/fact.h"
#include "control/observe/frames.h"
#include "control/page/page.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"

enum {
	WORD = 64,
	ANSWER_MOST = 32 << 20, // bytes
	READ_BYTES = 65536,
};

static const char type_html[] = "text/html; charset=utf-8", type_json[] = "application/json";
// Of all answers: no other page may show, read or keep them.
static const char safe[] = "X-Content-Type-Options: nosniff\r\n"
			   "X-Frame-Options: DENY\r\n"
			   "Referrer-Policy: no-referrer\r\n"
			   "Cross-Origin-Resource-Policy: same-origin\r\n"
			   "Cache-Control: no-store\r\n";

// A request to the control protocol on behalf of a client: as weirctl makes it.
struct show {
	int fd; // -1: none
	bool head;
	char *text; // what has come
	size_t len, room;
};

struct web {
	const struct daemon *d;
	struct httpd *httpd;
	const char *token, *socket;
	char *page;
	size_t page_len;
	struct show shows[HTTPD_MAX_CLIENTS]; // by client
	unsigned n_shows, budget; // at this moment; that may begin until refill_ns
	int64_t bytes; // of answers, that are left for this second; below 0 after a long one
	uint64_t refill_ns;
	bool streams[HTTPD_MAX_CLIENTS], fresh[HTTPD_MAX_CLIENTS]; // fresh: it has no column yet
	unsigned n_streams;
	struct frames *frames; // NULL: no stream has begun yet
	uint32_t n_sent; // columns that the streams have
	uint64_t next_ns;
	char *names; // of the ports of these columns
};

// ---- answers

static void answer_with_text(struct web *w, unsigned client, bool head, int status,
			     const char *text)
{
	httpd_answer(w->httpd, client,
		     &(struct httpd_answer){.status = status,
					    .head = head,
					    .headers = safe,
					    .body = text,
					    .len = strlen(text)});
}

// ---- show

static void show_end(struct web *w, unsigned client)
{
	struct show *s = &w->shows[client];

	if (s->fd < 0)
		return;
	close(s->fd);
	free(s->text);
	*s = (struct show){.fd = -1};
	w->n_shows--;
}

// The line of the request; NULL: a key has a value that it cannot have.
static struct json_object *show_request(const struct http_request *q, const char *what)
{
	const char *const texts[] = {KEY(QUEUES, port), KEY(EVENTS, severity)};
	const char *const numbers[] = {"since", "count", KEY(FDB_PORTS, limit)};
	const char *const switches[] = {"all", KEY(PAIRING, unpaired), "elephants"};
	struct json_object *o = json_object_new_object();
	char value[WORD], *end;

	row_text(o, "cmd", "show");
	row_text(o, "what", what);
	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (http_query(q, texts[i], value, sizeof(value)))
			row_text(o, texts[i], value);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (http_query(q, numbers[i], value, sizeof(value))) {
			row_u64(o, numbers[i], strtoull(value, &end, 10));
			if (value[0] < '0' || value[0] > '9' || *end != '\0') {
				json_object_put(o);
				return NULL;
			}
		}
	for (unsigned i = 0; i < sizeof(switches) / sizeof(*switches); i++)
		if (http_query(q, switches[i], value, sizeof(value)))
			row_bool(o, switches[i], strcmp(value, "0") != 0);
	return o;
}

static int control_connect(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

// Sends the request; show_poll takes the answer.
static void show_begin(struct web *w, unsigned client, const struct http_request *q,
		       const char *what)
{
	struct show *s = &w->shows[client];
	struct json_object *o;
	char line[1024];
	int n;

	if (w->n_shows == WEB_MAX_SHOWS || w->budget == 0 || w->bytes <= 0) {
		answer_with_text(w, client, q->head, 503,
				 "Too many requests at a time. Try again.\n");
		return;
	}
	// The text of the policy is for those who may ask weirctl.
	if (w->token == NULL && strcmp(what, "config") == 0) {
		answer_with_text(
			w, client, q->head, 403,
			"Refused: without --web-token the page does not give the policy file.\n");
		return;
	}
	o = show_request(q, what);
	if (o == NULL) {
		answer_with_text(w, client, q->head, 400,
				 "since, count and limit take whole numbers.\n");
		return;
	}
	n = snprintf(line, sizeof(line), "%s\n",
		     json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	s->fd = control_connect(w->socket);
	// A line fits into the socket's buffer, which is empty.
	if (s->fd < 0 || send(s->fd, line, (size_t)n, MSG_NOSIGNAL) != n) {
		if (s->fd >= 0)
			close(s->fd);
		s->fd = -1;
		answer_with_text(w, client, q->head, 503,
				 "The switch takes no request now. Try again.\n");
		return;
	}
	s->head = q->head;
	w->budget--;
	w->n_shows++;
}

// {"ok":true,"data":{...}} becomes {...}; an error becomes its sentence.
static void show_done(struct web *w, unsigned client)
{
	static const char good[] = "{\"ok\":true,\"data\":";
	struct show *s = &w->shows[client];
	size_t n = sizeof(good) - 1;

	w->bytes -= (int64_t)s->len;
	if (s->len > n && memcmp(s->text, good, n) == 0) {
		httpd_answer(w->httpd, client,
			     &(struct httpd_answer){.status = 200,
						    .head = s->head,
						    .type = type_json,
						    .headers = safe,
						    .body = s->text + n,
						    .len = s->len - n - 1});
	} else {
		struct json_object *o, *error;

		s->text[s->len] = '\0';
		o = json_tokener_parse(s->text);
		if (o == NULL || !json_object_object_get_ex(o, "error", &error))
			answer_with_text(w, client, s->head, 500, "The switch gave no answer.\n");
		else
			answer_with_text(
				w, client, s->head,
				strcmp(json_object_get_string(error), "too many clients") == 0
					? 503
					: 404,
				json_object_get_string(error));
		json_object_put(o);
	}
	show_end(w, client);
}

static bool show_has_room(struct show *s)
{
	char *more;

	if (s->room - s->len > READ_BYTES)
		return true;
	more = s->room >= ANSWER_MOST ? NULL : realloc(s->text, 2 * s->room + 2 * READ_BYTES);
	if (more == NULL)
		return false;
	s->text = more;
	s->room = 2 * s->room + 2 * READ_BYTES;
	return true;
}

static void show_poll(struct web *w, unsigned client)
{
	struct show *s = &w->shows[client];
	ssize_t n;

	do {
		n = show_has_room(s) ? recv(s->fd, s->text + s->len, READ_BYTES, MSG_DONTWAIT) : 0;
		s->len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	if (s->len != 0 && s->text[s->len - 1] == '\n') {
		s->len--;
		show_done(w, client);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		answer_with_text(w, client, s->head, 500, "The switch gave no answer.\n");
		show_end(w, client);
	}
}

// ---- the stream

static void put_live_value(void *arg, uint32_t place, double value)
{
	frames_put(((struct web *)arg)->frames, place, value);
}

static char *port_names(const struct policy *p)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (unsigned i = 0; out != NULL && i < p->n_ports; i++)
		fprintf(out, "%s ", p->ports[i].name);
	if (out != NULL)
		fclose(out);
	return text;
}

// The columns are those of the policy's ports: with other ports they begin anew.
static bool columns_ready(struct web *w)
{
	struct weir_switch *sw = w->d->in.sw;
	char *names = port_names(switch_policy(sw));

	if (w->frames != NULL && names != NULL && strcmp(names, w->names) == 0) {
		free(names);
		return true;
	}
	frames_destroy(w->frames);
	free(w->names);
	w->names = names;
	w->frames = names == NULL ? NULL : frames_create(columns_places(sw), 0);
	w->n_sent = 0;
	for (unsigned i = 0; i < HTTPD_MAX_CLIENTS; i++)
		w->fresh[i] = w->streams[i];
	return w->frames != NULL;
}

static void print_columns(const struct web *w, uint32_t first, FILE *out)
{
	const struct weir_switch *sw = w->d->in.sw;

	fprintf(out, "event: columns\ndata: {\"first\": %" PRIu32 ", \"columns\": [", first);
	for (uint32_t c = first; c < frames_n_columns(w->frames); c++) {
		fputs(c == first ? "" : ",", out);
		columns_name(sw, switch_policy(sw)->name, frames_place(w->frames, c), out);
	}
	fputs("]}\n\n", out);
}

static void print_frame(const struct web *w, bool all, FILE *out)
{
	fputs("event: frame\ndata: ", out);
	frames_print_last(w->frames, all, out);
	fputs("\n\n", out);
}

static void print_hello(const struct web *w, FILE *out)
{
	fputs("event: hello\ndata: {\"name\": ", out);
	columns_text(switch_policy(w->d->in.sw)->name, out);
	fprintf(out, ", \"version\": \"%s\", \"time_scale\": %" PRIu32 "}\n\n", WEIR_VERSION,
		instance_time_scale(&w->d->in));
}

// The text of a step: for streams that are fresh, or for the others. NULL: no memory.
static char *stream_text(const struct web *w, bool fresh, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (out == NULL)
		return NULL;
	if (fresh)
		print_hello(w, out);
	if (fresh || w->n_sent < frames_n_columns(w->frames))
		print_columns(w, fresh ? 0 : w->n_sent, out);
	print_frame(w, fresh, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static void push_to(struct web *w, bool fresh)
{
	char *text = NULL;
	size_t len = 0;

	for (unsigned i = 0; i < HTTPD_MAX_CLIENTS; i++) {
		if (!w->streams[i] || w->fresh[i] != fresh)
			continue;
		if (text == NULL)
			text = stream_text(w, fresh, &len);
		if (text == NULL) // it misses this frame, and begins anew
			w->fresh[i] = true;
		else if (httpd_push(w->httpd, i, text, len))
			w->fresh[i] = false;
	}
	free(text);
}

static void stream_step(struct web *w, uint64_t now_ns)
{
	uint64_t model_ns = model_time_ns(instance_time_scale(&w->d->in), now_ns);

	if (!columns_ready(w))
		return;
	frames_forget(w->frames);
	frames_begin(w->frames, model_ns, true);
	columns_read(&w->d->in, model_ns, put_live_value, w);
	push_to(w, false);
	push_to(w, true); // after the others: a stream that is fresh no more has all of this step
	w->n_sent = frames_n_columns(w->frames);
}

static void stream_begin(struct web *w, unsigned client, bool head)
{
	if (head) {
		answer_with_text(w, client, true, 200, "");
		return;
	}
	if (w->n_streams == WEB_MAX_STREAMS) {
		answer_with_text(w, client, false, 503,
				 "As many pages are open as the switch serves. Close one.\n");
		return;
	}
	w->n_streams++;
	w->streams[client] = w->fresh[client] = true;
	httpd_stream(w->httpd, client, safe);
}

// ---- requests

// Takes as long whatever differs.
static bool same_token(const char *a, const char *b)
{
	size_t n = strlen(a);
	unsigned differ = strlen(b) != n;

	for (size_t i = 0; i < n && b[i] != '\0'; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return differ == 0;
}

static bool may_ask(struct web *w, unsigned client, const struct http_request *q)
{
	char token[WEB_TOKEN_LEN];

	if (http_text_is(q->path, "/") ? http_is_foreign_page(q) : http_is_foreign(q)) {
		answer_with_text(
			w, client, q->head, 403,
			"Refused: open this page by an address, such as http://127.0.0.1:8080, or "
			"by localhost. By another name, or from another page, it could be a page "
			"of a stranger that asks.\n");
		return false;
	}
	if (w->token != NULL && !(http_query(q, "token", token, sizeof(token)) &&
				  same_token(w->token, token))) {
		answer_with_text(w, client, q->head, 401,
				 "Refused: the address ends in ?token=TOKEN, and the file of "
				 "--web-token has the token.\n");
		return false;
	}
	return true;
}

static void on_web_request(void *arg, unsigned client, const struct http_request *q,
			   uint64_t now_ns)
{
	static const char show[] = "/show/";
	struct web *w = arg;
	char what[WORD];
	size_t n = sizeof(show) - 1;

	(void)now_ns;
	if (q->status != 200) {
		answer_with_text(w, client, q->head, q->status,
				 "This is no request for the page.\n");
	} else if (!may_ask(w, client, q)) {
		return;
	} else if (http_text_is(q->path, "/")) {
		httpd_answer(w->httpd, client,
			     &(struct httpd_answer){.status = 200,
						    .head = q->head,
						    .type = type_html,
						    .headers = safe,
						    .body = w->page,
						    .len = w->page_len});
	} else if (http_text_is(q->path, "/live")) {
		stream_begin(w, client, q->head);
	} else if (q->path.len > n && q->path.len < n + sizeof(what) &&
		   memcmp(q->path.at, show, n) == 0) {
		snprintf(what, sizeof(what), "%.*s", (int)(q->path.len - n), q->path.at + n);
		show_begin(w, client, q, what);
	} else {
		answer_with_text(w, client, q->head, 404, "There is /, /live and /show/WHAT.\n");
	}
}

static void on_gone(void *arg, unsigned client)
{
	struct web *w = arg;

	show_end(w, client);
	if (w->streams[client])
		w->n_streams--;
	w->streams[client] = w->fresh[client] = false;
}

// ----

int web_create(const struct daemon *d, const struct web_conf *conf, struct web **out)
{
	static const struct httpd_ops ops = {.request = on_web_request, .gone = on_gone};
	struct web *w = calloc(1, sizeof(*w));
	int err;

	if (w == NULL)
		return -ENOMEM;
	w->d = d;
	w->token = conf->token;
	w->socket = conf->socket;
	for (unsigned i = 0; i < HTTPD_MAX_CLIENTS; i++)
		w->shows[i].fd = -1;
	w->page = page_empty(&w->page_len);
	err = w->page == NULL ? -ENOMEM
			      : httpd_create(conf->at, HTTPD_MAX_CLIENTS, &ops, w, &w->httpd);
	if (err != 0) {
		free(w->page);
		free(w);
		return err;
	}
	*out = w;
	return 0;
}

void web_destroy(struct web *w)
{
	if (w == NULL)
		return;
	httpd_destroy(w->httpd);
	frames_destroy(w->frames);
	free(w->names);
	free(w->page);
	free(w);
}

void web_poll(struct web *w, uint64_t now_ns)
{
	if (w == NULL)
		return;
	if (now_ns >= w->refill_ns) {
		w->budget = WEB_SHOWS_A_SECOND;
		w->bytes += WEB_BYTES_A_SECOND;
		if (w->bytes > WEB_BYTES_A_SECOND)
			w->bytes = WEB_BYTES_A_SECOND;
		w->refill_ns = now_ns + SECOND_NS;
	}
	httpd_poll(w->httpd, now_ns);
	for (unsigned i = 0; i < HTTPD_MAX_CLIENTS && w->n_shows != 0; i++)
		if (w->shows[i].fd >= 0)
			show_poll(w, i);
	if (w->n_streams != 0 && now_ns >= w->next_ns) {
		w->next_ns = now_ns + (uint64_t)WEB_EVERY_MS * MS_NS;
		stream_step(w, now_ns);
	}
}

char *web_token(const char *file, char *err, unsigned err_len)
{
	char text[WEB_TOKEN_LEN];
	FILE *in = fopen(file, "re");
	bool got = in != NULL && fgets(text, sizeof(text), in) != NULL;
	bool whole = got && (strchr(text, '\n') != NULL || feof(in));
	struct stat st = {0};

	if (in == NULL) {
		snprintf(err, err_len, "%s: %s", file, strerror(errno));
		return NULL;
	}
	(void)!fstat(fileno(in), &st); // without an answer there is no warning
	fclose(in);
	*err = '\0';
	if (st.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
		snprintf(err, err_len, "%s: other users can %s the token: chmod 600 %s", file,
			 st.st_mode & (S_IWOTH | S_IWGRP) ? "change" : "read", file);
	text[got ? strcspn(text, "\n") : 0] = '\0';
	if (!whole || strlen(text) < WEB_TOKEN_LEAST ||
	    strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.~") !=
		    strlen(text)) {
		snprintf(err, err_len,
			 "%s: its first line is to be a token of %d to %d letters, "
			 "digits, - _ . and ~: make one by: openssl rand -hex 16 > %s",
			 file, WEB_TOKEN_LEAST, WEB_TOKEN_LEN - 2, file);
		return NULL;
	}
	return strdup(text);
}
