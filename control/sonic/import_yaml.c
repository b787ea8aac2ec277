// SPDX-License-Identifier: Apache-2.0
// Writes a model as a policy to read and to change: ports that are alike on one line, classes that
// are alike under one key, and comments that name the objects of CONFIG_DB. Private to
// control/sonic.
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/units.h"
#include "control/sonic/model.h"

enum { NAME_ROOM = 56, COMMENT_COLUMN = 60 };

static const char *alpha_text(int64_t log2, char out[UNIT_TEXT_LEN])
{
	unit_print_alpha((int)log2, out, UNIT_TEXT_LEN);
	return out;
}
#define ALPHA(n) alpha_text(n, (char[UNIT_TEXT_LEN]){""})
#define BYTES(n) UNIT_TEXT(UNIT_BYTES, n)

// ---- maps {a: 1, b: 2} in one line

struct map {
	FILE *out;
	bool any;
};

__attribute__((format(printf, 2, 3))) static void item(struct map *m, const char *fmt, ...)
{
	va_list ap;

	fputs(m->any ? ", " : "{", m->out);
	m->any = true;
	va_start(ap, fmt);
	vfprintf(m->out, fmt, ap);
	va_end(ap);
}

static void end_yaml_map(const struct map *m)
{
	fputs(m->any ? "}" : "{}", m->out);
}

// A text of CONFIG_DB, in quotes. Nothing in it ends the quotes or the line.
static void put_quoted(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c == 0x7f)
			fprintf(out, "\\x%02x", c);
		else
			fprintf(out, "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
	}
	fputc('"', out);
}

static void quoted_item(struct map *m, const char *key, const char *text)
{
	item(m, "%s: ", key);
	put_quoted(m->out, text);
}

static void limit_items(struct map *m, const struct sonic_limit *l)
{
	if (l->kind == LIMIT_ALPHA)
		item(m, "alpha: %s", ALPHA(l->n));
	if (l->kind == LIMIT_STATIC)
		item(m, "static: %s", BYTES(l->n));
}

// Numbers that lead to numbers; the most frequent target is the default.
static void lookup(FILE *out, const uint8_t *map, unsigned n, bool with_default)
{
	unsigned count[N_CLASSES] = {0}, most = 0;
	struct map m = {out, false};

	for (unsigned i = 0; i < n; i++)
		count[map[i]]++;
	for (unsigned to = 1; to < N_CLASSES; to++)
		if (count[to] > count[most])
			most = to;
	if (with_default)
		item(&m, "default: %u", most);
	for (unsigned i = 0, last; i < n; i = last + 1) {
		for (last = i; last + 1 < n && map[last + 1] == map[i]; last++)
			;
		if (with_default ? map[i] == most : false)
			continue;
		if (last > i)
			item(&m, "%u-%u: %u", i, last, map[i]);
		else
			item(&m, "%u: %u", i, map[i]);
	}
	end_yaml_map(&m);
}

// ---- switch, ports, VLANs

static void write_trim(const struct sonic_model *m, FILE *out)
{
	struct map t = {out, false};

	if (!m->trim.on)
		return;
	fputs("  trim: ", out);
	if (m->trim.size != ABSENT)
		item(&t, "size: %s", BYTES(m->trim.size));
	if (m->trim.dscp >= 0)
		item(&t, "dscp: %" PRId64, m->trim.dscp);
	else
		item(&t, "dscp: from_class");
	if (m->trim.cls != ABSENT)
		item(&t, "class: %" PRId64, m->trim.cls);
	if (m->trim.queue >= 0)
		item(&t, "queue: %" PRId64, m->trim.queue);
	else if (m->trim.queue != ABSENT)
		item(&t, "queue: auto");
	end_yaml_map(&t);
	fprintf(out, "   # %s\n", sonic_fields[SONIC_TRIM_DSCP].table);
}

