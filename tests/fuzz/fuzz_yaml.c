// SPDX-License-Identifier: Apache-2.0
// Any text as a policy file: it is loaded, compiled, planned and reloaded, or refused with
// messages that all name a place in it. What compiles is a policy a worker can run.
//
//   input: the file, as it is; its length chooses the facts of the devices
#include "control/config/port_open.h"
#include "dataplane/policy.h"
#include "dataplane/port_ops.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "control/config/compile.h"
#include "control/config/config.h"
#include "control/config/plan.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/forward/vtep.h"

static FILE *nowhere;

// What devices might say. The first row is a plan without devices.
static const struct port_facts kinds[] = {
	{.max_frame = 0},
	{.speed_bps = 10000000000, .max_frame = 65535, .tx_burst = 1, .pfc_rx = true,
	 .pfc_tx = true},
	{.speed_bps = 0, .max_frame = 3490, .rx_ring = 2048, .tx_ring_bytes = 9000,
	 .shaper_burst_ns = 100000, .rx_depth_readable = true},
	{.speed_bps = 400000000000, .max_frame = 9600, .rx_ring = 4096, .tx_ring_bytes = 65536,
	 .rx_depth_readable = true, .pfc_rx = true, .pfc_tx = true},
};

// Fit for a terminal and for JSON: UTF-8 without control characters, neither ASCII's nor Unicode's.
static bool printable(const char *line)
{
	const uint8_t *c = (const uint8_t *)line;

	while (*c != 0) {
		unsigned more = *c < 0x80 ? 0 : *c < 0xc2 ? 4 : *c < 0xe0 ? 1 : *c < 0xf0 ? 2 : 3;

		if (*c < 0x20 || *c == 0x7f || more == 4 || *c > 0xf4 ||
		    (*c == 0xc2 && c[1] < 0xa0))
			return false;
		for (c++; more != 0; more--, c++)
			if ((*c & 0xc0) != 0x80)
				return false;
	}
	return true;
}

// Lines and columns begin at 1; a place lies in the text or just behind it.
static void check_lines(const struct diags *d, const char *text, size_t len)
{
	unsigned last = 2, line = 0, column = 0, n_errors = 0;

	for (size_t i = 0; i < len; i++)
		last += text[i] == '\n' || text[i] == '\r' || (text[i] & 0x80) != 0;
	for (unsigned i = 0; i < d->n; i++) {
		const char *s = d->lines[i];
		unsigned l = 0, c = 0;

		FUZZ_CHECK(sscanf(s, "f:%u:%u: ", &l, &c) == 2);
		FUZZ_CHECK(l >= 1 && c >= 1 && l <= last);
		FUZZ_CHECK(l > line || (l == line && c >= column));
		FUZZ_CHECK(printable(s));
		// A name may be that word; messages have names in brackets.
		FUZZ_CHECK(strstr(s, "(null)") == NULL || memmem(text, len, "null", 4) != NULL);
		n_errors += strstr(s, "warning: ") == NULL;
		line = l;
		column = c;
	}
	// The word may also stand in a key or a value.
	FUZZ_CHECK(d->n <= d->n_messages && n_errors <= d->n_errors);
	FUZZ_CHECK(d->n_errors <= d->n_messages);
	for (unsigned i = 0; i < d->n_messages; i++) {
		FUZZ_CHECK(printable(d->messages[i].text));
		FUZZ_CHECK(d->messages[i].key == NULL || printable(d->messages[i].key));
		FUZZ_CHECK(d->messages[i].hint == NULL || printable(d->messages[i].hint));
	}
}

static void check_queue(const struct policy_queue *q)
{
	for (unsigned i = 0; q->wred.enabled && i < N_COLORS; i++) {
		const struct wred_curve *c = &q->wred.curve[i];

		FUZZ_CHECK(c->kmin_bytes <= c->kmax_bytes && c->pmax_q32 <= 1ull << 32);
	}
}

