// SPDX-License-Identifier: Apache-2.0
#include "control/host/host.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "control/base/model_time.h"
#include "control/base/stop.h"
#include "control/host/inof.h"
#include "control/host/storm.h"
#include "control/inof/wire.h"
#include "dataplane/base/units.h"
#include "drivers/system_clock.h"

// Spans of real time.
enum {
	SLEEP_MIN_NS = 2 * US_NS, // below this the call costs more than the wait
	SLEEP_MAX_NS = 50 * US_NS, // frames may wait in the ring this long
	LOOK_NS = MS_NS, // at flows, time and signals
	CLOSE_NS = SECOND_NS,
};

static uint32_t scale(const struct host *h)
{
	return (uint32_t)h->args->time_scale;
}

uint64_t host_now(const struct host *h)
{
	return model_time_ns(scale(h), TIME_START_NS + monotonic_ns() - h->real_start_ns);
}

static void rest(const struct host *h, uint64_t now_ns, uint64_t wake_ns)
{
	uint64_t left = real_span_ns(scale(h), wake_ns > now_ns ? wake_ns - now_ns : 0);
	struct timespec t = {.tv_nsec = (long)min_u64(left, SLEEP_MAX_NS)};

	if (!h->args->busy && left >= SLEEP_MIN_NS)
		nanosleep(&t, NULL);
}

// Runs the NIC until done() or limit_ns; returns whether done. A second signal ends everything.
static bool drive(struct host *h, uint64_t limit_ns, bool (*done)(const struct host *h))
{
	uint64_t look_ns = 0;

	for (;;) {
		uint64_t t = host_now(h), wake = nic_step(h->nic, t);

		if (h->storm.on)
			host_storm_look(h, t);
		if (t >= look_ns) {
			look_ns = t + model_span_ns(scale(h), LOOK_NS);
			if (h->inof != NULL)
				host_inof_look(h, t);
			if (h->args->interval_ns != 0 && t >= h->interval_at_ns)
				host_progress(h, t, stderr);
			if (done(h))
				return true;
			if (t >= limit_ns || stop_requests() > 1)
				return false;
		}
		rest(h, t, wake);
	}
}

static bool stopped(const struct host *h)
{
	(void)h;
	return stop_requests() != 0;
}

static bool connected(const struct host *h)
{
	for (uint32_t i = 0; i < h->n_flows; i++)
		if (nic_flow_status(h->nic, h->flows[i].id).state == NIC_FLOW_CONNECTING)
			return stop_requests() != 0;
	return true;
}

static bool finished(const struct host *h)
{
	for (uint32_t i = 0; i < h->n_flows; i++) {
		struct nic_flow_status s = nic_flow_status(h->nic, h->flows[i].id);

		if (s.state == NIC_FLOW_UP && s.posted != s.completed)
			return false;
	}
	return true;
}

// Posting is over: the count has been reached, a queue pair has failed, or a signal came.
static bool posted(const struct host *h)
{
	bool all = true;

	for (uint32_t i = 0; i < h->n_flows; i++) {
		struct nic_flow_status s = nic_flow_status(h->nic, h->flows[i].id);

		if (s.state != NIC_FLOW_UP)
			return true;
		all &= h->args->count != 0 && s.posted == (uint64_t)h->args->count;
	}
	return all || stop_requests() != 0;
}

static bool closed(const struct host *h)
{
	for (uint32_t i = 0; i < h->n_flows; i++)
		if (nic_flow_status(h->nic, h->flows[i].id).state == NIC_FLOW_UP)
			return false;
	return true;
}

static const char *reject_text(uint16_t reason)
{
	switch (reason) {
	case 1:
		return "it has no queue pair left";
	case 8:
		return "no endpoint listens there";
	case 26:
		return "its port cannot carry this --mtu";
	default:
		return "for a reason of its own";
	}
}

