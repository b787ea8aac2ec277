// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/hotplug.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/config/port_open.h"
#include "control/daemon/daemon.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/port_ops.h"

enum {
	LOOK_EVERY_NS = 500 * MS_NS,
	WAIT_TURN_NS = 50 * MS_NS,
	END_TURNS = 40, // of WAIT_TURN_NS: systemd waits for 5 s
	WHY_LEN = LIVE_TEXT_LEN,
};

enum stage { PRESENT, LEAVING, CLOSING, ABSENT, OPENED, ARRIVING };

// The thread that closes a driver. DPDK opens and closes one device at a time.
struct closer {
	pthread_t thread;
	bool runs; // control: the thread was not joined
	struct live_port port;
	atomic_bool done; // the thread writes
};

struct plug {
	enum stage stage;
	uint64_t checked_ns;
	char seen[WHY_LEN], reported[WHY_LEN]; // why the device cannot be used
};

struct hotplug {
	struct daemon *d;
	struct closer closer;
	unsigned n, next; // next: the port that is first in the next poll
	struct plug port[];
};

int hotplug_create(struct daemon *d, struct hotplug **out)
{
	struct hotplug *h = calloc(1, sizeof(*h) + d->n_open * sizeof(h->port[0]));

	if (h == NULL)
		return -ENOMEM;
	h->d = d;
	h->n = d->n_open;
	for (unsigned i = 0; i < h->n; i++)
		h->port[i].stage = switch_device_gone(d->in.sw, i) ? ABSENT : PRESENT;
	*out = h;
	return 0;
}

// ---- a device leaves

static void *close_driver(void *arg)
{
	struct closer *c = arg;

	live_close(&c->port);
	atomic_store_explicit(&c->done, true, memory_order_release);
	return NULL;
}

// True when no thread runs any more.
static bool closer_join(struct closer *c)
{
	if (c->runs && atomic_load_explicit(&c->done, memory_order_acquire)) {
		(void)pthread_join(c->thread, NULL);
		c->runs = false;
	}
	return !c->runs;
}

// False: the next poll tries again.
static bool left(struct hotplug *h, unsigned port)
{
	struct live_port *live = &h->d->ports[port];
	const struct port_facts facts = live->facts;
	struct closer *c = &h->closer;

	if (!closer_join(c))
		return false;
	c->port = *live;
	atomic_store_explicit(&c->done, false, memory_order_relaxed);
	c->runs = pthread_create(&c->thread, NULL, close_driver, c) == 0;
	if (!c->runs)
		return false;
	live_absent(&facts, live);
	workers_new_device(h->d->workers, port);
	h->port[port].stage = CLOSING;
	return true;
}

// Whether the driver of a card that is gone is still open. Closing it may take a minute.
static bool leaves_a_driver(const struct hotplug *h)
{
	for (unsigned i = 0; i < h->n; i++)
		if (strncmp(config_port(h->d->in.config, i).device, "pci:", 4) == 0 &&
		    (h->port[i].stage == LEAVING ||
		     (h->port[i].stage == PRESENT && switch_device_gone(h->d->in.sw, i))))
			return true;
	return false;
}

bool hotplug_destroy(struct hotplug *h)
{
	static const struct timespec turn = {.tv_nsec = WAIT_TURN_NS};

	if (h != NULL && leaves_a_driver(h))
		return false;
	for (unsigned i = 0; h != NULL && !closer_join(&h->closer); i++) {
		if (i == END_TURNS)
			return false;
		nanosleep(&turn, NULL);
	}
	free(h);
	return true;
}

// ---- a device arrives

static void refused(struct hotplug *h, unsigned port, const char *why, uint64_t now_ns)
{
	const struct policy *policy = h->d->in.policy;
	struct plug *p = &h->port[port];
	bool again = strcmp(p->seen, why) == 0;

	snprintf(p->seen, WHY_LEN, "%s", why);
	if (!again || strcmp(p->reported, why) == 0)
		return;
	snprintf(p->reported, WHY_LEN, "%s", why);
	daemon_event(h->d, EVENT_PORT_REFUSED, port, 0, 0, now_ns);
	log_line("%s warning port %s: %s", policy->name, policy->ports[port].name, why);
}

static bool replace(const struct hotplug *h, unsigned port, const struct live_port *next)
{
	const struct switch_port sp = {.ops = next->ops, .drv = next->drv, .facts = next->facts};

	return switch_replace_device(h->d->in.sw, port, &sp) == 0;
}

// The policy depends on the MAC address and the speed of the device. text->err: why the port cannot
// use it, or empty.
static void use(struct hotplug *h, unsigned port, const struct live_port *opened,
		struct live_text *text, uint64_t now_ns)
{
	struct live_port *live = &h->d->ports[port], absent = *live;
	const struct policy *policy = h->d->in.policy;