static void write_switch(const struct sonic_model *m, FILE *out)
{
	struct map b = {out, false};

	fputs("switch:\n", out);
	if (m->switch_name != NULL) {
		fputs("  name: ", out);
		put_quoted(out, m->switch_name);
		fputc('\n', out);
	}
	fputs("  buffer: ", out);
	if (m->size >= 0)
		item(&b, "size: %s", BYTES(m->size));
	if (m->cell > 0)
		item(&b, "cell: %s", BYTES(m->cell));
	if (m->headroom_pool >= 0)
		item(&b, "headroom_pool: %s", BYTES(m->headroom_pool));
	if (m->oversubscription > 0)
		item(&b, "oversubscription: %" PRId64, m->oversubscription);
	if (m->egress_lossy >= 0)
		item(&b, "egress_lossy: %s", BYTES(m->egress_lossy));
	end_yaml_map(&b);
	fputs("   # BUFFER_POOL\n", out);
	write_trim(m, out);
}

static bool same_line(const struct sonic_port *a, const struct sonic_port *b)
{
	return a->n_ip == 0 && b->n_ip == 0 && a->profile == b->profile &&
	       a->speed_bps == b->speed_bps && a->mtu == b->mtu && a->cable_cm == b->cable_cm &&
	       a->untagged == b->untagged && memcmp(a->tagged, b->tagged, sizeof(a->tagged)) == 0;
}

// The text before the number that ends a name, and "xdp:" and the name as the device.
static bool is_plain_port(const struct sonic_port *p, size_t *stem)
{
	size_t len = strlen(p->name);

	while (len > 0 && p->name[len - 1] >= '0' && p->name[len - 1] <= '9')
		len--;
	*stem = len;
	return p->name[len] != '\0' && strncmp(p->device, "xdp:", 4) == 0 &&
	       strcmp(p->device + 4, p->name) == 0;
}

// The ports from `first` on that one line can name, as numbers "0,4,8". Returns their number.
static unsigned join_port_numbers(const struct sonic_model *m, const bool *done, unsigned first,
				  bool *taken, char out[NAME_ROOM])
{
	const struct sonic_port *p = &m->ports[first];
	size_t stem, len = 0, other;
	unsigned n = 0;

	out[0] = '\0';
	if (!is_plain_port(p, &stem))
		return 0;
	for (unsigned i = first; i < m->n_ports; i++) {
		const struct sonic_port *q = &m->ports[i];

		if (done[i] || !same_line(p, q) || !is_plain_port(q, &other) || other != stem ||
		    strncmp(p->name, q->name, stem) != 0)
			continue;
		if (len + stem + strlen(q->name + stem) + 4 > NAME_ROOM)
			break;
		len += (size_t)snprintf(out + len, NAME_ROOM - len, "%s%s", n > 0 ? "," : "",
					q->name + stem);
		taken[i] = true;
		n++;
	}
	return n;
}

static void write_vlan_of_port(const struct sonic_port *p, struct map *line)
{
	const char *comma = "";

	if (p->untagged == VLAN_NONE)
		item(line, "vlan: {untagged: none");
	else if (p->untagged > 0)
		item(line, "vlan: {untagged: %d", p->untagged);
	else
		return;
	for (unsigned id = 1; id < 64 * 64; id++)
		if (p->tagged[id / 64] >> (id % 64) & 1) {
			fprintf(line->out, "%s%u", *comma == '\0' ? ", tagged: [" : comma, id);
			comma = ", ";
		}
	fprintf(line->out, "%s}", *comma == '\0' ? "" : "]");
}

static void write_addresses(const char *const *ip, unsigned n, struct map *line)
{
	if (n == 0)
		return;
	item(line, "ip: [");
	for (unsigned i = 0; i < n; i++) {
		fputs(i > 0 ? ", " : "", line->out);
		put_quoted(line->out, ip[i]);
	}
	fputc(']', line->out);
}

static void write_port(const struct sonic_model *m, const struct sonic_port *p, const char *names,
		       FILE *out)
{
	struct map line = {out, false};
	size_t stem = 0;

	fputs("  - ", out);
	if (names != NULL) {
		is_plain_port(p, &stem);
		item(&line, "name: \"%.*s[%s]\"", (int)stem, p->name, names);
		item(&line, "device: \"xdp:%.*s[%s]\"", (int)stem, p->name, names);
	} else {
		quoted_item(&line, "name", p->name);
		quoted_item(&line, "device", p->device);
	}
	if (p->speed_bps > 0)
		item(&line, "speed: %s", UNIT_TEXT(UNIT_RATE, p->speed_bps));
	item(&line, "mtu: %" PRId64, p->mtu);
	if (p->cable_cm >= 0)
		item(&line, "cable: %s",
		     p->cable_cm == 0 ? "0m" : UNIT_TEXT(UNIT_LENGTH, p->cable_cm));
	// unused_profile_name() made it a plain word.
	item(&line, "profile: %s", m->profiles[p->profile].name);
	write_vlan_of_port(p, &line);
	write_addresses(p->ip, p->n_ip, &line);
	end_yaml_map(&line);
	fputc('\n', out);
}