// Says why a flow is not up; false when it is.
static bool flow_error(struct host *h, uint32_t i)
{
	struct nic_flow_status s = nic_flow_status(h->nic, h->flows[i].id);
	const char *how = ip_key_is_v4(h->flows[i].to) ? "ARP" : "neighbour discovery";
	char ip[INOF_IP_TEXT];

	inof_ip_print(h->flows[i].to, ip);
	switch ((enum nic_flow_state)s.state) {
	case NIC_FLOW_CONNECTING:
		snprintf(h->error, sizeof(h->error),
			 s.resolved ? "%s answers %s and no connection request; is weir-host "
				      "--listen running there?"
				    : "%s does not answer %s; are both ends in one VLAN, and the "
				      "other one running?",
			 ip, how);
		return true;
	case NIC_FLOW_REJECTED:
		snprintf(h->error, sizeof(h->error), "%s rejected queue pair %06x (reason %u): %s",
			 ip, s.qpn, s.reason, reject_text(s.reason));
		return true;
	case NIC_FLOW_REFUSED:
		snprintf(h->error, sizeof(h->error),
			 "%s refused a request of queue pair %06x (NAK syndrome 0x%02x)", ip, s.qpn,
			 s.reason);
		return true;
	case NIC_FLOW_UP:
	case NIC_FLOW_CLOSED:
		break;
	}
	return false;
}

static bool any_error(struct host *h)
{
	for (uint32_t i = 0; i < h->n_flows; i++)
		if (flow_error(h, i))
			return true;
	return false;
}

static struct frame_tag host_tag(const struct host_args *a, unsigned i)
{
	return (struct frame_tag){.on = a->vlan >= 0,
				  .vid = (uint16_t)(a->vlan < 0 ? 0 : a->vlan),
				  .pcp = a->n_pcps != 0 ? a->pcps[i] : a->classes[i]};
}

int host_flow_add(struct host *h, struct ip_key to, uint32_t number, uint32_t turn,
		  uint64_t n_messages)
{
	const struct host_args *a = h->args;
	struct host_flow *f = &h->flows[h->n_flows];
	uint8_t c = (uint8_t)(turn % a->n_classes);
	struct nic_flow conf;

	*f = (struct host_flow){.to = to, .number = number, .cls = a->classes[c]};
	f->dscp = a->n_dscps != 0 ? a->dscps[c] : (uint8_t)(8 * f->cls);
	conf = (struct nic_flow){
		.dst_ip = to,
		.tag = host_tag(a, c),
		.op = a->op,
		.cls = f->cls,
		.has_dscp = true,
		.dscp = f->dscp,
		.ecn = a->ecn,
		.mtu = (uint16_t)a->mtu,
		.msg_bytes = (uint32_t)a->size,
		.depth = (uint32_t)a->depth,
		.n_messages = n_messages,
		.rate_bps = (uint64_t)a->rate,
		.interval_ns = (uint64_t)a->post_every_ns,
		.start_ns = host_now(h),
		.first_psn = NIC_RANDOM_PSN,
	};
	if (nic_flow_add(h->nic, &conf, &f->id) != 0) {
		snprintf(h->error, sizeof(h->error),
			 "queue pair %u cannot be made: --mtu %" PRId64 " does not fit the port",
			 number + 1, a->mtu);
		return 1;
	}
	h->n_flows++;
	return 0;
}

// To every address in the first class, then to every address in the next.
static int add_flows(struct host *h)
{
	const struct host_args *a = h->args;

	for (uint32_t i = 0; i < a->qps; i++)
		if (host_flow_add(h, a->to[i % a->n_to], i, i / a->n_to, (uint64_t)a->count) != 0)
			return 1;
	return 0;
}

