// SPDX-License-Identifier: Apache-2.0
#include "control/host/inof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/model_time.h"
#include "control/base/stop.h"
#include "dataplane/base/units.h"
#include "drivers/system_clock.h"

enum {
	LINK_LOOK_NS = 10 * MS_NS, // of real time, as AGAIN_NS
	AGAIN_NS = SECOND_NS, // after a target has rejected a connection
	NVME_PORT = 4420,
	NO_SUBSYSTEM = UINT16_MAX,
};

struct subsystem {
	struct inof_nqn nqn; // of no length: ip alone
	struct ip_key ip; // of the path in use, or of the last one
	uint64_t last_ns; // the last message that completed; 0: none
	bool is_out; // a path has ended, and no message has completed since
	uint64_t *done; // of each number of --qps: messages that are over, on earlier paths
};

// A queue pair of a path in use.
struct pair {
	uint16_t subsystem;
	// Since then no more were acknowledged. It may be later than the time of a look.
	uint64_t acked_bytes, progress_ns;
	uint64_t again_ns; // connects again then; 0: it was not rejected
};

struct host_inof {
	struct inof_endpoint *endpoint;
	char port_id[64];
	bool stopping, ended;
	uint64_t link_look_ns, poll_ns;
	unsigned n_subsystems;
	struct subsystem *subsystems;
	struct pair pairs[NIC_MAX_QPS]; // by the id of the flow
	unsigned n_closing;
	uint32_t closing[NIC_MAX_QPS]; // flows of paths that have ended
	struct host_inof_stats stats;
};

const struct host_inof_stats *host_inof_stats(const struct host *h)
{
	return &h->inof->stats;
}

const struct inof_endpoint_stats *host_inof_endpoint_stats(const struct host *h)
{
	return inof_endpoint_stats(h->inof->endpoint);
}

__attribute__((format(printf, 1, 2))) static void print_inof_line(const char *fmt, ...)
{
	uint64_t ns = monotonic_ns();
	char text[HOST_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "inof: %" PRIu64 ".%06" PRIu64 " %s\n", ns / SECOND_NS,
		ns % SECOND_NS / US_NS, text);
}

static uint64_t model(const struct host *h, uint64_t real_ns)
{
	return model_span_ns((uint32_t)h->args->time_scale, real_ns);
}

// ---- paths

static bool is_of(const struct subsystem *s, const struct inof_path *p)
{
	const struct inof_nqn *nqn = &p->service.nqn;

	if (nqn->len == 0 || s->nqn.len != nqn->len)
		return s->nqn.len == nqn->len && ip_key_same(s->ip, p->ip);
	return memcmp(s->nqn.text, nqn->text, nqn->len) == 0;
}

// The subsystem of a path, new if need be. NULL: there is no memory.
static struct subsystem *subsystem_of(struct host *h, const struct inof_path *p)
{
	struct host_inof *in = h->inof;
	struct subsystem *s;
	uint64_t *done;

	for (unsigned i = 0; i < in->n_subsystems; i++)
		if (is_of(&in->subsystems[i], p))
			return &in->subsystems[i];
	s = realloc(in->subsystems, (in->n_subsystems + 1) * sizeof(*s));
	if (s == NULL)
		return NULL;
	in->subsystems = s;
	done = calloc((size_t)h->args->qps, sizeof(*done));
	if (done == NULL)
		return NULL;
	s += in->n_subsystems++;
	*s = (struct subsystem){.nqn = p->service.nqn, .ip = p->ip, .done = done};
	return s;
}

static void begin_pair(struct host *h, const struct subsystem *s, uint32_t number)
{
	uint64_t count = (uint64_t)h->args->count;
	struct pair *pair;

	if (count != 0 && s->done[number] >= count)
		return;
	if (host_flow_add(h, s->ip, number, number,
			  count == 0 ? 0 : count - s->done[number]) != 0) {
		print_inof_line("no-room number=%u", number);
		return;
	}
	pair = &h->inof->pairs[h->flows[h->n_flows - 1].id];
	*pair = (struct pair){.subsystem = (uint16_t)(s - h->inof->subsystems),
			      .progress_ns = host_now(h)};
}