static void write_ports(const struct import *im, FILE *out)
{
	const struct sonic_model *m = &im->m;
	bool done[POLICY_MAX_PORTS] = {0};
	char names[NAME_ROOM];

	if (im->o->ports == NULL)
		fputs("# Each port has the interface of its own name. Change `device` where yours "
		      "differ.\n",
		      out);
	fputs("ports:\n", out);
	for (unsigned i = 0; i < m->n_ports; i++) {
		unsigned n;

		if (done[i])
			continue;
		n = join_port_numbers(m, done, i, done, names);
		done[i] = true;
		write_port(m, &m->ports[i], n > 1 ? names : NULL, out);
	}
}

static void write_vlans(const struct sonic_model *m, FILE *out)
{
	if (m->n_vlans > 0)
		fputs("vlans:\n", out);
	for (unsigned i = 0; i < m->n_vlans; i++) {
		struct map line = {out, false};

		fputs("  - ", out);
		item(&line, "id: %" PRId64, m->vlans[i].id);
		write_addresses(m->vlans[i].ip, m->vlans[i].n_ip, &line);
		end_yaml_map(&line);
		fputc('\n', out);
	}
}

// ---- classes

// The name of an object, which CONFIG_DB chooses, behind `#`. Some characters beyond ASCII end a
// line of YAML as well.
static void comment(FILE *out, const char *table, const char *name)
{
	if (name != NULL)
		fprintf(out, "   # %s ", table);
	for (; name != NULL && *name != '\0'; name++)
		fprintf(out, *name >= ' ' && *name < 0x7f ? "%c" : "\\x%02x",
			(unsigned char)*name);
	fputc('\n', out);
}

static void write_headroom(const struct sonic_model *m, const struct sonic_pg *g, struct map *line)
{
	struct map h = {line->out, false};

	if (!g->is_auto) {
		item(line, "headroom: %s", BYTES(g->xoff));
		return;
	}
	if (m->headroom.lossless_mtu < 0 && m->headroom.mac_phy < 0 && m->headroom.small_ppm < 0 &&
	    m->headroom.response < 0) {
		item(line, "headroom: auto");
		return;
	}
	item(line, "headroom: ");
	if (m->headroom.lossless_mtu >= 0)
		item(&h, "lossless_mtu: %s", BYTES(m->headroom.lossless_mtu));
	if (m->headroom.small_ppm >= 0)
		item(&h, "small_frames: %s", UNIT_TEXT(UNIT_PERCENT, m->headroom.small_ppm));
	if (m->headroom.mac_phy >= 0)
		item(&h, "mac_phy: %s", BYTES(m->headroom.mac_phy));
	if (m->headroom.response >= 0)
		item(&h, "peer_response: %s", BYTES(m->headroom.response));
	end_yaml_map(&h);
}

static void write_group(const struct sonic_model *m, const struct sonic_pg *g, const char *name,
			FILE *out)
{
	struct map line = {out, false};

	if (!g->given)
		return;
	fputs("        ingress: ", out);
	if (g->min > 0 || !g->lossless)
		item(&line, "min: %s", BYTES(g->min));
	limit_items(&line, &g->limit);
	if (g->has_xon)
		item(&line, "xon: %s", BYTES(g->xon));
	if (g->has_xon_offset || g->has_xon)
		item(&line, "xon_offset: %s",
		     BYTES(g->has_xon_offset ? g->xon_offset : SONIC_NEVER_OFFSET));
	if (g->lossless)
		write_headroom(m, g, &line);
	end_yaml_map(&line);
	comment(out, sonic_fields[SONIC_PROFILE_SIZE].table, name);
}

