// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_telemetry.h>

#include "control/observe/snapshot.h"
#include "dataplane/base/units.h"
#include "drivers/system_clock.h"

enum {
	FRESH_NS = 100 * MS_NS,
	WAIT_S = 1,
	HELP_LEN = 64, // DPDK's limit
	COMMAND_LEN = 56, // likewise
	PAGE_ROWS = 200, // below the 256 entries of a dictionary, the numbers of the page included
	PAGE_BYTES = 15000, // below the 16 KiB of a reply, the command and braces included
};

static const char prefix[] = "/weir/";

// A snapshot and how many hold it: the one published, and each client that answers from it.
struct shared {
	struct snapshot *snapshot;
	unsigned holders; // under the lock
};

// DPDK gives a command's function no argument of ours, and knows one set of commands per process:
// here a file-static is the only place. Everything but `wanted` is under the lock.
static struct {
	pthread_mutex_t lock;
	pthread_cond_t published;
	struct observe *observe; // NULL: stopped. Used by the control thread only
	struct shared *now;
	uint64_t generation;
	uint64_t at_ns; // of the last snapshot
	atomic_bool wanted;
} mirror = {.lock = PTHREAD_MUTEX_INITIALIZER, .published = PTHREAD_COND_INITIALIZER};

void telemetry_prefix(const char *switch_name, char out[TELEMETRY_PREFIX_LEN])
{
	snprintf(out, TELEMETRY_PREFIX_LEN, "weir-%s", switch_name);
}

// ---- holding a snapshot; the lock is held

static void release(struct shared *s)
{
	if (s == NULL || --s->holders > 0)
		return;
	snapshot_free(s->snapshot);
	free(s);
}

// ---- client threads

static struct shared *hold_fresh(void)
{
	struct shared *s = NULL;
	struct timespec end;
	uint64_t generation;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += WAIT_S;
	pthread_mutex_lock(&mirror.lock);
	generation = mirror.generation;
	while (err == 0 && mirror.observe != NULL && generation == mirror.generation &&
	       (mirror.now == NULL || monotonic_ns() - mirror.at_ns >= FRESH_NS)) {
		atomic_store(&mirror.wanted, true);
		err = pthread_cond_clockwait(&mirror.published, &mirror.lock, CLOCK_MONOTONIC,
					     &end);
	}
	if (err == 0 && mirror.observe != NULL && mirror.now != NULL) {
		s = mirror.now;
		s->holders++;
	}
	pthread_mutex_unlock(&mirror.lock);
	return s;
}

static void add_cells(struct rte_tel_data *d, unsigned list, struct json_object *row)
{
	char text[SNAPSHOT_TEXT_LEN];
	uint64_t n;
	bool is_text;

	for (size_t i = 0; i < fact_lists[list].n; i++) {
		const struct fact *f = &fact_lists[list].rows[i];

		if (!snapshot_value(f, row, &n, text, &is_text))
			continue;
		if (is_text)
			rte_tel_data_add_dict_string(d, f->key, text);
		else
			rte_tel_data_add_dict_u64(d, f->key, n);
	}
}

static int add_row_dict(struct rte_tel_data *d, unsigned list, struct json_object *row)
{
	struct rte_tel_data *inner = rte_tel_data_alloc();
	char key[SNAPSHOT_KEY_LEN];
	int err;

	if (inner == NULL)
		return -ENOMEM;
	rte_tel_data_start_dict(inner);
	add_cells(inner, list, row);
	snapshot_key(list, row, key);
	err = rte_tel_data_add_dict_container(d, key, inner, 0);
	if (err != 0)
		rte_tel_data_free(inner);
	return err;
}

static int answer_telemetry(const struct snapshot *s, const char *cmd, const char *params,
			    struct rte_tel_data *d)
{
	struct snapshot_page page;
	unsigned list = 0;
	const char *why;
	int err = 0;

	rte_tel_data_start_dict(d);
	while (list < N_FACT_LISTS && (s->lists[list] == NULL ||
				       strcmp(fact_lists[list].list, cmd + strlen(prefix)) != 0))
		list++;
	if (list == N_FACT_LISTS)
		return -ENOENT;
	if (fact_lists[list].single) {
		add_cells(d, list, s->lists[list]);
		return 0;
	}
	// A slash is in no name of a port, so these keys are no row's.
	if (!snapshot_page(s, list, params, PAGE_ROWS, PAGE_BYTES, &page, &why)) {
		rte_tel_data_add_dict_string(d, "/error", why);
		return 0;
	}
	if (page.n_pages > 1) {
		rte_tel_data_add_dict_u64(d, "/page", page.page);
		rte_tel_data_add_dict_u64(d, "/pages", page.n_pages);
	}
	for (unsigned i = page.first; i < page.last && err == 0; i++)
		if (snapshot_matches(list, snapshot_row(s, list, i), &page))
			err = add_row_dict(d, list, snapshot_row(s, list, i));
	return err;
}

static int on_command(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct shared *s = hold_fresh();
	int err;

	if (s == NULL)
		return -EAGAIN;
	err = answer_telemetry(s->snapshot, cmd, params, d);
	pthread_mutex_lock(&mirror.lock);
	release(s);
	pthread_mutex_unlock(&mirror.lock);
	return err;
}

// ---- control thread

int telemetry_start(struct observe *o)
{
	pthread_mutex_lock(&mirror.lock);
	mirror.observe = o;
	pthread_mutex_unlock(&mirror.lock);
	for (unsigned i = 0; i < N_FACT_LISTS; i++) {
		const struct fact_list *l = &fact_lists[i];
		char cmd[COMMAND_LEN], help[HELP_LEN];
		int err;

		if (l->prefix == NULL)
			continue;
		snprintf(cmd, sizeof(cmd), "%s%s", prefix, l->list);
		snprintf(help, sizeof(help), "%.40s. [PORT][,PAGE]", l->help);
		err = rte_telemetry_register_cmd(cmd, on_command, l->single ? l->help : help);
		if (err != 0)
			return err;
	}
	return 0;
}

void telemetry_poll(uint64_t now_ns)
{
	struct shared *s;

	if (!atomic_load_explicit(&mirror.wanted, memory_order_relaxed))
		return;
	atomic_store(&mirror.wanted, false);
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return; // out of memory: a client that waits gives up by itself
	s->holders = 1;
	s->snapshot = snapshot_take(mirror.observe, now_ns);
	if (s->snapshot == NULL) {
		free(s);
		return;
	}
	pthread_mutex_lock(&mirror.lock);
	release(mirror.now);
	mirror.now = s;
	mirror.generation++;
	mirror.at_ns = monotonic_ns();
	pthread_cond_broadcast(&mirror.published);
	pthread_mutex_unlock(&mirror.lock);
}

void telemetry_remove_dir(void)
{
	const char *dir = rte_eal_get_runtime_dir();
	char sock[256];

	if (dir == NULL || strstr(dir, "/weir-") == NULL)
		return;
	snprintf(sock, sizeof(sock), "%s/dpdk_telemetry.v2", dir);
	(void)unlink(sock);
	(void)rmdir(dir);
}

void telemetry_stop(void)
{
	pthread_mutex_lock(&mirror.lock);
	mirror.observe = NULL;
	release(mirror.now);
	mirror.now = NULL;
	pthread_cond_broadcast(&mirror.published);
	pthread_mutex_unlock(&mirror.lock);
}