	*live = *opened;
	if (live->facts.speed_bps == 0) // the link of a card that was opened just now is down
		live->facts.speed_bps = absent.facts.speed_bps;
	if (reload_for_ports(h->d->reload, now_ns, text->err, sizeof(text->err)) != 0) {
		live_close(live);
		*live = absent;
		return;
	}
	text->err[0] = '\0';
	for (char *at = strtok(text->note, "\n"); at != NULL; at = strtok(NULL, "\n"))
		log_line("%s info port %s: %s", policy->name, policy->ports[port].name, at);
	h->port[port].stage = OPENED;
}

// True after the device was opened, whether the port can use the device or not.
static bool look_for_device(struct hotplug *h, unsigned port, uint64_t now_ns)
{
	struct daemon *d = h->d;
	const struct config_port_open p = config_port(d->in.config, port);
	enum live_state state = live_device_state(p.device);
	struct live_conf conf = port_conf(d, port, &p);
	const char *name = p.device + strcspn(p.device, ":") + 1;
	struct live_text text = {0};
	struct live_port opened;

	h->port[port].checked_ns = now_ns;
	conf.no_wait = true;
	conf.max_frame = d->ports[port].facts.max_frame; // no reload needs more
	if (state == LIVE_MISSING)
		h->port[port].seen[0] = h->port[port].reported[0] = '\0';
	else if (state == LIVE_DOWN)
		snprintf(text.err, sizeof(text.err),
			 "%s: the interface is down; `ip link set dev %s up`", name, name);
	else if (live_open(p.device, &conf, &opened, &text) == 0)
		use(h, port, &opened, &text, now_ns);
	if (text.err[0] != '\0')
		refused(h, port, text.err, now_ns);
	return state == LIVE_READY;
}

static void arrived(struct hotplug *h, unsigned port, uint64_t now_ns)
{
	struct plug *p = &h->port[port];

	p->seen[0] = p->reported[0] = '\0';
	p->stage = PRESENT;
	workers_new_device(h->d->workers, port);
	switch_links_changed(h->d->in.sw);
	if (!switch_device_gone(h->d->in.sw, port)) // else the port leaves the device again
		daemon_event(h->d, EVENT_PORT_BACK, port, 0, 0, now_ns);
}

// True after a device was opened, or is being closed.
static bool advance_plug_stage(struct hotplug *h, unsigned port, uint64_t now_ns)
{
	struct daemon *d = h->d;
	struct plug *p = &h->port[port];
	struct live_port absent;

	switch (p->stage) {
	case PRESENT:
		if (!switch_device_gone(d->in.sw, port))
			return false;
		live_absent(&d->ports[port].facts, &absent);
		if (replace(h, port, &absent))
			p->stage = LEAVING;
		return false;
	case LEAVING:
		if (!switch_device_replaced(d->in.sw, port))
			return false;
		return left(h, port);
	case CLOSING:
		if (!closer_join(&h->closer))
			return false;
		p->stage = ABSENT;
		p->checked_ns = now_ns;
		return false;
	case ABSENT:
		return now_ns - p->checked_ns >= LOOK_EVERY_NS && closer_join(&h->closer) &&
		       !reload_pending(d->reload) && look_for_device(h, port, now_ns);
	case OPENED:
		if (!reload_pending(d->reload) && replace(h, port, &d->ports[port]))
			p->stage = ARRIVING;
		return false;
	case ARRIVING:
		if (switch_device_replaced(d->in.sw, port))
			arrived(h, port, now_ns);
		return false;
	}
	return false;
}

// The kernel takes some 20 ms to open a device. Control does other work between two.
void hotplug_poll(struct hotplug *h, uint64_t now_ns)
{
	for (unsigned i = 0; i < h->n; i++) {
		unsigned port = (h->next + i) % h->n;

		if (advance_plug_stage(h, port, now_ns)) {
			h->next = port + 1;
			return;
		}
	}
}

// ---- before the start

static const char *missing_device(const struct daemon *d)
{
	for (unsigned i = 0; i < config_n_ports(d->in.config); i++) {
		const char *device = config_port(d->in.config, i).device;

		if (live_device_state(device) == LIVE_MISSING)
			return device;
	}
	return NULL;
}

void hotplug_wait(const struct daemon *d)
{
	static const struct timespec turn = {.tv_nsec = WAIT_TURN_NS};
	uint64_t turns = d->opt->wait_s * (1000000000ull / WAIT_TURN_NS);
	const char *missing, *printed = NULL;

	for (uint64_t i = 0; i < turns && (missing = missing_device(d)) != NULL; i++) {
		if (missing != printed)
			printf("waiting for %s\n", missing);
		fflush(stdout);
		printed = missing;
		systemd_waiting(&d->systemd, missing);
		nanosleep(&turn, NULL);
	}
}