static void on_begin(void *arg, const struct inof_path *p)
{
	struct host *h = arg;
	struct subsystem *s;
	char ip[INOF_IP_TEXT];

	if (h->inof->stopping)
		return;
	inof_ip_print(p->ip, ip);
	s = inof_ip_is_v6(p->ip) ? NULL : subsystem_of(h, p);
	if (s == NULL) {
		print_inof_line("unusable peer=%s", ip);
		return;
	}
	h->inof->stats.moves += s->is_out && !ip_key_same(s->ip, p->ip);
	s->ip = p->ip;
	print_inof_line("connect peer=%s nqn=%.*s", ip, p->service.nqn.len, p->service.nqn.text);
	for (uint32_t i = 0; i < h->args->qps; i++)
		begin_pair(h, s, i);
}

static void on_end(void *arg, const struct inof_path *p, uint8_t why, bool forced)
{
	struct host *h = arg;
	struct host_inof *in = h->inof;
	char ip[INOF_IP_TEXT];

	inof_ip_print(p->ip, ip);
	print_inof_line("disconnect peer=%s reason=%s how=%s", ip, inof_end_text(why),
			forced ? "forced" : "path");
	for (uint32_t i = 0; i < h->n_flows;) {
		const struct host_flow *f = &h->flows[i];
		struct subsystem *s = &in->subsystems[in->pairs[f->id].subsystem];
		struct nic_flow_status flow = nic_flow_status(h->nic, f->id);

		if (!ip_key_same(f->to, p->ip)) {
			i++;
			continue;
		}
		s->done[f->number] += forced ? flow.posted : flow.completed;
		in->stats.messages_failed += forced ? flow.posted - flow.completed : 0;
		s->is_out = true;
		in->pairs[f->id].subsystem = NO_SUBSYSTEM;
		nic_flow_close(h->nic, f->id);
		in->closing[in->n_closing++] = f->id;
		h->flows[i] = h->flows[--h->n_flows];
	}
	nic_peer_ask_again(h->nic, p->ip);
}

static void on_notice(void *arg, const struct inof_message *m)
{
	char ip[INOF_IP_TEXT];

	(void)arg;
	inof_ip_print(m->src, ip);
	print_inof_line("notice peer=%s state=%s reason=%s role=%s seq=%" PRIu32, ip,
			m->online ? "online" : "offline", inof_reason_name[m->reason],
			inof_role_name[m->service.role], m->seq);
}

static bool on_send(void *arg, const uint8_t *frame, uint16_t len)
{
	struct host *h = arg;

	return nic_send_frame(h->nic, frame, len);
}

// ---- hooks of the NIC

static void on_frame(void *arg, const uint8_t *frame, uint32_t len, uint64_t now_ns)
{
	struct host *h = arg;

	(void)now_ns;
	inof_endpoint_receive(h->inof->endpoint, frame, len);
}

// The first message of a subsystem, or the first one after an outage.
static void say_first(struct host_inof *in, const struct subsystem *s, uint64_t now_ns)
{
	uint64_t outage_us = (now_ns - s->last_ns) / US_NS;
	char ip[INOF_IP_TEXT];

	inof_ip_print(s->ip, ip);
	if (s->last_ns == 0) {
		print_inof_line("start peer=%s", ip);
		return;
	}
	in->stats.longest_outage_us = max_u64(in->stats.longest_outage_us, outage_us);
	print_inof_line("resume peer=%s outage_us=%" PRIu64, ip, outage_us);
}

static void on_done(void *arg, const struct nic_done *d)
{
	struct host *h = arg;
	struct host_inof *in = h->inof;
	struct subsystem *s;

	if (in->pairs[d->flow].subsystem == NO_SUBSYSTEM)
		return;
	s = &in->subsystems[in->pairs[d->flow].subsystem];
	if (s->last_ns == 0 || s->is_out)
		say_first(in, s, d->done_ns);
	s->is_out = false;
	s->last_ns = d->done_ns;
}

// ---- the loop

static void look_at_link(struct host *h, uint64_t now_ns)
{
	struct host_inof *in = h->inof;

	if (now_ns < in->link_look_ns)
		return;
	in->link_look_ns = now_ns + model(h, LINK_LOOK_NS);
	inof_endpoint_link(in->endpoint, h->port.ops->link_up(h->port.drv), now_ns);
	in->poll_ns = min_u64(in->poll_ns, now_ns);
}

static void forget_closed(struct host *h)
{
	struct host_inof *in = h->inof;

	for (unsigned i = 0; i < in->n_closing;) {
		if (nic_flow_status(h->nic, in->closing[i]).state == NIC_FLOW_UP) {
			i++;
			continue;
		}
		nic_flow_forget(h->nic, in->closing[i]);
		in->closing[i] = in->closing[--in->n_closing];
	}
}

