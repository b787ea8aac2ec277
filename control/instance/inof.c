// SPDX-License-Identifier: Apache-2.0
// iNOF of a switch: gives the registry (control/inof/registry.h) frames, links, storms and time,
// sends its notices, tells its events, and puts the zones of the policy and of the running switch
// in force. There is a registry while the policy has inof.
#include <errno.h>
#include <stdlib.h>

#include "control/config/config.h"
#include "control/inof/registry.h"
#include "control/instance/service.h"
#include "dataplane/policy.h"
#include "dataplane/switch.h"
#include "dataplane/switch_punt.h"
#include "dataplane/switch_zones.h"

enum { TAKEN_A_LOOK = 1024 };

static const uint8_t *inof_port_mac(void *arg, unsigned port)
{
	const struct instance *in = arg;

	return switch_port(in->sw, port)->facts.mac;
}

static bool send_inof_frame(void *arg, unsigned port, const struct inof_frame *f)
{
	return instance_send(arg, port, f->bytes, f->len);
}

static void tell_inof_event(void *arg, const struct event *e, const char *about)
{
	instance_tell_event(arg, e, about);
}

static bool is_station_elsewhere(void *arg, unsigned port, const uint8_t mac[6], struct ip_key ip)
{
	const struct instance *in = arg;

	return switch_station_elsewhere(in->sw, port, mac, ip);
}

// Hosts are told nothing where the whole of inof goes off: their connections stay.
static int start_or_stop_registry(struct instance *in, bool on)
{
	static const struct inof_ops ops = {inof_port_mac, send_inof_frame, tell_inof_event,
					    is_station_elsewhere};
	struct inof_state *s = in->service[SERVICE_INOF];
	uint32_t seq = 0;
	uint64_t hash = 0;
	int err;

	if (!on) {
		inof_destroy(s->registry);
		s->registry = NULL;
	}
	if (!on || s->registry != NULL)
		return 0;
	if (in->ops->inof_seeds != NULL)
		in->ops->inof_seeds(in->arg, &seq, &hash);
	err = inof_create(in->policy->n_ports, &ops, in, seq, hash, &s->registry);
	return err != 0 ? err
			: inof_set_zones(s->registry, INOF_ZONES_RUNTIME, s->zones, s->n_zones,
					 in->now_ns);
}

// 0, -ENOMEM, or -ENOSPC.
static int take_inof_policy(struct instance *in)
{
	struct inof_state *s = in->service[SERVICE_INOF];
	const struct inof_zone *zones = NULL;
	struct inof_conf conf = {0};
	unsigned n = 0;
	bool on = in->config != NULL && config_inof(in->config, &conf, &zones, &n);
	int err = start_or_stop_registry(in, on);

	s->hard_zoning.wanted = conf.hard_zoning;
	if (s->registry == NULL)
		return err;
	inof_set_conf(s->registry, &conf, in->now_ns);
	return err != 0 ? err
			: inof_set_zones(s->registry, INOF_ZONES_POLICY, zones, n, in->now_ns);
}

static int open_inof(struct instance *in, char *err, size_t err_len)
{
	(void)err, (void)err_len;
	in->service[SERVICE_INOF] = calloc(1, sizeof(struct inof_state));
	return in->service[SERVICE_INOF] == NULL ? -ENOMEM : take_inof_policy(in);
}

static void close_inof(struct instance *in)
{
	struct inof_state *s = in->service[SERVICE_INOF];

	if (s == NULL)
		return;
	inof_destroy(s->registry);
	inof_zones_free(s->zones, s->n_zones);
	free(s);
}

static void hear_hosts(struct instance *in)
{
	struct inof_registry *r = instance_inof(in);
	bool links = in->links_every_ns == 0 || in->now_ns % in->links_every_ns == 0;
	struct control_frame f;

	if (r == NULL)
		return;
	for (unsigned i = 0; i < in->policy->n_ports; i++) {
		if (links)
			inof_link(r, i, switch_link_up(in->sw, i), in->now_ns);
		inof_fault(r, i, switch_in_storm(in->sw, i) ? INOF_PFC_STORM : INOF_NO_FAULT,
			   in->now_ns);
	}
	for (unsigned i = 0; (in->takes_all || i < TAKEN_A_LOOK) &&
			     switch_next_punt(in->sw, 1 << PUNT_INOF, &f);
	     i++)
		inof_receive(r, f.port, f.bytes, f.len, in->now_ns);
}

static void act_on_hosts(struct instance *in)
{
	struct inof_state *s = in->service[SERVICE_INOF];

	if (s->registry != NULL)
		inof_poll(s->registry, in->now_ns);
	if (!s->hard_zoning.wanted && !s->hard_zoning.on)
		return;
	if (hard_zoning_loop(&s->hard_zoning, in->sw, s->registry, in->now_ns))
		instance_trouble(in, TROUBLE_ALARM,
				 "inof: hard_zoning has the zones of before: out of memory");
	instance_wake(in);
}

// The registry keeps parts of the config, and none of the policy.
static void follow_config(struct instance *in)
{
	int err = in->retired_config == NULL ? 0 : take_inof_policy(in);

	if (err != 0)
		instance_trouble(in, TROUBLE_ALARM,
				 "inof: the zones of the policy are not in force: %s",
				 err == -ENOSPC
					 ? "with those of weirctl and of the reflector there are "
					   "more than 1000"
					 : "out of memory");
}

const struct service inof_service = {
	.open = open_inof, .close = close_inof, .hear = hear_hosts, .act = act_on_hosts,
	.new_policy = follow_config,
};

const struct inof_zone *instance_inof_zones(const struct instance *in, unsigned *n)
{
	const struct inof_state *s = in->service[SERVICE_INOF];

	*n = s->n_zones;
	return s->zones;
}

int instance_set_inof_zones(struct instance *in, struct inof_zone *zones, unsigned n)
{
	struct inof_state *s = in->service[SERVICE_INOF];
	int err = inof_set_zones(s->registry, INOF_ZONES_RUNTIME, zones, n, in->now_ns);

	if (err != 0)
		return err;
	inof_zones_free(s->zones, s->n_zones);
	s->zones = zones;
	s->n_zones = n;
	return 0;
}
