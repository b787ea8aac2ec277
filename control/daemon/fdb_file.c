// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/fdb_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/config/model.h"
#include "control/daemon/daemon.h"
#include "control/daemon/journal.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"

enum {
	WRITE_EVERY_NS = 2 * SECOND_NS,
	LINE_LEN = 128,
	MOST_LINES = 65536, // more than any table; a longer file is not ours
};

struct fdb_file {
	const struct daemon *d;
	const char *path;
	char fresh[PROCESS_PATH_LEN]; // the file while it is written
	uint64_t written_ns, written; // written: switch_fdb_changes() then
	bool failed; // and said
};

// ---- reading

// Lines that this switch cannot use are passed over: a policy may have lost a port.
static void take_line(const struct daemon *d, const char *line)
{
	char mac_text[18], port_name[LINE_LEN];
	unsigned vid;
	uint8_t mac[6];
	int port;

	if (sscanf(line, "%17s %u %127s", mac_text, &vid, port_name) != 3 || vid >= N_VLANS ||
	    !cfg_parse_mac(mac_text, mac))
		return;
	port = cfg_find_port(d->in.config, port_name);
	if (port >= 0)
		switch_fdb_stale(d->in.sw, mac, (uint16_t)vid, (unsigned)port, CLOCK_START_NS);
}

static bool is_recent(const struct daemon *d, FILE *file)
{
	int64_t age_s;
	struct stat s;

	if (fstat(fileno(file), &s) != 0 || !S_ISREG(s.st_mode))
		return false;
	age_s = (int64_t)(wall_now_ns() / SECOND_NS) - s.st_mtime;
	return age_s < (int64_t)d->in.policy->mac_age_s;
}

static void read_stale(const struct fdb_file *f)
{
	int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[LINE_LEN];

	if (file == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (unsigned i = 0; i < MOST_LINES && is_recent(f->d, file); i++) {
		if (fgets(line, sizeof(line), file) == NULL)
			break;
		take_line(f->d, line);
	}
	fclose(file);
}

int fdb_file_create(const struct daemon *d, struct fdb_file **out)
{
	struct fdb_file *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return -ENOMEM;
	f->d = d;
	f->path = d->rundir.fdb_path;
	snprintf(f->fresh, sizeof(f->fresh), "%s.new", f->path);
	read_stale(f);
	f->written = switch_fdb_changes(d->in.sw);
	*out = f;
	return 0;
}

// ---- writing

struct writing {
	const struct policy *policy;
	FILE *file;
};

static void write_row(void *arg, const struct fdb_row *r)
{
	const struct writing *w = arg;

	if (r->is_static || r->port >= w->policy->n_ports)
		return;
	fprintf(w->file, "%02x:%02x:%02x:%02x:%02x:%02x %u %s\n", r->mac[0], r->mac[1], r->mac[2],
		r->mac[3], r->mac[4], r->mac[5], r->vid, w->policy->ports[r->port].name);
}

// The file is whole at any moment. 0 or -errno.
static int write_addresses(const struct fdb_file *f, uint64_t now_ns)
{
	int fd = open(f->fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct writing w = {f->d->in.policy, fd < 0 ? NULL : fdopen(fd, "w")};
	int err;

	if (w.file == NULL) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	switch_fdb_walk(f->d->in.sw, now_ns, write_row, &w);
	err = ferror(w.file) ? -EIO : 0;
	if (fclose(w.file) != 0)
		err = -errno;
	if (err == 0 && rename(f->fresh, f->path) != 0)
		err = -errno;
	if (err != 0)
		unlink(f->fresh);
	return err;
}

static void save_addresses(struct fdb_file *f, uint64_t now_ns)
{
	int err = write_addresses(f, now_ns);

	if (err != 0 && !f->failed)
		log_line("%s warning fdb: cannot write %s: %s; after a restart lossless frames go "
			 "to no address that has not spoken", f->d->in.policy->name, f->path,
			 strerror(-err));
	f->failed = err != 0;
	f->written = switch_fdb_changes(f->d->in.sw);
	f->written_ns = now_ns;
}

void fdb_file_poll(struct fdb_file *f, uint64_t now_ns)
{
	if (now_ns - f->written_ns >= WRITE_EVERY_NS &&
	    switch_fdb_changes(f->d->in.sw) != f->written)
		save_addresses(f, now_ns);
}

void fdb_file_destroy(struct fdb_file *f)
{
	if (f != NULL)
		save_addresses(f, clock_now_ns(&f->d->clock));
	free(f);
}