// False: the queue pair is no longer at its place.
static bool look_at_pair(struct host *h, uint32_t i, uint64_t now_ns)
{
	struct host_flow f = h->flows[i];
	struct pair *pair = &h->inof->pairs[f.id];
	struct nic_flow_status s = nic_flow_status(h->nic, f.id);
	bool idle = s.state == NIC_FLOW_UP && s.posted == s.completed;

	if (s.state == NIC_FLOW_REJECTED && pair->again_ns == 0) {
		pair->again_ns = now_ns + model(h, AGAIN_NS);
		print_inof_line("rejected number=%u reason=%u", f.number, s.reason);
	} else if (s.state == NIC_FLOW_REJECTED && now_ns >= pair->again_ns) {
		nic_flow_forget(h->nic, f.id);
		h->flows[i] = h->flows[--h->n_flows];
		begin_pair(h, &h->inof->subsystems[pair->subsystem], f.number);
		return false;
	}
	if (idle || s.acked_bytes != pair->acked_bytes) {
		pair->acked_bytes = s.acked_bytes;
		pair->progress_ns = now_ns;
	} else if (now_ns >= pair->progress_ns + (uint64_t)h->args->keep_alive_ns) {
		pair->progress_ns = now_ns;
		inof_endpoint_silent(h->inof->endpoint, f.to);
		return false;
	}
	return true;
}

void host_inof_look(struct host *h, uint64_t now_ns)
{
	struct host_inof *in = h->inof;

	in->ended = inof_endpoint_ended(in->endpoint); // of the look before
	look_at_link(h, now_ns);
	if (now_ns >= in->poll_ns)
		in->poll_ns = inof_endpoint_poll(in->endpoint, now_ns);
	forget_closed(h);
	for (uint32_t i = 0; i < h->n_flows && look_at_pair(h, i, now_ns);)
		i++;
}

void host_inof_stop(struct host *h)
{
	h->inof->stopping = true;
}

void host_inof_end(struct host *h)
{
	h->inof->poll_ns = 0;
	inof_endpoint_end(h->inof->endpoint);
	print_inof_line("goodbye");
}

bool host_inof_ended(const struct host *h)
{
	return h->inof->ended;
}

bool host_inof_done(const struct host *h)
{
	const struct host_inof *in = h->inof;
	uint64_t n = 0, per_subsystem = (uint64_t)(h->args->qps * h->args->count);

	if (stop_requests() != 0)
		return true;
	for (unsigned i = 0; i < in->n_subsystems; i++)
		for (unsigned q = 0; q < h->args->qps; q++)
			n += in->subsystems[i].done[q];
	for (uint32_t i = 0; i < h->n_flows; i++)
		n += nic_flow_status(h->nic, h->flows[i].id).completed;
	return per_subsystem != 0 && n != 0 && n == in->n_subsystems * per_subsystem;
}

bool host_inof_found(const struct host *h)
{
	return h->inof->n_subsystems != 0;
}

// ---- making

int host_inof_create(struct host *h, struct nic_hooks *hooks)
{
	static const struct inof_endpoint_ops ops = {on_send, on_begin, on_end, on_notice};
	const struct host_args *a = h->args;
	const char *name = strchr(a->device, ':') + 1;
	struct inof_endpoint_conf c = {
		.registration = {.ip = a->ip, .subscribes = true,
				 .service = {a->inof, INOF_ROCE, NVME_PORT, {0}}},
		.register_ns = (uint64_t)a->register_ns,
	};
	struct inof_nqn *nqn = &c.registration.service.nqn;

	h->inof = calloc(1, sizeof(*h->inof));
	if (h->inof == NULL)
		return -ENOMEM;
	snprintf(h->inof->port_id, sizeof(h->inof->port_id), "snsd_%.*s_00",
		 (int)strcspn(name, ","), name);
	c.port_id = h->inof->port_id;
	memcpy(c.mac, h->port.facts.mac, sizeof(c.mac));
	if (a->nqn != NULL) {
		nqn->len = (uint8_t)strlen(a->nqn);
		memcpy(nqn->text, a->nqn, nqn->len);
	}
	*hooks = (struct nic_hooks){.done = on_done, .other = on_frame, .arg = h};
	return inof_endpoint_create(&c, &ops, h, &h->inof->endpoint);
}

void host_inof_destroy(struct host *h)
{
	if (h->inof == NULL)
		return;
	for (unsigned i = 0; i < h->inof->n_subsystems; i++)
		free(h->inof->subsystems[i].done);
	free(h->inof->subsystems);
	inof_endpoint_destroy(h->inof->endpoint);
	free(h->inof);
}