static void report_unfinished(struct host *h)
{
	uint64_t missing = 0;
	uint32_t n = 0, first = 0;

	for (uint32_t i = 0; i < h->n_flows; i++) {
		struct nic_flow_status s = nic_flow_status(h->nic, h->flows[i].id);

		if (s.posted == s.completed)
			continue;
		if (n++ == 0)
			first = s.qpn;
		missing += s.posted - s.completed;
	}
	snprintf(h->error, sizeof(h->error),
		 "%" PRIu64 " messages of %u queue pairs did not complete in time, the first of "
		 "queue pair %06x",
		 missing, n, first);
}

// Starts the storm of --storm-at: a listener or a sender goes on with its work.
static void storm_later(struct host *h)
{
	if (h->args->storm_at_ns != 0)
		host_storm_start(h, host_now(h) + (uint64_t)h->args->storm_at_ns);
}

static int close_all(struct host *h, int rc)
{
	h->end_ns = host_now(h);
	for (uint32_t i = 0; i < h->n_flows; i++)
		nic_flow_close(h->nic, h->flows[i].id);
	drive(h, h->end_ns + model_span_ns(scale(h), CLOSE_NS), closed);
	return rc;
}

// An initiator of iNOF: its queue pairs come and go with its targets.
static int run_initiator(struct host *h)
{
	const struct host_args *a = h->args;
	int rc = 0;

	h->start_ns = host_now(h);
	storm_later(h);
	drive(h, a->time_ns != 0 ? h->start_ns + (uint64_t)a->time_ns : UINT64_MAX,
	      host_inof_done);
	host_inof_stop(h);
	for (uint32_t i = 0; i < h->n_flows; i++)
		nic_flow_stop(h->nic, h->flows[i].id);
	if (!drive(h, host_now(h) + (uint64_t)a->drain_ns, finished)) {
		report_unfinished(h);
		rc = 1;
	} else if (!host_inof_found(h)) {
		snprintf(h->error, sizeof(h->error),
			 "the switch has said of no target that it is online; `weirctl show inof "
			 "hosts` on the switch has the hosts and their zones");
		rc = 1;
	}
	return close_all(h, rc);
}

static int run_sender(struct host *h)
{
	const struct host_args *a = h->args;
	uint64_t t = host_now(h);
	int rc = add_flows(h);

	if (rc == 0 && (!drive(h, t + (uint64_t)a->drain_ns, connected) || any_error(h)))
		rc = 1;
	if (rc != 0) {
		any_error(h);
		return rc;
	}
	fprintf(stderr, "connected\n");
	h->start_ns = host_now(h);
	storm_later(h);
	drive(h, a->time_ns != 0 ? h->start_ns + (uint64_t)a->time_ns : UINT64_MAX, posted);
	for (uint32_t i = 0; i < h->n_flows; i++)
		nic_flow_stop(h->nic, h->flows[i].id);
	if (!drive(h, host_now(h) + (uint64_t)a->drain_ns, finished)) {
		report_unfinished(h);
		rc = 1;
	} else if (any_error(h)) {
		rc = 1;
	}
	return close_all(h, rc);
}

static int run_role(struct host *h)
{
	const struct host_args *a = h->args;

	if (a->inof == INOF_INITIATOR)
		return run_initiator(h);
	if (a->role == HOST_SEND)
		return run_sender(h);
	h->start_ns = host_now(h);
	if (a->role == HOST_STORM) {
		host_storm_start(h, h->start_ns);
		drive(h, UINT64_MAX, host_storm_over);
	} else {
		storm_later(h);
		drive(h, a->time_ns != 0 ? h->start_ns + (uint64_t)a->time_ns : UINT64_MAX,
		      stopped);
	}
	h->end_ns = host_now(h);
	return 0;
}

int host_run(struct host *h)
{
	int rc;

	h->real_start_ns = monotonic_ns();
	h->interval_at_ns = host_now(h) + (uint64_t)h->args->interval_ns;
	rc = run_role(h);
	if (h->inof != NULL) {
		host_inof_end(h);
		drive(h, host_now(h) + model_span_ns(scale(h), CLOSE_NS), host_inof_ended);
	}
	return rc;
}
