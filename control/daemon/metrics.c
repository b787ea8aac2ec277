// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/metrics.h"

#include <errno.h>
#include <stdlib.h>

#include "control/daemon/httpd.h"
#include "control/daemon/journal.h"
#include "control/daemon/outlet.h"
#include "control/observe/prometheus.h"
#include "dataplane/base/units.h"

static const char path[] = "/metrics";
static const char type_metrics[] = "text/plain; version=0.0.4; charset=utf-8";

struct metrics {
	struct httpd *httpd;
	struct observe *observe;
	const struct eventlog *log;
	char *page; // the last one made
	size_t page_len;
	uint64_t page_ns;
};

char *metrics_page(struct observe *o, const struct eventlog *log, uint64_t now_ns, size_t *len)
{
	struct prometheus_about about = {.version = WEIR_VERSION,
					 .log_lost = outlet_lost() + journal_lost()};

	for (unsigned i = 0; i < N_EVENT_TYPES; i++)
		about.events[i] = eventlog_count(log, i);
	return prometheus_page(o, &about, now_ns, len);
}

static void on_metrics_request(void *arg, unsigned client, const struct http_request *q,
			       uint64_t now_ns)
{
	static const char hint[] = "The page is /metrics.\n";
	struct metrics *m = arg;
	struct http_verdict v = http_verdict_of(q, path);
	struct httpd_answer a = {
		.status = v.status, .head = v.head, .body = hint, .len = sizeof(hint) - 1};

	if (v.status == 200) {
		if (m->page == NULL || now_ns - m->page_ns >= (uint64_t)METRICS_PAGE_MS * MS_NS) {
			free(m->page);
			m->page = metrics_page(m->observe, m->log, now_ns, &m->page_len);
			m->page_ns = now_ns;
		}
		a.body = m->page;
		a.len = m->page != NULL ? m->page_len : 0;
		a.status = m->page != NULL ? 200 : 500;
		a.type = m->page != NULL ? type_metrics : NULL;
	}
	httpd_answer(m->httpd, client, &a);
}

int metrics_create(const struct endpoint *at, struct observe *o, const struct eventlog *log,
		   struct metrics **out)
{
	static const struct httpd_ops ops = {.request = on_metrics_request};
	struct metrics *m = calloc(1, sizeof(*m));
	int err;

	if (m == NULL)
		return -ENOMEM;
	m->observe = o;
	m->log = log;
	err = httpd_create(at, METRICS_MAX_CLIENTS, &ops, m, &m->httpd);
	if (err != 0) {
		free(m);
		return err;
	}
	*out = m;
	return 0;
}

void metrics_destroy(struct metrics *m)
{
	if (m == NULL)
		return;
	httpd_destroy(m->httpd);
	free(m->page);
	free(m);
}

void metrics_poll(struct metrics *m, uint64_t now_ns)
{
	if (m != NULL)
		httpd_poll(m->httpd, now_ns);
}
