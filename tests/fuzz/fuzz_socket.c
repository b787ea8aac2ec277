// SPDX-License-Identifier: Apache-2.0
// The control socket under clients that do anything: whole requests and pieces of them, bytes that
// are no JSON, lines too long, many clients at once, gone at any moment, answers never read. The
// daemon's own server and request table stand behind a listening socket, with a switch of two ports
// that nothing comes from. Every answer is one line of JSON with "ok"; what was not wanted any more
// leaves no descriptor, no memory and no held admission behind.
//
//   input: operations: a verb, a client, and the bytes of the verb
#include "source_root.h"
#include "tests/fuzz/fuzz.h"

#include <json-c/json.h>

#include "tests/fuzz/daemon.h"
#include "tests/fuzz/net.h"

enum { MAX_OPS = 200, CLIENTS = 20, ANSWER_MAX = 1 << 19 };

// One end of a connection; what it has read and not judged yet.
struct client {
	struct net_conn *conn; // NULL: none
	unsigned n_judged; // answers
	size_t n;
	char *text;
};

struct run {
	struct fuzz_daemon *d;
	struct client clients[CLIENTS];
	bool may_hold; // somebody may have asked for `quiesce --hold`
};

// Words that requests are made of; the input chooses.
static const char *const requests[] = {
	"{\"cmd\":\"show\",\"what\":\"%s\"}\n",
	"{\"cmd\":\"show\",\"what\":\"%s\",\"port\":\"p1\"}\n",
	"{\"cmd\":\"show\",\"what\":\"%s\",\"all\":true,\"since\":1,\"port\":\"p2\"}\n",
	"{\"cmd\":\"show\",\"what\":\"%s\",\"port\":\"p9\"}\n",
	"{\"cmd\":\"set_tx\",\"port\":\"p1\",\"on\":false}\n",
	"{\"cmd\":\"set_tx\",\"port\":\"p1\",\"on\":true}\n",
	"{\"cmd\":\"set_tx\",\"port\":\"p2\",\"queue\":3,\"on\":false}\n",
	"{\"cmd\":\"set_tx\",\"port\":\"p2\",\"queue\":9,\"on\":\"%s\"}\n",
	"{\"cmd\":\"clear\",\"what\":\"counters\"}\n",
	"{\"cmd\":\"clear\",\"what\":\"watermarks\"}\n",
	"{\"cmd\":\"quiesce\"}\n",
	"{\"cmd\":\"quiesce\",\"hold\":true}\n",
	"{\"cmd\":\"resume\"}\n",
	"{\"cmd\":\"metrics\"}\n",
	"{\"cmd\":\"reload\"}\n",
	"{\"cmd\":\"reload\",\"file\":\"" SOURCE_ROOT "/tests/fuzz/policies/b.yaml\"}\n",
	"{\"cmd\":\"reload\",\"file\":\"" SOURCE_ROOT "/tests/fuzz/policies/bad.yaml\"}\n",
	"{\"cmd\":\"reload\",\"file\":\"" SOURCE_ROOT "/tests/fuzz/policies\"}\n",
	"{\"cmd\":\"reload\",\"file\":\"%s\"}\n",
	"{\"cmd\":\"capture\",\"port\":\"p1\"}\n",
	"{\"cmd\":\"capture\",\"filter\":\"vlan 7 or udp\",\"count\":3}\n",
	"{\"cmd\":\"capture\",\"filter\":\"%s\"}\n",
	"{\"cmd\":\"capture-read\"}\n",
	"{\"cmd\":\"capture-stop\"}\n",
	"{\"cmd\":\"%s\"}\n",
	"[1,2]\n",
	"\n",
	"{\"cmd\":\"watchdog_recover\",\"port\":\"p1\",\"class\":3}\n",
	"{\"cmd\":\"watchdog_recover\",\"port\":\"p2\",\"class\":\"%s\"}\n",
	"{\"cmd\":\"watchdog_drop_all\",\"on\":true}\n",
	"{\"cmd\":\"watchdog_drop_all\",\"on\":false}\n",
	"{\"cmd\":\"watchdog_drop_all\",\"on\":\"%s\"}\n",
	"{\"cmd\":\"show\",\"what\":\"flows\",\"limit\":1,\"unpaired\":true}\n",
	"{\"cmd\":\"show\",\"what\":\"flows\",\"elephants\":true}\n",
	"{\"cmd\":\"show\",\"what\":\"flows\",\"limit\":\"%s\"}\n",
	"{\"cmd\":\"show\",\"what\":\"cnps\",\"count\":3}\n",
	("{\"cmd\":\"flow_add\",\"from\":\"10.0.0.1\",\"to\":\"10.0.0.2\",\"qp\":18,"
	 "\"sender_qp\":52}\n"),
	"{\"cmd\":\"flow_del\",\"from\":\"10.0.0.1\",\"to\":\"%s\",\"qp\":18}\n",
};

