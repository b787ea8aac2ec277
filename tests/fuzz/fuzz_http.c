// SPDX-License-Identifier: Apache-2.0
// The port of metrics under strangers: any bytes in any pieces, many connections, gone or silent
// at any moment, a kernel that takes and gives a few bytes at a time. The server is the daemon's
// own. The page is the harness's, so no switch is made. Every answer that ends is a status line and
// a head. An answer with status 200 carries the whole page. No stranger stays longer than the
// timeout. The server makes no page early. No descriptor is left.
//
//   input: operations: a verb, a client, and the bytes of the verb
#include "tests/fuzz/fuzz.h"

#include "control/daemon/httpd.h"
#include "control/daemon/journal.h"
#include "control/daemon/metrics.h"
#include "control/daemon/outlet.h"
#include "control/observe/prometheus.h"
#include "dataplane/base/units.h"
#include "tests/fuzz/net.h"

enum { MAX_OPS = 100, CLIENTS = 12, PAGE_MAX = 6000, ANSWER_MAX = PAGE_MAX + 1000 };

struct client {
	struct net_conn *conn; // NULL: none
	uint64_t since_ns;
	bool spoilt; // it closed its half before it had sent all, or reads no more
	size_t n;
	char text[ANSWER_MAX];
};

// One run at a time: the page has no argument for it.
static struct run {
	struct metrics *metrics;
	uint64_t now_ns, page_ns; // page_ns: when the server last asked for a page
	size_t page_len; // 0: memory is short
	struct client clients[CLIENTS];
} run;

static char page[PAGE_MAX];

// ---- what the server finds instead of a switch

char *prometheus_page(struct observe *o, const struct prometheus_about *about, uint64_t now_ns,
		      size_t *len)
{
	char *text;

	(void)o;
	(void)about;
	FUZZ_CHECK(run.page_ns == 0 || now_ns - run.page_ns >= (uint64_t)METRICS_PAGE_MS * MS_NS);
	if (run.page_len == 0)
		return NULL;
	run.page_ns = now_ns;
	text = fuzz_exact(page, run.page_len);
	*len = run.page_len;
	return text;
}

uint64_t eventlog_count(const struct eventlog *log, enum event_type type)
{
	(void)log;
	return type;
}

uint64_t outlet_lost(void)
{
	return 0;
}

uint64_t journal_lost(void)
{
	return 0;
}

// ---- the server

static void server_open(void)
{
	const struct endpoint at = {0};

	run.now_ns = 1000 * (uint64_t)MS_NS;
	run.page_ns = 0;
	run.page_len = PAGE_MAX;
	net_set_width(SIZE_MAX);
	FUZZ_CHECK(metrics_create(&at, NULL, NULL, &run.metrics) == 0);
}

static void step(uint64_t for_ns)
{
	run.now_ns += for_ns;
	metrics_poll(run.metrics, run.now_ns);
}

// ---- the clients

static const char *const requests[] = {
	"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /metrics HTTP/1.0\n\n",
	"HEAD /metrics HTTP/1.1\r\n\r\n",
	"GET /metrics?x=1 HTTP/1.1\r\n",
	"GET / HTTP/1.1\r\n\r\n",
	"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
	"GET /metrics HTTP/2.0\r\n\r\n",
	"\r\n\r\n",
	"GET  HTTP/1.1\r\n\r\n",
	"GET\r\n",
	" ",
	"\n",
};

// Only the timeout cuts an answer, or a client that waits for the place of a slow reader.
static void judge(const struct client *c)
{
	bool late = run.now_ns - c->since_ns >= (uint64_t)HTTPD_ANSWER_MS * MS_NS;
	const char *text = c->text, *end = memmem(text, c->n, "\r\n\r\n", 4), *len_at;
	size_t body, want, n = c->n;

	if (late && end == NULL)
		return;
	FUZZ_CHECK(n > 12 && memcmp(text, "HTTP/1.0 ", 9) == 0 && end != NULL);
	len_at = memmem(text, n, "\r\nContent-Length: ", 18);
	FUZZ_CHECK(len_at != NULL && len_at < end);
	want = strtoul(len_at + 18, NULL, 10);
	body = n - (size_t)(end + 4 - text);
	FUZZ_CHECK(body == want || body == 0 || (late && body < want));
	FUZZ_CHECK(memcmp(text + 9, "200", 3) != 0 || memcmp(end + 4, page, body) == 0);
}

static void client_close(struct client *c)
{
	if (c->conn != NULL)
		net_close(c->conn);
	c->conn = NULL;
	c->spoilt = false;
	c->n = 0;
}