static void check_port(const struct policy *p, const struct policy_port *port)
{
	const struct classify_params *c = &port->classify;

	FUZZ_CHECK(port->name[0] != '\0' && memchr(port->name, 0, sizeof(port->name)) != NULL);
	FUZZ_CHECK(port->speed_bps >= 1000000 && port->mtu >= 68);
	FUZZ_CHECK(port->max_frame == port->mtu + 22 && port->vlan.untagged < N_VLANS);
	FUZZ_CHECK(c->trust <= TRUST_PORT && c->default_class < N_CLASSES);
	for (unsigned i = 0; i < 64; i++)
		FUZZ_CHECK(c->dscp_to_class[i] < N_CLASSES && c->dscp_to_color[i] < N_COLORS);
	for (unsigned i = 0; i < N_CLASSES; i++) {
		unsigned pg = c->class_to_pg[i];

		FUZZ_CHECK(c->pcp_to_class[i] < N_CLASSES && pg < N_PGS);
		FUZZ_CHECK(c->class_to_queue[i] < N_QUEUES);
		FUZZ_CHECK(c->remark_pcp[i] < 8 || c->remark_pcp[i] == REMARK_NONE);
		FUZZ_CHECK(c->remark_dscp[i] < 64 || c->remark_dscp[i] == REMARK_NONE);
		// A lossless class can take what arrives after its PAUSE.
		if (c->lossless >> i & 1)
			FUZZ_CHECK(port->pg[pg].xoff_cells <= p->buffer.headroom_pool_cells);
		check_queue(&port->queue[i]);
	}
	FUZZ_CHECK((port->pfc.rx & ~c->lossless) == 0 && (port->pfc.tx & ~c->lossless) == 0);
	FUZZ_CHECK(port->pfc.lossless == c->lossless && port->pfc.quanta != 0);
	FUZZ_CHECK(port->pfc.lifetime_ns != 0);
}

static void check_policy(const struct policy *p)
{
	const struct buffer_params *b = &p->buffer;
	uint64_t min = 0;

	FUZZ_CHECK(p->n_ports >= 1 && p->n_ports <= POLICY_MAX_PORTS);
	FUZZ_CHECK(p->n_workers >= 1 && p->n_workers <= 64 && p->mac_age_s != 0);
	for (unsigned i = 0; i < p->n_ports; i++) {
		check_port(p, &p->ports[i]);
		for (unsigned g = 0; g < N_PGS; g++)
			min += p->ports[i].pg[g].min_cells;
	}
	FUZZ_CHECK(min + b->ingress_pool_cells + b->headroom_pool_cells <= b->total_cells);
	for (unsigned i = 0; i < p->n_fdb; i++) {
		unsigned at = p->fdb[i].port;

		FUZZ_CHECK(!(p->fdb[i].mac[0] & 1));
		FUZZ_CHECK(at < p->n_ports || at == FDB_ROUTER ||
			   (at >= VTEP_FIRST && at < VTEP_FIRST + VTEP_MAX_PEERS));
	}
}

// The plan goes nowhere, and so do the warnings it repeats.
static void check_plan(const struct config *c)
{
	FILE *err = stderr;

	stderr = nowhere;
	(void)plan_print(c, false, NULL, nowhere);
	(void)plan_print(c, true, NULL, nowhere);
	stderr = err;
	rewind(nowhere);
}

static void check_reload(const struct config *running, const char *text, size_t len)
{
	struct diags d = {0};
	struct config *again = NULL;

	FUZZ_CHECK(config_parse("f", text, len, &again, &d) == 0);
	diags_fini(&d);
	d = (struct diags){0};
	FUZZ_CHECK(config_check_reload(running, again, &d) == 0 && d.n_errors == 0);
	config_destroy(again);
	diags_fini(&d);
}

static void check_compile(const struct config *c, const char *text, size_t len)
{
	const struct port_facts *kind = &kinds[len % (sizeof(kinds) / sizeof(kinds[0]))];
	struct port_facts facts[POLICY_MAX_PORTS];
	struct policy *p = NULL;
	struct diags d = {0};
	int err;

	FUZZ_CHECK(config_n_ports(c) >= 1 && config_n_ports(c) <= POLICY_MAX_PORTS);
	for (unsigned i = 0; i < config_n_ports(c); i++) {
		struct config_port_open open = config_port(c, i);

		FUZZ_CHECK(open.name[0] != '\0' && open.device[0] != '\0');
		facts[i] = *kind;
		facts[i].mac[5] = (uint8_t)i;
	}
	err = config_compile(c, kind == kinds ? NULL : facts, &p, &d);
	FUZZ_CHECK((err == 0) == (d.n_errors == 0) && (err == 0) == (p != NULL));
	FUZZ_CHECK(err == 0 || err == -EINVAL);
	check_lines(&d, text, len);
	if (p != NULL)
		check_policy(p);
	diags_fini(&d);
	if (p != NULL)
		advice_add(c, kind == kinds ? NULL : facts, p, 1, &d);
	FUZZ_CHECK(d.n_errors == 0);
	check_lines(&d, text, len);
	policy_destroy(p);
	diags_fini(&d);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	nowhere = fopen("/dev/null", "w");
	FUZZ_CHECK(nowhere != NULL);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data;
	struct config *c = NULL;
	struct diags d = {0};
	int err = config_parse("f", text, len, &c, &d);

	FUZZ_CHECK(err == 0 || err == -EINVAL);
	FUZZ_CHECK((err == 0) == (d.n_errors == 0) && (err == 0) == (c != NULL));
	check_lines(&d, text, len);
	diags_fini(&d);
	if (c != NULL) {
		check_compile(c, text, len);
		check_plan(c);
		check_reload(c, text, len);
	}
	config_destroy(c);
	return 0;
}
