// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/capture_prepare.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "control/capture_wire.h"

enum { LONGEST_FRAME = 65535, TEXT_LEN = CAPTURE_MAX_FILTER + PCAP_ERRBUF_SIZE + 64 };

// Two hold it: the thread until it is done, and control until it drops it. The last one frees it.
struct capture_prepare {
	_Atomic bool done;
	_Atomic int holders;
	struct tap_params params;
	struct tap *tap;
	struct bpf_program program;
	bool has_program, misused;
	char error[TEXT_LEN];
	char filter[CAPTURE_MAX_FILTER + 1];
};

static void let_go(struct capture_prepare *p)
{
	if (atomic_fetch_sub(&p->holders, 1) > 1)
		return;
	if (p->has_program)
		pcap_freecode(&p->program);
	tap_destroy(p->tap);
	free(p);
}

static void compile(struct capture_prepare *p)
{
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, LONGEST_FRAME);

	if (dead == NULL) {
		snprintf(p->error, sizeof(p->error), "no memory for a filter");
		return;
	}
	p->has_program =
		pcap_compile(dead, &p->program, p->filter, 1, PCAP_NETMASK_UNKNOWN) == 0;
	if (!p->has_program) {
		p->misused = true;
		snprintf(p->error, sizeof(p->error), "the filter \"%s\" does not hold: %s",
			 p->filter, pcap_geterr(dead));
	}
	pcap_close(dead);
}

static void *prepare(void *arg)
{
	struct capture_prepare *p = arg;

	if (p->filter[0] != '\0')
		compile(p);
	if (p->error[0] == '\0' && tap_create(&p->params, &p->tap) != 0)
		snprintf(p->error, sizeof(p->error), "no memory for the frames of a capture");
	atomic_store_explicit(&p->done, true, memory_order_release);
	let_go(p);
	return NULL;
}

int capture_prepare_start(const char *filter, const struct tap_params *params,
			  struct capture_prepare **out)
{
	struct capture_prepare *p;
	pthread_t thread;
	int err;

	if (filter != NULL && strlen(filter) > CAPTURE_MAX_FILTER)
		return -E2BIG;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	p->params = *params;
	if (filter != NULL)
		strcpy(p->filter, filter);
	atomic_store(&p->holders, 2);
	err = pthread_create(&thread, NULL, prepare, p);
	if (err != 0) {
		free(p);
		return -err;
	}
	pthread_detach(thread);
	*out = p;
	return 0;
}

bool capture_prepare_done(const struct capture_prepare *p)
{
	return atomic_load_explicit(&p->done, memory_order_acquire);
}

const char *capture_prepare_error(const struct capture_prepare *p)
{
	return p->error[0] != '\0' ? p->error : NULL;
}

bool capture_prepare_misused(const struct capture_prepare *p)
{
	return p->misused;
}

struct tap *capture_prepare_tap(struct capture_prepare *p)
{
	return p->tap;
}

bool capture_prepare_matches(const struct capture_prepare *p, const void *data, uint32_t len,
			     uint32_t captured)
{
	return !p->has_program ||
	       bpf_filter(p->program.bf_insns, data, len, captured) != 0;
}

void capture_prepare_drop(struct capture_prepare *p)
{
	if (p != NULL)
		let_go(p);
}