// A connection that the server has ended is judged by all that came.
static void client_read(struct client *c)
{
	long n;

	if (c->conn == NULL || c->spoilt)
		return;
	n = net_read(c->conn, c->text + c->n, ANSWER_MAX - 1 - c->n);
	if (n > 0) {
		c->n += (size_t)n;
		c->text[c->n] = '\0';
		FUZZ_CHECK(c->n < ANSWER_MAX - 1);
	}
	if (n != 0)
		return;
	if (c->n != 0)
		judge(c);
	client_close(c);
}

static void client_send(struct client *c, const void *data, size_t len)
{
	if (c->conn == NULL) {
		c->conn = net_connect();
		c->since_ns = run.now_ns;
	}
	if (c->conn != NULL)
		net_write(c->conn, data, len);
}

// ---- operations

static void op_bytes(struct client *c, struct fuzz_in *in)
{
	size_t n = fuzz_u8(in);
	const uint8_t *at = fuzz_take(in, &n);

	client_send(c, at, n);
}

static void op_request(struct client *c, struct fuzz_in *in)
{
	const char *text = requests[fuzz_u8(in) % (sizeof(requests) / sizeof(requests[0]))];
	size_t cut = fuzz_u8(in), len = strlen(text);

	// Seldom only a part of it.
	client_send(c, text, cut > 200 ? len * (cut - 200) / 56 : len);
}

static void op_long(struct client *c, struct fuzz_in *in)
{
	char line[HTTP_REQUEST_MAX + 100];
	size_t n = HTTP_REQUEST_MAX - 100 + fuzz_u8(in) % 200;

	memset(line, 'x', sizeof(line));
	if (n & 1)
		memcpy(line, "GET /metrics ", 13);
	if (n & 2)
		memcpy(line + n - 4, "\r\n\r\n", 4);
	client_send(c, line, n);
}

static void op_shut(struct client *c, bool write)
{
	if (write)
		net_shut_write(c->conn);
	else
		net_shut_read(c->conn);
	c->spoilt |= !write;
}

// What the kernel moves from now on, and how long the next page is.
static void op_kernel(unsigned v)
{
	static const size_t widths[] = {SIZE_MAX, 0, 1, 500};
	static const size_t lengths[] = {PAGE_MAX, 1, 0, 300};

	net_set_width(widths[v & 3]);
	run.page_len = lengths[v >> 2 & 3];
}

static void op(struct fuzz_in *in)
{
	static const uint64_t waits_ns[] = {0, 3000000, 100000000, 4999000000, 5100000001};
	unsigned v = fuzz_u8(in), w = fuzz_u8(in);
	struct client *c = &run.clients[w % CLIENTS];

	switch (v & 7) {
	case 0: op_bytes(c, in); break;
	case 1: op_long(c, in); break;
	case 2: client_close(c); break;
	case 3:
		if (c->conn != NULL)
			op_shut(c, w & 0x80);
		break;
	case 4: client_read(c); break;
	case 5: step(waits_ns[w % 5]); break;
	default: op_request(c, in);
	}
	if (v & 0x20)
		op_kernel(w >> 4);
	if (v & 0x10)
		step(1000000);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	for (size_t i = 0; i < sizeof(page); i++)
		page[i] = (char)(i % 64 == 0 ? '#' : 'a' + i / 64 % 26);
	return 0;
}

// The server has ended the connection, by an end or by a reset.
static bool ended(const struct client *c)
{
	char rest[4096];
	long n;

	do
		n = net_read(c->conn, rest, sizeof(rest));
	while (n > 0);
	return n == 0;
}

// After the timeout no client is left. Each operation may have made a connection that waits for a
// place, also for a client that is gone, and a turn takes half of the places.
// Then a good request is answered at once.
static void end(void)
{
	struct client *c = &run.clients[0];

	op_kernel(0);
	for (unsigned k = 0; k < CLIENTS; k++)
		client_read(&run.clients[k]);
	for (unsigned i = 0; i < MAX_OPS / (METRICS_MAX_CLIENTS / 2) + 2; i++)
		step((uint64_t)HTTPD_TIMEOUT_MS * MS_NS + 1);
	for (unsigned k = 0; k < CLIENTS; k++) {
		FUZZ_CHECK(run.clients[k].conn == NULL || ended(&run.clients[k]));
		client_close(&run.clients[k]);
	}
	client_send(c, requests[0], strlen(requests[0]));
	for (unsigned i = 0; i < 3 && c->conn != NULL; i++) {
		step(MS_NS);
		client_read(c);
	}
	FUZZ_CHECK(c->conn == NULL);
	metrics_destroy(run.metrics);
	FUZZ_CHECK(net_n_open() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = {data, len};

	server_open();
	for (unsigned i = 0; i < MAX_OPS && in.left != 0; i++)
		op(&in);
	end();
	return 0;
}