static const char *const words[] = {
	"ports", "queues", "pfc", "buffers", "watermarks", "drops", "control", "hints", "balance",
	"fdb", "latency", "config", "events", "workers", "wrong", "", "\\u0000", "\\ud800",
	"a\\\"b", "watchdog", "guard", "causes", "flows", "ipcc", "cnps",
};

// ---- the clients

static void judge(const char *line)
{
	struct json_object *o = json_tokener_parse(line), *ok = NULL;

	FUZZ_CHECK(o != NULL && json_object_object_get_ex(o, "ok", &ok));
	FUZZ_CHECK(json_object_is_type(ok, json_type_boolean));
	FUZZ_CHECK(json_object_object_get_ex(o, json_object_get_boolean(ok) ? "data" : "error",
					     NULL));
	json_object_put(o);
}

static void client_close(struct client *c)
{
	if (c->conn != NULL)
		net_close(c->conn);
	free(c->text);
	*c = (struct client){0};
}

// Reads what has come and judges the whole lines of it.
static void client_read(struct client *c)
{
	char *end;
	size_t room;
	long n;

	if (c->conn == NULL)
		return;
	room = net_waiting(c->conn);
	if (room == 0)
		return;
	c->text = realloc(c->text, c->n + room + 1);
	FUZZ_CHECK(c->text != NULL);
	n = net_read(c->conn, c->text + c->n, room);
	c->n += (size_t)n;
	c->text[c->n] = '\0';
	FUZZ_CHECK(c->n < ANSWER_MAX && memchr(c->text, '\0', c->n) == NULL);
	while ((end = memchr(c->text, '\n', c->n)) != NULL) {
		*end++ = '\0';
		judge(c->text);
		c->n_judged++;
		c->n -= (size_t)(end - c->text);
		memmove(c->text, end, c->n + 1);
	}
}

static void client_send(struct client *c, const void *data, size_t len)
{
	if (c->conn == NULL)
		c->conn = net_connect();
	if (c->conn != NULL)
		net_write(c->conn, data, len);
}

// ---- operations

static void op_bytes(struct run *r, struct client *c, struct fuzz_in *in)
{
	size_t n = fuzz_u8(in);
	const uint8_t *at = fuzz_take(in, &n);

	r->may_hold = true;
	client_send(c, at, n);
}

static void op_request(struct run *r, struct client *c, struct fuzz_in *in)
{
	const char *form = requests[fuzz_u8(in) % (sizeof(requests) / sizeof(requests[0]))];
	unsigned v = fuzz_u8(in);
	const char *word = words[v % (sizeof(words) / sizeof(words[0]))];
	const char *hole = strstr(form, "%s");
	char line[512];
	size_t len, cut = fuzz_u8(in);

	if (hole == NULL)
		len = (size_t)snprintf(line, sizeof(line), "%s", form);
	else
		len = (size_t)snprintf(line, sizeof(line), "%.*s%s%s", (int)(hole - form), form,
				       word, hole + 2);
	r->may_hold |= strstr(line, "hold") != NULL;
	// Seldom only a part of it.
	client_send(c, line, cut > 200 ? len * (cut - 200) / 56 : len);
}