static void write_curve(struct map *line, const struct sonic_curve *c)
{
	item(line, "kmin: %s", BYTES(c->kmin));
	item(line, "kmax: %s", BYTES(c->kmax));
	item(line, "pmax: %s", UNIT_TEXT(UNIT_PERCENT, c->pmax));
}

static void write_wred(const struct sonic_queue *q, bool lossless, const char *name, FILE *out)
{
	static const char *const colors[N_COLORS] = {"", "yellow", "red"};
	struct map line = {out, false};

	if (!q->has_wred)
		return;
	fputs("        wred: ", out);
	item(&line, "ecn: %s", q->ecn ? "on" : "off");
	write_curve(&line, &q->curve[GREEN]);
	if (lossless)
		item(&line, "not_ect: drop");
	for (unsigned color = YELLOW; color < N_COLORS; color++)
		if (q->curve[color].given) {
			struct map own = {out, false};

			item(&line, "%s: ", colors[color]);
			write_curve(&own, &q->curve[color]);
			end_yaml_map(&own);
		}
	end_yaml_map(&line);
	comment(out, sonic_fields[SONIC_WRED_ECN].table, name);
}

static void write_queue(const struct sonic_queue *q, bool lossless, const struct sonic_names *names,
			unsigned n, FILE *out)
{
	struct map line = {out, false};

	if (q->has_schedule) {
		if (q->strict)
			fputs("        schedule: strict", out);
		else
			fprintf(out, "        schedule: {dwrr: %" PRId64 "}", q->weight);
		comment(out, sonic_fields[SONIC_SCHED_TYPE].table, names->scheduler[n]);
		if (q->min_rate > 0)
			fprintf(out, "        min_rate: %s\n", UNIT_TEXT(UNIT_RATE, q->min_rate));
		if (q->max_rate > 0)
			fprintf(out, "        max_rate: %s\n", UNIT_TEXT(UNIT_RATE, q->max_rate));
	}
	if (q->has_buffer) {
		fputs("        egress: ", out);
		item(&line, "min: %s", BYTES(q->min));
		limit_items(&line, &q->limit);
		if (q->trims)
			item(&line, "discard: trim");
		end_yaml_map(&line);
		comment(out, sonic_fields[SONIC_PROFILE_SIZE].table, names->buffer[n]);
	}
	write_wred(q, lossless, names->wred[n], out);
}

// The class that gives the settings of a queue or a group: that of its number, else the lowest.
static int settings_class_of(const uint8_t map[N_CLASSES], unsigned to)
{
	if (map[to] == to)
		return (int)to;
	for (int cls = 0; cls < N_CLASSES; cls++)
		if (map[cls] == to)
			return cls;
	return -1;
}

// The keys of one class, or an empty text. The caller frees it.
static char *class_text(const struct sonic_model *m, const struct sonic_port *p, unsigned cls)
{
	const struct sonic_qos *q = &p->qos;
	unsigned queue = q->queue_of[cls], pg = q->pg_of[cls];
	bool lossless = q->lossless >> cls & 1;
	char *text = NULL;
	size_t len = 0;
	FILE *out = allocated(open_memstream(&text, &len));

	if (lossless)
		fputs("        lossless: true\n", out);
	if (settings_class_of(q->queue_of, queue) == (int)cls)
		write_queue(&q->queue[queue], lossless, &p->names, queue, out);
	if (settings_class_of(q->pg_of, pg) == (int)cls)
		write_group(m, &q->pg[pg], p->names.pg[pg], out);
	fclose(out);
	return text;
}

static void write_classes(const struct sonic_model *m, const struct sonic_port *p, FILE *out)
{
	char *text[N_CLASSES];
	bool any = false;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		text[cls] = class_text(m, p, cls);
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		unsigned n = 0;

		if (text[cls] == NULL || text[cls][0] == '\0')
			continue;
		if (!any)
			fputs("    classes:\n", out);
		any = true;
		fputs("      \"", out);
		for (unsigned i = cls; i < N_CLASSES; i++)
			if (text[i] != NULL && strcmp(text[i], text[cls]) == 0)
				fprintf(out, "%s%u", n++ > 0 ? "," : "", i);
		fprintf(out, "\":\n%s", text[cls]);
		for (unsigned i = cls + 1; i < N_CLASSES; i++)
			if (text[i] != NULL && strcmp(text[i], text[cls]) == 0)
				text[i][0] = '\0';
	}
	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		free(text[cls]);
}

