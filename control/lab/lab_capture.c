// SPDX-License-Identifier: Apache-2.0
#include "control/lab/lab_capture.h"

#include <errno.h>
#include <stdlib.h>

#include "control/capture/pcapng.h"
#include "control/lab/fabric.h"
#include "control/lab/report.h"

enum {
	RECORDS = 8192, // more than a switch can do in one instant
	WINDOW = 64,
	BUFFER_BYTES = 1 << 20,
	FRAME_BLOCK = 48 + CAPTURE_COMMENT_LEN + 24, // of pcapng around the bytes of a frame
};

struct port {
	uint32_t interface;
	uint64_t seen, matched, written;
};

struct lab_capture {
	const struct scenario *sc;
	struct fabric *f;
	FILE *out;
	int err; // the first that writing met
	uint64_t n_bytes; // at most, so far
	struct lab_capture_counts counts;
	struct tap **taps; // by switch; NULL: not captured
	struct port *ports; // by port of the scenario
};

static void note_capture_error(struct lab_capture *c, bool ok)
{
	if (!ok && c->err == 0)
		c->err = errno != 0 ? -errno : -EIO;
}

static void take_tap_record(struct lab_capture *c, uint32_t sw, const struct tap_record *rec)
{
	const struct scenario *sc = c->sc;
	struct port *p = &c->ports[sc->switches[sw].first_port + rec->meta.port];
	struct capture_record r = capture_record_of(rec, sc->capture_snaplen);
	uint64_t most = FRAME_BLOCK + r.captured;

	p->seen++;
	// PFC has no class of its own: it is about all of them.
	if (sc->capture_class >= 0 && rec->meta.cls != CLASS_NONE &&
	    rec->meta.cls != sc->capture_class)
		return;
	p->matched++;
	if (c->counts.cut != 0 || c->n_bytes + most > sc->capture_bytes) {
		if (c->counts.cut++ == 0)
			c->counts.first_cut_ns = r.t_ns;
		return;
	}
	c->n_bytes += most;
	c->counts.written++;
	p->written++;
	note_capture_error(c, capture_frame_write(c->out, p->interface, &r, rec->data));
}

void lab_capture_stepped(struct lab_capture *c, uint32_t sw)
{
	struct tap *t = c->taps[sw];
	const struct tap_record *rec[WINDOW];
	unsigned n;

	for (unsigned w = 0; w < t->n_workers; w++)
		while ((n = tap_read(t, w, rec, WINDOW)) != 0) {
			for (unsigned i = 0; i < n; i++)
				take_tap_record(c, sw, rec[i]);
			tap_release(t, w, n);
		}
}

// ---- the beginning

static void write_interface(struct lab_capture *c, const struct sc_end *e, uint32_t number)
{
	const struct scenario *sc = c->sc;
	const struct sc_port *p = &sc->switches[e->node].ports[e->port];
	char name[32];
	struct pcapng_interface i = {
		.name = name,
		.description = p->link == SC_NO_LINK ? NULL : sc->links[p->link].name,
		.speed_bps = p->link == SC_NO_LINK ? 0 : sc->links[p->link].speed_bps,
		.snaplen = sc->capture_snaplen,
	};

	snprintf(name, sizeof(name), "%s.p%u", sc->switches[e->node].name, e->port + 1);
	c->ports[sc->switches[e->node].first_port + e->port].interface = number;
	note_capture_error(c, pcapng_interface(c->out, &i));
}

static int tap_switch(struct lab_capture *c, uint32_t sw)
{
	const struct scenario *sc = c->sc;
	struct fabric_switch *s = &c->f->switches[sw];
	struct tap_params p = {.n_workers = switch_n_workers(s->in.sw), .n_records = RECORDS,
			       .snaplen = sc->capture_snaplen};
	bool any = false;
	int err;

	for (uint32_t i = 0; i < sc->n_captured; i++)
		if (sc->captured[i].node == sw) {
			p.ports[sc->captured[i].port / 64] |= 1ull << sc->captured[i].port % 64;
			any = true;
		}
	if (!any)
		return 0;
	err = tap_create(&p, &c->taps[sw]);
	if (err != 0)
		return err;
	s->captured = true;
	(void)switch_set_tap(s->in.sw, c->taps[sw]);
	return 0;
}

int lab_capture_start(struct fabric *f, const char *dir, struct lab_capture **out)
{
	struct lab_capture *c = calloc(1, sizeof(*c));
	int err = 0;

	if (c == NULL)
		return -ENOMEM;
	*out = c;
	c->sc = f->sc;
	c->f = f;
	c->taps = calloc(f->sc->n_switches + 1, sizeof(struct tap *));
	c->ports = calloc(f->sc->n_ports + 1, sizeof(*c->ports));
	if (c->taps == NULL || c->ports == NULL)
		return -ENOMEM;
	c->out = report_create(dir, LAB_CAPTURE_FILE);
	if (c->out == NULL)
		return -errno;
	setvbuf(c->out, NULL, _IOFBF, BUFFER_BYTES);
	note_capture_error(c, pcapng_section(c->out, f->sc->name));
	for (uint32_t i = 0; i < f->sc->n_captured; i++)
		write_interface(c, &f->sc->captured[i], i);
	f->capture = c;
	for (uint32_t i = 0; i < f->sc->n_switches && err == 0; i++)
		err = tap_switch(c, i);
	return err;
}

// ---- the end

int lab_capture_finish(struct lab_capture *c, uint64_t end_ns)
{
	const struct scenario *sc = c->sc;
	int err;

	for (uint32_t i = 0; i < sc->n_captured; i++) {
		const struct sc_end *e = &sc->captured[i];
		const struct port *p = &c->ports[sc->switches[e->node].first_port + e->port];
		uint64_t lost = tap_lost_of(c->taps[e->node], e->port);
		struct pcapng_statistics s = {
			.interface = p->interface,
			.t_ns = end_ns,
			.end_ns = end_ns,
			.received = p->seen + lost,
			.dropped = lost + p->matched - p->written,
			.accepted = p->matched,
			.delivered = p->written,
		};

		c->counts.cut += lost;
		note_capture_error(c, pcapng_statistics(c->out, &s));
	}
	c->counts.bytes = (uint64_t)ftello(c->out);
	err = report_finish(c->out);
	c->out = NULL;
	return c->err != 0 ? c->err : err;
}

void lab_capture_destroy(struct lab_capture *c)
{
	if (c == NULL)
		return;
	for (uint32_t i = 0; c->taps != NULL && i < c->sc->n_switches; i++)
		tap_destroy(c->taps[i]);
	if (c->out != NULL)
		fclose(c->out);
	free(c->taps);
	free(c->ports);
	free(c);
}

struct lab_capture_counts lab_capture_counts(const struct lab_capture *c)
{
	return c->counts;
}