static void op_long(struct client *c, struct fuzz_in *in)
{
	static const char *const openings[] = {"{\"cmd\":\"", "[", "{\"a\":", " "};
	unsigned v = fuzz_u8(in);
	const char *what = openings[v & 3];
	size_t n = fuzz_u16(in) % 9000, step = strlen(what);
	char *line = malloc(n + 1);

	FUZZ_CHECK(line != NULL);
	for (size_t i = 0; i < n; i++)
		line[i] = what[i % step];
	line[n] = '\n';
	client_send(c, line, n + (v >> 7));
	free(line);
}

static void op_shut(struct client *c, bool write)
{
	if (c->conn != NULL && write)
		net_shut_write(c->conn);
	else if (c->conn != NULL)
		net_shut_read(c->conn);
}

static void op(struct run *r, struct fuzz_in *in)
{
	static const uint64_t waits_ns[] = {0, 1000000, 500000000, 1100000000, 6000000000,
					    11000000000};
	unsigned v = fuzz_u8(in), w = fuzz_u8(in);
	struct client *c = &r->clients[w % CLIENTS];

	switch (v & 0xf) {
	case 0:
	case 1: op_bytes(r, c, in); break;
	case 2: op_long(c, in); break;
	case 3: client_close(c); break;
	case 4:
		op_shut(c, w & 0x80);
		break;
	case 5:
	case 6: client_read(c); break;
	case 7: fuzz_daemon_step(r->d, waits_ns[w % 6], !(w & 0x80)); break;
	case 8:
		if (c->conn == NULL)
			c->conn = net_connect();
		break;
	default: op_request(r, c, in);
	}
	if (v & 0x10)
		fuzz_daemon_step(r->d, 1000000, true);
}

// What is asked of a daemon that all have left.
static void ask(struct run *r, const char *line)
{
	struct client *c = &r->clients[0];
	unsigned n = 0;

	client_send(c, line, strlen(line));
	FUZZ_CHECK(c->conn != NULL);
	do {
		fuzz_daemon_step(r->d, 1000000, true);
		client_read(c);
	} while (c->n_judged == 0 && n++ < 20);
	FUZZ_CHECK(c->n_judged == 1);
	client_close(c);
	fuzz_daemon_step(r->d, 1000000, true);
}

static bool takes_frames(struct run *r)
{
	uint64_t before = fuzz_daemon_received(r->d);

	fuzz_daemon_step(r->d, 1000000, true);
	return fuzz_daemon_received(r->d) > before;
}

// All go, and the daemon is as it was: it takes frames, unless it was told not to, and answers.
static void end(struct run *r)
{
	for (unsigned i = 0; i < 4; i++) {
		fuzz_daemon_step(r->d, 1000000, true);
		for (unsigned k = 0; k < CLIENTS; k++)
			client_read(&r->clients[k]);
	}
	for (unsigned k = 0; k < CLIENTS; k++)
		client_close(&r->clients[k]);
	for (unsigned i = 0; i < 4; i++)
		fuzz_daemon_step(r->d, 3000000000, true);
	FUZZ_CHECK(r->may_hold || takes_frames(r));
	ask(r, "{\"cmd\":\"resume\"}\n");
	ask(r, "{\"cmd\":\"show\",\"what\":\"balance\"}\n");
	FUZZ_CHECK(takes_frames(r));
	fuzz_daemon_close(r->d);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_daemon_init();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = {data, len};
	struct run r = {.d = fuzz_daemon_open()};

	net_set_width(SIZE_MAX);
	for (unsigned i = 0; i < MAX_OPS && in.left != 0; i++)
		op(&r, &in);
	end(&r);
	return 0;
}