// ---- profiles

static void write_watchdog(const struct sonic_watchdog *w, FILE *out)
{
	if (!w->on)
		return;
	fprintf(out, "    watchdog: {mode: progress, action: %s, detect: %s, restore: %s, "
		     "limit: {count: 0}}   # %s\n",
		sonic_fields[SONIC_WD_ACTION].words[w->action], UNIT_TEXT(UNIT_TIME, w->detect_ns),
		UNIT_TEXT(UNIT_TIME, w->restore_ns), sonic_fields[SONIC_WD_ACTION].table);
}

// {class: number} of the classes that are remarked. False: none.
static bool write_remark(FILE *out, const char *key, const uint8_t map[N_CLASSES], struct map *to)
{
	struct map m = {out, false};

	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		if (map[cls] == REMARK_NONE)
			continue;
		if (!m.any)
			item(to, "%s: ", key);
		item(&m, "%u: %u", cls, map[cls]);
	}
	if (m.any)
		end_yaml_map(&m);
	return m.any;
}

static void write_remarks(const struct sonic_port *p, FILE *out)
{
	const struct sonic_qos *q = &p->qos;
	struct map m = {out, false};
	bool any = false;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		any |= q->remark_dscp[cls] != REMARK_NONE || q->remark_pcp[cls] != REMARK_NONE;
	if (!any)
		return;
	fputs("    remark: ", out);
	any = write_remark(out, "dscp", q->remark_dscp, &m);
	write_remark(out, "pcp", q->remark_pcp, &m);
	end_yaml_map(&m);
	if (any)
		comment(out, sonic_fields[SONIC_TC_DSCP].table, p->names.remark_dscp);
	else
		comment(out, sonic_fields[SONIC_TC_DOT1P].table, p->names.remark_pcp);
}

static void write_profile(const struct sonic_model *m, const struct sonic_profile *profile,
			  FILE *out)
{
	const struct sonic_port *p = profile->port;
	const struct sonic_qos *q = &p->qos;

	fputs("  ", out);
	put_quoted(out, profile->name);
	fprintf(out, ":\n    trust: %s\n",
		q->has_dscp  ? "dscp"
		: q->has_pcp ? "pcp"
			     : "port");
	if (q->has_dscp) {
		fputs("    dscp_to_class: ", out);
		lookup(out, q->dscp, sizeof(q->dscp), true);
		comment(out, sonic_fields[SONIC_DSCP_TC].table, p->names.dscp);
	}
	if (q->has_pcp) {
		fputs("    pcp_to_class: ", out);
		lookup(out, q->pcp, sizeof(q->pcp), true);
		comment(out, sonic_fields[SONIC_DOT1P_TC].table, p->names.pcp);
	}
	if (q->has_queue_map) {
		fputs("    class_to_queue: ", out);
		lookup(out, q->queue_of, N_CLASSES, false);
		comment(out, sonic_fields[SONIC_TC_QUEUE].table, p->names.queue_map);
	}
	if (q->has_pg_map) {
		fputs("    class_to_pg: ", out);
		lookup(out, q->pg_of, N_CLASSES, false);
		comment(out, sonic_fields[SONIC_TC_PG].table, p->names.pg_map);
	}
	write_remarks(p, out);
	if (q->lossless != 0 && !q->has_pfc)
		fputs("    pfc: {rx: off, tx: off}   # no pfc_enable in PORT_QOS_MAP\n", out);
	write_watchdog(&q->watchdog, out);
	write_classes(m, p, out);
}

void import_yaml(struct import *im, FILE *out)
{
	const struct sonic_model *m = &im->m;

	fputs("# SPDX-License-Identifier: Apache-2.0\n"
	      "# Made of a SONiC configuration by `weirctl import sonic`. Comments name the\n"
	      "# objects that the values came from. `weirctl export sonic` is the way back.\n",
	      out);
	write_switch(m, out);
	write_ports(im, out);
	write_vlans(m, out);
	fputs("profiles:\n", out);
	for (unsigned i = 0; i < m->n_profiles; i++)
		write_profile(m, &m->profiles[i], out);
	kept_write(im, out);
}
